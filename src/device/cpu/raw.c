/*
 * raw.c - modules of the user's on the processor.
 *
 * A kernel is a function of C++ that runs once for every thread of every block, one after the other
 * within a block; blocks are the units of work that the team shares. What src/codegen/module_text.c
 * puts into the source, by templates/module, gives each kernel and each variable an object that tells
 * of it; those objects are the entries here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "device/cpu/cpu.h"

/* As in templates/module/begin.cpp. */
typedef struct kernel {
    kiln__cpu_entry run;
    uint64_t count;
    struct {
        uint32_t offset, bytes, kind;
    } params[];
} kernel;

typedef struct variable {
    void *address;
    uint64_t bytes;
    uint64_t read_only; /* declared const: its memory may be mapped so */
} variable;

/* What `run` is given; the arguments follow, and may have to lie at multiples of its size. */
typedef struct head {
    uint32_t grid[3], block[3], unused[10];
} head;

enum { BLOCK_THREADS = 1024 };

static kiln_status get_limits(kiln__device *device, kiln__raw_limits *out, kiln_error *err)
{
    (void)err;
    *out = (kiln__raw_limits){.grid = {INT32_MAX, 65535, 65535},
                              .block = {BLOCK_THREADS, BLOCK_THREADS, 64},
                              .block_threads = BLOCK_THREADS,
                              .units = device->info.unit_count};
    return KILN_OK;
}

static kiln_status symbol(kiln__device *device, void *module, const char *name, void **address_out,
                          size_t *bytes_out, bool *read_only_out, kiln_error *err)
{
    const variable *found = dlsym(module, name);

    (void)device;
    if (found == NULL)
        return kiln__fail(err, KILN_ERR_NAME, "there is no variable \"%.200s\"", name);
    *address_out = found->address;
    *bytes_out = (size_t)found->bytes;
    *read_only_out = found->read_only != 0;
    return KILN_OK;
}

static kiln_status get_params(kiln__device *device, void *entry, kiln__raw_param *params,
                              size_t *count_out, kiln_error *err)
{
    const kernel *k = entry;

    (void)device;
    if (k->count > KILN__RAW_PARAMS_MAX)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "it has more than %d parameters",
                          KILN__RAW_PARAMS_MAX);
    for (size_t p = 0; p < k->count; p++)
        params[p] = (kiln__raw_param){k->params[p].offset, k->params[p].bytes,
                                      (char)k->params[p].kind};
    *count_out = (size_t)k->count;
    return KILN_OK;
}

/* Registers and the like are a GPU's. */
static kiln_status get_attributes(kiln__device *device, void *entry, kiln__raw_attributes *out,
                                  kiln_error *err)
{
    (void)device;
    (void)entry;
    (void)err;
    *out = (kiln__raw_attributes){.max_threads = BLOCK_THREADS};
    return KILN_OK;
}

static kiln_status get_occupancy(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                 int64_t *blocks_out, kiln_error *err)
{
    (void)entry;
    (void)launch;
    (void)err;
    *blocks_out = device->info.unit_count;
    return KILN_OK;
}

static kiln_status run(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                       const kiln__raw_param *params, size_t count, const void *block,
                       size_t bytes, void *native, kiln_error *err)
{
    struct {
        _Alignas(64) head head;
        unsigned char block[KILN__RAW_BLOCK_MAX];
    } args;
    int64_t blocks = 1;

    (void)params;
    (void)count;
    (void)native;
    (void)err;
    for (int axis = 0; axis < 3; axis++) {
        args.head.grid[axis] = launch->grid[axis];
        args.head.block[axis] = launch->block[axis];
        blocks *= launch->grid[axis];
    }
    memcpy(args.block, block, bytes);
    kiln__team_run(device->state, ((const kernel *)entry)->run, &args, blocks, 1);
    return KILN_OK;
}

const kiln__raw_backend kiln__raw_cpu = {
    .limits = get_limits,
    .symbol = symbol,
    .params = get_params,
    .attributes = get_attributes,
    .occupancy = get_occupancy,
    .launch = run,
};
