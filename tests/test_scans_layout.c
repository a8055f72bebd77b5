/*
 * test_scans_layout.c - one definition, every way its arrays can lie in memory, every axis, every
 * direction.
 *
 * The definition is a linear recurrence modulo 2^32: exact, associative, and sensitive to the order
 * of every two elements, so that one element combined too early, too late or twice changes all that
 * follow. A plain sum of small integers, exact as well, goes through accumulators of 4 bytes.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/scan.h"

#define AXES(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    } /* axis numbers + 1, slowest first */
#define BC HOST_BROADCAST
#define EX KILN_SCAN_EXCLUSIVE
#define RV KILN_SCAN_REVERSE

typedef struct placed {
    const char *name;
    int rank;
    int64_t shape[HOST_AXES];
    host_layout x, y; /* y: of an output given */
    int axis;
    unsigned flags;
} placed;

static void describe(char *text, size_t bytes, const placed *c, kiln_dtype dtype, unsigned flags)
{
    snprintf(text, bytes, "%s, %s, axis %d%s%s", c->name, kiln_dtype_name(dtype), c->axis,
             (flags & EX) != 0 ? ", exclusive" : "", (flags & RV) != 0 ? ", reverse" : "");
}

/* Once with an output allocated, once into one laid out as `c->y`, guard bytes around it. */
static void check(test_env *t, kiln_scan *op, const host_scanning *scanning, kiln_dtype result,
                  const placed *c, kiln_dtype dtype, unsigned flags)
{
    host_array x, want, *in[] = {&x}, *out[] = {&want};
    kiln_array *y = NULL;
    char what[160];

    describe(what, sizeof what, c, dtype, flags);
    host_make(t, &x, dtype, c->rank, c->shape, &c->x);
    host_fill_small(&x, flags + 1);
    host_send(t, &x);
    host_make(t, &want, result, c->rank, c->shape, &c->y);
    host_scan(in, 1, out, 1, c->rank, c->shape, c->axis, flags, scanning);
    OK(t, host_scan_run(op, c->axis, flags, KILN_ARGS(x.array, want.array), &t->err));
    host_compare(t, &want, 0, what);
    OK(t, host_scan_run(op, c->axis, flags, KILN_ARGS(x.array, &y), &t->err));
    if (c->axis != HOST_FLAT)
        host_compare_elements(t, y, &want, 0, what);
    else
        assert_int_equal(kiln_array_rank(y), 1);
    kiln_array_release(y);
    host_free(&want);
    host_free(&x);
}

/* ---- shapes that have a class of their own ---- */

