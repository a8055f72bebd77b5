/*
 * resolve.h - a call on its way to a recipe. Private to src/kernel.
 *
 *     [count > check arrays > bind types > broadcast] > plan > recipe
 *
 * What all families do alike with their arguments.
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
    int order[KILN_RANK_MAX];     /* of the axes of outputs that are allocated with that shape */
    bool along[KILN_RANK_MAX];    /* axes along which elements meet */
    uint8_t row[KILN_PARAM_MAX];  /* kiln__shape_of, of outputs. The shape of results: */
    int row_rank;
    int64_t row_shape[KILN_RANK_MAX];
    int64_t spread[KILN_RANK_MAX]; /* that shape with all axes of the loop: 1 on those `along` */
    bool flat;                     /* or a result is an axis of all elements, in C-order */
    /* Strides of outputs along the loop's axes, where they are not the array's own. */
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

/* A scalar's kind as types are bound: a uint that fits int64 is an int. */
static inline uint8_t kiln__scalar_kind(const kiln_arg *arg)
{
    return arg->kind == KILN_ARG_UINT && arg->value.u <= INT64_MAX ? KILN_ARG_INT
                                                                   : (uint8_t)arg->kind;
}

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

/* Mark in r->along which of the loop's axes `axes` names (NULL: all). ERR_ARGUMENT, ERR_AXIS. */
kiln_status kiln__read_axes(const kiln__definition *d, const kiln_axes *axes, kiln__resolved *r,
                            kiln_error *err);
/* The shape of results of the axes that r->along marks: extent 1 there under keepdims, otherwise without
 * those axes. */
void kiln__decide_results(kiln__resolved *r, bool keepdims);

/* Whether the array given for output `p` has its shape and can be written. ERR_OUTPUT. */
kiln_status kiln__check_output(const kiln__definition *d, const kiln__resolved *r, size_t p,
                               kiln_error *err);

/* Decide all of a call whose arrays and dtypes are in `r`: shapes, outputs, the plan. */
kiln_status kiln__decide(const kiln__definition *d, const kiln__call *call,
                         const kiln__family_calls *calls, const kiln__plan_device *device,
                         kiln__resolved *r, kiln_error *err);

#endif
