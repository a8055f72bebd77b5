/*
 * test_elementwise_window.c - inputs that are views of one array: stencils over large matrices.
 *
 * On a GPU such inputs are read through windows (src/codegen/window.c). Each case has tiles inside,
 * tiles at all four edges and ragged ones; all storage of the output is compared, gaps included.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/host.h"

enum { VIEWS_MAX = 27, BASES_MAX = 3 };

/* Traits of a case. */
enum {
    REVERSED = 1, /* rows from the last to the first */
    EDGES = 2,    /* a row and a column as the last two inputs */
    IN_PLACE = 4, /* the last view's base is the output's array too */
    NO_WINDOW = 8 /* nothing to gain */
};

/* A view begins this many planes, rows and elements behind its base's first. */
typedef struct place {
    int base, plane, row, column;
} place;

typedef struct stencil {
    const char *name, *in, *op;
    host_function want;
    kiln_dtype dtype;
    int rank;
    int64_t shape[3];
    int bases; /* arrays that the views are of */
    int views; /* inputs that are views */
    place view[VIEWS_MAX];
    unsigned traits;
} stencil;

#define FIVE_OP "z = u + d + l + r - T(4) * c"
#define WIDE_OP "z = a + T(2) * b + T(3) * e + T(4) * f"
#define FIVE_IN "T u, T d, T l, T r, T c"
#define FIVE_VIEWS {{0, 0, 0, 1}, {0, 0, 2, 1}, {0, 0, 1, 0}, {0, 0, 1, 2}, {0, 0, 1, 1}}

static void five(const host_value *in, host_value *out)
{
    out->re = in[0].re + in[1].re + in[2].re + in[3].re - 4 * in[4].re;
    out->im = in[0].im + in[1].im + in[2].im + in[3].im - 4 * in[4].im;
}

static void seven(const host_value *in, host_value *out)
{
    *out = host_real(-6 * in[6].re);
    for (int k = 0; k < 6; k++)
        out->re += in[k].re;
}

/* All neighbours in three directions, of different weights: 1, 2, 3, 1, ... */
static void box(const host_value *in, host_value *out)
{
    *out = host_real(0);
    for (int k = 0; k < 27; k++)
        out->re += (k % 3 + 1) * in[k].re;
}

#define BOX_IN                                                                                     \
    "T a0, T a1, T a2, T a3, T a4, T a5, T a6, T a7, T a8, T b0, T b1, T b2, T b3, T b4, T b5, "   \
    "T b6, T b7, T b8, T c0, T c1, T c2, T c3, T c4, T c5, T c6, T c7, T c8"
#define BOX_PLANE(p)                                                                               \
    p "0 + " p "3 + " p "6 + T(2) * (" p "1 + " p "4 + " p "7) + T(3) * (" p "2 + " p "5 + " p "8)"
#define BOX_OP "z = " BOX_PLANE("a") " + " BOX_PLANE("b") " + " BOX_PLANE("c")
#define BOX_ROW(p, r) {0, p, r, 0}, {0, p, r, 1}, {0, p, r, 2}
#define BOX_VIEWS                                                                                  \
    {BOX_ROW(0, 0), BOX_ROW(0, 1), BOX_ROW(0, 2), BOX_ROW(1, 0), BOX_ROW(1, 1),                    \
     BOX_ROW(1, 2), BOX_ROW(2, 0), BOX_ROW(2, 1), BOX_ROW(2, 2)}
#define SEVEN_IN "T a, T b, T e, T f, T g, T h, T c"
#define SEVEN_OP "z = a + b + e + f + g + h - T(6) * c"
#define SEVEN_VIEWS                                                                                \
    {{0, 0, 1, 1}, {0, 2, 1, 1}, {0, 1, 0, 1}, {0, 1, 2, 1}, {0, 1, 1, 0}, {0, 1, 1, 2}, {0, 1, 1, 1}}

