/* graph_oracle.c - see graph_oracle.h. */
#include "graph_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_ELEMENTS = 4000 };
#define VALUE_MAX 1e3

oracle_value oracle_make(char kind, int rank, const int64_t *shape)
{
    oracle_value v = {.kind = kind, .rank = rank, .size = 1};
    for (int a = 0; a < rank; a++) {
        v.shape[a] = shape[a];
        v.size *= shape[a];
    }
    if (kind == 'f')
        v.f = calloc((size_t)v.size + 1, sizeof *v.f);
    else
        v.i = calloc((size_t)v.size + 1, sizeof *v.i);
    return v;
}

void oracle_free(oracle_value *v)
{
    free(v->f);
    free(v->i);
    memset(v, 0, sizeof *v);
}

const char *oracle_name(oracle_op op)
{
    static const char *const names[ORACLE_OP_COUNT] = {
        "input",  "constant", "add",       "subtract", "multiply", "maximum", "negative",
        "absolute", "square", "tanh",      "exp",      "sqrt(abs + 1)", "less",   "where",
        "cast",   "sum",      "mean",      "max",      "min",      "var",     "argmax",
        "transpose", "newaxis", "flip",    "slice",    "take",     "broadcast_to", "reshape",
        "index"};
    return names[op];
}

/* ---- indices ---------------------------------------------------------------------------------------- */

static void unravel(int64_t at, int rank, const int64_t *shape, int64_t *index)
{
    for (int a = rank - 1; a >= 0; a--) {
        index[a] = at % shape[a];
        at /= shape[a];
    }
}

static int64_t ravel(int rank, const int64_t *shape, const int64_t *index)
{
    int64_t at = 0;
    for (int a = 0; a < rank; a++)
        at = at * shape[a] + index[a];
    return at;
}

/* Where an element of a broadcast result is in an operand. */
static int64_t at_operand(const oracle_value *v, int rank, const int64_t *index)
{
    int64_t own[ORACLE_RANK_MAX];
    for (int a = 0; a < v->rank; a++)
        own[a] = v->shape[a] == 1 ? 0 : index[a + rank - v->rank];
    return ravel(v->rank, v->shape, own);
}

static bool broadcast(const oracle_value *v, int *rank, int64_t *shape)
{
    while (*rank < v->rank) {
        memmove(shape + 1, shape, (size_t)*rank * sizeof *shape);
        shape[0] = 1;
        ++*rank;
    }
    for (int a = 0; a < v->rank; a++) {
        int64_t *mine = &shape[a + *rank - v->rank];
        if (*mine == 1)
            *mine = v->shape[a];
        else if (v->shape[a] != 1 && v->shape[a] != *mine)
            return false;
    }
    return true;
}

/* ---- elementwise -------------------------------------------------------------------------------------- */

static double float_result(oracle_op op, double x, double y)
{
    switch (op) {
    case ORACLE_ADD:
        return x + y;
    case ORACLE_SUBTRACT:
        return x - y;
    case ORACLE_MULTIPLY:
        return x * y;
    case ORACLE_MAXIMUM:
        return x > y ? x : y;
    case ORACLE_NEGATIVE:
        return -x;
    case ORACLE_ABSOLUTE:
        return fabs(x);
    case ORACLE_SQUARE:
        return x * x;
    case ORACLE_TANH:
        return tanh(x);
    case ORACLE_EXP:
        return exp(x);
    case ORACLE_ROOT:
        return sqrt(fabs(x) + 1); /* steep at 0, where roundings differ */
    default:
        return NAN;
    }
}

static int64_t integer_result(oracle_op op, int64_t x, int64_t y)
{
    switch (op) {
    case ORACLE_ADD:
        return x + y;
    case ORACLE_SUBTRACT:
        return x - y;
    case ORACLE_MULTIPLY:
        return x * y;
    case ORACLE_MAXIMUM:
        return x > y ? x : y;
    case ORACLE_NEGATIVE:
        return -x;
    case ORACLE_ABSOLUTE:
        return x < 0 ? -x : x;
    case ORACLE_SQUARE:
        return x * x;
    default:
        return x < y; /* less */
    }
}

