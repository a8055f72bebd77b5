/*
 * subscripts.c - x[...] as nodes: views for numbers, slices and None; gathers and scatters for
 * arrays.
 *
 *     kiln_node_index, calls.c, take.c > [subscripts] > nodes of views, then a gather
 *
 * The views come first and leave the axes of index arrays as they are. The rank is unknown while a
 * graph is recorded, so axes behind `...` are counted from the end.
 *
 * Tests: test_subscript, test_gather.
 */
#include "graph/subscripts.h"
#include "graph/graph.h"
#include "indexing/indexing.h"

/* Subscripts while they are applied. */
typedef struct application {
    kiln_node x;
    bool numbers_too; /* numbers are index arrays, too */
    const char *file;
    kiln_node indices[KILN__SUBSCRIPTS_MAX];
    int axes[KILN__SUBSCRIPTS_MAX];
    size_t count;
} application;

static bool is_advanced(const kiln__subscript *s)
{
    return s->kind == KILN_SUBSCRIPT_ARRAY;
}

/* Apply one subscript at `axis`. Returns whether the axis is there afterwards. */
static bool apply_one(application *a, const kiln__subscript *s, int axis)
{
    switch (s->kind) {
    case KILN_SUBSCRIPT_INDEX:
        if (!a->numbers_too) {
            a->x = kiln_node_select(a->x, axis, s->number[0], a->file, s->line);
            return false;
        }
        a->indices[a->count] = a->x.graph != NULL ? kiln__number_node(a->x.graph, s->number[0])
                                                  : kiln_node_of_int(s->number[0]);
        a->axes[a->count++] = axis;
        break;
    case KILN_SUBSCRIPT_SLICE:
        a->x =
            kiln_node_slice(a->x, axis, s->number[0], s->number[1], s->number[2], a->file, s->line);
        break;
    case KILN_SUBSCRIPT_NEW_AXIS:
        a->x = kiln_node_newaxis(a->x, axis, a->file, s->line);
        break;
    case KILN_SUBSCRIPT_ARRAY:
        a->indices[a->count] = s->node;
        a->axes[a->count++] = axis;
        break;
    case KILN_SUBSCRIPT_ELLIPSIS:
        break;
    }
    return true;
}

bool kiln__are_apart(const kiln__subscript *list, size_t count)
{
    return kiln__subscripts_apart(&list->kind, sizeof *list, count);
}

kiln_node kiln__index_nodes(kiln_node x, const kiln__subscript *list, size_t count,
                            kiln_index_mode mode, const char *file, int line)
{
    application a = {.x = x, .file = file};
    size_t ellipsis = SIZE_MAX;
    int behind = 0, before = 0;
    bool has_arrays = false;

    for (size_t k = 0; k < count; k++) {
        has_arrays = has_arrays || is_advanced(&list[k]);
        if (list[k].kind == KILN_SUBSCRIPT_ELLIPSIS)
            ellipsis = k;
    }
    /* A number that must be in range is a view, which needs no kernel of its own: it only counts where the axes of the
     * arrays go (kiln__are_apart). Others are indices like those of arrays. */
    a.numbers_too = has_arrays && mode != KILN_INDEX_CHECK;
    for (size_t k = count; ellipsis != SIZE_MAX && k-- > ellipsis + 1;)
        behind += apply_one(&a, &list[k], -behind - 1);
    for (size_t k = 0; k < count && k < ellipsis; k++)
        before += apply_one(&a, &list[k], before);
    if (!has_arrays)
        return a.x;
    return kiln__node_gather(a.x, a.indices, a.axes, a.count, mode,
                             kiln__are_apart(list, count) ? KILN__GATHER_APART : KILN__GATHER_TOGETHER,
                             file, line);
}

kiln_node kiln_node_index(kiln_node x, const kiln_subscript *subscripts, size_t count,
                          kiln_index_mode mode, const char *file, int line)
{
    kiln__subscript list[KILN__SUBSCRIPTS_MAX];
    size_t ellipses = 0;

    for (size_t k = 0; subscripts != NULL && k < count && k < KILN__SUBSCRIPTS_MAX; k++) {
        const kiln_subscript *s = &subscripts[k];
        list[k] = (kiln__subscript){
            .kind = s->kind, .number = {s->start, s->stop, s->step}, .node = s->node, .line = line};
        ellipses += s->kind == KILN_SUBSCRIPT_ELLIPSIS;
        if (s->kind < KILN_SUBSCRIPT_INDEX || s->kind > KILN_SUBSCRIPT_ARRAY)
            return kiln__node_fault(x, KILN_ERR_ARGUMENT, "index", file, line,
                                    "a subscript has an unknown kind");
    }
    if (count > KILN__SUBSCRIPTS_MAX || ellipses > 1)
        return kiln__node_fault(x, KILN_ERR_AXIS, "index", file, line,
                                ellipses > 1 ? "there may be one `...`" : "too many subscripts");
    if (subscripts == NULL && count > 0)
        return kiln__node_fault(x, KILN_ERR_NULL, "index", file, line,
                                "the list of subscripts is NULL");
    return kiln__index_nodes(x, list, count, mode, file, line);
}

