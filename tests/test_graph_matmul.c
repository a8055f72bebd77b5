/*
 * test_graph_matmul.c - matrix products as nodes of graphs: between kernels, of views, in text.
 *
 * Expected values come from plain C loops in double precision; elements are small whole numbers where
 * results must be equal, so that sums are exact in every order.
 */
#include "graph_env.h"

enum { EXTENT_MAX = 9, ROOM = 4 * EXTENT_MAX * EXTENT_MAX };

/* A stack of matrices of small whole numbers, and the same as doubles. */
typedef struct matrices {
    kiln_array *array;
    double at[ROOM];
    int64_t stack, rows, columns; /* stack 0: one matrix */
} matrices;

static matrices draw(test_env *t, kiln_dtype dtype, int64_t stack, int64_t rows, int64_t columns)
{
    matrices m = {.stack = stack, .rows = rows, .columns = columns};
    const int64_t shape[] = {stack, rows, columns};
    const int64_t count = (stack > 0 ? stack : 1) * rows * columns;
    kiln_array *wide = NULL;

    for (int64_t k = 0; k < count; k++)
        m.at[k] = (double)(test_random(t) % 7) - 3;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, stack > 0 ? 3 : 2,
                               stack > 0 ? shape : shape + 1, m.at, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &m.array, &t->err));
    kiln_array_release(wide);
    return m;
}

/* Element (i, j) of the product of matrix `s` of two stacks. */
static double product_at(const matrices *a, const matrices *b, int64_t s, int64_t i, int64_t j)
{
    const double *x = a->at + (a->stack > 1 ? s : 0) * a->rows * a->columns;
    const double *y = b->at + (b->stack > 1 ? s : 0) * b->rows * b->columns;
    double sum = 0;

    for (int64_t k = 0; k < a->columns; k++)
        sum += x[i * a->columns + k] * y[k * b->columns + j];
    return sum;
}

static int64_t extent(test_env *t)
{
    return 1 + (int64_t)(test_random(t) % EXTENT_MAX);
}

/* What surrounds a product, drawn anew for each case. */
typedef struct surroundings {
    bool transposed; /* the left operand is given as its transpose */
    bool flipped;    /* the rows of the right operand in reverse, and the left's columns */
    bool scaled;     /* the left operand is computed: 2 * a */
    bool finished;   /* the product is used elementwise: max(p, 0) + 1 */
    bool summed;     /* and reduced along its last axis */
} surroundings;

static kiln_node record(kiln_node a, kiln_node b, const surroundings *s)
{
    if (s->transposed)
        a = kiln_node_transpose(a, &(kiln_axes){.count = 3, .axis = {0, 2, 1}}, KILN_HERE);
    if (s->flipped) {
        a = kiln_flip(a, -1);
        b = kiln_flip(b, -2);
    }
    kiln_node p = kiln_dot(s->scaled ? kiln_multiply(a, 2) : a, b);
    if (s->finished)
        p = kiln_add(kiln_maximum(p, 0), 1);
    return s->summed ? kiln_sum(p, KILN_AXES(-1)) : p;
}

static double expected(const matrices *a, const matrices *b, const surroundings *s, int64_t nth,
                       int64_t i, int64_t j)
{
    const double p = (s->scaled ? 2 : 1) * product_at(a, b, nth, i, j);
    return s->finished ? (p > 0 ? p : 0) + 1 : p;
}

static void check(test_env *t, const kiln_array *z, const matrices *a, const matrices *b,
                  const surroundings *s)
{
    const int64_t stack = a->stack > b->stack ? a->stack : b->stack;
    static double got[ROOM];
    size_t at = 0;

    graph_fetch(t, z, got, (size_t)(stack * a->rows * (s->summed ? 1 : b->columns)));
    for (int64_t nth = 0; nth < stack; nth++)
        for (int64_t i = 0; i < a->rows; i++) {
            double sum = 0;
            for (int64_t j = 0; j < b->columns; j++) {
                const double want = expected(a, b, s, nth, i, j);
                sum += want;
                if (!s->summed)
                    graph_near(got[at], want, 0, at), at++;
            }
            if (s->summed)
                graph_near(got[at], sum, 0, at), at++;
        }
}

