/*
 * test_rearrange.c - arrays side by side, padded, rolled, repeated, and views, against plain loops.
 *
 * The oracle knows nothing of parts: for each element it computes the one that stands there in NumPy.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { RANK_MAX = 4, COUNT_MAX = 4, ROUNDS = 60 }; /* a round is a kernel or two */

/* An operand: an array, often a view with strides, and its elements in C-order. */
typedef struct operand {
    kiln_array *array;
    int rank;
    int64_t shape[RANK_MAX + 1];
    unsigned char *data;
} operand;

static const kiln_dtype dtypes[] = {KILN_BOOL,      KILN_INT8,      KILN_UINT16,  KILN_FLOAT16,
                                    KILN_INT32,     KILN_FLOAT32,   KILN_FLOAT64, KILN_UINT64,
                                    KILN_COMPLEX64, KILN_COMPLEX128};

static int64_t size_of(int rank, const int64_t *shape)
{
    int64_t size = 1;
    for (int a = 0; a < rank; a++)
        size *= shape[a];
    return size;
}

static void operand_make(test_env *t, operand *o, kiln_dtype dtype, int rank, const int64_t *shape)
{
    const size_t bytes = (size_t)size_of(rank, shape) * kiln_dtype_size(dtype);
    kiln_array *made = NULL, *turned = NULL;

    o->rank = rank;
    memcpy(o->shape, shape, (size_t)rank * sizeof *shape);
    o->data = malloc(bytes + 1);
    for (size_t k = 0; k < bytes; k++)
        o->data[k] =
            dtype == KILN_BOOL ? test_random(t) & 1 : (unsigned char)(test_random(t) % 100);
    OK(t, kiln_array_from_host(t->ctx, dtype, rank, shape, o->data, NULL, &o->array, &t->err));
    if (rank == 0 || test_random_below(t, 2) == 0)
        return;
    /* The same elements, walked in another order. */
    OK(t, kiln_array_transpose(o->array, NULL, &turned, &t->err));
    OK(t, kiln_array_contiguous(turned, &made, &t->err));
    kiln_array_release(o->array);
    kiln_array_release(turned);
    OK(t, kiln_array_transpose(made, NULL, &o->array, &t->err));
    kiln_array_release(made);
}

static void operand_free(operand *o)
{
    kiln_array_release(o->array);
    free(o->data);
}

/* Where the element at `index` of the result is in operand number `*which`; -1: it is the constant. */
typedef int64_t source_fn(const void *how, const int64_t *index, int *which);

static int64_t flat_index(const operand *o, const int64_t *index)
{
    int64_t at = 0;
    for (int a = 0; a < o->rank; a++)
        at = at * o->shape[a] + index[a];
    return at;
}

static void split_index(int rank, const int64_t *shape, int64_t flat, int64_t *index)
{
    for (int a = rank; a-- > 0;) {
        index[a] = flat % shape[a];
        flat /= shape[a];
    }
}

static void compare(test_env *t, kiln_array *got, int rank, const int64_t *shape, const operand *o,
                    source_fn *source, const void *how, const unsigned char *constant)
{
    const size_t itemsize = kiln_dtype_size(kiln_array_dtype(o->array));
    const int64_t size = size_of(rank, shape);
    unsigned char *data = malloc((size_t)size * itemsize + 1);
    int64_t index[RANK_MAX + 2];

    assert_int_equal(kiln_array_rank(got), rank);
    for (int a = 0; a < rank; a++)
        CHECK(kiln_array_shape(got)[a] == shape[a], "axis %d has %d elements, not %d", a,
              (int)kiln_array_shape(got)[a], (int)shape[a]);
    assert_int_equal(kiln_array_dtype(got), kiln_array_dtype(o->array));
    OK(t, kiln_array_to_host(got, data, (size_t)size * itemsize, NULL, &t->err));
    for (int64_t k = 0; k < size; k++) {
        int which = 0;
        split_index(rank, shape, k, index);
        const int64_t from = source(how, index, &which);
        const unsigned char *want = from < 0 ? constant : o[which].data + (size_t)from * itemsize;
        CHECK(memcmp(data + (size_t)k * itemsize, want, itemsize) == 0, "element %d differs",
              (int)k);
    }
    free(data);
}

static kiln_array *rearranged(test_env *t, kiln_rearrangement what, const operand *o, size_t count,
                              const int64_t *numbers, size_t number_count)
{
    kiln_arg args[COUNT_MAX];
    kiln_array *z = NULL;
    for (size_t k = 0; k < count; k++)
        args[k] = kiln_arg_array(o[k].array);
    OK(t, kiln_array_rearrange(what, args, count, numbers, number_count, &z, &t->err));
    return z;
}

static kiln_dtype random_dtype(test_env *t)
{
    return dtypes[test_random_below(t, COUNT(dtypes))];
}

/* Extents of 0 are rare, and small ones are common. */
static int random_shape(test_env *t, int least, int64_t *shape)
{
    const int rank = least + (int)test_random_below(t, (uint64_t)(RANK_MAX - least));
    for (int a = 0; a < rank; a++)
        shape[a] = test_random_below(t, 30) == 0 ? 0 : 1 + (int64_t)test_random_below(t, 9);
    return rank;
}

