/*
 * states.c - the accumulators of the reductions that share one pass.
 *
 *     program, rows, schedule, text_reduce, text_rows > [states]
 *
 * The reductions of one pass are its *members*. Each needs a *state*, the accumulator of its row of
 * the table of named reductions. Members with the same state (the same elements, entered and
 * combined by the same texts) share it: a sum and a mean, a variance and its root. Some results can
 * also be read from another's state (a mean from a variance's moments, a minimum from the state
 * that holds its position too). The table has such a form for them, which is used if that state is
 * there.
 *
 * Rule: the states depend on lowered nodes alone, so that plans and texts agree about them.
 *
 * Test: test_graph_states.
 */
#include "fusion/states.h"

/* ---- forms ----------------------------------------------------------------------------------- */

static const char *table_text(kiln__build *b, const kiln__form *form, kiln__snippet_kind kind)
{
    const kiln__reduce_form call = {.out = KILN_DTYPE_NONE, .op = form->op};
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__reduce_text(form->row, form->from, &call, kind, text);
    return kiln__build_text(b, text);
}

static bool same_texts(const kiln__form *m, const kiln__form *o)
{
    return strcmp(m->type, o->type) == 0 && strcmp(m->map, o->map) == 0 &&
           strcmp(m->reduce, o->reduce) == 0 && strcmp(m->identity, o->identity) == 0;
}

/* A row of the table for elements of one dtype, read once for all reductions; NULL for no row. */
static const kiln__form *form_of(kiln__build *b, const kiln__reduce_row *row, int op,
                                 kiln_dtype from)
{
    if (row == NULL)
        return NULL;
    for (const kiln__form *f = b->all_forms; f != NULL; f = f->next)
        if (f->row == row && f->op == op && f->from == from)
            return f;
    kiln__form *made = kiln__build_alloc(b, sizeof *made);
    made->row = row;
    made->op = op;
    made->from = from;
    made->type = table_text(b, made, KILN__SNIPPET_REDUCE_TYPE);
    made->map = table_text(b, made, KILN__SNIPPET_MAP);
    made->reduce = table_text(b, made, KILN__SNIPPET_REDUCE);
    made->post = table_text(b, made, KILN__SNIPPET_POST);
    made->identity = table_text(b, made, KILN__SNIPPET_IDENTITY);
    made->bytes = (size_t)kiln__reduce_part_bytes(row, op, from);
    made->state = made;
    for (const kiln__form *f = b->all_forms; f != NULL; f = f->next)
        if (same_texts(f, made))
            made->state = f->state;
    made->next = b->all_forms;
    b->all_forms = made;
    return made;
}

void kiln__find_forms(kiln__build *b)
{
    b->forms = kiln__build_alloc(b, b->lowered_count * sizeof *b->forms);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        if (!b->facts[id].needed || n->kind != KILN__LOWERED_REDUCE)
            continue;
        const kiln_dtype from = b->lowered[n->operand[0]].dtype;
        b->forms[id].alone = form_of(b, kiln__reduce_row_find(n->op, from), n->op, from);
        b->forms[id].shared = form_of(b, kiln__reduce_row_beside(n->op, from), n->op, from);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

/* The elements that a reduction reads. 16-bit floats and the float32 that they are converted to are the same: texts of
 * one state compute with float32 in either case. */
static uint32_t elements_of(const kiln__build *b, const kiln__lowered *reduction)
{
    const kiln__lowered *n = &b->lowered[reduction->operand[0]];
    return n->kind == KILN__LOWERED_CAST && n->dtype == KILN_FLOAT32 &&
                   kiln__is_narrow(b->lowered[n->operand[0]].dtype)
               ? n->operand[0]
               : reduction->operand[0];
}

static bool same_state(const kiln__build *b, const kiln__lowered *m, const kiln__form *form,
                       const kiln__member *o)
{
    return form->state == o->form->state && elements_of(b, m) == elements_of(b, o->low);
}

/* Take the form that reads another member's state, when that member is there. */
static void use_shared_form(const kiln__build *b, kiln__member *members, size_t count, size_t at)
{
    const kiln__lowered *n = members[at].low;
    const kiln__form *const shared = b->forms[members[at].id].shared;
    for (size_t o = 0; shared != NULL && o < count; o++)
        if (o != at && same_state(b, n, shared, &members[o])) {
            members[at].form = shared;
            return;
        }
}

/* Returns how many states there are. */
static size_t read_members(const kiln__build *b, const uint32_t *ids, size_t count,
                           kiln__member *members)
{
    size_t states = 0;
    for (size_t m = 0; m < count; m++)
        members[m] = (kiln__member){
            .low = &b->lowered[ids[m]], .id = ids[m], .form = b->forms[ids[m]].alone};
    for (size_t m = 0; m < count; m++)
        use_shared_form(b, members, count, m);
    for (size_t m = 0; m < count; m++) {
        size_t o = 0;
        while (o < m && !same_state(b, members[m].low, members[m].form, &members[o]))
            o++;
        members[m].first = o == m;
        members[m].state = o == m ? states++ : members[o].state;
    }
    return states;
}

const kiln__member *kiln__read_members(kiln__build *b, const uint32_t *ids, size_t count)
{
    kiln__member *members = kiln__build_alloc(b, count * sizeof *members);
    (void)read_members(b, ids, count, members);
    return members;
}

size_t kiln__state_count(const kiln__member *members, size_t count)
{
    size_t states = 0;
    for (size_t m = 0; m < count; m++)
        states += members[m].first;
    return states;
}

size_t kiln__state_bytes(const kiln__member *members, size_t count)
{
    size_t bytes = 0;
    for (size_t m = 0; m < count; m++)
        bytes += members[m].first ? members[m].form->bytes : 0;
    return bytes;
}

size_t kiln__pass_states(const kiln__build *b, const uint32_t *ids, size_t count)
{
    kiln__member members[KILN__MEMBERS_MAX];
    const size_t states = read_members(b, ids, count, members);
    return kiln__state_bytes(members, count) <= KILN__PASS_BYTES_MAX ? states : SIZE_MAX;
}