/* Elements along one axis, or of all elements as one axis. */
static kiln_node take_along(kiln_node x, kiln_node indices, int axis, kiln_index_mode mode,
                            int kind, const char *file, int line)
{
    static const int64_t all = -1;
    const bool flat = axis == KILN_AXIS_FLAT;
    const int at = flat ? 0 : axis;

    if (flat)
        x = kiln_node_reshape(x, 1, &all, file, line);
    return kiln__node_gather(x, &indices, &at, 1, mode, kind, file, line);
}

kiln_node kiln_node_take(kiln_node x, kiln_node indices, int axis, kiln_index_mode mode,
                         const char *file, int line)
{
    return take_along(x, indices, axis, mode, KILN__GATHER_TOGETHER, file, line);
}

kiln_node kiln_node_take_along_axis(kiln_node x, kiln_node indices, int axis, kiln_index_mode mode,
                                    const char *file, int line)
{
    return take_along(x, indices, axis, mode, KILN__GATHER_ALONG, file, line);
}

/* ---- scatters -------------------------------------------------------------------------------------- */

/* What is wrong with a request; NULL: nothing. */
static const char *scatter_mistake(const kiln__scatter_request *r, const kiln_scatter_options *o,
                                   kiln_status *status)
{
    *status = KILN_ERR_ARGUMENT;
    if (r->what < KILN_SCATTER_SET || r->what > KILN_SCATTER_REDUCE)
        return "there is no such combination";
    if (o->mode < KILN_INDEX_CHECK || o->mode > KILN_INDEX_CLIP)
        return "there is no such index mode";
    for (size_t k = 0; r->subscripts != NULL && k < r->count; k++)
        if (r->subscripts[k].kind < KILN_SUBSCRIPT_INDEX ||
            r->subscripts[k].kind > KILN_SUBSCRIPT_ARRAY)
            return "a subscript has an unknown kind";
    *status = KILN_ERR_NULL;
    if (r->what == KILN_SCATTER_REDUCE && o->reduce == NULL)
        return "the option `reduce` is NULL";
    if (r->subscripts == NULL && r->count > 0)
        return "the list of subscripts is NULL";
    return NULL;
}

/* x with changed elements; a request's arrays are not looked at. */
static kiln_node add_scatter(const kiln__scatter_request *r, kiln_node x, kiln_node values,
                             const kiln_node *indices, const kiln_scatter_options *o,
                             const char *file, int line)
{
    kiln_node operands[KILN__OPAQUE_OPERANDS] = {x, values};
    int64_t data[KILN__SCATTER_NUMBERS];
    kiln_status status;
    size_t count = 2;

    const char *mistake = scatter_mistake(r, o, &status);
    if (mistake != NULL)
        return kiln__node_fault(x, status, "scatter", file, line, mistake);
    if (indices != NULL)
        operands[count++] = *indices;
    for (size_t k = 0; k < r->count; k++) {
        if (r->subscripts[k].kind != KILN_SUBSCRIPT_ARRAY)
            continue;
        if (count == KILN__OPAQUE_OPERANDS)
            return kiln__node_fault(x, KILN_ERR_AXIS, "scatter", file, line,
                                    "too many index arrays");
        operands[count++] = r->subscripts[k].node;
    }
    const kiln__opaque_given given = {.operation = kiln__opaque_named("scatter", 7),
                                      .operands = operands,
                                      .count = count,
                                      .data = data,
                                      .data_count = kiln__scatter_numbers(r, o, data)};
    if (given.data_count == 0)
        return kiln__node_fault(x, KILN_ERR_ARGUMENT, "scatter", file, line,
                                "there are too many subscripts, or `reduce` is too long");
    return kiln__opaque_node(&given, 0, file, line);
}

kiln_node kiln_node_scatter(kiln_node x, const kiln_subscript *subscripts, size_t count,
                            kiln_node values, kiln_scatter what, const kiln_scatter_options *opts,
                            const char *file, int line)
{
    const kiln__scatter_request r = {
        .form = KILN__SCATTER_AT, .what = what, .subscripts = subscripts, .count = count};
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;

    if (KILN_READ_OPTIONS(kiln_scatter_options, &o, opts, &err) != KILN_OK)
        return kiln__node_fault(x, err.status, "scatter", file, line, err.message);
    return add_scatter(&r, x, values, NULL, &o, file, line);
}

kiln_node kiln_node_put(kiln_node x, kiln_node indices, kiln_node values, kiln_index_mode mode,
                        const char *file, int line)
{
    const kiln__scatter_request r = {.form = KILN__SCATTER_FLAT};
    const kiln_scatter_options o = {.mode = mode};

    return add_scatter(&r, x, values, &indices, &o, file, line);
}

kiln_node kiln_node_put_along_axis(kiln_node x, kiln_node indices, kiln_node values, int axis,
                                   kiln_index_mode mode, const char *file, int line)
{
    const kiln__scatter_request r = {.form = KILN__SCATTER_ALONG, .axis = axis};
    const kiln_scatter_options o = {.mode = mode};

    return add_scatter(&r, x, values, &indices, &o, file, line);
}
