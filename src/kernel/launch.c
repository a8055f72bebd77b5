/*
 * launch.c - kiln_launch (kiln/elementwise.h): a call with everything done but the driver's own
 * work.
 *
 * A prepared launch holds its arrays and a filled argument block; running it is one call of the
 * device layer. Several threads and streams may run one launch at once: a split reduction takes
 * memory for its parts from the pool at each run, into a copy of the block. An input that must be
 * copied because it overlaps an output would be copied at each run, so such arguments are refused.
 *
 * A note says where an argument is in the block. kiln_launch_set() and the slots of programs change
 * it there. A launch of several parts (of a graph, or of a call with lists) knows from which of its
 * arguments those of the parts come. src/graph, src/module and src/program call this file.
 *
 * Rule: kiln_launch_set() checks everything before it changes anything.
 *
 * Tests: test_launch_set, test_lists.
 */
#include "kernel/kernel.h"

#define LAUNCH_MAGIC 0x6c61u
#define LAUNCH_DEAD 0xdeadu
#define NO_STEP SIZE_MAX

struct kiln_launch {
    uint32_t magic;
    bool foreign;      /* some array's home is not `stream`: uses must be noted at each run */
    bool in_place;     /* an output may be an input */
    kiln_context *ctx; /* counted */
    kiln__device *device;
    kiln_stream *stream;
    void *entry;
    kiln__launch_config config;
    kiln__workspace_need workspace;
    size_t args_bytes, input_count;
    size_t arg_count; /* of one call */
    kiln_array *
        *arrays; /* counted; the arguments of a call, then those of the next; NULL for numbers */
    size_t array_count;
    kiln__step_note *note;
    kiln__launch_from *from; /* of a part: by array; NULL: arguments are its own */
    size_t step;             /* of a part: its launch among the steps of the whole's recording */
    kiln_launch *
        *parts; /* launches that run one after the other; `arrays` are what a graph was given */
    size_t part_count;
    size_t call_count;          /* of parts: calls of a list */
    uint64_t lists;             /* of parts: a bit for each argument that is a list */
    kiln__recording *recording; /* of parts: NULL, or all of them as one program of the driver */
    kiln__launch_task task;     /* where set: who does the launch, and nothing else is */
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
    KILN_CHECK(
        kiln__make_zeroed(&launch->arrays, recipe->arg_count + 1, sizeof(kiln_array *), err));
    launch->array_count = launch->arg_count = recipe->arg_count;
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

static kiln_status prepare(kiln__kernel *op, const kiln__recipe *recipe, const kiln__call *call,
                           kiln__bound *bound, kiln_launch **out, kiln_error *err)
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
    kiln__recipe *borrowed = NULL;
    kiln__bound bound;

    KILN_TRY(kiln__recipe_get(op, call, &recipe, &borrowed, err));
    KILN_TRY(kiln__bind_arrays(op, recipe, call, &bound, err));
    status = prepare(op, recipe, call, &bound, out, err);
    if (status == KILN_OK)
        kiln__bound_deliver(recipe, call, &bound);
    else
        kiln__bound_drop(recipe, &bound);

done:
    kiln__memo_return(&op->memo, borrowed, kiln__recipe_destroy);
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
    for (size_t k = 0; k < launch->part_count && status == KILN_OK; k++) {
        const size_t before = kiln__stream_step_count(stream);
        status = kiln_launch_run(launch->parts[k], stream, err);
        const size_t behind = kiln__stream_step_count(stream);
        launch->parts[k]->step = behind > before ? behind - 1 : NO_STEP;
    }
    if (status == KILN_OK)
        status = kiln__recording_end(stream, &launch->recording, err);
    else
        (void)kiln__recording_end(stream, NULL, NULL);

done:
    kiln__stream_destroy(stream);
    return status;
}

kiln_status kiln__launch_chain(kiln_context *ctx, kiln_launch **parts, size_t count,
                               kiln_array *const *arrays, size_t arg_count, size_t input_count,
                               kiln_launch **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_launch *launch = NULL;

    KILN_TRY(make(ctx, NULL, 0, &launch, err));
    KILN_TRY(kiln__make_zeroed(&launch->arrays, arg_count + 1, sizeof(kiln_array *), err));
    for (size_t p = 0; p < arg_count; p++)
        launch->arrays[p] = kiln_array_retain(arrays[p]);
    launch->array_count = launch->arg_count = arg_count;
    launch->input_count = input_count;
    launch->parts = parts;
    launch->part_count = count;
    if (count > 1 && !kiln__device_is_host(launch->device))
        KILN_TRY(record(launch, err));
    *out = launch;
    return KILN_OK;

done:
    if (launch != NULL) {
        launch->parts = NULL; /* the caller's still */
        launch->part_count = 0;
        kiln_launch_destroy(launch);
    }
    return status;
}

