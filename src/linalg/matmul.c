/*
 * matmul.c - kiln_matmul(): the product of two arrays, before it is known how to compute it.
 *
 *     operands > [dtypes, shapes, output, c, bias] > kiln__product > product_cpu.c, product_cuda.c
 *
 * src/graph and the other files of this folder that multiply call it. Test: test_matmul.
 *
 * Rule: a product is computed into memory that overlaps no operand. If the output overlaps one, the
 *       result is copied to it.
 */
#include "linalg/linalg.h"
#include "ops/ops.h"

/* One call. Everything that is released at its end is NULL until it is made; what the caller gave is not retained. */
typedef struct matmul {
    const kiln_array *a, *b; /* as given */
    kiln_matmul_options o;
    kiln_context *ctx;
    kiln_stream *stream;
    int rank;
    kiln_array *cast_a, *cast_b, *bias, *c; /* the first two may be `a` and `b` themselves */
    const kiln_array *read; /* `c` where it is read as it lies; NULL: y holds it */
    kiln_array *y;          /* what is computed into */
    kiln_array *delivered;  /* the caller's array, or NULL where `y` becomes it */
    kiln__product p;        /* up to its `stack` it is zero at first, as all before it */
    int64_t shape[KILN_RANK_MAX];
} matmul;

/* Release what was made, unless it is what the caller gave. */
static void drop(kiln_array *made, const kiln_array *given)
{
    if (made != given)
        kiln_array_release(made);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool kiln__product_fits(kiln_dtype in, kiln_dtype out)
{
    if (in == KILN_INT8)
        return out == KILN_INT8 || out == KILN_INT32;
    if (kiln__is_float8(in))
        return out == KILN_FLOAT32 || out == KILN_FLOAT16 || out == KILN_BFLOAT16;
    return out == in || (out == KILN_FLOAT32 && kiln__is_narrow(in));
}

kiln_dtype kiln__product_dtype(kiln_dtype in)
{
    return in == KILN_INT8 ? KILN_INT32 : kiln__is_float8(in) ? KILN_FLOAT32 : in;
}

kiln_status kiln__matmul_infer(const kiln_array *a, const kiln_array *b, kiln_dtype *dtype_out,
                               int *rank_out, int64_t *shape, kiln_error *err)
{
    kiln__product p;

    memset(&p, 0, sizeof p);
    (void)kiln__promote(a->dtype, b->dtype, &p.in);
    *dtype_out = kiln__product_dtype(p.in);
    return kiln__product_shape(a, b, &p, rank_out, shape, err);
}

static kiln_status decide_dtypes(matmul *w, const kiln_array *given, kiln_error *err)
{
    kiln__product *p = &w->p;
    const kiln_matmul_options *o = &w->o;

    (void)kiln__promote(w->a->dtype, w->b->dtype, &p->in);
    p->out = given != NULL                 ? given->dtype
             : o->dtype != KILN_DTYPE_NONE ? o->dtype
                                           : kiln__product_dtype(p->in);
    if (o->dtype != KILN_DTYPE_NONE && o->dtype != p->out)
        return kiln__fail(err, KILN_ERR_DTYPE, "matmul: `dtype` is %s, but `*out` has %s",
                          kiln_dtype_name(o->dtype), kiln_dtype_name(p->out));
    if (!kiln__product_fits(p->in, p->out))
        return kiln__fail(err, KILN_ERR_DTYPE, "matmul: a product of %s and %s cannot be %s",
                          kiln_dtype_name(w->a->dtype), kiln_dtype_name(w->b->dtype),
                          kiln_dtype_name(p->out));
    const char kind = kiln_dtype_kind(p->out);
    const bool scaled = p->alpha != 1 || o->c != NULL || o->bias != NULL;
    if (kind != 'f' && (o->epilogue != KILN_EPILOGUE_NONE || (scaled && kind != 'c')))
        return kiln__fail(err, KILN_ERR_DTYPE, "matmul: %s of %s",
                          o->epilogue != KILN_EPILOGUE_NONE
                              ? "there is no epilogue for a product"
                              : "there is no alpha, `c` or `bias` for a product",
                          kiln_dtype_name(p->out));
    return KILN_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static kiln_status check_options(matmul *w, const kiln_matmul_options *opts, kiln_error *err)
{
    kiln_matmul_options *o = &w->o;

    *o = (kiln_matmul_options)KILN_MATMUL_OPTIONS_INIT;
    if (opts != NULL) {
        kiln_status status =
            kiln__options_read(o, sizeof *o, opts, opts->struct_size, "kiln_matmul_options", err);
        if (status != KILN_OK)
            return status;
    }
    if ((unsigned)o->epilogue > KILN_EPILOGUE_GELU || (unsigned)o->compute > KILN_COMPUTE_BF16X9)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "matmul: there is no %s %d",
                          (unsigned)o->compute > KILN_COMPUTE_BF16X9 ? "compute" : "epilogue",
                          (unsigned)o->compute > KILN_COMPUTE_BF16X9 ? (int)o->compute
                                                                     : (int)o->epilogue);
    if (o->dtype != KILN_DTYPE_NONE && kiln_dtype_size(o->dtype) == 0)
        return kiln__fail(err, KILN_ERR_DTYPE, "matmul: %d is no dtype", (int)o->dtype);
    w->p.alpha = o->alpha != 0 ? o->alpha : 1;
    w->p.beta = o->c == NULL ? 0 : o->beta != 0 ? o->beta : 1;
    w->p.epilogue = o->epilogue;
    w->p.compute = o->compute;
    w->p.autotune = o->autotune;
    return KILN_OK;
}

static kiln_status check_arrays(matmul *w, kiln_array *given, kiln_error *err)
{
    const struct {
        const kiln_array *array;
        const char *what;
        bool optional;
    } all[] = {{w->a, "matmul: `a`", false},
               {w->b, "matmul: `b`", false},
               {w->o.c, "matmul: `c`", true},
               {w->o.bias, "matmul: `bias`", true},
               {given, "matmul: `*out`", true}};

    for (size_t k = 0; k < KILN_COUNT_OF(all); k++) {
        if (all[k].optional && all[k].array == NULL)
            continue;
        kiln_status status = kiln__array_check(all[k].array, w->ctx, all[k].what, err);
        if (status != KILN_OK)
            return status;
        w->ctx = all[k].array->ctx;
    }
    if (given != NULL && kiln__array_unwritable(given) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "matmul: `*out` %s", kiln__array_unwritable(given));
    return KILN_OK;
}

/* Whether the last two axes of an operand, or the one it has, are what a BLAS takes. */
static bool fits(const kiln_array *x)
{
    const bool matrix = x->rank > 1;
    kiln__side side; /* its steps do not count */

    side.data = x->data;
    side.row = matrix ? x->strides[x->rank - 2] : 0;
    side.column = x->strides[x->rank - 1];
    return kiln__view_of(matrix ? x->shape[x->rank - 2] : 1, x->shape[x->rank - 1], &side,
                         kiln_dtype_size(x->dtype))
        .fits;
}

/* Whether the axes of an array's stack are one axis in memory. */
static bool stack_folds(const kiln_array *x)
{
    for (int axis = x->rank - 4; axis >= 0; axis--)
        if (x->shape[axis] != 1 && x->strides[axis] != x->strides[axis + 1] * x->shape[axis + 1])
            return false;
    return true;
}

/* Whether the product is one of a stack of several axes whose matrices are so small that those of the last axis,
 * which one call of the library takes, do not fill a GPU. What is copied so that all are one call, costs less. */
static bool wants_one_call(const matmul *w)
{
    enum {
        TILE = 128,
        TILES = 128
    }; /* elements of a block's part of y, and blocks that a GPU runs at once */
    const kiln__product *p = &w->p;
    const int last = p->stack_rank - 1;

    if (last < 1 || w->a->rank != w->rank || w->b->rank != w->rank || p->count == p->stack[last] ||
        memcmp(w->a->shape, p->stack, sizeof p->stack[0] * (size_t)p->stack_rank) != 0 ||
        memcmp(w->b->shape, p->stack, sizeof p->stack[0] * (size_t)p->stack_rank) != 0)
        return false;
    return p->m <= TILE * TILES && p->n <= TILE * TILES && p->stack[last] <= TILES &&
           p->stack[last] * kiln__blocks(p->m, TILE) * kiln__blocks(p->n, TILE) < TILES;
}

/* Whether both operands are float8, of different kinds: they are promoted to float16. */
static bool is_mixed(const matmul *w)
{
    return kiln__is_float8(w->a->dtype) && kiln__is_float8(w->b->dtype) &&
           w->a->dtype != w->b->dtype;
}

/* Whether cuBLASLt may multiply elements of a byte: it takes matrices whose columns of y and sums are
 * multiples of four for int8, and of 16 for float8. It has no products of two matrices of e5m2. */
static bool suits_tensor_cores(const matmul *w)
{
    const bool whole = w->p.in == KILN_INT8 && w->p.out == KILN_INT32;
    const int64_t multiple = whole ? 4 : 16;

    return (whole || w->p.in == KILN_FLOAT8_E4M3FN || is_mixed(w)) && w->a->rank > 1 &&
           w->b->rank > 1 && w->p.k > 0 && w->p.k % multiple == 0 && w->p.n % multiple == 0;
}

/* Whether an output can be computed into: it overlaps no operand, and a library takes its layout. */
static bool stands_apart(const matmul *w, const kiln_array *given)
{
    const kiln_array *const read[] = {w->a, w->b, w->o.bias};
    const bool host = kiln__device_is_host(kiln__context_device(w->ctx));

    for (size_t k = 0; k < KILN_COUNT_OF(read); k++)
        if (read[k] != NULL && kiln__array_overlap(given, read[k]))
            return false;
    if (!host && suits_tensor_cores(w)) /* its columns are rows here, and begin at whole accesses */
        return given->contiguous && (uintptr_t)given->data % 16 == 0;
    return host || given->rank == 0 || !kiln__cublaslt_takes(w->p.in) ||
           (fits(given) && (stack_folds(given) || !wants_one_call(w)));
}

/* The array that the product is computed into, and what it holds before. */
static kiln_status make_output(matmul *w, kiln_array *given, kiln_error *err)
{
    char wanted[160], got[160];
    const bool apart = given != NULL && stands_apart(w, given);

    if (given != NULL &&
        (given->rank != w->rank ||
         memcmp(given->shape, w->shape, (size_t)w->rank * sizeof w->shape[0]) != 0))
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "matmul: `*out` has shape %s, but the product has %s",
                          kiln__shape_text(given->rank, given->shape, got, sizeof got),
                          kiln__shape_text(w->rank, w->shape, wanted, sizeof wanted));
    w->delivered = apart ? NULL : given;
    if (apart) {
        w->y = given;
        return KILN_OK;
    }
    return kiln__array_new(w->ctx, w->p.out, w->rank, w->shape, NULL, w->stream, &w->y, err);
}

