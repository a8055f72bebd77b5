/*
 * follow.c - the files that a kernel may be made from, for its key.
 *
 *     snippets, options  >  [#include, -include, -I]  >  every file that each name may mean
 *
 * The texts are read as a preprocessor would read them that takes both sides of every #if. So the
 * scan meets whatever the compiler meets, and usually more.
 *
 * Rule 1: each answer of the file system goes into the key, in the order of the questions: for a
 *         file that is found its folder's number and the digest of its text, and an end behind each
 *         name. So a name that leads to no file is part of the key like one that does.
 * Rule 2: a digest that can be forged (XXH3) must not stand for a text. SHA-256 may.
 * Rule 3: where the key cannot hold what the compiler may see, the inputs are incomplete, say why
 *         (kiln__inputs_refuse), and the binary stays in memory: the time, a name that a macro
 *         makes, what an assembler reads, and on the cpu device a header of the compiler's own
 *         folders. The C++ compiler also lists the files that it has read (kiln__inputs_cover);
 *         NVRTC does not.
 *
 * key.c calls this file. Tests: test_module, test_elementwise_snippet.
 */
#define _GNU_SOURCE
#include "jit/inputs.h"

enum { INCLUDE_DEPTH_MAX = 64, WORD_MAX = 64 };

/* The state of following the includes of one source. */
typedef struct include_scan {
    const kiln__definition *def;
    kiln_backend backend;
    kiln__buf *key;
    kiln__inputs *in;
    const char *file; /* that is scanned; NULL: a snippet or an option */
    bool names_paths; /* some text asks for the name of its file */
    kiln__map askers; /* macros whose whole text is __has_include(x), for their argument x */
    kiln__map macros; /* all of them, and words that an asker was given: what is both is replaced */
} include_scan;

static void scan_text(include_scan *s, const char *text, const char *folder, int depth);

static const char *where(const include_scan *s)
{
    return s->file != NULL ? s->file : "its own text";
}

/* ---- files ---- */

/* Fold the file in; false when it cannot be read. Each path counts once. */
static bool scan_file(include_scan *s, const char *path, int depth)
{
    const char *const outer = s->file;
    char *text = NULL;
    char digest[65];
    size_t bytes = 0;

    if (kiln__input_known(s->in, path))
        return true;
    if (!kiln__input_read(s->in, path, &text, &bytes))
        return false;
    kiln__digest(text, bytes, digest);
    kiln__buf_printf(s->key, "file %s\n", digest);
    if (strlen(text) != bytes) /* what stands behind a NUL would not be scanned */
        kiln__inputs_refuse(s->in, "%s holds a NUL", path);

    char *folder = kiln__strdup(path);
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    s->file = path;
    if (folder != NULL)
        scan_text(s, text, slash != NULL ? folder : ".", depth + 1);
    else
        kiln__inputs_refuse(s->in, "memory ran out");
    s->file = outer;
    kiln__free(folder);
    kiln__free(text);
    return true;
}

/* Whether the nth folder of a search has a file of this name, which the key tells then. An `ask`
 * wants no more than that; else the file is folded in. */
static bool scan_in_folder(include_scan *s, size_t nth, const char *folder, const char *name,
                           bool ask, int depth)
{
    kiln__buf path = KILN__BUF_INIT;
    struct stat st;
    bool found = false;

    kiln__buf_printf(&path, "%s/%s", folder, name);
    if (!path.failed)
        found = ask ? stat(path.text, &st) == 0 && !S_ISDIR(st.st_mode)
                    : scan_file(s, path.text, depth);
    kiln__buf_clear(&path);
    if (found)
        kiln__buf_printf(s->key, "in %zu\n", nth);
    return found;
}

/* Options that hold a folder of headers, or a file that is read before the source. */
static const char *const folder_options[] = {
    "I", "include-path=", "include-directory=", "iquote", "isystem", "idirafter", "cxx-isystem",
};
static const char *const file_options[] = {
    "include=", "include", "imacros=", "imacros", "pre-include=",
};

/* Options that hold a macro's name and text. */
static const char *const macro_options[] = {"D", "define-macro="};

/* What the option holds behind one of `names`, before which dashes stand; NULL when it is none of
 * them. */
static const char *held_by(const char *option, const char *const *names, size_t count)
{
    option += strspn(option, "-");
    for (size_t k = 0; k < count; k++)
        if (kiln__starts_with(option, names[k]))
            return option + strlen(names[k]);
    return NULL;
}

/* A name is looked for in all folders, and every file it might mean is folded in: which of them is
 * taken depends on the compiler, the spelling of the options and the form of the #include. */
