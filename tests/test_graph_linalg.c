/*
 * test_graph_linalg.c - equations and factors as nodes of graphs: between kernels, of views, in text.
 *
 * What results must satisfy is computed by plain loops in double precision.
 */
#include "graph_env.h"

enum { STACK = 3, N = 5, COLUMNS = 2, ROOM = STACK * N * N };

/* A stack of matrices whose diagonals outweigh the rest, rounded to `dtype`; the same as doubles. */
static kiln_array *draw(test_env *t, kiln_dtype dtype, int64_t rows, int64_t columns, double *at)
{
    const int64_t shape[] = {STACK, rows, columns};
    kiln_array *wide = NULL, *x = NULL;

    for (int64_t k = 0; k < STACK * rows * columns; k++)
        at[k] = (double)test_random_below(t, 17) - 8 +
                (k / columns % rows == k % columns && rows == columns ? 50 : 0);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 3, shape, at, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
    kiln_array_release(wide);
    return x;
}

/* The product of stacks of matrices: m x k by k x n. */
static void multiply(const double *a, const double *b, int64_t m, int64_t k, int64_t n, double *y)
{
    memset(y, 0, (size_t)(STACK * m * n) * sizeof *y);
    for (int64_t s = 0; s < STACK; s++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t p = 0; p < k; p++)
                    y[(s * m + i) * n + j] += a[(s * m + i) * k + p] * b[(s * k + p) * n + j];
}

static void expect_near(const double *got, const double *want, size_t count, double tolerance)
{
    for (size_t k = 0; k < count; k++)
        graph_near(got[k], want[k], tolerance, k);
}

/* 2 a^T x = b + 1, from a transposed view and from values that a kernel computes; x goes on into a kernel. */
static void test_graph_linalg__equations_between_kernels(void **state)
{
    test_env *t = *state;
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64};

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        double a[ROOM], turned[ROOM], b[ROOM], x[ROOM], y[ROOM];
        kiln_array *left = draw(t, dtypes[d], N, N, a), *z = NULL;
        kiln_array *right = draw(t, dtypes[d], N, COLUMNS, b);
        kiln_graph *g = graph_begin(t);
        kiln_node m = kiln_graph_input(g, "a"), v = kiln_graph_input(g, "b");
        m = kiln_node_transpose(m, &(kiln_axes){.count = 3, .axis = {0, 2, 1}}, KILN_HERE);
        const kiln_node s = kiln_solve(kiln_multiply(m, 2), kiln_add(v, 1));
        kiln_graph_output(g, "z", kiln_subtract(s, 3));
        OK(t, kiln_call(g, &t->err, left, right, &z));
        assert_int_equal(kiln_array_dtype(z), dtypes[d]);
        graph_fetch(t, z, x, STACK * N * COLUMNS);
        for (size_t k = 0; k < STACK * N * COLUMNS; k++) {
            x[k] += 3;
            b[k] += 1;
        }
        for (int k = 0; k < STACK * N * N; k++)
            turned[k] = 2 * a[k / (N * N) * N * N + k % N * N + k / N % N];
        multiply(turned, x, N, N, COLUMNS, y);
        expect_near(y, b, STACK * N * COLUMNS, d == 0 ? 1e-4 : 1e-12);
        kiln_graph_destroy(g), kiln_array_release(z);
        kiln_array_release(left), kiln_array_release(right);
    }
}

/* Q and R come from one step; an output that is given, and a result that nobody needs. */
static void test_graph_linalg__several_results_of_one_step(void **state)
{
    test_env *t = *state;
    double a[ROOM], q[ROOM], r[ROOM], y[ROOM], s[STACK * N], squares[STACK];
    kiln_array *x = draw(t, KILN_FLOAT64, N, N, a), *q_out = NULL, *r_out = NULL, *s_out = NULL;
    kiln_graph *g = graph_begin(t);
    const kiln_node in = kiln_graph_input(g, "a");
    char *text = NULL;

    OK(t,
       kiln_array_empty(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){STACK, N, N}, &q_out, &t->err));
    kiln_graph_output(g, "q", kiln_node_linalg1("qr", in, 0, KILN_HERE));
    kiln_graph_output(g, "r", kiln_node_linalg1("qr", in, 1, KILN_HERE));
    kiln_graph_output(g, "s", kiln_node_linalg1("svd", in, 1, KILN_HERE));
    OK(t, kiln_graph_explain(g, KILN_ARGS(x, q_out, &r_out, &s_out), &text, &t->err));
    CHECK(strstr(text, "2 kernels") != NULL, "%s", text);
    kiln_free(text);
    OK(t, kiln_call(g, &t->err, x, q_out, &r_out, &s_out));
    graph_fetch(t, q_out, q, ROOM), graph_fetch(t, r_out, r, ROOM);
    graph_fetch(t, s_out, s, STACK * N);
    multiply(q, r, N, N, N, y);
    expect_near(y, a, ROOM, 1e-12);
    for (int k = 0; k < ROOM; k++)
        assert_true(k / N % N <= k % N || r[k] == 0);
    for (int n = 0; n < STACK;
         n++) { /* singular values have the squares of the elements as their sum */
        double want = 0;
        squares[n] = 0;
        for (int k = 0; k < N * N; k++)
            want += a[n * N * N + k] * a[n * N * N + k];
        for (int k = 0; k < N; k++)
            squares[n] += s[n * N + k] * s[n * N + k];
        graph_near(squares[n], want, 1e-12, (size_t)n);
    }
    kiln_graph_destroy(g), kiln_array_release(x);
    kiln_array_release(q_out), kiln_array_release(r_out), kiln_array_release(s_out);
}

