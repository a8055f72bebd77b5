// half: what float16 and bfloat16 have in common. They behave as C++23's 16-bit floats do: an
// operation on two of them, or on one and an integer, is computed in float and rounded to the
// 16-bit type; beside a float or double they become float or double. All other uses (comparison,
// conversion, conditions) go through the implicit conversion to float.
#define KILN__HALF_OP(H, op)                                                                       \
    KILN_FN H operator op(H a, H b) { return H(float(a) op float(b)); }                            \
    template <class U>                                                                             \
    KILN_FN typename kiln__math<U>::template with<H>::type operator op(H a, U b)                   \
    {                                                                                              \
        typedef typename kiln__math<U>::template with<H>::type R;                                  \
        typedef typename kiln__order<R>::wide W;                                                   \
        return R(W(a) op W(b));                                                                    \
    }                                                                                              \
    template <class U>                                                                             \
    KILN_FN typename kiln__math<U>::template with<H>::type operator op(U a, H b)                   \
    {                                                                                              \
        typedef typename kiln__math<U>::template with<H>::type R;                                  \
        typedef typename kiln__order<R>::wide W;                                                   \
        return R(W(a) op W(b));                                                                    \
    }
#define KILN__HALF(H)                                                                              \
    template <> struct kiln__math<H> { typedef float wide; typedef H result, other, half; };       \
    template <> struct kiln__order<H> { typedef float wide; };                                     \
    KILN__HALF_OP(H, +) KILN__HALF_OP(H, -) KILN__HALF_OP(H, *) KILN__HALF_OP(H, /)
#define KILN__HALF_MEMBERS(H, from, from_int, to)                                                  \
    H() = default;                                                                                 \
    KILN_METHOD H(float v) : kiln__bits(from(v)) {}                                                \
    KILN_METHOD H(double v) : kiln__bits(from(v)) {}                                               \
    KILN_METHOD H(int v) : kiln__bits(from_int(v)) {}                                              \
    KILN_METHOD H(unsigned int v) : kiln__bits(from_int(v)) {}                                     \
    KILN_METHOD H(long v) : kiln__bits(from_int(v)) {}                                             \
    KILN_METHOD H(unsigned long v) : kiln__bits(from_int(v)) {}                                    \
    KILN_METHOD H(long long v) : kiln__bits(from_int(v)) {}                                        \
    KILN_METHOD H(unsigned long long v) : kiln__bits(from_int(v)) {}                               \
    KILN_METHOD operator float() const { return to(kiln__bits); }                                  \
    template <class U> KILN_METHOD H &operator=(U v) { return *this = H(v); }                      \
    template <class U> KILN_METHOD H &operator+=(U v) { return *this = H(*this + v); }             \
    template <class U> KILN_METHOD H &operator-=(U v) { return *this = H(*this - v); }             \
    template <class U> KILN_METHOD H &operator*=(U v) { return *this = H(*this * v); }             \
    template <class U> KILN_METHOD H &operator/=(U v) { return *this = H(*this / v); }             \
    KILN_METHOD H &operator++() { return *this += 1; }                                             \
    KILN_METHOD H &operator--() { return *this -= 1; }                                             \
    KILN_METHOD H operator++(int) { H old = *this; *this += 1; return old; }                       \
    KILN_METHOD H operator--(int) { H old = *this; *this -= 1; return old; }                       \
    KILN_METHOD H operator+() const { return *this; }                                              \
    KILN_METHOD H operator-() const                                                                \
    {                                                                                              \
        H v;                                                                                       \
        v.kiln__bits = (unsigned short)(kiln__bits ^ 0x8000);                                      \
        return v;                                                                                  \
    }
