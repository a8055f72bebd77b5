/*
 * resolve.h - a call before it is planned: what all families do with their arguments. Private to
 * src/kernel.
 *
 *     [count > check arrays > bind types > broadcast] > plan > recipe
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
    int order[KILN_RANK_MAX];     /* of axes, for outputs that are allocated with that shape */
    bool along[KILN_RANK_MAX];    /* axes along which elements are combined */
    uint8_t row[KILN_PARAM_MAX];  /* of outputs: their kiln__shape_of */
    int row_rank;                 /* the shape of results */
    int64_t row_shape[KILN_RANK_MAX];
    int64_t spread[KILN_RANK_MAX]; /* the shape of results with all axes of the loop: 1 on those
                                      `along` */
    bool flat;                     /* results have one axis, for all elements in C-order */
    /* Strides of outputs along the loop's axes, where these are not the array's axes. */
    int64_t fresh_strides[KILN_PARAM_MAX][KILN_RANK_MAX];
    kiln__plan plan;
} kiln__resolved;

/* The array given for a parameter, whichever way it was passed; NULL for scalars and for outputs
 * still to be allocated. */
static inline kiln_array *kiln__given_array(const kiln_arg *arg)
{
    if (arg->kind == KILN_ARG_ARRAY)
        return arg->value.array;
    return arg->kind == KILN_ARG_OUT && arg->value.out != NULL ? *arg->value.out : NULL;
}

/* The kind of a scalar when types are bound: an unsigned integer that fits int64 counts as signed. */
static inline uint8_t kiln__scalar_kind(const kiln_arg *arg)
{
    return arg->kind == KILN_ARG_UINT && arg->value.u <= INT64_MAX ? KILN_ARG_INT
                                                                   : (uint8_t)arg->kind;
}

/* Count and check the arguments, and bind types: fill in r->array, given and dtype. */
kiln_status kiln__resolve_arguments(kiln__kernel *op, const kiln__call *call, kiln__resolved *r,
                                    kiln_error *err);

/* Whether parameter `p` is an array that takes part in deciding the loop's shape. */
bool kiln__decides_shape(const kiln__definition *d, const kiln__resolved *r, size_t p);

/* Broadcast the inputs into rank and shape. ERR_SHAPE. */
kiln_status kiln__broadcast_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err);

/* Inputs that are taken by index have an axis for each index, and elements where there are indices: `size` of
 * them. ERR_SHAPE, ERR_INDEX. */
kiln_status kiln__check_taken(const kiln__definition *d, const kiln__resolved *r, int64_t size,
                              kiln_error *err);

/* The same as kiln__broadcast_inputs() where only inputs decide the shape: also check that one of them does, that the
 * size does not overflow, and what is taken by index. ERR_UNDECIDED_SIZE, ERR_SHAPE, ERR_OVERFLOW, ERR_INDEX. */
kiln_status kiln__decide_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err);

/* Mark the axes in `axes` (NULL: all) in r->along. ERR_ARGUMENT, ERR_AXIS. */
kiln_status kiln__read_axes(const kiln__definition *d, const kiln_axes *axes, kiln__resolved *r,
                            kiln_error *err);
/* Set the shape of results: without the axes that r->along marks, or with extent 1 there
 * (keepdims). */
void kiln__decide_results(kiln__resolved *r, bool keepdims);

/* Check that the array given for output `p` has its shape and can be written. ERR_OUTPUT. */
kiln_status kiln__check_output(const kiln__definition *d, const kiln__resolved *r, size_t p,
                               kiln_error *err);

/* Decide the rest of a call whose arrays and dtypes are in `r`: shapes, outputs, the plan. */
kiln_status kiln__decide(const kiln__definition *d, const kiln__call *call,
                         const kiln__family_calls *calls, const kiln__plan_device *device,
                         kiln__resolved *r, kiln_error *err);

#endif
