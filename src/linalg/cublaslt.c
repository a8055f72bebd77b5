/*
 * cublaslt.c - libcublasLt: find it, load it, say what was found.
 *
 *     product_cuda.c > [load, once] > dlopen, dlsym (cublaslt.def)
 *
 * Rule 1: nothing is loaded before a product on a CUDA device needs it: the library has 500 MB.
 * Rule 2: a library of CUDA 13 needs a driver of CUDA 13; with an older one it is passed over.
 * Rule 3: it is never unloaded: other libraries of the process may use it too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "linalg/cublaslt.h"

static struct {
    kiln__process_lock lock;
    bool tried;
    kiln_status status;
    kiln__lt entries;
    char path[256], reason[512];
} library = {.lock = KILN__PROCESS_LOCK_INIT};

static bool load(const char *path)
{
    static const struct {
        const char *symbol;
        size_t at;
    } entries[] = {
#define KILN_LT(type, field, symbol, parameters) {symbol, offsetof(kiln__lt, field)},
#include "linalg/cublaslt.def"
#undef KILN_LT
    };
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        const char *why = dlerror();
        snprintf(library.reason, sizeof library.reason, "cuBLASLt does not load: %.400s",
                 why != NULL ? why : path);
        return false;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(entries); k++) {
        void *address = dlsym(handle, entries[k].symbol);
        if (address == NULL) {
            snprintf(library.reason, sizeof library.reason, "%.400s lacks %s", path,
                     entries[k].symbol);
            dlclose(handle);
            return false;
        }
        memcpy((char *)&library.entries + entries[k].at, &address, sizeof address);
    }
    return true;
}

/* `user`: whether to load the file, or only to note where it is. */
static bool accept(const char *path, void *user)
{
    if (*(const bool *)user && !load(path))
        return false;
    snprintf(library.path, sizeof library.path, "%s", path);
    return true;
}

/* Find the newest library that a driver of CUDA `driver_major` runs. */
static bool find(int driver_major, bool then_load)
{
    const kiln__toolkit_search search = {
        .name = "libcublasLt",
        .majors = {driver_major >= 13 ? 13 : 12, driver_major >= 13 ? 12 : 0},
        .wheels = {"cu13", "cublas"},
        .accept = accept,
        .user = &then_load,
    };
    return kiln__toolkit_find(&search);
}

static void explain(void)
{
    if (library.reason[0] == '\0')
        snprintf(library.reason, sizeof library.reason,
                 "no libcublasLt.so.13 or libcublasLt.so.12 that suits the driver in "
                 "$LD_LIBRARY_PATH, the system's folders, $CUDA_HOME, $CUDA_PATH, "
                 "/usr/local/cuda*/lib64 or the nvidia wheels of $VIRTUAL_ENV");
}

/* "CUDA 13.0" of a device; 0 where it does not say. */
static int driver_major(const kiln_device_info *info)
{
    int major = 0;
    return sscanf(info->driver, "CUDA %d", &major) == 1 ? major : 0;
}

kiln_status kiln__lt_get(kiln__device *device, const kiln__lt **out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    *out = NULL;
    kiln__process_lock_take(&library.lock);
    if (!library.tried) {
        library.tried = true;
        library.status =
            find(driver_major(kiln__device_info(device)), true) ? KILN_OK : KILN_ERR_UNSUPPORTED;
        if (library.status != KILN_OK)
            explain();
    }
    status = library.status;
    kiln__process_lock_give(&library.lock);
    if (status != KILN_OK)
        return kiln__fail(err, status, "matmul: %s", library.reason);
    *out = &library.entries;
    return KILN_OK;
}

void kiln__cublaslt_describe(kiln_linalg_info *info)
{
    kiln_device_info devices[16];
    size_t count = 0;
    int major = 0;

    memset(info, 0, sizeof *info);
    info->backend = KILN_BACKEND_CUDA;
    snprintf(info->role, sizeof info->role, "cuBLASLt");
    if (kiln__device_list(devices, KILN_COUNT_OF(devices), &count, NULL) == KILN_OK)
        for (size_t k = 0; k < count && k < KILN_COUNT_OF(devices) && major == 0; k++)
            major = driver_major(&devices[k]);
    kiln__process_lock_take(&library.lock);
    if (!library.tried && !find(major > 0 ? major : 13, false))
        explain();
    snprintf(info->library, sizeof info->library, "%s", library.path);
    snprintf(info->reason, sizeof info->reason, "%s", library.reason);
    if (!library.tried)
        library.path[0] = library.reason[0] = '\0';
    kiln__process_lock_give(&library.lock);
    info->found = info->library[0] != '\0';
    if (info->found)
        info->reason[0] = '\0';
}
