/*
 * test_reduction_layout.c - one definition, every way its input can lie in memory, every set of
 * axes.
 *
 * Inputs are small integers and accumulators wide, so every order of addition gives the same sum
 * and results are compared exactly. Each case runs twice: a plain sum, and one that weighs every
 * element by its position along the reduced axes, which finds an element counted twice in place of
 * another.
 *
 * On the cpu device a kernel costs a run of the C++ compiler, and dtypes change nothing but names
 * in it: there, dtypes other than float32 are summed up plainly only.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/reduce.h"

#define AXES(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    } /* axis numbers + 1, slowest first */
#define BC HOST_BROADCAST

/* Sets of axes. */
#define A0 1u
#define A1 2u
#define A2 4u
#define A3 8u
#define A4 16u

typedef struct placed {
    const char *name;
    int rank;
    int64_t shape[HOST_AXES];
    host_layout x;
} placed;

/* ---- the two definitions ---- */

typedef struct sums {
    kiln_reduction *plain, *weighed;
} sums;

static void add_weighed(host_state *state, const host_value *in, int64_t position)
{
    state->v.re += in[0].re * (long double)(position % 5 + 1);
}

static void tell(const host_state *state, int64_t n, host_value *out)
{
    (void)n;
    out[0] = state->v;
}

static const host_reduction weighed_sum = {add_weighed, tell};

static void sums_make(test_env *t, sums *s)
{
    OK(t, kiln_reduction_create(t->ctx, "T x", "float64 y", "x", "a + b", "y = a", "0", NULL,
                                &s->plain, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "T x", "float64 y", "(double)x * (double)(_J % 5 + 1)",
                                "a + b", "y = a", "0", NULL, &s->weighed, &t->err));
}

static void sums_free(sums *s)
{
    kiln_reduction_destroy(s->plain);
    kiln_reduction_destroy(s->weighed);
}

/* ---- one case ---- */

static void check_one(test_env *t, kiln_reduction *op, const host_reduction *reduction,
                      host_array *x, unsigned axes, bool keepdims, const char *what)
{
    host_array want, *in[] = {x}, *out[] = {&want};
    int64_t shape[KILN_RANK_MAX];
    int rank = host_reduced_shape(x->rank, x->shape, axes, keepdims, shape);
    kiln_axes list = host_axes(axes);
    kiln_array *y = NULL;

    host_make(t, &want, KILN_FLOAT64, rank, shape, NULL);
    host_reduce(in, 1, out, 1, x->rank, x->shape, axes, reduction);
    OK(t, host_run(op, &list, keepdims, KILN_ARGS(x->array, &y), &t->err));
    host_compare_elements(t, y, &want, 0, what);
    kiln_array_release(y);
    /* Into an output given, guard bytes around it. */
    OK(t, host_run(op, &list, keepdims, KILN_ARGS(x->array, want.array), &t->err));
    host_compare(t, &want, 0, what);
    host_free(&want);
}

static void check_both(test_env *t, const sums *s, host_array *x, unsigned axes, bool keepdims,
                       const char *name)
{
    char what[160];

    snprintf(what, sizeof what, "plain sum, %s, %s, axes %#x", name, kiln_dtype_name(x->dtype),
             axes);
    check_one(t, s->plain, &host_sum, x, axes, keepdims, what);
    if (!t->cuda && x->dtype != KILN_FLOAT32)
        return;
    snprintf(what, sizeof what, "weighed sum, %s, %s, axes %#x", name, kiln_dtype_name(x->dtype),
             axes);
    check_one(t, s->weighed, &weighed_sum, x, axes, keepdims, what);
}

static void check_placed(test_env *t, const sums *s, const placed *c, kiln_dtype dtype,
                         unsigned axes, bool keepdims)
{
    host_array x;

    host_make(t, &x, dtype, c->rank, c->shape, &c->x);
    host_fill_small(&x, axes);
    host_send(t, &x);
    check_both(t, s, &x, axes, keepdims, c->name);
    host_free(&x);
}

