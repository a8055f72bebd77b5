// op_ldexp: exponents of 64 bits are cut to what int holds; either is 0 or infinity by then.
template <class T, class E> KILN_FN T kiln_ldexp(T x, E exponent)
{
    E far = E(100000);
    return ldexp(x, (int)(exponent > far ? far : exponent < -far ? -far : exponent));
}
