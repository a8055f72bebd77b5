/*
 * test_faults.c - canaries: one group of kernels for every row of the table in
 * src/device/cuda/fault.c, computed and compared with plain loops.
 *
 * They are what an assembler is known to get wrong, written as users write it: in snippets, in the
 * texts of reductions, in expressions. A faulty compiler that nothing was done about fails here; so
 * run them once with every version of NVRTC ($KILN_NVRTC).
 */
#include <stdio.h>
#include <string.h>

#include "test_env.h"

/* Even and odd, within an access and beyond a block. */
static const int64_t lengths[] = {2, 4, 8, 30, 64, 97, 1000, 4096, 33000};

enum { LENGTH_MAX = 33000, COLUMNS = 24 };
enum { LANES = 16, SMALL_MAX = 65536, PLACES_MAX = LANES / 2 * SMALL_MAX }; /* of small integers */

static const kiln_dtype dtypes[] = {KILN_INT32, KILN_INT16, KILN_INT8, KILN_INT64};

static int64_t x[LENGTH_MAX], y[LENGTH_MAX], z[LENGTH_MAX];

static void fill(test_env *t, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        x[k] = (int64_t)test_random_below(t, 101) - 50;
        y[k] = (int64_t)test_random_below(t, 101) - 50;
        z[k] = (int64_t)test_random_below(t, 101) - 50;
    }
}

/* As a conversion to the dtype does it: what is too great for int8 and int16 wraps around. */
static int64_t wrap(kiln_dtype dtype, int64_t v)
{
    return dtype == KILN_INT8 ? (int8_t)(uint8_t)v : dtype == KILN_INT16 ? (int16_t)(uint16_t)v : v;
}

static kiln_array *send(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                        const int64_t *values)
{
    kiln_array *wide = NULL, *a = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, rank, shape, values, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &a, &t->err));
    kiln_array_release(wide);
    return a;
}

