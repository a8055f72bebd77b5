/*
 * test_pool.c - src/device/pool*.c and stream.c on a fake device (fake_device.h): what is handed
 * out never overlaps, keeps its contents, and is not reused before the work on it is over.
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

#include "fake_device.h"

/* ---- one stream ---- */

static void test_pool__sizes_are_rounded_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 511, 512, 513, 1 << 20, (1 << 20) + 1, 3 << 20};
    static const size_t rounded[] = {512, 512, 512, 1024, 1 << 20, (1 << 20) + 512, 3 << 20};
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln__block *blocks[KILN_COUNT_OF(sizes)];
    size_t used = 0;

    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++) {
        blocks[i] = must_alloc(device, sizes[i], device->stream);
        assert_int_equal(blocks[i]->bytes, rounded[i]);
        assert_int_equal((uintptr_t)blocks[i]->address % 512, 0);
        assert_ptr_equal(blocks[i]->home, device->stream);
        used += rounded[i];
        assert_int_equal(stats_of(device).used_bytes, used);
    }
    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++)
        kiln__pool_free(device, blocks[i], NULL, 0);
    assert_int_equal(stats_of(device).peak_used_bytes, used);
    assert_int_equal(stats_of(device).allocation_count, KILN_COUNT_OF(sizes));
    close_clean(device);
}

static void test_pool__zero_bytes_are_a_valid_block(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *other = must_stream(device);
    kiln__block *a = must_alloc(device, 0, device->stream);
    kiln__block *b = must_alloc(device, 0, device->stream);

    assert_ptr_not_equal(a, b);
    assert_null(a->address);
    assert_int_equal(a->bytes, 0);
    kiln__pool_free(device, a, &other, 1);
    kiln__pool_free(device, b, NULL, 0);
    kiln__pool_free(device, NULL, NULL, 0);
    assert_int_equal(f.raw_allocs, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__a_freed_block_is_reused_at_once(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);

    for (size_t bytes = 512; bytes <= 64 * MIB; bytes *= 2) {
        kiln__block *block = must_alloc(device, bytes, device->stream);
        void *address = block->address;
        uint64_t asked = stats_of(device).device_allocation_count;

        fake_use(device->stream, block); /* still running: the same stream does not mind */
        kiln__pool_free(device, block, NULL, 0);
        block = must_alloc(device, bytes, device->stream);
        assert_ptr_equal(block->address, address);
        assert_int_equal(stats_of(device).device_allocation_count, asked);
        kiln__pool_free(device, block, NULL, 0);
    }
    fake_finish(device->stream);
    close_clean(device);
}

/* Three neighbours, freed in each order, become one. */
static void test_pool__free_neighbours_become_one(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    fake f;
    kiln__device *device = fake_open(&f, 16 * MIB); /* one segment and no more */

    for (size_t k = 0; k < KILN_COUNT_OF(orders); k++) {
        kiln__block *blocks[3];
        for (int i = 0; i < 3; i++)
            blocks[i] = must_alloc(device, i == 1 ? 6 * MIB : 5 * MIB, device->stream);
        assert_int_equal(stats_of(device).held_bytes, 16 * MIB);
        for (int i = 0; i < 3; i++)
            kiln__pool_free(device, blocks[orders[k][i]], NULL, 0);
        kiln__block *whole = must_alloc(device, 16 * MIB, device->stream);
        kiln__pool_free(device, whole, NULL, 0);
    }
    assert_int_equal(f.raw_allocs, 1);
    close_clean(device);
}

static void test_pool__the_smallest_hole_that_fits_is_taken(void **state)
{
    (void)state;
    static const size_t holes[] = {7 * MIB, 3 * MIB, 5 * MIB, 4 * MIB};
    fake f;
    kiln__device *device = fake_open(&f, 64 * MIB);
    kiln__block *hole[KILN_COUNT_OF(holes)], *wall[KILN_COUNT_OF(holes)];
    void *address[KILN_COUNT_OF(holes)];

    /* One segment, with used blocks between the holes. */
    kiln__pool_free(device, must_alloc(device, 64 * MIB, device->stream), NULL, 0);
    for (size_t i = 0; i < KILN_COUNT_OF(holes); i++) {
        hole[i] = must_alloc(device, holes[i], device->stream);
        wall[i] = must_alloc(device, 2 * MIB, device->stream);
        address[i] = hole[i]->address;
    }
    for (size_t i = 0; i < KILN_COUNT_OF(holes); i++)
        kiln__pool_free(device, hole[i], NULL, 0);

    kiln__block *a = must_alloc(device, 4 * MIB - 512, device->stream);
    assert_ptr_equal(a->address, address[3]);
    kiln__block *b = must_alloc(device, 4 * MIB, device->stream);
    assert_ptr_equal(b->address, address[2]);
    kiln__block *c = must_alloc(device, 2 * MIB, device->stream);
    assert_ptr_equal(c->address, address[1]);
    kiln__pool_free(device, a, NULL, 0);
    kiln__pool_free(device, b, NULL, 0);
    kiln__pool_free(device, c, NULL, 0);
    for (size_t i = 0; i < KILN_COUNT_OF(holes); i++)
        kiln__pool_free(device, wall[i], NULL, 0);
    assert_int_equal(f.raw_allocs, 1);
    close_clean(device);
}

static void test_pool__a_small_block_does_not_hold_a_large_segment(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln__block *large = must_alloc(device, 256 * MIB, device->stream);
    kiln__block *hole = must_alloc(device, 100 * MIB, device->stream);

    kiln__pool_free(device, hole, NULL, 0);
    kiln__block *small = must_alloc(device, 4, device->stream);
    kiln__pool_free(device, large, NULL, 0);
    assert_true(kiln__pool_trim(device) >= 356 * MIB);
    assert_int_equal(stats_of(device).held_bytes, 2 * MIB);
    kiln__pool_free(device, small, NULL, 0);
    close_clean(device);
}

/* ---- limits and a full device ---- */

static void test_pool__a_limit_holds_and_names_the_figures(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 4 * GIB);
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(stats_of(device).limit_bytes, SIZE_MAX);
    f.address_only = true;
    kiln__pool_set_limit(device, 3 * GIB / 2);
    kiln__block *used = must_alloc(device, GIB, device->stream);
    assert_int_equal(kiln__pool_alloc(device, 768 * MIB, device->stream, &block, &err),
                     KILN_ERR_DEVICE_MEMORY);
    assert_null(block);
    assert_string_equal(err.message,
                        "fake:0 has no room for 768.00 MiB: in use 1.00 GiB, held by the pool "
                        "1.00 GiB, limit 1.50 GiB, free on the device 3.00 GiB of 4.00 GiB");
    kiln_error_clear(&err);
    /* Growing in advance would pass the limit; growing by what is needed does not. */
    block = must_alloc(device, 510 * MIB, device->stream);
    kiln__pool_free(device, block, NULL, 0);
    kiln__pool_set_limit(device, 0);
    block = must_alloc(device, 768 * MIB, device->stream);
    kiln__pool_free(device, block, NULL, 0);
    /* A limit below what is held stops growth, and gives nothing back by itself. */
    kiln__pool_set_limit(device, 512);
    assert_int_equal(kiln__pool_alloc(device, 2 * GIB, device->stream, &block, &err),
                     KILN_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(err.message, "limit 512 B"));
    kiln_error_clear(&err);
    kiln__pool_free(device, used, NULL, 0);
    close_clean(device);
}

