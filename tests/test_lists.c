/*
 * test_lists.c - calls whose arguments are lists of arrays: what each call does, how they share launches,
 * prepared, captured and compiled ahead, and what is refused.
 *
 * Expected values come from plain loops.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { CALLS = 120, LONGEST = 5000 };

/* Lists of parameters, gradients and momenta of different lengths, some of them views that begin at any
 * element or have gaps, and the numbers in them. */
typedef struct lists {
    size_t count;
    kiln_array *base[3][CALLS], *use[3][CALLS];
    int64_t length[CALLS];
    float *value[3][CALLS];
} lists;

static const char *const ways[] = {":-3", "1:-2", "2:-1", "3:"};

/* A length that a group of 1, 2 or more blocks takes, or none at all. */
static int64_t draw_length(test_env *t)
{
    static const int64_t plain[] = {0, 1, 3, 4, 1023, 1024, 1025};
    const uint64_t k = test_random_below(t, 10);

    return k < COUNT(plain) ? plain[k] : (int64_t)test_random_below(t, LONGEST);
}

static void make_lists(test_env *t, lists *l, size_t count)
{
    memset(l, 0, sizeof *l);
    l->count = count;
    for (size_t c = 0; c < count; c++) {
        const bool gaps = test_random_below(t, 12) == 0;
        const char *const way = gaps ? "::2" : ways[test_random_below(t, COUNT(ways))];
        const int64_t wanted = draw_length(t), all = gaps ? 2 * wanted : wanted + 3;
        l->length[c] = wanted;
        for (int which = 0; which < 3; which++) {
            float *const whole = calloc((size_t)all + 1, sizeof *whole);
            l->value[which][c] = calloc((size_t)wanted + 1, sizeof(float));
            for (int64_t k = 0; k < all; k++)
                whole[k] = (float)test_random_below(t, 64) / 8;
            OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &all, whole, NULL,
                                       &l->base[which][c], &t->err));
            OK(t, kiln_array_view(l->base[which][c], way, &l->use[which][c], &t->err));
            OK(t, kiln_array_to_host(l->use[which][c], l->value[which][c],
                                     (size_t)wanted * sizeof(float), NULL, &t->err));
            free(whole);
        }
    }
}

static void drop_lists(lists *l)
{
    for (int which = 0; which < 3; which++)
        for (size_t c = 0; c < l->count; c++) {
            kiln_array_release(l->base[which][c]);
            kiln_array_release(l->use[which][c]);
            free(l->value[which][c]);
        }
}

/* One step on the host: m = beta m + g; p -= rate m. */
static void step(lists *l, float rate, float beta)
{
    for (size_t c = 0; c < l->count; c++)
        for (int64_t k = 0; k < l->length[c]; k++) {
            float *const p = l->value[0][c], *const g = l->value[1][c], *const m = l->value[2][c];
            m[k] = fmaf(beta, m[k], g[k]);
            p[k] = fmaf(-rate, m[k], p[k]);
        }
}

static void check_lists(test_env *t, const lists *l, const char *when)
{
    static float got[LONGEST + 4];

    for (int which = 0; which < 3; which++)
        for (size_t c = 0; c < l->count; c++) {
            OK(t, kiln_array_to_host(l->use[which][c], got, (size_t)l->length[c] * sizeof *got, NULL,
                                     &t->err));
            for (int64_t k = 0; k < l->length[c]; k++)
                CHECK(got[k] == l->value[which][c][k], "%s: list %d, call %zu of %lld, element %lld: %g, not %g",
                      when, which, c, (long long)l->length[c], (long long)k, (double)got[k],
                      (double)l->value[which][c][k]);
        }
}

static kiln_elementwise *define_momentum(test_env *t)
{
    kiln_elementwise_options named = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    named.name = "momentum";
    OK(t, kiln_elementwise_create(t->ctx, "T g, float32 rate, float32 beta", "T p, T m",
                                  "m = fma(beta, m, g); p = fma(-rate, m, p)", &named, &op, &t->err));
    return op;
}

#define MOMENTUM_ARGS(l, rate, beta)                                                               \
    KILN_ARGS(kiln_arg_list((l).use[1], (l).count), rate, beta,                                    \
              kiln_arg_list((l).use[0], (l).count), kiln_arg_list((l).use[2], (l).count))

static void test_lists__each_call_is_made_once(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define_momentum(t);
    static const size_t counts[] = {0, 1, 2, 5, CALLS, CALLS};

    for (size_t k = 0; k < COUNT(counts); k++) {
        lists l;
        make_lists(t, &l, counts[k]);
        OK(t, kiln_elementwise_run(op, MOMENTUM_ARGS(l, 0.5, 0.25), NULL, &t->err));
        step(&l, 0.5f, 0.25f);
        check_lists(t, &l, "a call");
        drop_lists(&l);
    }
    kiln_elementwise_destroy(op);
}

