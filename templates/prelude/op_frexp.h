// op_frexp: the two results of frexp; what has no exponent stays, with exponent 0.
template <class T> KILN_FN T kiln_frexp_mantissa(T x)
{
    int exponent = 0;
    return x - x == T(0) ? frexp(x, &exponent) : x;
}
template <class T> KILN_FN int kiln_frexp_exponent(T x)
{
    int exponent = 0;
    if (x - x == T(0))
        (void)frexp(x, &exponent);
    return exponent;
}
