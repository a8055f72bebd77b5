/*
 * test_reduction_tile.c - reductions of inputs that are broadcast along kept axes, against plain
 * loops: random shapes, orders of axes, steps and dtypes.
 *
 * On a GPU most of them are planned as tiles of results (src/codegen/reduce_tile.c); that they are
 * is the business of test_reduce_plan.c. Inputs are small integers, so that every order of addition
 * gives the same sum, and results are compared exactly.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/reduce.h"

enum { INPUTS_MAX = 4, AXES_MAX = 6 };

/* Along which of the axes down, across, reduced, both kept and second reduced an input moves. */
enum { DOWN = 1, ACROSS = 2, ALONG = 4, BOTH = 8, AGAIN = 16, ROLES = 5 };
enum { REDUCED = ALONG | AGAIN, LEFT = DOWN | BOTH | REDUCED, RIGHT = ACROSS | BOTH | REDUCED };

typedef struct definition {
    const char *name;
    const char *in, *out, *map, *reduce, *post, *identity, *type, *preamble;
    host_reduction reduction;
    kiln_dtype dtype; /* of the result; NONE: that of the inputs */
    bool complex;     /* inputs are */
    size_t in_count;
    unsigned moves[INPUTS_MAX];
} definition;

/* ---- what they compute ---- */

static void add_product(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[1].re - in[0].im * in[1].im;
    s->v.im += in[0].re * in[1].im + in[0].im * in[1].re;
}

static void add_square(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += (in[0].re - in[1].re) * (in[0].re - in[1].re);
}

static void least_sum(host_state *s, const host_value *in, int64_t position)
{
    const long double sum = in[0].re + in[1].re;

    if (s->count++ == 0 || sum < s->v.re) {
        s->v.re = sum;
        s->index = position;
    }
}

static void add_weighed(host_state *s, const host_value *in, int64_t position)
{
    s->v.re += in[0].re * in[1].re * in[2].re * (long double)(position % 5 + 1);
    s->w.re = in[3].re;
}

static void add_both(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[1].re;
    s->w.re += in[0].re;
}

static void tell(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
}

static void tell_place(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = host_real((long double)s->index);
}

static void tell_both(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = host_real(s->v.re + s->w.re);
}

static const definition definitions[] = {
    {.name = "products in float64",
     .in = "T x, T y", .out = "float64 z", .map = "(double)x * (double)y", .reduce = "a + b",
     .post = "z = a", .identity = "0", .reduction = {add_product, tell}, .dtype = KILN_FLOAT64,
     .in_count = 2, .moves = {LEFT, RIGHT}},
    {.name = "squared distances",
     .in = "T x, T y", .out = "float32 z", .map = "((float)x - (float)y) * ((float)x - (float)y)",
     .reduce = "a + b", .post = "z = a", .identity = "0", .reduction = {add_square, tell},
     .dtype = KILN_FLOAT32, .in_count = 2, .moves = {LEFT, RIGHT}},
    {.name = "least sums, no identity",
     .in = "T x, T y", .out = "float32 z", .map = "(float)x + (float)y",
     .reduce = "a < b ? a : b", .post = "z = a", .reduction = {least_sum, tell},
     .dtype = KILN_FLOAT32, .in_count = 2, .moves = {LEFT, RIGHT}},
    {.name = "where the least sums are",
     .in = "T x, T y", .out = "int64 z", .map = "kiln_position_of<float>((float)x + (float)y, _J)",
     .reduce = "kiln_position_least(a, b)", .post = "z = a.index",
     .identity = "kiln_position_of<float>(INFINITY, kiln_position_none)",
     .type = "kiln_position<float>", .reduction = {least_sum, tell_place}, .dtype = KILN_INT64,
     .in_count = 2, .moves = {LEFT, RIGHT}},
    {.name = "weighed by place, with one input for each result",
     .in = "T x, T y, T w, float32 c", .out = "float64 z",
     .map = "(double)x * (double)y * (double)w * (double)(_J % 5 + 1)", .reduce = "a + b",
     .post = "z = a + c", .identity = "0", .reduction = {add_weighed, tell_both},
     .dtype = KILN_FLOAT64, .in_count = 4,
     .moves = {LEFT, RIGHT, REDUCED, DOWN | ACROSS | BOTH}},
    {.name = "two sums in a struct",
     .in = "T x, T y", .out = "float64 z", .map = "sums{(double)x * (double)y, (double)x}",
     .reduce = "sums{a.p + b.p, a.q + b.q}", .post = "z = a.p + a.q", .identity = "sums{0, 0}",
     .type = "sums", .preamble = "struct sums { double p, q; };",
     .reduction = {add_both, tell_both}, .dtype = KILN_FLOAT64, .in_count = 2,
     .moves = {LEFT, RIGHT}},
    {.name = "complex products",
     .in = "T x, T y", .out = "T z", .map = "x * y", .reduce = "a + b", .post = "z = a",
     .identity = "0", .reduction = {add_product, tell}, .complex = true, .in_count = 2,
     .moves = {LEFT, RIGHT}},
    {.name = "an input that the reduced elements share",
     .in = "T x, T y", .out = "float64 z", .map = "(double)x * (double)y", .reduce = "a + b",
     .post = "z = a", .identity = "0", .reduction = {add_product, tell}, .dtype = KILN_FLOAT64,
     .in_count = 2, .moves = {DOWN | AGAIN, RIGHT}},
};

