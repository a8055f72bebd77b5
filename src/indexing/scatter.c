/*
 * scatter.c - x[i] = v, and sums, products, minima and maxima at indices, in place.
 *
 *     array, subscripts, values > [views: indexed axes first] > [a kernel that changes each element]
 *                                                             > [places > sorted > runs of equal places]
 *
 * Several values may name one element. Where the order of a combination does not matter (integers), each
 * value changes its element by an atomic operation. Otherwise the places are sorted, and every run of
 * equal ones is combined in the order of the values: by chunks, whose first and last runs may go on in
 * their neighbours, and then from chunk to chunk. Chunks have the same length on every device, so that
 * results are the same bits everywhere. An assignment takes the last value of each run.
 *
 * Rule: places are those of rows, where axes behind the indexed ones are not indexed: a row of values is sorted as
 *       one.
 */
#include <stdio.h>

#include "indexing/indexing.h"
#include "ops/ops.h"

KILN_DEFINE_OPTIONS_INIT(kiln_scatter_options)

enum { ITEMS_MAX = 2 * KILN_RANK_MAX };

/* One call. Arrays are counted. */
typedef struct scatter {
    const char *name;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_scatter what;
    kiln_scatter_options o;
    kiln_array *target; /* a view with the indexed axes first */
    kiln_array *values; /* of the axes that indices broadcast to, then those that are not indexed */
    kiln_array *index[KILN_RANK_MAX]; /* as given */
    int axis[KILN_RANK_MAX];
    int index_count;
    int rank; /* what the indices broadcast to */
    int64_t shape[KILN_RANK_MAX], count;
    int64_t row; /* elements of the target for each place */
    kiln_array *report;
} scatter;

static void replace(kiln_array **array, kiln_array *by)
{
    kiln_array_release(*array);
    *array = by;
}

/* A number as an array without axes. */
static kiln_status filled(kiln_context *ctx, kiln_dtype dtype, kiln_arg number, kiln_array **out,
                          kiln_error *err)
{
    KILN_CHECK(kiln_array_empty(ctx, dtype, 0, NULL, out, err));
    const kiln_arg args[] = {number, kiln_arg_array(*out)};
    return kiln__builtin_run(ctx, KILN__BUILTIN_FILL, args, 2, NULL, err);
}

/* ---- subscripts ---- */

static kiln_status add_index(scatter *s, const kiln_array *index, int axis, kiln_error *err)
{
    char what[64];
    const int k = s->index_count;

    snprintf(what, sizeof what, "%s: index array %d", s->name, k + 1);
    KILN_CHECK(kiln__array_check(index, s->ctx, what, err));
    const char kind = kiln_dtype_kind(index->dtype);
    if (kind != 'i' && kind != 'u')
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is %s; indices are integers", what,
                          kiln_dtype_name(index->dtype));
    if (k == KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: too many index arrays", s->name);
    if (axis >= s->target->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is out of range for rank %d", s->name,
                          axis, s->target->rank);
    if (!kiln__shape_broadcast(&s->rank, s->shape, index->rank, index->shape))
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "%s does not broadcast with the index arrays before it", what);
    if (kiln__array_overlap(index, s->target)) /* the target changes while indices are read */
        KILN_CHECK(kiln__array_copy_on(index, NULL, &s->index[k], err));
    else
        s->index[k] = kiln_array_retain((kiln_array *)index);
    s->axis[k] = axis;
    s->index_count++;
    return KILN_OK;
}

/* A number beside index arrays counts as one. */
static kiln_status add_number(scatter *s, int64_t number, int axis, kiln_error *err)
{
    kiln_array *made = NULL;

    kiln_status status = filled(s->ctx, KILN_INT64, kiln_arg_int(number), &made, err);
    if (status == KILN_OK)
        status = add_index(s, made, axis, err);
    kiln_array_release(made);
    return status;
}

