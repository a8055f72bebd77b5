/*
 * family_index.c - x[...] with subscripts of all kinds, read and changed: NumPy's advanced indexing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family_index.h"

/* One subscript with the axes that it is of. */
typedef struct item {
    int64_t kind;
    int axis;            /* of the array; -1 for a new one */
    int64_t first, step; /* SLICE; `first` of INDEX */
    int64_t extent;      /* of the result's axis */
    int operand;         /* ARRAY */
    int to;              /* the result's axis, of what is no index array */
} item;

typedef struct resolved {
    item items[2 * DT_RANK];
    int count;
    int rank, index_rank,
        place; /* of the result; of the index arrays together; their first axis in it */
    int64_t shape[2 * DT_RANK], index_shape[DT_RANK];
    bool arrays;
} resolved;

/* Python's rules for start:stop:step. */
static void slice_of(const int64_t *s, int64_t extent, item *out)
{
    const int64_t step = s[3], low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
    int64_t bound[2] = {step < 0 ? high : low, step < 0 ? low : high};

    for (int k = 0; k < 2; k++) {
        int64_t v = s[1 + k];
        if (v == KILN_SLICE_OPEN)
            continue;
        v = v < 0 ? v + extent : v;
        bound[k] = v < low ? low : v > high ? high : v;
    }
    out->first = bound[0];
    out->step = step;
    const int64_t reach = step < 0 ? bound[0] - bound[1] : bound[1] - bound[0];
    const int64_t size = step < 0 ? -step : step;
    out->extent = reach <= 0 ? 0 : (reach + size - 1) / size;
}

static bool broadcast_into(resolved *y, const dt_array *i)
{
    int64_t shape[DT_RANK];
    const int rank = i->rank > y->index_rank ? i->rank : y->index_rank;

    for (int k = 0; k < rank; k++) {
        const int a = k - (rank - i->rank), b = k - (rank - y->index_rank);
        const int64_t m = a >= 0 ? i->shape[a] : 1, n = b >= 0 ? y->index_shape[b] : 1;
        if (m != n && m != 1 && n != 1)
            return false;
        shape[k] = m == 1 ? n : m;
    }
    y->index_rank = rank;
    memcpy(y->index_shape, shape, sizeof shape);
    return true;
}

static void add_whole(resolved *y, const dt_array *x, int *axis, int count)
{
    for (int k = 0; k < count; k++, (*axis)++)
        y->items[y->count++] = (item){
            .kind = KILN_SUBSCRIPT_SLICE, .axis = *axis, .step = 1, .extent = x->shape[*axis]};
}

/* A number beside index arrays is an index as they are. */
static bool add_item(resolved *y, const dt_array *in, const int64_t *s, int64_t mode, int *axis)
{
    const dt_array *x = &in[0];
    item *t = &y->items[y->count];

    *t = (item){.kind = s[0], .axis = *axis, .first = s[1], .extent = 1};
    if (s[0] == KILN_SUBSCRIPT_NEW_AXIS) {
        t->axis = -1;
    } else if (*axis >= x->rank) {
        return false;
    } else if (s[0] == KILN_SUBSCRIPT_SLICE) {
        if (s[3] == 0)
            return false;
        slice_of(s, x->shape[*axis], t);
    } else if (s[0] == KILN_SUBSCRIPT_INDEX) {
        t->first = y->arrays ? dt_place_of(KILN_INT64, (dt_value){.i = s[1]}, x->shape[*axis], mode)
                   : s[1] < 0 ? s[1] + x->shape[*axis]
                              : s[1];
        if (t->first < 0 || t->first >= x->shape[*axis])
            return false;
    } else if (s[0] == KILN_SUBSCRIPT_ARRAY) {
        if (s[1] < 1 || s[1] >= DT_OPERANDS || !broadcast_into(y, &in[s[1]]))
            return false;
        t->operand = (int)s[1];
    } else {
        return false;
    }
    *axis += s[0] != KILN_SUBSCRIPT_NEW_AXIS;
    y->count++;
    return true;
}

