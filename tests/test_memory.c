/*
 * test_memory.c - kiln/memory.h: page-locked memory and its pool, uploads, downloads, copies between
 * contexts.
 *
 * A host call that waits for the test holds a CUDA stream back, so that what a function does while
 * copies are still to come can be seen whatever the machine's speed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kiln/dlpack.h"
#include "test_env.h"

static atomic_bool gate;

static void wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate))
        usleep(100);
}

/* ---- the pool ---- */

static void test_memory__blocks_are_used_again(void **state)
{
    test_env *t = *state;
    static const size_t sizes[] = {1, 255, 4096, 4097, 6144, 6145, 100000, 5 << 20};
    void *first[COUNT(sizes)], *again = NULL;
    kiln_pool_stats stats;
    size_t least = 0;

    for (size_t k = 0; k < COUNT(sizes); k++) {
        OK(t, kiln_host_alloc(t->ctx, sizes[k], 0, &first[k], &t->err));
        assert_int_equal((uintptr_t)first[k] % 256, 0);
        memset(first[k], (int)k, sizes[k]);
        least += sizes[k];
    }
    for (size_t k = 0; k < COUNT(sizes); k++)
        for (size_t b = 0; b < sizes[k]; b++)
            if (((unsigned char *)first[k])[b] != k)
                fail_msg("block %zu shares memory with another", k);
    kiln_host_pool_stats(t->ctx, &stats);
    assert_true(stats.used_bytes >= least && stats.used_bytes == stats.held_bytes);
    assert_int_equal(stats.device_allocation_count, COUNT(sizes));
    for (size_t k = 0; k < COUNT(sizes); k++) {
        kiln_host_free(t->ctx, first[k]);
        OK(t, kiln_host_alloc(t->ctx, sizes[k], 0, &again, &t->err));
        assert_ptr_equal(again, first[k]);
        kiln_host_free(t->ctx, again);
    }
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.device_allocation_count, COUNT(sizes));
    assert_int_equal(stats.allocation_count, 2 * COUNT(sizes));
    assert_true(stats.peak_used_bytes >= least);
    assert_int_equal(kiln_host_pool_trim(t->ctx), stats.held_bytes);
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.held_bytes, 0);
}

static void test_memory__the_limit_holds(void **state)
{
    test_env *t = *state;
    void *a = NULL, *b = NULL;
    kiln_pool_stats stats;

    kiln_host_pool_set_limit(t->ctx, 1 << 20);
    OK(t, kiln_host_alloc(t->ctx, 1 << 19, 0, &a, &t->err));
    FAILS(t, KILN_ERR_NO_MEMORY, kiln_host_alloc(t->ctx, (1 << 19) + 1, 0, &b, &t->err), "limit",
          "1048576");
    assert_null(b);
    kiln_host_free(t->ctx, a);
    /* What is free makes room for what is asked for. */
    OK(t, kiln_host_alloc(t->ctx, 1 << 20, 0, &b, &t->err));
    kiln_host_free(t->ctx, b);
    kiln_host_pool_set_limit(t->ctx, 0);
    OK(t, kiln_host_alloc(t->ctx, 4 << 20, 0, &b, &t->err));
    kiln_host_free(t->ctx, b);
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.limit_bytes, SIZE_MAX);
    FAILS(t, KILN_ERR_NO_MEMORY, kiln_host_alloc(t->ctx, SIZE_MAX / 4, 0, &b, &t->err), "");
    assert_null(b);
}

static void test_memory__wrong_arguments(void **state)
{
    test_env *t = *state;
    void *memory = t;
    int here = 0;
    kiln_pool_stats stats;

    OK(t, kiln_host_alloc(t->ctx, 0, 0, &memory, &t->err));
    assert_null(memory);
    FAILS(t, KILN_ERR_NULL, kiln_host_alloc(NULL, 1, 0, &memory, &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL, kiln_host_alloc(t->ctx, 1, 0, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_host_alloc(t->ctx, 1, 6, &memory, &t->err), "0x6");
    kiln_host_free(t->ctx, NULL);
    kiln_host_free(NULL, NULL);
    kiln_host_free(t->ctx, &here); /* not ours: ignored */
    OK(t, kiln_host_alloc(t->ctx, 10000, KILN_HOST_WRITE_COMBINED, &memory, &t->err));
    kiln_host_free(t->ctx, (char *)memory + 1); /* not where it begins: ignored */
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.used_bytes, 10000);
    kiln_host_free(t->ctx, memory); /* not pooled */
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.held_bytes, 0);
    assert_int_equal(kiln_host_pool_trim(NULL), 0);
    kiln_host_pool_set_limit(NULL, 1);
    kiln_host_pool_stats(NULL, &stats);
    assert_int_equal(stats.limit_bytes, 0);
    kiln_host_pool_stats(t->ctx, NULL);
}

