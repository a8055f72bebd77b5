/*
 * promote.c - the dtypes that operations compute in: NumPy 2's rules, and the table of operations.
 *
 * Snippets have no rules of their own here: their programs cast by name, so that all operands of an
 * operation have one dtype.
 */
#include <string.h>

#include "difftest.h"

const dt_op_row dt_ops[DT_ELEMENTWISE_COUNT] = {
#define DT_OP_ROW(name, text, operands, snippet_kinds, graph_kinds, result, number, snippet)       \
    {text, operands, snippet_kinds, graph_kinds, result, number, snippet},
    DT_OP_MAP(DT_OP_ROW)
#undef DT_OP_ROW
};

const char *dt_op_name(dt_op op)
{
    static const char *const others[] = {"input",   "constant", "reduce",   "scan", "transpose",
                                         "newaxis", "flip",     "slice",    "take", "broadcast_to",
                                         "reshape", "index",    "position", "old",  "raw",
                                         "taken"};
    return op < DT_ELEMENTWISE_COUNT ? dt_ops[op].name : others[op - DT_INPUT];
}

static int bits_of(kiln_dtype dtype)
{
    return dtype == KILN_BOOL ? 1 : 8 * (int)kiln_dtype_size(dtype);
}

static kiln_dtype signed_with(int bits)
{
    return bits <= 8 ? KILN_INT8 : bits <= 16 ? KILN_INT16 : bits <= 32 ? KILN_INT32 : KILN_INT64;
}

static kiln_dtype float_for(kiln_dtype integer, kiln_dtype beside)
{
    const int bits = bits_of(integer);

    if (bits <= 8)
        return dt_is_narrow(beside) ? beside : KILN_FLOAT16;
    return bits <= 16 ? KILN_FLOAT32 : KILN_FLOAT64;
}

kiln_dtype dt_promote(kiln_dtype a, kiln_dtype b)
{
    if (a == b)
        return a;
    if (dt_is_integer(a) && dt_is_integer(b)) {
        if (a == KILN_BOOL || b == KILN_BOOL || dt_is_signed(a) == dt_is_signed(b))
            return bits_of(a) > bits_of(b) ? a : b;
        const kiln_dtype s = dt_is_signed(a) ? a : b, u = dt_is_signed(a) ? b : a;
        if (bits_of(s) > bits_of(u))
            return s;
        return bits_of(u) == 64 ? KILN_FLOAT64 : signed_with(2 * bits_of(u));
    }
    const bool complex = dt_is_complex(a) || dt_is_complex(b);
    a = dt_is_integer(a) ? float_for(a, b) : dt_part_of(a);
    b = dt_is_integer(b) ? float_for(b, a) : dt_part_of(b);
    kiln_dtype f = bits_of(a) > bits_of(b) ? a : b;
    if (a != b && bits_of(a) == bits_of(b))
        f = dt_is_float8(a) ? KILN_FLOAT16 : KILN_FLOAT32;
    return complex ? dt_complex_of(f) : f;
}

/* `common` beside a plain number of the dtype `number`. */
static kiln_dtype raise(kiln_dtype common, kiln_dtype number)
{
    if (number == KILN_BOOL)
        return common;
    if (dt_is_integer(number))
        return common == KILN_BOOL ? KILN_INT64 : common;
    if (dt_is_float(number))
        return dt_is_integer(common) ? KILN_FLOAT64 : common;
    return dt_is_integer(common) ? KILN_COMPLEX128 : dt_complex_of(dt_part_of(common));
}

static bool common_of(const kiln_dtype *in, const bool *weak, int first, int count,
                      kiln_dtype *common)
{
    *common = KILN_DTYPE_NONE;
    /* The highest kind goes first, as in NumPy. */
    for (int pass = 0; pass < 5; pass++)
        for (int k = first; k < count; k++) {
            static const char kinds[] = "cfiub";
            if (!weak[k] && kiln_dtype_kind(in[k]) == kinds[pass])
                *common = *common == KILN_DTYPE_NONE ? in[k] : dt_promote(*common, in[k]);
        }
    if (*common == KILN_DTYPE_NONE)
        return false;
    for (int k = first; k < count; k++)
        if (weak[k])
            *common = raise(*common, in[k]);
    return true;
}

/* NumPy takes the first loop of floats that holds each of the integers, not what they have in common:
 * float32 for uint16 beside int8. */
static kiln_dtype floats_for(const kiln_dtype *in, const bool *weak, int first, int count,
                             kiln_dtype common)
{
    kiln_dtype loop = KILN_DTYPE_NONE;

    for (int k = first; k < count; k++) {
        const kiln_dtype f = weak[k] ? KILN_DTYPE_NONE : float_for(in[k], KILN_DTYPE_NONE);
        if (f != KILN_DTYPE_NONE && (loop == KILN_DTYPE_NONE || bits_of(f) > bits_of(loop)))
            loop = f;
    }
    return common == KILN_INT64 || loop == KILN_DTYPE_NONE ? float_for(common, KILN_DTYPE_NONE)
                                                           : loop;
}

bool dt_loop_of(dt_op op, const kiln_dtype *in, const bool *weak, int count, bool in_snippet,
                kiln_dtype *loop, kiln_dtype *result)
{
    const dt_op_row *row = &dt_ops[op];
    const int first = op == DT_WHERE ? 1 : 0;
    kiln_dtype common;

    if (!common_of(in, weak, first, count, &common))
        return false;
    if (in_snippet)
        for (int k = first; k < count; k++)
            if (in[k] != common)
                return false;
    if (in_snippet && op == DT_FMA && dt_is_narrow(common))
        return false; /* no format rounds a narrow fma once */
    if (in_snippet && op == DT_WHERE && in[0] != KILN_BOOL)
        return false;
    const char *kinds = in_snippet ? row->snippet_kinds : row->graph_kinds;
    const char kind = kiln_dtype_kind(common);
    if (strchr(kinds, kind) == NULL)
        return false;
    if (kind == 'f') /* signed beside uint64: compared exactly by kiln, or refused */
        for (int k = first; k < count; k++)
            if (in[k] == KILN_UINT64 && !dt_is_float(in[0]) && row->result == '?')
                return false;
    if (row->result == 'F' && dt_is_integer(common))
        common = floats_for(in, weak, first, count, common);
    if (row->result == 'D' && dt_is_integer(common))
        common = KILN_FLOAT64;
    *loop = common;
    *result = row->result == '?'   ? KILN_BOOL
              : row->result == 'B' ? KILN_UINT8
              : row->result == 'r' ? dt_part_of(common)
                                   : common;
    return true;
}
