/*
 * solver.c - one call on a stack of matrices, for all tasks.
 *
 *     arrays > [dtype, shapes, host memory] > each matrix: the task's `run` > [failures] > arrays
 *
 * solve.c, factor.c and named.c call it. Small matrices of a stack are spread over the threads of
 * the cpu device; a large one gets all threads. On a CUDA device solver_cuda.c uses libraries. What
 * these lack is computed on the host, on copies of the operands. Tests: test_solver, test_factor.
 *
 * Rule: failures are looked at once, when all matrices are done. The first matrix that failed is
 *       named.
 */
#include "linalg/solver.h"
#include "ops/ops.h"

/* ---- one matrix ------------------------------------------------------------------------------ */

static kiln_dtype dtype_of(const kiln__solver *s, const kiln__solver_result *r)
{
    switch (r->kind) {
    case KILN__SOLVER_PLACES:
        return KILN_INT64;
    case KILN__SOLVER_REAL:
        return s->real;
    case KILN__SOLVER_COMPLEX:
        return s->real == KILN_FLOAT32 ? KILN_COMPLEX64 : KILN_COMPLEX128;
    default:
        return s->dtype;
    }
}

static size_t item_of(const kiln__solver *s, const kiln__solver_result *r)
{
    return kiln_dtype_size(dtype_of(s, r));
}

/* Elements of a result for one matrix. */
static int64_t size_of(const kiln__solver_result *r)
{
    return (r->rows < 0 ? 1 : r->rows) * (r->columns < 0 ? 1 : r->columns);
}

void kiln__solver_gather(const kiln__solver *s, const kiln__side *side, int64_t nth, int64_t rows,
                         int64_t columns, char *to)
{
    const int64_t item = (int64_t)kiln_dtype_size(s->dtype);
    const int64_t shape[] = {rows, columns}, from[] = {side->row, side->column};
    const int64_t dense[] = {item, rows * item};

    kiln__host_copy(to, dense, kiln__side_matrix(&s->layout, side, nth), from, 2, shape,
                    (size_t)item);
}

void kiln__solver_scatter(const kiln__solver *s, int result, int64_t nth, int64_t step,
                          const char *from)
{
    const kiln__solver_result *r = &s->result[result];
    const int64_t item = (int64_t)item_of(s, r), columns = r->columns < 0 ? 1 : r->columns;
    const int64_t shape[] = {r->rows < 0 ? 1 : r->rows, columns}, to[] = {columns * item, item};
    const int64_t dense[] = {item, step * item};

    kiln__host_copy(r->to + nth * size_of(r) * item, to, from, dense, 2, shape, (size_t)item);
}

static void run_matrix(kiln__solver *s, int64_t nth, const kiln__solver_work *work)
{
    s->info[nth] = s->task->run(s, nth, work);
    for (int k = 0; k < s->task->result_count && s->info[nth] != 0; k++) {
        const kiln__solver_result *r = &s->result[k];
        kiln__dense_nan(dtype_of(s, r), size_of(r),
                        r->to + (size_t)(nth * size_of(r)) * item_of(s, r));
    }
}

/* Memory of the host for a thread's buffers. That of the cpu device's pool is kept from call to call: new pages of
 * large buffers take a twentieth of the time that solving the equations does. */
static char *take_buffers(const kiln__solver *s, size_t bytes, kiln__block **block)
{
    kiln__device *device = kiln__context_device(s->ctx);

    *block = NULL;
    if (!kiln__device_is_host(device))
        return kiln__alloc(bytes);
    return kiln__pool_alloc(device, bytes, s->stream, block, NULL) == KILN_OK ? (*block)->address
                                                                              : NULL;
}

static void give_buffers(const kiln__solver *s, char *memory, kiln__block *block)
{
    if (block != NULL)
        kiln__pool_free(kiln__context_device(s->ctx), block, NULL, 0);
    else
        kiln__free(memory);
}

