/*
 * stage.c - copies of ordinary host memory, through page-locked memory of the device's own.
 *
 *     memory.c -> [send, receive] -> slots of page-locked memory -> driver
 *
 *     upload:    source > threads: pieces of a slot, all of them > transfer > slot free
 *     download:  transfer > threads: pieces of the slot, all of them > slot free
 *
 * Why: the driver documents that an asynchronous copy from pageable memory "might" be done with its
 * source on return, and kiln promises that it is. Copying into page-locked memory first keeps the
 * promise without waiting for the stream. One thread does not keep up with the bus, so a long copy is cut
 * into pieces that a team of threads takes in order; the calling thread leads: it tells the driver of
 * slots that are full and opens slots that are free. No thread waits for the others between slots, so that the
 * bus never does either.
 *
 * Rule 1: a slot is filled for one stream at a time, so that the last event recorded on it covers
 *         all transfers out of it.
 * Rule 2: no event is recorded later than the transfer it covers: the stream may be gone by then.
 * Rule 3: only the leading thread calls the driver; the others have no context.
 */
#include <sched.h>

#include "device/cpu/cpu.h"
#include "device/cuda/driver.h"

#define EVENT_DISABLE_TIMING 0x2u
#define DEVICE_ATTRIBUTE_HOST_NUMA_ID 134 /* CUDA 12.2; older drivers refuse the question */

/* One core copies at a fifth of the bus's speed. */
#define THREADS_MAX 8

/* What a thread copies at a time. */
#define PIECE_BYTES ((size_t)256 << 10)

/* Slices of a slot start at multiples of this. */
#define SLICE_ALIGN ((size_t)256)

/* ---- page-locked memory ---- */

/* Page-locked memory of the host, on the NUMA node that is nearest to the device. The context is
 * current. */
kiln__cu_result kiln__cuda_lock_memory(kiln__device *device, size_t bytes, unsigned kind,
                                       void **out)
{
    int node = -1;

    *out = NULL;
    if (kiln__cu.device_get_attribute(&node, DEVICE_ATTRIBUTE_HOST_NUMA_ID,
                                      kiln__cuda_of(device)->device) != KILN__CU_OK)
        node = -1;
    const bool preferred = kiln__node_prefer(node);
    const kiln__cu_result result = kiln__cu.mem_host_alloc(out, bytes, kind);
    if (preferred)
        kiln__node_restore();
    return result;
}

/* ---- slots ---- the lock is held and the context is current */

static void free_memory(kiln__cuda_stage *stage)
{
    if (stage->memory != NULL)
        (void)kiln__cu.mem_free_host(stage->memory);
    stage->memory = NULL;
}

/* Whether there are slots of `bytes` now. Transfers of the old ones have been waited for. */
static bool make_slots(kiln__device *device, size_t bytes)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;
    void *memory = NULL;

    free_memory(stage);
    const bool made =
        kiln__cuda_lock_memory(device, KILN__STAGE_SLOTS * bytes, 0, &memory) == KILN__CU_OK;
    stage->memory = memory;
    stage->slot_bytes = bytes;
    stage->used = bytes; /* the next copy begins another slot */
    return made;
}

/* Larger slots for long copies; where they cannot be had, the old size is. */
static void stage_grow(kiln__device *device)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;

    for (int k = 0; k < KILN__STAGE_SLOTS; k++) {
        if (stage->busy[k] && kiln__cu.event_synchronize(stage->event[k]) != KILN__CU_OK)
            return; /* the copy itself will tell */
        stage->busy[k] = false;
    }
    stage->failed =
        !make_slots(device, KILN__STAGE_BYTES_LARGE) && !make_slots(device, KILN__STAGE_BYTES);
}

/* Whether the stage is there for a copy of so many bytes. */
static bool stage_open(kiln__device *device, size_t bytes)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;
    const bool large = bytes >= KILN__STAGE_GROWS_AT;
    const int cores = kiln__cpu_core_count();

    if (stage->failed)
        return false;
    if (stage->memory != NULL) {
        if (large && stage->slot_bytes < KILN__STAGE_BYTES_LARGE)
            stage_grow(device);
        return !stage->failed;
    }
    stage->failed = !make_slots(device, large ? KILN__STAGE_BYTES_LARGE : KILN__STAGE_BYTES);
    for (int k = 0; k < KILN__STAGE_SLOTS && !stage->failed; k++)
        stage->failed =
            kiln__cu.event_create(&stage->event[k], EVENT_DISABLE_TIMING) != KILN__CU_OK;
    if (!stage->failed)
        stage->failed = kiln__team_create(cores < THREADS_MAX ? cores : THREADS_MAX, &stage->team,
                                          NULL) != KILN_OK;
    return !stage->failed;
}

void kiln__cuda_stage_clear(kiln__device *device)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;

    for (int k = 0; k < KILN__STAGE_SLOTS; k++)
        if (stage->event[k] != NULL)
            (void)kiln__cu.event_destroy(stage->event[k]);
    free_memory(stage);
}

