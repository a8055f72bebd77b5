/*
 * recording.h - what a recording holds. Private to src/device.
 *
 *     calls.c stream.c .. -> record.c (notes steps)          recording.c (begins, runs, changes, ends)
 */
#ifndef KILN_DEVICE_RECORDING_H
#define KILN_DEVICE_RECORDING_H

#include "device/pool.h"

typedef enum kiln__step_kind {
    KILN__STEP_LAUNCH,
    KILN__STEP_RAW,
    KILN__STEP_COPY,
    KILN__STEP_TRANSFER,
    KILN__STEP_MEMSET,
    KILN__STEP_LIBRARY,
    KILN__STEP_HOST_CALL
} kiln__step_kind;

struct kiln__step {
    kiln__step_kind kind;
    void *entry;
    union {
        kiln__launch_config launch;
        struct {
            kiln__raw_launch config;
            kiln__raw_param *params; /* heap */
            size_t count;
        } raw;
        kiln__library_fn library;
        bool to_device;
        int byte;
        struct {
            kiln_host_fn fn;
            void *user;
        } host;
    } as;
    unsigned char *args; /* heap: argument block, or the two addresses of a copy */
    size_t args_bytes;
    size_t bytes; /* copied or set */
    kiln__step_note *note; /* heap; NULL: its arguments are not known */
    void *node; /* of the driver's program */
};

typedef struct kiln__keep {
    void *object;
    void (*release)(void *object);
} kiln__keep;

struct kiln__recording {
    kiln__device *device;
    kiln_stream *base;     /* what is stood in for; retained */
    kiln_stream *stream;   /* the stand-in */
    pthread_mutex_t lock;  /* steps, keeps and failure while recording; runs and changes afterwards */
    kiln__step *steps;
    size_t count, capacity;
    kiln__keep *keeps;
    size_t keep_count, keep_capacity;
    kiln_error failure; /* of the first step that failed */
    void *program;      /* the driver's; NULL: step by step */
    bool stale;         /* a step was changed that the program cannot be told of */
};

/* ---- record.c ---- */
void kiln__step_clear(kiln__step *s);
/* The address that a copy (0: to, 1: from) or a memset (0) has. */
void *kiln__step_address(const kiln__step *s, size_t at);
/* What calls say after the first failure. The lock is held. */
kiln_status kiln__recording_failed(const kiln__recording *r, kiln_error *err);

#endif
