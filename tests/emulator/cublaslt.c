/*
 * cublaslt.c - a stand-in for libcublasLt.so.13: it checks what it is asked, notes it down, and multiplies
 * on the host with plain loops, in the order of the emulated driver's streams.
 *
 * Asked for several algorithms it gives three: one that multiplies many times over, one as it should be, one that is
 * not possible. A test finds the notes by dlsym() of "stand_in_last", "stand_in_count" and "stand_in_asked". As the real library it refuses
 * with NOT_SUPPORTED what it has no algorithm for: epilogues other than none for float64 and complex numbers.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "emulator.h"
#include "stand_in.h"

enum {
    SUCCESS = 0,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    NOT_SUPPORTED = 15,
    WORKSPACE_BYTES = 1000,
    SLOW = 30,
    ALIGNMENT = 256, /* where none is named */
    EPILOGUE_RELU = 2,
    EPILOGUE_BIAS = 4,
    EPILOGUE_GELU = 32
};

/* Types, by library_types.h. */
enum {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_32I = 10,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29
};

typedef struct layout {
    int type;
    uint64_t rows, columns;
    int64_t step, batch_step;
    int32_t count;
} layout;

typedef struct desc {
    int compute, scale, transpose[2];
    uint32_t epilogue;
    const void *bias;
} desc;

typedef struct preference {
    uint64_t workspace;
    uint32_t alignment[4];
} preference;

/* As cublasLtMatmulHeuristicResult_t. */
typedef struct heuristic {
    uint64_t algo[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} heuristic;

EMU_EXPORT stand_in_call stand_in_last;
EMU_EXPORT unsigned stand_in_count, stand_in_asked; /* products, and questions for algorithms */
EMU_EXPORT unsigned stand_in_refuses; /* whether algorithms that were chosen earlier are unknown */

/* ---- elements -------------------------------------------------------------------------------- */

static size_t bytes_of(int type)
{
    switch (type) {
    case R_8I:
    case R_8F_E4M3:
    case R_8F_E5M2:
        return 1;
    case R_16F:
    case R_16BF:
        return 2;
    case R_32F:
    case R_32I:
        return 4;
    case R_64F:
    case C_32F:
        return 8;
    case C_64F:
        return 16;
    default:
        return 0;
    }
}

static double complex load(int type, const void *at)
{
    uint16_t half;
    int32_t whole;
    float f[2];
    double d[2];

    switch (type) {
    case R_8I:
        return *(const int8_t *)at;
    case R_8F_E4M3:
        return kiln__float8_e4m3fn_to_float(*(const uint8_t *)at);
    case R_8F_E5M2:
        return kiln__float8_e5m2_to_float(*(const uint8_t *)at);
    case R_32I:
        memcpy(&whole, at, sizeof whole);
        return whole;
    case R_16F:
    case R_16BF:
        memcpy(&half, at, sizeof half);
        return type == R_16F ? kiln__float16_to_float(half) : kiln__bfloat16_to_float(half);
    case R_32F:
        memcpy(f, at, sizeof f[0]);
        return f[0];
    case R_64F:
        memcpy(d, at, sizeof d[0]);
        return d[0];
    case C_32F:
        memcpy(f, at, sizeof f);
        return CMPLX(f[0], f[1]);
    default:
        memcpy(d, at, sizeof d);
        return CMPLX(d[0], d[1]);
    }
}

static void store(int type, double complex v, void *at)
{
    const float f[2] = {(float)creal(v), (float)cimag(v)};
    const double d[2] = {creal(v), cimag(v)};
    const uint16_t half =
        type == R_16F ? kiln__float16_from_double(d[0]) : kiln__bfloat16_from_double(d[0]);

    const int32_t whole = type == R_32I ? (int32_t)creal(v) : 0;

    if (type == R_32I)
        memcpy(at, &whole, sizeof whole);
    else if (type == R_16F || type == R_16BF)
        memcpy(at, &half, sizeof half);
    else if (type == R_32F || type == C_32F)
        memcpy(at, f, bytes_of(type));
    else
        memcpy(at, d, bytes_of(type));
}

/* ---- handles, descriptors -------------------------------------------------------------------- */

EMU_EXPORT size_t cublasLtGetVersion(void)
{
    return 130000;
}

EMU_EXPORT const char *cublasLtGetStatusName(int status)
{
    return status == SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_STAND_IN";
}

static int make(void **out, size_t bytes)
{
    *out = calloc(1, bytes);
    return *out != NULL ? SUCCESS : ALLOC_FAILED;
}

static int end(void *made)
{
    free(made);
    return SUCCESS;
}

EMU_EXPORT int cublasLtCreate(void **handle)
{
    return make(handle, 1);
}

EMU_EXPORT int cublasLtDestroy(void *handle)
{
    return end(handle);
}

EMU_EXPORT int cublasLtMatrixLayoutCreate(layout **out, int type, uint64_t rows, uint64_t columns,
                                          int64_t step)
{
    void *made = NULL;

    if (bytes_of(type) == 0 || rows == 0 || columns == 0 || step < (int64_t)rows)
        return INVALID_VALUE;
    const int result = make(&made, sizeof **out);
    if (result == SUCCESS) {
        *out = made;
        **out = (layout){type, rows, columns, step, 0, 1};
    }
    return result;
}

EMU_EXPORT int cublasLtMatrixLayoutDestroy(layout *made)
{
    return end(made);
}

EMU_EXPORT int cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *value,
                                                size_t bytes)
{
    if (attribute == 5 && bytes == sizeof l->count)
        memcpy(&l->count, value, bytes);
    else if (attribute == 6 && bytes == sizeof l->batch_step)
        memcpy(&l->batch_step, value, bytes);
    else
        return INVALID_VALUE;
    return l->count > 0 && l->batch_step >= 0 ? SUCCESS : INVALID_VALUE;
}

