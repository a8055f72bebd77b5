/*
 * test_array.c - array handles and their memory: made, filled from the host, wrapped, shared,
 * released, and recognised when they are used after that.
 *
 * Started as `test_array [DEVICE]`; needs no compiler, only a device.
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array/array.h"

#define EXIT_SKIP 77
#define QUARANTINE 64

static const char *device_name = "cpu";

typedef struct fixture {
    kiln_context *ctx;
    kiln_error err;
    size_t live_before;
} fixture;

static fixture the_fixture;

static kiln_context *new_context(kiln_error *err)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    options.device = device_name;
    options.cache_dir = "";
    (void)!kiln_context_create(&options, &ctx, err);
    return ctx;
}

static int setup(void **state)
{
    fixture *f = &the_fixture;

    f->live_before = kiln__test_alloc_live();
    f->ctx = new_context(&f->err);
    *state = f;
    return f->ctx != NULL ? 0 : -1;
}

/* No memory of the pool or of the host is left over by a test. */
static int teardown(void **state)
{
    fixture *f = *state;
    kiln_pool_stats stats;
    size_t live;

    kiln__test_alloc_fail_at(SIZE_MAX);
    kiln_context_pool_stats(f->ctx, &stats);
    kiln_context_release(f->ctx);
    kiln_error_clear(&f->err);
    live = kiln__test_alloc_live();
    if (stats.used_bytes != 0 || live != f->live_before) {
        print_error("%zu bytes in use, %zu allocations before and %zu after\n", stats.used_bytes,
                    f->live_before, live);
        return -1;
    }
    return 0;
}

