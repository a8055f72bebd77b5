/*
 * reduce_call.c - the definition that the options of a reduction's call need.
 *
 *     [options > where, initial > definition with these inputs] > recipe > memo > run
 *
 * A mask (`where`) and a start value (`initial`) are inputs of a second definition, whose signature
 * names them behind the user's own. It is made when first needed and kept beside the first one.
 * reduction.c calls this file; axes and shapes are there.
 *
 * Test: test_reduction_where.
 */
#include <stdio.h>

#include "kernel/kernel.h"

/* Which of the inputs that a call may add are there: an index of kiln_reduction.with. */
enum { WITH_WHERE = 1, WITH_INITIAL = 2 };

/* ---- definitions with further inputs --------------------------------------------------------- */

/* What a start value is converted to when the first output is of `dtype`: that, or what its parts are
 * where a complex output takes the results of real accumulators. */
static kiln_dtype initial_dtype(const kiln__definition *d, kiln_dtype dtype)
{
    const char *type = d->snippet[KILN__SNIPPET_REDUCE_TYPE];
    if (kiln_dtype_kind(dtype) != 'c' || type[0] == '\0' || strstr(type, "complex") != NULL)
        return dtype;
    return dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : KILN_FLOAT64;
}

/* "T x, bool kiln__where, T kiln__initial"; the start value has the type of the first output. */
static void put_signature(const kiln__definition *d, int with, kiln__buf *b)
{
    const kiln__param *first = &d->params[d->input_count];

    kiln__buf_puts(b, d->signature[0]);
    if (with & WITH_WHERE)
        kiln__buf_puts(b, ", bool " KILN__WHERE);
    if ((with & WITH_INITIAL) && first->placeholder != 0)
        kiln__buf_printf(b, ", %c " KILN__INITIAL, first->placeholder);
    else if (with & WITH_INITIAL)
        kiln__buf_printf(b, ", %s " KILN__INITIAL,
                         kiln_dtype_name(initial_dtype(d, first->dtype)));
}

static kiln_status make_with(const kiln__kernel *op, int with, kiln__kernel **out, kiln_error *err)
{
    const kiln__definition *d = op->def;
    kiln__buf in = KILN__BUF_INIT;

    put_signature(d, with, &in);
    kiln__definition_request request = {.name = d->name,
                                        .in = in.text,
                                        .out = d->signature[1],
                                        .batching = kiln__batching_with(d, with & WITH_WHERE),
                                        .options = (const char *const *)d->options,
                                        .option_count = d->option_count};
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        request.snippet[k] = d->snippet[k];
    kiln_status status =
        in.failed ? kiln__fail_memory(err, in.capacity)
                  : kiln__kernel_new(op->ctx, op->owns_ctx, op->calls, &request, out, err);
    kiln__buf_clear(&in);
    return status;
}

/* The reduction with these inputs, made now if it is not there. */
static kiln_status get_with(kiln__kernel *op, int with, kiln__kernel **out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    *out = atomic_load_explicit(&op->with[with], memory_order_acquire);
    if (*out != NULL)
        return KILN_OK;
    pthread_mutex_lock(&op->lock);
    *out = atomic_load(&op->with[with]);
    if (*out == NULL)
        status = make_with(op, with, out, err);
    atomic_store_explicit(&op->with[with], *out, memory_order_release);
    pthread_mutex_unlock(&op->lock);
    return status;
}

/* ---- options --------------------------------------------------------------------------------- */

static kiln_status check_where(const kiln__kernel *op, const kiln_reduction_call_options *o,
                               kiln_error *err)
{
    const kiln__definition *d = op->def;
    char what[300];

    snprintf(what, sizeof what, "kernel \"%.200s\": `where`", d->name);
    KILN_CHECK(kiln__array_check(o->where, op->ctx, what, err));
    if (o->where->dtype != KILN_BOOL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is %s; a mask is bool", what,
                          kiln_dtype_name(o->where->dtype));
    if (o->initial == NULL && d->snippet[KILN__SNIPPET_IDENTITY][0] == '\0')
        return kiln__fail(err, KILN_ERR_IDENTITY,
                          "%s may leave nothing to reduce, and there is neither an identity nor "
                          "`initial`",
                          what);
    return KILN_OK;
}

static kiln_status check_initial(const kiln__kernel *op, const kiln_arg *initial, kiln_error *err)
{
    kiln__given given;

    if (kiln__given_scalar(initial, &given))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%s\": `initial` is no number",
                      op->def->name);
}

/* Put what the options add between the caller's inputs and outputs. */
static kiln_status add_inputs(kiln__kernel *op, const kiln_reduction_call_options *o,
                              kiln__reading *r,
                              kiln_error *err)
{
    const kiln__definition *d = op->def;
    const int with = (o->where != NULL ? WITH_WHERE : 0) | (o->initial != NULL ? WITH_INITIAL : 0);
    const kiln_arg *given = r->call.args;
    size_t count = 0;

    /* A wrong number of arguments is told in the caller's terms. */
    if (with == 0 || r->call.arg_count != d->param_count)
        return KILN_OK;
    if (o->where != NULL)
        KILN_CHECK(check_where(op, o, err));
    if (o->initial != NULL)
        KILN_CHECK(check_initial(op, o->initial, err));
    KILN_CHECK(get_with(op, with, &r->op, err));
    for (size_t p = 0; p < d->input_count; p++)
        r->args[count++] = given[p];
    if (o->where != NULL)
        r->args[count++] = kiln_arg_array(o->where);
    if (o->initial != NULL)
        r->args[count++] = *o->initial;
    for (size_t p = d->input_count; p < d->param_count; p++)
        r->args[count++] = given[p];
    r->call.args = r->args;
    r->call.arg_count = count;
    return KILN_OK;
}

kiln_status kiln__reduction_read(kiln__reading *r, const void *opts, kiln_error *err)
{
    const kiln_reduction_call_options *o = opts;

    if (o->ddof != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%s\": `ddof` is for var and std alone", r->op->def->name);
    r->call.keepdims = o->keepdims;
    return add_inputs(r->op, o, r, err);
}
