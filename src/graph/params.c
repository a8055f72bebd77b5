/*
 * params.c - parameter lists in the tables of functions, such as "x, n=1, axis=-1".
 *
 * kiln__next_param() reads one parameter: its name, and its default or the only value that it may
 * have. arranging.c and written.c call it.
 *
 * Tests: test_written, test_rearrange.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/parse.h"

bool kiln__next_param(const char **list, kiln__call_param *out)
{
    const char *s = *list;

    memset(out, 0, sizeof *out);
    while (*s == ',' || *s == ' ')
        s++;
    if (*s == '\0')
        return false;
    out->name = s;
    out->bytes = strcspn(s, ",=:");
    s += out->bytes;
    if (*s == '=' || *s == ':') {
        out->mark = *s++;
        out->text = s;
        out->text_bytes = strcspn(s, ",");
        s += out->text_bytes;
    }
    *list = s;
    return true;
}

/* Arguments of NumPy's that change no result here: sorts are stable, and their results sorted. */
static const struct {
    const char *function, *name, *words; /* the words that it may be */
    size_t place;                        /* among arguments without a name; 0: none */
} idle[] = {
    {"sort", "kind", "quicksort mergesort heapsort stable", 2},
    {"argsort", "kind", "quicksort mergesort heapsort stable", 2},
    {"partition", "kind", "introselect", 3},
    {"argpartition", "kind", "introselect", 3},
    {"sort", "stable", "", 0},
    {"argsort", "stable", "", 0},
    {"isin", "assume_unique", "", 0},
    {"in1d", "assume_unique", "", 0},
    {"isin", "kind", "sort table", 0},
    {"in1d", "kind", "sort table", 0},
    {"intersect1d", "assume_unique", "", 0},
    {"setxor1d", "assume_unique", "", 0},
    {"unique", "sorted", "", 0},
    {"median", "overwrite_input", "", 0},
    {"quantile", "overwrite_input", "", 0},
    {"percentile", "overwrite_input", "", 0},
    {"meshgrid", "copy", "", 0},
};

bool kiln__param_is_idle(const kiln__parsed_call *c, const char *name, size_t bytes,
                         const char **words)
{
    for (size_t k = 0; k < KILN_COUNT_OF(idle); k++) {
        *words = idle[k].words;
        if (kiln__same_word(c->name, c->bytes, idle[k].function) &&
            kiln__same_word(name, bytes, idle[k].name))
            return true;
    }
    return false;
}

/* Whether `word` is one of `words`, between which spaces stand. */
static bool is_among(const char *words, const char *word, size_t bytes)
{
    for (const char *s = words; *s != '\0'; s += strcspn(s, " ")) {
        s += *s == ' ';
        if (strcspn(s, " ") == bytes && memcmp(s, word, bytes) == 0)
            return true;
    }
    return false;
}

kiln_status kiln__check_idle(const kiln__parser *p, const kiln__parsed *v, const char *name,
                             size_t bytes, const char *words)
{
    if (v->kind == KILN__PARSED_NONE || (v->kind == KILN__PARSED_NODE && kiln__is_plain(&v->node)) ||
        (v->kind == KILN__PARSED_TEXT && is_among(words, v->word, v->word_bytes)))
        return KILN_OK;
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_NAME, "%.*s is none of %s", (int)bytes, name,
                            words[0] != '\0' ? words : "True and False");
}

kiln_status kiln__drop_idle(const kiln__parser *p, kiln__parsed_call *c)
{
    for (size_t k = 0; k < KILN_COUNT_OF(idle); k++) {
        const size_t at = idle[k].place;
        if (at == 0 || c->count != at + 1 || c->arg[at].kind != KILN__PARSED_TEXT ||
            !kiln__same_word(c->name, c->bytes, idle[k].function))
            continue;
        c->count = at;
        return kiln__check_idle(p, &c->arg[at], idle[k].name, strlen(idle[k].name), idle[k].words);
    }
    return KILN_OK;
}

bool kiln__is_param(const kiln__call_param *q, const char *name)
{
    return kiln__same_word(q->name, q->bytes, name);
}

kiln__parsed kiln__param_default(const kiln__call_param *q)
{
    kiln__parsed v = {.kind = KILN__PARSED_NODE, .width = 1};

    if (q->mark == 0 || kiln__same_word(q->text, q->text_bytes, "None"))
        v.kind = KILN__PARSED_NONE;
    else if (kiln__same_word(q->text, q->text_bytes, "True") ||
             kiln__same_word(q->text, q->text_bytes, "False"))
        v.node = kiln_node_of_bool(q->text[0] == 'T');
    else if (memchr(q->text, 'e', q->text_bytes) != NULL) /* 1e-5: no point, for locales have others */
        v.node = kiln_node_of_float(strtod(q->text, NULL));
    else
        v.node = kiln_node_of_int(strtoll(q->text, NULL, 10));
    return v;
}

kiln_status kiln__fail_call(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                             const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

kiln_status kiln__need_count(const kiln__parser *p, const kiln__parsed_call *c, size_t least,
                              size_t most)
{
    char text[80];
    if (c->count >= least && c->count <= most)
        return KILN_OK;
    if (least == most)
        snprintf(text, sizeof text, "takes %zu argument%s, %zu given", least, least == 1 ? "" : "s",
                 c->count);
    else
        snprintf(text, sizeof text, "takes %zu to %zu arguments, %zu given", least, most, c->count);
    return kiln__fail_call(p, c, KILN_ERR_ARGUMENT_COUNT, text);
}
/* Check that the first argument is an array. A plain number becomes one without axes. */
kiln_status kiln__need_array(kiln__parser *p, kiln__parsed_call *c)
{
    if (c->count == 0)
        return kiln__fail_call(p, c, KILN_ERR_ARGUMENT_COUNT, "needs an array");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    c->arg[0].node = kiln__graph_number(p->graph, c->arg[0].node);
    return KILN_OK;
}
