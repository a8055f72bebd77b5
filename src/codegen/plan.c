/*
 * plan.c - decide how one call walks memory.
 *
 *     definition > bind types > [plan] > emit > compile > launch
 *
 * Steps: collect the axes with more than one index, sort them by the operands' strides, collapse
 * neighbours that every operand walks as one, then choose the layout class, the vector width and
 * the offset width. `i` (the C-order index) takes part as one more operand with element strides,
 * so that sorting axes never changes what a snippet sees.
 *
 * Rule 1: planning is pure and cannot fail; equal inputs give byte-equal variants.
 * Rule 2: only what the source needs goes into the variant; sizes, strides and addresses stay in
 *         the plan, or every new shape would compile a new kernel.
 *
 * src/kernel, src/fusion and src/warm call this file. Tests: test_plan, test_plan_random.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

/* Bytes of its widest operand that a thread takes: in one access where alignment allows, else in
 * several that are all in flight. On an H200 twice as many cost 3 % (int8 to float32: 6 %), half
 * as many 20 %; see docs/design.md, "What measurement changed". */
enum { ACCESS_BYTES = 16, UNROLL_MAX = 8 };

/* As many more accesses have threads that compute random numbers, for they make the round keys once:
 * fewer where elements are loaded beside them (bench/results/random-h200.txt). */
enum { RANDOM_UNROLL = 8, RANDOM_UNROLL_LOADING = 2 };

/* As many more have threads that load what indices name: they wait for the index, then for the element
 * (bench/results/indexing-h200.txt). */
enum { GATHER_UNROLL = 4 };

/* Threads a block of each CUDA layout. */
enum { BLOCK_THREADS = 256, WARP_THREADS = 32 };

/* What is stored by lines: shortest rows and least bytes of an access (bench/results/random-h200.txt), and most strides,
 * which leave room for their arguments. */
enum { LINED_MIN = 128, LINED_BYTES_MIN = 2, LINED_STRIDES_MAX = 256 };

/* Fewest elements that a CPU thread should be woken for. */
enum { CPU_TASK_ELEMENTS = 16384 };

/* Layout class of a sorted and collapsed walk. */
static void choose_layout(kiln__walk *w, const kiln__definition *def, const kiln__operand *operands,
                          kiln__variant *v)
{
    bool dense = true;
    int last = w->rank - 1;
    for (int k = 0; k < w->count; k++)
        dense &= k == w->index || kiln__walk_dense(w, k, last);
    if (dense)
        v->layout = w->rank == 1 ? KILN__LAYOUT_LINEAR : KILN__LAYOUT_INNER;
    else if (w->rank == 1 || !kiln__transpose_choose(w, def, operands, v))
        v->layout = KILN__LAYOUT_GENERAL;
}

static void choose_access(const kiln__walk *w, kiln__variant *v)
{
    int last = w->rank - 1;
    for (int k = 0; k < w->count; k++) {
        if (k == w->index)
            continue;
        uint8_t *access = &v->access[w->param[k]];
        if (kiln__walk_constant(w, k) && !w->written[k])
            *access = KILN__ACCESS_ONE;
        else if (v->layout == KILN__LAYOUT_TRANSPOSE && !kiln__walk_dense(w, k, last))
            *access = KILN__ACCESS_TILE;
        else if (w->stride[k][last] == w->itemsize[k])
            *access = KILN__ACCESS_VECTOR;
        else if (w->stride[k][last] == 0)
            *access = KILN__ACCESS_SPLAT;
        else
            *access = KILN__ACCESS_STRIDED;
    }
}

/* Widest power of two of neighbours that every vector operand can take in one aligned access. */
static int choose_vec(const kiln__walk *w, const kiln__variant *v, const kiln__operand *operands)
{
    if (v->layout != KILN__LAYOUT_LINEAR && v->layout != KILN__LAYOUT_INNER)
        return 1;
    int vec = kiln__walk_vec(w, NULL, operands, v, ACCESS_BYTES, true);
    while (v->layout == KILN__LAYOUT_INNER && w->shape[w->rank - 1] % vec != 0)
        vec /= 2;
    return vec;
}

