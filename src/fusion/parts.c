/*
 * parts.c - loops that only copy, as one step.
 *
 *     write > steps > [parts] > fewer steps
 *
 * The parts of a padded, rolled or concatenated array are loops of different shapes, many of them small. On a GPU those that
 * follow each other, and do not depend on each other, become one step that is one launch (src/codegen/parts.c).
 *
 * Rule 1: the parts of a step are done in any order, so that no part reads or overwrites what another one stores. Outputs
 *         in the memory of inputs are the business of src/graph, which is told that the step reads elsewhere.
 * Rule 2: a loop that stores what it reads several times stays one, since it reads it once.
 *
 * Tests: test_parts, test_rearrange.
 */
#include "fusion/write.h"

bool kiln__number_element(const kiln__number *number, kiln_dtype dtype, unsigned char out[16])
{
    const kiln__number as = kiln__number_as(number, dtype);
    kiln__given given = {.kind = KILN__GIVEN_BOOL + (kiln__given_kind)kiln__number_index(&as)};
    kiln__scalar value;

    memcpy(&given.value, &as.value, sizeof given.value);
    if (kiln__convert_scalar(NULL, 0, &given, dtype, &value, NULL) != KILN_OK)
        return false;
    memcpy(out, value.bytes, sizeof value.bytes);
    return true;
}

/* ---- what loops copy ------------------------------------------------------------------------- */

/* The input of the step whose name is the text of a value; input_count: none. */
static size_t input_named(const kiln__writer *w, const char *text)
{
    size_t p = 0;

    while (p < w->step->input_count && w->names[p] != text)
        p++;
    return p;
}

static bool find_copy(const kiln__writer *w, uint32_t root, const char *text, kiln__copied *out)
{
    const kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[root];

    if (n->kind != KILN__LOWERED_STORE || n->size == 0)
        return false;
    const kiln__lowered *behind = &b->lowered[kiln__behind(b, n->operand[0])];
    const size_t p = input_named(w, text);
    unsigned char element[16];
    *out = (kiln__copied){.param = (uint8_t)p, .value = NULL};
    if (p == w->step->input_count && behind->kind == KILN__LOWERED_CONST && behind->dtype == n->dtype) {
        out->value = &behind->number;
        return kiln__number_element(out->value, n->dtype, element);
    }
    const kiln__step_param *from = &w->step->params[p];
    return p < w->step->input_count && (from->kind == KILN__VALUE_ARG || from->kind == KILN__VALUE_TEMP) &&
           !from->raw && from->dtype == n->dtype;
}

void kiln__find_copies(kiln__writer *w, const char *const *texts)
{
    kiln__plan_kernel *const k = w->kernel;
    kiln__copied *copied;

    k->copied = NULL;
    if (w->b->target->backend != KILN_BACKEND_CUDA || w->noted > 0 || k->roots.count == 0)
        return;
    copied = kiln__build_alloc(w->b, k->roots.count * sizeof *copied);
    for (size_t r = 0; r < k->roots.count; r++) {
        if (!find_copy(w, k->roots.ids[r], texts[r], &copied[r]))
            return;
        for (size_t other = 0; other < r && copied[r].value == NULL; other++)
            if (copied[other].value == NULL && copied[other].param == copied[r].param)
                return;
    }
    k->copied = copied;
}

/* ---- steps that become one ------------------------------------------------------------------- */

/* The parts of a step that is being put together. */
typedef struct joined {
    kiln__build *b;
    kiln__step_param from[KILN__PARTS_MAX], to[KILN__PARTS_MAX];
    size_t count, steps; /* parts, and steps that they come from */
    int axes;
} joined;

static bool same_value(const kiln__step_param *a, const kiln__step_param *b)
{
    return a->kind == b->kind && a->index == b->index && a->kind != KILN__VALUE_NUMBER;
}

/* Whether a part depends on another one, or the other way round. */
static bool depends(const joined *j, const kiln__step_param *from, const kiln__step_param *to)
{
    for (size_t k = 0; k < j->count; k++)
        if (same_value(from, &j->to[k]) || same_value(to, &j->from[k]))
            return true;
    return same_value(from, to);
}

/* The parts of a step, behind those that there are, without counting them: how many axes all have then, or 0 where it
 * cannot be one of them. */
static int look_at(joined *j, const kiln__plan_kernel *kernel)
{
    const kiln__step *s = kernel->step;
    int axes = j->axes;

    if (kernel->kind != KILN__STEP_LOOP || kernel->copied == NULL ||
        kiln__parts_room(axes, j->count + kernel->roots.count) == 0)
        return 0;
    for (size_t r = 0; r < kernel->roots.count; r++) {
        const kiln__copied *copied = &kernel->copied[r];
        const kiln__step_param *to = &s->params[s->input_count + r];
        kiln__step_param from = {.kind = KILN__VALUE_NUMBER, .dtype = to->dtype};
        if (copied->value != NULL)
            from.number = *copied->value;
        else
            from = s->params[copied->param];
        const kiln__part part = {.rank = to->rank,
                                 .shape = to->shape,
                                 .to = to->strides,
                                 .from = copied->value != NULL ? NULL : from.strides};
        const int own = kiln__part_axes(&part, (int)kiln_dtype_size(to->dtype));
        if (own == 0 || depends(j, &from, to) ||
            (j->count + r > 0 && kiln_dtype_size(j->to[0].dtype) != kiln_dtype_size(to->dtype)))
            return 0;
        axes = own > axes ? own : axes;
        j->from[j->count + r] = from;
        j->to[j->count + r] = *to;
    }
    return kiln__parts_room(axes, j->count + kernel->roots.count) > 0 ? axes : 0;
}

