/*
 * scatter.c - kiln_array_scatter(), kiln_array_put() and kiln_array_put_along_axis()
 * (kiln/indexing.h): x[i] = v, and sums, products, minima and maxima at indices, in place.
 *
 *     array, subscripts, values > [views: indexed axes first] > scatter_run.c
 *
 * Test: test_scatter.
 */
#include <stdio.h>

#include "indexing/scatter.h"

KILN_DEFINE_OPTIONS_INIT(kiln_scatter_options)

static void replace(kiln_array **array, kiln_array *by)
{
    kiln_array_release(*array);
    *array = by;
}

/* A number as an array without axes. */
static kiln_status filled(const kiln__scattering *s, kiln_dtype dtype, kiln_arg number,
                          kiln_array **out, kiln_error *err)
{
    KILN_CHECK(kiln__array_new(s->ctx, dtype, 0, NULL, NULL, s->stream, out, err));
    const kiln_arg args[] = {number, kiln_arg_array(*out)};
    return kiln__builtin_run(s->ctx, KILN__BUILTIN_FILL, args, 2, s->stream, err);
}

/* ---- subscripts ---- */

static kiln_status add_index(kiln__scattering *s, const kiln_array *index, int axis,
                             kiln_error *err)
{
    char what[64], shape[24 * KILN_RANK_MAX], before[24 * KILN_RANK_MAX];
    const int k = s->index_count;

    snprintf(what, sizeof what, "%s: index array %d", s->name, k + 1);
    KILN_CHECK(kiln__array_check(index, s->ctx, what, err));
    const char kind = kiln_dtype_kind(index->dtype);
    if (kind != 'i' && kind != 'u')
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is %s; indices must be integers", what,
                          kiln_dtype_name(index->dtype));
    if (k == KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: too many index arrays", s->name);
    if (axis >= s->target->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is out of range for rank %d", s->name,
                          axis, s->target->rank);
    if (!kiln__shape_broadcast(&s->rank, s->shape, index->rank, index->shape)) {
        kiln__shape_text(index->rank, index->shape, shape, sizeof shape);
        kiln__shape_text(s->rank, s->shape, before, sizeof before);
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s of shape %s does not broadcast with those before it, of shape %s", what,
                          shape, before);
    }
    if (kiln__array_overlap(index, s->target)) /* the target changes while indices are read */
        KILN_CHECK(kiln__array_copy_on(index, s->stream, &s->index[k], err));
    else
        s->index[k] = kiln_array_retain((kiln_array *)index);
    s->axis[k] = axis;
    s->index_count++;
    return KILN_OK;
}

/* A number beside index arrays counts as one. */
static kiln_status add_number(kiln__scattering *s, int64_t number, int axis, kiln_error *err)
{
    kiln_array *made = NULL;

    kiln_status status = filled(s, KILN_INT64, kiln_arg_int(number), &made, err);
    if (status == KILN_OK)
        status = add_index(s, made, axis, err);
    kiln_array_release(made);
    return status;
}

/* Apply one subscript at an axis of the target; `*axis_out` is the next one. */
static kiln_status apply_one(kiln__scattering *s, const kiln_subscript *at, bool arrays, int *axis,
                             kiln_error *err)
{
    kiln_array *view = NULL;

    switch (at->kind) {
    case KILN_SUBSCRIPT_ARRAY:
    case KILN_SUBSCRIPT_INDEX:
        if (at->kind == KILN_SUBSCRIPT_ARRAY)
            return add_index(s, at->array, (*axis)++, err);
        if (arrays)
            return add_number(s, at->start, (*axis)++, err);
        KILN_CHECK(kiln_array_select(s->target, *axis, at->start, &view, err));
        break;
    case KILN_SUBSCRIPT_SLICE:
        KILN_CHECK(
            kiln_array_slice(s->target, (*axis)++, at->start, at->stop, at->step, &view, err));
        break;
    case KILN_SUBSCRIPT_NEW_AXIS:
        KILN_CHECK(kiln_array_newaxis(s->target, (*axis)++, &view, err));
        break;
    case KILN_SUBSCRIPT_ELLIPSIS:
        return KILN_OK;
    default:
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: a subscript has an unknown kind", s->name);
    }
    replace(&s->target, view);
    return KILN_OK;
}

