/*
 * test_pool_short.c - src/device/pool*.c where memory is short: streams that wait instead of the host,
 * the program's shortage function, what the message says, and memory from a source of the program's.
 */
#include "fake_device.h"

#include <stdlib.h>

/* ---- waiting for other streams ---- */

static void test_pool_short__a_stream_waits_for_blocks_that_others_use(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 100 * MIB);
    kiln_stream *other = must_stream(device), *third = must_stream(device);
    kiln__block *block = must_alloc(device, 60 * MIB, device->stream);
    kiln__block *second = must_alloc(device, 30 * MIB, device->stream);

    fake_use(other, block);
    fake_use(third, second);
    kiln__pool_free(device, block, &other, 1);
    kiln__pool_free(device, second, &third, 1);
    /* The first is enough: nobody waits for the third stream. */
    block = must_alloc(device, 60 * MIB, device->stream);
    assert_int_equal(((fake_stream *)device->stream->native)->waits, 1);
    second = must_alloc(device, 30 * MIB, device->stream);
    assert_int_equal(((fake_stream *)device->stream->native)->waits, 2);
    assert_int_equal(f.event_waits + f.stream_waits, 0);
    kiln__pool_free(device, block, NULL, 0);
    kiln__pool_free(device, second, NULL, 0);
    /* Given back to the device, the memory is in use by nobody. */
    assert_true(kiln__pool_trim(device) >= 90 * MIB);
    kiln__stream_destroy(other);
    kiln__stream_destroy(third);
    close_clean(device);
}

static void test_pool_short__a_segment_moves_between_streams_with_its_work(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 64 * MIB);
    kiln_stream *streams[3] = {must_stream(device), must_stream(device), must_stream(device)};

    for (int k = 0; k < 30; k++) {
        kiln__block *block = must_alloc(device, 40 * MIB, streams[k % 3]);
        fake_use(streams[k % 3], block);
        kiln__pool_free(device, block, NULL, 0);
    }
    assert_int_equal(f.raw_allocs, 1);
    assert_int_equal(f.event_waits + f.stream_waits, 0);
    kiln__stream_destroy(streams[1]);
    kiln__block *block = must_alloc(device, 40 * MIB, streams[0]);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(streams[0]);
    kiln__stream_destroy(streams[2]);
    close_clean(device);
}

static void test_pool_short__random_requests_never_share_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    enum { ROUNDS = 4000 }; /* whose shadow of a block is written at each request */
#else
    enum { ROUNDS = 20000 };
#endif
    enum { STREAMS = 4, BLOCKS = 12 };
    fake f;
    kiln__device *device = fake_open(&f, 128 * MIB);
    kiln_stream *streams[STREAMS];
    kiln__block *blocks[BLOCKS] = {NULL};
    uint64_t seed = 5;
    size_t refused = 0;

    for (int s = 0; s < STREAMS; s++)
        streams[s] = must_stream(device);
    for (int k = 0; k < ROUNDS; k++) {
        const size_t b = next_random(&seed) % BLOCKS, s = next_random(&seed) % STREAMS;
        if (blocks[b] != NULL) {
            kiln_stream *used_on[2] = {streams[s], streams[(s + 1) % STREAMS]};
            fake_use(streams[s], blocks[b]);
            fake_use(blocks[b]->home, blocks[b]);
            kiln__pool_free(device, blocks[b], used_on, 2);
            blocks[b] = NULL;
        } else {
            const size_t bytes = 1 + next_random(&seed) % (16 * MIB);
            const kiln_status status =
                kiln__pool_alloc(device, bytes, streams[s], &blocks[b], NULL);
            refused += status == KILN_ERR_DEVICE_MEMORY;
            if (blocks[b] != NULL)
                assert_false(fake_is_in_use(blocks[b]));
        }
        if (next_random(&seed) % 16 == 0)
            fake_finish(streams[s]);
    }
    print_message("%zu of %d requests refused\n", refused, ROUNDS);
    assert_true(refused < ROUNDS / 50);
    for (int b = 0; b < BLOCKS; b++)
        kiln__pool_free(device, blocks[b], NULL, 0);
    for (int s = 0; s < STREAMS; s++)
        kiln__stream_destroy(streams[s]);
    close_clean(device);
}

/* ---- the shortage function ---- */

typedef struct helper {
    kiln__device *device;
    kiln__block *spare[3];
    int asked, nested;
    size_t bytes;
} helper;

static bool let_go(void *user, size_t bytes)
{
    helper *h = user;
    kiln__block *none = NULL;

    h->bytes = bytes;
    h->asked++;
    /* A failure in here does not ask again. */
    h->nested +=
        kiln__pool_alloc(h->device, GIB, h->device->stream, &none, NULL) == KILN_ERR_DEVICE_MEMORY;
    for (size_t k = 0; k < KILN_COUNT_OF(h->spare); k++)
        if (h->spare[k] != NULL) {
            kiln__pool_free(h->device, h->spare[k], NULL, 0);
            h->spare[k] = NULL;
            return true;
        }
    return false;
}

