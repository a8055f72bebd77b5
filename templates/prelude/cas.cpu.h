// cas (CPU): the exchange that all others are made of.
template <class T>
KILN_FN T atomicCAS(T *p, typename kiln__own<T>::type expected, typename kiln__own<T>::type v)
{
    return kiln__atomic_update(p, [=](T old) -> T { return old == expected ? v : old; });
}
