/*
 * recycle.c - handles and storages of a context, used again instead of freed.
 *
 *     take: longest in quarantine (when more than QUARANTINE wait) > fresh > a new chunk
 *     put:  handles to the end of the quarantine, storages to the free list
 *
 * A small array's life costs less than two calls of malloc and free, and a handle's memory stays a
 * handle's memory: whoever uses a released one finds its magic dead, and is told so, for as long as
 * the context lives and at least QUARANTINE more handles have not been released.
 *
 * Rule 1: memory goes back when the context does, not before: a chunk is never freed alone.
 * Rule 2: the lock is held for a few loads and stores and never across a call. That is why it
 *         spins: a mutex costs twice as much when nobody else is there, which is nearly always.
 */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>

#include "array/internal.h"

/* Handles that wait before one is used again. */
#define QUARANTINE 64

/* Ranks above this are rare and get the large class. */
#define SMALL_RANK 6

/* Handles or storages made at once; more than QUARANTINE of the small ones, as any loop that
 * makes and drops one array needs that many. */
#define SMALL_CHUNK 80
#define LARGE_CHUNK 8
#define STORAGE_CHUNK 64

/* Looks at a lock that is taken before letting another thread run. */
#define SPINS_MAX 100

typedef struct chunk {
    struct chunk *next;
    _Alignas(16) unsigned char items[];
} chunk;

/* Handles of one size. A dead handle's `data` points to the next one. */
typedef struct handle_class {
    size_t item_bytes;
    int chunk_items;
    int waiting;              /* in quarantine */
    kiln_array *first, *last; /* the quarantine, oldest first */
    kiln_array *fresh;        /* never used */
} handle_class;

struct kiln__recycler {
    atomic_flag lock;
    handle_class small, large;
    kiln__storage *storages; /* free ones, linked by `owner` */
    chunk *chunks;
};

static inline void lock(kiln__recycler *r)
{
    int spins = 0;

    while (atomic_flag_test_and_set_explicit(&r->lock, memory_order_acquire))
        if (++spins % SPINS_MAX == 0)
            sched_yield(); /* Its holder may be waiting for this very core. */
}

static inline void unlock(kiln__recycler *r)
{
    atomic_flag_clear_explicit(&r->lock, memory_order_release);
}

/* ---- life ---- */

static void class_start(handle_class *c, int rank, int chunk_items)
{
    size_t bytes = sizeof(kiln_array) + 2 * (size_t)rank * sizeof(int64_t);

    c->item_bytes = (bytes + 15) & ~(size_t)15;
    c->chunk_items = chunk_items;
}

static void *recycler_make(kiln_context *ctx)
{
    kiln__recycler *r = kiln__calloc(1, sizeof *r);

    (void)ctx;
    if (r == NULL)
        return NULL;
    atomic_flag_clear(&r->lock);
    class_start(&r->small, SMALL_RANK, SMALL_CHUNK);
    class_start(&r->large, KILN_RANK_MAX, LARGE_CHUNK);
    return r;
}

static void recycler_destroy(void *state)
{
    kiln__recycler *r = state;

    while (r->chunks != NULL) {
        chunk *next = r->chunks->next;
        kiln__free(r->chunks);
        r->chunks = next;
    }
    kiln__free(r);
}

kiln_status kiln__recycler_of(kiln_context *ctx, kiln__recycler **out, kiln_error *err)
{
    void *state = NULL;
    kiln_status status = kiln__context_attachment(ctx, KILN__ATTACH_ARRAY, recycler_make,
                                                  recycler_destroy, &state, err);
    *out = state;
    return status;
}

/* ---- chunks ---- The new items join the lists at once; another thread may take them first. */

static chunk *chunk_make(size_t items_bytes, kiln_error *err)
{
    chunk *c = kiln__alloc(sizeof *c + items_bytes);

    if (c == NULL)
        (void)kiln__fail_memory(err, sizeof *c + items_bytes);
    return c;
}

static kiln_array *chunk_handle(chunk *c, const handle_class *class, int k)
{
    return (kiln_array *)(void *)(c->items + (size_t)k * class->item_bytes);
}

static kiln_status add_handles(kiln__recycler *r, handle_class *class, kiln_error *err)
{
    kiln_array *first = NULL;
    chunk *c = chunk_make((size_t) class->chunk_items * class->item_bytes, err);

    if (c == NULL)
        return KILN_ERR_NO_MEMORY;
    kiln_array *last = chunk_handle(c, class, class->chunk_items - 1);
    for (int k = class->chunk_items - 1; k >= 0; k--) {
        kiln_array *array = chunk_handle(c, class, k);
        array->magic = KILN__ARRAY_DEAD;
        array->data = first;
        first = array;
    }
    lock(r);
    c->next = r->chunks;
    r->chunks = c;
    last->data = class->fresh;
    class->fresh = first;
    unlock(r);
    return KILN_OK;
}

static kiln_status add_storages(kiln__recycler *r, kiln_error *err)
{
    chunk *c = chunk_make(STORAGE_CHUNK * sizeof(kiln__storage), err);

    if (c == NULL)
        return KILN_ERR_NO_MEMORY;
    kiln__storage *storage = (kiln__storage *)(void *)c->items;
    for (int k = 0; k + 1 < STORAGE_CHUNK; k++)
        storage[k].owner = &storage[k + 1];
    lock(r);
    c->next = r->chunks;
    r->chunks = c;
    storage[STORAGE_CHUNK - 1].owner = r->storages;
    r->storages = storage;
    unlock(r);
    return KILN_OK;
}

/* ---- take and put ---- */

/* NULL when there is none. The lock is held. */
static inline kiln_array *class_pop(handle_class *c)
{
    kiln_array *array = c->fresh;

    if (c->waiting > QUARANTINE) {
        array = c->first;
        c->first = array->data;
        c->waiting--;
    } else if (array != NULL) {
        c->fresh = array->data;
    }
    return array;
}

/* The lock is held. */
static inline void class_push(handle_class *c, kiln_array *array)
{
    array->data = NULL;
    if (c->waiting++ == 0)
        c->first = array;
    else
        c->last->data = array;
    c->last = array;
}

kiln_status kiln__recycler_take(kiln__recycler *r, int rank, kiln_array **array_out,
                                kiln__storage **storage_out, kiln_error *err)
{
    handle_class *class = rank <= SMALL_RANK ? &r->small : &r->large;
    kiln_status status = KILN_OK;
    kiln_array *array = NULL;
    kiln__storage *storage = NULL;

    while (status == KILN_OK) {
        lock(r);
        if (array == NULL)
            array = class_pop(class);
        if (storage_out != NULL && storage == NULL && r->storages != NULL) {
            storage = r->storages;
            r->storages = storage->owner;
        }
        unlock(r);
        if (array == NULL)
            status = add_handles(r, class, err);
        else if (storage_out != NULL && storage == NULL)
            status = add_storages(r, err);
        else
            break;
    }
    if (status != KILN_OK) {
        if (array != NULL)
            array->rank = rank; /* tells its class, which a handle never used before cannot */
        kiln__recycler_put(r, array, storage);
        return status;
    }
    array->rank = rank;
    array->strides = array->shape + rank;
    *array_out = array;
    if (storage_out != NULL)
        *storage_out = storage;
    return KILN_OK;
}

void kiln__recycler_put(kiln__recycler *r, kiln_array *array, kiln__storage *storage)
{
    lock(r);
    if (array != NULL)
        class_push(array->rank <= SMALL_RANK ? &r->small : &r->large, array);
    if (storage != NULL) {
        storage->owner = r->storages;
        r->storages = storage;
    }
    unlock(r);
}