/* Compare all elements with `want`, and release the array. */
static void expect(test_env *t, kiln_array *a, const int64_t *want, int64_t count, const char *what)
{
    static int64_t got[PLACES_MAX];
    const int64_t shape[] = {count};
    kiln_array *wide = NULL, *flat = NULL;

    CHECK(kiln_array_size(a) == count, "%s has %lld elements", what, (long long)kiln_array_size(a));
    OK(t, kiln_array_reshape(a, 1, shape, &flat, &t->err));
    OK(t, kiln_array_cast(flat, KILN_INT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, (size_t)count * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < count; k++)
        CHECK(got[k] == want[k], "%s of %s, %lld elements: element %lld is %lld, not %lld", what,
              kiln_dtype_name(kiln_array_dtype(a)), (long long)count, (long long)k,
              (long long)got[k], (long long)want[k]);
    kiln_array_release(wide);
    kiln_array_release(flat);
    kiln_array_release(a);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- element by element ---- */

typedef struct formula {
    const char *snippet, *expression; /* either may be NULL */
    int64_t (*value)(int64_t x, int64_t y, int64_t z);
} formula;

static int64_t of_pairs(int64_t a, int64_t b, int64_t c)
{
    (void)c;
    return least(-a, -b);
}

static int64_t of_triples(int64_t a, int64_t b, int64_t c)
{
    return least(least(-a, -b), -c);
}

static int64_t of_one_sign(int64_t a, int64_t b, int64_t c)
{
    return most(most(a, -b), c);
}

static int64_t of_the_last_sign(int64_t a, int64_t b, int64_t c)
{
    return most(a, most(b, -c));
}

static int64_t of_sums(int64_t a, int64_t b, int64_t c)
{
    (void)b;
    (void)c;
    return least(least(-a, 3 - a), -a - 5);
}

static int64_t of_four(int64_t a, int64_t b, int64_t c)
{
    return most(least(-a, -b), least(-c, a));
}

static int64_t of_magnitudes(int64_t a, int64_t b, int64_t c)
{
    return least(least(most(a, -a), most(b, -b)), most(c, -c));
}

static const formula formulas[] = {
    {"out = -x < -y ? -x : -y", "minimum(-x, -y)", of_pairs},
    {"T a = -x, b = -y, c = -z; T d = a < b ? a : b; out = d < c ? d : c",
     "minimum(minimum(-x, -y), -z)", of_triples},
    {"T b = -y, d = x < b ? b : x; out = d < z ? z : d", "maximum(maximum(x, -y), z)", of_one_sign},
    {"T b = 0 - y, d = x < b ? b : x; out = d < z ? z : d", "maximum(maximum(x, 0 - y), z)",
     of_one_sign},
    {"T b = y * -1, d = x < b ? b : x; out = d < z ? z : d", "maximum(maximum(x, y * -1), z)",
     of_one_sign},
    {"T b = ~y + 1, d = x < b ? b : x; out = d < z ? z : d", "maximum(maximum(x, ~y + 1), z)",
     of_one_sign},
    {"T c = -z, d = y < c ? c : y; out = x < d ? d : x", "maximum(x, maximum(y, -z))",
     of_the_last_sign},
    {"T a = -x, b = 3 - x, c = -x - 5; a = a < b ? a : b; out = a < c ? a : c",
     "minimum(minimum(-x, 3-x), -x-5)", of_sums},
    {"out = max(min((T)-x, (T)-y), min((T)-z, x))", "maximum(minimum(-x, -y), minimum(-z, x))",
     of_four},
    {"T a = x < 0 ? -x : x, b = y < 0 ? -y : y, c = z < 0 ? -z : z; a = a < b ? a : b; "
     "out = a < c ? a : c",
     "minimum(minimum(abs(x), abs(y)), abs(z))", of_magnitudes},
};

static kiln_array *parse_and_run(test_env *t, const char *text, const kiln_arg *args, size_t count)
{
    static const char *const names[] = {"x", "y", "z"};
    kiln_graph *g = NULL;
    kiln_array *out = NULL;
    kiln_arg all[4] = {args[0]};

    for (size_t k = 0; k < count; k++)
        all[k] = args[k];
    all[count] = kiln_arg_out(&out);
    OK(t, kiln_graph_parse(t->ctx, text, names, count, NULL, &g, NULL, &t->err));
    OK(t, kiln_graph_run(g, all, count + 1, NULL, &t->err));
    kiln_graph_destroy(g);
    return out;
}

static void check_formula(test_env *t, const formula *f, kiln_dtype dtype, const int64_t *shape)
{
    static int64_t want[LENGTH_MAX];
    kiln_array *a = send(t, dtype, 1, shape, x), *b = send(t, dtype, 1, shape, y);
    kiln_array *c = send(t, dtype, 1, shape, z), *out = NULL;
    kiln_elementwise *op = NULL;
    const kiln_arg args[] = {kiln_arg_array(a), kiln_arg_array(b), kiln_arg_array(c)};

    for (int64_t k = 0; k < shape[0]; k++)
        want[k] = f->value(x[k], y[k], z[k]);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y, T z", "T out", f->snippet, NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, a, b, c, &out));
    expect(t, out, want, shape[0], f->snippet);
    kiln_elementwise_destroy(op);
    expect(t, parse_and_run(t, f->expression, args, 3), want, shape[0], f->expression);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(c);
}

static void test_faults__minima_of_negated_elements(void **state)
{
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t f = 0; f < COUNT(formulas); f++)
            for (size_t n = 0, drawn = test_drawn(t); drawn && n < COUNT(lengths); n += t->cuda ? 1 : 4) {
                fill(t, lengths[n]);
                check_formula(t, &formulas[f], dtypes[d], &lengths[n]);
            }
}

/* ---- the least int16, whose negation is itself ---- */

static void test_faults__the_least_number_negated(void **state)
{
    static const struct {
        const char *snippet, *expression;
        bool least, greatest;
    } cases[] = {
        {"T a = -x; out = a", "int32(-x)", false, false},
        {"T a = 0 - x; out = a", "int32(0 - x)", false, false},
        {"T a = -x; out = a < y ? a : y", "int32(minimum(-x, y))", true, false},
        {"T a = -x; out = a < y ? y : a", "int32(maximum(-x, y))", false, true},
    };
    static const kiln_dtype small[] = {KILN_INT16, KILN_INT8};
    enum { SIZE = 1000 };
    static int64_t want[SIZE];
    const int64_t shape[] = {SIZE};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(small); d++)
        for (size_t k = 0; k < COUNT(cases); k++) {
            fill(t, SIZE);
            for (int e = 0; e < SIZE; e += 3)
                x[e] = small[d] == KILN_INT8 ? INT8_MIN : INT16_MIN;
            for (int e = 0; e < SIZE; e++) {
                const int64_t negated = wrap(small[d], -x[e]);
                want[e] = cases[k].least      ? least(negated, y[e])
                          : cases[k].greatest ? most(negated, y[e])
                                              : negated;
            }
            kiln_array *a = send(t, small[d], 1, shape, x), *b = send(t, small[d], 1, shape, y);
            kiln_array *out = NULL;
            kiln_elementwise *op = NULL;
            const kiln_arg args[] = {kiln_arg_array(a), kiln_arg_array(b)};

            OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "int32 out", cases[k].snippet, NULL,
                                          &op, &t->err));
            OK(t, kiln_call(op, &t->err, a, b, &out));
            expect(t, out, want, SIZE, cases[k].snippet);
            kiln_elementwise_destroy(op);
            expect(t, parse_and_run(t, cases[k].expression, args, 2), want, SIZE,
                   cases[k].expression);
            kiln_array_release(a);
            kiln_array_release(b);
        }
}

