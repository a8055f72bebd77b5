/*
 * reader.h - the best hand-written kernel that reads memory and writes nothing: the limit of
 * reductions.
 *
 * Front to back, 16 bytes at a time; several numbers of accesses in flight, block sizes and grids
 * are tried, and the fastest is kept.
 */
#ifndef KILN_BENCH_READER_H
#define KILN_BENCH_READER_H

#include <stdint.h>

#include "kiln/kiln.h"

typedef struct reader {
    void *module, *function;
    unsigned grid, block;
    char note[64]; /* which variant it is */
} reader;

/* Try all variants on `stream`; the fastest stays loaded. */
void reader_find(const kiln_device_info *device, void *stream, const void *data, int64_t bytes,
                 reader *best);
void reader_launch(const reader *r, const void *data, int64_t bytes, void *stream);

#endif
