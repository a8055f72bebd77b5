/*
 * test_reduction_named.c - every named reduction of every dtype against plain C loops.
 *
 * Each dtype is filled with its full range (floats: -4 to 4), and, where it can hold NaN, once more
 * with NaN here and there and in a whole row. Integers, comparisons and counts must be exact;
 * floating-point results lie within rounding of the exact one, measured by the size of what was
 * added up.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/reduce.h"

/* ---- what NumPy returns ----
 *
 * NumPy 2.4: getattr(np, op)(np.ones((3, 2), c), axis=0).dtype.char for c in "?bhilBHILefdFD"; the
 * norms are np.linalg.norm(x, ord, axis=0). `E` is bfloat16, treated as float16; '-' is refused.
 */
static const char dtype_codes[] = "?bhilBHILeEfdFD"; /* in the order of kiln_dtype */

typedef enum data_kind {
    DATA_RANDOM,
    DATA_NAN,     /* some NaN, one row of nothing else */
    DATA_NEAR_ONE /* products stay finite */
} data_kind;

typedef struct named {
    kiln_reduce_op op;
    const char *results;
    host_reduction want; /* out[0] the result, out[1].re the size that rounding is relative to */
} named;

static kiln_dtype dtype_of_code(char code)
{
    const char *at = strchr(dtype_codes, code);
    return code == '-' || at == NULL ? KILN_DTYPE_NONE : (kiln_dtype)(at - dtype_codes + 1);
}

/* ---- plain loops ---- */

static bool is_nan(host_value v)
{
    return isnan(v.re) || isnan(v.im);
}

/* Integers as they wrap: exact in long double, so the conversion loses nothing. */
static uint64_t whole(host_value v)
{
    if (!(fabsl(v.re) < 0x1p64L))
        return 0;
    return v.re < 0 ? (uint64_t)(int64_t)v.re : (uint64_t)v.re;
}

static long double size_of(host_value v)
{
    return hypotl(v.re, v.im);
}

/* What rounding is relative to: a part that is NaN says nothing about the other one. */
static long double part_size(long double part)
{
    return isnan(part) ? 0 : fabsl(part);
}

static void step_sum(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re;
    s->v.im += in[0].im;
    s->w.re += part_size(in[0].re) + part_size(in[0].im);
    s->u += whole(in[0]);
    s->count++;
}

static void step_product(host_state *s, const host_value *in, int64_t position)
{
    host_value a = position == 0 ? host_real(1) : s->v;

    s->v.re = a.re * in[0].re - a.im * in[0].im;
    s->v.im = a.re * in[0].im + a.im * in[0].re;
    s->u = (position == 0 ? 1 : s->u) * whole(in[0]);
}

static void skip_nan_sum(host_state *s, const host_value *in, int64_t position)
{
    if (!is_nan(in[0]))
        step_sum(s, in, position);
}

static void skip_nan_product(host_state *s, const host_value *in, int64_t position)
{
    const host_value one = {1, 0};
    step_product(s, is_nan(in[0]) ? &one : in, position);
}

/* NumPy's order: complex numbers go by their real parts, then by their imaginary ones. */
static bool is_below(host_value a, host_value b)
{
    return a.re < b.re || (a.re == b.re && a.im < b.im);
}

static void step_min(host_state *s, const host_value *in, int64_t position)
{
    bool take = is_nan(in[0]) ? !is_nan(s->v) : is_below(in[0], s->v) && !is_nan(s->v);

    if (position == 0 || take) {
        s->v = in[0];
        s->index = position;
    }
}

static void step_max(host_state *s, const host_value *in, int64_t position)
{
    bool take = is_nan(in[0]) ? !is_nan(s->v) : is_below(s->v, in[0]) && !is_nan(s->v);

    if (position == 0 || take) {
        s->v = in[0];
        s->index = position;
    }
}

static void skip_nan_min(host_state *s, const host_value *in, int64_t position)
{
    if (position == 0 || is_nan(s->v) || (is_below(in[0], s->v) && !is_nan(in[0])))
        s->v = in[0];
}

static void skip_nan_max(host_state *s, const host_value *in, int64_t position)
{
    if (position == 0 || is_nan(s->v) || (is_below(s->v, in[0]) && !is_nan(in[0])))
        s->v = in[0];
}

