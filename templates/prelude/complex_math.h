//% section complex_exp needs exp sincos when @complex&exp
// complex_exp: e^x (cos y + i sin y). Where e^x alone overflows, half of x is applied twice. Infinite
// and undefined parts give what annex G of C99 says, here and in the functions that follow.
template <class T> KILN_HEAVY complex<T> exp(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, e = exp(x), s, c;
    sincos(y, &s, &c);
    if (y == T(0))
        return complex<T>(e, y);
    if (s != s && x == x && x - x != T(0)) // x is infinite, y has no angle
        return complex<T>(e, e == T(0) ? e : s);
    if (e - e != T(0) && x - x == T(0)) {
        T half = exp(T(0.5) * x);
        return complex<T>(half * c * half, half * s * half);
    }
    return complex<T>(e * c, e * s);
}

//% section complex_log needs log log1p hypot atan2 when @complex&log
// complex_log: (log |z|, arg z). Near |z| = 1 the logarithm is taken of |z|^2 - 1, whose terms are
// known exactly; beyond the range of |z| z is halved first.
template <class T> KILN_HEAVY complex<T> log(const complex<T> &z)
{
    T x = fabs(z.kiln__re), y = fabs(z.kiln__im);
    T big = x > y ? x : y, small = x > y ? y : x, angle = atan2(z.kiln__im, z.kiln__re);
    if (big > T(0.5) && big < T(1.5) && small < T(1.5))
        return complex<T>(T(0.5) * log1p((big - T(1)) * (big + T(1)) + small * small), angle);
    T size = hypot(x, y);
    if (size - size != T(0) && big - big == T(0))
        return complex<T>(log(hypot(T(0.5) * x, T(0.5) * y)) + T(0.69314718055994530942), angle);
    return complex<T>(log(size), angle);
}

//% section complex_log10 needs complex_log when @complex&log10 @complex&log2
// complex_log10: logarithms to base 10 and 2.
template <class T> KILN_HEAVY complex<T> log10(const complex<T> &z)
{
    return log(z) * T(0.43429448190325182765);
}
template <class T> KILN_HEAVY complex<T> log2(const complex<T> &z)
{
    return log(z) * T(1.44269504088896340736);
}

//% section complex_sqrt needs sqrt hypot copysign when @complex&sqrt
// complex_sqrt: the root with a real part >= 0; the cut runs along the negative real axis.
// W. Kahan, "Branch cuts for complex elementary functions" (1987). Both parts are scaled by a
// power of 4 where their sum would overflow or lose digits.
template <class T> KILN_HEAVY complex<T> sqrt(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, ax = fabs(x), ay = fabs(y);
    if (ax == T(0) && ay == T(0))
        return complex<T>(T(0), y);
    if (ay > T(0) && ay - ay != T(0) && ay == ay)
        return complex<T>(ay, y);
    T huge = sizeof(T) == 4 ? T(4e37) : T(4e307), tiny = sizeof(T) == 4 ? T(4e-37) : T(4e-307);
    T up = T(1), down = T(1);
    if (ax > huge || ay > huge)
        up = T(0.0625), down = T(4);
    else if (ax < tiny && ay < tiny)
        up = T(0x1p60), down = T(0x1p-30);
    T t = sqrt(T(0.5) * (ax * up + hypot(ax * up, ay * up)));
    T other = ay * up / (t + t) * down;
    t *= down;
    return x >= T(0) ? complex<T>(t, copysign(other, y)) : complex<T>(other, copysign(t, y));
}