/* Where the axes of the index arrays go: instead of them when nothing is between them, else first. */
static bool place_axes(const dt_case *c, resolved *y)
{
    int first = -1, last = -1, many = 0, before = 0;

    for (int k = 0; k < (int)c->number[DT_SUBSCRIPTS] && y->arrays; k++) {
        const int64_t kind = c->number[DT_FIRST_SUBSCRIPT + 4 * k];
        if (kind != KILN_SUBSCRIPT_ARRAY && kind != KILN_SUBSCRIPT_INDEX)
            continue;
        first = first < 0 ? k : first;
        last = k;
        many++;
    }
    const bool apart = many != last - first + 1;
    bool met = false;
    for (int k = 0; k < y->count; k++) {
        const int64_t kind = y->items[k].kind;
        if (y->arrays && (kind == KILN_SUBSCRIPT_ARRAY || kind == KILN_SUBSCRIPT_INDEX))
            met = true;
        else if (kind != KILN_SUBSCRIPT_INDEX)
            before += !met;
    }
    y->place = apart ? 0 : before;
    y->rank = 0;
    for (int k = 0, own = 0; k < y->count; k++) {
        item *t = &y->items[k];
        if (t->kind == KILN_SUBSCRIPT_ARRAY || t->kind == KILN_SUBSCRIPT_INDEX)
            continue;
        t->to = own < y->place ? own : own + y->index_rank;
        y->shape[t->to] = t->extent;
        own++;
        y->rank = own;
    }
    for (int k = 0; k < y->index_rank; k++)
        y->shape[y->place + k] = y->index_shape[k];
    y->rank += y->index_rank;
    return y->rank <= DT_RANK;
}

static bool resolve(const dt_case *c, const dt_array *in, resolved *y)
{
    const dt_array *x = &in[0];
    const int count = (int)c->number[DT_SUBSCRIPTS];
    int used = 0, axis = 0, ellipses = 0;

    memset(y, 0, sizeof *y);
    if (count < 0 || count > DT_SUBSCRIPTS_MAX)
        return false;
    for (int k = 0; k < count; k++) {
        const int64_t kind = c->number[DT_FIRST_SUBSCRIPT + 4 * k];
        ellipses += kind == KILN_SUBSCRIPT_ELLIPSIS;
        used += kind != KILN_SUBSCRIPT_ELLIPSIS && kind != KILN_SUBSCRIPT_NEW_AXIS;
        y->arrays = y->arrays || kind == KILN_SUBSCRIPT_ARRAY;
    }
    if (ellipses > 1 || used > x->rank)
        return false;
    for (int k = 0; k < count; k++) {
        const int64_t *s = &c->number[DT_FIRST_SUBSCRIPT + 4 * k];
        if (s[0] == KILN_SUBSCRIPT_ELLIPSIS)
            add_whole(y, x, &axis, x->rank - used);
        else if (!add_item(y, in, s, c->number[DT_MODE], &axis))
            return false;
    }
    add_whole(y, x, &axis, x->rank - axis);
    return place_axes(c, y);
}

/* The element of the array that an index of the result stands for; -1: none. */
static int64_t source_of(const dt_case *c, const resolved *y, const dt_array *in,
                         const int64_t *index)
{
    const dt_array *x = &in[0];
    int64_t at = 0;

    for (int k = 0; k < y->count; k++) {
        const item *t = &y->items[k];
        int64_t i;
        if (t->axis < 0)
            continue;
        if (t->kind == KILN_SUBSCRIPT_INDEX) {
            i = t->first;
        } else if (t->kind == KILN_SUBSCRIPT_ARRAY) {
            const dt_array *a = &in[t->operand];
            i = dt_place_of(a->dtype, a->at[dt_broadcast_at(a, y->index_rank, index + y->place)],
                            x->shape[t->axis], c->number[DT_MODE]);
        } else {
            i = t->first + index[t->to] * t->step;
        }
        if (i < 0)
            return -1;
        at = at * x->shape[t->axis] + i;
    }
    return at;
}

