/*
 * test_float8.c - float8_e4m3fn and float8_e5m2: every code decoded, every rounding boundary encoded, on the
 * host and in kernels; arithmetic that is rounded to the dtype; files, DLPack and what is refused.
 *
 * The values of all codes are computed here from the definition of the formats, and rounding is a search
 * for the nearest of them: nothing is shared with the library. data/float8.txt is what ml_dtypes and
 * NumPy give (data/make_float8.py).
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "graph_env.h"
#include "ops/ops.h"
#include "test_data.h"

enum { CODES = 256, ELEMENTS = 8 };

/* `beyond`: the first code that is no finite number, and the number that it would be. */
typedef struct format {
    kiln_dtype dtype;
    int fraction_bits, bias;
    int beyond;
    double beyond_value, overflow;
} format;

static const format formats[] = {
    {KILN_FLOAT8_E4M3FN, 3, 7, 0x7f, 480, NAN},
    {KILN_FLOAT8_E5M2, 2, 15, 0x7c, 65536, INFINITY},
};

static double decode(const format *f, int code)
{
    const int ones = (1 << f->fraction_bits) - 1, fraction = code & ones;
    const int exponent = (code & 0x7f) >> f->fraction_bits;
    double v = exponent == 0 ? ldexp(fraction, 1 - f->bias - f->fraction_bits)
                             : ldexp(fraction + ones + 1, exponent - f->bias - f->fraction_bits);
    if ((code & 0x7f) >= f->beyond)
        v = (code & 0x7f) == f->beyond ? f->overflow : NAN;
    return (code & 0x80) != 0 ? -v : v;
}

/* The value of the code that is nearest to `v`; of two the even one. */
static double nearest(const format *f, double v)
{
    int best = 0;
    double least = INFINITY;
    if (isnan(v))
        return v;
    for (int code = 0; code <= f->beyond; code++) {
        const double value = code == f->beyond ? f->beyond_value : decode(f, code);
        const double away = fabs(fabs(v) - value);
        if (away < least || (away == least && code % 2 == 0)) {
            best = code;
            least = away;
        }
    }
    if (fabs(v) >= f->beyond_value)
        best = f->beyond;
    return copysign(decode(f, best), v);
}

/* NaN has no sign that counts. */
static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, size_t count, const void *data)
{
    kiln_array *x = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, (int64_t[]){(int64_t)count}, data, NULL, &x,
                               &t->err));
    return x;
}

static kiln_array *codes_of(test_env *t, const format *f)
{
    uint8_t codes[CODES];
    for (int k = 0; k < CODES; k++)
        codes[k] = (uint8_t)k;
    return array_of(t, f->dtype, CODES, codes);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static void test_float8__every_code_becomes_its_number(void **state)
{
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = codes_of(t, &formats[f]), *wide = NULL;
        float got[CODES];
        double full[CODES];
        OK(t, kiln_array_cast(x, KILN_FLOAT32, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, got, sizeof got, NULL, &t->err));
        kiln_array_release(wide);
        graph_fetch(t, x, full, CODES);
        for (int k = 0; k < CODES; k++) {
            const uint8_t code = (uint8_t)k;
            const double want = decode(&formats[f], k);
            const double host = (double)kiln__narrow_load(formats[f].dtype, &code);
            kiln_scalar item;
            CHECK(same(got[k], want) && same(full[k], want) && same(host, want),
                  "%s 0x%02x is %a, got %a, %a, %a", kiln_dtype_name(formats[f].dtype), k, want,
                  (double)got[k], full[k], host);
            OK(t, kiln_array_item(x, (int64_t[]){k}, &item, &t->err));
            CHECK(same(item.value.f, want), "item %d is %a", k, item.value.f);
        }
        kiln_array_release(x);
    }
}

