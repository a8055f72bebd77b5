/*
 * scan_ops.c - named scans: cumsum, cumprod, cummax, cummin of one array.
 *
 *     (op, dtypes) > row of the table > texts of a definition > kiln_scan, kept by the context
 *
 * Each row of `rows` is an ordinary definition for some kinds of dtype; a scan is added by a row
 * (and a line of KILN_SCAN_MAP). In a row's texts $ stands for the type that values accumulate in.
 *
 * Rule: results have NumPy's dtypes; an output given may have a more general one, or a wider or
 *       narrower one of the same kind, as outputs of named reductions may.
 */
#include <stdio.h>

#include "kernel/kernel.h"
#include "kiln/scan.h"

typedef struct row {
    kiln_scan_op op;
    const char *kinds; /* kiln_dtype_kind()s it is for; the first row that fits counts */
    bool widens;       /* integers become int64 or uint64 */
    const char *reduce, *identity;
} row;

/* The greatest and least of numbers; of equal ones the earlier is kept, and so is the first NaN. */
#define GREATEST "b > a || b != b ? b : a"
#define LEAST "b < a || b != b ? b : a"

static const row rows[] = {
    {KILN_SCAN_CUMSUM, "biufc", true, "a + b", "0"},
    {KILN_SCAN_CUMPROD, "biufc", true, "a * b", "1"},
    {KILN_SCAN_CUMMAX, "f", false, GREATEST, "-INFINITY"},
    {KILN_SCAN_CUMMAX, "biu", false, "b > a ? b : a", "std::numeric_limits<$>::lowest()"},
    {KILN_SCAN_CUMMIN, "f", false, LEAST, "INFINITY"},
    {KILN_SCAN_CUMMIN, "biu", false, "b < a ? b : a", "std::numeric_limits<$>::max()"},
};

/* One past the largest kiln_scan_op. */
enum {
    OP_COUNT = 1
#define COUNT_OP(name, value, text, doc) +1
    KILN_SCAN_MAP(COUNT_OP)
#undef COUNT_OP
};

