/*
 * radix_key.c - what a sort must know of a dtype: how the bits of an element become its radix key,
 * the unsigned integer by which it is sorted.
 *
 * All sorts of this folder ask it. Test: test_sort, over all dtypes.
 */
#include "sorting/sorting.h"

kiln__radix_kind kiln__radix_kind_of(kiln_dtype dtype)
{
    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        return KILN__RADIX_TRUTH;
    case 'i':
        return KILN__RADIX_SIGNED;
    case 'f':
        return KILN__RADIX_FLOATING;
    case 'c':
        return KILN__RADIX_COMPLEX;
    default:
        return KILN__RADIX_UNSIGNED;
    }
}

uint64_t kiln__radix_infinity(kiln_dtype dtype)
{
    switch (kiln_dtype_kind(dtype)) {
    case 'f':
        return kiln__float_infinity(dtype);
    case 'c':
        return kiln__float_infinity(dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : KILN_FLOAT64);
    default:
        return 0;
    }
}

int kiln__radix_digits(kiln_dtype dtype)
{
    return (int)kiln_dtype_size(dtype);
}
