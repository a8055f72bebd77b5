/*
 * family_product.c - products of arrays: matmul and its like, einsum.
 *
 * Each is a sum of products over letters, one for each axis of an operand, as einsum writes it. Values are
 * small whole numbers, whose sums are exact where the dtype holds them.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

/* Numbers: the letters of the result and of each operand, eight to a number; how einsum is asked; the options of
 * "matmul_with", whose c and bias, if there are any, are operands behind the factors. */
enum {
    RESULT,
    TERM,
    IMPLICIT = 8,
    SUMMED,
    HAS_C,
    HAS_BIAS,
    ALPHA, /* in halves; so is BETA */
    BETA,
    EPILOGUE,
    COMPUTE,
    DTYPE, /* 0: not asked for */
    LETTERS = 128
};

static int letters_of(int64_t packed, char *text)
{
    int count = 0;

    for (; (packed & 0xff) != 0 && count < 7; packed >>= 8)
        text[count++] = (char)(packed & 0x7f);
    text[count] = '\0';
    return count;
}

static int64_t packed(const char *text)
{
    int64_t v = 0;

    for (size_t k = strlen(text); k-- > 0;)
        v = v << 8 | (unsigned char)text[k];
    return v;
}

static bool is_function(const dt_case *c, const char *name)
{
    return strcmp(dt_function_name(c->function), name) == 0;
}

/* ---- drawing ----------------------------------------------------------------------------------------- */

/* Operands with the extents of their letters, some of which broadcast where capitals stand. */
static bool draw_terms(dt_random *d, dt_random *r, dt_case *c, int count, char (*terms)[8],
                       const char *result)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    int64_t extent[LETTERS] = {0}, budget = dt_once_in(r, 10) ? 400000 : 20000;
    const bool sixteens = dt_once_in(r, 4); /* what tensor cores take of elements of a byte */

    for (int k = 0; k < count; k++)
        for (const char *at = terms[k]; *at != '\0'; at++)
            if (extent[(int)*at] == 0) {
                extent[(int)*at] = dt_draw_extent(r, budget < 300 ? budget : 300);
                if (sixteens && islower((unsigned char)*at) && budget > 32)
                    extent[(int)*at] = 16 * (1 + dt_below(r, 2));
                budget /= extent[(int)*at];
            }
    for (int k = 0; k < count; k++) {
        int64_t shape[DT_RANK];
        int rank = 0;
        for (const char *at = terms[k]; *at != '\0'; at++) {
            if (rank == DT_RANK)
                return false;
            shape[rank++] = isupper((unsigned char)*at) && dt_once_in(r, 4) ? 1 : extent[(int)*at];
        }
        if (rank > 0 && dt_once_in(r, 60))
            return false;
        dt_draw_operand(r, c, k > 0 && dt_once_in(d, 4) ? dt_draw_dtype(d) : dtype, DT_FILL_SMALL,
                        rank, shape);
        c->number[TERM + k] = packed(terms[k]);
    }
    c->number[RESULT] = packed(result);
    return true;
}

/* Stacks of both operands, which are aligned at their ends. */
static void draw_stacks(dt_random *d, char *a, char *b, char *result)
{
    const int first = dt_below(d, 3), second = dt_below(d, 3);

    snprintf(a, 4, "%s", &"AB"[2 - first]);
    snprintf(b, 4, "%s", &"AB"[2 - second]);
    snprintf(result, 4, "%s", first > second ? a : b);
}

