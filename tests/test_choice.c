/*
 * test_choice.c - numbers drawn by their probabilities, and vectors of a normal distribution, against plain loops over
 * the same uniform numbers, and by how often each comes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/expression.h"
#include "kiln/random.h"
#include "test_env.h"

enum { MOST = 20000 };

static kiln_array *of_numbers(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                              const double *values)
{
    kiln_array *wide = NULL, *array = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, shape, values, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &array, &t->err));
    kiln_array_release(wide);
    return array;
}

static void read_back(test_env *t, const kiln_array *array, kiln_dtype dtype, void *out,
                      size_t bytes)
{
    assert_int_equal(kiln_array_dtype(array), dtype);
    OK(t, kiln_array_to_host(array, out, bytes, NULL, &t->err));
}

/* What NumPy makes of the same uniform numbers: their places among the sums, behind those that are equal. */
static void test_choice__places_are_those_of_plain_c(void **state)
{
    enum { N = 7, ROWS = 50, COLUMNS = 30 };
    static const double p[N] = {0, 0.125, 0.25, 0, 0.5, 0.125, 0};
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_FLOAT32, KILN_FLOAT16};
    static double uniform[ROWS * COLUMNS];
    static int64_t got[ROWS * COLUMNS];
    const int64_t n = N, shape[] = {ROWS, COLUMNS};
    test_env *t = *state;
    kiln_random generator, same;

    kiln_random_init(&generator, 11, 3);
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *probabilities = of_numbers(t, dtypes[d], 1, &n, p), *y = NULL, *u = NULL;
        same = generator;
        OK(t,
           kiln_random_choice(&generator, t->ctx, N, probabilities, true, 2, shape, &y, &t->err));
        assert_int_equal(generator.draw, d + 1);
        OK(t, kiln_random_array(&same, t->ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT64, 2, shape,
                                &u, &t->err));
        read_back(t, u, KILN_FLOAT64, uniform, sizeof uniform);
        read_back(t, y, KILN_INT64, got, sizeof got);
        for (int k = 0; k < ROWS * COLUMNS; k++) {
            double sum = 0;
            int want = 0;
            for (sum = p[0]; sum <= uniform[k]; sum += p[want])
                want++;
            CHECK(got[k] == want, "%g is %d, not %d", uniform[k], (int)got[k], want);
        }
        kiln_array_release(probabilities);
        kiln_array_release(y);
        kiln_array_release(u);
    }
}

/* Each number at most once; none that has no probability; the first one as often as its probability says. */
static void test_choice__each_at_most_once(void **state)
{
    enum { N = 5, ROUNDS = 1500, SIZE = 3 };
    static const double p[N] = {0.1, 0, 0.2, 0.3, 0.4};
    const int64_t n = N, size = SIZE;
    test_env *t = *state;
    kiln_array *probabilities = of_numbers(t, KILN_FLOAT64, 1, &n, p);
    int64_t got[SIZE];
    int first[N] = {0};
    kiln_random generator;
    double chi = 0;

    kiln_random_init(&generator, 5, 0);
    for (int round = 0; round < ROUNDS; round++) {
        kiln_array *y = NULL;
        OK(t,
           kiln_random_choice(&generator, t->ctx, N, probabilities, false, 1, &size, &y, &t->err));
        read_back(t, y, KILN_INT64, got, sizeof got);
        for (int k = 0; k < SIZE; k++) {
            assert_true(got[k] >= 0 && got[k] < N && p[got[k]] > 0);
            for (int m = 0; m < k; m++)
                assert_true(got[m] != got[k]);
        }
        first[got[0]]++;
        kiln_array_release(y);
    }
    for (int k = 0; k < N; k++)
        chi += p[k] > 0 ? pow(first[k] - ROUNDS * p[k], 2) / (ROUNDS * p[k]) : 0;
    CHECK(chi < 16.27, "chi squared of 3 degrees is %g",
          chi); /* once in 1000 draws; the seed is fixed */
    kiln_array_release(probabilities);
}

static void test_choice__without_probabilities(void **state)
{
    enum { N = 40 };
    const int64_t shape[] = {N / 4, 4}, none = 0;
    test_env *t = *state;
    int64_t got[N];
    bool seen[N] = {false};
    kiln_array *y = NULL;
    kiln_random generator;

    kiln_random_init(&generator, 2, 0);
    OK(t, kiln_random_choice(&generator, t->ctx, N, NULL, false, 2, shape, &y, &t->err));
    read_back(t, y, KILN_INT64, got, sizeof got);
    for (int k = 0; k < N; k++) {
        assert_true(got[k] >= 0 && got[k] < N && !seen[got[k]]);
        seen[got[k]] = true;
    }
    kiln_array_release(y);
    OK(t, kiln_random_choice(&generator, t->ctx, 3, NULL, true, 2, shape, &y, &t->err));
    read_back(t, y, KILN_INT64, got, sizeof got);
    for (int k = 0; k < N; k++)
        assert_true(got[k] >= 0 && got[k] < 3);
    kiln_array_release(y);
    OK(t, kiln_random_choice(&generator, t->ctx, 0, NULL, true, 1, &none, &y, &t->err));
    assert_int_equal(kiln_array_size(y), 0);
    kiln_array_release(y);
    assert_int_equal(generator.draw, 3);
}