/* Apply one subscript at an axis of the target; `*axis_out` is the next one. */
static kiln_status apply_one(scatter *s, const kiln_subscript *at, bool arrays, int *axis,
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

/* Whether something stands between two index arrays. */
static bool are_apart(const kiln_subscript *list, size_t count)
{
    size_t first = count, last = 0, arrays = 0;

    for (size_t k = 0; k < count; k++) {
        if (list[k].kind != KILN_SUBSCRIPT_ARRAY && list[k].kind != KILN_SUBSCRIPT_INDEX)
            continue;
        first = first < k ? first : k;
        last = k;
        arrays++;
    }
    return last + 1 - first != arrays;
}

static kiln_status apply_subscripts(scatter *s, const kiln_subscript *list, size_t count,
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
    *apart = arrays && are_apart(list, count);
    return KILN_OK;
}

/* ---- shapes ---- */

/* The values as a view of the shape that x[i] has, its axes in the target's new order. */
static kiln_status shape_values(scatter *s, const kiln_array *values, bool first, kiln_error *err)
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
static kiln_status turn_target(scatter *s, kiln_error *err)
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

/* ---- texts ---- */

/* How old and new value, `a` and `b`, are combined. */
static kiln_status put_combination(const scatter *s, kiln__buf *out, kiln_error *err)
{
    static const kiln_op ops[] = {[KILN_SCATTER_ADD] = KILN_OP_ADD,
                                  [KILN_SCATTER_MULTIPLY] = KILN_OP_MULTIPLY,
                                  [KILN_SCATTER_MINIMUM] = KILN_OP_MINIMUM,
                                  [KILN_SCATTER_MAXIMUM] = KILN_OP_MAXIMUM};
    static const char *const names[KILN__OP_ARITY_MAX] = {"a", "b"};
    const kiln_dtype dtype = s->target->dtype;
    kiln__op_type types[KILN__OP_ARITY_MAX];
    kiln__op_loop loop;

    kiln__buf_puts(out, "auto join = [](const T a, const T b) -> T { return (T)(");
    if (s->what == KILN_SCATTER_SET) {
        kiln__buf_puts(out, "b");
    } else if (s->what == KILN_SCATTER_REDUCE) {
        kiln__buf_puts(out, s->o.reduce);
    } else {
        memset(types, 0, sizeof types);
        types[0].dtype = types[1].dtype = dtype;
        KILN_CHECK(kiln__op_resolve(kiln__op_find(ops[s->what]), types, &loop, err));
        kiln__op_text(out, &loop, names);
    }
    kiln__buf_puts(out, "); };\n");
    return KILN_OK;
}

/* An expression for the place that the indices name, `steps` being what a step along an axis is. */
static void put_place(const scatter *s, const char *extent, const char *step, kiln__buf *out)
{
    static const char *const modes[] = {
        [KILN_INDEX_CHECK] = "check", [KILN_INDEX_WRAP] = "wrap", [KILN_INDEX_CLIP] = "clip"};

    for (int k = 0; k + 1 < s->index_count; k++)
        kiln__buf_puts(out, "kiln_at_both(");
    for (int k = 0; k < s->index_count; k++) {
        kiln__buf_printf(out, "%skiln_at_%s(i%d, ", k > 0 ? ", " : "", modes[s->o.mode], k);
        kiln__buf_printf(out, extent, k);
        kiln__buf_puts(out, ", ");
        kiln__buf_printf(out, step, k);
        if (s->o.mode == KILN_INDEX_CHECK)
            kiln__buf_printf(out, ", report.kiln__data, %d, i, \"the array\", \"index array %d\"",
                             s->axis[k], k + 1);
        kiln__buf_puts(out, k > 0 ? "))" : ")");
    }
    if (s->index_count == 0)
        kiln__buf_puts(out, "0ll");
}

static void put_index_inputs(const scatter *s, kiln__buf *in)
{
    for (int k = 0; k < s->index_count; k++)
        kiln__buf_printf(in, "%s i%d, ", kiln_dtype_name(s->index[k]->dtype), k);
    if (s->index_count > 0 && s->o.mode == KILN_INDEX_CHECK)
        kiln__buf_puts(in, "raw int64 report, ");
}

/* ---- kernels ---- */

typedef struct kernel_text {
    const char *name;
    kiln__buf in, op;
    const char *out;
} kernel_text;

/* Run a kernel of these texts; `size` -1: arrays decide it. */
static kiln_status run_text(const scatter *s, kernel_text *t, const kiln_arg *args, size_t count,
                            int64_t size, kiln_error *err)
{
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    kiln_status status = KILN_OK;

    if (t->in.failed || t->op.failed) {
        status = kiln__fail_memory(err, t->op.capacity);
        goto done;
    }
    opts.name = t->name;
    call.has_size = size >= 0;
    call.size = size;
    KILN_TRY(kiln_elementwise_create(s->ctx, t->in.text, t->out, t->op.text, &opts, &op, err));
    KILN_TRY(kiln_elementwise_run(op, args, count, &call, err));

done:
    kiln_elementwise_destroy(op);
    kiln__buf_clear(&t->in);
    kiln__buf_clear(&t->op);
    return status;
}

/* Index arrays with axes of one element for those that are not indexed, as arguments. */
static kiln_status index_views(const scatter *s, int behind, kiln_array **views, kiln_error *err)
{
    int64_t shape[2 * KILN_RANK_MAX], strides[2 * KILN_RANK_MAX] = {0};

    for (int k = 0; k < s->index_count; k++) {
        const kiln_array *i = s->index[k];
        for (int a = 0; a < i->rank + behind; a++) {
            shape[a] = a < i->rank ? i->shape[a] : 1;
            strides[a] = a < i->rank ? i->strides[a] : (int64_t)kiln_dtype_size(i->dtype);
        }
        KILN_CHECK(kiln__array_view(i, i->rank + behind, shape, strides, i->data, &views[k], err));
    }
    return KILN_OK;
}

/* The element that index 0 names, at each value. */
static kiln_status first_elements(const scatter *s, kiln_array **out, kiln_error *err)
{
    const kiln_array *t = s->target;
    int64_t strides[KILN_RANK_MAX] = {0};

    for (int a = s->index_count; a < t->rank; a++)
        strides[s->rank + a - s->index_count] = t->strides[a];
    return kiln__array_view(t, s->values->rank, s->values->shape, strides, t->data, out, err);
}

/* Whether there is one instruction for it. */
static bool adds_atomically(const scatter *s)
{
    const kiln_dtype dtype = s->target->dtype;
    const bool whole = strchr("iu", kiln_dtype_kind(dtype)) != NULL;

    return s->what == KILN_SCATTER_ADD && kiln_dtype_size(dtype) >= 4 &&
           (whole || dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64);
}

/* Each value changes its element at once. */
static kiln_status run_direct(scatter *s, kiln_error *err)
{
    kernel_text t = {"kiln_scatter", KILN__BUF_INIT, KILN__BUF_INIT, "raw T x"};
    kiln_array *views[KILN_RANK_MAX] = {NULL}, *first = NULL;
    kiln_arg args[KILN_RANK_MAX + 4];
    size_t count = 0;
    kiln_status status = KILN_OK;

    put_index_inputs(s, &t.in);
    kiln__buf_puts(&t.in, "T v, T first");
    KILN_TRY(put_combination(s, &t.op, err));
    kiln__buf_puts(&t.op, "const long long at = ");
    put_place(s, "x.shape()[%d]", "x.strides()[%d]", &t.op);
    kiln__buf_puts(&t.op, ";\nif (at != kiln_nowhere)\n    ");
    const bool plain = s->what == KILN_SCATTER_SET || s->index_count == 0;
    kiln__buf_puts(&t.op, plain                ? "kiln_change(&first, at, v, join)"
                          : adds_atomically(s) ? "kiln_change_add(&first, at, v)"
                                               : "kiln_change_atomic(&first, at, v, join)");
    KILN_TRY(index_views(s, s->values->rank - s->rank, views, err));
    KILN_TRY(first_elements(s, &first, err));
    for (int k = 0; k < s->index_count; k++)
        args[count++] = kiln_arg_array(views[k]);
    if (s->report != NULL)
        args[count++] = kiln_arg_array(s->report);
    args[count++] = kiln_arg_array(s->values);
    args[count++] = kiln_arg_array(first);
    args[count++] = kiln_arg_array(s->target);
    KILN_TRY(run_text(s, &t, args, count, -1, err));

done:
    for (int k = 0; k < s->index_count; k++)
        kiln_array_release(views[k]);
    kiln_array_release(first);
    kiln__buf_clear(&t.in);
    kiln__buf_clear(&t.op);
    return status;
}

/* ---- sorted places ---- */

/* The place of each row of values; `none` for one that has none. */
static kiln_status find_places(const scatter *s, int64_t none, kiln_dtype dtype, kiln_array **out,
                               kiln_error *err)
{
    kernel_text t = {"kiln_scatter_places", KILN__BUF_INIT, KILN__BUF_INIT, "K place"};
    kiln_arg args[3 * KILN_RANK_MAX + 3];
    kiln_array *places = NULL;
    int64_t step = 1, steps[KILN_RANK_MAX];
    size_t count = 0;
    kiln_status status = KILN_OK;

    put_index_inputs(s, &t.in);
    for (int k = 0; k < s->index_count; k++)
        kiln__buf_printf(&t.in, "int64 n%d, int64 s%d, ", k, k);
    kiln__buf_puts(&t.in, "int64 behind");
    kiln__buf_puts(&t.op, "const long long at = ");
    put_place(s, "n%d", "s%d", &t.op);
    kiln__buf_puts(&t.op, ";\nplace = (K)(at == kiln_nowhere ? behind : at)");
    for (int k = s->index_count; k-- > 0; step *= s->target->shape[k])
        steps[k] = step;
    for (int k = 0; k < s->index_count; k++)
        args[count++] = kiln_arg_array(s->index[k]);
    if (s->report != NULL)
        args[count++] = kiln_arg_array(s->report);
    for (int k = 0; k < s->index_count; k++) {
        args[count++] = kiln_arg_int(s->target->shape[k]);
        args[count++] = kiln_arg_int(steps[k]);
    }
    args[count++] = kiln_arg_int(none);
    KILN_TRY(kiln__array_new(s->ctx, dtype, s->rank, s->shape, NULL, s->stream, &places, err));
    args[count++] = kiln_arg_array(places);
    KILN_TRY(run_text(s, &t, args, count, -1, err));
    KILN_TRY(kiln_array_reshape(places, 1, &s->count, out, err));

done:
    kiln_array_release(places);
    kiln__buf_clear(&t.in);
    kiln__buf_clear(&t.op);
    return status;
}

/* What the kernels over sorted places begin with: `c` and `at`, chunk or value and element of its row. */
#define ROW_OF_I "const long long c = row == 1 ? i : i / row, at = i - c * row;\n"

static const char set_text[] =
    ROW_OF_I "const K key = keys[c];\n"
             "if (key < behind && (c + 1 == count || keys[c + 1] != key))\n"
             "    x[key * row + at] = v[(long long)order[c] * row + at]";

#define CHUNK_OF_I                                                                                 \
    ROW_OF_I                                                                                       \
    "const long long begin = c * chunk, end = begin + chunk,\n"                                    \
    "                stop = end < count ? end : count;\n"

/* Runs of equal places in a chunk. One that began before is kept in `head`, one that goes on behind in
 * `tail`. */
static const char chunk_text[] =
    CHUNK_OF_I "K key = keys[begin];\n"
               "bool open = begin > 0 && keys[begin - 1] == key;\n"
               "T sum = v[(long long)order[begin] * row + at];\n"
               "for (long long j = begin + 1; j < stop; j++) {\n"
               "    const T next = v[(long long)order[j] * row + at];\n"
               "    if (keys[j] == key) {\n"
               "        sum = join(sum, next);\n"
               "        continue;\n"
               "    }\n"
               "    if (open)\n"
               "        head[i] = sum;\n"
               "    else if (key < behind)\n"
               "        x[key * row + at] = join(x[key * row + at], sum);\n"
               "    open = false;\n"
               "    key = keys[j];\n"
               "    sum = next;\n"
               "}\n"
               "if (open)\n"
               "    head[i] = sum;\n"
               "else if (stop < count && keys[stop] == key)\n"
               "    tail[i] = sum;\n"
               "else if (key < behind)\n"
               "    x[key * row + at] = join(x[key * row + at], sum)";

/* Runs that go on from chunk to chunk, from the chunk in which each begins. */
static const char chain_text[] =
    CHUNK_OF_I "const K key = keys[stop - 1];\n"
               "if (stop == count || keys[stop] != key || key >= behind)\n"
               "    return;\n"
               "if (keys[begin] == key && begin > 0 && keys[begin - 1] == key)\n"
               "    return;\n"
               "T sum = tail[i];\n"
               "for (long long d = c + 1, last = end + chunk;; d++, last += chunk) {\n"
               "    sum = join(sum, head[d * row + at]);\n"
               "    if (last >= count || keys[last - 1] != key || keys[last] != key)\n"
               "        break;\n"
               "}\n"
               "x[key * row + at] = join(x[key * row + at], sum)";

enum { CHUNK = 128 };

/* A kernel over sorted places. */
static kiln_status run_sorted(const scatter *s, const char *name, const char *op, bool chunks,
                              const kiln_arg *args, size_t count, int64_t size, kiln_error *err)
{
    kernel_text t = {name, KILN__BUF_INIT, KILN__BUF_INIT,
                     chunks ? "raw T x, raw T head, raw T tail" : "raw T x"};

    kiln__buf_puts(&t.in, "raw K keys, raw O order, raw T v, int64 behind, int64 count, int64 row, "
                          "int64 chunk");
    kiln_status status = chunks ? put_combination(s, &t.op, err) : KILN_OK;
    kiln__buf_puts(&t.op, op);
    if (status == KILN_OK)
        return run_text(s, &t, args, count, size, err);
    kiln__buf_clear(&t.in);
    kiln__buf_clear(&t.op);
    return status;
}

/* Change a target without gaps. */
static kiln_status combine_runs(const scatter *s, kiln_array *target, const kiln_array *keys,
                                const kiln_array *order, const kiln_array *values, int64_t none,
                                kiln_error *err)
{
    const int64_t chunks = (s->count + CHUNK - 1) / CHUNK, kept = chunks * s->row;
    kiln_array *head = NULL, *tail = NULL;
    kiln_status status = KILN_OK;
    kiln_arg args[10] = {kiln_arg_array((kiln_array *)keys),
                         kiln_arg_array((kiln_array *)order),
                         kiln_arg_array((kiln_array *)values),
                         kiln_arg_int(none),
                         kiln_arg_int(s->count),
                         kiln_arg_int(s->row),
                         kiln_arg_int(CHUNK),
                         kiln_arg_array(target)};

    if (s->what == KILN_SCATTER_SET)
        return run_sorted(s, "kiln_scatter_set", set_text, false, args, 8, s->count * s->row, err);
    KILN_TRY(kiln__array_new(s->ctx, target->dtype, 1, &kept, NULL, s->stream, &head, err));
    KILN_TRY(kiln__array_new(s->ctx, target->dtype, 1, &kept, NULL, s->stream, &tail, err));
    args[8] = kiln_arg_array(head);
    args[9] = kiln_arg_array(tail);
    KILN_TRY(run_sorted(s, "kiln_scatter_chunks", chunk_text, true, args, 10, kept, err));
    if (chunks > 1)
        KILN_TRY(run_sorted(s, "kiln_scatter_chain", chain_text, true, args, 10, kept, err));

done:
    kiln_array_release(head);
    kiln_array_release(tail);
    return status;
}

static kiln_status run_by_order(scatter *s, kiln_error *err)
{
    kiln_array *keys = NULL, *sorted = NULL, *order = NULL, *dense = NULL, *values = NULL;
    int64_t none = 1;
    kiln_status status = KILN_OK;

    for (int k = 0; k < s->index_count; k++)
        none *= s->target->shape[k];
    const kiln_dtype key = none < INT32_MAX ? KILN_INT32 : KILN_INT64;
    const kiln_dtype place = s->count < INT32_MAX ? KILN_INT32 : KILN_INT64;
    KILN_TRY(find_places(s, none, key, &keys, err));
    KILN_TRY(kiln__sort_keys(keys, none + 1, place, s->stream, &sorted, &order, err));
    KILN_TRY(kiln_array_contiguous(s->target, &dense, err));
    KILN_TRY(kiln_array_contiguous(s->values, &values, err));
    KILN_TRY(combine_runs(s, dense, sorted, order, values, none, err));
    if (dense->data != s->target->data)
        KILN_TRY(kiln_array_assign(s->target, dense, err));

done:
    kiln_array_release(keys);
    kiln_array_release(sorted);
    kiln_array_release(order);
    kiln_array_release(dense);
    kiln_array_release(values);
    return status;
}

/* ---- the call ---- */

/* Whether values may change their elements in any order, one by one. */
static bool is_direct(const scatter *s)
{
    const size_t size = kiln_dtype_size(s->target->dtype);
    const bool whole = strchr("iu", kiln_dtype_kind(s->target->dtype)) != NULL;

    if (s->index_count == 0)
        return true;
    if (s->what == KILN_SCATTER_SET)
        return s->o.fast;
    return size >= 2 && size <= 8 && (s->o.fast || (whole && s->what != KILN_SCATTER_REDUCE));
}

/* Values in the target's dtype, and not in its memory. */
static kiln_status take_values(scatter *s, const kiln_array *target, kiln_arg given,
                               kiln_array **out, kiln_error *err)
{
    const kiln_array *v = given.value.array;
    char what[64];

    if (given.kind != KILN_ARG_ARRAY)
        return filled(s->ctx, target->dtype, given, out, err);
    snprintf(what, sizeof what, "%s: the values", s->name);
    KILN_CHECK(kiln__array_check(v, s->ctx, what, err));
    if (v->dtype != target->dtype || kiln__array_overlap(v, target))
        return kiln_array_cast(v, target->dtype, out, err);
    *out = kiln_array_retain((kiln_array *)v);
    return KILN_OK;
}

static kiln_status begin(scatter *s, kiln_array *array, const kiln_scatter_options *opts,
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
    if (s->what < KILN_SCATTER_SET || s->what > KILN_SCATTER_REDUCE)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no combination %d", s->name,
                          (int)s->what);
    if (s->what == KILN_SCATTER_REDUCE && s->o.reduce == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: the option `reduce` is NULL", s->name);
    if (s->o.mode < KILN_INDEX_CHECK || s->o.mode > KILN_INDEX_CLIP)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no index mode %d", s->name,
                          (int)s->o.mode);
    s->target = kiln_array_retain(array);
    return KILN_OK;
}

