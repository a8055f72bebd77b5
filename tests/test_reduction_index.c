/*
 * test_reduction_index.c - what a reduction's snippets know of where they are: `_in_ind`,
 * `_out_ind`, `_J`, `_i`, `_j`; and addresses that they take.
 *
 * Every value is computed from the place alone, in a plain loop over the original axes, so a kernel
 * that sorts, merges or splits axes must have kept the books. Values stay small whole numbers: all
 * comparisons are exact.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/reduce.h"

#define AXES(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    } /* axis numbers + 1, slowest first */
#define BC HOST_BROADCAST

static kiln_reduction *create(test_env *t, const char *map, const char *post)
{
    kiln_reduction *op = NULL;

    OK(t, kiln_reduction_create(t->ctx, "T x", "float64 y", map, "a + b", post, "0", NULL, &op,
                                &t->err));
    return op;
}

/* Where a walk over all indices is. */
typedef struct place {
    int64_t at[KILN_RANK_MAX]; /* index of the element */
    int64_t out[KILN_RANK_MAX]; /* index of its result */
    int out_rank;
    int64_t position; /* along the reduced axes */
    int64_t result;   /* number of the result */
    int64_t results;  /* how many there are */
} place;

typedef double (*value_of)(const place *p, double x);
typedef double (*post_of)(const place *p, double sum, double n);

static void next(int rank, const int64_t *shape, int64_t *at)
{
    for (int a = rank - 1; a >= 0; a--) {
        if (++at[a] < shape[a])
            return;
        at[a] = 0;
    }
}

/* What the place of an element follows from. */
static void locate(place *p, int rank, const int64_t *shape, unsigned axes, bool keepdims)
{
    p->out_rank = 0;
    p->position = p->result = 0;
    p->results = 1;
    for (int a = 0; a < rank; a++) {
        if (axes >> a & 1u) {
            p->position = p->position * shape[a] + p->at[a];
            if (keepdims)
                p->out[p->out_rank++] = 0;
        } else {
            p->result = p->result * shape[a] + p->at[a];
            p->results *= shape[a];
            p->out[p->out_rank++] = p->at[a];
        }
    }
}

/* Run `op` over x and compare with the loop. */
static void check(test_env *t, kiln_reduction *op, const host_array *x, unsigned axes,
                  bool keepdims, value_of map, post_of post, const char *what)
{
    const kiln_axes list = host_axes(axes);
    const int64_t size = host_size(x);
    int64_t kept[KILN_RANK_MAX];
    const int rank = host_reduced_shape(x->rank, x->shape, axes, keepdims, kept);
    host_array want;
    kiln_array *y = NULL;
    place p = {.at = {0}};

    host_make(t, &want, KILN_FLOAT64, rank, kept, NULL);
    for (int64_t k = 0; k < host_size(&want); k++)
        *(double *)host_at(&want, k) = 0;
    for (int64_t k = 0; k < size; k++, next(x->rank, x->shape, p.at)) {
        locate(&p, x->rank, x->shape, axes, keepdims);
        *(double *)host_at(&want, p.result) +=
            map(&p, (double)host_load(x->dtype, host_at(x, k)).re);
    }
    memset(p.at, 0, sizeof p.at);
    for (int64_t k = 0; k < size; k++, next(x->rank, x->shape, p.at)) {
        locate(&p, x->rank, x->shape, axes, keepdims);
        if (p.position == 0)
            *(double *)host_at(&want, p.result) =
                post(&p, *(double *)host_at(&want, p.result), (double)size / (double)p.results);
    }
    OK(t, host_run(op, &list, keepdims, KILN_ARGS(x->array, &y), &t->err));
    host_compare_elements(t, y, &want, 0, what);
    kiln_array_release(y);
    host_free(&want);
}

/* ---- three axes: every set of them, every order in memory ---- */

