/*
 * internal.h - what the files of src/linalg that are made of products share with one another and with nobody
 * else.
 */
#ifndef KILN_LINALG_INTERNAL_H
#define KILN_LINALG_INTERNAL_H

#include "kiln/memory.h"
#include "linalg/linalg.h"

/* ---- tensor.c ---- */

/* Options of a caller's, of which only those of products without additions may be set; `function` is for
 * messages. */
kiln_status kiln__tensor_options(const char *function, const kiln_matmul_options *opts,
                                 kiln_matmul_options *out, kiln_error *err);

/* The number 1 of a dtype, as its bytes in memory. */
void kiln__tensor_one(kiln_dtype dtype, unsigned char out[16]);

/* `array` in another shape of equal size, C-order: a view, or a copy that is enqueued on `stream`. */
kiln_status kiln__tensor_reshape(const kiln_array *array, int rank, const int64_t *shape,
                                 kiln_stream *stream, kiln_array **out, kiln_error *err);

/* Give `made` to the caller: in `*out`, or into the array that is there. Takes `made` over, NULL is fine. */
kiln_status kiln__tensor_deliver(const char *function, kiln_array *made, kiln_stream *stream,
                                 kiln_array **out, kiln_error *err);
/* Give several results or none: all arrays of the caller's are looked at before the first is written. Takes them
 * over; NULL: no such result. */
kiln_status kiln__tensor_deliver_all(const char *function, kiln_array **made, int count,
                                     kiln_stream *stream, kiln_array **const *outs,
                                     kiln_error *err);

#endif
