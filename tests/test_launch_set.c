/*
 * test_launch_set.c - prepared launches that are given other arrays and numbers, and that are captured.
 *
 * Expected values come from plain loops.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_env.h"

enum { N = 300 };

static const int64_t shape[] = {N};

static kiln_array *numbers(test_env *t, float first)
{
    float data[N];
    kiln_array *a = NULL;

    for (int k = 0; k < N; k++)
        data[k] = first + (float)k;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, shape, data, NULL, &a, &t->err));
    return a;
}

/* Whether all of it is factor * (first + k) + offset. */
static void check(test_env *t, const kiln_array *a, float factor, float first, float offset)
{
    float got[N];

    OK(t, kiln_array_to_host(a, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < N; k++)
        CHECK(got[k] == factor * (first + (float)k) + offset, "element %d is %g", k, (double)got[k]);
}

static kiln_elementwise *define(test_env *t)
{
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, float32 a, T b", "T z", "z = a * x + b", NULL, &op,
                                  &t->err));
    return op;
}

static void test_launch_set__arrays_and_numbers_change(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define(t);
    kiln_array *x = numbers(t, 1), *x2 = numbers(t, 50), *z = numbers(t, 0), *z2 = numbers(t, 0);
    kiln_launch *launch = NULL;
    kiln_stream *other = NULL;

    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, 2, 0.5, z), NULL, &launch, &t->err));
    kiln_elementwise_destroy(op);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_launch_set(launch, 1, kiln_arg_float(0.25), &t->err));
    OK(t, kiln_launch_set(launch, 0, kiln_arg_array(x2), &t->err));
    OK(t, kiln_launch_set(launch, 3, kiln_arg_array(z2), &t->err));
    kiln_array_release(x); /* the launch has let go of it */
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check(t, z, 2, 1, 0.5f);
    check(t, z2, 0.25f, 50, 0.5f);
    /* In place, and on another stream than the arrays' own. */
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_launch_set(launch, 3, kiln_arg_array(x2), &t->err));
    OK(t, kiln_stream_wait(t->ctx, other, NULL, &t->err));
    OK(t, kiln_launch_run(launch, other, &t->err));
    OK(t, kiln_stream_wait(t->ctx, NULL, other, &t->err));
    check(t, x2, 0.25f, 50, 0.5f);
    kiln_launch_destroy(launch);
    kiln_stream_destroy(other);
    kiln_array_release(x2);
    kiln_array_release(z);
    kiln_array_release(z2);
}

static void test_launch_set__what_does_not_fit_is_refused(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define(t);
    const int64_t longer[] = {2 * N};
    kiln_array *x = numbers(t, 1), *z = numbers(t, 0), *wrong = NULL, *view = NULL;
    kiln_launch *launch = NULL;

    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, 2, 0.5, z), NULL, &launch, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 4, kiln_arg_float(1), &t->err), "4 arguments");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 0, kiln_arg_float(1), &t->err),
          "argument 1 is an array");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 1, kiln_arg_array(x), &t->err),
          "argument 2 is a number");
    FAILS(t, KILN_ERR_RANGE, kiln_launch_set(launch, 2, kiln_arg_float(1e300), &t->err), "`b`", "float32");
    FAILS(t, KILN_ERR_NULL, kiln_launch_set(launch, 0, kiln_arg_array(NULL), &t->err), "argument 1");
    FAILS(t, KILN_ERR_NULL, kiln_launch_set(NULL, 0, kiln_arg_float(1), &t->err), "launch");
    OK(t, kiln_array_empty(t->ctx, KILN_INT32, 1, shape, &wrong, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_launch_set(launch, 0, kiln_arg_array(wrong), &t->err), "int32");
    kiln_array_release(wrong);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, longer, &wrong, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_launch_set(launch, 0, kiln_arg_array(wrong), &t->err), "(600,)");
    OK(t, kiln_array_view(wrong, "::2", &view, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_launch_set(launch, 0, kiln_arg_array(view), &t->err), "strides");
    kiln_array_release(view);
    OK(t, kiln_array_view(wrong, "1:301", &view, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_launch_set(launch, 0, kiln_arg_array(view), &t->err), "aligned");
    kiln_array_release(view);
    /* An output that an input overlaps, but not element by element. */
    OK(t, kiln_array_view(wrong, ":300", &view, &t->err));
    OK(t, kiln_launch_set(launch, 3, kiln_arg_array(view), &t->err));
    kiln_array_release(view);
    OK(t, kiln_array_view(wrong, "64:364", &view, &t->err));
    FAILS(t, KILN_ERR_OVERLAP, kiln_launch_set(launch, 0, kiln_arg_array(view), &t->err), "argument 1");
    kiln_array_release(view);
    OK(t, kiln_launch_run(launch, NULL, &t->err)); /* none of them has changed it */
    OK(t, kiln_array_view(wrong, ":300", &view, &t->err));
    check(t, view, 2, 1, 0.5f);
    kiln_array_release(view);
    kiln_array_release(wrong);
    kiln_launch_destroy(launch);
    FAILS(t, KILN_ERR_RELEASED, kiln_launch_set(launch, 1, kiln_arg_float(1), &t->err), "destroyed");
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
}

/* ---- graphs ---- */

/* sum(x * y) over all, then what is left of x, with views of an argument and numbers on the way: several
 * kernels, which a GPU runs as one program. */
static const char text[] = "s = sum(x * y); a * flip(x)[::2] + s + b";
static const char *const names[] = {"x", "y", "a", "b"};

static void check_graph(test_env *t, const kiln_array *z, float x, float y, float a, float b)
{
    float got[N / 2], sum = 0;

    for (int k = 0; k < N; k++)
        sum += (x + (float)k) * (y + (float)k);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < N / 2; k++) {
        const float want = a * (x + (float)(N - 1 - 2 * k)) + sum + b;
        CHECK(fabsf(got[k] - want) <= 1e-6f * fabsf(want), "element %d is %g, not %g", k,
              (double)got[k], (double)want);
    }
}

