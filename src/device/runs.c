/*
 * runs.c - calls that enqueue work, or wait for some, as observers are told of them: when the thread
 *          made them, and when the device did the work.
 *
 *     calls.c stream.c recording.c .. -> [kiln__work] -> watch.c
 *
 * The device's times come from a pair of events around the work. They are read when they have passed,
 * by whoever enqueues or waits next. Events tell time from one to another only, so each device has an
 * anchor: an event whose time on the host's clock is known. CUDA measures in 32-bit floats, so that a
 * long distance is a coarse one; the anchor moves on with the work.
 *
 * Rule: lists of runs change while the observers are held.
 */
#include <stdio.h>

#include "device/watch.h"

/* From this distance on, the next event is the anchor. */
#define ANCHOR_REACH_US 1e6

struct kiln__run {
    struct kiln__run *next;
    void *begin, *end;     /* events */
    kiln_observation what; /* but for the times */
    kiln_scope scope;
    char kernel[KILN__KERNEL_BYTES];
};

typedef struct kiln__runs {
    struct kiln__runs *next;
    kiln__device *device;
    kiln__run *first, *last; /* enqueued, oldest first */
    kiln__run *idle;
    void *anchor;
    double anchor_us;
} kiln__runs;

static kiln__runs *all;

static const kiln__event_kind timing = {.timing = true};

/* ---- names of entries ---- a list: it is looked at only while somebody observes */

typedef struct kiln__entry_name {
    struct kiln__entry_name *next;
    const kiln__module *module;
    const void *entry;
    char name[];
} kiln__entry_name;

/* The observers are held. NULL: it has none. */
static const kiln__entry_name *find_name(const kiln__device *device, const void *entry)
{
    const kiln__entry_name *n = device->entry_names;

    while (n != NULL && n->entry != entry)
        n = n->next;
    return n;
}

void kiln__entry_set_name(kiln__module *module, const void *entry, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    kiln__device *const device = module->device;
    kiln__entry_name *n = kiln__alloc(sizeof *n + bytes);

    if (n == NULL || !kiln__observers_hold()) {
        kiln__free(n);
        return;
    }
    if (find_name(device, entry) == NULL) {
        n->module = module;
        n->entry = entry;
        memcpy(n->name, name, bytes);
        n->next = device->entry_names;
        device->entry_names = n;
        n = NULL;
    }
    kiln__observers_release();
    kiln__free(n);
}

/* Those of one module, or of all (NULL). */
static void forget_names(kiln__device *device, const kiln__module *module)
{
    for (kiln__entry_name **at = &device->entry_names; *at != NULL;) {
        kiln__entry_name *const n = *at;
        if (module != NULL && n->module != module) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        kiln__free(n);
    }
}

void kiln__entry_forget_names(const kiln__module *module)
{
    if (kiln__device_forked(module->device) || !kiln__observers_hold())
        return;
    forget_names(module->device, module);
    kiln__observers_release();
}

void kiln__work_name(kiln__work *work, const void *entry)
{
    if (!work->watched || !kiln__observers_hold())
        return;
    const kiln__entry_name *const n = find_name(work->device, entry);
    if (n != NULL) {
        snprintf(work->kernel, sizeof work->kernel, "%s", n->name);
        work->what.kernel = work->kernel;
    }
    kiln__observers_release();
    work->what.begin_us = kiln__now_us();
}

/* ---- runs of a device ---- observers are held */

static bool anchor_runs(kiln__runs *runs, void *native)
{
    kiln__device *const device = runs->device;
    const kiln__backend *const backend = device->backend;

    if (runs->anchor != NULL)
        return true;
    if (backend->event_create(device, &timing, &runs->anchor, NULL) != KILN_OK)
        return false;
    if (backend->event_record(device, runs->anchor, native, NULL) == KILN_OK &&
        backend->event_synchronize(device, runs->anchor, NULL) == KILN_OK) {
        runs->anchor_us = kiln__now_us();
        return true;
    }
    backend->event_destroy(device, runs->anchor);
    runs->anchor = NULL;
    return false;
}

