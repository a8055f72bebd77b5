/*
 * tensor.c - products of arrays of any rank: views that make them products of matrices.
 *
 *     operands > [permute, reshape] > kiln_matmul() > [reshape] > result
 *
 * Rule: a reshape that must copy does so in the order of the call's stream.
 */
#include "kiln/eager.h"
#include "linalg/internal.h"

/* ---- what all of them do --------------------------------------------------------------------- */

kiln_status kiln__tensor_options(const char *function, const kiln_matmul_options *opts,
                                 kiln_matmul_options *out, kiln_error *err)
{
    *out = (kiln_matmul_options)KILN_MATMUL_OPTIONS_INIT;
    if (opts != NULL) {
        kiln_status status = kiln__options_read(out, sizeof *out, opts, opts->struct_size,
                                                "kiln_matmul_options", err);
        if (status != KILN_OK)
            return status;
    }
    if (out->c != NULL || out->bias != NULL || out->beta != 0 || out->epilogue != 0)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "%s takes no `c`, `beta`, `bias` and `epilogue`: they are for kiln_matmul()", function);
    return KILN_OK;
}

void kiln__tensor_one(kiln_dtype dtype, unsigned char out[16])
{
    const float f = 1;
    const double d = 1;

    memset(out, 0, 16);
    switch (dtype) {
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
    case KILN_FLOAT8_E4M3FN:
    case KILN_FLOAT8_E5M2:
        kiln__narrow_store(dtype, 1, out);
        break;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(out, &f, sizeof f);
        break;
    case KILN_FLOAT64:
    case KILN_COMPLEX128:
        memcpy(out, &d, sizeof d);
        break;
    default:
        out[0] = 1; /* integers and bool: the low byte comes first */
    }
}

kiln_status kiln__tensor_reshape(const kiln_array *array, int rank, const int64_t *shape,
                                 kiln_stream *stream, kiln_array **out, kiln_error *err)
{
    const size_t itemsize = kiln_dtype_size(array->dtype);
    int64_t strides[KILN_RANK_MAX];
    kiln_array *copy = NULL;
    kiln_status status = KILN_OK;

    *out = NULL;
    if (kiln__reshape_strides(array->rank, array->shape, array->strides, itemsize, rank, shape,
                              strides))
        return kiln__array_view(array, rank, shape, strides, array->data, out, err);
    KILN_TRY(kiln__array_copy_on(array, stream, &copy, err));
    (void)kiln__reshape_strides(copy->rank, copy->shape, copy->strides, itemsize, rank, shape,
                                strides);
    KILN_TRY(kiln__array_view(copy, rank, shape, strides, copy->data, out, err));

done:
    kiln_array_release(copy);
    return status;
}

