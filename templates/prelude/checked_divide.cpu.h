//% section checked_divide
// checked_divide (CPU): `a /kiln__by/ b`, `a %kiln__by% b`, `a /=kiln__by_of(a)= b` and the same of `%=`,
// which snippets' divisions are made (src/codegen/guard.c). Integers are divided as NumPy does: by 0 it is 0, the
// least one by -1 is itself, and the remainders are 0. All else is divided as it was.
template <class B> struct kiln__divisor_of {
    B b;
};
struct kiln__by_type {};
static constexpr kiln__by_type kiln__by{};
template <class T> struct kiln__is_object {
    static constexpr bool value = __is_class(T) || __is_union(T);
};
// What divides a number, and what divides an object of a class.
template <bool is_class> struct kiln__by_assign {
    template <class B> constexpr kiln__divisor_of<B> operator=(B b) const { return {b}; }
};
template <> struct kiln__by_assign<true> {
    template <class B> constexpr B &&operator=(B &&b) const { return static_cast<B &&>(b); }
};
template <class A>
constexpr kiln__by_assign<kiln__is_object<A>::value> kiln__by_of(const A &)
{
    return {};
}
template <class A> struct kiln__dividend_of {
    A a;
};
template <class A> struct kiln__modulend_of {
    A a;
};
template <class T> struct kiln__is_whole {
    static constexpr bool value = false;
};
#define KILN__WHOLE(T)                                                                             \
    template <> struct kiln__is_whole<T> {                                                         \
        static constexpr bool value = true;                                                        \
    };
KILN__WHOLE(int)
KILN__WHOLE(unsigned int)
KILN__WHOLE(long)
KILN__WHOLE(unsigned long)
KILN__WHOLE(long long)
KILN__WHOLE(unsigned long long)
#undef KILN__WHOLE
// Of a type that C++ computes in: int or wider.
template <class R> constexpr R kiln__quotient(R a, R b)
{
    if (b == R(0))
        return R(0);
    if constexpr (R(-1) < R(0))
        if (b == R(-1))
            return R(0ull - (unsigned long long)a);
    return a / b;
}
template <class R> constexpr R kiln__modulus(R a, R b)
{
    if constexpr (R(-1) < R(0))
        if (b == R(-1))
            return R(0);
    return b == R(0) ? R(0) : a % b;
}
template <class A> constexpr kiln__dividend_of<A> operator/(A a, kiln__by_type) { return {a}; }
template <class A> constexpr kiln__modulend_of<A> operator%(A a, kiln__by_type) { return {a}; }
template <class A, class B>
constexpr auto operator/(kiln__dividend_of<A> x, B b) -> decltype(x.a / b)
{
    typedef decltype(x.a / b) R;
    if constexpr (kiln__is_whole<R>::value &&
                  !kiln__is_object<A>::value && !kiln__is_object<B>::value)
        return kiln__quotient<R>(R(x.a), R(b));
    else
        return x.a / b;
}
template <class A, class B>
constexpr auto operator%(kiln__modulend_of<A> x, B b) -> decltype(x.a % b)
{
    typedef decltype(x.a % b) R;
    if constexpr (kiln__is_whole<R>::value &&
                  !kiln__is_object<A>::value && !kiln__is_object<B>::value)
        return kiln__modulus<R>(R(x.a), R(b));
    else
        return x.a % b;
}
template <class A, class B>
constexpr auto operator/=(A &a, kiln__divisor_of<B> y) -> decltype((a /= y.b))
{
    if constexpr (kiln__is_whole<decltype(a / y.b)>::value &&
                  !kiln__is_object<A>::value && !kiln__is_object<B>::value)
        return a = A(kiln__quotient<decltype(a / y.b)>(a, y.b));
    else
        return a /= y.b;
}
template <class A, class B>
constexpr auto operator%=(A &a, kiln__divisor_of<B> y) -> decltype((a %= y.b))
{
    if constexpr (kiln__is_whole<decltype(a % y.b)>::value &&
                  !kiln__is_object<A>::value && !kiln__is_object<B>::value)
        return a = A(kiln__modulus<decltype(a % y.b)>(a, y.b));
    else
        return a %= y.b;
}