static void test_lists__prepared_calls_take_other_numbers(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define_momentum(t);
    kiln_launch *launch = NULL;
    kiln_stream *other = NULL;
    lists l;

    make_lists(t, &l, CALLS);
    OK(t, kiln_elementwise_prepare(op, MOMENTUM_ARGS(l, 0.5, 0.25), NULL, &launch, &t->err));
    kiln_elementwise_destroy(op);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    step(&l, 0.5f, 0.25f);
    OK(t, kiln_launch_set(launch, 1, kiln_arg_float(0.125), &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_stream_wait(t->ctx, other, NULL, &t->err));
    OK(t, kiln_launch_run(launch, other, &t->err));
    step(&l, 0.125f, 0.25f);
    OK(t, kiln_stream_wait(t->ctx, NULL, other, &t->err));
    check_lists(t, &l, "prepared");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 0, kiln_arg_array(l.use[1][0]), &t->err),
          "argument 1 is a list of 120 arrays");
    FAILS(t, KILN_ERR_RANGE, kiln_launch_set(launch, 1, kiln_arg_float(1e300), &t->err), "`rate`");
    kiln_launch_destroy(launch);
    kiln_stream_destroy(other);
    drop_lists(&l);
}

static void test_lists__prepared_calls_take_other_arrays(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define_momentum(t);
    kiln_array *copies[CALLS], *fresh[CALLS], *wrong[CALLS];
    kiln_launch *launch = NULL;
    lists l;

    make_lists(t, &l, CALLS);
    OK(t, kiln_elementwise_prepare(op, MOMENTUM_ARGS(l, 0.5, 0.25), NULL, &launch, &t->err));
    kiln_elementwise_destroy(op);
    for (size_t c = 0; c < CALLS; c++) { /* of the same layouts, with other numbers */
        int64_t at[1] = {0};
        const char *const way = kiln_array_strides(l.use[1][c])[0] > 4 ? "::2" : NULL;
        OK(t, kiln_array_copy(l.base[1][c], &copies[c], &t->err));
        OK(t, kiln_array_fill(copies[c], (double)(c % 9), &t->err));
        at[0] = ((const char *)kiln_array_data(l.use[1][c]) - (const char *)kiln_array_data(l.base[1][c])) / 4;
        char text[40];
        snprintf(text, sizeof text, "%lld:%lld", (long long)at[0], (long long)(at[0] + l.length[c]));
        OK(t, kiln_array_view(copies[c], way != NULL ? way : text, &fresh[c], &t->err));
        wrong[c] = fresh[c];
    }
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 0, kiln_arg_list(fresh, CALLS - 1), &t->err),
          "argument 1 is a list of 120 arrays");
    FAILS(t, KILN_ERR_NULL, kiln_launch_set(launch, 0, kiln_arg_list(NULL, CALLS), &t->err), "NULL");
    wrong[CALLS - 1] = NULL; /* the last one is refused: none is taken */
    FAILS(t, KILN_ERR_NULL, kiln_launch_set(launch, 0, kiln_arg_list(wrong, CALLS), &t->err),
          "argument 1, array 120 of the list");
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    step(&l, 0.5f, 0.25f);
    check_lists(t, &l, "unchanged");
    OK(t, kiln_launch_set(launch, 0, kiln_arg_list(fresh, CALLS), &t->err));
    for (size_t c = 0; c < CALLS; c++) {
        kiln_array_release(copies[c]);
        kiln_array_release(fresh[c]);
        for (int64_t k = 0; k < l.length[c]; k++)
            l.value[1][c][k] = (float)(c % 9);
    }
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    step(&l, 0.5f, 0.25f);
    for (size_t c = 0; c < CALLS; c++) /* what the launch does not use any more is what it was */
        OK(t, kiln_array_fill(l.base[1][c], (double)(c % 9), &t->err));
    check_lists(t, &l, "with other gradients");
    kiln_launch_destroy(launch);
    drop_lists(&l);
}

