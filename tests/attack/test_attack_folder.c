/*
 * test_attack_folder.c - foreign code through the cache folder: everything that another user, or a
 * folder that was open to him once, can put in the way of src/cache.
 *
 * In each case a valid entry with other bytes lies where the attacker has put it, so that a cache
 * that took it would return "evil". Cases that need a second owner need root or are skipped by name.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cache_env.h"

#define NOBODY 65534
#define KEY "the key"

static bool has_root(void)
{
    if (geteuid() != 0)
        print_message("SKIP: a second owner needs root\n");
    return geteuid() == 0;
}

/* A whole store at `dir` in which KEY has the bytes "evil". */
static void plant(cache_env *t, const char *dir)
{
    kiln__cache *cache = kiln__cache_open(dir, &t->log);

    assert_non_null(cache);
    kiln__cache_store(cache, KEY, strlen(KEY), "evil", 4);
    kiln__cache_close(cache);
}

static void below(const cache_env *t, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", t->base, name);
}

/* "base/store/4f": the shard of KEY. */
static void shard_path(const cache_env *t, char path[256])
{
    cache_entry_path(t, KEY, path);
    *strrchr(path, '/') = '\0';
}

/* What KEY gives: "" for a miss. */
static const char *look(cache_env *t, const char *dir)
{
    static char text[16];
    kiln__cache *cache = kiln__cache_open(dir, &t->log);
    kiln__blob blob = KILN__BLOB_INIT;

    assert_non_null(cache);
    text[0] = '\0';
    if (kiln__cache_load(cache, KEY, strlen(KEY), &blob))
        snprintf(text, sizeof text, "%.*s", (int)blob.bytes, (const char *)blob.data);
    kiln__blob_clear(&blob);
    kiln__cache_close(cache);
    return text;
}

/* KEY misses, can be stored, and is found on the disk from then on. */
static void check_mended(cache_env *t)
{
    kiln__cache *cache = NULL;

    assert_string_equal(look(t, t->dir), "");
    cache = cache_env_open(t);
    assert_true(kiln__cache_store_as(cache, KEY, strlen(KEY), "good", 4, 0, "compiled"));
    kiln__cache_close(cache);
    assert_string_equal(look(t, t->dir), "good");
}

/* The folder is refused, in words that hold `reason`. */
static void check_refused(cache_env *t, const char *dir, const char *reason)
{
    kiln__cache *cache = kiln__cache_open(dir, &t->log);

    assert_non_null(cache);
    if (strstr(kiln__cache_refusal(cache), reason) == NULL)
        fail_msg("'%s' does not say '%s'", kiln__cache_refusal(cache), reason);
    assert_string_equal(kiln__cache_dir(cache), "");
    kiln__cache_close(cache);
    assert_string_equal(look(t, dir), "");
}

/* ---- steps on the way ---- */

static void test_attack_folder__each_step_from_the_root_is_judged(void **state)
{
    cache_env *t = *state;
    static const struct {
        mode_t mode;
        bool good;
    } modes[] = {{0700, true},  {0755, true},  {0711, true},  {0777, false}, {0770, false},
                 {0775, false}, {0702, false}, {01777, true}, {01770, true}};
    char outer[256], inner[256], dir[256];

    below(t, "outer", outer);
    below(t, "outer/inner", inner);
    below(t, "outer/inner/store", dir);
    assert_int_equal(mkdir(outer, 0700), 0);
    assert_int_equal(mkdir(inner, 0700), 0);
    plant(t, dir);
    for (size_t k = 0; k < KILN_COUNT_OF(modes); k++) {
        const char *const steps[] = {outer, inner};
        for (int s = 0; s < 2; s++) {
            assert_int_equal(chmod(steps[s], modes[k].mode), 0);
            if (modes[k].good)
                assert_string_equal(look(t, dir), "evil");
            else
                check_refused(t, dir, steps[s]);
            assert_int_equal(chmod(steps[s], 0700), 0);
        }
    }
}

static void test_attack_folder__a_step_of_another_user_is_refused(void **state)
{
    cache_env *t = *state;
    char outer[256], dir[256];

    if (!has_root())
        skip();
    below(t, "outer", outer);
    below(t, "outer/store", dir);
    assert_int_equal(mkdir(outer, 0700), 0);
    plant(t, dir);
    assert_string_equal(look(t, dir), "evil");
    assert_int_equal(chown(outer, NOBODY, NOBODY), 0);
    check_refused(t, dir, "owned by user 65534");
}

