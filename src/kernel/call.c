/*
 * call.c - what every public function that makes a call of a kernel does.
 *
 *     kiln_scan_run and its like > [handle > options, read by the family] > run, launch, ...
 */
#include "kernel/kernel.h"

/* Check the handle, read the options, resolve the stream. */
static kiln_status read_call(kiln__kernel *op, const kiln_arg *args, size_t arg_count,
                             const void *opts, kiln__reading *r, kiln_error *err)
{
    memset(&r->call, 0, sizeof r->call);
    if (op == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "the kernel is NULL");
    if (op->magic != KILN__KERNEL_MAGIC)
        return kiln__fail(err, KILN_ERR_RELEASED, "the kernel was destroyed");
    if (kiln__context_forked(op->ctx))
        return kiln__context_check(op->ctx, err);
    if (args == NULL && arg_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": `args` is NULL", op->def->name);
    r->op = op;
    r->call.args = args;
    r->call.arg_count = arg_count;
    if (opts != NULL) {
        kiln_status status = op->calls->read(r, opts, err);
        if (status != KILN_OK)
            return status;
        if (r->call.stream != NULL)
            return kiln__context_stream(op->ctx, r->call.stream, &r->call.stream, err);
    }
    r->call.stream = kiln__device_stream(op->device);
    return KILN_OK;
}

kiln_status kiln__call_run(kiln__kernel *op, const kiln_arg *args, size_t arg_count,
                           const void *opts, kiln_error *err)
{
    kiln__reading r;
    kiln_status status = read_call(op, args, arg_count, opts, &r, err);
    return status == KILN_OK ? kiln__kernel_run(r.op, &r.call, err) : status;
}

/* Empty the output, or say that it is missing. */
static kiln_status begin(const kiln__wanted *wanted, kiln_error *err)
{
    switch (wanted->what) {
    case KILN__WANT_LAUNCH:
        if (wanted->out.launch == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "%s: `out` is NULL", wanted->function);
        *wanted->out.launch = NULL;
        break;
    case KILN__WANT_SOURCE:
        if (wanted->out.source == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "%s: `text_out` is NULL", wanted->function);
        *wanted->out.source = NULL;
        break;
    case KILN__WANT_AHEAD:
        if (wanted->out.ahead != NULL)
            *wanted->out.ahead = NULL;
        break;
    }
    return KILN_OK;
}

static kiln_status make(const kiln__wanted *wanted, kiln__kernel *op, const kiln__call *call,
                        kiln_error *err)
{
    switch (wanted->what) {
    case KILN__WANT_LAUNCH:
        return kiln__kernel_prepare(op, call, wanted->out.launch, err);
    case KILN__WANT_AHEAD:
        return kiln__kernel_prefetch(op, call, wanted->out.ahead, err);
    case KILN__WANT_SOURCE:
        break;
    }
    return kiln__recipe_build(op, call, NULL, wanted->out.source, err);
}

kiln_status kiln__call_make(const kiln__wanted *wanted, kiln__kernel *op, const kiln_arg *args,
                            size_t arg_count, const void *opts, kiln_error *err)
{
    kiln__reading r;
    kiln_status status = begin(wanted, err);
    if (status == KILN_OK)
        status = read_call(op, args, arg_count, opts, &r, err);
    return status == KILN_OK ? make(wanted, r.op, &r.call, err) : status;
}
