//% section sincos on cpu needs traits sin cos when sincos sincosf
// sincos (CPU): both at once, as two calls, which have vector variants. Where the results go decides
// the type. Templates, so that a header's own go first.
template <class X, class T> KILN_FN void sincos(X x, typename kiln__math<T>::real *s, T *c)
{
    *s = sin((T)x);
    *c = cos((T)x);
}
template <class X> KILN_FN void sincosf(X x, float *s, float *c)
{
    *s = sinf((float)x);
    *c = cosf((float)x);
}

//% section sinpi_all on cpu needs traits sin cos trunc rint copysign
//% when sinpi cospi sincospi sinpif cospif sincospif
// sinpi (CPU): sin and cos of pi x. x is brought to at most a quarter exactly, before pi is
// multiplied in; the count of half turns chooses function and sign. Templates, for newer C
// libraries have sinpi and cospi as well.
template <class X, class T> KILN_FN void sincospi(X v, typename kiln__math<T>::real *s, T *c)
{
    T x = (T)v, turn = x - T(2) * trunc(T(0.5) * x), half = rint(T(2) * turn);
    T angle = T(3.14159265358979323846) * (turn - T(0.5) * half);
    T sine = sin(angle), cosine = cos(angle);
    int q = (int)half & 3;
    T s0 = q & 1 ? cosine : sine, c0 = q & 1 ? sine : cosine;
    s0 = q & 2 ? -s0 : s0;
    *s = s0 == T(0) ? copysign(T(0), x) : s0;
    c0 = (q + 1) & 2 ? -c0 : c0;
    *c = c0 == T(0) ? T(0) : c0;
}
template <class T> KILN_FN typename kiln__math<T>::real sinpi(T x)
{
    T s, c;
    sincospi(x, &s, &c);
    return s;
}
template <class T> KILN_FN typename kiln__math<T>::real cospi(T x)
{
    T s, c;
    sincospi(x, &s, &c);
    return c;
}
template <class T> KILN_FN float sinpif(T x) { return sinpi((float)x); }
template <class T> KILN_FN float cospif(T x) { return cospi((float)x); }
template <class T> KILN_FN void sincospif(T x, float *s, float *c) { sincospi((float)x, s, c); }

//% section sinpi needs math when sinpi
KILN__MATH1(sinpi)

//% section cospi needs math when cospi
KILN__MATH1(cospi)

//% section rsqrt_all on cpu needs libm when rsqrt rsqrtf
// rsqrt (CPU): reciprocals of roots. Templates, for newer C libraries have rsqrt as well.
template <class T> KILN_FN typename kiln__is<T, float>::type rsqrt(T x)
{
    return 1.0f / __builtin_sqrtf(x);
}
template <class T> KILN_FN typename kiln__is<T, double>::type rsqrt(T x)
{
    return 1.0 / __builtin_sqrt(x);
}
template <class T> KILN_FN float rsqrtf(T x) { return 1.0f / __builtin_sqrtf((float)x); }

//% section rsqrt needs math when rsqrt
KILN__MATH1(rsqrt)

//% section rcbrt_all on cpu needs cbrt when rcbrt rcbrtf
// rcbrt (CPU): reciprocals of cubic roots.
KILN_FN float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KILN_FN float rcbrt(float x) { return 1.0f / cbrtf(x); }
KILN_FN double rcbrt(double x) { return 1.0 / cbrt(x); }

//% section rcbrt needs math when rcbrt
KILN__MATH1(rcbrt)