static void test_graph_matmul__random_products_between_kernels(void **state)
{
    test_env *t = *state;
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_INT32, KILN_FLOAT16,
                                        KILN_BFLOAT16};

    for (int nth = 0; nth < 40; nth++) {
        const uint64_t bits = test_random(t);
        const surroundings s = {bits & 1, bits & 2, bits & 4, bits & 8, bits & 16};
        /* Sums of bfloat16 are exact up to 256. */
        const kiln_dtype dtype = dtypes[test_random(t) % (s.summed ? 3 : 4)];
        const int64_t stack = 1 + (int64_t)(test_random(t) % 4), k = extent(t);
        const matrices a = draw(t, dtype, test_random(t) % 2 ? stack : 1, extent(t), k);
        const matrices b = draw(t, dtype, stack, k, extent(t));
        kiln_array *given = NULL, *z = NULL;
        kiln_graph *g = graph_begin(t);
        const kiln_node left = kiln_graph_input(g, "a"), right = kiln_graph_input(g, "b");
        kiln_graph_output(g, "z", record(left, right, &s));
        if (s.transposed)
            OK(t, kiln_array_transpose(a.array, KILN_AXES(0, 2, 1), &given, &t->err));
        else
            given = kiln_array_retain(a.array);
        OK(t, kiln_call(g, &t->err, given, b.array, &z));
        check(t, z, &a, &b, &s);
        OK(t, kiln_call(g, &t->err, given, b.array, z)); /* found again, into a given array */
        check(t, z, &a, &b, &s);
        kiln_array_release(z), kiln_array_release(given);
        kiln_array_release(a.array), kiln_array_release(b.array);
        kiln_graph_destroy(g);
    }
}

/* softmax(q @ k.T * s) @ v: one pass over the scores stands between the two products. */
static void test_graph_matmul__attention(void **state)
{
    test_env *t = *state;
    enum { N = 9, D = 5 };
    const matrices q = draw(t, KILN_FLOAT64, 0, N, D), k = draw(t, KILN_FLOAT64, 0, N, D),
                   v = draw(t, KILN_FLOAT64, 0, N, D);
    const char *const names[] = {"q", "k", "v"};
    kiln_graph *g = NULL;
    kiln_array *z = NULL;
    double got[N * D];

    OK(t, kiln_graph_parse(t->ctx,
                           "s = q @ k.T * 0.25; e = exp(s - s.max(axis=1, keepdims=True)); "
                           "e / e.sum(axis=1, keepdims=True) @ v",
                           names, 3, NULL, &g, NULL, &t->err));
    assert_int_equal(KERNELS(t, g, q.array, k.array, v.array, &z), 3);
    OK(t, kiln_call(g, &t->err, q.array, k.array, v.array, &z));
    graph_fetch(t, z, got, N * D);
    for (int i = 0; i < N; i++) {
        double e[N], sum = 0;
        for (int j = 0; j < N; j++) {
            double score = 0;
            for (int d = 0; d < D; d++)
                score += q.at[i * D + d] * k.at[j * D + d];
            sum += e[j] = exp(0.25 * score);
        }
        for (int d = 0; d < D; d++) {
            double want = 0;
            for (int j = 0; j < N; j++)
                want += e[j] / sum * v.at[j * D + d];
            graph_near(got[i * D + d], want, 1e-12, (size_t)(i * D + d));
        }
    }
    kiln_graph_destroy(g), kiln_array_release(z);
    kiln_array_release(q.array), kiln_array_release(k.array), kiln_array_release(v.array);
}

/* `@` binds as `*` does, from the left; vectors lose their axis, as in NumPy. */
static void test_graph_matmul__text(void **state)
{
    test_env *t = *state;
    enum { N = 4, K = 3 };
    const matrices a = draw(t, KILN_FLOAT32, 0, N, K), x = draw(t, KILN_FLOAT32, 0, 1, K);
    const char *const names[] = {"a", "x"};
    static const char *const texts[] = {"1 + 2 * a @ x[0] * 3", "1 + matmul(2 * a, x[0]) * 3",
                                        "6 * np.matmul(a, x[0]) + 1", "1 + x[0] @ (6 * a.T)"};

    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        double got[N];
        OK(t, kiln_graph_parse(t->ctx, texts[k], names, 2, NULL, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, a.array, x.array, &z));
        assert_int_equal(kiln_array_rank(z), 1);
        graph_fetch(t, z, got, N);
        for (int i = 0; i < N; i++) {
            double want = 0;
            for (int j = 0; j < K; j++)
                want += a.at[i * K + j] * x.at[j];
            graph_near(got[i], 1 + 6 * want, 0, (size_t)i);
        }
        kiln_graph_destroy(g), kiln_array_release(z);
    }
    kiln_array_release(a.array), kiln_array_release(x.array);
}

