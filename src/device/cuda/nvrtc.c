/*
 * nvrtc.c - CUDA C++ text becomes a cubin, with NVRTC loaded on the first compile.
 *
 *     jit (a miss in the cache) -> [compile] -> cubin -> cache, module.c
 *
 * Rule 1: nothing but kiln__nvrtc_compile and kiln__nvrtc_targets loads the library: that takes
 *         20 ms and more, and a cache hit must not pay it.
 * Rule 2: the target is always a real architecture. The result is a cubin, which the driver loads
 *         in microseconds; PTX it would have to compile, in milliseconds.
 * Rule 3: code in which a known miscompilation is found is never returned (fault.h).
 * Rule 4: whatever kiln itself adds to the options is in kiln__nvrtc_key() or follows from the
 *         source and the library's version; folders of headers are not, for the cache looks at
 *         the headers' contents.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "device/cuda/fault.h"
#include "device/cuda/frame.h"
#include "device/cuda/nvrtc.h"

typedef struct nvrtc_program_st *nvrtc_program;

enum {
    NVRTC_OK = 0,
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_COMPILATION = 6,
    NVRTC_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_CANCELLED = 16
};

/* The oldest architecture that kiln makes code for; see cuda.c. */
#define ARCH_MIN 75

/* More than any version supports (13.0: 11). */
#define ARCH_COUNT_MAX 64

/* Options a compile may have besides the user's. */
#define OWN_OPTIONS_MAX 12

/* Options of kiln's own that not every version knows. */
static const struct {
    const char *text;
    int since;        /* 1000 * major + 10 * minor */
    bool header_free; /* only for source that includes nothing and asks for no texture */
} own_options[] = {
    /* No texture functions, no runtime API types: a sixth less time. Headers may need those. */
    {"--minimal", 12040, true},
    /* NVRTC's own cache on disk: kiln has one, and timings shall mean something. */
    {"--no-cache", 12090, false},
    /* The default raises the stack limit of the whole process during a compile. */
    {"--modify-stack-limit=false", 11050, false},
};

#define STANDARD_OPTION "--std=c++17"
#define PLAIN_OPTION "--ptxas-options=-O0" /* for KILN__REMEDY_PLAIN */

/* NVRTC's entry points. */
typedef struct entry_points {
#define KILN_NVRTC(type, field, symbol, parameters) type(*field) parameters;
#include "device/cuda/nvrtc.def"
#undef KILN_NVRTC
} entry_points;

static entry_points rtc; /* set by load_entry_points() */

/* Only NVRTC 12.8 and later can be stopped; NULL before. */
static int (*set_flow_callback)(nvrtc_program program, int (*callback)(void *, void *),
                                void *payload);

static struct {
    kiln__process_lock lock;
    bool tried;
    kiln_status status;
    char reason[512];
    int version; /* 13000 for 13.0 */
    int archs[ARCH_COUNT_MAX];
    int arch_count;      /* 0: it did not tell */
    atomic_uint refused; /* bits of own_options that this library turned out not to know */
} library = {.lock = KILN__PROCESS_LOCK_INIT};

/* ---- load ---- */

static kiln_status load_entry_points(const kiln__nvrtc_place *place)
{
    static const struct {
        const char *symbol;
        size_t at;
    } entries[] = {
#define KILN_NVRTC(type, field, symbol, parameters) {symbol, offsetof(entry_points, field)},
#include "device/cuda/nvrtc.def"
#undef KILN_NVRTC
    };
    void *handle = dlopen(place->path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        const char *why = dlerror();
        snprintf(library.reason, sizeof library.reason, "NVRTC does not load: %.400s",
                 why != NULL ? why : place->path);
        return KILN_ERR_NO_NVRTC;
    }
    for (size_t i = 0; i < KILN_COUNT_OF(entries); i++) {
        void *address = dlsym(handle, entries[i].symbol);
        if (address == NULL) {
            snprintf(library.reason, sizeof library.reason, "%.400s lacks %s", place->path,
                     entries[i].symbol);
            return KILN_ERR_NO_NVRTC;
        }
        memcpy((char *)&rtc + entries[i].at, &address, sizeof address);
    }
    void *flow = dlsym(handle, "nvrtcSetFlowCallback");
    memcpy(&set_flow_callback, &flow, sizeof flow);
    return KILN_OK;
}