/* Whether an array that the caller gave can receive `made`. */
static kiln_status check_out(const char *function, const kiln_array *given, const kiln_array *made,
                             kiln_error *err)
{
    char wanted[160], got[160];

    KILN_CHECK(kiln__array_check(given, made->ctx, "`*out`", err));
    if (kiln__array_unwritable(given) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s: `*out` %s", function,
                          kiln__array_unwritable(given));
    if (given->rank != made->rank ||
        memcmp(given->shape, made->shape, (size_t)made->rank * sizeof made->shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s: `*out` has shape %s, but the result has %s",
                          function, kiln__shape_text(given->rank, given->shape, got, sizeof got),
                          kiln__shape_text(made->rank, made->shape, wanted, sizeof wanted));
    return KILN_OK;
}

kiln_status kiln__tensor_deliver(const char *function, kiln_array *made, kiln_stream *stream,
                                 kiln_array **out, kiln_error *err)
{
    if (*out == NULL) {
        *out = made;
        return KILN_OK;
    }
    const kiln_array *given = *out;
    kiln_status status = check_out(function, given, made, err);
    if (status == KILN_OK && made->size > 0)
        status = kiln__array_assign_on(*out, made, stream, err);
    if (status == KILN_OK && given->storage->home != stream)
        kiln__storage_used_on(given->storage, stream);
    kiln_array_release(made);
    return status;
}

kiln_status kiln__tensor_deliver_all(const char *function, kiln_array **made, int count,
                                     kiln_stream *stream, kiln_array **const *outs, kiln_error *err)
{
    unsigned fresh = 0; /* results that the caller gave no array for, as bits */
    kiln_status status = KILN_OK;

    for (int k = 0; k < count && status == KILN_OK; k++)
        if (made[k] != NULL && *outs[k] != NULL)
            status = check_out(function, *outs[k], made[k], err);
    for (int k = 0; k < count && status == KILN_OK; k++) {
        if (made[k] == NULL)
            continue;
        fresh |= *outs[k] == NULL ? 1U << k : 0;
        status = kiln__tensor_deliver(function, made[k], stream, outs[k], err);
        made[k] = NULL;
    }
    for (int k = 0; k < count && status != KILN_OK; k++) {
        kiln_array_release(made[k]);
        made[k] = NULL;
        if ((fresh >> k & 1) != 0) {
            kiln_array_release(*outs[k]);
            *outs[k] = NULL;
        }
    }
    return status;
}

/* One call of two operands. */
typedef struct pair {
    const char *function;
    const kiln_array *a, *b;
    kiln_matmul_options o;
    kiln_stream *stream;
} pair;

static kiln_status begin(pair *p, const kiln_matmul_options *opts, kiln_array **out,
                         kiln_error *err)
{
    kiln_status status = KILN_OK;

    if (p->a == NULL || p->b == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: %s is NULL", p->function,
                          out == NULL ? "`out`" : "an operand");
    status = kiln__tensor_options(p->function, opts, &p->o, err);
    if (status == KILN_OK)
        status = kiln__array_check(p->a, NULL, "the first operand", err);
    if (status == KILN_OK)
        status = kiln__array_check(p->b, p->a->ctx, "the second operand", err);
    if (status == KILN_OK)
        status = kiln__device_check(kiln__context_device(p->a->ctx), err);
    if (status == KILN_OK)
        status = kiln__context_stream(p->a->ctx, p->o.stream, &p->stream, err);
    p->o.stream = p->stream;
    return status;
}

/* A column times a row whose products nothing is added to, so that -0 stays -0. */
static kiln_status multiply(const pair *p, const kiln_array *column, const kiln_array *row,
                            kiln_dtype dtype, kiln_array **out, kiln_error *err)
{
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *wide = NULL;
    kiln_status status = KILN_OK;

    options.stream = p->stream;
    if (column->dtype == dtype || row->dtype == dtype)
        wide = kiln_array_retain((kiln_array *)column);
    else
        KILN_TRY(kiln__array_copy_as(column, dtype, NULL, p->stream, &wide, err));
    KILN_TRY(kiln_array_op(KILN_OP_MULTIPLY, KILN_ARGS(wide, row), &options, out, err));

done:
    kiln_array_release(wide);
    return status;
}

/* The product of two matrices, in another shape, delivered. `sum`: as NumPy has a sum, of one product too. */
static kiln_status finish(const pair *p, const kiln_array *a, const kiln_array *b, bool sum,
                          int rank, const int64_t *shape, kiln_array **out, kiln_error *err)
{
    kiln_array *product = NULL, *shaped = NULL;
    kiln_dtype dtype = KILN_DTYPE_NONE;
    int64_t matrix[KILN_RANK_MAX];
    int matrix_rank = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__matmul_infer(a, b, &dtype, &matrix_rank, matrix, err));
    if (sum || (p->o.alpha != 0 && p->o.alpha != 1) ||
        (p->o.dtype != KILN_DTYPE_NONE && p->o.dtype != dtype))
        KILN_TRY(kiln_matmul(a, b, &p->o, &product, err));
    else
        KILN_TRY(multiply(p, a, b, dtype, &product, err));
    KILN_TRY(kiln__tensor_reshape(product, rank, shape, p->stream, &shaped, err));
    KILN_TRY(kiln__tensor_deliver(p->function, shaped, p->stream, out, err));

done:
    kiln_array_release(product);
    return status;
}

