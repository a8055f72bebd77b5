/*
 * elementwise.c - the public functions of kiln_elementwise. What is its own of a call is in loop.c.
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

KILN__HANDLE_FUNCTIONS(elementwise)
