/*
 * compose.c - functions that consist of factorisations and products (kiln/linalg.h):
 * pseudo-inverses, least squares, LU factors as matrices, equations of tensors, exponentials.
 *
 * They call solve.c, factor.c, matmul.c and the kernels of steps.c. Test: test_norms.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "linalg/dense.h"
#include "linalg/steps.h"
#include "ops/ops.h"

/* A new array of that shape, to be written by a piece. */
static kiln_status make_like(kiln__steps *w, const kiln_array *like, int rank, const int64_t *shape,
                             kiln_error *err)
{
    return kiln__array_new(w->ctx, like->dtype, rank, shape, NULL, w->stream, kiln__steps_new(w),
                           err);
}

static kiln_status run_piece(kiln__steps *w, kiln__piece piece, const kiln__piece_arguments *given,
                             const kiln_array *like, kiln_error *err)
{
    KILN_CHECK(make_like(w, like, like->rank, like->shape, err));
    return kiln__piece_run(piece, given, kiln__steps_last(w), w->stream, err);
}

/* ---- pseudo-inverses ------------------------------------------------------------------------- */

/* The factors of the pseudo-inverse, V S^-1 and U^H; values below `fraction` of the largest count as 0. Also the
 * values. */
static kiln_status invert_values(kiln__steps *w, const kiln_array *a, double fraction,
                                 const kiln_array **left, const kiln_array **right,
                                 const kiln_array **values, kiln_error *err)
{
    kiln_array **const u = kiln__steps_new(w), **const s = kiln__steps_new(w);
    kiln_array **const vh = kiln__steps_new(w);
    KILN_CHECK(kiln_linalg_svd(a, &w->o, u, s, vh, err));
    *values = *s;
    KILN_CHECK(kiln__steps_adjoint(w, *u, err));
    *right = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_adjoint(w, *vh, err));
    *left = kiln__steps_last(w);
    if ((*left)->size == 0)
        return KILN_OK;
    KILN_CHECK(kiln_array_slice(*s, -1, 0, 1, 1, kiln__steps_new(w), err));
    const kiln__piece_arguments given = {.x = *s, .z = kiln__steps_last(w), .p = fraction};
    KILN_CHECK(run_piece(w, KILN__PIECE_RECIPROCAL, &given, *s, err));
    KILN_CHECK(kiln_array_newaxis(kiln__steps_last(w), (*s)->rank - 1, kiln__steps_new(w), err));
    KILN_CHECK(kiln__steps_op(w, KILN_OP_MULTIPLY, KILN_ARGS(*left, kiln__steps_last(w)), err));
    *left = kiln__steps_last(w);
    return KILN_OK;
}

static kiln_status pinv(kiln__steps *w, const kiln_array *a, double rcond, kiln_error *err)
{
    const kiln_array *left = NULL, *right = NULL, *values = NULL;
    KILN_CHECK(invert_values(w, a, rcond >= 0 ? rcond : 1e-15, &left, &right, &values, err));
    return kiln__steps_multiply(w, left, right, err);
}

kiln_status kiln_linalg_pinv(const kiln_array *a, double rcond, const kiln_linalg_options *opts,
                             kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "pinv", a, false, NULL, out, opts, err));
    const kiln_status status = pinv(&w, a, rcond, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

/* ---- least squares ----------------------------------------------------------------------------- */

/* A problem and what becomes of it. Matrices whose reciprocal singular values may be infinite or subnormal are
 * brought near 1 by powers of two, and the right sides too, as LAPACK does (xGELSD). */
typedef struct least_squares {
    const kiln_array *a, *b;
    double fraction;
    int near; /* the greatest exponent that stays */
    const kiln_array *left, *right, *values;
    const kiln_array *a_size, *b_size; /* NULL: nothing was scaled */
} least_squares;

/* Whether the host sees that no matrix is to be scaled: of other devices it would have to wait for that. */
static bool is_near(const kiln__steps *w, const least_squares *l)
{
    const kiln_array *const s = l->values;
    const int64_t count = s->rank > 0 ? s->shape[s->rank - 1] : 0;
    bool near = true;

    for (int64_t k = 0; k < s->size && near; k += count) {
        const double most = s->dtype == KILN_FLOAT32 ? (double)((const float *)s->data)[k]
                                                     : ((const double *)s->data)[k];
        near = most == 0 || !isfinite(most) || abs(ilogb(most)) < l->near;
    }
    return near && !kiln__device_is_dry(kiln__context_device(w->ctx));
}

/* The largest size of the elements of each matrix: `axes` of them, which become 1. */
static kiln_status measure(kiln__steps *w, const kiln_array *x, int axes, const kiln_array **out,
                           kiln_error *err)
{
    KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_NORMINF, x,
                                  axes == 2 ? KILN_AXES(-2, -1) : KILN_AXES(-1), true, err));
    *out = kiln__steps_last(w);
    return KILN_OK;
}