/* ---- reductions ---- */

static const struct {
    const char *map, *reduce; /* of a reduction of one's own */
    const char *expression;
    bool greatest;
} reductions[] = {
    {"-x", "a < b ? a : b", "min(-x%s)", false},
    {"(T)-x", "min(a, b)", "min(-x%s)", false},
    {"0 - x", "a < b ? b : a", "max(0-x%s)", true},
    {"-x", "b > a ? b : a", "max(-x%s)", true},
};

/* Over the axis of a matrix of so many columns; -1: over all. */
static void check_reduction(test_env *t, size_t r, kiln_dtype dtype, int64_t rows, int64_t columns,
                            int axis)
{
    static int64_t want[LENGTH_MAX];
    const int64_t shape[] = {rows, columns}, count = axis < 0 ? 1 : axis == 0 ? columns : rows;
    const kiln_axes axes = {1, {axis}};
    kiln_array *a = send(t, dtype, 2, shape, x), *out = NULL;
    kiln_reduction *op = NULL;
    const kiln_arg args[] = {kiln_arg_array(a)};
    char text[64], over[24] = "";

    for (int64_t k = 0; k < count; k++)
        want[k] = reductions[r].greatest ? INT64_MIN : INT64_MAX;
    for (int64_t k = 0; k < rows * columns; k++) {
        int64_t *to = &want[axis < 0 ? 0 : axis == 0 ? k % columns : k / columns];
        *to = reductions[r].greatest ? most(*to, -x[k]) : least(*to, -x[k]);
    }
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", reductions[r].map, reductions[r].reduce,
                                "y = a", NULL, NULL, &op, &t->err));
    OK(t, kiln_call_over(op, axis < 0 ? KILN_ALL_AXES : &axes, &t->err, a, &out));
    expect(t, out, want, count, reductions[r].reduce);
    kiln_reduction_destroy(op);
    if (axis >= 0)
        snprintf(over, sizeof over, ", axis=%d", axis);
    snprintf(text, sizeof text, reductions[r].expression, over);
    expect(t, parse_and_run(t, text, args, 1), want, count, text);
    kiln_array_release(a);
}

