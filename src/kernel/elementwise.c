/*
 * elementwise.c - the public functions of kiln_elementwise (kiln/elementwise.h).
 *
 * They check their arguments in call.c. The shapes and options of a call are in loop.c, which
 * kernels of kiln's own use too.
 */
#include "kernel/kernel.h"

kiln_status kiln_elementwise_create(kiln_context *ctx, const char *in, const char *outputs,
                                    const char *op, const kiln_elementwise_options *opts,
                                    kiln_elementwise **out, kiln_error *err)
{
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = kiln__create_begin("kiln_elementwise", ctx, out, opts, &o, sizeof o, err);
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
        .numpy_types = o.numpy_types,
    };

    if (status == KILN_OK)
        status = kiln__kernel_define(ctx, &kiln__loop_calls, &request, &kernel, err);
    if (out != NULL)
        *out = (kiln_elementwise *)kernel;
    return status;
}

KILN__HANDLE_FUNCTIONS(elementwise)
