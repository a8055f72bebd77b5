// minmax: min and max of two different types, compared in the type that arithmetic gives them.
#define KILN__MINMAX(f)                                                                            \
    template <class A, class B, class M = typename kiln__math<decltype(A() + B())>::wide>          \
    KILN_FN typename kiln__either<A, B>::type f(A a, B b)                                          \
    {                                                                                              \
        typedef typename kiln__either<A, B>::type R;                                               \
        typedef typename kiln__order<R>::wide W;                                                   \
        return R(f(W(a), W(b)));                                                                   \
    }
KILN__MINMAX(min)
KILN__MINMAX(max)
