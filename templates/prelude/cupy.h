//% section thrust needs complex when thrust
namespace thrust { using ::complex; }

//% for x
//% | real imag conj norm abs arg polar proj exp log log10 sqrt pow sin cos tan asin acos atan
//% | sinh cosh tanh asinh acosh atanh
//% section thrust_${x} when @thrust&${x}
namespace thrust { using ::${x}; }
//% end

//% lines
typedef ptrdiff_t IndexT;

//% section cupy_traits when type_traits
// cupy_traits: the few type traits that CuPy's headers have.
namespace cupy
{
namespace type_traits
{
template <bool C, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <class T, class U> struct is_same { static constexpr bool value = false; };
template <class T> struct is_same<T, T> { static constexpr bool value = true; };
} // namespace type_traits
} // namespace cupy

//% section cupy_floor_divide needs floor when _floor_divide
// cupy_floor_divide: CuPy's _floor_divide(): rounded down; an integer by 0 is 0.
template <class A, class B> KILN_FN decltype(A() + B()) _floor_divide(A a, B b)
{
    typedef decltype(A() + B()) R;
    R x = R(a), y = R(b);
    if constexpr ((R)0.5 != (R)0) {
        return floor(x / y);
    } else {
        if (y == R(0))
            return R(0);
        if ((R)-1 < (R)0 && y == (R)-1) // the least integer has no opposite
            return R(0ull - (unsigned long long)x);
        R q = x / y;
        return q - R(q * y != x && (x < R(0)) != (y < R(0)));
    }
}
