/*
 * launch.c - prepared launches: a call with everything done but the driver's own work.
 *
 * A prepared launch holds its arrays and a filled argument block; running it is one call of the device
 * layer. What a split reduction needs for its parts is taken from the pool at each run, into a copy of
 * the block: several threads and streams may run one launch at once. Copies of overlapping inputs cannot
 * be prepared (they would have to be made anew at each run), so such arguments are refused.
 *
 * Where an argument stands in the block is said by a note, as recordings keep it: kiln_launch_set() and
 * the slots of programs change what is there.
 */
#include "kernel/kernel.h"

#define LAUNCH_MAGIC 0x6c61u
#define LAUNCH_DEAD 0xdeadu

struct kiln_launch {
    uint32_t magic;
    bool foreign;  /* some array's home is not `stream`: uses must be noted at each run */
    bool in_place; /* an output may be an input */
    kiln_context *ctx; /* counted */
    kiln__device *device;
    kiln_stream *stream;
    void *entry;
    kiln__launch_config config;
    kiln__workspace_need workspace;
    size_t args_bytes, input_count;
    kiln_array **arrays; /* counted; by parameter, NULL for numbers; of parts: all that they use */
    size_t array_count;
    kiln__step_note *note;
    kiln_launch **parts; /* launches that run one after the other, and nothing else */
    size_t part_count;
    bool settable;          /* of parts: they are of one kernel, whose numbers can be set */
    kiln__recording *recording; /* of parts: NULL, or all of them as one program of the driver */
    kiln__launch_task task; /* where set: who does the launch, and nothing else is */
    _Alignas(16) unsigned char block[];
};

/* ---- made ------------------------------------------------------------------------------------ */

static kiln_status make(kiln_context *ctx, kiln_stream *stream, size_t args_bytes,
                        kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(kiln__make_zeroed(out, 1, sizeof **out + args_bytes, err));
    (*out)->magic = LAUNCH_MAGIC;
    (*out)->ctx = kiln_context_retain(ctx);
    (*out)->device = kiln__context_device(ctx);
    (*out)->stream = stream != NULL ? kiln__stream_base(stream) : NULL;
    (*out)->args_bytes = args_bytes;
    return KILN_OK;
}

static bool is_foreign(const kiln_launch *launch)
{
    for (size_t k = 0; k < launch->array_count; k++)
        if (launch->arrays[k] != NULL && launch->arrays[k]->storage->home != launch->stream)
            return true;
    return false;
}

static kiln_status hold_arrays(kiln_launch *launch, const kiln__recipe *recipe,
                               const kiln__bound *bound, kiln_error *err)
{
    KILN_CHECK(kiln__make_zeroed(&launch->arrays, recipe->arg_count + 1, sizeof(kiln_array *), err));
    launch->array_count = recipe->arg_count;
    for (size_t p = 0; p < recipe->arg_count; p++)
        launch->arrays[p] = kiln_array_retain(bound->array[p]);
    launch->foreign = is_foreign(launch);
    return KILN_OK;
}

static kiln_status take_note(kiln_launch *launch, kiln__describe_fn describe, const void *user,
                             kiln_error *err)
{
    launch->note = kiln__note_make(describe, user);
    return launch->note != NULL ? KILN_OK : kiln__fail_memory(err, sizeof *launch->note);
}

static kiln_status prepare(kiln__kernel *op, const kiln__recipe *recipe,
                           const kiln__call *call, kiln__bound *bound, kiln_launch **out,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    kiln_launch *launch = NULL;
    KILN_CHECK(make(op->ctx, call->stream, recipe->args_bytes, &launch, err));
    launch->entry = recipe->entry;
    launch->config = recipe->config;
    launch->workspace = recipe->workspace;
    launch->in_place = op->calls->family->in_place;
    launch->input_count = op->def->input_count;
    KILN_TRY(take_note(launch, kiln__described_note, &(kiln__described){op->def, recipe}, err));
    if (recipe->count > 0) {
        KILN_TRY(kiln__overlap_check(op, recipe, bound, copy, &any_copy, err));
        if (any_copy) {
            status = kiln__fail(err, KILN_ERR_OVERLAP,
                                "kernel \"%s\": an input overlaps an output, and a prepared launch "
                                "cannot copy it first; make the call itself",
                                op->def->name);
            goto done;
        }
        KILN_TRY(kiln__block_fill(op, recipe, call, bound, launch->block, err));
    }
    KILN_TRY(hold_arrays(launch, recipe, bound, err));
    *out = launch;
    launch = NULL;

done:
    kiln_launch_destroy(launch);
    return status;
}

