/*
 * test_graph_dag.c - graphs whose reductions feed one another: their kernels have an order.
 *
 * Reductions that share rows become one kernel, and so does what uses them. Which of them do must
 * leave the kernels without a cycle, however the graph is built. Here thousands of small graphs of
 * reductions along one axis or several, comparisons, arithmetic, broadcasts, positions and several
 * outputs are planned for both kinds of devices, and a few are run and compared with plain loops.
 *
 * $KILN_TEST_SEED repeats the random ones; $KILN_TEST_GRAPHS sets how many are run.
 */
#include <stdlib.h>

#include "fusion/fusion.h"
#include "graph/graph.h"
#include "graph_env.h"

enum { PLANNED = 6000, RUN = 6, NODES_MAX = 28, OUTPUTS_MAX = 4, INPUTS = 4, RANK = 3 };

typedef enum dag_op {
    DAG_INPUT,
    DAG_ADD,
    DAG_SUBTRACT,
    DAG_MULTIPLY, /* by a bool */
    DAG_MINIMUM,
    DAG_MAXIMUM,
    DAG_GREATER,
    DAG_GREATER_EQUAL,
    DAG_TANH,
    DAG_NEGATIVE,
    DAG_BROADCAST, /* to the shape of another value */
    DAG_INDEX,
    DAG_SUM,
    DAG_MIN,
    DAG_MAX,
    DAG_MEAN,
    DAG_VAR,
    DAG_ARGMAX,
    DAG_OPS
} dag_op;

static const char *const names[DAG_OPS] = {
    "input",   "add",           "subtract", "multiply", "minimum",      "maximum",
    "greater", "greater_equal", "tanh",     "negative", "broadcast_to", "index",
    "sum",     "min",           "max",      "mean",     "var",          "argmax"};

/* One node and what it is: `kind` is 'b', 'i' (int64) or 'f' (float64). A value is inexact when its
 * digits depend on the order of additions; such values are never compared. */
typedef struct dag_node {
    dag_op op;
    int operand[2];
    bool axis[RANK]; /* reductions */
    bool keepdims;
    int at; /* index */
    char kind;
    bool exact;
    int rank;
    int64_t shape[RANK];
    double *value; /* when the graph is run */
} dag_node;

typedef struct dag {
    dag_node node[NODES_MAX + INPUTS];
    int count;
    int output[OUTPUTS_MAX];
    int output_count;
} dag;

/* ---- generating ------------------------------------------------------------------------------ */

static int below(test_env *t, int bound)
{
    return (int)test_random_below(t, (uint64_t)bound);
}

static bool is_reduction(dag_op op)
{
    return op >= DAG_SUM;
}

static int64_t size_of(const dag_node *n)
{
    int64_t size = 1;
    for (int a = 0; a < n->rank; a++)
        size *= n->shape[a];
    return size;
}

/* NumPy's broadcasting of both operands' shapes into `n`; false when they do not go together. */
static bool broadcast(const dag_node *x, const dag_node *y, dag_node *n)
{
    n->rank = x->rank > y->rank ? x->rank : y->rank;
    for (int a = 0; a < n->rank; a++) {
        const int from_x = a + x->rank - n->rank, from_y = a + y->rank - n->rank;
        const int64_t dx = from_x < 0 ? 1 : x->shape[from_x],
                      dy = from_y < 0 ? 1 : y->shape[from_y];
        if (dx != dy && dx != 1 && dy != 1)
            return false;
        n->shape[a] = dx == 1 ? dy : dx;
    }
    return true;
}

/* Kind, exactness and shape of an operation on one or two values; false when it is none. */
static bool type_op(const dag_node *x, const dag_node *y, dag_node *n)
{
    const bool two = n->op <= DAG_GREATER_EQUAL;
    const bool compares = n->op == DAG_GREATER || n->op == DAG_GREATER_EQUAL;
    n->kind = x->kind;
    n->exact = x->exact;
    if (!two) {
        n->rank = x->rank;
        memcpy(n->shape, x->shape, sizeof n->shape);
        n->kind = n->op == DAG_INDEX ? 'i' : x->kind;
        n->exact = n->op == DAG_INDEX || (n->op == DAG_NEGATIVE && x->exact);
        n->at = n->op == DAG_INDEX && x->rank > 0 ? n->at % x->rank : 0;
        return n->op == DAG_INDEX      ? x->rank > 0
               : n->op == DAG_NEGATIVE ? x->kind != 'b'
                                       : x->kind == 'f';
    }
    if (y->kind == 'f' || x->kind == 'b')
        n->kind = y->kind;
    n->exact = x->exact && y->exact;
    if (compares && !n->exact)
        return false;
    if (n->op == DAG_MULTIPLY && x->kind != 'b' && y->kind != 'b')
        return false;
    if (n->op == DAG_SUBTRACT && n->kind == 'b')
        return false;
    n->kind = compares ? 'b' : n->kind;
    return broadcast(x, y, n);
}

