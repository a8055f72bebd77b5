// math: makes a built-in function take integers too (they count as double, unless a float stands
// beside them) and the 16-bit floats (which count as float).
#define KILN__MATH1(f)                                                                             \
    template <class T> KILN_FN typename kiln__math<T>::other f(T x)                                \
    {                                                                                              \
        return typename kiln__math<T>::other(f(typename kiln__math<T>::wide(x)));                  \
    }
// For the 16-bit floats alone, where integers have functions of their own.
#define KILN__MATH1_HALF(f)                                                                        \
    template <class T> KILN_FN typename kiln__math<T>::half f(T x)                                 \
    {                                                                                              \
        return typename kiln__math<T>::half(f(float(x)));                                          \
    }
// With a result of its own, and with one more argument.
#define KILN__MATH1_TO(R, f)                                                                       \
    template <class T, class = typename kiln__math<T>::other> KILN_FN R f(T x)                     \
    {                                                                                              \
        return f(typename kiln__math<T>::wide(x));                                                 \
    }
#define KILN__MATH1_AND(f, A)                                                                      \
    template <class T> KILN_FN typename kiln__math<T>::other f(T x, A y)                           \
    {                                                                                              \
        return typename kiln__math<T>::other(f(typename kiln__math<T>::wide(x), y));               \
    }
#define KILN__MATH2(f)                                                                             \
    template <class A, class B>                                                                    \
    KILN_FN typename kiln__math<decltype(A() + B())>::result f(A a, B b)                           \
    {                                                                                              \
        typedef kiln__math<decltype(A() + B())> M;                                                 \
        return typename M::result(f(typename M::wide(a), typename M::wide(b)));                    \
    }
#define KILN__MATH3(f)                                                                             \
    template <class A, class B, class C>                                                           \
    KILN_FN typename kiln__math<decltype(A() + B() + C())>::result f(A a, B b, C c)                \
    {                                                                                              \
        typedef kiln__math<decltype(A() + B() + C())> M;                                           \
        typedef typename M::wide W;                                                                \
        return typename M::result(f(W(a), W(b), W(c)));                                            \
    }
