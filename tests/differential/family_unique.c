/*
 * family_unique.c - distinct elements and parts of arrays, operations on sets, filters of one's own.
 *
 * What a call gives besides elements is chosen by bits of a number: index, inverse, counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

/* Numbers: which results are wanted, whether a call asks for the number of elements and does not wait, the
 * axis, which texts a filter has, and which elements have which results. */
enum { WANTED, COUNTED, AXIS, TEXT, SWAPPED };
enum { INDEX, INVERSE, COUNTS, RETURNS };

static bool is_named(const dt_case *c, const char *name)
{
    return strcmp(dt_function_at(c->function)->name, name) == 0;
}

static bool is_nan(dt_value v)
{
    return isnan(v.re) || isnan(v.im);
}

/* A few different values, so that many elements are equal. */
static void draw_equals(dt_random *r, dt_operand *o)
{
    if (dt_once_in(r, 3))
        return;
    o->fill = DT_FILL_RANGE;
    o->low = dt_is_signed(o->view.dtype) ? -dt_below(r, 3) : 0;
    o->high = o->view.dtype == KILN_BOOL ? 1 : o->low + 1 + dt_below(r, dt_once_in(r, 2) ? 2 : 40);
}

/* ---- what distinct elements and parts have in common ------------------------------------------------ */

/* Units that are compared: elements (width 1), or the parts of an array along an axis. */
typedef struct units {
    const dt_array *x;
    int64_t count, width;
    int64_t *at; /* of element `k` of unit `u`: at[u * width + k] */
} units;

static bool units_of(const dt_array *x, int axis, units *u)
{
    int64_t index[DT_RANK];

    *u = (units){x, axis < 0 ? x->size : x->shape[axis], 1, NULL};
    for (int k = 0; k < x->rank && axis >= 0; k++)
        u->width *= k == axis ? 1 : x->shape[k];
    u->at = malloc((size_t)(x->size + 1) * sizeof *u->at);
    for (int64_t at = 0; at < x->size && u->at != NULL; at++) {
        int64_t within = 0;
        dt_unravel(at, x->rank, x->shape, index);
        for (int k = 0; k < x->rank; k++)
            within = k == axis ? within : within * x->shape[k] + index[k];
        u->at[axis < 0 ? at : index[axis] * u->width + within] = at;
    }
    return u->at != NULL;
}

