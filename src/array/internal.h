/*
 * internal.h - what the files of src/array share with one another and with nobody else.
 *
 * Other folders include array.h, the door; this header may change without asking them.
 */
#ifndef KILN_ARRAY_INTERNAL_H
#define KILN_ARRAY_INTERNAL_H

#include "array/array.h"

/* ---- overlap.c ---- */

/* kiln__array_overlap() without the arrays: addresses of first elements, and layouts. */
bool kiln__strides_overlap(uintptr_t a, int a_rank, const int64_t *a_shape,
                           const int64_t *a_strides, size_t a_itemsize, uintptr_t b, int b_rank,
                           const int64_t *b_shape, const int64_t *b_strides, size_t b_itemsize);

/* ---- recycle.c: handles and storages, kept for reuse in the context ---- */

typedef struct kiln__recycler kiln__recycler;

/* The recycler of a context, made on first use. */
kiln_status kiln__recycler_of(kiln_context *ctx, kiln__recycler **out, kiln_error *err);

/* A handle with room for `rank` axes, and a storage when `storage_out` is not NULL. The handle's
 * fields are unset but for `strides`; its magic still says dead. */
kiln_status kiln__recycler_take(kiln__recycler *recycler, int rank, kiln_array **array_out,
                                kiln__storage **storage_out, kiln_error *err);

/* Put a dead handle at the end of the quarantine and a storage on the free list; either may be
 * NULL. */
void kiln__recycler_put(kiln__recycler *recycler, kiln_array *array, kiln__storage *storage);

/* ---- storage.c ---- */

/* Give one reference back. True when that was the last: the memory is then returned or released,
 * and the caller puts the storage back into the recycler and releases its context, in that
 * order. */
bool kiln__storage_drop(kiln__storage *storage);

/* ---- npy.c ---- */

/* Longest header that is read; the longest that an array of KILN_RANK_MAX axes needs has some
 * 900 bytes, but padding is legal. */
#define KILN__NPY_HEADER_BYTES_MAX 65536

/* Bytes before the dictionary and length of the dictionary, from the file's first 12 (or fewer)
 * bytes. ERR_FORMAT. */
kiln_status kiln__npy_prefix(const void *data, size_t bytes, size_t *prefix_out, size_t *length_out,
                             kiln_error *err);

/* ---- number.c: one number as text, in NumPy's manner ---- */

/* Longest text any of the functions below writes, its NUL included: a float64 has at most 309
 * digits before the point. */
#define KILN__NUMBER_BYTES 352

/* The same for a lone number: two parts, brackets and a j. */
#define KILN__SCALAR_BYTES (2 * KILN__NUMBER_BYTES + 8)

/* How a column of numbers is written. */
typedef struct kiln__number_style {
    bool plus;           /* a sign on positive numbers too */
    int digits_min;      /* after the point, at least, all of them exact. 0: the digits before the
                            point are exact (17728 as float16, where 17730 would do); -1: no
                            digit needs to be. Positional numbers know these two only. */
    int digits_max;      /* after the point, at most; then rounded */
    int exponent_digits; /* 2, or 3 where the column needs it (scientific only) */
} kiln__number_style;

/* "1.25e+10". The point is always there. */
void kiln__number_scientific(kiln_dtype dtype, double value, const kiln__number_style *style,
                             char text[KILN__NUMBER_BYTES]);

/* "12.5" or "12.": the point is always there, zeros at the end are not. */
void kiln__number_positional(kiln_dtype dtype, double value, const kiln__number_style *style,
                             char text[KILN__NUMBER_BYTES]);

/* A lone number, as str() of a NumPy scalar: bool, integer, real or complex. */
void kiln__number_scalar(kiln_dtype dtype, const void *element, char text[KILN__SCALAR_BYTES]);

/* An integer as decimal digits; also bool, as 0 or 1. */
void kiln__number_integer(kiln_dtype dtype, const void *element, char text[KILN__NUMBER_BYTES]);

/* A floating-point element as a double, or one part of a complex element. */
double kiln__element_float(kiln_dtype dtype, const void *element, bool imaginary);

/* The dtype as whose values elements are printed: that of a complex number's parts, float32 of float8, any
 * other dtype itself. */
kiln_dtype kiln__part_dtype(kiln_dtype dtype);

#endif
