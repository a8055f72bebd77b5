// op_logit: log(x / (1 - x)).
template <class T> KILN_FN T kiln_logit(T x)
{
    return log(x / (T(1) - x));
}
