/*
 * emulator.h - what the parts of the emulated GPU know of each other.
 *
 *     kernels.c   cuModule..., cuLaunchKernel: modules are shared objects made by nvrtc.c
 *     grid.c      blocks, warps, barriers, clusters: which thread runs when
 *     divide.c    division by zero
 *     memory.c    every access of a kernel: is it allowed, and does another thread get in its way
 *
 * Threads: all of it runs under the driver's lock. A thread of the GPU is a fiber with a stack of
 * its own; one runs at a time.
 */
#ifndef KILN_TESTS_EMULATOR_H
#define KILN_TESTS_EMULATOR_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_EXPORT __attribute__((visibility("default")))

enum {
    EMU_WARP = 32,
    EMU_WARPS = 32, /* of a block, at most */
    EMU_THREADS = EMU_WARP * EMU_WARPS,
    EMU_STACK_BYTES = 256 << 10,
    EMU_ARGUMENTS = 64, /* of a kernel, at most */
    EMU_POISON = 0xAB,
    /* Sticky results of the driver. */
    EMU_ILLEGAL_ADDRESS = 700,
    EMU_TIMEOUT = 702,
    EMU_ASSERT = 710,
    EMU_MISALIGNED = 716,
    EMU_FAILED = 719
};

typedef struct emu_dim3 {
    unsigned x, y, z;
} emu_dim3;

/* As device.h has them. */
typedef struct emu_entry {
    const char *name;
    void (*run)(void *const *arguments);
    const unsigned *argument_bytes;
    unsigned threads_max, cluster;
} emu_entry;

typedef struct emu_module {
    const emu_entry *entries;
    char *low, *high;               /* the shared object in memory */
    char *shared_low, *shared_high; /* where the shared memory of the running block lies */
    const char *dynamic_low, *dynamic_high; /* ints: how much of it launches give, of each kernel */
} emu_module;

/* One launch. */
typedef struct emu_launch {
    const emu_module *module;
    const emu_entry *entry;
    emu_dim3 grid, block;
    char *arguments; /* all of them, one behind the other */
    size_t argument_bytes;
    void **argument; /* where each begins */
} emu_launch;

/* Who wrote and read a byte last, of one block: numbers from 1 on, 0: nobody. */
typedef struct emu_cell {
    uint32_t block; /* of another block: nothing is known */
    uint16_t writer, reader;
    uint32_t write_tick, read_tick;
} emu_cell;

typedef struct emu_thread emu_thread;
typedef struct emu_block emu_block;

/* A copy to shared memory that a thread has begun and not waited for. */
typedef struct emu_copy {
    unsigned at, bytes, group;
    unsigned char data[16];
} emu_copy;

struct emu_thread {
    jmp_buf at; /* where it goes on */
    char *stack;
    emu_block *home;
    unsigned number; /* in the block */
    enum { EMU_READY, EMU_AT_BARRIER, EMU_AT_WARP, EMU_AT_CLUSTER, EMU_ENDED } state;
    bool made; /* its fiber waits at `at` */
    unsigned ready_place;
    /* EMU_AT_WARP: what it came for. */
    int vote, lane;
    unsigned mask;
    unsigned long long value;
    unsigned long phase; /* of the cluster's barrier, when it arrived */
    emu_copy *copies;    /* in the order in which they were begun */
    unsigned copy_count, copy_room, copy_group;
    /* What every warp had done at this tick is behind this thread (memory.c). */
    uint32_t known[EMU_WARPS];
    uint32_t heard[EMU_WARPS]; /* by shuffles and votes: known behind the next fence */
};

struct emu_block {
    emu_thread threads[EMU_THREADS];
    emu_thread *ready[EMU_THREADS];
    unsigned ready_count, count, alive, waiting, started, turn;
    emu_dim3 index;
    uint32_t id; /* no other block of any launch has it */
    uint32_t tick[EMU_WARPS];
    uint32_t lanes_alive[EMU_WARPS], lanes_waiting[EMU_WARPS]; /* the latter: EMU_AT_WARP */
    char *stacks, *image; /* image: its shared memory while another block runs */
    emu_cell *shadow;     /* of its shared memory */
    size_t shared_room;
    unsigned rank;    /* in its cluster */
    emu_block *first; /* of the cluster: that one has the barrier */
    unsigned arrived;
    unsigned long phase;
    bool used;
};

/* ---- grid.c ---- */

extern emu_thread *emu_now; /* NULL between kernels */
extern const emu_launch *emu_running;

/* Settings, read when the driver starts. */
extern uint64_t emu_seed;     /* 0: threads run in order */
extern unsigned emu_resident; /* blocks at once */

/* Run a launch to its end. 0, or the sticky result of a fault, which is told on stderr. */
int emu_run(const emu_launch *launch);

/* End the launch with this result. Called by a running thread. */
_Noreturn void emu_fault(int result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Maybe let another thread run. */
void emu_pause(void);
/* Something was written that another thread may wait for. */
void emu_progress(void);
uint64_t emu_random(uint64_t bound);

/* ---- divide.c ---- */

void emu_divide_begin(void); /* when the driver starts */

/* ---- memory.c ---- */

void emu_memory_begin(void); /* before a launch */
/* All of the block's threads have come to a barrier; the lanes of a warp have. */
void emu_memory_barrier(emu_block *block);
void emu_memory_warp(emu_block *block, unsigned warp, unsigned lanes);
void emu_memory_shuffle(emu_block *block, unsigned warp, unsigned lanes);

#endif
