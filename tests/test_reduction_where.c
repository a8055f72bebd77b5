/*
 * test_reduction_where.c - the options of a call: a mask, a start value, ddof; outputs of another
 * dtype; dot.
 *
 * Expected values come from plain loops over small whole numbers, or from NumPy where the command
 * stands beside them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/reduce.h"

#define AXES(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    } /* axis numbers + 1, slowest first */

/* ---- masks: a table of operations over every set of axes ---- */

/* What one result is made of: values that count, and how many do not. */
typedef struct chosen {
    double *value;
    size_t count, all;
} chosen;

typedef double (*fold)(const chosen *c);

static double sum_of(const chosen *c)
{
    double sum = 0;
    for (size_t k = 0; k < c->count; k++)
        sum += c->value[k];
    return sum;
}

static double mean_of(const chosen *c)
{
    return sum_of(c) / (double)c->count;
}

static double squares_of(const chosen *c)
{
    double sum = 0, mean = mean_of(c);
    for (size_t k = 0; k < c->count; k++)
        sum += (c->value[k] - mean) * (c->value[k] - mean);
    return sum;
}

static double var_of(const chosen *c)
{
    return squares_of(c) / (double)c->count;
}

/* ddof 1, as the table of calls asks for. */
static double std1_of(const chosen *c)
{
    return sqrt(squares_of(c) / (c->count > 1 ? (double)c->count - 1 : 0.0));
}

static double least_of(const chosen *c)
{
    double least = 4; /* `initial` */
    for (size_t k = 0; k < c->count; k++)
        least = c->value[k] < least ? c->value[k] : least;
    return least;
}

static double sum_and_ten_of(const chosen *c)
{
    return sum_of(c) + 10;
}

static double count_of(const chosen *c)
{
    double count = 0;
    for (size_t k = 0; k < c->count; k++)
        count += c->value[k] != 0;
    return count;
}

static double all_of(const chosen *c)
{
    return count_of(c) == (double)c->count;
}

static const struct {
    kiln_reduce_op op;
    fold want;
    bool has_initial;
    int64_t initial;
    double ddof;
} calls[] = {
    {KILN_REDUCE_SUM, sum_of, false, 0, 0},
    {KILN_REDUCE_SUM, sum_and_ten_of, true, 10, 0},
    {KILN_REDUCE_MEAN, mean_of, false, 0, 0},
    {KILN_REDUCE_VAR, var_of, false, 0, 0},
    {KILN_REDUCE_STD, std1_of, false, 0, 1},
    {KILN_REDUCE_NANSTD, std1_of, false, 0, 1},
    {KILN_REDUCE_MIN, least_of, true, 4, 0},
    {KILN_REDUCE_COUNT_NONZERO, count_of, false, 0, 0},
    {KILN_REDUCE_ALL, all_of, false, 0, 0},
};

static void next(int rank, const int64_t *shape, int64_t *at)
{
    for (int a = rank - 1; a >= 0; a--) {
        if (++at[a] < shape[a])
            return;
        at[a] = 0;
    }
}

/* The values of result `result` that the mask leaves; `room` holds all elements. */
static chosen choose(const host_array *x, const host_array *mask, unsigned axes, int64_t result,
                     double *room)
{
    int64_t at[KILN_RANK_MAX] = {0};
    chosen c = {room, 0, 0};

    for (int64_t k = 0; k < host_size(x); k++, next(x->rank, x->shape, at)) {
        int64_t own = 0;
        for (int a = 0; a < x->rank; a++)
            own = axes >> a & 1u ? own : own * x->shape[a] + at[a];
        if (own != result)
            continue;
        c.all++;
        if (mask == NULL || *(bool *)host_broadcast_at(mask, x->rank, at))
            c.value[c.count++] = (double)host_load(x->dtype, host_at(x, k)).re;
    }
    return c;
}

static bool near_enough(double got, double want)
{
    return isnan(want) ? isnan(got) : got == want || fabs(got - want) <= 1e-5 * fabs(want);
}

