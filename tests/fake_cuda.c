/*
 * fake_cuda.c - a shared library with the name and the entry points of the CUDA driver, as far as
 * kiln uses it, but for modules and launches (fake_driver.h says where those are). Every entry
 * point holds one lock, so any threads may call; see fake_cuda.h.
 */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_driver.h"

enum {
    GPU_COUNT = 4,
    DEPTH = 16,
    FAULT = 700,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901
};

struct kiln__cu_context_st {
    int gpu;
    int retained;
    int fault; /* the sticky result, once a kernel has faulted */
};

typedef fake_op op;

struct kiln__cu_stream_st {
    kiln__cu_context context;
    op *first, **last;
    unsigned long queued, run; /* operations so far */
    kiln__cu_stream next;      /* of all streams */
    bool alive;
    kiln__cu_graph capture; /* where operations go instead, or NULL */
    bool spoiled;           /* that is refused */
};

/* Recorded: `stream` had been given `position` operations then. */
struct kiln__cu_event_st {
    kiln__cu_context context;
    kiln__cu_stream stream; /* NULL: never recorded */
    unsigned long position;
    bool timing;
    kiln__cu_event next; /* of all events */
};

typedef struct memory {
    struct memory *next;
    unsigned char *base;
    size_t bytes;
    bool host;
    int ordinal; /* of the device that it is of */
} memory;

fake_cuda fake_control = {.version = 13000,
                          .gpu_count = GPU_COUNT,
                          .memory_bytes = (size_t)256 << 20,
                          .fail_after = -1,
                          .multiprocessors = 132,
                          .capability = 90, .shared_most = 232448,
                          .max_threads = 1024,
                          .blocks_per_unit = 2};

static bool has_ended; /* at exit */
static struct kiln__cu_context_st contexts[GPU_COUNT];
static struct kiln__cu_stream_st default_streams[GPU_COUNT];
static kiln__cu_stream streams;
static kiln__cu_event events;
static memory *memories;
static _Thread_local kiln__cu_context stack[DEPTH];
static _Thread_local int depth;

fake_cuda *fake_cuda_control(void)
{
    return &fake_control;
}

/* ---- the state of things ---- */

static kiln__cu_context current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

/* What a call returns before it does anything: an injected failure, a missing context, a fault. */
int fake_cuda_enter(void)
{
    fake_control.calls++;
    if (fake_control.fail_after >= 0 && fake_control.fail_after-- == 0)
        return fake_control.fail_result;
    if (current() == NULL || current()->retained == 0)
        return FAKE_INVALID_CONTEXT;
    return current()->fault;
}

static kiln__cu_stream resolve(kiln__cu_stream stream)
{
    if ((uintptr_t)stream > 2) /* 1 and 2 are the driver's words for the default streams */
        return stream;
    kiln__cu_stream plain = &default_streams[current()->gpu];
    if (plain->last == NULL) {
        *plain = (struct kiln__cu_stream_st){.context = current(), .alive = true};
        plain->last = &plain->first;
        plain->next = streams;
        streams = plain;
    }
    return plain;
}

static void run_until(kiln__cu_stream stream, unsigned long position);

/* `last`: nobody runs the operation once more. */
static void run_op(kiln__cu_context context, const op *o, bool last)
{
    if (o->kind == OP_KERNEL) {
        const int fault =
            o->kernel(o->user, (context->fault == 0 ? FAKE_RUN : 0) | (last ? FAKE_FREE : 0));
        if (context->fault == 0)
            context->fault = fault;
        return;
    }
    if (context->fault != 0)
        return;
    switch (o->kind) {
    case OP_COPY:
        memmove(o->dst, o->src, o->bytes);
        break;
    case OP_SET:
        memset(o->dst, o->value, o->bytes);
        break;
    case OP_WAIT:
        run_until(o->other, o->position);
        break;
    case OP_HOST:
        o->fn(o->user);
        break;
    case OP_KERNEL:
        break;
    case OP_GRAPH:
        for (const op *step = fake_graph_first(o->user); step != NULL; step = step->next)
            run_op(context, step, false);
        break;
    }
}

static void run_until(kiln__cu_stream stream, unsigned long position)
{
    while (stream->run < position) {
        op *o = stream->first;

        stream->first = o->next;
        if (stream->first == NULL)
            stream->last = &stream->first;
        stream->run++;
        run_op(stream->context, o, true);
        free(o);
    }
}

