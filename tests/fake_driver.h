/*
 * fake_driver.h - what the parts of a driver that is none know of each other.
 *
 *     fake_cuda.c            contexts, streams, events, memory: always
 *     fake_kernels.c         modules that hold two kernels, "fill" and "fault",
 *     fake_cuda_module.c     and what modules of the user's ask of those; or
 *     emulator/kernels.c     modules made by the emulator's compiler, whose kernels run
 *
 * Every entry point begins with LOCKED() or ENTER(); what lies between is for one thread at a time.
 */
#ifndef KILN_TESTS_FAKE_DRIVER_H
#define KILN_TESTS_FAKE_DRIVER_H

#include "device/cuda/driver.h"
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

enum { FAKE_INVALID_VALUE = 1, FAKE_INVALID_CONTEXT = 201 };

extern fake_cuda fake_control;

/* Whether it is the address of a module's variable. */
bool fake_is_variable(kiln__cu_pointer address);

/* Called by cuInit: whoever has the kernels may change `fake_control`. */
void fake_start(void);

/* Hold the driver's lock until the end of the function. */
#define LOCKED() const bool locked __attribute__((cleanup(fake_unlock))) = fake_lock()
bool fake_lock(void);
void fake_unlock(const bool *held);

/* The same, and return what a call returns before it does anything: an injected failure, a missing
 * context, a fault. */
#define ENTER()                                                                                    \
    LOCKED();                                                                                      \
    do {                                                                                           \
        int result = fake_cuda_enter();                                                            \
        if (result != 0)                                                                           \
            return result;                                                                         \
    } while (0)
/* fake_kernels.c: of shared memory, what a launch may give a kernel now. */
int fake_dynamic_most(void);

/* Count a refused argument. */
int fake_invalid_value(void);

/* A kernel in a stream: called to run (a sticky result, 0 when all went well), to free what `user`
 * points to, or for both, in this order. */
enum { FAKE_RUN = 1, FAKE_FREE = 2 };
typedef int fake_kernel(void *user, int what);

/* An operation of a stream or a graph. */
typedef struct fake_op {
    struct fake_op *next;
    enum { OP_COPY, OP_SET, OP_KERNEL, OP_WAIT, OP_HOST, OP_GRAPH } kind;
    unsigned char *dst;
    const unsigned char *src;
    size_t bytes;
    int value;
    kiln__cu_stream other; /* OP_WAIT: for this stream to have run `position` operations */
    unsigned long position;
    void (*fn)(void *user); /* OP_HOST */
    fake_kernel *kernel;    /* OP_KERNEL */
    void *user;             /* OP_GRAPH: the graph */
} fake_op;

/* ---- fake_cuda_graph.c ---- */
const fake_op *fake_graph_first(const void *graph);
int fake_graph_append(kiln__cu_graph graph, fake_op what);
/* ---- what it needs of fake_cuda.c ---- */
void fake_catch_kernel(fake_op *where); /* takes what is launched next; NULL: no more */
void fake_run_all(void);
int fake_enqueue_graph(kiln__cu_stream stream, kiln__cu_graph graph);
int fake_enqueue_kernel(kiln__cu_stream stream, fake_kernel *kernel, void *user);

/* The block of memory that holds an address, the device's or page-locked. */
bool fake_memory_find(const void *address, const void **base_out, size_t *bytes_out);

/* What the driver exports, under names of C. */
#define KILN_CU(field, symbol, parameters) EXPORT int fake_##field parameters __asm__(symbol);
#define KILN_CU_SINCE(version, field, symbol, parameters) KILN_CU(field, symbol, parameters)
#include "device/cuda/driver.def"
#undef KILN_CU_SINCE
#undef KILN_CU

#endif