static bool elementwise(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    const oracle_value *v[3] = {NULL};
    int64_t shape[ORACLE_RANK_MAX] = {0};
    int rank = 0;
    for (int k = 0; k < c->operand_count; k++) {
        v[k] = &values[c->operand[k]];
        if (!broadcast(v[k], &rank, shape))
            return false;
    }
    const bool where = c->op == ORACLE_WHERE;
    const char kind = v[where ? 1 : 0]->kind;
    if (where ? v[0]->kind != 'b' || kind == 'b' || (!c->weak && v[2]->kind != kind)
              : kind == 'b' || (c->operand_count == 2 && v[1]->kind != kind))
        return false;
    if (kind != 'f' && (c->op == ORACLE_TANH || c->op == ORACLE_EXP || c->op == ORACLE_ROOT))
        return false;
    if (kind == 'f' && c->op == ORACLE_LESS)
        return false;
    *out = oracle_make(c->op == ORACLE_LESS ? 'b' : kind, rank, shape);
    for (int64_t e = 0; e < out->size; e++) {
        int64_t index[ORACLE_RANK_MAX], at[3] = {0};
        unravel(e, rank, shape, index);
        for (int k = 0; k < c->operand_count; k++)
            at[k] = at_operand(v[k], rank, index);
        if (where) {
            const bool first = v[0]->i[at[0]] != 0;
            if (kind == 'f')
                out->f[e] = first ? v[1]->f[at[1]] : c->weak ? c->number : v[2]->f[at[2]];
            else
                out->i[e] = first ? v[1]->i[at[1]] : c->weak ? (int64_t)c->number : v[2]->i[at[2]];
        } else if (kind == 'f') {
            out->f[e] = float_result(c->op, v[0]->f[at[0]],
                                     c->weak ? c->number : v[1] != NULL ? v[1]->f[at[1]] : 0);
        } else {
            out->i[e] =
                integer_result(c->op, v[0]->i[at[0]],
                               c->weak ? (int64_t)c->number : v[1] != NULL ? v[1]->i[at[1]] : 0);
        }
    }
    return true;
}

static bool to_float(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    const oracle_value *v = &values[c->operand[0]];
    if (v->kind == 'f')
        return false;
    *out = oracle_make('f', v->rank, v->shape);
    for (int64_t e = 0; e < v->size; e++)
        out->f[e] = (double)v->i[e];
    return true;
}

/* ---- reductions ----------------------------------------------------------------------------------------- */

typedef struct running {
    double sum, squares, most, least;
    int64_t whole, largest, smallest, where, count;
} running;

static void enter(running *r, const oracle_value *v, int64_t at)
{
    const double x = v->kind == 'f' ? v->f[at] : (double)v->i[at];
    const int64_t w = v->kind == 'f' ? 0 : v->i[at];
    if (r->count == 0 || x > r->most)
        r->most = x;
    if (r->count == 0 || x < r->least)
        r->least = x;
    if (r->count == 0 || w > r->largest)
        r->largest = w, r->where = r->count;
    if (r->count == 0 || w < r->smallest)
        r->smallest = w;
    r->sum += x;
    r->whole += w;
    r->count++;
}

static bool reduce_kind(oracle_op op, char kind, char *result)
{
    *result = kind;
    if (op == ORACLE_MEAN || op == ORACLE_VAR)
        *result = 'f';
    if (op == ORACLE_ARGMAX) {
        *result = 'i';
        return kind == 'i';
    }
    if (op == ORACLE_SUM && kind == 'b')
        *result = 'i';
    return kind != 'b' || op == ORACLE_SUM;
}

static bool reduce(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    const oracle_value *v = &values[c->operand[0]];
    int64_t shape[ORACLE_RANK_MAX], kept[ORACLE_RANK_MAX];
    int rank = 0, kept_rank = 0;
    char kind;
    if (v->size == 0 || !reduce_kind(c->op, v->kind, &kind))
        return false;
    for (int a = 0; a < v->rank; a++) {
        kept[kept_rank++] = c->axis[a] ? 1 : v->shape[a];
        if (!c->axis[a] || c->keepdims)
            shape[rank++] = c->axis[a] ? 1 : v->shape[a];
    }
    *out = oracle_make(kind, rank, shape);
    running *all = calloc((size_t)out->size, sizeof *all);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t e = 0; e < v->size; e++) {
            int64_t index[ORACLE_RANK_MAX];
            unravel(e, v->rank, v->shape, index);
            for (int a = 0; a < v->rank; a++)
                index[a] = c->axis[a] ? 0 : index[a];
            running *r = &all[ravel(kept_rank, kept, index)];
            const double d =
                (v->kind == 'f' ? v->f[e] : (double)v->i[e]) - r->sum / (double)(r->count + !r->count);
            if (pass == 0)
                enter(r, v, e);
            else
                r->squares += d * d;
        }
    for (int64_t e = 0; e < out->size; e++) {
        const running *r = &all[e];
        if (kind == 'f')
            out->f[e] = c->op == ORACLE_SUM    ? r->sum
                        : c->op == ORACLE_MEAN ? r->sum / (double)r->count
                        : c->op == ORACLE_VAR  ? r->squares / (double)r->count
                        : c->op == ORACLE_MAX  ? r->most
                                               : r->least;
        else
            out->i[e] = c->op == ORACLE_SUM      ? r->whole
                        : c->op == ORACLE_ARGMAX ? r->where
                        : c->op == ORACLE_MAX    ? r->largest
                                                 : r->smallest;
    }
    free(all);
    return true;
}

/* ---- views ------------------------------------------------------------------------------------------------ */

