/*
 * fake_cuda.h - what a test sees of the driver in fake_cuda.c, besides its CUDA functions.
 *
 * The fake has four GPUs: 0 and 3 are usable (sm_90), 1 is too old (sm_61), 2 is prohibited. Their
 * memory is host memory. It does nothing before it must: copies and kernels are queued, and run
 * when somebody waits for their stream, or when `eager` is set. It is as strict as a driver may
 * be: a call on the wrong current context fails, and host memory is read only when the copy runs.
 */
#ifndef KILN_TESTS_FAKE_CUDA_H
#define KILN_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_cuda {
    /* Set by the test. */
    int version;         /* what cuDriverGetVersion tells */
    int init_result;     /* what cuInit returns */
    int gpu_count;       /* at most 4 */
    size_t memory_bytes; /* of each GPU */
    long fail_after;     /* calls until one fails, -1: never */
    int fail_result;     /* with this */
    bool eager;          /* run everything at once */
    bool capturing;      /* every stream is being captured */
    bool any_module;     /* load whatever looks like a cubin; its kernels do nothing */
    int multiprocessors; /* of each GPU */
    int capability;      /* of the GPUs that are not too old: 90 for 9.0 */
    int shared_most;     /* bytes of shared memory that a block may have */
    const char *const *kernels; /* with any_module: names of those there are, ended by NULL; or NULL: all */
    size_t param_count, param_offset[32], param_bytes[32]; /* of each kernel, as cuFuncGetParamInfo tells */
    int max_threads, static_shared, blocks_per_unit; /* of each kernel */
    const char *jit_log;       /* what cuModuleLoadDataEx refuses an image with; NULL: it loads */
    const char *symbol;        /* the variable of each module, of this size */
    size_t symbol_bytes;
    int spoiled_captures;      /* so many of the next captures are spoiled by another thread */
    /* Looked at by the test. */
    long captures;
    long calls;
    long late_calls; /* after the driver's own exit handler */
    long refused; /* calls with arguments that the driver does not take */
    long contexts, streams, events, blocks, host_blocks, modules; /* alive */
    long async_blocks; /* those of `blocks` that are of the driver's own pool */
    size_t allocated_bytes;
    unsigned grid[3], block, shared_bytes; /* of the last launch */
    unsigned stream_flags, event_flags;    /* of the last one made */
    int stream_priority;                   /* of the last one made */
    int shared_allowed;                    /* by cuFuncSetAttribute */
    bool large_clusters;                   /* the same */
    unsigned block_yz[2], cluster[3];      /* of the last launch; no cluster: zeros */
    bool cooperative, programmatic;
    long launches;
    const void *stream;
    unsigned char params[512]; /* of the last launch, at their offsets */
    char function[128];        /* the last one that was found */
    size_t image_bytes;        /* of a PTX text that was loaded */
    int memory_policy;         /* of the thread that asked for page-locked memory last */
} fake_cuda;

/* Between the files of the fake; the first is what a test asks for. */
__attribute__((visibility("default"))) fake_cuda *fake_cuda_control(void);
int fake_cuda_enter(void); /* what a call returns before it does anything */
void fake_cuda_record(void **params);

/* A "cubin" of the fake begins with this; its kernels are "fill" and "fault". */
#define FAKE_CUDA_IMAGE "FAKECUBIN"

/* What "fill" takes: write `value` to `count` bytes from `to` on. */
typedef struct fake_fill_args {
    unsigned char *to;
    size_t count;
    unsigned char value;
} fake_fill_args;

#endif