/* A wide graph gives the product operands of the dtype that NumPy has there. */
static void test_graph_matmul__wide(void **state)
{
    test_env *t = *state;
    const matrices a = draw(t, KILN_FLOAT16, 0, 5, 6), b = draw(t, KILN_FLOAT16, 0, 6, 4);
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;
    kiln_graph *g = NULL;
    kiln_array *z = NULL;
    double got[20];

    o.wide = 1;
    OK(t, kiln_graph_create(t->ctx, &o, &g, &t->err));
    const kiln_node x = kiln_graph_input(g, "a"), y = kiln_graph_input(g, "b");
    kiln_graph_output(g, "z", kiln_add(kiln_dot(kiln_add(x, 1), y), 2));
    OK(t, kiln_call(g, &t->err, a.array, b.array, &z));
    assert_int_equal(kiln_array_dtype(z), KILN_FLOAT16);
    graph_fetch(t, z, got, 20);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4; j++) {
            double want = 2;
            for (int k = 0; k < 6; k++)
                want += (a.at[i * 6 + k] + 1) * b.at[k * 4 + j];
            graph_near(got[i * 4 + j], want, 0, (size_t)(i * 4 + j));
        }
    kiln_graph_destroy(g), kiln_array_release(z);
    kiln_array_release(a.array), kiln_array_release(b.array);
}

/* Equal products are one; one that two kernels use is stored once; int8 gives int32. */
static void test_graph_matmul__shared(void **state)
{
    test_env *t = *state;
    const matrices a = draw(t, KILN_INT8, 0, 5, 6), b = draw(t, KILN_INT8, 0, 6, 4);
    kiln_graph *g = graph_begin(t);
    kiln_array *rows = NULL, *p = NULL;
    char *text = NULL;
    double got[20], sums[4];

    kiln_node x = kiln_graph_input(g, "a"), y = kiln_graph_input(g, "b");
    kiln_graph_output(g, "columns", kiln_sum(kiln_dot(x, y), KILN_AXES(0)));
    kiln_graph_output(g, "p", kiln_dot(x, y));
    OK(t, kiln_graph_explain(g, KILN_ARGS(a.array, b.array, &rows, &p), &text, &t->err));
    assert_non_null(strstr(text, "2 kernels"));
    assert_non_null(strstr(text, "library call over (5, 4)"));
    kiln_free(text);
    OK(t, kiln_call(g, &t->err, a.array, b.array, &rows, &p));
    assert_int_equal(kiln_array_dtype(p), KILN_INT32);
    graph_fetch(t, p, got, 20), graph_fetch(t, rows, sums, 4);
    for (int j = 0; j < 4; j++) {
        double sum = 0;
        for (int i = 0; i < 5; i++) {
            graph_near(got[i * 4 + j], product_at(&a, &b, 0, i, j), 0, (size_t)(i * 4 + j));
            sum += got[i * 4 + j];
        }
        graph_near(sums[j], sum, 0, (size_t)j);
    }
    kiln_array_release(rows), kiln_array_release(p), kiln_graph_destroy(g);
    kiln_array_release(a.array), kiln_array_release(b.array);
}

/* An output may be an operand; no operand at all is a product of zeros. */
static void test_graph_matmul__outputs_over_operands_and_empty_sums(void **state)
{
    test_env *t = *state;
    const matrices a = draw(t, KILN_FLOAT32, 0, 4, 4), b = draw(t, KILN_FLOAT32, 0, 4, 4);
    const int64_t none[] = {3, 0}, wide[] = {0, 2};
    kiln_graph *g = graph_begin(t);
    kiln_array *z = NULL, *left = NULL, *right = NULL;
    double got[16];

    const kiln_node x = kiln_graph_input(g, "a"), y = kiln_graph_input(g, "b");
    kiln_graph_output(g, "z", kiln_dot(x, y));
    OK(t, kiln_call(g, &t->err, a.array, b.array, a.array));
    graph_fetch(t, a.array, got, 16);
    for (int k = 0; k < 16; k++)
        graph_near(got[k], product_at(&a, &b, 0, k / 4, k % 4), 0, (size_t)k);
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, none, &left, &t->err));
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, wide, &right, &t->err));
    OK(t, kiln_call(g, &t->err, left, right, &z));
    graph_fetch(t, z, got, 6);
    for (int k = 0; k < 6; k++)
        graph_near(got[k], 0, 0, (size_t)k);
    kiln_array_release(z), kiln_array_release(left), kiln_array_release(right);
    kiln_graph_destroy(g), kiln_array_release(a.array), kiln_array_release(b.array);
}