static kiln__runs *runs_of(kiln__device *device)
{
    if (device->runs == NULL && (device->runs = kiln__calloc(1, sizeof *device->runs)) != NULL) {
        device->runs->device = device;
        device->runs->next = all;
        all = device->runs;
    }
    return device->runs;
}

static void run_free(kiln__device *device, kiln__run *run)
{
    device->backend->event_destroy(device, run->begin);
    device->backend->event_destroy(device, run->end);
    kiln__free(run);
}

static void run_recycle(kiln__runs *runs, kiln__run *run)
{
    run->next = runs->idle;
    runs->idle = run;
}

/* A run whose begin is recorded on the stream now; NULL: its times will not be known. */
static kiln__run *run_begin(kiln__device *device, void *native)
{
    const kiln__backend *const backend = device->backend;
    kiln__runs *const runs = runs_of(device);
    kiln__run *run = NULL;

    if (runs == NULL || !anchor_runs(runs, native))
        return NULL;
    run = runs->idle;
    if (run != NULL) {
        runs->idle = run->next;
    } else if ((run = kiln__calloc(1, sizeof *run)) != NULL &&
               (backend->event_create(device, &timing, &run->begin, NULL) != KILN_OK ||
                backend->event_create(device, &timing, &run->end, NULL) != KILN_OK)) {
        run_free(device, run);
        run = NULL;
    }
    if (run != NULL && backend->event_record(device, run->begin, native, NULL) != KILN_OK) {
        run_recycle(runs, run);
        run = NULL;
    }
    return run;
}

static void run_end(kiln__work *work, kiln__run *run)
{
    kiln__device *const device = work->device;
    kiln__runs *const runs = device->runs;

    if (work->what.status != KILN_OK ||
        device->backend->event_record(device, run->end, work->stream->native, NULL) != KILN_OK) {
        run_recycle(runs, run);
        return;
    }
    run->what = work->what;
    run->what.kind = KILN_OBSERVED_RUN;
    if (work->what.kernel != NULL)
        snprintf(run->kernel, sizeof run->kernel, "%s", work->what.kernel);
    run->what.kernel = work->what.kernel != NULL ? run->kernel : NULL;
    if (work->what.scope != NULL) {
        run->scope = *work->what.scope;
        run->scope.outer = NULL;
        run->what.scope = &run->scope;
    }
    run->next = NULL;
    if (runs->first == NULL)
        runs->first = run;
    else
        runs->last->next = run;
    runs->last = run;
}

/* Tell of a run that is over. */
static void run_tell(kiln__runs *runs, kiln__run *run)
{
    kiln__device *const device = runs->device;
    double begin_ms = 0, end_ms = 0;

    if (device->backend->event_elapsed(device, runs->anchor, run->begin, &begin_ms, NULL) !=
            KILN_OK ||
        device->backend->event_elapsed(device, runs->anchor, run->end, &end_ms, NULL) != KILN_OK)
        return;
    run->what.begin_us = runs->anchor_us + begin_ms * 1e3;
    run->what.end_us = runs->anchor_us + end_ms * 1e3;
    kiln__watch_tell_held(device, &run->what);
    if (end_ms * 1e3 > ANCHOR_REACH_US) {
        void *const anchor = runs->anchor;
        runs->anchor = run->end;
        runs->anchor_us = run->what.end_us;
        run->end = anchor;
    }
}

static void settle(kiln__runs *runs, bool wait)
{
    kiln__device *const device = runs->device;

    if (kiln__device_forked(device))
        return;
    while (runs->first != NULL) {
        kiln__run *const run = runs->first;
        if (wait)
            (void)device->backend->event_synchronize(device, run->end, NULL);
        else if (!kiln__event_done(device, run->end))
            break;
        runs->first = run->next;
        run_tell(runs, run);
        run_recycle(runs, run);
    }
}

