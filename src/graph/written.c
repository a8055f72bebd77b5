/*
 * written.c - functions of expressions that are expressions themselves: unique(), isin(), cross(),
 * ...
 *
 *     a call > a row of written_rows.c whose parameters fit > arguments get the parameters' names
 *            > the row's text, parsed > nodes, recorded for the place of the call
 *
 * Tests: test_written, and tests/test_numpy_text.py against NumPy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/parse.h"

/* ---- parameters ---------------------------------------------------------------------------------- */

/* What a call gives for a parameter, of which `*at` is the place among those without a name; NULL: nothing. */
static const kiln__parsed *given(const kiln__parsed_call *c, const kiln__call_param *q, size_t at)
{
    const kiln__parsed *keyword = kiln__is_param(q, "axis")       ? &c->axis
                                  : kiln__is_param(q, "dtype")    ? &c->dtype
                                  : kiln__is_param(q, "keepdims") ? &c->keepdims
                                                            : NULL;
    if (at < c->count)
        return &c->arg[at];
    if (keyword != NULL)
        return keyword->width != 0 ? keyword : NULL;
    for (size_t k = 0; k < c->named_count; k++)
        if (c->named[k].bytes == q->bytes && memcmp(c->named[k].name, q->name, q->bytes) == 0)
            return &c->named[k].value;
    return NULL;
}

/* Whether a parameter is True or False, in its row. */
static bool is_switch(const kiln__call_param *q)
{
    return kiln__same_word(q->text, q->text_bytes, "True") ||
           kiln__same_word(q->text, q->text_bytes, "False");
}

static bool is_value(const kiln__parser *p, const kiln__parsed *v, const kiln__call_param *q)
{
    const bool number = v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_INT;

    if (v->kind == KILN__PARSED_TEXT) /* in quotes */
        return v->word_bytes == q->text_bytes && memcmp(v->word, q->text, q->text_bytes) == 0;
    if (kiln__same_word(q->text, q->text_bytes, "extent"))
        return kiln__is_extent(p, v);
    if (kiln__same_word(q->text, q->text_bytes, "number"))
        return v->kind == KILN__PARSED_NODE && kiln__is_of_numbers(p, &v->node);
    if (kiln__same_word(q->text, q->text_bytes, "whole"))
        return number || kiln__is_extent(p, v);
    if (kiln__same_word(q->text, q->text_bytes, "negative"))
        return number && v->node.value.i < 0;
    if (kiln__same_word(q->text, q->text_bytes, "None"))
        return v->kind == KILN__PARSED_NONE;
    if (v->kind == KILN__PARSED_NONE) /* as NumPy has it for some */
        return kiln__same_word(q->text, q->text_bytes, "False");
    if (!number && !(v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_BOOL))
        return false;
    const bool is_true = number ? v->node.value.i != 0 : v->node.value.b;
    return kiln__same_word(q->text, q->text_bytes, is_true ? "True" : "False");
}

/* Whether a call can be one of this function, every argument a parameter's. */
static bool fits(const kiln__parser *p, const kiln__parsed_call *c, const kiln__written *f)
{
    const char *list = f->params;
    const size_t keywords = (c->axis.width != 0) + (c->dtype.width != 0) + (c->keepdims.width != 0);
    size_t at = 0, used = 0;

    for (kiln__call_param q; kiln__next_param(&list, &q); at++) {
        const kiln__parsed *v = given(c, &q, at);
        const bool fixed = q.mark == ':' || (q.mark == '=' && is_switch(&q));
        if (v == NULL ? q.mark != '=' : fixed && !is_value(p, v, &q))
            return false;
        used += v != NULL;
    }
    return used == c->count + c->named_count + keywords && c->mode_bytes == 0;
}

/* Whether two rows have the same parameters, and differ in True and False at most. */
static bool same_params(const char *one, const char *other)
{
    kiln__call_param q, r;

    for (;;) {
        const bool more = kiln__next_param(&one, &q);
        if (kiln__next_param(&other, &r) != more)
            return false;
        if (!more)
            return true;
        const bool same = q.text_bytes == r.text_bytes &&
                          (q.text_bytes == 0 || memcmp(q.text, r.text, q.text_bytes) == 0);
        if (q.bytes != r.bytes || memcmp(q.name, r.name, q.bytes) != 0 ||
            (!same && !(is_switch(&q) && is_switch(&r))))
            return false;
    }
}

/* Rows that differ in the value of a parameter alone are told once. */
bool kiln__written_usage(const kiln__parsed_call *c, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t k = 0; k < kiln__written_count && used < bytes; k++) {
        bool told = !kiln__same_word(c->name, c->bytes, kiln__written_rows[k].name);
        for (size_t j = 0; j < k && !told; j++)
            told = strcmp(kiln__written_rows[j].name, kiln__written_rows[k].name) == 0 &&
                   same_params(kiln__written_rows[j].params, kiln__written_rows[k].params);
        if (!told)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s(%s)", used > 0 ? ", " : "",
                                     kiln__written_rows[k].name, kiln__written_rows[k].params);
    }
    for (char *s = out; *s != '\0'; s++) {
        static const char whole[] = ":whole", negative[] = ":negative";
        if (strncmp(s, whole, sizeof whole - 1) == 0) /* any whole number, and no word */
            memcpy(s, "=<int>", sizeof whole - 1);
        if (strncmp(s, negative, sizeof negative - 1) == 0)
            memcpy(s, "=<int <0>", sizeof negative - 1);
        *s = *s == ':' ? '=' : *s;
    }
    return used > 0;
}

