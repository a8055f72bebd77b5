/*
 * test_reduction_custom.c - definitions as users write them: CuPy's strings, several inputs and
 * outputs, accumulators of their own, raw arrays, preambles, no identity.
 *
 * Expected values come from plain C loops over the same elements.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/codegen.h"
#include "oracle/reduce.h"

static const int64_t shape_57[] = {5, 7};

/* The texts of one definition. */
typedef struct texts {
    const char *in, *out, *map, *reduce, *post, *identity, *reduce_type, *preamble, *name;
} texts;

static kiln_reduction *create(test_env *t, const texts *d)
{
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *op = NULL;

    options.name = d->name;
    options.reduce_type = d->reduce_type;
    options.preamble = d->preamble;
    OK(t, kiln_reduction_create(t->ctx, d->in, d->out, d->map, d->reduce, d->post, d->identity,
                                &options, &op, &t->err));
    return op;
}

/* Elements of a float64 array kiln made, in C-order. */
static void fetch(test_env *t, const kiln_array *a, double *values, size_t count)
{
    assert_int_equal(kiln_array_dtype(a), KILN_FLOAT64);
    assert_int_equal(kiln_array_size(a), count);
    OK(t, kiln_array_to_host(a, values, count * sizeof *values, NULL, &t->err));
}

/* ---- one input, one output: a table of definitions ---- */

typedef struct simple {
    texts d;
    host_reduction want;
    kiln_dtype dtype, result;
} simple;

static void add(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re;
    s->v.im += in[0].im;
}

static void add_square(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[0].re + in[0].im * in[0].im;
}

static void add_cube(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[0].re * in[0].re;
}

static void add_position(host_state *s, const host_value *in, int64_t position)
{
    s->v.re += in[0].re * (long double)position;
}

static void keep_largest(host_state *s, const host_value *in, int64_t position)
{
    if (position == 0 || in[0].re > s->v.re) {
        s->v = in[0];
        s->index = position;
    }
}

static void keep_xor(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->u ^= (uint64_t)in[0].re;
}

static void count_even(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->count += fmodl(in[0].re, 2) == 0;
}

static void tell(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
}

static void tell_root(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = sqrtl(s->v.re);
}

static void tell_mean(const host_state *s, int64_t n, host_value *out)
{
    out[0].re = s->v.re / (long double)n;
}

static void tell_bits(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->u;
}

static void tell_index(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->index;
}

static void tell_count(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = (long double)s->count;
}

/* An accumulator that knows whether it has seen anything, as definitions without identity do. */
#define SEEN                                                                                       \
    "template <typename U> struct seen {\n"                                                        \
    "    U value;\n"                                                                               \
    "    int place;\n"                                                                             \
    "    __device__ seen() : place(-1) {}\n"                                                       \
    "    __device__ seen(U v, int p) : value(v), place(p) {}\n"                                    \
    "};\n"                                                                                         \
    "template <typename U>\n"                                                                      \
    "__device__ seen<U> larger(const seen<U> &a, const seen<U> &b)\n"                              \
    "{\n"                                                                                          \
    "    if (a.place < 0) return b;\n"                                                             \
    "    if (b.place < 0) return a;\n"                                                             \
    "    if (a.value == b.value) return a.place < b.place ? a : b;\n"                              \
    "    return a.value > b.value ? a : b;\n"                                                      \
    "}\n"

