/*
 * emit.c - turn a definition and a variant into kernel source.
 *
 *     plan > [emit] > compile
 *
 * The text comes from templates/kernel.cpp and the templates that it inserts. This file answers the
 * names, lists and conditions that those templates use, each from one table below. src/jit and
 * src/kernel call it. Test: test_golden, which compares whole sources.
 * Rule 1: nothing here may depend on anything but the definition and the variant.
 * Rule 2: a new name for the templates is a new row in a table, not a new mechanism.
 */
#include "codegen/emit.h"
#include "codegen/prelude.h"
#include "codegen/template.h"

/* cpu: a launch that touches at least this many bytes stores its outputs past the caches; and the
 * number of elements that are computed before they are stored (a multiple of a vector's elements for
 * every dtype). */
#define STREAM_BYTES_MIN ((int64_t)32 << 20)
#define STREAM_BURST 64

/* ---- facts about parameters ---------------------------------------------------------------- */

static bool is_direct(const emitter *e, size_t p)
{
    return e->def->params[p].by_address;
}

static bool is_register(const emitter *e, size_t p)
{
    return is_walking(e, p) && !is_direct(e, p);
}

static bool is_loaded(const emitter *e, size_t p)
{
    const kiln__param *param = &e->def->params[p];
    return is_register(e, p) && (!param->output || param->read_first);
}

static bool is_stored(const emitter *e, size_t p)
{
    return is_register(e, p) && e->def->params[p].output;
}

static bool is_tile(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_TILE;
}

/* Whether a reduction runs along one axis on which the accesses of an operand lie one behind the other. */
static bool is_contiguous(const emitter *e, size_t p)
{
    const uint8_t access = access_of(e, p);

    return e->v->layout == KILN__LAYOUT_ROWS && e->v->rank == e->v->keep_rank + 1 &&
           (access == KILN__ACCESS_VECTOR || access == KILN__ACCESS_ONCE ||
            access == KILN__ACCESS_TILE);
}

static bool is_plain(const emitter *e, size_t p)
{
    return is_walking(e, p) && !is_tile(e, p);
}

static bool is_tiled_load(const emitter *e, size_t p)
{
    return is_tile(e, p) && is_loaded(e, p);
}

static bool is_plain_load(const emitter *e, size_t p)
{
    return !is_tile(e, p) && is_loaded(e, p);
}

static bool is_tiled_store(const emitter *e, size_t p)
{
    return is_tile(e, p) && is_stored(e, p);
}

static bool is_plain_store(const emitter *e, size_t p)
{
    return !is_tile(e, p) && is_stored(e, p);
}

static bool is_skewed(const emitter *e, size_t p)
{
    return kiln__transpose_skewed(e->def, e->v) == p;
}

/* Reductions: inputs that are mapped, inputs that only `post` reads, and outputs. */
static bool is_mapped(const emitter *e, size_t p)
{
    return is_walking(e, p) && !e->def->params[p].output && !e->def->params[p].post_only;
}

static bool is_post_input(const emitter *e, size_t p)
{
    return is_walking(e, p) && e->def->params[p].post_only;
}

/* Filters: inputs that are loaded where something is kept. */
static bool is_kept_only(const emitter *e, size_t p)
{
    return is_mapped(e, p) && e->def->params[p].kept_only;
}

/* One element that a call reads, or writes. */
static bool is_one_input(const emitter *e, size_t p)
{
    return is_one(e, p) && !e->def->params[p].output;
}

static bool is_one_output(const emitter *e, size_t p)
{
    return is_one(e, p) && e->def->params[p].output && e->def->params[p].rest == e->side;
}

static bool is_result(const emitter *e, size_t p)
{
    return is_walking(e, p) && e->def->params[p].output && e->def->params[p].rest == e->side;
}

/* Row programs: row_emit.h says what each of these is. */
#define KILN__ROW_PARAMS(X)                                                                        \
    X(holds) X(sees) X(unheld) X(splat) X(stores) X(loads_first) X(results) X(buffers) X(gathers) X(others)
#define KILN__ROW_PARAM(which)                                                                     \
    static bool row_##which(const emitter *e, size_t p) { return kiln__row_##which(&e->row, p); }
