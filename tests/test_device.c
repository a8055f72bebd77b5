/*
 * test_device.c - src/device through its door, on the device named on the command line ("cpu",
 * "cuda", "cuda:1"; none: cuda, then cpu). Without a GPU `test_device cuda` is skipped, by name.
 * What only CUDA does is in test_device_cuda.c.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_env.h"

/* ---- which device ---- */

static void test_device__list_ends_with_the_cpu(void **state)
{
    (void)state;
    kiln_device_info infos[32];
    size_t count = 0, again = 0;

    assert_int_equal(kiln__device_list(NULL, 0, &count, NULL), KILN_OK);
    assert_true(count >= 2 && count <= KILN_COUNT_OF(infos)); /* cuda tells even of its absence */
    assert_int_equal(kiln__device_list(infos, count, &again, NULL), KILN_OK);
    assert_int_equal(again, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(infos[i].usable, infos[i].reason[0] == '\0');
        assert_true(infos[i].name[0] != '\0' && infos[i].id[0] != '\0');
        assert_int_equal(infos[i].backend, i + 1 == count ? KILN_BACKEND_CPU : KILN_BACKEND_CUDA);
    }
    assert_string_equal(infos[count - 1].id, "cpu");
    /* One entry of room: the first, and the whole count. */
    memset(infos + 1, 7, sizeof infos[1]);
    kiln_device_info untouched = infos[1];
    assert_int_equal(kiln__device_list(infos, 1, &again, NULL), KILN_OK);
    assert_int_equal(again, count);
    assert_memory_equal(&infos[1], &untouched, sizeof untouched);
    assert_int_equal(kiln__device_list(NULL, 1, &again, NULL), KILN_ERR_NULL);
}

static void test_device__wrong_names_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",         "gpu",     "CPU",       "cuda:",  "cuda:x",
                                        "cuda:-1",  "cuda:1x", "cuda: 1",   "cpu:0",  "auto ",
                                        "cuda:1:2", "cuda 0",  "cuda:9999", "cuda:+1"};

    for (size_t i = 0; i < KILN_COUNT_OF(wrong); i++) {
        kiln__device *device = (kiln__device *)&i;
        kiln_error err = KILN_ERROR_INIT;

        assert_int_equal(kiln__device_open(wrong[i], 0, &device, &err), KILN_ERR_ARGUMENT);
        assert_null(device);
        assert_non_null(strstr(err.message, wrong[i]));
        kiln_error_clear(&err);
        if (wrong[i][0] == '\0')
            continue;
        setenv("KILN_DEVICE", wrong[i], 1);
        assert_int_equal(kiln__device_open(NULL, 0, &device, &err), KILN_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "$KILN_DEVICE"));
        kiln_error_clear(&err);
        unsetenv("KILN_DEVICE");
    }
}

static void test_device__environment_chooses_when_nothing_is_named(void **state)
{
    (void)state;
    kiln__device *device = NULL;

    setenv("KILN_DEVICE", device_name, 1);
    assert_int_equal(kiln__device_open(NULL, 0, &device, NULL), KILN_OK);
    unsetenv("KILN_DEVICE");
    assert_int_equal(kiln__device_info(device)->backend,
                     on_cuda ? KILN_BACKEND_CUDA : KILN_BACKEND_CPU);
    kiln__device_close(device);
}

static void test_device__auto_takes_the_first_that_works(void **state)
{
    (void)state;
    kiln_device_info infos[32];
    size_t count = 0, first = 0;
    kiln__device *device = NULL;

    assert_int_equal(kiln__device_list(infos, KILN_COUNT_OF(infos), &count, NULL), KILN_OK);
    while (first + 1 < count && !infos[first].usable)
        first++;
    assert_int_equal(kiln__device_open("auto", 0, &device, NULL), KILN_OK);
    assert_string_equal(kiln__device_info(device)->id, infos[first].id);
    kiln__device_close(device);
}

