/*
 * product_tune.c - which of several algorithms of cuBLASLt is the fastest for a product, by measuring.
 *
 *     algorithms of the heuristic > [each: once unmeasured, then some times] > the fastest
 *
 * The operands are those of the call, because an algorithm's time depends on where they lie; the result goes to
 * memory that is not the caller's. The host waits for the stream between two measurements.
 */
#include <math.h>

#include "linalg/gpu_library.h"

enum { RUNS_MAX = 20 };
#define MEASURED_US 2000.0 /* for each algorithm, about */

static kiln_status run_once(const kiln__lt_call *c, const kiln__lt_heuristic *found,
                            void *workspace, int *result_out)
{
    *result_out =
        c->lt->matmul(c->handle, c->desc, c->alpha, c->a, c->layout[0], c->b, c->layout[1], c->beta,
                      c->c != NULL ? c->c : c->d, c->layout[2], c->d, c->layout[3], &found->algo,
                      workspace, found->workspace_bytes, kiln__stream_native(c->stream));
    return *result_out == KILN__LT_SUCCESS ? KILN_OK : KILN_ERR_DRIVER;
}

/* Microseconds of one run; an algorithm that fails takes forever. Statuses are those of the stream. */
static kiln_status measure(const kiln__lt_call *c, const kiln__lt_heuristic *found, void *workspace,
                           double *us_out, kiln_error *err)
{
    int result = KILN__LT_SUCCESS, runs = 1;
    double begin = 0, once = 0;

    *us_out = INFINITY;
    for (int warm = 0; warm < 2; warm++) { /* the first run may load the kernel */
        begin = kiln__now_us();
        if (run_once(c, found, workspace, &result) != KILN_OK)
            return KILN_OK;
        KILN_CHECK(kiln__stream_synchronize(c->stream, err));
        once = kiln__now_us() - begin;
    }
    if (once < MEASURED_US)
        runs = once * RUNS_MAX < MEASURED_US ? RUNS_MAX : (int)(MEASURED_US / once);
    begin = kiln__now_us();
    for (int k = 0; k < runs; k++)
        if (run_once(c, found, workspace, &result) != KILN_OK)
            return KILN_OK;
    KILN_CHECK(kiln__stream_synchronize(c->stream, err));
    *us_out = (kiln__now_us() - begin) / runs;
    return KILN_OK;
}

kiln_status kiln__lt_fastest(kiln__device *device, const kiln__lt_call *call, size_t d_bytes,
                             const kiln__lt_heuristic *found, int count, int *best_out,
                             kiln_error *err)
{
    kiln__block *result = NULL, *workspace = NULL;
    kiln__lt_call c = *call;
    double best = INFINITY, us = 0;
    size_t most = 0;
    kiln_status status = KILN_OK;

    *best_out = 0;
    for (int k = 0; k < count; k++)
        if (found[k].state == KILN__LT_SUCCESS && found[k].workspace_bytes > most)
            most = found[k].workspace_bytes;
    KILN_TRY(kiln__pool_alloc(device, d_bytes, c.stream, &result, err));
    if (most > 0)
        KILN_TRY(kiln__pool_alloc(device, most, c.stream, &workspace, err));
    c.d = result->address;
    for (int k = 0; k < count; k++) {
        if (found[k].state != KILN__LT_SUCCESS)
            continue;
        KILN_TRY(measure(&c, &found[k], workspace != NULL ? workspace->address : NULL, &us, err));
        if (us < best) {
            best = us;
            *best_out = k;
        }
    }

done:
    kiln__pool_free(device, workspace, NULL, 0);
    kiln__pool_free(device, result, NULL, 0);
    return status;
}
