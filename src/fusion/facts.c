/*
 * facts.c - what later passes ask about each lowered node: its users, its cost, the inputs beneath
 * it.
 *
 *     lower > [facts] > stores > rows > order > schedule > text
 *
 * One walk over the nodes, operands first, finds all of it. program.c calls this pass.
 *
 * Test: test_graph_plan.
 */
#include "fusion/build.h"

enum { WEIGHT_MAX = 1 << 20 };

/* What some output is made of, and who uses it. */
void kiln__find_needed(kiln__build *b)
{
    uint32_t *begin = kiln__build_alloc(b, (b->lowered_count + 1) * sizeof *begin);
    uint32_t total = 0;

    b->facts = kiln__build_alloc(b, b->lowered_count * sizeof *b->facts);
    for (uint32_t k = 0; k < b->ir->output_count; k++)
        b->facts[b->outputs[k]].needed = true;
    for (uint32_t id = b->lowered_count; id-- > 1;)
        for (uint32_t k = 0; b->facts[id].needed && k < b->lowered[id].operand_count; k++) {
            b->facts[b->lowered[id].operand[k]].needed = true;
            begin[b->lowered[id].operand[k]]++;
        }
    for (uint32_t id = 1; id <= b->lowered_count; id++) {
        total += begin[id - 1];
        begin[id - 1] = total;
    }
    begin[b->lowered_count] = total;
    b->users = kiln__build_alloc(b, (total + 1) * sizeof *b->users);
    for (uint32_t id = b->lowered_count; id-- > 1;) /* backwards, so that lists rise */
        for (uint32_t k = b->facts[id].needed ? b->lowered[id].operand_count : 0; k-- > 0;)
            b->users[--begin[b->lowered[id].operand[k]]] = id;
    b->user_begin = begin;
}

static int own_weight(const kiln__lowered *n)
{
    if (n->of_numbers) /* the same for all elements: a compiler computes it once */
        return 0;
    if (n->kind == KILN__LOWERED_EXPR)
        return n->loop.calls ? KILN__WEIGHT_CALL : 1;
    if (n->kind == KILN__LOWERED_SNIPPET)
        return kiln__snippet_loops(n->custom->def) ? KILN__WEIGHT_AGAIN + 1 : KILN__WEIGHT_CALL;
    return n->kind == KILN__LOWERED_CAST || n->kind == KILN__LOWERED_GATHER;
}

/* The bit of an argument of the call; the 64th stands for all that follow it. */
static uint64_t input_bit(const kiln__lowered *n)
{
    return n->kind == KILN__LOWERED_LEAF && n->size > 1 ? UINT64_C(1) << (n->arg < 63 ? n->arg : 63)
                                                        : 0;
}

void kiln__find_facts(kiln__build *b, const kiln__store *stores)
{
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        kiln__fact *f = &b->facts[id];
        const bool through = kiln__lowered_computed(n) || n->kind == KILN__LOWERED_VIEW;
        f->weight = own_weight(n);
        f->calls = f->weight >= KILN__WEIGHT_CALL;
        f->loads = n->kind == KILN__LOWERED_LEAF || n->kind == KILN__LOWERED_IOTA ||
                   n->kind == KILN__LOWERED_GATHER || n->kind == KILN__LOWERED_RESHAPED ||
                   n->kind == KILN__LOWERED_JOIN || n->kind == KILN__LOWERED_CUSTOM;
        f->reduces = n->kind == KILN__LOWERED_REDUCE;
        f->arguments = n->kind != KILN__LOWERED_IOTA && n->kind != KILN__LOWERED_REDUCE &&
                       n->kind != KILN__LOWERED_RESHAPED && n->kind != KILN__LOWERED_JOIN &&
                       n->kind != KILN__LOWERED_CUSTOM && n->kind != KILN__LOWERED_STORE &&
                       n->kind != KILN__LOWERED_GATHER;
        f->positions = n->kind == KILN__LOWERED_IOTA || n->kind == KILN__LOWERED_GATHER;
        f->inputs = input_bit(n);
        for (uint32_t k = 0; k < n->operand_count; k++) {
            const kiln__fact *o = &b->facts[n->operand[k]];
            f->positions = f->positions || o->positions;
            if (!through)
                continue;
            f->inputs |= o->inputs;
            if (kiln__lowered_is_table(n, k))
                continue;
            f->loads = f->loads || o->loads;
            f->reduces = f->reduces || o->reduces;
            f->arguments = f->arguments && o->arguments;
            if (f->weight < WEIGHT_MAX && (stores == NULL || !stores[n->operand[k]].stored))
                f->weight += o->weight;
        }
    }
    b->work += b->lowered_count;
}

/* ---- snippets with several results ----------------------------------------------------------- */

void kiln__find_snippets(kiln__build *b)
{
    b->snippets = kiln__build_alloc(b, b->lowered_count * sizeof *b->snippets);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        if (n->kind != KILN__LOWERED_SNIPPET)
            continue;
        kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
        kiln__buf_put(key, (const char *)&n->custom->kernel, sizeof n->custom->kernel);
        kiln__buf_put(key, (const char *)n->operand, n->operand_count * sizeof *n->operand);
        void **same = kiln__build_find(b, KILN__MAP_SNIPPETS, key);
        if (*same == NULL)
            *same = kiln__build_alloc(b, sizeof(kiln__snippet));
        b->snippets[id] = *same;
        kiln__list_add(b, &b->snippets[id]->results, id);
        b->snippets[id]->uses += b->user_begin[id + 1] - b->user_begin[id];
    }
}