//% section erfinv_all on cpu needs exp log sqrt erf erfc
//% when erfinv erfcinv normcdfinv erfinvf erfcinvf normcdfinvf
// erfinv (CPU): inverses of erf, erfc and the normal distribution. A start good to three digits
// or more (a series in the middle, Abramowitz and Stegun 26.2.23 in the tails) is made exact by
// two steps of Halley's method, each of which triples the digits.
KILN_FN double kiln__halley(double z, double error)
{
    // error / (2 e^(-z^2) / sqrt(pi)), in two halves: far out e^(z^2) alone would overflow.
    double half = exp(0.5 * z * z), step = error * 0.88622692545275801365 * half * half;
    return z - step / (1.0 + z * step);
}
// erfc(z) = y for 0 < y <= 0.5.
KILN_FN double kiln__erfc_tail(double y)
{
    double t = sqrt(-2.0 * log(0.5 * y));
    double z = 0.70710678118654752440 *
               (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                        (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int k = 0; k < 3; k++)
        z = kiln__halley(z, y - erfc(z));
    return z;
}
// erf(z) = x for |x| <= 0.5.
KILN_FN double kiln__erf_middle(double x)
{
    double q = x * x * 0.78539816339744830962; // pi / 4 x^2
    double z = x * 0.88622692545275801365 *
               (1.0 + q * (1.0 / 3.0 + q * (7.0 / 30.0 + q * (127.0 / 630.0))));
    for (int k = 0; k < 2; k++)
        z = kiln__halley(z, erf(z) - x);
    return z;
}
KILN_FN double erfinv(double x)
{
    double a = __builtin_fabs(x);
    if (!(a > 0.5))
        return kiln__erf_middle(x);
    if (a >= 1.0)
        return a > 1.0 ? __builtin_nan("") : __builtin_copysign(__builtin_inf(), x);
    return __builtin_copysign(kiln__erfc_tail(1.0 - a), x);
}
KILN_FN double erfcinv(double y)
{
    if (!(y > 0.0) || y >= 2.0)
        return y == 0.0   ? __builtin_inf()
               : y == 2.0 ? -__builtin_inf()
                          : __builtin_nan("");
    if (y <= 0.5)
        return kiln__erfc_tail(y);
    return y < 1.5 ? kiln__erf_middle(1.0 - y) : -kiln__erfc_tail(2.0 - y);
}
KILN_FN double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2.0 * p); }
KILN_FN float erfinv(float x) { return (float)erfinv((double)x); }
KILN_FN float erfcinv(float y) { return (float)erfcinv((double)y); }
KILN_FN float normcdfinv(float p) { return (float)normcdfinv((double)p); }
KILN_FN float erfinvf(float x) { return erfinv(x); }
KILN_FN float erfcinvf(float y) { return erfcinv(y); }
KILN_FN float normcdfinvf(float p) { return normcdfinv(p); }

//% section erfinv needs math when erfinv
KILN__MATH1(erfinv)

//% section erfcinv needs math when erfcinv
KILN__MATH1(erfcinv)

//% section normcdfinv needs math when normcdfinv
KILN__MATH1(normcdfinv)

//% section normcdf_all on cpu needs exp erfc when normcdf normcdff
// normcdf (CPU): erfc(-x / sqrt(2)) / 2. Far out the rounding of the argument would cost digits,
// so the part that was lost is added by the derivative of erfc.
KILN_FN double normcdf(double x)
{
    const double high = 0.70710678118654757274, low = -4.8336466567264567e-17; // sqrt(1/2)
    if (x < -39.0)
        return x - x == 0.0 || x == x ? 0.0 : x;
    double t = -x * high, lost = __builtin_fma(-x, high, -t) - x * low;
    double tail = erfc(t);
    if (t > 0.5)
        tail -= 1.12837916709551257390 * exp(-t * t) * lost;
    return 0.5 * tail;
}
KILN_FN float normcdf(float x) { return (float)(0.5 * erfc(-0.70710678118654752440 * x)); }
KILN_FN float normcdff(float x) { return normcdf(x); }

//% section normcdf needs math when normcdf
KILN__MATH1(normcdf)

//% section erfcx_all on cpu needs exp erfc when erfcx erfcxf
// erfcx (CPU): e^(x^2) erfc(x). The rounding error of x^2 is made up for; beyond 6 the continued
// fraction of Laplace converges in a few steps.
KILN_FN double erfcx(double x)
{
    if (x < 6.0) {
        double square = x * x, lost = __builtin_fma(x, x, -square), e = exp(square);
        return e - e != 0.0 ? e : (e + e * lost) * erfc(x);
    }
    double f = x;
    for (int k = 40; k > 0; k--)
        f = x + 0.5 * k / f;
    return 0.56418958354775628695 / f;
}
KILN_FN float erfcx(float x) { return (float)erfcx((double)x); }
KILN_FN float erfcxf(float x) { return erfcx(x); }

//% section erfcx needs math when erfcx
KILN__MATH1(erfcx)

