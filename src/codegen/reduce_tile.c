/*
 * reduce_tile.c - reductions that use each element of their inputs for many results.
 *
 *     sum((x[:, None, :] - y[None, :, :]) ** 2, -1)
 *
 * Here x stands still along the second axis and y along the first, so a result of its own for each
 * thread would read every element thousands of times. Layout `tile` takes two kept axes of which no
 * input moves along both, cuts them into tiles of results, and reads an element once for a whole
 * side of a tile. That follows from strides alone, whatever the snippets are.
 *
 * A tile has one of few forms. Its cost is estimated as results (with those beyond the edge) times the
 * form's instructions a result, divided by the part of the device that the tiles keep busy.
 *
 * reduce_plan.c calls this file. Tests: test_reduce_plan, test_golden.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

enum {
    BLOCK_THREADS = 256,
    EXTENT_MIN = 8,         /* of either axis: elements are used that often, at least */
    RESULT_BYTES = 256,     /* of a thread's accumulators */
    RESULTS_HEAVY = 16,     /* of a thread where the snippet is long */
    RESULTS_MIN = 4,        /* of a thread with large accumulators */
    RUN_MAX = 4,            /* neighbouring results of a thread; panel::run in tile.cu */
    STEPS_MAX = 16,         /* of a panel along the reduced axes */
    SHARED_MAX = 40 * 1024, /* bytes of all panels */
    SPLIT_STEPS = 64,       /* fewest reduced elements of a block, where several share a tile */
    LOAD_BYTES = 16
};

/* Blocks a multiprocessor that keep it busy: one alone waits now and then. */
#define BUSY 1.3

/* Results of a thread, threads across, and how many instructions a result takes beside the snippet's,
 * in percent of the first. */
typedef struct form {
    int down, across, group, cost;
} form;

static const form forms[] = {
    {8, 8, 16, 100}, {8, 4, 16, 110}, {4, 4, 16, 125}, {2, 4, 32, 170}, {4, 2, 8, 170}, {2, 2, 16, 240},
};

static int64_t rows_of(const form *f)
{
    return BLOCK_THREADS / f->group * f->down;
}

static int64_t columns_of(const form *f)
{
    return f->group * f->across;
}

/* Whether a tile may lie on kept axes `m` (down) and `n` (across), and how often elements are used
 * then, up to what a tile can do; 0: it may not. */
static int64_t reuse(const kiln__walk *keep, const kiln__walk *red, int m, int n)
{
    bool down = false, across = false;
    int64_t store = 0;

    for (int k = 0; k < keep->count; k++) {
        if (keep->output[k] && store == 0)
            store = kiln__magnitude(keep->stride[k][m]) - kiln__magnitude(keep->stride[k][n]);
        if (!kiln__walk_is_input(keep, k))
            continue;
        if (keep->stride[k][m] != 0 && keep->stride[k][n] != 0)
            return 0;
        down |= keep->stride[k][m] != 0 && !kiln__walk_constant(red, k);
        across |= keep->stride[k][n] != 0 && !kiln__walk_constant(red, k);
    }
    if (!down || !across || store < 0 || keep->shape[m] < EXTENT_MIN || keep->shape[n] < EXTENT_MIN)
        return 0;
    const int64_t most = rows_of(&forms[0]);
    return (keep->shape[m] < most ? keep->shape[m] : most) *
           (keep->shape[n] < most ? keep->shape[n] : most);
}

/* Swap two axes with the last two, or back again. */
static void swap_axes(kiln__walk *keep, const int axes[2], bool back)
{
    const int last = keep->rank - 1, down = axes[0] == last ? axes[1] : axes[0];

    if (back)
        kiln__walk_swap(keep, down, last - 1);
    kiln__walk_swap(keep, axes[1], last);
    if (!back)
        kiln__walk_swap(keep, down, last - 1);
}

/* The axes of the most reuse: down and across. */
static bool find_axes(const kiln__walk *keep, const kiln__walk *red, int axes[2])
{
    int64_t best = 0;

    for (int m = 0; m < keep->rank; m++) {
        for (int n = 0; n < keep->rank; n++) {
            const int64_t here = m != n ? reuse(keep, red, m, n) : 0;
            if (here <= best)
                continue;
            best = here;
            axes[0] = m;
            axes[1] = n;
        }
    }
    return best > 0;
}

/* What the template cannot do: elements that are left out or written, addresses of their own, and
 * batches whose elements a thread must have together. */
static bool is_plain(const kiln__plan_request *q, const kiln__walk *red, const kiln__variant *v)
{
    const kiln__definition *def = q->def;

    if (q->device.backend != KILN_BACKEND_CUDA || def->masked ||
        def->uses_number[KILN__NUMBER_IN] || kiln__walk_size(red) < 2 ||
        kiln__reduce_batch(def, v, true) == KILN__BATCH_MOMENTS)
        return false;
    for (size_t p = 0; p < def->input_count; p++)
        if (!def->params[p].raw && !def->params[p].post_only &&
            (def->params[p].by_address || def->params[p].writable || q->operands[p].written))
            return false;
    return true;
}