static const placed shapes[] = {
    {"a line", 1, {4099}, .axis = 0},
    {"a line, exclusive", 1, {4099}, .axis = 0, .flags = EX},
    {"a line in reverse", 1, {4099}, .axis = 0, .flags = RV},
    {"a line, both", 1, {4099}, .axis = 0, .flags = EX | RV},
    {"a long line", 1, {70001}, .axis = 0, .flags = EX},
    {"a long line in reverse", 1, {70001}, .axis = 0, .flags = RV},
    {"every second", 1, {70001}, {.step = {2}}, {.step = {3}}, 0, 0},
    {"backwards", 1, {70001}, {.step = {-1}}, {.step = {-2}}, 0, EX},
    {"few long rows", 2, {3, 40001}, .axis = 1},
    {"rows of one", 2, {5003, 1}, .axis = 1, .flags = EX},
    {"rows of 4", 2, {20011, 4}, .axis = 1},
    {"rows of 16", 2, {9001, 16}, .axis = 1, .flags = RV},
    {"rows of 100", 2, {701, 100}, .axis = 1, .flags = EX},
    {"odd rows", 2, {301, 257}, .axis = 1},
    {"misaligned rows", 2, {101, 63}, {.step = {2, 1}, .offset = 1}, {.offset = 3}, 1, EX | RV},
    {"rows in reverse", 2, {31, 1000}, .axis = 1, .flags = RV},
    {"all in reverse", 1, {30004}, .axis = 0, .flags = EX | RV},
    {"columns", 2, {301, 256}, .axis = 0},
    {"columns in reverse", 2, {301, 256}, .axis = 0, .flags = RV},
    {"odd columns", 2, {301, 257}, {.offset = 1}, {.offset = 0}, 0, EX},
    {"few columns", 2, {20011, 4}, .axis = 0},
    {"few columns in reverse", 2, {20011, 3}, .axis = 0, .flags = EX | RV},
    {"3 columns, results apart", 2, {20011, 3}, {.offset = 0}, {.step = {1, 2}}, 0, EX},
    {"3 misaligned columns", 2, {20011, 3}, {.offset = 1}, {.offset = 3}, 0, 0},
    {"20 long columns", 2, {9001, 20}, .axis = 0},
    {"40 long columns", 2, {9001, 40}, .axis = 0},
    {"many columns", 2, {3, 20011}, .axis = 0, .flags = EX},
    {"middle", 3, {5, 301, 67}, .axis = 1, .flags = RV},
    {"first of three", 3, {301, 5, 67}, .axis = 0},
    {"transposed, rows", 2, {301, 257}, {.order = AXES(2, 1)}, {.order = AXES(2, 1)}, 1, 0},
    {"transposed, columns", 2, {301, 257}, {.order = AXES(2, 1)}, {.order = AXES(2, 1)}, 0, EX},
    {"transposed input alone", 2, {70, 90}, {.order = AXES(2, 1)}, {.offset = 0}, 1, 0},
    {"transposed output alone", 2, {70, 90}, {.offset = 0}, {.order = AXES(2, 1)}, 0, RV},
    {"rows reversed", 2, {101, 256}, {.step = {-1, 1}}, {.step = {1, -1}}, 1, 0},
    {"columns reversed", 2, {101, 256}, {.step = {1, -1}}, {.step = {-1, 1}}, 0, EX},
    {"gaps", 3, {11, 23, 37}, {.step = {1, 2, 3}}, {.step = {2, 1, 2}, .offset = 5}, 1, 0},
    {"broadcast along", 2, {101, 256}, {.step = {1, BC}}, {.offset = 0}, 1, 0},
    {"broadcast across", 2, {101, 256}, {.step = {BC, 1}}, {.offset = 0}, 1, EX},
    {"broadcast down", 2, {101, 256}, {.step = {BC, 1}}, {.offset = 0}, 0, RV},
    {"one element everywhere", 2, {101, 256}, {.step = {BC, BC}}, {.offset = 0}, 0, 0},
    {"5-D permuted",
     5,
     {3, 4, 2, 5, 6},
     {.order = AXES(3, 5, 1, 4, 2)},
     {.order = AXES(2, 4, 1, 5, 3), .step = {1, -2, 1, 3, -1}},
     3,
     EX},
    {"axes of one", 5, {1, 700, 1, 3, 1}, .axis = 1},
    {"an axis of one", 3, {7, 1, 9}, .axis = 1, .flags = EX},
    {"flat", 2, {61, 67}, .axis = HOST_FLAT},
    {"flat, long, exclusive", 3, {5, 100, 90}, .axis = HOST_FLAT, .flags = EX},
    {"flat of permuted", 3, {31, 40, 30}, {.order = AXES(3, 1, 2)}, {.offset = 0}, HOST_FLAT, 0},
    {"flat into permuted", 3, {31, 40, 30}, {.offset = 1}, {.order = AXES(2, 3, 1)}, HOST_FLAT, RV},
    {"flat of every second", 2, {61, 67}, {.step = {1, -2}}, {.offset = 0}, HOST_FLAT, EX | RV},
};

static void every_shape(test_env *t, kiln_dtype dtype, kiln_scan *op, const host_scanning *scanning,
                        kiln_dtype result, size_t step)
{
    for (size_t c = 0; c < COUNT(shapes); c += step)
        if (test_drawn(t))
            check(t, op, scanning, result, &shapes[c], dtype, shapes[c].flags);
    kiln_scan_destroy(op);
}

static void test_scans__the_order_is_kept_in_every_shape(void **state)
{
    test_env *t = *state;

    every_shape(t, KILN_INT32, host_ordered_create(t), &host_ordered, KILN_INT64, 1);
}

static void test_scans__small_accumulators_in_many_shapes(void **state)
{
    test_env *t = *state;
    kiln_scan *op = NULL;

    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    every_shape(t, KILN_INT32, op, &host_running_sum, KILN_INT32, t->cuda ? 1 : 4);
}

/* ---- every direction along every axis ---- */

static void test_scans__every_direction_along_every_axis(void **state)
{
    test_env *t = *state;
    kiln_scan *op = host_ordered_create(t);
    placed c = {"(7, 300, 9)", 3, {7, 300, 9}, .axis = 0};

    for (c.axis = HOST_FLAT; c.axis < 3; c.axis++)
        for (unsigned flags = 0; flags < 4; flags++)
            if (test_drawn(t))
                check(t, op, &host_ordered, KILN_INT64, &c, KILN_INT8, flags);
    kiln_scan_destroy(op);
}

/* ---- lengths around the edges of runs, tiles and chunks ---- */