//% section bessel_i on cpu needs exp
//% when cyl_bessel_i0 cyl_bessel_i1 cyl_bessel_i0f cyl_bessel_i1f
// bessel_i (CPU): the modified Bessel functions I0 and I1, by their series (all terms have one
// sign, so nothing cancels) up to 30 and by their asymptotic expansion beyond.
KILN_FN double kiln__bessel_i(int order, double x)
{
    double a = __builtin_fabs(x), sum = 1.0, term = 1.0;
    if (!(a - a == 0.0))
        return order == 1 ? x : a;
    if (a <= 30.0) {
        for (int k = 1; k < 100 && term > 1e-17 * sum; k++)
            sum += term *= 0.25 * a * a / ((double)k * (k + order));
        return order == 1 ? 0.5 * x * sum : sum;
    }
    for (int k = 1; k < 30; k++) {
        double next = term * ((2.0 * k - 1.0) * (2.0 * k - 1.0) - 4.0 * order) / (8.0 * a * k);
        if (__builtin_fabs(next) >= __builtin_fabs(term))
            break;
        sum += term = next;
    }
    double half = exp(0.5 * a), value = half / (2.50662827463100050242 * __builtin_sqrt(a)) * sum;
    return order == 1 ? __builtin_copysign(value * half, x) : value * half;
}
KILN_FN double cyl_bessel_i0(double x) { return kiln__bessel_i(0, x); }
KILN_FN double cyl_bessel_i1(double x) { return kiln__bessel_i(1, x); }
KILN_FN float cyl_bessel_i0(float x) { return (float)kiln__bessel_i(0, x); }
KILN_FN float cyl_bessel_i1(float x) { return (float)kiln__bessel_i(1, x); }
KILN_FN float cyl_bessel_i0f(float x) { return (float)kiln__bessel_i(0, x); }
KILN_FN float cyl_bessel_i1f(float x) { return (float)kiln__bessel_i(1, x); }

//% section cyl_bessel_i0 needs math when cyl_bessel_i0
KILN__MATH1(cyl_bessel_i0)

//% section cyl_bessel_i1 needs math when cyl_bessel_i1
KILN__MATH1(cyl_bessel_i1)

//% section norms on cuda when norm3d norm4d rhypot rnorm3d rnorm4d
// norms (CUDA): the built-in names take double alone; these are their float forms.
KILN_FN float norm3d(float a, float b, float c) { return norm3df(a, b, c); }
KILN_FN float norm4d(float a, float b, float c, float d) { return norm4df(a, b, c, d); }
KILN_FN float rhypot(float a, float b) { return rhypotf(a, b); }
KILN_FN float rnorm3d(float a, float b, float c) { return rnorm3df(a, b, c); }
KILN_FN float rnorm4d(float a, float b, float c, float d) { return rnorm4df(a, b, c, d); }

//% section norms on cpu needs hypot
//% when norm3d norm4d rhypot rnorm3d rnorm4d norm3df norm4df rhypotf rnorm3df rnorm4df
// norms (CPU): lengths of vectors of three and four numbers, and reciprocals of lengths.
#define KILN__NORMS(T, hypot)                                                                      \
    KILN_FN T norm3d(T a, T b, T c) { return hypot(hypot(a, b), c); }                              \
    KILN_FN T norm4d(T a, T b, T c, T d) { return hypot(hypot(a, b), hypot(c, d)); }               \
    KILN_FN T rhypot(T a, T b) { return T(1) / hypot(a, b); }                                      \
    KILN_FN T rnorm3d(T a, T b, T c) { return T(1) / norm3d(a, b, c); }                            \
    KILN_FN T rnorm4d(T a, T b, T c, T d) { return T(1) / norm4d(a, b, c, d); }
KILN__NORMS(float, hypotf)
KILN__NORMS(double, hypot)
KILN_FN float norm3df(float a, float b, float c) { return norm3d(a, b, c); }
KILN_FN float norm4df(float a, float b, float c, float d) { return norm4d(a, b, c, d); }
KILN_FN float rhypotf(float a, float b) { return rhypot(a, b); }
KILN_FN float rnorm3df(float a, float b, float c) { return rnorm3d(a, b, c); }
KILN_FN float rnorm4df(float a, float b, float c, float d) { return rnorm4d(a, b, c, d); }

//% section rhypot needs math when rhypot
KILN__MATH2(rhypot)

//% section tests on cpu needs libm
// tests (CPU): predicates on a float or double; templates, so that a header's own go first.
#define KILN__TEST(f, expression)                                                                  \
    template <class T> KILN_FN typename kiln__is<T, float, bool>::type f(T x)                      \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    template <class T> KILN_FN typename kiln__is<T, double, bool>::type f(T x)                     \
    {                                                                                              \
        return expression;                                                                         \
    }
