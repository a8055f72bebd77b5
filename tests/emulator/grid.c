/*
 * grid.c - the threads of a kernel as fibers: which one runs, and where they wait for each other.
 *
 *     kernels.c -> [emu_run] -> device.h's functions, called by kernels -> back to the scheduler
 *
 * A few blocks are resident at a time and are begun in the order of their numbers, as GPUs do; a
 * block that waits for one that is not resident waits for ever, which is told. With a seed the next
 * thread is drawn at random wherever one waits, polls, or touches memory often enough.
 *
 * Rule: a fiber leaves by longjmp alone and is never unwound: kernels own nothing.
 */
#define _GNU_SOURCE
#include "emulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { RESIDENT_MAX = 32, SWITCHES_MAX = 20000000, PAUSES_A_SWITCH = 64 };

emu_thread *emu_now;
const emu_launch *emu_running;
uint64_t emu_seed;
unsigned emu_resident = 3;

static emu_block *slots[RESIDENT_MAX]; /* made from the first on */
static bool ended;                     /* some block's last thread has */
static emu_block *active;              /* whose shared memory is in the module's section */
static jmp_buf scheduler;
static int result;             /* of the running launch */
static uint32_t last_id;       /* of a block */
static unsigned long switches; /* since something was written, or a block ended */
static bool polled;            /* the last thread left to look again later */
static unsigned pause_mean, pause_left, pauses;
static uint64_t state;
static unsigned block_turn;

/* ---- chance ---- */

uint64_t emu_random(uint64_t bound)
{
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t v = state;

    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return (v ^ (v >> 31)) % bound;
}

/* ---- who is ready ---- */

static void make_ready(emu_thread *t)
{
    emu_block *b = t->home;

    t->state = EMU_READY;
    t->ready_place = b->ready_count;
    b->ready[b->ready_count++] = t;
}

static void remove_ready(emu_thread *t)
{
    emu_block *b = t->home;
    emu_thread *last = b->ready[--b->ready_count];

    b->ready[t->ready_place] = last;
    last->ready_place = t->ready_place;
}

/* Let others run; this thread goes on when it is its turn again. */
static void leave(void)
{
    emu_thread *self = emu_now;

    if (_setjmp(self->at) == 0)
        _longjmp(scheduler, 1);
}

static void leave_until_ready(int why)
{
    remove_ready(emu_now);
    emu_now->state = why;
    leave();
}

_Noreturn void emu_fault(int code, const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "emulated GPU: %s<<<(%u, %u, %u), %u>>>, ", emu_running->entry->name,
            emu_running->grid.x, emu_running->grid.y, emu_running->grid.z, emu_running->block.x);
    if (emu_now != NULL)
        fprintf(stderr, "block (%u, %u, %u), thread %u: ", emu_now->home->index.x,
                emu_now->home->index.y, emu_now->home->index.z, emu_now->number);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "; KILN_EMULATOR_SEED=%llu\n", (unsigned long long)emu_seed);
    result = code;
    _longjmp(scheduler, 2);
}

void emu_progress(void)
{
    switches = 0;
}

void emu_pause(void)
{
    if (pause_mean == 0 || pause_left-- > 0)
        return;
    pause_left = (unsigned)emu_random(2 * pause_mean);
    /* Its thread waits for nothing: a long sum, which writes nothing for millions of elements, may pause as often. */
    if (++pauses % PAUSES_A_SWITCH != 0 && switches > 0)
        switches--;
    leave();
}

/* ---- barriers of blocks and clusters ---- */

static void release_block(emu_block *b)
{
    if (b->waiting == 0 || b->waiting < b->alive)
        return;
    b->waiting = 0;
    emu_memory_barrier(b);
    for (unsigned k = 0; k < b->count; k++)
        if (b->threads[k].state == EMU_AT_BARRIER)
            make_ready(&b->threads[k]);
}

static unsigned cluster_size(void)
{
    return emu_running->entry->cluster > 0 ? emu_running->entry->cluster : 1;
}

