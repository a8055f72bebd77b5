/*
 * cupy_words.c - definitions that lean on what CuPy's headers and CUDA's have beside plain C++: each
 * case is there for one construct, which its name tells.
 */
#include <math.h>

#include "oracle/cupy.h"

#define PI 3.14159265358979323846264338327950288L

static long double power_of_two(long double x)
{
    return x == 0 ? 1 : x == 1 ? 2 : 4;
}

static bool before(host_value a, host_value b)
{
    return a.re != b.re ? a.re < b.re : a.im < b.im;
}

CUPY_REAL(table, power_of_two(x))
CUPY_REAL(turn, x + PI / 2)
CUPY_REAL(turn_back, x - 3 * PI / 4 + 1 / logl(2))
CUPY_REAL(tiny, x * 0x1p-149L)
CUPY_REAL(tripled, 3 * x)
CUPY_REAL(same, x)
CUPY_REAL(rounded_down, floorl(x / y))
CUPY_REAL(no_number, isnan(x) ? 1 : 0)
CUPY_REAL(nan_below_zero, x < 0 ? NAN : x)
CUPY_REAL(wave, 3 + sinl(x) * sinl(x) - cosl(x)) /* never near 0, where an ulp would be small */
CUPY_REAL(byte, (long double)((unsigned)x & 255))
CUPY_REAL(as_typed, 2 * x)
CUPY_REAL(bigger_half, fmaxl(x, y) + 1)

CUPY_MEANS(lesser, out[0] = before(in[1], in[0]) ? in[1] : in[0];)
CUPY_MEANS(greater, out[0] = before(in[0], in[1]) ? in[1] : in[0];)
CUPY_MEANS(ordered, out[0] = host_real(before(in[0], in[1]) + 2 * before(in[1], in[0]) +
                                       4 * !before(in[1], in[0]));)
CUPY_MEANS(above_real, out[0] = host_real(before(host_real(1), in[0]));)
CUPY_MEANS(rounded_parts, out[0].re = rintl(in[0].re); out[0].im = rintl(in[0].im);)
CUPY_MEANS(turned, out[0].re = -in[0].im; out[0].im = in[0].re;)
/* 1 / sqrt(z): half the angle, turned back. */
CUPY_MEANS(inverse_root, const long double r = 1 / sqrtl(hypotl(in[0].re, in[0].im));
           const long double half = atan2l(in[0].im, in[0].re) / 2; out[0].re = r * cosl(half);
           out[0].im = -r * sinl(half);)

#define STEPS "__constant__ double steps[] = {1, 2, 4};\n"