static bool type_reduction(const dag_node *x, dag_node *n)
{
    bool any = false;
    n->rank = 0;
    for (int a = 0; a < x->rank; a++) {
        any = any || n->axis[a];
        if (!n->axis[a] || n->keepdims)
            n->shape[n->rank++] = n->axis[a] ? 1 : x->shape[a];
    }
    n->kind = n->op == DAG_MEAN || n->op == DAG_VAR ? 'f'
              : n->op == DAG_ARGMAX                 ? 'i'
              : n->op == DAG_SUM && x->kind == 'b'  ? 'i'
                                                    : x->kind;
    n->exact = x->exact && n->op != DAG_VAR;
    return any && (n->op != DAG_ARGMAX || x->exact);
}

/* One more node over those there are; false when the draw does not go together. */
static bool add_node(test_env *t, dag *d)
{
    dag_node n = {.op = (dag_op)(DAG_ADD + below(t, DAG_OPS - DAG_ADD))};
    for (int k = 0; k < 2; k++)
        n.operand[k] = below(t, 2) == 0 ? below(t, d->count)
                                        : d->count - 1 - below(t, d->count < 6 ? d->count : 6);
    const dag_node *x = &d->node[n.operand[0]], *y = &d->node[n.operand[1]];
    for (int a = 0; a < RANK; a++)
        n.axis[a] = below(t, 2) == 0;
    if (below(t, 2) == 0 && x->rank > 0) {
        memset(n.axis, 0, sizeof n.axis);
        n.axis[below(t, 3) == 0 ? below(t, x->rank) : x->rank - 1] = true;
    }
    n.keepdims = below(t, 5) != 0;
    n.at = below(t, RANK);
    if (is_reduction(n.op) ? !type_reduction(x, &n) : n.op != DAG_BROADCAST && !type_op(x, y, &n))
        return false;
    if (n.op == DAG_BROADCAST) {
        if (!broadcast(x, y, &n) || n.rank != y->rank || size_of(&n) != size_of(y))
            return false;
        n.kind = x->kind;
        n.exact = x->exact;
    }
    d->node[d->count++] = n;
    return true;
}

/* A graph over inputs of one shape and of shapes that go with it. */
static void generate(test_env *t, const int64_t shape[RANK], dag *d)
{
    const int nodes = INPUTS + 6 + below(t, NODES_MAX - 5);
    memset(d, 0, sizeof *d);
    for (int k = 0; k < INPUTS; k++) {
        dag_node *n = &d->node[d->count++];
        n->kind = k == 2 ? 'i' : 'f';
        n->exact = true;
        n->rank = k == 3 ? 1 : k == 1 ? 3 : 2;
        memcpy(n->shape, shape + RANK - n->rank, (size_t)n->rank * sizeof *shape);
    }
    for (int tries = 0; d->count < nodes && tries < 1000; tries++)
        (void)add_node(t, d);
    d->output_count = 1 + below(t, OUTPUTS_MAX);
    for (int k = 0; k < d->output_count; k++)
        d->output[k] = k == 0 ? d->count - 1 : below(t, d->count);
}

static void print_dag(const dag *d)
{
    for (int k = 0; k < d->count; k++) {
        const dag_node *n = &d->node[k];
        print_error("v%d = %s", k, names[n->op]);
        if (n->op != DAG_INPUT)
            print_error(" v%d v%d", n->operand[0], n->operand[1]);
        for (int a = 0; is_reduction(n->op) && a < RANK; a++)
            if (n->axis[a])
                print_error(" axis %d", a);
        print_error("%s%s   %c (", is_reduction(n->op) && n->keepdims ? " keepdims" : "",
                    n->op == DAG_INDEX && n->at > 0 ? " axis > 0" : "", n->kind);
        for (int a = 0; a < n->rank; a++)
            print_error("%d,", (int)n->shape[a]);
        print_error(")\n");
    }
    for (int k = 0; k < d->output_count; k++)
        print_error("output v%d\n", d->output[k]);
}

