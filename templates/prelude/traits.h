// traits: what mathematics on a T computes in (`wide`) and returns (`result`). `other` marks the
// types that the built-in functions do not take, so that an overload is made for them. `with<H>`
// is the type of an operation between a T and a 16-bit float H; float and double have `real`.
template <class T> struct kiln__math {};
template <> struct kiln__math<float> {
    typedef float wide, result, real;
    template <class H> struct with { typedef float type; };
};
template <> struct kiln__math<double> {
    typedef double wide, result, real;
    template <class H> struct with { typedef double type; };
};
struct kiln__math_integral {
    typedef double wide, result, other;
    template <class H> struct with { typedef H type; };
};
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
