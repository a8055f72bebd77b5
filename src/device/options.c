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

/* Names with blanks between, each with a value of one kind behind it. */
typedef struct allowed {
    value_kind value;
    const char *names;
} allowed;

/* ---- the C++ compiler: GCC and Clang ---- */

static const allowed cpu_options[] = {
    {VALUE_NONE,
     "-trigraphs -nostdinc -nostdinc++ -ansi -pedantic -pedantic-errors -w -pthread -g -g0 "
     "-g1 -g2 -g3 -ggdb -ggdb3 -gline-tables-only -static-libgcc -static-libstdc++"},
    {VALUE_WORD,
     "-U --undefine-macro= -std= --std= -stdlib= --param= -gdwarf- -l"},
    {VALUE_MAYBE,
     "-O"},
    {VALUE_TEXT,
     "-D -I -iquote -isystem -idirafter -include -imacros --include= --imacros= "
     "--include-directory= --define-macro= -L"},
};

/* Behind "-f", also with "no-" before them. */
static const char cpu_features[] =
    "associative-math approx-func cx-fortran-rules cx-limited-range fast-math "
    "finite-math-only float-store honor-infinities honor-nans math-errno protect-parens "
    "reciprocal-math rounding-math signaling-nans signed-zeros single-precision-constant "
    "trapping-math trapv unsafe-math-optimizations wrapv wrapv-pointer align-functions "
    "align-jumps align-labels align-loops allow-store-data-races builtin code-hoisting "
    "data-sections delete-null-pointer-checks early-inlining finite-loops function-sections "
    "gcse gcse-after-reload if-conversion if-conversion2 inline inline-functions "
    "inline-functions-called-once inline-small-functions ipa-cp ipa-cp-clone ipa-pta ipa-ra "
    "loop-interchange loop-nest-optimize loop-unroll-and-jam merge-all-constants "
    "merge-constants omit-frame-pointer openmp openmp-simd optimize-sibling-calls "
    "partial-inlining peel-loops prefetch-loop-arrays rename-registers reorder-blocks "
    "reorder-functions schedule-insns schedule-insns2 semantic-interposition slp-vectorize "
    "split-loops stack-clash-protection stack-protector stack-protector-all "
    "stack-protector-strong strict-aliasing strict-enums strict-overflow thread-jumps "
    "tree-loop-distribute-patterns tree-loop-distribution tree-loop-vectorize "
    "tree-partial-pre tree-pre tree-slp-vectorize tree-vectorize tree-vrp unroll-all-loops "
    "unroll-loops unswitch-loops unwind-tables asynchronous-unwind-tables vect-cost-model "
    "vectorize access-control aligned-new char8_t common concepts coroutines "
    "caret-diagnostics color-diagnostics diagnostics-color diagnostics-show-caret "
    "diagnostics-show-option elide-constructors exceptions freestanding gnu-keywords "
    "gnu-unique hosted ident ms-extensions operator-names permissive pretty-templates rtti "
    "short-enums short-wchar show-column signed-char sized-deallocation threadsafe-statics "
    "unsigned-char visibility-inlines-hidden";

/* Behind "-f", with a word behind "=". */
static const char cpu_settings[] =
    "abi-version align-functions align-jumps align-labels align-loops bracket-depth "
    "cf-protection constexpr-cache-depth constexpr-depth constexpr-loop-limit "
    "constexpr-ops-limit constexpr-steps denormal-fp-math diagnostics-color error-limit "
    "excess-precision fp-contract fp-model inline-limit max-errors message-length sanitize "
    "simd-cost-model template-backtrace-limit template-depth tls-model veclib "
    "vect-cost-model visibility";

/* Behind "-m", with a word behind "=". Without one, all but those that speak to LLVM. */
static const char machine_settings[] =
    "abi arch branch-cost cmodel cpu float-abi fpmath fpu memcpy-strategy "
    "prefer-vector-width recip stack-alignment sve-vector-bits tls-dialect tune veclibabi";

