/*
 * memory.c - every access of a kernel: may it be, and is it ordered with those of other threads?
 *
 *     kernel, compiled with -fsanitize=thread -> __tsan_read4 ... -> [check] -> emu_fault
 *
 * The compiler calls a function named by ThreadSanitizer's interface before each access to memory
 * that other code could see; here those functions are the emulator's own.
 *
 * Allowed are the thread's own stack, the block's shared memory, arguments, the module, and blocks
 * of device memory. Two accesses to one byte by two threads of a block, of which one writes, must
 * have between them what orders them. Every warp has a clock, `tick`, and every thread knows up to
 * which tick of each warp all that the warp did is behind this thread. A barrier tells all threads
 * all ticks, a __syncwarp tells the lanes of one warp each other's, and a thread that reads an
 * atomic or volatile variable learns what its writers knew, as do lanes that exchange values with
 * it and then pass a fence. Other fences are not asked for, nor are accesses of different blocks
 * compared. Of device memory only writes are compared with writes: threads without a row of their
 * own read another's, which may be written meanwhile, and drop what comes of it.
 */
#define _GNU_SOURCE
#include "emulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_driver.h"

enum { AREAS = 256, SYNCS = 1 << 13, PROBES = 16 };

/* What is kept of a block of device memory. */
typedef struct area {
    const char *base;
    size_t bytes;
    emu_cell *cells;
    size_t room;
} area;

static area areas[AREAS];
static area *last_area;

/* What the writers of an atomic or volatile variable knew. */
typedef struct sync_word {
    uintptr_t at;
    uint32_t block;
    uint32_t known[EMU_WARPS];
} sync_word;

static sync_word syncs[2][SYNCS]; /* of device memory, of shared memory */

void emu_memory_begin(void)
{
    last_area = NULL;
}

/* ---- what is behind whom ---- */

void emu_memory_barrier(emu_block *block)
{
    for (unsigned w = 0; w < EMU_WARPS; w++)
        block->tick[w]++;
    for (unsigned k = 0; k < block->count; k++)
        memcpy(block->threads[k].known, block->tick, sizeof block->tick);
}

static void learn(uint32_t *known, const uint32_t *from)
{
    for (unsigned w = 0; w < EMU_WARPS; w++)
        known[w] = known[w] > from[w] ? known[w] : from[w];
}

void emu_memory_warp(emu_block *block, unsigned warp, unsigned lanes)
{
    emu_thread *threads = block->threads + warp * EMU_WARP;
    uint32_t all[EMU_WARPS] = {0};

    block->tick[warp]++;
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0)
            learn(all, threads[k].known);
    all[warp] = block->tick[warp];
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0)
            memcpy(threads[k].known, all, sizeof all);
}

void emu_memory_shuffle(emu_block *block, unsigned warp, unsigned lanes)
{
    emu_thread *threads = block->threads + warp * EMU_WARP;
    uint32_t all[EMU_WARPS] = {0};

    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0)
            learn(all, threads[k].known);
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0)
            learn(threads[k].heard, all);
}

/* Shared memory of all blocks has the same addresses, so the block is part of the key. Words of shared
 * memory have a table of their own, in which those of a block that runs are not forgotten: the words of
 * device memory that blocks look at are any number. */
static sync_word *sync_of(uintptr_t at)
{
    const emu_module *m = emu_running->module;
    const uint32_t id = emu_now->home->id;
    const bool shared = at >= (uintptr_t)m->shared_low && at < (uintptr_t)m->shared_high;
    const size_t first = (at / 4 + (size_t)id * 40503u) * 2654435761u >> 7;
    sync_word *oldest = NULL;

    for (size_t k = 0; k < PROBES; k++) {
        sync_word *s = &syncs[shared][(first + k) % SYNCS];
        if (s->at == at && s->block == id)
            return s;
        if (oldest == NULL || s->block < oldest->block)
            oldest = s;
    }
    memset(oldest, 0, sizeof *oldest);
    oldest->at = at;
    oldest->block = id;
    return oldest;
}

static void acquire(const void *at)
{
    learn(emu_now->known, sync_of((uintptr_t)at)->known);
}

static void release(const void *at)
{
    emu_block *b = emu_now->home;
    const unsigned warp = emu_now->number / EMU_WARP;
    sync_word *s = sync_of((uintptr_t)at);

    learn(s->known, emu_now->known);
    s->known[warp] = ++b->tick[warp];
}

