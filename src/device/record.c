/*
 * record.c - the steps that calls on a recorded stream become.
 *
 *     calls.c raw.c host_pool.c stream.c -> [kiln__record_..] -> steps of the recording
 *
 * Rule: what would have to wait, or tells a value now, cannot be recorded: the first such call fails by
 *       name, and with it the recording.
 */
#include "device/recording.h"

kiln_stream *kiln__stream_current(kiln_stream *stream)
{
    kiln_stream *const standin = atomic_load_explicit(&stream->standin, memory_order_acquire);
    return standin != NULL ? standin : stream;
}

kiln_stream *kiln__stream_base(kiln_stream *stream)
{
    return stream->recording != NULL ? stream->recording->base : stream;
}

bool kiln__stream_is_recording(const kiln_stream *stream)
{
    return stream->recording != NULL;
}

size_t kiln__stream_step_count(kiln_stream *stream)
{
    return kiln__stream_current(stream)->recording->count;
}

void kiln__step_clear(kiln__step *s)
{
    kiln__free(s->args);
    kiln__free(s->note);
    if (s->kind == KILN__STEP_RAW)
        kiln__free(s->as.raw.params);
}

void *kiln__step_address(const kiln__step *s, size_t at)
{
    void *address;

    memcpy(&address, s->args + at * sizeof address, sizeof address);
    return address;
}

/* The first failure of a recording is its own; later calls repeat it. The lock is held. */
kiln_status kiln__recording_failed(const kiln__recording *r, kiln_error *err)
{
    return kiln__fail(err, r->failure.status, "the recording of this stream has failed: %.400s",
                      r->failure.message);
}

static kiln_status fail_once(kiln__recording *r, kiln_status status, const kiln_error *why)
{
    if (r->failure.status == KILN_OK)
        (void)kiln__fail(&r->failure, status, "%s", why->message);
    return status;
}

kiln_status kiln__stream_no_recording(kiln_stream *stream, const char *what, kiln_error *err)
{
    kiln__recording *const r = stream->recording;
    kiln_error why = KILN_ERROR_INIT;

    if (r == NULL)
        return KILN_OK;
    kiln_status status = kiln__fail(&why, KILN_ERR_UNSUPPORTED,
                                    "%s cannot be captured: the stream's work is recorded, and "
                                    "done when the program runs",
                                    what);
    pthread_mutex_lock(&r->lock);
    fail_once(r, status, &why);
    pthread_mutex_unlock(&r->lock);
    (void)kiln__error_copy(err, &why);
    kiln_error_clear(&why);
    return status;
}

static void *copied(const void *bytes, size_t count)
{
    void *const copy = kiln__alloc(count > 0 ? count : 1);
    if (copy != NULL && count > 0)
        memcpy(copy, bytes, count);
    return copy;
}

kiln__step_note *kiln__note_make(kiln__describe_fn describe, const void *user)
{
    kiln__step_note told = {"", NULL, 0}, *note = NULL;

    describe(user, &told);
    told.places = kiln__alloc((told.place_count + 1) * sizeof *told.places);
    if (told.places == NULL)
        return NULL;
    describe(user, &told);
    const size_t places = told.place_count * sizeof *told.places;
    size_t bytes = sizeof *note + places + strlen(told.kernel) + 1;
    for (size_t k = 0; k < told.place_count; k++)
        bytes += strlen(told.places[k].name) + 1;
    note = kiln__alloc(bytes);
    if (note != NULL) {
        note->places = (kiln__arg_place *)(note + 1);
        note->place_count = told.place_count;
        char *text = (char *)(note->places + note->place_count);
        note->kernel = strcpy(text, told.kernel);
        for (size_t k = 0; k < note->place_count; k++) {
            text += strlen(text) + 1;
            note->places[k] = told.places[k];
            note->places[k].name = strcpy(text, told.places[k].name);
        }
    }
    kiln__free(told.places);
    return note;
}

/* Take over `s`, whatever comes of it. */
static kiln_status append(kiln_stream *stream, kiln__step *s, bool whole, kiln_error *err)
{
    kiln__recording *const r = stream->recording;
    kiln_error why = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&r->lock);
    if (r->failure.status != KILN_OK) {
        status = kiln__recording_failed(r, err);
    } else if (!whole || !kiln__reserve(&r->steps, r->count, &r->capacity, sizeof *s)) {
        status = kiln__fail_memory(&why, sizeof *s);
        fail_once(r, status, &why);
        (void)kiln__error_copy(err, &why);
    } else {
        r->steps[r->count++] = *s;
    }
    pthread_mutex_unlock(&r->lock);
    if (status != KILN_OK)
        kiln__step_clear(s);
    kiln_error_clear(&why);
    return status;
}