static kiln_status bring_near(kiln__steps *w, const least_squares *l, const kiln_array **x,
                              const kiln_array *size, int axes, kiln_error *err)
{
    const int64_t m =
        (*x)->shape[(*x)->rank - 1] * (axes == 2 ? (*x)->shape[(*x)->rank - 2] : 1);
    const kiln__piece_arguments given = {.x = *x, .z = size, .m = m, .n = l->near, .p = 1};

    KILN_CHECK(run_piece(w,
                         kiln_dtype_kind((*x)->dtype) == 'c' ? KILN__PIECE_SCALE_COMPLEX
                                                             : KILN__PIECE_SCALE,
                         &given, *x, err));
    *x = kiln__steps_last(w);
    return KILN_OK;
}

static kiln_status factor(kiln__steps *w, least_squares *l, int b_axes, kiln_error *err)
{
    const bool host = kiln__device_is_host(kiln__context_device(w->ctx));
    const bool plain =
        l->a->size == 0 || l->b->size == 0 || !kiln__dense_takes(l->a->dtype); /* a mistake */

    if (host || plain)
        KILN_CHECK(
            invert_values(w, l->a, l->fraction, &l->left, &l->right, &l->values, err));
    if (plain || (host && is_near(w, l)))
        return KILN_OK;
    KILN_CHECK(measure(w, l->a, 2, &l->a_size, err));
    KILN_CHECK(measure(w, l->b, b_axes, &l->b_size, err));
    KILN_CHECK(bring_near(w, l, &l->a, l->a_size, 2, err));
    KILN_CHECK(bring_near(w, l, &l->b, l->b_size, b_axes, err));
    if (b_axes == 1) {
        KILN_CHECK(kiln_array_select(l->a_size, -1, 0, kiln__steps_new(w), err));
        l->a_size = kiln__steps_last(w);
    }
    return invert_values(w, l->a, l->fraction, &l->left, &l->right, &l->values, err);
}

/* V S^-1 U^H b, of the scale of `b` and the matrices as they were given. */
static kiln_status solve_factored(kiln__steps *w, const least_squares *l, kiln_error *err)
{
    KILN_CHECK(kiln__steps_multiply(w, l->right, l->b, err));
    if (l->b->rank == 1 &&
        l->a->rank > 2) { /* a vector for each matrix, which would be taken for a matrix */
        KILN_CHECK(
            kiln_array_newaxis(kiln__steps_last(w), l->a->rank - 1, kiln__steps_new(w), err));
        KILN_CHECK(kiln__steps_multiply(w, l->left, kiln__steps_last(w), err));
        KILN_CHECK(kiln_array_select(kiln__steps_last(w), -1, 0, kiln__steps_new(w), err));
    } else {
        KILN_CHECK(kiln__steps_multiply(w, l->left, kiln__steps_last(w), err));
    }
    if (l->a_size == NULL)
        return KILN_OK;
    const kiln_array *const x = kiln__steps_last(w);
    const kiln__piece_arguments given = {.x = x, .y = l->b_size, .z = l->a_size, .n = l->near};
    return run_piece(w,
                     kiln_dtype_kind(x->dtype) == 'c' ? KILN__PIECE_RESCALE_COMPLEX
                                                      : KILN__PIECE_RESCALE,
                     &given, x, err);
}

