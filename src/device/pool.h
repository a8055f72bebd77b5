/*
 * pool.h - what the files of the pools and of streams share. Private to src/device.
 *
 *     device.c -> host_pool.c stream.c -> pool.c -> pool_arena.c -> pool_tree.c, pool_watch.c, mark.c
 *                                                                                          `-> calls.c
 *
 *     pool ─┬─ arena (one a stream) ─┬─ segment ── node <-> node <-> node   (neighbours by address)
 *           │                        └─ tree of the free nodes             (by size, then address)
 *           └─ spare segments (of closed streams)
 *
 * Locks, outermost first; a holder of one takes only later ones:
 *     pool->list_lock    the list of arenas
 *     arena->lock        everything in one arena
 *     pool->lock         spare segments, recycled events, held_bytes against the limit
 */
#ifndef KILN_DEVICE_POOL_H
#define KILN_DEVICE_POOL_H

#include <pthread.h>

#include "device/backend.h"

/* Every address and size is a multiple of this, as in CUDA's own allocator. */
#define KILN__GRANULE 512u

/* Devices allocate memory in pages of this size; smaller segments would waste the rest of a page. */
#define KILN__SEGMENT_STEP ((size_t)2 << 20)

/* Blocks up to this size count as small. */
#define KILN__SMALL_MAX ((size_t)1 << 20)

typedef struct kiln__segment kiln__segment;
typedef struct kiln__node kiln__node;
typedef struct kiln__mark kiln__mark;

typedef enum kiln__node_state {
    KILN__NODE_IDLE,    /* on the arena's list of recycled nodes */
    KILN__NODE_USED,    /* handed out */
    KILN__NODE_FREE,    /* in the tree */
    KILN__NODE_PENDING, /* given back, but other streams may still use it */
} kiln__node_state;

/* A piece of a segment. `block` is first: the pointer handed out is the node's. */
struct kiln__node {
    kiln__block block;
    kiln__segment *segment;     /* NULL for a block of zero bytes */
    kiln__node *before, *after; /* neighbours in the segment */
    kiln__node *left, *right;   /* in the tree; `right` links recycled and pending nodes */
    kiln__mark *marks;          /* PENDING: events still to pass */
    _Atomic(const char *) label; /* the label of the thread that allocated it; NULL: none */
    uint32_t priority;          /* its priority in the treap */
    kiln__node_state state;
};

/* A piece of memory taken from the device. */
struct kiln__segment {
    kiln__segment *next, *previous;
    void *raw;    /* the address that the device returned */
    size_t bytes; /* the size that the device was asked for */
    kiln__node *first;
    bool small;        /* it holds small blocks only */
    kiln_stream *from; /* of a spare segment: the closed stream (retained), whose work must be done */
};

/* An event recorded on some stream. It is recycled when it has been reached. */
struct kiln__mark {
    kiln__mark *next;
    void *event;
};

/* Small blocks have segments of their own: a long-lived scalar would keep a large segment from
 * being given back, and from being used for a large array. */
enum { KILN__CLASS_SMALL, KILN__CLASS_LARGE, KILN__CLASS_COUNT };

struct kiln__pool_arena {
    pthread_mutex_t lock;
    kiln__pool *pool;
    kiln_stream *stream;
    kiln__pool_arena *next, *previous; /* under pool->list_lock */
    kiln__node *tree[KILN__CLASS_COUNT];
    size_t held[KILN__CLASS_COUNT];
    kiln__segment *segments;
    kiln__node *pending, *pending_last; /* oldest first */
    kiln__node *recycled;
    void *slabs; /* memory of the nodes */
    uint64_t allocation_count;
    size_t live;   /* blocks handed out or pending */
    uint32_t seed; /* of the priorities */
    unsigned tick; /* counts allocations, at every nth of which pending blocks are polled */
    bool closed;   /* the stream was destroyed */
    bool sealed;   /* it belongs to a recording, whose steps use its free blocks; none is given back */
};

struct kiln__pool {
    kiln__device *device;
    pthread_mutex_t list_lock;
    kiln__pool_arena *arenas;
    uint64_t retired_allocation_count; /* of arenas that are gone; under list_lock */

    pthread_mutex_t lock;
    kiln__segment *spares;
    kiln__mark *marks; /* recycled */
    size_t held_bytes;
    size_t limit_bytes; /* SIZE_MAX: none */
    uint64_t device_allocation_count;
    kiln_memory_source source; /* `alloc` NULL: the backend */
    kiln_shortage_fn shortage;
    void *shortage_user;

    _Atomic(size_t) used_bytes;
    _Atomic(size_t) peak_used_bytes;
};

/* ---- mark.c ---- */
/* Record an event on `stream`. If that fails, waits for the stream's work and returns NULL. */
kiln__mark *kiln__mark_make(kiln__pool *pool, kiln_stream *stream);
/* The same for a CUstream without a handle; a failure is an error. */
kiln_status kiln__mark_native(kiln__pool *pool, void *native, kiln__mark **out, kiln_error *err);
void kiln__mark_recycle(kiln__pool *pool, kiln__mark *mark);
/* Wait for the work of a stream, closed or not. */
void kiln__stream_drain(kiln_stream *stream);
/* Record the closing event, and destroy the native stream. */
void kiln__stream_close(kiln_stream *stream);

/* ---- pool_source.c ---- */
/* Take memory from the source, within the limit, for use on `stream`. ERR_DEVICE_MEMORY without a
 * message when there is none. _free gives it back; all work on it must be done, or enqueued on
 * `stream`. */
kiln_status kiln__pool_source_alloc(kiln__pool *pool, size_t bytes, kiln_stream *stream,
                                    void **raw_out, kiln_error *err);
