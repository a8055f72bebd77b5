/*
 * recording.c - work that is noted once and done many times.
 *
 *     a call on a recorded stream -> the stand-in -> [steps] -> enqueued one by one (cpu), or made
 *                                                               the driver's program (cuda)
 *
 * While a stream is recorded, a stream of the recording's own stands in for it. Everything that
 * allocates, enqueues or notes a use sees that stand-in, so that
 *   - nothing of the driver's capture state lasts while user code runs: kernels may be compiled and
 *     loaded, and memory be asked of the device, in the middle of a recording;
 *   - memory comes from the stand-in's arena, in the order of the steps, and nobody else takes from
 *     it: it is the recording's until that is destroyed;
 *   - memory of other streams that a step uses is kept by its storage (kiln__stream_keep).
 * The driver's program is made of the steps when the recording ends.
 *
 * Rule: a run waits for the one before it, wherever that was enqueued: they share memory.
 */
#include "device/recording.h"
#include "device/watch.h"

/* ---- life ---- */

static void free_recording(kiln__recording *r)
{
    for (size_t k = 0; k < r->count; k++)
        kiln__step_clear(&r->steps[k]);
    kiln__free(r->steps);
    kiln__free(r->keeps);
    kiln_error_clear(&r->failure);
    pthread_mutex_destroy(&r->lock);
    kiln__free(r);
}

kiln_status kiln__recording_begin(kiln_stream *stream, void *owner, kiln_error *err)
{
    kiln_status status = kiln__device_check(stream->device, err);
    kiln__recording *r = NULL;
    kiln_stream *none = NULL;

    if (status != KILN_OK)
        return status;
    if (stream->recording != NULL || atomic_load(&stream->standin) != NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the stream's work is being captured already");
    r = kiln__calloc(1, sizeof *r);
    if (r == NULL)
        return kiln__fail_memory(err, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->device = stream->device;
    KILN_TRY(kiln__stream_create(stream->device, NULL, &r->stream, err));
    r->stream->owner = owner;
    r->stream->recording = r;
    kiln__pool_arena_seal(r->stream->arena);
    r->base = kiln__stream_retain(stream);
    if (!atomic_compare_exchange_strong(&stream->standin, &none, r->stream)) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "the stream's work is being captured already");
        goto done;
    }
    return KILN_OK;

done:
    kiln__recording_destroy(r);
    return status;
}

/* Wait for what the steps were last enqueued on, and let go of everything. */
void kiln__recording_destroy(kiln__recording *r)
{
    if (r == NULL)
        return;
    const kiln__backend *const backend = r->device->backend;
    const bool forked = kiln__device_forked(r->device);
    if (r->program != NULL && !forked)
        backend->program_destroy(r->device, r->program);
    if (r->stream != NULL) {
        kiln_stream *const behind = atomic_exchange(&r->stream->behind, NULL);
        if (behind != NULL && !forked)
            (void)kiln__native_wait(r->device, r->stream->native, behind, NULL);
        kiln__stream_release(behind);
        r->stream->recording = NULL;
        for (size_t k = 0; k < r->keep_count; k++)
            r->keeps[k].release(r->keeps[k].object);
        kiln__stream_destroy(r->stream);
    }
    kiln__stream_release(r->base);
    free_recording(r);
}

/* ---- running ---- */

static kiln_status do_step(kiln__device *device, const kiln__step *s, void *native, kiln_error *err)
{
    const kiln__backend *const backend = device->backend;

    switch (s->kind) {
    case KILN__STEP_LAUNCH:
        return backend->launch(device, s->entry, &s->as.launch, s->args, s->args_bytes, native,
                               err);
    case KILN__STEP_RAW:
        return backend->raw->launch(device, s->entry, &s->as.raw.config, s->as.raw.params,
                                    s->as.raw.count, s->args, s->args_bytes, native, err);
    case KILN__STEP_COPY:
        return backend->copy_device_to_device(device, kiln__step_address(s, 0), kiln__step_address(s, 1), s->bytes,
                                              native, err);
    case KILN__STEP_TRANSFER:
        return backend->enqueue_copy(device, kiln__step_address(s, 0), kiln__step_address(s, 1), s->bytes,
                                     s->as.to_device, native, err);
    case KILN__STEP_MEMSET:
        return backend->memory_set(device, kiln__step_address(s, 0), s->as.byte, s->bytes, native, err);
    case KILN__STEP_LIBRARY:
        return s->as.library(s->args, native, err);
    case KILN__STEP_HOST_CALL:
        break;
    }
    return backend->host_call(device, native, s->as.host.fn, s->as.host.user, err);
}

