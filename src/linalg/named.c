/*
 * named.c - functions of linear algebra by their names, as src/graph records them.
 *
 *     a node of a graph > [infer its results; call the function] > solve.c, factor.c, compose.c
 *
 * Test: test_graph_linalg.
 */
#include "linalg/solver.h"

/* ---- results of functions that are made of others ---------------------------------------------- */

static void shape_solution(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->columns, KILN__SOLVER_SAME);
}

static void shape_transpose(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, s->m, KILN__SOLVER_SAME);
}

static void shape_eigen(kiln__solver *s)
{
    kiln__solver_shape(s, 0, s->n, -1, KILN__SOLVER_COMPLEX);
    kiln__solver_shape(s, 1, s->n, s->n, KILN__SOLVER_COMPLEX);
}

static void shape_lu(kiln__solver *s)
{
    const int64_t count = s->m < s->n ? s->m : s->n;
    kiln__solver_shape(s, 0, s->m, s->m, KILN__SOLVER_REAL);
    kiln__solver_shape(s, 1, s->m, count, KILN__SOLVER_SAME);
    kiln__solver_shape(s, 2, count, s->n, KILN__SOLVER_SAME);
}

static void shape_rank(kiln__solver *s)
{
    kiln__solver_shape(s, 0, -1, -1, KILN__SOLVER_PLACES);
}

static kiln_status run_cho_solve(const kiln_array *const *in, const kiln_linalg_options *o,
                                 kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_cho_solve(in[0], in[1], o, outs, err);
}

static kiln_status run_lstsq(const kiln_array *const *in, const kiln_linalg_options *o,
                             kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_lstsq(in[0], in[1], -1, o, outs, err);
}

static kiln_status run_pinv(const kiln_array *const *in, const kiln_linalg_options *o,
                            kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_pinv(in[0], -1, o, outs, err);
}

static kiln_status run_eig(const kiln_array *const *in, const kiln_linalg_options *o,
                           kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_eig(in[0], o, &outs[0], &outs[1], err);
}

static kiln_status run_eigvals(const kiln_array *const *in, const kiln_linalg_options *o,
                               kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_eigvals(in[0], o, outs, err);
}

static kiln_status run_lu(const kiln_array *const *in, const kiln_linalg_options *o,
                          kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_lu(in[0], o, &outs[0], &outs[1], &outs[2], err);
}

static kiln_status run_expm(const kiln_array *const *in, const kiln_linalg_options *o,
                            kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_expm(in[0], o, outs, err);
}

static kiln_status run_matrix_rank(const kiln_array *const *in, const kiln_linalg_options *o,
                                   kiln_array **outs, kiln_error *err)
{
    return kiln_linalg_matrix_rank(in[0], -1, o, outs, err);
}

/* Of these only what decides the results' dtypes and shapes is set. */
static const kiln__solver_task
    cho_solve_task = {.name = "cho_solve",
                      .square = true,
                      .has_right_side = true,
                      .result_count = 1,
                      .shape = shape_solution},
    lstsq_task = {.name = "lstsq",
                  .has_right_side = true,
                  .result_count = 1,
                  .shape = shape_solution},
    pinv_task = {.name = "pinv", .result_count = 1, .shape = shape_transpose},
    lu_task = {.name = "lu", .result_count = 3, .shape = shape_lu},
    eig_task = {.name = "eig", .square = true, .result_count = 2, .shape = shape_eigen},
    eigvals_task = {.name = "eigvals", .square = true, .result_count = 1, .shape = shape_eigen},
    expm_task = {.name = "expm", .square = true, .result_count = 1, .shape = shape_transpose},
    matrix_rank_task = {.name = "matrix_rank", .result_count = 1, .shape = shape_rank};

/* ---- the table --------------------------------------------------------------------------------- */

/* `run` is NULL where a call is the task. */
static const struct {
    const kiln__solver_task *task;
    kiln_status (*run)(const kiln_array *const *operands, const kiln_linalg_options *opts,
                       kiln_array **outs, kiln_error *err);
} functions[KILN__LINALG_COUNT] = {
    [KILN__LINALG_solve] = {&kiln__solve_task, NULL},
    [KILN__LINALG_solve_triangular] = {&kiln__triangular_task, NULL},
    [KILN__LINALG_cho_solve] = {&cho_solve_task, run_cho_solve},
    [KILN__LINALG_lstsq] = {&lstsq_task, run_lstsq},
    [KILN__LINALG_inv] = {&kiln__inv_task, NULL},
    [KILN__LINALG_pinv] = {&pinv_task, run_pinv},
    [KILN__LINALG_det] = {&kiln__det_task, NULL},
    [KILN__LINALG_slogdet] = {&kiln__slogdet_task, NULL},
    [KILN__LINALG_cholesky] = {&kiln__cholesky_task, NULL},
    [KILN__LINALG_qr] = {&kiln__qr_task, NULL},
    [KILN__LINALG_lu] = {&lu_task, run_lu},
    [KILN__LINALG_lu_factor] = {&kiln__lu_factor_task, NULL},
    [KILN__LINALG_lu_solve] = {&kiln__lu_solve_task, NULL},
    [KILN__LINALG_ldl] = {&kiln__ldl_task, NULL},
    [KILN__LINALG_svd] = {&kiln__svd_task, NULL},
    [KILN__LINALG_svdvals] = {&kiln__svdvals_task, NULL},
    [KILN__LINALG_eigh] = {&kiln__eigh_task, NULL},
    [KILN__LINALG_eigvalsh] = {&kiln__eigvalsh_task, NULL},
    [KILN__LINALG_eig] = {&eig_task, run_eig},
    [KILN__LINALG_eigvals] = {&eigvals_task, run_eigvals},
    [KILN__LINALG_expm] = {&expm_task, run_expm},
    [KILN__LINALG_matrix_rank] = {&matrix_rank_task, run_matrix_rank},
};

static kiln__solver solver_of(kiln__linalg_function function, const kiln_array *const *operands)
{
    const kiln__solver_task *task = functions[function].task;

    const bool pivots = function == KILN__LINALG_lu_solve; /* they stand before the right side */

    return (kiln__solver){.task = task,
                          .a = operands[0],
                          .b = task->has_right_side ? operands[1 + pivots] : NULL,
                          .pivots = pivots ? operands[1] : NULL};
}

kiln_status kiln__linalg_infer(kiln__linalg_function function, const kiln_array *const *operands,
                               kiln__linalg_value *results, kiln_error *err)
{
    kiln__solver s = solver_of(function, operands);
    return kiln__solver_infer(&s, results, err);
}

kiln_status kiln__linalg_run(kiln__linalg_function function, const kiln_array *const *operands,
                             kiln_stream *stream, kiln_array **outs, kiln_error *err)
{
    kiln_linalg_options o = KILN_LINALG_OPTIONS_INIT;
    kiln__solver s = solver_of(function, operands);
    kiln_array **places[KILN__SOLVER_RESULTS];

    o.stream = stream;
    if (functions[function].run != NULL)
        return functions[function].run(operands, &o, outs, err);
    for (int k = 0; k < s.task->result_count; k++)
        places[k] = &outs[k];
    return kiln__solver_call(&s, &o, places, err);
}