/* Accesses a thread has in flight, so that they come to ACCESS_BYTES of the widest operand. */
static int choose_unroll(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v)
{
    const bool random = def->draws && v->layout == KILN__LAYOUT_LINEAR;
    int widest = 0;
    bool loads = false, gathers = false;
    for (int k = 0; k < w->count; k++) {
        const uint8_t access = k == w->index ? KILN__ACCESS_ONE : v->access[w->param[k]];
        if ((access == KILN__ACCESS_VECTOR || access == KILN__ACCESS_STRIDED) &&
            w->itemsize[k] > widest)
            widest = w->itemsize[k];
        loads = loads || (access == KILN__ACCESS_VECTOR && !w->written[k]);
        gathers = gathers || (k != w->index && def->params[w->param[k]].by_address && !w->written[k]);
    }
    const int bytes = widest * v->vec;
    const int fit = bytes == 0 ? 1 : ACCESS_BYTES / bytes;
    const int more = gathers   ? GATHER_UNROLL
                     : !random ? 1
                     : loads   ? RANDOM_UNROLL_LOADING
                               : RANDOM_UNROLL;
    const int unroll = (fit < 1 ? 1 : fit) * more;
    return unroll > UNROLL_MAX ? UNROLL_MAX : unroll;
}

/* Whether rows of the first result begin within lines of memory and do not follow each other, so that the stores
 * of warps that are numbered through all rows would straddle lines. Addresses do not matter: the kernel finds
 * where in its line each row begins. */
static bool choose_lines(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v)
{
    const int last = w->rank - 1;
    int k = 0;

    while (k < w->count && !(k != w->index && w->output[k]))
        k++;
    if (v->backend != KILN_BACKEND_CUDA || def->cuda_only || w->rank < 2 || k == w->count ||
        w->rank * w->count > LINED_STRIDES_MAX ||
        (v->layout != KILN__LAYOUT_INNER && v->layout != KILN__LAYOUT_GENERAL) ||
        v->access[w->param[k]] != KILN__ACCESS_VECTOR ||
        w->itemsize[k] * v->vec < LINED_BYTES_MIN ||
        w->shape[last] / v->vec < kiln__tuned("KILN_TUNE_LINES", LINED_MIN))
        return false;
    int64_t next = w->shape[last] * w->itemsize[k], low_bits = next;
    bool follow = true;
    for (int a = last - 1; a >= 0; a--) {
        follow = follow && w->stride[k][a] == next;
        low_bits |= w->stride[k][a];
        next = w->stride[k][a] * w->shape[a];
    }
    return !follow && low_bits % KILN__LINE != 0;
}

/* 32 when every element count and byte offset fits a signed 32-bit integer with room for one
 * block's overshoot. */
static int choose_index_bits(const kiln__walk *w, const kiln__variant *v, int64_t size)
{
    /* Lines may have twice as many accesses as there are elements in a short row. */
    const int64_t limit = (INT32_MAX - (1 << 20)) / (v->loop.lines != 0 ? 2 : 1);
    if (v->layout == KILN__LAYOUT_LINEAR || v->backend == KILN_BACKEND_CPU || size > limit)
        return 64;
    for (int k = 0; k < w->count; k++)
        if (kiln__walk_reach(w, k) > limit)
            return 64;
    return 32;
}

