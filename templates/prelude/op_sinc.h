// op_sinc: sin(pi x) / (pi x).
template <class T> KILN_FN T kiln_sinc(T x)
{
    T y = T(3.14159265358979323846) * x;
    return x == T(0) ? T(1) : sin(y) / y;
}
