/*
 * test_elementwise_layout.c - one kernel, every way its operands can lie in memory.
 *
 * Each row of `layout_cases` places x, y and z; each snippet runs over each row on a few dtypes,
 * and the whole storage of z is compared, guard bytes and gaps included. The rows cover the four
 * layout classes, misaligned bases, broadcasting, gaps, reversed and permuted axes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/host.h"

#define AXES(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    } /* axis numbers + 1, slowest first */
#define BC HOST_BROADCAST

typedef struct layout_case {
    const char *name;
    int rank;
    int64_t shape[HOST_AXES];
    host_layout x, y, z;
    unsigned x_ones, y_ones; /* bit a: the operand's extent on axis a is 1 */
    int y_rank;              /* 0: as rank; else y lacks the leading axes */
} layout_case;

static const layout_case layout_cases[] = {
    {.name = "linear", .rank = 1, .shape = {4099}},
    {.name = "linear from 2-D", .rank = 2, .shape = {61, 67}},
    {.name = "one element", .rank = 3, .shape = {1, 1, 1}},
    {.name = "x[1:]", .rank = 1, .shape = {4099}, .x = {.offset = 1}},
    {.name = "x[1:], y[3:]", .rank = 1, .shape = {4099}, .x = {.offset = 1}, .y = {.offset = 3}},
    {.name = "z[1:]", .rank = 1, .shape = {2053}, .z = {.offset = 1}},
    {.name = "all by 5",
     .rank = 1,
     .shape = {2053},
     .x = {.offset = 5},
     .y = {.offset = 5},
     .z = {.offset = 5}},
    {.name = "half aligned",
     .rank = 1,
     .shape = {4096},
     .x = {.offset = 8},
     .y = {.offset = 8},
     .z = {.offset = 8}},
    {.name = "F-order",
     .rank = 2,
     .shape = {61, 67},
     .x = {.order = AXES(2, 1)},
     .y = {.order = AXES(2, 1)},
     .z = {.order = AXES(2, 1)}},
    {.name = "row broadcast", .rank = 2, .shape = {61, 128}, .y_ones = 1},
    {.name = "row of lower rank", .rank = 2, .shape = {61, 67}, .y_rank = 1},
    {.name = "column broadcast", .rank = 2, .shape = {61, 128}, .y_ones = 2},
    {.name = "row and column", .rank = 2, .shape = {61, 67}, .x_ones = 1, .y_ones = 2},
    {.name = "scalar array", .rank = 2, .shape = {61, 67}, .y_ones = 3},
    {.name = "stride 0 by hand", .rank = 2, .shape = {61, 67}, .y = {.step = {BC, 1}}},
    {.name = "middle broadcast", .rank = 3, .shape = {7, 11, 64}, .y_ones = 2},
    {.name = "outer broadcasts", .rank = 4, .shape = {3, 5, 7, 32}, .x_ones = 1, .y_ones = 4},
    {.name = "every second", .rank = 1, .shape = {2053}, .x = {.step = {2}}},
    {.name = "every third of all",
     .rank = 1,
     .shape = {2053},
     .x = {.step = {3}},
     .y = {.step = {3}},
     .z = {.step = {3}}},
    {.name = "every second of z", .rank = 1, .shape = {2053}, .z = {.step = {2}}},
    {.name = "rows with gaps",
     .rank = 2,
     .shape = {37, 64},
     .x = {.step = {2, 1}},
     .z = {.step = {3, 1}}},
    {.name = "rows with odd gaps",
     .rank = 2,
     .shape = {37, 63},
     .x = {.step = {2, 1}, .offset = 1}},
    {.name = "columns 1::2", .rank = 2, .shape = {37, 65}, .x = {.step = {1, 2}, .offset = 1}},
    {.name = "both steps",
     .rank = 2,
     .shape = {37, 65},
     .x = {.step = {2, 3}},
     .z = {.step = {3, 2}}},
    {.name = "reversed", .rank = 1, .shape = {2053}, .x = {.step = {-1}}},
    {.name = "all reversed",
     .rank = 1,
     .shape = {2053},
     .x = {.step = {-1}},
     .y = {.step = {-1}},
     .z = {.step = {-1}}},
    {.name = "rows reversed", .rank = 2, .shape = {37, 64}, .x = {.step = {-1, 1}}},
    {.name = "columns reversed",
     .rank = 2,
     .shape = {37, 64},
     .y = {.step = {1, -1}},
     .z = {.step = {1, -2}}},
    {.name = "x transposed", .rank = 2, .shape = {67, 130}, .x = {.order = AXES(2, 1)}},
    {.name = "x and y transposed",
     .rank = 2,
     .shape = {130, 67},
     .x = {.order = AXES(2, 1)},
     .y = {.order = AXES(2, 1)}},
    {.name = "z transposed", .rank = 2, .shape = {64, 64}, .z = {.order = AXES(2, 1)}},
    {.name = "small transpose", .rank = 2, .shape = {16, 17}, .x = {.order = AXES(2, 1)}},
    {.name = "tiny transpose", .rank = 2, .shape = {3, 5}, .x = {.order = AXES(2, 1)}},
    {.name = "long transpose", .rank = 2, .shape = {2, 1031}, .x = {.order = AXES(2, 1)}},
    {.name = "long transpose, down", .rank = 2, .shape = {1031, 5}, .x = {.order = AXES(2, 1)}},
    {.name = "channels from last to first",
     .rank = 3,
     .shape = {3, 37, 41},
     .x = {.order = AXES(2, 3, 1), .offset = 1},
     .z = {.offset = 3}},
    {.name = "channels from first to last",
     .rank = 3,
     .shape = {37, 41, 12},
     .x = {.order = AXES(3, 1, 2)},
     .z = {.offset = 1}},
    {.name = "images, channels to the front",
     .rank = 4,
     .shape = {2, 3, 12, 16},
     .x = {.order = AXES(1, 3, 4, 2)}},
    {.name = "images, channels to the back",
     .rank = 4,
     .shape = {2, 12, 16, 12},
     .x = {.order = AXES(1, 4, 2, 3)}},
    {.name = "(NCHW) to (NHWC), 7 channels",
     .rank = 4,
     .shape = {2, 23, 29, 7},
     .x = {.order = AXES(1, 4, 2, 3)},
     .z = {.offset = 16}},
    {.name = "(NHWC) to (NCHW), 12 channels",
     .rank = 4,
     .shape = {2, 12, 17, 32},
     .x = {.order = AXES(1, 3, 4, 2)}},
    {.name = "images, gaps between channels",
     .rank = 3,
     .shape = {6, 12, 16},
     .x = {.order = AXES(2, 3, 1), .step = {2, 1, 1}},
     .z = {.step = {1, 1, 1}}},
    {.name = "transpose with gaps",
     .rank = 2,
     .shape = {70, 90},
     .x = {.order = AXES(2, 1), .step = {1, 2}, .offset = 3}},
    {.name = "transposed and reversed",
     .rank = 2,
     .shape = {70, 90},
     .x = {.order = AXES(2, 1), .step = {1, -1}}},
    {.name = "transposed, broadcast y",
     .rank = 2,
     .shape = {70, 90},
     .x = {.order = AXES(2, 1)},
     .y_ones = 2},
    /* Tiles of words: 64 and more elements of 2 bytes, 128 and more of 1 byte. */
    {.name = "wide transpose", .rank = 2, .shape = {131, 262}, .x = {.order = AXES(2, 1)}},
    {.name = "wide transpose, all by some",
     .rank = 2,
     .shape = {258, 130},
     .x = {.order = AXES(2, 1), .offset = 3},
     .y = {.offset = 1},
     .z = {.offset = 2}},
    {.name = "wide transpose, rows at sectors",
     .rank = 2,
     .shape = {160, 288},
     .x = {.order = AXES(2, 1)}},
    {.name = "z transposed, rows at sectors",
     .rank = 2,
     .shape = {160, 288},
     .z = {.order = AXES(2, 1)}},
    {.name = "z transposed, odd extents",
     .rank = 2,
     .shape = {129, 257},
     .x = {.offset = 1},
     .z = {.order = AXES(2, 1), .offset = 1}},
    {.name = "wide transpose with gaps",
     .rank = 2,
     .shape = {128, 256},
     .x = {.order = AXES(2, 1), .step = {1, 2}, .offset = 3},
     .z = {.step = {3, 1}}},
    {.name = "wide transpose, row of y",
     .rank = 2,
     .shape = {133, 130},
     .x = {.order = AXES(2, 1)},
     .y_ones = 1},
    {.name = "wide transpose, column of y",
     .rank = 2,
     .shape = {133, 130},
     .x = {.order = AXES(2, 1)},
     .y_ones = 2},
    {.name = "wide (2, 1, 0)", .rank = 3, .shape = {130, 3, 129}, .x = {.order = AXES(3, 2, 1)}},
    {.name = "(0, 2, 1)", .rank = 3, .shape = {5, 33, 40}, .x = {.order = AXES(1, 3, 2)}},
    {.name = "(1, 0, 2)", .rank = 3, .shape = {33, 5, 40}, .x = {.order = AXES(2, 1, 3)}},
    {.name = "(1, 2, 0)", .rank = 3, .shape = {33, 5, 40}, .x = {.order = AXES(2, 3, 1)}},
    {.name = "(2, 0, 1)", .rank = 3, .shape = {33, 5, 40}, .x = {.order = AXES(3, 1, 2)}},
    {.name = "(2, 1, 0)", .rank = 3, .shape = {33, 17, 40}, .x = {.order = AXES(3, 2, 1)}},
    {.name = "three orders",
     .rank = 3,
     .shape = {18, 19, 20},
     .x = {.order = AXES(3, 2, 1)},
     .y = {.order = AXES(2, 3, 1)},
     .z = {.order = AXES(1, 3, 2)}},
    {.name = "7-D permuted",
     .rank = 7,
     .shape = {2, 3, 4, 5, 2, 3, 2},
     .x = {.order = AXES(4, 1, 6, 3, 7, 5, 2)},
     .y = {.order = AXES(2, 7, 1, 5, 4, 3, 6)}},
    {.name = "8-D mixed",
     .rank = 8,
     .shape = {2, 1, 3, 2, 4, 1, 3, 2},
     .x = {.order = AXES(8, 7, 6, 5, 4, 3, 2, 1), .step = {1, 1, -1, 2, 1, 1, 1, -1}},
     .y_ones = 1 << 4},
    {.name = "zero strides and gaps",
     .rank = 3,
     .shape = {9, 10, 11},
     .x = {.step = {BC, 1, BC}},
     .y = {.step = {2, BC, 1}},
     .z = {.step = {1, 2, 1}}},
    {.name = "no elements", .rank = 3, .shape = {4, 0, 5}, .x = {.order = AXES(3, 2, 1)}},
};