static kiln_status finish(scatter *s, const kiln_array *values, bool apart, kiln_error *err)
{
    const int last = s->index_count - 1;
    const bool first =
        apart || (last >= 0 && s->axis[last] - s->axis[0] != last); /* or not neighbours */

    KILN_CHECK(shape_values(s, values, first, err));
    KILN_CHECK(turn_target(s, err));
    if (s->count == 0 || s->row == 0)
        return KILN_OK;
    if (s->index_count > 0 && s->o.mode == KILN_INDEX_CHECK)
        KILN_CHECK(kiln__report_array(s->ctx, &s->report, err));
    return is_direct(s) ? run_direct(s, err) : run_by_order(s, err);
}

static void end(scatter *s)
{
    kiln_array_release(s->target);
    kiln_array_release(s->values);
    kiln_array_release(s->report);
    for (int k = 0; k < s->index_count; k++)
        kiln_array_release(s->index[k]);
}

kiln_status kiln_array_scatter(kiln_array *array, const kiln_subscript *subscripts, size_t count,
                               kiln_arg values, kiln_scatter what, const kiln_scatter_options *opts,
                               kiln_error *err)
{
    scatter s = {.name = "scatter", .what = what};
    kiln_array *taken = NULL;
    bool apart = false;
    kiln_status status = KILN_OK;

    if (count > 0)
        KILN_CHECK_NULL(subscripts, err);
    KILN_TRY(begin(&s, array, opts, err));
    KILN_TRY(take_values(&s, array, values, &taken, err));
    KILN_TRY(apply_subscripts(&s, subscripts, count, &apart, err));
    KILN_TRY(finish(&s, taken, apart, err));

done:
    kiln_array_release(taken);
    end(&s);
    return status;
}

