/*
 * family_rule.c - arrays sorted together by a rule, points counted in boxes, quantiles of every method.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

static bool is_named(const dt_case *c, const char *name)
{
    return strcmp(dt_function_at(c->function)->name, name) == 0;
}

/* ---- sorted by a rule ------------------------------------------------------------------------------ */

/* Numbers beside those of family.h: the rule, whether sorted arrays and their order are wanted. */
enum { RULE = DT_DOWN + 1, WANTED };
enum { SORTED = 1, ORDER = 2 };

/* Rules over arrays p and q. A rule of keys has no `less`. */
static const struct rule {
    const char *less, *key;
    bool second;     /* it reads q as well */
    bool own;        /* keys have the dtype of p, else float64 */
    bool arithmetic; /* it computes */
} rules[] = {
    {"a.p < b.p", NULL, false, false, false},
    {"a.p < b.p || (a.p == b.p && a.q > b.q)", NULL, true, false, false},
    {"a.q > b.q", NULL, true, false, false},
    {NULL, "p", false, false, false},
    {NULL, "p", false, true, false},
    {NULL, "p * 2 + q", true, false, true},
    {"a.p * 2 + a.q < b.p * 2 + b.q", NULL, true, false, true},
};

static kiln_dtype draw_plain(dt_random *d)
{
    static const kiln_dtype plain[] = {KILN_INT16, KILN_INT32, KILN_INT64, KILN_FLOAT32,
                                       KILN_FLOAT64};
    return plain[dt_below(d, DT_COUNT(plain))];
}

/* Elements that a rule compares: no NaN where it is to be an order. */
static void draw_compared(dt_random *r, const struct rule *rule, dt_operand *o)
{
    if (rule->less != NULL && o->fill == DT_FILL_SPECIAL)
        o->fill = DT_FILL_UNIFORM;
    if (!rule->arithmetic && dt_once_in(r, 2))
        return;
    o->fill = DT_FILL_RANGE;
    o->low = dt_is_signed(o->view.dtype) || !dt_is_integer(o->view.dtype) ? -dt_below(r, 20) : 0;
    o->high = o->view.dtype == KILN_BOOL ? 1 : o->low + 1 + dt_below(r, 30);
}

static bool draw_sorted(dt_random *d, dt_random *r, dt_case *c)
{
    const int rule = dt_below(d, DT_COUNT(rules)), rank = dt_below(d, 4);
    const int count = 1 + rules[rule].second + dt_below(d, rules[rule].second ? 2 : 3);
    int64_t shape[DT_RANK];

    c->number[RULE] = rule;
    c->number[WANTED] = 1 + dt_below(r, SORTED + ORDER);
    dt_draw_axis(d, c, rank);
    c->number[DT_DOWN] = dt_once_in(d, 3);
    dt_draw_small_shape(r, rank, shape);
    if (rank > 0 && dt_once_in(r, 20)) { /* rows longer than a block sorts */
        for (int k = 0; k < rank; k++)
            shape[k] = k == rank - 1 ? 2000 + dt_below(r, 9000) : 1;
    }
    for (int k = 0; k < count; k++) {
        const bool compared = k == 0 ? rule != 2 : k == 1 && rules[rule].second;
        kiln_dtype dtype = dt_draw_dtype(d);
        while (compared && dt_is_complex(dtype))
            dtype = dt_draw_dtype(d);
        if (rules[rule].arithmetic && compared)
            dtype = draw_plain(d);
        const int o = dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
        if (compared)
            draw_compared(r, &rules[rule], &c->operand[o]);
    }
    c->output_count =
        (c->number[WANTED] & SORTED ? count : 0) + (c->number[WANTED] & ORDER ? 1 : 0);
    return true;
}

/* Elements of rows, by their places in the arrays. */
typedef struct compared {
    const struct rule *rule;
    const dt_array *in;
    bool down;
} compared;

static double sum_of(const compared *y, int64_t at)
{
    return 2 * (double)dt_real(y->in[0].dtype, y->in[0].at[at]) +
           (double)dt_real(y->in[1].dtype, y->in[1].at[at]);
}