EMU_EXPORT int cublasLtMatmulDescCreate(desc **out, int compute, int scale)
{
    void *made = NULL;
    const int result = make(&made, sizeof **out);

    if (result == SUCCESS) {
        *out = made;
        (*out)->compute = compute;
        (*out)->scale = scale;
        (*out)->epilogue = 1;
    }
    return result;
}

EMU_EXPORT int cublasLtMatmulDescDestroy(desc *made)
{
    return end(made);
}

EMU_EXPORT int cublasLtMatmulDescSetAttribute(desc *d, int attribute, const void *value,
                                              size_t bytes)
{
    if ((attribute == 3 || attribute == 4) && bytes == sizeof(int))
        memcpy(&d->transpose[attribute - 3], value, bytes);
    else if (attribute == 7 && bytes == sizeof d->epilogue)
        memcpy(&d->epilogue, value, bytes);
    else if (attribute == 8 && bytes == sizeof d->bias)
        memcpy(&d->bias, value, bytes);
    else
        return INVALID_VALUE;
    return SUCCESS;
}

EMU_EXPORT int cublasLtMatmulPreferenceCreate(preference **out)
{
    void *made = NULL;
    const int result = make(&made, sizeof **out);

    *out = made;
    for (int k = 0; k < 4 && result == SUCCESS; k++)
        (*out)->alignment[k] = ALIGNMENT;
    return result;
}

EMU_EXPORT int cublasLtMatmulPreferenceDestroy(preference *made)
{
    return end(made);
}

EMU_EXPORT int cublasLtMatmulPreferenceSetAttribute(preference *p, int attribute, const void *value,
                                                    size_t bytes)
{
    if (attribute == 1 && bytes == sizeof p->workspace)
        memcpy(&p->workspace, value, bytes);
    else if (attribute >= 5 && attribute < 9 && bytes == sizeof p->alignment[0])
        memcpy(&p->alignment[attribute - 5], value, bytes);
    else
        return INVALID_VALUE;
    return SUCCESS;
}

/* ---- products -------------------------------------------------------------------------------- */

static bool is_float8(const layout *l)
{
    return l->type == R_8F_E4M3 || l->type == R_8F_E5M2;
}