static char *slot_address(const kiln__cuda_stage *stage, int slot)
{
    return stage->memory + (size_t)slot * stage->slot_bytes;
}

/* Wait until the last transfer of a slot is done. */
static kiln_status slot_wait(kiln__device *device, int slot, kiln_error *err)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;

    if (stage->busy[slot])
        KILN_CHECK(kiln__cuda_status(device, kiln__cu.event_synchronize(stage->event[slot]),
                                     "cuEventSynchronize", err));
    stage->busy[slot] = false;
    return KILN_OK;
}

/* Whether the last transfer of a slot is done. A failure shows when the slot is waited for. */
static bool slot_is_idle(kiln__cuda_stage *stage, int slot)
{
    if (stage->busy[slot] && kiln__cu.event_query(stage->event[slot]) == KILN__CU_OK)
        stage->busy[slot] = false;
    return !stage->busy[slot];
}

/* One transfer between a slot and the device, with the event that marks its end. */
static kiln_status slot_transfer(kiln__device *device, int slot, char *at,
                                 kiln__cu_pointer on_device, size_t bytes, bool up,
                                 kiln__cu_stream stream, kiln_error *err)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;

    if (up)
        KILN_CHECK(kiln__cuda_status(device,
                                     kiln__cu.memcpy_htod_async(on_device, at, bytes, stream),
                                     "cuMemcpyHtoDAsync", err));
    else
        KILN_CHECK(kiln__cuda_status(device,
                                     kiln__cu.memcpy_dtoh_async(at, on_device, bytes, stream),
                                     "cuMemcpyDtoHAsync", err));
    stage->busy[slot] = true;
    kiln_status status = kiln__cuda_status(
        device, kiln__cu.event_record(stage->event[slot], stream), "cuEventRecord", err);
    if (status != KILN_OK)
        (void)kiln__cu.stream_synchronize(stream);
    return status;
}

/* ---- short copies ---- slices of one slot, copied by the calling thread */

static kiln_status send_slice(kiln__device *device, kiln__cu_pointer dst, const void *src,
                              size_t bytes, kiln__cu_stream stream, kiln_error *err)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;

    if (stage->used + bytes > stage->slot_bytes || (stage->used > 0 && stage->stream != stream)) {
        const int next = (stage->at + 1) % KILN__STAGE_SLOTS;
        KILN_CHECK(slot_wait(device, next, err));
        stage->at = next;
        stage->used = 0;
    }
    char *const slice = slot_address(stage, stage->at) + stage->used;
    memcpy(slice, src, bytes);
    KILN_CHECK(slot_transfer(device, stage->at, slice, dst, bytes, true, stream, err));
    stage->stream = stream;
    stage->used += (bytes + SLICE_ALIGN - 1) & ~(SLICE_ALIGN - 1);
    return KILN_OK;
}

/* ---- long copies ---- chunks of a slot each, in pieces */

typedef struct flow {
    kiln__device *device;
    kiln__cuda_stage *stage;
    kiln__cu_stream stream;
    char *host;
    kiln__cu_pointer on_device;
    size_t bytes;
    bool up;
    int first; /* the slot of the first chunk */
    int64_t chunks, pieces, pieces_a_chunk;
    atomic_int_least64_t next;  /* the first piece that nobody has taken */
    atomic_int_least64_t ready; /* pieces before this one may be copied */
    atomic_bool joined;         /* by at least one thread */
    atomic_bool stopped;
    atomic_int_least64_t done[KILN__STAGE_SLOTS]; /* pieces of the slot's chunk */
    kiln_error *err;
    kiln_status status;
} flow;

static int slot_of(const flow *f, int64_t chunk)
{
    return (int)((f->first + chunk) % KILN__STAGE_SLOTS);
}

static void copy_piece(flow *f, int64_t piece)
{
    const int slot = slot_of(f, piece / f->pieces_a_chunk);
    const size_t offset = (size_t)piece * PIECE_BYTES, left = f->bytes - offset;
    const size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    char *const staged =
        slot_address(f->stage, slot) + (size_t)(piece % f->pieces_a_chunk) * PIECE_BYTES;

    if (f->up)
        memcpy(staged, f->host + offset, bytes);
    else
        memcpy(f->host + offset, staged, bytes);
    atomic_fetch_add_explicit(&f->done[slot], 1, memory_order_release);
}

/* A kiln__cpu_entry: take pieces in order until none is left. */
static void help(const void *args, int64_t begin, int64_t end)
{
    flow *const f = (flow *)(uintptr_t)args;

    (void)begin;
    (void)end;
    atomic_store_explicit(&f->joined, true, memory_order_relaxed);
    for (;;) {
        const int64_t piece = atomic_fetch_add_explicit(&f->next, 1, memory_order_relaxed);
        if (piece >= f->pieces)
            return;
        while (atomic_load_explicit(&f->ready, memory_order_acquire) <= piece) {
            if (atomic_load_explicit(&f->stopped, memory_order_relaxed))
                return;
            sched_yield();
        }
        copy_piece(f, piece);
    }
}