static void test_pool__absurd_sizes_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 511, SIZE_MAX / 2 + 1, SIZE_MAX / 2};
    fake f;
    kiln__device *device = fake_open(&f, GIB);

    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++) {
        kiln__block *block = NULL;
        assert_int_equal(kiln__pool_alloc(device, sizes[i], device->stream, &block, NULL),
                         KILN_ERR_DEVICE_MEMORY);
        assert_null(block);
    }
    assert_int_equal(f.raw_allocs, 0);
    close_clean(device);
}

static void test_pool__a_full_device_takes_back_what_other_streams_have_free(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 100 * MIB);
    kiln_stream *other = must_stream(device);
    kiln__block *block = must_alloc(device, 80 * MIB, other);

    fake_use(other, block);
    kiln__pool_free(device, block, NULL, 0);
    block = must_alloc(device, 80 * MIB, device->stream);
    /* The stream waits for the other one's work; the host does not, and nothing goes to the device. */
    assert_int_equal(f.stream_waits + f.event_waits, 0);
    assert_int_equal(f.raw_frees, 0);
    assert_int_equal(f.raw_allocs, 1);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__a_full_device_waits_for_pending_blocks(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 100 * MIB);
    kiln_stream *other = must_stream(device);
    kiln__block *block = must_alloc(device, 100 * MIB, device->stream);

    fake_use(other, block);
    kiln__pool_free(device, block, &other, 1);
    block = must_alloc(device, 90 * MIB, device->stream);
    assert_int_equal(f.stream_waits + f.event_waits, 0);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__a_small_block_may_end_up_in_a_large_segment(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 16 * MIB);
    kiln__block *large = must_alloc(device, 15 * MIB, device->stream);
    kiln__block *small = must_alloc(device, 100 * KIB, device->stream);

    assert_int_equal(f.allocated, 16 * MIB);
    kiln__pool_free(device, large, NULL, 0);
    kiln__pool_free(device, small, NULL, 0);
    large = must_alloc(device, 16 * MIB, device->stream);
    kiln__pool_free(device, large, NULL, 0);
    close_clean(device);
}