#define OK(f, call)                                                                                \
    do {                                                                                           \
        if ((call) != KILN_OK)                                                                     \
            fail_msg("%s: %s", #call, (f)->err.message);                                           \
    } while (0)

#define FAILS(f, want, call, text)                                                                 \
    do {                                                                                           \
        assert_int_equal((call), (want));                                                          \
        assert_int_equal((f)->err.status, (want));                                                 \
        if (strstr((f)->err.message, (text)) == NULL)                                              \
            fail_msg("'%s' is not in: %s", (text), (f)->err.message);                              \
    } while (0)

static size_t used_bytes(const fixture *f)
{
    kiln_pool_stats stats;

    kiln_context_pool_stats(f->ctx, &stats);
    return stats.used_bytes;
}

static kiln_array *new_array(fixture *f, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *array = NULL;

    OK(f, kiln_array_empty(f->ctx, dtype, rank, shape, &array, &f->err));
    assert_non_null(array);
    return array;
}

/* ---- making ---- */

static void test_array__empty_is_c_order_for_every_dtype(void **state)
{
    const int64_t shape[3] = {2, 3, 5};
    fixture *f = *state;

    for (int dtype = 1; dtype < KILN_DTYPE_COUNT; dtype++) {
        int64_t item = (int64_t)kiln_dtype_size((kiln_dtype)dtype);
        kiln_array *a = new_array(f, (kiln_dtype)dtype, 3, shape);
        assert_int_equal(kiln_array_dtype(a), dtype);
        assert_int_equal(kiln_array_rank(a), 3);
        assert_memory_equal(kiln_array_shape(a), shape, sizeof shape);
        assert_int_equal(kiln_array_strides(a)[0], 15 * item);
        assert_int_equal(kiln_array_strides(a)[1], 5 * item);
        assert_int_equal(kiln_array_strides(a)[2], item);
        assert_int_equal(kiln_array_size(a), 30);
        assert_non_null(kiln_array_data(a));
        assert_ptr_equal(kiln_array_context(a), f->ctx);
        assert_true(kiln_array_is_contiguous(a));
        assert_false(a->self_overlap);
        kiln_array_release(a);
    }
}

static void test_array__may_have_rank_0_or_32_or_no_elements(void **state)
{
    int64_t ones[KILN_RANK_MAX];
    const int64_t none[3] = {4, 0, 3};
    fixture *f = *state;
    kiln_array *a = new_array(f, KILN_FLOAT32, 0, NULL);

    assert_int_equal(kiln_array_size(a), 1);
    assert_true(kiln_array_is_contiguous(a));
    kiln_array_release(a);
    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        ones[axis] = axis % 8 == 0 ? 2 : 1;
    a = new_array(f, KILN_INT16, KILN_RANK_MAX, ones);
    assert_int_equal(kiln_array_size(a), 16);
    assert_int_equal(kiln_array_strides(a)[0], 16);
    assert_int_equal(kiln_array_strides(a)[31], 2);
    kiln_array_release(a);
    a = new_array(f, KILN_FLOAT64, 3, none);
    assert_int_equal(kiln_array_size(a), 0);
    assert_true(kiln_array_is_contiguous(a));
    assert_false(a->self_overlap);
    assert_int_equal(used_bytes(f), 0);
    kiln_array_release(a);
}

static void test_array__new_follows_the_axis_order_given(void **state)
{
    const int64_t shape[3] = {2, 3, 5};
    const int order[3] = {1, 2, 0}; /* axis 1 slowest, axis 0 fastest */
    fixture *f = *state;
    kiln_array *a = NULL;

    OK(f, kiln__array_new(f->ctx, KILN_FLOAT32, 3, shape, order, NULL, &a, &f->err));
    assert_int_equal(a->strides[0], 4);
    assert_int_equal(a->strides[1], 40);
    assert_int_equal(a->strides[2], 8);
    assert_ptr_equal(a->strides, a->shape + 3);
    assert_false(a->contiguous);
    assert_false(a->self_overlap);
    kiln_array_release(a);
}

static void test_array__refuses_impossible_shapes_and_dtypes(void **state)
{
    const int64_t negative[2] = {3, -1}, huge[2] = {INT64_MAX / 4, 3};
    const int64_t hidden[3] = {0, INT64_MAX / 2, 9}, large = INT64_MAX / 16;
    int64_t ones[KILN_RANK_MAX + 1];
    fixture *f = *state;
    kiln_array *a = (kiln_array *)1;

    for (int axis = 0; axis <= KILN_RANK_MAX; axis++)
        ones[axis] = 1;
    FAILS(f, KILN_ERR_ARGUMENT, kiln_array_empty(f->ctx, KILN_INT8, 2, negative, &a, &f->err),
          "axis 1 is negative");
    assert_null(a);
    FAILS(f, KILN_ERR_ARGUMENT, kiln_array_empty(f->ctx, KILN_INT8, 33, ones, &a, &f->err),
          "rank 33");
    FAILS(f, KILN_ERR_ARGUMENT, kiln_array_empty(f->ctx, KILN_INT8, -1, ones, &a, &f->err),
          "rank -1");
    FAILS(f, KILN_ERR_NULL, kiln_array_empty(f->ctx, KILN_INT8, 1, NULL, &a, &f->err), "shape");
    FAILS(f, KILN_ERR_OVERFLOW, kiln_array_empty(f->ctx, KILN_INT16, 2, huge, &a, &f->err),
          "(2305843009213693951, 3)");
    FAILS(f, KILN_ERR_OVERFLOW, kiln_array_empty(f->ctx, KILN_INT8, 3, hidden, &a, &f->err),
          "62 bits");
    FAILS(f, KILN_ERR_DTYPE, kiln_array_empty(f->ctx, KILN_DTYPE_NONE, 0, NULL, &a, &f->err), "0");
    FAILS(f, KILN_ERR_DTYPE, kiln_array_empty(f->ctx, (kiln_dtype)99, 0, NULL, &a, &f->err), "99");
    FAILS(f, KILN_ERR_NULL, kiln_array_empty(NULL, KILN_INT8, 0, NULL, &a, &f->err), "ctx");
    FAILS(f, KILN_ERR_NULL, kiln_array_empty(f->ctx, KILN_INT8, 0, NULL, NULL, &f->err), "out");
    FAILS(f, KILN_ERR_DEVICE_MEMORY, kiln_array_empty(f->ctx, KILN_FLOAT64, 1, &large, &a, &f->err),
          "no room");
    assert_null(a);
}

/* ---- from the host ---- */

/* The bytes of a C-order array. */
static unsigned char *read_back(fixture *f, const kiln_array *a)
{
    size_t bytes = (size_t)a->size * kiln_dtype_size(a->dtype);
    unsigned char *data = malloc(bytes + 1);

    assert_non_null(data);
    assert_true(a->contiguous);
    if (bytes > 0)
        OK(f, kiln__copy_device_to_host(kiln__context_device(f->ctx), data, a->data, bytes,
                                        a->storage->home, &f->err));
    return data;
}

/* Element `index` (in C-order) of a strided array, found by plain division. */
static const unsigned char *element_at(const unsigned char *first, int rank, const int64_t *shape,
                                       const int64_t *strides, int64_t index)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        first += index % shape[axis] * strides[axis];
        index /= shape[axis];
    }
    return first;
}

