/*
 * family_sort.c - sorted rows and their orders, partitions, quantiles, searches and counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

/* Numbers beside those of family.h: what the function takes. */
enum { PLACE = DT_DOWN + 1, METHOD };

enum { LONG_ROW = 1 << 17 };

static bool is_named(const dt_case *c, const char *name)
{
    return strcmp(dt_function_at(c->function)->name, name) == 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

bool dt_rows_of(const dt_case *c, const dt_array *x, dt_rows *y)
{
    *y = (dt_rows){-1, 1, x->size, 1};
    if (c->number[DT_ROW_AXIS] == DT_ALL)
        return true;
    if (!dt_axis_of(c->number[DT_ROW_AXIS], x->rank, &y->axis))
        return false;
    y->length = x->shape[y->axis];
    for (int k = 0; k < x->rank; k++)
        *(k < y->axis ? &y->before : &y->behind) *= k == y->axis ? 1 : x->shape[k];
    return true;
}

int dt_row_shape(const dt_array *x, const dt_rows *y, int64_t length, int64_t *shape)
{
    int rank = 0;

    if (y->axis < 0 && length >= 0)
        shape[rank++] = length;
    for (int k = 0; k < x->rank && y->axis >= 0; k++)
        if (k != y->axis || length >= 0)
            shape[rank++] = k == y->axis ? length : x->shape[k];
    return rank;
}

void dt_draw_axis(dt_random *d, dt_case *c, int rank)
{
    c->number[DT_ROW_AXIS] = rank == 0 || dt_once_in(d, 4) ? DT_ALL : dt_below(d, 2 * rank) - rank;
}

/* Few rows of 2^17 elements and more, of which a GPU finds the first elements without sorting them (src/sorting/first.c).
 * Such a case takes as long as some hundred others. */
static bool draw_long_rows(dt_random *r, const dt_case *c, int rank, int axis, int64_t *shape)
{
    if (rank == 0 || !dt_once_in(r, is_named(c, "topk") ? 8 : 150))
        return false;
    for (int a = 0; a < rank; a++)
        shape[a] = a == axis ? LONG_ROW + dt_below(r, LONG_ROW / 16) : 1;
    if (rank > 1 && dt_once_in(r, 4))
        shape[axis == 0] = 2 + dt_below(r, 2);
    return true;
}

/* Rows of lengths at which the ways of sorting change. */
static bool draw_rows(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    const int rank = dt_below(d, 4);
    int64_t shape[DT_RANK];
    dt_rows y;

    dt_draw_axis(d, c, rank);
    c->number[DT_DOWN] = c->way == DT_AT_ONCE && dt_once_in(d, 3);
    dt_draw_small_shape(r, rank, shape);
    const int k = dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    const int axis = c->number[DT_ROW_AXIS] == DT_ALL
                         ? rank - 1
                         : (int)(c->number[DT_ROW_AXIS] + rank) % (rank > 0 ? rank : 1);
    const bool is_long = draw_long_rows(r, c, rank, axis, c->operand[k].view.shape);
    if (!is_long && rank > 0 && dt_once_in(r, 25)) {
        for (int a = 0; a < rank; a++)
            c->operand[k].view.shape[a] =
                a == axis ? 4000 + dt_below(r, 30000) : 1 + dt_below(r, 2);
    }
    if (dt_once_in(r, 8)) { /* few values, or sorted already */
        c->operand[k].fill = dt_once_in(r, 2) ? DT_FILL_RANGE : DT_FILL_RISING;
        c->operand[k].low = dt_is_signed(dtype) ? -2 : 0;
        c->operand[k].high = 1 + dt_below(r, 100);
    }
    const dt_array like = {.rank = rank};
    dt_array x = like;
    memcpy(x.shape, c->operand[k].view.shape, sizeof x.shape);
    x.size = dt_size(rank, x.shape);
    if (!dt_rows_of(c, &x, &y))
        return false;
    if (is_named(c, "topk") && is_long && !dt_once_in(r, 5))
        c->number[PLACE] = 1 + dt_below(r, dt_once_in(r, 2) ? 20 : (int)y.length / 64);
    else if (is_named(c, "topk"))
        c->number[PLACE] = dt_once_in(r, 5) ? y.length : dt_below(r, (int)y.length + 1);
    else if (is_named(c, "partition") || is_named(c, "argpartition"))
        c->number[PLACE] = y.length == 0 ? 0 : dt_below(r, 2 * (int)y.length) - y.length;
    return y.length > 0 || is_named(c, "sort") || is_named(c, "argsort") || is_named(c, "topk");
}

static bool evaluate_sort(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool topk = is_named(c, "topk"), down = (c->number[DT_DOWN] != 0) != topk;
    const bool places = is_named(c, "argsort") || is_named(c, "argpartition");
    enum {
        SORTED_LENGTH = 512
    }; /* partitions of longer rows need not be sorted: tests/test_select.c */
    const bool chooses = is_named(c, "partition") || is_named(c, "argpartition");
    const dt_array *x = &in[0];
    int64_t shape[DT_RANK + 1];
    dt_rows y;

    if (c->operand_count != 1 || !dt_rows_of(c, x, &y))
        return false;
    if (c->way != DT_AT_ONCE && c->number[DT_DOWN])
        return false;
    const int64_t kept = topk ? c->number[PLACE] : y.length;
    if (kept < 0 || kept > y.length ||
        (chooses && (c->number[PLACE] < -y.length || c->number[PLACE] >= y.length ||
                     y.length >= SORTED_LENGTH)))
        return false;
    const int rank = dt_row_shape(x, &y, kept, shape);
    if (!dt_array_make(&out[0], places ? KILN_INT64 : x->dtype, rank, shape) ||
        (topk && !dt_array_make(&out[1], KILN_INT64, rank, shape)))
        return false;
    int64_t *order = malloc((size_t)(y.length + 1) * sizeof *order);
    for (int64_t row = 0; row < y.before * y.behind && order != NULL; row++) {
        const int64_t from = row / y.behind * y.length * y.behind + row % y.behind;
        const int64_t to = row / y.behind * kept * y.behind + row % y.behind;
        dt_order_row(x, from, y.behind, y.length, down, order);
        for (int64_t k = 0; k < kept; k++) {
            if (places)
                out[0].at[to + k * y.behind].i = order[k];
            else
                out[0].at[to + k * y.behind] = x->at[from + order[k] * y.behind];
            if (topk)
                out[1].at[to + k * y.behind].i = order[k];
        }
    }
    free(order);
    return order != NULL;
}

kiln_sort_options dt_sort_options(const dt_case *c, const dt_arrays *a, kiln_axes *axes)
{
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    axes->count = 1;
    axes->axis[0] = (int)c->number[DT_ROW_AXIS];
    o.axes = c->number[DT_ROW_AXIS] == DT_ALL ? NULL : axes;
    o.descending = c->number[DT_DOWN] != 0;
    o.stream = a->stream;
    return o;
}

static kiln_status call_sort(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const char *name = dt_function_at(c->function)->name;
    const int64_t place = c->number[PLACE];
    kiln_axes axes;
    const kiln_sort_options o = dt_sort_options(c, a, &axes);
    const kiln_array *x = a->operand[0];

    (void)device;
    if (strcmp(name, "sort") == 0)
        return kiln_array_sort(x, &o, &a->output[0], err);
    if (strcmp(name, "argsort") == 0)
        return kiln_array_argsort(x, &o, &a->output[0], err);
    if (strcmp(name, "partition") == 0)
        return kiln_array_partition(x, place, &o, &a->output[0], err);
    if (strcmp(name, "argpartition") == 0)
        return kiln_array_argpartition(x, place, &o, &a->output[0], err);
    return kiln_array_topk(x, place, &o, &a->output[0], &a->output[1], err);
}

static kiln_node record_sort(const dt_case *c, const kiln_node *in, size_t result)
{
    const char *name = dt_function_at(c->function)->name;
    const kiln_axes axes = {1, {(int)c->number[DT_ROW_AXIS]}};
    const double numbers[] = {(double)c->number[PLACE] / (is_named(c, "quantile") ? 1000 : 1)};
    const bool takes = strcmp(name, "sort") != 0 && strcmp(name, "argsort") != 0 &&
                       strcmp(name, "median") != 0 && strcmp(name, "searchsorted") != 0;

    return kiln_node_sorting(name, in, (size_t)c->operand_count,
                             c->number[DT_ROW_AXIS] == DT_ALL ? NULL : &axes, numbers,
                             takes ? 1 : 0, result, KILN_HERE);
}

static void text_sort(const dt_case *c, const char *first, char *text, size_t bytes)
{
    const char *name = dt_function_at(c->function)->name;
    char place[32] = "", axis[32] = "axis=None";

    if (strcmp(name, "quantile") == 0)
        snprintf(place, sizeof place, "%.17g, ", (double)c->number[PLACE] / 1000);
    else if (strcmp(name, "sort") != 0 && strcmp(name, "argsort") != 0 &&
             strcmp(name, "median") != 0)
        snprintf(place, sizeof place, "%lld, ", (long long)c->number[PLACE]);
    if (c->number[DT_ROW_AXIS] != DT_ALL)
        snprintf(axis, sizeof axis, "axis=%lld", (long long)c->number[DT_ROW_AXIS]);
    snprintf(text, bytes, "%s(%s, %s%s)", name, first, place, axis);
}

/* ---- medians and quantiles --------------------------------------------------------------------------- */

static bool draw_quantile(dt_random *d, dt_random *r, dt_case *c)
{
    static const int64_t methods[] = {KILN_QUANTILE_LINEAR, KILN_QUANTILE_LOWER,
                                      KILN_QUANTILE_HIGHER, KILN_QUANTILE_MIDPOINT};

    if (!draw_rows(d, r, c) || (!is_named(c, "median") && dt_is_complex(c->operand[0].view.dtype)))
        return false;
    c->number[DT_DOWN] = 0;
    c->number[PLACE] = dt_once_in(r, 5) ? 1000 * dt_below(r, 2) : dt_below(r, 1001);
    c->number[METHOD] = is_named(c, "median") || c->way != DT_AT_ONCE ? KILN_QUANTILE_LINEAR
                                                                      : methods[dt_below(d, 4)];
    return true;
}

dt_value dt_between(kiln_dtype from, kiln_dtype to, dt_value a, dt_value b, double part)
{
    const kiln_dtype half = dt_part_of(to);
    const bool integer = dt_is_integer(from);
    const double ar = (double)dt_real(from, a), br = (double)dt_real(from, b);
    dt_value v = {0};

    if (!isfinite(ar) || !isfinite(br) || !isfinite(a.im) || !isfinite(b.im))
        return dt_unknown();
    v.re = ar + (br - ar) * part;
    v.im = integer ? 0 : a.im + (b.im - a.im) * part;
    const double size = fmax(fmax(fabs(ar), fabs(br)), fmax(fabs(a.im), fabs(b.im)));
    if (2 * size >= dt_largest(half))
        return dt_unknown();
    v.re = dt_round(half, v.re);
    v.im = dt_round(half, v.im);
    v.error = v.alone = 3 * dt_ulp(half, size);
    return v;
}

static bool evaluate_quantile(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool median = is_named(c, "median"), at_once = c->way == DT_AT_ONCE;
    const int64_t method = c->number[METHOD];
    const bool chooses = method == KILN_QUANTILE_LOWER || method == KILN_QUANTILE_HIGHER;
    const dt_array *x = &in[0];
    int64_t shape[DT_RANK + 2] = {1};
    dt_rows y;

    if (c->operand_count != 1 || !dt_rows_of(c, x, &y) || y.length == 0 || c->number[DT_DOWN] ||
        (!at_once && method != KILN_QUANTILE_LINEAR) || (!median && dt_is_complex(x->dtype)))
        return false;
    const int extra = !median && at_once ? 1 : 0;
    const int rank = extra + dt_row_shape(x, &y, -1, shape + extra);
    const kiln_dtype to = dt_is_integer(x->dtype) && !chooses ? KILN_FLOAT64 : x->dtype;
    if (rank > DT_RANK || !dt_array_make(out, to, rank, shape))
        return false;
    int64_t *order = malloc((size_t)y.length * sizeof *order);
    for (int64_t row = 0; row < y.before * y.behind && order != NULL; row++) {
        const int64_t from = row / y.behind * y.length * y.behind + row % y.behind;
        const double place = median ? 0.5 * (double)(y.length - 1)
                                    : (double)c->number[PLACE] / 1000 * (double)(y.length - 1);
        const int64_t low = (int64_t)floor(place + 1e-9), high = (int64_t)ceil(place - 1e-9);
        dt_order_row(x, from, y.behind, y.length, false, order);
        const dt_value last = x->at[from + order[y.length - 1] * y.behind];
        const dt_value a = x->at[from + order[low] * y.behind];
        const dt_value b = x->at[from + order[high] * y.behind];
        const double part = method == KILN_QUANTILE_MIDPOINT ? 0.5 : place - (double)low;
        if (isnan(last.re) || isnan(last.im))
            out->at[row] = dt_is_complex(to) ? dt_unknown() : (dt_value){.re = NAN};
        else if (chooses)
            out->at[row] = method == KILN_QUANTILE_LOWER ? a : b;
        else if (!median && low == high && low + 1 < y.length &&
                 !isfinite(x->at[from + order[low + 1] * y.behind].re))
            out->at[row] = dt_unknown(); /* with a weight of 0, it makes the quantile NaN in NumPy */
        else if (low == high && isfinite(a.re))
            out->at[row] = dt_between(x->dtype, to, a, a, 0);
        else
            out->at[row] = dt_between(x->dtype, to, a, b, part);
    }
    free(order);
    return order != NULL;
}

static kiln_status call_quantile(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const double q = (double)c->number[PLACE] / 1000;
    kiln_axes axes;
    const kiln_sort_options o = dt_sort_options(c, a, &axes);

    (void)device;
    if (is_named(c, "median"))
        return kiln_array_median(a->operand[0], &o, &a->output[0], err);
    return kiln_array_quantile(a->operand[0], &q, 1, (kiln_quantile_method)c->number[METHOD], &o,
                               &a->output[0], err);
}

/* ---- searches and counts ----------------------------------------------------------------------------- */

static kiln_dtype draw_real(dt_random *d)
{
    kiln_dtype dtype;

    do
        dtype = dt_draw_dtype(d);
    while (dt_is_complex(dtype));
    return dtype;
}

/* Evenly spaced edges, and values that are edges or their neighbours: whoever computes bins by divisions
 * rounds them. */
static void draw_even(dt_random *r, dt_case *c, int s, int v)
{
    const int64_t parts = dt_once_in(r, 4) ? 1 + dt_below(r, 5000) : 1 + dt_below(r, 40);
    const int operands[] = {s, v};

    c->operand[s].view.shape[0] = parts + 1;
    for (int k = 0; k < 2; k++) {
        dt_operand *o = &c->operand[operands[k]];
        const bool has_sign = dt_is_signed(o->view.dtype) || !dt_is_integer(o->view.dtype);
        o->fill = DT_FILL_EVEN;
        o->parts = parts;
        o->near = k == 1;
        o->low = k == 1 ? c->operand[s].low : has_sign ? dt_below(r, 41) - 20 : 0;
        o->high = k == 1 ? c->operand[s].high : o->low + 1 + dt_below(r, 1000);
        if (k == 0 && dt_is_integer(o->view.dtype)) /* differences are whole numbers */
            o->high = o->low + parts * (1 + dt_below(r, 3));
    }
}

/* A vector that rises, and values, some of which are in it. */
static bool draw_search(dt_random *d, dt_random *r, dt_case *c)
{
    const bool bins = is_named(c, "histogram") || is_named(c, "digitize");
    const bool any_order = is_named(c, "isin");
    const bool real = bins || dt_once_in(d, 2);
    const kiln_dtype first = real ? draw_real(d) : dt_draw_dtype(d),
                     second = !dt_once_in(d, 2) ? first
                              : real            ? draw_real(d)
                                                : dt_draw_dtype(d);
    const int rank = dt_below(d, 4);
    const int64_t length = bins ? 2 + dt_below(r, 12) : dt_draw_extent(r, 700);
    int64_t shape[DT_RANK];

    c->number[DT_ROW_AXIS] = DT_ALL;
    c->number[DT_DOWN] = c->way == DT_AT_ONCE && dt_once_in(d, 2); /* `right` */
    const int s = dt_draw_operand(r, c, first, any_order ? dt_draw_fill(r) : DT_FILL_RISING, 1,
                                  (const int64_t[]){!bins && dt_once_in(r, 30) ? 0 : length});
    c->operand[s].low = dt_is_signed(first) || !dt_is_integer(first) ? -20 : 0;
    c->operand[s].high = first == KILN_BOOL ? 1 : 20 + dt_below(r, 60);
    dt_draw_small_shape(r, rank, shape);
    const int v = dt_draw_operand(r, c, second, dt_draw_fill(r), rank, shape);
    if (dt_once_in(r, 2)) {
        c->operand[v].fill = DT_FILL_RANGE;
        c->operand[v].low = dt_is_signed(second) || !dt_is_integer(second) ? -30 : 0;
        c->operand[v].high = 90;
    }
    if (bins && dt_once_in(r, 2))
        draw_even(r, c, s, v);
    return !is_named(c, "histogram") || c->operand[s].fill == DT_FILL_EVEN ||
           c->operand[s].high - c->operand[s].low > 2 * length;
}

static int64_t search(const dt_array *s, kiln_dtype common, dt_value v, bool right)
{
    int64_t at = 0;

    while (at < s->size) {
        const int order = dt_compare(common, dt_cast(s->dtype, common, s->at[at]), v, false);
        if (right ? order > 0 : order >= 0)
            break;
        at++;
    }
    return at;
}

static bool evaluate_search(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool isin = is_named(c, "isin"), digitize = is_named(c, "digitize");
    const dt_array *s = &in[0], *v = &in[1];
    const kiln_dtype common = dt_promote(s->dtype, v->dtype);

    if (c->operand_count != 2 || s->rank != 1 || common == KILN_DTYPE_NONE ||
        (digitize && dt_is_complex(common)) || s->size * v->size > 1 << 22 ||
        !dt_make_like(out, isin ? KILN_BOOL : KILN_INT64, v))
        return false;
    if (!isin && c->way != DT_AT_ONCE && c->number[DT_DOWN])
        return false;
    for (int64_t k = 0; k < s->size && digitize; k++) { /* NaN is no edge */
        const long double edge = dt_real(s->dtype, s->at[k]);
        if (isnan(edge) || (k > 0 && edge < dt_real(s->dtype, s->at[k - 1])))
            return false;
    }
    for (int64_t at = 0; at < v->size; at++) {
        const dt_value value = dt_cast(v->dtype, common, v->at[at]);
        bool found = false;
        for (int64_t k = 0; k < s->size && isin && !found && !isnan(value.re) && !isnan(value.im);
             k++)
            found = dt_compare(common, dt_cast(s->dtype, common, s->at[k]), value, false) == 0;
        /* digitize counts the bin from its lower edge: with `right` edges are upper ones */
        const bool right = digitize ? !c->number[DT_DOWN] : c->number[DT_DOWN] != 0;
        out->at[at].i = isin ? found : search(s, common, value, right);
    }
    return true;
}

static kiln_status call_search(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const bool right = c->number[DT_DOWN] != 0;

    (void)device;
    if (is_named(c, "isin"))
        return kiln_array_isin(a->operand[1], a->operand[0], &a->output[0], err);
    if (is_named(c, "digitize"))
        return kiln_array_digitize(a->operand[1], a->operand[0], right, &a->output[0], err);
    return kiln_array_searchsorted(a->operand[0], a->operand[1], right, a->stream, &a->output[0],
                                   err);
}

static void text_search(const dt_case *c, const char *first, char *text, size_t bytes)
{
    (void)c;
    snprintf(text, bytes, "searchsorted(%s, x1)", first);
}

/* Bins between edges that must increase. */
static bool evaluate_histogram(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *s = &in[0], *v = &in[1];
    const int64_t bins[] = {s->size - 1};

    if (c->operand_count != 2 || s->rank != 1 || s->size < 2 || dt_is_complex(s->dtype) ||
        dt_is_complex(v->dtype) || !dt_array_make(out, KILN_INT64, 1, bins))
        return false;
    for (int64_t k = 1; k < s->size; k++)
        if (!(dt_real(s->dtype, s->at[k]) > dt_real(s->dtype, s->at[k - 1])))
            return false;
    for (int64_t at = 0; at < v->size; at++) {
        const double x = (double)dt_real(v->dtype, v->at[at]);
        for (int64_t k = 0; k < bins[0]; k++) {
            const double low = (double)dt_real(s->dtype, s->at[k]);
            const double high = (double)dt_real(s->dtype, s->at[k + 1]);
            out->at[k].i += x >= low && (x < high || (k == bins[0] - 1 && x == high));
        }
    }
    return true;
}

static kiln_status call_histogram(dt_device *device, const dt_case *c, dt_arrays *a,
                                  kiln_error *err)
{
    (void)device;
    (void)c;
    return kiln_array_histogram(a->operand[1], a->operand[0], &a->output[0], err);
}

static bool draw_bincount(dt_random *d, dt_random *r, dt_case *c)
{
    const int rank = dt_below(d, 4);
    int64_t shape[DT_RANK];

    dt_draw_small_shape(r, rank, shape);
    const int k = dt_draw_operand(r, c, dt_once_in(d, 6) ? KILN_BOOL : dt_draw_integer(d),
                                  DT_FILL_RANGE, rank, shape);
    c->operand[k].high = c->operand[k].view.dtype == KILN_BOOL ? 1 : dt_below(r, 127);
    if (kiln_dtype_size(c->operand[k].view.dtype) > 1 && dt_once_in(r, 3))
        c->operand[k].high = dt_below(r, 32767);
    c->number[PLACE] = dt_once_in(r, 2) ? 0 : dt_below(r, 300);
    return true;
}

static bool evaluate_bincount(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0];
    int64_t most = c->number[PLACE];

    if (c->operand_count != 1 || !dt_is_integer(x->dtype))
        return false;
    for (int64_t at = 0; at < x->size; at++) {
        if (x->at[at].i < 0 || x->at[at].i > 1 << 20)
            return false;
        most = x->at[at].i + 1 > most ? x->at[at].i + 1 : most;
    }
    if (!dt_array_make(out, KILN_INT64, 1, &most))
        return false;
    for (int64_t at = 0; at < x->size; at++)
        out->at[x->at[at].i].i++;
    return true;
}

