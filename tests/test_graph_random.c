/*
 * test_graph_random.c - random graphs of up to 60 nodes against plain loops.
 *
 * Each graph is a program of graph_oracle.h, evaluated there while it is generated, recorded, and
 * run; inputs are arrays of random layouts, outputs allocated, given, or given over an input. The
 * seed is printed by test_env_main ($KILN_TEST_SEED repeats it); $KILN_TEST_GRAPHS sets how many
 * graphs are tried. A graph that fails is shrunk: to one output, then by turning computed values
 * into inputs while it still fails; what is left is printed.
 */
#include <stdlib.h>

#include "graph_env.h"
#include "graph_oracle.h"

enum { GRAPHS = 6, NODES_MAX = 60, OUTPUTS_MAX = 4 };

typedef struct program {
    oracle_code code[ORACLE_CODE_MAX];
    oracle_value value[ORACLE_CODE_MAX];
    int count;
    int output[OUTPUTS_MAX];
    int output_count;
    uint64_t layouts; /* how inputs lie in memory, and which outputs are given */
} program;

static void program_free(program *p)
{
    for (int k = 0; k < p->count; k++)
        oracle_free(&p->value[k]);
    free(p);
}

/* ---- generating --------------------------------------------------------------------------------------- */

static int below(test_env *t, int bound)
{
    return (int)test_random_below(t, (uint64_t)bound);
}

static void add_input(test_env *t, program *p, char kind, int rank, const int64_t *shape)
{
    oracle_value v = oracle_make(kind, rank, shape);
    for (int64_t e = 0; e < v.size; e++) {
        if (kind == 'f')
            v.f[e] = (double)(int)(test_random(t) % 4001) / 1000.0 - 2.0;
        else
            v.i[e] = (int64_t)(test_random(t) % 19) - 9;
    }
    p->code[p->count] = (oracle_code){.op = ORACLE_INPUT};
    p->value[p->count++] = v;
}

/* A value: recent ones more often. */
static int pick(test_env *t, const program *p)
{
    return below(t, 3) == 0 ? below(t, p->count) : p->count - 1 - below(t, p->count < 6 ? p->count : 6);
}

static void fill_view(test_env *t, oracle_code *c, const oracle_value *v)
{
    c->at = v->rank > 0 ? below(t, v->rank + (c->op == ORACLE_NEWAXIS)) : 0;
    for (int a = 0; a < v->rank; a++)
        c->order[a] = a;
    for (int a = v->rank - 1; a > 0; a--) {
        const int other = below(t, a + 1), swap = c->order[a];
        c->order[a] = c->order[other];
        c->order[other] = swap;
    }
    const int64_t n = v->rank > 0 && c->at < v->rank ? v->shape[c->at] : 1;
    c->start = (int64_t)test_random_below(t, (uint64_t)n);
    c->stop = c->start + 1 + (int64_t)test_random_below(t, (uint64_t)(n - c->start));
    c->step = 1 + below(t, 2);
    c->rank = v->rank;
    memcpy(c->shape, v->shape, sizeof v->shape);
    if (c->op == ORACLE_BROADCAST) {
        for (int a = 0; a < v->rank; a++)
            c->shape[a] = v->shape[a] == 1 ? 1 + below(t, 5) : v->shape[a];
        if (v->rank < 3) {
            memmove(c->shape + 1, c->shape, (size_t)v->rank * sizeof c->shape[0]);
            c->shape[0] = 2;
            c->rank++;
        }
    } else if (c->op == ORACLE_RESHAPE) {
        if (v->rank >= 2 && below(t, 2) == 0) { /* join two axes */
            c->shape[c->at > 0 ? c->at - 1 : 0] *= v->shape[c->at > 0 ? c->at : 1];
            for (int a = c->at > 0 ? c->at : 1; a + 1 < v->rank; a++)
                c->shape[a] = v->shape[a + 1];
            c->rank--;
        } else if (v->rank > 0 && v->rank < 4 && n % 2 == 0) { /* halve one */
            memmove(c->shape + c->at + 1, c->shape + c->at,
                    (size_t)(v->rank - c->at) * sizeof c->shape[0]);
            c->shape[c->at] = 2;
            c->shape[c->at + 1] = n / 2;
            c->rank++;
        } else {
            c->rank = 1;
            c->shape[0] = v->size;
        }
    }
}