static bool is_staged(const kiln__walk *w, int k, const kiln__variant *v)
{
    return kiln__walk_is_input(w, k) && v->access[w->param[k]] != KILN__ACCESS_ONE;
}

static int side_of(const kiln__walk *keep, int k)
{
    return keep->stride[k][keep->rank - 2] != 0   ? KILN__SIDE_DOWN
           : keep->stride[k][keep->rank - 1] != 0 ? KILN__SIDE_ACROSS
                                                  : KILN__SIDE_NONE;
}

/* Steps of a panel along the reduced axes: as many as shared memory has room for; 0: not enough. */
static int steps_of(const form *f, const kiln__walk *keep, const kiln__variant *v)
{
    int64_t step = 0;
    int steps = STEPS_MAX;

    for (int k = 0; k < keep->count; k++) {
        const int side = side_of(keep, k);
        if (is_staged(keep, k, v))
            step += 2 * (LOAD_BYTES + keep->itemsize[k] * (side == KILN__SIDE_DOWN     ? rows_of(f)
                                                           : side == KILN__SIDE_ACROSS ? columns_of(f)
                                                                                       : 1));
    }
    while (steps > 1 && steps * step > SHARED_MAX)
        steps /= 2;
    return steps >= RUN_MAX ? steps : 0;
}

/* Blocks that share a tile, so that all of them keep the device busy. */
static int64_t splits_of(int64_t tiles, int64_t length, int units)
{
    const int64_t wanted = tiles < units ? 2 * units / tiles : 1, most = length / SPLIT_STEPS;
    return wanted < most ? wanted : most > 1 ? most : 1;
}

static const form *find_form(const kiln__plan_request *q, const kiln__walk *keep, int64_t length,
                             const kiln__variant *v, int64_t *tiles_out)
{
    const int64_t fit = RESULT_BYTES / kiln__part_bytes(q->def, v, 0);
    const int64_t down = keep->shape[keep->rank - 2], across = keep->shape[keep->rank - 1];
    const int64_t most = fit > RESULTS_HEAVY && q->def->heavy_map ? RESULTS_HEAVY
                         : fit > RESULTS_MIN                      ? fit
                                                                  : RESULTS_MIN;
    const form *best = NULL;
    double least = 0;

    for (size_t k = 0; k < KILN_COUNT_OF(forms); k++) {
        const form *f = &forms[k];
        if (f->down * f->across > most || steps_of(f, keep, v) == 0)
            continue;
        const int64_t tiles = kiln__walk_size(keep) / (down * across) *
                              kiln__divide_up(down, rows_of(f)) *
                              kiln__divide_up(across, columns_of(f));
        const int64_t blocks = tiles * splits_of(tiles, length, q->device.units);
        double cost = (double)tiles * (double)(rows_of(f) * columns_of(f)) * f->cost;
        const double idle = BUSY * (double)q->device.units / (double)blocks;
        cost *= idle > 1 ? idle : 1;
        if (tiles > INT32_MAX || (best != NULL && cost >= least))
            continue;
        best = f;
        least = cost;
        *tiles_out = tiles;
    }
    return best;
}

/* How an input's panel is loaded: along its side or along the last reduced axis, wherever its
 * elements are neighbours, and how many at once. */
static void choose_load(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                        int k, kiln__variant *v)
{
    const int p = keep->param[k], side = side_of(keep, k), last = red->rank - 1;
    const int axis = keep->rank - 2 + (side == KILN__SIDE_ACROSS);
    const int64_t reduced = kiln__magnitude(red->stride[k][last]);
    const bool along_side =
        side != KILN__SIDE_NONE &&
        (reduced == 0 || kiln__magnitude(keep->stride[k][axis]) < reduced);
    const int64_t stride = along_side ? keep->stride[k][axis] : red->stride[k][last];
    const int64_t extent = along_side ? keep->shape[axis] : red->shape[last];
    uint64_t low_bits = q->operands[p].address;
    int width = LOAD_BYTES / keep->itemsize[k];

    for (int a = 0; a < keep->rank; a++)
        low_bits |= along_side && a == axis ? 0 : (uint64_t)keep->stride[k][a];
    for (int a = 0; a < red->rank; a++)
        low_bits |= !along_side && a == last ? 0 : (uint64_t)red->stride[k][a];
    if (stride != keep->itemsize[k])
        width = 1;
    while (width > 1 && (extent % width != 0 || (!along_side && width > v->unroll) ||
                         low_bits % (uint64_t)(width * keep->itemsize[k]) != 0))
        width /= 2;
    v->access[p] = KILN__ACCESS_STAGED;
    v->reduction.side[p] = (uint8_t)side;
    v->reduction.along_side[p] = along_side;
    v->reduction.width[p] = (uint8_t)width;
}

