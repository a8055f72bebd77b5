/*
 * lists.c - calls whose arguments are lists of arrays.
 *
 *     a call with lists > a call for each place > calls of one variant together > launches
 *
 * A variant with room for several calls (kiln__loop_variant.lists) has an argument block that
 * kiln__lists_bytes() describes. Calls are collected in groups, one for each such variant. A group
 * is launched when it is full, or at the end. All other calls are made one by one. call.c calls
 * this file.
 *
 * Rule: numbers are the same in all calls, so a group takes them from its first call.
 *
 * Test: test_lists.
 */
#include "kernel/kernel.h"

enum {
    GROUPS = 8,
    VARIANTS = 16,
    ONE_LAUNCH = 100,   /* about as many calls as one does */
    FIRST_BLOCKS = 4096 /* keep a device busy for as long as the host works out some more calls */
};

/* Calls of one variant that wait for their launch. */
typedef struct group {
    void *entry;                /* NULL: the group is free */
    kiln__launch_config config; /* its grid: blocks of all calls so far */
    const kiln__definition *def;
    size_t args_bytes, capacity, count;
    size_t pointer_count, scalar_count;
    kiln__patch pointers[KILN_PARAM_MAX], scalars[KILN_PARAM_MAX];
    uint8_t dtype[KILN_PARAM_MAX];
    size_t arg_count;
    kiln_array **arrays;     /* where launches are prepared: what the part will hold, counted */
    kiln__launch_from *from; /* of each of these */
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];
} group;

/* A call with lists while it is done. */
typedef struct listing {
    kiln__kernel *op;
    const kiln__call *whole;
    size_t count; /* of its calls */
    kiln_arg args[KILN_PARAM_MAX];
    uint8_t list_at[KILN_PARAM_MAX]; /* which of them are lists */
    size_t list_count;
    kiln__call one;            /* the current one, with these arguments */
    size_t at;                 /* which it is */
    kiln__launch_parts *parts; /* where not NULL, launches are prepared instead */
    bool waits;                /* the device has nothing to do yet: a first launch need not be full */
    size_t next;               /* the group that makes room when none is free */
    group groups[GROUPS];
} listing;

/* ---- the calls ------------------------------------------------------------------------------- */

static kiln_status count_calls(const kiln__kernel *op, const kiln__call *call, size_t *out,
                               kiln_error *err)
{
    const kiln_arg *first = NULL;

    for (size_t p = 0; p < call->arg_count; p++) {
        const kiln_arg *const arg = &call->args[p];
        if (arg->kind != KILN_ARG_LIST)
            continue;
        first = first != NULL ? first : arg;
        if (arg->value.list.count != first->value.list.count)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "kernel \"%s\": a list of %zu arrays stands beside one of %zu",
                              op->def->name, first->value.list.count, arg->value.list.count);
        if (arg->value.list.arrays == NULL && arg->value.list.count > 0)
            return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": the list for `%s` is NULL",
                              op->def->name, op->def->params[p].name);
    }
    *out = first->value.list.count;
    return KILN_OK;
}

/* Make `l->one` the nth call. */
static void take_call(listing *l, size_t nth)
{
    l->at = nth;
    for (size_t k = 0; k < l->list_count; k++) {
        const size_t p = l->list_at[k];
        kiln_array **const array = &l->whole->args[p].value.list.arrays[nth];
        l->args[p] = p < l->op->def->input_count ? kiln_arg_array(*array) : kiln_arg_out(array);
    }
}

static kiln_status begin(kiln__kernel *op, const kiln__call *call, listing **out, kiln_error *err)
{
    size_t count = 0;

    *out = NULL;
    KILN_CHECK(kiln__check_count(op, call, err));
    KILN_CHECK(count_calls(op, call, &count, err));
    listing *const l = kiln__alloc(sizeof *l);
    if (l == NULL)
        return kiln__fail_memory(err, sizeof *l);
    l->op = op;
    l->whole = call;
    l->count = count;
    l->list_count = 0;
    for (size_t p = 0; p < call->arg_count; p++) {
        l->args[p] = call->args[p];
        if (call->args[p].kind == KILN_ARG_LIST)
            l->list_at[l->list_count++] = (uint8_t)p;
    }
    l->one = *call;
    l->one.args = l->args;
    l->one.flags |= op->calls->family->lists ? KILN__CALL_LISTED : 0;
    l->parts = NULL;
    l->waits = false;
    l->next = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        l->groups[g].entry = NULL;
        l->groups[g].arrays = NULL;
        l->groups[g].from = NULL;
        l->groups[g].count = 0;
    }
    *out = l;
    return KILN_OK;
}