static void *alloc_and_free(void *context)
{
    unsigned seed = (unsigned)(uintptr_t)&seed;
    unsigned char *held[8] = {NULL};

    for (int k = 0; k < 3000; k++) {
        const int slot = (int)(rand_r(&seed) % 8);
        const size_t bytes = 1 + rand_r(&seed) % 50000;
        if (held[slot] != NULL && held[slot][0] != slot)
            return context;
        kiln_host_free(context, held[slot]);
        held[slot] = NULL;
        if (kiln_host_alloc(context, bytes, 0, (void **)&held[slot], NULL) != KILN_OK)
            return context;
        held[slot][0] = (unsigned char)slot;
    }
    for (int slot = 0; slot < 8; slot++)
        kiln_host_free(context, held[slot]);
    return NULL;
}

static void test_memory__threads_share_the_pool(void **state)
{
    test_env *t = *state;
    pthread_t threads[4];
    kiln_pool_stats stats;

    for (size_t k = 0; k < COUNT(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, alloc_and_free, t->ctx), 0);
    for (size_t k = 0; k < COUNT(threads); k++) {
        void *failed = NULL;
        pthread_join(threads[k], &failed);
        assert_null(failed);
    }
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.allocation_count, 4 * 3000);
}

/* ---- order ---- */

static void test_memory__uploads_from_it_return_at_once(void **state)
{
    test_env *t = *state;
    enum { N = 1000 };
    kiln_stream *stream = NULL;
    kiln_array *x = test_ramp(t, 1, (int64_t[]){N});
    int32_t *a = NULL, *b = NULL, *c = NULL;

    /* Two blocks of one class, made before the gate closes: making one may wait for the device. */
    OK(t, kiln_host_alloc(t->ctx, N * sizeof *a, 0, (void **)&a, &t->err));
    OK(t, kiln_host_alloc(t->ctx, N * sizeof *b, 0, (void **)&b, &t->err));
    kiln_host_free(t->ctx, b);
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int k = 0; k < N; k++)
        a[k] = -k;
    atomic_store(&gate, !t->cuda);
    OK(t, kiln_stream_host_call(t->ctx, stream, wait_for_gate, NULL, &t->err));
    OK(t, kiln_array_upload(x, a, NULL, stream, &t->err));
    kiln_host_free(t->ctx, a); /* still to be read on a GPU */
    OK(t, kiln_host_alloc(t->ctx, N * sizeof *c, 0, (void **)&c, &t->err));
    if (t->cuda)
        assert_ptr_equal(c, b); /* not a, which a copy uses */
    memset(c, 0, N * sizeof *c);
    atomic_store(&gate, true);
    OK(t, kiln_array_download(x, c, N * sizeof *c, NULL, stream, &t->err));
    OK(t, kiln_stream_synchronize(stream, &t->err));
    for (int k = 0; k < N; k++)
        CHECK(c[k] == -k, "element %d is %d", k, (int)c[k]);
    kiln_host_free(t->ctx, c);
    kiln_stream_destroy(stream);
    kiln_array_release(x);
}

/* Ordinary memory may be changed as soon as the call returns. */
static void test_memory__ordinary_memory_is_free_on_return(void **state)
{
    test_env *t = *state;
    enum { N = 3 << 20 };
    kiln_array *x = NULL;
    unsigned char *bytes = malloc(N), *back = malloc(N);

    OK(t, kiln_array_empty(t->ctx, KILN_UINT8, 1, (int64_t[]){N}, &x, &t->err));
    for (int k = 0; k < N; k++)
        bytes[k] = (unsigned char)(k * 7);
    OK(t, kiln_array_upload(x, bytes, NULL, NULL, &t->err));
    memset(bytes, 0, N);
    OK(t, kiln_array_download(x, back, N, NULL, NULL, &t->err));
    for (int k = 0; k < N; k++)
        CHECK(back[k] == (unsigned char)(k * 7), "byte %d", k);
    free(bytes);
    free(back);
    kiln_array_release(x);
}

/* ---- memory of others ---- */

static void count_wait(void *user, const kiln_observation *what)
{
    (void)what;
    ++*(int *)user;
}

