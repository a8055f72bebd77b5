/*
 * product_blas.c - a product by the system's BLAS. product_cpu.c calls it.
 *
 * A BLAS takes matrices whose columns are contiguous, at any distance from each other, or the
 * transposes of such. C's rows are its columns: y = a b in C-order is y' = b' a' for the BLAS. An
 * operand with other strides is packed first. A `y` with other strides is left to kiln's own
 * product.
 */
#include "linalg/linalg.h"

typedef struct operand {
    kiln__view view;
    int32_t step;
    char *packed; /* NULL: it is taken where it lies */
} operand;

static kiln_status prepare(const kiln__side *side, int64_t rows, int64_t columns, size_t itemsize,
                           operand *out, kiln_error *err)
{
    *out = (operand){kiln__view_of(rows, columns, side, itemsize), 0, NULL};
    out->step = (int32_t)out->view.step;
    if (out->view.fits && out->view.step <= INT32_MAX)
        return KILN_OK;
    const size_t bytes = (size_t)rows * (size_t)columns * itemsize;
    KILN_CHECK(kiln__make_room(&out->packed, bytes, err));
    out->view.transposed = true;
    out->step = (int32_t)columns;
    return KILN_OK;
}

/* The nth matrix of an operand, packed where it must be. */
static const char *fetch(const kiln__product *p, const kiln__side *side, const operand *o,
                         int64_t nth, int64_t rows, int64_t columns, size_t itemsize)
{
    const char *at = kiln__side_matrix(p, side, nth);
    const int64_t shape[] = {rows, columns}, from[] = {side->row, side->column};
    const int64_t to[] = {columns * (int64_t)itemsize, (int64_t)itemsize};

    if (o->packed == NULL)
        return at;
    kiln__host_copy(o->packed, to, at, from, 2, shape, itemsize);
    return o->packed;
}

kiln_status kiln__product_blas(kiln__device *device, const kiln__product *p, kiln_error *err)
{
    const int which = kiln__blas_dtype(p->in);
    const size_t itemsize = kiln_dtype_size(p->in);
    const kiln__blas *blas =
        which >= 0 ? kiln__blas_get(kiln__device_info(device)->unit_count) : NULL;
    const kiln__view y = kiln__view_of(p->m, p->n, &p->y, itemsize);
    operand a = {.packed = NULL}, b = {.packed = NULL};
    double alpha[2], beta[2];
    kiln_status status = KILN_OK;

    if (blas == NULL || !y.fits || p->in != p->out || p->m > INT32_MAX || p->n > INT32_MAX ||
        p->k > INT32_MAX || p->k == 0 || y.step > INT32_MAX)
        return KILN_ERR_UNSUPPORTED;
    KILN_TRY(prepare(&p->a, p->m, p->k, itemsize, &a, err));
    KILN_TRY(prepare(&p->b, p->k, p->n, itemsize, &b, err));
    kiln__put_number(p->in, p->alpha, alpha);
    kiln__put_number(p->in, p->beta, beta);
    const int32_t m = (int32_t)p->m, n = (int32_t)p->n, k = (int32_t)p->k;
    const int32_t y_step = (int32_t)y.step;
    for (int64_t nth = 0; nth < p->count; nth++) {
        const char *at_a = fetch(p, &p->a, &a, nth, p->m, p->k, itemsize);
        const char *at_b = fetch(p, &p->b, &b, nth, p->k, p->n, itemsize);
        char *at_y = kiln__side_matrix(p, &p->y, nth);
        if (y.transposed) /* y' = b' a' */
            blas->gemm[which](b.view.transposed ? "N" : "T", a.view.transposed ? "N" : "T", &n, &m,
                              &k, alpha, at_b, &b.step, at_a, &a.step, beta, at_y, &y_step, 1, 1);
        else
            blas->gemm[which](a.view.transposed ? "T" : "N", b.view.transposed ? "T" : "N", &m, &n,
                              &k, alpha, at_a, &a.step, at_b, &b.step, beta, at_y, &y_step, 1, 1);
    }

done:
    kiln__free(a.packed);
    kiln__free(b.packed);
    return status;
}
