/*
 * cupy_science.c - CuPy-style definitions: mathematics, physics, images, statistics, tables.
 *
 * Rule: the strings are not tidied up. Their odd forms are what is tested.
 */
#include <math.h>

#include "oracle/cupy.h"

#define PI 3.14159265358979323846264338327950288L

static long double clip(long double v, long double low, long double high)
{
    return v < low ? low : v > high ? high : v;
}

CUPY_REAL(sigmoid, 1 / (1 + expl(-x)))
CUPY_REAL(tanh_half, tanhl(x * 0.5L) * 0.5L + 0.5L)
CUPY_REAL(softplus, log1pl(expl(x)))
CUPY_REAL(gelu, 0.5L * x * (1 + erfl(x / sqrtl(2))))
CUPY_REAL(gaussian, expl(-0.5L * ((x - y) / w) * ((x - y) / w)) / (w * sqrtl(2 * PI)))
CUPY_REAL(distance, sqrtl(x *x + y * y))
CUPY_REAL(angle, atan2l(y, x))
CUPY_REAL(degrees, x * 180 / PI)
CUPY_REAL(sinc, x == 0 ? 1 : sinl(PI * x) / (PI * x))
CUPY_REAL(power, powl(x, y))
CUPY_REAL(logarithm, log10l(x))
CUPY_REAL(entropy, x > 0 ? -x * logl(x) : 0)
CUPY_REAL(log_add, fmaxl(x, y) + log1pl(expl(-fabsl(x - y))))
CUPY_REAL(square_root, sqrtl(x))
CUPY_REAL(reciprocal_root, 1 / sqrtl(x))
CUPY_REAL(cube_root, cbrtl(x))
CUPY_REAL(rounded, rintl(x))
CUPY_REAL(ceiling, ceill(x))
CUPY_REAL(chain, sqrtl(x *x + y * y) * expl(-x) + tanhl(y) / (1 + x * x))
CUPY_REAL(gray_level, 0.299L * x + 0.587L * y + 0.114L * w)
CUPY_REAL(gamma_curve, clip(powl(x / 255, 1 / 2.2L) * 255, 0, 255))
CUPY_REAL(threshold, x > 127 ? 255 : 0)
CUPY_REAL(huber, fabsl(x) <= 1 ? 0.5L * x * x : fabsl(x) - 0.5L)
CUPY_REAL(lorentz, sqrtl(1 / (1 - x * x)))
CUPY_REAL(harmonic, sinl(x) + 0.5L * sinl(2 * x) + 0.25L * sinl(4 * x))
CUPY_REAL(normal_cdf, 0.5L * erfcl(-x / sqrtl(2)))
CUPY_REAL(factorial_like, tgammal(x))
CUPY_REAL(no_nan, isnan(x) ? 0 : x)
CUPY_REAL(hypotenuse, hypotl(x, y))
CUPY_REAL(bent, (sqrtl(x * x + 1) - 1) / 2 + x)

/* Newton's method, as written in the snippet: ten steps suffice for convergence. */
CUPY_REAL(newton_root, sqrtl(x))

/* Horner's rule over 1 + 2v + 3v^2. */
CUPY_REAL(polynomial, 1 + x * (2 + x * 3))

CUPY_MEANS(sin_and_cos, out[0] = host_real(sinl(x)); out[1] = host_real(cosl(x));)
CUPY_MEANS(polar, out[0] = host_real(sqrtl(x * x + y * y)); out[1] = host_real(atan2l(y, x));)
CUPY_MEANS(rotate, out[0] = host_real(x * cosl(w) - y * sinl(w));
           out[1] = host_real(x * sinl(w) + y * cosl(w));)
CUPY_MEANS(adam, const long double m = 0.9L * out[1].re + 0.1L * x;
           const long double v = 0.999L * out[2].re + 0.001L * x * x; out[1] = host_real(m);
           out[2] = host_real(v); out[0] = host_real(out[0].re - 0.01L * m / (sqrtl(v) + 1e-8L));)
CUPY_MEANS(
    mandelbrot, long double re = 0, im = 0; int k = 0;
    for (; k < 20 && re * re + im * im <= 4; k++) {
        const long double next = re * re - im * im + x;
        im = 2 * re * im + y;
        re = next;
    } out[0] = host_real(k);)
CUPY_MEANS(collatz, uint64_t v = (uint64_t)x; int k = 0;
           for (; v > 1; k++) v = v % 2 == 0 ? v / 2 : 3 * v + 1; out[0] = host_real(k);)