/* ---- tensordot and its kind ------------------------------------------------------------------ */

/* Put the axes of `x` that are not summed and those that are into `order`, the latter `last` or first. Counts
 * the elements of both kinds and lists the extents of the former. */
typedef struct sorted {
    int order[KILN_RANK_MAX];
    int free_count;
    int64_t free_shape[KILN_RANK_MAX], free_size, summed_size;
} sorted;

static kiln_status sort_axes(const pair *p, const kiln_array *x, const kiln_axes *axes, bool last,
                             sorted *out, kiln_error *err)
{
    bool summed[KILN_RANK_MAX] = {false};

    out->free_count = 0;
    out->free_size = out->summed_size = 1;
    for (int k = 0; k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + x->rank : axes->axis[k];
        if (axis < 0 || axis >= x->rank || summed[axis])
            return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is %s an array of %d axes",
                              p->function, axes->axis[k],
                              axis < 0 || axis >= x->rank ? "not one of" : "named twice of",
                              x->rank);
        summed[axis] = true;
        out->summed_size *= x->shape[axis];
        out->order[(last ? x->rank - axes->count : 0) + k] = axis;
    }
    for (int axis = 0; axis < x->rank; axis++) {
        if (summed[axis])
            continue;
        out->order[(last ? 0 : axes->count) + out->free_count] = axis;
        out->free_shape[out->free_count++] = x->shape[axis];
        out->free_size *= x->shape[axis];
    }
    return KILN_OK;
}

/* An operand as a matrix whose axes are in the order of `s`. */
static kiln_status as_matrix(const pair *p, const kiln_array *x, const sorted *s, bool summed_last,
                             kiln_array **out, kiln_error *err)
{
    const int64_t shape[2] = {summed_last ? s->free_size : s->summed_size,
                              summed_last ? s->summed_size : s->free_size};
    kiln_axes axes = {.count = x->rank};
    kiln_array *turned = NULL;
    kiln_status status = KILN_OK;

    memcpy(axes.axis, s->order, (size_t)x->rank * sizeof axes.axis[0]);
    KILN_TRY(kiln_array_transpose(x, &axes, &turned, err));
    KILN_TRY(kiln__tensor_reshape(turned, 2, shape, p->stream, out, err));

done:
    kiln_array_release(turned);
    return status;
}

static kiln_status contract(const pair *p, const kiln_axes *a_axes, const kiln_axes *b_axes,
                            kiln_array **out, kiln_error *err)
{
    int64_t shape[2 * KILN_RANK_MAX];
    kiln_array *left = NULL, *right = NULL;
    char a_text[160], b_text[160];
    sorted a, b;
    kiln_status status = KILN_OK;

    if (a_axes->count != b_axes->count || a_axes->count < 0 || a_axes->count > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: %d axes of the first operand, %d of the second",
                          p->function, a_axes->count, b_axes->count);
    KILN_TRY(sort_axes(p, p->a, a_axes, true, &a, err));
    KILN_TRY(sort_axes(p, p->b, b_axes, false, &b, err));
    for (int k = 0; k < a_axes->count; k++)
        if (p->a->shape[a.order[a.free_count + k]] != p->b->shape[b.order[k]]) {
            status = kiln__fail(
                err, KILN_ERR_SHAPE, "%s: axis %d of %s and axis %d of %s differ", p->function,
                a_axes->axis[k], kiln__shape_text(p->a->rank, p->a->shape, a_text, sizeof a_text),
                b_axes->axis[k], kiln__shape_text(p->b->rank, p->b->shape, b_text, sizeof b_text));
            goto done;
        }
    if (a.free_count + b.free_count > KILN_RANK_MAX) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "%s: the result has %d axes, more than %d",
                            p->function, a.free_count + b.free_count, KILN_RANK_MAX);
        goto done;
    }
    memcpy(shape, a.free_shape, (size_t)a.free_count * sizeof shape[0]);
    memcpy(shape + a.free_count, b.free_shape, (size_t)b.free_count * sizeof shape[0]);
    KILN_TRY(as_matrix(p, p->a, &a, true, &left, err));
    KILN_TRY(as_matrix(p, p->b, &b, false, &right, err));
    KILN_TRY(finish(p, left, right, p->a->rank > 0 && p->b->rank > 0, a.free_count + b.free_count,
                    shape, out, err));