static void test_choice__bad_probabilities_have_errors_of_their_own(void **state)
{
    static const struct {
        double p[3];
        bool replace;
        const char *says;
    } cases[] = {
        {{0.5, 0.25, 0.2}, true, "the probabilities sum to 0.95"},
        {{0.5, 0.75, -0.25}, true, "a probability is -0.25"},
        {{0.5, NAN, 0.5}, true, "probabilit"},
        {{INFINITY, 0, 0}, true, "sum to inf"},
        {{0, 1, 0}, false, "2 numbers, each at most once, and 1 have"},
    };
    const int64_t three = 3, two = 2, four = 4;
    test_env *t = *state;
    kiln_random generator;
    kiln_array *y = NULL, *p = NULL;

    kiln_random_init(&generator, 1, 0);
    for (size_t k = 0; k < COUNT(cases); k++) {
        p = of_numbers(t, KILN_FLOAT64, 1, &three, cases[k].p);
        FAILS(t, KILN_ERR_RANGE,
              kiln_random_choice(&generator, t->ctx, 3, p, cases[k].replace, 1, &two, &y, &t->err),
              cases[k].says);
        assert_null(y);
        kiln_array_release(p);
    }
    p = of_numbers(t, KILN_INT32, 1, &three, (double[]){0, 1, 0});
    FAILS(t, KILN_ERR_DTYPE,
          kiln_random_choice(&generator, t->ctx, 3, p, true, 1, &two, &y, &t->err), "not of int32");
    FAILS(t, KILN_ERR_NULL,
          kiln_random_choice(&generator, t->ctx, 3, p, true, 1, NULL, &y, &t->err), "shape");
    kiln_array_release(p);
    p = of_numbers(t, KILN_FLOAT32, 1, &three, (double[]){0, 1, 0});
    FAILS(t, KILN_ERR_SHAPE,
          kiln_random_choice(&generator, t->ctx, 4, p, true, 1, &two, &y, &t->err), "4 numbers",
          "(3,)");
    kiln_array_release(p);
    FAILS(t, KILN_ERR_RANGE,
          kiln_random_choice(&generator, t->ctx, 3, NULL, false, 1, &four, &y, &t->err),
          "4 of 3 numbers");
    FAILS(t, KILN_ERR_RANGE,
          kiln_random_choice(&generator, t->ctx, -1, NULL, true, 1, &four, &y, &t->err), "-1");
    assert_int_equal(generator.draw, 0);
}

/* Means and covariances of many vectors; and the same vector by a plain loop over the normal numbers. */
static void test_choice__multivariate_normal(void **state)
{
    enum { N = 2, COUNT_OF = MOST / N };
    static const double mean[N] = {1, -2}, covariance[N * N] = {4, 1, 1, 2};
    static double got[COUNT_OF * N], normal[COUNT_OF * N];
    const int64_t n = N, square[] = {N, N}, count = COUNT_OF, whole[] = {COUNT_OF, N};
    const double factor[2][2] = {{2, 0}, {0.5, sqrt(1.75)}}; /* by hand */
    test_env *t = *state;
    kiln_array *m = of_numbers(t, KILN_FLOAT64, 1, &n, mean);
    kiln_array *v = of_numbers(t, KILN_FLOAT64, 2, square, covariance), *y = NULL, *z = NULL;
    kiln_random generator, same;

    kiln_random_init(&generator, 8, 1);
    same = generator;
    OK(t, kiln_random_multivariate_normal(&generator, m, v, 1, &count, &y, &t->err));
    assert_int_equal(generator.draw, 1);
    OK(t, kiln_random_array(&same, t->ctx, KILN_DRAW_STANDARD_NORMAL, NULL, 0, KILN_FLOAT64, 2,
                            whole, &z, &t->err));
    assert_int_equal(kiln_array_rank(y), 2);
    read_back(t, y, KILN_FLOAT64, got, sizeof got);
    read_back(t, z, KILN_FLOAT64, normal, sizeof normal);
    for (int k = 0; k < COUNT_OF; k++)
        for (int a = 0; a < N; a++) {
            double want = mean[a];
            for (int b = 0; b < N; b++)
                want += factor[a][b] * normal[N * k + b];
            CHECK(fabs(got[N * k + a] - want) < 1e-12, "%g, not %g", got[N * k + a], want);
        }
    kiln_array_release(y);
    kiln_array_release(z);
    y = NULL;
    FAILS(t, KILN_ERR_SHAPE,
          kiln_random_multivariate_normal(&generator, v, v, 1, &count, &y, &t->err),
          "the mean is a vector");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_random_multivariate_normal(&generator, m, m, 1, &count, &y, &t->err),
          "covariance a matrix");
    assert_int_equal(generator.draw, 1);
    kiln_array_release(m);
    kiln_array_release(v);
}

