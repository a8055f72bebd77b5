/*
 * einsum.c - kiln_array_einsum(): arrays, contracted by twos.
 *
 *     operands > [one axis a label, one dtype] > steps of the plan > [order of axes] > result
 *
 * A step on two operands has labels of four kinds: those of both that stay (a stack), those of both that go (they
 * are summed), and those of one of them that stay (rows, columns). Labels of one operand that go are summed
 * before. What sums and has rows or columns is a product of matrices; what sums without them is a reduction;
 * what does not sum is a loop over elements.
 */
#include "linalg/einsum.h"
#include "ops/ops.h"

/* An operand: its axes have different labels, in this order. */
typedef struct operand {
    kiln__einsum_term term;
    kiln_array *array;
} operand;

typedef struct einsum {
    kiln__einsum e;
    kiln__einsum_step steps[KILN__EINSUM_TERMS];
    operand list[KILN__EINSUM_TERMS];
    int count;
    kiln_context *ctx;
    kiln_matmul_options o; /* of each product */
    kiln_stream *stream;
    kiln_array *target; /* the caller's output, where the last step may write to it; else NULL */
    bool written;       /* it did */
} einsum;

/* ---- operands -------------------------------------------------------------------------------- */

static void drop(operand *o)
{
    kiln_array_release(o->array);
    o->array = NULL;
}

/* One axis for each label of a term, as long as the label's extent: diagonals and broadcasts are strides. */
static kiln_status make_operand(const einsum *w, int nth, const kiln_array *array, operand *out,
                                kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    const kiln__einsum_term *term = &w->e.term[nth];
    kiln_array *view = NULL;
    int order[KILN_RANK_MAX];
    kiln_status status = KILN_OK;

    out->term.count = 0;
    for (int k = 0; k < term->count; k++) {
        int at = 0;
        while (at < out->term.count && out->term.label[at] != term->label[k])
            at++;
        if (at == out->term.count) {
            out->term.label[out->term.count++] = term->label[k];
            shape[at] = w->e.extent[term->label[k]];
            strides[at] = 0;
        }
        if (array->shape[k] != 1)
            strides[at] += array->strides[k];
    }
    KILN_TRY(kiln__array_view(array, out->term.count, shape, strides, array->data, &view, err));
    if (view->dtype == w->o.dtype) {
        out->array = view;
        view = NULL;
    } else {
        kiln__array_k_order(view, order);
        KILN_TRY(kiln__array_copy_as(view, w->o.dtype, order, w->stream, &out->array, err));
    }

done:
    kiln_array_release(view);
    return status;
}

/* A view with the axes that `order` lists, label by label; a label that the operand lacks is an axis of
 * extent 1. */
static kiln_status view_as(const operand *o, const kiln__einsum_term *order, kiln_array **out,
                           kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];

    for (int k = 0; k < order->count; k++) {
        shape[k] = 1;
        strides[k] = 0;
        for (int axis = 0; axis < o->term.count; axis++)
            if (o->term.label[axis] == order->label[k]) {
                shape[k] = o->array->shape[axis];
                strides[k] = o->array->strides[axis];
            }
    }
    return kiln__array_view(o->array, order->count, shape, strides, o->array->data, out, err);
}

/* Append those labels of `term` that are in `set`. */
static void append(kiln__einsum_term *to, const kiln__einsum_term *term, kiln__uint128 set)
{
    for (int k = 0; k < term->count; k++)
        if ((set & kiln__einsum_bit(term->label[k])) != 0)
            to->label[to->count++] = term->label[k];
}

