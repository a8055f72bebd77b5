/*
 * reduce_ops.c - named reductions and scans: sum, argmin, var, cumsum, ... of one array, dot of two
 * (kiln/reduction.h, kiln/scan.h).
 *
 *     (op, dtypes, options) > row of the table > texts of a definition > kernel, kept (kept.c)
 *
 * The table is src/codegen/reduce_table.c; scans have rows there too. src/graph, src/linalg and
 * src/sorting call this file.
 *
 * Rule: results have NumPy's dtypes. A given output may have a more general dtype, or a wider or
 *       narrower one of the same kind.
 *
 * Tests: test_reduction_where, test_reduction_named.
 */
#include <stdio.h>

#include "kernel/kernel.h"

/* By kiln_reduce_op and kiln_scan_op, which begin with 1. */
#define OP_NAME(name, value, text, doc) [value] = text,
static const char *const reduce_names[] = {KILN_REDUCE_MAP(OP_NAME)};
static const char *const scan_names[] = {KILN_SCAN_MAP(OP_NAME)};
#undef OP_NAME
enum { OP_COUNT = KILN_COUNT_OF(reduce_names), SCAN_COUNT = KILN_COUNT_OF(scan_names) };

static bool is_op(int op, int count)
{
    return op >= 1 && op < count;
}

const char *kiln_reduce_op_name(kiln_reduce_op op)
{
    return is_op((int)op, OP_COUNT) ? reduce_names[op] : "unknown";
}

const char *kiln_scan_op_name(kiln_scan_op op)
{
    return is_op((int)op, SCAN_COUNT) ? scan_names[op] : "unknown";
}

/* ---- from a row to a definition -------------------------------------------------------------- */

/* What decides a definition. `form.out` is the dtype of an output given where it is not the
 * result's own. */
typedef struct wanted {
    int op; /* kiln_reduce_op, or of two arrays */
    kiln_dtype dtype;
    kiln__reduce_form form;
} wanted;

static const char *op_name(int op)
{
    return op == KILN__REDUCE_DOT      ? "dot"
           : op == KILN__REDUCE_VECDOT ? "vecdot"
           : op > KILN__REDUCE_SCAN    ? kiln_scan_op_name((kiln_scan_op)(op - KILN__REDUCE_SCAN))
                                       : kiln_reduce_op_name((kiln_reduce_op)op);
}

static bool takes_two(int op)
{
    return op == KILN__REDUCE_DOT || op == KILN__REDUCE_VECDOT;
}

/* vecdot differs from dot for complex numbers alone. */
static const kiln__reduce_row *find_row(int op, kiln_dtype dtype, bool masked)
{
    if (op == KILN__REDUCE_VECDOT && kiln_dtype_kind(dtype) != 'c')
        op = KILN__REDUCE_DOT;
    return kiln__reduce_row_for(op, dtype, masked);
}

/* Make the definition for `ctx`, or only the definition when `ctx` is NULL. */
static kiln_status define(kiln_context *ctx, const wanted *w, kiln__kernel **out,
                          kiln__definition **def_out, kiln_error *err)
{
    static const kiln__snippet_kind kinds[] = {KILN__SNIPPET_MAP, KILN__SNIPPET_REDUCE,
                                               KILN__SNIPPET_POST, KILN__SNIPPET_IDENTITY,
                                               KILN__SNIPPET_REDUCE_TYPE};
    const kiln__reduce_row *r = find_row(w->op, w->dtype, w->form.masked);
    const kiln_dtype result =
        w->form.out != KILN_DTYPE_NONE ? w->form.out : kiln__reduce_result(r, w->dtype);
    const bool two = takes_two(w->op);
    kiln__buf text[KILN_COUNT_OF(kinds)] = {KILN__BUF_INIT};
    char name[32], output[32];
    bool failed = false;
    kiln_status status = KILN_ERR_NO_MEMORY;

    snprintf(name, sizeof name, "kiln_%s", op_name(w->op));
    snprintf(output, sizeof output, "%s %s", kiln_dtype_name(result), two ? "z" : "y");
    kiln__definition_request request = {
        .name = name,
        .in = two            ? "T x, T y"
              : w->form.ddof ? "T x, float64 ddof"
                             : "T x",
        .out = output,
        .batching = kiln__reduce_batching(r),
        .family = w->op > KILN__REDUCE_SCAN ? &kiln__family_scan : &kiln__family_reduction};
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++) {
        kiln__reduce_text(r, w->dtype, &w->form, kinds[k], &text[k]);
        failed = failed || text[k].failed;
        request.snippet[kinds[k]] = text[k].text;
    }
    if (failed)
        kiln__fail_memory(err, sizeof request);
    else if (ctx == NULL)
        status = kiln__definition_create(&request, def_out, err);
    else
        status = kiln__kernel_new(ctx, false, kiln__calls_of(request.family), &request, out, err);
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++)
        kiln__buf_clear(&text[k]);
    return status;
}

