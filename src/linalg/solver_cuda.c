/*
 * solver_cuda.c - one call on a stack of matrices on a CUDA device, for all tasks.
 *
 *     arrays > [copies in columns] > the task's `cuda` > [failures, now or later] > arrays
 *
 * solver.c calls it.
 *
 * Rule 1: only failures, a number for each matrix, are copied to the host.
 * Rule 2: a handle of a library belongs to a context, and to one call at a time: its stream is set
 *         for the call.
 * Rule 3: all memory is the pool's, in the order of the call's stream.
 */
#include <float.h>
#include "linalg/solver_gpu.h"

#include <math.h>

#include "ops/ops.h"

/* What a context keeps: the handles, made when they are first needed. */
typedef struct kept {
    kiln__device *device;
    pthread_mutex_t lock; /* held during a call */
    const kiln__cusolver *lib;
    kiln__solver_handle handle;
    void *params;
    const kiln__cublas *blas;
    kiln__cublas_handle blas_handle;
    kiln__small_kernel *small;
    int32_t *failed; /* page-locked: kernels write it */
} kept;

static void *make_kept(kiln_context *ctx)
{
    kept *state = kiln__calloc(1, sizeof *state);

    if (state != NULL) {
        state->device = kiln__context_device(ctx);
        pthread_mutex_init(&state->lock, NULL);
    }
    return state;
}

static void destroy_kept(void *memory)
{
    kept *state = memory;
    bool pushed = false;

    if (kiln__device_enter(state->device, &pushed, NULL) == KILN_OK) {
        if (state->params != NULL)
            (void)state->lib->destroy_params(state->params);
        if (state->handle != NULL)
            (void)state->lib->destroy(state->handle);
        if (state->blas_handle != NULL)
            (void)state->blas->destroy(state->blas_handle);
        kiln__small_clear(state->small);
        kiln__host_free(state->device, state->failed);
        kiln__device_leave(state->device, pushed);
    }
    pthread_mutex_destroy(&state->lock);
    kiln__free(state);
}

static kiln_status get_kept(const kiln__solver_gpu *g, kept **out, kiln_error *err)
{
    void *state = NULL;
    KILN_CHECK(kiln__context_attachment(g->s->ctx, KILN__ATTACH_SOLVER, make_kept, destroy_kept,
                                        &state, err));
    *out = state;
    return KILN_OK;
}

kiln_status kiln__gpu_check(const kiln__solver_gpu *g, const char *call, int result,
                            kiln_error *err)
{
    if (result == 0)
        return KILN_OK;
    return kiln__fail(
        err, result == KILN__SOLVER_ALLOC_FAILED ? KILN_ERR_DEVICE_MEMORY : KILN_ERR_DRIVER,
        "%s: %s gives the status %d", g->s->task->name, call, result);
}

kiln_status kiln__gpu_use_cusolver(kiln__solver_gpu *g, kiln_error *err)
{
    kept *state = NULL;
    KILN_CHECK(get_kept(g, &state, err));
    KILN_CHECK(kiln__cusolver_get(g->s->task->name, state->device, &state->lib, err));
    if (state->handle == NULL)
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnCreate", state->lib->create(&state->handle), err));
    if (state->params == NULL)
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnCreateParams",
                                   state->lib->create_params(&state->params), err));
    g->lib = state->lib;
    g->handle = state->handle;
    g->params = state->params;
    kiln_array_release(g->info);
    g->info = NULL;
    g->info_of_stack = false;
    KILN_CHECK(
        kiln__array_new(g->s->ctx, KILN_INT32, 1, &g->matrices, NULL, g->s->stream, &g->info, err));
    return kiln__gpu_check(g, "cusolverDnSetStream",
                           g->lib->set_stream(g->handle, kiln__stream_native(g->s->stream)), err);
}

