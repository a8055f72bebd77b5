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
        seen = atomicCAS((word *)p, expected, __builtin_bit_cast(word, value));
    } while (seen != expected);
    return __builtin_bit_cast(T, seen);
}
