/*
 * kernels.c - modules and launches of the emulated GPU's driver.
 *
 *     cuModuleLoadData: bytes -> memory file -> dlopen        cuLaunchKernel -> stream -> grid.c
 *
 * The bytes are a shared object of nvrtc.c that names the driver's soname as needed, so that its
 * calls find this library wherever it was loaded from.
 */
#define _GNU_SOURCE
#include "emulator.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_driver.h"

struct kiln__cu_module_st {
    void *library;
    const emu_module *info;
};

enum { SHARED_PLAIN = 48 << 10 };

/* ---- settings ---- */

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? strtoul(text, NULL, 0) : otherwise;
}

/* Of a block of a GPU, by its compute capability (CUDA's guide to programming). */
static int shared_most(int capability)
{
    return (capability < 80                        ? 64
            : capability == 80 || capability == 87 ? 163
            : capability < 90 || capability >= 120 ? 99
                                                   : 227)
           << 10;
}

void fake_start(void)
{
    fake_control.gpu_count = 1;
    fake_control.memory_bytes = (size_t)4 << 30;
    fake_control.multiprocessors = (int)setting("KILN_EMULATOR_UNITS", 2);
    fake_control.capability = (int)setting("KILN_EMULATOR_TARGET", 90);
    fake_control.shared_most = shared_most(fake_control.capability);
    /* A multiprocessor holds the blocks that launch bounds promise to a kernel: 8 are more than any asks
     * for. Some kernels wait among all blocks of a grid that was planned to be resident. */
    const unsigned long units = (unsigned long)fake_control.multiprocessors;
    emu_resident = (unsigned)setting("KILN_EMULATOR_RESIDENT", units < 4 ? 8 * units : 32);
    if (emu_resident < 1 || emu_resident > 32)
        emu_resident = 16;
    emu_seed = setting("KILN_EMULATOR_SEED", 0);
    if (getenv("KILN_EMULATOR_SEED") != NULL &&
        strcmp(getenv("KILN_EMULATOR_SEED"), "random") == 0) {
        emu_seed = (uint64_t)time(NULL) * 1000u + (uint64_t)getpid() % 1000u;
        fprintf(stderr, "emulated GPU: KILN_EMULATOR_SEED=%llu\n", (unsigned long long)emu_seed);
    }
    emu_divide_begin();
}

/* ---- modules ---- */

/* How long a shared object is: its section headers are last. */
static size_t image_bytes(const void *image)
{
    Elf64_Ehdr head;

    memcpy(&head, image, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN)
        return 0;
    return head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
}

/* A name that no other module had: the loader takes equal names for one file. The number of the
 * module is written as "/" and "./", which the path does not mind. */
static void name_file(int file, char *path, size_t bytes)
{
    static unsigned number;
    char digits[80];
    size_t used = 0;

    number++;
    for (unsigned bit = 0; bit < 32; bit++) {
        if ((number >> bit & 1) != 0)
            digits[used++] = '.';
        digits[used++] = '/';
    }
    snprintf(path, bytes, "/proc/self/fd/%.*s%d", (int)used, digits, file);
}

static void *load(const void *image, size_t bytes)
{
    char path[128];
    void *library = NULL;
    int file = memfd_create("kiln-kernel", MFD_CLOEXEC);

    if (file < 0)
        return NULL;
    for (size_t at = 0; at < bytes;) {
        const ssize_t got = write(file, (const char *)image + at, bytes - at);
        if (got < 0 && errno != EINTR)
            goto done;
        at += got > 0 ? (size_t)got : 0;
    }
    name_file(file, path, sizeof path);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "emulated GPU: %s\n", dlerror());

done:
    close(file);
    return library;
}

int fake_module_load_data(kiln__cu_module *module, const void *image)
{
    ENTER();
    const size_t bytes = image_bytes(image);
    kiln__cu_module m = bytes > 0 ? calloc(1, sizeof *m) : NULL;

    if (m == NULL)
        return KILN__CU_INVALID_IMAGE;
    m->library = load(image, bytes);
    m->info = m->library != NULL ? dlsym(m->library, "emu_module_info") : NULL;
    if (m->info == NULL) {
        free(m);
        return KILN__CU_INVALID_IMAGE;
    }
    *module = m;
    fake_control.modules++;
    return 0;
}

int fake_module_unload(kiln__cu_module module)
{
    LOCKED();
    kiln__cu_context now = NULL;

    if (fake_ctx_get_current(&now) != 0 || now == NULL)
        return FAKE_INVALID_CONTEXT;
    dlclose(module->library);
    free(module);
    fake_control.modules--;
    return 0;
}

/* A function is the address of a pair. */
struct kiln__cu_function_st {
    const emu_module *module;
    const emu_entry *entry;
    struct kiln__cu_function_st *next;
    int static_bytes, dynamic_most; /* of shared memory: its own, and what a launch may give */
};

/* The module's own, of all its kernels. */
static int static_bytes(const emu_module *m)
{
    const int *dynamic = (const int *)(const void *)m->dynamic_low;
    int bytes = (int)(m->shared_high - m->shared_low);

    while ((const char *)dynamic < m->dynamic_high)
        bytes -= *dynamic++;
    return bytes;
}

