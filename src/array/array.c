/*
 * array.c - array handles: how they are made, counted and asked, and how invalid ones are recognised.
 *
 *     recycle.c (handle memory) + storage.c (element memory) > [array] > view.c, src/kernel
 *
 * A handle is immutable once it is given out. Everything a launch wants to know of a layout is
 * computed here, once: contiguity, whether it can be written, and a hash that finds its variant.
 *
 * Rule 1: magic is set alive last and dead first. It stays readable after release (recycle.c).
 * Rule 2: a storage's reference keeps the context, and with it the recycler. The handle goes back
 *         while that reference is held, or is known to be the last; nothing is touched after.
 */
#include <inttypes.h>

#include "array/internal.h"

/* Tells the layouts of read-only arrays from those of others, so that a call that was found right
 * for one that may be written is not repeated for one that may not. */
#define READ_ONLY_LAYOUT UINT64_C(0x9ae16a3b2f90404f)

/* ---- making ---- */

/* All of a handle that follows from its layout. `strides` NULL means a fresh C-order layout, which
 * needs no looking at. */
static void array_layout(kiln_array *array, kiln_dtype dtype, const int64_t *shape,
                         const int64_t *strides)
{
    size_t itemsize = kiln_dtype_size(dtype);
    int rank = array->rank;

    array->dtype = dtype;
    for (int axis = 0; axis < rank; axis++)
        array->shape[axis] = shape[axis];
    if (strides == NULL) {
        kiln__strides_ordered(rank, array->shape, NULL, itemsize, array->strides);
        array->contiguous = true;
        array->self_overlap = false;
    } else {
        for (int axis = 0; axis < rank; axis++)
            array->strides[axis] = strides[axis];
        array->contiguous = kiln__strides_contiguous(rank, array->shape, array->strides, itemsize);
        array->self_overlap =
            !array->contiguous &&
            kiln__strides_self_overlap(rank, array->shape, array->strides, itemsize);
    }
    array->layout = kiln__layout_hash(dtype, rank, array->shape, array->strides);
}

/* Fill a handle over `storage`, whose reference moves into it. `strides` as in array_layout(). */
static void array_fill(kiln_array *array, kiln__storage *storage, kiln_dtype dtype,
                       const int64_t *shape, const int64_t *strides, void *data, int64_t size)
{
    atomic_store_explicit(&array->refs, 1, memory_order_relaxed);
    array->ctx = storage->ctx;
    array->storage = storage;
    array->data = data;
    array->size = size;
    array_layout(array, dtype, shape, strides);
    if (storage->read_only)
        array->layout ^= READ_ONLY_LAYOUT;
    array->magic = KILN__ARRAY_MAGIC;
}

void kiln__array_make_read_only(kiln_array *array)
{
    array->storage->read_only = true;
    array->layout ^= READ_ONLY_LAYOUT;
}

const char *kiln__array_unwritable(const kiln_array *array)
{
    if (kiln__array_is_read_only(array))
        return "is read-only";
    return array->self_overlap ? "was broadcast and cannot be written" : NULL;
}

void kiln__array_header(kiln_array *header, kiln_context *ctx, kiln_dtype dtype, int rank,
                        const int64_t *shape, const int64_t *strides)
{
    header->ctx = ctx;
    header->rank = rank;
    header->strides = header->shape + rank;
    header->size = 1;
    for (int axis = 0; axis < rank; axis++)
        header->size *= shape[axis];
    array_layout(header, dtype, shape, strides);
    header->magic = KILN__ARRAY_MAGIC;
}

static void storage_fill(kiln__storage *storage, kiln_context *ctx, kiln__recycler *recycler,
                         kiln_stream *home)
{
    atomic_store_explicit(&storage->refs, 1, memory_order_relaxed);
    storage->ctx = kiln_context_retain(ctx);
    storage->recycler = recycler;
    storage->block = NULL;
    storage->home = home;
    atomic_store_explicit(&storage->used_on, 0, memory_order_relaxed);
    storage->release = NULL;
    storage->ordered = false;
    storage->owner = NULL;
    storage->owner_data = NULL;
    storage->read_only = false;
}

