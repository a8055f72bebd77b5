/*
 * record.c - which kernels a program needed, as lines of a manifest.
 *
 *     variant compiled or loaded > [definition + variant > line] > recorder > file
 *
 * Called once for each variant of a kernel, where it is first needed, and never on the way of a
 * call that hits. The line holds all that decides the source: docs/manifest.md.
 */
#include "kernel/kernel.h"

/* Which text of a definition goes into which field. */
static const struct {
    kiln__snippet_kind snippet;
    kiln__manifest_text text;
} snippets[] = {
    {KILN__SNIPPET_PREAMBLE, KILN__MANIFEST_PREAMBLE},
    {KILN__SNIPPET_LOOP_PREP, KILN__MANIFEST_LOOP_PREP},
    {KILN__SNIPPET_OP, KILN__MANIFEST_OP},
    {KILN__SNIPPET_AFTER_LOOP, KILN__MANIFEST_AFTER_LOOP},
    {KILN__SNIPPET_MAP, KILN__MANIFEST_MAP},
    {KILN__SNIPPET_REDUCE, KILN__MANIFEST_REDUCE},
    {KILN__SNIPPET_POST, KILN__MANIFEST_POST},
    {KILN__SNIPPET_IDENTITY, KILN__MANIFEST_IDENTITY},
    {KILN__SNIPPET_REDUCE_TYPE, KILN__MANIFEST_REDUCE_TYPE},
};

kiln__snippet_kind kiln__manifest_snippet(size_t nth, kiln__manifest_text *text_out)
{
    if (nth >= KILN_COUNT_OF(snippets))
        return KILN__SNIPPET_COUNT;
    *text_out = snippets[nth].text;
    return snippets[nth].snippet;
}

/* Fields that every definition of its kind must show, also when they are empty. */
static bool is_needed(const kiln__definition *def, kiln__manifest_text text)
{
    return def->reduction ? text == KILN__MANIFEST_MAP || text == KILN__MANIFEST_REDUCE ||
                                text == KILN__MANIFEST_POST
                          : text == KILN__MANIFEST_OP;
}

bool kiln__manifest_line(const kiln__definition *def, const kiln__variant *variant, kiln__buf *line)
{
    kiln__manifest_types types = {.at = 0};
    kiln__manifest_word layout = {NULL, 0};
    kiln__manifest_entry e = {
        .kind = def->scan        ? KILN__MANIFEST_SCAN
                : def->reduction ? KILN__MANIFEST_REDUCTION
                                 : KILN__MANIFEST_ELEMENTWISE,
        .keep_dims = def->keep_dims,
        .options = (const char **)def->options,
        .option_count = def->option_count,
        .layouts = &layout,
        .layout_count = 1,
    };
    kiln__buf text = KILN__BUF_INIT;
    bool ok;

    kiln__variant_print(variant, &text);
    if (text.failed) {
        line->failed = true;
        return true;
    }
    layout.text = text.text;
    e.text[KILN__MANIFEST_NAME].text = def->name;
    e.text[KILN__MANIFEST_IN].text = def->signature[0];
    e.text[KILN__MANIFEST_OUT].text = def->signature[1];
    for (size_t k = 0; k < KILN_COUNT_OF(snippets); k++) {
        const char *snippet = def->snippet[snippets[k].snippet];
        if (snippet[0] != '\0' || is_needed(def, snippets[k].text))
            e.text[snippets[k].text].text = snippet;
    }
    for (size_t p = 0; p < def->param_count; p++) {
        const unsigned letter = (unsigned char)def->params[p].placeholder;
        if (letter != 0 && letter < KILN_COUNT_OF(types.dtype)) {
            types.dtype[letter] = variant->dtype[p];
            e.types = &types;
            e.type_count = 1;
        }
    }
    ok = kiln__manifest_write(&e, line);
    kiln__buf_clear(&text);
    return ok;
}

void kiln__record_variant(kiln_context *ctx, const kiln__definition *def,
                          const kiln__variant *variant)
{
    kiln__recorder *recorder = kiln__context_recorder(ctx);
    kiln__buf line = KILN__BUF_INIT;

    if (recorder == NULL || def->rows != NULL) /* manifests have no fields for stages */
        return;
    if (!kiln__manifest_line(def, variant, &line))
        kiln__recorder_complain(recorder, "kernel \"%s\" has a text that is no UTF-8", def->name);
    else if (line.failed)
        kiln__recorder_complain(recorder, "the host is out of memory");
    else
        kiln__recorder_add(recorder, line.text, line.length);
    kiln__buf_clear(&line);
}
