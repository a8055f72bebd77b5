/*
 * values.c - where values are in memory, and the parameters that are views of them.
 *
 *     text, text_gather, text_loop, text_reduce, text_rows > [values > maps]
 *
 * A value is an argument of the call or a temporary. A parameter of a kernel is a view of a value.
 * It has the shape of the loop. Its strides along each axis follow from the map of the lowered
 * node, and are 0 along axes that the value does not have.
 *
 * Tests: test_graph_plan, test_graph_run.
 */
#include "fusion/write.h"

/* ---- places ---------------------------------------------------------------------------------- */

static int64_t *ordered_strides(kiln__build *b, const kiln__lowered *n, const int *order)
{
    int64_t *strides = kiln__build_alloc(b, (size_t)n->rank * sizeof *strides);
    kiln__strides_ordered(n->rank, n->shape, order, kiln_dtype_size(n->dtype), strides);
    return strides;
}

static void describe(kiln__build *b, const kiln__lowered *n, const int *order, kiln__made *made)
{
    made->dtype = n->dtype;
    made->rank = n->rank;
    made->shape = n->shape;
    made->order = kiln__build_copy(b, order, (size_t)n->rank * sizeof *order);
}

/* A part of a join is a view of the join's memory, which begins to exist with its first part. What
 * is an output under another shape has the output's memory. */
static void place_part(kiln__writer *w, uint32_t low)
{
    kiln__build *b = w->b;
    kiln__lowered *n = &b->lowered[low];

    kiln__place(w, n->into, NULL);
    const kiln__step_param *whole = b->values[n->into].value;
    kiln__step_param *const value = kiln__build_copy(b, whole, sizeof *whole);
    b->values[low].value = value;
    value->shape = n->shape;
    value->rank = n->rank;
    if (n->start == NULL)
        value->strides = ordered_strides(b, n, NULL);
    for (int a = 0; n->start != NULL && a < n->rank; a++)
        value->offset += n->start[a] * whole->strides[a];
}

void kiln__place(kiln__writer *w, uint32_t low, const int *order)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    kiln__program *p = b->program;
    int natural[KILN_RANK_MAX];

    if (b->values[low].value != NULL)
        return;
    if (n->into != 0) {
        place_part(w, low);
        return;
    }
    kiln__step_param *const value = kiln__build_alloc(b, sizeof *value);
    b->values[low].value = value;
    for (int a = 0; a < n->rank; a++)
        natural[a] = a;
    if (order == NULL || n->c_order)
        order = natural;
    value->dtype = n->dtype;
    value->rank = n->rank;
    value->shape = n->shape;
    if (n->output >= 0) {
        const uint32_t at = b->ir->input_count + (uint32_t)n->output;
        value->kind = KILN__VALUE_ARG;
        value->index = at;
        describe(b, n, order, &p->outputs[n->output]);
        value->strides = b->args[at].is_array ? kiln__build_copy(b, b->args[at].strides,
                                                                 (size_t)n->rank * sizeof(int64_t))
                                              : ordered_strides(b, n, order);
        p->first_write[n->output] = w->number + 1;
        return;
    }
    kiln__made *temp = &p->temps[p->temp_count];
    value->kind = KILN__VALUE_TEMP;
    value->index = (uint32_t)p->temp_count++;
    describe(b, n, order, temp);
    value->strides = ordered_strides(b, n, order);
    temp->first = temp->last = w->number;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether a word may name a parameter in any kernel that a graph makes. */
static bool usable_name(const char *name)
{
    static const char *const taken[] = {"a", "b", "n", "i", "T", "E", "threadIdx", "blockIdx",
                                        "blockDim", "gridDim", "warpSize", "operator"};
    bool capitals = name[0] != '\0' && name[1] != '\0';
    if (!kiln__is_identifier(name) || kiln__is_cpp_keyword(name) || name[0] == '_' ||
        strncmp(name, "kiln", 4) == 0 || strlen(name) > 60 ||
        kiln_dtype_from_name(name, strlen(name)) != KILN_DTYPE_NONE)
        return false;
    for (size_t k = 0; k < KILN_COUNT_OF(taken); k++)
        if (strcmp(name, taken[k]) == 0)
            return false;
    for (const char *c = name; *c != '\0'; c++)
        capitals = capitals && !(*c >= 'a' && *c <= 'z');
    if (capitals)
        return false; /* it may be a macro */
    if (name[0] == 't' || name[0] == 'r') /* what statements and results are called */
        return strspn(name + 1, "0123456789") != strlen(name + 1);
    return true;
}

