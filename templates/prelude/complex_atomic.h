// complex_atomic: each part is added by itself.
template <class T> KILN_FN complex<T> atomicAdd(complex<T> *p, complex<T> v)
{
    T re = atomicAdd(&p->kiln__re, v.kiln__re), im = atomicAdd(&p->kiln__im, v.kiln__im);
    return complex<T>(re, im);
}