void kiln__pool_source_free(kiln__pool *pool, void *raw, size_t bytes, kiln_stream *stream);

/* ---- pool_watch.c ---- */
/* Return ERR_DEVICE_MEMORY with a message that says what the pool holds, and under which labels.
 * The caller holds no lock. */
kiln_status kiln__pool_fail_full(kiln__pool *pool, size_t bytes, kiln_error *err);
/* Call observers. The caller does not hold pool->lock. */
void kiln__pool_tell(kiln__pool *pool, kiln_observed kind, const kiln_stream *stream,
                     const void *address, size_t bytes, kiln_status status);
/* Note the thread's label in a block that was allocated, and call observers. */
void kiln__pool_tell_alloc(kiln__pool *pool, kiln__node *node);
/* Neither function needs to be called unless kiln__is_watched() is true of these kinds. */
#define KILN__WATCH_BLOCKS                                                                         \
    (KILN__LABELLED | KILN_OBSERVE(KILN_OBSERVED_ALLOC) | KILN_OBSERVE(KILN_OBSERVED_FREE))

/* ---- pool.c ---- */
kiln_status kiln__pool_create(kiln__device *device, kiln__pool **out, kiln_error *err);
/* All work must be done. In a forked child only host memory is freed. Accepts NULL. */
void kiln__pool_destroy(kiln__pool *pool);

/* ---- pool_arena.c ---- */
/* Gives `stream` its arena, which keeps the stream's struct alive. */
kiln_status kiln__pool_arena_create(kiln__pool *pool, kiln_stream *stream, kiln_error *err);
/* Make the arena one of a recording: no memory of it goes back to the device until it is closed. */
void kiln__pool_arena_seal(kiln__pool_arena *arena);
/* Whether a block was freed, so that the next allocation may return memory that was used before. */
bool kiln__pool_arena_had_back(kiln__pool_arena *arena);
/* Close the arena of a closed stream: it is freed now, or together with its last block. */
void kiln__pool_arena_close(kiln__pool_arena *arena);
/* Free the arena's host memory. Segments that it still has are leaked. */
void kiln__pool_arena_free(kiln__pool_arena *arena);

/* The functions below need arena->lock. */

/* Take the free block that fits best, of the class for `bytes` or (any_class) of either; NULL:
 * none. */
kiln__node *kiln__pool_arena_take(kiln__pool_arena *arena, size_t bytes, bool any_class);
/* A block of zero bytes; NULL: no host memory. */
kiln__node *kiln__pool_arena_take_zero(kiln__pool_arena *arena);
/* Make a USED node, or a PENDING one whose marks have been reached, FREE, and merge it with its
 * neighbours. */
void kiln__pool_arena_put(kiln__pool_arena *arena, kiln__node *node);
/* Free pending nodes whose marks have been reached, oldest first, until `most` others were found;
 * or (`wait`) wait for all marks and free all. */
void kiln__pool_arena_poll(kiln__pool_arena *arena, bool wait, size_t most);
/* Take a block of `bytes` from pending nodes, oldest first: the arena's stream waits for their
 * marks. NULL: none is large enough. */
kiln__node *kiln__pool_arena_claim(kiln__pool_arena *arena, size_t bytes);
/* Give a block that has an allocation of its own back to the source, after the stream has waited
 * for the marks. Does not need arena->lock. */
void kiln__pool_arena_give_direct(kiln__pool_arena *arena, kiln__node *node, kiln__mark *marks);
/* Unlink the smallest segment that is wholly free and can hold `bytes`; NULL: none. Work on it is
 * done, or enqueued on the arena's stream. */
kiln__segment *kiln__pool_arena_give(kiln__pool_arena *arena, size_t bytes);
/* Add such a segment, after making the stream wait for `mark` (NULL: for nothing). Returns false
 * without host memory; the caller then still owns the segment. */
bool kiln__pool_arena_adopt(kiln__pool_arena *arena, kiln__segment *segment, kiln__mark *mark);
/* Add a segment that can hold `bytes`, or (`generous`) a larger one. ERR_DEVICE_MEMORY without a
 * message when the device has too little memory. */
kiln_status kiln__pool_arena_grow(kiln__pool_arena *arena, size_t bytes, bool generous,
                                  kiln_error *err);
/* Give wholly free segments back to the device, until that is `enough` bytes; waits for the stream.
 * Returns the bytes. */
size_t kiln__pool_arena_trim(kiln__pool_arena *arena, size_t enough);
/* Whether the stream is closed and the last block was freed. The caller then unlocks the arena and
 * calls kiln__pool_arena_retire(). */
bool kiln__pool_arena_is_over(const kiln__pool_arena *arena);

/* Unlink and free such an arena; its segments become spare. The caller holds no lock. */
void kiln__pool_arena_retire(kiln__pool_arena *arena);

/* Give spare segments back to the device; waits for the streams that they are from. Returns the
 * bytes. */
size_t kiln__pool_trim_spares(kiln__pool *pool);

/* ---- host_pool.c ---- */
kiln_status kiln__host_pool_create(kiln__device *device, kiln__host_pool **out, kiln_error *err);
/* All work must be done, and the pool, whose marks are used, must still exist. Accepts NULL. */
void kiln__host_pool_destroy(kiln__host_pool *pool);

/* ---- pool_tree.c ---- a treap over free nodes, by size, then by address */
void kiln__tree_insert(kiln__node **root, kiln__node *node);
void kiln__tree_remove(kiln__node **root, kiln__node *node);
/* The smallest node of at least `bytes`, the lowest address among equals; NULL: none. */
kiln__node *kiln__tree_best_fit(kiln__node *root, size_t bytes);

#endif
