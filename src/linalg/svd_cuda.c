/*
 * svd_cuda.c - singular values of stacks of matrices on a CUDA device.
 *
 *     factor.c > kiln__cuda_svd > [small: kernels of kiln's; float64: gesvdp; else gesvd] > results
 *
 * cuSOLVER's gesvdp (a polar decomposition, then eigenvalues) takes a quarter of gesvd's time, but disturbs matrices
 * that are nearly singular, and says by how much: those are done again by gesvd. In float32 most large matrices are
 * nearly singular to it, so that factor.c has them done in double precision where the GPU is made for that.
 */
#include "linalg/solver_gpu.h"

/* The library takes tall matrices. A wide one is given as its transpose, whose factors are the transposes of
 * U and V^H in each other's place: the same memory, read by rows. */
typedef struct svd_call {
    int64_t rows, columns; /* of the tall one */
    kiln_array *values, *left, *right;
    int64_t value_bytes, left_bytes, right_bytes; /* of one matrix's */
} svd_call;

static kiln_status svd_each(kiln__solver_gpu *g, const svd_call *c, kiln_error *err)
{
    const kiln__cusolver *lib = g->lib;
    const signed char job = c->left == NULL ? 'N' : g->s->o.full ? 'A' : 'S';
    const int64_t p = c->rows, q = c->columns;
    size_t device_bytes = 0, host_bytes = 0;
    KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgesvd_bufferSize",
                               lib->gesvd_room(g->handle, g->params, job, job, p, q, g->type,
                                               g->a->data, p, g->real_type, c->values->data,
                                               g->type, c->left != NULL ? c->left->data : NULL, p,
                                               g->type, c->right != NULL ? c->right->data : NULL, q,
                                               g->type, &device_bytes, &host_bytes),
                               err));
    KILN_CHECK(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        void *u = c->left != NULL ? kiln__gpu_at(c->left, nth, c->left_bytes) : NULL;
        void *vh = c->right != NULL ? kiln__gpu_at(c->right, nth, c->right_bytes) : NULL;
        const int result = lib->gesvd(g->handle, g->params, job, job, p, q, g->type,
                                      kiln__gpu_at(g->a, nth, g->a_bytes), p, g->real_type,
                                      kiln__gpu_at(c->values, nth, c->value_bytes), g->type, u, p,
                                      g->type, vh, q, g->type, g->work->address, device_bytes,
                                      g->host_work, host_bytes, kiln__gpu_info(g, nth));
        KILN_CHECK(kiln__gpu_check(g, "cusolverDnXgesvd", result, err));
    }
    return KILN_OK;
}

/* The same by gesvdp, which gives V in the place of V^H. `*exact_out`: whether all are as good as gesvd's. */
static kiln_status svdp_each(kiln__solver_gpu *g, const svd_call *c, bool *exact_out,
                             kiln_error *err)
{
    const kiln__cusolver *lib = g->lib;
    enum { THIN = 1 };
    const int64_t p = c->rows, q = c->columns;
    size_t device_bytes = 0, host_bytes = 0;
    double *errors = NULL;
    kiln_status status = KILN_OK;

    *exact_out = false;
    KILN_CHECK(kiln__make_zeroed(&errors, (size_t)g->matrices, sizeof *errors, err));
    KILN_TRY(kiln__gpu_check(
        g, "cusolverDnXgesvdp_bufferSize",
        lib->gesvdp_room(g->handle, g->params, KILN__SOLVER_VECTORS, THIN, p, q, g->type,
                         g->a->data, p, g->real_type, c->values->data, g->type, c->left->data, p,
                         g->type, c->right->data, q, g->type, &device_bytes, &host_bytes),
        err));
    KILN_TRY(kiln__gpu_room(g, device_bytes, host_bytes, err));
    for (int64_t nth = 0; nth < g->matrices; nth++) {
        void *u = kiln__gpu_at(c->left, nth, c->left_bytes);
        void *v = kiln__gpu_at(c->right, nth, c->right_bytes);
        const int result =
            lib->gesvdp(g->handle, g->params, KILN__SOLVER_VECTORS, THIN, p, q, g->type,
                        kiln__gpu_at(g->a, nth, g->a_bytes), p, g->real_type,
                        kiln__gpu_at(c->values, nth, c->value_bytes), g->type, u, p, g->type, v, q,
                        g->type, g->work->address, device_bytes, g->host_work, host_bytes,
                        kiln__gpu_info(g, nth), &errors[nth]);
        KILN_TRY(kiln__gpu_check(g, "cusolverDnXgesvdp", result, err));
    }
    KILN_TRY(kiln__stream_synchronize(g->s->stream, err));
    /* Of what a device that is not there computes, either may be so: the other routine is called, too. */
    *exact_out = !kiln__device_is_dry(kiln__context_device(g->s->ctx));
    for (int64_t nth = 0; nth < g->matrices; nth++)
        *exact_out = *exact_out && errors[nth] == 0;

done:
    if (status != KILN_OK) /* what is enqueued writes there */
        (void)kiln__stream_finish(g->s->stream, NULL);
    kiln__free(errors);
    return status;
}

