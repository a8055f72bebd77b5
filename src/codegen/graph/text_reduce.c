/*
 * text_reduce.c - the definition of a reduction with what comes before and after it.
 *
 * map holds the statements that compute the reduced elements, post those that follow from the
 * results. Several reductions share one pass: their accumulators are the members of a struct, their
 * texts (rows of the table of named reductions) stand in lambdas, so that `a`, `b`, `x` and `y` are
 * what the table means by them:
 *
 *     reduce   r.v0 = [](const float &a, const float &b) -> float { return (float)(a + b); }(a.v0, b.v0);
 */
#include "codegen/graph/write.h"

/* The texts of one reduction of a kernel. */
typedef struct member {
    const kiln__low *low;
    uint32_t id;
    kiln_dtype from; /* of the elements */
    const char *type, *map, *reduce, *post, *identity;
} member;

static const char *table_text(kiln__writer *w, const member *m, kiln__snippet_kind kind)
{
    kiln__buf *text = &w->b->scratch[KILN__BUF_TEXT];
    kiln__reduce_text(kiln__reduce_row_find(m->low->op, m->from), m->from, kind, text);
    return kiln__build_text(w->b, text);
}

static member *read_members(kiln__writer *w)
{
    const kiln__plan_kernel *k = w->kernel;
    member *members = kiln__build_alloc(w->b, k->member_count * sizeof *members);
    for (size_t m = 0; m < k->member_count; m++) {
        member *at = &members[m];
        at->id = k->members[m];
        at->low = &w->b->lows[at->id];
        at->from = w->b->lows[at->low->operand[0]].dtype;
        at->type = table_text(w, at, KILN__SNIPPET_REDUCE_TYPE);
        at->map = table_text(w, at, KILN__SNIPPET_MAP);
        at->reduce = table_text(w, at, KILN__SNIPPET_REDUCE);
        at->post = table_text(w, at, KILN__SNIPPET_POST);
        at->identity = table_text(w, at, KILN__SNIPPET_IDENTITY);
    }
    return members;
}

/* The element `x` of a member as it enters the accumulator. */
static void put_entry(kiln__buf *b, const member *m, const char *type, const char *element)
{
    if (strcmp(m->map, "x") == 0)
        kiln__buf_printf(b, "(%s)(%s)", type, element);
    else
        kiln__buf_printf(b, "[&](const %s x) -> %s { typedef %s T; return (%s)(%s); }(%s)",
                         kiln_dtype_ctype(m->from), type, kiln_dtype_ctype(m->from), type, m->map,
                         element);
}

static void write_map(kiln__writer *w, const member *members, size_t count)
{
    kiln__buf *body = &w->b->scratch[KILN__BUF_BODY], *map = &w->b->scratch[KILN__BUF_OTHER];
    const char **elements = kiln__build_alloc(w->b, count * sizeof *elements);

    for (size_t m = 0; m < count; m++) {
        const uint32_t operand = members[m].low->operand[0];
        elements[m] = kiln__operand_text(w, operand, kiln__own_map(w, operand), false);
    }
    if (w->dry)
        return;
    if (count == 1 && body->length == 0 && strcmp(members[0].map, "x") == 0) {
        w->step->request.snippet[KILN__SNIPPET_MAP] = elements[0];
        return;
    }
    const char *statements = kiln__build_text(w->b, body);
    kiln__buf_printf(map, "[&]() -> _type_reduce {\n%s", statements);
    if (count == 1) {
        kiln__buf_puts(map, "return ");
        put_entry(map, &members[0], "_type_reduce", elements[0]);
        kiln__buf_puts(map, ";\n}()");
    } else {
        kiln__buf_puts(map, "_type_reduce r;\n");
        for (size_t m = 0; m < count; m++) {
            kiln__buf_printf(map, "r.v%zu = ", m);
            put_entry(map, &members[m], members[m].type, elements[m]);
            kiln__buf_puts(map, ";\n");
        }
        kiln__buf_puts(map, "return r;\n}()");
    }
    w->step->request.snippet[KILN__SNIPPET_MAP] = kiln__build_text(w->b, map);
}