static void end(listing *l)
{
    for (size_t k = 0; k < GROUPS; k++) {
        group *const g = &l->groups[k];
        for (size_t p = 0; g->arrays != NULL && p < g->capacity * g->arg_count; p++)
            kiln_array_release(g->arrays[p]);
        kiln__free(g->arrays);
        kiln__free(g->from);
    }
    kiln__free(l);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static size_t first_at(const group *g, size_t call)
{
    return g->args_bytes + g->capacity * kiln__lists_item_bytes(g->pointer_count) +
           call * sizeof(uint32_t);
}

/* Where a call's item begins: its size, then its pointers. */
static size_t item_at(const group *g, size_t call)
{
    return g->args_bytes + call * kiln__lists_item_bytes(g->pointer_count);
}

/* A kiln__describe_fn. */
static void describe(const void *user, kiln__step_note *note)
{
    const group *const g = user;
    kiln__arg_place *place = note->places;

    note->kernel = g->def->name;
    note->place_count = g->scalar_count + g->count * g->pointer_count;
    if (place == NULL)
        return;
    for (size_t k = 0; k < g->scalar_count; k++, place++) {
        const size_t p = g->scalars[k].param;
        *place = (kiln__arg_place){.offset = g->scalars[k].offset,
                                   .bytes = g->scalars[k].bytes,
                                   .dtype = g->dtype[p],
                                   .param = (uint8_t)p,
                                   .name = g->def->params[p].name};
    }
    for (size_t call = 0; call < g->count; call++)
        for (size_t k = 0; k < g->pointer_count; k++, place++) {
            const size_t p = g->pointers[k].param;
            *place = (kiln__arg_place){.offset = (uint16_t)(item_at(g, call) + 8 + 8 * k),
                                       .bytes = sizeof(void *),
                                       .dtype = g->dtype[p],
                                       .param = (uint8_t)p,
                                       .is_pointer = true,
                                       .call = (uint8_t)call,
                                       .name = g->def->params[p].name};
        }
}

/* Prepare the launch of what a group holds. */
static kiln_status prepare_group(listing *l, group *g, void *entry, size_t bytes, kiln_error *err)
{
    kiln_launch *part = NULL;

    KILN_CHECK(kiln__launch_part(l->parts, l->op, entry, &g->config, g->block, bytes, describe, g,
                                 l->one.stream, &part, err));
    kiln__launch_set_arrays(part, g->arrays, g->count * g->arg_count, g->arg_count);
    kiln__launch_set_origins(part, g->from);
    g->arrays = NULL;
    g->from = NULL;
    return KILN_OK;
}

/* Launch what a group holds, or prepare that; it is free afterwards. */
static kiln_status flush(listing *l, group *g, kiln_error *err)
{
    const uint32_t none = KILN__LISTS_NONE;
    const size_t bytes = kiln__lists_bytes(g->args_bytes, g->pointer_count, g->capacity);
    void *const entry = g->entry;

    if (entry == NULL)
        return KILN_OK;
    for (size_t call = g->count; call < g->capacity; call++)
        memcpy(g->block + first_at(g, call), &none, sizeof none);
    g->entry = NULL;
    return l->parts != NULL ? prepare_group(l, g, entry, bytes, err)
                            : kiln__launch_noted(l->op->device, entry, &g->config, g->block, bytes,
                                                 describe, g, l->one.stream, err);
}

/* The group for calls of the recipe's variant, with room for one more. */
static kiln_status find_group(listing *l, const kiln__recipe *recipe, group **out, kiln_error *err)
{
    group *free = NULL;

    for (size_t k = 0; k < GROUPS; k++) {
        group *const g = &l->groups[k];
        if (g->entry == recipe->entry && g->count < g->capacity &&
            g->config.grid_x + recipe->config.grid_x <= INT32_MAX) {
            *out = g;
            return KILN_OK;
        }
        if (g->entry == recipe->entry) {
            KILN_CHECK(flush(l, g, err));
        }
        free = g->entry == NULL ? g : free;
    }
    if (free == NULL) {
        free = &l->groups[l->next++ % GROUPS];
        KILN_CHECK(flush(l, free, err));
    }
    *out = free;
    return KILN_OK;
}

static kiln_status begin_group(const listing *l, group *g, const kiln__recipe *recipe,
                               const kiln__bound *bound, kiln_error *err)
{
    KILN_CHECK(kiln__block_fill(l->op, recipe, &l->one, bound, g->block, err));
    g->entry = recipe->entry;
    g->config = recipe->config;
    g->config.grid_x = 0;
    g->def = l->op->def;
    g->args_bytes = recipe->args_bytes;
    g->capacity = recipe->lists;
    g->count = 0;
    g->pointer_count = recipe->pointer_count;
    g->scalar_count = recipe->scalar_count;
    memcpy(g->pointers, recipe->pointers, g->pointer_count * sizeof *g->pointers);
    memcpy(g->scalars, recipe->scalars, g->scalar_count * sizeof *g->scalars);
    for (size_t p = 0; p < recipe->arg_count; p++)
        g->dtype[p] = recipe->args[p].dtype;
    g->arg_count = recipe->arg_count;
    if (l->parts == NULL)
        return KILN_OK;
    KILN_CHECK(kiln__make_zeroed(&g->arrays, g->capacity * g->arg_count, sizeof *g->arrays, err));
    return kiln__make_zeroed(&g->from, g->capacity * g->arg_count, sizeof *g->from, err);
}

/* Note what the part will hold of the current call. */
static void keep_arrays(const listing *l, group *g, const kiln__bound *bound)
{
    for (size_t p = 0; p < g->arg_count; p++) {
        const size_t at = g->count * g->arg_count + p;
        g->arrays[at] = kiln_array_retain(bound->array[p]);
        g->from[at] = (kiln__launch_from){(uint32_t)p, (uint32_t)l->at};
    }
}

static kiln_status add_call(listing *l, const kiln__recipe *recipe, const kiln__bound *bound,
                            kiln_error *err)
{
    group *g = NULL;

    KILN_CHECK(find_group(l, recipe, &g, err));
    if (g->entry == NULL) {
        KILN_CHECK(begin_group(l, g, recipe, bound, err));
    }
    const uint32_t first = (uint32_t)g->config.grid_x;
    unsigned char *item = g->block + item_at(g, g->count);
    memcpy(item, &recipe->count, sizeof recipe->count);
    for (size_t k = 0; k < g->pointer_count; k++)
        memcpy(item + 8 + 8 * k, &bound->array[g->pointers[k].param]->data, sizeof(void *));
    memcpy(g->block + first_at(g, g->count), &first, sizeof first);
    g->config.grid_x += recipe->config.grid_x;
    if (l->parts != NULL)
        keep_arrays(l, g, bound);
    g->count++;
    if (!l->waits || g->config.grid_x < FIRST_BLOCKS)
        return KILN_OK;
    l->waits = false;
    return flush(l, g, err);
}

/* ---- runs and prepared launches ---------------------------------------------------------------- */

/* A call by itself. */
static kiln_status do_alone(listing *l, kiln_error *err)
{
    kiln__call call = l->one;
    kiln_launch *launch = NULL;

    kiln__launch_from *from = NULL;

    call.flags &= ~KILN__CALL_LISTED;
    if (l->parts == NULL)
        return kiln__kernel_run(l->op, &call, err);
    KILN_CHECK(kiln__kernel_prepare(l->op, &call, &launch, err));
    KILN_CHECK(kiln__launch_parts_add(l->parts, launch, err));
    KILN_CHECK(kiln__make_zeroed(&from, call.arg_count + 1, sizeof *from, err));
    for (size_t p = 0; p < call.arg_count; p++)
        from[p] = (kiln__launch_from){(uint32_t)p, (uint32_t)l->at};
    kiln__launch_set_origins(launch, from);
    return KILN_OK;
}

static kiln_status do_call(listing *l, kiln_error *err)
{
    const kiln__recipe *recipe = NULL;
    kiln__recipe *borrowed = NULL;
    kiln__bound bound;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    kiln_status status = kiln__recipe_get(l->op, &l->one, &recipe, &borrowed, err);

    if (status != KILN_OK || recipe->lists == 0 || recipe->count == 0) {
        kiln__memo_return(&l->op->memo, borrowed, kiln__recipe_destroy);
        return status == KILN_OK ? do_alone(l, err) : status;
    }
    KILN_TRY(kiln__bind_arrays(l->op, recipe, &l->one, &bound, err));
    status = kiln__overlap_check(l->op, recipe, &bound, copy, &any_copy, err);
    if (status == KILN_OK && !any_copy)
        status = add_call(l, recipe, &bound, err);
    if (status != KILN_OK || any_copy) {
        kiln__bound_drop(recipe, &bound);
        status = status == KILN_OK ? do_alone(l, err) : status;
        goto done;
    }
    kiln__bound_used(recipe, &bound, l->one.stream);
    kiln__bound_deliver(recipe, &l->one, &bound);

done:
    kiln__memo_return(&l->op->memo, borrowed, kiln__recipe_destroy);
    return status;
}

/* How large the nth call is: the elements of its array in the first list. The others are not looked at: there
 * are hundreds, and the device waits. */
static int64_t elements_of(const listing *l, size_t nth)
{
    const kiln_array *const array = l->whole->args[l->list_at[0]].value.list.arrays[nth];
    return array != NULL && array->magic == KILN__ARRAY_MAGIC ? array->size : 0;
}

/* The calls whose sizes are on one side of `mean`, to the last of their launches, but for the one that is
 * `done`. */
static kiln_status do_some(listing *l, bool large, int64_t mean, size_t done, kiln_error *err)
{
    for (size_t k = 0; k < l->count; k++) {
        if ((elements_of(l, k) > mean) != large || k == done)
            continue;
        take_call(l, k);
        KILN_CHECK(do_call(l, err));
    }
    for (size_t g = 0; g < GROUPS; g++) {
        KILN_CHECK(flush(l, &l->groups[g], err));
    }
    return KILN_OK;
}

/* Where several launches are needed, the large calls are first, and the largest before all: while the device
 * does those, the host works out the others. */
static kiln_status do_all(listing *l, kiln_error *err)
{
    int64_t mean = 0, most = -1;
    size_t largest = SIZE_MAX;

    if (l->count <= ONE_LAUNCH || !l->op->calls->family->lists)
        return do_some(l, true, -1, largest, err);
    for (size_t k = 0; k < l->count; k++) {
        const int64_t elements = elements_of(l, k);
        mean += elements / (int64_t)l->count;
        largest = elements > most ? k : largest;
        most = elements > most ? elements : most;
    }
    l->waits = l->parts == NULL && !kiln__stream_is_recording(l->one.stream);
    take_call(l, largest);
    KILN_CHECK(do_call(l, err));
    KILN_CHECK(do_some(l, true, mean, largest, err));
    return do_some(l, false, mean, largest, err);
}

kiln_status kiln__lists_run(kiln__kernel *op, const kiln__call *call, kiln_error *err)
{
    listing *l = NULL;

    KILN_CHECK(begin(op, call, &l, err));
    kiln_status status = do_all(l, err);
    end(l);
    return status;
}

kiln_status kiln__lists_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                kiln_error *err)
{
    kiln__launch_parts parts = KILN__LAUNCH_PARTS_INIT;
    listing *l = NULL;

    KILN_CHECK(begin(op, call, &l, err));
    const size_t count = l->count;
    l->parts = &parts;
    kiln_status status = do_all(l, err);
    end(l);
    if (status == KILN_OK)
        status = kiln__launch_of_parts(op->ctx, call->stream, &parts, call, count, out, err);
    kiln__launch_parts_clear(&parts);
    return status;
}

