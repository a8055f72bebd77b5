/*
 * scatter_run.c - the kernels that change elements at indices.
 *
 *     indexed axes first, values > [each value changes its element; few places: scatter_few.c]
 *                                > [places > sorted > runs of equal places]
 *                                > [places > scatter_cpu.c]
 *
 * Several values may belong to one element. If the order of combination does not matter (integers),
 * each value changes its element by an atomic operation. Otherwise the places are sorted, and each
 * run of equal places is combined in the order of the values: in parts of KILN__SCATTER_CHUNK, then
 * from part to part. Parts begin with the run and have the same length on every device. So results
 * have the same bits everywhere, and an element depends on its own values alone. An assignment
 * takes the last value of each run. scatter.c calls this file.
 *
 * Rule: if the axes behind the indexed ones are not indexed, a place is that of a row: a row of
 *       values is sorted as one.
 *
 * Test: test_scatter.
 */
#include "indexing/scatter.h"
#include "ops/ops.h"

kiln_status kiln__scatter_dense(kiln_array *x, kiln_stream *stream, kiln_array **out,
                                kiln_error *err)
{
    if (!x->contiguous)
        return kiln__array_copy_on(x, stream, out, err);
    *out = kiln_array_retain(x);
    return KILN_OK;
}

/* ---- texts ---- */

/* How old and new value, `a` and `b`, are combined. */
static kiln_status put_combination(const kiln__scattering *s, kiln__buf *out, kiln_error *err)
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
        /* On a line of its own, which compilers' messages are about. */
        kiln__buf_printf(out, "\n#line 1 \"%s\"\n%s)\n#line 2 \"%s\"\n; };\n",
                         kiln__snippet_name(KILN__SNIPPET_REDUCE), s->o.reduce,
                         kiln__snippet_name(KILN__SNIPPET_OP));
        return KILN_OK;
    } else {
        memset(types, 0, sizeof types);
        types[0].dtype = types[1].dtype = dtype;
        KILN_CHECK(kiln__op_resolve(kiln__op_find(ops[s->what]), types, &loop, err));
        kiln__op_text(out, &loop, names);
    }
    kiln__buf_puts(out, "); };\n");
    return KILN_OK;
}

/* A kernel's texts. Those whose `key` is not 0 are kept by the context, and are empty where the kernel is there. */
typedef struct kernel_text {
    const char *name;
    kiln__buf in, op, prep; /* prep: before the loop */
    const char *out;
} kernel_text;

/* What is noted of an index array, and reported after the loop. */
static void put_noted(const kiln__scattering *s, int k, const char *extent, kernel_text *t)
{
    kiln__buf_printf(&t->op, ", kiln__bad%d", k);
    kiln__buf_printf(&t->prep, "kiln_noted<%s> kiln__bad%d(",
                     kiln_dtype_ctype(s->index[k]->dtype), k);
    kiln__buf_printf(&t->prep, extent, k);
    kiln__buf_printf(&t->prep, ", report.kiln__data, %d, \"the array\", \"index array %d\");\n",
                     s->axis[k], k + 1);
}

/* `at`, the place that the indices name, with the extent of an indexed axis and the step along it. */
static void put_place(const kiln__scattering *s, const char *extent, const char *step,
                      kernel_text *t)
{
    static const char *const modes[] = {
        [KILN_INDEX_CHECK] = "check", [KILN_INDEX_WRAP] = "wrap", [KILN_INDEX_CLIP] = "clip"};
    const bool checked = s->o.mode == KILN_INDEX_CHECK;
    const bool noted = checked && s->index_count <= KILN__NOTED_MAX;
    kiln__buf *out = &t->op;

    kiln__buf_puts(out, "const auto at = ");
    for (int k = 0; k + 1 < s->index_count; k++)
        kiln__buf_puts(out, "kiln_at_both(");
    for (int k = 0; k < s->index_count; k++) {
        kiln__buf_printf(out, "%skiln_at_%s(i%d, ", k > 0 ? ", " : "",
                         noted ? "noted" : modes[s->o.mode], k);
        kiln__buf_printf(out, extent, k);
        kiln__buf_puts(out, ", ");
        kiln__buf_printf(out, step, k);
        if (checked)
            kiln__buf_printf(out, ", report.kiln__data, %d, i, \"the array\", \"index array %d\"",
                             s->axis[k], k + 1);
        if (noted)
            put_noted(s, k, extent, t);
        kiln__buf_puts(out, k > 0 ? "))" : ")");
    }
    kiln__buf_puts(out, s->index_count == 0 ? "0ll;\n" : ";\n");
}