/* Shape of a view, and for each of its indices the operand's: the rules of NumPy, by the book. */
static bool view_shape(const oracle_code *c, const oracle_value *v, int *rank, int64_t *shape)
{
    int64_t size = 1;
    *rank = v->rank;
    memcpy(shape, v->shape, sizeof v->shape);
    switch (c->op) {
    case ORACLE_TRANSPOSE:
        for (int a = 0; a < v->rank; a++)
            shape[a] = v->shape[c->order[a]];
        return true;
    case ORACLE_NEWAXIS:
        if (v->rank == ORACLE_RANK_MAX || c->at > v->rank)
            return false;
        for (int a = v->rank; a > c->at; a--)
            shape[a] = v->shape[a - 1];
        shape[c->at] = 1;
        *rank = v->rank + 1;
        return true;
    case ORACLE_FLIP:
        return c->at < v->rank;
    case ORACLE_SLICE:
        if (c->at >= v->rank || c->start < 0 || c->start > c->stop || c->stop > v->shape[c->at])
            return false;
        shape[c->at] = (c->stop - c->start + c->step - 1) / c->step;
        return shape[c->at] > 0;
    case ORACLE_TAKE:
        if (c->at >= v->rank || c->start >= v->shape[c->at])
            return false;
        for (int a = c->at; a + 1 < v->rank; a++)
            shape[a] = v->shape[a + 1];
        *rank = v->rank - 1;
        return true;
    case ORACLE_BROADCAST:
        *rank = c->rank;
        memcpy(shape, c->shape, sizeof c->shape);
        for (int a = 0; a < v->rank; a++)
            if (c->rank < v->rank || (v->shape[a] != 1 &&
                                      v->shape[a] != c->shape[a + c->rank - v->rank]))
                return false;
        return true;
    default: /* reshape */
        *rank = c->rank;
        memcpy(shape, c->shape, sizeof c->shape);
        for (int a = 0; a < c->rank; a++)
            size *= c->shape[a];
        return size == v->size;
    }
}

static int64_t view_source(const oracle_code *c, const oracle_value *v, const oracle_value *out,
                           int64_t e)
{
    int64_t index[ORACLE_RANK_MAX], own[ORACLE_RANK_MAX];
    unravel(e, out->rank, out->shape, index);
    if (c->op == ORACLE_RESHAPE)
        return e;
    if (c->op == ORACLE_BROADCAST)
        return at_operand(v, out->rank, index);
    for (int a = 0; a < v->rank; a++)
        own[a] = a < out->rank ? index[a] : 0;
    if (c->op == ORACLE_TRANSPOSE)
        for (int a = 0; a < v->rank; a++)
            own[c->order[a]] = index[a];
    for (int a = c->at; c->op == ORACLE_NEWAXIS && a < v->rank; a++)
        own[a] = index[a + 1];
    if (c->op == ORACLE_FLIP)
        own[c->at] = v->shape[c->at] - 1 - index[c->at];
    if (c->op == ORACLE_SLICE)
        own[c->at] = c->start + c->step * index[c->at];
    if (c->op == ORACLE_TAKE) {
        for (int a = v->rank - 1; a > c->at; a--)
            own[a] = index[a - 1];
        own[c->at] = c->start;
    }
    return ravel(v->rank, v->shape, own);
}

static bool view(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    const oracle_value *v = &values[c->operand[0]];
    int64_t shape[ORACLE_RANK_MAX];
    int rank;
    if (!view_shape(c, v, &rank, shape))
        return false;
    *out = oracle_make(v->kind, rank, shape);
    for (int64_t e = 0; e < out->size; e++) {
        const int64_t from = view_source(c, v, out, e);
        if (v->kind == 'f')
            out->f[e] = v->f[from];
        else
            out->i[e] = v->i[from];
    }
    return true;
}

static bool positions(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    const oracle_value *v = &values[c->operand[0]];
    if (c->at >= v->rank)
        return false;
    *out = oracle_make('i', v->rank, v->shape);
    for (int64_t e = 0; e < out->size; e++) {
        int64_t index[ORACLE_RANK_MAX] = {0};
        unravel(e, v->rank, v->shape, index);
        out->i[e] = index[c->at];
    }
    return true;
}

bool oracle_eval(const oracle_code *c, const oracle_value *values, oracle_value *out)
{
    bool made;
    if (c->op >= ORACLE_SUM && c->op <= ORACLE_ARGMAX)
        made = reduce(c, values, out);
    else if (c->op >= ORACLE_TRANSPOSE && c->op <= ORACLE_RESHAPE)
        made = view(c, values, out);
    else if (c->op == ORACLE_INDEX)
        made = positions(c, values, out);
    else if (c->op == ORACLE_TO_FLOAT)
        made = to_float(c, values, out);
    else
        made = elementwise(c, values, out);
    if (!made)
        return false;
    bool good = out->size <= SIZE_MAX_ELEMENTS;
    for (int64_t e = 0; e < out->size && good; e++)
        good = out->kind == 'f' ? fabs(out->f[e]) < VALUE_MAX
                                : out->i[e] < (int64_t)1e6 && out->i[e] > -(int64_t)1e6;
    if (!good)
        oracle_free(out);
    return good;
}