int fake_module_get_function(kiln__cu_function *function, kiln__cu_module module, const char *name)
{
    static kiln__cu_function all; /* kept: there are few */

    ENTER();
    for (const emu_entry *e = module->info->entries; e->name != NULL; e++) {
        if (strcmp(e->name, name) != 0)
            continue;
        kiln__cu_function f = calloc(1, sizeof *f);
        if (f == NULL)
            return KILN__CU_OUT_OF_MEMORY;
        *f = (struct kiln__cu_function_st){module->info, e, all, static_bytes(module->info), 0};
        f->dynamic_most = SHARED_PLAIN - f->static_bytes;
        all = f;
        *function = f;
        return 0;
    }
    return KILN__CU_NOT_FOUND;
}

int fake_func_set_attribute(kiln__cu_function function, int attribute, int value)
{
    ENTER();
    if (attribute == 8 && value > fake_control.shared_most - function->static_bytes)
        return fake_invalid_value();
    if (attribute == 8)
        function->dynamic_most = value;
    return 0;
}

/* ---- launches ---- */

static int run(void *user, int what)
{
    emu_launch *launch = user;
    const int result = (what & FAKE_RUN) != 0 ? emu_run(launch) : 0;

    if ((what & FAKE_FREE) == 0)
        return result;
    free(launch->arguments);
    free(launch->argument);
    free(launch);
    return result;
}

/* Arguments are taken when a kernel is launched, not when it runs. */
static emu_launch *launch_make(kiln__cu_function function, void **params)
{
    const unsigned *bytes = function->entry->argument_bytes;
    emu_launch *l = calloc(1, sizeof *l);
    size_t used = 0;

    l->module = function->module;
    l->entry = function->entry;
    l->argument = calloc(EMU_ARGUMENTS, sizeof *l->argument);
    for (size_t k = 0; bytes[k] > 0; k++)
        l->argument_bytes += (bytes[k] + 15u) & ~15u;
    l->arguments = aligned_alloc(16, l->argument_bytes + 16);
    for (size_t k = 0; bytes[k] > 0 && k < EMU_ARGUMENTS; k++) {
        l->argument[k] = l->arguments + used;
        memcpy(l->argument[k], params[k], bytes[k]);
        used += (bytes[k] + 15u) & ~15u;
    }
    return l;
}

int fake_launch_kernel(kiln__cu_function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                       unsigned shared_bytes, kiln__cu_stream stream, void **params, void **extra)
{
    ENTER();
    const emu_entry *e = function->entry;
    const size_t fixed = (size_t)(function->module->shared_high - function->module->shared_low);

    if (block_x == 0 || block_x > EMU_THREADS || block_y != 1 || block_z != 1 || extra != NULL ||
        grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_y > 65535 || grid_z > 65535 ||
        (e->threads_max > 0 && block_x > e->threads_max) || shared_bytes > fixed ||
        (int)shared_bytes > function->dynamic_most || function->static_bytes > SHARED_PLAIN ||
        (e->cluster > 0 && (grid_x % e->cluster != 0 || e->cluster > 8)))
        return fake_invalid_value();
    emu_launch *l = launch_make(function, params);
    l->grid = (emu_dim3){grid_x, grid_y, grid_z};
    l->block = (emu_dim3){block_x, 1, 1};
    return fake_enqueue_kernel(stream, run, l);
}

/* ---- what modules of the user's ask ---- */

int fake_module_load_data_ex(kiln__cu_module *module, const void *image, unsigned option_count,
                             int *options, void **values)
{
    (void)option_count;
    (void)options;
    (void)values;
    return fake_module_load_data(module, image);
}

bool fake_is_variable(kiln__cu_pointer address)
{
    (void)address;
    return false;
}

int fake_module_get_global(kiln__cu_pointer *address, size_t *bytes, kiln__cu_module module,
                           const char *name)
{
    (void)address;
    (void)bytes;
    (void)module;
    (void)name;
    return KILN__CU_NOT_FOUND;
}

/* Attributes 0, 1 and 8: threads of a block, shared memory of the kernel's own and beside that. */
int fake_func_get_attribute(int *value, int attribute, kiln__cu_function function)
{
    ENTER();
    *value = attribute == 0 ? (int)(function->entry->threads_max > 0 ? function->entry->threads_max
                                                                     : EMU_THREADS)
             : attribute == 1 ? function->static_bytes
             : attribute == 8 ? function->dynamic_most
                              : 0;
    return 0;
}

int fake_func_get_param_info(kiln__cu_function function, size_t index, size_t *offset,
                             size_t *bytes)
{
    const unsigned *sizes = function->entry->argument_bytes;

    ENTER();
    *offset = 0;
    for (size_t k = 0; k < index && sizes[k] > 0; k++)
        *offset += sizes[k];
    *bytes = sizes[index];
    return sizes[index] > 0 ? 0 : fake_invalid_value();
}

int fake_occupancy_blocks(int *blocks, kiln__cu_function function, int block, size_t shared_bytes)
{
    (void)function;
    (void)block;
    (void)shared_bytes;
    ENTER();
    *blocks = 1;
    return 0;
}

int fake_occupancy_clusters(int *clusters, kiln__cu_function function,
                            const kiln__cu_launch_config *config)
{
    (void)function;
    (void)config;
    ENTER();
    *clusters = 1;
    return 0;
}

/* Clusters that a launch asks for are not emulated, those that a kernel has are. */
int fake_launch_kernel_ex(const kiln__cu_launch_config *config, kiln__cu_function function,
                          void **params, void **extra)
{
    ENTER();
    if (config->attribute_count > 0)
        return fake_invalid_value();
    return fake_launch_kernel(function, config->grid[0], config->grid[1], config->grid[2],
                              config->block[0], config->block[1], config->block[2],
                              config->shared_bytes, config->stream, params, extra);
}
