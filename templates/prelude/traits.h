//% section traits
// traits: what mathematics on a T computes in (`wide`) and returns (`result`). `other` marks the
// types that the built-in functions do not take, so that an overload is made for them, and is what
// it returns. Float and double have `real`. `No` is none: it has members for a T alone.
template <class T, class... No> struct kiln__math {};
template <> struct kiln__math<float> { typedef float wide, result, real; };
template <> struct kiln__math<double> { typedef double wide, result, real; };
struct kiln__math_integral { typedef double wide, result, other; };
template <> struct kiln__math<bool> : kiln__math_integral {};
template <> struct kiln__math<char> : kiln__math_integral {};
template <> struct kiln__math<signed char> : kiln__math_integral {};
template <> struct kiln__math<unsigned char> : kiln__math_integral {};
template <> struct kiln__math<short> : kiln__math_integral {};
template <> struct kiln__math<unsigned short> : kiln__math_integral {};
template <> struct kiln__math<int> : kiln__math_integral {};
template <> struct kiln__math<unsigned int> : kiln__math_integral {};
template <> struct kiln__math<long> : kiln__math_integral {};
template <> struct kiln__math<unsigned long> : kiln__math_integral {};
template <> struct kiln__math<long long> : kiln__math_integral {};
template <> struct kiln__math<unsigned long long> : kiln__math_integral {};

// The type in which two T are compared: T itself, but float for a 16-bit float.
template <class T> struct kiln__order { typedef T wide; };
// What min and max of two numbers return: a value of the type of their sum, but of two 16-bit floats
// one of these.
template <class A, class B> struct kiln__either { typedef decltype(A() + B()) type; };

//% section bits on cpu
// bits (CPU): a value's bytes as another type; and a double as a float rounded to odd (toward
// zero, then the last bit set if anything was lost), so that a further rounding is exact.
template <class To, class From> KILN_FN To kiln__bit_cast(From v)
{
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To r;
    __builtin_memcpy(&r, &v, sizeof r);
    return r;
}
KILN_FN float kiln__round_to_odd(double v)
{
    float f = (float)v;
    unsigned int u = kiln__bit_cast<unsigned int>(f);
    u -= __builtin_fabs((double)f) > __builtin_fabs(v);
    u |= (double)kiln__bit_cast<float>(u) != v;
    return kiln__bit_cast<float>(u);
}