static kiln_status make_cast(const matmul *w, const kiln_array *x, kiln_array **out,
                             kiln_error *err)
{
    int order[KILN_RANK_MAX];

    if (x->dtype == w->p.in) {
        *out = (kiln_array *)x;
        return KILN_OK;
    }
    kiln__array_k_order(x, order);
    return kiln__array_copy_as(x, w->p.in, order, w->stream, out, err);
}

/* Whether one number for each column lies as a library reads it. */
static bool suits_as_bias(const matmul *w, const kiln_array *x)
{
    return x->dtype == w->p.out && x->contiguous && (uintptr_t)x->data % 16 == 0;
}

/* Whether the library reads `c` where it lies: it has the result's shape and dtype, and lies as `y` does. */
static bool suits_as_c(const matmul *w, const kiln_array *c)
{
    const kiln_array *y = w->y;

    return !kiln__device_is_host(kiln__context_device(w->ctx)) && kiln__cublaslt_takes(w->p.in) &&
           c->dtype == w->p.out && c->rank == y->rank &&
           memcmp(c->shape, y->shape, (size_t)y->rank * sizeof y->shape[0]) == 0 &&
           !kiln__array_overlap(y, c) && kiln__product_reads(&w->p, w->a, w->b, c, y);
}

/* `c` goes into y first where it is not read as it lies; the bias becomes one number for each column, of the result's dtype. */
static kiln_status make_additions(matmul *w, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *bias = NULL;

    if (w->o.c != NULL) {
        KILN_TRY(kiln_array_broadcast_to(w->o.c, w->y->rank, w->y->shape, &w->c, err));
        if (suits_as_c(w, w->o.c))
            w->read = w->c;
        else if (w->o.c != w->y)
            KILN_TRY(kiln__array_assign_on(w->y, w->c, w->stream, err));
    }
    if (w->o.bias != NULL) {
        KILN_TRY(kiln_array_broadcast_to(w->o.bias, 1, &w->p.n, &bias, err));
        if (suits_as_bias(w, bias))
            w->bias = kiln_array_retain(bias);
        else
            KILN_TRY(kiln__array_copy_as(bias, w->p.out, NULL, w->stream, &w->bias, err));
        w->p.bias = w->bias->data;
        w->p.bias_step = (int64_t)kiln_dtype_size(w->p.out);
    }

done:
    kiln_array_release(bias);
    return status;
}