/* The blocks of a cluster lie in neighbouring slots. */
static emu_block *block_of_cluster(const emu_block *first, unsigned rank)
{
    for (unsigned k = 0; k < RESIDENT_MAX; k++)
        if (slots[k] != NULL && slots[k]->used && slots[k]->first == first &&
            slots[k]->rank == rank)
            return slots[k];
    return NULL;
}

static void release_cluster(emu_block *first)
{
    unsigned alive = 0;

    for (unsigned k = 0; k < cluster_size(); k++) {
        const emu_block *b = block_of_cluster(first, k);
        alive += b != NULL ? b->alive : 0;
    }
    if (first->arrived == 0 || first->arrived < alive)
        return;
    first->arrived = 0;
    first->phase++;
    for (unsigned k = 0; k < cluster_size(); k++) {
        emu_block *b = block_of_cluster(first, k);
        if (b == NULL)
            continue;
        emu_memory_barrier(b);
        for (unsigned n = 0; n < b->count; n++)
            if (b->threads[n].state == EMU_AT_CLUSTER)
                make_ready(&b->threads[n]);
    }
}

EMU_EXPORT void emu_syncthreads(void);
void emu_syncthreads(void)
{
    emu_block *b = emu_now->home;

    remove_ready(emu_now);
    emu_now->state = EMU_AT_BARRIER;
    b->waiting++;
    release_block(b);
    leave();
}

EMU_EXPORT int emu_cluster_rank(void);
int emu_cluster_rank(void)
{
    return (int)emu_now->home->rank;
}

EMU_EXPORT void emu_cluster_arrive(void);
void emu_cluster_arrive(void)
{
    emu_block *first = emu_now->home->first;

    emu_now->phase = first->phase;
    first->arrived++;
    release_cluster(first);
    emu_pause();
}

EMU_EXPORT void emu_cluster_wait(void);
void emu_cluster_wait(void)
{
    if (emu_now->home->first->phase == emu_now->phase)
        leave_until_ready(EMU_AT_CLUSTER);
}

/* ---- shared memory ---- */

static size_t shared_bytes(void)
{
    return (size_t)(emu_running->module->shared_high - emu_running->module->shared_low);
}

/* Exchange the section's contents for those of another block. */
static void activate(emu_block *b)
{
    const size_t bytes = shared_bytes();

    if (b == active)
        return;
    if (active != NULL && bytes > 0)
        memcpy(active->image, emu_running->module->shared_low, bytes);
    active = b;
    if (bytes > 0)
        memcpy(emu_running->module->shared_low, b->image, bytes);
}

EMU_EXPORT size_t emu_shared_offset(const void *at);
size_t emu_shared_offset(const void *at)
{
    const char *low = emu_running->module->shared_low;

    if ((uintptr_t)at < (uintptr_t)low || (uintptr_t)at >= (uintptr_t)low + shared_bytes())
        emu_fault(EMU_ILLEGAL_ADDRESS, "%p is not in shared memory", at);
    return (size_t)((uintptr_t)at - (uintptr_t)low);
}

/* An address in the cluster: the block's number from 1 on above 24 bits of offset. */
EMU_EXPORT unsigned emu_shared_of(unsigned offset, unsigned rank);
unsigned emu_shared_of(unsigned offset, unsigned rank)
{
    return (rank + 1) << 24 | offset;
}

/* Where the word at an address in the cluster is; rank 0 stands for the block itself. */
static char *shared_at(unsigned at, size_t bytes)
{
    const unsigned rank = (at >> 24) - 1;
    const size_t offset = at & 0xffffff;
    emu_block *b = at >> 24 == 0 ? emu_now->home : block_of_cluster(emu_now->home->first, rank);

    if (b == NULL || b->started == 0 || b->alive == 0)
        emu_fault(EMU_ILLEGAL_ADDRESS,
                  "a store into the shared memory of block %u of the cluster, which does not run",
                  rank);
    if (offset + bytes > shared_bytes() || offset % bytes != 0)
        emu_fault(EMU_ILLEGAL_ADDRESS, "a store behind the shared memory of another block");
    return (b == active ? emu_running->module->shared_low : b->image) + offset;
}

