/*
 * chain.c - kiln_linalg_multi_dot() and kiln_linalg_matrix_power() (kiln/linalg.h).
 *
 *     matrices > [which product is last, for each part of the chain] > kiln_matmul()
 */
#include "linalg/internal.h"

enum { CHAIN_MAX = 64 };

typedef struct chain {
    const kiln_array *matrix[CHAIN_MAX];
    int last[CHAIN_MAX]
            [CHAIN_MAX]; /* the part [i, j] is that of [i, last] times that of [last + 1, j] */
    kiln_matmul_options o;
} chain;

static kiln_status check_chain(const kiln_array *const *arrays, size_t count, kiln_error *err)
{
    kiln_status status = KILN_OK;

    if (count < 2 || count > CHAIN_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "multi_dot: %zu arrays, where there may be 2 to %d", count, CHAIN_MAX);
    for (size_t k = 0; k < count && status == KILN_OK; k++) {
        const bool end = k == 0 || k + 1 == count;
        status =
            kiln__array_check(arrays[k], k > 0 ? arrays[0]->ctx : NULL, "multi_dot: an array", err);
        if (status == KILN_OK && arrays[k]->rank != 2 && !(end && arrays[k]->rank == 1))
            return kiln__fail(err, KILN_ERR_SHAPE, "multi_dot: array %zu has %d axes, not 2%s",
                              k + 1, arrays[k]->rank, end ? " or 1" : "");
    }
    return status == KILN_OK ? kiln__device_check(kiln__context_device(arrays[0]->ctx), err)
                             : status;
}

/* Choose by the number of multiplications, shorter parts first. */
static void plan_chain(chain *c, int count)
{
    double cost[CHAIN_MAX][CHAIN_MAX] = {{0}};
    double rows[CHAIN_MAX], columns[CHAIN_MAX];

    for (int k = 0; k < count; k++) {
        const kiln_array *x = c->matrix[k];
        rows[k] = x->rank == 2 ? (double)x->shape[0] : k == 0 ? 1 : (double)x->shape[0];
        columns[k] = x->rank == 2 ? (double)x->shape[1] : k == 0 ? (double)x->shape[0] : 1;
    }
    for (int length = 1; length < count; length++)
        for (int i = 0; i + length < count; i++) {
            const int j = i + length;
            for (int last = i; last < j; last++) {
                const double all =
                    cost[i][last] + cost[last + 1][j] + rows[i] * columns[last] * columns[j];
                if (last > i && all >= cost[i][j])
                    continue;
                cost[i][j] = all;
                c->last[i][j] = last;
            }
        }
}

/* The product of the part [i, j]. */
static kiln_status multiply_part(const chain *c, int i, int j, kiln_array **out, kiln_error *err)
{
    kiln_array *left = NULL, *right = NULL;
    kiln_status status = KILN_OK;

    if (i == j) {
        *out = kiln_array_retain((kiln_array *)c->matrix[i]);
        return KILN_OK;
    }
    KILN_TRY(multiply_part(c, i, c->last[i][j], &left, err));
    KILN_TRY(multiply_part(c, c->last[i][j] + 1, j, &right, err));
    KILN_TRY(kiln_matmul(left, right, &c->o, out, err));

done:
    kiln_array_release(left);
    kiln_array_release(right);
    return status;
}

kiln_status kiln_linalg_multi_dot(const kiln_array *const *arrays, size_t count,
                                  const kiln_matmul_options *opts, kiln_array **out,
                                  kiln_error *err)
{
    kiln_stream *stream = NULL;
    kiln_array *made = NULL;
    chain *c = NULL;
    kiln_status status = KILN_OK;

    if (arrays == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_linalg_multi_dot: `%s` is NULL",
                          arrays == NULL ? "arrays" : "out");
    KILN_TRY(check_chain(arrays, count, err));
    c = kiln__calloc(1, sizeof *c);
    if (c == NULL)
        return kiln__fail_memory(err, sizeof *c);
    memcpy(c->matrix, arrays, count * sizeof c->matrix[0]);
    KILN_TRY(kiln__tensor_options("multi_dot", opts, &c->o, err));
    if (c->o.alpha != 0) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "multi_dot takes no `alpha`");
        goto done;
    }
    KILN_TRY(kiln__context_stream(arrays[0]->ctx, c->o.stream, &stream, err));
    plan_chain(c, (int)count);
    KILN_TRY(multiply_part(c, 0, (int)count - 1, &made, err));
    KILN_TRY(kiln__tensor_deliver("multi_dot", made, stream, out, err));

done:
    kiln__free(c);
    return status;
}

/* ---- powers ---------------------------------------------------------------------------------- */