static void skip_nan_least(host_state *s, const host_value *in, int64_t position)
{
    if (is_nan(in[0]) || (s->count > 0 && !is_below(in[0], s->v)))
        return;
    s->v = in[0];
    s->index = position;
    s->count = 1;
}

static void skip_nan_greatest(host_state *s, const host_value *in, int64_t position)
{
    if (is_nan(in[0]) || (s->count > 0 && !is_below(s->v, in[0])))
        return;
    s->v = in[0];
    s->index = position;
    s->count = 1;
}

static void step_nonzero(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->count += in[0].re != 0 || in[0].im != 0;
}

/* Sum and sum of squares: in long double far better than what it judges. */
static void step_moments(host_state *s, const host_value *in, int64_t position)
{
    step_sum(s, in, position);
    s->w.im += in[0].re * in[0].re + in[0].im * in[0].im;
}

static void skip_nan_moments(host_state *s, const host_value *in, int64_t position)
{
    if (!is_nan(in[0]))
        step_moments(s, in, position);
}

static void step_size(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += size_of(in[0]);
}

static void step_square(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[0].re + in[0].im * in[0].im;
}

static void step_greatest_size(host_state *s, const host_value *in, int64_t position)
{
    const host_value size = {size_of(in[0]), 0};
    step_max(s, &size, position);
}

static void tell_sum(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
    out[1].re = s->w.re;
    out[2].re = (long double)s->u;
}

static void tell_product(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
    out[1].re = size_of(s->v);
    out[2].re = (long double)s->u;
}

static void tell_value(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
    out[1].re = fabsl(s->v.re);
}

static void tell_index(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->index;
}

static void tell_index_or_none(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = s->count > 0 ? (long double)s->index : -1;
}

static void tell_any(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = s->count > 0;
}

static void tell_all(const host_state *s, int64_t n, host_value *out)
{
    out[0].re = s->count == n;
}

static void tell_count(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->count;
}

/* Of what was counted, which is all there was unless NaN was left out. */
static void tell_mean(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = s->v.re / (long double)s->count;
    out[0].im = s->v.im / (long double)s->count;
    out[1].re = s->w.re / (long double)s->count;
}

static void tell_var(const host_state *s, int64_t n, host_value *out)
{
    const long double count = (long double)s->count; /* of what was not left out */
    long double re = s->v.re / count, im = s->v.im / count;

    (void)n;
    out[0].re = s->w.im / count - (re * re + im * im);
    out[1].re = s->w.im / count;
}

static void tell_std(const host_state *s, int64_t n, host_value *out)
{
    tell_var(s, n, out);
    out[0].re = sqrtl(out[0].re);
    out[1].re = out[1].re / out[0].re;
}

static void tell_root(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = sqrtl(s->v.re);
    out[1].re = out[0].re;
}

