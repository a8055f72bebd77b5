/*
 * parse.c - values of expressions, by NumPy's grammar and precedence, into nodes of a graph.
 *
 *     value      := binary operators, loosest first: comparisons; |; ^; &; << >>; + -; * / // % @
 *     unary      := ('+' | '-' | '~') unary | power
 *     power      := postfix ['**' unary]
 *     postfix    := primary ('[' subscript ']' | '.' name ['(' arguments ')'])*
 *     primary    := number | text | name | name '(' arguments ')' | '(' values ')' | '[' values ']'
 *
 * Unary operators bind tighter than all binary operators but `**`, which binds tighter than the
 * unary operator on its left and takes a unary on its right: -x**-2 is -(x**(-2)).
 *
 * Rule: what Python accepts but what means something else for arrays (and, or, not, chained
 *       comparisons) is refused, and the message says what to write instead.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

/* ---- primaries ------------------------------------------------------------------------------- */

static kiln_status keep_list(kiln__parser *p, const kiln_node *nodes, size_t count,
                             const int64_t *rows, size_t row_count, bool list, kiln__parsed *out)
{
    out->kind = row_count > 0 ? KILN__PARSED_ROWS : KILN__PARSED_TUPLE;
    out->list = list;
    out->items = kiln__tuple_new(p, count);
    out->rows = row_count > 0 ? kiln__parser_keep(p, row_count * sizeof *rows) : NULL;
    if (out->items == NULL || (row_count > 0 && out->rows == NULL))
        return kiln__fail_memory(p->err, count * sizeof *nodes);
    memcpy(out->items, nodes, count * sizeof *nodes);
    if (row_count > 0)
        memcpy(out->rows, rows, row_count * sizeof *rows);
    out->count = row_count > 0 ? row_count : count;
    return KILN_OK;
}

/* Lists of numbers that come before something else, which is `v`, in a list: each becomes an array. */
static kiln_status arrays_of_rows(kiln__parser *p, const kiln__parsed *v, kiln_node *nodes,
                                  size_t count, int64_t *rows, size_t row_count, bool list)
{
    kiln__parsed all = *v;

    for (size_t k = 0; k < count; k++)
        if (!list || !kiln__is_of_numbers(p, &nodes[k]))
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a %s is needed here, as those before it",
                                    list ? "list" : "tuple");
    all.kind = KILN__PARSED_ROWS;
    all.list = true;
    all.items = nodes;
    all.rows = rows;
    all.count = row_count;
    return kiln__number_lists(p, &all);
}

/* The items before number `at` as values of any kind, which one of them is: its length only the device knows. */
static kiln_status begin_values(kiln__parser *p, const kiln_node *nodes, size_t at,
                                kiln__parsed **values)
{
    if (*values != NULL)
        return KILN_OK;
    *values = kiln__parser_keep(p, KILN__TUPLE_MAX * sizeof **values);
    if (*values == NULL)
        return kiln__fail_memory(p->err, KILN__TUPLE_MAX * sizeof **values);
    for (size_t k = 0; k < at; k++) {
        (*values)[k] = (kiln__parsed){.at = p->token.at, .width = 1};
        kiln__set_node(&(*values)[k], nodes[k]);
    }
    return KILN_OK;
}

/* Whether an item makes its list a list of lists or tuples, or a tuple a tuple of tuples. */
static bool is_row(const kiln__parser *p, const kiln__parsed *v, bool list)
{
    return (list && kiln__is_list(v)) ||
           (v->kind == KILN__PARSED_TUPLE && !v->list && p->text[v->at] == '(');
}

/* A comma-separated list up to `close`, the token after its opening; one value without a comma is
 * that value, unless `tuple` asks for a tuple. */
