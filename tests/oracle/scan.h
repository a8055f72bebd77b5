/*
 * scan.h - scans as plain C loops over host_arrays; see host.h.
 *
 *     for every sequence: state = zeros; for every element in order: step, then tell
 *     (exclusive: tell, then step)
 *
 * Values travel as long double, integers that wrap as uint64_t. Nothing here asks kiln for a value.
 */
#ifndef KILN_TEST_SCAN_H
#define KILN_TEST_SCAN_H

#include "kiln/scan.h"
#include "oracle/reduce.h"

/* `in` holds one value of each input, `place` is the element's index along the axis. */
typedef void (*host_scan_step)(host_state *state, const host_value *in, int64_t place);
/* `n` is the axis' length; `out` has one value for each output, the old one at first. */
typedef void (*host_scan_tell)(const host_state *state, int64_t place, int64_t n, host_value *out);

typedef struct host_scanning {
    host_scan_step step;
    host_scan_tell tell;
} host_scanning;

/* All elements as one sequence in C-order. */
#define HOST_FLAT (-1)

/* Scan the inputs, broadcast to `shape`, along `axis`. Outputs have that shape, or are flat.
 * `flags` are kiln_scan_flags. */
void host_scan(host_array *const *in, size_t in_count, host_array *const *out, size_t out_count,
               int rank, const int64_t *shape, int axis, unsigned flags,
               const host_scanning *scanning);

/* kiln_scan_run() along an axis, or HOST_FLAT. */
kiln_status host_scan_run(kiln_scan *op, int axis, unsigned flags, const kiln_arg *args,
                          size_t arg_count, kiln_error *err);

/* y = sums of x; exclusive ones begin with 0. */
extern const host_scanning host_running_sum;

/* Steps of a linear recurrence modulo 2^32, which order matters to, as an expression of kiln:
 * s = (2x + 1) s + x + 3, begun with 0; y = s + place. */
#define HOST_ORDERED_PREAMBLE                                                                      \
    "struct affine { unsigned times, add; };\n"                                                    \
    "__device__ inline affine affine_of(int x) { return affine{2u * x + 1u, (unsigned)x + 3u}; "   \
    "}\n"                                                                                          \
    "__device__ inline affine affine_then(affine a, affine b)\n"                                   \
    "{ return affine{a.times * b.times, b.times * a.add + b.add}; }"
#define HOST_ORDERED_MAP "affine_of((int)x)"
#define HOST_ORDERED_REDUCE "affine_then(a, b)"
#define HOST_ORDERED_POST "y = a.add + _J"
#define HOST_ORDERED_IDENTITY "affine{1u, 0u}"
extern const host_scanning host_ordered;

/* The scan of the lines above: "T x" -> "int64 y". */
kiln_scan *host_ordered_create(test_env *t);

#endif