CUPY_MEANS(complex_exponential,
           out[0] = (host_value){expl(in[0].re) * cosl(in[0].im), expl(in[0].re) * sinl(in[0].im)};)
CUPY_MEANS(complex_magnitude, out[0] = host_real(hypotl(in[0].re, in[0].im));)
CUPY_MEANS(phase_shift, out[0] = (host_value){in[0].re * cosl(in[1].re) - in[0].im * sinl(in[1].re),
                                              in[0].re *sinl(in[1].re) + in[0].im *cosl(in[1].re)};)

const cupy_case cupy_science[] = {
    {"sigmoid", "T x", "T y", "y = 1 / (1 + exp(-x))", NULL, NULL, NULL, "ff", -5, 5, sigmoid, 4},
    {"sigmoid_chainer", "T x", "T y", "y = tanh(x * half) * half + half", NULL,
     "const T half = 0.5;", NULL, "ff", -1, 5, tanh_half, 16},
    {"softplus", "T x", "T y", "y = log1p(exp(x))", NULL, NULL, NULL, "dd", -5, 5, softplus, 8},
    {"gelu", "T x", "T y", "y = 0.5 * x * (1 + erf(x * M_SQRT1_2))", NULL, NULL, NULL, "dd", -1, 4,
     gelu, 32},
    {"gauss", "T x, T mu, T sigma", "T y",
     "T d = (x - mu) / sigma;\ny = exp(-0.5 * d * d) / (sigma * sqrt(2 * M_PI));\n", NULL, NULL,
     NULL, "dddd", 1, 3, gaussian, 16},
    {"norm2", "T x, T y", "T z", "z = sqrt(x * x + y * y)", NULL, NULL, NULL, "fff", -5, 5,
     distance, 2},
    {"arctan2", "T x, T y", "T z", "z = atan2(y, x)", NULL, NULL, NULL, "ddd", 1, 5, angle, 4},
    {"rad2deg", "T x", "T y", "y = x * (T)(180.0 / M_PI)", NULL, NULL, NULL, "dd", -9, 9, degrees,
     4},
    {"sinc", "T x", "T y", "y = x == 0 ? T(1) : T(sin(M_PI * x) / (M_PI * x))", NULL, NULL, NULL,
     "dd", 0.1, 0.9, sinc, 16},
    {"pow", "T x, T y", "T z", "z = pow(x, y)", NULL, NULL, NULL, "ddd", 0.5, 4, power, 8},
    {"log10", "T x", "T y", "y = log10(x)", NULL, NULL, NULL, "dd", 2, 900, logarithm, 4},
    {"entr", "T x", "T y", "y = x > 0 ? -x * log(x) : T(0)", NULL, NULL, NULL, "dd", -1, 0.9,
     entropy, 8},
    {"logaddexp", "T x, T y", "T z", "z = fmax(x, y) + log1p(exp(-fabs(x - y)))", NULL, NULL, NULL,
     "ddd", 1, 9, log_add, 8},
    {"sqrt", "T x", "T y", "y = sqrt(x)", NULL, NULL, NULL, "ff", 0, 99, square_root, 1},
    {"rsqrt", "T x", "T y", "y = rsqrt(x)", NULL, NULL, NULL, "ff", 1, 99, reciprocal_root, 4},
    {"cbrt", "T x", "T y", "y = cbrt(x)", NULL, NULL, NULL, "dd", 1, 99, cube_root, 4},
    {"rint", "T x", "T y", "y = rint(x)", NULL, NULL, NULL, "ff", -9, 9, rounded, 0},
    {"ceil", "T x", "T y", "y = ceil(x)", NULL, NULL, NULL, "dd", -9, 9, ceiling, 0},
    {"chain", "T x, T y", "T z", "z = sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x)", NULL, NULL, NULL,
     "ddd", 0, 4, chain, 16},
    {"rgb2gray", "uint8 r, uint8 g, uint8 b", "float64 y", "y = 0.299 * r + 0.587 * g + 0.114 * b",
     NULL, NULL, NULL, "BBBd", 0, 255, gray_level, 4},
    {"gamma", "float64 x", "float64 y",
     "double v = pow(x / 255.0, 1 / 2.2) * 255; y = v < 0 ? 0 : v > 255 ? 255 : v;", NULL, NULL,
     NULL, "dd", 1, 250, gamma_curve, 16},
    {"binarize", "uint8 x", "uint8 y", "y = x > 127 ? 255 : 0", NULL, NULL, NULL, "BB", 0, 255,
     threshold, 0},
    {"huber", "T x", "T y", "T a = fabs(x); y = a <= 1 ? T(0.5) * x * x : a - T(0.5)", NULL, NULL,
     NULL, "ff", -3, 3, huber, 1},
    {"lorentz", "float64 beta", "float64 g", "g = rsqrt(1.0 - beta * beta)", NULL, NULL, NULL, "dd",
     0, 0.9, lorentz, 4},
    {"harmonics", "T x", "T y",
     "y = 0;\nfor (int k = 0; k < 3; ++k) {\n  y += sin(x * (1 << k)) / (1 << k);\n}", NULL, NULL,
     NULL, "dd", 0.1, 0.7, harmonic, 8},
    {"ndtr", "T x", "T y", "y = 0.5 * erfc(-x * M_SQRT1_2)", NULL, NULL, NULL, "dd", -2, 2,
     normal_cdf, 16},
    {"gamma_fn", "T x", "T y", "y = tgamma(x)", NULL, NULL, NULL, "dd", 1, 6, factorial_like, 32},
    {"nan_to_zero", "T x", "T y", "y = isnan(x) ? (T)0 : x", NULL, NULL, NULL, "ff", -9, 9, no_nan,
     0},
    {"hypot", "T x, T y", "T z", "z = hypot(x, y)", NULL, NULL, NULL, "ddd", -9, 9, hypotenuse, 4},
    {"bent_identity", "T x", "T y", "y = bent(x)",
     "template <typename T> __device__ T bent(T v) { return (sqrt(v * v + 1) - 1) / 2 + v; }", NULL,
     NULL, "dd", 1, 9, bent, 4},
    {"newton_sqrt", "float64 a", "float64 r",
     "r = a;\nfor (int it = 0; it < 10; it++)\n  r = 0.5 * (r + a / r);", NULL, NULL, NULL, "dd", 1,
     9, newton_root, 4},
    {"horner", "T x", "T y", "y = POLY(x, 1, 2, 3)",
     "#define POLY(v, c0, c1, c2) ((c0) + (v) * ((c1) + (v) * (c2)))\n", NULL, NULL, "ff", -3, 3,
     polynomial, 0},
    {"sincos", "T x", "T s, T c", "sincos(x, &s, &c)", NULL, NULL, NULL, "ddd", 0.1, 1.4,
     sin_and_cos, 4},
    {"cart2pol", "T x, T y", "T r, T phi", "r = hypot(x, y); phi = atan2(y, x);", NULL, NULL, NULL,
     "dddd", 1, 9, polar, 4},
    {"rotate", "T x, T y, T theta", "T u, T v",
     "const T c = cos(theta), s = sin(theta); u = x * c - y * s; v = x * s + y * c", NULL, NULL,
     /* u cancels: its terms are up to 200 times larger than their difference. */
     NULL, "ddddd", 0.1, 0.4, rotate, 1024},
    {"adam", "T grad", "T param, T m, T v",
     "m = 0.9 * m + 0.1 * grad;\nv = 0.999 * v + 0.001 * grad * grad;\n"
     "param -= 0.01 * m / (sqrt(v) + 1e-8);",
     NULL, NULL, NULL, "dddd", 1, 9, adam, 64},
    {"mandelbrot", "float64 cr, float64 ci", "int32 n_iter",
     "double zr = 0, zi = 0;\nint k = 0;\nfor (; k < 20 && zr * zr + zi * zi <= 4; ++k) {\n"
     "  double t = zr * zr - zi * zi + cr;\n  zi = 2 * zr * zi + ci;\n  zr = t;\n}\nn_iter = k;",
     NULL, NULL, NULL, "ddi", 0.5, 1.5, mandelbrot, 0},
    {"collatz", "uint64 x", "int32 steps",
     "unsigned long long v = x; steps = 0; while (v > 1) { v = (v & 1) ? 3 * v + 1 : v / 2; "
     "++steps; }",
     NULL, NULL, NULL, "Li", 1, 9999, collatz, 0},
    {"cexp", "T x", "T y", "y = exp(x)", NULL, NULL, NULL, "DD", -2, 2, complex_exponential, 4},
    {"cabs", "T x", "float64 y", "y = abs(x)", NULL, NULL, NULL, "Dd", 1, 3, complex_magnitude, 4},
    {"phase", "complex128 a, float64 phi", "complex128 b",
     "b = a * thrust::complex<double>(cos(phi), sin(phi))", NULL, NULL, NULL, "DdD", -3, 3,
     phase_shift, 4},
};

const size_t cupy_science_count = COUNT(cupy_science);