/* Elements of the axes of an array from `from` on, `count` of them. */
static int64_t extent_of(const kiln_array *x, int from, int count)
{
    int64_t size = 1;
    for (int axis = from; axis < from + count; axis++)
        size *= x->shape[axis];
    return size;
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* Sum over the labels of an operand that are not in `kept`. */
static kiln_status sum_out(const einsum *w, operand *o, kiln__uint128 kept, kiln_error *err)
{
    const kiln__uint128 mine = kiln__einsum_set(&o->term);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    const kiln_dtype dtype = w->o.dtype;
    kiln__einsum_term order = {.count = 0};
    kiln_array *turned = NULL, *sums = NULL, *narrow = NULL;
    kiln_axes axes = {.count = 0};
    kiln_status status = KILN_OK;

    if ((mine & ~kept) == 0)
        return KILN_OK;
    append(&order, &o->term, kept);
    const int stay = order.count;
    append(&order, &o->term, mine & ~kept);
    for (int axis = stay; axis < order.count; axis++)
        axes.axis[axes.count++] = axis;
    options.stream = w->stream;
    options.axes = &axes;
    KILN_TRY(view_as(o, &order, &turned, err));
    KILN_TRY(kiln_array_reduce_with(dtype == KILN_BOOL ? KILN_REDUCE_ANY : KILN_REDUCE_SUM, turned,
                                    &options, &sums, err));
    if (sums->dtype != dtype) { /* integers are summed in 64 bits, and wrap */
        KILN_TRY(kiln__array_copy_as(sums, dtype, NULL, w->stream, &narrow, err));
        kiln_array_release(sums);
        sums = narrow;
    }
    drop(o);
    o->array = sums;
    sums = NULL;
    order.count = stay;
    o->term = order;

done:
    kiln_array_release(turned);
    kiln_array_release(sums);
    return status;
}

/* ---- two operands ---------------------------------------------------------------------------- */

static const kiln__kept_texts multiply_texts = {
    .calls = &kiln__loop_calls,
    .request = {.name = "kiln_einsum_multiply",
                .in = "T x, T y",
                .out = "T z",
                .snippet = {[KILN__SNIPPET_OP] = "z = T(x * y)"}},
};

/* Nothing is summed: z[made] = x * y. */
static kiln_status multiply(const einsum *w, const operand *a, const operand *b, operand *made,
                            kiln_error *err)
{
    kiln_array *x = NULL, *y = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(view_as(a, &made->term, &x, err));
    KILN_TRY(view_as(b, &made->term, &y, err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(y), kiln_arg_out(&made->array)};
    KILN_TRY(kiln__kept_run(w->ctx, &multiply_texts, args, KILN_COUNT_OF(args), w->stream, err));

done:
    kiln_array_release(x);
    kiln_array_release(y);
    return status;
}

/* Sums without rows and columns: one for each matrix of the stack. */
static kiln_status reduce(const einsum *w, const operand *a, const operand *b,
                          const kiln__einsum_term *summed, operand *made, kiln_error *err)
{
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln__einsum_term order = made->term;
    kiln_axes axes = {.count = summed->count};
    kiln_array *x = NULL, *y = NULL;
    kiln_status status = KILN_OK;

    append(&order, summed, ~(kiln__uint128)0);
    for (int k = 0; k < axes.count; k++)
        axes.axis[k] = made->term.count + k;
    options.stream = w->stream;
    options.axes = &axes;
    KILN_TRY(view_as(a, &order, &x, err));
    KILN_TRY(view_as(b, &order, &y, err));
    KILN_TRY(kiln_array_sum_product(x, y, &options, &made->array, err));

done:
    kiln_array_release(x);
    kiln_array_release(y);
    return status;
}

/* An operand as a stack of matrices: `stack` axes as they are, then `rows` axes in one, then the others. */
static kiln_status as_matrices(const einsum *w, const operand *o, const kiln__einsum_term *order,
                               int stack, int rows, kiln_array **out, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX + 2];
    kiln_array *turned = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(view_as(o, order, &turned, err));
    memcpy(shape, turned->shape, (size_t)stack * sizeof shape[0]);
    shape[stack] = extent_of(turned, stack, rows);
    shape[stack + 1] = extent_of(turned, stack + rows, order->count - stack - rows);
    if (stack + 2 > KILN_RANK_MAX)
        status =
            kiln__fail(err, KILN_ERR_ARGUMENT, "einsum: a stack of %d axes is too much", stack);
    else
        status = kiln__tensor_reshape(turned, stack + 2, shape, w->stream, out, err);

done:
    kiln_array_release(turned);
    return status;
}

/* A view of `x` as a stack of matrices, of which `rows` axes behind the stack are the rows; NULL where its strides
 * do not allow. */
static kiln_status matrices_in(const kiln_array *x, int stack, int rows, kiln_array **out,
                               kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX + 2], strides[KILN_RANK_MAX + 2];

    *out = NULL;
    memcpy(shape, x->shape, (size_t)stack * sizeof *shape);
    shape[stack] = extent_of(x, stack, rows);
    shape[stack + 1] = extent_of(x, stack + rows, x->rank - stack - rows);
    if (stack + 2 > KILN_RANK_MAX ||
        !kiln__reshape_strides(x->rank, x->shape, x->strides, kiln_dtype_size(x->dtype), stack + 2,
                               shape, strides))
        return KILN_OK;
    return kiln__array_view(x, stack + 2, shape, strides, x->data, out, err);
}

