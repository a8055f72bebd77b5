/*
 * parse.c - expressions, by NumPy's grammar and precedence, into nodes of a graph.
 *
 *     program    := statement (';' statement)* [';']
 *     statement  := [name (',' name)* '='] value (',' value)*
 *     value      := binary operators, loosest first: comparisons; |; ^; &; << >>; + -; * / // %
 *     unary      := ('+' | '-' | '~') unary | power
 *     power      := postfix ['**' unary]
 *     postfix    := primary ('[' subscript ']' | '.' name ['(' arguments ')'])*
 *     primary    := number | name | name '(' arguments ')' | '(' values ')' | '[' values ']'
 *
 * Values without a name are the results. Unary operators bind tighter than all binary ones but
 * `**`, which binds tighter on its left and takes a unary on its right: -x**-2 is -(x**(-2)).
 *
 * Rule: what Python would take but means something else for arrays (and, or, not, chained
 *       comparisons, @) is refused with what to write instead.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "graph/parse.h"

typedef struct kiln__tuple {
    struct kiln__tuple *next;
    kiln_node nodes[];
} kiln__tuple;

/* ---- values ---------------------------------------------------------------------------------- */

void kiln__set_node(kiln__parsed *v, kiln_node node)
{
    v->kind = KILN__PARSED_NODE;
    v->node = node;
}

bool kiln__is_of_numbers(const kiln__parser *p, const kiln_node *node)
{
    return kiln__is_plain(node) || (node->kind == KILN_NODE_GRAPH && node->graph == p->graph &&
                                    p->graph->ir.nodes[node->id].constant);
}

kiln_node *kiln__tuple_new(kiln__parser *p, size_t count)
{
    kiln__tuple *t = kiln__calloc(1, sizeof *t + (count + 1) * sizeof t->nodes[0]);
    if (t == NULL)
        return NULL;
    t->next = p->tuples;
    p->tuples = t;
    return t->nodes;
}

static void tuples_free(kiln__tuple *t)
{
    while (t != NULL) {
        kiln__tuple *next = t->next;
        kiln__free(t);
        t = next;
    }
}

kiln_status kiln__need_node(const kiln__parser *p, const kiln__parsed *v)
{
    static const char *const what[] = {[KILN__PARSED_TUPLE] = "a tuple",
                                       [KILN__PARSED_NONE] = "None",
                                       [KILN__PARSED_DTYPE] = "a dtype"};
    if (v->kind == KILN__PARSED_NODE)
        return KILN_OK;
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                            "%s stands where an array or a number must", what[v->kind]);
}

kiln_status kiln__need_integer(const kiln__parser *p, const kiln__parsed *v, int64_t *out)
{
    if (v->kind != KILN__PARSED_NODE || v->node.kind != KILN_NODE_INT)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "a whole number must stand here");
    *out = v->node.value.i;
    return KILN_OK;
}

static kiln_node record(kiln_op op, int arity, const kiln_node *n, size_t at)
{
    if (arity == 1)
        return kiln_node_op1(op, n[0], KILN__PLACE(at));
    if (arity == 2)
        return kiln_node_op2(op, n[0], n[1], KILN__PLACE(at));
    return kiln_node_op3(op, n[0], n[1], n[2], KILN__PLACE(at));
}

kiln_status kiln__apply(kiln__parser *p, kiln_op op, const kiln__parsed *operands, size_t at,
                        size_t width, kiln__parsed *out)
{
    const kiln__op *found = kiln__op_find(op);
    kiln_node nodes[KILN__OP_ARITY_MAX] = {{0}};
    kiln_node result = {0};
    bool plain = true;

    for (int k = 0; k < found->arity; k++) {
        kiln_status status = kiln__need_node(p, &operands[k]);
        if (status != KILN_OK)
            return status;
        nodes[k] = operands[k].node;
        plain = plain && kiln__is_plain(&nodes[k]);
    }
    const kiln__folded folded =
        plain ? kiln__fold(op, found->arity, nodes, &result) : KILN__FOLD_NOT;
    if (folded == KILN__FOLD_BEYOND)
        return kiln__parse_fail(p, at, width, KILN_ERR_RANGE,
                                "the result of %s is no integer of 64 bits", found->name);
    if (folded == KILN__FOLD_NOT) {
        nodes[0] = kiln__graph_number(p->graph, nodes[0]);
        result = record(op, found->arity, nodes, at);
    }
    kiln__set_node(out, result);
    return KILN_OK;
}

