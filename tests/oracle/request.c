/*
 * request.c - read a kernel's request and generate its source; see request.h.
 *
 * Rule: the reader accepts what request.h shows and nothing else, so that a test cannot pass
 * because a line was overlooked.
 */
#include "oracle/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything the text says, before it is put together. */
typedef struct reading {
    char name[64], in[512], out[512];
    char snippet[KILN__SNIPPET_COUNT][REQUEST_TEXT_MAX];
    char options[REQUEST_OPTIONS_MAX][128];
    size_t option_count;
    bool keep_axes;
    kiln_backend backend;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    const kiln__family *family;
    bool along[KILN_RANK_MAX];
    unsigned flags; /* of a scan */
    kiln__operand operand[KILN_PARAM_MAX];
    int64_t dims[KILN_PARAM_MAX][2 * KILN_RANK_MAX];
    kiln_dtype dtype[KILN_PARAM_MAX];
    size_t arg_count;
} reading;

static bool wrong(request *r, const char *what, const char *line)
{
    snprintf(r->why, sizeof r->why, "%s: \"%.200s\"", what, line);
    return false;
}

/* Numbers divided by `between`; how many, or -1. */
static int read_numbers(const char *text, char between, int64_t *out)
{
    int count = 0;
    char *end = NULL;

    if (strcmp(text, "-") == 0 || *text == '\0')
        return 0;
    for (;;) {
        if (count == KILN_RANK_MAX)
            return -1;
        out[count++] = strtoll(text, &end, 0);
        if (end == text)
            return -1;
        if (*end == '\0')
            return count;
        if (*end != between)
            return -1;
        text = end + 1;
    }
}

/* "float32 64x128 512,4 @0" or "float32 scalar" */
static bool read_arg(request *r, reading *d, const char *text)
{
    char dtype[32], shape[256], strides[512];
    unsigned long long address = 0;
    size_t p = d->arg_count++;
    kiln__operand *o = &d->operand[p];
    int fields;

    if (p >= KILN_PARAM_MAX)
        return wrong(r, "too many arguments", text);
    fields = sscanf(text, "%31s %255s %511s @%llu", dtype, shape, strides, &address);
    d->dtype[p] = fields > 0 ? kiln_dtype_from_name(dtype, strlen(dtype)) : KILN_DTYPE_NONE;
    if (d->dtype[p] == KILN_DTYPE_NONE)
        return wrong(r, "no dtype", text);
    o->itemsize = (uint8_t)kiln_dtype_size(d->dtype[p]);
    if (fields == 2 && strcmp(shape, "scalar") == 0)
        return true;
    if (fields != 4)
        return wrong(r, "dtype, shape, strides and address wanted", text);
    o->is_array = true;
    o->rank = read_numbers(shape, 'x', d->dims[p]);
    if (o->rank < 0 || read_numbers(strides, ',', d->dims[p] + KILN_RANK_MAX) != o->rank)
        return wrong(r, "shape and strides do not fit", text);
    o->shape = d->dims[p];
    o->strides = d->dims[p] + KILN_RANK_MAX;
    o->address = (uintptr_t)address;
    o->contiguous = true;
    int64_t unit = o->itemsize;
    for (int a = o->rank - 1; a >= 0; a--) {
        o->contiguous &= o->shape[a] == 1 || o->strides[a] == unit;
        unit *= o->shape[a];
    }
    return true;
}

static bool append_line(request *r, char *to, size_t room, const char *line)
{
    size_t used = strlen(to);

    if (used + strlen(line) + 2 > room)
        return wrong(r, "too long", line);
    snprintf(to + used, room - used, "%s%s", used > 0 ? "\n" : "", line);
    return true;
}

static bool read_axes(request *r, reading *d, const char *text)
{
    int64_t axes[KILN_RANK_MAX];
    int count = read_numbers(text, ' ', axes);

    d->family = &kiln__family_reduction;
    for (int k = 0; k < count; k++) {
        if (axes[k] < 0 || axes[k] >= KILN_RANK_MAX)
            return wrong(r, "no axis", text);
        d->along[axes[k]] = true;
    }
    return count >= 0 || wrong(r, "no axes", text);
}

/* "1 exclusive reverse" */
static bool read_scan(request *r, reading *d, const char *text)
{
    char axis[8], flag[2][16];
    const int fields = sscanf(text, "%7s %15s %15s", axis, flag[0], flag[1]);

    d->family = &kiln__family_scan;
    if (fields < 1)
        return wrong(r, "no axis", text);
    for (int a = 0; a < KILN_RANK_MAX; a++)
        d->along[a] = strcmp(axis, "-") == 0 || a == atoi(axis);
    for (int k = 0; k < fields - 1; k++) {
        const unsigned given = strcmp(flag[k], "exclusive") == 0 ? KILN__SCAN_EXCLUSIVE
                               : strcmp(flag[k], "reverse") == 0 ? KILN__SCAN_REVERSE
                                                                 : 0;
        if (given == 0)
            return wrong(r, "neither exclusive nor reverse", text);
        d->flags |= given;
    }
    return true;
}

