/**
 * @file kiln/detail/arg.h
 * @brief What KILN_ARG() and KILN_ARGS() expand to. Nothing here is part of the API.
 *
 * A plain number becomes a struct by _Generic in C, and by overloads in C++. The table below is the
 * one list of the C types that may be given; kiln/detail/node.h uses it for the numbers of graphs.
 */
#ifndef KILN_DETAIL_ARG_H
#define KILN_DETAIL_ARG_H

/* X(C type, function, type of its parameter) */
#define KILN__NUMBER_TYPES(X, to)                                                                  \
    X(KILN__BOOL, to##bool, bool)                                                                  \
    X(signed char, to##int, int64_t)                                                               \
    X(short, to##int, int64_t)                                                                     \
    X(int, to##int, int64_t)                                                                       \
    X(long, to##int, int64_t)                                                                      \
    X(long long, to##int, int64_t)                                                                 \
    X(unsigned char, to##uint, uint64_t)                                                           \
    X(unsigned short, to##uint, uint64_t)                                                          \
    X(unsigned int, to##uint, uint64_t)                                                            \
    X(unsigned long, to##uint, uint64_t)                                                           \
    X(unsigned long long, to##uint, uint64_t)                                                      \
    X(float, to##float, double)                                                                    \
    X(double, to##float, double)

#ifdef __cplusplus
#define KILN__BOOL bool
#define KILN__ARG_OVERLOAD(type, function, parameter)                                              \
    static inline kiln_arg kiln_arg_of(type v) { return function((parameter)v); }
static inline kiln_arg kiln_arg_of(const kiln_array *v) { return kiln_arg_array(v); }
static inline kiln_arg kiln_arg_of(kiln_array *v) { return kiln_arg_array(v); }
static inline kiln_arg kiln_arg_of(kiln_array **v) { return kiln_arg_out(v); }
static inline kiln_arg kiln_arg_of(kiln_arg v) { return v; }
KILN__NUMBER_TYPES(KILN__ARG_OVERLOAD, kiln_arg_)
template <class T> kiln_arg kiln_arg_of(T) = delete;
#undef KILN__ARG_OVERLOAD
#define KILN__ARG(v) kiln_arg_of(v)
namespace kiln_detail {
template <size_t N> struct args {
    kiln_arg v[N];
    operator const kiln_arg *() const { return v; }
};
}
#define KILN__ARGS(...)                                                                            \
    kiln_detail::args<KILN__COUNT(__VA_ARGS__)>{{KILN__MAP(__VA_ARGS__)}},                         \
        (size_t)KILN__COUNT(__VA_ARGS__)
#else
#define KILN__BOOL _Bool
#define KILN__GENERIC_CASE(type, function, parameter) type : function,
/* C11 6.2.5p13: a complex value is laid out as its real part, then its imaginary part. */
typedef union kiln__complex {
    double _Complex whole;
    double part[2];
} kiln__complex;
static inline kiln_arg kiln__arg_c128(double _Complex v)
{
    const kiln__complex z = {v};
    return kiln_arg_complex(z.part[0], z.part[1]);
}
static inline kiln_arg kiln__arg_c64(float _Complex v)
{
    return kiln__arg_c128((double _Complex)v);
}
#define KILN__ARG(v)                                                                               \
    _Generic((v),                                                                                  \
        KILN__NUMBER_TYPES(KILN__GENERIC_CASE, kiln_arg_)                                          \
        float _Complex: kiln__arg_c64,                                                             \
        double _Complex: kiln__arg_c128,                                                           \
        kiln_array **: kiln_arg_out,                                                               \
        kiln_arg: kiln__arg_same,                                                                  \
        const kiln_array *: kiln_arg_array,                                                        \
        kiln_array *: kiln_arg_array)(v)
#define KILN__ARGS(...)                                                                            \
    ((const kiln_arg[]){KILN__MAP(__VA_ARGS__)}), (size_t)KILN__COUNT(__VA_ARGS__)
#endif

/* KILN__MAP(a, b, ...): KILN_ARG(a), KILN_ARG(b), ... for at most 32 arguments; KILN__COUNT(a, b,
 * ...) is how many there are. */
#define KILN__MAP_1(a) KILN_ARG(a)
#define KILN__MAP_2(a, ...) KILN_ARG(a), KILN__MAP_1(__VA_ARGS__)
#define KILN__MAP_3(a, ...) KILN_ARG(a), KILN__MAP_2(__VA_ARGS__)
#define KILN__MAP_4(a, ...) KILN_ARG(a), KILN__MAP_3(__VA_ARGS__)
#define KILN__MAP_5(a, ...) KILN_ARG(a), KILN__MAP_4(__VA_ARGS__)
#define KILN__MAP_6(a, ...) KILN_ARG(a), KILN__MAP_5(__VA_ARGS__)
#define KILN__MAP_7(a, ...) KILN_ARG(a), KILN__MAP_6(__VA_ARGS__)
#define KILN__MAP_8(a, ...) KILN_ARG(a), KILN__MAP_7(__VA_ARGS__)
#define KILN__MAP_9(a, ...) KILN_ARG(a), KILN__MAP_8(__VA_ARGS__)
#define KILN__MAP_10(a, ...) KILN_ARG(a), KILN__MAP_9(__VA_ARGS__)
#define KILN__MAP_11(a, ...) KILN_ARG(a), KILN__MAP_10(__VA_ARGS__)
#define KILN__MAP_12(a, ...) KILN_ARG(a), KILN__MAP_11(__VA_ARGS__)
#define KILN__MAP_13(a, ...) KILN_ARG(a), KILN__MAP_12(__VA_ARGS__)
#define KILN__MAP_14(a, ...) KILN_ARG(a), KILN__MAP_13(__VA_ARGS__)
#define KILN__MAP_15(a, ...) KILN_ARG(a), KILN__MAP_14(__VA_ARGS__)
#define KILN__MAP_16(a, ...) KILN_ARG(a), KILN__MAP_15(__VA_ARGS__)
#define KILN__MAP_17(a, ...) KILN_ARG(a), KILN__MAP_16(__VA_ARGS__)
#define KILN__MAP_18(a, ...) KILN_ARG(a), KILN__MAP_17(__VA_ARGS__)
#define KILN__MAP_19(a, ...) KILN_ARG(a), KILN__MAP_18(__VA_ARGS__)
#define KILN__MAP_20(a, ...) KILN_ARG(a), KILN__MAP_19(__VA_ARGS__)
#define KILN__MAP_21(a, ...) KILN_ARG(a), KILN__MAP_20(__VA_ARGS__)
#define KILN__MAP_22(a, ...) KILN_ARG(a), KILN__MAP_21(__VA_ARGS__)
#define KILN__MAP_23(a, ...) KILN_ARG(a), KILN__MAP_22(__VA_ARGS__)
#define KILN__MAP_24(a, ...) KILN_ARG(a), KILN__MAP_23(__VA_ARGS__)
#define KILN__MAP_25(a, ...) KILN_ARG(a), KILN__MAP_24(__VA_ARGS__)
#define KILN__MAP_26(a, ...) KILN_ARG(a), KILN__MAP_25(__VA_ARGS__)
#define KILN__MAP_27(a, ...) KILN_ARG(a), KILN__MAP_26(__VA_ARGS__)
#define KILN__MAP_28(a, ...) KILN_ARG(a), KILN__MAP_27(__VA_ARGS__)
#define KILN__MAP_29(a, ...) KILN_ARG(a), KILN__MAP_28(__VA_ARGS__)
#define KILN__MAP_30(a, ...) KILN_ARG(a), KILN__MAP_29(__VA_ARGS__)
#define KILN__MAP_31(a, ...) KILN_ARG(a), KILN__MAP_30(__VA_ARGS__)
#define KILN__MAP_32(a, ...) KILN_ARG(a), KILN__MAP_31(__VA_ARGS__)
#define KILN__COUNT_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,    \
                         a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30,     \
                         a31, a32, n, ...)                                                         \
    n
#define KILN__COUNT(...)                                                                           \
    KILN__COUNT_PICK(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,  \
                     16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KILN__GLUE(a, b) a##b
#define KILN__MAP_N(n, ...) KILN__GLUE(KILN__MAP_, n)(__VA_ARGS__)
#define KILN__MAP(...) KILN__MAP_N(KILN__COUNT(__VA_ARGS__), __VA_ARGS__)

#endif