kiln_status kiln__kernel_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                 kiln_error *err)
{
    kiln_status status = KILN_OK;
    const kiln__recipe *recipe = NULL;
    kiln__recipe *owned = NULL;
    kiln__bound bound;

    KILN_TRY(kiln__recipe_get(op, call, &recipe, &owned, err));
    KILN_TRY(kiln__bind_arrays(op, recipe, call, &bound, err));
    status = prepare(op, recipe, call, &bound, out, err);
    if (status == KILN_OK)
        kiln__bound_deliver(recipe, call, &bound);
    else
        kiln__bound_drop(recipe, &bound);

done:
    kiln__recipe_destroy(owned);
    return status;
}

/* Record the parts on a stream of their own, whose program costs the host one call of the driver. */
static kiln_status record(kiln_launch *launch, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_stream *stream = NULL;

    KILN_TRY(kiln__stream_create(launch->device, NULL, &stream, err));
    kiln__stream_set_owner(stream, launch->ctx);
    KILN_TRY(kiln__recording_begin(stream, launch->ctx, err));
    for (size_t k = 0; k < launch->part_count && status == KILN_OK; k++)
        status = kiln_launch_run(launch->parts[k], stream, err);
    if (status == KILN_OK)
        status = kiln__recording_end(stream, &launch->recording, err);
    else
        (void)kiln__recording_end(stream, NULL, NULL);

done:
    kiln__stream_destroy(stream);
    return status;
}

kiln_status kiln__launch_chain(kiln_context *ctx, kiln_launch **parts, size_t count,
                               kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(make(ctx, NULL, 0, out, err));
    (*out)->parts = parts;
    (*out)->part_count = count;
    const kiln_status status =
        count > 1 && !kiln__device_is_host((*out)->device) ? record(*out, err) : KILN_OK;
    if (status == KILN_OK)
        return KILN_OK;
    (*out)->parts = NULL; /* the caller's still */
    (*out)->part_count = 0;
    kiln_launch_destroy(*out);
    *out = NULL;
    return status;
}

