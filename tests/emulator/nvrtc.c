/*
 * nvrtc.c - a shared library with the name and the entry points of NVRTC, whose "cubins" are shared
 * objects for the emulated GPU.
 *
 *     kernel source -> rewrite.c -> g++ with device.h ahead -> shared object -> kernels.c
 *
 * It says that it is NVRTC 13.9, of which no miscompilation is known, so that nobody looks for one
 * in code that no assembler for GPUs has made. Its file holds a hash of headers, flags and compiler,
 * because the file is what kiln's keys name; device.h holds it, too, and refuses another one's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "identity.h" /* EMULATOR_CXX, EMULATOR_FLAGS, EMULATOR_IDENTITY */
#include "rewrite.h"

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID_INPUT = 3, INVALID_OPTION = 5, COMPILATION = 6, INTERNAL = 11 };
enum { OPTIONS_MAX = 128 };

typedef struct nvrtc_program_st {
    char *source, *log, *cubin;
    size_t cubin_bytes;
} * nvrtc_program;

#define KILN_NVRTC(type, field, symbol, parameters)                                                \
    EXPORT type emu_##field parameters __asm__(symbol);
#include "device/cuda/nvrtc.def"
#undef KILN_NVRTC

static const int archs[] = {75, 80, 86, 89, 90, 100, 120};

EXPORT const char *emu_headers(void);

/* What the file's identity depends on. */
const char *emu_headers(void)
{
    return EMULATOR_IDENTITY;
}

const char *emu_get_error_string(int result)
{
    return result == OK ? "NVRTC_SUCCESS" : "an error of the emulated NVRTC";
}

int emu_version(int *major, int *minor)
{
    *major = 13;
    *minor = 9;
    return OK;
}

int emu_get_num_supported_archs(int *count)
{
    *count = (int)(sizeof archs / sizeof archs[0]);
    return OK;
}

int emu_get_supported_archs(int *out)
{
    memcpy(out, archs, sizeof archs);
    return OK;
}

int emu_create_program(nvrtc_program *program, const char *source, const char *name,
                       int header_count, const char *const *headers,
                       const char *const *header_names)
{
    (void)name;
    (void)headers;
    (void)header_names;
    *program = calloc(1, sizeof **program);
    if (*program == NULL || header_count != 0)
        return INVALID_INPUT;
    (*program)->source = strdup(source);
    return OK;
}

int emu_destroy_program(nvrtc_program *program)
{
    free((*program)->source);
    free((*program)->log);
    free((*program)->cubin);
    free(*program);
    *program = NULL;
    return OK;
}

/* Names of template instances are not emulated. */
int emu_add_name(nvrtc_program program, const char *name)
{
    (void)program;
    (void)name;
    return INVALID_INPUT;
}

int emu_get_lowered_name(nvrtc_program program, const char *name, const char **lowered)
{
    (void)program;
    (void)name;
    *lowered = NULL;
    return INVALID_INPUT;
}

/* ---- files ---- */

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    struct stat info;

    *bytes = 0;
    if (file == NULL)
        return NULL;
    if (fstat(fileno(file), &info) == 0 && (text = malloc((size_t)info.st_size + 1)) != NULL) {
        *bytes = fread(text, 1, (size_t)info.st_size, file);
        text[*bytes] = '\0';
    }
    fclose(file);
    return text;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL && fputs(text, file) >= 0;

    return (file == NULL || fclose(file) == 0) && ok;
}

/* The folder of this library: device.h and the driver lie there too. */
static bool own_folder(char *out, size_t bytes)
{
    Dl_info info;
    void *self = NULL;
    const char *(*address)(void) = emu_headers;

    memcpy(&self, &address, sizeof self);
    if (dladdr(self, &info) == 0)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const int length = slash != NULL ? (int)(slash - info.dli_fname) : 0;
    return length > 0 && snprintf(out, bytes, "%.*s", length, info.dli_fname) < (int)bytes;
}

/* ---- the compiler ---- */

typedef struct command {
    const char *words[OPTIONS_MAX];
    size_t count;
} command;

static void add(command *c, const char *word)
{
    if (c->count + 1 < OPTIONS_MAX)
        c->words[c->count++] = word;
}

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Take one of NVRTC's options; false: it is unknown. */
static bool take_option(command *c, const char *option, int *arch)
{
    static const char *const passed[] = {"-D", "-U", "-I", "-std=", "--std="};
    static const char *const ignored[] = {"--minimal",
                                          "--no-cache",
                                          "--modify-stack-limit",
                                          "--ptxas-options",
                                          "--use_fast_math",
                                          "-use_fast_math",
                                          "-default-device",
                                          "--fmad",
                                          "-fmad",
                                          "-w",
                                          "--maxrregcount",
                                          "-lineinfo",
                                          "-G",
                                          "--diag-suppress"};

    if (begins(option, "-arch=sm_") || begins(option, "--gpu-architecture=sm_")) {
        *arch = atoi(strchr(option, '_') + 1);
        return true;
    }
    for (size_t k = 0; k < sizeof passed / sizeof passed[0]; k++)
        if (begins(option, passed[k])) {
            add(c, option);
            return true;
        }
    for (size_t k = 0; k < sizeof ignored / sizeof ignored[0]; k++)
        if (begins(option, ignored[k]))
            return true;
    return false;
}

