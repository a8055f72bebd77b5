/*
 * text_loop.c - the definition of a loop: its parameters and statements.
 *
 *     write, text_rows > [text_loop > text]
 *
 * The file also writes the arguments of a user's kernel that runs as a step of its own.
 *
 * Tests: test_graph_loop, test_graph_custom.
 */
#include "fusion/write.h"

void kiln__result_order(kiln__writer *w, int *order)
{
    const kiln__step *s = w->step;
    kiln__operand operands[KILN_PARAM_MAX];
    int loop[KILN_RANK_MAX];

    memset(operands, 0, sizeof operands);
    for (size_t p = 0; p < s->param_count; p++) {
        kiln__operand *o = &operands[p];
        o->is_array = s->params[p].kind != KILN__VALUE_SCALAR;
        o->raw = s->params[p].raw;
        o->itemsize = (uint8_t)kiln_dtype_size(s->params[p].dtype);
        o->rank = s->params[p].rank;
        o->shape = s->params[p].shape;
        o->strides = s->params[p].strides;
    }
    kiln__plan_k_order(operands, s->param_count, w->rank, w->shape, loop);
    for (int a = 0; a < w->rank; a++)
        order[a] = w->axis[loop[a]];
}

/* Reorder the loop's axes if positions (arange, iota) then are the linear index of the loop. */
void kiln__order_axes(kiln__writer *w)
{
    const kiln__plan_kernel *k = w->kernel;
    int64_t *shape = kiln__build_alloc(w->b, (size_t)k->rank * sizeof *shape + 1);
    int64_t coef[KILN_RANK_MAX], factor;

    if (!w->has_iota || kiln__is_linear(w, w->iota, &factor))
        return;
    for (int a = 0; a < k->rank; a++)
        w->axis[a] = a;
    for (int a = 1; a < k->rank; a++)
        for (int c = a; c > 0; c--) {
            const int64_t here = w->iota[w->axis[c]], before = w->iota[w->axis[c - 1]];
            if ((here < 0 ? -here : here) <= (before < 0 ? -before : before))
                break;
            const int swap = w->axis[c];
            w->axis[c] = w->axis[c - 1];
            w->axis[c - 1] = swap;
        }
    for (int a = 0; a < k->rank; a++) {
        shape[a] = k->shape[w->axis[a]];
        coef[a] = w->iota[w->axis[a]];
    }
    w->shape = shape;
    if (kiln__is_linear(w, coef, &factor))
        return;
    w->shape = k->shape;
    for (int a = 0; a < k->rank; a++)
        w->axis[a] = a;
}

void kiln__write_loop(kiln__writer *w)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    kiln__buf *body = &b->scratch[KILN__BUF_BODY];
    const char **texts = kiln__build_alloc(b, k->roots.count * sizeof *texts);
    int order[KILN_RANK_MAX];
    int64_t strides[KILN_RANK_MAX];

    for (size_t r = 0; r < k->roots.count; r++)
        texts[r] = kiln__operand_text(w, k->roots.ids[r], kiln__own_map(w, k->roots.ids[r]), true);
    if (w->dry)
        return;
    w->step->input_count = w->step->param_count;
    kiln__result_order(w, order);
    for (size_t r = 0; r < k->roots.count; r++) {
        const kiln__lowered *n = &b->lowered[k->roots.ids[r]];
        kiln__place(w, k->roots.ids[r], order);
        for (int a = 0; a < w->rank; a++)
            strides[a] = b->values[n->id].value->strides[w->axis[a]];
        const char *name = kiln__output_param(w, k->roots.ids[r], w->rank, w->shape, strides);
        kiln__buf_printf(body, "%s = %s;\n", name, texts[r]);
    }
    w->step->request.snippet[KILN__SNIPPET_OP] = kiln__build_text(b, body);
    kiln__find_copies(w, texts);
    kiln__write_noted(w);
    w->step->request.keep_axes = w->uses_tuple;
    kiln__buf *why = &b->scratch[KILN__BUF_TEXT];
    kiln__buf_printf(why, "%d operation%s", w->operations, w->operations == 1 ? "" : "s");
    if (k->roots.count > 1)
        kiln__buf_printf(why, ", %zu results of one shape", k->roots.count);
    for (size_t p = 0, kept = 0; p < w->step->input_count; p++)
        if (w->step->params[p].kind == KILN__VALUE_TEMP && kept++ == 0)
            kiln__buf_puts(why, ", needs what earlier kernels kept");
    kiln__tell_snippets(w, why);
    w->step->why = kiln__build_text(b, why);
}

