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

/* Every address and size is a multiple of this: what CUDA's own allocator promises and what
 * 16-byte vector accesses of any row start from. */
#define KILN__GRANULE 512u

/* Devices hand out memory in pages of this size; smaller segments would waste the rest. */
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
    _Atomic(const char *) label; /* what the thread that allocated it worked under; NULL: nothing */
    uint32_t priority;          /* the treap's heap order */
    kiln__node_state state;
};

/* A piece of memory taken from the device. */
struct kiln__segment {
    kiln__segment *next, *previous;
    void *raw;    /* as the device handed it out */
    size_t bytes; /* as asked of the device */
    kiln__node *first;
    bool small;        /* holds small blocks only */
    kiln_stream *from; /* spare: the closed stream whose end must have passed (retained) */
};

/* An event recorded on some stream, recycled when it has passed. */
struct kiln__mark {
    kiln__mark *next;
    void *event;
};

/* Small blocks have segments of their own, so that a long-lived scalar does not hold a segment
 * that could be given back or hold a large array. */
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
    unsigned tick; /* paces the polling of pending blocks */
    bool closed;   /* the stream's handle is gone */
    bool sealed;   /* a recording's: free blocks are used by its steps, and stay */
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
/* An event recorded on `stream` now. NULL: the stream's work was waited for instead. */
kiln__mark *kiln__mark_make(kiln__pool *pool, kiln_stream *stream);
/* The same for a stream that is not kiln's; a failure is an error. */
kiln_status kiln__mark_native(kiln__pool *pool, void *native, kiln__mark **out, kiln_error *err);
void kiln__mark_recycle(kiln__pool *pool, kiln__mark *mark);
/* Wait for the work of a stream, closed or not. */
void kiln__stream_drain(kiln_stream *stream);
/* Mark the end of the stream's work and let the native stream go. */
void kiln__stream_close(kiln_stream *stream);

/* ---- pool_source.c ---- */
/* Take memory from the source within the limit, for use in the order of `stream`. ERR_DEVICE_MEMORY
 * without a message when there is none. And give it back; all work on it is enqueued on `stream`, or
 * done. */
kiln_status kiln__pool_source_alloc(kiln__pool *pool, size_t bytes, kiln_stream *stream,
                                    void **raw_out, kiln_error *err);
void kiln__pool_source_free(kiln__pool *pool, void *raw, size_t bytes, kiln_stream *stream);

/* ---- pool_watch.c ---- */
/* ERR_DEVICE_MEMORY that says what the pool holds, and for whom. No lock is held. */
kiln_status kiln__pool_fail_full(kiln__pool *pool, size_t bytes, kiln_error *err);
/* Tell observers; pool->lock is not held. */
void kiln__pool_tell(kiln__pool *pool, kiln_observed kind, const kiln_stream *stream,
                     const void *address, size_t bytes, kiln_status status);
/* A block was handed out: note the thread's label, and tell. */
void kiln__pool_tell_alloc(kiln__pool *pool, kiln__node *node);
/* What is looked for before either is called. */
#define KILN__WATCH_BLOCKS                                                                             (KILN__LABELLED | KILN_OBSERVE(KILN_OBSERVED_ALLOC) | KILN_OBSERVE(KILN_OBSERVED_FREE))

/* ---- pool.c ---- */
kiln_status kiln__pool_create(kiln__device *device, kiln__pool **out, kiln_error *err);
/* All work is done. In a forked child only host memory is freed. Accepts NULL. */
void kiln__pool_destroy(kiln__pool *pool);

/* ---- pool_arena.c ---- */
/* Gives `stream` its arena, which keeps the stream's struct alive. */
kiln_status kiln__pool_arena_create(kiln__pool *pool, kiln_stream *stream, kiln_error *err);
/* The arena is a recording's: nothing of it goes back to the device before it is closed. */
void kiln__pool_arena_seal(kiln__pool_arena *arena);
/* Whether a block has come back, so that the next one may be memory that was used before. */
bool kiln__pool_arena_had_back(kiln__pool_arena *arena);
/* The stream is closed: the arena goes now, or with its last block. */
void kiln__pool_arena_close(kiln__pool_arena *arena);
/* Free the arena's host memory; its segments must be gone or are given up. */
void kiln__pool_arena_free(kiln__pool_arena *arena);

/* The functions below need arena->lock. */

/* Best fit, of the block's own class or of any; NULL: none. */
kiln__node *kiln__pool_arena_take(kiln__pool_arena *arena, size_t bytes, bool any_class);
/* A block of zero bytes; NULL: no host memory. */
kiln__node *kiln__pool_arena_take_zero(kiln__pool_arena *arena);
/* Free a USED or PENDING node (whose marks have passed) and merge it with its neighbours. */
void kiln__pool_arena_put(kiln__pool_arena *arena, kiln__node *node);
/* Free pending nodes whose marks have passed, oldest first, until `most` were found that have not;
 * or wait for all. */
void kiln__pool_arena_poll(kiln__pool_arena *arena, bool wait, size_t most);
/* Make pending blocks free, oldest first, by letting the arena's stream wait for their marks, until one of
 * `bytes` can be taken; NULL: none. */
kiln__node *kiln__pool_arena_claim(kiln__pool_arena *arena, size_t bytes);
/* Give the memory of a block that is the source's alone back to it, in the order of the stream, which
 * waits for the marks. The lock is not needed. */
void kiln__pool_arena_give_direct(kiln__pool_arena *arena, kiln__node *node, kiln__mark *marks);
/* Unlink a segment that is wholly free and can hold `bytes`, the smallest; NULL: none. Work on it is
 * enqueued on the arena's stream, or done. */
kiln__segment *kiln__pool_arena_give(kiln__pool_arena *arena, size_t bytes);
/* Take over such a segment, once the stream waits for `mark` (NULL: for nothing). False without host
 * memory: the segment is the caller's still. */
bool kiln__pool_arena_adopt(kiln__pool_arena *arena, kiln__segment *segment, kiln__mark *mark);
/* Add a segment that can hold `bytes`. ERR_DEVICE_MEMORY without a message when there is no room
 * for it. `generous` may take more than is needed now. */
kiln_status kiln__pool_arena_grow(kiln__pool_arena *arena, size_t bytes, bool generous, kiln_error *err);
/* Give whole free segments back to the device until that is `enough` bytes; waits for the stream.
 * Returns the bytes. */
size_t kiln__pool_arena_trim(kiln__pool_arena *arena, size_t enough);
/* Whether the arena has outlived its stream and its blocks: unlock, then kiln__pool_arena_retire(). */
bool kiln__pool_arena_is_over(const kiln__pool_arena *arena);

/* Unlink and free an arena that is over; its segments become spare. No lock is held. */
void kiln__pool_arena_retire(kiln__pool_arena *arena);

/* Give spare segments back to the device; waits for the streams they are from. */
size_t kiln__pool_trim_spares(kiln__pool *pool);

/* ---- host_pool.c ---- */
kiln_status kiln__host_pool_create(kiln__device *device, kiln__host_pool **out, kiln_error *err);
/* All work is done; before the pool, whose marks it uses. Accepts NULL. */
void kiln__host_pool_destroy(kiln__host_pool *pool);

/* ---- pool_tree.c ---- a treap over free nodes, by size, then by address */
void kiln__tree_insert(kiln__node **root, kiln__node *node);
void kiln__tree_remove(kiln__node **root, kiln__node *node);
/* The smallest node of at least `bytes`, the lowest address among equals; NULL: none. */
kiln__node *kiln__tree_best_fit(kiln__node *root, size_t bytes);

#endif
