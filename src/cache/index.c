/*
 * index.c - SQLite beside the blobs: hits, compile times, origins, for those who look at a cache.
 *
 *     [journal of all processes] > one transaction > kiln-index.sqlite > rows completed
 *
 * Only the tools' functions come here. Loads and stores do not: they append to the journal, and the
 * next look takes it in. So no launch can wait for a database, and a program that launches kernels
 * needs no SQLite; the library is loaded when somebody looks, and unloaded afterwards.
 *
 * Rule 1: the index may be deleted. Entries come from a scan, the index adds what files cannot
 *         tell; what is lost with it are counts.
 * Rule 2: a damaged index is removed and begun anew, one of a newer kiln is left alone, a locked
 *         one is done without after a moment, and on network file systems none is opened: its
 *         locks and its shared memory do not work there.
 * Rule 3: a database is a program of sorts: its schema may hold triggers, views and expressions. One
 *         whose schema is not exactly ours is removed; and none may do more than our own statements
 *         ask for, or take longer than some seconds.
 *
 * catalog.c calls this file. Tests: test_cache_limit, test_cache_disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cache/parts.h"

#define INDEX_NAME KILN__HOUSEKEEPING_PREFIX "index.sqlite"
#define MERGING_NAME KILN__JOURNAL_NAME ".merging"
#define INDEX_VERSION 1
#define BUSY_MS 200
#define JOURNAL_READ_MAX ((size_t)16 << 20)
#define SECONDS_MAX 20
#define STEPS_BETWEEN_LOOKS 10000

/* Byte for byte what SQLite keeps of the statement that makes the table. */
#define TABLE "entry"
#define COLUMNS                                                                                    \
    "(name TEXT PRIMARY KEY, bytes INTEGER, last_use INTEGER, created INTEGER, hits INTEGER, "     \
    "compile_us INTEGER, origin TEXT, target TEXT, kernel TEXT, seen INTEGER) WITHOUT ROWID"

/* The little of sqlite3.h that is used; its ABI is stable by promise. */
#define SQLITE_OK 0
#define SQLITE_CORRUPT 11
#define SQLITE_NOTADB 26
#define SQLITE_ROW 100
#define SQLITE_DONE 101
#define SQLITE_DENY 1
#define SQLITE_OPEN_FLAGS (0x2 | 0x4 | 0x8000 | 0x01000000) /* rw, create, no mutex, no follow */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

/* Asked for each thing that a statement would do. */
typedef int (*authorizer)(void *user, int action, const char *a, const char *b, const char *base,
                          const char *within);

#define SQLITE_MAP(X)                                                                              \
    X(open_v2, int, (const char *path, sqlite3 **out, int flags, const char *vfs))                 \
    X(close_v2, int, (sqlite3 * db))                                                               \
    X(busy_timeout, int, (sqlite3 * db, int ms))                                                   \
    X(exec, int, (sqlite3 * db, const char *sql, void *fn, void *user, char **error))              \
    X(prepare_v2, int,                                                                             \
      (sqlite3 * db, const char *sql, int bytes, sqlite3_stmt **out, const char **tail))           \
    X(bind_text, int, (sqlite3_stmt * st, int at, const char *text, int bytes, void *free_fn))     \
    X(bind_int64, int, (sqlite3_stmt * st, int at, int64_t value))                                 \
    X(step, int, (sqlite3_stmt * st))                                                              \
    X(reset, int, (sqlite3_stmt * st))                                                             \
    X(finalize, int, (sqlite3_stmt * st))                                                          \
    X(db_config, int, (sqlite3 * db, int option, ...))                                             \
    X(limit, int, (sqlite3 * db, int kind, int value))                                             \
    X(progress_handler, void, (sqlite3 * db, int steps, int (*fn)(void *user), void *user))        \
    X(set_authorizer, int, (sqlite3 * db, authorizer fn, void *user))                              \
    X(column_int64, int64_t, (sqlite3_stmt * st, int at))                                          \
    X(column_text, const unsigned char *, (sqlite3_stmt * st, int at))                             \
    X(errmsg, const char *, (sqlite3 * db))

