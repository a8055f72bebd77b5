//% section mixed_compare
//% when kiln_mixed_less kiln_mixed_less_equal kiln_mixed_greater kiln_mixed_greater_equal
//% when kiln_mixed_equal kiln_mixed_not_equal
// mixed_compare: int64 beside uint64, which no integer type holds both of, compared exactly.
KILN_FN int kiln__mixed_order(long long a, unsigned long long b)
{
    return a < 0 || (unsigned long long)a < b ? -1 : (unsigned long long)a > b;
}
KILN_FN int kiln__mixed_order(unsigned long long a, long long b)
{
    return -kiln__mixed_order(b, a);
}
template <class A, class B> KILN_FN bool kiln_mixed_less(A a, B b)
{
    return kiln__mixed_order(a, b) < 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_less_equal(A a, B b)
{
    return kiln__mixed_order(a, b) <= 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_greater(A a, B b)
{
    return kiln__mixed_order(a, b) > 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_greater_equal(A a, B b)
{
    return kiln__mixed_order(a, b) >= 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_equal(A a, B b)
{
    return kiln__mixed_order(a, b) == 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_not_equal(A a, B b)
{
    return kiln__mixed_order(a, b) != 0;
}

//% section op_divide
//% when kiln_int_fmod kiln_int_remainder kiln_int_floor_divide kiln_int_reciprocal
// op_divide: integers divided as NumPy does: by 0 it is 0, the least one by -1 wraps to itself.
template <class T> KILN_FN bool kiln__by_minus_one(T b)
{
    if constexpr (T(-1) < T(0))
        return b == T(-1);
    return false;
}
template <class T> KILN_FN bool kiln__signs_differ(T a, T b)
{
    if constexpr (T(-1) < T(0))
        return (a < T(0)) != (b < T(0));
    return false;
}
template <class T> KILN_FN T kiln_int_fmod(T a, T b)
{
    return b == T(0) || kiln__by_minus_one(b) ? T(0) : T(a % b);
}
template <class T> KILN_FN T kiln_int_remainder(T a, T b)
{
    T r = kiln_int_fmod(a, b);
    return r != T(0) && kiln__signs_differ(r, b) ? T(r + b) : r;
}
template <class T> KILN_FN T kiln_int_floor_divide(T a, T b)
{
    if (b == T(0))
        return T(0);
    if (kiln__by_minus_one(b))
        return T(0ull - (unsigned long long)a);
    T q = T(a / b);
    return kiln__signs_differ(a, b) && q * b != a ? T(q - 1) : q;
}
template <class T> KILN_FN T kiln_int_reciprocal(T a)
{
    if (a == T(1) || kiln__by_minus_one(a))
        return a;
    return T(0);
}

//% section op_power when kiln_int_power
// op_power: an integer's power by squaring, wrapping in U; below 0 it is the reciprocal of the
// positive power rounded toward 0.
template <class T, class U> KILN_FN T kiln_int_power(T a, T b)
{
    bool negative = false;
    if constexpr (T(-1) < T(0)) {
        negative = b < T(0);
        if (negative && a != T(1) && a != T(-1))
            return T(0);
    }
    U base = U(a), result = U(1), left = negative ? U(0) - U(b) : U(b);
    for (; left != U(0); left >>= 1) {
        if ((left & U(1)) != U(0))
            result *= base;
        base *= base;
    }
    return T(result);
}

//% section op_gcd when kiln_gcd kiln_lcm
// op_gcd: greatest common divisor and least common multiple of absolute values, in U.
template <class T, class U> KILN_FN U kiln__magnitude(T a)
{
    if constexpr (T(-1) < T(0))
        return a < T(0) ? U(0) - U(a) : U(a);
    return U(a);
}
template <class T, class U> KILN_FN T kiln_gcd(T a, T b)
{
    U x = kiln__magnitude<T, U>(a), y = kiln__magnitude<T, U>(b);
    while (y != U(0)) {
        U r = x % y;
        x = y;
        y = r;
    }
    return T(x);
}
template <class T, class U> KILN_FN T kiln_lcm(T a, T b)
{
    U x = kiln__magnitude<T, U>(a), y = kiln__magnitude<T, U>(b);
    U both = kiln__magnitude<T, U>(kiln_gcd<T, U>(a, b));
    return both == U(0) ? T(0) : T(x / both * y);
}

//% section op_shift when kiln_left_shift kiln_right_shift
// op_shift: shifts by less than 0 or by all bits and more, which C++ leaves undefined, are defined.
template <class T, class U> KILN_FN T kiln_left_shift(T a, T b)
{
    return (unsigned long long)b < 8 * sizeof(T) ? T(U(a) << U(b)) : T(0);
}
template <class T> KILN_FN T kiln_right_shift(T a, T b)
{
    if ((unsigned long long)b < 8 * sizeof(T))
        return T(a >> b);
    if constexpr (T(-1) < T(0))
        return a < T(0) ? T(-1) : T(0);
    return T(0);
}

//% section op_bitwise_count needs integers when kiln_bitwise_count
// op_bitwise_count: how many bits of the absolute value are set.
template <class T> KILN_FN unsigned char kiln_bitwise_count(T a)
{
    unsigned long long bits = (unsigned long long)a;
    if constexpr (T(-1) < T(0))
        bits = a < T(0) ? 0ull - bits : bits;
    return (unsigned char)__popcll(bits);
}

//% section op_floor_divide needs fmod copysign floor when kiln_remainder kiln_floor_divide
// op_floor_divide: quotient rounded down and remainder with the divisor's sign, as Python has them.
// The quotient comes from the exact remainder, so that the two always fit each other.
template <class T> KILN_FN T kiln_remainder(T a, T b)
{
    T r = fmod(a, b);
    if (b == T(0))
        return r;
    if (r == T(0))
        return copysign(T(0), b);
    return (b < T(0)) != (r < T(0)) ? r + b : r;
}
template <class T> KILN_FN T kiln_floor_divide(T a, T b)
{
    if (b == T(0))
        return a / b;
    T r = fmod(a, b), q = (a - r) / b;
    if (r != T(0) && (b < T(0)) != (r < T(0)))
        q = q - T(1);
    if (q == T(0))
        return copysign(T(0), a / b);
    T whole = floor(q);
    return q - whole > T(0.5) ? whole + T(1) : whole;
}

//% section op_sign when kiln_sign
// op_sign: -1, 0 or 1; NaN stays.
template <class T> KILN_FN T kiln_sign(T x)
{
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
}

//% section quotient_anew
KILN_HEAVY float kiln__quotient_anew(float a, float b) { return a / b; }

//% section quotient_by needs fabsf fmaf quotient_anew when kiln_quotient_by
// quotient_by: a / b, rounded correctly, for a number b that is no power of two and 2^-60 <= |b| <= 2^60: two
// products and a correction, where a GPU's quotient takes a dozen instructions. Beside kiln__quotients, for rows,
// stands why the correction leaves a / b. A call divides where bits of what is left of `a` may be lost, and where
// `a` is infinite or NaN.
KILN_FN float kiln_quotient_by(float a, float b)
{
    const float y = 1 / b, q = a * y, z = fmaf(-fmaf(b, q, -a), y, q);
    const float least = 0x1p-99f * fabsf(y);
    if (fabsf(z) >= (least > 0x1p-125f ? least : 0x1p-125f))
        return z;
    return a == 0 ? q : kiln__quotient_anew(a, b);
}

//% section row_quotient on cuda needs quotient_anew when kiln_row_quotient
// row_quotient (CUDA): a / b, rounded correctly, for many a and one b: what b alone decides is the same in all
// calls of a row, and is computed once. For 1 <= b < 2 and the rounded reciprocal y, q is less than 1.5 units
// in the last place from a / b, and what is left of `a` is off by 2^-46 at most, so that the correction, before
// it is rounded, is less than 3 * 2^-24 units off. A quotient that is no float is 2^-25 units or more from the
// middle between two, and with q half a unit away the correction is nearer than that. A q that is 1.5 units
// away takes an `a` and a b of the last three floats below 4 and 2, and test_graph_rows looks at all of these.
// A quotient below `least` might lack bits of what is left of `a`, and one that is NaN may have come from an
// infinite q; `least` is NaN where y is subnormal. An `a` that is 0 gives a zero with its sign where b is
// positive; else, and where y or b is infinite, it is greater than `none`, or that is NaN. Where `sure` is
// false the caller computes anew with `exact`: one branch for all elements of an access. In programs of many
// stages it does so with `anew`, by calls, which take a third of the instructions of divisions.
struct kiln__quotients {
    bool exact = false, anew = false, sure = true;
    KILN_METHOD float operator()(float a, float b)
    {
        if (exact)
            return a / b;
        if (anew)
            return kiln__quotient_anew(a, b);
        const float y = 1 / b, least = fmaxf(0x1p-99f * fabsf(y), 0x1p-125f) + (4 * b - 4 * b);
        const float none = fminf(b, 0) + (0 * y + (b - b));
        const float q = a * y, z = fmaf(-fmaf(b, q, -a), y, q);
        sure = sure & ((fabsf(z) >= least) | (fabsf(a) <= none));
        return z;
    }
};

//% section row_quotient on cpu when kiln_row_quotient
KILN_FN float kiln_row_quotient(float a, float b) { return a / b; }