static void put_index_inputs(const kiln__scattering *s, kiln__buf *in)
{
    for (int k = 0; k < s->index_count; k++)
        kiln__buf_printf(in, "%s i%d, ", kiln_dtype_name(s->index[k]->dtype), k);
    if (s->index_count > 0 && s->o.mode == KILN_INDEX_CHECK)
        kiln__buf_puts(in, "raw int64 report, ");
}

/* ---- kernels ---- */

/* Which of the kernels below. */
typedef enum text_kind {
    TEXT_DIRECT = 1,
    TEXT_PLACES,
    TEXT_SET,
    TEXT_CHUNKS,
    TEXT_CHAIN
} text_kind;

typedef kiln_status (*put_text_fn)(const kiln__scattering *s, kernel_text *t, kiln_error *err);

typedef struct wanted {
    const kiln__scattering *s;
    put_text_fn put;
} wanted;

/* All that texts depend on beside their kind, in one number; 0: it does not fit. */
static uint64_t key_of(const kiln__scattering *s, text_kind kind)
{
    enum { INDICES_MOST = 4, DTYPE_BITS = 6, AXIS_BITS = 5 };
    uint64_t key = (uint64_t)kind << 3 | (uint64_t)s->what;

    if (s->what == KILN_SCATTER_REDUCE || s->index_count > INDICES_MOST)
        return 0;
    key = key << DTYPE_BITS | (uint64_t)s->target->dtype;
    key = key << 2 | (uint64_t)s->o.mode;
    key = key << 3 | (uint64_t)s->index_count;
    for (int k = 0; k < s->index_count; k++) {
        key = key << DTYPE_BITS | (uint64_t)s->index[k]->dtype;
        key = key << AXIS_BITS | (uint64_t)s->axis[k];
    }
    return key;
}

/* The kernel of such texts, one that belongs to the context or, for a reduction of the user's, a new one. */
static kiln_status make_kernel(kiln_context *ctx, const void *data, kiln__kernel **out,
                               kiln_error *err)
{
    const wanted *w = data;
    kernel_text t = {NULL, KILN__BUF_INIT, KILN__BUF_INIT, KILN__BUF_INIT, "raw T x"};
    kiln_status status = w->put(w->s, &t, err);

    if (status == KILN_OK && (t.in.failed || t.op.failed || t.prep.failed))
        status = kiln__fail_memory(err, t.op.capacity);
    if (status == KILN_OK) {
        const kiln__definition_request request = {
            .name = t.name,
            .in = t.in.text,
            .out = t.out,
            .snippet = {[KILN__SNIPPET_LOOP_PREP] = t.prep.text,
                        [KILN__SNIPPET_OP] = t.op.text},
        };
        status = kiln__kernel_new(ctx, false, &kiln__loop_calls, &request, out, err);
    }
    kiln__buf_clear(&t.in);
    kiln__buf_clear(&t.prep);
    kiln__buf_clear(&t.op);
    return status;
}

/* Run a kernel; `size` -1: arrays decide it. */
static kiln_status run_text(const kiln__scattering *s, text_kind kind, put_text_fn put,
                            const kiln_arg *args, size_t count, int64_t size, kiln_error *err)
{
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    const wanted w = {s, put};
    const uint64_t key = key_of(s, kind);
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    call.stream = s->stream;
    call.has_size = size >= 0;
    call.size = size;
    if (key != 0)
        KILN_TRY(kiln__kept_kernel(s->ctx, make_kernel, &w, key, &kernel, err));
    else
        KILN_TRY(make_kernel(s->ctx, &w, &kernel, err));
    KILN_TRY(kiln_elementwise_run((kiln_elementwise *)kernel, args, count, &call, err));

done:
    if (key == 0)
        kiln_elementwise_destroy((kiln_elementwise *)kernel);
    return status;
}

/* Index arrays with axes of one element for those that are not indexed, as arguments. */
static kiln_status index_views(const kiln__scattering *s, int behind, kiln_array **views,
                               kiln_error *err)
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
static kiln_status first_elements(const kiln__scattering *s, kiln_array **out, kiln_error *err)
{
    const kiln_array *t = s->target;
    int64_t strides[KILN_RANK_MAX] = {0};

    for (int a = s->index_count; a < t->rank; a++)
        strides[s->rank + a - s->index_count] = t->strides[a];
    return kiln__array_view(t, s->values->rank, s->values->shape, strides, t->data, out, err);
}

