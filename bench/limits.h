/*
 * limits.h - the best hand-written kernel that moves the same bytes.
 *
 * A "stream" is one operand read or written once, front to back. A limit kernel reads some streams
 * and writes others, does next to nothing in between, and is written, compiled and launched as a
 * careful CUDA programmer would for exactly this case: types of up to 16 bytes, 1 to 4 accesses of
 * each stream in flight in a thread, blocks of 256 to 1024 threads, with and without the hint that
 * data is not used again. All of these are tried and the fastest is the limit.
 */
#ifndef KILN_BENCH_LIMITS_H
#define KILN_BENCH_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define LIMIT_STREAMS_MAX 12

/* Reads come first. `width` is what a thread takes of a stream in one access: 1, 2, 4, 8 or 16
 * bytes; all streams have the same number of accesses. */
typedef struct limit_case {
    size_t read_count, write_count;
    uint8_t width[LIMIT_STREAMS_MAX];
    void *address[LIMIT_STREAMS_MAX];
    int64_t accesses; /* of each stream; a multiple of 4096 */
} limit_case;

/* A variant of a case, ready to launch. */
typedef struct limit_kernel {
    void *module, *function;
    unsigned grid, block;
    char note[64]; /* which variant it is */
} limit_kernel;

/* Try all variants on `stream` and keep the fastest. */
void limit_find(const limit_case *c, const char *target, void *stream, limit_kernel *out);
void limit_launch(const limit_case *c, const limit_kernel *kernel, void *stream);
void limit_end(limit_kernel *kernel);

#endif