/* ---- side by side ---- */

typedef struct row_of {
    const operand *o;
    int axis, count;
    bool stacked;
} row_of;

static int64_t source_row(const void *how, const int64_t *index, int *which)
{
    const row_of *r = how;
    int64_t own[RANK_MAX + 2];
    int rank = 0;

    if (r->stacked) {
        for (int a = 0; a <= r->o->rank; a++)
            if (a != r->axis)
                own[rank++] = index[a];
        *which = (int)index[r->axis];
        return flat_index(r->o + *which, own);
    }
    memcpy(own, index, (size_t)r->o->rank * sizeof *own);
    for (*which = 0; own[r->axis] >= r->o[*which].shape[r->axis]; ++*which)
        own[r->axis] -= r->o[*which].shape[r->axis];
    return flat_index(r->o + *which, own);
}

static void test_rearrange__concatenate_and_stack_are_plain_loops(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < test_rounds(t, ROUNDS); round++) {
        operand o[COUNT_MAX];
        int64_t shape[RANK_MAX], whole[RANK_MAX + 1];
        const int rank = random_shape(t, 1, shape);
        const int count = 1 + (int)test_random_below(t, COUNT_MAX);
        const int axis = (int)test_random_below(t, (uint64_t)rank);
        const kiln_dtype dtype = random_dtype(t);
        const bool stacked = test_random_below(t, 2) == 0;
        const int64_t number = test_random_below(t, 2) == 0 ? axis : axis - rank - stacked;

        memcpy(whole, shape, sizeof shape);
        for (int k = 0; k < count; k++) {
            if (!stacked)
                shape[axis] = (int64_t)test_random_below(t, 6);
            whole[axis] = (k == 0 ? 0 : whole[axis]) + shape[axis];
            operand_make(t, &o[k], dtype, rank, shape);
        }
        for (int a = 0; stacked && a <= rank; a++)
            whole[a] = a < axis ? shape[a] : a == axis ? count : shape[a - 1];
        const row_of how = {o, axis, count, stacked};
        kiln_array *z = rearranged(t, stacked ? KILN_REARRANGE_STACK : KILN_REARRANGE_CONCATENATE,
                                   o, (size_t)count, &number, 1);
        compare(t, z, rank + stacked, whole, o, source_row, &how, NULL);
        kiln_array_release(z);
        for (int k = 0; k < count; k++)
            operand_free(&o[k]);
    }
}

/* ---- each axis by itself ---- */

typedef enum axis_kind { AXIS_PAD, AXIS_ROLL, AXIS_TILE, AXIS_REPEAT } axis_kind;

typedef struct by_axis {
    const operand *o;
    axis_kind kind;
    kiln_pad_mode mode;
    int64_t number[RANK_MAX]; /* before, shift, or times */
} by_axis;

/* The place on an axis of n elements that is read, -1 for none. */
static int64_t source_place(const by_axis *h, int a, int64_t i)
{
    const int64_t n = h->o->shape[a];
    int64_t p = i - h->number[a];

    if (h->kind == AXIS_TILE)
        return i % n;
    if (h->kind == AXIS_REPEAT)
        return i / h->number[a];
    if (h->kind == AXIS_ROLL)
        return ((p % n) + n) % n;
    if (p >= 0 && p < n)
        return p;
    switch (h->mode) {
    case KILN_PAD_WRAP:
        return ((p % n) + n) % n;
    case KILN_PAD_REFLECT:
    case KILN_PAD_SYMMETRIC:
        if (n == 1)
            return 0;
        while (p < 0 || p >= n) { /* mirrored at one end, then at the other */
            const int64_t twice = h->mode == KILN_PAD_SYMMETRIC;
            p = p < 0 ? -p - twice : 2 * (n - 1) - p + twice;
        }
        return p;
    case KILN_PAD_EDGE:
        return p < 0 ? 0 : n - 1;
    default:
        return -1;
    }
}

static int64_t source_by_axis(const void *how, const int64_t *index, int *which)
{
    const by_axis *h = how;
    int64_t own[RANK_MAX];

    *which = 0;
    for (int a = 0; a < h->o->rank; a++) {
        own[a] = source_place(h, a, index[a]);
        if (own[a] < 0)
            return -1;
    }
    return flat_index(h->o, own);
}

static void test_rearrange__pads_are_plain_loops(void **state)
{
    test_env *t = *state;
    static const unsigned char zero[16] = {0};

    for (int round = 0; round < test_rounds(t, ROUNDS); round++) {
        operand o;
        int64_t shape[RANK_MAX], numbers[1 + 2 * RANK_MAX];
        const int rank = random_shape(t, 1, shape);
        by_axis how = {&o, AXIS_PAD, (kiln_pad_mode)test_random_below(t, KILN_PAD_EMPTY), {0}};

        for (int a = 0; a < rank; a++)
            shape[a] = shape[a] == 0 && how.mode != KILN_PAD_CONSTANT ? 1 : shape[a];
        operand_make(t, &o, random_dtype(t), rank, shape);
        numbers[0] = how.mode;
        for (int a = 0; a < rank; a++) {
            how.number[a] = numbers[1 + 2 * a] = (int64_t)test_random_below(t, 12);
            numbers[2 + 2 * a] = (int64_t)test_random_below(t, 12);
            shape[a] += numbers[1 + 2 * a] + numbers[2 + 2 * a];
        }
        kiln_array *z = rearranged(t, KILN_REARRANGE_PAD, &o, 1, numbers, 1 + 2 * (size_t)rank);
        compare(t, z, rank, shape, &o, source_by_axis, &how, zero);
        kiln_array_release(z);
        operand_free(&o);
    }
}