static kiln_status lstsq(kiln__steps *w, const kiln_array *a, const kiln_array *b, double rcond,
                         kiln_error *err)
{
    char a_text[160], b_text[160];
    kiln_dtype dtype = a->dtype;
    int64_t stack[KILN_RANK_MAX];
    int rank = 0;
    const int b_axes = b->rank == 1 ? 1 : 2;

    if (a->rank < 2 || b->rank == 0 || b->shape[b->rank - b_axes] != a->shape[a->rank - 2] ||
        !kiln__shape_broadcast(&rank, stack, a->rank - 2, a->shape) ||
        !kiln__shape_broadcast(&rank, stack, b->rank - b_axes, b->shape))
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "lstsq: matrices of shape %s do not fit right sides of shape %s",
                          kiln__shape_text(a->rank, a->shape, a_text, sizeof a_text),
                          kiln__shape_text(b->rank, b->shape, b_text, sizeof b_text));
    (void)kiln__promote(a->dtype, b->dtype, &dtype);
    dtype = strchr("biu", kiln_dtype_kind(dtype)) != NULL ? KILN_FLOAT64 : dtype;
    const bool narrow = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    const double epsilon = narrow ? (double)FLT_EPSILON : DBL_EPSILON;
    least_squares l = {.fraction = rcond >= 0 ? rcond : epsilon * (double)(m > n ? m : n),
                       .near = narrow ? 40 : 400};
    KILN_CHECK(kiln__steps_cast(w, a, dtype, err));
    l.a = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_cast(w, b, dtype, err));
    l.b = kiln__steps_last(w);
    KILN_CHECK(factor(w, &l, b_axes, err));
    return solve_factored(w, &l, err);
}

kiln_status kiln_linalg_lstsq(const kiln_array *a, const kiln_array *b, double rcond,
                              const kiln_linalg_options *opts, kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "lstsq", a, true, b, out, opts, err));
    const kiln_status status = lstsq(&w, a, b, rcond, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

/* ---- LU factors as matrices ------------------------------------------------------------------ */

/* L or U, from the matrices in which lu_factor() keeps both. */
static kiln_status take_triangle(kiln__steps *w, kiln__piece piece, const kiln_array *both,
                                 int axis, int64_t extent, kiln_error *err)
{
    kiln_array **const part = kiln__steps_new(w);
    KILN_CHECK(kiln_array_slice(both, axis, 0, extent, 1, part, err));
    const int64_t *const ends = (*part)->shape + (*part)->rank - 2;
    return run_piece(w, piece, &(kiln__piece_arguments){.x = *part, .m = ends[0], .n = ends[1]},
                     *part, err);
}

/* What the exchanges of lu_factor() make of the numbers of m rows: int64, (..., m). */
static kiln_status follow_exchanges(kiln__steps *w, kiln__piece piece, const kiln_array *pivots,
                                    int64_t m, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    const int last = pivots->rank - 1;

    memcpy(shape, pivots->shape, (size_t)last * sizeof shape[0]);
    shape[last] = m;
    KILN_CHECK(make_like(w, pivots, pivots->rank, shape, err));
    return kiln__piece_run(
        piece, &(kiln__piece_arguments){.places = pivots, .m = m, .n = pivots->shape[last]},
        kiln__steps_last(w), w->stream, err);
}

/* P, with a 1 in the row of `a` that each row of L U is. */
static kiln_status permutation(kiln__steps *w, const kiln_array *lu, const kiln_array *pivots,
                               kiln_error *err)
{
    const int64_t m = lu->shape[lu->rank - 2];
    const bool narrow = lu->dtype == KILN_FLOAT32 || lu->dtype == KILN_COMPLEX64;
    int64_t shape[KILN_RANK_MAX];

    KILN_CHECK(follow_exchanges(w, KILN__PIECE_ROW_OF, pivots, m, err));
    KILN_CHECK(kiln_array_newaxis(kiln__steps_last(w), -2, kiln__steps_new(w), err));
    const kiln_array *const rows = kiln__steps_last(w);
    memcpy(shape, lu->shape, (size_t)lu->rank * sizeof shape[0]);
    shape[lu->rank - 1] = m;
    KILN_CHECK(kiln__array_new(w->ctx, narrow ? KILN_FLOAT32 : KILN_FLOAT64, lu->rank, shape, NULL,
                               w->stream, kiln__steps_new(w), err));
    return kiln__piece_run(KILN__PIECE_ONE_HOT,
                           &(kiln__piece_arguments){.places = rows, .m = m, .n = m},
                           kiln__steps_last(w), w->stream, err);
}

/* P, if it is asked for, L and U of one call; without P the rows of L are in the order of those of `a`. */
static kiln_status lu(kiln__steps *w, const kiln_array *a, bool with_p,
                      const kiln_array *results[3], kiln_error *err)
{
    kiln_array **const both = kiln__steps_new(w), **const pivots = kiln__steps_new(w);
    KILN_CHECK(kiln_linalg_lu_factor(a, &w->o, both, pivots, err));
    const int64_t count = (*pivots)->shape[(*pivots)->rank - 1];
    const int64_t m = (*both)->shape[(*both)->rank - 2];

    KILN_CHECK(take_triangle(w, KILN__PIECE_UPPER, *both, -2, count, err));
    results[2] = kiln__steps_last(w);
    KILN_CHECK(take_triangle(w, KILN__PIECE_UNIT, *both, -1, count, err));
    results[1] = kiln__steps_last(w);
    if (with_p) {
        KILN_CHECK(permutation(w, *both, *pivots, err));
        results[0] = kiln__steps_last(w);
        return KILN_OK;
    }
    KILN_CHECK(follow_exchanges(w, KILN__PIECE_PLACE_OF, *pivots, m, err));
    const kiln__piece_arguments rows = {
        .x = results[1], .places = kiln__steps_last(w), .m = m, .n = count};
    KILN_CHECK(run_piece(w, KILN__PIECE_ROWS, &rows, results[1], err));
    results[1] = kiln__steps_last(w);
    return KILN_OK;
}

kiln_status kiln_linalg_lu(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **p_out,
                           kiln_array **l_out, kiln_array **u_out, kiln_error *err)
{
    kiln_array **const outs[] = {p_out, l_out, u_out};
    const kiln_array *results[] = {NULL, NULL, NULL};
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "lu", a, false, NULL, u_out, opts, err));
    if (l_out == NULL || l_out == u_out || l_out == p_out || p_out == u_out)
        return kiln__fail(err, l_out == NULL ? KILN_ERR_NULL : KILN_ERR_ARGUMENT, "lu: %s",
                          l_out == NULL ? "`l_out` is NULL"
                                        : "two results are to be stored at one address");
    kiln_status status = lu(&w, a, p_out != NULL, results, err);
    if (status == KILN_OK) {
        kiln_array *made[3];
        for (int k = 0; k < 3; k++)
            made[k] = kiln_array_retain((kiln_array *)results[k]);
        status = kiln__tensor_deliver_all("lu", made, 3, w.stream, outs, err);
    }
    return kiln__steps_drop(&w, status);
}