KILN__ROW_PARAMS(KILN__ROW_PARAM)
#undef KILN__ROW_PARAM

/* Tiles: an input of that side. */
static bool is_staged(const emitter *e, size_t p, int side)
{
    return access_of(e, p) == KILN__ACCESS_STAGED && e->v->reduction.side[p] == side;
}

/* The first parameter of each placeholder stands for it. */
static bool is_first_of_placeholder(const emitter *e, size_t p)
{
    char letter = e->def->params[p].placeholder;
    if (letter == 0)
        return false;
    for (size_t q = 0; q < p; q++)
        if (e->def->params[q].placeholder == letter)
            return false;
    return true;
}

/* The result whose rows decide where those of lines begin. */
static bool is_first_output(const emitter *e, size_t p)
{
    for (size_t q = 0; q < p; q++)
        if (e->def->params[q].output)
            return false;
    return e->def->params[p].output;
}

/* ---- facts about the whole ------------------------------------------------------------------ */

/* cpu/strided.cpp: `i` is the number of the element in the order in which elements are visited. */
static bool has_index_natural(const emitter *e)
{
    return has_index(e) && !has_index_strides(e);
}

/* How many results are reached in this way. */
static int results_of(const emitter *e, uint8_t access)
{
    int count = 0;
    for (size_t p = e->def->input_count; p < e->def->param_count; p++)
        count += access_of(e, p) == access;
    return count;
}

static bool any_param(const emitter *e, param_is is)
{
    for (size_t p = 0; p < e->def->param_count; p++)
        if (is(e, p))
            return true;
    return false;
}

/* Whether elements can be processed in any order and at the same time, so that a compiler may
 * vectorise even where it cannot prove that pointers do not alias: no snippet accesses memory or
 * variables that outlive one element. */
static bool is_independent(const emitter *e)
{
    return e->def->snippet[KILN__SNIPPET_LOOP_PREP][0] == '\0' && !any_param(e, is_raw) &&
           !e->def->uses_indexer;
}

/* cpu: whether what an attempt knows of an element is kept for the next one: one call of the snippet alone attempts. */
static bool is_keeping_doubts(const emitter *e)
{
    static const char word[] = "KILN_ATTEMPT";
    int calls = 0;

    for (int s = 0; s < KILN__SNIPPET_COUNT; s++)
        for (const char *at = e->def->snippet[s]; (at = strstr(at, word)) != NULL; at++)
            calls++;
    return is_attempted(e) && calls == 1;
}

/* cpu: whether outputs may be stored past the caches: they are written as a whole and never read; memory limits the kernel. */
static bool is_streaming(const emitter *e)
{
    bool any = false;
    for (size_t p = 0; p < e->def->param_count; p++) {
        if (!is_walking(e, p))
            continue;
        if (is_direct(e, p) || (is_stored(e, p) && (is_loaded(e, p) ||
                                                    access_of(e, p) != KILN__ACCESS_VECTOR)))
            return false;
        any |= is_stored(e, p);
    }
    return any && !on_cuda(e) && is_independent(e) && !e->def->heavy && !is_by_fours(e) &&
           !is_attempted(e);
}

/* The number of elements from which on a launch touches more bytes than a cache is likely to hold. */
static int64_t stream_size(const emitter *e)
{
    int64_t bytes = 0;
    for (size_t p = 0; p < e->def->param_count; p++)
        if (is_walking(e, p))
            bytes += (int64_t)kiln_dtype_size(e->v->dtype[p]);
    return STREAM_BYTES_MIN / (bytes > 0 ? bytes : 1);
}

/* Filters: whether elements that are not kept have results. */
static bool has_otherwise(const emitter *e)
{
    return e->def->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0';
}

static kiln__filter_room room_aside(const emitter *e)
{
    return has_otherwise(e) ? kiln__filter_room_of(e->def, e->v, e->p)
                            : (kiln__filter_room){0, 0, 0};
}

