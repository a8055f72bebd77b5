/*
 * solve.c - equations, inverses, determinants and Cholesky factors (kiln/linalg.h), and what is
 * done with one matrix for them.
 *
 *     kiln_linalg_solve() and others > a task > solver.c > cpu:  its `run` for a matrix (dense.c)
 *                                                        > CUDA: factor_cuda.c
 *
 * Test: test_solver.
 */
#include "linalg/solver.h"

static void shape_like_right_side(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->columns, KILN__SOLVER_SAME);
}

static void shape_like_matrix(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->n, KILN__SOLVER_SAME);
}

static void shape_numbers(kiln__solver *s)
{
    kiln__solver_shape(s, 0, -1, -1, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 1, -1, -1, KILN__SOLVER_REAL);
}

/* Columns of the right side; a vector has one. */
static int64_t right_columns(const kiln__solver *s)
{
    return s->columns < 0 ? 1 : s->columns;
}

static int64_t run_solve(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    kiln__solver_gather(s, &s->layout.b, nth, s->n, right_columns(s), w->buffer[1]);
    const int64_t info = kiln__dense_lu(s->dtype, s->n, s->n, w->buffer[0], w->pivots);
    if (info != 0)
        return info;
    kiln__dense_lu_solve(s->dtype, s->n, right_columns(s), w->buffer[0], w->pivots, w->buffer[1]);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[1]);
    return 0;
}

static int64_t run_triangular(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    kiln__solver_gather(s, &s->layout.b, nth, s->n, right_columns(s), w->buffer[1]);
    const int64_t info = kiln__dense_triangular(s->dtype, s->o.upper, s->n, right_columns(s),
                                                w->buffer[0], w->buffer[1]);
    if (info == 0)
        kiln__solver_scatter(s, 0, nth, s->n, w->buffer[1]);
    return info;
}

static int64_t run_inv(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    const int64_t info = kiln__dense_lu(s->dtype, s->n, s->n, w->buffer[0], w->pivots);
    if (info != 0)
        return info;
    kiln__dense_identity(s->dtype, s->n, w->buffer[1]);
    kiln__dense_lu_solve(s->dtype, s->n, s->n, w->buffer[0], w->pivots, w->buffer[1]);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[1]);
    return 0;
}

/* det has one result, slogdet two. */
static int64_t run_det(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    double sign[2], log, det[2];

    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    (void)kiln__dense_lu(s->dtype, s->n, s->n, w->buffer[0], w->pivots);
    kiln__dense_lu_det(s->dtype, s->n, w->buffer[0], w->pivots, sign, &log, det);
    kiln__solver_scatter(s, 0, nth, 1, (const char *)(s->task->result_count > 1 ? sign : det));
    if (s->task->result_count > 1)
        kiln__solver_scatter(s, 1, nth, 1, (const char *)&log);
    return 0;
}

/* R is the transpose of the factor of the transpose. */
static int64_t run_cholesky(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const kiln__side *a = &s->layout.a;
    const int64_t item = (int64_t)kiln_dtype_size(s->dtype), shape[] = {s->n, s->n};
    const int64_t down[] = {item, s->n * item}, across[] = {s->n * item, item};
    kiln__side side = *a;

    if (s->o.upper) {
        side.row = a->column;
        side.column = a->row;
    }
    kiln__solver_gather(s, &side, nth, s->n, s->n, w->buffer[0]);
    const int64_t info = kiln__dense_cholesky(s->dtype, s->n, w->buffer[0]);
    if (info != 0)
        return info;
    if (s->o.upper)
        kiln__host_copy(w->buffer[1], across, w->buffer[0], down, 2, shape, (size_t)item);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[s->o.upper ? 1 : 0]);
    return 0;
}

/* ---- factors for later ----------------------------------------------------------------------- */

static void shape_lu(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->m, s->n, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 1, s->m < s->n ? s->m : s->n, -1, KILN__SOLVER_PLACES);
}

/* Of a singular matrix the factors are asked for as well. */
static int64_t run_lu(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const int64_t count = s->result[1].rows;
    int64_t *pivots = (int64_t *)(void *)s->result[1].to + nth * count;

    kiln__solver_gather(s, &s->layout.a, nth, s->m, s->n, w->buffer[0]);
    (void)kiln__dense_lu(s->dtype, s->m, s->n, w->buffer[0], w->pivots);
    kiln__solver_scatter(s, 0, nth, s->m, w->buffer[0]);
    for (int64_t k = 0; k < count; k++)
        pivots[k] = w->pivots[k] - 1;
    return 0;
}

static int64_t run_lu_solve(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const int64_t *pivots = s->host_pivots + kiln__solver_matrix(s, nth) * s->n;

    for (int64_t k = 0; k < s->n; k++)
        w->pivots[k] = (int32_t)pivots[k] + 1;
    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    kiln__solver_gather(s, &s->layout.b, nth, s->n, right_columns(s), w->buffer[1]);
    kiln__dense_lu_solve(s->dtype, s->n, right_columns(s), w->buffer[0], w->pivots, w->buffer[1]);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[1]);
    return 0;
}

static void shape_ldl(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->n, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 1, s->n, s->n, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 2, s->n, -1, KILN__SOLVER_PLACES);
}