void kiln__launch_set_origins(kiln_launch *part, kiln__launch_from *from)
{
    part->from = from;
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
    if (!kiln__reserve(&parts->list, parts->count, &parts->capacity, sizeof *parts->list)) {
        kiln_launch_destroy(launch);
        return kiln__fail_memory(err, sizeof *parts->list);
    }
    parts->list[parts->count++] = launch;
    return KILN_OK;
}

kiln_status kiln__launch_part(kiln__launch_parts *parts, kiln__kernel *op, void *entry,
                              const kiln__launch_config *config, const void *block, size_t bytes,
                              kiln__describe_fn describe, const void *user, kiln_stream *stream,
                              kiln_launch **part_out, kiln_error *err)
{
    kiln_launch *launch = NULL;

    KILN_CHECK(make(op->ctx, stream, bytes, &launch, err));
    *part_out = launch;
    launch->entry = entry;
    launch->config = *config;
    launch->input_count = op->def->input_count;
    launch->in_place = op->calls->family->in_place;
    memcpy(launch->block, block, bytes);
    kiln_status status = take_note(launch, describe, user, err);
    if (status == KILN_OK)
        return kiln__launch_parts_add(parts, launch, err);
    kiln_launch_destroy(launch);
    return status;
}

void kiln__launch_set_arrays(kiln_launch *part, kiln_array **arrays, size_t count, size_t arg_count)
{
    part->arrays = arrays;
    part->array_count = count;
    part->arg_count = arg_count;
    part->foreign = is_foreign(part);
}

kiln_status kiln__launch_of_parts(kiln_context *ctx, kiln_stream *stream, kiln__launch_parts *parts,
                                  const kiln__call *call, size_t call_count, kiln_launch **out,
                                  kiln_error *err)
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
    (*out)->arg_count = call->arg_count;
    (*out)->call_count = call_count;
    for (size_t p = 0; p < call->arg_count; p++)
        (*out)->lists |= (uint64_t)(call->args[p].kind == KILN_ARG_LIST) << p;
    *parts = (kiln__launch_parts)KILN__LAUNCH_PARTS_INIT;
    return KILN_OK;
}

void kiln__launch_parts_clear(kiln__launch_parts *parts)
{
    for (size_t k = 0; k < parts->count; k++)
        kiln_launch_destroy(parts->list[k]);
    kiln__free(parts->list);
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
    kiln_status status =
        kiln__workspace_make(launch->device, &launch->workspace, stream, block, &workspace, err);
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
    if (status == KILN_OK && launch->parts == NULL && (launch->foreign || on != launch->stream))
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
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "%s is for an array that can be written to; this "
                          "one %s",
                          what, kiln__array_unwritable(array));
    return KILN_OK;
}