/* The leading thread takes no piece that it would have to wait for. */
static bool help_once(flow *f)
{
    int_least64_t piece = atomic_load_explicit(&f->next, memory_order_relaxed);

    while (piece < atomic_load_explicit(&f->ready, memory_order_relaxed))
        if (atomic_compare_exchange_weak_explicit(&f->next, &piece, piece + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            copy_piece(f, piece);
            return true;
        }
    return false;
}

static void open_chunk(flow *f, int64_t chunk)
{
    const int64_t end = (chunk + 1) * f->pieces_a_chunk;

    atomic_store_explicit(&f->done[slot_of(f, chunk)], 0, memory_order_relaxed);
    atomic_store_explicit(&f->ready, end < f->pieces ? end : f->pieces, memory_order_release);
}

static bool chunk_is_copied(flow *f, int64_t chunk)
{
    const int64_t left = f->pieces - chunk * f->pieces_a_chunk;

    return atomic_load_explicit(&f->done[slot_of(f, chunk)], memory_order_acquire) ==
           (left < f->pieces_a_chunk ? left : f->pieces_a_chunk);
}

static kiln_status transfer_chunk(flow *f, int64_t chunk)
{
    const size_t offset = (size_t)chunk * f->stage->slot_bytes, left = f->bytes - offset;
    const int slot = slot_of(f, chunk);

    return slot_transfer(f->device, slot, slot_address(f->stage, slot), f->on_device + offset,
                         left < f->stage->slot_bytes ? left : f->stage->slot_bytes, f->up,
                         f->stream, f->err);
}

/* Nothing is to be told: wait for the threads that copy, or for the transfer that all
 * depends on. While there are no such threads, the leading one copies; otherwise it would
 * tell of a full slot too late. */
static kiln_status pass_time(flow *f, int64_t opened, int64_t closed)
{
    if (!atomic_load_explicit(&f->joined, memory_order_relaxed) && help_once(f))
        return KILN_OK;
    if (opened == closed)
        return slot_wait(f->device, slot_of(f, opened), f->err);
    sched_yield();
    return KILN_OK;
}

static void lead_up(void *args)
{
    flow *const f = args;
    int64_t opened = 0, sent = 0;

    while (sent < f->chunks && f->status == KILN_OK) {
        while (opened < f->chunks && opened < sent + KILN__STAGE_SLOTS &&
               slot_is_idle(f->stage, slot_of(f, opened)))
            open_chunk(f, opened++);
        if (sent < opened && chunk_is_copied(f, sent))
            f->status = transfer_chunk(f, sent++);
        else
            f->status = pass_time(f, opened, sent);
    }
    atomic_store(&f->stopped, true);
}

static void lead_down(void *args)
{
    flow *const f = args;
    int64_t asked = 0, opened = 0, emptied = 0;

    while (emptied < f->chunks && f->status == KILN_OK) {
        if (asked < f->chunks && asked < emptied + KILN__STAGE_SLOTS) {
            f->status = slot_wait(f->device, slot_of(f, asked), f->err);
            if (f->status == KILN_OK)
                f->status = transfer_chunk(f, asked++);
        } else if (opened < asked && slot_is_idle(f->stage, slot_of(f, opened))) {
            open_chunk(f, opened++);
        } else if (emptied < opened && chunk_is_copied(f, emptied)) {
            emptied++;
        } else {
            f->status = pass_time(f, opened, emptied);
        }
    }
    atomic_store(&f->stopped, true);
}

static kiln_status run_flow(flow *f)
{
    kiln__cuda_stage *const stage = f->stage;

    f->first = (stage->at + 1) % KILN__STAGE_SLOTS;
    f->pieces = (int64_t)((f->bytes - 1) / PIECE_BYTES + 1);
    f->pieces_a_chunk = (int64_t)(stage->slot_bytes / PIECE_BYTES);
    f->chunks = (f->pieces - 1) / f->pieces_a_chunk + 1;
    kiln__team_lead(stage->team, f->up ? lead_up : lead_down, help, f);
    stage->at = slot_of(f, f->chunks - 1);
    stage->used = stage->slot_bytes;
    if (f->status != KILN_OK)
        (void)kiln__cu.stream_synchronize(f->stream); /* nothing may touch the stage any more */
    return f->status;
}

/* ---- both ---- */

kiln_status kiln__cuda_stage_copy(kiln__device *device, kiln__cu_pointer on_device, void *host,
                                  size_t bytes, bool up, kiln__cu_stream stream, bool *staged_out,
                                  kiln_error *err)
{
    kiln__cuda_stage *const stage = &kiln__cuda_of(device)->stage;
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&stage->lock);
    *staged_out = stage_open(device, bytes);
    if (*staged_out && bytes != 0) {
        flow f = {.device = device,
                  .stage = stage,
                  .stream = stream,
                  .host = host,
                  .on_device = on_device,
                  .bytes = bytes,
                  .up = up,
                  .err = err};
        status = up && bytes <= PIECE_BYTES
                     ? send_slice(device, on_device, host, bytes, stream, err)
                     : run_flow(&f);
    }
    pthread_mutex_unlock(&stage->lock);
    return status;
}