/* A product of matrices; the labels of `made` are those of the stack, the rows, the columns. */
static kiln_status contract(const einsum *w, const operand *a, const operand *b,
                            const kiln__einsum_term *summed, int stack, int rows, operand *made,
                            kiln_error *err)
{
    kiln__einsum_term left = {.count = 0}, right = {.count = 0};
    kiln_array *x = NULL, *y = NULL, *product = NULL;
    int64_t shape[KILN_RANK_MAX];
    kiln_status status = KILN_OK;

    memcpy(&left, &made->term, sizeof left);
    left.count = stack + rows;
    append(&left, summed, ~(kiln__uint128)0);
    memcpy(&right, &made->term, sizeof right);
    right.count = stack;
    append(&right, summed, ~(kiln__uint128)0);
    for (int k = stack + rows; k < made->term.count; k++)
        right.label[right.count++] = made->term.label[k];
    for (int k = 0; k < made->term.count; k++)
        shape[k] = w->e.extent[made->term.label[k]];
    KILN_TRY(as_matrices(w, a, &left, stack, rows, &x, err));
    KILN_TRY(as_matrices(w, b, &right, stack, summed->count, &y, err));
    if (made->array != NULL) {
        KILN_TRY(matrices_in(made->array, stack, rows, &product, err));
        if (product != NULL) {
            KILN_TRY(kiln_matmul(x, y, &w->o, &product, err));
            goto done;
        }
        drop(made);
    }
    KILN_TRY(kiln_matmul(x, y, &w->o, &product, err));
    KILN_TRY(kiln__tensor_reshape(product, made->term.count, shape, w->stream, &made->array, err));

done:
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(product);
    return status;
}