static void test_rearrange__rolls_and_repetitions_are_plain_loops(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < test_rounds(t, ROUNDS); round++) {
        operand o;
        int64_t shape[RANK_MAX], numbers[2 * RANK_MAX];
        const int rank = random_shape(t, 1, shape);
        by_axis how = {&o, AXIS_ROLL + (axis_kind)(round % 3), KILN_PAD_CONSTANT, {0}};
        kiln_array *z = NULL;
        const int axis = (int)test_random_below(t, (uint64_t)rank);

        operand_make(t, &o, random_dtype(t), rank, shape);
        for (int a = 0; a < rank; a++)
            how.number[a] = how.kind == AXIS_ROLL     ? (int64_t)test_random_below(t, 30) - 15
                            : how.kind == AXIS_REPEAT ? 1
                                                      : (int64_t)test_random_below(t, 4);
        if (how.kind == AXIS_ROLL) {
            for (int a = 0; a < rank; a++) {
                numbers[a] = how.number[a];
                numbers[rank + a] = a;
            }
            z = rearranged(t, KILN_REARRANGE_ROLL, &o, 1, numbers, 2 * (size_t)rank);
            if (rank == 1) { /* its own flat order */
                kiln_array *same = rearranged(t, KILN_REARRANGE_ROLL, &o, 1, numbers, 1);
                compare(t, same, rank, shape, &o, source_by_axis, &how, NULL);
                kiln_array_release(same);
            }
        } else if (how.kind == AXIS_TILE) {
            for (int a = 0; a < rank; a++)
                shape[a] *= how.number[a];
            z = rearranged(t, KILN_REARRANGE_TILE, &o, 1, how.number, (size_t)rank);
        } else {
            how.number[axis] = (int64_t)test_random_below(t, 4);
            numbers[0] = how.number[axis];
            numbers[1] = axis;
            shape[axis] *= how.number[axis];
            z = rearranged(t, KILN_REARRANGE_REPEAT_ALONG, &o, 1, numbers, 2);
        }
        compare(t, z, rank, shape, &o, source_by_axis, &how, NULL);
        kiln_array_release(z);
        operand_free(&o);
    }
}

/* ---- views ---- */

typedef struct turned {
    const operand *o;
    kiln_rearrangement what;
    int a, b;
    int64_t offset;
} turned;

static int64_t source_turned(const void *how, const int64_t *index, int *which)
{
    const turned *h = how;
    int64_t own[RANK_MAX];
    const int rank = h->o->rank;

    *which = 0;
    memcpy(own, index, (size_t)rank * sizeof *own);
    if (h->what == KILN_REARRANGE_DIAGONAL) {
        for (int a = 0, k = 0; a < rank; a++)
            if (a != h->a && a != h->b)
                own[a] = index[k++];
        own[h->a] = index[rank - 2] + (h->offset < 0 ? -h->offset : 0);
        own[h->b] = index[rank - 2] + (h->offset > 0 ? h->offset : 0);
    } else if (h->what == KILN_REARRANGE_SWAPAXES) {
        own[h->a] = index[h->b];
        own[h->b] = index[h->a];
    } else if (h->what == KILN_REARRANGE_FLIP) {
        own[h->a] = h->o->shape[h->a] - 1 - index[h->a];
    } else if (h->what == KILN_REARRANGE_MOVEAXIS) {
        int order[RANK_MAX], k = 0;
        for (int a = 0; a < rank; a++)
            if (a != h->a)
                order[k++] = a;
        memmove(order + h->b + 1, order + h->b, (size_t)(rank - 1 - h->b) * sizeof *order);
        order[h->b] = h->a;
        for (int a = 0; a < rank; a++)
            own[order[a]] = index[a];
    } else { /* a quarter turn takes the last row's first element to the first row's */
        own[h->a] = index[h->b];
        own[h->b] = h->o->shape[h->b] - 1 - index[h->a];
    }
    return flat_index(h->o, own);
}

