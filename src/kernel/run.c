/*
 * run.c - one call whose kernel is known.
 *
 *     recipe from the memo > [bind arrays > overlap > fill the block > launch]
 *
 * call.c calls it for public functions, the folders above for kernels of kiln's own.
 *
 * Rule: a call whose recipe is known takes no lock and allocates only the outputs that are asked
 *       for. What a call needs once for each layout belongs into recipe.c.
 *
 * Tests: test_program, test_filter.
 */
#include "kernel/kernel.h"

kiln_status kiln__recipe_get(kiln__kernel *op, const kiln__call *call, const kiln__recipe **out,
                             kiln__recipe **borrowed, kiln_error *err)
{
    uint64_t hash;
    kiln__recipe *built = NULL;

    *borrowed = NULL;
    *out = NULL;
    if (kiln__call_hash(op, call, &hash)) {
        *out = kiln__memo_find(&op->memo, hash, kiln__recipe_matches, call);
        if (*out == NULL)
            *out = *borrowed = kiln__memo_borrow(&op->memo, hash, kiln__recipe_matches, call);
    }
    if (*out != NULL)
        return KILN_OK;
    KILN_CHECK(kiln__device_check(op->device, err));
    KILN_CHECK(kiln__recipe_build(op, call, &built, NULL, err));
    *out = built;
    if (!kiln__memo_insert(&op->memo, built)) {
        *borrowed = built;
        kiln__memo_lend(&op->memo, built, kiln__recipe_destroy);
    }
    return KILN_OK;
}

kiln_status kiln__check_out(const kiln_arg *args, size_t at, const bool *fresh, kiln_error *err)
{
    for (size_t p = 0; p < at; p++)
        if (fresh[p] && args[p].value.out == args[at].value.out)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "arguments %zu and %zu are outputs that are to be stored at one "
                              "address; give each its own",
                              p + 1, at + 1);
    return KILN_OK;
}

kiln_status kiln__bind_arrays(const kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln__bound *bound, kiln_error *err)
{
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        bound->fresh[p] = false;
        bound->array[p] = arg->kind == KILN_ARG_ARRAY ? arg->value.array
                          : arg->kind == KILN_ARG_OUT ? *arg->value.out
                                                      : NULL;
        if (recipe->args[p].kind != KILN_ARG_OUT)
            continue;
        const int row = recipe->args[p].row;
        kiln_status status = kiln__check_out(call->args, p, bound->fresh, err);
        if (status == KILN_OK)
            status = kiln__array_new(
                op->ctx, (kiln_dtype)recipe->args[p].dtype,
                row == KILN__SHAPE_CALL      ? 0
                : row == KILN__SHAPE_RESULTS ? recipe->row_rank
                                             : recipe->rank,
                row ? recipe->row_shape : recipe->shape, row ? NULL : recipe->order, call->stream,
                &bound->array[p], err);
        if (status != KILN_OK) {
            for (size_t q = p + 1; q < recipe->arg_count; q++)
                bound->fresh[q] = false;
            kiln__bound_drop(recipe, bound);
            return status;
        }
        bound->fresh[p] = true;
    }
    return KILN_OK;
}

void kiln__bound_drop(const kiln__recipe *recipe, kiln__bound *bound)
{
    if (!recipe->allocates)
        return;
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->fresh[p])
            kiln_array_release(bound->array[p]);
}

static kiln_status put_scalar(const kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, const kiln__patch *patch, void *block,
                              kiln_error *err)
{
    const size_t p = patch->param;
    kiln__given given;
    kiln__scalar value;

    memset(&value, 0, sizeof value);
    if (!kiln__given_scalar(&call->args[p], &given))
        return kiln__fail(err, KILN_ERR_INTERNAL, "kernel \"%s\": `%s` is no scalar", op->def->name,
                          op->def->params[p].name);
    kiln_status status =
        kiln__convert_scalar(op->def, p, &given, (kiln_dtype)recipe->args[p].dtype, &value, err);
    if (status == KILN_OK)
        memcpy((char *)block + patch->offset, value.bytes, patch->bytes);
    return status;
}

kiln_status kiln__block_fill(const kiln__kernel *op, const kiln__recipe *recipe,
                             const kiln__call *call, const kiln__bound *bound, void *block,
                             kiln_error *err)
{
    memcpy(block, recipe->block, recipe->args_bytes);
    for (size_t k = 0; k < recipe->pointer_count; k++) {
        const kiln__patch *patch = &recipe->pointers[k];
        memcpy((char *)block + patch->offset, &bound->array[patch->param]->data, sizeof(void *));
    }
    for (size_t k = 0; k < recipe->scalar_count; k++) {
        KILN_CHECK(put_scalar(op, recipe, call, &recipe->scalars[k], block, err));
    }
    return KILN_OK;
}

