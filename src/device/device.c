/*
 * device.c - which device is meant, and its life.
 *
 *     context -> [list, open, close] -> pool.c host_pool.c stream.c -> calls.c
 *
 * Not done here: calls on an open device (calls.c), compilers (compile.c).
 */
#include <stdlib.h>

#include "device/pool.h"
#include "device/watch.h"

/* ---- which device ---- */

kiln_status kiln__device_list(kiln_device_info *infos, size_t capacity, size_t *count_out,
                              kiln_error *err)
{
    const kiln__backend *const backends[] = {&kiln__backend_cuda, &kiln__backend_cpu};
    size_t count = 0;

    if (count_out == NULL || (infos == NULL && capacity > 0))
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL",
                          count_out == NULL ? "count_out" : "infos");
    for (size_t i = 0; i < KILN_COUNT_OF(backends); i++) {
        const size_t left = count < capacity ? capacity - count : 0;
        count += backends[i]->list(left > 0 ? infos + count : NULL, left);
    }
    *count_out = count;
    return KILN_OK;
}

/* A device name, read. */
typedef struct choice {
    bool cuda; /* the cuda backend may serve */
    bool cpu;  /* the cpu backend may serve (after cuda) */
    int ordinal;
} choice;

static kiln_status choice_read(const char *name, choice *out, kiln_error *err)
{
    const char *given = name != NULL ? name : kiln__env("KILN_DEVICE");
    const char *source = name != NULL ? "" : "$KILN_DEVICE: ";

    *out = (choice){.ordinal = KILN__ORDINAL_ANY};
    if (given == NULL || strcmp(given, "auto") == 0) {
        out->cuda = out->cpu = true;
        return KILN_OK;
    }
    if (strcmp(given, "cpu") == 0) {
        out->cpu = true;
        return KILN_OK;
    }
    if (strcmp(given, "cuda") == 0) {
        out->cuda = true;
        return KILN_OK;
    }
    const char *digits = given + strlen("cuda:");
    if (strncmp(given, "cuda:", strlen("cuda:")) == 0 && *digits >= '0' && *digits <= '9') {
        char *end = NULL;
        unsigned long ordinal = strtoul(digits, &end, 10);
        if (*end == '\0' && ordinal < 1000) {
            out->cuda = true;
            out->ordinal = (int)ordinal;
            return KILN_OK;
        }
    }
    return kiln__fail(err, KILN_ERR_ARGUMENT,
                      "%s\"%.64s\" names no device; there are auto, cpu, cuda, cuda:0, cuda:1, ...",
                      source, given);
}

/* ---- life ---- */

/* The parts of a device that a backend has opened, or has failed to (`status`). */
static kiln_status complete(kiln__device *device, kiln_status status, kiln__device **out,
                            kiln_error *err)
{
    if (status != KILN_OK) {
        kiln__free(device);
        return status;
    }
    KILN_TRY(kiln__pool_create(device, &device->pool, err));
    KILN_TRY(kiln__host_pool_create(device, &device->host_pool, err));
    KILN_TRY(kiln__stream_create(device, NULL, &device->stream, err));
    *out = device;
    device = NULL;

done:
    kiln__device_close(device);
    return status;
}

static kiln_status open_on(const kiln__backend *backend, int ordinal, int cpu_threads,
                           kiln__device **out, kiln_error *err)
{
    kiln__device *device = NULL;
    KILN_CHECK(kiln__make_zeroed(&device, 1, sizeof *device, err));
    device->backend = backend;
    device->fork_generation = kiln__fork_generation();
    return complete(device, backend->open(device, ordinal, cpu_threads, err), out, err);
}

kiln_status kiln__device_open_dry(const kiln__dry_device *what, kiln__device **out, kiln_error *err)
{
    kiln__device *device = NULL;

    *out = NULL;
    KILN_CHECK(kiln__make_zeroed(&device, 1, sizeof *device, err));
    device->fork_generation = kiln__fork_generation();
    return complete(device, kiln__dry_open(device, what, err), out, err);
}

kiln_status kiln__device_open(const char *name, int cpu_threads, kiln__device **out,
                              kiln_error *err)
{
    choice wanted;
    kiln_status status = KILN_OK;
    kiln_error why = KILN_ERROR_INIT;

    *out = NULL;
    KILN_TRY(choice_read(name, &wanted, err));
    if (wanted.cuda && !wanted.cpu)
        return open_on(&kiln__backend_cuda, wanted.ordinal, cpu_threads, out, err);
    if (wanted.cuda) {
        /* Under "auto" a GPU that does not work is passed over, and its reason is kept. But a
         * forked process that has lost its GPU must hear of it instead of becoming slow. */
        status = open_on(&kiln__backend_cuda, wanted.ordinal, cpu_threads, out, &why);
        if (status == KILN_OK || status == KILN_ERR_NO_MEMORY || status == KILN_ERR_FORK) {
            if (status != KILN_OK)
                (void)kiln__error_copy(err, &why);
            goto done;
        }
    }
    KILN_TRY(open_on(&kiln__backend_cpu, 0, cpu_threads, out, err));
    snprintf((*out)->no_gpu, sizeof((*out)->no_gpu), "%s", why.message);
    (*out)->misses_gpu = wanted.cuda && kiln__backend_cuda.is_installed();

done:
    kiln_error_clear(&why);
    return status;
}

const char *kiln__device_no_gpu(const kiln__device *device)
{
    return device->no_gpu;
}

bool kiln__device_misses_gpu(const kiln__device *device)
{
    return device->misses_gpu;
}

void kiln__device_close(kiln__device *device)
{
    if (device == NULL)
        return;
    if (!kiln__device_forked(device))
        (void)device->backend->synchronize(device, NULL);
    if (device->stream != NULL)
        (void)kiln__recording_end(device->stream, NULL, NULL);
    kiln_stream *stream = device->stream;
    device->stream = NULL;
    kiln__stream_destroy(stream);
    kiln__host_pool_destroy(device->host_pool);
    kiln__pool_destroy(device->pool);
    kiln__runs_close(device);
    device->backend->close(device);
    kiln__free(device);
}
