/**
 * @file kiln/ops.h
 * @brief Elementwise operations: one value and two macros each.
 *
 * Generated from src/codegen/graph/ops.def; docs/operations.md describes each operation.
 *
 * kiln_add(x, y)                    records a node of a graph; see kiln/graph.h.
 * kiln_array_add(x, y, &z, &err)    computes at once; see kiln/eager.h.
 *
 * Operands of the first are nodes or plain C numbers, of the second arrays or plain C
 * numbers; each is evaluated once.
 */
#ifndef KILN_OPS_H
#define KILN_OPS_H

#include "kiln/base.h"

/** Which operation. Values are pinned and never reused. */
typedef enum kiln_op {
    KILN_OP_ADD = 1,
    KILN_OP_SUBTRACT = 2,
    KILN_OP_MULTIPLY = 3,
    KILN_OP_DIVIDE = 4,
    KILN_OP_NEGATIVE = 8,
    KILN_OP_ABSOLUTE = 10,
    KILN_OP_SQUARE = 14,
    KILN_OP_SQRT = 15,
    KILN_OP_EXP = 40,
    KILN_OP_LOG = 43,
    KILN_OP_TANH = 72,
    KILN_OP_LESS = 102,
    KILN_OP_WHERE = 160
} kiln_op;

KILN_EXTERN_C_BEGIN

/** NumPy's name of an operation, e.g. "add"; "unknown" for a value not in the table. */
KILN_API const char *kiln_op_name(kiln_op op);

KILN_EXTERN_C_END

/* ---- Arithmetic ---- */
#define kiln_add(a, b) \
    kiln_node_op2(KILN_OP_ADD, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_add(a, b, out, err) \
    kiln_array_op(KILN_OP_ADD, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_subtract(a, b) \
    kiln_node_op2(KILN_OP_SUBTRACT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_subtract(a, b, out, err) \
    kiln_array_op(KILN_OP_SUBTRACT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_multiply(a, b) \
    kiln_node_op2(KILN_OP_MULTIPLY, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_multiply(a, b, out, err) \
    kiln_array_op(KILN_OP_MULTIPLY, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_divide(a, b) \
    kiln_node_op2(KILN_OP_DIVIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_divide(a, b, out, err) \
    kiln_array_op(KILN_OP_DIVIDE, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_true_divide(a, b) \
    kiln_node_op2(KILN_OP_DIVIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_true_divide(a, b, out, err) \
    kiln_array_op(KILN_OP_DIVIDE, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_negative(a) \
    kiln_node_op1(KILN_OP_NEGATIVE, KILN_NODE(a), KILN_HERE)
#define kiln_array_negative(a, out, err) \
    kiln_array_op(KILN_OP_NEGATIVE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_absolute(a) \
    kiln_node_op1(KILN_OP_ABSOLUTE, KILN_NODE(a), KILN_HERE)
#define kiln_array_absolute(a, out, err) \
    kiln_array_op(KILN_OP_ABSOLUTE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_abs(a) \
    kiln_node_op1(KILN_OP_ABSOLUTE, KILN_NODE(a), KILN_HERE)
#define kiln_array_abs(a, out, err) \
    kiln_array_op(KILN_OP_ABSOLUTE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_square(a) \
    kiln_node_op1(KILN_OP_SQUARE, KILN_NODE(a), KILN_HERE)
#define kiln_array_square(a, out, err) \
    kiln_array_op(KILN_OP_SQUARE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_sqrt(a) \
    kiln_node_op1(KILN_OP_SQRT, KILN_NODE(a), KILN_HERE)
#define kiln_array_sqrt(a, out, err) \
    kiln_array_op(KILN_OP_SQRT, KILN_ARGS(a), NULL, (out), (err))

/* ---- Exponentials and logarithms ---- */
#define kiln_exp(a) \
    kiln_node_op1(KILN_OP_EXP, KILN_NODE(a), KILN_HERE)
#define kiln_array_exp(a, out, err) \
    kiln_array_op(KILN_OP_EXP, KILN_ARGS(a), NULL, (out), (err))
#define kiln_log(a) \
    kiln_node_op1(KILN_OP_LOG, KILN_NODE(a), KILN_HERE)
#define kiln_array_log(a, out, err) \
    kiln_array_op(KILN_OP_LOG, KILN_ARGS(a), NULL, (out), (err))

/* ---- Hyperbolic functions ---- */
#define kiln_tanh(a) \
    kiln_node_op1(KILN_OP_TANH, KILN_NODE(a), KILN_HERE)
#define kiln_array_tanh(a, out, err) \
    kiln_array_op(KILN_OP_TANH, KILN_ARGS(a), NULL, (out), (err))

/* ---- Comparison ---- */
#define kiln_less(a, b) \
    kiln_node_op2(KILN_OP_LESS, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_less(a, b, out, err) \
    kiln_array_op(KILN_OP_LESS, KILN_ARGS(a, b), NULL, (out), (err))

/* ---- Choice ---- */
#define kiln_where(a, b, c) \
    kiln_node_op3(KILN_OP_WHERE, KILN_NODE(a), KILN_NODE(b), KILN_NODE(c), KILN_HERE)
#define kiln_array_where(a, b, c, out, err) \
    kiln_array_op(KILN_OP_WHERE, KILN_ARGS(a, b, c), NULL, (out), (err))

#endif