static const struct {
    const char *name;
    host_layout x;
} layouts[] = {
    {"C-order", {.offset = 0}},
    {"permuted", {.order = AXES(3, 1, 2)}},
    {"F-order", {.order = AXES(3, 2, 1)}},
    {"reversed and permuted", {.order = AXES(2, 3, 1), .step = {-1, 2, -1}}},
    {"broadcast", {.step = {1, BC, 1}}},
    {"one element", {.step = {BC, BC, BC}}},
};

/* Every set of axes of 3-D inputs; few rows and few columns, so that splits happen too. */
static void every_layout(test_env *t, const char *map, const char *post, value_of map_of,
                         post_of finish)
{
    static const int64_t shapes[][3] = {{4, 7, 6}, {3, 5003, 2}};
    kiln_reduction *op = create(t, map, post);
    char what[160];

    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t k = 0; k < COUNT(layouts) - 3 * s; k++) {
            host_array x;

            host_make(t, &x, KILN_FLOAT32, 3, shapes[s], &layouts[k].x);
            host_fill_small(&x, (unsigned)k);
            host_send(t, &x);
            for (unsigned axes = 0; axes < 8; axes++) {
                if (!test_drawn(t))
                    continue;
                snprintf(what, sizeof what, "%s over axes %#x of %s", map, axes, layouts[k].name);
                check(t, op, &x, axes, axes % 3 == 0, map_of, finish, what);
            }
            host_free(&x);
        }
    kiln_reduction_destroy(op);
}

static double in_index(const place *p, double x)
{
    return x + 4 * (double)(p->at[0] % 8) + 2 * (double)(p->at[1] % 8) + (double)p->at[2];
}

static double same(const place *p, double sum, double n)
{
    (void)p, (void)n;
    return sum;
}

static void test_reduction_index__in_ind_counts_the_original_axes(void **state)
{
    every_layout(*state,
                 "x + T(4 * (_in_ind.get()[0] % 8) + 2 * (_in_ind.get()[1] % 8) + "
                 "_in_ind.get()[2])",
                 "y = a", in_index, same);
}

static double element(const place *p, double x)
{
    (void)p;
    return x;
}

static double out_index(const place *p, double sum, double n)
{
    double y = sum + n;
    for (int a = 0; a < p->out_rank; a++)
        y = y + 1000 * (double)(a + 1) * (double)p->out[a];
    return y;
}

static void test_reduction_index__out_ind_counts_the_axes_of_the_result(void **state)
{
    every_layout(*state, "x",
                 "y = a + n;\n"
                 "for (int d = 0; d < _out_ind.ndim; d++)\n"
                 "    y += 1000 * (d + 1) * _out_ind.get()[d]",
                 element, out_index);
}

static double numbers(const place *p, double x)
{
    return x * (double)(p->position % 3 + 1) + (double)(p->result % 7) +
           (double)((p->position * p->results + p->result) % 5);
}

static double number(const place *p, double sum, double n)
{
    (void)n;
    return sum + 1000 * (double)p->result;
}

static void test_reduction_index__numbers_of_elements_and_results(void **state)
{
    every_layout(*state, "x * T(_J % 3 + 1) + T(_i % 7) + T(_j % 5)", "y = a + 1000 * _i", numbers,
                 number);
}

static double all_of_it(const place *p, double x)
{
    return x * (double)(p->at[1] % 4 + 1) + (p->out_rank > 0 ? (double)p->out[0] : 0.0);
}

static void test_reduction_index__both_tuples_in_the_map(void **state)
{
    every_layout(*state,
                 "x * T(_in_ind.get()[1] % 4 + 1) + "
                 "(_out_ind.ndim > 0 ? double(_out_ind.get()[0]) : 0.0)",
                 "y = a", all_of_it, same);
}

/* CuPy's own mean divides like this; asking for sizes must not keep axes apart. */
static double mean(const place *p, double sum, double n)
{
    (void)p;
    return sum / n;
}

