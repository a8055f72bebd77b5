/*
 * text_gather.c - an element that indices name, as a statement of a kernel.
 *
 *     text > [text_gather > values]
 *
 *     const float t1 = kiln_at(&x_in, kiln_at_noted(i, x.shape()[0], x.strides()[0], ...));
 *
 * The array is two parameters. The raw one gives extents, strides and the address of the array; its
 * indexed axes come first. The other one moves with the loop along all axes that are not indexed,
 * and stays at index 0 of the indexed ones. Its address and the indices give the element. If no
 * axis moves, the raw parameter suffices.
 *
 * An index out of range is noted in a variable of its own, and reported after the last element: a call for each element
 * would keep the loads of the next ones from being made before it. What is noted lies in registers, so that of many
 * indices the others are reported where they are met.
 *
 * Test: test_gather.
 */
#include "fusion/write.h"

/* How the array's own axes are seen from the loop, but for the indexed ones, which stay at index 0. */
static const kiln__axis_map *walking_map(kiln__writer *w, const kiln__lowered *n,
                                         const kiln__axis_map *map, bool *walks)
{
    const kiln__lowered *table = &w->b->lowered[n->operand[0]];
    kiln__axis_map *through = kiln__build_note(w->b, (size_t)table->rank * sizeof *through + 1);

    kiln__compose(map, n->map, table->rank, through);
    *walks = false;
    for (int a = 0; a < table->rank; a++) {
        if (n->map[a].from <= KILN__BY_INDEX)
            through[a] = (kiln__axis_map){-1, 0, 0};
        *walks = *walks || through[a].from >= 0;
    }
    return through;
}

static const kiln__lowered *shape_of(const kiln__build *b, uint32_t node)
{
    return &b->lowered[b->lowering.lowered[node]];
}

/* Which axis of its operand an axis of a view is; -1 where the view shows other places along it than the operand has. */
static int axis_behind(kiln__build *b, uint32_t view, int axis)
{
    const kiln__node *n = &b->ir->nodes[view];
    const int64_t *data = b->ir->data + n->data;
    const kiln__lowered *shown = shape_of(b, view), *o = shape_of(b, b->ir->edges[n->operands]);
    int at;

    switch (n->op) {
    case KILN__VIEW_TRANSPOSE:
        if (n->all_axes)
            return o->rank - 1 - axis;
        return kiln__lower_axis(b, view, data[axis], o->rank);
    case KILN__VIEW_NEWAXIS:
        at = kiln__lower_axis(b, view, data[0], shown->rank);
        return axis == at ? -1 : axis - (axis > at);
    case KILN__VIEW_SELECT:
        at = kiln__lower_axis(b, view, data[0], o->rank);
        return axis + (axis >= at);
    case KILN__VIEW_SLICE:
        at = kiln__lower_axis(b, view, data[0], o->rank);
        return axis == at && (data[3] != 1 || shown->shape[axis] != o->shape[axis]) ? -1 : axis;
    case KILN__VIEW_RESHAPE:
        return shown->rank == 1 && o->rank == 1 ? axis : -1;
    default:
        return -1;
    }
}

/* What people call an array, and the number that its axis has for them: a view that only leaves out or permutes whole
 * axes is called as the array that it shows. */
static const char *array_name(kiln__build *b, uint32_t node, int *axis, char text[96])
{
    const kiln__ir *ir = b->ir;
    bool is_view = false;
    char name[96];

    for (int at; ir->nodes[node].kind == KILN__NODE_VIEW; node = ir->edges[ir->nodes[node].operands]) {
        at = is_view ? -1 : axis_behind(b, node, *axis);
        is_view = at < 0;
        *axis = is_view ? *axis : at;
    }
    snprintf(text, 96, "%s%.80s", is_view ? "a view of " : "", kiln__ir_what(ir, node, name));
    return text;
}

/* Whether two lowered nodes are views of one value. */
static bool are_of_one(const kiln__build *b, uint32_t x, uint32_t y)
{
    const kiln__lowered *one = &b->lowered[kiln__behind(b, x)],
                        *other = &b->lowered[kiln__behind(b, y)];

    return one == other || (one->kind == KILN__LOWERED_LEAF && other->kind == KILN__LOWERED_LEAF &&
                            one->arg == other->arg);
}

/* What the indices of operand 1 + k are called: an input by its name, computed ones by what they
 * are for. */