/* ---- equations by factors -------------------------------------------------------------------- */

/* L L^H x = b, or R^H R x = b. */
static kiln_status cho_solve(kiln__steps *w, const kiln_array *c, const kiln_array *b,
                             kiln_error *err)
{
    char text[160];
    kiln_linalg_options lower = w->o, upper = w->o;

    lower.upper = false;
    upper.upper = true;
    if (c->rank < 2)
        return kiln__fail(err, KILN_ERR_SHAPE, "cho_solve takes factors, not an array of shape %s",
                          kiln__shape_text(c->rank, c->shape, text, sizeof text));
    KILN_CHECK(kiln__steps_adjoint(w, c, err));
    const kiln_array *adjoint = kiln__steps_last(w);
    KILN_CHECK(
        kiln_linalg_solve_triangular(w->o.upper ? adjoint : c, b, &lower, kiln__steps_new(w), err));
    const kiln_array *half = kiln__steps_last(w);
    if (b->rank != 1 || half->rank == 1)
        return kiln_linalg_solve_triangular(w->o.upper ? c : adjoint, half, &upper,
                                            kiln__steps_new(w), err);
    KILN_CHECK(kiln_array_newaxis(half, half->rank, kiln__steps_new(w), err));
    KILN_CHECK(kiln_linalg_solve_triangular(w->o.upper ? c : adjoint, kiln__steps_last(w), &upper,
                                            kiln__steps_new(w), err));
    return kiln_array_select(kiln__steps_last(w), -1, 0, kiln__steps_new(w), err);
}

kiln_status kiln_linalg_cho_solve(const kiln_array *c, const kiln_array *b,
                                  const kiln_linalg_options *opts, kiln_array **out,
                                  kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "cho_solve", c, true, b, out, opts, err));
    const kiln_status status = cho_solve(&w, c, b, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int64_t size_of(const kiln_array *x, int begin, int end)
{
    int64_t size = 1;

    for (int k = begin; k < end; k++)
        size *= x->shape[k];
    return size;
}

/* `a` as a square matrix of which the first `split` axes are the rows. */
static kiln_status as_square(kiln__steps *w, const kiln_array *a, int split, kiln_error *err)
{
    char text[160];
    const int64_t shape[] = {size_of(a, 0, split), size_of(a, split, a->rank)};

    if (shape[0] != shape[1])
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s: the first %d axes of shape %s have %lld elements, the others %lld",
                          w->function, split,
                          kiln__shape_text(a->rank, a->shape, text, sizeof text),
                          (long long)shape[0], (long long)shape[1]);
    return kiln__tensor_reshape(a, 2, shape, w->stream, kiln__steps_new(w), err);
}