static kiln_status apply_subscripts(kiln__scattering *s, const kiln_subscript *list, size_t count,
                                    bool *apart, kiln_error *err)
{
    size_t ellipses = 0;
    int used = 0, axis = 0;
    bool arrays = false;

    for (size_t k = 0; k < count; k++) {
        ellipses += list[k].kind == KILN_SUBSCRIPT_ELLIPSIS;
        arrays = arrays || list[k].kind == KILN_SUBSCRIPT_ARRAY;
        used += list[k].kind == KILN_SUBSCRIPT_ARRAY || list[k].kind == KILN_SUBSCRIPT_INDEX ||
                list[k].kind == KILN_SUBSCRIPT_SLICE;
    }
    if (ellipses > 1)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: there may be one `...`", s->name);
    const int rest = s->target->rank - used;
    for (size_t k = 0; k < count; k++) {
        if (list[k].kind == KILN_SUBSCRIPT_ELLIPSIS)
            axis += rest > 0 ? rest : 0;
        KILN_CHECK(apply_one(s, &list[k], arrays, &axis, err));
    }
    *apart = arrays && kiln__subscripts_apart(&list->kind, sizeof *list, count);
    return KILN_OK;
}

/* ---- shapes ---- */

/* The values as a view of the shape that x[i] has, its axes in the target's new order. */
static kiln_status shape_values(kiln__scattering *s, const kiln_array *values, bool first,
                                kiln_error *err)
{
    const kiln_array *t = s->target;
    const int rest = t->rank - s->index_count, rank = s->rank + rest;
    const int place = first || s->index_count == 0 ? 0 : s->axis[0];
    int64_t shape[2 * KILN_RANK_MAX];
    kiln_axes order = {rank, {0}};
    kiln_array *wide = NULL;
    int own = 0;

    if (rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: the values would have %d axes", s->name,
                          rank);
    for (int b = 0; b < s->rank; b++) {
        shape[place + b] = s->shape[b];
        order.axis[b] = place + b;
    }
    for (int a = 0, k = 0; a < t->rank; a++) {
        if (k < s->index_count && s->axis[k] == a) {
            k++;
            continue;
        }
        const int to = own < place ? own : own + s->rank;
        shape[to] = t->shape[a];
        order.axis[s->rank + own++] = to;
    }
    KILN_CHECK(kiln_array_broadcast_to(values, rank, shape, &wide, err));
    const kiln_status status = kiln_array_transpose(wide, &order, &s->values, err);
    kiln_array_release(wide);
    return status;
}

/* The target with the indexed axes first, in the order of the index arrays. */
static kiln_status turn_target(kiln__scattering *s, kiln_error *err)
{
    kiln_axes order = {s->target->rank, {0}};
    kiln_array *turned = NULL;
    int at = s->index_count;

    for (int a = 0, k = 0; a < s->target->rank; a++) {
        if (k < s->index_count && s->axis[k] == a)
            order.axis[k++] = a;
        else
            order.axis[at++] = a;
    }
    s->count = s->row = 1;
    for (int b = 0; b < s->rank; b++)
        s->count *= s->shape[b];
    KILN_CHECK(kiln_array_transpose(s->target, &order, &turned, err));
    replace(&s->target, turned);
    for (int a = s->index_count; a < turned->rank; a++)
        s->row *= turned->shape[a];
    for (int k = 0; k < s->index_count && s->count > 0 && s->row > 0; k++)
        if (turned->shape[k] == 0)
            return kiln__fail(err, KILN_ERR_INDEX, "%s: axis %d has no elements", s->name,
                              s->axis[k]);
    return KILN_OK;
}

/* ---- the call ---- */

