/*
 * reduce.h - reductions as plain C loops over host_arrays; see host.h.
 *
 *     for every kept index: state = zeros; for every reduced index in C-order: step; then finish
 *
 * Values travel as long double, which adds up thousands of elements of any dtype without an error
 * that a float64 could see. Nothing here asks kiln for a value.
 */
#ifndef KILN_TEST_REDUCE_H
#define KILN_TEST_REDUCE_H

#include "kiln/reduction.h"
#include "oracle/host.h"

/* What a reduction has seen so far. All zeros at first; each function uses the members it likes. */
typedef struct host_state {
    host_value v, w;
    uint64_t u; /* integers that wrap */
    int64_t index;
    int64_t count;
} host_state;

/* `in` holds one value of each input, `position` is the place along the reduced axes. */
typedef void (*host_step)(host_state *state, const host_value *in, int64_t position);
/* `n` is how many elements there were; `out` has one value for each output. */
typedef void (*host_finish)(const host_state *state, int64_t n, host_value *out);

typedef struct host_reduction {
    host_step step;
    host_finish finish;
} host_reduction;

/* Axes to reduce, as a set: bit a stands for axis a. */
#define HOST_ALL_AXES(rank) ((1u << (rank)) - 1u)

/* The shape that is left; returns its rank. */
int host_reduced_shape(int rank, const int64_t *shape, unsigned axes, bool keepdims,
                       int64_t *shape_out);

/* Reduce the inputs, broadcast to `shape`, over `axes`. The outputs have the shape that is left,
 * with or without the reduced axes. */
void host_reduce(host_array *const *in, size_t in_count, host_array *const *out, size_t out_count,
                 int rank, const int64_t *shape, unsigned axes, const host_reduction *reduction);

/* kiln_reduction_run() with axes and keepdims, on the context's own stream. */
kiln_status host_run(kiln_reduction *op, const kiln_axes *axes, bool keepdims, const kiln_arg *args,
                     size_t arg_count, kiln_error *err);

/* sum of the first input; sum of its squares, and their root. */
extern const host_reduction host_sum, host_sum_squares, host_l2;

#endif