static void test_device__what_is_missing_is_named(void **state)
{
    (void)state;
    kiln_device_info infos[32];
    size_t count = 0;
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__device_list(infos, KILN_COUNT_OF(infos), &count, NULL), KILN_OK);
    assert_int_not_equal(kiln__device_open("cuda:99", 0, &device, &err), KILN_OK);
    assert_null(device);
    if (infos[0].usable) {
        assert_int_equal(err.status, KILN_ERR_NO_DEVICE);
        assert_non_null(strstr(err.message, "cuda:99"));
    } else {
        assert_non_null(strstr(err.message, infos[0].reason));
    }
    kiln_error_clear(&err);
    if (access("/proc/driver/nvidia/version", R_OK) != 0 && !infos[0].usable) {
        assert_int_equal(kiln__device_open("cuda", 0, &device, &err), KILN_ERR_NO_DRIVER);
        assert_non_null(strstr(err.message, "libcuda.so.1"));
        kiln_error_clear(&err);
    }
}

static void test_device__info_describes_the_device(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    const kiln_device_info *info = kiln__device_info(device);

    print_message("%s: %s, %s, %zu MiB, %d units, %s, %s\n", info->id, info->name, info->target,
                  info->memory_bytes / MIB, info->unit_count, info->driver, info->compiler);
    assert_true(info->usable);
    assert_true(info->memory_bytes > 64 * MIB);
    assert_true(info->unit_count > 0);
    assert_int_equal(kiln__device_is_host(device), !on_cuda);
    if (on_cuda) {
        assert_true(strncmp(info->target, "sm_", 3) == 0 && atoi(info->target + 3) >= 75);
        assert_true(strncmp(info->driver, "CUDA 1", 6) == 0);
    }
    kiln__device_close(device);
}

/* ---- life ---- */

static void test_device__opens_and_closes_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        double start = now_us();
        kiln__device *first = must_open(device_name);
        double opened = now_us();
        kiln__device *second = must_open(device_name);
        kiln__block *block = must_alloc(first, MIB, kiln__device_stream(first));

        print_message("open %d: %.1f ms, a second one %.1f ms\n", i, (opened - start) / 1000,
                      (now_us() - opened) / 1000);
        kiln__pool_free(first, block, NULL, 0);
        kiln__device_close(first);
        /* The other one still works. */
        block = must_alloc(second, MIB, kiln__device_stream(second));
        assert_int_equal(
            kiln__memset(second, block->address, 1, MIB, kiln__device_stream(second), NULL),
            KILN_OK);
        assert_int_equal(kiln__device_synchronize(second, NULL), KILN_OK);
        kiln__pool_free(second, block, NULL, 0);
        kiln__device_close(second);
    }
    kiln__device_close(NULL);
}

static bool is_refused_after_fork(kiln__device *device, kiln__module *module)
{
    kiln_stream *stream = kiln__device_stream(device);
    kiln__device *again = NULL;
    kiln_error err = KILN_ERROR_INIT;
    bool right =
        says(kiln__device_check(device, &err), KILN_ERR_FORK, &err, "fork") &&
        says(kiln__device_synchronize(device, &err), KILN_ERR_FORK, &err,
             kiln__device_info(device)->id) &&
        says(kiln__stream_synchronize(stream, &err), KILN_ERR_FORK, &err, "exec") &&
        says(launch(device, NULL, 1, 1, NULL, 0, stream, &err), KILN_ERR_FORK, &err, "fork");

    if (on_cuda)
        right = right &&
                says(kiln__device_open(device_name, 0, &again, &err), KILN_ERR_FORK, &err,
                     "before this process was forked") &&
                says(kiln__device_open("auto", 0, &again, &err), KILN_ERR_FORK, &err, "exec");
    else if (right)
        right = kiln__device_open(device_name, 0, &again, &err) == KILN_OK;
    kiln_error_clear(&err);
    kiln__device_close(again);
    kiln__module_unload(module);
    kiln__device_close(device);
    return right;
}