static void test_rearrange__views_are_plain_loops_and_move_nothing(void **state)
{
    test_env *t = *state;
    static const kiln_rearrangement kinds[] = {KILN_REARRANGE_DIAGONAL, KILN_REARRANGE_SWAPAXES,
                                               KILN_REARRANGE_FLIP, KILN_REARRANGE_MOVEAXIS,
                                               KILN_REARRANGE_ROT90};

    for (int round = 0; round < test_rounds(t, ROUNDS); round++) {
        operand o;
        int64_t shape[RANK_MAX], whole[RANK_MAX], numbers[3];
        const int rank = random_shape(t, 2, shape);
        turned how = {&o, kinds[(size_t)round % COUNT(kinds)], 0, 0, 0};
        size_t count = 2;
        int left = rank;

        operand_make(t, &o, random_dtype(t), rank, shape);
        how.a = (int)test_random_below(t, (uint64_t)rank);
        how.b = (how.a + 1 + (int)test_random_below(t, (uint64_t)rank - 1)) % rank;
        how.offset = (int64_t)test_random_below(t, 9) - 4;
        memcpy(whole, shape, sizeof whole);
        numbers[0] = how.a;
        numbers[1] = how.b - rank;
        if (how.what == KILN_REARRANGE_DIAGONAL) {
            const int64_t rows = shape[how.a] - (how.offset < 0 ? -how.offset : 0);
            const int64_t columns = shape[how.b] - (how.offset > 0 ? how.offset : 0);
            const int64_t length = rows < columns ? rows : columns;
            left = 0;
            for (int a = 0; a < rank; a++)
                if (a != how.a && a != how.b)
                    whole[left++] = shape[a];
            whole[left++] = length > 0 ? length : 0;
        } else if (how.what == KILN_REARRANGE_MOVEAXIS) {
            int k = 0;
            for (int a = 0; a < rank; a++)
                if (a != how.a)
                    whole[k++] = shape[a];
            memmove(whole + how.b + 1, whole + how.b, (size_t)(rank - 1 - how.b) * sizeof *whole);
            whole[how.b] = shape[how.a];
        } else if (how.what != KILN_REARRANGE_FLIP) {
            whole[how.a] = shape[how.b];
            whole[how.b] = shape[how.a];
        }
        if (how.what == KILN_REARRANGE_DIAGONAL || how.what == KILN_REARRANGE_ROT90) {
            numbers[2] = numbers[1];
            numbers[1] = numbers[0];
            numbers[0] = how.what == KILN_REARRANGE_ROT90 ? -7 : how.offset; /* -7 is 1 turn */
            count = 3;
        }
        if (how.what == KILN_REARRANGE_FLIP)
            count = 1;
        kiln_array *z = rearranged(t, how.what, &o, 1, numbers, count);
        compare(t, z, left, whole, &o, source_turned, &how, NULL);
        if (kiln_array_size(z) > 0) {
            const char *first = kiln_array_data(o.array), *there = kiln_array_data(z);
            const ptrdiff_t bytes = (ptrdiff_t)kiln_array_size(o.array) * 16;
            assert_true(there >= first - bytes && there <= first + bytes);
        }
        kiln_array_release(z);
        operand_free(&o);
    }
}

/* ---- strides, windows, parts ---- */

static void test_rearrange__strides_stay_inside_the_memory(void **state)
{
    test_env *t = *state;
    const int64_t six = 6, shape[] = {3, 2}, tall[] = {4, 2};
    kiln_array *x = test_ramp(t, 1, &six), *part = NULL, *z = NULL;
    int32_t got[6];

    OK(t, kiln_array_as_strided(x, 2, shape, (int64_t[]){4, 12}, 0, &z, &t->err));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((int32_t[]){0, 3, 1, 4, 2, 5}), sizeof got);
    kiln_array_release(z);
    /* A part of the array reaches all of its memory, and no further. */
    OK(t, kiln_array_slice(x, 0, 2, 4, 1, &part, &t->err));
    OK(t, kiln_array_as_strided(part, 1, &six, (int64_t[]){4}, -8, &z, &t->err));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_int_equal(got[5], 5);
    kiln_array_release(z);
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_as_strided(part, 1, &six, (int64_t[]){4}, -12, &z, &t->err), "outside");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_as_strided(part, 1, &six, (int64_t[]){4}, -4, &z, &t->err), "24 bytes");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_as_strided(x, 2, tall, (int64_t[]){1 << 20, 4}, 0, &z, &t->err), "outside");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_as_strided(x, 1, shape, (int64_t[]){INT64_MAX / 4 * 4}, 0, &z, &t->err),
          "outside");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_as_strided(x, 1, shape, (int64_t[]){2}, 0, &z, &t->err),
          "multiples of 4");
    kiln_array_release(part);
    kiln_array_release(x);
}

static void test_rearrange__windows_slide(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4, 5}, window[] = {2, 3};
    kiln_array *x = test_ramp(t, 2, shape), *z = NULL;
    int32_t got[3 * 3 * 2 * 3];

    OK(t, kiln_array_sliding_window(x, NULL, window, &z, &t->err));
    assert_int_equal(kiln_array_rank(z), 4);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < (int)COUNT(got); k++)
        assert_int_equal(got[k], (k / 18 + k / 3 % 2) * 5 + k / 6 % 3 + k % 3);
    kiln_array_release(z);
    OK(t, kiln_array_sliding_window(x, KILN_AXES(-1), window, &z, &t->err));
    assert_int_equal(kiln_array_size(z), 4 * 4 * 2);
    kiln_array_release(z);
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_sliding_window(x, KILN_AXES(0), (int64_t[]){5}, &z, &t->err), "extent 4");
    FAILS(t, KILN_ERR_AXIS, kiln_array_sliding_window(x, KILN_AXES(2), window, &z, &t->err), "2");
    kiln_array_release(x);
}

/* NumPy 2: [p.shape[0] for p in np.array_split(np.arange(10), 4)] is [3, 3, 2, 2]; np.split(x, [2, -1])
 * has 2, 7 and 1. */
