/*
 * variant_text.c - a variant as one line of text, and back.
 *
 *     plan > [variant <-> text] > manifest > emit
 *
 *     cuda/1 linear rank=1 bits=64 vec=4 unroll=1 block=256 args=vector,vector,scalar,vector
 *
 * A backend with the version of these words, the layout class, every field that is not zero, how
 * each parameter is reached. Dtypes are left out: a definition and the dtypes of its placeholders
 * say them. What a recorded manifest promises, no compilation at all, rests on text and variant
 * being one and the same.
 *
 * Rule 1: every number of kiln__variant is among the fields of its family, whose words templates use
 *         as well; a test fills a variant with bytes and compares what comes back.
 * Rule 2: parsed text comes from files: nothing passes that the emitter could stumble over.
 * Rule 3: raise VERSION when a word changes its meaning.
 *
 * src/kernel and src/warm call this file. Tests: test_record, test_plan_random.
 */
#include <stdio.h>

#include "codegen/codegen.h"

enum { VERSION = 1, WORD_MAX = 64 };

/* KILN__ACCESS_RAW is written with its rank: "raw2", "raw2c" when contiguous; KILN__ACCESS_WINDOW
 * with the window, and rows and elements from its corner: "window0/1/2"; KILN__ACCESS_STAGED with the
 * side, whether loads go along it, and elements of a load: "staged0/0/4". */
static const char *const accesses[] = {
    [KILN__ACCESS_SCALAR] = "scalar", [KILN__ACCESS_RAW] = "raw",
    [KILN__ACCESS_ONE] = "one",       [KILN__ACCESS_VECTOR] = "vector",
    [KILN__ACCESS_SPLAT] = "splat",   [KILN__ACCESS_STRIDED] = "strided",
    [KILN__ACCESS_TILE] = "tile",     [KILN__ACCESS_COLUMN] = "column",
    [KILN__ACCESS_ONCE] = "once",     [KILN__ACCESS_WINDOW] = "window",
    [KILN__ACCESS_STAGED] = "staged", [KILN__ACCESS_BACK] = "back",
};

const char *kiln__layout_name(kiln__layout layout)
{
    static const char *const names[] = {"linear",  "inner", "transpose", "general", "rows",
                                        "columns", "held",  "reread",    "window", "tile"};
    return (unsigned)layout < KILN_COUNT_OF(names) ? names[layout] : "unknown";
}

static const char *backend_name(int backend)
{
    return backend == KILN_BACKEND_CUDA ? "cuda" : "cpu";
}

static int get_field(const kiln__variant *v, const kiln__variant_field *field)
{
    const unsigned char *at = (const unsigned char *)v + field->at;
    uint16_t wide = 0;

    if (field->bytes == 1)
        return *at;
    memcpy(&wide, at, sizeof wide);
    return wide;
}

static void set_field(kiln__variant *v, const kiln__variant_field *field, int value)
{
    unsigned char *at = (unsigned char *)v + field->at;
    const uint16_t wide = (uint16_t)value;

    if (field->bytes == 1)
        *at = (uint8_t)value;
    else
        memcpy(at, &wide, sizeof wide);
}

static const kiln__variant_field *find_field(const kiln__family *family, const char *name,
                                             size_t bytes)
{
    for (size_t f = 0; f < family->field_count; f++)
        if (kiln__same_word(name, bytes, family->fields[f].name))
            return &family->fields[f];
    return NULL;
}

int kiln__variant_number(const kiln__variant *v, const char *name, size_t bytes)
{
    const kiln__variant_field *field = find_field(v->family, name, bytes);
    return field != NULL ? get_field(v, field) : -1;
}

/* ---- to text ----------------------------------------------------------------------------------- */

