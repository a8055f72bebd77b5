/*
 * rows.h - row programs as plain C loops over host_arrays, and the definitions they belong to.
 *
 *     host_rows() computes what a definition means in float64; host_close() compares with what the
 *     device made of it, guard bytes included.
 */
#ifndef KILN_TEST_ROWS_H
#define KILN_TEST_ROWS_H

#include "kiln/row.h"
#include "oracle/host.h"

/* One row: `in` holds n values of each input. `elements` has n places, `row` those of the outputs
 * per row. */
typedef void (*host_row_function)(const double *const *in, int64_t n, double *elements,
                                  double *row);

/* A definition and its meaning. */
typedef struct row_definition {
    const char *name;
    const char *in, *out, *row_out;
    kiln_row_stage stages[3];
    size_t stage_count;
    kiln_row_value values[2];
    size_t value_count;
    const char *op, *row_post;
    size_t input_count;
    host_row_function meaning;
} row_definition;

typedef enum row_kind {
    ROW_SOFTMAX,     /* T x -> T y */
    ROW_LOG_SOFTMAX, /* T x -> T y */
    ROW_LAYER_NORM,  /* T x, T w, T b -> T y; w and b per column */
    ROW_RMS_NORM,    /* T x, T w -> T y */
    ROW_STANDARDISE, /* T x -> T y, by a struct accumulator and one stage without identity */
    ROW_COSINE,      /* T x, T y -> per row float64 c */
    ROW_ONLINE,      /* T x -> T y: softmax by one stage of the library's accumulator */
    ROW_MOMENTS,     /* T x -> T y: standardise, likewise */
    ROW_KINDS
} row_kind;

extern const row_definition row_definitions[ROW_KINDS];
extern const char row_preamble[]; /* of all of them */

kiln_row *row_make(test_env *t, row_kind kind);

/* Compute `elements` (may be NULL) and `row` (may be NULL) from the inputs, broadcast to `shape`,
 * over the axes in the set `axes`. */
void host_rows(row_kind kind, host_array *const *in, host_array *elements, host_array *row,
               int rank, const int64_t *shape, unsigned axes);

/* Fetch the device's storage of `a` and compare: elements within absolute + relative * |want|, all
 * other bytes exactly. */
void host_close(test_env *t, const host_array *a, double absolute, double relative,
                const char *what);

/* Run on the context's own stream. */
kiln_status row_run(kiln_row *op, unsigned axes, bool keepdims, const kiln_arg *args,
                    size_t arg_count, kiln_error *err);

/* Fitting tolerance for results of around 1 in a dtype. */
double row_tolerance(kiln_dtype dtype);

#endif
