/*
 * size.c - bounds on the size of kernels, and values that are stored to stay within them.
 *
 *     stores > rows > [size] > order > schedule
 *
 * A kernel takes KILN_PARAM_MAX arrays, and a thread has 128 registers where blocks have 512
 * threads. Values that are used late occupy registers, and how many there are depends on the order
 * that a compiler chooses. So this file counts operations and arrays instead. At these bounds the
 * worst expression that we know (27 exponentials, each used twice, in opposite orders) takes 80
 * registers of float32 and all 128 of float64, with at most one value spilled (NVRTC 13.0, sm_90).
 * A larger expression is cut: values are stored, from the leaves up, so that each kernel has about
 * half of the largest size. rows.c, schedule.c and sink.c ask here whether a kernel may grow.
 *
 * Rule 1: an array that is seen through several views counts for each of them, since each is a
 *         parameter. What is computed beneath a view is computed again for it, and counts again.
 * Rule 2: a value is measured once, when it joins a kernel. A kernel keeps the set of counted
 *         values and the sums. What is computed beneath a view is measured once for all kernels.
 *
 * Test: test_graph_size.
 */
#include "fusion/build.h"

enum {
    NODES_MAX = 160,        /* operations of one result */
    LEAVES_MAX = 28,        /* arrays that it reads */
    KERNEL_NODES_MAX = 320, /* of all results of a kernel */
    KERNEL_LEAVES_MAX = 40
};

_Static_assert(KERNEL_LEAVES_MAX + 2 * KILN__ROOTS_MAX <= KILN_PARAM_MAX,
               "arrays, reductions and results of a kernel fit into its parameters");

/* A walk that counts until there is more than is of interest. */
typedef struct walk {
    kiln__build *b;
    const kiln__set *counted; /* what a kernel has counted already */
    kiln__measure *sum;
    int nodes_max, leaves_max;
} walk;

static bool is_large(const walk *w)
{
    return w->sum->nodes > w->nodes_max || w->sum->leaves > w->leaves_max;
}

static void note_block(kiln__measure *sum, uint32_t id)
{
    const uint32_t block = id / 32 % (64 * KILN__BLOCK_WORDS);
    sum->blocks[block / 64] |= UINT64_C(1) << block % 64;
}

static bool are_apart(const kiln__measure *x, const kiln__measure *y)
{
    uint64_t common = 0;
    for (int k = 0; k < KILN__BLOCK_WORDS; k++)
        common |= x->blocks[k] & y->blocks[k];
    return common == 0;
}

static void measure_below(walk *w, uint32_t id, bool root)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[id];
    if (is_large(w) || !kiln__mark(b, &b->marks, id) || kiln__set_has(w->counted, id))
        return;
    kiln__list_add(b, &b->size.measured, id);
    if (n->kind == KILN__LOWERED_CONST || n->kind == KILN__LOWERED_IOTA)
        return;
    if (n->kind == KILN__LOWERED_VIEW) {
        note_block(w->sum, id);
        w->sum->nodes += b->size.beneath[id][0];
        w->sum->leaves += b->size.beneath[id][1];
        return;
    }
    if (!kiln__lowered_computed(n) || (b->stores[id].stored && !root)) {
        w->sum->leaves++;
        if (n->kind == KILN__LOWERED_LEAF || n->kind == KILN__LOWERED_SCALAR)
            return;
        note_block(w->sum, id);
        w->sum->made++;
        return;
    }
    note_block(w->sum, id);
    w->sum->leaves += n->kind == KILN__LOWERED_GATHER ? 2 : 0; /* the report, and the array twice */
    w->sum->nodes += n->kind == KILN__LOWERED_SNIPPET ? 1 + (int)n->custom->def->words.count : 1;
    for (uint32_t k = 0; k < n->operand_count; k++)
        measure_below(w, n->operand[k], false);
}

/* Add to `sum` what a stored value, or a reduction, is computed from, but for what is in `counted`.
 * What was counted is in b->size.measured. False when that is too much. */
static bool measure(kiln__build *b, const kiln__set *counted, kiln__measure *sum, uint32_t id,
                    int nodes_max, int leaves_max)
{
    walk w = {b, counted, sum, nodes_max, leaves_max};
    const kiln__lowered *n = &b->lowered[id];

    kiln__marks_clear(b, &b->marks);
    b->size.measured.count = 0;
    if (n->kind == KILN__LOWERED_REDUCE)
        measure_below(&w, n->operand[0], false);
    else
        measure_below(&w, id, true);
    return !is_large(&w);
}

static const kiln__set nothing = {NULL, 0, 0};

