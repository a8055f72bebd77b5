/*
 * elementwise.c - the public functions of kiln_elementwise.
 *
 * A thin skin: options are read here, everything else happens in kernel.c and recipe.c.
 */
#include "kernel/kernel.h"

kiln_status kiln_elementwise_create(kiln_context *ctx, const char *in, const char *outputs,
                                    const char *op, const kiln_elementwise_options *opts,
                                    kiln_elementwise **out, kiln_error *err)
{
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_elementwise_create: `out` is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_elementwise_create: `ctx` is NULL");
    if (opts != NULL)
        KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts->struct_size,
                                    "kiln_elementwise_options", err));
    if (o.compiler_option_count > 0 && o.compiler_options == NULL) {
        status = kiln__fail(err, KILN_ERR_NULL,
                            "kiln_elementwise_create: compiler_options is NULL, but "
                            "compiler_option_count is %zu",
                            o.compiler_option_count);
        goto done;
    }
    const kiln__definition_request request = {
        .name = o.name,
        .in = in,
        .out = outputs,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_LOOP_PREP] = o.loop_prep,
                    [KILN__SNIPPET_OP] = op,
                    [KILN__SNIPPET_AFTER_LOOP] = o.after_loop},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
        .keep_axes = o.keep_axes,
    };
    KILN_TRY(kiln__kernel_new(ctx, true, &kiln__loop_calls, &request, &kernel, err));
    *out = (kiln_elementwise *)kernel;

done:
    return status;
}

void kiln_elementwise_destroy(kiln_elementwise *op)
{
    kiln__kernel_destroy(op != NULL ? &op->kernel : NULL);
}

void kiln_elementwise_options_init(kiln_elementwise_options *opts, size_t struct_size)
{
    kiln__options_init(opts, struct_size);
}

void kiln_elementwise_call_options_init(kiln_elementwise_call_options *opts, size_t struct_size)
{
    kiln__options_init(opts, struct_size);
}

static kiln_status read_call(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                             const kiln_elementwise_call_options *opts, kiln__call *call,
                             kiln_error *err)
{
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_status status = KILN_OK;

    if (opts != NULL)
        status = kiln__options_read(&o, sizeof o, opts, opts->struct_size,
                                    "kiln_elementwise_call_options", err);
    if (status == KILN_OK)
        status = kiln__call_read(op != NULL ? &op->kernel : NULL, args, arg_count, o.stream, call,
                                 err);
    if (status == KILN_OK && o.has_size) {
        call->has_size = true;
        call->size = o.size;
    }
    return status;
}

static kiln_status make(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                        const kiln_elementwise_call_options *opts, const kiln__wanted *wanted,
                        kiln_error *err)
{
    kiln__call call;
    kiln_status status = kiln__wanted_begin(wanted, err);
    if (status == KILN_OK)
        status = read_call(op, args, arg_count, opts, &call, err);
    return status == KILN_OK ? kiln__wanted_make(wanted, &op->kernel, &call, err) : status;
}

kiln_status kiln_elementwise_run(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                 const kiln_elementwise_call_options *opts, kiln_error *err)
{
    kiln__call call;
    kiln_status status = read_call(op, args, arg_count, opts, &call, err);
    return status == KILN_OK ? kiln__kernel_run(&op->kernel, &call, err) : status;
}

kiln_status kiln_elementwise_prepare(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                     const kiln_elementwise_call_options *opts, kiln_launch **out,
                                     kiln_error *err)
{
    const kiln__wanted wanted = {.function = "kiln_elementwise_prepare",
                                 .what = KILN__WANT_LAUNCH,
                                 .out.launch = out};
    return make(op, args, arg_count, opts, &wanted, err);
}

kiln_status kiln_elementwise_prefetch(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                      const kiln_elementwise_call_options *opts,
                                      kiln_prefetch **out, kiln_error *err)
{
    const kiln__wanted wanted = {.function = "kiln_elementwise_prefetch",
                                 .what = KILN__WANT_AHEAD,
                                 .out.ahead = out};
    return make(op, args, arg_count, opts, &wanted, err);
}

kiln_status kiln_elementwise_source(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                    const kiln_elementwise_call_options *opts, char **text_out,
                                    kiln_error *err)
{
    const kiln__wanted wanted = {.function = "kiln_elementwise_source",
                                 .what = KILN__WANT_SOURCE,
                                 .out.source = text_out};
    return make(op, args, arg_count, opts, &wanted, err);
}