/* Views that are far apart in every direction that fits. */
static void wide(const host_value *in, host_value *out)
{
    *out = host_real(in[0].re + 2 * in[1].re + 3 * in[2].re + 4 * in[3].re);
}

static void two_arrays(const host_value *in, host_value *out)
{
    *out = host_real((in[0].re - in[1].re) * (in[3].re - in[4].re) + in[2].re * in[5].re);
}

/* The inputs after five are a row and a column; elements come in C-order. */
static int64_t walked;

static void with_edges(const host_value *in, host_value *out)
{
    const int64_t i = walked++;
    five(in, out);
    if (in[4].re < 2)
        *out = host_real(in[4].re + (long double)(i % 3));
    else
        out->re += in[5].re * in[6].re;
}

static void and_itself(const host_value *in, host_value *out)
{
    five(in, out);
    out->re += 2 * in[5].re;
}

static void parity(const host_value *in, host_value *out)
{
    *out = host_real((in[0].re != in[1].re) != (in[2].re != 0));
}

/* What neither edge nor tile divides: 8 rows and 128 columns. */
static const stencil stencils[] = {
    {"float32", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, 0},
    {"float16", FIVE_IN, FIVE_OP, five, KILN_FLOAT16, 2, {2050, 2048}, 1, 5, FIVE_VIEWS, 0},
    {"int8", FIVE_IN, FIVE_OP, five, KILN_INT8, 2, {2047, 2054}, 1, 5, FIVE_VIEWS, 0},
    {"int8, reversed", FIVE_IN, FIVE_OP, five, KILN_INT8, 2, {2047, 2055}, 1, 5, FIVE_VIEWS,
     REVERSED},
    {"float16, odd", FIVE_IN, FIVE_OP, five, KILN_FLOAT16, 2, {2050, 2051}, 1, 5, FIVE_VIEWS, 0},
    {"complex64", FIVE_IN, FIVE_OP, five, KILN_COMPLEX64, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, 0},
    {"bool", "T a, T b, T c", "z = (a != b) != c", parity, KILN_BOOL, 2, {2049, 2061}, 1, 3,
     {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 2, 0}}, 0},
    {"three axes", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT64, 3, {9, 301, 701}, 1, 7, SEVEN_VIEWS, 0},
    {"three axes, float32, reversed", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT32, 3, {19, 99, 701}, 1, 7,
     SEVEN_VIEWS, REVERSED},
    {"three axes, float16", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT16, 3, {19, 99, 700}, 1, 7,
     SEVEN_VIEWS, 0},
    {"three axes, box", BOX_IN, BOX_OP, box, KILN_FLOAT32, 3, {19, 99, 701}, 1, 27, BOX_VIEWS, 0},
    {"marching", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT32, 3, {19, 99, 702}, 1, 7, SEVEN_VIEWS, 0},
    {"marching, bytes", SEVEN_IN, SEVEN_OP, seven, KILN_INT8, 3, {17, 99, 703}, 1, 7, SEVEN_VIEWS,
     REVERSED},
    {"marching, float16, odd", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT16, 3, {17, 99, 701}, 1, 7,
     SEVEN_VIEWS, 0},
    {"marching, float64, reversed", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT64, 3, {17, 97, 702}, 1, 7,
     SEVEN_VIEWS, REVERSED},
    {"marching, row, column, return", FIVE_IN ", T row, T column",
     "if (c < T(2)) { z = c + T(i % 3); return; } " FIVE_OP " + row * column", with_edges,
     KILN_FLOAT32, 3, {17, 99, 702}, 1, 5, {{0, 0, 0, 1}, {0, 0, 2, 1}, {0, 1, 1, 0}, {0, 2, 1, 2}, {0, 1, 1, 1}},
     EDGES},
    {"marching, two arrays and one view", "T a, T b, T c, T d, T e, T f", "z = (a - b) * (d - e) + c * f", two_arrays,
     KILN_INT32, 3, {16, 99, 701}, 3, 6,
     {{0, 2, 2, 1}, {0, 1, 0, 1}, {0, 0, 1, 1}, {1, 1, 1, 2}, {1, 0, 1, 0}, {2, 0, 0, 0}}, 0},
    {"few planes", SEVEN_IN, SEVEN_OP, seven, KILN_FLOAT32, 3, {5, 301, 701}, 1, 7, SEVEN_VIEWS, 0},
    {"planes too far apart", "T a, T b, T e, T f", WIDE_OP, wide, KILN_INT32, 3, {19, 99, 701}, 1, 4,
     {{0, 0, 0, 0}, {0, 4, 1, 1}, {0, 5, 0, 2}, {0, 2, 2, 0}}, 0},
    {"far apart", "T a, T b, T e, T f", WIDE_OP, wide, KILN_INT32, 2,
     {4100, 1025}, 1, 4, {{0, 0, 8, 31}, {0, 0, 0, 0}, {0, 0, 3, 30}, {0, 0, 8, 0}}, 0},
    {"too far apart", "T a, T b, T e, T f", WIDE_OP, wide, KILN_INT32, 2,
     {4100, 1025}, 1, 4, {{0, 0, 0, 0}, {0, 0, 9, 0}, {0, 0, 18, 0}, {0, 0, 0, 32}},
     NO_WINDOW},
    {"two arrays", "T a, T b, T c, T d, T e, T f", "z = (a - b) * (d - e) + c * f", two_arrays,
     KILN_FLOAT32, 2, {2049, 2061}, 2, 6,
     {{0, 0, 2, 1}, {0, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 1, 2}, {1, 0, 1, 0}, {1, 0, 1, 1}}, 0},
    {"row, column, return", FIVE_IN ", T row, T column",
     "if (c < T(2)) { z = c + T(i % 3); return; } " FIVE_OP " + row * column", with_edges,
     KILN_FLOAT32, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, EDGES},
    {"in place", FIVE_IN ", T x", FIVE_OP " + T(2) * x", and_itself, KILN_FLOAT32, 2, {2049, 2061},
     2, 6,
     {{0, 0, 0, 1}, {0, 0, 2, 1}, {0, 0, 1, 0}, {0, 0, 1, 2}, {0, 0, 1, 1}, {1, 0, 0, 0}},
     IN_PLACE},
    /* Windows need a matrix: little work, few columns and a long row go as any other views do. */
    {"small", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {67, 533}, 1, 5, FIVE_VIEWS, NO_WINDOW},
    {"narrow", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {20011, 211}, 1, 5, FIVE_VIEWS, NO_WINDOW},
    {"low", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {29, 150001}, 1, 5, FIVE_VIEWS, NO_WINDOW},
};