/* Matrices [begin, end). */
static void run_matrices(const void *args, int64_t begin, int64_t end)
{
    kiln__solver *s = *(kiln__solver *const *)args;
    const int64_t long_side = s->m > s->n ? s->m : s->n;
    const bool full = s->o.full && s->task->result_count > 1; /* values alone are always few */
    const int64_t side = full ? long_side : s->m < s->n ? s->m : s->n;
    const int64_t wide = s->columns > side ? s->columns : side > 0 ? side : 1;
    const bool fits = long_side < INT64_MAX / 256 / wide; /* bytes of all buffers can be counted */
    const size_t bytes = fits ? (size_t)(long_side * wide + 1) * kiln_dtype_size(s->dtype) : 0;
    const size_t all = KILN__SOLVER_BUFFERS * bytes + (size_t)(long_side + 1) * 4;
    kiln__block *block = NULL;
    char *memory = fits ? take_buffers(s, all, &block) : NULL;
    kiln__solver_work work;

    if (memory == NULL) {
        atomic_store(&s->no_memory, true);
        return;
    }
    for (size_t k = 0; k < KILN__SOLVER_BUFFERS; k++)
        work.buffer[k] = memory + k * bytes;
    work.pivots = (int32_t *)(void *)(memory + KILN__SOLVER_BUFFERS * bytes);
    for (int64_t nth = begin; nth < end; nth++)
        run_matrix(s, nth, &work);
    give_buffers(s, memory, block);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static kiln_status check_arrays(kiln__solver *s, const kiln_linalg_options *opts,
                                kiln_array **const *outs, kiln_error *err)
{
    const bool two = s->task->has_right_side;
    kiln_status status = KILN_OK;

    if (s->a == NULL || (two && s->b == NULL))
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", s->task->name,
                          s->a == NULL ? "a" : "b");
    for (int k = 0; k < s->task->result_count; k++) {
        if (outs[k] == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "%s: `out` of result %d is NULL", s->task->name,
                              k + 1);
        for (int other = 0; other < k; other++)
            if (outs[k] == outs[other])
                return kiln__fail(err, KILN_ERR_ARGUMENT,
                                  "%s: results %d and %d are to be stored at one address",
                                  s->task->name, other + 1, k + 1);
    }
    s->o = (kiln_linalg_options)KILN_LINALG_OPTIONS_INIT;
    if (opts != NULL)
        KILN_TRY(kiln__options_read(&s->o, sizeof s->o, opts, opts->struct_size,
                                    "kiln_linalg_options", err));
    KILN_TRY(kiln__array_check(s->a, NULL, "`a`", err));
    if (two)
        KILN_TRY(kiln__array_check(s->b, s->a->ctx, "`b`", err));
    s->ctx = s->a->ctx;
    KILN_TRY(kiln__device_check(kiln__context_device(s->ctx), err));
    KILN_TRY(kiln__context_stream(s->ctx, s->o.stream, &s->stream, err));

done:
    return status;
}

/* float32 and complex64 stay what they are; integers and bool become float64, as in NumPy. */
static kiln_status decide_dtype(kiln__solver *s, kiln_error *err)
{
    kiln_dtype dtype = s->a->dtype;

    if (s->b != NULL)
        (void)kiln__promote(dtype, s->b->dtype, &dtype);
    s->dtype = strchr("biu", kiln_dtype_kind(dtype)) != NULL ? KILN_FLOAT64 : dtype;
    if (!kiln__dense_takes(s->dtype))
        return kiln__fail(err, KILN_ERR_DTYPE,
                          "%s takes float32, float64, complex64 and complex128, not %s",
                          s->task->name, kiln_dtype_name(dtype));
    s->real = s->dtype == KILN_COMPLEX64    ? KILN_FLOAT32
              : s->dtype == KILN_COMPLEX128 ? KILN_FLOAT64
                                            : s->dtype;
    return KILN_OK;
}

/* The stack and the extents of matrices; NumPy's rules. */
static kiln_status decide_shape(kiln__solver *s, kiln_error *err)
{
    char a_text[160], b_text[160];
    const kiln_array *a = s->a, *b = s->b;
    kiln__product *p = &s->layout;
    const bool vector = b != NULL && b->rank == 1;
    int rank = 0;

    if (a->rank < 2 || (s->task->square && a->shape[a->rank - 1] != a->shape[a->rank - 2]))
        return kiln__fail(err, KILN_ERR_SHAPE, "%s takes %s, not an array of shape %s",
                          s->task->name, s->task->square ? "square matrices" : "matrices",
                          kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text));
    s->m = a->shape[a->rank - 2];
    s->n = a->shape[a->rank - 1];
    s->columns = b == NULL || b->rank < 2 ? -1 : b->shape[b->rank - 1];
    (void)kiln__shape_broadcast(&rank, p->stack, a->rank - 2, a->shape);
    if (b != NULL && (b->rank == 0 || b->shape[vector ? 0 : b->rank - 2] != s->m ||
                      !kiln__shape_broadcast(&rank, p->stack, vector ? 0 : b->rank - 2, b->shape)))
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s: matrices of shape %s do not fit right sides of shape %s",
                          s->task->name, kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text),
                          kiln__shape_text(b->rank, b->shape, b_text, sizeof b_text));
    p->stack_rank = rank;
    p->count = 1;
    for (int axis = 0; axis < rank; axis++)
        p->count *= p->stack[axis];
    s->task->shape(s);
    return KILN_OK;
}