static void run_context(kiln__cu_context context)
{
    for (kiln__cu_stream s = streams; s != NULL; s = s->next)
        if (s->context == context)
            run_until(s, s->queued);
}

static int enqueue(kiln__cu_stream stream, op what)
{
    op *o = malloc(sizeof *o);

    stream = resolve(stream);
    if (o == NULL || !stream->alive || stream->context != current()) {
        free(o);
        return FAKE_INVALID_CONTEXT;
    }
    if (stream->capture != NULL) {
        free(o);
        return stream->spoiled ? CAPTURE_INVALIDATED : fake_graph_append(stream->capture, what);
    }
    *o = what;
    o->next = NULL;
    *stream->last = o;
    stream->last = &o->next;
    stream->queued++;
    if (fake_control.eager)
        run_until(stream, stream->queued);
    return stream->context->fault;
}

static op *instead; /* of a stream: where the next kernel goes */

void fake_catch_kernel(op *where)
{
    instead = where;
}

void fake_run_all(void)
{
    run_context(current());
}

int fake_enqueue_graph(kiln__cu_stream stream, kiln__cu_graph graph)
{
    return enqueue(stream, (op){.kind = OP_GRAPH, .user = graph});
}

int fake_enqueue_kernel(kiln__cu_stream stream, fake_kernel *kernel, void *user)
{
    if (instead != NULL) {
        instead->kernel = kernel;
        instead->user = user;
        return 0;
    }
    return enqueue(stream, (op){.kind = OP_KERNEL, .kernel = kernel, .user = user});
}

static memory *memory_at(const void *address)
{
    for (memory *m = memories; m != NULL; m = m->next)
        if ((uintptr_t)address >= (uintptr_t)m->base &&
            (uintptr_t)address < (uintptr_t)m->base + m->bytes)
            return m;
    return NULL;
}

bool fake_memory_find(const void *address, const void **base_out, size_t *bytes_out)
{
    const memory *m = memory_at(address);

    if (m == NULL)
        return false;
    *base_out = m->base;
    *bytes_out = m->bytes;
    return true;
}

static bool on_device(kiln__cu_pointer address, size_t bytes)
{
    memory *m = memory_at((void *)(uintptr_t)address);
    return m != NULL && !m->host && (uintptr_t)address + bytes <= (uintptr_t)m->base + m->bytes;
}

static unsigned char *memory_new(size_t bytes, bool host)
{
    memory *m = calloc(1, sizeof *m);

    m->base = aligned_alloc(512, (bytes + 511) & ~(size_t)511);
    m->bytes = bytes;
    m->host = host;
    m->next = memories;
    memories = m;
    return m->base;
}

static bool memory_drop(const void *base, bool host)
{
    for (memory **at = &memories; *at != NULL; at = &(*at)->next) {
        memory *m = *at;
        if (m->base != base || m->host != host)
            continue;
        *at = m->next;
        fake_control.allocated_bytes -= host ? 0 : m->bytes;
        free(m->base);
        free(m);
        return true;
    }
    return false;
}

/* ---- CUDA's functions, with the parameters of driver.def ---- */

static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;

/* Recursive: a host function that a stream runs may look at its event. */
static void lock_make(void)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

bool fake_lock(void)
{
    pthread_once(&lock_once, lock_make);
    pthread_mutex_lock(&lock);
    fake_control.late_calls += has_ended;
    return true;
}

void fake_unlock(const bool *held)
{
    if (*held)
        pthread_mutex_unlock(&lock);
}

static void driver_end(void)
{
    has_ended = true;
}

int fake_invalid_value(void)
{
    fake_control.refused++;
    return FAKE_INVALID_VALUE;
}

int fake_init(unsigned flags)
{
    LOCKED();
    fake_start();
    fake_control.calls++;
    if (fake_control.calls == 1)
        (void)atexit(driver_end);
    return flags == 0 ? fake_control.init_result : fake_invalid_value();
}

int fake_driver_get_version(int *version)
{
    LOCKED();
    *version = fake_control.version;
    return 0;
}

int fake_get_error_name(int result, const char **text)
{
    *text = result == FAULT ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_FAKE";
    return 0;
}

int fake_get_error_string(int result, const char **text)
{
    *text = result == FAULT ? "an illegal memory access was encountered" : "a fake error";
    return 0;
}

int fake_device_get_count(int *count)
{
    LOCKED();
    *count = fake_control.gpu_count;
    return 0;
}

int fake_device_get(int *device, int ordinal)
{
    LOCKED();
    *device = 100 + ordinal; /* a handle, and no ordinal */
    return ordinal < fake_control.gpu_count ? 0 : 101;
}

