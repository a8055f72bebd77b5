/*
 * fake_device.h - a device whose memory, streams and events the test rules over, for the tests of
 * the pool and of streams.
 *
 * Work on a fake stream is a counter: fake_use() adds some that touches a block, fake_finish()
 * completes it all. An event has passed once its stream has completed as much as there was when it
 * was recorded. Work of a stream that waits for an event comes after what the event stands for. The
 * device notices memory that is freed, or handed to a stream that does not wait, while work that touches
 * it is unfinished.
 */
#ifndef KILN_TESTS_FAKE_DEVICE_H
#define KILN_TESTS_FAKE_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/pool.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

enum { FAKE_STREAMS_MAX = 64 };

/* How far the work of each stream has come, by the numbers of streams. */
typedef struct fake_clock {
    unsigned at[FAKE_STREAMS_MAX];
} fake_clock;

typedef struct fake_stream {
    struct fake *owner;
    size_t number;
    unsigned enqueued, completed;
    bool destroyed;   /* the struct stays until the test ends: late uses are seen */
    fake_clock after; /* what comes before the work that is enqueued next */
    size_t waits;     /* stream_wait_event calls for other streams */
} fake_stream;

typedef struct fake_event {
    fake_stream *stream; /* NULL: never recorded */
    unsigned position;
    fake_clock after; /* what has passed when it has */
} fake_event;

/* Work number `position` of a stream touches these bytes. */
typedef struct fake_touch {
    fake_stream *stream;
    unsigned position;
    uintptr_t low, high;
} fake_touch;

/* Everything that a test sets or looks at. */
typedef struct fake {
    size_t capacity;   /* bytes raw_alloc has in all */
    size_t allocated;  /* bytes out now */
    bool address_only; /* hand out addresses with no memory behind them */
    uintptr_t next_address;
    kiln_status raw_status; /* what raw_alloc returns instead of success, unless KILN_OK */
    size_t raw_allocs, raw_frees;
    size_t unsafe_frees; /* raw_free of memory that unfinished work touches */
    size_t stream_waits; /* stream_synchronize calls that had something to wait for */
    size_t event_waits;  /* event_synchronize calls that had something to wait for */
    size_t late_uses;    /* calls on a destroyed stream */
    size_t events_alive;
    fake_stream *streams[FAKE_STREAMS_MAX];
    size_t stream_count;
    fake_touch *touches;
    size_t touch_count, touch_room;
    pthread_mutex_t lock;
} fake;

/* A device with a pool and its own stream. */
kiln__device *fake_open(fake *f, size_t capacity);
void fake_close(kiln__device *device);
fake *fake_of(const kiln__device *device);

/* Work on `stream` that touches `block` (NULL: no memory). */
void fake_use(kiln_stream *stream, const kiln__block *block);
/* Whether unfinished work of a stream other than the block's home touches the block. */
bool fake_is_in_use(const kiln__block *block);
void fake_finish(kiln_stream *stream);
/* Also for a stream whose handle is gone: `at` counts the streams made. */
void fake_finish_at(fake *f, size_t at);

/* ---- for tests: these fail the running test ---- */

kiln__block *must_alloc(kiln__device *device, size_t bytes, kiln_stream *stream);
kiln_stream *must_stream(kiln__device *device);
kiln_pool_stats stats_of(kiln__device *device);
/* Close a device and check that nothing of it is left and that it was used as it must be. */
void close_clean(kiln__device *device);

/* The next number of a sequence. */
uint64_t next_random(uint64_t *seed);

#endif