static const named table[] = {
    {KILN_REDUCE_SUM, "lllllLLLLeEfdFD", {step_sum, tell_sum}},
    {KILN_REDUCE_PROD, "lllllLLLLeEfdFD", {step_product, tell_product}},
    {KILN_REDUCE_MIN, "?bhilBHILeEfdFD", {step_min, tell_value}},
    {KILN_REDUCE_MAX, "?bhilBHILeEfdFD", {step_max, tell_value}},
    {KILN_REDUCE_ARGMIN, "lllllllllllllll", {step_min, tell_index}},
    {KILN_REDUCE_ARGMAX, "lllllllllllllll", {step_max, tell_index}},
    {KILN_REDUCE_ANY, "???????????????", {step_nonzero, tell_any}},
    {KILN_REDUCE_ALL, "???????????????", {step_nonzero, tell_all}},
    {KILN_REDUCE_MEAN, "dddddddddeEfdFD", {step_sum, tell_mean}},
    {KILN_REDUCE_VAR, "dddddddddeEfdfd", {step_moments, tell_var}},
    {KILN_REDUCE_STD, "dddddddddeEfdfd", {step_moments, tell_std}},
    {KILN_REDUCE_COUNT_NONZERO, "lllllllllllllll", {step_nonzero, tell_count}},
    {KILN_REDUCE_NORM1, "dddddddddeEfdfd", {step_size, tell_value}},
    {KILN_REDUCE_NORM2, "dddddddddeEfdfd", {step_square, tell_root}},
    {KILN_REDUCE_NORMINF, "dddddddddeEfdfd", {step_greatest_size, tell_value}},
    {KILN_REDUCE_NANSUM, "lllllLLLLeEfdFD", {skip_nan_sum, tell_sum}},
    {KILN_REDUCE_NANPROD, "lllllLLLLeEfdFD", {skip_nan_product, tell_product}},
    {KILN_REDUCE_NANMIN, "?bhilBHILeEfdFD", {skip_nan_min, tell_value}},
    {KILN_REDUCE_NANMAX, "?bhilBHILeEfdFD", {skip_nan_max, tell_value}},
    {KILN_REDUCE_NANMEAN, "dddddddddeEfdFD", {skip_nan_sum, tell_mean}},
    {KILN_REDUCE_NANVAR, "dddddddddeEfdfd", {skip_nan_moments, tell_var}},
    {KILN_REDUCE_NANSTD, "dddddddddeEfdfd", {skip_nan_moments, tell_std}},
    {KILN_REDUCE_NANARGMIN, "lllllllllllllll", {skip_nan_least, tell_index_or_none}},
    {KILN_REDUCE_NANARGMAX, "lllllllllllllll", {skip_nan_greatest, tell_index_or_none}},
};

/* ---- comparing ---- */

/* Half a unit in the last place of what accumulates, times 64, and of the result itself. */
static long double rounding(kiln_dtype result, long double size, long double want)
{
    bool wide = result == KILN_FLOAT64 || result == KILN_COMPLEX128;
    long double own = result == KILN_FLOAT16    ? 0x1p-11L
                      : result == KILN_BFLOAT16 ? 0x1p-8L
                      : wide                    ? DBL_EPSILON
                                                : FLT_EPSILON;

    /* 2^-24: below it float16 has no smaller steps. */
    return 64 * (wide ? DBL_EPSILON : FLT_EPSILON) * size + own * fabsl(want) +
           (result == KILN_FLOAT16 ? 0x1p-24L : 0);
}

static bool close_enough(kiln_dtype result, long double got, long double want, long double size)
{
    const long double most = result == KILN_FLOAT16 ? 65520 : (long double)FLT_MAX;

    if (isnan(want))
        return isnan(got);
    if (got == want)
        return true;
    if (isinf(got) && fabsl(want) >= most && result != KILN_FLOAT64 && result != KILN_COMPLEX128)
        return (got > 0) == (want > 0);
    return fabsl(got - want) <= rounding(result, size, want);
}

/* An integer result of a sum or product is what 64 bits hold of it. */
static bool right(const named *c, kiln_dtype result, host_value got, const host_value *want)
{
    bool wraps = c->want.finish == tell_sum || c->want.finish == tell_product;

    if (c->want.finish == tell_value && is_nan(want[0]))
        return is_nan(got); /* whichever of several */
    if (result >= KILN_FLOAT16)
        return close_enough(result, got.re, want[0].re, want[1].re) &&
               (kiln_dtype_kind(result) != 'c' ||
                close_enough(result, got.im, want[0].im, want[1].re));
    if (wraps && result == KILN_INT64)
        return got.re == (long double)(int64_t)(uint64_t)want[2].re;
    return got.re == (wraps ? want[2].re : want[0].re);
}

/* The wanted values as three float64-wide arrays would round them: keep long doubles instead. */
typedef struct wanted {
    host_value out[3];
} wanted;

static wanted expect(const named *c, const host_array *x, unsigned axes, int64_t row)
{
    const bool all = axes == 3, along = axes == 2;
    int64_t outer = all ? x->shape[0] : 1, inner = along || all ? x->shape[1] : x->shape[0];
    int64_t position = 0;
    host_state state;
    wanted w;

    memset(&state, 0, sizeof state);
    memset(&w, 0, sizeof w);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            int64_t at = all ? i * inner + j : along ? row * inner + j : j * x->shape[1] + row;
            host_value v = host_load(x->dtype, host_at(x, at));

            c->want.step(&state, &v, position++);
        }
    c->want.finish(&state, position, w.out);
    return w;
}

