/*
 * text.c - the definitions of kernels.
 *
 *     plan > [text] > program
 *
 * What a kernel computes is written as plain statements, one an operation, over parameters named
 * after the graph's inputs and outputs:
 *
 *     const float t1 = x * x;
 *     const float t2 = sqrt(t1);
 *     z = t2;
 *
 * Rule: texts depend on lows and on the order of axes, never on extents: calls with other shapes
 *       share kernels.
 */
#include "codegen/graph/write.h"

/* ---- what stands for a low --------------------------------------------------------------------------- */

const kiln__axis_map *kiln__own_map(kiln__writer *w, uint32_t low)
{
    const kiln__low *n = &w->b->lows[low];
    kiln__axis_map *map = kiln__build_alloc(w->b, (size_t)n->rank * sizeof *map + 1);
    for (int k = 0; k < w->rank; k++) {
        const int a = w->axis[k];
        if (a < n->rank)
            map[a] = n->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){k, 0, 1};
    }
    return map;
}

const kiln__axis_map *kiln__kept_map(kiln__writer *w, uint32_t low)
{
    const kiln__plan_kernel *k = w->kernel;
    const kiln__low *n = &w->b->lows[low];
    kiln__axis_map *map = kiln__build_alloc(w->b, (size_t)n->rank * sizeof *map + 1);
    int axis = 0;
    for (int own = 0; own < n->rank; own++) {
        map[own] = (kiln__axis_map){-1, 0, 0};
        if (n->shape[own] == 1)
            continue;
        while (k->reduced[axis] || k->shape[axis] == 1)
            axis++;
        map[own] = (kiln__axis_map){axis++, 0, 1};
    }
    return map;
}

static const char *find_seen(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    for (size_t k = 0; k < w->seen_count; k++)
        if (w->seen[k].low == low && (k >= w->seen_base || w->seen[k].lasting) &&
            kiln__same_map(w->seen[k].map, map, w->b->lows[low].rank))
            return w->seen[k].text;
    return NULL;
}

void kiln__name_low(kiln__writer *w, uint32_t low, const kiln__axis_map *map, const char *text)
{
    if (w->seen_count == w->seen_room) {
        const size_t larger = w->seen_room == 0 ? 32 : 2 * w->seen_room;
        kiln__seen *moved = kiln__build_alloc(w->b, larger * sizeof *moved);
        if (w->seen_count > 0)
            memcpy(moved, w->seen, w->seen_count * sizeof *moved);
        w->seen = moved;
        w->seen_room = larger;
    }
    const kiln__low *n = &w->b->lows[low];
    const bool rows = w->kernel->kind == KILN__STEP_ROW;
    const bool lasting = n->kind == KILN__LOW_SCALAR || n->kind == KILN__LOW_CONST ||
                         (rows && (w->body == KILN__BUF_ROW || !kiln__inlined(w->b, w->kernel, low)));
    w->seen[w->seen_count++] = (kiln__seen){low, map, text, lasting};
}

const char *kiln__next_name(kiln__writer *w)
{
    char name[16];
    const int length = snprintf(name, sizeof name, "t%d", ++w->next);
    return kiln__build_copy(w->b, name, (size_t)length + 1);
}

/* ---- positions -------------------------------------------------------------------------------------- */

/* Whether coefficients are `factor` times the linear index of the loop, axes as they are. */
static bool is_linear(const kiln__writer *w, const int64_t *coef, int64_t *factor)
{
    int64_t step = 1;
    bool known = false;
    *factor = 0;
    for (int a = w->rank - 1; a >= 0; a--) {
        if (w->shape[a] == 1)
            continue;
        if (!known)
            *factor = coef[a];
        known = true;
        int64_t want;
        if (kiln__mul_overflow(*factor, step, &want) || coef[a] != want ||
            kiln__mul_overflow(step, w->shape[a], &step))
            return false;
    }
    return true;
}

