/*
 * text_reduce.c - the definition of a reduction, with the operations before and behind it.
 *
 *     write, text_rows > [text_reduce > text, states]
 *
 * `map` holds the statements that compute the reduced elements, `post` those that follow from the
 * results. Several reductions can share one pass. Their states (states.c) are then members of a
 * struct, and their texts (rows of the table of named reductions) are lambdas, in which `a`, `b`
 * and `y` mean what the table means by them:
 *
 *     r.v0 = [](const float &a, const float &b) -> float { return (float)(a + b); }(a.v0, b.v0);
 *
 * Tests: test_graph_reduce, test_graph_states.
 */
#include "fusion/write.h"

/* Write a map with `name`, which may be any expression, in place of `x`. With `b` NULL nothing is
 * written. Returns whether the map mentions T, the type of the elements. */
static bool put_map_of(kiln__buf *b, const char *map, const char *name)
{
    bool needs_type = false;
    for (const char *c = map; *c != '\0';) {
        size_t bytes = 0;
        while (kiln__is_word_byte(c[bytes]))
            bytes++;
        needs_type = needs_type || (bytes == 1 && *c == 'T');
        if (b != NULL && bytes == 1 && *c == 'x')
            kiln__buf_puts(b, name);
        else if (b != NULL)
            kiln__buf_put(b, c, bytes == 0 ? 1 : bytes);
        c += bytes == 0 ? 1 : bytes;
    }
    return needs_type;
}

/* Whether a map mentions its element once and never its type. The expression that computes the
 * element can then be written in the element's place. */
static bool takes_any(const char *map)
{
    size_t times = 0, bytes = 0;
    for (const char *c = map; *c != '\0'; c += bytes == 0 ? 1 : bytes) {
        for (bytes = 0; kiln__is_word_byte(c[bytes]);)
            bytes++;
        times += bytes == 1 && *c == 'x';
    }
    return times == 1 && !put_map_of(NULL, map, "");
}

/* Write the element of a member in the form in which it is reduced. */
static void put_entry(kiln__buf *b, const kiln__member *m, const char *element)
{
    const char *from = kiln_dtype_ctype(m->form->from);
    if (strcmp(m->form->map, "x") == 0 ||
        (kiln__is_identifier(element) && !put_map_of(NULL, m->form->map, element))) {
        kiln__buf_printf(b, "(%s)(", m->form->type);
        (void)put_map_of(b, m->form->map, element);
        kiln__buf_puts(b, ")");
        return;
    }
    kiln__buf_printf(b, "[&](const %s x) -> %s { typedef %s T; return (%s)(%s); }(%s)", from,
                     m->form->type, from, m->form->type, m->form->map, element);
}

/* Whether the one accumulator of a pass is given elements as the table of reductions maps them:
 * that row's batches are then those of the pass. */
static bool maps_as_row(const kiln__member *members, size_t count, const char *statements,
                        const char *element)
{
    const char *map = members[0].form->map;

    if (kiln__state_count(members, count) > 1)
        return false;
    return statements[0] == '\0' ? kiln__is_identifier(element) && !put_map_of(NULL, map, element)
                                 : takes_any(map);
}

static void put_map(kiln__build *build, kiln__buf *text, const kiln__member *members, size_t count,
                    const char *type, const char *statements, const char *const *elements)
{
    const bool one = kiln__state_count(members, count) == 1;
    const bool as_row = maps_as_row(members, count, statements, elements[0]);

    if (as_row && statements[0] == '\0') {
        (void)put_map_of(text, members[0].form->map, elements[0]); /* as users write it */
        return;
    }
    if (as_row) {
        kiln__buf_printf(text, "[&]() -> %s {\n%sreturn %s;\n}()",
                         kiln_dtype_ctype(members[0].form->from), statements, elements[0]);
        const char *element = kiln__build_text(build, text);
        (void)put_map_of(text, members[0].form->map, element);
        return;
    }
    kiln__buf_printf(text, "[&]() -> %s {\n%s", type, statements);
    if (one) {
        kiln__buf_puts(text, "return ");
        put_entry(text, &members[0], elements[0]);
        kiln__buf_puts(text, ";\n}()");
        return;
    }
    kiln__buf_printf(text, "%s r;\n", type);
    for (size_t m = 0; m < count; m++) {
        if (!members[m].first)
            continue;
        kiln__buf_printf(text, "r.v%zu = ", members[m].state);
        put_entry(text, &members[m], elements[m]);
        kiln__buf_puts(text, ";\n");
    }
    kiln__buf_puts(text, "return r;\n}()");
}