static void check_axes(test_env *t, const named *c, const host_array *x, unsigned axes)
{
    kiln_dtype result = dtype_of_code(c->results[x->dtype - 1]);
    int64_t count = axes == 3 ? 1 : x->shape[axes == 2 ? 0 : 1];
    kiln_axes list = host_axes(axes);
    kiln_array *y = NULL;
    static unsigned char elements[4096 * 16];

    OK(t, kiln_array_reduce(c->op, x->array, axes == 3 ? NULL : &list, false, &y, &t->err));
    CHECK(kiln_array_dtype(y) == result, "%s of %s is %s", kiln_reduce_op_name(c->op),
          kiln_dtype_name(x->dtype), kiln_dtype_name(kiln_array_dtype(y)));
    CHECK(kiln_array_size(y) == count, "%lld results", (long long)kiln_array_size(y));
    OK(t, kiln_array_to_host(y, elements, sizeof elements, NULL, &t->err));
    for (int64_t row = 0; row < count; row++) {
        wanted w = expect(c, x, axes, row);
        host_value got = host_load(result, elements + (size_t)row * kiln_dtype_size(result));

        CHECK(right(c, result, got, w.out),
              "%s of %s over axes %#x, result %lld: got %.20Lg%+.20Lgi, want %.20Lg%+.20Lgi "
              "(integers: %.20Lg)",
              kiln_reduce_op_name(c->op), kiln_dtype_name(x->dtype), axes, (long long)row, got.re,
              got.im, w.out[0].re, w.out[0].im, w.out[2].re);
    }
    kiln_array_release(y);
}

static void fill(test_env *t, host_array *x, data_kind kind)
{
    int64_t size = host_size(x);

    host_fill_random(t, x);
    for (int64_t k = 0; k < size && x->dtype >= KILN_FLOAT16; k++) {
        host_value v = host_load(x->dtype, host_at(x, k));

        if (kind == DATA_NAN && (k / x->shape[1] == 2 || test_random_below(t, 61) == 0))
            v.re = NAN;
        if (kind == DATA_NEAR_ONE) {
            v.re = 1 + v.re / 64;
            v.im = v.im / 64;
        }
        host_store(x->dtype, host_at(x, k), v);
    }
    /* Products of odd numbers do not end in zeros, and no bool is false. */
    for (int64_t k = 0; k < size && x->dtype < KILN_FLOAT16 && kind == DATA_NEAR_ONE; k++)
        *(unsigned char *)host_at(x, k) |= 1;
    host_send(t, x);
}

/* Whether columns of a dtype are worth a compiler's run on the cpu device, where a dtype changes
 * nothing but names in a kernel: one of each size and kind. */
static bool takes_columns(const test_env *t, kiln_dtype dtype)
{
    return t->cuda || dtype == KILN_INT8 || dtype == KILN_UINT64 || dtype == KILN_FLOAT16 ||
           dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX128;
}

static void check_dtype(test_env *t, const named *c, kiln_dtype dtype)
{
    const int64_t shape[] = {7, 301};
    const bool product = c->op == KILN_REDUCE_PROD || c->op == KILN_REDUCE_NANPROD;
    const int kinds = dtype >= KILN_FLOAT16 && !product ? 2 : 1;
    host_array x;
    kiln_array *y = NULL;

    host_make(t, &x, dtype, 2, shape, NULL);
    for (int kind = 0; kind < kinds; kind++) {
        fill(t, &x, product ? DATA_NEAR_ONE : (data_kind)kind);
        if (c->results[dtype - 1] == '-') {
            FAILS(t, KILN_ERR_DTYPE, kiln_array_reduce(c->op, x.array, NULL, false, &y, &t->err),
                  kiln_reduce_op_name(c->op), kiln_dtype_name(dtype));
            assert_null(y);
            continue;
        }
        for (unsigned axes = takes_columns(t, dtype) ? 1 : 2; axes <= 3; axes++)
            check_axes(t, c, &x, axes);
    }
    host_free(&x);
}

static void check_ops(test_env *t, kiln_reduce_op first, kiln_reduce_op last)
{
    for (size_t k = 0; k < COUNT(table); k++)
        for (int dtype = KILN_BOOL; dtype <= KILN_COMPLEX128; dtype++)
            if (table[k].op >= first && table[k].op <= last && test_drawn(t))
                check_dtype(t, &table[k], (kiln_dtype)dtype);
}

