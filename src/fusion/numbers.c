/*
 * numbers.c - plain numbers, and values that are computed from plain numbers alone.
 *
 *     lower > [numbers]
 *
 * A plain number is weak: it takes the dtype of the arrays beside it (NEP 50). So is the result of
 * an operation whose operands are all weak. Such a value is computed by the operation's own row of
 * ops.def, in the dtypes of plain numbers (bool, int64, uint64, float64, complex128), within the
 * kernels that use it. It is converted where it meets an array.
 *
 * Rule 1: an operation has one meaning. Nothing is computed here; only the parser computes whole
 *         numbers, since shapes and axes must be known (src/graph/fold.c).
 * Rule 2: the value of a number given as an argument is unknown, and so is what is computed from
 *         it: plans hold for all values. Where a known integer would be checked or clamped, an
 *         unknown one keeps its own dtype (comparisons) or is clamped by the kernel (clip).
 *
 * Test: test_ops_numbers.
 */
#include <inttypes.h>

#include "fusion/build.h"

/* The kind of a number of this dtype: an int32 (frexp's exponent) is an integer like any other. */
static char kind_of(kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    return kind == 'u' && dtype != KILN_UINT64 ? 'i' : kind;
}

bool kiln__is_number(const kiln__build *b, uint32_t node, kiln__op_type *type_out)
{
    const kiln__node *n = &b->ir->nodes[node];

    memset(type_out, 0, sizeof *type_out);
    if (n->kind == KILN__NODE_CONSTANT) {
        type_out->number = n->number;
    } else if (n->kind == KILN__NODE_INPUT && !b->args[n->input].is_array &&
               n->dtype == KILN_DTYPE_NONE) {
        type_out->number.kind = b->args[n->input].number.kind;
        type_out->unknown = true;
    } else if (b->lowering.numbers[node] != 0) {
        type_out->number.kind = b->lowering.numbers[node];
        type_out->unknown = true;
    } else {
        return false;
    }
    type_out->weak = true;
    return true;
}

uint32_t kiln__lowered_scalar(kiln__build *b, uint32_t node, kiln_dtype dtype)
{
    const kiln__lowered made = {.kind = KILN__LOWERED_SCALAR,
                                .dtype = dtype,
                                .size = 1,
                                .arg = b->ir->nodes[node].input,
                                .origin = node};
    return kiln__lowered_add(b, &made);
}

uint32_t kiln__lowered_number(kiln__build *b, uint32_t node, kiln_dtype dtype)
{
    const kiln__node *n = &b->ir->nodes[node];
    kiln__lowered made = {.kind = KILN__LOWERED_CONST,
                          .dtype = dtype,
                          .size = 1,
                          .number = n->number,
                          .origin = node};

    if (n->kind == KILN__NODE_CONSTANT)
        return kiln__lowered_add(b, &made);
    if (kiln__is_known(b, node))
        return kiln__lowered_known(b, node, dtype);
    if (n->kind != KILN__NODE_INPUT)
        return kiln__lowered_cast(b, b->lowering.lowered[node], dtype, node);
    if (dtype != KILN_BOOL) /* the call converts it, and checks that it fits */
        return kiln__lowered_scalar(b, node, dtype);
    const kiln_dtype own = kiln__number_dtype(&b->args[n->input].number);
    return kiln__lowered_cast(b, kiln__lowered_scalar(b, node, own), dtype, node);
}

uint32_t kiln__lowered_strong(kiln__build *b, uint32_t node)
{
    kiln__op_type type;
    if (!kiln__is_number(b, node, &type) || b->lowering.numbers[node] != 0)
        return b->lowering.lowered[node];
    return kiln__lowered_number(b, node, kiln__number_dtype(&type.number));
}

