/*
 * cupy_arithmetic.c - CuPy-style definitions: arithmetic, comparison, integers, complex numbers.
 *
 * Rule: the strings are not tidied up. Their odd forms are what is tested.
 */
#include <math.h>

#include "oracle/cupy.h"

static long double clip(long double v, long double low, long double high)
{
    return v < low ? low : v > high ? high : v;
}

CUPY_REAL(squared_diff, (x - y) * (x - y))
CUPY_REAL(axpy, x *y + w)
CUPY_REAL(add_one, x + 1)
CUPY_REAL(absolute, fabsl(x))
CUPY_REAL(sign_of, x > 0 ? 1 : x < 0 ? -1 : 0)
CUPY_REAL(larger, fmaxl(x, y))
CUPY_REAL(smaller, fminl(x, y))
CUPY_REAL(clipped, clip(x, y, w))
CUPY_REAL(clipped_late, fmaxl(y, fminl(x, w)))
CUPY_REAL(relu, x > 0 ? x : 0)
CUPY_REAL(relu_grad, x > 0 ? y : 0)
CUPY_REAL(leaky, x >= 0 ? x : 0.2L * x)
CUPY_REAL(where, x != 0 ? y : w)
CUPY_REAL(greater, x > y)
CUPY_REAL(both, x != 0 && y != 0)
CUPY_REAL(remainder_of,
          fmodl(x, y) != 0 && (fmodl(x, y) < 0) != (y < 0) ? fmodl(x, y) + y : fmodl(x, y))
CUPY_REAL(floor_division, floorl(x / y))
CUPY_REAL(bits_and, (long double)((int64_t)x &(int64_t)y))
CUPY_REAL(shifted, (long double)((int64_t)x << ((int64_t)y & 3)))
CUPY_REAL(inverted, (long double)~(int64_t)x)
CUPY_REAL(to_half_and_back, host_round(KILN_FLOAT16, host_real(x)).re)
CUPY_REAL(truncated, truncl(x))
CUPY_REAL(widened, x *y)
CUPY_REAL(reciprocal, 1 / x)
CUPY_REAL(lerp, x + (y - x) * w)
CUPY_REAL(step_down, x - y * w)
CUPY_REAL(parity, (long double)((int64_t)x & 1))
CUPY_REAL(gray_code, (long double)((uint32_t)x ^ (uint32_t)x >> 1))
CUPY_REAL(bit_count, __builtin_popcount((unsigned)x))

CUPY_MEANS(divmod_both, out[0] = host_real(truncl(x / y)); out[1] = host_real(fmodl(x, y));)
CUPY_MEANS(swap_both, out[0] = host_real(y); out[1] = host_real(x);)
CUPY_MEANS(min_max, out[0] = host_real(fminl(x, y)); out[1] = host_real(fmaxl(x, y));)
CUPY_MEANS(masked_assign, if (x != 0) out[0] = host_real(y);)
CUPY_MEANS(accumulate, out[0] = host_real(out[0].re + x * y);)
CUPY_MEANS(conjugate, out[0] = (host_value){in[0].re, -in[0].im};)
CUPY_MEANS(complex_parts, out[0] = host_real(in[0].re); out[1] = host_real(in[0].im);)
CUPY_MEANS(make_complex, out[0] = (host_value){x, y};)
CUPY_MEANS(complex_product, out[0].re = in[0].re * in[1].re - in[0].im * in[1].im;
           out[0].im = in[0].re * in[1].im + in[0].im * in[1].re;)
CUPY_MEANS(complex_scale, out[0] = (host_value){in[0].re * in[1].re, in[0].im *in[1].re};)
CUPY_MEANS(magnitude_squared, out[0] = host_real(in[0].re * in[0].re + in[0].im * in[0].im);)