static void check_call(test_env *t, size_t k, const host_array *x, const host_array *mask,
                       unsigned axes)
{
    static double room[20000];
    const kiln_axes list = host_axes(axes);
    const kiln_arg initial = kiln_arg_int(calls[k].initial);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *y = NULL;
    static unsigned char bytes[20000 * 8];

    options.axes = &list;
    options.keepdims = axes % 2 == 1;
    options.where = mask != NULL ? mask->array : NULL;
    options.initial = calls[k].has_initial ? &initial : NULL;
    options.ddof = calls[k].ddof;
    OK(t, kiln_array_reduce_with(calls[k].op, x->array, &options, &y, &t->err));
    OK(t, kiln_array_to_host(y, bytes, sizeof bytes, NULL, &t->err));
    for (int64_t r = 0; r < kiln_array_size(y); r++) {
        const kiln_dtype dtype = kiln_array_dtype(y);
        const double got = (double)host_load(dtype, bytes + (size_t)r * kiln_dtype_size(dtype)).re;
        const chosen c = choose(x, mask, axes, r, room);

        CHECK(near_enough(got, calls[k].want(&c)), "%s, row %zu, axes %#x, result %lld: %g, not %g",
              kiln_reduce_op_name(calls[k].op), k, axes, (long long)r, got, calls[k].want(&c));
    }
    kiln_array_release(y);
}

static void fill_mask(test_env *t, host_array *mask, unsigned salt)
{
    for (int64_t k = 0; k < host_size(mask); k++)
        *(bool *)host_at(mask, k) = (k * 7 + salt) % 5 < 3;
    host_send(t, mask);
}

static void check_dtype(test_env *t, kiln_dtype dtype, const host_layout *layout)
{
    const int64_t shape[] = {6, 5, 40}, long_row[] = {2, 3001}, column[] = {6, 1, 40};
    host_array x, mask, wide, narrow;

    host_make(t, &x, dtype, 3, shape, layout);
    host_make(t, &mask, KILN_BOOL, 3, shape, NULL);
    host_make(t, &narrow, KILN_BOOL, 3, column, NULL);
    fill_mask(t, &mask, 1);
    fill_mask(t, &narrow, 2);
    for (size_t k = 0; k < COUNT(calls); k++) {
        if (!test_drawn(t))
            continue;
        check_call(t, k, &x, &mask, 7);
        check_call(t, k, &x, &mask, 4);
        check_call(t, k, &x, &narrow, 1);
        check_call(t, k, &x, &narrow, 5);
    }
    host_free(&x);
    host_free(&mask);
    host_make(t, &x, dtype, 2, long_row, NULL);
    host_make(t, &wide, KILN_BOOL, 1, long_row + 1, NULL);
    fill_mask(t, &wide, 3);
    for (size_t k = 0; k < 4; k++)
        check_call(t, k, &x, &wide, 2);
    check_call(t, 1, &x, NULL, 2);
    check_call(t, 4, &x, NULL, 2);
    check_call(t, 6, &x, NULL, 2);
    host_free(&x);
    host_free(&wide);
    host_free(&narrow);
}

static void test_reduction_where__named_reductions_of_float32(void **state)
{
    check_dtype(*state, KILN_FLOAT32, NULL);
}

static void test_reduction_where__named_reductions_of_int16_permuted(void **state)
{
    check_dtype(*state, KILN_INT16, &(host_layout){.order = AXES(2, 3, 1), .step = {-1}});
}

/* ---- custom definitions ---- */

static kiln_reduction *create(test_env *t, const char *in, const char *out, const char *map,
                              const char *reduce, const char *identity)
{
    kiln_reduction *op = NULL;

    OK(t, kiln_reduction_create(t->ctx, in, out, map, reduce, "y = a", identity, NULL, &op,
                                &t->err));
    return op;
}

