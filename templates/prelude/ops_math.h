//% section op_order needs traits when kiln_maximum kiln_minimum kiln_fmax kiln_fmin
// op_order: the greater or lesser of two; a NaN wins in maximum and minimum, and loses in fmax and
// fmin. The conditions are joined by | so that vector code needs no branches.
#define KILN__PICK(f, keep)                                                                        \
    template <class T> KILN_FN T f(T a, T b)                                                       \
    {                                                                                              \
        typename kiln__order<T>::wide x = a, y = b;                                                \
        return (keep) ? a : b;                                                                     \
    }
KILN__PICK(kiln_maximum, (x >= y) | (x != x))
KILN__PICK(kiln_minimum, (x <= y) | (x != x))
KILN__PICK(kiln_fmax, (x >= y) | (y != y))
KILN__PICK(kiln_fmin, (x <= y) | (y != y))

//% section op_clip when kiln_int_clip
// op_clip: integers between two bounds; the upper one wins when they cross.
template <class T> KILN_FN T kiln_int_clip(T x, T low, T high)
{
    T up = x > low ? x : low;
    return up < high ? up : high;
}

//% section op_logaddexp needs exp log1p when kiln_logaddexp
// op_logaddexp: log(exp(x) + exp(y)) without overflow on the way; equal infinities stay.
template <class T> KILN_FN T kiln_logaddexp(T x, T y)
{
    T gap = x - y;
    if (x == y)
        return x + T(0.69314718055994530942);
    if (gap > T(0))
        return x + log1p(exp(-gap));
    return gap <= T(0) ? y + log1p(exp(gap)) : gap;
}

//% section op_logaddexp2 needs exp2 log1p when kiln_logaddexp2
// op_logaddexp2: log2(exp2(x) + exp2(y)) without overflow on the way; equal infinities stay.
template <class T> KILN_FN T kiln_logaddexp2(T x, T y)
{
    T gap = x - y, log2e = T(1.44269504088896340736);
    if (x == y)
        return x + T(1);
    if (gap > T(0))
        return x + log2e * log1p(exp2(-gap));
    return gap <= T(0) ? y + log2e * log1p(exp2(gap)) : gap;
}

//% section op_erf on cuda when kiln_erf
// op_erf (CUDA): the error function. CUDA's own chooses each coefficient by the size of x, and a
// choice costs two instructions beside the one that uses it; two polynomials with coefficients in
// the instructions and one choice at the end are a third fewer. Both are minimax, of our making.
//     |x| < 1.1:   x + x P(x^2), within 2^-27
//     |x| >= 1.1:  1 - 2^Q(|x|), within 2^-26; Q falls without bound, so that far out 1 is left
KILN_FN float kiln_erf(float x)
{
    const float a = fabsf(x), s = x * x;
    float p = 7.236068631755188e-5f, q = -0.0015275598270818591f, power;
    p = fmaf(p, s, -0.00078247394412755966f);
    p = fmaf(p, s, 0.005167731083929539f);
    p = fmaf(p, s, -0.026843518018722534f);
    p = fmaf(p, s, 0.11283364146947861f);
    p = fmaf(p, s, -0.37612611055374146f);
    p = fmaf(p, s, 0.12837916612625122f);
    p = fmaf(p, x, x);
    q = fmaf(q, a, 0.02022024802863598f);
    q = fmaf(q, a, -0.12428586930036545f);
    q = fmaf(q, a, -0.94995540380477905f);
    q = fmaf(q, a, -1.6076377630233765f);
    q = fmaf(q, a, -0.005233582574874163f);
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(q));
    return a >= 1.1f ? copysignf(1.0f - power, x) : p;
}
KILN_FN double kiln_erf(double x) { return erf(x); }

//% section op_erf on cpu needs erf when kiln_erf
template <class T> KILN_FN T kiln_erf(T x) { return erf(x); }

//% section op_sinc needs sin when kiln_sinc
// op_sinc: sin(pi x) / (pi x).
template <class T> KILN_FN T kiln_sinc(T x)
{
    T y = T(3.14159265358979323846) * x;
    return x == T(0) ? T(1) : sin(y) / y;
}

//% section op_logit needs log atanh fabs when kiln_logit
// op_logit: log(x / (1 - x)). Near 1/2, where it is near 0, 2 atanh(2 x - 1), and 2 x - 1 is exact.
template <class T> KILN_FN T kiln_logit(T x)
{
    const T s = x + x - T(1);
    return fabs(s) < T(0.5) ? T(2) * atanh(s) : log(x / (T(1) - x));
}

//% section op_half_next when kiln_half_nextafter kiln_half_spacing
// op_half_next: neighbours of 16-bit floats, found by counting their bits.
template <class H> KILN_FN H kiln__half_step(H x, bool up)
{
    H r = x;
    if ((x.kiln__bits & 0x7fff) == 0)
        r.kiln__bits = (unsigned short)(up ? 1 : 0x8001);
    else
        r.kiln__bits = (unsigned short)(x.kiln__bits + (((x.kiln__bits & 0x8000) == 0) == up ? 1 : -1));
    return r;
}
template <class H> KILN_FN H kiln_half_nextafter(H x, H y)
{
    float a = x, b = y;
    if (a != a || b != b)
        return H(a + b);
    return a == b ? x : kiln__half_step(x, b > a);
}
template <class H> KILN_FN H kiln_half_spacing(H x)
{
    float a = x;
    if (a - a != 0.0f)
        return H(a - a);
    return H(float(kiln__half_step(x, true)) - a);
}

//% section op_spacing needs nextafter INFINITY when kiln_spacing
// op_spacing: the distance to the next value away from 0.
template <class T> KILN_FN T kiln_spacing(T x)
{
    return nextafter(x, x < T(0) ? T(-INFINITY) : T(INFINITY)) - x;
}

//% section op_ldexp needs ldexp when kiln_ldexp
// op_ldexp: exponents of 64 bits are cut to what int holds; either is 0 or infinity by then.
template <class T, class E> KILN_FN T kiln_ldexp(T x, E exponent)
{
    E far = E(100000);
    return ldexp(x, (int)(exponent > far ? far : exponent < -far ? -far : exponent));
}

//% section op_frexp needs libm_parts when kiln_frexp_mantissa kiln_frexp_exponent
// op_frexp: the two results of frexp; what has no exponent stays, with exponent 0.
template <class T> KILN_FN T kiln_frexp_mantissa(T x)
{
    int exponent = 0;
    return x - x == T(0) ? frexp(x, &exponent) : x;
}
template <class T> KILN_FN int kiln_frexp_exponent(T x)
{
    int exponent = 0;
    if (x - x == T(0))
        (void)frexp(x, &exponent);
    return exponent;
}

//% section op_modf needs trunc copysign when kiln_modf_fraction
// op_modf: the fraction that trunc takes away, with x's sign.
template <class T> KILN_FN T kiln_modf_fraction(T x)
{
    T whole = trunc(x);
    return copysign(x == whole ? T(0) : x - whole, x);
}

//% section op_heaviside needs traits when kiln_heaviside
// op_heaviside: 0 below 0, 1 above, y at 0; NaN stays.
template <class T> KILN_FN T kiln_heaviside(T x, T y)
{
    typename kiln__order<T>::wide v = x;
    return v != v ? x : v == 0 ? y : v < 0 ? T(0) : T(1);
}
