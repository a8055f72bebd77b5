/*
 * include.c - which files a kernel may be made from, and their texts.
 *
 *     snippets, options  >  [#include, -include, -I]  >  every file that each name may mean
 *
 * Rule 1: each directive is seen that a compiler would see. Where that cannot be promised the inputs
 *         are incomplete, and the binary stays in memory. The C++ compiler is asked as well, when it
 *         has run (kiln__inputs_cover); NVRTC does not tell.
 * Rule 2: a name stands for the texts themselves. A hash in their place could be made to collide.
 * Rule 3: what the preprocessor knows and no file holds (the time, whether a file exists) and what
 *         an assembler reads leaves the inputs incomplete, wherever it is spelled.
 */
#define _GNU_SOURCE
#include "jit/inputs.h"

enum { INCLUDE_DEPTH_MAX = 32 };

/* The state of following the includes of one source. */
typedef struct include_scan {
    const kiln__definition *def;
    kiln_backend backend;
    kiln__buf *key;
    kiln__inputs *in;
    bool names_paths; /* some text asks for the name of its file */
} include_scan;

static void scan_text(include_scan *s, const char *text, const char *folder, int depth);

/* ---- files ---- */

/* Fold the file in; false when it cannot be read. Each path counts once. */
static bool scan_file(include_scan *s, const char *path, int depth)
{
    char *text = NULL, *folder = NULL, *slash = NULL;
    size_t bytes = 0;

    if (kiln__input_known(s->in, path))
        return true;
    if (!kiln__input_read(s->in, path, &text, &bytes))
        return false;
    kiln__buf_printf(s->key, "file %zu\n", bytes);
    kiln__buf_put(s->key, text, bytes);
    s->in->complete &= strlen(text) == bytes; /* what stands behind a NUL would not be scanned */

    folder = kiln__strdup(path);
    slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    if (folder != NULL)
        scan_text(s, text, slash != NULL ? folder : ".", depth + 1);
    else
        s->in->complete = false;
    kiln__free(folder);
    kiln__free(text);
    return true;
}

/* Fold in what `name` means in the nth folder of a search, and that it was there. */
static bool scan_in_folder(include_scan *s, size_t nth, const char *folder, const char *name,
                           int depth)
{
    kiln__buf path = KILN__BUF_INIT;
    kiln__buf_printf(&path, "%s/%s", folder, name);
    bool found = !path.failed && scan_file(s, path.text, depth);
    kiln__buf_clear(&path);
    if (found)
        kiln__buf_printf(s->key, "in %zu\n", nth);
    return found;
}

/* Options that hold a folder of headers, or a file that is read before the source. */
static const char *const folder_options[] = {
    "-I", "--include-path=", "--include-directory=", "-iquote", "-isystem", "-idirafter",
    "-cxx-isystem",
};
static const char *const file_options[] = {
    "-include=", "-include", "--include=", "-imacros", "--imacros=", "--pre-include=",
    "-pre-include=",
};

/* Options that hold a macro's name and text. */
static const char *const macro_options[] = {"-D", "--define-macro="};

/* What the option holds behind one of `names`; NULL when it is none of them. */
static const char *held_by(const char *option, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (kiln__starts_with(option, names[k]))
            return option + strlen(names[k]);
    return NULL;
}

/* A name is looked for in all folders, and every file it might mean is folded in: which of them is
 * taken depends on the compiler, the spelling of the options and the form of the #include. */
static bool scan_search(include_scan *s, const char *folder, const char *name, int depth)
{
    size_t nth = 0;
    bool found = folder != NULL && scan_in_folder(s, nth, folder, name, depth);

    for (size_t o = 0; o < s->def->option_count; o++) {
        const char *option = s->def->options[o];
        const char *held = held_by(option, folder_options, KILN_COUNT_OF(folder_options));
        if (held != NULL && *held == '\0' && o + 1 < s->def->option_count)
            held = s->def->options[o + 1];
        if (held != NULL)
            found |= scan_in_folder(s, ++nth, held, name, depth);
    }
    const char *const *folders = kiln__compiler_include_dirs(s->backend);
    for (; folders != NULL && *folders != NULL; folders++)
        found |= scan_in_folder(s, ++nth, *folders, name, depth);
    return found;
}

static bool scan_name(include_scan *s, const char *folder, const char *name, int depth)
{
    if (depth >= INCLUDE_DEPTH_MAX)
        return false;
    return name[0] == '/' ? scan_file(s, name, depth) : scan_search(s, folder, name, depth);
}

/* ---- options ---- */

/* Options by which a binary depends on what no key holds: on files, libraries, this machine. NVRTC
 * has none. */
