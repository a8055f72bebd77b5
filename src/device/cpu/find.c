/*
 * find.c - the system's C++ compiler: where it is and which it is.
 *
 *     $KILN_CXX, else c++, g++, clang++ along PATH  >  path, identity, version
 *
 * Rule 1: a cache hit runs no compiler. The identity is the build id of the driver's binary behind
 *         all links; distributions build driver and compiler proper together. Only where the file
 *         says nothing (a script, a compiler cache under the compiler's name) is it run, once,
 *         for the first line of --version; a script's own text counts as well.
 * Rule 2: an identity names no path: equal packages on two machines are one compiler.
 * Rule 3: $KILN_CXX is one file name. It is not split at blanks, and when it cannot be run, no
 *         other compiler is taken in its place.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

#define VERSION_TIMEOUT_MS 20000
#define VERSION_BYTES_MAX ((size_t)16 << 10)
#define FALLBACK_SEARCH "/usr/local/bin:/usr/bin:/bin"

const char *kiln__cxx_path_setting(void)
{
    return kiln__env("PATH") != NULL ? NULL : "PATH=" FALLBACK_SEARCH;
}

static const char *const usual_names[] = {"c++", "g++", "clang++"};

/* Programs that start another compiler; found by name, for they are binaries like any other. */
static const char *const wrapper_names[] = {"ccache", "sccache", "distcc", "icecc", "buildcache"};

/* ---- looking along a path ---- */

