/**
 * @file kiln/arg.h
 * @brief kiln_arg: one argument of a kernel or of a graph, made from an array or a plain C value.
 *
 * Functions that run something take an array of kiln_arg and its length. KILN_ARGS() makes both from
 * plain C values, and kiln_call() (kiln/call.h) does so for its caller:
 *
 *     kiln_elementwise_run(axpy, KILN_ARGS(x, y, 2.5, &z), NULL, &err);
 *     kiln_call(axpy, &err, x, y, 2.5, &z);
 *
 * A program that does not know its arguments until it runs fills the array itself:
 *
 *     kiln_arg args[3] = {kiln_arg_array(x), kiln_arg_float(2.5), kiln_arg_out(&z)};
 *
 * An argument borrows: it adds no reference to an array and may be copied, and it must not be used
 * longer than the array or the pointer that it was made of. A C value of any other type, as a
 * string, a struct or a pointer to float, is an error of the C compiler, not of the run.
 */
#ifndef KILN_ARG_H
#define KILN_ARG_H

#include "kiln/array.h"

/** What a kiln_arg holds. */
typedef enum kiln_arg_kind {
    KILN_ARG_ARRAY = 1, /**< An array: input, or output given by the caller. */
    KILN_ARG_OUT,       /**< `kiln_array **`: an output; allocated when it points at NULL. */
    KILN_ARG_BOOL,
    KILN_ARG_INT,
    KILN_ARG_UINT,
    KILN_ARG_FLOAT,
    KILN_ARG_COMPLEX
} kiln_arg_kind;

/** One argument of a call. Made by KILN_ARG(value) or the kiln_arg_* functions below. */
typedef struct kiln_arg {
    kiln_arg_kind kind;
    union {
        kiln_array *array;
        kiln_array **out;
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2]; /**< Real and imaginary part. */
    } value;
} kiln_arg;

static inline kiln_arg kiln_arg_array(const kiln_array *v)
{
    kiln_arg a;
    a.kind = KILN_ARG_ARRAY;
    a.value.array = (kiln_array *)v;
    return a;
}
static inline kiln_arg kiln_arg_out(kiln_array **v)
{
    kiln_arg a;
    a.kind = KILN_ARG_OUT;
    a.value.out = v;
    return a;
}
static inline kiln_arg kiln_arg_bool(bool v)
{
    kiln_arg a;
    a.kind = KILN_ARG_BOOL;
    a.value.b = v;
    return a;
}
static inline kiln_arg kiln_arg_int(int64_t v)
{
    kiln_arg a;
    a.kind = KILN_ARG_INT;
    a.value.i = v;
    return a;
}
static inline kiln_arg kiln_arg_uint(uint64_t v)
{
    kiln_arg a;
    a.kind = KILN_ARG_UINT;
    a.value.u = v;
    return a;
}
static inline kiln_arg kiln_arg_float(double v)
{
    kiln_arg a;
    a.kind = KILN_ARG_FLOAT;
    a.value.f = v;
    return a;
}
static inline kiln_arg kiln_arg_complex(double re, double im)
{
    kiln_arg a;
    a.kind = KILN_ARG_COMPLEX;
    a.value.c[0] = re;
    a.value.c[1] = im;
    return a;
}

