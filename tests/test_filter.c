/*
 * test_filter.c - filters, masks and the places of what is not zero, against plain loops.
 *
 * The loops walk host memory by the strides that the arrays were made with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/select.h"
#include "test_env.h"

#define DTYPE(NAME, ...) KILN_##NAME,
static const kiln_dtype dtypes[] = {KILN_DTYPE_MAP(DTYPE)};
#undef DTYPE

/* ---- arrays with a copy on the host ---- */

enum { RANK = 3 };

typedef struct layout {
    const char *name;
    int rank;
    int64_t shape[RANK];
    int64_t stride[RANK]; /* in elements */
    int64_t begin, room;  /* the first element; elements of memory */
} layout;

typedef struct sample {
    layout of;
    size_t itemsize;
    unsigned char *bytes; /* room * itemsize */
    kiln_array *whole, *array;
} sample;

static int64_t size_of(const layout *of)
{
    int64_t size = 1;

    for (int a = 0; a < of->rank; a++)
        size *= of->shape[a];
    return size;
}

/* Element number k in C-order. */
static const unsigned char *element(const sample *s, int64_t k)
{
    int64_t at = s->of.begin;

    for (int a = s->of.rank - 1; a >= 0; a--) {
        at += k % s->of.shape[a] * s->of.stride[a];
        k /= s->of.shape[a];
    }
    return s->bytes + (size_t)at * s->itemsize;
}

/* `zeros`: in percent, how many elements are zero. Others are small numbers. */
static void fill(test_env *t, sample *s, kiln_dtype dtype, unsigned zeros)
{
    for (int64_t k = 0; k < s->of.room; k++) {
        unsigned char *const at = s->bytes + (size_t)k * s->itemsize;
        const bool zero = test_random_below(t, 100) < zeros;
        memset(at, 0, s->itemsize);
        if (zero)
            continue;
        /* A bool is 1; a float gets some high bytes, so that it is neither zero nor NaN. */
        at[dtype == KILN_BOOL ? 0 : s->itemsize - 1] =
            dtype == KILN_BOOL ? 1 : (unsigned char)(1 + test_random_below(t, 0x3f));
        for (size_t b = 0; b + 1 < s->itemsize; b++)
            at[b] = (unsigned char)test_random_below(t, 256);
    }
}

static sample make(test_env *t, const layout *of, kiln_dtype dtype, unsigned zeros)
{
    sample s = {.of = *of, .itemsize = kiln_dtype_size(dtype)};
    int64_t strides[RANK];

    s.bytes = calloc((size_t)of->room + 1, s.itemsize);
    assert_non_null(s.bytes);
    fill(t, &s, dtype, zeros);
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &of->room, s.bytes, NULL, &s.whole, &t->err));
    for (int a = 0; a < of->rank; a++)
        strides[a] = of->stride[a] * (int64_t)s.itemsize;
    OK(t, kiln_array_as_strided(s.whole, of->rank, of->shape, strides,
                                of->begin * (int64_t)s.itemsize, &s.array, &t->err));
    return s;
}

static void drop(sample *s)
{
    kiln_array_release(s->whole);
    kiln_array_release(s->array);
    free(s->bytes);
}

static bool is_zero(const sample *s, int64_t k)
{
    const unsigned char *const at = element(s, k);

    for (size_t b = 0; b < s->itemsize; b++)
        if (at[b] != 0)
            return false;
    return true;
}

static int64_t read_number(test_env *t, const kiln_array *count)
{
    int64_t number = -1;

    assert_int_equal(kiln_array_rank(count), 0);
    OK(t, kiln_array_to_host(count, &number, sizeof number, NULL, &t->err));
    return number;
}

/* The first `count` elements of an array of one axis, or rows of one of two. */
static void *read_first(test_env *t, const kiln_array *values, const kiln_array *count,
                        int64_t *number)
{
    kiln_array *first = NULL;

    *number = count != NULL ? read_number(t, count) : kiln_array_shape(values)[0];
    if (count != NULL)
        OK(t, kiln_array_first(values, count, &first, &t->err));
    const kiln_array *const used = count != NULL ? first : values;
    assert_int_equal(kiln_array_shape(used)[0], *number);
    const size_t bytes = (size_t)kiln_array_size(used) * kiln_dtype_size(kiln_array_dtype(used));
    void *const got = malloc(bytes + 1);
    assert_non_null(got);
    OK(t, kiln_array_to_host(used, got, bytes, NULL, &t->err));
    kiln_array_release(first);
    return got;
}