/* ---- recording ------------------------------------------------------------------------------- */

static kiln_node record(const dag *d, int at, const kiln_node *nodes)
{
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM,  KILN_REDUCE_MIN, KILN_REDUCE_MAX,
                                         KILN_REDUCE_MEAN, KILN_REDUCE_VAR, KILN_REDUCE_ARGMAX};
    static const kiln_op binary[] = {KILN_OP_ADD,          KILN_OP_SUBTRACT, KILN_OP_MULTIPLY,
                                     KILN_OP_MINIMUM,      KILN_OP_MAXIMUM,  KILN_OP_GREATER,
                                     KILN_OP_GREATER_EQUAL};
    const dag_node *n = &d->node[at], *v = &d->node[n->operand[0]];
    const kiln_node x = nodes[n->operand[0]];
    kiln_axes axes = {.count = 0};
    for (int a = 0; a < v->rank; a++)
        if (n->axis[a])
            axes.axis[axes.count++] = a;
    if (is_reduction(n->op))
        return kiln_node_reduce(ops[n->op - DAG_SUM], x, &axes, n->keepdims, KILN_DTYPE_NONE,
                                KILN_HERE);
    if (n->op == DAG_TANH)
        return kiln_tanh(x);
    if (n->op == DAG_NEGATIVE)
        return kiln_negative(x);
    if (n->op == DAG_BROADCAST)
        return kiln_broadcast_to(x, n->rank, n->shape);
    if (n->op == DAG_INDEX)
        return kiln_iota(x, n->at);
    return kiln_node_op2((int)binary[n->op - DAG_ADD], x, nodes[n->operand[1]], KILN_HERE);
}

static void record_all(const dag *d, kiln_graph *g)
{
    kiln_node nodes[NODES_MAX + INPUTS];
    char name[16];
    for (int k = 0; k < d->count; k++) {
        snprintf(name, sizeof name, "x%d", k);
        nodes[k] = k < INPUTS ? kiln_graph_input(g, name) : record(d, k, nodes);
    }
    for (int k = 0; k < d->output_count; k++) {
        snprintf(name, sizeof name, "z%d", k);
        kiln_graph_output(g, name, nodes[d->output[k]]);
    }
}