/* ---- one case ---- */

static void place(test_env *t, host_array *a, kiln_dtype dtype, const layout_case *c,
                  const host_layout *layout, unsigned ones, int rank)
{
    int64_t shape[HOST_AXES];
    int skip = rank == 0 ? 0 : c->rank - rank;

    for (int axis = skip; axis < c->rank; axis++)
        shape[axis - skip] = ones >> axis & 1 ? 1 : c->shape[axis];
    host_make(t, a, dtype, c->rank - skip, shape, layout);
}

static void check_case(test_env *t, kiln_elementwise *op, const char *snippet, const layout_case *c,
                       kiln_dtype dtype, host_function want)
{
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    char what[160];

    snprintf(what, sizeof what, "\"%s\" over %s of %s", snippet, c->name, kiln_dtype_name(dtype));
    place(t, &x, dtype, c, &c->x, c->x_ones, 0);
    place(t, &y, dtype, c, &c->y, c->y_ones, c->y_rank);
    place(t, &z, dtype, c, &c->z, 0, 0);
    host_fill_small(&y, 1);
    host_fill_small(&z, 2);
    host_send(t, &y);
    host_send(t, &z);
    OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    host_apply(arrays, 2, 1, c->rank, c->shape, want);
    host_compare(t, &z, 0, what);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

static void muladd(const host_value *in, host_value *out)
{
    out[0].re = in[0].re * in[1].re - in[0].im * in[1].im + 1;
    out[0].im = in[0].re * in[1].im + in[0].im * in[1].re;
}

/* Run a snippet over every case on every given dtype. Where tables do not run whole, elements of four bytes alone meet
 * every layout, and other sizes and snippets those that are drawn: a layout is a kernel each time. */
static void check_all(test_env *t, const char *snippet, const kiln_dtype *dtypes, size_t count,
                      host_function want)
{
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", snippet, NULL, &op, &t->err));
    for (size_t d = 0; d < count; d++)
        for (size_t c = 0; c < COUNT(layout_cases); c++)
            if ((want == muladd && kiln_dtype_size(dtypes[d]) == 4) || test_drawn(t))
                check_case(t, op, snippet, &layout_cases[c], dtypes[d], want);
    kiln_elementwise_destroy(op);
}

static void test_elementwise__one_byte_elements_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8};

    check_all(*state, "z = x * y + T(1)", dtypes, COUNT(dtypes), muladd);
}