static void test_reduction_index__sizes_and_shapes(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3, 4, 5};
    kiln_reduction *op = create(t, "x", "y = a / (_in_ind.size() / _out_ind.size())");
    kiln_reduction *sizes = create(t, "x * 0 + _out_ind.size()", "y = a + 1000 * _in_ind.shape()[1]");
    kiln_reduction *sum = create(t, "x", "y = a");
    char *text = NULL, *other = NULL;
    kiln_array *y = NULL;
    double got[4];
    host_array x;

    host_make(t, &x, KILN_FLOAT32, 3, shape, &(host_layout){.order = AXES(2, 1, 3)});
    check(t, op, &x, 1, false, element, mean, "mean over axis 0");
    check(t, op, &x, 6, true, element, mean, "mean over axes 1 and 2");
    OK(t, kiln_call_over(sizes, KILN_AXES(0, 2), &t->err, x.array, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 15 * 4 + 4000 && got[3] == got[0]);
    kiln_array_release(y);
    y = NULL;
    /* One axis is left of three, as without the sizes. */
    OK(t, kiln_reduction_source(op, KILN_ARGS(x.array, &y), NULL, &text, &t->err));
    OK(t, kiln_reduction_source(sum, KILN_ARGS(x.array, &y), NULL, &other, &t->err));
    assert_non_null(strstr(text, "shape_1"));
    assert_null(strstr(text, "shape_2"));
    assert_null(strstr(other, "shape_2"));
    assert_null(strstr(other, "_in_ind"));
    kiln_free(text);
    kiln_free(other);
    host_free(&x);
    kiln_reduction_destroy(op);
    kiln_reduction_destroy(sizes);
    kiln_reduction_destroy(sum);
}

/* ---- tables, names, addresses ---- */

static void test_reduction_index__a_raw_array_at_the_index_tuple(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {6, 9};
    kiln_reduction *op = NULL;
    host_array x, w;
    kiln_array *y = NULL;
    double got[6];

    OK(t, kiln_reduction_create(t->ctx, "T x, raw T w", "float64 y", "x * w[_in_ind.get()]",
                                "a + b", "y = a", "0", NULL, &op, &t->err));
    host_make(t, &x, KILN_FLOAT32, 2, shape, &(host_layout){.order = AXES(2, 1)});
    host_make(t, &w, KILN_FLOAT32, 2, shape, &(host_layout){.step = {-1, 2}});
    host_fill_small(&w, 5);
    host_send(t, &w);
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, w.array, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int64_t row = 0; row < 6; row++) {
        double want = 0;
        for (int64_t k = 0; k < 9; k++)
            want += (double)(*(float *)host_at(&x, row * 9 + k) * *(float *)host_at(&w, row * 9 + k));
        assert_true(got[row] == want);
    }
    kiln_array_release(y);
    host_free(&x);
    host_free(&w);
    kiln_reduction_destroy(op);
}

/* Parameters may have the names: then they are what is meant. */
static void test_reduction_index__parameters_of_these_names(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = NULL;
    kiln_array *x = NULL, *y = NULL;
    double got = 0;

    OK(t, kiln_reduction_create(t->ctx, "T _i, T J, float64 _j", "float64 I", "_i * _j + J * _J",
                                "a + b", "I = a", "0", NULL, &op, &t->err));
    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 50, 1, &x, &t->err));
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, x, 3.0, &y));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_true(got == 3 * 1225 + 40425); /* sums of k and of k * k below 50 */
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_reduction_destroy(op);
}

/* An address is that of the element in memory, and neighbours are where they are in the array. */
static void test_reduction_index__addresses_of_inputs_and_outputs(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {40, 64};
    kiln_reduction *op = NULL;
    kiln_array *x = NULL, *flat = NULL, *y = NULL;
    double got[64];

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, 40 * 64, 1, &flat, &t->err));
    OK(t, kiln_array_reshape(flat, 2, shape, &x, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "T x", "float64 y", "_J % 4 == 0 ? (&x)[3] : T(0)", "a + b",
                                "double *at = &y; *at = a", "0", NULL, &op, &t->err));
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int row = 0; row < 40; row++) {
        double want = 0;
        for (int k = 3; k < 64; k += 4)
            want += row * 64 + k;
        CHECK(got[row] == want, "row %d: %g, want %g", row, got[row], want);
    }
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_call_over(op, KILN_AXES(0), &t->err, x, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int column = 0; column < 60; column++) {
        double want = 0;
        for (int k = 0; k < 40; k += 4)
            want += k * 64 + column + 3;
        CHECK(got[column] == want, "column %d: %g, want %g", column, got[column], want);
    }
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_array_release(flat);
    kiln_reduction_destroy(op);
}

