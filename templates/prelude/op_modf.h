// op_modf: the fraction that trunc takes away, with x's sign.
template <class T> KILN_FN T kiln_modf_fraction(T x)
{
    T whole = trunc(x);
    return copysign(x == whole ? T(0) : x - whole, x);
}
