/*
 * options.c - the compiler options that a caller may give.
 *
 *     definition, manifest > [options allowed] > cuda/nvrtc.c | cpu/cxx.c
 *
 * Options come from programs, and from manifests that somebody else wrote: they are data. A compiler
 * takes options that start programs, load plugins and write files, and with each version it learns new
 * ones. So what is allowed is listed here, not what is forbidden.
 *
 * Rule 1: no allowed option starts a program, loads code into the compiler, or writes a file. It may
 *         name files to be read: headers, libraries.
 * Rule 2: an option holds its value ("-DN=4", not "-D", "N=4"). One that does not would take the next
 *         word of the command for it, which is kiln's.
 * Rule 3: a value that names no file has no slash in it.
 */
#include "device/device.h"

/* What may stand behind an option's name. */
typedef enum value_kind {
    VALUE_NONE,
    VALUE_WORD,  /* letters, digits and ._+,-= : never a path; at least one */
    VALUE_MAYBE, /* the same, or nothing */
    VALUE_TEXT   /* anything but nothing */
} value_kind;

typedef struct allowed {
    const char *name;
    value_kind value;
} allowed;

/* ---- the C++ compiler: GCC and Clang ---- */

static const allowed cpu_options[] = {
    /* the preprocessor */
    {"-D", VALUE_TEXT},
    {"-U", VALUE_WORD},
    {"-I", VALUE_TEXT},
    {"-iquote", VALUE_TEXT},
    {"-isystem", VALUE_TEXT},
    {"-idirafter", VALUE_TEXT},
    {"-include", VALUE_TEXT},
    {"-imacros", VALUE_TEXT},
    {"--include=", VALUE_TEXT},
    {"--imacros=", VALUE_TEXT},
    {"--include-directory=", VALUE_TEXT},
    {"--define-macro=", VALUE_TEXT},
    {"--undefine-macro=", VALUE_WORD},
    {"-trigraphs", VALUE_NONE},
    {"-nostdinc", VALUE_NONE},
    {"-nostdinc++", VALUE_NONE},
    /* the language, warnings */
    {"-std=", VALUE_WORD},
    {"--std=", VALUE_WORD},
    {"-ansi", VALUE_NONE},
    {"-pedantic", VALUE_NONE},
    {"-pedantic-errors", VALUE_NONE},
    {"-w", VALUE_NONE},
    {"-stdlib=", VALUE_WORD},
    {"-pthread", VALUE_NONE},
    /* optimisation, debugging, libraries */
    {"-O", VALUE_MAYBE},
    {"--param=", VALUE_WORD},
    {"-g", VALUE_NONE},
    {"-g0", VALUE_NONE},
    {"-g1", VALUE_NONE},
    {"-g2", VALUE_NONE},
    {"-g3", VALUE_NONE},
    {"-ggdb", VALUE_NONE},
    {"-ggdb3", VALUE_NONE},
    {"-gdwarf-", VALUE_WORD},
    {"-gline-tables-only", VALUE_NONE},
    {"-static-libgcc", VALUE_NONE},
    {"-static-libstdc++", VALUE_NONE},
    {"-l", VALUE_WORD},
    {"-L", VALUE_TEXT}};

/* Behind "-f", also with "no-" before them. */
static const char *const cpu_features[] = {
    /* arithmetic */
    "associative-math", "approx-func", "cx-fortran-rules", "cx-limited-range", "fast-math",
    "finite-math-only", "float-store", "honor-infinities", "honor-nans", "math-errno",
    "protect-parens", "reciprocal-math", "rounding-math", "signaling-nans", "signed-zeros",
    "single-precision-constant", "trapping-math", "trapv", "unsafe-math-optimizations", "wrapv",
    "wrapv-pointer",
    /* what the compiler may assume, and do */
    "align-functions", "align-jumps", "align-labels", "align-loops", "allow-store-data-races",
    "builtin", "code-hoisting", "data-sections", "delete-null-pointer-checks", "early-inlining",
    "finite-loops", "function-sections", "gcse", "gcse-after-reload", "if-conversion",
    "if-conversion2", "inline", "inline-functions", "inline-functions-called-once",
    "inline-small-functions", "ipa-cp", "ipa-cp-clone", "ipa-pta", "ipa-ra", "loop-interchange",
    "loop-nest-optimize", "loop-unroll-and-jam", "merge-all-constants", "merge-constants",
    "omit-frame-pointer", "openmp", "openmp-simd", "optimize-sibling-calls", "partial-inlining",
    "peel-loops", "prefetch-loop-arrays", "rename-registers", "reorder-blocks", "reorder-functions",
    "schedule-insns", "schedule-insns2", "semantic-interposition", "slp-vectorize", "split-loops",
    "stack-clash-protection", "stack-protector", "stack-protector-all", "stack-protector-strong",
    "strict-aliasing", "strict-enums", "strict-overflow", "thread-jumps",
    "tree-loop-distribute-patterns", "tree-loop-distribution", "tree-loop-vectorize",
    "tree-partial-pre", "tree-pre", "tree-slp-vectorize", "tree-vectorize", "tree-vrp",
    "unroll-all-loops", "unroll-loops", "unswitch-loops", "unwind-tables",
    "asynchronous-unwind-tables", "vect-cost-model", "vectorize",
    /* the language, and how the compiler speaks */
    "access-control", "aligned-new", "char8_t", "common", "concepts", "coroutines",
    "caret-diagnostics", "color-diagnostics", "diagnostics-color", "diagnostics-show-caret",
    "diagnostics-show-option", "elide-constructors", "exceptions", "freestanding", "gnu-keywords",
    "gnu-unique", "hosted", "ident", "ms-extensions", "operator-names", "permissive",
    "pretty-templates", "rtti", "short-enums", "short-wchar", "show-column", "signed-char",
    "sized-deallocation", "threadsafe-statics", "unsigned-char", "visibility-inlines-hidden"};

