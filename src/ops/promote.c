/*
 * promote.c - the dtype that several operands have in common: NumPy 2's rules (NEP 50).
 *
 *     dtypes of arrays > [promote, pairwise] > common > [weak numbers raise its kind] > result
 *
 * Rule 1: arrays decide. A plain number only raises the kind: an integer beside bools makes int64,
 *         a float beside integers float64, a complex number the complex type of the same width.
 * Rule 2: bfloat16, which NumPy itself does not have, joins the table as ml_dtypes puts it there:
 *         with bool, int8 and uint8 it stays, wider floats and complex win. Where ml_dtypes knows
 *         no common type, 16-bit integers and float16 make float32 and wider integers float64.
 *         A plain float beside it leaves it bfloat16.
 * Rule 3: the two float8, which NumPy does not have either, stay with bool, int8, uint8 and plain
 *         numbers; wider integers make float32 and float64 as beside bfloat16; wider floats and
 *         complex win. float16, which holds every float8, is what the two have in common.
 *         (ml_dtypes has no common type for some of these pairs, and JAX for any.)
 */
#include "ops/ops.h"

/* Bits of an integer that must fit; bool counts as one. */
static int integer_bits(kiln_dtype dtype)
{
    return dtype == KILN_BOOL ? 1 : 8 * (int)kiln_dtype_size(dtype);
}

static bool is_integer(kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    return kind == 'b' || kind == 'i' || kind == 'u';
}

static kiln_dtype signed_of(int bits)
{
    return bits <= 8 ? KILN_INT8 : bits <= 16 ? KILN_INT16 : bits <= 32 ? KILN_INT32 : KILN_INT64;
}

static kiln_dtype promote_integers(kiln_dtype a, kiln_dtype b)
{
    const char ka = kiln_dtype_kind(a), kb = kiln_dtype_kind(b);
    const int bits_a = integer_bits(a), bits_b = integer_bits(b);

    if (ka == 'b' || kb == 'b' || ka == kb)
        return bits_a > bits_b ? a : b;
    /* One has a sign: an unsigned one fits a signed one of twice its bits. */
    const int with_sign = ka == 'i' ? bits_a : bits_b, without = ka == 'i' ? bits_b : bits_a;
    if (with_sign > without)
        return signed_of(with_sign);
    return without < 64 ? signed_of(2 * without) : KILN_FLOAT64;
}

/* The float that holds every value of an integer dtype, or float64 when none does. Small integers
 * beside bfloat16 or a float8 become what they are combined with. */
static kiln_dtype float_of(kiln_dtype integer, kiln_dtype beside)
{
    const int bits = integer_bits(integer);
    if (bits <= 8)
        return beside == KILN_BFLOAT16 || kiln__is_float8(beside) ? beside : KILN_FLOAT16;
    return bits <= 16 ? KILN_FLOAT32 : KILN_FLOAT64;
}

static kiln_dtype promote_floats(kiln_dtype a, kiln_dtype b)
{
    if (a == b)
        return a;
    if (kiln__is_float8(a) && kiln__is_float8(b))
        return KILN_FLOAT16;
    if (kiln_dtype_size(a) == 2 && kiln_dtype_size(b) == 2)
        return KILN_FLOAT32;
    return kiln_dtype_size(a) > kiln_dtype_size(b) ? a : b;
}

/* The float that a complex number's parts are, or the float itself. */
static kiln_dtype part_of(kiln_dtype dtype)
{
    if (kiln_dtype_kind(dtype) != 'c')
        return dtype;
    return dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : KILN_FLOAT64;
}

static kiln_dtype complex_of(kiln_dtype part)
{
    return part == KILN_FLOAT64 ? KILN_COMPLEX128 : KILN_COMPLEX64;
}

bool kiln__promote(kiln_dtype a, kiln_dtype b, kiln_dtype *out)
{
    if (kiln_dtype_size(a) == 0 || kiln_dtype_size(b) == 0)
        return false;
    if (a == b) { /* most calls */
        *out = a;
        return true;
    }
    if (is_integer(a) && is_integer(b)) {
        *out = promote_integers(a, b);
        return true;
    }
    const bool wide = kiln_dtype_kind(a) == 'c' || kiln_dtype_kind(b) == 'c';
    a = is_integer(a) ? float_of(a, b) : part_of(a);
    b = is_integer(b) ? float_of(b, a) : part_of(b);
    *out = promote_floats(a, b);
    if (wide)
        *out = complex_of(*out);
    return true;
}

bool kiln__can_cast(kiln_dtype from, kiln_dtype to)
{
    kiln_dtype both = KILN_DTYPE_NONE;
    return kiln__promote(from, to, &both) && both == to;
}

kiln_dtype kiln__number_dtype(const kiln__number *number)
{
    static const kiln_dtype own[] = {KILN_BOOL, KILN_INT64, KILN_UINT64, KILN_FLOAT64,
                                     KILN_COMPLEX128};
    return own[kiln__number_index(number)];
}

/* `common` raised to the kind of a plain number beside it. */
static kiln_dtype raise_kind(kiln_dtype common, const kiln__number *number)
{
    const char kind = number->kind;

    if (kind == 'b')
        return common;
    if (kind == 'i' || kind == 'u')
        return common == KILN_BOOL ? KILN_INT64 : common;
    if (kind == 'f')
        return is_integer(common) ? KILN_FLOAT64 : common;
    return is_integer(common) ? KILN_COMPLEX128 : complex_of(part_of(common));
}

/* The common dtype of the arrays; NONE when there are none. As in NumPy the highest kind goes
 * first: int16 and uint16 beside complex64 fit it one by one, though their int32 would not. */
static bool promote_arrays(const kiln__op_type *in, size_t count, kiln_dtype *out)
{
    static const char kinds[] = "cfiub";
    kiln_dtype common = KILN_DTYPE_NONE;

    for (const char *kind = kinds; *kind != '\0'; kind++) {
        for (size_t k = 0; k < count; k++) {
            if (in[k].weak || kiln_dtype_kind(in[k].dtype) != *kind)
                continue;
            if (common == KILN_DTYPE_NONE)
                common = in[k].dtype;
            else
                kiln__promote(common, in[k].dtype, &common);
        }
    }
    *out = common;
    for (size_t k = 0; k < count; k++)
        if (!in[k].weak && kiln_dtype_size(in[k].dtype) == 0)
            return false;
    return true;
}

bool kiln__result_type(const kiln__op_type *in, size_t count, kiln_dtype *out)
{
    kiln_dtype common = KILN_DTYPE_NONE;

    if (!promote_arrays(in, count, &common))
        return false;
    const bool numbers_only = common == KILN_DTYPE_NONE;
    for (size_t k = 0; k < count; k++) {
        if (!in[k].weak)
            continue;
        if (!numbers_only)
            common = raise_kind(common, &in[k].number);
        else if (common == KILN_DTYPE_NONE)
            common = kiln__number_dtype(&in[k].number);
        else
            kiln__promote(common, kiln__number_dtype(&in[k].number), &common);
    }
    *out = common;
    return kiln_dtype_size(common) != 0;
}