static double reduce_all(test_env *t, kiln_reduction *op, const kiln_array *x,
                         const kiln_array *where, const kiln_arg *initial)
{
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *y = NULL;
    double got = 0;

    options.where = where;
    options.initial = initial;
    OK(t, kiln_reduction_run(op, KILN_ARGS(x, &y), &options, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    kiln_array_release(y);
    return got;
}

static void test_reduction_where__custom_definitions(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {7};
    const bool mask[] = {true, false, true, true, false, false, true};
    const kiln_arg ten = kiln_arg_int(10), half = kiln_arg_float(0.5);
    kiln_reduction *squares = create(t, "T x", "float64 y", "x * x", "a + b", "0");
    kiln_reduction *most = create(t, "T x", "float64 y", "x", "a > b ? a : b", "");
    kiln_array *x = NULL, *where = NULL, *none = NULL, *empty = NULL;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 1, 8, 1, &x, &t->err)); /* 1 to 7 */
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 1, shape, mask, NULL, &where, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_BOOL, 1, shape, &none, &t->err));
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 1, (int64_t[]){0}, &empty, &t->err));
    assert_true(reduce_all(t, squares, x, NULL, NULL) == 140);
    assert_true(reduce_all(t, squares, x, where, NULL) == 1 + 9 + 16 + 49);
    assert_true(reduce_all(t, squares, x, where, &ten) == 85);
    assert_true(reduce_all(t, squares, x, NULL, &half) == 140.5);
    assert_true(reduce_all(t, squares, x, none, NULL) == 0);
    assert_true(reduce_all(t, most, x, NULL, NULL) == 7);
    assert_true(reduce_all(t, most, x, NULL, &ten) == 10);
    assert_true(reduce_all(t, most, x, where, &half) == 7);
    assert_true(reduce_all(t, most, x, none, &half) == 0.5);
    assert_true(reduce_all(t, most, empty, NULL, &ten) == 10);
    kiln_array_release(x);
    kiln_array_release(where);
    kiln_array_release(none);
    kiln_array_release(empty);
    kiln_reduction_destroy(squares);
    kiln_reduction_destroy(most);
}

/* What NumPy gives for a single element `x` that a mask lets through or not, beside `initial`:
 * np.nanmax(x, where=mask, initial=2) is max(x, 2) where x is there and a number, else 2. */
static double one_element(kiln_reduce_op op, double x, bool mask)
{
    const bool nan_ignored = op == KILN_REDUCE_NANMIN || op == KILN_REDUCE_NANMAX ||
                             op == KILN_REDUCE_NANSUM || op == KILN_REDUCE_NANPROD;
    if (!mask || (isnan(x) && nan_ignored))
        return 2;
    switch (op) {
    case KILN_REDUCE_SUM:
    case KILN_REDUCE_NANSUM:
        return 2 + x;
    case KILN_REDUCE_PROD:
    case KILN_REDUCE_NANPROD:
        return 2 * x;
    case KILN_REDUCE_MIN:
    case KILN_REDUCE_NANMIN:
        return isnan(x) || x < 2 ? x : 2;
    default:
        return isnan(x) || x > 2 ? x : 2;
    }
}

/* One array without axes, all of its masks and values, beside `initial`. */
static void check_one_element(test_env *t, kiln_reduce_op op, kiln_dtype dtype, int rank)
{
    static const double values[] = {-3, 5, NAN};
    const kiln_arg two = kiln_arg_int(2);
    for (int k = 0; k < 6; k++) {
        const double value = values[k % 3];
        const bool mask = k >= 3;
        kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
        kiln_array *wide = NULL, *x = NULL, *where = NULL, *y = NULL, *back = NULL;
        double got = 0;
        if (isnan(value) && kiln_dtype_kind(dtype) != 'f')
            continue;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, (int64_t[]){1}, &value, NULL, &wide,
                                   &t->err));
        OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
        OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, rank, (int64_t[]){1}, &mask, NULL, &where,
                                   &t->err));
        options.where = where;
        options.initial = &two;
        OK(t, kiln_array_reduce_with(op, x, &options, &y, &t->err));
        assert_int_equal(kiln_array_rank(y), 0);
        OK(t, kiln_array_cast(y, KILN_FLOAT64, &back, &t->err));
        OK(t, kiln_array_to_host(back, &got, sizeof got, NULL, &t->err));
        const double want = one_element(op, value, mask);
        CHECK(got == want || (isnan(got) && isnan(want)), "%s of %s, rank %d: %g of %g, not %g",
              kiln_reduce_op_name(op), kiln_dtype_name(dtype), rank, got, value, want);
        kiln_array_release(wide);
        kiln_array_release(x);
        kiln_array_release(where);
        kiln_array_release(y);
        kiln_array_release(back);
    }
}

static void test_reduction_where__one_element_with_mask_and_initial(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT16, KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT32,
                                        KILN_FLOAT64};
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM,    KILN_REDUCE_PROD,   KILN_REDUCE_MIN,
                                         KILN_REDUCE_MAX,    KILN_REDUCE_NANSUM, KILN_REDUCE_NANPROD,
                                         KILN_REDUCE_NANMIN, KILN_REDUCE_NANMAX};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t o = 0; o < COUNT(ops); o++)
            for (int rank = 0; rank < 2 && test_drawn(*state); rank++)
                check_one_element(*state, ops[o], dtypes[d], rank);
}

