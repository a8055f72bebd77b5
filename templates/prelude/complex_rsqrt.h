// complex_rsqrt: the reciprocal of the root.
template <class T> KILN_FN complex<T> rsqrt(const complex<T> &z) { return T(1) / sqrt(z); }
