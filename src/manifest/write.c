/*
 * write.c - an entry to a line of a manifest: what read.c reads back.
 *
 * Rule: equal entries give equal lines, byte for byte, for lines are told apart by their bytes.
 */
#include "manifest/json.h"

static void put_string(kiln__buf *out, const char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";

    kiln__buf_putc(out, '"');
    for (; *text != '\0'; text++) {
        const char *found = strchr(from, *text);
        if (found != NULL) {
            kiln__buf_putc(out, '\\');
            kiln__buf_putc(out, into[found - from]);
        } else if ((unsigned char)*text < 0x20) {
            kiln__buf_printf(out, "\\u%04x", (unsigned char)*text);
        } else {
            kiln__buf_putc(out, *text);
        }
    }
    kiln__buf_putc(out, '"');
}

static void put_name(kiln__buf *out, const char *name)
{
    kiln__buf_printf(out, ",\"%s\":", name);
}

static void put_words(kiln__buf *out, const char *name, const kiln__manifest_word *words,
                      size_t count)
{
    put_name(out, name);
    for (size_t k = 0; k < count; k++) {
        kiln__buf_putc(out, k == 0 ? '[' : ',');
        put_string(out, words[k].text);
    }
    kiln__buf_puts(out, count == 0 ? "[]" : "]");
}

static void put_options(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "options");
    for (size_t k = 0; k < e->option_count; k++) {
        kiln__buf_putc(out, k == 0 ? '[' : ',');
        put_string(out, e->options[k]);
    }
    kiln__buf_putc(out, ']');
}

static void put_types(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "types");
    for (size_t k = 0; k < e->type_count; k++) {
        const char *between = "";
        kiln__buf_puts(out, k == 0 ? "[{" : ",{");
        for (size_t n = 0; n < e->types[k].input_count; n++) {
            kiln__buf_puts(out, between);
            put_string(out, e->types[k].inputs[n].name.text);
            kiln__buf_printf(out, ":\"%s\"", kiln_dtype_name(e->types[k].inputs[n].dtype));
            between = ",";
        }
        for (int letter = 0; letter < 128; letter++) {
            if (e->types[k].dtype[letter] == KILN_DTYPE_NONE)
                continue;
            kiln__buf_printf(out, "%s\"%c\":\"%s\"", between, letter,
                             kiln_dtype_name((kiln_dtype)e->types[k].dtype[letter]));
            between = ",";
        }
        kiln__buf_putc(out, '}');
    }
    kiln__buf_putc(out, ']');
}

static void put_extents(kiln__buf *out, const kiln__manifest_shape *s)
{
    kiln__buf_putc(out, '[');
    for (int a = 0; a < s->rank; a++)
        kiln__buf_printf(out, "%s%lld", a == 0 ? "" : ",", (long long)s->extent[a]);
    kiln__buf_putc(out, ']');
}

static void put_shapes(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "shapes");
    for (size_t k = 0; k < e->shape_count; k++) {
        const kiln__manifest_shapes *s = &e->shapes[k];
        kiln__buf_putc(out, k == 0 ? '[' : ',');
        if (s->count == 1 && s->items[0].param == NULL) {
            put_extents(out, &s->items[0]);
            continue;
        }
        kiln__buf_putc(out, '{');
        for (size_t i = 0; i < s->count; i++) {
            kiln__buf_puts(out, i == 0 ? "" : ",");
            put_string(out, s->items[i].param);
            kiln__buf_putc(out, ':');
            put_extents(out, &s->items[i]);
        }
        kiln__buf_putc(out, '}');
    }
    kiln__buf_putc(out, ']');
}

static void put_axes(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "axes");
    for (size_t k = 0; k < e->axes_count; k++) {
        const kiln__manifest_axes *a = &e->axes[k];
        kiln__buf_putc(out, k == 0 ? '[' : ',');
        kiln__buf_puts(out, a->all ? "null" : "[");
        for (int n = 0; n < a->count; n++)
            kiln__buf_printf(out, "%s%d", n == 0 ? "" : ",", a->axis[n]);
        kiln__buf_puts(out, a->all ? "" : "]");
    }
    kiln__buf_putc(out, ']');
}