static bool draw_product(dt_random *d, dt_random *r, dt_case *c)
{
    char terms[3][8] = {"", "", ""}, result[16] = "", a[4], b[4], stack[4];

    draw_stacks(d, a, b, stack);
    if (is_function(c, "matmul") || is_function(c, "matmul_with")) {
        const bool row = dt_once_in(d, 5), column = dt_once_in(d, 5);
        snprintf(terms[0], 8, "%s", row ? "k" : "");
        snprintf(terms[1], 8, "%s", column ? "k" : "");
        if (!row)
            snprintf(terms[0], 8, "%sik", a);
        if (!column)
            snprintf(terms[1], 8, "%skj", b);
        snprintf(result, 16, "%s%s%s",
                 row      ? (column ? "" : b)
                 : column ? a
                          : stack,
                 row ? "" : "i", column ? "" : "j");
    } else if (is_function(c, "matvec")) {
        snprintf(terms[0], 8, "%sik", a);
        snprintf(terms[1], 8, "%sk", b);
        snprintf(result, 16, "%si", stack);
    } else if (is_function(c, "vecmat")) {
        snprintf(terms[0], 8, "%sk", a);
        snprintf(terms[1], 8, "%skj", b);
        snprintf(result, 16, "%sj", stack);
    } else if (is_function(c, "outer")) {
        strcpy(terms[0], "i");
        strcpy(terms[1], "j");
        strcpy(result, "ij");
    } else if (is_function(c, "inner")) {
        snprintf(terms[0], 8, "%sk", &"ab"[dt_below(d, 3)]);
        snprintf(terms[1], 8, "%sk", &"cd"[dt_below(d, 3)]);
        snprintf(result, 16, "%.*s%.*s", (int)strlen(terms[0]) - 1, terms[0],
                 (int)strlen(terms[1]) - 1, terms[1]);
    } else if (is_function(c, "dot")) {
        const char *left = &"ab"[dt_below(d, 3)], *right = &"cd"[dt_below(d, 3)];
        const bool last = right[0] != '\0' && dt_once_in(d, 2);
        snprintf(terms[0], 8, "%sk", left);
        snprintf(terms[1], 8, last ? "ck%c" : "k%c", 'e');
        if (right[0] == '\0')
            strcpy(terms[1], "k");
        snprintf(result, 16, "%s%s", left, right[0] == '\0' ? "" : last ? "ce" : "e");
    } else {
        c->number[SUMMED] = dt_below(d, 3); /* the last axes of one with the first of the other */
        const char *both = &"xy"[2 - c->number[SUMMED]], *left = &"ab"[dt_below(d, 3)];
        const char *right = &"cd"[dt_below(d, 3)];
        snprintf(terms[0], 8, "%s%s", left, both);
        snprintf(terms[1], 8, "%s%s", both, right);
        snprintf(result, 16, "%s%s", left, right);
    }
    return draw_terms(d, r, c, 2, terms, result);
}

static kiln_dtype dtype_of_product(kiln_dtype a, kiln_dtype b)
{
    const kiln_dtype dtype = dt_promote(a, b);

    return dtype == KILN_INT8 ? KILN_INT32 : dt_is_float8(dtype) ? KILN_FLOAT32 : dtype;
}

/* Another dtype that a product may be asked for, or 0. */
static kiln_dtype draw_result(dt_random *d, kiln_dtype a, kiln_dtype b)
{
    static const kiln_dtype sixteen[] = {KILN_FLOAT16, KILN_BFLOAT16};
    const kiln_dtype dtype = dt_promote(a, b);

    if (dt_once_in(d, 2))
        return KILN_DTYPE_NONE;
    if (dt_is_float8(dtype))
        return sixteen[dt_below(d, 2)];
    return dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16 ? KILN_FLOAT32 : KILN_DTYPE_NONE;
}

/* An array that broadcasts to the result, or to its columns. */
static void draw_added(dt_random *d, dt_random *r, dt_case *c, kiln_dtype dtype,
                       const char *letters)
{
    int64_t shape[DT_RANK];
    int rank = 0;
    char term[8];

    if (*letters != '\0' && dt_once_in(r, 6)) /* fewer axes */
        letters++;
    for (; *letters != '\0'; letters++) {
        int64_t extent = 1;
        for (int k = 0; k < 2; k++) {
            letters_of(c->number[TERM + k], term);
            const char *at = strchr(term, *letters);
            if (at != NULL && c->operand[k].view.shape[at - term] != 1)
                extent = c->operand[k].view.shape[at - term];
        }
        shape[rank++] = dt_once_in(r, 6) ? 1 : extent;
    }
    dt_draw_operand(r, c, dt_once_in(d, 5) ? dt_draw_dtype(d) : dtype, DT_FILL_SMALL, rank, shape);
}

