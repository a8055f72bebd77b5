/*
 * request.h - a kernel asked for in text: a definition, its arguments, and the source that comes
 * of it. For tests of what is generated, which need no device.
 *
 *     name axpy                          one line a fact; empty lines and lines with # are skipped
 *     in T x, raw T y, float32 a
 *     out T z
 *     preamble / loop_prep / op / after_loop TEXT    given again: one line more
 *     map / reduce / post / identity / reduce_type TEXT    of a reduction
 *     axes 0 2                           makes it one: those to reduce, `-` for none
 *     scan 1 exclusive reverse           or makes it a scan: the axis, `-` for all, and flags
 *     filter                             or makes it a filter, with the texts where, op, otherwise
 *     option -DN=4
 *     keep_axes
 *     backend cuda                       or cpu
 *     shape 64 128                       of the loop; none for rank 0
 *     arg float32 64x128 512,4 @0        dtype, shape, byte strides, address; one a parameter
 *     arg float32 scalar
 *
 * Outputs of a reduction have extent 1 on the axes that are reduced.
 */
#ifndef KILN_TEST_REQUEST_H
#define KILN_TEST_REQUEST_H

#include "codegen/codegen.h"

enum { REQUEST_TEXT_MAX = 4096, REQUEST_OPTIONS_MAX = 8, REQUEST_UNITS = 132 };

typedef struct request {
    kiln__definition *def;
    kiln__plan plan;
    kiln__source source;
    kiln_dtype dtypes[KILN_PARAM_MAX];
    char why[512]; /* what went wrong */
} request;

/* Read `text` up to a line "----" or its end, plan and emit. `backend` 0: as the text says. False
 * with `why` set when something is amiss. Call request_clear() in any case. */
bool request_emit(request *r, const char *text, int backend);
void request_clear(request *r);

#endif