static oracle_code random_code(test_env *t, const program *p)
{
    oracle_code c;
    memset(&c, 0, sizeof c);
    c.op = (oracle_op)(ORACLE_ADD + below(t, ORACLE_OP_COUNT - ORACLE_ADD));
    if (below(t, 3) == 0)
        c.op = (oracle_op)(ORACLE_ADD + below(t, 9));
    const bool two = c.op <= ORACLE_MAXIMUM || c.op == ORACLE_LESS;
    c.operand_count = two ? 2 : c.op == ORACLE_WHERE ? 3 : 1;
    for (int k = 0; k < c.operand_count; k++)
        c.operand[k] = pick(t, p);
    if (c.operand_count > 1 && below(t, 4) == 0) {
        c.weak = true;
        c.operand_count--;
        c.number = below(t, 7) - 3;
    }
    const oracle_code *last = &p->code[p->count - 1];
    if (last->op >= ORACLE_SUM && last->op <= ORACLE_VAR && last->keepdims && below(t, 2) == 0) {
        /* A result that goes back to where it came from: what row programs are made of. */
        c = (oracle_code){.op = (oracle_op)(ORACLE_ADD + below(t, 4)), .operand_count = 2};
        c.operand[0] = last->operand[0];
        c.operand[1] = p->count - 1;
    }
    const oracle_value *v = &p->value[c.operand[0]];
    if (c.op >= ORACLE_SUM && c.op <= ORACLE_ARGMAX) {
        for (int a = 0; a < v->rank; a++)
            c.axis[a] = below(t, 2) == 0;
        if (v->rank > 0 && below(t, 3) == 0) {
            memset(c.axis, 0, sizeof c.axis);
            c.axis[v->rank - 1] = true;
        }
        c.keepdims = below(t, 3) != 0;
    } else if (c.op >= ORACLE_TRANSPOSE) {
        fill_view(t, &c, v);
    }
    return c;
}

static program *generate(test_env *t)
{
    static const int64_t extents[] = {1, 2, 3, 4, 6, 9, 35};
    program *p = calloc(1, sizeof *p);
    const int nodes = 5 + below(t, NODES_MAX - 5);
    int64_t shape[3] = {extents[below(t, 6)], extents[below(t, 6)], extents[1 + below(t, 6)]};
    add_input(t, p, 'f', 3, shape);
    add_input(t, p, 'f', 2, shape + 1);
    add_input(t, p, 'i', 1, shape + 2);
    add_input(t, p, 'i', 3, (int64_t[]){shape[0], 1, shape[2]});
    for (int tries = 0; p->count < nodes && tries < 2000; tries++) {
        const oracle_code c = random_code(t, p);
        oracle_value v;
        if (!oracle_eval(&c, p->value, &v))
            continue;
        p->code[p->count] = c;
        p->value[p->count++] = v;
    }
    p->output_count = 1 + below(t, OUTPUTS_MAX);
    for (int k = 0; k < p->output_count; k++)
        p->output[k] = k == 0 ? p->count - 1 : below(t, p->count);
    p->layouts = test_random(t);
    return p;
}

/* ---- recording ------------------------------------------------------------------------------------------ */

static kiln_node record_view(const oracle_code *c, kiln_node x, int rank)
{
    kiln_axes axes = {.count = rank};
    switch (c->op) {
    case ORACLE_TRANSPOSE:
        for (int a = 0; a < rank; a++)
            axes.axis[a] = c->order[a];
        return kiln_transpose(x, &axes);
    case ORACLE_NEWAXIS:
        return kiln_newaxis(x, c->at);
    case ORACLE_FLIP:
        return kiln_flip(x, c->at);
    case ORACLE_SLICE:
        return kiln_slice(x, c->at, c->start, c->stop, c->step);
    case ORACLE_TAKE:
        return kiln_select(x, c->at, c->start);
    case ORACLE_BROADCAST:
        return kiln_broadcast_to(x, c->rank, c->shape);
    case ORACLE_RESHAPE:
        return kiln_reshape(x, c->rank, c->shape);
    default:
        return kiln_iota(x, c->at);
    }
}