static void test_elementwise__two_byte_elements_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16};

    check_all(*state, "z = x * y + T(1)", dtypes, COUNT(dtypes), muladd);
}

static void test_elementwise__four_byte_elements_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32};

    check_all(*state, "z = x * y + T(1)", dtypes, COUNT(dtypes), muladd);
}

/* An operand whose address is taken is bound to memory itself, also where it is one element for a whole
 * row. */
static void test_elementwise__an_address_is_that_of_a_broadcast_element(void **state)
{
    static const char snippet[] = "const T *at = &y; z = x * *at + T(1)";
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", snippet, NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(layout_cases); c++)
        if (strcmp(layout_cases[c].name, "column broadcast") == 0)
            check_case(t, op, snippet, &layout_cases[c], KILN_INT32, muladd);
    kiln_elementwise_destroy(op);
}

static void test_elementwise__eight_byte_elements_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT64};

    check_all(*state, "z = x * y + T(1)", dtypes, COUNT(dtypes), muladd);
}

static void test_elementwise__sixteen_byte_elements_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_COMPLEX128};

    check_all(*state, "z = x * y + T(1)", dtypes, COUNT(dtypes), muladd);
}

/* ---- what the snippet finds in its output ---- */

static void accumulate(const host_value *in, host_value *out)
{
    out[0].re += in[0].re * in[1].re;
}