static void test_reduction__sum_and_prod_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_SUM, KILN_REDUCE_PROD);
}

static void test_reduction__min_and_max_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_MIN, KILN_REDUCE_MAX);
}

static void test_reduction__argmin_and_argmax_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_ARGMIN, KILN_REDUCE_ARGMAX);
}

static void test_reduction__any_and_all_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_ANY, KILN_REDUCE_ALL);
}

static void test_reduction__mean_var_and_std_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_MEAN, KILN_REDUCE_STD);
}

static void test_reduction__counts_and_norms_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_COUNT_NONZERO, KILN_REDUCE_NORMINF);
}

static void test_reduction__reductions_that_skip_nan_of_every_dtype(void **state)
{
    check_ops(*state, KILN_REDUCE_NANSUM, KILN_REDUCE_NANARGMAX);
}

/* ---- rules that random values do not meet ---- */

static void test_reduction__every_name_is_in_the_table_of_this_test(void **state)
{
    (void)state;
    static const kiln_reduce_op ops[] = {
#define LIST(name, value, text, doc) KILN_REDUCE_##name,
        KILN_REDUCE_MAP(LIST)
#undef LIST
    };

    assert_int_equal(COUNT(ops), COUNT(table));
    for (size_t k = 0; k < COUNT(ops); k++)
        assert_int_equal(ops[k], table[k].op);
    assert_string_equal(kiln_reduce_op_name(KILN_REDUCE_SUM), "sum");
    assert_string_equal(kiln_reduce_op_name(KILN_REDUCE_COUNT_NONZERO), "count_nonzero");
    assert_string_equal(kiln_reduce_op_name((kiln_reduce_op)0), "unknown");
    assert_string_equal(kiln_reduce_op_name((kiln_reduce_op)99), "unknown");
}

/* NumPy 2.4 on np.zeros((0, 3), np.float32), axis 0; `error` stands for its ValueError. */
static const struct {
    kiln_reduce_op op;
    bool error;
    double value;
} empties[] = {
    {KILN_REDUCE_SUM, false, 0},     {KILN_REDUCE_PROD, false, 1},
    {KILN_REDUCE_MIN, true, 0},      {KILN_REDUCE_MAX, true, 0},
    {KILN_REDUCE_ARGMIN, true, 0},   {KILN_REDUCE_ARGMAX, true, 0},
    {KILN_REDUCE_ANY, false, 0},     {KILN_REDUCE_ALL, false, 1},
    {KILN_REDUCE_MEAN, false, NAN},  {KILN_REDUCE_VAR, false, NAN},
    {KILN_REDUCE_STD, false, NAN},   {KILN_REDUCE_COUNT_NONZERO, false, 0},
    {KILN_REDUCE_NORM1, false, 0},   {KILN_REDUCE_NORM2, false, 0},
    {KILN_REDUCE_NORMINF, false, 0}, {KILN_REDUCE_NANSUM, false, 0},
    {KILN_REDUCE_NANPROD, false, 1}, {KILN_REDUCE_NANMIN, true, 0},
    {KILN_REDUCE_NANMAX, true, 0},   {KILN_REDUCE_NANMEAN, false, NAN},
    {KILN_REDUCE_NANVAR, false, NAN}, {KILN_REDUCE_NANSTD, false, NAN},
    {KILN_REDUCE_NANARGMIN, true, 0}, {KILN_REDUCE_NANARGMAX, true, 0},
};

