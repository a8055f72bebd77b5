/*
 * test_cuda_memory.c - src/device/cuda: whose memory a pointer is of, and memory of the driver's own pool,
 * on a driver that is none (fake_cuda.c).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "load_fake_cuda.h"

static fake_cuda *cuda;

static kiln__device *must_open(const char *name)
{
    kiln__device *device = NULL;

    assert_int_equal(kiln__device_open(name, 0, &device, NULL), KILN_OK);
    return device;
}

static void test_cuda_memory__a_pointer_is_told_by_what_it_points_to(void **state)
{
    (void)state;
    kiln__device *first = must_open("cuda:0"), *other = must_open("cuda:3");
    kiln_error err = KILN_ERROR_INIT;
    kiln__block *mine = NULL, *theirs = NULL;
    void *pinned = NULL;
    int on_the_stack = 0;

    assert_int_equal(kiln__pool_alloc(first, 1000, kiln__device_home(first), &mine, NULL), KILN_OK);
    assert_int_equal(kiln__pool_alloc(other, 1000, kiln__device_home(other), &theirs, NULL),
                     KILN_OK);
    assert_int_equal(kiln__host_alloc(other, 1000, false, &pinned, NULL), KILN_OK);
    assert_int_equal(kiln__device_check_memory(first, mine->address, NULL), KILN_OK);
    assert_int_equal(kiln__device_check_memory(first, pinned, NULL), KILN_OK);
    assert_int_equal(kiln__device_check_memory(first, theirs->address, &err), KILN_ERR_CONTEXT);
    assert_non_null(strstr(err.message, "is of cuda:3, the context is on cuda:0"));
    assert_int_equal(kiln__device_check_memory(first, &on_the_stack, &err), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "ordinary host memory, which cuda:0 does not reach"));
    kiln_error_clear(&err);
    kiln__host_free(other, pinned);
    kiln__pool_free(first, mine, NULL, 0);
    kiln__pool_free(other, theirs, NULL, 0);
    kiln__device_close(first);
    kiln__device_close(other);
}

static void test_cuda_memory__the_drivers_pool_gives_every_block(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda:0");
    kiln_stream *other = NULL;
    kiln__block *blocks[2] = {NULL}, *none = NULL;

    assert_int_equal(kiln__pool_set_source(device, KILN_MEMORY_ASYNC, NULL), KILN_OK);
    assert_int_equal(kiln__stream_create(device, NULL, &other, NULL), KILN_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(
            kiln__pool_alloc(device, 1000, kiln__device_home(device), &blocks[k], NULL), KILN_OK);
    assert_int_equal(cuda->async_blocks, 2);
    kiln__pool_free(device, blocks[0], NULL, 0);
    assert_int_equal(cuda->async_blocks, 1);
    kiln__pool_free(device, blocks[1], &other, 1);
    assert_int_equal(cuda->async_blocks, 0);
    assert_int_equal(kiln__pool_alloc(device, cuda->memory_bytes + 1, other, &none, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    kiln__stream_destroy(other);
    kiln__device_close(device);
    assert_int_equal(cuda->blocks, 0);
}

/* Copies of all sizes in turn, of which the largest make the stage grow. */
static void test_cuda_memory__large_copies_are_staged_in_larger_parts(void **state)
{
    static const size_t sizes[] = {5000, (size_t)9 << 20, ((size_t)70 << 20) + 13, 300, (size_t)33 << 20};
    (void)state;
    kiln__device *device = must_open("cuda:0");
    kiln_stream *const stream = kiln__device_home(device);

    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        unsigned char *const from = malloc(sizes[k]), *const back = calloc(sizes[k], 1);
        kiln__block *block = NULL;
        for (size_t b = 0; b < sizes[k]; b++)
            from[b] = (unsigned char)((b * 2654435761u) >> 13 ^ k);
        assert_int_equal(kiln__pool_alloc(device, sizes[k], stream, &block, NULL), KILN_OK);
        assert_int_equal(kiln__copy_host_to_device(device, block->address, from, sizes[k], stream, NULL),
                         KILN_OK);
        assert_int_equal(kiln__copy_device_to_host(device, back, block->address, sizes[k], stream, NULL),
                         KILN_OK);
        assert_memory_equal(from, back, sizes[k]);
        kiln__pool_free(device, block, NULL, 0);
        free(from);
        free(back);
    }
    kiln__device_close(device);
    assert_int_equal(cuda->host_blocks, 0);
}

/* 1 is the policy that prefers a node, and 3 the one that spreads pages. */
static void test_cuda_memory__page_locked_memory_is_near_the_device(void **state)
{
    (void)state;
    kiln__device *device = must_open("cuda:0");
    unsigned long first_node = 1;
    int policy = -1;
    void *near = NULL, *spread = NULL;

    if (syscall(SYS_set_mempolicy, 0, NULL, 0UL) != 0) {
        kiln__device_close(device);
        skip(); /* the system lets nobody choose */
    }
    assert_int_equal(kiln__host_alloc(device, 1000, false, &near, NULL), KILN_OK);
    assert_int_equal(cuda->memory_policy, 1);
    assert_int_equal(syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL), 0);
    assert_int_equal(policy, 0);
    /* A thread that has a policy keeps it. */
    assert_int_equal(syscall(SYS_set_mempolicy, 3, &first_node, 64UL), 0);
    assert_int_equal(kiln__host_alloc(device, 100000, false, &spread, NULL), KILN_OK);
    assert_int_equal(cuda->memory_policy, 3);
    assert_int_equal(syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL), 0);
    assert_int_equal(policy, 3);
    assert_int_equal(syscall(SYS_set_mempolicy, 0, NULL, 0UL), 0);
    kiln__host_free(device, near);
    kiln__host_free(device, spread);
    kiln__device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_memory__a_pointer_is_told_by_what_it_points_to),
        cmocka_unit_test(test_cuda_memory__the_drivers_pool_gives_every_block),
        cmocka_unit_test(test_cuda_memory__page_locked_memory_is_near_the_device),
        cmocka_unit_test(test_cuda_memory__large_copies_are_staged_in_larger_parts),
    };

    cuda = load_fake_cuda();
    if (cuda == NULL)
        return 77;
    return cmocka_run_group_tests_name("test_cuda_memory", tests, NULL, NULL);
}