static void test_elementwise__an_output_can_be_read_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32};

    check_all(*state, "z += x * y", dtypes, COUNT(dtypes), accumulate);
}

static void keep_unless_larger(const host_value *in, host_value *out)
{
    if (in[0].re > in[1].re)
        out[0] = in[0];
}

static void test_elementwise__an_output_not_assigned_keeps_its_value_in_every_layout(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT16};

    check_all(*state, "if (x > y) z = x", dtypes, COUNT(dtypes), keep_unless_larger);
}

/* ---- transposes of matrices that begin anywhere ---- */

/* A batch of matrices, the fastest axis of which is `fast` (1 or 2), with gaps behind rows and matrices, some
 * of them turned round on the other axis. */
static void place_at_random(test_env *t, host_array *a, kiln_dtype dtype, const int64_t *shape,
                            int fast)
{
    const int64_t size = (int64_t)kiln_dtype_size(dtype), slow = 3 - fast;
    const int64_t row = shape[fast] + (int64_t)test_random_below(t, 6);
    const int64_t matrix = shape[slow] * row + (int64_t)test_random_below(t, 6);
    const bool turned = test_random_below(t, 4) == 0;
    int64_t strides[3] = {matrix * size}, start = (int64_t)test_random_below(t, 40) * size;

    strides[fast] = size;
    strides[slow] = turned ? -row * size : row * size;
    const size_t bytes = (size_t)(start + (shape[0] * matrix + 1) * size);
    start += turned ? (shape[slow] - 1) * row * size : 0;
    host_make_strided(t, a, dtype, 3, shape, strides, start, bytes);
    host_fill_small(a, (unsigned)test_random_below(t, 100));
    host_send(t, a);
}