/* ---- every set of axes of 5-D inputs ---- */

static const placed five_axes[] = {
    {"C-order", 5, {3, 4, 2, 5, 6}, {.offset = 0}},
    {"permuted", 5, {3, 4, 2, 5, 6}, {.order = AXES(3, 5, 1, 4, 2)}},
    {"F-order", 5, {3, 4, 2, 5, 6}, {.order = AXES(5, 4, 3, 2, 1), .offset = 1}},
    {"reversed", 5, {3, 4, 2, 5, 6}, {.step = {-1, 1, -1, 1, -1}}},
    {"permuted and reversed",
     5,
     {3, 4, 2, 5, 6},
     {.order = AXES(2, 4, 1, 5, 3), .step = {1, -2, 1, 3, -1}}},
    {"zero strides", 5, {3, 4, 2, 5, 6}, {.step = {BC, 1, BC, 1, 1}}},
    {"zero strides inside", 5, {3, 4, 2, 5, 6}, {.step = {1, BC, 1, 1, BC}}},
    {"gaps", 5, {3, 4, 2, 5, 6}, {.step = {1, 2, 1, 2, 3}, .offset = 3}},
};

static void every_set_of_axes(test_env *t, kiln_dtype dtype, bool keepdims)
{
    sums s;

    sums_make(t, &s);
    for (size_t c = 0; c < COUNT(five_axes); c++)
        for (unsigned axes = 0; axes < 32; axes++)
            if (test_drawn(t))
                check_placed(t, &s, &five_axes[c], dtype, axes, keepdims);
    sums_free(&s);
}

static void test_reduction__every_set_of_five_axes_in_every_layout(void **state)
{
    every_set_of_axes(*state, KILN_FLOAT32, false);
}

static void test_reduction__every_set_of_five_axes_keeping_dims(void **state)
{
    test_env *t = *state;
    every_set_of_axes(t, t->cuda ? KILN_INT16 : KILN_FLOAT32, true);
}

/* ---- lengths around powers of two ---- */

static void test_reduction__lengths_around_powers_of_two_on_either_axis(void **state)
{
    test_env *t = *state;
    sums s;

    sums_make(t, &s);
    for (int k = 1; k <= 9; k++)
        for (int64_t length = (1 << k) - 1; length <= (1 << k) + 1; length++) {
            const placed tall = {"(1000, 2^k+-1)", 2, {1000, length}, {.offset = 0}};
            const placed wide = {"(2^k+-1, 1000)", 2, {length, 1000}, {.offset = 0}};

            for (unsigned axes = 1; axes <= 3; axes++) {
                if (test_drawn(t))
                    check_placed(t, &s, &tall, KILN_FLOAT32, axes, false);
                if (test_drawn(t))
                    check_placed(t, &s, &wide, KILN_FLOAT32, axes, false);
            }
        }
    sums_free(&s);
}

static void test_reduction__lengths_of_one_dimension(void **state)
{
    static const int64_t lengths[] = {1,    2,    3,    31,    32,    33,   127,
                                      255,  256,  257,  511,   1023,  1025, 2047,
                                      4095, 4096, 4097, 65535, 65537, 8191, 100003};
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64};
    test_env *t = *state;
    sums s;

    sums_make(t, &s);
    for (size_t k = 0; k < COUNT(lengths); k++)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            for (int32_t offset = 0; offset <= 3; offset += 3) {
                const placed line = {"a line", 1, {lengths[k]}, {.offset = offset}};
                check_placed(t, &s, &line, dtypes[d], A0, false);
            }
    sums_free(&s);
}

/* ---- shapes that have a class of their own ---- */

