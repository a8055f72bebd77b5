/*
 * diagonals.c - diag() of expressions: a diagonal of a matrix, or the matrix that has a vector as one.
 *
 *     opaque.c > [diagonals] > a view of the matrix > a copy
 *
 * Test: test_rearrange.
 */
#include "graph/graph.h"
#include "kiln/rearrange.h"

/* The diagonal number k of a matrix. */
static kiln_status diagonal_of(const kiln_array *x, int64_t k, kiln_array **out, kiln_error *err)
{
    const int64_t numbers[] = {k, 0, 1};
    kiln__arranged g;

    KILN_CHECK(kiln__arrange_view(KILN_REARRANGE_DIAGONAL, numbers, 3, x->rank, x->shape, &g, err));
    const int64_t stride = x->strides[0] + x->strides[1];
    const int64_t offset = g.map[0].start * x->strides[0] + g.map[1].start * x->strides[1];
    return kiln__array_view(x, 1, g.shape, &stride, (char *)x->data + offset, out, err);
}

/* NumPy's diag: of a matrix a diagonal, of a vector the matrix that has it as one. */
kiln_status kiln__diagonal_infer(const kiln_array *x, int64_t k, int *rank, int64_t *shape,
                                 kiln_error *err)
{
    const int64_t numbers[] = {k, 0, 1};
    kiln__arranged g;

    if (x->rank == 2) {
        KILN_CHECK(kiln__arrange_view(KILN_REARRANGE_DIAGONAL, numbers, 3, 2, x->shape, &g, err));
        *rank = 1;
        shape[0] = g.shape[0];
        return KILN_OK;
    }
    if (x->rank != 1)
        return kiln__fail(err, KILN_ERR_SHAPE, "diag: an array with one or two axes is needed");
    if (k <= -INT32_MAX || k >= INT32_MAX)
        return kiln__fail(err, KILN_ERR_SHAPE, "diag: there is no diagonal %lld",
                          (long long)k);
    *rank = 2;
    shape[0] = shape[1] = x->shape[0] + (k < 0 ? -k : k);
    return KILN_OK;
}

kiln_status kiln__diagonal_run(const kiln_array *x, int64_t k, kiln_stream *stream, kiln_array *out,
                               kiln_error *err)
{
    const kiln_arg zeros[] = {kiln_arg_int(0), kiln_arg_array(out)};
    kiln_array *line = NULL;
    kiln_status status = KILN_OK;

    if (x->rank == 1 && out->size > 0)
        KILN_TRY(kiln__builtin_run(x->ctx, KILN__BUILTIN_FILL, zeros, KILN_COUNT_OF(zeros), stream,
                                   err));
    KILN_TRY(diagonal_of(x->rank == 1 ? out : x, k, &line, err));
    if (line->size > 0)
        KILN_TRY(x->rank == 1 ? kiln__array_assign_on(line, x, stream, err)
                              : kiln__array_assign_on(out, line, stream, err));

done:
    kiln_array_release(line);
    return status;
}
