/*
 * scan.c - scans as plain C loops; see scan.h.
 */
#include "oracle/scan.h"

#include <string.h>

/* What a scan needs to know of the loop. */
typedef struct loop {
    host_array *const *in, *const *out;
    size_t in_count, out_count;
    int rank;
    const int64_t *shape;
    unsigned flags;
    const host_scanning *scanning;
} loop;

static void load(const loop *l, int64_t number, host_value *values)
{
    int64_t at[KILN_RANK_MAX];

    host_index(l->rank, l->shape, ~0u, number, at);
    for (size_t p = 0; p < l->in_count; p++)
        values[p] = host_load(l->in[p]->dtype, host_broadcast_at(l->in[p], l->rank, at));
}

static void tell(const loop *l, const host_state *state, int64_t number, int64_t place, int64_t n)
{
    host_value values[KILN_PARAM_MAX];

    for (size_t p = 0; p < l->out_count; p++)
        values[p] = host_load(l->out[p]->dtype, host_at(l->out[p], number));
    l->scanning->tell(state, place, n, values);
    for (size_t p = 0; p < l->out_count; p++)
        host_store(l->out[p]->dtype, host_at(l->out[p], number), values[p]);
}

/* `n` elements from C-order number `first` on, `step` apart. */
static void scan_sequence(const loop *l, int64_t first, int64_t step, int64_t n)
{
    host_state state;

    memset(&state, 0, sizeof state);
    for (int64_t k = 0; k < n; k++) {
        const int64_t place = (l->flags & KILN_SCAN_REVERSE) != 0 ? n - 1 - k : k;
        const int64_t number = first + place * step;
        host_value values[KILN_PARAM_MAX];

        load(l, number, values);
        if ((l->flags & KILN_SCAN_EXCLUSIVE) != 0)
            tell(l, &state, number, place, n);
        l->scanning->step(&state, values, place);
        if ((l->flags & KILN_SCAN_EXCLUSIVE) == 0)
            tell(l, &state, number, place, n);
    }
}

void host_scan(host_array *const *in, size_t in_count, host_array *const *out, size_t out_count,
               int rank, const int64_t *shape, int axis, unsigned flags,
               const host_scanning *scanning)
{
    const loop l = {in, out, in_count, out_count, rank, shape, flags, scanning};
    int64_t inner = 1, outer = 1, n = 1;

    for (int a = 0; a < rank; a++)
        *(axis == HOST_FLAT || a == axis ? &n : a < axis ? &outer : &inner) *= shape[a];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            scan_sequence(&l, o * n * inner + i, inner, n);
}

kiln_status host_scan_run(kiln_scan *op, int axis, unsigned flags, const kiln_arg *args,
                          size_t arg_count, kiln_error *err)
{
    const kiln_axes axes = {1, {axis}};
    kiln_scan_call_options options = KILN_SCAN_CALL_OPTIONS_INIT;

    options.axes = axis == HOST_FLAT ? KILN_ALL_AXES : &axes;
    options.flags = flags;
    return kiln_scan_run(op, args, arg_count, &options, err);
}

/* ---- scans that many tests use ---- */

static void add(host_state *state, const host_value *in, int64_t place)
{
    (void)place;
    state->v.re += in[0].re;
    state->v.im += in[0].im;
}

static void tell_sum(const host_state *state, int64_t place, int64_t n, host_value *out)
{
    (void)place;
    (void)n;
    out[0] = state->v;
}

static void step_ordered(host_state *state, const host_value *in, int64_t place)
{
    const uint32_t x = (uint32_t)(int64_t)in[0].re;

    (void)place;
    state->u = (uint32_t)((2 * x + 1) * (uint32_t)state->u + x + 3);
}

static void tell_ordered(const host_state *state, int64_t place, int64_t n, host_value *out)
{
    (void)n;
    out[0] = host_real((long double)((int64_t)state->u + place));
}

const host_scanning host_running_sum = {add, tell_sum};
const host_scanning host_ordered = {step_ordered, tell_ordered};

kiln_scan *host_ordered_create(test_env *t)
{
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *op = NULL;

    options.reduce_type = "affine";
    options.preamble = HOST_ORDERED_PREAMBLE;
    OK(t, kiln_scan_create(t->ctx, "T x", "int64 y", HOST_ORDERED_MAP, HOST_ORDERED_REDUCE,
                           HOST_ORDERED_POST, HOST_ORDERED_IDENTITY, &options, &op, &t->err));
    return op;
}
