/*
 * size.c - how large kernels may become, and what is stored to keep them smaller.
 *
 *     plan > [size]
 *
 * A kernel takes KILN_PARAM_MAX arrays, and a thread has 128 registers where blocks have 512 threads.
 * What fills registers are values that are used late; how many there are depends on the order that a
 * compiler chooses, so operations and arrays are counted instead. At these bounds the worst
 * expression that we know (27 exponentials, each used twice, in opposite orders) takes 80 registers
 * of float32 and all 128 of float64, with at most one value spilled (NVRTC 13.0, sm_90).
 *
 * Expressions that would be larger are cut: a value is stored, from the leaves up, so that each
 * kernel is about half as large as it may be.
 *
 * Rule: an array that is seen through several views counts for each of them, as each is a parameter;
 *       what is computed beneath a view is computed again for it, and counts again.
 */
#include "codegen/graph/build.h"

enum {
    NODES_MAX = 160,         /* operations of one result */
    LEAVES_MAX = 28,         /* arrays that it reads */
    KERNEL_NODES_MAX = 320,  /* of all results of a kernel */
    KERNEL_LEAVES_MAX = 40
};

_Static_assert(KERNEL_LEAVES_MAX + 2 * KILN__ROOTS_MAX <= KILN_PARAM_MAX,
               "arrays, reductions and results of a kernel fit into its parameters");

/* Counted until it is more than is of interest. */
typedef struct measure {
    int nodes, leaves, nodes_max, leaves_max;
} measure;

static bool is_large(const measure *m)
{
    return m->nodes > m->nodes_max || m->leaves > m->leaves_max;
}

static void measure_below(kiln__build *b, uint32_t id, bool *seen, measure *m, bool root)
{
    const kiln__low *n = &b->lows[id];
    if (seen[id] || is_large(m))
        return;
    seen[id] = true;
    if (n->kind == KILN__LOW_CONST || n->kind == KILN__LOW_IOTA)
        return;
    if (n->kind == KILN__LOW_LENS) {
        const kiln__low *o = &b->lows[kiln__behind(b, id)];
        if (kiln__low_computed(o) && !o->stored)
            measure_below(b, kiln__behind(b, id), kiln__build_seen(b), m, false);
        else
            m->leaves++;
        return;
    }
    if (!kiln__low_computed(n) || (n->stored && !root)) {
        m->leaves++;
        return;
    }
    m->nodes += n->kind == KILN__LOW_SNIPPET ? 1 + (int)n->custom->def->words.count : 1;
    for (uint32_t k = 0; k < n->operand_count; k++)
        measure_below(b, n->operand[k], seen, m, false);
}

/* What a stored value, or a reduction, is computed from. */
static void measure_result(kiln__build *b, uint32_t id, bool *seen, measure *m)
{
    const kiln__low *n = &b->lows[id];
    if (n->kind == KILN__LOW_REDUCE)
        measure_below(b, n->operand[0], seen, m, false);
    else
        measure_below(b, id, seen, m, true);
}

static bool exceeds(kiln__build *b, uint32_t id, int nodes, int leaves)
{
    measure m = {0, 0, nodes, leaves};
    measure_result(b, id, kiln__build_seen(b), &m);
    return is_large(&m);
}

bool kiln__kernel_fits(kiln__build *b, const kiln__plan_kernel *kernel, uint32_t id)
{
    measure m = {0, 0, KERNEL_NODES_MAX, KERNEL_LEAVES_MAX};
    bool *seen = kiln__build_seen(b);
    for (size_t k = 0; k < kernel->member_count; k++)
        measure_result(b, kernel->members[k], seen, &m);
    for (size_t k = 0; k < kernel->root_count; k++)
        measure_result(b, kernel->roots[k], seen, &m);
    if (id != 0)
        measure_result(b, id, seen, &m);
    return !is_large(&m);
}

/* Store the first values, from the leaves up, that are large enough to be worth a kernel. Values are
 * visited operands first, so that each kernel is near the bound. */
static void cut(kiln__build *b)
{
    for (uint32_t id = 1; id < b->low_count; id++) {
        kiln__low *n = &b->lows[id];
        const bool small = !n->of_numbers && ((!n->loads && !n->reduces) || n->weight < NODES_MAX / 8);
        if (!n->needed || !kiln__low_computed(n) || n->stored || n->in_rows || small)
            continue;
        n->stored = n->cut = exceeds(b, id, NODES_MAX / 2, LEAVES_MAX / 2);
    }
}

void kiln__cut_large(kiln__build *b)
{
    for (uint32_t id = 1; id < b->low_count; id++) {
        const kiln__low *n = &b->lows[id];
        if (n->needed && (n->stored || n->kind == KILN__LOW_REDUCE) &&
            exceeds(b, id, NODES_MAX, LEAVES_MAX)) {
            cut(b);
            return;
        }
    }
}
