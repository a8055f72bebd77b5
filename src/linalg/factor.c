/*
 * factor.c - QR factors, eigenvalues of Hermitian matrices, singular values, and what is made of them: what is
 * done with one matrix.
 */
#include <float.h>
#include <math.h>

#include "linalg/solver.h"

static int64_t short_side(const kiln__solver *s)
{
    return s->m < s->n ? s->m : s->n;
}

/* ---- QR -------------------------------------------------------------------------------------- */

static void shape_qr(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->m, short_side(s), false);
    kiln__solver_shape(s, 1, short_side(s), s->n, false);
}

static int64_t run_qr(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->m, s->n, w->buffer[0]);
    kiln__dense_qr(s->dtype, s->m, s->n, w->buffer[0], w->buffer[1], w->buffer[2], w->buffer[3]);
    kiln__solver_scatter(s, 0, nth, s->m, w->buffer[1]);
    kiln__solver_scatter(s, 1, nth, short_side(s), w->buffer[2]);
    return 0;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

static void shape_eigh(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, -1, true);
    kiln__solver_shape(s, 1, s->n, s->n, false);
}

/* One triangle is read; the other is its conjugate. */
static int64_t run_eigh(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    kiln__dense_mirror(s->dtype, s->o.upper, s->n, w->buffer[0]);
    if (!kiln__dense_eigh(s->dtype, s->n, w->buffer[0], w->buffer[2], w->buffer[1]))
        return 1;
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[2]);
    if (s->task->result_count > 1)
        kiln__solver_scatter(s, 1, nth, s->n, w->buffer[1]);
    return 0;
}

/* ---- singular values ------------------------------------------------------------------------- */

static void shape_svd(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->m, short_side(s), false);
    kiln__solver_shape(s, 1, short_side(s), -1, true);
    kiln__solver_shape(s, 2, short_side(s), s->n, false);
}

static void shape_svdvals(kiln__solver *s)
{
    kiln__solver_shape(s, 0, short_side(s), -1, true);
}

/* U into buffer 1, values into buffer 2, V^H into buffer 3. */
static bool decompose(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->m, s->n, w->buffer[0]);
    return kiln__dense_svd(s->dtype, s->m, s->n, w->buffer[0], w->buffer[1], w->buffer[2],
                           w->buffer[3]);
}

static int64_t run_svd(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    if (!decompose(s, nth, w))
        return 1;
    kiln__solver_scatter(s, 0, nth, s->m, w->buffer[1]);
    kiln__solver_scatter(s, 1, nth, short_side(s), w->buffer[2]);
    kiln__solver_scatter(s, 2, nth, short_side(s), w->buffer[3]);
    return 0;
}

static int64_t run_svdvals(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    if (!decompose(s, nth, w))
        return 1;
    kiln__solver_scatter(s, 0, nth, short_side(s), w->buffer[2]);
    return 0;
}

/* ---- least squares --------------------------------------------------------------------------- */

static void shape_pinv(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->m, false);
}

static void shape_lstsq(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->columns, false);
}

/* Singular values below this fraction of the largest count as 0. NumPy's defaults: 15 digits less than one for
 * pinv, the rounding of the larger side for lstsq. */
static double tolerance_of(const kiln__solver *s, bool pinv)
{
    const double epsilon = s->real == KILN_FLOAT32 ? FLT_EPSILON : DBL_EPSILON;

    if (s->tolerance >= 0)
        return s->tolerance;
    return pinv ? 1e-15 : epsilon * (double)(s->m > s->n ? s->m : s->n);
}

/* Of shape n x m; buffer 0 is free by then. */
static int64_t run_pinv(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    if (!decompose(s, nth, w))
        return 1;
    kiln__dense_pinv(s->dtype, s->m, s->n, tolerance_of(s, true), w->buffer[1], w->buffer[2],
                     w->buffer[3], w->buffer[0]);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[0]);
    return 0;
}

