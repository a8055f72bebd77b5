/*
 * test_device_cuda.c - what only a CUDA device does: faults, foreign streams and contexts, work
 * that goes on after a call has returned. The device is "cuda" or what the command line names;
 * without a GPU the program is skipped.
 *
 * The test of faults comes first and forks before this process has touched CUDA: a fault ends the
 * use of the GPU for a whole process, and a process that has initialised CUDA cannot hand it to a
 * child.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"
#include "device_env.h"

/* ---- faults ---- */

/* Run the kernel `name` in a fresh process; it faults, and everything says so from then on. */
static bool faults(const char *name)
{
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device), *refused = NULL;
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 512, stream);
    kiln_error err = KILN_ERROR_INIT;
    void *address = block->address;
    int word = 0;

    if (module == NULL)
        return true;
    void *entry = must_entry(module, name);
    bool right =
        launch(device, entry, 1, 1, &address, sizeof address, stream, NULL) == KILN_OK &&
        says(kiln__device_synchronize(device, &err), KILN_ERR_FAULT, &err, device->info.id) &&
        says(kiln__device_check(device, &err), KILN_ERR_FAULT, &err, device->info.id) &&
        says(kiln__stream_synchronize(stream, &err), KILN_ERR_FAULT, &err, "faulted") &&
        says(launch(device, entry, 1, 1, &address, sizeof address, stream, &err), KILN_ERR_FAULT,
             &err, "new process") &&
        says(kiln__copy_device_to_host(device, &word, address, 4, stream, &err), KILN_ERR_FAULT,
             &err, "faulted") &&
        says(kiln__stream_create(device, NULL, &refused, &err), KILN_ERR_FAULT, &err, "");
    fprintf(stderr, "%s: %s\n", name, err.message);
    kiln_error_clear(&err);
    /* Closing a device in this state neither fails nor hangs. */
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    kiln__device_close(device);
    return right;
}

static bool address_faults(void)
{
    return faults("bad_address");
}

static bool alignment_faults(void)
{
    return faults("bad_alignment");
}

static bool assert_faults(void)
{
    return faults("bad_assert");
}

static bool trap_faults(void)
{
    return faults("bad_trap");
}

/* A fault is also heard by a copy, when nobody synchronised before it. */
static bool copy_hears_of_a_fault(void)
{
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 8 * MIB, stream);
    unsigned char *bytes = malloc(8 * MIB);
    kiln_error err = KILN_ERROR_INIT;
    void *address = block->address;

    if (module == NULL || bytes == NULL)
        return module == NULL;
    bool right = launch(device, must_entry(module, "bad_address"), 1, 1, &address, sizeof address,
                        stream, NULL) == KILN_OK &&
                 says(kiln__copy_device_to_host(device, bytes, address, 8 * MIB, stream, &err),
                      KILN_ERR_FAULT, &err, "faulted");
    kiln__device_close(device);
    free(bytes);
    return right;
}

static void test_device_cuda__a_kernel_fault_is_reported_and_remembered(void **state)
{
    (void)state;
    in_child(address_faults);
    in_child(alignment_faults);
    in_child(assert_faults);
    in_child(trap_faults);
    in_child(copy_hears_of_a_fault);
}

/* ---- several devices ---- */

static void test_device_cuda__two_devices_work_side_by_side(void **state)
{
    (void)state;
    kiln_device_info infos[32];
    size_t count = 0;

    assert_int_equal(kiln__device_list(infos, KILN_COUNT_OF(infos), &count, NULL), KILN_OK);
    if (count < 3 || !infos[0].usable || !infos[1].usable) {
        print_message("this machine has fewer than two CUDA GPUs\n");
        skip();
    }
    kiln__device *devices[2] = {must_open(infos[0].id), must_open(infos[1].id)};
    kiln__module *modules[2] = {load_kernels(devices[0]), load_kernels(devices[1])};
    kiln_error err = KILN_ERROR_INIT;

    for (int round = 0; round < 4; round++)
        check_axpy(devices[round % 2], modules[round % 2], 100000);
    assert_int_equal(
        kiln__stream_wait(kiln__device_stream(devices[0]), kiln__device_stream(devices[1]), &err),
        KILN_ERR_CONTEXT);
    assert_true(strstr(err.message, infos[0].id) && strstr(err.message, infos[1].id));
    kiln_error_clear(&err);
    kiln_stream *wrapped = NULL;
    void *foreign = kiln__stream_native(kiln__device_stream(devices[1]));
    assert_int_equal(kiln__stream_wrap(devices[0], foreign, &wrapped, NULL), KILN_ERR_CONTEXT);
    for (int i = 0; i < 2; i++) {
        kiln__module_unload(modules[i]);
        kiln__device_close(devices[i]);
    }
}

