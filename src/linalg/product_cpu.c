/*
 * product_cpu.c - a product on the cpu device: by a BLAS (product_blas.c) where that is faster,
 * otherwise by kiln's own (product_own.c); then finish.c. matmul.c calls it. Test: test_matmul.
 */
#include "linalg/linalg.h"

/* Matrices of a stack with fewer multiplications than this are too small for a BLAS to spread over its
 * threads, one by one; kiln's own product spreads the stack. */
#define SMALL_PRODUCT (64 * 64 * 64)

static bool is_for_blas(const kiln__product *p)
{
    return p->count == 1 || (double)p->m * (double)p->n * (double)p->k >= SMALL_PRODUCT;
}

/* Rows [begin, end) of all matrices. */
static void finish_rows(const void *args, int64_t begin, int64_t end)
{
    const kiln__product *p = *(const kiln__product *const *)args;

    for (int64_t row = begin; row < end; row++)
        kiln__finish_row(p, kiln__side_matrix(p, &p->y, row / p->m), row % p->m);
}

/* A product and the device whose threads compute it. */
typedef struct call {
    kiln__device *device;
    kiln__product p;
} call;

static kiln_status multiply(const void *args, void *native, kiln_error *err)
{
    const call *const c = args;
    const kiln__product *const p = &c->p;
    kiln_status status =
        is_for_blas(p) ? kiln__product_blas(c->device, p, err) : KILN_ERR_UNSUPPORTED;

    (void)native;
    if (status == KILN_ERR_UNSUPPORTED)
        status = kiln__product_own(c->device, p, err);
    if (status == KILN_OK && kiln__product_finishes(p))
        status = kiln__on_threads(c->device, finish_rows, &p, sizeof p, p->count * p->m, err);
    return status;
}

static void describe(const void *args, kiln__step_note *note)
{
    (void)args;
    kiln__product_describe(offsetof(call, p), note);
}

kiln_status kiln__product_cpu(kiln__device *device, const kiln__product *p, kiln_stream *stream,
                              kiln_error *err)
{
    const call c = {device, *p};

    return kiln__stream_is_recording(stream)
               ? kiln__record_library(stream, multiply, &c, sizeof c, describe, err)
               : kiln__library_call(stream, "matmul", multiply, &c, err);
}
