/*
 * rearrange.c - kiln_array_rearrange() and the functions over it (kiln/rearrange.h), which run at
 * once.
 *
 *     operands > [the result is a view?] > view
 *              > [otherwise: a graph of one node, kept by the context: keep.c] > array
 *
 * Test: test_rearrange.
 */
#include "kiln/rearrange.h"
#include "graph/graph.h"

/* All windows along an axis. */
static kiln_status windows(const kiln_array *array, const int64_t *numbers, size_t count,
                           kiln_array **out, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX + 1];
    int axis = 0;

    KILN_CHECK(kiln__arrange_windows(numbers, count, array->rank, array->shape, shape, &axis, err));
    return kiln_array_sliding_window(array, KILN_AXES(axis), &numbers[1], out, err);
}

static kiln_status view(kiln_rearrangement what, const kiln_array *array, const int64_t *numbers,
                        size_t count, kiln_array **out, kiln_error *err)
{
    int64_t strides[KILN_RANK_MAX + 1] = {0};
    kiln__arranged g;
    char *data = array->data;

    if (what == KILN_REARRANGE_WINDOW && count != 3)
        return windows(array, numbers, count, out, err);
    KILN_CHECK(kiln__arrange_view(what, numbers, count, array->rank, array->shape, &g, err));
    for (int a = 0; a < array->rank; a++) {
        if (array->size > 0)
            data += g.map[a].start * array->strides[a];
        if (g.map[a].from >= 0)
            strides[g.map[a].from] += g.map[a].step * array->strides[a];
    }
    for (int a = 0; a < g.rank; a++)
        if (g.shape[a] == 0)
            data = array->data;
    return kiln__array_view(array, g.rank, g.shape, strides, data, out, err);
}

/* Find the arrays' context. */
static kiln_status find_context(kiln_rearrangement what, const kiln_arg *operands, size_t count,
                                kiln_context **ctx, kiln_error *err)
{
    const char *name = kiln_rearrangement_name(what);
    kiln__number number;

    for (size_t k = 0; k < count; k++) {
        if (kiln__arg_number(&operands[k], &number))
            continue;
        if (operands[k].kind != KILN_ARG_ARRAY)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "%s: operand %zu is neither an array nor a number", name, k + 1);
        KILN_CHECK(kiln__array_check(operands[k].value.array, *ctx, "an operand", err));
        *ctx = operands[k].value.array->ctx;
    }
    if (*ctx == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: no operand is an array", name);
    return KILN_OK;
}

/* A rearrangement as the key of its graph has it, behind what is not its own. */
typedef struct wanted {
    int64_t make, what, operand_count, number_count;
    int64_t numbers[];
} wanted;

/* A graph of one rearrangement, whose inputs are the operands. */
static kiln_status record(kiln_context *ctx, const void *user, kiln_graph **out, kiln_error *err)
{
    const wanted *w = user;
    const kiln_rearrangement what = (kiln_rearrangement)w->what;
    const size_t operand_count = (size_t)w->operand_count;
    kiln_node nodes[KILN__REARRANGE_OPERANDS_MAX];
    const char *name = kiln_rearrangement_name(what);
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    char text[32];

    opts.name = "kiln_rearrange";
    opts.wide = -1;
    KILN_CHECK(kiln_graph_create(ctx, &opts, out, err));
    for (size_t k = 0; k < operand_count; k++) {
        snprintf(text, sizeof text, "x%zu", k + 1);
        nodes[k] = kiln_node_input(*out, text, KILN_DTYPE_NONE, -1, name, 0);
    }
    const bool pads = kiln__pads_by_elements(what, w->numbers, (size_t)w->number_count);
    const kiln_node z = (pads ? kiln__node_padded(nodes, operand_count, w->numbers,
                                                  (size_t)w->number_count, name, 0)
                              : kiln_node_rearrange(what, nodes, operand_count, w->numbers,
                                                    (size_t)w->number_count, name, 0));
    kiln_node_output(*out, "z", z, name, 0);
    return KILN_OK;
}

static kiln_status run(kiln_context *ctx, kiln_rearrangement what, const kiln_arg *args,
                       size_t operand_count, const int64_t *numbers, size_t number_count,
                       kiln_error *err)
{
    const size_t items = sizeof(wanted) / sizeof(int64_t) + number_count;
    wanted *w = NULL;

    KILN_CHECK(kiln__make_zeroed(&w, items, sizeof(int64_t), err));
    w->what = what;
    w->operand_count = (int64_t)operand_count;
    w->number_count = (int64_t)number_count;
    for (size_t k = 0; k < number_count; k++)
        w->numbers[k] = numbers[k];
    const kiln__kept_request request = {
        .make = record, .wanted = w, .key = (int64_t *)(void *)w, .key_count = items};
    const kiln_status status =
        kiln__kept_graph_run(ctx, &request, args, operand_count + 1, NULL, err);
    kiln__free(w);
    return status;
}

/* Widths that are those of all axes, for each axis: a node does not know how many there are. */
static void widths_of_all(const kiln_arg *x, const int64_t **numbers, size_t *count,
                          int64_t *widths)
{
    const int rank = x->kind == KILN_ARG_ARRAY ? x->value.array->rank : 0;
    const bool length = *count == 4;

    widths[0] = (*numbers)[0];
    for (int a = 0; a < rank; a++)
        memcpy(widths + 1 + 2 * a, *numbers + 1, 2 * sizeof *widths);
    if (length)
        widths[1 + 2 * rank] = (*numbers)[3];
    *count = (size_t)(1 + 2 * rank + length);
    *numbers = widths;
}

kiln_status kiln_array_rearrange(kiln_rearrangement what, const kiln_arg *operands,
                                 size_t operand_count, const int64_t *numbers, size_t number_count,
                                 kiln_array **out, kiln_error *err)
{
    kiln_arg args[KILN__REARRANGE_OPERANDS_MAX + 1];
    kiln_context *ctx = NULL;
    kiln_array *made = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__arrange_check(what, operand_count, number_count, err));
    KILN_CHECK_NULL(operands, err);
    if (number_count > 0)
        KILN_CHECK_NULL(numbers, err);
    KILN_CHECK(find_context(what, operands, operand_count, &ctx, err));
    int64_t widths[2 + 2 * KILN_RANK_MAX];
    if (kiln__pads_by_elements(what, numbers, number_count) && number_count < 5)
        widths_of_all(&operands[0], &numbers, &number_count, widths);
    if (kiln__arrange_is_view(what))
        return view(what, operands[0].value.array, numbers, number_count, out, err);
    memcpy(args, operands, operand_count * sizeof *args);
    args[operand_count] = kiln_arg_out(&made);
    KILN_CHECK(run(ctx, what, args, operand_count, numbers, number_count, err));
    *out = made;
    return KILN_OK;
}
