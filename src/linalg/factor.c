/*
 * factor.c - QR factors, eigenvalues and singular values (kiln/linalg.h), and what is done with one
 * matrix for them.
 *
 *     kiln_linalg_qr() and others > a task > solver.c > cpu:  its `run` for a matrix (dense.c)
 *                                                     > CUDA: factor_cuda.c, svd_cuda.c
 *
 * Test: test_factor.
 */
#include "linalg/gpu_library.h"
#include "linalg/solver.h"
#include "linalg/steps.h"

static int64_t short_side(const kiln__solver *s)
{
    return s->m < s->n ? s->m : s->n;
}

/* ---- QR -------------------------------------------------------------------------------------- */

static void shape_qr(kiln__solver *s)
{
    const int64_t columns = s->o.full ? s->m : short_side(s);

    kiln__solver_shape(s, 0, s->m, columns, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 1, columns, s->n, KILN__SOLVER_SAME);
}

static int64_t run_qr(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const int64_t columns = s->result[0].columns;

    kiln__solver_gather(s, &s->layout.a, nth, s->m, s->n, w->buffer[0]);
    kiln__dense_qr(s->dtype, s->m, s->n, columns, w->buffer[0], w->buffer[1], w->buffer[2],
                   w->buffer[3]);
    kiln__solver_scatter(s, 0, nth, s->m, w->buffer[1]);
    kiln__solver_scatter(s, 1, nth, columns, w->buffer[2]);
    return 0;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

static void shape_eigh(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, -1, KILN__SOLVER_REAL);
    kiln__solver_shape(s, 1, s->n, s->n, KILN__SOLVER_SAME);
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

/* Of any square matrix; the dtype is complex. */
static void shape_eig(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, -1, KILN__SOLVER_COMPLEX);
    kiln__solver_shape(s, 1, s->n, s->n, KILN__SOLVER_COMPLEX);
}

static int64_t run_eig(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const bool vectors = s->task->result_count > 1;

    kiln__solver_gather(s, &s->layout.a, nth, s->n, s->n, w->buffer[0]);
    if (!kiln__dense_eig(s->dtype, s->n, w->buffer[0], w->buffer[2], vectors ? w->buffer[1] : NULL))
        return 1;
    kiln__solver_scatter(s, 0, nth, s->n, w->buffer[2]);
    if (vectors)
        kiln__solver_scatter(s, 1, nth, s->n, w->buffer[1]);
    return 0;
}

/* ---- singular values ------------------------------------------------------------------------- */

static void shape_svd(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->m, s->o.full ? s->m : short_side(s), KILN__SOLVER_SAME);
    kiln__solver_shape(s, 1, short_side(s), -1, KILN__SOLVER_REAL);
    kiln__solver_shape(s, 2, s->o.full ? s->n : short_side(s), s->n, KILN__SOLVER_SAME);
}

static void shape_svdvals(kiln__solver *s)
{
    kiln__solver_shape(s, 0, short_side(s), -1, KILN__SOLVER_REAL);
}

/* U into buffer 1, values into buffer 2, V^H into buffer 3. */
static bool decompose(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    const bool full = s->o.full && s->task->result_count > 1;

    kiln__solver_gather(s, &s->layout.a, nth, s->m, s->n, w->buffer[0]);
    return kiln__dense_svd(s->dtype, s->m, s->n, full, w->buffer[0], w->buffer[1], w->buffer[2],
                           w->buffer[3]);
}

static int64_t run_svd(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    if (!decompose(s, nth, w))
        return 1;
    kiln__solver_scatter(s, 0, nth, s->m, w->buffer[1]);
    kiln__solver_scatter(s, 1, nth, short_side(s), w->buffer[2]);
    kiln__solver_scatter(s, 2, nth, s->result[2].rows, w->buffer[3]);
    return 0;
}

static int64_t run_svdvals(const kiln__solver *s, int64_t nth, const kiln__solver_work *w)
{
    if (!decompose(s, nth, w))
        return 1;
    kiln__solver_scatter(s, 0, nth, short_side(s), w->buffer[2]);
    return 0;
}

