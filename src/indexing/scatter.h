/*
 * scatter.h - one call that scatters. Private to src/indexing.
 */
#ifndef KILN_INDEXING_SCATTER_H
#define KILN_INDEXING_SCATTER_H

#include "indexing/indexing.h"

/* The values of an element are combined in chunks of so many: what results depend on, on every device. */
enum { KILN__SCATTER_CHUNK = 128 };

/* One call. Arrays are counted. */
typedef struct kiln__scattering {
    const char *name;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_scatter what;
    kiln_scatter_options o;
    const kiln_array *from; /* what the array is set to first; NULL: it is changed as it is */
    kiln_array *whole;      /* the array that is given */
    kiln_array *target;     /* a view of it with the indexed axes first */
    kiln_array *values; /* of the axes that indices broadcast to, then those that are not indexed */
    kiln_array *index[KILN_RANK_MAX]; /* as given */
    int axis[KILN_RANK_MAX];
    int index_count;
    int rank; /* what the indices broadcast to */
    int64_t shape[KILN_RANK_MAX], count;
    int64_t row; /* elements of the target for each place */
    kiln_array *report;
} kiln__scattering;

/* Do it. Nothing is written before all is checked. (scatter.c) */
kiln_status kiln__scatter_do(const kiln__scatter_request *r, const kiln_scatter_options *opts,
                             kiln_error *err);

/* `x` itself or a copy without gaps, made on `stream`. (scatter_run.c) */
kiln_status kiln__scatter_dense(kiln_array *x, kiln_stream *stream, kiln_array **out,
                                kiln_error *err);
/* Enqueue the kernels of a call whose arrays are complete. */
kiln_status kiln__scatter_run(kiln__scattering *s, kiln_error *err);

/* Whether values are better combined without sorted places, and that: `places` of so many values, `none` for one that has
 * no place, change `target`, which has no gaps, as `values` have none. (scatter_cpu.c) */
bool kiln__scatter_suits_cpu(const kiln__scattering *s);
/* Whether the indices may then be such places as they are given: what names no element is reported. */
bool kiln__scatter_takes_indices(const kiln__scattering *s);
kiln_status kiln__scatter_cpu(const kiln__scattering *s, const kiln_array *target,
                              const kiln_array *places, const kiln_array *values, int64_t none,
                              kiln_error *err);
/* Whether there are so few places (`none` in all) and so many values that blocks add them up first; and that, of sums
 * that have one instruction, with places of values, `none` for those that have none. (scatter_few.c) */
bool kiln__scatter_has_few(const kiln__scattering *s, int64_t none);
kiln_status kiln__scatter_few(const kiln__scattering *s, const kiln_array *places, int64_t none,
                              kiln_error *err);

/* What put_along_axis() wants of axes: ERR_AXIS, ERR_SHAPE. (scatter.c) */
kiln_status kiln__scatter_check_along(int rank, int indices, int64_t axis, kiln_error *err);

#endif
