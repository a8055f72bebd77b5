/*
 * written.c - functions of expressions that are expressions themselves: unique(), isin(), cross(), ...
 *
 *     a call > [a row whose parameters fit] > arguments get the parameters' names
 *            > [the row's text, parsed] > nodes, recorded for the place of the call
 *
 * A row's parameters are names with or without a default; `name:value` fits a call that gives this value only, True,
 * False or a word, and `name:whole` one that gives a whole number. A default of True or False fits no other value.
 * Of several rows of a name the first that fits is taken. A text sees its parameters and no other names.
 *
 * Rule: names that begin with an underscore are for the texts here alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/parse.h"

typedef struct written {
    const char *name, *params, *text;
} written;

static const written functions[] = {
    /* Of a sorted vector: where an element differs from the one before it. All NaN count as one. */
    {"_first", "s",
     "i = iota(s, 0); p = take(s, i - 1, mode=clip);"
     "(i == 0) | ((s != p) & ((s == s) | (p == p)))"},
    {"isin", "x, test", "_is_among(sort(ravel(test)), x)"},
    {"in1d", "x, test", "isin(ravel(x), test)"},
    {"unique", "x", "s = sort(x, axis=None); s[_first(s)]"},
    {"_both", "x, y", "sort(concatenate([ravel(x), ravel(y)]))"},
    {"union1d", "x, y", "s = _both(x, y); s[_first(s)]"},
    {"intersect1d", "x, y", "s = _both(x, y); s[_first(s) & isin(s, x) & isin(s, y)]"},
    {"setdiff1d", "x, y", "s = sort(x, axis=None); s[_first(s) & ~isin(s, y)]"},
    {"setxor1d", "x, y", "s = _both(x, y); s[_first(s) & ~(isin(s, x) & isin(s, y))]"},
    {"searchsorted", "sorted, values, side:left", "searchsorted(sorted, values)"},
    {"searchsorted", "sorted, values, side:right", "_search_right(sorted, values)"},
    {"digitize", "x, bins, right:True", "searchsorted(bins, x)"},
    {"digitize", "x, bins, right=False", "_search_right(bins, x)"},
    /* Evenly spaced, the last one exactly the largest element. */
    {"_edges", "x, n",
     "a = float64(min(x)); b = float64(max(x)); i = arange(n + 1);"
     "low = where(a == b, a - 0.5, a); high = where(a == b, b + 0.5, b);"
     "where(i == n, high, i * ((high - low) / n) + low)"},
    {"histogram", "x, bins:whole", "e = _edges(x, bins); _histogram([ravel(x), e]), e"},
    {"histogram", "x, bins", "_histogram([ravel(x), bins]), bins"},
    {"histogram2d", "x, y, bins:whole",
     "e = _edges(x, bins); f = _edges(y, bins); float64(_histogram([x, y, e, f])), e, f"},
    {"histogram2d", "x, y, xbins, ybins",
     "float64(_histogram([x, y, xbins, ybins])), xbins, ybins"},
    /* where() makes the last axis one of three elements. */
    {"cross", "x, y",
     "a = where(arange(3) < 3, x, False); b = where(arange(3) < 3, y, False);"
     "stack([a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],"
     " a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],"
     " a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]], axis=-1)"},
    {"diag", "x", "_diag(x, 0)"},
    {"diag", "x, k:whole", "_diag(x, k)"},
    {"diagflat", "x", "_diag(ravel(x), 0)"},
    {"diagflat", "x, k:whole", "_diag(ravel(x), k)"},
    {"bincount", "x, length:whole", "_histogram([ravel(x), arange(length + 1) - 0.5])"},
    {"fliplr", "x", "x[:, ::-1]"},
    {"flipud", "x", "x[::-1]"},
    {"identity", "n", "eye(n)"},
    {"meshgrid", "x, y",
     "where(iota(ravel(y)[:, None], 0) >= 0, ravel(x), False), "
     "where(iota(ravel(x), 0) >= 0, ravel(y)[:, None], False)"},
    {"ptp", "x, axis=None", "max(x, axis=axis) - min(x, axis=axis)"},
    {"average", "x, axis=None", "mean(x, axis=axis)"},
    /* Weights of one axis are those along the axis: here it is the last one of either operand. */
    {"average", "x, axis:whole, weights",
     "a = moveaxis(x, axis, -1); w = moveaxis(weights, axis, -1);"
     "sum(a * w, axis=-1) / sum(where(a == a, w, w), axis=-1)"},
    {"average", "x, axis=None, weights",
     "sum(x * weights, axis=axis) / sum(where(x == x, weights, weights), axis=axis)"},
    {"softmax", "x, axis:whole",
     "e = exp(x - max(x, axis=axis, keepdims=True)); e / sum(e, axis=axis, keepdims=True)"},
    {"softmax", "x", "softmax(x, axis=-1)"},
    {"log_softmax", "x, axis:whole",
     "d = x - max(x, axis=axis, keepdims=True); d - log(sum(exp(d), axis=axis, keepdims=True))"},
    {"log_softmax", "x", "log_softmax(x, axis=-1)"},
    {"convolve", "a, v, mode:full", "_convolve(a, v, 0)"},
    {"convolve", "a, v, mode:same", "_convolve(a, v, 1)"},
    {"convolve", "a, v, mode:valid", "_convolve(a, v, 2)"},
    {"convolve", "a, v", "_convolve(a, v, 0)"},
    {"correlate", "a, v, mode:full", "_correlate(a, v, 0)"},
    {"correlate", "a, v, mode:same", "_correlate(a, v, 1)"},
    {"correlate", "a, v, mode:valid", "_correlate(a, v, 2)"},
    {"correlate", "a, v", "_correlate(a, v, 2)"},
    /* The numbers i, or -1 for probabilities that are none. */
    {"_by", "p, i",
     "q = float64(p); e = float64(spacing(p[0] * 0 + 1));"
     "where((min(q) >= 0) & (abs(sum(q) - 1) <= sqrt(e)), i, -1)"},
    {"choice", "key, n, size, replace:False, p",
     "q = broadcast_to(p, n); t, i = topk(q / standard_exponential(key, n), size); _by(q, i)"},
    {"choice", "key, n, size, replace=True, p",
     "q = broadcast_to(p, n); c = cumsum(float64(q));"
     "_by(q, searchsorted(c / c[-1], random(key, size), side='right'))"},
    /* reshape() refuses more elements than there are. */
    {"choice", "key, n, size, replace:False", "reshape(permutation(key, n)[:size], size)"},
    {"choice", "key, n, size, replace=True", "integers(key, size, 0, n)"},
    {"multivariate_normal", "key, mean, cov, size",
     "standard_normal(key, (arange(size)[:, None] + mean).shape) @ cholesky(cov).T + mean"},
};