void kiln__bound_used(const kiln__recipe *recipe, const kiln__bound *bound, kiln_stream *stream)
{
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->array[p] != NULL && bound->array[p]->storage->home != stream)
            kiln__storage_used_on(bound->array[p]->storage, stream);
}

/* ---- copies of arrays: what calls need whose inputs overlap an output --------------------------- */

/* On the cpu device: from here on a kernel on all cores beats a plain loop. */
enum { HOST_LOOP_BYTES = 4 << 20 };

bool kiln__host_loop_is_faster(const kiln_array *a, kiln_stream *stream)
{
    kiln__device *const device = kiln__context_device(a->ctx);

    return kiln__device_is_host(device) &&
           !kiln__stream_is_recording(stream != NULL ? stream : kiln__device_stream(device)) &&
           a->size * (int64_t)kiln_dtype_size(a->dtype) < HOST_LOOP_BYTES;
}

static kiln_status run_kept(kiln_context *ctx, kiln__kernel *op, const kiln_arg *args,
                            size_t arg_count, kiln_stream *stream, kiln_error *err)
{
    const kiln__call call = {
        .args = args,
        .arg_count = arg_count,
        .stream = stream != NULL ? stream : kiln__device_stream(kiln__context_device(ctx))};

    return kiln__kernel_run(op, &call, err);
}

kiln_status kiln__builtin_run(kiln_context *ctx, kiln__builtin which, const kiln_arg *args,
                              size_t arg_count, kiln_stream *stream, kiln_error *err)
{
    kiln__kernel *op = NULL;

    KILN_CHECK(kiln__builtin_get(ctx, which, &op, err));
    return run_kept(ctx, op, args, arg_count, stream, err);
}

kiln_status kiln__kept_run(kiln_context *ctx, const kiln__kept_texts *texts, const kiln_arg *args,
                           size_t arg_count, kiln_stream *stream, kiln_error *err)
{
    kiln__kernel *op = NULL;

    KILN_CHECK(kiln__kept_by_texts(ctx, texts, &op, err));
    return run_kept(ctx, op, args, arg_count, stream, err);
}

static kiln__builtin cast_builtin(kiln_dtype from, kiln_dtype to)
{
    const bool complex_from = kiln_dtype_kind(from) == 'c';
    if (to == KILN_BOOL && from != KILN_BOOL)
        return complex_from ? KILN__BUILTIN_CAST_COMPLEX_BOOL : KILN__BUILTIN_CAST_BOOL;
    return complex_from && kiln_dtype_kind(to) != 'c' ? KILN__BUILTIN_CAST_REAL
                                                      : KILN__BUILTIN_CAST;
}

/* Whether a kernel copies faster than a GPU's driver does: many bytes that do not begin alike, which
 * a kernel moves by aligned words (src/codegen/copies.c; bench/results/random-h200.txt). */
enum { KERNEL_COPY_BYTES = 4 << 20 };

static bool copies_better(kiln__device *device, const kiln_array *dst, const kiln_array *src, size_t bytes)
{
    return !kiln__device_is_host(device) && bytes >= KERNEL_COPY_BYTES &&
           (((uintptr_t)dst->data | (uintptr_t)src->data) & 15) != 0;
}

/* dst[...] = src: the caller has checked shapes; overlap is the kernel layer's business. */
kiln_status kiln__array_assign_on(kiln_array *dst, const kiln_array *src, kiln_stream *stream,
                                  kiln_error *err)
{
    kiln__device *device = kiln__context_device(dst->ctx);
    const size_t bytes = (size_t)dst->size * kiln_dtype_size(dst->dtype);
    const bool overlap = dst->size > 0 && kiln__array_overlap(dst, src);

    if (src->dtype == dst->dtype && src->contiguous && dst->contiguous && src->size == dst->size &&
        !overlap && !copies_better(device, dst, src, bytes))
        return kiln__copy_device_to_device(device, dst->data, src->data, bytes, stream, err);
    if (src->dtype == dst->dtype && kiln__host_loop_is_faster(dst, stream) && src->rank == dst->rank &&
        memcmp(src->shape, dst->shape, (size_t)src->rank * sizeof src->shape[0]) == 0 && !overlap) {
        kiln__host_copy(dst->data, dst->strides, src->data, src->strides, dst->rank, dst->shape,
                        kiln_dtype_size(dst->dtype));
        return KILN_OK;
    }
    const kiln_arg args[] = {kiln_arg_array(src), kiln_arg_array(dst)};
    return kiln__builtin_run(dst->ctx, cast_builtin(src->dtype, dst->dtype), args,
                             KILN_COUNT_OF(args), stream, err);
}