static kiln_status call_bincount(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    return kiln_array_bincount(a->operand[0], c->number[PLACE], &a->output[0], err);
}

static bool draw_lexsort(dt_random *d, dt_random *r, dt_case *c)
{
    const int keys = 1 + dt_below(d, 4);
    const int64_t length[] = {dt_draw_extent(r, dt_draw_budget(r))};

    for (int k = 0; k < keys; k++) {
        const int o = dt_draw_operand(r, c, dt_draw_dtype(d), DT_FILL_RANGE, 1, length);
        c->operand[o].high = c->operand[o].view.dtype == KILN_BOOL ? 1 : 1 + dt_below(r, 6);
        if (dt_once_in(r, 4))
            c->operand[o].fill = DT_FILL_SPECIAL;
    }
    return true;
}

static bool evaluate_lexsort(const dt_case *c, const dt_array *in, dt_array *out)
{
    const int64_t length = in[0].size;
    int64_t *order = malloc((size_t)(2 * length + 1) * sizeof *order);
    bool ok = order != NULL && dt_make_like(out, KILN_INT64, &in[0]);

    for (int64_t k = 0; k < length && ok; k++)
        out->at[k].i = k;
    for (int key = 0; key < c->operand_count && ok; key++) { /* by each key, the last one last */
        dt_array turned = {0};
        ok = in[key].rank == 1 && in[key].size == length &&
             dt_make_like(&turned, in[key].dtype, &in[key]);
        for (int64_t k = 0; k < length && ok; k++)
            turned.at[k] = in[key].at[out->at[k].i];
        ok = ok && dt_order_row(&turned, 0, 1, length, false, order);
        for (int64_t k = 0; k < length && ok; k++)
            order[length + k] = out->at[order[k]].i;
        for (int64_t k = 0; k < length && ok; k++)
            out->at[k].i = order[length + k];
        free(turned.at);
    }
    free(order);
    return ok && c->operand_count > 0;
}