/* ---- drawing ----------------------------------------------------------------------------------- */

static void draw_slice(dt_random *r, int64_t extent, int64_t *s)
{
    static const int64_t steps[] = {1, 1, 1, 2, -1, -2, 3};

    s[0] = KILN_SUBSCRIPT_SLICE;
    s[3] = steps[dt_below(r, 7)];
    for (int k = 1; k < 3; k++)
        s[k] = dt_once_in(r, 2) ? KILN_SLICE_OPEN : dt_below(r, (int)(2 * extent + 3)) - extent - 1;
}

/* Subscripts for the axes of operand 0, with index arrays for operands. */
static bool draw_subscripts(dt_random *d, dt_random *r, dt_case *c, int rank, const int64_t *shape)
{
    const kiln_dtype index = dt_draw_integer(d);
    int64_t all[DT_RANK], wanted[DT_RANK];
    const int index_rank = dt_below(d, 3),
              skipped = dt_once_in(d, 3) ? dt_below(d, rank + 1) : rank;
    int count = 0;

    dt_draw_shape(r, index_rank, dt_once_in(r, 3) ? 900 : 40, all);
    for (int axis = 0; axis < rank && count < DT_SUBSCRIPTS_MAX - 1; axis++) {
        int64_t *s = &c->number[DT_FIRST_SUBSCRIPT + 4 * count];
        if (axis == skipped) { /* the axes between here and the last are not named */
            s[0] = KILN_SUBSCRIPT_ELLIPSIS;
            count++;
            axis += dt_below(d, rank - axis + 1) - 1;
            continue;
        }
        if (dt_once_in(d, 9)) {
            s[0] = KILN_SUBSCRIPT_NEW_AXIS;
            count++;
            axis--;
            continue;
        }
        const int how = dt_below(d, 5);
        if (how < 2) {
            draw_slice(r, shape[axis], s);
        } else if (how == 2 && shape[axis] > 0) {
            s[0] = KILN_SUBSCRIPT_INDEX;
            s[1] = dt_below(r, (int)(2 * shape[axis])) - shape[axis];
        } else {
            const int less = dt_once_in(r, 4) ? dt_below(r, index_rank + 1) : 0;
            for (int k = less; k < index_rank; k++)
                wanted[k - less] = dt_once_in(r, 6) ? 1 : all[k];
            if (shape[axis] == 0 || c->operand_count == DT_OPERANDS - 1)
                return false;
            s[0] = KILN_SUBSCRIPT_ARRAY;
            s[1] = dt_draw_indices(r, c, index, shape[axis], c->number[DT_MODE] != 0,
                                   index_rank - less, wanted);
        }
        count++;
    }
    c->number[DT_SUBSCRIPTS] = count;
    return true;
}

static bool draw_index(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    const int rank = 1 + dt_below(d, 4);
    int64_t shape[DT_RANK];

    dt_draw_mode(d, c);
    if (c->way == DT_AS_TEXT)
        c->number[DT_MODE] = KILN_INDEX_CHECK;
    dt_draw_small_shape(r, rank, shape);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    return draw_subscripts(d, r, c, rank, shape);
}

static bool evaluate_index(const dt_case *c, const dt_array *in, dt_array *out)
{
    int64_t index[DT_RANK + 1];
    resolved y;

    if (!resolve(c, in, &y) || dt_size(y.rank, y.shape) > 1 << 20 ||
        !dt_array_make(out, in[0].dtype, y.rank, y.shape))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        dt_unravel(at, out->rank, out->shape, index);
        const int64_t from = source_of(c, &y, in, index);
        if (from < 0)
            return false;
        out->at[at] = in[0].at[from];
    }
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------- */

