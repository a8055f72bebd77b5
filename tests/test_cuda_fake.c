/*
 * test_cuda_fake.c - src/device/cuda on a driver that is none (fake_cuda.c), so that its own logic
 * is tested on every machine: contexts, the stage of copies, errors at every call, faults. What a
 * GPU really does is the matter of test_device_cuda.c.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cuda/driver.h"
#include "in_child.h"
#include "load_fake_cuda.h"

#define EXIT_SKIP 77
#define MIB ((size_t)1 << 20)
#define BYTES (29 * MIB)

static fake_cuda *cuda;

static kiln__device *must_open(const char *name)
{
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__device_open(name, 0, &device, &err) != KILN_OK)
        fail_msg("%s: %s", name, err.message);
    return device;
}

static kiln__block *must_alloc(kiln__device *device, size_t bytes, kiln_stream *stream)
{
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__pool_alloc(device, bytes, stream, &block, &err) != KILN_OK)
        fail_msg("%zu bytes: %s", bytes, err.message);
    return block;
}

/* Close, and see that nothing is left of it in the driver. */
static void close_clean(kiln__device *device)
{
    kiln__cu_context now = NULL;

    kiln__device_close(device);
    assert_int_equal(cuda->contexts, 0);
    assert_int_equal(cuda->streams, 0);
    assert_int_equal(cuda->events, 0);
    assert_int_equal(cuda->blocks, 0);
    assert_int_equal(cuda->host_blocks, 0);
    assert_int_equal(cuda->modules, 0);
    assert_int_equal(kiln__cu.ctx_get_current(&now), 0);
    assert_null(now);
}

static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)((i * 2654435761u + seed * 40503u) >> 11);
}

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = pattern(i, seed);
}

static bool matches(const unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != pattern(i, seed))
            return false;
    return true;
}

/* ---- a driver that cannot be used: each in a process that has not tried yet ---- */

/* "cuda" fails with `want` and `text`, the list tells the same, and "auto" gives the cpu. */
static bool is_passed_over(kiln_status want, const char *text)
{
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_device_info info;
    size_t count = 0;
    kiln_status status = kiln__device_open("cuda", 0, &device, &err);
    bool right = status == want && device == NULL && strstr(err.message, text) != NULL &&
                 kiln__device_list(&info, 1, &count, NULL) == KILN_OK && count == 2 &&
                 !info.usable && strstr(info.reason, text) != NULL &&
                 kiln__device_open("auto", 0, &device, NULL) == KILN_OK &&
                 strcmp(kiln__device_info(device)->id, "cpu") == 0 &&
                 kiln__device_misses_gpu(device);

    if (!right)
        fprintf(stderr, "%s: %s\n", kiln_status_name(status), err.message);
    kiln__device_close(device);
    return right;
}

static bool an_old_driver(void)
{
    cuda->version = 11080;
    return is_passed_over(KILN_ERR_NO_DRIVER, "CUDA 11.8");
}

static bool no_gpu(void)
{
    cuda->init_result = 100;
    return is_passed_over(KILN_ERR_NO_DEVICE, "sees no GPU");
}

static bool hidden_gpus(void)
{
    cuda->gpu_count = 0;
    return is_passed_over(KILN_ERR_NO_DEVICE, "sees no GPU");
}

static bool a_broken_driver(void)
{
    cuda->init_result = 999;
    return is_passed_over(KILN_ERR_DRIVER, "cuInit");
}

/* Another library had initialised CUDA before the fork: this must not become a slow success. */
static bool a_fork_by_others(void)
{
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;

    cuda->init_result = 3;
    return kiln__device_open("auto", 0, &device, &err) == KILN_ERR_FORK && device == NULL &&
           strstr(err.message, "forked") != NULL;
}

static void test_cuda_fake__an_unusable_driver_is_explained(void **state)
{
    (void)state;
    in_child(an_old_driver);
    in_child(no_gpu);
    in_child(hidden_gpus);
    in_child(a_broken_driver);
    in_child(a_fork_by_others);
}

static bool cuda_is_refused_in_a_child(void)
{
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;
    bool right = kiln__device_open("cuda", 0, &device, &err) == KILN_ERR_FORK &&
                 strstr(err.message, "before this process was forked") != NULL &&
                 kiln__device_open("auto", 0, &device, &err) == KILN_ERR_FORK && device == NULL &&
                 kiln__device_open("cpu", 0, &device, NULL) == KILN_OK;

    kiln_error_clear(&err);
    kiln__device_close(device);
    return right;
}

