/*
 * trace.c - a timeline in the trace event format of Chrome, which Perfetto reads as well.
 *
 *     device -> [an element for each observation] -> sink.c
 *
 * Threads have a track each, with calls, labels, launches, copies, waits and compilations. Each stream
 * of a device has a track with what ran there, and each device a counter of its memory. Times are
 * microseconds of the host's monotonic clock, so that the files of several processes fit together.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <unistd.h>

#include "observe/observe.h"
#include "observe/sink.h"

typedef struct trace {
    kiln__sink sink;
    kiln__map tracks; /* those that have a name already */
} trace;

/* A track: a thread, or a stream of a device. */
typedef struct track_key {
    uint64_t number;
    char device[16]; /* "" for threads */
} track_key;

/* Tracks of streams are numbered apart from those of threads, which are small. */
static uint64_t track_of_stream(const kiln_observation *what)
{
    track_key key = {.number = (uintptr_t)what->stream};

    strncpy(key.device, what->device, sizeof key.device - 1);
    return UINT64_C(0x80000000) | (kiln__hash_64(&key, sizeof key) & 0x7fffffff);
}

/* ---- text ---- */

/* A text inside quotation marks. What is no UTF-8 has its bytes replaced. */
static void put_text(kiln__buf *b, const char *text)
{
    while (*text != '\0') {
        const size_t bytes = kiln__utf8_sequence(text, strlen(text));
        if (*text == '"' || *text == '\\') {
            kiln__buf_printf(b, "\\%c", *text);
        } else if (bytes == 0 || (unsigned char)*text < 0x20) {
            kiln__buf_puts(b, bytes == 0 ? "\\ufffd" : " ");
        } else {
            kiln__buf_put(b, text, bytes);
            text += bytes - 1;
        }
        text++;
    }
}

/* Begin an element: what all have. */
static void put_begin(trace *t, const char *phase, const char *before, const char *name)
{
    kiln__buf *const b = &t->sink.text;

    kiln__buf_printf(b, "%s{\"ph\":\"%s\",\"pid\":%ld,\"name\":\"%s", b->length > 0 ? ",\n" : "",
                     phase, (long)getpid(), before);
    put_text(b, name);
    kiln__buf_putc(b, '"');
}

static void put_time(trace *t, uint64_t track, double us)
{
    kiln__buf_printf(&t->sink.text, ",\"tid\":%" PRIu64 ",\"ts\":%.3f", track, us);
}

/* Name a track when it is first seen. */
static void name_track(trace *t, uint64_t track, const kiln_observation *what)
{
    bool is_new = false;

    if (kiln__map_enter(&t->tracks, &track, sizeof track, &is_new) == NULL || !is_new)
        return;
    put_begin(t, "M", "", "thread_name");
    kiln__buf_printf(&t->sink.text, ",\"tid\":%" PRIu64 ",\"args\":{\"name\":\"", track);
    if (what == NULL)
        kiln__buf_printf(&t->sink.text, "thread %" PRIu64, track);
    else
        kiln__buf_printf(&t->sink.text, "%s, stream 0x%" PRIxPTR, what->device,
                         (uintptr_t)what->stream);
    kiln__buf_puts(&t->sink.text, "\"}}");
}

static void put_args(trace *t, const kiln_observation *what)
{
    kiln__buf *const b = &t->sink.text;
    const char *comma = "";

    kiln__buf_puts(b, ",\"args\":{");
    if (what->bytes > 0) {
        kiln__buf_printf(b, "\"bytes\":%zu", what->bytes);
        comma = ",";
    }
    if (what->scope != NULL && what->kind != KILN_OBSERVED_SCOPE_BEGIN &&
        what->kind != KILN_OBSERVED_SCOPE_END) {
        kiln__buf_printf(b, "%s\"label\":\"", comma);
        put_text(b, what->scope->label);
        kiln__buf_putc(b, '"');
        comma = ",";
    }
    if (what->status != KILN_OK)
        kiln__buf_printf(b, "%s\"status\":\"%s\"", comma, kiln_status_name(what->status));
    kiln__buf_puts(b, "}}");
}

/* ---- elements ---- */

static const char *const directions[] = {"", "copy to device", "copy to host", "copy on device",
                                         "set memory"};

static const char *run_name(const kiln_observation *what)
{
    if (what->direction != KILN_DIRECTION_NONE)
        return directions[what->direction];
    return what->kernel != NULL ? what->kernel : "program";
}

/* What took some time, on a track. */
static void put_slice(trace *t, uint64_t track, const char *before, const char *name,
                      const kiln_observation *what)
{
    const double us = what->end_us - what->begin_us;

    put_begin(t, "X", before, name);
    put_time(t, track, what->begin_us);
    kiln__buf_printf(&t->sink.text, ",\"dur\":%.3f", us > 0 ? us : 0.0);
    put_args(t, what);
}