/* Numbers around all rounding boundaries of both formats, all float16, and random floats. */
static size_t make_numbers(test_env *t, float *x)
{
    size_t count = 0;
    for (size_t f = 0; f < COUNT(formats); f++)
        for (int k = 0; k < CODES; k++) {
            const bool last = (k & 0x7f) + 1 == formats[f].beyond;
            const double v = decode(&formats[f], k);
            const double next = last ? copysign(formats[f].beyond_value, v)
                                     : decode(&formats[f], (k & 0x7f) + 1) * (k < 0x80 ? 1 : -1);
            const float middle = (float)((v + next) / 2);
            x[count++] = middle;
            x[count++] = nextafterf(middle, INFINITY);
            x[count++] = nextafterf(middle, -INFINITY);
        }
    for (uint32_t k = 0; k < 0x10000; k++)
        x[count++] = kiln__float16_to_float((uint16_t)k);
    for (int k = 0; k < 0x4000; k++) {
        const uint32_t bits = (uint32_t)test_random(t);
        memcpy(&x[count++], &bits, sizeof bits);
    }
    return count;
}

static void test_float8__numbers_are_rounded_once_to_the_nearest_even(void **state)
{
    test_env *t = *state;
    enum { MOST = 6 * CODES + 0x10000 + 0x4000 };
    float *x = malloc(MOST * sizeof *x);
    double *full = malloc(MOST * sizeof *full);
    uint8_t *got = malloc(MOST), *got_full = malloc(MOST);
    const size_t count = make_numbers(t, x);

    for (size_t f = 0; f < COUNT(formats); f++) {
        const format *const form = &formats[f];
        kiln_array *single = array_of(t, KILN_FLOAT32, count, x), *wide = NULL, *narrow = NULL;
        for (size_t k = 0; k < count; k++) /* what rounding to a float on the way would lose */
            full[k] = isfinite(x[k]) ? (double)x[k] * (1 + 0x1p-40) : (double)x[k];
        wide = array_of(t, KILN_FLOAT64, count, full);
        OK(t, kiln_array_cast(single, form->dtype, &narrow, &t->err));
        OK(t, kiln_array_to_host(narrow, got, count, NULL, &t->err));
        kiln_array_release(narrow);
        narrow = NULL;
        OK(t, kiln_array_cast(wide, form->dtype, &narrow, &t->err));
        OK(t, kiln_array_to_host(narrow, got_full, count, NULL, &t->err));
        for (size_t k = 0; k < count; k++) {
            uint8_t host;
            kiln__narrow_store(form->dtype, full[k], &host);
            const double want = nearest(form, x[k]), want_full = nearest(form, full[k]);
            CHECK(same(decode(form, got[k]), want), "%s(%a) is %a, got %a",
                  kiln_dtype_name(form->dtype), (double)x[k], want, decode(form, got[k]));
            CHECK(same(decode(form, got_full[k]), want_full) && same(decode(form, host), want_full),
                  "%s(%a) is %a, got %a, on the host %a", kiln_dtype_name(form->dtype), full[k],
                  want_full, decode(form, got_full[k]), decode(form, host));
        }
        kiln_array_release(single);
        kiln_array_release(wide);
        kiln_array_release(narrow);
    }
    free(x);
    free(full);
    free(got);
    free(got_full);
}