/* ---- cases ---- */

#define PICK(t, list) ((list)[test_random_below(t, COUNT(list))])

/* The axes of a case in the caller's order: what each is, and its extent. */
typedef struct geometry {
    int rank;
    unsigned role[AXES_MAX];
    int64_t extent[AXES_MAX];
} geometry;

static void draw_geometry(test_env *t, geometry *g)
{
    static const int64_t kept[] = {8, 9, 16, 31, 32, 64, 65, 100, 128, 129, 200};
    static const int64_t reduced[] = {2, 3, 8, 16, 17, 33, 64, 70}, few[] = {1, 2, 3};
    const unsigned optional[] = {BOTH, AGAIN};

    *g = (geometry){.rank = 3, .role = {DOWN, ACROSS, ALONG}};
    g->extent[0] = PICK(t, kept);
    g->extent[1] = PICK(t, kept);
    g->extent[2] = test_random_below(t, 8) == 0 && g->extent[0] * g->extent[1] < 1000
                       ? 1500
                       : PICK(t, reduced);
    for (size_t k = 0; k < COUNT(optional); k++) {
        if (test_random_below(t, 3) != 0)
            continue;
        g->role[g->rank] = optional[k];
        g->extent[g->rank++] = PICK(t, few);
    }
    for (int k = g->rank - 1; k > 0; k--) {
        const int other = (int)test_random_below(t, (uint64_t)k + 1);
        const unsigned role = g->role[k];
        const int64_t extent = g->extent[k];
        g->role[k] = g->role[other];
        g->extent[k] = g->extent[other];
        g->role[other] = role;
        g->extent[other] = extent;
    }
}

static void draw_layout(test_env *t, int rank, host_layout *layout)
{
    static const int8_t steps[] = {1, 1, 1, 1, 2, -1};

    *layout = (host_layout){.offset = (int32_t)(test_random_below(t, 2) * test_random_below(t, 5))};
    for (int k = 0; k < rank; k++) {
        const int other = (int)test_random_below(t, (uint64_t)k + 1);
        layout->order[k] = layout->order[other];
        layout->order[other] = (int8_t)(k + 1);
    }
    for (int k = 0; k < rank && test_random_below(t, 3) == 0; k++)
        layout->step[k] = PICK(t, steps);
}

static void draw_operand(test_env *t, host_array *a, kiln_dtype dtype, const geometry *g,
                         unsigned moves, unsigned salt)
{
    int64_t shape[AXES_MAX];
    host_layout layout;

    for (int k = 0; k < g->rank; k++)
        shape[k] = moves & g->role[k] ? g->extent[k] : 1;
    draw_layout(t, g->rank, &layout);
    host_make(t, a, dtype, g->rank, shape, &layout);
    host_fill_small(a, salt);
    host_send(t, a);
}