static kiln_node record_reduce(const oracle_code *c, kiln_node x, int rank)
{
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM, KILN_REDUCE_MEAN, KILN_REDUCE_MAX,
                                         KILN_REDUCE_MIN, KILN_REDUCE_VAR,  KILN_REDUCE_ARGMAX};
    kiln_axes axes = {.count = 0};
    for (int a = 0; a < rank; a++)
        if (c->axis[a])
            axes.axis[axes.count++] = a;
    return kiln_node_reduce(ops[c->op - ORACLE_SUM], x, &axes, c->keepdims, KILN_DTYPE_NONE,
                            KILN_HERE);
}

static kiln_node record_code(const program *p, const oracle_code *c, const kiln_node *nodes)
{
    const kiln_node x = nodes[c->operand[0]];
    const int last = c->operand[c->operand_count - 1];
    const char kind = p->value[last].kind;
    const kiln_node weak = kind == 'f' ? KILN_NODE(c->number) : KILN_NODE((int64_t)c->number);
    const kiln_node y = c->weak ? weak : nodes[c->operand[1]];
    switch (c->op) {
    case ORACLE_ADD:
        return kiln_add(x, y);
    case ORACLE_SUBTRACT:
        return kiln_subtract(x, y);
    case ORACLE_MULTIPLY:
        return kiln_multiply(x, y);
    case ORACLE_MAXIMUM:
        return kiln_maximum(x, y);
    case ORACLE_NEGATIVE:
        return kiln_negative(x);
    case ORACLE_ABSOLUTE:
        return kiln_absolute(x);
    case ORACLE_SQUARE:
        return kiln_square(x);
    case ORACLE_TANH:
        return kiln_tanh(x);
    case ORACLE_EXP:
        return kiln_exp(x);
    case ORACLE_ROOT:
        return kiln_sqrt(kiln_add(kiln_absolute(x), 1));
    case ORACLE_LESS:
        return kiln_less(x, y);
    case ORACLE_WHERE:
        return kiln_where(x, nodes[c->operand[1]], c->weak ? weak : nodes[c->operand[2]]);
    case ORACLE_TO_FLOAT:
        return kiln_cast(x, KILN_FLOAT64);
    default:
        return c->op <= ORACLE_ARGMAX ? record_reduce(c, x, p->value[c->operand[0]].rank)
                                      : record_view(c, x, p->value[c->operand[0]].rank);
    }
}

/* ---- running --------------------------------------------------------------------------------------------- */

static kiln_dtype dtype_of(char kind)
{
    return kind == 'f' ? KILN_FLOAT64 : kind == 'i' ? KILN_INT64 : KILN_BOOL;
}

/* The elements of a value as its array's. */
static const void *bytes_of(const oracle_value *v, uint8_t *bools)
{
    if (v->kind == 'f')
        return v->f;
    if (v->kind == 'i')
        return v->i;
    for (int64_t e = 0; e < v->size; e++)
        bools[e] = v->i[e] != 0;
    return bools;
}