static void test_float8__integers_and_each_other(void **state)
{
    test_env *t = *state;
    static const int64_t whole[] = {0,   1,    -3,    17,    19,        464,
                                    465, -464, 61439, 61440, INT64_MIN, INT64_MAX};
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = array_of(t, KILN_INT64, COUNT(whole), whole), *narrow = NULL;
        double got[CODES];
        OK(t, kiln_array_cast(x, formats[f].dtype, &narrow, &t->err));
        graph_fetch(t, narrow, got, COUNT(whole));
        for (size_t k = 0; k < COUNT(whole); k++)
            CHECK(same(got[k], nearest(&formats[f], (double)whole[k])), "%lld became %a",
                  (long long)whole[k], got[k]);
        kiln_array_release(x);
        kiln_array_release(narrow);
        narrow = NULL;
        x = codes_of(t, &formats[f]);
        OK(t, kiln_array_cast(x, formats[1 - f].dtype, &narrow, &t->err));
        graph_fetch(t, narrow, got, CODES);
        for (int k = 0; k < CODES; k++)
            CHECK(same(got[k], nearest(&formats[1 - f], decode(&formats[f], k))),
                  "0x%02x became %a", k, got[k]);
        kiln_array_release(x);
        kiln_array_release(narrow);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* All pairs of codes; a sum of two floats and a product of two float8 in float are exact or rounded to float
 * first, from where a second rounding can only differ for sums far apart: the float is the meaning. */
static void test_float8__all_pairs_are_rounded_to_the_dtype(void **state)
{
    static const kiln_op ops[] = {KILN_OP_ADD, KILN_OP_MULTIPLY, KILN_OP_DIVIDE};
    test_env *t = *state;
    double *got = malloc((size_t)CODES * CODES * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++)
        for (size_t o = 0; o < COUNT(ops); o++) {
            kiln_array *row = codes_of(t, &formats[f]), *column = NULL, *z = NULL;
            OK(t, kiln_array_newaxis(row, 1, &column, &t->err));
            OK(t, kiln_array_op(ops[o], KILN_ARGS(column, row), NULL, &z, &t->err));
            assert_int_equal(kiln_array_dtype(z), formats[f].dtype);
            graph_fetch(t, z, got, (size_t)CODES * CODES);
            for (int k = 0; k < CODES * CODES; k++) {
                const float x = (float)decode(&formats[f], k / CODES);
                const float y = (float)decode(&formats[f], k % CODES);
                const volatile float r = ops[o] == KILN_OP_ADD        ? x + y
                                         : ops[o] == KILN_OP_MULTIPLY ? x * y
                                                                      : x / y;
                CHECK(same(got[k], nearest(&formats[f], r)), "%s: %a and %a gave %a, not %a",
                      kiln_op_name(ops[o]), (double)x, (double)y, got[k], nearest(&formats[f], r));
            }
            kiln_array_release(row);
            kiln_array_release(column);
            kiln_array_release(z);
        }
    free(got);
}

/* A scan or unique(): what there is no function for in expressions. */
static bool compute_named(test_env *t, const char *text, const kiln_array *x, kiln_array **out)
{
    for (kiln_scan_op op = KILN_SCAN_CUMSUM; op <= KILN_SCAN_CUMMIN; op++)
        if (strncmp(text, kiln_scan_op_name(op), strlen(kiln_scan_op_name(op))) == 0) {
            OK(t, kiln_array_scan(op, x, NULL, 0, out, &t->err));
            return true;
        }
    if (strncmp(text, "unique", 6) != 0)
        return false;
    OK(t, kiln_array_unique(x, out, NULL, NULL, NULL, &t->err));
    return true;
}

static void compute(test_env *t, const char *text, kiln_array *const in[2], kiln_array **out)
{
    static const char *const names[] = {"x", "y"};
    kiln_graph *g = NULL;

    if (compute_named(t, text + strspn(text, " "), in[0], out))
        return;
    const size_t count = strchr(text, 'y') != NULL ? 2 : 1;
    kiln_arg args[] = {kiln_arg_array(in[0]), kiln_arg_array(in[1]), kiln_arg_out(out)};
    args[count] = kiln_arg_out(out);
    OK(t, kiln_graph_parse(t->ctx, text, names, count, NULL, &g, NULL, &t->err));
    OK(t, kiln_graph_run(g, args, count + 1, NULL, &t->err));
    kiln_graph_destroy(g);
}

/* One line of float8.txt. */
static void check_line(test_env *t, char *line)
{
    static const double values[2][ELEMENTS] = {{1.5, -2, 0.25, 3, -0.5, 208, 0.015625, -24},
                                               {2, 0.75, -4, 3, 0.125, 256, -0.03125, 7}};
    const char *const of = strtok(line, "|"), *const text = strtok(NULL, "|");
    const char *const out = strtok(NULL, "|");
    char *at = strtok(NULL, "|");
    kiln_array *in[2] = {NULL, NULL}, *z = NULL;
    double want[ELEMENTS], got[ELEMENTS];
    size_t count = 0;

    for (char *end; count < ELEMENTS && (want[count] = strtod(at, &end), end != at); at = end)
        count++;
    for (size_t k = 0; k < COUNT(in); k++) {
        kiln_array *wide = array_of(t, KILN_FLOAT64, ELEMENTS, values[k]);
        OK(t, kiln_array_cast(wide, kiln_dtype_from_name(of, strlen(of)), &in[k], &t->err));
        kiln_array_release(wide);
    }
    compute(t, text, in, &z);
    CHECK(kiln_array_dtype(z) == kiln_dtype_from_name(out, strlen(out)), "%s of %s is %s", text, of,
          kiln_dtype_name(kiln_array_dtype(z)));
    graph_fetch(t, z, got, count);
    for (size_t k = 0; k < count; k++)
        CHECK(same(got[k], want[k]), "%s of %s: element %zu is %a, not %a", text, of, k, got[k],
              want[k]);
    kiln_array_release(in[0]);
    kiln_array_release(in[1]);
    kiln_array_release(z);
}

static void test_float8__what_ml_dtypes_gives(void **state)
{
    test_env *t = *state;
    char path[512], line[512];
    size_t lines = 0;
    FILE *f = fopen(test_data("data/float8.txt", path, sizeof path), "r");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f) != NULL; lines++)
        if (test_drawn(t))
            check_line(t, line);
    fclose(f);
    assert_true(lines > 80);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

