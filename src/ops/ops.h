/*
 * ops.h - the door of the operations table: what an elementwise operation is called, which dtypes
 * it takes and gives, and the C++ that computes it.
 *
 *     (op, dtypes and weak numbers of its operands) > [kiln__op_resolve] > loop > text
 *
 * ops.def      the table, one row an operation; the single truth
 * ops.c        finding operations, choosing a loop, writing its text
 * promote.c    the common dtype of several: NumPy's table, and bfloat16
 * draws.c      distributions of random numbers
 * whole.c      exact arithmetic on whole numbers that are known
 *
 * Rule: results have the dtypes that NumPy 2 gives (NEP 50); where NumPy has no rule (bfloat16
 * beside float16 or wide integers) docs/operations.md states ours.
 *
 * Pure functions of their arguments, callable from any thread. Uses core.
 */
#ifndef KILN_OPS_OPS_H
#define KILN_OPS_OPS_H

#include "core/core.h"
#include "kiln/ops.h"
#include "kiln/random.h"

/* Most operands an operation has. Each has one result; NumPy's ufuncs with two (divmod, frexp,
 * modf) are two operations each. */
#define KILN__OP_ARITY_MAX 3

/* One row of the table; opaque parts of it are in ops.c. */
typedef struct kiln__op {
    kiln_op op;
    const char *name; /* NumPy's, or SciPy's */
    int arity;
    const char *doc;
    const struct kiln__op_row *row;
} kiln__op;

/* NULL for a value or a name that is no operation; a name may be one of NumPy's other names for
 * it ("abs", "asin"). */
const kiln__op *kiln__op_find(kiln_op op);
const kiln__op *kiln__op_named(const char *name, size_t name_bytes);
/* The two operations of a function with two results ("divmod"); false when it is none. */
bool kiln__op_pair_named(const char *name, size_t name_bytes, kiln_op op[2]);
/* Analytic operations of numbers: what `op` makes of x[0] and x[1]. False: it is none of these. */
bool kiln__op_of_numbers(kiln_op op, const double *x, double *out);
/* Exact arithmetic on whole numbers and bools, of which one at least is no bool. (whole.c) */
typedef enum kiln__folded {
    KILN__FOLDED,
    KILN__FOLD_NOT,   /* it is no operation on integers, or one without such a result, as 1 // 0 */
    KILN__FOLD_BEYOND /* the result does not fit 64 bits */
} kiln__folded;
kiln__folded kiln__fold_whole(kiln_op op, int arity, const kiln__number *operands,
                              kiln__number *out);
/* Every operation, by rising value: `index` from 0, NULL after the last. */
const kiln__op *kiln__op_at(size_t index);

/* What is known of one operand. A plain number is weak: it takes the dtype of the arrays beside it
 * (NEP 50). */
typedef struct kiln__op_type {
    kiln_dtype dtype; /* when it is not weak */
    bool weak;
    bool unknown;        /* weak, and only its kind is known: the number is a zero */
    kiln__number number; /* when it is weak */
} kiln__op_type;

/* How an operation is computed for some dtypes. */
typedef struct kiln__op_loop {
    kiln_dtype in[KILN__OP_ARITY_MAX]; /* what each operand must be cast to first */
    kiln_dtype out;                    /* what the result is converted to by assignment */
    kiln_dtype type;                   /* $T of the expression */
    bool calls;                        /* it calls a function: it costs more than arithmetic */
    bool divides;                      /* it is the quotient of its operands, as C++ has it */
    const char *expression;            /* constant text with $0 .. $4 $T $W $U $R $D */
} kiln__op_loop;

/*
 * Choose the loop for these operands (as many as the operation's arity).
 * ERR_DTYPE when the operation does not take them, ERR_RANGE for a plain integer that does not fit
 * the dtype it must take; both name the operation.
 */
kiln_status kiln__op_resolve(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                             kiln_error *err);