static void check_upload(fixture *f, kiln_dtype dtype, int rank, const int64_t *shape,
                         const int64_t *strides, const unsigned char *first)
{
    size_t item = kiln_dtype_size(dtype);
    kiln_array *a = NULL;
    unsigned char *got;

    OK(f, kiln_array_from_host(f->ctx, dtype, rank, shape, first, strides, &a, &f->err));
    assert_true(kiln_array_is_contiguous(a));
    got = read_back(f, a);
    for (int64_t i = 0; i < a->size; i++)
        if (memcmp(got + (size_t)i * item, element_at(first, rank, shape, strides, i), item) != 0)
            fail_msg("%s, rank %d: element %lld is wrong", kiln_dtype_name(dtype), rank,
                     (long long)i);
    free(got);
    kiln_array_release(a);
}

static void test_array__from_host_gathers_any_strides(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64,
                                        KILN_COMPLEX128};
    static unsigned char memory[1 << 16];
    fixture *f = *state;
    unsigned seed = 7;

    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (unsigned char)((i * 2654435761u) >> 13);
    for (int round = 0; round < 400; round++) {
        kiln_dtype dtype = dtypes[round % 5];
        int rank = round % 6;
        int64_t shape[6], strides[6], low = 0, high = (int64_t)kiln_dtype_size(dtype);
        for (int axis = 0; axis < rank; axis++) {
            seed = seed * 1664525u + 1013904223u;
            shape[axis] = (seed >> 16) % 7;
            strides[axis] = (int64_t)((seed >> 20) % 801) - 400; /* also between elements */
            if (shape[axis] > 1 && strides[axis] < 0)
                low += (shape[axis] - 1) * strides[axis];
            else if (shape[axis] > 1)
                high += (shape[axis] - 1) * strides[axis];
        }
        assert_true(high - low < (int64_t)sizeof memory);
        check_upload(f, dtype, rank, shape, strides, memory - low);
    }
}

/* Shapes that make the copy join axes, or walk tiles with a rest on either side. */
static void test_array__from_host_transposes_large_arrays(void **state)
{
    const int64_t plane[2] = {67, 131}, plane_strides[2] = {4, 67 * 4};
    const int64_t flipped[2] = {-4, 67 * 4};
    const int64_t cube[3] = {33, 5, 40}, cube_strides[3] = {8, 33 * 40 * 8, 33 * 8};
    const int64_t row[1] = {5000}, row_strides[1] = {4};
    fixture *f = *state;
    size_t bytes = 67 * 131 * 8;
    unsigned char *memory = malloc(bytes);

    assert_non_null(memory);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((i * 2654435761u) >> 11);
    check_upload(f, KILN_FLOAT32, 2, plane, plane_strides, memory);
    check_upload(f, KILN_FLOAT32, 2, plane, flipped, memory + 66 * 4);
    check_upload(f, KILN_COMPLEX64, 3, cube, cube_strides, memory);
    check_upload(f, KILN_INT32, 1, row, row_strides, memory);
    free(memory);
}

static void test_array__from_host_needs_data_for_elements_only(void **state)
{
    const int64_t none = 0, one = 1;
    fixture *f = *state;
    kiln_array *a = NULL;

    OK(f, kiln_array_from_host(f->ctx, KILN_INT8, 1, &none, NULL, NULL, &a, &f->err));
    kiln_array_release(a);
    FAILS(f, KILN_ERR_NULL,
          kiln_array_from_host(f->ctx, KILN_INT8, 1, &one, NULL, NULL, &a, &f->err), "data");
    assert_null(a);
    FAILS(f, KILN_ERR_NULL,
          kiln_array_from_host(f->ctx, KILN_INT8, 1, &one, &none, NULL, NULL, &f->err), "out");
    FAILS(f, KILN_ERR_NULL,
          kiln_array_from_host(NULL, KILN_INT8, 1, &one, &none, NULL, &a, &f->err), "ctx");
}

/* ---- wrapping ---- */

