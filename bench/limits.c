/*
 * limits.c - write, try and keep the fastest streaming kernel; see limits.h.
 */
#define _GNU_SOURCE
#include "limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpu.h"

enum { SOURCE_BYTES = 1 << 18, TRIES = 9 };

typedef struct text {
    char *at;
    size_t used;
} text;

static void put(text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    t->used += (size_t)vsnprintf(t->at + t->used, SOURCE_BYTES - t->used, fmt, ap);
    va_end(ap);
    if (t->used >= SOURCE_BYTES) {
        fprintf(stderr, "a limit kernel's source is too long\n");
        exit(1);
    }
}

static const int unrolls[] = {1, 2, 4};
static const int blocks[] = {256, 512, 1024};

/* Words of 32 bits (or the narrower type) that one access of `width` bytes is made of. */
static const char *type_of(int width)
{
    switch (width) {
    case 1:
        return "unsigned char";
    case 2:
        return "unsigned short";
    case 4:
        return "unsigned";
    case 8:
        return "uint2";
    default:
        return "uint4";
    }
}

static void put_sum(text *t, int width, const char *name)
{
    if (width <= 4)
        put(t, "(unsigned)%s", name);
    else if (width == 8)
        put(t, "%s.x + %s.y", name, name);
    else
        put(t, "%s.x + %s.y + %s.z + %s.w", name, name, name, name);
}

/* Component `part` ("", ".x", ...) of every read of the same width, ORed: bits as regular as those
 * read, as a kernel's results are. */
static bool put_or(text *t, const limit_case *c, int width, int u, const char *part)
{
    bool any = false;

    for (size_t k = 0; k < c->read_count; k++) {
        if (c->width[k] != width)
            continue;
        put(t, "%sa%zu_%d%s", any ? " | " : "", k, u, part);
        any = true;
    }
    return any;
}

static void put_value(text *t, const limit_case *c, int width, int u)
{
    static const char *const parts[] = {".x", ".y", ".z", ".w"};
    const char *type = type_of(width);

    if (width <= 4) {
        put(t, "(%s)(", type);
        if (!put_or(t, c, width, u, ""))
            put(t, "s & 0x07070707u");
        put(t, ")");
        return;
    }
    put(t, width == 8 ? "make_uint2(" : "make_uint4(");
    for (int k = 0; k < width / 4; k++) {
        put(t, k == 0 ? "" : ", ");
        if (!put_or(t, c, width, u, parts[k]))
            put(t, "s & 0x07070707u");
    }
    put(t, ")");
}

/* One variant: all loads of `unroll` accesses come before the first store. */
static void put_kernel(text *t, const limit_case *c, int unroll, int block, bool hint)
{
    size_t streams = c->read_count + c->write_count;

    put(t, "extern \"C\" __global__ void __launch_bounds__(%d) k%d_%d_%d(", block, unroll, block,
        (int)hint);
    for (size_t k = 0; k < streams; k++)
        put(t, "%s%s *p%zu, ", k < c->read_count ? "const " : "", type_of(c->width[k]), k);
    put(t, "long long n)\n{\n    long long i = blockIdx.x * %lldll + threadIdx.x;\n",
        (long long)unroll * block);
    for (int u = 0; u < unroll; u++)
        for (size_t k = 0; k < c->read_count; k++)
            put(t,
                hint ? "    %s a%zu_%d = __ldcs(p%zu + i + %d);\n"
                     : "    %s a%zu_%d = p%zu[i + %d];\n",
                type_of(c->width[k]), k, u, k, u * block);
    for (int u = 0; u < unroll; u++) {
        put(t, "    {\n        unsigned s = 1u");
        for (size_t k = 0; k < c->read_count; k++) {
            char name[32];

            snprintf(name, sizeof name, "a%zu_%d", k, u);
            put(t, " + ");
            put_sum(t, c->width[k], name);
        }
        put(t, ";\n");
        for (size_t k = c->read_count; k < streams; k++) {
            put(t, hint ? "        __stcs(p%zu + i + %d, " : "        *(p%zu + i + %d) = (", k,
                u * block);
            put_value(t, c, c->width[k], u);
            put(t, ");\n");
        }
        put(t, "    }\n");
    }
    put(t, "}\n\n");
}