/* matmul with options; those that add are for floating-point and complex dtypes, epilogues for the former. */
static bool draw_finished(dt_random *d, dt_random *r, dt_case *c)
{
    static const int halves[] = {2, 1, -2, 4, 6};
    char result[8];

    if (!draw_product(d, r, c))
        return false;
    const kiln_dtype a = c->operand[0].view.dtype, b = c->operand[1].view.dtype;
    kiln_dtype dtype = dtype_of_product(a, b);
    const int axes = letters_of(c->number[RESULT], result);
    c->number[ALPHA] = c->number[BETA] = 2;
    c->number[COMPUTE] = dt_below(d, KILN_COMPUTE_BF16X9 + 1);
    c->number[DTYPE] = draw_result(d, a, b);
    if (dt_is_integer(dtype))
        return true;
    if (c->number[DTYPE] != 0)
        dtype = (kiln_dtype)c->number[DTYPE];
    c->number[ALPHA] = halves[dt_below(d, 5)];
    c->number[BETA] = halves[dt_below(d, 5)];
    c->number[HAS_C] = dt_once_in(d, 2);
    c->number[HAS_BIAS] = dt_once_in(d, 2);
    if (dt_is_float(dtype) && dt_once_in(d, 2))
        c->number[EPILOGUE] = 1 + dt_below(d, KILN_EPILOGUE_GELU);
    if (c->number[HAS_C])
        draw_added(d, r, c, dtype, result);
    if (c->number[HAS_BIAS]) /* of the columns, if there are any */
        draw_added(d, r, c, dtype, axes > 0 && result[axes - 1] == 'j' ? "j" : "");
    return true;
}

/* Letters from a to e in any order, now and then one twice; a result of any letters that there are. */
static bool draw_einsum(dt_random *d, dt_random *r, dt_case *c)
{
    const int count = 1 + dt_below(d, 3);
    char terms[3][8] = {"", "", ""}, result[8] = "";
    int used[LETTERS] = {0}, length = 0;

    for (int k = 0; k < count; k++) {
        const int axes = dt_below(d, 4);
        for (int j = 0; j < axes; j++) {
            char letter = (char)('a' + dt_below(d, 5));
            if (strchr(terms[k], letter) != NULL && !dt_once_in(d, 4))
                continue;
            terms[k][strlen(terms[k])] = letter;
            used[(int)letter]++;
        }
    }
    c->number[IMPLICIT] = dt_once_in(d, 3);
    for (char letter = 'a'; letter <= 'e'; letter++)
        if (c->number[IMPLICIT] ? used[(int)letter] == 1
                                : used[(int)letter] > 0 && !dt_once_in(d, 2))
            result[length++] = letter;
    for (int k = length - 1; k > 0 && !c->number[IMPLICIT]; k--) {
        const int other = dt_below(d, k + 1);
        const char kept = result[k];
        result[k] = result[other];
        result[other] = kept;
    }
    return draw_terms(d, r, c, count, terms, result);
}

/* ---- evaluation ---------------------------------------------------------------------------------------- */

typedef struct sum {
    char terms[3][8], result[8],
        order[LETTERS]; /* `order`: the result's letters, then those summed */
    int64_t extent[LETTERS];
    int count, letters;
} sum;