static void used_on(const kiln_array *x, kiln_stream *stream)
{
    if (x != NULL && x->storage->home != stream)
        kiln__storage_used_on(x->storage, stream);
}

/* What cuBLASLt needs of an operand: k > 0, and a layout that it takes. */
static kiln_status make_suitable(const matmul *w, int k_axis, const kiln_array *given,
                                 kiln_array **x, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    kiln_array *made = NULL;
    kiln_status status = KILN_OK;

    if (w->p.k > 0 && fits(*x) && (stack_folds(*x) || !wants_one_call(w)))
        return KILN_OK;
    if (w->p.k > 0) {
        status = kiln__array_copy_on(*x, w->stream, &made, err);
    } else { /* a product of zeros */
        memcpy(shape, (*x)->shape, (size_t)(*x)->rank * sizeof shape[0]);
        shape[k_axis] = 1;
        status =
            kiln__array_new(w->ctx, (*x)->dtype, (*x)->rank, shape, NULL, w->stream, &made, err);
        if (status == KILN_OK)
            status =
                kiln__memset(kiln__context_device(w->ctx), made->data, 0,
                             (size_t)made->size * kiln_dtype_size(made->dtype), w->stream, err);
    }
    drop(status == KILN_OK ? *x : made, given);
    if (status == KILN_OK)
        *x = made;
    return status;
}