/* The shape of a result's array, and its rank. */
static int shape_of(const kiln__solver *s, const kiln__solver_result *r, int64_t *shape)
{
    int rank = s->layout.stack_rank;

    memcpy(shape, s->layout.stack, (size_t)rank * sizeof shape[0]);
    if (r->rows >= 0)
        shape[rank++] = r->rows;
    if (r->columns >= 0)
        shape[rank++] = r->columns;
    return rank;
}

kiln_status kiln__solver_infer(kiln__solver *s, kiln__linalg_value *results, kiln_error *err)
{
    KILN_CHECK(decide_shape(s, err));
    KILN_CHECK(decide_dtype(s, err));
    for (int k = 0; k < s->task->result_count; k++) {
        results[k].dtype = dtype_of(s, &s->result[k]);
        results[k].rank = shape_of(s, &s->result[k], results[k].shape);
    }
    return KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether the host's loops work on the arrays themselves, or nothing does. */
static bool is_in_place(const kiln__solver *s)
{
    const kiln__device *device = kiln__context_device(s->ctx);

    return kiln__device_is_host(device) || kiln__device_is_dry(device);
}

/* On a device that is not there, what a copy to the host needs: elements without gaps. */
static kiln_status plan_copy(const kiln_array *x, kiln_error *err)
{
    const kiln__device *device = kiln__context_device(x->ctx);
    kiln_array *dense = NULL;

    if (kiln__device_is_host(device) || !kiln__device_is_dry(device))
        return KILN_OK;
    const kiln_status status = kiln_array_contiguous((kiln_array *)x, &dense, err);
    kiln_array_release(dense);
    return status;
}

/* An operand in host memory, of the call's dtype: `side` gets its strides over the stack. */
static kiln_status fetch(kiln__solver *s, const kiln_array *x, int matrix_axes, kiln_array **cast,
                         void **host, kiln__side *side, kiln_error *err)
{
    const size_t bytes = (size_t)x->size * kiln_dtype_size(s->dtype);
    int64_t strides[KILN_RANK_MAX];
    kiln_status status = KILN_OK;

    if (x->dtype == s->dtype)
        *cast = kiln_array_retain((kiln_array *)x);
    else
        KILN_TRY(kiln__array_copy_as(x, s->dtype, NULL, s->stream, cast, err));
    memcpy(strides, (*cast)->strides, (size_t)x->rank * sizeof strides[0]);
    side->data = (*cast)->data;
    KILN_TRY(plan_copy(*cast, err));
    if (!is_in_place(s)) {
        *host = kiln__alloc(bytes > 0 ? bytes : 1);
        if (*host == NULL) {
            status = kiln__fail_memory(err, bytes);
            goto done;
        }
        KILN_TRY(kiln_array_download(*cast, *host, bytes, NULL, s->stream, err));
        kiln__c_order(*cast, strides);
        side->data = *host;
    }
    const int stack = x->rank - matrix_axes;
    side->row = strides[stack];
    side->column = matrix_axes > 1 ? strides[stack + 1] : 0;
    memset(side->step, 0, sizeof side->step);
    for (int axis = 0; axis < stack; axis++)
        if (x->shape[axis] != 1)
            side->step[s->layout.stack_rank - stack + axis] = strides[axis];

done:
    return status;
}

/* The array of a result, and where its elements are written. */
static kiln_status make_result(const kiln__solver *s, kiln__solver_result *r, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    const int rank = shape_of(s, r, shape);
    kiln_status status =
        kiln__array_new(s->ctx, dtype_of(s, r), rank, shape, NULL, s->stream, &r->array, err);
    if (status != KILN_OK)
        return status;
    r->to = r->array->data;
    if (is_in_place(s))
        return KILN_OK;
    const size_t bytes = (size_t)r->array->size * item_of(s, r);
    r->host = kiln__alloc(bytes > 0 ? bytes : 1);
    r->to = r->host;
    return r->host != NULL ? KILN_OK : kiln__fail_memory(err, bytes);
}

/* The pivots of lu_solve, to the host, where a wrong one would lead out of the matrix. */
static kiln_status fetch_pivots(kiln__solver *s, kiln_error *err)
{
    char a_text[160], p_text[160];
    const kiln_array *a = s->a, *p = s->pivots;

    KILN_CHECK(kiln__array_check(p, s->ctx, "`pivots`", err));
    if (p->dtype != KILN_INT64)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: pivots are int64, not %s", s->task->name,
                          kiln_dtype_name(p->dtype));
    if (p->rank != a->rank - 1 ||
        memcmp(p->shape, a->shape, (size_t)p->rank * sizeof p->shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: factors of shape %s and pivots of shape %s",
                          s->task->name, kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text),
                          kiln__shape_text(p->rank, p->shape, p_text, sizeof p_text));
    const size_t bytes = (size_t)p->size * sizeof *s->host_pivots;
    s->host_pivots = kiln__alloc(bytes + 1);
    if (s->host_pivots == NULL)
        return kiln__fail_memory(err, bytes);
    KILN_CHECK(kiln_array_download(p, s->host_pivots, bytes, NULL, s->stream, err));
    KILN_CHECK(kiln__stream_synchronize(s->stream, err));
    for (int64_t k = 0; k < p->size; k++)
        if (s->host_pivots[k] < 0 || s->host_pivots[k] >= s->n)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: pivot %lld of %lld rows", s->task->name,
                              (long long)s->host_pivots[k], (long long)s->n);
    return KILN_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Where a matrix failed: ERR_SINGULAR in the name of the first, unless NaN are asked for. */