/* What every function that makes an array checks first. */
static kiln_status check_new(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                             int64_t *size_out, kiln_error *err)
{
    size_t itemsize = kiln_dtype_size(dtype);

    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "`ctx` is NULL");
    if (itemsize == 0)
        return kiln__fail(err, KILN_ERR_DTYPE, "%d is no dtype", (int)dtype);
    return kiln__shape_size(rank, shape, itemsize, size_out, err);
}

/* As kiln__array_new(), with explicit strides (of a gapless layout) instead of an order. */
static kiln_status array_new(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                             const int64_t *strides, int64_t size, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    kiln__device *device = kiln__context_device(ctx);
    kiln__recycler *recycler = NULL;
    kiln__storage *storage = NULL;
    kiln_array *array = NULL;
    kiln__block *block = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__device_check(device, err));
    KILN_TRY(kiln__context_stream(ctx, stream, &stream, err));
    KILN_TRY(kiln__recycler_of(ctx, &recycler, err));
    KILN_TRY(kiln__recycler_take(recycler, rank, &array, &storage, err));
    status = kiln__pool_alloc(device, (size_t)size * kiln_dtype_size(dtype), stream, &block, err);
    if (status != KILN_OK) {
        kiln__recycler_put(recycler, array, storage);
        goto done;
    }
    storage_fill(storage, ctx, recycler, stream);
    storage->block = block;
    storage->base = block->address;
    storage->bytes = (size_t)size * kiln_dtype_size(dtype);
    array_fill(array, storage, dtype, shape, strides, block->address, size);
    *out = array;

done:
    return status;
}

kiln_status kiln__array_new(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                            const int *order, kiln_stream *stream, kiln_array **out,
                            kiln_error *err)
{
    int64_t strides[KILN_RANK_MAX];
    int64_t size = 0;

    *out = NULL;
    KILN_CHECK(check_new(ctx, dtype, rank, shape, &size, err));
    if (order != NULL)
        kiln__strides_ordered(rank, shape, order, kiln_dtype_size(dtype), strides);
    return array_new(ctx, dtype, rank, shape, order != NULL ? strides : NULL, size, stream, out,
                     err);
}

kiln_status kiln_array_empty(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                             kiln_array **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    return kiln__array_new(ctx, dtype, rank, shape, NULL, NULL, out, err);
}

kiln_status kiln__array_view(const kiln_array *base, int rank, const int64_t *shape,
                             const int64_t *strides, void *data, kiln_array **out, kiln_error *err)
{
    kiln__storage *storage = base->storage;
    kiln_array *array = NULL;
    int64_t size = 0;

    *out = NULL;
    KILN_CHECK(kiln__shape_size(rank, shape, kiln_dtype_size(base->dtype), &size, err));
    KILN_CHECK(kiln__recycler_take(storage->recycler, rank, &array, NULL, err));
    atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
    array_fill(array, storage, base->dtype, shape, strides, data, size);
    *out = array;
    return KILN_OK;
}

/* ---- from and over memory of others ---- */

/* C-order elements from any strides, straight to the device or by way of one buffer. */
static kiln_status upload(kiln_array *array, const void *data, const int64_t *strides,
                          kiln_error *err)
{
    kiln__device *device = kiln__context_device(array->ctx);
    size_t itemsize = kiln_dtype_size(array->dtype), bytes = (size_t)array->size * itemsize;
    kiln_status status = KILN_OK;

    status = kiln__stream_no_recording(array->storage->home, "making an array from host memory",
                                       err);
    if (status != KILN_OK)
        return status;
    if (strides == NULL || kiln__strides_contiguous(array->rank, array->shape, strides, itemsize))
        return kiln__copy_host_to_device(device, array->data, data, bytes, array->storage->home,
                                         err);
    if (kiln__device_is_host(device)) {
        /* Nothing is enqueued on such a device: fresh memory can be written now. */
        kiln__host_copy(array->data, array->strides, data, strides, array->rank, array->shape,
                        itemsize);
        return KILN_OK;
    }
    void *dense = NULL;
    KILN_CHECK(kiln__make_room(&dense, bytes, err));
    kiln__host_copy(dense, array->strides, data, strides, array->rank, array->shape, itemsize);
    status =
        kiln__copy_host_to_device(device, array->data, dense, bytes, array->storage->home, err);
    kiln__free(dense);
    return status;
}