/* Texts that must give 0, whatever the matrices are. */
static void test_graph_linalg__text(void **state)
{
    test_env *t = *state;
    static const char *const texts[] = {
        "max(abs(a @ solve(a, b) - b))",
        "max(abs(inv(a) @ a - eye))",
        "q, r = np.linalg.qr(b); max(abs(q @ r - b))",
        "u, s, vh = linalg.svd(a); max(abs((u * s[:, None]) @ vh - a))",
        "s = a + transpose(a, (0, 2, 1)); w, v = s.eigh(); max(abs(s @ v - v * w[:, None]))",
        "l = cholesky(a @ transpose(a, (0, 2, 1))); "
        "max(abs(l @ transpose(l, (0, 2, 1)) - a @ transpose(a, (0, 2, 1))))",
        "sign, log = slogdet(a); max(abs(sign * exp(log) / det(a) - 1))",
        "p, l, u = lu(b); max(abs(p @ (l @ u) - b))",
        "s = a - 3 * eye; s = s + transpose(s, (0, 2, 1)); l, d, order = ldl(s); "
        "max(abs(l @ d @ transpose(l, (0, 2, 1)) - s))",
        "f, places = lu_factor(a); p, l, u = lu(a); max(abs(triu(f) - u)) + sum(places < 0)",
        "max(abs(pinv(b) @ b - eye[:2, :2]))",
        "max(abs(lstsq(a, b) - solve(a, b)))",
        "u, s, vh = svd(a); max(abs(svdvals(a) - s))",
        "max(abs(matrix_rank(b) - 2))",
        "w, v = eigh(a); max(abs(eigvalsh(a) - w))",
        "max(abs(expm(0 * a) - eye))",
        "c = eye + 0.1 * abs(eye[::-1]); max(abs(cho_solve(cholesky(c @ c), c) - inv(c)))",
        "max(abs(solve_triangular(a, tril(a)) - eye))",
    };
    const char *const names[] = {"a", "b", "eye"};
    double room[ROOM];
    kiln_array *a = draw(t, KILN_FLOAT64, N, N, room), *b = draw(t, KILN_FLOAT64, N, 2, room);
    kiln_array *eye = NULL;
    double unit[N * N] = {0};

    for (int k = 0; k < N; k++)
        unit[k * (N + 1)] = 1;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){N, N}, unit, NULL, &eye,
                               &t->err));
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        double got = 1;
        OK(t, kiln_graph_parse(t->ctx, texts[k], names, 3, NULL, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, a, b, eye, &z));
        graph_fetch(t, z, &got, 1);
        CHECK(got >= 0 && got < 1e-10, "%s: %g", texts[k], got);
        kiln_graph_destroy(g), kiln_array_release(z);
    }
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(eye);
}

static void test_graph_linalg__errors(void **state)
{
    test_env *t = *state;
    static const double ones[] = {2, 0, 0, 1, 1, 1, 1, 1};
    const char *const names[] = {"a"};
    kiln_array *a = NULL, *z = NULL, *column = NULL;
    kiln_launch *launch = NULL;
    kiln_graph *g = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){2, 2, 2}, ones, NULL, &a,
                               &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){3, 1}, &column, &t->err));
    g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "a");
    kiln_graph_output(g, "z", kiln_inv(x));
    FAILS(t, KILN_ERR_SINGULAR, kiln_call(g, &t->err, a, &z), "inv: matrix [1]", "pivot 2");
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, column, &z), "square", "(3, 1)",
          "test_graph_linalg.c:");
    assert_null(z);
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){2, 2, 2}, &z, &t->err));
    OK(t, kiln_graph_prepare(g, KILN_ARGS(a, z), NULL, &launch, &t->err));
    FAILS(t, KILN_ERR_SINGULAR, kiln_launch_run(launch, NULL, &t->err), "inv: matrix [1]");
    kiln_launch_destroy(launch), kiln_array_release(z);
    kiln_graph_destroy(g);
    static const struct {
        const char *function;
        size_t result;
        kiln_status status;
        const char *message;
    } wrong[] = {{"solve", 0, KILN_ERR_NAME, "there is no function `solve` of 1 array"},
                 {"fuse", 0, KILN_ERR_NAME, "there is no function `fuse` of 1 array"},
                 {"qr", 2, KILN_ERR_ARGUMENT, "there is no result 2; qr has 2"},
                 {NULL, 0, KILN_ERR_NULL, "the name of the function is NULL"}};
    for (size_t k = 0; k < COUNT(wrong); k++) {
        g = graph_begin(t);
        x = kiln_graph_input(g, "a");
        kiln_graph_output(g, "z",
                          kiln_node_linalg1(wrong[k].function, x, wrong[k].result, KILN_HERE));
        FAILS(t, wrong[k].status, kiln_graph_compile(g, &t->err), wrong[k].message);
        kiln_graph_destroy(g);
    }
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_graph_parse(t->ctx, "solve(a)", names, 1, NULL, &g, NULL, &t->err),
          "takes 2 arguments, 1 given");
    FAILS(t, KILN_ERR_NAME,
          kiln_graph_parse(t->ctx, "det(a, axis=0)", names, 1, NULL, &g, NULL, &t->err),
          "takes no axis");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_graph_parse(t->ctx, "1 + qr(a)", names, 1, NULL, &g, NULL, &t->err), "and these are several");
    kiln_array_release(a), kiln_array_release(column);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_linalg__equations_between_kernels),
        TEST(test_graph_linalg__several_results_of_one_step),
        TEST(test_graph_linalg__text),
        TEST(test_graph_linalg__errors),
    };
    return test_env_main(argc, argv, "test_graph_linalg", tests, COUNT(tests));
}