kiln_status kiln__gpu_use_cublas(kiln__solver_gpu *g, kiln_error *err)
{
    kept *state = NULL;
    KILN_CHECK(get_kept(g, &state, err));
    KILN_CHECK(kiln__cublas_get(g->s->task->name, state->device, &state->blas, err));
    if (state->blas_handle == NULL)
        KILN_CHECK(
            kiln__gpu_check(g, "cublasCreate", state->blas->create(&state->blas_handle), err));
    g->blas = state->blas;
    g->blas_handle = state->blas_handle;
    return kiln__gpu_check(g, "cublasSetStream",
                           g->blas->set_stream(g->blas_handle, kiln__stream_native(g->s->stream)),
                           err);
}

/* ---- memory ---------------------------------------------------------------------------------- */

kiln_status kiln__gpu_room(kiln__solver_gpu *g, size_t device_bytes, size_t host_bytes,
                           kiln_error *err)
{
    kiln__device *device = kiln__context_device(g->s->ctx);

    if (g->work == NULL || device_bytes > g->work_bytes) {
        kiln__pool_free(device, g->work, NULL, 0);
        g->work = NULL;
        KILN_CHECK(kiln__pool_alloc(device, device_bytes, g->s->stream, &g->work, err));
        g->work_bytes = device_bytes;
    }
    if (host_bytes > g->host_bytes) {
        kiln__free(g->host_work);
        g->host_work = kiln__alloc(host_bytes);
        g->host_bytes = g->host_work != NULL ? host_bytes : 0;
        if (g->host_work == NULL)
            return kiln__fail_memory(err, host_bytes);
    }
    return KILN_OK;
}

/* The order of axes, slowest first, of an array with `axes` axes of matrices. */
static const int *axes_of(int rank, int axes, kiln__gpu_order order, int *room)
{
    for (int k = 0; k < rank; k++)
        room[k] = k;
    if (axes > 1 && order == KILN__GPU_COLUMNS) {
        room[rank - 2] = rank - 1;
        room[rank - 1] = rank - 2;
    }
    return room;
}

kiln_status kiln__gpu_new(kiln__solver_gpu *g, const kiln_array *like, kiln_dtype dtype,
                          int64_t rows, int64_t columns, kiln__gpu_order order, kiln_array **out,
                          kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    int room[KILN_RANK_MAX], axes = 0;
    int rank = like != NULL ? like->rank - 2 : g->s->layout.stack_rank;

    memcpy(shape, like != NULL ? like->shape : g->s->layout.stack, (size_t)rank * sizeof shape[0]);
    for (int k = 0; k < 2; k++)
        if ((k == 0 ? rows : columns) >= 0) {
            shape[rank++] = k == 0 ? rows : columns;
            axes++;
        }
    return kiln__array_new(g->s->ctx, dtype, rank, shape, axes_of(rank, axes, order, room),
                           g->s->stream, out, err);
}

kiln_status kiln__gpu_take_matrices(kiln__solver_gpu *g, kiln__gpu_order order, kiln_error *err)
{
    kiln__solver *s = g->s;
    int room[KILN_RANK_MAX];

    kiln_array_release(g->a);
    g->a = NULL;
    KILN_CHECK(kiln__array_copy_as(s->a, s->dtype, axes_of(s->a->rank, 2, order, room), s->stream,
                                   &g->a, err));
    s->layout.a.data = g->a->data;
    memset(s->layout.a.step, 0, sizeof s->layout.a.step);
    const int stack = s->a->rank - 2;
    for (int axis = 0; axis < stack; axis++)
        if (s->a->shape[axis] != 1)
            s->layout.a.step[s->layout.stack_rank - stack + axis] = g->a->strides[axis];
    return KILN_OK;
}

kiln_status kiln__gpu_take_right_sides(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    int64_t shape[KILN_RANK_MAX];
    int room[KILN_RANK_MAX], rank = s->layout.stack_rank;
    kiln_array *whole = NULL;

    memcpy(shape, s->layout.stack, (size_t)rank * sizeof shape[0]);
    shape[rank++] = s->m;
    if (s->columns >= 0)
        shape[rank++] = s->columns;
    KILN_CHECK(kiln_array_broadcast_to(s->b, rank, shape, &whole, err));
    const kiln_status status = kiln__array_copy_as(
        whole, s->dtype, axes_of(rank, s->columns >= 0 ? 2 : 1, KILN__GPU_COLUMNS, room), s->stream,
        &s->result[0].array, err);
    kiln_array_release(whole);
    return status;
}