/* Measure what a kernel has to compute, or to read, when it uses a view. */
static void measure_view(kiln__build *b, uint32_t view)
{
    const uint32_t behind = kiln__behind(b, view);
    kiln__measure sum = {0, 0, 0, {0}};
    walk w = {b, &nothing, &sum, KERNEL_NODES_MAX, KERNEL_LEAVES_MAX};

    kiln__marks_clear(b, &b->marks);
    b->size.measured.count = 0;
    if (kiln__lowered_computed(&b->lowered[behind]) && !b->stores[behind].stored)
        measure_below(&w, behind, false);
    else
        sum.leaves = 1;
    b->size.beneath[view][0] = sum.nodes;
    b->size.beneath[view][1] = sum.leaves;
}

void kiln__measure_views(kiln__build *b)
{
    if (b->size.beneath == NULL)
        b->size.beneath = kiln__build_alloc(b, b->lowered_count * sizeof *b->size.beneath);
    for (uint32_t id = 1; id < b->lowered_count; id++)
        if (b->facts[id].needed && b->lowered[id].kind == KILN__LOWERED_VIEW)
            measure_view(b, id);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const kiln__measure *measure_alone(kiln__build *b, uint32_t id)
{
    if (b->size.alone == NULL)
        b->size.alone = kiln__build_alloc(b, b->lowered_count * sizeof(*b->size.alone));
    if (b->size.alone[id] == NULL) {
        b->size.alone[id] = kiln__build_alloc(b, sizeof(**b->size.alone));
        (void)measure(b, &nothing, b->size.alone[id], id, KERNEL_NODES_MAX, KERNEL_LEAVES_MAX);
    }
    return b->size.alone[id];
}

bool kiln__kernel_fits(kiln__build *b, const kiln__plan_kernel *kernel, uint32_t id)
{
    const kiln__measure *alone = measure_alone(b, id);
    kiln__measure sum = kernel->size;
    b->work++;
    if ((alone->nodes + sum.nodes > KERNEL_NODES_MAX ||
         alone->made + sum.made > KERNEL_LEAVES_MAX) &&
        are_apart(alone, &sum))
        return false;
    return measure(b, &kernel->counted, &sum, id, KERNEL_NODES_MAX, KERNEL_LEAVES_MAX);
}

bool kiln__kernel_grow(kiln__build *b, kiln__plan_kernel *kernel, uint32_t id)
{
    const bool fits =
        measure(b, &kernel->counted, &kernel->size, id, KERNEL_NODES_MAX, KERNEL_LEAVES_MAX);
    for (size_t k = 0; k < b->size.measured.count; k++)
        (void)kiln__set_add(b, &kernel->counted, b->size.measured.ids[k]);
    return fits;
}

void kiln__kernel_measure(kiln__build *b, kiln__plan_kernel *kernel)
{
    kernel->counted = (kiln__set){NULL, 0, 0};
    kernel->size = (kiln__measure){0, 0, 0, {0}};
    for (size_t k = 0; k < kernel->members.count; k++)
        (void)kiln__kernel_grow(b, kernel, kernel->members.ids[k]);
    for (size_t k = 0; k < kernel->roots.count; k++)
        (void)kiln__kernel_grow(b, kernel, kernel->roots.ids[k]);
}

/* ---- cutting --------------------------------------------------------------------------------- */

static bool exceeds(kiln__build *b, uint32_t id, int nodes, int leaves)
{
    kiln__measure sum = {0, 0, 0, {0}};
    return !measure(b, &nothing, &sum, id, nodes, leaves);
}

/* Store the first values, from the leaves up, that are large enough to be worth a kernel. Values
 * are visited operands first, so that each kernel is near the bound. */
static void cut(kiln__build *b)
{
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        kiln__lowered *n = &b->lowered[id];
        const kiln__fact *f = &b->facts[id];
        const bool small =
            !n->of_numbers && ((!f->loads && !f->reduces) || f->weight < NODES_MAX / 8);
        if (b->facts[id].needed && n->kind == KILN__LOWERED_VIEW)
            measure_view(b, id);
        if (!b->facts[id].needed || !kiln__lowered_computed(n) || b->stores[id].stored ||
            b->stores[id].in_rows || small)
            continue;
        b->stores[id].stored = b->stores[id].cut = exceeds(b, id, NODES_MAX / 2, LEAVES_MAX / 2);
    }
}

void kiln__cut_large(kiln__build *b)
{
    kiln__measure_views(b);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        if (b->facts[id].needed && (b->stores[id].stored || n->kind == KILN__LOWERED_REDUCE) &&
            exceeds(b, id, NODES_MAX, LEAVES_MAX)) {
            cut(b);
            return;
        }
    }
}