/* In a folder like /tmp anybody may make a link. Whose it is decides. */
static void test_attack_folder__a_link_of_another_user_is_refused(void **state)
{
    cache_env *t = *state;
    char target[256], open[256], link[256], relative[300];

    below(t, "target", target);
    below(t, "open", open);
    below(t, "open/link", link);
    plant(t, target);
    assert_int_equal(mkdir(open, 0700), 0);
    assert_int_equal(chmod(open, 01777), 0);
    assert_int_equal(symlink("../target", link), 0);
    assert_string_equal(look(t, link), "evil"); /* our own link, our own folder */
    snprintf(relative, sizeof relative, "%s/../open/./link/", open);
    assert_string_equal(look(t, relative), "evil");
    if (!has_root())
        skip();
    assert_int_equal(lchown(link, NOBODY, NOBODY), 0);
    check_refused(t, link, "owned by user 65534");
    /* The same in the middle of a path. */
    below(t, "open/link/../target", target);
    check_refused(t, target, "owned by user 65534");
}

static void test_attack_folder__links_that_never_end_are_refused(void **state)
{
    cache_env *t = *state;
    char a[256], b[256];

    below(t, "a", a);
    below(t, "b", b);
    assert_int_equal(symlink(b, a), 0);
    assert_int_equal(symlink(a, b), 0);
    check_refused(t, a, "symbolic links");
    below(t, "a/store", a);
    check_refused(t, a, "symbolic links");
}

/* A container that does not map root sees the system's folders as those of nobody. */
static int look_without_root(cache_env *t)
{
    FILE *map = NULL;
    bool written = false;

    /* A process that has changed its user does not own its files in /proc otherwise. */
    if (setgid(1000) != 0 || setuid(1000) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
        unshare(CLONE_NEWUSER) != 0)
        return 77;
    map = fopen("/proc/self/uid_map", "w");
    written = map != NULL && fprintf(map, "1000 1000 1") > 0;
    if ((map != NULL && fclose(map) != 0) || !written)
        return 77;
    return strcmp(look(t, t->dir), "mine") != 0;
}