/* ---- NVRTC ---- behind "-" or "--". What is behind "ptxas-options=" goes to the assembler, which has
 * options that write files. */

static const allowed cuda_options[] = {
    {VALUE_NONE,
     "G device-debug lineinfo generate-line-info dopt use_fast_math "
     "extra-device-vectorization device-as-default-execution-space default-device "
     "device-int128 device-float128 restrict device-syntax-only minimal no-source-include "
     "no-cache w disable-warnings Wreorder err-no no-err-no display-error-number "
     "no-display-error-number fdevice-syntax-only ptxas-options=-v ptxas-options=--verbose "
     "dc device-c rdc=true rdc=false relocatable-device-code=true "
     "relocatable-device-code=false"},
    {VALUE_WORD,
     "U undefine-macro= std= dopt= maxrregcount= ftz= prec-sqrt= prec-div= fmad= "
     "Ofast-compile= Ofc= builtin-move-forward= builtin-initializer-list= "
     "device-stack-protector= frandom-seed= jump-table-density= split-compile= "
     "modify-stack-limit= optimization-info= diag-error= diag-suppress= diag-warn= "
     "brief-diagnostics= brief-diag= ptxas-options=-O ptxas-options=--opt-level= "
     "ptxas-options=--warn- ptxas-options=-warn- ptxas-options=-dlcm= ptxas-options=-dscm= "
     "ptxas-options=--def-load-cache= ptxas-options=--def-store-cache= "
     "ptxas-options=--allow-expensive-optimizations="},
    {VALUE_TEXT, "D I include= define-macro= include-path= pre-include="},
};

/* ---- asking the lists ---- */

static bool is_word(const char *text)
{
    size_t k = 0;

    for (; text[k] != '\0'; k++)
        if (!kiln__is_word_byte(text[k]) && strchr(".+,-=", text[k]) == NULL)
            return false;
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

/* Go on to the next of some names; `width` is 0 before the first. */
static bool next_name(const char **names, size_t *width)
{
    *names += *width + strspn(*names + *width, " ");
    *width = strcspn(*names, " ");
    return *width > 0;
}

static bool is_listed(const char *option, const allowed *list, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *name = list[k].names;
        for (size_t width = 0; next_name(&name, &width);)
            if (strncmp(option, name, width) == 0 && is_value(option + width, list[k].value))
                return true;
    }
    return false;
}

/* Whether the first `bytes` bytes are one of some names. */
static bool is_named(const char *text, size_t bytes, const char *names)
{
    for (size_t width = 0; next_name(&names, &width);)
        if (width == bytes && memcmp(text, names, bytes) == 0)
            return true;
    return false;
}

/* "NAME=word" for one of some names. */
static bool is_setting(const char *text, const char *names)
{
    const size_t bytes = strcspn(text, "=");

    return text[bytes] == '=' && is_named(text, bytes, names) && is_word(text + bytes + 1);
}

static bool is_feature(const char *name)
{
    const char *plain = strncmp(name, "no-", 3) == 0 ? name + 3 : name;

    return is_named(plain, strlen(plain), cpu_features) ||
           is_setting(name, cpu_settings);
}

/* Instruction sets and the like: names without a value; new ones come with each processor. */
static bool is_machine(const char *name)
{
    if (strchr(name, '=') != NULL)
        return is_setting(name, machine_settings);
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

bool kiln__options_relocatable(const char *const *options, size_t count)
{
    static const char *const on[] = {"dc", "device-c", "rdc=true", "relocatable-device-code=true"};
    static const char *const off[] = {"rdc=false", "relocatable-device-code=false"};
    bool relocatable = false;

    for (size_t k = 0; k < count; k++) {
        const char *const name = options[k] + strspn(options[k], "-");
        for (size_t n = 0; n < KILN_COUNT_OF(on); n++)
            relocatable |= strcmp(name, on[n]) == 0;
        for (size_t n = 0; n < KILN_COUNT_OF(off); n++)
            relocatable &= strcmp(name, off[n]) != 0;
    }
    return relocatable;
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