/* ---- copies and kernels ---- */

static void test_device_cuda__a_source_may_change_while_the_stream_is_busy(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *flag = must_alloc(device, 4, stream), *block = must_alloc(device, 3 * MIB, stream);
    unsigned char *bytes = malloc(3 * MIB);

    if (module == NULL)
        skip();
    assert_non_null(bytes);
    for (size_t size = 64; size <= 3 * MIB; size *= 7) {
        spin(device, module, flag, 20, stream);
        fill(bytes, size, (unsigned)size);
        double start = now_us();
        assert_int_equal(
            kiln__copy_host_to_device(device, block->address, bytes, size, stream, NULL), KILN_OK);
        print_message("%zu bytes behind 20 ms of work: %.3f ms\n", size, (now_us() - start) / 1000);
        memset(bytes, 0, size);
        assert_int_equal(
            kiln__copy_device_to_host(device, bytes, block->address, size, stream, NULL), KILN_OK);
        assert_true(matches(bytes, size, (unsigned)size));
    }
    free(bytes);
    kiln__pool_free(device, flag, NULL, 0);
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    kiln__device_close(device);
}

static void test_device_cuda__page_locked_memory_is_copied_too(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__block *block = must_alloc(device, 9 * MIB, stream);
    void *locked = NULL;
    bool pushed = false;

    assert_int_equal(kiln__cuda_enter(device, &pushed, NULL), KILN_OK);
    assert_int_equal(kiln__cu.mem_host_alloc(&locked, 9 * MIB, 0), KILN__CU_OK);
    fill(locked, 9 * MIB, 5);
    assert_int_equal(
        kiln__copy_host_to_device(device, block->address, locked, 9 * MIB, stream, NULL), KILN_OK);
    memset(locked, 0, 9 * MIB);
    assert_int_equal(
        kiln__copy_device_to_host(device, locked, block->address, 9 * MIB, stream, NULL), KILN_OK);
    assert_true(matches(locked, 9 * MIB, 5));
    assert_int_equal(kiln__cu.mem_free_host(locked), KILN__CU_OK);
    kiln__cuda_leave(pushed);
    kiln__pool_free(device, block, NULL, 0);
    kiln__device_close(device);
}

static void test_device_cuda__a_grid_has_three_axes_and_much_shared_memory(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 64, stream);
    void *address = block->address;
    int got[4] = {0};

    if (module == NULL)
        skip();
    kiln__launch_config config = {.grid_x = 3, .grid_y = 2, .grid_z = 2, .block = 32};
    assert_int_equal(kiln__memset(device, address, 0, 64, stream, NULL), KILN_OK);
    assert_int_equal(kiln__launch(device, must_entry(module, "where"), &config, &address,
                                  sizeof address, stream, NULL),
                     KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, got, address, 16, stream, NULL), KILN_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(got[k], 3 * 32);

    config = (kiln__launch_config){.grid_x = 1, .block = 128, .shared_bytes = 60 * 1024};
    assert_int_equal(kiln__launch(device, must_entry(module, "shared"), &config, &address,
                                  sizeof address, stream, NULL),
                     KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, got, address, 4, stream, NULL), KILN_OK);
    assert_int_equal(got[0], 14999);

    /* What a GPU cannot do is refused, and does no harm. */
    kiln_error err = KILN_ERROR_INIT;
    config = (kiln__launch_config){.grid_x = 1, .block = 4096};
    assert_int_equal(kiln__launch(device, must_entry(module, "shared"), &config, &address,
                                  sizeof address, stream, &err),
                     KILN_ERR_DRIVER);
    assert_non_null(strstr(err.message, "cuLaunchKernel"));
    kiln_error_clear(&err);
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    kiln__device_close(device);
}

/* ---- streams ---- */

static void test_device_cuda__a_stream_waits_for_another(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln__module *module = load_kernels(device);
    kiln_stream *first = must_stream(device), *second = must_stream(device);
    kiln__block *flag = must_alloc(device, 4, first);
    int before = -1, after = -1;

    if (module == NULL)
        skip();
    assert_int_equal(kiln__memset(device, flag->address, 0, 4, first, NULL), KILN_OK);
    assert_int_equal(kiln__stream_synchronize(first, NULL), KILN_OK);
    spin(device, module, flag, 50, first);
    /* Without the wait the second stream overtakes the first: the test can fail. */
    assert_int_equal(kiln__copy_device_to_host(device, &before, flag->address, 4, second, NULL),
                     KILN_OK);
    assert_int_equal(kiln__stream_wait(second, first, NULL), KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, &after, flag->address, 4, second, NULL),
                     KILN_OK);
    assert_int_equal(before, 0);
    assert_int_equal(after, 1);
    kiln__pool_free(device, flag, NULL, 0);
    kiln__stream_destroy(first);
    kiln__stream_destroy(second);
    kiln__module_unload(module);
    kiln__device_close(device);
}

