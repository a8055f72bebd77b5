//% section gather_report on cuda
// gather_report (CUDA): whoever claims the report first writes it, and then says that it is whole.
#define KILN_REPORT KILN_HEAVY
#define KILN_ROLLED _Pragma("unroll 1") // a loop that is unrolled takes longer to compile than the kernel
#define KILN_SOMEWHERE(at)
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
#define KILN_ROLLED
// Tells the compiler that an element is there: it leaves out what asks for it again.
#define KILN_SOMEWHERE(at)                                                                         \
    if ((at) == kiln_nowhere)                                                                      \
    __builtin_unreachable()
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
    KILN_ROLLED
    for (int k = 0; k < 80 && array[k] != 0; k++)
        name[k] = array[k];
    KILN_ROLLED
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
    if ((unsigned long long)at < (unsigned long long)n) {
        const long long bytes = at * step;
        KILN_SOMEWHERE(bytes);
        return bytes;
    }
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

//% section placed needs gather when kiln_is_in
// placed: what a place says.
KILN_FN bool kiln_is_in(long long at)
{
    return at != kiln_nowhere;
}
KILN_FN long long kiln_bytes_to(long long at)
{
    return at;
}

//% section noted on cuda needs gather when kiln_noted
// noted (CUDA): an index out of range is noted where it is met and reported when the kernel ends, so that the kernel has
// one report and no call for each element that a thread holds. A place is a pair, which needs no branch.
struct kiln_place {
    long long at;
    bool in;
};
template <class I> struct kiln_noted {
    static constexpr long long none = -2; // -1: an index that no element's number belongs to
    const long long n, *report;
    const int axis;
    const char *const array, *const indices;
    I value = 0;
    long long element = none;
    KILN_METHOD kiln_noted(long long n, const long long *report, int axis, const char *array, const char *indices)
        : n(n), report(report), axis(axis), array(array), indices(indices)
    {
    }
    KILN_METHOD ~kiln_noted()
    {
        if (element != none)
            kiln__report_index(report, (long long)value, (I)-1 > (I)0, n, axis, element, array, indices);
    }
};
template <class I>
KILN_FN kiln_place kiln__at_noted(I i, long long n, long long step, long long element, kiln_noted<I> &bad)
{
    constexpr bool is_unsigned = (I)-1 > (I)0;
    const long long at = !is_unsigned && i < (I)0 ? (long long)i + n : (long long)i;
    const bool in = (unsigned long long)at < (unsigned long long)n;
    if (!in) {
        bad.value = i;
        bad.element = element;
    }
    return {at * step, in};
}
#define kiln_at_noted(i, n, step, report, axis, element, array, indices, bad) \
    kiln__at_noted(i, n, step, element, bad)
KILN_FN kiln_place kiln_at_both(kiln_place x, kiln_place y)
{
    return {x.at + y.at, x.in && y.in};
}
KILN_FN bool kiln_is_in(kiln_place p)
{
    return p.in;
}
KILN_FN long long kiln_bytes_to(kiln_place p)
{
    return p.at;
}
template <class T> KILN_FN T kiln_at(const T *base, kiln_place p)
{
    return p.in ? *(const T *)((const char *)base + p.at) : T();
}

//% section noted on cpu needs gather when kiln_noted
// noted (CPU): an index out of range is reported where it is met, out of the loop over elements.
template <class I> struct kiln_noted {
    KILN_METHOD kiln_noted(long long, const long long *, int, const char *, const char *) {}
};
#define kiln_at_noted(i, n, step, report, axis, element, array, indices, bad) \
    kiln_at_check(i, n, step, report, axis, element, array, indices)

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
