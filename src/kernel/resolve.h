/*
 * resolve.h - a call on its way to a recipe. Private to src/kernel.
 *
 *     [count > check arrays > bind types > broadcast] > plan > recipe
 *
 * What loops (loop.c) and reductions (reduction.c) do alike with their arguments.
 */
#ifndef KILN_KERNEL_RESOLVE_H
#define KILN_KERNEL_RESOLVE_H

#include "kernel/kernel.h"

typedef struct kiln__resolved {
    kiln_array *array[KILN_PARAM_MAX]; /* given arrays, else NULL */
    kiln__given given[KILN_PARAM_MAX];
    kiln_dtype dtype[KILN_PARAM_MAX];
    kiln__operand operand[KILN_PARAM_MAX];
    int rank;
    int64_t shape[KILN_RANK_MAX];
    int order[KILN_RANK_MAX];
    /* Of outputs along the loop's axes, where they are not the array's own. */
    int64_t fresh_strides[KILN_PARAM_MAX][KILN_RANK_MAX];
    int64_t spread[KILN_RANK_MAX]; /* reductions, row programs: the loop's shape, 1 where reduced */
    int row_rank; /* reductions, row programs: shape of outputs per result or row */
    int64_t row_shape[KILN_RANK_MAX];
    kiln__plan plan;
} kiln__resolved;

/* The array given for a parameter, whichever way it was passed; NULL for scalars and for outputs
 * still to be allocated. */
kiln_array *kiln__given_array(const kiln_arg *arg);

/* A scalar's kind as types are bound: a uint that fits int64 is an int. */
uint8_t kiln__scalar_kind(const kiln_arg *arg);

/* Count and check the arguments, bind types. Fills array, given, dtype. */
kiln_status kiln__resolve_arguments(kiln__kernel *op, const kiln__call *call, kiln__resolved *r,
                                    kiln_error *err);

/* Whether parameter `p` is an array that takes part in deciding the loop's shape. */
bool kiln__decides_shape(const kiln__definition *d, const kiln__resolved *r, size_t p);

/* Broadcast the inputs into rank and shape. ERR_SHAPE. */
kiln_status kiln__broadcast_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err);

/* The same where inputs alone decide the shape: there is one that does, and its size is no overflow.
 * ERR_UNDECIDED_SIZE, ERR_SHAPE, ERR_OVERFLOW. */
kiln_status kiln__decide_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err);

/* The shape of results of the marked axes into row_rank and row_shape, which have extent 1 there under
 * keepdims and lack those axes otherwise; and an output of that shape (dense where none was given) as
 * the planner sees it, with all axes of the loop. */
void kiln__decide_results(kiln__resolved *r, const bool *marks, bool keepdims);
void kiln__spread_output(kiln__resolved *r, size_t p, const bool *marks, bool keepdims);

/* Reductions: mark which of `rank` axes `axes` names (NULL: all); and whether array `a` can be the
 * result `p` of that shape. ERR_ARGUMENT, ERR_AXIS; ERR_OUTPUT. */
kiln_status kiln__read_axes(const kiln__definition *d, const kiln_axes *axes, int rank, bool *marks,
                            kiln_error *err);
kiln_status kiln__check_result(const kiln__definition *d, const kiln_array *a, size_t p, int rank,
                               const int64_t *shape, kiln_error *err);

/* Decide the axis order and strides of outputs still to be allocated that are no arrays yet. */
void kiln__fill_fresh(const kiln__definition *d, kiln__resolved *r);

/* Describe parameter `p` to the planner. */
void kiln__fill_operand(const kiln__definition *d, kiln__resolved *r, size_t p);

/* Plan a call whose operands are described, over r->shape. `along` marks its axes (NULL: a loop). */
void kiln__plan_resolved(const kiln__definition *d, const kiln__call *call,
                         const kiln__plan_device *device, const bool *along, kiln__resolved *r);

#endif