static size_t subscripts_of(const dt_case *c, const dt_arrays *a, const kiln_node *in,
                            kiln_subscript *out)
{
    for (int k = 0; k < (int)c->number[DT_SUBSCRIPTS]; k++) {
        const int64_t *s = &c->number[DT_FIRST_SUBSCRIPT + 4 * k];
        switch (s[0]) {
        case KILN_SUBSCRIPT_INDEX:
            out[k] = kiln_subscript_index(s[1]);
            break;
        case KILN_SUBSCRIPT_SLICE:
            out[k] = kiln_subscript_slice(s[1], s[2], s[3]);
            break;
        case KILN_SUBSCRIPT_NEW_AXIS:
            out[k] = kiln_subscript_new_axis();
            break;
        case KILN_SUBSCRIPT_ELLIPSIS:
            out[k] = kiln_subscript_ellipsis();
            break;
        default:
            out[k] =
                in != NULL ? kiln_subscript_node(in[s[1]]) : kiln_subscript_array(a->operand[s[1]]);
        }
    }
    return (size_t)c->number[DT_SUBSCRIPTS];
}

static kiln_status call_index(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_subscript list[DT_SUBSCRIPTS_MAX];
    kiln_index_options o = KILN_INDEX_OPTIONS_INIT;
    const size_t count = subscripts_of(c, a, NULL, list);

    (void)device;
    o.mode = (kiln_index_mode)c->number[DT_MODE];
    o.stream = a->stream;
    return kiln_array_index(a->operand[0], list, count, &o, &a->output[0], err);
}

static kiln_node record_index(const dt_case *c, const kiln_node *in, size_t result)
{
    kiln_subscript list[DT_SUBSCRIPTS_MAX];
    const size_t count = subscripts_of(c, NULL, in, list);

    (void)result;
    return kiln_node_index(in[0], list, count, (kiln_index_mode)c->number[DT_MODE], KILN_HERE);
}

static void put_bound(char **at, char *end, int64_t v, const char *behind)
{
    if (v == KILN_SLICE_OPEN)
        *at += snprintf(*at, (size_t)(end - *at), "%s", behind);
    else
        *at += snprintf(*at, (size_t)(end - *at), "%lld%s", (long long)v, behind);
}

static void text_index(const dt_case *c, const char *first, char *text, size_t bytes)
{
    char *at = text, *const end = text + bytes;

    at += snprintf(at, bytes, "%s[", first);
    for (int k = 0; k < (int)c->number[DT_SUBSCRIPTS]; k++) {
        const int64_t *s = &c->number[DT_FIRST_SUBSCRIPT + 4 * k];
        if (k > 0)
            at += snprintf(at, (size_t)(end - at), ", ");
        if (s[0] == KILN_SUBSCRIPT_INDEX) {
            put_bound(&at, end, s[1], "");
        } else if (s[0] == KILN_SUBSCRIPT_SLICE) {
            put_bound(&at, end, s[1], ":");
            put_bound(&at, end, s[2], ":");
            put_bound(&at, end, s[3], "");
        } else if (s[0] == KILN_SUBSCRIPT_ARRAY) {
            at += snprintf(at, (size_t)(end - at), "x%d", (int)s[1]);
        } else {
            at += snprintf(at, (size_t)(end - at), "%s",
                           s[0] == KILN_SUBSCRIPT_NEW_AXIS ? "None" : "...");
        }
    }
    snprintf(at, (size_t)(end - at), "]");
}

/* ---- scatters ---------------------------------------------------------------------------------- */

