/*
 * parts.h - what the files of src/cache share; no other folder includes it (cache.h is the door).
 *
 *     cache.h <- store.c -> dir.c     which folder, is it ours, make it
 *                        -> blob.c    what a file must look like
 *                        -> memory.c  blobs that no disk would take
 */
#ifndef KILN_CACHE_PARTS_H
#define KILN_CACHE_PARTS_H

#include <pthread.h>

#include "cache/cache.h"

/* ---- blob.c ---- */

#define KILN__BLOB_HEADER_BYTES ((size_t)64)

/* Larger than any kernel: what claims more is damaged, and no memory is asked for it. */
#define KILN__BLOB_FILE_BYTES_MAX ((uint64_t)1 << 30)

typedef enum kiln__verdict {
    KILN__VERDICT_VALID,  /* every check passed */
    KILN__VERDICT_OTHER,  /* whole, but for another key or of another format: leave it alone */
    KILN__VERDICT_DAMAGED /* no blob, or not what its header promises: remove it */
} kiln__verdict;

/* What the header alone tells of a file of `file_bytes` that should hold a key of `key_bytes`. */
kiln__verdict kiln__blob_judge_header(const unsigned char header[KILN__BLOB_HEADER_BYTES],
                                      uint64_t file_bytes, size_t key_bytes);

/* What the whole file tells. On VALID points at the payload inside `file`. */
kiln__verdict kiln__blob_judge(const void *file, size_t file_bytes, const void *key,
                               size_t key_bytes, const void **payload_out,
                               size_t *payload_bytes_out);

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

#define KILN__REASON_BYTES 512

/* The absolute path of the store as heap text. `dir` as in kiln__cache_open. NULL with a reason
 * when nothing tells where it should be (reason "" for out of memory). */
char *kiln__dir_path(const char *dir, char reason[KILN__REASON_BYTES]);

/* Open the folder at `path`, and make it and its parents first when `create`. Writes `reason`
 * unless it returns OPEN or ABSENT. */
kiln__dir_state kiln__dir_open(const char *path, bool create, int *fd_out,
                               char reason[KILN__REASON_BYTES]);

/* Whether the folder behind an open descriptor has been deleted. */
bool kiln__dir_is_gone(int fd);

/* ---- memory.c ---- A table of blobs by key, each a copy. Locks itself. */

typedef struct kiln__memory {
    pthread_mutex_t mutex;
    struct kiln__memory_entry **slots; /* chains by hash */
    size_t slot_count;                 /* a power of two, or 0 before the first entry */
    size_t entry_count;
    size_t bytes; /* of all keys and payloads; bounded */
} kiln__memory;

bool kiln__memory_init(kiln__memory *m);
void kiln__memory_clear(kiln__memory *m);
bool kiln__memory_load(kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes,
                       kiln__blob *blob_out);
/* Keeps the first blob of a key. Drops the blob silently when there is no room. */
void kiln__memory_store(kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes,
                        const void *data, size_t bytes);

#endif