static void test_reduction_where__options_that_are_refused(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3}, longer[] = {2, 3};
    const kiln_arg big = kiln_arg_int(1000), half = kiln_arg_float(0.5);
    kiln_reduction *sum = create(t, "T x", "T y", "x", "a + b", "0");
    kiln_reduction *most = create(t, "T x", "T y", "x", "a > b ? a : b", NULL);
    kiln_array *x = NULL, *mask = NULL, *wide = NULL, *number = NULL, *y = NULL;
    kiln_reduction_call_options where = KILN_REDUCTION_CALL_OPTIONS_INIT,
                                start = KILN_REDUCTION_CALL_OPTIONS_INIT,
                                ddof = KILN_REDUCTION_CALL_OPTIONS_INIT;
    const kiln_arg array = kiln_arg_array(NULL);

    OK(t, kiln_array_ones(t->ctx, KILN_INT8, 1, shape, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_BOOL, 1, shape, &mask, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_BOOL, 2, longer, &wide, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_UINT8, 1, shape, &number, &t->err));
    where.where = number;
    FAILS(t, KILN_ERR_DTYPE, kiln_reduction_run(sum, KILN_ARGS(x, &y), &where, &t->err), "`where`",
          "uint8");
    where.where = wide;
    FAILS(t, KILN_ERR_SHAPE, kiln_reduction_run(sum, KILN_ARGS(x, &y), &where, &t->err), "`where`",
          "(2, 3)", "(3,)");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_reduce_with(KILN_REDUCE_SUM, x, &where, &y, &t->err),
          "`where`");
    where.where = mask;
    FAILS(t, KILN_ERR_IDENTITY, kiln_reduction_run(most, KILN_ARGS(x, &y), &where, &t->err),
          "`where`", "identity");
    FAILS(t, KILN_ERR_IDENTITY, kiln_array_reduce_with(KILN_REDUCE_MIN, x, &where, &y, &t->err),
          "min", "`initial`");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_reduce_with(KILN_REDUCE_ARGMAX, x, &where, &y, &t->err),
          "argmax", "`where`");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_reduction_run(sum, KILN_ARGS(x), &where, &t->err), "2",
          "1");
    FAILS(t, KILN_ERR_DTYPE, kiln_reduction_run(sum, KILN_ARGS(x, number), &where, &t->err),
          "argument 2 (`y`)"); /* as the caller counts */
    start.initial = &big;
    FAILS(t, KILN_ERR_RANGE, kiln_reduction_run(sum, KILN_ARGS(x, &y), &start, &t->err), "`initial`",
          "1000");
    start.initial = &half;
    FAILS(t, KILN_ERR_RANGE, kiln_array_reduce_with(KILN_REDUCE_SUM, x, &start, &y, &t->err),
          "`initial`");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_reduce_with(KILN_REDUCE_MEAN, x, &start, &y, &t->err),
          "mean", "`initial`");
    start.initial = &array;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_reduction_run(sum, KILN_ARGS(x, &y), &start, &t->err),
          "`initial`");
    ddof.ddof = 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_reduction_run(sum, KILN_ARGS(x, &y), &ddof, &t->err), "ddof");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_reduce_with(KILN_REDUCE_MEAN, x, &ddof, &y, &t->err),
          "mean", "ddof");
    assert_null(y);
    kiln_array_release(x);
    kiln_array_release(mask);
    kiln_array_release(wide);
    kiln_array_release(number);
    kiln_reduction_destroy(sum);
    kiln_reduction_destroy(most);
}

/* NumPy 2.4: np.var(np.arange(3.), ddof=d) for d in 0, 0.5, 1, 2, 3, 4 is 2/3, 0.8, 1, 2, inf, inf;
 * np.var([1.], ddof=1) is nan. */