//% section complex_pow needs complex_exp complex_log floor when @complex&pow
// complex_pow: small integer powers by multiplication, the rest as exp(w log z).
template <class T> KILN_HEAVY complex<T> kiln__power(const complex<T> &z, const complex<T> &w)
{
    T p = w.kiln__re;
    if (w.kiln__im == T(0) && fabs(p) <= T(64) && p == floor(p)) {
        complex<T> r(T(1)), base = z;
        for (unsigned int k = (unsigned int)fabs(p); k != 0; k >>= 1) {
            if (k & 1)
                r = r * base;
            base = base * base;
        }
        return p < T(0) ? T(1) / r : r;
    }
    if (z.kiln__re == T(0) && z.kiln__im == T(0) && p > T(0))
        return complex<T>(T(0));
    return exp(w * log(z));
}
template <class A, class B>
KILN_FN complex<decltype(A() + B())> pow(const complex<A> &z, const complex<B> &w)
{
    typedef complex<decltype(A() + B())> C;
    return kiln__power(C(z), C(w));
}
template <class A, class B, class = typename kiln__math<B>::wide>
KILN_FN complex<decltype(A() + B())> pow(const complex<A> &z, B w)
{
    typedef decltype(A() + B()) R;
    return kiln__power(complex<R>(z), complex<R>(R(w)));
}
template <class A, class B, class = typename kiln__math<A>::wide>
KILN_FN complex<decltype(A() + B())> pow(A z, const complex<B> &w)
{
    typedef decltype(A() + B()) R;
    return kiln__power(complex<R>(R(z)), complex<R>(w));
}

//% section complex_sinh needs sinh cosh sincos
//% when @complex&sinh @complex&cosh @complex&sin @complex&cos
// complex_sinh: sinh and cosh of x + iy, and sin z = -i sinh(iz), cos z = cosh(iz).
template <class T> KILN_HEAVY complex<T> sinh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, s, c;
    sincos(y, &s, &c);
    bool known = s == s; // else y is infinite or NaN
    if (!known && x == x && x - x != T(0))
        return complex<T>(x, s);
    return complex<T>(x == T(0) ? (known ? x * c : x) : sinh(x) * c, y == T(0) ? y : cosh(x) * s);
}
template <class T> KILN_HEAVY complex<T> cosh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, s, c;
    sincos(y, &s, &c);
    bool known = s == s;
    if (!known && x == x && x - x != T(0))
        return complex<T>(fabs(x), s);
    T im = x == T(0) ? (known ? x * s : x) : y == T(0) ? (x < T(0) ? -y : y) : sinh(x) * s;
    return complex<T>(cosh(x) * c, im);
}
template <class T> KILN_HEAVY complex<T> sin(const complex<T> &z)
{
    complex<T> r = sinh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
template <class T> KILN_HEAVY complex<T> cos(const complex<T> &z)
{
    return cosh(complex<T>(-z.kiln__im, z.kiln__re));
}

//% section complex_tanh needs exp sincos tan sinh sqrt copysign when @complex&tanh @complex&tan
// complex_tanh: tanh, and tan z = -i tanh(iz). W. Kahan, "Branch cuts for complex elementary
// functions" (1987): no overflow on the way, and no cancellation.
template <class T> KILN_HEAVY complex<T> tanh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    if (y - y != T(0) && x - x == T(0))
        return complex<T>(x == T(0) ? x : y - y, y - y);
    if (fabs(x) > (sizeof(T) == 4 ? T(11) : T(22))) {
        T e = exp(-fabs(x)), s, c;
        sincos(y, &s, &c);
        T wave = y - y == T(0) ? s * c : T(0);
        return complex<T>(copysign(T(1), x), y == T(0) ? y : T(4) * wave * e * e);
    }
    T t = tan(y), beta = T(1) + t * t, s = sinh(x), rho = sqrt(T(1) + s * s);
    T under = T(1) + beta * s * s;
    return complex<T>(beta * rho * s / under, y == T(0) ? y : t / under);
}
template <class T> KILN_HEAVY complex<T> tan(const complex<T> &z)
{
    complex<T> r = tanh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}

