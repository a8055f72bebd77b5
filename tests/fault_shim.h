/*
 * fault_shim.h - what a test asks of fault_shim.c, a module that is preloaded before libc.
 *
 * A test program that needs it starts itself again with the module preloaded (fault_shim_enter) and
 * then finds these functions by name (fault_shim()): it is not linked to them.
 */
#ifndef KILN_TESTS_FAULT_SHIM_H
#define KILN_TESTS_FAULT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instead of an errno value: reads and writes do half of what was asked, all else works. */
#define FAULT_SHORT (-1)

typedef struct fault_plan {
    const char *call; /* "openat", "write", ...; NULL for any */
    unsigned nth;     /* the first call that fails, from 0 */
    unsigned times;   /* how many fail from there on */
    int error;        /* errno, or FAULT_SHORT */
} fault_plan;

/* Calls into libc that kiln must not make where it promises so; since the last arm(). */
typedef struct fault_counts {
    uint64_t calls;  /* matching the plan */
    uint64_t locks;  /* of mutexes and read-write locks */
    uint64_t allocs; /* malloc, calloc, realloc, aligned ones; 0 under a sanitizer */
} fault_counts;

typedef struct fault_functions {
    /* Count from 0, and let calls fail from now on, in all threads of this process. */
    void (*arm)(const fault_plan *plan);
    fault_counts (*disarm)(void);
    /* The call that failed last, or "". */
    const char *(*failed)(void);
    /* What fstatfs says the file system is; 0 for the truth. */
    void (*set_file_system)(uint64_t magic);
} fault_functions;

/* NULL when the module is not preloaded. */
const fault_functions *fault_shim(void);

/* Start the program again with the module preloaded, which lies beside it; returns once it is, or
 * false with a message when that is not possible here. */
bool fault_shim_enter(char **argv);

#endif