static void test_device__use_after_fork_is_refused(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln__module *module = load_kernels(device);

    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(is_refused_after_fork(device, module) ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* The parent is as before. */
    assert_int_equal(kiln__device_check(device, NULL), KILN_OK);
    if (module != NULL)
        check_axpy(device, module, 1000);
    kiln__module_unload(module);
    kiln__device_close(device);
}

/* ---- memory and copies ---- */

/* To the device, within it, and back: around the sizes where the way of copying changes. */
static void test_device__copies_keep_every_byte(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,       7,           511,         64 * KIB,     MIB - 1,
                                   MIB,     MIB + 1,     4 * MIB - 1, 4 * MIB,      4 * MIB + 1,
                                   8 * MIB, 8 * MIB + 1, 12 * MIB,    12 * MIB + 3, 29 * MIB + 5};
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    unsigned char *in = malloc(32 * MIB), *out = malloc(32 * MIB);

    assert_true(in != NULL && out != NULL);
    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++) {
        size_t bytes = sizes[i], shift = i % 4;
        kiln__block *a = must_alloc(device, bytes + 4, stream);
        kiln__block *b = must_alloc(device, bytes + 4, stream);
        char *from = (char *)a->address + shift, *to = (char *)b->address + 1;

        fill(in + shift, bytes, (unsigned)i);
        memset(out, 0xee, bytes + 8);
        assert_int_equal(kiln__copy_host_to_device(device, from, in + shift, bytes, stream, NULL),
                         KILN_OK);
        memset(in, 0, bytes + 4); /* the source is ours again */
        assert_int_equal(kiln__copy_device_to_device(device, to, from, bytes, stream, NULL),
                         KILN_OK);
        assert_int_equal(kiln__copy_device_to_host(device, out + 3, to, bytes, stream, NULL),
                         KILN_OK);
        assert_true(matches(out + 3, bytes, (unsigned)i));
        assert_true(out[2] == 0xee && out[3 + bytes] == 0xee);
        kiln__pool_free(device, a, NULL, 0);
        kiln__pool_free(device, b, NULL, 0);
    }
    assert_int_equal(kiln__copy_host_to_device(device, NULL, NULL, 0, stream, NULL), KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, NULL, NULL, 0, stream, NULL), KILN_OK);
    free(in);
    free(out);
    kiln__device_close(device);
}

/* Small copies share a page-locked buffer: many of them, from sources that change at once, on
 * streams in turn. */
static void test_device__many_small_copies_do_not_mix(void **state)
{
    (void)state;
    enum { COUNT = 3000, BYTES = 5000 };
    kiln__device *device = must_open(device_name);
    kiln_stream *streams[3] = {kiln__device_stream(device), must_stream(device),
                               must_stream(device)};
    kiln__block *block = must_alloc(device, (size_t)COUNT * BYTES, streams[0]);
    unsigned char *source = malloc(BYTES), *out = malloc((size_t)COUNT * BYTES);

    assert_true(source != NULL && out != NULL);
    for (int i = 0; i < COUNT; i++) {
        fill(source, BYTES, (unsigned)i);
        assert_int_equal(kiln__copy_host_to_device(device,
                                                   (char *)block->address + (size_t)i * BYTES,
                                                   source, BYTES, streams[i / 7 % 3], NULL),
                         KILN_OK);
    }
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, out, block->address, (size_t)COUNT * BYTES,
                                               streams[0], NULL),
                     KILN_OK);
    for (int i = 0; i < COUNT; i++)
        if (!matches(out + (size_t)i * BYTES, BYTES, (unsigned)i))
            fail_msg("copy %d", i);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(streams[1]);
    kiln__stream_destroy(streams[2]);
    free(source);
    free(out);
    kiln__device_close(device);
}

static void test_device__memset_fills_exactly(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__block *block = must_alloc(device, MIB, stream);
    unsigned char *bytes = malloc(MIB);

    assert_non_null(bytes);
    assert_int_equal(kiln__memset(device, block->address, 0, MIB, stream, NULL), KILN_OK);
    assert_int_equal(kiln__memset(device, (char *)block->address + 3, 0x1a5, 1001, stream, NULL),
                     KILN_OK);
    assert_int_equal(kiln__memset(device, NULL, 1, 0, stream, NULL), KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, bytes, block->address, MIB, stream, NULL),
                     KILN_OK);
    for (size_t i = 0; i < MIB; i++)
        assert_int_equal(bytes[i], i >= 3 && i < 1004 ? 0xa5 : 0);
    free(bytes);
    kiln__pool_free(device, block, NULL, 0);
    kiln__device_close(device);
}