static void test_faults__minima_along_negated_rows_and_columns(void **state)
{
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t r = 0; r < COUNT(reductions); r++)
            for (size_t n = 0, drawn = test_drawn(t); drawn && n < COUNT(lengths); n += t->cuda ? 1 : 4) {
                const int64_t length = lengths[n];
                fill(t, length);
                check_reduction(t, r, dtypes[d], 1, length, -1);
                if (length < COLUMNS)
                    continue;
                for (int axis = 0; axis < 2; axis++) {
                    check_reduction(t, r, dtypes[d], length / COLUMNS, COLUMNS, axis);
                    check_reduction(t, r, dtypes[d], COLUMNS, length / COLUMNS, axis);
                }
            }
}

/* ---- all small integers, in every lane of an access ---- */

static int64_t places[PLACES_MAX + 2];

/* The nearest number of so many bits, ties to even. */
static int64_t to_bits(int64_t v, int bits)
{
    const int64_t size = v < 0 ? -v : v;
    int64_t step = 1;

    while (size / step >> bits != 0)
        step *= 2;
    const int64_t low = size / step, rest = size % step * 2;
    const int64_t rounded = (low + (rest > step || (rest == step && low % 2 != 0))) * step;
    return v < 0 ? -rounded : rounded;
}

static int64_t of_absolute(kiln_dtype d, int64_t v)
{
    return wrap(d, v < 0 ? -v : v);
}

static int64_t of_fabs(kiln_dtype d, int64_t v)
{
    (void)d;
    return v < 0 ? -v : v;
}

static int64_t of_negative(kiln_dtype d, int64_t v)
{
    return wrap(d, -v);
}

static int64_t of_itself(kiln_dtype d, int64_t v)
{
    (void)d;
    return v;
}

static int64_t of_sign(kiln_dtype d, int64_t v)
{
    (void)d;
    return (v > 0) - (v < 0);
}

static int64_t of_square(kiln_dtype d, int64_t v)
{
    return wrap(d, v * v);
}

static int64_t of_invert(kiln_dtype d, int64_t v)
{
    (void)d;
    return -v - 1;
}

static int64_t of_not(kiln_dtype d, int64_t v)
{
    (void)d;
    return v == 0;
}

static int64_t of_count(kiln_dtype d, int64_t v)
{
    int64_t count = 0;

    for (int64_t rest = of_fabs(d, v); rest != 0; rest /= 2)
        count += rest % 2;
    return count;
}

static int64_t of_half(kiln_dtype d, int64_t v)
{
    (void)d;
    return to_bits(v, 11);
}

static int64_t of_half_size(kiln_dtype d, int64_t v)
{
    return to_bits(of_fabs(d, v), 11);
}

static int64_t of_half_negated(kiln_dtype d, int64_t v)
{
    (void)d;
    return to_bits(-v, 11);
}

static int64_t of_bfloat16(kiln_dtype d, int64_t v)
{
    (void)d;
    return to_bits(v, 8);
}

static int64_t of_bfloat16_size(kiln_dtype d, int64_t v)
{
    return to_bits(of_fabs(d, v), 8);
}

static int64_t of_bfloat16_negated(kiln_dtype d, int64_t v)
{
    (void)d;
    return to_bits(-v, 8);
}

static const struct {
    const char *expression;
    int64_t (*value)(kiln_dtype dtype, int64_t v);
} unary[] = {
    {"abs(x)", of_absolute},
    {"fabs(x)", of_fabs},
    {"-x", of_negative},
    {"+x", of_itself},
    {"sign(x)", of_sign},
    {"square(x)", of_square},
    {"~x", of_invert},
    {"logical_not(x)", of_not},
    {"bitwise_count(x)", of_count},
    {"floor(x)", of_itself},
    {"rint(x)", of_itself},
    {"round(x)", of_itself},
    {"float16(x)", of_half},
    {"abs(float16(x))", of_half_size},
    {"fabs(float16(float32(x)))", of_half_size},
    {"-float16(x)", of_half_negated},
    {"sign(float16(x))", of_sign},
    {"bfloat16(x)", of_bfloat16},
    {"abs(bfloat16(x))", of_bfloat16_size},
    {"fabs(bfloat16(float32(x)))", of_bfloat16_size},
    {"-bfloat16(x)", of_bfloat16_negated},
    {"sign(bfloat16(x))", of_sign},
};

