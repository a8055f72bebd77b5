/*
 * test_partition_copy.c - filters whose other elements have results too, against plain loops.
 *
 * Results are inputs' elements as they are, and the elements' numbers, so that all bytes must be equal. The loops walk
 * host memory by the strides that the arrays were made with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/select.h"
#include "test_env.h"

enum { AXES = 2, INPUTS = 3, OUTPUTS = 6 }; /* inputs x, z and mask; outputs without the numbers */

/* ---- inputs with a copy on the host ---- */

typedef struct sample {
    kiln_dtype dtype;
    size_t itemsize;
    int64_t shape[AXES], stride[AXES], begin, room; /* in elements */
    unsigned char *bytes;
    kiln_array *whole, *array;
} sample;

/* How the elements of an input lie: in C-order, in Fortran's, backwards, apart, one row for all. */
enum { DENSE, TURNED, BACKWARDS, APART, ONE_ROW, LAYOUTS };

static void place(sample *s, int layout)
{
    const int64_t rows = s->shape[0], columns = s->shape[1];

    s->begin = 0;
    s->room = rows * columns + 1;
    s->stride[0] = layout == TURNED ? 1 : columns;
    s->stride[1] = layout == TURNED ? rows : 1;
    if (layout == BACKWARDS && rows * columns > 0) {
        s->begin = rows * columns - 1;
        s->stride[0] = -columns;
        s->stride[1] = -1;
    }
    if (layout == APART) {
        s->begin = 1;
        s->room = 3 * rows * columns + 1;
        s->stride[0] = 3 * columns;
        s->stride[1] = 3;
    }
    if (layout == ONE_ROW) {
        s->stride[0] = 0;
        s->room = columns + 1;
    }
}

static const unsigned char *element(const sample *s, int64_t k)
{
    const int64_t columns = s->shape[1];

    return s->bytes + (size_t)(s->begin + k / columns * s->stride[0] + k % columns * s->stride[1]) *
                          s->itemsize;
}

/* `trues`: of a bool, how many elements are true, in percent. */
static sample make(test_env *t, kiln_dtype dtype, const int64_t *shape, int layout, unsigned trues)
{
    sample s = {.dtype = dtype, .itemsize = kiln_dtype_size(dtype), .shape = {shape[0], shape[1]}};

    place(&s, layout);
    s.bytes = calloc((size_t)s.room, s.itemsize);
    assert_non_null(s.bytes);
    for (size_t b = 0; b < (size_t)s.room * s.itemsize; b++)
        s.bytes[b] = dtype == KILN_BOOL ? test_random_below(t, 100) < trues
                                        : (unsigned char)test_random_below(t, 60);
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &s.room, s.bytes, NULL, &s.whole, &t->err));
    const int64_t size = (int64_t)s.itemsize, strides[] = {s.stride[0] * size, s.stride[1] * size};
    OK(t, kiln_array_as_strided(s.whole, AXES, shape, strides, s.begin * size, &s.array, &t->err));
    return s;
}

static void drop(sample *s)
{
    kiln_array_release(s->whole);
    kiln_array_release(s->array);
    free(s->bytes);
}

/* ---- filters ---- */

/* An output: x, z, or the element's number from the front or the end. */
typedef struct output {
    char of; /* 'x', 'z', 'i', 'e' */
    bool rest;
} output;

typedef struct definition {
    const char *in, *out, *where, *op, *otherwise;
    output outputs[OUTPUTS];
    int output_count;
    int rule; /* which elements are kept, in keeps() */
} definition;

/* Elements that a rule keeps: `mask`, `mask && i % 3 != 0`, i % 7 < 3. */
static bool keeps(const definition *d, bool mask, int64_t i)
{
    return d->rule == 0 ? mask : d->rule == 1 ? mask && i % 3 != 0 : i % 7 < 3;
}

#define ALL "T x, U z, bool mask"
static const definition definitions[] = {
    {ALL, "T y, T no, int64 count, int64 others", "mask", "y = x", "no = x",
     {{'x', false}, {'x', true}}, 2, 0},
    {ALL, "int64 j, U w, T no, int64 count, int64 others", "mask && i % 3 != 0", "j = i; w = z",
     "no = x", {{'i', false}, {'z', false}, {'x', true}}, 3, 1},
    {ALL, "U no, int32 from_end, T y, T more, U most, int64 count, int64 others", "i % 7 < 3",
     "y = x", "no = z; from_end = n - i; more = x; most = z",
     {{'z', true}, {'e', true}, {'x', false}, {'x', true}, {'z', true}}, 5, 2},
    {ALL, "int64 j, int64 k, int32 l, int64 count, int64 others", "mask", "j = i",
     "k = i; l = n - i", {{'i', false}, {'i', true}, {'e', true}}, 3, 0},
    {ALL, "U no, int64 count, int64 others", "mask", "", "no = z", {{'z', true}}, 1, 0},
};
#undef ALL