/* ---- elements of a byte on tensor cores ------------------------------------------------------- */

/* The dtype in which float8 is multiplied where the library does not: it holds all of their numbers. The
 * cpu device has a BLAS for that of the result. */
static kiln_dtype wider_than_float8(const matmul *w, bool host)
{
    return host || w->p.out == KILN_BFLOAT16 ? w->p.out : KILN_FLOAT16;
}

/* An operand of bytes as the library wants it: neighbours along the sum. */
static kiln_status make_bytes(const matmul *w, const kiln_array *x, bool turned, kiln_array **out,
                              kiln_error *err)
{
    const kiln_dtype dtype = is_mixed(w) ? x->dtype : w->p.in;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    int order[KILN_RANK_MAX];

    for (int k = 0; k < x->rank; k++)
        order[k] = k;
    if (turned) {
        order[x->rank - 2] = x->rank - 1;
        order[x->rank - 1] = x->rank - 2;
    }
    for (int k = 0; k < x->rank; k++) {
        shape[k] = x->shape[order[k]];
        strides[k] = x->strides[order[k]];
    }
    if (x->dtype == dtype && (uintptr_t)x->data % 16 == 0 &&
        kiln__strides_contiguous(x->rank, shape, strides, kiln_dtype_size(dtype))) {
        *out = (kiln_array *)x;
        return KILN_OK;
    }
    return kiln__array_copy_as(x, dtype, order, w->stream, out, err);
}

