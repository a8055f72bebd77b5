/*
 * cache.h - the one door of src/cache: compiled kernels on disk, found by their whole key.
 *
 * A cache never makes a call fail: every function here answers "no" or does nothing when the
 * disk is read-only, full, foreign-owned or gone. Uses core only; knows nothing of CUDA.
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
 * "": no disk). The folder is created 0700 on the first store, not here. A folder owned by
 * another user, or writable by group or others, is refused: the store then keeps nothing,
 * says why through `log` once, and kiln__cache_refusal() tells. NULL only when memory ran out.
 */
kiln__cache *kiln__cache_open(const char *dir, const kiln__log *log);
void kiln__cache_close(kiln__cache *cache);

/* What kiln__cache_open leaves to the environment. Zero in a field means its default. */
typedef struct kiln__cache_options {
    const char *dir;      /* as in kiln__cache_open */
    const char *bundles;  /* paths with ':' between; looked up before those of $KILN_BUNDLES */
    uint64_t limit_bytes; /* 0: $KILN_CACHE_LIMIT, else 1 GiB; UINT64_MAX: none */
    kiln__log log;
} kiln__cache_options;
kiln__cache *kiln__cache_open_with(const kiln__cache_options *opts);

/* Add a bundle; statuses as kiln_context_add_bundle. */
kiln_status kiln__cache_add_bundle(kiln__cache *cache, const char *path, kiln_error *err);

/* "200M", "1.5GiB", "1048576": K, M, G, T and KiB... are powers of 1024, KB... of 1000; "none" is
 * UINT64_MAX. False for anything else. */
bool kiln__bytes_parse(const char *text, uint64_t *bytes_out);

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

/* As kiln__cache_store, telling the index how long compiling took and where the blob comes from
 * ("compiled", "imported"). False when it could not be kept. */
bool kiln__cache_store_as(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                          size_t bytes, double compile_us, const char *origin);

/*
 * One compilation per key at a time, across processes. After a miss: begin, compile, store, end.
 * _begin waits while another process (or another cache of this one) is at the same key, but not
 * for ever, and looks for the blob once more: true when it is there now. It may be ended in either
 * case. Without a folder, or where locks do not work, it does nothing. _fail in the place of _end
 * tells others that waiting for their turn would bring nothing: each of them compiles at once. A
 * store that failed has told them already.
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
/* How long to wait; for tests. 30 seconds unless set. */
void kiln__cache_set_wait(kiln__cache *cache, double wait_us);

/* Count a compilation. */
void kiln__cache_note_compile(kiln__cache *cache, double us);

/* All counters since open. */
void kiln__cache_get_counters(kiln__cache *cache, kiln_cache_counters *out);

/* Check one blob's bytes as read from disk against a key; the fuzzer's entry. On success points
 * into `file` at the payload. */
bool kiln__blob_check(const void *file, size_t file_bytes, const void *key, size_t key_bytes,
                      const void **payload_out, size_t *payload_bytes_out);

#endif
