/*
 * machine.c - beginning, end and comparison of the benchmark programs; see machine.h.
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static int refuse(machine *m, const char *why)
{
    printf("SKIP: %s\n", why);
    kiln_error_clear(&bench_err);
    kiln_context_release(m->ctx);
    return 77;
}

int machine_open(machine *m, machine_kind kind, const char *name, int argc, char **argv,
                 bench_file *file)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    const char *scale = bench_option(argc, argv, "scale");
    char file_name[64];
    kiln_array *any = NULL;

    memset(m, 0, sizeof *m);
    options.device = bench_option(argc, argv, "device");
    if (options.device == NULL)
        options.device = getenv("KILN_DEVICE") != NULL ? getenv("KILN_DEVICE") : "cuda";
    if (kiln_context_create(&options, &m->ctx, &bench_err) != KILN_OK)
        return refuse(m, bench_err.message);
    m->device = kiln_context_device(m->ctx);
    m->cuda = m->device->backend == KILN_BACKEND_CUDA;
    if (!m->cuda && kind == MACHINE_GPU)
        return refuse(m, "this measures GPUs; on the CPU there are bench_cpu, bench_cpu_reduce and "
                         "bench_graph");
    m->scale = scale != NULL && atoi(scale) > 0 ? atoi(scale) : 1;
    m->only = bench_option(argc, argv, "only");
    m->file = file;
    snprintf(file_name, sizeof file_name, "%s%s", name, m->cuda ? "" : "_cpu");
    bench_open(file, bench_option(argc, argv, "out"), file_name, bench_option(argc, argv, "commit"),
               m->device);
    if (m->cuda) {
        REQUIRE(kiln_array_ones(m->ctx, KILN_UINT8, 0, NULL, &any, &bench_err));
        kiln_array_release(any);
        m->stream = kiln_stream_native(m->ctx, NULL);
        gpu_open(m->device->ordinal);
    }
    return 0;
}

size_t machine_close(machine *m)
{
    kiln_context_release(m->ctx);
    return bench_close(m->file);
}

bool machine_wants(const machine *m, const char *name)
{
    return m->only == NULL || strncmp(name, m->only, strlen(m->only)) == 0;
}

void machine_tell_elements(const machine *m)
{
    bench_fact(m->file, "input_elements", m->scale == 1 ? "2^28" : "scaled down");
}

void machine_alternate(const machine *m, machine_work by_hand, machine_work kiln, void *argument,
                       double *limit_ms, double *kiln_ms)
{
    static void *events[2 * MACHINE_ROUNDS + 1];
    double ms[2][MACHINE_ROUNDS];

    for (size_t k = 0; k < COUNT(events); k++)
        if (events[k] == NULL)
            GPU(gpu.event_create(&events[k], 0));
    for (int k = 0; k < MACHINE_ROUNDS; k++) {
        GPU(gpu.event_record(events[2 * k], m->stream));
        by_hand(argument);
        GPU(gpu.event_record(events[2 * k + 1], m->stream));
        kiln(argument);
    }
    GPU(gpu.event_record(events[2 * MACHINE_ROUNDS], m->stream));
    GPU(gpu.event_synchronize(events[2 * MACHINE_ROUNDS]));
    for (int k = 0; k < 2 * MACHINE_ROUNDS; k++) {
        float v = 0;

        GPU(gpu.event_elapsed(&v, events[k], events[k + 1]));
        ms[k % 2][k / 2] = (double)v;
    }
    *limit_ms = bench_median(ms[0], MACHINE_ROUNDS);
    *kiln_ms = bench_median(ms[1], MACHINE_ROUNDS);
}

/* ---- against a limit ---- */

typedef struct sides {
    const machine *m;
    const limit_case *limit;
    const limit_kernel *by_hand;
    machine_work kiln;
    void *argument;
} sides;

static void side_by_hand(void *argument)
{
    const sides *s = argument;

    limit_launch(s->limit, s->by_hand, s->m->stream);
}

static void side_kiln(void *argument)
{
    const sides *s = argument;

    s->kiln(s->argument);
}

void machine_against_limit(const machine *m, const limit_case *limit, const limit_kernel *by_hand,
                           machine_work kiln, void *argument, double *limit_ms, double *kiln_ms)
{
    sides both = {m, limit, by_hand, kiln, argument};

    machine_alternate(m, side_by_hand, side_kiln, &both, limit_ms, kiln_ms);
}