static void check_empty(test_env *t, size_t k, kiln_array *x)
{
    unsigned char elements[3 * 8];
    kiln_array *y = NULL;

    if (empties[k].error) {
        FAILS(t, KILN_ERR_IDENTITY,
              kiln_array_reduce(empties[k].op, x, KILN_AXES(0), false, &y, &t->err),
              kiln_reduce_op_name(empties[k].op), "(0, 3)");
        FAILS(t, KILN_ERR_IDENTITY, kiln_array_reduce(empties[k].op, x, NULL, false, &y, &t->err),
              kiln_reduce_op_name(empties[k].op));
        assert_null(y);
    } else {
        OK(t, kiln_array_reduce(empties[k].op, x, KILN_AXES(0), false, &y, &t->err));
        OK(t, kiln_array_to_host(y, elements, sizeof elements, NULL, &t->err));
        for (size_t row = 0; row < 3; row++) {
            kiln_dtype dtype = kiln_array_dtype(y);
            long double got = host_load(dtype, elements + row * kiln_dtype_size(dtype)).re;

            CHECK(isnan(empties[k].value) ? isnan(got) : got == (long double)empties[k].value,
                  "%s of nothing: %Lg", kiln_reduce_op_name(empties[k].op), got);
        }
        kiln_array_release(y);
        y = NULL;
    }
    /* No results: nothing is asked, nothing refused. */
    OK(t, kiln_array_reduce(empties[k].op, x, KILN_AXES(1), true, &y, &t->err));
    assert_int_equal(kiln_array_size(y), 0);
    assert_int_equal(kiln_array_rank(y), 2);
    assert_int_equal(kiln_array_shape(y)[1], 1);
    kiln_array_release(y);
}

static void test_reduction__axes_without_elements(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {0, 3};
    kiln_array *x = NULL;

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    for (size_t k = 0; k < COUNT(empties); k++)
        check_empty(t, k, x);
    kiln_array_release(x);
}

/* Extents of 0 in any place, over each axis: nothing launched, or what no elements give. */
static void test_reduction__results_there_are_none_of(void **state)
{
    static const struct {
        int rank;
        int64_t shape[3];
    } shapes[] = {{2, {2, 0}}, {2, {0, 2}}, {3, {2, 0, 3}}, {3, {0, 2, 3}}, {3, {2, 3, 0}},
                  {3, {5, 0, 0}}};
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(shapes); k++) {
        kiln_array *x = NULL, *y = NULL;
        OK(t, kiln_array_empty(t->ctx, KILN_INT64, shapes[k].rank, shapes[k].shape, &x, &t->err));
        for (int axis = 0; axis < shapes[k].rank; axis++) {
            int64_t host[8] = {1, 1, 1, 1, 1, 1, 1, 1}, size = 1;
            for (int a = 0; a < shapes[k].rank; a++)
                size *= a == axis ? 1 : shapes[k].shape[a];
            OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(axis), false, &y, &t->err));
            assert_int_equal(kiln_array_rank(y), shapes[k].rank - 1);
            assert_int_equal(kiln_array_size(y), size);
            OK(t, kiln_array_to_host(y, host, sizeof host, NULL, &t->err));
            for (int64_t e = 0; e < 8; e++)
                assert_int_equal(host[e], e < size ? 0 : 1);
            kiln_array_release(y);
            y = NULL;
        }
        kiln_array_release(x);
    }
}

/* One row of float32 against what NumPy makes of it. */
typedef struct special {
    kiln_reduce_op op;
    float x[6];
    double value;
} special;