done:
    kiln_array_release(left);
    kiln_array_release(right);
    return status;
}

kiln_status kiln_array_tensordot(const kiln_array *a, const kiln_array *b, const kiln_axes *a_axes,
                                 const kiln_axes *b_axes, const kiln_matmul_options *opts,
                                 kiln_array **out, kiln_error *err)
{
    pair p = {.function = "tensordot", .a = a, .b = b};
    kiln_status status = begin(&p, opts, out, err);

    if (status == KILN_OK && (a_axes == NULL) != (b_axes == NULL))
        status = kiln__fail(err, KILN_ERR_AXIS, "tensordot: axes of one operand only");
    if (status != KILN_OK)
        return status;
    return contract(&p, a_axes != NULL ? a_axes : KILN_AXES(-2, -1),
                    b_axes != NULL ? b_axes : KILN_AXES(0, 1), out, err);
}

/* The sum over one axis of each operand; none where one of them is a scalar. */
static kiln_status contract_one(const pair *p, int a_axis, int b_axis, kiln_array **out,
                                kiln_error *err)
{
    const kiln_axes none = {.count = 0};

    if (p->a->rank == 0 || p->b->rank == 0)
        return contract(p, &none, &none, out, err);
    return contract(p, KILN_AXES(a_axis), KILN_AXES(b_axis), out, err);
}

kiln_status kiln_array_dot(const kiln_array *a, const kiln_array *b,
                           const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "dot", .a = a, .b = b};
    kiln_status status = begin(&p, opts, out, err);
    return status == KILN_OK ? contract_one(&p, -1, b->rank > 1 ? -2 : -1, out, err) : status;
}

kiln_status kiln_array_inner(const kiln_array *a, const kiln_array *b,
                             const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "inner", .a = a, .b = b};
    kiln_status status = begin(&p, opts, out, err);
    return status == KILN_OK ? contract_one(&p, -1, -1, out, err) : status;
}

/* ---- outer, kron ----------------------------------------------------------------------------- */

/* Each element of `a` times each of `b`, in `shape`. */
static kiln_status multiply_all(const pair *p, int rank, const int64_t *shape, kiln_array **out,
                                kiln_error *err)
{
    const int64_t column[2] = {p->a->size, 1}, row[2] = {1, p->b->size};
    kiln_array *left = NULL, *right = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__tensor_reshape(p->a, 2, column, p->stream, &left, err));
    KILN_TRY(kiln__tensor_reshape(p->b, 2, row, p->stream, &right, err));
    KILN_TRY(finish(p, left, right, false, rank, shape, out, err));

done:
    kiln_array_release(left);
    kiln_array_release(right);
    return status;
}

kiln_status kiln_array_outer(const kiln_array *a, const kiln_array *b,
                             const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "outer", .a = a, .b = b};
    kiln_status status = begin(&p, opts, out, err);

    if (status != KILN_OK)
        return status;
    return multiply_all(&p, 2, (const int64_t[]){a->size, b->size}, out, err);
}

