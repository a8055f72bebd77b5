/*
 * types.c - decide every parameter's dtype, and turn C values into elements.
 *
 *     definition > [bind types] > plan > emit
 *
 *     first   arrays given as outputs bind their placeholders, in order;
 *     then    input arrays do;
 *     last    scalars, for the placeholders that are left: the widest kind among them wins, and
 *             stands for bool, int64, uint64, float64 or complex128.
 *
 * Rule 1: arrays must agree exactly; nothing is cast behind the user's back.
 * Rule 2: a scalar adapts to a dtype decided elsewhere, or is refused when it cannot (rounding a
 *         real number is adapting; losing a fraction, a sign or an imaginary part is not).
 * Rule 3: which dtypes are bound depends on the kinds of the scalars and on whether an unsigned
 *         one fits int64, never otherwise on their values: callers remember bindings by kind.
 *
 * The planners, src/kernel, src/graph and src/fusion call this file. Test: test_types.
 */
#include <math.h>
#include <stdlib.h>

#include "codegen/codegen.h"

/* ---- messages ---- */

static kiln_status refuse(const kiln__definition *def, size_t p, kiln_status status,
                          kiln_error *err, const char *fmt, ...) KILN_PRINTF(5, 6);
static kiln_status refuse(const kiln__definition *def, size_t p, kiln_status status,
                          kiln_error *err, const char *fmt, ...)
{
    char text[KILN_ERROR_MESSAGE_BYTES], which[160];
    va_list ap;

    if (err == NULL) /* then there may be no definition */
        return status;
    const kiln__param *param = &def->params[p];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kiln__param_text(def, p, which, sizeof which);
    return kiln__fail_at(err, status, def->signature[param->output], param->column, param->width,
                         "kernel \"%s\": %s %s", def->name, which, text);
}

/* ---- binding ---- */

#define LETTERS 128

typedef struct bindings {
    kiln_dtype dtype[LETTERS]; /* of each placeholder; KILN_DTYPE_NONE while it is open */
    size_t by[LETTERS];        /* the argument that bound it */
} bindings;

static bool is_scalar(const kiln__given *given)
{
    return given->kind != KILN__GIVEN_NOTHING && given->kind != KILN__GIVEN_ARRAY;
}

static kiln_status check_kinds(const kiln__definition *def, const kiln__given *given,
                               kiln_error *err)
{
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__param *param = &def->params[p];

        if (is_scalar(&given[p]) && (param->output || param->array_only))
            return refuse(def, p, KILN_ERR_ARGUMENT, err, "is a scalar, and %s needs an array",
                          param->output       ? "an output"
                          : param->taken != 0 ? "an input that is taken by index"
                                              : "a raw input that is indexed or written");
        if (given[p].kind == KILN__GIVEN_ARRAY && param->number_only)
            return refuse(def, p, KILN_ERR_ARGUMENT, err,
                          "is an array, and the identity, which belongs to no element, needs a "
                          "number");
        if (given[p].kind == KILN__GIVEN_NOTHING && !param->output)
            return refuse(def, p, KILN_ERR_ARGUMENT, err,
                          "is an input, and neither an array nor a scalar is given for it");
    }
    return KILN_OK;
}

/* An array for parameter `p`: it must have the dtype declared, or bound, or it binds. */
static kiln_status bind_array(const kiln__definition *def, size_t p, kiln_dtype got, bindings *b,
                              kiln_error *err)
{
    const kiln__param *param = &def->params[p];
    unsigned letter = (unsigned char)param->placeholder % LETTERS;

    if (letter == 0) {
        if (got != param->dtype)
            return refuse(def, p, KILN_ERR_DTYPE, err, "has dtype %s, but is declared as %s",
                          kiln_dtype_name(got), kiln_dtype_name(param->dtype));
        return KILN_OK;
    }
    if (b->dtype[letter] == KILN_DTYPE_NONE) {
        b->dtype[letter] = got;
        b->by[letter] = p;
        return KILN_OK;
    }
    if (got != b->dtype[letter]) {
        char by[160];
        kiln__param_text(def, b->by[letter], by, sizeof by);
        return refuse(def, p, KILN_ERR_DTYPE, err, "has dtype %s, but %c is %s, bound by %s",
                      kiln_dtype_name(got), param->placeholder, kiln_dtype_name(b->dtype[letter]),
                      by);
    }
    return KILN_OK;
}