static size_t bytes_of(const output *o, const sample *in)
{
    return o->of == 'x' ? in[0].itemsize : o->of == 'z' ? in[1].itemsize : o->of == 'i' ? 8 : 4;
}

static void put_expected(const output *o, const sample *in, int64_t i, int64_t n,
                         unsigned char *to)
{
    const int32_t from_end = (int32_t)(n - i);

    if (o->of == 'i')
        memcpy(to, &i, sizeof i);
    else if (o->of == 'e')
        memcpy(to, &from_end, sizeof from_end);
    else
        memcpy(to, element(&in[o->of == 'z'], i), bytes_of(o, in));
}

static int64_t read_number(test_env *t, const kiln_array *count)
{
    int64_t number = -1;

    assert_int_equal(kiln_array_rank(count), 0);
    OK(t, kiln_array_to_host(count, &number, sizeof number, NULL, &t->err));
    return number;
}

/* Compare the first elements of an output with those that a loop gives. */
static void check_output(test_env *t, const definition *d, int nth, const sample *in, int64_t n,
                         const kiln_array *got, const kiln_array *count)
{
    const output *const o = &d->outputs[nth];
    const size_t size = bytes_of(o, in);
    kiln_array *first = NULL;
    unsigned char *const bytes = malloc((size_t)n * size + 1);
    int64_t at = 0;
    unsigned char wanted[16];

    assert_non_null(bytes);
    const int64_t number = read_number(t, count);
    OK(t, kiln_array_first(got, count, &first, &t->err));
    OK(t, kiln_array_to_host(first, bytes, (size_t)number * size, NULL, &t->err));
    for (int64_t i = 0; i < n; i++) {
        if (keeps(d, *element(&in[2], i) != 0, i) == o->rest)
            continue;
        put_expected(o, in, i, n, wanted);
        if (at < number && memcmp(bytes + (size_t)at * size, wanted, size) != 0)
            fail_msg("`%s`: element %d of output %d is not that of element %d", d->out, (int)at, nth,
                     (int)i);
        at++;
    }
    assert_int_equal(number, at);
    kiln_array_release(first);
    free(bytes);
}

/* An array for an output, whose elements are `step` apart. */
static kiln_array *room_for(test_env *t, kiln_dtype dtype, int64_t n, int64_t step)
{
    const int64_t all = n * (step < 0 ? -step : step) + 1;
    kiln_array *whole = NULL, *view = NULL;

    OK(t, kiln_array_empty(t->ctx, dtype, 1, &all, &whole, &t->err));
    OK(t, kiln_array_slice(whole, 0, step < 0 ? all - 1 : 0, step < 0 ? 0 : all - 1, step, &view,
                           &t->err));
    kiln_array_release(whole);
    return view;
}

/* Run a definition over inputs of these dtypes and layouts; outputs are new ones, or have a step. */
static void check(test_env *t, const definition *d, const int64_t *shape, const kiln_dtype *dtypes,
                  const int *layouts, unsigned trues, int64_t step)
{
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *op = NULL;
    const int64_t n = shape[0] * shape[1];
    sample in[INPUTS];
    kiln_array *made[OUTPUTS + 2] = {NULL};
    kiln_arg args[INPUTS + OUTPUTS + 2];
    const size_t count = (size_t)(INPUTS + d->output_count + 2);

    for (int k = 0; k < INPUTS; k++) {
        in[k] = make(t, k < 2 ? dtypes[k] : KILN_BOOL, shape, layouts[k], trues);
        args[k] = kiln_arg_array(in[k].array);
    }
    for (int k = 0; k < d->output_count + 2; k++)
        args[INPUTS + k] = kiln_arg_out(&made[k]);
    for (int k = 0; k < d->output_count && step != 0 && n > 0; k++) {
        const char of = d->outputs[k].of;
        made[k] = room_for(t, of == 'x' ? dtypes[0] : of == 'z' ? dtypes[1] : of == 'i' ? KILN_INT64 : KILN_INT32,
                           n, step);
    }
    options.otherwise = d->otherwise;
    OK(t, kiln_filter_create(t->ctx, d->in, d->out, d->where, d->op, &options, &op, &t->err));
    OK(t, kiln_filter_run(op, args, count, NULL, &t->err));
    for (int k = 0; k < d->output_count; k++) {
        assert_int_equal(kiln_array_shape(made[k])[0], n);
        check_output(t, d, k, in, n, made[k], made[d->output_count + d->outputs[k].rest]);
    }
    assert_int_equal(read_number(t, made[d->output_count]) +
                         read_number(t, made[d->output_count + 1]),
                     n);
    for (int k = 0; k < d->output_count + 2; k++)
        kiln_array_release(made[k]);
    for (int k = 0; k < INPUTS; k++)
        drop(&in[k]);
    kiln_filter_destroy(op);
}