#define EIGEN "has eigenvalues that did not converge"
#define SINGULAR_VALUES "has singular values that did not converge"

const kiln__solver_task kiln__qr_task = {.name = "qr",
                                         .result_count = 2,
                                         .shape = shape_qr,
                                         .run = run_qr,
                                         .why = "",
                                         .cuda = kiln__cuda_qr};
const kiln__solver_task kiln__eigh_task = {.name = "eigh",
                                           .square = true,
                                           .result_count = 2,
                                           .shape = shape_eigh,
                                           .run = run_eigh,
                                           .why = EIGEN,
                                           .cuda = kiln__cuda_eigh};
const kiln__solver_task kiln__eigvalsh_task = {.name = "eigvalsh",
                                               .square = true,
                                               .result_count = 1,
                                               .shape = shape_eigh,
                                               .run = run_eigh,
                                               .why = EIGEN,
                                               .cuda = kiln__cuda_eigh};
const kiln__solver_task kiln__svd_task = {.name = "svd",
                                          .result_count = 3,
                                          .shape = shape_svd,
                                          .run = run_svd,
                                          .why = SINGULAR_VALUES,
                                          .cuda = kiln__cuda_svd};
const kiln__solver_task kiln__svdvals_task = {.name = "svdvals",
                                              .result_count = 1,
                                              .shape = shape_svdvals,
                                              .run = run_svdvals,
                                              .why = SINGULAR_VALUES,
                                              .cuda = kiln__cuda_svd};

/* The second of each is for CUDA devices whose cuSOLVER lacks the routine. */
static const kiln__solver_task eig_tasks[2][2] = {{{.name = "eigvals",
                                                    .square = true,
                                                    .result_count = 1,
                                                    .shape = shape_eig,
                                                    .run = run_eig,
                                                    .why = EIGEN,
                                                    .cuda = kiln__cuda_eig},
                                                   {.name = "eigvals",
                                                    .square = true,
                                                    .result_count = 1,
                                                    .shape = shape_eig,
                                                    .run = run_eig,
                                                    .why = EIGEN}},
                                                  {{.name = "eig",
                                                    .square = true,
                                                    .result_count = 2,
                                                    .shape = shape_eig,
                                                    .run = run_eig,
                                                    .why = EIGEN,
                                                    .cuda = kiln__cuda_eig},
                                                   {.name = "eig",
                                                    .square = true,
                                                    .result_count = 2,
                                                    .shape = shape_eig,
                                                    .run = run_eig,
                                                    .why = EIGEN}}};

/* ---- the public functions -------------------------------------------------------------------- */

