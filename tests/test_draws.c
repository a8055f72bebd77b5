/*
 * test_draws.c - integers of a range, permutations, gamma and Poisson numbers, which are attempted again where the first
 * candidate does not do: values as docs/random.md says, computed by plain C.
 */
#include <stdlib.h>
#include <string.h>

#include "philox.h"
#include "test_env.h"

enum { N = 4097 + 301 };

static void test_draws__integers_are_those_of_plain_c(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT64, KILN_INT32, KILN_UINT8, KILN_UINT64};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int round = 0; round < 5; round++) {
            const int bits = 8 * (int)kiln_dtype_size(dtypes[d]);
            const int64_t count = 1 + (int64_t)test_random_below(t, N);
            /* Ranges of which up to a half of the words is refused, and few. */
            uint64_t range = round < 3 ? (UINT64_C(1) << (bits < 32 ? bits - 1 : bits - 2)) +
                                             test_random_below(t, 1 + (UINT64_C(1) << (bits / 2)))
                                       : 1 + test_random_below(t, 100);
            if (round == 1 && bits == 64)
                range = (UINT64_C(1) << 31) + 1 + test_random_below(t, 1 << 20);
            kiln_random rng;
            kiln_array *a = NULL, *wide = NULL;
            int64_t *const got = malloc((size_t)count * sizeof *got);
            kiln_random_init(&rng, test_random(t), 0);
            const uint64_t key = kiln_random_key(&rng);
            kiln_random_jump(&rng, (uint64_t)round);
            const kiln_arg params[] = {kiln_arg_int(0), kiln_arg_uint(range)};
            OK(t, kiln_random_array(&rng, t->ctx, KILN_DRAW_INTEGERS, params, 2, dtypes[d], 1,
                                    &count, &a, &t->err));
            OK(t, kiln_array_cast(a, KILN_INT64, &wide, &t->err));
            OK(t, kiln_array_to_host(wide, got, (size_t)count * sizeof *got, NULL, &t->err));
            for (int64_t k = 0; k < count; k++) {
                const uint64_t want = philox_integer(key, (uint64_t)round, (uint64_t)k, range);
                CHECK((uint64_t)got[k] == want, "%s below %llu: number %d of %d is %llu, not %llu",
                      kiln_dtype_name(dtypes[d]), (unsigned long long)range, (int)k, (int)count,
                      (unsigned long long)got[k], (unsigned long long)want);
            }
            kiln_array_release(a);
            kiln_array_release(wide);
            free(got);
        }
}

static void test_draws__permutations_are_those_of_plain_c(void **state)
{
    static const int64_t sizes[] = {1,    5,    1000, 1024, 1025, 1500,
                                    2048, 2049, 4096, 4097, 6000, 9000};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(sizes); k++) {
        const int64_t n = sizes[k];
        int64_t *const got = malloc((size_t)n * sizeof *got);
        kiln_array *a = NULL;
        kiln_random rng;

        kiln_random_init(&rng, test_random(t), 0);
        const uint64_t key = kiln_random_key(&rng);
        const kiln_arg param = kiln_arg_int(n);
        OK(t, kiln_random_array(&rng, t->ctx, KILN_DRAW_PERMUTATION, &param, 1, KILN_INT64, 1, &n,
                                &a, &t->err));
        OK(t, kiln_array_to_host(a, got, (size_t)n * sizeof *got, NULL, &t->err));
        for (int64_t i = 0; i < n; i++) {
            const uint64_t want = philox_permuted(key, 0, (uint64_t)i, (uint64_t)n);
            CHECK((uint64_t)got[i] == want, "permutation of %d: %d goes to %d, not to %d", (int)n,
                  (int)i, (int)got[i], (int)want);
        }
        kiln_array_release(a);
        free(got);
    }
}

