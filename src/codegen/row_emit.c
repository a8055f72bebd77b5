/*
 * row_emit.c - names, lists and conditions that only the templates of row programs ask for.
 *
 *     plan > [emit] > compile
 *
 * The rules of emit.c hold here: one row of a table for each name, and nothing but definition and
 * variant decides.
 *
 * emit.c and row_plan.c call this file. Tests: test_row_layout, test_golden.
 */
#include "codegen/row_emit.h"

enum {
    REGISTERS = 65536,       /* of a multiprocessor */
    REGISTERS_BESIDE = 32,   /* of a thread, that hold no elements */
    CLUSTER_BESIDE = 28,     /* the same of clusters */
    PACKED_BESIDE = 16,      /* and of clusters whose inputs are 16-bit floats */
    RESIDENT_THREADS = 1024, /* more would have too few registers to compute with */
    STAGE_RESIDENT = 5,      /* blocks that shared memory has room for */
    STAGE_RESIDENT_THREADS = 1024, /* and threads that every GPU has room for */
    BATCH_WORDS = 16,        /* registers for inputs that a stage loads itself */
    /* From so many stages and written elements on, what the compiler keeps of one stage for another does
     * not fit into registers (bench/results/row-chains-h200.txt). */
    CHAIN_STAGES = 3,
    CHAIN_RESULTS = 3,
    /* Elements of a thread from which on a divisor's reciprocal saves instructions: 4 an element, or 2 where an
     * access is one element and has a branch to itself; about 25 find the reciprocal and its limits. */
    QUICK_EACH = 16,
    QUICK_SINGLE_EACH = 32,
    ROOMS = 4,      /* roomier forms: the first computes more anew, the others have fewer blocks as well, ... */
    ROOM_BLOCKS = 8 /* ... each of them one less than the form before, and one more of each so many */
};

static bool is_input(const kiln__row_emit *e, size_t p)
{
    return e->def->rows != NULL && !e->def->params[p].output;
}

static bool is_output(const kiln__row_emit *e, size_t p)
{
    return e->def->rows != NULL && e->def->params[p].output;
}

static bool in_registers(const kiln__row_emit *e)
{
    return e->v->layout == KILN__LAYOUT_HELD;
}

int kiln__row_rooms(const kiln__row_emit *e)
{
    return e->def->rows != NULL && e->v->backend == KILN_BACKEND_CUDA && in_registers(e) ? ROOMS : 0;
}

/* ---- parameters ---------------------------------------------------------------------------------- */

static bool is_element_input(const kiln__row_emit *e, size_t p)
{
    const uint8_t access = e->v->access[p];
    return is_input(e, p) && (access == KILN__ACCESS_VECTOR || access == KILN__ACCESS_STRIDED ||
                              access == KILN__ACCESS_COLUMN || access == KILN__ACCESS_TILE);
}

bool kiln__row_holds(const kiln__row_emit *e, size_t p)
{
    return in_registers(e) && e->v->backend != KILN_BACKEND_CPU && is_element_input(e, p) &&
           e->v->access[p] != KILN__ACCESS_COLUMN;
}

/* Where values are not kept, a stage runs the preps again that compute its values, and before these the
 * preps that compute theirs. */
static bool replays(const kiln__row_emit *e, size_t earlier)
{
    const kiln__row_program *rows = e->def->rows;
    uint32_t wanted = rows->value_uses[e->stage];
    bool found = false;

    for (size_t s = e->stage; s-- > earlier;) {
        found = (rows->value_uses[s] & wanted) != 0;
        wanted |= found ? rows->value_uses[s] : 0;
    }
    return found && !in_registers(e);
}

bool kiln__row_sees(const kiln__row_emit *e, size_t p)
{
    uint64_t uses = 0;
    if (!is_element_input(e, p))
        return false;
    for (size_t s = 0; s < e->stage; s++)
        uses |= replays(e, s) ? e->def->rows->param_uses[s] : 0;
    uses |= e->def->rows->param_uses[e->stage];
    return (uses >> p & 1) != 0;
}

bool kiln__row_unheld(const kiln__row_emit *e, size_t p)
{
    return kiln__row_sees(e, p) && !kiln__row_holds(e, p);
}