/* ---- tests ---- */

#define DTYPE(NAME, ...) KILN_##NAME,
static const kiln_dtype dtypes[] = {KILN_DTYPE_MAP(DTYPE)};
#undef DTYPE

/* Of all dtypes in turn, with all elements kept, none, and shares between. */
static void test_partition_copy__every_dtype(void **state)
{
    test_env *t = *state;
    static const unsigned trues[] = {0, 3, 50, 98, 100};
    static const int dense[INPUTS] = {DENSE, DENSE, DENSE};

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        const kiln_dtype both[] = {dtypes[k], dtypes[(k + 5) % COUNT(dtypes)]};
        const int64_t shape[] = {(int64_t)test_random_below(t, 60),
                                 1 + (int64_t)test_random_below(t, 400)};
        if (test_drawn(t))
            check(t, &definitions[k % COUNT(definitions)], shape, both, dense,
                  trues[test_random_below(t, COUNT(trues))], 0);
    }
}

/* Sizes from nothing to several tiles, with kernels that are the same; results that a tile's buffer does not hold. */
static void test_partition_copy__every_size(void **state)
{
    test_env *t = *state;
    static const int dense[INPUTS] = {DENSE, DENSE, DENSE};
    static const kiln_dtype both[] = {KILN_FLOAT32, KILN_FLOAT64};
    static const int64_t sizes[] = {0, 1, 2, 31, 64, 65, 1000, 4095, 4097, 70001};

    for (size_t k = 0; k < COUNT(sizes); k++) {
        const int64_t shape[] = {1, sizes[k]};
        for (unsigned trues = 0; trues <= 100; trues += 50)
            check(t, &definitions[0], shape, both, dense, trues, 0);
    }
    static const kiln_dtype wide[] = {KILN_FLOAT64, KILN_COMPLEX128};
    check(t, &definitions[2], (int64_t[]){9, 1111}, wide, dense, 50, 0);
}

static void test_partition_copy__every_layout(void **state)
{
    test_env *t = *state;
    static const kiln_dtype both[] = {KILN_INT32, KILN_COMPLEX128};
    static const int64_t steps[] = {0, 2, -1, -3};

    for (int k = 0; k < 2 * LAYOUTS; k++) {
        const int layouts[] = {k % LAYOUTS, (k + 1 + k / LAYOUTS) % LAYOUTS, (k / 2) % LAYOUTS};
        const int64_t shape[] = {1 + (int64_t)test_random_below(t, 90),
                                 1 + (int64_t)test_random_below(t, 90)};
        if (test_drawn(t))
            check(t, &definitions[(size_t)k % COUNT(definitions)], shape, both, layouts, 40,
                  steps[(size_t)k % COUNT(steps)]);
    }
}

/* ---- by masks ---- */