/* What a scalar stands for when nothing else decides. Later values are wider. */
static kiln_dtype dtype_of_scalar(const kiln__given *given)
{
    switch (given->kind) {
    case KILN__GIVEN_BOOL:
        return KILN_BOOL;
    case KILN__GIVEN_INT:
        return KILN_INT64;
    case KILN__GIVEN_UINT:
        return given->value.u <= INT64_MAX ? KILN_INT64 : KILN_UINT64;
    case KILN__GIVEN_FLOAT:
        return KILN_FLOAT64;
    case KILN__GIVEN_COMPLEX:
        return KILN_COMPLEX128;
    case KILN__GIVEN_NOTHING:
    case KILN__GIVEN_ARRAY:
        break;
    }
    return KILN_DTYPE_NONE;
}

/* The values of the enum are in the order that is needed here. */
_Static_assert(KILN_BOOL < KILN_INT64 && KILN_INT64 < KILN_UINT64 && KILN_UINT64 < KILN_FLOAT64 &&
                   KILN_FLOAT64 < KILN_COMPLEX128,
               "dtypes of scalars are ordered from narrow to wide");

static void bind_scalars(const kiln__definition *def, const kiln__given *given, bindings *b)
{
    kiln_dtype widest[LETTERS] = {KILN_DTYPE_NONE};

    for (size_t p = 0; p < def->input_count; p++) {
        unsigned letter = (unsigned char)def->params[p].placeholder % LETTERS;
        kiln_dtype dtype = dtype_of_scalar(&given[p]);

        if (letter == 0 || b->dtype[letter] != KILN_DTYPE_NONE || dtype <= widest[letter])
            continue;
        widest[letter] = dtype;
        b->by[letter] = p;
    }
    for (unsigned letter = 1; letter < LETTERS; letter++) {
        if (widest[letter] != KILN_DTYPE_NONE)
            b->dtype[letter] = widest[letter];
    }
}

kiln_status kiln__bind_types(const kiln__definition *def, const kiln__given *given,
                             kiln_dtype *dtypes_out, kiln_error *err)
{
    kiln_status status = check_kinds(def, given, err);
    bindings b = {.by = {0}};

    for (size_t k = 0; status == KILN_OK && k < def->param_count; k++) {
        /* Outputs before inputs. */
        size_t p = (k + def->input_count) % def->param_count;
        if (given[p].kind == KILN__GIVEN_ARRAY)
            status = bind_array(def, p, given[p].dtype, &b, err);
    }
    if (status != KILN_OK)
        return status;
    bind_scalars(def, given, &b);
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__param *param = &def->params[p];
        unsigned letter = (unsigned char)param->placeholder % LETTERS;

        dtypes_out[p] = letter == 0 ? param->dtype : b.dtype[letter];
        if (dtypes_out[p] == KILN_DTYPE_NONE)
            return refuse(def, p, KILN_ERR_UNBOUND, err,
                          "has type %c, which no argument decides; give an array for this output",
                          param->placeholder);
    }
    for (size_t p = 0; p < def->input_count; p++)
        for (size_t k = 0; k < def->params[p].taken; k++)
            if (strchr("iu", kiln_dtype_kind(dtypes_out[def->params[p].by[k]])) == NULL)
                return refuse(def, def->params[p].by[k], KILN_ERR_DTYPE, err,
                              "is %s, and indices are integers",
                              kiln_dtype_name(dtypes_out[def->params[p].by[k]]));
    for (size_t p = 0; p < def->input_count; p++) {
        kiln__scalar ignored;
        if (!is_scalar(&given[p]))
            continue;
        KILN_CHECK(kiln__convert_scalar(def, p, &given[p], dtypes_out[p], &ignored, err));
    }
    return KILN_OK;
}

/* ---- scalars ---- */

/* Least value (negated) and greatest value of the integer dtypes; 0 for others. */
static const uint64_t INTEGER_LOW[KILN_DTYPE_COUNT] = {
    [KILN_INT8] = 128,
    [KILN_INT16] = 32768,
    [KILN_INT32] = (uint64_t)1 << 31,
    [KILN_INT64] = (uint64_t)1 << 63,
};
static const uint64_t INTEGER_HIGH[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = 1,
    [KILN_INT8] = INT8_MAX,
    [KILN_INT16] = INT16_MAX,
    [KILN_INT32] = INT32_MAX,
    [KILN_INT64] = INT64_MAX,
    [KILN_UINT8] = UINT8_MAX,
    [KILN_UINT16] = UINT16_MAX,
    [KILN_UINT32] = UINT32_MAX,
    [KILN_UINT64] = UINT64_MAX,
};

