/*
 * parts.h - what the files of src/cache share. Private to src/cache.
 *
 *     catalog.c    the tools' functions: list, verify, prune, clear
 *     pack.c       a folder into a bundle, and back
 *     publish.c    put an entry into the folder
 *     store.c      find an entry; the cache's life
 *     fork.c       an open cache in a forked child
 *     journal.c    hits and stores not yet written down         index.c   SQLite, for the tools
 *     evict.c      which entries go when the folder is full     flight.c  one compilation per key
 *     ledger.c     how many bytes the folder holds; locks
 *     entry.c      what is in the folder: shards and entries, checked as they are opened
 *     blob.c       what a file must look like                   bundle.c  many of them in one file
 *     dir.c        finds, checks and makes the folder           limit.c   sizes as text
 *     way.c        checks that nobody else can replace a folder of its path
 *
 * A file calls only those below it.
 */
#ifndef KILN_CACHE_PARTS_H
#define KILN_CACHE_PARTS_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>

#include "cache/cache.h"

/* Files of the folder that are no shards: ledger, lock, journal, index. */
#define KILN__HOUSEKEEPING_PREFIX "kiln-"
#define KILN__SHARD_COUNT 256u
#define KILN__TEMP_PREFIX "tmp-"

#define KILN__REASON_BYTES 512

/* ---- integers in files: little-endian, at any address ---- */

static inline uint64_t kiln__get_le(const unsigned char *p, int bytes)
{
    uint64_t v = 0;

    for (int k = bytes - 1; k >= 0; k--)
        v = v << 8 | p[k];
    return v;
}

static inline void kiln__put_le(unsigned char *p, int bytes, uint64_t v)
{
    for (int k = 0; k < bytes; k++)
        p[k] = (unsigned char)(v >> (8 * k));
}

/* ---- blob.c ---- */

#define KILN__BLOB_HEADER_BYTES ((size_t)64)

/* Larger than any kernel. A file whose header says more is damaged, and no memory is allocated for
 * it. */
#define KILN__BLOB_FILE_BYTES_MAX ((uint64_t)1 << 30)

typedef enum kiln__verdict {
    KILN__VERDICT_VALID,  /* every check passed */
    KILN__VERDICT_OTHER,  /* whole, but for another key or of another format: leave it alone */
    KILN__VERDICT_DAMAGED, /* no blob, or not what its header promises: remove it */
    KILN__VERDICT_ABSENT,    /* there is no file; never given by kiln__blob_verify */
    KILN__VERDICT_UNREADABLE /* the disk reported an error; never given by kiln__blob_verify */
} kiln__verdict;

/* What the header alone tells of a file of `file_bytes` that should hold a key of `key_bytes`. */
kiln__verdict kiln__blob_check_header(const unsigned char header[KILN__BLOB_HEADER_BYTES],
                                      uint64_t file_bytes, size_t key_bytes);

/* What the whole file tells. On VALID points at the payload inside `file`. */
kiln__verdict kiln__blob_verify(const void *file, size_t file_bytes, const void *key,
                               size_t key_bytes, const void **payload_out,
                               size_t *payload_bytes_out);

/* As kiln__blob_verify, for the key in the file itself, to which *key_out points. True when VALID. */
bool kiln__blob_verify_any(const void *file, size_t file_bytes, const void **key_out,
                          size_t *key_bytes_out, kiln__verdict *verdict_out);

/* The bytes of a blob file in heap memory; NULL without memory or when it would be too large. */
unsigned char *kiln__blob_encode(const void *key, size_t key_bytes, const void *data, size_t bytes,
                                 size_t *file_bytes_out);

/* ---- dir.c ---- */

typedef enum kiln__dir_state {
    KILN__DIR_OPEN,    /* there, ours, open */
    KILN__DIR_ABSENT,  /* not there (yet) */
    KILN__DIR_REFUSED, /* there, but not to be trusted or no folder: using it would be wrong */
    KILN__DIR_FAILED   /* could not be made or opened now; later it may work */
} kiln__dir_state;

