/*
 * test_cuda_exit.c - a process that ends with live objects on a CUDA device. Whoever gives them back
 * behind the driver's own exit handler must not reach the driver: fake_cuda.c counts such calls.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda/driver.h"
#include "in_child.h"
#include "load_fake_cuda.h"

static fake_cuda *cuda;
static kiln__device *device;
static kiln__block *block;
static kiln_stream *stream;

/* Registered before kiln has its handler, and the driver its own, so it runs behind both. */
static void give_back_late(void)
{
    kiln_error err = KILN_ERROR_INIT;
    bool right = kiln__device_synchronize(device, &err) == KILN_ERR_RELEASED &&
                 strstr(err.message, "process is ending") != NULL;

    kiln_error_clear(&err);
    right = kiln__cuda_init(&err) == KILN_ERR_RELEASED && right;
    kiln_error_clear(&err);
    kiln__pool_free(device, block, NULL, 0);
    kiln__stream_destroy(stream);
    kiln__device_close(device);
    _exit(right && cuda->late_calls == 0 ? 0 : 1);
}

static bool ends_with_live_objects(void)
{
    if (atexit(give_back_late) != 0 || kiln__device_open("cuda", 0, &device, NULL) != KILN_OK ||
        kiln__pool_alloc(device, 1000, kiln__device_home(device), &block, NULL) != KILN_OK ||
        kiln__stream_create(device, NULL, &stream, NULL) != KILN_OK)
        return false;
    exit(1); /* give_back_late() says how it was */
}

static void test_cuda_exit__late_releases_leave_the_driver_alone(void **state)
{
    (void)state;
    in_child(ends_with_live_objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_exit__late_releases_leave_the_driver_alone),
    };

    cuda = load_fake_cuda();
    if (cuda == NULL)
        return 1;
    return cmocka_run_group_tests_name("test_cuda_exit", tests, NULL, NULL);
}
