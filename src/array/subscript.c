/*
 * subscript.c - views from text: kiln_array_view(x, "1:-1, ::2, 0, None, ...").
 *
 *     text > [lexed and applied item by item] > slices, indices, new axes > a view
 *
 *     subscript := item (',' item)* ','?
 *     item      := integer | bound? ':' bound? (':' step?)? | '...' | 'Ellipsis' | 'None' | 'newaxis'
 *
 * Rule: each item is applied to the view that the items before it have left, by the functions of
 *       view.c, so that a subscript means what the calls mean.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "array/internal.h"

typedef enum item_kind { ITEM_INDEX, ITEM_SLICE, ITEM_REST, ITEM_NEW } item_kind;

typedef struct item {
    item_kind kind;
    int64_t start, stop, step; /* of a slice; `start` of an index */
    size_t at, width;          /* in the text */
} item;

enum { ITEMS_MAX = 2 * KILN_RANK_MAX + 1 };

typedef struct reader {
    const char *text;
    size_t at;
    kiln_error *err;
} reader;

static void skip_space(reader *r)
{
    while (kiln__is_blank(r->text[r->at]))
        r->at++;
}

static kiln_status syntax(const reader *r, size_t at, size_t width, const char *what)
{
    return kiln__fail_at(r->err, KILN_ERR_SYNTAX, r->text, at, width, "subscript, column %zu: %s",
                         at + 1, what);
}

/* An integer, if one stands here. */
static kiln_status read_integer(reader *r, bool *found, int64_t *out)
{
    const char *const from = r->text + r->at;
    const char *const digits = from + (*from == '-' || *from == '+');
    char *end = NULL;

    *found = isdigit((unsigned char)*digits);
    if (!*found)
        return KILN_OK;
    errno = 0;
    *out = strtoll(from, &end, 10);
    if (errno == ERANGE || *out == KILN_SLICE_OPEN)
        return syntax(r, r->at, (size_t)(end - from), "the number does not fit 64 bits");
    r->at += (size_t)(end - from);
    skip_space(r);
    return KILN_OK;
}

static bool read_word(reader *r, const char *word)
{
    const size_t bytes = strlen(word);
    const char next = strncmp(r->text + r->at, word, bytes) == 0 ? r->text[r->at + bytes] : 'x';

    if (isalnum((unsigned char)next) || next == '_')
        return false;
    r->at += bytes;
    return true;
}

/* What follows the first bound of a slice. */
static kiln_status read_slice(reader *r, item *out)
{
    bool found = false;
    kiln_status status = KILN_OK;

    out->kind = ITEM_SLICE;
    r->at++; /* ':' */
    skip_space(r);
    KILN_TRY(read_integer(r, &found, &out->stop));
    if (r->text[r->at] == ':') {
        r->at++;
        skip_space(r);
        KILN_TRY(read_integer(r, &found, &out->step));
        if (out->step == 0)
            status = syntax(r, out->at, r->at - out->at, "the step of a slice is 0");
    }

done:
    return status;
}

static kiln_status read_item(reader *r, item *out)
{
    bool found = false;
    kiln_status status = KILN_OK;

    *out = (item){ITEM_INDEX, KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1, r->at, 0};
    if (strncmp(r->text + r->at, "...", 3) == 0) {
        out->kind = ITEM_REST;
        r->at += 3;
    } else if (read_word(r, "Ellipsis")) {
        out->kind = ITEM_REST;
    } else if (read_word(r, "None") || read_word(r, "newaxis")) {
        out->kind = ITEM_NEW;
    } else {
        KILN_TRY(read_integer(r, &found, &out->start));
        if (r->text[r->at] == ':')
            KILN_TRY(read_slice(r, out));
        else if (!found)
            status = syntax(r, r->at, 1, "an integer, a slice, None or ... is expected");
    }
    out->width = r->at - out->at;
    skip_space(r);

done:
    return status;
}

static kiln_status read_items(reader *r, item *items, int *count_out)
{
    int count = 0;
    bool rest = false;

    for (skip_space(r); r->text[r->at] != '\0'; skip_space(r)) {
        if (count == ITEMS_MAX)
            return syntax(r, r->at, 1, "too many items");
        KILN_CHECK(read_item(r, &items[count]));
        if (items[count].kind == ITEM_REST && rest)
            return syntax(r, items[count].at, items[count].width, "a second ...");
        rest = rest || items[count].kind == ITEM_REST;
        count++;
        if (r->text[r->at] != '\0' && r->text[r->at] != ',')
            return syntax(r, r->at, 1, "a comma is expected");
        r->at += r->text[r->at] == ',';
    }
    *count_out = count;
    return KILN_OK;
}

/* Apply one item at `*axis`, which moves on to the axis that the next one concerns. */
static kiln_status apply(const item *i, const kiln_array *array, int *axis, kiln_array **out,
                         kiln_error *err)
{
    switch (i->kind) {
    case ITEM_INDEX:
        return kiln_array_select(array, *axis, i->start, out, err);
    case ITEM_SLICE:
        return kiln_array_slice(array, (*axis)++, i->start, i->stop, i->step, out, err);
    default:
        return kiln_array_newaxis(array, (*axis)++, out, err);
    }
}

kiln_status kiln_array_view(const kiln_array *array, const char *subscript, kiln_array **out,
                            kiln_error *err)
{
    item items[ITEMS_MAX];
    reader r = {subscript, 0, err};
    int count = 0, consumed = 0, axis = 0;
    kiln_array *view = NULL, *next = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(subscript, err);
    KILN_TRY(kiln__array_check(array, NULL, "array", err));
    KILN_TRY(read_items(&r, items, &count));
    for (int k = 0; k < count; k++)
        consumed += items[k].kind == ITEM_INDEX || items[k].kind == ITEM_SLICE;
    if (consumed > array->rank) {
        status = kiln__fail(err, KILN_ERR_AXIS, "the subscript \"%.200s\" names %d axes of %d",
                            subscript, consumed, array->rank);
        goto done;
    }
    KILN_TRY(kiln__array_view(array, array->rank, array->shape, array->strides, array->data, &view,
                              err));
    for (int k = 0; k < count; k++) {
        if (items[k].kind == ITEM_REST) {
            axis += array->rank - consumed;
            continue;
        }
        KILN_TRY(apply(&items[k], view, &axis, &next, err));
        kiln_array_release(view);
        view = next;
        next = NULL;
    }
    *out = view;
    view = NULL;

done:
    kiln_array_release(view);
    return status;
}
