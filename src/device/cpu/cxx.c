/*
 * cxx.c - generated source to the bytes of a shared object, by the system's C++ compiler.
 *
 *     source > stdin of c++ > kernel.so in a private folder > bytes in memory
 *
 * Rule 1: everything fixed that is passed to the compiler is in kiln__cxx_key(): two machines with
 *         equal keys get interchangeable binaries.
 * Rule 2: floating point is that of C++ with three exceptions: errno is not set, exception flags
 *         may be wrong, and a * b + c may be rounded once (as on CUDA). NaN, infinity, -0 and the
 *         order of operations are kept. Vectorisation needs no more: -fno-math-errno lets loops
 *         call libmvec, -fno-trapping-math lets branches become masks.
 * Rule 3: the source comes by stdin, so that no temporary name reaches the binary or a message,
 *         and `#include "x"` is searched in the current folder of the program.
 *
 * What a compile costs (GCC 12, a core of 2.4 GHz): driver and compiler proper 35 ms, assembler 3,
 * linker 8 with neither start files nor the C++ library, 32 with them. Hence two ways to link:
 * bare first, and whole only when the bare one leaves something undefined.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "device/cpu/cpu.h"

#define COMPILE_TIMEOUT_MS (10 * 60 * 1000)
#define LOG_BYTES_MAX ((size_t)1 << 20)
#define BINARY_BYTES_MAX ((size_t)256 << 20)
#define DIRS_MAX 64
#define PATH_BYTES 512

/* ---- flags ---- */

static const char *const common_flags[] = {
    "-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fopenmp-simd",
    /* Existing CUDA code reads the bits of one type through a pointer to another. */
    "-fno-strict-aliasing",
    /* Distributions turn these on; a loop over memory only gets slower by them. */
    "-fno-stack-protector", "-U_FORTIFY_SOURCE",
    "-fdiagnostics-color=never",
};
/* A module with a unique symbol can never be unloaded. */
static const char *const gcc_flags[] = {"-fno-gnu-unique", "-fmax-errors=64"};
static const char *const clang_flags[] = {"-ferror-limit=64", "-Qunused-arguments"};

static const char *const link_flags[] = {"-shared", "-Wl,-z,defs", "-Wl,--as-needed"};
static const char *const bare_flags[] = {"-nostartfiles", "-nodefaultlibs"};
static const char *const bare_libs[] = {"-lm", "-lc", "-lgcc"};

/* The vector functions of this machine's libm, as the prelude may declare them. */
static const char *vector_math(void)
{
#if defined(__GLIBC__) && defined(__x86_64__)
    int major = 0, minor = 0;

    if (sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2) {
        if (major > 2 || (major == 2 && minor >= 35))
            return "-DKILN_LIBMVEC_FULL=1";
        if (major == 2 && minor >= 22)
            return "-DKILN_LIBMVEC=1";
    }
#endif
    return NULL;
}

/* Clang learned the name in version 12; it knows none of our declarations' simd attributes. */
static const char *vector_library(const kiln__cxx *cxx)
{
    return cxx->clang && cxx->major >= 12 && vector_math() != NULL ? "-fveclib=libmvec" : NULL;
}

/* ---- options of the user ---- */

/* {NVRTC's spelling, ours}: NULL where nothing corresponds. A spelling that ends in '=' stands for
 * all its values. `-x` and `--x` are one option to NVRTC. */
static const struct {
    const char *from, *to;
} translations[] = {
    {"use_fast_math", "-funsafe-math-optimizations"}, /* not -ffast-math: NaN stays NaN on CUDA */
    {"fmad=false", "-ffp-contract=off"},
    {"fmad=true", "-ffp-contract=fast"},
    {"lineinfo", NULL},
    {"generate-line-info", NULL},
    {"device-debug", "-g"},
    {"disable-warnings", "-w"},
    {"maxrregcount=", NULL},
    {"gpu-architecture=", NULL},
    {"arch=", NULL},
    {"ftz=", NULL},
    {"prec-div=", NULL},
    {"prec-sqrt=", NULL},
    {"extra-device-vectorization", NULL},
    {"default-device", NULL},
    {"device-as-default-execution-space", NULL},
    {"relocatable-device-code=", NULL},
    {"rdc=", NULL},
    {"dc", NULL},
    {"device-c", NULL},
    {"restrict", NULL},
    {"device-int128", NULL},
    {"diag-suppress=", NULL},
    {"ptxas-options=", NULL},
};

