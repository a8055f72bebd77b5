/*
 * environment.c - observers that the environment asks for: a program is observed as it is.
 *
 *     $KILN_TRACE=run.json ./app -> [a timeline of all contexts of the process]
 *     nsys profile ./app         -> [ranges of NVTX: labels and calls]
 *
 * The first context of a process looks; the observer stays to its end. What is known is written when a
 * context ends, and at exit() by a program that leaves its contexts open.
 *
 * Rule: a forked child that makes a context has a timeline of its own, in the same file or, with %p in
 *       the name, in one with its own number.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "observe/observe.h"

static kiln__process_lock lock = KILN__PROCESS_LOCK_INIT;
static bool looked, replaced, waits_for_exit;
static pid_t owner; /* the process that has looked; its fork generation changes at its end */
static kiln__ready trace;
static kiln__observer observer, ranges;

void kiln__observe_environment_flush(void)
{
    kiln__process_lock_take(&lock);
    const bool traces = owner == getpid() && trace.state != NULL;
    kiln__process_lock_give(&lock);
    if (!traces)
        return;
    kiln__runs_report(NULL, false);
    if (!kiln__observers_hold())
        return;
    (void)trace.flush(trace.state, NULL);
    kiln__observers_release();
}

/* The name with the process's number in the place of %p. */
static char *path_of(const char *given)
{
    kiln__buf path = KILN__BUF_INIT;

    for (const char *c = given; *c != '\0'; c++) {
        if (c[0] == '%' && c[1] == 'p') {
            kiln__buf_put_number(&path, (int64_t)getpid());
            c++;
        } else {
            kiln__buf_putc(&path, *c);
        }
    }
    return kiln__buf_take(&path);
}

static void start_trace(const char *given, const kiln__log *log)
{
    kiln_error why = KILN_ERROR_INIT;
    char *const path = path_of(given);
    /* A child joins its parent's file. */
    const bool fresh = !replaced || strstr(given, "%p") != NULL;
    kiln_status status = path != NULL ? kiln__trace_create(path, fresh, &trace, &why)
                                      : kiln__fail_memory(&why, strlen(given));

    kiln__free(path);
    if (status != KILN_OK) {
        kiln__log_line(log, KILN__LOG_ERROR, "KILN_TRACE: %s; no timeline is written", why.message);
        kiln_error_clear(&why);
        return;
    }
    replaced = true;
    kiln__alloc_set_aside(trace.state); /* they stay as long as the process */
    observer = (kiln__observer){.kinds = trace.kinds, .fn = trace.see, .user = trace.state};
    kiln__observer_add(&observer);
    if (!waits_for_exit)
        waits_for_exit = atexit(kiln__observe_environment_flush) == 0;
}

static void start_ranges(void)
{
    kiln__ready nvtx;

    if (!kiln__nvtx_create(&nvtx))
        return;
    ranges = (kiln__observer){.kinds = nvtx.kinds, .fn = nvtx.see};
    kiln__observer_add(&ranges);
}

void kiln__observe_environment(const kiln__log *log)
{
    const char *const path = kiln__env("KILN_TRACE");

    kiln__process_lock_take(&lock);
    if (!looked || owner != getpid()) {
        looked = true;
        owner = getpid();
        trace = (kiln__ready){.state = NULL};
        if (path != NULL)
            start_trace(path, log);
        if (kiln__env("NVTX_INJECTION64_PATH") != NULL)
            start_ranges();
    }
    kiln__process_lock_give(&lock);
}
