/*
 * infer.c - products of arrays of any rank by their names, as src/graph records them.
 *
 *     a node of a graph > [infer the result's dtype and shape; call] > tensor.c, einsum.c, chain.c
 *
 * Operands may have no memory while a result is inferred: only their dtypes, shapes and ranks are
 * read. Test: test_graph_linalg.
 */
#include "linalg/einsum.h"
#include "ops/ops.h"

/* The axes of `x` but for `count` of them from `from` on, behind those that are there. */
static void append_without(const kiln_array *x, int from, int count, kiln__linalg_value *out)
{
    for (int axis = 0; axis < x->rank; axis++)
        if (axis < from || axis >= from + count)
            out->shape[out->rank++] = x->shape[axis];
}

static kiln_status differ(const char *function, const kiln_array *a, const kiln_array *b,
                          const char *why, kiln_error *err)
{
    char left[160], right[160];

    return kiln__fail(err, KILN_ERR_SHAPE, "%s of arrays of shapes %s and %s: %s", function,
                      kiln__shape_text(a->rank, a->shape, left, sizeof left),
                      kiln__shape_text(b->rank, b->shape, right, sizeof right), why);
}

/* The sum over `count` axes of each operand, in their order: a's from `a_from` on, b's from `b_from` on. */
static kiln_status infer_contraction(const char *function, const kiln_array *const *operands,
                                     int a_from, int b_from, int count, kiln__linalg_value *out,
                                     kiln_error *err)
{
    const kiln_array *a = operands[0], *b = operands[1];

    if (count > a->rank || count > b->rank)
        return differ(function, a, b, "there are more axes to sum over than an operand has", err);
    for (int k = 0; k < count; k++)
        if (a->shape[a_from + k] != b->shape[b_from + k])
            return differ(function, a, b, "the axes to sum over differ", err);
    if (a->rank + b->rank - 2 * count > KILN_RANK_MAX)
        return differ(function, a, b, "the result has too many axes", err);
    append_without(a, a_from, count, out);
    append_without(b, b_from, count, out);
    return KILN_OK;
}

/* Those of one axis each; scalars are multiplied. */
static kiln_status infer_dot(const char *function, const kiln_array *const *operands, bool inner,
                             kiln__linalg_value *out, kiln_error *err)
{
    const int a_rank = operands[0]->rank, b_rank = operands[1]->rank;
    const int count = a_rank > 0 && b_rank > 0;

    return infer_contraction(function, operands, a_rank - 1,
                             inner || b_rank < 2 ? b_rank - 1 : b_rank - 2, count, out, err);
}

static kiln_status infer_kron(const kiln_array *const *operands, kiln__linalg_value *out,
                              kiln_error *err)
{
    const kiln_array *a = operands[0], *b = operands[1];

    out->rank = a->rank > b->rank ? a->rank : b->rank;
    if (2 * out->rank > KILN_RANK_MAX)
        return differ("kron", a, b, "arrays of so many axes are too much", err);
    for (int k = 0; k < out->rank; k++) {
        const int left = k - (out->rank - a->rank), right = k - (out->rank - b->rank);
        if (kiln__mul_overflow(left < 0 ? 1 : a->shape[left], right < 0 ? 1 : b->shape[right],
                               &out->shape[k]))
            return differ("kron", a, b, "the result has too many elements", err);
    }
    return KILN_OK;
}

/* A matrix and a vector of stacks: the last two axes of one, the last of the other. */
static kiln_status infer_vector(const char *function, const kiln_array *matrix,
                                const kiln_array *vector, bool first, kiln__linalg_value *out,
                                kiln_error *err)
{
    if (matrix->rank < 2 || vector->rank < 1)
        return differ(function, first ? vector : matrix, first ? matrix : vector,
                      "a matrix needs two axes, a vector one", err);
    const int64_t *axes = matrix->shape + matrix->rank - 2;
    if (axes[!first] != vector->shape[vector->rank - 1])
        return differ(function, first ? vector : matrix, first ? matrix : vector,
                      "the axes to sum over differ", err);
    if (!kiln__shape_broadcast(&out->rank, out->shape, matrix->rank - 2, matrix->shape) ||
        !kiln__shape_broadcast(&out->rank, out->shape, vector->rank - 1, vector->shape))
        return differ(function, first ? vector : matrix, first ? matrix : vector,
                      "their stacks do not broadcast", err);
    out->shape[out->rank++] = axes[first];
    return KILN_OK;
}

static kiln_status infer_einsum(const kiln_array *const *operands, size_t count, const char *text,
                                kiln__linalg_value *out, kiln_error *err)
{
    kiln__einsum e;

    KILN_CHECK(kiln__einsum_parse(text, operands, count, &e, err));
    out->rank = e.result.count;
    for (int k = 0; k < out->rank; k++)
        out->shape[k] = e.extent[e.result.label[k]];
    return KILN_OK;
}