/* Behind "-f", with a word behind "=". */
static const char *const cpu_settings[] = {"abi-version",
                                           "align-functions",
                                           "align-jumps",
                                           "align-labels",
                                           "align-loops",
                                           "bracket-depth",
                                           "cf-protection",
                                           "constexpr-cache-depth",
                                           "constexpr-depth",
                                           "constexpr-loop-limit",
                                           "constexpr-ops-limit",
                                           "constexpr-steps",
                                           "denormal-fp-math",
                                           "diagnostics-color",
                                           "error-limit",
                                           "excess-precision",
                                           "fp-contract",
                                           "fp-model",
                                           "inline-limit",
                                           "max-errors",
                                           "message-length",
                                           "sanitize",
                                           "simd-cost-model",
                                           "template-backtrace-limit",
                                           "template-depth",
                                           "tls-model",
                                           "veclib",
                                           "vect-cost-model",
                                           "visibility"};

/* Behind "-m", with a word behind "=". Without one, all but those that speak to LLVM. */
static const char *const machine_settings[] = {"abi",
                                               "arch",
                                               "branch-cost",
                                               "cmodel",
                                               "cpu",
                                               "float-abi",
                                               "fpmath",
                                               "fpu",
                                               "memcpy-strategy",
                                               "prefer-vector-width",
                                               "recip",
                                               "stack-alignment",
                                               "sve-vector-bits",
                                               "tls-dialect",
                                               "tune",
                                               "veclibabi"};

/* ---- NVRTC ---- behind "-" or "--" */

static const allowed cuda_options[] = {
    {"D", VALUE_TEXT},
    {"U", VALUE_WORD},
    {"I", VALUE_TEXT},
    {"include=", VALUE_TEXT},
    {"define-macro=", VALUE_TEXT},
    {"undefine-macro=", VALUE_WORD},
    {"include-path=", VALUE_TEXT},
    {"pre-include=", VALUE_TEXT},
    {"std=", VALUE_WORD},
    {"G", VALUE_NONE},
    {"device-debug", VALUE_NONE},
    {"lineinfo", VALUE_NONE},
    {"generate-line-info", VALUE_NONE},
    {"dopt=", VALUE_WORD},
    {"dopt", VALUE_NONE},
    {"maxrregcount=", VALUE_WORD},
    {"ftz=", VALUE_WORD},
    {"prec-sqrt=", VALUE_WORD},
    {"prec-div=", VALUE_WORD},
    {"fmad=", VALUE_WORD},
    {"use_fast_math", VALUE_NONE},
    {"extra-device-vectorization", VALUE_NONE},
    {"Ofast-compile=", VALUE_WORD},
    {"Ofc=", VALUE_WORD},
    {"device-as-default-execution-space", VALUE_NONE},
    {"default-device", VALUE_NONE},
    {"device-int128", VALUE_NONE},
    {"device-float128", VALUE_NONE},
    {"restrict", VALUE_NONE},
    {"builtin-move-forward=", VALUE_WORD},
    {"builtin-initializer-list=", VALUE_WORD},
    {"device-stack-protector=", VALUE_WORD},
    {"device-syntax-only", VALUE_NONE},
    {"frandom-seed=", VALUE_WORD},
    {"jump-table-density=", VALUE_WORD},
    {"split-compile=", VALUE_WORD},
    {"modify-stack-limit=", VALUE_WORD},
    {"minimal", VALUE_NONE},
    {"no-source-include", VALUE_NONE},
    {"no-cache", VALUE_NONE},
    {"optimization-info=", VALUE_WORD},
    {"w", VALUE_NONE},
    {"disable-warnings", VALUE_NONE},
    {"Wreorder", VALUE_NONE},
    {"err-no", VALUE_NONE},
    {"no-err-no", VALUE_NONE},
    {"display-error-number", VALUE_NONE},
    {"no-display-error-number", VALUE_NONE},
    {"diag-error=", VALUE_WORD},
    {"diag-suppress=", VALUE_WORD},
    {"diag-warn=", VALUE_WORD},
    {"brief-diagnostics=", VALUE_WORD},
    {"brief-diag=", VALUE_WORD},
    {"fdevice-syntax-only", VALUE_NONE},
    /* What is behind these goes to the assembler, which has options that write files. */
    {"ptxas-options=-O", VALUE_WORD},
    {"ptxas-options=--opt-level=", VALUE_WORD},
    {"ptxas-options=-v", VALUE_NONE},
    {"ptxas-options=--verbose", VALUE_NONE},
    {"ptxas-options=--warn-", VALUE_WORD},
    {"ptxas-options=-warn-", VALUE_WORD},
    {"ptxas-options=-dlcm=", VALUE_WORD},
    {"ptxas-options=-dscm=", VALUE_WORD},
    {"ptxas-options=--def-load-cache=", VALUE_WORD},
    {"ptxas-options=--def-store-cache=", VALUE_WORD},
    {"ptxas-options=--allow-expensive-optimizations=", VALUE_WORD}};