static kiln_dtype dtype_of(char kind)
{
    return kind == 'f' ? KILN_FLOAT64 : kind == 'i' ? KILN_INT64 : KILN_BOOL;
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Whether every temporary is written by one step before all that read it, and every output by one
 * step. */
static bool in_order(const kiln__program *p, size_t input_count)
{
    bool good = true;
    int *writes = calloc(p->temp_count + p->output_count + 1, sizeof *writes);
    for (size_t s = 0; s < p->step_count; s++) {
        const kiln__step *step = &p->steps[s];
        for (size_t k = 0; k < step->param_count; k++) {
            const kiln__step_param *v = &step->params[k];
            const bool temp = v->kind == KILN__VALUE_TEMP, write = k >= step->input_count;
            if (!temp && (v->kind != KILN__VALUE_ARG || v->index < input_count))
                continue;
            int *count = &writes[temp ? v->index : p->temp_count + v->index - input_count];
            good = good && *count == (write ? 0 : 1);
            *count += write;
        }
    }
    for (size_t k = 0; k < p->output_count; k++)
        good = good && writes[p->temp_count + k] == 1;
    free(writes);
    return good;
}

/* Plan a graph of dense arrays, without any array or device. */
static void plan(test_env *t, const dag *d, const kiln__graph_target *target)
{
    kiln__graph_arg args[INPUTS + OUTPUTS_MAX];
    int64_t strides[INPUTS][RANK];
    kiln__program *program = NULL;
    kiln_graph *g = NULL;

    memset(args, 0, sizeof args);
    OK(t, kiln__graph_new(NULL, NULL, &g, &t->err));
    record_all(d, g);
    OK(t, kiln_graph_compile(g, &t->err));
    for (int k = 0; k < INPUTS; k++) {
        const dag_node *n = &d->node[k];
        int64_t step = 8;
        for (int a = n->rank; a-- > 0; step *= n->shape[a])
            strides[k][a] = step;
        args[k] = (kiln__graph_arg){true, dtype_of(n->kind), n->rank, n->shape, strides[k], {0}};
    }
    const kiln_status status = kiln__program_build(&g->ir, args, target, &program, &t->err);
    if (status != KILN_OK)
        print_dag(d);
    OK(t, status);
    if (!in_order(program, INPUTS)) {
        print_dag(d);
        fail();
    }
    kiln__program_destroy(program);
    kiln_graph_destroy(g);
}

static void test_graph_dag__thousands_of_graphs_have_an_order_of_kernels(void **state)
{
    static const int64_t shapes[][RANK] = {
        {2, 4, 8}, {4, 1, 16}, {3, 700, 5}, {2, 64, 4096}, {1, 8192, 2048}};
    test_env *t = *state;
    for (int k = 0; k < PLANNED; k++) {
        const kiln__graph_target target = {.backend = below(t, 2) == 0 ? KILN_BACKEND_CPU
                                                                       : KILN_BACKEND_CUDA,
                                           .clusters = below(t, 2) == 0};
        dag d;
        generate(t, shapes[below(t, (int)COUNT(shapes))], &d);
        plan(t, &d, &target);
    }
}

/* ---- plain loops ----------------------------------------------------------------------------- */

/* The element of `v` that stands at `index` of a shape of `rank` axes. */
static double at(const dag_node *v, int rank, const int64_t *index)
{
    int64_t place = 0;
    for (int a = 0; a < v->rank; a++)
        place = place * v->shape[a] + (v->shape[a] == 1 ? 0 : index[a + rank - v->rank]);
    return v->value[place];
}

static void unravel(int64_t place, int rank, const int64_t *shape, int64_t *index)
{
    for (int a = rank; a-- > 0; place /= shape[a])
        index[a] = place % shape[a];
}

static double element(const dag_node *n, double x, double y, const int64_t *index)
{
    switch (n->op) {
    case DAG_ADD:
        return n->kind == 'b' ? x != 0 || y != 0 : x + y;
    case DAG_SUBTRACT:
        return x - y;
    case DAG_MULTIPLY:
        return x * y;
    case DAG_MINIMUM:
        return x < y ? x : y;
    case DAG_MAXIMUM:
        return x > y ? x : y;
    case DAG_GREATER:
        return x > y;
    case DAG_GREATER_EQUAL:
        return x >= y;
    case DAG_TANH:
        return tanh(x);
    case DAG_NEGATIVE:
        return -x;
    case DAG_INDEX:
        return (double)index[n->at];
    default:
        return x;
    }
}

static void eval_op(const dag *d, dag_node *n)
{
    const dag_node *x = &d->node[n->operand[0]], *y = &d->node[n->operand[1]];
    const bool two = n->op <= DAG_GREATER_EQUAL;
    int64_t index[RANK] = {0};
    for (int64_t e = 0; e < size_of(n); e++) {
        unravel(e, n->rank, n->shape, index);
        n->value[e] = element(n, at(x, n->rank, index), two ? at(y, n->rank, index) : 0, index);
    }
}

/* One result of a reduction: of all elements of `x` whose kept axes are those of `e`. */
static double reduce_at(const dag_node *n, const dag_node *x, int64_t e)
{
    double sum = 0, squares = 0, least = INFINITY, most = -INFINITY, count = 0, place = 0;
    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (int64_t k = 0; k < size_of(x); k++) {
            int64_t index[RANK], kept = 0;
            unravel(k, x->rank, x->shape, index);
            for (int a = 0; a < x->rank; a++)
                if (!n->axis[a])
                    kept = kept * x->shape[a] + index[a];
            if (kept != e)
                continue;
            const double v = x->value[k];
            if (pass == 1)
                squares += (v - sum) * (v - sum);
            else if (v > most)
                place = count;
            least = v < least ? v : least;
            most = v > most ? v : most;
            sum += pass == 0 ? v : 0;
            count++;
        }
        if (pass == 0 && (n->op == DAG_VAR || n->op == DAG_MEAN))
            sum /= count;
    }
    return n->op == DAG_VAR      ? squares / count
           : n->op == DAG_MIN    ? least
           : n->op == DAG_MAX    ? most
           : n->op == DAG_ARGMAX ? place
                                 : sum;
}