kiln_status kiln_array_put(kiln_array *array, const kiln_array *indices, kiln_arg values,
                           const kiln_scatter_options *opts, kiln_error *err)
{
    scatter s = {.name = "put", .what = KILN_SCATTER_SET};
    kiln_array *taken = NULL, *dense = NULL, *flat = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(begin(&s, array, opts, err));
    KILN_TRY(take_values(&s, array, values, &taken, err));
    KILN_TRY(kiln_array_contiguous(array, &dense, err));
    KILN_TRY(kiln_array_reshape(dense, 1, (int64_t[]){-1}, &flat, err));
    replace(&s.target, kiln_array_retain(flat));
    KILN_TRY(add_index(&s, indices, 0, err));
    KILN_TRY(finish(&s, taken, false, err));
    if (dense->data != array->data)
        KILN_TRY(kiln_array_assign(array, dense, err));

done:
    kiln_array_release(taken);
    kiln_array_release(dense);
    kiln_array_release(flat);
    end(&s);
    return status;
}

/* The numbers of an axis, as indices along it. */
static kiln_status add_own(scatter *s, int axis, kiln_error *err)
{
    const int rank = s->target->rank;
    int64_t shape[KILN_RANK_MAX];
    kiln_array *numbers = NULL, *view = NULL;

    for (int a = 0; a < rank; a++)
        shape[a] = a == axis ? s->target->shape[a] : 1;
    KILN_CHECK(kiln_array_arange(s->ctx, KILN_INT64, 0, (double)shape[axis], 1, &numbers, err));
    kiln_status status = kiln_array_reshape(numbers, rank, shape, &view, err);
    if (status == KILN_OK)
        status = add_index(s, view, axis, err);
    kiln_array_release(numbers);
    kiln_array_release(view);
    return status;
}

kiln_status kiln_array_put_along_axis(kiln_array *array, const kiln_array *indices, kiln_arg values,
                                      int axis, const kiln_scatter_options *opts, kiln_error *err)
{
    scatter s = {.name = "put_along_axis", .what = KILN_SCATTER_SET};
    kiln_array *taken = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(begin(&s, array, opts, err));
    KILN_TRY(take_values(&s, array, values, &taken, err));
    const int at = axis < 0 ? axis + array->rank : axis;
    if (at < 0 || at >= array->rank) {
        status = kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is out of range for rank %d", s.name,
                            axis, array->rank);
        goto done;
    }
    KILN_TRY(kiln__array_check(indices, s.ctx, "put_along_axis: the indices", err));
    if (indices->rank != array->rank) {
        status = kiln__fail(err, KILN_ERR_SHAPE, "%s: the indices have %d axes, the array %d",
                            s.name, indices->rank, array->rank);
        goto done;
    }
    for (int a = 0; a < array->rank; a++)
        KILN_TRY(a == at ? add_index(&s, indices, a, err) : add_own(&s, a, err));
    KILN_TRY(finish(&s, taken, false, err));

done:
    kiln_array_release(taken);
    end(&s);
    return status;
}