static bool can_run(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* `name` in the first folder of `search` that has it. Relative folders are passed over: which
 * compiler runs must not depend on where the program stands. */
static bool find_along(const char *name, const char *search, char *path, size_t bytes)
{
    while (*search != '\0') {
        size_t width = strcspn(search, ":");
        int length = 0;

        if (search[0] == '/') {
            length = snprintf(path, bytes, "%.*s/%s", (int)width, search, name);
            if (length > 0 && (size_t)length < bytes && can_run(path))
                return true;
        }
        search += width;
        search += *search == ':';
    }
    return false;
}

static kiln_status locate(const char *wanted, const char *search, char *path, size_t bytes,
                          kiln_error *err)
{
    if (search == NULL)
        search = FALLBACK_SEARCH;
    if (wanted == NULL) {
        for (size_t k = 0; k < KILN_COUNT_OF(usual_names); k++)
            if (find_along(usual_names[k], search, path, bytes))
                return KILN_OK;
        return kiln__fail(err, KILN_ERR_NO_COMPILER,
                          "no C++ compiler was found: PATH has no c++, g++ or clang++ (install "
                          "g++, or name one in KILN_CXX)");
    }
    if (strchr(wanted, '/') == NULL) {
        if (find_along(wanted, search, path, bytes))
            return KILN_OK;
    } else {
        int length = snprintf(path, bytes, "%s", wanted);
        if (length > 0 && (size_t)length < bytes && can_run(path))
            return KILN_OK;
    }
    return kiln__fail(err, KILN_ERR_NO_COMPILER,
                      "KILN_CXX is \"%.200s\", which is no program that can be run", wanted);
}

/* ---- which compiler it is ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool is_elf(const char *path)
{
    char magic[4] = {0};
    FILE *file = fopen(path, "rbe");
    bool elf = file != NULL && fread(magic, 1, sizeof magic, file) == sizeof magic &&
               memcmp(magic, "\177ELF", 4) == 0;

    if (file != NULL)
        fclose(file);
    return elf;
}

static bool is_wrapper(const char *real)
{
    for (size_t k = 0; k < KILN_COUNT_OF(wrapper_names); k++)
        if (strstr(base_name(real), wrapper_names[k]) != NULL)
            return true;
    return !is_elf(real);
}

/* The major version as distributions write it into the file's name ("x86_64-linux-gnu-g++-12",
 * "clang-14") or its folder's ("/usr/lib/llvm-14/bin/clang"); 0 when neither says. */
static int major_of_path(const char *real)
{
    const char *base = base_name(real), *dash = strrchr(base, '-');
    const char *llvm = strstr(real, "/llvm-");

    if (dash != NULL && isdigit((unsigned char)dash[1]))
        return atoi(dash + 1);
    if (llvm != NULL && isdigit((unsigned char)llvm[6]))
        return atoi(llvm + 6);
    return 0;
}

/* The first line of `--version` into `line`; false when the program gives none. */
static bool ask_version(const char *path, char *line, size_t bytes)
{
    const char *const argv[] = {path, "--version", NULL};
    const char *const set[] = {"LC_ALL=C", kiln__cxx_path_setting(), NULL};
    const kiln__cpu_child child = {path, argv, set,  NULL, -1, true, VERSION_TIMEOUT_MS,
                                   NULL, NULL};
    kiln__buf said = KILN__BUF_INIT;
    int code = 0;
    bool known = false;

    said.max_bytes = VERSION_BYTES_MAX;
    switch (kiln__cpu_run(&child, &said, &code)) {
    case KILN__CPU_EXITED:
        known = code == 0;
        break;
    case KILN__CPU_UNKNOWN:
        known = true;
        break;
    default:
        break;
    }
    known = known && !said.failed && said.length != 0;
    if (known)
        snprintf(line, bytes, "%.*s", (int)strcspn(said.text, "\r\n"), said.text);
    kiln__buf_clear(&said);
    return known && line[0] != '\0';
}

/* Where the version number begins in a first line of --version: behind "version " (clang), else
 * the last word that begins with a digit (g++ puts the packager's words before it). */
static const char *version_in(const char *line)
{
    const char *at = strstr(line, "version "), *last = NULL;

    if (at != NULL && isdigit((unsigned char)at[8]))
        return at + 8;
    for (at = line; *at != '\0'; at++)
        if (isdigit((unsigned char)*at) && at != line && at[-1] == ' ')
            last = at;
    return last;
}

static const char *family(const kiln__cxx *cxx)
{
    return cxx->clang ? "clang++" : "g++";
}

/* Fill what the version line tells. */
static void learn_from_version(kiln__cxx *cxx, const char *line)
{
    const char *version = version_in(line);

    cxx->clang = strstr(line, "clang") != NULL;
    cxx->major = version != NULL ? atoi(version) : 0;
    if (version != NULL)
        snprintf(cxx->brief, sizeof cxx->brief, "%s %.*s", family(cxx),
                 (int)strcspn(version, " -+~"), version);
    else
        snprintf(cxx->brief, sizeof cxx->brief, "%s", family(cxx));
}

kiln_status kiln__cxx_find(const char *wanted, const char *search, kiln__cxx *out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    char *real = NULL; /* from realpath(): libc's memory */
    char line[256], id[64];

    memset(out, 0, sizeof *out);
    KILN_TRY(locate(wanted, search, out->path, sizeof out->path, err));
    real = realpath(out->path, NULL);
    if (real == NULL) {
        status = kiln__fail(err, KILN_ERR_NO_COMPILER, "%.300s cannot be resolved", out->path);
        goto done;
    }
    out->major = major_of_path(real);
    out->clang = strstr(base_name(real), "clang") != NULL;
    if (is_wrapper(real)) {
        if (!ask_version(out->path, line, sizeof line)) {
            status = kiln__fail(err, KILN_ERR_NO_COMPILER, "%.300s --version says nothing",
                                out->path);
            goto done;
        }
        learn_from_version(out, line);
        kiln__hash_hex(kiln__hash_128(line, strlen(line)), id);
        snprintf(out->id, sizeof out->id, "%s said:%s", family(out), id);
        /* A script may add options of its own, which --version does not tell. */
        if (!is_elf(real)) {
            const size_t length = strlen(out->id);
            if (!kiln__file_identity(real, id)) {
                status = kiln__fail(err, KILN_ERR_NO_COMPILER, "%.300s cannot be read", real);
                goto done;
            }
            snprintf(out->id + length, sizeof out->id - length, " by:%s", id);
        }
        goto done;
    }
    if (!kiln__file_identity(real, id)) {
        status = kiln__fail(err, KILN_ERR_NO_COMPILER, "%.300s cannot be read", real);
        goto done;
    }
    snprintf(out->id, sizeof out->id, "%s build:%s", family(out), id);
    if (out->major != 0)
        snprintf(out->brief, sizeof out->brief, "%s %d", family(out), out->major);
    else if (ask_version(out->path, line, sizeof line))
        learn_from_version(out, line);
    else
        snprintf(out->brief, sizeof out->brief, "%s", family(out));

done:
    free(real); /* Not kiln__free: realpath() allocated it. */
    return status;
}

/* ---- the compiler of this process ---- */

static kiln__process_lock found_lock = KILN__PROCESS_LOCK_INIT;
static kiln__cxx found;     /* written once, under the lock */
static atomic_bool is_found;
static char found_version[64]; /* the whole version, once somebody asked; under the lock */

kiln_status kiln__cxx_get(const kiln__cxx **out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    *out = NULL;
    if (!atomic_load_explicit(&is_found, memory_order_acquire)) {
        kiln__process_lock_take(&found_lock);
        if (!atomic_load_explicit(&is_found, memory_order_relaxed)) {
            /* A failure is not kept: a compiler may be installed while the program runs. */
            status = kiln__cxx_find(kiln__env("KILN_CXX"), kiln__env("PATH"), &found, err);
            if (status == KILN_OK)
                atomic_store_explicit(&is_found, true, memory_order_release);
        }
        kiln__process_lock_give(&found_lock);
    }
    if (status == KILN_OK)
        *out = &found;
    return status;
}

void kiln__cxx_describe(bool run, char *text, size_t bytes)
{
    const kiln__cxx *cxx = NULL;
    kiln_error err = KILN_ERROR_INIT;
    char line[256];

    if (kiln__cxx_get(&cxx, &err) != KILN_OK) {
        snprintf(text, bytes, "none: %s", err.message);
        kiln_error_clear(&err);
        return;
    }
    kiln__process_lock_take(&found_lock);
    if (found_version[0] == '\0' && run && ask_version(cxx->path, line, sizeof line)) {
        kiln__cxx full = *cxx;
        learn_from_version(&full, line);
        memcpy(found_version, full.brief, sizeof found_version);
    }
    snprintf(text, bytes, "%s", found_version[0] != '\0' ? found_version : cxx->brief);
    kiln__process_lock_give(&found_lock);
}
