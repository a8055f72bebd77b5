/*
 * test_elementwise_random.c - random definitions over random arrays against plain C loops.
 *
 * Each round draws an expression from `expressions`, dtypes that it is exact in, a shape, and for
 * each operand an axis order, steps, broadcast axes and an offset. The seed is printed by the
 * fixture; KILN_TEST_SEED repeats a run, KILN_TEST_ROUNDS lengthens it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/host.h"

enum { ROUNDS = 150, INPUTS_MAX = 3 };

/* ---- expressions: a snippet, and the same in C. Small integers keep all of them exact. ---- */

#define X (in[0].re)
#define Y (in[1].re)
#define W (in[2].re)

#define MEANS(name, statement)                                                                     \
    static void name(const host_value *in, host_value *out)                                        \
    {                                                                                              \
        (void)in;                                                                                  \
        statement;                                                                                 \
    }

MEANS(copy, out[0] = in[0])
MEANS(muladd, out[0] = host_real(X * Y + 1))
MEANS(weighted, out[0] = host_real(X * Y + W))
MEANS(accumulate, out[0].re += X)
MEANS(larger, out[0] = host_real(X > Y ? X : Y))
MEANS(when_larger, if (X > Y) out[0] = host_real(W))
MEANS(sum_and_product, {
    out[0] = host_real(X + Y);
    out[1] = host_real(X * Y);
})
MEANS(exchange, {
    out[0] = host_real(Y);
    out[1] = host_real(X);
    out[2] = host_real(X == Y);
})
MEANS(keep_some, {
    out[0] = host_real(X + 1);
    if (fmodl(X, 2) != 0)
        out[1].re += Y;
})
MEANS(clipped, out[0] = host_real(X < 2 ? 2 : X > 5 ? 5 : X))
MEANS(counted, out[0] = host_real(X * (X - 1) / 2))
MEANS(constant, out[0] = host_real(42))

#undef X
#undef Y
#undef W

typedef struct expression {
    const char *snippet;
    size_t inputs, outputs;
    host_function means;
} expression;

static const expression expressions[] = {
    {"z0 = x0", 1, 1, copy},
    {"z0 = x0 * x1 + T(1)", 2, 1, muladd},
    {"z0 = x0 * x1 + x2", 3, 1, weighted},
    {"z0 += x0", 1, 1, accumulate},
    {"z0 = x0 > x1 ? x0 : x1", 2, 1, larger},
    {"if (x0 > x1) z0 = x2", 3, 1, when_larger},
    {"z0 = x0 + x1; z1 = x0 * x1", 2, 2, sum_and_product},
    {"z0 = x1; z1 = x0; z2 = T(x0 == x1)", 2, 3, exchange},
    {"z0 = x0 + T(1); if ((int)x0 % 2 != 0) z1 += x1", 2, 2, keep_some},
    {"z0 = x0; if (z0 < T(2)) { z0 = T(2); continue; } if (z0 > T(5)) z0 = T(5)", 1, 1, clipped},
    {"z0 = T(0); for (int k = 0; k < (int)x0; ++k) z0 = z0 + T(k)", 1, 1, counted},
    {"z0 = T(42)", 1, 1, constant},
};

static const kiln_dtype dtypes[] = {KILN_INT8,    KILN_UINT8,    KILN_INT16,   KILN_UINT16,
                                    KILN_INT32,   KILN_UINT32,   KILN_INT64,   KILN_UINT64,
                                    KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64};

/* ---- drawing ---- */

static int draw_shape(test_env *t, int64_t *shape)
{
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 40, 64, 65};
    int rank = (int)test_random_below(t, 6);
    int64_t size = 1;

    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = extents[test_random_below(t, COUNT(extents))];
        while (size * shape[axis] > 40000)
            shape[axis] = (shape[axis] + 1) / 2;
        size *= shape[axis];
    }
    if (rank == 1 && test_random_below(t, 2) == 0)
        shape[0] = 1 + (int64_t)test_random_below(t, 70000);
    if (rank > 0 && test_random_below(t, 40) == 0)
        shape[test_random_below(t, (uint64_t)rank)] = 0;
    return rank;
}

static void draw_layout(test_env *t, int rank, host_layout *layout)
{
    static const int8_t steps[] = {1, 1, 1, 1, 1, 2, 3, -1, -2};

    memset(layout, 0, sizeof *layout);
    layout->offset = test_random_below(t, 2) == 0 ? (int32_t)test_random_below(t, 9) : 0;
    for (int axis = 0; axis < rank; axis++)
        layout->order[axis] = (int8_t)(axis + 1);
    switch (test_random_below(t, 3)) {
    case 0: /* C-order */
        break;
    case 1: /* shuffled */
        for (int axis = rank - 1; axis > 0; axis--) {
            int other = (int)test_random_below(t, (uint64_t)axis + 1);
            int8_t kept = layout->order[axis];

            layout->order[axis] = layout->order[other];
            layout->order[other] = kept;
        }
        break;
    default: /* F-order */
        for (int axis = 0; axis < rank; axis++)
            layout->order[axis] = (int8_t)(rank - axis);
    }
    if (test_random_below(t, 3) == 0)
        for (int axis = 0; axis < rank; axis++)
            layout->step[axis] = steps[test_random_below(t, COUNT(steps))];
}