typedef struct owner {
    int releases;
    void *data;
} owner;

static void count_release(void *user, void *data)
{
    owner *o = user;
    o->releases++;
    o->data = data;
}

/* Memory of the device that no handle under test owns. */
static kiln_array *foreign_memory(fixture *f, int64_t bytes)
{
    return new_array(f, KILN_UINT8, 1, &bytes);
}

static void test_array__wrapped_memory_is_released_once_after_the_last_view(void **state)
{
    const int64_t shape[2] = {4, 5};
    fixture *f = *state;
    kiln_array *memory = foreign_memory(f, 80), *a = NULL, *view = NULL;
    owner o = {0, NULL};

    OK(f, kiln_array_wrap(f->ctx, KILN_FLOAT32, 2, shape, NULL, memory->data, NULL, 80,
                          count_release, &o, &a, &f->err));
    assert_ptr_equal(kiln_array_data(a), memory->data);
    assert_int_equal(kiln_array_strides(a)[0], 20);
    OK(f, kiln_array_flip(a, 1, &view, &f->err));
    kiln_array_release(kiln_array_retain(a));
    kiln_array_release(a);
    assert_int_equal(o.releases, 0);
    kiln_array_release(view);
    assert_int_equal(o.releases, 1);
    assert_ptr_equal(o.data, memory->data);
    OK(f, kiln_array_wrap(f->ctx, KILN_FLOAT32, 2, shape, NULL, memory->data, NULL, 80, NULL, NULL,
                          &a, &f->err));
    kiln_array_release(a);
    kiln_array_release(memory);
}

static void test_array__wrap_takes_any_strides_inside_the_memory(void **state)
{
    const int64_t shape[2] = {4, 5}, strides[2] = {-20, 4}, none[1] = {0}, wild[1] = {999};
    fixture *f = *state;
    kiln_array *memory = foreign_memory(f, 80), *a = NULL;
    char *base = memory->data;

    OK(f, kiln_array_wrap(f->ctx, KILN_INT32, 2, shape, strides, base + 60, base, 80, NULL, NULL,
                          &a, &f->err));
    assert_ptr_equal(kiln_array_data(a), base + 60);
    assert_false(kiln_array_is_contiguous(a));
    kiln_array_release(a);
    OK(f,
       kiln_array_wrap(f->ctx, KILN_INT32, 1, none, wild, NULL, NULL, 0, NULL, NULL, &a, &f->err));
    assert_int_equal(kiln_array_size(a), 0);
    kiln_array_release(a);
    kiln_array_release(memory);
}

static void test_array__wrap_refuses_strides_that_lie(void **state)
{
    static const struct {
        int64_t strides[2];
        int at;
        size_t bytes;
        kiln_dtype dtype;
        const char *text;
    } cases[] = {
        {{20, 4}, 0, 79, KILN_INT32, "leaves the 79 bytes"},
        {{20, 8}, 0, 80, KILN_INT32, "leaves the 80 bytes"},
        {{-20, 4}, 0, 80, KILN_INT32, "leaves the 80 bytes"},
        {{-20, 4}, 56, 80, KILN_INT32, "leaves the 80 bytes"},
        {{20, 4}, 4, 80, KILN_INT32, "leaves the 80 bytes"},
        {{INT64_MAX, INT64_MAX}, 0, 80, KILN_INT32, "leaves the 80 bytes"},
        {{INT64_MIN, INT64_MIN}, 0, 80, KILN_INT32, "leaves the 80 bytes"},
        {{INT64_MAX, INT64_MIN}, 0, 80, KILN_INT32, "leaves the 80 bytes"},
        {{4, 4}, 2, 80, KILN_INT32, "multiple of int32's 4"},
        {{6, 4}, 0, 80, KILN_INT32, "stride 6 of axis 0"},
        {{16, 8}, 0, 200, KILN_COMPLEX128, "stride 8 of axis 1"},
    };
    const int64_t shape[2] = {4, 5};
    fixture *f = *state;
    kiln_array *memory = foreign_memory(f, 512), *a = NULL;
    owner o = {0, NULL};

    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        char *base = memory->data;
        a = memory;
        FAILS(f, KILN_ERR_ARGUMENT,
              kiln_array_wrap(f->ctx, cases[k].dtype, 2, shape, cases[k].strides,
                              base + cases[k].at, base, cases[k].bytes, count_release, &o, &a,
                              &f->err),
              cases[k].text);
        assert_null(a);
    }
    FAILS(
        f, KILN_ERR_NULL,
        kiln_array_wrap(f->ctx, KILN_INT8, 2, shape, NULL, NULL, NULL, 80, NULL, NULL, &a, &f->err),
        "data");
    assert_int_equal(o.releases, 0);
    kiln_array_release(memory);
}