const char *kiln__cxx_option(const char *option)
{
    const char *name = option;

    if (*name == '-')
        name += name[1] == '-' ? 2 : 1;
    for (size_t k = 0; name != option && k < KILN_COUNT_OF(translations); k++) {
        const char *from = translations[k].from;
        size_t width = strlen(from);
        bool prefix = from[width - 1] == '=';
        if (prefix ? strncmp(name, from, width) == 0 : strcmp(name, from) == 0)
            return translations[k].to;
    }
    return kiln__option_allowed(KILN_BACKEND_CPU, option) ? option : NULL;
}

/* Whether the user wants warnings: then ours are not silenced either. */
static bool asks_for_warnings(const kiln__compile_request *request)
{
    for (size_t k = 0; k < request->option_count; k++) {
        const char *o = request->options[k];
        if (kiln__starts_with(o, "-W") && !kiln__starts_with(o, "-Wl,") && !kiln__starts_with(o, "-Wa,") &&
            !kiln__starts_with(o, "-Wp,") && !kiln__starts_with(o, "-Wno-"))
            return true;
    }
    return false;
}

/* Whether GCC would link the start file that turns denormals off for the whole process. */
static bool asks_for_fast_math(const kiln__compile_request *request)
{
    for (size_t k = 0; k < request->option_count; k++) {
        const char *o = kiln__cxx_option(request->options[k]);
        if (o != NULL && (strcmp(o, "-ffast-math") == 0 || strcmp(o, "-Ofast") == 0 ||
                          strcmp(o, "-funsafe-math-optimizations") == 0))
            return true;
    }
    return false;
}

/* ---- include folders ---- */

static pthread_once_t dirs_once = PTHREAD_ONCE_INIT;
static char *dirs_text[2]; /* libc's memory, kept for the life of the process */
static const char *dirs[DIRS_MAX + 1];
static const char *const dirs_variables[] = {"CPATH", "CPLUS_INCLUDE_PATH"};

/* The folders that the environment names. They are handed to the compiler by option and taken out
 * of its environment, so that what a key was made from and what is read are one. */
static void read_dirs(void)
{
    size_t used = 0;

    for (size_t v = 0; v < KILN_COUNT_OF(dirs_variables); v++) {
        const char *value = kiln__env(dirs_variables[v]);
        char *rest = NULL;

        dirs_text[v] = value != NULL ? strdup(value) : NULL;
        for (char *dir = dirs_text[v] != NULL ? strtok_r(dirs_text[v], ":", &rest) : NULL;
             dir != NULL && used < DIRS_MAX; dir = strtok_r(NULL, ":", &rest))
            dirs[used++] = dir;
    }
    dirs[used] = NULL;
}

const char *const *kiln__cxx_include_dirs(void)
{
    pthread_once(&dirs_once, read_dirs);
    return dirs;
}

bool kiln__cxx_looks_further(void)
{
    return true; /* in the compiler's own folders */
}

/* ---- argument vector ---- */

typedef struct arguments {
    const char **list;
    size_t count, capacity;
} arguments;

static void add(arguments *a, const char *text)
{
    if (text != NULL && a->count + 1 < a->capacity)
        a->list[a->count++] = text;
    a->list[a->count] = NULL;
}

static void add_all(arguments *a, const char *const *list, size_t count)
{
    for (size_t k = 0; k < count; k++)
        add(a, list[k]);
}

/* Flags that do not depend on the request; what the key is made of. */
static void add_fixed(arguments *a, const kiln__cxx *cxx)
{
    add_all(a, common_flags, KILN_COUNT_OF(common_flags));
    if (cxx->clang)
        add_all(a, clang_flags, KILN_COUNT_OF(clang_flags));
    else
        add_all(a, gcc_flags, KILN_COUNT_OF(gcc_flags));
#if defined(__x86_64__)
    add(a, "-fcf-protection=none");
#endif
    add(a, vector_math());
    add(a, vector_library(cxx));
    add_all(a, link_flags, KILN_COUNT_OF(link_flags));
}

