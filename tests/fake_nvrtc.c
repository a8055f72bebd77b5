/*
 * fake_nvrtc.c - a shared library with the name and the entry points of NVRTC that compiles nothing: whatever the source
 * is, the binary is one that the driver of fake_cuda.c loads.
 *
 * For tests of which kernels are asked for, by key; compilations cost nothing in them. As the emulator's it says that it
 * is NVRTC 13.9, of which no miscompilation is known, so that nobody looks for one in the binary.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct nvrtc_program_st {
    char nothing;
} * nvrtc_program;

#define KILN_NVRTC(type, field, symbol, parameters)                                                \
    EXPORT type fake_##field parameters __asm__(symbol);
#include "device/cuda/nvrtc.def"
#undef KILN_NVRTC

static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
static const char cubin[64] = "\177ELF";

const char *fake_get_error_string(int result)
{
    return result == 0 ? "NVRTC_SUCCESS" : "an error of an NVRTC that is none";
}

int fake_version(int *major, int *minor)
{
    *major = 13;
    *minor = 9;
    return 0;
}

int fake_get_num_supported_archs(int *count)
{
    *count = (int)(sizeof archs / sizeof archs[0]);
    return 0;
}

int fake_get_supported_archs(int *out)
{
    memcpy(out, archs, sizeof archs);
    return 0;
}

int fake_create_program(nvrtc_program *program, const char *source, const char *name,
                        int header_count, const char *const *headers,
                        const char *const *header_names)
{
    (void)source, (void)name, (void)header_count, (void)headers, (void)header_names;
    *program = calloc(1, sizeof **program);
    return *program != NULL ? 0 : 1;
}

int fake_destroy_program(nvrtc_program *program)
{
    free(*program);
    *program = NULL;
    return 0;
}

int fake_compile_program(nvrtc_program program, int option_count, const char *const *options)
{
    (void)program, (void)option_count, (void)options;
    return 0;
}

int fake_add_name(nvrtc_program program, const char *name)
{
    (void)program, (void)name;
    return 0;
}

int fake_get_lowered_name(nvrtc_program program, const char *name, const char **lowered)
{
    (void)program;
    *lowered = name;
    return 0;
}

int fake_get_cubin_size(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof cubin;
    return 0;
}

int fake_get_cubin(nvrtc_program program, char *out)
{
    (void)program;
    memcpy(out, cubin, sizeof cubin);
    return 0;
}

int fake_get_ptx_size(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return 0;
}

int fake_get_ptx(nvrtc_program program, char *out)
{
    (void)program;
    out[0] = '\0';
    return 0;
}

int fake_get_log_size(nvrtc_program program, size_t *bytes)
{
    return fake_get_ptx_size(program, bytes);
}

int fake_get_log(nvrtc_program program, char *out)
{
    return fake_get_ptx(program, out);
}