static kiln_status parse_list(kiln__parser *p, const char *close, bool tuple, kiln__parsed *out)
{
    kiln_node nodes[KILN__TUPLE_MAX];
    int64_t rows[KILN__TUPLE_MAX];
    size_t count = 0, row_count = 0, at = p->token.at;
    kiln__parsed *values = NULL;

    while (!kiln__is_mark(p, close)) {
        kiln__parsed v;
        KILN_CHECK(kiln__parse_expression(p, &v));
        if (count == 0 && !tuple && kiln__is_mark(p, close)) {
            *out = v;
            return kiln__next_token(p);
        }
        kiln__settle(&v);
        const bool row = is_row(p, &v, tuple) && (row_count > 0 || count == 0);
        const size_t items = row ? v.count : 1;
        if (count == KILN__TUPLE_MAX && row_count == 0 && values == NULL && close[0] == ']')
            return kiln__parse_long_list(p, nodes, count, &v, at, kiln__parse_expression, out);
        if (count + items > KILN__TUPLE_MAX || row_count >= KILN__TUPLE_MAX) /* rows may be empty */
            return kiln__parse_fail(p, v.at, v.width, KILN_ERR_ARGUMENT,
                                    "this list has more than %d items", KILN__TUPLE_MAX);
        if (!row && row_count > 0) {
            KILN_CHECK(arrays_of_rows(p, &v, nodes, count, rows, row_count, tuple));
            count = row_count;
            row_count = 0;
        }
        if (kiln__is_counted(&v))
            KILN_CHECK(begin_values(p, nodes, count, &values));
        else if (!row)
            KILN_CHECK(kiln__need_node(p, &v));
        if (row)
            rows[row_count++] = (int64_t)items;
        if (values != NULL)
            values[count] = v;
        if (items > 0)
            memcpy(nodes + count, row ? v.items : &v.node, items * sizeof *nodes);
        count += items;
        if (!kiln__is_mark(p, close))
            KILN_CHECK(kiln__expect_comma(p, close));
    }
    memset(out, 0, sizeof *out);
    KILN_CHECK(keep_list(p, nodes, count, rows, row_count, tuple, out));
    if (values != NULL) {
        out->kind = KILN__PARSED_SEVERAL;
        out->values = values;
    }
    out->at = at;
    out->width = p->token.at - at;
    return kiln__next_token(p);
}

/* ---- calls and subscripts ---------------------------------------------------------------------- */

/* A word, with quotes or without, as a text. */
static kiln_status parse_word(kiln__parser *p, kiln__parsed *out)
{
    const bool quoted = p->token.kind == KILN__TOKEN_TEXT;

    out->kind = KILN__PARSED_TEXT;
    out->at = p->token.at;
    out->width = p->token.width;
    out->word = p->text + p->token.at + quoted;
    out->word_bytes = p->token.width - 2 * quoted;
    return kiln__next_token(p);
}

/* The value of an argument without effect: a number, None, or one of some words. */
static kiln_status parse_idle(kiln__parser *p, const char *name, size_t bytes, const char *words)
{
    kiln__parsed v = {.at = p->token.at};

    KILN_CHECK(p->token.kind == KILN__TOKEN_TEXT ? parse_word(p, &v) : kiln__parse_expression(p, &v));
    return kiln__check_idle(p, &v, name, bytes, words);
}

/* `axis=...`, the token after the '='. */
static kiln_status parse_keyword(kiln__parser *p, kiln__parsed_call *c, size_t at, size_t bytes)
{
    const char *name = p->text + at;
    kiln__parsed *into = kiln__same_word(name, bytes, "axis")       ? &c->axis
                         : kiln__same_word(name, bytes, "dtype")    ? &c->dtype
                         : kiln__same_word(name, bytes, "keepdims") ? &c->keepdims
                                                                    : NULL;
    const bool quoted = p->token.kind == KILN__TOKEN_TEXT;
    const bool word = quoted || p->token.kind == KILN__TOKEN_NAME;
    const bool method = kiln__same_word(name, bytes, "method");
    const bool mode = method || kiln__same_word(name, bytes, "mode");
    char usage[KILN__USAGE_BYTES];
    const char *words;
    if (kiln__param_is_idle(c, name, bytes, &words))
        return parse_idle(p, name, bytes, words);
    if (into == NULL && c->named_count < KILN__NAMED_MAX &&
        (kiln__written_takes(c, name, bytes) || kiln__arranging_takes(c, name, bytes) ||
         kiln__making_takes(c, name, bytes) || kiln__ordered_takes(c, name, bytes) ||
         kiln__composed_takes(c, name, bytes) || kiln__histograms_takes(c, name, bytes) ||
         kiln__gradients_takes(c, name, bytes))) {
        c->named[c->named_count].name = name;
        c->named[c->named_count].bytes = bytes;
        into = &c->named[c->named_count++].value;
        if (mode && word)
            return parse_word(p, into);
    } else if (mode && word) {
        if (c->mode_bytes > 0)
            return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "this argument is given twice");
        c->mode = p->token.at + quoted;
        c->mode_bytes = p->token.width - 2 * quoted;
        c->method = method;
        return kiln__next_token(p);
    }
    if (into == NULL && (kiln__arranging_usage(c, usage, sizeof usage) ||
                         kiln__written_usage(c, usage, sizeof usage)))
        return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "there is no argument `%.*s` here: %s",
                                bytes < 60 ? (int)bytes : 60, name, usage);
    const kiln__opaque *o = kiln__opaque_named(c->name, c->bytes);
    if (into == NULL)
        return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "there is no argument `%.*s` here%s",
                                bytes < 60 ? (int)bytes : 60, name,
                                o == NULL       ? "; axis, keepdims and dtype may be given by name"
                                : o->takes_axis ? "; axis may be given by name"
                                                : "");
    if (into->width != 0)
        return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "this argument is given twice");
    return kiln__parse_expression(p, into);
}