static void put_struct(kiln__buf *text, const kiln__member *members, size_t count,
                       const char *struct_name)
{
    kiln__buf_printf(text, "struct %s {\n", struct_name);
    for (size_t m = 0; m < count; m++)
        if (members[m].first)
            kiln__buf_printf(text, "    %s v%zu;\n", members[m].form->type, members[m].state);
    kiln__buf_puts(text, "};\n");
}

static void put_combination(kiln__buf *text, const kiln__member *members, size_t count,
                            const char *struct_name)
{
    kiln__buf_printf(text, "[&]() -> %s {\n%s r;\n", struct_name, struct_name);
    for (size_t m = 0; m < count; m++) {
        const kiln__member *at = &members[m];
        if (at->first)
            kiln__buf_printf(text,
                             "r.v%zu = [](const %s &a, const %s &b) -> %s { return (%s)(%s); }"
                             "(a.v%zu, b.v%zu);\n",
                             at->state, at->form->type, at->form->type, at->form->type,
                             at->form->type, at->form->reduce, at->state, at->state);
    }
    kiln__buf_puts(text, "return r;\n}()");
}

static void put_identity(kiln__buf *text, const kiln__member *members, size_t count,
                         const char *struct_name)
{
    kiln__buf_printf(text, "%s{", struct_name);
    for (size_t m = 0; m < count; m++)
        if (members[m].first)
            kiln__buf_printf(text, "%s(%s)(%s)", m > 0 ? ", " : "", members[m].form->type,
                             members[m].form->identity);
    kiln__buf_puts(text, "}");
}

/* Which batches the pass allows. With a snippet of the user's in it nothing is stated: codegen
 * reads such texts. */
static kiln__batching batching_of(const kiln__writer *w, const kiln__member *members, size_t count,
                                  const char *statements, const char *element)
{
    const kiln__batching none = {.stated = w->snippets.count == 0};
    kiln__batching batching = kiln__reduce_batching(members[0].form->row);
    const kiln_dtype from = members[0].form->from;

    if (!none.stated || w->numbered || !maps_as_row(members, count, statements, element))
        return none;
    if (statements[0] == '\0')
        return batching;
    if (batching.batch == KILN__BATCH_SUM &&
        (kiln_dtype_size(from) > 2 || strchr("biu", kiln_dtype_kind(from)) == NULL))
        return none;
    batching.mapped = true;
    batching.element = false;
    return batching;
}

kiln__pass kiln__write_pass(kiln__writer *w, const kiln__member *members, size_t count,
                            const char *struct_name, const char *statements,
                            const char *const *elements)
{
    kiln__buf *text = &w->b->scratch[KILN__BUF_OTHER];
    kiln__pass pass = {.type = members[0].form->type,
                       .reduce = members[0].form->reduce,
                       .identity = members[0].form->identity};

    if (kiln__state_count(members, count) > 1) {
        put_struct(text, members, count, struct_name);
        pass.declaration = kiln__build_text(w->b, text);
        pass.type = struct_name;
        pass.bytes = (int64_t)kiln__state_bytes(members, count);
        put_combination(text, members, count, struct_name);
        pass.reduce = kiln__build_text(w->b, text);
        put_identity(text, members, count, struct_name);
        pass.identity = kiln__build_text(w->b, text);
    }
    if (kiln__state_bytes(members, count) > KILN__PART_BYTES_MAX)
        pass.bytes = (int64_t)kiln__state_bytes(members, count);
    put_map(w->b, text, members, count, pass.type, statements, elements);
    pass.map = kiln__build_text(w->b, text);
    pass.batching = batching_of(w, members, count, statements, elements[0]);
    return pass;
}