static void test_graph_matmul__errors(void **state)
{
    test_env *t = *state;
    const matrices a = draw(t, KILN_FLOAT32, 0, 4, 3);
    kiln_graph *g = graph_begin(t);
    kiln_array *z = NULL;
    kiln_prefetch *prefetch = NULL;
    char *text = NULL;

    const kiln_node x = kiln_graph_input(g, "a"), y = kiln_graph_input(g, "b");
    kiln_graph_output(g, "z", kiln_dot(x, y));
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, a.array, a.array, &z),
          "(4, 3) and (4, 3): 3 columns do not meet 4 rows", "test_graph_matmul.c:");
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, a.array, 2, &z), "must have an axis");
    assert_null(z);
    kiln_array *b = NULL;
    OK(t, kiln_array_transpose(a.array, NULL, &b, &t->err));
    FAILS(t, KILN_ERR_UNSUPPORTED,
          kiln_graph_source(g, KILN_ARGS(a.array, b, &z), 0, &text, &t->err), "matmul");
    OK(t, kiln_graph_prefetch(g, KILN_ARGS(a.array, b, &z), NULL, &prefetch, &t->err));
    kiln_prefetch_destroy(prefetch);
    OK(t, kiln_call(g, &t->err, a.array, b, &z));
    kiln_array_release(z), kiln_array_release(b), kiln_array_release(a.array);
    kiln_graph_destroy(g);
}

/* Prepared: operands are read anew at each run, also where the graph is gone and a product stands between
 * kernels. */
static void test_graph_matmul__prepared(void **state)
{
    static const char *const texts[] = {"a @ b", "maximum(2 * a @ b, 0) + 1", "(a @ b) @ b.T"};
    test_env *t = *state;
    const char *const names[] = {"a", "b"};

    for (size_t nth = 0; nth < COUNT(texts); nth++) {
        const matrices a = draw(t, KILN_FLOAT32, 0, 5, 7), b = draw(t, KILN_FLOAT32, 0, 7, 6),
                       other = draw(t, KILN_FLOAT32, 0, 5, 7);
        kiln_graph *g = NULL;
        kiln_launch *launch = NULL;
        kiln_array *z = NULL;

        OK(t, kiln_graph_parse(t->ctx, texts[nth], names, 2, NULL, &g, NULL, &t->err));
        OK(t, kiln_graph_prepare(g, KILN_ARGS(a.array, b.array, &z), NULL, &launch, &t->err));
        kiln_graph_destroy(g);
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        OK(t, kiln_array_assign(a.array, other.array, &t->err));
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        kiln_launch_destroy(launch);
        const int64_t columns = nth == 2 ? 7 : 6;
        double got[5 * 7];
        graph_fetch(t, z, got, (size_t)(5 * columns));
        for (int64_t i = 0; i < 5; i++)
            for (int64_t j = 0; j < columns; j++) {
                double want = nth == 2 ? 0 : product_at(&other, &b, 0, i, j);
                for (int64_t k = 0; nth == 2 && k < 6; k++)
                    want += product_at(&other, &b, 0, i, k) * b.at[j * 6 + k];
                if (nth == 1)
                    want = (want > 0 ? 2 * want : 0) + 1;
                graph_near(got[i * columns + j], want, 0, (size_t)(i * columns + j));
            }
        kiln_array_release(z), kiln_array_release(a.array), kiln_array_release(b.array);
        kiln_array_release(other.array);
    }
}

/* ---- products of arrays of any rank ------------------------------------------------------------- */

/* Of a = np.arange(6).reshape(2, 3) - 2 and b = np.arange(12).reshape(3, 4) * 5 % 7 - 3: what NumPy's functions of
 * these names give. */