kiln_status kiln__record_launch(kiln_stream *stream, void *entry, const kiln__launch_config *config,
                                const void *args, size_t args_bytes, kiln__describe_fn describe,
                                const void *user, kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_LAUNCH, .entry = entry, .args_bytes = args_bytes};

    s.as.launch = *config;
    s.args = copied(args, args_bytes);
    s.note = describe != NULL ? kiln__note_make(describe, user) : NULL;
    return append(stream, &s, s.args != NULL && (s.note != NULL || describe == NULL), err);
}

kiln_status kiln__record_raw(kiln_stream *stream, void *entry, const kiln__raw_launch *launch,
                             const kiln__raw_param *params, size_t count, const void *block,
                             size_t bytes, kiln__describe_fn describe, const void *user,
                             kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_RAW, .entry = entry, .args_bytes = bytes};

    s.as.raw.config = *launch;
    s.as.raw.count = count;
    s.as.raw.params = copied(params, count * sizeof *params);
    s.args = copied(block, bytes);
    s.note = kiln__note_make(describe, user);
    return append(stream, &s, s.args != NULL && s.as.raw.params != NULL && s.note != NULL, err);
}

kiln_status kiln__record_library(kiln_stream *stream, kiln__library_fn call, const void *args,
                                 size_t args_bytes, kiln__describe_fn describe, kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_LIBRARY, .args_bytes = args_bytes};

    s.as.library = call;
    s.args = copied(args, args_bytes);
    s.note = kiln__note_make(describe, args);
    return append(stream, &s, s.args != NULL && s.note != NULL, err);
}

/* The addresses of a copy or a memset (`user`: how many), which stand in `args`. */
static void describe_addresses(const void *user, kiln__step_note *note)
{
    note->place_count = *(const size_t *)user;
    for (size_t k = 0; note->places != NULL && k < note->place_count; k++)
        note->places[k] = (kiln__arg_place){
            (uint16_t)(k * sizeof(void *)), sizeof(void *), 0, (uint8_t)k, true, 0, ""};
}

/* A step that names two addresses, or one. */
static kiln_status record_addresses(kiln_stream *stream, kiln__step *s, void *dst, const void *src,
                                    size_t bytes, kiln_error *err)
{
    const void *const addresses[] = {dst, src};
    const size_t count = src != NULL ? 2 : 1;

    s->bytes = bytes;
    s->args_bytes = sizeof addresses;
    s->args = copied(addresses, sizeof addresses);
    s->note = kiln__note_make(describe_addresses, &count);
    return append(stream, s, s->args != NULL && s->note != NULL, err);
}

kiln_status kiln__record_copy(kiln_stream *stream, void *dst, const void *src, size_t bytes,
                              kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_COPY};
    return record_addresses(stream, &s, dst, src, bytes, err);
}

kiln_status kiln__record_transfer(kiln_stream *stream, void *dst, const void *src, size_t bytes,
                                  bool to_device, kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_TRANSFER, .as.to_device = to_device};
    return record_addresses(stream, &s, dst, src, bytes, err);
}

kiln_status kiln__record_memset(kiln_stream *stream, void *dst, int byte, size_t bytes,
                                kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_MEMSET, .as.byte = byte};
    return record_addresses(stream, &s, dst, NULL, bytes, err);
}

kiln_status kiln__record_host_call(kiln_stream *stream, kiln_host_fn fn, void *user,
                                   kiln_error *err)
{
    kiln__step s = {.kind = KILN__STEP_HOST_CALL};
    const size_t none = 0;

    s.as.host.fn = fn;
    s.as.host.user = user;
    s.note = kiln__note_make(describe_addresses, &none);
    return append(stream, &s, s.note != NULL, err);
}

void kiln__stream_keep(kiln_stream *stream, void *object, void (*release)(void *object))
{
    kiln__recording *const r = stream->recording;
    bool kept = false;

    if (r != NULL) {
        pthread_mutex_lock(&r->lock);
        kept = kiln__reserve(&r->keeps, r->keep_count, &r->keep_capacity, sizeof *r->keeps);
        if (kept) {
            r->keeps[r->keep_count++] = (kiln__keep){object, release};
        } else {
            kiln_error why = KILN_ERROR_INIT;
            fail_once(r, kiln__fail_memory(&why, sizeof *r->keeps), &why);
            kiln_error_clear(&why);
        }
        pthread_mutex_unlock(&r->lock);
    }
    if (!kept)
        release(object);
}