static void test_cuda_fake__a_child_cannot_open_what_its_parent_initialised(void **state)
{
    (void)state;
    close_clean(must_open("cuda"));
    in_child(cuda_is_refused_in_a_child);
    close_clean(must_open("cuda"));
}

/* ---- devices ---- */

static void test_cuda_fake__devices_are_described_with_reasons(void **state)
{
    (void)state;
    kiln_device_info infos[8];
    size_t count = 0;
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__device_list(infos, 8, &count, NULL), KILN_OK);
    assert_int_equal(count, 5);
    assert_true(infos[0].usable && !infos[1].usable && !infos[2].usable && infos[3].usable);
    assert_string_equal(infos[3].id, "cuda:3");
    assert_string_equal(infos[3].target, "sm_90");
    assert_string_equal(infos[3].driver, "CUDA 13.0");
    assert_int_equal(infos[3].unit_count, 132);
    assert_int_equal(infos[3].memory_bytes, cuda->memory_bytes);
    assert_non_null(strstr(infos[1].reason, "6.1"));
    assert_non_null(strstr(infos[2].reason, "prohibited"));

    assert_int_equal(kiln__device_open("cuda:1", 0, &device, &err), KILN_ERR_NO_DEVICE);
    assert_non_null(strstr(err.message, "cuda:1"));
    assert_non_null(strstr(err.message, "6.1"));
    assert_int_equal(kiln__device_open("cuda:4", 0, &device, &err), KILN_ERR_NO_DEVICE);
    assert_non_null(strstr(err.message, "cuda:4"));
    kiln_error_clear(&err);
    close_clean(must_open("cuda:3"));
}

static void test_cuda_fake__each_device_has_its_own_context(void **state)
{
    (void)state;
    kiln__device *a = must_open("cuda:0"), *b = must_open("cuda:3"), *again = must_open("cuda:0");
    kiln_error err = KILN_ERROR_INIT;
    kiln_stream *wrapped = NULL;
    unsigned char in[1000], out[1000];

    assert_int_equal(cuda->contexts, 2);
    fill(in, sizeof in, 1);
    kiln__device *const all[] = {a, b, again};
    for (int i = 0; i < 3; i++) {
        kiln__block *block = must_alloc(all[i], sizeof in, all[i]->stream);
        assert_int_equal(
            kiln__copy_host_to_device(all[i], block->address, in, sizeof in, all[i]->stream, NULL),
            KILN_OK);
        assert_int_equal(
            kiln__copy_device_to_host(all[i], out, block->address, sizeof in, all[i]->stream, NULL),
            KILN_OK);
        assert_true(matches(out, sizeof out, 1));
        kiln__pool_free(all[i], block, NULL, 0);
    }
    assert_int_equal(kiln__stream_wrap(a, b->stream->native, &wrapped, &err), KILN_ERR_CONTEXT);
    assert_null(wrapped);
    assert_int_equal(kiln__stream_wait(a->stream, b->stream, &err), KILN_ERR_CONTEXT);
    assert_true(strstr(err.message, "cuda:0") != NULL && strstr(err.message, "cuda:3") != NULL);
    kiln_error_clear(&err);
    kiln__device_close(a);
    kiln__device_close(b);
    close_clean(again);
}

static void test_cuda_fake__the_callers_context_is_put_back(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda:0"), *other = must_open("cuda:3");
    kiln__cu_context foreign = kiln__cuda_of(other)->context, now = NULL;
    kiln__block *block = must_alloc(device, MIB, device->stream);

    assert_int_equal(kiln__cu.ctx_push(foreign), 0);
    assert_int_equal(kiln__memset(device, block->address, 1, MIB, device->stream, NULL), KILN_OK);
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    kiln__pool_free(device, block, NULL, 0);
    assert_int_equal(kiln__cu.ctx_get_current(&now), 0);
    assert_ptr_equal(now, foreign);
    kiln__cuda_pop();
    kiln__device_close(other);
    close_clean(device);
}

/* ---- copies ---- */

/* The fake reads a source when the copy runs, which is as late as can be: a copy that does not
 * keep its promise about `src` arrives as something else. */
