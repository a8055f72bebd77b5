/*
 * product_kernel.c - generated kernels for products on a CUDA device: whole products of integers,
 * and the operations behind a product that cuBLASLt's epilogues do not have. matmul.c calls it.
 *
 * A product of integers is a reduction of broadcast views: y[m, n] = sum over k of a[m, -, k] *
 * b[-, n, k].
 */
#include "linalg/linalg.h"

/* A view of a side with the axes of the stack and up to three more. */
static kiln_status view_side(const kiln__product *p, const kiln__side *side, const kiln_array *base,
                             const int64_t (*axes)[2], int count, kiln_array **out, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    int rank = 0;

    if (p->stack_rank + count > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "matmul: a stack of %d axes is too much for %s",
                          p->stack_rank, kiln_dtype_name(p->in));
    for (; rank < p->stack_rank; rank++) {
        shape[rank] = p->stack[rank];
        strides[rank] = side->step[rank];
    }
    for (int k = 0; k < count; k++, rank++) {
        shape[rank] = axes[k][0];
        strides[rank] = axes[k][1];
    }
    return kiln__array_view(base, rank, shape, strides, side->data, out, err);
}

kiln_status kiln__product_kernel(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                                 kiln_array *y, kiln_stream *stream, kiln_error *err)
{
    const int64_t a_axes[][2] = {{p->m, p->a.row}, {p->n, 0}, {p->k, p->a.column}};
    const int64_t b_axes[][2] = {{p->m, 0}, {p->n, p->b.column}, {p->k, p->b.row}};
    const int64_t y_axes[][2] = {{p->m, p->y.row}, {p->n, p->y.column}};
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *left = NULL, *right = NULL, *sums = NULL;
    kiln_status status = KILN_OK;

    options.stream = stream;
    options.axes = KILN_AXES(-1);
    KILN_TRY(view_side(p, &p->a, a, a_axes, 3, &left, err));
    KILN_TRY(view_side(p, &p->b, b, b_axes, 3, &right, err));
    KILN_TRY(view_side(p, &p->y, y, y_axes, 2, &sums, err));
    KILN_TRY(kiln_array_sum_product(left, right, &options, &sums, err));

done:
    kiln_array_release(left);
    kiln_array_release(right);
    kiln_array_release(sums);
    return status;
}

/* ---- what follows a product ------------------------------------------------------------------ */

typedef struct wanted {
    kiln_dtype dtype;
    kiln_epilogue epilogue;
} wanted;

/* In float32 for the narrower dtypes, as the library's epilogues are. */
static kiln_status make(kiln_context *ctx, const void *what, kiln__kernel **out, kiln_error *err)
{
    static const char *const texts[] = {
        [KILN_EPILOGUE_NONE] = "v",
        [KILN_EPILOGUE_RELU] = "v < R(0) ? R(0) : v",
        [KILN_EPILOGUE_GELU] =
            "v / R(2) * (R(1) + tanh(R(0.79788456080286535588) * (v + R(0.044715) * v * v * v)))",
    };
    const wanted *w = what;
    const bool narrow = kiln_dtype_kind(w->dtype) == 'f' && w->dtype != KILN_FLOAT64;
    kiln__buf op = KILN__BUF_INIT;
    kiln_status status = KILN_ERR_NO_MEMORY;

    kiln__buf_printf(&op, "using R = %s;\nconst R v = R(y) + R(bias);\ny = T(%s)",
                     narrow ? "float" : "T", texts[w->epilogue]);
    const kiln__definition_request request = {.name = "kiln_matmul_finish",
                                              .in = "T bias",
                                              .out = "T y",
                                              .snippet = {[KILN__SNIPPET_OP] = op.text}};
    if (op.failed)
        kiln__fail_memory(err, sizeof request);
    else
        status = kiln__kernel_new(ctx, false, &kiln__loop_calls, &request, out, err);
    kiln__buf_clear(&op);
    return status;
}

kiln_status kiln__finish_kernel(const kiln__product *p, kiln_array *y, const kiln_array *bias,
                                kiln_stream *stream, kiln_error *err)
{
    const wanted w = {p->out, p->epilogue};
    const kiln_arg args[] = {bias != NULL ? kiln_arg_array(bias) : kiln_arg_int(0),
                             kiln_arg_array(y)};
    const kiln__call call = {.args = args, .arg_count = KILN_COUNT_OF(args), .stream = stream};
    kiln__kernel *op = NULL;
    KILN_CHECK(kiln__kept_kernel(y->ctx, make, &w, (uint64_t)w.dtype << 8 | (uint64_t)w.epilogue,
                                 &op, err));
    return kiln__kernel_run(op, &call, err);
}
