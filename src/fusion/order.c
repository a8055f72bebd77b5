/*
 * order.c - the order in which kernels can compute the stored values, operands first.
 *
 *     stores > rows > size > [order] > schedule
 *
 * A *task* is a stored value, a reduction, a result of a user's kernel, or a row program with all
 * that it computes. Each task is put after all tasks that it reads. So schedule.c needs no
 * recursion: whatever a task reads has its kernel already.
 *
 * Test: test_graph_plan.
 */
#include "fusion/build.h"

/* Walks that were at a lowered node. */
enum { SEEN_READ = 1, SEEN_REDUCED = 2, SEEN_RESULTS = 4, PLACED = 8 };

enum { LEAVES_KNOWN = 8 };

/* The different values at the leaves beneath a lowered node, as far as they are few. */
typedef struct leaves {
    uint32_t id[LEAVES_KNOWN];
    uint8_t count;
    bool more; /* than are listed */
} leaves;

typedef struct order {
    kiln__build *b;
    uint8_t *seen; /* by lowered node */
    leaves *leaves;
    kiln__list tasks;
} order;

/* ---- what a reduction computes again --------------------------------------------------------- */

static void find_leaves(order *o)
{
    const kiln__build *b = o->b;
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        leaves *mine = &o->leaves[id];
        if (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n)) {
            mine->count = 1;
            mine->id[0] = id;
            continue;
        }
        for (uint32_t k = 0; k < n->operand_count; k++) {
            const leaves *theirs = &o->leaves[n->operand[k]];
            mine->more = mine->more || theirs->more;
            for (int t = 0; t < theirs->count && !mine->more; t++) {
                int at = 0;
                while (at < mine->count && mine->id[at] != theirs->id[t])
                    at++;
                if (at == LEAVES_KNOWN)
                    mine->more = true;
                else if (at == mine->count)
                    mine->id[mine->count++] = theirs->id[t];
            }
        }
    }
}

static int64_t bytes_of(const kiln__lowered *n)
{
    return n->size * (int64_t)kiln_dtype_size(n->dtype);
}

/* Bytes of all values at the leaves beneath a lowered node, each counted once, until they are more
 * than `most`. */
static void add_leaf_bytes(order *o, uint32_t id, int64_t most, int64_t *bytes)
{
    kiln__build *b = o->b;
    const kiln__lowered *n = &b->lowered[id];
    if (*bytes > most || !kiln__mark(b, &b->marks, id))
        return;
    if (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n))
        *bytes += bytes_of(n);
    else
        for (uint32_t k = 0; k < n->operand_count; k++)
            add_leaf_bytes(o, n->operand[k], most, bytes);
}

/* Whether a reduction computes an output for itself rather than wait for it: when that reads no
 * more than the output has bytes. */
static bool computed_again(order *o, uint32_t id)
{
    kiln__build *b = o->b;
    const kiln__lowered *n = &b->lowered[id];
    const leaves *few = &o->leaves[id];
    const int64_t most = bytes_of(n);
    int64_t bytes = 0;

    if (n->output < 0 || n->kind == KILN__LOWERED_STORE ||
        b->facts[id].weight > KILN__WEIGHT_AGAIN || b->facts[id].reduces)
        return false;
    for (int k = 0; k < few->count; k++)
        bytes += bytes_of(&b->lowered[few->id[k]]);
    if (bytes <= most && few->more) {
        bytes = 0;
        kiln__marks_clear(b, &b->marks);
        add_leaf_bytes(o, id, most, &bytes);
    }
    return bytes <= most;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void place(order *o, uint32_t id);

/* Mark a lowered node as visited by a walk. Returns whether it was visited before. */
static bool was_here(order *o, uint32_t id, int walk)
{
    const bool seen = (o->seen[id] & walk) != 0;
    o->seen[id] |= (uint8_t)walk;
    o->b->work++;
    return seen;
}

/* Place all tasks that must come before a kernel that uses `id`: the task itself when `id` is one,
 * and otherwise the tasks that it is computed from. A reduction computes some outputs again. */
static void place_read(order *o, uint32_t id, bool reduction)
{
    const kiln__lowered *n = &o->b->lowered[id];
    if (was_here(o, id, reduction ? SEEN_REDUCED : SEEN_READ))
        return;
    if (n->kind == KILN__LOWERED_RESHAPED || n->kind == KILN__LOWERED_JOIN) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            if (o->b->lowered[n->operand[k]].kind == KILN__LOWERED_JOIN)
                place_read(o, n->operand[k], reduction);
            else
                place(o, n->operand[k]);
    } else if (n->kind == KILN__LOWERED_REDUCE || n->kind == KILN__LOWERED_CUSTOM ||
               (o->b->stores[id].stored && !(reduction && o->b->tasks[id].again)))
        place(o, id);
    else
        for (uint32_t k = 0; k < n->operand_count; k++)
            place_read(o, n->operand[k], reduction && !kiln__lowered_is_table(n, k));
}

