/*
 * cache.h - the one door of src/cache: compiled kernels on disk, found by their whole key.
 *
 * A cache never makes a call fail: every function here answers "no" or does nothing when the
 * disk is read-only, full, foreign-owned or gone. Uses core only; knows nothing of CUDA.
 *
 * Threads: every function may be called from any thread.
 */
#ifndef KILN_CACHE_CACHE_H
#define KILN_CACHE_CACHE_H

#include "core/core.h"

typedef struct kiln__cache kiln__cache;

/* A blob in memory. `data` is 16-byte aligned heap memory (or a mapping later); release with
 * kiln__blob_clear, which accepts an empty one. */
typedef struct kiln__blob {
    unsigned char *data;
    size_t bytes;
} kiln__blob;
#define KILN__BLOB_INIT {NULL, 0}
void kiln__blob_clear(kiln__blob *blob);

/*
 * Open the store at `dir` (NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln;
 * "": no disk). The folder is created 0700 on the first store, not here. A folder owned by
 * another user, or writable by group or others, is refused: the store then works in memory only,
 * says why through `log` once, and kiln__cache_refusal() tells. NULL only when memory ran out.
 */
kiln__cache *kiln__cache_open(const char *dir, const kiln__log *log);
void kiln__cache_close(kiln__cache *cache);

/* The folder in use, "" for none; and why there is none ("" when there is one). */
const char *kiln__cache_dir(const kiln__cache *cache);
const char *kiln__cache_refusal(const kiln__cache *cache);

/*
 * Look for the blob stored under exactly these key bytes. True on a hit that passed every check
 * (magic, format, sizes, checksum, whole key equal, owner and mode); anything else is a miss.
 * Opens one file, no directory scan. `key` is everything that the binary depends on.
 */
bool kiln__cache_load(kiln__cache *cache, const void *key, size_t key_bytes, kiln__blob *blob_out);

/* Store a blob under a key: temporary name in the same shard, fsync not needed (the checksum
 * decides), rename. Failures are silent but for one log line per kind. */
void kiln__cache_store(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                       size_t bytes);

/* Counters since open. */
typedef struct kiln__cache_stats {
    uint64_t hits, misses, damaged, stores, store_failures;
} kiln__cache_stats;
void kiln__cache_get_stats(kiln__cache *cache, kiln__cache_stats *out);

/* Check one blob's bytes as read from disk against a key; the fuzzer's entry. On success points
 * into `file` at the payload. */
bool kiln__blob_check(const void *file, size_t file_bytes, const void *key, size_t key_bytes,
                      const void **payload_out, size_t *payload_bytes_out);

#endif