kiln_status kiln_array_from_host(kiln_context *ctx, kiln_dtype dtype, int rank,
                                 const int64_t *shape, const void *data, const int64_t *strides,
                                 kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *array = NULL;
    int64_t size = 0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_TRY(check_new(ctx, dtype, rank, shape, &size, err));
    if (data == NULL && size > 0) {
        status = kiln__fail(err, KILN_ERR_NULL, "data is NULL for %" PRId64 " elements", size);
        goto done;
    }
    KILN_TRY(array_new(ctx, dtype, rank, shape, NULL, size, NULL, &array, err));
    if (size > 0)
        KILN_TRY(upload(array, data, strides, err));
    *out = array;
    array = NULL;

done:
    kiln_array_release(array);
    return status;
}

/* Elements must lie inside [base, base + data_bytes) and at multiples of their size: a GPU faults
 * on others. */
static kiln_status check_wrapped(kiln_dtype dtype, int rank, const int64_t *shape,
                                 const int64_t *strides, const void *data, const void *base,
                                 size_t data_bytes, kiln_error *err)
{
    size_t itemsize = kiln_dtype_size(dtype);
    kiln__int128 low, high, start = (kiln__int128)(uintptr_t)data - (uintptr_t)base;
    char text[160];

    kiln__strides_extent(rank, shape, strides, itemsize, &low, &high);
    if (low == high)
        return KILN_OK; /* no element, no byte */
    if (data == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "data is NULL for shape %s",
                          kiln__shape_text(rank, shape, text, sizeof text));
    if ((kiln__int128)(uintptr_t)base + (kiln__int128)data_bytes > UINTPTR_MAX)
        return kiln__fail(err, KILN_ERR_OVERFLOW,
                          "%zu bytes of memory from %p reach beyond every address", data_bytes,
                          base);
    if (start + low < 0 || start + high > (kiln__int128)data_bytes)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "shape %s with these strides leaves the %zu bytes of memory given",
                          kiln__shape_text(rank, shape, text, sizeof text), data_bytes);
    if ((uintptr_t)data % itemsize != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "data is not at a multiple of %s's %zu bytes",
                          kiln_dtype_name(dtype), itemsize);
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] > 1 && strides[axis] % (int64_t)itemsize != 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "stride %" PRId64 " of axis %d is no multiple of %s's %zu bytes",
                              strides[axis], axis, kiln_dtype_name(dtype), itemsize);
    return KILN_OK;
}

kiln_status kiln_array_wrap(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *strides, void *data, void *base, size_t data_bytes,
                            kiln_release_fn release, void *owner, kiln_array **out, kiln_error *err)
{
    int64_t c_order[KILN_RANK_MAX];
    kiln__recycler *recycler = NULL;
    kiln__storage *storage = NULL;
    kiln_array *array = NULL;
    int64_t size = 0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(check_new(ctx, dtype, rank, shape, &size, err));
    if (strides == NULL) {
        kiln__strides_ordered(rank, shape, NULL, kiln_dtype_size(dtype), c_order);
        strides = c_order;
    }
    base = base != NULL ? base : data;
    KILN_CHECK(check_wrapped(dtype, rank, shape, strides, data, base, data_bytes, err));
    KILN_CHECK(kiln__device_check(kiln__context_device(ctx), err));
    if (size > 0)
        KILN_CHECK(kiln__device_check_memory(kiln__context_device(ctx), data, err));
    KILN_CHECK(kiln__recycler_of(ctx, &recycler, err));
    KILN_CHECK(kiln__recycler_take(recycler, rank, &array, &storage, err));
    /* Not a recording's stand-in: this memory is somebody else's, and stays. */
    storage_fill(storage, ctx, recycler, kiln__device_home(kiln__context_device(ctx)));
    storage->home_work = kiln__stream_work(storage->home);
    storage->base = base;
    storage->bytes = data_bytes;
    storage->release = release;
    storage->owner = owner;
    storage->owner_data = data;
    array_fill(array, storage, dtype, shape, strides, data, size);
    *out = array;
    return KILN_OK;
}