bool kiln__row_splat(const kiln__row_emit *e, size_t p)
{
    return is_input(e, p) && e->v->access[p] == KILN__ACCESS_SPLAT;
}

bool kiln__row_stores(const kiln__row_emit *e, size_t p)
{
    return is_output(e, p) && !e->def->params[p].row;
}

bool kiln__row_loads_first(const kiln__row_emit *e, size_t p)
{
    return kiln__row_stores(e, p) && e->def->params[p].read_first;
}

bool kiln__row_results(const kiln__row_emit *e, size_t p)
{
    return is_output(e, p) && e->def->params[p].row;
}

bool kiln__row_buffers(const kiln__row_emit *e, size_t p)
{
    return e->v->backend == KILN_BACKEND_CPU && e->v->row.tile != 0 &&
           (kiln__row_stores(e, p) ||
            (is_element_input(e, p) && e->v->access[p] != KILN__ACCESS_COLUMN));
}

bool kiln__row_gathers(const kiln__row_emit *e, size_t p)
{
    return kiln__row_buffers(e, p) && (is_input(e, p) || e->def->params[p].read_first);
}

bool kiln__row_others(const kiln__row_emit *e, size_t p)
{
    const uint8_t access = e->v->access[p];
    return e->def->rows != NULL && !kiln__row_buffers(e, p) && access != KILN__ACCESS_SCALAR &&
           access != KILN__ACCESS_RAW && access != KILN__ACCESS_ONE;
}

static bool has_narrow_inputs(const kiln__row_emit *e)
{
    for (size_t p = 0; p < e->def->input_count; p++)
        if (kiln__row_holds(e, p) && kiln__is_narrow(e->v->dtype[p]))
            return true;
    return false;
}

/* Clusters whose inputs are 16-bit floats have the fewest registers to spare. */
static bool is_packed(const kiln__row_emit *e)
{
    return e->v->row.cluster > 1 && has_narrow_inputs(e);
}

/* Whether a template may write how far apart accesses to a row are: all operands with vectors have their
 * elements one behind the other, and along a single axis so have those that are the same for all rows, where an
 * access has several elements. A thread then keeps one address of each operand, for which packed clusters have
 * no register. */
static bool is_dense(const kiln__row_emit *e, size_t p)
{
    const uint8_t access = e->v->access[p];
    return e->v->rank == e->v->keep_rank + 1 && !is_packed(e) &&
           (access == KILN__ACCESS_VECTOR || (access == KILN__ACCESS_COLUMN && e->v->vec > 1));
}

/* Whether an operand may begin elsewhere in another row. Where a thread takes several rows, the compiler is
 * not told, or it would load all of such an operand ahead of the first row. */
static bool has_offset(const kiln__row_emit *e, size_t p)
{
    return e->v->access[p] != KILN__ACCESS_COLUMN || e->v->row.stage != 0;
}

static int count_params(const kiln__row_emit *e, bool (*is)(const kiln__row_emit *, size_t))
{
    int count = 0;
    for (size_t p = 0; p < e->def->param_count; p++)
        count += is(e, p);
    return count;
}

static bool any_param(const kiln__row_emit *e, bool (*is)(const kiln__row_emit *, size_t))
{
    return count_params(e, is) > 0;
}

/* ---- what templates ask ---------------------------------------------------------------------------- */

int kiln__row_item(kiln__row_emit *e, const char *list, size_t bytes, int nth)
{
    const kiln__row_program *rows = e->def->rows;
    if (rows == NULL)
        return -1;
    if (kiln__same_word(list, bytes, "stages")) {
        e->stage = (size_t)nth; /* behind the last: op */
        return e->stage < rows->stage_count;
    }
    if (kiln__same_word(list, bytes, "earlier")) {
        e->earlier = nth == 0 ? 0 : e->earlier + 1;
        while (e->earlier < e->stage && !replays(e, e->earlier))
            e->earlier++;
        return e->earlier < e->stage;
    }
    if (kiln__same_word(list, bytes, "values")) {
        e->value = (size_t)nth;
        return e->value < rows->value_count;
    }
    return -1;
}