static void test_reduction_where__degrees_of_freedom(void **state)
{
    static const double ddofs[] = {0, 0.5, 1, 2, 3, 4};
    static const double wants[] = {2.0 / 3, 0.8, 1, 2, INFINITY, INFINITY};
    test_env *t = *state;
    kiln_array *x = NULL, *one = NULL;
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 3, 1, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 1, (int64_t[]){1}, &one, &t->err));
    for (size_t k = 0; k < COUNT(ddofs); k++) {
        kiln_array *y = NULL;
        double got = 0;

        options.ddof = ddofs[k];
        OK(t, kiln_array_reduce_with(KILN_REDUCE_VAR, x, &options, &y, &t->err));
        OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
        CHECK(near_enough(got, wants[k]), "ddof %g: %g", ddofs[k], got);
        OK(t, kiln_array_reduce_with(KILN_REDUCE_VAR, one, &options, &y, &t->err));
        OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
        CHECK(ddofs[k] < 1 ? got == 0 : isnan(got), "ddof %g: %g", ddofs[k], got);
        kiln_array_release(y);
    }
    kiln_array_release(x);
    kiln_array_release(one);
}

/* ---- outputs of another dtype ---- */

static void test_reduction_where__outputs_of_other_dtypes(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {100001};
    kiln_array *x = NULL, *small = NULL, *y = NULL;
    double wide = 0;
    float narrow = 0;
    float complex_parts[2] = {0};
    uint16_t position = 0;
    int32_t whole = 0;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 1, shape, 0.1, &x, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_INT8, 1, shape, -3, &small, &t->err));
    /* float64: accumulated so, and exact to a few units of float64 where float32 has 7 digits. */
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 0, NULL, &y, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &wide, sizeof wide, NULL, &t->err));
    CHECK(fabs(wide - 100001 * (double)0.1f) < 1e-9 * wide, "%.17g", wide);
    /* A bool result, a count, a sum of integers: numbers in a more general kind. */
    OK(t, kiln_array_reduce(KILN_REDUCE_ANY, x, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &wide, sizeof wide, NULL, &t->err));
    assert_true(wide == 1);
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, small, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &wide, sizeof wide, NULL, &t->err));
    CHECK(wide == -300003, "%g", wide);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_reduce(KILN_REDUCE_ARGMAX, x, NULL, false, &y, &t->err),
          "argmax", "int64", "float64");
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_empty(t->ctx, KILN_INT32, 0, NULL, &y, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, small, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &whole, sizeof whole, NULL, &t->err));
    assert_int_equal(whole, -300003);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y, &t->err), "sum",
          "float32", "int32");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_reduce(KILN_REDUCE_MEAN, small, NULL, false, &y, &t->err),
          "mean", "float64", "int32");
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_empty(t->ctx, KILN_UINT16, 0, NULL, &y, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_ARGMIN, x, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &position, sizeof position, NULL, &t->err));
    assert_int_equal(position, 0);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 0, NULL, &y, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_MEAN, small, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &narrow, sizeof narrow, NULL, &t->err));
    assert_true(narrow == -3.0f);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_empty(t->ctx, KILN_COMPLEX64, 0, NULL, &y, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_MAX, x, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, complex_parts, sizeof complex_parts, NULL, &t->err));
    assert_true(complex_parts[0] == 0.1f && complex_parts[1] == 0);
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_array_release(small);
}

/* ---- dot ---- */

typedef kiln_status (*product)(const kiln_array *x, const kiln_array *y,
                               const kiln_reduction_call_options *opts, kiln_array **out,
                               kiln_error *err);

static void check_product(test_env *t, product dot, kiln_dtype dtype, const void *x, const void *y,
                          int64_t count, const void *want)
{
    kiln_array *a = NULL, *b = NULL, *z = NULL;
    unsigned char got[16] = {0};

    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &count, x, NULL, &a, &t->err));
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &count, y, NULL, &b, &t->err));
    OK(t, dot(a, b, NULL, &z, &t->err));
    assert_int_equal(kiln_array_dtype(z), dtype);
    assert_int_equal(kiln_array_rank(z), 0);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, want, kiln_dtype_size(dtype));
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(z);
}

