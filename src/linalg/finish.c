/*
 * finish.c - elementwise operations behind a product on the cpu device: a bias for each column,
 * then an epilogue. product_cpu.c calls it.
 *
 * It reads y and writes it in place, in one pass, which is little work beside a product. Test:
 * test_matmul.
 */
#include <math.h>

#include "linalg/linalg.h"

static double gelu(double x)
{
    return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static double apply(kiln_epilogue epilogue, double x)
{
    switch (epilogue) {
    case KILN_EPILOGUE_RELU:
        return x < 0 ? 0 : x; /* a NaN is not below 0 */
    case KILN_EPILOGUE_GELU:
        return gelu(x);
    default:
        return x;
    }
}

/* X(dtype, type in memory, to double, from double) */
#define ELEMENTS(X)                                                                                \
    X(FLOAT16, uint16_t, (double)kiln__float16_to_float(v), kiln__float16_from_double(x))          \
    X(BFLOAT16, uint16_t, (double)kiln__bfloat16_to_float(v), kiln__bfloat16_from_double(x))       \
    X(FLOAT32, float, (double)v, (float)x)                                                         \
    X(FLOAT64, double, v, x)

#define FINISH(dtype, stored, in, out)                                                             \
    static double load_##dtype(const char *at)                                                     \
    {                                                                                              \
        const stored v = *(const stored *)at;                                                      \
        return (in);                                                                               \
    }                                                                                              \
    static void finish_##dtype(const kiln__product *p, char *y)                                    \
    {                                                                                              \
        const char *bias = p->bias;                                                                \
        for (int64_t k = 0; k < p->n; k++, y += p->y.column) {                                     \
            double x = load_##dtype(y);                                                            \
            if (bias != NULL) {                                                                    \
                x += load_##dtype(bias);                                                           \
                bias += p->bias_step;                                                              \
            }                                                                                      \
            x = apply(p->epilogue, x);                                                             \
            *(stored *)y = (out);                                                                  \
        }                                                                                          \
    }
ELEMENTS(FINISH)

#define FINISH_COMPLEX(dtype, part)                                                                \
    static void finish_##dtype(const kiln__product *p, char *y)                                    \
    {                                                                                              \
        const char *bias = p->bias;                                                                \
        for (int64_t k = 0; k < p->n; k++, y += p->y.column, bias += p->bias_step) {               \
            ((part *)y)[0] += ((const part *)bias)[0];                                             \
            ((part *)y)[1] += ((const part *)bias)[1];                                             \
        }                                                                                          \
    }
FINISH_COMPLEX(COMPLEX64, float)
FINISH_COMPLEX(COMPLEX128, double)

#define FINISH_CASE(dtype, stored, in, out) [KILN_##dtype] = finish_##dtype,
static void (*const finish[KILN_DTYPE_COUNT])(const kiln__product *p, char *y) = {
    ELEMENTS(FINISH_CASE)[KILN_COMPLEX64] = finish_COMPLEX64,
    [KILN_COMPLEX128] = finish_COMPLEX128,
};

void kiln__finish_row(const kiln__product *p, char *y, int64_t row)
{
    finish[p->out](p, y + row * p->y.row);
}
