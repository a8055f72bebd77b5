/*
 * walk.c - the axes of a loop: collected, sorted, collapsed, and put into its plan.
 *
 * All planners (plan.c, reduce_plan.c, prefix_plan.c, row_plan.c, filter_plan.c) and the choices
 * below them (transpose.c, window.c) call this file; walk.h explains a walk. Tests:
 * test_reduce_plan, test_plan_random.
 */
#include "codegen/walk.h"

#include <stdlib.h>

enum { ACCESS_BYTES = 16 }; /* of a peeled row */

int64_t kiln__magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

int64_t kiln__broadcast_stride(const kiln__operand *o, int rank, int axis)
{
    int own = axis - (rank - o->rank);
    return own < 0 || o->shape[own] == 1 ? 0 : o->strides[own];
}

void kiln__index_strides(int rank, const int64_t *shape, const bool *taken, int64_t *out)
{
    int64_t stride = 1;
    for (int a = rank - 1; a >= 0; a--) {
        const bool counts = taken == NULL || taken[a];
        out[a] = counts ? stride : 0;
        stride *= counts ? shape[a] : 1;
    }
}

void kiln__walk_collect(kiln__walk *w, const kiln__definition *def, const kiln__operand *operands,
                        int rank, const int64_t *shape, const bool *taken, const int64_t *index)
{
    w->count = 0;
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__operand *o = &operands[p];
        if (!o->is_array || o->raw)
            continue;
        w->param[w->count] = (uint8_t)p;
        w->itemsize[w->count] = o->itemsize;
        w->output[w->count] = def->params[p].output;
        w->written[w->count] = o->written || def->params[p].post_only; /* late: it lies as results do */
        w->begin[w->count] = 0;
        w->count++;
    }
    w->index = index != NULL ? w->count : -1;
    w->rank = 0;
    for (int a = 0; a < rank; a++) {
        if (shape[a] == 1 || (taken != NULL && !taken[a]))
            continue;
        w->shape[w->rank] = shape[a];
        for (int k = 0; k < w->count; k++)
            w->stride[k][w->rank] = kiln__broadcast_stride(&operands[w->param[k]], rank, a);
        if (index != NULL)
            w->stride[w->index][w->rank] = index[a];
        w->rank++;
    }
    w->count += index != NULL;
}

void kiln__walk_add_number(kiln__walk *w, kiln__numbering kind, int rank, const int64_t *shape,
                           const bool *taken, const int64_t *strides)
{
    int own = 0;
    for (int a = 0; a < rank; a++)
        if (shape[a] != 1 && (taken == NULL || taken[a]))
            w->stride[w->count][own++] = strides[a];
    w->param[w->count] = (uint8_t)kind;
    w->itemsize[w->count] = 1;
    w->written[w->count] = w->output[w->count] = false;
    w->begin[w->count] = 0;
    if (w->index < 0)
        w->index = w->count;
    w->count++;
}

bool kiln__walk_is_number(const kiln__walk *w, int k)
{
    return w->index >= 0 && k >= w->index;
}

void kiln__walk_reverse(kiln__walk *w)
{
    for (int k = 0; k < w->count; k++) {
        for (int a = 0; a < w->rank; a++) {
            w->begin[k] += (w->shape[a] - 1) * w->stride[k][a];
            w->stride[k][a] = -w->stride[k][a];
        }
    }
}

uintptr_t kiln__walk_begin(const kiln__walk *w, int k, const kiln__operand *operands)
{
    return operands[w->param[k]].address + (uintptr_t)w->begin[k];
}

/* 1 when axis `a` should be inside axis `b`, -1 for the opposite, 0 when no operand that walks
 * both can tell. */
static int axis_order(const kiln__walk *w, int a, int b, bool outputs_first)
{
    for (int round = 0; round < 2; round++) {
        const bool outputs = outputs_first == (round == 0);
        for (int k = 0; k < w->count; k++) {
            int64_t sa = kiln__magnitude(w->stride[k][a]), sb = kiln__magnitude(w->stride[k][b]);
            if (kiln__walk_is_number(w, k) || w->written[k] != outputs || sa == 0 || sb == 0 ||
                sa == sb)
                continue;
            return sa < sb ? 1 : -1;
        }
    }
    return 0;
}

void kiln__walk_swap(kiln__walk *w, int a, int b)
{
    int64_t t = w->shape[a];
    w->shape[a] = w->shape[b];
    w->shape[b] = t;
    for (int k = 0; k < w->count; k++) {
        t = w->stride[k][a];
        w->stride[k][a] = w->stride[k][b];
        w->stride[k][b] = t;
    }
}

/* Insertion sort, stable. An undecided neighbour is stepped over, so that a broadcast axis does
 * not hide the order behind it. */