/* ---- lists ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    param_is is;
} param_lists[] = {
    {"scalars", is_scalar},           {"raws", is_raw},
    {"taken", kiln__is_taken},              {"noted", kiln__take_is_noted},
    {"pointers", is_pointer},         {"lined", is_first_output},
    {"ones", is_one_input},           {"counts", is_one_output},
    {"walking", is_walking},          {"registers", is_register},
    {"loaded", is_loaded},            {"stored", is_stored},
    {"tiles", is_tile},               {"skewed", is_skewed},
    {"tiled_loads", is_tiled_load},
    {"plain_loads", is_plain_load},   {"tiled_stores", is_tiled_store},
    {"plain", is_plain},              {"plain_stores", is_plain_store},
    {"placeholders", is_first_of_placeholder},
    {"inputs", is_mapped},            {"outputs", is_result},
    {"post_inputs", is_post_input},
#define KILN__ROW_PARAM(which) {"row_" #which, row_##which},
    KILN__ROW_PARAMS(KILN__ROW_PARAM)
#undef KILN__ROW_PARAM
};

static param_is param_list(const char *list, size_t bytes)
{
    for (size_t l = 0; l < KILN_COUNT_OF(param_lists); l++)
        if (kiln__same_word(list, bytes, param_lists[l].name))
            return param_lists[l].is;
    return kiln__window_list(list, bytes);
}

static int item(void *state, const char *list, size_t bytes, int nth)
{
    emitter *e = state;
    const int of_rows = kiln__row_item(&e->row, list, bytes, nth);
    if (of_rows >= 0)
        return of_rows;
    const param_is is = param_list(list, bytes);
    for (size_t p = nth == 0 ? 0 : e->p + 1; is != NULL && p < e->def->param_count; p++) {
        if (is(e, p)) {
            e->p = p;
            return 1;
        }
    }
    if (is != NULL)
        return 0;
    const int of_axes = kiln__emit_axis(e, list, bytes, nth);
    if (of_axes >= 0)
        return of_axes;
    if (kiln__same_word(list, bytes, "slots"))
        return kiln__slot_item(e, nth);
    if (kiln__same_word(list, bytes, "sides")) { /* behind the loop, elements are kept again */
        e->side = nth == 1 && has_otherwise(e);
        return nth == 0 || e->side != 0;
    }
    if (kiln__same_word(list, bytes, "numbers")) {
        for (int k = nth == 0 ? 0 : e->number + 1; k < KILN__NUMBER_COUNT; k++) {
            if (e->def->uses_number[k]) {
                e->number = k;
                return 1;
            }
        }
        return 0;
    }
    return -1;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* Those that do not depend on a current item, once for the whole kernel. */
