/*
 * test_dlpack_streams.c - order between the streams of two libraries that share memory by
 * kiln/dlpack.h.
 *
 * Both libraries are contexts of kiln on one GPU, each with a stream of its own. The GPU is that of
 * fake_cuda.c, which runs what is enqueued only when somebody waits for it: the other's work has
 * been done if, and only if, a stream was told to wait for it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kiln/dlpack.h"
#include "kiln/kiln.h"
#include "load_fake_cuda.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { N = 3 };

static kiln_context *maker, *user;
static kiln_error err = KILN_ERROR_INIT;
static int released;

static void must(kiln_status status, int line)
{
    if (status != KILN_OK)
        fail_msg("line %d: %s", line, err.message);
}
#define OK(call) must((call), __LINE__)

static intptr_t own_stream(kiln_context *ctx)
{
    return (intptr_t)kiln_stream_native(ctx, NULL);
}

/* The values {first, first + 1, first + 2}, still to be copied by the stream of `ctx`. */
static kiln_array *pending(kiln_context *ctx, int first)
{
    const int values[N] = {first, first + 1, first + 2};
    kiln_array *x = NULL;

    OK(kiln_array_from_host(ctx, KILN_INT32, 1, (int64_t[]){N}, values, NULL, &x, &err));
    return x;
}

static bool holds(kiln_array *x, int first)
{
    int got[N] = {0};

    OK(kiln_array_to_host(x, got, sizeof got, NULL,
                          &err)); /* waits for the own stream of its context */
    return got[0] == first && got[1] == first + 1 && got[2] == first + 2;
}

static kiln_dlpack_options with_stream(intptr_t stream)
{
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;

    o.stream = stream;
    return o;
}

/* ---- export: the consumer's stream waits ---- */

static void test_dlpack_streams__an_export_lets_its_consumer_wait(void **state)
{
    (void)state;
    const kiln_dlpack_options unordered = with_stream(KILN_DLPACK_STREAM_NO_SYNC);
    const struct {
        intptr_t stream;
        bool waits;
    } cases[] = {{KILN_DLPACK_STREAM_NO_SYNC, false}, {own_stream(user), true}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        for (int form = 0; form < 2; form++) {
            const kiln_dlpack_options o = with_stream(cases[k].stream);
            kiln_array *x = pending(maker, 10 + (int)k), *y = NULL;
            if (form == 0) {
                DLManagedTensorVersioned *tensor = NULL;
                OK(kiln_array_to_dlpack(x, &o, &tensor, &err));
                OK(kiln_array_from_dlpack(user, tensor, &unordered, &y, &err));
            } else {
                DLManagedTensor *tensor = NULL;
                OK(kiln_array_to_dlpack_unversioned(x, &o, &tensor, &err));
                OK(kiln_array_from_dlpack_unversioned(user, tensor, &unordered, &y, &err));
            }
            assert_int_equal(holds(y, 10 + (int)k), cases[k].waits);
            kiln_array_release(y);
            kiln_array_release(x);
        }
    }
}

/* CUDA's default streams by the protocol's numbers: 0 and 1 are the legacy one. */
static void test_dlpack_streams__default_streams_have_numbers(void **state)
{
    (void)state;
    const struct {
        intptr_t stream;
        void *native;
    } cases[] = {{0, KILN_STREAM_LEGACY},
                 {KILN_DLPACK_STREAM_LEGACY, KILN_STREAM_LEGACY},
                 {KILN_DLPACK_STREAM_PER_THREAD, KILN_STREAM_PER_THREAD}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        const kiln_dlpack_options o = with_stream(cases[k].stream);
        kiln_array *x = pending(maker, 20 + (int)k);
        DLManagedTensorVersioned *tensor = NULL;
        kiln_stream *consumer = NULL;
        const int *memory = kiln_array_data(x); /* host memory, in truth */

        OK(kiln_array_to_dlpack(x, &o, &tensor, &err));
        OK(kiln_stream_wrap(user, cases[k].native, &consumer, &err));
        assert_int_not_equal(memory[0], 20 + (int)k);
        OK(kiln_stream_synchronize(consumer, &err));
        assert_int_equal(memory[0], 20 + (int)k);
        tensor->deleter(tensor);
        kiln_stream_destroy(consumer);
        kiln_array_release(x);
    }
}

/* ---- import: kiln's stream waits ---- */

static void test_dlpack_streams__an_import_waits_for_its_producer(void **state)
{
    (void)state;
    const kiln_dlpack_options unordered = with_stream(KILN_DLPACK_STREAM_NO_SYNC);

    for (int waits = 0; waits < 2; waits++) {
        const kiln_dlpack_options o =
            with_stream(waits ? own_stream(maker) : KILN_DLPACK_STREAM_NO_SYNC);
        kiln_array *x = pending(maker, 30 + waits), *y = NULL;
        DLManagedTensorVersioned *tensor = NULL;

        OK(kiln_array_to_dlpack(x, &unordered, &tensor, &err));
        OK(kiln_array_from_dlpack(user, tensor, &o, &y, &err));
        assert_int_equal(holds(y, 30 + waits), waits);
        kiln_array_release(y);
        kiln_array_release(x);
    }
}