/* The low `bytes` bytes of a two's complement number, in this machine's order. */
static void put_integer(kiln__scalar *out, size_t bytes, uint64_t bits)
{
    uint8_t b8 = (uint8_t)bits;
    uint16_t b16 = (uint16_t)bits;
    uint32_t b32 = (uint32_t)bits;

    switch (bytes) {
    case 1:
        memcpy(out->bytes, &b8, sizeof b8);
        break;
    case 2:
        memcpy(out->bytes, &b16, sizeof b16);
        break;
    case 4:
        memcpy(out->bytes, &b32, sizeof b32);
        break;
    default:
        memcpy(out->bytes, &bits, sizeof bits);
        break;
    }
}

/* A real number in the forms it is rounded from, so that each dtype rounds it once. */
typedef struct real {
    float f;
    double d;
    double
        sticky; /* exact, or cut with a last bit that tells of it: fine to round to a narrow float */
} real;

static real real_of_double(double v)
{
    return (real){(float)v, v, v};
}

static real real_of_integer(bool negative, uint64_t magnitude)
{
    real r = {(float)magnitude, (double)magnitude, 0};

    if (magnitude >> 53 != 0)
        magnitude = (magnitude & ~(uint64_t)0x7FF) | ((magnitude & 0x7FF) != 0 ? 0x800 : 0);
    r.sticky = (double)magnitude;
    return negative ? (real){-r.f, -r.d, -r.sticky} : r;
}

/* Write one real at `to` as a float dtype, or as a part of a complex one. False when a finite
 * number became infinite. */
static bool put_real(unsigned char *to, kiln_dtype dtype, real r)
{
    bool overflow = false;

    if (kiln__is_narrow(dtype)) {
        kiln__narrow_store(dtype, r.sticky, to);
        return !isfinite(r.d) || isfinite(kiln__narrow_load(dtype, to));
    }
    switch (dtype) {
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(to, &r.f, sizeof r.f);
        overflow = isinf(r.f);
        break;
    default:
        memcpy(to, &r.d, sizeof r.d);
        break;
    }
    return !overflow || isinf(r.d);
}

/* The fewest digits that read back as `v`; with a sign in any case where one is asked for. */
static void describe_double(double v, bool sign, char *out, size_t bytes)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, bytes, sign ? "%+.*g" : "%.*g", digits, v);
        if (!(strtod(out, NULL) != v))
            return;
    }
}

/* "70000", "-3", "2.5" or "(1+2j)": the scalar as the message shows it. */
static void describe_scalar(const kiln__given *given, char *out, size_t bytes)
{
    char re[40], im[40];

    switch (given->kind) {
    case KILN__GIVEN_BOOL:
        snprintf(out, bytes, "%s", given->value.b ? "true" : "false");
        break;
    case KILN__GIVEN_INT:
        snprintf(out, bytes, "%lld", (long long)given->value.i);
        break;
    case KILN__GIVEN_UINT:
        snprintf(out, bytes, "%llu", (unsigned long long)given->value.u);
        break;
    case KILN__GIVEN_FLOAT:
        describe_double(given->value.f, false, out, bytes);
        break;
    default:
        describe_double(given->value.c[0], false, re, sizeof re);
        describe_double(given->value.c[1], true, im, sizeof im);
        snprintf(out, bytes, "(%s%sj)", re, im);
        break;
    }
}

/* Say why a scalar cannot become a `dtype`, and what to give instead. */
static kiln_status refuse_scalar(const kiln__definition *def, size_t p, const kiln__given *given,
                                 kiln_dtype dtype, kiln_error *err)
{
    const char *name = kiln_dtype_name(dtype);
    char value[96];

    describe_scalar(given, value, sizeof value);
    if (INTEGER_HIGH[dtype] != 0 &&
        (given->kind == KILN__GIVEN_FLOAT || given->kind == KILN__GIVEN_COMPLEX))
        return refuse(def, p, KILN_ERR_RANGE, err, "is %s, a %s number, and %s takes %s", value,
                      given->kind == KILN__GIVEN_FLOAT ? "floating-point" : "complex", name,
                      dtype == KILN_BOOL ? "true or false; pass a bool"
                                         : "integers only; pass an integer");
    if (INTEGER_HIGH[dtype] != 0)
        return refuse(def, p, KILN_ERR_RANGE, err, "is %s, and %s holds %s%llu to %llu", value,
                      name, INTEGER_LOW[dtype] != 0 ? "-" : "",
                      (unsigned long long)INTEGER_LOW[dtype],
                      (unsigned long long)INTEGER_HIGH[dtype]);
    if (given->kind == KILN__GIVEN_COMPLEX && kiln_dtype_kind(dtype) == 'f')
        return refuse(def, p, KILN_ERR_RANGE, err,
                      "is %s, a complex number, and %s takes real ones only", value, name);
    return refuse(def, p, KILN_ERR_RANGE, err, "is %s, which is too large for %s", value, name);
}

