/*
 * dense.h - factorisations of one matrix on the host, by a LAPACK or by kiln itself. Private to src/linalg.
 *
 *     solver.c > [dense.c: LAPACK where it is there, else dense_type.h] > numbers
 *
 * A matrix has its columns one behind the other, without gaps. `pivots` are LAPACK's: row k was exchanged with
 * row pivots[k] - 1.
 */
#ifndef KILN_LINALG_DENSE_H
#define KILN_LINALG_DENSE_H

#include "linalg/linalg.h"

/* Whether there are routines for it: float32, float64, complex64, complex128. */
bool kiln__dense_takes(kiln_dtype dtype);

/* Whether a matrix of n rows is for kiln's own loops, which threads may run at once. */
bool kiln__dense_is_small(int64_t n);

/* a = P L U in place, of m x n; min(m, n) pivots. The first pivot that is 0, counted from 1; 0 where all is well. */
int64_t kiln__dense_lu(kiln_dtype dtype, int64_t m, int64_t n, void *a, int32_t *pivots);

/* b = inverse(P L U) b; `columns` of them. */
void kiln__dense_lu_solve(kiln_dtype dtype, int64_t n, int64_t columns, const void *lu,
                          const int32_t *pivots, void *b);

/* The product of the diagonal of an LU, as a sign (of absolute value 1, or 0) and the logarithm of its absolute
 * value. `sign` is of `dtype`, `log` of its real dtype; `det`, if not NULL, is the product itself. */
void kiln__dense_lu_det(kiln_dtype dtype, int64_t n, const void *lu, const int32_t *pivots,
                        void *sign, void *log, void *det);

/* a = L L^H, of the lower triangle, in place; zeros above. The first column (from 1) whose leading minor is not
 * positive; 0 where all is well. */
int64_t kiln__dense_cholesky(kiln_dtype dtype, int64_t n, void *a);

/* a = L D L^H of a Hermitian matrix, whose lower triangle is read; `a` is used up. `d` has blocks of 1 x 1 and 2 x 2 in
 * its diagonal. L is a lower triangle, with ones in its diagonal, whose rows are mixed: row k of it would be row
 * places[k] of the triangle, counted from 0. */
void kiln__dense_ldl(kiln_dtype dtype, int64_t n, void *a, int32_t *pivots, void *l, void *d,
                     int64_t *places);

/* b = inverse(triangle of a) b. The first diagonal element (from 1) that is 0; 0 where all is well. */
int64_t kiln__dense_triangular(kiln_dtype dtype, bool upper, int64_t n, int64_t columns,
                               const void *a, void *b);

/* a = Q R: `columns` of Q (min(m, n) or m), as many rows of R; `a` is used up. `scales` is room for min(m, n)
 * elements. */
void kiln__dense_qr(kiln_dtype dtype, int64_t m, int64_t n, int64_t columns, void *a, void *q,
                    void *r, void *scales);

/* Eigenvalues of a Hermitian matrix, rising, and its vectors; `a` is used up. False where they do not converge:
 * so with the singular values a = U S V^H, falling, of which min(m, n) are made; `full`: U and V^H are square. */
bool kiln__dense_eigh(kiln_dtype dtype, int64_t n, void *a, void *values, void *vectors);
bool kiln__dense_svd(kiln_dtype dtype, int64_t m, int64_t n, bool full, void *a, void *u, void *s,
                     void *vh);

/* The same of any square complex matrix; `vectors` may be NULL. False without a LAPACK, too. */
bool kiln__dense_eig(kiln_dtype dtype, int64_t n, void *a, void *values, void *vectors);

/* One triangle becomes the conjugate of the other, which counts; the diagonal becomes real. */
void kiln__dense_mirror(kiln_dtype dtype, bool upper, int64_t n, void *a);
/* The unit matrix; NaN everywhere. */
void kiln__dense_identity(kiln_dtype dtype, int64_t n, void *a);
void kiln__dense_nan(kiln_dtype dtype, int64_t count, void *a);

#endif