void kiln__variant_print(const kiln__variant *v, kiln__buf *out)
{
    kiln__buf_printf(out, "%s/%d %s", backend_name(v->backend), VERSION,
                     kiln__layout_name((kiln__layout)v->layout));
    for (size_t f = 0; f < v->family->field_count; f++) {
        const int value = get_field(v, &v->family->fields[f]);
        if (value != 0)
            kiln__buf_printf(out, " %s=%d", v->family->fields[f].name, value);
    }
    kiln__buf_puts(out, " args=");
    for (size_t p = 0; p < v->param_count; p++) {
        const unsigned access = v->access[p];
        kiln__buf_printf(out, "%s%s", p > 0 ? "," : "",
                         access < KILN_COUNT_OF(accesses) ? accesses[access] : "?");
        if (access == KILN__ACCESS_RAW)
            kiln__buf_printf(out, "%d%s", v->raw_rank[p], v->raw_contiguous[p] ? "c" : "");
        if (access == KILN__ACCESS_WINDOW)
            kiln__buf_printf(out, "%d/%d/%d", v->loop.window[p], v->loop.down[p], v->loop.along[p]);
        if (access == KILN__ACCESS_WINDOW && v->loop.behind[p] != 0)
            kiln__buf_printf(out, "/%d", v->loop.behind[p]);
        if (access == KILN__ACCESS_STAGED)
            kiln__buf_printf(out, "%d/%d/%d", v->reduction.side[p], v->reduction.along_side[p],
                             v->reduction.width[p]);
    }
}

/* ---- from text --------------------------------------------------------------------------------- */

typedef struct reading {
    const char *text;
    const kiln__definition *def;
    kiln__variant *v;
    unsigned seen; /* bits of fields */
    size_t *at, *width;
    kiln_error *err;
} reading;

/* Blame `width` bytes at `word`. */
static kiln_status blame(const reading *r, const char *word, size_t width, const char *why)
{
    *r->at = (size_t)(word - r->text);
    *r->width = width;
    return kiln__fail(r->err, KILN_ERR_FORMAT, "%s: \"%.*s\"", why,
                      (int)(width < WORD_MAX ? width : WORD_MAX), word);
}

/* A number of at most four digits that fills the word; -1 for anything else. */
static int number(const char *word, size_t width)
{
    int value = 0;

    if (width == 0 || width > 4)
        return -1;
    for (size_t k = 0; k < width; k++) {
        if (word[k] < '0' || word[k] > '9')
            return -1;
        value = 10 * value + (word[k] - '0');
    }
    return value;
}

/* "cuda/1". */
static kiln_status read_backend(reading *r, const char *word, size_t width)
{
    const char *slash = memchr(word, '/', width);
    const size_t name = slash != NULL ? (size_t)(slash - word) : width;

    if (kiln__same_word(word, name, "cuda"))
        r->v->backend = KILN_BACKEND_CUDA;
    else if (kiln__same_word(word, name, "cpu"))
        r->v->backend = KILN_BACKEND_CPU;
    else
        return blame(r, word, width, "a layout begins with \"cuda/1\" or \"cpu/1\", not");
    if (slash == NULL || number(slash + 1, width - name - 1) != VERSION)
        return blame(r, word, width, "this version of kiln reads layouts of version 1, not");
    return KILN_OK;
}

static kiln_status read_layout(reading *r, const char *word, size_t width)
{
    for (int l = 0; l < KILN__LAYOUT_COUNT; l++) {
        if (kiln__same_word(word, width, kiln__layout_name((kiln__layout)l))) {
            r->v->layout = (uint8_t)l;
            if ((r->def->family->layouts >> l & 1u) == 0)
                return blame(r, word, width, "this kind of kernel has no layout class");
            return KILN_OK;
        }
    }
    return blame(r, word, width, "there is no layout class");
}

/* "window0/1/2", "staged0/0/4": three numbers behind a word of six letters, or `most`; those that are
 * not there are 0. */
static kiln_status read_parts(reading *r, size_t p, const char *const text, size_t width, int *part,
                              size_t most)
{
    const kiln__param *param = &r->def->params[p];
    const char *word = text + 6;

    for (size_t k = 0; k < most && (k < 3 || word < text + width); k++) {
        if (k == 3 && *word != '/')
            break;
        word += k == 3;
        const size_t digits = strspn(word, "0123456789");
        part[k] = number(word, digits);
        word += digits;
        if (part[k] < 0 || (k < 2 && *word++ != '/'))
            return blame(r, text, width, "this way to reach a parameter wants three numbers, not");
    }
    if (word != text + width)
        return blame(r, text, width, "no window or tile, or no place in it");
    if (param->raw || param->output || param->by_address)
        return blame(r, text, width, "this parameter cannot be in a window or a tile");
    return KILN_OK;
}