/* An array that an output shares with another argument of its call, as the one before it did not. */
static bool shares_anew(const kiln_launch *launch, size_t at, const kiln_array *array)
{
    const size_t parameter = at % launch->arg_count;
    kiln_array *const *const call = launch->arrays + (at - parameter);
    const kiln_array *const before = call[parameter];

    for (size_t p = 0; p < launch->arg_count; p++) {
        const kiln_array *const other = call[p];
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

/* Whether `array` can take the place of one; `call`: of a list, -1: there is none. */
static kiln_status check_array(const kiln_launch *launch, size_t at, int64_t call,
                               const kiln_array *array, kiln_error *err)
{
    const kiln_array *const before = launch->arrays[at];
    const size_t number = at % launch->arg_count + 1;
    char what[80];

    if (call < 0)
        snprintf(what, sizeof what, "argument %zu", number);
    else
        snprintf(what, sizeof what, "argument %zu, array %lld of the list,", number,
                 (long long)call + 1);
    KILN_CHECK(kiln__array_check(array, launch->ctx, what, err));
    KILN_CHECK(kiln__array_fits(before, kiln__array_unwritable(before) == NULL, array, what, err));
    if (shares_anew(launch, at, array))
        return kiln__fail(err, KILN_ERR_OVERLAP,
                          "%s shares memory with another argument of the prepared launch, one of "
                          "them an output",
                          what);
    return KILN_OK;
}

/* What is to be done once everything is checked: an array of a part, counted, or a number. */
typedef struct change {
    kiln_launch *part;
    size_t at;
    kiln_array *array; /* NULL: the number */
} change;

typedef struct changes {
    kiln_launch *launch; /* the whole */
    size_t parameter;
    const kiln_arg *value;
    change *list;
    size_t count, capacity;
} changes;

static kiln_array **arrays_of(const kiln_launch *part, size_t *count_out)
{
    *count_out = part->task.run != NULL ? part->task.array_count : part->array_count;
    return part->task.run != NULL ? part->task.arrays : part->arrays;
}

/* The array that a part is to have, whose own is `before`: a graph's parts have views of what the graph
 * is given. */
static kiln_status make_array(const changes *c, kiln_launch *part, size_t at, kiln_array *before,
                              kiln_array **out, kiln_error *err)
{
    const kiln_launch *const whole = c->launch;
    kiln_array *given = c->value->value.array;
    int64_t call = -1;

    if (c->value->kind == KILN_ARG_LIST) {
        call = part->from[at].call;
        given = c->value->value.list.arrays[call];
    }
    if (whole->parts != NULL && whole->arrays != NULL)
        return kiln__array_view(
            given, before->rank, before->shape, before->strides,
            (char *)given->data +
                ((const char *)before->data - (const char *)whole->arrays[c->parameter]->data),
            out, err);
    KILN_CHECK(check_array(part, at, call, given, err));
    *out = kiln_array_retain(given);
    return KILN_OK;
}

static bool is_number_place(const kiln__arg_place *place, size_t parameter)
{
    return place->param == parameter && !place->is_pointer;
}

/* Whether the number fits all its places. */
static kiln_status check_number(const kiln_launch *part, size_t at, size_t number,
                                const kiln__given *given, kiln_error *err)
{
    kiln__scalar ignored;

    for (size_t k = 0; k < part->note->place_count; k++) {
        const kiln__arg_place *const place = &part->note->places[k];
        if (!is_number_place(place, at))
            continue;
        const kiln_status status =
            kiln__convert_scalar(NULL, 0, given, (kiln_dtype)place->dtype, &ignored, NULL);
        if (status != KILN_OK)
            return kiln__fail(err, status,
                              "the number for argument %zu, `%s` of kernel \"%s\", "
                              "does not fit %s",
                              number, place->name, part->note->kernel,
                              kiln_dtype_name((kiln_dtype)place->dtype));
    }
    return KILN_OK;
}

/* Check what is to change in a part, and note it down. */
static kiln_status plan_part(changes *c, kiln_launch *part, const kiln__given *given,
                             kiln_error *err)
{
    size_t count = 0;
    kiln_array **const arrays = arrays_of(part, &count);

    for (size_t at = 0; at < count; at++) {
        kiln_array *array = NULL;
        if (part->from != NULL ? part->from[at].argument != c->parameter : at != c->parameter)
            continue;
        if (!kiln__reserve(&c->list, c->count, &c->capacity, sizeof *c->list))
            return kiln__fail_memory(err, sizeof *c->list);
        if (given == NULL)
            KILN_CHECK(make_array(c, part, at, arrays[at], &array, err));
        else if (part->note != NULL && at < part->arg_count)
            KILN_CHECK(check_number(part, at, c->parameter + 1, given, err));
        c->list[c->count++] = (change){part, at, array};
    }
    return KILN_OK;
}

/* The whole's recording follows a place that was changed. */
static kiln_status follow(const changes *c, const kiln_launch *part, size_t nth,
                          const kiln__arg_place *place, kiln_error *err)
{
    const kiln__place at = {(uint32_t)part->step, (uint32_t)nth};

    return c->launch->recording == NULL || part->step == NO_STEP
               ? KILN_OK
               : kiln__recording_write(c->launch->recording, &at, 1, part->block + place->offset,
                                       place->bytes, err);
}

static kiln_status apply_change(const changes *c, change *one, const kiln__given *given,
                                kiln_error *err)
{
    kiln_launch *const part = one->part;
    size_t count = 0;
    kiln_array **const arrays = arrays_of(part, &count);
    kiln__scalar number;

    if (one->array != NULL) {
        kiln_array *const before = arrays[one->at];
        arrays[one->at] = one->array;
        one->array = before;
        part->foreign = is_foreign(part);
        if (c->launch->recording != NULL)
            kiln__storage_used_on(arrays[one->at]->storage,
                                  kiln__recording_stream(c->launch->recording));
    }
    for (size_t k = 0; part->note != NULL && k < part->note->place_count; k++) {
        const kiln__arg_place *const place = &part->note->places[k];
        if (given == NULL && place->is_pointer &&
            place->param + place->call * part->arg_count == one->at) {
            memcpy(part->block + place->offset, &arrays[one->at]->data, sizeof(void *));
        } else if (given != NULL && is_number_place(place, one->at)) {
            memset(&number, 0, sizeof number);
            KILN_CHECK(
                kiln__convert_scalar(NULL, 0, given, (kiln_dtype)place->dtype, &number, err));
            memcpy(part->block + place->offset, number.bytes, place->bytes);
        } else {
            continue;
        }
        KILN_CHECK(follow(c, part, k, place, err));
    }
    return KILN_OK;
}

/* A launch that is another's, a product's: the recording is made anew where it is changed. */
static kiln_status apply(changes *c, const kiln__given *given, kiln_error *err)
{
    kiln_launch *const launch = c->launch;
    bool anew = false;

    for (size_t k = 0; k < c->count; k++)
        anew |= c->list[k].part->task.run != NULL;
    if (anew && launch->recording != NULL) {
        kiln__recording_destroy(launch->recording);
        launch->recording = NULL;
    }
    for (size_t k = 0; k < c->count; k++)
        KILN_CHECK(apply_change(c, &c->list[k], given, err));
    if (launch->parts != NULL && launch->arrays != NULL && given == NULL) {
        kiln_array *const array = c->value->value.array;
        (void)kiln_array_retain(array);
        kiln_array_release(launch->arrays[c->parameter]);
        launch->arrays[c->parameter] = array;
    }
    return anew && launch->part_count > 1 && !kiln__device_is_host(launch->device)
               ? record(launch, err)
               : KILN_OK;
}

/* Whether an argument is a list: of kernels only, for graphs have more arguments than there are bits. */
static bool is_list(const kiln_launch *launch, size_t parameter)
{
    return launch->lists != 0 && (launch->lists >> parameter & 1) != 0;
}

/* Whether an argument is an array, or a list of them. */
static bool takes_array(const kiln_launch *launch, size_t parameter)
{
    if (launch->parts == NULL || launch->arrays != NULL)
        return launch->arrays[parameter] != NULL;
    if (is_list(launch, parameter))
        return true;
    for (size_t k = 0; k < launch->part_count; k++)
        if (launch->parts[k]->arrays[parameter] != NULL)
            return true;
    return false;
}

/* Whether a value is of the kind that its argument takes; of a graph's array, whether it fits. */
static kiln_status check_value(const kiln_launch *launch, size_t parameter, const kiln_arg *value,
                               kiln__given *given, kiln_error *err)
{
    const bool listed = is_list(launch, parameter);

    if (!takes_array(launch, parameter))
        return kiln__given_scalar(value, given)
                   ? KILN_OK
                   : kiln__fail(err, KILN_ERR_ARGUMENT, "argument %zu is a number", parameter + 1);
    if (!listed && value->kind != KILN_ARG_ARRAY)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "argument %zu is an array", parameter + 1);
    if (listed && (value->kind != KILN_ARG_LIST || value->value.list.count != launch->call_count))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "argument %zu is a list of %zu arrays",
                          parameter + 1, launch->call_count);
    if (listed && value->value.list.arrays == NULL && launch->call_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "the list for argument %zu is NULL", parameter + 1);
    if (launch->parts != NULL && launch->arrays != NULL)
        return check_array(launch, parameter, -1, value->value.array, err);
    return KILN_OK;
}

