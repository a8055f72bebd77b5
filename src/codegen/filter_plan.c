/*
 * filter_plan.c - plan how a filter (which keeps the elements with a true condition) walks memory.
 *
 *     definition > bind types > [plan] > emit > compile > launch
 *
 * All axes form one sequence in C-order, as in a scan over all elements: they are collapsed and
 * never sorted. Inputs are walked in tiles (cuda) or chunks (cpu). The kept elements of an output
 * follow each other with one stride. The last output is the count of kept elements. With the
 * statements `otherwise`, elements that are not kept have outputs of their own, and a count behind
 * the first.
 *
 * Rule: only the device knows how many elements are kept. Nothing here depends on it.
 *
 * src/kernel calls this file. Tests: test_scan_plan, test_golden.
 */
#include "codegen/emit.h"
#include "codegen/lexer.h"
#include "codegen/walk.h"

enum {
    BLOCK_THREADS = 256, /* with a buffer for the results of one tile, ... */
    BLOCK_THREADS_TWO = KILN__FILTER_TWO_BUFFERS, /* ... or of two */
    ACCESS_BYTES = 16,
    THREAD_BYTES = 160,   /* of inputs that a thread holds at once */
    THREAD_ELEMENTS = 64, /* the same in elements */
    RESIDENT = 3,         /* blocks of a multiprocessor; templates/filter/rows.cu asks for them */
    RESIDENT_TWO = 5,     /* of those with two buffers */
    BUFFER_BYTES = 44032, /* shared memory for elements kept of a tile */
    BUFFER_EVEN = 16,     /* results of both sides begin at multiples of so many bytes */
    CPU_CHUNK = 4096,     /* elements, of which ... */
    CPU_BYTES = 1 << 16,  /* ... so many bytes of results stay in a cache */
    CPU_CHUNK_MIN = 64,
    CPU_TOGETHER = 4,
    TICKET_INTS = 4,  /* in front of the words of groups, */
    GROUP_TILES = 32, /* each of which has as many tiles */
    GROUP_INTS = 66   /* and words of 8 bytes for them and itself */
};

/* Bytes of an element's inputs that walk. */
static int64_t bytes_in(const kiln__walk *seq, const kiln__variant *v)
{
    int64_t bytes = 0;
    for (int k = 0; k < seq->count; k++)
        if (!seq->output[k] && v->access[seq->param[k]] != KILN__ACCESS_ONE)
            bytes += seq->itemsize[k];
    return bytes;
}

/* The bytes of output number `nth` of one side, and in `*param` which it is; 0 where there are fewer. */
static int output_of(const kiln__definition *def, const kiln__variant *v, bool rest, int nth,
                     size_t *param)
{
    for (*param = def->input_count; *param < def->param_count; ++*param)
        if (v->access[*param] != KILN__ACCESS_ONE && def->params[*param].rest == rest &&
            nth-- == 0)
            return (int)kiln_dtype_size(v->dtype[*param]);
    return 0;
}

kiln__filter_room kiln__filter_room_of(const kiln__definition *def, const kiln__variant *v,
                                       size_t param)
{
    kiln__filter_room room = {0, 0, 0};

    for (int nth = 0;; nth++) {
        size_t kept = 0, rest = 0;
        const int of_kept = output_of(def, v, false, nth, &kept);
        const int of_rest = output_of(def, v, true, nth, &rest);
        const int bytes = of_kept > of_rest ? of_kept : of_rest;
        if (bytes == 0)
            return room;
        if (kept == param || rest == param) {
            room.at = room.all;
            room.bytes = bytes;
        }
        room.all += bytes;
    }
}

/* Whether an output has one element for the whole call. */
static bool is_number(const kiln__definition *def, size_t param)
{
    const size_t numbers = def->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0' ? 2 : 1;

    return param + numbers >= def->param_count;
}

/* Widest accesses to inputs. A sequence of one axis may end within one; elsewhere none straddles. */
static int choose_vec(const kiln__walk *keep, const kiln__walk *seq, const kiln__plan_request *q,
                      const kiln__variant *v)
{
    const int64_t extent = seq->shape[seq->rank - 1];
    int vec = kiln__walk_vec(seq, keep, q->operands, v, ACCESS_BYTES, false);
    while ((seq->rank > 1 && extent % vec != 0) || extent < vec)
        vec /= 2;
    return vec;
}