static void test_pool_short__the_program_is_asked_before_a_failure(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 100 * MIB);
    helper h = {.device = device};
    kiln__block *block = NULL;

    kiln__pool_set_shortage(device, let_go, &h);
    for (size_t k = 0; k < KILN_COUNT_OF(h.spare); k++)
        h.spare[k] = must_alloc(device, 30 * MIB, device->stream);
    assert_int_equal(h.asked, 0);
    block = must_alloc(device, 50 * MIB, device->stream); /* two of them have to go */
    assert_int_equal(h.asked, 2);
    assert_int_equal(h.nested, 2);
    assert_int_equal(h.bytes, 50 * MIB);
    kiln__block *none = NULL;
    assert_int_equal(kiln__pool_alloc(device, 200 * MIB, device->stream, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    assert_int_equal(h.asked, 4); /* it gave up the third, then had nothing left */
    kiln__pool_free(device, block, NULL, 0);
    close_clean(device);
}

/* ---- what is said ---- */

static void test_pool_short__the_message_names_the_largest_labels(void **state)
{
    (void)state;
    fake f;
    kiln__device *device = fake_open(&f, 100 * MIB);
    kiln_error err = KILN_ERROR_INIT;
    kiln__block *blocks[6], *none = NULL;
    static const struct {
        const char *label;
        size_t bytes;
    } wanted[] = {{"weights", 40 * MIB}, {"cache", 2 * MIB},  {"weights", 10 * MIB},
                  {NULL, 5 * MIB},       {"batch", 20 * MIB}, {"cache", MIB}};

    for (size_t k = 0; k < KILN_COUNT_OF(wanted); k++) {
        if (wanted[k].label != NULL)
            kiln_scope_push(wanted[k].label);
        blocks[k] = must_alloc(device, wanted[k].bytes, device->stream);
        if (wanted[k].label != NULL)
            kiln_scope_pop();
    }
    assert_int_equal(kiln__pool_alloc(device, 50 * MIB, device->stream, &none, &err),
                     KILN_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(err.message, "fake:0 has no room for 50.00 MiB: in use 78.00 MiB"));
    assert_non_null(strstr(err.message,
                           "; most of it for \"weights\" 50.00 MiB in 2 blocks, "
                           "\"batch\" 20.00 MiB in 1 block, no label 5.00 MiB in 1 block"));
    kiln_error_clear(&err);
    for (size_t k = 0; k < KILN_COUNT_OF(wanted); k++)
        kiln__pool_free(device, blocks[k], NULL, 0);
    close_clean(device);
}

typedef struct limits {
    size_t met, failed;
} limits;

static void note_limit(void *user, const kiln_observation *what)
{
    limits *l = user;

    l->met++;
    l->failed += what->status == KILN_ERR_DEVICE_MEMORY;
}

static void test_pool_short__observers_hear_of_a_limit(void **state)
{
    (void)state;
    fake f;
    limits l = {0, 0};
    kiln__device *device = fake_open(&f, 100 * MIB);
    kiln_stream *other = must_stream(device);
    kiln__observer observer = {
        .kinds = KILN_OBSERVE(KILN_OBSERVED_LIMIT), .fn = note_limit, .user = &l};
    kiln__block *block = must_alloc(device, 60 * MIB, other), *none = NULL;

    kiln__observer_add(&observer);
    assert_int_equal(kiln__pool_alloc(device, 60 * MIB, device->stream, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    assert_int_equal(l.met, 1);
    assert_int_equal(l.failed, 1);
    kiln__pool_free(device, block, NULL, 0);
    block = must_alloc(device, 60 * MIB, device->stream);
    assert_int_equal(l.met, 2); /* met, and served from the other stream */
    assert_int_equal(l.failed, 1);
    kiln__observer_remove(&observer);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(other);
    close_clean(device);
}

/* ---- sources ---- */

typedef struct source {
    size_t allocs, frees, bytes, most;
    size_t misaligned; /* by this much */
    void *stream;      /* of the last call */
} source;

static bool source_alloc(void *user, size_t bytes, void *stream, void **memory_out)
{
    source *s = user;
    char *const memory = s->bytes + bytes <= s->most ? aligned_alloc(512, bytes + 512) : NULL;

    if (memory == NULL)
        return false;
    s->stream = stream;
    s->allocs++;
    s->bytes += bytes;
    *memory_out = memory + s->misaligned;
    return true;
}

static void source_free(void *user, void *memory, size_t bytes, void *stream)
{
    source *s = user;

    s->stream = stream;
    s->frees++;
    s->bytes -= bytes;
    free((char *)memory - s->misaligned);
}

static void test_pool_short__a_source_gives_large_pieces(void **state)
{
    (void)state;
    fake f;
    source s = {.most = 64 * MIB};
    kiln__device *device = fake_open(&f, 0);
    const kiln_memory_source given = {source_alloc, source_free, &s, false};
    kiln__block *blocks[100], *none = NULL;

    assert_int_equal(kiln__pool_set_source(device, &given, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(blocks); k++)
        blocks[k] = must_alloc(device, 10 * KIB, device->stream);
    assert_int_equal(s.allocs, 1);
    assert_ptr_equal(s.stream, device->stream->native);
    assert_int_equal(kiln__pool_alloc(device, 70 * MIB, device->stream, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    for (size_t k = 0; k < KILN_COUNT_OF(blocks); k++)
        kiln__pool_free(device, blocks[k], NULL, 0);
    assert_int_equal(kiln__pool_trim(device), 2 * MIB);
    assert_int_equal(s.frees, 1);
    assert_int_equal(s.bytes, 0);
    assert_int_equal(f.raw_allocs, 0);
    close_clean(device);
}

static void test_pool_short__a_direct_source_has_every_block(void **state)
{
    (void)state;
    fake f;
    source s = {.most = 64 * MIB};
    kiln__device *device = fake_open(&f, 0);
    kiln_stream *other = must_stream(device), *gone = must_stream(device);
    const kiln_memory_source given = {source_alloc, source_free, &s, true};
    kiln__block *blocks[3], *none = NULL;

    assert_int_equal(kiln__pool_set_source(device, &given, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(blocks); k++)
        blocks[k] = must_alloc(device, 1000, k == 2 ? gone : device->stream);
    none = must_alloc(device, 0, device->stream);
    assert_null(none->address);
    assert_int_equal(s.allocs, 3);
    assert_int_equal(s.bytes, 3 * 1024);
    assert_int_equal(stats_of(device).held_bytes, 3 * 1024);
    assert_int_equal(stats_of(device).used_bytes, 3 * 1024);
    kiln__pool_free(device, none, NULL, 0);
    kiln__pool_free(device, blocks[0], NULL, 0);
    assert_int_equal(s.frees, 1);
    /* Given back behind the work of another stream, without the host waiting. */
    fake_use(other, blocks[1]);
    kiln__pool_free(device, blocks[1], &other, 1);
    assert_int_equal(s.frees, 2);
    assert_int_equal(((fake_stream *)device->stream->native)->waits, 1);
    assert_int_equal(f.event_waits + f.stream_waits, 0);
    /* The stream that the block is of has gone: its work is waited for. */
    fake_use(gone, blocks[2]);
    kiln__stream_destroy(gone);
    kiln__pool_free(device, blocks[2], NULL, 0);
    assert_int_equal(f.event_waits, 1);
    assert_int_equal(s.bytes, 0);
    /* Limits hold, and failures are reported. */
    kiln__pool_set_limit(device, MIB);
    assert_int_equal(kiln__pool_alloc(device, 2 * MIB, device->stream, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    kiln__pool_set_limit(device, 0);
    assert_int_equal(kiln__pool_alloc(device, 65 * MIB, device->stream, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    kiln__stream_destroy(other);
    close_clean(device);
}

static void test_pool_short__a_source_that_cannot_serve_is_refused(void **state)
{
    (void)state;
    fake f;
    source s = {.most = 64 * MIB, .misaligned = 8};
    kiln__device *device = fake_open(&f, 0);
    kiln_memory_source given = {NULL, source_free, &s, true};
    kiln_error err = KILN_ERROR_INIT;
    kiln__block *none = NULL;

    assert_int_equal(kiln__pool_set_source(device, &given, &err), KILN_ERR_NULL);
    assert_non_null(strstr(err.message, "alloc"));
    assert_int_equal(kiln__pool_set_source(device, KILN_MEMORY_ASYNC, &err), KILN_ERR_UNSUPPORTED);
    given.alloc = source_alloc;
    assert_int_equal(kiln__pool_set_source(device, &given, NULL), KILN_OK);
    assert_int_equal(kiln__pool_alloc(device, 100, device->stream, &none, &err), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "256"));
    assert_int_equal(s.bytes, 0);
    kiln_error_clear(&err);
    close_clean(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_short__a_stream_waits_for_blocks_that_others_use),
        cmocka_unit_test(test_pool_short__a_segment_moves_between_streams_with_its_work),
        cmocka_unit_test(test_pool_short__random_requests_never_share_memory),
        cmocka_unit_test(test_pool_short__the_program_is_asked_before_a_failure),
        cmocka_unit_test(test_pool_short__the_message_names_the_largest_labels),
        cmocka_unit_test(test_pool_short__observers_hear_of_a_limit),
        cmocka_unit_test(test_pool_short__a_source_gives_large_pieces),
        cmocka_unit_test(test_pool_short__a_direct_source_has_every_block),
        cmocka_unit_test(test_pool_short__a_source_that_cannot_serve_is_refused),
    };

    return cmocka_run_group_tests_name("test_pool_short", tests, NULL, NULL);
}