kiln_status kiln_array_kron(const kiln_array *a, const kiln_array *b,
                            const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "kron", .a = a, .b = b};
    kiln_array *products = NULL, *mixed = NULL, *made = NULL;
    int64_t apart[KILN_RANK_MAX], together[KILN_RANK_MAX];
    kiln_axes order;
    kiln_status status = begin(&p, opts, out, err);

    if (status != KILN_OK)
        return status;
    const int rank = a->rank > b->rank ? a->rank : b->rank;
    if (2 * rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kron: arrays of %d axes are too much", rank);
    /* (a's axes, b's axes), then an axis of a and one of b in turn, which become one. */
    order.count = 2 * rank;
    for (int k = 0; k < rank; k++) {
        apart[k] = k < rank - a->rank ? 1 : a->shape[k - (rank - a->rank)];
        apart[rank + k] = k < rank - b->rank ? 1 : b->shape[k - (rank - b->rank)];
        together[k] = apart[k] * apart[rank + k];
        order.axis[2 * k] = k;
        order.axis[2 * k + 1] = rank + k;
    }
    KILN_TRY(multiply_all(&p, 2 * rank, apart, &products, err));
    KILN_TRY(kiln_array_transpose(products, &order, &mixed, err));
    KILN_TRY(kiln__tensor_reshape(mixed, rank, together, p.stream, &made, err));
    KILN_TRY(kiln__tensor_deliver("kron", made, p.stream, out, err));

done:
    kiln_array_release(products);
    kiln_array_release(mixed);
    return status;
}

/* ---- matrices and vectors -------------------------------------------------------------------- */

/* The conjugate of complex numbers; other arrays themselves. */
static kiln_status conjugate(const kiln_array *x, kiln_stream *stream, kiln_array **out,
                             kiln_error *err)
{
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    if (kiln_dtype_kind(x->dtype) != 'c') {
        *out = kiln_array_retain((kiln_array *)x);
        return KILN_OK;
    }
    options.stream = stream;
    return kiln_array_op(KILN_OP_CONJUGATE, KILN_ARGS(x), &options, out, err);
}

/* A product in which the vector has an axis of extent 1 more, which the result then loses. */
static kiln_status multiply_vector(pair *p, bool vector_first, kiln_array **out, kiln_error *err)
{
    const kiln_array *vector = vector_first ? p->a : p->b, *matrix = vector_first ? p->b : p->a;
    const int axis = vector_first ? -2 : -1;
    kiln_array *straight = NULL, *thin = NULL, *product = NULL, *made = NULL;
    kiln_status status = KILN_OK;

    if (vector->rank < 1 || matrix->rank < 2)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s: a vector of %d axes and a matrix of %d, where it needs 1 and 2",
                          p->function, vector->rank, matrix->rank);
    if (vector_first)
        KILN_TRY(conjugate(vector, p->stream, &straight, err));
    else
        straight = kiln_array_retain((kiln_array *)vector);
    KILN_TRY(kiln_array_newaxis(straight, axis, &thin, err));
    KILN_TRY(kiln_matmul(vector_first ? thin : matrix, vector_first ? matrix : thin, &p->o,
                         &product, err));
    KILN_TRY(kiln_array_select(product, axis, 0, &made, err));
    KILN_TRY(kiln__tensor_deliver(p->function, made, p->stream, out, err));

done:
    kiln_array_release(straight);
    kiln_array_release(thin);
    kiln_array_release(product);
    return status;
}

kiln_status kiln_array_matvec(const kiln_array *a, const kiln_array *x,
                              const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "matvec", .a = a, .b = x};
    kiln_status status = begin(&p, opts, out, err);
    return status == KILN_OK ? multiply_vector(&p, false, out, err) : status;
}

kiln_status kiln_array_vecmat(const kiln_array *x, const kiln_array *a,
                              const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    pair p = {.function = "vecmat", .a = x, .b = a};
    kiln_status status = begin(&p, opts, out, err);
    return status == KILN_OK ? multiply_vector(&p, true, out, err) : status;
}