static kiln_status parse_argument(kiln__parser *p, kiln__parsed_call *c)
{
    const kiln__token token = p->token;
    const size_t behind = p->behind;

    if (token.kind == KILN__TOKEN_NAME) {
        KILN_CHECK(kiln__next_token(p));
        if (kiln__is_mark(p, "=")) {
            KILN_CHECK(kiln__next_token(p));
            return parse_keyword(p, c, token.at, token.width);
        }
        p->token = token;
        p->behind = behind;
    }
    if (c->count == KILN__ARGUMENTS_MAX)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "%.*s has too many arguments", (int)c->bytes, c->name);
    kiln__parsed *const v = &c->arg[c->count++];
    KILN_CHECK(kiln__parse_expression(p, v));
    kiln__settle(v);
    return KILN_OK;
}

static kiln_status parse_arguments(kiln__parser *p, kiln__parsed_call *c)
{
    while (!kiln__is_mark(p, ")")) {
        KILN_CHECK(parse_argument(p, c));
        if (!kiln__is_mark(p, ")"))
            KILN_CHECK(kiln__expect_comma(p, ")"));
    }
    return kiln__next_token(p);
}

static kiln_status parse_call(kiln__parser *p, size_t at, size_t bytes, const kiln__parsed *self,
                              kiln__parsed *out)
{
    kiln__parsed_call *c = kiln__calloc(1, sizeof *c); /* too large for recursion */
    if (c == NULL)
        return kiln__fail_memory(p->err, sizeof *c);
    c->name = p->text + at;
    c->at = at;
    c->bytes = bytes;
    if (self != NULL)
        c->arg[c->count++] = *self;
    c->of_array = self != NULL;
    kiln_status status = parse_arguments(p, c);
    if (status == KILN_OK) {
        memset(out, 0, sizeof *out);
        status = kiln__apply_call(p, c, out);
    }
    kiln__free(c);
    return status;
}

/* One bound of a slice: nothing, None or an integer. */
static kiln_status parse_bound(kiln__parser *p, int64_t *out)
{
    kiln__parsed v;
    if (kiln__is_mark(p, ":") || kiln__is_mark(p, ",") || kiln__is_mark(p, "]"))
        return KILN_OK;
    KILN_CHECK(kiln__parse_expression(p, &v));
    return v.kind == KILN__PARSED_NONE ? KILN_OK : kiln__need_integer(p, &v, out);
}

/* `[start]:[stop][:[step]]`, from the first colon on. */
static kiln_status parse_slice(kiln__parser *p, kiln__subscript *s)
{
    s->kind = KILN_SUBSCRIPT_SLICE;
    s->number[1] = KILN_SLICE_OPEN;
    s->number[2] = 1;
    KILN_CHECK(kiln__next_token(p));
    KILN_CHECK(parse_bound(p, &s->number[1]));
    if (!kiln__is_mark(p, ":"))
        return KILN_OK;
    KILN_CHECK(kiln__next_token(p));
    return parse_bound(p, &s->number[2]);
}

