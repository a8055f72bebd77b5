/*
 * emit_axes.c - the axes that a kernel names, and its argument block.
 *
 *     plan > [emit] > compile
 *
 * The lists of axes that templates loop over come from one table. The argument block is a list of
 * slots: the launcher fills the block by it (args.c), and templates/arguments.cpp declares the struct
 * that the kernel reads by a loop over it.
 *
 * Rule: every member of kiln__args is declared for its slot, so the two sides cannot disagree.
 *
 * emit.c and the planners call this file. Test: test_golden.
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

/* Axes whose extents a kernel compares with: the tiled axes, or on the cpu and where rows are stored by lines the
 * last one. */
static axis_run extent_axes(const emitter *e)
{
    if (is_tiled(e))
        return (axis_run){e->v->rank - 1, -1, kiln__variant_number(e->v, "planes", 6) > 0 ? 3 : 2};
    return (axis_run){e->v->rank - 1, -1, !is_linear(e) && (!on_cuda(e) || is_lined(e))};
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

/* All kept axes but those that a tile lies on. */
static axis_run keep_batch(const emitter *e)
{
    return (axis_run){0, 1, e->v->keep_rank - 2};
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
    {"keep_batch", keep_batch},
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

/* The slots of a reduction or a scan between its raw arrays and its strides. */
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

/* The same of a filter. */
void kiln__filter_slots(const emitter *e, slot_list *l)
{
    if (e->def->uses_indexer)
        add_slot(l, KILN__SLOT_INDEXER, 0, 0, 8 + 8 * (size_t)e->v->indexer_rank);
    kiln__reduce_slots(e, l);
}

/* The same of a row program. */
void kiln__row_slots(const emitter *e, slot_list *l)
{
    static const kiln__word words[] = {KILN__WORD_OUTPUTS, KILN__WORD_LENGTH, KILN__WORD_COUNT_ALL,
        KILN__WORD_CHUNK, KILN__WORD_SPLITS, KILN__WORD_PARTS, KILN__WORD_TICKETS};
    const size_t count = e->v->row.stage != 0                    ? 4
                         : on_cuda(e) || e->v->row.tile == 0 ? 3
                                                             : KILN_COUNT_OF(words);
    for (size_t w = 0; w < count; w++)
        add_slot(l, KILN__SLOT_WORD, 0, words[w], 8);
    add_axes(l, all_axes(e), KILN__SLOT_EXTENT, 0, 8);
    add_axes(l, divided_axes(e), KILN__SLOT_DIVISOR, 0, e->v->index_bits == 32 ? 16 : 32);
}

/* The same of a loop. */
void kiln__loop_slots(const emitter *e, slot_list *l)
{
    if (e->def->uses_indexer)
        add_slot(l, KILN__SLOT_INDEXER, 0, 0, 8 + 8 * (size_t)e->v->indexer_rank);
    add_axes(l, extent_axes(e), KILN__SLOT_EXTENT, 0, 8);
    add_axes(l, divided_axes(e), KILN__SLOT_DIVISOR, 0, e->v->index_bits == 32 ? 16 : 32);
    add_axes(l, counted_axes(e), KILN__SLOT_WALK, 0, 8);
    if (is_lined(e))
        add_slot(l, KILN__SLOT_WORD, 0, KILN__WORD_COUNT_ALL, 8);
    if (e->v->layout == KILN__LAYOUT_WINDOW && e->v->loop.ring != 0)
        add_slot(l, KILN__SLOT_WORD, 0, KILN__WORD_CHUNK, 8);
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
    if (e->def->reports)
        add_slot(l, KILN__SLOT_REPORT, 0, 0, 8);
    e->def->family->slots(e, l);
    for (size_t p = 0; p < count && !is_linear(e); p++) {
        if (!is_walking(e, p))
            continue;
        add_axes(l, all_axes(e), KILN__SLOT_STRIDE, p, 8);
        if (is_reversed(e))
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

/* ---- the slots, as templates/arguments.cpp asks for them ---- */

const char *kiln__number_name(size_t numbering)
{
    static const char *const names[KILN__NUMBER_COUNT] = {
        [KILN__NUMBER_POSITION] = "J", [KILN__NUMBER_IN] = "I", [KILN__NUMBER_OUT] = "O"};
    return names[numbering];
}

/* Whether a slot is a plain number of kiln__word; neighbouring ones are one item of the loop. */
static bool is_number(const kiln__slot *s)
{
    return s->kind == KILN__SLOT_WORD && s->axis < KILN__WORD_PARTS;
}

/* The slot behind the current item. */
static size_t next_slot(const emitter *e)
{
    const slot_list *l = e->slots;
    size_t k = e->slot + 1;
    while (k < l->count && is_number(&l->slots[k - 1]) && is_number(&l->slots[k]))
        k++;
    return k;
}

int kiln__slot_item(emitter *e, int nth)
{
    e->slot = nth == 0 ? 0 : next_slot(e);
    if (e->slot >= e->slots->count)
        return 0;
    const kiln__slot *s = &e->slots->slots[e->slot];
    if (s->kind == KILN__SLOT_NUMBER_STRIDE)
        e->number = s->param;
    else
        e->p = s->param;
    e->axis = s->axis;
    return 1;
}

/* The part of arguments.cpp that declares a slot's member. */
static const char *slot_kind(const kiln__slot *s)
{
    static const char *const kinds[] = {
        [KILN__SLOT_SIZE] = "size",
        [KILN__SLOT_POINTER] = "pointer",
        [KILN__SLOT_SCALAR] = "scalar",
        [KILN__SLOT_RAW] = "raw",
        [KILN__SLOT_EXTENT] = "extent",
        [KILN__SLOT_DIVISOR] = "divisor",
        [KILN__SLOT_WALK] = "walk",
        [KILN__SLOT_STRIDE] = "stride",
        [KILN__SLOT_BEGIN] = "begin",
        [KILN__SLOT_INDEX_STRIDE] = "index_stride",
        [KILN__SLOT_NUMBER_STRIDE] = "number_stride",
        [KILN__SLOT_SPLITS] = "splits",
        [KILN__SLOT_INDEXER] = "indexer",
        [KILN__SLOT_OUT_INDEXER] = "out_indexer",
        [KILN__SLOT_REPORT] = "report",
    };
    if (s->kind != KILN__SLOT_WORD)
        return kinds[s->kind];
    return is_number(s) ? "numbers" : s->axis == KILN__WORD_PARTS ? "parts" : "tickets";
}

/* The numbers of an item by their names in kernels; row programs count rows, not outputs. */
static void put_names(const emitter *e, kiln__buf *out)
{
    static const char *const names[] = {
        [KILN__WORD_OUTPUTS] = "outputs", [KILN__WORD_LENGTH] = "length",
        [KILN__WORD_CHUNK] = "chunk",     [KILN__WORD_SPLITS] = "splits",
        [KILN__WORD_COUNT_ALL] = "count"};
    const size_t end = next_slot(e);

    for (size_t k = e->slot; k < end; k++) {
        const int word = e->slots->slots[k].axis;
        kiln__buf_puts(out, k > e->slot ? ", " : "");
        kiln__buf_puts(out, word == KILN__WORD_OUTPUTS && e->def->rows != NULL ? "rows"
                                                                               : names[word]);
    }
}

bool kiln__slot_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    const kiln__slot *s = &e->slots->slots[e->slot];

    if (bytes < 2 || name[0] != 'm' || name[1] != '.' || e->slot >= e->slots->count)
        return false;
    if (kiln__same_word(name, bytes, "m.kind"))
        kiln__buf_puts(out, slot_kind(s));
    else if (kiln__same_word(name, bytes, "m.bytes"))
        kiln__buf_put_number(out, s->bytes);
    else if (kiln__same_word(name, bytes, "m.rank"))
        kiln__buf_put_number(out, s->bytes / 8 - 1);
    else if (kiln__same_word(name, bytes, "m.names"))
        put_names(e, out);
    else
        return false;
    return true;
}
