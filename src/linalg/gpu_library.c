/*
 * gpu_library.c - libcublasLt, libcublas and libcusolver: find them, load them, say what was found.
 *
 *     product_cuda.c, solver_cuda.c > [load, once] > dlopen, dlsym (cublaslt.def, cublas.def, cusolver.def)
 *
 * Rule 1: nothing is loaded before a call on a CUDA device needs it: the libraries have hundreds of megabytes.
 * Rule 2: a library of CUDA 13 needs a driver of CUDA 13; with an older one it is passed over.
 * Rule 3: it is never unloaded: other libraries of the process may use it too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "linalg/gpu_library.h"

/* A function of a library; `symbol` begins with '?' where it may be missing. */
typedef struct entry {
    const char *symbol;
    size_t at; /* in the table */
} entry;

#define KILN_LT(type, field, symbol, parameters) {symbol, offsetof(kiln__lt, field)},
static const entry lt_entries[] = {
#include "linalg/cublaslt.def"
};
#undef KILN_LT

#define FOUR(table, field, s, d, c, z)                                                             \
    {s, offsetof(table, field[0])}, {d, offsetof(table, field[1])},                                \
        {c, offsetof(table, field[2])}, {z, offsetof(table, field[3])},

#define KILN_SOLVER(field, symbol, parameters) {symbol, offsetof(kiln__cublas, field)},
#define KILN_SOLVER4(field, s, d, c, z, parameters) FOUR(kiln__cublas, field, s, d, c, z)
static const entry cublas_entries[] = {
#include "linalg/cublas.def"
};
#undef KILN_SOLVER
#undef KILN_SOLVER4

#define KILN_SOLVER(field, symbol, parameters) {symbol, offsetof(kiln__cusolver, field)},
#define KILN_SOLVER4(field, s, d, c, z, parameters) FOUR(kiln__cusolver, field, s, d, c, z)
static const entry cusolver_entries[] = {
#include "linalg/cusolver.def"
};
#undef KILN_SOLVER
#undef KILN_SOLVER4

static kiln__lt lt_table;
static kiln__cublas cublas_table;
static kiln__cusolver cusolver_table;

static struct library {
    const char *role, *name;
    int majors[2]; /* of the file's name, for CUDA 13 and for CUDA 12 */
    const char *wheels[2];
    const entry *entries;
    size_t entry_count;
    void *table;
    bool tried;
    kiln_status status;
    char path[256], reason[512];
} libraries[] = {
    [KILN__GPU_CUBLASLT] = {.role = "cuBLASLt",
                            .name = "libcublasLt",
                            .majors = {13, 12},
                            .wheels = {"cu13", "cublas"},
                            .entries = lt_entries,
                            .entry_count = KILN_COUNT_OF(lt_entries),
                            .table = &lt_table},
    [KILN__GPU_CUBLAS] = {.role = "cuBLAS",
                          .name = "libcublas",
                          .majors = {13, 12},
                          .wheels = {"cu13", "cublas"},
                          .entries = cublas_entries,
                          .entry_count = KILN_COUNT_OF(cublas_entries),
                          .table = &cublas_table},
    [KILN__GPU_CUSOLVER] = {.role = "cuSOLVER",
                            .name = "libcusolver",
                            .majors = {12, 11},
                            .wheels = {"cu13", "cusolver"},
                            .entries = cusolver_entries,
                            .entry_count = KILN_COUNT_OF(cusolver_entries),
                            .table = &cusolver_table},
};

static kiln__process_lock lock = KILN__PROCESS_LOCK_INIT;

static bool load(struct library *l, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        const char *why = dlerror();
        snprintf(l->reason, sizeof l->reason, "%s does not load: %.400s", l->role,
                 why != NULL ? why : path);
        return false;
    }
    for (size_t k = 0; k < l->entry_count; k++) {
        const char *symbol = l->entries[k].symbol;
        const bool needed = symbol[0] != '?';
        void *address = dlsym(handle, needed ? symbol : symbol + 1);
        if (address == NULL && needed) {
            snprintf(l->reason, sizeof l->reason, "%.400s lacks %s", path, symbol);
            dlclose(handle);
            return false;
        }
        memcpy((char *)l->table + l->entries[k].at, &address, sizeof address);
    }
    return true;
}