/* Every value stands in each lane of an access of as many lanes, for rows of `values` accesses. */
static int64_t value_at(kiln_dtype dtype, int64_t place, int64_t lanes, int64_t values)
{
    return wrap(dtype, place / lanes + place % lanes * 17 % values);
}

static void check_unary(test_env *t, kiln_dtype dtype, int64_t lanes, int64_t values, int64_t start)
{
    static int64_t want[PLACES_MAX];
    const int64_t count = lanes * values, shape[] = {count + start};
    kiln_array *all, *a = NULL;
    kiln_arg args[1];

    for (int64_t k = 0; k < count; k++)
        places[start + k] = value_at(dtype, k, lanes, values);
    all = send(t, dtype, 1, shape, places);
    OK(t, kiln_array_slice(all, 0, start, count + start, 1, &a, &t->err));
    args[0] = kiln_arg_array(a);
    for (size_t u = 0; u < COUNT(unary); u++) {
        if (!test_mine(t))
            continue;
        for (int64_t k = 0; k < count; k++)
            want[k] = unary[u].value(dtype, places[start + k]);
        expect(t, parse_and_run(t, unary[u].expression, args, 1), want, count, unary[u].expression);
    }
    kiln_array_release(a);
    kiln_array_release(all);
}

static void test_faults__small_integers_in_every_lane(void **state)
{
    test_env *t = *state;

    for (int64_t start = 0; start < 3; start++)
        check_unary(t, KILN_INT8, LANES, 256, start);
    /* The fault is one of a GPU's compiler: the cpu device, which compiles slowly, proves the table. */
    for (int64_t start = 0; t->cuda && start < 2; start++)
        check_unary(t, KILN_INT16, LANES / 2, SMALL_MAX, start);
}

/* As users read the bits of a number that they have just rounded. */
static void test_faults__masks_of_halves_in_snippets(void **state)
{
    static const char *const snippets[] = {
        "float16 h = x; unsigned short b; memcpy(&b, &h, 2); out = b & 0x7fff",
        "float16 h = x; unsigned short b; memcpy(&b, &h, 2); b &= 0x7fff; memcpy(&h, &b, 2); "
        "out = (unsigned short)h",
    };
    enum { SIZE = 4096 };
    static int64_t want[SIZE];
    const int64_t shape[] = {SIZE};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(snippets); k++) {
        kiln_array *a, *out = NULL;
        kiln_elementwise *op = NULL;

        for (int e = 0; e < SIZE; e++)
            x[e] = e % 2 == 0 ? e / 2 : -e / 2;
        a = send(t, KILN_FLOAT32, 1, shape, x);
        OK(t, kiln_elementwise_create(t->ctx, "float32 x", "uint16 out", snippets[k], NULL, &op,
                                      &t->err));
        OK(t, kiln_call(op, &t->err, a, &out));
        for (int64_t e = 0; e < SIZE; e++) {
            const int64_t size = e / 2;
            int power = 0;
            while (size >> power > 1)
                power++;
            const int64_t bits =
                size == 0 ? 0 : (int64_t)(power + 15) * 1024 + ((size << 10 >> power) - 1024);
            want[e] = k == 0 ? bits : size;
        }
        expect(t, out, want, SIZE, snippets[k]);
        kiln_elementwise_destroy(op);
        kiln_array_release(a);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults__minima_of_negated_elements),
        TEST(test_faults__the_least_number_negated),
        TEST(test_faults__small_integers_in_every_lane),
        TEST(test_faults__masks_of_halves_in_snippets),
        TEST(test_faults__minima_along_negated_rows_and_columns),
    };
    test_env_compile_ahead();
    return test_env_main(argc, argv, "test_faults", tests, COUNT(tests));
}