/* Its release counts into `released`, and notes whether the gate was open by then. */
typedef struct foreign_owner {
    int released;
    bool gate_was_open;
} foreign_owner;

static void note_release(void *user, void *data)
{
    foreign_owner *const owner = user;

    (void)data;
    owner->released++;
    owner->gate_was_open = atomic_load(&gate);
}

static kiln_array *foreign_view(test_env *t, kiln_array *memory, foreign_owner *owner)
{
    kiln_array *a = NULL;

    *owner = (foreign_owner){0};
    OK(t, kiln_array_wrap(t->ctx, KILN_INT32, 1, (int64_t[]){100}, NULL, kiln_array_data(memory),
                          NULL, 400, note_release, owner, &a, &t->err));
    return a;
}

/* A release waits where there is something to wait for, and then alone. */
static void test_memory__unused_memory_of_others_goes_at_once(void **state)
{
    test_env *t = *state;
    kiln_array *memory = test_ramp(t, 1, (int64_t[]){100}), *a = NULL;
    kiln_observer *observer = NULL;
    foreign_owner owner;
    int waits = 0;

    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_WAIT), count_wait, &waits,
                               &observer, &t->err));
    a = foreign_view(t, memory, &owner);
    kiln_array_release(a);
    assert_int_equal(owner.released, 1);
    assert_int_equal(waits, 0);
    a = foreign_view(t, memory, &owner);
    OK(t, kiln_array_fill(a, 7, &t->err)); /* work of kiln's */
    kiln_array_release(a);
    assert_int_equal(owner.released, 1);
    assert_int_equal(waits, t->cuda); /* the cpu device has done it in the call */
    waits = 0;
    a = foreign_view(t, memory, &owner);
    (void)kiln_stream_native(t->ctx, NULL); /* the program may enqueue work of its own */
    kiln_array_release(a);
    assert_int_equal(owner.released, 1);
    assert_int_equal(waits, 1);
    kiln_observer_destroy(observer);
    kiln_array_release(memory);
}

static void *open_gate(void *unused)
{
    usleep(20000);
    atomic_store(&gate, true);
    return unused;
}

static void test_memory__memory_of_others_goes_behind_work_on_other_streams(void **state)
{
    test_env *t = *state;
    kiln_array *memory = test_ramp(t, 1, (int64_t[]){100});
    kiln_stream *streams[2] = {NULL};
    const int32_t numbers[100] = {1, 2, 3};
    foreign_owner owner;
    pthread_t thread;

    for (int closed = 0; closed < 2; closed++) {
        kiln_array *const a = foreign_view(t, memory, &owner);
        for (int s = 0; s < 2; s++)
            OK(t, kiln_stream_create(t->ctx, NULL, &streams[s], &t->err));
        OK(t, kiln_array_upload(a, numbers, NULL, streams[1], &t->err));
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        atomic_store(&gate, false);
        assert_int_equal(pthread_create(&thread, NULL, open_gate, NULL), 0);
        OK(t, kiln_stream_host_call(t->ctx, streams[0], wait_for_gate, NULL, &t->err));
        OK(t, kiln_array_upload(a, numbers, NULL, streams[0], &t->err));
        for (int s = 0; s < 2 && closed != 0; s++)
            kiln_stream_destroy(streams[s]);
        kiln_array_release(a);
        assert_int_equal(owner.released, 1);
        assert_true(owner.gate_was_open);
        pthread_join(thread, NULL);
        for (int s = 0; s < 2 && closed == 0; s++)
            kiln_stream_destroy(streams[s]);
    }
    kiln_array_release(memory);
}

static void delete_tensor(DLManagedTensorVersioned *tensor)
{
    note_release(tensor->manager_ctx, NULL);
}

