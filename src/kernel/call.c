/*
 * call.c - the common part of all public functions that make a kernel or call one.
 *
 *     kiln_scan_create and others > [check arguments > options] > definition
 *     kiln_scan_run and others    > [handle > options, the family's own too] > run, launch, ...
 *
 * elementwise.c, filter.c, reduction.c, row.c, scan.c and reduce_ops.c call it.
 *
 * Tests: test_lists, test_prefetch.
 */
#include <stdio.h>

#include "kernel/kernel.h"

/* ---- kernels ----------------------------------------------------------------------------------- */

kiln_status kiln__create_begin(const char *handle, const kiln_context *ctx, const void *out,
                               const void *opts, void *known, size_t known_bytes, kiln_error *err)
{
    char type[48];

    if (out == NULL || ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s_create: `%s` is NULL", handle,
                          out == NULL ? "out" : "ctx");
    snprintf(type, sizeof type, "%s_options", handle);
    return opts == NULL ? KILN_OK
                        : kiln__options_read(known, known_bytes, opts, *(const size_t *)opts, type,
                                             err);
}

_Static_assert(sizeof(kiln_scan_options) == sizeof(kiln_reduction_options) &&
                   offsetof(kiln_scan_options, reduce_type) ==
                       offsetof(kiln_reduction_options, reduce_type),
               "the options of scans are those of reductions");

kiln_status kiln__maps_create(const char *handle, kiln_context *ctx,
                              const kiln__family_calls *calls, const char *const *texts,
                              const void *opts, const void *out, kiln__kernel **kernel_out,
                              kiln_error *err)
{
    kiln_reduction_options o = KILN_REDUCTION_OPTIONS_INIT;
    kiln_status status = kiln__create_begin(handle, ctx, out, opts, &o, sizeof o, err);
    const kiln__definition_request request = {
        .name = o.name,
        .in = texts[0],
        .out = texts[1],
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_MAP] = texts[2],
                    [KILN__SNIPPET_REDUCE] = texts[3],
                    [KILN__SNIPPET_POST] = texts[4],
                    [KILN__SNIPPET_IDENTITY] = texts[5],
                    [KILN__SNIPPET_REDUCE_TYPE] = o.reduce_type},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
        .numpy_types = o.numpy_types,
    };
    *kernel_out = NULL;
    return status == KILN_OK ? kiln__kernel_define(ctx, calls, &request, kernel_out, err) : status;
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* What options of calls begin with; those of elementwise kernels have no axes. */
typedef struct options_head {
    size_t struct_size;
    kiln_stream *stream;
    const kiln_axes *axes;
} options_head;

static kiln_status read_options(kiln__kernel *op, const void *opts, kiln__reading *r,
                                kiln_error *err)
{
    const kiln__family_calls *calls = op->calls;
    union {
        options_head head;
        unsigned char bytes[KILN__CALL_OPTIONS_MAX];
    } known = {{0, NULL, NULL}};

    KILN_CHECK(kiln__options_read(&known, calls->options_bytes, opts, *(const size_t *)opts,
                                  calls->options_name, err));
    r->call.stream = known.head.stream;
    r->call.axes = calls->family->combines ? known.head.axes : NULL;
    return calls->read(r, &known, err);
}

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
        KILN_CHECK(read_options(op, opts, r, err));
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
    KILN_CHECK(read_call(op, args, arg_count, opts, &r, err));
    const kiln_status status = kiln__kernel_run(r.op, &r.call, err);
    return status == KILN__HAS_LISTS ? kiln__lists_run(r.op, &r.call, err) : status;
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

/* `lists`: some argument is a list. */
static kiln_status make(const kiln__wanted *wanted, bool lists, kiln__kernel *op,
                        const kiln__call *call, kiln_error *err)
{
    switch (wanted->what) {
    case KILN__WANT_LAUNCH:
        return (lists ? kiln__lists_prepare : kiln__kernel_prepare)(op, call, wanted->out.launch,
                                                                    err);
    case KILN__WANT_AHEAD:
        return (lists ? kiln__lists_prefetch : kiln__kernel_prefetch)(op, call, wanted->out.ahead,
                                                                      err);
    case KILN__WANT_SOURCE:
        break;
    }
    return lists ? kiln__lists_source(op, call, wanted->out.source, err)
                 : kiln__recipe_build(op, call, NULL, wanted->out.source, err);
}

kiln_status kiln__call_make(const kiln__wanted *wanted, kiln__kernel *op, const kiln_arg *args,
                            size_t arg_count, const void *opts, kiln_error *err)
{
    kiln__reading r;
    KILN_CHECK(begin(wanted, err));
    KILN_CHECK(read_call(op, args, arg_count, opts, &r, err));
    const kiln_status status = make(wanted, false, r.op, &r.call, err);
    return status == KILN__HAS_LISTS ? make(wanted, true, r.op, &r.call, err) : status;
}