const char *kiln_scan_op_name(kiln_scan_op op)
{
    switch (op) {
#define NAME_CASE(name, value, text, doc)                                                          \
    case KILN_SCAN_##name:                                                                         \
        return text;
        KILN_SCAN_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown";
}

/* ---- from a row to a definition -------------------------------------------------------------- */

static const row *find_row(kiln_scan_op op, kiln_dtype dtype)
{
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (rows[r].op == op && strchr(rows[r].kinds, kiln_dtype_kind(dtype)) != NULL)
            return &rows[r];
    return NULL;
}

static kiln_dtype result_of(const row *r, kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    if (!r->widens || strchr("biu", kind) == NULL)
        return dtype;
    return kind == 'u' ? KILN_UINT64 : KILN_INT64;
}

/* Of a kind's numbers: more general kinds come later. */
static int kind_rank(kiln_dtype dtype)
{
    static const char kinds[] = "biufc";
    const int at = (int)(strchr(kinds, kiln_dtype_kind(dtype)) - kinds);
    return at <= 1 ? at : at - 1; /* signed and unsigned are one kind */
}

/* What values accumulate in. Sums of integers wrap as NumPy's do, which signed C++ integers must
 * not: they are unsigned. A wider output of the array's kind is accumulated in its precision. */
static const char *value_ctype(const row *r, kiln_dtype dtype, kiln_dtype out)
{
    if (r->widens && strchr("biu", kiln_dtype_kind(dtype)) != NULL)
        return "unsigned long long";
    if (kind_rank(dtype) >= 2 && kind_rank(out) == kind_rank(dtype) &&
        kiln_dtype_size(out) > kiln_dtype_size(dtype))
        dtype = out;
    return kiln_dtype_ctype(dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16 ? KILN_FLOAT32 : dtype);
}

/* What decides a definition. */
typedef struct wanted {
    const row *row;
    kiln_dtype dtype, result;
} wanted;

static kiln_status define(kiln_context *ctx, const void *state, kiln__kernel **out, kiln_error *err)
{
    const wanted *w = state;
    const row *r = w->row;
    const kiln_dtype dtype = w->dtype, result = w->result;
    const char *ctype = value_ctype(r, dtype, result);
    char name[32], output[32], identity[96], post[48];
    const char *mark = strchr(r->identity, '$');

    snprintf(name, sizeof name, "kiln_%s", kiln_scan_op_name(r->op));
    snprintf(output, sizeof output, "%s y", kiln_dtype_name(result));
    /* The detour matters to sums that are kept unsigned, and go into floating point. */
    snprintf(post, sizeof post, kind_rank(dtype) < 2 ? "y = (%s)a" : "y = a",
             kiln_dtype_ctype(result_of(r, dtype)));
    snprintf(identity, sizeof identity, "%.*s%s%s",
             (int)(mark != NULL ? (size_t)(mark - r->identity) : strlen(r->identity)), r->identity,
             mark != NULL ? ctype : "", mark != NULL ? mark + 1 : "");
    const kiln__definition_request request = {
        .name = name,
        .in = "T x",
        .out = output,
        .snippet = {[KILN__SNIPPET_MAP] = "x",
                    [KILN__SNIPPET_REDUCE] = r->reduce,
                    [KILN__SNIPPET_POST] = post,
                    [KILN__SNIPPET_IDENTITY] = identity,
                    [KILN__SNIPPET_REDUCE_TYPE] = ctype},
    };
    return kiln__kernel_new(ctx, false, &kiln__scan_calls, &request, out, err);
}

/* ---- the public function --------------------------------------------------------------------- */

static kiln_status check(kiln_scan_op op, const kiln_array *array, kiln_array *const *out,
                         const row **row_out, kiln_error *err)
{
    const char *name = kiln_scan_op_name(op);

    if (array == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_scan: `%s` is NULL",
                          array == NULL ? "array" : "out");
    if ((int)op < 1 || (int)op >= OP_COUNT)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no scan %d", (int)op);
    kiln_status status = kiln__array_check(array, NULL, "`array`", err);
    if (status == KILN_OK && *out != NULL)
        status = kiln__array_check(*out, array->ctx, "`*out`", err);
    if (status != KILN_OK)
        return status;
    *row_out = find_row(op, array->dtype);
    if (*row_out == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s: complex numbers have no order",
                          name, kiln_dtype_name(array->dtype));
    const kiln_dtype result = result_of(*row_out, array->dtype);
    if (*out != NULL && kind_rank((*out)->dtype) < kind_rank(result))
        return kiln__fail(err, KILN_ERR_DTYPE, "%s of %s is %s, which `*out` of %s cannot hold",
                          name, kiln_dtype_name(array->dtype), kiln_dtype_name(result),
                          kiln_dtype_name((*out)->dtype));
    return KILN_OK;
}

kiln_status kiln_array_scan(kiln_scan_op op, const kiln_array *array, const kiln_axes *axes,
                            unsigned flags, kiln_array **out, kiln_error *err)
{
    kiln__kernel *scan = NULL;
    wanted w = {NULL, KILN_DTYPE_NONE, KILN_DTYPE_NONE};

    KILN_CHECK(check(op, array, out, &w.row, err));
    w.dtype = array->dtype;
    w.result = *out != NULL ? (*out)->dtype : result_of(w.row, array->dtype);
    KILN_CHECK(kiln__kept_kernel(array->ctx, define, &w,
                                 ((uint64_t)op << 8 | (uint64_t)w.dtype) << 8 | (uint64_t)w.result,
                                 &scan, err));
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(out)};
    kiln_scan_call_options opts = KILN_SCAN_CALL_OPTIONS_INIT;
    opts.axes = axes;
    opts.flags = flags;
    kiln_status status = kiln_scan_run((kiln_scan *)scan, args, KILN_COUNT_OF(args), &opts, err);
    return kiln__fail_as(kiln_scan_op_name(op), status, err);
}