/* What is a mask stands in the subscript, too. */
static kiln_status parse_one(kiln__parser *p, kiln__subscript *s)
{
    kiln__parsed *mask;
    kiln__parsed v;
    s->line = (int)p->token.at + 1;
    if (kiln__is_mark(p, "...")) {
        s->kind = KILN_SUBSCRIPT_ELLIPSIS;
        return kiln__next_token(p);
    }
    s->number[0] = KILN_SLICE_OPEN;
    if (kiln__is_mark(p, ":"))
        return parse_slice(p, s);
    KILN_CHECK(kiln__parse_expression(p, &v));
    if (v.kind == KILN__PARSED_NONE && !kiln__is_mark(p, ":")) {
        s->kind = KILN_SUBSCRIPT_NEW_AXIS;
        return KILN_OK;
    }
    if (v.kind == KILN__PARSED_PLACES)
        kiln__places_mask(p, &v);
    if (kiln__is_list(&v) && !kiln__is_mark(p, ":"))
        KILN_CHECK(kiln__index_list(p, &v));
    if (v.kind == KILN__PARSED_ROWS)
        KILN_CHECK(kiln__need_node(p, &v));
    if ((kiln__is_mask(p, &v) || kiln__is_counted(&v)) && !kiln__is_mark(p, ":")) {
        if ((mask = kiln__parser_keep(p, sizeof *mask)) == NULL)
            return kiln__fail_memory(p->err, sizeof *mask);
        *mask = v;
        s->mask = mask;
        s->kind = KILN_SUBSCRIPT_INDEX; /* not looked at */
        return KILN_OK;
    }
    if (v.kind == KILN__PARSED_NODE && !kiln__is_of_numbers(p, &v.node) && !kiln__is_mark(p, ":")) {
        s->kind = KILN_SUBSCRIPT_ARRAY;
        s->node = v.node;
        return KILN_OK;
    }
    if (v.kind == KILN__PARSED_TUPLE)
        return kiln__parse_fail(
            p, v.at, v.width, KILN_ERR_ARGUMENT,
            "a tuple stands here: write x[2, 0] for an element, x[[2, 0]] for indices");
    if (v.kind != KILN__PARSED_NONE)
        KILN_CHECK(kiln__need_integer(p, &v, &s->number[0]));
    if (kiln__is_mark(p, ":"))
        return parse_slice(p, s);
    s->kind = KILN_SUBSCRIPT_INDEX;
    return KILN_OK;
}

/* What stands between brackets, the token after the first. `mask` receives one of those that are; NULL: none is. */
static kiln_status parse_subscripts(kiln__parser *p, kiln__subscript *list, size_t *count,
                                    const kiln__parsed **mask)
{
    bool ellipsis = false;

    *count = 0;
    *mask = NULL;
    do {
        if (*count > 0)
            KILN_CHECK(kiln__next_token(p));
        if (kiln__is_mark(p, "]") && *count > 0)
            break;
        if (*count == KILN__SUBSCRIPTS_MAX)
            return kiln__unexpected(p, "`]`");
        kiln__subscript *one = &list[(*count)++];
        *one = (kiln__subscript){.mask = NULL};
        KILN_CHECK(parse_one(p, one));
        *mask = one->mask != NULL ? one->mask : *mask;
        if (one->kind == KILN_SUBSCRIPT_ELLIPSIS && ellipsis)
            return kiln__parse_fail(p, (size_t)one->line - 1, 3, KILN_ERR_SYNTAX,
                                    "there may be one `...`");
        ellipsis = ellipsis || one->kind == KILN_SUBSCRIPT_ELLIPSIS;
    } while (kiln__is_mark(p, ","));
    return kiln__expect(p, "]");
}

/* One of several values: topk(x, 5)[1]. */
static kiln_status pick(const kiln__parser *p, const kiln__subscript *list, size_t count,
                        kiln__parsed *v)
{
    const int64_t all = (int64_t)v->count, i = list[0].number[0];

    if (count != 1 || list[0].kind != KILN_SUBSCRIPT_INDEX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "these are several values, of which a whole number chooses one");
    if (i < -all || i >= all)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_RANGE,
                                "there are %zu values here, and none has the number %" PRId64,
                                v->count, i);
    if (v->kind == KILN__PARSED_SEVERAL)
        *v = v->values[i < 0 ? i + all : i];
    else
        kiln__set_node(v, v->items[i < 0 ? i + all : i]);
    return KILN_OK;
}