/* ---- primaries ------------------------------------------------------------------------------- */

/* A comma-separated list up to `close`, the token after its opening; one value without a comma is
 * that value, unless `tuple` asks for a tuple. */
static kiln_status parse_list(kiln__parser *p, const char *close, bool tuple, kiln__parsed *out)
{
    kiln_node nodes[KILN__TUPLE_MAX];
    size_t count = 0, at = p->token.at;
    kiln_status status = KILN_OK;

    while (!kiln__is_mark(p, close)) {
        kiln__parsed v;
        status = kiln__parse_expression(p, &v);
        if (status == KILN_OK && count == 0 && !tuple && kiln__is_mark(p, close)) {
            *out = v;
            return kiln__next_token(p);
        }
        if (status == KILN_OK)
            status = kiln__need_node(p, &v);
        if (status == KILN_OK && count == KILN__TUPLE_MAX)
            status = kiln__parse_fail(p, v.at, v.width, KILN_ERR_ARGUMENT,
                                      "this list has more than %d items", KILN__TUPLE_MAX);
        if (status != KILN_OK)
            return status;
        nodes[count++] = v.node;
        if (!kiln__is_mark(p, close)) {
            status = kiln__expect(p, ",");
            if (status != KILN_OK)
                return status;
        }
    }
    memset(out, 0, sizeof *out);
    out->kind = KILN__PARSED_TUPLE;
    out->items = kiln__tuple_new(p, count);
    if (out->items == NULL)
        return kiln__fail_memory(p->err, count * sizeof nodes[0]);
    memcpy(out->items, nodes, count * sizeof nodes[0]);
    out->count = count;
    out->at = at;
    out->width = p->token.at - at;
    return kiln__next_token(p);
}

static const kiln__parsed *find_name(const kiln__parser *p, const char *name, size_t bytes)
{
    for (size_t k = p->name_count; k-- > 0;)
        if (p->names[k].bytes == bytes && memcmp(p->names[k].name, name, bytes) == 0)
            return &p->names[k].value;
    return NULL;
}

/* pi, None, float32, ...: names that mean something by themselves. */
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
    kiln_status status = kiln__next_token(p);

    if (status == KILN_OK && known == NULL && kiln__is_mark(p, ".") &&
        (kiln__same_word(p->text + at, bytes, "np") ||
         kiln__same_word(p->text + at, bytes, "numpy"))) {
        status = kiln__next_token(p); /* NumPy's own spelling of all that follows */
        if (status == KILN_OK && p->token.kind != KILN__TOKEN_NAME)
            return kiln__unexpected(p, "a name");
        at = p->token.at;
        bytes = p->token.width;
        if (status == KILN_OK)
            status = kiln__next_token(p);
    }
    if (status != KILN_OK)
        return status;
    if (known != NULL) {
        *out = *known;
        return KILN_OK;
    }
    if (kiln__is_mark(p, "(")) {
        status = kiln__next_token(p);
        return status == KILN_OK ? kiln__parse_call(p, at, bytes, NULL, out) : status;
    }
    if (constant(p->text + at, bytes, out))
        return KILN_OK;
    if (kiln__op_named(p->text + at, bytes) != NULL)
        return kiln__parse_fail(p, at, bytes, KILN_ERR_SYNTAX,
                                "`%.*s` is a function: its operands are missing", (int)bytes,
                                p->text + at);
    return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "`%.*s` is not defined",
                            bytes < 60 ? (int)bytes : 60, p->text + at);
}