static kiln_status load(const kiln__nvrtc_place *place)
{
    int major = 0, minor = 0, count = 0;
    KILN_CHECK(load_entry_points(place));
    if (rtc.version(&major, &minor) == NVRTC_OK)
        library.version = 1000 * major + 10 * minor;
    if (rtc.get_num_supported_archs(&count) == NVRTC_OK && count <= ARCH_COUNT_MAX &&
        rtc.get_supported_archs(library.archs) == NVRTC_OK)
        library.arch_count = count;
    return KILN_OK;
}

static kiln_status ready(kiln_error *err)
{
    const kiln__nvrtc_place *place = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__nvrtc_find(&place, err));
    kiln__process_lock_take(&library.lock);
    if (!library.tried) {
        library.status = load(place);
        library.tried = true;
    }
    status = library.status;
    kiln__process_lock_give(&library.lock);
    return status == KILN_OK ? KILN_OK : kiln__fail(err, status, "%s", library.reason);
}

/* ---- options ---- */

/* Whether any line of the source can be an #include; a comment that looks like one counts. */
static bool includes_something(const char *source)
{
    for (const char *at = source; (at = strchr(at, '#')) != NULL;) {
        at++;
        at += strspn(at, " \t");
        if (kiln__starts_with(at, "include"))
            return true;
    }
    return false;
}

/* Whether the source may need what --minimal leaves out. Words in comments count. */
static bool needs_everything(const char *source)
{
    static const char *const words[] = {
        "tex1D",  "tex2D",  "tex3D",       "texCubemap",          "surf1D",
        "surf2D", "surf3D", "surfCubemap", "cudaTextureObject_t", "cudaSurfaceObject_t",
        "<<<"};

    for (size_t k = 0; k < KILN_COUNT_OF(words); k++)
        if (strstr(source, words[k]) != NULL)
            return true;
    return includes_something(source);
}

static bool user_sets_standard(const kiln__compile_request *request)
{
    for (size_t i = 0; i < request->option_count; i++)
        if (kiln__starts_with(request->options[i], "-std") || kiln__starts_with(request->options[i], "--std"))
            return true;
    return false;
}

/* All options of a compile: kiln's, the user's, folders of headers. */
typedef struct option_list {
    const char **options;
    int count;
    char arch[64];
    char include[KILN__NVRTC_INCLUDE_MAX][1040];
    unsigned own; /* bits of own_options that are in the list */
} option_list;

static kiln_status options_make(const kiln__compile_request *request, kiln__remedy remedy,
                                option_list *list, kiln_error *err)
{
    const bool includes = includes_something(request->source);
    const bool everything = needs_everything(request->source);
    unsigned refused = atomic_load(&library.refused);

    KILN_CHECK(kiln__make_zeroed(&list->options, request->option_count + OWN_OPTIONS_MAX,
                                 sizeof *list->options, err));
    snprintf(list->arch, sizeof list->arch, "-arch=%s", request->target.name);
    list->options[list->count++] = list->arch;
    if (!user_sets_standard(request))
        list->options[list->count++] = STANDARD_OPTION;
    for (unsigned i = 0; i < KILN_COUNT_OF(own_options); i++) {
        if (own_options[i].since > library.version || (refused & 1u << i) != 0 ||
            (own_options[i].header_free && everything))
            continue;
        list->options[list->count++] = own_options[i].text;
        list->own |= 1u << i;
    }
    for (size_t i = 0; i < request->option_count; i++)
        list->options[list->count++] = kiln__compiler_standard(request->options[i]);
    if (remedy == KILN__REMEDY_PLAIN)
        list->options[list->count++] = PLAIN_OPTION;
    const char *const *dirs = kiln__nvrtc_include_dirs();
    for (size_t i = 0; includes && dirs[i] != NULL; i++) {
        snprintf(list->include[i], sizeof list->include[i], "-I%s", dirs[i]);
        list->options[list->count++] = list->include[i];
    }
    return KILN_OK;
}

/* Which of kiln's own options the compiler's log names, as it does when it refuses one. */
static unsigned options_named(const char *log, unsigned own)
{
    unsigned named = 0;

    for (unsigned i = 0; log != NULL && i < KILN_COUNT_OF(own_options); i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(own_options[i].text, "="),
                 own_options[i].text);
        if ((own & 1u << i) != 0 && strstr(log, name) != NULL)
            named |= 1u << i;
    }
    return named;
}