static void test_device__too_large_a_request_leaves_the_device_usable(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__pool_alloc(device, (size_t)1 << 50, stream, &block, &err),
                     KILN_ERR_DEVICE_MEMORY);
    assert_null(block);
    print_message("%s\n", err.message);
    assert_non_null(strstr(err.message, "1.00 PiB"));
    assert_non_null(strstr(err.message, kiln__device_info(device)->id));
    kiln_error_clear(&err);
    block = must_alloc(device, MIB, stream);
    kiln__pool_free(device, block, NULL, 0);
    assert_int_equal(kiln__device_synchronize(device, NULL), KILN_OK);
    kiln__device_close(device);
}

/* ---- kernels ---- */

static void test_device__a_kernel_computes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 255, 256, 257, 1000003};
    kiln__device *device = must_open(device_name);
    kiln__module *module = load_kernels(device);

    if (module == NULL) {
        kiln__device_close(device);
        skip();
    }
    for (size_t i = 0; i < KILN_COUNT_OF(sizes); i++)
        check_axpy(device, module, sizes[i]);
    kiln__module_unload(module);
    kiln__module_unload(NULL);
    kiln__device_close(device);
}

static void test_device__arguments_are_copied_and_bounded(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln__module *module = load_kernels(device);
    kiln__block *block = must_alloc(device, 4, stream);
    static wide_args args;
    static unsigned char too_wide[5000];
    kiln_error err = KILN_ERROR_INIT;
    int sum = 0, got = 0;

    if (module == NULL) {
        kiln__pool_free(device, block, NULL, 0);
        kiln__device_close(device);
        skip();
    }
    assert_int_equal(sizeof args, 4096);
    args.out = block->address;
    for (int k = 0; k < 1022; k++)
        sum += args.values[k] = k * k % 1009;
    void *entry = must_entry(module, "wide");
    assert_int_equal(launch(device, entry, 1, 1, &args, sizeof args, stream, NULL), KILN_OK);
    memset(&args, 0, sizeof args);
    assert_int_equal(kiln__copy_device_to_host(device, &got, block->address, 4, stream, NULL),
                     KILN_OK);
    assert_int_equal(got, sum);
    /* No work at all, and too many arguments. */
    assert_int_equal(launch(device, entry, 0, 1, &args, sizeof args, stream, NULL), KILN_OK);
    assert_int_equal(launch(device, entry, 1, 1, too_wide, sizeof too_wide, stream, &err),
                     KILN_ERR_INTERNAL);
    assert_non_null(strstr(err.message, "5000"));
    kiln_error_clear(&err);
    kiln__pool_free(device, block, NULL, 0);
    kiln__module_unload(module);
    kiln__device_close(device);
}

static void test_device__missing_entries_and_broken_binaries_are_refused(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln__module *module = load_kernels(device);
    kiln_error err = KILN_ERROR_INIT;
    void *entry = &err;
    static const char junk[4096] = "this is no kernel";

    if (module == NULL) {
        kiln__device_close(device);
        skip();
    }
    assert_int_equal(kiln__module_entry(module, "no_such_kernel", &entry, &err), KILN_ERR_INTERNAL);
    assert_null(entry);
    assert_non_null(strstr(err.message, "no_such_kernel"));
    kiln_error_clear(&err);
    kiln__module *broken = module;
    assert_int_not_equal(kiln__module_load(device, junk, sizeof junk, &broken, &err), KILN_OK);
    assert_null(broken);
    print_message("%s\n", err.message);
    assert_true(err.message[0] != '\0');
    kiln_error_clear(&err);
    check_axpy(device, module, 1000); /* the device is as good as before */
    kiln__module_unload(module);
    kiln__device_close(device);
}

typedef struct worker {
    kiln__device *device;
    kiln__module *module;
} worker;

static void *compute(void *argument)
{
    worker *w = argument;

    for (int i = 0; i < 20; i++)
        check_axpy(w->device, w->module, (size_t)1000 * (size_t)(i + 1));
    return NULL;
}

static void test_device__threads_share_a_device(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    worker shared = {device, load_kernels(device)};
    pthread_t threads[4];

    if (shared.module == NULL) {
        kiln__device_close(device);
        skip();
    }
    for (size_t i = 0; i < KILN_COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compute, &shared), 0);
    for (size_t i = 0; i < KILN_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    kiln__module_unload(shared.module);
    kiln__device_close(device);
}

/* ---- streams and events ---- */

