/*
 * reduce_ops.c - named reductions: sum, argmin, var, ... of one array.
 *
 *     (op, dtype) > row of the table > texts of a definition > kiln_reduction, kept by the context
 *
 * Each row of `rows` is an ordinary definition for some kinds of dtype; a reduction is added by a
 * row (and a line of KILN_REDUCE_MAP). What rows accumulate beyond plain numbers are the structs of
 * templates/prelude/{position,moments,counted}.h.
 *
 * In a row's texts, $ stands for the type that values are accumulated in, $L and $H for the least
 * and greatest value of the array's dtype.
 *
 * Rule 1: identities absorb: starting from one changes no result, so kernels need no flag that
 *         tells whether a value was seen.
 * Rule 2: results have NumPy's dtypes; what NumPy refuses for no elements is refused here, even
 *         where the definition has an identity.
 */
#include <stdio.h>

#include "kernel/kernel.h"
#include "kiln/reduction.h"

/* Which dtype the result has, or values are accumulated in. */
typedef enum dtype_rule {
    RULE_SAME,   /* the array's */
    RULE_SUM,    /* int64 for bool and signed integers, uint64 for unsigned, else the array's */
    RULE_FLOAT,  /* float64 for bool and integers, else the array's */
    RULE_REAL,   /* as RULE_FLOAT; the parts' dtype for complex numbers */
    RULE_BOOL,
    RULE_INT64
} dtype_rule;

typedef struct row {
    kiln_reduce_op op;
    const char *kinds;   /* kiln_dtype_kind()s it is for; the first row that fits counts */
    dtype_rule result;
    dtype_rule value;    /* what $ is; 16-bit floats become float32 */
    const char *type;    /* of the accumulator */
    const char *map, *reduce, *post, *identity;
    bool needs_elements; /* NumPy refuses to reduce nothing */
} row;

#define ANY_KIND "biufc"
#define INTEGERS "biu"
#define REALS "biuf"

/* The least of numbers; the left one is kept when equal, and so is the first NaN. */
#define LEAST_INT "b < a ? b : a"
#define LEAST "b < a || b != b ? b : a"
#define GREATEST_INT "b > a ? b : a"
#define GREATEST "b > a || b != b ? b : a"
/* Here a NaN loses: the identity is NaN, and stays when there is nothing else. */
#define LEAST_NUMBER "b < a || a != a ? b : a"
#define GREATEST_NUMBER "b > a || a != a ? b : a"

