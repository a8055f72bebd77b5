/*
 * test_pool_streams.c - blocks of random sizes come and go on eight streams of a real device, in the order of the
 * streams alone: no thread waits between them.
 *
 * Some of the blocks are filled with a mark by a kernel, and a later kernel, often on another stream, looks whether
 * each byte of it is still there: whatever else had the memory meanwhile, or too early, shows.
 *
 *     KILN_TEST_ALLOCATIONS=1000000 compute-sanitizer build/tests/test_pool_streams cuda
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "device/device.h"
#include "test_env.h"

enum { STREAMS = 8, HELD = 1024, ALLOCATIONS = 20000, MARKED_OF = 8, TRIMMED_OF = 5000 };

static const char *const source =
    "extern \"C\" __global__ void put(unsigned long long at, long long bytes, unsigned char mark) "
    "{\n"
    "    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < bytes)\n"
    "        ((unsigned char *)at)[i] = mark;\n"
    "}\n"
    "extern \"C\" __global__ void look(unsigned long long at, long long bytes, unsigned char "
    "mark,\n"
    "                                int *wrong) {\n"
    "    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < bytes && ((unsigned char *)at)[i] != mark)\n"
    "        wrong[0] = 1;\n"
    "}\n";

typedef struct held_block {
    kiln__block *block;
    int64_t bytes;
    int home;
    uint8_t mark; /* 0: it was not filled */
} held_block;

typedef struct pool_run {
    kiln_stream *streams[STREAMS];
    kiln_module *module;
    kiln_raw *put, *look;
    kiln_array *wrong;
    held_block held[HELD];
    int64_t marked;
} pool_run;

static void open_run(test_env *t, pool_run *r)
{
    const int64_t one = 1;

    OK(t, kiln_module_create(t->ctx, source, NULL, &r->module, &t->err));
    OK(t, kiln_module_kernel(r->module, "put", "uint64 at, int64 bytes, uint8 mark", &r->put,
                             &t->err));
    OK(t,
       kiln_module_kernel(r->module, "look", "uint64 at, int64 bytes, uint8 mark, raw int32 wrong",
                          &r->look, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, &one, &r->wrong, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int s = 0; s < STREAMS; s++)
        OK(t, kiln_stream_create(t->ctx, NULL, &r->streams[s], &t->err));
}

static kiln_raw_call_options launch_over(int64_t bytes, kiln_stream *stream)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;

    o.block[0] = 256;
    o.grid[0] = (bytes + 255) / 256;
    o.stream = stream;
    return o;
}

static void take(test_env *t, pool_run *r, held_block *h)
{
    const int64_t most = (int64_t)1 << test_random_below(t, 21);

    h->bytes = (int64_t)test_random_below(t, (uint64_t)most);
    h->home = (int)test_random_below(t, STREAMS);
    OK(t, kiln__pool_alloc(kiln__context_device(t->ctx), (size_t)h->bytes, r->streams[h->home],
                           &h->block, &t->err));
    h->mark = test_random_below(t, MARKED_OF) != 0 ? 0 : (uint8_t)(1 + test_random_below(t, 255));
    if (h->mark == 0)
        return;
    const kiln_raw_call_options o = launch_over(h->bytes, r->streams[h->home]);
    r->marked++;
    OK(t, kiln_call_with(r->put, &o, &t->err, (uint64_t)(uintptr_t)h->block->address, h->bytes,
                         (int)h->mark));
}

/* The last use is on the block's own stream or on one that waits for it. */
static void give(test_env *t, pool_run *r, held_block *h)
{
    kiln_stream *user = r->streams[test_random_below(t, STREAMS)];
    const bool shared = h->mark != 0 && user != r->streams[h->home];

    if (h->mark != 0) {
        const kiln_raw_call_options o = launch_over(h->bytes, user);
        if (shared)
            OK(t, kiln_stream_wait(t->ctx, user, r->streams[h->home], &t->err));
        OK(t, kiln_call_with(r->look, &o, &t->err, (uint64_t)(uintptr_t)h->block->address, h->bytes,
                             (int)h->mark, r->wrong));
    }
    kiln__pool_free(kiln__context_device(t->ctx), h->block, &user, shared);
    h->block = NULL;
}

static void close_run(test_env *t, pool_run *r)
{
    for (int k = 0; k < HELD; k++)
        if (r->held[k].block != NULL)
            give(t, r, &r->held[k]);
    for (int s = 0; s < STREAMS; s++)
        kiln_stream_destroy(r->streams[s]);
    kiln_raw_destroy(r->put);
    kiln_raw_destroy(r->look);
    kiln_module_destroy(r->module);
    kiln_array_release(r->wrong);
}

static void test_pool_streams__random_blocks_keep_their_bytes(void **state)
{
    test_env *t = *state;
    const char *const given = getenv("KILN_TEST_ALLOCATIONS");
    const int64_t count = given != NULL ? atoll(given) : ALLOCATIONS;
    static pool_run r;
    int wrong = -1;

    memset(&r, 0, sizeof r);
    open_run(t, &r);
    for (int64_t taken = 0; taken < count;) {
        held_block *const h = &r.held[test_random_below(t, HELD)];
        if (h->block != NULL) {
            give(t, &r, h);
            continue;
        }
        take(t, &r, h);
        if (++taken % TRIMMED_OF == 0)
            (void)kiln__pool_trim(kiln__context_device(t->ctx));
    }
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_array_to_host(r.wrong, &wrong, sizeof wrong, NULL, &t->err));
    printf("%lld blocks, %lld of them marked\n", (long long)count, (long long)r.marked);
    assert_true(r.marked > count / (2 * MARKED_OF));
    assert_int_equal(wrong, 0);
    close_run(t, &r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pool_streams__random_blocks_keep_their_bytes),
    };

    return test_env_main(argc, argv, "test_pool_streams", tests, COUNT(tests));
}