/* Whether the library did it; without one, and where it has no algorithm, nothing has happened. */
static kiln_status compute_bytes(matmul *w, bool *done_out, kiln_error *err)
{
    const kiln_dtype in = w->p.in;
    kiln_array *a = NULL, *b = NULL;
    kiln_error why = KILN_ERROR_INIT;
    bool finished = true;
    kiln_status status = KILN_OK;

    *done_out = false;
    KILN_TRY(make_bytes(w, w->a, false, &a, err));
    KILN_TRY(make_bytes(w, w->b, true, &b, err));
    w->p.in = a->dtype;
    w->p.b_in = b->dtype != a->dtype ? b->dtype : KILN_DTYPE_NONE;
    kiln__product_bind(&w->p, a, b, w->read, w->y);
    status = kiln__product_cuda(w->ctx, &w->p, w->stream, &finished, &why);
    *done_out = status == KILN_OK;
    if (!finished && *done_out)
        KILN_TRY(kiln__finish_kernel(&w->p, w->y, w->bias, w->stream, err));
    used_on(a, w->stream);
    used_on(b, w->stream);
    if (kiln__device_is_dry(kiln__context_device(w->ctx)) && status == KILN_OK) {
        status = KILN_ERR_UNSUPPORTED; /* either way may be taken, so that both are */
        *done_out = false;
    }
    if (status == KILN_ERR_UNSUPPORTED) { /* the product as it was before it was bound */
        w->p.in = in;
        w->p.b_in = KILN_DTYPE_NONE;
        status = kiln__product_shape(w->a, w->b, &w->p, &w->rank, w->shape, err);
    } else if (status != KILN_OK && err != NULL) {
        *err = why;
        why = (kiln_error)KILN_ERROR_INIT;
    }

done:
    kiln_error_clear(&why);
    drop(a, w->a);
    drop(b, w->b);
    return status;
}

static kiln_status compute_cuda(matmul *w, kiln_error *err)
{
    bool finished = true;
    kiln_status status = KILN_OK;

    if (!kiln__cublaslt_takes(w->p.in)) {
        kiln__product_bind(&w->p, w->cast_a, w->cast_b, w->read, w->y);
        return kiln__product_kernel(&w->p, w->cast_a, w->cast_b, w->y, w->stream, err);
    }
    KILN_TRY(make_suitable(w, w->cast_a->rank - 1, w->a, &w->cast_a, err));
    KILN_TRY(
        make_suitable(w, w->cast_b->rank > 1 ? w->cast_b->rank - 2 : 0, w->b, &w->cast_b, err));
    w->p.k = w->p.k > 0 ? w->p.k : 1;
    kiln__product_bind(&w->p, w->cast_a, w->cast_b, w->read, w->y);
    KILN_TRY(kiln__product_cuda(w->ctx, &w->p, w->stream, &finished, err));
    if (!finished)
        KILN_TRY(kiln__finish_kernel(&w->p, w->y, w->bias, w->stream, err));

done:
    return status;
}