uint32_t kiln__lowered_clamped(kiln__build *b, uint32_t node, kiln_dtype dtype)
{
    const kiln_dtype own = kiln__strong(b, node)->dtype;
    const kiln__number ends[] = {{.kind = 'i', .value = {.i = INT64_MIN}},
                                 {.kind = 'u', .value = {.u = UINT64_MAX}}};
    uint32_t operands[3] = {kiln__lowered_strong(b, node)};

    if (kiln__can_cast(own, dtype))
        return kiln__lowered_cast(b, operands[0], dtype, node);
    for (int k = 0; k < 2; k++) {
        kiln__lowered end = {.kind = KILN__LOWERED_CONST, .dtype = own, .size = 1, .origin = node};
        end.number = kiln__number_as(&ends[k], dtype);
        operands[1 + k] = kiln__lowered_add(b, &end);
    }
    return kiln__lowered_cast(b, kiln__lowered_op(b, node, KILN_OP_CLIP, operands, 3), dtype, node);
}

/* Whether a loop computes in a dtype that numbers have. NumPy's loops of bools alone do not: they
 * are of int8 and float16. */
static bool is_of_numbers(const kiln__op_loop *loop)
{
    const kiln_dtype type = loop->type;
    return type == KILN_BOOL || type == KILN_INT64 || type == KILN_UINT64 || type == KILN_FLOAT64 ||
           type == KILN_COMPLEX128;
}

/* Whether an operation raises a whole number to a power that is known to be negative: the result is
 * a float, as in Python. */
static bool is_reciprocal_power(const kiln__node *n, const kiln__op_type *weak)
{
    const bool whole = weak[0].number.kind != 'f' && weak[0].number.kind != 'c';
    return n->op == KILN_OP_POWER && whole && !weak[1].unknown && weak[1].number.kind == 'i' &&
           weak[1].number.value.i < 0;
}

uint32_t kiln__lower_number_op(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    const kiln__op *op = kiln__op_find((kiln_op)n->op);
    kiln__op_type weak[KILN__OP_ARITY_MAX], types[KILN__OP_ARITY_MAX];
    uint32_t operands[KILN__OP_ARITY_MAX];
    kiln__lowered made = {.kind = KILN__LOWERED_EXPR, .size = 1, .origin = node};
    const uint32_t known = kiln__lower_known_op(b, node);

    if (known != 0)
        return known;
    memset(types, 0, sizeof types);
    for (uint32_t k = 0; k < n->operand_count; k++) {
        (void)kiln__is_number(b, from[k], &weak[k]);
        types[k].dtype = kiln__number_dtype(&weak[k].number);
    }
    if (is_reciprocal_power(n, weak))
        types[0].dtype = types[1].dtype = KILN_FLOAT64;
    kiln__resolve_op(b, node, op, types, &made.loop);
    if (!is_of_numbers(&made.loop)) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            types[k].dtype = types[k].dtype == KILN_BOOL ? KILN_INT64 : types[k].dtype;
        kiln__resolve_op(b, node, op, types, &made.loop);
    }
    made.dtype = made.loop.out;
    for (uint32_t k = 0; k < n->operand_count; k++)
        operands[k] = kiln__lowered_number(b, from[k], made.loop.in[k]);
    made.operand_count = kiln__op_reads(&made.loop) ? n->operand_count : 0;
    made.operand = kiln__build_copy(b, operands, made.operand_count * sizeof *operands);
    b->lowering.numbers[node] = kind_of(made.dtype);
    return kiln__lowered_add(b, &made);
}

void kiln__need_fit(kiln__build *b, uint32_t node, const kiln__op_type *type, kiln_dtype dtype)
{
    const kiln__number *n = &type->number;

    if (type->unknown || kiln__number_fits(n, dtype))
        return;
    if (n->kind == 'u')
        kiln__build_fail(b, node, KILN_ERR_RANGE, "%" PRIu64 " does not fit %s", n->value.u,
                         kiln_dtype_name(dtype));
    kiln__build_fail(b, node, KILN_ERR_RANGE, "%" PRId64 " does not fit %s", n->value.i,
                     kiln_dtype_name(dtype));
}
