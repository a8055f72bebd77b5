/*
 * driver.c - libcuda.so.1: load it, initialise it, explain its errors.
 *
 *     cuda.c -> [init] -> dlopen, dlsym (driver.def), cuInit
 *
 * Rule 1: nothing happens before somebody asks for a CUDA device. On a machine without a driver
 *         the asking costs one failed dlopen.
 * Rule 2: the driver is never unloaded: other libraries of the process may use it too.
 * Rule 3: the driver has exit handlers of its own, behind which it must not be called. From the exit
 *         handler that is registered here on it is not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/cuda/driver.h"

/* The oldest driver interface that is served. */
#define DRIVER_VERSION_MIN 12000

kiln__cuda_driver kiln__cu;

pthread_mutex_t kiln__cuda_capture = PTHREAD_MUTEX_INITIALIZER;

/* The remembered outcome of the first kiln__cuda_init(). */
static struct {
    kiln__process_lock lock;
    bool tried;
    unsigned fork_generation; /* of the process that initialised the driver */
    kiln_status status;
    char reason[256];
    bool no_library; /* there is no libcuda.so.1 */
} driver = {.lock = KILN__PROCESS_LOCK_INIT};

static kiln_status remember(kiln_status status, const char *fmt, ...) KILN_PRINTF(2, 3);

static kiln_status remember(kiln_status status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(driver.reason, sizeof driver.reason, fmt, ap);
    va_end(ap);
    return status;
}

static kiln_status load_entry_points(void)
{
    static const struct {
        const char *symbol;
        size_t offset;
        int since; /* 0: every driver that kiln can use has it */
    } entries[] = {
#define KILN_CU(field, symbol, parameters) {symbol, offsetof(kiln__cuda_driver, field), 0},
#define KILN_CU_SINCE(version, field, symbol, parameters)                                          \
    {symbol, offsetof(kiln__cuda_driver, field), version},
#include "device/cuda/driver.def"
#undef KILN_CU_SINCE
#undef KILN_CU
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        const char *why = dlerror();
        if (why != NULL && strstr(why, "No such file") == NULL)
            return remember(KILN_ERR_NO_DRIVER, "the CUDA driver does not load: %.200s", why);
        driver.no_library = true;
        return remember(KILN_ERR_NO_DRIVER, "no CUDA driver (libcuda.so.1) on this machine");
    }
    for (size_t i = 0; i < KILN_COUNT_OF(entries); i++) {
        void *address = dlsym(library, entries[i].symbol);
        if (address == NULL && entries[i].since == 0)
            return remember(KILN_ERR_NO_DRIVER,
                            "the CUDA driver lacks %s; kiln needs one for CUDA 12.0 or later",
                            entries[i].symbol);
        memcpy((char *)&kiln__cu + entries[i].offset, &address, sizeof address);
    }
    return KILN_OK;
}

static kiln_status initialise(void)
{
    KILN_CHECK(load_entry_points());
    kiln__cu_result result = kiln__cu.driver_get_version(&kiln__cu.version);
    if (result == KILN__CU_OK && kiln__cu.version < DRIVER_VERSION_MIN)
        return remember(KILN_ERR_NO_DRIVER,
                        "the CUDA driver supports CUDA %d.%d; kiln needs 12.0 or later",
                        kiln__cu.version / 1000, kiln__cu.version % 1000 / 10);
    result = kiln__cu.init(0);
    if (result == KILN__CU_OK)
        return KILN_OK;
    if (result == KILN__CU_NO_DEVICE)
        return remember(KILN_ERR_NO_DEVICE, "the CUDA driver sees no GPU");
    /* What cuInit says in a child of a process that had initialised the driver without kiln. */
    if (result == KILN__CU_NOT_INITIALIZED)
        return remember(KILN_ERR_FORK, "CUDA was initialised before this process was forked; "
                                       "fork first, or start children with exec (posix_spawn)");
    return remember(KILN_ERR_DRIVER, "cuInit: %s", kiln__cuda_text(result));
}

