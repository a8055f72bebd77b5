/*
 * text_snippet.c - a user's elementwise kernel inlined into a kernel of a graph.
 *
 *     text, text_loop, text_reduce, text_rows, write > [text_snippet]
 *
 * The snippet becomes the body of a lambda without captures. Its parameters are those that the user
 * declared:
 *
 *     double t2, t3;
 *     [](const double x, const double k, double &whole, double &part) -> void {
 *     typedef double T;
 *     do {
 *     whole = floor(x * k); part = x * k - whole
 *     ;
 *     } while (0);
 *     }(t1, 1.5, t2, t3);
 *
 * So it sees its own names and none of the graph's. `return` and `continue` end the element, as
 * they do in a kernel of its own. Compilers' messages name the user's lines. A preamble is put into
 * a namespace, which the lambda looks into.
 *
 * Test: test_graph_custom.
 */
#include "fusion/write.h"

static kiln_dtype param_dtype(const kiln__build *b, const kiln__lowered *n, size_t p)
{
    const size_t inputs = n->custom->def->input_count;
    return p < inputs ? b->lowered[n->operand[p]].dtype : n->results[p - inputs];
}

/* Write a typedef for each placeholder. */
static void put_types(const kiln__build *b, const kiln__lowered *n, kiln__buf *text)
{
    const kiln__definition *d = n->custom->def;
    for (size_t p = 0; p < d->param_count; p++) {
        bool known = d->params[p].placeholder == 0;
        for (size_t o = 0; o < p; o++)
            known = known || d->params[o].placeholder == d->params[p].placeholder;
        if (!known)
            kiln__buf_printf(text, "typedef %s %c;\n", kiln_dtype_ctype(param_dtype(b, n, p)),
                             d->params[p].placeholder);
    }
}

static bool same_types(const kiln__build *b, const kiln__lowered *n, const kiln__lowered *o)
{
    if (n->custom->def != o->custom->def)
        return false;
    for (size_t p = 0; p < n->custom->def->param_count; p++)
        if (param_dtype(b, n, p) != param_dtype(b, o, p))
            return false;
    return true;
}

/* The number of the namespace that holds the preamble of a snippet, which is written once for each
 * set of dtypes; 0 for none. */
static size_t preamble_of(kiln__writer *w, const kiln__lowered *n)
{
    kiln__build *b = w->b;
    const char *preamble = n->custom->def->snippet[KILN__SNIPPET_PREAMBLE];
    if (preamble[0] == '\0')
        return 0;
    for (size_t k = 0; k < w->preambles.count; k++)
        if (same_types(b, n, &b->lowered[w->preambles.ids[k]]))
            return k + 1;
    kiln__list_add(b, &w->preambles, (uint32_t)(n - b->lowered));
    kiln__buf *text = &b->scratch[KILN__BUF_PREAMBLE];
    kiln__buf_printf(text, "namespace kiln_custom%zu {\n", w->preambles.count);
    put_types(b, n, text);
    kiln__buf_printf(text, "%s\n}\n", preamble);
    return w->preambles.count;
}

static void put_params(const kiln__build *b, const kiln__lowered *n, kiln__buf *text)
{
    const kiln__definition *d = n->custom->def;
    for (size_t p = 0; p < d->param_count; p++)
        kiln__buf_printf(text, p < d->input_count ? "%sconst %s %s" : "%s%s &%s", p > 0 ? ", " : "",
                         kiln_dtype_ctype(param_dtype(b, n, p)), d->params[p].name);
}

/* A snippet with several results is written once, and each result gets a name. */
static void name_results(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                         const char *const *names)
{
    const kiln__build *b = w->b;
    const kiln__list *results = &b->snippets[low]->results;
    for (size_t k = 0; k < results->count; k++)
        if (results->ids[k] != low)
            kiln__name_lowered(w, results->ids[k], map, names[b->lowered[results->ids[k]].op]);
}

static const kiln__definition *inlined(const kiln__writer *w, size_t k)
{
    return w->b->lowered[w->snippets.ids[k]].custom->def;
}

static void note_snippet(kiln__writer *w, uint32_t low)
{
    for (size_t k = 0; k < w->snippets.count; k++)
        if (inlined(w, k) == w->b->lowered[low].custom->def)
            return;
    kiln__list_add(w->b, &w->snippets, low);
}

bool kiln__snippets_hide(const kiln__writer *w, const char *name)
{
    for (size_t k = 0; k < w->snippets.count; k++) {
        const kiln__definition *d = inlined(w, k);
        bool own = false;
        for (size_t p = 0; p < d->param_count; p++)
            own = own || strcmp(d->params[p].name, name) == 0;
        if (!own && kiln__definition_uses(d, name))
            return true;
    }
    return false;
}

const char *kiln__snippet_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                               const char *const *operands)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    const kiln__definition *d = n->custom->def;
    const size_t results = d->param_count - d->input_count;
    const char **names = kiln__build_alloc(b, results * sizeof *names);
    const size_t preamble = preamble_of(w, n);
    kiln__buf *body = &b->scratch[w->body];

    for (size_t r = 0; r < results; r++) {
        names[r] = kiln__next_name(w);
        kiln__buf_printf(body, "%s %s;\n", kiln_dtype_ctype(n->results[r]), names[r]);
    }
    kiln__buf_puts(body, "[](");
    put_params(b, n, body);
    kiln__buf_puts(body, ") -> void {\n");
    put_types(b, n, body);
    if (preamble > 0)
        kiln__buf_printf(body, "using namespace kiln_custom%zu;\n", preamble);
    kiln__buf_printf(body, "do {\n%s\n;\n} while (0);\n}(", d->snippet[KILN__SNIPPET_OP]);
    for (size_t p = 0; p < d->param_count; p++)
        kiln__buf_printf(body, "%s%s", p > 0 ? ", " : "",
                         p < d->input_count ? operands[p] : names[p - d->input_count]);
    kiln__buf_puts(body, ");\n");
    w->operations++;
    note_snippet(w, low);
    name_results(w, low, map, names);
    return names[n->op];
}

void kiln__tell_snippets(const kiln__writer *w, kiln__buf *why)
{
    for (size_t k = 0; k < w->snippets.count; k++)
        kiln__buf_printf(why, "%s `%s`", k == 0 ? ", with the user's" : " and",
                         inlined(w, k)->name);
}