kiln__snippet_kind kiln__row_snippet(const kiln__row_emit *e, const char *name, size_t bytes)
{
    static const char *const texts[KILN__STAGE_TEXTS] = {
        [KILN__STAGE_PREP] = "prep",         [KILN__STAGE_MAP] = "map",
        [KILN__STAGE_TYPE] = "type",         [KILN__STAGE_REDUCE] = "reduce",
        [KILN__STAGE_IDENTITY] = "identity", [KILN__STAGE_POST] = "post"};
    if (e->def->rows == NULL || bytes < 3 || name[1] != '.' || (name[0] != 's' && name[0] != 'r'))
        return KILN__SNIPPET_COUNT;
    const size_t stage = name[0] == 's' ? e->stage : e->earlier;
    for (int t = 0; t < KILN__STAGE_TEXTS && stage < e->def->rows->stage_count; t++)
        if (kiln__same_word(name + 2, bytes - 2, texts[t]))
            return kiln__stage_snippet(stage, (kiln__stage_text)t);
    return KILN__SNIPPET_COUNT;
}

static kiln__batch stage_batch(const kiln__row_emit *e)
{
    return e->stage < e->def->rows->stage_count ? kiln__batch_of_stage(e->def, e->v, e->stage)
                                                : KILN__BATCH_NONE;
}

/* Whether a stage keeps the greatest elements of a row. */
static bool keeps_top(const kiln__row_emit *e, size_t stage)
{
    const bool is_stage = e->def->rows != NULL && stage < e->def->rows->stage_count;
    const kiln__snippet_kind reduce = kiln__stage_snippet(stage, KILN__STAGE_REDUCE);

    return is_stage && strstr(e->def->snippet[reduce], "kiln_top_merge(") != NULL;
}

static bool any_top(const kiln__row_emit *e)
{
    bool any = false;
    for (size_t s = 0; s < KILN__STAGE_MAX; s++)
        any = any || keeps_top(e, s);
    return any;
}

/* The input whose 16-bit floats a stage finds the least or the greatest of as they are, two at a time; param_count where it
 * does anything else. */
static size_t packed_input(const kiln__row_emit *e, size_t stage)
{
    const kiln__definition *def = e->def;
    const char *text[KILN__STAGE_TEXTS];

    for (int t = 0; t < KILN__STAGE_TEXTS; t++)
        text[t] = def->snippet[kiln__stage_snippet(stage, (kiln__stage_text)t)];
    const bool extreme = strcmp(text[KILN__STAGE_REDUCE], KILN__HALF_GREATEST) == 0 ||
                         strcmp(text[KILN__STAGE_REDUCE], KILN__HALF_LEAST) == 0;
    if (!extreme || text[KILN__STAGE_PREP][0] != '\0' || strcmp(text[KILN__STAGE_TYPE], "float") != 0 ||
        e->v->vec < 2)
        return def->param_count;
    for (size_t p = 0; p < def->input_count; p++)
        if (kiln__row_holds(e, p) && strcmp(text[KILN__STAGE_MAP], def->params[p].name) == 0 &&
            (e->v->dtype[p] == KILN_FLOAT16 || e->v->dtype[p] == KILN_BFLOAT16))
            return p;
    return def->param_count;
}

static bool finds_packed(const kiln__row_emit *e)
{
    return e->stage < e->def->rows->stage_count && packed_input(e, e->stage) < e->def->param_count;
}

static bool finds_least(const kiln__row_emit *e)
{
    return strcmp(e->def->snippet[kiln__stage_snippet(e->stage, KILN__STAGE_REDUCE)], KILN__HALF_LEAST) == 0;
}

/* Accumulators of a thread. The greatest elements of a row are kept in one, into which few elements go once some
 * have been seen; each further one would begin anew. */
static int64_t stage_lanes(const kiln__row_emit *e)
{
    return keeps_top(e, e->stage) ? 1 : e->v->row.lanes;
}

/* Whether elements are divided by what is one for the row: in a stage, or for the outputs behind all stages.
 * Stages that compute values again divide as those before them do. */
