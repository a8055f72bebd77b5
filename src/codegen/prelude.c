/*
 * prelude.c - choose the parts of templates/prelude/ that a kernel needs.
 *
 * A section is taken when a dtype, the layout or a word of a snippet calls for it, or when a taken
 * section needs it. What is not needed is not emitted: front-end time grows with every line.
 *
 * emit.c and module_text.c call this file. Tests: test_prelude, test_prelude_words.
 */
#include "codegen/emit.h"
#include "codegen/prelude.h"

#include "codegen/templates.h"

typedef struct kiln__prelude_section section;

#define sections kiln__prelude_sections

/* The sections chosen for one kernel. */
typedef struct selection {
    bool taken[KILN__SECTIONS_MAX];
    int backend; /* KILN__ON_CUDA or KILN__ON_CPU */
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

/* The first place of a key in the sorted table of words; the place where it would be, if none. */
static size_t find_word(const char *key)
{
    size_t low = 0, high = kiln__prelude_word_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(kiln__prelude_words[middle].word, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_word(size_t place, const char *key)
{
    return place < kiln__prelude_word_count && strcmp(kiln__prelude_words[place].word, key) == 0;
}

/* Take all sections of one name that the backend has, and the sections that these need. */
static void take(selection *chosen, size_t first)
{
    for (size_t s = first; s != KILN__SECTION_NONE; s = sections[s].same) {
        if (chosen->taken[s] || (sections[s].backends & chosen->backend) == 0)
            continue;
        chosen->taken[s] = true;
        for (const uint16_t *need = sections[s].needs; *need != KILN__SECTION_NONE; need++)
            take(chosen, *need);
    }
}

/* The same for a name, given as a key: '@' and the name. */
static void take_name(selection *chosen, const char *key)
{
    const size_t place = find_word(key);
    if (is_word(place, key))
        take(chosen, kiln__prelude_words[place].section);
}

/* Whether a section is taken; the key is '@' and its name. */
static bool has_section(const selection *chosen, const char *key)
{
    size_t s = kiln__prelude_words[find_word(key)].section;
    while (s != KILN__SECTION_NONE && !chosen->taken[s])
        s = sections[s].same;
    return s != KILN__SECTION_NONE;
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
        if (atom[0] == '@'   ? !has_section(chosen, atom)
            : atom[0] == '<' ? !def->compares
                             : !kiln__definition_wants(def, atom))
            return false;
    }
    return true;
}

static bool names_header(const char *text, const char *header, size_t bytes, bool plain)
{
    for (; text != NULL && *text != '\0'; text++)
        if (((*text == '<' && plain) || *text == '"' || *text == '/') &&
            strncmp(text + 1, header, bytes) == 0 &&
            (text[1 + bytes] == '>' || text[1 + bytes] == '"'))
            return true;
    return false;
}

/* Whether the preamble, or a header of the user's that it includes, includes a header of this name, in
 * whatever folder. NVRTC has no <limits>, but <cuda/std/limits>: a text that names the host's does so
 * for another compiler. */
static bool includes(const selection *chosen, const kiln__definition *def, const char *header,
                     size_t bytes)
{
    const bool plain = (chosen->backend & KILN__ON_CPU) != 0 || memchr(header, '.', bytes) != NULL;

    return def->includes &&
           (names_header(def->snippet[KILN__SNIPPET_PREAMBLE], header, bytes, plain) ||
            names_header(def->included, header, bytes, plain));
}

/* Take the sections that have this one's name, unless the preamble includes a header that forbids this
 * section. */
static void call_for(selection *chosen, const kiln__definition *def, size_t s)
{
    const char *headers = sections[s].unless, *header;
    size_t bytes;
    while (next_word(&headers, &header, &bytes))
        if (includes(chosen, def, header, bytes))
            return;
    take(chosen, sections[s].first);
}

/* Take the sections that words of the snippets, or of the user's headers, call for. */
static void take_for_words(selection *chosen, const kiln__definition *def, const kiln__words *words)
{
    for (size_t w = 0; w < words->count; w++) {
        const char *word = words->items[w];
        const size_t first = find_word(word);
        if (!is_word(first, word) || !kiln__definition_wants(def, word))
            continue;
        for (size_t place = first; is_word(place, word); place++)
            if (sections[kiln__prelude_words[place].section].backends & chosen->backend)
                call_for(chosen, def, kiln__prelude_words[place].section);
    }
}

/* Take the sections that terms of several conditions call for. Conditions may name sections that later terms bring in,
 * so all terms are looked at until nothing is added. */
static void take_for_terms(selection *chosen, const kiln__definition *def)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t s = 0; s < kiln__prelude_section_count; s++) {
            const char *terms = sections[s].when, *term;
            size_t bytes;
            if (terms[0] == '\0' || chosen->taken[s] ||
                (sections[s].backends & chosen->backend) == 0)
                continue;
            while (!chosen->taken[s] && next_word(&terms, &term, &bytes))
                if (term_holds(chosen, def, term, bytes))
                    call_for(chosen, def, s);
            more |= chosen->taken[s];
        }
    }
}

