/*
 * test_ops_values.c - what every operation gives for every dtype, against NumPy and SciPy.
 *
 * data/ops.txt and data/ops.dat (make_ops.py) hold operands and results, the interesting values
 * among them: NaN, infinities, both zeros, least and greatest, wide shifts, division by zero. Some
 * hundred cases are computed by one kernel: an elementwise kernel over nothing but raw bytes, with
 * a block of statements for each case, whose expression is what kiln__op_text() gives. So
 * thousands of combinations cost some ten compilations.
 *
 * KILN_TEST_TABLE=1 prints the largest error of each operation.
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/graph/ops.h"
#include "test_data.h"
#include "test_env.h"

enum { LINE_BYTES = 256, OPERAND_MAX = 256, CASE_MAX = 2048, KERNEL_CASES = 120 };

typedef struct operand {
    char name[8];
    kiln_dtype dtype;
    size_t offset, count;
} operand;

typedef struct op_case {
    const kiln__op *op;
    kiln_dtype out;
    double ulps;
    size_t offset; /* of the results */
    const operand *in[KILN__OP_ARITY_MAX];
    size_t count;
    bool done;
} op_case;

typedef struct table {
    unsigned char *bytes; /* ops.dat */
    size_t size;
    operand operands[OPERAND_MAX];
    size_t operand_count;
    op_case cases[CASE_MAX];
    size_t case_count;
} table;

/* ---- the files ------------------------------------------------------------------------------- */

static kiln_dtype dtype_of(char letter)
{
    static const char letters[] = "?bhiqBHIQeEfdFD";
    static const kiln_dtype dtypes[] = {
        KILN_BOOL,   KILN_INT8,    KILN_INT16,    KILN_INT32,   KILN_INT64,
        KILN_UINT8,  KILN_UINT16,  KILN_UINT32,   KILN_UINT64,  KILN_FLOAT16,
        KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128,
    };
    const char *at = strchr(letters, letter);
    assert_non_null(at);
    return dtypes[at - letters];
}

static const operand *find_operand(const table *t, const char *name)
{
    for (size_t k = 0; k < t->operand_count; k++)
        if (strcmp(t->operands[k].name, name) == 0)
            return &t->operands[k];
    fail_msg("no operand \"%s\"", name);
    return NULL;
}

static void read_line(table *t, char *line)
{
    char *place = NULL;
    const char *kind = strtok_r(line, " \n", &place), *name = strtok_r(NULL, " \n", &place);
    const char *dtype = strtok_r(NULL, " \n", &place);
    assert_true(kind != NULL && name != NULL && dtype != NULL);
    if (strcmp(kind, "operand") == 0) {
        operand *o = &t->operands[t->operand_count++];
        assert_true(t->operand_count < OPERAND_MAX && strlen(name) < sizeof o->name);
        strcpy(o->name, name);
        o->dtype = dtype_of(dtype[0]);
        o->offset = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
        o->count = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
        assert_true(o->offset + o->count * kiln_dtype_size(o->dtype) <= t->size);
        return;
    }
    op_case *c = &t->cases[t->case_count++];
    assert_true(t->case_count < CASE_MAX);
    c->op = kiln__op_named(name, strlen(name));
    CHECK(c->op != NULL, "there is no operation %s", name);
    c->out = dtype_of(dtype[0]);
    c->ulps = strtod(strtok_r(NULL, " \n", &place), NULL);
    c->offset = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
    for (int k = 0; k < c->op->arity; k++) {
        c->in[k] = find_operand(t, strtok_r(NULL, " \n", &place));
        assert_true(k == 0 || c->in[k]->count == c->in[0]->count);
    }
    c->count = c->in[0]->count;
    assert_true(c->offset + c->count * kiln_dtype_size(c->out) <= t->size);
}

