/*
 * fake_device.c - the backend behind fake_device.h.
 */
#include "fake_device.h"

#include <stdlib.h>

fake *fake_of(const kiln__device *device)
{
    return device->state;
}

void fake_use(kiln_stream *stream, const kiln__block *block)
{
    fake *f = fake_of(stream->device);
    fake_stream *native = stream->native;

    native->enqueued++;
    if (block == NULL)
        return;
    if (f->touch_count == f->touch_room) {
        f->touch_room = f->touch_room > 0 ? 2 * f->touch_room : 64;
        f->touches = realloc(f->touches, f->touch_room * sizeof *f->touches);
        if (f->touches == NULL)
            abort();
    }
    f->touches[f->touch_count++] = (fake_touch){native, native->enqueued, (uintptr_t)block->address,
                                                (uintptr_t)block->address + block->bytes};
}

/* Complete a stream's work up to a number, and what came before it. */
static void complete(fake_stream *stream, unsigned position, const fake_clock *after)
{
    const fake *f = stream->owner;

    for (size_t k = 0; k < f->stream_count; k++)
        if (f->streams[k]->completed < after->at[k])
            f->streams[k]->completed = after->at[k];
    if (stream->completed < position)
        stream->completed = position;
}

/* Whether work that is enqueued on `stream` from now on comes after a touch. */
static bool waits_for(const fake_stream *stream, const fake_touch *t)
{
    return stream == t->stream ||
           (stream != NULL && stream->after.at[t->stream->number] >= t->position);
}

/* Unfinished work that does not come before all of `except` and touches [low, high); forgets finished work. */
static bool is_touched(fake *f, uintptr_t low, uintptr_t high, const fake_stream *except)
{
    bool touched = false;
    size_t kept = 0;

    for (size_t i = 0; i < f->touch_count; i++) {
        fake_touch t = f->touches[i];
        if (t.stream->completed >= t.position)
            continue;
        f->touches[kept++] = t;
        touched = touched || (!waits_for(except, &t) && t.low < high && low < t.high);
    }
    f->touch_count = kept;
    return touched;
}

bool fake_is_in_use(const kiln__block *block)
{
    fake *f = fake_of(block->home->device);
    uintptr_t low = (uintptr_t)block->address;

    pthread_mutex_lock(&f->lock);
    bool touched = is_touched(f, low, low + block->bytes, block->home->native);
    pthread_mutex_unlock(&f->lock);
    return touched;
}

static void finish(fake_stream *stream)
{
    complete(stream, stream->enqueued, &stream->after);
}

void fake_finish(kiln_stream *stream)
{
    finish(stream->native);
}

void fake_finish_at(fake *f, size_t at)
{
    finish(f->streams[at]);
}

/* ---- streams and events ---- */

static fake_stream *checked(kiln__device *device, void *native)
{
    fake_stream *stream = native;
    if (stream == NULL || stream->destroyed)
        fake_of(device)->late_uses++;
    return stream;
}

static kiln_status fake_stream_create(kiln__device *device, int priority, bool blocking,
                                      void **native_out, kiln_error *err)
{
    fake *f = fake_of(device);
    fake_stream *stream = NULL;

    (void)priority;
    (void)blocking;
    pthread_mutex_lock(&f->lock);
    if (f->stream_count < KILN_COUNT_OF(f->streams))
        stream = calloc(1, sizeof *stream);
    if (stream != NULL) {
        stream->owner = f;
        stream->number = f->stream_count;
        f->streams[f->stream_count++] = stream;
    }
    pthread_mutex_unlock(&f->lock);
    *native_out = stream;
    return stream != NULL ? KILN_OK : kiln__fail_memory(err, sizeof *stream);
}

static void fake_stream_destroy(kiln__device *device, void *native)
{
    checked(device, native)->destroyed = true;
}

static kiln_status fake_stream_synchronize(kiln__device *device, void *native, kiln_error *err)
{
    fake_stream *stream = checked(device, native);

    (void)err;
    fake_of(device)->stream_waits += stream->completed != stream->enqueued;
    finish(stream);
    return KILN_OK;
}

static kiln_status fake_stream_wait_event(kiln__device *device, void *native, void *event,
                                          kiln_error *err)
{
    const fake_event *const other = event;
    fake_stream *const stream = checked(device, native);

    (void)err;
    stream->enqueued++;
    if (other->stream == NULL || other->stream == stream)
        return KILN_OK;
    stream->waits++;
    for (size_t k = 0; k < FAKE_STREAMS_MAX; k++)
        if (stream->after.at[k] < other->after.at[k])
            stream->after.at[k] = other->after.at[k];
    if (stream->after.at[other->stream->number] < other->position)
        stream->after.at[other->stream->number] = other->position;
    return KILN_OK;
}

static kiln_status fake_event_create(kiln__device *device, const kiln__event_kind *kind,
                                     void **event_out, kiln_error *err)
{
    fake *f = fake_of(device);
    fake_event *event = calloc(1, sizeof *event);

    (void)kind;
    (void)err;
    pthread_mutex_lock(&f->lock);
    f->events_alive++;
    pthread_mutex_unlock(&f->lock);
    *event_out = event;
    return KILN_OK;
}

static void fake_event_destroy(kiln__device *device, void *event)
{
    fake *f = fake_of(device);

    pthread_mutex_lock(&f->lock);
    f->events_alive -= event != NULL;
    pthread_mutex_unlock(&f->lock);
    free(event);
}