static bool put_whole(kiln__scalar *out, kiln_dtype dtype, bool negative, uint64_t magnitude)
{
    if (INTEGER_HIGH[dtype] != 0) {
        if (magnitude > (negative ? INTEGER_LOW[dtype] : INTEGER_HIGH[dtype]))
            return false;
        put_integer(out, kiln_dtype_size(dtype), negative ? 0 - magnitude : magnitude);
        return true;
    }
    return put_real(out->bytes, dtype, real_of_integer(negative, magnitude));
}

kiln_status kiln__convert_scalar(const kiln__definition *def, size_t param,
                                 const kiln__given *given, kiln_dtype dtype, kiln__scalar *out,
                                 kiln_error *err)
{
    bool fits = false;

    if (!is_scalar(given))
        return refuse(def, param, KILN_ERR_ARGUMENT, err, "is no scalar");
    if ((unsigned)dtype - 1 >= KILN_DTYPE_COUNT - 1)
        return refuse(def, param, KILN_ERR_INTERNAL, err, "has no dtype");
    memset(out, 0, sizeof *out); /* the imaginary part, and what is unused */
    switch (given->kind) {
    case KILN__GIVEN_BOOL:
        fits = put_whole(out, dtype, false, given->value.b ? 1 : 0);
        break;
    case KILN__GIVEN_INT: {
        bool negative = given->value.i < 0;
        uint64_t bits = (uint64_t)given->value.i;
        fits = put_whole(out, dtype, negative, negative ? 0 - bits : bits);
        break;
    }
    case KILN__GIVEN_UINT:
        fits = put_whole(out, dtype, false, given->value.u);
        break;
    case KILN__GIVEN_FLOAT:
        fits =
            INTEGER_HIGH[dtype] == 0 && put_real(out->bytes, dtype, real_of_double(given->value.f));
        break;
    default:
        fits = kiln_dtype_kind(dtype) == 'c' &&
               put_real(out->bytes, dtype, real_of_double(given->value.c[0])) &&
               put_real(out->bytes + kiln_dtype_size(dtype) / 2, dtype,
                        real_of_double(given->value.c[1]));
        break;
    }
    return fits ? KILN_OK : refuse_scalar(def, param, given, dtype, err);
}

/* ---- accumulators ------------------------------------------------------------------------------ */

int64_t kiln__type_bytes_in(const kiln__definition *def, const kiln__variant *v, const char *type)
{
    for (size_t p = 0; p < def->param_count; p++)
        if (type[0] == def->params[p].placeholder && type[1] == '\0')
            return (int64_t)kiln_dtype_size((kiln_dtype)v->dtype[p]);
    if (kiln__definition_declares(def, type))
        return 0;
    return (int64_t)kiln_dtype_size(kiln_dtype_from_name(type, strlen(type)));
}

int64_t kiln__part_bytes(const kiln__definition *def, const kiln__variant *v, size_t stage)
{
    const char *type = def->snippet[def->rows != NULL ? kiln__stage_snippet(stage, KILN__STAGE_TYPE)
                                                      : KILN__SNIPPET_REDUCE_TYPE];
    if (type[0] == '\0') { /* that of the first output; 16-bit floats accumulate in float */
        const int64_t bytes = (int64_t)kiln_dtype_size((kiln_dtype)v->dtype[def->input_count]);
        return bytes == 2 ? 4 : bytes;
    }
    const int64_t known =
        def->part_bytes[stage] > 0 ? def->part_bytes[stage] : kiln__type_bytes_in(def, v, type);
    return known > 0 ? known : (int64_t)def->family->part_bytes_max;
}