static kiln_status parse_primary(kiln__parser *p, kiln__parsed *out)
{
    kiln_status status = KILN_OK;
    const size_t at = p->token.at;

    memset(out, 0, sizeof *out);
    if (p->token.kind == KILN__TOKEN_NUMBER) {
        kiln__set_node(out, p->token.number);
        status = kiln__next_token(p);
    } else if (kiln__is_word(p, "not")) {
        return kiln__parse_fail(p, at, 3, KILN_ERR_SYNTAX,
                                "`not` asks for one truth value: write logical_not(...) or ~");
    } else if (p->token.kind == KILN__TOKEN_NAME) {
        status = parse_name(p, out);
    } else if (kiln__is_mark(p, "(") || kiln__is_mark(p, "[")) {
        const bool list = kiln__is_mark(p, "[");
        status = kiln__next_token(p);
        if (status == KILN_OK)
            status = parse_list(p, list ? "]" : ")", list, out);
    } else {
        return kiln__unexpected(p, "an operand");
    }
    out->at = at;
    out->width = p->behind - at;
    return status;
}

/* `.name` behind a value: T, real and imag, or a method. */
static kiln_status parse_member(kiln__parser *p, kiln__parsed *v)
{
    const kiln__parsed self = *v;
    const size_t at = p->token.at, bytes = p->token.width;
    kiln_status status = kiln__need_node(p, v);

    if (status == KILN_OK && p->token.kind != KILN__TOKEN_NAME)
        status = kiln__unexpected(p, "a name");
    if (status == KILN_OK)
        status = kiln__next_token(p);
    if (status != KILN_OK)
        return status;
    if (kiln__is_mark(p, "(")) {
        status = kiln__next_token(p);
        return status == KILN_OK ? kiln__parse_call(p, at, bytes, &self, v) : status;
    }
    if (kiln__same_word(p->text + at, bytes, "T")) {
        kiln__set_node(v, kiln_node_transpose(self.node, NULL, KILN__PLACE(at)));
        return KILN_OK;
    }
    if (kiln__same_word(p->text + at, bytes, "real"))
        return kiln__apply(p, KILN_OP_REAL, &self, at, bytes, v);
    if (kiln__same_word(p->text + at, bytes, "imag"))
        return kiln__apply(p, KILN_OP_IMAG, &self, at, bytes, v);
    return kiln__parse_fail(p, at, bytes, KILN_ERR_NAME, "arrays have no `.%.*s` here",
                            bytes < 60 ? (int)bytes : 60, p->text + at);
}

static kiln_status parse_postfix(kiln__parser *p, kiln__parsed *out)
{
    kiln_status status = parse_primary(p, out);
    while (status == KILN_OK && (kiln__is_mark(p, "[") || kiln__is_mark(p, "."))) {
        const size_t at = out->at;
        const bool subscript = kiln__is_mark(p, "[");
        status = kiln__next_token(p);
        if (status == KILN_OK)
            status = subscript ? kiln__parse_subscript(p, out) : parse_member(p, out);
        out->at = at;
        out->width = p->behind - at;
    }
    return status;
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { LEVEL_COMPARE = 1, LEVEL_LAST = 7 };

static const struct {
    const char *mark;
    int level;
    kiln_op op;
} operators[] = {
    {"<", 1, KILN_OP_LESS},           {"<=", 1, KILN_OP_LESS_EQUAL},  {">", 1, KILN_OP_GREATER},
    {">=", 1, KILN_OP_GREATER_EQUAL}, {"==", 1, KILN_OP_EQUAL},       {"!=", 1, KILN_OP_NOT_EQUAL},
    {"|", 2, KILN_OP_BITWISE_OR},     {"^", 3, KILN_OP_BITWISE_XOR},  {"&", 4, KILN_OP_BITWISE_AND},
    {"<<", 5, KILN_OP_LEFT_SHIFT},    {">>", 5, KILN_OP_RIGHT_SHIFT}, {"+", 6, KILN_OP_ADD},
    {"-", 6, KILN_OP_SUBTRACT},       {"*", 7, KILN_OP_MULTIPLY},     {"/", 7, KILN_OP_DIVIDE},
    {"//", 7, KILN_OP_FLOOR_DIVIDE},  {"%", 7, KILN_OP_REMAINDER},
};

/* The binary operator looked at, of this level or a tighter one; -1 when there is none. */
static int operator_here(const kiln__parser *p, int level)
{
    if (p->token.kind != KILN__TOKEN_MARK)
        return -1;
    for (size_t k = 0; k < KILN_COUNT_OF(operators); k++)
        if (operators[k].level >= level && strcmp(operators[k].mark, p->token.mark) == 0)
            return (int)k;
    return -1;
}

/* Words and marks that Python has between values and arrays have not. */
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
    if (kiln__is_mark(p, "@"))
        return kiln__parse_fail(p, at, width, KILN_ERR_UNSUPPORTED,
                                "matrix products (@) are no elementwise operation, and not "
                                "supported");
    return KILN_OK;
}

