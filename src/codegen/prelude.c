/*
 * prelude.c - choose the parts of templates/prelude/ that a kernel needs.
 *
 * A section is taken when a dtype, the layout or a word of a snippet calls for it, or when a taken
 * section needs it. What is not needed is not emitted: front-end time grows with every line.
 */
#include "codegen/prelude.h"

#include "codegen/templates.h"

enum {
    KILN__ON_CUDA = 1,
    KILN__ON_CPU = 2,
    KILN__ON_BOTH = 3
};

typedef struct section {
    const char *name;
    int backends;
    const char *file;     /* below templates/prelude/; after '=' the text itself */
    const char *needs;    /* names of other sections, space separated */
    const char *triggers; /* terms, space separated; see sections.def */
} section;

static const section sections[] = {
#define SECTION(name, backends, file, needs, triggers) {#name, backends, file, needs, triggers},
#include "../../templates/prelude/sections.def"
#undef SECTION
};

enum { SECTION_COUNT = KILN_COUNT_OF(sections) };

/* Next word of a space-separated list; false at its end. */
static bool next_word(const char **list, const char **word, size_t *bytes)
{
    while (**list == ' ')
        (*list)++;
    *word = *list;
    while (**list != '\0' && **list != ' ')
        (*list)++;
    *bytes = (size_t)(*list - *word);
    return *bytes != 0;
}

static bool available(size_t s, const kiln__variant *v)
{
    return (sections[s].backends & (v->backend == KILN_BACKEND_CUDA ? KILN__ON_CUDA : KILN__ON_CPU)) !=
           0;
}

/* Take every section of this name, and what it needs. */
static void take(bool *taken, const kiln__variant *v, const char *name, size_t bytes)
{
    for (size_t s = 0; s < SECTION_COUNT; s++) {
        if (taken[s] || !available(s, v) || strlen(sections[s].name) != bytes ||
            memcmp(sections[s].name, name, bytes) != 0)
            continue;
        const char *list = sections[s].needs, *word;
        size_t word_bytes;
        taken[s] = true;
        while (next_word(&list, &word, &word_bytes))
            take(taken, v, word, word_bytes);
    }
}

static void take_name(bool *taken, const kiln__variant *v, const char *name)
{
    take(taken, v, name, strlen(name));
}

/* Whether a section of this name is taken. */
static bool has_section(const bool *taken, const char *name)
{
    for (size_t s = 0; s < SECTION_COUNT; s++)
        if (taken[s] && strcmp(sections[s].name, name) == 0)
            return true;
    return false;
}

/* One term of a trigger list: atoms joined by '&', all of which must hold. */
static bool term_holds(const bool *taken, const kiln__definition *def, const char *term,
                       size_t bytes)
{
    char text[64];
    if (bytes >= sizeof text)
        return false;
    memcpy(text, term, bytes);
    text[bytes] = '\0';
    for (char *atom = text, *next; atom != NULL; atom = next) {
        next = strchr(atom, '&');
        if (next != NULL)
            *next++ = '\0';
        if (atom[0] == '@' ? !has_section(taken, atom + 1) : !kiln__definition_uses(def, atom))
            return false;
    }
    return true;
}

/* Whether the preamble includes a header of this name, in whatever folder. */
static bool includes(const kiln__definition *def, const char *header, size_t bytes)
{
    const char *text = def->snippet[KILN__SNIPPET_PREAMBLE];
    if (!def->includes)
        return false;
    for (; *text != '\0'; text++)
        if ((*text == '<' || *text == '"' || *text == '/') &&
            strncmp(text + 1, header, bytes) == 0 &&
            (text[1 + bytes] == '>' || text[1 + bytes] == '"'))
            return true;
    return false;
}

static bool triggered(const bool *taken, const section *s, const kiln__definition *def)
{
    const char *list = s->triggers, *term;
    size_t bytes;
    bool found = false;
    while (next_word(&list, &term, &bytes)) {
        if (term[0] != '!')
            found = found || term_holds(taken, def, term, bytes);
        else if (includes(def, term + 1, bytes - 1))
            return false;
    }
    return found;
}

/* What the variant itself calls for, whatever the snippets say. */
static void take_for_variant(bool *taken, const kiln__definition *def, const kiln__variant *v)
{
    bool raw = false;
    for (size_t p = 0; p < v->param_count; p++) {
        raw |= v->access[p] == KILN__ACCESS_RAW;
        if (v->dtype[p] == KILN_FLOAT16)
            take_name(taken, v, "float16");
        if (v->dtype[p] == KILN_BFLOAT16)
            take_name(taken, v, "bfloat16");
        if (kiln_dtype_kind((kiln_dtype)v->dtype[p]) == 'c')
            take_name(taken, v, "complex");
    }
    take_name(taken, v, "base");
    if (v->backend == KILN_BACKEND_CUDA) {
        take_name(taken, v, "memory");
        if (def->reduction || (v->layout != KILN__LAYOUT_LINEAR && v->rank > 1))
            take_name(taken, v, v->index_bits == 32 ? "divide32" : "divide64");
    }
    if (raw)
        take_name(taken, v, "raw");
    if (def->uses_indexer || def->uses_in_indexer || def->uses_out_indexer)
        take_name(taken, v, "indexer");
}

static void put_section(const section *s, kiln__buf *out)
{
    static const char folder[] = "prelude/";
    if (s->file[0] == '=') {
        kiln__buf_printf(out, "%s\n", s->file + 1);
        return;
    }
    for (size_t f = 0; f < kiln__template_file_count; f++) {
        const char *path = kiln__template_files[f].path;
        if (strncmp(path, folder, sizeof folder - 1) == 0 &&
            strcmp(path + sizeof folder - 1, s->file) == 0)
            kiln__buf_put(out, kiln__template_files[f].text, kiln__template_files[f].bytes);
    }
}

void kiln__prelude_put(const kiln__definition *def, const kiln__variant *v, kiln__buf *out)
{
    bool taken[SECTION_COUNT] = {false};
    take_for_variant(taken, def, v);
    /* Terms may name sections that later rows bring in, so look until nothing is added. */
    for (bool more = true; more;) {
        more = false;
        for (size_t s = 0; s < SECTION_COUNT; s++) {
            if (!taken[s] && available(s, v) && triggered(taken, &sections[s], def)) {
                take_name(taken, v, sections[s].name);
                more = true;
            }
        }
    }
    for (size_t s = 0; s < SECTION_COUNT; s++)
        if (taken[s])
            put_section(&sections[s], out);
}
