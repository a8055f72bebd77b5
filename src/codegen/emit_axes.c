/*
 * emit_axes.c - the axes that a kernel names, and its argument block.
 *
 *     plan > [emit] > compile
 *
 * The lists of axes that templates loop over come from one table. The argument block is a list of
 * slots: the launcher fills the block by it (args.c), and the members of the struct that the kernel
 * reads are printed from it.
 *
 * Rule: every member of kiln__args is printed from its slot, so the two sides cannot disagree. All
 *       members begin at multiples of 8 bytes, scalars of 16 bytes at multiples of 16.
 */
#include "codegen/emit.h"

/* A run of axes: from, from + step, ... , `count` of them. */
typedef struct axis_run {
    int from, step, count;
} axis_run;

static axis_run all_axes(const emitter *e)
{
    return (axis_run){0, 1, e->v->rank};
}

static axis_run inward_axes(const emitter *e)
{
    return (axis_run){e->v->rank - 1, -1, e->v->rank};
}

static axis_run outer_axes(const emitter *e)
{
    return (axis_run){0, 1, e->v->rank - 1};
}

static axis_run tile_axes(const emitter *e)
{
    return (axis_run){e->v->rank - 1, -1, is_tiled(e) ? 2 : 0};
}

/* Axes whose extents a kernel compares with: the tiled axes, or on the cpu the last one. */
static axis_run extent_axes(const emitter *e)
{
    if (is_tiled(e))
        return tile_axes(e);
    return (axis_run){e->v->rank - 1, -1, !is_linear(e) && !on_cuda(e)};
}

/* cuda: axes whose coordinate is the remainder of a magic-number division. In a loop axis 0 needs none:
 * its coordinate is the last quotient. */
static axis_run divided_axes(const emitter *e)
{
    if (e->def->family->combines)
        return (axis_run){e->v->rank - 1, -1, on_cuda(e) ? e->v->rank : 0};
    return (axis_run){e->v->rank - 1, -1, on_cuda(e) && !is_linear(e) ? e->v->rank - 1 : 0};
}

static axis_run counted_axes(const emitter *e)
{
    return (axis_run){0, 1, on_cuda(e) || is_linear(e) ? 0 : e->v->rank};
}

/* Reductions: the kept axes come first, the reduced ones follow. "inward" is the order in which
 * coordinates are divided out of a number: from the last axis to the second; "divided" is the same for
 * magic-number divisions. */
static axis_run keep_axes(const emitter *e)
{
    return (axis_run){0, 1, e->v->keep_rank};
}

static axis_run keep_inward(const emitter *e)
{
    return (axis_run){e->v->keep_rank - 1, -1, e->v->keep_rank - 1};
}

static axis_run keep_outer(const emitter *e)
{
    return (axis_run){0, 1, e->v->keep_rank - 1};
}

static axis_run keep_outer_inward(const emitter *e)
{
    return (axis_run){e->v->keep_rank - 2, -1, e->v->keep_rank - 1};
}

static axis_run reduce_axes(const emitter *e)
{
    return (axis_run){e->v->keep_rank, 1, e->v->rank - e->v->keep_rank};
}

static axis_run reduce_inward(const emitter *e)
{
    return (axis_run){e->v->rank - 1, -1, e->v->rank - e->v->keep_rank - 1};
}

static const struct {
    const char *name;
    axis_run (*run)(const emitter *);
} axis_lists[] = {
    {"axes", all_axes},
    {"axes_inward", inward_axes},
    {"axes_outer", outer_axes},
    {"tile_axes", tile_axes},
    {"divided_axes", divided_axes},
    {"keep_axes", keep_axes},
    {"keep_inward", keep_inward},
    {"keep_divided", keep_inward},
    {"keep_outer", keep_outer},
    {"keep_outer_inward", keep_outer_inward},
    {"reduce_axes", reduce_axes},
    {"reduce_inward", reduce_inward},
    {"reduce_divided", reduce_inward},
};

int kiln__emit_axis(emitter *e, const char *list, size_t bytes, int nth)
{
    for (size_t l = 0; l < KILN_COUNT_OF(axis_lists); l++) {
        if (!kiln__same_word(list, bytes, axis_lists[l].name))
            continue;
        const axis_run run = axis_lists[l].run(e);
        e->axis = run.from + nth * run.step;
        return nth < run.count;
    }
    return -1;
}

/* ---- the argument block ---- */

static void add_slot(slot_list *l, kiln__slot_kind kind, size_t param, int axis, size_t bytes)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity == 0 ? 32 : 2 * l->capacity;
        kiln__slot *slots = kiln__realloc(l->slots, capacity * sizeof *slots);
        if (slots == NULL) {
            l->failed = true;
            return;
        }
        l->slots = slots;
        l->capacity = capacity;
    }
    if (kind == KILN__SLOT_SCALAR && bytes == 16)
        l->bytes = (l->bytes + 15) / 16 * 16;
    l->slots[l->count++] = (kiln__slot){(uint8_t)kind, (uint8_t)param, (uint8_t)axis,
                                        (uint16_t)l->bytes, (uint16_t)bytes};
    l->bytes += bytes;
    if (l->bytes > KILN__ARGS_MAX) /* keep offsets in range; the caller refuses the whole */
        l->bytes = KILN__ARGS_MAX + 1;
}