static void choose_grid(const kiln__plan_request *q, kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;
    int64_t walk_size = 1;
    int last = v->rank - 1;

    for (int a = 0; a < v->rank; a++)
        plan->walk[a] = plan->shape[a];
    if (v->layout == KILN__LAYOUT_TRANSPOSE) {
        kiln__transpose_walk(q, plan);
    } else if (v->layout == KILN__LAYOUT_WINDOW) {
        kiln__window_walk(q->device.units, plan);
    } else if (v->backend == KILN_BACKEND_CPU) {
        plan->walk[last] = (plan->shape[last] + KILN__CPU_UNIT - 1) / KILN__CPU_UNIT;
    } else {
        int64_t vectors = plan->shape[last] / v->vec;
        plan->index_step[last] *= v->vec;
        plan->walk[last] = vectors + (v->layout == KILN__LAYOUT_LINEAR &&
                                      plan->shape[last] % v->vec != 0);
        if (v->loop.lines == KILN__LINES_OF_WORDS)
            plan->walk[last] = kiln__words_of_row(vectors, (int)kiln_dtype_size((kiln_dtype)v->dtype[0]));
        else if (v->loop.lines != 0) /* a row may begin with the last access of a line */
            plan->walk[last] = (vectors + 2 * WARP_THREADS - 2) / WARP_THREADS * WARP_THREADS;
    }
    for (int a = 0; a < v->rank; a++)
        walk_size *= plan->walk[a];
    plan->word[KILN__WORD_COUNT_ALL] = walk_size;
    plan->grid = walk_size;
    plan->units_together = 1;
    if (v->backend == KILN_BACKEND_CPU) {
        int64_t unit = plan->size / (walk_size > 0 ? walk_size : 1) + 1;
        int64_t together = CPU_TASK_ELEMENTS / unit;
        plan->units_together = together < 1 ? 1 : (uint32_t)together;
    } else if (v->loop.tile == 0) {
        int64_t per_block = (int64_t)v->block * v->unroll;
        plan->grid = (walk_size + per_block - 1) / per_block;
    }
}

/* Facts about `i` and `_ind`. */
static void fill_environment(kiln__plan *plan, const kiln__walk *w, const kiln__definition *def,
                             int rank, const int64_t *shape)
{
    kiln__variant *v = &plan->variant;
    if (w->index >= 0) {
        int64_t expect = 1;
        v->loop.index_linear = 1;
        for (int a = w->rank - 1; a >= 0; a--) {
            plan->index_step[a] = w->stride[w->index][a];
            v->loop.index_linear &= plan->index_step[a] == expect;
            expect *= w->shape[a];
        }
        v->loop.index_linear &= v->loop.tile == 0 && v->loop.lines == 0; /* rows are taken apart */
    } else {
        memset(plan->index_step, 0, (size_t)w->rank * sizeof plan->index_step[0]);
    }
    if (def->uses_indexer) {
        v->indexer_rank = (uint8_t)rank;
        plan->indexer_size = plan->size;
        memcpy(plan->indexer_shape, shape, (size_t)rank * sizeof shape[0]);
    }
}

/* `_ind` sees axes collapsed as CuPy's reduce_dims does: C-order neighbours that every array walks
 * as one, nothing sorted. */
static int reduced_shape(const kiln__definition *def, const kiln__operand *operands, int rank,
                         const int64_t *shape, int64_t *out)
{
    kiln__walk w;
    int64_t index[KILN_RANK_MAX];
    if (def->keep_axes || !def->uses_indexer) {
        memcpy(out, shape, (size_t)rank * sizeof shape[0]);
        return rank;
    }
    kiln__index_strides(rank, shape, NULL, index);
    kiln__walk_collect(&w, def, operands, rank, shape, NULL, index);
    kiln__walk_collapse(&w);
    memcpy(out, w.shape, (size_t)w.rank * sizeof out[0]);
    return w.rank;
}

/* How many calls a launch has room for: 0 where it is for one. */
static int choose_lists(const kiln__definition *def, const kiln__variant *v)
{
    size_t pointers = 0, scalars = 0, calls = UINT8_MAX;

    if (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_LINEAR || def->uses_indexer ||
        def->cuda_only)
        return 0;
    for (size_t p = 0; p < def->param_count; p++) {
        if (v->access[p] == KILN__ACCESS_RAW)
            return 0;
        pointers += v->access[p] != KILN__ACCESS_SCALAR;
        scalars += v->access[p] == KILN__ACCESS_SCALAR;
    }
    while (calls > 1 && kiln__lists_bytes(8 + 16 * scalars + 8 * pointers + 16, pointers, calls) >
                            KILN__ARGS_MAX)
        calls--;
    return calls > 1 ? (int)calls : 0;
}