/* As many kernels as can become one step, from this one on. */
static void collect(joined *j, const kiln__plan_kernel *kernel)
{
    j->count = j->steps = 0;
    j->axes = 2;
    for (; kernel != NULL; kernel = kernel->next) {
        const int axes = look_at(j, kernel);
        if (axes == 0)
            return;
        j->axes = axes;
        j->count += kernel->roots.count;
        j->steps++;
    }
}

/* The shape of the whole that a part belongs to. */
static void take_shape(const kiln__build *b, const kiln__step_param *to, kiln__step *s)
{
    const kiln__made *made = to->kind == KILN__VALUE_TEMP ? &b->program->temps[to->index]
                                                          : &b->program->outputs[to->index - b->ir->input_count];

    s->rank = made->rank;
    s->shape = made->shape;
}

static void take_nodes(kiln__build *b, const kiln__step *steps, size_t count, kiln__step *s)
{
    size_t room = 0;

    for (size_t k = 0; k < count; k++)
        room += steps[k].node_count;
    uint32_t *const nodes = kiln__build_alloc(b, (room + 1) * sizeof *nodes);
    size_t listed = 0;
    kiln__marks_begin(b, &b->text.listed, b->ir->node_count);
    for (size_t k = 0; k < count; k++)
        for (size_t n = 0; n < steps[k].node_count; n++)
            if (kiln__mark(b, &b->text.listed, steps[k].nodes[n]))
                nodes[listed++] = steps[k].nodes[n];
    s->nodes = nodes;
    s->node_count = listed;
}

/* The step that the first steps of a list become. */
static kiln__step join_steps(const joined *j, const kiln__step *steps)
{
    kiln__build *b = j->b;
    kiln__buf *why = &b->scratch[KILN__BUF_TEXT];
    kiln__step made = {.kind = KILN__STEP_PARTS, .param_count = 2 * j->count, .input_count = j->count};

    made.params = kiln__build_alloc(b, made.param_count * sizeof *made.params);
    memcpy(made.params, j->from, j->count * sizeof *made.params);
    memcpy(made.params + j->count, j->to, j->count * sizeof *made.params);
    take_shape(b, &j->to[0], &made);
    take_nodes(b, steps, j->steps, &made);
    for (size_t k = 0; k < j->steps; k++) {
        made.bytes_read += steps[k].bytes_read;
        made.bytes_written += steps[k].bytes_written;
    }
    made.request.name = steps[0].request.name;
    kiln__buf_printf(why, "%zu parts, by one launch", j->count);
    made.why = kiln__build_text(b, why);
    return made;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Where inputs are read last, once steps have other numbers. */
static void find_last_reads(kiln__build *b)
{
    kiln__program *p = b->program;

    memset(p->last_read, 0, (b->ir->input_count + 1) * sizeof *p->last_read);
    for (uint32_t s = 0; s < p->step_count; s++) {
        const bool parts = p->steps[s].kind == KILN__STEP_PARTS;
        for (size_t k = 0; k < p->steps[s].input_count; k++) {
            const kiln__step_param *param = &p->steps[s].params[k];
            const uint32_t last = s + 1 + (parts || param->again);
            if (param->kind == KILN__VALUE_ARG && param->index < b->ir->input_count &&
                p->last_read[param->index] < last)
                p->last_read[param->index] = last;
            p->reads_elsewhere = p->reads_elsewhere || (parts && param->kind == KILN__VALUE_ARG);
        }
    }
}

void kiln__join_parts(kiln__build *b, const kiln__plan_kernel *kernels)
{
    kiln__program *p = b->program;
    uint32_t *const number = kiln__build_alloc(b, (p->step_count + 1) * sizeof *number);
    joined *const j = kiln__build_alloc(b, sizeof *j);
    uint32_t to = 0, from = 0;

    j->b = b;
    for (const kiln__plan_kernel *k = kernels; k != NULL; to++) {
        collect(j, k);
        const size_t taken = j->steps < 2 ? 1 : j->steps;
        const kiln__step made = taken == 1 ? p->steps[from] : join_steps(j, &p->steps[from]);
        for (size_t s = 0; s < taken; s++, k = k->next)
            number[from++] = to;
        p->steps[to] = made;
    }
    if (to == from)
        return;
    p->step_count = to;
    for (size_t t = 0; t < p->temp_count; t++) {
        p->temps[t].first = number[p->temps[t].first];
        p->temps[t].last = number[p->temps[t].last];
    }
    for (size_t k = 0; k < p->output_count; k++)
        if (p->first_write[k] > 0)
            p->first_write[k] = number[p->first_write[k] - 1] + 1;
    find_last_reads(b);
}