static kiln_status run_step(einsum *w, const kiln__einsum_step *step, kiln_error *err)
{
    operand *a = &w->list[step->a], *b = &w->list[step->b], made = {.term = step->made};
    kiln__einsum_term summed = {.count = 0};
    const kiln__uint128 kept = kiln__einsum_set(&step->made);
    kiln_status status = sum_out(w, a, kept | kiln__einsum_set(&b->term), err);

    if (status == KILN_OK)
        status = sum_out(w, b, kept | kiln__einsum_set(&a->term), err);
    if (status == KILN_OK && w->target != NULL && w->count == 2) {
        const operand result = {.term = w->e.result, .array = w->target};
        status = view_as(&result, &made.term, &made.array, err);
    }
    if (status != KILN_OK)
        return status;
    const kiln__uint128 left = kiln__einsum_set(&a->term), right = kiln__einsum_set(&b->term);
    int stack = 0, rows = 0;
    append(&summed, &a->term, left & right & ~kept);
    for (int k = 0; k < made.term.count; k++) {
        const kiln__uint128 bit = kiln__einsum_bit(made.term.label[k]);
        stack += (left & right & bit) != 0;
        rows += (left & ~right & bit) != 0;
    }
    if (summed.count == 0)
        status = multiply(w, a, b, &made, err);
    else if (stack == made.term.count && stack > 0)
        status = reduce(w, a, b, &summed, &made, err);
    else
        status = contract(w, a, b, &summed, stack, rows, &made, err);
    if (status != KILN_OK) {
        drop(&made);
        return status;
    }
    w->written = w->target != NULL && w->count == 2 && made.array->storage == w->target->storage;
    drop(a);
    drop(b);
    memmove(b, b + 1, (size_t)(w->count - step->b - 1) * sizeof *b);
    memmove(a, a + 1, (size_t)(w->count - step->a - 2) * sizeof *a);
    w->list[w->count - 2] = made;
    w->list[--w->count].array = NULL;
    return KILN_OK;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static kiln_status check(const char *function, const char *subscripts,
                         const kiln_array *const *arrays, size_t count, const void *out,
                         kiln_context **ctx_out, kiln_error *err)
{
    *ctx_out = NULL;
    if (subscripts == NULL || arrays == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", function,
                          subscripts == NULL ? "subscripts"
                          : arrays == NULL   ? "arrays"
                                             : "out");
    for (size_t k = 0; k < count; k++) {
        kiln_status status = kiln__array_check(arrays[k], *ctx_out, "einsum: an operand", err);
        if (status != KILN_OK)
            return status;
        *ctx_out = arrays[k]->ctx;
    }
    return *ctx_out != NULL ? kiln__device_check(kiln__context_device(*ctx_out), err) : KILN_OK;
}

/* The dtype of all steps and of the result. */
static kiln_status decide_dtype(einsum *w, const kiln_array *const *arrays, kiln_error *err)
{
    kiln_dtype dtype = arrays[0]->dtype;

    for (int k = 1; k < w->e.count; k++)
        (void)kiln__promote(dtype, arrays[k]->dtype, &dtype);
    if (w->o.dtype == KILN_DTYPE_NONE)
        w->o.dtype = kiln__product_dtype(dtype);
    if (!kiln__product_fits(dtype, w->o.dtype))
        return kiln__fail(err, KILN_ERR_DTYPE, "einsum: a product of %s cannot be %s",
                          kiln_dtype_name(dtype), kiln_dtype_name(w->o.dtype));
    return KILN_OK;
}

/* The caller's output where it may be written to before the end: it has the result's dtype and shape, and
 * overlaps no operand. */
static kiln_array *target_of(const einsum *w, const kiln_array *const *arrays, kiln_array *given)
{
    if (given == NULL || given->dtype != w->o.dtype || given->rank != w->e.result.count ||
        kiln__array_check(given, w->ctx, "einsum: `*out`", NULL) != KILN_OK ||
        kiln__array_unwritable(given) != NULL)
        return NULL;
    for (int k = 0; k < given->rank; k++)
        if (given->shape[k] != w->e.extent[w->e.result.label[k]])
            return NULL;
    for (int k = 0; k < w->e.count; k++)
        if (kiln__array_overlap(given, arrays[k]))
            return NULL;
    return given;
}

/* The last operand with the axes of the result, never a view of the caller's. */
static kiln_status deliver(einsum *w, const kiln_array *const *arrays, kiln_array **out,
                           kiln_error *err)
{
    kiln_array *view = NULL, *made = NULL;
    kiln_status status = KILN_OK;

    if (w->written)
        return KILN_OK;
    KILN_TRY(sum_out(w, &w->list[0], kiln__einsum_set(&w->e.result), err));
    KILN_TRY(view_as(&w->list[0], &w->e.result, &view, err));
    if (*out == NULL && view->storage == arrays[0]->storage)
        KILN_TRY(kiln__array_copy_on(view, w->stream, &made, err));
    else
        made = kiln_array_retain(view);
    KILN_TRY(kiln__tensor_deliver("einsum", made, w->stream, out, err));

done:
    kiln_array_release(view);
    return status;
}

kiln_status kiln_array_einsum(const char *subscripts, const kiln_array *const *arrays, size_t count,
                              const kiln_matmul_options *opts, kiln_array **out, kiln_error *err)
{
    einsum *w = kiln__calloc(1, sizeof *w);
    kiln_status status = KILN_OK;

    if (w == NULL)
        return kiln__fail_memory(err, sizeof *w);
    KILN_TRY(check("kiln_array_einsum", subscripts, arrays, count, out, &w->ctx, err));
    KILN_TRY(kiln__einsum_parse(subscripts, arrays, count, &w->e, err));
    KILN_TRY(kiln__tensor_options("einsum", opts, &w->o, err));
    if (w->o.alpha != 0) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "einsum takes no `alpha`");
        goto done;
    }
    KILN_TRY(kiln__context_stream(w->ctx, w->o.stream, &w->stream, err));
    w->o.stream = w->stream;
    KILN_TRY(decide_dtype(w, arrays, err));
    KILN_TRY(kiln__einsum_plan(&w->e, w->steps, err));
    w->target = target_of(w, arrays, *out);
    for (; w->count < w->e.count; w->count++)
        KILN_TRY(make_operand(w, w->count, arrays[w->count], &w->list[w->count], err));
    for (int step = 0; step + 1 < w->e.count; step++)
        KILN_TRY(run_step(w, &w->steps[step], err));
    KILN_TRY(deliver(w, arrays, out, err));
    for (int k = 0; k < w->e.count; k++)
        if (arrays[k]->storage->home != w->stream)
            kiln__storage_used_on(arrays[k]->storage, w->stream);

