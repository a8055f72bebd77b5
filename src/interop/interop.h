/*
 * interop.h - the one door of src/interop: arrays of other libraries, without a copy.
 *
 *     DLPack structs, array interfaces <-> [interop] <-> kiln_array
 *
 * dlpack.c     DLPack's two structs, both ways
 * interface.c  the array interfaces of NumPy and CUDA, as data
 * foreign.c    what both need: wrapping memory that is described by elements and strides, and order
 *              between streams of kiln and of others
 *
 * Uses array, kernel (for copies) and what they use.
 */
#ifndef KILN_INTEROP_INTEROP_H
#define KILN_INTEROP_INTEROP_H

#include "array/array.h"
#include "kernel/kernel.h"
#include "kiln/dlpack.h"

/* Memory of somebody else, checked by kiln__foreign_wrap(). */
typedef struct kiln__foreign {
    kiln_dtype dtype;
    int rank;
    const int64_t *shape;
    const int64_t *strides; /* bytes; NULL: C-order */
    void *data;             /* first element */
    bool read_only;
    intptr_t stream;      /* KILN_DLPACK_STREAM_NO_SYNC: nothing to wait for */
    bool ordered_release; /* as in kiln_dlpack_options */
    kiln_release_fn release;
    void *owner;
} kiln__foreign;

/* An array over the memory; the context's own stream waits for `stream`. Never calls `release` when
 * it fails. */
kiln_status kiln__foreign_wrap(kiln_context *ctx, const kiln__foreign *foreign, kiln_array **out,
                               kiln_error *err);

/* Let `stream` (as in kiln_dlpack_options) wait for all work on the array's memory. */
kiln_status kiln__foreign_order(const kiln_array *array, intptr_t stream, kiln_error *err);

#endif