static const struct named_product {
    const char *text;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    double values[24];
} named_products[] = {
    {"einsum(\"ij,jk->ik\", a, b)", 2, {2, 4}, {3, -5, 1, 7, 9, 4, -8, 1}},
    {"einsum('ij,jk', a, b) * 2 + 1", 2, {2, 4}, {7, -9, 3, 15, 19, 9, -15, 3}},
    {"einsum(\"ij,jk,lk->il\", a * 1, b, b)", 2, {2, 3}, {-33, -18, 25, -21, 36, 37}},
    {"einsum(\"ij->ji\", a)", 2, {3, 2}, {-2, 1, -1, 2, 0, 3}},
    {"einsum(\"ij,ij->\", a, a)", 0, {0}, {19}},
    {"einsum(\"...j,jk->k...\", a, b)", 2, {4, 2}, {3, 9, -5, 4, 1, -8, 7, 1}},
    {"dot(a, b)", 2, {2, 4}, {3, -5, 1, 7, 9, 4, -8, 1}},
    {"inner(a, b.T)", 2, {2, 4}, {3, -5, 1, 7, 9, 4, -8, 1}},
    {"tensordot(a, b, 1)", 2, {2, 4}, {3, -5, 1, 7, 9, 4, -8, 1}},
    {"tensordot(a, a, 2)", 0, {0}, {19}},
    {"multi_dot([a, b, b.T])", 2, {2, 3}, {-33, -18, 25, -21, 36, 37}},
    {"outer(a[0], b[:, 1])", 2, {3, 3}, {-4, -2, -0, -2, -1, -0, 0, 0, 0}},
    {"kron(a, b[0])", 2, {2, 12}, {6,  -4, -0, 4,  3,  -2, -0, 2,  -0, 0, 0, -0,
                                   -3, 2,  0,  -2, -6, 4,  0,  -4, -9, 6, 0, -6}},
    {"matvec(a, b[:, 0])", 1, {2}, {3, 9}},
    {"vecmat(a[1], b)", 1, {4}, {9, 4, -8, 1}},
    {"matrix_power(a @ a.T, 3)", 2, {2, 2}, {509, -1228, -1228, 3272}},
    {"dot(a, a.T) @ a - a", 2, {2, 3}, {-12, -12, -12, 21, 30, 39}},
};

static void test_graph_matmul__products_by_name(void **state)
{
    test_env *t = *state;
    static const double left[] = {-2, -1, 0, 1, 2, 3};
    static const double right[] = {-3, 2, 0, -2, 3, 1, -1, -3, 2, 0, -2, 3};
    const char *const names[] = {"a", "b"};
    kiln_array *a = NULL, *b = NULL;

    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){2, 3}, left, NULL, &a, &t->err));
    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){3, 4}, right, NULL, &b, &t->err));
    for (size_t nth = 0; nth < COUNT(named_products); nth++) {
        const struct named_product *n = &named_products[nth];
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        double got[24];
        OK(t, kiln_graph_parse(t->ctx, n->text, names, 2, NULL, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, a, b, &z));
        assert_int_equal(kiln_array_rank(z), n->rank);
        for (int k = 0; k < n->rank; k++)
            assert_int_equal(kiln_array_shape(z)[k], n->shape[k]);
        graph_fetch(t, z, got, (size_t)kiln_array_size(z));
        for (size_t k = 0; k < (size_t)kiln_array_size(z); k++)
            CHECK(got[k] == n->values[k], "%s: element %zu is %g, not %g", n->text, k, got[k],
                  n->values[k]);
        kiln_array_release(z), kiln_graph_destroy(g);
    }
    kiln_array_release(a), kiln_array_release(b);
}

static void test_graph_matmul__einsum_of_nodes(void **state)
{
    test_env *t = *state;
    const matrices a = draw(t, KILN_FLOAT32, 0, 5, 7), b = draw(t, KILN_FLOAT32, 0, 6, 7);
    kiln_graph *g = graph_begin(t);
    const kiln_node nodes[] = {kiln_graph_input(g, "a"), kiln_add(kiln_graph_input(g, "b"), 1)};
    kiln_array *z = NULL;
    double got[6];

    kiln_graph_output(g, "z", kiln_einsum("ij,kj->k", nodes, 2));
    OK(t, kiln_call(g, &t->err, a.array, b.array, &z));
    graph_fetch(t, z, got, 6);
    for (int k = 0; k < 6; k++) {
        double want = 0;
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 7; j++)
                want += a.at[i * 7 + j] * (b.at[k * 7 + j] + 1);
        graph_near(got[k], want, 0, (size_t)k);
    }
    kiln_array_release(z), kiln_array_release(a.array), kiln_array_release(b.array);
    kiln_graph_destroy(g);
}