static const char *position_text(kiln__writer *w, const kiln__low *n, const kiln__axis_map *map)
{
    const bool loop = w->kernel->kind == KILN__STEP_LOOP;
    kiln__buf *text = &w->b->scratch[KILN__BUF_TEXT];
    int64_t coef[KILN_RANK_MAX] = {0}, start = 0, factor;

    for (int a = 0; a < n->rank; a++) {
        start += n->coef[a] * map[a].start;
        if (map[a].from >= 0)
            coef[map[a].from] += n->coef[a] * map[a].step;
    }
    if (w->dry && !w->has_iota)
        memcpy(w->iota, coef, sizeof coef);
    w->has_iota = true;
    if (w->dry)
        return "";
    kiln__buf_printf(text, "%lldll", (long long)start);
    if (is_linear(w, coef, &factor)) {
        if (factor != 0)
            kiln__buf_printf(text, " + %lldll * %s", (long long)factor, loop ? "i" : "_j");
        return kiln__build_text(w->b, text);
    }
    for (int a = 0; a < w->rank; a++)
        if (coef[a] != 0 && w->shape[a] != 1)
            kiln__buf_printf(text, " + %lldll * %s.get()[%d]", (long long)coef[a],
                             loop ? "_ind" : "_in_ind", a);
    w->uses_tuple = true;
    return kiln__build_text(w->b, text);
}

/* ---- expressions -------------------------------------------------------------------------------------- */

static const char *statement(kiln__writer *w, kiln_dtype dtype, const char *expression)
{
    const char *name = kiln__next_name(w);
    kiln__buf_printf(&w->b->scratch[w->body], "const %s %s = %s;\n", kiln_dtype_ctype(dtype), name,
                     expression);
    w->operations++;
    return name;
}

static kiln__dear *find_dear(const kiln__writer *w, uint32_t low, const kiln__axis_map *map);
static const char *value_statement(kiln__writer *w, kiln_dtype dtype, const char *expression);

static const char *computed_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__build *b = w->b;
    const kiln__low *n = &b->lows[low];
    kiln__buf *text = &b->scratch[KILN__BUF_TEXT];
    const size_t arity = n->operand_count < KILN__OP_ARITY_MAX ? KILN__OP_ARITY_MAX
                                                                : n->operand_count;
    const char **operands = kiln__build_alloc(b, arity * sizeof *operands);

    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__low *o = &b->lows[n->operand[k]];
        kiln__axis_map *own = kiln__build_alloc(b, (size_t)o->rank * sizeof *own + 1);
        kiln__axis_map *through = kiln__build_alloc(b, (size_t)o->rank * sizeof *own + 1);
        kiln__broadcast_map(o, n->rank, n->shape, own);
        kiln__compose(map, own, o->rank, through);
        operands[k] = kiln__operand_text(w, n->operand[k], through, false);
    }
    if (w->dry || n->kind == KILN__LOW_STORE)
        return w->dry ? "" : operands[0];
    const char *expression = NULL;
    if (n->kind == KILN__LOW_SNIPPET)
        expression = kiln__snippet_text(w, low, map, operands);
    else if (n->kind == KILN__LOW_CAST)
        kiln__cast_text(text, b->lows[n->operand[0]].dtype, n->dtype, operands[0]);
    else
        kiln__op_text(text, &n->loop, operands);
    if (expression == NULL)
        expression = kiln__build_text(b, text);
    const kiln__dear *dear =
        w->dear_count > 0 && w->body == KILN__BUF_BODY ? find_dear(w, low, map) : NULL;
    if (dear != NULL && dear->again && w->value_count < KILN__VALUE_MAX)
        return value_statement(w, n->dtype, expression);
    return n->kind == KILN__LOW_SNIPPET ? expression : statement(w, n->dtype, expression);
}

/* ---- row programs: what is computed once a row, and what elements keep ---- */

/* Whether a low is made of results of the row program alone: the same for a whole row. */
static bool is_of_row(const kiln__writer *w, uint32_t low)
{
    const kiln__low *n = &w->b->lows[low];
    if (n->kind == KILN__LOW_CONST || n->kind == KILN__LOW_SCALAR)
        return true;
    if (n->kind == KILN__LOW_REDUCE)
        return n->rows == w->kernel->rows;
    if (n->kind != KILN__LOW_LENS && !kiln__inlined(w->b, w->kernel, low))
        return false;
    for (uint32_t k = 0; k < n->operand_count; k++)
        if (!is_of_row(w, n->operand[k]))
            return false;
    return true;
}

static kiln__dear *find_dear(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    for (size_t k = 0; k < w->dear_count; k++)
        if (w->dear[k].low == low && kiln__same_map(w->dear[k].map, map, w->b->lows[low].rank))
            return &w->dear[k];
    return NULL;
}