static kiln_status read_window(reading *r, size_t p, const char *word, size_t width)
{
    int part[4] = {0};
    const kiln_status status = read_parts(r, p, word, width, part, KILN_COUNT_OF(part));

    if (status != KILN_OK)
        return status;
    if (part[0] >= (int)r->def->param_count || part[1] > KILN__WINDOW_DOWN_MAX ||
        part[2] > KILN__WINDOW_ALONG_MAX || part[3] > KILN__WINDOW_BEHIND_MAX)
        return blame(r, word, width, "no window or tile, or no place in it");
    r->v->access[p] = KILN__ACCESS_WINDOW;
    r->v->loop.window[p] = (uint8_t)part[0];
    r->v->loop.down[p] = (uint8_t)part[1];
    r->v->loop.along[p] = (uint8_t)part[2];
    r->v->loop.behind[p] = (uint8_t)part[3];
    return KILN_OK;
}

static kiln_status read_staged(reading *r, size_t p, const char *word, size_t width)
{
    int part[3];
    const kiln_status status = read_parts(r, p, word, width, part, KILN_COUNT_OF(part));

    if (status != KILN_OK)
        return status;
    if (part[0] > KILN__SIDE_NONE || part[1] > (part[0] != KILN__SIDE_NONE) || part[2] < 1 ||
        part[2] > 16 || (part[2] & (part[2] - 1)) != 0)
        return blame(r, word, width, "no side of a tile, or no access along it, is");
    r->v->access[p] = KILN__ACCESS_STAGED;
    r->v->reduction.side[p] = (uint8_t)part[0];
    r->v->reduction.along_side[p] = (uint8_t)part[1];
    r->v->reduction.width[p] = (uint8_t)part[2];
    return KILN_OK;
}

static kiln_status read_access(reading *r, size_t p, const char *word, size_t width)
{
    const kiln__param *param = &r->def->params[p];

    if (width >= 6 && memcmp(word, "window", 6) == 0)
        return read_window(r, p, word, width);
    if (width >= 6 && memcmp(word, "staged", 6) == 0)
        return read_staged(r, p, word, width);
    if (width > 3 && memcmp(word, "raw", 3) == 0) {
        const bool whole = word[width - 1] == 'c';
        const int rank = number(word + 3, width - 3 - whole);
        if (rank < 0 || rank > KILN_RANK_MAX)
            return blame(r, word, width, "\"raw\" wants a rank from 0 to 32 behind it, not");
        if (!param->raw)
            return blame(r, word, width, "this parameter is not declared raw");
        r->v->access[p] = KILN__ACCESS_RAW;
        r->v->raw_rank[p] = (uint8_t)rank;
        r->v->raw_contiguous[p] = whole;
        return KILN_OK;
    }
    for (size_t a = 0; a < KILN_COUNT_OF(accesses); a++) {
        if (a == KILN__ACCESS_RAW || a == KILN__ACCESS_WINDOW ||
            a == KILN__ACCESS_STAGED || !kiln__same_word(word, width, accesses[a]))
            continue;
        if (param->raw && a != KILN__ACCESS_SCALAR)
            return blame(r, word, width, "this parameter is raw and cannot be");
        if (param->output &&
            (a == KILN__ACCESS_SCALAR ||
             (a == KILN__ACCESS_ONE && (r->def->family->accesses >> a & 1) == 0)))
            return blame(r, word, width, "an output cannot be");
        r->v->access[p] = (uint8_t)a;
        return KILN_OK;
    }
    return blame(r, word, width, "there is no way to reach a parameter");
}