static void test_cuda_fake__copies_are_done_with_their_source(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,       4095,        MIB,     MIB + 1,     4 * MIB - 1,
                                   4 * MIB, 4 * MIB + 1, 8 * MIB, 8 * MIB + 1, 12 * MIB + 3};
    kiln__device *device = must_open("cuda");
    kiln_stream *stream = device->stream;
    unsigned char *in = malloc(BYTES), *out = malloc(BYTES);

    assert_true(in != NULL && out != NULL);
    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++) {
        size_t bytes = sizes[i];
        kiln__block *a = must_alloc(device, bytes, stream), *b = must_alloc(device, bytes, stream);

        fill(in, bytes, (unsigned)i);
        assert_int_equal(kiln__copy_host_to_device(device, a->address, in, bytes, stream, NULL),
                         KILN_OK);
        memset(in, 0xee, bytes);
        assert_int_equal(
            kiln__copy_device_to_device(device, b->address, a->address, bytes, stream, NULL),
            KILN_OK);
        memset(out, 0xdd, bytes + 1);
        assert_int_equal(kiln__copy_device_to_host(device, out, b->address, bytes, stream, NULL),
                         KILN_OK);
        assert_true(matches(out, bytes, (unsigned)i));
        assert_int_equal(out[bytes], 0xdd);
        kiln__pool_free(device, a, NULL, 0);
        kiln__pool_free(device, b, NULL, 0);
    }
    free(in);
    free(out);
    close_clean(device);
}

/* A call that fails, even if nobody minds, is an error in the output of compute-sanitizer. */
static void test_cuda_fake__copies_of_ordinary_memory_make_no_call_fail(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln__block *block = must_alloc(device, MIB, device->stream);
    unsigned char *host = calloc(1, MIB);
    const long refused = cuda->refused;

    assert_non_null(host);
    assert_int_equal(
        kiln__copy_host_to_device(device, block->address, host, MIB, device->stream, NULL),
        KILN_OK);
    assert_int_equal(
        kiln__copy_device_to_host(device, host, block->address, MIB, device->stream, NULL),
        KILN_OK);
    assert_int_equal(cuda->refused, refused);
    kiln__pool_free(device, block, NULL, 0);
    free(host);
    close_clean(device);
}

/* Copies of all sizes and both ways, on streams in turn, some of which go away meanwhile. */
static void test_cuda_fake__a_random_trace_of_copies_keeps_them_apart(void **state)
{
    (void)state;
    enum { STEPS = 600, SLOTS = 12 };
    const size_t room = 5 * MIB;
    kiln__device *device = must_open("cuda");
    kiln_stream *streams[3] = {device->stream, NULL, NULL};
    kiln__block *block = must_alloc(device, SLOTS * room, device->stream);
    unsigned char *host = malloc(room);
    size_t bytes[SLOTS] = {0};
    unsigned seed[SLOTS] = {0}, random = 12345;

    assert_non_null(host);
    for (unsigned step = 1; step <= STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        size_t slot = random >> 8 & 0xff, way = random >> 16 & 3, s = (random >> 20) % 3;
        char *at = (char *)block->address + slot % SLOTS * room;
        slot %= SLOTS;
        if (streams[s] == NULL)
            assert_int_equal(kiln__stream_create(device, NULL, &streams[s], NULL), KILN_OK);
        /* Whatever was last done to the slot was on any stream. */
        for (int k = 0; k < 3; k++)
            if (streams[k] != NULL)
                assert_int_equal(kiln__stream_wait(streams[s], streams[k], NULL), KILN_OK);
        if (way < 3) {
            bytes[slot] = (random >> 4) % ((size_t)1 << (step % 22 + 1)) + 1;
            seed[slot] = step;
            fill(host, bytes[slot], step);
            assert_int_equal(
                kiln__copy_host_to_device(device, at, host, bytes[slot], streams[s], NULL),
                KILN_OK);
            memset(host, 0, bytes[slot]);
        } else if (bytes[slot] > 0) {
            assert_int_equal(
                kiln__copy_device_to_host(device, host, at, bytes[slot], streams[s], NULL),
                KILN_OK);
            assert_true(matches(host, bytes[slot], seed[slot]));
        }
        if (s > 0 && step % 37 == 0) {
            assert_int_equal(kiln__stream_wait(device->stream, streams[s], NULL), KILN_OK);
            kiln__stream_destroy(streams[s]);
            streams[s] = NULL;
        }
    }
    kiln__stream_destroy(streams[1]);
    kiln__stream_destroy(streams[2]);
    kiln__pool_free(device, block, NULL, 0);
    free(host);
    close_clean(device);
}