static kiln_status tensorsolve(kiln__steps *w, const kiln_array *a, const kiln_array *b,
                               const kiln_axes *axes, kiln_error *err)
{
    kiln_axes order = {.count = 0};
    bool last[KILN_RANK_MAX] = {false};

    for (int k = 0; axes != NULL && k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + a->rank : axes->axis[k];
        if (axis < 0 || axis >= a->rank || last[axis])
            return kiln__fail(err, KILN_ERR_AXIS, "tensorsolve: axis %d is %s of %d axes",
                              axes->axis[k],
                              axis < 0 || axis >= a->rank ? "not one" : "given twice", a->rank);
        last[axis] = true;
    }
    for (int k = 0; k < a->rank; k++)
        if (!last[k])
            order.axis[order.count++] = k;
    for (int k = 0; axes != NULL && k < axes->count; k++)
        order.axis[order.count++] = axes->axis[k] < 0 ? axes->axis[k] + a->rank : axes->axis[k];
    if (b->rank > a->rank)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "tensorsolve: `b` has %d axes, more than the %d of `a`", b->rank,
                          a->rank);
    KILN_CHECK(kiln_array_transpose(a, &order, kiln__steps_new(w), err));
    const kiln_array *x = kiln__steps_last(w);
    KILN_CHECK(as_square(w, x, b->rank, err));
    const kiln_array *matrix = kiln__steps_last(w);
    KILN_CHECK(kiln__tensor_reshape(b, 1, &b->size, w->stream, kiln__steps_new(w), err));
    KILN_CHECK(kiln_linalg_solve(matrix, kiln__steps_last(w), &w->o, kiln__steps_new(w), err));
    return kiln__tensor_reshape(kiln__steps_last(w), x->rank - b->rank, x->shape + b->rank,
                                w->stream, kiln__steps_new(w), err);
}

kiln_status kiln_linalg_tensorsolve(const kiln_array *a, const kiln_array *b, const kiln_axes *axes,
                                    const kiln_linalg_options *opts, kiln_array **out,
                                    kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "tensorsolve", a, true, b, out, opts, err));
    const kiln_status status = tensorsolve(&w, a, b, axes, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

static kiln_status tensorinv(kiln__steps *w, const kiln_array *a, int split, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];

    if (split <= 0 || split > a->rank)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "tensorinv: `split` is %d of %d axes", split,
                          a->rank);
    KILN_CHECK(as_square(w, a, split, err));
    KILN_CHECK(kiln_linalg_inv(kiln__steps_last(w), &w->o, kiln__steps_new(w), err));
    memcpy(shape, a->shape + split, (size_t)(a->rank - split) * sizeof shape[0]);
    memcpy(shape + a->rank - split, a->shape, (size_t)split * sizeof shape[0]);
    return kiln__tensor_reshape(kiln__steps_last(w), a->rank, shape, w->stream, kiln__steps_new(w),
                                err);
}

kiln_status kiln_linalg_tensorinv(const kiln_array *a, int split, const kiln_linalg_options *opts,
                                  kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "tensorinv", a, false, NULL, out, opts, err));
    const kiln_status status = tensorinv(&w, a, split, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

/* ---- exponentials ---------------------------------------------------------------------------- */

/* How often to halve matrices so that the approximation holds: once for all of the stack. */
static kiln_status halvings(kiln__steps *w, const kiln_array *a, int *out, kiln_error *err)
{
    double most = 0;

    *out = 0;
    if (a->size == 0)
        return KILN_OK;
    KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_NORM1, a, KILN_AXES(-2), false, err));
    KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_MAX, kiln__steps_last(w), NULL, false, err));
    KILN_CHECK(kiln__steps_cast(w, kiln__steps_last(w), KILN_FLOAT64, err));
    KILN_CHECK(kiln_array_download(kiln__steps_last(w), &most, sizeof most, NULL, w->stream, err));
    /* Of the approximation of order 13 in float64: N. J. Higham, "The scaling and squaring method for the matrix
     * exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005). */
    if (kiln__device_is_dry(kiln__context_device(a->ctx)))
        most = 6; /* all that any number of halvings needs */
    if (isfinite(most) && most > 5.371920351148152)
        *out = (int)ceil(log2(most / 5.371920351148152));
    return KILN_OK;
}