/* ---- sharing and releasing ---- */

static void test_array__memory_goes_back_with_the_last_view(void **state)
{
    const int64_t shape[2] = {100, 100};
    fixture *f = *state;
    kiln_array *a = new_array(f, KILN_FLOAT64, 2, shape), *row = NULL, *part = NULL;

    assert_true(used_bytes(f) >= 80000);
    OK(f, kiln_array_select(a, 0, 7, &row, &f->err));
    OK(f, kiln_array_slice(row, 0, 2, 50, 3, &part, &f->err));
    assert_ptr_equal(kiln_array_data(part), (char *)kiln_array_data(a) + 7 * 800 + 2 * 8);
    kiln_array_release(a);
    kiln_array_release(row);
    assert_true(used_bytes(f) >= 80000);
    kiln_array_release(part);
    assert_int_equal(used_bytes(f), 0);
}

static void test_array__outlives_the_users_reference_to_its_context(void **state)
{
    const int64_t shape[1] = {3};
    fixture *f = *state;
    kiln_context *ctx = new_context(&f->err);
    kiln_array *a = NULL, *view = NULL;

    assert_non_null(ctx);
    OK(f, kiln_array_empty(ctx, KILN_INT32, 1, shape, &a, &f->err));
    kiln_context_release(ctx);
    OK(f, kiln_array_flip(a, 0, &view, &f->err));
    kiln_array_release(a);
    assert_string_equal(kiln_context_device(kiln_array_context(view))->id,
                        kiln_context_device(f->ctx)->id);
    kiln_array_release(view);
}

static void test_array__a_released_handle_is_recognised(void **state)
{
    int64_t ones[KILN_RANK_MAX];
    fixture *f = *state;

    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        ones[axis] = 1;
    for (int rank = 0; rank <= KILN_RANK_MAX; rank += 8) {
        kiln_array *a = new_array(f, KILN_INT32, rank, ones), *b = NULL;
        OK(f, kiln__array_check(a, f->ctx, "x", &f->err));
        kiln_array_release(a);
        for (int others = 0; others < QUARANTINE; others++) {
            FAILS(f, KILN_ERR_RELEASED, kiln__array_check(a, f->ctx, "`x`", &f->err), "`x` is an");
            FAILS(f, KILN_ERR_RELEASED, kiln_array_flip(a, 0, &b, &f->err), "released");
            kiln_array_release(new_array(f, KILN_INT32, rank, ones));
        }
        kiln_array_release(a); /* once too often: must not touch anybody else's array */
        assert_ptr_equal(kiln_array_retain(a), a);
        FAILS(f, KILN_ERR_RELEASED, kiln__array_check(a, f->ctx, "x", &f->err), "released");
    }
    assert_int_equal(used_bytes(f), 0);
}

static void test_array__handles_are_recycled(void **state)
{
    fixture *f = *state;
    size_t live = 0;

    for (int k = 0; k < 2000; k++) {
        if (k == 200)
            live = kiln__test_alloc_live();
        kiln_array_release(new_array(f, KILN_INT8, 0, NULL));
    }
    assert_int_equal(kiln__test_alloc_live(), live);
}

static void test_array__check_names_null_garbage_and_foreign_handles(void **state)
{
    static uint64_t garbage[64];
    fixture *f = *state;
    kiln_context *other = new_context(&f->err);
    kiln_array *a = new_array(f, KILN_INT8, 0, NULL);

    FAILS(f, KILN_ERR_NULL, kiln__array_check(NULL, f->ctx, "argument `x`", &f->err),
          "argument `x` is NULL");
    FAILS(f, KILN_ERR_RELEASED,
          kiln__array_check((kiln_array *)(void *)garbage, f->ctx, "`x`", &f->err), "`x` is no");
    FAILS(f, KILN_ERR_CONTEXT, kiln__array_check(a, other, "`x`", &f->err), "`x` belongs");
    assert_non_null(strstr(f->err.message, kiln_context_device(f->ctx)->id));
    OK(f, kiln__array_check(a, NULL, "`x`", &f->err));
    assert_int_equal(kiln__array_check(NULL, NULL, "x", NULL), KILN_ERR_NULL);
    kiln_array_release(a);
    kiln_array_release(NULL);
    assert_null(kiln_array_retain(NULL));
    assert_int_equal(kiln_array_size(NULL), 0);
    assert_null(kiln_array_data(NULL));
    kiln_context_release(other);
}

