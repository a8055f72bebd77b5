/*
 * snippet.c - which of the user's elementwise kernels can be inlined into the kernels of a graph.
 *
 *     facts, lower, stores > [snippet]
 *
 * Rule: a kernel that could not mean the same there stays a kernel of its own. That is one with raw
 *       arrays, positions, sizes, macros, statements around the loop, or an output that keeps its
 *       old value.
 *
 * Test: test_graph_custom.
 */
#include "fusion/build.h"

/* Longest op that is worth a copy in each kernel that uses it. */
enum { OP_BYTES_MAX = 4000 };

/* Whether a snippet uses a name that statements (t1) or results (r1) of a graph may have. */
static bool uses_our_names(const kiln__definition *d)
{
    for (size_t k = 0; k < d->words.count; k++) {
        const char *word = d->words.items[k];
        if ((word[0] == 't' || word[0] == 'r') && word[1] != '\0' &&
            strspn(word + 1, "0123456789") == strlen(word + 1))
            return true;
    }
    return false;
}

bool kiln__snippet_inlines(const kiln__definition *d)
{
    const char *op = d->snippet[KILN__SNIPPET_OP];
    if (d->family != &kiln__family_loop || d->option_count != 0 || d->includes || d->cuda_only ||
        d->uses_index || d->uses_size || d->uses_indexer || strlen(op) > OP_BYTES_MAX ||
        strchr(op, '#') != NULL || strchr(d->snippet[KILN__SNIPPET_PREAMBLE], '#') != NULL ||
        d->snippet[KILN__SNIPPET_LOOP_PREP][0] != '\0' ||
        d->snippet[KILN__SNIPPET_AFTER_LOOP][0] != '\0' || kiln__definition_uses(d, "printf") ||
        uses_our_names(d))
        return false;
    for (size_t p = 0; p < d->param_count; p++) {
        const kiln__param *param = &d->params[p];
        if (param->raw || param->by_address || param->writable ||
            (param->output && param->read_first))
            return false;
    }
    return true;
}

bool kiln__snippet_loops(const kiln__definition *d)
{
    return kiln__definition_uses(d, "for") || kiln__definition_uses(d, "while") ||
           kiln__definition_uses(d, "goto");
}