/* Values in the target's dtype, and not in its memory. */
static kiln_status take_values(kiln__scattering *s, const kiln_array *target, kiln_arg given,
                               kiln_array **out, kiln_error *err)
{
    const kiln_array *v = given.value.array;
    char what[64];

    if (given.kind != KILN_ARG_ARRAY)
        return filled(s, target->dtype, given, out, err);
    snprintf(what, sizeof what, "%s: the array of values", s->name);
    KILN_CHECK(kiln__array_check(v, s->ctx, what, err));
    if (v->dtype != target->dtype || kiln__array_overlap(v, target))
        return kiln__array_copy_as(v, target->dtype, NULL, s->stream, out, err);
    *out = kiln_array_retain((kiln_array *)v);
    return KILN_OK;
}

static kiln_status begin(kiln__scattering *s, kiln_array *array, const kiln_scatter_options *opts,
                         kiln_error *err)
{
    const kiln_scatter_options defaults = KILN_SCATTER_OPTIONS_INIT;
    char what[64];

    snprintf(what, sizeof what, "%s: the array", s->name);
    KILN_CHECK(kiln__array_check(array, NULL, what, err));
    if (kiln__array_unwritable(array) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s %s", what, kiln__array_unwritable(array));
    s->ctx = array->ctx;
    s->o = defaults;
    KILN_CHECK(KILN_READ_OPTIONS(kiln_scatter_options, &s->o, opts, err));
    s->stream = kiln__device_stream(kiln__context_device(s->ctx));
    if (s->o.stream != NULL)
        KILN_CHECK(kiln__context_stream(s->ctx, s->o.stream, &s->stream, err));
    if (s->what < KILN_SCATTER_SET || s->what > KILN_SCATTER_REDUCE)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no combination %d", s->name,
                          (int)s->what);
    if (s->what == KILN_SCATTER_REDUCE && s->o.reduce == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: the option `reduce` is NULL", s->name);
    if (s->o.mode < KILN_INDEX_CHECK || s->o.mode > KILN_INDEX_CLIP)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no index mode %d", s->name,
                          (int)s->o.mode);
    s->whole = kiln_array_retain(array);
    s->target = kiln_array_retain(array);
    return KILN_OK;
}

static kiln_status finish(kiln__scattering *s, const kiln_array *values, bool apart,
                          kiln_error *err)
{
    const int last = s->index_count - 1;
    const bool first =
        apart || (last >= 0 && s->axis[last] - s->axis[0] != last); /* or not neighbours */

    KILN_CHECK(shape_values(s, values, first, err));
    KILN_CHECK(turn_target(s, err));
    return kiln__scatter_run(s, err);
}

static void end(kiln__scattering *s)
{
    kiln_array_release(s->whole);
    kiln_array_release(s->target);
    kiln_array_release(s->values);
    kiln_array_release(s->report);
    for (int k = 0; k < s->index_count; k++)
        kiln_array_release(s->index[k]);
}

/* The numbers of an axis, as indices along it. */
static kiln_status add_own(kiln__scattering *s, int axis, kiln_error *err)
{
    const int rank = s->target->rank;
    int64_t shape[KILN_RANK_MAX];
    kiln_array *numbers = NULL;

    for (int a = 0; a < rank; a++)
        shape[a] = a == axis ? s->target->shape[a] : 1;
    KILN_CHECK(kiln__array_new(s->ctx, KILN_INT64, rank, shape, NULL, s->stream, &numbers, err));
    const kiln_arg args[] = {kiln_arg_float(0), kiln_arg_float(1), kiln_arg_array(numbers)};
    kiln_status status = kiln__builtin_run(s->ctx, KILN__BUILTIN_ARANGE, args, 3, s->stream, err);
    if (status == KILN_OK)
        status = add_index(s, numbers, axis, err);
    kiln_array_release(numbers);
    return status;
}

/* Elements in C-order: of the array, or of a copy of it, which `*dense` is then. */
static kiln_status scatter_flat(kiln__scattering *s, const kiln__scatter_request *r,
                                kiln_array **dense, kiln_error *err)
{
    kiln_array *flat = NULL;

    if (!s->whole->contiguous) {
        const kiln_array *elements = s->from != NULL ? s->from : s->whole;
        KILN_CHECK(kiln__array_copy_on(elements, s->stream, dense, err));
        s->from = NULL;
    }
    kiln_array *const of = *dense != NULL ? *dense : s->whole;
    KILN_CHECK(kiln_array_reshape(of, 1, (int64_t[]){-1}, &flat, err));
    replace(&s->target, flat);
    return add_index(s, r->indices, 0, err);
}