/* ---- streams ---- */

static void test_array__memory_used_on_other_streams_comes_back(void **state)
{
    const int64_t shape = 1000;
    fixture *f = *state;
    kiln_stream *streams[12];

    for (size_t k = 0; k < KILN_COUNT_OF(streams); k++)
        OK(f, kiln_stream_create(f->ctx, NULL, &streams[k], &f->err));
    for (size_t count = 0; count <= KILN_COUNT_OF(streams); count++) {
        kiln_array *a = new_array(f, KILN_FLOAT64, 1, &shape);
        size_t live = kiln__test_alloc_live();
        for (size_t k = 0; k < 2 * count; k++)
            kiln__storage_used_on(a->storage, streams[k % count]);
        kiln__storage_used_on(a->storage, a->storage->home);
        kiln__storage_used_on(a->storage, NULL);
        /* Each stream is remembered once, the first one without an allocation. */
        assert_int_equal(kiln__test_alloc_live() - live, count > 0 ? count - 1 : 0);
        assert_int_equal(atomic_load(&a->storage->used_on) != 0, count > 0);
        if (count == KILN_COUNT_OF(streams)) /* Their handles may go before the memory does. */
            for (size_t k = 0; k < KILN_COUNT_OF(streams); k++)
                kiln_stream_destroy(streams[k]);
        kiln_array_release(a);
        assert_int_equal(used_bytes(f), 0);
    }
}

/* Where a stream cannot be remembered the whole device is waited for; nothing leaks or is lost. */
static void test_array__memory_comes_back_when_streams_cannot_be_remembered(void **state)
{
    const int64_t shape = 1000;
    fixture *f = *state;
    kiln_stream *streams[12];

    for (size_t k = 0; k < KILN_COUNT_OF(streams); k++)
        OK(f, kiln_stream_create(f->ctx, NULL, &streams[k], &f->err));
    for (size_t nth = 0; nth <= KILN_COUNT_OF(streams); nth++) {
        kiln_array *a = new_array(f, KILN_FLOAT64, 1, &shape);
        size_t live = kiln__test_alloc_live();
        kiln__test_alloc_fail_at(nth);
        for (size_t k = 0; k < KILN_COUNT_OF(streams); k++)
            kiln__storage_used_on(a->storage, streams[k]);
        assert_int_equal(kiln__test_alloc_live() - live, nth < 11 ? nth : 11);
        assert_int_equal((atomic_load(&a->storage->used_on) & 2) != 0, nth < 11);
        kiln_array_release(a); /* nth = 11: the list for the pool has no memory */
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_int_equal(used_bytes(f), 0);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(streams); k++)
        kiln_stream_destroy(streams[k]);
}

static void test_array__new_belongs_to_the_stream_given(void **state)
{
    const int64_t shape = 10;
    fixture *f = *state;
    kiln_context *other = new_context(&f->err);
    kiln_stream *stream = NULL, *foreign = NULL;
    kiln_array *a = NULL;

    OK(f, kiln_stream_create(f->ctx, NULL, &stream, &f->err));
    OK(f, kiln_stream_create(other, NULL, &foreign, &f->err));
    OK(f, kiln__array_new(f->ctx, KILN_INT8, 1, &shape, NULL, stream, &a, &f->err));
    assert_ptr_equal(a->storage->home, stream);
    kiln_array_release(a);
    FAILS(f, KILN_ERR_CONTEXT,
          kiln__array_new(f->ctx, KILN_INT8, 1, &shape, NULL, foreign, &a, &f->err), "stream");
    assert_null(a);
    kiln_stream_destroy(stream);
    kiln_stream_destroy(foreign);
    kiln_context_release(other);
}

/* ---- threads ---- */