/* The absolute path of the store as heap text. `dir` as in kiln__cache_open. NULL with a reason
 * when nothing tells where it should be (reason "" for out of memory). */
char *kiln__dir_path(const char *dir, char reason[KILN__REASON_BYTES]);

/* Open the folder at `path`, and make it and its parents first when `create`. Writes `reason`
 * unless it returns OPEN or ABSENT. */
kiln__dir_state kiln__dir_open(const char *path, bool create, int *fd_out,
                               char reason[KILN__REASON_BYTES]);

/* Whether the folder behind an open descriptor is still one to use: not deleted, ours and closed. */
bool kiln__dir_is_good(int fd);

static inline bool kiln__is_open_to_others(const struct stat *st)
{
    return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}
/* Owned by this user and closed to other writers: nobody else can write it. */
static inline bool kiln__is_owned_by(const struct stat *st, uid_t owner)
{
    return st->st_uid == owner && !kiln__is_open_to_others(st);
}
bool kiln__is_ours(const struct stat *st);

/* ---- way.c ---- */

/* Check every step of an absolute path and open what it leads to, which the caller must check. 0
 * or an errno value; EPERM comes with a reason when others could put another in its place. */
int kiln__way_open(const char *path, int flags, int *fd_out, char reason[KILN__REASON_BYTES]);

/* ---- entry.c ---- */

/* A value of errno: the file is another user's, others can write it, or it is not of the kind that
 * it must be. No file system sets EDOM. */
#define KILN__EFOREIGN EDOM

#define KILN__SHARD_BYTES ((size_t)3) /* two hex digits, NUL */
#define KILN__NAME_BYTES ((size_t)33) /* 32 hex digits, NUL */
#define KILN__PATH_BYTES (KILN__SHARD_BYTES + KILN__NAME_BYTES)

/* "4f/4f1b...", the path of an entry below the folder, from its name and from its hash. */
void kiln__entry_path(const char name[KILN__NAME_BYTES], char path[KILN__PATH_BYTES]);
void kiln__place_path(kiln__hash128 hash, char path[KILN__PATH_BYTES]);

void kiln__shard_name(unsigned shard, char name[3]);
bool kiln__is_entry_name(const char *name);
/* Find which shards have a folder. If that is not possible: all of them, and false with errno. */
bool kiln__find_shards(int folder, bool present[KILN__SHARD_COUNT]);
/* Call `fn` for each name in a shard. False with errno when the shard could not be read. */
typedef void (*kiln__list_fn)(void *user, int shard_fd, const char *name);
bool kiln__list_shard(int folder, unsigned shard, kiln__list_fn fn, void *user);
/* The same for regular files and what stat says of them, two microseconds each; false also when
 * one of them could not be asked. */
typedef void (*kiln__scan_fn)(void *user, int shard_fd, const char *name, const struct stat *st);
bool kiln__scan_shard(int folder, unsigned shard, kiln__scan_fn fn, void *user);

int64_t kiln__stamp_of(const struct stat *st);
/* The argument of futimens and utimensat that sets a stamp and leaves the access time. */
void kiln__stamp_times(int64_t stamp_ns, struct timespec times[2]);

/* Open the folder of a shard. -1 with errno: ENOENT when there is none, KILN__EFOREIGN, or what the
 * disk said. */
int kiln__shard_open(int folder, const char *shard, int flags);
/* Open an entry for reading, and what fstat says of it: a regular file, ours, closed. -1 with
 * errno: ENOENT, KILN__EFOREIGN (`shard_bad` tells whether for the shard), or what the disk said. */
int kiln__entry_open(int folder, const char *path, struct stat *st, bool *shard_bad);
/* At most `max` bytes of an entry's file, unchecked, in heap memory. VALID, ABSENT, DAMAGED
 * (nothing that could be an entry) or UNREADABLE, with errno. */
kiln__verdict kiln__entry_read(int folder, const char name[33], size_t max,
                               unsigned char **data_out, size_t *bytes_out);
/* Remove something from a name that an entry needs. Files and links are deleted; a folder is
 * renamed, and deleted as well if it holds nothing but entries. Returns whether the name is free
 * now. */