static void test_rearrange__parts_are_views(void **state)
{
    test_env *t = *state;
    static const int64_t even[] = {3, 3, 2, 2}, given[] = {2, 7, 1};
    const int64_t ten = 10, three = 3, shape[] = {3, 1};
    kiln_array *x = test_ramp(t, 1, &ten), *parts[4], *y = NULL, *tall = NULL;

    OK(t, kiln_array_split(x, 0, NULL, 4, parts, &t->err));
    for (int k = 0, at = 0; k < 4; k++) {
        assert_int_equal(kiln_array_size(parts[k]), even[k]);
        assert_ptr_equal(kiln_array_data(parts[k]), (char *)kiln_array_data(x) + 4 * at);
        at += (int)even[k];
        kiln_array_release(parts[k]);
    }
    OK(t, kiln_array_split(x, -1, (int64_t[]){2, -1}, 3, parts, &t->err));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(kiln_array_size(parts[k]), given[k]);
        kiln_array_release(parts[k]);
    }
    FAILS(t, KILN_ERR_AXIS, kiln_array_split(x, 1, NULL, 2, parts, &t->err), "axis 1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_split(x, 0, NULL, 0, parts, &t->err), "no parts");
    y = test_ramp(t, 1, &three);
    tall = test_ramp(t, 2, shape);
    OK(t, kiln_array_broadcast((const kiln_array *const[]){y, tall}, 2, parts, &t->err));
    assert_int_equal(kiln_array_size(parts[0]), 9);
    assert_int_equal(kiln_array_size(parts[1]), 9);
    kiln_array_release(parts[0]);
    kiln_array_release(parts[1]);
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_broadcast((const kiln_array *const[]){y, x}, 2, parts, &t->err), "(10,)");
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(tall);
}

/* ---- expressions ---- */

typedef struct shown {
    const char *text;
    kiln_dtype dtype;
    const char
        *want; /* as NumPy 2 prints it for x = np.arange(12.).reshape(3, 4), n = np.array([5, -3,
                         2], 'i4'), with modes in quotes */
} shown;

