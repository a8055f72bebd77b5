/**
 * @file kiln/dtype.h
 * @brief The element types of arrays, by NumPy's names.
 *
 * The constants are KILN_FLOAT32, KILN_INT64, KILN_BOOL and so on: the table below has one row for
 * each.
 *
 *     const char name[] = "complex<float>";
 *     kiln_dtype dtype = kiln_dtype_from_name(name, sizeof name - 1);   // KILN_COMPLEX64
 *     printf("%s: %zu bytes\n", kiln_dtype_name(dtype), kiln_dtype_size(dtype));
 *
 * Threads: everything here is a pure function of its arguments and may be called from any thread.
 * Owner:   texts are constants of the library.
 */
#ifndef KILN_DTYPE_H
#define KILN_DTYPE_H

#include "kiln/base.h"

/**
 * X(ENUM, value, "numpy name", itemsize in bytes, kind, "C++ type inside a kernel", "npy code").
 *
 * kind is 'b' bool, 'i' signed, 'u' unsigned, 'f' floating point, 'c' complex. The npy code is what
 * follows the byte order mark in a .npy header. NumPy has none for bfloat16 and the two float8,
 * which are written as ml_dtypes writes them: as raw void of 2 bytes ("V2") and of 1 byte ("V1"),
 * and as "f1".
 *
 * float8_e4m3fn has 4 bits of exponent and 3 of fraction, no infinities, and one NaN (of either
 * sign); its largest number is 448. float8_e5m2 is the upper half of a float16; its largest number
 * is 57344. Conversions to them round to nearest, ties to even; a number that is too large becomes
 * NaN in the first and infinite in the second, as in ml_dtypes: they do not saturate.
 */
#define KILN_DTYPE_MAP(X)                                                                          \
    X(BOOL, 1, "bool", 1, 'b', "bool", "b1")                                                       \
    X(INT8, 2, "int8", 1, 'i', "signed char", "i1")                                                \
    X(INT16, 3, "int16", 2, 'i', "short", "i2")                                                    \
    X(INT32, 4, "int32", 4, 'i', "int", "i4")                                                      \
    X(INT64, 5, "int64", 8, 'i', "long long", "i8")                                                \
    X(UINT8, 6, "uint8", 1, 'u', "unsigned char", "u1")                                            \
    X(UINT16, 7, "uint16", 2, 'u', "unsigned short", "u2")                                         \
    X(UINT32, 8, "uint32", 4, 'u', "unsigned int", "u4")                                           \
    X(UINT64, 9, "uint64", 8, 'u', "unsigned long long", "u8")                                     \
    X(FLOAT16, 10, "float16", 2, 'f', "float16", "f2")                                             \
    X(BFLOAT16, 11, "bfloat16", 2, 'f', "bfloat16", "V2")                                          \
    X(FLOAT32, 12, "float32", 4, 'f', "float", "f4")                                               \
    X(FLOAT64, 13, "float64", 8, 'f', "double", "f8")                                              \
    X(COMPLEX64, 14, "complex64", 8, 'c', "complex<float>", "c8")                                  \
    X(COMPLEX128, 15, "complex128", 16, 'c', "complex<double>", "c16")                             \
    X(FLOAT8_E4M3FN, 16, "float8_e4m3fn", 1, 'f', "float8_e4m3fn", "V1")                           \
    X(FLOAT8_E5M2, 17, "float8_e5m2", 1, 'f', "float8_e5m2", "f1")

/**
 * Element type of an array. KILN_DTYPE_NONE (0) means "not decided": functions that take a dtype
 * either refuse it (ERR_DTYPE) or say what they choose in its place.
 *
 * The values never change: they stand in cache keys and manifests. A complex element is two floats,
 * the real part first. The bytes of an element are in the order of the machine.
 */
typedef enum kiln_dtype {
    KILN_DTYPE_NONE = 0,
#define KILN_DTYPE_ENUM(name, value, text, size, kind, ctype, npy) KILN_##name = value,
    KILN_DTYPE_MAP(KILN_DTYPE_ENUM)
#undef KILN_DTYPE_ENUM
} kiln_dtype;

/** One past the largest kiln_dtype, for tables by dtype. It grows when dtypes are added. */
#define KILN_DTYPE_COUNT 18

KILN_EXTERN_C_BEGIN

/** NumPy's name of `dtype`, e.g. "float32"; "none" for KILN_DTYPE_NONE and unknown values. */
KILN_API const char *kiln_dtype_name(kiln_dtype dtype);

/** Bytes of one element; 0 for KILN_DTYPE_NONE and unknown values. */
KILN_API size_t kiln_dtype_size(kiln_dtype dtype);

/** 'b', 'i', 'u', 'f' or 'c' as in KILN_DTYPE_MAP; 0 for KILN_DTYPE_NONE and unknown values. */
KILN_API char kiln_dtype_kind(kiln_dtype dtype);

/** The C++ type that a snippet sees for a placeholder bound to `dtype`, e.g. "complex<float>";
 *  "void" for unknown values. float16, bfloat16, float8 and complex are types of kiln's own
 *  prelude. */
KILN_API const char *kiln_dtype_ctype(kiln_dtype dtype);

/**
 * The dtype a name stands for: NumPy's names ("float32", "int8", "bool", "complex64", ...) and
 * the C names that CUDA users write ("float", "double", "int", "long long", "size_t",
 * "thrust::complex<float>", ...; `long` is 64 bits wide).
 *
 * @param name        Need not end in NUL.
 * @param name_bytes  Its length.
 * @return KILN_DTYPE_NONE when the name stands for no dtype.
 */
KILN_API kiln_dtype kiln_dtype_from_name(const char *name, size_t name_bytes);

KILN_EXTERN_C_END

#endif