kiln_status kiln__cuda_init(kiln_error *err)
{
    kiln_status status = KILN_OK;

    kiln__process_lock_take(&driver.lock);
    if (!driver.tried) {
        driver.tried = true;
        driver.fork_generation = kiln__fork_generation();
        driver.status = initialise();
        /* Runs before the handlers of those that came earlier, the driver's own among them. */
        if (driver.status == KILN_OK && atexit(kiln__process_end) != 0)
            driver.status = remember(KILN_ERR_NO_MEMORY, "no exit handler can be registered");
    }
    status = driver.status;
    if (status == KILN_OK && kiln__process_is_ending())
        status = kiln__fail(err, KILN_ERR_RELEASED,
                            "the process is ending (exit handlers run), and CUDA is not used any "
                            "more");
    else if (status == KILN_OK && driver.fork_generation != kiln__fork_generation())
        status = kiln__fail(err, KILN_ERR_FORK,
                            "CUDA was initialised before this process was forked and cannot be "
                            "used in it; fork before the first use of CUDA, or start children "
                            "with exec (posix_spawn)");
    else if (status != KILN_OK)
        status = kiln__fail(err, status, "%s", driver.reason);
    kiln__process_lock_give(&driver.lock);
    return status;
}

/* A container that was started without its GPUs has no libcuda.so.1, but sees this folder of the
 * kernel's module. */
bool kiln__cuda_is_installed(void)
{
    (void)kiln__cuda_init(NULL);
    return !driver.no_library || access("/proc/driver/nvidia", F_OK) == 0;
}

/* ---- context ---- */

kiln_status kiln__cuda_push(kiln__device *device, kiln_error *err)
{
    return kiln__cuda_status(device, kiln__cu.ctx_push(kiln__cuda_of(device)->context),
                             "cuCtxPushCurrent", err);
}

void kiln__cuda_pop(void)
{
    kiln__cu_context ignored = NULL;
    (void)kiln__cu.ctx_pop(&ignored);
}

/* ---- errors ---- */

const char *kiln__cuda_text(kiln__cu_result result)
{
    const char *text = NULL;

    if (kiln__cu.get_error_string(result, &text) != KILN__CU_OK || text == NULL)
        return "an error that this driver has no text for";
    return text;
}

/* Whether a result tells of a kernel that went wrong earlier: the driver then gives the same
 * result to every later call, until the process ends. */
static bool is_fault(kiln__cu_result result)
{
    switch (result) {
    case 214: /* CUDA_ERROR_ECC_UNCORRECTABLE */
    case 220: /* CUDA_ERROR_NVLINK_UNCORRECTABLE */
    case 226: /* CUDA_ERROR_CONTAINED */
    case 700: /* CUDA_ERROR_ILLEGAL_ADDRESS */
    case 702: /* CUDA_ERROR_LAUNCH_TIMEOUT */
    case 710: /* CUDA_ERROR_ASSERT */
    case 714: /* CUDA_ERROR_HARDWARE_STACK_ERROR */
    case 715: /* CUDA_ERROR_ILLEGAL_INSTRUCTION */
    case 716: /* CUDA_ERROR_MISALIGNED_ADDRESS */
    case 717: /* CUDA_ERROR_INVALID_ADDRESS_SPACE */
    case 718: /* CUDA_ERROR_INVALID_PC */
    case 719: /* CUDA_ERROR_LAUNCH_FAILED */
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK */
        return true;
    default:
        return false;
    }
}

kiln_status kiln__cuda_fail(kiln__device *device, kiln__cu_result result, const char *call,
                            kiln_error *err)
{
    const char *name = NULL;

    if (is_fault(result))
        return kiln__device_fault(device, kiln__cuda_text(result), err);
    if (kiln__cu.get_error_name(result, &name) != KILN__CU_OK || name == NULL)
        name = "no name";
    return kiln__fail(
        err, result == KILN__CU_OUT_OF_MEMORY ? KILN_ERR_DEVICE_MEMORY : KILN_ERR_DRIVER,
        "%s on %s: %s (%s, %d)", call, device->info.id, kiln__cuda_text(result), name, result);
}

kiln__cu_result kiln__cuda_wait_for_all(void)
{
    kiln__cu_result result = kiln__cu.ctx_synchronize();

    while (result == KILN__CU_CAPTURE_UNSUPPORTED) {
        pthread_mutex_lock(&kiln__cuda_capture);
        result = kiln__cu.ctx_synchronize();
        pthread_mutex_unlock(&kiln__cuda_capture);
    }
    return result;
}