bool kiln__make_way(int folder, const char *name);
/* 32 digits that no other process can guess, so that nobody can create that name before. */
void kiln__random_hex(char hex[33]);

/* ---- ledger.c ---- */

/* The ledger as it lies on the disk; in the byte order of the machine, for which alone it is. */
typedef struct kiln__ledger_file {
    char magic[8];
    uint32_t version, reserved;
    uint64_t sum; /* of all that follows */
    int64_t newest_ns;
    uint64_t bytes[KILN__SHARD_COUNT];
    uint32_t count[KILN__SHARD_COUNT];
} kiln__ledger_file;

typedef struct kiln__ledger {
    int folder; /* borrowed */
    int fd;     /* locked */
    kiln__ledger_file file;
} kiln__ledger;

/* Open and lock the folder's ledger, made or repaired where needed; 0 or an errno value, ETIMEDOUT
 * when another process keeps it. */
int kiln__ledger_open(int folder, kiln__ledger *l);
/* Write what was changed; 0 or an errno value. */
int kiln__ledger_commit(kiln__ledger *l);
void kiln__ledger_close(kiln__ledger *l);
uint64_t kiln__ledger_bytes(const kiln__ledger *l);
uint64_t kiln__ledger_count(const kiln__ledger *l);
void kiln__ledger_add(kiln__ledger *l, unsigned shard, uint64_t bytes);
void kiln__ledger_remove(kiln__ledger *l, unsigned shard, uint64_t bytes);
/* Count a shard's files anew; false, and nothing changed, when it cannot be read. */
bool kiln__ledger_recount(kiln__ledger *l, unsigned shard);

/* Remove a temporary file whose writer died; true when it was removed. The ledger must be open. */
bool kiln__remove_dead_temp(int shard_fd, const char *name);

/* Lock one byte of a file, waiting so long at most; 0, ETIMEDOUT, or what fcntl said. */
int kiln__lock_byte(int fd, int64_t start, double wait_us);
/* Give all locks of a descriptor back, also when a forked child has a copy of it. */
void kiln__unlock_and_close(int fd);
/* openat() of one of the cache's own files. Anything else in its place is moved away first, and so
 * is a file that others could have written. */
int kiln__open_housekeeping(int folder, const char *name, int flags);

/* ---- evict.c ---- */

typedef struct kiln__victim {
    int64_t stamp_ns;
    uint64_t bytes;
    char path[KILN__PATH_BYTES];
} kiln__victim;

/* Entries to evict, oldest first, from `next` on. Zeros are an empty queue. */
typedef struct kiln__victims {
    kiln__victim *items;
    size_t count, capacity, next;
    bool exact; /* from a scan of the whole folder, not a sample */
    /* The names of a shard, of which samples are taken. */
    char (*names)[33];
    size_t name_count, name_capacity, name_next;
    unsigned shard; /* whose names come next */
} kiln__victims;

void kiln__victims_clear(kiln__victims *v);
/* Append all entries of a shard, and put the ledger right for it. */
bool kiln__victims_scan(kiln__ledger *l, unsigned shard, kiln__victims *v);
void kiln__victims_sort(kiln__victims *v);
/* Remove an entry unless it was used since it was listed. The ledger is not committed. */
bool kiln__evict_one(kiln__ledger *l, const kiln__victim *victim);
/* Make room for `need` bytes below `limit`. The ledger is not committed. */
bool kiln__evict_for(kiln__ledger *l, kiln__victims *v, uint64_t limit, uint64_t need,
                     uint64_t *evicted);

/* ---- flight.c ---- */

typedef enum kiln__awaited {
    KILN__AWAITED_NOTHING, /* nobody held the key, or locks do not work */
    KILN__AWAITED_END,     /* the holder has ended, or waiting took too long */
    KILN__AWAITED_FAILURE  /* the holder, or one before it, has reported a failure */
} kiln__awaited;

/* Lock a key. Without success the flight stays empty. */
kiln__awaited kiln__flight_lock(int folder, kiln__hash128 hash, double wait_us,
                                kiln__flight *flight);