static bool divides(const kiln__row_emit *e, size_t stage)
{
    static const char quotient[] = "kiln_row_quotient(";
    const size_t count = e->def->rows->stage_count;
    bool found = false;

    for (size_t s = in_registers(e) ? stage : 0; s <= stage && !found; s++)
        found = strstr(e->def->snippet[s < count ? kiln__stage_snippet(s, KILN__STAGE_PREP)
                                                 : KILN__SNIPPET_OP],
                       quotient) != NULL;
    return found && e->v->backend != KILN_BACKEND_CPU;
}

static bool is_quick(const kiln__row_emit *e)
{
    return e->v->unroll * e->v->vec >= (e->v->vec > 1 ? QUICK_EACH : QUICK_SINGLE_EACH);
}

/* Whether stages compute anew what earlier stages have computed from the elements: where that does not fit into
 * registers beside results, or what stages load themselves. */
static bool renews(const kiln__row_emit *e)
{
    if (e->room > 0)
        return true;
    const bool chain = e->def->rows->stage_count >= CHAIN_STAGES &&
                       count_params(e, kiln__row_stores) >= CHAIN_RESULTS;
    bool columns = false;
    for (size_t p = 0; p < e->def->input_count; p++)
        columns = columns || (is_element_input(e, p) && !kiln__row_holds(e, p));
    return chain || (columns && in_registers(e));
}

/* Whether the current stage, or one before it, uses the current value and so has computed it. */
static bool is_known(const kiln__row_emit *e)
{
    bool known = false;

    for (size_t s = 0; s <= e->stage && s <= e->def->rows->stage_count; s++)
        known = known || (e->def->rows->value_uses[s] >> e->value & 1) != 0;
    return known;
}

int kiln__row_test(const kiln__row_emit *e, const char *name, size_t bytes, size_t p)
{
    const kiln__snippet_kind snippet = kiln__row_snippet(e, name, bytes);
    if (e->def->rows == NULL)
        return -1;
    if (snippet != KILN__SNIPPET_COUNT)
        return e->def->snippet[snippet][0] != '\0';
    const struct {
        const char *name;
        bool holds;
    } rows[] = {
        {"held", in_registers(e)},
        {"p.held", kiln__row_holds(e, p)},
        {"p.buffered", kiln__row_buffers(e, p)},
        {"p.offset", has_offset(e, p)},
        {"p.dense", is_dense(e, p)},
        {"unheld", any_param(e, kiln__row_unheld)},
        {"renews", renews(e)},
        {"roomier", e->room > 0},
        {"v.known", is_known(e)},
        {"one_row", e->v->row.group == e->v->block},
        {"turned", e->v->row.tile != 0},
        {"s.heavy", (e->def->rows->heavy >> e->stage & 1) != 0},
        {"s.batched", stage_batch(e) != KILN__BATCH_NONE},
        {"s.packed", finds_packed(e)},
        {"s.least", finds_packed(e) && finds_least(e)},
        {"clustered", e->v->row.cluster > 1},
        {"one_thread", e->v->row.group == 1},
        {"in_warp", e->v->row.tile == 0 && e->v->row.group <= 32},
        {"tops", any_top(e)},
        {"row_elements", any_param(e, kiln__row_stores)},
        {"row_outputs", any_param(e, kiln__row_results)},
        {"quotients", divides(e, e->def->rows->stage_count)},
        {"s.quotients", divides(e, e->stage)},
        {"quick", is_quick(e)},
        {"chained", e->def->rows->stage_count >= CHAIN_STAGES},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++)
        if (kiln__same_word(name, bytes, rows[r].name))
            return rows[r].holds;
    return -1;
}

/* Parts of a row in shared memory: one for each thread, or for each warp and each block of the cluster;
 * and all of them twice, because stages use two halves in turn. */
static int64_t slot_count(const kiln__variant *v)
{
    return 2 * (v->row.tile != 0 ? v->block
                                 : v->block / 32 + (v->row.cluster > 1 ? v->row.cluster : 0));
}

