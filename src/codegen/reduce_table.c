/*
 * reduce_table.c - the named reductions: sum, argmin, var, ... as texts of definitions.
 *
 * Each row of `rows` is an ordinary definition for some kinds of dtype; a reduction is added by a
 * row (and a line of KILN_REDUCE_MAP). What rows accumulate beyond plain numbers are the structs of
 * templates/prelude/{position,moments,counted}.h. Eager calls (src/kernel/reduce_ops.c) use a row
 * as it is, recorded graphs several rows in one kernel.
 *
 * In a row's texts, $ stands for the type that values are accumulated in, $L and $H for the least
 * and greatest value of the array's dtype, $R for the result's type, $O for the output's, $N for what a
 * variance is divided by ($C where values were left out), $K and $J for how many elements are looked for
 * and which of them is meant; T is the array's dtype, x an element, y the result.
 * `dot` alone has two inputs, x and y, and gives z.
 *
 * Rule 1: identities absorb: starting from one changes no result, so kernels need no flag that
 *         tells whether a value was seen.
 * Rule 2: results have NumPy's dtypes; what NumPy refuses for no elements is refused, even where
 *         the definition has an identity.
 *
 * Tests: test_reduction_named, test_reduction_batch.
 */
#include "codegen/codegen.h"
#include "kiln/scan.h"

/* Which dtype the result has, or values are accumulated in. */
typedef enum dtype_rule {
    RULE_SAME,   /* the array's */
    RULE_SUM,    /* int64 for bool and signed integers, uint64 for unsigned, else the array's */
    RULE_FLOAT,  /* float64 for bool and integers, else the array's */
    RULE_REAL,   /* as RULE_FLOAT; the parts' dtype for complex numbers */
    RULE_BOOL,
    RULE_INT64
} dtype_rule;

struct kiln__reduce_row {
    int op;              /* kiln_reduce_op, or of two arrays */
    const char *kinds;   /* kiln_dtype_kind()s it is for, h for 16-bit floats alone; the first row that
                            fits counts */
    dtype_rule result;
    dtype_rule value;    /* what $ is; 16-bit floats become float32 */
    const char *type;    /* of the accumulator */
    const char *map, *reduce, *post, *identity;
    unsigned flags;
    int batch;           /* kiln__batch: how several elements can be added at a time */
};

enum {
    NEEDS = 1,    /* elements: NumPy refuses to reduce nothing */
    FOR_MASKS = 2, /* for calls with a mask only */
    BESIDE = 4    /* a result that another row's accumulator gives as well, should that be there */
};

/* The batches under names that are short enough for the table. SINGLY is none. */
enum {
    SINGLY = KILN__BATCH_NONE,
    SUMS = KILN__BATCH_SUM,
    MOMENTS = KILN__BATCH_MOMENTS,
    COUNTED = KILN__BATCH_COUNTED,
    LEAST_AT = KILN__BATCH_LEAST,
    GREATEST_AT = KILN__BATCH_GREATEST,
    LOGSUM = KILN__BATCH_LOGSUM
};

typedef struct kiln__reduce_row row;

#define ANY_KIND "biufc"
#define INTEGERS "biu"
#define REALS "biuf"

/* The least of numbers; the left one is kept when equal, and so is the first NaN. Bits instead of
 * branches: compilers make vectors of these. */
#define LEAST_INT "b < a ? b : a"
#define LEAST "!(b >= a) & (a == a) ? b : a"
#define GREATEST_INT "b > a ? b : a"
#define GREATEST "!(b <= a) & (a == a) ? b : a"
/* Here a NaN loses: the identity is NaN, and stays when there is nothing else. */
#define LEAST_NUMBER "(b < a) | (a != a) ? b : a"
#define GREATEST_NUMBER "(b > a) | (a != a) ? b : a"
/* Complex numbers in NumPy's order: by their real parts, then by their imaginary ones. */
#define LEAST_COMPLEX "kiln_complex_minimum(a, b)"
#define GREATEST_COMPLEX "kiln_complex_maximum(a, b)"