static void test_pool__a_failing_device_is_reported_as_it_fails(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    f.raw_status = KILN_ERR_FAULT;
    assert_int_equal(kiln__pool_alloc(device, MIB, device->stream, &block, &err), KILN_ERR_FAULT);
    assert_null(block);
    assert_string_equal(err.message, "as the test wanted");
    kiln_error_clear(&err);
    assert_int_equal(stats_of(device).held_bytes, 0);
    f.raw_status = KILN_OK;
    kiln__pool_free(device, must_alloc(device, MIB, device->stream), NULL, 0);
    close_clean(device);
}

static void test_pool__trim_gives_back_what_is_free(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln__block *kept = must_alloc(device, 100 * MIB, device->stream);
    kiln__block *freed = must_alloc(device, 200 * MIB, device->stream);

    fake_use(device->stream, freed);
    kiln__pool_free(device, freed, NULL, 0);
    assert_int_equal(kiln__pool_trim(device), 200 * MIB);
    assert_int_equal(stats_of(device).held_bytes, 100 * MIB);
    assert_int_equal(kiln__pool_trim(device), 0);
    kiln__pool_free(device, kept, NULL, 0);
    assert_int_equal(kiln__pool_trim(device), 100 * MIB);
    assert_int_equal(f.allocated, 0);
    close_clean(device);
}

/* Ever larger requests: what the earlier ones left is too small for any later one. */
static void test_pool__does_not_hoard_segments_of_old_sizes(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 64 * GIB);

    f.address_only = true;
    for (size_t bytes = GIB; bytes <= 2 * GIB; bytes += 64 * MIB) {
        kiln__block *block = must_alloc(device, bytes, device->stream);
        kiln__pool_free(device, block, NULL, 0);
    }
    assert_true(stats_of(device).held_bytes < 5 * GIB); /* and not 25 */
    /* A few hundred megabytes are kept: giving them back would cost more than they are worth. */
    kiln__pool_trim(device);
    size_t frees = f.raw_frees;
    for (size_t bytes = 20 * MIB; bytes <= 100 * MIB; bytes += 20 * MIB) {
        kiln__block *block = must_alloc(device, bytes, device->stream);
        kiln__pool_free(device, block, NULL, 0);
    }
    assert_int_equal(f.raw_frees, frees);
    close_clean(device);
}

/* ---- several streams ---- */

