/*
 * headers.c - the #includes of a definition.
 *
 *     copy of the texts > [blank what the prelude has] > scan > [read what is followed, for its words]
 *
 * Strings written for CuPy include its headers. What those hold the prelude has, and emits by the
 * words that are used, so such a line is blanked: no file is looked for, and no header is compiled.
 * Headers of the user's own are left to the compiler. But they may be written in the prelude's words
 * as well (complex, float16, CUDART_INF), so they are read here, as far as the options name their
 * folders.
 *
 * Rule 1: a line keeps its length, for carets.
 * Rule 2: what is read here decides which parts of the prelude are emitted, and nothing else; a
 *         file that cannot be read is the compiler's to refuse. The key holds the file's contents
 *         (src/jit/key.c).
 *
 * definition.c and words.c call this file. Test: test_module.
 */
#include "codegen/lexer.h"

/* Headers that are blanked wherever they are included. Folders of the compiler are not read: what
 * stands there knows nothing of the prelude. */
static const char *const built_in[] = {
    "cupy/complex.cuh",  "cupy/carray.cuh",       "cupy/atomics.cuh", "cupy/float16.cuh",
    "cupy/bfloat16.cuh", "cupy/math_constants.h", "math_constants.h", "thrust/complex.h",
    "cuComplex.h",
};

enum { FILES_MAX = 256, DEPTH_MAX = 16, FILE_BYTES_MAX = 1 << 20 };

/* The name in the #include whose `include` is token `k`; NULL for #include MACRO. What follows that
 * word is no token. */
static const char *included_name(const char *text, const kiln__tokens *t, size_t k, size_t *bytes)
{
    const char *name = text + t->items[k].at + t->items[k].bytes;

    name += strspn(name, " \t");
    if (*name != '<' && *name != '"')
        return NULL;
    const char *end = strchr(name + 1, *name == '<' ? '>' : '"');
    if (end == NULL || memchr(name, '\n', (size_t)(end - name)) != NULL)
        return NULL;
    *bytes = (size_t)(end - name) - 1;
    return name + 1;
}

/* Whether tokens k and k + 1 begin an #include. */
static bool begins_include(const kiln__tokens *t, size_t k)
{
    const uint32_t line = t->items[k].directive;

    return line != 0 && kiln__token_is(t, k, "#") && t->items[k + 1].directive == line &&
           (k == 0 || t->items[k - 1].directive != line) && kiln__token_is(t, k + 1, "include");
}

kiln_status kiln__includes_blank(char *text, kiln_error *err)
{
    kiln__tokens t = {.items = NULL};

    if (strstr(text, "include") == NULL)
        return KILN_OK;
    kiln__lex(text, KILN__LEX_CPP, &t);
    for (size_t k = 0; !t.failed && k + 1 < t.count; k++) {
        size_t bytes = 0;
        const char *name = begins_include(&t, k) ? included_name(text, &t, k + 1, &bytes) : NULL;

        for (size_t h = 0; name != NULL && h < KILN_COUNT_OF(built_in); h++)
            if (strlen(built_in[h]) == bytes && memcmp(built_in[h], name, bytes) == 0)
                memset(text + t.items[k].at, ' ',
                       (size_t)(name + bytes + 1 - text) - t.items[k].at);
    }
    const bool failed = t.failed;
    kiln__tokens_clear(&t);
    return failed ? kiln__fail_memory(err, strlen(text)) : KILN_OK;
}

/* ---- files ---- */

static void follow(const kiln__definition *def, const char *text, const kiln__tokens *t,
                   const char *folder, int depth, kiln__headers *headers);

