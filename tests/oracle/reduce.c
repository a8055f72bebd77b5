/*
 * reduce.c - reductions as plain C loops; see reduce.h.
 */
#include "oracle/reduce.h"

#include <math.h>
#include <string.h>

int host_reduced_shape(int rank, const int64_t *shape, unsigned axes, bool keepdims,
                       int64_t *shape_out)
{
    int left = 0;

    for (int axis = 0; axis < rank; axis++)
        if (!(axes >> axis & 1u))
            shape_out[left++] = shape[axis];
        else if (keepdims)
            shape_out[left++] = 1;
    return left;
}

kiln_status host_run(kiln_reduction *op, const kiln_axes *axes, bool keepdims, const kiln_arg *args,
                     size_t arg_count, kiln_error *err)
{
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;

    options.axes = axes;
    options.keepdims = keepdims;
    return kiln_reduction_run(op, args, arg_count, &options, err);
}

/* Step the index over the axes of the set in C-order; false after the last one. */
static bool next_in(unsigned axes, int rank, const int64_t *shape, int64_t *at)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (!(axes >> axis & 1u))
            continue;
        if (++at[axis] < shape[axis])
            return true;
        at[axis] = 0;
    }
    return false;
}

static int64_t size_over(unsigned axes, int rank, const int64_t *shape)
{
    int64_t size = 1;

    for (int axis = 0; axis < rank; axis++)
        if (axes >> axis & 1u)
            size *= shape[axis];
    return size;
}

/* One result: everything at `at` over the reduced axes. */
static host_state reduce_one(host_array *const *in, size_t in_count, int rank, const int64_t *shape,
                             unsigned axes, int64_t *at, host_step step)
{
    host_state state;
    int64_t position = 0;

    memset(&state, 0, sizeof state);
    if (size_over(axes, rank, shape) == 0)
        return state;
    do {
        host_value values[KILN_PARAM_MAX];

        for (size_t p = 0; p < in_count; p++)
            values[p] = host_load(in[p]->dtype, host_broadcast_at(in[p], rank, at));
        step(&state, values, position++);
    } while (next_in(axes, rank, shape, at));
    return state;
}

void host_reduce(host_array *const *in, size_t in_count, host_array *const *out, size_t out_count,
                 int rank, const int64_t *shape, unsigned axes, const host_reduction *reduction)
{
    unsigned kept = HOST_ALL_AXES(rank) & ~axes;
    int64_t at[KILN_RANK_MAX] = {0};
    int64_t position = 0, n = size_over(axes, rank, shape);

    if (size_over(kept, rank, shape) == 0)
        return;
    do {
        host_value values[KILN_PARAM_MAX];
        host_state state = reduce_one(in, in_count, rank, shape, axes, at, reduction->step);

        memset(values, 0, sizeof values);
        reduction->finish(&state, n, values);
        for (size_t p = 0; p < out_count; p++)
            host_store(out[p]->dtype, host_at(out[p], position), values[p]);
        position++;
    } while (next_in(kept, rank, shape, at));
}

/* ---- reductions that many tests use ---- */

static void add(host_state *state, const host_value *in, int64_t position)
{
    (void)position;
    state->v.re += in[0].re;
    state->v.im += in[0].im;
}

static void add_square(host_state *state, const host_value *in, int64_t position)
{
    (void)position;
    state->v.re += in[0].re * in[0].re;
}

static void tell(const host_state *state, int64_t n, host_value *out)
{
    (void)n;
    out[0] = state->v;
}

static void tell_root(const host_state *state, int64_t n, host_value *out)
{
    (void)n;
    out[0] = host_real(sqrtl(state->v.re));
}

const host_reduction host_sum = {add, tell};
const host_reduction host_sum_squares = {add_square, tell};
const host_reduction host_l2 = {add_square, tell_root};