/* The driver's program of the steps. What was there goes first. */
static kiln_status build(kiln__recording *r, kiln_error *err)
{
    const kiln__backend *const backend = r->device->backend;

    if (r->program != NULL)
        backend->program_destroy(r->device, r->program);
    r->program = NULL;
    r->stale = false;
    return backend->program_create == NULL || r->count == 0
               ? KILN_OK
               : backend->program_create(r->device, r->steps, r->count, &r->program, err);
}

kiln_status kiln__recording_end(kiln_stream *stream, kiln__recording **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_stream *const standin = atomic_exchange(&stream->standin, NULL);

    if (out != NULL)
        *out = NULL;
    if (standin == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "no work of the stream is being captured");
    kiln__recording *r = standin->recording;
    pthread_mutex_lock(&r->lock);
    standin->recording = NULL; /* from here on it is a stream like others */
    if (r->failure.status != KILN_OK)
        status = kiln__recording_failed(r, err);
    else
        status = kiln__device_check(r->device, err);
    if (status == KILN_OK && out != NULL)
        status = build(r, err);
    pthread_mutex_unlock(&r->lock);
    if (status == KILN_OK && out != NULL) {
        *out = r;
        r = NULL;
    }
    kiln__recording_destroy(r);
    return status;
}

size_t kiln__recording_step_count(const kiln__recording *recording)
{
    return recording->count;
}

kiln_stream *kiln__recording_stream(const kiln__recording *recording)
{
    return recording->stream;
}

/* From now on `stream` is where the recording's memory is used. */
static void follow(kiln__recording *r, kiln_stream *stream)
{
    if (atomic_load_explicit(&r->stream->behind, memory_order_relaxed) != stream)
        kiln__stream_release(atomic_exchange(&r->stream->behind, kiln__stream_retain(stream)));
}

kiln_status kiln__recording_run(kiln__recording *r, kiln_stream *stream, kiln_error *err)
{
    kiln__device *const device = r->device;
    kiln_status status = kiln__device_check(device, err);

    if (status != KILN_OK)
        return status;
    pthread_mutex_lock(&r->lock);
    kiln_stream *const behind = atomic_load(&r->stream->behind);
    if (behind != NULL && behind != stream)
        KILN_TRY(kiln__native_wait(device, stream->native, behind, err));
    if (r->stale)
        KILN_TRY(build(r, err));
    kiln__work work;
    kiln__work_begin(&work, KILN_OBSERVED_REPLAY, device, stream);
    if (r->program != NULL)
        status = device->backend->program_run(device, r->program, kiln__stream_enter(stream), err);
    else
        for (size_t k = 0; k < r->count && status == KILN_OK; k++)
            status = do_step(device, &r->steps[k], kiln__stream_enter(stream), err);
    (void)kiln__work_end(&work, status);
    follow(r, stream);

done:
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* ---- places ---- */

/* A list of places under construction. */
typedef struct found {
    kiln__place *list;
    size_t count, capacity;
} found;

static kiln_status add_place(found *f, size_t at, size_t index, kiln_error *err)
{
    if (!kiln__reserve(&f->list, f->count, &f->capacity, sizeof *f->list))
        return kiln__fail_memory(err, sizeof *f->list);
    f->list[f->count++] = (kiln__place){(uint32_t)at, (uint32_t)index};
    return KILN_OK;
}

/* Whether some word of the block might be an address of the memory. */
static bool may_hold(const kiln__step *s, uintptr_t base, size_t bytes)
{
    for (size_t at = 0; at + sizeof(uintptr_t) <= s->args_bytes; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, s->args + at, sizeof word);
        if (word - base < bytes)
            return true;
    }
    return false;
}