static bool name_taken(const kiln__writer *w, const char *name)
{
    for (size_t p = 0; p < w->step->param_count; p++)
        if (strcmp(w->names[p], name) == 0)
            return true;
    return false;
}

static const char *choose_name(kiln__writer *w, const char *base, const char *fallback)
{
    char name[96];
    if (!w->careful && usable_name(base) && !name_taken(w, base))
        return kiln__build_copy(w->b, base, strlen(base) + 1);
    const bool whole = kiln__is_identifier(base) && strlen(base) <= 60 && base[0] != '_';
    snprintf(name, sizeof name, "%s%s%s", fallback, whole ? "_" : "", whole ? base : "");
    for (int k = 2; name_taken(w, name) || !usable_name(name); k++)
        snprintf(name, sizeof name, "%s_%d", fallback, k);
    return kiln__build_copy(w->b, name, strlen(name) + 1);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int64_t touched_bytes(int rank, const int64_t *shape, const int64_t *strides,
                             kiln_dtype dtype)
{
    int64_t bytes = (int64_t)kiln_dtype_size(dtype);
    for (int a = 0; a < rank; a++)
        if (strides[a] != 0 || shape[a] == 0)
            bytes *= shape[a];
    return bytes;
}

/* Whether a view is the value itself, of this shape and these strides, so that its array can be
 * passed as it is. */
static bool is_whole(const kiln__step_param *p, int rank, const int64_t *shape,
                     const int64_t *strides)
{
    if (p->offset != 0 || !kiln__same_shape(p->rank, p->shape, rank, shape))
        return false;
    for (int a = 0; a < rank; a++)
        if (shape[a] > 1 && p->strides[a] != strides[a])
            return false;
    return true;
}

static kiln__step_param *add_param(kiln__writer *w, kiln__buf *signature, const char *word,
                                   kiln_dtype dtype, const char *name)
{
    kiln__step *s = w->step;
    if (s->param_count == KILN_PARAM_MAX)
        kiln__build_fail(w->b, 0, KILN_ERR_UNSUPPORTED,
                         "a kernel would have more than %d arguments: split the graph",
                         KILN_PARAM_MAX);
    kiln__buf_printf(signature, "%s%s%s %s", signature->length > 0 ? ", " : "", word,
                     kiln_dtype_name(dtype), name);
    w->names[s->param_count] = name;
    kiln__step_param *p = &s->params[s->param_count++];
    memset(p, 0, sizeof *p);
    p->dtype = dtype;
    return p;
}

/* Note that this step is the last one so far that reads a value. */
static void note_read(kiln__writer *w, const kiln__step_param *p)
{
    kiln__program *program = w->b->program;
    if (p->kind == KILN__VALUE_TEMP)
        program->temps[p->index].last = w->number;
    else if (p->index < w->b->ir->input_count && program->last_read[p->index] <= w->number)
        program->last_read[p->index] = w->number + 1;
}

/* The strides of a value that is read: of a view of an argument, or of something stored. */
static void value_of(kiln__build *b, uint32_t low, kiln__step_param *p, const int64_t **strides)
{
    const kiln__lowered *n = &b->lowered[low];
    if (n->kind == KILN__LOWERED_LEAF) {
        p->kind = KILN__VALUE_ARG;
        p->index = n->arg;
        p->offset = n->offset;
        *strides = n->strides;
        return;
    }
    const kiln__lowered *kept = n->kind == KILN__LOWERED_RESHAPED ? &b->lowered[n->operand[0]] : n;
    p->kind = b->values[kept->id].value->kind;
    p->index = b->values[kept->id].value->index;
    *strides = b->values[kept->id].value->strides;
    if (n->kind == KILN__LOWERED_RESHAPED) {
        *strides = ordered_strides(b, n, NULL);
    }
}

/* What the user calls an argument. */
static const char *value_name(const kiln__build *b, const kiln__step_param *p)
{
    return p->index < b->ir->input_count ? b->ir->inputs[p->index].name
                                         : b->ir->outputs[p->index - b->ir->input_count].name;
}

const char *kiln__input_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    const int64_t *strides = NULL;
    char temporary[24];
    kiln__step_param view;

    memset(&view, 0, sizeof view);
    if (n->kind == KILN__LOWERED_SCALAR) {
        const bool known = n->arg >= KILN__KNOWN_NUMBER;
        const char *name = choose_name(w, known ? "extent" : b->ir->inputs[n->arg].name, "in");
        kiln__step_param *p = add_param(w, &b->scratch[KILN__BUF_IN], "", n->dtype, name);
        p->kind = known ? KILN__VALUE_NUMBER : KILN__VALUE_SCALAR;
        p->index = known ? 0 : n->arg;
        p->number = n->number;
        p->node = n->origin;
        return name;
    }
    value_of(b, low, &view, &strides);
    view.node = n->origin;
    view.rank = w->rank;
    view.shape = kiln__build_copy(b, w->shape, (size_t)w->rank * sizeof *w->shape);
    view.strides = kiln__build_alloc(b, (size_t)w->rank * sizeof *view.strides);
    for (int a = 0; w->post && a < w->rank; a++)
        if (w->kernel->reduced[a])
            view.shape[a] = 1; /* an element for each result */
    for (int a = 0; a < n->rank; a++) {
        view.offset += map[a].start * strides[a];
        if (map[a].from >= 0)
            view.strides[map[a].from] += map[a].step * strides[a];
    }
    snprintf(temporary, sizeof temporary, "kept%u", view.index + 1);
    const char *base = view.kind == KILN__VALUE_ARG ? value_name(b, &view) : temporary;
    const char *name = choose_name(w, base, "in");
    kiln__step_param *p = add_param(w, &b->scratch[KILN__BUF_IN], "", n->dtype, name);
    view.dtype = n->dtype;
    view.bytes = touched_bytes(view.rank, view.shape, view.strides, n->dtype);
    *p = view;
    if (n->kind == KILN__LOWERED_LEAF)
        p->whole = is_whole(p, b->args[p->index].rank, b->args[p->index].shape,
                            b->args[p->index].strides);
    else if (n->kind != KILN__LOWERED_RESHAPED)
        p->whole = n->into == 0 && is_whole(p, n->rank, n->shape, b->values[low].value->strides);
    w->step->bytes_read += p->bytes;
    note_read(w, p);
    return name;
}

