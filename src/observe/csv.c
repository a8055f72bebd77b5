/*
 * csv.c - allocations in the form of RMM's log, which its replay benchmark reads.
 *
 *     device -> [a line for each allocation, free and failure] -> sink.c
 *
 * The columns are Thread, Time, Action, Pointer, Size and Stream. RMM's reader takes pointers in
 * hexadecimal, and threads, sizes and streams in decimal.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <time.h>

#include "observe/observe.h"
#include "observe/sink.h"

/* The wall clock now, as RMM writes it: hours, minutes, seconds, microseconds. */
static void put_time(kiln__buf *text)
{
    struct timespec now = {0};
    struct tm local = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &local);
    kiln__buf_printf(text, "%02d:%02d:%02d:%06ld", local.tm_hour, local.tm_min, local.tm_sec,
                     now.tv_nsec / 1000);
}

static void see(void *user, const kiln_observation *what)
{
    kiln__sink *const sink = user;
    const char *action = what->kind == KILN_OBSERVED_ALLOC ? "allocate" : "free";

    if (what->kind == KILN_OBSERVED_LIMIT && what->status == KILN_OK)
        return;
    if (what->kind == KILN_OBSERVED_LIMIT)
        action = "allocate failure";
    kiln__buf_printf(&sink->text, "%" PRIu64 ",", what->thread);
    put_time(&sink->text);
    kiln__buf_printf(&sink->text, ",%s,0x%" PRIxPTR ",%zu,%" PRIuPTR "\n", action,
                     (uintptr_t)what->address, what->bytes, (uintptr_t)what->stream);
    kiln__sink_added(sink);
}

static kiln_status flush(void *state, kiln_error *err)
{
    return kiln__sink_flush(state, err);
}

static void destroy(void *state)
{
    kiln__sink_close(state);
    kiln__free(state);
}

kiln_status kiln__csv_create(const char *path, kiln__ready *out, kiln_error *err)
{
    kiln__sink *sink = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK(kiln__make_zeroed(&sink, 1, sizeof *sink, err));
    KILN_TRY(kiln__sink_open(sink, path, false, true, err));
    kiln__buf_puts(&sink->text, "Thread,Time,Action,Pointer,Size,Stream\n");
    *out =
        (kiln__ready){.state = sink,
                      .kinds = KILN_OBSERVE(KILN_OBSERVED_ALLOC) |
                               KILN_OBSERVE(KILN_OBSERVED_FREE) | KILN_OBSERVE(KILN_OBSERVED_LIMIT),
                      .see = see,
                      .flush = flush,
                      .destroy = destroy};
    return KILN_OK;

done:
    kiln__free(sink);
    return status;
}
