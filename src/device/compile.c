/*
 * compile.c - from a request to the compiler of its backend.
 *
 *     jit -> [compile] -> cuda/nvrtc.c (NVRTC) | cpu/ (the system's C++ compiler)
 *
 * Needs no device and no driver: a build machine compiles for GPUs that it does not have.
 */
#include <ctype.h>

#include "device/backend.h"

static const kiln__backend *backend_of(kiln_backend kind)
{
    return kind == KILN_BACKEND_CUDA ? &kiln__backend_cuda : &kiln__backend_cpu;
}

const char *kiln__compiler_standard(const char *option)
{
    static const char *const older[] = {"98", "03", "0x", "11", "1y", "14"};
    const char *name = option + strspn(option, "-");
    const bool gnu = strncmp(name, "std=gnu++", 9) == 0;

    if (option[0] != '-' || (!gnu && strncmp(name, "std=c++", 7) != 0))
        return option;
    for (size_t k = 0; k < KILN_COUNT_OF(older); k++)
        if (strcmp(name + (gnu ? 9 : 7), older[k]) == 0)
            return gnu ? "-std=gnu++17" : "-std=c++17";
    return option;
}

void kiln__compile_result_clear(kiln__compile_result *result)
{
    if (result == NULL)
        return;
    kiln__free(result->binary);
    kiln__free(result->log);
    kiln__free(result->inputs);
    *result = (kiln__compile_result)KILN__COMPILE_RESULT_INIT;
}

kiln_status kiln__compiler_identity(kiln_backend backend, const char **id_out, kiln_error *err)
{
    *id_out = NULL;
    return backend_of(backend)->compiler_identity(id_out, err);
}

const char *kiln__compiler_faults(kiln_backend backend)
{
    return backend_of(backend)->compiler_faults;
}

void kiln__compiler_key(kiln_backend backend, kiln__buf *key)
{
    backend_of(backend)->compiler_key(key);
}

const char *const *kiln__compiler_include_dirs(kiln_backend backend)
{
    return backend_of(backend)->compiler_include_dirs();
}

/* ---- whose fault it was ---- */

/* Whether the line has one of these texts. */
static bool has_any(const char *line, const char *const *texts, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strstr(line, texts[k]) != NULL)
            return true;
    return false;
}

/* Whether the text before `end` is that of a place: "x.cpp:12", "x.cpp(12)", "<command-line>". */
static bool is_place(const char *line, const char *end)
{
    const char *at = end;

    if (at > line && at[-1] == '>')
        return true;
    if (at > line && at[-1] == ')')
        at--;
    const char *digits = at;
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    return at < digits && at > line && (at[-1] == ':' || at[-1] == '(');
}

/* "x.cpp:12:3: error: ...", "op(12): error: ...": a place in a text, and what is wrong there. */
static bool names_place(const char *line)
{
    static const char *const errors[] = {": error", ": fatal error", ": catastrophic error"};

    for (size_t k = 0; k < KILN_COUNT_OF(errors); k++) {
        const char *at = strstr(line, errors[k]);
        if (at != NULL && is_place(line, at))
            return true;
    }
    return false;
}

static bool line_blames_source(const char *line)
{
    /* What happens to a compiler while it reads a text is told with a place in it as well. */
    static const char *const passing[] = {
        "internal compiler error", "internal error",         "out of memory",
        "memory exhausted",        "Cannot allocate memory", "terminated program",
        "Too many open files",     "Input/output error",     "No space left",
        "Disk quota exceeded",     "Stale file handle",      "Resource temporarily unavailable",
        "Interrupted system call", "Permission denied"};
    static const char *const lasting[] = {"undefined reference to",
                                          "undefined symbol",
                                          "multiple definition of",
                                          "cannot find -l",
                                          "unable to find library",
                                          "ptxas error",
                                          "unrecognized",
                                          "unknown argument",
                                          "unknown option",
                                          "unsupported option",
                                          "unsupported argument",
                                          "unknown value",
                                          "unknown target",
                                          "invalid value",
                                          "invalid argument",
                                          "invalid option",
                                          "bad value",
                                          "missing argument",
                                          "No such file or directory"};

    if (has_any(line, passing, KILN_COUNT_OF(passing)))
        return false;
    return names_place(line) ||
           (strstr(line, "error") != NULL && has_any(line, lasting, KILN_COUNT_OF(lasting))) ||
           has_any(line, lasting, 4);
}

bool kiln__log_blames_source(const char *log)
{
    while (log != NULL && *log != '\0') {
        const size_t length = strcspn(log, "\n");
        char *line = kiln__strndup(log, length);
        const bool found = line != NULL && line_blames_source(line);
        kiln__free(line);
        if (found)
            return true;
        log += length + (log[length] == '\n');
    }
    return false;
}

/* ---- compile ---- */

kiln_status kiln__compile(const kiln__compile_request *request, kiln__compile_result *result,
                          kiln_error *err)
{
    *result = (kiln__compile_result)KILN__COMPILE_RESULT_INIT;
    kiln_status status =
        kiln__options_check(request->target.backend, request->options, request->option_count, err);
    if (status != KILN_OK)
        return status;
    return backend_of(request->target.backend)->compile(request, result, err);
}

size_t kiln__compiler_targets(kiln_backend backend, kiln__target *targets, size_t capacity)
{
    return backend_of(backend)->compiler_targets(targets, capacity);
}