const char *kiln__name_result(kiln__writer *w, const kiln__member *m, size_t states,
                              const char *whole)
{
    kiln__buf *body = &w->b->scratch[w->body];
    const char *name = kiln__next_name(w), *type = kiln_dtype_ctype(m->low->dtype);
    char part[64];

    snprintf(part, sizeof part, "%.32s", whole);
    if (states > 1)
        snprintf(part, sizeof part, "%.32s.v%zu", whole, m->state);
    if (strcmp(m->form->post, "y = a") == 0)
        kiln__buf_printf(body, "const %s %s = %s;\n", type, name, part);
    else
        kiln__buf_printf(body, "%s %s;\n[&](const %s &a, %s &y) { %s; }(%s, %s);\n", type, name,
                         m->form->type, type, m->form->post, part, name);
    return name;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void write_map(kiln__writer *w, const kiln__member *members, size_t count)
{
    const char **elements = kiln__build_alloc(w->b, count * sizeof *elements);

    for (size_t m = 0; m < count; m++) {
        const uint32_t operand = members[m].low->operand[0];
        elements[m] = kiln__operand_text(w, operand, kiln__own_map(w, operand), false);
    }
    if (w->dry)
        return;
    kiln__definition_request *request = &w->step->request;
    const char *statements = kiln__build_text(w->b, &w->b->scratch[KILN__BUF_BODY]);
    const kiln__pass pass =
        kiln__write_pass(w, members, count, "kiln_graph_part", statements, elements);
    if (pass.declaration != NULL)
        kiln__buf_puts(&w->b->scratch[KILN__BUF_PREAMBLE], pass.declaration);
    kiln__write_noted(w);
    request->snippet[KILN__SNIPPET_MAP] = pass.map;
    request->snippet[KILN__SNIPPET_REDUCE_TYPE] = pass.type;
    request->snippet[KILN__SNIPPET_REDUCE] = pass.reduce;
    request->snippet[KILN__SNIPPET_IDENTITY] = pass.identity;
    request->part_bytes[0] = pass.bytes;
    request->batching = pass.batching;
    request->family = &kiln__family_reduction;
}

/* Name the results of the reductions, for the statements behind them. */
static void name_results(kiln__writer *w, const kiln__member *members, size_t count)
{
    const size_t states = kiln__state_count(members, count);
    for (size_t m = 0; m < count; m++)
        kiln__name_lowered(w, members[m].id, kiln__kept_map(w, members[m].id),
                           w->dry ? "" : kiln__name_result(w, &members[m], states, "a"));
}

static void assign_outputs(kiln__writer *w, uint32_t low, const char *text)
{
    kiln__build *b = w->b;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    kiln__place(w, low, NULL);
    const int rank = kiln__kept_strides(w, low, shape, strides);
    const char *name = kiln__output_param(w, low, rank, shape, strides);
    kiln__buf_printf(&b->scratch[KILN__BUF_BODY], "%s = %s;\n", name, text);
}

static void write_post(kiln__writer *w, const kiln__member *members, size_t count)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    const char **texts = kiln__build_alloc(b, (k->roots.count + 1) * sizeof *texts);

    w->seen_base = w->seen_count;
    w->post = true;
    const int before = w->operations;
    const size_t base = w->seen_base;
    name_results(w, members, count);
    for (size_t r = 0; r < k->roots.count; r++)
        texts[r] = kiln__operand_text(w, k->roots.ids[r], kiln__kept_map(w, k->roots.ids[r]), true);
    if (w->dry)
        return;
    w->step->input_count = w->step->param_count;
    for (size_t m = 0; m < count; m++)
        if (b->values[members[m].id].read || members[m].low->output >= 0)
            assign_outputs(w, members[m].id, w->seen[base + m].text);
    for (size_t r = 0; r < k->roots.count; r++)
        assign_outputs(w, k->roots.ids[r], texts[r]);
    w->step->request.snippet[KILN__SNIPPET_POST] = kiln__build_text(b, &b->scratch[KILN__BUF_BODY]);
    kiln__buf *why = &b->scratch[KILN__BUF_TEXT];
    kiln__buf_printf(why, "%d operation%s before, %d after", before, before == 1 ? "" : "s",
                     w->operations - before);
    const size_t states = kiln__state_count(members, count);
    if (count > 1)
        kiln__buf_printf(why, ", %zu results in one pass", count);
    if (states < count)
        kiln__buf_printf(why, " from %zu accumulator%s", states, states == 1 ? "" : "s");
    kiln__tell_snippets(w, why);
    w->step->why = kiln__build_text(b, why);
}

void kiln__write_reduction(kiln__writer *w)
{
    const size_t count = w->kernel->members.count;
    const kiln__member *members = kiln__read_members(w->b, w->kernel->members.ids, count);
    write_map(w, members, count);
    write_post(w, members, count);
}