/* ---- layouts ---- */

static const layout layouts[] = {
    {"nothing", 1, {0}, {1}, 0, 1},
    {"one element", 1, {1}, {1}, 0, 1},
    {"no axes", 0, {0}, {0}, 0, 1},
    {"dense", 1, {1000}, {1}, 0, 1000},
    {"misaligned", 1, {999}, {1}, 1, 1000},
    {"long", 1, {70001}, {1}, 0, 70001},
    {"every third", 1, {500}, {3}, 2, 1502},
    {"backwards", 1, {333}, {-1}, 400, 401},
    {"rows", 2, {40, 33}, {33, 1}, 0, 1320},
    {"transposed", 2, {40, 33}, {1, 40}, 0, 1320},
    {"parts of rows", 2, {40, 32}, {48, 1}, 0, 1920},
    {"a row for all", 2, {40, 33}, {0, 1}, 0, 33},
    {"an element for all", 2, {30, 30}, {0, 0}, 0, 1},
    {"three axes", 3, {7, 6, 5}, {5, 35, 1}, 0, 300},
    {"no rows", 2, {0, 5}, {5, 1}, 0, 1},
    {"no rows of many", 2, {0, 3000001}, {3000001, 1}, 0, 1},
};

/* The mask has the array's shape, in memory order of its own. */
static layout dense_like(const layout *of)
{
    layout dense = *of;

    dense.begin = 0;
    dense.room = size_of(of) > 0 ? size_of(of) : 1;
    for (int a = of->rank - 1, step = 1; a >= 0; a--) {
        dense.stride[a] = step;
        step *= (int)of->shape[a];
    }
    return dense;
}

/* ---- x[mask] ---- */

static void check_compress(test_env *t, const layout *of, const layout *mask_of, kiln_dtype dtype,
                           unsigned zeros, bool wait)
{
    sample x = make(t, of, dtype, 20), mask = make(t, mask_of, KILN_BOOL, zeros);
    kiln_array *y = NULL, *count = NULL;
    int64_t kept = 0, number;

    OK(t, kiln_array_compress(x.array, mask.array, &y, wait ? NULL : &count, &t->err));
    assert_int_equal(kiln_array_rank(y), 1);
    assert_int_equal(kiln_array_dtype(y), dtype);
    if (!wait)
        assert_int_equal(kiln_array_shape(y)[0], size_of(of));
    unsigned char *const got = read_first(t, y, count, &number);
    for (int64_t k = 0; k < size_of(of); k++) {
        if (is_zero(&mask, k))
            continue;
        if (kept < number &&
            memcmp(got + (size_t)kept * x.itemsize, element(&x, k), x.itemsize) != 0)
            fail_msg("%s of %s, %u%% dropped: element %d is not number %d of the array", of->name,
                     kiln_dtype_name(dtype), zeros, (int)kept, (int)k);
        kept++;
    }
    if (number != kept)
        fail_msg("%s of %s, %u%% dropped: %d elements, not %d", of->name, kiln_dtype_name(dtype),
                 zeros, (int)number, (int)kept);
    free(got);
    kiln_array_release(y);
    kiln_array_release(count);
    drop(&x);
    drop(&mask);
}

static void test_filter__masks_choose_elements_of_every_dtype(void **state)
{
    test_env *t = *state;
    static const unsigned zeros[] = {0, 1, 50, 99, 100};
    const layout *const of = &layouts[5];

    for (size_t d = 0; d < COUNT(dtypes); d++)
        if (test_drawn(t))
            check_compress(t, of, of, dtypes[d], zeros[d % COUNT(zeros)], d % 2 == 0);
}

