// half: what float16 and bfloat16 have in common. They are formats of memory: arithmetic, comparisons
// and functions take them as the float that they stand for and give a float, which is rounded when
// it is assigned. So x * y + z is rounded once, as in CuPy.
#define KILN__HALF(H)                                                                              \
    template <> struct kiln__math<H> { typedef float wide, result, other, half; };                 \
    template <> struct kiln__order<H> { typedef float wide; };                                     \
    template <> struct kiln__either<H, H> { typedef H type; };
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
    KILN_METHOD H operator--(int) { H old = *this; *this -= 1; return old; }
