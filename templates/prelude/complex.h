//% section complex needs traits fabs when complex complex64 complex128
// complex: two T side by side. Beside a real number or a complex of another width the result has
// the wider T, as for real operands; an integer takes the T it meets.
template <class T> struct alignas(2 * sizeof(T)) complex {
    typedef T value_type;
    T kiln__re, kiln__im;
    complex() = default;
    KILN_METHOD complex(T re, T im = T(0)) : kiln__re(re), kiln__im(im) {}
    template <class U>
    KILN_METHOD complex(const complex<U> &z) : kiln__re(T(z.kiln__re)), kiln__im(T(z.kiln__im)) {}
    template <class U> KILN_METHOD complex &operator=(const U &v) { return *this = complex(v); }
    KILN_METHOD T real() const { return kiln__re; }
    KILN_METHOD T imag() const { return kiln__im; }
    KILN_METHOD void real(T v) { kiln__re = v; }
    KILN_METHOD void imag(T v) { kiln__im = v; }
    KILN_METHOD complex operator+() const { return *this; }
    KILN_METHOD complex operator-() const { return complex(-kiln__re, -kiln__im); }
    template <class U> KILN_METHOD complex &operator+=(const U &v) { return *this = *this + v; }
    template <class U> KILN_METHOD complex &operator-=(const U &v) { return *this = *this - v; }
    template <class U> KILN_METHOD complex &operator*=(const U &v) { return *this = *this * v; }
    template <class U> KILN_METHOD complex &operator/=(const U &v) { return *this = *this / v; }
};

template <class R> KILN_FN complex<R> kiln__product(R a, R b, R c, R d)
{
    return complex<R>(a * c - b * d, a * d + b * c);
}
// (a + bi) / (c + di) without needless overflow: R. L. Smith, "Algorithm 116: Complex division",
// Commun. ACM 5 (1962), with a division by zero left to the hardware.
template <class R> KILN_FN complex<R> kiln__quotient(R a, R b, R c, R d)
{
    bool wide = fabs(c) >= fabs(d);
    R p = wide ? c : d, q = wide ? d : c, r = p == R(0) ? R(0) : q / p, s = p + q * r;
    R re = wide ? a + b * r : a * r + b, im = wide ? b - a * r : b * r - a;
    return complex<R>(re / s, im / s);
}

// An operation on two complex numbers, and on one with a real number b (or a) on either side.
#define KILN__COMPLEX_OP(op, both, right, left)                                                    \
    template <class A, class B>                                                                    \
    KILN_FN complex<decltype(A() + B())> operator op(const complex<A> &x, const complex<B> &y)     \
    {                                                                                              \
        typedef decltype(A() + B()) R;                                                             \
        R a = R(x.kiln__re), b = R(x.kiln__im), c = R(y.kiln__re), d = R(y.kiln__im);              \
        return both;                                                                               \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<B>::wide>                              \
    KILN_FN complex<decltype(A() + B())> operator op(const complex<A> &x, B y)                     \
    {                                                                                              \
        typedef decltype(A() + B()) R;                                                             \
        R a = R(x.kiln__re), b = R(x.kiln__im), c = R(y);                                          \
        return right;                                                                              \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<A>::wide>                              \
    KILN_FN complex<decltype(A() + B())> operator op(A x, const complex<B> &y)                     \
    {                                                                                              \
        typedef decltype(A() + B()) R;                                                             \
        R a = R(x), c = R(y.kiln__re), d = R(y.kiln__im);                                          \
        return left;                                                                               \
    }
KILN__COMPLEX_OP(+, complex<R>(a + c, b + d), complex<R>(a + c, b), complex<R>(a + c, d))
KILN__COMPLEX_OP(-, complex<R>(a - c, b - d), complex<R>(a - c, b), complex<R>(a - c, -d))
KILN__COMPLEX_OP(*, kiln__product(a, b, c, d), complex<R>(a * c, b * c), complex<R>(a * c, a * d))
KILN__COMPLEX_OP(/, kiln__quotient(a, b, c, d), complex<R>(a / c, b / c),
                 kiln__quotient(a, R(0), c, d))

#define KILN__COMPLEX_EQUAL(op, join)                                                              \
    template <class A, class B>                                                                    \
    KILN_FN bool operator op(const complex<A> &x, const complex<B> &y)                             \
    {                                                                                              \
        return x.kiln__re op y.kiln__re join x.kiln__im op y.kiln__im;                             \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<B>::wide>                              \
    KILN_FN bool operator op(const complex<A> &x, B y)                                             \
    {                                                                                              \
        return x.kiln__re op y join x.kiln__im op A(0);                                            \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<A>::wide>                              \
    KILN_FN bool operator op(A x, const complex<B> &y)                                             \
    {                                                                                              \
        return x op y.kiln__re join B(0) op y.kiln__im;                                            \
    }
KILN__COMPLEX_EQUAL(==, &&)
KILN__COMPLEX_EQUAL(!=, ||)

template <class T> KILN_FN T real(const complex<T> &z) { return z.kiln__re; }
template <class T> KILN_FN T imag(const complex<T> &z) { return z.kiln__im; }
template <class T> KILN_FN complex<T> conj(const complex<T> &z)
{
    return complex<T>(z.kiln__re, -z.kiln__im);
}
template <class T> KILN_FN T norm(const complex<T> &z)
{
    return z.kiln__re * z.kiln__re + z.kiln__im * z.kiln__im;
}

//% lines
typedef complex<float> complex64;
typedef complex<double> complex128;

//% section complex_polar needs hypot atan2 sincos copysign
//% when @complex&abs @complex&arg @complex&polar @complex&proj
// complex_polar: what needs a distance or an angle.
template <class T> KILN_FN T abs(const complex<T> &z) { return hypot(z.kiln__re, z.kiln__im); }
template <class T> KILN_FN T arg(const complex<T> &z) { return atan2(z.kiln__im, z.kiln__re); }
template <class T> KILN_FN complex<T> polar(T r, T angle = T(0))
{
    T s, c;
    sincos(angle, &s, &c);
    return complex<T>(r * c, r * s);
}
template <class T> KILN_FN complex<T> proj(const complex<T> &z)
{
    T inf = T(1) / fabs(T(0));
    bool far = fabs(z.kiln__re) == inf || fabs(z.kiln__im) == inf;
    return far ? complex<T>(inf, copysign(T(0), z.kiln__im)) : z;
}

//% section complex_test needs isnan isinf isfinite
//% when @complex&isnan @complex&isinf @complex&isfinite
// complex_test: a complex number is NaN or infinite when a part is.
template <class T> KILN_FN bool isnan(const complex<T> &z)
{
    return isnan(z.kiln__re) || isnan(z.kiln__im);
}
template <class T> KILN_FN bool isinf(const complex<T> &z)
{
    return isinf(z.kiln__re) || isinf(z.kiln__im);
}
template <class T> KILN_FN bool isfinite(const complex<T> &z)
{
    return isfinite(z.kiln__re) && isfinite(z.kiln__im);
}
