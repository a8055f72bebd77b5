/*
 * why_dtype.c - the operand that gives a result its dtype, for messages and explained programs.
 *
 *     lower > [why_dtype]
 *
 * One float64 array among float32 arrays makes every result that depends on it float64, which costs
 * memory and, on many GPUs, most of the speed. These functions follow the first operand that has
 * the result's dtype, back to the input, cast or operation that the dtype comes from.
 *
 * Test: test_graph_explain.
 */
#include "fusion/build.h"

/* The dtype of a recorded node; NONE of a weak one. */
static kiln_dtype dtype_of(const kiln__build *b, uint32_t node)
{
    kiln__op_type type;
    return kiln__is_number(b, node, &type) ? KILN_DTYPE_NONE : b->lowering.dtype[node];
}

/* The operand that a node's dtype is taken from: one of the same dtype. 0: there is none. */
static uint32_t source_of(const kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const bool choice = n->kind == KILN__NODE_OP && n->op == KILN_OP_WHERE;
    if (n->kind != KILN__NODE_OP && n->kind != KILN__NODE_REDUCE && n->kind != KILN__NODE_VIEW)
        return 0;
    for (uint32_t k = choice ? 1 : 0; k < n->operand_count; k++) {
        const uint32_t from = b->ir->edges[n->operands + k];
        if (dtype_of(b, from) == dtype_of(b, node))
            return from;
    }
    return 0;
}

/* "multiply (norm.c:12)". */
static void put_place(const kiln__build *b, uint32_t node, kiln__buf *text)
{
    const kiln__node *n = &b->ir->nodes[node];
    char what[96];
    kiln__buf_puts(text, kiln__ir_what(b->ir, node, what));
    if (n->file != NULL)
        kiln__buf_printf(text, " (%s:%d)", kiln__file_name(n->file), n->line);
}

/* " of int32 and a plain number". */
static void put_operands(const kiln__build *b, uint32_t node, kiln__buf *text)
{
    const kiln__node *n = &b->ir->nodes[node];
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln_dtype dtype = dtype_of(b, b->ir->edges[n->operands + k]);
        kiln__buf_puts(text, k == 0 ? " of " : k + 1 == n->operand_count ? " and " : ", ");
        kiln__buf_puts(text, dtype != KILN_DTYPE_NONE ? kiln_dtype_name(dtype) : "a plain number");
    }
}

/* What the dtype of a node comes from: "input `b` is float64", "mean (norm.c:7) of int32 is
 * float64". */
static void put_source(const kiln__build *b, uint32_t node, kiln__buf *text)
{
    for (uint32_t from; (from = source_of(b, node)) != 0;)
        node = from;
    const kiln__node *n = &b->ir->nodes[node];
    const kiln_dtype dtype = b->lowering.dtype[node];
    if (n->kind == KILN__NODE_INPUT)
        kiln__buf_printf(text, "input `%.60s`", b->ir->inputs[n->input].name);
    else
        put_place(b, node, text);
    if (n->kind == KILN__NODE_OP || n->kind == KILN__NODE_REDUCE)
        put_operands(b, node, text);
    kiln__buf_printf(text, " is %s", kiln_dtype_name(dtype));
}

/* Whether `to` holds the same kind of number as `from` in more bytes. */
static bool widens(kiln_dtype from, kiln_dtype to)
{
    const char kind = kiln_dtype_kind(from), wide = kiln_dtype_kind(to);
    const size_t parts = wide == 'c' && kind != 'c' ? 2 : 1;
    const bool alike = kind == wide || (kind == 'f' && wide == 'c') ||
                       ((kind == 'i' || kind == 'u') && (wide == 'i' || wide == 'u'));
    return alike && kiln_dtype_size(to) > parts * kiln_dtype_size(from);
}

/* The first operand that an operation widens for the sake of another one, `by`: one of the wider
 * dtype, or else any that differs (float32 and int32 make float64). */
static bool find_widened(const kiln__build *b, uint32_t node, kiln_dtype type, uint32_t *narrow,
                         uint32_t *by)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    uint32_t other = 0;

    *narrow = *by = 0;
    for (uint32_t k = n->operand_count; k-- > 0;) {
        const kiln_dtype dtype = dtype_of(b, from[k]);
        if (dtype == type)
            *by = from[k];
        else if (dtype != KILN_DTYPE_NONE && widens(dtype, type))
            *narrow = from[k];
    }
    for (uint32_t k = 0; *narrow != 0 && k < n->operand_count; k++) {
        const kiln_dtype dtype = dtype_of(b, from[k]);
        if (dtype != KILN_DTYPE_NONE && dtype != dtype_of(b, *narrow))
            other = from[k];
    }
    *by = *by != 0 ? *by : other;
    return *narrow != 0 && *by != 0;
}

void kiln__note_widening(kiln__build *b, uint32_t node, const kiln__op_loop *loop)
{
    kiln__program *p = b->program;
    uint32_t narrow, by;
    if (p->widened_count == KILN__WIDENED_MAX || !find_widened(b, node, loop->type, &narrow, &by))
        return;
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__buf_printf(text, "%s widens to %s in ", kiln_dtype_name(dtype_of(b, narrow)),
                     kiln_dtype_name(loop->type));
    put_place(b, node, text);
    kiln__buf_puts(text, ": ");
    put_source(b, by, text);
    p->widened[p->widened_count].node = node;
    p->widened[p->widened_count++].text = kiln__build_text(b, text);
}

const char *kiln__why_dtype(kiln__build *b, uint32_t node)
{
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__op_type type;
    if (kiln__is_number(b, node, &type))
        return "it is made of plain numbers alone";
    put_source(b, node, text);
    for (uint32_t at = node, from; (from = source_of(b, at)) != 0; at = from) {
        uint32_t narrow, by;
        if (b->ir->nodes[at].kind == KILN__NODE_OP &&
            find_widened(b, at, b->lowering.dtype[at], &narrow, &by)) {
            kiln__buf_puts(text, ", beside ");
            kiln__buf_puts(text, kiln_dtype_name(dtype_of(b, narrow)));
            kiln__buf_puts(text, " in ");
            put_place(b, at, text);
            break;
        }
    }
    return kiln__build_text(b, text);
}
