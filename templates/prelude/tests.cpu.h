// tests (CPU): predicates on a float or double; templates, so that a header's own go first.
#define KILN__TEST(f, expression)                                                                  \
    template <class T> KILN_FN typename kiln__is<T, float, bool>::type f(T x)                      \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    template <class T> KILN_FN typename kiln__is<T, double, bool>::type f(T x)                     \
    {                                                                                              \
        return expression;                                                                         \
    }
