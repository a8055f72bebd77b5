/*
 * test_program_arrays.c - captured programs of masks, indices, sorts, joins and random numbers.
 *
 * Random sequences of steps are captured once and run several times. Each run changes the arrays, so that a mask has
 * another number of elements and an index array other indices in each. The same steps, made one by one on other
 * arrays, must give the same bits; what a step gives is tested elsewhere, against NumPy.
 */
#include <string.h>

#include "test_env.h"

enum { ROWS = 20, COLUMNS = 50, N = ROWS * COLUMNS, ARRAYS = 4, STEPS_MAX = 10, RUNS = 4 };

/* A new value of an array, from two arrays and a number between -1 and 1. Their elements stay between -4 and 4. */
static const char *const texts[] = {
    "clip(y + 0.01 * sum(x[x > n]), -4, 4)",
    "where(x > n, y, -x)",
    "clip(0.5 * y + x[x > n].size, -4, 4)",
    "clip(y + count_nonzero(x > n, axis=0) / 50, -4, 4)",
    "y + 0 * sum(unique(x))",
    "take(x, argsort(y[:, 0]), axis=0)",
    "x[:, argsort(y[3])] * n",
    "clip(scatter_add(y, argsort(x[:, 1]), x), -4, 4)",
    "x.at[argsort(y[:, 2])].set(y) + n",
    "place(x, x > n, y)",
    "roll(x, (3, -7), (0, 1)) * n",
    "pad(x[1:-1, 2:-2], ((1, 1), (2, 2)), mode='edge') - y / 4",
    "concatenate([x[5:], y[:5]])",
    "concatenate([y[:, 30:], x[:, :30]], axis=1)",
    "repeat(x[::2], 2, axis=0)",
    "tile(y[:10], (2, 1))",
    "sort(x, axis=1)",
    "sort(ravel(x)).reshape((20, 50))",
    "clip(y + sum(topk(x, 3)[0], axis=1)[:, None] / 8, -4, 4)",
    "x - median(y, axis=1)[:, None] / 4",
    "0 * y + searchsorted(sort(ravel(x)), y) / 500",
    "clip(y + histogram(x, [-4, 0, 2, 4])[0][1] / 1000, -4, 4)",
    "clip(y + cumsum(x > n, axis=0) / 20, -4, 4)",
    "x * (uniform(7, x.shape, float32) < 0.9)",
    "clip(y + 0.1 * normal(9, y.shape, dtype=float32), -4, 4)",
};

typedef struct step {
    size_t text;
    int x, y, z;
    float number;
} step;

static kiln_array *random_numbers(test_env *t)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    float data[N];
    kiln_array *a = NULL;

    for (int k = 0; k < N; k++)
        data[k] = (float)test_random_below(t, 257) / 64 - 2;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, data, NULL, &a, &t->err));
    return a;
}

static void do_step(test_env *t, kiln_graph *const *graphs, const step *s, kiln_array **a)
{
    kiln_array *made = NULL, *narrow = NULL;

    OK(t, kiln_call(graphs[s->text], &t->err, a[s->x], a[s->y], (double)s->number, &made));
    OK(t, kiln_array_cast(made, KILN_FLOAT32, &narrow, &t->err));
    OK(t, kiln_array_assign(a[s->z], narrow, &t->err));
    kiln_array_release(made);
    kiln_array_release(narrow);
}

static void compare(test_env *t, const step *steps, int count, kiln_array **done, kiln_array **wanted, int run)
{
    float got[N], want[N];

    for (int a = 0; a < ARRAYS; a++) {
        OK(t, kiln_array_to_host(done[a], got, sizeof got, NULL, &t->err));
        OK(t, kiln_array_to_host(wanted[a], want, sizeof want, NULL, &t->err));
        if (memcmp(got, want, sizeof got) == 0)
            continue;
        for (int k = 0; k < count; k++)
            print_error("a%d = %s, x = a%d, y = a%d, n = %g\n", steps[k].z, texts[steps[k].text], steps[k].x,
                        steps[k].y, (double)steps[k].number);
        fail_msg("run %d: a%d differs", run, a);
    }
}

static void check_program(test_env *t, kiln_graph *const *graphs, size_t first)
{
    kiln_array *eager[ARRAYS], *captured[ARRAYS];
    kiln_program *program = NULL;
    step steps[STEPS_MAX];
    const int count = 1 + (int)test_random_below(t, STEPS_MAX);

    for (int k = 0; k < count; k++)
        steps[k] = (step){.text = k == 0 ? first : test_random_below(t, COUNT(texts)),
                          .x = (int)test_random_below(t, ARRAYS),
                          .y = (int)test_random_below(t, ARRAYS),
                          .z = (int)test_random_below(t, ARRAYS),
                          .number = (float)test_random_below(t, 17) / 8 - 1};
    for (int a = 0; a < ARRAYS; a++) {
        eager[a] = random_numbers(t);
        OK(t, kiln_array_copy(eager[a], &captured[a], &t->err));
    }
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    for (int k = 0; k < count; k++)
        do_step(t, graphs, &steps[k], captured);
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    for (int run = 0; run < RUNS; run++) {
        for (int k = 0; k < count; k++)
            do_step(t, graphs, &steps[k], eager);
        OK(t, kiln_program_run(program, NULL, &t->err));
        compare(t, steps, count, captured, eager, run);
    }
    kiln_program_destroy(program);
    for (int a = 0; a < ARRAYS; a++) {
        kiln_array_release(eager[a]);
        kiln_array_release(captured[a]);
    }
}

static void test_program_arrays__captured_steps_do_what_the_calls_do(void **state)
{
    static const char *const names[] = {"x", "y", "n"};
    test_env *t = *state;
    kiln_graph *graphs[COUNT(texts)];

    for (size_t k = 0; k < COUNT(texts); k++)
        OK(t, kiln_graph_parse(t->ctx, texts[k], names, 3, NULL, &graphs[k], NULL, &t->err));
    for (size_t round = 0; round < 2 * COUNT(texts); round++)
        check_program(t, graphs, round % COUNT(texts));
    for (size_t k = 0; k < COUNT(texts); k++)
        kiln_graph_destroy(graphs[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_program_arrays__captured_steps_do_what_the_calls_do),
    };

    return test_env_main(argc, argv, "test_program_arrays", tests, COUNT(tests));
}