/* Tell those who wait for a key that there will be no entry. */
void kiln__flight_tell_failure(int folder, kiln__hash128 hash);

/* ---- bundle.c ---- */

/* A bundle in memory, checked. */
typedef struct kiln__bundle {
    const unsigned char *bytes; /* a mapping, or the caller's */
    size_t size;
    size_t count;
    char *path; /* NULL for one of the caller's memory */
} kiln__bundle;

/* Whether these bytes are a bundle as far as header and index tell. Blobs are verified when they
 * are found. ERR_FORMAT. */
kiln_status kiln__bundle_check(const void *bytes, size_t size, kiln__bundle *out, kiln_error *err);
/* Map a file: ERR_IO, ERR_FORMAT, ERR_CACHE (not to be trusted), ERR_NO_MEMORY. Messages name it. */
kiln_status kiln__bundle_open(const char *path, kiln__bundle *out, kiln_error *err);
void kiln__bundle_close(kiln__bundle *b);
/* The blob file stored under a hash, inside the mapping; NULL when there is none. */
const void *kiln__bundle_find(const kiln__bundle *b, kiln__hash128 hash, size_t *bytes_out);
/* The entry at an index below count; NULL when the index lies. */
const void *kiln__bundle_at(const kiln__bundle *b, size_t index, kiln__hash128 *hash_out,
                            size_t *bytes_out);

/* One blob file that goes into a bundle. */
typedef struct kiln__bundle_item {
    kiln__hash128 hash;
    uint64_t bytes;
    char path[KILN__PATH_BYTES]; /* below the folder */
} kiln__bundle_item;

/* Write items (sorted by hash here; one entry for each) as a bundle to a descriptor. `read_item`
 * gives the item's checked bytes, exactly item->bytes of them, freed with kiln__free. 0 or an
 * errno value. */
int kiln__bundle_write(int fd, kiln__bundle_item *items, size_t count,
                       unsigned char *(*read_item)(void *user, const kiln__bundle_item *item),
                       void *user);

/* ---- pack.c ---- as kiln_cache_export and kiln_cache_import */
kiln_status kiln__pack_export(int folder, const char *path, const char *const *targets,
                              size_t target_count, uint64_t *count_out, kiln_error *err);
kiln_status kiln__pack_import(kiln__cache *store, const char *path, uint64_t *count_out,
                              kiln_error *err);

/* ---- journal.c ---- What happened to entries, kept in memory; put down in one go: hits as stamps
 * of the entries' files, and all of it as lines of one file. Locks itself; drops what it cannot
 * keep. */

#define KILN__JOURNAL_NAME KILN__HOUSEKEEPING_PREFIX "journal"
#define KILN__JOURNAL_HITS 64

typedef struct kiln__hit {
    kiln__hash128 hash;
    int64_t stamp_ns;
} kiln__hit;

typedef struct kiln__journal {
    pthread_mutex_t mutex;
    kiln__buf lines; /* of stores */
    size_t hit_count;
    kiln__hit hits[KILN__JOURNAL_HITS];
} kiln__journal;

bool kiln__journal_init(kiln__journal *j);
void kiln__journal_clear(kiln__journal *j);
/* True when it is time to flush. A hit costs some ten nanoseconds: no system call, no memory. */
bool kiln__journal_hit(kiln__journal *j, kiln__hash128 hash, int64_t stamp_ns);
bool kiln__journal_store(kiln__journal *j, const char name[33], int64_t stamp_ns, uint64_t bytes,
                         double compile_us, const char *origin, const char *target,
                         const char *kernel);
bool kiln__journal_has_hits(kiln__journal *j);
/* In a forked child: what was noted is the parent's to put down. */
void kiln__journal_forget(kiln__journal *j);
void kiln__journal_flush(kiln__journal *j, int folder);

/* What a key tells of itself: the line "target NAME" and the first text `kernel "NAME"`. "" for
 * what it does not tell. Printable ASCII without blanks, cut to fit. */
