/*
 * link.c - several images linked to one cubin, by nvJitLink.
 *
 *     inputs > [recognise] > nvJitLink > a cubin > module.c
 *
 * Rule 1: the library is loaded by the first link, and never unloaded: others of the process may use it.
 * Rule 2: one of CUDA 13 makes cubins that older drivers refuse; with an older driver it is passed over.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>

#include "module/module.h"

/* nvJitLinkInputType. */
typedef enum input_kind {
    INPUT_NONE = 0,
    INPUT_CUBIN = 1,
    INPUT_PTX = 2,
    INPUT_LTOIR = 3,
    INPUT_FATBIN = 4,
    INPUT_OBJECT = 5,
    INPUT_LIBRARY = 6
} input_kind;

enum { MACHINE_CUDA = 190, LINKED_BYTES_MAX = 1 << 30 };

static const uint32_t LTOIR_MAGIC = 0x7f4e43ed;

typedef struct linker linker;

static struct {
    int (*create)(linker **out, uint32_t option_count, const char **options);
    int (*destroy)(linker **l);
    int (*add)(linker *l, int kind, const void *data, size_t bytes, const char *name);
    int (*complete)(linker *l);
    int (*cubin_size)(linker *l, size_t *bytes);
    int (*cubin)(linker *l, void *data);
    int (*log_size)(linker *l, size_t *bytes);
    int (*log)(linker *l, char *text);
} api;

static struct {
    kiln__process_lock lock;
    bool tried, found;
} library = {.lock = KILN__PROCESS_LOCK_INIT};

/* ---- the library ---- */

static bool load(const char *path, void *unused)
{
    static const char *const names[] = {"nvJitLinkCreate",
                                        "nvJitLinkDestroy",
                                        "nvJitLinkAddData",
                                        "nvJitLinkComplete",
                                        "nvJitLinkGetLinkedCubinSize",
                                        "nvJitLinkGetLinkedCubin",
                                        "nvJitLinkGetErrorLogSize",
                                        "nvJitLinkGetErrorLog"};
    void *const fields[] = {&api.create,     &api.destroy, &api.add,      &api.complete,
                            &api.cubin_size, &api.cubin,   &api.log_size, &api.log};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    (void)unused;
    for (size_t k = 0; handle != NULL && k < KILN_COUNT_OF(names); k++) {
        void *const symbol = dlsym(handle, names[k]);
        memcpy(fields[k], &symbol, sizeof symbol);
        if (symbol == NULL) {
            dlclose(handle);
            handle = NULL;
        }
    }
    return handle != NULL;
}

static kiln_status ready(kiln__device *device, kiln_error *err)
{
    int major = 0;

    kiln__process_lock_take(&library.lock);
    if (!library.tried) {
        const bool newest =
            sscanf(kiln__device_info(device)->driver, "CUDA %d", &major) == 1 && major >= 13;
        const kiln__toolkit_search search = {.name = "libnvJitLink",
                                             .majors = {newest ? 13 : 12, newest ? 12 : 0},
                                             .wheels = {"cu13", "nvjitlink"},
                                             .accept = load};
        library.tried = true;
        library.found = kiln__toolkit_find(&search);
    }
    const bool found = library.found;
    kiln__process_lock_give(&library.lock);
    return found ? KILN_OK
                 : kiln__fail(err, KILN_ERR_UNSUPPORTED,
                              "no libnvJitLink.so.13 or .so.12 that suits the driver is where "
                              "libraries of the toolkit are looked for");
}

static bool read_archive(const char *path, void *user)
{
    kiln_module_input *const out = user;
    char *data = NULL;

    if (kiln__read_regular_file(path, KILN__IMAGE_BYTES_MAX, &data, &out->bytes) != 0)
        return false;
    out->data = data;
    return true;
}

void kiln__link_runtime(char **data_out, size_t *bytes_out)
{
    kiln_module_input found = {NULL, 0, NULL};
    const kiln__toolkit_search search = {.name = "libcudadevrt",
                                         .archive = true,
                                         .majors = {1},
                                         .wheels = {"cu13", "cuda_runtime"},
                                         .accept = read_archive,
                                         .user = &found};

    (void)kiln__toolkit_find(&search);
    *data_out = (char *)(uintptr_t)found.data;
    *bytes_out = found.bytes;
}

/* ---- inputs ---- */

/* `data` has a NUL behind its bytes. */
static kiln_status recognise(const unsigned char *data, size_t bytes, input_kind *out,
                             kiln_error *err)
{
    kiln__image_kind kind = KILN__IMAGE_NONE;
    Elf64_Ehdr head;
    uint32_t magic = 0;

    *out = INPUT_NONE;
    if (bytes >= sizeof magic)
        memcpy(&magic, data, sizeof magic);
    if (magic == LTOIR_MAGIC)
        *out = INPUT_LTOIR;
    else if (bytes >= 8 && memcmp(data, "!<arch>\n", 8) == 0)
        *out = INPUT_LIBRARY;
    if (*out != INPUT_NONE)
        return KILN_OK;
    if (bytes >= sizeof head && memcmp(data, ELFMAG, SELFMAG) == 0) {
        memcpy(&head, data, sizeof head);
        if (head.e_machine != MACHINE_CUDA) {
            *out = INPUT_OBJECT;
            return KILN_OK;
        }
    }
    KILN_CHECK(kiln__image_check(data, bytes, &kind, err));
    *out = kind == KILN__IMAGE_CUBIN    ? INPUT_CUBIN
           : kind == KILN__IMAGE_FATBIN ? INPUT_FATBIN
                                        : INPUT_PTX;
    return KILN_OK;
}