/* Arrays for the results. Matrices of the left factor of the tall matrix lie in `order`, those of the right one in
 * `right`. */
static kiln_status make_results(kiln__solver_gpu *g, kiln__gpu_order order, kiln__gpu_order right,
                                kiln_error *err)
{
    kiln__solver *s = g->s;
    const bool tall = s->m >= s->n, vectors = s->task->result_count > 1;
    for (int k = 0; k < KILN__SOLVER_RESULTS; k++) {
        kiln_array_release(s->result[k].array);
        s->result[k].array = NULL;
    }
    KILN_CHECK(kiln__gpu_new(g, NULL, s->real, tall ? s->n : s->m, -1, KILN__GPU_ROWS,
                             &s->result[vectors ? 1 : 0].array, err));
    if (!vectors)
        return KILN_OK;
    KILN_CHECK(kiln__gpu_new(g, NULL, s->dtype, s->m, s->result[0].columns, tall ? order : right,
                             &s->result[0].array, err));
    return kiln__gpu_new(g, NULL, s->dtype, s->result[2].rows, s->n, tall ? right : order,
                         &s->result[2].array, err);
}

/* By gesvd, one matrix after the other. */
static kiln_status svd_by_gesvd(kiln__solver_gpu *g, svd_call *c, kiln__gpu_order order,
                                kiln_error *err)
{
    kiln__solver *s = g->s;
    const bool tall = s->m >= s->n, vectors = s->task->result_count > 1;
    KILN_CHECK(make_results(g, order, order, err));
    KILN_CHECK(kiln__gpu_take_matrices(g, order, err));
    KILN_CHECK(kiln__gpu_refuse_nan(g, err));
    KILN_CHECK(kiln__gpu_scale(g, err));
    c->values = s->result[vectors ? 1 : 0].array;
    c->left = vectors ? s->result[tall ? 0 : 2].array : NULL;
    c->right = vectors ? s->result[tall ? 2 : 0].array : NULL;
    return svd_each(g, c, err);
}

/* By gesvdp, which writes vectors always: into arrays that nobody reads where only the values are wanted. */
static kiln_status svd_by_gesvdp(kiln__solver_gpu *g, svd_call *c, kiln__gpu_order order,
                                 bool *exact_out, kiln_error *err)
{
    const kiln__gpu_order other = order == KILN__GPU_ROWS ? KILN__GPU_COLUMNS : KILN__GPU_ROWS;
    kiln__solver *s = g->s;
    const bool tall = s->m >= s->n, vectors = s->task->result_count > 1;
    kiln_array *left = NULL, *right = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(make_results(g, order, other, err));
    KILN_TRY(kiln__gpu_take_matrices(g, order, err));
    KILN_TRY(kiln__gpu_refuse_nan(g, err));
    KILN_TRY(kiln__gpu_scale(g, err));
    if (!vectors) {
        KILN_TRY(kiln__gpu_new(g, g->a, s->dtype, c->rows, c->columns, order, &left, err));
        KILN_TRY(kiln__gpu_new(g, g->a, s->dtype, c->columns, c->columns, order, &right, err));
    }
    c->values = s->result[vectors ? 1 : 0].array;
    c->left = vectors ? s->result[tall ? 0 : 2].array : left;
    c->right = vectors ? s->result[tall ? 2 : 0].array : right;
    KILN_TRY(svdp_each(g, c, exact_out, err));

done:
    kiln_array_release(left);
    kiln_array_release(right);
    return status;
}