int64_t kiln__gpu_matrix(const kiln__solver_gpu *g, int64_t nth)
{
    const kiln__side *a = &g->s->layout.a;
    return g->a_bytes > 0 ? (kiln__side_matrix(&g->s->layout, a, nth) - a->data) / g->a_bytes : 0;
}

kiln_status kiln__gpu_addresses(kiln__solver_gpu *g, const kiln_array *of, int64_t bytes,
                                int64_t count, bool of_stack, kiln_array **out, kiln_error *err)
{
    uint64_t *addresses = kiln__alloc((size_t)(count + 1) * sizeof *addresses);
    kiln_status status = KILN_OK;

    if (addresses == NULL)
        return kiln__fail_memory(err, (size_t)count * sizeof *addresses);
    for (int64_t k = 0; k < count; k++)
        addresses[k] = (uintptr_t)kiln__gpu_at(of, of_stack ? kiln__gpu_matrix(g, k) : k, bytes);
    KILN_TRY(kiln__array_new(g->s->ctx, KILN_UINT64, 1, &count, NULL, g->s->stream, out, err));
    KILN_TRY(kiln_array_upload(*out, addresses, NULL, g->s->stream, err));

done:
    kiln__free(addresses);
    return status;
}

/* ---- what failed ----------------------------------------------------------------------------- */

/* `g->sizes`, float64: of matrices x, each the largest absolute value. */
static kiln_status measure(kiln__solver_gpu *g, const kiln_array *x, kiln_error *err)
{
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;

    options.stream = g->s->stream;
    options.axes = KILN_AXES(-2, -1);
    kiln_array_release(g->sizes);
    g->sizes = NULL;
    KILN_CHECK(kiln__gpu_new(g, g->a, KILN_FLOAT64, -1, -1, KILN__GPU_ROWS, &g->sizes, err));
    return kiln_array_reduce_with(KILN_REDUCE_NORMINF, x, &options, &g->sizes, err);
}

kiln_status kiln__gpu_refuse_nan(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    kiln_array *bad = NULL;
    double *values = kiln__alloc((size_t)(g->matrices + 1) * sizeof *values);
    kiln_status status = KILN_OK;

    if (values == NULL)
        return kiln__fail_memory(err, (size_t)g->matrices * sizeof *values);
    KILN_TRY(measure(g, g->a, err));
    KILN_TRY(kiln_array_download(g->sizes, values, (size_t)g->matrices * sizeof *values, NULL,
                                 s->stream, err));
    const bool dry = kiln__device_is_dry(kiln__context_device(s->ctx));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        if (isfinite(values[nth]) && (!dry || nth > 0)) /* what some matrix needs, one shows */
            continue;
        KILN_TRY(kiln__solver_make_info(s, err));
        s->info[nth] = !dry;
        s->failed = !dry;
        const int64_t shape[] = {g->a_bytes / (int64_t)kiln_dtype_size(s->dtype)};
        const int64_t strides[] = {(int64_t)kiln_dtype_size(s->dtype)};
        KILN_TRY(kiln__array_view(g->a, 1, shape, strides, kiln__gpu_at(g->a, nth, g->a_bytes),
                                  &bad, err));
        const kiln_arg args[] = {kiln_arg_float(0), kiln_arg_array(bad)};
        KILN_TRY(kiln__builtin_run(s->ctx, KILN__BUILTIN_FILL, args, 2, s->stream, err));
        kiln_array_release(bad);
        bad = NULL;
    }

done:
    kiln_array_release(bad);
    kiln__free(values);
    return status;
}

/* Squares of what lies between its powers of two, and sums of them, are neither subnormal nor infinite (LAPACK: xGESVD,
 * xSYEVD). */
static int far_exponent(const kiln__solver_gpu *g)
{
    return g->s->real == KILN_FLOAT32 ? 40 : 400;
}

/* x times 2^k, or 2^-k (`direction` -1), where k brings the matrix that x is of near 1, if it is beyond 2^`exponent` of
 * either sign. Of x, `axes` belong to one matrix; the others are the stack. `upper`: of the upper triangles alone. */