/* One line: a word, a blank, the rest. */
static bool read_line(request *r, reading *d, const char *line)
{
    const char *rest = strchr(line, ' ');
    size_t length = rest != NULL ? (size_t)(rest - line) : strlen(line);

#define IS(word) (strlen(word) == length && strncmp(line, word, length) == 0)
    rest = rest != NULL ? rest + 1 : "";
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        if (IS(kiln__snippet_name((kiln__snippet_kind)k)))
            return append_line(r, d->snippet[k], sizeof d->snippet[k], rest);
    if (IS("name"))
        return append_line(r, d->name, sizeof d->name, rest);
    if (IS("in"))
        return append_line(r, d->in, sizeof d->in, rest);
    if (IS("out"))
        return append_line(r, d->out, sizeof d->out, rest);
    if (IS("option") && d->option_count < REQUEST_OPTIONS_MAX)
        return append_line(r, d->options[d->option_count++], sizeof d->options[0], rest);
    if (IS("keep_axes"))
        return d->keep_axes = true;
    if (IS("listed")) /* as a call of several lists */
        return (d->flags |= KILN__CALL_LISTED) != 0;
    if (IS("backend")) {
        d->backend = strcmp(rest, "cpu") == 0 ? KILN_BACKEND_CPU : KILN_BACKEND_CUDA;
        return strcmp(rest, "cpu") == 0 || strcmp(rest, "cuda") == 0 ||
               wrong(r, "no backend", line);
    }
    if (IS("shape")) {
        d->rank = read_numbers(rest, ' ', d->shape);
        return d->rank >= 0 || wrong(r, "no shape", line);
    }
    if (IS("axes"))
        return read_axes(r, d, rest);
    if (IS("scan"))
        return read_scan(r, d, rest);
    if (IS("filter")) {
        d->family = &kiln__family_filter;
        return memset(d->along, true, sizeof d->along) != NULL;
    }
    if (IS("arg"))
        return read_arg(r, d, rest);
#undef IS
    return wrong(r, "not understood", line);
}

static bool read_text(request *r, reading *d, const char *text)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, "\n");
        char line[1024];

        if (bytes >= sizeof line)
            return wrong(r, "line too long", text);
        memcpy(line, text, bytes);
        line[bytes] = '\0';
        text += bytes + (text[bytes] == '\n');
        if (strncmp(line, "----", 4) == 0)
            return true;
        if (line[0] != '\0' && line[0] != '#' && !read_line(r, d, line))
            return false;
    }
    return true;
}

static bool define(request *r, const reading *d)
{
    const char *options[REQUEST_OPTIONS_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln__definition_request asked = {.name = d->name[0] != '\0' ? d->name : NULL,
                                      .in = d->in,
                                      .out = d->out,
                                      .options = options,
                                      .option_count = d->option_count,
                                      .keep_axes = d->keep_axes,
                                      .family = d->family};

    for (size_t k = 0; k < d->option_count; k++)
        options[k] = d->options[k];
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        asked.snippet[k] = d->snippet[k][0] != '\0' ? d->snippet[k] : NULL;
    if (kiln__definition_create(&asked, &r->def, &err) != KILN_OK)
        wrong(r, "no definition", err.message);
    kiln_error_clear(&err);
    return r->def != NULL;
}

bool request_emit(request *r, const char *text, int backend)
{
    kiln_error err = KILN_ERROR_INIT;
    reading *d = calloc(1, sizeof *d);
    bool ok = false;

    memset(r, 0, sizeof *r);
    if (d == NULL)
        return wrong(r, "no memory", "");
    d->backend = KILN_BACKEND_CUDA;
    if (!read_text(r, d, text) || !define(r, d))
        goto done;
    if (d->arg_count != r->def->param_count) {
        wrong(r, "one arg a parameter wanted", d->in);
        goto done;
    }
    for (size_t p = 0; p < d->arg_count; p++) {
        d->operand[p].raw = r->def->params[p].raw;
        d->operand[p].written = r->def->params[p].output;
        d->operand[p].by_address = r->def->params[p].by_address;
        r->dtypes[p] = d->dtype[p];
    }
    if (backend == 0)
        backend = (int)d->backend;
    const kiln__plan_request call = {.def = r->def,
                                     .device = {(kiln_backend)backend, REQUEST_UNITS, false, false},
                                     .dtypes = r->dtypes,
                                     .operands = d->operand,
                                     .rank = d->rank,
                                     .shape = d->shape,
                                     .along = d->along,
                                     .flags = d->flags};
    kiln__plan_make(&call, &r->plan);
    ok = kiln__emit(r->def, &r->plan.variant, &r->source, &err) == KILN_OK ||
         wrong(r, "no source", err.message);

done:
    kiln_error_clear(&err);
    free(d);
    return ok;
}

void request_clear(request *r)
{
    kiln__definition_destroy(r->def);
    kiln__source_clear(&r->source);
    r->def = NULL;
}
