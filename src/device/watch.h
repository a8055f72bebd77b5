/*
 * watch.h - what the files of src/device tell observers by. Private to src/device.
 *
 *     calls.c stream.c recording.c .. -> runs.c -> watch.c -> label.c
 *     pool.c pool_arena.c -> pool_watch.c ----------^
 */
#ifndef KILN_DEVICE_WATCH_H
#define KILN_DEVICE_WATCH_H

#include "device/backend.h"

/* What is filled in for whoever tells: the device, its context, the thread, its label and kernel. */
void kiln__watch_fill(const kiln__device *device, kiln_observation *what);
/* kiln__watch_tell() between kiln__observers_hold() and _let_go(), of a filled observation. */
void kiln__watch_tell_held(const kiln__device *device, const kiln_observation *what);

/* ---- runs.c ---- work on a device, from its enqueueing to its end */

typedef struct kiln__run kiln__run;

enum { KILN__KERNEL_BYTES = 96 }; /* of a name; the rest is cut off */

/* Kinds for whose sake work is looked at. */
#define KILN__WATCH_WORK                                                                           \
    (KILN_OBSERVE(KILN_OBSERVED_LAUNCH) | KILN_OBSERVE(KILN_OBSERVED_REPLAY) |                     \
     KILN_OBSERVE(KILN_OBSERVED_COPY) | KILN_OBSERVE(KILN_OBSERVED_WAIT) |                         \
     KILN_OBSERVE(KILN_OBSERVED_RUN))

/* One call that enqueues work, or waits for some. */
typedef struct kiln__work {
    bool watched;
    kiln__device *device;
    kiln_stream *stream;
    kiln__run *run; /* NULL: its times are not asked for, or are those of the call */
    kiln_observation what;
    char kernel[KILN__KERNEL_BYTES];
} kiln__work;

void kiln__work_open(kiln__work *work, kiln_observed kind, kiln__device *device,
                     kiln_stream *stream);
void kiln__work_close(kiln__work *work, kiln_status status);

/* Before and after the call. `stream` NULL: nothing is enqueued, all is waited for. */
static inline void kiln__work_begin(kiln__work *work, kiln_observed kind, kiln__device *device,
                                    kiln_stream *stream)
{
    work->watched = kiln__is_watched(KILN__WATCH_WORK);
    if (work->watched)
        kiln__work_open(work, kind, device, stream);
}
static inline kiln_status kiln__work_end(kiln__work *work, kiln_status status)
{
    if (work->watched)
        kiln__work_close(work, status);
    return status;
}
static inline void kiln__work_begin_copy(kiln__work *work, kiln_direction direction,
                                         const void *dst, size_t bytes, kiln_stream *stream)
{
    kiln__work_begin(work, KILN_OBSERVED_COPY, stream->device, stream);
    if (!work->watched)
        return;
    work->what.direction = direction;
    work->what.address = dst;
    work->what.bytes = bytes;
}

/* What a wait says: `status`, or, when that is KILN_OK, ERR_INDEX or ERR_SINGULAR where a kernel has reported an index
 * out of range or a matrix that failed since the last wait. (report.c) */
kiln_status kiln__report_check(kiln__device *device, kiln_status status, kiln_error *err);

/* The launch of kiln__launch(), observed. */
kiln_status kiln__launch_watched(kiln__device *device, void *entry,
                                 const kiln__launch_config *config, const void *args,
                                 size_t args_bytes, kiln_stream *stream, kiln_error *err);
/* The module is unloaded: its entries have no names any more. */
void kiln__entry_forget_names(const kiln__module *module);
/* The work is a launch of this entry. */
void kiln__work_name(kiln__work *work, const void *entry);
/* The device closes: tell of what has run, and forget the rest. */
void kiln__runs_close(kiln__device *device);

#endif
