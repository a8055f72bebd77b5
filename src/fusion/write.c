/*
 * write.c - the last pass: one step of the program for each kernel.
 *
 *     sink > [write > text_loop, text_reduce, text_rows > text > names, values] > parts > program
 *
 * It names the parameters and temporaries, has the texts of each kernel written (twice, see
 * write.h), and fills the steps that src/graph runs. program.c calls it.
 *
 * Test: test_graph_plan.
 */
#include "fusion/write.h"

/* A parameter's name may hide a function that the texts call. */
static bool name_is_called(const kiln__writer *w, const char *text)
{
    for (const char *c = text; *c != '\0';) {
        size_t bytes = 0;
        while (kiln__is_word_byte(c[bytes]))
            bytes++;
        const bool called = bytes > 0 && (c[bytes] == '(' || c[bytes] == '<');
        for (size_t p = 0; called && p < w->step->param_count; p++)
            if (kiln__same_word(c, bytes, w->names[p]))
                return true;
        c += bytes > 0 ? bytes : 1;
    }
    return false;
}

static void write_kernel(kiln__writer *w)
{
    switch (w->kernel->kind) {
    case KILN__STEP_LOOP:
        kiln__write_loop(w);
        break;
    case KILN__STEP_REDUCE:
        kiln__write_reduction(w);
        break;
    case KILN__STEP_ROW:
        kiln__write_rows(w);
        break;
    case KILN__STEP_CUSTOM:
    case KILN__STEP_CUSTOM_REDUCE:
    case KILN__STEP_OPAQUE:
        kiln__write_custom(w);
        break;
    case KILN__STEP_PARTS: /* no kernel is planned as one */
        break;
    }
}

/* Start over with the same kernel. */
static void restart(kiln__writer *w)
{
    for (int k = 0; k < KILN__SCRATCH; k++)
        w->b->scratch[k].length = 0;
    w->seen_count = w->seen_base = 0;
    kiln__marks_clear(w->b, &w->b->text.named);
    w->next = 0;
    w->operations = 0;
    w->noted = 0;
    w->body = KILN__BUF_BODY;
    w->stage = 0;
    w->value_count = 0;
    w->snippets.count = w->preambles.count = 0;
    w->row_outputs = w->post = w->has_iota = w->uses_tuple = false;
    if (w->step != NULL)
        w->step->param_count = w->step->input_count = 0;
    if (w->step != NULL)
        w->step->bytes_read = w->step->bytes_written = 0;
}

static kiln__writer begin_kernel(kiln__build *b, kiln__plan_kernel *k, bool dry)
{
    kiln__writer w = {
        .b = b, .kernel = k, .dry = dry, .rank = k->rank, .shape = k->shape, .seen = b->text.seen};
    kiln__build_forget(b);
    for (int a = 0; a < k->rank; a++)
        w.axis[a] = a;
    return w;
}

/* A name for profilers: the graph's, and the kernel's first result. */
static const char *kernel_name(kiln__writer *w)
{
    kiln__build *b = w->b;
    kiln__buf *text = &b->scratch[KILN__BUF_TEXT];
    const kiln__plan_kernel *k = w->kernel;
    const uint32_t first = k->roots.count > 0 ? k->roots.ids[0] : k->members.ids[0];
    char what[96];
    const char *base = b->lowered[first].output >= 0
                           ? b->ir->outputs[b->lowered[first].output].name
                           : kiln__ir_what(b->ir, b->lowered[first].origin, what);
    kiln__buf_printf(text, "%s_", b->ir->name);
    for (const char *c = base; *c != '\0' && text->length < 120; c++)
        kiln__buf_putc(text, kiln__is_word_byte(*c) ? *c : '_');
    return kiln__build_text(b, text);
}

/* The recorded nodes that a step computes. */
static void list_nodes(kiln__writer *w)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    kiln__step *s = w->step;
    s->nodes = kiln__build_alloc(b, (w->seen_count + k->members.count + 1) * sizeof *s->nodes);
    kiln__marks_begin(b, &b->text.listed, b->ir->node_count);
    for (size_t m = 0; m < k->members.count; m++) {
        s->nodes[s->node_count++] = b->lowered[k->members.ids[m]].origin;
        (void)kiln__mark(b, &b->text.listed, b->lowered[k->members.ids[m]].origin);
    }
    for (size_t r = 0; r < w->seen_count; r++) {
        const kiln__lowered *n = &b->lowered[w->seen[r].low];
        if (kiln__lowered_computed(n) && kiln__mark(b, &b->text.listed, n->origin))
            s->nodes[s->node_count++] = n->origin;
    }
}