/* One unit matrix, in the stack of `a`. */
static kiln_status make_identity(const kiln_array *a, kiln_stream *stream, kiln_array **out,
                                 kiln_error *err)
{
    const int64_t n = a->shape[a->rank - 1], shape[] = {n, n};
    const size_t item = kiln_dtype_size(a->dtype), bytes = (size_t)(n * n) * item;
    kiln_array *one = NULL, *wide = NULL;
    char *data = kiln__calloc(bytes + 1, 1);
    unsigned char number[16];
    kiln_status status = KILN_OK;

    if (data == NULL)
        return kiln__fail_memory(err, bytes);
    kiln__tensor_one(a->dtype, number);
    for (int64_t k = 0; k < n; k++)
        memcpy(data + (size_t)(k * (n + 1)) * item, number, item);
    KILN_TRY(kiln__array_new(a->ctx, a->dtype, 2, shape, NULL, stream, &one, err));
    KILN_TRY(kiln_array_upload(one, data, NULL, stream, err));
    KILN_TRY(kiln_array_broadcast_to(one, a->rank, a->shape, &wide, err));
    KILN_TRY(kiln__array_copy_on(wide, stream, out, err));

done:
    kiln__free(data);
    kiln_array_release(one);
    kiln_array_release(wide);
    return status;
}

/* base^n for n > 0: `*base` is replaced by its squares. */
static kiln_status multiply_power(kiln_array **base, uint64_t n, const kiln_matmul_options *o,
                                  kiln_array **out, kiln_error *err)
{
    kiln_array *power = NULL, *next = NULL;
    kiln_status status = KILN_OK;

    for (;; n >>= 1) {
        if ((n & 1) != 0 && power == NULL) {
            power = kiln_array_retain(*base);
        } else if ((n & 1) != 0) {
            KILN_TRY(kiln_matmul(power, *base, o, &next, err));
            kiln_array_release(power);
            power = next;
            next = NULL;
        }
        if (n <= 1)
            break;
        KILN_TRY(kiln_matmul(*base, *base, o, &next, err));
        kiln_array_release(*base);
        *base = next;
        next = NULL;
    }
    *out = power;
    power = NULL;

done:
    kiln_array_release(power);
    return status;
}

static kiln_status check_power(const kiln_array *a, const kiln_matmul_options *opts,
                               kiln_matmul_options *o, kiln_stream **stream, kiln_error *err)
{
    char text[160];
    kiln_status status = kiln__tensor_options("matrix_power", opts, o, err);

    if (status == KILN_OK)
        status = kiln__array_check(a, NULL, "`a`", err);
    if (status == KILN_OK)
        status = kiln__device_check(kiln__context_device(a->ctx), err);
    if (status == KILN_OK)
        status = kiln__context_stream(a->ctx, o->stream, stream, err);
    if (status != KILN_OK)
        return status;
    if (o->alpha != 0 || o->dtype != KILN_DTYPE_NONE)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "matrix_power takes no `alpha` and no `dtype`");
    if (a->rank < 2 || a->shape[a->rank - 1] != a->shape[a->rank - 2])
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "matrix_power takes square matrices, not an array of shape %s",
                          kiln__shape_text(a->rank, a->shape, text, sizeof text));
    return KILN_OK;
}

kiln_status kiln_linalg_matrix_power(const kiln_array *a, int64_t n,
                                     const kiln_matmul_options *opts, kiln_array **out,
                                     kiln_error *err)
{
    kiln_linalg_options inverse = KILN_LINALG_OPTIONS_INIT;
    kiln_array *base = NULL, *power = NULL, *made = NULL;
    kiln_stream *stream = NULL;
    kiln_matmul_options o;
    kiln_status status = KILN_OK;

    if (a == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "matrix_power: `%s` is NULL",
                          a == NULL ? "a" : "out");
    KILN_TRY(check_power(a, opts, &o, &stream, err));
    inverse.stream = stream;
    if (n < 0)
        KILN_TRY(kiln_linalg_inv(a, &inverse, &base, err));
    else
        base = kiln_array_retain((kiln_array *)a);
    o.dtype = base->dtype == KILN_INT8 ? KILN_INT8 : KILN_DTYPE_NONE; /* as the other dtypes */
    if (n == 0)
        KILN_TRY(make_identity(a, stream, &power, err));
    else
        KILN_TRY(multiply_power(&base, n < 0 ? -(uint64_t)n : (uint64_t)n, &o, &power, err));
    if (power->storage == a->storage) /* the first power */
        KILN_TRY(kiln__array_copy_on(power, stream, &made, err));
    else
        made = kiln_array_retain(power);
    KILN_TRY(kiln__tensor_deliver("matrix_power", made, stream, out, err));

done:
    kiln_array_release(base);
    kiln_array_release(power);
    return status;
}