/* ---- asking the lists ---- */

static bool is_word(const char *text)
{
    static const char marks[] = "._+,-=";
    size_t k = 0;

    for (; text[k] != '\0'; k++) {
        const char c = text[k];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            strchr(marks, c) == NULL)
            return false;
    }
    return k > 0;
}

static bool is_value(const char *text, value_kind kind)
{
    switch (kind) {
    case VALUE_NONE:
        return text[0] == '\0';
    case VALUE_WORD:
        return is_word(text);
    case VALUE_MAYBE:
        return text[0] == '\0' || is_word(text);
    case VALUE_TEXT:
        return text[0] != '\0';
    }
    return false;
}

static bool is_listed(const char *option, const allowed *list, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const size_t width = strlen(list[k].name);
        if (strncmp(option, list[k].name, width) == 0 && is_value(option + width, list[k].value))
            return true;
    }
    return false;
}

/* Whether the first `bytes` bytes are one of some names. */
static bool is_named(const char *text, size_t bytes, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (kiln__same_word(text, bytes, names[k]))
            return true;
    return false;
}

/* "NAME=word" for one of some names. */
static bool is_setting(const char *text, const char *const *names, size_t count)
{
    const size_t bytes = strcspn(text, "=");

    return text[bytes] == '=' && is_named(text, bytes, names, count) && is_word(text + bytes + 1);
}

static bool is_feature(const char *name)
{
    const char *plain = strncmp(name, "no-", 3) == 0 ? name + 3 : name;

    return is_named(plain, strlen(plain), cpu_features, KILN_COUNT_OF(cpu_features)) ||
           is_setting(name, cpu_settings, KILN_COUNT_OF(cpu_settings));
}

/* Instruction sets and the like: names without a value; new ones come with each processor. */
static bool is_machine(const char *name)
{
    if (strchr(name, '=') != NULL)
        return is_setting(name, machine_settings, KILN_COUNT_OF(machine_settings));
    return strncmp(name, "ll", 2) != 0 && strncmp(name, "ml", 2) != 0 && is_word(name) &&
           strchr(name, ',') == NULL;
}

/* "-Wl," and its like speak to other programs: they have a comma. */
static bool is_warning(const char *name)
{
    return is_word(name) && strchr(name, ',') == NULL;
}

static bool is_allowed_for_cpu(const char *option)
{
    if (is_listed(option, cpu_options, KILN_COUNT_OF(cpu_options)))
        return true;
    if (option[0] != '-' || option[1] == '\0')
        return false;
    switch (option[1]) {
    case 'f':
        return is_feature(option + 2);
    case 'm':
        return is_machine(option + 2);
    case 'W':
        return is_warning(option + 2);
    default:
        return false;
    }
}

static bool is_allowed_for_cuda(const char *option)
{
    if (option[0] != '-')
        return false;
    return is_listed(option + (option[1] == '-' ? 2 : 1), cuda_options,
                     KILN_COUNT_OF(cuda_options));
}

bool kiln__option_allowed(kiln_backend backend, const char *option)
{
    return backend == KILN_BACKEND_CUDA ? is_allowed_for_cuda(option) : is_allowed_for_cpu(option);
}

/* One definition serves both devices: the C++ compiler is spared what only NVRTC knows. */
static bool may_be_given(kiln_backend backend, const char *option)
{
    return kiln__option_allowed(backend, option) || is_allowed_for_cuda(option);
}

kiln_status kiln__options_check(kiln_backend backend, const char *const *options, size_t count,
                                kiln_error *err)
{
    for (size_t k = 0; k < count; k++)
        if (!may_be_given(backend, options[k]))
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "compiler option \"%.100s\" is not allowed: docs/security.md lists "
                              "those that are; each begins with '-' and holds its value, and none "
                              "starts a program or writes a file",
                              options[k]);
    return KILN_OK;
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