/* An array of a value: in C-order, in Fortran order, or every other element of a larger one. */
static kiln_array *input_array(test_env *t, const oracle_value *v, unsigned how)
{
    uint8_t *bools = calloc((size_t)v->size + 1, 1);
    kiln_array *plain = NULL, *made = NULL, *wide = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype_of(v->kind), v->rank, v->shape, bytes_of(v, bools),
                               NULL, &plain, &t->err));
    free(bools);
    if (how == 1 && v->rank > 1) {
        int64_t reversed[ORACLE_RANK_MAX];
        for (int a = 0; a < v->rank; a++)
            reversed[a] = v->shape[v->rank - 1 - a];
        OK(t, kiln_array_empty(t->ctx, dtype_of(v->kind), v->rank, reversed, &wide, &t->err));
        OK(t, kiln_array_transpose(wide, NULL, &made, &t->err));
    } else if (how == 2 && v->rank > 0) {
        int64_t larger[ORACLE_RANK_MAX];
        memcpy(larger, v->shape, sizeof larger);
        larger[v->rank - 1] *= 2;
        OK(t, kiln_array_empty(t->ctx, dtype_of(v->kind), v->rank, larger, &wide, &t->err));
        OK(t, kiln_array_slice(wide, v->rank - 1, 0, KILN_SLICE_OPEN, 2, &made, &t->err));
    } else {
        return plain;
    }
    OK(t, kiln_array_assign(made, plain, &t->err));
    kiln_array_release(plain), kiln_array_release(wide);
    return made;
}

/* Whether an array holds a value; prints the first difference unless `quiet`. */
static bool same(test_env *t, const kiln_array *a, const oracle_value *v, int output, bool quiet)
{
    bool equal = kiln_array_dtype(a) == dtype_of(v->kind) && kiln_array_rank(a) == v->rank;
    for (int k = 0; k < v->rank && equal; k++)
        equal = kiln_array_shape(a)[k] == v->shape[k];
    if (!equal) {
        if (!quiet)
            print_error("output %d has another dtype or shape\n", output);
        return false;
    }
    double *got = calloc((size_t)v->size + 1, sizeof *got);
    graph_fetch(t, a, got, (size_t)v->size);
    for (int64_t e = 0; e < v->size && equal; e++) {
        const double want = v->kind == 'f' ? v->f[e] : (double)v->i[e];
        equal = v->kind == 'f' ? fabs(got[e] - want) <= 1e-8 * (1 + fabs(want)) : got[e] == want;
        if (!equal && !quiet)
            print_error("output %d, element %lld: %.17g, not %.17g\n", output, (long long)e, got[e],
                        want);
    }
    free(got);
    return equal;
}

/* Record and run. Returns the first output that is wrong (a number below output_count), -1 when all
 * are right. */
static int run(test_env *t, const program *p, bool quiet)
{
    kiln_graph *g = graph_begin(t);
    kiln_node nodes[ORACLE_CODE_MAX];
    kiln_arg args[ORACLE_CODE_MAX + OUTPUTS_MAX];
    kiln_array *in[ORACLE_CODE_MAX] = {NULL}, *out[OUTPUTS_MAX] = {NULL};
    int source[ORACLE_CODE_MAX], inputs = 0, wrong = -1;
    char name[16];

    for (int k = 0; k < p->count; k++) {
        if (p->code[k].op != ORACLE_INPUT) {
            nodes[k] = record_code(p, &p->code[k], nodes);
            continue;
        }
        snprintf(name, sizeof name, "x%d", inputs);
        nodes[k] = kiln_graph_input(g, name);
        in[inputs] = input_array(t, &p->value[k], (unsigned)(p->layouts >> (2 * k % 60)) % 4);
        source[inputs] = k;
        args[inputs] = kiln_arg_array(in[inputs]);
        inputs++;
    }
    for (int k = 0; k < p->output_count; k++) {
        const oracle_value *v = &p->value[p->output[k]];
        snprintf(name, sizeof name, "z%d", k);
        kiln_graph_output(g, name, nodes[p->output[k]]);
        args[inputs + k] = kiln_arg_out(&out[k]);
        const unsigned how = (unsigned)(p->layouts >> (40 + 3 * k)) % 8;
        if (how == 1) {
            out[k] = input_array(t, v, (unsigned)(p->layouts >> 50) % 3);
        } else if (how < 4) { /* over an input of the same dtype and shape, each once */
            for (int i = 0; i < inputs && out[k] == NULL; i++) {
                const oracle_value *u = &p->value[source[i]];
                bool fits = u->kind == v->kind && u->rank == v->rank && in[i] != NULL;
                for (int a = 0; a < u->rank && fits; a++)
                    fits = u->shape[a] == v->shape[a];
                for (int j = 0; j < k && fits; j++)
                    fits = out[j] != in[i];
                if (fits)
                    out[k] = kiln_array_retain(in[i]);
            }
        }
    }
    OK(t, kiln_graph_run(g, args, (size_t)(inputs + p->output_count), NULL, &t->err));
    for (int k = 0; k < p->output_count && wrong < 0; k++)
        if (!same(t, out[k], &p->value[p->output[k]], k, quiet))
            wrong = k;
    for (int k = 0; k < p->output_count; k++)
        kiln_array_release(out[k]);
    if (wrong >= 0 && !quiet) {
        char *text = NULL;
        for (int k = 0; k < p->output_count; k++)
            out[k] = NULL;
        OK(t, kiln_graph_explain(g, args, (size_t)(inputs + p->output_count), &text, &t->err));
        print_error("%s", text);
        kiln_free(text);
    }
    for (int k = 0; k < inputs; k++)
        kiln_array_release(in[k]);
    kiln_graph_destroy(g);
    return wrong;
}

