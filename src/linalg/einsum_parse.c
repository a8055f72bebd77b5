/*
 * einsum_parse.c - the text of an einsum, checked against the shapes of its operands.
 *
 *     "bij,bjk->bik" > [terms, extents] > einsum_plan.c
 */
#include "linalg/einsum.h"

typedef struct parser {
    const char *text, *at;
    kiln_error *err;
} parser;

/* A term as it is written: `dots` is where its "..." stands among the letters, -1 for nowhere. */
typedef struct written {
    int count, dots;
    uint8_t label[KILN_RANK_MAX];
} written;

static kiln_status syntax(const parser *p, size_t width, const char *what)
{
    const size_t at = (size_t)(p->at - p->text);
    return kiln__fail_at(p->err, KILN_ERR_SYNTAX, p->text, at, width, "einsum: column %zu: %s",
                         at + 1, what);
}

char kiln__einsum_letter(uint8_t label)
{
    if (label >= KILN__EINSUM_LETTERS)
        return '.';
    return (char)(label < 26 ? 'A' + label : 'a' + (label - 26));
}

static void skip_blanks(parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

/* One term, up to ',', "->" or the end. */
static kiln_status read_term(parser *p, written *out)
{
    *out = (written){.dots = -1};
    for (skip_blanks(p); *p->at != '\0' && *p->at != ',' && *p->at != '-'; skip_blanks(p)) {
        const char c = *p->at;
        if (kiln__starts_with(p->at, "...")) {
            if (out->dots >= 0)
                return syntax(p, 3, "a second \"...\" in one term");
            out->dots = out->count;
            p->at += 3;
            continue;
        }
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return syntax(p, 1, "neither a letter nor \"...\"");
        if (out->count == KILN_RANK_MAX)
            return syntax(p, 1, "more axes than an array has");
        out->label[out->count++] = (uint8_t)(c <= 'Z' ? c - 'A' : c - 'a' + 26);
        p->at++;
    }
    return KILN_OK;
}

/* A term with labels in the place of "...", which stands for `rank` of the `most` axes that it can have. */
static void expand(const written *w, int rank, int most, kiln__einsum_term *out)
{
    out->count = 0;
    for (int k = 0; k <= w->count; k++) {
        for (int axis = 0; k == w->dots && axis < rank; axis++)
            out->label[out->count++] = (uint8_t)(KILN__EINSUM_LETTERS + most - rank + axis);
        if (k < w->count)
            out->label[out->count++] = w->label[k];
    }
}

/* Without "->": the axes of "...", then the letters that appear once. */
static void imply_result(const kiln__einsum *e, int most, kiln__einsum_term *out)
{
    int seen[KILN__EINSUM_LABELS] = {0};

    out->count = 0;
    for (int axis = 0; axis < most; axis++)
        out->label[out->count++] = (uint8_t)(KILN__EINSUM_LETTERS + axis);
    for (int t = 0; t < e->count; t++)
        for (int k = 0; k < e->term[t].count; k++)
            seen[e->term[t].label[k]]++;
    for (int label = 0; label < KILN__EINSUM_LETTERS && out->count < KILN_RANK_MAX; label++)
        if (seen[label] == 1)
            out->label[out->count++] = (uint8_t)label;
}

/* Extents of labels: equal, or 1, which broadcasts. */
static kiln_status read_extents(kiln__einsum *e, const kiln_array *const *arrays, kiln_error *err)
{
    for (int label = 0; label < KILN__EINSUM_LABELS; label++)
        e->extent[label] = 1;
    for (int t = 0; t < e->count; t++)
        for (int k = 0; k < e->term[t].count; k++) {
            const uint8_t label = e->term[t].label[k];
            const int64_t extent = arrays[t]->shape[k];
            if (extent != 1 && e->extent[label] != 1 && e->extent[label] != extent)
                return kiln__fail(err, KILN_ERR_SHAPE,
                                  "einsum: axis %d of operand %d, \"%c\", has %lld elements, but "
                                  "\"%c\" had %lld before",
                                  k, t + 1, kiln__einsum_letter(label), (long long)extent,
                                  kiln__einsum_letter(label), (long long)e->extent[label]);
            if (extent != 1)
                e->extent[label] = extent;
        }
    return KILN_OK;
}

static kiln_status check_result(const parser *p, const kiln__einsum *e)
{
    kiln__uint128 known = 0, used = 0;

    for (int t = 0; t < e->count; t++)
        known |= kiln__einsum_set(&e->term[t]);
    for (int k = 0; k < e->result.count; k++) {
        const kiln__uint128 bit = kiln__einsum_bit(e->result.label[k]);
        if ((known & bit) == 0 || (used & bit) != 0)
            return kiln__fail(p->err, KILN_ERR_SYNTAX, "einsum: the result names \"%c\" %s",
                              kiln__einsum_letter(e->result.label[k]),
                              (used & bit) != 0 ? "twice" : "which no operand has");
        used |= bit;
    }
    for (uint8_t label = KILN__EINSUM_LETTERS; label < KILN__EINSUM_LABELS; label++)
        if ((known & ~used & kiln__einsum_bit(label)) != 0)
            return kiln__fail(p->err, KILN_ERR_SYNTAX,
                              "einsum: the result lacks \"...\", which operands have");
    return KILN_OK;
}

/* The terms of operands as they are written, and the axes that "..." stands for at most. */
static kiln_status read_operands(parser *p, const kiln_array *const *arrays, size_t count,
                                 written *terms, int *most_out)
{
    *most_out = 0;
    for (size_t t = 0; t < count; t++) {
        KILN_CHECK(read_term(p, &terms[t]));
        const int rest = arrays[t]->rank - terms[t].count;
        if (rest < 0 || (rest > 0 && terms[t].dots < 0))
            return kiln__fail(p->err, KILN_ERR_SHAPE,
                              "einsum: term %zu names %d axes, operand %zu has %d", t + 1,
                              terms[t].count, t + 1, arrays[t]->rank);
        if (rest > *most_out)
            *most_out = rest;
        const bool more = *p->at == ',';
        if (more != (t + 1 < count))
            return kiln__fail(p->err, KILN_ERR_ARGUMENT_COUNT,
                              "einsum: the text has %s terms than the call has operands, %zu",
                              more ? "more" : "fewer", count);
        p->at += more;
    }
    return KILN_OK;
}

kiln_status kiln__einsum_parse(const char *subscripts, const kiln_array *const *arrays,
                               size_t count, kiln__einsum *out, kiln_error *err)
{
    parser p = {subscripts, subscripts, err};
    written terms[KILN__EINSUM_TERMS], result;
    int most = 0;

    if (count < 1 || count > KILN__EINSUM_TERMS)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                          "einsum: %zu operands, where there may be 1 to %d", count,
                          KILN__EINSUM_TERMS);
    KILN_CHECK(read_operands(&p, arrays, count, terms, &most));
    out->count = (int)count;
    for (size_t t = 0; t < count; t++)
        expand(&terms[t], arrays[t]->rank - terms[t].count, most, &out->term[t]);
    if (*p.at == '\0') {
        imply_result(out, most, &out->result);
    } else if (!kiln__starts_with(p.at, "->")) {
        return syntax(&p, 1, "neither a letter nor \"->\"");
    } else {
        p.at += 2;
        KILN_CHECK(read_term(&p, &result));
        if (*p.at != '\0')
            return syntax(&p, 1, "the text goes on behind the result");
        if (result.count + (result.dots >= 0 ? most : 0) > KILN_RANK_MAX)
            return syntax(&p, 1, "more axes than an array has");
        expand(&result, result.dots >= 0 ? most : 0, most, &out->result);
    }
    KILN_CHECK(check_result(&p, out));
    KILN_CHECK(read_extents(out, arrays, err));
    return KILN_OK;
}