static void test_filter__masks_choose_elements_of_every_layout(void **state)
{
    test_env *t = *state;
    static const kiln_dtype some[] = {KILN_INT8, KILN_FLOAT32, KILN_COMPLEX128};

    for (size_t k = 0; k < COUNT(layouts); k++) {
        const layout dense = dense_like(&layouts[k]);
        if (test_drawn(t))
            check_compress(t, &layouts[k], &dense, some[k % COUNT(some)], 50, true);
        if (test_drawn(t))
            check_compress(t, &dense, &layouts[k], some[(k + 1) % COUNT(some)], 30, false);
        if (test_drawn(t))
            check_compress(t, &layouts[k], &layouts[k], KILN_FLOAT32, 90, false);
    }
}

static void test_filter__random_masks(void **state)
{
    test_env *t = *state;

    for (int turn = 0; turn < 12; turn++) {
        const int64_t n = (int64_t)test_random_below(t, 1u << test_random_below(t, 17));
        const layout of = {"random", 1, {n}, {1}, 0, n + 1};
        const layout mask_of = {"random", 1, {n}, {2}, 1, 2 * n + 2};
        check_compress(t, &of, test_random_below(t, 2) == 0 ? &of : &mask_of,
                       dtypes[test_random_below(t, COUNT(dtypes))],
                       (unsigned)test_random_below(t, 101), false);
    }
}

/* A mask of the first axes takes what lies behind them as a whole. */
static void test_filter__masks_of_rows(void **state)
{
    test_env *t = *state;
    static const layout of[] = {{"rows", 3, {50, 4, 3}, {12, 3, 1}, 0, 600},
                                {"turned rows", 3, {50, 4, 3}, {1, 50, 200}, 0, 600},
                                {"empty rows", 3, {50, 4, 0}, {1, 1, 1}, 0, 1}};

    for (size_t k = 0; k < COUNT(of); k++) {
        for (int axes = 1; axes <= 2; axes++) {
            layout mask_of = dense_like(&of[0]);
            mask_of.rank = axes;
            mask_of.stride[0] = axes == 2 ? 4 : 1;
            mask_of.stride[1] = 1;
            sample x = make(t, &of[k], KILN_FLOAT64, 20), mask = make(t, &mask_of, KILN_BOOL, 50);
            kiln_array *y = NULL, *count = NULL;
            const int64_t width = of[k].shape[2] * (axes == 1 ? 4 : 1);
            int64_t kept = 0, number;

            OK(t, kiln_array_compress(x.array, mask.array, &y, k == 1 ? NULL : &count, &t->err));
            assert_int_equal(kiln_array_rank(y), 4 - axes);
            unsigned char *const got = read_first(t, y, count, &number);
            for (int64_t row = 0; row < size_of(&mask_of); row++) {
                if (is_zero(&mask, row))
                    continue;
                for (int64_t c = 0; c < width; c++)
                    assert_memory_equal(got + 8 * (kept * width + c), element(&x, row * width + c),
                                        8);
                kept++;
            }
            assert_int_equal(kept, number);
            free(got);
            kiln_array_release(y);
            kiln_array_release(count);
            drop(&x);
            drop(&mask);
        }
    }
}

/* ---- places ---- */

static void check_places(test_env *t, const layout *of, kiln_dtype dtype, unsigned zeros)
{
    sample x = make(t, of, dtype, zeros);
    kiln_array *flat = NULL, *rows = NULL, *count = NULL, *axis[RANK] = {NULL};
    int64_t number, same, *along[RANK] = {NULL};

    OK(t, kiln_array_flatnonzero(x.array, &flat, &count, &t->err));
    int64_t *const places = read_first(t, flat, count, &number);
    kiln_array_release(count);
    count = NULL;
    OK(t, kiln_array_argwhere(x.array, &rows, &count, &t->err));
    int64_t *const table = read_first(t, rows, count, &same);
    assert_int_equal(same, number);
    OK(t, kiln_array_nonzero(x.array, axis, NULL, &t->err));
    for (int a = 0; a < of->rank; a++) {
        along[a] = read_first(t, axis[a], NULL, &same);
        assert_int_equal(same, number);
    }
    int64_t found = 0;
    for (int64_t k = 0; k < size_of(of); k++) {
        if (is_zero(&x, k))
            continue;
        assert_true(found < number);
        assert_int_equal(places[found], k);
        int64_t rest = k;
        for (int a = of->rank - 1; a >= 0; a--) {
            assert_int_equal(table[found * of->rank + a], rest % of->shape[a]);
            assert_int_equal(along[a][found], rest % of->shape[a]);
            rest /= of->shape[a];
        }
        found++;
    }
    assert_int_equal(found, number);
    for (int a = 0; a < of->rank; a++) {
        free(along[a]);
        kiln_array_release(axis[a]);
    }
    free(places);
    free(table);
    kiln_array_release(flat);
    kiln_array_release(rows);
    kiln_array_release(count);
    drop(&x);
}