/* ---- sources and kernels ahead ------------------------------------------------------------------ */

kiln_status kiln__lists_source(kiln__kernel *op, const kiln__call *call, char **text_out,
                               kiln_error *err)
{
    listing *l = NULL;

    KILN_CHECK(begin(op, call, &l, err));
    kiln_status status = KILN_OK;
    if (l->count == 0) {
        status =
            kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%s\": the lists are empty", op->def->name);
    } else {
        take_call(l, 0);
        status = kiln__recipe_build(op, &l->one, NULL, text_out, err);
    }
    end(l);
    return status;
}

/* Begin to compile what the current call needs, unless another call has asked for it. */
static kiln_status prefetch_call(listing *l, kiln__variant *seen, size_t *seen_count,
                                 kiln_prefetch **handles, size_t *handle_count, kiln_error *err)
{
    kiln__planned planned = {.size = 0};
    kiln__call plan = l->one;
    kiln__recipe *none = NULL;

    plan.planned = &planned;
    KILN_CHECK(kiln__recipe_build(l->op, &plan, &none, NULL, err));
    for (size_t k = 0; k < *seen_count; k++)
        if (memcmp(&seen[k], &planned.variant, sizeof planned.variant) == 0)
            return KILN_OK;
    if (planned.size == 0 ||
        *seen_count == VARIANTS) /* what is left is compiled when it is needed */
        return KILN_OK;
    seen[(*seen_count)++] = planned.variant;
    KILN_CHECK(kiln__variant_prefetch(l->op, &planned, &handles[*handle_count], err));
    ++*handle_count;
    return KILN_OK;
}

kiln_status kiln__lists_prefetch(kiln__kernel *op, const kiln__call *call, kiln_prefetch **out,
                                 kiln_error *err)
{
    kiln_prefetch *handles[VARIANTS], *joined = NULL;
    size_t handle_count = 0, seen_count = 0;
    kiln__variant *seen = NULL;
    listing *l = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK(kiln__device_check(op->device, err));
    KILN_CHECK(begin(op, call, &l, err));
    KILN_TRY(kiln__make_zeroed(&seen, VARIANTS, sizeof *seen, err));
    for (size_t k = 0; k < l->count; k++) {
        take_call(l, k);
        KILN_TRY(prefetch_call(l, seen, &seen_count, handles, &handle_count, err));
    }
    KILN_TRY(kiln__prefetch_join(handles, handle_count, &joined, err));
    handle_count = 0;
    if (out != NULL)
        *out = joined;
    else
        kiln_prefetch_destroy(joined);

done:
    for (size_t k = 0; k < handle_count; k++)
        kiln_prefetch_destroy(handles[k]);
    kiln__free(seen);
    end(l);
    return status;
}