/* z = x * y + 1 of x transposed, and y transposed, as z, or z itself; x's elements may have another size. */
static void check_transpose_at_random(test_env *t, kiln_elementwise *op)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_INT32, KILN_FLOAT32};
    const kiln_dtype dtype = dtypes[test_random_below(t, 4)];
    const kiln_dtype of_x = test_random_below(t, 2) == 0 ? dtypes[test_random_below(t, 4)] : dtype;
    const int64_t shape[] = {1 + (int64_t)test_random_below(t, 2),
                             30 + (int64_t)test_random_below(t, 240),
                             60 + (int64_t)test_random_below(t, 360)};
    const unsigned other = (unsigned)test_random_below(t, 3);
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    char what[120];

    place_at_random(t, &x, of_x, shape, 1);
    place_at_random(t, &y, dtype, shape, other == 0 ? 1 : 2);
    place_at_random(t, &z, dtype, shape, 2);
    if (other == 2)
        arrays[1] = &z;
    snprintf(what, sizeof what, "%s into %s of %lld x %lld x %lld, y %u", kiln_dtype_name(of_x),
             kiln_dtype_name(dtype), (long long)shape[0], (long long)shape[1], (long long)shape[2],
             other);
    OK(t, kiln_call(op, &t->err, x.array, arrays[1]->array, z.array));
    host_apply(arrays, 2, 1, 3, shape, muladd);
    host_compare(t, &z, 0, what);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

/* $KILN_TEST_ROUNDS: how many. */
static void test_elementwise__transposes_of_matrices_that_begin_anywhere(void **state)
{
    test_env *t = *state;
    const char *given = getenv("KILN_TEST_ROUNDS");
    const int rounds = given != NULL ? atoi(given) : 6;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "S x, T y", "T z", "z = T(x) * y + T(1)", NULL, &op,
                                  &t->err));
    for (int k = 0; k < rounds; k++)
        check_transpose_at_random(t, op);
    kiln_elementwise_destroy(op);
}

/* ---- `i` and `n` ---- */

static void check_index(test_env *t, kiln_elementwise *op, const layout_case *c)
{
    host_array x, z;
    int64_t size;
    char what[96];

    snprintf(what, sizeof what, "i and n over %s", c->name);
    place(t, &x, KILN_INT64, c, &c->x, c->x_ones, 0);
    place(t, &z, KILN_INT64, c, &c->z, 0, 0);
    OK(t, kiln_call(op, &t->err, x.array, z.array));
    size = host_size(&z);
    for (int64_t k = 0; k < size; k++) {
        int64_t at[HOST_AXES], rest = k, v;

        for (int axis = c->rank - 1; axis >= 0; axis--) {
            at[axis] = rest % c->shape[axis];
            rest /= c->shape[axis];
        }
        memcpy(&v, host_broadcast_at(&x, c->rank, at), sizeof v);
        v += k * 1000 + size;
        memcpy(host_at(&z, k), &v, sizeof v);
    }
    host_compare(t, &z, 0, what);
    host_free(&x);
    host_free(&z);
}

static void test_elementwise__i_counts_in_c_order_in_every_layout(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "int64 x", "int64 z", "z = x + i * 1000 + n", NULL, &op,
                                  &t->err));
    for (size_t c = 0; c < COUNT(layout_cases); c++)
        if (test_drawn(t))
            check_index(t, op, &layout_cases[c]);
    kiln_elementwise_destroy(op);
}