/* ---- custom kernels -------------------------------------------------------------------------- */

/* The operands of a step that is no generated kernel: bound by position, without any change. */
static void write_operands(kiln__writer *w, const kiln__lowered *first)
{
    kiln__build *b = w->b;
    kiln__step *s = w->step;

    for (uint32_t p = 0; p < first->operand_count; p++) {
        const uint32_t o = first->operand[p];
        if (w->dry) {
            b->values[kiln__behind(b, o)].read = true;
            continue;
        }
        const kiln__lowered *n = &b->lowered[o], *seen = &b->lowered[kiln__behind(b, o)];
        if (n->kind == KILN__LOWERED_CONST) {
            kiln__step_param *param = &s->params[s->param_count];
            w->names[s->param_count++] = "";
            *param = (kiln__step_param){
                .kind = KILN__VALUE_NUMBER, .number = n->number, .dtype = n->dtype};
            continue;
        }
        w->rank = n->rank;
        w->shape = n->shape;
        for (int a = 0; a < n->rank; a++)
            w->axis[a] = a;
        const kiln__axis_map *own = kiln__own_map(w, o);
        if (n != seen) {
            kiln__axis_map *through =
                kiln__build_alloc(b, (size_t)seen->rank * sizeof *through + 1);
            kiln__compose(own, n->map, seen->rank, through);
            own = through;
        }
        (void)kiln__input_param(w, kiln__behind(b, o), own);
    }
}

/* Output number `result` of such a step. One that no node uses needs memory all the same. */
static void write_result(kiln__writer *w, const kiln__lowered *first, int result)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    uint32_t low = 0;

    for (size_t r = 0; r < k->roots.count; r++)
        if (b->lowered[k->roots.ids[r]].op == result)
            low = k->roots.ids[r];
    if (low != 0) {
        kiln__place(w, low, NULL);
        (void)kiln__output_param(w, low, b->lowered[low].rank, b->lowered[low].shape,
                                 b->values[low].value->strides);
    } else if (first->made != NULL) {
        const kiln__opaque_value *made = &first->made[result];
        int64_t *shape = kiln__build_copy(b, made->shape, sizeof made->shape);
        kiln__spare_param(w, made->dtype, made->rank, shape);
    } else {
        kiln__spare_param(w, first->results[result], first->rank, first->shape);
    }
}

/* A step that runs a user's kernel or an opaque operation. */
void kiln__write_custom(kiln__writer *w)
{
    kiln__build *b = w->b;
    const kiln__lowered *first = &b->lowered[w->kernel->roots.ids[0]];
    const kiln__node *n = first->custom;
    const bool opaque = n->kind == KILN__NODE_OPAQUE;
    kiln__step *s = w->step;

    write_operands(w, first);
    if (w->dry)
        return;
    const int results = opaque ? ((const kiln__opaque *)n->kernel)->result_count
                               : (int)(n->def->param_count - n->def->input_count);
    s->input_count = s->param_count;
    s->kernel = n->kernel;
    s->keepdims = first->keepdims;
    s->data = opaque ? b->ir->data + n->data : NULL;
    s->data_count = opaque ? n->data_count : 0;
    s->column = opaque && b->ir->of_text ? n->line : 0;
    for (int result = 0; result < results; result++)
        write_result(w, first, result);
    s->why = opaque ? ((const kiln__opaque *)n->kernel)->why : "a kernel of the user's";
}