static const simple simples[] = {
    {{"T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", NULL, NULL, "l2norm"},
     {add_square, tell_root},
     KILN_FLOAT64,
     KILN_FLOAT64},
    {{"T x", "T y", "x", "a + b", "y = a", "0", NULL, NULL, "my_sum"},
     {add, tell},
     KILN_INT32,
     KILN_INT32},
    {{"T x", "T y", "x", "a + b", "y = a / n", "0", NULL, NULL, NULL},
     {add, tell_mean},
     KILN_FLOAT64,
     KILN_FLOAT64},
    {{"T x", "T y", "x", "max(a, b)", "y = a", "", NULL, NULL, "no_identity"},
     {keep_largest, tell},
     KILN_INT32,
     KILN_INT32},
    {{"T x", "T y", "x", "a > b ? a : b", "y = a", NULL, NULL, NULL, NULL},
     {keep_largest, tell},
     KILN_FLOAT32,
     KILN_FLOAT32},
    {{"T x", "uint64 y", "x", "a ^ b", "y = a", "0", NULL, NULL, NULL},
     {keep_xor, tell_bits},
     KILN_UINT16,
     KILN_UINT64},
    {{"T x", "int64 y", "seen<T>(x, _J)", "larger(a, b)", "y = a.place", "", "seen<T>", SEEN, NULL},
     {keep_largest, tell_index},
     KILN_FLOAT32,
     KILN_INT64},
    {{"T x", "int64 y", "seen<T>(x, _J)", "larger(a, b)", "y = a.place", "seen<T>()", "seen<T>",
      SEEN, NULL},
     {keep_largest, tell_index},
     KILN_INT16,
     KILN_INT64},
    {{"T x", "float32 y", "x", "a + b", "y = a", "0", "double", NULL, "wide_sum"},
     {add, tell},
     KILN_INT32,
     KILN_FLOAT32},
    {{"T x", "T y", "x * conj(x)", "a + b", "y = a", "0", NULL, NULL, NULL},
     {add_square, tell},
     KILN_COMPLEX128,
     KILN_COMPLEX128},
    {{"T x", "T y", "cube(x)", "a + b", "y = a", "0", NULL,
      "template <class U> __device__ U cube(U v) { return v * v * v; }", NULL},
     {add_cube, tell},
     KILN_INT64,
     KILN_INT64},
    {{"T x", "T y", "x * T(_J)", "a + b", "y = a", "0", NULL, NULL, NULL},
     {add_position, tell},
     KILN_FLOAT64,
     KILN_FLOAT64},
    {{"T x", "int64 y", "x % 2 == 0 ? 1 : 0", "a + b", "y = a", "0", NULL, NULL, NULL},
     {count_even, tell_count},
     KILN_UINT8,
     KILN_INT64},
    /* Comments, line breaks and commas in places that macros would trip over. */
    {{"T x", "T y", "x // the element", "a + b // added", "y = a; // done", "0 // nothing", NULL,
      NULL, NULL},
     {add, tell},
     KILN_INT32,
     KILN_INT32},
    {{"T x", "T y", "pair<T, T>{x, x}.first", "plus<T, T>(a, b)",
      "T r = a;\nif (r != r) r = 0;\ny = r", "0", NULL,
      "template <class A, class B> struct pair { A first; B second; };\n"
      "template <class A, class B> __device__ A plus(A a, B b) { return a + b; }\n",
      NULL},
     {add, tell},
     KILN_FLOAT64,
     KILN_FLOAT64},
    /* Names inside other names. */
    {{"T e", "T y", "e * 1e0 * exp(e - e)", "a + b", "y = a", "0", NULL, NULL, "e_sum"},
     {add, tell},
     KILN_FLOAT64,
     KILN_FLOAT64},
};

static void check_simple(test_env *t, kiln_reduction *op, const simple *c, const int64_t *shape,
                         unsigned axes)
{
    host_array x, want, *in[] = {&x}, *out[] = {&want};
    int64_t kept[KILN_RANK_MAX];
    int rank = host_reduced_shape(2, shape, axes, false, kept);
    kiln_axes list = host_axes(axes);
    kiln_array *y = NULL;

    host_make(t, &x, c->dtype, 2, shape, NULL);
    host_make(t, &want, c->result, rank, kept, NULL);
    host_reduce(in, 1, out, 1, 2, shape, axes, &c->want);
    OK(t, kiln_call_over(op, &list, &t->err, x.array, &y));
    host_compare_elements(t, y, &want, 1, c->d.map);
    kiln_array_release(y);
    host_free(&x);
    host_free(&want);
}