static void finish_step(kiln__writer *w)
{
    kiln__build *b = w->b;
    kiln__plan_kernel *k = w->kernel;
    kiln__step *s = w->step;
    s->kind = k->kind;
    s->rank = k->rank;
    s->shape = k->shape;
    s->request.in = kiln__build_text(b, &b->scratch[KILN__BUF_IN]);
    s->request.out = kiln__build_text(b, &b->scratch[KILN__BUF_OUT]);
    s->request.name = kernel_name(w);
    if (b->scratch[KILN__BUF_PREAMBLE].length > 0)
        s->request.snippet[KILN__SNIPPET_PREAMBLE] =
            kiln__build_text(b, &b->scratch[KILN__BUF_PREAMBLE]);
    s->params = kiln__build_copy(b, s->params, s->param_count * sizeof *s->params);
    list_nodes(w);
    for (int a = 0; k->reduced != NULL && a < k->rank; a++)
        if (k->reduced[a])
            s->axes.axis[s->axes.count++] = a;
}

/* Walk a kernel dry, and keep what was found. */
static void survey(kiln__build *b, kiln__plan_kernel *k)
{
    kiln__writer w = begin_kernel(b, k, true);
    restart(&w);
    write_kernel(&w);
    if (!w.has_iota && w.reused_count == 0)
        return;
    kiln__survey *found = kiln__build_alloc(b, sizeof *found);
    found->has_iota = w.has_iota;
    memcpy(found->iota, w.iota, sizeof found->iota);
    found->reused = w.reused;
    found->reused_count = w.reused_count;
    k->survey = found;
}

/* Whether a parameter has the name of something that the step's texts call. */
static bool hides_function(const kiln__writer *w)
{
    for (size_t p = 0; p < w->step->param_count; p++)
        if (kiln__snippets_hide(w, w->names[p]))
            return true;
    for (int t = 0; t < KILN__SNIPPET_COUNT; t++)
        if (w->step->request.snippet[t] != NULL && name_is_called(w, w->step->request.snippet[t]))
            return true;
    return false;
}

static void write_step(kiln__build *b, kiln__plan_kernel *k, uint32_t number)
{
    kiln__writer w = begin_kernel(b, k, false);
    if (k->survey != NULL) {
        memcpy(w.iota, k->survey->iota, sizeof w.iota);
        w.reused = k->survey->reused;
        w.reused_count = k->survey->reused_count;
        w.has_iota = k->survey->has_iota;
    }
    if (k->kind == KILN__STEP_LOOP)
        kiln__order_axes(&w);
    w.number = number;
    w.step = k->step = &b->program->steps[number];
    w.step->params = b->text.params;
    restart(&w);
    write_kernel(&w);
    if (hides_function(&w)) {
        w.careful = true;
        restart(&w);
        write_kernel(&w);
    }
    finish_step(&w);
    w.step = NULL;
    restart(&w);
}

/* The temporaries in the order of their ends. */
static void sort_temps(kiln__build *b)
{
    kiln__program *p = b->program;
    uint32_t *next = kiln__build_alloc(b, (p->step_count + 1) * sizeof *next);
    p->ending = kiln__build_alloc(b, p->temp_count * sizeof *p->ending);
    for (size_t t = 0; t < p->temp_count; t++)
        next[p->temps[t].last + 1]++;
    for (size_t s = 1; s <= p->step_count; s++)
        next[s] += next[s - 1];
    for (size_t t = 0; t < p->temp_count; t++)
        p->ending[next[p->temps[t].last]++] = (uint32_t)t;
}

void kiln__write_steps(kiln__build *b, kiln__plan_kernel *kernels)
{
    kiln__program *p = b->program;
    size_t count = 0, spare = 0;

    b->values = kiln__build_alloc(b, b->lowered_count * sizeof *b->values);
    b->text.last_named = kiln__build_alloc(b, b->lowered_count * sizeof *b->text.last_named);
    for (kiln__plan_kernel *k = kernels; k != NULL; k = k->next) {
        survey(b, k);
        count++;
        spare += k->kind >= KILN__STEP_CUSTOM;
    }
    p->steps = kiln__build_alloc(b, count * sizeof *p->steps);
    /* Each lowered node may be kept, and a custom kernel may have outputs that nobody asked for. */
    p->temps = kiln__build_alloc(b, (b->lowered_count + spare * KILN_PARAM_MAX) * sizeof *p->temps);
    p->outputs = kiln__build_alloc(b, b->ir->output_count * sizeof *p->outputs);
    p->output_count = b->ir->output_count;
    p->last_read = kiln__build_alloc(b, (b->ir->input_count + 1) * sizeof *p->last_read);
    p->first_write = kiln__build_alloc(b, b->ir->output_count * sizeof *p->first_write);
    for (kiln__plan_kernel *k = kernels; k != NULL; k = k->next)
        write_step(b, k, (uint32_t)p->step_count++);
    if (b->target->backend == KILN_BACKEND_CUDA)
        kiln__join_parts(b, kernels);
    sort_temps(b);
}