static void tiles_on_cuda(kiln__plan *plan, const kiln__walk *seq, const kiln__plan_request *q)
{
    const int units = q->device.units;
    kiln__variant *v = &plan->variant;
    const int64_t length = plan->word[KILN__WORD_LENGTH];
    /* Of a result aside: its place in the tile, or itself. */
    const int64_t in = bytes_in(seq, v);
    const int64_t out = q->def->by_place ? 2 : kiln__filter_room_of(q->def, v, SIZE_MAX).all;
    const int64_t most = kiln__tuned("KILN_TUNE_FILTER", THREAD_ELEMENTS) / v->vec;
    int64_t unroll = most > 1 ? most : 1;

    while (unroll > 1 && (unroll * v->vec * in > THREAD_BYTES ||
                          kiln__divide_up(length, BLOCK_THREADS * unroll) < units))
        unroll /= 2;
    const bool two = 2 * BLOCK_THREADS_TWO * unroll * v->vec * out <= BUFFER_BYTES;
    const int64_t block = two ? BLOCK_THREADS_TWO : BLOCK_THREADS;
    const int64_t tile = block * unroll * v->vec;
    v->block = (uint16_t)block;
    v->unroll = (uint8_t)unroll;
    int64_t buffer = out > 0 ? kiln__least(tile, BUFFER_BYTES / out) : tile;
    if (q->def->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0')
        buffer -= buffer % BUFFER_EVEN;
    v->filter.buffer = (uint16_t)buffer;
    plan->word[KILN__WORD_SPLITS] = kiln__divide_up(length, block * unroll);
    plan->grid = kiln__least(plan->word[KILN__WORD_SPLITS],
                             (int64_t)units * (two ? RESIDENT_TWO : RESIDENT));
    plan->ticket_count =
        TICKET_INTS + GROUP_INTS * kiln__divide_up(plan->word[KILN__WORD_SPLITS], GROUP_TILES);
}

static void chunks_on_cpu(kiln__plan *plan, const kiln__definition *def)
{
    kiln__variant *v = &plan->variant;
    const int64_t out = kiln__filter_room_of(def, v, SIZE_MAX).all;
    int64_t chunk = CPU_CHUNK;

    while (chunk > CPU_CHUNK_MIN && chunk * out > CPU_BYTES)
        chunk /= 2;
    v->block = 1;
    v->filter.buffer = (uint16_t)chunk;
    plan->word[KILN__WORD_CHUNK] = chunk;
    plan->word[KILN__WORD_SPLITS] = kiln__divide_up(plan->word[KILN__WORD_LENGTH], chunk);
    plan->grid = plan->word[KILN__WORD_SPLITS];
    plan->units_together = CPU_TOGETHER;
    plan->part_count = kiln__divide_up(8 * (plan->grid + 1), KILN__PART_BYTES_MAX);
    plan->ticket_count = 1 + plan->grid;
}

/* No elements are one tile as well, which says that none was kept. */
static void plan_filter(const kiln__plan_request *request, kiln__plan *plan)
{
    int64_t shape[KILN_RANK_MAX], size = 1;
    kiln__plan_request filled = *request;
    const kiln__plan_request *const q = &filled;
    kiln__walk keep, seq;
    kiln__variant *v = &plan->variant;

    for (int a = 0; a < q->rank; a++)
        size *= q->shape[a];
    for (int a = 0; a < q->rank; a++)
        shape[a] = size > 0 ? q->shape[a] : 1;
    filled.shape = shape;
    kiln__walk_halves(q, &keep, &seq);
    kiln__walk_collapse(&keep);
    kiln__walk_collapse(&seq);
    kiln__walk_still(&keep);
    kiln__walk_still(&seq);
    v->layout = KILN__LAYOUT_ROWS;
    for (int k = 0; k < seq.count; k++) {
        const bool constant = kiln__walk_constant(&seq, k);
        v->access[seq.param[k]] = is_number(q->def, seq.param[k])
                                      ? KILN__ACCESS_ONE
                                      : kiln__walk_access(&seq, k, constant);
    }
    if (q->device.backend != KILN_BACKEND_CPU)
        v->vec = (uint8_t)choose_vec(&keep, &seq, q, v);
    if (q->def->uses_indexer) {
        v->indexer_rank = (uint8_t)q->rank;
        plan->indexer_size = size;
        memcpy(plan->indexer_shape, q->shape, (size_t)q->rank * sizeof q->shape[0]);
    }
    v->filter.plain_i = 1;
    kiln__walk_join(&keep, &seq, plan);
    kiln__walk_widen(&seq, v->rank - 1, plan);
    plan->size = 1;
    plan->word[KILN__WORD_OUTPUTS] = 1;
    plan->word[KILN__WORD_COUNT_ALL] = size;
    plan->word[KILN__WORD_LENGTH] = kiln__divide_up(kiln__walk_size(&seq), v->vec);
    if (q->device.backend == KILN_BACKEND_CPU)
        chunks_on_cpu(plan, q->def);
    else
        tiles_on_cuda(plan, &seq, q);
    plan->leaves_marks = true;
    v->index_bits = (uint8_t)kiln__walk_bits(v, &keep, &seq, plan->ticket_count);
}

/* ---- definitions --------------------------------------------------------------------------------- */

static kiln_status check(const kiln__definition_request *request, kiln__definition *def,
                         kiln_error *err)
{
    const kiln__param *const last = &def->params[def->param_count - 1];
    const bool both = def->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0';
    const kiln__param *const count = last - both;

    if (request->snippet[KILN__SNIPPET_WHERE] == NULL)
        return kiln__fail(err, KILN_ERR_NULL,
                          "the where expression of a kernel definition is NULL");
    if (!both && last->dtype != KILN_INT64)
        return kiln__fail(err, KILN_ERR_SYNTAX,
                          "kernel \"%s\": the last output of a filter is the number of elements "
                          "kept, \"int64 count\", and not `%s`",
                          def->name, last->name);
    if (both && (!count->output || count->dtype != KILN_INT64 || last->dtype != KILN_INT64))
        return kiln__fail(err, KILN_ERR_SYNTAX,
                          "kernel \"%s\": with `otherwise` the last outputs of a filter are the "
                          "numbers of elements kept and of all others, \"int64 count, int64 "
                          "others\", and not `%s`",
                          def->name,
                          last->dtype != KILN_INT64 || !count->output ? last->name : count->name);
    return KILN_OK;
}

/* Which outputs belong to elements that are not kept: those that `otherwise` mentions. */
static kiln_status find_rest(kiln__definition *def, const struct kiln__scan *scan, kiln_error *err)
{
    bool any = false;

    if (def->snippet[KILN__SNIPPET_OTHERWISE][0] == '\0')
        return KILN_OK;
    def->params[def->param_count - 1].rest = true;
    for (size_t p = def->input_count; p + 2 < def->param_count; p++) {
        kiln__param *const output = &def->params[p];
        output->rest = kiln__tokens_mention(&scan->text[KILN__SNIPPET_OTHERWISE], output->name);
        any = any || output->rest;
        if (output->rest && kiln__tokens_mention(&scan->text[KILN__SNIPPET_OP], output->name))
            return kiln__fail(err, KILN_ERR_SYNTAX,
                              "kernel \"%s\": op and otherwise both mention output `%s`, which "
                              "has the elements of one of them",
                              def->name, output->name);
    }
    return any ? KILN_OK
               : kiln__fail(err, KILN_ERR_SYNTAX,
                            "kernel \"%s\": otherwise assigns none of the outputs", def->name);
}

/* Which inputs are needed where something is kept only, and whether results are made of none. A macro may
 * stand for anything, so with macros all are needed for all. Where results need an input that is loaded for all
 * elements, its registers must last until they are computed, and so none is loaded later than others. */
static kiln_status scan(kiln__definition *def, const struct kiln__scan *scan, kiln_error *err)
{
    kiln__macro macro;
    size_t which = 0, at = 0;
    bool decide[KILN_PARAM_MAX] = {false}, both = false, computed = false;

    KILN_CHECK(find_rest(def, scan, err));
    if (def->includes || kiln__macro_next(scan, &which, &at, &macro))
        return KILN_OK;
    for (size_t p = 0; p < def->input_count; p++) {
        const bool used = kiln__mentions_input(def, &scan->text[KILN__SNIPPET_OP], p);
        const bool rest = kiln__mentions_input(def, &scan->text[KILN__SNIPPET_OTHERWISE], p);
        decide[p] = def->params[p].raw || rest ||
                    kiln__mentions_input(def, &scan->text[KILN__SNIPPET_WHERE], p);
        computed = computed || ((used || rest) && !def->params[p].raw);
        both = both || ((used || rest) && decide[p] && !def->params[p].raw);
    }
    for (size_t p = 0; p < def->input_count; p++)
        def->params[p].kept_only = !decide[p] && !both;
    def->by_place = !computed && def->param_count > def->input_count + 1;
    return KILN_OK;
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("keep", keep_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("indexer", indexer_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("plain_i", filter.plain_i, 1, 1, false),
    KILN__FIELD("vec", vec, 1, 16, true),
    KILN__FIELD("unroll", unroll, 1, 64, true),
    KILN__FIELD("buffer", filter.buffer, 1, BLOCK_THREADS *THREAD_ELEMENTS, false),
    KILN__FIELD("block", block, 1, 1024, true),
};

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    if (v->backend == KILN_BACKEND_CUDA &&
        (v->block % 32 != 0 || v->vec * v->unroll > THREAD_ELEMENTS))
        return "blocks have whole warps and threads at most 64 elements, unlike";
    for (size_t p = def->input_count; p < def->param_count; p++)
        if ((v->access[p] == KILN__ACCESS_ONE) != is_number(def, p))
            return "numbers of elements alone have one element, unlike";
    if (v->backend == KILN_BACKEND_CUDA && v->filter.buffer % BUFFER_EVEN != 0 &&
        def->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0')
        return "buffers for results of two kinds are multiples of 16, unlike";
    return NULL;
}

const kiln__family kiln__family_filter = {
    .name = "filter",
    .noun = "filter",
    .kernel_name = "kiln_filter",
    .line = "where! op! otherwise",
    .combines = true,
    .shrinks = true,
    .part_bytes_max = KILN__PART_BYTES_MAX,
    .check = check,
    .scan = scan,
    .plan = plan_filter,
    .layouts = 1u << KILN__LAYOUT_ROWS,
    .accesses = 1u << KILN__ACCESS_ONE,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .skeleton = "filter/kernel.cpp",
    .slots = kiln__filter_slots,
};
