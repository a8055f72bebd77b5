//% section own
template <class T> struct kiln__own { typedef T type; };

//% for x
//% | __ldg __ldca __ldcg __ldcs __ldcv __ldlu
//% section ${x} on cpu needs own when ${x}
template <class T> KILN_FN T ${x}(const T *p) { return *p; }
//% end

//% for x
//% | __stcg __stcs __stwb __stwt
//% section ${x} on cpu needs own when ${x}
template <class T> KILN_FN void ${x}(T *p, typename kiln__own<T>::type v) { *p = v; }
//% end

//% section atomics on cuda needs own
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

//% section atomics on cpu needs own
// atomics (CPU): CUDA's atomic functions return the old value. Each is a template, so that a user's
// own overload for a type, of which there are many in the wild, goes first. The whole word is
// exchanged until nobody came between; as on a GPU nothing is said about the order in which other
// memory becomes visible.
template <int bytes> struct kiln__atom { typedef unsigned long long type; };
template <> struct kiln__atom<4> { typedef unsigned int type; };
template <> struct kiln__atom<2> { typedef unsigned short type; };
template <> struct kiln__atom<1> { typedef unsigned char type; };
template <class T, class F> KILN_FN T kiln__atomic_update(T *p, F update)
{
    typedef typename kiln__atom<sizeof(T)>::type word __attribute__((may_alias));
    word seen = __atomic_load_n((word *)p, __ATOMIC_RELAXED), next;
    T old, value;
    do {
        __builtin_memcpy(&old, &seen, sizeof old);
        value = update(old);
        __builtin_memcpy(&next, &value, sizeof next);
        if (next == seen) // nothing to write, as for most of many minima
            return old;
    } while (!__atomic_compare_exchange_n((word *)p, &seen, next, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return old;
}

//% section atomicAdd on cuda needs atomics when atomicAdd
template <class T> KILN_FN T atomicAdd(T *p, typename kiln__own<T>::type v) { return kiln__atomic_add(p, v, 0ull); }

//% for x | backends | value
//% | atomicAdd | cpu | T(old + v)
//% | atomicMin | both | v < old ? v : old
//% | atomicMax | both | v > old ? v : old
//% | atomicSub | both | T(old - v)
//% | atomicExch | both | (void)old, v
//% | atomicInc | cpu | old >= v ? T(0) : T(old + 1)
//% | atomicDec | cpu | old == 0 || old > v ? v : T(old - 1)
//% | atomicAnd | both | T(old & v)
//% | atomicOr | both | T(old | v)
//% | atomicXor | both | T(old ^ v)
//% section ${x} on ${backends} needs atomics when ${x}
template <class T> KILN_FN T ${x}(T *p, typename kiln__own<T>::type v) { return kiln__atomic_update(p, [=](T old) -> T { return ${value}; }); }
//% end

//% section cas on cpu needs atomics when atomicCAS
// cas (CPU): the exchange that all others are made of.
template <class T>
KILN_FN T atomicCAS(T *p, typename kiln__own<T>::type expected, typename kiln__own<T>::type v)
{
    return kiln__atomic_update(p, [=](T old) -> T { return old == expected ? v : old; });
}