static bool scan_name(include_scan *s, const char *folder, const char *name, bool ask, int depth)
{
    size_t nth = 0;
    bool found = false;

    if (depth >= INCLUDE_DEPTH_MAX)
        kiln__inputs_refuse(s->in, "`#include`s are more than %d deep in %s", INCLUDE_DEPTH_MAX,
                            where(s));
    else if (name[0] == '/')
        found = scan_in_folder(s, nth, "", name, ask, depth);
    else
        found = folder != NULL && scan_in_folder(s, nth, folder, name, ask, depth);

    const bool everywhere = depth < INCLUDE_DEPTH_MAX && name[0] != '/';
    for (size_t o = 0; everywhere && o < s->def->option_count; o++) {
        const char *option = s->def->options[o];
        const char *held = held_by(option, folder_options, KILN_COUNT_OF(folder_options));
        if (held != NULL && *held == '\0' && o + 1 < s->def->option_count)
            held = s->def->options[o + 1];
        if (held != NULL)
            found |= scan_in_folder(s, ++nth, held, name, ask, depth);
    }
    const char *const *folders = kiln__compiler_include_dirs(s->backend);
    for (; everywhere && folders != NULL && *folders != NULL; folders++)
        found |= scan_in_folder(s, ++nth, *folders, name, ask, depth);
    kiln__buf_puts(s->key, "end\n");
    return found;
}

/* What an #include, a __has_include or an option names. A name that leads nowhere is the compiler's
 * to refuse, if it gets there, unless the compiler may find a file where nobody has looked. */
