/*
 * states.c - what the reductions of one pass accumulate.
 *
 *     plan > text > [states]
 *
 * Reductions of one pass are members of it. Each brings the state that its row of the table of named
 * reductions keeps; members whose states are the same - the same elements, entered and combined by
 * the same texts - keep one between them: a sum and a mean, a variance and its root. Some results
 * can be had from another's state though they would keep a simpler one by themselves (a mean stands
 * in a variance's moments, a minimum beside its position): the table has such a form of them, which
 * is taken when the other is there.
 *
 * Rule: which states there are depends on lows alone, so plans and texts agree about them.
 */
#include "codegen/graph/states.h"

static const char *table_text(kiln__build *b, const kiln__reduce_row *row, kiln_dtype from,
                              kiln__snippet_kind kind)
{
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__reduce_text(row, from, kind, text);
    return kiln__build_text(b, text);
}

static void read_texts(kiln__build *b, const kiln__reduce_row *row, kiln__member *m)
{
    m->type = table_text(b, row, m->from, KILN__SNIPPET_REDUCE_TYPE);
    m->map = table_text(b, row, m->from, KILN__SNIPPET_MAP);
    m->reduce = table_text(b, row, m->from, KILN__SNIPPET_REDUCE);
    m->post = table_text(b, row, m->from, KILN__SNIPPET_POST);
    m->identity = table_text(b, row, m->from, KILN__SNIPPET_IDENTITY);
}

static bool same_state(const kiln__member *m, const kiln__member *o)
{
    return m->low->operand[0] == o->low->operand[0] && strcmp(m->type, o->type) == 0 &&
           strcmp(m->map, o->map) == 0 && strcmp(m->reduce, o->reduce) == 0 &&
           strcmp(m->identity, o->identity) == 0;
}

/* Take the form that reads another member's state, when that member is there. */
static void look_beside(kiln__build *b, kiln__member *members, size_t count, size_t at)
{
    kiln__member *m = &members[at], form = *m;
    const kiln__reduce_row *row = kiln__reduce_row_beside(m->low->op, m->from);
    if (row == NULL)
        return;
    read_texts(b, row, &form);
    for (size_t o = 0; o < count; o++)
        if (o != at && same_state(&form, &members[o])) {
            *m = form;
            return;
        }
}

kiln__member *kiln__read_members(kiln__build *b, const uint32_t *ids, size_t count)
{
    kiln__member *members = kiln__build_alloc(b, count * sizeof *members);
    size_t states = 0;
    for (size_t m = 0; m < count; m++) {
        kiln__member *at = &members[m];
        at->id = ids[m];
        at->low = &b->lows[at->id];
        at->from = b->lows[at->low->operand[0]].dtype;
        read_texts(b, kiln__reduce_row_find(at->low->op, at->from), at);
    }
    for (size_t m = 0; m < count; m++)
        look_beside(b, members, count, m);
    for (size_t m = 0; m < count; m++) {
        size_t o = 0;
        while (o < m && !same_state(&members[m], &members[o]))
            o++;
        members[m].first = o == m;
        members[m].state = o == m ? states++ : members[o].state;
    }
    return members;
}

size_t kiln__state_count(const kiln__member *members, size_t count)
{
    size_t states = 0;
    for (size_t m = 0; m < count; m++)
        states += members[m].first;
    return states;
}

/* Bytes of a state, from above. */
static size_t state_bytes(const char *type)
{
    static const struct {
        const char *begins;
        size_t numbers;
    } structs[] = {{"kiln_complex_moments<float>", 4}, {"kiln_complex_moments<", 8},
                 {"kiln_moments<float>", 3},         {"kiln_moments<", 8},
                 {"kiln_", 2},                       {"", 1}};
    const bool pair = strstr(type, "complex<") != NULL && strstr(type, "double") != NULL;
    size_t k = 0;
    while (strncmp(type, structs[k].begins, strlen(structs[k].begins)) != 0)
        k++;
    return structs[k].numbers * (pair ? 16 : 8);
}

bool kiln__fits_pass(kiln__build *b, const uint32_t *ids, size_t count, size_t states_max)
{
    const kiln__member *members = kiln__read_members(b, ids, count);
    size_t bytes = 0;
    for (size_t m = 0; m < count; m++)
        bytes += members[m].first ? state_bytes(members[m].type) : 0;
    return kiln__state_count(members, count) <= states_max && bytes <= KILN__PASS_BYTES_MAX;
}