/* The whole command. `whole`: with all of the compiler's own libraries and start files. */
static kiln_status make_arguments(const kiln__cxx *cxx, const kiln__compile_request *request,
                                  bool whole, const char *output, const char *inputs,
                                  arguments *a, kiln_error *err)
{
    const char *const *target = kiln__cpu_target_flags(request->target.name);

    if (target == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "this machine's compiler makes no code for %s",
                          request->target.name);
    a->capacity = request->option_count + 2 * DIRS_MAX + 128;
    KILN_CHECK(kiln__make_room(&a->list, a->capacity * sizeof *a->list, err));
    add(a, cxx->path);
    add_fixed(a, cxx);
    for (; *target != NULL; target++)
        add(a, *target);
    add(a, asks_for_warnings(request) ? NULL : "-w");
    if (!whole)
        add_all(a, bare_flags, KILN_COUNT_OF(bare_flags));
    else if (asks_for_fast_math(request))
        add(a, bare_flags[0]);
    for (size_t k = 0; k < request->option_count; k++) {
        const char *option = request->options[k];
        if (!kiln__starts_with(option, "-l"))
            add(a, kiln__cxx_option(kiln__compiler_standard(option)));
    }
    for (const char *const *dir = kiln__cxx_include_dirs(); *dir != NULL; dir++) {
        add(a, "-isystem");
        add(a, *dir);
    }
    /* The compiler lists the files that it reads (depend.c). */
    add(a, "-MD");
    add(a, "-MT");
    add(a, "kernel");
    add(a, "-MF");
    add(a, inputs);
    add(a, "-o");
    add(a, output);
    add(a, "-x");
    add(a, "c++");
    add(a, "-");
    add(a, "-x");
    add(a, "none");
    /* The linker wants libraries behind the objects that need them. */
    for (size_t k = 0; k < request->option_count; k++)
        if (kiln__starts_with(request->options[k], "-l"))
            add(a, kiln__cxx_option(request->options[k]));
    add_all(a, bare_libs, whole ? 1 : KILN_COUNT_OF(bare_libs));
    return KILN_OK;
}

/* Inherited variables that change the result: programs, libraries and the time that it uses. */
static const char *const key_variables[] = {"COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH",
                                            "SOURCE_DATE_EPOCH"};

void kiln__cxx_key(kiln__buf *key)
{
    const kiln__cxx *cxx = NULL;
    const char *list[64];
    arguments a = {list, 0, KILN_COUNT_OF(list)};

    if (kiln__cxx_get(&cxx, NULL) != KILN_OK) {
        kiln__buf_puts(key, "compiler none\n");
        return;
    }
    kiln__buf_printf(key, "compiler %s\nflags", cxx->id);
    add_fixed(&a, cxx);
    add_all(&a, bare_libs, KILN_COUNT_OF(bare_libs));
    for (size_t k = 0; k < a.count; k++)
        kiln__buf_printf(key, " %s", a.list[k]);
    kiln__buf_putc(key, '\n');
    for (size_t k = 0; k < KILN_COUNT_OF(key_variables); k++) {
        const char *value = kiln__env(key_variables[k]);
        if (value != NULL)
            kiln__buf_printf(key, "%s %zu %s\n", key_variables[k], strlen(value), value);
    }
}

/* ---- one run of the compiler ---- */

/* Texts by which a failure of the machine is recognised. Unlike a mistake in the source, it must
 * not be remembered for the definition. */
static const struct {
    const char *text;
    kiln_status status;
    const char *meaning;
} machine_failures[] = {
    {"No space left on device", KILN_ERR_IO, "no space was left for temporary files"},
    {"virtual memory exhausted", KILN_ERR_NO_MEMORY, "the compiler ran out of memory"},
    {": out of memory allocating ", KILN_ERR_NO_MEMORY, "the compiler ran out of memory"},
    {": memory exhausted", KILN_ERR_NO_MEMORY, "the linker ran out of memory"},
    {": Cannot allocate memory", KILN_ERR_NO_MEMORY, "the compiler ran out of memory"},
    {": failed to map segment from shared object", KILN_ERR_NO_MEMORY,
     "the compiler ran out of memory"},
    {": Resource temporarily unavailable", KILN_ERR_NO_MEMORY,
     "the system lets the compiler start no more processes"},
    {"[File size limit exceeded]", KILN_ERR_IO, "the limit on file sizes (ulimit -f) is too low"},
    {"Killed signal terminated program", KILN_ERR_NO_MEMORY,
     "the compiler was killed, most likely for the memory it took"},
    {"cannot execute 'cc1plus'", KILN_ERR_NO_COMPILER,
     "the compiler's C++ part is not installed (install g++)"},
    {"cannot execute 'as'", KILN_ERR_NO_COMPILER, "no assembler was found (install binutils)"},
    {"cannot find 'ld'", KILN_ERR_NO_COMPILER, "no linker was found (install binutils)"},
    {"unable to execute command", KILN_ERR_NO_COMPILER,
     "the compiler could not start a program it needs (install binutils)"},
};