static const shown list[] = {
    {"concatenate([n, n * 2.5])", KILN_FLOAT64, "[ 5.  -3.   2.  12.5 -7.5  5. ]"},
    {"concatenate((x, x[:1] + 100), axis=0)", KILN_FLOAT64,
     "[[  0.   1.   2.   3.]\n [  4.   5.   6.   7.]\n [  8.   9.  10.  11.]\n"
     " [100. 101. 102. 103.]]"},
    {"concatenate([x[:2, :2], n[:1]], axis=None)", KILN_FLOAT64, "[0. 1. 4. 5. 5.]"},
    {"sum(concatenate([x, x * 2], axis=1), axis=0)", KILN_FLOAT64,
     "[12. 15. 18. 21. 24. 30. 36. 42.]"},
    {"append(n, 7)", KILN_INT64, "[ 5 -3  2  7]"},
    {"stack([n, n + 1], axis=-1)", KILN_INT32, "[[ 5  6]\n [-3 -2]\n [ 2  3]]"},
    {"hstack([n, n[::-1]])", KILN_INT32, "[ 5 -3  2  2 -3  5]"},
    {"vstack([n, n > 0])", KILN_INT32, "[[ 5 -3  2]\n [ 1  0  1]]"},
    {"column_stack([n, n[:, None]])", KILN_INT32, "[[ 5  5]\n [-3 -3]\n [ 2  2]]"},
    {"dstack([n, n])", KILN_INT32, "[[[ 5  5]\n  [-3 -3]\n  [ 2  2]]]"},
    {"pad(n, 1)", KILN_INT32, "[ 0  5 -3  2  0]"},
    {"pad(n, 1, 2.5)", KILN_INT32, "[ 2  5 -3  2  2]"},
    {"pad(n, (1, 3), mode=wrap)", KILN_INT32, "[ 2  5 -3  2  5 -3  2]"},
    {"pad(x[:2, :2], (1, 0, 0, 1), -1)", KILN_FLOAT64,
     "[[-1. -1. -1.]\n [ 0.  1. -1.]\n [ 4.  5. -1.]]"},
    {"pad(x[:2, :2], 1, mode=edge)", KILN_FLOAT64,
     "[[0. 0. 1. 1.]\n [0. 0. 1. 1.]\n [4. 4. 5. 5.]\n [4. 4. 5. 5.]]"},
    {"roll(n, 1)", KILN_INT32, "[ 2  5 -3]"},
    {"roll(x, 1)[0]", KILN_FLOAT64, "[11.  0.  1.  2.]"},
    {"roll(x, (1, -1), axis=(0, 1))[0]", KILN_FLOAT64, "[ 9. 10. 11.  8.]"},
    {"tile(n, (2, 2))", KILN_INT32, "[[ 5 -3  2  5 -3  2]\n [ 5 -3  2  5 -3  2]]"},
    {"repeat(n, (2, 0, 1))", KILN_INT32, "[5 5 2]"},
    {"repeat(x[:2, :2], 2, axis=1)", KILN_FLOAT64, "[[0. 0. 1. 1.]\n [4. 4. 5. 5.]]"},
    {"delete(n, -2, axis=0)", KILN_INT32, "[5 2]"},
    {"insert(n, 1, 7)", KILN_INT32, "[ 5  7 -3  2]"},
    {"insert(x[:2, :2], 1, 7, 0)", KILN_FLOAT64, "[[0. 1.]\n [7. 7.]\n [4. 5.]]"},
    {"insert(x[:2, :2], 1, 7, None)", KILN_FLOAT64, "[0. 7. 1. 4. 5.]"},
    {"concatenate([x[:2, :2], x[:2, 2:]], 1)", KILN_FLOAT64, "[[0. 1. 2. 3.]\n [4. 5. 6. 7.]]"},
    {"concatenate([x[:2, :2], x[2]], None)", KILN_FLOAT64, "[ 0.  1.  4.  5.  8.  9. 10. 11.]"},
    {"append(x[:1], x[1:2], 0)", KILN_FLOAT64, "[[0. 1. 2. 3.]\n [4. 5. 6. 7.]]"},
    {"delete(x[:2, :3], (0, 2), 1)", KILN_FLOAT64, "[[1.]\n [5.]]"},
    {"delete(x[:2, :2], 1)", KILN_FLOAT64, "[0. 4. 5.]"},
    {"repeat(x[:2, :2], (1, 2), 0)", KILN_FLOAT64, "[[0. 1.]\n [4. 5.]\n [4. 5.]]"},
    {"roll(x[:2], 1, 1)", KILN_FLOAT64, "[[3. 0. 1. 2.]\n [7. 4. 5. 6.]]"},
    {"flip(x[:2, :2], (0, 1))", KILN_FLOAT64, "[[5. 4.]\n [1. 0.]]"},
    {"diff(x[:2], 1, 0)", KILN_FLOAT64, "[[4. 4. 4. 4.]]"},
    {"insert(n, (3, 0, 0), n + 4)", KILN_INT32, "[ 1  6  5 -3  2  9]"},
    {"insert(n, -1, n[:2])", KILN_INT32, "[ 5 -3  5 -3  2]"},
    {"insert(n, 3, 2.5)", KILN_INT32, "[ 5 -3  2  2]"},
    {"insert(x[:2, :2], 1, n[:2], axis=1)", KILN_FLOAT64, "[[ 0.  5.  1.]\n [ 4. -3.  5.]]"},
    {"insert(x[:2, :2], 0, x[:1, 2:], axis=0)", KILN_FLOAT64, "[[2. 3.]\n [0. 1.]\n [4. 5.]]"},
    {"insert(x[:2, :2], (0, 2), x[2, :2], axis=1)", KILN_FLOAT64,
     "[[8. 0. 1. 9.]\n [8. 4. 5. 9.]]"},
    {"insert(x[:2, :2], 2, -1)", KILN_FLOAT64, "[ 0.  1. -1.  4.  5.]"},
    {"gradient(x[0] ** 2)", KILN_FLOAT64, "[1. 2. 4. 5.]"},
    {"gradient(n, 2.0)", KILN_FLOAT64, "[-4.   -0.75  2.5 ]"},
    {"triu(x[:2, :2] != 1)", KILN_BOOL, "[[ True False]\n [False  True]]"},
    {"gradient(uint8(n + 4))", KILN_FLOAT64, "[-8.  -1.5  5. ]"},
    {"gradient(n[:2])", KILN_FLOAT64, "[-8. -8.]"},
    {"gradient(x[:, :2], axis=-2)", KILN_FLOAT64, "[[4. 4.]\n [4. 4.]\n [4. 4.]]"},
    {"gradient(x, axis=0)[1]", KILN_FLOAT64, "[4. 4. 4. 4.]"},
    {"gy, gx = gradient(x ** 2); (gy + gx)[1]", KILN_FLOAT64, "[41. 50. 60. 69.]"},
    {"indices((2, 3))[1]", KILN_INT64, "[[0 1 2]\n [0 1 2]]"},
    {"indices((2, 1)) * 2", KILN_INT64, "[[[0]\n  [2]]\n\n [[0]\n  [0]]]"},
    {"rot90(x[:2, :2])", KILN_FLOAT64, "[[1. 5.]\n [0. 4.]]"},
    {"flip(x[:2, :2])", KILN_FLOAT64, "[[5. 4.]\n [1. 0.]]"},
    {"moveaxis(x[None], 0, -1).squeeze(2) - x", KILN_FLOAT64,
     "[[0. 0. 0. 0.]\n [0. 0. 0. 0.]\n [0. 0. 0. 0.]]"},
    {"diagonal(x * 2, 1)", KILN_FLOAT64, "[ 2. 12. 22.]"},
    {"trace(x)", KILN_FLOAT64, "15.0"},
    {"triu(x, 1)", KILN_FLOAT64, "[[ 0.  1.  2.  3.]\n [ 0.  0.  6.  7.]\n [ 0.  0.  0. 11.]]"},
    {"tril(x, -1)", KILN_FLOAT64, "[[0. 0. 0. 0.]\n [4. 0. 0. 0.]\n [8. 9. 0. 0.]]"},
    {"eye(2, 3, 1)", KILN_FLOAT64, "[[0. 1. 0.]\n [0. 0. 1.]]"},
    {"tri(2, dtype=int32)", KILN_INT32, "[[1 0]\n [1 1]]"},
    {"diff(x[0] ** 2, 2)", KILN_FLOAT64, "[2. 2.]"},
    {"ediff1d(n)", KILN_INT32, "[-8  5]"},
};