EMU_EXPORT void emu_shared_store(unsigned at, unsigned value);
void emu_shared_store(unsigned at, unsigned value)
{
    emu_pause();
    memcpy(shared_at(at, sizeof value), &value, sizeof value);
}

/* ---- copies behind a thread's back (cp.async) ---- */

/* Begin one. Until it is waited for, nobody knows what is there. */
EMU_EXPORT void emu_copy_begin(unsigned at, const void *data, unsigned bytes);
void emu_copy_begin(unsigned at, const void *data, unsigned bytes)
{
    emu_thread *t = emu_now;
    emu_copy copy = {at, bytes, t->copy_group, {0}};

    emu_pause();
    if (t->copy_count == t->copy_room) {
        t->copy_room = t->copy_room == 0 ? 32 : 2 * t->copy_room;
        t->copies = realloc(t->copies, t->copy_room * sizeof *t->copies);
        if (t->copies == NULL)
            abort();
    }
    memcpy(copy.data, data, bytes);
    t->copies[t->copy_count++] = copy;
    memset(shared_at(at, bytes), EMU_POISON, bytes);
}

EMU_EXPORT void emu_copies_end(void);
void emu_copies_end(void)
{
    emu_now->copy_group++;
}

/* Wait for all of them but those of the last `but` groups that were ended. */
EMU_EXPORT void emu_copies_wait(unsigned but);
void emu_copies_wait(unsigned but)
{
    emu_thread *t = emu_now;
    unsigned left = 0;

    for (unsigned k = 0; k < t->copy_count; k++) {
        const emu_copy copy = t->copies[k];
        if (copy.group + but < t->copy_group)
            memcpy(shared_at(copy.at, copy.bytes), copy.data, copy.bytes);
        else
            t->copies[left++] = copy;
    }
    t->copy_count = left;
}

/* An mbarrier for one arrival: bytes that are expected less those that have come; whether it was arrived
 * at; phases that are over. */
typedef struct shared_barrier {
    int32_t bytes;
    uint16_t arrived, phases;
} shared_barrier;

/* `change` is 0 for a new barrier, and else what the arrival expects or a store has brought. */
EMU_EXPORT unsigned emu_barrier(unsigned at, int change);
unsigned emu_barrier(unsigned at, int change)
{
    static const shared_barrier fresh;
    shared_barrier barrier;

    emu_pause();
    char *const place = shared_at(at, sizeof barrier);
    memcpy(&barrier, place, sizeof barrier);
    if (change == 0)
        barrier = fresh;
    barrier.bytes += change;
    barrier.arrived |= change > 0;
    if (barrier.arrived && barrier.bytes == 0) {
        barrier.arrived = 0;
        barrier.phases++;
    }
    memcpy(place, &barrier, sizeof barrier);
    return barrier.phases;
}

EMU_EXPORT unsigned emu_barrier_phases(unsigned at);
unsigned emu_barrier_phases(unsigned at)
{
    shared_barrier barrier;
    memcpy(&barrier, shared_at(at, sizeof barrier), sizeof barrier);
    return barrier.phases;
}

/* ---- warps ---- */

enum { VOTE_SYNC, VOTE_SHUFFLE, VOTE_BALLOT, VOTE_MATCH }; /* emu_vote of device.h */

static unsigned long long outcome(const emu_thread *warp, const emu_thread *t, unsigned lanes)
{
    unsigned set = 0;

    if (t->vote == VOTE_SHUFFLE)
        return (lanes >> t->lane & 1) != 0 ? warp[t->lane].value : 0xababababababababu;
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0 &&
            (t->vote == VOTE_MATCH ? warp[k].value == t->value : warp[k].value != 0))
            set |= 1u << k;
    return set;
}