static void test_device_cuda__memory_is_not_reused_under_a_running_kernel(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *home = kiln__device_stream(device), *user = must_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 16 * MIB, home);
    void *address = block->address;

    if (module == NULL)
        skip();
    spin(device, module, block, 50, user);
    kiln__pool_free(device, block, &user, 1);
    block = must_alloc(device, 16 * MIB, home);
    assert_ptr_not_equal(block->address, address);
    assert_int_equal(kiln__stream_synchronize(user, NULL), KILN_OK);
    kiln__block *again = must_alloc(device, 16 * MIB, home);
    assert_ptr_equal(again->address, address);
    kiln__pool_free(device, block, NULL, 0);
    kiln__pool_free(device, again, NULL, 0);

    /* A stream that is destroyed while it works keeps its memory from others until it is done. */
    block = must_alloc(device, 16 * MIB, user);
    spin(device, module, block, 50, user);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(user);
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    kiln__module_unload(module);
    kiln__device_close(device);
}

static void test_device_cuda__foreign_streams_are_wrapped(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = NULL;
    kiln__cu_stream native = NULL;
    bool pushed = false;

    assert_int_equal(kiln__cuda_enter(device, &pushed, NULL), KILN_OK);
    assert_int_equal(kiln__cu.stream_create(&native, 0, 0), KILN__CU_OK);
    kiln__cuda_leave(pushed);
    void *const natives[] = {native, NULL}; /* the second is the legacy default stream */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kiln__stream_wrap(device, natives[i], &stream, NULL), KILN_OK);
        assert_ptr_equal(kiln__stream_native(stream), natives[i]);
        assert_ptr_equal(kiln__stream_device(stream), device);
        kiln__block *block = must_alloc(device, MIB, stream);
        assert_int_equal(kiln__memset(device, block->address, 3, MIB, stream, NULL), KILN_OK);
        assert_int_equal(kiln__stream_wait(kiln__device_stream(device), stream, NULL), KILN_OK);
        kiln__pool_free(device, block, NULL, 0);
        kiln__stream_destroy(stream);
    }
    /* Destroying the wrapper left the stream alone. */
    assert_int_equal(kiln__cuda_enter(device, &pushed, NULL), KILN_OK);
    assert_int_equal(kiln__cu.stream_synchronize(native), KILN__CU_OK);
    assert_int_equal(kiln__cu.stream_destroy(native), KILN__CU_OK);
    kiln__cuda_leave(pushed);
    kiln__device_close(device);
}

/* ---- manners ---- */

static kiln__cu_context current_context(void)
{
    kiln__cu_context current = NULL;

    assert_int_equal(kiln__cu.ctx_get_current(&current), KILN__CU_OK);
    return current;
}

static void test_device_cuda__the_callers_cuda_context_is_left_alone(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln__module *module = load_kernels(device);
    kiln__cu_context ours = kiln__cuda_of(device)->context;

    if (module == NULL)
        skip();
    assert_null(current_context());
    check_axpy(device, module, 1000);
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    assert_null(current_context());
    assert_int_equal(kiln__cu.ctx_push(ours), KILN__CU_OK);
    check_axpy(device, module, 1000);
    assert_ptr_equal(current_context(), ours);
    kiln__cuda_pop();
    kiln__module_unload(module);
    kiln__device_close(device);
    assert_null(current_context());
}

/* ---- figures, printed ---- */

static void measure_launches(kiln__device *device, void *entry, const char *what)
{
    enum { ROUNDS = 20000, BATCH = 500 };
    kiln_stream *stream = kiln__device_stream(device);
    kiln__launch_config config = {.grid_x = 1, .block = 32};
    void *argument = NULL, *params[1] = {&argument};
    kiln__cu_context ours = kiln__cuda_of(device)->context;
    double kiln_us = 0, raw_us = 0;
    bool current = current_context() == ours;

    for (int i = 0; i < ROUNDS; i += BATCH) { /* batches: the queue must not fill up */
        double start = now_us();
        for (int k = 0; k < BATCH; k++)
            if (kiln__launch(device, entry, &config, &argument, sizeof argument, stream, NULL) !=
                KILN_OK)
                fail();
        kiln_us += now_us() - start;
        assert_int_equal(kiln__stream_synchronize(stream, NULL), KILN_OK);
        if (!current)
            assert_int_equal(kiln__cu.ctx_push(ours), KILN__CU_OK);
        start = now_us();
        for (int k = 0; k < BATCH; k++)
            if (kiln__cu.launch_kernel(entry, 1, 1, 1, 32, 1, 1, 0, stream->native, params, NULL) !=
                KILN__CU_OK)
                fail();
        raw_us += now_us() - start;
        if (!current)
            kiln__cuda_pop();
        assert_int_equal(kiln__stream_synchronize(stream, NULL), KILN_OK);
    }
    print_message("launch, %s: %.3f us; cuLaunchKernel alone %.3f us\n", what, kiln_us / ROUNDS,
                  raw_us / ROUNDS);
}