static void test_rearrange__expressions_are_numpys(void **state)
{
    static const char *const names[] = {"x", "n"};
    test_env *t = *state;
    const int64_t shape[] = {3, 4}, three = 3;
    const int32_t whole[] = {5, -3, 2};
    double ramp[12];
    kiln_array *x = NULL, *n = NULL;

    for (int k = 0; k < 12; k++)
        ramp[k] = k;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, ramp, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &three, whole, NULL, &n, &t->err));
    for (size_t k = 0; k < COUNT(list); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        char *text = NULL;
        OK(t, kiln_graph_parse(t->ctx, list[k].text, names, 2, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(n), kiln_arg_out(&z)};
        OK(t, kiln_graph_run(g, args, 3, NULL, &t->err));
        OK(t, kiln_array_to_string(z, &text, &t->err));
        CHECK(kiln_array_dtype(z) == list[k].dtype, "%s is %s", list[k].text,
              kiln_dtype_name(kiln_array_dtype(z)));
        CHECK(strcmp(text, list[k].want) == 0, "%s: got\n%s\nnot\n%s", list[k].text, text,
              list[k].want);
        kiln_free(text);
        kiln_array_release(z);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
    kiln_array_release(n);
}

/* Producers of equal parts write straight into them, all by one kernel. On a GPU parts that are copied share one. */
static void test_rearrange__producers_write_into_their_parts(void **state)
{
    static const struct {
        const char *text;
        size_t cuda, cpu; /* kernels */
    } cases[] = {{"concatenate([x * 2, exp(x), x])", 1, 1},
                 {"pad(x * 2, 1)", 2, 3},
                 {"tile(x + 1, (2, 2))", 1, 1},
                 {"repeat(x + 1, 3, axis=0)", 1, 1},
                 {"roll(x, 1, axis=1)", 1, 2},
                 {"roll(x, 1)", 1, 2},
                 {"concatenate([x, x * 2], axis=1).reshape(-1).reshape((4, 32))", 1, 1}};
    static const char *const names[] = {"x"};
    test_env *t = *state;
    const int64_t shape[] = {8, 8};
    kiln_array *x = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        size_t kernels = 0;
        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 1, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
        OK(t, kiln_graph_kernel_count(g, args, 2, &kernels, &t->err));
        CHECK(kernels == (t->cuda ? cases[k].cuda : cases[k].cpu), "%s: %zu kernels", cases[k].text, kernels);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
}

/* A join and its reshapes may all be outputs, given or not, in any order: one of them has the memory, the
 * others are copies. A given output whose rows are apart cannot have it. */
static void test_rearrange__reshaped_joins_have_their_values(void **state)
{
    static const char *const texts[] = {
        "concatenate([x, x * 2], axis=1).reshape(-1), concatenate([x, x * 2], axis=1), "
        "concatenate([x, x * 2], axis=1).reshape((2, 9)).reshape(-1)",
        "concatenate([x, x * 2], axis=1)[0:3].reshape(-1), concatenate([x, x * 2], axis=1), "
        "concatenate([x, x * 2], axis=1).reshape((6, 3)).reshape(-1)"};
    static const char *const names[] = {"x"};
    test_env *t = *state;
    const int64_t shape[] = {3, 3}, wide[] = {3, 8};
    float ramp[9], want[18], got[18];
    kiln_array *x = NULL;

    for (int k = 0; k < 9; k++) {
        ramp[k] = want[k / 3 * 6 + k % 3] = (float)k;
        want[k / 3 * 6 + 3 + k % 3] = 2.0F * (float)k;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, ramp, NULL, &x, &t->err));
    for (size_t k = 0; k < 2 * COUNT(texts); k++) {
        kiln_array *room = NULL, *z[3] = {NULL};
        kiln_graph *g = NULL;
        const bool given = k % 2 != 0;

        if (given) {
            OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, wide, &room, &t->err));
            OK(t, kiln_array_slice(room, 1, 1, 7, 1, &z[1], &t->err));
        }
        OK(t, kiln_graph_parse(t->ctx, texts[k / 2], names, 1, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z[0]),
                                 given ? kiln_arg_array(z[1]) : kiln_arg_out(&z[1]),
                                 kiln_arg_out(&z[2])};
        OK(t, kiln_graph_run(g, args, 4, NULL, &t->err));
        for (int r = 0; r < 3; r++) {
            OK(t, kiln_array_to_host(z[r], got, sizeof got, NULL, &t->err));
            CHECK(memcmp(got, want, sizeof got) == 0, "case %zu, result %d", k, r);
            kiln_array_release(z[r]);
        }
        kiln_array_release(room);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
}

/* ---- what is refused ---- */