static void find_conditions(emitter *e)
{
    const kiln__definition *d = e->def;
    const bool is_scan = e->v->family == &kiln__family_scan;
    const condition rows[] = {
        {"cuda", on_cuda(e)},
        {"maps", d->family->maps},
        {"combines", d->family->combines},
        {"preamble", d->snippet[KILN__SNIPPET_PREAMBLE][0] != '\0' || d->option_count > 0},
        {"loop_prep", d->snippet[KILN__SNIPPET_LOOP_PREP][0] != '\0'},
        {"copied", d->copied[0] != '\0'},
        {"after_loop", d->snippet[KILN__SNIPPET_AFTER_LOOP][0] != '\0'},
        {"size", d->uses_size},
        {"takes", d->takes},
        {"index", has_index(e)},
        {"indexer", d->uses_indexer},
        {"index_strides", has_index_strides(e)},
        {"index_natural", has_index_natural(e)},
        {"tiled_loads", any_param(e, is_tiled_load)},
        {"tiled_stores", any_param(e, is_tiled_store)},
        {"has_raws", any_param(e, is_raw)},
        {"several", e->v->unroll * e->v->vec > 1},
        {"bursts", e->v->unroll > 1},
        {"plain_loads", any_param(e, is_plain_load)},
        {"packed", is_tiled(e) && e->v->vec > 1},
        {"square_tiles", kiln__transpose_even(e->v)},
        {"gathers", is_transpose(e) && e->v->loop.apart != 0},
        {"shifted_tiles", is_transpose(e) && !kiln__transpose_even(e->v) && !kiln__transpose_narrow(e->v) &&
                     e->v->loop.apart == 0},
        {"skew", kiln__transpose_tile_of(e->def, e->v).skew != 0},
        {"independent", is_independent(e)},
        {"identity", d->snippet[KILN__SNIPPET_IDENTITY][0] != '\0'},
        {"position", d->uses_number[KILN__NUMBER_POSITION]},
        {"in_index", d->uses_number[KILN__NUMBER_IN]},
        {"out_index", d->uses_out_indexer && d->uses_number[KILN__NUMBER_OUT]},
        {"in_number", d->uses_in_number},
        {"out_number", d->uses_number[KILN__NUMBER_OUT]},
        {"in_indexer", d->uses_in_indexer},
        {"out_indexer", d->uses_out_indexer},
        {"masked", d->masked},
        {"by_place", d->by_place},
        {"kept_loads", any_param(e, is_kept_only)},
        {"otherwise", has_otherwise(e)},
        {"numbers", d->uses_number[KILN__NUMBER_POSITION] || d->uses_number[KILN__NUMBER_OUT]},
        {"batched", e->batch != KILN__BATCH_NONE},
        {"batch_sum", e->batch == KILN__BATCH_SUM},
        {"batch_bytes", e->batch == KILN__BATCH_SUM && kiln__batch_of_bytes(d, e->v)},
        {"batch_kept", e->batch_kept},
        {"batch_collective", e->v->family == &kiln__family_reduction && e->v->reduction.hold != 0 &&
                                 kiln__batch_is_of_rows(e->batch)},
        {"batch_whole", e->v->family == &kiln__family_reduction && e->v->reduction.stage != 0 &&
                            kiln__batch_is_of_moments(e->batch) && !e->batch_kept},
        {"initial", d->has_initial},
        {"chain", is_scan && e->v->layout == KILN__LAYOUT_COLUMNS && e->v->scan.split != 0 &&
                      e->v->scan.fan == 1},
        {"flat_inputs", is_scan && e->v->scan.flat != 0},
        {"flat_results", is_scan && e->v->scan.flat == KILN__FLAT_FEW},
        {"one_axis", e->v->layout == KILN__LAYOUT_ROWS && e->v->rank == e->v->keep_rank + 1},
        {"whole_block", kiln__variant_number(e->v, "group", 5) == e->v->block},
        {"by_fours", is_by_fours(e) || is_permuting(e)},
        {"inlined", is_by_fours(e) || is_attempted(e)},
        {"numbers_fours", (is_by_fours(e) || is_permuting(e)) && has_index_natural(e)},
        {"attempts", is_attempted(e)},
        {"keeps_doubts", is_keeping_doubts(e)},
        {"streams", is_streaming(e)},
    };
    _Static_assert(KILN_COUNT_OF(rows) < CONDITIONS_MAX, "more conditions than emit.h has room for");
    memcpy(e->conditions, rows, sizeof rows);
}

static int test_whole(const emitter *e, const char *name, size_t bytes)
{
    for (const condition *c = e->conditions; c->name != NULL; c++)
        if (kiln__same_word(name, bytes, c->name))
            return c->holds;
    const int number = kiln__variant_number(e->v, name, bytes);
    return number < 0 ? -1 : number != 0;
}