static kiln_status scale(kiln__solver_gpu *g, kiln_array *x, int axes, int direction, int exponent,
                         bool upper, kiln_error *err)
{
    const int stack = g->sizes->rank;
    const bool is_complex = kiln_dtype_kind(x->dtype) == 'c';
    const kiln__piece piece = upper && is_complex ? KILN__PIECE_SCALE_UPPER_COMPLEX
                              : upper             ? KILN__PIECE_SCALE_UPPER
                              : is_complex        ? KILN__PIECE_SCALE_COMPLEX
                                                  : KILN__PIECE_SCALE;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    kiln_array *sizes = NULL;

    for (int axis = 0; axis < stack + axes; axis++) {
        shape[axis] = axis < stack ? g->sizes->shape[axis] : 1;
        strides[axis] = axis < stack ? g->sizes->strides[axis] : 0;
    }
    KILN_CHECK(
        kiln__array_view(g->sizes, stack + axes, shape, strides, g->sizes->data, &sizes, err));
    const kiln_status status = kiln__piece_run(
        piece,
        &(kiln__piece_arguments){
            .x = x, .z = sizes, .m = g->s->n, .n = exponent, .p = direction, .q = (double)g->s->m},
        x, g->s->stream, err);
    kiln_array_release(sizes);
    return status;
}

kiln_status kiln__gpu_scale(kiln__solver_gpu *g, kiln_error *err)
{
    if (g->sizes == NULL)
        KILN_CHECK(measure(g, g->a, err));
    return scale(g, g->a, 2, 1, far_exponent(g), false, err);
}

kiln_status kiln__gpu_scale_ends(kiln__solver_gpu *g, kiln_error *err)
{
    /* Sums of a few elements, and of the parts of complex ones, stay below infinity. */
    const int most = (g->s->real == KILN_FLOAT32 ? FLT_MAX_EXP : DBL_MAX_EXP) - 16;
    kiln_array *ends = NULL;

    KILN_CHECK(measure(g, g->a, err));
    KILN_CHECK(kiln__gpu_new(g, g->a, KILN_FLOAT64, -1, -1, KILN__GPU_ROWS, &ends, err));
    const kiln_status status =
        kiln__piece_run(KILN__PIECE_ENDS,
                        &(kiln__piece_arguments){
                            .x = g->sizes, .p = ldexp(1, -far_exponent(g)), .q = ldexp(1, -most)},
                        ends, g->s->stream, err);
    kiln_array_release(g->sizes);
    g->sizes = ends;
    return status == KILN_OK ? scale(g, g->a, 2, 1, 0, false, err) : status;
}

kiln_status kiln__gpu_scale_upper(kiln__solver_gpu *g, kiln_error *err)
{
    const kiln__solver *s = g->s;
    kiln_array *upper = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__gpu_new(g, g->a, s->dtype, s->m, s->n, KILN__GPU_COLUMNS, &upper, err));
    KILN_TRY(kiln__piece_run(KILN__PIECE_UPPER,
                             &(kiln__piece_arguments){.x = g->a, .m = s->m, .n = s->n}, upper,
                             s->stream, err));
    KILN_TRY(measure(g, upper, err));
    KILN_TRY(scale(g, g->a, 2, 1, far_exponent(g), true, err));

done:
    kiln_array_release(upper);
    return status;
}

kiln_status kiln__gpu_scale_back(kiln__solver_gpu *g, kiln_array *result, bool inverse,
                                 kiln_error *err)
{
    return scale(g, result, result->rank - g->s->layout.stack_rank, inverse ? 1 : -1,
                 far_exponent(g), false, err);
}

kiln_status kiln__gpu_scale_back_ends(kiln__solver_gpu *g, kiln_error *err)
{
    return scale(g, g->a, 2, -1, 0, true, err);
}

/* Whether a matrix may have failed. A kernel of kiln's tells; of few matrices the host reads all the numbers anyway, and of
 * many it asks the device to count first. */