static const char *indices_name(const kiln__build *b, const kiln__lowered *n, uint32_t k,
                                char text[96])
{
    const kiln__node *node = &b->ir->nodes[n->origin];
    const uint32_t *edges = b->ir->edges + node->operands;

    uint32_t given = edges[1];
    char name[96];

    for (uint32_t e = node->operand_count; e-- > 1;)
        if (are_of_one(b, b->lowering.lowered[edges[e]], n->operand[1 + k]))
            given = edges[e];
    while (b->ir->nodes[given].kind == KILN__NODE_VIEW)
        given = b->ir->edges[b->ir->nodes[given].operands];
    if (b->ir->nodes[given].kind == KILN__NODE_INPUT)
        return kiln__ir_what(b->ir, given, text);
    snprintf(text, 96, "the indices of %.70s", kiln__ir_what(b->ir, n->origin, name));
    return text;
}

/* What is told of an index out of range: the report, the axis, the element that uses it, the names. */
static void put_told(kiln__writer *w, const kiln__lowered *n, uint32_t k, int axis,
                     const char *element, kiln__buf *text)
{
    const kiln__ir *ir = w->b->ir;
    char array[96], indices[96];
    const char *name = array_name(w->b, ir->edges[ir->nodes[n->origin].operands], &axis, array);

    kiln__buf_printf(text, "%s.kiln__data, %d, %s\"%s\", \"%s\"", kiln__report_param(w), axis, element, name,
                     indices_name(w->b, n, k, indices));
}

/* The end of a place that is checked, and, where it is noted, what stands before the loop. */
static void put_check(kiln__writer *w, const kiln__lowered *n, uint32_t k, const char *table,
                      bool noted, kiln__buf *text)
{
    kiln__buf *prep = &w->b->scratch[KILN__BUF_PREP];
    int axis = 0;

    while (n->map[axis].from != KILN__BY_INDEX - (int)k)
        axis++;
    kiln__buf_puts(text, ", ");
    put_told(w, n, k, axis, w->kernel->kind == KILN__STEP_LOOP ? "i, " : "-1, ", text);
    if (!noted)
        return;
    w->noted++;
    kiln__buf_printf(text, ", kiln__bad%d", w->noted);
    kiln__buf_printf(prep, "kiln_noted<%s> kiln__bad%d(%s.shape()[%u], ",
                     kiln_dtype_ctype(w->b->lowered[n->operand[1 + k]].dtype), w->noted, table, k);
    put_told(w, n, k, axis, "", prep);
    kiln__buf_puts(prep, ");\n");
}

static void put_place(kiln__writer *w, const kiln__lowered *n, uint32_t k, const char *table,
                      const char *index, bool noted, kiln__buf *text)
{
    static const char *const modes[] = {
        [KILN_INDEX_CHECK] = "check", [KILN_INDEX_WRAP] = "wrap", [KILN_INDEX_CLIP] = "clip"};

    kiln__buf_printf(text, "kiln_at_%s(%s, %s.shape()[%u], %s.strides()[%u]",
                     noted ? "noted" : modes[n->op], index, table, k, table, k);
    if (n->op == KILN_INDEX_CHECK)
        put_check(w, n, k, table, noted, text);
    kiln__buf_putc(text, ')');
}

const char *kiln__gather_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                              const char *const *operands)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    const uint32_t count = n->operand_count - 1;
    bool walks = false;

    if (w->dry) {
        b->values[kiln__behind(b, n->operand[0])].read = true;
        return "";
    }
    const kiln__axis_map *walking = walking_map(w, n, map, &walks);
    const char *table = kiln__table_param(w, n, walking, walks);
    const char *base = walks ? kiln__walking_param(w, n->operand[0], walking) : NULL;
    const bool noted = n->op == KILN_INDEX_CHECK && !w->post && w->noted + (int)count <= KILN__NOTED_MAX;
    kiln__buf *text = &b->scratch[KILN__BUF_TEXT];
    kiln__buf_printf(text, base != NULL ? "kiln_at(&%s, " : "kiln_at(%s.kiln__data, ",
                     base != NULL ? base : table);
    for (uint32_t k = 0; k + 1 < count; k++)
        kiln__buf_puts(text, "kiln_at_both(");
    for (uint32_t k = 0; k < count; k++) {
        kiln__buf_puts(text, k > 0 ? ", " : "");
        put_place(w, n, k, table, operands[1 + k], noted, text);
        kiln__buf_puts(text, k > 0 ? ")" : "");
    }
    kiln__buf_putc(text, ')');
    return kiln__build_note_text(b, text);
}

void kiln__write_noted(kiln__writer *w)
{
    kiln__buf *prep = &w->b->scratch[KILN__BUF_PREP];

    if (prep->length > 0)
        w->step->request.snippet[KILN__SNIPPET_LOOP_PREP] = kiln__build_text(w->b, prep);
}
