/*
 * gpu_library_dry.c - cuBLAS and cuSOLVER for devices that are not there (src/device/dry.c): routines that do nothing,
 * need no workspace and succeed.
 *
 * The libraries are taken to be those of CUDA 13, which lack no routine that kiln asks for.
 */
#include "linalg/gpu_library.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define KILN_SOLVER(field, symbol, parameters)                                                     \
    static int cublas_##field parameters                                                           \
    {                                                                                              \
        return 0;                                                                                  \
    }
#define KILN_SOLVER4(field, s, d, c, z, parameters) KILN_SOLVER(field, s, parameters)
#include "linalg/cublas.def"
#undef KILN_SOLVER

#define KILN_SOLVER(field, symbol, parameters)                                                     \
    static int cusolver_##field parameters                                                         \
    {                                                                                              \
        return 0;                                                                                  \
    }
#include "linalg/cusolver.def"
#undef KILN_SOLVER
#undef KILN_SOLVER4

#define FOUR(routine)                                                                              \
    {                                                                                              \
        routine, routine, routine, routine                                                         \
    }

#define KILN_SOLVER(field, symbol, parameters) .field = cublas_##field,
#define KILN_SOLVER4(field, s, d, c, z, parameters) .field = FOUR(cublas_##field),
const kiln__cublas kiln__dry_cublas = {
#include "linalg/cublas.def"
};
#undef KILN_SOLVER
#undef KILN_SOLVER4

#define KILN_SOLVER(field, symbol, parameters) .field = cusolver_##field,
#define KILN_SOLVER4(field, s, d, c, z, parameters) .field = FOUR(cusolver_##field),
const kiln__cusolver kiln__dry_cusolver = {
#include "linalg/cusolver.def"
};
#undef KILN_SOLVER
#undef KILN_SOLVER4