/* ---- new outputs keep the layout of their inputs ---- */

static void check_k_order(test_env *t, kiln_elementwise *op, const char *name, int rank,
                          const int64_t *shape, const host_layout *layout, const int *slow_to_fast)
{
    host_array x;
    kiln_array *z = NULL;
    int64_t unit = 4;

    host_make(t, &x, KILN_FLOAT32, rank, shape, layout);
    OK(t, kiln_call(op, &t->err, x.array, &z));
    host_compare_elements(t, z, &x, 0, name);
    for (int k = rank - 1; k >= 0; k--) {
        int axis = slow_to_fast[k];

        CHECK(kiln_array_strides(z)[axis] == unit, "%s: axis %d has stride %lld, not %lld", name,
              axis, (long long)kiln_array_strides(z)[axis], (long long)unit);
        unit *= shape[axis];
    }
    kiln_array_release(z);
    host_free(&x);
}

static void test_elementwise__new_outputs_keep_their_inputs_order(void **state)
{
    static const struct {
        const char *name;
        int rank;
        int64_t shape[4];
        host_layout x;
        int want[4]; /* axes of the output from slowest to fastest */
    } cases[] = {
        {"C", 3, {3, 4, 5}, {.step = {1}}, {0, 1, 2}},
        {"F", 3, {3, 4, 5}, {.order = AXES(3, 2, 1)}, {2, 1, 0}},
        {"rotated", 3, {3, 4, 5}, {.order = AXES(2, 3, 1)}, {1, 2, 0}},
        {"swapped", 4, {3, 4, 5, 6}, {.order = AXES(1, 3, 2, 4)}, {0, 2, 1, 3}},
        {"C with gaps", 2, {3, 4}, {.step = {2, 3}}, {0, 1}},
        {"F with gaps", 2, {3, 4}, {.order = AXES(2, 1), .step = {2, 3}}, {1, 0}},
        {"reversed", 2, {3, 4}, {.step = {-1, -1}}, {0, 1}},
        {"F reversed", 2, {3, 4}, {.order = AXES(2, 1), .step = {-1, 1}}, {1, 0}},
    };
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++)
        check_k_order(t, op, cases[c].name, cases[c].rank, cases[c].shape, &cases[c].x,
                      cases[c].want);
    kiln_elementwise_destroy(op);
}

/* ---- rank 0 and rank 32 ---- */