/* If all lanes of the mask that still run have come, give each what it came for. */
static void release_warp(emu_block *b, unsigned number, unsigned mask)
{
    emu_thread *warp = b->threads + number * EMU_WARP;
    unsigned long long results[EMU_WARP];
    unsigned lanes = 0;
    int vote = -1;

    for (unsigned k = 0; k < EMU_WARP; k++) {
        if ((mask >> k & 1) == 0 || number * EMU_WARP + k >= b->count || warp[k].state == EMU_ENDED)
            continue;
        if (warp[k].state != EMU_AT_WARP || warp[k].mask != mask ||
            (vote >= 0 && warp[k].vote != vote))
            return;
        vote = warp[k].vote;
        lanes |= 1u << k;
    }
    if (vote == VOTE_SYNC)
        emu_memory_warp(b, number, lanes);
    else
        emu_memory_shuffle(b, number, lanes);
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((lanes >> k & 1) != 0)
            results[k] = outcome(warp, warp + k, lanes);
    for (unsigned k = 0; k < EMU_WARP; k++) {
        if ((lanes >> k & 1) == 0)
            continue;
        warp[k].value = results[k];
        make_ready(warp + k);
    }
}

/* A lane has ended: those that wait for it need not any more. */
static void release_left(emu_block *b, unsigned number)
{
    for (unsigned k = 0; k < EMU_WARP; k++)
        if ((b->lanes_waiting[number] >> k & 1) != 0)
            release_warp(b, number, b->threads[number * EMU_WARP + k].mask);
}

EMU_EXPORT unsigned long long emu_warp(int vote, unsigned mask, unsigned long long value, int lane);
unsigned long long emu_warp(int vote, unsigned mask, unsigned long long value, int lane)
{
    emu_thread *t = emu_now;

    if ((mask >> t->number % EMU_WARP & 1) == 0)
        emu_fault(EMU_FAILED, "the mask %08x of a warp's operation lacks its own lane", mask);
    t->vote = vote;
    t->mask = mask;
    t->value = value;
    t->lane = lane & (EMU_WARP - 1);
    remove_ready(t);
    t->state = EMU_AT_WARP;
    t->home->lanes_waiting[t->number / EMU_WARP] |= 1u << t->number % EMU_WARP;
    release_warp(t->home, t->number / EMU_WARP, mask);
    leave();
    return t->value;
}

/* ---- other calls of kernels ---- */

EMU_EXPORT emu_dim3 emu_thread_idx(void);
emu_dim3 emu_thread_idx(void)
{
    return (emu_dim3){emu_now->number, 0, 0};
}

EMU_EXPORT emu_dim3 emu_block_idx(void);
emu_dim3 emu_block_idx(void)
{
    return emu_now->home->index;
}

EMU_EXPORT emu_dim3 emu_block_dim(void);
emu_dim3 emu_block_dim(void)
{
    return emu_running->block;
}

EMU_EXPORT emu_dim3 emu_grid_dim(void);
emu_dim3 emu_grid_dim(void)
{
    return emu_running->grid;
}

EMU_EXPORT void emu_poll(void);
void emu_poll(void)
{
    polled = true;
    leave();
}

EMU_EXPORT _Noreturn void emu_trap(void);
void emu_trap(void)
{
    emu_fault(EMU_FAILED, "trap");
}

EMU_EXPORT _Noreturn void emu_assert(const char *file, int line, const char *text);
void emu_assert(const char *file, int line, const char *text)
{
    emu_fault(EMU_ASSERT, "%s:%d: assertion `%s' failed", file, line, text);
}

EMU_EXPORT long long emu_clock(void);
long long emu_clock(void)
{
    static long long now;

    return now += 1000;
}

/* ---- fibers ---- */