/* ---- running one ---- */

typedef struct world {
    host_array base[BASES_MAX], row, column, z, view[VIEWS_MAX];
    host_array *operands[VIEWS_MAX + 3]; /* inputs, then the output */
    kiln_arg args[VIEWS_MAX + 3];
    size_t inputs;
} world;

/* Less on the CPU, which has no windows. */
static stencil sized(const test_env *t, const stencil *s)
{
    stencil out = *s;
    if (!t->cuda)
        out.shape[s->rank - 2] = out.shape[s->rank - 2] / 16 + 3;
    return out;
}

static void world_begin(test_env *t, const stencil *s, world *w)
{
    const int last = s->rank - 1;
    int64_t around[3] = {s->shape[0], s->shape[1], s->shape[2]}, strides[3], line[3] = {1, 1, 1};

    memset(w, 0, sizeof *w);
    for (int v = 0; v < s->views; v++) { /* room for every view */
        const int64_t ends[3] = {s->view[v].plane, s->view[v].row, s->view[v].column};
        for (int a = 0; a < s->rank; a++)
            if (s->shape[a] + ends[a + 3 - s->rank] > around[a])
                around[a] = s->shape[a] + ends[a + 3 - s->rank];
    }
    for (int b = 0; b < s->bases; b++) {
        host_make(t, &w->base[b], s->dtype, s->rank, around, NULL);
        host_fill_small(&w->base[b], (unsigned)b + 3);
        host_send(t, &w->base[b]);
    }
    for (int v = 0; v < s->views; v++) {
        const place *p = &s->view[v];
        const host_array *base = &w->base[p->base];
        int64_t start =
            base->start + p->row * base->stride[last - 1] + p->column * base->stride[last];
        memcpy(strides, base->stride, sizeof strides);
        if (s->rank == 3)
            start += p->plane * base->stride[0];
        if (s->traits & REVERSED) {
            start += (s->shape[last - 1] - 1) * strides[last - 1];
            strides[last - 1] = -strides[last - 1];
        }
        host_view(t, &w->view[v], base, s->rank, s->shape, strides, start);
        w->operands[w->inputs++] = &w->view[v];
    }
    if (s->traits & EDGES) {
        line[last] = s->shape[last];
        host_make(t, &w->row, s->dtype, s->rank, line, NULL);
        line[last] = 1;
        line[last - 1] = s->shape[last - 1];
        host_make(t, &w->column, s->dtype, s->rank, line, NULL);
        w->operands[w->inputs++] = &w->row;
        w->operands[w->inputs++] = &w->column;
    }
    if (s->traits & IN_PLACE)
        host_view(t, &w->z, &w->base[s->bases - 1], s->rank, s->shape, w->base[s->bases - 1].stride,
                  w->base[s->bases - 1].start);
    else
        host_make(t, &w->z, s->dtype, s->rank, s->shape, NULL);
    w->operands[w->inputs] = &w->z;
    for (size_t k = 0; k <= w->inputs; k++)
        w->args[k] = kiln_arg_array(w->operands[k]->array);
}

