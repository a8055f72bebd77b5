/*
 * observe.h - the one door of src/observe: observers that kiln brings along.
 *
 *     context -> [table, csv, trace, environment] -> sink.c (files)      device tells them
 *
 * Rule 1: everything but creating and destroying one happens while the observers are held
 *         (kiln__observers_hold()), so that none of them has a lock of its own.
 * Rule 2: an observer never fails the call that it is told of. What it could not note is reported by
 *         the next flush.
 *
 * Uses core and device.
 */
#ifndef KILN_OBSERVE_OBSERVE_H
#define KILN_OBSERVE_OBSERVE_H

#include "device/device.h"

/* An observer that is ready to be added. */
typedef struct kiln__ready {
    void *state;
    uint32_t kinds;
    kiln_observe_fn see;                                                 /* with `state` */
    kiln_status (*text)(const void *state, char **out, kiln_error *err); /* NULL: it has none */
    kiln_status (*flush)(void *state, kiln_error *err);                  /* NULL: nothing to do */
    void (*destroy)(void *state); /* after a flush; nobody sees it any more */
} kiln__ready;

kiln_status kiln__table_create(kiln_table_by by, kiln__ready *out, kiln_error *err);
kiln_status kiln__csv_create(const char *path, kiln__ready *out, kiln_error *err);
/* `fresh`: a file that is there is replaced; otherwise the events join those that it has. */
kiln_status kiln__trace_create(const char *path, bool fresh, kiln__ready *out, kiln_error *err);

/* Ranges for the tool that listens to NVTX. False in a build without NVTX's header. */
bool kiln__nvtx_create(kiln__ready *out);

/* What the environment asks for ($KILN_TRACE, a tool that listens to NVTX), once a process; and what
 * is known so far to its file. `log` hears of a file that cannot be written. */
void kiln__observe_environment(const kiln__log *log);
void kiln__observe_environment_flush(void);

#endif