/* Expressions that are wrong as they are written, or only of a (2, 3) and b (3, 4). */
static void test_graph_matmul__refuses_named_products(void **state)
{
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } cases[] = {
        {"einsum(\"ij,jk->ik, a, b)", KILN_ERR_SYNTAX, "has no end"},
        {"einsum(a, b)", KILN_ERR_ARGUMENT, "a text in quotes"},
        {"einsum(\"ij\")", KILN_ERR_ARGUMENT_COUNT, "einsum takes 2 to 17 arguments"},
        {"\"ij\" + a", KILN_ERR_ARGUMENT, "needed here, and this is a text"},
        {"multi_dot(a, b)", KILN_ERR_ARGUMENT_COUNT, "multi_dot takes 1 argument"},
        {"multi_dot(a)", KILN_ERR_ARGUMENT, "a list of 1 to 16 arrays"},
        {"tensordot(a, b, 0.5)", KILN_ERR_ARGUMENT, "a whole number"},
        {"einsum(\"ij,jk->iz\", a, b)", KILN_ERR_SYNTAX, "einsum"},
        {"einsum(\"ij,ij->i\", a, b)", KILN_ERR_SHAPE, "axis 0 of operand 2"},
        {"einsum(\"i,ij->i\", a, b)", KILN_ERR_SHAPE, "term 1 names 1 axes, operand 1 has 2"},
        {"inner(a, b)", KILN_ERR_SHAPE, "(2, 3) and (3, 4): the axes to sum over differ"},
        {"dot(a, a)", KILN_ERR_SHAPE, "(2, 3) and (2, 3): the axes to sum over differ"},
        {"tensordot(a, b, 3)", KILN_ERR_SHAPE, "more axes"},
        {"tensordot(a, b, -1)", KILN_ERR_AXIS, "over -1 axes"},
        {"matvec(a, b)", KILN_ERR_SHAPE, "the axes to sum over differ"},
        {"vecmat(a, 2)", KILN_ERR_SHAPE, "two axes"},
        {"multi_dot([a, a])", KILN_ERR_SHAPE, "columns do not meet rows"},
        {"multi_dot([a])", KILN_ERR_ARGUMENT, "there must be two"},
        {"matrix_power(a, 2)", KILN_ERR_SHAPE, "(2, 3) is no stack of square"},
    };
    test_env *t = *state;
    const char *const names[] = {"a", "b"};
    kiln_array *a = NULL, *b = NULL, *z = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (int64_t[]){2, 3}, &a, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (int64_t[]){3, 4}, &b, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_status status =
            kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err);
        if (status == KILN_OK)
            status = kiln_call(g, &t->err, a, b, &z);
        CHECK(status == cases[k].status && strstr(t->err.message, cases[k].says) != NULL, "%s: %s",
              cases[k].text, t->err.message);
        assert_null(z);
        kiln_error_clear(&t->err);
        kiln_graph_destroy(g);
    }
    kiln_array_release(a), kiln_array_release(b);
}

/* ---- what follows a product -------------------------------------------------------------------- */

/* What an element of an expression is, of those of a @ b, c and d. */
#define VALUE(name, expression)                                                                    \
    static double name(double p, double c, double d)                                               \
    {                                                                                              \
        (void)p, (void)c, (void)d;                                                                 \
        return expression;                                                                         \
    }
VALUE(plain, p)
VALUE(twice, 2 * p)
VALUE(thrice, 3 * p)
VALUE(tenth, p / 10)
VALUE(quarter, p / 4)
VALUE(with_bias, p + c)
VALUE(with_residual, p + d)
VALUE(with_two_residuals, p + d + d)
VALUE(twice_with_residual, 2 * p + d)
VALUE(twice_all, 2 * (p + d))
VALUE(relu, p > 0 ? p : 0)
VALUE(bias_relu, relu(p + c, 0, 0))
VALUE(relu_of_all, relu(2 * p + c + d, 0, 0))
VALUE(gelu, p / 2 * (1 + tanh(0.79788456080286535588 * (p + 0.044715 * p * p * p))))
VALUE(near_gelu, p / 2 * (1 + tanh(0.79788456080286535588 * (p + 0.0447 * p * p * p))))
VALUE(bias_gelu, gelu(p + c, 0, 0))
VALUE(bias_near_gelu, near_gelu(p + c, 0, 0))

#define GELU(cube) "z = a @ b + c; 0.5 * z * (1 + tanh(sqrt(2 / pi) * (z + " cube " * z * z * z)))"

/* An expression of a (6, 7), b (7, 5), c (5,) and d (6, 5), the number of its kernels on a GPU, and what the product's step
 * says there. */