#ifdef __cplusplus
/* C++ has overloads where C has _Generic. */
static inline kiln_arg kiln_arg_of(const kiln_array *v) { return kiln_arg_array(v); }
static inline kiln_arg kiln_arg_of(kiln_array *v) { return kiln_arg_array(v); }
static inline kiln_arg kiln_arg_of(kiln_array **v) { return kiln_arg_out(v); }
static inline kiln_arg kiln_arg_of(bool v) { return kiln_arg_bool(v); }
static inline kiln_arg kiln_arg_of(signed char v) { return kiln_arg_int(v); }
static inline kiln_arg kiln_arg_of(short v) { return kiln_arg_int(v); }
static inline kiln_arg kiln_arg_of(int v) { return kiln_arg_int(v); }
static inline kiln_arg kiln_arg_of(long v) { return kiln_arg_int(v); }
static inline kiln_arg kiln_arg_of(long long v) { return kiln_arg_int(v); }
static inline kiln_arg kiln_arg_of(unsigned char v) { return kiln_arg_uint(v); }
static inline kiln_arg kiln_arg_of(unsigned short v) { return kiln_arg_uint(v); }
static inline kiln_arg kiln_arg_of(unsigned int v) { return kiln_arg_uint(v); }
static inline kiln_arg kiln_arg_of(unsigned long v) { return kiln_arg_uint(v); }
static inline kiln_arg kiln_arg_of(unsigned long long v) { return kiln_arg_uint(v); }
static inline kiln_arg kiln_arg_of(float v) { return kiln_arg_float((double)v); }
static inline kiln_arg kiln_arg_of(double v) { return kiln_arg_float(v); }
template <class T> kiln_arg kiln_arg_of(T) = delete;
#define KILN_ARG(v) kiln_arg_of(v)
#else
/* C11 6.2.5p13: a complex value is laid out as its real part, then its imaginary part. */
static inline kiln_arg kiln__arg_c128(double _Complex v)
{
    union {
        double _Complex whole;
        double part[2];
    } u = {v};
    return kiln_arg_complex(u.part[0], u.part[1]);
}
static inline kiln_arg kiln__arg_c64(float _Complex v)
{
    return kiln__arg_c128((double _Complex)v);
}

/** One C value as a kiln_arg. A value of a type that is not listed does not compile. */
#define KILN_ARG(v)                                                                                \
    _Generic((v),                                                                                  \
        kiln_array *: kiln_arg_array,                                                              \
        const kiln_array *: kiln_arg_array,                                                        \
        kiln_array **: kiln_arg_out,                                                               \
        _Bool: kiln_arg_bool,                                                                      \
        signed char: kiln_arg_int,                                                                 \
        short: kiln_arg_int,                                                                       \
        int: kiln_arg_int,                                                                         \
        long: kiln_arg_int,                                                                        \
        long long: kiln_arg_int,                                                                   \
        unsigned char: kiln_arg_uint,                                                              \
        unsigned short: kiln_arg_uint,                                                             \
        unsigned int: kiln_arg_uint,                                                               \
        unsigned long: kiln_arg_uint,                                                              \
        unsigned long long: kiln_arg_uint,                                                         \
        float: kiln_arg_float,                                                                     \
        double: kiln_arg_float,                                                                    \
        float _Complex: kiln__arg_c64,                                                             \
        double _Complex: kiln__arg_c128)(v)
#endif

/** Most arguments that KILN_ARGS(), and so kiln_call(), takes. An array of kiln_arg that a program
 *  fills itself may hold KILN_PARAM_MAX for a kernel, and any number for a graph. */
#define KILN_CALL_ARGS_MAX 32

/* KILN__MAP_n(a, b, ...): KILN_ARG(a), KILN_ARG(b), ...; KILN__COUNT picks n. */
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
#define KILN__COUNT_PICK( \
    a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, \
    a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...) \
    n
#define KILN__COUNT(...) \
    KILN__COUNT_PICK(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
    18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KILN__GLUE(a, b) a##b
#define KILN__MAP(n, ...) KILN__GLUE(KILN__MAP_, n)(__VA_ARGS__)

/** `(const kiln_arg[]){...}` and its length, from plain C values: two arguments of a call. */
#ifdef __cplusplus
namespace kiln_detail {
template <size_t N> struct args {
    kiln_arg v[N];
    operator const kiln_arg *() const { return v; }
};
}
#define KILN_ARGS(...)                                                                             \
    kiln_detail::args<KILN__COUNT(__VA_ARGS__)>{{KILN__MAP(KILN__COUNT(__VA_ARGS__), __VA_ARGS__)}}, \
        (size_t)KILN__COUNT(__VA_ARGS__)
#else
#define KILN_ARGS(...)                                                                             \
    ((const kiln_arg[]){KILN__MAP(KILN__COUNT(__VA_ARGS__), __VA_ARGS__)}),                        \
        (size_t)KILN__COUNT(__VA_ARGS__)
#endif

#endif