static bool read_sum(const dt_case *c, const dt_array *in, sum *s)
{
    memset(s, 0, sizeof *s);
    s->count = c->operand_count - (c->number[HAS_C] != 0) - (c->number[HAS_BIAS] != 0);
    if (s->count < 1 || s->count > 3)
        return false;
    s->letters = letters_of(c->number[RESULT], s->result);
    memcpy(s->order, s->result, (size_t)s->letters);
    for (int k = 0; k < s->count; k++) {
        if (letters_of(c->number[TERM + k], s->terms[k]) != in[k].rank)
            return false;
        for (int axis = 0; axis < in[k].rank; axis++) {
            int64_t *e = &s->extent[(int)s->terms[k][axis]];
            if (*e > 1 && in[k].shape[axis] > 1 && *e != in[k].shape[axis])
                return false;
            *e = *e == 0 || *e == 1 ? in[k].shape[axis] : *e;
            if (strchr(s->order, s->terms[k][axis]) == NULL)
                s->order[s->letters++] = s->terms[k][axis];
        }
    }
    return true;
}

/* What is added to a sum: a product in the dtype of the result. */
static dt_value product(const sum *s, const dt_array *in, const int64_t *index, kiln_dtype dtype,
                        bool conjugate)
{
    dt_value v = {0};

    for (int k = 0; k < s->count; k++) {
        int64_t at = 0;
        for (int axis = 0; axis < in[k].rank; axis++)
            at = at * in[k].shape[axis] +
                 (in[k].shape[axis] == 1 ? 0 : index[(int)s->terms[k][axis]]);
        dt_value w = dt_cast(in[k].dtype, dtype, in[k].at[at]);
        if (k == 0 && conjugate)
            w.im = -w.im;
        if (k == 0)
            v = w;
        else if (dt_is_integer(dtype))
            v = dt_of_integer(dtype, (int64_t)((uint64_t)v.i * (uint64_t)w.i));
        else
            v = (dt_value){.re = v.re * w.re - v.im * w.im, .im = v.re * w.im + v.im * w.re};
    }
    return v;
}

static void add(kiln_dtype dtype, dt_value *to, dt_value v)
{
    if (dtype == KILN_BOOL)
        to->i = to->i != 0 || v.i != 0;
    else if (dt_is_integer(dtype))
        *to = dt_of_integer(dtype, (int64_t)((uint64_t)to->i + (uint64_t)v.i));
    to->re += v.re;
    to->im += v.im;
}

/* Element `at` of what broadcasts to `out`, as that dtype has it. */
static dt_value added_at(const dt_array *x, const dt_array *out, int64_t at)
{
    int64_t index = 0, step = 1;

    for (int axis = out->rank - 1; axis >= 0; axis--) {
        const int own = axis - (out->rank - x->rank);
        const int64_t place = at % out->shape[axis];
        at /= out->shape[axis];
        if (own < 0)
            continue;
        index += x->shape[own] == 1 ? 0 : place * step;
        step *= x->shape[own];
    }
    return dt_cast(x->dtype, out->dtype, x->at[index]);
}

