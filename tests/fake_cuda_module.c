/*
 * fake_cuda_module.c - what modules of the user's ask of the driver that is none; see fake_cuda.h.
 *
 * A kernel has the parameters that the test has set, and does nothing; what a launch was given is kept.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"

/* Options 5 and 6 are where the log goes and its size. A PTX text must be ended: it is measured. */
int fake_module_load_data_ex(kiln__cu_module *module, const void *image, unsigned option_count,
                             int *options, void **values)
{
    fake_cuda *const control = &fake_control;

    ENTER();
    if (control->jit_log != NULL) {
        if (option_count == 2 && options[0] == 5 && options[1] == 6)
            strncpy(values[0], control->jit_log, (size_t)(uintptr_t)values[1]);
        return 218;
    }
    control->image_bytes =
        control->any_module && memcmp(image, "\177ELF", 4) != 0 ? strlen(image) : 0;
    if (control->image_bytes == 0)
        return fake_module_load_data(module, image);
    *module = (kiln__cu_module)control;
    control->modules++;
    return 0;
}

static _Alignas(512) unsigned char variable[512];

bool fake_is_variable(kiln__cu_pointer address)
{
    return (uintptr_t)address - (uintptr_t)variable < sizeof variable;
}

int fake_module_get_global(kiln__cu_pointer *address, size_t *bytes, kiln__cu_module module,
                           const char *name)
{
    (void)module;
    fake_cuda *const control = &fake_control;

    ENTER();
    if (control->symbol == NULL || strcmp(control->symbol, name) != 0)
        return 500;
    *address = (kiln__cu_pointer)(uintptr_t)variable;
    *bytes = control->symbol_bytes;
    return 0;
}

int fake_func_get_attribute(int *value, int attribute, kiln__cu_function function)
{
    (void)function;
    fake_cuda *const control = &fake_control;

    ENTER();
    *value = attribute == 0   ? control->max_threads
             : attribute == 1 ? control->static_shared
             : attribute == 8 ? fake_dynamic_most()
                              : 100 + attribute;
    return 0;
}

int fake_func_get_param_info(kiln__cu_function function, size_t index, size_t *offset,
                             size_t *bytes)
{
    (void)function;
    fake_cuda *const control = &fake_control;

    ENTER();
    if (index >= control->param_count)
        return 1;
    *offset = control->param_offset[index];
    *bytes = control->param_bytes[index];
    return 0;
}

int fake_occupancy_blocks(int *blocks, kiln__cu_function function, int block, size_t shared_bytes)
{
    (void)function;
    fake_cuda *const control = &fake_control;

    ENTER();
    *blocks = block > control->max_threads || shared_bytes > (size_t)fake_dynamic_most()
                  ? 0
                  : control->blocks_per_unit;
    return 0;
}

int fake_occupancy_clusters(int *clusters, kiln__cu_function function,
                            const kiln__cu_launch_config *config)
{
    (void)function;
    ENTER();
    if (config->attribute_count == 0 || config->attributes[0].id != 4 ||
        config->grid[0] % config->attributes[0].value.dims[0] != 0)
        return FAKE_INVALID_VALUE;
    *clusters = 60;
    return 0;
}

void fake_cuda_record(void **params)
{
    fake_cuda *const control = fake_cuda_control();

    control->launches++;
    for (size_t k = 0; params != NULL && k < control->param_count; k++)
        memcpy(control->params + control->param_offset[k], params[k], control->param_bytes[k]);
}

int fake_launch_kernel_ex(const kiln__cu_launch_config *config, kiln__cu_function function,
                          void **params, void **extra)
{
    fake_cuda *const control = &fake_control;

    ENTER();
    control->cooperative = control->programmatic = false;
    memset(control->cluster, 0, sizeof control->cluster);
    for (unsigned k = 0; k < config->attribute_count; k++) {
        const kiln__cu_launch_attribute *a = &config->attributes[k];
        if (a->id == 2)
            control->cooperative = a->value.flag == 1;
        else if (a->id == 4)
            memcpy(control->cluster, a->value.dims, sizeof control->cluster);
        else if (a->id == 6)
            control->programmatic = a->value.flag == 1;
        else
            return FAKE_INVALID_VALUE;
    }
    return fake_launch_kernel(function, config->grid[0], config->grid[1], config->grid[2],
                              config->block[0], config->block[1], config->block[2],
                              config->shared_bytes, config->stream, params, extra);
}