/* One number stands in launches of two dtypes, and fits one of them. */
static void test_lists__a_number_that_some_launches_refuse_changes_none(void **state)
{
    test_env *t = *state;
    const int64_t size = 5;
    kiln_elementwise *op = NULL;
    kiln_array *x[2] = {NULL}, *z[2] = {NULL};
    kiln_launch *launch = NULL;
    int64_t wide[5];
    int8_t narrow[5];

    OK(t, kiln_elementwise_create(t->ctx, "T x, T by", "T z", "z = x + by", NULL, &op, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_INT64, 1, &size, 100, &x[0], &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_INT8, 1, &size, 100, &x[1], &t->err));
    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(kiln_arg_list(x, 2), 1, kiln_arg_list(z, 2)), NULL,
                                   &launch, &t->err));
    FAILS(t, KILN_ERR_RANGE, kiln_launch_set(launch, 1, kiln_arg_int(1000), &t->err), "argument 2", "int8");
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_array_to_host(z[0], wide, sizeof wide, NULL, &t->err));
    OK(t, kiln_array_to_host(z[1], narrow, sizeof narrow, NULL, &t->err));
    for (int k = 0; k < size; k++)
        assert_true(wide[k] == 101 && narrow[k] == 101);
    OK(t, kiln_launch_set(launch, 1, kiln_arg_int(-7), &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_array_to_host(z[0], wide, sizeof wide, NULL, &t->err));
    OK(t, kiln_array_to_host(z[1], narrow, sizeof narrow, NULL, &t->err));
    for (int k = 0; k < size; k++)
        assert_true(wide[k] == 93 && narrow[k] == 93);
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(op);
    for (int k = 0; k < 2; k++) {
        kiln_array_release(x[k]);
        kiln_array_release(z[k]);
    }
}