/* One slot of the stage must not carry copies of two streams: the later one's end would say nothing
 * of the earlier one. */
static void test_cuda_fake__a_slow_stream_keeps_its_part_of_the_stage(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln_stream *slow = NULL;
    kiln__block *block = must_alloc(device, 32 * MIB, device->stream);
    char *at = block->address;
    unsigned char *bytes = malloc(16 * MIB), got[100];

    assert_non_null(bytes);
    assert_int_equal(kiln__stream_create(device, NULL, &slow, NULL), KILN_OK);
    fill(bytes, sizeof got, 3);
    assert_int_equal(kiln__copy_host_to_device(device, at, bytes, sizeof got, slow, NULL), KILN_OK);
    fill(bytes, 16 * MIB, 4);
    for (int i = 0; i < 3; i++) /* small ones first, then enough to fill all slots twice */
        assert_int_equal(kiln__copy_host_to_device(device, at + MIB, bytes, i < 2 ? 100 : 16 * MIB,
                                                   device->stream, NULL),
                         KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, got, at, sizeof got, slow, NULL), KILN_OK);
    assert_true(matches(got, sizeof got, 3));
    kiln__stream_destroy(slow);
    kiln__pool_free(device, block, NULL, 0);
    free(bytes);
    close_clean(device);
}

static void test_cuda_fake__without_page_locked_memory_copies_still_work(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln__block *block = must_alloc(device, 5 * MIB, device->stream);
    unsigned char *bytes = malloc(5 * MIB);

    assert_non_null(bytes);
    fill(bytes, 5 * MIB, 9);
    kiln__cuda_of(device)->stage.failed = true;
    assert_int_equal(
        kiln__copy_host_to_device(device, block->address, bytes, 5 * MIB, device->stream, NULL),
        KILN_OK);
    memset(bytes, 0, 5 * MIB);
    assert_int_equal(
        kiln__copy_device_to_host(device, bytes, block->address, 5 * MIB, device->stream, NULL),
        KILN_OK);
    assert_true(matches(bytes, 5 * MIB, 9));
    free(bytes);
    kiln__pool_free(device, block, NULL, 0);
    close_clean(device);
}

/* ---- kernels and faults ---- */

