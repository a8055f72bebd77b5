/*
 * prelude.c - choose the parts of templates/prelude/ that a kernel needs.
 *
 * A section is taken when a dtype, the layout or a word of a snippet calls for it, or when a taken
 * section needs it. What is not needed is not emitted: front-end time grows with every line.
 */
#include "codegen/prelude.h"

#include "codegen/templates.h"

typedef struct kiln__prelude_section section;

#define sections kiln__prelude_sections

/* The sections of one kernel, also in the order they were found: few of many. */
typedef struct selection {
    bool taken[KILN__SECTIONS_MAX];
    uint16_t order[KILN__SECTIONS_MAX];
    size_t count;
} selection;

/* Next word of a space-separated list; false at its end. */
static bool next_word(const char **list, const char **word, size_t *bytes)
{
    while (**list == ' ')
        (*list)++;
    *word = *list;
    const char *blank = strchr(*list, ' ');
    *bytes = blank != NULL ? (size_t)(blank - *list) : strlen(*list);
    *list += *bytes;
    return *bytes != 0;
}

static bool available(size_t s, const kiln__variant *v)
{
    return (sections[s].backends &
            (v->backend == KILN_BACKEND_CUDA ? KILN__ON_CUDA : KILN__ON_CPU)) != 0;
}

/* Take every section of this name, and what it needs. */
static void take(selection *chosen, const kiln__variant *v, const char *name, size_t bytes)
{
    for (size_t s = 0; s < kiln__prelude_section_count; s++) {
        if (sections[s].name[0] != name[0] || chosen->taken[s] || !available(s, v) ||
            strncmp(sections[s].name, name, bytes) != 0 || sections[s].name[bytes] != '\0')
            continue;
        const char *list = sections[s].needs, *word;
        size_t word_bytes;
        chosen->taken[s] = true;
        chosen->order[chosen->count++] = (uint16_t)s;
        while (next_word(&list, &word, &word_bytes))
            take(chosen, v, word, word_bytes);
    }
}

static void take_name(selection *chosen, const kiln__variant *v, const char *name)
{
    take(chosen, v, name, strlen(name));
}

/* Whether a section of this name is taken. */
static bool has_section(const selection *chosen, const char *name)
{
    for (size_t k = 0; k < chosen->count; k++)
        if (strcmp(sections[chosen->order[k]].name, name) == 0)
            return true;
    return false;
}

/* One term of a section's conditions: atoms joined by '&', all of which must hold. */
static bool term_holds(const selection *chosen, const kiln__definition *def, const char *term,
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
        if (atom[0] == '@'   ? !has_section(chosen, atom + 1)
            : atom[0] == '<' ? !def->compares
                             : !kiln__definition_wants(def, atom))
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

/* Whether the rest of a list forbids the section. */
static bool vetoed(const kiln__definition *def, const char *list)
{
    const char *term;
    size_t bytes;
    while (next_word(&list, &term, &bytes))
        if (term[0] == '!' && includes(def, term + 1, bytes - 1))
            return true;
    return false;
}

/* `may_begin` tells the letters that words of the snippets begin with: most terms end there. */
static bool triggered(const selection *chosen, const section *s, const kiln__definition *def,
                      const bool *may_begin)
{
    const char *term = s->when, *end = NULL;
    for (; term != NULL; term = end != NULL ? end + 1 : NULL) {
        end = strchr(term, ' ');
        if (may_begin[(unsigned char)term[0]] &&
            term_holds(chosen, def, term, end != NULL ? (size_t)(end - term) : strlen(term)))
            return !vetoed(def, s->when);
    }
    return false;
}

/* What the variant itself calls for, whatever the snippets say. */
static void take_for_variant(selection *chosen, const kiln__definition *def, const kiln__variant *v,
                             kiln__buf *out)
{
    bool raw = false, once = false;
    for (size_t p = 0; p < v->param_count; p++) {
        raw |= v->access[p] == KILN__ACCESS_RAW;
        once |= v->access[p] == KILN__ACCESS_ONCE;
        if (v->dtype[p] == KILN_FLOAT16)
            take_name(chosen, v, "float16");
        if (v->dtype[p] == KILN_BFLOAT16)
            take_name(chosen, v, "bfloat16");
        if (kiln_dtype_kind((kiln_dtype)v->dtype[p]) == 'c')
            take_name(chosen, v, "complex");
    }
    take_name(chosen, v, "base");
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++) {
        const size_t guards = kiln__guard_put(def, v, def->snippet[k], NULL);
        if (guards != 0)
            take_name(chosen, v, "checked_divide");
        out->failed = out->failed || guards == SIZE_MAX;
    }
    if (v->backend == KILN_BACKEND_CUDA) {
        if (v->layout != KILN__LAYOUT_WINDOW) /* element by element */
            take_name(chosen, v, "memory");
        if (def->family->maps || (v->layout != KILN__LAYOUT_LINEAR && v->rank > 1))
            take_name(chosen, v, v->index_bits == 32 ? "divide32" : "divide64");
    }
    if (raw)
        take_name(chosen, v, "raw");
    if (once)
        take_name(chosen, v, "memory_once");
    if (v->batch != KILN__BATCH_NONE)
        take_name(chosen, v,
                  v->batch == KILN__BATCH_SUM       ? "batch_sum"
                  : v->batch == KILN__BATCH_MOMENTS ? "batch_moments"
                                                    : "batch_position");
    if (def->uses_indexer || def->uses_in_indexer || def->uses_out_indexer)
        take_name(chosen, v, "indexer");
}

void kiln__prelude_put(const kiln__definition *def, const kiln__variant *v, kiln__buf *out)
{
    selection chosen = {.count = 0};
    bool may_begin[256] = {['@'] = true};
    for (size_t w = 0; w < def->words.count; w++)
        may_begin[(unsigned char)def->words.items[w][0]] = true;
    for (size_t w = 0; w < def->header_words.count; w++)
        may_begin[(unsigned char)def->header_words.items[w][0]] = true;
    take_for_variant(&chosen, def, v, out);
    /* Terms may name sections that later rows bring in, so look until nothing is added. */
    for (bool more = true; more;) {
        more = false;
        for (size_t s = 0; s < kiln__prelude_section_count; s++) {
            if (sections[s].when[0] != '\0' && !chosen.taken[s] && available(s, v) &&
                triggered(&chosen, &sections[s], def, may_begin)) {
                take_name(&chosen, v, sections[s].name);
                more = true;
            }
        }
    }
    for (size_t s = 0; s < kiln__prelude_section_count; s++)
        if (chosen.taken[s])
            kiln__buf_put(out, sections[s].text, sections[s].bytes);
}