/* What the linker says, as the error's log. */
static kiln_status explain(linker *l, const char *module, const char *what, kiln_error *err)
{
    size_t bytes = 0;
    char *log = NULL;

    if (l != NULL && api.log_size(l, &bytes) == 0 && bytes > 1 && err != NULL)
        log = kiln__calloc(bytes + 1, 1);
    if (log != NULL && api.log(l, log) != 0)
        log[0] = '\0';
    (void)kiln__fail(err, KILN_ERR_COMPILE, "module \"%.60s\" is not linked: %.120s%s%.*s", module,
                     what, log != NULL ? ": " : "", log != NULL ? (int)strcspn(log, "\n") : 0,
                     log != NULL ? log : "");
    if (err != NULL)
        err->log = log;
    return KILN_ERR_COMPILE;
}

enum { NAME_BYTES = 32 };

/* `name` receives what an input without a name is called. The linker reads it until the link is
 * complete. */
static kiln_status add(linker *l, const char *module, const kiln_module_input *input,
                       input_kind kind, size_t nth, char name[NAME_BYTES], kiln_error *err)
{
    snprintf(name, NAME_BYTES, "input %zu", nth + 1);
    return api.add(l, (int)kind, input->data, input->bytes,
                   input->name != NULL ? input->name : name) == 0
               ? KILN_OK
               : explain(l, module, input->name != NULL ? input->name : name, err);
}

/* ---- the link ---- */

/* The kinds of all inputs. PTX is measured by its NUL, so that each input is copied with one. */
static kiln_status check_inputs(const char *module, const kiln_module_input *inputs, size_t count,
                                input_kind *kinds, bool *lto_out, kiln_error *err)
{
    kiln_error why = KILN_ERROR_INIT;

    *lto_out = false;
    for (size_t k = 0; k < count; k++) {
        unsigned char *copy = NULL;
        if (inputs[k].data == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "module \"%.60s\": input %zu is NULL", module,
                              k + 1);
        KILN_CHECK(kiln__make_room(&copy, inputs[k].bytes + 1, err));
        memcpy(copy, inputs[k].data, inputs[k].bytes);
        copy[inputs[k].bytes] = '\0';
        const kiln_status status = recognise(copy, inputs[k].bytes, &kinds[k], &why);
        kiln__free(copy);
        if (status != KILN_OK)
            return kiln__fail(err, status, "module \"%.60s\": input %zu: %s", module, k + 1,
                              why.message);
        *lto_out |= kinds[k] == INPUT_LTOIR;
    }
    return KILN_OK;
}

kiln_status kiln__link(kiln__device *device, const char *module, const kiln_module_input *inputs,
                       size_t count, void **cubin_out, size_t *bytes_out, kiln_error *err)
{
    char arch[64];
    const char *options[] = {arch, "-lto"};
    input_kind *kinds = NULL;
    char(*names)[NAME_BYTES] = NULL;
    linker *l = NULL;
    bool lto = false;
    kiln_status status = KILN_OK;

    *cubin_out = NULL;
    KILN_TRY(kiln__make_zeroed(&kinds, count + 1, sizeof *kinds, err));
    KILN_TRY(kiln__make_zeroed(&names, count + 1, sizeof *names, err));
    KILN_TRY(check_inputs(module, inputs, count, kinds, &lto, err));
    KILN_TRY(ready(device, err));
    snprintf(arch, sizeof arch, "-arch=%s", kiln__device_info(device)->target);
    if (api.create(&l, lto ? 2 : 1, options) != 0) {
        status = explain(NULL, module, "nvJitLink does not know the device", err);
        goto done;
    }
    for (size_t k = 0; k < count; k++)
        KILN_TRY(add(l, module, &inputs[k], kinds[k], k, names[k], err));
    if (api.complete(l) != 0 || api.cubin_size(l, bytes_out) != 0 ||
        *bytes_out > LINKED_BYTES_MAX) {
        status = explain(l, module, "the linker refuses", err);
        goto done;
    }
    KILN_TRY(kiln__make_room(cubin_out, *bytes_out, err));
    if (api.cubin(l, *cubin_out) != 0)
        status = explain(l, module, "the linked cubin does not come", err);

done:
    if (l != NULL)
        (void)api.destroy(&l);
    kiln__free(kinds);
    kiln__free(names);
    if (status != KILN_OK) {
        kiln__free(*cubin_out);
        *cubin_out = NULL;
    }
    return status;
}