void kiln__array_k_order(const kiln_array *array, int *order_out)
{
    const kiln__operand operand = {
        .is_array = true, .rank = array->rank, .shape = array->shape, .strides = array->strides};

    kiln__plan_k_order(&operand, 1, array->rank, array->shape, order_out);
}

/* A copy with the axis order `order`, enqueued on `stream`. */
kiln_status kiln__array_copy_as(const kiln_array *array, kiln_dtype dtype, const int *order,
                                kiln_stream *stream, kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *y = NULL;
    kiln__device *device = kiln__context_device(array->ctx);

    if (stream == NULL)
        stream = kiln__device_stream(device);
    KILN_TRY(kiln__array_new(array->ctx, dtype, array->rank, array->shape, order, stream, &y, err));
    KILN_TRY(kiln__array_assign_on(y, array, stream, err));
    if (array->storage->home != stream)
        kiln__storage_used_on(array->storage, stream);
    *out = y;
    y = NULL;

done:
    kiln_array_release(y);
    return status;
}

kiln_status kiln__array_copy_on(const kiln_array *array, kiln_stream *stream, kiln_array **out,
                                kiln_error *err)
{
    *out = NULL;
    return kiln__array_copy_as(array, array->dtype, NULL, stream, out, err);
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* A copy that is broadcast along the same axes as the array: kernels may rely on that, and need no more
 * memory. */
static kiln_status copy_apart(const kiln_array *array, kiln_stream *stream, kiln_array **out,
                              kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    kiln_array *once = NULL, *copy = NULL;
    kiln_status status = KILN_OK;

    for (int a = 0; a < array->rank; a++)
        shape[a] = array->strides[a] == 0 && array->shape[a] > 1 ? 1 : array->shape[a];
    KILN_TRY(kiln__array_view(array, array->rank, shape, array->strides, array->data, &once, err));
    KILN_TRY(kiln__array_copy_on(once, stream, &copy, err));
    KILN_TRY(kiln_array_broadcast_to(copy, array->rank, array->shape, out, err));

done:
    kiln_array_release(once);
    kiln_array_release(copy);
    return status;
}

/* The call with copies in place of the inputs that overlap an output. */
static kiln_status run_with_copies(kiln__kernel *op, const kiln__call *call,
                                   const kiln__bound *bound, const bool *copy, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_arg args[KILN_PARAM_MAX];
    kiln_array *copies[KILN_PARAM_MAX] = {NULL};
    kiln__call again = *call;

    memcpy(args, call->args, call->arg_count * sizeof args[0]);
    for (size_t p = 0; p < op->def->input_count; p++) {
        if (!copy[p])
            continue;
        KILN_TRY(copy_apart(bound->array[p], call->stream, &copies[p], err));
        args[p] = kiln_arg_array(copies[p]);
    }
    again.args = args;
    KILN_TRY(kiln__kernel_run(op, &again, err));

done:
    for (size_t p = 0; p < op->def->input_count; p++)
        kiln_array_release(copies[p]);
    return status;
}

void kiln__bound_deliver(const kiln__recipe *recipe, const kiln__call *call,
                         const kiln__bound *bound)
{
    if (!recipe->allocates)
        return;
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->fresh[p])
            *call->args[p].value.out = bound->array[p];
}

/* Room for a reduction's parts, and for its zeroed tickets where the stream has none. */
kiln_status kiln__workspace_make(kiln__device *device, const kiln__workspace_need *need,
                                 kiln_stream *stream, void *block, kiln__block **out,
                                 kiln_error *err)
{
    const size_t parts = (need->part_bytes + 511) / 512 * 512;
    size_t own = 0;
    void *tickets = NULL;
    kiln_status status = KILN_OK;

    if (!need->leaves_marks)
        status = kiln__stream_tickets(stream, need->ticket_count, &tickets, err);
    if (status == KILN_OK && tickets == NULL)
        own = (size_t)need->ticket_count * sizeof(int);
    if (status == KILN_OK)
        status = kiln__pool_alloc(device, parts + own, stream, out, err);
    if (status == KILN_ERR_DEVICE_MEMORY && err != NULL) {
        char low[KILN_ERROR_MESSAGE_BYTES];
        snprintf(low, sizeof low, "%s", err->message);
        return kiln__fail(err, status, "no room for the %zu bytes of partial results: %.400s",
                          parts + own, low);
    }
    if (status != KILN_OK)
        return status;
    char *at = (*out)->address;
    if (own > 0) {
        tickets = at + parts;
        status = kiln__memset(device, tickets, 0, own, stream, err);
    }
    memcpy((char *)block + need->parts_offset, &at, sizeof at);
    memcpy((char *)block + need->tickets_offset, &tickets, sizeof tickets);
    return status;
}