/* ---- compile ---- */

static bool knows_arch(const char *target)
{
    if (!kiln__starts_with(target, "sm_"))
        return false;
    int arch = atoi(target + strlen("sm_"));
    for (int i = 0; i < library.arch_count; i++)
        if (library.archs[i] == arch)
            return true;
    return library.arch_count == 0 && arch >= ARCH_MIN; /* it has no list: it will refuse */
}

static kiln_status fail_arch(const char *target, kiln_error *err)
{
    kiln__buf known = KILN__BUF_INIT;
    kiln_status status;

    for (int i = 0; i < library.arch_count; i++)
        if (library.archs[i] >= ARCH_MIN)
            kiln__buf_printf(&known, " sm_%d", library.archs[i]);
    status =
        kiln__fail(err, KILN_ERR_UNSUPPORTED, "NVRTC %d.%d makes no code for \"%s\"; it does for%s",
                   library.version / 1000, library.version % 1000 / 10, target,
                   known.text != NULL ? known.text : " none that kiln supports");
    kiln__buf_clear(&known);
    return status;
}

static char *take_log(nvrtc_program program)
{
    size_t bytes = 0;

    if (rtc.get_log_size(program, &bytes) != NVRTC_OK || bytes <= 1)
        return NULL;
    char *log = kiln__alloc(bytes + 1);
    if (log == NULL)
        return NULL;
    if (rtc.get_log(program, log) != NVRTC_OK) {
        kiln__free(log);
        return NULL;
    }
    log[bytes] = '\0';
    return log;
}

static kiln_status take_cubin(nvrtc_program program, kiln__compile_result *result, kiln_error *err)
{
    size_t bytes = 0;
    int code = rtc.get_cubin_size(program, &bytes);

    if (code != NVRTC_OK || bytes == 0)
        return kiln__fail(err, KILN_ERR_INTERNAL, "NVRTC made no cubin: %s",
                          rtc.get_error_string(code));
    KILN_CHECK(kiln__make_room(&result->binary, bytes, err));
    code = rtc.get_cubin(program, (char *)result->binary);
    if (code != NVRTC_OK)
        return kiln__fail(err, KILN_ERR_INTERNAL, "NVRTC gave no cubin: %s",
                          rtc.get_error_string(code));
    result->bytes = bytes;
    result->frame_bytes = kiln__cubin_frame(result->binary, bytes);
    return KILN_OK;
}

/* Append the names in the binary of the entities that the request names. */
static kiln_status take_names(nvrtc_program program, const kiln__compile_request *request,
                              kiln__compile_result *result, kiln_error *err)
{
    kiln__buf all = {.max_bytes = SIZE_MAX / 2};
    kiln_status status = KILN_OK;
    const char **names = NULL;
    KILN_CHECK(kiln__make_zeroed(&names, request->name_count, sizeof *names, err));
    for (size_t k = 0; k < request->name_count; k++) {
        const int code = rtc.get_lowered_name(program, request->names[k], &names[k]);
        if (code != NVRTC_OK || names[k] == NULL || names[k][0] == '\0') {
            status = kiln__fail(err, KILN_ERR_INTERNAL, "NVRTC tells no name for \"%.200s\": %s",
                                request->names[k], rtc.get_error_string(code));
            goto done;
        }
    }
    kiln__buf_put(&all, (const char *)result->binary, result->bytes);
    kiln__names_put(&all, names, request->name_count);
    if (all.failed) {
        status = kiln__fail_memory(err, result->bytes);
        goto done;
    }
    kiln__free(result->binary);
    result->bytes = all.length;
    result->binary = (unsigned char *)kiln__buf_take(&all);

done:
    kiln__buf_clear(&all);
    kiln__free(names);
    return status;
}

/* The known miscompilation that the cubin contains; NULL when it contains none. */
static const char *find_fault(nvrtc_program program, const char *target, kiln__remedy remedy,
                              const kiln__compile_result *result)
{
    const int arch = atoi(target + strlen("sm_"));
    const unsigned suspects =
        kiln__fault_suspects(library.version, arch, remedy, result->binary, result->bytes);
    char *ptx = NULL;
    size_t bytes = 0;

    if (suspects == 0)
        return NULL;
    if (rtc.get_ptx_size(program, &bytes) == NVRTC_OK && bytes > 0)
        ptx = kiln__calloc(bytes + 1, 1);
    if (ptx != NULL && rtc.get_ptx(program, ptx) != NVRTC_OK) {
        kiln__free(ptx);
        ptx = NULL;
    }
    const char *fault = kiln__fault_asked_for(suspects, ptx);
    kiln__free(ptx);
    return fault;
}