static void test_reduction__definitions_as_users_write_them(void **state)
{
    static const int64_t long_shape[] = {3, 5003};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(simples); k++) {
        kiln_reduction *op = create(t, &simples[k].d);

        for (unsigned axes = 1; axes <= 3; axes++) {
            check_simple(t, op, &simples[k], shape_57, axes);
            check_simple(t, op, &simples[k], long_shape, axes);
        }
        kiln_reduction_destroy(op);
    }
}

/* ---- several inputs and outputs ---- */

static void test_reduction__weighted_mean_of_two_inputs(void **state)
{
    static const texts d = {"T x, T w",
                            "T y",
                            "both{(double)x * (double)w, (double)w}",
                            "together(a, b)",
                            "y = a.product / a.weight",
                            "both{0, 0}",
                            "both",
                            "struct both { double product, weight; };\n"
                            "__device__ both together(both a, both b)\n"
                            "{ return both{a.product + b.product, a.weight + b.weight}; }",
                            "weighted_mean"};
    test_env *t = *state;
    host_array x, w;
    kiln_array *y = NULL;
    kiln_reduction *op = create(t, &d);
    double got[5];

    host_make(t, &x, KILN_FLOAT64, 2, shape_57, NULL);
    host_make(t, &w, KILN_FLOAT64, 1, shape_57 + 1, NULL);
    for (int64_t k = 0; k < 7; k++)
        *(double *)host_at(&w, k) = (double)(k + 1);
    host_send(t, &w);
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, w.array, &y));
    fetch(t, y, got, 5);
    for (int64_t row = 0; row < 5; row++) {
        double product = 0, weight = 0;

        for (int64_t k = 0; k < 7; k++) {
            product += *(double *)host_at(&x, row * 7 + k) * (double)(k + 1);
            weight += (double)(k + 1);
        }
        assert_true(got[row] == product / weight);
    }
    kiln_array_release(y);
    kiln_reduction_destroy(op);
    host_free(&x);
    host_free(&w);
}

#define RANGE                                                                                      \
    "struct range { float low, high, sum; };\n"                                                    \
    "__device__ range of(float v) { return range{v, v, v}; }\n"                                    \
    "__device__ range join(range a, range b)\n"                                                    \
    "{ return range{min(a.low, b.low), max(a.high, b.high), a.sum + b.sum}; }"

static void range_step(host_state *s, const host_value *in, int64_t position)
{
    s->v.re = position == 0 || in[0].re < s->v.re ? in[0].re : s->v.re;
    s->v.im = position == 0 || in[0].re > s->v.im ? in[0].re : s->v.im;
    s->w.re += in[0].re;
}

static void range_tell(const host_state *s, int64_t n, host_value *out)
{
    out[0].re = s->v.re;
    out[1].re = s->v.im;
    out[2].re = s->w.re / (long double)n;
}

static void check_range(test_env *t, kiln_reduction *op, const int64_t *shape, unsigned axes)
{
    static const host_reduction range = {range_step, range_tell};
    host_array x, low, high, mean, *in[] = {&x}, *out[] = {&low, &high, &mean};
    int64_t kept[KILN_RANK_MAX];
    int rank = host_reduced_shape(2, shape, axes, true, kept);
    kiln_axes list = host_axes(axes);
    kiln_array *given_low = NULL, *given_mean = NULL;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    host_make(t, &low, KILN_FLOAT32, rank, kept, NULL);
    host_make(t, &high, KILN_FLOAT32, rank, kept, NULL);
    host_make(t, &mean, KILN_FLOAT64, rank, kept, NULL);
    host_reduce(in, 1, out, 3, 2, shape, axes, &range);
    /* The middle one is given, the others are allocated. */
    OK(t,
       host_run(op, &list, true, KILN_ARGS(x.array, &given_low, high.array, &given_mean), &t->err));
    host_compare_elements(t, given_low, &low, 0, "low");
    host_compare(t, &high, 0, "high");
    host_compare_elements(t, given_mean, &mean, 0, "mean");
    kiln_array_release(given_low);
    kiln_array_release(given_mean);
    host_free(&x);
    host_free(&low);
    host_free(&high);
    host_free(&mean);
}

