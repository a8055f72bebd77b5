/*
 * kept_text.c - functions that run at once and are the text of an expression.
 *
 *     text, names of its inputs > graph kept by the context (keep.c) > results
 *
 * The first call parses the text. Later calls with an equal text and equal names use the same
 * graph, so a caller may compose its text anew for each call. at_once.c and choices.c call this
 * file.
 *
 * Tests: test_choice, test_unique, test_bad_input.
 */
#include <stdio.h>

#include "graph/graph.h"

typedef struct expression {
    const char *text;
    const char *const *names;
    size_t name_count;
} expression;

static kiln_status make(kiln_context *ctx, const void *wanted, kiln_graph **out, kiln_error *err)
{
    const expression *e = wanted;
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;

    opts.wide = -1;
    return kiln__graph_from_text(ctx, e->text, e->names, e->name_count, &opts, out, NULL, err);
}

/* The caller wrote no expression: nothing is said of columns and of the text. */
static kiln_status as_call(kiln_status status, kiln_error *err)
{
    char message[KILN_ERROR_MESSAGE_BYTES];
    int column = 0, begin = 0;

    if (status == KILN_OK || err == NULL ||
        sscanf(err->message, "expression, column %d: %n", &column, &begin) != 1 || begin == 0)
        return status;
    snprintf(message, sizeof message, "%s", err->message + begin);
    return kiln__fail(err, status, "%s", message);
}

kiln_status kiln__kept_text_run(kiln_context *ctx, const char *text, const char *const *names,
                                size_t name_count, const kiln_arg *args, size_t arg_count,
                                kiln_error *err)
{
    const expression wanted = {text, names, name_count};
    uint64_t hashes[KILN__KEPT_NAMES_MAX];

    for (size_t k = 0; k < name_count; k++)
        hashes[k] = kiln__hash_64(names[k], strlen(names[k]));
    const kiln__hash128 of_text = kiln__hash_128(text, strlen(text));
    const kiln__hash128 of_names = kiln__hash_128(hashes, name_count * sizeof *hashes);
    int64_t key[] = {0, (int64_t)of_text.hi, (int64_t)of_text.lo, (int64_t)of_names.hi,
                     (int64_t)of_names.lo};
    const kiln__kept_request request = {
        .make = make, .wanted = &wanted, .key = key, .key_count = KILN_COUNT_OF(key)};

    return as_call(kiln__kept_graph_run(ctx, &request, args, arg_count, NULL, err), err);
}