int fake_device_get_name(char *name, int bytes, int device)
{
    LOCKED();
    (void)device;
    strncpy(name, "Fake GPU", (size_t)bytes);
    return 0;
}

int fake_device_total_mem(size_t *bytes, int device)
{
    LOCKED();
    (void)device;
    *bytes = fake_control.memory_bytes;
    return 0;
}

int fake_device_get_attribute(int *value, int attribute, int device)
{
    const struct {
        int attribute, value;
    } told[] = {{1, 1024},
                {2, 1024},
                {3, 1024}, /* threads of a block, along each axis, */
                {4, 64},
                {5, 2147483647},
                {6, 65535}, /* and blocks along each axis */
                {7, 65535},
                {97, fake_control.shared_most},
                {95, 1},
                {120, 1},
                {134, 0}, /* the NUMA node of the host that is nearest */
                {16, fake_control.multiprocessors},
                {20, device == 102 ? 2 : 0},
                {75, device == 101 ? 6 : fake_control.capability / 10},
                {76, device == 101 ? 1 : fake_control.capability % 10}};
    LOCKED();

    for (size_t k = 0; k < sizeof told / sizeof *told; k++) {
        if (told[k].attribute == attribute) {
            *value = told[k].value;
            return 0;
        }
    }
    return fake_invalid_value();
}

int fake_primary_retain(kiln__cu_context *context, int device)
{
    LOCKED();
    fake_control.calls++;
    if (fake_control.fail_after >= 0 && fake_control.fail_after-- == 0)
        return fake_control.fail_result;
    *context = &contexts[device - 100];
    (*context)->gpu = device - 100;
    fake_control.contexts += (*context)->retained++ == 0;
    return 0;
}

int fake_primary_release(int device)
{
    LOCKED();
    fake_control.contexts -= --contexts[device - 100].retained == 0;
    return 0;
}

int fake_ctx_get_current(kiln__cu_context *context)
{
    LOCKED();
    *context = current();
    return 0;
}

int fake_ctx_push(kiln__cu_context context)
{
    LOCKED();
    fake_control.calls++;
    if (fake_control.fail_after >= 0 && fake_control.fail_after-- == 0)
        return fake_control.fail_result;
    stack[depth++] = context;
    return depth < DEPTH ? 0 : FAKE_INVALID_CONTEXT;
}

int fake_ctx_pop(kiln__cu_context *context)
{
    LOCKED();
    if (depth == 0)
        return FAKE_INVALID_CONTEXT;
    *context = stack[--depth];
    return 0;
}

/* What is captured may not be waited for, and is spoiled by who tries. */
static bool spoil_captures(kiln__cu_context context)
{
    bool any = false;

    for (kiln__cu_stream s = streams; s != NULL; s = s->next)
        if (s->context == context && s->capture != NULL)
            any = s->spoiled = true;
    return any;
}

int fake_stream_begin_capture(kiln__cu_stream stream, int mode)
{
    ENTER();
    if (!stream->alive || stream->context != current() || stream->capture != NULL || mode != 2)
        return fake_invalid_value();
    stream->spoiled = fake_control.spoiled_captures > 0;
    fake_control.spoiled_captures -= stream->spoiled;
    fake_control.captures++;
    return fake_graph_create(&stream->capture, 0);
}

int fake_stream_end_capture(kiln__cu_stream stream, kiln__cu_graph *graph)
{
    ENTER();
    *graph = stream->spoiled ? NULL : stream->capture;
    if (stream->spoiled)
        (void)fake_graph_destroy(stream->capture);
    stream->capture = NULL;
    return stream->spoiled ? CAPTURE_INVALIDATED : 0;
}

int fake_ctx_synchronize(void)
{
    ENTER();
    if (spoil_captures(current()))
        return CAPTURE_UNSUPPORTED;
    run_context(current());
    return current()->fault;
}

int fake_ctx_get_priority_range(int *least, int *greatest)
{
    ENTER();
    *least = 0;
    *greatest = -5;
    return 0;
}

int fake_stream_create(kiln__cu_stream *stream, unsigned flags, int priority)
{
    ENTER();
    fake_control.stream_flags = flags;
    fake_control.stream_priority = priority;
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = current();
    (*stream)->last = &(*stream)->first;
    (*stream)->alive = true;
    (*stream)->next = streams;
    streams = *stream;
    fake_control.streams++;
    return 0;
}