static const struct {
    placed at;
    unsigned axes;
} shapes[] = {
    {{"long rows", 2, {7, 30011}, {.offset = 0}}, A1},
    {{"many short rows", 2, {20011, 4}, {.offset = 0}}, A1},
    {{"rows of one", 2, {5003, 1}, {.offset = 0}}, A1},
    {{"rows of 16", 2, {9001, 16}, {.offset = 0}}, A1},
    {{"few columns", 2, {20011, 4}, {.offset = 0}}, A0},
    {{"one column", 2, {30011, 1}, {.offset = 0}}, A0},
    {{"few rows of columns", 2, {3, 20011}, {.offset = 0}}, A0},
    {{"16 columns", 2, {9001, 16}, {.offset = 0}}, A0},
    {{"odd columns", 2, {3001, 17}, {.offset = 1}}, A0},
    {{"middle", 3, {5, 301, 67}, {.offset = 0}}, A1},
    {{"outer two", 3, {37, 41, 43}, {.offset = 0}}, A0 | A1},
    {{"outer and inner", 3, {3, 5, 4001}, {.offset = 0}}, A0 | A2},
    {{"outer and inner, long middle", 3, {5, 4001, 3}, {.offset = 0}}, A0 | A2},
    {{"transposed rows", 2, {301, 257}, {.order = AXES(2, 1)}}, A1},
    {{"transposed columns", 2, {301, 257}, {.order = AXES(2, 1)}}, A0},
    {{"every second row", 2, {301, 256}, {.step = {2, 1}}}, A0 | A1},
    {{"every second column", 2, {301, 256}, {.step = {1, 2}}}, A1},
    {{"every second of all", 1, {40001}, {.step = {2}}}, A0},
    {{"every third, reversed", 1, {40001}, {.step = {-3}}}, A0},
    {{"rows reversed", 2, {101, 256}, {.step = {-1, 1}}}, A1},
    {{"columns reversed", 2, {101, 256}, {.step = {1, -1}}}, A0},
    {{"broadcast rows", 2, {1001, 64}, {.step = {BC, 1}}}, A0},
    {{"broadcast columns", 2, {1001, 64}, {.step = {1, BC}}}, A1},
    {{"broadcast columns, kept", 2, {1001, 64}, {.step = {1, BC}}}, A0},
    {{"one element everywhere", 2, {1001, 64}, {.step = {BC, BC}}}, A0 | A1},
    {{"misaligned rows", 2, {101, 63}, {.step = {2, 1}, .offset = 1}}, A1},
    {{"7-D permuted", 7, {2, 3, 4, 5, 2, 3, 7}, {.order = AXES(4, 1, 6, 3, 7, 5, 2)}}, 0x55},
    {{"7-D permuted, other axes", 7, {2, 3, 4, 5, 2, 3, 7}, {.order = AXES(2, 7, 1, 5, 4, 3, 6)}},
     0x2a},
    {{"8-D mixed",
      8,
      {2, 1, 3, 2, 4, 1, 3, 5},
      {.order = AXES(8, 7, 6, 5, 4, 3, 2, 1), .step = {1, 1, -1, 2, 1, 1, 1, -1}}},
     0x96},
    {{"axes of one", 5, {1, 700, 1, 3, 1}, {.offset = 0}}, A0 | A1 | A2},
    {{"no axes", 2, {61, 67}, {.order = AXES(2, 1)}}, 0},
};

static void every_shape(test_env *t, kiln_dtype dtype)
{
    sums s;

    sums_make(t, &s);
    for (size_t c = 0; c < COUNT(shapes); c++)
        for (int keepdims = 0; keepdims < 2; keepdims++)
            if (test_drawn(t))
                check_placed(t, &s, &shapes[c].at, dtype, shapes[c].axes, keepdims);
    sums_free(&s);
}

static void test_reduction__one_byte_elements_in_every_shape(void **state)
{
    every_shape(*state, KILN_UINT8);
}

static void test_reduction__two_byte_elements_in_every_shape(void **state)
{
    every_shape(*state, KILN_BFLOAT16);
    every_shape(*state, KILN_INT16);
}