static void plan_loop(const kiln__plan_request *q, kiln__plan *plan)
{
    const kiln__definition *def = q->def;
    const int rank = q->rank;
    const int64_t *shape = q->shape;
    kiln__walk w;
    int64_t reduced[KILN_RANK_MAX], index[KILN_RANK_MAX];
    kiln__variant *v = &plan->variant;

    plan->size = 1;
    for (int a = 0; a < rank; a++)
        plan->size *= shape[a];

    kiln__index_strides(rank, shape, NULL, index);
    kiln__walk_collect(&w, def, q->operands, rank, shape, NULL,
                       def->uses_index || def->uses_indexer ? index : NULL);
    kiln__walk_sort(&w, true);
    kiln__walk_collapse(&w);
    v->block = BLOCK_THREADS;
    choose_layout(&w, def, q->operands, v);
    choose_access(&w, v);
    v->rank = (uint8_t)w.rank;
    /* An element whose variables begin with a thread's number has a thread, as in CuPy; so has one
     * whose snippet is large, for each element of a thread is a copy of it. */
    if (v->backend != KILN_BACKEND_CPU && !(def->copied[0] != '\0' && def->cuda_only) && !def->large) {
        if (v->layout != KILN__LAYOUT_TRANSPOSE) {
            v->vec = (uint8_t)choose_vec(&w, v, q->operands);
            v->unroll = (uint8_t)choose_unroll(&w, def, v);
        }
    }
    kiln__window_choose(&w, def, q->operands, plan);
    kiln__words_choose(&w, def, q->flags, v);
    if (v->loop.lines == KILN__LINES_NONE && choose_lines(&w, def, v))
        v->loop.lines = KILN__LINES_OF_ELEMENTS;
    v->index_bits = (uint8_t)choose_index_bits(&w, v, plan->size);
    for (int k = 0; k < w.count; k++) {
        if (k == w.index)
            continue;
        memcpy(plan->step[w.param[k]], w.stride[k], (size_t)w.rank * sizeof(int64_t));
        if (v->loop.tile == 0)
            plan->step[w.param[k]][w.rank - 1] *= v->vec;
    }
    memcpy(plan->shape, w.shape, (size_t)w.rank * sizeof(int64_t));
    int reduced_rank = reduced_shape(def, q->operands, rank, shape, reduced);
    fill_environment(plan, &w, def, reduced_rank, reduced);
    choose_grid(q, plan);
    if ((q->flags & KILN__CALL_LISTED) != 0)
        v->loop.lists = (uint8_t)choose_lists(def, v);
}