/* ---- shrinking -------------------------------------------------------------------------------------------- */

static void print_program(const program *p)
{
    bool used[ORACLE_CODE_MAX] = {false};
    for (int k = 0; k < p->output_count; k++)
        used[p->output[k]] = true;
    for (int k = p->count; k-- > 0;)
        for (int j = 0; used[k] && j < p->code[k].operand_count; j++)
            used[p->code[k].operand[j]] = true;
    for (int k = 0; k < p->count; k++) {
        const oracle_code *c = &p->code[k];
        if (!used[k])
            continue;
        print_error("v%d = %s", k, oracle_name(c->op));
        for (int j = 0; j < c->operand_count; j++)
            print_error(" v%d", c->operand[j]);
        if (c->weak)
            print_error(" %g", c->number);
        if (c->op >= ORACLE_SUM && c->op <= ORACLE_ARGMAX)
            for (int a = 0; a < p->value[c->operand[0]].rank; a++)
                print_error("%s", c->axis[a] ? " reduced" : " kept");
        if (c->op >= ORACLE_SUM && c->op <= ORACLE_ARGMAX && c->keepdims)
            print_error(" keepdims");
        if (c->op == ORACLE_SLICE || c->op == ORACLE_TAKE || c->op == ORACLE_FLIP)
            print_error(" axis %d %d:%d:%d", c->at, (int)c->start, (int)c->stop, (int)c->step);
        print_error("   %c (", p->value[k].kind);
        for (int a = 0; a < p->value[k].rank; a++)
            print_error("%d,", (int)p->value[k].shape[a]);
        print_error(")\n");
    }
    for (int k = 0; k < p->output_count; k++)
        print_error("output v%d\n", p->output[k]);
}

static void shrink(test_env *t, program *p, int wrong)
{
    program *smaller = malloc(sizeof *smaller);
    *smaller = *p;
    smaller->output[0] = p->output[wrong];
    smaller->output_count = 1;
    if (run(t, smaller, true) >= 0)
        *p = *smaller;
    for (int k = 0; k < p->count; k++) {
        if (p->code[k].op == ORACLE_INPUT)
            continue;
        *smaller = *p;
        smaller->code[k] = (oracle_code){.op = ORACLE_INPUT};
        if (run(t, smaller, true) >= 0)
            *p = *smaller;
    }
    free(smaller);
    print_program(p);
    (void)run(t, p, false);
}

static void test_graph_random__graphs_equal_plain_loops(void **state)
{
    test_env *t = *state;
    const char *wanted = getenv("KILN_TEST_GRAPHS");
    const int graphs = wanted != NULL ? atoi(wanted) : GRAPHS;
    for (int k = 0; k < graphs; k++) {
        program *p = generate(t);
        const int wrong = run(t, p, true);
        if (wrong >= 0) {
            print_error("graph %d of this seed is wrong\n", k);
            shrink(t, p, wrong);
            fail();
        }
        program_free(p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(test_graph_random__graphs_equal_plain_loops)};
    return test_env_main(argc, argv, "test_graph_random", tests, COUNT(tests));
}