static void test_filter__places_of_what_is_not_zero(void **state)
{
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(layouts); k++)
        if (layouts[k].rank > 0 && test_drawn(t))
            check_places(t, &layouts[k], dtypes[(5 * k) % COUNT(dtypes)], 60);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        if (test_drawn(t))
            check_places(t, &layouts[8], dtypes[d], 30);
}

/* -0 is zero, NaN is not; of complex numbers either part counts. */
static void test_filter__signed_zeros_and_nan(void **state)
{
    test_env *t = *state;
    const float numbers[] = {-0.0f, 0, 1e-45f, -1, 0, 0, 0, 2};
    float parts[8];
    const uint32_t nan = 0x7fc00000u;
    const int64_t eight[] = {8}, four[] = {4};
    kiln_array *x = NULL, *z = NULL, *flat = NULL;
    int64_t number;

    memcpy(parts, numbers, sizeof parts);
    memcpy(&parts[4], &nan, sizeof nan);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, eight, parts, NULL, &x, &t->err));
    OK(t, kiln_array_flatnonzero(x, &flat, NULL, &t->err));
    int64_t *places = read_first(t, flat, NULL, &number);
    assert_int_equal(number, 4);
    assert_memory_equal(places, ((int64_t[]){2, 3, 4, 7}), 4 * sizeof(int64_t));
    free(places);
    kiln_array_release(flat);
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX64, 1, four, parts, NULL, &z, &t->err));
    OK(t, kiln_array_flatnonzero(z, &flat, NULL, &t->err));
    places = read_first(t, flat, NULL, &number);
    assert_int_equal(number, 3);
    assert_memory_equal(places, ((int64_t[]){1, 2, 3}), 3 * sizeof(int64_t));
    free(places);
    kiln_array_release(flat);
    kiln_array_release(x);
    kiln_array_release(z);
}

/* ---- conditions of one's own ---- */

/* Two inputs, one of them broadcast, two outputs of different dtypes, a number, `i` and `n`; dropped
 * elements would divide by zero. */
static void test_filter__conditions_in_text(void **state)
{
    test_env *t = *state;
    enum { ROWS = 50, COLUMNS = 61 };
    int32_t x[ROWS][COLUMNS], row[COLUMNS];
    const int64_t shape[] = {ROWS, COLUMNS}, columns[] = {COLUMNS};
    kiln_filter *op = NULL;
    kiln_array *a = NULL, *b = NULL, *quotients = NULL, *places = NULL, *count = NULL;
    int64_t number, same, kept = 0;

    for (int c = 0; c < COLUMNS; c++)
        row[c] = (int32_t)test_random_below(t, 4);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            x[r][c] = (int32_t)test_random_below(t, 100) - 50;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, x, NULL, &a, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, columns, row, NULL, &b, &t->err));
    OK(t, kiln_filter_create(t->ctx, "int32 x, int32 y, int32 least",
                             "int32 q, int64 from_end, int64 count",
                             "y != 0 && x > least && i % 2 == 0", "q = x / y; from_end = n - i",
                             NULL, &op, &t->err));
    const kiln_arg args[] = {kiln_arg_array(a),        kiln_arg_array(b),     kiln_arg_int(-20),
                             kiln_arg_out(&quotients), kiln_arg_out(&places), kiln_arg_out(&count)};
    OK(t, kiln_filter_run(op, args, COUNT(args), NULL, &t->err));
    int32_t *const q = read_first(t, quotients, count, &number);
    int64_t *const from_end = read_first(t, places, count, &same);
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        const int32_t above = x[k / COLUMNS][k % COLUMNS], below = row[k % COLUMNS];
        if (below == 0 || above <= -20 || k % 2 != 0)
            continue;
        assert_true(kept < number);
        assert_int_equal(q[kept], above / below);
        assert_int_equal(from_end[kept], ROWS * COLUMNS - k);
        kept++;
    }
    assert_int_equal(kept, number);
    free(q);
    free(from_end);
    kiln_array_release(quotients);
    kiln_array_release(places);
    kiln_array_release(count);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_filter_destroy(op);
}