/* The loop of float32 for operands that are 16-bit floats: results are not rounded. Operations on the
 * format itself (spacing, nextafter) keep theirs. */
void kiln__op_widen(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *loop);

/* Whether a loop reads its operands. One that reads any of them reads all; the others (isnan of
 * integers) take only a shape from them. */
bool kiln__op_reads(const kiln__op_loop *loop);

/* "float32 and a plain number", for messages. */
void kiln__op_operands(const kiln__op *op, const kiln__op_type *in, char *text, size_t bytes);

/* Append the loop's expression. Each operand text is a name, a literal or something in
 * parentheses, of exactly the dtype in loop->in; it may be repeated. */
void kiln__op_text(kiln__buf *b, const kiln__op_loop *loop, const char *const *operand_text);

/* The dtype of a letter of ops.def. */
kiln_dtype kiln__op_dtype(char letter);

/* Append `operand` (a primary expression of dtype `from`) converted to `to` as
 * kiln_array_cast() does; the bare operand when they are equal. */
void kiln__cast_text(kiln__buf *b, kiln_dtype from, kiln_dtype to, const char *operand);

/* Append a number as a literal of `dtype`, e.g. "2.5f", "complex<float>(0, 1)", "(short)3". A
 * float too large for its dtype is an infinity, as in NumPy. The number must suit the dtype, as
 * kiln__op_resolve() found: no fraction for an integer. */
void kiln__number_text(kiln__buf *b, const kiln__number *number, kiln_dtype dtype);

/* Whether a plain integer is a value of the integer dtype; true of other numbers and dtypes. */
bool kiln__number_fits(const kiln__number *number, kiln_dtype dtype);

/* A number as an element of `dtype` has it, of the dtype's own kind: an integer beyond its range
 * becomes its end, a float too large for it an infinity, anything for bool whether it is not 0. */
kiln__number kiln__number_as(const kiln__number *number, kiln_dtype dtype);

/* Whether two numbers are the same one, bit for bit: -0 is not 0, and a NaN is itself. */
bool kiln__number_same(const kiln__number *a, const kiln__number *b);

/* The dtype a number has by itself: bool, int64, uint64, float64, complex128. */
kiln_dtype kiln__number_dtype(const kiln__number *number);

/* np.promote_types(): the smallest dtype that both convert to without loss of kind or width. Any
 * two dtypes have one. False when one of them is no dtype. */
bool kiln__promote(kiln_dtype a, kiln_dtype b, kiln_dtype *out);

/* np.can_cast(from, to, "safe"). */
bool kiln__can_cast(kiln_dtype from, kiln_dtype to);

/* np.result_type() of `count` operands, weak ones included. False when there are none. */
bool kiln__result_type(const kiln__op_type *in, size_t count, kiln_dtype *out);

/* ---- random numbers (draws.c) ---- */

/* Most parameters that a distribution has. Before them its expression has key and draw ($0, $1:
 * uint64) and the element's index ($2: int64). */
enum { KILN__DRAW_PARAMS_MAX = 2, KILN__DRAW_OPERANDS_MAX = 3 + KILN__DRAW_PARAMS_MAX };

bool kiln__draw_exists(kiln_draw draw);
/* 0 where no distribution has the name. */
kiln_draw kiln__draw_named(const char *name, size_t bytes);
size_t kiln__draw_params(kiln_draw draw);
/* How numbers of a dtype (KILN_DTYPE_NONE: the usual one) are drawn, and the dtypes that parameters
 * are cast to. ERR_DTYPE. Of the loop, `in` is not set. */
kiln_status kiln__draw_resolve(kiln_draw draw, kiln_dtype dtype, kiln__op_loop *loop,
                               kiln_dtype params[KILN__DRAW_PARAMS_MAX], kiln_error *err);
/* ERR_RANGE for parameters that no such distribution has; NULL is one that is not known. */
kiln_status kiln__draw_check(kiln_draw draw, const kiln__number *a, const kiln__number *b,
                             kiln_error *err);

#endif