typedef struct worker {
    fixture *f;
    kiln_array *shared;
    bool ok;
} worker;

static void *work(void *user)
{
    worker *w = user;
    const int64_t shape[2] = {3, 4};

    w->ok = true;
    for (int k = 0; k < 3000 && w->ok; k++) {
        kiln_array *a = NULL, *b = NULL, *c = NULL;
        w->ok = kiln_array_empty(w->f->ctx, KILN_INT32, 2, shape, &a, NULL) == KILN_OK &&
                kiln_array_transpose(a, NULL, &b, NULL) == KILN_OK &&
                kiln_array_slice(w->shared, 0, k % 7, KILN_SLICE_OPEN, 1, &c, NULL) == KILN_OK &&
                kiln_array_strides(b)[0] == 4 && kiln_array_size(c) == 7 - k % 7;
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(c);
        kiln_array_release(kiln_array_retain(w->shared));
    }
    kiln_array_release(w->shared); /* the last of the threads gives the memory back */
    return NULL;
}

static void test_array__handles_may_be_used_by_many_threads(void **state)
{
    enum { THREADS = 4 };
    const int64_t shape = 7;
    fixture *f = *state;
    kiln_array *shared = new_array(f, KILN_INT32, 1, &shape);
    pthread_t threads[THREADS];
    worker workers[THREADS];

    for (int k = 0; k < THREADS; k++) {
        workers[k] = (worker){f, kiln_array_retain(shared), false};
        assert_int_equal(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
    }
    kiln_array_release(shared);
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_true(workers[k].ok);
    }
    assert_int_equal(used_bytes(f), 0);
}

/* ---- without memory ---- */

typedef kiln_status (*maker)(kiln_context *ctx, kiln_array *base, kiln_array **out);

static kiln_status make_empty(kiln_context *ctx, kiln_array *base, kiln_array **out)
{
    (void)base;
    return kiln_array_empty(ctx, KILN_FLOAT32, 2, (const int64_t[]){3, 4}, out, NULL);
}

static kiln_status make_strided(kiln_context *ctx, kiln_array *base, kiln_array **out)
{
    static const float data[12];
    (void)base;
    return kiln_array_from_host(ctx, KILN_FLOAT32, 2, (const int64_t[]){3, 4}, data,
                                (const int64_t[]){4, 12}, out, NULL);
}

static kiln_status make_wrapped(kiln_context *ctx, kiln_array *base, kiln_array **out)
{
    return kiln_array_wrap(ctx, KILN_UINT8, 1, (const int64_t[]){8}, NULL, base->data, NULL, 8,
                           NULL, NULL, out, NULL);
}

static kiln_status make_view(kiln_context *ctx, kiln_array *base, kiln_array **out)
{
    (void)ctx;
    return kiln_array_flip(base, 0, out, NULL);
}

static kiln_status make_wide_view(kiln_context *ctx, kiln_array *base, kiln_array **out)
{
    (void)ctx;
    return kiln_array_broadcast_to(base, 8, (const int64_t[]){1, 2, 1, 2, 1, 1, 1, 8}, out, NULL);
}

/* Each allocation fails once, on a context that has made no array yet but the base. */
static void test_array__making_survives_each_allocation_failure(void **state)
{
    static const maker makers[] = {make_empty, make_strided, make_wrapped, make_view,
                                   make_wide_view};
    fixture *f = *state;

    for (size_t m = 0; m < KILN_COUNT_OF(makers); m++) {
        kiln_status status = KILN_ERR_NO_MEMORY;
        for (size_t nth = 0; status != KILN_OK; nth++) {
            kiln_context *ctx = new_context(&f->err);
            kiln_array *base = NULL, *out = (kiln_array *)1, *others[79] = {NULL};
            size_t used;
            kiln_pool_stats stats;

            assert_non_null(ctx);
            assert_true(nth < 50);
            if (m >= 2)
                OK(f, kiln_array_empty(ctx, KILN_UINT8, 1, (const int64_t[]){8}, &base, &f->err));
            /* Use up the handles that came with the base's: the next one needs memory. */
            for (size_t k = 0; k < KILN_COUNT_OF(others); k++)
                if (base != NULL)
                    OK(f, kiln_array_flip(base, 0, &others[k], &f->err));
            kiln_context_pool_stats(ctx, &stats);
            used = stats.used_bytes;
            kiln__test_alloc_fail_at(nth);
            status = makers[m](ctx, base, &out);
            kiln__test_alloc_fail_at(SIZE_MAX);
            assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
            assert_int_equal(status == KILN_OK, out != NULL);
            kiln_array_release(out);
            kiln_context_pool_stats(ctx, &stats);
            assert_int_equal(stats.used_bytes, used);
            kiln_array_release(base);
            for (size_t k = 0; k < KILN_COUNT_OF(others); k++)
                kiln_array_release(others[k]);
            kiln_context_release(ctx);
            if (status == KILN_OK)
                assert_true(nth > 0);
        }
    }
}