/* On the dry walk: whether something dear was computed by an earlier stage already, and need not be
 * walked again. */
static bool known_dear(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__dear *known = find_dear(w, low, map);
    if (known != NULL) {
        known->again = known->again || known->stage != w->stage;
        return true;
    }
    kiln__dear *moved = kiln__build_alloc(w->b, (w->dear_count + 1) * sizeof *moved);
    if (w->dear_count > 0)
        memcpy(moved, w->dear, w->dear_count * sizeof *moved);
    w->dear = moved;
    w->dear[w->dear_count++] = (kiln__dear){low, map, w->stage, false};
    return false;
}

/* Make a statement's result a value of the element: it is declared outside, and stays. */
static const char *value_statement(kiln__writer *w, kiln_dtype dtype, const char *expression)
{
    const char *name = kiln__next_name(w);
    w->values[w->value_count++] = (kiln__row_value){kiln_dtype_ctype(dtype), name};
    kiln__buf_printf(&w->b->scratch[w->body], "%s = %s;\n", name, expression);
    w->operations++;
    return name;
}

/* Something that a row program computes: once a row when it can be, else once an element. */
static const char *row_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    const int body = w->body;
    const kiln__low *n = &w->b->lows[low];
    if (body == KILN__BUF_BODY && n->reduces && is_of_row(w, low))
        w->body = KILN__BUF_ROW;
    else if (body == KILN__BUF_BODY && w->dry && n->dear && known_dear(w, low, map))
        return "";
    const char *text = computed_text(w, low, map);
    kiln__name_low(w, low, map, text); /* in the scope that it was computed in */
    for (size_t v = 0; v < w->value_count; v++)
        if (strcmp(w->values[v].name, text) == 0)
            w->seen[w->seen_count - 1].lasting = true;
    w->body = body;
    return text;
}

const char *kiln__operand_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map, bool root)
{
    kiln__build *b = w->b;
    kiln__low *n = &b->lows[low];
    const char *text = find_seen(w, low, map);

    if (text != NULL)
        return text;
    if (n->kind == KILN__LOW_LENS) {
        const kiln__low *o = &b->lows[n->operand[0]];
        kiln__axis_map *through = kiln__build_alloc(b, (size_t)o->rank * sizeof *through + 1);
        kiln__compose(map, n->map, o->rank, through);
        return kiln__operand_text(w, n->operand[0], through, false);
    }
    if (n->kind == KILN__LOW_CONST) {
        kiln__number_text(&b->scratch[KILN__BUF_TEXT], &n->number, n->dtype);
        text = kiln__build_text(b, &b->scratch[KILN__BUF_TEXT]);
    } else if (n->kind == KILN__LOW_IOTA) {
        text = position_text(w, n, map);
        text = w->dry ? text : statement(w, n->dtype, text);
    } else if (root || kiln__inlined(w->b, w->kernel, low)) {
        text = w->kernel->kind == KILN__STEP_ROW ? row_text(w, low, map) : computed_text(w, low, map);
    } else if (w->dry) {
        n->read = true;
        text = "";
    } else {
        text = kiln__input_param(w, low, map);
    }
    kiln__name_low(w, low, map, text);
    return text;
}

/* ---- loops ------------------------------------------------------------------------------------------------ */

/* Put the loop's axes into the order in which positions run, when that makes them its linear
 * index. */
static void order_axes(kiln__writer *w)
{
    const kiln__plan_kernel *k = w->kernel;
    int64_t *shape = kiln__build_alloc(w->b, (size_t)k->rank * sizeof *shape + 1);
    int64_t coef[KILN_RANK_MAX], factor;

    if (!w->has_iota || is_linear(w, w->iota, &factor))
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
    if (is_linear(w, coef, &factor))
        return;
    w->shape = k->shape;
    for (int a = 0; a < k->rank; a++)
        w->axis[a] = a;
}