static void test_reduction__four_byte_elements_in_every_shape(void **state)
{
    every_shape(*state, KILN_FLOAT32);
}

static void test_reduction__eight_byte_elements_in_every_shape(void **state)
{
    every_shape(*state, KILN_INT64);
}

/* ---- large ---- */

static void check_large(test_env *t, int64_t rows, int64_t columns)
{
    const placed large = {"large", 2, {rows, columns}, {.offset = 0}};
    sums s;
    host_array x;

    sums_make(t, &s);
    host_make(t, &x, KILN_UINT8, large.rank, large.shape, &large.x);
    for (unsigned axes = 1; axes <= 3; axes++)
        if (axes == 1 || test_drawn(t))
            check_one(t, s.plain, &host_sum, &x, axes, false, "large");
    host_free(&x);
    sums_free(&s);
}

static void test_reduction__512_by_65536(void **state)
{
    check_large(*state, 512, 65536);
}

static void test_reduction__513_by_65537(void **state)
{
    check_large(*state, 513, 65537);
}

/* ---- several inputs ---- */

static void add_product(host_state *state, const host_value *in, int64_t position)
{
    (void)position;
    state->v.re += in[0].re * in[1].re;
}

static const host_reduction dot = {add_product, tell};

typedef struct pair {
    const char *name;
    int rank;
    int64_t shape[HOST_AXES];
    host_layout x, y;
    unsigned x_ones, y_ones; /* bit a: the operand's extent on axis a is 1 */
    int y_rank;              /* 0: as rank; else y lacks the leading axes */
    unsigned axes;
} pair;

static const pair pairs[] = {
    {.name = "all", .rank = 1, .shape = {4099}, .axes = A0},
    {.name = "rows", .rank = 2, .shape = {61, 67}, .axes = A1},
    {.name = "columns", .rank = 2, .shape = {61, 67}, .axes = A0},
    {.name = "x[1:], y[3:]",
     .rank = 1,
     .shape = {4099},
     .x = {.offset = 1},
     .y = {.offset = 3},
     .axes = A0},
    {.name = "matrix times vector", .rank = 2, .shape = {61, 128}, .y_rank = 1, .axes = A1},
    {.name = "vector times matrix", .rank = 2, .shape = {128, 61}, .y_ones = 2, .axes = A0},
    {.name = "outer product",
     .rank = 2,
     .shape = {61, 67},
     .x_ones = 2,
     .y_ones = 1,
     .axes = A0 | A1},
    {.name = "outer product's rows",
     .rank = 2,
     .shape = {61, 67},
     .x_ones = 2,
     .y_ones = 1,
     .axes = A1},
    {.name = "matrix product",
     .rank = 3,
     .shape = {17, 19, 23},
     .x_ones = 4,
     .y_ones = 1,
     .axes = A1},
    {.name = "one transposed, rows",
     .rank = 2,
     .shape = {70, 90},
     .x = {.order = AXES(2, 1)},
     .axes = A1},
    {.name = "one transposed, columns",
     .rank = 2,
     .shape = {70, 90},
     .y = {.order = AXES(2, 1)},
     .axes = A0},
    {.name = "one transposed, all",
     .rank = 2,
     .shape = {70, 90},
     .y = {.order = AXES(2, 1)},
     .axes = A0 | A1},
    {.name = "reversed", .rank = 1, .shape = {2053}, .x = {.step = {-1}}, .axes = A0},
    {.name = "three orders",
     .rank = 3,
     .shape = {18, 19, 20},
     .x = {.order = AXES(3, 2, 1)},
     .y = {.order = AXES(2, 3, 1)},
     .axes = A0 | A2},
    {.name = "scalar array", .rank = 2, .shape = {61, 67}, .y_ones = 3, .axes = A1},
};

