/*
 * module.h - the one door of src/module: kernels that users have written whole.
 *
 *     source > jit: image > load > [kernel: name, signature, parameters] > [call: check, launch]
 *     image  > [recognise] > load >
 *
 * module.c  kiln_module: sources and images, loaded; variables
 * image.c   which kind of image some bytes are
 * cubin.c   what a cubin's ELF tells of its kernels
 * link.c    several images linked to one cubin
 * name.c    C++ names, compared
 * raw.c     kiln_raw: names, signatures and parameters
 * call.c    arguments and launch records, checked
 *
 * Rule: what the driver would take for granted is checked here, and refused in the caller's terms.
 *
 * Uses codegen, jit, array, kernel, context, device.
 */
#ifndef KILN_MODULE_MODULE_H
#define KILN_MODULE_MODULE_H

#include "array/array.h"
#include "codegen/codegen.h"
#include "jit/jit.h"
#include "kernel/kernel.h"
#include "kiln/module.h"

/* ---- images (image.c, cubin.c) ---- any bytes at all; the fuzzer's entries ---- */

typedef enum kiln__image_kind {
    KILN__IMAGE_NONE,
    KILN__IMAGE_PTX,
    KILN__IMAGE_CUBIN,
    KILN__IMAGE_FATBIN
} kiln__image_kind;

/* ERR_FORMAT says what is wrong with bytes that are no image, or not all of one. `data` has a NUL behind
 * its bytes. */
kiln_status kiln__image_check(const void *data, size_t bytes, kiln__image_kind *kind_out,
                              kiln_error *err);

/* ERR_FORMAT. */
kiln_status kiln__cubin_check(const void *data, size_t bytes, kiln_error *err);
/* Of a cubin that was checked: the name of its nth kernel, or NULL. */
const char *kiln__cubin_kernel(const void *data, size_t bytes, size_t nth);
/* The parameters of a kernel: room for KILN__RAW_PARAMS_MAX. ERR_NAME, ERR_FORMAT. */
kiln_status kiln__cubin_params(const void *data, size_t bytes, const char *kernel,
                               kiln__raw_param *params, size_t *count_out, kiln_error *err);

/* The images as one cubin for the device, on the heap. ERR_COMPILE with the linker's log, ERR_FORMAT, ERR_NULL,
 * ERR_UNSUPPORTED without nvJitLink. (link.c) */
kiln_status kiln__link(kiln__device *device, const char *module, const kiln_module_input *inputs,
                       size_t count, void **cubin_out, size_t *bytes_out, kiln_error *err);

/* The device's side of CUDA's runtime, which kernels that launch kernels are linked with: libcudadevrt.a, on the
 * heap; NULL where it is not found. (link.c) */
void kiln__link_runtime(char **data_out, size_t *bytes_out);

/* The largest file that is read as an image. */
#define KILN__IMAGE_BYTES_MAX ((size_t)1 << 30)

/* ---- objects ---- */

/* A loaded module, kept by its handle, its kernels and its symbols. */
typedef struct kiln__loaded {
    atomic_uint refs;
    kiln_context *ctx; /* counted */
    kiln__device *device;
    kiln__module *module;
    kiln__raw_limits limits; /* of the device */
    char *name;
    kiln__definition *def; /* of a source; NULL for an image */
    const void *image;     /* a cubin's bytes for cubin.c; NULL where there is none */
    size_t image_bytes;
    const kiln__blob *blob; /* of a source: the image and the names behind it; the context's */
    const char *log;        /* of a source: what the compiler said; the context's; else NULL */
    void *own;              /* of an image, and of a source that was linked: its bytes */
} kiln__loaded;

kiln__loaded *kiln__loaded_retain(kiln__loaded *l);
void kiln__loaded_release(kiln__loaded *l); /* accepts NULL */

#define KILN__MODULE_MAGIC 0x6b6du
#define KILN__RAW_MAGIC 0x6b72u
#define KILN__MODULE_DEAD 0xdeadu

struct kiln_module {
    uint32_t magic;
    kiln__loaded *loaded;
};

/* What a call looks at of a parameter whose signature tells all. */
typedef enum kiln__plain_kind {
    KILN__PLAIN_NONE, /* to be looked at the long way */
    KILN__PLAIN_READ, /* an array, which the kernel reads; or may write to */
    KILN__PLAIN_WRITTEN,
    KILN__PLAIN_INT32,
    KILN__PLAIN_INT64,
    KILN__PLAIN_FLOAT32,
    KILN__PLAIN_FLOAT64
} kiln__plain_kind;

typedef struct kiln__plain_param {
    uint32_t offset;
    uint8_t kind, dtype;
} kiln__plain_param;

/* A kernel, kept by its handle, by prepared launches and by recordings. */
typedef struct kiln__function {
    atomic_uint refs;
    bool typed;            /* there is a signature */
    kiln__loaded *loaded;  /* counted */
    kiln__definition *def; /* its parameters; without a signature only their number */
    void *entry;
    int max_threads, shared_bytes; /* of a block: what the function allows, and has by itself */
    size_t block_bytes;
    kiln__raw_param params[KILN_PARAM_MAX];
    kiln__plain_param plain[KILN_PARAM_MAX]; /* with a signature; else all are of no kind */
} kiln__function;

void kiln__function_release(void *function); /* accepts NULL */

struct kiln_raw {
    uint32_t magic;
    kiln__function *function;
};

/* Whether two C++ names are the same, blanks aside. */
bool kiln__same_name(const char *a, const char *b);

#endif
