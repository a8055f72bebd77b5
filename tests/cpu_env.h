/*
 * cpu_env.h - what the test programs of the cpu backend share: a folder, compiling by hand.
 *
 * Included once by each program; compiles use a TMPDIR and a CPATH of the program's own.
 */
#ifndef CPU_ENV_H
#define CPU_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

static const kiln__backend *const cpu = &kiln__backend_cpu;
static char folder[256];  /* of this program, removed at its end */
static char tmpdir[300];  /* what compiles use as TMPDIR */
static char include[300]; /* CPATH */

static inline void write_text(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static inline size_t entries_in(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static inline void open_device(kiln__device *device, int threads)
{
    memset(device, 0, sizeof *device);
    device->backend = cpu;
    device->fork_generation = kiln__fork_generation();
    assert_int_equal(cpu->open(device, 0, threads, NULL), KILN_OK);
}

static inline kiln_status compile(const char *source, const char *target,
                                  const char *const *options, size_t option_count,
                                  kiln__compile_result *result, kiln_error *err)
{
    kiln__compile_request request = {.target = {KILN_BACKEND_CPU, ""}, .source = source,
                                     .options = options, .option_count = option_count};

    snprintf(request.target.name, sizeof request.target.name, "%s", target);
    return kiln__compile(&request, result, err);
}

static inline void compile_result_free(kiln__compile_result *result)
{
    kiln__compile_result_clear(result);
}

/* Compile for this machine, load, and find `kernel`. */
static inline kiln__cpu_entry build(const char *source, void **module_out)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;
    void *entry = NULL;

    if (compile(source, kiln__cpu_target(), NULL, 0, &result, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, module_out, &err),
                     KILN_OK);
    compile_result_free(&result);
    assert_int_equal(kiln__cpu_module_entry(NULL, *module_out, "kernel", &entry, &err), KILN_OK);
    return (kiln__cpu_entry)(uintptr_t)entry;
}

#define KERNEL                                                                                     \
    "struct A { const float *x, *y; float *z; };\n"                                                \
    "extern \"C\" __attribute__((visibility(\"default\")))\n"                                      \
    "void kernel(const void *p, long begin, long end) {\n"                                         \
    "  const A &a = *(const A *)p;\n"                                                              \
    "  for (long k = begin; k < end; k++) {\n"                                                     \
    "    const float &x = a.x[k], &y = a.y[k]; float &z = a.z[k];\n"

static const char axpy_source[] = KERNEL "z = x * y + 1;\n} }\n";

static inline int prepare(void **state)
{
    char header[400];

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kiln-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(tmpdir, sizeof tmpdir, "%s/tmp", folder);
    snprintf(include, sizeof include, "%s/include", folder);
    snprintf(header, sizeof header, "%s/kiln_test_header.h", include);
    if (mkdir(tmpdir, 0700) != 0 || mkdir(include, 0700) != 0)
        return -1;
    write_text(header, "#define KILN_TEST_HEADER_VALUE 3\n", 0600);
    setenv("TMPDIR", tmpdir, 1);
    setenv("CPATH", include, 1);
    return 0;
}

static inline int clean_up(void **state)
{
    (void)state;
    kiln__cpu_folder_remove(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

#endif