/* ---- in text ------------------------------------------------------------------------------------- */

/* The elements of an expression of the vector x. */
static void evaluate(test_env *t, kiln_array *x, const char *text, double *out, int64_t count)
{
    static const char *const names[] = {"x"};
    kiln_graph *g = NULL;
    kiln_array *y = NULL, *wide = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, &y));
    CHECK(kiln_array_size(y) == count, "%s: %d elements", text, (int)kiln_array_size(y));
    OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, out, (size_t)count * sizeof *out, NULL, &t->err));
    kiln_graph_destroy(g);
    kiln_array_release(y);
    kiln_array_release(wide);
}

/* What is no probability is told to whoever waits for the device next. */
static void refused(test_env *t, kiln_array *x, const char *text, const char *says)
{
    static const char *const names[] = {"x"};
    kiln_graph *g = NULL;
    kiln_array *y = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, &y));
    FAILS(t, KILN_ERR_RANGE, kiln_context_synchronize(t->ctx, &t->err), says);
    kiln_graph_destroy(g);
    kiln_array_release(y);
}

static void test_choice__in_text(void **state)
{
    enum { DRAWS = 2000 };
    static const char *const none[] = { /* a negative one, a sum of 1.5 */
        "choice(5, 3, 4, p=x - 0.5 * (x == 0) + 0.25 * (x != 0))",
        "choice(5, 3, 4, p=x + 0.25 * (x != 0))"};
    static const double p[] = {0.25, 0, 0.75};
    static double got[DRAWS];
    const int64_t three = 3;
    test_env *t = *state;
    int often = 0;

    for (int d = 0; d < 2; d++) {
        kiln_array *x = of_numbers(t, d == 0 ? KILN_FLOAT64 : KILN_FLOAT32, 1, &three, p);
        evaluate(t, x, "choice(5, 3, (40, 50), p=x)", got, DRAWS);
        for (int k = 0; k < DRAWS; k++) {
            assert_true(got[k] == 0 || got[k] == 2);
            often += got[k] == 0;
        }
        evaluate(t, x, "choice(7, 3, 2, replace=False, p=x)", got, 2);
        assert_true(got[0] + got[1] == 2 && got[0] * got[1] == 0);
        for (size_t n = 0; n < COUNT(none); n++)
            refused(t, x, none[n], n == 0 ? "these sum to 1" : "these sum to 1.5");
        kiln_array_release(x);
    }
    CHECK(abs(often - 1000) < 140, "0 came %d times", often); /* the deviation is 27 */
}

/* Elements in another order, rows as wholes, and the order of a generator with this key. */
static void test_choice__arrays_are_shuffled_in_text(void **state)
{
    enum { N = 60 };
    const int64_t count = N, shape[] = {N / 3, 3};
    test_env *t = *state;
    kiln_random generator;
    kiln_array *x = NULL, *rows = NULL, *y = NULL;
    double numbers[N], got[N], want[N];
    bool seen[2 * N] = {false};

    for (int k = 0; k < N; k++)
        numbers[k] = k;
    x = of_numbers(t, KILN_FLOAT64, 1, &count, numbers);
    evaluate(t, x, "permutation(9, reshape(x, (20, 3)))", got, N);
    for (int k = 0; k < N; k++) {
        assert_true(!seen[(int)got[k]] && got[k] == got[k - k % 3] + k % 3);
        seen[(int)got[k]] = true;
    }
    kiln_random_init(&generator, 9, 0);
    OK(t, kiln_array_reshape(x, 2, shape, &rows, &t->err));
    OK(t, kiln_random_shuffle(&generator, rows, &y, &t->err));
    OK(t, kiln_array_to_host(y, want, sizeof want, NULL, &t->err));
    assert_memory_equal(got, want, sizeof want);
    evaluate(t, x, "shuffle(9, x[::-2])", got, N / 2);
    for (int k = 0; k < N / 2; k++) {
        assert_true((int)got[k] % 2 == 1 && !seen[N + (int)got[k]]);
        seen[N + (int)got[k]] = true;
    }
    kiln_array_release(x);
    kiln_array_release(rows);
    kiln_array_release(y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_choice__places_are_those_of_plain_c),
        TEST(test_choice__each_at_most_once),
        TEST(test_choice__without_probabilities),
        TEST(test_choice__bad_probabilities_have_errors_of_their_own),
        TEST(test_choice__multivariate_normal),
        TEST(test_choice__in_text),
        TEST(test_choice__arrays_are_shuffled_in_text),
    };
    return test_env_main(argc, argv, "test_choice", tests, COUNT(tests));
}