/* Sums of integers wrap as NumPy's do, which signed C++ integers must not: they are unsigned. */
static const row rows[] = {
    /* op, kinds, result, value, type, map, reduce, post, identity, flags, batch */
    {KILN_REDUCE_SUM, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a + b", "y = ($R)a",
     "0", 0, SUMS},
    {KILN_REDUCE_SUM, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a + b", "y = a", "0", 0, SUMS},
    {KILN_REDUCE_PROD, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a * b", "y = ($R)a",
     "1", 0, SINGLY},
    {KILN_REDUCE_PROD, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a * b", "y = a", "1", 0, SINGLY},

    {KILN_REDUCE_MIN, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", LEAST_INT, "y = a", "$H", NEEDS, SINGLY},
    {KILN_REDUCE_MIN, "h", RULE_SAME, RULE_SAME, "$", "x", KILN__HALF_LEAST, "y = a", "$H", NEEDS, SINGLY},
    {KILN_REDUCE_MIN, "f", RULE_SAME, RULE_SAME, "$", "x", LEAST, "y = a", "$H", NEEDS, SINGLY},
    {KILN_REDUCE_MIN, "c", RULE_SAME, RULE_SAME, "$", "x", LEAST_COMPLEX, "y = a",
     "$(INFINITY, INFINITY)", NEEDS, SINGLY},
    {KILN_REDUCE_MAX, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", GREATEST_INT, "y = a", "$L", NEEDS, SINGLY},
    {KILN_REDUCE_MAX, "h", RULE_SAME, RULE_SAME, "$", "x", KILN__HALF_GREATEST, "y = a", "$L", NEEDS, SINGLY},
    {KILN_REDUCE_MAX, "f", RULE_SAME, RULE_SAME, "$", "x", GREATEST, "y = a", "$L", NEEDS, SINGLY},
    {KILN_REDUCE_MAX, "c", RULE_SAME, RULE_SAME, "$", "x", GREATEST_COMPLEX, "y = a",
     "$(-INFINITY, -INFINITY)", NEEDS, SINGLY},
    {KILN_REDUCE_ARGMIN, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_least(a, b)", "y = a.index",
     "kiln_position_of<$>($H, kiln_position_none)", NEEDS, LEAST_AT},
    {KILN_REDUCE_ARGMAX, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_greatest(a, b)", "y = a.index",
     "kiln_position_of<$>($L, kiln_position_none)", NEEDS, GREATEST_AT},
    {KILN_REDUCE_ARGMIN, "c", RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_complex_position_least(a, b)", "y = a.index",
     "kiln_position_of<$>($(INFINITY, INFINITY), kiln_position_none)", NEEDS, SINGLY},
    {KILN_REDUCE_ARGMAX, "c", RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_complex_position_greatest(a, b)", "y = a.index",
     "kiln_position_of<$>($(-INFINITY, -INFINITY), kiln_position_none)", NEEDS, SINGLY},

    {KILN_REDUCE_ANY, ANY_KIND, RULE_BOOL, RULE_BOOL, "unsigned char", "x != T(0)", "a | b",
     "y = a != 0", "0", 0, SINGLY},
    {KILN_REDUCE_ALL, ANY_KIND, RULE_BOOL, RULE_BOOL, "unsigned char", "x != T(0)", "a & b",
     "y = a != 0", "1", 0, SINGLY},
    {KILN_REDUCE_COUNT_NONZERO, "b", RULE_INT64, RULE_INT64, "$", "x", "a + b", "y = a", "0", 0, SUMS},
    {KILN_REDUCE_COUNT_NONZERO, ANY_KIND, RULE_INT64, RULE_INT64, "$", "x != T(0)", "a + b",
     "y = a", "0", 0, SUMS},

    {KILN_REDUCE_MEAN, ANY_KIND, RULE_FLOAT, RULE_FLOAT, "kiln_counted<$>",
     "kiln_counted_of<$>(x, true)", "kiln_counted_add(a, b)", "y = a.sum / (double)a.count",
     "kiln_counted_of<$>(0, false)", FOR_MASKS, SINGLY},
    {KILN_REDUCE_MEAN, ANY_KIND, RULE_FLOAT, RULE_FLOAT, "$", "x", "a + b", "y = a / (double)n",
     "0", 0, SUMS},
    {KILN_REDUCE_VAR, "h", RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = kiln_moments_var<$O>(a, $N)", "kiln_moments_none<$>()", 0, MOMENTS},
    {KILN_REDUCE_VAR, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = kiln_moments_variance(a, $N)", "kiln_moments_none<$>()",
     0, MOMENTS},
    {KILN_REDUCE_VAR, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of<$>(x.real(), x.imag())", "kiln_complex_moments_merge(a, b)",
     "y = kiln_complex_moments_variance(a, $N)", "kiln_complex_moments_none<$>()", 0, COUNTED},
    {KILN_REDUCE_STD, "h", RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = kiln_moments_std<$O>(a, $N)", "kiln_moments_none<$>()", 0, MOMENTS},
    {KILN_REDUCE_STD, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = sqrt(kiln_moments_variance(a, $N))", "kiln_moments_none<$>()",
     0, MOMENTS},
    {KILN_REDUCE_STD, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of<$>(x.real(), x.imag())", "kiln_complex_moments_merge(a, b)",
     "y = sqrt(kiln_complex_moments_variance(a, $N))", "kiln_complex_moments_none<$>()", 0, COUNTED},

    {KILN_REDUCE_NORM1, REALS, RULE_REAL, RULE_REAL, "$", "fabs($(x))", "a + b", "y = a", "0",
     0, SINGLY},
    {KILN_REDUCE_NORM1, "c", RULE_REAL, RULE_REAL, "$", "abs(x)", "a + b", "y = a", "0", 0, SINGLY},
    {KILN_REDUCE_NORM2, REALS, RULE_REAL, RULE_REAL, "$", "$(x) * $(x)", "a + b", "y = sqrt(a)",
     "0", 0, SINGLY},
    {KILN_REDUCE_NORM2, "c", RULE_REAL, RULE_REAL, "$", "norm(x)", "a + b", "y = sqrt(a)", "0",
     0, SINGLY},
    {KILN_REDUCE_NORMINF, REALS, RULE_REAL, RULE_REAL, "$", "fabs($(x))", GREATEST, "y = a", "0",
     0, SINGLY},
    {KILN_REDUCE_NORMINF, "c", RULE_REAL, RULE_REAL, "$", "abs(x)", GREATEST, "y = a", "0", 0, SINGLY},

    {KILN_REDUCE_NANSUM, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a + b", "y = ($R)a",
     "0", 0, SUMS},
    {KILN_REDUCE_NANSUM, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x != x ? $(0) : $(x)", "a + b",
     "y = a", "0", 0, SINGLY},
    {KILN_REDUCE_NANPROD, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a * b",
     "y = ($R)a", "1", 0, SINGLY},
    {KILN_REDUCE_NANPROD, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x != x ? $(1) : $(x)", "a * b",
     "y = a", "1", 0, SINGLY},
    {KILN_REDUCE_NANMIN, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", LEAST_INT, "y = a", "$H", NEEDS, SINGLY},
    {KILN_REDUCE_NANMIN, "f", RULE_SAME, RULE_SAME, "$", "x", LEAST_NUMBER, "y = a", "NAN", NEEDS, SINGLY},
    {KILN_REDUCE_NANMIN, "c", RULE_SAME, RULE_SAME, "$", "x", "kiln_complex_fmin(a, b)", "y = a",
     "$(NAN, NAN)", NEEDS, SINGLY},
    {KILN_REDUCE_NANMAX, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", GREATEST_INT, "y = a", "$L",
     NEEDS, SINGLY},
    {KILN_REDUCE_NANMAX, "f", RULE_SAME, RULE_SAME, "$", "x", GREATEST_NUMBER, "y = a", "NAN",
     NEEDS, SINGLY},
    {KILN_REDUCE_NANMAX, "c", RULE_SAME, RULE_SAME, "$", "x", "kiln_complex_fmax(a, b)", "y = a",
     "$(NAN, NAN)", NEEDS, SINGLY},
    {KILN_REDUCE_NANMEAN, INTEGERS, RULE_FLOAT, RULE_FLOAT, "kiln_counted<$>",
     "kiln_counted_of<$>(x, true)", "kiln_counted_add(a, b)", "y = a.sum / (double)a.count",
     "kiln_counted_of<$>(0, false)", FOR_MASKS, SINGLY},
    {KILN_REDUCE_NANMEAN, INTEGERS, RULE_FLOAT, RULE_FLOAT, "$", "x", "a + b", "y = a / (double)n",
     "0", 0, SUMS},
    {KILN_REDUCE_NANMEAN, ANY_KIND, RULE_FLOAT, RULE_FLOAT, "kiln_counted<$>",
     "kiln_counted_of<$>(x, x == x)", "kiln_counted_add(a, b)", "y = a.sum / (double)a.count",
     "kiln_counted_of<$>(0, false)", 0, SINGLY},

    /* Values that are NaN become none; how many there were is in the moments, as floats count. */
    {KILN_REDUCE_NANVAR, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>",
     "kiln_moments_of_number<$>(x)", "kiln_moments_merge(a, b)",
     "y = kiln_moments_variance(a, $C)", "kiln_moments_none<$>()", 0, COUNTED},
    {KILN_REDUCE_NANVAR, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of_number<$>(x.real(), x.imag())",
     "kiln_complex_moments_merge(a, b)", "y = kiln_complex_moments_variance(a, $C)",
     "kiln_complex_moments_none<$>()", 0, COUNTED},
    {KILN_REDUCE_NANSTD, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>",
     "kiln_moments_of_number<$>(x)", "kiln_moments_merge(a, b)",
     "y = sqrt(kiln_moments_variance(a, $C))", "kiln_moments_none<$>()", 0, COUNTED},
    {KILN_REDUCE_NANSTD, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of_number<$>(x.real(), x.imag())",
     "kiln_complex_moments_merge(a, b)", "y = sqrt(kiln_complex_moments_variance(a, $C))",
     "kiln_complex_moments_none<$>()", 0, COUNTED},
    {KILN_REDUCE_NANARGMIN, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of_number<$>(x, _J, $H)", "kiln_position_least(a, b)",
     "y = kiln_position_index(a)", "kiln_position_of<$>($H, kiln_position_none)", NEEDS, SINGLY},
    {KILN_REDUCE_NANARGMAX, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of_number<$>(x, _J, $L)", "kiln_position_greatest(a, b)",
     "y = kiln_position_index(a)", "kiln_position_of<$>($L, kiln_position_none)", NEEDS, SINGLY},
    {KILN_REDUCE_NANARGMIN, "c", RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of_number<$>(x, _J, $(INFINITY, INFINITY))",
     "kiln_complex_position_least(a, b)", "y = kiln_position_index(a)",
     "kiln_position_of<$>($(INFINITY, INFINITY), kiln_position_none)", NEEDS, SINGLY},
    {KILN_REDUCE_NANARGMAX, "c", RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of_number<$>(x, _J, $(-INFINITY, -INFINITY))",
     "kiln_complex_position_greatest(a, b)", "y = kiln_position_index(a)",
     "kiln_position_of<$>($(-INFINITY, -INFINITY), kiln_position_none)", NEEDS, SINGLY},

    /* What stands in the accumulators of the rows above. */
    {KILN_REDUCE_MEAN, REALS, RULE_FLOAT, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = a.count > 0 ? kiln_moments_mean(a) : $(NAN)", "kiln_moments_none<$>()",
     BESIDE, MOMENTS},
    {KILN_REDUCE_MEAN, "c", RULE_FLOAT, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of<$>(x.real(), x.imag())", "kiln_complex_moments_merge(a, b)",
     "y = a.count > 0 ? $R(kiln_complex_moments_re(a), kiln_complex_moments_im(a)) : $R(NAN, NAN)",
     "kiln_complex_moments_none<$>()", BESIDE, COUNTED},
    {KILN_REDUCE_NANMEAN, INTEGERS, RULE_FLOAT, RULE_REAL, "kiln_moments<$>",
     "kiln_moments_of<$>(x)", "kiln_moments_merge(a, b)", "y = a.count > 0 ? kiln_moments_mean(a) : $(NAN)",
     "kiln_moments_none<$>()", BESIDE, MOMENTS},
    {KILN_REDUCE_NANMEAN, "f", RULE_FLOAT, RULE_REAL, "kiln_moments<$>",
     "kiln_moments_of_number<$>(x)", "kiln_moments_merge(a, b)",
     "y = a.count > 0 ? kiln_moments_mean(a) : $(NAN)", "kiln_moments_none<$>()", BESIDE, COUNTED},
    {KILN_REDUCE_NANMEAN, "c", RULE_FLOAT, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of_number<$>(x.real(), x.imag())",
     "kiln_complex_moments_merge(a, b)",
     "y = a.count > 0 ? $R(kiln_complex_moments_re(a), kiln_complex_moments_im(a)) : $R(NAN, NAN)",
     "kiln_complex_moments_none<$>()", BESIDE, COUNTED},
    {KILN_REDUCE_NANSUM, "fc", RULE_SAME, RULE_SAME, "kiln_counted<$>",
     "kiln_counted_of<$>(x, x == x)", "kiln_counted_add(a, b)", "y = a.sum",
     "kiln_counted_of<$>(0, false)", BESIDE, SINGLY},
    {KILN_REDUCE_MIN, REALS, RULE_SAME, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_least(a, b)", "y = a.value",
     "kiln_position_of<$>($H, kiln_position_none)", BESIDE, LEAST_AT},
    {KILN_REDUCE_MAX, REALS, RULE_SAME, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_greatest(a, b)", "y = a.value",
     "kiln_position_of<$>($L, kiln_position_none)", BESIDE, GREATEST_AT},

    /* Of two arrays: kiln_array_sum_product(). NumPy's vecdot conjugates its first argument. */
    {KILN__REDUCE_DOT, "b", RULE_SAME, RULE_SAME, "$", "x & y", "a | b", "z = a", "false", 0, SINGLY},
    {KILN__REDUCE_DOT, INTEGERS, RULE_SAME, RULE_SUM, "unsigned long long",
     "(unsigned long long)x * (unsigned long long)y", "a + b", "z = ($R)a", "0", 0, SINGLY},
    {KILN__REDUCE_DOT, REALS, RULE_SAME, RULE_SAME, "$", "$(x) * $(y)", "a + b", "z = a", "0",
     0, SINGLY},
    {KILN__REDUCE_DOT, "c", RULE_SAME, RULE_SAME, "$", "x * y", "a + b", "z = a", "0", 0, SINGLY},
    {KILN__REDUCE_VECDOT, "c", RULE_SAME, RULE_SAME, "$", "conj(x) * y", "a + b", "z = a", "0",
     0, SINGLY},

    /* What graphs make of sum(exp(x - max(x))) and max(x) (src/fusion/online.c). */
    {KILN__REDUCE_SUMEXP, "f", RULE_SAME, RULE_SAME, "kiln_logsum<$>", "kiln_logsum_of<$>(x)",
     "kiln_logsum_merge(a, b)", "y = kiln_logsum_sum(a)", "kiln_logsum_none<$>()", NEEDS, LOGSUM},
    {KILN__REDUCE_SUMEXP_MAX, "f", RULE_SAME, RULE_SAME, "kiln_logsum<$>", "kiln_logsum_of<$>(x)",
     "kiln_logsum_merge(a, b)", "y = a.most", "kiln_logsum_none<$>()", NEEDS, LOGSUM},

    /* What graphs make of topk() (src/fusion/topk.c). */
    {KILN__REDUCE_TOP, INTEGERS, RULE_SAME, RULE_SAME, "kiln_top<$, $K>",
     "kiln_top_of<$, $K>(x, _J, $L)", "kiln_top_merge(a, b)", "y = ($R)a.value[$J]",
     "kiln_top_none<$, $K>($L)", NEEDS, SINGLY},
    {KILN__REDUCE_TOP, "f", RULE_SAME, RULE_SAME, "kiln_top<$, $K>",
     "kiln_top_of<$, $K>(x, _J, NAN)", "kiln_top_merge(a, b)", "y = ($R)a.value[$J]",
     "kiln_top_none<$, $K>(NAN)", NEEDS, SINGLY},
    {KILN__REDUCE_TOP_AT, INTEGERS, RULE_INT64, RULE_SAME, "kiln_top<$, $K>",
     "kiln_top_of<$, $K>(x, _J, $L)", "kiln_top_merge(a, b)", "y = ($R)a.index[$J]",
     "kiln_top_none<$, $K>($L)", NEEDS, SINGLY},
    {KILN__REDUCE_TOP_AT, "f", RULE_INT64, RULE_SAME, "kiln_top<$, $K>",
     "kiln_top_of<$, $K>(x, _J, NAN)", "kiln_top_merge(a, b)", "y = ($R)a.index[$J]",
     "kiln_top_none<$, $K>(NAN)", NEEDS, SINGLY},

    /* Scans: kiln_array_scan(). Texts are those of scans, whose elements meet in pairs. */
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMSUM, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x",
     "a + b", "y = ($R)a", "0", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMSUM, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a + b",
     "y = a", "0", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMPROD, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x",
     "a * b", "y = ($R)a", "1", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMPROD, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a * b",
     "y = a", "1", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMAX, "f", RULE_SAME, RULE_SAME, "$", "x",
     "b > a || b != b ? b : a", "y = a", "$L", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMAX, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", GREATEST_INT,
     "y = ($R)a", "std::numeric_limits<$>::lowest()", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMAX, "c", RULE_SAME, RULE_SAME, "$", "x", GREATEST_COMPLEX,
     "y = a", "$(-INFINITY, -INFINITY)", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMIN, "f", RULE_SAME, RULE_SAME, "$", "x",
     "b < a || b != b ? b : a", "y = a", "$H", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMIN, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", LEAST_INT,
     "y = ($R)a", "std::numeric_limits<$>::max()", 0, SINGLY},
    {KILN__REDUCE_SCAN + KILN_SCAN_CUMMIN, "c", RULE_SAME, RULE_SAME, "$", "x", LEAST_COMPLEX,
     "y = a", "$(INFINITY, INFINITY)", 0, SINGLY},
};

/* $L and $H: the identities of maxima and minima. float8_e4m3fn has no infinity. */
static const char *const limits[KILN_DTYPE_COUNT][2] = {
    [KILN_BOOL] = {"false", "true"},
    [KILN_INT8] = {"-128", "127"},
    [KILN_INT16] = {"-32768", "32767"},
    [KILN_INT32] = {"(-2147483647 - 1)", "2147483647"},
    [KILN_INT64] = {"(-9223372036854775807ll - 1)", "9223372036854775807ll"},
    [KILN_UINT8] = {"0", "255"},
    [KILN_UINT16] = {"0", "65535"},
    [KILN_UINT32] = {"0", "4294967295u"},
    [KILN_UINT64] = {"0", "18446744073709551615ull"},
    [KILN_FLOAT16] = {"-INFINITY", "INFINITY"},
    [KILN_BFLOAT16] = {"-INFINITY", "INFINITY"},
    [KILN_FLOAT32] = {"-INFINITY", "INFINITY"},
    [KILN_FLOAT64] = {"-INFINITY", "INFINITY"},
    [KILN_FLOAT8_E4M3FN] = {"-448.0f", "448.0f"},
    [KILN_FLOAT8_E5M2] = {"-INFINITY", "INFINITY"},
};

/* ---- from a row to texts --------------------------------------------------------------------- */

/* The first row without any of the flags `but` and with all of `with`. */
static const row *find_row(int op, kiln_dtype dtype, unsigned but, unsigned with)
{
    const char kind = kiln_dtype_kind(dtype);
    const char half = kiln__is_narrow(dtype) ? 'h' : kind;
    op = op >= KILN__REDUCE_TOP ? op & ~0xff : op;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (rows[r].op == op && (rows[r].flags & (but | with)) == with &&
            (strchr(rows[r].kinds, kind) != NULL || strchr(rows[r].kinds, half) != NULL))
            return &rows[r];
    return NULL;
}

const kiln__reduce_row *kiln__reduce_row_for(int op, kiln_dtype dtype, bool masked)
{
    return find_row(op, dtype, BESIDE | (masked ? 0 : FOR_MASKS), 0);
}

const kiln__reduce_row *kiln__reduce_row_beside(int op, kiln_dtype dtype)
{
    return find_row(op, dtype, FOR_MASKS, BESIDE);
}

const kiln__reduce_row *kiln__reduce_row_find(int op, kiln_dtype dtype)
{
    return kiln__reduce_row_for(op, dtype, false);
}

static kiln_dtype apply_rule(dtype_rule rule, kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    const bool integer = kind == 'b' || kind == 'i' || kind == 'u';
    switch (rule) {
    case RULE_SUM:
        return kind == 'u' ? KILN_UINT64 : integer ? KILN_INT64 : dtype;
    case RULE_REAL:
        if (kind == 'c')
            return dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : KILN_FLOAT64;
        return integer ? KILN_FLOAT64 : dtype;
    case RULE_FLOAT:
        return integer ? KILN_FLOAT64 : dtype;
    case RULE_BOOL:
        return KILN_BOOL;
    case RULE_INT64:
        return KILN_INT64;
    case RULE_SAME:
        break;
    }
    return dtype;
}

/* Of a kind's numbers: more general kinds come later. */
static int kind_rank(kiln_dtype dtype)
{
    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        return 0;
    case 'i':
    case 'u':
        return 1;
    case 'f':
        return 2;
    default:
        return 3;
    }
}

bool kiln__reduce_is_position(const kiln__reduce_row *r)
{
    return strncmp(r->type, "kiln_position", 13) == 0;
}

bool kiln__reduce_takes_initial(const kiln__reduce_row *r)
{
    return r->op == KILN_REDUCE_SUM || r->op == KILN_REDUCE_PROD || r->op == KILN_REDUCE_MIN ||
           r->op == KILN_REDUCE_MAX || (r->op >= KILN_REDUCE_NANSUM && r->op <= KILN_REDUCE_NANMAX);
}

bool kiln__reduce_fits(const kiln__reduce_row *r, kiln_dtype dtype, kiln_dtype out)
{
    const kiln_dtype result = apply_rule(r->result, dtype);

    if (kiln__reduce_is_position(r) && kind_rank(out) != 1)
        return false; /* a position is no quantity */
    return kind_rank(out) >= kind_rank(result);
}

/* The type behind $. A typedef would be shorter for complex<float>, but texts show in errors. An
 * output that is wider than the values widens them, if it is of their kind, or complex for real ones. */
static const char *value_ctype(const row *r, kiln_dtype dtype, kiln_dtype out)
{
    kiln_dtype value = apply_rule(r->value, dtype);
    if (out != KILN_DTYPE_NONE && kind_rank(value) == 2)
        out = apply_rule(RULE_REAL, out);
    if (out != KILN_DTYPE_NONE && kind_rank(out) >= 2 && kind_rank(out) == kind_rank(value) &&
        r->result == r->value && kiln_dtype_size(out) > kiln_dtype_size(value))
        value = out;
    return kiln_dtype_ctype(kiln__is_narrow(value) ? KILN_FLOAT32 : value);
}

/* Append `text` with $ and $L, $H, $R, $N, $C, $K, $J filled in. */
static void fill_in(kiln__buf *b, const char *text, const char *ctype, kiln_dtype dtype,
                    kiln_dtype result, const kiln__reduce_form *form)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '$') {
            kiln__buf_putc(b, *c);
        } else if (c[1] == 'L' || c[1] == 'H') {
            kiln__buf_puts(b, limits[dtype][c[1] == 'H']);
            c++;
        } else if (c[1] == 'R') {
            kiln__buf_puts(b, kiln_dtype_ctype(result));
            c++;
        } else if (c[1] == 'O') {
            kiln__buf_puts(b, kiln_dtype_ctype(form->out != KILN_DTYPE_NONE ? form->out : result));
            c++;
        } else if (c[1] == 'K' || c[1] == 'J') {
            kiln__buf_put_number(b, c[1] == 'K' ? form->op >> 4 & 15 : form->op & 15);
            c++;
        } else if (c[1] == 'N' || c[1] == 'C') {
            kiln__buf_puts(b, c[1] == 'C' || form->masked ? "a.count" : "n");
            kiln__buf_puts(b, form->ddof ? " - ddof" : "");
            c++;
        } else {
            kiln__buf_puts(b, ctype);
        }
    }
}

int64_t kiln__reduce_part_bytes(const kiln__reduce_row *r, int op, kiln_dtype dtype)
{
    /* Structs of templates/prelude, as wide as the backend has them that has more: with values of four
     * bytes, of eight, and with complex ones. */
    static const struct {
        const char *begins;
        int64_t bytes[3];
    } structs[] = {{"kiln_complex_moments<", {32, 64, 64}},
                   {"kiln_moments<", {24, 64, 64}},
                   {"kiln_logsum<", {8, 16, 16}},
                   {"kiln_counted<", {16, 16, 32}},
                   {"kiln_position<", {16, 16, 32}}};
    const int64_t value = (int64_t)kiln_dtype_size(apply_rule(r->value, dtype));

    if (op >= KILN__REDUCE_TOP) /* an index has 8 bytes at most; a value of fewer than 4 becomes an int or a float */
        return ((op >> 4 & 15) * (value <= 4 ? 12 : 16) + 7) / 8 * 8;
    for (size_t k = 0; k < KILN_COUNT_OF(structs); k++)
        if (kiln__starts_with(r->type, structs[k].begins))
            return structs[k].bytes[value <= 4 ? 0 : value <= 8 ? 1 : 2];
    return value < 8 ? 8 : value;
}

kiln_dtype kiln__reduce_result(const kiln__reduce_row *r, kiln_dtype dtype)
{
    return apply_rule(r->result, dtype);
}

kiln__batching kiln__reduce_batching(const kiln__reduce_row *r)
{
    const bool plain = strcmp(r->map, "x") == 0;
    return (kiln__batching){.batch = (kiln__batch)r->batch,
                            .mapped = strchr(r->kinds, 'c') != NULL && r->batch == KILN__BATCH_COUNTED,
                            .element = plain && r->batch == KILN__BATCH_SUM,
                            .stated = true};
}

bool kiln__reduce_needs_elements(const kiln__reduce_row *r)
{
    return (r->flags & NEEDS) != 0;
}

void kiln__reduce_text(const kiln__reduce_row *r, kiln_dtype dtype,
                          const kiln__reduce_form *form, kiln__snippet_kind kind, kiln__buf *b)
{
    const char *text = kind == KILN__SNIPPET_REDUCE_TYPE ? r->type
                       : kind == KILN__SNIPPET_MAP       ? r->map
                       : kind == KILN__SNIPPET_REDUCE    ? r->reduce
                       : kind == KILN__SNIPPET_POST      ? r->post
                                                         : r->identity;
    fill_in(b, text, value_ctype(r, dtype, form->out), dtype, apply_rule(r->result, dtype), form);
}