/* A value of unknown type is taken to be as wide as the widest parameter, and at least a float. */
int64_t kiln__row_value_bytes(const kiln__definition *def, const kiln__variant *v, size_t value)
{
    const int64_t bytes = kiln__type_bytes_in(def, v, def->rows->value_type[value]);
    int64_t widest = 4;

    for (size_t p = 0; p < def->param_count; p++) {
        const int64_t size = (int64_t)kiln_dtype_size(v->dtype[p]);
        if (!def->params[p].row && size > widest)
            widest = size;
    }
    return bytes > 0 ? bytes : widest;
}

/* Registers of one access to elements of so many bytes. A narrow float takes one to itself as soon as
 * it is computed with. */
static int64_t words_of(const kiln__variant *v, int64_t bytes, const char *ctype)
{
    const bool narrow = kiln__is_narrow(kiln_dtype_from_name(ctype, strlen(ctype)));
    return narrow ? v->vec : (v->vec * bytes + 3) / 4;
}

/* An input takes registers from the beginning to the last stage that uses it, a value from the first
 * stage that uses it to the last one. `packed`: narrow floats of inputs lie two in a register, as they
 * do until they are computed with. */
static int64_t access_words(const kiln__definition *def, const kiln__variant *v, bool packed)
{
    const kiln__row_program *rows = def->rows;
    int64_t most = 1;

    for (size_t s = 0; s <= rows->stage_count; s++) {
        uint64_t params = 0;
        uint32_t before = 0, after = 0;
        int64_t words = 0;
        for (size_t t = 0; t <= rows->stage_count; t++) {
            params |= t >= s ? rows->param_uses[t] : 0;
            before |= t < s ? rows->value_uses[t] : 0;
            after |= t >= s ? rows->value_uses[t] : 0;
        }
        for (size_t p = 0; p < def->input_count; p++)
            if ((v->access[p] == KILN__ACCESS_VECTOR || v->access[p] == KILN__ACCESS_STRIDED ||
                 v->access[p] == KILN__ACCESS_TILE) &&
                (params >> p & 1) != 0)
                words += words_of(v, (int64_t)kiln_dtype_size(v->dtype[p]),
                                  packed ? "" : kiln_dtype_ctype(v->dtype[p]));
        for (size_t k = 0; k < rows->value_count; k++)
            if ((before & after) >> k & 1)
                words += words_of(v, kiln__row_value_bytes(def, v, k), rows->value_type[k]);
        most = words > most ? words : most;
    }
    return most;
}

int64_t kiln__row_access_words(const kiln__definition *def, const kiln__variant *v)
{
    return access_words(def, v, false);
}

static int64_t all_value_bytes(const kiln__row_emit *e)
{
    int64_t bytes = 0;
    for (size_t k = 0; k < e->def->rows->value_count; k++)
        bytes += kiln__row_value_bytes(e->def, e->v, k);
    return bytes > 0 ? bytes : 1;
}

/* The number of accesses whose unheld inputs are loaded together, in about as many registers as a
 * thread can spare. */
static int64_t batch_of(const kiln__row_emit *e)
{
    int64_t words = 0;
    for (size_t p = 0; p < e->def->input_count; p++)
        if (kiln__row_unheld(e, p))
            words += words_of(e->v, (int64_t)kiln_dtype_size(e->v->dtype[p]), "");
    /* Those of rows that begin anywhere are shifted, for which threads that hold no 16-bit floats have few registers. */
    const int64_t room = e->v->row.peel && !has_narrow_inputs(e) ? BATCH_WORDS / 2 : BATCH_WORDS;
    const int64_t most = words > 0 && in_registers(e) ? room / words : e->v->unroll;
    return most < 1 ? 1 : most < e->v->unroll ? most : e->v->unroll;
}

/* The number of accesses that every thread of a row has: row_plan.c rounds the number of accesses up by
 * no more than the difference. */
static int64_t full_accesses(const kiln__row_emit *e)
{
    const int64_t each = e->v->unroll;
    if (!in_registers(e))
        return 0;
    return e->v->row.whole > 1 ? each : each <= KILN__ROW_EACH ? each - 1 : each - 4;
}

/* Whether stages load inputs themselves and compute with them. */
static bool loads_in_stages(const kiln__row_emit *e)
{
    uint64_t uses = 0;
    bool loads = false;

    for (size_t s = 0; s < e->def->rows->stage_count; s++)
        uses |= e->def->rows->param_uses[s];
    for (size_t p = 0; p < e->def->input_count; p++)
        loads = loads || ((uses >> p & 1) != 0 && is_element_input(e, p) && !kiln__row_holds(e, p));
    return loads;
}