static kiln_status fake_event_record(kiln__device *device, void *native_event, void *native,
                                     kiln_error *err)
{
    fake_event *event = native_event;

    (void)err;
    event->stream = checked(device, native);
    event->position = event->stream->enqueued;
    event->after = event->stream->after;
    return KILN_OK;
}

static kiln_status fake_event_query(kiln__device *device, void *native_event, bool *done_out,
                                    kiln_error *err)
{
    fake_event *event = native_event;

    (void)device;
    (void)err;
    *done_out = event->stream == NULL || event->stream->completed >= event->position;
    return KILN_OK;
}

static kiln_status fake_event_synchronize(kiln__device *device, void *native_event, kiln_error *err)
{
    fake_event *event = native_event;

    (void)err;
    if (!kiln__event_done(device, event)) {
        fake_of(device)->event_waits++;
        complete(event->stream, event->position, &event->after);
    }
    return KILN_OK;
}

/* ---- memory ---- */

static kiln_status fake_raw_alloc(kiln__device *device, size_t bytes, void **address_out,
                                  kiln_error *err)
{
    fake *f = fake_of(device);
    kiln_status status = KILN_OK;

    *address_out = NULL;
    pthread_mutex_lock(&f->lock);
    if (f->raw_status != KILN_OK) {
        status = kiln__fail(err, f->raw_status, "as the test wanted");
    } else if (bytes > f->capacity - f->allocated) {
        status = KILN_ERR_DEVICE_MEMORY;
    } else {
        f->allocated += bytes;
        f->raw_allocs++;
        if (f->address_only) {
            *address_out = (void *)f->next_address;
            f->next_address += bytes;
        } else {
            *address_out = aligned_alloc(512, bytes);
        }
    }
    pthread_mutex_unlock(&f->lock);
    return status;
}

static void fake_raw_free(kiln__device *device, void *address, size_t bytes)
{
    fake *f = fake_of(device);

    pthread_mutex_lock(&f->lock);
    f->unsafe_frees += is_touched(f, (uintptr_t)address, (uintptr_t)address + bytes, NULL);
    f->allocated -= bytes;
    f->raw_frees++;
    if (!f->address_only)
        free(address);
    pthread_mutex_unlock(&f->lock);
}

static void fake_mem_info(kiln__device *device, size_t *free_out, size_t *total_out)
{
    *free_out = fake_of(device)->capacity - fake_of(device)->allocated;
    *total_out = fake_of(device)->capacity;
}

static const kiln__backend fake_backend = {
    .kind = KILN_BACKEND_CPU,
    .prefix = "fake",
    .stream_create = fake_stream_create,
    .stream_destroy = fake_stream_destroy,
    .stream_synchronize = fake_stream_synchronize,
    .stream_wait_event = fake_stream_wait_event,
    .event_create = fake_event_create,
    .event_destroy = fake_event_destroy,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_synchronize = fake_event_synchronize,
    .raw_alloc = fake_raw_alloc,
    .raw_free = fake_raw_free,
    .mem_info = fake_mem_info,
};

/* ---- life ---- */

kiln__device *fake_open(fake *f, size_t capacity)
{
    kiln__device *device = calloc(1, sizeof *device);

    if (device == NULL)
        abort();
    *f = (fake){.capacity = capacity, .next_address = (uintptr_t)1 << 40};
    pthread_mutex_init(&f->lock, NULL);
    device->backend = &fake_backend;
    device->state = f;
    device->fork_generation = kiln__fork_generation();
    snprintf(device->info.id, sizeof device->info.id, "fake:0");
    if (kiln__pool_create(device, &device->pool, NULL) != KILN_OK ||
        kiln__host_pool_create(device, &device->host_pool, NULL) != KILN_OK ||
        kiln__stream_create(device, NULL, &device->stream, NULL) != KILN_OK)
        abort();
    return device;
}

void fake_close(kiln__device *device)
{
    fake *f = fake_of(device);

    for (size_t i = 0; i < f->stream_count; i++)
        finish(f->streams[i]);
    kiln__stream_destroy(device->stream);
    kiln__host_pool_destroy(device->host_pool);
    kiln__pool_destroy(device->pool);
    for (size_t i = 0; i < f->stream_count; i++)
        free(f->streams[i]);
    free(f->touches);
    pthread_mutex_destroy(&f->lock);
    free(device);
}

/* ---- for tests ---- */

kiln__block *must_alloc(kiln__device *device, size_t bytes, kiln_stream *stream)
{
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__pool_alloc(device, bytes, stream, &block, &err) != KILN_OK)
        fail_msg("%zu bytes: %s", bytes, err.message);
    assert_non_null(block);
    assert_false(fake_is_in_use(block));
    return block;
}

kiln_stream *must_stream(kiln__device *device)
{
    kiln_stream *stream = NULL;

    assert_int_equal(kiln__stream_create(device, NULL, &stream, NULL), KILN_OK);
    return stream;
}

kiln_pool_stats stats_of(kiln__device *device)
{
    kiln_pool_stats stats;

    kiln__pool_stats(device, &stats);
    return stats;
}

void close_clean(kiln__device *device)
{
    fake *f = fake_of(device);

    assert_int_equal(stats_of(device).used_bytes, 0);
    fake_close(device);
    assert_int_equal(f->allocated, 0);
    assert_int_equal(f->raw_allocs, f->raw_frees);
    assert_int_equal(f->events_alive, 0);
    assert_int_equal(f->late_uses, 0);
    assert_int_equal(f->unsafe_frees, 0);
}

uint64_t next_random(uint64_t *seed)
{
    uint64_t v = *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}