static void test_pool__streams_do_not_share_free_blocks(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *other = must_stream(device);
    kiln__block *block = must_alloc(device, 4 * MIB, device->stream);
    void *address = block->address;

    kiln__pool_free(device, block, NULL, 0);
    block = must_alloc(device, 4 * MIB, other);
    assert_ptr_not_equal(block->address, address);
    assert_ptr_equal(block->home, other);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__reuse_waits_for_the_other_users(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *users[2] = {must_stream(device), must_stream(device)};
    kiln__block *block = must_alloc(device, 16 * MIB, device->stream);
    void *address = block->address;

    fake_use(users[0], block);
    fake_use(users[1], block);
    kiln__pool_free(device, block, users, 2);
    assert_int_equal(stats_of(device).used_bytes, 0);
    for (int finished = 0; finished < 2; finished++) {
        block = must_alloc(device, 16 * MIB, device->stream);
        assert_ptr_not_equal(block->address, address);
        kiln__pool_free(device, block, NULL, 0);
        fake_use(users[0], NULL); /* later work does not count */
        fake_finish(users[finished]);
    }
    /* Both have passed; the next blocks that do not fit elsewhere find it. */
    kiln__block *first = must_alloc(device, 16 * MIB, device->stream);
    kiln__block *second = must_alloc(device, 16 * MIB, device->stream);
    assert_true(first->address == address || second->address == address);
    assert_int_equal(f.event_waits + f.stream_waits, 0);
    kiln__pool_free(device, first, NULL, 0);
    kiln__pool_free(device, second, NULL, 0);
    fake_finish(users[0]);
    kiln__stream_destroy(users[0]);
    kiln__stream_destroy(users[1]);
    close_clean(device);
}

static void test_pool__home_and_nobody_are_no_other_users(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *users[2] = {device->stream, NULL};
    kiln__block *block = must_alloc(device, 16 * MIB, device->stream);
    void *address = block->address;

    fake_use(device->stream, block);
    kiln__pool_free(device, block, users, 2);
    block = must_alloc(device, 16 * MIB, device->stream);
    assert_ptr_equal(block->address, address);
    kiln__pool_free(device, block, NULL, 0);
    assert_int_equal(f.events_alive, 0);
    fake_finish(device->stream);
    close_clean(device);
}

static void test_pool__pending_blocks_are_found_again_on_hits(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *other = must_stream(device);

    /* Each round frees a pending block; were they only looked at on a miss, they would pile up. */
    kiln__pool_free(device, must_alloc(device, 512 * MIB, device->stream), NULL, 0);
    for (int i = 0; i < 1000; i++) {
        kiln__block *block = must_alloc(device, 2 * MIB, device->stream);
        fake_use(other, block);
        kiln__pool_free(device, block, &other, 1);
        fake_finish(other);
    }
    assert_true(f.events_alive <= 2 * 16);
    assert_int_equal(f.raw_allocs, 1);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__a_block_outlives_its_stream(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 64 * MIB);
    kiln_stream *gone = must_stream(device);
    kiln__block *a = must_alloc(device, 32 * MIB, gone);
    kiln__block *b = must_alloc(device, 32 * MIB, gone);
    void *address = a->address;

    fake_use(gone, a);
    kiln__stream_destroy(gone);
    assert_true(a->home == gone && b->home == gone);
    kiln__pool_free(device, a, NULL, 0);
    kiln__pool_free(device, b, &device->stream, 1);
    assert_int_equal(f.raw_frees, 0); /* spare, for the next stream that needs it */

    /* Its work is unfinished: the device's stream must wait for it or for the device. */
    assert_int_equal(f.event_waits, 0);
    kiln__block *c = must_alloc(device, 32 * MIB, device->stream);
    assert_int_equal(f.event_waits, 1);
    kiln__pool_free(device, c, NULL, 0);
    (void)address;
    close_clean(device);
}

static void test_pool__memory_of_a_finished_stream_is_adopted(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);

    for (int round = 0; round < 20; round++) {
        kiln_stream *stream = must_stream(device);
        kiln__block *block = must_alloc(device, 32 * MIB, stream);
        fake_use(stream, block);
        kiln__pool_free(device, block, NULL, 0);
        kiln__stream_destroy(stream);
        fake_finish_at(&f, f.stream_count - 1);
    }
    assert_int_equal(f.raw_allocs, 1);
    assert_int_equal(stats_of(device).allocation_count, 20);
    assert_true(kiln__pool_trim(device) >= 32 * MIB);
    close_clean(device);
}

static void test_pool__a_closed_stream_can_still_be_named_as_a_user(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *user = kiln__stream_retain(must_stream(device));
    kiln__block *block = must_alloc(device, MIB, device->stream);

    fake_use(user, block);
    kiln__stream_destroy(user);
    kiln__pool_free(device, block, &user, 1);
    assert_int_equal(f.event_waits, 1); /* its last work was waited for */
    kiln__stream_release(user);
    close_clean(device);
}

static void test_pool__a_stream_waits_for_another(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *other = must_stream(device);
    fake_stream *native = device->stream->native;

    assert_int_equal(kiln__stream_wait(device->stream, other, NULL), KILN_OK);
    assert_int_equal(native->enqueued, 1);
    assert_int_equal(kiln__stream_wait(device->stream, device->stream, NULL), KILN_OK);
    assert_int_equal(native->enqueued, 1);
    kiln__stream_destroy(other);
    close_clean(device);
}

/* ---- forks, faults, failures ---- */