/* ---- counting ---- */

kiln_array *kiln_array_retain(kiln_array *array)
{
    if (array != NULL && array->magic == KILN__ARRAY_MAGIC)
        atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
    return array;
}

void kiln_array_release(kiln_array *array)
{
    kiln_context *ctx;

    /* A second release of the same handle must not hurt whoever gets its memory next. */
    if (array == NULL || array->magic != KILN__ARRAY_MAGIC || kiln__context_forked(array->ctx))
        return;
    if (atomic_load_explicit(&array->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&array->refs, 1, memory_order_acq_rel) != 1)
        return;
    kiln__storage *storage = array->storage;
    kiln__recycler *recycler = storage->recycler;
    ctx = storage->ctx;
    array->magic = KILN__ARRAY_DEAD;
    if (atomic_load_explicit(&storage->refs, memory_order_acquire) == 1) {
        (void)kiln__storage_drop(storage);
        kiln__recycler_put(recycler, array, storage); /* one lock for both: the common case */
    } else {
        /* As soon as our reference is gone, another thread may give back the last one. */
        kiln__recycler_put(recycler, array, NULL);
        if (!kiln__storage_drop(storage))
            return;
        kiln__recycler_put(recycler, NULL, storage);
    }
    kiln_context_release(ctx); /* may free the recycler, and with it the handle */
}

/* ---- facts ---- */

kiln_dtype kiln_array_dtype(const kiln_array *array)
{
    return array != NULL ? array->dtype : KILN_DTYPE_NONE;
}

int kiln_array_rank(const kiln_array *array)
{
    return array != NULL ? array->rank : 0;
}

const int64_t *kiln_array_shape(const kiln_array *array)
{
    return array != NULL ? array->shape : NULL;
}

const int64_t *kiln_array_strides(const kiln_array *array)
{
    return array != NULL ? array->strides : NULL;
}

int64_t kiln_array_size(const kiln_array *array)
{
    return array != NULL ? array->size : 0;
}

void *kiln_array_data(const kiln_array *array)
{
    return array != NULL ? array->data : NULL;
}

kiln_context *kiln_array_context(const kiln_array *array)
{
    return array != NULL ? array->ctx : NULL;
}

bool kiln_array_is_read_only(const kiln_array *array)
{
    return array != NULL && array->magic == KILN__ARRAY_MAGIC && kiln__array_is_read_only(array);
}

bool kiln_array_is_contiguous(const kiln_array *array)
{
    return array != NULL && array->contiguous;
}

kiln_status kiln__array_check(const kiln_array *array, const kiln_context *ctx, const char *what,
                              kiln_error *err)
{
    if (array == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL", what);
    if (array->magic != KILN__ARRAY_MAGIC)
        return kiln__fail(err, KILN_ERR_RELEASED,
                          array->magic == KILN__ARRAY_DEAD
                              ? "%s is an array that has been released"
                              : "%s is no array, or one whose context is gone",
                          what);
    if (array->ctx != NULL && kiln__context_forked(array->ctx)) /* abstract arrays have none */
        return kiln__context_check(array->ctx, err);
    if (ctx != NULL && array->ctx != ctx)
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "%s belongs to another context (on %s, this one is on %s)", what,
                          kiln__device_info(kiln__context_device(array->ctx))->id,
                          kiln__device_info(kiln__context_device(ctx))->id);
    return KILN_OK;
}