static int test(void *state, const char *name, size_t bytes)
{
    const emitter *e = state;
    const bool few_last = kiln__transpose_narrow(e->v) && e->v->loop.narrow == KILN__NARROW_LAST;
    const struct {
        const char *name;
        bool holds;
    } rows[] = {
        {"p.direct", is_direct(e, e->p)},
        {"p.kept_only", is_kept_only(e, e->p)},
        {"s.rest", e->side != 0},
        {"p.read_first", e->def->params[e->p].read_first},
        {"p.vector", access_of(e, e->p) == KILN__ACCESS_VECTOR},
        {"p.along",
         access_of(e, e->p) == KILN__ACCESS_VECTOR || access_of(e, e->p) == KILN__ACCESS_ONCE},
        {"p.splat", is_splat(e, e->p)},
        {"p.back", access_of(e, e->p) == KILN__ACCESS_BACK},
        {"p.stored", is_stored(e, e->p)},
        {"p.tile", is_tile(e, e->p)},
        {"p.contiguous", is_contiguous(e, e->p)},
        {"p.run", access_of(e, e->p) == (few_last ? KILN__ACCESS_VECTOR : KILN__ACCESS_TILE)},
        {"p.sent", e->v->loop.tile >= KILN__SENT_MIN && results_of(e, access_of(e, e->p)) == 1},
        {"p.line", access_of(e, e->p) == (few_last ? KILN__ACCESS_TILE : KILN__ACCESS_VECTOR)},
        {"p.down", is_staged(e, e->p, KILN__SIDE_DOWN)},
        {"p.across", is_staged(e, e->p, KILN__SIDE_ACROSS)},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (kiln__same_word(name, bytes, rows[r].name))
            return rows[r].holds;
    const int of_windows = kiln__window_test(e, name, bytes);
    if (of_windows >= 0)
        return of_windows;
    const int of_rows = kiln__row_test(&e->row, name, bytes, e->p);
    return of_rows >= 0 ? of_rows : test_whole(e, name, bytes);
}

/* ---- values ----------------------------------------------------------------------------------- */

/* The largest power of two below `count`. */
static int64_t half_of(int count)
{
    int64_t half = 1;

    while (2 * half < count)
        half *= 2;
    return half;
}

static bool put_number(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    const kiln__variant *v = e->v;
    const int square = v->family == &kiln__family_loop && v->loop.tile != 0 ? v->loop.tile : 1;
    const kiln__transpose_tile tile = kiln__transpose_tile_of(e->def, v);
    const size_t size = kiln_dtype_size(v->dtype[e->p]);
    const bool staged = access_of(e, e->p) == KILN__ACCESS_STAGED;
    const bool few_last = kiln__transpose_narrow(v) && v->loop.narrow == KILN__NARROW_LAST;
    const kiln__filter_room room = room_aside(e);
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {
        {"a.n", e->axis},
        {"p.bytes", (int64_t)size},
        {"p.span", size * v->vec < 4 ? (int64_t)(32 * size) * v->vec : KILN__LINE},
        {"lists_half", half_of(kiln__variant_number(v, "lists", 5))},
        {"p.lanes", is_splat(e, e->p) ? 1 : v->vec},
        {"p.raw_rank", v->raw_rank[e->p]},
        {"batch_most", kiln__batch_is_of_moments(e->batch) || e->batch_kept ? 16 : 64},
        {"stage_bytes", KILN__STAGE_BYTES},
        {"last", v->rank - 1},
        {"inner", v->layout == KILN__LAYOUT_COLUMNS ? v->keep_rank - 1 : v->rank - 1},
        {"keep_last", v->keep_rank - 1},
        {"keep_down", v->keep_rank - 2},
        {"p.side", staged ? v->reduction.side[e->p] : 0},
        {"p.along_side", staged ? v->reduction.along_side[e->p] : 0},
        {"p.width", staged ? v->reduction.width[e->p] : 1},
        {"reduce_first", v->keep_rank},
        {"p.room_at", room.at}, {"p.room_end", room.at + room.bytes}, {"room", room.all},
        {"index_bits", v->index_bits},
        {"scan_chunk", KILN__SCAN_CHUNK},
        /* What a graph keeps in a stage is stated where it is more than the family's most. */
        {"part_bytes_max",
         e->def->rows != NULL ? KILN__PASS_BYTES_MAX : (int64_t)e->def->family->part_bytes_max},
        {"accesses_per_block", v->block * v->unroll},
        {"accesses_last", v->block * (v->unroll - 1)},
        {"access_step", v->block * v->vec},
        {"burst_span", v->block * v->vec * (v->unroll - 1) + v->vec},
        {"burst_elements", v->unroll * v->vec},
        {"long_axis", v->rank - (few_last ? 2 : 1)},
        {"short_axis", v->rank - (few_last ? 1 : 2)},
        {"tile_a", v->rank - 1},
        {"tile_b", v->rank - 2},
        {"tile_c", v->rank - 3},
        {"tile_rows", v->block / square},
        {"tile_loads", square * square / v->block},
        {"tile_pad", v->vec}, /* an odd number of words lies between two rows */
        {"tile_words", square * square / (v->vec * v->block)},
        {"word_rows", v->block / 32},
        {"tile_side", tile.side},
        {"tile_pitch", tile.pitch},
        {"tile_lanes", tile.lanes}, {"tile_across", tile.across},
        {"tile_groups", tile.groups},
        {"aligned", v->loop.aligned}, {"skew", tile.skew},
        {"skew_bytes", tile.skew == 0 ? 1 : KILN__SECTOR / tile.skew},
        {"unit", KILN__CPU_UNIT}, {"burst", STREAM_BURST},
        {"stream_size", stream_size(e)},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        if (kiln__same_word(name, bytes, rows[r].name)) {
            kiln__buf_put_number(out, rows[r].value);
            return true;
        }
    }
    const int number = kiln__variant_number(v, name, bytes);
    if (number >= 0)
        kiln__buf_put_number(out, number);
    return number >= 0;
}

/* The name that the template of this layout has in its folder. */
static const char *skeleton_of(const emitter *e)
{
    switch ((kiln__layout)e->v->layout) {
    case KILN__LAYOUT_INNER:
    case KILN__LAYOUT_GENERAL:
        return e->v->loop.lines == KILN__LINES_OF_WORDS ? "words" : "strided";
    case KILN__LAYOUT_WINDOW:
        return e->v->loop.ring != 0 ? "march" : "window";
    default:
        return kiln__layout_name((kiln__layout)e->v->layout);
    }
}

/* Whether moments in float32 are those of 16-bit floats alone, each of which is looked at once then. */
static bool has_short_moments(const emitter *e)
{
    bool narrow = e->batch == KILN__BATCH_MOMENTS &&
                  strcmp(e->def->snippet[KILN__SNIPPET_REDUCE_TYPE], "kiln_moments<float>") == 0;
    for (size_t p = 0; p < e->def->input_count && narrow; p++)
        narrow = kiln__is_narrow((kiln_dtype)e->v->dtype[p]);
    return narrow;
}

static bool put_text(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    const kiln__param *p = &e->def->params[e->p];
    /* For each kiln__batch: the function that adds one to an accumulator, the accumulator's member
     * that an element of it stands for, and the type of the elements. */
    static const char *const BATCHES[][3] = {
        {"", "", ""},
        {"kiln_batch_sum", "", "int"},
        {"kiln_batch_moments", ".mean", "_type_reduce::value_type"},
        {"kiln_batch_counted", "", "_type_reduce"},
        {"kiln_batch_least", ".value", "decltype(_type_reduce::value)"},
        {"kiln_batch_greatest", ".value", "decltype(_type_reduce::value)"},
        {"kiln_batch_logsum", "", "_type_reduce"}};
    const char *ctype = kiln_dtype_ctype(e->v->dtype[e->p]);
    const char placeholder[2] = {p->placeholder, '\0'};
    const char *const type = p->placeholder != 0 ? placeholder : ctype;
    const kiln__transpose_tile tile = kiln__transpose_tile_of(e->def, e->v);
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"p.name", p->name},
        {"p.type", type},
        {"p.ctype", ctype},
        {"p.placeholder", placeholder},
        {"p.stored", e->v->dtype[e->p] == KILN_BOOL ? "unsigned char" : type},
        {"p.const", p->output || p->writable ? "" : "const "},
        {"p.lane", is_splat(e, e->p)                          ? "0"
                   : access_of(e, e->p) == KILN__ACCESS_BACK ? "kiln__V - 1 - kiln__v"
                                                             : "kiln__v"},
        {"p.word", e->v->vec > 1 ? "unsigned int" : type},
        {"p.skewed", tile.skew != 0 && is_skewed(e, e->p) ? "true" : "false"},
        {"p.load", access_of(e, e->p) == KILN__ACCESS_ONCE ? "kiln__load_once" : "kiln__load"},
        {"p.raw_contiguous", e->v->raw_contiguous[e->p] ? "true" : "false"},
        {"x.name", kiln__number_name((size_t)e->number)},
        {"batch", BATCHES[e->batch][0]},
        {"batch_of_row", has_short_moments(e) ? "kiln_batch_moments_short" : BATCHES[e->batch][0]},
        {"batch_held", e->v->reduction.stage != 0 && has_short_moments(e)
                           ? "kiln_batch_moments_short"
                           : BATCHES[e->batch][0]},
        {"batch_member", BATCHES[e->batch][1]},
        {"batch_type", BATCHES[e->batch][2]},
        {"entry", e->entry},
        {"copied", e->def->copied},
        {"s.op", e->side != 0 ? "kiln__other" : "kiln__op"},
        {"aside", has_otherwise(e) ? "kiln__all" : "kiln__sum"},
        {"index", e->v->index_bits == 32 ? "int" : "long long"},
        {"layout", skeleton_of(e)},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (kiln__same_word(name, bytes, rows[r].name)) {
            kiln__buf_puts(out, rows[r].value);
            return true;
        }
    return false;
}

