// op_logit: log(x / (1 - x)). Near 1/2, where it is near 0, 2 atanh(2 x - 1), and 2 x - 1 is exact.
template <class T> KILN_FN T kiln_logit(T x)
{
    const T s = x + x - T(1);
    return fabs(s) < T(0.5) ? T(2) * atanh(s) : log(x / (T(1) - x));
}