static void test_float8__promotion(void **state)
{
    (void)state;
    static const struct {
        kiln_dtype with, e4m3fn, e5m2;
    } table[] = {
        {KILN_BOOL, KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2},
        {KILN_INT8, KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2},
        {KILN_UINT8, KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2},
        {KILN_INT16, KILN_FLOAT32, KILN_FLOAT32},
        {KILN_UINT32, KILN_FLOAT64, KILN_FLOAT64},
        {KILN_INT64, KILN_FLOAT64, KILN_FLOAT64},
        {KILN_FLOAT16, KILN_FLOAT16, KILN_FLOAT16},
        {KILN_BFLOAT16, KILN_BFLOAT16, KILN_BFLOAT16},
        {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32},
        {KILN_FLOAT64, KILN_FLOAT64, KILN_FLOAT64},
        {KILN_COMPLEX64, KILN_COMPLEX64, KILN_COMPLEX64},
        {KILN_COMPLEX128, KILN_COMPLEX128, KILN_COMPLEX128},
        {KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E4M3FN, KILN_FLOAT16},
        {KILN_FLOAT8_E5M2, KILN_FLOAT16, KILN_FLOAT8_E5M2},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        const kiln_dtype want[] = {table[k].e4m3fn, table[k].e5m2};
        for (size_t f = 0; f < COUNT(formats); f++)
            for (int turned = 0; turned < 2; turned++) {
                kiln_dtype got = KILN_DTYPE_NONE;
                assert_true(kiln__promote(turned ? table[k].with : formats[f].dtype,
                                          turned ? formats[f].dtype : table[k].with, &got));
                CHECK(got == want[f], "%s beside %s is %s", kiln_dtype_name(formats[f].dtype),
                      kiln_dtype_name(table[k].with), kiln_dtype_name(got));
            }
    }
}

static void test_float8__npy_files_are_those_of_ml_dtypes(void **state)
{
    static const char *const headers[] = {
        "{'descr': '<V1', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f1', 'fortran_order': False, 'shape': (3,), }"};
    static const uint8_t codes[] = {0x00, 0x38, 0xc1};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = array_of(t, formats[f].dtype, COUNT(codes), codes), *y = NULL;
        char path[300], bytes[200] = {0};
        uint8_t back[COUNT(codes)];
        snprintf(path, sizeof path, "%s/float8.npy", t->temp_dir);
        OK(t, kiln_array_save_npy(x, path, &t->err));
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + COUNT(codes));
        fclose(file);
        assert_memory_equal(bytes + 10, headers[f], strlen(headers[f]));
        assert_memory_equal(bytes + 128, codes, sizeof codes);
        OK(t, kiln_array_load_npy(t->ctx, path, &y, &t->err));
        assert_int_equal(kiln_array_dtype(y), formats[f].dtype);
        OK(t, kiln_array_to_host(y, back, sizeof back, NULL, &t->err));
        assert_memory_equal(back, codes, sizeof codes);
        kiln_array_release(x);
        kiln_array_release(y);
    }
}

static void test_float8__dlpack_has_codes_for_both(void **state)
{
    static const uint8_t want[] = {kDLFloat8_e4m3fn, kDLFloat8_e5m2};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = codes_of(t, &formats[f]), *y = NULL;
        DLManagedTensorVersioned *tensor = NULL;
        OK(t, kiln_array_to_dlpack(x, NULL, &tensor, &t->err));
        assert_int_equal(tensor->dl_tensor.dtype.code, want[f]);
        assert_int_equal(tensor->dl_tensor.dtype.bits, 8);
        OK(t, kiln_array_from_dlpack(t->ctx, tensor, NULL, &y, &t->err));
        assert_int_equal(kiln_array_dtype(y), formats[f].dtype);
        kiln_array_release(x);
        kiln_array_release(y);
    }
}