static kiln_status parse_subscript(kiln__parser *p, kiln__parsed *v)
{
    kiln__subscript list[KILN__SUBSCRIPTS_MAX];
    const kiln__parsed *mask;
    const size_t at = v->at;
    size_t count;

    if (kiln__is_number_list(p, v))
        KILN_CHECK(kiln__need_node(p, v));
    if (v->kind == KILN__PARSED_SHAPE) {
        KILN_CHECK(parse_subscripts(p, list, &count, &mask));
        return kiln__pick_extent(p, list, mask != NULL ? 0 : count, v);
    }
    if (v->kind == KILN__PARSED_PLACES) {
        KILN_CHECK(parse_subscripts(p, list, &count, &mask));
        if (mask != NULL || count != 1 || list[0].kind != KILN_SUBSCRIPT_INDEX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "these are places along each axis, of which a whole number chooses one");
        kiln__places_along(v, list[0].number[0]);
        return KILN_OK;
    }
    if (v->kind == KILN__PARSED_TUPLE || v->kind == KILN__PARSED_SEVERAL) {
        KILN_CHECK(parse_subscripts(p, list, &count, &mask));
        return pick(p, list, mask != NULL ? 0 : count, v);
    }
    if (kiln__is_counted(v)) {
        const kiln__parsed x = *v;
        KILN_CHECK(parse_subscripts(p, list, &count, &mask));
        return kiln__subscript_counted(p, &x, list, count, mask, v);
    }
    KILN_CHECK(kiln__need_node(p, v));
    if (kiln__is_of_numbers(p, &v->node))
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "a plain number has no elements");
    KILN_CHECK(parse_subscripts(p, list, &count, &mask));
    const kiln__parsed x = *v;
    if (mask != NULL && count > 1)
        return kiln__subscript_masks(p, &x, list, count, v);
    if (mask != NULL && kiln__is_counted(mask))
        return kiln__take_counted(p, &x, mask, v);
    if (mask != NULL) {
        kiln__choose(v->node, mask->node, mask->at, v);
        return KILN_OK;
    }
    kiln__set_node(v,
                   kiln__index_nodes(v->node, list, count, KILN_INDEX_CHECK, KILN__PLACE(at)));
    return KILN_OK;
}

/* x.at[...], the token after `at`: elements that a method changes. */
static kiln_status parse_at(kiln__parser *p, kiln__parsed *v)
{
    kiln__subscript list[KILN__SUBSCRIPTS_MAX];
    const kiln__parsed *mask;

    KILN_CHECK(kiln__expect(p, "["));
    KILN_CHECK(parse_subscripts(p, list, &v->count, &mask));
    if (mask != NULL)
        return kiln__parse_fail(p, mask->at, mask->width, KILN_ERR_UNSUPPORTED,
                                kiln__is_counted(mask)
                                    ? "indices whose number only the device knows change nothing"
                                    : "where a mask chooses, write where(mask, value, x)");
    kiln_subscript *kept = kiln__parser_keep(p, v->count * sizeof *kept);
    if (kept == NULL)
        return kiln__fail_memory(p->err, v->count * sizeof *kept);
    for (size_t k = 0; k < v->count; k++)
        kept[k] = (kiln_subscript){.kind = list[k].kind,
                                   .start = list[k].number[0],
                                   .stop = list[k].number[1],
                                   .step = list[k].number[2],
                                   .node = list[k].node};
    v->kind = KILN__PARSED_AT;
    v->subscripts = kept;
    return KILN_OK;
}

/* ---- names ------------------------------------------------------------------------------------- */

static const kiln__parsed *find_name(const kiln__parser *p, const char *name, size_t bytes)
{
    for (size_t k = p->name_count; k-- > p->name_base;)
        if (p->names[k].bytes == bytes && memcmp(p->names[k].name, name, bytes) == 0)
            return &p->names[k].value;
    return NULL;
}

/* Predefined names: pi, None, float32, ... */
static bool constant(const char *name, size_t bytes, kiln__parsed *out)
{
    static const struct {
        const char *name;
        double value;
    } numbers[] = {{"pi", 3.14159265358979323846},
                   {"e", 2.71828182845904523536},
                   {"inf", INFINITY},
                   {"nan", NAN},
                   {"euler_gamma", 0.57721566490153286061}};
    for (size_t k = 0; k < KILN_COUNT_OF(numbers); k++) {
        if (kiln__same_word(name, bytes, numbers[k].name)) {
            kiln__set_node(out, kiln_node_of_float(numbers[k].value));
            return true;
        }
    }
    /* As Python writes imaginary numbers that have no digits. */
    if (kiln__same_word(name, bytes, "infj") || kiln__same_word(name, bytes, "nanj")) {
        kiln__set_node(out, kiln_node_of_complex(0, name[0] == 'i' ? INFINITY : NAN));
        return true;
    }
    if (kiln__same_word(name, bytes, "True") || kiln__same_word(name, bytes, "False")) {
        kiln__set_node(out, kiln_node_of_bool(name[0] == 'T'));
        return true;
    }
    if (kiln__same_word(name, bytes, "None") || kiln__same_word(name, bytes, "newaxis")) {
        out->kind = KILN__PARSED_NONE;
        return true;
    }
    for (int d = 1; d < KILN_DTYPE_COUNT; d++) {
        if (kiln__same_word(name, bytes, kiln_dtype_name((kiln_dtype)d))) {
            out->kind = KILN__PARSED_DTYPE;
            out->dtype = (kiln_dtype)d;
            return true;
        }
    }
    return false;
}

