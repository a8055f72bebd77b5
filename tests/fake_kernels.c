/*
 * fake_kernels.c - modules of the driver that is none: their kernels fill memory, or fault.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"

enum { FAULT = 700 };

void fake_start(void)
{
}

typedef struct fill_call {
    bool fault;
    fake_fill_args args;
} fill_call;

static int run(void *user, int what)
{
    fill_call call = *(fill_call *)user;

    if ((what & FAKE_FREE) != 0)
        free(user);
    if ((what & FAKE_RUN) != 0 && !call.fault)
        memset(call.args.to, call.args.value, call.args.count);
    return (what & FAKE_RUN) != 0 && call.fault ? FAULT : 0;
}

int fake_module_load_data(kiln__cu_module *module, const void *image)
{
    ENTER();
    if (memcmp(image, FAKE_CUDA_IMAGE, strlen(FAKE_CUDA_IMAGE)) != 0 &&
        !(fake_control.any_module && memcmp(image, "\177ELF", 4) == 0))
        return 200;
    *module = (kiln__cu_module)&fake_control;
    fake_control.modules++;
    return 0;
}

int fake_module_unload(kiln__cu_module module)
{
    (void)module;
    LOCKED();
    kiln__cu_context now = NULL;

    if (fake_ctx_get_current(&now) != 0 || now == NULL)
        return FAKE_INVALID_CONTEXT;
    fake_control.modules--;
    return 0;
}

/* Whether the test's modules have such a kernel. */
static bool is_known(const char *name)
{
    for (const char *const *k = fake_control.kernels; k != NULL && *k != NULL; k++)
        if (strcmp(*k, name) == 0)
            return true;
    return fake_control.kernels == NULL;
}

int fake_module_get_function(kiln__cu_function *function, kiln__cu_module module, const char *name)
{
    static const char fill[] = "fill", fault[] = "fault", nothing[] = "nothing";

    (void)module;
    ENTER();
    if (strcmp(name, fill) == 0)
        *function = (kiln__cu_function)(uintptr_t)fill;
    else if (strcmp(name, fault) == 0)
        *function = (kiln__cu_function)(uintptr_t)fault;
    else if (fake_control.any_module && is_known(name))
        *function = (kiln__cu_function)(uintptr_t)nothing;
    else
        return 500;
    strncpy(fake_control.function, name, sizeof fake_control.function - 1);
    return 0;
}

int fake_dynamic_most(void)
{
    const int plain = 49152 - fake_control.static_shared;

    return fake_control.shared_allowed > plain ? fake_control.shared_allowed : plain;
}

int fake_func_set_attribute(kiln__cu_function function, int attribute, int value)
{
    (void)function;
    ENTER();
    if (attribute == 8 && value > fake_control.shared_most - fake_control.static_shared)
        return fake_invalid_value();
    if (attribute == 8)
        fake_control.shared_allowed = value;
    if (attribute == 14)
        fake_control.large_clusters = value == 1;
    return 0;
}

int fake_launch_kernel(kiln__cu_function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                       unsigned shared_bytes, kiln__cu_stream stream, void **params, void **extra)
{
    ENTER();
    if (block_x == 0 || block_y == 0 || block_z == 0 || block_x * block_y * block_z > 1024 ||
        extra != NULL || grid_x == 0 || grid_y == 0 || grid_z == 0 ||
        shared_bytes > (unsigned)fake_dynamic_most())
        return fake_invalid_value();
    fake_control.grid[0] = grid_x;
    fake_control.grid[1] = grid_y;
    fake_control.grid[2] = grid_z;
    fake_control.block = block_x;
    fake_control.block_yz[0] = block_y;
    fake_control.block_yz[1] = block_z;
    fake_control.shared_bytes = shared_bytes;
    fake_control.stream = stream;
    if (strcmp((const char *)function, "nothing") == 0) {
        fake_cuda_record(params);
        return 0;
    }
    fill_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return KILN__CU_OUT_OF_MEMORY;
    call->fault = strcmp((const char *)function, "fault") == 0;
    if (!call->fault)
        call->args = *(const fake_fill_args *)params[0];
    return fake_enqueue_kernel(stream, run, call);
}