/* Type, combination and identity: of one member its own, of several those of a struct. */
static void write_combination(kiln__writer *w, const member *members, size_t count)
{
    kiln__definition_request *request = &w->step->request;
    kiln__buf *text = &w->b->scratch[KILN__BUF_OTHER];

    if (count == 1) {
        request->snippet[KILN__SNIPPET_REDUCE_TYPE] = members[0].type;
        request->snippet[KILN__SNIPPET_REDUCE] = members[0].reduce;
        request->snippet[KILN__SNIPPET_IDENTITY] = members[0].identity;
        return;
    }
    kiln__buf_puts(text, "struct kiln_graph_part {\n");
    for (size_t m = 0; m < count; m++)
        kiln__buf_printf(text, "    %s v%zu;\n", members[m].type, m);
    kiln__buf_puts(text, "};");
    request->snippet[KILN__SNIPPET_PREAMBLE] = kiln__build_text(w->b, text);
    request->snippet[KILN__SNIPPET_REDUCE_TYPE] = "kiln_graph_part";
    kiln__buf_puts(text, "[&]() -> _type_reduce {\n_type_reduce r;\n");
    for (size_t m = 0; m < count; m++)
        kiln__buf_printf(text,
                         "r.v%zu = [](const %s &a, const %s &b) -> %s { return (%s)(%s); }"
                         "(a.v%zu, b.v%zu);\n",
                         m, members[m].type, members[m].type, members[m].type, members[m].type,
                         members[m].reduce, m, m);
    kiln__buf_puts(text, "return r;\n}()");
    request->snippet[KILN__SNIPPET_REDUCE] = kiln__build_text(w->b, text);
    kiln__buf_puts(text, "_type_reduce{");
    for (size_t m = 0; m < count; m++)
        kiln__buf_printf(text, "%s(%s)(%s)", m > 0 ? ", " : "", members[m].type,
                         members[m].identity);
    kiln__buf_puts(text, "}");
    request->snippet[KILN__SNIPPET_IDENTITY] = kiln__build_text(w->b, text);
}

/* A map in which every axis of a low stands still: the results' own index is the only one. */
static const kiln__axis_map *still(kiln__writer *w, uint32_t low)
{
    const kiln__low *n = &w->b->lows[low];
    kiln__axis_map *map = kiln__build_alloc(w->b, (size_t)n->rank * sizeof *map + 1);
    for (int a = 0; a < n->rank; a++)
        map[a] = (kiln__axis_map){-1, 0, 0};
    return map;
}

/* The values of reductions by name, for whatever follows them. */
static void name_results(kiln__writer *w, const member *members, size_t count)
{
    kiln__buf *body = &w->b->scratch[KILN__BUF_BODY];
    for (size_t m = 0; m < count; m++) {
        const char *name = w->dry ? "" : kiln__next_name(w);
        const char *type = kiln_dtype_ctype(members[m].low->dtype);
        char part[32] = "a";
        if (count > 1)
            snprintf(part, sizeof part, "a.v%zu", m);
        if (!w->dry && strcmp(members[m].post, "y = a") == 0)
            kiln__buf_printf(body, "const %s %s = %s;\n", type, name, part);
        else if (!w->dry)
            kiln__buf_printf(body, "%s %s;\n[&](const %s &a, %s &y) { %s; }(%s, %s);\n", type, name,
                             members[m].type, type, members[m].post, part, name);
        kiln__name_low(w, members[m].id, still(w, members[m].id), name);
    }
}

static void assign_outputs(kiln__writer *w, uint32_t low, const char *text)
{
    kiln__build *b = w->b;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    kiln__place(w, low, NULL);
    const int rank = kiln__kept_strides(w, &b->lows[low], shape, strides);
    const char *name = kiln__output_param(w, low, rank, shape, strides);
    kiln__buf_printf(&b->scratch[KILN__BUF_BODY], "%s = %s;\n", name, text);
}

static void write_post(kiln__writer *w, const member *members, size_t count)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    const char **texts = kiln__build_alloc(b, (k->root_count + 1) * sizeof *texts);

    w->seen_base = w->seen_count;
    w->finishing = true;
    const int before = w->operations;
    const size_t base = w->seen_base;
    name_results(w, members, count);
    for (size_t r = 0; r < k->root_count; r++)
        texts[r] = kiln__operand_text(w, k->roots[r], still(w, k->roots[r]), true);
    if (w->dry)
        return;
    w->step->input_count = w->step->param_count;
    for (size_t m = 0; m < count; m++)
        if (members[m].low->read || members[m].low->output >= 0)
            assign_outputs(w, members[m].id, w->seen[base + m].text);
    for (size_t r = 0; r < k->root_count; r++)
        assign_outputs(w, k->roots[r], texts[r]);
    w->step->request.snippet[KILN__SNIPPET_POST] =
        kiln__build_text(b, &b->scratch[KILN__BUF_BODY]);
    kiln__buf *why = &b->scratch[KILN__BUF_TEXT];
    kiln__buf_printf(why, "reduction: %d operation%s before, %d after", before,
                     before == 1 ? "" : "s", w->operations - before);
    if (count > 1)
        kiln__buf_printf(why, ", %zu results in one pass", count);
    w->step->why = kiln__build_text(b, why);
}

void kiln__write_reduction(kiln__writer *w)
{
    const size_t count = w->kernel->member_count;
    const member *members = read_members(w);
    write_map(w, members, count);
    if (!w->dry) {
        write_combination(w, members, count);
        w->step->request.reduction = true;
    }
    write_post(w, members, count);
}