static const special specials[] = {
    /* The first of equals, the first NaN. */
    {KILN_REDUCE_ARGMIN, {3, 1, 4, 1, 5, 1}, 1},
    {KILN_REDUCE_ARGMAX, {3, 5, 4, 1, 5, 1}, 1},
    {KILN_REDUCE_ARGMIN, {3, 1, NAN, 0, NAN, -INFINITY}, 2},
    {KILN_REDUCE_ARGMAX, {3, INFINITY, 4, NAN, NAN, 1}, 3},
    {KILN_REDUCE_ARGMIN, {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}, 0},
    {KILN_REDUCE_ARGMAX, {NAN, NAN, NAN, NAN, NAN, NAN}, 0},
    {KILN_REDUCE_ARGMIN, {0.0f, -0.0f, 0.0f, 1, 1, 1}, 0},
    {KILN_REDUCE_MIN, {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}, INFINITY},
    {KILN_REDUCE_MAX,
     {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
     -INFINITY},
    {KILN_REDUCE_MIN, {1, 2, 3, 4, NAN, -5}, NAN},
    {KILN_REDUCE_NANMIN, {NAN, NAN, NAN, NAN, NAN, NAN}, NAN},
    {KILN_REDUCE_NANMAX, {NAN, -INFINITY, NAN, NAN, NAN, NAN}, -INFINITY},
    {KILN_REDUCE_NANMIN, {NAN, INFINITY, NAN, NAN, NAN, NAN}, INFINITY},
    {KILN_REDUCE_NANMEAN, {NAN, NAN, NAN, NAN, NAN, NAN}, NAN},
    {KILN_REDUCE_NANMEAN, {NAN, 2, NAN, 5, NAN, NAN}, 3.5},
    {KILN_REDUCE_NANSUM, {NAN, NAN, NAN, NAN, NAN, NAN}, 0},
    {KILN_REDUCE_NANPROD, {NAN, 3, NAN, -2, NAN, NAN}, -6},
    {KILN_REDUCE_NANVAR, {NAN, 2, NAN, 6, NAN, 4}, 8.0f / 3},
    {KILN_REDUCE_NANSTD, {NAN, 2, NAN, 6, NAN, NAN}, 2},
    {KILN_REDUCE_NANARGMIN, {NAN, INFINITY, 5, NAN, 5, NAN}, 2},
    {KILN_REDUCE_NANARGMIN, {NAN, INFINITY, NAN, NAN, NAN, NAN}, 1},
    {KILN_REDUCE_NANARGMAX, {NAN, -INFINITY, NAN, NAN, NAN, NAN}, 1},
    {KILN_REDUCE_NANARGMAX, {NAN, NAN, NAN, NAN, NAN, NAN}, -1}, /* NumPy raises */
    {KILN_REDUCE_SUM, {INFINITY, 1, -INFINITY, 1, 1, 1}, NAN},
    {KILN_REDUCE_ANY, {0, -0.0f, 0, 0, NAN, 0}, 1},
    {KILN_REDUCE_ANY, {0, -0.0f, 0, 0, 0, 0}, 0},
    {KILN_REDUCE_ALL, {NAN, 1, 2, 3, 4, 5}, 1},
    {KILN_REDUCE_COUNT_NONZERO, {NAN, 0, -0.0f, 3, 4, 0}, 3},
    {KILN_REDUCE_VAR, {7, 7, 7, 7, 7, 7}, 0},
    {KILN_REDUCE_VAR, {1, INFINITY, 1, 1, 1, 1}, NAN},
    {KILN_REDUCE_VAR, {1, 1, 1, 1, 1, INFINITY}, NAN},
    {KILN_REDUCE_STD, {1, NAN, 1, 1, 1, 1}, NAN},
    {KILN_REDUCE_VAR, {1e20f, 1e20f, 1e20f, 1e20f, 1e20f, 1e20f}, 0},
    {KILN_REDUCE_NORMINF, {-7, 3, 6, 0, 1, 2}, 7},
    {KILN_REDUCE_NORMINF, {-7, 3, NAN, 0, 1, 2}, NAN},
    {KILN_REDUCE_NORM2, {3, 0, 0, -4, 0, 0}, 5},
};

static void test_reduction__special_values_as_numpy_has_them(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {6};

    for (size_t k = 0; k < COUNT(specials); k++) {
        const special *c = &specials[k];
        kiln_array *x = NULL, *y = NULL;
        unsigned char element[16];

        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, shape, c->x, NULL, &x, &t->err));
        OK(t, kiln_array_reduce(c->op, x, NULL, false, &y, &t->err));
        OK(t, kiln_array_to_host(y, element, sizeof element, NULL, &t->err));
        long double got = host_load(kiln_array_dtype(y), element).re;
        CHECK(isnan(c->value) ? isnan(got) : got == (long double)c->value, "row %zu, %s: %Lg", k,
              kiln_reduce_op_name(c->op), got);
        kiln_array_release(x);
        kiln_array_release(y);
    }
}