/* How long the prefix is of a row for arguments whose length only the device knows, which users call by the
 * name behind; 0 for other rows. */
static size_t prefix_of(const kiln__parsed_call *c)
{
    static const char *const prefixes[] = {KILN__ROW_OF_COUNTED, KILN__ROW_AMONG_COUNTED,
                                           KILN__ROW_OVER_COUNTED};

    for (size_t k = 0; k < KILN_COUNT_OF(prefixes); k++) {
        const size_t bytes = strlen(prefixes[k]);
        if (c->bytes > bytes && memcmp(c->name, prefixes[k], bytes) == 0)
            return bytes;
    }
    return 0;
}

static kiln_status fail_fit(const kiln__parser *p, const kiln__parsed_call *c)
{
    const size_t prefix = prefix_of(c);
    char usage[KILN__USAGE_BYTES];

    if (prefix > 0)
        return kiln__parse_fail(p, c->at, c->bytes - prefix, KILN_ERR_UNSUPPORTED,
                                "%.*s of elements whose number only the device knows takes no such "
                                "arguments: of where(mask, x, value), with a value that does not "
                                "count, it takes all",
                                (int)(c->bytes - prefix), c->name + prefix);
    (void)kiln__written_usage(c, usage, sizeof usage);
    return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                            "%.*s takes other arguments: %s", (int)c->bytes, c->name, usage);
}

bool kiln__written_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    for (size_t k = 0; k < kiln__written_count; k++) {
        const char *list = kiln__written_rows[k].params;
        if (!kiln__same_word(c->name, c->bytes, kiln__written_rows[k].name))
            continue;
        for (kiln__call_param q; kiln__next_param(&list, &q);)
            if (q.bytes == bytes && memcmp(q.name, name, bytes) == 0)
                return true;
    }
    return false;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* Parse the text with the arguments under its parameters' names. */
static kiln_status expand(kiln__parser *p, const kiln__parsed_call *c, const kiln__written *f,
                          kiln__parsed *out)
{
    const char *list = f->params;
    size_t at = 0;

    for (kiln__call_param q; kiln__next_param(&list, &q); at++) {
        const kiln__parsed *v = given(c, &q, at);
        const kiln__parsed missing = v == NULL ? kiln__param_default(&q) : *v;
        const bool is_where = kiln__is_param(&q, "where"); /* the name is a function's */
        KILN_CHECK(kiln__define_name(p, is_where ? "mask" : q.name, is_where ? 4 : q.bytes,
                                     &missing));
    }
    p->text = f->text;
    memset(&p->token, 0, sizeof p->token);
    p->behind = 0;
    return p->statements(p, out);
}

/* An error of a text, told for the place of the call. */
static kiln_status tell(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const kiln_error *inner)
{
    const char *column = strstr(inner->message, "column "), *said = inner->message;
    const size_t before = prefix_of(c);
    const char *const name = c->name + before;
    const size_t bytes = c->bytes - before;

    if (column != NULL && strstr(column, ": ") != NULL)
        said = strstr(column, ": ") + 2;
    if (said[0] == '_' && strstr(said, ": ") != NULL) /* a name that users do not write */
        said = strstr(said, ": ") + 2;
    if (strncmp(said, name, bytes) == 0 && strncmp(said + bytes, ": ", 2) == 0)
        said += bytes + 2;
    return kiln__parse_fail(p, c->at, bytes, status, "%.*s: %s", (int)bytes, name, said);
}

static kiln_status call(kiln__parser *p, const kiln__parsed_call *c, const kiln__written *f,
                        kiln__parsed *out)
{
    kiln__parser outer = *p;
    kiln_error inner = KILN_ERROR_INIT;
    const int place = p->graph->ir.place;

    p->name_base = p->name_count;
    p->err = &inner;
    p->depth++;
    if (place == 0)
        p->graph->ir.place = (int)c->at + 1;
    kiln_status status = p->depth > KILN__DEPTH_MAX ? KILN_ERR_SYNTAX : expand(p, c, f, out);
    p->graph->ir.place = place;
    outer.kept = p->kept; /* made meanwhile */
    *p = outer;
    if (status != KILN_OK)
        status = tell(p, c, status, &inner);
    kiln_error_clear(&inner);
    return status;
}

kiln_status kiln__apply_written(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    for (size_t k = 0; k < kiln__written_count; k++) {
        if (!kiln__same_word(c->name, c->bytes, kiln__written_rows[k].name))
            continue;
        *known = true;
        c->takes =
            KILN__TAKES_AXIS | KILN__TAKES_DTYPE | KILN__TAKES_KEEPDIMS; /* of those that fit */
        if (fits(p, c, &kiln__written_rows[k]))
            return call(p, c, &kiln__written_rows[k], out);
    }
    return *known ? fail_fit(p, c) : KILN_OK;
}

kiln_status kiln__written_call(kiln__parser *p, const kiln__parsed_call *c, const char *name,
                               const kiln_node *nodes, size_t count, kiln_node *out)
{
    kiln__parsed_call *one = kiln__calloc(1, sizeof *one);
    kiln__parsed value = {.kind = KILN__PARSED_NONE};
    bool known = false;

    if (one == NULL)
        return kiln__fail_memory(p->err, sizeof *one);
    one->name = name;
    one->bytes = strlen(name);
    one->at = c->at;
    for (size_t k = 0; k < count; k++) {
        kiln__set_node(&one->arg[one->count], nodes[k]);
        one->arg[one->count++].width = 1;
    }
    const kiln_status status = kiln__apply_written(p, one, &value, &known);
    *out = value.node;
    kiln__free(one);
    return status;
}