/* The struct stays (its work goes on), so that a later use is an error and no crash. */
int fake_stream_destroy(kiln__cu_stream stream)
{
    LOCKED();
    if (!stream->alive || stream->context != current())
        return FAKE_INVALID_CONTEXT;
    stream->alive = false;
    fake_control.streams--;
    return 0;
}

int fake_stream_synchronize(kiln__cu_stream stream)
{
    ENTER();
    stream = resolve(stream);
    if (!stream->alive || stream->context != current())
        return FAKE_INVALID_CONTEXT;
    run_until(stream, stream->queued);
    return stream->context->fault;
}

int fake_stream_query(kiln__cu_stream stream)
{
    ENTER();
    stream = resolve(stream);
    if (!stream->alive || stream->context != current())
        return FAKE_INVALID_CONTEXT;
    return stream->run == stream->queued ? 0 : 600;
}

int fake_stream_is_capturing(kiln__cu_stream stream, int *status)
{
    ENTER();
    if (!resolve(stream)->alive)
        return FAKE_INVALID_CONTEXT;
    *status = fake_control.capturing ? 1 : 0;
    return 0;
}

int fake_launch_host_func(kiln__cu_stream stream, void (*fn)(void *user), void *user)
{
    ENTER();
    return enqueue(stream, (op){.kind = OP_HOST, .fn = fn, .user = user});
}

int fake_stream_wait_event(kiln__cu_stream stream, kiln__cu_event event, unsigned flags)
{
    (void)flags;
    ENTER();
    if (event->stream == NULL)
        return 0;
    return enqueue(stream,
                   (op){.kind = OP_WAIT, .other = event->stream, .position = event->position});
}

int fake_stream_get_ctx(kiln__cu_stream stream, kiln__cu_context *context)
{
    ENTER();
    *context = resolve(stream)->context;
    return 0;
}

int fake_event_create(kiln__cu_event *event, unsigned flags)
{
    ENTER();
    *event = calloc(1, sizeof **event);
    (*event)->context = current();
    (*event)->timing = (flags & 2) == 0;
    fake_control.event_flags = flags;
    (*event)->next = events;
    events = *event;
    fake_control.events++;
    return 0;
}

/* The struct stays: queued work may point at it. */
int fake_event_destroy(kiln__cu_event event)
{
    LOCKED();
    if (event->context != current())
        return FAKE_INVALID_CONTEXT;
    event->context = NULL;
    fake_control.events--;
    return 0;
}

int fake_event_record(kiln__cu_event event, kiln__cu_stream stream)
{
    ENTER();
    if (event->context != current())
        return FAKE_INVALID_CONTEXT;
    stream = resolve(stream);
    if (!stream->alive || stream->context != current())
        return FAKE_INVALID_CONTEXT;
    event->stream = stream;
    event->position = stream->queued;
    return 0;
}

/* A thread that polls asks as often as time allows: "not ready" is no call that a test lets fail. */
int fake_event_query(kiln__cu_event event)
{
    LOCKED();
    const bool ready = event->stream == NULL || event->stream->run >= event->position;
    if (!ready && fake_control.fail_after >= 0)
        fake_control.fail_after++; /* fake_cuda_enter() takes it back */
    const int fault = fake_cuda_enter();
    return fault != 0 ? fault : ready ? 0 : 600;
}

int fake_event_synchronize(kiln__cu_event event)
{
    ENTER();
    if (event->stream != NULL)
        run_until(event->stream, event->position);
    return current()->fault;
}

int fake_event_elapsed_time(float *ms, kiln__cu_event start, kiln__cu_event end)
{
    ENTER();
    *ms = 2.5f;
    return start->timing && end->timing ? 0 : fake_invalid_value();
}

/* A handle of the fake is the event's address. */
int fake_ipc_get_event_handle(kiln_event_handle *handle, kiln__cu_event event)
{
    ENTER();
    memcpy(handle->bytes, &event, sizeof event);
    return 0;
}

int fake_ipc_open_event_handle(kiln__cu_event *event, kiln_event_handle handle)
{
    kiln__cu_event shared = NULL;

    ENTER();
    memcpy(&shared, handle.bytes, sizeof shared);
    if (shared == NULL)
        return fake_invalid_value();
    const int result = fake_event_create(event, 6);
    if (result != 0)
        return result;
    (*event)->stream = shared->stream;
    (*event)->position = shared->position;
    return 0;
}