/* Parts of an array of two axes by a mask of `axes` of them, against a loop over the parts. */
static void check_masked(test_env *t, const int64_t *shape, const int *layouts, int axes, unsigned trues,
                         bool wait)
{
    sample x = make(t, KILN_INT16, shape, layouts[0], 0);
    sample mask = make(t, KILN_BOOL, axes == 2 ? shape : (int64_t[]){1, shape[0]}, layouts[1], trues);
    const int64_t parts = axes == 2 ? shape[0] * shape[1] : axes == 1 ? shape[0] : 1;
    const int64_t width = axes == 2 ? 1 : axes == 1 ? shape[1] : shape[0] * shape[1];
    kiln_array *cut = NULL, *out[2] = {NULL}, *count[2] = {NULL};

    if (axes < 2)
        OK(t, kiln_array_select(mask.array, 0, 0, &cut, &t->err));
    if (axes == 0) {
        kiln_array *const row = cut;
        OK(t, kiln_array_select(row, 0, 0, &cut, &t->err));
        kiln_array_release(row);
    }
    OK(t, kiln_array_partition_copy(x.array, axes < 2 ? cut : mask.array, &out[0], &out[1],
                                    wait ? NULL : &count[0], wait ? NULL : &count[1], &t->err));
    for (int side = 0; side < 2; side++) {
        kiln_array *first = NULL;
        int64_t at = 0;

        assert_int_equal(kiln_array_rank(out[side]), 3 - axes);
        if (!wait)
            OK(t, kiln_array_first(out[side], count[side], &first, &t->err));
        const kiln_array *const used = wait ? out[side] : first;
        const int64_t many = kiln_array_shape(used)[0];
        unsigned char *const got = malloc((size_t)(many * width) * 2 + 1);
        assert_non_null(got);
        OK(t, kiln_array_to_host(used, got, (size_t)(many * width) * 2, NULL, &t->err));
        for (int64_t p = 0; p < parts; p++) {
            if ((*element(&mask, p) != 0) != (side == 0))
                continue;
            assert_true(at < many);
            for (int64_t k = 0; k < width; k++)
                assert_memory_equal(got + 2 * (at * width + k), element(&x, p * width + k), 2);
            at++;
        }
        assert_int_equal(at, many);
        free(got);
        kiln_array_release(first);
        kiln_array_release(out[side]);
        kiln_array_release(count[side]);
    }
    kiln_array_release(cut);
    drop(&x);
    drop(&mask);
}

static void test_partition_copy__by_masks_of_all_and_of_first_axes(void **state)
{
    test_env *t = *state;

    for (int k = 0; k < 9; k++) {
        const int layouts[] = {k % 3 == 0 ? DENSE : TURNED, DENSE};
        const int64_t shape[] = {1 + (int64_t)test_random_below(t, 40), (int64_t)test_random_below(t, 30)};
        check_masked(t, shape, layouts, k % 3, (unsigned)k * 12, k >= 5);
    }
}

static void test_partition_copy__by_bad_masks(void **state)
{
    test_env *t = *state;
    static const int64_t of_x[] = {2, 3}, of_mask[] = {3, 2};
    sample x = make(t, KILN_INT16, of_x, DENSE, 0), mask = make(t, KILN_BOOL, of_mask, DENSE, 50);
    kiln_array *y = x.array, *z = x.array, *count = x.array;

    FAILS(t, KILN_ERR_SHAPE, kiln_array_partition_copy(x.array, mask.array, &y, &z, NULL, NULL, &t->err),
          "along axis 0: 3 elements, and the array has 2");
    assert_null(y);
    assert_null(z);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_partition_copy(x.array, x.array, &y, &z, NULL, NULL, &t->err),
          "a mask is of bool, not of int16");
    FAILS(t, KILN_ERR_NULL, kiln_array_partition_copy(mask.array, mask.array, &y, &z, &count, NULL, &t->err),
          "other_count");
    assert_null(count);
    FAILS(t, KILN_ERR_NULL, kiln_array_partition_copy(mask.array, mask.array, &y, NULL, NULL, NULL, &t->err),
          "others");
    drop(&x);
    drop(&mask);
}

/* ---- calls, and what is refused ---- */

/* The first filter above, over a vector of int32. */
static kiln_filter *define_positive(test_env *t)
{
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *op = NULL;

    options.otherwise = "no = -x";
    OK(t, kiln_filter_create(t->ctx, "T x", "T y, T no, int64 count, int64 others", "x > 0", "y = x",
                             &options, &op, &t->err));
    return op;
}