static void test_float8__snippets_compute_in_float(void **state)
{
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        double got[CODES];
        kiln_array *x = codes_of(t, &formats[f]), *z = NULL;
        kiln_elementwise *kernel = NULL;
        OK(t,
           kiln_elementwise_create(t->ctx, "T x", "float32 z", "T h = x; h *= 2; z = x * x + h / 3",
                                   NULL, &kernel, &t->err));
        OK(t, kiln_call(kernel, &t->err, x, &z));
        graph_fetch(t, z, got, CODES);
        for (int k = 0; k < CODES; k++) {
            const float v = (float)decode(&formats[f], k), h = (float)nearest(&formats[f], 2 * v);
            const double want = fma(v, v, h / 3);
            CHECK(same(got[k], want) || fabs(got[k] - want) <= 1e-6 * fabs(want),
                  "%a gave %a, not %a", (double)v, got[k], want);
        }
        kiln_array_release(x);
        kiln_array_release(z);
        kiln_elementwise_destroy(kernel);
    }
}

/* ---- families -------------------------------------------------------------------------------- */

/* Numbers in order, NaN behind all of them. */
static bool comes_before(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

/* All codes, each `copies` times, mixed: short rows and rows that take several blocks. */
static void test_float8__sorts_put_nan_last(void **state)
{
    static const size_t copies[] = {1, 80};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++)
        for (size_t c = 0; c < COUNT(copies); c++) {
            const size_t count = CODES * copies[c];
            uint8_t *codes = malloc(count);
            double *got = malloc(count * sizeof *got);
            int64_t *order = malloc(count * sizeof *order);
            size_t seen[2] = {0, 0};
            kiln_array *sorted = NULL, *places = NULL;
            for (size_t k = 0; k < count; k++)
                codes[k] = (uint8_t)(k * 151 + 7);
            kiln_array *x = array_of(t, formats[f].dtype, count, codes);
            OK(t, kiln_array_sort(x, NULL, &sorted, &t->err));
            OK(t, kiln_array_argsort(x, NULL, &places, &t->err));
            graph_fetch(t, sorted, got, count);
            OK(t, kiln_array_to_host(places, order, count * sizeof *order, NULL, &t->err));
            for (size_t k = 0; k < count; k++) {
                const double v = decode(&formats[f], codes[order[k]]);
                CHECK(k == 0 || !comes_before(got[k], got[k - 1]), "%zu: %a after %a", k, got[k],
                      got[k - 1]);
                CHECK(isnan(v) ? isnan(got[k]) : v == got[k], "%zu: %a is not %a", k, got[k], v);
                seen[0] += isnan(got[k]);
                seen[1] += got[k] == 1;
            }
            assert_int_equal(seen[0], copies[c] * (formats[f].dtype == KILN_FLOAT8_E4M3FN ? 2 : 6));
            assert_int_equal(seen[1], copies[c]);
            kiln_array_release(x);
            kiln_array_release(sorted);
            kiln_array_release(places);
            free(codes);
            free(got);
            free(order);
        }
}

/* A float8 sum stalls at 2^(digits + 1): 300 ones have to be added in float32. */
static void test_float8__sums_are_added_in_float32(void **state)
{
    enum { ONES = 300, ROWS = 3 };
    static const int64_t shape[] = {ROWS, ONES};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = NULL, *y = NULL, *sums = NULL;
        double got[ROWS * ONES];
        OK(t, kiln_array_ones(t->ctx, formats[f].dtype, 2, shape, &x, &t->err));
        OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(1), false, &y, &t->err));
        assert_int_equal(kiln_array_dtype(y), formats[f].dtype);
        graph_fetch(t, y, got, ROWS);
        for (int k = 0; k < ROWS; k++)
            assert_true(got[k] == nearest(&formats[f], ONES));
        OK(t, kiln_array_scan(KILN_SCAN_CUMSUM, x, KILN_AXES(1), 0, &sums, &t->err));
        graph_fetch(t, sums, got, ROWS * ONES);
        for (int k = 0; k < ROWS * ONES; k++)
            assert_true(got[k] == nearest(&formats[f], k % ONES + 1));
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(sums);
    }
}