void kiln__result_order(kiln__writer *w, int *order)
{
    const kiln__step *s = w->step;
    kiln__operand operands[KILN_PARAM_MAX];
    int loop[KILN_RANK_MAX];

    memset(operands, 0, sizeof operands);
    for (size_t p = 0; p < s->param_count; p++) {
        kiln__operand *o = &operands[p];
        o->is_array = s->params[p].kind != KILN__VALUE_SCALAR;
        o->itemsize = (uint8_t)kiln_dtype_size(s->params[p].dtype);
        o->rank = s->params[p].rank;
        o->shape = s->params[p].shape;
        o->strides = s->params[p].strides;
    }
    kiln__plan_k_order(operands, s->param_count, w->rank, w->shape, loop);
    for (int a = 0; a < w->rank; a++)
        order[a] = w->axis[loop[a]];
}

static void write_loop(kiln__writer *w)
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
        const kiln__low *n = &b->lows[k->roots.ids[r]];
        kiln__place(w, k->roots.ids[r], order);
        for (int a = 0; a < w->rank; a++)
            strides[a] = n->value.strides[w->axis[a]];
        const char *name = kiln__output_param(w, k->roots.ids[r], w->rank, w->shape, strides);
        kiln__buf_printf(body, "%s = %s;\n", name, texts[r]);
    }
    w->step->request.snippet[KILN__SNIPPET_OP] = kiln__build_text(b, body);
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

/* ---- custom kernels ------------------------------------------------------------------------------------- */

/* The user's kernel: operands are bound as they are, by position. */
static void write_custom(kiln__writer *w)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    const kiln__low *first = &b->lows[k->roots.ids[0]];
    const kiln__definition *d = first->custom->def;
    kiln__step *s = w->step;

    for (uint32_t p = 0; p < first->operand_count; p++) {
        const uint32_t o = first->operand[p];
        if (w->dry) {
            b->lows[kiln__behind(b, o)].read = true;
            continue;
        }
        const kiln__low *n = &b->lows[o], *seen = &b->lows[kiln__behind(b, o)];
        if (n->kind == KILN__LOW_CONST) {
            kiln__step_param *param = &s->params[s->param_count];
            w->names[s->param_count++] = "";
            param->kind = KILN__VALUE_NUMBER;
            param->number = n->number;
            param->dtype = n->dtype;
            continue;
        }
        w->rank = n->rank;
        w->shape = n->shape;
        for (int a = 0; a < n->rank; a++)
            w->axis[a] = a;
        const kiln__axis_map *own = kiln__own_map(w, o);
        if (n != seen) {
            kiln__axis_map *through = kiln__build_alloc(b, (size_t)seen->rank * sizeof *through + 1);
            kiln__compose(own, n->map, seen->rank, through);
            own = through;
        }
        (void)kiln__input_param(w, kiln__behind(b, o), own);
    }
    if (w->dry)
        return;
    s->input_count = s->param_count;
    s->kernel = first->custom->kernel;
    s->keepdims = first->keepdims;
    for (size_t p = d->input_count; p < d->param_count; p++) {
        uint32_t low = 0;
        for (size_t r = 0; r < k->roots.count; r++)
            if (b->lows[k->roots.ids[r]].op == (int)(p - d->input_count))
                low = k->roots.ids[r];
        if (low == 0) { /* nobody wants it: it is written all the same */
            kiln__spare_param(w, first->results[p - d->input_count], first->rank, first->shape);
            continue;
        }
        kiln__place(w, low, NULL);
        (void)kiln__output_param(w, low, b->lows[low].rank, b->lows[low].shape,
                                 b->lows[low].value.strides);
    }
    s->why = "a kernel of the user's";
}

/* ---- the stage --------------------------------------------------------------------------------------------- */

/* A parameter's name may hide a function that the texts call. */
static bool name_is_called(const kiln__writer *w, const char *text)
{
    for (size_t p = 0; p < w->step->param_count; p++) {
        const size_t bytes = strlen(w->names[p]);
        for (const char *at = strstr(text, w->names[p]); at != NULL;
             at = strstr(at + 1, w->names[p])) {
            const bool begins = at == text || !((at[-1] >= 'a' && at[-1] <= 'z') || at[-1] == '_' ||
                                                (at[-1] >= 'A' && at[-1] <= 'Z') ||
                                                (at[-1] >= '0' && at[-1] <= '9'));
            if (begins && (at[bytes] == '(' || at[bytes] == '<'))
                return true;
        }
    }
    return false;
}