static const char *const stage_names[] = {
#define STAGE_NAME(id, name) name,
    KILN__MANIFEST_STAGE_TEXTS(STAGE_NAME)
#undef STAGE_NAME
};

static void put_stages(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "stages");
    for (size_t k = 0; k < e->stage_count; k++) {
        const char *between = "";
        kiln__buf_puts(out, k == 0 ? "[{" : ",{");
        for (int t = 0; t < KILN__MANIFEST_STAGE_TEXT_COUNT; t++) {
            if (e->stages[k].text[t].text == NULL)
                continue;
            kiln__buf_printf(out, "%s\"%s\":", between, stage_names[t]);
            put_string(out, e->stages[k].text[t].text);
            between = ",";
        }
        kiln__buf_putc(out, '}');
    }
    kiln__buf_putc(out, ']');
}

static void put_values(kiln__buf *out, const kiln__manifest_entry *e)
{
    put_name(out, "values");
    for (size_t k = 0; k < e->value_count; k++) {
        kiln__buf_puts(out, k == 0 ? "[{\"type\":" : ",{\"type\":");
        put_string(out, e->values[k].type.text);
        kiln__buf_puts(out, ",\"name\":");
        put_string(out, e->values[k].name.text);
        kiln__buf_putc(out, '}');
    }
    kiln__buf_putc(out, ']');
}

static bool is_text(const char *text)
{
    return text == NULL || kiln__utf8_check(text, strlen(text));
}

/* Whether JSON can hold all texts of an entry. */
static bool all_text(const kiln__manifest_entry *e)
{
    for (int t = 0; t < KILN__MANIFEST_TEXT_COUNT; t++)
        if (!is_text(e->text[t].text))
            return false;
    for (size_t k = 0; k < e->option_count; k++)
        if (!is_text(e->options[k]))
            return false;
    for (size_t k = 0; k < e->stage_count; k++)
        for (int t = 0; t < KILN__MANIFEST_STAGE_TEXT_COUNT; t++)
            if (!is_text(e->stages[k].text[t].text))
                return false;
    for (size_t k = 0; k < e->value_count; k++)
        if (!is_text(e->values[k].type.text) || !is_text(e->values[k].name.text))
            return false;
    return true;
}

bool kiln__manifest_write(const kiln__manifest_entry *e, kiln__buf *out)
{
    static const char *const names[] = {
#define TEXT_NAME(id, name) name,
        KILN__MANIFEST_TEXTS(TEXT_NAME)
#undef TEXT_NAME
    };

    if (!all_text(e))
        return false;
    kiln__buf_printf(out, "{\"kind\":\"%s\"",
                     kiln__manifest_kind_name(e->kind));
    for (int t = 0; t < KILN__MANIFEST_TEXT_COUNT; t++) {
        if (e->text[t].text != NULL) {
            put_name(out, names[t]);
            put_string(out, e->text[t].text);
        }
    }
    if (e->keep_axes)
        kiln__buf_puts(out, ",\"keep_axes\":true");
    if (e->stage_count > 0)
        put_stages(out, e);
    if (e->value_count > 0)
        put_values(out, e);
    if (e->exclusive)
        kiln__buf_puts(out, ",\"exclusive\":true");
    if (e->reverse)
        kiln__buf_puts(out, ",\"reverse\":true");
    if (e->option_count > 0)
        put_options(out, e);
    if (e->type_count > 0)
        put_types(out, e);
    if (e->axes_count > 0)
        put_axes(out, e);
    if (e->shape_count > 0)
        put_shapes(out, e);
    if (e->has_scalars)
        put_words(out, "scalars", e->scalars, e->scalar_count);
    if (e->layout_count > 0)
        put_words(out, "layouts", e->layouts, e->layout_count);
    kiln__buf_putc(out, '}');
    return true;
}