static void test_float8__scatters_and_bins(void **state)
{
    static const int64_t at[] = {0, 2, 2, 1, 2};
    static const double edges[] = {-100, -1, 0, 0.5, 2, 1000};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        static const uint8_t nothing[3] = {0, 0, 0};
        const double five[] = {1, 2, 3, 4, 1.5};
        kiln_array *x = array_of(t, formats[f].dtype, 3, nothing), *all = codes_of(t, &formats[f]);
        kiln_array *i = array_of(t, KILN_INT64, COUNT(at), at), *e = NULL, *counts = NULL;
        kiln_array *v = array_of(t, KILN_FLOAT64, COUNT(at), five);
        const kiln_subscript subscript = kiln_subscript_array(i);
        double got[3];
        int64_t bins[COUNT(edges) - 1], want[COUNT(edges) - 1] = {0};
        OK(t, kiln_array_scatter(x, &subscript, 1, kiln_arg_array(v), KILN_SCATTER_ADD, NULL,
                                 &t->err));
        graph_fetch(t, x, got, 3);
        assert_true(got[0] == 1 && got[1] == 4 && got[2] == nearest(&formats[f], 6.5));
        e = array_of(t, KILN_FLOAT64, COUNT(edges), edges);
        OK(t, kiln_array_histogram(all, e, &counts, &t->err));
        OK(t, kiln_array_to_host(counts, bins, sizeof bins, NULL, &t->err));
        for (int k = 0; k < CODES; k++)
            for (size_t b = 0; b < COUNT(want); b++) {
                const double value = decode(&formats[f], k);
                want[b] += value >= edges[b] && value < edges[b + 1];
            }
        for (size_t b = 0; b < COUNT(want); b++)
            CHECK(bins[b] == want[b], "bin %zu has %lld, not %lld", b, (long long)bins[b],
                  (long long)want[b]);
        kiln_array *const used[] = {x, all, i, v, e, counts};
        for (size_t k = 0; k < COUNT(used); k++)
            kiln_array_release(used[k]);
    }
}

/* The option `wide` is for 16-bit floats: operations on float8 are rounded with it as well. */
static void test_float8__wide_graphs_round_each_operation(void **state)
{
    static const char *const names[] = {"x"};
    test_env *t = *state;
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_graph_options options = KILN_GRAPH_OPTIONS_INIT;
        kiln_array *x = codes_of(t, &formats[f]), *z = NULL;
        kiln_graph *g = NULL;
        double got[CODES];
        options.wide = 1;
        OK(t, kiln_graph_parse(t->ctx, "x * x + x", names, 1, &options, &g, NULL, &t->err));
        OK(t, kiln_graph_run(g, KILN_ARGS(x, &z), NULL, &t->err));
        graph_fetch(t, z, got, CODES);
        for (int k = 0; k < CODES; k++) {
            const double v = decode(&formats[f], k);
            const double want = nearest(&formats[f], nearest(&formats[f], v * v) + v);
            CHECK(same(got[k], want), "%a gave %a, not %a", v, got[k], want);
        }
        kiln_graph_destroy(g);
        kiln_array_release(x);
        kiln_array_release(z);
    }
}

/* Digits are those of the value as a float32; ml_dtypes prints the same numbers. */
static void test_float8__prints_its_values(void **state)
{
    static const double x[] = {0.1, -48, 0.0, 416}; /* 4e2 would read back as it in e5m2 */
    static const char *const want[] = {
        "[ 1.015625e-01 -4.800000e+01  0.000000e+00  4.160000e+02]",
        "[ 9.375e-02 -4.800e+01  0.000e+00  3.840e+02]"}; /* NumPy's of float32 */
    test_env *t = *state;
    kiln_array *wide = array_of(t, KILN_FLOAT64, COUNT(x), x);
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *y = NULL;
        char *text = NULL;
        OK(t, kiln_array_cast(wide, formats[f].dtype, &y, &t->err));
        OK(t, kiln_array_to_string(y, &text, &t->err));
        assert_string_equal(text, want[f]);
        kiln_free(text);
        kiln_array_release(y);
    }
    kiln_array_release(wide);
}