static const struct following {
    const char *text;
    kiln_dtype dtype, bias;
    int wide, kernels;
    const char *why;
    double (*value)(double p, double c, double d);
} followings[] = {
    {"a @ b + c", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and a bias", with_bias},
    {"c + a @ b", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and a bias", with_bias},
    {"maximum(a @ b, 0)", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and relu", relu},
    {"maximum(0, c + a @ b)", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product, a bias and relu",
     bias_relu},
    {"maximum(a @ b + c, 0).T", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "product, a bias and relu",
     bias_relu},
    /* scales, and whole arrays, which come before the bias where nothing is wide */
    {"a @ b * 0.1", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and a scale, by", tenth},
    {"a @ b / 4", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and a scale, by", quarter},
    {"a @ b / 10", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", tenth},
    {"a @ b + d", KILN_FLOAT32, KILN_FLOAT32, 0, 1, "product and a residual, by", with_residual},
    {"d + a @ b * 2", KILN_FLOAT64, KILN_FLOAT64, 0, 1, "product, a scale and a residual, by",
     twice_with_residual},
    {"maximum(a @ b + c, 0)", KILN_FLOAT64, KILN_FLOAT64, 0, 1, "product, a bias and relu, by",
     bias_relu},
    {"maximum(a @ b * 2 + d + c, 0)", KILN_FLOAT32, KILN_FLOAT32, 0, 1,
     "product, a scale, a residual, a bias and relu, by", relu_of_all},
    {"maximum(a @ b * 2 + c + d, 0)", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by",
     relu_of_all},
    {"maximum(a @ b * 2 + c + d, 0)", KILN_BFLOAT16, KILN_BFLOAT16, 1, 1,
     "product, a scale, a residual, a bias and relu, by", relu_of_all},
    {"(a @ b + d) * 2", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", twice_all},
    {"a @ b + d + d", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", with_two_residuals},
    {"a @ b + d", KILN_FLOAT16, KILN_FLOAT16, 0, 2, "a matrix product, by", with_residual},
    {"(a + a) @ b + a @ b", KILN_FLOAT64, KILN_FLOAT64, 0, 3, "product and a residual, by", thrice},
    /* casts of what is not rounded before */
    {"cast(a @ b * 0.25, float32)", KILN_FLOAT16, KILN_FLOAT16, 1, 1,
     "product, a scale and a cast to float32, by", quarter},
    {"cast(a @ b, float32)", KILN_FLOAT16, KILN_FLOAT16, 1, 1, "product and a cast to float32, by",
     plain},
    {"cast(a @ b, float32)", KILN_FLOAT16, KILN_FLOAT16, 0, 2, "a matrix product, by", plain},
    {"cast(a @ b, float16)", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", plain},
    {"cast(a @ b * 0.25, bfloat16)", KILN_FLOAT8_E4M3FN, KILN_FLOAT32, 0, 1,
     "product, a scale and a cast to bfloat16, by", quarter},
    {"z = a @ b; cast(z, float32), z", KILN_FLOAT16, KILN_FLOAT16, 1, 2, "a matrix product, by",
     plain},
    /* float32 has more digits than the library's GELU */
    {GELU("0.044715"), KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", bias_gelu},
    /* the product of 16-bit floats is rounded before the bias is added */
    {"a @ b + c", KILN_FLOAT16, KILN_FLOAT16, 0, 2, "a matrix product, by", with_bias},
    {"maximum(a @ b, 0)", KILN_FLOAT16, KILN_FLOAT16, 0, 1, "product and relu", relu},
    {"a @ b + c", KILN_BFLOAT16, KILN_BFLOAT16, 1, 1, "product and a bias", with_bias},
    {"a @ b + (c + c) / 2", KILN_FLOAT16, KILN_FLOAT16, 1, 2, "a matrix product, by", with_bias},
    {GELU("0.044715"), KILN_FLOAT16, KILN_FLOAT16, 1, 1, "product, a bias and gelu", bias_gelu},
    {"z = c + a @ b; z / (1 + exp(-1.5957691216057308 * (z + 0.044715 * z**3)))", KILN_FLOAT16,
     KILN_FLOAT16, 1, 1, "product, a bias and gelu", bias_gelu},
    {GELU("0.0447"), KILN_FLOAT16, KILN_FLOAT16, 1, 2, "a matrix product, by", bias_near_gelu},
    /* a bias of another dtype, or shape, or for rows; a sum that is no end */
    {"a @ b + c", KILN_FLOAT32, KILN_FLOAT64, 0, 2, "a matrix product, by", with_bias},
    {"a @ b + c[None]", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", with_bias},
    {"maximum(a @ b, 1) - 1 + minimum(a @ b, 1)", KILN_FLOAT32, KILN_FLOAT32, 0, 2,
     "a matrix product, by", plain},
    {"(a @ b + c) * 2 / 2", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", with_bias},
    {"a @ b + a @ b", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", twice},
    {"z = a @ b; maximum(z, 0), z", KILN_FLOAT32, KILN_FLOAT32, 0, 2, "a matrix product, by", relu},
};

static void check_value(test_env *t, const struct following *f, const kiln_array *z,
                        const matrices *a, const matrices *b, const matrices *c, const matrices *d)
{
    const int64_t m = a->rows, n = b->columns;
    const bool turned = strstr(f->text, ".T") != NULL;
    const bool rounded = strstr(f->text, "z = ") != NULL || strstr(f->text, "0.1") != NULL ||
                         strstr(f->text, "10") != NULL;
    double got[ROOM];

    assert_int_equal(kiln_array_shape(z)[0], turned ? n : m);
    graph_fetch(t, z, got, (size_t)(m * n));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const size_t at = (size_t)(turned ? j * m + i : i * n + j);
            const double want = f->value(product_at(a, b, 0, i, j), c->at[j], d->at[i * n + j]);
            graph_near(got[at], want, rounded ? 2e-3 : 0, at);
        }
}

static void check_following(test_env *t, const struct following *f)
{
    enum { M = 6, K = 7, N = 5 };
    const matrices a = draw(t, f->dtype, 0, M, K), b = draw(t, f->dtype, 0, K, N),
                   row = draw(t, f->bias, 0, 1, N), d = draw(t, f->bias, 0, M, N);
    const bool gpu = kiln_context_device(t->ctx)->backend == KILN_BACKEND_CUDA;
    const char *const names[] = {"a", "b", "c", "d"};
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;
    kiln_array *c = NULL, *z[2] = {NULL, NULL};
    kiln_launch *launch = NULL;
    char *text = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;

    o.wide = f->wide;
    OK(t, kiln_array_view(row.array, "0", &c, &t->err));
    OK(t, kiln_graph_parse(t->ctx, f->text, names, 4, &o, &g, &results, &t->err));
    const kiln_arg args[] = {kiln_arg_array(a.array), kiln_arg_array(b.array), kiln_arg_array(c),
                             kiln_arg_array(d.array), kiln_arg_out(&z[0]),     kiln_arg_out(&z[1])};
    OK(t, kiln_graph_explain(g, args, 4 + results, &text, &t->err));
    if (gpu) {
        char count[24];
        snprintf(count, sizeof count, ": %d kernel", f->kernels);
        CHECK(strstr(text, count) != NULL && strstr(text, f->why) != NULL, "%s:\n%s", f->text,
              text);
    }
    OK(t, kiln_graph_run(g, args, 4 + results, NULL, &t->err));
    check_value(t, f, z[0], &a, &b, &row, &d);
    OK(t, kiln_array_fill(z[0], 0, &t->err));
    OK(t, kiln_graph_prepare(g, args, 4 + results, NULL, &launch, &t->err));
    kiln_graph_destroy(g); /* a launch has all that it needs */
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check_value(t, f, z[0], &a, &b, &row, &d);
    kiln_launch_destroy(launch);
    kiln_free(text), kiln_array_release(c);
    kiln_array_release(z[0]), kiln_array_release(z[1]);
    kiln_array_release(a.array), kiln_array_release(b.array);
    kiln_array_release(row.array), kiln_array_release(d.array);
}

static void test_graph_matmul__finishes_products(void **state)
{
    for (size_t k = 0; k < COUNT(followings); k++)
        check_following(*state, &followings[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_matmul__random_products_between_kernels),
        TEST(test_graph_matmul__attention),
        TEST(test_graph_matmul__text),
        TEST(test_graph_matmul__wide),
        TEST(test_graph_matmul__shared),
        TEST(test_graph_matmul__outputs_over_operands_and_empty_sums),
        TEST(test_graph_matmul__errors),
        TEST(test_graph_matmul__prepared),
        TEST(test_graph_matmul__finishes_products),
        TEST(test_graph_matmul__products_by_name),
        TEST(test_graph_matmul__einsum_of_nodes),
        TEST(test_graph_matmul__refuses_named_products),
    };
    return test_env_main(argc, argv, "test_graph_matmul", tests, COUNT(tests));
}