static void test_lists__programs_take_other_numbers_and_arrays(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define_momentum(t);
    kiln_program *program = NULL;
    size_t rate = 0, gradient = 0;
    lists l;

    make_lists(t, &l, CALLS);
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_elementwise_run(op, MOMENTUM_ARGS(l, 0.5, 0.25), NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    if (t->cuda) /* calls of some variants share launches, and those with gaps do not */
        assert_true(kiln_program_step_count(program) < CALLS / 2);
    OK(t, kiln_program_number_slot(program, "momentum", "rate", &rate, &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    step(&l, 0.5f, 0.25f);
    OK(t, kiln_program_set(program, rate, kiln_arg_float(2), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    step(&l, 2, 0.25f);
    check_lists(t, &l, "a program");
    size_t longest = 0;
    for (size_t c = 0; c < CALLS; c++)
        longest = l.length[c] > l.length[longest] ? c : longest;
    kiln_array *fresh = NULL, *copy = NULL;
    OK(t, kiln_array_copy(l.base[1][longest], &fresh, &t->err));
    OK(t, kiln_array_fill(fresh, 3, &t->err));
    OK(t, kiln_program_array_slot(program, l.base[1][longest], &gradient, &t->err));
    OK(t, kiln_program_set(program, gradient, kiln_arg_array(fresh), &t->err));
    for (int64_t k = 0; k < l.length[longest]; k++)
        l.value[1][longest][k] = 3;
    OK(t, kiln_program_run(program, NULL, &t->err));
    step(&l, 2, 0.25f);
    OK(t, kiln_array_assign(l.base[1][longest], fresh, &t->err));
    check_lists(t, &l, "a program with another array");
    kiln_program_destroy(program);
    kiln_array_release(fresh);
    kiln_array_release(copy);
    kiln_elementwise_destroy(op);
    drop_lists(&l);
}

static void test_lists__outputs_are_allocated(void **state)
{
    test_env *t = *state;
    enum { COUNT_OF = 100 };
    kiln_elementwise *op = NULL;
    kiln_array *x[COUNT_OF], *y[COUNT_OF] = {NULL};
    const int64_t size = 9;
    double data[9], got[9];

    OK(t, kiln_elementwise_create(t->ctx, "T x, T y, int64 by", "T z", "z = x * by + y", NULL, &op, &t->err));
    for (int c = 0; c < COUNT_OF; c++) {
        for (int k = 0; k < size; k++)
            data[k] = c + k;
        OK(t, kiln_array_from_host(t->ctx, c % 3 == 0 ? KILN_FLOAT64 : KILN_FLOAT32, 1, &size,
                                   c % 3 == 0 ? (void *)data
                                              : (void *)(float[]){(float)c, (float)c + 1, (float)c + 2,
                                                                  (float)c + 3, (float)c + 4, (float)c + 5,
                                                                  (float)c + 6, (float)c + 7, (float)c + 8},
                                   NULL, &x[c], &t->err));
    }
    const kiln_arg args[] = {kiln_arg_list(x, COUNT_OF), kiln_arg_list(x, COUNT_OF), kiln_arg_int(3),
                             kiln_arg_list(y, COUNT_OF)};
    OK(t, kiln_elementwise_run(op, args, COUNT(args), NULL, &t->err));
    for (int c = 0; c < COUNT_OF; c++) {
        float narrow[9];
        assert_int_equal(kiln_array_dtype(y[c]), c % 3 == 0 ? KILN_FLOAT64 : KILN_FLOAT32);
        if (c % 3 == 0)
            OK(t, kiln_array_to_host(y[c], got, sizeof got, NULL, &t->err));
        else
            OK(t, kiln_array_to_host(y[c], narrow, sizeof narrow, NULL, &t->err));
        for (int k = 0; k < size; k++)
            CHECK((c % 3 == 0 ? got[k] : (double)narrow[k]) == 4 * (c + k), "call %d, element %d", c, k);
        kiln_array_release(x[c]);
        kiln_array_release(y[c]);
    }
    kiln_elementwise_destroy(op);
}

/* Other families make the calls one by one. */
static void test_lists__reductions_take_them(void **state)
{
    test_env *t = *state;
    kiln_reduction *sum = NULL;
    kiln_launch *launch = NULL;
    kiln_array *y[CALLS] = {NULL};
    lists l;

    make_lists(t, &l, 20);
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &sum, &t->err));
    OK(t, kiln_reduction_prepare(sum, KILN_ARGS(kiln_arg_list(l.use[0], l.count), kiln_arg_list(y, l.count)),
                                 NULL, &launch, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    for (size_t c = 0; c < l.count; c++) {
        float got = -1, want = 0;
        for (int64_t k = 0; k < l.length[c]; k++)
            want += l.value[0][c][k]; /* eighths: exact in any order */
        OK(t, kiln_array_to_host(y[c], &got, sizeof got, NULL, &t->err));
        CHECK(got == want, "call %zu: %g, not %g", c, (double)got, (double)want);
        kiln_array_release(y[c]);
    }
    kiln_launch_destroy(launch);
    kiln_reduction_destroy(sum);
    drop_lists(&l);
}

static void test_lists__kernels_are_compiled_ahead(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_prefetch *ahead = NULL;
    char *text = NULL;
    lists l;

    make_lists(t, &l, 12);
    OK(t, kiln_elementwise_create(t->ctx, "T g, float32 rate, float32 beta", "T p, T m",
                                  "m = fma(beta, m, g); p = fma(-rate, m, p) // ahead", NULL, &op, &t->err));
    OK(t, kiln_elementwise_prefetch(op, MOMENTUM_ARGS(l, 1.0, 0.5), NULL, &ahead, &t->err));
    OK(t, kiln_prefetch_wait(ahead, -1, &t->err));
    kiln_prefetch_destroy(ahead);
    OK(t, kiln_elementwise_source(op, MOMENTUM_ARGS(l, 1.0, 0.5), NULL, &text, &t->err));
    assert_non_null(strstr(text, "ahead"));
    kiln_free(text);
    OK(t, kiln_elementwise_run(op, MOMENTUM_ARGS(l, 1.0, 0.5), NULL, &t->err));
    step(&l, 1, 0.5f);
    check_lists(t, &l, "compiled ahead");
    kiln_elementwise_destroy(op);
    drop_lists(&l);
}

static void test_lists__what_does_not_fit_is_refused(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define_momentum(t);
    kiln_graph *g = NULL;
    kiln_array *none = NULL, *y = NULL;
    const char *const names[] = {"x"};
    lists l;

    make_lists(t, &l, 3);
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_elementwise_run(op,
                               KILN_ARGS(kiln_arg_list(l.use[1], 2), 1, 1, kiln_arg_list(l.use[0], 3),
                                         kiln_arg_list(l.use[2], 3)),
                               NULL, &t->err),
          "a list of 2 arrays stands beside one of 3");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_run(op,
                               KILN_ARGS(kiln_arg_list(NULL, 3), 1, 1, kiln_arg_list(l.use[0], 3),
                                         kiln_arg_list(l.use[2], 3)),
                               NULL, &t->err),
          "the list for `g` is NULL");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_run(op,
                               KILN_ARGS(kiln_arg_list(&none, 1), 1, 1, kiln_arg_list(l.use[0], 1),
                                         kiln_arg_list(l.use[2], 1)),
                               NULL, &t->err),
          "`g`");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_elementwise_run(op, KILN_ARGS(kiln_arg_list(l.use[1], 3), 1), NULL, &t->err), "2 given");
    OK(t, kiln_graph_parse(t->ctx, "x + 1", names, 1, NULL, &g, NULL, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(g, &t->err, kiln_arg_list(l.use[1], 3), &y), "kind");
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(op);
    drop_lists(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists__each_call_is_made_once),
        TEST(test_lists__prepared_calls_take_other_numbers),
        TEST(test_lists__prepared_calls_take_other_arrays),
        TEST(test_lists__a_number_that_some_launches_refuse_changes_none),
        TEST(test_lists__programs_take_other_numbers_and_arrays),
        TEST(test_lists__outputs_are_allocated),
        TEST(test_lists__reductions_take_them),
        TEST(test_lists__kernels_are_compiled_ahead),
        TEST(test_lists__what_does_not_fit_is_refused),
    };

    return test_env_main(argc, argv, "test_lists", tests, COUNT(tests));
}