/* A handle whose storage found no memory goes back to those of its own size, even one that was never
 * used before: as one of rank 32 it would be written far beyond its end. */
static void test_array__a_handle_goes_back_to_those_of_its_size(void **state)
{
    enum { SMALL = 79, LARGE = 300 };
    int64_t extents[KILN_RANK_MAX];
    fixture *f = *state;
    kiln_array *small[SMALL] = {NULL}, *out = NULL;

    for (int k = 0; k < KILN_RANK_MAX; k++)
        extents[k] = 1;
    mallopt(M_PERTURB, 0x80); /* fresh memory holds large numbers */
    for (size_t nth = 0; nth < 4; nth++) { /* recycler, handles, storages, memory */
        kiln_context *ctx = new_context(&f->err);

        assert_non_null(ctx);
        kiln__test_alloc_fail_at(nth);
        assert_int_equal(kiln_array_empty(ctx, KILN_INT8, 1, (const int64_t[]){3}, &out, &f->err),
                         KILN_ERR_NO_MEMORY);
        kiln__test_alloc_fail_at(SIZE_MAX);
        for (size_t k = 0; k < SMALL; k++)
            OK(f, kiln_array_empty(ctx, KILN_INT8, 1, (const int64_t[]){3}, &small[k], &f->err));
        for (size_t k = 0; k < LARGE; k++) {
            OK(f, kiln_array_empty(ctx, KILN_INT8, KILN_RANK_MAX, extents, &out, &f->err));
            kiln_array_release(out);
        }
        for (size_t k = 0; k < SMALL; k++) {
            assert_int_equal(kiln_array_rank(small[k]), 1);
            assert_int_equal(kiln_array_shape(small[k])[0], 3);
            kiln_array_release(small[k]);
        }
        kiln_context_release(ctx);
    }
    mallopt(M_PERTURB, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_array__empty_is_c_order_for_every_dtype),
        TEST(test_array__may_have_rank_0_or_32_or_no_elements),
        TEST(test_array__new_follows_the_axis_order_given),
        TEST(test_array__refuses_impossible_shapes_and_dtypes),
        TEST(test_array__from_host_gathers_any_strides),
        TEST(test_array__from_host_transposes_large_arrays),
        TEST(test_array__from_host_needs_data_for_elements_only),
        TEST(test_array__wrapped_memory_is_released_once_after_the_last_view),
        TEST(test_array__wrap_takes_any_strides_inside_the_memory),
        TEST(test_array__wrap_refuses_strides_that_lie),
        TEST(test_array__memory_goes_back_with_the_last_view),
        TEST(test_array__outlives_the_users_reference_to_its_context),
        TEST(test_array__a_released_handle_is_recognised),
        TEST(test_array__handles_are_recycled),
        TEST(test_array__check_names_null_garbage_and_foreign_handles),
        TEST(test_array__memory_used_on_other_streams_comes_back),
        TEST(test_array__memory_comes_back_when_streams_cannot_be_remembered),
        TEST(test_array__new_belongs_to_the_stream_given),
        TEST(test_array__handles_may_be_used_by_many_threads),
        TEST(test_array__making_survives_each_allocation_failure),
        TEST(test_array__a_handle_goes_back_to_those_of_its_size),
    };
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx;

    if (argc > 1)
        device_name = argv[1];
    ctx = new_context(&err);
    if (ctx == NULL) {
        printf("SKIPPED: no device \"%s\": %s\n", device_name, err.message);
        kiln_error_clear(&err);
        return EXIT_SKIP;
    }
    kiln_context_release(ctx); /* What lives as long as the process has been made now. */
    return cmocka_run_group_tests_name("test_array", tests, NULL, NULL);
}