static kiln_status parse_name(kiln__parser *p, kiln__parsed *out)
{
    size_t at = p->token.at, bytes = p->token.width;
    const kiln__parsed *known = find_name(p, p->text + at, bytes);

    KILN_CHECK(kiln__next_token(p));
    while (known == NULL && kiln__is_mark(p, ".") &&
           (kiln__same_word(p->text + at, bytes, "np") ||
            kiln__same_word(p->text + at, bytes, "numpy") ||
            kiln__same_word(p->text + at, bytes, "linalg"))) {
        KILN_CHECK(kiln__next_token(p)); /* np.NAME and np.linalg.NAME are NAME */
        if (p->token.kind != KILN__TOKEN_NAME)
            return kiln__unexpected(p, "a name");
        at = p->token.at;
        bytes = p->token.width;
        KILN_CHECK(kiln__next_token(p));
    }
    if (known != NULL) {
        *out = *known;
        return KILN_OK;
    }
    if (kiln__is_mark(p, "(")) {
        KILN_CHECK(kiln__next_token(p));
        return parse_call(p, at, bytes, NULL, out);
    }
    if (constant(p->text + at, bytes, out))
        return KILN_OK;
    if (kiln__op_named(p->text + at, bytes) != NULL)
        return kiln__parse_fail(p, at, bytes, KILN_ERR_SYNTAX,
                                "`%.*s` is a function: its operands are missing", (int)bytes,
                                p->text + at);
    static const char *const python[] = {"if", "else", "for", "while", "lambda", "def", "import"};
    for (size_t k = 0; k < KILN_COUNT_OF(python); k++)
        if (kiln__same_word(p->text + at, bytes, python[k]))
            return kiln__parse_fail(p, at, bytes, KILN_ERR_SYNTAX, "expressions have no `%s`%s",
                                    python[k],
                                    k < 2 ? "; where(condition, x, y) chooses by elements" : "");
    return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "`%.*s` is not defined",
                            bytes < 60 ? (int)bytes : 60, p->text + at);
}

static kiln_status parse_primary(kiln__parser *p, kiln__parsed *out)
{
    const size_t at = p->token.at;

    memset(out, 0, sizeof *out);
    if (p->token.kind == KILN__TOKEN_NUMBER) {
        kiln__set_node(out, p->token.number);
        KILN_CHECK(kiln__next_token(p));
    } else if (p->token.kind == KILN__TOKEN_TEXT) {
        KILN_CHECK(parse_word(p, out));
    } else if (kiln__is_word(p, "not")) {
        return kiln__parse_fail(p, at, 3, KILN_ERR_SYNTAX,
                                "`not` asks for one truth value: write logical_not(...) or ~");
    } else if (p->token.kind == KILN__TOKEN_NAME) {
        KILN_CHECK(parse_name(p, out));
    } else if (kiln__is_mark(p, "(") || kiln__is_mark(p, "[")) {
        const bool list = kiln__is_mark(p, "[");
        KILN_CHECK(kiln__next_token(p));
        KILN_CHECK(parse_list(p, list ? "]" : ")", list, out));
    } else {
        return kiln__unexpected(p, "an operand");
    }
    out->at = at;
    out->width = p->behind - at;
    return KILN_OK;
}