static int64_t run_lstsq(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const int64_t columns = s->columns < 0 ? 1 : s->columns;

    if (!decompose(s, nth, w))
        return 1;
    kiln__dense_pinv(s->dtype, s->m, s->n, tolerance_of(s, false), w->buffer[1], w->buffer[2],
                     w->buffer[3], w->buffer[0]);
    kiln__solver_gather(s, &s->layout.b, nth, s->m, columns, w->buffer[1]);
    kiln__dense_multiply(s->dtype, s->n, s->m, columns, w->buffer[0], w->buffer[1], w->buffer[2]);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[2]);
    return 0;
}

#define EIGEN "has eigenvalues that did not converge"
#define SINGULAR_VALUES "has singular values that did not converge"

static const kiln__solver_task qr = {.name = "qr",
                                     .result_count = 2,
                                     .shape = shape_qr,
                                     .run = run_qr,
                                     .why = "",
                                     .cuda = kiln__cuda_qr};
static const kiln__solver_task eigh = {.name = "eigh",
                                       .square = true,
                                       .result_count = 2,
                                       .shape = shape_eigh,
                                       .run = run_eigh,
                                       .why = EIGEN,
                                       .cuda = kiln__cuda_eigh};
static const kiln__solver_task eigvalsh = {.name = "eigvalsh",
                                           .square = true,
                                           .result_count = 1,
                                           .shape = shape_eigh,
                                           .run = run_eigh,
                                           .why = EIGEN,
                                           .cuda = kiln__cuda_eigh};
static const kiln__solver_task svd = {.name = "svd",
                                      .result_count = 3,
                                      .shape = shape_svd,
                                      .run = run_svd,
                                      .why = SINGULAR_VALUES,
                                      .cuda = kiln__cuda_svd};
static const kiln__solver_task svdvals = {.name = "svdvals",
                                          .result_count = 1,
                                          .shape = shape_svdvals,
                                          .run = run_svdvals,
                                          .why = SINGULAR_VALUES,
                                          .cuda = kiln__cuda_svd};
static const kiln__solver_task pinv = {.name = "pinv",
                                       .result_count = 1,
                                       .shape = shape_pinv,
                                       .run = run_pinv,
                                       .why = SINGULAR_VALUES};
static const kiln__solver_task lstsq = {.name = "lstsq",
                                        .has_right_side = true,
                                        .result_count = 1,
                                        .shape = shape_lstsq,
                                        .run = run_lstsq,
                                        .why = SINGULAR_VALUES};

/* ---- the public functions -------------------------------------------------------------------- */

kiln_status kiln_linalg_qr(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **q_out,
                           kiln_array **r_out, kiln_error *err)
{
    kiln_array **const outs[] = {q_out, r_out};
    kiln__solver s = {.task = &qr, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_eigh(const kiln_array *a, const kiln_linalg_options *opts,
                             kiln_array **values_out, kiln_array **vectors_out, kiln_error *err)
{
    kiln_array **const outs[] = {values_out, vectors_out};
    kiln__solver s = {.task = &eigh, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_eigvalsh(const kiln_array *a, const kiln_linalg_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &eigvalsh, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_svd(const kiln_array *a, const kiln_linalg_options *opts,
                            kiln_array **u_out, kiln_array **s_out, kiln_array **vh_out,
                            kiln_error *err)
{
    kiln_array **const outs[] = {u_out, s_out, vh_out};
    kiln__solver s = {.task = &svd, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_svdvals(const kiln_array *a, const kiln_linalg_options *opts,
                                kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &svdvals, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_pinv(const kiln_array *a, double rcond, const kiln_linalg_options *opts,
                             kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &pinv, .a = a, .tolerance = rcond};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_lstsq(const kiln_array *a, const kiln_array *b, double rcond,
                              const kiln_linalg_options *opts, kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &lstsq, .a = a, .b = b, .tolerance = rcond};
    return kiln__solver_call(&s, opts, &out, err);
}