/* What the device knows goes on as an input: a filter of what a filter kept, and a sum, without a wait. */
static void test_filter__counts_are_inputs(void **state)
{
    test_env *t = *state;
    enum { N = 30000 };
    const int64_t shape[] = {N};
    int32_t *const x = malloc(N * sizeof *x);
    kiln_filter *op = NULL, *again = NULL;
    kiln_array *a = NULL, *y = NULL, *z = NULL, *first = NULL, *second = NULL;
    int64_t number, kept = 0;

    assert_non_null(x);
    for (int k = 0; k < N; k++)
        x[k] = (int32_t)test_random_below(t, 1000);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, x, NULL, &a, &t->err));
    OK(t, kiln_filter_create(t->ctx, "T x", "T y, int64 count", "x % 2 == 0", "y = x", NULL, &op,
                             &t->err));
    OK(t, kiln_filter_create(t->ctx, "T x, int64 before", "T y, int64 count",
                             "i < before && x % 3 == 0", "y = x / 3", NULL, &again, &t->err));
    const kiln_arg one[] = {kiln_arg_array(a), kiln_arg_out(&y), kiln_arg_out(&first)};
    OK(t, kiln_filter_run(op, one, COUNT(one), NULL, &t->err));
    const kiln_arg two[] = {kiln_arg_array(y), kiln_arg_array(first), kiln_arg_out(&z),
                            kiln_arg_out(&second)};
    OK(t, kiln_filter_run(again, two, COUNT(two), NULL, &t->err));
    int32_t *const got = read_first(t, z, second, &number);
    for (int k = 0; k < N; k++) {
        if (x[k] % 6 != 0)
            continue;
        assert_true(kept < number);
        assert_int_equal(got[kept], x[k] / 3);
        kept++;
    }
    assert_int_equal(kept, number);
    free(got);
    free(x);
    kiln_array_release(a);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_array_release(first);
    kiln_array_release(second);
    kiln_filter_destroy(op);
    kiln_filter_destroy(again);
}

/* Results so wide that what is kept of a tile is written in several rounds. */
static void test_filter__wide_results(void **state)
{
    test_env *t = *state;
    enum { N = 5000, OUTPUTS = 5 };
    const layout of = {"wide", 1, {N}, {1}, 0, N};
    sample x = make(t, &of, KILN_COMPLEX128, 10);
    kiln_array *y[OUTPUTS] = {NULL}, *count = NULL;
    kiln_filter *op = NULL;
    kiln_arg args[OUTPUTS + 2] = {kiln_arg_array(x.array)};

    for (int k = 0; k < OUTPUTS; k++)
        args[1 + k] = kiln_arg_out(&y[k]);
    args[OUTPUTS + 1] = kiln_arg_out(&count);
    OK(t, kiln_filter_create(t->ctx, "T x", "T a, T b, T c, T d, T e, int64 count",
                             "x.real() != 0 || x.imag() != 0", "a = x; b = x; c = x; d = x; e = x",
                             NULL, &op, &t->err));
    OK(t, kiln_filter_run(op, args, COUNT(args), NULL, &t->err));
    for (int k = 0; k < OUTPUTS; k++) {
        int64_t number, kept = 0;
        unsigned char *const got = read_first(t, y[k], count, &number);
        for (int64_t e = 0; e < N; e++) {
            if (is_zero(&x, e))
                continue;
            assert_true(kept < number);
            assert_memory_equal(got + 16 * kept, element(&x, e), 16);
            kept++;
        }
        assert_int_equal(kept, number);
        free(got);
        kiln_array_release(y[k]);
    }
    kiln_array_release(count);
    kiln_filter_destroy(op);
    drop(&x);
}

