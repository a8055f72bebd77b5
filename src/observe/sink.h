/*
 * sink.h - text that becomes a file bit by bit. Private to src/observe.
 */
#ifndef KILN_OBSERVE_SINK_H
#define KILN_OBSERVE_SINK_H

#include "core/core.h"

typedef struct kiln__sink {
    int fd;
    int error; /* errno of the first write that failed; 0: none */
    bool json; /* the file is a JSON array, of which `text` holds elements, and is whole after each
                   write, so that a program that is killed leaves a file that can be read */
    char *path;
    kiln__buf text; /* not written yet */
} kiln__sink;

/* ERR_IO. */
kiln_status kiln__sink_open(kiln__sink *sink, const char *path, bool json, bool fresh,
                            kiln_error *err);
/* To be called after each piece of text: writes when there is much of it. */
void kiln__sink_added(kiln__sink *sink);
/* ERR_IO for the first failure since the last flush. */
kiln_status kiln__sink_flush(kiln__sink *sink, kiln_error *err);
void kiln__sink_close(kiln__sink *sink);

#endif