static void test_cuda_fake__launches_pass_on_what_they_are_given(void **state)
{
    (void)state;
    static const char image[64] = FAKE_CUDA_IMAGE;
    kiln__device *device = must_open("cuda");
    kiln__block *block = must_alloc(device, 1000, device->stream);
    kiln__module *module = NULL;
    kiln_error err = KILN_ERROR_INIT;
    void *entry = NULL;
    unsigned char out[1000];

    assert_int_equal(kiln__module_load(device, image, sizeof image, &module, NULL), KILN_OK);
    assert_int_equal(kiln__module_entry(module, "fill", &entry, NULL), KILN_OK);
    fake_fill_args args = {block->address, 1000, 77};
    kiln__launch_config config = {.grid_x = 5, .block = 256};
    assert_int_equal(kiln__launch(device, entry, &config, &args, sizeof args, device->stream, NULL),
                     KILN_OK);
    memset(&args, 0, sizeof args);
    assert_true(cuda->grid[0] == 5 && cuda->grid[1] == 1 && cuda->grid[2] == 1);
    assert_int_equal(cuda->block, 256);
    assert_int_equal(
        kiln__copy_device_to_host(device, out, block->address, 1000, device->stream, NULL),
        KILN_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(out[i], 77);

    config = (kiln__launch_config){
        .grid_x = 1, .grid_y = 2, .grid_z = 3, .block = 32, .shared_bytes = 50000};
    args = (fake_fill_args){block->address, 1, 1};
    assert_int_equal(kiln__launch(device, entry, &config, &args, sizeof args, device->stream, NULL),
                     KILN_OK);
    assert_true(cuda->grid[1] == 2 && cuda->grid[2] == 3);
    assert_int_equal(cuda->shared_bytes, 50000);
    assert_int_equal(cuda->shared_allowed, 50000);

    config = (kiln__launch_config){.grid_x = (int64_t)1 << 31, .block = 32};
    assert_int_equal(kiln__launch(device, entry, &config, &args, sizeof args, device->stream, &err),
                     KILN_ERR_INTERNAL);
    config = (kiln__launch_config){.grid_x = 1, .block = 2048};
    assert_int_equal(kiln__launch(device, entry, &config, &args, sizeof args, device->stream, &err),
                     KILN_ERR_DRIVER);
    assert_non_null(strstr(err.message, "cuLaunchKernel on cuda:0"));
    kiln_error_clear(&err);
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    close_clean(device);
}

static void test_cuda_fake__a_kernel_of_another_compiler_is_explained(void **state)
{
    (void)state;
    static const char image[64] = "something else";
    kiln__device *device = must_open("cuda");
    kiln__module *module = NULL;
    kiln_error err = KILN_ERROR_INIT;
    void *entry = &err;

    assert_int_equal(kiln__module_load(device, image, sizeof image, &module, &err),
                     KILN_ERR_DRIVER);
    assert_null(module);
    assert_non_null(strstr(err.message, "CUDA 13.0"));
    assert_non_null(strstr(err.message, "sm_90"));
    assert_int_equal(
        kiln__module_load(device, FAKE_CUDA_IMAGE, sizeof FAKE_CUDA_IMAGE, &module, NULL), KILN_OK);
    assert_int_equal(kiln__module_entry(module, "absent", &entry, &err), KILN_ERR_INTERNAL);
    assert_null(entry);
    assert_non_null(strstr(err.message, "absent"));
    kiln_error_clear(&err);
    kiln__module_unload(module);
    close_clean(device);
}

static void count_call(void *user)
{
    ++*(int *)user;
}

static void test_cuda_fake__a_stream_that_others_capture_has_no_memory(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln_stream *stream = NULL;
    kiln__block *block = NULL;

    assert_int_equal(kiln__stream_wrap(device, NULL, &stream, NULL), KILN_OK);
    cuda->capturing = true;
    assert_int_equal(kiln__pool_alloc(device, 8, stream, &block, NULL), KILN_ERR_UNSUPPORTED);
    cuda->capturing = false;
    kiln__stream_destroy(stream);
    close_clean(device);
}

static void test_cuda_fake__streams_and_events_are_made_as_asked(void **state)
{
    (void)state;
    kiln_stream_options o = KILN_STREAM_OPTIONS_INIT;
    static const struct {
        kiln__event_kind kind;
        unsigned flags; /* CU_EVENT_BLOCKING_SYNC 1, _DISABLE_TIMING 2, _INTERPROCESS 4 */
    } events[] = {{{.timing = true}, 0},
                  {{.timing = true, .blocking = true}, 1},
                  {{.timing = false}, 2},
                  {{.blocking = true, .interprocess = true}, 7}};
    kiln__device *device = must_open("cuda");
    kiln_stream *stream = NULL;
    kiln_event *event = NULL;

    assert_int_equal(kiln__stream_create(device, NULL, &stream, NULL), KILN_OK);
    assert_int_equal(cuda->stream_flags, 1); /* CU_STREAM_NON_BLOCKING */
    assert_int_equal(cuda->stream_priority, 0);
    kiln__stream_destroy(stream);
    o.priority = -3;
    o.blocking = true;
    assert_int_equal(kiln__stream_create(device, &o, &stream, NULL), KILN_OK);
    assert_int_equal(cuda->stream_flags, 0);
    assert_int_equal(cuda->stream_priority, -3);
    kiln__stream_destroy(stream);
    for (size_t i = 0; i < KILN_COUNT_OF(events); i++) {
        assert_int_equal(kiln__event_create(device, &events[i].kind, &event, NULL), KILN_OK);
        assert_int_equal(cuda->event_flags, events[i].flags);
        kiln__event_destroy(event);
    }
    close_clean(device);
}

/* The stand-in runs nothing before somebody waits, so that what a query answers is known. */
static void test_cuda_fake__host_calls_wait_for_work_before_them(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln__block *block = must_alloc(device, 512, device->stream);
    const kiln__event_kind kind = {.timing = false};
    kiln_event *event = NULL;
    int calls = 0;
    bool done = true;

    assert_int_equal(kiln__event_create(device, &kind, &event, NULL), KILN_OK);
    assert_int_equal(kiln__memset(device, block->address, 7, 512, device->stream, NULL), KILN_OK);
    assert_int_equal(kiln__stream_host_call(device->stream, count_call, &calls, NULL), KILN_OK);
    assert_int_equal(kiln__event_record(event, device->stream, NULL), KILN_OK);
    assert_int_equal(calls, 0);
    assert_int_equal(kiln__stream_query(device->stream, &done, NULL), KILN_OK);
    assert_false(done);
    assert_int_equal(kiln__event_query(event, &done, NULL), KILN_OK);
    assert_false(done);
    assert_int_equal(kiln__event_synchronize(event, NULL), KILN_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(((unsigned char *)block->address)[511], 7);
    assert_int_equal(kiln__event_query(event, &done, NULL), KILN_OK);
    assert_true(done);
    kiln__event_destroy(event);
    kiln__pool_free(device, block, NULL, 0);
    close_clean(device);
}

/* Copies are still to come when the memory is given back: it is not handed out again before. */
static void test_cuda_fake__host_memory_waits_for_its_copies(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln__block *block = must_alloc(device, 4096, device->stream);
    void *first = NULL, *second = NULL, *third = NULL;

    assert_int_equal(kiln__host_alloc(device, 4096, false, &first, NULL), KILN_OK);
    assert_true(kiln__host_is_pinned(device, (char *)first + 4095, 1));
    assert_false(kiln__host_is_pinned(device, (char *)first + 4095, 2));
    memset(first, 7, 4096);
    assert_int_equal(
        kiln__copy_enqueue(device, block->address, first, 4096, true, device->stream, NULL),
        KILN_OK);
    kiln__host_free(device, first);
    assert_false(kiln__host_is_pinned(device, first, 1));
    assert_int_equal(kiln__host_alloc(device, 4096, false, &second, NULL), KILN_OK);
    assert_ptr_not_equal(second, first);
    assert_int_equal(kiln__stream_synchronize(device->stream, NULL), KILN_OK);
    assert_int_equal(((unsigned char *)block->address)[4095], 7);
    assert_int_equal(kiln__host_alloc(device, 4096, false, &third, NULL), KILN_OK);
    assert_ptr_equal(third, first);
    kiln__host_free(device, second);
    kiln__host_free(device, third);
    kiln__pool_free(device, block, NULL, 0);
    close_clean(device);
}

static bool a_fault_ends_the_device(void)
{
    kiln__device *device = must_open("cuda:3"), *bystander = must_open("cuda:0");
    kiln__block *block = must_alloc(device, 1000, device->stream);
    kiln__launch_config config = {.grid_x = 1, .block = 1};
    kiln__module *module = NULL;
    kiln_error err = KILN_ERROR_INIT;
    void *entry = NULL;
    unsigned char out[16];

    bool right =
        kiln__module_load(device, FAKE_CUDA_IMAGE, 16, &module, NULL) == KILN_OK &&
        kiln__module_entry(module, "fault", &entry, NULL) == KILN_OK &&
        kiln__launch(device, entry, &config, &out, 16, device->stream, NULL) == KILN_OK &&
        kiln__device_check(device, NULL) == KILN_OK &&
        kiln__stream_synchronize(device->stream, &err) == KILN_ERR_FAULT &&
        strstr(err.message, "cuda:3 (Fake GPU)") != NULL &&
        strstr(err.message, "an illegal memory access") != NULL &&
        kiln__device_check(device, &err) == KILN_ERR_FAULT &&
        kiln__launch(device, entry, &config, &out, 16, device->stream, &err) == KILN_ERR_FAULT &&
        kiln__copy_device_to_host(device, out, block->address, 16, device->stream, &err) ==
            KILN_ERR_FAULT &&
        strstr(err.message, "cuda:3") != NULL && kiln__device_check(bystander, NULL) == KILN_OK &&
        kiln__device_synchronize(bystander, NULL) == KILN_OK;

    if (!right)
        fprintf(stderr, "%s\n", err.message);
    kiln_error_clear(&err);
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    kiln__device_close(device);
    kiln__device_close(bystander);
    return right && cuda->contexts == 0 && cuda->streams == 0 && cuda->blocks == 0;
}

static void test_cuda_fake__a_fault_ends_one_device_and_no_other(void **state)
{
    (void)state;
    in_child(a_fault_ends_the_device);
}

static void test_cuda_fake__a_full_device_says_what_it_holds(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda");
    kiln__block *used = must_alloc(device, 200 * MIB, device->stream), *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__pool_alloc(device, 100 * MIB, device->stream, &block, &err),
                     KILN_ERR_DEVICE_MEMORY);
    assert_string_equal(err.message,
                        "cuda:0 has no room for 100.00 MiB: in use 200.00 MiB, held by the pool "
                        "200.00 MiB, limit none, free on the device 56.00 MiB of 256.00 MiB");
    kiln_error_clear(&err);
    kiln__pool_free(device, used, NULL, 0);
    close_clean(device);
}

/* ---- every call to the driver fails once ---- */

static kiln_status use_everything(kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__device *device = NULL;
    kiln_stream *stream = NULL;
    const kiln__event_kind timing = {.timing = true};
    const kiln__event_kind shared = {.interprocess = true};
    kiln_event *start = NULL, *end = NULL, *exported = NULL, *opened = NULL;
    kiln_event_handle handle;
    static int host_calls; /* a stream may call later, when its context is waited for */
    int least = 0, greatest = 0;
    bool done = false;
    kiln__block *block = NULL;
    kiln__module *module = NULL;
    kiln__launch_config config = {.grid_x = 1, .block = 1, .shared_bytes = 60000};
    static unsigned char bytes[5 << 20];
    void *entry = NULL, *pinned = NULL, *combined = NULL;
    double ms = 0;

    KILN_TRY(kiln__device_open("cuda:0", 0, &device, err));
    KILN_TRY(kiln__stream_create(device, NULL, &stream, err));
    KILN_TRY(kiln__event_create(device, &timing, &start, err));
    KILN_TRY(kiln__event_create(device, &timing, &end, err));
    KILN_TRY(kiln__event_create(device, &shared, &exported, err));
    KILN_TRY(kiln__stream_priorities(device, &least, &greatest, err));
    KILN_TRY(kiln__event_export(exported, &handle, err));
    KILN_TRY(kiln__event_open(device, &handle, &opened, err));
    KILN_TRY(kiln__stream_host_call(stream, count_call, &host_calls, err));
    KILN_TRY(kiln__stream_wait_event(stream, opened, err));
    KILN_TRY(kiln__stream_query(stream, &done, err));
    KILN_TRY(kiln__event_query(opened, &done, err));
    KILN_TRY(kiln__pool_alloc(device, sizeof bytes, stream, &block, err));
    KILN_TRY(kiln__event_record(start, stream, err));
    KILN_TRY(kiln__copy_host_to_device(device, block->address, bytes, sizeof bytes, stream, err));
    KILN_TRY(kiln__stream_wait(kiln__device_stream(device), stream, err));
    KILN_TRY(kiln__module_load(device, FAKE_CUDA_IMAGE, 16, &module, err));
    KILN_TRY(kiln__module_entry(module, "fill", &entry, err));
    fake_fill_args args = {block->address, 100, 5};
    KILN_TRY(kiln__launch(device, entry, &config, &args, sizeof args, stream, err));
    KILN_TRY(kiln__copy_device_to_host(device, bytes, block->address, sizeof bytes, stream, err));
    KILN_TRY(kiln__host_alloc(device, sizeof bytes, false, &pinned, err));
    KILN_TRY(kiln__host_alloc(device, 100, true, &combined, err));
    KILN_TRY(kiln__copy_enqueue(device, block->address, pinned, sizeof bytes, true, stream, err));
    KILN_TRY(kiln__copy_enqueue(device, pinned, block->address, sizeof bytes, false, stream, err));
    KILN_TRY(kiln__event_record(end, stream, err));
    KILN_TRY(kiln__event_elapsed_ms(start, end, &ms, err));
    KILN_TRY(kiln__device_synchronize(device, err));

done:
    if (device != NULL) {
        kiln__host_free(device, pinned);
        kiln__host_free(device, combined);
    }
    if (device != NULL)
        kiln__pool_free(device, block, device->stream != NULL ? &device->stream : NULL,
                        device->stream != NULL);
    kiln__module_unload(module);
    kiln__event_destroy(start);
    kiln__event_destroy(end);
    kiln__event_destroy(exported);
    kiln__event_destroy(opened);
    kiln__stream_destroy(stream);
    kiln__device_close(device);
    return status;
}

/* Some failures are survived on purpose (no page-locked memory, an event that cannot be made while
 * closing): the call succeeds then. No failure leaks or goes unexplained. */
static void test_cuda_fake__survives_each_failing_driver_call(void **state)
{
    (void)state;
    static const int results[] = {999, 2};
    long failures = 0, survived = 0;

    for (size_t r = 0; r < KILN_COUNT_OF(results); r++) {
        for (long nth = 0;; nth++) {
            kiln_error err = KILN_ERROR_INIT;
            cuda->fail_after = nth;
            cuda->fail_result = results[r];
            kiln_status status = use_everything(&err);
            bool reached = cuda->fail_after < 0;
            cuda->fail_after = -1;

            failures += status != KILN_OK;
            survived += reached && status == KILN_OK;
            if ((status == KILN_OK) != (err.message[0] == '\0'))
                fail_msg("call %ld: %s, \"%s\"", nth, kiln_status_name(status), err.message);
            if (status != KILN_OK && status != KILN_ERR_DRIVER &&
                status != KILN_ERR_DEVICE_MEMORY && status != KILN_ERR_NO_MEMORY)
                fail_msg("call %ld: %s", nth, err.message);
            kiln_error_clear(&err);
            /* A failure while everything is given back can leave behind what it was about. */
            long left =
                cuda->streams + cuda->events + cuda->blocks + cuda->host_blocks + cuda->modules;
            assert_int_equal(cuda->contexts, 0);
            if (left > (reached && status == KILN_OK ? KILN__STAGE_SLOTS + 1 : 0))
                fail_msg("call %ld, %s: %ld left", nth, kiln_status_name(status), left);
            cuda->streams = cuda->events = cuda->blocks = cuda->host_blocks = cuda->modules = 0;
            if (!reached)
                break;
            assert_true(nth < 500);
        }
    }
    print_message("%ld failures told, %ld survived\n", failures, survived);
    assert_true(failures > 40);
}

/* ---- the program ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First those that fork, before this process has initialised the driver. */
        cmocka_unit_test(test_cuda_fake__an_unusable_driver_is_explained),
        cmocka_unit_test(test_cuda_fake__a_fault_ends_one_device_and_no_other),
        cmocka_unit_test(test_cuda_fake__a_child_cannot_open_what_its_parent_initialised),
        cmocka_unit_test(test_cuda_fake__devices_are_described_with_reasons),
        cmocka_unit_test(test_cuda_fake__a_stream_that_others_capture_has_no_memory),
        cmocka_unit_test(test_cuda_fake__streams_and_events_are_made_as_asked),
        cmocka_unit_test(test_cuda_fake__host_calls_wait_for_work_before_them),
        cmocka_unit_test(test_cuda_fake__host_memory_waits_for_its_copies),
        cmocka_unit_test(test_cuda_fake__each_device_has_its_own_context),
        cmocka_unit_test(test_cuda_fake__the_callers_context_is_put_back),
        cmocka_unit_test(test_cuda_fake__copies_are_done_with_their_source),
        cmocka_unit_test(test_cuda_fake__copies_of_ordinary_memory_make_no_call_fail),
        cmocka_unit_test(test_cuda_fake__a_random_trace_of_copies_keeps_them_apart),
        cmocka_unit_test(test_cuda_fake__a_slow_stream_keeps_its_part_of_the_stage),
        cmocka_unit_test(test_cuda_fake__without_page_locked_memory_copies_still_work),
        cmocka_unit_test(test_cuda_fake__launches_pass_on_what_they_are_given),
        cmocka_unit_test(test_cuda_fake__a_kernel_of_another_compiler_is_explained),
        cmocka_unit_test(test_cuda_fake__a_full_device_says_what_it_holds),
        cmocka_unit_test(test_cuda_fake__survives_each_failing_driver_call),
    };

    cuda = load_fake_cuda();
    if (cuda == NULL)
        return 1;
    return cmocka_run_group_tests_name("test_cuda_fake", tests, NULL, NULL);
}