static kiln_status may_have_failed(kiln__solver_gpu *g, const kiln_array *told, bool *may_out,
                                   kiln_error *err)
{
    enum { FEW = 256 };
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *failures = NULL;
    int64_t failed = 1;
    kiln_status status = KILN_OK;

    if (g->info_of_stack) {
        KILN_CHECK(kiln__stream_synchronize(g->s->stream, err));
        failed = *g->failed;
    } else if (told->size > FEW) {
        options.stream = g->s->stream;
        KILN_CHECK(
            kiln_array_reduce_with(KILN_REDUCE_COUNT_NONZERO, told, &options, &failures, err));
        status = kiln_array_download(failures, &failed, sizeof failed, NULL, g->s->stream, err);
        kiln_array_release(failures);
    }
    *may_out = failed != 0;
    return status;
}

/* Copy the library's result for each matrix into s->info. Nothing else in a call waits for the device. */
static kiln_status read_info(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const int64_t count = g->info_of_stack ? s->layout.count : g->matrices;
    const size_t bytes = (size_t)count * sizeof(int32_t);
    kiln_array *told = NULL;
    int32_t *info = NULL;
    bool may = false;
    kiln_status status = KILN_OK;

    if (g->info == NULL || s->task->why[0] == '\0')
        return KILN_OK;
    KILN_TRY(kiln__array_view(g->info, 1, &count, g->info->strides, g->info->data, &told, err));
    KILN_TRY(may_have_failed(g, told, &may, err));
    if (!may)
        goto done;
    KILN_TRY(kiln__make_room(&info, bytes + 1, err));
    KILN_TRY(kiln_array_download(told, info, bytes, NULL, s->stream, err));
    for (int64_t nth = 0; nth < s->layout.count; nth++) {
        const int32_t one = info[g->info_of_stack ? nth : kiln__gpu_matrix(g, nth)];
        if (one == 0)
            continue;
        KILN_TRY(kiln__solver_make_info(s, err));
        s->failed = true;
        if (s->info[nth] == 0)
            s->info[nth] = one < 0 ? -(int64_t)one : one;
    }

done:
    kiln_array_release(told);
    kiln__free(info);
    return status;
}

/* As templates/linalg/report.cu has it. */
typedef struct report_arguments {
    const void *info;
    int64_t count;
    int64_t *report;
    int64_t words[KILN__REPORT_MATRIX_WORDS];
} report_arguments;

/* A kernel looks at what each matrix came to, and the next wait tells. */
static kiln_status report_later(kiln__solver_gpu *g, kiln_error *err)
{
    enum { THREADS = 1024, BLOCKS_MAX = 512 };
    static const kiln__own_request request = {.file = "linalg/report.cu",
                                              .entry = "kiln_linalg_report"};
    const kiln__solver *s = g->s;
    const int64_t blocks = kiln__blocks(s->layout.count, THREADS);
    const kiln__launch_config config = {.grid_x = blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX,
                                        .block = THREADS};
    kiln__device *device = kiln__context_device(s->ctx);
    report_arguments call = {.info = g->info->data, .count = s->layout.count};
    void *entry = NULL;

    KILN_CHECK(kiln__device_report(device, &call.report, err));
    KILN_CHECK(kiln__own_kernel(s->ctx, &request, &entry, err));
    kiln__report_matrix_words(s->task->name, s->task->why, s->layout.stack_rank, s->layout.stack,
                              call.words);
    return kiln__launch(device, entry, &config, &call, sizeof call, s->stream, err);
}

/* NaN where a matrix failed, and no wait. Kernels of kiln's own have written NaN. */
static kiln_status defer_info(kiln__solver_gpu *g, kiln_error *err)
{
    const kiln__solver *s = g->s;

    if (g->info == NULL || s->task->why[0] == '\0' || s->layout.count == 0)
        return KILN_OK;
    if (!s->o.nan_on_failure)
        KILN_CHECK(report_later(g, err));
    for (int k = 0; k < s->task->result_count && !g->info_of_stack; k++) {
        kiln_array *y = s->result[k].array;
        const kiln__piece_arguments given = {
            .x = y, .places = g->info, .m = y->size / s->layout.count, .p = (double)NAN};
        KILN_CHECK(kiln__piece_run(KILN__PIECE_NAN, &given, y, s->stream, err));
    }
    return KILN_OK;
}