static void test_launch_set__arguments_of_graphs_change(void **state)
{
    test_env *t = *state;
    const int64_t half[] = {N / 2};
    kiln_array *x = numbers(t, 1), *x2 = numbers(t, -40), *y = numbers(t, 3), *z = NULL, *z2 = NULL;
    kiln_graph *g = NULL;
    kiln_launch *launch = NULL;
    kiln_stream *other = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 4, NULL, &g, NULL, &t->err));
    OK(t, kiln_graph_prepare(g, KILN_ARGS(x, y, 2.0, 0.5, &z), NULL, &launch, &t->err));
    kiln_graph_destroy(g);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check_graph(t, z, 1, 3, 2, 0.5f);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, half, &z2, &t->err));
    OK(t, kiln_launch_set(launch, 0, kiln_arg_array(x2), &t->err));
    OK(t, kiln_launch_set(launch, 2, kiln_arg_float(-1), &t->err));
    OK(t, kiln_launch_set(launch, 4, kiln_arg_array(z2), &t->err));
    kiln_array_release(x);
    kiln_array_release(x2); /* the launch keeps it */
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 5, kiln_arg_float(1), &t->err), "5 arguments");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 1, kiln_arg_float(1), &t->err),
          "argument 2 is an array");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 3, kiln_arg_array(y), &t->err),
          "argument 4 is a number");
    FAILS(t, KILN_ERR_SHAPE, kiln_launch_set(launch, 1, kiln_arg_array(z), &t->err), "argument 2");
    FAILS(t, KILN_ERR_NULL, kiln_launch_set(launch, 1, kiln_arg_array(NULL), &t->err), "argument 2");
    OK(t, kiln_launch_run(launch, NULL, &t->err)); /* none of them has changed it */
    check_graph(t, z2, -40, 3, -1, 0.5f);
    check_graph(t, z, 1, 3, 2, 0.5f); /* was left alone */
    /* An output that an input would share. */
    kiln_array *both = NULL, *input = NULL, *output = NULL;
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (const int64_t[]){2 * N}, &both, &t->err));
    OK(t, kiln_array_view(both, ":300", &input, &t->err));
    OK(t, kiln_array_view(both, "256:406", &output, &t->err));
    OK(t, kiln_launch_set(launch, 1, kiln_arg_array(input), &t->err));
    FAILS(t, KILN_ERR_OVERLAP, kiln_launch_set(launch, 4, kiln_arg_array(output), &t->err), "argument 5");
    OK(t, kiln_launch_set(launch, 1, kiln_arg_array(y), &t->err));
    /* On another stream. */
    OK(t, kiln_launch_set(launch, 3, kiln_arg_float(8), &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_stream_wait(t->ctx, other, NULL, &t->err));
    OK(t, kiln_launch_run(launch, other, &t->err));
    OK(t, kiln_stream_wait(t->ctx, NULL, other, &t->err));
    check_graph(t, z2, -40, 3, -1, 8);
    kiln_launch_destroy(launch);
    kiln_stream_destroy(other);
    kiln_array_release(both);
    kiln_array_release(input);
    kiln_array_release(output);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_array_release(z2);
}