//% section complex_asinh needs complex_sqrt atan2 asinh copysign
//% when @complex&asin @complex&acos @complex&asinh @complex&acosh
// complex_asinh: asin, acos, acosh and asinh z = -i asin(iz) from the roots of 1 - z and 1 + z.
// W. Kahan, "Branch cuts for complex elementary functions" (1987). Of products of two complex
// numbers only the part that is needed is formed. Where a part is infinite the direction of z decides,
// which has 1 in its place and 0 in that of a number; where one is NaN and the other 0, that 0 does.
template <class T> KILN_FN T kiln__toward(T x)
{
    return x == x ? copysign(x - x != T(0) ? T(1) : T(0), x) : x;
}
template <class T> KILN_FN bool kiln__beyond(T x, T y, T *size)
{
    *size = fabs(x == x && x - x != T(0) ? x : y);
    return *size == *size && *size - *size != T(0);
}
template <class T> KILN_HEAVY complex<T> asin(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, size;
    if (kiln__beyond(x, y, &size))
        return complex<T>(atan2(kiln__toward(x), fabs(kiln__toward(y))), copysign(size, y));
    if (x == T(0) && y != y)
        return z;
    complex<T> a = sqrt(T(1) - z), b = sqrt(T(1) + z);
    return complex<T>(atan2(z.kiln__re, a.kiln__re * b.kiln__re - a.kiln__im * b.kiln__im),
                      asinh(a.kiln__re * b.kiln__im - a.kiln__im * b.kiln__re));
}
template <class T> KILN_HEAVY complex<T> acos(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, size;
    if (kiln__beyond(x, y, &size))
        return complex<T>(atan2(fabs(kiln__toward(y)), kiln__toward(x)), -copysign(size, y));
    if (x == T(0) && y != y)
        return complex<T>(T(1.57079632679489661923), y);
    complex<T> a = sqrt(T(1) - z), b = sqrt(T(1) + z);
    return complex<T>(T(2) * atan2(a.kiln__re, b.kiln__re),
                      asinh(b.kiln__re * a.kiln__im - b.kiln__im * a.kiln__re));
}
template <class T> KILN_HEAVY complex<T> asinh(const complex<T> &z)
{
    complex<T> r = asin(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
template <class T> KILN_HEAVY complex<T> acosh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, size;
    if (kiln__beyond(x, y, &size))
        return complex<T>(size, atan2(kiln__toward(y), kiln__toward(x)));
    if (x == T(0) && y != y)
        return complex<T>(y, T(1.57079632679489661923));
    complex<T> a = sqrt(z - T(1)), b = sqrt(z + T(1));
    return complex<T>(asinh(a.kiln__re * b.kiln__re + a.kiln__im * b.kiln__im),
                      T(2) * atan2(a.kiln__im, b.kiln__re));
}

//% section complex_atanh needs hypot copysign log log1p atan2 when @complex&atanh @complex&atan
// complex_atanh: atanh x + iy has the real part log1p(4x / ((1 - x)^2 + y^2)) / 4; for a large z
// it is the real part of 1 / z, and where the square underflows a plain logarithm.
// atan z = -i atanh(iz).
template <class T> KILN_HEAVY complex<T> atanh(const complex<T> &z)
{
    T x = fabs(z.kiln__re), y = z.kiln__im, re, im;
    T size = hypot(x, y), gap = (T(1) - x) * (T(1) - x) + y * y;
    if (size > (sizeof(T) == 4 ? T(1e8) : T(1e16))) {
        re = size - size == T(0) ? x / size / size : T(0);
        im = y == y ? copysign(T(1.57079632679489661923), y) : y;
    } else {
        re = gap > (sizeof(T) == 4 ? T(1e-30) : T(1e-290))
                 ? T(0.25) * log1p(T(4) * x / gap)
                 : T(0.34657359027997265471) - T(0.5) * log(hypot(T(1) - x, y));
        im = T(0.5) * atan2(T(2) * y, (T(1) - x) * (T(1) + x) - y * y);
    }
    return complex<T>(x == T(0) ? z.kiln__re : copysign(re, z.kiln__re), im);
}
template <class T> KILN_HEAVY complex<T> atan(const complex<T> &z)
{
    complex<T> r = atanh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}

//% section complex_more needs exp expm1 sincos log log1p hypot atan2
//% when @complex&expm1 @complex&log1p
// complex_more: e^z - 1 and log(1 + z), exact also for a small z.
template <class T> KILN_HEAVY complex<T> expm1(const complex<T> &z)
{
    // cos y - 1 = -2 sin(y / 2)^2, and the angle is doubled by sin y = 2 sin(y / 2) cos(y / 2).
    T x = z.kiln__re, y = z.kiln__im, e = expm1(x), s, c;
    sincos(T(0.5) * y, &s, &c);
    if (s != s && x == x && x - x != T(0))
        return complex<T>(e, x < T(0) ? T(0) : s);
    if (y == T(0))
        return complex<T>(e, y);
    return complex<T>(e * (T(1) - T(2) * s * s) - T(2) * s * s,
                      T(2) * (e + T(1)) * s * c);
}
template <class T> KILN_HEAVY complex<T> log1p(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, square = x * (T(2) + x) + y * y;
    T re = fabs(x) < T(0.5) && fabs(y) < T(0.5) ? T(0.5) * log1p(square) : log(hypot(T(1) + x, y));
    return complex<T>(re, atan2(y, T(1) + x));
}

//% section complex_atomic needs atomicAdd when @complex&atomicAdd
// complex_atomic: each part is added by itself.
template <class T> KILN_FN complex<T> atomicAdd(complex<T> *p, complex<T> v)
{
    T re = atomicAdd(&p->kiln__re, v.kiln__re), im = atomicAdd(&p->kiln__im, v.kiln__im);
    return complex<T>(re, im);
}

//% section complex_order when @complex&<
// complex_order: NumPy's order, by real, then by imaginary parts; beside a NaN nothing holds. A real
// number has the imaginary part 0.
template <class T>
KILN_FN bool kiln__complex_before(T a, T b, T c, T d, bool equal)
{
    return a == c ? b < d || (equal && b == d) : a < c && b == b && d == d;
}
#define KILN__COMPLEX_ORDER(op, equal, swap)                                                       \
    template <class A, class B>                                                                    \
    KILN_FN bool operator op(const complex<A> &x, const complex<B> &y)                             \
    {                                                                                              \
        typedef decltype(A() + B()) R;                                                             \
        R a = R(x.kiln__re), b = R(x.kiln__im), c = R(y.kiln__re), d = R(y.kiln__im);              \
        return swap ? kiln__complex_before(c, d, a, b, equal)                                      \
                    : kiln__complex_before(a, b, c, d, equal);                                     \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<B>::wide>                              \
    KILN_FN bool operator op(const complex<A> &x, B y)                                             \
    {                                                                                              \
        return x op complex<decltype(A() + B())>(y);                                               \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<A>::wide>                              \
    KILN_FN bool operator op(A x, const complex<B> &y)                                             \
    {                                                                                              \
        return complex<decltype(A() + B())>(x) op y;                                               \
    }
KILN__COMPLEX_ORDER(<, false, false)
KILN__COMPLEX_ORDER(<=, true, false)
KILN__COMPLEX_ORDER(>, false, true)
KILN__COMPLEX_ORDER(>=, true, true)

//% section complex_minmax needs complex_order when @complex&min @complex&max
// complex_minmax: the lesser and the greater in the order of complex_order; a NaN gives way.
template <class T> KILN_FN complex<T> min(const complex<T> &x, const complex<T> &y)
{
    return x < y || y != y ? x : y;
}
template <class T> KILN_FN complex<T> max(const complex<T> &x, const complex<T> &y)
{
    return x > y || y != y ? x : y;
}

//% section complex_rint needs rint when @complex&rint
// complex_rint: each part is rounded.
template <class T> KILN_FN complex<T> rint(const complex<T> &z)
{
    return complex<T>(rint(z.kiln__re), rint(z.kiln__im));
}

//% section complex_rsqrt needs complex_sqrt when @complex&rsqrt
// complex_rsqrt: the reciprocal of the root.
template <class T> KILN_FN complex<T> rsqrt(const complex<T> &z) { return T(1) / sqrt(z); }