static void add_axes(slot_list *l, axis_run run, kiln__slot_kind kind, size_t param, size_t bytes)
{
    for (int k = 0; k < run.count; k++)
        add_slot(l, kind, param, run.from + k * run.step, bytes);
}

/* The slots between the raw arrays and the strides: of a reduction or a scan, ... */
void kiln__reduce_slots(const emitter *e, slot_list *l)
{
    const size_t divisor = e->v->index_bits == 32 ? 16 : 32;
    if (e->def->uses_in_indexer)
        add_slot(l, KILN__SLOT_INDEXER, 0, 0, 8 + 8 * (size_t)e->v->indexer_rank);
    if (e->def->uses_out_indexer)
        add_slot(l, KILN__SLOT_OUT_INDEXER, 0, 0, 8 + 8 * (size_t)e->v->out_indexer_rank);
    for (int word = 0; word < KILN__WORD_COUNT; word++)
        add_slot(l, KILN__SLOT_WORD, 0, word, 8);
    add_axes(l, all_axes(e), KILN__SLOT_EXTENT, 0, 8);
    if (on_cuda(e))
        add_slot(l, KILN__SLOT_SPLITS, 0, 0, divisor);
    add_axes(l, divided_axes(e), KILN__SLOT_DIVISOR, 0, divisor);
}

/* ... of a row program, ... */
void kiln__row_slots(const emitter *e, slot_list *l)
{
    static const kiln__word words[] = {KILN__WORD_OUTPUTS, KILN__WORD_LENGTH, KILN__WORD_COUNT_ALL,
        KILN__WORD_CHUNK, KILN__WORD_SPLITS, KILN__WORD_PARTS, KILN__WORD_TICKETS};
    for (size_t w = 0; w < (on_cuda(e) || e->v->tile == 0 ? 3u : KILN_COUNT_OF(words)); w++)
        add_slot(l, KILN__SLOT_WORD, 0, words[w], 8);
    add_axes(l, all_axes(e), KILN__SLOT_EXTENT, 0, 8);
    add_axes(l, divided_axes(e), KILN__SLOT_DIVISOR, 0, e->v->index_bits == 32 ? 16 : 32);
}

/* ... and of a loop. */
void kiln__loop_slots(const emitter *e, slot_list *l)
{
    if (e->def->uses_indexer)
        add_slot(l, KILN__SLOT_INDEXER, 0, 0, 8 + 8 * (size_t)e->v->indexer_rank);
    add_axes(l, extent_axes(e), KILN__SLOT_EXTENT, 0, 8);
    add_axes(l, divided_axes(e), KILN__SLOT_DIVISOR, 0, e->v->index_bits == 32 ? 16 : 32);
    add_axes(l, counted_axes(e), KILN__SLOT_WALK, 0, 8);
}

void kiln__emit_slots(const emitter *e, slot_list *l)
{
    const size_t count = e->def->param_count;
    add_slot(l, KILN__SLOT_SIZE, 0, 0, 8);
    for (size_t p = 0; p < count; p++)
        if (is_scalar(e, p))
            add_slot(l, KILN__SLOT_SCALAR, p, 0, kiln_dtype_size(e->v->dtype[p]) > 8 ? 16 : 8);
    for (size_t p = 0; p < count; p++)
        if (is_pointer(e, p))
            add_slot(l, KILN__SLOT_POINTER, p, 0, 8);
    for (size_t p = 0; p < count; p++)
        if (is_raw(e, p))
            add_slot(l, KILN__SLOT_RAW, p, 0, 16 + 16 * (size_t)e->v->raw_rank[p]);
    e->def->family->slots(e, l);
    for (size_t p = 0; p < count && !is_linear(e); p++) {
        if (!is_walking(e, p))
            continue;
        add_axes(l, all_axes(e), KILN__SLOT_STRIDE, p, 8);
        if (e->v->reverse)
            add_slot(l, KILN__SLOT_BEGIN, p, 0, 8);
    }
    if (!e->def->family->maps && has_index_strides(e))
        add_axes(l, all_axes(e), KILN__SLOT_INDEX_STRIDE, 0, 8);
    for (size_t k = 0; k < KILN__NUMBER_COUNT; k++)
        if (e->def->uses_number[k] && e->def->family->shrinks)
            add_axes(l, all_axes(e), KILN__SLOT_NUMBER_STRIDE, k, 8);
    bool wide = false;
    for (size_t k = 0; k < l->count; k++)
        wide |= l->slots[k].kind == KILN__SLOT_SCALAR && l->slots[k].bytes == 16;
    if (wide)
        l->bytes = (l->bytes + 15) / 16 * 16;
}

/* ---- the struct that the kernel reads ---- */

const char *kiln__number_name(size_t numbering)
{
    static const char *const names[KILN__NUMBER_COUNT] = {
        [KILN__NUMBER_POSITION] = "J", [KILN__NUMBER_IN] = "I", [KILN__NUMBER_OUT] = "O"};
    return names[numbering];
}