static kiln_status multiply(matmul *w, bool host, kiln_error *err)
{
    KILN_CHECK(make_cast(w, w->a, &w->cast_a, err));
    KILN_CHECK(make_cast(w, w->b, &w->cast_b, err));
    if (!host)
        return compute_cuda(w, err);
    kiln__product_bind(&w->p, w->cast_a, w->cast_b, w->read, w->y);
    return kiln__product_cpu(kiln__context_device(w->ctx), &w->p, w->stream, err);
}

static kiln_status compute(matmul *w, kiln_error *err)
{
    const bool host = kiln__device_is_host(kiln__context_device(w->ctx));
    bool computed = false;
    kiln_status status = KILN_OK;

    if (w->y->size == 0)
        return KILN_OK;
    KILN_TRY(make_additions(w, err));
    if (!host && suits_tensor_cores(w))
        KILN_TRY(compute_bytes(w, &computed, err));
    if (!host && w->p.in == KILN_INT8)
        w->p.in = w->p.out; /* the kernel sums in the dtype that it reads */
    if (kiln__is_float8(w->p.in) && !computed)
        w->p.in = wider_than_float8(w, host);
    if (!computed)
        KILN_TRY(multiply(w, host, err));
    if (w->delivered != NULL)
        KILN_TRY(kiln__array_assign_on(w->delivered, w->y, w->stream, err));
    used_on(w->cast_a, w->stream);
    used_on(w->cast_b, w->stream);
    used_on(w->c, w->stream);
    used_on(w->bias, w->stream);
    used_on(w->y, w->stream);
    used_on(w->delivered, w->stream);

done:
    return status;
}

/* ---- the public functions -------------------------------------------------------------------- */

void kiln_matmul_options_init(kiln_matmul_options *opts, size_t given)
{
    kiln__options_init(opts, given);
}

kiln_status kiln_matmul(const kiln_array *a, const kiln_array *b, const kiln_matmul_options *opts,
                        kiln_array **out, kiln_error *err)
{
    matmul w;
    kiln_status status = KILN_OK;

    memset(&w, 0, offsetof(matmul, p.stack)); /* all of it would be two kilobytes */
    w.a = a;
    w.b = b;
    if (a == NULL || b == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_matmul: `%s` is NULL",
                          a == NULL   ? "a"
                          : b == NULL ? "b"
                                      : "out");
    KILN_TRY(check_options(&w, opts, err));
    KILN_TRY(check_arrays(&w, *out, err));
    KILN_TRY(kiln__device_check(kiln__context_device(w.ctx), err));
    KILN_TRY(kiln__context_stream(w.ctx, w.o.stream, &w.stream, err));
    KILN_TRY(kiln__product_shape(a, b, &w.p, &w.rank, w.shape, err));
    KILN_TRY(decide_dtypes(&w, *out, err));
    KILN_TRY(make_output(&w, *out, err));
    KILN_TRY(compute(&w, err));
    if (*out == NULL)
        *out = w.y;

done:
    drop(w.cast_a, a);
    drop(w.cast_b, b);
    kiln_array_release(w.bias);
    kiln_array_release(w.c);
    drop(w.y, *out);
    return status;
}

kiln_status kiln_linalg_list(kiln_linalg_info *infos, size_t capacity, size_t *count_out,
                             kiln_error *err)
{
    static void (*const describe[])(kiln_linalg_info * info) = {kiln__blas_describe,
                                                                kiln__lapack_describe};
    enum { HOST = KILN_COUNT_OF(describe), ALL = HOST + KILN__GPU_LIBRARIES };

    if (count_out == NULL || (infos == NULL && capacity > 0))
        return kiln__fail(err, KILN_ERR_NULL, "kiln_linalg_list: `%s` is NULL",
                          count_out == NULL ? "count_out" : "infos");
    *count_out = ALL;
    for (size_t k = 0; k < capacity && k < ALL; k++) {
        if (k < HOST)
            describe[k](&infos[k]);
        else
            kiln__gpu_library_describe((kiln__gpu_library)(k - HOST), &infos[k]);
    }
    return KILN_OK;
}
