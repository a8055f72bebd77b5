/**
 * @file kiln/eager.h
 * @brief Elementwise operations on arrays at once: kiln_array_add(x, y, &z, &err).
 *
 *     kiln_array *z = NULL;
 *     kiln_array_multiply(x, 2, &z, &err);     // z is allocated; pass z again to reuse it
 *     kiln_array_maximum(z, 0.5, &z, &err);    // in place
 *     kiln_array_release(z);
 *
 * kiln/ops.h has a macro for every operation; docs/operations.md says what each gives. Operands
 * are arrays, which broadcast, and plain C numbers, which take the dtype of the arrays beside them
 * (NumPy 2's rules): with a float32 x, kiln_array_multiply(x, 2, ...) gives float32. An operation
 * is one kernel; several in a row are faster as a graph (kiln/graph.h).
 *
 * Threads, units, ownership: as kiln/elementwise.h. The kernels belong to the context.
 */
#ifndef KILN_EAGER_H
#define KILN_EAGER_H

#include "kiln/elementwise.h"
#include "kiln/ops.h"

KILN_EXTERN_C_BEGIN

/**
 * One operation on arrays and plain numbers: enqueue and return. kiln_array_add() and the
 * other macros of kiln/ops.h expand to it.
 *
 * @param args  As many as the operation takes, one of them an array at least.
 * @param opts  May be NULL. `has_size` must not be set.
 * @param out   As KILN_ARG_OUT: allocated when it points at NULL, with the dtype NumPy gives;
 *              else written, and of that dtype and of the operands' shape.
 * @return ERR_ARGUMENT_COUNT; ERR_ARGUMENT when no operand is an array; ERR_DTYPE for dtypes that
 *         the operation does not take, or an output of another one; ERR_RANGE for a plain integer
 *         that does not fit the arrays' dtype; and those of kiln_elementwise_run(). After a failure
 *         `*out` is unchanged.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_op(kiln_op op, const kiln_arg *args,
                                                  size_t arg_count,
                                                  const kiln_elementwise_call_options *opts,
                                                  kiln_array **out, kiln_error *err);

/** Two operations on the same operands by one kernel, as kiln_array_op(). Both must compute in the
 *  same dtypes (ERR_ARGUMENT), as those of kiln_array_divmod() and its like in kiln/ops.h do. */
KILN_API KILN_NODISCARD kiln_status kiln_array_op_pair(kiln_op first, kiln_op second,
                                                       const kiln_arg *args, size_t arg_count,
                                                       const kiln_elementwise_call_options *opts,
                                                       kiln_array **first_out,
                                                       kiln_array **second_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