static kiln_status parse_unary(kiln__parser *p, kiln__parsed *out);

static kiln_status parse_power(kiln__parser *p, kiln__parsed *out)
{
    kiln__parsed operands[2];
    kiln_status status = parse_postfix(p, &operands[0]);
    if (status != KILN_OK || !kiln__is_mark(p, "**")) {
        *out = operands[0];
        return status;
    }
    const size_t at = p->token.at;
    if (++p->depth > KILN__DEPTH_MAX) /* x ** x ** x nests to the right */
        return kiln__parse_fail(p, at, 2, KILN_ERR_SYNTAX, "this is nested too deeply");
    status = kiln__next_token(p);
    if (status == KILN_OK)
        status = parse_unary(p, &operands[1]);
    if (status == KILN_OK)
        status = kiln__apply(p, KILN_OP_POWER, operands, at, 2, out);
    p->depth--;
    out->at = operands[0].at;
    out->width = p->behind - out->at;
    return status;
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
    kiln_status status = kiln__next_token(p);
    if (status == KILN_OK)
        status = parse_unary(p, &operand);
    if (status == KILN_OK)
        status = kiln__apply(p,
                             plus    ? KILN_OP_POSITIVE
                             : minus ? KILN_OP_NEGATIVE
                                     : KILN_OP_INVERT,
                             &operand, at, 1, out);
    out->at = at;
    out->width = p->behind - at;
    p->depth--;
    return status;
}