kiln_status kiln__named_definition(const char *name, kiln_dtype dtype, kiln__definition **out,
                                   kiln_error *err)
{
    *out = NULL;
    for (int op = 1; op < OP_COUNT; op++) {
        const wanted w = {op, dtype, {.out = KILN_DTYPE_NONE}};
        if (strcmp(op_name(op), name) != 0)
            continue;
        if (find_row(op, dtype, false) == NULL)
            return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", name,
                              kiln_dtype_name(dtype));
        return define(NULL, &w, NULL, out, err);
    }
    return kiln__fail(err, KILN_ERR_NAME, "there is no reduction named \"%.60s\"", name);
}

static kiln_status make(kiln_context *ctx, const void *w, kiln__kernel **out, kiln_error *err)
{
    return define(ctx, w, out, NULL, err);
}

static kiln_status get(kiln_context *ctx, const wanted *w, kiln__kernel **out, kiln_error *err)
{
    const uint64_t key = (((uint64_t)w->op << 8 | (uint64_t)w->dtype) << 8 | (uint64_t)w->form.out)
                             << 2 |
                         (uint64_t)w->form.masked << 1 | (uint64_t)w->form.ddof;
    return kiln__kept_kernel(ctx, make, w, key, out, err);
}

/* ---- what a call may ask for ------------------------------------------------------------- */

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

/* The options that are not for every reduction. As in NumPy, minima and maxima of what a mask
 * leaves need a start value, and positions take neither. */
static kiln_status check_options(int op, const kiln__reduce_row *row, const kiln_array *array,
                                 const kiln_reduction_call_options *o, kiln_error *err)
{
    const char *name = op_name(op);
    char shape[256];

    if (o->ddof != 0 && op != KILN_REDUCE_VAR && op != KILN_REDUCE_STD &&
        op != KILN_REDUCE_NANVAR && op != KILN_REDUCE_NANSTD)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s takes no `ddof`: it is for var and std",
                          name);
    if (o->initial != NULL && !kiln__reduce_takes_initial(row))
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "%s takes no `initial`: it is for sums, products, minima and maxima",
                          name);
    if (o->where != NULL && kiln__reduce_is_position(row))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s takes no `where`", name);
    if (!kiln__reduce_needs_elements(row) || o->initial != NULL)
        return KILN_OK;
    if (o->where != NULL)
        return kiln__fail(err, KILN_ERR_IDENTITY,
                          "%s of what `where` leaves may have no value: `initial` must be given",
                          name);
    if (reduces_nothing(array, o->axes))
        return kiln__fail(err, KILN_ERR_IDENTITY, "%s of no elements has no value: the shape is %s",
                          name, kiln__shape_text(array->rank, array->shape, shape, sizeof shape));
    return KILN_OK;
}

/* Find everything that the definition depends on, and check what it cannot know. */
static kiln_status check(const char *function, int op, const kiln_array *array,
                         const kiln_reduction_call_options *o, kiln_array *const *out, wanted *w,
                         kiln_error *err)
{
    if (array == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", function,
                          array == NULL ? "array" : "out");
    kiln_status status = kiln__array_check(array, NULL, "`array`", err);
    if (status == KILN_OK && *out != NULL)
        status = kiln__array_check(*out, array->ctx, "`*out`", err);
    if (status != KILN_OK)
        return status;
    *w = (wanted){op,
                  array->dtype,
                  {.masked = o->where != NULL, .ddof = o->ddof != 0, .out = KILN_DTYPE_NONE}};
    const kiln__reduce_row *row = find_row(op, array->dtype, w->form.masked);
    if (row == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", op_name(op),
                          kiln_dtype_name(array->dtype));
    const kiln_dtype result = kiln__reduce_result(row, array->dtype);
    if (*out != NULL && !kiln__reduce_fits(row, array->dtype, (*out)->dtype))
        return kiln__fail(err, KILN_ERR_DTYPE, "%s of %s is %s, which does not go into %s: `*out`",
                          op_name(op), kiln_dtype_name(array->dtype), kiln_dtype_name(result),
                          kiln_dtype_name((*out)->dtype));
    if (*out != NULL && (*out)->dtype != result)
        w->form.out = (*out)->dtype;
    return check_options(op, row, array, o, err);
}

static kiln_status read_options(const kiln_reduction_call_options *opts,
                                kiln_reduction_call_options *o, kiln_error *err)
{
    *o = (kiln_reduction_call_options)KILN_REDUCTION_CALL_OPTIONS_INIT;
    return opts == NULL ? KILN_OK : KILN_READ_OPTIONS(kiln_reduction_call_options, o, opts, err);
}

/* ---- the public functions -------------------------------------------------------------------- */