static void check_six(test_env *t, const kiln_array *values, const kiln_array *count,
                      const int32_t *wanted, int64_t many)
{
    int32_t got[6];

    assert_int_equal(read_number(t, count), many);
    OK(t, kiln_array_to_host(values, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, wanted, (size_t)many * sizeof got[0]);
}

/* Prepared launches and programs run again and again, with what the arrays hold then; an output may be the input. */
static void test_partition_copy__prepared_captured_and_in_place(void **state)
{
    test_env *t = *state;
    static const int32_t x[] = {4, -1, 0, 7, -3, 9}, y[] = {-5, -6, -7, 1, -8, -9};
    const int64_t shape[] = {6};
    kiln_filter *const op = define_positive(t);
    kiln_array *a = NULL, *yes = NULL, *no = NULL, *count = NULL, *others = NULL, *values[2];
    kiln_launch *launch = NULL;
    kiln_program *program = NULL;

    OK(t, kiln_array_empty(t->ctx, KILN_INT32, 1, shape, &a, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, x, NULL, &values[0], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, y, NULL, &values[1], &t->err));
    const kiln_arg args[] = {kiln_arg_array(a), kiln_arg_out(&yes), kiln_arg_out(&no),
                             kiln_arg_out(&count), kiln_arg_out(&others)};
    OK(t, kiln_filter_prepare(op, args, COUNT(args), NULL, &launch, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_filter_run(op, args, COUNT(args), NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    for (int turn = 0; turn < 4; turn++) {
        OK(t, kiln_array_assign(a, values[turn % 2], &t->err));
        if (turn < 2)
            OK(t, kiln_launch_run(launch, NULL, &t->err));
        else
            OK(t, kiln_program_run(program, NULL, &t->err));
        check_six(t, yes, count, turn % 2 == 0 ? (int32_t[]){4, 7, 9} : (int32_t[]){1},
                  turn % 2 == 0 ? 3 : 1);
        check_six(t, no, others,
                  turn % 2 == 0 ? (int32_t[]){1, 0, 3} : (int32_t[]){5, 6, 7, 8, 9},
                  turn % 2 == 0 ? 3 : 5);
    }
    kiln_launch_destroy(launch);
    kiln_program_destroy(program);
    OK(t, kiln_array_assign(a, values[0], &t->err));
    const kiln_arg same[] = {kiln_arg_array(a), kiln_arg_array(yes), kiln_arg_array(a),
                             kiln_arg_array(count), kiln_arg_array(others)};
    FAILS(t, KILN_ERR_OVERLAP, kiln_filter_prepare(op, same, COUNT(same), NULL, &launch, &t->err),
          "an input overlaps an output");
    OK(t, kiln_filter_run(op, same, COUNT(same), NULL, &t->err));
    check_six(t, yes, count, (int32_t[]){4, 7, 9}, 3);
    check_six(t, a, others, (int32_t[]){1, 0, 3}, 3);
    kiln_array_release(a);
    kiln_array_release(values[0]);
    kiln_array_release(values[1]);
    kiln_array_release(yes);
    kiln_array_release(no);
    kiln_array_release(count);
    kiln_array_release(others);
    kiln_filter_destroy(op);
}

static void refuse(test_env *t, const char *out, const char *op, const char *otherwise,
                   const char *text)
{
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *filter = NULL;

    options.otherwise = otherwise;
    FAILS(t, KILN_ERR_SYNTAX,
          kiln_filter_create(t->ctx, "T x", out, "x > 0", op, &options, &filter, &t->err), text);
    assert_null(filter);
}

static void test_partition_copy__bad_definitions(void **state)
{
    test_env *t = *state;
    const int64_t six[] = {6};
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *op = NULL;
    kiln_array *x = NULL, *y = NULL, *count = NULL;

    refuse(t, "T y, T no, int64 count", "y = x", "no = x", "and not `no`");
    refuse(t, "T y, T no, int64 count, int32 m", "y = x", "no = x", "and not `m`");
    refuse(t, "int64 m", "", "m = x", "and not `m`");
    refuse(t, "T y, int64 m, int64 n", "y = x", "y = x", "op and otherwise both mention output `y`");
    refuse(t, "T y, int64 m, int64 n", "y = x", ";", "otherwise assigns none of the outputs");
    options.otherwise = "no = x +";
    OK(t, kiln_filter_create(t->ctx, "T x", "T y, T no, int64 m, int64 k", "x > 0", "y = x", &options,
                             &op, &t->err));
    OK(t, kiln_array_empty(t->ctx, KILN_INT32, 1, six, &x, &t->err));
    FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x, &y, &y, &count, &count), "otherwise, line 1");
    kiln_array_release(x);
    kiln_filter_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_partition_copy__every_dtype),
        TEST(test_partition_copy__every_size),
        TEST(test_partition_copy__every_layout),
        TEST(test_partition_copy__by_masks_of_all_and_of_first_axes),
        TEST(test_partition_copy__by_bad_masks),
        TEST(test_partition_copy__prepared_captured_and_in_place),
        TEST(test_partition_copy__bad_definitions),
    };
    return test_env_main(argc, argv, "test_partition_copy", tests, COUNT(tests));
}