/* Of matrices without elements: square factors are unit matrices. */
static kiln_status svd_of_nothing(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    KILN_CHECK(make_results(g, KILN__GPU_ROWS, KILN__GPU_ROWS, err));
    for (int k = 0; k < s->task->result_count; k += 2) {
        const int64_t n = k == 0 ? s->m : s->n;
        kiln_array *y = s->result[k].array;
        if (s->task->result_count > 1 && y->size > 0)
            KILN_CHECK(kiln__piece_run(
                KILN__PIECE_IDENTITY, &(kiln__piece_arguments){.m = n, .n = n}, y, s->stream, err));
    }
    return KILN_OK;
}

kiln_status kiln__cuda_svd(kiln__solver_gpu *g, kiln_error *err)
{
    kiln__solver *s = g->s;
    const bool tall = s->m >= s->n, vectors = s->task->result_count > 1;
    bool exact = false;
    if (kiln__gpu_is_empty(g))
        return svd_of_nothing(g, err);
    /* The kernel has no columns but those of singular values. */
    if (kiln__small_suits(g) && (s->m == s->n || !s->o.full || !vectors)) {
        KILN_CHECK(make_results(g, KILN__GPU_ROWS, KILN__GPU_ROWS, err));
        const kiln__small_results results = {.y = s->result[vectors ? 1 : 0].array,
                                             .z = vectors ? s->result[tall ? 2 : 0].array : NULL,
                                             .w = vectors ? s->result[tall ? 0 : 2].array : NULL};
        return kiln__small_run(g, KILN__SMALL_JACOBI, vectors ? 3 : 2, !tall, &results, err);
    }
    svd_call c = {.rows = tall ? s->m : s->n, .columns = tall ? s->n : s->m};
    c.value_bytes = c.columns * (int64_t)kiln_dtype_size(s->real);
    c.left_bytes = c.rows * (s->o.full && vectors ? c.rows : c.columns) * kiln__gpu_item(g);
    c.right_bytes = c.columns * c.columns * kiln__gpu_item(g);
    const kiln__gpu_order order = tall ? KILN__GPU_COLUMNS : KILN__GPU_ROWS;
    KILN_CHECK(kiln__gpu_use_cusolver(g, err));
    if (s->dtype == KILN_FLOAT64 && (!s->o.full || !vectors) && g->lib->gesvdp != NULL &&
        g->lib->gesvdp_room != NULL)
        KILN_CHECK(svd_by_gesvdp(g, &c, order, &exact, err));
    if (!exact)
        KILN_CHECK(svd_by_gesvd(g, &c, order, err));
    return kiln__gpu_scale_back(g, s->result[vectors ? 1 : 0].array, false, err);
}

bool kiln__svd_is_widened(const kiln_array *a)
{
    static const char *const made_for_double[] = {"sm_70", "sm_80", "sm_90", "sm_100"};
    enum { SIDE = 32 };
    const kiln__cusolver *lib = NULL;
    kiln__device *device;

    if (a == NULL || a->dtype != KILN_FLOAT32 || a->rank < 2 ||
        (a->shape[a->rank - 1] <= SIDE && a->shape[a->rank - 2] <= SIDE))
        return false;
    device = kiln__context_device(a->ctx);
    if (kiln__device_is_host(device) || kiln__cusolver_get("svd", device, &lib, NULL) != KILN_OK ||
        lib->gesvdp == NULL)
        return false;
    for (size_t k = 0; k < KILN_COUNT_OF(made_for_double); k++)
        if (strcmp(kiln__device_info(device)->target, made_for_double[k]) == 0)
            return true;
    return false;
}