/* Every value; whole numbers go in, so that what is exact here is exact in any order. */
static void eval(test_env *t, dag *d)
{
    for (int k = 0; k < d->count; k++) {
        dag_node *n = &d->node[k];
        n->value = calloc((size_t)size_of(n) + 1, sizeof *n->value);
        for (int64_t e = 0; n->op == DAG_INPUT && e < size_of(n); e++)
            n->value[e] = below(t, 9) - 4;
        for (int64_t e = 0; is_reduction(n->op) && e < size_of(n); e++)
            n->value[e] = reduce_at(n, &d->node[n->operand[0]], e);
        if (n->op != DAG_INPUT && !is_reduction(n->op))
            eval_op(d, n);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_dag(test_env *t, dag *d)
{
    kiln_array *in[INPUTS] = {NULL}, *out[OUTPUTS_MAX] = {NULL}, *wide = NULL;
    kiln_arg args[INPUTS + OUTPUTS_MAX];
    kiln_graph *g = graph_begin(t);

    eval(t, d);
    record_all(d, g);
    for (int k = 0; k < INPUTS; k++) {
        const dag_node *n = &d->node[k];
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, n->rank, n->shape, n->value, NULL, &wide,
                                   &t->err));
        OK(t, kiln_array_cast(wide, dtype_of(n->kind), &in[k], &t->err));
        kiln_array_release(wide);
        wide = NULL;
        args[k] = kiln_arg_array(in[k]);
    }
    for (int k = 0; k < d->output_count; k++)
        args[INPUTS + k] = kiln_arg_out(&out[k]);
    OK(t, kiln_graph_run(g, args, (size_t)(INPUTS + d->output_count), NULL, &t->err));
    for (int k = 0; k < d->output_count; k++) {
        const dag_node *n = &d->node[d->output[k]];
        double *got = calloc((size_t)size_of(n) + 1, sizeof *got);
        assert_int_equal(kiln_array_dtype(out[k]), dtype_of(n->kind));
        graph_fetch(t, out[k], got, (size_t)size_of(n));
        for (int64_t e = 0; e < size_of(n); e++)
            if (fabs(got[e] - n->value[e]) > (n->exact ? 0 : 1e-9 * (1 + fabs(n->value[e])))) {
                print_dag(d);
                CHECK(false, "output %d, element %d: %.17g, not %.17g", k, (int)e, got[e],
                      n->value[e]);
            }
        free(got);
        kiln_array_release(out[k]);
    }
    for (int k = 0; k < INPUTS; k++)
        kiln_array_release(in[k]);
    for (int k = 0; k < d->count; k++)
        free(d->node[k].value);
    kiln_graph_destroy(g);
}

static void test_graph_dag__a_sample_equals_plain_loops(void **state)
{
    static const int64_t shapes[][RANK] = {{2, 4, 8}, {4, 1, 16}, {2, 16, 4}};
    test_env *t = *state;
    const char *wanted = getenv("KILN_TEST_GRAPHS");
    const int graphs = wanted != NULL ? atoi(wanted) : RUN;
    for (int k = 0; k < graphs; k++) {
        dag d;
        generate(t, shapes[below(t, (int)COUNT(shapes))], &d);
        run_dag(t, &d);
    }
}

/* min(x) feeds the second stage of one row program (the count of x >= min) and the first of another
 * over the results' shape (its sum), whose results meet those of the first again. */
static void test_graph_dag__row_programs_that_feed_one_another(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    const double values[2][4] = {{3, 1, 1, 2}, {-1, 5, -2, 7}};
    kiln_array *x = NULL, *z = NULL;
    bool got[2][4];

    const kiln_node in = kiln_graph_input(g, "x");
    const kiln_node t1 = kiln_min_keep(in, KILN_AXES(-1));
    const kiln_node t3 = kiln_sum_keep(kiln_greater_equal(in, t1), KILN_AXES(-1));
    const kiln_node t4 = kiln_greater_equal(kiln_iota(in, -1), kiln_subtract(t3, 1));
    const kiln_node t8 = kiln_greater_equal(t1, kiln_sum_keep(t1, KILN_AXES(-1)));
    const kiln_node t9 = kiln_sum_keep(t8, KILN_AXES(-1));
    kiln_graph_output(g, "z", kiln_greater_equal(kiln_minimum(t8, t4), t9));
    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){2, 4}, values, NULL, &x, &t->err));
    OK(t, kiln_call(g, &t->err, x, &z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    /* t3 is 4, so t4 is true in the last column; t8 is true and t9 is 1 */
    for (int k = 0; k < 8; k++)
        CHECK(got[k / 4][k % 4] == (k % 4 == 3), "element %d", k);
    kiln_array_release(x), kiln_array_release(z);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_dag__thousands_of_graphs_have_an_order_of_kernels),
        TEST(test_graph_dag__row_programs_that_feed_one_another),
        TEST(test_graph_dag__a_sample_equals_plain_loops),
    };
    return test_env_main(argc, argv, "test_graph_dag", tests, COUNT(tests));
}
