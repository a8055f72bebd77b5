/*
 * compile.c - from a request to the compiler of its backend.
 *
 *     jit -> [compile] -> cuda/nvrtc.c (NVRTC) | cpu/ (the system's C++ compiler)
 *
 * Needs no device and no driver: a build machine compiles for GPUs that it does not have.
 */
#include "device/backend.h"

static const kiln__backend *backend_of(kiln_backend kind)
{
    return kind == KILN_BACKEND_CUDA ? &kiln__backend_cuda : &kiln__backend_cpu;
}

kiln_status kiln__compiler_identity(kiln_backend backend, const char **id_out, kiln_error *err)
{
    *id_out = NULL;
    return backend_of(backend)->compiler_identity(id_out, err);
}

const char *kiln__compiler_faults(kiln_backend backend)
{
    return backend_of(backend)->compiler_faults;
}

void kiln__compiler_key(kiln_backend backend, kiln__buf *key)
{
    backend_of(backend)->compiler_key(key);
}

const char *const *kiln__compiler_include_dirs(kiln_backend backend)
{
    return backend_of(backend)->compiler_include_dirs();
}

bool kiln__compiler_looks_further(kiln_backend backend)
{
    return backend_of(backend)->compiler_looks_further();
}

kiln_status kiln__compile(const kiln__compile_request *request, kiln__compile_result *result,
                          kiln_error *err)
{
    *result = (kiln__compile_result)KILN__COMPILE_RESULT_INIT;
    KILN_CHECK(
        kiln__options_check(request->target.backend, request->options, request->option_count, err));
    return backend_of(request->target.backend)->compile(request, result, err);
}

size_t kiln__compiler_targets(kiln_backend backend, kiln__target *targets, size_t capacity)
{
    return backend_of(backend)->compiler_targets(targets, capacity);
}