static void test_dlpack_streams__interfaces_name_the_stream_to_wait_for(void **state)
{
    (void)state;
    const struct {
        intptr_t stream; /* 0: as the array's own description has it */
        bool waits;
    } cases[] = {{0, true}, {KILN_DLPACK_STREAM_NO_SYNC, false}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *x = pending(maker, 40 + (int)k), *y = NULL;
        kiln_array_interface shown;

        OK(kiln_array_to_interface(x, &shown, &err));
        assert_true(shown.stream == own_stream(maker));
        if (cases[k].stream != 0)
            shown.stream = cases[k].stream;
        OK(kiln_array_from_interface(user, &shown, NULL, NULL, &y, &err));
        assert_int_equal(holds(y, 40 + (int)k), cases[k].waits);
        kiln_array_release(y);
        kiln_array_release(x);
    }
    /* 0 stands for nothing to wait for. */
    kiln_array *x = pending(maker, 50), *y = NULL;
    kiln_array_interface shown;
    OK(kiln_array_to_interface(x, &shown, &err));
    shown.stream = 0;
    OK(kiln_array_from_interface(user, &shown, NULL, NULL, &y, &err));
    assert_false(holds(y, 50));
    kiln_array_release(y);
    kiln_array_release(x);
}

/* ---- the end of an import: its owner's work comes behind kiln's ---- */

static void count_release(DLManagedTensorVersioned *self)
{
    (void)self;
    released++;
}

static void test_dlpack_streams__memory_goes_home_behind_the_work_on_it(void **state)
{
    (void)state;

    for (int ordered = 0; ordered < 2; ordered++) {
        kiln_array *x = pending(maker, 60), *y = NULL, *news = pending(user, 70 + ordered);
        kiln_dlpack_options o = with_stream(own_stream(maker));
        int64_t shape[] = {N}, strides[] = {1};
        DLManagedTensorVersioned tensor = {
            .version = {1, 0},
            .deleter = count_release,
            .dl_tensor = {kiln_array_data(x), {kDLCUDA, 0}, 1, {kDLInt, 32, 1}, shape, strides, 0}};
        const int *memory = kiln_array_data(x);

        released = 0;
        o.ordered_release = ordered != 0;
        OK(kiln_array_from_dlpack(user, &tensor, &o, &y, &err));
        OK(kiln_array_assign(y, news, &err));
        kiln_array_release(y);
        assert_int_equal(released, 1);
        /* Without the option the host has waited; with it the owner's stream will. */
        assert_int_equal(memory[0] == 70 + ordered, !ordered);
        assert_true(holds(x, 70 + ordered));
        kiln_array_release(news);
        kiln_array_release(x);
    }
}

static void test_dlpack_streams__page_locked_and_managed_memory_is_taken(void **state)
{
    (void)state;
    const DLDeviceType types[] = {kDLCUDAHost, kDLCUDAManaged};
    const kiln_dlpack_options o = with_stream(own_stream(maker));

    for (size_t k = 0; k < COUNT(types); k++) {
        kiln_array *x = pending(maker, 80), *y = NULL;
        int64_t shape[] = {N}, strides[] = {1};
        DLManagedTensorVersioned tensor = {
            .version = {1, 0},
            .deleter = count_release,
            .dl_tensor = {
                kiln_array_data(x), {types[k], 0}, 1, {kDLInt, 32, 1}, shape, strides, 0}};

        released = 0;
        OK(kiln_array_from_dlpack(user, &tensor, &o, &y, &err));
        assert_true(holds(y, 80));
        kiln_array_release(y);
        assert_int_equal(released, 1);
        kiln_array_release(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dlpack_streams__an_export_lets_its_consumer_wait),
        cmocka_unit_test(test_dlpack_streams__default_streams_have_numbers),
        cmocka_unit_test(test_dlpack_streams__an_import_waits_for_its_producer),
        cmocka_unit_test(test_dlpack_streams__interfaces_name_the_stream_to_wait_for),
        cmocka_unit_test(test_dlpack_streams__memory_goes_home_behind_the_work_on_it),
        cmocka_unit_test(test_dlpack_streams__page_locked_and_managed_memory_is_taken),
    };
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;

    if (load_fake_cuda() == NULL)
        return 1;
    o.device = "cuda:0";
    o.cache_dir = "";
    OK(kiln_context_create(&o, &maker, &err));
    OK(kiln_context_create(&o, &user, &err));
    const int failed = cmocka_run_group_tests_name("test_dlpack_streams", tests, NULL, NULL);
    kiln_context_release(maker);
    kiln_context_release(user);
    return failed;
}