/* `.name` behind a value: T, real, imag, shape, size, ndim, at[...], or a method. */
static kiln_status parse_member(kiln__parser *p, kiln__parsed *v)
{
    const size_t at = p->token.at, bytes = p->token.width;

    bool known = false;

    kiln__settle(v);
    if (!kiln__is_counted(v) && v->kind != KILN__PARSED_AT)
        KILN_CHECK(kiln__need_node(p, v));
    kiln__parsed self = *v;
    if (p->token.kind != KILN__TOKEN_NAME)
        return kiln__unexpected(p, "a name");
    KILN_CHECK(kiln__next_token(p));
    if (kiln__is_mark(p, "(")) {
        KILN_CHECK(kiln__next_token(p));
        return parse_call(p, at, bytes, &self, v);
    }
    if (kiln__same_word(p->text + at, bytes, "real"))
        return kiln__apply(p, KILN_OP_REAL, &self, at, bytes, v);
    if (kiln__same_word(p->text + at, bytes, "imag"))
        return kiln__apply(p, KILN_OP_IMAG, &self, at, bytes, v);
    if (kiln__is_counted(v))
        KILN_CHECK(kiln__member_of_parts(p, &self, at, bytes, v, &known));
    if (known)
        return KILN_OK;
    KILN_CHECK(kiln__need_node(p, v));
    if (kiln__same_word(p->text + at, bytes, "at")) {
        v->node = kiln__graph_number(p->graph, v->node);
        return parse_at(p, v);
    }
    if (kiln__same_word(p->text + at, bytes, "mT")) {
        const int64_t last[] = {-1, -2};
        kiln__set_node(v, kiln_node_rearrange(KILN_REARRANGE_SWAPAXES, &self.node, 1, last, 2,
                                              KILN__PLACE(at)));
        return KILN_OK;
    }
    if (kiln__same_word(p->text + at, bytes, "T")) {
        kiln__set_node(v, kiln_node_transpose(self.node, NULL, KILN__PLACE(at)));
        return KILN_OK;
    }
    if (kiln__same_word(p->text + at, bytes, "shape")) {
        kiln__shape_of(p, v);
        return KILN_OK;
    }
    const bool size = kiln__same_word(p->text + at, bytes, "size");
    if (size || kiln__same_word(p->text + at, bytes, "ndim")) {
        kiln__set_extent(p, v->node, size ? KILN__EXTENT_ALL : KILN__EXTENT_RANK, -1, at, v);
        return KILN_OK;
    }
    return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "arrays have no `.%.*s` here",
                            bytes < 60 ? (int)bytes : 60, p->text + at);
}