/* Numbers that can be added in any order, and index arrays for all axes of an array that has few places. */
static bool draw_few(dt_random *d, dt_random *r, dt_case *c)
{
    static const kiln_dtype dtypes[] = {KILN_INT32,  KILN_FLOAT32, KILN_INT64,
                                        KILN_UINT32, KILN_FLOAT64, KILN_UINT64};
    const kiln_dtype dtype = dtypes[dt_below(d, (int)DT_COUNT(dtypes))], index = dt_draw_integer(d);
    const int rank = dt_once_in(d, 3) ? 2 : 1, index_rank = 1 + dt_below(d, 2);
    int64_t shape[DT_RANK], all[DT_RANK], wanted[DT_RANK];

    c->number[DT_WHAT] = KILN_SCATTER_ADD;
    c->number[DT_FAST] = c->way != DT_AS_TEXT;
    dt_draw_shape(r, rank, dt_once_in(r, 2) ? 9 : 2049, shape);
    dt_draw_operand(r, c, dtype, DT_FILL_SMALL, rank, shape);
    dt_draw_shape(r, index_rank, dt_draw_budget(r), all);
    if (dt_once_in(r, 2)) { /* around the fewest values that such sums are made of, and above */
        all[index_rank - 1] = 4090 + dt_below(r, dt_once_in(r, 2) ? 12 : 6000);
        all[0] = index_rank > 1 ? 1 + dt_below(r, 3) : all[0];
    }
    for (int axis = 0; axis < rank; axis++) {
        int64_t *const s = &c->number[DT_FIRST_SUBSCRIPT + 4 * axis];
        if (shape[axis] == 0)
            return false;
        for (int k = 0; k < index_rank; k++)
            wanted[k] = axis > 0 && dt_once_in(r, 6) ? 1 : all[k];
        s[0] = KILN_SUBSCRIPT_ARRAY;
        s[1] = dt_draw_indices(r, c, index, shape[axis], c->number[DT_MODE] != 0, index_rank, wanted);
    }
    c->number[DT_SUBSCRIPTS] = rank;
    if (dt_once_in(r, 6)) /* one for all */
        all[dt_below(r, index_rank)] = all[index_rank - 1] = 1;
    dt_draw_operand(r, c, dtype, DT_FILL_SMALL, index_rank, all);
    for (int k = 0; k < c->operand_count; k++) /* more often than in other layouts such sums are of neighbours */
        if (dt_once_in(r, 2))
            dt_draw_view(r, DT_STYLE_PLAIN, false, c, &c->operand[k].view);
    return true;
}

static bool draw_scatter(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d), other = dt_once_in(d, 5) ? dt_draw_dtype(d) : dtype;
    const int rank = 1 + dt_below(d, 3);
    int64_t shape[DT_RANK];
    dt_array in[DT_OPERANDS];
    resolved y;

    dt_draw_mode(d, c);
    c->number[DT_WHAT] = dt_below(d, KILN_SCATTER_REDUCE + 2);
    c->number[DT_FAST] = dt_once_in(d, 3);
    if (c->way == DT_AS_TEXT) { /* expressions have neither modes of subscripts nor these */
        c->number[DT_MODE] = KILN_INDEX_CHECK;
        c->number[DT_WHAT] %= KILN_SCATTER_REDUCE;
        c->number[DT_FAST] = 0;
    }
    if (dt_once_in(d, 2))
        return draw_few(d, r, c);
    dt_draw_small_shape(r, rank, shape);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    if (!draw_subscripts(d, r, c, rank, shape))
        return false;
    for (int k = 0; k < c->operand_count; k++) { /* shapes are enough to resolve */
        in[k].rank = c->operand[k].view.rank;
        memcpy(in[k].shape, c->operand[k].view.shape, sizeof in[k].shape);
    }
    if (!resolve(c, in, &y))
        return false;
    const int less = dt_once_in(r, 4) ? dt_below(r, y.rank + 1) : 0;
    for (int k = less; k < y.rank; k++)
        shape[k - less] = dt_once_in(r, 8) ? 1 : y.shape[k];
    const bool adds = c->number[DT_WHAT] != KILN_SCATTER_SET;
    const int v =
        dt_draw_operand(r, c, other, adds ? DT_FILL_SMALL : dt_draw_fill(r), y.rank - less, shape);
    if (!dt_is_complex(other) && dt_once_in(r, 8)) {
        c->operand[v].is_number = true;
        c->operand[v].view.dtype = dt_is_integer(dtype) ? KILN_INT64 : KILN_FLOAT64;
        c->operand[v].view.rank = 0;
        c->operand[v].number = dt_below(r, 2);
    }
    return true;
}

