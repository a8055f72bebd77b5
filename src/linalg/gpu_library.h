/*
 * gpu_library.h - cuBLASLt, cuBLAS and cuSOLVER as the files of this folder see them. Private to src/linalg.
 *
 * Own declarations instead of NVIDIA's headers, for the reasons of src/device/cuda/driver.h: kiln builds on a
 * machine without a toolkit, and one binary serves versions 12 and 13.
 */
#ifndef KILN_LINALG_GPU_LIBRARY_H
#define KILN_LINALG_GPU_LIBRARY_H

#include "linalg/linalg.h"

typedef struct kiln__lt_handle_st *kiln__lt_handle;
typedef struct kiln__lt_layout_st *kiln__lt_layout;
typedef struct kiln__lt_desc_st *kiln__lt_desc;
typedef struct kiln__lt_preference_st *kiln__lt_preference;

/* cublasLtMatmulAlgo_t: to be handed back as it came. */
typedef struct kiln__lt_algo {
    uint64_t data[8];
} kiln__lt_algo;

/* cublasLtMatmulHeuristicResult_t */
typedef struct kiln__lt_heuristic {
    kiln__lt_algo algo;
    size_t workspace_bytes;
    int state; /* a status: whether the rest is valid */
    float waves;
    int reserved[4];
} kiln__lt_heuristic;

/* Statuses, types, operations, kinds of computation and attributes, by the names of NVIDIA's headers. */
enum {
    KILN__LT_SUCCESS = 0,
    KILN__LT_ALLOC_FAILED = 3,
    KILN__LT_NOT_SUPPORTED = 15,

    KILN__LT_R_32F = 0,
    KILN__LT_R_64F = 1,
    KILN__LT_R_16F = 2,
    KILN__LT_R_8I = 3,
    KILN__LT_C_32F = 4,
    KILN__LT_C_64F = 5,
    KILN__LT_R_32I = 10,
    KILN__LT_R_16BF = 14,
    KILN__LT_R_8F_E4M3 = 28,
    KILN__LT_R_8F_E5M2 = 29,

    KILN__LT_COMPUTE_32F = 68,
    KILN__LT_COMPUTE_64F = 70,
    KILN__LT_COMPUTE_32I = 72,
    KILN__LT_COMPUTE_32F_FAST_16F = 74,
    KILN__LT_COMPUTE_32F_FAST_16BF = 75,
    KILN__LT_COMPUTE_32F_FAST_TF32 = 77,
    KILN__LT_COMPUTE_32F_EMULATED_16BFX9 = 78,

    KILN__LT_OP_T = 1,
    KILN__LT_DESC_TRANSA = 3,
    KILN__LT_DESC_TRANSB = 4,
    KILN__LT_DESC_EPILOGUE = 7,
    KILN__LT_DESC_BIAS_POINTER = 8,

    KILN__LT_EPILOGUE_DEFAULT = 1,
    KILN__LT_EPILOGUE_RELU = 2,
    KILN__LT_EPILOGUE_BIAS = 4,
    KILN__LT_EPILOGUE_GELU = 32,

    KILN__LT_LAYOUT_BATCH_COUNT = 5,
    KILN__LT_LAYOUT_BATCH_STEP = 6,

    KILN__LT_PREFERENCE_WORKSPACE = 1,
    KILN__LT_PREFERENCE_ALIGNMENT_A = 5, /* then those of B, C and D */
};

typedef struct kiln__lt {
#define KILN_LT(type, field, symbol, parameters) type(*field) parameters;
#include "linalg/cublaslt.def"
#undef KILN_LT
} kiln__lt;

/* A product as the library is asked for it. */
typedef struct kiln__lt_call {
    const kiln__lt *lt;
    kiln__lt_handle handle;
    kiln__lt_desc desc;
    kiln__lt_layout layout[4]; /* of a, b, c and d */
    const void *alpha, *beta, *a, *b;
    const void *c; /* NULL: what is computed into */
    void *d;
    kiln_stream *stream;
} kiln__lt_call;

/* Which of `count` algorithms takes the least time, into memory of `d_bytes` instead of `call->d`. Waits for the
 * stream. (product_tune.c) */
kiln_status kiln__lt_fastest(kiln__device *device, const kiln__lt_call *call, size_t d_bytes,
                             const kiln__lt_heuristic *found, int count, int *best_out,
                             kiln_error *err);

/* cuSOLVER and cuBLAS; their status 0 is success. */
typedef struct kiln__solver_handle_st *kiln__solver_handle;
typedef struct kiln__cublas_handle_st *kiln__cublas_handle;

enum {
    KILN__SOLVER_ALLOC_FAILED = 2,
    KILN__SOLVER_LOWER = 0, /* parts of a matrix */
    KILN__SOLVER_UPPER = 1,
    KILN__SOLVER_VECTORS = 1,
};

#define KILN_SOLVER(field, symbol, parameters) int(*field) parameters;
#define KILN_SOLVER4(field, s, d, c, z, parameters) int(*field[KILN__BLAS_DTYPES]) parameters;
typedef struct kiln__cusolver {
#include "linalg/cusolver.def"
} kiln__cusolver;
typedef struct kiln__cublas {
#include "linalg/cublas.def"
} kiln__cublas;
#undef KILN_SOLVER
#undef KILN_SOLVER4

/* What stands for them on a device that is not there. (gpu_library_dry.c) */
extern const kiln__cublas kiln__dry_cublas;
extern const kiln__cusolver kiln__dry_cusolver;

/* A library, loaded at the first call: its version is one that the driver of `device` runs. ERR_UNSUPPORTED, in
 * the name of the public function `caller`. */
kiln_status kiln__lt_get(kiln__device *device, const kiln__lt **out, kiln_error *err);
kiln_status kiln__cublas_get(const char *caller, kiln__device *device, const kiln__cublas **out,
                             kiln_error *err);
kiln_status kiln__cusolver_get(const char *caller, kiln__device *device, const kiln__cusolver **out,
                               kiln_error *err);

#endif
