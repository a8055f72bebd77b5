/*
 * read.c - lines of a manifest to entries.
 *
 *     text > [line > JSON > fields > entry] > src/warm
 *
 * Rule 1: a field exists when it has a row in `fields`, and a line in write.c that puts it back;
 *         docs/manifest.md explains each.
 * Rule 2: whatever is not understood is refused, with its place: a misspelt field that was skipped
 *         would be a kernel that is missing in production.
 * Rule 3: nothing here knows what a signature or a layout means.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "manifest/json.h"

/* Longest line, and most entries: beyond, something else than a manifest was given. */
#define LINE_BYTES_MAX ((size_t)64 << 20)
enum { LIST_MAX = 4096, WINDOW = 100 };

struct kiln__manifest {
    kiln__arena *arena;
    kiln__manifest_kind *kinds; /* those that are no family are the last ones */
    size_t kind_count;
    kiln__manifest_entry **entries;
    size_t count, capacity;
};

static const kiln__manifest_kind expression = {"expression", "expression",
                                               "name text! types! shapes scalars wide"};

const kiln__manifest_kind kiln__manifest_module = {"module", "module",
                                                   "name source! names options"};

const kiln__manifest_kind kiln__manifest_template = {"template", "template",
                                                     "name! template! options"};

/* The kinds of lines without a definition. */
static const kiln__manifest_kind *const others[] = {&kiln__manifest_module,
                                                    &kiln__manifest_template, &expression};

/* The fields of all lines with a definition. */
static const char definition_fields[] =
    "name in! out! preamble options types shapes scalars layouts";

kiln__manifest *kiln__manifest_create(const kiln__manifest_kind *kinds, size_t count)
{
    kiln__manifest *m =
        kiln__calloc(1, sizeof *m + (count + KILN_COUNT_OF(others)) * sizeof *kinds);

    if (m == NULL)
        return NULL;
    m->kinds = (kiln__manifest_kind *)(m + 1);
    memcpy(m->kinds, kinds, count * sizeof *kinds);
    for (size_t k = 0; k < KILN_COUNT_OF(others); k++)
        m->kinds[count + k] = *others[k];
    m->kind_count = count + KILN_COUNT_OF(others);
    return m;
}

void kiln__manifest_destroy(kiln__manifest *manifest)
{
    if (manifest == NULL)
        return;
    kiln__arena_free(manifest->arena);
    kiln__free(manifest->entries);
    kiln__free(manifest);
}

size_t kiln__manifest_count(const kiln__manifest *manifest)
{
    return manifest->count;
}