static void test_reduction__three_outputs_from_one_accumulator(void **state)
{
    static const texts d = {"float32 x",
                            "float32 low, float32 high, float64 mean",
                            "of(x)",
                            "join(a, b)",
                            "low = a.low; high = a.high; mean = (double)a.sum / n",
                            "",
                            "range",
                            RANGE,
                            "ranges"};
    static const int64_t shapes[][2] = {{5, 7}, {2, 9001}, {9001, 2}, {1, 1}};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);

    for (size_t k = 0; k < COUNT(shapes); k++)
        for (unsigned axes = 1; axes <= 3; axes++)
            check_range(t, op, shapes[k], axes);
    kiln_reduction_destroy(op);
}

static void test_reduction__scalars_among_the_inputs(void **state)
{
    static const texts d = {"T x, float64 p, T shift",
                            "T y",
                            "pow(fabs(x - shift), p)",
                            "a + b",
                            "y = pow(a, 1.0 / p)",
                            "0",
                            NULL,
                            NULL,
                            "p_norm"};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);
    host_array x;
    kiln_array *y = NULL;
    double got = 0, want = 0;

    host_make(t, &x, KILN_FLOAT64, 2, shape_57, NULL);
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x.array, 3.0, 1, &y));
    fetch(t, y, &got, 1);
    for (int64_t k = 0; k < 35; k++)
        want += pow(fabs(*(double *)host_at(&x, k) - 1), 3);
    CHECK(fabs(got - cbrt(want)) < 1e-12 * got, "got %.17g, want %.17g", got, cbrt(want));
    kiln_array_release(y);
    kiln_reduction_destroy(op);
    host_free(&x);
}

/* CuPy's and Chainer's first_nonzero: the number of elements is what stands for none found. */
static void test_reduction__an_identity_may_name_a_number_among_the_inputs(void **state)
{
    static const texts d = {"T data, int64 len", "int64 y", "data == T(0) ? len : _J", "min(a, b)",
                            "y = a", "len", NULL, NULL, "first_nonzero"};
    static const int64_t shape[] = {3, 40}, none[] = {4, 0};
    static const int32_t first[] = {40, 17, 0};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);
    host_array x, empty;
    kiln_array *y = NULL;
    int64_t got[4];

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    for (int64_t k = 0; k < 120; k++)
        host_store(KILN_FLOAT32, host_at(&x, k),
                   host_real(k % 40 >= first[k / 40] && k % 3 != 1 ? 5 : 0));
    host_send(t, &x);
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, 40, &y));
    OK(t, kiln_array_to_host(y, got, 3 * sizeof *got, NULL, &t->err));
    for (int r = 0; r < 3; r++) {
        int64_t want = 0;
        while (want < 40 && host_load(KILN_FLOAT32, host_at(&x, 40 * r + want)).re == 0)
            want++;
        CHECK(got[r] == want, "row %d: %d, want %d", r, (int)got[r], (int)want);
    }
    kiln_array_release(y);
    y = NULL;
    host_make(t, &empty, KILN_FLOAT32, 2, none, NULL);
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, empty.array, 7, &y));
    OK(t, kiln_array_to_host(y, got, 4 * sizeof *got, NULL, &t->err));
    for (int r = 0; r < 4; r++)
        CHECK(got[r] == 7, "row %d without elements: %d, want 7", r, (int)got[r]);
    /* An element of an array belongs to no result. */
    kiln_array_release(y);
    y = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, x.array, &y), "`len`",
          "is an array, and the identity");
    kiln_reduction_destroy(op);
    host_free(&x);
    host_free(&empty);
}