static void test_scans__lengths_around_every_edge(void **state)
{
    static const int64_t edges[] = {1,   2,    4,    8,    32,   64,    128,   256,
                                    512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    test_env *t = *state;
    kiln_scan *op = host_ordered_create(t);

    for (size_t k = 0; k < COUNT(edges); k++)
        for (int64_t n = edges[k] - 1; n <= edges[k] + 1; n++) {
            placed line = {"a line", 1, {n}, .axis = 0};
            placed columns = {"5 columns", 2, {n, 5}, .axis = 0};

            check(t, op, &host_ordered, KILN_INT64, &line, KILN_INT32, 0);
            if (n <= 40000)
                check(t, op, &host_ordered, KILN_INT64, &columns, KILN_INT32, 0);
        }
    kiln_scan_destroy(op);
}

/* Lengths that are no multiple of a vector, in rows that begin anywhere. */
static void test_scans__rows_of_every_length(void **state)
{
    test_env *t = *state;
    kiln_scan *op = NULL;

    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    for (int64_t n = 1; n <= 70; n++) {
        const placed rows = {"rows", 2, {67, n}, .axis = 1};
        const placed columns = {"columns", 2, {67, n}, .axis = 0};

        check(t, op, &host_running_sum, KILN_INT32, &rows, KILN_INT32, 0);
        check(t, op, &host_running_sum, KILN_INT32, &columns, KILN_INT32, 0);
    }
    kiln_scan_destroy(op);
}

/* ---- sequences in reverse over arrays that run backwards ---- Where both turns cancel out, memory
 * is walked upwards in wide accesses, from an address that no array names. */

static void check_turned(test_env *t, kiln_scan *op, const placed *c, unsigned flags)
{
    check(t, op, &host_running_sum, KILN_INT32, c, KILN_INT32, flags);
}

static void test_scans__turns_that_cancel_out_along_a_line(void **state)
{
    static const int64_t lengths[] = {2,  3,  4,  8,   31,  32,  33,   34,   35,   64,    65,
                                      97, 99, 100, 257, 511, 1025, 1026, 4099, 9000, 70001, 70002};
    test_env *t = *state;
    kiln_scan *op = NULL;

    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(lengths); k++)
        for (int x = 0; x < 4; x++)
            for (int y = 0; y < 4; y++) {
                placed line = {"a line backwards", 1, {lengths[k]}, .axis = 0};

                line.x = (host_layout){.step = {-1}, .offset = x};
                line.y = (host_layout){.step = {-1}, .offset = y};
                if (lengths[k] <= 1026 || x == y)
                    check_turned(t, op, &line, x % 2 == 0 ? RV : RV | EX);
            }
    kiln_scan_destroy(op);
}

static void test_scans__turns_that_cancel_out_in_matrices(void **state)
{
    static const int64_t shape[][2] = {{67, 4},    {67, 33},   {67, 64},   {5, 1028}, {3, 40004},
                                       {20011, 3}, {20010, 4}, {9001, 40}, {301, 256}};
    test_env *t = *state;
    kiln_scan *op = NULL;

    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(shape); k++)
        for (int turns = 1; turns < 4; turns++) /* of the rows, the columns, both */
            for (int axis = HOST_FLAT; axis < 2; axis++)
                for (int offset = 0; offset < (shape[k][1] < 8 ? 4 : 2); offset++) {
                    placed c = {"a matrix backwards", 2, {shape[k][0], shape[k][1]}, .axis = axis};

                    if (!test_drawn(t))
                        continue;
                    c.x.step[0] = c.y.step[0] = (turns & 1) != 0 ? -1 : 1;
                    c.x.step[1] = c.y.step[1] = (turns & 2) != 0 ? -1 : 1;
                    if (axis == HOST_FLAT)
                        c.y = (host_layout){.step = {-1}};
                    c.x.offset = offset;
                    check_turned(t, op, &c, offset == 0 ? RV : RV | EX);
                }
    kiln_scan_destroy(op);
}

/* ---- nothing, and a single element ---- */

static void test_scans__empty_arrays_and_scalars(void **state)
{
    static const int64_t empty[][2] = {{0, 5}, {5, 0}, {0, 0}};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    int32_t got = 0;

    for (size_t k = 0; k < COUNT(empty); k++)
        for (int axis = HOST_FLAT; axis < 2; axis++) {
            const kiln_axes axes = {1, {axis}};

            OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, empty[k], &x, &t->err));
            OK(t, kiln_array_scan(KILN_SCAN_CUMMAX, x, axis < 0 ? KILN_ALL_AXES : &axes, EX, &y,
                                  &t->err));
            assert_int_equal(kiln_array_size(y), 0);
            assert_int_equal(kiln_array_rank(y), axis < 0 ? 1 : 2);
            kiln_array_release(x);
            kiln_array_release(y);
            y = NULL;
        }
    OK(t, kiln_array_full(t->ctx, KILN_INT32, 0, NULL, 7.0, &x, &t->err));
    OK(t, kiln_array_scan(KILN_SCAN_CUMMIN, x, KILN_ALL_AXES, 0, &y, &t->err));
    assert_int_equal(kiln_array_rank(y), 1);
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_int_equal(got, 7);
    kiln_array_release(x);
    kiln_array_release(y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scans__the_order_is_kept_in_every_shape),
        TEST(test_scans__small_accumulators_in_many_shapes),
        TEST(test_scans__every_direction_along_every_axis),
        TEST(test_scans__lengths_around_every_edge),
        TEST(test_scans__rows_of_every_length),
        TEST(test_scans__turns_that_cancel_out_along_a_line),
        TEST(test_scans__turns_that_cancel_out_in_matrices),
        TEST(test_scans__empty_arrays_and_scalars),
    };
    test_env_compile_ahead();
    return test_env_main(argc, argv, "test_scans_layout", tests, COUNT(tests));
}
