/*
 * outlet.c - the kernels that the lines of a manifest lead to, each handed out once, and the
 * devices for which they are planned: GPUs and CPUs of all sizes. dry_run.c, expand.c and
 * expression.c call it. Test: test_warm_runs.
 */
#include "warm/expression.h"

enum {
    UNITS_MIN = 6, /* the fewest multiprocessors of a GPU since sm_75; their number is even */
    UNITS_MAX = 256,
    THREADS_FINE = 64, /* every number of threads up to here, then steps of eight */
    THREADS_STEP = 8
};

kiln_status kiln__hand_out(kiln__outlet *to, const void *identity, size_t bytes,
                           const kiln__definition *def, const kiln__variant *variant)
{
    bool is_new = false;

    if (kiln__map_enter(&to->done, identity, bytes, &is_new) == NULL)
        return kiln__fail_memory(to->err, bytes);
    return is_new ? to->fn(to->user, def, variant, to->err) : KILN_OK;
}

bool kiln__warm_device(kiln_backend backend, size_t nth, kiln__plan_device *out)
{
    const bool cuda = backend == KILN_BACKEND_CUDA;
    const size_t sizes = cuda ? (UNITS_MAX - UNITS_MIN) / 2 + 1
                              : THREADS_FINE + (UNITS_MAX - THREADS_FINE) / THREADS_STEP;
    const int size = (int)(nth % sizes);

    *out = (kiln__plan_device){
        .backend = backend, .clusters = nth >= sizes, .large_shared = nth >= 2 * sizes};
    if (cuda)
        out->units = UNITS_MIN + 2 * size;
    else
        out->units = size < THREADS_FINE ? size + 1
                                         : THREADS_FINE + (size + 1 - THREADS_FINE) * THREADS_STEP;
    return nth < (cuda ? 3 * sizes : sizes);
}
