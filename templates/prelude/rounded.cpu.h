// rounded (CPU): a value that is rounded here and now, never merged into a multiply-add.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define kiln__rounded(v) __builtin_assoc_barrier(v)
#else
template <class T> KILN_FN T kiln__rounded(T v)
{
#if defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#else
    asm("" : "+m"(v));
#endif
    return v;
}
#endif