/* Results of a thread's run are stored at once where they are neighbours at an aligned address. */
static void choose_stores(const kiln__plan_request *q, const kiln__walk *keep, kiln__variant *v)
{
    const int last = keep->rank - 1, run = v->reduction.lanes < RUN_MAX ? v->reduction.lanes : RUN_MAX;

    for (int k = 0; k < keep->count; k++) {
        const uint64_t bytes = (uint64_t)run * keep->itemsize[k];
        uint64_t low_bits = keep->output[k] ? q->operands[keep->param[k]].address : 1;
        for (int a = 0; a < last && keep->output[k]; a++)
            low_bits |= (uint64_t)keep->stride[k][a];
        if (keep->output[k] && keep->stride[k][last] == keep->itemsize[k] &&
            low_bits % (bytes < LOAD_BYTES ? bytes : LOAD_BYTES) == 0)
            v->access[keep->param[k]] = KILN__ACCESS_VECTOR;
    }
}

/* Split `length` among `splits` or a little fewer, in multiples of `step`. Threads of the CPU take
 * chunks; blocks of a GPU take steps in turn. */
void kiln__reduce_split(kiln__plan *plan, int64_t splits, int64_t length, int64_t step)
{
    int64_t chunk = kiln__divide_up(kiln__divide_up(length, splits < 1 ? 1 : splits), step) * step;
    plan->word[KILN__WORD_CHUNK] = chunk;
    plan->word[KILN__WORD_SPLITS] = length > 0 ? kiln__divide_up(length, chunk) : 1;
    plan->variant.reduction.split = plan->word[KILN__WORD_SPLITS] > 1;
}

bool kiln__tile_choose(const kiln__plan_request *q, kiln__walk *keep, const kiln__walk *red,
                       kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;
    const int64_t length = kiln__walk_size(red);
    int64_t tiles = 0;
    int axes[2];

    if (!is_plain(q, red, v) || !find_axes(keep, red, axes))
        return false;
    swap_axes(keep, axes, false);
    const form *f = find_form(q, keep, length, v, &tiles);
    if (f == NULL) {
        swap_axes(keep, axes, true);
        return false;
    }
    const int down = keep->rank - 2, across = keep->rank - 1;
    v->layout = KILN__LAYOUT_TILE;
    v->block = BLOCK_THREADS;
    v->unroll = (uint8_t)steps_of(f, keep, v);
    v->reduction.group = (uint16_t)f->group;
    v->reduction.segments = (uint8_t)f->down;
    v->reduction.lanes = (uint8_t)f->across;
    for (int k = 0; k < keep->count; k++)
        if (is_staged(keep, k, v))
            choose_load(q, keep, red, k, v);
    choose_stores(q, keep, v);
    kiln__walk_join(keep, red, plan);
    plan->walk[down] = kiln__divide_up(keep->shape[down], rows_of(f));
    plan->walk[across] = kiln__divide_up(keep->shape[across], columns_of(f));
    kiln__reduce_split(plan, splits_of(tiles, length, q->device.units), length, v->unroll);
    plan->grid = tiles * plan->word[KILN__WORD_SPLITS];
    plan->part_count = v->reduction.split ? plan->grid * rows_of(f) * columns_of(f) : 0;
    plan->ticket_count = v->reduction.split ? tiles : 0;
    plan->word[KILN__WORD_LENGTH] = length;
    return true;
}

const char *kiln__tile_refuse(const kiln__definition *def, const kiln__variant *v)
{
    const kiln__reduction_variant *r = &v->reduction;
    const bool tile = v->layout == KILN__LAYOUT_TILE;
    size_t step = 0;

    if (tile && (v->backend != KILN_BACKEND_CUDA || v->keep_rank < 2 || v->block != BLOCK_THREADS ||
                 r->group == 0 || r->segments * r->lanes > 64))
        return "such a tile does not fit, unlike";
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__param *param = &def->params[p];
        const bool staged = v->access[p] == KILN__ACCESS_STAGED;
        const bool walks = !param->output && !param->post_only && v->access[p] != KILN__ACCESS_SCALAR &&
                           v->access[p] != KILN__ACCESS_ONE && v->access[p] != KILN__ACCESS_RAW;
        if (staged != (tile && walks))
            return "inputs are staged in tiles, and only there, unlike";
        if (staged && !r->along_side[p] && r->width[p] > v->unroll)
            return "an access is longer than a panel in";
        if (staged)
            step += kiln_dtype_size((kiln_dtype)v->dtype[p]) *
                    (r->side[p] == KILN__SIDE_DOWN     ? (size_t)(v->block / r->group * r->segments)
                     : r->side[p] == KILN__SIDE_ACROSS ? (size_t)(r->group * r->lanes)
                                                       : 1);
    }
    return tile && 2 * step * v->unroll > SHARED_MAX ? "such a tile does not fit, unlike" : NULL;
}