void kiln__runs_report(const kiln__device *device, bool wait)
{
    if (!kiln__observers_hold())
        return;
    for (kiln__runs *runs = all; runs != NULL; runs = runs->next)
        if (device == NULL || runs->device == device)
            settle(runs, wait);
    kiln__observers_release();
}

void kiln__runs_close(kiln__device *device)
{
    kiln__runs *const runs = device->runs;
    const bool forked = kiln__device_forked(device);

    kiln__runs_report(device, true);
    if (runs != NULL && kiln__observers_hold()) {
        for (kiln__runs **at = &all; *at != NULL; at = &(*at)->next)
            if (*at == runs) {
                *at = runs->next;
                break;
            }
        for (kiln__run *run = runs->idle, *next; run != NULL; run = next) {
            next = run->next;
            if (forked)
                kiln__free(run);
            else
                run_free(device, run);
        }
        if (!forked)
            device->backend->event_destroy(device, runs->anchor);
        kiln__observers_release();
        kiln__free(runs);
    }
    device->runs = NULL;
    forget_names(device, NULL);
}

/* ---- work ---- */

/* Work is done when the call that enqueues it returns. */
static bool is_host(const kiln__device *device)
{
    return device->backend->kind == KILN_BACKEND_CPU;
}

static bool times_are_asked_for(const kiln__device *device, const kiln_stream *stream)
{
    return stream != NULL && stream->recording == NULL && !is_host(device) &&
           kiln__is_watched(KILN_OBSERVE(KILN_OBSERVED_RUN));
}

void kiln__work_open(kiln__work *work, kiln_observed kind, kiln__device *device,
                     kiln_stream *stream)
{
    work->device = device;
    work->stream = stream;
    work->run = NULL;
    work->what = (kiln_observation){.kind = kind};
    work->what.stream = stream != NULL ? stream->native : NULL;
    if (times_are_asked_for(device, stream) && kiln__observers_hold()) {
        work->run = run_begin(device, stream->native);
        kiln__observers_release();
    }
    kiln__watch_fill(device, &work->what);
    work->what.begin_us = kiln__now_us();
}

void kiln__work_close(kiln__work *work, kiln_status status)
{
    work->what.end_us = kiln__now_us();
    work->what.status = status;
    if (work->run != NULL && kiln__observers_hold()) {
        run_end(work, work->run);
        kiln__observers_release();
    }
    kiln__watch_tell(work->device, &work->what);
    if (is_host(work->device) && work->stream != NULL && status == KILN_OK) {
        work->what.kind = KILN_OBSERVED_RUN; /* it ran in the call */
        kiln__watch_tell(work->device, &work->what);
    }
    if (!is_host(work->device))
        kiln__runs_report(work->device, false);
}

kiln_status kiln__library_call(kiln_stream *stream, const char *name, kiln__library_fn call,
                               const void *args, kiln_error *err)
{
    kiln__work work;

    if (kiln__device_is_dry(stream->device))
        return KILN_OK;
    kiln__work_begin(&work, KILN_OBSERVED_LAUNCH, stream->device, stream);
    if (work.watched) {
        snprintf(work.kernel, sizeof work.kernel, "%s", name);
        work.what.kernel = work.kernel;
    }
    return kiln__work_end(&work, call(args, kiln__stream_enter(stream), err));
}

kiln_status kiln__launch_watched(kiln__device *device, void *entry,
                                 const kiln__launch_config *config, const void *args,
                                 size_t args_bytes, kiln_stream *stream, kiln_error *err)
{
    kiln__work work = {.watched = true};

    kiln__work_open(&work, KILN_OBSERVED_LAUNCH, device, stream);
    kiln__work_name(&work, entry);
    return kiln__work_end(&work, device->backend->launch(device, entry, config, args, args_bytes,
                                                         kiln__stream_enter(stream), err));
}