static void test_elementwise__rank_zero(void **state)
{
    test_env *t = *state;
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    kiln_elementwise *op = NULL;
    kiln_array *fresh = NULL;

    host_make(t, &x, KILN_FLOAT32, 0, NULL, NULL);
    host_make(t, &y, KILN_FLOAT32, 0, NULL, NULL);
    host_make(t, &z, KILN_FLOAT32, 0, NULL, NULL);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    host_apply(arrays, 2, 1, 0, NULL, muladd);
    host_compare(t, &z, 0, "rank 0");
    OK(t, kiln_call(op, &t->err, x.array, y.array, &fresh));
    host_compare_elements(t, fresh, &z, 0, "rank 0 allocated");
    kiln_array_release(fresh);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

/* 2 x 2 x ... x 2 on 10 axes spread over 32, reversed order on x, so that nothing collapses. */
static void test_elementwise__thirty_two_axes(void **state)
{
    test_env *t = *state;
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    kiln_elementwise *op = NULL;
    int64_t shape[KILN_RANK_MAX], c_strides[KILN_RANK_MAX], f_strides[KILN_RANK_MAX];
    int64_t unit = 4;

    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        shape[axis] = axis % 3 == 0 && axis < 30 ? 2 : 1;
    for (int axis = 0; axis < KILN_RANK_MAX; axis++) {
        f_strides[axis] = unit;
        unit *= shape[axis];
    }
    unit = 4;
    for (int axis = KILN_RANK_MAX - 1; axis >= 0; axis--) {
        c_strides[axis] = unit;
        unit *= shape[axis];
    }
    host_make_strided(t, &x, KILN_FLOAT32, KILN_RANK_MAX, shape, f_strides, 0, (size_t)unit);
    host_make_strided(t, &y, KILN_FLOAT32, KILN_RANK_MAX, shape, c_strides, 0, (size_t)unit);
    host_make_strided(t, &z, KILN_FLOAT32, KILN_RANK_MAX, shape, c_strides, 0, (size_t)unit);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    host_apply(arrays, 2, 1, KILN_RANK_MAX, shape, muladd);
    host_compare(t, &z, 0, "32 axes");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

/* ---- one kernel object, many layouts ---- */

/* A kernel remembers variants by what they depend on. A key that forgets one fact would run the
 * contiguous code over a[::2], or the aligned code over a[1:]. */
static void test_elementwise__one_kernel_serves_slices_of_one_array(void **state)
{
    static const int64_t slices[][3] = {{0, 10, 1},   {0, 20, 2},   {1, 11, 1},   {3, 13, 1},
                                        {0, 10, 1},   {29, 9, -2},  {0, 1, 1},    {0, 4000, 1},
                                        {1, 4000, 1}, {0, 4000, 2}, {4, 4000, 4}, {0, 10, 1}};
    static const int64_t shape[] = {4000};
    test_env *t = *state;
    host_array x;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
    for (size_t s = 0; s < COUNT(slices); s++) {
        kiln_array *view = NULL, *z = NULL;
        float got[4000];
        int64_t size;

        OK(t,
           kiln_array_slice(x.array, 0, slices[s][0], slices[s][1], slices[s][2], &view, &t->err));
        OK(t, kiln_call(op, &t->err, view, &z));
        size = kiln_array_size(z);
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int64_t k = 0; k < size; k++) {
            float want;

            memcpy(&want, host_at(&x, slices[s][0] + k * slices[s][2]), sizeof want);
            CHECK(got[k] == want + 1, "slice %zu, element %lld: %g", s, (long long)k,
                  (double)got[k]);
        }
        kiln_array_release(view);
        kiln_array_release(z);
    }
    kiln_elementwise_destroy(op);
    host_free(&x);
}

/* The same object over changing dtypes, ranks, extents and broadcasts, there and back. */
static void test_elementwise__one_kernel_serves_changing_dtypes_and_shapes(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_FLOAT32, KILN_INT32};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    const char *snippet = "z = x * y + T(1)";

    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", snippet, NULL, &op, &t->err));
    for (size_t c = 0; c + 1 < COUNT(layout_cases); c += 2)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            check_case(t, op, snippet, &layout_cases[(c + 5 * d) % COUNT(layout_cases)], dtypes[d],
                       muladd);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__one_byte_elements_in_every_layout),
        TEST(test_elementwise__two_byte_elements_in_every_layout),
        TEST(test_elementwise__four_byte_elements_in_every_layout),
        TEST(test_elementwise__an_address_is_that_of_a_broadcast_element),
        TEST(test_elementwise__eight_byte_elements_in_every_layout),
        TEST(test_elementwise__sixteen_byte_elements_in_every_layout),
        TEST(test_elementwise__an_output_can_be_read_in_every_layout),
        TEST(test_elementwise__an_output_not_assigned_keeps_its_value_in_every_layout),
        TEST(test_elementwise__transposes_of_matrices_that_begin_anywhere),
        TEST(test_elementwise__i_counts_in_c_order_in_every_layout),
        TEST(test_elementwise__new_outputs_keep_their_inputs_order),
        TEST(test_elementwise__rank_zero),
        TEST(test_elementwise__thirty_two_axes),
        TEST(test_elementwise__one_kernel_serves_slices_of_one_array),
        TEST(test_elementwise__one_kernel_serves_changing_dtypes_and_shapes),
    };

    return test_env_main(argc, argv, "test_elementwise_layout", tests, COUNT(tests));
}