static kiln_status examine(const kiln__solver *s, kiln_error *err)
{
    if (atomic_load(&s->no_memory))
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "%s: no memory for a matrix of %lld rows",
                          s->task->name, (long long)s->m);
    for (int64_t nth = 0; nth < s->layout.count && !s->o.nan_on_failure; nth++)
        if (s->info[nth] != 0)
            return kiln__fail_matrix(s->task->name, s->task->why, s->info[nth], nth,
                                     s->layout.stack_rank, s->layout.stack, err);
    return KILN_OK;
}

static kiln_status run_all(kiln__solver *s, kiln_error *err)
{
    kiln__device *device = kiln__context_device(s->ctx);
    kiln__solver *const args = s;

    if (kiln__device_is_dry(device)) /* there is nothing to compute with */
        return KILN_OK;
    if (kiln__device_is_host(device) && s->layout.count > 1 && kiln__dense_is_small(s->n))
        return kiln__on_threads(device, run_matrices, &args, sizeof args, s->layout.count, err);
    if (s->layout.count > 0)
        run_matrices(&args, 0, s->layout.count);
    return KILN_OK;
}

/* By the loops of the host. */
static kiln_status compute(kiln__solver *s, kiln_error *err)
{
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__solver_make_info(s, err));
    KILN_TRY(fetch(s, s->a, 2, &s->cast_a, &s->host_a, &s->layout.a, err));
    if (s->b != NULL)
        KILN_TRY(fetch(s, s->b, s->b->rank > 1 ? 2 : 1, &s->cast_b, &s->host_b, &s->layout.b, err));
    for (int k = 0; k < s->task->result_count; k++)
        KILN_TRY(make_result(s, &s->result[k], err));
    KILN_TRY(run_all(s, err));
    KILN_TRY(examine(s, err));
    for (int k = 0; k < s->task->result_count; k++) {
        const kiln__solver_result *r = &s->result[k];
        if (r->host != NULL && r->array->size > 0)
            KILN_TRY(kiln_array_upload(r->array, r->host, NULL, s->stream, err));
    }

done:
    return status;
}

kiln_status kiln__solver_call(kiln__solver *s, const kiln_linalg_options *opts,
                              kiln_array **const *outs, kiln_error *err)
{
    kiln_status status = KILN_OK;

    KILN_TRY(check_arrays(s, opts, outs, err));
    KILN_TRY(decide_shape(s, err));
    KILN_TRY(decide_dtype(s, err));
    if (s->pivots != NULL)
        KILN_TRY(fetch_pivots(s, err));
    if (s->task->cuda != NULL && !kiln__device_is_host(kiln__context_device(s->ctx))) {
        KILN_TRY(kiln__solver_cuda(s, err));
        if (s->failed)
            KILN_TRY(examine(s, err));
        KILN_TRY(kiln__solver_cuda_finish(s, err));
    } else {
        KILN_TRY(compute(s, err));
    }
    kiln_array *made[KILN__SOLVER_RESULTS];
    for (int k = 0; k < s->task->result_count; k++) {
        made[k] = s->result[k].array;
        s->result[k].array = NULL;
    }
    status =
        kiln__tensor_deliver_all(s->task->name, made, s->task->result_count, s->stream, outs, err);

done:
    for (int k = 0; k < KILN__SOLVER_RESULTS; k++) {
        kiln_array_release(s->result[k].array);
        kiln__free(s->result[k].host);
    }
    kiln_array_release(s->cast_a);
    kiln_array_release(s->cast_b);
    kiln__free(s->host_a);
    kiln__free(s->host_b);
    kiln__free(s->info);
    kiln__free(s->host_pivots);
    return status;
}