const cupy_case cupy_words[] = {
    {"constant_table", "int32 x", "float64 z", "z = steps[x]", STEPS, NULL, NULL, "id", 0, 2, table,
     0},
    {"constant_table_by_pointer", "int32 x", "float64 z", "z = look(steps, x)",
     "static " STEPS "__device__ double look(const double *t, int k) { return t[k]; }", NULL, NULL,
     "id", 0, 2, table, 0},
    {"constant_table_written_by_nobody", "int32 x", "float64 z", "double *t = steps; z = t[x]",
     STEPS, NULL, NULL, "id", 0, 2, table, 0},
    {"include_math_constants", "float64 x", "float64 z", "z = x + CUDART_PIO2",
     "#include <math_constants.h>\n", NULL, NULL, "dd", 0, 9, turn, 2},
    {"include_cupy_constants", "T x", "T z", "z = x - T(CUDART_3PIO4) + T(CUDART_L2E)",
     "// for pi\n  # include \"cupy/math_constants.h\" // and such\n", NULL, NULL, "dd", 40, 90,
     turn_back, 4},
    {"include_of_single_constants", "float32 x", "float64 z", "z = x * (double)CUDART_MIN_DENORM_F",
     "#include <math_constants.h>\n", NULL, NULL, "fd", 1, 9, tiny, 0},
    {"include_complex", "complex128 w", "complex128 z", "z = w * complex<double>(0, 1)",
     "#include <cupy/complex.cuh>\n#include <cupy/carray.cuh>\n", NULL, NULL, "DD", -9, 9, turned,
     0},
    {"include_thrust_complex", "complex64 w", "complex64 z", "z = w * thrust::complex<float>(0, 1)",
     "#include <thrust/complex.h>", NULL, NULL, "FF", -9, 9, turned, 0},
    {"include_float16", "float16 x", "float32 z", "z = x * float16(3)",
     "#include <cupy/float16.cuh>\n#include <cupy/atomics.cuh>\n", NULL, NULL, "ef", -9, 9, tripled,
     0},
    {"include_only_where_asked_for", "float32 x", "float32 z", "z = x",
     "#ifdef KILN_NOBODY_DEFINES_THIS\n#include <cupy/complex.cuh>\n#endif\n", NULL, NULL, "ff", -9,
     9, same, 0},
    {"floor_divide_integers", "int32 x, int32 y", "int32 z", "z = _floor_divide(x, y)", NULL, NULL,
     NULL, "iii", 1, 99, rounded_down, 0},
    {"floor_divide_floats", "float64 x, float64 y", "float64 z", "z = _floor_divide(x, y)", NULL,
     NULL, NULL, "ddd", 1, 99, rounded_down, 0},
    {"cupy_traits", "float32 x", "float64 z",
     "typedef cupy::type_traits::conditional<cupy::type_traits::is_same<T1, float>::value, double, "
     "int>::type wide; z = wide(x)",
     "typedef float T1;", NULL, NULL, "fd", -9, 9, same, 0},
    {"index_type", "raw float32 x, float32 y", "float32 z", "IndexT k = i; z = x[k] + 0 * y", NULL,
     NULL, NULL, "fff", -9, 9, same, 0},
    {"index_type_of_an_array", "raw float32 x, float32 y", "float32 z", "z = at(x, i) + 0 * y",
     "template <class A> __device__ float at(A x, typename A::index_t k) { return x[k]; }", NULL,
     NULL, "fff", -9, 9, same, 0},
    {"complex_min", "T x, T y", "T z", "z = min(x, y)", NULL, NULL, NULL, "DDD", -3, 3, lesser, 0},
    {"complex_max", "T x, T y", "T z", "z = max(x, y)", NULL, NULL, NULL, "FFF", -3, 3, greater, 0},
    {"complex_ternary", "T x, T y", "T z", "z = x < y ? x : y", NULL, NULL, NULL, "DDD", -3, 3,
     lesser, 0},
    {"complex_comparisons", "T x, T y", "int32 z", "z = (x < y) + 2 * (x > y) + 4 * (x <= y)", NULL,
     NULL, NULL, "FFi", -3, 3, ordered, 0},
    {"complex_beside_real", "T x", "int32 z", "z = x > 1", NULL, NULL, NULL, "Di", -3, 3,
     above_real, 0},
    {"complex_rint", "T x", "T z", "z = rint(x)", NULL, NULL, NULL, "DD", -9, 9, rounded_parts, 0},
    {"complex_rsqrt", "T x", "T z", "z = rsqrt(x)", NULL, NULL, NULL, "DD", 1, 9, inverse_root, 8},
    {"nan_by_name", "T x", "T z", "z = x < 0 ? nan(\"\") : x", NULL, NULL, NULL, "dd", -9, 9,
     nan_below_zero, 0},
    {"nanf_by_name", "float32 x", "int32 z", "z = isnan(x + 0 * nanf(\"0\")) ? 0 : 1", NULL, NULL,
     NULL, "fi", -9, 9, no_number, 0},
    {"sincos_of_a_double_into_floats", "T x", "T z",
     "T s, c; sincos(1.0 * x, &s, &c); z = 3 + s * s - c", NULL, NULL, NULL, "ff", -3, 3, wave, 16},
    {"typedefs_of_standard_integers", "int32 x", "int32 z", "z = (int32_t)(uint8_t)x",
     "typedef unsigned char uint8_t;\ntypedef int int32_t;\ntypedef long int64_t;\n", NULL, NULL,
     "ii", 0, 999, byte, 0},
    {"aliases_of_standard_integers", "int32 x", "int32 z", "int64_t w = x; z = (uint8_t)w",
     "using int64_t = long;\nusing uint8_t = unsigned char;", NULL, NULL, "ii", 0, 999, byte, 0},
    {"constant_named_as_a_macro", "float64 x", "float64 z", "z = x + M_PI_2",
     "__device__ const double M_PI_2 = 1.57079632679489661923;", NULL, NULL, "dd", 0, 9, turn, 2},
    {"macro_named_as_a_macro", "float64 x", "float64 z", "z = x + M_PI_2",
     "#ifndef M_PI_2\n#define M_PI_2 1.57079632679489661923\n#endif", NULL, NULL, "dd", 0, 9, turn,
     2},
    {"own_struct_complex", "float32 x", "float32 z", "complex v = {x, x}; z = v.re + v.im",
     "struct complex { float re, im; };", NULL, NULL, "ff", -9, 9, as_typed, 0},
    {"half_minimum_and_float", "float16 x, float16 y", "float32 z",
     "float16 m = max(x, y); z = m + 1", NULL, NULL, NULL, "eef", -9, 9, bigger_half, 0},
};

const size_t cupy_words_count = COUNT(cupy_words);