static void check_gammas(test_env *t, const char *text, const double *shapes, int64_t count)
{
    static const char *const names[] = {"p", "key"};
    const uint64_t key = test_random_below(t, 1000);
    const size_t bytes = (size_t)count * sizeof(double);
    double *const got = malloc(bytes);
    kiln_array *p = NULL, *outs[2] = {NULL, NULL};
    kiln_graph *graph = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &count, shapes, NULL, &p, &t->err));
    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &graph, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(p), kiln_arg_uint(key), kiln_arg_out(&outs[0]),
                             kiln_arg_out(&outs[1])};
    OK(t, kiln_graph_run(graph, args, 4, NULL, &t->err));
    for (int which = 0; which < 2; which++) {
        OK(t, kiln_array_to_host(outs[which], got, bytes, NULL, &t->err));
        for (int64_t k = 0; k < count; k++) {
            const double want = which == 0 ? 2 * philox_gamma(key, 0, (uint64_t)k, shapes[k])
                                           : (double)philox_poisson(key, 0, (uint64_t)k, shapes[k]);
            CHECK(fabs(got[k] - want) <= (which == 0 ? 1e-12 * (1 + shapes[k]) : 0),
                  "%s with key %d: number %d of %d, %g, is %.17g, not %.17g", text, (int)key,
                  (int)k, (int)count, shapes[k], got[k], want);
        }
        kiln_array_release(outs[which]);
    }
    kiln_graph_destroy(graph);
    kiln_array_release(p);
    free(got);
}

/* One call in a kernel, whose candidates are counted, and two of them; with the parameter as a number and as an array. */
static void test_draws__gammas_and_poissons_are_those_of_plain_c(void **state)
{
    static const double shapes[] = {0.1, 0.7, 1, 2.5, 4, 9.75, 10, 40, 3000};
    static const double numbers[] = {0.75, 40};
    test_env *t = *state;
    static double p[N];
    char text[160];

    for (size_t c = 0; c < COUNT(numbers); c++) {
        snprintf(text, sizeof text,
                 "gamma(key, p.shape, %g, 2.0) + 0 * p, poisson(key, p.shape, %g) + 0 * p",
                 numbers[c], numbers[c]);
        for (int k = 0; k < N; k++)
            p[k] = numbers[c];
        check_gammas(t, text, p, 1 + (int64_t)test_random_below(t, N));
    }
    for (int k = 0; k < N; k++)
        p[k] = shapes[test_random_below(t, COUNT(shapes))];
    check_gammas(t,
                 "gamma(key, p.shape, p, 2) + 0 * poisson(1, p.shape, p), "
                 "poisson(key, p.shape, p) + 0 * gamma(1, p.shape, p)",
                 p, 1 + (int64_t)test_random_below(t, N));
}

/* Inside of an expression, beside inputs that are read for every attempt, and into one of them. */
static void test_draws__attempts_read_inputs_again(void **state)
{
    static const char *const names[] = {"x", "y"};
    const uint64_t range = 3u << 30;
    test_env *t = *state;
    kiln_graph *graph = NULL;
    kiln_array *x = NULL, *y = NULL;
    const int64_t count = N;
    static int64_t x0[N], y0[N], got[N];

    for (int k = 0; k < N; k++) {
        x0[k] = (int64_t)test_random_below(t, 1000);
        y0[k] = (int64_t)test_random_below(t, 1000);
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &count, x0, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &count, y0, NULL, &y, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "x * 3 + integers(11, x.shape, 0, 3221225472) + y", names, 2,
                           NULL, &graph, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(y), kiln_arg_out(&x)};
    OK(t, kiln_graph_run(graph, args, 3, NULL, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < N; k++) {
        const int64_t want = 3 * x0[k] + (int64_t)philox_integer(11, 0, (uint64_t)k, range) + y0[k];
        CHECK(got[k] == want, "element %d is %lld, not %lld", k, (long long)got[k],
              (long long)want);
    }
    kiln_graph_destroy(graph);
    kiln_array_release(x);
    kiln_array_release(y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_draws__integers_are_those_of_plain_c),
        TEST(test_draws__permutations_are_those_of_plain_c),
        TEST(test_draws__gammas_and_poissons_are_those_of_plain_c),
        TEST(test_draws__attempts_read_inputs_again),
    };
    return test_env_main(argc, argv, "test_draws", tests, COUNT(tests));
}