static char *make_source(const limit_case *c)
{
    text t = {malloc(SOURCE_BYTES), 0};

    if (t.at == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    for (size_t u = 0; u < COUNT(unrolls); u++)
        for (size_t b = 0; b < COUNT(blocks); b++)
            for (int hint = 0; hint < 2; hint++)
                put_kernel(&t, c, unrolls[u], blocks[b], hint != 0);
    return t.at;
}

void limit_launch(const limit_case *c, const limit_kernel *kernel, void *stream)
{
    void *params[LIMIT_STREAMS_MAX + 1];
    long long n = c->accesses;
    size_t streams = c->read_count + c->write_count;
    void *addresses[LIMIT_STREAMS_MAX];

    for (size_t k = 0; k < streams; k++) {
        addresses[k] = c->address[k];
        params[k] = &addresses[k];
    }
    params[streams] = &n;
    GPU(gpu.launch(kernel->function, kernel->grid, 1, 1, kernel->block, 1, 1, 0, stream, params,
                   NULL));
}

/* Median time of one variant. Another kernel runs before each timed launch, as when it is measured
 * beside kiln later: back to back, streaming hints look up to 9 % faster than they are. */
static double try_variant(const limit_case *c, const limit_kernel *kernel,
                          const limit_kernel *between, void *stream)
{
    static void *events[2 * TRIES];
    double ms[TRIES];

    for (int k = 0; k < 2 * TRIES; k++)
        if (events[k] == NULL)
            GPU(gpu.event_create(&events[k], 0));
    for (int k = 0; k < TRIES; k++) {
        limit_launch(c, between, stream);
        GPU(gpu.event_record(events[2 * k], stream));
        limit_launch(c, kernel, stream);
        GPU(gpu.event_record(events[2 * k + 1], stream));
    }
    GPU(gpu.event_synchronize(events[2 * TRIES - 1]));
    for (int k = 0; k < TRIES; k++) {
        float v = 0;

        GPU(gpu.event_elapsed(&v, events[2 * k], events[2 * k + 1]));
        ms[k] = (double)v;
    }
    return bench_median(ms, TRIES);
}

void limit_find(const limit_case *c, const char *target, void *stream, limit_kernel *out)
{
    char *source = make_source(c), *cubin = gpu_compile(source, target, NULL, NULL);
    limit_kernel plain;
    double best = 0;

    memset(out, 0, sizeof *out);
    GPU(gpu.module_load(&out->module, cubin));
    plain = *out;
    plain.function = gpu_function(out->module, "k1_256_0");
    plain.block = 256;
    plain.grid = (unsigned)(c->accesses / 256);
    for (size_t u = 0; u < COUNT(unrolls); u++)
        for (size_t b = 0; b < COUNT(blocks); b++)
            for (int hint = 0; hint < 2; hint++) {
                limit_kernel candidate = *out;
                char name[64];
                double ms;

                snprintf(name, sizeof name, "k%d_%d_%d", unrolls[u], blocks[b], hint);
                candidate.function = gpu_function(out->module, name);
                candidate.block = (unsigned)blocks[b];
                candidate.grid = (unsigned)(c->accesses / (unrolls[u] * blocks[b]));
                snprintf(candidate.note, sizeof candidate.note, "%d x %d bytes, block %d%s",
                         unrolls[u], c->width[0], blocks[b], hint ? ", streaming hints" : "");
                ms = try_variant(c, &candidate, &plain, stream);
                if (best == 0 || ms < best) {
                    best = ms;
                    out->function = candidate.function;
                    out->block = candidate.block;
                    out->grid = candidate.grid;
                    memcpy(out->note, candidate.note, sizeof out->note);
                }
            }
    free(cubin);
    free(source);
}

void limit_end(limit_kernel *kernel)
{
    if (kernel->module != NULL)
        GPU(gpu.module_unload(kernel->module));
    memset(kernel, 0, sizeof *kernel);
}