static kiln_status find_in_step(const kiln__recording *r, size_t at, uintptr_t base, size_t bytes,
                                found *f, kiln_error *err)
{
    const kiln__step *const s = &r->steps[at];

    if (s->note == NULL)
        return may_hold(s, base, bytes)
                   ? kiln__fail(err, KILN_ERR_UNSUPPORTED,
                                "step %zu of the program uses the array, and its arguments cannot "
                                "be changed",
                                at)
                   : KILN_OK;
    for (size_t k = 0; k < s->note->place_count; k++) {
        uintptr_t word = 0;
        if (!s->note->places[k].is_pointer)
            continue;
        memcpy(&word, s->args + s->note->places[k].offset, sizeof word);
        if (word - base >= bytes)
            continue;
        kiln_status status = add_place(f, at, k, err);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

kiln_status kiln__recording_find_memory(kiln__recording *r, const void *base, size_t bytes,
                                        kiln__place **out, size_t *count_out, kiln_error *err)
{
    found f = {NULL, 0, 0};
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&r->lock);
    for (size_t k = 0; k < r->count && status == KILN_OK; k++)
        status = find_in_step(r, k, (uintptr_t)base, bytes, &f, err);
    pthread_mutex_unlock(&r->lock);
    if (status != KILN_OK) {
        kiln__free(f.list);
        f = (found){NULL, 0, 0};
    }
    *out = f.list;
    *count_out = f.count;
    return status;
}

kiln_status kiln__recording_find_number(kiln__recording *r, const char *kernel,
                                        const char *parameter, kiln__place **out,
                                        size_t *count_out, uint8_t *dtype_out, kiln_error *err)
{
    found f = {NULL, 0, 0};
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&r->lock);
    for (size_t k = 0; k < r->count && status == KILN_OK; k++) {
        const kiln__step_note *const note = r->steps[k].note;
        for (size_t p = 0; note != NULL && p < note->place_count && status == KILN_OK; p++) {
            const kiln__arg_place *const place = &note->places[p];
            if (place->is_pointer || strcmp(note->kernel, kernel) != 0 ||
                strcmp(place->name, parameter) != 0)
                continue;
            if (f.count > 0 && place->dtype != *dtype_out)
                status = kiln__fail(err, KILN_ERR_DTYPE,
                                    "calls of kernel \"%s\" take `%s` in different dtypes", kernel,
                                    parameter);
            else
                status = add_place(&f, k, p, err);
            *dtype_out = place->dtype;
        }
    }
    pthread_mutex_unlock(&r->lock);
    if (status != KILN_OK) {
        kiln__free(f.list);
        f = (found){NULL, 0, 0};
    }
    *out = f.list;
    *count_out = f.count;
    return status;
}

/* A step was changed: tell the driver's program, or have it made anew before the next run. */
static kiln_status apply(kiln__recording *r, const kiln__step *s, kiln_error *err)
{
    if (r->program == NULL || r->stale)
        return KILN_OK;
    if (s->kind == KILN__STEP_LAUNCH || s->kind == KILN__STEP_RAW)
        return r->device->backend->program_set(r->device, r->program, s, err);
    r->stale = true;
    return KILN_OK;
}

/* Change all places, then each step once: a step's places follow each other. */
static kiln_status change(kiln__recording *r, const kiln__place *places, size_t count,
                          const void *value, size_t bytes, intptr_t by, kiln_error *err)
{
    kiln_status status = kiln__device_check(r->device, err);

    if (status != KILN_OK)
        return status;
    pthread_mutex_lock(&r->lock);
    for (size_t k = 0; k < count; k++) {
        const kiln__step *const s = &r->steps[places[k].step];
        unsigned char *const at = s->args + s->note->places[places[k].index].offset;
        uintptr_t word;
        if (value != NULL) {
            memcpy(at, value, bytes);
        } else {
            memcpy(&word, at, sizeof word);
            word += (uintptr_t)by;
            memcpy(at, &word, sizeof word);
        }
    }
    for (size_t k = 0; k < count && status == KILN_OK; k++)
        if (k + 1 == count || places[k + 1].step != places[k].step)
            status = apply(r, &r->steps[places[k].step], err);
    if (status != KILN_OK)
        r->stale = true;
    pthread_mutex_unlock(&r->lock);
    return status;
}

kiln_status kiln__recording_move(kiln__recording *recording, const kiln__place *places,
                                 size_t count, intptr_t bytes, kiln_error *err)
{
    return change(recording, places, count, NULL, 0, bytes, err);
}

kiln_status kiln__recording_write(kiln__recording *recording, const kiln__place *places,
                                  size_t count, const void *value, size_t bytes, kiln_error *err)
{
    return change(recording, places, count, value, bytes, 0, err);
}