typedef struct database {
    void *library;
    sqlite3 *db;
    int folder;
    double deadline_us;
#define MEMBER(name, result, parameters) result(*name) parameters;
    SQLITE_MAP(MEMBER)
#undef MEMBER
} database;

static bool is_network_folder(int folder)
{
    /* NFS, SMB, CIFS, SMB2, AFS, Coda, 9p, FUSE (sshfs and the like), Ceph, Lustre, GPFS, OCFS2 */
    static const uint32_t kinds[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                     0x5346414f, 0x73757245, 0x01021997, 0x65735546,
                                     0x00c36400, 0x0bd00bd0, 0x47504653, 0x7461636f};
    struct statfs fs;

    if (fstatfs(folder, &fs) != 0)
        return true; /* unknown: be careful */
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++) {
        if ((uint32_t)fs.f_type == kinds[k])
            return true;
    }
    return false;
}

static const char *const file_names[] = {INDEX_NAME, INDEX_NAME "-wal", INDEX_NAME "-shm",
                                         INDEX_NAME "-journal", MERGING_NAME};

void kiln__index_remove(int folder)
{
    for (size_t k = 0; k < KILN_COUNT_OF(file_names); k++)
        (void)kiln__make_way(folder, file_names[k]);
}

/* SQLite opens its files by name. So nothing may lie there that others could have written. */
static void mend_files(int folder)
{
    struct stat st;

    for (size_t k = 0; k < KILN_COUNT_OF(file_names); k++) {
        if (fstatat(folder, file_names[k], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            !(S_ISREG(st.st_mode) && kiln__is_ours(&st)))
            (void)kiln__make_way(folder, file_names[k]);
    }
}

/* Whether a path still leads to the folder, by a way that nobody else can change. */
static bool leads_to(const char *path, int folder)
{
    char reason[KILN__REASON_BYTES];
    struct stat there, here;
    int fd = -1;

    if (kiln__way_open(path, O_RDONLY | O_DIRECTORY, &fd, reason) != 0)
        return false;
    bool same = fstat(fd, &there) == 0 && fstat(folder, &here) == 0 &&
                there.st_dev == here.st_dev && there.st_ino == here.st_ino;
    close(fd);
    return same;
}

static bool load_library(database *d, char note[128])
{
    d->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (d->library == NULL) {
        snprintf(note, 128, "SQLite is not installed (libsqlite3.so.0)");
        return false;
    }
#define LOAD(name, result, parameters)                                                             \
    {                                                                                              \
        void *symbol = dlsym(d->library, "sqlite3_" #name);                                        \
        memcpy(&d->name, &symbol, sizeof symbol);                                                  \
        if (symbol == NULL) {                                                                      \
            snprintf(note, 128, "this SQLite lacks sqlite3_%s", #name);                            \
            return false;                                                                          \
        }                                                                                          \
    }
    SQLITE_MAP(LOAD)
#undef LOAD
    return true;
}

static void close_database(database *d)
{
    if (d->db != NULL)
        d->close_v2(d->db);
    if (d->library != NULL)
        dlclose(d->library);
}

static int run(database *d, const char *sql)
{
    return d->exec(d->db, sql, NULL, NULL, NULL);
}

/* ---- what a database may do ---- */

static bool is_ours(const char *name)
{
    return name != NULL && (strcmp(name, TABLE) == 0 || strcmp(name, "sqlite_master") == 0 ||
                            strcmp(name, "sqlite_schema") == 0);
}

/* What our own statements do, and nothing from within a trigger or a view. */
static int allow(void *user, int action, const char *a, const char *b, const char *base,
                 const char *within)
{
    enum { CREATE_INDEX = 1, CREATE_TABLE = 2, DELETE = 9, INSERT = 18, PRAGMA = 19, READ = 20, SELECT = 21,
           TRANSACTION = 22, UPDATE = 23, FUNCTION = 31 };

    (void)user;
    (void)base;
    if (within != NULL)
        return SQLITE_DENY;
    switch (action) {
    case SELECT:
    case TRANSACTION:
    case PRAGMA:
        return SQLITE_OK;
    case CREATE_INDEX: /* of the table's key */
        return is_ours(b) ? SQLITE_OK : SQLITE_DENY;
    case CREATE_TABLE:
    case DELETE:
    case INSERT:
    case READ:
    case UPDATE:
        return is_ours(a) ? SQLITE_OK : SQLITE_DENY;
    case FUNCTION:
        return b != NULL && (strcmp(b, "coalesce") == 0 || strcmp(b, "max") == 0 ||
                             strcmp(b, "count") == 0)
                   ? SQLITE_OK
                   : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static int is_late(void *user)
{
    const database *d = user;

    return kiln__now_us() > d->deadline_us;
}

/* What an older SQLite does not know of this, the authorizer does. */
static void restrain(database *d)
{
    /* Defensive; no foreign keys, triggers, extensions and views; the schema is not trusted. */
    static const int switches[][2] = {{1010, 1}, {1002, 0}, {1003, 0},
                                      {1005, 0}, {1015, 0}, {1017, 0}};
    enum { LIMIT_LENGTH = 0, LIMIT_ATTACHED = 7, LIMIT_TRIGGER_DEPTH = 10 };

    for (size_t k = 0; k < KILN_COUNT_OF(switches); k++)
        (void)d->db_config(d->db, switches[k][0], switches[k][1], (int *)NULL);
    (void)d->limit(d->db, LIMIT_LENGTH, 1 << 20);
    (void)d->limit(d->db, LIMIT_ATTACHED, 0);
    (void)d->limit(d->db, LIMIT_TRIGGER_DEPTH, 0);
    d->deadline_us = kiln__now_us() + SECONDS_MAX * 1e6;
    d->progress_handler(d->db, STEPS_BETWEEN_LOOKS, is_late, d);
    (void)d->set_authorizer(d->db, allow, d);
}

/* SQLITE_OK when there is nothing in the database but what we make. */
static int check_schema(database *d)
{
    sqlite3_stmt *st = NULL;
    int code = d->prepare_v2(d->db,
                             "SELECT count(*) FROM sqlite_master WHERE type <> 'table' OR "
                             "name <> '" TABLE "' OR sql <> 'CREATE TABLE " TABLE COLUMNS "'",
                             -1, &st, NULL);

    if (code == SQLITE_OK && (code = d->step(st)) == SQLITE_ROW)
        code = d->column_int64(st, 0) == 0 ? SQLITE_OK : SQLITE_CORRUPT;
    d->finalize(st);
    return code;
}

/* ---- open ---- */

/* The index's version, 0 for a new one, -1 with an SQLite code when it cannot be read. */
static int read_version(database *d, int *code)
{
    sqlite3_stmt *st = NULL;
    int version = -1;

    *code = d->prepare_v2(d->db, "PRAGMA user_version", -1, &st, NULL);
    if (*code == SQLITE_OK) {
        *code = d->step(st);
        if (*code == SQLITE_ROW)
            version = (int)d->column_int64(st, 0);
    }
    d->finalize(st);
    return version;
}

/* Open the index and begin to write; an SQLite code, and SQLITE_DONE for a newer version. */
static int begin(database *d, const char *path, char note[128])
{
    kiln__buf file = KILN__BUF_INIT;

    kiln__buf_printf(&file, "%s/" INDEX_NAME, path);
    int code = file.failed ? SQLITE_DONE : d->open_v2(file.text, &d->db, SQLITE_OPEN_FLAGS, NULL);
    kiln__buf_clear(&file);
    if (code != SQLITE_OK)
        return code;
    d->busy_timeout(d->db, BUSY_MS);
    restrain(d);
    int version = read_version(d, &code);
    if (version < 0)
        return code;
    if (version > INDEX_VERSION) {
        snprintf(note, 128, "the index is of a newer kiln (version %d)", version);
        return SQLITE_DONE;
    }
    run(d, "PRAGMA journal_mode=WAL");
    run(d, "PRAGMA synchronous=OFF");
    code = run(d, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        code = check_schema(d);
    if (code != SQLITE_OK)
        return code;
    return run(d, "CREATE TABLE IF NOT EXISTS " TABLE COLUMNS "; PRAGMA user_version=1");
}

/* ---- the journal ---- */

static void apply_line(database *d, sqlite3_stmt *hit, sqlite3_stmt *store, char *line)
{
    char name[33], origin[16], target[32], kernel[64];
    long long stamp = 0, bytes = 0, us = 0;

    if (sscanf(line, "h %32[0-9a-f] %lld", name, &stamp) == 2) {
        d->bind_text(hit, 1, name, -1, NULL);
        d->bind_int64(hit, 2, stamp);
        d->step(hit);
        d->reset(hit);
    } else if (sscanf(line, "s %32[0-9a-f] %lld %lld %lld %15s %31s %63s", name, &stamp, &bytes,
                      &us, origin, target, kernel) == 7) {
        d->bind_text(store, 1, name, -1, NULL);
        d->bind_int64(store, 2, bytes);
        d->bind_int64(store, 3, stamp);
        d->bind_int64(store, 4, us);
        d->bind_text(store, 5, origin, -1, NULL);
        d->step(store);
        d->reset(store);
    }
}

/* Apply the lines of one file; whatever is no line of ours is passed over. */
static void apply_file(database *d, const char *name)
{
    const int fd = kiln__open_housekeeping(d->folder, name, O_RDONLY);
    char *text = NULL, *line = NULL, *rest = NULL;
    size_t bytes = 0;
    sqlite3_stmt *hit = NULL, *store = NULL;

    if (fd >= 0 && kiln__read_open_file(fd, JOURNAL_READ_MAX, &text, &bytes) == 0 &&
        d->prepare_v2(d->db,
                      "INSERT INTO entry(name, hits, last_use) VALUES(?1, 1, ?2) ON CONFLICT(name) "
                      "DO UPDATE SET hits = coalesce(hits, 0) + 1, last_use = max(last_use, ?2)",
                      -1, &hit, NULL) == SQLITE_OK &&
        d->prepare_v2(d->db,
                      "INSERT INTO entry(name, bytes, last_use, created, compile_us, origin) "
                      "VALUES(?1, ?2, ?3, ?3, ?4, ?5) ON CONFLICT(name) DO UPDATE SET bytes = ?2, "
                      "last_use = ?3, created = ?3, compile_us = ?4, origin = ?5",
                      -1, &store, NULL) == SQLITE_OK) {
        for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
            apply_line(d, hit, store, line);
    }
    d->finalize(hit);
    d->finalize(store);
    kiln__free(text);
    if (fd >= 0)
        close(fd);
}

/* The database is locked for writing, so nobody else is at the claimed file; one that is there
 * already is of somebody who died over it. */
static void apply_journal(database *d)
{
    apply_file(d, MERGING_NAME);
    if (renameat(d->folder, KILN__JOURNAL_NAME, d->folder, MERGING_NAME) == 0)
        apply_file(d, MERGING_NAME);
}

/* ---- rows ---- */

static int write_rows(database *d, const kiln_cache_entry *rows, size_t count)
{
    const int64_t seen = (int64_t)kiln__now_us();
    sqlite3_stmt *st = NULL;
    int code = d->prepare_v2(
        d->db,
        "INSERT INTO entry(name, bytes, last_use, target, kernel, seen) VALUES(?1, ?2, ?3, ?4, "
        "?5, ?6) ON CONFLICT(name) DO UPDATE SET bytes = ?2, last_use = ?3, target = ?4, "
        "kernel = ?5, seen = ?6",
        -1, &st, NULL);

    for (size_t k = 0; k < count && code == SQLITE_OK; k++) {
        const kiln_cache_entry *row = &rows[k];
        d->bind_text(st, 1, row->key, -1, NULL);
        d->bind_int64(st, 2, (int64_t)row->bytes);
        d->bind_int64(st, 3, row->last_use_ns);
        d->bind_text(st, 4, row->target, -1, NULL);
        d->bind_text(st, 5, row->kernel, -1, NULL);
        d->bind_int64(st, 6, seen);
        code = d->step(st);
        code = code == SQLITE_DONE ? d->reset(st) : code;
    }
    d->finalize(st);
    st = NULL;
    if (code == SQLITE_OK)
        code = d->prepare_v2(d->db, "DELETE FROM entry WHERE seen IS NOT ?1", -1, &st, NULL);
    if (code == SQLITE_OK) {
        d->bind_int64(st, 1, seen);
        code = d->step(st) == SQLITE_DONE ? SQLITE_OK : SQLITE_CORRUPT;
    }
    d->finalize(st);
    return code;
}

/* Both are sorted by name and hold the same names. */
static int read_rows(database *d, kiln_cache_entry *rows, size_t count)
{
    sqlite3_stmt *st = NULL;
    int code = d->prepare_v2(d->db,
                             "SELECT name, hits, compile_us, created, origin FROM entry "
                             "ORDER BY name",
                             -1, &st, NULL);

    for (size_t k = 0; k < count && code == SQLITE_OK; k++) {
        if (d->step(st) != SQLITE_ROW)
            break;
        const char *name = (const char *)d->column_text(st, 0);
        if (name == NULL || strcmp(name, rows[k].key) != 0) {
            code = SQLITE_CORRUPT;
            break;
        }
        rows[k].hits = (uint64_t)d->column_int64(st, 1);
        rows[k].compile_us = (uint64_t)d->column_int64(st, 2);
        rows[k].created_ns = d->column_int64(st, 3);
        const char *origin = (const char *)d->column_text(st, 4);
        snprintf(rows[k].origin, sizeof rows[k].origin, "%s", origin != NULL ? origin : "");
    }
    d->finalize(st);
    return code;
}

static int sync_once(database *d, const char *path, kiln_cache_entry *rows, size_t count,
                     char note[128])
{
    int code = begin(d, path, note);

    if (code != SQLITE_OK)
        return code;
    apply_journal(d);
    if (rows != NULL || count == 0)
        code = write_rows(d, rows, count);
    if (code == SQLITE_OK)
        code = read_rows(d, rows, count);
    if (code == SQLITE_OK)
        code = run(d, "COMMIT");
    if (code == SQLITE_OK)
        unlinkat(d->folder, MERGING_NAME, 0);
    return code;
}

bool kiln__index_sync(int folder, const char *path, kiln_cache_entry *rows, size_t count,
                      char note[128])
{
    database d = {.folder = folder};
    char *real = NULL; /* from realpath(): libc's memory */
    int code = SQLITE_DONE;

    note[0] = '\0';
    if (is_network_folder(folder)) {
        snprintf(note, 128, "the folder is on a network file system");
        return false;
    }
    if (!load_library(&d, note)) {
        close_database(&d);
        return false;
    }
    /* SQLite's "no follow" means every part of a path, and a link may lead to the folder. */
    real = realpath(path, NULL);
    if (!leads_to(real != NULL ? real : path, folder)) {
        snprintf(note, 128, "the folder's path leads to another one now");
        close_database(&d);
        free(real); /* Not kiln__free: realpath() allocated it. */
        return false;
    }
    mend_files(folder);
    for (int round = 0; round < 2; round++) {
        code = sync_once(&d, real != NULL ? real : path, rows, count, note);
        if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB)
            break;
        d.close_v2(d.db);
        d.db = NULL;
        kiln__index_remove(folder);
    }
    if (code != SQLITE_OK && note[0] == '\0')
        snprintf(note, 128, "the index cannot be used now: %.80s",
                 d.db != NULL ? d.errmsg(d.db) : "it cannot be opened");
    close_database(&d);
    free(real); /* Not kiln__free: realpath() allocated it. */
    return code == SQLITE_OK;
}