/* ---- raw arrays and indices ---- */

static void test_reduction__raw_tables(void **state)
{
    static const texts d = {"int32 k, raw T table",
                            "T y",
                            "table[k] + T(table.size())",
                            "a + b",
                            "y = a",
                            "0",
                            NULL,
                            NULL,
                            "look_up"};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);
    const int64_t size = 9;
    host_array k, table;
    kiln_array *y = NULL;
    double got[7];

    host_make(t, &k, KILN_INT32, 2, shape_57, NULL); /* 0 to 7 */
    host_make(t, &table, KILN_FLOAT64, 1, &size, &(host_layout){.step = {-2}});
    OK(t, kiln_call_over(op, KILN_AXES(0), &t->err, k.array, table.array, &y));
    fetch(t, y, got, 7);
    for (int64_t column = 0; column < 7; column++) {
        double want = 0;

        for (int64_t row = 0; row < 5; row++)
            want += *(double *)host_at(&table, *(int *)host_at(&k, row * 7 + column)) + 9;
        assert_true(got[column] == want);
    }
    kiln_array_release(y);
    kiln_reduction_destroy(op);
    host_free(&k);
    host_free(&table);
}

/* ---- dtypes of outputs ---- */

static void test_reduction__an_output_given_decides_its_placeholder(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_INT64, KILN_FLOAT16, KILN_FLOAT64};
    static const texts d = {"T x", "U y", "x", "a + b", "y = a", "0", NULL, NULL, NULL};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        host_array x, y, *in[] = {&x}, *out[] = {&y};

        host_make(t, &x, KILN_INT16, 2, shape_57, NULL);
        host_make(t, &y, dtypes[k], 1, shape_57, NULL);
        OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, y.array));
        host_reduce(in, 1, out, 1, 2, shape_57, 2, &host_sum);
        host_compare(t, &y, 0, "an output of another dtype");
        host_free(&x);
        host_free(&y);
    }
    kiln_reduction_destroy(op);
}

/* What one layout taught must not answer for another: a[:10], then a[::2], and back. */
static void test_reduction__one_object_serves_many_layouts_in_turn(void **state)
{
    static const texts d = {"T x", "T y", "x", "a + b", "y = a", "0", NULL, NULL, NULL};
    static const struct {
        int64_t start, stop, step;
        double want;
    } views[] = {{0, 10, 1, 45}, {0, 20, 2, 90},   {5, 15, 1, 95}, {0, 10, 1, 45},
                 {0, 20, 2, 90}, {19, 9, -1, 145}, {0, 0, 1, 0},   {0, 20, 1, 190}};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);
    kiln_array *x = NULL;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 20, 1, &x, &t->err));
    for (size_t k = 0; k < COUNT(views); k++) {
        kiln_array *view = NULL, *y = NULL;
        double got = -1;

        OK(t, kiln_array_slice(x, 0, views[k].start, views[k].stop, views[k].step, &view, &t->err));
        OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, view, &y));
        fetch(t, y, &got, 1);
        CHECK(got == views[k].want, "view %zu: %g", k, got);
        kiln_array_release(view);
        kiln_array_release(y);
    }
    kiln_array_release(x);
    kiln_reduction_destroy(op);
}

/* As a C program does it, with the default options and compiler options. */
static void test_reduction__compiler_options_reach_the_compiler(void **state)
{
    static const char *const defines[] = {"-DSCALE=3", "-DSHIFT(v)=((v)+1)"};
    test_env *t = *state;
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *op = NULL;
    kiln_array *x = NULL, *y = NULL;
    double got = 0;

    options.compiler_options = defines;
    options.compiler_option_count = 2;
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "SHIFT(x) * SCALE", "a + b", "y = a", "0",
                                &options, &op, &t->err));
    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 10, 1, &x, &t->err));
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y));
    fetch(t, y, &got, 1);
    assert_true(got == 3 * (45 + 10));
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_reduction_destroy(op);
}