/* The macros of the compiler's options. They are defined after the prelude, so that they do not change
 * the prelude's text. */
static void put_macros(const emitter *e, kiln__buf *out)
{
    char *macros = e->def->option_count > 0 ? kiln__definition_macros(e->def) : NULL;

    if (macros != NULL)
        kiln__buf_puts(out, macros);
    out->failed = out->failed || (macros == NULL && e->def->option_count > 0);
    kiln__free(macros);
}

/* The number of the line that is being written. */
static size_t current_line(emitter *e, const kiln__buf *out)
{
    const char *at = out->text + e->counted;
    if (out->failed)
        return 0;
    while ((at = memchr(at, '\n', (size_t)(out->text + out->length - at))) != NULL) {
        e->line++;
        at++;
    }
    e->counted = out->length;
    return e->line + 1;
}

/* Whether a text consists of statements, whose last semicolon may be missing. */
static bool is_of_statements(kiln__snippet_kind kind)
{
    const int text = ((int)kind - KILN__SNIPPET_STAGE) % KILN__STAGE_TEXTS;
    return kind >= KILN__SNIPPET_STAGE && (text == KILN__STAGE_PREP || text == KILN__STAGE_POST);
}

/* A snippet, verbatim on lines of its own, so that a compiler's messages name the user's text. */
static void put_snippet(emitter *e, kiln__snippet_kind kind, kiln__buf *out)
{
    if (kind == KILN__SNIPPET_PREAMBLE)
        put_macros(e, out);
    kiln__buf_printf(out, "#line 1 \"%s\"\n", kiln__snippet_name(kind));
    (void)kiln__guard_put(e->def, e->v, e->def->snippet[kind], out);
    kiln__buf_putc(out, '\n');
    kiln__buf_printf(out, "#line %zu \"kiln.generated\"\n", current_line(e, out) + 1);
    if (kind == KILN__SNIPPET_LOOP_PREP || kind == KILN__SNIPPET_OP ||
        kind == KILN__SNIPPET_AFTER_LOOP || kind == KILN__SNIPPET_POST ||
        kind == KILN__SNIPPET_OTHERWISE || is_of_statements(kind))
        kiln__buf_puts(out, ";"); /* CuPy's statements need not end in one */
}

