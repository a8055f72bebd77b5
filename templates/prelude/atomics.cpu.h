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