/* Read a file and those that it includes. False when it is not there. */
static bool read_file(const kiln__definition *def, const char *path, int depth,
                      kiln__headers *headers)
{
    char *text = NULL;
    size_t bytes = 0;

    if (kiln__map_find(&headers->seen, path, strlen(path)) != NULL)
        return true;
    if (headers->count == FILES_MAX ||
        kiln__read_regular_file(path, FILE_BYTES_MAX, &text, &bytes) != 0)
        return false;
    char *folder = kiln__strdup(path);

    if (folder == NULL || kiln__map_enter(&headers->seen, path, strlen(path), NULL) == NULL ||
        !kiln__reserve(&headers->file, headers->count, &headers->room, sizeof *headers->file))
        headers->failed = true;
    if (!headers->failed) {
        const size_t own = headers->count++;
        char *slash = strrchr(folder, '/');

        headers->file[own] = (kiln__tokens){.items = NULL};
        kiln__lex(text, KILN__LEX_CPP, &headers->file[own]);
        headers->failed = headers->file[own].failed;
        if (slash != NULL)
            *slash = '\0';
        /* A copy: what it includes moves the list. */
        const kiln__tokens tokens = headers->file[own];
        if (!headers->failed)
            follow(def, text, &tokens, slash != NULL ? folder : ".", depth + 1, headers);
    }
    kiln__free(folder);
    kiln__free(text);
    return true;
}

static bool read_in(const kiln__definition *def, const char *folder, const char *name, size_t bytes,
                    int depth, kiln__headers *headers)
{
    kiln__buf path = KILN__BUF_INIT;

    kiln__buf_printf(&path, "%s/%.*s", folder, (int)bytes, name);
    const bool found = !path.failed && read_file(def, path.text, depth, headers);
    kiln__buf_clear(&path);
    return found;
}

/* The folder that option `*k` names, or the option after it; NULL when it names none. */
static const char *folder_of(const kiln__definition *def, size_t *k)
{
    static const char *const names[] = {"-I", "--include-path=", "-isystem"};

    for (size_t n = 0; n < KILN_COUNT_OF(names); n++) {
        const char *option = def->options[*k];
        if (strncmp(option, names[n], strlen(names[n])) != 0)
            continue;
        option += strlen(names[n]);
        return *option != '\0' ? option : *k + 1 < def->option_count ? def->options[++*k] : NULL;
    }
    return NULL;
}

static void follow(const kiln__definition *def, const char *text, const kiln__tokens *t,
                   const char *folder, int depth, kiln__headers *headers)
{
    if (depth > DEPTH_MAX)
        return;
    for (size_t k = 0; k + 1 < t->count; k++) {
        size_t bytes = 0;
        const char *name = begins_include(t, k) ? included_name(text, t, k + 1, &bytes) : NULL;
        bool found = name == NULL || bytes == 0 || headers->failed;

        if (!found && depth > 0)
            kiln__buf_printf(&headers->included, "<%.*s>", (int)bytes, name);
        if (!found && name[0] == '/') {
            found = read_in(def, "", name + 1, bytes - 1, depth, headers);
            continue;
        }
        if (!found && name[-1] == '"')
            found = read_in(def, folder, name, bytes, depth, headers);
        for (size_t o = 0; o < def->option_count && !found; o++) {
            const char *in = folder_of(def, &o);
            found = in != NULL && read_in(def, in, name, bytes, depth, headers);
        }
    }
}

kiln_status kiln__headers_read(const kiln__definition *def, const kiln__scan *scan,
                               kiln__headers *out, kiln_error *err)
{
    for (int s = 0; s < KILN__SNIPPET_COUNT; s++)
        if (scan->text[s].includes)
            follow(def, def->snippet[s], &scan->text[s], ".", 0, out);
    return out->failed ? kiln__fail(err, KILN_ERR_NO_MEMORY,
                                    "no memory to read the headers of kernel \"%s\"", def->name)
                       : KILN_OK;
}

void kiln__headers_clear(kiln__headers *headers)
{
    for (size_t k = 0; k < headers->count; k++)
        kiln__tokens_clear(&headers->file[k]);
    kiln__free(headers->file);
    kiln__map_clear(&headers->seen, NULL);
    kiln__buf_clear(&headers->included);
    *headers = (kiln__headers){.file = NULL};
}