const cupy_case cupy_arithmetic[] = {
    {"squared_diff", "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", NULL, NULL, NULL,
     "fff", -4, 4, squared_diff, 0},
    {"squared_diff_generic", "T x, T y", "T z", "z = (x - y) * (x - y)", NULL, NULL, NULL, "ddd",
     -4, 4, squared_diff, 0},
    {"squared_diff_super_generic", "X x, Y y", "Z z", "z = (x - y) * (x - y)", NULL, NULL, NULL,
     "fdd", -4, 4, squared_diff, 0},
    {"axpy", "T x, T y, T w", "T out", "out = x * y + w;", NULL, NULL, NULL, "llll", -100, 100,
     axpy, 0},
    {"add_one", "T x", "T y", "y = x + (T)1", NULL, NULL, NULL, "ff", -10, 10, add_one, 0},
    {"my_abs", "T x", "T y", "y = x < 0 ? -x : x;", NULL, NULL, NULL, "hh", -1000, 1000, absolute,
     0},
    {"my_abs_f", "T x", "T y", "y = abs(x)", NULL, NULL, NULL, "ff", -10, 10, absolute, 0},
    {"sign", "T x", "T y", "y = (x > 0) - (x < 0)", NULL, NULL, NULL, "ii", -3, 3, sign_of, 0},
    {"maximum", "T x, T y", "T z", "z = max(x, y)", NULL, NULL, NULL, "iii", -50, 50, larger, 0},
    {"maximum_f", "T x, T y", "T z", "z = fmax(x, y)", NULL, NULL, NULL, "fff", -50, 50, larger, 0},
    {"minimum", "T x, T y", "T z", "z = min(x, y);", NULL, NULL, NULL, "ddd", -50, 50, smaller, 0},
    {"clip", "S x, T a_min, T a_max", "U out", "out = x < a_min ? a_min : (x > a_max ? a_max : x)",
     NULL, NULL, NULL, "iiii", 0, 9, clipped, 0},
    {"clip_f", "T x, T lo, T hi", "T y", "y = max(lo, min(x, hi))", NULL, NULL, NULL, "ffff", -4, 4,
     clipped_late, 0},
    {"relu_fwd", "T x", "T y", "y = max(x, (T)0)", NULL, NULL, NULL, "ff", -5, 5, relu, 0},
    {"relu_bwd", "T y, T gy", "T gx", "gx = y > 0 ? gy : (T)0", NULL, NULL, NULL, "fff", -5, 5,
     relu_grad, 0},
    {"lrelu", "T x, T slope", "T y", "y = x >= 0 ? x : (T)(0.2 * x)", NULL, NULL, NULL, "fff", -5,
     5, leaky, 1},
    {"where", "bool cond, T x, T y", "T out", "out = cond ? x : y", NULL, NULL, NULL, "?fff", -5, 5,
     where, 0},
    {"greater", "T x, T y", "bool z", "z = x > y", NULL, NULL, NULL, "ff?", -5, 5, greater, 0},
    {"logical_and", "bool x, bool y", "bool z", "z = x && y", NULL, NULL, NULL, "???", 0, 1, both,
     0},
    {"py_mod", "T x, T y", "T z", "T r = x % y; z = (r != 0 && (r < 0) != (y < 0)) ? r + y : r",
     NULL, NULL, NULL, "iii", 1, 30, remainder_of, 0},
    {"floordiv", "T x, T y", "T z", "z = floor(x / y)", NULL, NULL, NULL, "ddd", 1, 9,
     floor_division, 0},
    {"bits_and", "T x, T y", "T z", "z = x & y", NULL, NULL, NULL, "HHH", 0, 65535, bits_and, 0},
    {"lshift", "T x, T y", "T z", "z = x << (y & 3)", NULL, NULL, NULL, "LLL", 0, 1000, shifted, 0},
    {"invert", "T x", "T z", "z = ~x", NULL, NULL, NULL, "ll", -1000, 1000, inverted, 0},
    {"through_half", "float32 x", "float32 y", "float16 h = x; y = h", NULL, NULL, NULL, "ff",
     -2000, 2000, to_half_and_back, 0},
    {"as_int", "float64 x", "int32 y", "y = (int)x", NULL, NULL, NULL, "di", -99, 99, truncated, 0},
    {"mul_wide", "int32 x, int32 y", "int64 z", "z = (long long)x * y", NULL, NULL, NULL, "iil",
     -100000, 100000, widened, 0},
    {"rcp", "T x", "T y", "y = T(1) / x", NULL, NULL, NULL, "dd", 1, 8, reciprocal, 0},
    {"lerp", "float32 a, float32 b, float32 t", "float32 c", "c = a + (b - a) * t", NULL, NULL,
     NULL, "ffff", 0, 1, lerp, 0},
    {"sgd", "T grad, T lr, T unused", "T param", "param = grad - lr * unused", NULL, NULL, NULL,
     "dddd", -9, 9, step_down, 0},
    {"odd", "uint8 x", "bool y", "y = x & 1", NULL, NULL, NULL, "B?", 0, 255, parity, 0},
    {"gray", "uint32 x", "uint32 y", "y = x ^ (x >> 1)", NULL, NULL, NULL, "II", 0, 1e9, gray_code,
     0},
    {"popcount", "uint32 x", "int32 y", "y = __popc(x)", NULL, NULL, NULL, "Ii", 0, 4e9, bit_count,
     0},
    {"divmod", "T x, T y", "T q, T r", "q = x / y; r = x % y", NULL, NULL, NULL, "iiii", 1, 99,
     divmod_both, 0},
    {"swap", "T x, T y", "T a, T b", "T tmp = x;\n a = y;\n b = tmp;\n", NULL, NULL, NULL, "ffff",
     -5, 5, swap_both, 0},
    {"minmax", "T x, T y", "T lo, T hi", "if (x < y) { lo = x; hi = y; } else { lo = y; hi = x; }",
     NULL, NULL, NULL, "hhhh", -99, 99, min_max, 0},
    {"masked_copy", "bool mask, T x", "T out", "if (mask) out = x", NULL, NULL, NULL, "?ff", -5, 5,
     masked_assign, 0},
    {"fma_into", "T x, T y", "T acc", "acc += x * y;", NULL, NULL, NULL, "iii", -9, 9, accumulate,
     0},
    {"conj", "T x", "T y", "y = conj(x)", NULL, NULL, NULL, "FF", -5, 5, conjugate, 0},
    {"real_imag", "complex64 x", "float32 re, float32 im", "re = x.real(); im = x.imag()", NULL,
     NULL, NULL, "Fff", -5, 5, complex_parts, 0},
    {"to_complex", "float64 re, float64 im", "complex128 z", "z = thrust::complex<double>(re, im)",
     NULL, NULL, NULL, "ddD", -5, 5, make_complex, 0},
    {"cmul", "complex<float> a, complex<float> b", "complex<float> c", "c = a * b", NULL, NULL,
     NULL, "FFF", -3, 3, complex_product, 0},
    {"cmul_thrust", "thrust::complex<double> a, thrust::complex<double> b", "T c", "c = a * b",
     NULL, NULL, NULL, "DDD", -3, 3, complex_product, 0},
    {"cscale", "complex64 a, float32 s", "complex64 c", "c = a * s", NULL, NULL, NULL, "FfF", -3, 3,
     complex_scale, 0},
    {"abs2", "T x", "float64 y", "y = norm(x)", NULL, NULL, NULL, "Dd", -3, 3, magnitude_squared,
     0},
};

const size_t cupy_arithmetic_count = COUNT(cupy_arithmetic);