/* Place the reductions first that an unstored expression is computed from, since the kernel of one
 * of them may compute it as its epilogue. */
static void place_results(order *o, uint32_t id, bool root)
{
    const kiln__lowered *n = &o->b->lowered[id];
    if (was_here(o, id, SEEN_RESULTS) && !root)
        return;
    if ((n->kind == KILN__LOWERED_REDUCE && o->b->row_parts[id].rows == NULL) ||
        (kiln__lowered_computed(n) && o->b->facts[id].reduces && o->b->stores[id].stored &&
         !root)) {
        place(o, id);
        return;
    }
    if (!o->b->facts[id].reduces || (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n)))
        return;
    for (uint32_t k = 0; k < n->operand_count; k++)
        place_results(o, n->operand[k], false);
}

/* Everything that a row program reads: what is beneath its members and not of it. */
static void place_outside(order *o, const kiln__row_kernel *row_program, uint32_t id,
                          kiln__set *seen)
{
    kiln__build *b = o->b;
    const kiln__lowered *n = &b->lowered[id];
    if (!kiln__set_add(b, seen, id))
        return;
    if (b->row_parts[id].rows != row_program && !kiln__set_has(&row_program->inside, id)) {
        place_read(o, id, false);
        return;
    }
    for (uint32_t k = 0; k < n->operand_count; k++)
        place_outside(o, row_program, n->operand[k], seen);
}

static void place_rows(order *o, kiln__row_kernel *row_program)
{
    kiln__set seen = {NULL, 0, 0};
    if (row_program->busy)
        kiln__build_fail(o->b, 0, KILN_ERR_INTERNAL, "a row program depends on itself");
    row_program->busy = true;
    for (size_t k = 0; k < row_program->lowered.count; k++)
        place_outside(o, row_program, row_program->lowered.ids[k], &seen);
    for (size_t k = 0; k < row_program->lowered.count; k++)
        o->seen[row_program->lowered.ids[k]] |= PLACED;
}

static void place(order *o, uint32_t id)
{
    kiln__build *b = o->b;
    const kiln__lowered *n = &b->lowered[id];
    if (o->seen[id] & PLACED)
        return;
    if (b->row_parts[id].rows != NULL) {
        place_rows(o, b->row_parts[id].rows);
    } else {
        if (b->stores[id].stored && kiln__lowered_can_be_epilogue(n))
            place_results(o, id, true);
        for (uint32_t k = 0; k < n->operand_count; k++)
            place_read(o, n->operand[k], n->kind == KILN__LOWERED_REDUCE);
        o->seen[id] |= PLACED;
    }
    kiln__list_add(b, &o->tasks, id);
}

kiln__list kiln__order_tasks(kiln__build *b)
{
    order o = {.b = b};
    o.seen = kiln__build_alloc(b, b->lowered_count * sizeof *o.seen);
    o.leaves = kiln__build_alloc(b, b->lowered_count * sizeof *o.leaves);
    b->tasks = kiln__build_alloc(b, b->lowered_count * sizeof *b->tasks);
    find_leaves(&o);
    for (uint32_t id = 1; id < b->lowered_count; id++)
        if (b->facts[id].needed && b->stores[id].stored)
            b->tasks[id].again = computed_again(&o, id);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        if (b->facts[id].needed && (b->stores[id].stored || n->kind == KILN__LOWERED_REDUCE ||
                                    n->kind == KILN__LOWERED_CUSTOM))
            place(&o, id);
    }
    return o.tasks;
}
