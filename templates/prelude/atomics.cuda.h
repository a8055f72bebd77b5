// atomics (CUDA): for the types that the built-in functions do not take: exchange the whole word
// until nobody came between. Templates, so that the built-in functions, and a user's own overload
// for a type, of which there are many in the wild, go first.
template <int bytes> struct kiln__atom { typedef unsigned long long type; };
template <> struct kiln__atom<4> { typedef unsigned int type; };
template <> struct kiln__atom<2> { typedef unsigned short type; };
template <class T, class F> KILN_FN T kiln__atomic_update(T *p, F update)
{
    typedef typename kiln__atom<sizeof(T)>::type word;
    word seen = *(volatile word *)p, expected;
    do {
        expected = seen;
        T value = update(__builtin_bit_cast(T, expected));
        word next = __builtin_bit_cast(word, value);
        if (next == expected) // nothing to write, as for most of many minima
            break;
        seen = atomicCAS((word *)p, expected, next);
    } while (seen != expected);
    return __builtin_bit_cast(T, expected);
}
// Sums of 64-bit integers, whatever their sign, are one instruction. Called with 0ull.
template <class T> struct kiln__integer64 {};
template <> struct kiln__integer64<long> { typedef unsigned long long type; };
template <> struct kiln__integer64<unsigned long> { typedef unsigned long long type; };
template <> struct kiln__integer64<long long> { typedef unsigned long long type; };
template <class T> KILN_FN T kiln__atomic_add(T *p, T v, typename kiln__integer64<T>::type)
{
    return (T)atomicAdd((unsigned long long *)p, (unsigned long long)v);
}
template <class T> KILN_FN T kiln__atomic_add(T *p, T v, int)
{
    return kiln__atomic_update(p, [=](T old) -> T { return T(old + v); });
}