/* Run it with what it says going to a file; its exit status, -1 when it could not be started. */
static int run(const command *c, const char *log)
{
    posix_spawn_file_actions_t files;
    extern char **environ;
    pid_t child;
    int status = -1;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int failed = posix_spawnp(&child, c->words[0], &files, NULL,
                                    (char *const *)(uintptr_t)c->words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "op:3:7: error: ..." as NVRTC has it: "op(3): error: ...". In place. */
static void rephrase(char *log)
{
    for (char *line = log; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n'), *colon = strchr(line, ':'), *digits, *rest;
        if (colon != NULL && (end == NULL || colon < end) && strtol(colon + 1, &digits, 10) > 0 &&
            *digits == ':' && strtol(digits + 1, &rest, 10) > 0 && *rest == ':') {
            *colon = '(';
            *digits = ')';
            memmove(digits + 1, rest, strlen(rest) + 1);
        }
        end = strchr(line, '\n');
        line = end != NULL ? end + 1 : NULL;
    }
}

static bool refuse_option(nvrtc_program program, const char *option)
{
    return asprintf(&program->log, "nvrtc: error: invalid value for option %s\n", option) >= 0;
}

/* Compile the text in `folder`, which is empty. */
static int compile(nvrtc_program program, command *c, int arch, const char *folder)
{
    /* Without the sanitizer's library, which -fsanitize=thread asks for. */
    static const char *const libraries[] = {"-nostdlib", "-lm", "-lc", "-lgcc"};
    char source[4200], object[4200], log[4200], own[4096], header[4200], driver[4200];
    size_t bytes = 0;
    char *text = emu_rewrite(program->source, arch);
    int status = -1;

    snprintf(source, sizeof source, "%s/kernel.cpp", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    if (text != NULL && write_file(source, text) && own_folder(own, sizeof own)) {
        snprintf(header, sizeof header, "%s/device.h", own);
        snprintf(driver, sizeof driver, "%s/libcuda.so.1", own);
        add(c, EMULATOR_IDENTITY);
        add(c, "-include");
        add(c, header);
        add(c, source);
        add(c, "-shared");
        add(c, "-o");
        add(c, object);
        add(c, driver);
        for (size_t k = 0; k < sizeof libraries / sizeof libraries[0]; k++)
            add(c, libraries[k]);
        status = run(c, log);
        program->log = read_file(log, &bytes);
        if (program->log != NULL)
            rephrase(program->log);
    }
    if (status == 0)
        program->cubin = read_file(object, &program->cubin_bytes);
    unlink(source);
    unlink(object);
    unlink(log);
    free(text);
    return program->cubin != NULL ? OK : status > 0 ? COMPILATION : INTERNAL;
}

int emu_compile_program(nvrtc_program program, int option_count, const char *const *options)
{
    const char *base = getenv("TMPDIR");
    char folder[4096], flags[] = EMULATOR_FLAGS, *rest = NULL;
    command c = {{EMULATOR_CXX}, 1};
    int arch = 75, result = INTERNAL;

    for (char *word = strtok_r(flags, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        add(&c, word);
    for (int k = 0; k < option_count; k++)
        if (!take_option(&c, options[k], &arch)) {
            refuse_option(program, options[k]);
            return INVALID_OPTION;
        }
    snprintf(folder, sizeof folder, "%.4000s/kiln-emulator-XXXXXX",
             base != NULL && *base != '\0' ? base : "/tmp");
    if (mkdtemp(folder) == NULL)
        return INTERNAL;
    result = compile(program, &c, arch, folder);
    rmdir(folder);
    return result;
}

/* ---- what came of it ---- */

int emu_get_cubin_size(nvrtc_program program, size_t *bytes)
{
    *bytes = program->cubin_bytes;
    return OK;
}

int emu_get_cubin(nvrtc_program program, char *cubin)
{
    memcpy(cubin, program->cubin, program->cubin_bytes);
    return OK;
}

int emu_get_ptx_size(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return OK;
}

int emu_get_ptx(nvrtc_program program, char *ptx)
{
    (void)program;
    *ptx = '\0';
    return OK;
}

int emu_get_log_size(nvrtc_program program, size_t *bytes)
{
    *bytes = program->log != NULL ? strlen(program->log) + 1 : 1;
    return OK;
}

int emu_get_log(nvrtc_program program, char *log)
{
    strcpy(log, program->log != NULL ? program->log : "");
    return OK;
}