static bool unordered(unsigned other, uint32_t tick)
{
    return other != 0 && other != emu_now->number + 1 &&
           emu_now->known[(other - 1) / EMU_WARP] <= tick;
}

static void compare(emu_cell *cells, size_t bytes, bool write, const char *where, size_t offset)
{
    const emu_block *b = emu_now->home;
    const uint32_t tick = b->tick[emu_now->number / EMU_WARP];

    for (size_t k = 0; k < bytes; k++) {
        emu_cell *c = &cells[k];
        if (c->block != b->id)
            *c = (emu_cell){.block = b->id};
        if (unordered(c->writer, c->write_tick))
            emu_fault(EMU_FAILED,
                      "%s %zu bytes of %s memory at offset %zu, of which thread %u wrote byte %zu "
                      "with no barrier between",
                      write ? "writes" : "reads", bytes, where, offset, c->writer - 1u, k);
        if (write && unordered(c->reader, c->read_tick))
            emu_fault(EMU_FAILED,
                      "writes %zu bytes of %s memory at offset %zu, of which thread %u read byte "
                      "%zu with no barrier between",
                      bytes, where, offset, c->reader - 1u, k);
        if (write) {
            c->writer = (uint16_t)(emu_now->number + 1);
            c->write_tick = tick;
        } else {
            c->reader = (uint16_t)(emu_now->number + 1);
            c->read_tick = tick;
        }
    }
}

/* ---- which memory it is ---- */

