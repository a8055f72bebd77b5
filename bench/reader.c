/*
 * reader.c - write, try and keep the fastest reading kernel; see reader.h.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpu.h"

static const char *const reader_source =
    "extern \"C\" __global__ void read(const uint4 *p, long long n, uint4 *never)\n"
    "{\n"
    "    uint4 s = make_uint4(0, 0, 0, 0);\n"
    "    const long long step = (long long)gridDim.x * blockDim.x;\n"
    "    long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (; k + (DEPTH - 1) * step < n; k += DEPTH * step) {\n"
    "        uint4 v[DEPTH];\n"
    "#pragma unroll\n"
    "        for (int d = 0; d < DEPTH; d++) v[d] = __ldcs(p + k + d * step);\n"
    "#pragma unroll\n"
    "        for (int d = 0; d < DEPTH; d++) {\n"
    "            s.x ^= v[d].x; s.y ^= v[d].y; s.z ^= v[d].z; s.w ^= v[d].w;\n"
    "        }\n"
    "    }\n"
    "    for (; k < n; k += step) s.x ^= p[k].x ^ p[k].y ^ p[k].z ^ p[k].w;\n"
    "    if ((s.x ^ s.y ^ s.z ^ s.w) == 0x9e3779b9u) *never = s;\n"
    "}\n";

void reader_launch(const reader *r, const void *data, int64_t bytes, void *stream)
{
    const void *p = data;
    void *never = (void *)(uintptr_t)data;
    long long n = bytes / 16;
    void *params[] = {&p, &n, &never};

    GPU(gpu.launch(r->function, r->grid, 1, 1, r->block, 1, 1, 0, stream, params, NULL));
}

static double event_ms(const reader *r, const void *data, int64_t bytes, void *stream)
{
    enum { TRIES = 7 };
    static void *events[TRIES + 1];
    double ms[TRIES];

    for (size_t k = 0; k <= TRIES; k++)
        if (events[k] == NULL)
            GPU(gpu.event_create(&events[k], 0));
    for (int k = 0; k <= TRIES; k++) {
        GPU(gpu.event_record(events[k], stream));
        if (k < TRIES)
            reader_launch(r, data, bytes, stream);
    }
    GPU(gpu.event_synchronize(events[TRIES]));
    for (int k = 0; k < TRIES; k++) {
        float v = 0;
        GPU(gpu.event_elapsed(&v, events[k], events[k + 1]));
        ms[k] = (double)v;
    }
    return bench_median(ms, TRIES);
}

void reader_find(const kiln_device_info *device, void *stream, const void *data, int64_t bytes,
                 reader *best)
{
    static const int depths[] = {2, 4, 8, 16};
    static const unsigned blocks[] = {128, 256, 512}, waves[] = {1, 2, 4, 8, 32};
    double least = 0;

    memset(best, 0, sizeof *best);
    for (size_t d = 0; d < COUNT(depths); d++) {
        char source[2048];
        size_t cubin_bytes = 0;
        reader r = {0};
        bool keep = false;

        snprintf(source, sizeof source, "#define DEPTH %d\n%s", depths[d], reader_source);
        char *cubin = gpu_compile(source, device->target, &cubin_bytes, NULL);
        GPU(gpu.module_load(&r.module, cubin));
        free(cubin);
        r.function = gpu_function(r.module, "read");
        for (size_t b = 0; b < COUNT(blocks); b++)
            for (size_t w = 0; w < COUNT(waves); w++) {
                r.block = blocks[b];
                r.grid = (unsigned)device->unit_count * waves[w] * (1024 / blocks[b]);
                double ms = event_ms(&r, data, bytes, stream);
                if (least == 0 || ms < least) {
                    if (best->module != NULL && best->module != r.module)
                        GPU(gpu.module_unload(best->module));
                    least = ms;
                    *best = r;
                    keep = true;
                    snprintf(best->note, sizeof best->note, "%d deep, %u x %u", depths[d], r.grid,
                             r.block);
                }
            }
        if (!keep)
            GPU(gpu.module_unload(r.module));
    }
}