static table *table_read(void)
{
    char path[512], line[LINE_BYTES];
    table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    FILE *f = fopen(test_data("data/ops.dat", path, sizeof path), "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    t->size = (size_t)ftell(f);
    rewind(f);
    t->bytes = malloc(t->size);
    assert_int_equal(fread(t->bytes, 1, t->size, f), t->size);
    fclose(f);
    f = fopen(test_data("data/ops.txt", path, sizeof path), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        read_line(t, line);
    fclose(f);
    return t;
}

static void table_free(table *t)
{
    free(t->bytes);
    free(t);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* { const float a = ...; ((bool *)&z[128])[i] = a < b; } */
static void put_case(kiln__buf *b, const op_case *c)
{
    static const char *const names[KILN__OP_ARITY_MAX] = {"a", "b", "c"};
    kiln__op_type in[KILN__OP_ARITY_MAX];
    kiln__op_loop loop;
    kiln_error err = KILN_ERROR_INIT;

    memset(in, 0, sizeof in);
    for (int k = 0; k < c->op->arity; k++)
        in[k].dtype = c->in[k]->dtype;
    const kiln_status status = kiln__op_resolve(c->op, in, &loop, &err);
    CHECK(status == KILN_OK, "%s", err.message);
    CHECK(loop.out == c->out, "%s of %s gives %s, not %s", c->op->name,
          kiln_dtype_name(in[0].dtype), kiln_dtype_name(loop.out), kiln_dtype_name(c->out));
    kiln__buf_puts(b, "{ ");
    for (int k = 0; k < c->op->arity; k++) {
        char element[96];
        snprintf(element, sizeof element, "((const %s *)&x[%zu])[i]",
                 kiln_dtype_ctype(c->in[k]->dtype), c->in[k]->offset);
        kiln__buf_printf(b, "const %s %s = ", kiln_dtype_ctype(loop.in[k]), names[k]);
        kiln__cast_text(b, c->in[k]->dtype, loop.in[k], element);
        kiln__buf_puts(b, "; ");
    }
    kiln__buf_printf(b, "((%s *)&z[%zu])[i] = ", kiln_dtype_ctype(c->out), c->offset);
    kiln__op_text(b, &loop, names);
    kiln__buf_puts(b, "; }\n");
}

/* Compute cases of one length that are not done yet: a kernel's worth of them. */
static void run_some(test_env *t, table *d, size_t first, kiln_array *x, kiln_array *z)
{
    kiln__buf op = KILN__BUF_INIT;
    kiln_elementwise *kernel = NULL;
    kiln_call_options opts = KILN_CALL_OPTIONS_INIT;
    int taken = 0;

    for (size_t k = first; k < d->case_count && taken < KERNEL_CASES; k++) {
        if (d->cases[k].done || d->cases[k].count != d->cases[first].count)
            continue;
        put_case(&op, &d->cases[k]);
        d->cases[k].done = true;
        taken++;
    }
    OK(t, kiln_elementwise_create(t->ctx, "raw uint8 x", "raw uint8 z", op.text, NULL, &kernel,
                                  &t->err));
    opts.has_size = true;
    opts.size = (int64_t)d->cases[first].count;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(z)};
    OK(t, kiln_elementwise_run(kernel, args, COUNT(args), &opts, &t->err));
    kiln_elementwise_destroy(kernel);
    kiln__buf_clear(&op);
}

static unsigned char *run_all(test_env *t, table *d)
{
    kiln_array *x = NULL, *z = NULL;
    const int64_t shape = (int64_t)d->size;
    unsigned char *got = malloc(d->size);

    assert_non_null(got);
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &shape, d->bytes, NULL, &x, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_UINT8, 1, &shape, 0xa5, &z, &t->err));
    for (size_t k = 0; k < d->case_count; k++)
        if (!d->cases[k].done)
            run_some(t, d, k, x, z);
    OK(t, kiln_array_to_host(z, got, d->size, NULL, &t->err));
    kiln_array_release(x);
    kiln_array_release(z);
    return got;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* An element's parts as doubles; of integers the bits are compared instead. */
static int load_parts(kiln_dtype dtype, const unsigned char *at, double parts[2])
{
    float f[2];
    uint16_t h;
    switch (dtype) {
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
        memcpy(&h, at, 2);
        parts[0] = (double)(dtype == KILN_FLOAT16 ? kiln__float16_to_float(h)
                                                  : kiln__bfloat16_to_float(h));
        return 1;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(f, at, kiln_dtype_size(dtype));
        parts[0] = (double)f[0];
        parts[1] = dtype == KILN_COMPLEX64 ? (double)f[1] : 0;
        return dtype == KILN_COMPLEX64 ? 2 : 1;
    default:
        memcpy(parts, at, kiln_dtype_size(dtype));
        return dtype == KILN_COMPLEX128 ? 2 : 1;
    }
}

/* One unit in the last place of a number of this size. */
static double ulp_of(kiln_dtype dtype, double v)
{
    int digits = 53, least = -1074, exponent = 0;
    switch (dtype) {
    case KILN_FLOAT16:
        digits = 11, least = -24;
        break;
    case KILN_BFLOAT16:
        digits = 8, least = -133;
        break;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        digits = 24, least = -149;
        break;
    default:
        break;
    }
    frexp(v, &exponent);
    exponent = v == 0 || exponent - digits < least ? least : exponent - digits;
    return ldexp(1, exponent);
}

/* Units in the last place between two elements; infinite when only one is finite or NaN. */
static double error_of(kiln_dtype dtype, const unsigned char *got, const unsigned char *want)
{
    double g[2] = {0}, w[2] = {0}, size = 0, distance = 0;
    const char kind = kiln_dtype_kind(dtype);

    if (kind != 'f' && kind != 'c')
        return memcmp(got, want, kiln_dtype_size(dtype)) == 0 ? 0 : INFINITY;
    const int parts = load_parts(dtype, got, g);
    load_parts(dtype, want, w);
    for (int k = 0; k < parts; k++) {
        if ((isnan(g[k]) && isnan(w[k])) || g[k] == w[k])
            continue;
        if (!isfinite(g[k]) || !isfinite(w[k]))
            return INFINITY;
        distance = hypot(distance, g[k] - w[k]);
    }
    for (int k = 0; k < parts; k++)
        size = isfinite(w[k]) ? fmax(size, fabs(w[k])) : size;
    return distance == 0 ? 0 : distance / ulp_of(dtype, size);
}

static void put_element(char *text, size_t bytes, kiln_dtype dtype, const unsigned char *at)
{
    double p[2] = {0};
    const size_t size = kiln_dtype_size(dtype);
    unsigned long long u = 0;
    switch (kiln_dtype_kind(dtype)) {
    case 'f':
    case 'c':
        if (load_parts(dtype, at, p) == 1)
            snprintf(text, bytes, "%.17g", p[0]);
        else
            snprintf(text, bytes, "(%.17g, %.17g)", p[0], p[1]);
        break;
    case 'i':
        memcpy(&u, at, size);
        snprintf(text, bytes, "%lld", (long long)(u << (64 - 8 * size)) >> (64 - 8 * size));
        break;
    default:
        memcpy(&u, at, size);
        snprintf(text, bytes, "%llu", u);
        break;
    }
}

static void explain(const table *d, const op_case *c, size_t i, const unsigned char *got)
{
    const size_t size = kiln_dtype_size(c->out);
    char text[80];
    print_error("%s(", c->op->name);
    for (int k = 0; k < c->op->arity; k++) {
        const operand *o = c->in[k];
        put_element(text, sizeof text, o->dtype,
                    d->bytes + o->offset + i * kiln_dtype_size(o->dtype));
        print_error("%s%s %s", k == 0 ? "" : ", ", kiln_dtype_name(o->dtype), text);
    }
    put_element(text, sizeof text, c->out, got + c->offset + i * size);
    print_error(") is %s %s, ", kiln_dtype_name(c->out), text);
    put_element(text, sizeof text, c->out, d->bytes + c->offset + i * size);
    print_error("not %s\n", text);
}

/* NumPy defines the sign of a zero wherever it defines all bits, but for the choice between two
 * zeros of either sign. */
static bool zero_sign_counts(const op_case *c)
{
    static const char *const choices[] = {"maximum", "minimum", "fmax", "fmin", "clip"};
    for (size_t k = 0; k < COUNT(choices); k++)
        if (strcmp(c->op->name, choices[k]) == 0)
            return false;
    return c->ulps == 0 && kiln_dtype_kind(c->out) == 'f';
}

static bool other_zero(kiln_dtype dtype, const unsigned char *got, const unsigned char *want)
{
    double g[2], w[2];
    load_parts(dtype, got, g);
    load_parts(dtype, want, w);
    return g[0] == 0 && w[0] == 0 && signbit(g[0]) != signbit(w[0]);
}

/* How many elements of a case are wrong; the first ones are explained. */
static size_t compare(const table *d, const op_case *c, const unsigned char *got, double *worst)
{
    const size_t size = kiln_dtype_size(c->out);
    const bool signs = zero_sign_counts(c);
    size_t wrong = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t at = c->offset + i * size;
        double error = error_of(c->out, got + at, d->bytes + at);
        if (signs && other_zero(c->out, got + at, d->bytes + at))
            error = INFINITY;
        if (error > *worst)
            *worst = error;
        if (error > c->ulps && wrong++ < 3)
            explain(d, c, i, got);
    }
    return wrong;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_ops_values__every_operation_and_dtype_as_numpy(void **state)
{
    test_env *t = *state;
    table *d = table_read();
    unsigned char *got = run_all(t, d);
    size_t wrong = 0;

    assert_true(d->case_count > 1500);
    for (size_t k = 0; k < d->case_count; k++) {
        const op_case *c = &d->cases[k];
        double worst = 0;
        wrong += compare(d, c, got, &worst);
        if (getenv("KILN_TEST_TABLE") != NULL && worst > 0)
            print_message("%s %s %.2f\n", c->op->name, kiln_dtype_name(c->in[0]->dtype), worst);
    }
    free(got);
    table_free(d);
    CHECK(wrong == 0, "%zu elements are wrong", wrong);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ops_values__every_operation_and_dtype_as_numpy),
    };
    return test_env_main(argc, argv, "test_ops_values", tests, COUNT(tests));
}
