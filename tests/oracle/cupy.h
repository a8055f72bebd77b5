/*
 * cupy.h - definitions as people write them for CuPy's ElementwiseKernel, with their meaning in C.
 *
 * The strings have the shapes found in the wild: casts in C style, thrust:: names, missing and
 * doubled semicolons, several lines, `raw` tables, loop_prep and after_loop. They are run as they
 * stand. Inputs are drawn from [low, high], integers or multiples of 1/16: sums and products of a few
 * of those are exact, so that only functions need a tolerance.
 */
#ifndef KILN_TEST_CUPY_H
#define KILN_TEST_CUPY_H

#include "oracle/host.h"

enum { CUPY_PARAMS_MAX = 6 };

typedef struct cupy_case {
    const char *name; /* also the kernel's name */
    const char *in, *out, *op;
    const char *preamble, *loop_prep, *after_loop;
    const char *dtypes; /* a letter a parameter: ? bool, bBhHiIlL integers of 8 to 64 bits (capitals
                           unsigned), e half, E bfloat16, f d floating point, F D complex */
    double low, high;
    host_function means;
    uint64_t ulps; /* how far a GPU's or a compiler's functions may be off */
} cupy_case;

/* One list of cases a file. */
extern const cupy_case cupy_arithmetic[], cupy_science[], cupy_words[];
extern const size_t cupy_arithmetic_count, cupy_science_count, cupy_words_count;

/* Each function below begins so: x, y, w are the real parts of the first inputs. */
#define CUPY_MEANS(name, ...)                                                                      \
    static void name(const host_value *in, host_value *out)                                        \
    {                                                                                              \
        const long double x = in[0].re, y = in[1].re, w = in[2].re;                                \
        (void)x;                                                                                   \
        (void)y;                                                                                   \
        (void)w;                                                                                   \
        __VA_ARGS__                                                                                \
    }
#define CUPY_REAL(name, expression) CUPY_MEANS(name, out[0] = host_real(expression);)

#endif