/* A prepared launch runs again and again; a filter without outputs counts; an output may be its input. */
static void test_filter__prepared_counting_and_in_place(void **state)
{
    test_env *t = *state;
    const int32_t x[] = {4, -1, 0, 7, -3, 9};
    int32_t got[6];
    const int64_t shape[] = {6};
    kiln_filter *op = NULL, *counts = NULL;
    kiln_array *a = NULL, *count = NULL;
    kiln_launch *launch = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, x, NULL, &a, &t->err));
    OK(t, kiln_filter_create(t->ctx, "T x", "int64 count", "x > 0", "", NULL, &counts, &t->err));
    OK(t,
       kiln_filter_create(t->ctx, "T x", "T y, int64 count", "x > 0", "y = x", NULL, &op, &t->err));
    const kiln_arg args[] = {kiln_arg_array(a), kiln_arg_out(&count)};
    OK(t, kiln_filter_prepare(counts, args, COUNT(args), NULL, &launch, &t->err));
    for (int turn = 0; turn < 3; turn++) {
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        assert_int_equal(read_number(t, count), 3);
    }
    kiln_launch_destroy(launch);
    const kiln_arg same[] = {kiln_arg_array(a), kiln_arg_array(a), kiln_arg_array(count)};
    OK(t, kiln_filter_run(op, same, COUNT(same), NULL, &t->err));
    OK(t, kiln_array_to_host(a, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((int32_t[]){4, 7, 9}), 3 * sizeof got[0]);
    kiln_array_release(a);
    kiln_array_release(count);
    kiln_filter_destroy(op);
    kiln_filter_destroy(counts);
}

/* ---- x[mask] = values ---- */

static void check_place(test_env *t, const layout *of, kiln_dtype dtype, int64_t many)
{
    const layout mask_of = dense_like(of), values_of = {"values", 1, {many}, {1}, 0, many};
    sample x = make(t, of, dtype, 20), mask = make(t, &mask_of, KILN_BOOL, 40);
    sample values = make(t, &values_of, dtype, 0);
    const size_t bytes = (size_t)of->room * x.itemsize;
    unsigned char *const got = malloc(bytes);
    int64_t next = 0;

    assert_non_null(got);
    OK(t, kiln_array_place(x.array, mask.array, values.array, &t->err));
    OK(t, kiln_array_to_host(x.whole, got, bytes, NULL, &t->err));
    for (int64_t k = 0; k < size_of(of); k++)
        if (!is_zero(&mask, k))
            memcpy(x.bytes + (element(&x, k) - x.bytes), element(&values, next++ % many),
                   x.itemsize);
    assert_memory_equal(got, x.bytes, bytes);
    free(got);
    drop(&x);
    drop(&mask);
    drop(&values);
}

static void test_filter__values_are_placed(void **state)
{
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(layouts); k++)
        if (strstr(layouts[k].name, "for all") == NULL && test_drawn(t))
            check_place(t, &layouts[k], dtypes[(3 * k) % COUNT(dtypes)], k % 2 == 0 ? 5 : 100000);
    for (size_t d = 0; d < COUNT(dtypes); d++)
        if (test_drawn(t))
            check_place(t, &layouts[4], dtypes[d], 1);
}

/* ---- what is refused ---- */