/* Whether the layouts are those of a product of this kind. */
static bool agree(const desc *d, const layout *a, const layout *b, const layout *c,
                  const layout *out)
{
    const uint64_t a_rows = d->transpose[0] ? a->columns : a->rows;
    const uint64_t a_columns = d->transpose[0] ? a->rows : a->columns;
    const uint64_t b_rows = d->transpose[1] ? b->columns : b->rows;
    const uint64_t b_columns = d->transpose[1] ? b->rows : b->columns;
    const int scale = out->type == R_16F || out->type == R_16BF ? R_32F : out->type;

    return a_rows == out->rows && b_columns == out->columns && a_columns == b_rows &&
           c->rows == out->rows && c->columns == out->columns && c->type == out->type &&
           c->count == out->count && (a->type == b->type || (is_float8(a) && is_float8(b))) &&
           d->scale == scale && a->count == out->count && b->count == out->count &&
           (d->compute == 70) == (scale == R_64F || scale == C_64F) &&
           (d->compute == 72) == (a->type == R_8I) && (a->type == R_8I) == (out->type == R_32I);
}

EMU_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, const desc *d, const layout *a,
                                              const layout *b, const layout *c, const layout *out,
                                              const preference *p, int wanted, heuristic *results,
                                              int *count)
{
    const bool narrow = out->type != R_64F && out->type != C_32F && out->type != C_64F;
    const uint64_t multiple = a->type == R_8I ? 4 : 16;

    *count = 0;
    if (handle == NULL || wanted < 1 || !agree(d, a, b, c, out))
        return INVALID_VALUE;
    if (d->epilogue != 1 && !narrow)
        return NOT_SUPPORTED;
    /* Bytes: the transpose of one by the other as it is; sides are multiples. */
    if (bytes_of(a->type) == 1 &&
        (!d->transpose[0] || d->transpose[1] || out->rows % multiple != 0 ||
         a->rows % multiple != 0 || a->step % multiple != 0 || b->step % multiple != 0))
        return NOT_SUPPORTED;
    if (a->type == R_8F_E5M2 && b->type == R_8F_E5M2)
        return NOT_SUPPORTED;
    if (d->compute == 78) /* this GPU is too old */
        return NOT_SUPPORTED;
    *count = wanted < 3 ? 1 : 3;
    for (int which = 0; which < *count; which++) {
        heuristic *one = &results[which];
        memset(one, 0, sizeof *one);
        for (int k = 0; k < 4; k++)
            one->algo[k] = p->alignment[k];
        one->algo[4] = (uint64_t)which;
        one->algo[5] = wanted > 1 && which == 0 ? SLOW : 1;
        one->state = which == 2 ? NOT_SUPPORTED : SUCCESS;
        one->workspace_bytes = p->workspace >= WORKSPACE_BYTES ? WORKSPACE_BYTES : 0;
    }
    stand_in_asked++;
    return SUCCESS;
}

EMU_EXPORT int cublasLtMatmulAlgoCheck(void *handle, const desc *d, const layout *a,
                                       const layout *b, const layout *c, const layout *out,
                                       const uint64_t *algo, heuristic *result)
{
    if (handle == NULL || !agree(d, a, b, c, out) || algo[4] > 2 || stand_in_refuses != 0)
        return INVALID_VALUE;
    memset(result, 0, sizeof *result);
    memcpy(result->algo, algo, sizeof result->algo);
    result->state = algo[4] == 2 ? NOT_SUPPORTED : SUCCESS;
    result->workspace_bytes = WORKSPACE_BYTES;
    return SUCCESS;
}

/* One call, kept until its stream comes to it. */
typedef struct work {
    struct work *next;
    desc d;
    layout a_layout, b_layout, out_layout;
    const char *a, *b;
    layout c_layout;
    const char *c;
    char *out, *workspace;
    double complex alpha, beta;
    uint64_t times;
} work;

static const char *element(const layout *l, bool transposed, const char *data, int64_t matrix,
                           int64_t row, int64_t column)
{
    const int64_t at = transposed ? column + row * l->step : row + column * l->step;
    return data + (matrix * l->batch_step + at) * (int64_t)bytes_of(l->type);
}

static double complex finish(const desc *d, double complex v)
{
    const double x = creal(v);

    if ((d->epilogue & EPILOGUE_RELU) != 0)
        return x < 0 ? 0 : v;
    if ((d->epilogue & EPILOGUE_GELU) != 0)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return v;
}