static kiln_status infer_chain(const kiln_array *const *operands, size_t count,
                               kiln__linalg_value *out, kiln_error *err)
{
    const kiln_array *first = operands[0], *last = operands[count - 1];

    if (count < 2)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "multi_dot: %zu arrays, where there must be two",
                          count);
    for (size_t k = 0; k < count; k++) {
        const kiln_array *x = operands[k];
        if (x->rank != 2 && !(x->rank == 1 && (k == 0 || k + 1 == count)))
            return kiln__fail(err, KILN_ERR_SHAPE, "multi_dot: array %zu has %d axes, not 2", k + 1,
                              x->rank);
        if (k > 0 && operands[k - 1]->shape[operands[k - 1]->rank - 1] != x->shape[0])
            return differ("multi_dot", operands[k - 1], x, "columns do not meet rows", err);
    }
    if (first->rank > 1)
        out->shape[out->rank++] = first->shape[0];
    if (last->rank > 1)
        out->shape[out->rank++] = last->shape[1];
    return KILN_OK;
}

static kiln_status infer_power(const kiln_array *a, int64_t n, kiln__linalg_value *out,
                               kiln_error *err)
{
    char text[160];

    if (a->rank < 2 || a->shape[a->rank - 1] != a->shape[a->rank - 2])
        return kiln__fail(err, KILN_ERR_SHAPE, "matrix_power: %s is no stack of square matrices",
                          kiln__shape_text(a->rank, a->shape, text, sizeof text));
    out->dtype = a->dtype; /* of int8, too */
    if (n < 0 && kiln_dtype_kind(out->dtype) != 'f' && kiln_dtype_kind(out->dtype) != 'c')
        out->dtype = KILN_FLOAT64; /* that of an inverse */
    append_without(a, 0, 0, out);
    return KILN_OK;
}

kiln_status kiln__tensor_infer(kiln__tensor_function function, const kiln_array *const *operands,
                               size_t count, const int64_t *data, kiln__linalg_value *out,
                               kiln_error *err)
{
    memset(out, 0, sizeof *out);
    out->dtype = operands[0]->dtype;
    for (size_t k = 1; k < count; k++)
        (void)kiln__promote(out->dtype, operands[k]->dtype, &out->dtype);
    out->dtype = kiln__product_dtype(out->dtype);
    switch (function) {
    case KILN__TENSOR_dot:
    case KILN__TENSOR_inner:
        return infer_dot(function == KILN__TENSOR_dot ? "dot" : "inner", operands,
                         function == KILN__TENSOR_inner, out, err);
    case KILN__TENSOR_outer:
        out->rank = 2;
        out->shape[0] = operands[0]->size;
        out->shape[1] = operands[1]->size;
        return KILN_OK;
    case KILN__TENSOR_kron:
        return infer_kron(operands, out, err);
    case KILN__TENSOR_matvec:
        return infer_vector("matvec", operands[0], operands[1], false, out, err);
    case KILN__TENSOR_vecmat:
        return infer_vector("vecmat", operands[1], operands[0], true, out, err);
    case KILN__TENSOR_tensordot:
        if (data[0] < 0 || data[0] > KILN_RANK_MAX)
            return kiln__fail(err, KILN_ERR_AXIS, "tensordot over %lld axes", (long long)data[0]);
        return infer_contraction("tensordot", operands, operands[0]->rank - (int)data[0], 0,
                                 (int)data[0], out, err);
    case KILN__TENSOR_einsum:
        return infer_einsum(operands, count, (const char *)data, out, err);
    case KILN__TENSOR_multi_dot:
        return infer_chain(operands, count, out, err);
    case KILN__TENSOR_matrix_power:
        return infer_power(operands[0], data[0], out, err);
    case KILN__TENSOR_COUNT:
        break;
    }
    return KILN_OK;
}

/* The sum over the last `count` axes of a and the first of b. */
static kiln_status run_tensordot(const kiln_array *const *operands, int count,
                                 const kiln_matmul_options *o, kiln_array **out, kiln_error *err)
{
    kiln_axes last = {.count = count}, first = {.count = count};

    for (int k = 0; k < count; k++) {
        last.axis[k] = k - count;
        first.axis[k] = k;
    }
    return kiln_array_tensordot(operands[0], operands[1], &last, &first, o, out, err);
}

kiln_status kiln__tensor_run(kiln__tensor_function function, const kiln_array *const *operands,
                             size_t count, const int64_t *data, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    static kiln_status (*const pairs[KILN__TENSOR_COUNT])(const kiln_array *a, const kiln_array *b,
                                                          const kiln_matmul_options *opts,
                                                          kiln_array **out, kiln_error *err) = {
        [KILN__TENSOR_dot] = kiln_array_dot,       [KILN__TENSOR_inner] = kiln_array_inner,
        [KILN__TENSOR_outer] = kiln_array_outer,   [KILN__TENSOR_kron] = kiln_array_kron,
        [KILN__TENSOR_matvec] = kiln_array_matvec, [KILN__TENSOR_vecmat] = kiln_array_vecmat,
    };
    kiln_matmul_options o = KILN_MATMUL_OPTIONS_INIT;

    o.stream = stream;
    if (pairs[function] != NULL)
        return pairs[function](operands[0], operands[1], &o, out, err);
    if (function == KILN__TENSOR_tensordot)
        return run_tensordot(operands, (int)data[0], &o, out, err);
    if (function == KILN__TENSOR_einsum)
        return kiln_array_einsum((const char *)data, operands, count, &o, out, err);
    if (function == KILN__TENSOR_multi_dot)
        return kiln_linalg_multi_dot(operands, count, &o, out, err);
    return kiln_linalg_matrix_power(operands[0], data[0], &o, out, err);
}