static bool log_has(const kiln__buf *log, const char *text)
{
    return log->length != 0 && strstr(log->text, text) != NULL;
}

/* The beginning of the most telling line of a log: the first with "error" in it. */
static const char *first_complaint(const kiln__buf *log)
{
    char *at = log->length != 0 ? strcasestr(log->text, "error") : NULL;

    while (at != NULL && at > log->text && at[-1] != '\n')
        at--;
    return at != NULL ? at : log->length != 0 ? log->text : "it said nothing";
}

static kiln_status explain_exit(const kiln__cxx *cxx, const kiln__buf *log, kiln_error *err)
{
    for (size_t k = 0; k < KILN_COUNT_OF(machine_failures); k++)
        if (log_has(log, machine_failures[k].text))
            return kiln__fail(err, machine_failures[k].status, "%.300s: %s", cxx->path,
                              machine_failures[k].meaning);
    if (kiln__log_blames_source(log->text))
        return kiln__fail(err, KILN_ERR_COMPILE, "%s rejected the generated source", cxx->brief);
    /* The compiler failed for a reason of its own, a crash for instance; another run may succeed.
     * */
    const char *line = first_complaint(log);
    return kiln__fail(err, KILN_ERR_IO, "%.300s broke off: %.*s", cxx->path,
                      (int)strcspn(line, "\n"), line);
}

static kiln_status explain_end(const kiln__cxx *cxx, kiln__cpu_end end, int code, kiln__buf *log,
                               bool has_output, kiln_error *err)
{
    switch (end) {
    case KILN__CPU_EXITED:
        /* A failed exec looks like this where vfork is only emulated. */
        if (code == 127 && log->length == 0)
            return kiln__fail(err, KILN_ERR_NO_COMPILER, "%.300s could not be started", cxx->path);
        if (code != 0)
            return explain_exit(cxx, log, err);
        break;
    case KILN__CPU_UNKNOWN:
        if (!has_output)
            return explain_exit(cxx, log, err);
        break;
    case KILN__CPU_KILLED:
        return kiln__fail(err, KILN_ERR_IO, "%.300s was ended by signal %d (%s)", cxx->path, code,
                          strsignal(code));
    case KILN__CPU_TIMED_OUT:
        kiln__buf_clear(log);
        kiln__buf_printf(log, "the compiler was stopped after %d seconds\n",
                         COMPILE_TIMEOUT_MS / 1000);
        return kiln__fail(err, KILN_ERR_COMPILE, "%s was stopped after %d seconds", cxx->brief,
                          COMPILE_TIMEOUT_MS / 1000);
    case KILN__CPU_CANCELLED:
        return kiln__fail(err, KILN_ERR_CANCELLED, "the compilation was cancelled");
    case KILN__CPU_NOT_RUN:
        return kiln__fail(err, code == ENOMEM || code == EAGAIN ? KILN_ERR_NO_MEMORY
                                                                : KILN_ERR_NO_COMPILER,
                          "%.300s could not be started: %s", cxx->path, strerror(code));
    }
    if (!has_output)
        return kiln__fail(err, KILN_ERR_IO, "%.300s reported success and made nothing", cxx->path);
    return KILN_OK;
}

/* A link failed for want of something, as GCC's and Clang's drivers say it. */
static bool left_undefined(const kiln__buf *log)
{
    return log_has(log, "ld returned") || log_has(log, "linker command failed");
}

/* Run the compiler once over `folder`/source. `log` is emptied first. */
static kiln_status run_once(const kiln__cxx *cxx, const kiln__compile_request *request, bool whole,
                            kiln__cpu_folder *folder, kiln__buf *log, kiln_error *err)
{
    kiln_status status = KILN_OK;
    char input[PATH_BYTES], output[PATH_BYTES], temporary[PATH_BYTES], inputs[PATH_BYTES];
    const char *const set[] = {"LC_ALL=C", temporary, kiln__cxx_path_setting(), NULL};
    const char *const drop[] = {"CPATH", "CPLUS_INCLUDE_PATH", "LANGUAGE", "LD_RUN_PATH",
                                "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES",
                                "CCC_OVERRIDE_OPTIONS", NULL};
    arguments a = {NULL, 0, 0};
    kiln__cpu_child child = {cxx->path,       NULL,  set, drop, -1, false, COMPILE_TIMEOUT_MS,
                             request->cancel, folder};
    int code = 0;

    snprintf(input, sizeof input, "%s/source", folder->path);
    snprintf(output, sizeof output, "%s/kernel.so", folder->path);
    snprintf(inputs, sizeof inputs, "%s/inputs", folder->path);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder->path);
    kiln__buf_clear(log);
    log->max_bytes = LOG_BYTES_MAX;
    KILN_TRY(make_arguments(cxx, request, whole, output, inputs, &a, err));
    child.argv = a.list;
    child.input_fd = open(input, O_RDONLY | O_CLOEXEC);
    if (child.input_fd < 0) {
        status = kiln__fail(err, KILN_ERR_IO, "%s: %s", input, strerror(errno));
        goto done;
    }
    kiln__cpu_end end = kiln__cpu_run(&child, log, &code);
    status = explain_end(cxx, end, code, log, access(output, R_OK) == 0, err);