const char *kiln__walking_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    const kiln__lowered *n = &w->b->lowered[low];

    if (n->kind == KILN__LOWERED_VIEW) {
        const kiln__lowered *o = &w->b->lowered[n->operand[0]];
        kiln__axis_map *through = kiln__build_note(w->b, (size_t)o->rank * sizeof *through + 1);
        kiln__compose(map, n->map, o->rank, through);
        return kiln__walking_param(w, n->operand[0], through);
    }
    const char *name = kiln__input_param(w, low, map);
    kiln__step_param *p = &w->step->params[w->step->param_count - 1];
    kiln__program *program = w->b->program;
    if (p->kind == KILN__VALUE_ARG && p->index < w->b->ir->input_count) {
        program->last_read[p->index] = w->number + 2;
        program->reads_elsewhere = true;
    }
    p->again = true;
    w->step->bytes_read -= p->bytes;
    p->bytes = 0;
    return name;
}

/* The strides of a lowered node that is in memory, or of a view of one, in bytes, and where it
 * begins. */
static void strides_of(kiln__build *b, uint32_t low, kiln__step_param *p, int64_t *strides)
{
    const kiln__lowered *n = &b->lowered[low];
    const kiln__lowered *behind = &b->lowered[kiln__behind(b, low)];
    const int64_t *own = NULL;

    value_of(b, behind->id, p, &own);
    p->node = behind->origin;
    memset(strides, 0, KILN_RANK_MAX * sizeof *strides);
    for (int a = 0; a < behind->rank; a++) {
        const kiln__axis_map m = n == behind ? (kiln__axis_map){a, 0, 1} : n->map[a];
        p->offset += m.start * own[a];
        if (m.from >= 0)
            strides[m.from] += m.step * own[a];
    }
}

