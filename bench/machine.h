/*
 * machine.h - how a benchmark program begins and ends, and how it compares two kernels.
 *
 * The programs share their options:
 *
 *     --out DIR        where the result file goes; without it figures are only printed
 *     --commit ID      the commit that the file names; without it git is asked
 *     --device ID      else $KILN_DEVICE, else "cuda"
 *     --only PREFIX    only cases whose name begins so
 *     --scale N        divide sizes by N, for a quick look
 */
#ifndef KILN_BENCH_MACHINE_H
#define KILN_BENCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "limits.h"

enum { MACHINE_ROUNDS = 31 }; /* how often machine_alternate() runs each side */

typedef struct machine {
    kiln_context *ctx;
    const kiln_device_info *device;
    bool cuda;
    void *stream;     /* the context's own CUstream; NULL on the cpu device */
    int64_t scale;    /* sizes are divided by this; at least 1 */
    const char *only; /* run cases whose name begins so; NULL: all */
    bench_file *file;
} machine;

typedef enum machine_kind {
    MACHINE_GPU, /* a GPU or nothing */
    MACHINE_ANY
} machine_kind;

/* Read the options, open the device and the result file NAME.json (NAME_cpu.json on the cpu
 * device). On a GPU kiln has then compiled something and gpu_open() is done, so that both use one
 * NVRTC. Returns 0, or 77 when there is no such device, which has been said. */
int machine_open(machine *m, machine_kind kind, const char *name, int argc, char **argv,
                 bench_file *file);

/* Release the context and close the file. Returns how many rows missed their target. */
size_t machine_close(machine *m);

/* Does --only let this case run? */
bool machine_wants(const machine *m, const char *name);

/* The fact "2^28", or that sizes were divided. */
void machine_tell_elements(const machine *m);

typedef void (*machine_work)(void *argument);

/* Run `by_hand` and `kiln` alternately, back to back on the machine's stream, MACHINE_ROUNDS times
 * each; the medians of the times between events, in milliseconds. Both receive `argument`; both
 * should have run before. */
void machine_alternate(const machine *m, machine_work by_hand, machine_work kiln, void *argument,
                       double *limit_ms, double *kiln_ms);

/* The same against the best hand-written kernel of a case, which limit_find() has found. */
void machine_against_limit(const machine *m, const limit_case *limit, const limit_kernel *by_hand,
                           machine_work kiln, void *argument, double *limit_ms, double *kiln_ms);

#endif
