/*
 * cache.h - the header through which other folders use src/cache: compiled kernels on disk, found
 * by their whole key.
 *
 * A cache never makes a call fail: when the disk is read-only, full, another user's or gone, every
 * function here returns false or does nothing. Uses core only.
 *
 * Threads: every function may be called from any thread, and in a forked child.
 */
#ifndef KILN_CACHE_CACHE_H
#define KILN_CACHE_CACHE_H

#include "core/core.h"
#include "kiln/cache.h"

typedef struct kiln__cache kiln__cache;

/* A blob in memory. `data` is heap memory, aligned to 16 bytes; release it with
 * kiln__blob_clear, which accepts an empty one. */
typedef struct kiln__blob {
    unsigned char *data;
    size_t bytes;
} kiln__blob;
#define KILN__BLOB_INIT {NULL, 0}
void kiln__blob_clear(kiln__blob *blob);

/*
 * Open the store at `dir` (NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln;
 * "": no disk). The folder is created, with mode 0700, when the first entry is stored. A folder
 * that another user owns, or that group or others can write, is refused: the cache then keeps
 * nothing, and logs the reason once (see kiln__cache_refusal()). NULL without memory.
 */
kiln__cache *kiln__cache_open(const char *dir, const kiln__log *log);
void kiln__cache_close(kiln__cache *cache);

/* The options of a cache, of which kiln__cache_open() has only `dir` and `log`. Zero: the default. */
typedef struct kiln__cache_options {
    const char *dir;      /* as in kiln__cache_open */
    const char *bundles;  /* paths with ':' between; looked up before those of $KILN_BUNDLES */
    uint64_t limit_bytes; /* 0: $KILN_CACHE_LIMIT, else 1 GiB; UINT64_MAX: none */
    kiln__log log;
} kiln__cache_options;
kiln__cache *kiln__cache_open_with(const kiln__cache_options *opts);

/* Add a bundle. Returns what kiln_context_add_bundle() does. */
kiln_status kiln__cache_add_bundle(kiln__cache *cache, const char *path, kiln_error *err);

/* Read a number of bytes: "200M", "1.5GiB", "1048576". K, M, G, T and KiB, ... are powers of 1024,
 * KB, ... of 1000; "none" is UINT64_MAX. Returns false for anything else. */
bool kiln__bytes_parse(const char *text, uint64_t *bytes_out);

/* The folder in use, "" if there is none; and the reason if there is none, else "". */
const char *kiln__cache_dir(const kiln__cache *cache);
const char *kiln__cache_refusal(const kiln__cache *cache);

/*
 * Look for the blob stored under exactly these key bytes. True on a hit that passed every check
 * (magic, format, sizes, checksum, whole key equal, owner and mode); anything else is a miss.
 * Opens one file, no directory scan. `key` is everything that the binary depends on.
 */
bool kiln__cache_load(kiln__cache *cache, const void *key, size_t key_bytes, kiln__blob *blob_out);

/* Store a blob under a key: write a temporary file in the same shard and rename it. (There is no
 * fsync: a damaged file has a wrong checksum.) The first failure of each kind is logged. */
void kiln__cache_store(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                       size_t bytes);

/* The same; the index also notes how long compiling took and where the blob comes from ("compiled",
 * "imported"). Returns false when the blob could not be stored. */
bool kiln__cache_store_as(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                          size_t bytes, double compile_us, const char *origin);

/*
 * One compilation of a key at a time, in all processes. After a miss: begin, compile, store, end.
 * _begin waits for a limited time while another process (or another cache of this one) compiles the
 * same key, and then looks for the blob again: it returns true if there is one. The caller calls
 * _end in either case. Without a folder, or where locks do not work, these functions do nothing.
 * _fail, in place of _end, lets all that wait compile at once; a failed store does so as well.
 */
typedef struct kiln__flight {
    int fd;
    kiln__hash128 hash;
} kiln__flight;
#define KILN__FLIGHT_INIT {-1, {0, 0}}
bool kiln__cache_flight_begin(kiln__cache *cache, const void *key, size_t key_bytes,
                              kiln__flight *flight, kiln__blob *blob_out);
void kiln__cache_flight_end(kiln__flight *flight);
void kiln__cache_flight_fail(kiln__flight *flight);
/* Set how long _begin waits, for tests; the default is 30 seconds. */
void kiln__cache_set_wait(kiln__cache *cache, double wait_us);

/* Count a compilation, which took so long. */
void kiln__cache_note_compile(kiln__cache *cache, double us);

/* All counters since open. */
void kiln__cache_get_counters(kiln__cache *cache, kiln_cache_counters *out);

/* Check the bytes of a blob's file against a key. On success *payload_out points into `file`. For
 * fuzz tests. */
bool kiln__blob_check(const void *file, size_t file_bytes, const void *key, size_t key_bytes,
                      const void **payload_out, size_t *payload_bytes_out);

#endif
