/*
 * factor_cuda.c - factorisations of stacks of matrices by cuSOLVER and cuBLAS: what a task does on a CUDA device.
 *
 *     solver_cuda.c > a task's `cuda` > [copies in columns, one library call a matrix or one for all] > results
 *
 * Rule: many matrices of up to BATCHED_ROWS rows go to the routines for batches, one at a time costs a launch or
 *       more each.
 */
#include "linalg/solver_gpu.h"

#include "ops/ops.h"

enum { BATCHED_ROWS = 256, BATCHED_COUNT = 4 };

static bool suits_batches(const kiln__solver_gpu *g, int64_t columns)
{
    return g->s->n <= BATCHED_ROWS && g->matrices >= BATCHED_COUNT &&
           g->s->layout.count <= INT32_MAX && columns <= INT32_MAX;
}

/* ---- LU -------------------------------------------------------------------------------------- */

static int64_t pivot_count(const kiln__solver_gpu *g)
{
    return g->s->m < g->s->n ? g->s->m : g->s->n;
}

static kiln_status lu_batched(kiln__solver_gpu *g, kiln_error *err)
{
    const int n = (int)g->s->n;
    kiln_array *addresses = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__gpu_use_cublas(g, err));
    KILN_TRY(kiln__gpu_addresses(g, g->a, g->a_bytes, g->matrices, false, &addresses, err));
    KILN_TRY(kiln__gpu_check(g, "cublas<t>getrfBatched",
                             g->blas->getrf_batched[g->which](g->blas_handle, n, addresses->data, n,
                                                              g->pivots->data, g->info->data,
                                                              (int)g->matrices),
                             err));

done:
    kiln_array_release(addresses);
    return status;
}

static kiln_status lu_each(kiln__solver_gpu *g, kiln_error *err)
{
    const int64_t m = g->s->m, n = g->s->n;
    size_t device_bytes = 0, host_bytes = 0;
    KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgetrf_bufferSize",
                               g->lib->getrf_room(g->handle, g->params, m, n, g->type, g->a->data,
                                                  m, g->type, &device_bytes, &host_bytes),
                               err));
    KILN_CHECK(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        char *a = kiln__gpu_at(g->a, nth, g->a_bytes),
             *pivots = kiln__gpu_at(g->pivots, nth, pivot_count(g) * 8);
        const int result = g->lib->getrf(
            g->handle, g->params, m, n, g->type, a, m, (int64_t *)(void *)pivots, g->type,
            g->work->address, device_bytes, g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgetrf", result, err));
    }
    return KILN_OK;
}

/* The factors by rows. */
static kiln_status lu_small(kiln__solver_gpu *g, kiln_error *err)
{
    KILN_CHECK(kiln__gpu_new(g, NULL, g->s->dtype, g->s->m, g->s->n, KILN__GPU_ROWS, &g->a, err));
    KILN_CHECK(
        kiln__gpu_new(g, NULL, KILN_INT64, pivot_count(g), -1, KILN__GPU_ROWS, &g->pivots, err));
    const kiln__small_results results = {.y = g->a};
    return kiln__small_run(g, KILN__SMALL_LU, 2, false, &results, err);
}