/* What an operation gives of numbers that are whole and small enough for any order; else anything. */
static dt_value combined(const dt_case *c, kiln_dtype dtype, dt_value a, dt_value b)
{
    static const dt_op ops[] = {[KILN_SCATTER_ADD] = DT_ADD,
                                [KILN_SCATTER_MULTIPLY] = DT_MULTIPLY,
                                [KILN_SCATTER_MINIMUM] = DT_MINIMUM,
                                [KILN_SCATTER_MAXIMUM] = DT_MAXIMUM};
    const int64_t what = c->number[DT_WHAT];
    const dt_value in[] = {a, b};

    if (dt_is_unknown(a) || dt_is_unknown(b))
        return dt_unknown();
    if (what == KILN_SCATTER_REDUCE) /* a > b ? a : b */
        return dt_real(dtype, a) > dt_real(dtype, b) ? a : b;
    const dt_op op = what > KILN_SCATTER_REDUCE ? DT_ADD : ops[what];
    return dt_is_complex(dtype) ? dt_apply_complex(op, dtype, in) : dt_apply(op, dtype, in, false);
}

/* Whether sums and products of such numbers may be rounded, and so depend on their order. */
static bool is_whole(kiln_dtype dtype, double v)
{
    return isfinite(v) && v == rint(v) && fabs(v) <= ldexp(1, dt_format_of(dtype).digits - 1);
}

/* How much of a target's range its values have taken: what is left is exact in any order. */
static dt_value exact_only(const dt_case *c, kiln_dtype dtype, dt_value v, double *taken,
                           dt_value by)
{
    const int64_t what = c->number[DT_WHAT];
    const bool sums = what == KILN_SCATTER_ADD || what > KILN_SCATTER_REDUCE;

    if (dt_is_integer(dtype) || (!sums && what != KILN_SCATTER_MULTIPLY))
        return v;
    const double size = fabs(by.re) + fabs(by.im);
    *taken = sums ? *taken + size : *taken * (size > 1 ? size : 1);
    return is_whole(dtype, by.re) && is_whole(dtype, by.im) && is_whole(dtype, *taken)
               ? v
               : dt_unknown();
}

static bool evaluate_scatter(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *v = &in[c->operand_count - 1];
    const int64_t what = c->number[DT_WHAT];
    int64_t index[DT_RANK + 1];
    resolved y;

    if (c->operand_count < 2 || !resolve(c, in, &y) || v->rank > y.rank ||
        dt_size(y.rank, y.shape) > 1 << 20 || !dt_make_like(out, x->dtype, x))
        return false;
    for (int k = 0; k < v->rank; k++)
        if (v->shape[k] != 1 && v->shape[k] != y.shape[y.rank - v->rank + k])
            return false;
    double *taken = malloc((size_t)(x->size + 1) * sizeof *taken);
    bool ok = taken != NULL;
    for (int64_t at = 0; at < x->size && ok; at++) {
        out->at[at] = x->at[at];
        taken[at] = fabs(x->at[at].re) + fabs(x->at[at].im);
        if (what == KILN_SCATTER_MULTIPLY && taken[at] < 1)
            taken[at] = taken[at] == 0 ? 1 : NAN;
        if (!is_whole(x->dtype, x->at[at].re) || !is_whole(x->dtype, x->at[at].im))
            taken[at] = NAN;
    }
    for (int64_t at = 0; at < dt_size(y.rank, y.shape) && ok; at++) {
        dt_unravel(at, y.rank, y.shape, index);
        const int64_t to = source_of(c, &y, in, index);
        dt_value by = v->at[dt_broadcast_at(v, y.rank, index)];
        ok = to >= 0;
        if (!ok)
            break;
        by = dt_cast(v->dtype, x->dtype, by);
        if (what == KILN_SCATTER_SET)
            ok = dt_array_assign(out, to, by, c->number[DT_FAST] != 0);
        else
            out->at[to] =
                exact_only(c, x->dtype, combined(c, x->dtype, out->at[to], by), &taken[to], by);
    }
    free(taken);
    return ok &&
           (what < KILN_SCATTER_MINIMUM || !dt_is_complex(x->dtype) || what > KILN_SCATTER_REDUCE);
}