kiln_status kiln_linalg_qr(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **q_out,
                           kiln_array **r_out, kiln_error *err)
{
    kiln_array **const outs[] = {q_out, r_out};
    kiln__solver s = {.task = &kiln__qr_task, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_eigh(const kiln_array *a, const kiln_linalg_options *opts,
                             kiln_array **values_out, kiln_array **vectors_out, kiln_error *err)
{
    kiln_array **const outs[] = {values_out, vectors_out};
    kiln__solver s = {.task = &kiln__eigh_task, .a = a};
    return kiln__solver_call(&s, opts, outs, err);
}

kiln_status kiln_linalg_eigvalsh(const kiln_array *a, const kiln_linalg_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    kiln__solver s = {.task = &kiln__eigvalsh_task, .a = a};
    return kiln__solver_call(&s, opts, &out, err);
}

/* In double precision where that is faster; the results have the dtype of `a` then, too. */
static kiln_status call_svd(const kiln__solver_task *task, const kiln_array *a,
                            const kiln_linalg_options *opts, kiln_array **const *outs,
                            kiln_error *err)
{
    kiln_array *wide[KILN__SOLVER_RESULTS] = {NULL}, *made[KILN__SOLVER_RESULTS] = {NULL};
    kiln_array **places[KILN__SOLVER_RESULTS];
    kiln__solver s = {.task = task, .a = a};
    kiln__steps w;
    bool given = true;
    kiln_status status = KILN_OK;

    for (int k = 0; k < task->result_count; k++) {
        given = given && outs[k] != NULL;
        places[k] = &wide[k];
    }
    if (!given || !kiln__svd_is_widened(a)) /* solver.c explains what is missing */
        return kiln__solver_call(&s, opts, outs, err);
    KILN_CHECK(kiln__steps_begin(&w, task->name, a, false, NULL, outs[0], opts, err));
    KILN_TRY(kiln__steps_cast(&w, a, KILN_FLOAT64, err));
    s.a = kiln__steps_last(&w);
    KILN_TRY(kiln__solver_call(&s, &w.o, places, err));
    for (int k = 0; k < task->result_count; k++)
        KILN_TRY(kiln__array_copy_as(wide[k], KILN_FLOAT32, NULL, w.stream, &made[k], err));
    KILN_TRY(kiln__tensor_deliver_all(task->name, made, task->result_count, w.stream, outs, err));

done:
    for (int k = 0; k < task->result_count; k++) {
        kiln_array_release(wide[k]);
        kiln_array_release(made[k]);
    }
    for (int k = 0; k < w.count; k++)
        kiln_array_release(w.made[k]);
    return status;
}

kiln_status kiln_linalg_svd(const kiln_array *a, const kiln_linalg_options *opts,
                            kiln_array **u_out, kiln_array **s_out, kiln_array **vh_out,
                            kiln_error *err)
{
    kiln_array **const outs[] = {u_out, s_out, vh_out};
    return call_svd(&kiln__svd_task, a, opts, outs, err);
}

kiln_status kiln_linalg_svdvals(const kiln_array *a, const kiln_linalg_options *opts,
                                kiln_array **out, kiln_error *err)
{
    return call_svd(&kiln__svdvals_task, a, opts, &out, err);
}

/* In complex numbers, by a GPU's library where it has the routine, else by the host's LAPACK. */
static kiln_status call_eig(const kiln_array *a, bool vectors, const kiln_linalg_options *opts,
                            kiln_array **const *outs, kiln_error *err)
{
    const char *name = vectors ? "eig" : "eigvals";
    const kiln__cusolver *lib = NULL;
    kiln_array *b = NULL;
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, name, a, false, NULL, outs[0], opts, err));
    kiln__device *device = kiln__context_device(w.ctx);
    const bool host = kiln__device_is_host(device) ||
                      kiln__cusolver_get(name, device, &lib, NULL) != KILN_OK || lib->geev == NULL;
    const bool narrow = a->dtype == KILN_FLOAT32 || a->dtype == KILN_COMPLEX64;
    const bool known =
        narrow || kiln__dense_takes(a->dtype) || strchr("biu", kiln_dtype_kind(a->dtype)) != NULL;
    kiln_linalg_info info;
    kiln_status status = KILN_OK;

    if (host && !kiln__device_is_dry(device) && kiln__lapack_get() == NULL) {
        kiln__lapack_describe(&info);
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s needs a LAPACK: %s", name, info.reason);
    }
    if (known) /* else solver.c explains */
        status = kiln__array_copy_as(a, narrow ? KILN_COMPLEX64 : KILN_COMPLEX128, NULL, w.stream,
                                     &b, err);
    kiln__solver s = {.task = &eig_tasks[vectors][host], .a = known ? b : a};
    if (status == KILN_OK)
        status = kiln__solver_call(&s, opts, outs, err);
    kiln_array_release(b);
    return status;
}

kiln_status kiln_linalg_eig(const kiln_array *a, const kiln_linalg_options *opts,
                            kiln_array **values_out, kiln_array **vectors_out, kiln_error *err)
{
    kiln_array **const outs[] = {values_out, vectors_out};
    return call_eig(a, true, opts, outs, err);
}

kiln_status kiln_linalg_eigvals(const kiln_array *a, const kiln_linalg_options *opts,
                                kiln_array **out, kiln_error *err)
{
    return call_eig(a, false, opts, &out, err);
}