kiln_status kiln__scatter_check_along(int rank, int indices, int64_t axis, kiln_error *err)
{
    if (axis < -rank || axis >= rank)
        return kiln__fail(err, KILN_ERR_AXIS, "put_along_axis: axis %lld is out of range for rank %d",
                          (long long)axis, rank);
    if (indices != rank)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "put_along_axis: the indices have %d ax%s, the array %d", indices,
                          indices == 1 ? "is" : "es", rank);
    return KILN_OK;
}

static kiln_status scatter_along(kiln__scattering *s, const kiln__scatter_request *r,
                                 kiln_error *err)
{
    const int rank = s->whole->rank, axis = r->axis < 0 ? r->axis + rank : r->axis;

    KILN_CHECK(kiln__array_check(r->indices, s->ctx, "put_along_axis: the indices", err));
    KILN_CHECK(kiln__scatter_check_along(rank, r->indices->rank, r->axis, err));
    for (int a = 0; a < rank; a++)
        KILN_CHECK(a == axis ? add_index(s, r->indices, a, err) : add_own(s, a, err));
    return KILN_OK;
}

kiln_status kiln__scatter_do(const kiln__scatter_request *r, const kiln_scatter_options *opts,
                             kiln_error *err)
{
    static const char *const names[] = {[KILN__SCATTER_AT] = "scatter",
                                        [KILN__SCATTER_FLAT] = "put",
                                        [KILN__SCATTER_ALONG] = "put_along_axis"};
    kiln__scattering s = {.name = names[r->form], .what = r->what, .from = r->from};
    kiln_array *taken = NULL, *dense = NULL;
    bool apart = false;
    kiln_status status = KILN_OK;

    KILN_TRY(begin(&s, r->array, opts, err));
    KILN_TRY(take_values(&s, r->array, r->values, &taken, err));
    if (r->form == KILN__SCATTER_AT)
        KILN_TRY(apply_subscripts(&s, r->subscripts, r->count, &apart, err));
    else
        KILN_TRY(r->form == KILN__SCATTER_FLAT ? scatter_flat(&s, r, &dense, err)
                                               : scatter_along(&s, r, err));
    KILN_TRY(finish(&s, taken, apart, err));
    if (dense != NULL)
        KILN_TRY(kiln__array_assign_on(s.whole, dense, s.stream, err));

done:
    kiln_array_release(taken);
    kiln_array_release(dense);
    end(&s);
    return status;
}

kiln_status kiln_array_scatter(kiln_array *array, const kiln_subscript *subscripts, size_t count,
                               kiln_arg values, kiln_scatter what, const kiln_scatter_options *opts,
                               kiln_error *err)
{
    const kiln__scatter_request r = {.form = KILN__SCATTER_AT,
                                     .array = array,
                                     .values = values,
                                     .what = what,
                                     .subscripts = subscripts,
                                     .count = count};

    if (count > 0)
        KILN_CHECK_NULL(subscripts, err);
    return kiln__scatter_do(&r, opts, err);
}

kiln_status kiln_array_put(kiln_array *array, const kiln_array *indices, kiln_arg values,
                           const kiln_scatter_options *opts, kiln_error *err)
{
    const kiln__scatter_request r = {
        .form = KILN__SCATTER_FLAT, .array = array, .values = values, .indices = indices};

    return kiln__scatter_do(&r, opts, err);
}

kiln_status kiln_array_put_along_axis(kiln_array *array, const kiln_array *indices, kiln_arg values,
                                      int axis, const kiln_scatter_options *opts, kiln_error *err)
{
    const kiln__scatter_request r = {.form = KILN__SCATTER_ALONG,
                                     .array = array,
                                     .values = values,
                                     .indices = indices,
                                     .axis = axis};

    return kiln__scatter_do(&r, opts, err);
}