/* Graphs have more arguments than kernels can have. */
static void test_launch_set__graphs_have_many_arguments(void **state)
{
    enum { COUNT_IN = 70 };
    test_env *t = *state;
    char words[COUNT_IN][8], sum[8 * COUNT_IN] = "0";
    const char *inputs[COUNT_IN];
    kiln_arg args[COUNT_IN + 1];
    kiln_array *x = numbers(t, 0), *last = numbers(t, 5), *z = NULL;
    kiln_graph *g = NULL;
    kiln_launch *launch = NULL;

    for (int k = 0; k < COUNT_IN; k++) {
        snprintf(words[k], sizeof words[k], "x%d", k);
        strcat(strcat(sum, "+"), words[k]);
        inputs[k] = words[k];
        args[k] = kiln_arg_array(x);
    }
    args[COUNT_IN] = kiln_arg_out(&z);
    OK(t, kiln_graph_parse(t->ctx, sum, inputs, COUNT_IN, NULL, &g, NULL, &t->err));
    OK(t, kiln_graph_prepare(g, args, COUNT_IN + 1, NULL, &launch, &t->err));
    OK(t, kiln_launch_set(launch, COUNT_IN - 1, kiln_arg_array(last), &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check(t, z, COUNT_IN, 0, 5);
    kiln_launch_destroy(launch);
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(last);
    kiln_array_release(z);
}

/* What a kernel reports an index out of range to is no argument, and stays where it is. */
static void test_launch_set__reports_stay_where_they_are(void **state)
{
    static const char *const inputs[] = {"x", "i"};
    test_env *t = *state;
    int32_t at[N];
    kiln_array *x = numbers(t, 1), *x2 = numbers(t, -40), *i = NULL, *z = NULL;
    kiln_graph *g = NULL;
    kiln_launch *launch = NULL;

    for (int k = 0; k < N; k++)
        at[k] = k;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, at, NULL, &i, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "2 * x[i] + 1", inputs, 2, NULL, &g, NULL, &t->err));
    OK(t, kiln_graph_prepare(g, KILN_ARGS(x, i, &z), NULL, &launch, &t->err));
    OK(t, kiln_launch_set(launch, 0, kiln_arg_array(x2), &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check(t, z, 2, -40, 1);
    OK(t, kiln_array_fill(i, N, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "index 300",
          "300 elements");
    kiln_launch_destroy(launch);
    kiln_graph_destroy(g);
    kiln_array *const all[] = {x, x2, i, z};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* A product is a library's call, whose arrays change too. */
static void test_launch_set__arguments_of_products_change(void **state)
{
    enum { M = 8 };
    static const char *const two[] = {"x", "y"};
    test_env *t = *state;
    const int64_t square[] = {M, M};
    float data[3][M * M], got[M * M];
    kiln_array *in[3] = {NULL}, *z = NULL;
    kiln_graph *g = NULL;
    kiln_launch *launch = NULL;

    for (int which = 0; which < 3; which++) {
        for (int k = 0; k < M * M; k++)
            data[which][k] = (float)((k * (which + 3)) % 7) - 2;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, square, data[which], NULL, &in[which], &t->err));
    }
    OK(t, kiln_graph_parse(t->ctx, "sqrt(abs(x)) @ y + 1", two, 2, NULL, &g, NULL, &t->err));
    const kiln_status status = kiln_graph_prepare(g, KILN_ARGS(in[0], in[1], &z), NULL, &launch, &t->err);
    if (status == KILN_ERR_UNSUPPORTED) /* no library for products is here */
        kiln_error_clear(&t->err);
    else
        OK(t, status);
    if (status == KILN_OK) {
        OK(t, kiln_launch_set(launch, 1, kiln_arg_array(in[2]), &t->err));
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int r = 0; r < M; r++)
            for (int c = 0; c < M; c++) {
                double want = 1;
                for (int k = 0; k < M; k++)
                    want += sqrt(fabs((double)data[0][r * M + k])) * (double)data[2][k * M + c];
                CHECK(fabs((double)got[r * M + c] - want) < 1e-2, "(%d, %d): %g, not %g", r, c,
                      (double)got[r * M + c], want);
            }
    }
    kiln_launch_destroy(launch);
    kiln_graph_destroy(g);
    for (int which = 0; which < 3; which++)
        kiln_array_release(in[which]);
    kiln_array_release(z);
}

/* A launch that is prepared while its stream is captured is one of that stream, not of the capture. */
static void test_launch_set__launches_outlive_the_capture_they_were_prepared_in(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = define(t);
    kiln_array *x = numbers(t, 1), *z = numbers(t, 0), *other = numbers(t, 9);
    kiln_launch *launch = NULL;
    kiln_program *program = NULL;
    size_t slot = 9, number = 9;

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, 2, 0.5, z), NULL, &launch, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    check(t, z, 1, 0, 0);
    OK(t, kiln_program_array_slot(program, x, &slot, &t->err));
    OK(t, kiln_program_number_slot(program, "kiln_kernel", "b", &number, &t->err));
    OK(t, kiln_program_set(program, slot, kiln_arg_array(other), &t->err));
    OK(t, kiln_program_set(program, number, kiln_arg_int(7), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    check(t, z, 2, 9, 7);
    kiln_program_destroy(program);
    OK(t, kiln_launch_run(launch, NULL, &t->err)); /* has its own arguments still */
    check(t, z, 2, 1, 0.5f);
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_array_release(other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_launch_set__arrays_and_numbers_change),
        TEST(test_launch_set__what_does_not_fit_is_refused),
        TEST(test_launch_set__arguments_of_graphs_change),
        TEST(test_launch_set__graphs_have_many_arguments),
        TEST(test_launch_set__reports_stay_where_they_are),
        TEST(test_launch_set__arguments_of_products_change),
        TEST(test_launch_set__launches_outlive_the_capture_they_were_prepared_in),
    };

    return test_env_main(argc, argv, "test_launch_set", tests, COUNT(tests));
}