static void make_operand(test_env *t, host_array *a, kiln_dtype dtype, const pair *c,
                         const host_layout *layout, unsigned ones, int rank)
{
    int64_t shape[HOST_AXES];
    int skip = rank == 0 ? 0 : c->rank - rank;

    for (int axis = skip; axis < c->rank; axis++)
        shape[axis - skip] = ones >> axis & 1u ? 1 : c->shape[axis];
    host_make(t, a, dtype, c->rank - skip, shape, layout);
}

static void check_pair(test_env *t, kiln_reduction *op, const pair *c, kiln_dtype dtype)
{
    host_array x, y, want, *in[] = {&x, &y}, *out[] = {&want};
    int64_t shape[KILN_RANK_MAX];
    int rank = host_reduced_shape(c->rank, c->shape, c->axes, false, shape);
    kiln_axes axes = host_axes(c->axes);
    kiln_array *z = NULL;

    make_operand(t, &x, dtype, c, &c->x, c->x_ones, 0);
    make_operand(t, &y, dtype, c, &c->y, c->y_ones, c->y_rank);
    host_fill_small(&y, 1);
    host_send(t, &y);
    host_make(t, &want, KILN_FLOAT64, rank, shape, NULL);
    host_reduce(in, 2, out, 1, c->rank, c->shape, c->axes, &dot);
    OK(t, kiln_call_over(op, &axes, &t->err, x.array, y.array, &z));
    host_compare_elements(t, z, &want, 0, c->name);
    kiln_array_release(z);
    host_free(&x);
    host_free(&y);
    host_free(&want);
}

static void test_reduction__two_inputs_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT32, KILN_FLOAT64};
    test_env *t = *state;
    kiln_reduction *op = NULL;

    OK(t, kiln_reduction_create(t->ctx, "T x, T y", "float64 z", "(double)x * (double)y", "a + b",
                                "z = a", "0", NULL, &op, &t->err));
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t c = 0; c < COUNT(pairs); c++)
            if (t->cuda || dtypes[d] == KILN_FLOAT32 || c % 4 == 0)
                check_pair(t, op, &pairs[c], dtypes[d]);
    kiln_reduction_destroy(op);
}

/* Outputs given may lie anywhere. */
static void test_reduction__outputs_in_every_layout(void **state)
{
    static const host_layout layouts[] = {
        {.offset = 1}, {.order = AXES(2, 1)}, {.step = {2, 3}}, {.step = {-1, -2}, .offset = 5}};
    test_env *t = *state;
    const int64_t shape[] = {13, 37, 11}, kept[] = {13, 11};
    kiln_reduction *op = NULL;

    OK(t,
       kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(layouts); k++) {
        host_array x, y, *in[] = {&x}, *out[] = {&y};

        host_make(t, &x, KILN_INT32, 3, shape, NULL);
        host_make(t, &y, KILN_INT32, 2, kept, &layouts[k]);
        OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, y.array));
        host_reduce(in, 1, out, 1, 3, shape, A1, &host_sum);
        host_compare(t, &y, 0, "an output given");
        host_free(&x);
        host_free(&y);
    }
    kiln_reduction_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction__every_set_of_five_axes_in_every_layout),
        TEST(test_reduction__every_set_of_five_axes_keeping_dims),
        TEST(test_reduction__lengths_around_powers_of_two_on_either_axis),
        TEST(test_reduction__lengths_of_one_dimension),
        TEST(test_reduction__one_byte_elements_in_every_shape),
        TEST(test_reduction__two_byte_elements_in_every_shape),
        TEST(test_reduction__four_byte_elements_in_every_shape),
        TEST(test_reduction__eight_byte_elements_in_every_shape),
        TEST(test_reduction__512_by_65536),
        TEST(test_reduction__513_by_65537),
        TEST(test_reduction__two_inputs_in_every_layout),
        TEST(test_reduction__outputs_in_every_layout),
    };

    test_env_compile_ahead();
    return test_env_main(argc, argv, "test_reduction_layout", tests, COUNT(tests));
}