void kiln__walk_sort(kiln__walk *w, bool outputs_first)
{
    for (int a = 1; a < w->rank; a++) {
        int to = a;
        for (int b = a - 1; b >= 0; b--) {
            int order = axis_order(w, b, a, outputs_first);
            if (order < 0)
                break;
            if (order > 0)
                to = b;
        }
        for (int b = a; b > to; b--)
            kiln__walk_swap(w, b, b - 1);
    }
}

void kiln__walk_collapse(kiln__walk *w)
{
    int last = 0;
    for (int a = 1; a < w->rank; a++) {
        bool merges = true;
        for (int k = 0; k < w->count && merges; k++)
            merges = w->stride[k][last] == w->stride[k][a] * w->shape[a];
        if (merges) {
            w->shape[last] *= w->shape[a];
        } else {
            last++;
            w->shape[last] = w->shape[a];
        }
        for (int k = 0; k < w->count; k++)
            w->stride[k][last] = w->stride[k][a];
    }
    if (w->rank > 0) {
        w->rank = last + 1;
        return;
    }
    w->rank = 1; /* one element: an axis of extent 1, on which any stride will do */
    w->shape[0] = 1;
    for (int k = 0; k < w->count; k++)
        w->stride[k][0] = kiln__walk_is_number(w, k) ? 1 : w->itemsize[k];
}

bool kiln__walk_dense(const kiln__walk *w, int k, int axis)
{
    return w->stride[k][axis] == 0 || w->stride[k][axis] == w->itemsize[k];
}

bool kiln__walk_constant(const kiln__walk *w, int k)
{
    for (int a = 0; a < w->rank; a++)
        if (w->stride[k][a] != 0)
            return false;
    return true;
}

int64_t kiln__walk_reach(const kiln__walk *w, int k)
{
    int64_t reach = 0;
    for (int a = 0; a < w->rank; a++)
        reach += (w->shape[a] - 1) * kiln__magnitude(w->stride[k][a]);
    return reach;
}

void kiln__walk_still(kiln__walk *w)
{
    for (int a = 0; a < w->rank; a++)
        for (int k = 0; w->shape[a] == 1 && k < w->count; k++)
            w->stride[k][a] = 0;
}

void kiln__walk_halves(const kiln__plan_request *q, kiln__walk *keep, kiln__walk *along)
{
    bool kept[KILN_RANK_MAX];
    for (int a = 0; a < q->rank; a++)
        kept[a] = !q->along[a];
    kiln__walk_collect(keep, q->def, q->operands, q->rank, q->shape, kept, NULL);
    kiln__walk_collect(along, q->def, q->operands, q->rank, q->shape, q->along, NULL);
}

/* Whether the variant reaches operand `k` element by element along the inner axis. */
static bool is_element(const kiln__walk *w, int k, const kiln__variant *v)
{
    const uint8_t access = kiln__walk_is_number(w, k) ? KILN__ACCESS_ONE : v->access[w->param[k]];
    return access == KILN__ACCESS_VECTOR || access == KILN__ACCESS_STRIDED ||
           access == KILN__ACCESS_COLUMN || access == KILN__ACCESS_BACK;
}

int kiln__walk_vec(const kiln__walk *inner, const kiln__walk *outer, const kiln__operand *operands,
                   const kiln__variant *v, int bytes, bool written)
{
    const int last = inner->rank - 1;
    int vec = bytes;
    for (int k = 0; k < inner->count; k++) {
        if (!is_element(inner, k, v) || (inner->written[k] && !written))
            continue;
        const bool back = v->access[inner->param[k]] == KILN__ACCESS_BACK;
        if (inner->stride[k][last] != (back ? -inner->itemsize[k] : inner->itemsize[k]))
            return 1;
        uint64_t low_bits = kiln__walk_begin(inner, k, operands) +
                            (outer != NULL ? (uint64_t)outer->begin[k] : 0) +
                            (back ? (uint64_t)inner->itemsize[k] : 0); /* the end of the first */
        for (int a = 0; a < last; a++)
            low_bits |= (uint64_t)inner->stride[k][a];
        for (int a = 0; outer != NULL && a < outer->rank; a++)
            low_bits |= outer->shape[a] > 1 ? (uint64_t)outer->stride[k][a] : 0;
        while (vec > 1 && (vec * inner->itemsize[k] > bytes ||
                           low_bits % (uint64_t)(vec * inner->itemsize[k]) != 0))
            vec /= 2;
    }
    return vec;
}