/* P L U of the matrices in g->a, which are scaled first; `ends`: large ones by little. */
static kiln_status factorise_lu(kiln__solver_gpu *g, int64_t columns, bool ends, kiln_error *err)
{
    /* The batched substitution takes one matrix for each right side, and the other one pivots of 64 bits. */
    g->batched = suits_batches(g, columns) && g->matrices == g->s->layout.count &&
                 g->s->m == g->s->n; /* the batched routine takes square matrices */
    KILN_CHECK(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    KILN_CHECK(kiln__gpu_new(g, g->a, g->batched ? KILN_INT32 : KILN_INT64, pivot_count(g), -1,
                             KILN__GPU_ROWS, &g->pivots, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    KILN_CHECK(kiln__gpu_use_cusolver(g, err));
    KILN_CHECK(ends ? kiln__gpu_scale_ends(g, err) : kiln__gpu_scale(g, err));
    return g->batched ? lu_batched(g, err) : lu_each(g, err);
}

/* The same of the matrices as they are. */
static kiln_status find_factors(kiln__solver_gpu *g, kiln_error *err)
{
    if (kiln__small_suits(g))
        return lu_small(g, err);
    KILN_CHECK(factorise_lu(g, 1, true, err));
    return kiln__gpu_is_empty(g) ? KILN_OK : kiln__gpu_scale_back_ends(g, err);
}

/* Where the exchanges lead: the row that each row of L U is (KILN__PIECE_ROW_OF), or where each row of `a` went. */
static kiln_status follow_exchanges(kiln__solver_gpu *g, kiln__piece piece, kiln_array **out,
                                    kiln_error *err)
{
    const int64_t n = g->s->n;
    kiln_array *from_0 = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__gpu_new(g, g->a, KILN_INT64, n, -1, KILN__GPU_ROWS, &from_0, err));
    KILN_TRY(kiln__gpu_new(g, g->a, KILN_INT64, n, -1, KILN__GPU_ROWS, out, err));
    KILN_TRY(kiln__piece_run(KILN__PIECE_SHIFT,
                             &(kiln__piece_arguments){.places = g->pivots, .m = -1}, from_0,
                             g->s->stream, err));
    KILN_TRY(kiln__piece_run(piece, &(kiln__piece_arguments){.places = from_0, .m = n, .n = n},
                             *out, g->s->stream, err));

done:
    kiln_array_release(from_0);
    return status;
}

/* x = inverse(U) inverse(L) x for the nth matrix, in columns. */
static kiln_status substitute_triangles(kiln__solver_gpu *g, int64_t nth, char *x, int64_t columns,
                                        kiln_error *err)
{
    static const int parts[] = {KILN__SOLVER_LOWER, KILN__SOLVER_UPPER};
    const int64_t n = g->s->n;
    const char *a = kiln__gpu_at(g->a, nth, g->a_bytes);
    double one[2];

    kiln__put_number(g->s->dtype, 1, one);
    for (int upper = 0; upper < 2; upper++) {
        const int result =
            columns == 1
                ? g->blas->trsv[g->which](g->blas_handle, parts[upper], 0, !upper, n, a, n, x, 1)
                : g->blas->trsm[g->which](g->blas_handle, 0, parts[upper], 0, !upper, n, columns,
                                          one, a, n, x, n);
        KILN_CHECK(
            kiln__gpu_check(g, columns == 1 ? "cublas<t>trsv" : "cublas<t>trsm", result, err));
    }
    return KILN_OK;
}

/* The same as substitute() where each matrix has right sides of its own, one or many. cuSOLVER's getrs takes longer then:
 * it exchanges rows one pair after the other, and its triangles of many right sides are slower than those of cuBLAS. */
static kiln_status substitute_each(kiln__solver_gpu *g, kiln_array *x, int64_t columns,
                                   kiln_error *err)
{
    const int64_t n = g->s->n, item = kiln__gpu_item(g), count = g->matrices * columns;
    const int64_t shape[] = {count, n}, strides[] = {n * item, item};
    kiln_array *rows = NULL, *all = NULL, *copy = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(follow_exchanges(g, KILN__PIECE_ROW_OF, &rows, err));
    KILN_TRY(kiln__array_view(x, 2, shape, strides, x->data, &all, err));
    KILN_TRY(kiln__array_copy_on(all, g->s->stream, &copy, err));
    KILN_TRY(
        kiln__piece_run(KILN__PIECE_ELEMENTS,
                        &(kiln__piece_arguments){.x = copy, .places = rows, .m = n, .n = columns},
                        all, g->s->stream, err));
    KILN_TRY(kiln__gpu_use_cublas(g, err));
    for (int64_t nth = 0; nth < g->matrices; nth++)
        KILN_TRY(
            substitute_triangles(g, nth, kiln__gpu_at(x, nth, n * columns * item), columns, err));

done:
    kiln_array_release(rows);
    kiln_array_release(all);
    kiln_array_release(copy);
    return status;
}

/* x = inverse(P L U) x, in columns. */
static kiln_status substitute(kiln__solver_gpu *g, kiln_array *x, int64_t columns, kiln_error *err)
{
    const int64_t n = g->s->n, count = g->s->layout.count, bytes = n * columns * kiln__gpu_item(g);
    kiln_array *of_a = NULL, *of_x = NULL;
    int host_info = 0;
    kiln_status status = KILN_OK;

    if (x->size == 0)
        return KILN_OK;
    if (!g->batched && g->matrices == count && (columns == 1 || columns >= n))
        return substitute_each(g, x, columns, err);
    if (g->batched) {
        KILN_TRY(kiln__gpu_addresses(g, g->a, g->a_bytes, count, false, &of_a, err));
        KILN_TRY(kiln__gpu_addresses(g, x, bytes, count, false, &of_x, err));
        KILN_TRY(kiln__gpu_check(g, "cublas<t>getrsBatched",
                                 g->blas->getrs_batched[g->which](
                                     g->blas_handle, 0, (int)n, (int)columns, of_a->data, (int)n,
                                     g->pivots->data, of_x->data, (int)n, &host_info, (int)count),
                                 err));
        goto done;
    }
    for (int64_t nth = 0; nth < count; nth++) {
        const int64_t at = kiln__gpu_matrix(g, nth);
        const void *pivots = kiln__gpu_at(g->pivots, at, n * 8);
        KILN_TRY(kiln__gpu_check(g, "cusolverDnXgetrs",
                                 g->lib->getrs(g->handle, g->params, 0, n, columns, g->type,
                                               kiln__gpu_at(g->a, at, g->a_bytes), n, pivots,
                                               g->type, kiln__gpu_at(x, nth, bytes), n,
                                               kiln__gpu_info(g, g->matrices)),
                                 err));
    }

done:
    kiln_array_release(of_a);
    kiln_array_release(of_x);
    return status;
}

/* Columns of the right side; a vector has one. */
static int64_t right_columns(const kiln__solver *s)
{
    return s->columns < 0 ? 1 : s->columns;
}

/* x (task 0, 3, 4 of templates/linalg/lu.cu) or the inverse (1). */
static kiln_status solve_small(kiln__solver_gpu *g, int task, kiln_error *err)
{
    kiln__solver *s = g->s;
    kiln_array **y = &s->result[0].array;
    const int64_t columns = task == 1 ? s->n : s->columns;
    KILN_CHECK(kiln__gpu_new(g, NULL, s->dtype, s->n, columns, KILN__GPU_ROWS, y, err));
    const kiln__small_results results = {.y = *y, .columns = columns < 0 ? 1 : columns};
    return kiln__small_run(g, KILN__SMALL_LU, task, false, &results, err);
}

kiln_status kiln__cuda_solve(kiln__solver_gpu *g, kiln_error *err)
{
    if (kiln__small_suits(g))
        return solve_small(g, 0, err);
    KILN_CHECK(kiln__gpu_take_right_sides(g, err));
    KILN_CHECK(factorise_lu(g, right_columns(g->s), false, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    KILN_CHECK(substitute(g, g->s->result[0].array, right_columns(g->s), err));
    return kiln__gpu_scale_back(g, g->s->result[0].array, true, err);
}

/* y = inverse(P L U) of a stack, in columns. */
static kiln_status invert_batched(kiln__solver_gpu *g, kiln_array *y, kiln_error *err)
{
    const int n = (int)g->s->n;
    kiln_array *of_a = NULL, *of_y = NULL, *told = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__gpu_addresses(g, g->a, g->a_bytes, g->matrices, false, &of_a, err));
    KILN_TRY(kiln__gpu_addresses(g, y, g->a_bytes, g->matrices, false, &of_y, err));
    /* It says of a singular matrix what the factorisation has said. */
    KILN_TRY(
        kiln__array_new(g->s->ctx, KILN_INT32, 1, &g->matrices, NULL, g->s->stream, &told, err));
    KILN_TRY(kiln__gpu_check(g, "cublas<t>getriBatched",
                             g->blas->getri_batched[g->which](g->blas_handle, n, of_a->data, n,
                                                              g->pivots->data, of_y->data, n,
                                                              told->data, (int)g->matrices),
                             err));

done:
    kiln_array_release(of_a);
    kiln_array_release(of_y);
    kiln_array_release(told);
    return status;
}

/* y = the transpose of P, in columns: 1 where the row of `a` is the column, to which the exchanges brought it. */
static kiln_status place_ones(kiln__solver_gpu *g, kiln_array *y, kiln_error *err)
{
    const int64_t n = g->s->n;
    kiln_array *places = NULL, *across = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(follow_exchanges(g, KILN__PIECE_PLACE_OF, &places, err));
    KILN_TRY(kiln_array_newaxis(places, -2, &across, err));
    KILN_TRY(kiln__piece_run(KILN__PIECE_ONE_HOT,
                             &(kiln__piece_arguments){.places = across, .m = n, .n = n}, y,
                             g->s->stream, err));

done:
    kiln_array_release(places);
    kiln_array_release(across);
    return status;
}

/* y = inverse(U) inverse(L) P^T, matrix by matrix: cuBLAS is faster at triangles of as many right sides than
 * cuSOLVER's getrs. */
static kiln_status invert_each(kiln__solver_gpu *g, kiln_array *y, kiln_error *err)
{
    KILN_CHECK(place_ones(g, y, err));
    KILN_CHECK(kiln__gpu_use_cublas(g, err));
    for (int64_t nth = 0; nth < g->matrices; nth++)
        KILN_CHECK(substitute_triangles(g, nth, kiln__gpu_at(y, nth, g->a_bytes), g->s->n, err));
    return KILN_OK;
}

kiln_status kiln__cuda_inv(kiln__solver_gpu *g, kiln_error *err)
{
    const int64_t n = g->s->n;
    kiln_array **y = &g->s->result[0].array;
    if (kiln__small_suits(g))
        return solve_small(g, 1, err);
    KILN_CHECK(kiln__gpu_new(g, NULL, g->s->dtype, n, n, KILN__GPU_COLUMNS, y, err));
    KILN_CHECK(factorise_lu(g, n, false, err));
    if ((*y)->size == 0)
        return KILN_OK;
    KILN_CHECK(g->batched ? invert_batched(g, *y, err) : invert_each(g, *y, err));
    return kiln__gpu_scale_back(g, *y, true, err);
}

/* Factors by rows, and the places that rows were exchanged with, from 0. */
kiln_status kiln__cuda_lu(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    KILN_CHECK(find_factors(g, err));
    kiln_array_release(g->info); /* of a singular matrix the factors are asked for */
    g->info = NULL;
    s->result[0].array = g->a;
    g->a = NULL;
    KILN_CHECK(kiln__gpu_new(g, NULL, KILN_INT64, pivot_count(g), -1, KILN__GPU_ROWS,
                             &s->result[1].array, err));
    return kiln__piece_run(KILN__PIECE_SHIFT,
                           &(kiln__piece_arguments){.places = g->pivots, .m = -1},
                           s->result[1].array, s->stream, err);
}

/* x from factors and pivots. */
kiln_status kiln__cuda_lu_solve(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    KILN_CHECK(kiln__gpu_take_right_sides(g, err));
    KILN_CHECK(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    KILN_CHECK(kiln__gpu_use_cusolver(g, err));
    KILN_CHECK(kiln__gpu_new(g, g->a, KILN_INT64, s->n, -1, KILN__GPU_ROWS, &g->pivots, err));
    KILN_CHECK(kiln__piece_run(KILN__PIECE_SHIFT,
                               &(kiln__piece_arguments){.places = s->pivots, .m = 1}, g->pivots,
                               s->stream, err));
    KILN_CHECK(kiln__gpu_scale_upper(g, err)); /* reciprocals of subnormal pivots are infinite */
    KILN_CHECK(substitute(g, s->result[0].array, right_columns(s), err));
    return kiln__gpu_scale_back(g, s->result[0].array, true, err);
}

/* The diagonal of g->a, negative where a row was exchanged: its product is the determinant. */
static kiln_status turned_diagonal(kiln__solver_gpu *g, kiln_array **out, kiln_error *err)
{
    const kiln_array *a = g->a;
    const int stack = a->rank - 2;
    int64_t strides[KILN_RANK_MAX];
    kiln_array *diagonal = NULL;

    memcpy(strides, a->strides, (size_t)stack * sizeof strides[0]);
    strides[stack] = a->strides[stack] + a->strides[stack + 1];
    KILN_CHECK(kiln__gpu_new(g, a, g->s->dtype, g->s->n, -1, KILN__GPU_ROWS, out, err));
    KILN_CHECK(kiln__array_view(a, stack + 1, a->shape, strides, a->data, &diagonal, err));
    const kiln_status status =
        kiln__piece_run(KILN__PIECE_TURN,
                        &(kiln__piece_arguments){.x = diagonal, .places = g->pivots, .n = g->s->n},
                        *out, g->s->stream, err);
    kiln_array_release(diagonal);
    return status;
}

/* det: the product. slogdet: that of the signs, and the sum of the logarithms of the sizes. */
kiln_status kiln__cuda_det(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_elementwise_call_options plain = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *factors = NULL, *signs = NULL, *sizes = NULL, *logs = NULL;
    kiln_status status = KILN_OK;

    options.stream = plain.stream = s->stream;
    options.axes = KILN_AXES(-1);
    KILN_TRY(find_factors(g, err));
    KILN_TRY(turned_diagonal(g, &factors, err));
    if (s->task->result_count > 1) {
        KILN_TRY(kiln_array_op(KILN_OP_SIGN, KILN_ARGS(factors), &plain, &signs, err));
        KILN_TRY(kiln_array_op(KILN_OP_ABSOLUTE, KILN_ARGS(factors), &plain, &sizes, err));
        KILN_TRY(kiln_array_op(KILN_OP_LOG, KILN_ARGS(sizes), &plain, &logs, err));
        KILN_TRY(kiln_array_reduce_with(KILN_REDUCE_SUM, logs, &options, &s->result[1].array, err));
        KILN_TRY(
            kiln_array_reduce_with(KILN_REDUCE_PROD, signs, &options, &s->result[0].array, err));
    } else {
        KILN_TRY(kiln__array_new(s->ctx, s->dtype, s->layout.stack_rank, s->layout.stack, NULL,
                                 s->stream, &s->result[0].array, err));
        KILN_TRY(kiln__piece_run(
            kiln_dtype_kind(s->dtype) == 'c' ? KILN__PIECE_PRODUCT_COMPLEX : KILN__PIECE_PRODUCT,
            &(kiln__piece_arguments){.x = factors, .n = s->n}, s->result[0].array, s->stream, err));
    }

done:
    kiln_array_release(factors);
    kiln_array_release(signs);
    kiln_array_release(sizes);
    kiln_array_release(logs);
    return status;
}

/* ---- triangular systems ---------------------------------------------------------------------- */

/* g->a: a copy of the triangles that are read, and 0 elsewhere: what stands there is not looked at for NaN or for how large
 * the elements are. */
static kiln_status take_triangles(kiln__solver_gpu *g, kiln_error *err)
{
    const kiln__solver *s = g->s;
    kiln_array *whole;

    KILN_CHECK(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    whole = g->a;
    g->a = NULL;
    kiln_status status =
        kiln__gpu_new(g, whole, s->dtype, s->n, s->n, KILN__GPU_COLUMNS, &g->a, err);
    if (status == KILN_OK)
        status = kiln__piece_run(s->o.upper ? KILN__PIECE_UPPER : KILN__PIECE_LOWER,
                                 &(kiln__piece_arguments){.x = whole, .m = s->n, .n = s->n}, g->a,
                                 s->stream, err);
    kiln_array_release(whole);
    return status;
}

/* The first element of each diagonal that is 0, counted from 1, into g->info. */
static kiln_status check_diagonals(kiln__solver_gpu *g, kiln_error *err)
{
    const int64_t n = g->s->n, item = kiln__gpu_item(g);
    const int64_t shape[] = {g->matrices, n}, strides[] = {g->a_bytes, (n + 1) * item};
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_elementwise_call_options plain = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *diagonals = NULL, *zeros = NULL, *any = NULL, *places = NULL, *from_1 = NULL;
    kiln_array *told = NULL;
    kiln_status status = KILN_OK;

    options.stream = plain.stream = g->s->stream;
    options.axes = KILN_AXES(-1);
    KILN_TRY(kiln__array_view(g->a, 2, shape, strides, g->a->data, &diagonals, err));
    KILN_TRY(kiln_array_op(KILN_OP_EQUAL, KILN_ARGS(diagonals, 0), &plain, &zeros, err));
    KILN_TRY(kiln_array_reduce_with(KILN_REDUCE_ARGMAX, zeros, &options, &places, err));
    KILN_TRY(kiln_array_reduce_with(KILN_REDUCE_ANY, zeros, &options, &any, err));
    KILN_TRY(kiln_array_op(KILN_OP_ADD, KILN_ARGS(places, 1), &plain, &from_1, err));
    KILN_TRY(kiln_array_op(KILN_OP_MULTIPLY, KILN_ARGS(any, from_1), &plain, &told, err));
    KILN_TRY(kiln__array_copy_as(told, KILN_INT32, NULL, g->s->stream, &g->info, err));

done:
    kiln_array_release(diagonals);
    kiln_array_release(zeros);
    kiln_array_release(any);
    kiln_array_release(places);
    kiln_array_release(from_1);
    kiln_array_release(told);
    return status;
}

kiln_status kiln__cuda_triangular(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const int64_t n = s->n, columns = right_columns(s), bytes = n * columns * kiln__gpu_item(g);
    double one[2];
    if (kiln__small_suits(g))
        return solve_small(g, s->o.upper ? 4 : 3, err);
    KILN_CHECK(kiln__gpu_take_right_sides(g, err));
    if (s->result[0].array->size == 0)
        return KILN_OK;
    KILN_CHECK(take_triangles(g, err));
    KILN_CHECK(check_diagonals(g, err));
    KILN_CHECK(kiln__gpu_use_cublas(g, err));
    KILN_CHECK(kiln__gpu_scale(g, err));
    kiln__put_number(s->dtype, 1, one);
    for (int64_t nth = 0; nth < s->layout.count; nth++) {
        const void *a = kiln__gpu_at(g->a, kiln__gpu_matrix(g, nth), g->a_bytes);
        const int result = g->blas->trsm[g->which](
            g->blas_handle, 0, s->o.upper ? KILN__SOLVER_UPPER : KILN__SOLVER_LOWER, 0, 0, n,
            columns, one, a, n, kiln__gpu_at(s->result[0].array, nth, bytes), n);
        KILN_CHECK(kiln__gpu_check(g, "cublas<t>trsm", result, err));
    }
    return kiln__gpu_scale_back(g, s->result[0].array, true, err);
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

static kiln_status cholesky_batched(kiln__solver_gpu *g, int part, kiln_error *err)
{
    const int n = (int)g->s->n;
    kiln_array *addresses = NULL;
    KILN_CHECK(kiln__gpu_addresses(g, g->a, g->a_bytes, g->matrices, false, &addresses, err));
    const kiln_status status =
        kiln__gpu_check(g, "cusolverDn<t>potrfBatched",
                        g->lib->potrf_batched[g->which](g->handle, part, n, addresses->data, n,
                                                        g->info->data, (int)g->matrices),
                        err);
    kiln_array_release(addresses);
    return status;
}

static kiln_status cholesky_each(kiln__solver_gpu *g, int part, kiln_error *err)
{
    const int64_t n = g->s->n;
    size_t device_bytes = 0, host_bytes = 0;
    KILN_CHECK(
        kiln__gpu_check(g, "cusolverDnXpotrf_bufferSize",
                        g->lib->potrf_room(g->handle, g->params, part, n, g->type, g->a->data, n,
                                           g->type, &device_bytes, &host_bytes),
                        err));
    KILN_CHECK(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        const int result = g->lib->potrf(
            g->handle, g->params, part, n, g->type, kiln__gpu_at(g->a, nth, g->a_bytes), n, g->type,
            g->work->address, device_bytes, g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnXpotrf", result, err));
    }
    return KILN_OK;
}

kiln_status kiln__cuda_cholesky(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const int part = s->o.upper ? KILN__SOLVER_UPPER : KILN__SOLVER_LOWER;
    KILN_CHECK(
        kiln__gpu_new(g, NULL, s->dtype, s->n, s->n, KILN__GPU_ROWS, &s->result[0].array, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    if (kiln__small_suits(g)) {
        const kiln__small_results results = {.y = s->result[0].array};
        return kiln__small_run(g, KILN__SMALL_CHOLESKY, 0, false, &results, err);
    }
    KILN_CHECK(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    KILN_CHECK(kiln__gpu_use_cusolver(g, err));
    KILN_CHECK(suits_batches(g, 1) ? cholesky_batched(g, part, err) : cholesky_each(g, part, err));
    return kiln__piece_run(s->o.upper ? KILN__PIECE_UPPER : KILN__PIECE_LOWER,
                           &(kiln__piece_arguments){.x = g->a, .m = s->n, .n = s->n},
                           s->result[0].array, s->stream, err);
}

/* ---- QR -------------------------------------------------------------------------------------- */

/* Workspace for both routines, of which the second makes `columns` of `q`; `elements_out`: for that one. */
static kiln_status qr_room(kiln__solver_gpu *g, const kiln_array *scales, const kiln_array *q,
                           int64_t columns, size_t *device_bytes, size_t *host_bytes,
                           int *elements_out, kiln_error *err)
{
    const int64_t m = g->s->m, n = g->s->n;
    const int count = (int)(m < n ? m : n);
    KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgeqrf_bufferSize",
                               g->lib->geqrf_room(g->handle, g->params, m, n, g->type, g->a->data,
                                                  m, g->type, scales->data, g->type, device_bytes,
                                                  host_bytes),
                               err));
    KILN_CHECK(
        kiln__gpu_check(g, "cusolverDn<t>orgqr_bufferSize",
                        g->lib->orgqr_room[g->which](g->handle, (int)m, (int)columns, count,
                                                     q->data, (int)m, scales->data, elements_out),
                        err));
    const size_t second = (size_t)*elements_out * (size_t)kiln__gpu_item(g);
    return kiln__gpu_room(g, *device_bytes > second ? *device_bytes : second, *host_bytes, err);
}

/* The first columns of matrices of `x`, or the first rows, as many as `extent`: a view. */
static kiln_status first_of(const kiln_array *x, int axis, int64_t extent, kiln_array **out,
                            kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];

    memcpy(shape, x->shape, (size_t)x->rank * sizeof shape[0]);
    shape[x->rank + axis] = extent;
    return kiln__array_view(x, x->rank, shape, x->strides, x->data, out, err);
}

/* R from what geqrf left, then Q, for each matrix. Q is g->a itself, or an array of more columns. */
static kiln_status qr_each(kiln__solver_gpu *g, const kiln_array *scales, kiln_array *q,
                           kiln_array *r, kiln_error *err)
{
    const int64_t m = g->s->m, n = g->s->n, count = m < n ? m : n;
    const int64_t columns = g->s->result[0].columns, q_bytes = m * columns * kiln__gpu_item(g);
    size_t device_bytes = 0, host_bytes = 0;
    kiln_array *top = NULL, *left = NULL, *into = NULL;
    int elements = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(qr_room(g, scales, q, columns, &device_bytes, &host_bytes, &elements, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        const int result = g->lib->geqrf(
            g->handle, g->params, m, n, g->type, kiln__gpu_at(g->a, nth, g->a_bytes), m, g->type,
            kiln__gpu_at(scales, nth, count * kiln__gpu_item(g)), g->type, g->work->address,
            device_bytes, g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_TRY(kiln__gpu_check(g, "cusolverDnXgeqrf", result, err));
    }
    KILN_TRY(first_of(g->a, -2, columns, &top, err));
    KILN_TRY(kiln__piece_run(KILN__PIECE_UPPER,
                             &(kiln__piece_arguments){.x = top, .m = columns, .n = n}, r,
                             g->s->stream, err));
    if (q != g->a) {
        KILN_TRY(first_of(g->a, -1, count, &left, err));
        KILN_TRY(first_of(q, -1, count, &into, err));
        KILN_TRY(kiln__tensor_deliver(g->s->task->name, kiln_array_retain(left), g->s->stream,
                                      &into, err));
    }
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        const int result =
            g->lib->orgqr[g->which](g->handle, (int)m, (int)columns, (int)count,
                                    kiln__gpu_at(q, nth, q == g->a ? g->a_bytes : q_bytes), (int)m,
                                    kiln__gpu_at(scales, nth, count * kiln__gpu_item(g)),
                                    g->work->address, elements, kiln__gpu_info(g, nth));
        KILN_TRY(kiln__gpu_check(g, "cusolverDn<t>orgqr", result, err));
    }

done:
    kiln_array_release(top);
    kiln_array_release(left);
    kiln_array_release(into);
    return status;
}

kiln_status kiln__cuda_qr(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const int64_t columns = s->result[0].columns, rows = s->result[1].rows;
    kiln_array *scales = NULL, *q = NULL, *whole = NULL;
    kiln_status status = KILN_OK;

    if (s->m > INT32_MAX || s->n > INT32_MAX)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "qr: cuSOLVER takes no %lld x %lld matrices",
                          (long long)s->m, (long long)s->n);
    KILN_TRY(
        kiln__gpu_new(g, NULL, s->dtype, rows, s->n, KILN__GPU_ROWS, &s->result[1].array, err));
    const bool small = kiln__small_suits(g);
    if (small || kiln__block_suits(g, columns)) {
        KILN_TRY(kiln__gpu_new(g, NULL, s->dtype, s->m, columns, KILN__GPU_ROWS,
                               &s->result[0].array, err));
        const kiln__small_results results = {.y = s->result[0].array, .z = s->result[1].array};
        return kiln__small_run(g, small ? KILN__SMALL_QR : KILN__SMALL_QR_BLOCK, s->o.full, false,
                               &results, err);
    }
    KILN_TRY(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    KILN_TRY(kiln__gpu_new(g, NULL, s->dtype, s->m < s->n ? s->m : s->n, -1, KILN__GPU_ROWS,
                           &scales, err));
    if (columns > s->n)
        KILN_TRY(kiln__gpu_new(g, g->a, s->dtype, s->m, columns, KILN__GPU_COLUMNS, &q, err));
    else
        q = kiln_array_retain(g->a);
    if (kiln__gpu_is_empty(g) && q->size > 0) /* no columns to begin with: Q is the unit matrix */
        KILN_TRY(kiln__piece_run(KILN__PIECE_IDENTITY,
                                 &(kiln__piece_arguments){.m = s->m, .n = s->m}, q, s->stream,
                                 err));
    if (!kiln__gpu_is_empty(g)) {
        KILN_TRY(kiln__gpu_use_cusolver(g, err));
        KILN_TRY(kiln__gpu_scale(g, err));
        KILN_TRY(qr_each(g, scales, q, s->result[1].array, err));
        KILN_TRY(kiln__gpu_scale_back(g, s->result[1].array, false, err));
    }
    KILN_TRY(first_of(q, -1, columns, &whole, err));
    KILN_TRY(kiln__array_copy_on(whole, s->stream, &s->result[0].array, err));

done:
    kiln_array_release(scales);
    kiln_array_release(q);
    kiln_array_release(whole);
    return status;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

static kiln_status eigh_all(kiln__solver_gpu *g, int job, int part, kiln_array *values,
                            kiln_error *err)
{
    const kiln__cusolver *lib = g->lib;
    const int64_t n = g->s->n;
    const int64_t value_bytes = n * (int64_t)kiln_dtype_size(g->s->real);
    const bool batched = lib->syev_batched != NULL && lib->syev_batched_room != NULL &&
                         g->matrices >= BATCHED_COUNT && n <= BATCHED_ROWS;
    const int64_t calls = batched ? 1 : g->matrices;
    size_t device_bytes = 0, host_bytes = 0;
    int result;

    if (batched)
        result = lib->syev_batched_room(g->handle, g->params, job, part, n, g->type, g->a->data, n,
                                        g->real_type, values->data, g->type, &device_bytes,
                                        &host_bytes, g->matrices);
    else
        result = lib->syevd_room(g->handle, g->params, job, part, n, g->type, g->a->data, n,
                                 g->real_type, values->data, g->type, &device_bytes, &host_bytes);
    KILN_CHECK(kiln__gpu_check(g, "cusolverDnXsyevd_bufferSize", result, err));
    KILN_CHECK(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < calls; nth++) {
        char *a = kiln__gpu_at(g->a, nth, g->a_bytes), *w = kiln__gpu_at(values, nth, value_bytes);
        result = batched ? lib->syev_batched(g->handle, g->params, job, part, n, g->type, a, n,
                                             g->real_type, w, g->type, g->work->address,
                                             device_bytes, g->host_work, host_bytes,
                                             kiln__gpu_info(g, nth), g->matrices)
                         : lib->syevd(g->handle, g->params, job, part, n, g->type, a, n,
                                      g->real_type, w, g->type, g->work->address, device_bytes,
                                      g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnXsyevd", result, err));
    }
    return KILN_OK;
}

kiln_status kiln__cuda_eigh(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const bool vectors = s->task->result_count > 1;
    KILN_CHECK(kiln__gpu_new(g, NULL, s->real, s->n, -1, KILN__GPU_ROWS, &s->result[0].array, err));
    if (kiln__small_suits(g)) {
        if (vectors)
            KILN_CHECK(kiln__gpu_new(g, NULL, s->dtype, s->n, s->n, KILN__GPU_ROWS,
                                     &s->result[1].array, err));
        const kiln__small_results results = {.y = s->result[0].array, .z = s->result[1].array};
        return kiln__small_run(g, KILN__SMALL_JACOBI, vectors ? 1 : 0, false, &results, err);
    }
    KILN_CHECK(take_triangles(g, err));
    if (!kiln__gpu_is_empty(g)) {
        KILN_CHECK(kiln__gpu_use_cusolver(g, err));
        KILN_CHECK(kiln__gpu_refuse_nan(g, err));
        KILN_CHECK(kiln__gpu_scale(g, err));
        KILN_CHECK(eigh_all(g, vectors ? KILN__SOLVER_VECTORS : 0,
                            s->o.upper ? KILN__SOLVER_UPPER : KILN__SOLVER_LOWER,
                            s->result[0].array, err));
        KILN_CHECK(kiln__gpu_scale_back(g, s->result[0].array, false, err));
    }
    if (vectors) {
        s->result[1].array = g->a;
        g->a = NULL;
    }
    return KILN_OK;
}

kiln_status kiln__cuda_eig(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const bool vectors = s->task->result_count > 1;
    const int64_t n = s->n, value_bytes = n * kiln__gpu_item(g);
    const int job = vectors ? KILN__SOLVER_VECTORS : 0;
    size_t device_bytes = 0, host_bytes = 0;
    KILN_CHECK(kiln__gpu_take_matrices(g, KILN__GPU_COLUMNS, err));
    KILN_CHECK(kiln__gpu_new(g, NULL, s->dtype, n, -1, KILN__GPU_ROWS, &s->result[0].array, err));
    if (vectors)
        KILN_CHECK(
            kiln__gpu_new(g, NULL, s->dtype, n, n, KILN__GPU_COLUMNS, &s->result[1].array, err));
    if (kiln__gpu_is_empty(g))
        return KILN_OK;
    KILN_CHECK(kiln__gpu_use_cusolver(g, err));
    KILN_CHECK(kiln__gpu_refuse_nan(g, err));
    KILN_CHECK(kiln__gpu_scale(g, err));
    const void *v = vectors ? s->result[1].array->data : NULL;
    KILN_CHECK(
        kiln__gpu_check(g, "cusolverDnXgeev_bufferSize",
                        g->lib->geev_room(g->handle, g->params, 0, job, n, g->type, g->a->data, n,
                                          g->type, s->result[0].array->data, g->type, NULL, n,
                                          g->type, v, n, g->type, &device_bytes, &host_bytes),
                        err));
    KILN_CHECK(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        const int result = g->lib->geev(
            g->handle, g->params, 0, job, n, g->type, kiln__gpu_at(g->a, nth, g->a_bytes), n,
            g->type, kiln__gpu_at(s->result[0].array, nth, value_bytes), g->type, NULL, n, g->type,
            vectors ? kiln__gpu_at(s->result[1].array, nth, g->a_bytes) : NULL, n, g->type,
            g->work->address, device_bytes, g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgeev", result, err));
    }
    return kiln__gpu_scale_back(g, s->result[0].array, false, err);
}