static area *area_at(uintptr_t at)
{
    const void *base = NULL;
    size_t bytes = 0;
    area *a = NULL;

    if (last_area != NULL && at - (uintptr_t)last_area->base < last_area->bytes)
        return last_area;
    if (!fake_memory_find((const void *)at, &base, &bytes))
        return NULL;
    for (size_t k = 0; k < AREAS && a == NULL; k++)
        if (areas[k].base == base || areas[k].base == NULL)
            a = &areas[k];
    if (a == NULL) { /* forget one */
        a = &areas[emu_random(AREAS)];
        munmap(a->cells, a->room * sizeof *a->cells);
        *a = (area){0};
    }
    if (a->room < bytes) {
        if (a->cells != NULL)
            munmap(a->cells, a->room * sizeof *a->cells);
        a->cells = mmap(NULL, bytes * sizeof *a->cells, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        a->room = bytes;
        if (a->cells == MAP_FAILED)
            abort();
    }
    a->base = base;
    a->bytes = bytes;
    last_area = a;
    return a;
}

static bool within(uintptr_t at, size_t bytes, const void *low, const void *high)
{
    return at >= (uintptr_t)low && at + bytes <= (uintptr_t)high;
}

typedef enum access_kind { READ, WRITE, SYNC_READ, SYNC_WRITE } access_kind;

static void check(const void *address, size_t bytes, size_t alignment, access_kind kind)
{
    const uintptr_t at = (uintptr_t)address;
    const bool write = kind == WRITE || kind == SYNC_WRITE, plain = kind == READ || kind == WRITE;
    const emu_module *m;

    if (emu_now == NULL || at - (uintptr_t)emu_now->stack < EMU_STACK_BYTES)
        return;
    m = emu_running->module;
    if (within(at, bytes, m->shared_low, m->shared_high)) {
        const size_t offset = (size_t)(at - (uintptr_t)m->shared_low);
        if (at % alignment != 0)
            emu_fault(EMU_MISALIGNED, "%zu bytes of shared memory at offset %zu are not aligned",
                      bytes, offset);
        emu_pause();
        if (plain)
            compare(emu_now->home->shadow + offset, bytes, write, "shared", offset);
        return;
    }
    const area *a = area_at(at);
    if (a != NULL) {
        const size_t offset = (size_t)(at - (uintptr_t)a->base);
        if (at % alignment != 0)
            emu_fault(EMU_MISALIGNED,
                      "an access of %zu bytes at an address of which %zu is no "
                      "divisor",
                      bytes, alignment);
        if (bytes > a->bytes - offset)
            emu_fault(EMU_ILLEGAL_ADDRESS, "%s %zu bytes at the end of a block of memory",
                      write ? "writes" : "reads", bytes);
        emu_pause();
        if (write)
            emu_progress();
        if (kind == WRITE)
            compare(a->cells + offset, bytes, write, "device", offset);
        return;
    }
    if (within(at, bytes, m->low, m->high))
        return;
    if (!write && within(at, bytes, emu_running->arguments,
                         emu_running->arguments + emu_running->argument_bytes))
        return;
    if (!write && within(at, bytes, emu_running->argument, emu_running->argument + EMU_ARGUMENTS))
        return;
    emu_fault(EMU_ILLEGAL_ADDRESS, "%s %zu bytes at %p, where it has no memory",
              write ? "writes" : "reads", bytes, address);
}

/* ---- what kernels call ---- */

EMU_EXPORT void emu_read(const void *at, size_t bytes, size_t alignment);
void emu_read(const void *at, size_t bytes, size_t alignment)
{
    check(at, bytes, alignment, READ);
}

EMU_EXPORT void emu_write(void *at, size_t bytes, size_t alignment);
void emu_write(void *at, size_t bytes, size_t alignment)
{
    check(at, bytes, alignment, WRITE);
}

EMU_EXPORT void emu_fence(void);
void emu_fence(void)
{
    learn(emu_now->known, emu_now->heard);
    emu_pause();
}

enum { LOAD, STORE, ADD, AND, OR, XOR, EXCHANGE, CAS, INC, DEC }; /* emu_change of device.h */

static uint64_t changed(int change, uint64_t old, uint64_t value, uint64_t expected)
{
    switch (change) {
    case ADD:
        return old + value;
    case AND:
        return old & value;
    case OR:
        return old | value;
    case XOR:
        return old ^ value;
    case CAS:
        return old == expected ? value : old;
    case INC:
        return old >= value ? 0 : old + 1;
    case DEC:
        return old == 0 || old > value ? value : old - 1;
    default:
        return value;
    }
}

EMU_EXPORT unsigned long long emu_atomic(int change, void *at, int bytes, unsigned long long value,
                                         unsigned long long expected);
unsigned long long emu_atomic(int change, void *at, int bytes, unsigned long long value,
                              unsigned long long expected)
{
    uint64_t old = 0;

    check(at, (size_t)bytes, (size_t)bytes, change == LOAD ? SYNC_READ : SYNC_WRITE);
    memcpy(&old, at, (size_t)bytes);
    if (change != STORE)
        acquire(at);
    if (change != LOAD) {
        const uint64_t now = changed(change, old, value, expected);
        memcpy(at, &now, (size_t)bytes);
        release(at);
    }
    return old;
}

/* ---- ThreadSanitizer's interface ---- */

#define HOOK(name, parameters, ...)                                                                \
    EMU_EXPORT void name parameters;                                                               \
    void name parameters                                                                           \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define HOOKS(n, alignment)                                                                        \
    HOOK(__tsan_read##n, (void *at), check(at, n, alignment, READ))                                \
    HOOK(__tsan_write##n, (void *at), check(at, n, alignment, WRITE))                              \
    HOOK(__tsan_unaligned_read##n, (void *at), check(at, n, 1, READ))                              \
    HOOK(__tsan_unaligned_write##n, (void *at), check(at, n, 1, WRITE))                            \
    HOOK(__tsan_volatile_read##n, (void *at), volatile_read(at, n, alignment))                     \
    HOOK(__tsan_volatile_write##n, (void *at), volatile_write(at, n, alignment))                   \
    HOOK(__tsan_unaligned_volatile_read##n, (void *at), volatile_read(at, n, 1))                   \
    HOOK(__tsan_unaligned_volatile_write##n, (void *at), volatile_write(at, n, 1))

EMU_EXPORT void emu_poll(void);

/* Whoever looks at a volatile variable may look again and again. */
static void volatile_read(void *at, size_t bytes, size_t alignment)
{
    check(at, bytes, alignment, SYNC_READ);
    emu_poll();
    acquire(at);
}

static void volatile_write(void *at, size_t bytes, size_t alignment)
{
    check(at, bytes, alignment, SYNC_WRITE);
    release(at);
}

HOOKS(1, 1)
HOOKS(2, 2)
HOOKS(4, 4)
HOOKS(8, 8)
HOOKS(16, 8)
HOOK(__tsan_read_range, (void *at, size_t bytes), check(at, bytes, 1, READ))
HOOK(__tsan_write_range, (void *at, size_t bytes), check(at, bytes, 1, WRITE))
HOOK(__tsan_vptr_update, (void **at, void *value), (void)at, (void)value)
HOOK(__tsan_init, (void), (void)0)
HOOK(__tsan_func_entry, (void *from), (void)from)
HOOK(__tsan_func_exit, (void), (void)0)