/* Sums of integers wrap as NumPy's do, which signed C++ integers must not: they are unsigned. */
static const row rows[] = {
    /* op, kinds, result, value, type, map, reduce, post, identity, needs elements */
    {KILN_REDUCE_SUM, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a + b", "y = a",
     "0", false},
    {KILN_REDUCE_SUM, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a + b", "y = a", "0", false},
    {KILN_REDUCE_PROD, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a * b", "y = a",
     "1", false},
    {KILN_REDUCE_PROD, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x", "a * b", "y = a", "1", false},

    {KILN_REDUCE_MIN, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", LEAST_INT, "y = a", "$H", true},
    {KILN_REDUCE_MIN, "f", RULE_SAME, RULE_SAME, "$", "x", LEAST, "y = a", "$H", true},
    {KILN_REDUCE_MAX, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", GREATEST_INT, "y = a", "$L", true},
    {KILN_REDUCE_MAX, "f", RULE_SAME, RULE_SAME, "$", "x", GREATEST, "y = a", "$L", true},
    {KILN_REDUCE_ARGMIN, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_least(a, b)", "y = a.index",
     "kiln_position_of<$>($H, kiln_position_none)", true},
    {KILN_REDUCE_ARGMAX, REALS, RULE_INT64, RULE_SAME, "kiln_position<$>",
     "kiln_position_of<$>(x, _J)", "kiln_position_greatest(a, b)", "y = a.index",
     "kiln_position_of<$>($L, kiln_position_none)", true},

    {KILN_REDUCE_ANY, ANY_KIND, RULE_BOOL, RULE_BOOL, "$", "x != T(0)", "a | b", "y = a", "false",
     false},
    {KILN_REDUCE_ALL, ANY_KIND, RULE_BOOL, RULE_BOOL, "$", "x != T(0)", "a & b", "y = a", "true",
     false},
    {KILN_REDUCE_COUNT_NONZERO, ANY_KIND, RULE_INT64, RULE_INT64, "$", "x != T(0)", "a + b",
     "y = a", "0", false},

    {KILN_REDUCE_MEAN, ANY_KIND, RULE_FLOAT, RULE_FLOAT, "$", "x", "a + b", "y = a / (double)n",
     "0", false},
    {KILN_REDUCE_VAR, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = kiln_moments_variance(a, n)", "kiln_moments_none<$>()",
     false},
    {KILN_REDUCE_VAR, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of<$>(x.real(), x.imag())", "kiln_complex_moments_merge(a, b)",
     "y = kiln_complex_moments_variance(a, n)", "kiln_complex_moments_none<$>()", false},
    {KILN_REDUCE_STD, REALS, RULE_REAL, RULE_REAL, "kiln_moments<$>", "kiln_moments_of<$>(x)",
     "kiln_moments_merge(a, b)", "y = sqrt(kiln_moments_variance(a, n))", "kiln_moments_none<$>()",
     false},
    {KILN_REDUCE_STD, "c", RULE_REAL, RULE_REAL, "kiln_complex_moments<$>",
     "kiln_complex_moments_of<$>(x.real(), x.imag())", "kiln_complex_moments_merge(a, b)",
     "y = sqrt(kiln_complex_moments_variance(a, n))", "kiln_complex_moments_none<$>()", false},

    {KILN_REDUCE_NORM1, REALS, RULE_REAL, RULE_REAL, "$", "fabs($(x))", "a + b", "y = a", "0",
     false},
    {KILN_REDUCE_NORM1, "c", RULE_REAL, RULE_REAL, "$", "abs(x)", "a + b", "y = a", "0", false},
    {KILN_REDUCE_NORM2, REALS, RULE_REAL, RULE_REAL, "$", "$(x) * $(x)", "a + b", "y = sqrt(a)",
     "0", false},
    {KILN_REDUCE_NORM2, "c", RULE_REAL, RULE_REAL, "$", "norm(x)", "a + b", "y = sqrt(a)", "0",
     false},
    {KILN_REDUCE_NORMINF, REALS, RULE_REAL, RULE_REAL, "$", "fabs($(x))", GREATEST, "y = a", "0",
     false},
    {KILN_REDUCE_NORMINF, "c", RULE_REAL, RULE_REAL, "$", "abs(x)", GREATEST, "y = a", "0", false},

    {KILN_REDUCE_NANSUM, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a + b", "y = a",
     "0", false},
    {KILN_REDUCE_NANSUM, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x != x ? $(0) : $(x)", "a + b",
     "y = a", "0", false},
    {KILN_REDUCE_NANPROD, INTEGERS, RULE_SUM, RULE_SUM, "unsigned long long", "x", "a * b",
     "y = a", "1", false},
    {KILN_REDUCE_NANPROD, ANY_KIND, RULE_SAME, RULE_SAME, "$", "x != x ? $(1) : $(x)", "a * b",
     "y = a", "1", false},
    {KILN_REDUCE_NANMIN, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", LEAST_INT, "y = a", "$H", true},
    {KILN_REDUCE_NANMIN, "f", RULE_SAME, RULE_SAME, "$", "x", LEAST_NUMBER, "y = a", "NAN", true},
    {KILN_REDUCE_NANMAX, INTEGERS, RULE_SAME, RULE_SAME, "$", "x", GREATEST_INT, "y = a", "$L",
     true},
    {KILN_REDUCE_NANMAX, "f", RULE_SAME, RULE_SAME, "$", "x", GREATEST_NUMBER, "y = a", "NAN",
     true},
    {KILN_REDUCE_NANMEAN, INTEGERS, RULE_FLOAT, RULE_FLOAT, "$", "x", "a + b", "y = a / (double)n",
     "0", false},
    {KILN_REDUCE_NANMEAN, ANY_KIND, RULE_FLOAT, RULE_FLOAT, "kiln_counted<$>",
     "kiln_counted_of<$>(x, x == x)", "kiln_counted_add(a, b)", "y = a.sum / (double)a.count",
     "kiln_counted_of<$>(0, false)", false},
};

/* $L and $H. Of 16-bit floats those of float, in which they are compared. */
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
};

/* One past the largest kiln_reduce_op. */
enum {
    OP_COUNT = 1
#define COUNT_OP(name, value, text, doc) +1
               KILN_REDUCE_MAP(COUNT_OP)
#undef COUNT_OP
};

const char *kiln_reduce_op_name(kiln_reduce_op op)
{
    switch (op) {
#define NAME_CASE(name, value, text, doc)                                                          \
    case KILN_REDUCE_##name:                                                                       \
        return text;
        KILN_REDUCE_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown";
}

/* ---- from a row to a definition -------------------------------------------------------------- */

static const row *find_row(kiln_reduce_op op, kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (rows[r].op == op && strchr(rows[r].kinds, kind) != NULL)
            return &rows[r];
    return NULL;
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

/* The type behind $. A typedef would be shorter for complex<float>, but texts show in errors. */
static const char *value_ctype(const row *r, kiln_dtype dtype)
{
    const kiln_dtype value = apply_rule(r->value, dtype);
    return kiln_dtype_ctype(value == KILN_FLOAT16 || value == KILN_BFLOAT16 ? KILN_FLOAT32 : value);
}

/* Append `text` with $, $L and $H filled in. */
static void fill_in(kiln__buf *b, const char *text, const char *ctype, kiln_dtype dtype)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '$') {
            kiln__buf_putc(b, *c);
        } else if (c[1] == 'L' || c[1] == 'H') {
            kiln__buf_puts(b, limits[dtype][c[1] == 'H']);
            c++;
        } else {
            kiln__buf_puts(b, ctype);
        }
    }
}

static kiln_status define(kiln_context *ctx, const row *r, kiln_dtype dtype, kiln_reduction **out,
                          kiln_error *err)
{
    enum { TYPE, MAP, REDUCE, POST, IDENTITY, TEXT_COUNT };
    const char *given[TEXT_COUNT] = {r->type, r->map, r->reduce, r->post, r->identity};
    const char *ctype = value_ctype(r, dtype);
    kiln__buf text[TEXT_COUNT] = {KILN__BUF_INIT};
    char name[32], output[32];
    bool failed = false;
    kiln_status status = KILN_ERR_NO_MEMORY;

    for (size_t k = 0; k < TEXT_COUNT; k++) {
        fill_in(&text[k], given[k], ctype, dtype);
        failed = failed || text[k].failed;
    }
    snprintf(name, sizeof name, "kiln_%s", kiln_reduce_op_name(r->op));
    snprintf(output, sizeof output, "%s y", kiln_dtype_name(apply_rule(r->result, dtype)));
    const kiln__definition_request request = {
        .name = name,
        .in = "T x",
        .out = output,
        .snippet = {[KILN__SNIPPET_MAP] = text[MAP].text,
                    [KILN__SNIPPET_REDUCE] = text[REDUCE].text,
                    [KILN__SNIPPET_POST] = text[POST].text,
                    [KILN__SNIPPET_IDENTITY] = text[IDENTITY].text,
                    [KILN__SNIPPET_REDUCE_TYPE] = text[TYPE].text},
        .reduction = true,
    };
    if (failed)
        kiln__fail_memory(err, sizeof request);
    else
        status = kiln__reduction_new(ctx, false, &request, out, err);
    for (size_t k = 0; k < TEXT_COUNT; k++)
        kiln__buf_clear(&text[k]);
    return status;
}

/* ---- kept by the context --------------------------------------------------------------------- */

typedef struct reduction_set {
    pthread_mutex_t lock;
    _Atomic(kiln_reduction *) op[OP_COUNT][KILN_DTYPE_COUNT];
} reduction_set;

static void *set_make(kiln_context *ctx)
{
    (void)ctx;
    reduction_set *set = kiln__calloc(1, sizeof *set);
    if (set != NULL)
        pthread_mutex_init(&set->lock, NULL);
    return set;
}

static void set_destroy(void *state)
{
    reduction_set *set = state;
    for (size_t op = 0; op < OP_COUNT; op++)
        for (size_t dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++)
            kiln_reduction_destroy(atomic_load(&set->op[op][dtype]));
    pthread_mutex_destroy(&set->lock);
    kiln__free(set);
}

static kiln_status get(kiln_context *ctx, const row *r, kiln_dtype dtype, kiln_reduction **out,
                       kiln_error *err)
{
    void *state = NULL;
    kiln_status status =
        kiln__context_attachment(ctx, KILN__ATTACH_REDUCE, set_make, set_destroy, &state, err);
    if (status != KILN_OK)
        return status;
    reduction_set *set = state;
    _Atomic(kiln_reduction *) *slot = &set->op[r->op][dtype];
    *out = atomic_load_explicit(slot, memory_order_acquire);
    if (*out != NULL)
        return KILN_OK;
    pthread_mutex_lock(&set->lock);
    *out = atomic_load(slot);
    if (*out == NULL)
        status = define(ctx, r, dtype, out, err);
    atomic_store_explicit(slot, *out, memory_order_release);
    pthread_mutex_unlock(&set->lock);
    return status;
}

/* ---- the public function --------------------------------------------------------------------- */

/* Whether an axis without elements is reduced: as in NumPy, also where no result is asked for. Axes
 * that are no axes are left for kiln_reduction_run() to explain. */
static bool reduces_nothing(const kiln_array *x, const kiln_axes *axes)
{
    if (axes == NULL)
        return x->size == 0;
    if (axes->count < 0 || axes->count > KILN_RANK_MAX)
        return false;
    bool nothing = false;
    for (int k = 0; k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + x->rank : axes->axis[k];
        if (axis < 0 || axis >= x->rank)
            return false;
        nothing = nothing || x->shape[axis] == 0;
    }
    return nothing;
}

/* The row for a call, after everything about it that the definition cannot know was checked. */
static kiln_status check(kiln_reduce_op op, const kiln_array *array, const kiln_axes *axes,
                         kiln_array *const *out, const row **row_out, kiln_error *err)
{
    const char *name = kiln_reduce_op_name(op);
    char shape[256];

    if (array == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_reduce: `%s` is NULL",
                          array == NULL ? "array" : "out");
    if ((int)op < 1 || (int)op >= OP_COUNT)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no reduction %d", (int)op);
    kiln_status status = kiln__array_check(array, NULL, "`array`", err);
    if (status == KILN_OK && *out != NULL)
        status = kiln__array_check(*out, array->ctx, "`*out`", err);
    if (status != KILN_OK)
        return status;
    *row_out = find_row(op, array->dtype);
    if (*row_out == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s: complex numbers have no order",
                          name, kiln_dtype_name(array->dtype));
    const kiln_dtype result = apply_rule((*row_out)->result, array->dtype);
    if (*out != NULL && (*out)->dtype != result)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s of %s is %s, but `*out` is %s", name,
                          kiln_dtype_name(array->dtype), kiln_dtype_name(result),
                          kiln_dtype_name((*out)->dtype));
    if ((*row_out)->needs_elements && reduces_nothing(array, axes))
        return kiln__fail(err, KILN_ERR_IDENTITY, "%s of no elements has no value: the shape is %s",
                          name, kiln__shape_text(array->rank, array->shape, shape, sizeof shape));
    return KILN_OK;
}

kiln_status kiln_array_reduce(kiln_reduce_op op, const kiln_array *array, const kiln_axes *axes,
                              bool keepdims, kiln_array **out, kiln_error *err)
{
    const row *r = NULL;
    kiln_reduction *reduction = NULL;
    kiln_reduce_options opts = KILN_REDUCE_OPTIONS_INIT;

    kiln_status status = check(op, array, axes, out, &r, err);
    if (status == KILN_OK)
        status = get(array->ctx, r, array->dtype, &reduction, err);
    if (status != KILN_OK)
        return status;
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(out)};
    opts.axes = axes;
    opts.keepdims = keepdims;
    return kiln_reduction_run(reduction, args, KILN_COUNT_OF(args), &opts, err);
}