static int compare_units(const units *u, int64_t a, int64_t b)
{
    for (int64_t k = 0; k < u->width; k++) {
        const int order = dt_compare(u->x->dtype, u->x->at[u->at[a * u->width + k]],
                                     u->x->at[u->at[b * u->width + k]], false);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Elements that are NaN are one; parts that hold one equal no other. */
static bool differ(const units *u, bool parts, int64_t a, int64_t b)
{
    for (int64_t k = 0; k < u->width; k++) {
        const dt_value v = u->x->at[u->at[a * u->width + k]], w = u->x->at[u->at[b * u->width + k]];
        if (parts && (is_nan(v) || is_nan(w)))
            return true;
        if (!(is_nan(v) && is_nan(w)) && dt_compare(u->x->dtype, v, w, false) != 0)
            return true;
    }
    return false;
}

static bool stands_before(const void *user, int64_t a, int64_t b)
{
    return compare_units(user, a, b) < 0;
}

/* The stable order of units; NULL when memory is short. */
static int64_t *order_units(const units *u)
{
    int64_t *order = malloc((size_t)(u->count + 1) * sizeof *order);

    for (int64_t k = 0; k < u->count && order != NULL; k++)
        order[k] = k;
    if (order != NULL && !dt_sort_places(order, u->count, stands_before, u)) {
        free(order);
        order = NULL;
    }
    return order;
}

/* Whether the unit at place `k` of the order begins a run of equal ones. */
static bool begins(const units *u, bool parts, const int64_t *order, int64_t k)
{
    return k == 0 || differ(u, parts, order[k], order[k - 1]);
}

static int results_of(int64_t wanted)
{
    return 1 + (wanted >> INDEX & 1) + (wanted >> INVERSE & 1) + (wanted >> COUNTS & 1);
}

/* The outputs but the first, in NumPy's order: those that are wanted. */
static bool make_places(const dt_case *c, const units *u, bool parts, const int64_t *order,
                        int64_t distinct, dt_array *out)
{
    const dt_array *x = u->x;
    dt_array *made[RETURNS] = {NULL};
    int next = 1;

    for (int k = 0; k < RETURNS; k++)
        made[k] = c->number[WANTED] >> k & 1 ? &out[next++] : NULL;
    for (int k = 0; k < RETURNS; k++) {
        const bool shaped = k == INVERSE && !parts;
        const int64_t length = k == INVERSE ? u->count : distinct;
        if (made[k] != NULL &&
            !dt_array_make(made[k], KILN_INT64, shaped ? x->rank : 1, shaped ? x->shape : &length))
            return false;
    }
    for (int64_t k = 0, to = -1; k < u->count; k++) {
        to += begins(u, parts, order, k);
        if (made[INDEX] != NULL && begins(u, parts, order, k))
            made[INDEX]->at[to].i = order[k];
        if (made[INVERSE] != NULL)
            made[INVERSE]->at[order[k]].i = to;
        if (made[COUNTS] != NULL)
            made[COUNTS]->at[to].i++;
    }
    return true;
}

static bool evaluate_unique(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool parts = is_named(c, "unique_along");
    int64_t shape[DT_RANK], distinct = 0, *order = NULL;
    int axis = -1, rank = 1;
    units u = {0}, y = {0};

    if (c->operand_count != 1 || c->number[WANTED] < 0 || c->number[WANTED] >= 1 << RETURNS ||
        c->output_count != results_of(c->number[WANTED]) ||
        (parts && !dt_axis_of(c->number[AXIS], in[0].rank, &axis)) || !units_of(&in[0], axis, &u))
        return false;
    order = order_units(&u);
    for (int64_t k = 0; k < u.count && order != NULL; k++)
        distinct += begins(&u, parts, order, k);
    if (parts) {
        rank = in[0].rank;
        memcpy(shape, in[0].shape, sizeof shape);
    }
    shape[parts ? axis : 0] = distinct;
    bool ok = order != NULL && dt_array_make(&out[0], in[0].dtype, rank, shape) &&
              units_of(&out[0], axis, &y) && make_places(c, &u, parts, order, distinct, out);
    for (int64_t k = 0, to = -1; k < u.count && ok; k++) {
        if (!begins(&u, parts, order, k))
            continue;
        to++;
        for (int64_t j = 0; j < u.width; j++)
            out[0].at[y.at[to * u.width + j]] = in[0].at[u.at[order[k] * u.width + j]];
    }
    free(u.at);
    free(y.at);
    free(order);
    return ok;
}

static bool draw_unique(dt_random *d, dt_random *r, dt_case *c)
{
    const bool parts = is_named(c, "unique_along");
    const int rank = parts ? 1 + dt_below(d, 3) : dt_below(d, 4);
    int64_t shape[DT_RANK];

    c->number[WANTED] = dt_below(r, 1 << RETURNS);
    c->output_count = results_of(c->number[WANTED]);
    c->number[AXIS] = parts ? dt_below(d, 2 * rank) - rank : 0;
    dt_draw_small_shape(r, rank, shape);
    if (parts && dt_once_in(r, 2)) /* many short parts, few of which differ */
        for (int k = 0; k < rank; k++)
            shape[k] =
                k == (c->number[AXIS] + rank) % rank ? dt_draw_extent(r, 600) : 1 + dt_below(r, 3);
    const int k = dt_draw_operand(r, c, dt_draw_dtype(d), dt_draw_fill(r), rank, shape);
    draw_equals(r, &c->operand[k]);
    return true;
}

static kiln_status call_unique(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_array **place[RETURNS] = {NULL};
    int next = 1;

    (void)device;
    for (int k = 0; k < RETURNS; k++)
        place[k] = c->number[WANTED] >> k & 1 ? &a->output[next++] : NULL;
    if (is_named(c, "unique_along"))
        return kiln_array_unique_along(a->operand[0], (int)c->number[AXIS], &a->output[0],
                                       place[INDEX], place[INVERSE], place[COUNTS], err);
    return kiln_array_unique(a->operand[0], &a->output[0], place[INDEX], place[INVERSE],
                             place[COUNTS], err);
}

/* ---- sets ------------------------------------------------------------------------------------------ */

typedef kiln_status (*set_function)(const kiln_array *, const kiln_array *, kiln_array **,
                                    kiln_array **, kiln_error *);
static const struct {
    const char *name;
    set_function call;
    bool both, one; /* whether it keeps what is in both arrays, and what is in one of them alone */
} sets[] = {{"union1d", kiln_array_union1d, true, true},
            {"intersect1d", kiln_array_intersect1d, true, false},
            {"setdiff1d", kiln_array_setdiff1d, false, true},
            {"setxor1d", kiln_array_setxor1d, false, true}};

static int set_of(const dt_case *c)
{
    int k = 0;

    while (!is_named(c, sets[k].name))
        k++;
    return k;
}

static bool draw_set(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype first = dt_draw_dtype(d), second = dt_once_in(d, 3) ? dt_draw_dtype(d) : first;
    int64_t shape[DT_RANK];

    for (int k = 0; k < 2; k++) {
        const int rank = dt_below(d, 3);
        dt_draw_small_shape(r, rank, shape);
        dt_draw_operand(r, c, k == 0 ? first : second, dt_draw_fill(r), rank, shape);
        draw_equals(r, &c->operand[k]);
    }
    c->number[COUNTED] = dt_once_in(d, 2);
    c->output_count = c->number[COUNTED] ? 2 : 1;
    return dt_promote(first, second) != KILN_DTYPE_NONE;
}

/* The elements of the first array, or of both, in the dtype that they are compared in. */
static bool join(const dt_array *in, int arrays, kiln_dtype common, dt_array *all)
{
    const int64_t size = in[0].size + (arrays > 1 ? in[1].size : 0);

    if (!dt_array_make(all, common, 1, &size))
        return false;
    for (int k = 0; k < arrays; k++)
        for (int64_t at = 0; at < in[k].size; at++)
            all->at[k * in[0].size + at] = dt_cast(in[k].dtype, common, in[k].at[at]);
    return true;
}

/* NaN is in no array. */
static bool is_in(const dt_array *x, kiln_dtype common, dt_value v)
{
    for (int64_t at = 0; at < x->size && !is_nan(v); at++)
        if (dt_compare(common, dt_cast(x->dtype, common, x->at[at]), v, false) == 0)
            return true;
    return false;
}

/* Elements behind the first `kept` ones are open. */
static bool deliver(const dt_array *all, const int64_t *chosen, int64_t kept, int64_t length,
                    dt_array *out)
{
    if (!dt_array_make(out, all->dtype, 1, &length))
        return false;
    for (int64_t k = 0; k < length; k++) {
        out->at[k] = k < kept ? all->at[chosen[k]] : dt_unknown();
        out->at[k].unwritten = k >= kept;
    }
    return true;
}

static bool evaluate_set(const dt_case *c, const dt_array *in, dt_array *out)
{
    const int set = set_of(c);
    const kiln_dtype common = dt_promote(in[0].dtype, in[1].dtype);
    const bool first = is_named(c, "setdiff1d");
    dt_array all = {0};
    units u = {0};
    int64_t kept = 0, *order = NULL, *chosen = NULL;

    if (c->operand_count != 2 || common == KILN_DTYPE_NONE ||
        (in[0].size + in[1].size) * (in[0].size + in[1].size) > 1 << 24)
        return false;
    bool ok = join(in, first ? 1 : 2, first ? in[0].dtype : common, &all) &&
              units_of(&all, -1, &u) && (order = order_units(&u)) != NULL &&
              (chosen = malloc((size_t)(all.size + 1) * sizeof *chosen)) != NULL;
    for (int64_t k = 0; k < all.size && ok; k++) {
        if (!begins(&u, false, order, k))
            continue;
        const dt_value v = dt_cast(all.dtype, common, all.at[order[k]]);
        const bool both = is_in(&in[0], common, v) && is_in(&in[1], common, v);
        if (both ? sets[set].both : sets[set].one)
            chosen[kept++] = order[k];
    }
    ok = ok && deliver(&all, chosen, kept, c->number[COUNTED] ? all.size : kept, out);
    if (ok && c->number[COUNTED]) {
        ok = dt_array_make(&out[1], KILN_INT64, 0, NULL);
        if (ok)
            out[1].at[0].i = kept;
    }
    free(order);
    free(chosen);
    free(u.at);
    free(all.at);
    return ok;
}

static kiln_status call_set(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    return sets[set_of(c)].call(a->operand[0], a->operand[1], &a->output[0],
                                c->number[COUNTED] ? &a->output[1] : NULL, err);
}

/* ---- filters --------------------------------------------------------------------------------------- */

/* What a filter keeps, of inputs x and y of one dtype. */
static const char *const conditions[] = {
    "x == y", "x != y", "i % 3 == 0 && x != y", "i < n / 2 || x == y", "i + 1 == n", "x == x"};

static bool keeps(int64_t condition, bool equal, bool itself, int64_t i, int64_t n)
{
    switch (condition) {
    case 0:
        return equal;
    case 1:
        return !equal;
    case 2:
        return i % 3 == 0 && !equal;
    case 3:
        return i < n / 2 || equal;
    case 4:
        return i + 1 == n;
    default:
        return itself;
    }
}

static bool equals(kiln_dtype dtype, dt_value a, dt_value b)
{
    return !is_nan(a) && !is_nan(b) && dt_compare(dtype, a, b, false) == 0;
}

static bool draw_filter(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d);
    const int rank = dt_below(d, 4);
    int64_t shape[DT_RANK];

    for (int k = 0; k < 2; k++) {
        dt_draw_operand(r, c, dtype, dt_draw_fill(r), 0, NULL);
        draw_equals(r, &c->operand[k]);
    }
    dt_draw_block_shape(r, rank, shape);
    dt_draw_operand_shapes(r, c, rank, shape);
    c->number[TEXT] = dt_below(d, DT_COUNT(conditions));
    return true;
}

/* Filters with results for the other elements: z is of elements kept and at of others, or (SWAPPED) the other way
 * round. Others are counted as well. */
static bool has_both(const dt_case *c)
{
    return is_named(c, "filter_both");
}

static bool draw_filter_both(dt_random *d, dt_random *r, dt_case *c)
{
    draw_filter(d, r, c);
    c->number[SWAPPED] = dt_below(d, 2);
    return true;
}

static bool evaluate_filter(const dt_case *c, const dt_array *in, dt_array *out)
{
    int64_t shape[DT_RANK], index[DT_RANK], kept = 0, others = 0;
    int rank = 0;

    if (c->operand_count != 2 || in[0].dtype != in[1].dtype || c->number[TEXT] < 0 ||
        c->number[TEXT] >= (int64_t)DT_COUNT(conditions) || !dt_loop_shape(c, &rank, shape))
        return false;
    const int64_t n = dt_size(rank, shape);
    if (!dt_array_make(&out[0], in[0].dtype, 1, &n) || !dt_array_make(&out[1], KILN_INT32, 1, &n) ||
        !dt_array_make(&out[2], KILN_INT64, 0, NULL) ||
        (has_both(c) && !dt_array_make(&out[3], KILN_INT64, 0, NULL)))
        return false;
    for (int64_t at = 0; at < n; at++) {
        out[0].at[at] = out[1].at[at] = dt_unknown();
        out[0].at[at].unwritten = out[1].at[at].unwritten = true;
    }
    for (int64_t at = 0; at < n; at++) {
        dt_unravel(at, rank, shape, index);
        const dt_value x = in[0].at[dt_broadcast_at(&in[0], rank, index)];
        const dt_value y = in[1].at[dt_broadcast_at(&in[1], rank, index)];
        const bool keep =
            keeps(c->number[TEXT], equals(in[0].dtype, x, y), equals(in[0].dtype, x, x), at, n);
        const int64_t to = keep ? kept++ : others++;
        if (has_both(c) ? keep != (c->number[SWAPPED] != 0) : keep)
            out[0].at[to] = x;
        if (has_both(c) ? keep == (c->number[SWAPPED] != 0) : keep)
            out[1].at[to] = (dt_value){.i = at};
    }
    out[2].at[0].i = kept;
    if (has_both(c))
        out[3].at[0].i = others;
    return true;
}

static kiln_status call_filter(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const bool both = has_both(c), swapped = both && c->number[SWAPPED] != 0;
    kiln_filter_call_options o = KILN_FILTER_CALL_OPTIONS_INIT;
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *filter = NULL;
    kiln_launch *launch = NULL;
    kiln_arg args[] = {kiln_arg_array(a->operand[0]), kiln_arg_array(a->operand[1]),
                       kiln_arg_out(&a->output[0]), kiln_arg_out(&a->output[1]),
                       kiln_arg_out(&a->output[2]), kiln_arg_out(&a->output[3])};
    const size_t count = DT_COUNT(args) - !both;

    o.stream = a->stream;
    options.otherwise = !both ? NULL : swapped ? "z = x" : "at = i";
    kiln_status status = kiln_filter_create(
        device->ctx, "T x, T y",
        both ? "T z, int32 at, int64 count, int64 others" : "T z, int32 at, int64 count",
        conditions[c->number[TEXT]], !both ? "z = x; at = i" : swapped ? "at = i" : "z = x",
        &options, &filter, err);
    if (status == KILN_OK && !c->prepared) {
        status = kiln_filter_run(filter, args, count, &o, err);
    } else if (status == KILN_OK) {
        status = kiln_filter_prepare(filter, args, count, &o, &launch, err);
        status = dt_launch_twice(status, launch, a->stream, err);
    }
    kiln_filter_destroy(filter);
    return status;
}

#define SET(name)                                                                                  \
    {                                                                                              \
        name, DT_KIND_SELECT, 0, 1, draw_set, evaluate_set, call_set, NULL, NULL                   \
    }
const dt_function dt_unique_functions[] = {
    {"unique", DT_KIND_SELECT, 0, 1, draw_unique, evaluate_unique, call_unique, NULL, NULL},
    {"unique_along", DT_KIND_SELECT, 0, 1, draw_unique, evaluate_unique, call_unique, NULL, NULL},
    {"unique_along", DT_KIND_SELECT, 0, 1, draw_unique, evaluate_unique, call_unique, NULL, NULL},
    SET("union1d"),
    SET("intersect1d"),
    SET("setdiff1d"),
    SET("setxor1d"),
    {"filter", DT_KIND_SELECT, DT_MAY_BE_GIVEN | DT_MAY_PREPARE, 3, draw_filter, evaluate_filter,
     call_filter, NULL, NULL},
    {"filter_both", DT_KIND_SELECT, DT_MAY_BE_GIVEN | DT_MAY_PREPARE, 4, draw_filter_both,
     evaluate_filter, call_filter, NULL, NULL},
};
const int dt_unique_function_count = (int)DT_COUNT(dt_unique_functions);