/* A named reduction of `x`, or of `x` and `y`. */
static kiln_status reduce(const char *function, int op, const kiln_array *x, const kiln_array *y,
                          const kiln_reduction_call_options *opts, kiln_array **out,
                          kiln_error *err)
{
    kiln_reduction_call_options o;
    kiln__kernel *kernel = NULL;
    kiln_arg args[4];
    size_t count = 0;
    wanted w;

    KILN_CHECK(read_options(opts, &o, err));
    if (takes_two(op) && y == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `y` is NULL", function);
    KILN_CHECK(check(function, op, x, &o, out, &w, err));
    KILN_CHECK(get(x->ctx, &w, &kernel, err));
    args[count++] = kiln_arg_array(x);
    if (takes_two(op))
        args[count++] = kiln_arg_array(y);
    if (w.form.ddof)
        args[count++] = kiln_arg_float(o.ddof);
    args[count++] = kiln_arg_out(out);
    o.ddof = 0; /* an argument now */
    return kiln__fail_as(op_name(op), kiln__call_run(kernel, args, count, &o, err), err);
}

kiln_status kiln_array_reduce_with(kiln_reduce_op op, const kiln_array *array,
                                   const kiln_reduction_call_options *opts, kiln_array **out,
                                   kiln_error *err)
{
    if (!is_op((int)op, OP_COUNT))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no reduction %d", (int)op);
    return reduce("kiln_array_reduce", (int)op, array, NULL, opts, out, err);
}

kiln_status kiln_array_reduce(kiln_reduce_op op, const kiln_array *array, const kiln_axes *axes,
                              bool keepdims, kiln_array **out, kiln_error *err)
{
    kiln_reduction_call_options opts = KILN_REDUCTION_CALL_OPTIONS_INIT;
    opts.axes = axes;
    opts.keepdims = keepdims;
    return kiln_array_reduce_with(op, array, &opts, out, err);
}

kiln_status kiln_array_sum_product(const kiln_array *x, const kiln_array *y,
                                   const kiln_reduction_call_options *opts, kiln_array **out,
                                   kiln_error *err)
{
    return reduce("kiln_array_sum_product", KILN__REDUCE_DOT, x, y, opts, out, err);
}

kiln_status kiln_array_vecdot(const kiln_array *x, const kiln_array *y,
                              const kiln_reduction_call_options *opts, kiln_array **out,
                              kiln_error *err)
{
    return reduce("kiln_array_vecdot", KILN__REDUCE_VECDOT, x, y, opts, out, err);
}

static kiln_status scan(kiln_scan_op op, const kiln_array *array,
                        const kiln_scan_call_options *opts, kiln_array **out, kiln_error *err)
{
    const kiln_reduction_call_options none = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    wanted w;

    if (!is_op((int)op, SCAN_COUNT))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no scan %d", (int)op);
    KILN_CHECK(check("kiln_array_scan", KILN__REDUCE_SCAN + (int)op, array, &none, out, &w, err));
    KILN_CHECK(get(array->ctx, &w, &kernel, err));
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(out)};
    return kiln__fail_as(op_name(w.op),
                         kiln__call_run(kernel, args, KILN_COUNT_OF(args), opts, err), err);
}

kiln_status kiln_array_scan(kiln_scan_op op, const kiln_array *array, const kiln_axes *axes,
                            unsigned flags, kiln_array **out, kiln_error *err)
{
    const kiln_scan_call_options opts = {sizeof opts, NULL, axes, flags};

    return scan(op, array, &opts, out, err);
}

/* ---- named scans in graphs ------------------------------------------------------------------- */

kiln_status kiln__named_scan(kiln_scan_op op, kiln_dtype dtype, kiln__definition **out,
                             kiln_error *err)
{
    const wanted w = {KILN__REDUCE_SCAN + (int)op, dtype, {.out = KILN_DTYPE_NONE}};

    *out = NULL;
    if (find_row(w.op, dtype, false) == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", kiln_scan_op_name(op),
                          kiln_dtype_name(dtype));
    return define(NULL, &w, NULL, out, err);
}

kiln_status kiln__scan_infer(kiln_scan_op op, const kiln_array *x, int64_t axis,
                             kiln_dtype *dtype_out, int *rank_out, int64_t *shape_out,
                             kiln_error *err)
{
    const kiln__reduce_row *row = find_row(KILN__REDUCE_SCAN + (int)op, x->dtype, false);

    if (row == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", kiln_scan_op_name(op),
                          kiln_dtype_name(x->dtype));
    if (axis != KILN__SCAN_ALL && (axis < -x->rank || axis >= x->rank))
        return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %lld is out of range for rank %d",
                          kiln_scan_op_name(op), (long long)axis, x->rank);
    *dtype_out = kiln__reduce_result(row, x->dtype);
    *rank_out = axis == KILN__SCAN_ALL ? 1 : x->rank;
    if (axis == KILN__SCAN_ALL)
        shape_out[0] = x->size;
    else
        memcpy(shape_out, x->shape, (size_t)x->rank * sizeof *shape_out);
    return KILN_OK;
}

kiln_status kiln__scan_into(kiln_scan_op op, const kiln_array *x, int64_t axis, kiln_stream *stream,
                            kiln_array **out, kiln_error *err)
{
    const bool all = axis == KILN__SCAN_ALL;
    const kiln_axes axes = {.count = 1, .axis = {all ? 0 : (int)axis}};
    const kiln_scan_call_options opts = {sizeof opts, stream, all ? NULL : &axes, 0};

    return scan(op, x, &opts, out, err);
}