/* "vector,scalar,raw1c": one for each parameter. */
static kiln_status read_args(reading *r, const char *word, size_t width)
{
    const char *at = word, *end = word + width;
    size_t words = r->def->param_count > 0 || width > 0;

    for (const char *c = word; c < end; c++)
        words += *c == ',';
    if (words != r->def->param_count)
        return blame(r, word, width, "there must be one word for each parameter in");
    for (size_t p = 0; p < words; p++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t bytes = (size_t)((comma != NULL ? comma : end) - at);
        KILN_CHECK(read_access(r, p, at, bytes));
        at += bytes + (comma != NULL);
    }
    return KILN_OK;
}

/* "vec=4". */
static kiln_status read_field(reading *r, const char *word, size_t width)
{
    const char *equals = memchr(word, '=', width);
    const size_t name = equals != NULL ? (size_t)(equals - word) : width;
    const kiln__family *family = r->def->family;
    const kiln__variant_field *field = find_field(family, word, name);
    const bool args = field == NULL && kiln__same_word(word, name, "args");

    if (equals == NULL || (field == NULL && !args))
        return blame(r, word, width, "this kind of kernel has no such field of a layout");
    const unsigned bit = 1u << (args ? family->field_count : (size_t)(field - family->fields));
    if (r->seen & bit)
        return blame(r, word, width, "this field stands there already");
    r->seen |= bit;
    if (args)
        return read_args(r, equals + 1, width - name - 1);
    const int value = number(equals + 1, width - name - 1);
    if (value < field->low || value > field->high || (field->power && (value & (value - 1)) != 0))
        return blame(r, word, width, "a value that this field cannot have");
    set_field(r->v, field, value);
    return KILN_OK;
}

/* What must hold among fields. */
static kiln_status check_whole(const reading *r)
{
    const kiln__variant *v = r->v;
    const kiln__family *family = r->def->family;
    const unsigned can = family->accesses | 1u << KILN__ACCESS_SCALAR | 1u << KILN__ACCESS_RAW |
                         1u << KILN__ACCESS_ONE | 1u << KILN__ACCESS_VECTOR |
                         1u << KILN__ACCESS_SPLAT | 1u << KILN__ACCESS_STRIDED;
    const int group = kiln__variant_number(v, "group", 5); /* threads that share a result */
    const char *why = NULL;
    char missing[64];

    for (size_t p = 0; p < v->param_count; p++)
        if ((can >> v->access[p] & 1u) == 0)
            why = "this kind of kernel does not reach a parameter so, unlike";
    if (family->combines && (v->keep_rank == 0 || v->keep_rank >= v->rank))
        why = "keep does not fit in";
    if (group >= 0 && v->backend == KILN_BACKEND_CUDA && (group == 0 || group > v->block))
        why = "group does not fit in";
    for (size_t f = family->field_count; f-- > 0;)
        if (get_field(v, &family->fields[f]) < family->fields[f].low) {
            snprintf(missing, sizeof missing, "%.20s= is missing in", family->fields[f].name);
            why = missing;
        }
    if (!(r->seen & 1u << family->field_count))
        why = "args= is missing in";
    if (why == NULL && family->refuse != NULL)
        why = family->refuse(r->def, v);
    return why == NULL ? KILN_OK : blame(r, r->text, strlen(r->text), why);
}

kiln_status kiln__variant_parse(const char *text, const kiln__definition *def,
                                const kiln_dtype *dtypes, kiln__variant *out, size_t *at_out,
                                size_t *width_out, kiln_error *err)
{
    reading r = {text, def, out, 0, at_out, width_out, err};
    kiln_status status = KILN_OK;
    size_t nth = 0;

    memset(out, 0, sizeof *out);
    out->family = def->family;
    out->param_count = (uint8_t)def->param_count;
    for (size_t p = 0; p < def->param_count; p++)
        out->dtype[p] = (uint8_t)dtypes[p];
    for (const char *word = text; *word != '\0' && status == KILN_OK; nth++) {
        const size_t width = strcspn(word, " ");
        if (nth == 0)
            status = read_backend(&r, word, width);
        else if (nth == 1)
            status = read_layout(&r, word, width);
        else
            status = read_field(&r, word, width);
        word += width;
        word += *word == ' ';
    }
    return status == KILN_OK ? check_whole(&r) : status;
}