done:
    for (int k = 0; k < KILN__EINSUM_TERMS; k++)
        drop(&w->list[k]);
    kiln__free(w);
    return status;
}

static void put_term(kiln__buf *b, const kiln__einsum_term *term)
{
    for (int k = 0; k < term->count; k++)
        if (term->label[k] < KILN__EINSUM_LETTERS)
            kiln__buf_putc(b, kiln__einsum_letter(term->label[k]));
        else if (k == 0 || term->label[k - 1] < KILN__EINSUM_LETTERS)
            kiln__buf_puts(b, "...");
}

kiln_status kiln_array_einsum_path(const char *subscripts, const kiln_array *const *arrays,
                                   size_t count, char **text_out, kiln_error *err)
{
    kiln__einsum_step steps[KILN__EINSUM_TERMS];
    kiln__buf b = KILN__BUF_INIT;
    kiln_context *ctx = NULL;
    kiln__einsum e;
    kiln_status status = KILN_OK;

    if (text_out != NULL)
        *text_out = NULL;
    KILN_TRY(check("kiln_array_einsum_path", subscripts, arrays, count, text_out, &ctx, err));
    KILN_TRY(kiln__einsum_parse(subscripts, arrays, count, &e, err));
    KILN_TRY(kiln__einsum_plan(&e, steps, err));
    for (int k = 0; k + 1 < e.count; k++) {
        put_term(&b, &steps[k].left);
        kiln__buf_putc(&b, ',');
        put_term(&b, &steps[k].right);
        kiln__buf_puts(&b, "->");
        put_term(&b, k + 2 == e.count ? &e.result : &steps[k].made);
        kiln__buf_printf(&b, "  (operands %d and %d, %.0f multiplications)\n", steps[k].a + 1,
                         steps[k].b + 1, steps[k].multiplications);
    }
    if (e.count == 1) {
        put_term(&b, &e.term[0]);
        kiln__buf_puts(&b, "->");
        put_term(&b, &e.result);
        kiln__buf_putc(&b, '\n');
    }
    *text_out = kiln__buf_take(&b);
    if (*text_out == NULL)
        status = kiln__fail_memory(err, b.length);

done:
    kiln__buf_clear(&b);
    return status;
}