const kiln__manifest_entry *kiln__manifest_at(const kiln__manifest *manifest, size_t nth)
{
    return manifest->entries[nth];
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* The part of a line around `at` that fits a terminal, with a caret; heap text or NULL. */
static char *window(const char *line, size_t bytes, size_t at, size_t width)
{
    char text[WINDOW + 1];
    size_t from = at > WINDOW / 2 ? at - WINDOW / 2 : 0;

    if (bytes <= WINDOW)
        from = 0;
    while (from > 0 && from < bytes && kiln__utf8_continues(line[from]))
        from--;
    size_t length = bytes - from < WINDOW ? bytes - from : WINDOW;
    while (length > 0 && from + length < bytes && kiln__utf8_continues(line[from + length]))
        length--;
    memcpy(text, line + from, length);
    text[length] = '\0';
    for (size_t k = 0; k < length; k++)
        if ((unsigned char)text[k] < 0x20)
            text[k] = ' ';
    if (!kiln__utf8_check(text, length))
        for (size_t k = 0; k < length; k++)
            if ((unsigned char)text[k] >= 0x80)
                text[k] = '?';
    return kiln__caret(text, at - from, width);
}

/* Columns count characters, from 1. */
static size_t column_of(const char *line, size_t at)
{
    size_t column = 1;

    for (size_t k = 0; k < at; k++)
        column += !kiln__utf8_continues(line[k]);
    return column;
}

kiln_status kiln__manifest_fail(const kiln__manifest_entry *e, size_t at, size_t width,
                                kiln_status status, kiln_error *err, const char *fmt, ...)
{
    char why[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    at = at < e->source_bytes ? at : e->source_bytes;
    (void)kiln__fail_detail(err, status,
                            err != NULL ? window(e->source, e->source_bytes, at, width) : NULL,
                            "%.100s:%zu:%zu: %s", e->file, e->line, column_of(e->source, at), why);
    if (err != NULL)
        err->offset = (int64_t)at;
    return status;
}

size_t kiln__manifest_place(const kiln__manifest_entry *e, const kiln__manifest_word *word,
                            size_t nth)
{
    return kiln__json_place(e->source, e->source_bytes, word->at, nth);
}

/* ---- values ------------------------------------------------------------------------------------ */

/* A list that grows inside the arena. */
typedef struct growing {
    void *items;
    size_t count, capacity, item_bytes;
} growing;

/* Room for one more item, zeroed; NULL after a failure. */
static void *grow(kiln__json *j, growing *g)
{
    if (j->failed)
        return NULL;
    if (g->count == LIST_MAX) {
        kiln__json_fail(j, j->at, 0, "more than %d items in one list", LIST_MAX);
        return NULL;
    }
    if (g->count == g->capacity) {
        const size_t capacity = g->capacity != 0 ? 2 * g->capacity : 4;
        void *items = kiln__arena_alloc(j->arena, capacity * g->item_bytes);
        if (items == NULL) {
            j->no_memory = true;
            kiln__json_fail(j, j->at, 0, "the host is out of memory");
            return NULL;
        }
        if (g->count > 0)
            memcpy(items, g->items, g->count * g->item_bytes);
        g->items = items;
        g->capacity = capacity;
    }
    return (char *)g->items + g->item_bytes * g->count++;
}

/* A list of items that `read` takes one of. `items_out` is the address of a pointer. */
typedef void (*item_fn)(kiln__json *j, void *item);

static void read_list(kiln__json *j, const char *what, size_t item_bytes, item_fn read,
                      void *items_out, size_t *count_out)
{
    growing g = {.item_bytes = item_bytes};
    bool first = true;
    void *item = NULL;

    kiln__json_begin(j, '[', what);
    while (kiln__json_next(j, ']', &first) && (item = grow(j, &g)) != NULL)
        read(j, item);
    memcpy(items_out, &g.items, sizeof g.items);
    *count_out = g.count;
}

static void read_word(kiln__json *j, void *item)
{
    kiln__json_string(j, item);
}

static void read_option(kiln__json *j, void *item)
{
    const char **option = item;
    kiln__manifest_word word;

    if (kiln__json_string(j, &word))
        *option = word.text;
}

/* {"T": "float32"}, {"x": "float32"}. Whether letters or names must stand here is known at the end
 * of the line. */
static void read_binding(kiln__json *j, void *item)
{
    kiln__manifest_types *types = item;
    growing g = {.item_bytes = sizeof(kiln__manifest_input)};
    kiln__manifest_word name, dtype;
    bool first = true;

    (void)kiln__json_peek(j);
    types->at = j->at;
    kiln__json_begin(j, '{', "an object such as {\"T\": \"float32\"}");
    while (kiln__json_next(j, '}', &first)) {
        if (!kiln__json_string(j, &name))
            return;
        for (size_t k = 0; k < types->input_count; k++)
            if (strcmp(types->inputs[k].name.text, name.text) == 0)
                kiln__json_fail(j, name.at - 1, strlen(name.text) + 2,
                                "the type of \"%.60s\" is given twice", name.text);
        if (!kiln__json_expect(j, ':', "`:`") || !kiln__json_string(j, &dtype))
            return;
        const kiln_dtype found = kiln_dtype_from_name(dtype.text, strlen(dtype.text));
        if (found == KILN_DTYPE_NONE)
            kiln__json_fail(j, dtype.at - 1, strlen(dtype.text) + 2, "there is no dtype \"%.40s\"",
                            dtype.text);
        kiln__manifest_input *input = grow(j, &g);
        if (input == NULL)
            return;
        *input = (kiln__manifest_input){name, found};
        types->inputs = g.items;
        types->input_count = g.count;
    }
}

/* Types of placeholders: letters. */
static void take_letters(kiln__json *j, kiln__manifest_types *types)
{
    for (size_t k = 0; k < types->input_count; k++) {
        const kiln__manifest_input *input = &types->inputs[k];
        const unsigned char letter = (unsigned char)input->name.text[0];
        if (letter == '\0' || letter >= 128 || input->name.text[1] != '\0')
            kiln__json_fail(j, input->name.at - 1, strlen(input->name.text) + 2,
                            "a placeholder is one letter, such as \"T\"");
        else
            types->dtype[letter] = (uint8_t)input->dtype;
    }
    types->input_count = 0;
}

static void read_extents(kiln__json *j, kiln__manifest_shape *shape)
{
    int64_t size = 1, extent = 0;
    bool first = true;

    (void)kiln__json_peek(j);
    shape->at = j->at;
    kiln__json_begin(j, '[', "a shape such as [1024, 1024]");
    while (kiln__json_next(j, ']', &first)) {
        (void)kiln__json_peek(j);
        const size_t at = j->at;
        if (!kiln__json_integer(j, 1, INT64_C(1) << 48, &extent))
            return;
        if (shape->rank == KILN_RANK_MAX || kiln__mul_overflow(size, extent, &size) ||
            size > INT64_C(1) << 48) {
            kiln__json_fail(j, at, j->at - at, "a shape of more than 32 axes or 2^48 elements");
            return;
        }
        shape->extent[shape->rank++] = extent;
    }
}

/* [1024, 1024] or {"x": [1024, 1024], "y": [1024]}. */
static void read_shape_set(kiln__json *j, void *item)
{
    kiln__manifest_shapes *set = item;
    growing g = {.item_bytes = sizeof(kiln__manifest_shape)};
    kiln__manifest_shape *shape;
    kiln__manifest_word name;
    bool first = true;

    const char c = kiln__json_peek(j);
    set->at = j->at;
    if (c != '{') {
        shape = grow(j, &g);
        if (shape != NULL)
            read_extents(j, shape);
    } else {
        kiln__json_begin(j, '{', "`{`");
        while (kiln__json_next(j, '}', &first)) {
            if (!kiln__json_string(j, &name) || (shape = grow(j, &g)) == NULL)
                break;
            const kiln__manifest_shape *all = g.items;
            for (size_t k = 0; k + 1 < g.count; k++)
                if (strcmp(all[k].param, name.text) == 0)
                    kiln__json_fail(j, name.at - 1, strlen(name.text) + 2,
                                    "the shape of \"%.40s\" is given twice", name.text);
            shape->param = name.text;
            if (kiln__json_expect(j, ':', "`:`"))
                read_extents(j, shape);
            shape->at = name.at;
        }
    }
    set->items = g.items;
    set->count = g.count;
}

static void add_axis(kiln__json *j, kiln__manifest_axes *axes)
{
    int64_t axis = 0;

    (void)kiln__json_peek(j);
    const size_t at = j->at;
    if (!kiln__json_integer(j, -KILN_RANK_MAX, KILN_RANK_MAX - 1, &axis))
        return;
    for (int k = 0; k < axes->count; k++)
        if (axes->axis[k] == axis) {
            kiln__json_fail(j, at, j->at - at, "this axis is given twice");
            return;
        }
    if (axes->count == KILN_RANK_MAX)
        kiln__json_fail(j, at, j->at - at, "more than 32 axes");
    else
        axes->axis[axes->count++] = (int)axis;
}

static void read_axis_list(kiln__json *j, void *item)
{
    kiln__manifest_axes *axes = item;
    bool first = true;

    (void)kiln__json_peek(j);
    axes->at = j->at;
    axes->all = kiln__json_null(j);
    if (axes->all)
        return;
    kiln__json_begin(j, '[', "null or a list of axes");
    while (kiln__json_next(j, ']', &first))
        add_axis(j, axes);
}

/* null, [-1], or a list of such. */
static void read_axes(kiln__json *j, kiln__manifest_entry *e)
{
    const kiln__json start = *j;
    bool several = false;

    if (kiln__json_peek(j) == '[') {
        j->at++;
        several = kiln__json_peek(j) == '[' || kiln__json_peek(j) == 'n';
    }
    *j = start;
    if (several) {
        read_list(j, "a list of axes", sizeof *e->axes, read_axis_list, &e->axes, &e->axes_count);
        return;
    }
    growing g = {.item_bytes = sizeof *e->axes};
    e->axes = grow(j, &g);
    e->axes_count = g.count;
    if (e->axes != NULL)
        read_axis_list(j, e->axes);
}

/* The fields of a small object, each a string: {"name": "e", ...}. What is missing stays NULL. */
static void read_texts(kiln__json *j, const char *const *names, size_t count,
                       kiln__manifest_word *out, const char *what)
{
    kiln__manifest_word name;
    bool first = true;

    kiln__json_begin(j, '{', what);
    while (kiln__json_next(j, '}', &first)) {
        size_t f = 0;
        if (!kiln__json_string(j, &name))
            return;
        while (f < count && strcmp(names[f], name.text) != 0)
            f++;
        if (f == count || out[f].text != NULL) {
            kiln__json_fail(j, name.at - 1, strlen(name.text) + 2,
                            f == count ? "there is no field \"%.60s\" here"
                                       : "\"%.60s\" is given twice", name.text);
            return;
        }
        if (kiln__json_expect(j, ':', "`:`"))
            kiln__json_string(j, &out[f]);
    }
}

static void read_stage(kiln__json *j, void *item)
{
    static const char *const names[] = {
#define STAGE_NAME(id, name) name,
        KILN__MANIFEST_STAGE_TEXTS(STAGE_NAME)
#undef STAGE_NAME
    };
    kiln__manifest_stage *stage = item;

    read_texts(j, names, KILN_COUNT_OF(names), stage->text, "a stage");
}

static void read_value(kiln__json *j, void *item)
{
    static const char *const names[] = {"type", "name"};
    kiln__manifest_value *value = item;
    kiln__manifest_word both[2] = {{NULL, 0}, {NULL, 0}};

    (void)kiln__json_peek(j);
    const size_t at = j->at;
    read_texts(j, names, 2, both, "an object such as {\"type\": \"float\", \"name\": \"e\"}");
    if (both[0].text == NULL || both[1].text == NULL)
        kiln__json_fail(j, at, 1, "a value needs \"type\" and \"name\"");
    *value = (kiln__manifest_value){both[0], both[1]};
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* What stands behind a name in a list of fields: '!', '=' (and `*bit`), ' '; 0 where it is not in
 * it. */
static char mark_in(const char *list, const char *name, unsigned *bit)
{
    const size_t bytes = strlen(name);

    for (const char *at = list; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, bytes) != 0 || strchr("!= ", at[bytes]) == NULL)
            continue;
        if (at[bytes] == '=')
            *bit = (unsigned)strtoul(at + bytes + 1, NULL, 10);
        return at[bytes] != '\0' ? at[bytes] : ' ';
    }
    return 0;
}

char kiln__manifest_mark(const kiln__manifest_kind *kind, const char *name, unsigned *bit)
{
    const char own = mark_in(kind->fields, name, bit);
    bool defines = true;

    for (size_t k = 0; k < KILN_COUNT_OF(others); k++)
        defines = defines && kind->fields != others[k]->fields;
    return own != 0 || !defines ? own : mark_in(definition_fields, name, bit);
}

/* What a field holds: a text of the entry, a bool, a list, or what needs a function of its own. */
typedef struct field {
    const char *name;
    int text;                    /* of a text, else -1 */
    size_t flag, list, count;    /* where in the entry; 0, where `kind` is, stands for none */
    size_t item_bytes;
    item_fn item;
    const char *what;
    void (*read)(kiln__json *j, kiln__manifest_entry *e);
} field;

#define AT(member) offsetof(kiln__manifest_entry, member)
#define TEXT(id) .text = KILN__MANIFEST_##id
#define FLAG(member) .text = -1, .flag = AT(member)
#define LIST(member, member_count, read, description)                                              \
    .text = -1, .list = AT(member), .count = AT(member_count), .item = (read),                     \
    .item_bytes = sizeof *((kiln__manifest_entry *)0)->member, .what = (description)

static const field fields[] = {
    {"name", TEXT(NAME)},
    {"text", TEXT(TEXT)},
    {"in", TEXT(IN)},
    {"out", TEXT(OUT)},
    {"row_out", TEXT(ROW_OUT)},
    {"op", TEXT(OP)},
    {"preamble", TEXT(PREAMBLE)},
    {"loop_prep", TEXT(LOOP_PREP)},
    {"after_loop", TEXT(AFTER_LOOP)},
    {"map", TEXT(MAP)},
    {"reduce", TEXT(REDUCE)},
    {"post", TEXT(POST)},
    {"identity", TEXT(IDENTITY)},
    {"reduce_type", TEXT(REDUCE_TYPE)},
    {"where", TEXT(WHERE)},
    {"otherwise", TEXT(OTHERWISE)},
    {"named", TEXT(NAMED)},
    {"source", TEXT(SOURCE)},
    {"template", TEXT(TEMPLATE)},
    {"keep_axes", FLAG(keep_axes)},
    {"wide", FLAG(wide)},
    {"stages", LIST(stages, stage_count, read_stage, "a list of stages")},
    {"values", LIST(values, value_count, read_value, "a list of values")},
    {"options", LIST(options, option_count, read_option, "a list of strings")},
    {"names", LIST(names, name_count, read_option, "a list of strings")},
    {"types", LIST(types, type_count, read_binding, "a list such as [{\"T\": \"float32\"}]")},
    {"axes", .text = -1, .read = read_axes},
    {"shapes", LIST(shapes, shape_count, read_shape_set, "a list such as [[1024, 1024]]")},
    {"scalars", LIST(scalars, scalar_count, read_word, "a list of strings")},
    {"layouts", LIST(layouts, layout_count, read_word, "a list of strings")},
};

static void read_content(kiln__json *j, const field *f, kiln__manifest_entry *e)
{
    unsigned char *const base = (unsigned char *)e;

    if (f->text >= 0)
        kiln__json_string(j, &e->text[f->text]);
    else if (f->read != NULL)
        f->read(j, e);
    else if (f->list != 0)
        read_list(j, f->what, f->item_bytes, f->item, base + f->list,
                  (size_t *)(void *)(base + f->count));
    else
        kiln__json_bool(j, (bool *)(base + f->flag));
    e->has_scalars |= f->list == AT(scalars);
}

/* A flag of calls, which some kind has. */
typedef struct flag {
    kiln__manifest_word name;
    bool set;
} flag;

/* Where in `fields` the entry got something; the bit behind them stands for "kind". */
typedef struct reading {
    const kiln__manifest *m;
    kiln__json *j;
    kiln__manifest_entry *e;
    unsigned seen;
    size_t at[KILN_COUNT_OF(fields)];
    flag flags[8];
    size_t flag_count;
} reading;

static void read_kind(reading *r)
{
    kiln__manifest_word kind;

    if (!kiln__json_string(r->j, &kind))
        return;
    char known[200];
    size_t used = 0;
    for (size_t k = 0; k < r->m->kind_count; k++) {
        if (strcmp(kind.text, r->m->kinds[k].name) == 0) {
            r->e->kind = &r->m->kinds[k];
            return;
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s\"%.20s\"",
                                 k == 0                      ? ""
                                 : k + 1 < r->m->kind_count ? ", "
                                                             : " or ",
                                 r->m->kinds[k].name);
        used = used < sizeof known ? used : sizeof known - 1;
    }
    kiln__json_fail(r->j, kind.at - 1, strlen(kind.text) + 2, "a kind is %s, not \"%.40s\"", known,
                    kind.text);
}

static void read_flag(reading *r, const kiln__manifest_word *name)
{
    const char *wrong = NULL;
    unsigned bit;
    size_t k = 0;

    while (k < r->m->kind_count && mark_in(r->m->kinds[k].fields, name->text, &bit) != '=')
        k++;
    if (k == r->m->kind_count || r->flag_count == KILN_COUNT_OF(r->flags))
        wrong = "there is no field \"%.60s\"";
    for (size_t f = 0; f < r->flag_count; f++)
        if (strcmp(r->flags[f].name.text, name->text) == 0)
            wrong = "\"%.60s\" is given twice";
    if (wrong != NULL) {
        kiln__json_fail(r->j, name->at - 1, strlen(name->text) + 2, wrong, name->text);
        return;
    }
    r->flags[r->flag_count].name = *name;
    if (kiln__json_expect(r->j, ':', "`:`"))
        kiln__json_bool(r->j, &r->flags[r->flag_count++].set);
}

static void read_field(reading *r)
{
    const size_t kind = KILN_COUNT_OF(fields);
    kiln__manifest_word name;
    size_t f = 0;

    if (!kiln__json_string(r->j, &name))
        return;
    while (f < kind && strcmp(fields[f].name, name.text) != 0)
        f++;
    if (f == kind && strcmp(name.text, "kind") != 0) {
        read_flag(r, &name);
        return;
    }
    if (r->seen & 1u << f) {
        kiln__json_fail(r->j, name.at - 1, strlen(name.text) + 2, "\"%s\" is given twice",
                        name.text);
        return;
    }
    r->seen |= 1u << f;
    if (!kiln__json_expect(r->j, ':', "`:`"))
        return;
    if (f == kind) {
        read_kind(r);
        return;
    }
    r->at[f] = name.at - 1;
    read_content(r->j, &fields[f], r->e);
}

/* Fields that the kind lacks or needs; known only at the end of the line. */
static void check_fields(reading *r)
{
    const kiln__manifest_kind *kind = r->e->kind;
    const bool named = r->e->text[KILN__MANIFEST_NAMED].text != NULL;
    char what[60];
    unsigned bit = 0;

    if (kind == NULL) {
        kiln__json_fail(r->j, 0, 1, "\"kind\" is missing");
        return;
    }
    snprintf(what, sizeof what, "%s %.50s", strchr("aeiou", kind->noun[0]) != NULL ? "an" : "a",
             kind->noun);
    for (size_t f = 0; f < KILN_COUNT_OF(fields); f++) {
        const bool seen = (r->seen & 1u << f) != 0;
        const size_t width = strlen(fields[f].name) + 2;
        if (seen && kiln__manifest_mark(kind, fields[f].name, &bit) == 0)
            kiln__json_fail(r->j, r->at[f], width, "%s has no \"%s\"", what, fields[f].name);
        if (seen && named && fields[f].text >= 0 && fields[f].text != KILN__MANIFEST_NAMED)
            kiln__json_fail(r->j, r->at[f], width, "a named reduction has no \"%s\" of its own",
                            fields[f].name);
    }
    for (size_t k = 0; k < r->flag_count; k++) {
        const kiln__manifest_word *name = &r->flags[k].name;
        if (kiln__manifest_mark(kind, name->text, &bit) != '=')
            kiln__json_fail(r->j, name->at - 1, strlen(name->text) + 2, "%s has no \"%s\"", what,
                            name->text);
        r->e->flags |= r->flags[k].set ? bit : 0;
    }
    for (size_t f = 0; f < KILN_COUNT_OF(fields); f++)
        if (!(r->seen & 1u << f) && !named &&
            kiln__manifest_mark(kind, fields[f].name, &bit) == '!')
            kiln__json_fail(r->j, 0, 1, "\"%s\" is missing; %s needs it", fields[f].name, what);
    const bool letters = r->e->text[KILN__MANIFEST_TEXT].text == NULL;
    if (!letters && r->e->type_count == 0)
        kiln__json_fail(r->j, 0, 1, "\"types\" names no inputs; %s needs some", what);
    for (size_t k = 0; letters && k < r->e->type_count; k++)
        take_letters(r->j, &r->e->types[k]);
}

static void read_object(reading *r)
{
    bool first = true;

    kiln__json_begin(r->j, '{', "an object");
    while (kiln__json_next(r->j, '}', &first))
        read_field(r);
    (void)kiln__json_peek(r->j);
    if (!r->j->failed && r->j->at < r->j->bytes)
        kiln__json_fail(r->j, r->j->at, 1, "one line holds one object; this stands behind it");
    check_fields(r);
}

static kiln_status keep(kiln__manifest *m, kiln__manifest_entry *e, kiln_error *err)
{
    if (!kiln__reserve(&m->entries, m->count, &m->capacity, sizeof *m->entries))
        return kiln__fail_memory(err, m->count * sizeof *m->entries);
    m->entries[m->count++] = e;
    return KILN_OK;
}

static kiln_status read_line(kiln__manifest *m, const char *file, size_t nth, const char *line,
                             size_t bytes, kiln_error *err)
{
    kiln__manifest_entry *e = kiln__arena_alloc(&m->arena, sizeof *e);
    kiln__json j = {.line = line, .bytes = bytes, .arena = &m->arena};
    reading r = {.m = m, .j = &j, .e = e};

    if (e == NULL)
        return kiln__fail_memory(err, sizeof *e);
    e->file = file;
    e->line = nth;
    e->source = line;
    e->source_bytes = bytes;
    if (bytes >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
        kiln__json_fail(&j, 0, 0, "a byte order mark stands before the line");
    else if (bytes > LINE_BYTES_MAX)
        kiln__json_fail(&j, 0, 0, "a line of %zu bytes is no line of a manifest", bytes);
    else
        read_object(&r);
    if (!j.failed)
        return keep(m, e, err);
    return kiln__manifest_fail(e, j.bad_at, j.bad_width,
                               j.no_memory ? KILN_ERR_NO_MEMORY : KILN_ERR_FORMAT, err, "%s",
                               j.why);
}

static bool is_blank(const char *line, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        if (strchr(" \t\r", line[k]) == NULL || line[k] == '\0')
            return false;
    return true;
}

kiln_status kiln__manifest_read(kiln__manifest *m, const char *file, const char *text,
                                size_t bytes, void (*bad)(void *user, const kiln_error *err),
                                void *user, kiln_error *err)
{
    char *own = kiln__arena_alloc(&m->arena, bytes + 1);
    char *name = kiln__arena_alloc(&m->arena, strlen(file) + 1);
    kiln_status first = KILN_OK;
    size_t nth = 0;

    if (own == NULL || name == NULL)
        return kiln__fail_memory(err, bytes + 1);
    if (bytes > 0)
        memcpy(own, text, bytes);
    memcpy(name, file, strlen(file) + 1);
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(own + at, '\n', bytes - at);
        const size_t length = (end != NULL ? (size_t)(end - own) : bytes) - at;
        kiln_error one = KILN_ERROR_INIT;
        kiln_status status = KILN_OK;
        nth++;
        if (!is_blank(own + at, length))
            status = read_line(m, name, nth, own + at, length, &one);
        if (status != KILN_OK && bad != NULL)
            bad(user, &one);
        if (status != KILN_OK && first == KILN_OK)
            first = kiln__error_copy(err, &one);
        kiln_error_clear(&one);
        if (status == KILN_ERR_NO_MEMORY)
            break;
        at += length + 1;
    }
    return first;
}