static void world_end(const stencil *s, world *w)
{
    host_free(&w->z);
    host_free(&w->row);
    host_free(&w->column);
    for (int v = 0; v < s->views; v++)
        host_free(&w->view[v]);
    for (int b = 0; b < s->bases; b++)
        host_free(&w->base[b]);
}

static void expect_layout(test_env *t, kiln_elementwise *op, const world *w, bool window,
                          const char *what)
{
    char *text = NULL;

    OK(t, kiln_elementwise_source(op, w->args, w->inputs + 1, NULL, &text, &t->err));
    CHECK((strstr(text, "layout window") != NULL) == (t->cuda && window), "%s: %.200s", what, text);
    kiln_free(text);
}

static void run(test_env *t, kiln_elementwise *op, const stencil *s, world *w, const char *what)
{
    OK(t, kiln_elementwise_run(op, w->args, w->inputs + 1, NULL, &t->err));
    walked = 0;
    host_apply(w->operands, w->inputs, 1, s->rank, s->shape, s->want);
    host_compare(t, &w->z, 0, what);
}

static void test_elementwise__views_of_one_array(void **state)
{
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(stencils); k++) {
        const stencil s = sized(t, &stencils[k]);
        kiln_elementwise *op = NULL;
        world w;

        if (!test_drawn(t))
            continue;
        world_begin(t, &s, &w);
        OK(t, kiln_elementwise_create(t->ctx, s.in, "T z", s.op, NULL, &op, &t->err));
        expect_layout(t, op, &w, !(s.traits & NO_WINDOW), s.name);
        run(t, op, &s, &w, s.name);
        kiln_elementwise_destroy(op);
        world_end(&s, &w);
    }
}