/* How long one run of the compiler is waited for. */
typedef struct patience {
    const atomic_bool *cancel; /* may be NULL */
    double end_us;
} patience;

double kiln__nvrtc_limit_s = 600;

/* What a result other than success means. The log is in place. */
static kiln_status fail_compile(int code, const patience *p, const kiln__compile_result *result,
                                kiln_error *err)
{
    int first = result->log != NULL ? (int)strcspn(result->log, "\n") : 0;
    const char *line = result->log != NULL ? result->log : "";

    switch (code) {
    case NVRTC_CANCELLED:
        if (p->cancel == NULL || !atomic_load(p->cancel))
            return kiln__fail(err, KILN_ERR_IO,
                              "NVRTC was stopped after %g s: it is known not to end for some "
                              "sources (docs/codegen.md)",
                              kiln__nvrtc_limit_s);
        return kiln__fail(err, KILN_ERR_CANCELLED, "the compilation was cancelled");
    case NVRTC_OUT_OF_MEMORY:
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "NVRTC ran out of memory");
    case NVRTC_BUILTIN_OPERATION_FAILURE:
        return kiln__fail(err, KILN_ERR_NO_NVRTC,
                          "NVRTC does not find its companion libnvrtc-builtins.so: %.*s", first,
                          line);
    case NVRTC_COMPILATION:
        if (!kiln__log_blames_source(line))
            return kiln__fail(err, KILN_ERR_IO, "NVRTC broke off: %.*s", first, line);
        return kiln__fail(err, KILN_ERR_COMPILE, "NVRTC rejected the source: %.*s", first, line);
    case NVRTC_INVALID_OPTION:
        return kiln__fail(err, KILN_ERR_COMPILE, "NVRTC rejected an option: %.*s", first, line);
    default: /* an internal error of NVRTC; the source may be correct */
        return kiln__fail(err, KILN_ERR_IO, "NVRTC broke off: %s %.*s",
                          rtc.get_error_string(code), first, line);
    }
}

/* NVRTC calls this from its own threads, now and then, to ask whether to stop. A request to stop is
 * never withdrawn. */
static int wants_to_stop(void *payload, void *unused)
{
    const patience *p = payload;

    (void)unused;
    return (p->cancel != NULL && atomic_load(p->cancel)) || kiln__now_us() > p->end_us;
}

/* NVRTC reads these by itself, in this process, whoever has set them. */
static const char *const flag_variables[] = {"NVRTC_PREPEND_FLAGS", "NVRTC_APPEND_FLAGS"};

bool kiln__nvrtc_looks_further(void)
{
    for (size_t i = 0; i < KILN_COUNT_OF(flag_variables); i++)
        if (getenv(flag_variables[i]) != NULL)
            return true; /* in folders that a flag may name */
    return false;
}

static kiln_status check_environment(kiln_error *err)
{
    for (size_t i = 0; kiln__is_privileged() && i < KILN_COUNT_OF(flag_variables); i++)
        if (getenv(flag_variables[i]) != NULL)
            return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                              "$%s is set, and a set-uid program lets nobody choose the flags of "
                              "NVRTC; unset it first",
                              flag_variables[i]);
    return KILN_OK;
}

/* The outcome of one attempt, besides its status. */
typedef struct outcome {
    bool again; /* an option of kiln's own was refused, and will be left out from now on */
    const char *fault; /* the miscompilation that was found: the code must not be used */
} outcome;