/* Whether there is one instruction for it. */
static bool adds_atomically(const kiln__scattering *s)
{
    const kiln_dtype dtype = s->target->dtype;
    const bool whole = strchr("iu", kiln_dtype_kind(dtype)) != NULL;

    return s->what == KILN_SCATTER_ADD && kiln_dtype_size(dtype) >= 4 &&
           (whole || dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64);
}

static kiln_status put_direct(const kiln__scattering *s, kernel_text *t, kiln_error *err)
{
    t->name = "kiln_scatter";
    put_index_inputs(s, &t->in);
    kiln__buf_puts(&t->in, "T v, T first");
    KILN_CHECK(put_combination(s, &t->op, err));
    put_place(s, "x.shape()[%d]", "x.strides()[%d]", t);
    kiln__buf_puts(&t->op, "const long long bytes = kiln_bytes_to(at);\nif (kiln_is_in(at))\n    ");
    kiln__buf_puts(&t->op, s->index_count == 0           ? "kiln_change(&first, bytes, v, join)"
                           : s->what == KILN_SCATTER_SET ? "kiln_change_whole(&first, bytes, v)"
                           : adds_atomically(s)          ? "kiln_change_add(&first, bytes, v)"
                                                : "kiln_change_atomic(&first, bytes, v, join)");
    return KILN_OK;
}

/* Each value changes its element at once. */
static kiln_status run_direct(kiln__scattering *s, kiln_error *err)
{
    kiln_array *views[KILN_RANK_MAX] = {NULL}, *first = NULL;
    kiln_arg args[KILN_RANK_MAX + 4];
    size_t count = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(index_views(s, s->values->rank - s->rank, views, err));
    KILN_TRY(first_elements(s, &first, err));
    for (int k = 0; k < s->index_count; k++)
        args[count++] = kiln_arg_array(views[k]);
    if (s->report != NULL)
        args[count++] = kiln_arg_array(s->report);
    args[count++] = kiln_arg_array(s->values);
    args[count++] = kiln_arg_array(first);
    args[count++] = kiln_arg_array(s->target);
    KILN_TRY(run_text(s, TEXT_DIRECT, put_direct, args, count, -1, err));

done:
    for (int k = 0; k < s->index_count; k++)
        kiln_array_release(views[k]);
    kiln_array_release(first);
    return status;
}

/* ---- sorted places ---- */

static kiln_status put_places(const kiln__scattering *s, kernel_text *t, kiln_error *err)
{
    (void)err;
    t->name = "kiln_scatter_places";
    t->out = "K place";
    put_index_inputs(s, &t->in);
    for (int k = 0; k < s->index_count; k++)
        kiln__buf_printf(&t->in, "int64 n%d, int64 s%d, ", k, k);
    kiln__buf_puts(&t->in, "int64 behind");
    put_place(s, "n%d", "s%d", t);
    kiln__buf_puts(&t->op, "place = (K)(kiln_is_in(at) ? kiln_bytes_to(at) : behind)");
    return KILN_OK;
}