static void test_attack_folder__an_unmapped_root_is_no_other_user(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;
    char path[256];
    int result = 0;

    if (!has_root())
        skip();
    cache = cache_env_open(t);
    kiln__cache_store(cache, KEY, strlen(KEY), "mine", 4);
    kiln__cache_close(cache);
    cache_entry_path(t, KEY, path);
    assert_int_equal(chown(path, 1000, 1000), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(chown(path, 1000, 1000), 0);
    assert_int_equal(chown(t->dir, 1000, 1000), 0);
    assert_int_equal(chmod(t->base, 0755), 0);
    result = cache_in_child(look_without_root, t);
    if (result == 77) {
        print_message("SKIP: no user namespaces here\n");
        skip();
    }
    assert_int_equal(result, 0);
}

/* ---- the folder itself ---- */

/* Closing it again is no way out: the advice is to remove it. */
static void test_attack_folder__what_was_open_is_to_be_removed(void **state)
{
    cache_env *t = *state;

    plant(t, t->dir);
    assert_int_equal(chmod(t->dir, 0777), 0);
    check_refused(t, t->dir, "name another, or remove it");
}

/* The folder is opened to others while a program uses it. */
static void test_attack_folder__a_folder_opened_later_takes_no_more(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    cache_put(cache, "first", 10);
    assert_int_equal(chmod(t->dir, 0777), 0);
    cache_put(cache, "second", 10);
    assert_false(cache_on_disk(t, "second"));
    assert_non_null(strstr(t->last_log, "others may write"));
    kiln__cache_close(cache);
}

/* ---- shards ---- */

static void test_attack_folder__a_shard_that_is_a_link_is_not_followed(void **state)
{
    cache_env *t = *state;
    char elsewhere[256], shard[256], evil[300], text[4096];

    below(t, "elsewhere", elsewhere);
    plant(t, elsewhere);
    shard_path(t, shard);
    snprintf(evil, sizeof evil, "%s%s", elsewhere, strrchr(shard, '/'));
    assert_int_equal(mkdir(t->dir, 0700), 0);
    assert_int_equal(symlink(evil, shard), 0);
    check_mended(t);
    /* Nothing of the other place was touched. */
    cache_entry_path(t, KEY, text);
    snprintf(evil, sizeof evil, "%s%s", elsewhere, text + strlen(t->dir));
    assert_int_equal(access(evil, F_OK), 0);
    assert_string_equal(look(t, elsewhere), "evil");
}

/* Names in the cache folder that begin so. */
static size_t count_names(const cache_env *t, const char *start)
{
    DIR *dir = opendir(t->dir);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += strncmp(e->d_name, start, strlen(start)) == 0;
    closedir(dir);
    return count;
}

static void test_attack_folder__a_shard_open_to_others_is_emptied(void **state)
{
    cache_env *t = *state;
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    char shard[256], mine[300];

    shard_path(t, shard);
    snprintf(mine, sizeof mine, "%s/mine.txt", shard);
    for (size_t k = 0; k < 2 * KILN_COUNT_OF(modes); k++) {
        const bool holds_more = k % 2 == 1;
        plant(t, t->dir);
        if (holds_more)
            cache_write_file(mine, "not kiln's", 10);
        assert_int_equal(chmod(shard, modes[k / 2]), 0);
        check_mended(t);
        assert_int_equal(count_names(t, "kiln-foreign-"), holds_more);
        assert_int_equal(cache_count_files(t->dir, "mine"), holds_more);
        cache_remove_tree(t->dir);
    }
}

static void test_attack_folder__a_shard_of_another_user_is_emptied(void **state)
{
    cache_env *t = *state;
    char shard[256];

    if (!has_root())
        skip();
    plant(t, t->dir);
    shard_path(t, shard);
    assert_int_equal(chown(shard, NOBODY, NOBODY), 0);
    check_mended(t);
}

/* Neither the tools nor a bundle take what a load would not. */
static void test_attack_folder__the_tools_pass_foreign_shards_over(void **state)
{
    cache_env *t = *state;
    char shard[256], path[256];
    kiln_cache *tools = NULL;
    kiln_cache_summary summary;
    kiln_cache_report report;
    uint64_t count = 1;

    plant(t, t->dir);
    shard_path(t, shard);
    assert_int_equal(chmod(shard, 0777), 0);
    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
    assert_int_equal(summary.entry_count, 0);
    assert_int_equal(kiln_cache_verify(tools, false, &report, NULL), KILN_OK);
    assert_int_equal(report.good, 0);
    below(t, "bundle", path);
    assert_int_equal(kiln_cache_export(tools, path, NULL, 0, &count, NULL), KILN_ERR_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_not_equal(access(path, F_OK), 0);
    kiln_cache_close(tools);
}

/* ---- entries ---- */

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

/* The nth kind of thing in the place of a file. */
#define KINDS 7
static void put_thing(const char *path, int kind, const char *target)
{
    char inside[300];

    unlink(path);
    snprintf(inside, sizeof inside, "%s/file", path);
    switch (kind) {
    case 0:
        assert_int_equal(mkfifo(path, 0600), 0);
        break;
    case 1:
        assert_int_equal(mkdir(path, 0700), 0);
        break;
    case 2:
        assert_int_equal(mkdir(path, 0700), 0);
        cache_write_file(inside, "x", 1);
        break;
    case 3:
        assert_int_equal(symlink(target, path), 0);
        break;
    case 4:
        assert_int_equal(symlink("/dev/zero", path), 0);
        break;
    case 5:
        cache_write_file(path, "x", 1);
        assert_int_equal(chmod(path, 0666), 0);
        break;
    default:
        make_socket(path);
        break;
    }
}

static void test_attack_folder__whatever_lies_in_the_place_of_an_entry_is_mended(void **state)
{
    cache_env *t = *state;
    char path[256], elsewhere[256], evil[600];

    below(t, "elsewhere", elsewhere);
    plant(t, elsewhere);
    cache_entry_path(t, KEY, path);
    snprintf(evil, sizeof evil, "%s%s", elsewhere, path + strlen(t->dir));
    for (int kind = 0; kind < KINDS; kind++) {
        plant(t, t->dir);
        put_thing(path, kind, evil);
        check_mended(t);
        cache_remove_tree(t->dir);
    }
    assert_string_equal(look(t, elsewhere), "evil");
}

/* A miss is enough to find such a thing; but a store that was not preceded by one mends it too. */
static void test_attack_folder__a_store_mends_without_a_look(void **state)
{
    cache_env *t = *state;
    char path[256], shard[256];

    cache_entry_path(t, KEY, path);
    shard_path(t, shard);
    for (int kind = 0; kind < KINDS; kind++) {
        kiln__cache *cache = NULL;
        assert_int_equal(mkdir(t->dir, 0700), 0);
        assert_int_equal(mkdir(shard, 0700), 0);
        put_thing(path, kind, "/nowhere");
        cache = cache_env_open(t);
        assert_true(kiln__cache_store_as(cache, KEY, strlen(KEY), "good", 4, 0, "compiled"));
        kiln__cache_close(cache);
        assert_string_equal(look(t, t->dir), "good");
        cache_remove_tree(t->dir);
    }
}

/* ---- housekeeping ---- */

static void test_attack_folder__ledger_lock_and_journal_are_mended(void **state)
{
    cache_env *t = *state;
    static const char *const names[] = {"kiln-ledger", "kiln-lock", "kiln-journal"};
    char path[256], target[256];
    struct stat st;

    below(t, "target", target);
    cache_write_file(target, "untouched", 9);
    for (size_t n = 0; n < KILN_COUNT_OF(names); n++) {
        for (int kind = 0; kind < KINDS; kind++) {
            kiln__cache *cache = NULL;
            kiln__flight flight = KILN__FLIGHT_INIT;
            kiln__blob blob = KILN__BLOB_INIT;
            assert_int_equal(mkdir(t->dir, 0700), 0);
            snprintf(path, sizeof path, "%s/%s", t->dir, names[n]);
            put_thing(path, kind, target);
            cache = cache_env_open_limited(t, 400);
            assert_false(kiln__cache_flight_begin(cache, KEY, strlen(KEY), &flight, &blob));
            assert_true(flight.fd >= 0);
            kiln__cache_flight_end(&flight);
            for (int k = 0; k < 5; k++) {
                const char key[] = {'k', (char)('0' + k), '\0'};
                assert_true(kiln__cache_store_as(cache, key, 2, "0123456789", 10, 0, "compiled"));
                assert_true(cache_bytes_on_disk(t) <= 400);
            }
            kiln__cache_close(cache);
            assert_int_equal(lstat(path, &st), 0);
            assert_true(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
            cache_remove_tree(t->dir);
        }
    }
    assert_int_equal(cache_read_file(target, path, sizeof path), 9);
    assert_memory_equal(path, "untouched", 9);
}

/* ---- the index ---- */

typedef struct sqlite {
    void *library;
    int (*open)(const char *path, void **db);
    int (*close)(void *db);
    int (*exec)(void *db, const char *sql, void *fn, void *user, char **error);
} sqlite;

static bool load_sqlite(sqlite *s)
{
    void *symbols[3] = {NULL};

    s->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (s->library == NULL)
        return false;
    symbols[0] = dlsym(s->library, "sqlite3_open");
    symbols[1] = dlsym(s->library, "sqlite3_close");
    symbols[2] = dlsym(s->library, "sqlite3_exec");
    memcpy(&s->open, &symbols[0], sizeof s->open);
    memcpy(&s->close, &symbols[1], sizeof s->close);
    memcpy(&s->exec, &symbols[2], sizeof s->exec);
    return symbols[0] != NULL && symbols[1] != NULL && symbols[2] != NULL;
}

/* What would run when the tools read and write the table. */
#define ENTRY                                                                                      \
    "CREATE TABLE entry(name TEXT PRIMARY KEY, bytes INTEGER, last_use INTEGER, created INTEGER, " \
    "hits INTEGER, compile_us INTEGER, origin TEXT, target TEXT, kernel TEXT, seen INTEGER) "      \
    "WITHOUT ROWID;"
#define ENDLESS "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "

static const char *const hostile_schemas[] = {
    ENTRY "CREATE TABLE log(x); CREATE TRIGGER t AFTER INSERT ON entry BEGIN INSERT INTO log "
          "VALUES(new.name); END; PRAGMA user_version=1",
    ENTRY "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END; "
          "PRAGMA user_version=1",
    "CREATE VIEW entry AS " ENDLESS "x AS name, 1 AS hits, 1 AS compile_us, 1 AS created, "
    "'' AS origin FROM c; PRAGMA user_version=1",
    "CREATE TABLE entry(name TEXT, hits INTEGER AS (length(zeroblob(1000000000))), bytes, "
    "compile_us, created, origin, last_use, target, kernel, seen); PRAGMA user_version=1",
    "CREATE TABLE entry(x); PRAGMA user_version=1",
    ENTRY "CREATE TABLE more(x); PRAGMA user_version=0"};

static void check_index(cache_env *t)
{
    kiln_cache *tools = NULL;
    kiln_cache_summary summary;
    const double start = kiln__now_us();

    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
    assert_true(kiln__now_us() - start < 10e6);
    assert_int_equal(summary.entry_count, 1);
    if (!summary.has_index)
        fail_msg("%s", summary.index_note);
    kiln_cache_close(tools);
}

static void test_attack_folder__a_hostile_index_does_nothing(void **state)
{
    cache_env *t = *state;
    char path[256], target[256];
    sqlite s = {NULL};
    struct stat st;

    if (!load_sqlite(&s)) {
        print_message("SKIP: no SQLite here\n");
        skip();
    }
    plant(t, t->dir);
    below(t, "store/kiln-index.sqlite", path);
    below(t, "elsewhere", target);
    for (size_t k = 0; k < KILN_COUNT_OF(hostile_schemas); k++) {
        void *db = NULL;
        unlink(path);
        assert_int_equal(s.open(path, &db), 0);
        assert_int_equal(s.exec(db, hostile_schemas[k], NULL, NULL, NULL), 0);
        assert_int_equal(s.close(db), 0);
        assert_int_equal(chmod(path, 0600), 0);
        check_index(t);
    }
    /* Whatever else lies in its place, too. */
    for (int kind = 0; kind < KINDS; kind++) {
        cache_write_file(target, "untouched", 9);
        unlink(path);
        put_thing(path, kind, target);
        check_index(t);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISREG(st.st_mode) && (st.st_mode & 0022) == 0);
        assert_int_equal(stat(target, &st), 0);
        assert_int_equal(st.st_size, 9);
    }
    dlclose(s.library);
}

/* The folder's name leads to another one when the index is to be opened. */
static void test_attack_folder__the_index_is_that_of_the_folder(void **state)
{
    cache_env *t = *state;
    char aside[256], index[256];
    kiln_cache *tools = NULL;
    kiln_cache_summary summary;

    plant(t, t->dir);
    below(t, "aside", aside);
    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(rename(t->dir, aside), 0);
    assert_int_equal(mkdir(t->dir, 0700), 0);
    assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
    assert_int_equal(summary.entry_count, 1);
    assert_false(summary.has_index);
    below(t, "store/kiln-index.sqlite", index);
    assert_int_not_equal(access(index, F_OK), 0);
    kiln_cache_close(tools);
}

/* ---- bundles ---- */

static void test_attack_folder__the_way_to_a_bundle_is_judged(void **state)
{
    cache_env *t = *state;
    char outer[256], path[256];
    kiln_cache *tools = NULL;
    kiln__cache *cache = NULL;
    kiln_error err = KILN_ERROR_INIT;

    below(t, "outer", outer);
    below(t, "outer/app.kiln", path);
    plant(t, t->dir);
    assert_int_equal(mkdir(outer, 0700), 0);
    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(kiln_cache_export(tools, path, NULL, 0, NULL, NULL), KILN_OK);
    kiln_cache_close(tools);
    cache = kiln__cache_open("", &t->log);
    assert_int_equal(chmod(outer, 0777), 0);
    assert_int_equal(kiln__cache_add_bundle(cache, path, &err), KILN_ERR_CACHE);
    assert_non_null(strstr(err.message, outer));
    assert_int_equal(chmod(outer, 0755), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(kiln__cache_add_bundle(cache, path, &err), KILN_ERR_CACHE);
    assert_null(strstr(err.message, "chmod"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(kiln__cache_add_bundle(cache, path, &err), KILN_OK);
    kiln_error_clear(&err);
    kiln__cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_attack_folder__each_step_from_the_root_is_judged),
        CACHE_TEST(test_attack_folder__a_step_of_another_user_is_refused),
        CACHE_TEST(test_attack_folder__a_link_of_another_user_is_refused),
        CACHE_TEST(test_attack_folder__links_that_never_end_are_refused),
        CACHE_TEST(test_attack_folder__an_unmapped_root_is_no_other_user),
        CACHE_TEST(test_attack_folder__what_was_open_is_to_be_removed),
        CACHE_TEST(test_attack_folder__a_folder_opened_later_takes_no_more),
        CACHE_TEST(test_attack_folder__a_shard_that_is_a_link_is_not_followed),
        CACHE_TEST(test_attack_folder__a_shard_open_to_others_is_emptied),
        CACHE_TEST(test_attack_folder__a_shard_of_another_user_is_emptied),
        CACHE_TEST(test_attack_folder__the_tools_pass_foreign_shards_over),
        CACHE_TEST(test_attack_folder__whatever_lies_in_the_place_of_an_entry_is_mended),
        CACHE_TEST(test_attack_folder__a_store_mends_without_a_look),
        CACHE_TEST(test_attack_folder__ledger_lock_and_journal_are_mended),
        CACHE_TEST(test_attack_folder__a_hostile_index_does_nothing),
        CACHE_TEST(test_attack_folder__the_index_is_that_of_the_folder),
        CACHE_TEST(test_attack_folder__the_way_to_a_bundle_is_judged),
    };

    return cmocka_run_group_tests_name("attack_folder", tests, NULL, NULL);
}