static kiln_status attempt(const kiln__compile_request *request, kiln__remedy remedy,
                           const char *source, kiln__compile_result *result, outcome *out,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;
    patience waiting = {request->cancel, kiln__now_us() + kiln__nvrtc_limit_s * 1e6};
    nvrtc_program program = NULL;
    option_list list = {0};

    *out = (outcome){false, NULL};
    KILN_TRY(options_make(request, remedy, &list, err));
    int code = rtc.create_program(&program, source, "kiln.cu", 0, NULL, NULL);
    if (code == NVRTC_OK && set_flow_callback != NULL)
        (void)set_flow_callback(program, wants_to_stop, &waiting);
    for (size_t k = 0; k < request->name_count && code == NVRTC_OK; k++)
        code = rtc.add_name(program, request->names[k]);
    if (code == NVRTC_OK) {
        code = rtc.compile_program(program, list.count, list.options);
        result->log = take_log(program);
    }
    if (code == NVRTC_INVALID_OPTION) {
        unsigned named = options_named(result->log, list.own);
        if (named != 0) {
            atomic_fetch_or(&library.refused, named);
            out->again = true;
            goto done;
        }
    }
    if (code != NVRTC_OK)
        status = fail_compile(code, &waiting, result, err);
    else
        status = take_cubin(program, result, err);
    if (status == KILN_OK)
        out->fault = find_fault(program, request->target.name, remedy, result);
    if (status == KILN_OK && request->name_count != 0)
        status = take_names(program, request, result, err);

done:
    if (program != NULL)
        (void)rtc.destroy_program(&program);
    kiln__free(list.options);
    return status;
}

/* Compile with one remedy. When the rewritten source does not compile, the fault counts as not
 * remedied, and the next remedy is tried. */
static kiln_status with_remedy(const kiln__compile_request *request, kiln__remedy remedy,
                               const char **fault, kiln__compile_result *result,
                               kiln_error *err)
{
    char *text = remedy == KILN__REMEDY_TEXT ? kiln__fault_text(request->source) : NULL;
    const char *source = text != NULL ? text : request->source;
    outcome out = {true, NULL};
    kiln_status status = KILN_OK;

    if (remedy == KILN__REMEDY_TEXT && text == NULL)
        return kiln__fail_memory(err, strlen(request->source));
    while (out.again) {
        kiln__compile_result_clear(result);
        status = attempt(request, remedy, source, result, &out, err);
    }
    if (remedy == KILN__REMEDY_TEXT && status == KILN_ERR_COMPILE) {
        kiln_error_clear(err);
        status = KILN_OK;
    } else {
        *fault = out.fault;
    }
    kiln__free(text);
    return status;
}

kiln_status kiln__nvrtc_compile(const kiln__compile_request *request, kiln__compile_result *result,
                                kiln_error *err)
{
    const char *fault = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(check_environment(err));
    KILN_CHECK(ready(err));
    if (!knows_arch(request->target.name))
        return fail_arch(request->target.name, err);
    for (kiln__remedy remedy = KILN__REMEDY_NONE; remedy < KILN__REMEDY_COUNT; remedy++) {
        status = with_remedy(request, remedy, &fault, result, err);
        if (status != KILN_OK || fault == NULL)
            break;
    }
    if (status == KILN_OK && fault != NULL)
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "NVRTC %d.%d miscompiles this kernel for %s (%s): use another version",
                            library.version / 1000, library.version % 1000 / 10,
                            request->target.name, fault);
    if (status != KILN_OK) {
        kiln__free(result->binary);
        result->binary = NULL;
        result->bytes = 0;
    }
    return status;
}

/* ---- key and targets ---- */

void kiln__nvrtc_key(kiln__buf *key)
{
    const char *id = "no nvrtc";

    (void)kiln__nvrtc_identity(&id, NULL);
    kiln__buf_printf(key, "compiler %s\nflags %s", id != NULL ? id : "none", STANDARD_OPTION);
    for (size_t i = 0; i < KILN_COUNT_OF(own_options); i++)
        kiln__buf_printf(key, " %s", own_options[i].text);
    kiln__buf_putc(key, '\n');
    for (size_t i = 0; i < KILN_COUNT_OF(flag_variables); i++) {
        const char *value = kiln__env(flag_variables[i]);
        if (value != NULL)
            kiln__buf_printf(key, "%s %s\n", flag_variables[i], value);
    }
}

size_t kiln__nvrtc_targets(kiln__target *targets, size_t capacity)
{
    size_t count = 0;

    if (ready(NULL) != KILN_OK)
        return 0;
    for (int i = 0; i < library.arch_count; i++) {
        if (library.archs[i] < ARCH_MIN)
            continue;
        if (count < capacity) {
            targets[count] = (kiln__target){.backend = KILN_BACKEND_CUDA};
            snprintf(targets[count].name, sizeof targets[count].name, "sm_%d", library.archs[i]);
        }
        count++;
    }
    return count;
}