/* A number that is given for a float8, or that fills one, must not become infinite or NaN. */
static void test_float8__plain_numbers_must_fit(void **state)
{
    static const double most[] = {448, 57344}, beyond[] = {465, 61440};
    test_env *t = *state;
    kiln_elementwise *kernel = NULL;
    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = x + a", NULL, &kernel, &t->err));
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = NULL, *z = NULL;
        double got[2];
        OK(t, kiln_array_zeros(t->ctx, formats[f].dtype, 1, (int64_t[]){2}, &x, &t->err));
        OK(t, kiln_call(kernel, &t->err, x, most[f], &z));
        graph_fetch(t, z, got, 2);
        assert_true(got[0] == most[f] && got[1] == most[f]);
        kiln_array_release(z);
        z = NULL;
        FAILS(t, KILN_ERR_RANGE, kiln_call(kernel, &t->err, x, beyond[f], &z), "is too large for",
              kiln_dtype_name(formats[f].dtype));
        FAILS(t, KILN_ERR_RANGE,
              kiln_array_full(t->ctx, formats[f].dtype, 1, (int64_t[]){2}, beyond[f], &z, &t->err),
              "does not fit", kiln_dtype_name(formats[f].dtype));
        OK(t, kiln_array_full(t->ctx, formats[f].dtype, 1, (int64_t[]){2}, 0.1, &z, &t->err));
        graph_fetch(t, z, got, 2);
        assert_true(got[1] == nearest(&formats[f], 0.1));
        kiln_array_release(x);
        kiln_array_release(z);
    }
    kiln_elementwise_destroy(kernel);
}

static void test_float8__what_is_refused_is_named(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *text, *why;
    } table[] = {
        {"spacing(x)", "spacing does not take float8_"},
        {"nextafter(x, x)", "nextafter does not take float8_"},
        {"x & x", "bitwise_and does not take float8_"},
        {"inv(reshape(x, 16, 16))", "not float8_"},
        {"x[x]", "float8_"},
    };
    for (size_t f = 0; f < COUNT(formats); f++) {
        kiln_array *x = codes_of(t, &formats[f]), *z = NULL;
        for (size_t k = 0; k < COUNT(table); k++) {
            static const char *const names[] = {"x"};
            kiln_graph *g = NULL;
            OK(t, kiln_graph_parse(t->ctx, table[k].text, names, 1, NULL, &g, NULL, &t->err));
            FAILS(t, KILN_ERR_DTYPE, kiln_graph_run(g, KILN_ARGS(x, &z), NULL, &t->err),
                  table[k].why);
            kiln_graph_destroy(g);
        }
        const int64_t count = 4;
        kiln_random rng;
        kiln_random_init(&rng, 1, 0);
        FAILS(t, KILN_ERR_DTYPE,
              kiln_random_array(&rng, t->ctx, KILN_DRAW_RANDOM, NULL, 0, formats[f].dtype, 1, &count,
                                &z, &t->err),
              "random has no numbers of dtype float8_");
        FAILS(t, KILN_ERR_DTYPE, kiln_array_bincount(x, 0, &z, &t->err), "float8_");
        kiln_array_release(x);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_float8__every_code_becomes_its_number),
        TEST(test_float8__numbers_are_rounded_once_to_the_nearest_even),
        TEST(test_float8__integers_and_each_other),
        TEST(test_float8__all_pairs_are_rounded_to_the_dtype),
        TEST(test_float8__what_ml_dtypes_gives),
        TEST(test_float8__promotion),
        TEST(test_float8__npy_files_are_those_of_ml_dtypes),
        TEST(test_float8__dlpack_has_codes_for_both),
        TEST(test_float8__snippets_compute_in_float),
        TEST(test_float8__sorts_put_nan_last),
        TEST(test_float8__sums_are_added_in_float32),
        TEST(test_float8__scatters_and_bins),
        TEST(test_float8__wide_graphs_round_each_operation),
        TEST(test_float8__prints_its_values),
        TEST(test_float8__plain_numbers_must_fit),
        TEST(test_float8__what_is_refused_is_named),
    };
    return test_env_main(argc, argv, "test_float8", tests, COUNT(tests));
}
