/*
 * key.c - the bytes that name a compiled kernel.
 *
 * Rule: everything the binary depends on is in, nothing local to the machine is: no paths, no
 * times. An #include is followed, and the text of the file it means is hashed in.
 */
#include "jit/jit.h"

/* Raise when the meaning of a stored binary changes: calling convention, argument block. */
#define KEY_FORMAT "kiln-kernel 1\n"
#define ANY_FORMAT "kiln-kernel-of-any-compiler 1\n"

enum { INCLUDE_DEPTH_MAX = 32, INCLUDE_FILES_MAX = 512, INCLUDE_BYTES_MAX = 16 << 20 };

/* Names on the way through the includes of one source. */
typedef struct include_scan {
    const kiln__definition *def;
    kiln_backend backend;
    kiln__buf *key;
    uint64_t seen[INCLUDE_FILES_MAX]; /* hashes of paths already folded in */
    size_t seen_count;
    bool complete;
} include_scan;

static void scan_text(include_scan *s, const char *text, const char *folder, int depth);

/* Fold the file in; false when it cannot be read. Each path counts once. */
static bool scan_file(include_scan *s, const char *path, int depth)
{
    char *text = NULL;
    size_t bytes = 0;
    const uint64_t id = kiln__hash_64(path, strlen(path));

    for (size_t k = 0; k < s->seen_count; k++)
        if (s->seen[k] == id)
            return true;
    if (s->seen_count == INCLUDE_FILES_MAX ||
        kiln__read_file(path, INCLUDE_BYTES_MAX, &text, &bytes) != 0)
        return false;
    s->seen[s->seen_count++] = id;
    kiln__hash128 h = kiln__hash_128(text, bytes);
    kiln__buf_put(s->key, (const char *)&h, sizeof h);

    char *folder = kiln__strdup(path);
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    if (folder != NULL)
        scan_text(s, text, folder, depth + 1);
    else
        s->complete = false;
    kiln__free(folder);
    kiln__free(text);
    return true;
}

static bool scan_in_folder(include_scan *s, const char *folder, const char *name, int depth)
{
    kiln__buf path = KILN__BUF_INIT;
    kiln__buf_printf(&path, "%s/%s", folder, name);
    bool found = !path.failed && scan_file(s, path.text, depth);
    kiln__buf_clear(&path);
    return found;
}

/* The user's -I folders ("-Ifoo", "-I foo", "--include-path=foo"), then the compiler's own. */
static bool scan_search(include_scan *s, const char *name, int depth)
{
    static const char long_form[] = "--include-path=";
    for (size_t o = 0; o < s->def->option_count; o++) {
        const char *option = s->def->options[o], *folder = NULL;
        if (strcmp(option, "-I") == 0 && o + 1 < s->def->option_count)
            folder = s->def->options[o + 1];
        else if (strncmp(option, "-I", 2) == 0)
            folder = option + 2;
        else if (strncmp(option, long_form, sizeof long_form - 1) == 0)
            folder = option + sizeof long_form - 1;
        if (folder != NULL && scan_in_folder(s, folder, name, depth))
            return true;
    }
    const char *const *folders = kiln__compiler_include_dirs(s->backend);
    for (; folders != NULL && *folders != NULL; folders++)
        if (scan_in_folder(s, *folders, name, depth))
            return true;
    return false;
}

/* One `#include` whose name begins at `p` (after blanks). */
static void scan_include(include_scan *s, const char *p, const char *folder, int depth)
{
    const char close = *p == '<' ? '>' : *p == '"' ? '"' : '\0';
    const char *end = close != '\0' ? strchr(p + 1, close) : NULL;
    char *name = end != NULL ? kiln__strndup(p + 1, (size_t)(end - p - 1)) : NULL;
    bool found = false;

    if (name != NULL && depth < INCLUDE_DEPTH_MAX) {
        found = (close == '"' && folder != NULL && scan_in_folder(s, folder, name, depth)) ||
                (name[0] == '/' ? scan_file(s, name, depth) : scan_search(s, name, depth));
    }
    s->complete &= found; /* also for `#include MACRO`, which is not followed */
    kiln__free(name);
}

static void scan_text(include_scan *s, const char *text, const char *folder, int depth)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *p = line + strspn(line, " \t");
        if (*p != '#')
            continue;
        p += 1 + strspn(p + 1, " \t");
        if (strncmp(p, "include", 7) == 0)
            scan_include(s, p + 7 + strspn(p + 7, " \t"), folder, depth);
    }
}

/* What stands in a key whichever compiler there is. */
static bool put_request(const kiln__definition *def, const kiln__source *source,
                        const kiln__target *target, kiln__buf *key)
{
    include_scan scan = {.def = def, .backend = target->backend, .key = key, .complete = true};

    kiln__buf_printf(key, "target %s\n", target->name);
    for (size_t o = 0; o < def->option_count; o++)
        kiln__buf_printf(key, "option %zu %s\n", strlen(def->options[o]), def->options[o]);
    kiln__buf_printf(key, "source %zu\n", source->bytes);
    kiln__buf_put(key, source->text, source->bytes);
    if (def->includes)
        for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
            scan_text(&scan, def->snippet[k], NULL, 0);
    return scan.complete;
}

void kiln__jit_key(const kiln__definition *def, const kiln__source *source,
                   const kiln__target *target, kiln__buf *key, bool *cacheable_out)
{
    kiln__buf_puts(key, KEY_FORMAT);
    kiln__compiler_key(target->backend, key);
    *cacheable_out = put_request(def, source, target, key);
}

void kiln__jit_any_key(const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__buf *key)
{
    kiln__buf_puts(key, ANY_FORMAT);
    (void)put_request(def, source, target, key);
}