void kiln__plan_k_order(const kiln__operand *operands, size_t count, int rank,
                        const int64_t *shape, int *order_out)
{
    for (int a = 0; a < rank; a++)
        order_out[a] = a;
    for (int a = 1; a < rank; a++) {
        int axis = order_out[a], to = a;
        for (int b = a - 1; b >= 0; b--) {
            int order = 0;
            for (size_t p = 0; p < count && order == 0; p++) {
                const kiln__operand *o = &operands[p];
                if (!o->is_array || o->raw || shape[axis] == 1 || shape[order_out[b]] == 1)
                    continue;
                int64_t outer = kiln__magnitude(kiln__broadcast_stride(o, rank, order_out[b]));
                int64_t inner = kiln__magnitude(kiln__broadcast_stride(o, rank, axis));
                if (outer != 0 && inner != 0 && outer != inner)
                    order = outer < inner ? 1 : -1;
            }
            if (order < 0)
                break;
            if (order > 0)
                to = b;
        }
        for (int b = a; b > to; b--)
            order_out[b] = order_out[b - 1];
        order_out[to] = axis;
    }
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("vec", vec, 1, 64, true),
    KILN__FIELD("unroll", unroll, 1, 64, false),
    KILN__FIELD("tile", loop.tile, 0, 2048, false),
    KILN__FIELD("block", block, 1, 1024, true),
    KILN__FIELD("plain_i", loop.index_linear, 0, 1, false),
    KILN__FIELD("indexer", indexer_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("lists", loop.lists, 0, UINT8_MAX, false),
    KILN__FIELD("lines", loop.lines, 0, KILN__LINES_OF_WORDS, false),
    KILN__FIELD("aligned", loop.aligned, 0, 1, false),
    KILN__FIELD("narrow", loop.narrow, 0, KILN__NARROW_LAST, false),
    KILN__FIELD("apart", loop.apart, 0, 511, false),
    KILN__FIELD("planes", loop.planes, 0, 8, false),
    KILN__FIELD("across", loop.across, 0, 32, false),
    KILN__FIELD("ring", loop.ring, 0, 8, false),
    KILN__FIELD("slant", loop.slant, 0, KILN__SLANT_BYTES, false),
    KILN__FIELD("turned", loop.turned, 0, 1, false),
};

static bool same_dtype_in_window(const kiln__variant *v, size_t p)
{
    for (size_t q = 0; q < p; q++)
        if (v->access[q] == KILN__ACCESS_WINDOW && v->loop.window[q] == v->loop.window[p] &&
            v->dtype[q] != v->dtype[p])
            return false;
    return true;
}

static bool has_lines(const kiln__definition *def, const kiln__variant *v)
{
    size_t p = 0;

    while (p < def->param_count && !def->params[p].output)
        p++;
    return v->backend == KILN_BACKEND_CUDA && v->rank > 1 && v->loop.index_linear == 0 &&
           (v->layout == KILN__LAYOUT_INNER || v->layout == KILN__LAYOUT_GENERAL) &&
           p < def->param_count && v->access[p] == KILN__ACCESS_VECTOR;
}

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    const bool tiled = v->layout == KILN__LAYOUT_TRANSPOSE;
    const bool windows = v->layout == KILN__LAYOUT_WINDOW;

    if (v->layout == KILN__LAYOUT_LINEAR && v->rank != 1)
        return "a linear layout has rank 1, unlike";
    if (tiled ? !kiln__transpose_is_valid(def, v) : !windows && v->loop.tile != 0)
        return "a transpose has rank 2 or more and a tile that its threads share evenly, unlike";
    if ((v->loop.aligned != 0 || v->loop.apart != 0) && !tiled)
        return "only a transpose has tiles with aligned rows or rows apart, unlike";
    if (windows ? !kiln__window_is_valid(def, v) : v->loop.planes != 0 || v->loop.across != 0 || v->loop.ring != 0 || v->loop.slant != 0 || v->loop.turned != 0)
        return "windows have rank 2 or more, a tile, and words of 4 bytes or vec=1, unlike";
    if (v->loop.lines == KILN__LINES_OF_ELEMENTS && !has_lines(def, v))
        return "only results whose elements are neighbours on the last axis are stored by lines, unlike";
    if (v->loop.lines == KILN__LINES_OF_WORDS && !kiln__words_are_valid(def, v))
        return "only copies of elements of one size, neighbours on the last axis, are made of words, unlike";
    if (v->loop.narrow != KILN__NARROW_NONE && (!tiled || v->backend != KILN_BACKEND_CUDA))
        return "only a transpose on a GPU has few elements on an axis, unlike";
    if (v->loop.lists > (v->backend == KILN_BACKEND_CUDA ? choose_lists(def, v) : 0))
        return "so many calls do not share a launch, unlike";
    for (size_t p = 0; p < def->param_count; p++) {
        if (v->access[p] == KILN__ACCESS_TILE && !tiled)
            return "only a transpose has tiles, unlike";
        if (v->access[p] == KILN__ACCESS_WINDOW && (!windows || !same_dtype_in_window(v, p)))
            return "windows of one dtype have a layout of their own, unlike";
    }
    return NULL;
}

const kiln__family kiln__family_loop = {
    .name = "elementwise",
    .noun = "elementwise kernel",
    .kernel_name = "kiln_kernel",
    .line = "op! loop_prep after_loop keep_axes",
    .in_place = true,
    .lists = true,
    .part_bytes_max = KILN__PART_BYTES_MAX,
    .plan = plan_loop,
    .layouts = 1u << KILN__LAYOUT_LINEAR | 1u << KILN__LAYOUT_INNER | 1u << KILN__LAYOUT_TRANSPOSE |
               1u << KILN__LAYOUT_GENERAL | 1u << KILN__LAYOUT_WINDOW,
    .accesses = 1u << KILN__ACCESS_TILE | 1u << KILN__ACCESS_WINDOW,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .skeleton = "kernel.cpp",
    .slots = kiln__loop_slots,
};