static void multiply_once(const work *w)
{
    const int64_t k_count = (int64_t)(w->d.transpose[0] ? w->a_layout.rows : w->a_layout.columns);

    memset(w->workspace, 0xAB, WORKSPACE_BYTES);
    for (int64_t matrix = 0; matrix < w->out_layout.count; matrix++)
        for (int64_t j = 0; j < (int64_t)w->out_layout.columns; j++)
            for (int64_t i = 0; i < (int64_t)w->out_layout.rows; i++) {
                char *at = (char *)element(&w->out_layout, false, w->out, matrix, i, j);
                double complex sum = 0;
                for (int64_t k = 0; k < k_count; k++)
                    sum += load(w->a_layout.type,
                                element(&w->a_layout, w->d.transpose[0], w->a, matrix, i, k)) *
                           load(w->b_layout.type,
                                element(&w->b_layout, w->d.transpose[1], w->b, matrix, k, j));
                sum *= w->alpha;
                if (w->beta != 0)
                    sum += w->beta *
                           load(w->c_layout.type, element(&w->c_layout, false, w->c, matrix, i, j));
                if ((w->d.epilogue & EPILOGUE_BIAS) != 0)
                    sum += load(w->out_layout.type, (const char *)w->d.bias +
                                                        i * (int64_t)bytes_of(w->out_layout.type));
                store(w->out_layout.type, finish(&w->d, sum), at);
            }
}

static void multiply(void *given)
{
    const work *w = given;

    for (uint64_t k = 0; k < w->times; k++)
        multiply_once(w);
}

/* Whether the call keeps what was promised when the algorithm was chosen. */
static bool is_aligned(const uint64_t *algo, const void *a, const void *b, const void *c,
                       const void *d)
{
    return (uintptr_t)a % algo[0] == 0 && (uintptr_t)b % algo[1] == 0 &&
           (uintptr_t)c % algo[2] == 0 && (uintptr_t)d % algo[3] == 0;
}

EMU_EXPORT int cublasLtMatmul(void *handle, const desc *d, const void *alpha, const void *a,
                              const layout *a_layout, const void *b, const layout *b_layout,
                              const void *beta, const void *c, const layout *c_layout, void *out,
                              const layout *out_layout, const uint64_t *algo, void *workspace,
                              size_t workspace_bytes, void *stream)
{
    int (*launch)(void *stream, void (*fn)(void *user), void *user) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver != NULL ? dlsym(driver, "cuLaunchHostFunc") : NULL;
    static work *all; /* a captured product is computed many times, so that none is freed */
    work *w = NULL;

    if (handle == NULL || (c == out) != (c_layout == out_layout) || symbol == NULL ||
        !agree(d, a_layout, b_layout, c_layout, out_layout) || !is_aligned(algo, a, b, c, out) ||
        workspace == NULL || workspace_bytes < WORKSPACE_BYTES ||
        ((d->epilogue & EPILOGUE_BIAS) != 0 && d->bias == NULL))
        return INVALID_VALUE;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return ALLOC_FAILED;
    *w = (work){all,
                *d,
                *a_layout,
                *b_layout,
                *out_layout,
                a,
                b,
                *c_layout,
                c,
                out,
                workspace,
                load(d->scale, alpha),
                load(d->scale, beta),
                algo[5]};
    all = w;
    stand_in_last = (stand_in_call){.m = (int64_t)out_layout->rows,
                                    .n = (int64_t)out_layout->columns,
                                    .count = out_layout->count,
                                    .transposed = {d->transpose[0], d->transpose[1]},
                                    .epilogue = d->epilogue,
                                    .compute = d->compute,
                                    .type = a_layout->type,
                                    .b_type = b_layout->type,
                                    .a = a,
                                    .b = b,
                                    .c = c,
                                    .d = out,
                                    .bias = (d->epilogue & EPILOGUE_BIAS) != 0 ? d->bias : NULL,
                                    .workspace_bytes = workspace_bytes,
                                    .algorithm = algo[4]};
    stand_in_count++;
    memcpy(&launch, &symbol, sizeof launch);
    return launch(stream, multiply, w) == 0 ? SUCCESS : INVALID_VALUE;
}