static kiln_status parse_binary(kiln__parser *p, int level, kiln__parsed *out)
{
    kiln__parsed operands[2];
    kiln_status status = parse_unary(p, &operands[0]);
    bool compared = false;

    for (int k = 0; status == KILN_OK && (k = operator_here(p, level)) >= 0;) {
        const size_t at = p->token.at, width = p->token.width, start = operands[0].at;
        kiln__parsed result;
        memset(&result, 0, sizeof result);
        if (compared && operators[k].level == LEVEL_COMPARE)
            return kiln__parse_fail(p, at, width, KILN_ERR_SYNTAX,
                                    "comparisons cannot be chained: write (a < b) & (b < c)");
        compared = operators[k].level == LEVEL_COMPARE;
        status = kiln__next_token(p);
        if (status == KILN_OK)
            status = parse_binary(p, operators[k].level + 1, &operands[1]);
        if (status == KILN_OK)
            status = kiln__apply(p, operators[k].op, operands, at, width, &result);
        result.at = start;
        result.width = p->behind - start;
        operands[0] = result;
    }
    *out = operands[0];
    return status == KILN_OK ? refuse_foreign(p) : status;
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

/* ---- statements ------------------------------------------------------------------------------ */

/* How many names stand before a '=' here; 0 when this is no assignment. Moves nothing. */
static kiln_status count_targets(kiln__parser *p, size_t *count_out)
{
    const kiln__token token = p->token;
    const size_t behind = p->behind;
    kiln_status status = KILN_OK;
    size_t count = 0;

    *count_out = 0;
    while (status == KILN_OK && p->token.kind == KILN__TOKEN_NAME) {
        count++;
        status = kiln__next_token(p);
        if (status == KILN_OK && kiln__is_mark(p, "="))
            *count_out = count;
        if (status != KILN_OK || !kiln__is_mark(p, ","))
            break;
        status = kiln__next_token(p);
    }
    p->token = token;
    p->behind = behind;
    return status;
}

static kiln_status define_name(kiln__parser *p, const char *name, size_t bytes, kiln_node node)
{
    if (p->name_count == KILN__NAMES_MAX)
        return kiln__fail(p->err, KILN_ERR_ARGUMENT, "an expression has at most %d names",
                          KILN__NAMES_MAX);
    kiln__named *n = &p->names[p->name_count++];
    memset(n, 0, sizeof *n);
    n->name = name;
    n->bytes = bytes;
    kiln__set_node(&n->value, node);
    return KILN_OK;
}

static kiln_status add_result(kiln__parser *p, kiln_node node, const kiln__parsed *v)
{
    char name[32];
    snprintf(name, sizeof name, p->result_count == 0 ? "result" : "result%zu", p->result_count + 1);
    p->result_count++;
    kiln_node_output(p->graph, name, node, KILN__PLACE(v->at));
    return KILN_OK;
}

/* The values of a statement, tuples spread out, one by one to names or to results. */
static kiln_status parse_statement(kiln__parser *p)
{
    const size_t first = p->token.at;
    size_t targets = 0, count = 0, lengths[KILN__TUPLE_MAX], places[KILN__TUPLE_MAX];
    kiln_node nodes[KILN__TUPLE_MAX];
    kiln__parsed v;
    kiln_status status = count_targets(p, &targets);

    if (status == KILN_OK && targets > KILN__TUPLE_MAX)
        status = kiln__parse_fail(p, first, 1, KILN_ERR_ARGUMENT, "these are too many names");
    for (size_t k = 0; k < targets && status == KILN_OK; k++) {
        places[k] = p->token.at;
        lengths[k] = p->token.width;
        status = kiln__next_token(p);
        if (status == KILN_OK)
            status = kiln__next_token(p); /* the ',' or '=' behind it */
    }
    do {
        if (status == KILN_OK && count > 0)
            status = kiln__next_token(p);
        if (status == KILN_OK)
            status = kiln__parse_expression(p, &v);
        if (status == KILN_OK && v.kind != KILN__PARSED_TUPLE) {
            status = kiln__need_node(p, &v);
            v.items = &v.node;
            v.count = 1;
        }
        for (size_t k = 0; status == KILN_OK && k < v.count; k++) {
            if (count == KILN__TUPLE_MAX)
                return kiln__parse_fail(p, v.at, v.width, KILN_ERR_ARGUMENT, "too many values");
            nodes[count++] = v.items[k];
            if (targets == 0)
                status = add_result(p, v.items[k], &v);
        }
    } while (status == KILN_OK && kiln__is_mark(p, ","));
    if (status == KILN_OK && targets > 0 && targets != count)
        status = kiln__parse_fail(p, first, p->behind - first, KILN_ERR_ARGUMENT,
                                  "%zu name%s for %zu value%s", targets,
                                  targets == 1 ? "" : "s", count, count == 1 ? "" : "s");
    for (size_t k = 0; k < targets && status == KILN_OK; k++)
        status = define_name(p, p->text + places[k], lengths[k], nodes[k]);
    return status;
}

static kiln_status parse_program(kiln__parser *p)
{
    kiln_status status = kiln__next_token(p);
    while (status == KILN_OK) {
        status = parse_statement(p);
        if (status != KILN_OK || p->token.kind == KILN__TOKEN_END)
            break;
        status = kiln__is_mark(p, ";") ? kiln__next_token(p) : kiln__unexpected(p, "an operator");
        if (status == KILN_OK && p->token.kind == KILN__TOKEN_END)
            break;
    }
    if (status == KILN_OK && p->result_count == 0)
        status = kiln__parse_fail(p, 0, 1, KILN_ERR_OUTPUT,
                                  "every value got a name; write the result last, without one");
    return status;
}

/* ---- the public function --------------------------------------------------------------------- */

bool kiln__input_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == name || *c < '0' || *c > '9'))
            return false;
    }
    return name[0] != '\0';
}

