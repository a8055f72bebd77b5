/*
 * line.c - the kernels that a program needed, as lines of a manifest.
 *
 *     variant compiled or loaded > [definition + variant > line] > recorder > file
 *
 * kernel.c, own.c and prefetch.c call it once for each variant of a kernel, when it is first
 * needed, and never in a call whose kernel is known. A line holds everything that decides the
 * source (docs/manifest.md).
 *
 * Test: test_record.
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
    {KILN__SNIPPET_WHERE, KILN__MANIFEST_WHERE},
    {KILN__SNIPPET_OTHERWISE, KILN__MANIFEST_OTHERWISE},
};

kiln__snippet_kind kiln__manifest_snippet(size_t nth, kiln__manifest_text *text_out)
{
    if (nth >= KILN_COUNT_OF(snippets))
        return KILN__SNIPPET_COUNT;
    *text_out = snippets[nth].text;
    return snippets[nth].snippet;
}

/* ---- row programs ------------------------------------------------------------------------------ */

/* What a line of a row program needs beside what all have. */
typedef struct row_parts {
    kiln__manifest_stage stages[KILN__STAGE_MAX];
    kiln__manifest_value values[KILN__VALUE_MAX];
    char *out; /* outputs per element: the definition has both texts in one */
} row_parts;

/* A stage's texts: in a line, in a definition's snippets (the result is none), and in the struct that a
 * definition is made from. */
static const struct {
    kiln__manifest_stage_text text;
    kiln__stage_text snippet;
    size_t at;
} stage_texts[] = {
#define STAGE_TEXT(ID, field)                                                                      \
    {KILN__MANIFEST_STAGE_##ID, KILN__STAGE_##ID, offsetof(kiln_row_stage, field)}
    STAGE_TEXT(PREP, prep),     STAGE_TEXT(MAP, map),
    STAGE_TEXT(TYPE, type),     STAGE_TEXT(REDUCE, reduce),
    STAGE_TEXT(IDENTITY, identity), STAGE_TEXT(POST, post),
#undef STAGE_TEXT
    {KILN__MANIFEST_STAGE_RESULT, KILN__STAGE_TEXTS, offsetof(kiln_row_stage, result)},
};

/* Cut the outputs' text before the first one that has one element a row. False without memory. */
static bool split_outputs(const kiln__definition *def, kiln__manifest_entry *e, row_parts *parts)
{
    const char *all = def->signature[1];
    size_t first = def->input_count;

    parts->out = NULL;
    while (first < def->param_count && !def->params[first].row)
        first++;
    if (first == def->param_count)
        return true;
    e->text[KILN__MANIFEST_ROW_OUT].text = all + def->params[first].column;
    size_t end = first == def->input_count ? 0 : def->params[first].column;
    while (end > 0 && all[end] != ',')
        end--;
    parts->out = kiln__strndup(all, end);
    e->text[KILN__MANIFEST_OUT].text = parts->out;
    return parts->out != NULL;
}

static bool fill_row(const kiln__definition *def, kiln__manifest_entry *e, row_parts *parts)
{
    const kiln__row_program *rows = def->rows;

    memset(parts, 0, sizeof *parts);
    for (size_t s = 0; s < rows->stage_count; s++) {
        for (size_t t = 0; t < KILN_COUNT_OF(stage_texts); t++) {
            const char *text = stage_texts[t].snippet == KILN__STAGE_TEXTS
                                   ? rows->result[s]
                                   : def->snippet[kiln__stage_snippet(s, stage_texts[t].snippet)];
            if (text[0] != '\0')
                parts->stages[s].text[stage_texts[t].text].text = text;
        }
    }
    for (size_t v = 0; v < rows->value_count; v++) {
        parts->values[v].type.text = rows->value_type[v];
        parts->values[v].name.text = rows->value_name[v];
    }
    e->stages = parts->stages;
    e->stage_count = rows->stage_count;
    e->values = parts->values;
    e->value_count = rows->value_count;
    return split_outputs(def, e, parts);
}

kiln_status kiln__manifest_rows(const kiln__manifest_entry *e, kiln_row_stage *stages,
                                kiln_row_value *values, kiln_error *err)
{
    if (e->stage_count > KILN__STAGE_MAX || e->value_count > KILN__VALUE_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%zu stages and %zu values; at most %d and %d",
                          e->stage_count, e->value_count, KILN__STAGE_MAX, KILN__VALUE_MAX);
    for (size_t s = 0; s < e->stage_count; s++)
        for (size_t t = 0; t < KILN_COUNT_OF(stage_texts); t++)
            memcpy((char *)&stages[s] + stage_texts[t].at, &e->stages[s].text[stage_texts[t].text].text,
                   sizeof(const char *));
    for (size_t v = 0; v < e->value_count; v++)
        values[v] = (kiln_row_value){e->values[v].type.text, e->values[v].name.text};
    return KILN_OK;
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* A whole kernel of kiln's own. */
static bool template_line(const kiln__definition *def, kiln__buf *line)
{
    kiln__manifest_entry e = {.kind = &kiln__manifest_template,
                              .options = (const char **)def->options,
                              .option_count = def->option_count};

    e.text[KILN__MANIFEST_NAME].text = def->name;
    e.text[KILN__MANIFEST_TEMPLATE].text = def->template_file;
    return kiln__manifest_write(&e, line);
}

bool kiln__manifest_line(const kiln__definition *def, const kiln__variant *variant, kiln__buf *line)
{
    if (def->template_file != NULL)
        return template_line(def, line);
    kiln__manifest_types types = {.at = 0};
    kiln__manifest_word layout = {NULL, 0};
    const kiln__manifest_kind kind = kiln__manifest_kind_of(def->family);
    kiln__manifest_entry e = {
        .kind = &kind,
        .keep_axes = def->keep_axes,
        .options = (const char **)def->options,
        .option_count = def->option_count,
        .layouts = &layout,
        .layout_count = 1,
    };
    kiln__buf text = KILN__BUF_INIT;
    row_parts parts = {.out = NULL};
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
        if (snippet[0] != '\0')
            e.text[snippets[k].text].text = snippet;
    }
    if (def->rows != NULL && !fill_row(def, &e, &parts))
        line->failed = true;
    for (size_t p = 0; p < def->param_count; p++) {
        const unsigned letter = (unsigned char)def->params[p].placeholder;
        if (letter != 0 && letter < KILN_COUNT_OF(types.dtype)) {
            types.dtype[letter] = variant->dtype[p];
            e.types = &types;
            e.type_count = 1;
        }
    }
    ok = line->failed || kiln__manifest_write(&e, line);
    kiln__free(parts.out);
    kiln__buf_clear(&text);
    return ok;
}

kiln_status kiln__record_variant(kiln_context *ctx, const kiln__definition *def,
                                 const kiln__variant *variant, kiln_error *err)
{
    const kiln__needs *const needs = kiln__context_needs(ctx);
    kiln__recorder *recorder = kiln__context_recorder(ctx);
    kiln__buf line = KILN__BUF_INIT;

    if (needs->fn != NULL)
        return needs->fn(needs->user, def, variant, err);
    if (recorder == NULL)
        return KILN_OK;
    if (!kiln__manifest_line(def, variant, &line))
        kiln__recorder_complain(recorder, "kernel \"%s\" has a text that is no UTF-8", def->name);
    else if (line.failed)
        kiln__recorder_complain(recorder, "the host is out of memory");
    else
        kiln__recorder_add(recorder, line.text, line.length);
    kiln__buf_clear(&line);
    return KILN_OK;
}