kiln_status kiln__launch_custom(kiln_context *ctx, kiln_stream *stream,
                                const kiln__launch_task *task, kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(make(ctx, stream, 0, out, err));
    (*out)->task = *task;
    return KILN_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

kiln_status kiln__launch_parts_add(kiln__launch_parts *parts, kiln_launch *launch, kiln_error *err)
{
    if (!kiln__reserve(&parts->list, parts->count, &parts->room, sizeof *parts->list)) {
        kiln_launch_destroy(launch);
        return kiln__fail_memory(err, sizeof *parts->list);
    }
    parts->list[parts->count++] = launch;
    return KILN_OK;
}

kiln_status kiln__launch_part(kiln__launch_parts *parts, kiln__kernel *op, void *entry,
                              const kiln__launch_config *config, const void *block, size_t bytes,
                              kiln__describe_fn describe, const void *user, kiln_stream *stream,
                              kiln_error *err)
{
    kiln_launch *launch = NULL;

    KILN_CHECK(make(op->ctx, stream, bytes, &launch, err));
    launch->entry = entry;
    launch->config = *config;
    memcpy(launch->block, block, bytes);
    kiln_status status = take_note(launch, describe, user, err);
    if (status == KILN_OK)
        return kiln__launch_parts_add(parts, launch, err);
    kiln_launch_destroy(launch);
    return status;
}

kiln_status kiln__launch_parts_keep(kiln__launch_parts *parts, const kiln__bound *bound,
                                    size_t arg_count, kiln_error *err)
{
    for (size_t p = 0; p < arg_count; p++) {
        if (bound->array[p] == NULL)
            continue;
        if (!kiln__reserve(&parts->arrays, parts->array_count, &parts->array_room,
                           sizeof *parts->arrays))
            return kiln__fail_memory(err, sizeof *parts->arrays);
        parts->arrays[parts->array_count++] = kiln_array_retain(bound->array[p]);
    }
    return KILN_OK;
}

kiln_status kiln__launch_of_parts(kiln_context *ctx, kiln_stream *stream,
                                  kiln__launch_parts *parts, kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(make(ctx, stream, 0, out, err));
    if (parts->list == NULL) { /* none, which is not a launch of its own */
        const kiln_status status = kiln__make_zeroed(&parts->list, 1, sizeof *parts->list, err);
        if (status != KILN_OK) {
            kiln_launch_destroy(*out);
            *out = NULL;
            return status;
        }
    }
    (*out)->parts = parts->list;
    (*out)->part_count = parts->count;
    (*out)->settable = true;
    (*out)->arrays = parts->arrays;
    (*out)->array_count = parts->array_count;
    (*out)->foreign = is_foreign(*out);
    *parts = (kiln__launch_parts)KILN__LAUNCH_PARTS_INIT;
    return KILN_OK;
}

void kiln__launch_parts_clear(kiln__launch_parts *parts)
{
    for (size_t k = 0; k < parts->count; k++)
        kiln_launch_destroy(parts->list[k]);
    for (size_t k = 0; k < parts->array_count; k++)
        kiln_array_release(parts->arrays[k]);
    kiln__free(parts->list);
    kiln__free(parts->arrays);
    *parts = (kiln__launch_parts)KILN__LAUNCH_PARTS_INIT;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* A kiln__describe_fn: a launch tells what it has been told. */
static void describe(const void *user, kiln__step_note *note)
{
    const kiln_launch *const launch = user;

    note->kernel = launch->note->kernel;
    note->place_count = launch->note->place_count;
    if (note->places != NULL)
        memcpy(note->places, launch->note->places, note->place_count * sizeof *note->places);
}

static kiln_status run_with_workspace(const kiln_launch *launch, kiln_stream *stream,
                                      kiln_error *err)
{
    kiln__block *workspace = NULL;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];

    memcpy(block, launch->block, launch->args_bytes);
    kiln_status status = kiln__workspace_make(launch->device, &launch->workspace, stream, block,
                                              &workspace, err);
    if (status == KILN_OK)
        status = kiln__launch_noted(launch->device, launch->entry, &launch->config, block,
                                    launch->args_bytes, describe, launch, stream, err);
    kiln__pool_free(launch->device, workspace, NULL, 0);
    return status;
}

/* `on` is what `stream` stands for; NULL: each part has its own. */
static kiln_status run_parts(const kiln_launch *launch, kiln_stream *stream, kiln_stream *on,
                             kiln_error *err)
{
    if (on == NULL && launch->part_count > 0)
        on = kiln__stream_current(launch->parts[0]->stream);
    if (launch->recording != NULL && !kiln__stream_is_recording(on))
        return kiln__recording_run(launch->recording, on, err);
    for (size_t k = 0; k < launch->part_count; k++)
        KILN_CHECK(kiln_launch_run(launch->parts[k], stream, err));
    return KILN_OK;
}

static kiln_status check(const kiln_launch *launch, kiln_error *err)
{
    KILN_CHECK_NULL(launch, err);
    if (launch->magic != LAUNCH_MAGIC)
        return kiln__context_released("prepared launch", err);
    return kiln__context_check(launch->ctx, err);
}

kiln_status kiln_launch_run(kiln_launch *launch, kiln_stream *stream, kiln_error *err)
{
    kiln_stream *on = NULL;
    kiln_status status;

    KILN_CHECK(check(launch, err));
    if (launch->stream != NULL)
        on = kiln__stream_current(launch->stream);
    if (stream != NULL && stream != on)
        KILN_CHECK(kiln__context_stream(launch->ctx, stream, &on, err));
    if (launch->parts != NULL)
        status = run_parts(launch, stream, on, err);
    else if (launch->task.run != NULL)
        return launch->task.run(launch->task.state, on, err);
    else if (launch->workspace.ticket_count > 0)
        status = run_with_workspace(launch, on, err);
    else
        status = kiln__launch_noted(launch->device, launch->entry, &launch->config, launch->block,
                                    launch->args_bytes, describe, launch, on, err);
    if (status == KILN_OK && (launch->foreign || on != launch->stream))
        for (size_t p = 0; p < launch->array_count; p++)
            if (launch->arrays[p] != NULL && launch->arrays[p]->storage->home != on)
                kiln__storage_used_on(launch->arrays[p]->storage, on);
    return status;
}

/* ---- arguments that change --------------------------------------------------------------------- */

kiln_status kiln__array_fits(const kiln_array *before, bool writable, const kiln_array *array,
                             const char *what, kiln_error *err)
{
    const size_t axes = (size_t)before->rank;
    char is[160], was[160];

    if (array->dtype != before->dtype)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is for %s, the array is %s", what,
                          kiln_dtype_name(before->dtype), kiln_dtype_name(array->dtype));
    if (array->rank != before->rank ||
        memcmp(array->shape, before->shape, axes * sizeof array->shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s is for shape %s, the array has %s", what,
                          kiln__shape_text(before->rank, before->shape, was, sizeof was),
                          kiln__shape_text(array->rank, array->shape, is, sizeof is));
    if (memcmp(array->strides, before->strides, axes * sizeof array->strides[0]) != 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s is for other strides than the array has", what);
    if (((uintptr_t)array->data - (uintptr_t)before->data) % 64 != 0)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s is for memory that is aligned otherwise: its distance is no multiple "
                          "of 64 bytes",
                          what);
    if (writable && kiln__array_unwritable(array) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s is for an array that can be written to; this "
                          "one %s", what, kiln__array_unwritable(array));
    return KILN_OK;
}

/* An array that an output shares with another argument, as the one before it did not. */
static bool shares_anew(const kiln_launch *launch, size_t parameter, const kiln_array *array)
{
    const kiln_array *const before = launch->arrays[parameter];

    for (size_t p = 0; p < launch->array_count; p++) {
        const kiln_array *const other = launch->arrays[p];
        const bool outputs = p >= launch->input_count && parameter >= launch->input_count;
        if (p == parameter || other == NULL ||
            (p < launch->input_count && parameter < launch->input_count) ||
            !kiln__array_overlap(array, other) || kiln__array_overlap(before, other))
            continue;
        if (outputs || !launch->in_place || array->data != other->data ||
            array->layout != other->layout)
            return true;
    }
    return false;
}

static kiln_status set_array(kiln_launch *launch, size_t parameter, kiln_array *array,
                             kiln_error *err)
{
    kiln_array *const before = launch->arrays[parameter];
    char what[40];

    snprintf(what, sizeof what, "argument %zu", parameter + 1);
    KILN_CHECK(kiln__array_check(array, launch->ctx, what, err));
    KILN_CHECK(kiln__array_fits(before, kiln__array_unwritable(before) == NULL, array, what, err));
    if (shares_anew(launch, parameter, array))
        return kiln__fail(err, KILN_ERR_OVERLAP,
                          "%s shares memory with another argument of the prepared launch, one of "
                          "them an output",
                          what);
    for (size_t k = 0; k < launch->note->place_count; k++)
        if (launch->note->places[k].param == parameter)
            memcpy(launch->block + launch->note->places[k].offset, &array->data, sizeof(void *));
    launch->arrays[parameter] = kiln_array_retain(array);
    kiln_array_release(before);
    launch->foreign = is_foreign(launch);
    return KILN_OK;
}

static kiln_status set_number(kiln_launch *launch, size_t parameter, const kiln_arg *value,
                              kiln_error *err)
{
    kiln__given given;
    kiln__scalar number;

    if (!kiln__given_scalar(value, &given))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "argument %zu is a number", parameter + 1);
    for (size_t k = 0; k < launch->note->place_count; k++) {
        const kiln__arg_place *const place = &launch->note->places[k];
        if (place->param != parameter || place->is_pointer)
            continue;
        memset(&number, 0, sizeof number);
        const kiln_status status =
            kiln__convert_scalar(NULL, 0, &given, (kiln_dtype)place->dtype, &number, NULL);
        if (status != KILN_OK)
            return kiln__fail(err, status, "the number for argument %zu, `%s` of kernel \"%s\", "
                              "does not fit %s", parameter + 1, place->name, launch->note->kernel,
                              kiln_dtype_name((kiln_dtype)place->dtype));
        memcpy(launch->block + place->offset, number.bytes, place->bytes);
    }
    return KILN_OK;
}