static void measure_copies(kiln__device *device, void *address, unsigned char *bytes, size_t count)
{
    kiln_stream *stream = kiln__device_stream(device);
    double start, in = 1e30, out = 1e30, plain_in = 1e30, plain_out = 1e30;
    bool pushed = false;
    kiln__cu_pointer at = (kiln__cu_pointer)(uintptr_t)address;

    assert_int_equal(kiln__cuda_enter(device, &pushed, NULL), KILN_OK);
    for (int i = 0; i < 4; i++) {
        start = now_us();
        (void)!kiln__copy_host_to_device(device, address, bytes, count, stream, NULL);
        in = now_us() - start < in ? now_us() - start : in;
        (void)!kiln__stream_synchronize(stream, NULL);
        start = now_us();
        (void)!kiln__copy_device_to_host(device, bytes, address, count, stream, NULL);
        out = now_us() - start < out ? now_us() - start : out;
        start = now_us();
        (void)kiln__cu.memcpy_htod_async(at, bytes, count, stream->native);
        (void)kiln__cu.stream_synchronize(stream->native);
        plain_in = now_us() - start < plain_in ? now_us() - start : plain_in;
        start = now_us();
        (void)kiln__cu.memcpy_dtoh_async(bytes, at, count, stream->native);
        (void)kiln__cu.stream_synchronize(stream->native);
        plain_out = now_us() - start < plain_out ? now_us() - start : plain_out;
    }
    kiln__cuda_leave(pushed);
    double scale = (double)count / 1000;
    print_message("%zu KiB pageable: to the device %.2f GB/s (driver alone %.2f), back %.2f GB/s "
                  "(driver alone %.2f)\n",
                  count / KIB, scale / in, scale / plain_in, scale / out, scale / plain_out);
}

static void test_device_cuda__figures(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 256 * MIB, stream);
    unsigned char *bytes = malloc(256 * MIB);
    bool pushed = false;

    if (module == NULL)
        skip();
    assert_non_null(bytes);
    memset(bytes, 1, 256 * MIB);
    void *entry = must_entry(module, "nothing");
    measure_launches(device, entry, "no context current");
    assert_int_equal(kiln__cuda_enter(device, &pushed, NULL), KILN_OK);
    measure_launches(device, entry, "its context current");
    kiln__cuda_leave(pushed);
    for (size_t count = 4 * KIB; count <= 256 * MIB; count *= 8)
        measure_copies(device, block->address, bytes, count);
    kiln__pool_free(device, block, NULL, 0);
    double start = now_us();
    for (int i = 0; i < 100000; i++) {
        if (kiln__pool_alloc(device, MIB, stream, &block, NULL) != KILN_OK)
            fail();
        kiln__pool_free(device, block, NULL, 0);
    }
    print_message("pool, allocate + free 1 MiB: %.3f us\n", (now_us() - start) / 100000);
    free(bytes);
    kiln__module_unload(module);
    kiln__device_close(device);
}

/* ---- the program ---- */

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_device_cuda__a_kernel_fault_is_reported_and_remembered),
    cmocka_unit_test(test_device_cuda__two_devices_work_side_by_side),
    cmocka_unit_test(test_device_cuda__a_source_may_change_while_the_stream_is_busy),
    cmocka_unit_test(test_device_cuda__page_locked_memory_is_copied_too),
    cmocka_unit_test(test_device_cuda__a_grid_has_three_axes_and_much_shared_memory),
    cmocka_unit_test(test_device_cuda__a_stream_waits_for_another),
    cmocka_unit_test(test_device_cuda__memory_is_not_reused_under_a_running_kernel),
    cmocka_unit_test(test_device_cuda__foreign_streams_are_wrapped),
    cmocka_unit_test(test_device_cuda__the_callers_cuda_context_is_left_alone),
    cmocka_unit_test(test_device_cuda__figures),
};

int main(int argc, char **argv)
{
    bool named = argc > 1 && strncmp(argv[1], "cuda", 4) == 0;

    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return device_env_run(named ? argv[1] : "cuda", "test_device_cuda", tests,
                          KILN_COUNT_OF(tests));
}
