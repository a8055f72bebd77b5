/* worker.h - the processes that run cases; see worker.c. */
#ifndef KILN_DIFFTEST_WORKER_H
#define KILN_DIFFTEST_WORKER_H

#include "difftest.h"

enum { DT_GROUP = 20 }; /* neighbours that are of one kind, and share a definition or a few */

typedef struct dt_options {
    uint64_t seed;
    uint64_t first, count; /* case numbers; count 0: until time is up */
    double seconds;        /* 0: no limit */
    unsigned kinds;        /* a set */
    const char *devices[2];
    int device_count;
    int jobs;
    int failures_shown;
    bool shrink;
    bool verbose;
} dt_options;

/* The kind of the cases of a group, whatever the options are. */
dt_kind dt_kind_of(uint64_t seed, uint64_t group);
/* Draw the case of a number; false when there is none. */
bool dt_draw_number(dt_case *c, uint64_t seed, uint64_t number);

/* Ask in a process of its own: one that has opened a driver must not fork. */
bool dt_in_child(bool (*ask)(void));

/* Run random cases; returns how many failed. */
int dt_run_random(const dt_options *o);
/* Whether changed memory would be noticed; returns how much was not. */
int dt_self_test(const dt_options *o);
/* Run the cases of a file; returns how many failed, -1 when it cannot be read. */
int dt_run_file(const dt_options *o, const char *path);

#endif