int kiln__walk_peel(const kiln__walk *keep, const kiln__walk *red, const kiln__operand *operands,
                    const kiln__variant *v)
{
    int64_t widest = 1, phase = -1;
    bool holds = false;

    for (int k = 0; k < red->count; k++)
        if (!kiln__walk_is_number(red, k) && !kiln__walk_constant(red, k) &&
            red->itemsize[k] > widest)
            widest = red->itemsize[k];
    const int64_t vec = ACCESS_BYTES / widest;
    for (int k = 0; k < red->count; k++) {
        const int64_t size = red->itemsize[k];
        if (kiln__walk_is_number(red, k) || kiln__walk_constant(red, k))
            continue;
        if (red->rank > 1 || keep->rank > 8 || red->stride[k][0] != size)
            return 1;
        if (v->access[red->param[k]] == KILN__ACCESS_COLUMN)
            continue;
        const uint64_t begin = kiln__walk_begin(red, k, operands) + (uint64_t)keep->begin[k];
        uint64_t low_bits = begin;
        int64_t here = (int64_t)(begin / (uint64_t)size % (uint64_t)vec);
        for (int a = 0; a < keep->rank; a++) {
            low_bits |= (uint64_t)keep->stride[k][a];
            here = here * vec + (keep->stride[k][a] / size % vec + vec) % vec;
        }
        if (low_bits % (uint64_t)size != 0 || (phase >= 0 && phase != here))
            return 1;
        phase = here;
        holds |= !red->output[k];
    }
    return holds ? (int)vec : 1;
}

int kiln__walk_bits(const kiln__variant *v, const kiln__walk *keep, const kiln__walk *along,
                    int64_t count)
{
    const int64_t limit = INT32_MAX - (1 << 20);
    if (v->backend == KILN_BACKEND_CPU || kiln__walk_size(keep) > limit / 2 ||
        kiln__walk_size(along) > limit / 2 || count > limit)
        return 64;
    for (int k = 0; k < along->count; k++)
        if (!kiln__walk_is_number(along, k) &&
            kiln__walk_reach(keep, k) + kiln__walk_reach(along, k) > limit)
            return 64;
    return 32;
}

int64_t kiln__walk_size(const kiln__walk *w)
{
    int64_t size = 1;
    for (int a = 0; a < w->rank; a++)
        size *= w->shape[a];
    return size;
}

/* Blocks of a CUDA grid, at most. */
#define GRID_MAX INT64_C(2147483647)

bool kiln__walk_exceeds_grid(const kiln__walk *keep)
{
    const int64_t last = keep->shape[keep->rank - 1];

    return last > 0 && kiln__walk_size(keep) / last * kiln__divide_up(last, 32) > GRID_MAX;
}

int64_t kiln__group_within_grid(int64_t outputs, int64_t group, int64_t block)
{
    if (group > 32 && outputs > GRID_MAX)
        group = 32; /* there are no groups of several warps that are less than a block */
    while (group > 1 && group < block && kiln__divide_up(outputs, block / group) > GRID_MAX)
        group /= 2;
    return group;
}

uint8_t kiln__walk_access(const kiln__walk *inner, int k, bool constant)
{
    const int64_t stride = inner->stride[k][inner->rank - 1];
    if (constant && !inner->written[k])
        return KILN__ACCESS_ONE;
    return stride == inner->itemsize[k]        ? KILN__ACCESS_VECTOR
           : stride == 0 && !inner->written[k] ? KILN__ACCESS_SPLAT
                                               : KILN__ACCESS_STRIDED;
}

static int64_t *steps_of(const kiln__walk *w, int k, kiln__plan *plan)
{
    return kiln__walk_is_number(w, k) ? plan->number_step[w->param[k]] : plan->step[w->param[k]];
}

void kiln__walk_join(const kiln__walk *keep, const kiln__walk *along, kiln__plan *plan)
{
    const kiln__walk *const halves[2] = {keep, along};
    int at = 0;

    plan->variant.keep_rank = (uint8_t)keep->rank;
    plan->variant.rank = (uint8_t)(keep->rank + along->rank);
    for (int h = 0; h < 2; h++) {
        for (int a = 0; a < halves[h]->rank; a++, at++) {
            plan->shape[at] = plan->walk[at] = halves[h]->shape[a];
            for (int k = 0; k < halves[h]->count; k++)
                steps_of(halves[h], k, plan)[at] = halves[h]->stride[k][a];
        }
    }
}

void kiln__walk_widen(const kiln__walk *w, int axis, kiln__plan *plan)
{
    const int64_t vec = plan->variant.vec;

    plan->walk[axis] = kiln__divide_up(plan->walk[axis], vec);
    for (int k = 0; k < w->count; k++)
        steps_of(w, k, plan)[axis] *= vec;
}

void kiln__plan_make(const kiln__plan_request *q, kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;

    memset(v, 0, sizeof *v);
    plan->has_shifts = false;
    plan->part_count = plan->ticket_count = 0;
    plan->shared_bytes = 0;
    plan->leaves_marks = false;
    v->family = q->def->family;
    v->backend = (uint8_t)q->device.backend;
    v->param_count = (uint8_t)q->def->param_count;
    v->vec = v->unroll = 1;
    for (size_t p = 0; p < q->def->param_count; p++) {
        const kiln__operand *o = &q->operands[p];
        v->dtype[p] = (uint8_t)q->dtypes[p];
        if (!o->raw)
            continue;
        v->access[p] = KILN__ACCESS_RAW;
        v->raw_rank[p] = (uint8_t)o->rank;
        v->raw_contiguous[p] = o->contiguous;
    }
    q->def->family->plan(q, plan);
}