static void check_case(test_env *t, const definition *d, kiln_reduction *op, kiln_dtype dtype,
                       const geometry *g)
{
    host_array input[INPUTS_MAX], want, *in[INPUTS_MAX], *out[] = {&want};
    kiln_arg args[INPUTS_MAX + 1];
    int64_t shape[KILN_RANK_MAX];
    kiln_array *z = NULL;
    host_layout layout;
    unsigned axes = 0;
    char what[200];
    const kiln_dtype result = d->dtype != KILN_DTYPE_NONE ? d->dtype : dtype;

    int length = snprintf(what, sizeof what, "%s of %s", d->name, kiln_dtype_name(dtype));
    for (int k = 0; k < g->rank; k++) {
        axes |= g->role[k] & REDUCED ? 1u << k : 0;
        length += snprintf(what + length, sizeof what - (size_t)length, ", %lld (%u)",
                           (long long)g->extent[k], g->role[k]);
    }
    for (size_t k = 0; k < d->in_count; k++) {
        draw_operand(t, &input[k], k == 3 ? KILN_FLOAT32 : dtype, g, d->moves[k], (unsigned)k);
        in[k] = &input[k];
        args[k] = KILN_ARG(input[k].array);
    }
    const int rank = host_reduced_shape(g->rank, g->extent, axes, false, shape);
    const bool given = test_random_below(t, 2) == 0;
    draw_layout(t, rank, &layout);
    host_make(t, &want, result, rank, shape, given ? &layout : NULL);
    host_reduce(in, d->in_count, out, 1, g->rank, g->extent, axes, &d->reduction);
    const kiln_axes list = host_axes(axes);
    args[d->in_count] = given ? KILN_ARG(want.array) : KILN_ARG(&z);
    OK(t, host_run(op, &list, false, args, d->in_count + 1, &t->err));
    if (given)
        host_compare(t, &want, 0, what);
    else
        host_compare_elements(t, z, &want, 0, what);
    kiln_array_release(z);
    for (size_t k = 0; k < d->in_count; k++)
        host_free(&input[k]);
    host_free(&want);
}

static void test_reduction_tile__random_broadcasts(void **state)
{
    static const kiln_dtype plain[] = {KILN_FLOAT32, KILN_FLOAT64,  KILN_INT8, KILN_INT16,
                                       KILN_FLOAT16, KILN_BFLOAT16, KILN_INT64};
    static const kiln_dtype complex[] = {KILN_COMPLEX64, KILN_COMPLEX128};
    test_env *t = *state;
    /* A kernel of the cpu device and of the emulated GPU takes its compiler a while. */
    const int rounds = test_whole(t) ? 12 : t->cuda ? 4 : 2;

    for (size_t k = 0; k < COUNT(definitions); k++) {
        const definition *d = &definitions[k];
        kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
        kiln_reduction *op = NULL;

        options.preamble = d->preamble;
        options.reduce_type = d->type;
        OK(t, kiln_reduction_create(t->ctx, d->in, d->out, d->map, d->reduce, d->post,
                                    d->identity != NULL ? d->identity : "", &options, &op, &t->err));
        for (int round = 0; round < rounds; round++) {
            geometry g;
            draw_geometry(t, &g);
            check_case(t, d, op, d->complex ? PICK(t, complex) : PICK(t, plain), &g);
        }
        kiln_reduction_destroy(op);
    }
}

/* More elements than one partial sum takes, on few tiles and on many. */
static void test_reduction_tile__long_sums(void **state)
{
    static const geometry shapes[] = {
        {3, {DOWN, ACROSS, ALONG}, {16, 9, 40000}},
        {3, {ALONG, DOWN, ACROSS}, {2100, 130, 150}},
        {4, {DOWN, ALONG, ACROSS, AGAIN}, {33, 70, 65, 31}},
    };
    test_env *t = *state;

    for (size_t k = 0; k < 3; k += 2) {
        const definition *d = &definitions[k];
        kiln_reduction *op = NULL;
        OK(t, kiln_reduction_create(t->ctx, d->in, d->out, d->map, d->reduce, d->post,
                                    d->identity != NULL ? d->identity : "", NULL, &op, &t->err));
        const size_t drawn = test_random_below(t, COUNT(shapes)); /* the emulated GPU takes seconds for each */
        for (size_t s = 0; s < COUNT(shapes); s++)
            if (s == drawn || !t->cuda || test_whole(t))
                check_case(t, d, op, KILN_FLOAT32, &shapes[s]);
        kiln_reduction_destroy(op);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_tile__random_broadcasts),
        TEST(test_reduction_tile__long_sums),
    };

    return test_env_main(argc, argv, "test_reduction_tile", tests, COUNT(tests));
}