/* The host does not wait at the release; the owner's stream does. */
static void test_memory__memory_of_others_may_go_in_order(void **state)
{
    test_env *t = *state;
    kiln_array *memory = test_ramp(t, 1, (int64_t[]){100}), *a = NULL;
    kiln_stream *stream = NULL;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    DLManagedTensorVersioned *shared = NULL, tensor;
    foreign_owner owner = {0};
    int32_t numbers[100];
    pthread_t thread;

    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_array_to_dlpack(memory, NULL, &shared, &t->err));
    tensor = *shared;
    tensor.manager_ctx = &owner;
    tensor.deleter = delete_tensor;
    o.stream = (intptr_t)kiln_stream_native(t->ctx, stream);
    o.ordered_release = true;
    OK(t, kiln_array_from_dlpack(t->ctx, &tensor, &o, &a, &t->err));
    OK(t, kiln_array_fill(a, 1, &t->err)); /* loading a kernel may wait for the device */
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    atomic_store(&gate, !t->cuda);
    OK(t, kiln_stream_host_call(t->ctx, NULL, wait_for_gate, NULL, &t->err));
    OK(t, kiln_array_fill(a, 7, &t->err));
    kiln_array_release(a);
    assert_int_equal(owner.released, 1);
    assert_true(owner.gate_was_open == !t->cuda);
    assert_int_equal(pthread_create(&thread, NULL, open_gate, NULL), 0);
    OK(t, kiln_array_download(memory, numbers, sizeof numbers, NULL, stream, &t->err));
    for (int k = 0; k < 100; k++)
        CHECK(numbers[k] == 7, "element %d is %d", k, (int)numbers[k]);
    pthread_join(thread, NULL);
    shared->deleter(shared);
    kiln_stream_destroy(stream);
    kiln_array_release(memory);
}

/* ---- every layout on both sides ---- */

static void random_strides(test_env *t, int rank, const int64_t *shape, int64_t *strides,
                           int64_t *first, int64_t *count)
{
    int64_t step = 1;

    *first = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
        step *= 1 + (int64_t)test_random_below(t, 2); /* gaps */
        const bool turned = test_random_below(t, 2) != 0;
        strides[axis] = turned ? -step : step;
        *first += turned && shape[axis] > 0 ? step * (shape[axis] - 1) : 0;
        step *= shape[axis] > 0 ? shape[axis] : 1;
    }
    *count = step;
}

static void test_memory__any_strides_on_either_side(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < 120; round++) {
        const int rank = 1 + (int)test_random_below(t, 3);
        int64_t shape[3], strides[3], bytes[3], first = 0, count = 0;
        char text[64] = "";
        kiln_array *base = NULL, *view = NULL;
        for (int axis = 0; axis < rank; axis++) {
            static const char *const items[] = {":", "::-1", "1::2", "::-2"};
            shape[axis] = (int64_t)test_random_below(t, 6);
            strcat(text, items[test_random_below(t, 4)]);
            strcat(text, ",");
        }
        base = test_ramp(t, rank, shape);
        OK(t, kiln_array_view(base, text, &view, &t->err));
        const int64_t *const extents = kiln_array_shape(view);
        random_strides(t, rank, extents, strides, &first, &count);
        const bool pinned = round % 2 == 0;
        int32_t *host = NULL, *back = NULL;
        if (pinned)
            OK(t, kiln_host_alloc(t->ctx, (size_t)count * 4, 0, (void **)&host, &t->err));
        else
            host = malloc((size_t)count * 4);
        for (int64_t k = 0; k < count; k++)
            host[k] = (int32_t)test_random(t);
        for (int axis = 0; axis < rank; axis++)
            bytes[axis] = 4 * strides[axis];
        OK(t, kiln_array_upload(view, host + first, bytes, NULL, &t->err));
        /* Expected values by a plain loop over the indices; C-order on the way back. */
        const int64_t size = kiln_array_size(view);
        back = malloc((size_t)size * 4 + 4);
        OK(t, kiln_array_download(view, back, (size_t)size * 4, NULL, NULL, &t->err));
        for (int64_t k = 0; k < size; k++) {
            int64_t rest = k, at = first;
            for (int axis = rank - 1; axis >= 0; axis--) {
                at += rest % extents[axis] * strides[axis];
                rest /= extents[axis];
            }
            CHECK(back[k] == host[at], "round %d, %s: element %d", round, text, (int)k);
        }
        if (pinned)
            kiln_host_free(t->ctx, host);
        else
            free(host);
        free(back);
        kiln_array_release(view);
        kiln_array_release(base);
    }
}