const char *kiln__table_param(kiln__writer *w, const kiln__lowered *gather,
                              const kiln__axis_map *map, bool walks)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[gather->operand[0]];
    int64_t strides[KILN_RANK_MAX];
    kiln__step_param view = {.raw = true, .dtype = n->dtype};

    strides_of(b, n->id, &view, strides);
    view.shape = kiln__build_alloc(b, ((size_t)n->rank + 1) * sizeof *view.shape);
    view.strides = kiln__build_alloc(b, ((size_t)n->rank + 1) * sizeof *view.strides);
    for (uint32_t k = 0; k <= gather->operand_count; k++)
        for (int a = 0; a < n->rank; a++) {
            const bool indexed = gather->map[a].from <= KILN__BY_INDEX;
            if (indexed ? gather->map[a].from != KILN__BY_INDEX - (int)k
                        : k < gather->operand_count)
                continue;
            if (!indexed && !walks) {
                view.offset += map[a].start * strides[a];
                continue;
            }
            view.shape[view.rank] = n->shape[a];
            view.strides[view.rank++] = strides[a];
        }
    view.bytes = gather->size * (int64_t)kiln_dtype_size(n->dtype);
    const kiln__lowered *behind = &b->lowered[kiln__behind(b, n->id)];
    char temporary[24];
    snprintf(temporary, sizeof temporary, "kept%u", view.index + 1);
    const char *name =
        choose_name(w, view.kind == KILN__VALUE_ARG ? value_name(b, &view) : temporary, "in");
    kiln__step_param *p = add_param(w, &b->scratch[KILN__BUF_IN], "raw ", n->dtype, name);
    *p = view;
    p->node = behind->origin;
    w->step->bytes_read += p->bytes;
    note_read(w, p);
    return name;
}

const char *kiln__report_param(kiln__writer *w)
{
    kiln__step *s = w->step;
    static int64_t shape[] = {KILN__REPORT_SHAPE}, strides[] = {sizeof(int64_t)};

    for (size_t p = 0; p < s->param_count; p++)
        if (s->params[p].kind == KILN__VALUE_REPORT)
            return w->names[p];
    const char *name = choose_name(w, "report", "report_to");
    kiln__step_param *p =
        add_param(w, &w->b->scratch[KILN__BUF_IN], "raw ", KILN_INT64, name);
    p->kind = KILN__VALUE_REPORT;
    p->raw = p->whole = true;
    p->rank = 1;
    p->shape = shape;
    p->strides = strides;
    return name;
}

const char *kiln__output_param(kiln__writer *w, uint32_t low, int rank, const int64_t *shape,
                               const int64_t *strides)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    char temporary[24];
    snprintf(temporary, sizeof temporary, "kept%u", b->values[low].value->index + 1);
    const char *name = choose_name(
        w,
        b->values[low].value->kind == KILN__VALUE_ARG
            ? b->ir->outputs[b->values[low].value->index - b->ir->input_count].name
            : temporary,
        "out");
    kiln__step_param *p =
        add_param(w, &b->scratch[w->row_outputs ? KILN__BUF_MORE : KILN__BUF_OUT], "", n->dtype, name);
    p->kind = b->values[low].value->kind;
    p->index = b->values[low].value->index;
    p->offset = b->values[low].value->offset;
    p->node = n->origin;
    p->rank = rank;
    p->shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape);
    p->strides = kiln__build_copy(b, strides, (size_t)rank * sizeof *strides);
    p->bytes = n->size * (int64_t)kiln_dtype_size(n->dtype);
    p->whole = n->into == 0 && is_whole(p, n->rank, n->shape, b->values[low].value->strides);
    w->step->bytes_written += p->bytes;
    return name;
}

void kiln__spare_param(kiln__writer *w, kiln_dtype dtype, int rank, int64_t *shape)
{
    kiln__program *program = w->b->program;
    kiln__made *temp = &program->temps[program->temp_count];
    int natural[KILN_RANK_MAX];
    for (int a = 0; a < rank; a++)
        natural[a] = a;
    const kiln__lowered like = {.dtype = dtype, .rank = rank, .shape = shape};
    describe(w->b, &like, natural, temp);
    temp->first = temp->last = w->number;
    kiln__step_param *p = add_param(w, &w->b->scratch[KILN__BUF_OUT], "", dtype, "");
    p->kind = KILN__VALUE_TEMP;
    p->index = (uint32_t)program->temp_count++;
    p->rank = rank;
    p->shape = shape;
    p->strides = ordered_strides(w->b, &like, natural);
    p->bytes = touched_bytes(rank, shape, p->strides, dtype);
    p->whole = true;
    w->step->bytes_written += p->bytes;
}

int kiln__kept_strides(const kiln__writer *w, uint32_t low, int64_t *shape, int64_t *strides)
{
    const kiln__lowered *n = &w->b->lowered[low];
    int rank = 0, own = 0;
    for (int a = 0; a < w->kernel->rank; a++) {
        if (w->kernel->reduced[a])
            continue;
        shape[rank] = w->kernel->shape[a];
        strides[rank] = (int64_t)kiln_dtype_size(n->dtype);
        while (shape[rank] != 1 && own < n->rank && n->shape[own] == 1)
            own++;
        if (shape[rank] != 1)
            strides[rank] = w->b->values[low].value->strides[own++];
        rank++;
    }
    return rank;
}