static void write_kernel(kiln__writer *w)
{
    switch (w->kernel->kind) {
    case KILN__STEP_LOOP:
        write_loop(w);
        break;
    case KILN__STEP_REDUCE:
        kiln__write_reduction(w);
        break;
    case KILN__STEP_ROW:
        kiln__write_rows(w);
        break;
    case KILN__STEP_CUSTOM:
    case KILN__STEP_CUSTOM_REDUCE:
        write_custom(w);
        break;
    }
}

/* Start over with the same kernel. */
static void restart(kiln__writer *w)
{
    for (int k = 0; k < KILN__SCRATCH; k++)
        w->b->scratch[k].length = 0;
    w->seen_count = w->seen_base = 0;
    w->next = 0;
    w->operations = 0;
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
    kiln__writer w = {.b = b, .kernel = k, .dry = dry, .rank = k->rank, .shape = k->shape};
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
    const char *base = b->lows[first].output >= 0 ? b->ir->outputs[b->lows[first].output].name
                                                  : kiln__ir_what(b->ir, b->lows[first].origin, what);
    kiln__buf_printf(text, "%s_", b->ir->name);
    for (const char *c = base; *c != '\0' && text->length < 120; c++)
        kiln__buf_putc(text, (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                                     (*c >= '0' && *c <= '9')
                                 ? *c
                                 : '_');
    return kiln__build_text(b, text);
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
    s->nodes = kiln__build_alloc(b, (w->seen_count + k->members.count + 1) * sizeof *s->nodes);
    for (size_t m = 0; m < k->members.count; m++)
        s->nodes[s->node_count++] = b->lows[k->members.ids[m]].origin;
    for (size_t r = 0; r < w->seen_count; r++) {
        const kiln__low *n = &b->lows[w->seen[r].low];
        bool there = !kiln__low_computed(n);
        for (size_t j = 0; j < s->node_count; j++)
            there = there || s->nodes[j] == n->origin;
        if (!there)
            s->nodes[s->node_count++] = n->origin;
    }
    for (int a = 0; k->reduced != NULL && a < k->rank; a++)
        if (k->reduced[a])
            s->axes.axis[s->axes.count++] = a;
}

static void write_step(kiln__build *b, kiln__plan_kernel *k, uint32_t number)
{
    kiln__writer w = begin_kernel(b, k, true);
    write_kernel(&w);
    if (k->kind == KILN__STEP_LOOP)
        order_axes(&w);
    w.dry = false;
    w.number = number;
    w.step = k->step = &b->program->steps[number];
    w.step->params = kiln__build_alloc(b, KILN_PARAM_MAX * sizeof *w.step->params);
    restart(&w);
    write_kernel(&w);
    bool called = false;
    for (size_t p = 0; p < w.step->param_count; p++)
        called = called || kiln__snippets_hide(&w, w.names[p]);
    for (int t = 0; t < KILN__SNIPPET_COUNT; t++)
        called = called || (w.step->request.snippet[t] != NULL &&
                            name_is_called(&w, w.step->request.snippet[t]));
    if (called) {
        w.careful = true;
        restart(&w);
        write_kernel(&w);
    }
    finish_step(&w);
    w.step = NULL;
    restart(&w);
}

void kiln__write_steps(kiln__build *b)
{
    kiln__program *p = b->program;
    size_t count = 0, spare = 0;

    for (kiln__plan_kernel *k = b->kernels; k != NULL; k = k->next) {
        kiln__writer w = begin_kernel(b, k, true);
        write_kernel(&w);
        count++;
        spare += k->kind == KILN__STEP_CUSTOM || k->kind == KILN__STEP_CUSTOM_REDUCE;
    }
    p->steps = kiln__build_alloc(b, count * sizeof *p->steps);
    /* Each low may be kept, and a custom kernel may have outputs that nobody asked for. */
    p->temps = kiln__build_alloc(b, (b->low_count + spare * KILN_PARAM_MAX) * sizeof *p->temps);
    p->outputs = kiln__build_alloc(b, b->ir->output_count * sizeof *p->outputs);
    p->output_count = b->ir->output_count;
    p->last_read = kiln__build_alloc(b, (b->ir->input_count + 1) * sizeof *p->last_read);
    p->first_write = kiln__build_alloc(b, b->ir->output_count * sizeof *p->first_write);
    for (kiln__plan_kernel *k = b->kernels; k != NULL; k = k->next)
        write_step(b, k, (uint32_t)p->step_count++);
}