/* Whether the element at place a stands before that at b, as the text of `less` has it. */
static bool less(const compared *y, int64_t a, int64_t b)
{
    const dt_array *p = &y->in[0], *q = &y->in[1];

    if (y->rule->arithmetic)
        return sum_of(y, a) < sum_of(y, b);
    if (!y->rule->second)
        return dt_compare(p->dtype, p->at[a], p->at[b], false) < 0;
    const bool greater = dt_compare(q->dtype, q->at[a], q->at[b], false) > 0;
    if (y->rule == &rules[2])
        return greater;
    const int order = dt_compare(p->dtype, p->at[a], p->at[b], false);
    return order < 0 || (order == 0 && greater);
}

static bool before(const void *user, int64_t a, int64_t b)
{
    const compared *y = user;

    if (y->rule->less != NULL)
        return y->down ? less(y, b, a) : less(y, a, b);
    const dt_array *p = &y->in[0];
    const kiln_dtype key = y->rule->own ? p->dtype : KILN_FLOAT64;
    if (y->rule->arithmetic)
        return y->down ? sum_of(y, a) > sum_of(y, b) : sum_of(y, a) < sum_of(y, b);
    return dt_compare(key, dt_cast(p->dtype, key, p->at[a]), dt_cast(p->dtype, key, p->at[b]),
                      y->down) < 0;
}

/* Outputs of the shape that sorted rows have. */
static bool make_sorted(const dt_case *c, const dt_array *in, const dt_rows *y, dt_array *out)
{
    const int arrays = c->number[WANTED] & SORTED ? c->operand_count : 0;
    int64_t shape[DT_RANK + 1];
    const int rank = dt_row_shape(&in[0], y, y->length, shape);

    if (c->output_count != arrays + (c->number[WANTED] & ORDER ? 1 : 0) || c->output_count == 0)
        return false;
    for (int k = 0; k < c->output_count; k++)
        if (!dt_array_make(&out[k], k < arrays ? in[k].dtype : KILN_INT64, rank, shape))
            return false;
    return true;
}

static bool evaluate_sorted(const dt_case *c, const dt_array *in, dt_array *out)
{
    dt_rows y;

    if (c->number[RULE] < 0 || c->number[RULE] >= (int64_t)DT_COUNT(rules) ||
        c->operand_count < (rules[c->number[RULE]].second ? 2 : 1) || !dt_rows_of(c, &in[0], &y))
        return false;
    const compared by = {&rules[c->number[RULE]], in, c->number[DT_DOWN] != 0};
    for (int k = 0; k < c->operand_count; k++) {
        const bool reads = k == 0 || (k == 1 && by.rule->second);
        if (in[k].rank != in[0].rank || (reads && dt_is_complex(in[k].dtype)) ||
            memcmp(in[k].shape, in[0].shape, (size_t)in[0].rank * sizeof *in[0].shape) != 0)
            return false;
        for (int64_t at = 0; at < in[k].size && reads && by.rule->less != NULL; at++)
            if (isnan(in[k].at[at].re))
                return false;
    }
    if (!make_sorted(c, in, &y, out))
        return false;
    const int arrays = c->number[WANTED] & SORTED ? c->operand_count : 0;
    int64_t *at = malloc((size_t)(y.length + 1) * sizeof *at);
    bool ok = at != NULL;
    for (int64_t row = 0; row < y.before * y.behind && ok; row++) {
        const int64_t from = row / y.behind * y.length * y.behind + row % y.behind;
        for (int64_t k = 0; k < y.length; k++)
            at[k] = from + k * y.behind;
        ok = dt_sort_places(at, y.length, before, &by);
        for (int64_t k = 0; k < y.length && ok; k++) {
            for (int a = 0; a < arrays; a++)
                out[a].at[from + k * y.behind] = in[a].at[at[k]];
            if (c->number[WANTED] & ORDER)
                out[arrays].at[from + k * y.behind].i = (at[k] - from) / y.behind;
        }
    }
    free(at);
    return ok;
}