static void scan_named(include_scan *s, const char *folder, const char *name, bool ask, int depth)
{
    if (!scan_name(s, folder, name, ask, depth) && kiln__compiler_looks_further(s->backend))
        kiln__inputs_refuse(s->in, "<%s>, which %s names, is in none of the folders of its options",
                            name, where(s));
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
static const char *take_word(const char *p, char *word, size_t capacity)
{
    size_t length = 0;

    for (; is_word_byte(*p); p = next(p))
        if (length + 1 < capacity)
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
    static const char *const beyond[] = {"__TIME__", "__DATE__", "__TIMESTAMP__",
                                         "__has_include_next", "__has_embed"};
    static const char *const assembly[] = {"asm", "__asm", "__asm__"};
    static const char *const paths[] = {"__FILE__", "__BASE_FILE__", "__FILE_NAME__",
                                        "__builtin_FILE", "__builtin_FILE_NAME",
                                        "source_location"};

    for (size_t k = 0; k < KILN_COUNT_OF(beyond); k++)
        if (strcmp(word, beyond[k]) == 0)
            kiln__inputs_refuse(s->in, "no key holds the value of `%s` in %s", word, where(s));
    /* Assembler directives such as .incbin read files; NVRTC's assembler has none of these. */
    for (size_t k = 0; s->backend == KILN_BACKEND_CPU && k < KILN_COUNT_OF(assembly); k++)
        if (strcmp(word, assembly[k]) == 0)
            kiln__inputs_refuse(s->in, "`%s` in %s may read files", word, where(s));
    for (size_t k = 0; k < KILN_COUNT_OF(paths); k++)
        if (strcmp(word, paths[k]) == 0)
            s->names_paths = true;
}

/* The name in <...> or "..." at `p`, and behind it; `name` stays empty where there is none. */
static const char *take_name(const char *p, kiln__buf *name)
{
    const char close = *p == '<' ? '>' : *p == '"' ? '"' : '\0';

    if (close == '\0')
        return p;
    for (p = next(p); *p != '\0' && *p != '\n' && *p != close; p = next(p))
        kiln__buf_putc(name, *p);
    if (*p != close || name->failed)
        kiln__buf_clear(name);
    return *p == close ? next(p) : p;
}

/* ---- __has_include ---- Libraries spell it through a macro, `#define HAS(x) __has_include(x)`, an
 * asker. What either is asked for must be a name in quotes or angles. */

static bool is_asker(const include_scan *s, const char *word)
{
    return strcmp(word, "__has_include") == 0 ||
           kiln__map_find(&s->askers, word, strlen(word)) != NULL;
}

/* Enter `word` as a macro's name, or as a part of a name that an asker was given. Words that are
 * both would be replaced before the question is asked. */
static void enter_word(include_scan *s, const char *word, bool macro)
{
    static char given[] = "given", defined[] = "defined";
    static const char *const predefined[] = {"linux", "unix", "i386"};
    void **use = kiln__map_enter(&s->macros, word, strlen(word), NULL);
    bool both = use == NULL || (*use != NULL && *use != (macro ? defined : given));

    for (size_t k = 0; !macro && k < KILN_COUNT_OF(predefined); k++)
        both |= strcmp(word, predefined[k]) == 0;
    if (use != NULL && *use == NULL)
        *use = macro ? defined : given;
    if (both)
        kiln__inputs_refuse(s->in, "`__has_include` in %s is asked for a name with the macro `%s`",
                            where(s), word);
}

/* At the '(' of a question: the file that it asks for; behind its name. */
static const char *scan_question(include_scan *s, const char *p, bool by_macro, const char *folder,
                                 int depth)
{
    kiln__buf name = KILN__BUF_INIT;
    char word[WORD_MAX];

    p = skip_blanks(next(p));
    const char close = *p;
    p = take_name(p, &name);
    if (name.length == 0 || name.failed)
        kiln__inputs_refuse(s->in, "`__has_include` in %s is not asked for a plain name", where(s));
    else
        scan_named(s, close == '"' ? (folder != NULL ? folder : ".") : NULL, name.text, true, depth);
    for (const char *at = name.text; by_macro && close == '<' && at != NULL && *at != '\0';) {
        const char *end = take_word(at, word, sizeof word);
        if (end != at)
            enter_word(s, word, false);
        at = end != at ? end : at + 1;
    }
    kiln__buf_clear(&name);
    return p;
}

/* ---- directives ---- */

/* The name of an #include at `p`; behind its line. */
static const char *scan_include(include_scan *s, const char *p, const char *folder, int depth)
{
    const bool quoted = *p == '"';
    kiln__buf name = KILN__BUF_INIT;

    p = take_name(p, &name);
    /* A source that comes by a pipe stands in the working directory. */
    if (name.length != 0 && !name.failed)
        scan_named(s, quoted ? (folder != NULL ? folder : ".") : NULL, name.text, false, depth);
    else
        kiln__inputs_refuse(s->in, "an `#include` in %s names no file, but a macro", where(s));
    kiln__buf_clear(&name);
    while (*p != '\0' && *p != '\n')
        p = next(p);
    return p;
}

/* Behind a #define's name, at `p`: an asker's text is passed over, other texts are not. */
static const char *scan_define(include_scan *s, const char *p)
{
    char name[WORD_MAX], parameter[WORD_MAX], word[WORD_MAX];

    const char *text = take_word(p, name, sizeof name);
    enter_word(s, name, true);
    if (*text != '(')
        return text;
    p = skip_blanks(take_word(skip_blanks(next(text)), parameter, sizeof parameter));
    p = *p == ')' ? skip_blanks(next(p)) : p;
    p = skip_blanks(take_word(p, word, sizeof word));
    if (strcmp(word, "__has_include") != 0 || *p != '(')
        return text;
    p = skip_blanks(take_word(skip_blanks(next(p)), word, sizeof word));
    p = *p == ')' ? skip_blanks(next(p)) : text;
    if (strcmp(word, parameter) != 0 || strlen(word) + 1 >= sizeof word ||
        (*p != '\n' && *p != '\0') ||
        kiln__map_enter(&s->askers, name, strlen(name), NULL) == NULL)
        return text;
    return p;
}

/* Whether the directive looks at names of macros, and not at what they stand for. */
static bool is_of_names(const char *directive)
{
    static const char *const known[] = {"ifdef", "ifndef", "elifdef", "elifndef", "undef"};

    for (size_t k = 0; k < KILN_COUNT_OF(known); k++)
        if (strcmp(directive, known[k]) == 0)
            return true;
    return false;
}

/* What stands behind the '#' of a directive. `*names`: the words behind it are names. */
static const char *scan_directive(include_scan *s, const char *p, const char *folder, int depth,
                                  bool *names)
{
    char word[WORD_MAX];

    p = skip_blanks(take_word(skip_blanks(p), word, sizeof word));
    *names = is_of_names(word);
    if (strcmp(word, "include") == 0 || strcmp(word, "import") == 0)
        return scan_include(s, p, folder, depth);
    if (strcmp(word, "define") == 0)
        return scan_define(s, p);
    if (strcmp(word, "include_next") == 0 || strcmp(word, "embed") == 0)
        kiln__inputs_refuse(s->in, "`#%s` in %s is not followed", word, where(s));
    return p;
}

/* The word at `p`, and a question that it asks; behind them. `names`: it stands for itself. */
static const char *scan_use(include_scan *s, const char *p, bool *names, const char *folder,
                            int depth)
{
    char word[WORD_MAX];

    p = take_word(p, word, sizeof word);
    scan_word(s, word);
    if (*p == '"' && (strcmp(word, "R") == 0 || strcmp(word, "LR") == 0 ||
                      strcmp(word, "uR") == 0 || strcmp(word, "UR") == 0 ||
                      strcmp(word, "u8R") == 0))
        return skip_raw(p);
    if (!*names && is_asker(s, word)) {
        p = skip_blanks(p);
        if (*p == '(')
            return scan_question(s, p, strcmp(word, "__has_include") != 0, folder, depth);
        kiln__inputs_refuse(s->in, "`%s` in %s is not asked for a plain name", word, where(s));
    }
    *names = strcmp(word, "defined") == 0;
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
    bool line_start = true, names = false;

    /* A trigraph may be a '#' or a backslash; to some compilers a carriage return ends a line. */
    if (strstr(text, "?\?=") != NULL || strstr(text, "?\?/") != NULL || has_lone_return(text))
        kiln__inputs_refuse(s->in, "trigraphs or carriage returns hide lines of %s", where(s));
    for (p = skip_blanks(p); *p != '\0'; p = skip_blanks(p)) {
        if (*p == '\n') {
            line_start = true;
            p = next(p);
            continue;
        }
        if (line_start)
            names = false;
        if (line_start && (*p == '#' || (*p == '%' && *next(p) == ':'))) {
            p = scan_directive(s, *p == '#' ? next(p) : next(next(p)), folder, depth, &names);
        } else if (*p >= '0' && *p <= '9') {
            while (is_word_byte(*p) || *p == '.' || (*p == '\'' && is_word_byte(*next(p))))
                p = next(p);
        } else if (is_word_byte(*p)) {
            p = scan_use(s, p, &names, folder, depth);
        } else if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
        } else {
            names &= *p == '('; /* defined(x) */
            p = next(p);
        }
        line_start = false;
    }
}