/* A fiber outlives its thread and is the next one's. */
static void fiber(void)
{
    for (;;) {
        emu_thread *self = emu_now;
        emu_block *b = self->home;

        b->started++;
        emu_running->entry->run(emu_running->argument);
        remove_ready(self);
        self->state = EMU_ENDED;
        ended = --b->alive == 0;
        b->lanes_alive[self->number / EMU_WARP] &= ~(1u << self->number % EMU_WARP);
        release_block(b);
        release_left(b, self->number / EMU_WARP);
        if (cluster_size() > 1)
            release_cluster(b->first);
        if (_setjmp(self->at) == 0)
            _longjmp(scheduler, 1);
    }
}

static _Noreturn void enter(emu_thread *t)
{
    static ucontext_t context;

    if (t->made)
        _longjmp(t->at, 1);
    t->made = true;
    getcontext(&context);
    context.uc_stack.ss_sp = t->stack;
    context.uc_stack.ss_size = EMU_STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, fiber, 0);
    setcontext(&context);
    abort();
}

/* ---- blocks ---- */

static void *map(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED) {
        perror("emulated GPU: mmap");
        abort();
    }
    return room;
}

static emu_block *slot_make(void)
{
    emu_block *b = map(sizeof *b);

    b->stacks = map((size_t)EMU_THREADS * EMU_STACK_BYTES);
    for (unsigned k = 0; k < EMU_THREADS; k++) {
        b->threads[k].stack = b->stacks + (size_t)k * EMU_STACK_BYTES;
        b->threads[k].home = b;
        b->threads[k].number = k;
    }
    return b;
}

static void block_begin(emu_block *b, uint64_t number, emu_block *first)
{
    const emu_launch *l = emu_running;
    const size_t bytes = shared_bytes();

    b->index =
        (emu_dim3){(unsigned)(number % l->grid.x), (unsigned)(number / l->grid.x % l->grid.y),
                   (unsigned)(number / l->grid.x / l->grid.y)};
    b->id = ++last_id;
    b->count = b->alive = l->block.x;
    b->waiting = b->ready_count = b->arrived = b->started = 0;
    b->phase = 0;
    b->first = first != NULL ? first : b;
    b->rank = (unsigned)(number % cluster_size());
    b->used = true;
    if (bytes > b->shared_room) {
        free(b->image);
        free(b->shadow);
        b->image = malloc(bytes);
        b->shadow = calloc(bytes, sizeof *b->shadow);
        b->shared_room = bytes;
    }
    if (bytes > 0)
        memset(b->image, EMU_POISON, bytes);
    for (unsigned w = 0; w < EMU_WARPS; w++) {
        b->tick[w] = 1;
        b->lanes_alive[w] = b->lanes_waiting[w] = 0;
    }
    for (unsigned k = 0; k < b->count; k++) {
        b->threads[k].copy_count = b->threads[k].copy_group = 0;
        memset(b->threads[k].known, 0, sizeof b->threads[k].known);
        memset(b->threads[k].heard, 0, sizeof b->threads[k].heard);
        b->lanes_alive[k / EMU_WARP] |= 1u << k % EMU_WARP;
        make_ready(&b->threads[k]);
    }
}

/* Fill free slots with the next blocks, whole clusters at a time. */
static void begin_blocks(uint64_t *next, uint64_t total)
{
    const unsigned cluster = cluster_size();
    const unsigned room = (emu_resident + cluster - 1) / cluster * cluster;
    unsigned used = 0;

    for (unsigned k = 0; k < RESIDENT_MAX; k++)
        used += slots[k] != NULL && slots[k]->used;
    for (; *next < total && used + cluster <= room; used += cluster) {
        emu_block *first = NULL;
        for (unsigned n = 0; n < cluster; n++, (*next)++) {
            unsigned k = 0;
            while (slots[k] != NULL && slots[k]->used)
                k++;
            if (slots[k] == NULL)
                slots[k] = slot_make();
            block_begin(slots[k], *next, first);
            first = first != NULL ? first : slots[k];
        }
    }
}