static kiln_status call_sorted(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const struct rule *rule = &rules[c->number[RULE]];
    const bool sorted = (c->number[WANTED] & SORTED) != 0, order = c->number[WANTED] & ORDER;
    kiln_sort_rule r = KILN_SORT_RULE_INIT;
    kiln_axes axes;
    const kiln_sort_options o = dt_sort_options(c, a, &axes);
    char in[128] = "";

    (void)device;
    for (int k = 0; k < c->operand_count; k++)
        snprintf(in + strlen(in), sizeof in - strlen(in), "%s%s %c", k > 0 ? ", " : "",
                 kiln_dtype_name(c->operand[k].view.dtype), 'p' + k);
    r.less = rule->less;
    r.key = rule->key;
    r.key_dtype = rule->own ? c->operand[0].view.dtype : KILN_DTYPE_NONE;
    return kiln_array_sort_by(in, (const kiln_array *const *)a->operand, (size_t)c->operand_count,
                              &r, &o, sorted ? a->output : NULL,
                              order ? &a->output[sorted ? c->operand_count : 0] : NULL, err);
}

/* ---- points in boxes ------------------------------------------------------------------------------- */

static kiln_dtype draw_real(dt_random *d)
{
    kiln_dtype dtype;

    do
        dtype = dt_draw_dtype(d);
    while (dt_is_complex(dtype));
    return dtype;
}

/* Coordinates come first, then the edges of each axis. */
static bool draw_boxes(dt_random *d, dt_random *r, dt_case *c)
{
    const int axes = 1 + dt_below(d, 4), rank = dt_below(d, 3);
    int64_t shape[DT_RANK];

    dt_draw_small_shape(r, rank, shape);
    for (int k = 0; k < axes; k++)
        dt_draw_operand(r, c, draw_real(d), dt_draw_fill(r), rank, shape);
    for (int k = 0; k < axes; k++) {
        kiln_dtype dtype = draw_real(d);
        while (dtype == KILN_BOOL || dt_is_float8(dtype))
            dtype = draw_real(d);
        dt_operand *o = &c->operand[dt_draw_operand(r, c, dtype, DT_FILL_EVEN, 1, (int64_t[]){2})];
        dt_operand *v = &c->operand[k];
        const bool has_sign = dt_is_signed(dtype) || !dt_is_integer(dtype);
        o->parts = 1 + dt_below(r, dt_once_in(r, 6) ? 200 / axes : 9);
        o->view.shape[0] = o->parts + 1;
        o->low = has_sign ? dt_below(r, 21) - 20 : 0;
        o->high = dt_is_integer(dtype) ? o->low + o->parts * (1 + dt_below(r, 3))
                                       : o->low + 1 + dt_below(r, 40);
        o->high = kiln_dtype_size(dtype) == 1 && o->high > 120 ? 120 : o->high;
        const bool fits =
            v->view.dtype != KILN_BOOL && !dt_is_float8(v->view.dtype) && (o->low >= 0 || has_sign);
        if (fits && dt_once_in(r, 2)) { /* coordinates at edges, and beside them */
            v->fill = DT_FILL_EVEN;
            v->parts = o->parts;
            v->near = true;
            v->low = dt_is_integer(v->view.dtype) && !dt_is_signed(v->view.dtype) && o->low < 0
                         ? 0
                         : o->low;
            v->high = o->high;
        }
    }
    return true;
}

/* The bin of a number; -1: none. */
static int64_t bin_of(const dt_array *edges, double x)
{
    const int64_t bins = edges->size - 1;

    for (int64_t k = 0; k < bins; k++) {
        const double low = (double)dt_real(edges->dtype, edges->at[k]);
        const double high = (double)dt_real(edges->dtype, edges->at[k + 1]);
        if (x >= low && (x < high || (k == bins - 1 && x == high)))
            return k;
    }
    return -1;
}