static kiln_status no_lists(kiln_error *err)
{
    return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                      "the arrays of a prepared call with lists cannot be changed; prepare it again");
}

/* One launch, or one part of a call with lists (`of_lists`), which has no arrays of its own. */
static kiln_status set(kiln_launch *launch, bool of_lists, size_t parameter, const kiln_arg *value,
                       kiln_error *err)
{
    bool is_array = false;

    for (size_t k = 0; k < launch->note->place_count; k++)
        is_array |= launch->note->places[k].param == parameter && launch->note->places[k].is_pointer;
    if (of_lists && is_array)
        return no_lists(err);
    if (!of_lists && parameter >= launch->array_count)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the prepared launch has %zu arguments",
                          launch->array_count);
    if (!of_lists && launch->arrays[parameter] != NULL)
        return value->kind == KILN_ARG_ARRAY
                   ? set_array(launch, parameter, value->value.array, err)
                   : kiln__fail(err, KILN_ERR_ARGUMENT, "argument %zu is an array", parameter + 1);
    return set_number(launch, parameter, value, err);
}

kiln_status kiln_launch_set(kiln_launch *launch, size_t parameter, kiln_arg value, kiln_error *err)
{
    KILN_CHECK(check(launch, err));
    if (launch->task.set != NULL)
        return launch->task.set(launch->task.state, parameter, &value, err);
    if (launch->task.run != NULL || (launch->parts != NULL && !launch->settable))
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "the arguments of a prepared %s cannot be changed; prepare it again",
                          launch->parts != NULL ? "graph" : "raw kernel");
    if (launch->parts == NULL)
        return set(launch, false, parameter, &value, err);
    if (value.kind == KILN_ARG_ARRAY)
        return no_lists(err);
    for (size_t k = 0; k < launch->part_count; k++)
        KILN_CHECK(set(launch->parts[k], launch->parts[k]->array_count == 0, parameter, &value, err));
    return KILN_OK;
}

void kiln_launch_destroy(kiln_launch *launch)
{
    if (launch == NULL || launch->magic != LAUNCH_MAGIC || kiln__context_forked(launch->ctx))
        return;
    launch->magic = LAUNCH_DEAD;
    kiln__recording_destroy(launch->recording);
    for (size_t k = 0; k < launch->part_count; k++)
        kiln_launch_destroy(launch->parts[k]);
    kiln__free(launch->parts);
    if (launch->task.destroy != NULL)
        launch->task.destroy(launch->task.state);
    for (size_t p = 0; p < launch->array_count; p++)
        kiln_array_release(launch->arrays[p]);
    kiln__free(launch->arrays);
    kiln__free(launch->note);
    kiln_context *const ctx = launch->ctx;
    kiln__context_bury(ctx, launch, NULL);
    kiln_context_release(ctx);
}
