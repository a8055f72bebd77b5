/*
 * stores.c - which values are kept in memory.
 *
 *     lower > facts > [stores] > rows > size > order
 *
 * Memory bounds most kernels, and arithmetic is nearly free. So a value is computed where it is
 * used, again if necessary, and stored only
 *
 * - if it is an output, or the result of a reduction;
 * - before it is broadcast to a larger space, if it came from a reduction (whose own kernel then
 *   finishes it) or costs much (a function of a row's vector, broadcast to all rows);
 * - if a kernel would become too large otherwise (size.c decides this).
 *
 * program.c calls this pass. Test: test_graph_plan.
 */
#include "fusion/build.h"

enum {
    SPREAD_WEIGHT = 10,       /* the cost from which a value is stored before it is spread ... */
    SPREAD_ELEMENTS = 1 << 16 /* ... over this many more elements */
};

void kiln__store_outputs(kiln__build *b)
{
    b->stores = kiln__build_alloc(b, b->lowered_count * sizeof *b->stores);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        kiln__lowered *n = &b->lowered[id];
        if (!b->facts[id].needed)
            continue;
        if (n->kind == KILN__LOWERED_STORE || (n->output >= 0 && kiln__lowered_computed(n)))
            b->stores[id].stored = true;
        if (n->kind == KILN__LOWERED_SNIPPET && kiln__snippet_loops(n->custom->def) &&
            b->snippets[id]->uses > 1)
            b->stores[id].stored = true;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            if (n->kind != KILN__LOWERED_CUSTOM && !kiln__lowered_is_table(n, k))
                continue;
            kiln__lowered *o = &b->lowered[kiln__behind(b, n->operand[k])];
            b->stores[o->id].stored = b->stores[o->id].stored || kiln__lowered_computed(o);
        }
    }
}

/* Mark what only row programs compute: they spread a row's results themselves. */
static void mark_row_uses(kiln__build *b)
{
    for (uint32_t id = 1; id < b->lowered_count; id++)
        b->stores[id].in_rows = b->row_parts[id].rows != NULL;
    for (uint32_t id = b->lowered_count; id-- > 1;) {
        const kiln__lowered *n = &b->lowered[id];
        if (!b->facts[id].needed || !b->stores[id].in_rows)
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            kiln__lowered *o = &b->lowered[n->operand[k]];
            if ((kiln__lowered_computed(o) || o->kind == KILN__LOWERED_VIEW) &&
                !b->stores[o->id].stored)
                b->stores[o->id].in_rows = true;
        }
    }
}

/* Whether to store `v`, which is used at each of so many elements and is smaller. */
static bool worth_storing(const kiln__build *b, const kiln__lowered *v, int64_t elements)
{
    const kiln__fact *f = &b->facts[v->id];
    if (!kiln__lowered_computed(v) || b->stores[v->id].stored || f->weight == 0 ||
        elements < 2 * v->size)
        return false;
    if (f->reduces && !f->loads)
        return true;
    return (f->loads || f->reduces) && f->weight >= SPREAD_WEIGHT &&
           elements - v->size >= SPREAD_ELEMENTS;
}

void kiln__store_spread(kiln__build *b)
{
    mark_row_uses(b);
    for (uint32_t id = b->lowered_count; id-- > 1;) {
        const kiln__lowered *n = &b->lowered[id];
        if (!b->facts[id].needed || b->stores[id].in_rows ||
            (!kiln__lowered_computed(n) && n->kind != KILN__LOWERED_REDUCE))
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            kiln__lowered *v = &b->lowered[kiln__behind(b, n->operand[k])];
            int64_t elements = n->size;
            if (n->kind == KILN__LOWERED_REDUCE)
                elements = b->lowered[n->operand[k]].size;
            if (worth_storing(b, v, elements))
                b->stores[v->id].stored = true;
        }
    }
}
