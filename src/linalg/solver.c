/*
 * solver.c - equations, inverses, determinants and Cholesky factors of stacks of matrices.
 *
 *     arrays > [dtype, shapes, host memory] > each matrix: gather, factorise (dense.c), scatter > arrays
 *
 * Small matrices of a stack are spread over the threads of the cpu device; a large one has all of them. On a CUDA
 * device the operands are copied to the host first, and the results back: right, and no faster than the host.
 *
 * Rule: what each matrix came to is looked at once, when all are done; the first that failed is named.
 */
#include "linalg/dense.h"
#include "linalg/internal.h"
#include "ops/ops.h"

typedef enum task { TASK_SOLVE, TASK_INV, TASK_DET, TASK_CHOLESKY, TASK_TRIANGULAR } task;

/* One call. */
typedef struct solver {
    const char *function;
    task task;
    const kiln_array *a, *b; /* b: NULL but for equations */
    kiln_linalg_options o;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_dtype dtype;
    int64_t n, columns;   /* a is n x n; b and y are n x columns */
    kiln__product layout; /* its stack, and the sides a and b */
    kiln_array *cast_a, *cast_b;
    void *host_a, *host_b; /* copies of a CUDA device's arrays */
    kiln_array *y, *log;   /* the result; the second one of slogdet */
    char *to, *to_log;     /* where their elements are written on the host */
    void *host_y, *host_log;
    int64_t *info; /* of each matrix */
    atomic_bool no_memory;
} solver;

/* ---- one matrix ------------------------------------------------------------------------------ */

/* Memory of a thread. */
typedef struct work {
    char *a, *b;
    int32_t *pivots;
} work;

static bool has_right_side(const solver *s)
{
    return s->task == TASK_SOLVE || s->task == TASK_TRIANGULAR;
}

/* A matrix of any strides into columns without gaps. */
static void gather(const solver *s, const kiln__side *side, int64_t nth, int64_t columns, char *to)
{
    const int64_t item = (int64_t)kiln_dtype_size(s->dtype);
    const int64_t shape[] = {s->n, columns}, from[] = {side->row, side->column};
    const int64_t dense[] = {item, s->n * item};

    kiln__host_copy(to, dense, kiln__side_matrix(&s->layout, side, nth), from, 2, shape,
                    (size_t)item);
}

/* The nth result, C-order, from columns without gaps, or from their transpose. */
static void scatter(const solver *s, int64_t nth, int64_t columns, bool transposed,
                    const char *from)
{
    const int64_t item = (int64_t)kiln_dtype_size(s->dtype), down = s->n * item;
    const int64_t shape[] = {s->n, columns}, to[] = {columns * item, item};
    const int64_t dense[] = {transposed ? down : item, transposed ? item : down};

    kiln__host_copy(s->to + nth * s->n * columns * item, to, from, dense, 2, shape, (size_t)item);
}

static void determine(solver *s, int64_t nth, const work *w)
{
    const size_t item = kiln_dtype_size(s->dtype);
    const size_t real = kiln_dtype_kind(s->dtype) == 'c' ? item / 2 : item;
    double sign[2], log, det[2];

    (void)kiln__dense_lu(s->dtype, s->n, w->a, w->pivots);
    kiln__dense_lu_det(s->dtype, s->n, w->a, w->pivots, sign, &log, det);
    memcpy(s->to + (size_t)nth * item, s->log != NULL ? sign : det, item);
    if (s->log != NULL)
        memcpy(s->to_log + (size_t)nth * real, &log, real);
}

static void run_matrix(solver *s, int64_t nth, const work *w)
{
    int64_t info = 0;

    kiln__side a = s->layout.a;
    if (s->task == TASK_CHOLESKY &&
        s->o.upper) { /* R is the transpose of the factor of the transpose */
        a.row = s->layout.a.column;
        a.column = s->layout.a.row;
    }
    gather(s, &a, nth, s->n, w->a);
    if (has_right_side(s))
        gather(s, &s->layout.b, nth, s->columns, w->b);
    else if (s->task == TASK_INV)
        kiln__dense_identity(s->dtype, s->n, w->b);
    switch (s->task) {
    case TASK_DET:
        determine(s, nth, w);
        return;
    case TASK_CHOLESKY:
        info = kiln__dense_cholesky(s->dtype, s->n, w->a);
        break;
    case TASK_TRIANGULAR:
        info = kiln__dense_triangular(s->dtype, s->o.upper, s->n, s->columns, w->a, w->b);
        break;
    default:
        info = kiln__dense_lu(s->dtype, s->n, w->a, w->pivots);
        if (info == 0)
            kiln__dense_lu_solve(s->dtype, s->n, s->columns, w->a, w->pivots, w->b);
    }
    char *made = s->task == TASK_CHOLESKY ? w->a : w->b;
    if (info != 0)
        kiln__dense_nan(s->dtype, s->n * s->columns, made);
    s->info[nth] = info;
    scatter(s, nth, s->columns, s->task == TASK_CHOLESKY && s->o.upper, made);
}