/* ---- parameters ---------------------------------------------------------------------------------- */

/* One of a list: its name, and behind `=` or `:` a text up to the next comma. */
typedef struct param {
    const char *name, *text;
    size_t bytes, text_bytes;
    char mark; /* '=', ':' or 0 */
} param;

/* The next parameter of a list, or false at its end. */
static bool next_param(const char **list, param *out)
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

static bool is_param(const param *q, const char *name)
{
    return kiln__same_word(q->name, q->bytes, name);
}

/* What a call gives for a parameter, of which `*at` is the place among those without a name; NULL: nothing. */
static const kiln__parsed *given(const kiln__parsed_call *c, const param *q, size_t at)
{
    const kiln__parsed *keyword = is_param(q, "axis")       ? &c->axis
                                  : is_param(q, "dtype")    ? &c->dtype
                                  : is_param(q, "keepdims") ? &c->keepdims
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
static bool is_switch(const param *q)
{
    return kiln__same_word(q->text, q->text_bytes, "True") ||
           kiln__same_word(q->text, q->text_bytes, "False");
}

static bool is_value(const kiln__parser *p, const kiln__parsed *v, const param *q)
{
    const bool number = v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_INT;

    if (v->kind == KILN__PARSED_TEXT) /* in quotes */
        return v->width - 2 == q->text_bytes &&
               memcmp(p->text + v->at + 1, q->text, q->text_bytes) == 0;
    if (kiln__same_word(q->text, q->text_bytes, "whole"))
        return number;
    if (!number && !(v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_BOOL))
        return false;
    const bool is_true = number ? v->node.value.i != 0 : v->node.value.b;
    return kiln__same_word(q->text, q->text_bytes, is_true ? "True" : "False");
}

/* Whether a call can be one of this function, every argument a parameter's. */
static bool fits(const kiln__parser *p, const kiln__parsed_call *c, const written *f)
{
    const char *list = f->params;
    const size_t keywords = (c->axis.width != 0) + (c->dtype.width != 0) + (c->keepdims.width != 0);
    size_t at = 0, used = 0;

    for (param q; next_param(&list, &q); at++) {
        const kiln__parsed *v = given(c, &q, at);
        const bool fixed = q.mark == ':' || (q.mark == '=' && is_switch(&q));
        if (v == NULL ? q.mark != '=' : fixed && !is_value(p, v, &q))
            return false;
        used += v != NULL;
    }
    return used == c->count + c->named_count + keywords && c->mode_bytes == 0;
}

bool kiln__written_usage(const kiln__parsed_call *c, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t k = 0; k < KILN_COUNT_OF(functions) && used < bytes; k++)
        if (kiln__same_word(c->name, c->bytes, functions[k].name))
            used += (size_t)snprintf(out + used, bytes - used, "%s%s(%s)", used > 0 ? ", " : "",
                                     functions[k].name, functions[k].params);
    for (char *s = out; *s != '\0'; s++) {
        static const char whole[] = ":whole";
        if (strncmp(s, whole, sizeof whole - 1) == 0) /* any whole number, and no word */
            memcpy(s, "=<int>", sizeof whole - 1);
        *s = *s == ':' ? '=' : *s;
    }
    return used > 0;
}