/* A mean far from zero: summing squares would lose every digit of this variance. */
static void test_reduction__variance_of_values_far_from_zero(void **state)
{
    enum { COLUMNS = 50021 };
    test_env *t = *state;
    const int64_t shape[] = {COLUMNS};
    static float x[COLUMNS];
    kiln_array *on_device = NULL, *y = NULL;
    long double sum = 0, squares = 0;
    float got = 0;

    for (size_t k = 0; k < COLUMNS; k++) {
        x[k] = 100000.0f + (float)(k * 7919 % 1024) / 128.0f;
        sum += x[k];
    }
    for (size_t k = 0; k < COLUMNS; k++)
        squares += (x[k] - sum / COLUMNS) * (x[k] - sum / COLUMNS);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, shape, x, NULL, &on_device, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_VAR, on_device, NULL, false, &y, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    CHECK(fabsl(got - squares / COLUMNS) < 2e-3L * squares / COLUMNS, "got %g, want %Lg",
          (double)got, squares / COLUMNS);
    kiln_array_release(on_device);
    kiln_array_release(y);
}

/* 16-bit floats accumulate in float32: 5000 ones are 5000, where float16 stops at 2048. */
static void test_reduction__half_precision_accumulates_in_float32(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16};
    static const double sums[] = {5000, 4992}; /* 5000 rounded to 11 and to 8 digits */
    test_env *t = *state;
    const int64_t shape[] = {5000};

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *x = NULL, *y = NULL;
        uint16_t bits;

        OK(t, kiln_array_ones(t->ctx, dtypes[d], 1, shape, &x, &t->err));
        OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y, &t->err));
        OK(t, kiln_array_to_host(y, &bits, sizeof bits, NULL, &t->err));
        assert_true(host_load(dtypes[d], &bits).re == (long double)sums[d]);
        kiln_array_release(x);
        kiln_array_release(y);
    }
}

/* ---- outputs given, and refusals ---- */

static void test_reduction__into_an_output_given(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3}, kept[] = {2};
    const float elements[] = {1, 2, 3, 4, 5, 6};
    float got[2] = {0};
    kiln_array *x = NULL, *y = NULL, *same;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, elements, NULL, &x, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, kept, &y, &t->err));
    same = y;
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(-1), false, &y, &t->err));
    assert_ptr_equal(y, same);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 6.0f && got[1] == 15.0f);
    FAILS(t, KILN_ERR_DTYPE,
          kiln_array_reduce(KILN_REDUCE_ARGMIN, x, KILN_AXES(-1), false, &y, &t->err), "argmin",
          "int64", "float32");
    FAILS(t, KILN_ERR_OUTPUT,
          kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(0), false, &y, &t->err), "(3,)", "(2,)");
    assert_ptr_equal(y, same);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_reduction__named_reductions_refuse_bad_arguments(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3};
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    FAILS(t, KILN_ERR_NULL, kiln_array_reduce(KILN_REDUCE_SUM, NULL, NULL, false, &y, &t->err),
          "array");
    FAILS(t, KILN_ERR_NULL, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, NULL, &t->err),
          "out");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_reduce((kiln_reduce_op)0, x, NULL, false, &y, &t->err),
          "0");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_reduce((kiln_reduce_op)77, x, NULL, false, &y, &t->err),
          "77");
    FAILS(t, KILN_ERR_AXIS, kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(2), false, &y, &t->err),
          "2");
    FAILS(t, KILN_ERR_AXIS,
          kiln_array_reduce(KILN_REDUCE_MIN, x, KILN_AXES(0, -2), false, &y, &t->err), "0");
    assert_null(y);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction__every_name_is_in_the_table_of_this_test),
        TEST(test_reduction__sum_and_prod_of_every_dtype),
        TEST(test_reduction__min_and_max_of_every_dtype),
        TEST(test_reduction__argmin_and_argmax_of_every_dtype),
        TEST(test_reduction__any_and_all_of_every_dtype),
        TEST(test_reduction__mean_var_and_std_of_every_dtype),
        TEST(test_reduction__counts_and_norms_of_every_dtype),
        TEST(test_reduction__reductions_that_skip_nan_of_every_dtype),
        TEST(test_reduction__axes_without_elements),
        TEST(test_reduction__results_there_are_none_of),
        TEST(test_reduction__special_values_as_numpy_has_them),
        TEST(test_reduction__variance_of_values_far_from_zero),
        TEST(test_reduction__half_precision_accumulates_in_float32),
        TEST(test_reduction__into_an_output_given),
        TEST(test_reduction__named_reductions_refuse_bad_arguments),
    };

    test_env_compile_ahead();
    return test_env_main(argc, argv, "test_reduction_named", tests, COUNT(tests));
}