/* Matrices [begin, end). */
static void run_matrices(const void *args, int64_t begin, int64_t end)
{
    solver *s = *(solver *const *)args;
    const size_t item = kiln_dtype_size(s->dtype);
    const size_t a_bytes = (size_t)s->n * (size_t)s->n * item;
    const size_t b_bytes = (size_t)s->n * (size_t)s->columns * item;
    char *memory = kiln__alloc(a_bytes + b_bytes + (size_t)(s->n + 1) * sizeof(int32_t));

    if (memory == NULL) {
        atomic_store(&s->no_memory, true);
        return;
    }
    const work w = {memory, memory + a_bytes, (int32_t *)(void *)(memory + a_bytes + b_bytes)};
    for (int64_t nth = begin; nth < end; nth++)
        run_matrix(s, nth, &w);
    kiln__free(memory);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static kiln_status check_arrays(solver *s, const kiln_linalg_options *opts, const void *out,
                                kiln_error *err)
{
    const bool two = has_right_side(s);
    kiln_status status = KILN_OK;

    if (s->a == NULL || (two && s->b == NULL) || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", s->function,
                          s->a == NULL  ? "a"
                          : out == NULL ? "out"
                                        : "b");
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
static kiln_status decide_dtype(solver *s, kiln_error *err)
{
    kiln_dtype dtype = s->a->dtype;

    if (s->b != NULL)
        (void)kiln__promote(dtype, s->b->dtype, &dtype);
    s->dtype = strchr("biu", kiln_dtype_kind(dtype)) != NULL ? KILN_FLOAT64 : dtype;
    if (!kiln__dense_takes(s->dtype))
        return kiln__fail(err, KILN_ERR_DTYPE,
                          "%s takes float32, float64, complex64 and complex128, not %s",
                          s->function, kiln_dtype_name(dtype));
    return KILN_OK;
}

/* Shapes of the stack and of the result; NumPy's rules. */
static kiln_status decide_shape(solver *s, int *rank_out, int64_t *shape, kiln_error *err)
{
    char a_text[160], b_text[160];
    const kiln_array *a = s->a, *b = s->b;
    kiln__product *p = &s->layout;
    const bool vector = b != NULL && b->rank == 1;
    int rank = 0;

    if (a->rank < 2 || a->shape[a->rank - 1] != a->shape[a->rank - 2])
        return kiln__fail(err, KILN_ERR_SHAPE, "%s takes square matrices, not an array of shape %s",
                          s->function, kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text));
    s->n = a->shape[a->rank - 1];
    s->columns = b == NULL || vector ? 1 : b->rank > 1 ? b->shape[b->rank - 1] : 0;
    if (b == NULL && s->task != TASK_DET)
        s->columns = s->n;
    (void)kiln__shape_broadcast(&rank, p->stack, a->rank - 2, a->shape);
    if (b != NULL && (b->rank == 0 || b->shape[vector ? 0 : b->rank - 2] != s->n ||
                      !kiln__shape_broadcast(&rank, p->stack, vector ? 0 : b->rank - 2, b->shape)))
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s: matrices of shape %s and right sides of shape %s", s->function,
                          kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text),
                          kiln__shape_text(b->rank, b->shape, b_text, sizeof b_text));
    p->stack_rank = rank;
    p->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = p->stack[axis];
        p->count *= p->stack[axis];
    }
    if (s->task != TASK_DET)
        shape[rank++] = s->n;
    if (s->task != TASK_DET && !vector)
        shape[rank++] = s->columns;
    *rank_out = rank;
    return KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* An operand in host memory, of the call's dtype: `side` gets its strides over the stack. */
