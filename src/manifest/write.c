/*
 * write.c - an entry to a line of a manifest: what read.c reads back.
 *
 * Rule: equal entries give equal lines, byte for byte, for lines are told apart by their bytes.
 */
#include <stdlib.h>

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

/* "name":[item, ...], where `put` writes the item at a place. */
static void put_list(kiln__buf *out, const char *name, size_t count,
                     void (*put)(kiln__buf *out, const kiln__manifest_entry *e, size_t k),
                     const kiln__manifest_entry *e)
{
    put_name(out, name);
    kiln__buf_putc(out, '[');
    for (size_t k = 0; k < count; k++) {
        if (k > 0)
            kiln__buf_putc(out, ',');
        put(out, e, k);
    }
    kiln__buf_putc(out, ']');
}

static void put_scalar(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    put_string(out, e->scalars[k].text);
}

static void put_layout(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    put_string(out, e->layouts[k].text);
}

static void put_option(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    put_string(out, e->options[k]);
}

static void put_wanted(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    put_string(out, e->names[k]);
}

static void put_binding(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    const char *between = "{";

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
    kiln__buf_puts(out, between[0] == '{' ? "{}" : "}");
}

static void put_extents(kiln__buf *out, const kiln__manifest_shape *s)
{
    kiln__buf_putc(out, '[');
    for (int a = 0; a < s->rank; a++)
        kiln__buf_printf(out, "%s%lld", a == 0 ? "" : ",", (long long)s->extent[a]);
    kiln__buf_putc(out, ']');
}

static void put_shape_set(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    const kiln__manifest_shapes *s = &e->shapes[k];

    if (s->count == 1 && s->items[0].param == NULL) {
        put_extents(out, &s->items[0]);
        return;
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

static void put_axis_list(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    const kiln__manifest_axes *a = &e->axes[k];

    kiln__buf_puts(out, a->all ? "null" : "[");
    for (int n = 0; n < a->count; n++)
        kiln__buf_printf(out, "%s%d", n == 0 ? "" : ",", a->axis[n]);
    kiln__buf_puts(out, a->all ? "" : "]");
}

static void put_stage(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    static const char *const names[] = {
#define STAGE_NAME(id, name) name,
        KILN__MANIFEST_STAGE_TEXTS(STAGE_NAME)
#undef STAGE_NAME
    };
    const char *between = "{";

    for (int t = 0; t < KILN__MANIFEST_STAGE_TEXT_COUNT; t++) {
        if (e->stages[k].text[t].text == NULL)
            continue;
        kiln__buf_printf(out, "%s\"%s\":", between, names[t]);
        put_string(out, e->stages[k].text[t].text);
        between = ",";
    }
    kiln__buf_puts(out, between[0] == '{' ? "{}" : "}");
}

static void put_value(kiln__buf *out, const kiln__manifest_entry *e, size_t k)
{
    kiln__buf_puts(out, "{\"type\":");
    put_string(out, e->values[k].type.text);
    kiln__buf_puts(out, ",\"name\":");
    put_string(out, e->values[k].name.text);
    kiln__buf_putc(out, '}');
}

/* "name":true for each flag that is set. */
static void put_flags(kiln__buf *out, const kiln__manifest_entry *e)
{
    for (const char *at = e->kind->fields; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        const size_t bytes = strcspn(at, " =");
        if (at[bytes] == '=' && (e->flags & (unsigned)strtoul(at + bytes + 1, NULL, 10)) != 0)
            kiln__buf_printf(out, ",\"%.*s\":true", (int)bytes, at);
    }
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
    for (size_t k = 0; k < e->name_count; k++)
        if (!is_text(e->names[k]))
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
    unsigned bit;

    if (!all_text(e))
        return false;
    kiln__buf_printf(out, "{\"kind\":\"%s\"", e->kind->name);
    for (int t = 0; t < KILN__MANIFEST_TEXT_COUNT; t++) {
        const char *text = e->text[t].text;
        if (text == NULL && e->text[KILN__MANIFEST_NAMED].text == NULL &&
            kiln__manifest_mark(e->kind, names[t], &bit) == '!')
            text = "";
        if (text != NULL) {
            put_name(out, names[t]);
            put_string(out, text);
        }
    }
    if (e->keep_axes)
        kiln__buf_puts(out, ",\"keep_axes\":true");
    if (e->wide)
        kiln__buf_puts(out, ",\"wide\":true");
    if (e->stage_count > 0)
        put_list(out, "stages", e->stage_count, put_stage, e);
    if (e->value_count > 0)
        put_list(out, "values", e->value_count, put_value, e);
    put_flags(out, e);
    if (e->option_count > 0)
        put_list(out, "options", e->option_count, put_option, e);
    if (e->name_count > 0)
        put_list(out, "names", e->name_count, put_wanted, e);
    if (e->type_count > 0)
        put_list(out, "types", e->type_count, put_binding, e);
    if (e->axes_count > 0)
        put_list(out, "axes", e->axes_count, put_axis_list, e);
    if (e->shape_count > 0)
        put_list(out, "shapes", e->shape_count, put_shape_set, e);
    if (e->has_scalars)
        put_list(out, "scalars", e->scalar_count, put_scalar, e);
    if (e->layout_count > 0)
        put_list(out, "layouts", e->layout_count, put_layout, e);
    kiln__buf_putc(out, '}');
    return true;
}
