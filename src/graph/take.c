/*
 * take.c - kiln_array_take(), kiln_array_take_along_axis() and kiln_array_index()
 * (kiln/indexing.h).
 *
 *     arrays, subscripts > a graph of one gather, kept by the context (keep.c) > array
 *
 * Test: test_gather.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "kiln/indexing.h"

KILN_DEFINE_OPTIONS_INIT(kiln_index_options)

/* A key has the make, four numbers of a call, and four of each subscript. */
enum { SUBSCRIPTS_MAX = 64, KEY_HEAD = 5, KEY_MAX = KEY_HEAD + 4 * SUBSCRIPTS_MAX };

/* What is recorded: a take along an axis, one along it, or subscripts. */
typedef struct gather {
    const char *name;
    const kiln_array *array;
    kiln_index_options opts;
    bool along;
    int axis;
    const kiln_subscript *subscripts; /* NULL: take */
    size_t count;
    const kiln_array *indices[KILN_RANK_MAX];
    size_t index_count;
} gather;

static kiln_status check(const gather *g, kiln_error *err)
{
    char what[64];

    snprintf(what, sizeof what, "%s: the array", g->name);
    KILN_CHECK(kiln__array_check(g->array, NULL, what, err));
    for (size_t k = 0; k < g->index_count; k++) {
        snprintf(what, sizeof what, "%s: index array %zu", g->name, k + 1);
        KILN_CHECK(kiln__array_check(g->indices[k], g->array->ctx, what, err));
    }
    return KILN_OK;
}

static kiln_node record_subscripts(const gather *g, kiln_node x, const kiln_node *indices)
{
    kiln_subscript list[SUBSCRIPTS_MAX];
    size_t arrays = 0;

    memcpy(list, g->subscripts, g->count * sizeof *list);
    for (size_t k = 0; k < g->count; k++)
        if (list[k].kind == KILN_SUBSCRIPT_ARRAY)
            list[k].node = indices[arrays++];
    return kiln_node_index(x, list, g->count, g->opts.mode, g->name, 0);
}

static kiln_status record(kiln_context *ctx, const void *wanted, kiln_graph **out, kiln_error *err)
{
    const gather *g = wanted;
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    kiln_node indices[KILN_RANK_MAX], z;
    char text[32];

    opts.name = "kiln_index";
    opts.wide = -1;
    KILN_CHECK(kiln_graph_create(ctx, &opts, out, err));
    const kiln_node x = kiln_node_input(*out, "x", KILN_DTYPE_NONE, -1, g->name, 0);
    for (size_t k = 0; k < g->index_count; k++) {
        snprintf(text, sizeof text, g->index_count == 1 ? "indices" : "indices%zu", k + 1);
        indices[k] = kiln_node_input(*out, text, KILN_DTYPE_NONE, -1, g->name, 0);
    }
    if (g->subscripts != NULL)
        z = record_subscripts(g, x, indices);
    else if (g->along)
        z = kiln_node_take_along_axis(x, indices[0], g->axis, g->opts.mode, g->name, 0);
    else
        z = kiln_node_take(x, indices[0], g->axis, g->opts.mode, g->name, 0);
    kiln_node_output(*out, "z", z, g->name, 0);
    return KILN_OK;
}

/* All that decides what is recorded; the number of items. */
static size_t put_key(const gather *g, int64_t *key)
{
    size_t used = KEY_HEAD;

    key[1] = g->opts.mode;
    key[2] = g->subscripts != NULL ? (int64_t)g->count : -1 - g->along;
    key[3] = g->subscripts != NULL ? 0 : g->axis;
    key[4] = (int64_t)g->index_count;
    for (size_t k = 0; k < g->count; k++) {
        const kiln_subscript *s = &g->subscripts[k];
        const bool slice = s->kind == KILN_SUBSCRIPT_SLICE;
        key[used++] = s->kind;
        key[used++] = slice || s->kind == KILN_SUBSCRIPT_INDEX ? s->start : 0;
        key[used++] = slice ? s->stop : 0;
        key[used++] = slice ? s->step : 0;
    }
    return used;
}

static kiln_status run(gather *g, const kiln_index_options *opts, kiln_array **out, kiln_error *err)
{
    kiln_index_options defaults = KILN_INDEX_OPTIONS_INIT;
    kiln_arg args[KILN_RANK_MAX + 2];
    int64_t key[KEY_MAX];
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_TRY(check(g, err));
    g->opts = defaults;
    KILN_TRY(KILN_READ_OPTIONS(kiln_index_options, &g->opts, opts, err));
    args[0] = kiln_arg_array((kiln_array *)g->array);
    for (size_t k = 0; k < g->index_count; k++)
        args[1 + k] = kiln_arg_array((kiln_array *)g->indices[k]);
    args[1 + g->index_count] = kiln_arg_out(out);
    const kiln__kept_request request = {
        .make = record, .wanted = g, .key = key, .key_count = put_key(g, key)};
    KILN_TRY(kiln__kept_graph_run(g->array->ctx, &request, args, g->index_count + 2, g->opts.stream,
                                  err));

done:
    return status == KILN_OK ? KILN_OK : kiln__fail_as(g->name, status, err);
}

kiln_status kiln_array_take(const kiln_array *array, const kiln_array *indices, int axis,
                            const kiln_index_options *opts, kiln_array **out, kiln_error *err)
{
    gather g = {
        .name = "take", .array = array, .axis = axis, .indices = {indices}, .index_count = 1};
    return run(&g, opts, out, err);
}

kiln_status kiln_array_take_along_axis(const kiln_array *array, const kiln_array *indices, int axis,
                                       const kiln_index_options *opts, kiln_array **out,
                                       kiln_error *err)
{
    gather g = {.name = "take_along_axis",
                .array = array,
                .along = true,
                .axis = axis,
                .indices = {indices},
                .index_count = 1};
    return run(&g, opts, out, err);
}

kiln_status kiln_array_index(const kiln_array *array, const kiln_subscript *subscripts,
                             size_t count, const kiln_index_options *opts, kiln_array **out,
                             kiln_error *err)
{
    static const kiln_subscript none[1];
    gather g = {.name = "index",
                .array = array,
                .subscripts = count > 0 ? subscripts : none,
                .count = count};

    KILN_CHECK_NULL(out, err);
    if (count > 0)
        KILN_CHECK_NULL(subscripts, err);
    if (count > SUBSCRIPTS_MAX)
        return kiln__fail(err, KILN_ERR_AXIS, "index: %zu subscripts", count);
    for (size_t k = 0; k < count; k++) {
        if (subscripts[k].kind != KILN_SUBSCRIPT_ARRAY)
            continue;
        if (g.index_count == KILN_RANK_MAX)
            return kiln__fail(err, KILN_ERR_AXIS, "index: too many index arrays");
        g.indices[g.index_count++] = subscripts[k].array;
    }
    return run(&g, opts, out, err);
}