kiln_status kiln_launch_set(kiln_launch *launch, size_t parameter, kiln_arg value, kiln_error *err)
{
    changes c = {.launch = launch, .parameter = parameter, .value = &value};
    kiln__given given = {.kind = KILN__GIVEN_NOTHING};
    kiln_status status = check(launch, err);

    if (status != KILN_OK)
        return status;
    if (launch->task.set != NULL)
        return launch->task.set(launch->task.state, parameter, &value, err);
    if (parameter >= launch->arg_count)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the prepared launch has %zu arguments",
                          launch->arg_count);
    KILN_CHECK(check_value(launch, parameter, &value, &given, err));
    const kiln__given *const number = given.kind != KILN__GIVEN_NOTHING ? &given : NULL;
    if (launch->parts == NULL)
        KILN_TRY(plan_part(&c, launch, number, err));
    for (size_t k = 0; k < launch->part_count; k++)
        KILN_TRY(plan_part(&c, launch->parts[k], number, err));
    KILN_TRY(apply(&c, number, err));

done:
    for (size_t k = 0; k < c.count; k++)
        kiln_array_release(c.list[k].array);
    kiln__free(c.list);
    return status;
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
    kiln__free(launch->from);
    kiln__free(launch->note);
    kiln_context *const ctx = launch->ctx;
    kiln__context_bury(ctx, launch, NULL);
    kiln_context_release(ctx);
}
