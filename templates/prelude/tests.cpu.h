// tests (CPU): predicates on a float or double.
#define KILN__TEST(f, expression)                                                                  \
    KILN_FN bool f(float x) { return expression; }                                                 \
    KILN_FN bool f(double x) { return expression; }