static kiln_status fail_fit(const kiln__parser *p, const kiln__parsed_call *c)
{
    char usage[KILN__USAGE_BYTES];

    (void)kiln__written_usage(c, usage, sizeof usage);
    return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                            "%.*s takes other arguments: %s", (int)c->bytes, c->name, usage);
}

bool kiln__written_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        const char *list = functions[k].params;
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        for (param q; next_param(&list, &q);)
            if (q.bytes == bytes && memcmp(q.name, name, bytes) == 0)
                return true;
    }
    return false;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* A default: a number, None, True or False. */
static kiln__parsed value_of(const param *q)
{
    kiln__parsed v = {.kind = KILN__PARSED_NODE, .width = 1};

    if (kiln__same_word(q->text, q->text_bytes, "None"))
        v.kind = KILN__PARSED_NONE;
    else if (kiln__same_word(q->text, q->text_bytes, "True") ||
             kiln__same_word(q->text, q->text_bytes, "False"))
        v.node = kiln_node_of_bool(q->text[0] == 'T');
    else
        v.node = kiln_node_of_int(strtoll(q->text, NULL, 10));
    return v;
}

/* Parse the text with the arguments under its parameters' names. */
static kiln_status expand(kiln__parser *p, const kiln__parsed_call *c, const written *f,
                          kiln__parsed *out)
{
    const char *list = f->params;
    size_t at = 0;

    for (param q; next_param(&list, &q); at++) {
        const kiln__parsed *v = given(c, &q, at);
        const kiln__parsed missing = v == NULL ? value_of(&q) : *v;
        KILN_CHECK(kiln__define_name(p, q.name, q.bytes, &missing));
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

    if (column != NULL && strstr(column, ": ") != NULL)
        said = strstr(column, ": ") + 2;
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s: %s", (int)c->bytes, c->name, said);
}

static kiln_status call(kiln__parser *p, const kiln__parsed_call *c, const written *f,
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
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        *known = true;
        c->takes =
            KILN__TAKES_AXIS | KILN__TAKES_DTYPE | KILN__TAKES_KEEPDIMS; /* of those that fit */
        if (fits(p, c, &functions[k]))
            return call(p, c, &functions[k], out);
    }
    return *known ? fail_fit(p, c) : KILN_OK;
}