/* An input may lack leading axes and have extents of 1. */
static void draw_input(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
                       unsigned salt)
{
    host_layout layout;
    int64_t own[KILN_RANK_MAX];
    int skip = 0;

    if (rank > 0 && test_random_below(t, 4) == 0)
        skip = (int)test_random_below(t, (uint64_t)rank + 1);
    for (int axis = skip; axis < rank; axis++)
        own[axis - skip] = test_random_below(t, 6) == 0 ? 1 : shape[axis];
    draw_layout(t, rank - skip, &layout);
    host_make(t, a, dtype, rank - skip, own, &layout);
    host_fill_small(a, salt);
    host_send(t, a);
}

/* "T x0, T x1" */
static void name_all(char *text, size_t bytes, char letter, size_t count)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t k = 0; k < count; k++)
        used +=
            (size_t)snprintf(text + used, bytes - used, "%sT %c%zu", k > 0 ? ", " : "", letter, k);
}

/* ---- one round ---- */

typedef struct round_of {
    const expression *e;
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    host_array arrays[2 * INPUTS_MAX];
    char what[256];
} round_of;

static void describe(round_of *r, int number)
{
    size_t used = (size_t)snprintf(r->what, sizeof r->what, "round %d: \"%s\" of %s over (", number,
                                   r->e->snippet, kiln_dtype_name(r->dtype));

    for (int axis = 0; axis < r->rank; axis++)
        used += (size_t)snprintf(r->what + used, sizeof r->what - used, "%lld,",
                                 (long long)r->shape[axis]);
    snprintf(r->what + used, sizeof r->what - used, ")");
}

static void run_round(test_env *t, kiln_elementwise *const *ops, int number)
{
    size_t chosen = test_random_below(t, COUNT(expressions)), operands;
    round_of r = {.e = &expressions[chosen]};
    host_array *pointers[2 * INPUTS_MAX];
    kiln_arg args[2 * INPUTS_MAX];

    r.dtype = dtypes[test_random_below(t, COUNT(dtypes))];
    r.rank = draw_shape(t, r.shape);
    operands = r.e->inputs + r.e->outputs;
    for (size_t k = 0; k < operands; k++) {
        host_layout layout;

        if (k < r.e->inputs) {
            draw_input(t, &r.arrays[k], r.dtype, r.rank, r.shape, (unsigned)k + 1);
        } else {
            draw_layout(t, r.rank, &layout);
            host_make(t, &r.arrays[k], r.dtype, r.rank, r.shape, &layout);
        }
        pointers[k] = &r.arrays[k];
        args[k] = kiln_arg_array(r.arrays[k].array);
    }
    describe(&r, number);
    kiln_status status = kiln_elementwise_run(ops[chosen], args, operands, NULL, &t->err);
    if (status != KILN_OK)
        print_error("%s\n", r.what);
    OK(t, status);
    host_apply(pointers, r.e->inputs, r.e->outputs, r.rank, r.shape, r.e->means);
    for (size_t k = 0; k < operands; k++)
        host_compare(t, &r.arrays[k], 0, r.what);
    for (size_t k = 0; k < operands; k++)
        host_free(&r.arrays[k]);
}

static void test_elementwise__random_definitions_over_random_arrays(void **state)
{
    test_env *t = *state;
    const char *asked = getenv("KILN_TEST_ROUNDS");
    int rounds = asked != NULL ? atoi(asked) : test_rounds(t, ROUNDS); /* each is a kernel */
    kiln_elementwise *ops[COUNT(expressions)] = {NULL};

    for (size_t k = 0; k < COUNT(expressions); k++) {
        char in[64], out[64];

        name_all(in, sizeof in, 'x', expressions[k].inputs);
        name_all(out, sizeof out, 'z', expressions[k].outputs);
        OK(t, kiln_elementwise_create(t->ctx, in, out, expressions[k].snippet, NULL, &ops[k],
                                      &t->err));
    }
    for (int number = 0; number < rounds; number++)
        run_round(t, ops, number);
    for (size_t k = 0; k < COUNT(expressions); k++)
        kiln_elementwise_destroy(ops[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__random_definitions_over_random_arrays),
    };

    return test_env_main(argc, argv, "test_elementwise_random", tests, COUNT(tests));
}