static void put_counter(trace *t, const char *before, const kiln_observation *what)
{
    put_begin(t, "C", before, what->device);
    kiln__buf_printf(&t->sink.text, ",\"ts\":%.3f,\"args\":{\"used\":%zu,\"free\":%zu}}",
                     what->begin_us, what->used_bytes,
                     what->held_bytes > what->used_bytes ? what->held_bytes - what->used_bytes : 0);
}

static void put_limit(trace *t, const kiln_observation *what)
{
    put_begin(t, "i", "", "memory is short");
    put_time(t, what->thread, what->begin_us);
    kiln__buf_puts(&t->sink.text, ",\"s\":\"t\"");
    put_args(t, what);
}

static void put_edge(trace *t, bool begins, const char *name, const kiln_observation *what)
{
    put_begin(t, begins ? "B" : "E", "", name != NULL ? name : "");
    put_time(t, what->thread, what->begin_us);
    put_args(t, what);
}

static void see(void *user, const kiln_observation *what)
{
    trace *const t = user;
    const char *const kernel = what->kernel != NULL ? what->kernel : "";

    if (what->kind == KILN_OBSERVED_RUN)
        name_track(t, track_of_stream(what), what);
    else
        name_track(t, what->thread, NULL);
    switch (what->kind) {
    case KILN_OBSERVED_ALLOC:
    case KILN_OBSERVED_FREE:
    case KILN_OBSERVED_ACQUIRE:
    case KILN_OBSERVED_RELEASE:
        put_counter(t, "memory of ", what);
        break;
    case KILN_OBSERVED_HOST_ALLOC:
    case KILN_OBSERVED_HOST_FREE:
    case KILN_OBSERVED_HOST_ACQUIRE:
    case KILN_OBSERVED_HOST_RELEASE:
        put_counter(t, "page-locked memory of ", what);
        break;
    case KILN_OBSERVED_LIMIT:
        put_limit(t, what);
        break;
    case KILN_OBSERVED_LAUNCH:
        put_slice(t, what->thread, "launch ", kernel, what);
        break;
    case KILN_OBSERVED_REPLAY:
        put_slice(t, what->thread, "replay", "", what);
        break;
    case KILN_OBSERVED_COPY:
        put_slice(t, what->thread, "", run_name(what), what);
        break;
    case KILN_OBSERVED_WAIT:
        put_slice(t, what->thread, "wait", "", what);
        break;
    case KILN_OBSERVED_COMPILE:
        put_slice(t, what->thread, "compile ", kernel, what);
        break;
    case KILN_OBSERVED_CACHE_HIT:
        put_slice(t, what->thread, "load ", kernel, what);
        break;
    case KILN_OBSERVED_CACHE_MISS:
        put_slice(t, what->thread, "look for ", kernel, what);
        break;
    case KILN_OBSERVED_CACHE_STORE:
        put_slice(t, what->thread, "store ", kernel, what);
        break;
    case KILN_OBSERVED_CALL_BEGIN:
    case KILN_OBSERVED_CALL_END:
        put_edge(t, what->kind == KILN_OBSERVED_CALL_BEGIN, kernel, what);
        break;
    case KILN_OBSERVED_SCOPE_BEGIN:
    case KILN_OBSERVED_SCOPE_END:
        put_edge(t, what->kind == KILN_OBSERVED_SCOPE_BEGIN, what->scope->label, what);
        break;
    case KILN_OBSERVED_RUN:
        put_slice(t, track_of_stream(what), "", run_name(what), what);
        break;
    }
    kiln__sink_added(&t->sink);
}

/* ---- life ---- */

static kiln_status flush(void *state, kiln_error *err)
{
    return kiln__sink_flush(&((trace *)state)->sink, err);
}

static void destroy(void *state)
{
    trace *const t = state;

    kiln__sink_close(&t->sink);
    kiln__map_clear(&t->tracks, NULL);
    kiln__free(t);
}

kiln_status kiln__trace_create(const char *path, bool fresh, kiln__ready *out, kiln_error *err)
{
    trace *t = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK(kiln__make_zeroed(&t, 1, sizeof *t, err));
    KILN_TRY(kiln__sink_open(&t->sink, path, true, fresh, err));
    put_begin(t, "M", "", "process_name");
    kiln__buf_printf(&t->sink.text, ",\"args\":{\"name\":\"process %ld\"}}", (long)getpid());
    *out = (kiln__ready){
        .state = t, .kinds = KILN_OBSERVE_ALL, .see = see, .flush = flush, .destroy = destroy};
    return KILN_OK;

done:
    kiln__free(t);
    return status;
}