bool dt_is_unordered(const dt_case *c)
{
    if (c->kind == DT_KIND_SCATTER)
        return c->number[DT_FAST] != 0;
    /* Behind the last element that was chosen, and around an array that is padded so, anything stands. */
    return (c->kind == DT_KIND_SELECT && c->output_count > 1) ||
           (c->kind == DT_KIND_REARRANGE && strcmp(dt_function_name(c->function), "pad") == 0 &&
            c->number[1] == KILN_PAD_EMPTY);
}

static kiln_status call_scatter(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_subscript list[DT_SUBSCRIPTS_MAX];
    const size_t count = subscripts_of(c, a, NULL, list);
    const kiln_scatter_options o = dt_scatter_options(c);
    const int64_t what = c->number[DT_WHAT];

    (void)device;
    return kiln_array_scatter(
        a->output[0], list, count, dt_value_arg(c, a),
        (kiln_scatter)(what > KILN_SCATTER_REDUCE ? KILN_SCATTER_REDUCE : what), &o, err);
}

static kiln_node record_scatter(const dt_case *c, const kiln_node *in, size_t result)
{
    kiln_subscript list[DT_SUBSCRIPTS_MAX];
    const size_t count = subscripts_of(c, NULL, in, list);
    const kiln_scatter_options o = dt_scatter_options(c);
    const int64_t what = c->number[DT_WHAT];

    (void)result;
    return kiln_node_scatter(
        in[0], list, count, in[c->operand_count - 1],
        (kiln_scatter)(what > KILN_SCATTER_REDUCE ? KILN_SCATTER_REDUCE : what), &o, KILN_HERE);
}

static void text_scatter(const dt_case *c, const char *first, char *text, size_t bytes)
{
    static const char *const names[] = {"set", "add", "multiply", "min", "max"};
    char at[16];

    snprintf(at, sizeof at, "%s.at", first);
    text_index(c, at, text, bytes);
    const size_t used = strlen(text);
    snprintf(text + used, bytes - used, ".%s(x%d)", names[c->number[DT_WHAT]],
             c->operand_count - 1);
}

/* ---- rows -------------------------------------------------------------------------------------- */

enum {
    READS = DT_MAY_BE_GIVEN | DT_MAY_RECORD | DT_MAY_PARSE,
    WRITES = DT_IN_PLACE | DT_MAY_RECORD | DT_MAY_PARSE
};

const dt_function dt_gather_functions[] = {
    {"take", DT_KIND_GATHER, READS, 1, dt_draw_take, dt_evaluate_take, dt_call_take, dt_record_take,
     dt_text_take},
    {"take_along_axis", DT_KIND_GATHER, READS, 1, dt_draw_along, dt_evaluate_take_along,
     dt_call_take_along, dt_record_take_along, dt_text_take_along},
    {"index", DT_KIND_GATHER, READS, 1, draw_index, evaluate_index, call_index, record_index,
     text_index},
    {"index", DT_KIND_GATHER, READS, 1, draw_index, evaluate_index, call_index, record_index,
     text_index},
    {"scatter", DT_KIND_SCATTER, WRITES, 1, draw_scatter, evaluate_scatter, call_scatter,
     record_scatter, text_scatter},
    {"scatter", DT_KIND_SCATTER, WRITES, 1, draw_scatter, evaluate_scatter, call_scatter,
     record_scatter, text_scatter},
    {"put", DT_KIND_SCATTER, WRITES, 1, dt_draw_put, dt_evaluate_put, dt_call_put, dt_record_put,
     dt_text_put},
    {"put_along_axis", DT_KIND_SCATTER, WRITES, 1, dt_draw_along, dt_evaluate_put_along,
     dt_call_put_along, dt_record_put_along, dt_text_put_along},
};
const int dt_gather_function_count = (int)DT_COUNT(dt_gather_functions);
