/*
 * fuzz_expression.c - any bytes are an expression or an error with a caret; what parses has a
 * program for some shapes, or a message, and never a crash.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/kiln.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static kiln_context *ctx;
static kiln_array *arrays[3];

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* One context for all inputs; nothing is ever launched. */
static void begin(void)
{
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;
    const int64_t shape[2] = {3, 4};
    if (ctx != NULL)
        return;
    opts.device = "cpu";
    require(kiln_context_create(&opts, &ctx, NULL) == KILN_OK);
    require(kiln_array_zeros(ctx, KILN_FLOAT32, 2, shape, &arrays[0], NULL) == KILN_OK);
    require(kiln_array_zeros(ctx, KILN_FLOAT64, 1, shape + 1, &arrays[1], NULL) == KILN_OK);
    require(kiln_array_zeros(ctx, KILN_INT32, 1, shape, &arrays[2], NULL) == KILN_OK);
}

/* Plan the graph's kernels for three arrays; the text is of no interest. */
static void plan(kiln_graph *graph, size_t results)
{
    enum { RESULTS_MAX = 64 };
    kiln_arg args[3 + RESULTS_MAX];
    kiln_array *outs[RESULTS_MAX] = {NULL};
    kiln_error err = KILN_ERROR_INIT;
    char *text = NULL;

    if (results > RESULTS_MAX)
        return;
    for (size_t k = 0; k < 3; k++)
        args[k] = kiln_arg_array(arrays[k]);
    for (size_t k = 0; k < results; k++)
        args[3 + k] = kiln_arg_out(&outs[k]);
    const kiln_status status = kiln_graph_explain(graph, args, 3 + results, &text, &err);
    require((status == KILN_OK) == (text != NULL));
    require(status == KILN_OK || err.message[0] != '\0');
    kiln_free(text);
    kiln_error_clear(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = {"x", "y", "n"};
    kiln_graph *graph = NULL;
    kiln_error err = KILN_ERROR_INIT;
    size_t results = 0;
    char *text = malloc(bytes + 1);

    if (text == NULL)
        return 0;
    if (bytes != 0)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    begin();
    const kiln_status status = kiln_graph_parse(ctx, text, names, 3, NULL, &graph, &results, &err);
    require((status == KILN_OK) == (graph != NULL));
    if (graph != NULL) {
        require(results > 0);
        plan(graph, results);
    } else {
        require(err.status == status && err.message[0] != '\0');
        require(status != KILN_ERR_INTERNAL);
        require(status != KILN_ERR_SYNTAX || err.detail != NULL);
    }
    kiln_graph_destroy(graph);
    kiln_error_clear(&err);
    free(text);
    return 0;
}