static void test_memory__bad_copies_are_refused(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 2, (int64_t[]){3, 4}), *wide = NULL;
    kiln_context *other = test_env_context(t, "");
    kiln_stream *foreign = NULL;
    int32_t memory[12] = {0};

    OK(t, kiln_stream_create(other, NULL, &foreign, &t->err));
    OK(t, kiln_array_broadcast_to(x, 3, (int64_t[]){2, 3, 4}, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_upload(wide, memory, NULL, NULL, &t->err), "broadcast");
    FAILS(t, KILN_ERR_CONTEXT, kiln_array_upload(x, memory, NULL, foreign, &t->err),
          "another context");
    FAILS(t, KILN_ERR_NULL, kiln_array_upload(x, NULL, NULL, NULL, &t->err), "data");
    FAILS(t, KILN_ERR_NULL, kiln_array_upload(NULL, memory, NULL, NULL, &t->err), "array");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_download(x, memory, 47, NULL, NULL, &t->err), "47",
          "48");
    FAILS(t, KILN_ERR_NULL, kiln_array_download(x, NULL, 48, NULL, NULL, &t->err), "data");
    FAILS(t, KILN_ERR_CONTEXT, kiln_array_download(x, memory, 48, NULL, foreign, &t->err),
          "another context");
    kiln_array *none = NULL;
    FAILS(t, KILN_ERR_NULL, kiln_array_copy_to(x, NULL, &none, &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL, kiln_array_copy_to(NULL, t->ctx, &none, &t->err), "array");
    kiln_stream_destroy(foreign);
    kiln_context_release(other);
    kiln_array_release(x);
    kiln_array_release(wide);
}

/* ---- arrays in host memory, other contexts ---- */

static void test_memory__arrays_for_both_sides(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    kiln_pool_stats stats;

    OK(t, kiln_array_empty_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){1000}, &x, &t->err));
    OK(t, kiln_array_empty_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){1000}, &z, &t->err));
    float *in = kiln_array_data(x), *out = kiln_array_data(z);
    for (int k = 0; k < 1000; k++)
        in[k] = (float)k;
    OK(t, kiln_array_add(x, x, &z, &t->err));
    OK(t, kiln_array_multiply(x, x, &y, &t->err)); /* into the device's own memory */
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int k = 0; k < 1000; k++)
        assert_true(out[k] == (float)(2 * k));
    kiln_scalar item;
    OK(t, kiln_array_item(y, (int64_t[]){30}, &item, &t->err));
    assert_true(item.value.f == 900);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_host_pool_stats(t->ctx, &stats);
    assert_int_equal(stats.used_bytes, 0);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_empty_host(t->ctx, KILN_DTYPE_NONE, 0, NULL, &x, &t->err),
          "dtype");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_empty_host(t->ctx, KILN_BOOL, 1, (int64_t[]){-1}, &x, &t->err), "-1");
    FAILS(t, KILN_ERR_NULL, kiln_array_empty_host(NULL, KILN_BOOL, 0, NULL, &x, &t->err), "ctx");
    OK(t, kiln_array_empty_host(t->ctx, KILN_BOOL, 1, (int64_t[]){0}, &x, &t->err));
    kiln_array_release(x);
}

static void test_memory__elements_move_between_contexts(void **state)
{
    test_env *t = *state;
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *cpu = NULL, *same = test_env_context(t, "");
    kiln_array *x = test_ramp(t, 2, (int64_t[]){5, 7}), *view = NULL, *y = NULL, *z = NULL;

    o.device = "cpu";
    o.cache_dir = "";
    OK(t, kiln_context_create(&o, &cpu, &t->err));
    OK(t, kiln_array_view(x, "::-1, 1::2", &view, &t->err));
    kiln_context *const others[] = {cpu, same};
    for (size_t k = 0; k < COUNT(others); k++) {
        int32_t got[15];
        OK(t, kiln_array_copy_to(view, others[k], &y, &t->err));
        assert_ptr_equal(kiln_array_context(y), others[k]);
        OK(t, kiln_array_copy_to(y, t->ctx, &z, &t->err));
        assert_ptr_equal(kiln_array_context(z), t->ctx);
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 3; j++)
                assert_int_equal(got[3 * i + j], 7 * (4 - i) + 2 * j + 1);
        kiln_array_release(y);
        kiln_array_release(z);
    }
    kiln_array_release(view);
    kiln_array_release(x);
    kiln_context_release(cpu);
    kiln_context_release(same);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_memory__blocks_are_used_again),
        TEST(test_memory__the_limit_holds),
        TEST(test_memory__wrong_arguments),
        TEST(test_memory__threads_share_the_pool),
        TEST(test_memory__uploads_from_it_return_at_once),
        TEST(test_memory__ordinary_memory_is_free_on_return),
        TEST(test_memory__unused_memory_of_others_goes_at_once),
        TEST(test_memory__memory_of_others_goes_behind_work_on_other_streams),
        TEST(test_memory__memory_of_others_may_go_in_order),
        TEST(test_memory__any_strides_on_either_side),
        TEST(test_memory__bad_copies_are_refused),
        TEST(test_memory__arrays_for_both_sides),
        TEST(test_memory__elements_move_between_contexts),
    };

    return test_env_main(argc, argv, "test_memory", tests, COUNT(tests));
}