/* p x + q y + r z + s, the last in the diagonal. */
static kiln_status combine(kiln__steps *w, const kiln_array *const even[4], const double c[4],
                           kiln_error *err)
{
    const kiln_array *like = even[3];
    const kiln__piece_arguments given = {.x = even[3],
                                         .y = even[2],
                                         .z = even[1],
                                         .p = c[3],
                                         .q = c[2],
                                         .r = c[1],
                                         .s = c[0],
                                         .m = like->shape[like->rank - 2],
                                         .n = like->shape[like->rank - 1]};
    return run_piece(w, KILN__PIECE_COMBINE, &given, like, err);
}

/* The sum of b[k] a^k over k = first, first + 2, ... first + 12; `even` holds a^0 (unused), a^2, a^4, a^6. */
static kiln_status pade_half(kiln__steps *w, const kiln_array *const even[4], int first,
                             kiln_error *err)
{
    static const double b[] = {64764752532480000,
                               32382376266240000,
                               7771770303897600,
                               1187353796428800,
                               129060195264000,
                               10559470521600,
                               670442572800,
                               33522128640,
                               1323241920,
                               40840800,
                               960960,
                               16380,
                               182,
                               1};
    /* Divided by b[0], so that float32 holds them. */
    const double low[] = {b[first] / b[0], b[first + 2] / b[0], b[first + 4] / b[0],
                          b[first + 6] / b[0]};
    const double high[] = {0, b[first + 8] / b[0], b[first + 10] / b[0], b[first + 12] / b[0]};
    KILN_CHECK(combine(w, even, high, err));
    KILN_CHECK(kiln__steps_multiply(w, even[3], kiln__steps_last(w), err));
    const kiln_array *top = kiln__steps_last(w);
    KILN_CHECK(combine(w, even, low, err));
    return kiln__steps_op(w, KILN_OP_ADD, KILN_ARGS(top, kiln__steps_last(w)), err);
}

static kiln_status expm(kiln__steps *w, const kiln_array *given, kiln_error *err)
{
    char text[160];
    const kiln_array *even[4] = {NULL};
    int times = 0;

    if (given->rank < 2 || given->shape[given->rank - 1] != given->shape[given->rank - 2])
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "expm takes square matrices, not an array of shape %s",
                          kiln__shape_text(given->rank, given->shape, text, sizeof text));
    const bool exact = strchr("biu", kiln_dtype_kind(given->dtype)) != NULL;
    KILN_CHECK(kiln__steps_cast(w, given, exact ? KILN_FLOAT64 : given->dtype, err));
    KILN_CHECK(halvings(w, kiln__steps_last(w), &times, err));
    KILN_CHECK(kiln__steps_cast(w, given, exact ? KILN_FLOAT64 : given->dtype, err));
    KILN_CHECK(
        kiln__steps_op(w, KILN_OP_MULTIPLY, KILN_ARGS(kiln__steps_last(w), ldexp(1, -times)), err));
    const kiln_array *a = kiln__steps_last(w);
    if (a->size == 0)
        return KILN_OK;
    for (int k = 1; k < 4; k++) {
        KILN_CHECK(kiln__steps_multiply(w, k == 1 ? a : even[1], k == 1 ? a : even[k - 1], err));
        even[k] = kiln__steps_last(w);
    }
    KILN_CHECK(pade_half(w, even, 1, err));
    KILN_CHECK(kiln__steps_multiply(w, a, kiln__steps_last(w), err));
    const kiln_array *odd = kiln__steps_last(w);
    KILN_CHECK(pade_half(w, even, 0, err));
    const kiln_array *rest = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_op(w, KILN_OP_ADD, KILN_ARGS(rest, odd), err));
    const kiln_array *above = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_op(w, KILN_OP_SUBTRACT, KILN_ARGS(rest, odd), err));
    KILN_CHECK(kiln_linalg_solve(kiln__steps_last(w), above, &w->o, kiln__steps_new(w), err));
    for (int k = 0; k < times; k++) { /* into two arrays in turn */
        kiln_array *x = kiln__steps_last(w), *square = NULL;
        KILN_CHECK(kiln_matmul(x, x, &w->product, &square, err));
        kiln_array_release(x);
        w->made[w->count - 1] = square;
    }
    return KILN_OK;
}

kiln_status kiln_linalg_expm(const kiln_array *a, const kiln_linalg_options *opts, kiln_array **out,
                             kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "expm", a, false, NULL, out, opts, err));
    const kiln_status status = expm(&w, a, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}