static void test_reduction__a_scalar_array_is_its_own_reduction(void **state)
{
    static const texts d = {"T x", "T y", "x * x", "a + b", "y = a", "0", NULL, NULL, NULL};
    test_env *t = *state;
    kiln_reduction *op = create(t, &d);
    kiln_array *x = NULL, *y = NULL;
    const double three = 3;
    double got = 0;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 0, NULL, &three, NULL, &x, &t->err));
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y));
    fetch(t, y, &got, 1);
    assert_int_equal(kiln_array_rank(y), 0);
    assert_true(got == 9);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_reduction_destroy(op);
}

/* A graph puts as many accumulators into a struct as there is room for by what the table of named
 * reductions says of their bytes: no type may have more. A compiler knows how many each has. */
static void test_reduction__accumulators_have_no_more_bytes_than_the_table_says(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8,    KILN_INT64,     KILN_FLOAT32,
                                        KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};
    test_env *t = *state;
    const int64_t zero = 0;
    kiln_array *x = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 0, NULL, &zero, NULL, &x, &t->err));
    for (int k = 0; k < 2 * KILN_REDUCE_NANARGMAX * (int)COUNT(dtypes); k++) {
        const int op = 1 + k / 2 % KILN_REDUCE_NANARGMAX;
        const kiln_dtype dtype = dtypes[k / 2 / KILN_REDUCE_NANARGMAX];
        const kiln__reduce_row *row = k % 2 == 0 ? kiln__reduce_row_find(op, dtype)
                                                 : kiln__reduce_row_beside(op, dtype);
        char type[64], post[96];
        const texts d = {.in = "int64 x", .out = "int64 y", .map = "x", .reduce = "a + b",
                         .post = post, .reduce_type = "long long"};
        kiln__buf text = KILN__BUF_INIT;
        kiln_array *y = NULL;
        int64_t bytes = 0;

        if (row == NULL)
            continue;
        kiln__reduce_text(row, dtype, &(kiln__reduce_form){.out = KILN_DTYPE_NONE},
                          KILN__SNIPPET_REDUCE_TYPE, &text);
        snprintf(type, sizeof type, "%s", text.text);
        kiln__buf_clear(&text);
        if (strncmp(type, "kiln_", 5) != 0)
            continue;
        snprintf(post, sizeof post, "y = a + (long long)sizeof(%s)", type);
        kiln_reduction *op_of = create(t, &d);
        OK(t, kiln_call_over(op_of, KILN_ALL_AXES, &t->err, x, &y));
        OK(t, kiln_array_to_host(y, &bytes, sizeof bytes, NULL, &t->err));
        if (bytes < 4 || bytes > kiln__reduce_part_bytes(row, op, dtype))
            fail_msg("%s has %lld bytes, not %lld", type, (long long)bytes,
                     (long long)kiln__reduce_part_bytes(row, op, dtype));
        kiln_array_release(y);
        kiln_reduction_destroy(op_of);
    }
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction__definitions_as_users_write_them),
        TEST(test_reduction__weighted_mean_of_two_inputs),
        TEST(test_reduction__three_outputs_from_one_accumulator),
        TEST(test_reduction__scalars_among_the_inputs),
        TEST(test_reduction__an_identity_may_name_a_number_among_the_inputs),
        TEST(test_reduction__raw_tables),
        TEST(test_reduction__an_output_given_decides_its_placeholder),
        TEST(test_reduction__one_object_serves_many_layouts_in_turn),
        TEST(test_reduction__compiler_options_reach_the_compiler),
        TEST(test_reduction__a_scalar_array_is_its_own_reduction),
        TEST(test_reduction__accumulators_have_no_more_bytes_than_the_table_says),
    };

    return test_env_main(argc, argv, "test_reduction_custom", tests, COUNT(tests));
}