static bool is_beyond_keys(kiln_backend backend, const char *option)
{
    static const char *const prefix[] = {
        "-Wp,", "-Wl,", "-Wa,", "-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-L", "-T",
        "-iprefix", "-iwithprefix", "-isysroot", "--sysroot", "--include-prefix",
        "--include-with-prefix", "-include-p", "-fprofile-", "-fauto-profile", "-fmodule",
        "-fbranch-probabilities", "-fsanitize-ignorelist", "-fsanitize-blacklist", "--config",
    };
    static const char *const system[] = {"-lm", "-lc", "-lgcc", "-lpthread", "-ldl", "-lrt"};
    const char *value = strchr(option, '=');

    if (backend != KILN_BACKEND_CPU)
        return false;
    if (strncmp(option, "-m", 2) == 0 && value != NULL && strcmp(value, "=native") == 0)
        return true;
    for (size_t k = 0; k < KILN_COUNT_OF(system); k++)
        if (strcmp(option, system[k]) == 0)
            return false;
    /* An archive's members become part of the binary. */
    return (strncmp(option, "-l", 2) == 0 && strcmp(option, "-lineinfo") != 0) ||
           held_by(option, prefix, KILN_COUNT_OF(prefix)) != NULL;
}

static void scan_options(include_scan *s)
{
    for (size_t o = 0; o < s->def->option_count; o++) {
        const char *option = s->def->options[o];
        const char *file = held_by(option, file_options, KILN_COUNT_OF(file_options));
        const char *macro = held_by(option, macro_options, KILN_COUNT_OF(macro_options));
        if (macro != NULL && *macro == '\0' && o + 1 < s->def->option_count)
            macro = s->def->options[o + 1];
        if (is_beyond_keys(s->backend, option))
            s->in->complete = false;
        else if (file != NULL)
            s->in->complete &= scan_name(s, ".", file, 0);
        else if (macro != NULL)
            scan_text(s, macro, NULL, 0);
    }
}

/* ---- texts ---- Just enough of the preprocessor to see each directive that it would see. */

/* Behind line ends that a backslash takes away; GCC lets blanks stand between. */
static const char *unsplice(const char *p)
{
    while (*p == '\\') {
        const char *end = p + 1 + strspn(p + 1, " \t\v\f\r");
        if (*end != '\n')
            break;
        p = end + 1;
    }
    return p;
}

static const char *next(const char *p)
{
    return *p != '\0' ? unsplice(p + 1) : p;
}

/* Behind blanks and comments of one line; a comment may take it further down. */
static const char *skip_blanks(const char *p)
{
    for (;;) {
        const char *q = next(p);
        if (*p == ' ' || *p == '\t' || *p == '\v' || *p == '\f' || *p == '\r') {
            p = q;
        } else if (*p == '/' && *q == '*') {
            for (p = next(q); *p != '\0' && !(*p == '*' && *next(p) == '/');)
                p = next(p);
            p = next(next(p));
        } else if (*p == '/' && *q == '/') {
            while (*p != '\0' && *p != '\n')
                p = next(p);
        } else {
            return p;
        }
    }
}

static bool is_word_byte(char c)
{
    return kiln__is_word_byte(c) || c == '$' || (unsigned char)c >= 0x80;
}

/* The word at `p`, cut to fit; behind it. */
static const char *take_word(const char *p, char *word, size_t room)
{
    size_t length = 0;

    for (; is_word_byte(*p); p = next(p))
        if (length + 1 < room)
            word[length++] = *p;
    word[length] = '\0';
    return p;
}

/* Behind a literal; one that does not end ends with its line. */
static const char *skip_quoted(const char *p)
{
    const char quote = *p;

    for (p = next(p); *p != '\0' && *p != '\n'; p = next(p)) {
        if (*p == quote)
            return next(p);
        if (*p == '\\' && *next(p) != '\n')
            p = next(p);
    }
    return p;
}

/* Behind R"x(...)x", whose '"' is at `p`: nothing is spliced in there. */
static const char *skip_raw(const char *p)
{
    const size_t width = strcspn(p + 1, "( )\\\t\v\f\n");
    const char *end = p + 1 + width;

    if (*end != '(')
        return skip_quoted(p);
    while ((end = strchr(end + 1, ')')) != NULL)
        if (strncmp(end + 1, p + 1, width) == 0 && end[1 + width] == '"')
            return unsplice(end + 2 + width);
    return p + strlen(p);
}