/* The place of each row of values; `none` for one that has none. */
static kiln_status find_places(const kiln__scattering *s, int64_t none, kiln_dtype dtype,
                               kiln_array **out, kiln_error *err)
{
    kiln_arg args[3 * KILN_RANK_MAX + 3];
    kiln_array *places = NULL;
    int64_t step = 1, steps[KILN_RANK_MAX];
    size_t count = 0;
    kiln_status status = KILN_OK;

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
    KILN_TRY(run_text(s, TEXT_PLACES, put_places, args, count, -1, err));
    KILN_TRY(kiln_array_reshape(places, 1, &s->count, out, err));

done:
    kiln_array_release(places);
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

/* Moves `from` back to where its run begins; the place of `outside` is another one, or that before the first. */
#define FROM_OUTSIDE                                                                               \
    "while (from - outside > 1) {\n"                                                               \
    "    const long long middle = (from + outside) / 2;\n"                                         \
    "    if (keys[middle] == key)\n"                                                               \
    "        from = middle;\n"                                                                     \
    "    else\n"                                                                                   \
    "        outside = middle;\n"                                                                  \
    "}\n"

/* The parts of runs of equal places that begin in [begin, stop); a run's first part is as long as the others but the
 * last. Of runs of several parts the first one is kept in `tail`, another one in `head`: at most one of each begins here.
 * `from` is where the run begins, which is looked for in growing steps back. */
static const char chunk_text[] =
    CHUNK_OF_I "long long from = begin, j = begin, outside = begin - 1;\n"
               "K key = keys[begin];\n"
               "for (long long step = 1; outside >= 0 && keys[outside] == key; step *= 2) {\n"
               "    from = outside;\n"
               "    outside -= outside < step ? outside + 1 : step;\n"
               "}\n" FROM_OUTSIDE
               "while (j < stop && keys[j] == key && (j - from) % chunk != 0)\n"
               "    j++;\n"
               "while (j < stop) {\n"
               "    if (keys[j] != key)\n"
               "        from = j;\n"
               "    key = keys[j];\n"
               "    if (key >= behind)\n"
               "        return;\n"
               "    const bool first = from == j;\n"
               "    const long long most = count - j < chunk ? count : j + chunk;\n"
               "    T sum = v[(long long)order[j++] * row + at];\n"
               "    for (; j < most && keys[j] == key; j++)\n"
               "        sum = join(sum, v[(long long)order[j] * row + at]);\n"
               "    if (!first)\n"
               "        head[i] = sum;\n"
               "    else if (j == from + chunk && j < count && keys[j] == key)\n"
               "        tail[i] = sum;\n"
               "    else\n"
               "        x[key * row + at] = join(x[key * row + at], sum);\n"
               "}";

/* Runs of several parts, by the chunk in which each begins. */
static const char chain_text[] =
    CHUNK_OF_I "const K key = keys[stop - 1];\n"
               "if (stop == count || keys[stop] != key || key >= behind)\n"
               "    return;\n"
               "long long from = stop - 1, outside = begin - 1;\n"
               "if (outside >= 0 && keys[outside] == key)\n"
               "    return;\n" FROM_OUTSIDE
               "from += chunk;\n"
               "if (from >= count || keys[from] != key)\n"
               "    return;\n"
               "T sum = tail[i];\n"
               "for (; from < count && keys[from] == key; from += chunk)\n"
               "    sum = join(sum, head[from / chunk * row + at]);\n"
               "x[key * row + at] = join(x[key * row + at], sum)";

/* A kernel over sorted places. */
static kiln_status put_sorted(const kiln__scattering *s, kernel_text *t, const char *name,
                              const char *op, kiln_error *err)
{
    t->name = name;
    kiln__buf_puts(&t->in,
                   "raw K keys, raw O order, raw T v, int64 behind, int64 count, int64 row, "
                   "int64 chunk");
    if (op != set_text) {
        t->out = "raw T x, raw T head, raw T tail";
        KILN_CHECK(put_combination(s, &t->op, err));
    }
    kiln__buf_puts(&t->op, op);
    return KILN_OK;
}

static kiln_status put_set(const kiln__scattering *s, kernel_text *t, kiln_error *err)
{
    return put_sorted(s, t, "kiln_scatter_set", set_text, err);
}

static kiln_status put_chunks(const kiln__scattering *s, kernel_text *t, kiln_error *err)
{
    return put_sorted(s, t, "kiln_scatter_chunks", chunk_text, err);
}

static kiln_status put_chain(const kiln__scattering *s, kernel_text *t, kiln_error *err)
{
    return put_sorted(s, t, "kiln_scatter_chain", chain_text, err);
}

/* Change a target without gaps. */
static kiln_status combine_runs(const kiln__scattering *s, kiln_array *target,
                                const kiln_array *keys, const kiln_array *order,
                                const kiln_array *values, int64_t none, kiln_error *err)
{
    const int64_t chunks = (s->count + KILN__SCATTER_CHUNK - 1) / KILN__SCATTER_CHUNK,
                  kept = chunks * s->row;
    kiln_array *head = NULL, *tail = NULL;
    kiln_status status = KILN_OK;
    kiln_arg args[10] = {kiln_arg_array((kiln_array *)keys),
                         kiln_arg_array((kiln_array *)order),
                         kiln_arg_array((kiln_array *)values),
                         kiln_arg_int(none),
                         kiln_arg_int(s->count),
                         kiln_arg_int(s->row),
                         kiln_arg_int(KILN__SCATTER_CHUNK),
                         kiln_arg_array(target)};

    if (s->what == KILN_SCATTER_SET)
        return run_text(s, TEXT_SET, put_set, args, 8, s->count * s->row, err);
    KILN_TRY(kiln__array_new(s->ctx, target->dtype, 1, &kept, NULL, s->stream, &head, err));
    KILN_TRY(kiln__array_new(s->ctx, target->dtype, 1, &kept, NULL, s->stream, &tail, err));
    args[8] = kiln_arg_array(head);
    args[9] = kiln_arg_array(tail);
    KILN_TRY(run_text(s, TEXT_CHUNKS, put_chunks, args, 10, kept, err));
    if (chunks > 1)
        KILN_TRY(run_text(s, TEXT_CHAIN, put_chain, args, 10, kept, err));

done:
    kiln_array_release(head);
    kiln_array_release(tail);
    return status;
}

static int64_t places_of(const kiln__scattering *s)
{
    int64_t none = 1;

    for (int k = 0; k < s->index_count; k++)
        none *= s->target->shape[k];
    return none;
}

static kiln_status run_few(kiln__scattering *s, kiln_error *err)
{
    kiln_array *places = NULL;

    KILN_CHECK(find_places(s, places_of(s), KILN_INT32, &places, err));
    const kiln_status status = kiln__scatter_few(s, places, places_of(s), err);
    kiln_array_release(places);
    return status;
}

static kiln_status run_by_order(kiln__scattering *s, kiln_error *err)
{
    kiln_array *keys = NULL, *sorted = NULL, *order = NULL, *dense = NULL, *values = NULL;
    const int64_t none = places_of(s);
    kiln_status status = KILN_OK;

    const kiln_dtype key = none < INT32_MAX ? KILN_INT32 : KILN_INT64;
    const kiln_dtype place = s->count < INT32_MAX ? KILN_INT32 : KILN_INT64;
    const bool on_cpu = kiln__scatter_suits_cpu(s);
    if (on_cpu && kiln__scatter_takes_indices(s))
        keys = kiln_array_retain(s->index[0]);
    else
        KILN_TRY(find_places(s, none, key, &keys, err));
    KILN_TRY(kiln__scatter_dense(s->target, s->stream, &dense, err));
    KILN_TRY(kiln__scatter_dense(s->values, s->stream, &values, err));
    if (on_cpu) {
        KILN_TRY(kiln__scatter_cpu(s, dense, keys, values, none, err));
    } else {
        KILN_TRY(kiln__sort_keys(keys, none + 1, place, s->stream, &sorted, &order, err));
        KILN_TRY(combine_runs(s, dense, sorted, order, values, none, err));
    }
    if (dense->data != s->target->data)
        KILN_TRY(kiln__array_assign_on(s->target, dense, s->stream, err));

done:
    kiln_array_release(keys);
    kiln_array_release(sorted);
    kiln_array_release(order);
    kiln_array_release(dense);
    kiln_array_release(values);
    return status;
}

/* Whether values may change their elements in any order, one by one. */
static bool is_direct(const kiln__scattering *s)
{
    const size_t size = kiln_dtype_size(s->target->dtype);
    const bool whole = strchr("iu", kiln_dtype_kind(s->target->dtype)) != NULL;

    if (s->index_count == 0)
        return true;
    if (s->target->contiguous && kiln__scatter_suits_cpu(s))
        return false;
    if (s->what == KILN_SCATTER_SET)
        return s->o.fast && size <= 8;
    return size >= 2 && size <= 8 && (s->o.fast || (whole && s->what != KILN_SCATTER_REDUCE));
}

kiln_status kiln__scatter_run(kiln__scattering *s, kiln_error *err)
{
    if (s->from != NULL && s->from->data != s->whole->data)
        KILN_CHECK(kiln__array_assign_on(s->whole, s->from, s->stream, err));
    if (s->count == 0 || s->row == 0)
        return KILN_OK;
    if (s->index_count > 0 && s->o.mode == KILN_INDEX_CHECK)
        KILN_CHECK(kiln__report_array(s->ctx, &s->report, err));
    if (!is_direct(s))
        return run_by_order(s, err);
    const bool few =
        s->index_count > 0 && adds_atomically(s) && kiln__scatter_has_few(s, places_of(s));
    return few ? run_few(s, err) : run_direct(s, err);
}