int fake_mem_alloc(kiln__cu_pointer *address, size_t bytes)
{
    ENTER();
    if (bytes > fake_control.memory_bytes - fake_control.allocated_bytes)
        return 2;
    *address = (kiln__cu_pointer)(uintptr_t)memory_new(bytes, false);
    memories->ordinal = (int)(current() - contexts);
    fake_control.allocated_bytes += bytes;
    fake_control.blocks++;
    return 0;
}

int fake_mem_free(kiln__cu_pointer address)
{
    LOCKED();
    if (current() == NULL)
        return FAKE_INVALID_CONTEXT;
    run_context(current());
    if (!memory_drop((void *)(uintptr_t)address, false))
        return fake_invalid_value();
    fake_control.blocks--;
    return 0;
}

/* Memory of the driver's own pool: as strict as cuMemFree, so that its users must order themselves. */
int fake_mem_alloc_async(kiln__cu_pointer *address, size_t bytes, kiln__cu_stream stream)
{
    const int result = fake_mem_alloc(address, bytes);

    (void)stream;
    fake_control.async_blocks += result == 0;
    return result;
}

int fake_mem_free_async(kiln__cu_pointer address, kiln__cu_stream stream)
{
    const int result = fake_mem_free(address);

    (void)stream;
    fake_control.async_blocks -= result == 0;
    return result;
}

int fake_mem_get_info(size_t *free_bytes, size_t *total_bytes)
{
    ENTER();
    *free_bytes = fake_control.memory_bytes - fake_control.allocated_bytes;
    *total_bytes = fake_control.memory_bytes;
    return 0;
}

int fake_mem_host_alloc(void **address, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER();
    (void)syscall(SYS_get_mempolicy, &fake_control.memory_policy, NULL, 0UL, NULL, 0UL);
    *address = memory_new(bytes, true);
    fake_control.host_blocks++;
    return 0;
}

int fake_mem_free_host(void *address)
{
    LOCKED();
    if (current() == NULL || !memory_drop(address, true))
        return fake_invalid_value();
    fake_control.host_blocks--;
    return 0;
}

/* Like the driver, it answers for memory that it does not know: with zeros. */
int fake_pointer_get_attributes(unsigned count, int *attributes, void **values,
                                kiln__cu_pointer address)
{
    LOCKED();
    const memory *m = memory_at((void *)(uintptr_t)address);

    for (unsigned k = 0; k < count; k++) {
        int *const value = values[k];
        if (attributes[k] == 2) /* the type: unknown, host, device */
            *value = m != NULL ? (m->host ? 1 : 2) : fake_is_variable(address) ? 2 : 0;
        else if (attributes[k] == 8) /* managed */
            *value = 0;
        else if (attributes[k] == 9) /* of which device */
            *value = m != NULL ? m->ordinal : 0;
        else
            return fake_invalid_value();
    }
    return 0;
}

int fake_memcpy_htod_async(kiln__cu_pointer dst, const void *src, size_t bytes,
                           kiln__cu_stream stream)
{
    ENTER();
    if (!on_device(dst, bytes))
        return fake_invalid_value();
    return enqueue(
        stream,
        (op){.kind = OP_COPY, .dst = (unsigned char *)(uintptr_t)dst, .src = src, .bytes = bytes});
}

int fake_memcpy_dtoh_async(void *dst, kiln__cu_pointer src, size_t bytes, kiln__cu_stream stream)
{
    ENTER();
    if (!on_device(src, bytes))
        return fake_invalid_value();
    return enqueue(stream, (op){.kind = OP_COPY,
                                .dst = dst,
                                .src = (const unsigned char *)(uintptr_t)src,
                                .bytes = bytes});
}

int fake_memcpy_dtod_async(kiln__cu_pointer dst, kiln__cu_pointer src, size_t bytes,
                           kiln__cu_stream stream)
{
    ENTER();
    if (!on_device(dst, bytes) || !on_device(src, bytes))
        return fake_invalid_value();
    return enqueue(stream, (op){.kind = OP_COPY,
                                .dst = (unsigned char *)(uintptr_t)dst,
                                .src = (const unsigned char *)(uintptr_t)src,
                                .bytes = bytes});
}

int fake_memset_d8_async(kiln__cu_pointer dst, unsigned char value, size_t bytes,
                         kiln__cu_stream stream)
{
    ENTER();
    if (!on_device(dst, bytes))
        return fake_invalid_value();
    return enqueue(stream, (op){.kind = OP_SET,
                                .dst = (unsigned char *)(uintptr_t)dst,
                                .value = value,
                                .bytes = bytes});
}