static kiln_status fetch(solver *s, const kiln_array *x, int matrix_axes, kiln_array **cast,
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
    if (!kiln__device_is_host(kiln__context_device(s->ctx))) {
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

/* A result, and where its elements are written. */
static kiln_status make_result(const solver *s, kiln_dtype dtype, int rank, const int64_t *shape,
                               kiln_array **out, void **host, char **to, kiln_error *err)
{
    kiln_status status = kiln__array_new(s->ctx, dtype, rank, shape, NULL, s->stream, out, err);

    if (status != KILN_OK)
        return status;
    *to = (*out)->data;
    if (kiln__device_is_host(kiln__context_device(s->ctx)))
        return KILN_OK;
    const size_t bytes = (size_t)(*out)->size * kiln_dtype_size(dtype);
    *host = kiln__alloc(bytes > 0 ? bytes : 1);
    *to = *host;
    return *host != NULL ? KILN_OK : kiln__fail_memory(err, bytes);
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* "matrix [1, 2] of the stack", "the matrix". */
static const char *name_matrix(const solver *s, int64_t nth, char *text, size_t bytes)
{
    const kiln__product *p = &s->layout;
    int64_t index[KILN_RANK_MAX];
    size_t length = 0;

    if (p->stack_rank == 0) {
        snprintf(text, bytes, "the matrix");
        return text;
    }
    for (int axis = p->stack_rank - 1; axis >= 0; axis--) {
        index[axis] = nth % p->stack[axis];
        nth /= p->stack[axis];
    }
    length = (size_t)snprintf(text, bytes, "matrix [");
    for (int axis = 0; axis < p->stack_rank && length < bytes; axis++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%lld", axis > 0 ? ", " : "",
                                   (long long)index[axis]);
    if (length < bytes)
        snprintf(text + length, bytes - length, "] of the stack");
    return text;
}

/* Look at what all matrices came to. */
static kiln_status examine(const solver *s, kiln_error *err)
{
    static const char *const whys[] = {
        [TASK_SOLVE] = "is singular: pivot %lld of its LU factorisation is 0",
        [TASK_INV] = "is singular: pivot %lld of its LU factorisation is 0",
        [TASK_CHOLESKY] =
            "is not positive definite: its leading minor of order %lld is not positive",
        [TASK_TRIANGULAR] = "is singular: element %lld of its diagonal is 0",
    };
    char name[128], why[128];

    if (atomic_load(&s->no_memory))
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "%s: no memory for a matrix of %lld rows",
                          s->function, (long long)s->n);
    for (int64_t nth = 0; nth < s->layout.count && !s->o.nan_on_failure; nth++) {
        if (s->info[nth] == 0)
            continue;
        const char *plan = whys[s->task];
        const char *number = strstr(plan, "%lld");
        snprintf(why, sizeof why, "%.*s%lld%s", (int)(number - plan), plan, (long long)s->info[nth],
                 number + 4);
        return kiln__fail(err, KILN_ERR_SINGULAR, "%s: %s %s", s->function,
                          name_matrix(s, nth, name, sizeof name), why);
    }
    return KILN_OK;
}

static kiln_status run_all(solver *s, kiln_error *err)
{
    kiln__device *device = kiln__context_device(s->ctx);
    solver *const args = s;

    if (kiln__device_is_host(device) && s->layout.count > 1 && kiln__dense_is_small(s->n))
        return kiln__on_threads(device, run_matrices, &args, sizeof args, s->layout.count, err);
    if (s->layout.count > 0)
        run_matrices(&args, 0, s->layout.count);
    return KILN_OK;
}

static kiln_status compute(solver *s, int rank, const int64_t *shape, bool two_results,
                           kiln_error *err)
{
    const kiln_dtype real = s->dtype == KILN_COMPLEX64    ? KILN_FLOAT32
                            : s->dtype == KILN_COMPLEX128 ? KILN_FLOAT64
                                                          : s->dtype;
    kiln_status status = KILN_OK;

    KILN_TRY(fetch(s, s->a, 2, &s->cast_a, &s->host_a, &s->layout.a, err));
    if (s->b != NULL)
        KILN_TRY(fetch(s, s->b, s->b->rank > 1 ? 2 : 1, &s->cast_b, &s->host_b, &s->layout.b, err));
    KILN_TRY(make_result(s, s->dtype, rank, shape, &s->y, &s->host_y, &s->to, err));
    if (two_results)
        KILN_TRY(make_result(s, real, rank, shape, &s->log, &s->host_log, &s->to_log, err));
    s->info = kiln__calloc((size_t)s->layout.count + 1, sizeof s->info[0]);
    if (s->info == NULL) {
        status = kiln__fail_memory(err, (size_t)s->layout.count * sizeof s->info[0]);
        goto done;
    }
    KILN_TRY(run_all(s, err));
    KILN_TRY(examine(s, err));
    if (s->host_y != NULL && s->y->size > 0)
        KILN_TRY(kiln_array_upload(s->y, s->host_y, NULL, s->stream, err));
    if (s->host_log != NULL && s->log->size > 0)
        KILN_TRY(kiln_array_upload(s->log, s->host_log, NULL, s->stream, err));

done:
    return status;
}

/* The whole call. `second` is where slogdet's logarithm goes; NULL for all others. */
static kiln_status call(solver *s, const kiln_linalg_options *opts, kiln_array **out,
                        kiln_array **second, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(check_arrays(s, opts, out, err));
    KILN_TRY(decide_shape(s, &rank, shape, err));
    KILN_TRY(decide_dtype(s, err));
    KILN_TRY(compute(s, rank, shape, second != NULL, err));
    kiln_array *made = s->y;
    s->y = NULL;
    KILN_TRY(kiln__tensor_deliver(s->function, made, s->stream, out, err));
    if (second != NULL) {
        made = s->log;
        s->log = NULL;
        KILN_TRY(kiln__tensor_deliver(s->function, made, s->stream, second, err));
    }

done:
    kiln_array_release(s->cast_a);
    kiln_array_release(s->cast_b);
    kiln_array_release(s->y);
    kiln_array_release(s->log);
    void *const memory[] = {s->host_a, s->host_b, s->host_y, s->host_log, s->info};
    for (size_t k = 0; k < KILN_COUNT_OF(memory); k++)
        kiln__free(memory[k]);
    return status;
}

/* ---- the public functions -------------------------------------------------------------------- */

void kiln_linalg_options_init(kiln_linalg_options *opts, size_t given)
{
    kiln__options_init(opts, given);
}

kiln_status kiln_linalg_solve(const kiln_array *a, const kiln_array *b,
                              const kiln_linalg_options *opts, kiln_array **out, kiln_error *err)
{
    solver s = {.function = "solve", .task = TASK_SOLVE, .a = a, .b = b};
    return call(&s, opts, out, NULL, err);
}

kiln_status kiln_linalg_solve_triangular(const kiln_array *a, const kiln_array *b,
                                         const kiln_linalg_options *opts, kiln_array **out,
                                         kiln_error *err)
{
    solver s = {.function = "solve_triangular", .task = TASK_TRIANGULAR, .a = a, .b = b};
    return call(&s, opts, out, NULL, err);
}

kiln_status kiln_linalg_inv(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **out,
                            kiln_error *err)
{
    solver s = {.function = "inv", .task = TASK_INV, .a = a};
    return call(&s, opts, out, NULL, err);
}

kiln_status kiln_linalg_cholesky(const kiln_array *a, const kiln_linalg_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    solver s = {.function = "cholesky", .task = TASK_CHOLESKY, .a = a};
    return call(&s, opts, out, NULL, err);
}

kiln_status kiln_linalg_det(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **out,
                            kiln_error *err)
{
    solver s = {.function = "det", .task = TASK_DET, .a = a};
    return call(&s, opts, out, NULL, err);
}

kiln_status kiln_linalg_slogdet(const kiln_array *a, const kiln_linalg_options *opts,
                                kiln_array **sign_out, kiln_array **log_out, kiln_error *err)
{
    solver s = {.function = "slogdet", .task = TASK_DET, .a = a};

    if (log_out == NULL || log_out == sign_out)
        return kiln__fail(err, log_out == NULL ? KILN_ERR_NULL : KILN_ERR_ARGUMENT,
                          "slogdet: `log_out` is %s",
                          log_out == NULL ? "NULL" : "the address of `sign_out`");
    return call(&s, opts, sign_out, log_out, err);
}