/* ---- options ---- */

/* Options by which a binary depends on what no key holds: on files, libraries, this machine. NVRTC
 * has none. */
static bool is_beyond_keys(kiln_backend backend, const char *option)
{
    static const char *const prefix[] = {
        "Wp,", "Wl,", "Wa,", "Xclang", "Xlinker", "Xassembler", "Xpreprocessor", "L", "T",
        "iprefix", "iwithprefix", "isysroot", "sysroot", "include-prefix",
        "include-with-prefix", "include-p", "fprofile-", "fauto-profile", "fmodule",
        "fbranch-probabilities", "fsanitize-ignorelist", "fsanitize-blacklist", "config",
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

/* "NAME=text", "NAME(x)=text" or "NAME", as a line of its own would define it. */
static void scan_macro_option(include_scan *s, const char *macro)
{
    const size_t length = strcspn(macro, "=");
    kiln__buf line = KILN__BUF_INIT;

    kiln__buf_printf(&line, "#define %.*s %s\n", (int)length, macro,
                     macro[length] == '=' ? macro + length + 1 : "");
    if (line.failed)
        kiln__inputs_refuse(s->in, "memory ran out");
    else
        scan_text(s, line.text, NULL, 0);
    kiln__buf_clear(&line);
}

static void scan_options(include_scan *s)
{
    for (size_t o = 0; o < s->def->option_count; o++) {
        const char *option = s->def->options[o];
        const char *file = held_by(option, file_options, KILN_COUNT_OF(file_options));
        const char *macro = held_by(option, macro_options, KILN_COUNT_OF(macro_options));
        const char *next_option = o + 1 < s->def->option_count ? s->def->options[o + 1] : "";
        file = file != NULL && *file == '\0' ? next_option : file;
        macro = macro != NULL && *macro == '\0' ? next_option : macro;
        if (is_beyond_keys(s->backend, option))
            kiln__inputs_refuse(s->in, "what option \"%s\" brings in is in no key", option);
        else if (file != NULL && held_by(option, folder_options,
                                         KILN_COUNT_OF(folder_options)) == NULL)
            scan_named(s, ".", file, false, 0);
        else if (macro != NULL)
            scan_macro_option(s, macro);
    }
}

/* Follow what snippets and options name. The paths themselves stay out of the key, so that a cache
 * serves another machine, unless a text asks for them. */
void kiln__inputs_follow(const kiln__definition *def, kiln_backend backend, kiln__buf *key,
                        kiln__inputs *in)
{
    include_scan s = {.def = def, .backend = backend, .key = key, .in = in};

    scan_options(&s);
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        if (def->snippet[k] != NULL)
            scan_text(&s, def->snippet[k], NULL, 0);
    kiln__map_clear(&s.askers, NULL);
    kiln__map_clear(&s.macros, NULL);
    for (size_t k = 0; s.names_paths && k < in->count; k++)
        kiln__buf_printf(key, "path %s\n", in->items[k].path);
}
