/*
 * family_select.c - elements that a mask chooses, places of what is not zero, values put where a mask is true.
 *
 * Where a call gives a count, what lies behind the first `count` elements is open.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

enum { COUNTED }; /* numbers: whether the call asks for the count and does not wait */

static bool is_set(kiln_dtype dtype, dt_value v)
{
    return dt_is_integer(dtype) ? v.i != 0 : v.re != 0 || v.im != 0;
}

/* Room for `most` rows of `rest`, of which the first `count` are known; without a count no more. */
static bool make_rows(const dt_case *c, dt_array *out, kiln_dtype dtype, int64_t most,
                      int64_t count, int rest_rank, const int64_t *rest)
{
    int64_t shape[DT_RANK + 1] = {c->number[COUNTED] || c->way != DT_AT_ONCE ? most : count};

    if (1 + rest_rank > DT_RANK)
        return false;
    for (int k = 0; k < rest_rank; k++)
        shape[1 + k] = rest[k];
    if (!dt_array_make(out, dtype, 1 + rest_rank, shape))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        out->at[at] = dt_unknown();
        out->at[at].unwritten = true;
    }
    return true;
}

static bool make_count(dt_array *out, int64_t count)
{
    if (!dt_array_make(out, KILN_INT64, 0, NULL))
        return false;
    out->at[0].i = count;
    return true;
}

static int64_t count_set(const dt_array *a)
{
    int64_t count = 0;

    for (int64_t at = 0; at < a->size; at++)
        count += is_set(a->dtype, a->at[at]);
    return count;
}

/* ---- compress ------------------------------------------------------------------------------------ */

static bool draw_compress(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    const bool text = c->way != DT_AT_ONCE;
    const int rank = dt_below(d, 4);
    const int masked = dt_once_in(d, 3) && !text ? dt_below(d, rank + 1) : rank;
    int64_t shape[DT_RANK];

    dt_draw_block_shape(r, rank, shape);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    const int m = dt_draw_operand(r, c, KILN_BOOL, DT_FILL_SMALL, masked, shape);
    if (dt_once_in(r, 4)) { /* all or nothing, or runs of both */
        c->operand[m].fill = dt_once_in(r, 2) ? DT_FILL_RANGE : DT_FILL_RISING;
        c->operand[m].low = dt_below(r, 2);
        c->operand[m].high = dt_below(r, 2) + 1 > 1 ? 1 : c->operand[m].low;
    }
    c->number[COUNTED] = dt_once_in(d, 2) || text;
    c->output_count = c->number[COUNTED] ? 2 : 1;
    return true;
}

static bool evaluate_compress(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *m = &in[1];

    if (c->operand_count != 2 || m->dtype != KILN_BOOL || m->rank > x->rank ||
        memcmp(m->shape, x->shape, (size_t)m->rank * sizeof *m->shape) != 0 ||
        (c->way != DT_AT_ONCE && m->rank != x->rank))
        return false;
    const int rest = x->rank - m->rank;
    const int64_t width = dt_size(rest, x->shape + m->rank), count = count_set(m);
    if (!make_rows(c, &out[0], x->dtype, m->size, count, rest, x->shape + m->rank))
        return false;
    for (int64_t at = 0, to = 0; at < m->size; at++)
        for (int64_t k = 0; is_set(KILN_BOOL, m->at[at]) && k < width; k++)
            out[0].at[to++] = x->at[at * width + k];
    return c->output_count < 2 || make_count(&out[1], count);
}

static kiln_status call_compress(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    return kiln_array_compress(a->operand[0], a->operand[1], &a->output[0],
                               c->number[COUNTED] ? &a->output[1] : NULL, err);
}

static void text_compress(const dt_case *c, const char *first, char *text, size_t bytes)
{
    const bool function = c->operand[0].salt % 2 != 0;
    snprintf(text, bytes, function ? "compress(x1, %s)" : "%s[x1]", first);
}

/* ---- places -------------------------------------------------------------------------------------- */

static bool draw_places(dt_random *d, dt_random *r, dt_case *c)
{
    const bool flat = strcmp(dt_function_at(c->function)->name, "flatnonzero") == 0;
    const bool each = strcmp(dt_function_at(c->function)->name, "nonzero") == 0;
    const kiln_dtype dtype = dt_draw_dtype(d);
    const bool text = c->way != DT_AT_ONCE;
    const int rank = flat ? dt_below(d, 4) : text && each ? 1 : 1 + dt_below(d, 3);
    int64_t shape[DT_RANK];

    dt_draw_block_shape(r, rank, shape);
    const int k = dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    if (dt_once_in(r, 2)) {
        c->operand[k].fill = DT_FILL_RANGE; /* many zeros */
        c->operand[k].high = 1 + dt_below(r, 3);
    }
    c->number[COUNTED] = dt_once_in(d, 2) || text;
    c->output_count = (each ? rank : 1) + (c->number[COUNTED] ? 1 : 0);
    return c->output_count <= DT_OUTPUTS;
}