typedef struct looking {
    struct library *library;
    bool load; /* or only note where the file is */
} looking;

static bool accept(const char *path, void *user)
{
    const looking *for_it = user;

    if (for_it->load && !load(for_it->library, path))
        return false;
    snprintf(for_it->library->path, sizeof for_it->library->path, "%s", path);
    return true;
}

/* Find the newest library that a driver of CUDA `driver_major` runs. */
static bool find(struct library *l, int driver_major, bool then_load)
{
    looking for_it = {l, then_load};
    const bool newest = driver_major >= 13;
    const kiln__toolkit_search search = {
        .name = l->name,
        .majors = {l->majors[newest ? 0 : 1], newest ? l->majors[1] : 0},
        .wheels = {l->wheels[0], l->wheels[1]},
        .accept = accept,
        .user = &for_it,
    };
    return kiln__toolkit_find(&search);
}

static void explain(struct library *l)
{
    if (l->reason[0] == '\0')
        snprintf(l->reason, sizeof l->reason,
                 "no %s.so.%d or %s.so.%d that suits the driver in $LD_LIBRARY_PATH, the system's "
                 "folders, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*/lib64 or the nvidia wheels of "
                 "$VIRTUAL_ENV",
                 l->name, l->majors[0], l->name, l->majors[1]);
}

/* "CUDA 13.0" of a device; 0 where it does not say. */
static int driver_major(const kiln_device_info *info)
{
    int major = 0;
    return sscanf(info->driver, "CUDA %d", &major) == 1 ? major : 0;
}

static kiln_status get(kiln__gpu_library which, const char *caller, kiln__device *device,
                       kiln_error *err)
{
    struct library *l = &libraries[which];

    kiln__process_lock_take(&lock);
    if (!l->tried) {
        l->tried = true;
        l->status =
            find(l, driver_major(kiln__device_info(device)), true) ? KILN_OK : KILN_ERR_UNSUPPORTED;
        if (l->status != KILN_OK)
            explain(l);
    }
    const kiln_status status = l->status;
    kiln__process_lock_give(&lock);
    return status == KILN_OK ? KILN_OK : kiln__fail(err, status, "%s: %s", caller, l->reason);
}

kiln_status kiln__lt_get(kiln__device *device, const kiln__lt **out, kiln_error *err)
{
    *out = &lt_table;
    return get(KILN__GPU_CUBLASLT, "matmul", device, err);
}

kiln_status kiln__cublas_get(const char *caller, kiln__device *device, const kiln__cublas **out,
                             kiln_error *err)
{
    const bool dry = kiln__device_is_dry(device);
    *out = dry ? &kiln__dry_cublas : &cublas_table;
    return dry ? KILN_OK : get(KILN__GPU_CUBLAS, caller, device, err);
}

kiln_status kiln__cusolver_get(const char *caller, kiln__device *device, const kiln__cusolver **out,
                               kiln_error *err)
{
    const bool dry = kiln__device_is_dry(device);
    *out = dry ? &kiln__dry_cusolver : &cusolver_table;
    return dry ? KILN_OK : get(KILN__GPU_CUSOLVER, caller, device, err);
}

void kiln__gpu_library_describe(kiln__gpu_library which, kiln_linalg_info *info)
{
    struct library *l = &libraries[which];
    kiln_device_info devices[16];
    size_t count = 0;
    int major = 0;

    memset(info, 0, sizeof *info);
    info->backend = KILN_BACKEND_CUDA;
    snprintf(info->role, sizeof info->role, "%s", l->role);
    if (kiln__device_list(devices, KILN_COUNT_OF(devices), &count, NULL) == KILN_OK)
        for (size_t k = 0; k < count && k < KILN_COUNT_OF(devices) && major == 0; k++)
            major = driver_major(&devices[k]);
    kiln__process_lock_take(&lock);
    if (!l->tried && !find(l, major > 0 ? major : 13, false))
        explain(l);
    snprintf(info->library, sizeof info->library, "%s", l->path);
    snprintf(info->reason, sizeof info->reason, "%s", l->reason);
    if (!l->tried)
        l->path[0] = l->reason[0] = '\0';
    kiln__process_lock_give(&lock);
    info->found = info->library[0] != '\0';
    if (info->found)
        info->reason[0] = '\0';
}