static void test_filter__bad_input(void **state)
{
    test_env *t = *state;
    static const layout six = {"six", 1, {6}, {1}, 0, 6},
                        two_by_three = {"2x3", 2, {2, 3}, {3, 1}, 0, 6},
                        scalar = {"scalar", 0, {0}, {0}, 0, 1},
                        seven = {"seven", 1, {7}, {1}, 0, 7};
    sample x = make(t, &six, KILN_FLOAT32, 0), mask = make(t, &six, KILN_BOOL, 50);
    sample wide = make(t, &two_by_three, KILN_BOOL, 50), one = make(t, &scalar, KILN_INT64, 0);
    sample longer = make(t, &seven, KILN_BOOL, 50);
    kiln_array *y = NULL, *count = NULL;
    kiln_filter *op = NULL;

    FAILS(t, KILN_ERR_DTYPE, kiln_array_compress(x.array, x.array, &y, NULL, &t->err),
          "a mask is of bool, not of float32");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_compress(x.array, longer.array, &y, &count, &t->err),
          "along axis 0: 7 elements, and the array has 6");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_compress(x.array, wide.array, &y, &count, &t->err),
          "the mask has 2 axes, the array has 1");
    FAILS(t, KILN_ERR_NULL, kiln_array_compress(x.array, mask.array, NULL, NULL, &t->err), "outs");
    FAILS(t, KILN_ERR_AXIS, kiln_array_nonzero(one.array, &y, NULL, &t->err), "has no positions");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_first(x.array, x.array, &y, &t->err),
          "a count is one int64, not float32");
    FAILS(t, KILN_ERR_AXIS, kiln_array_first(one.array, one.array, &y, &t->err), "without axes");
    FAILS(t, KILN_ERR_RANGE, kiln_array_first(x.array, one.array, &y, &t->err),
          "there are 6 values");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_place(x.array, mask.array, mask.array, &t->err),
          "values of bool cannot be placed into float32");
    assert_null(y);
    assert_null(count);
    FAILS(t, KILN_ERR_SYNTAX,
          kiln_filter_create(t->ctx, "T x", "T y", "x > 0", "y = x", NULL, &op, &t->err),
          "the number of elements kept");
    FAILS(t, KILN_ERR_SYNTAX,
          kiln_filter_create(t->ctx, "T x", "int32 n", "x > 0", "", NULL, &op, &t->err),
          "and not `n`");
    FAILS(t, KILN_ERR_NULL,
          kiln_filter_create(t->ctx, "T x", "T y, int64 n", NULL, "y = x", NULL, &op, &t->err),
          "where expression");
    assert_null(op);
    OK(t, kiln_filter_create(t->ctx, "T x", "T y, int64 m", "x >", "y = x", NULL, &op, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_out(&y), kiln_arg_out(&count)};
    FAILS(t, KILN_ERR_COMPILE, kiln_filter_run(op, args, COUNT(args), NULL, &t->err), "where");
    const kiln_arg shorter[] = {kiln_arg_array(x.array), kiln_arg_array(one.array),
                                kiln_arg_out(&count)};
    kiln_filter_destroy(op);
    OK(t, kiln_filter_create(t->ctx, "T x", "U y, int64 m", "x > 0", "y = 0", NULL, &op, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_filter_run(op, shorter, COUNT(shorter), NULL, &t->err),
          "the result has (6,)");
    kiln_filter_destroy(op);
    drop(&x);
    drop(&mask);
    drop(&wide);
    drop(&one);
    drop(&longer);
}

/* A mask without axes gives one more axis than the array has. */
static void test_filter__masks_without_axes_need_an_axis(void **state)
{
    test_env *t = *state;
    int64_t shape[KILN_RANK_MAX];
    kiln_array *x = NULL, *mask = NULL, *y = NULL;

    for (int a = 0; a < KILN_RANK_MAX; a++)
        shape[a] = 1;
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, KILN_RANK_MAX, shape, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 0, NULL, &(bool){true}, NULL, &mask, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_compress(x, mask, &y, NULL, &t->err),
          "the result would have 33 axes; 32 are allowed");
    assert_null(y);
    kiln_array_release(x);
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, KILN_RANK_MAX - 1, shape, &x, &t->err));
    OK(t, kiln_array_compress(x, mask, &y, NULL, &t->err));
    assert_int_equal(kiln_array_rank(y), KILN_RANK_MAX);
    assert_int_equal(kiln_array_size(y), 1);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(mask);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_filter__masks_choose_elements_of_every_dtype),
        TEST(test_filter__masks_choose_elements_of_every_layout),
        TEST(test_filter__random_masks),
        TEST(test_filter__masks_of_rows),
        TEST(test_filter__places_of_what_is_not_zero),
        TEST(test_filter__signed_zeros_and_nan),
        TEST(test_filter__conditions_in_text),
        TEST(test_filter__counts_are_inputs),
        TEST(test_filter__wide_results),
        TEST(test_filter__prepared_counting_and_in_place),
        TEST(test_filter__values_are_placed),
        TEST(test_filter__bad_input),
        TEST(test_filter__masks_without_axes_need_an_axis),
    };
    return test_env_main(argc, argv, "test_filter", tests, COUNT(tests));
}