static bool evaluate_places(const dt_case *c, const dt_array *in, dt_array *out)
{
    const char *name = dt_function_at(c->function)->name;
    const bool flat = strcmp(name, "flatnonzero") == 0, each = strcmp(name, "nonzero") == 0;
    const dt_array *x = &in[0];
    const int64_t count = count_set(x), rest[] = {x->rank};
    const int outputs = each ? x->rank : 1;
    int64_t index[DT_RANK], to = 0;

    if (c->operand_count != 1 || c->output_count < outputs || (!flat && x->rank == 0) ||
        (c->way != DT_AT_ONCE && each && x->rank != 1))
        return false;
    for (int k = 0; k < outputs; k++)
        if (!make_rows(c, &out[k], KILN_INT64, x->size, count, !flat && !each, rest))
            return false;
    for (int64_t at = 0; at < x->size; at++) {
        if (!is_set(x->dtype, x->at[at]))
            continue;
        dt_unravel(at, x->rank, x->shape, index);
        for (int k = 0; k < x->rank && !flat; k++)
            (each ? out[k].at + to : out[0].at + to * x->rank + k)[0] = (dt_value){.i = index[k]};
        if (flat)
            out[0].at[to] = (dt_value){.i = at};
        to++;
    }
    return c->output_count == outputs || make_count(&out[outputs], count);
}

static kiln_status call_places(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const char *name = dt_function_at(c->function)->name;
    kiln_array **count = c->number[COUNTED] ? &a->output[c->output_count - 1] : NULL;

    (void)device;
    if (strcmp(name, "nonzero") == 0)
        return kiln_array_nonzero(a->operand[0], a->output, count, err);
    return strcmp(name, "argwhere") == 0
               ? kiln_array_argwhere(a->operand[0], &a->output[0], count, err)
               : kiln_array_flatnonzero(a->operand[0], &a->output[0], count, err);
}

static void text_places(const dt_case *c, const char *first, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s(%s)", dt_function_at(c->function)->name, first);
}

/* ---- place --------------------------------------------------------------------------------------- */

static bool draw_place(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    const int rank = dt_below(d, 4), value_rank = dt_below(d, 3);
    int64_t shape[DT_RANK], values[DT_RANK];

    dt_draw_block_shape(r, rank, shape);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    dt_draw_operand(r, c, KILN_BOOL, DT_FILL_SMALL, rank, shape);
    dt_draw_shape(r, value_rank, dt_once_in(r, 2) ? 12 : 3000, values);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), value_rank, values);
    return true;
}

static bool evaluate_place(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *m = &in[1], *v = &in[2];

    if (c->operand_count != 3 || m->dtype != KILN_BOOL || m->rank != x->rank ||
        memcmp(m->shape, x->shape, (size_t)x->rank * sizeof *x->shape) != 0 ||
        v->dtype != x->dtype || (v->size == 0 && x->size > 0) || !dt_make_like(out, x->dtype, x))
        return false;
    for (int64_t at = 0, k = 0; at < x->size; at++)
        out->at[at] = m->at[at].i != 0 ? v->at[k++ % v->size] : x->at[at];
    return true;
}

static kiln_status call_place(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    (void)c;
    return kiln_array_place(a->output[0], a->operand[1], a->operand[2], err);
}

const dt_function dt_select_functions[] = {
    {"compress", DT_KIND_SELECT, DT_MAY_PARSE, 1, draw_compress, evaluate_compress, call_compress,
     NULL, text_compress},
    {"flatnonzero", DT_KIND_SELECT, DT_MAY_PARSE, 1, draw_places, evaluate_places, call_places,
     NULL, text_places},
    {"nonzero", DT_KIND_SELECT, DT_MAY_PARSE, 1, draw_places, evaluate_places, call_places, NULL,
     text_places},
    {"argwhere", DT_KIND_SELECT, DT_MAY_PARSE, 1, draw_places, evaluate_places, call_places, NULL,
     text_places},
    {"place", DT_KIND_SELECT, DT_IN_PLACE, 1, draw_place, evaluate_place, call_place, NULL, NULL},
};
const int dt_select_function_count = (int)DT_COUNT(dt_select_functions);