done:
    if (child.input_fd >= 0)
        close(child.input_fd);
    kiln__free(a.list);
    return status;
}

/* ---- compile ---- */

static kiln_status write_source(const char *folder, const char *source, kiln_error *err)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/source", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return kiln__fail(err, KILN_ERR_IO, "%s: %s", path, strerror(errno));
    int why = kiln__write_all(fd, source, strlen(source));
    if (close(fd) != 0 && why == 0)
        why = errno;
    if (why != 0)
        return kiln__fail(err, KILN_ERR_IO, "%s: %s", path, strerror(why));
    return KILN_OK;
}

static kiln_status read_binary(const char *folder, kiln__compile_result *result, kiln_error *err)
{
    char path[PATH_BYTES];
    char *data = NULL;

    snprintf(path, sizeof path, "%s/kernel.so", folder);
    int why = kiln__read_file(path, BINARY_BYTES_MAX, &data, &result->bytes);
    if (why == ENOMEM)
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "no memory for the compiled kernel");
    if (why != 0)
        return kiln__fail(err, KILN_ERR_IO, "%s: %s", path, strerror(why));
    result->binary = (unsigned char *)data;
    snprintf(path, sizeof path, "%s/inputs", folder);
    result->inputs = kiln__cxx_read_inputs(path);
    return result->inputs != NULL ? KILN_OK : kiln__fail_memory(err, sizeof path);
}

kiln_status kiln__cxx_compile(const kiln__compile_request *request, kiln__compile_result *result,
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    const kiln__cxx *cxx = NULL;
    kiln__buf log = KILN__BUF_INIT;
    kiln__cpu_folder folder = {.lock_fd = -1};

    memset(result, 0, sizeof *result);
    KILN_TRY(kiln__cxx_get(&cxx, err));
    int why = kiln__cpu_folder_open(&folder);
    if (why != 0) {
        status = kiln__fail(err, KILN_ERR_IO, "no folder for temporary files can be made: %s",
                            strerror(why));
        goto done;
    }
    KILN_TRY(write_source(folder.path, request->source, err));
    status = run_once(cxx, request, false, &folder, &log, err);
    if ((status == KILN_ERR_COMPILE || status == KILN_ERR_IO) && left_undefined(&log)) {
        kiln_error_clear(err);
        status = run_once(cxx, request, true, &folder, &log, err);
    }
    if (status == KILN_OK)
        status = read_binary(folder.path, result, err);

done:
    /* The log matters most after a failure. When there is no memory for it, the status still tells.
     * */
    if (log.length != 0)
        result->log = kiln__buf_take(&log);
    kiln__buf_clear(&log);
    kiln__cpu_folder_close(&folder);
    return status;
}

/* ---- what a key and a listing need ---- */

kiln_status kiln__cxx_identity(const char **id_out, kiln_error *err)
{
    const kiln__cxx *cxx = NULL;
    kiln_status status = kiln__cxx_get(&cxx, err);

    *id_out = status == KILN_OK ? cxx->id : NULL;
    return status;
}

size_t kiln__cxx_targets(kiln__target *targets, size_t capacity)
{
    const kiln__cxx *cxx = NULL;
    size_t count = 0;

    if (kiln__cxx_get(&cxx, NULL) != KILN_OK)
        return 0;
    for (; kiln__cpu_target_name(count) != NULL; count++) {
        if (count >= capacity)
            continue;
        memset(&targets[count], 0, sizeof targets[count]);
        targets[count].backend = KILN_BACKEND_CPU;
        snprintf(targets[count].name, sizeof targets[count].name, "%s",
                 kiln__cpu_target_name(count));
    }
    return count;
}