static void test_rearrange__bad_calls_have_errors_of_their_own(void **state)
{
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } cases[] = {
        {"concatenate([x, n])", KILN_ERR_SHAPE, "operand 2 has shape (3,), operand 1 (3, 4)"},
        {"concatenate([x, x], axis=2)", KILN_ERR_AXIS, "axis 2"},
        {"concatenate([x, 1])", KILN_ERR_SHAPE, "operand 2"},
        {"concatenate(x)", KILN_ERR_ARGUMENT, "list of arrays"},
        {"stack([n, n[:2]])", KILN_ERR_SHAPE, "(2,)"},
        {"pad(x, (1, 2, 3))", KILN_ERR_ARGUMENT, "two for each axis"},
        {"pad(n, (1, -2))", KILN_ERR_ARGUMENT, "-2 is negative"},
        {"pad(n, 1, mode=linear)", KILN_ERR_NAME, "mode"},
        {"pad(n[:0], 1, mode=edge)", KILN_ERR_SHAPE, "nothing to continue"},
        {"pad(uint8(n), 1, 300)", KILN_ERR_RANGE, "does not fit uint8"},
        {"tile(n, -1)", KILN_ERR_ARGUMENT, "the number of repetitions is -1"},
        {"repeat(n, (1, 2))", KILN_ERR_SHAPE, "2 repetitions for 3 elements"},
        {"repeat(n, -1)", KILN_ERR_ARGUMENT, "the number of repetitions is -1"},
        {"roll(n, 1, axis=1)", KILN_ERR_AXIS, "axis 1"},
        {"delete(n, 3, axis=0)", KILN_ERR_AXIS, "index 3"},
        {"delete(n, 3)", KILN_ERR_AXIS, "index 3"},
        {"roll(x)", KILN_ERR_ARGUMENT_COUNT, "roll is called as roll(x, shift, axis=None)"},
        {"insert(x, 1)", KILN_ERR_ARGUMENT_COUNT, "insert(x, obj, values, axis=None)"},
        {"insert(x, 0, 2, 7, 0)", KILN_ERR_ARGUMENT_COUNT, "insert(x, obj, values, axis=None)"},
        {"flip(x, 0, 1)", KILN_ERR_ARGUMENT_COUNT, "flip(x, axis=None)"},
        {"concatenate([x, x], 1, axis=1)", KILN_ERR_ARGUMENT_COUNT, "axis twice"},
        {"insert(n, 4, 1)", KILN_ERR_AXIS, "index 4"},
        {"insert(x, 1, n, axis=2)", KILN_ERR_AXIS, "axis 2"},
        {"insert(x, 1, n, axis=0)", KILN_ERR_SHAPE, "values of shape (3,)"},
        {"insert(n, (0, 1), n)", KILN_ERR_SHAPE, "values of shape (3,)"},
        {"insert(uint8(n), 0, 300)", KILN_ERR_RANGE, "does not fit uint8"},
        {"indices((2, -1))", KILN_ERR_SHAPE, "-1"},
        {"squeeze(x, 0)", KILN_ERR_SHAPE, "extent 3, not 1"},
        {"moveaxis(x, (0, 0), (0, 1))", KILN_ERR_AXIS, "twice"},
        {"swapaxes(x, 0, 2)", KILN_ERR_AXIS, "axis 2"},
        {"diagonal(n)", KILN_ERR_SHAPE, "rank 1"},
        {"rot90(x, 1, 0, 0)", KILN_ERR_AXIS, "twice"},
    };
    static const char *const names[] = {"x", "n"};
    test_env *t = *state;
    const int64_t shape[] = {3, 4}, three = 3;
    kiln_array *x = test_ramp(t, 2, shape), *n = test_ramp(t, 1, &three), *z = NULL;

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_status status =
            kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err);
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(n), kiln_arg_out(&z)};
        if (status == KILN_OK)
            status = kiln_graph_run(g, args, 3, NULL, &t->err);
        CHECK(status == cases[k].status && strstr(t->err.message, cases[k].says) != NULL, "%s: %s",
              cases[k].text, t->err.message);
        assert_null(z);
        kiln_error_clear(&t->err);
        kiln_graph_destroy(g);
    }
    const kiln_arg both[] = {kiln_arg_array(x), kiln_arg_int(1)};
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange((kiln_rearrangement)31, both, 1, NULL, 0, &z, &t->err), "31");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_array_rearrange(KILN_REARRANGE_SWAPAXES, both, 2, NULL, 0, &z, &t->err), "swapaxes");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_HSTACK, both + 1, 1, NULL, 0, &z, &t->err),
          "no operand");
    kiln_array_release(x);
    kiln_array_release(n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rearrange__concatenate_and_stack_are_plain_loops),
        TEST(test_rearrange__pads_are_plain_loops),
        TEST(test_rearrange__rolls_and_repetitions_are_plain_loops),
        TEST(test_rearrange__views_are_plain_loops_and_move_nothing),
        TEST(test_rearrange__strides_stay_inside_the_memory),
        TEST(test_rearrange__windows_slide),
        TEST(test_rearrange__parts_are_views),
        TEST(test_rearrange__expressions_are_numpys),
        TEST(test_rearrange__producers_write_into_their_parts),
        TEST(test_rearrange__reshaped_joins_have_their_values),
        TEST(test_rearrange__bad_calls_have_errors_of_their_own),
    };
    return test_env_main(argc, argv, "test_rearrange", tests, COUNT(tests));
}
