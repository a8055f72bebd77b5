/*
 * storage.c - the memory behind arrays: who still uses it, and how it goes.
 *
 *     arrays and views -> [storage] -> a pool block, or memory of somebody else
 *
 * A block is reused in the order of its home stream, which costs nothing. Work on any other stream
 * must be remembered (used_on), because reuse has to wait for it.
 *
 * Rule 1: used_on grows without a lock: 0, then one stream, then a list that is only ever
 *         prepended to. Each stream in it is retained, so that its handle may go first.
 * Rule 2: nothing may be forgotten. Without memory for a list entry EVERY_BIT is set, and the end
 *         of the storage waits for the whole device.
 */
#include "array/internal.h"

/* Bits of used_on beside an address, which is a multiple of 16. */
#define LIST_BIT ((uintptr_t)1)  /* the address is that of a use, not of a stream */
#define EVERY_BIT ((uintptr_t)2) /* and streams that are not known; only at the head */

/* Streams that the pool is told of without allocating. */
#define STREAMS_AT_ONCE 8

typedef struct use {
    kiln_stream *stream; /* retained */
    uintptr_t next;      /* what used_on was before */
} use;

static inline use *use_of(uintptr_t value)
{
    return (use *)(value & ~(LIST_BIT | EVERY_BIT));
}

static bool is_known(uintptr_t value, const kiln_stream *stream)
{
    if ((value & EVERY_BIT) != 0)
        return true;
    for (; (value & LIST_BIT) != 0; value = use_of(value)->next)
        if (use_of(value)->stream == stream)
            return true;
    return value == (uintptr_t)stream;
}

/* A recording lets go of a storage. */
static void let_go(void *object)
{
    kiln__storage *const storage = object;
    kiln__recycler *const recycler = storage->recycler;
    kiln_context *const ctx = storage->ctx;

    if (!kiln__storage_drop(storage))
        return;
    kiln__recycler_put(recycler, NULL, storage);
    kiln_context_release(ctx);
}

void kiln__storage_used_on(kiln__storage *storage, kiln_stream *stream)
{
    uintptr_t before = atomic_load_explicit(&storage->used_on, memory_order_acquire), after;
    use *entry = NULL;

    if (stream == NULL || stream == storage->home || is_known(before, stream))
        return;
    kiln__stream_retain(stream);
    do {
        if (is_known(before, stream)) { /* Another thread was faster. */
            kiln__stream_release(stream);
            kiln__free(entry);
            return;
        }
        after = (uintptr_t)stream;
        if (before != 0) {
            if (entry == NULL)
                entry = kiln__alloc(sizeof *entry);
            if (entry != NULL)
                *entry = (use){stream, before};
            after = entry != NULL ? (uintptr_t)entry | LIST_BIT : before | EVERY_BIT;
        }
    } while (!atomic_compare_exchange_weak_explicit(&storage->used_on, &before, after,
                                                    memory_order_acq_rel, memory_order_acquire));
    if (kiln__stream_is_recording(stream)) {
        atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
        kiln__stream_keep(stream, storage, let_go);
    }
    if ((after & EVERY_BIT) != 0)
        kiln__stream_release(stream);
}

/* The streams in `value`, as many as there is room for. Returns how many there are. */
static size_t list_streams(uintptr_t value, kiln_stream **streams, size_t capacity)
{
    size_t count = 0;

    for (value &= ~EVERY_BIT; value != 0; count++) {
        kiln_stream *stream = (kiln_stream *)value;
        uintptr_t next = 0;
        if ((value & LIST_BIT) != 0) {
            stream = use_of(value)->stream;
            next = use_of(value)->next;
        }
        if (count < capacity)
            streams[count] = stream;
        value = next;
    }
    return count;
}

kiln_status kiln__storage_wait_on(const kiln__storage *storage, void *native, kiln_error *err)
{
    kiln__device *device = kiln__context_device(storage->ctx);
    uintptr_t value = atomic_load_explicit(&storage->used_on, memory_order_acquire);

    if ((value & EVERY_BIT) != 0)
        return kiln__device_synchronize(device, err);
    KILN_CHECK(kiln__native_wait(device, native, storage->home, err));
    for (; (value & LIST_BIT) != 0; value = use_of(value)->next)
        KILN_CHECK(kiln__native_wait(device, native, use_of(value)->stream, err));
    if (value != 0)
        KILN_CHECK(kiln__native_wait(device, native, (kiln_stream *)value, err));
    return KILN_OK;
}

static void release_streams(uintptr_t value)
{
    value &= ~EVERY_BIT;
    while ((value & LIST_BIT) != 0) {
        use *entry = use_of(value);
        value = entry->next;
        kiln__stream_release(entry->stream);
        kiln__free(entry);
    }
    kiln__stream_release((kiln_stream *)value);
}

/* Give the block back, telling the pool of every stream that may still use it. */
static void free_block(kiln__storage *storage, uintptr_t used_on)
{
    kiln__device *device = kiln__context_device(storage->ctx);
    kiln_stream *few[STREAMS_AT_ONCE], **streams = few;

    if (used_on == 0) {
        kiln__pool_free(device, storage->block, NULL, 0);
        return;
    }
    size_t count = list_streams(used_on, few, STREAMS_AT_ONCE);
    if (count > STREAMS_AT_ONCE) {
        streams = kiln__alloc(count * sizeof(kiln_stream *));
        if (streams != NULL)
            (void)list_streams(used_on, streams, count);
    }
    if (streams == NULL || (used_on & EVERY_BIT) != 0) {
        (void)kiln__device_finish(device, NULL); /* A fault is told to who asks for results. */
        kiln__pool_free(device, storage->block, NULL, 0);
    } else {
        kiln__pool_free(device, storage->block, streams, count);
    }
    if (streams != few)
        kiln__free(streams);
}

static void await_streams(uintptr_t value)
{
    for (; (value & LIST_BIT) != 0; value = use_of(value)->next)
        kiln__stream_await(use_of(value)->stream);
    if (value != 0)
        kiln__stream_await((kiln_stream *)value);
}

void kiln__storage_release_in_order(kiln__storage *storage, void *native)
{
    storage->ordered = true;
    storage->order = native;
}

/* Hand wrapped memory back to its owner, once nothing uses it any more: at once where nothing has
 * been enqueued since it came, or where the owner's stream can be told to wait. */
static void release_wrapped(const kiln__storage *storage, uintptr_t used_on)
{
    const bool worked = kiln__stream_work(storage->home) != storage->home_work;

    if (storage->release == NULL)
        return;
    if ((worked || used_on != 0) &&
        !(storage->ordered && kiln__storage_wait_on(storage, storage->order, NULL) == KILN_OK)) {
        if ((used_on & EVERY_BIT) != 0)
            (void)kiln__device_finish(kiln__context_device(storage->ctx), NULL);
        else if (worked)
            (void)kiln__stream_finish(storage->home, NULL);
        await_streams(used_on & ~EVERY_BIT);
    }
    storage->release(storage->owner, storage->owner_data);
}

bool kiln__storage_drop(kiln__storage *storage)
{
    /* Whoever holds the only reference needs no atomic subtraction: nobody else can add one. */
    if (atomic_load_explicit(&storage->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) != 1)
        return false;
    uintptr_t used_on = atomic_load_explicit(&storage->used_on, memory_order_acquire);
    if (storage->block != NULL)
        free_block(storage, used_on);
    else
        release_wrapped(storage, used_on);
    if (used_on != 0)
        release_streams(used_on);
    return true;
}