/* Whether the call need not wait: nothing has failed so far, and there is a number for each matrix of the stack. */
static bool may_defer(const kiln__solver_gpu *g)
{
    return g->s->o.deferred && !g->s->failed &&
           (g->info_of_stack || g->matrices == g->s->layout.count);
}

/* NaN for the results of a matrix that failed. */
static kiln_status fill_failed(const kiln__solver *s, int64_t nth, const kiln_array *y,
                               kiln_error *err)
{
    const int64_t count = y->size / s->layout.count;
    const int64_t item = (int64_t)kiln_dtype_size(y->dtype);
    kiln_array *one = NULL;

    KILN_CHECK(
        kiln__array_view(y, 1, &count, &item, kiln__gpu_at(y, nth, count * item), &one, err));
    const kiln_arg args[] = {kiln_arg_float((double)NAN), kiln_arg_array(one)};
    const kiln_status status =
        count == 0 ? KILN_OK
                   : kiln__builtin_run(s->ctx, KILN__BUILTIN_FILL, args, 2, s->stream, err);
    kiln_array_release(one);
    return status;
}

kiln_status kiln__solver_cuda_finish(kiln__solver *s, kiln_error *err)
{
    for (int k = 0; k < s->task->result_count; k++) {
        kiln_array **const y = &s->result[k].array;
        kiln_array *copy = NULL;
        for (int64_t nth = 0; nth < s->layout.count && s->failed && !s->filled; nth++)
            if (s->info[nth] != 0)
                KILN_CHECK(fill_failed(s, nth, *y, err));
        if ((*y)->contiguous)
            continue;
        KILN_CHECK(kiln__array_copy_on(*y, s->stream, &copy, err));
        kiln_array_release(*y);
        *y = copy;
    }
    return KILN_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static int type_of(kiln_dtype dtype)
{
    static const int types[KILN__BLAS_DTYPES] = {KILN__LT_R_32F, KILN__LT_R_64F, KILN__LT_C_32F,
                                                 KILN__LT_C_64F};
    return types[kiln__blas_dtype(dtype)];
}

kiln_status kiln__solver_cuda(kiln__solver *s, kiln_error *err)
{
    kiln__device *device = kiln__context_device(s->ctx);
    kiln__solver_gpu g = {.s = s, .matrices = 1};
    bool pushed = false, entered = false;
    kept *state = NULL;
    kiln_status status = KILN_OK;

    g.which = kiln__blas_dtype(s->dtype);
    g.type = type_of(s->dtype);
    g.real_type = type_of(s->real);
    g.a_bytes = s->m * s->n * (int64_t)kiln_dtype_size(s->dtype);
    for (int axis = 0; axis < s->a->rank - 2; axis++)
        g.matrices *= s->a->shape[axis];
    KILN_TRY(kiln__stream_no_recording(s->stream, "a factorisation of a library", err));
    KILN_TRY(get_kept(&g, &state, err));
    KILN_TRY(kiln__device_enter(device, &pushed, err));
    entered = true;
    pthread_mutex_lock(&state->lock);
    if (state->failed == NULL) {
        void *memory = NULL;
        status = kiln__host_alloc(device, sizeof *state->failed, false, &memory, err);
        state->failed = memory;
    }
    g.small_kernels = &state->small;
    g.failed = state->failed;
    if (status == KILN_OK)
        status = s->task->cuda(&g, err);
    if (status == KILN_OK)
        status = may_defer(&g) ? defer_info(&g, err) : read_info(&g, err);
    pthread_mutex_unlock(&state->lock);

done:
    s->filled = g.info_of_stack;
    if (entered)
        kiln__device_leave(device, pushed);
    kiln__pool_free(device, g.work, NULL, 0);
    kiln__free(g.host_work);
    kiln_array_release(g.a);
    kiln_array_release(g.sizes);
    kiln_array_release(g.info);
    kiln_array_release(g.pivots);
    return status;
}
