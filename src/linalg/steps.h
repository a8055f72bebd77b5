/*
 * steps.h - functions that are made of others, a step after the other. Private to src/linalg.
 *
 *     norm.c, compose.c > [steps.c: what was made on the way] > kernels, products, solver.c
 *
 * Every array that a step makes belongs to the call, and is released at its end; a result is retained.
 */
#ifndef KILN_LINALG_STEPS_H
#define KILN_LINALG_STEPS_H

#include "kiln/eager.h"
#include "kiln/reduction.h"
#include "linalg/internal.h"

enum { KILN__STEPS_MAX = 64 };

typedef struct kiln__steps {
    const char *function;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_linalg_options o;                 /* with the stream */
    kiln_matmul_options product;           /* the same of products, */
    kiln_elementwise_call_options plain;   /* of operations, */
    kiln_reduction_call_options reduction; /* and of reductions, along `axes` */
    kiln_array *made[KILN__STEPS_MAX];
    int count;
} kiln__steps;

/* Check the operands of a public function (`b` may be NULL where it has one) and read its options. ERR_NULL and the
 * like. */
kiln_status kiln__steps_begin(kiln__steps *w, const char *function, const kiln_array *a, bool has_b,
                              const kiln_array *b, kiln_array **out,
                              const kiln_linalg_options *opts, kiln_error *err);
/* Release what was made, and on success give `result`, one of them or an operand, to the caller. Returns the status. */
kiln_status kiln__steps_end(kiln__steps *w, kiln_status status, kiln_array *result,
                            kiln_array **out, kiln_error *err);
/* Release what was made; returns the status. */
kiln_status kiln__steps_drop(kiln__steps *w, kiln_status status);
/* Where the next array is stored: an address that is NULL. */
kiln_array **kiln__steps_new(kiln__steps *w);
/* The array that was made last; places of those that are not made yet do not count, so that one call may take it and
 * a new place. */
static inline kiln_array *kiln__steps_last(const kiln__steps *w)
{
    int k = w->count - 1;

    while (w->made[k] == NULL)
        k--;
    return w->made[k];
}

/* Operations, whose result is kiln__steps_last(). */
kiln_status kiln__steps_op(kiln__steps *w, kiln_op op, const kiln_arg *args, size_t count,
                           kiln_error *err);
kiln_status kiln__steps_reduce(kiln__steps *w, kiln_reduce_op op, const kiln_array *x,
                               const kiln_axes *axes, bool keepdims, kiln_error *err);
kiln_status kiln__steps_multiply(kiln__steps *w, const kiln_array *a, const kiln_array *b,
                                 kiln_error *err);
kiln_status kiln__steps_cast(kiln__steps *w, const kiln_array *x, kiln_dtype dtype,
                             kiln_error *err);
/* The last two axes exchanged, and complex numbers conjugated. */
kiln_status kiln__steps_adjoint(kiln__steps *w, const kiln_array *x, kiln_error *err);

/* Kernels of one snippet. T is the dtype of the result; m and n are 64-bit integers, p to s numbers. */
typedef enum kiln__piece {
    KILN__PIECE_LOWER,    /* x: the lower triangle of matrices of m x n */
    KILN__PIECE_UPPER,    /* x: the upper one */
    KILN__PIECE_UNIT,     /* x: what lies below the diagonal, which is 1 */
    KILN__PIECE_IDENTITY, /* 1 in the diagonal */
    KILN__PIECE_TURN,     /* x, k: -x where the place is not k, from 1 */
    KILN__PIECE_SHIFT,    /* k: k + m */
    KILN__PIECE_ONE_HOT,  /* k: 1 in row k */
    KILN__PIECE_ROW_OF, /* k: n exchanges of rows, from 0, for m rows: which row each row holds then */
    KILN__PIECE_PLACE_OF,   /* the same reversed: where each row went */
    KILN__PIECE_ROWS,       /* x, k: the rows k of each matrix of m x n; both without gaps */
    KILN__PIECE_ELEMENTS,   /* x, k: the elements k of each vector of m; n vectors share a list k */
    KILN__PIECE_NAN,        /* x, k: of m elements each, p where k is not 0: NaN */
    KILN__PIECE_RECIPROCAL, /* x, z: 1 / x where x > p z, else 0; NaN stays */
    KILN__PIECE_COMBINE,    /* x, y, z: p x + q y + r z + s in the diagonal */
    KILN__PIECE_PRODUCT, /* x: the product of each n elements, whose exponent is kept apart: real */
    KILN__PIECE_PRODUCT_COMPLEX, /* and complex */
    KILN__PIECE_SCALE, /* x, z: x times a power of two that brings z near 1 where its exponent is beyond n of either
                          sign; p < 0: divided by it. Real */
    KILN__PIECE_SCALE_COMPLEX, /* and complex */
    KILN__PIECE_SCALE_UPPER, /* the same of the upper triangle alone, of matrices of q x m. Real */
    KILN__PIECE_SCALE_UPPER_COMPLEX, /* and complex */
    KILN__PIECE_ENDS, /* x: itself where it is below p or NaN; elsewhere x q, from 0.5 to 2^16: 2^e of what is to be
                         * scaled by 2^-e */
    KILN__PIECE_RESCALE, /* x, y, z: x times the power of two that y would be divided by, divided by that for z; all
                            three broadcast. Real */
    KILN__PIECE_RESCALE_COMPLEX, /* and complex */
    KILN__PIECES
} kiln__piece;

/* Arguments of a piece; those that it does not name are not read. */
typedef struct kiln__piece_arguments {
    const kiln_array *x, *y, *z, *places;
    int64_t m, n;
    double p, q, r, s;
} kiln__piece_arguments;

kiln_status kiln__piece_run(kiln__piece piece, const kiln__piece_arguments *a, kiln_array *out,
                            kiln_stream *stream, kiln_error *err);

#endif