static kiln_status parse_postfix(kiln__parser *p, kiln__parsed *out)
{
    KILN_CHECK(parse_primary(p, out));
    while (kiln__is_mark(p, "[") || kiln__is_mark(p, ".")) {
        const size_t at = out->at;
        const bool subscript = kiln__is_mark(p, "[");
        KILN_CHECK(kiln__next_token(p));
        KILN_CHECK(subscript ? parse_subscript(p, out) : parse_member(p, out));
        out->at = at;
        out->width = p->behind - at;
    }
    return KILN_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { LEVEL_COMPARE = 1, LEVEL_LAST = 7 };

static const struct {
    const char *mark;
    int level;
    kiln_op op; /* 0: a matrix product, which is no elementwise operation */
} operators[] = {
    {"<", 1, KILN_OP_LESS},           {"<=", 1, KILN_OP_LESS_EQUAL},  {">", 1, KILN_OP_GREATER},
    {">=", 1, KILN_OP_GREATER_EQUAL}, {"==", 1, KILN_OP_EQUAL},       {"!=", 1, KILN_OP_NOT_EQUAL},
    {"|", 2, KILN_OP_BITWISE_OR},     {"^", 3, KILN_OP_BITWISE_XOR},  {"&", 4, KILN_OP_BITWISE_AND},
    {"<<", 5, KILN_OP_LEFT_SHIFT},    {">>", 5, KILN_OP_RIGHT_SHIFT}, {"+", 6, KILN_OP_ADD},
    {"-", 6, KILN_OP_SUBTRACT},       {"*", 7, KILN_OP_MULTIPLY},     {"/", 7, KILN_OP_DIVIDE},
    {"//", 7, KILN_OP_FLOOR_DIVIDE},  {"%", 7, KILN_OP_REMAINDER},    {"@", 7, (kiln_op)0},
};

/* The index of the binary operator that the current token is, if it binds as tightly as `level` or
 * tighter; else -1. */
static int operator_here(const kiln__parser *p, int level)
{
    if (p->token.kind != KILN__TOKEN_MARK)
        return -1;
    for (size_t k = 0; k < KILN_COUNT_OF(operators); k++)
        if (operators[k].level >= level && strcmp(operators[k].mark, p->token.mark) == 0)
            return (int)k;
    return -1;
}

/* Refuse operators that Python has and arrays do not. */
static kiln_status refuse_foreign(const kiln__parser *p)
{
    const size_t at = p->token.at, width = p->token.width;
    if (kiln__is_word(p, "and") || kiln__is_word(p, "or"))
        return kiln__parse_fail(p, at, width, KILN_ERR_SYNTAX,
                                "`%.*s` asks for one truth value: write (a) %s (b)", (int)width,
                                p->text + at, p->text[at] == 'a' ? "&" : "|");
    if (kiln__is_word(p, "if"))
        return kiln__parse_fail(p, at, width, KILN_ERR_SYNTAX,
                                "`if` asks for one truth value: write where(condition, a, b)");
    return KILN_OK;
}

static kiln_status parse_unary(kiln__parser *p, kiln__parsed *out);

static kiln_status parse_power(kiln__parser *p, kiln__parsed *out)
{
    kiln__parsed operands[2];
    KILN_CHECK(parse_postfix(p, &operands[0]));
    if (!kiln__is_mark(p, "**")) {
        *out = operands[0];
        return KILN_OK;
    }
    const size_t at = p->token.at;
    if (++p->depth > KILN__DEPTH_MAX) /* x ** x ** x nests to the right */
        return kiln__parse_fail(p, at, 2, KILN_ERR_SYNTAX, "this is nested too deeply");
    KILN_CHECK(kiln__next_token(p));
    KILN_CHECK(parse_unary(p, &operands[1]));
    KILN_CHECK(kiln__apply(p, KILN_OP_POWER, operands, at, 2, out));
    p->depth--;
    out->at = operands[0].at;
    out->width = p->behind - out->at;
    return KILN_OK;
}

static kiln_status parse_unary(kiln__parser *p, kiln__parsed *out)
{
    const size_t at = p->token.at;
    const bool plus = kiln__is_mark(p, "+"), minus = kiln__is_mark(p, "-");
    kiln__parsed operand;

    memset(out, 0, sizeof *out);
    if (!plus && !minus && !kiln__is_mark(p, "~"))
        return parse_power(p, out);
    if (++p->depth > KILN__DEPTH_MAX)
        return kiln__parse_fail(p, at, 1, KILN_ERR_SYNTAX, "this is nested too deeply");
    const kiln_op op = plus ? KILN_OP_POSITIVE : minus ? KILN_OP_NEGATIVE : KILN_OP_INVERT;
    KILN_CHECK(kiln__next_token(p));
    KILN_CHECK(parse_unary(p, &operand));
    KILN_CHECK(kiln__apply(p, op, &operand, at, 1, out));
    out->at = at;
    out->width = p->behind - at;
    p->depth--;
    return KILN_OK;
}

static kiln_status parse_binary(kiln__parser *p, int level, kiln__parsed *out)
{
    kiln__parsed operands[2];
    bool compared = false;

    KILN_CHECK(parse_unary(p, &operands[0]));
    for (int k = 0; (k = operator_here(p, level)) >= 0;) {
        const size_t at = p->token.at, width = p->token.width, start = operands[0].at;
        kiln__parsed result;
        memset(&result, 0, sizeof result);
        if (compared && operators[k].level == LEVEL_COMPARE)
            return kiln__parse_fail(p, at, width, KILN_ERR_SYNTAX,
                                    "comparisons cannot be chained: write (a < b) & (b < c)");
        compared = operators[k].level == LEVEL_COMPARE;
        KILN_CHECK(kiln__next_token(p));
        KILN_CHECK(parse_binary(p, operators[k].level + 1, &operands[1]));
        kiln__settle(&operands[0]);
        kiln__settle(&operands[1]);
        KILN_CHECK(operators[k].op != 0
                       ? kiln__apply(p, operators[k].op, operands, at, width, &result)
                       : kiln__apply_matmul(p, operands, at, &result));
        result.at = start;
        result.width = p->behind - start;
        operands[0] = result;
    }
    *out = operands[0];
    return refuse_foreign(p);
}

kiln_status kiln__parse_expression(kiln__parser *p, kiln__parsed *out)
{
    memset(out, 0, sizeof *out);
    if (++p->depth > KILN__DEPTH_MAX)
        return kiln__parse_fail(p, p->token.at, 1, KILN_ERR_SYNTAX, "this is nested too deeply");
    kiln_status status = parse_binary(p, LEVEL_COMPARE, out);
    p->depth--;
    return status;
}