static kiln_status call_lexsort(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    return kiln_array_lexsort((const kiln_array *const *)a->operand, (size_t)c->operand_count,
                              &a->output[0], err);
}

enum { GIVEN_TOO = DT_MAY_BE_GIVEN | DT_MAY_RECORD | DT_MAY_PARSE };

const dt_function dt_sort_functions[] = {
    {"sort", DT_KIND_SORT, GIVEN_TOO, 1, draw_rows, evaluate_sort, call_sort, record_sort,
     text_sort},
    {"argsort", DT_KIND_SORT, GIVEN_TOO, 1, draw_rows, evaluate_sort, call_sort, record_sort,
     text_sort},
    {"partition", DT_KIND_SORT, GIVEN_TOO, 1, draw_rows, evaluate_sort, call_sort, record_sort,
     text_sort},
    {"argpartition", DT_KIND_SORT, GIVEN_TOO, 1, draw_rows, evaluate_sort, call_sort, record_sort,
     text_sort},
    {"topk", DT_KIND_SORT, GIVEN_TOO, 2, draw_rows, evaluate_sort, call_sort, record_sort,
     text_sort},
    {"median", DT_KIND_SORT, GIVEN_TOO, 1, draw_quantile, evaluate_quantile, call_quantile,
     record_sort, text_sort},
    {"quantile", DT_KIND_SORT, GIVEN_TOO, 1, draw_quantile, evaluate_quantile, call_quantile,
     record_sort, text_sort},
    {"searchsorted", DT_KIND_SORT, GIVEN_TOO | DT_PLAIN_FIRST, 1, draw_search, evaluate_search,
     call_search, record_sort, text_search},
    {"isin", DT_KIND_SORT, DT_MAY_BE_GIVEN, 1, draw_search, evaluate_search, call_search, NULL,
     NULL},
    {"digitize", DT_KIND_SORT, DT_PLAIN_FIRST, 1, draw_search, evaluate_search, call_search, NULL,
     NULL},
    {"histogram", DT_KIND_SORT, DT_PLAIN_FIRST, 1, draw_search, evaluate_histogram, call_histogram,
     NULL, NULL},
    {"bincount", DT_KIND_SORT, 0, 1, draw_bincount, evaluate_bincount, call_bincount, NULL, NULL},
    {"lexsort", DT_KIND_SORT, 0, 1, draw_lexsort, evaluate_lexsort, call_lexsort, NULL, NULL},
};
const int dt_sort_function_count = (int)DT_COUNT(dt_sort_functions);