static void put_title(const emitter *e, kiln__buf *out)
{
    kiln__buf_printf(out, "kiln %s: kernel \"%s\", layout %s;", kiln_version(), e->def->name,
                     kiln__layout_name(e->v->layout));
    for (size_t p = 0; p < e->def->param_count; p++)
        kiln__buf_printf(out, "%s %s %s%s", p == 0 ? "" : ",", kiln_dtype_name(e->v->dtype[p]),
                         is_raw(e, p) ? "raw " : "", e->def->params[p].name);
}

/* The accumulator's type of a reduction whose definition does not give one. */
static kiln_dtype default_reduce_type(const emitter *e)
{
    const kiln_dtype dtype = (kiln_dtype)e->v->dtype[e->def->input_count];
    return kiln__is_narrow(dtype) ? KILN_FLOAT32 : dtype;
}

static bool value(void *state, const char *name, size_t bytes, kiln__buf *out)
{
    emitter *e = state;
    if (kiln__slot_put(e, name, bytes, out) || put_text(e, name, bytes, out) ||
        put_number(e, name, bytes, out) || kiln__window_put(e, name, bytes, out) || kiln__copies_put(e, name, bytes, out) ||
        kiln__takes_put(e, name, bytes, out) ||
        kiln__row_put(&e->row, name, bytes, e->p, out))
        return true;
    const kiln__snippet_kind of_stage = kiln__row_snippet(&e->row, name, bytes);
    if (of_stage != KILN__SNIPPET_COUNT) {
        put_snippet(e, of_stage, out);
        return true;
    }
    if (kiln__same_word(name, bytes, "title")) {
        put_title(e, out);
        return true;
    }
    if (kiln__same_word(name, bytes, "reduce_type") &&
        e->def->snippet[KILN__SNIPPET_REDUCE_TYPE][0] == '\0') {
        kiln__buf_puts(out, kiln_dtype_ctype(default_reduce_type(e)));
        return true;
    }
    if (kiln__same_word(name, bytes, "prelude")) {
        kiln__prelude_put(e->def, e->v, out);
        return true;
    }
    for (int kind = 0; kind < KILN__SNIPPET_COUNT; kind++) {
        if (kiln__same_word(name, bytes, kiln__snippet_name((kiln__snippet_kind)kind))) {
            put_snippet(e, (kiln__snippet_kind)kind, out);
            return true;
        }
    }
    return false;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Filters with buffers for two tiles' results, all of whose inputs are loaded ahead: the L1 cache holds what is on its
 * way, and must not give all of its memory to buffers. As measured on an H200 (bench/results/select-h200.txt). */
static int shared_percent(const emitter *e)
{
    const bool buffers = e->v->family == &kiln__family_filter &&
                         e->v->block == KILN__FILTER_TWO_BUFFERS && !e->def->by_place;

    return on_cuda(e) && buffers && !any_param(e, is_kept_only) ? 72 : 0;
}

static kiln_status emit(const kiln__definition *def, const kiln__variant *variant, int room,
                        kiln__source *out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__buf text = KILN__BUF_INIT;
    slot_list slots = {NULL, 0, 0, 0, false};
    emitter e = {.def = def,
                 .v = variant,
                 .out = &text,
                 .entry = out->entry,
                 .batch = kiln__batch_of(variant),
                 .batch_kept = kiln__batch_is_kept(def, variant),
                 .row = {.def = def, .v = variant, .room = room},
                 .slots = &slots};
    const kiln__template_env env = {&e, value, test, item};

    if (def->module)
        return kiln__module_emit(def, (kiln_backend)variant->backend, out, err);
    *out = (kiln__source)KILN__SOURCE_INIT;
    if (def->cuda_only && variant->backend == KILN_BACKEND_CPU) {
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "kernel \"%s\" uses `%s`, which only a CUDA device has", def->name,
                            def->cuda_only_word);
        goto done;
    }
    snprintf(out->entry, sizeof out->entry, "%.60s__%s%s", def->name,
             kiln__layout_name(variant->layout),
             kiln__variant_number(variant, "lists", 5) > 0 ? "_lists" : "");
    find_conditions(&e);
    kiln__emit_slots(&e, &slots);
    if (slots.bytes > KILN__ARGS_MAX) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT,
                            "kernel \"%s\": %zu parameters over %d axes need more than the %d bytes "
                            "of arguments a kernel can take",
                            def->name, def->param_count, variant->rank, KILN__ARGS_MAX);
        goto done;
    }
    KILN_TRY(kiln__template_expand(def->family->skeleton, &env, &text, err));
    if (text.failed || slots.failed)
        KILN_TRY(kiln__fail_memory(err, text.capacity));
    out->bytes = text.length;
    out->text = kiln__buf_take(&text);
    out->slots = slots.slots;
    out->slot_count = slots.count;
    out->args_bytes = slots.bytes;
    out->shared_percent = (uint8_t)shared_percent(&e);
    out->rooms = (uint8_t)kiln__row_rooms(&e.row);
    out->variant = *variant;
    slots.slots = NULL;

done:
    kiln__buf_clear(&text);
    kiln__free(slots.slots);
    return status;
}

/* Tests meet the roomier forms of all kernels. */
kiln_status kiln__emit(const kiln__definition *def, const kiln__variant *variant,
                       kiln__source *out, kiln_error *err)
{
    return emit(def, variant, kiln__tuned("KILN_TUNE_ROW_ROOM", 0), out, err);
}

kiln_status kiln__emit_roomier(const kiln__definition *def, const kiln__source *tight, int form,
                               kiln__source *out, kiln_error *err)
{
    return emit(def, &tight->variant, form, out, err);
}