static int64_t run_ldl(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    int64_t *order = (int64_t *)(void *)s->result[2].to + nth * s->n;

    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    kiln__dense_mirror(s->dtype, s->o.upper, s->n, w->buffer[0]);
    kiln__dense_ldl(s->dtype, s->n, w->buffer[0], w->pivots, w->buffer[1], w->buffer[2], order);
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[1]);
    kiln__solver_scatter(s, 1, nth, s->n, w->buffer[2]);
    for (int64_t k = 0; k < s->n;
         k++) /* from where a row would stand in a triangle to which row stands there */
        w->pivots[order[k]] = (int32_t)k;
    for (int64_t k = 0; k < s->n; k++)
        order[k] = w->pivots[k];
    return 0;
}

#define SINGULAR "is singular: pivot %lld of its LU factorisation is 0"

const kiln__solver_task kiln__solve_task = {.name = "solve",
                                            .square = true,
                                            .has_right_side = true,
                                            .result_count = 1,
                                            .shape = shape_like_right_side,
                                            .run = run_solve,
                                            .why = SINGULAR,
                                            .cuda = kiln__cuda_solve};
const kiln__solver_task kiln__triangular_task = {
    .name = "solve_triangular",
    .square = true,
    .has_right_side = true,
    .result_count = 1,
    .shape = shape_like_right_side,
    .run = run_triangular,
    .why = "is singular: element %lld of its diagonal is 0",
    .cuda = kiln__cuda_triangular};
const kiln__solver_task kiln__inv_task = {.name = "inv",
                                          .square = true,
                                          .result_count = 1,
                                          .shape = shape_like_matrix,
                                          .run = run_inv,
                                          .why = SINGULAR,
                                          .cuda = kiln__cuda_inv};
const kiln__solver_task kiln__det_task = {.name = "det",
                                          .square = true,
                                          .result_count = 1,
                                          .shape = shape_numbers,
                                          .run = run_det,
                                          .why = "",
                                          .cuda = kiln__cuda_det};
const kiln__solver_task kiln__slogdet_task = {.name = "slogdet",
                                              .square = true,
                                              .result_count = 2,
                                              .shape = shape_numbers,
                                              .run = run_det,
                                              .why = "",
                                              .cuda = kiln__cuda_det};
const kiln__solver_task kiln__cholesky_task = {
    .name = "cholesky",
    .square = true,
    .result_count = 1,
    .shape = shape_like_matrix,
    .run = run_cholesky,
    .why = "is not positive definite: its leading minor of order %lld is not positive",
    .cuda = kiln__cuda_cholesky};

const kiln__solver_task kiln__lu_factor_task = {.name = "lu_factor",
                                                .result_count = 2,
                                                .shape = shape_lu,
                                                .run = run_lu,
                                                .why = "",
                                                .cuda = kiln__cuda_lu};
const kiln__solver_task kiln__ldl_task = {.name = "ldl",
                                          .square = true,
                                          .result_count = 3,
                                          .shape = shape_ldl,
                                          .run = run_ldl,
                                          .why = ""};
const kiln__solver_task kiln__lu_solve_task = {.name = "lu_solve",
                                               .square = true,
                                               .has_right_side = true,
                                               .result_count = 1,
                                               .shape = shape_like_right_side,
                                               .run = run_lu_solve,
                                               .why = "",
                                               .cuda = kiln__cuda_lu_solve};

/* ---- the public functions -------------------------------------------------------------------- */

void kiln_linalg_options_init(kiln_linalg_options *opts, size_t given)
{
    kiln__options_init(opts, given);
}

kiln_status kiln_linalg_solve(const kiln_array *a, const kiln_array *b,
                              const kiln_linalg_options *opts, kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &kiln__solve_task, .a = a, .b = b};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_solve_triangular(const kiln_array *a, const kiln_array *b,
                                         const kiln_linalg_options *opts, kiln_array **out,
                                         kiln_error *err)
{
    kiln__solver s = {.task = &kiln__triangular_task, .a = a, .b = b};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_inv(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **out,
                            kiln_error *err)
{
    kiln__solver s = {.task = &kiln__inv_task, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_cholesky(const kiln_array *a, const kiln_linalg_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &kiln__cholesky_task, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_det(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **out,
                            kiln_error *err)
{
    kiln__solver s = {.task = &kiln__det_task, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

kiln_status kiln_linalg_slogdet(const kiln_array *a, const kiln_linalg_options *opts,
                                kiln_array **sign_out, kiln_array **log_out, kiln_error *err)
{
    kiln_array **const outs[] = {sign_out, log_out};
    kiln__solver s = {.task = &kiln__slogdet_task, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_ldl(const kiln_array *a, const kiln_linalg_options *opts,
                            kiln_array **l_out, kiln_array **d_out, kiln_array **order_out,
                            kiln_error *err)
{
    kiln_array **const outs[] = {l_out, d_out, order_out};
    kiln__solver s = {.task = &kiln__ldl_task, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_lu_factor(const kiln_array *a, const kiln_linalg_options *opts,
                                  kiln_array **lu_out, kiln_array **pivots_out, kiln_error *err)
{
    kiln_array **const outs[] = {lu_out, pivots_out};
    kiln__solver s = {.task = &kiln__lu_factor_task, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_lu_solve(const kiln_array *lu, const kiln_array *pivots,
                                 const kiln_array *b, const kiln_linalg_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &kiln__lu_solve_task, .a = lu, .b = b, .pivots = pivots};
    if (pivots == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "lu_solve: `pivots` is NULL");
    return kiln__solver_call(&s, opts, &out, err);
}
