//% section gather_report on cuda
// gather_report (CUDA): whoever claims the report first writes it, and then says that it is whole.
#define KILN_REPORT KILN_HEAVY
KILN_FN bool kiln__report_claim(long long *report)
{
    return atomicCAS((unsigned long long *)report, 0ull, 1ull) == 0ull;
}
KILN_FN void kiln__report_finish(long long *report)
{
    __threadfence_system();
    *(volatile long long *)report = 2;
}

//% section gather_report on cpu
// gather_report (CPU): whoever claims the report first writes it, and then says that it is whole. It is called
// out of the loop over elements, of which compilers then make one for indices that name elements, often a copy.
#define KILN_REPORT static __attribute__((noinline, cold, unused))
KILN_FN bool kiln__report_claim(long long *report)
{
    long long none = 0;
    return __atomic_compare_exchange_n(report, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
KILN_FN void kiln__report_finish(long long *report)
{
    __atomic_store_n(report, 2, __ATOMIC_RELEASE);
}

//% section gather needs gather_report when kiln_at_check kiln_at_wrap kiln_at_clip kiln_at_both kiln_at
// gather: elements that indices name. kiln_at_*: the bytes from the element at index 0 to the one at
// index i along an axis of n elements, `step` bytes apart; kiln_nowhere when there is none.
#define kiln_nowhere (-0x7fffffffffffffffll - 1)
// An index out of range, told as src/device/report.c reads it.
KILN_REPORT void kiln__report_index(const long long *words, long long value, bool is_unsigned,
                                    long long n, int axis, long long element, const char *array,
                                    const char *indices)
{
    long long *report = (long long *)words;
    if (!kiln__report_claim(report))
        return;
    report[1] = value;
    report[2] = is_unsigned;
    report[3] = n;
    report[4] = axis;
    report[5] = element;
    char *name = (char *)(report + 6);
    for (int k = 0; k < 80 && array[k] != 0; k++)
        name[k] = array[k];
    for (int k = 0; k < 80 && indices[k] != 0; k++)
        name[80 + k] = indices[k];
    kiln__report_finish(report);
}
template <class I>
KILN_FN long long kiln_at_check(I i, long long n, long long step, const long long *report, int axis,
                                long long element, const char *array, const char *indices)
{
    constexpr bool is_unsigned = (I)-1 > (I)0;
    const long long at = !is_unsigned && i < (I)0 ? (long long)i + n : (long long)i;
    if ((unsigned long long)at < (unsigned long long)n)
        return at * step;
    kiln__report_index(report, (long long)i, is_unsigned, n, axis, element, array, indices);
    return kiln_nowhere;
}
template <class I> KILN_FN long long kiln_at_wrap(I i, long long n, long long step)
{
    const unsigned long long extent = (unsigned long long)n;
    if ((unsigned long long)i < extent)
        return (long long)i * step;
    if ((I)-1 > (I)0)
        return (long long)((unsigned long long)i % extent) * step;
    const long long at = (long long)i % n;
    return (at < 0 ? at + n : at) * step;
}
template <class I> KILN_FN long long kiln_at_clip(I i, long long n, long long step)
{
    constexpr bool is_unsigned = (I)-1 > (I)0;
    if (!is_unsigned && i < (I)0)
        return 0;
    return (unsigned long long)i < (unsigned long long)n ? (long long)i * step : (n - 1) * step;
}
// Along two axes.
KILN_FN long long kiln_at_both(long long x, long long y)
{
    return x == kiln_nowhere || y == kiln_nowhere ? kiln_nowhere : x + y;
}
template <class T> KILN_FN T kiln_at(const T *base, long long at)
{
    return at == kiln_nowhere ? T() : *(const T *)((const char *)base + at);
}

//% section change needs gather when kiln_change
// change: the element `at` bytes behind the first one, combined with a value.
template <class T, class F>
KILN_FN void kiln_change(const T *first, long long at, T v, F join)
{
    T *p = (T *)((char *)first + at);
    *p = join(*p, v);
}

//% section whole needs gather when kiln_change_whole
// whole: a word of as many bytes, which one instruction stores.
template <int bytes> struct kiln__whole { typedef unsigned long long type; };
template <> struct kiln__whole<4> { typedef unsigned int type; };
template <> struct kiln__whole<2> { typedef unsigned short type; };
template <> struct kiln__whole<1> { typedef unsigned char type; };

//% section change_whole on cuda needs whole when kiln_change_whole
// change_whole (CUDA): the element becomes the value. Where several threads store, one of their values stays,
// and not a part of each.
template <class T> KILN_FN void kiln_change_whole(const T *first, long long at, T v)
{
    typedef typename kiln__whole<sizeof(T)>::type word;
    *(volatile word *)((char *)first + at) = __builtin_bit_cast(word, v);
}

//% section change_whole on cpu needs whole when kiln_change_whole
// change_whole (CPU): the element becomes the value, as a whole.
template <class T> KILN_FN void kiln_change_whole(const T *first, long long at, T v)
{
    typedef typename kiln__whole<sizeof(T)>::type word __attribute__((may_alias));
    word w;
    __builtin_memcpy(&w, &v, sizeof w);
    __atomic_store_n((word *)((char *)first + at), w, __ATOMIC_RELAXED);
}

//% section change_atomic needs gather atomics when kiln_change_atomic
template <class T, class F>
KILN_FN void kiln_change_atomic(const T *first, long long at, T v, F join)
{
    kiln__atomic_update((T *)((char *)first + at), [=](T old) -> T { return join(old, v); });
}

//% section change_add on cuda needs gather when kiln_change_add
// change_add (CUDA): additions whose old values nobody wants. Where indices are checked, the compiler makes of atomicAdd()
// one that returns them, which takes half as long again.
KILN_FN void kiln__add_to(float *p, float v)
{
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(p), "f"(v));
}
KILN_FN void kiln__add_to(double *p, double v)
{
    asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(p), "d"(v));
}
KILN_FN void kiln__add_to(unsigned int *p, unsigned int v)
{
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v));
}
KILN_FN void kiln__add_to(unsigned long long *p, unsigned long long v)
{
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v));
}
template <class T> KILN_FN void kiln_change_add(const T *first, long long at, T v)
{
    char *const p = (char *)first + at;
    if constexpr ((T)0.5 != (T)0)
        kiln__add_to((T *)p, v);
    else if constexpr (sizeof(T) == 4)
        kiln__add_to((unsigned int *)p, (unsigned int)v);
    else
        kiln__add_to((unsigned long long *)p, (unsigned long long)v);
}

//% section change_add on cpu needs gather atomicAdd when kiln_change_add
template <class T> KILN_FN void kiln_change_add(const T *first, long long at, T v)
{
    atomicAdd((T *)((char *)first + at), v);
}