/* The numbers of kiln__word by their names in kernels; row programs count rows, not outputs. */
static const char *word_name(const emitter *e, int word)
{
    static const char *const names[KILN__WORD_COUNT] = {
        [KILN__WORD_OUTPUTS] = "outputs",  [KILN__WORD_LENGTH] = "length",
        [KILN__WORD_CHUNK] = "chunk",      [KILN__WORD_SPLITS] = "splits",
        [KILN__WORD_COUNT_ALL] = "count",  [KILN__WORD_PARTS] = "parts",
        [KILN__WORD_TICKETS] = "tickets"};
    return word == KILN__WORD_OUTPUTS && e->def->rows != NULL ? "rows" : names[word];
}

static const char *word_type(const emitter *e, int word)
{
    if (word == KILN__WORD_PARTS)
        return e->def->family->maps ? "kiln__part *" : "char *";
    return word == KILN__WORD_TICKETS ? "int *" : "long long ";
}

/* Parameters of one array, with the type that its elements have in the kernel. */
static void put_array(const emitter *e, const kiln__slot *s, kiln__buf *out)
{
    const kiln__param *p = &e->def->params[s->param];
    const char *constant = p->output || p->writable ? "" : "const ";
    const char placeholder[2] = {p->placeholder, '\0'};
    const char *type = p->placeholder != 0 ? placeholder : kiln_dtype_ctype(e->v->dtype[s->param]);

    if (s->kind == KILN__SLOT_SCALAR)
        kiln__buf_printf(out, "alignas(%d) %s val_%s", s->bytes, type, p->name);
    else if (s->kind == KILN__SLOT_POINTER)
        kiln__buf_printf(out, "%s%s *ptr_%s", constant, type, p->name);
    else
        kiln__buf_printf(out, "kiln__raw<%s%s, %d, %s> raw_%s", constant, type,
                         e->v->raw_rank[s->param],
                         e->v->raw_contiguous[s->param] ? "true" : "false", p->name);
}

static void put_member(const emitter *e, const kiln__slot *s, kiln__buf *out)
{
    const char *param = e->def->params[s->param].name;
    const bool loop = !e->def->family->combines;

    switch ((kiln__slot_kind)s->kind) {
    case KILN__SLOT_SIZE:
        kiln__buf_puts(out, "long long size");
        break;
    case KILN__SLOT_SCALAR:
    case KILN__SLOT_POINTER:
    case KILN__SLOT_RAW:
        put_array(e, s, out);
        break;
    case KILN__SLOT_EXTENT:
        kiln__buf_printf(out, "long long %s_%d", loop ? "extent" : "shape", s->axis);
        break;
    case KILN__SLOT_DIVISOR:
        kiln__buf_printf(out, "kiln__divisor%d walk_%d", e->v->index_bits, s->axis);
        break;
    case KILN__SLOT_SPLITS:
        kiln__buf_printf(out, "kiln__divisor%d by_splits", e->v->index_bits);
        break;
    case KILN__SLOT_WALK:
        kiln__buf_printf(out, "long long walk_%d", s->axis);
        break;
    case KILN__SLOT_STRIDE:
        kiln__buf_printf(out, "long long stride_%s_%d", param, s->axis);
        break;
    case KILN__SLOT_BEGIN:
        kiln__buf_printf(out, "long long begin_%s", param);
        break;
    case KILN__SLOT_INDEX_STRIDE:
        kiln__buf_printf(out, "long long stride_i_%d", s->axis);
        break;
    case KILN__SLOT_NUMBER_STRIDE:
        kiln__buf_printf(out, "long long step_%s_%d", kiln__number_name(s->param), s->axis);
        break;
    case KILN__SLOT_WORD:
        kiln__buf_printf(out, "%s%s", word_type(e, s->axis), word_name(e, s->axis));
        break;
    case KILN__SLOT_INDEXER:
        kiln__buf_printf(out, "kiln__indexer<%d> %sindexer", s->bytes / 8 - 1, loop ? "" : "in_");
        break;
    case KILN__SLOT_OUT_INDEXER:
        kiln__buf_printf(out, "kiln__indexer<%d> out_indexer", s->bytes / 8 - 1);
        break;
    }
}

/* Whether a slot is a plain number of kiln__word, which share a line. */
static bool is_number(const kiln__slot *s)
{
    return s->kind == KILN__SLOT_WORD && s->axis < KILN__WORD_PARTS;
}

void kiln__emit_members(const emitter *e, kiln__buf *out)
{
    const slot_list *l = e->slots;

    for (size_t k = 0; k < l->count; k++) {
        if (k > 0 && is_number(&l->slots[k - 1]) && is_number(&l->slots[k])) {
            kiln__buf_printf(out, ", %s", word_name(e, l->slots[k].axis));
            continue;
        }
        kiln__buf_puts(out, k > 0 ? ";\n    " : "    ");
        put_member(e, &l->slots[k], out);
    }
    kiln__buf_puts(out, ";");
}