static bool evaluate_boxes(const dt_case *c, const dt_array *in, dt_array *out)
{
    const int axes = c->operand_count / 2;
    int64_t shape[DT_RANK];

    if (c->operand_count < 2 || c->operand_count % 2 != 0 || axes > DT_RANK)
        return false;
    for (int a = 0; a < axes; a++) {
        const dt_array *x = &in[a], *e = &in[axes + a];
        if (x->rank != in[0].rank || e->rank != 1 || e->size < 2 || dt_is_complex(x->dtype) ||
            dt_is_complex(e->dtype) ||
            memcmp(x->shape, in[0].shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return false;
        for (int64_t k = 1; k < e->size; k++)
            if (!(dt_real(e->dtype, e->at[k]) > dt_real(e->dtype, e->at[k - 1])))
                return false;
        shape[a] = e->size - 1;
    }
    if (dt_size(axes, shape) > 1 << 20 || !dt_array_make(out, KILN_FLOAT64, axes, shape))
        return false;
    for (int64_t at = 0; at < in[0].size; at++) {
        int64_t box = 0;
        for (int a = 0; a < axes && box >= 0; a++) {
            const int64_t bin = bin_of(&in[axes + a], (double)dt_real(in[a].dtype, in[a].at[at]));
            box = bin < 0 ? -1 : box * shape[a] + bin;
        }
        if (box >= 0)
            out->at[box].re++;
    }
    return true;
}

static kiln_status call_boxes(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const int axes = c->operand_count / 2;

    (void)device;
    return kiln_array_histogramdd((const kiln_array *const *)a->operand,
                                  (const kiln_array *const *)(a->operand + axes), (size_t)axes,
                                  &a->output[0], err);
}

/* ---- quantiles of every method ---------------------------------------------------------------------- */

/* Numbers: the method, whether the axis is kept, how many are asked for, and each in thousandths. */
enum { METHOD = DT_DOWN + 1, KEEP, ASKED, Q, ASKED_MOST = 3 };

static const char *const methods[] = {"linear",
                                      "inverted_cdf",
                                      "averaged_inverted_cdf",
                                      "closest_observation",
                                      "interpolated_inverted_cdf",
                                      "hazen",
                                      "weibull",
                                      "median_unbiased",
                                      "normal_unbiased",
                                      "lower",
                                      "higher",
                                      "midpoint",
                                      "nearest"};

static bool draw_quantiles(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = draw_real(d);
    const bool list = is_named(c, "quantiles");
    const int rank = dt_below(d, 4);
    int64_t shape[DT_RANK];

    dt_draw_axis(d, c, rank);
    dt_draw_small_shape(r, rank, shape);
    const int k = dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    if (rank > 0 && dt_once_in(r, 30)) /* rows of which single places are chosen */
        for (int a = 0; a < rank; a++)
            c->operand[k].view.shape[a] = a == rank - 1 ? 600 + dt_below(r, 9000) : 1;
    c->number[METHOD] = is_named(c, "nanmedian") ? 0 : dt_below(d, DT_COUNT(methods));
    c->number[KEEP] = !list && dt_once_in(d, 3);
    c->number[ASKED] = list ? 1 + dt_below(r, ASKED_MOST) : 1;
    for (int q = 0; q < c->number[ASKED]; q++)
        c->number[Q + q] = is_named(c, "nanmedian") ? 500
                           : dt_once_in(d, 2)       ? 125 * dt_below(d, 9)
                                                    : dt_below(d, 1001);
    return dt_size(rank, c->operand[k].view.shape) > 0;
}

/* The two elements that a quantile lies between, and how far from the first one. */
typedef struct part {
    int64_t low, high;
    double part;
    bool chooses; /* one of them is the result */
    bool open;    /* a rounding decides which ones */
} part;

static part clamped(double place, int64_t n)
{
    const double most = (double)(n - 1);
    const double at = place < 0 ? 0 : place > most ? most : place;
    const double low = floor(at + 1e-9);

    return (part){(int64_t)low, (int64_t)ceil(at - 1e-9), fabs(at - low) < 1e-9 ? 0 : at - low,
                  false, false};
}

/* Hyndman's and Fan's methods (1996), and NumPy's further ones; docs of numpy.quantile. */
static part part_of(int64_t method, int64_t thousandths, int64_t n)
{
    const double q = (double)thousandths / 1000, of_n = q * (double)n, along = q * (double)(n - 1);
    const double alpha = method == KILN_QUANTILE_HAZEN             ? 0.5
                         : method == KILN_QUANTILE_MEDIAN_UNBIASED ? 1.0 / 3
                         : method == KILN_QUANTILE_NORMAL_UNBIASED ? 3.0 / 8
                                                                   : 0;
    const bool exact = thousandths % 125 == 0; /* its products are those of real numbers */
    part y = clamped(along, n);

    switch (method) {
    case KILN_QUANTILE_INVERTED_CDF: /* the first element whose share reaches q */
        y = clamped(ceil(of_n - 1e-9) - 1, n);
        y.open = !exact && fabs(of_n - rint(of_n)) < 1e-9;
        y.chooses = true;
        break;
    case KILN_QUANTILE_AVERAGED_INVERTED_CDF:
        y.open = !exact && fabs(of_n - rint(of_n)) < 1e-9;
        y.part = of_n == floor(of_n) ? 0.5 : 1;
        y.low = clamped(floor(of_n) - 1, n).low;
        y.high = clamped(floor(of_n), n).low;
        break;
    case KILN_QUANTILE_CLOSEST_OBSERVATION: /* halves go to even places, counted from 1 */
        y = clamped(rint(of_n) - 1, n);
        y.open = fabs(fabs(of_n - rint(of_n)) - 0.5) < 1e-9 && !exact;
        y.chooses = true;
        break;
    case KILN_QUANTILE_INTERPOLATED_INVERTED_CDF:
        y = clamped(of_n - 1, n);
        break;
    case KILN_QUANTILE_HAZEN:
    case KILN_QUANTILE_WEIBULL:
    case KILN_QUANTILE_MEDIAN_UNBIASED:
    case KILN_QUANTILE_NORMAL_UNBIASED:
        y = clamped(of_n + alpha + q * (1 - 2 * alpha) - 1, n);
        break;
    case KILN_QUANTILE_LOWER:
    case KILN_QUANTILE_HIGHER:
        y.open = !exact && fabs(along - rint(along)) < 1e-9;
        y.low = y.high = method == KILN_QUANTILE_LOWER ? y.low : y.high;
        y.chooses = true;
        break;
    case KILN_QUANTILE_NEAREST:
        y.open = !exact && fabs(fabs(along - rint(along)) - 0.5) < 1e-9;
        y.low = y.high = (int64_t)rint(along);
        y.chooses = true;
        break;
    case KILN_QUANTILE_MIDPOINT:
        y.open = !exact && fabs(along - rint(along)) < 1e-9;
        y.part = y.low == y.high ? 0 : 0.5;
        break;
    default:
        break;
    }
    return y;
}

static bool chooses(int64_t method)
{
    return part_of(method, 0, 1).chooses;
}

/* One quantile of the `n` elements that `order` names. */
static dt_value quantile_of(const dt_array *x, kiln_dtype to, const int64_t *order, int64_t n,
                            int64_t method, int64_t thousandths, bool median)
{
    if (n == 0)
        return (dt_value){.re = NAN};
    const part y = part_of(method, thousandths, n);
    const dt_value a = x->at[order[y.low]], b = x->at[order[y.high]];
    if (isnan(x->at[order[n - 1]].re))
        return (dt_value){.re = NAN};
    if (y.open)
        return dt_unknown();
    if (y.chooses)
        return a;
    if (!median && y.low == y.high && y.low + 1 < n && !isfinite(x->at[order[y.low + 1]].re))
        return dt_unknown(); /* with a weight of 0, it makes the quantile NaN in NumPy */
    dt_value v = dt_between(x->dtype, to, a, b, y.part);
    if (isfinite(v.error)) /* the place between the two is rounded as well */
        v.error += 1e-15 * (double)n * (double)fabsl(dt_real(x->dtype, b) - dt_real(x->dtype, a));
    v.alone = v.error;
    return v;
}

static bool evaluate_quantiles(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool list = is_named(c, "quantiles"), median = is_named(c, "nanmedian");
    const dt_array *x = &in[0];
    const int64_t method = c->number[METHOD], asked = c->number[ASKED];
    int64_t shape[DT_RANK + 2] = {asked};
    dt_rows y;

    if (c->operand_count != 1 || dt_is_complex(x->dtype) || method < 0 ||
        method >= (int64_t)DT_COUNT(methods) || asked < 1 || asked > ASKED_MOST ||
        !dt_rows_of(c, x, &y) || y.length == 0 || x->size == 0)
        return false;
    const int extra = list ? 1 : 0;
    int rank = extra + dt_row_shape(x, &y, c->number[KEEP] ? 1 : -1, shape + extra);
    if (c->number[KEEP] && y.axis < 0) /* all axes are kept */
        for (rank = 0; rank < x->rank; rank++)
            shape[rank] = 1;
    const kiln_dtype to = dt_is_integer(x->dtype) && !chooses(method) ? KILN_FLOAT64 : x->dtype;
    if (rank > DT_RANK || !dt_array_make(out, to, rank, shape))
        return false;
    int64_t *order = malloc((size_t)(y.length + 1) * sizeof *order);
    const int64_t rows = y.before * y.behind;
    for (int64_t row = 0; row < rows && order != NULL; row++) {
        const int64_t from = row / y.behind * y.length * y.behind + row % y.behind;
        int64_t n = y.length;
        dt_order_row(x, from, y.behind, y.length, false, order);
        for (int64_t k = 0; k < y.length; k++)
            order[k] = from + order[k] * y.behind;
        while (!list && n > 0 && isnan(x->at[order[n - 1]].re))
            n--;
        for (int64_t q = 0; q < asked; q++)
            out->at[q * rows + row] = quantile_of(x, to, order, n, method, c->number[Q + q], median);
    }
    free(order);
    return order != NULL;
}

static kiln_status call_quantiles(dt_device *device, const dt_case *c, dt_arrays *a,
                                  kiln_error *err)
{
    double q[ASKED_MOST];
    kiln_axes axes;
    const kiln_sort_options o = dt_sort_options(c, a, &axes);

    (void)device;
    for (int k = 0; k < c->number[ASKED]; k++)
        q[k] = (double)c->number[Q + k] / 1000;
    return kiln_array_quantile(a->operand[0], q, (size_t)c->number[ASKED],
                               (kiln_quantile_method)c->number[METHOD], &o, &a->output[0], err);
}

static void text_quantile(const dt_case *c, const char *first, char *text, size_t bytes)
{
    const char *name = dt_function_at(c->function)->name, *method = methods[c->number[METHOD]];
    char axis[32] = "None", more[96] = "";

    if (c->number[DT_ROW_AXIS] != DT_ALL)
        snprintf(axis, sizeof axis, "%lld", (long long)c->number[DT_ROW_AXIS]);
    if (!is_named(c, "nanmedian"))
        snprintf(more, sizeof more, ", %.17g, method='%s'", (double)c->number[Q] / 1000, method);
    snprintf(text, bytes, "%s(%s%s, axis=%s, keepdims=%s)", name, first, more, axis,
             c->number[KEEP] ? "True" : "False");
}

#define TEXT_ROW(name)                                                                             \
    {                                                                                              \
        name, DT_KIND_SORT, DT_MAY_BE_GIVEN | DT_MAY_PARSE, 1, draw_quantiles, evaluate_quantiles, \
            NULL, NULL, text_quantile                                                              \
    }
const dt_function dt_rule_functions[] = {
    {"sort_by", DT_KIND_SORT, 0, 1, draw_sorted, evaluate_sorted, call_sorted, NULL, NULL},
    {"sort_by", DT_KIND_SORT, 0, 1, draw_sorted, evaluate_sorted, call_sorted, NULL, NULL},
    {"histogramdd", DT_KIND_SORT, DT_PLAIN_FIRST, 1, draw_boxes, evaluate_boxes, call_boxes, NULL,
     NULL},
    {"quantiles", DT_KIND_SORT, DT_MAY_BE_GIVEN, 1, draw_quantiles, evaluate_quantiles,
     call_quantiles, NULL, NULL},
    TEXT_ROW("nanmedian"),
    TEXT_ROW("nanquantile"),
};
const int dt_rule_function_count = (int)DT_COUNT(dt_rule_functions);