/* The number of blocks that should be resident on a multiprocessor: while one reduces, others load. Clusters
 * of 16-bit floats get no more registers than they need, so that more of them are resident
 * (bench/results/rows-shapes-h200.txt), but what many stages make of elements, or of what they load, is
 * not packed. */
static int64_t planned_blocks(const kiln__row_emit *e)
{
    const bool clustered = e->v->row.cluster > 1, loads = loads_in_stages(e);
    const bool many = loads || (clustered && e->def->rows->stage_count >= CHAIN_STAGES);
    const bool packed = is_packed(e) && !many;
    const bool more = many && (has_narrow_inputs(e) || !any_param(e, kiln__row_stores));
    const int64_t beside = (packed ? PACKED_BESIDE : clustered ? CLUSTER_BESIDE : REGISTERS_BESIDE) +
                           (more ? BATCH_WORDS : 0);
    const int64_t held = in_registers(e) ? e->v->unroll * access_words(e->def, e->v, packed) : 0;
    const int64_t threads = REGISTERS / (held + beside);
    const int64_t blocks = (threads < RESIDENT_THREADS ? threads : RESIDENT_THREADS) /
                           (e->v->block > 0 ? e->v->block : 1);
    if (e->v->row.stage != 0)
        return e->v->block * STAGE_RESIDENT <= STAGE_RESIDENT_THREADS
                   ? STAGE_RESIDENT
                   : STAGE_RESIDENT_THREADS / e->v->block;
    return blocks > 0 ? blocks : 1;
}

static int64_t resident_blocks(const kiln__row_emit *e)
{
    int64_t blocks = planned_blocks(e);

    for (int step = 1; step < e->room && blocks > 1; step++)
        blocks -= blocks / ROOM_BLOCKS + 1;
    return blocks;
}

bool kiln__row_put(const kiln__row_emit *e, const char *name, size_t bytes, size_t p,
                   kiln__buf *out)
{
    const kiln__row_program *rows = e->def->rows;
    const kiln__variant *v = e->v;
    if (rows == NULL)
        return false;
    const size_t stage = e->stage < rows->stage_count ? e->stage : 0, packed = packed_input(e, stage);
    const kiln__param *const element = &e->def->params[packed < e->def->param_count ? packed : 0];
    const struct {
        const char *name;
        const char *text; /* NULL: the number */
        int64_t number;
    } table[] = {
        {"s.n", NULL, (int64_t)e->stage},
        {"s.lanes", NULL, stage_lanes(e)},
        {"s.result", rows->result[stage], 0},
        {"s.element", element->name, 0},
        {"s.element_type", kiln_dtype_ctype((kiln_dtype)v->dtype[element - e->def->params]), 0},
        {"s.batch",
         stage_batch(e) == KILN__BATCH_LOGSUM ? "kiln_batch_logsum" : "kiln_batch_counted", 0},
        {"unheld_batch", NULL, batch_of(e)},
        {"full_accesses", NULL, full_accesses(e)},
        {"v.name", rows->value_name[e->value % KILN__VALUE_MAX], 0},
        {"v.type", rows->value_type[e->value % KILN__VALUE_MAX], 0},
        {"cluster", NULL, v->row.cluster},
        {"side_by_side", NULL, v->row.group > 0 ? v->block / v->row.group : 1},
        {"resident", NULL, resident_blocks(e)},
        {"row_bytes", NULL, KILN__CPU_ROW_BYTES},
        {"value_bytes", NULL, all_value_bytes(e)},
        {"slot_count", NULL, slot_count(v)},
        {"p.byte", e->def->params[p].output ? "char" : "const char", 0},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(table); r++) {
        if (!kiln__same_word(name, bytes, table[r].name))
            continue;
        if (table[r].text != NULL)
            kiln__buf_puts(out, table[r].text);
        else
            kiln__buf_printf(out, "%lld", (long long)table[r].number);
        return true;
    }
    return false;
}