static void test_device__only_cuda_has_streams_to_wrap(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    kiln_error err = KILN_ERROR_INIT;

    if (on_cuda) { /* test_device_cuda.c does more */
        assert_non_null(kiln__stream_native(stream));
    } else {
        assert_null(kiln__stream_native(stream));
        assert_int_equal(kiln__stream_wrap(device, &err, &stream, &err), KILN_ERR_UNSUPPORTED);
        assert_null(stream);
        assert_non_null(strstr(err.message, "cpu"));
        kiln_error_clear(&err);
    }
    kiln__device_close(device);
}

static void test_device__events_measure_time(void **state)
{
    (void)state;
    kiln__device *device = must_open(device_name);
    kiln_stream *stream = kiln__device_stream(device);
    const kiln__event_kind timing = {.timing = true};
    kiln_event *start = NULL, *end = NULL, *never = NULL;
    kiln_error err = KILN_ERROR_INIT;
    double ms = -1;

    assert_int_equal(kiln__event_create(device, &timing, &start, NULL), KILN_OK);
    assert_int_equal(kiln__event_create(device, &timing, &end, NULL), KILN_OK);
    assert_int_equal(kiln__event_create(device, &timing, &never, NULL), KILN_OK);
    assert_int_equal(kiln__event_record(start, stream, NULL), KILN_OK);
    kiln__module *module = on_cuda ? load_kernels(device) : NULL;
    if (module != NULL) {
        kiln__block *flag = must_alloc(device, 4, stream);
        assert_int_equal(kiln__event_record(start, stream, NULL), KILN_OK);
        spin(device, module, flag, 10, stream);
        kiln__pool_free(device, flag, NULL, 0);
    } else {
        usleep(10000);
    }
    assert_int_equal(kiln__event_record(end, stream, NULL), KILN_OK);
    assert_int_equal(kiln__event_elapsed_ms(start, end, &ms, NULL), KILN_OK);
    assert_true(ms > 4 && ms < 9999); /* 10000: they were microseconds */
    assert_int_equal(kiln__event_elapsed_ms(start, never, &ms, &err), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "end event"));
    kiln_error_clear(&err);
    kiln__event_destroy(start);
    kiln__event_destroy(end);
    kiln__event_destroy(never);
    kiln__event_destroy(NULL);
    kiln__module_unload(module);
    kiln__device_close(device);
}

/* ---- the program ---- */

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_device__list_ends_with_the_cpu),
    cmocka_unit_test(test_device__wrong_names_are_refused),
    cmocka_unit_test(test_device__environment_chooses_when_nothing_is_named),
    cmocka_unit_test(test_device__auto_takes_the_first_that_works),
    cmocka_unit_test(test_device__what_is_missing_is_named),
    cmocka_unit_test(test_device__info_describes_the_device),
    cmocka_unit_test(test_device__opens_and_closes_again_and_again),
    cmocka_unit_test(test_device__use_after_fork_is_refused),
    cmocka_unit_test(test_device__copies_keep_every_byte),
    cmocka_unit_test(test_device__many_small_copies_do_not_mix),
    cmocka_unit_test(test_device__memset_fills_exactly),
    cmocka_unit_test(test_device__too_large_a_request_leaves_the_device_usable),
    cmocka_unit_test(test_device__a_kernel_computes),
    cmocka_unit_test(test_device__arguments_are_copied_and_bounded),
    cmocka_unit_test(test_device__missing_entries_and_broken_binaries_are_refused),
    cmocka_unit_test(test_device__threads_share_a_device),
    cmocka_unit_test(test_device__only_cuda_has_streams_to_wrap),
    cmocka_unit_test(test_device__events_measure_time),
};

int main(int argc, char **argv)
{
    const char *chosen = argc > 1 && argv[1][0] != '\0' ? argv[1] : kiln__env("KILN_TEST_DEVICE");

    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    if (chosen != NULL && strcmp(chosen, "all") != 0)
        return device_env_run(chosen, "test_device", tests, KILN_COUNT_OF(tests));
    int cuda = device_env_run("cuda", "test_device.cuda", tests, KILN_COUNT_OF(tests));
    int cpu = device_env_run("cpu", "test_device.cpu", tests, KILN_COUNT_OF(tests));
    return cuda == 1 || cpu != 0 ? 1 : 0;
}