/* The next thread; NULL: none can run. */
static emu_thread *pick(void)
{
    emu_block *candidates[RESIDENT_MAX];
    unsigned count = 0;

    if (active != NULL && active->used && active->ready_count > 0 &&
        (emu_seed == 0 ? !polled : emu_random(16) != 0)) {
        candidates[count++] = active;
    } else {
        for (unsigned k = 0; k < RESIDENT_MAX && slots[k] != NULL; k++)
            if (slots[k]->used && slots[k]->ready_count > 0)
                candidates[count++] = slots[k];
    }
    if (count == 0)
        return NULL;
    polled = false;
    emu_block *b = candidates[emu_seed == 0 ? block_turn++ % count : emu_random(count)];
    return b->ready[emu_seed == 0 ? b->turn++ % b->ready_count : emu_random(b->ready_count)];
}

/* A block whose threads have ended gives its slot back; those of a cluster do so together. */
static void end_blocks(emu_block *b)
{
    switches = 0;
    for (unsigned k = 0; k < cluster_size(); k++) {
        const emu_block *other = block_of_cluster(b->first, k);
        if (other == NULL || other->alive > 0)
            return;
    }
    emu_block *const first = b->first;
    for (unsigned k = 0; k < cluster_size(); k++) {
        emu_block *other = block_of_cluster(first, k);
        if (other == active)
            active = NULL;
        other->used = false;
    }
}

/* Nobody can run: tell where they wait. */
static void tell_deadlock(void)
{
    static const char *const where[] = {"runs", "is at __syncthreads", "is at a warp's operation",
                                        "is at the cluster's barrier", "has ended"};
    int told = 0;

    for (unsigned k = 0; k < RESIDENT_MAX; k++)
        for (unsigned n = 0; slots[k] != NULL && slots[k]->used && n < slots[k]->count; n++) {
            const emu_thread *t = &slots[k]->threads[n];
            if (n > 0 && t->state == t[-1].state && t->mask == t[-1].mask)
                continue;
            if (told++ < 20)
                fprintf(stderr, "emulated GPU: block %u thread %u %s, mask %08x\n",
                        slots[k]->index.x, n, where[t->state],
                        t->state == EMU_AT_WARP ? t->mask : 0);
        }
    emu_fault(EMU_TIMEOUT, "threads wait for each other");
}

static void run_all(uint64_t total)
{
    static uint64_t next; /* outlives the jumps */

    next = 0;
    if (_setjmp(scheduler) == 2)
        return;
    emu_now = NULL;
    for (;;) {
        for (unsigned k = 0; ended && k < RESIDENT_MAX; k++)
            if (slots[k] != NULL && slots[k]->used && slots[k]->alive == 0)
                end_blocks(slots[k]);
        if (ended || next == 0)
            begin_blocks(&next, total);
        ended = false;
        emu_thread *t = pick();
        if (t == NULL) {
            for (unsigned k = 0; k < RESIDENT_MAX; k++)
                if (slots[k] != NULL && slots[k]->used)
                    tell_deadlock();
            return;
        }
        activate(t->home);
        emu_now = t;
        if (++switches > SWITCHES_MAX)
            emu_fault(EMU_TIMEOUT, "waits for something that does not come");
        enter(t);
    }
}

int emu_run(const emu_launch *launch)
{
    static const unsigned means[] = {0, 3, 30, 300, 3000};

    emu_running = launch;
    result = 0;
    active = NULL;
    switches = 0;
    polled = ended = false;
    state = emu_seed != 0 && state == 0 ? emu_seed : state;
    pause_mean = emu_seed != 0 ? means[emu_random(5)] : 0;
    pause_left = pause_mean;
    emu_memory_begin();
    run_all((uint64_t)launch->grid.x * launch->grid.y * launch->grid.z);
    for (unsigned k = 0; k < RESIDENT_MAX; k++) {
        if (slots[k] == NULL || !slots[k]->used)
            continue;
        slots[k]->used = false; /* a fault left its fibers where they were */
        for (unsigned n = 0; n < EMU_THREADS; n++)
            slots[k]->threads[n].made = false;
    }
    emu_now = NULL;
    emu_running = NULL;
    return result;
}