/* Arrays of the same layouts that are no views of one array, or other views, are other calls. */
static void test_elementwise__kinship_is_part_of_a_call(void **state)
{
    static const stencil others[] = {
        {"turned", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 1, 5,
         {{0, 0, 2, 1}, {0, 0, 0, 1}, {0, 0, 1, 2}, {0, 0, 1, 0}, {0, 0, 1, 1}}, 0},
        {"related", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, 0},
        {"two arrays", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 2, 5,
         {{0, 0, 0, 1}, {1, 0, 2, 1}, {0, 0, 1, 0}, {1, 0, 1, 2}, {0, 0, 1, 1}}, 0},
        {"one twice", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 1, 5,
         {{0, 0, 0, 1}, {0, 0, 2, 1}, {0, 0, 1, 0}, {0, 0, 1, 0}, {0, 0, 1, 1}}, 0},
        {"related again", FIVE_IN, FIVE_OP, five, KILN_FLOAT32, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, 0},
    };
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, FIVE_IN, "T z", FIVE_OP, NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(others); k++) {
        const stencil s = sized(t, &others[k]);
        world w;
        world_begin(t, &s, &w);
        run(t, op, &s, &w, s.name);
        world_end(&s, &w);
    }
    kiln_elementwise_destroy(op);
}

/* Tiles at edges compute no elements that are not there: a snippet may count them. */
static void test_elementwise__each_element_is_visited_once(void **state)
{
    test_env *t = *state;
    const stencil s = sized(t, &stencils[0]);
    const int64_t one = 1;
    kiln_elementwise *op = NULL;
    int32_t count = 0;
    host_array hits;
    char *text = NULL;
    world w;

    world_begin(t, &s, &w);
    host_make(t, &hits, KILN_INT32, 1, &one, NULL);
    OK(t, kiln_array_fill(hits.array, 0, &t->err));
    w.args[w.inputs + 1] = kiln_arg_array(hits.array);
    OK(t, kiln_elementwise_create(t->ctx, s.in, "T z, raw int32 hits",
                                  FIVE_OP "; atomicAdd(&hits[0], 1)", NULL, &op, &t->err));
    OK(t, kiln_elementwise_source(op, w.args, w.inputs + 2, NULL, &text, &t->err));
    assert_int_equal(strstr(text, "layout window") != NULL, t->cuda);
    kiln_free(text);
    OK(t, kiln_elementwise_run(op, w.args, w.inputs + 2, NULL, &t->err));
    OK(t, kiln_array_to_host(hits.array, &count, sizeof count, NULL, &t->err));
    assert_int_equal(count, s.shape[0] * s.shape[1]);
    host_free(&hits);
    kiln_elementwise_destroy(op);
    world_end(&s, &w);
}

/* Behind a vector that is the same in all rows no next row lies: what tiles load beyond its end is
 * nobody's memory. Only compute-sanitizer sees such loads, so this is about the text. */
static void test_elementwise__vectors_are_read_within_their_columns(void **state)
{
    test_env *t = *state;
    stencil s = {"row", FIVE_IN ", T row, T column", FIVE_OP " + row * column", with_edges,
                 KILN_FLOAT32, 2, {2049, 2061}, 1, 5, FIVE_VIEWS, EDGES};
    kiln_elementwise *op = NULL;
    char *text = NULL;
    world w;

    s = sized(t, &s);
    world_begin(t, &s, &w);
    OK(t, kiln_elementwise_create(t->ctx, s.in, "T z", s.op, NULL, &op, &t->err));
    OK(t, kiln_elementwise_source(op, w.args, w.inputs + 1, NULL, &text, &t->err));
    assert_int_equal(strstr(text, "<= kiln__columns || kiln__a.stride_row_0 >= ") != NULL, t->cuda);
    assert_null(strstr(text, "<= kiln__columns || kiln__a.stride_u_0 >= "));
    kiln_free(text);
    kiln_elementwise_destroy(op);
    world_end(&s, &w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__views_of_one_array),
        TEST(test_elementwise__kinship_is_part_of_a_call),
        TEST(test_elementwise__each_element_is_visited_once),
        TEST(test_elementwise__vectors_are_read_within_their_columns),
    };
    return test_env_main(argc, argv, "test_elementwise_window", tests, COUNT(tests));
}
