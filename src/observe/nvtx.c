/*
 * nvtx.c - labels and calls as ranges of NVTX, for tools that listen (Nsight Systems).
 *
 *     device -> [push, pop] -> the tool, through NVTX's header
 *
 * NVTX 3 is a header: it loads the tool that $NVTX_INJECTION64_PATH names, when its first function is
 * called, and nothing else. A build for which the header was not found has no ranges.
 */
#include "observe/observe.h"

#ifdef KILN_HAS_NVTX

#include <nvtx3/nvToolsExt.h>

static void see(void *user, const kiln_observation *what)
{
    const char *const kernel = what->kernel != NULL ? what->kernel : "";

    (void)user;
    if (what->kind == KILN_OBSERVED_SCOPE_BEGIN)
        (void)nvtxRangePushA(what->scope->label);
    else if (what->kind == KILN_OBSERVED_CALL_BEGIN)
        (void)nvtxRangePushA(kernel);
    else
        (void)nvtxRangePop();
}

bool kiln__nvtx_create(kiln__ready *out)
{
    *out = (kiln__ready){
        .kinds = KILN_OBSERVE(KILN_OBSERVED_SCOPE_BEGIN) | KILN_OBSERVE(KILN_OBSERVED_SCOPE_END) |
                 KILN_OBSERVE(KILN_OBSERVED_CALL_BEGIN) | KILN_OBSERVE(KILN_OBSERVED_CALL_END),
        .see = see};
    return true;
}

#else

bool kiln__nvtx_create(kiln__ready *out)
{
    (void)out;
    return false;
}

#endif