/* NumPy 2.4: np.dot, np.vecdot and np.vdot of the same. */
/* Real elements and a start value into complex outputs: np.min([3, 1, 2], initial=2) is 1. */
static void test_reduction_where__a_start_value_beside_complex_outputs(void **state)
{
    static const struct {
        kiln_reduce_op op;
        double want;
    } rows[] = {{KILN_REDUCE_MIN, 1}, {KILN_REDUCE_MAX, 3}, {KILN_REDUCE_SUM, 8},
                {KILN_REDUCE_NANPROD, 12}};
    test_env *t = *state;
    const float values[] = {3, 1, 2};
    const kiln_arg two = kiln_arg_int(2);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *x = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){3}, values, NULL, &x, &t->err));
    options.initial = &two;
    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln_array *y = NULL;
        double got[2] = {0};
        OK(t, kiln_array_empty(t->ctx, KILN_COMPLEX128, 0, NULL, &y, &t->err));
        OK(t, kiln_array_reduce_with(rows[k].op, x, &options, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        CHECK(got[0] == rows[k].want && got[1] == 0, "%s: %g", kiln_reduce_op_name(rows[k].op),
              got[0]);
        kiln_array_release(y);
    }
    kiln_array_release(x);
}

static void test_reduction_where__dot_of_two_vectors(void **state)
{
    test_env *t = *state;
    const float x[] = {1, 2, 3}, y[] = {4, -5, 6}, want = 12;
    const int8_t a[] = {100, 100, 2}, b[] = {3, 2, 1}, wrapped = -10; /* 502 */
    const bool p[] = {true, false, true}, q[] = {false, true, false}, never = false, once = true;
    const double c[] = {1, 2, 3, -1}, d[] = {0, 1, 2, 2};
    const double plain[] = {-2 + 8, 1 + 4}, conjugated[] = {2 + 4, 1 + 8};

    check_product(t, kiln_array_sum_product, KILN_FLOAT32, x, y, 3, &want);
    check_product(t, kiln_array_vecdot, KILN_FLOAT32, x, y, 3, &want);
    check_product(t, kiln_array_sum_product, KILN_INT8, a, b, 3, &wrapped);
    check_product(t, kiln_array_sum_product, KILN_BOOL, p, q, 3, &never);
    check_product(t, kiln_array_sum_product, KILN_BOOL, p, p, 3, &once);
    check_product(t, kiln_array_sum_product, KILN_COMPLEX128, c, d, 2, plain);
    check_product(t, kiln_array_vecdot, KILN_COMPLEX128, c, d, 2, conjugated);
}

static void test_reduction_where__dot_along_an_axis(void **state)
{
    test_env *t = *state;
    const int64_t matrix[] = {5, 300}, row[] = {300};
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    host_array x, y;
    kiln_array *z = NULL, *other = NULL;
    float got[5];

    host_make(t, &x, KILN_FLOAT32, 2, matrix, &(host_layout){.order = AXES(2, 1)});
    host_make(t, &y, KILN_FLOAT32, 1, row, &(host_layout){.step = {-1}});
    options.axes = KILN_AXES(-1);
    OK(t, kiln_array_sum_product(x.array, y.array, &options, &z, &t->err));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int64_t r = 0; r < 5; r++) {
        double want = 0;
        for (int64_t k = 0; k < 300; k++)
            want += (double)(*(float *)host_at(&x, r * 300 + k) * *(float *)host_at(&y, k));
        assert_true((double)got[r] == want);
    }
    kiln_array_release(z);
    z = NULL;
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 1, row, &other, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_sum_product(x.array, other, NULL, &z, &t->err), "float32",
          "float64");
    FAILS(t, KILN_ERR_NULL, kiln_array_sum_product(x.array, NULL, NULL, &z, &t->err),
          "kiln_array_sum_product", "`y`");
    FAILS(t, KILN_ERR_NULL, kiln_array_vecdot(NULL, y.array, NULL, &z, &t->err), "NULL");
    assert_null(z);
    kiln_array_release(other);
    host_free(&x);
    host_free(&y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_where__named_reductions_of_float32),
        TEST(test_reduction_where__named_reductions_of_int16_permuted),
        TEST(test_reduction_where__custom_definitions),
        TEST(test_reduction_where__one_element_with_mask_and_initial),
        TEST(test_reduction_where__options_that_are_refused),
        TEST(test_reduction_where__degrees_of_freedom),
        TEST(test_reduction_where__outputs_of_other_dtypes),
        TEST(test_reduction_where__a_start_value_beside_complex_outputs),
        TEST(test_reduction_where__dot_of_two_vectors),
        TEST(test_reduction_where__dot_along_an_axis),
    };

    return test_env_main(argc, argv, "test_reduction_where", tests, COUNT(tests));
}