/* Words by which a binary depends on more than texts. */
static void scan_word(include_scan *s, const char *word)
{
    static const char *const beyond[] = {"__TIME__",      "__DATE__",           "__TIMESTAMP__",
                                         "__has_include", "__has_include_next", "__has_embed"};
    static const char *const assembly[] = {"asm", "__asm", "__asm__"};
    static const char *const paths[] = {"__FILE__", "__BASE_FILE__", "__FILE_NAME__",
                                        "__builtin_FILE", "__builtin_FILE_NAME",
                                        "source_location"};

    for (size_t k = 0; k < KILN_COUNT_OF(beyond); k++)
        if (strcmp(word, beyond[k]) == 0)
            s->in->complete = false;
    /* Assembler directives such as .incbin read files; NVRTC's assembler has none of these. */
    for (size_t k = 0; s->backend == KILN_BACKEND_CPU && k < KILN_COUNT_OF(assembly); k++)
        if (strcmp(word, assembly[k]) == 0)
            s->in->complete = false;
    for (size_t k = 0; k < KILN_COUNT_OF(paths); k++)
        if (strcmp(word, paths[k]) == 0)
            s->names_paths = true;
}

/* The name of an #include at `p`; behind it. */
static const char *scan_include(include_scan *s, const char *p, const char *folder, int depth)
{
    const char close = *p == '<' ? '>' : *p == '"' ? '"' : '\0';
    kiln__buf name = KILN__BUF_INIT;
    bool found = false;

    if (close != '\0') {
        for (p = next(p); *p != '\0' && *p != '\n' && *p != close; p = next(p))
            kiln__buf_putc(&name, *p);
        /* A source that comes by a pipe stands in the working directory. */
        found = *p == close && !name.failed && name.length != 0 &&
                scan_name(s, close == '"' ? (folder != NULL ? folder : ".") : NULL, name.text,
                          depth);
    }
    s->in->complete &= found; /* also for `#include MACRO`, which is not followed */
    kiln__buf_clear(&name);
    while (*p != '\0' && *p != '\n')
        p = next(p);
    return p;
}

/* What stands behind the '#' of a directive. */
static const char *scan_directive(include_scan *s, const char *p, const char *folder, int depth)
{
    char word[24];

    p = take_word(skip_blanks(p), word, sizeof word);
    if (strcmp(word, "include") == 0 || strcmp(word, "import") == 0)
        return scan_include(s, skip_blanks(p), folder, depth);
    if (strcmp(word, "include_next") == 0 || strcmp(word, "embed") == 0)
        s->in->complete = false;
    return p;
}

static bool has_lone_return(const char *text)
{
    for (text = strchr(text, '\r'); text != NULL; text = strchr(text + 1, '\r'))
        if (text[1] != '\n')
            return true;
    return false;
}

static void scan_text(include_scan *s, const char *text, const char *folder, int depth)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8; compilers pass over it */
    const char *p = unsplice(strncmp(text, mark, 3) == 0 ? text + 3 : text);
    bool line_start = true;
    char word[24];

    /* A trigraph may be a '#' or a backslash; to some compilers a carriage return ends a line. */
    if (strstr(text, "?\?=") != NULL || strstr(text, "?\?/") != NULL || has_lone_return(text))
        s->in->complete = false;
    for (p = skip_blanks(p); *p != '\0'; p = skip_blanks(p)) {
        if (*p == '\n') {
            line_start = true;
            p = next(p);
            continue;
        }
        if (line_start && (*p == '#' || (*p == '%' && *next(p) == ':'))) {
            p = scan_directive(s, *p == '#' ? next(p) : next(next(p)), folder, depth);
        } else if (*p >= '0' && *p <= '9') {
            while (is_word_byte(*p) || *p == '.' || (*p == '\'' && is_word_byte(*next(p))))
                p = next(p);
        } else if (is_word_byte(*p)) {
            p = take_word(p, word, sizeof word);
            scan_word(s, word);
            if (*p == '"' && (strcmp(word, "R") == 0 || strcmp(word, "LR") == 0 ||
                              strcmp(word, "uR") == 0 || strcmp(word, "UR") == 0 ||
                              strcmp(word, "u8R") == 0))
                p = skip_raw(p);
        } else if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
        } else {
            p = next(p);
        }
        line_start = false;
    }
}

/* Follow what snippets and options name. The paths themselves stay out of the key, so that a cache
 * serves another machine, unless a text asks for them. */
void kiln__include_scan(const kiln__definition *def, kiln_backend backend, kiln__buf *key,
                        kiln__inputs *in)
{
    include_scan s = {.def = def, .backend = backend, .key = key, .in = in};

    scan_options(&s);
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        if (def->snippet[k] != NULL)
            scan_text(&s, def->snippet[k], NULL, 0);
    for (size_t k = 0; s.names_paths && k < in->count; k++)
        kiln__buf_printf(key, "path %s\n", in->items[k].path);
}