void kiln__described_note(const void *user, kiln__step_note *note)
{
    const kiln__described *const what = user;
    const kiln__recipe *const recipe = what->recipe;

    note->kernel = what->def->name;
    note->place_count = recipe->pointer_count + recipe->scalar_count;
    for (size_t k = 0; note->places != NULL && k < note->place_count; k++) {
        const bool is_pointer = k < recipe->pointer_count;
        const kiln__patch *const patch =
            is_pointer ? &recipe->pointers[k] : &recipe->scalars[k - recipe->pointer_count];
        note->places[k] = (kiln__arg_place){patch->offset,
                                            patch->bytes,
                                            recipe->args[patch->param].dtype,
                                            patch->param,
                                            is_pointer,
                                            0,
                                            what->def->params[patch->param].name};
    }
}

static kiln_status run_recipe(kiln__kernel *op, const kiln__recipe *recipe, const kiln__call *call,
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__bound bound;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    kiln__block *workspace = NULL;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];

    KILN_CHECK(kiln__bind_arrays(op, recipe, call, &bound, err));
    if (recipe->count == 0) {
        kiln__bound_deliver(recipe, call, &bound);
        return kiln__device_check(op->device, err);
    }
    if (recipe->has_output_arrays) {
        KILN_TRY(kiln__overlap_check(op, recipe, &bound, copy, &any_copy, err));
        if (any_copy) {
            kiln__bound_drop(recipe, &bound); /* the second round allocates anew */
            return run_with_copies(op, call, &bound, copy, err);
        }
    }
    KILN_TRY(kiln__block_fill(op, recipe, call, &bound, block, err));
    if (recipe->workspace.ticket_count > 0)
        KILN_TRY(kiln__workspace_make(op->device, &recipe->workspace, call->stream, block,
                                      &workspace, err));
    KILN_TRY(kiln__launch_noted(op->device, recipe->entry, &recipe->config, block,
                                recipe->args_bytes, kiln__described_note,
                                &(kiln__described){op->def, recipe}, call->stream, err));
    kiln__pool_free(op->device, workspace, NULL, 0);
    kiln__bound_used(recipe, &bound, call->stream);
    kiln__bound_deliver(recipe, call, &bound);
    return KILN_OK;

done:
    kiln__pool_free(op->device, workspace, NULL, 0);
    kiln__bound_drop(recipe, &bound);
    return status;
}

kiln_status kiln__kernel_run(kiln__kernel *op, const kiln__call *call, kiln_error *err)
{
    const bool watched = kiln__is_watched(KILN_OBSERVE_ALL);
    const char *before = NULL;
    const kiln__recipe *recipe;
    kiln__recipe *borrowed;

    if (watched)
        kiln__call_begin(op->device, op->def->name, &before);
    kiln_status status = kiln__recipe_get(op, call, &recipe, &borrowed, err);
    if (status == KILN_OK)
        status = run_recipe(op, recipe, call, err);
    kiln__memo_return(&op->memo, borrowed, kiln__recipe_destroy);
    if (watched)
        kiln__call_end(op->device, before, status);
    return status;
}

kiln_status kiln__kernel_run_again(kiln__kernel *op, const kiln__call *call,
                                   _Atomic(const kiln__recipe *) *recent, kiln_error *err)
{
    const bool watched = kiln__is_watched(KILN_OBSERVE_ALL);
    const kiln__recipe *recipe = atomic_load_explicit(recent, memory_order_acquire);
    kiln__recipe *borrowed = NULL;
    const char *before = NULL;
    kiln_status status = KILN_OK;

    if (watched)
        kiln__call_begin(op->device, op->def->name, &before);
    if (recipe == NULL || !kiln__recipe_still_fits(recipe, call)) {
        status = kiln__recipe_get(op, call, &recipe, &borrowed, err);
        if (status == KILN_OK && borrowed == NULL)
            atomic_store_explicit(recent, recipe, memory_order_release);
    }
    if (status == KILN_OK)
        status = run_recipe(op, recipe, call, err);
    kiln__memo_return(&op->memo, borrowed, kiln__recipe_destroy);
    if (watched)
        kiln__call_end(op->device, before, status);
    return status;
}