static void test_pool__a_forked_child_leaves_the_device_alone(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_stream *other = must_stream(device);
    kiln__block *block = must_alloc(device, MIB, device->stream);

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_stream *stream = NULL;
        bool refused = kiln__device_check(device, &err) == KILN_ERR_FORK &&
                       strstr(err.message, "fake:0") != NULL &&
                       strstr(err.message, "exec") != NULL &&
                       kiln__stream_synchronize(other, NULL) == KILN_ERR_FORK &&
                       kiln__stream_create(device, NULL, &stream, NULL) == KILN_ERR_FORK &&
                       kiln__stream_wait(device->stream, other, NULL) == KILN_ERR_FORK;
        kiln__pool_free(device, block, &other, 1);
        bool trimmed = kiln__pool_trim(device) > 0;
        kiln__stream_destroy(other);
        fake_close(device);
        _exit(refused && !trimmed && f.raw_frees == 0 && f.late_uses == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool__a_fault_is_remembered(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, GIB);
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__device_check(device, NULL), KILN_OK);
    assert_int_equal(kiln__device_fault(device, "an illegal address", &err), KILN_ERR_FAULT);
    assert_non_null(strstr(err.message, "fake:0"));
    assert_non_null(strstr(err.message, "an illegal address"));
    kiln_error_clear(&err);
    assert_int_equal(kiln__device_fault(device, "something later", &err), KILN_ERR_FAULT);
    assert_non_null(strstr(err.message, "an illegal address"));
    kiln_error_clear(&err);
    assert_int_equal(kiln__device_check(device, NULL), KILN_ERR_FAULT);
    close_clean(device);
}

#ifdef KILN_TEST_HOOKS
/* What a program does with a pool, at the mercy of the host's memory. */
static kiln_status use_pool(kiln__device *device)
{
    kiln_status status = KILN_OK;
    kiln_stream *stream = NULL;
    kiln__block *blocks[3] = {NULL};

    KILN_TRY(kiln__stream_create(device, NULL, &stream, NULL));
    KILN_TRY(kiln__pool_alloc(device, 0, stream, &blocks[0], NULL));
    KILN_TRY(kiln__pool_alloc(device, 100, stream, &blocks[1], NULL));
    KILN_TRY(kiln__pool_alloc(device, 5 * MIB, stream, &blocks[2], NULL));

done:
    for (int i = 0; i < 3; i++)
        kiln__pool_free(device, blocks[i], &device->stream, 1);
    kiln__stream_destroy(stream);
    return status;
}

static void test_pool__survives_each_allocation_failure(void **state)
{
    (void)state;
    kiln_status status = KILN_ERR_NO_MEMORY;
    size_t failures = 0;

    for (size_t nth = 0; status != KILN_OK || failures == 0; nth++) {
        fake f;
        size_t live = kiln__test_alloc_live();
        kiln__device *device = fake_open(&f, GIB);

        kiln__test_alloc_fail_at(nth);
        status = use_pool(device);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        failures += status != KILN_OK;
        close_clean(device);
        assert_int_equal(kiln__test_alloc_live(), live);
        assert_true(nth < 50);
    }
    assert_true(failures >= 4);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool__sizes_are_rounded_and_aligned),
        cmocka_unit_test(test_pool__zero_bytes_are_a_valid_block),
        cmocka_unit_test(test_pool__a_freed_block_is_reused_at_once),
        cmocka_unit_test(test_pool__free_neighbours_become_one),
        cmocka_unit_test(test_pool__the_smallest_hole_that_fits_is_taken),
        cmocka_unit_test(test_pool__a_small_block_does_not_hold_a_large_segment),
        cmocka_unit_test(test_pool__a_limit_holds_and_names_the_figures),
        cmocka_unit_test(test_pool__absurd_sizes_are_refused),
        cmocka_unit_test(test_pool__a_full_device_takes_back_what_other_streams_have_free),
        cmocka_unit_test(test_pool__a_full_device_waits_for_pending_blocks),
        cmocka_unit_test(test_pool__a_small_block_may_end_up_in_a_large_segment),
        cmocka_unit_test(test_pool__a_failing_device_is_reported_as_it_fails),
        cmocka_unit_test(test_pool__trim_gives_back_what_is_free),
        cmocka_unit_test(test_pool__does_not_hoard_segments_of_old_sizes),
        cmocka_unit_test(test_pool__streams_do_not_share_free_blocks),
        cmocka_unit_test(test_pool__reuse_waits_for_the_other_users),
        cmocka_unit_test(test_pool__home_and_nobody_are_no_other_users),
        cmocka_unit_test(test_pool__pending_blocks_are_found_again_on_hits),
        cmocka_unit_test(test_pool__a_block_outlives_its_stream),
        cmocka_unit_test(test_pool__memory_of_a_finished_stream_is_adopted),
        cmocka_unit_test(test_pool__a_closed_stream_can_still_be_named_as_a_user),
        cmocka_unit_test(test_pool__a_stream_waits_for_another),
        cmocka_unit_test(test_pool__a_forked_child_leaves_the_device_alone),
        cmocka_unit_test(test_pool__a_fault_is_remembered),
#ifdef KILN_TEST_HOOKS
        cmocka_unit_test(test_pool__survives_each_allocation_failure),
#endif
    };

    return cmocka_run_group_tests_name("test_pool", tests, NULL, NULL);
}