static kiln_status add_inputs(kiln__parser *p, const char *const *names, size_t count)
{
    kiln_status status = KILN_OK;
    for (size_t k = 0; k < count && status == KILN_OK; k++) {
        if (names[k] == NULL || !kiln__input_name(names[k]))
            return kiln__fail(p->err, KILN_ERR_NAME, "the name \"%.60s\" is no identifier",
                              names[k] != NULL ? names[k] : "");
        status =
            define_name(p, names[k], strlen(names[k]),
                        kiln_node_input(p->graph, names[k], KILN_DTYPE_NONE, -1, KILN__PLACE(0)));
    }
    return status;
}

size_t kiln__expression_place(const kiln_error *err)
{
    static const char *const spellings[] = {"expression, column ", "expression:"};

    for (size_t k = 0; err != NULL && k < KILN_COUNT_OF(spellings); k++) {
        const char *place = strstr(err->message, spellings[k]);
        const size_t column = place != NULL ? strtoul(place + strlen(spellings[k]), NULL, 10) : 0;
        if (column > 0)
            return column - 1;
    }
    return SIZE_MAX;
}

/* What recording found is told with its place: point at it. */
static void show_place(const char *text, kiln_error *err)
{
    const size_t place = kiln__expression_place(err);

    if (place < strlen(text) && err->detail == NULL)
        err->detail = kiln__caret(text, place, 1);
}

kiln_status kiln__graph_from_text(kiln_context *ctx, const char *text, const char *const *names,
                                  size_t name_count, const char *name, kiln_graph **out,
                                  size_t *results_out, kiln_error *err)
{
    kiln__parser p = {.text = text, .err = err};
    kiln_status status = KILN_OK;

    *out = NULL;
    p.names = kiln__calloc(KILN__NAMES_MAX, sizeof *p.names);
    if (p.names == NULL)
        return kiln__fail_memory(err, KILN__NAMES_MAX * sizeof *p.names);
    KILN_TRY(kiln__graph_new(ctx, name, &p.graph, err));
    KILN_TRY(add_inputs(&p, names, name_count));
    KILN_TRY(parse_program(&p));
    status = kiln_graph_compile(p.graph, err);
    if (status != KILN_OK) {
        show_place(text, err);
        goto done;
    }
    *out = p.graph;
    p.graph = NULL;
    if (results_out != NULL)
        *results_out = p.result_count;

done:
    kiln_graph_destroy(p.graph);
    tuples_free(p.tuples);
    kiln__free(p.names);
    return status;
}

kiln_status kiln_graph_parse(kiln_context *ctx, const char *text, const char *const *names,
                             size_t name_count, const kiln_graph_options *opts, kiln_graph **out,
                             size_t *results_out, kiln_error *err)
{
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;

    if (results_out != NULL)
        *results_out = 0;
    if (out != NULL)
        *out = NULL;
    if (ctx == NULL || text == NULL || out == NULL || (names == NULL && name_count > 0))
        return kiln__fail(err, KILN_ERR_NULL, "kiln_graph_parse: `%s` is NULL",
                          ctx == NULL    ? "ctx"
                          : text == NULL ? "text"
                          : out == NULL  ? "out"
                                         : "names");
    if (opts != NULL) {
        kiln_status status =
            kiln__options_read(&o, sizeof o, opts, opts->struct_size, "kiln_graph_options", err);
        if (status != KILN_OK)
            return status;
    }
    return kiln__graph_from_text(ctx, text, names, name_count, o.name, out, results_out, err);
}