void kiln__key_labels(const void *key, size_t key_bytes, char target[32], char kernel[64]);

/* ---- index.c ---- */

/* Bring the index up to date: take in the journal, and when `rows` is given make it hold exactly
 * those (sorted by key) and complete them from it. Never waits. False with a note when there is
 * no index to be had. */
bool kiln__index_sync(int folder, const char *path, kiln_cache_entry *rows, size_t count,
                      char note[128]);
void kiln__index_remove(int folder);

/* ---- store.c, publish.c ---- */

/* Kinds of trouble, each logged once. */
typedef enum kiln__trouble {
    KILN__TROUBLE_FOLDER = 1u << 0, /* the folder cannot be made, opened or trusted */
    KILN__TROUBLE_WRITE = 1u << 1,  /* an entry cannot be written */
    KILN__TROUBLE_DAMAGE = 1u << 2, /* an entry was damaged */
    KILN__TROUBLE_LIMIT = 1u << 3   /* an entry is larger than the whole cache may be */
} kiln__trouble;

/* What every hit touches comes first and lies together: it is all that a cold process faults in. */
struct kiln__cache {
    char *path;            /* absolute; "" when there is no disk */
    pthread_rwlock_t lock; /* guards `fd` against being replaced while in use */
    int fd;                /* the folder, or -1 while it does not exist */
    atomic_uint generation; /* of the process that may use it as it is (fork.c) */
    atomic_uint bundle_count;
    _Atomic int64_t newest_ns; /* no stamp this cache gives is older */
    _Atomic uint64_t hits, bundle_hits, bytes_read;
    uint64_t limit_bytes;  /* UINT64_MAX: none */
    double wait_us;        /* for another process's compilation */
    kiln__log log;
    kiln__journal journal;

    atomic_uint renewing;                      /* the generation that one thread makes it fit for */
    atomic_uint troubles;                      /* kinds already logged */
    atomic_uint swept[KILN__SHARD_COUNT / 32]; /* shards whose old temporary files are gone */
    _Atomic uint64_t misses, miss_absent, miss_damaged, miss_other, miss_unreadable;
    _Atomic uint64_t stores, store_failures, evictions, waits, wait_hits;
    _Atomic uint64_t bytes_written, compiles, compile_us;
    pthread_mutex_t victims_mutex;
    kiln__victims victims;
    pthread_mutex_t bundles_mutex;         /* of whoever adds one */
    kiln__bundle bundles[KILN_BUNDLE_MAX]; /* constant up to bundle_count */
    char refusal[2 * KILN__REASON_BYTES];  /* set while opening, constant afterwards */
};

/* An entry's place: "4f/4f1b..." below the folder. */
typedef struct kiln__place {
    kiln__hash128 hash;
    unsigned shard_index;
    char shard[KILN__SHARD_BYTES];
    char name[KILN__NAME_BYTES];
    char path[KILN__PATH_BYTES];
} kiln__place;
kiln__place kiln__place_of(const void *key, size_t key_bytes);
static inline void kiln__count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* True for the first caller with this kind. */
bool kiln__is_news(kiln__cache *cache, kiln__trouble kind);
/* Open the folder if it is not open, or no longer exists; make it when `create`. True when it is
 * open now. */
bool kiln__renew_folder(kiln__cache *cache, bool create);
/* A descriptor of the folder for the caller to close; -1 while there is none. */
int kiln__dup_folder(kiln__cache *cache);
/* The time for an entry's stamp: now, but never before a stamp that was seen already, so that a
 * clock that was set back turns nothing around. */
int64_t kiln__next_stamp(kiln__cache *cache);
void kiln__seen_stamp(kiln__cache *cache, int64_t stamp_ns);

/* ---- fork.c ---- */

void kiln__cache_renew_after_fork(kiln__cache *cache);
/* The first thing that every function of the door does. */
static inline void kiln__cache_enter(kiln__cache *cache)
{
    if (atomic_load_explicit(&cache->generation, memory_order_acquire) != kiln__fork_generation())
        kiln__cache_renew_after_fork(cache);
}

#endif
