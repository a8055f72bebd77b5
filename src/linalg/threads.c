/*
 * threads.c - linear algebra on the threads of the cpu device. solver.c hands it matrices of a
 * stack, product_own.c blocks of a product.
 */
#include "linalg/linalg.h"

kiln_status kiln__on_threads(kiln__device *device, kiln__cpu_entry entry, const void *args,
                             size_t args_bytes, int64_t units, kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = units, .block = 1};
    return kiln__launch(device, (void *)(uintptr_t)entry, &config, args, args_bytes,
                        kiln__device_home(device), err);
}