/* ---- argmin and argmax ---- */

/* Where the least or greatest stands; the first NaN is both. */
static void step_least(host_state *s, const host_value *in, int64_t position)
{
    if (position == 0 || (isnan(in[0].re) ? !isnan(s->v.re) : in[0].re < s->v.re)) {
        s->v = in[0];
        s->index = position;
    }
}

static void step_greatest(host_state *s, const host_value *in, int64_t position)
{
    if (position == 0 || (isnan(in[0].re) ? !isnan(s->v.re) : in[0].re > s->v.re)) {
        s->v = in[0];
        s->index = position;
    }
}

static void tell_index(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->index;
}

/* Three values, and NaN in some places: nearly every comparison is a tie, and the first of equals is
 * the first in C-order, however the array lies in memory. */
static void check_ties(test_env *t, kiln_dtype dtype, const host_layout *layout, bool nan)
{
    static const host_reduction least = {step_least, tell_index}, greatest = {step_greatest, tell_index};
    const int64_t shape[] = {5, 7, 1203};
    host_array x, want, *in[] = {&x}, *out[] = {&want};

    host_make(t, &x, dtype, 3, shape, layout);
    for (int64_t k = 0; k < host_size(&x); k++) {
        const bool here = nan && test_random_below(t, 900) == 0;
        host_store(dtype, host_at(&x, k),
                   host_real(here ? NAN : (long double)test_random_below(t, 3)));
    }
    host_send(t, &x);
    for (unsigned axes = 1; axes < 8; axes++) {
        const kiln_axes list = host_axes(axes);
        int64_t kept[KILN_RANK_MAX];
        const int rank = host_reduced_shape(3, shape, axes, false, kept);

        host_make(t, &want, KILN_INT64, rank, kept, NULL);
        for (int most = 0; most < 2; most++) {
            kiln_array *y = NULL;

            OK(t, kiln_array_reduce(most ? KILN_REDUCE_ARGMAX : KILN_REDUCE_ARGMIN, x.array, &list,
                                    false, &y, &t->err));
            host_reduce(in, 1, out, 1, 3, shape, axes, most ? &greatest : &least);
            host_compare_elements(t, y, &want, 0, kiln_dtype_name(dtype));
            kiln_array_release(y);
        }
        host_free(&want);
    }
    host_free(&x);
}

static void test_reduction_index__positions_of_many_equal_values(void **state)
{
    static const host_layout orders[] = {
        {.offset = 1}, {.order = {3, 1, 2}}, {.order = {2, 3, 1}, .step = {-1, 1, -2}}};

    for (size_t k = 0; k < COUNT(orders); k++) {
        if (test_drawn(*state))
            check_ties(*state, KILN_FLOAT32, &orders[k], k != 1);
        if (k == 0 || test_drawn(*state))
            check_ties(*state, KILN_INT8, &orders[k], false);
    }
    if (test_drawn(*state))
        check_ties(*state, KILN_FLOAT16, &orders[0], true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_index__in_ind_counts_the_original_axes),
        TEST(test_reduction_index__out_ind_counts_the_axes_of_the_result),
        TEST(test_reduction_index__numbers_of_elements_and_results),
        TEST(test_reduction_index__both_tuples_in_the_map),
        TEST(test_reduction_index__sizes_and_shapes),
        TEST(test_reduction_index__a_raw_array_at_the_index_tuple),
        TEST(test_reduction_index__parameters_of_these_names),
        TEST(test_reduction_index__addresses_of_inputs_and_outputs),
        TEST(test_reduction_index__positions_of_many_equal_values),
    };

    return test_env_main(argc, argv, "test_reduction_index", tests, COUNT(tests));
}