static void take_batch(selection *chosen, kiln__batch batch)
{
    static const char *const keys[] = {[KILN__BATCH_SUM] = "@batch_sum",
                                       [KILN__BATCH_MOMENTS] = "@batch_moments",
                                       [KILN__BATCH_COUNTED] = "@batch_counted",
                                       [KILN__BATCH_LEAST] = "@batch_position",
                                       [KILN__BATCH_GREATEST] = "@batch_position",
                                       [KILN__BATCH_LOGSUM] = "@batch_logsum"};
    if (batch != KILN__BATCH_NONE)
        take_name(chosen, keys[batch]);
}

/* Take the sections that the variant needs, whatever the snippets use. */
static void take_for_variant(selection *chosen, const kiln__definition *def, const kiln__variant *v,
                             kiln__buf *out)
{
    bool raw = false, once = false;
    for (size_t p = 0; p < v->param_count; p++) {
        raw |= v->access[p] == KILN__ACCESS_RAW;
        once |= v->access[p] == KILN__ACCESS_ONCE;
        if (kiln__is_narrow((kiln_dtype)v->dtype[p])) {
            char key[32];
            snprintf(key, sizeof key, "@%s", kiln_dtype_ctype((kiln_dtype)v->dtype[p]));
            take_name(chosen, key);
        }
        if (kiln_dtype_kind((kiln_dtype)v->dtype[p]) == 'c')
            take_name(chosen, "@complex");
    }
    take_name(chosen, "@base");
    if (def->takes)
        take_name(chosen, def->reports ? "@noted" : "@gather");
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++) {
        const size_t guards = kiln__guard_put(def, v, def->snippet[k], NULL);
        if (guards != 0)
            take_name(chosen, "@checked_divide");
        out->failed = out->failed || guards == SIZE_MAX;
    }
    if (v->backend == KILN_BACKEND_CUDA) {
        if (v->layout != KILN__LAYOUT_WINDOW || v->loop.ring != 0) /* element by element */
            take_name(chosen, "@memory");
        if (def->family == &kiln__family_loop && v->loop.lines == KILN__LINES_OF_WORDS)
            take_name(chosen, "@words");
        if (v->layout == KILN__LAYOUT_TRANSPOSE)
            take_name(chosen, !kiln__transpose_even(v) ? "@tiles"
                              : v->vec > 1             ? "@packed"
                                                       : "@memory");
        if (def->family->maps || (v->layout != KILN__LAYOUT_LINEAR && v->rank > 1))
            take_name(chosen, v->index_bits == 32 ? "@divide32" : "@divide64");
    }
    if (def->rows != NULL && v->row.peel)
        take_name(chosen, "@shifted");
    if (raw)
        take_name(chosen, "@raw");
    if (once)
        take_name(chosen, "@memory_once");
    take_batch(chosen, kiln__batch_of(v));
    for (size_t s = 0; def->rows != NULL && s < def->rows->stage_count; s++)
        take_batch(chosen, kiln__batch_of_stage(def, v, s));
    if (def->uses_indexer || def->uses_in_indexer || def->uses_out_indexer)
        take_name(chosen, "@indexer");
}

void kiln__prelude_put(const kiln__definition *def, const kiln__variant *v, kiln__buf *out)
{
    selection chosen = {.backend = v->backend == KILN_BACKEND_CUDA ? KILN__ON_CUDA : KILN__ON_CPU};
    take_for_variant(&chosen, def, v, out);
    take_for_words(&chosen, def, &def->words);
    take_for_words(&chosen, def, &def->header_words);
    take_for_terms(&chosen, def);
    if (v->layout == KILN__LAYOUT_LINEAR && has_section(&chosen, "@gather"))
        take_name(&chosen, "@memory_streamed");
    for (size_t s = 0; s < kiln__prelude_section_count; s++)
        if (chosen.taken[s])
            kiln__buf_put(out, sections[s].text, sections[s].bytes);
}
