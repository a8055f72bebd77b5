/*
 * indexing.h - the one door of src/indexing: elements that arrays of indices or masks choose.
 *
 *     array, mask > [kernels kept by the context] > the elements chosen, and how many they are
 *     array, subscripts, values > [views, places, sorted] > the array, changed
 *
 * masks.c        where masks are true and arrays not zero; values into such places
 * subscript.c    subscripts by what stands in the brackets; whether index arrays stand together
 * report.c       what kernels report indices out of range to
 * unique.c       distinct elements; unique_rows.c: the same in graphs, and of parts along an axis
 * convolve.c     sums over a window that slides
 * scatter.c      x[i] = v and sums at indices, in place; scatter_run.c: its kernels,
 *                scatter_cpu.c: without sorting, scatter_few.c: at few places on CUDA devices
 * scattered.c    the same in graphs
 *
 * What takes elements by indices is in src/graph (take.c), because a graph does it.
 *
 * Uses ops, sorting, kernel and what they use.
 */
#ifndef KILN_INDEXING_INDEXING_H
#define KILN_INDEXING_INDEXING_H

#include "array/array.h"
#include "kernel/kernel.h"
#include "kiln/indexing.h"
#include "kiln/select.h"
#include "sorting/sorting.h"

/* Whether something stands between two index arrays of a list of subscripts, be it an empty `...`; numbers
 * count as index arrays, as they do beside some. The kinds stand `stride_bytes` apart. (subscript.c) */
bool kiln__subscripts_apart(const kiln_subscript_kind *kind, size_t stride_bytes, size_t count);

/* An array over the memory that kernels of the context's device report to. (report.c) */
kiln_status kiln__report_array(kiln_context *ctx, kiln_array **out, kiln_error *err);

/* What functions of masks give. */
typedef enum kiln__chooser {
    KILN__CHOOSE_MASKED,   /* elements where a mask is true */
    KILN__CHOOSE_FLAT,     /* numbers in C-order of elements that are not zero */
    KILN__CHOOSE_ONE_AXIS, /* the same of an array with one axis */
    KILN__CHOOSE_ROWS,     /* a row of indices for each of them */
    KILN__CHOOSE_BOTH      /* elements where a mask is true, and all others */
} kiln__chooser;

/* The values that such a function gives of an array, with room for all. ERR_AXIS. (masks.c) */
kiln_status kiln__choose_infer(kiln__chooser what, const kiln_array *const *operands,
                               kiln_dtype *dtype, int *rank, int64_t *shape, kiln_error *err);
/* Into outs[0], and their number into outs[1], all others into the next two; `operands` are the
 * array and, where there is one, the mask, of its shape or that of its first axes. `stream` NULL:
 * the context's own. */
kiln_status kiln__choose_into(kiln__chooser what, const kiln_array *const *operands,
                              kiln_stream *stream, kiln_array **outs, kiln_error *err);

/* How often each distinct element or part occurs, and the number of each element's: from the
 * places, in a sorted order, at which equal ones begin. (unique.c) */
extern const kiln__kept_texts kiln__unique_counts, kiln__unique_inverse;

/* unique() as a step of graphs. `data`: the axis, and which results are wanted beside the first
 * two; the others have no elements. The results are how many there are, and with room for all where
 * each stands first; for each element, or each part along the axis, the number of its equal; and
 * how often each occurs. (unique_rows.c) */
#define KILN__UNIQUE_ALL INT64_MIN
enum { KILN__UNIQUE_WANTS_INVERSE = 1, KILN__UNIQUE_WANTS_COUNTS = 2 };
enum { KILN__UNIQUE_COUNT, KILN__UNIQUE_FIRST, KILN__UNIQUE_INVERSE, KILN__UNIQUE_COUNTS };
/* The axis from the first on, -1: none; how many elements or parts the array has. ERR_AXIS. */
kiln_status kiln__unique_infer(const kiln_array *x, const int64_t *data, int *axis_out,
                               int64_t *count_out, kiln_error *err);
kiln_status kiln__unique_into(const kiln_array *x, const int64_t *data, kiln_stream *stream,
                              kiln_array **outs, kiln_error *err);

/* kiln_array_place() into a copy, as a step of graphs; `operands` are the array, the mask and
 * values of the array's dtype. (masks.c) */
kiln_status kiln__place_infer(const kiln_array *const *operands, kiln_error *err);
kiln_status kiln__place_into(const kiln_array *const *operands, kiln_stream *stream,
                             kiln_array *out, kiln_error *err);

/* ---- scatters in graphs (scattered.c) -------------------------------------------------------- */

/* Which elements a call changes. */
typedef enum kiln__scatter_form {
    KILN__SCATTER_AT,   /* those of subscripts */
    KILN__SCATTER_FLAT, /* those that indices count in C-order */
    KILN__SCATTER_ALONG /* those that indices name along an axis */
} kiln__scatter_form;

/* What a call is given. */
typedef struct kiln__scatter_request {
    kiln__scatter_form form;
    kiln_array *array;
    const kiln_array *from; /* what the array is set to first; NULL: it is changed as it is */
    kiln_arg values;
    kiln_scatter what;
    const kiln_subscript *subscripts; /* AT */
    size_t count;
    const kiln_array *indices; /* the other forms */
    int axis;                  /* ALONG */
} kiln__scatter_request;

enum {
    KILN__SCATTER_SUBSCRIPTS = 64,
    KILN__SCATTER_TEXT_WORDS = 64,
    KILN__SCATTER_NUMBERS = 6 + 4 * KILN__SCATTER_SUBSCRIPTS + KILN__SCATTER_TEXT_WORDS
};

/* A request without its arrays as numbers, at most KILN__SCATTER_NUMBERS; how many they are, 0 for
 * too many subscripts or too long a text. */
size_t kiln__scatter_numbers(const kiln__scatter_request *r, const kiln_scatter_options *opts,
                             int64_t *data);
/* The result for operands x, values and index arrays, of which dtypes and shapes are read.
 * ERR_DTYPE. */
kiln_status kiln__scatter_infer(const kiln_array *const *operands, size_t count,
                                const int64_t *data, kiln_dtype *dtype, int *rank, int64_t *shape,
                                kiln_error *err);
kiln_status kiln__scatter_into(const kiln_array *const *operands, const int64_t *data,
                               kiln_stream *stream, kiln_array *out, kiln_error *err);

/* convolve() and correlate() of vectors as steps of graphs: the result's dtype and size, and the
 * call. `mode` is a kiln_slide_mode; `out` is an array of these. (convolve.c) */
kiln_status kiln__slide_infer(bool correlate, const kiln_array *a, const kiln_array *v,
                              int64_t mode, kiln_dtype *dtype, int64_t *count, kiln_error *err);
kiln_status kiln__slide_into(bool correlate, const kiln_array *a, const kiln_array *v, int64_t mode,
                             kiln_stream *stream, kiln_array *out, kiln_error *err);

#endif