static double gelu(double x)
{
    return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

/* y = epilogue(alpha * y + beta * c + bias). `size` becomes what bounds the sums, in halves. */
static void finish(const dt_case *c, const dt_array *in, dt_array *out, double *size)
{
    const double alpha = (double)c->number[ALPHA] / 2, beta = (double)c->number[BETA] / 2;
    const dt_array *added = c->number[HAS_C] ? &in[2] : NULL;
    const dt_array *bias = c->number[HAS_BIAS] ? &in[2 + (c->number[HAS_C] != 0)] : NULL;
    const int digits = dt_format_of(out->dtype).digits;

    for (int64_t at = 0; at < out->size; at++) {
        const dt_value none = {0};
        const dt_value x = added != NULL ? added_at(added, out, at) : none;
        const dt_value y = bias != NULL ? added_at(bias, out, at) : none;
        dt_value *v = &out->at[at];
        v->re = alpha * v->re + beta * x.re + y.re;
        v->im = alpha * v->im + beta * x.im + y.im;
        size[at] = 4 * (fabs(alpha) * size[at] + fabs(beta) * (fabs(x.re) + fabs(x.im)) +
                        fabs(y.re) + fabs(y.im));
        v->open_zero = true;
        if (c->number[EPILOGUE] == KILN_EPILOGUE_RELU)
            v->re = v->re > 0 ? v->re : 0;
        if (c->number[EPILOGUE] == KILN_EPILOGUE_GELU) {
            v->error = v->alone =
                (1 + fabs(v->re)) * ldexp(1, digits > 11 ? 4 - digits : 3 - digits);
            v->re = gelu(v->re);
        }
    }
}

static bool evaluate(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool conjugate = is_function(c, "vecmat");
    kiln_dtype dtype = in[0].dtype;
    int64_t shape[DT_RANK + 2], index[LETTERS] = {0}, all = 1;
    int rank = 0;
    sum s;

    if (!read_sum(c, in, &s) || strlen(s.result) > DT_RANK)
        return false;
    for (int k = 1; k < s.count; k++)
        dtype = dt_promote(dtype, in[k].dtype);
    dtype = c->number[DTYPE] != 0 ? (kiln_dtype)c->number[DTYPE] : dtype_of_product(dtype, dtype);
    for (int k = 0; k < s.letters; k++)
        all *= s.extent[(int)s.order[k]];
    for (const char *at = s.result; *at != '\0'; at++)
        shape[rank++] = s.extent[(int)*at];
    if (all > 1 << 21 || !dt_array_make(out, dtype, rank, shape))
        return false;
    double *size = calloc((size_t)out->size + 1, sizeof *size);
    for (int64_t n = 0; n < all && size != NULL; n++) {
        int64_t rest = n, to = 0;
        for (int k = s.letters - 1; k >= 0; k--) {
            index[(int)s.order[k]] = rest % s.extent[(int)s.order[k]];
            rest /= s.extent[(int)s.order[k]];
        }
        for (const char *at = s.result; *at != '\0'; at++)
            to = to * s.extent[(int)*at] + index[(int)*at];
        const dt_value v = product(&s, in, index, dtype, conjugate);
        add(dtype, &out->at[to], v);
        size[to] += fabs(v.re) + fabs(v.im);
    }
    if (is_function(c, "matmul_with") && size != NULL && !dt_is_integer(dtype))
        finish(c, in, out, size);
    /* Beyond these sums are rounded; in which order is the library's choice. */
    const double exact = ldexp(1, dt_format_of(dtype).digits);
    for (int64_t at = 0; at < out->size && size != NULL && !dt_is_integer(dtype); at++)
        if (size[at] > exact)
            out->at[at] = dt_unknown();
    free(size);
    return size != NULL;
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static void subscripts(const dt_case *c, char *text, size_t bytes)
{
    char term[8];
    size_t used = 0;

    for (int k = 0; k < c->operand_count; k++) {
        letters_of(c->number[TERM + k], term);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", k > 0 ? "," : "", term);
    }
    letters_of(c->number[RESULT], term);
    if (!c->number[IMPLICIT])
        snprintf(text + used, bytes - used, "->%s", term);
}

static kiln_status call(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_array *x = a->operand[0], *y = a->operand[1];
    kiln_matmul_options o = KILN_MATMUL_OPTIONS_INIT;
    const char *name = dt_function_name(c->function);
    kiln_array **const out = &a->output[0];
    char text[64];

    (void)device;
    o.stream = a->stream;
    if (is_function(c, "matmul_with")) {
        o.dtype = (kiln_dtype)c->number[DTYPE];
        o.compute = (kiln_compute)c->number[COMPUTE];
        o.alpha = (double)c->number[ALPHA] / 2;
        o.beta = (double)c->number[BETA] / 2;
        o.epilogue = (kiln_epilogue)c->number[EPILOGUE];
        o.c = c->number[HAS_C] ? a->operand[2] : NULL;
        o.bias = c->number[HAS_BIAS] ? a->operand[2 + (c->number[HAS_C] != 0)] : NULL;
        return kiln_matmul(x, y, &o, out, err);
    }
    if (strcmp(name, "matmul") == 0)
        return kiln_matmul(x, y, &o, out, err);
    if (strcmp(name, "dot") == 0)
        return kiln_array_dot(x, y, &o, out, err);
    if (strcmp(name, "inner") == 0)
        return kiln_array_inner(x, y, &o, out, err);
    if (strcmp(name, "outer") == 0)
        return kiln_array_outer(x, y, &o, out, err);
    if (strcmp(name, "matvec") == 0)
        return kiln_array_matvec(x, y, &o, out, err);
    if (strcmp(name, "vecmat") == 0)
        return kiln_array_vecmat(x, y, &o, out, err);
    if (strcmp(name, "tensordot") == 0) {
        kiln_axes first = {.count = (int)c->number[SUMMED]}, second = first;
        for (int k = 0; k < first.count; k++) {
            first.axis[k] = k - first.count;
            second.axis[k] = k;
        }
        return kiln_array_tensordot(x, y, &first, &second, &o, out, err);
    }
    subscripts(c, text, sizeof text);
    return kiln_array_einsum(text, (const kiln_array *const *)a->operand, (size_t)c->operand_count,
                             &o, out, err);
}

static kiln_node record(const dt_case *c, const kiln_node *in, size_t result)
{
    const char *name = dt_function_name(c->function);
    char text[64];

    (void)result;
    if (strcmp(name, "matmul") == 0)
        return kiln_dot(in[0], in[1]);
    if (strcmp(name, "einsum") != 0)
        return kiln_node_linalg2(name, in[0], in[1], 0, KILN_HERE);
    subscripts(c, text, sizeof text);
    return kiln_einsum(text, in, (size_t)c->operand_count);
}

static void text_of(const dt_case *c, const char *first, char *text, size_t bytes)
{
    char terms[64], operands[64] = "";

    if (is_function(c, "tensordot")) {
        snprintf(text, bytes, "tensordot(%s, x1, %d)", first, (int)c->number[SUMMED]);
        return;
    }
    if (!is_function(c, "einsum")) {
        snprintf(text, bytes, "%s(%s, x1)", dt_function_name(c->function), first);
        return;
    }
    for (int k = 1; k < c->operand_count; k++)
        snprintf(operands + strlen(operands), sizeof operands - strlen(operands), ", x%d", k);
    subscripts(c, terms, sizeof terms);
    snprintf(text, bytes, "einsum(\"%s\", %s%s)", terms, first, operands);
}

enum { GIVEN = DT_MAY_BE_GIVEN | DT_MAY_RECORD | DT_MAY_PARSE };

#define ROW(name)                                                                                  \
    {                                                                                              \
        name, DT_KIND_PRODUCT, GIVEN, 1, draw_product, evaluate, call, record, text_of             \
    }
const dt_function dt_product_functions[] = {
    ROW("matmul"),
    ROW("matmul"),
    {"matmul_with", DT_KIND_PRODUCT, DT_MAY_BE_GIVEN, 1, draw_finished, evaluate, call, NULL, NULL},
    {"matmul_with", DT_KIND_PRODUCT, DT_MAY_BE_GIVEN, 1, draw_finished, evaluate, call, NULL, NULL},
    ROW("dot"),
    ROW("inner"),
    ROW("outer"),
    ROW("matvec"),
    ROW("vecmat"),
    {"tensordot", DT_KIND_PRODUCT, DT_MAY_BE_GIVEN | DT_MAY_PARSE, 1, draw_product, evaluate, call,
     NULL, text_of},
    {"einsum", DT_KIND_PRODUCT, GIVEN, 1, draw_einsum, evaluate, call, record, text_of},
    {"einsum", DT_KIND_PRODUCT, GIVEN, 1, draw_einsum, evaluate, call, record, text_of},
    {"einsum", DT_KIND_PRODUCT, GIVEN, 1, draw_einsum, evaluate, call, record, text_of},
};
const int dt_product_function_count = (int)DT_COUNT(dt_product_functions);
