/*
 * rule.c - kiln_array_sort_by() (kiln/sort.h): several arrays of one shape sorted together by a
 * rule of the user's.
 *
 *     arrays, "float32 x, int32 y" > key  > [a kernel: keys] > argsort > each array in that order
 *                                  > less > [tiles in registers] > [merges of runs, pass by pass]
 *
 * A merge sort carries the arrays along, so that each pass reads and writes runs. A thread of a
 * merging pass writes CHUNK neighbours; where they begin in both runs is found by a binary search
 * (a merge path). Runs are multiples of the chunk, so that no chunk belongs to two pairs of runs.
 *
 * Rule: equal elements keep their order: an element of the first run goes before an equal one of
 *       the second.
 *
 * src/graph/opaque.c calls it for expressions; unique_rows.c sorts rows of a matrix by
 * kiln__sort_matrix(). Tests: test_rule, test_unique.
 */
#include "kernel/kernel.h"
#include "sorting/sorting.h"

KILN_DEFINE_OPTIONS_INIT(kiln_sort_rule)

enum { TILE = 8, CHUNK = 8, ARRAYS_MAX = 24 };
_Static_assert(2 * TILE % CHUNK == 0, "chunks end where pairs of runs end");

/* One call. */
typedef struct ruled {
    kiln_context *ctx;
    kiln_sort_options o;
    kiln_sort_rule rule;
    const char *in;
    bool of_elements;                /* in `less`, a and b are elements of the only array, x */
    kiln__kernel *names;             /* of which the definition is looked at */
    const kiln_array *const *arrays; /* matrices without gaps, whose rows are sorted */
    size_t count;
    int64_t length, row_count;
    const kiln_array
        *rows; /* a matrix that the rule looks at, as kiln_rows[] of rows of kiln_width; or NULL */
} ruled;

/* ---- what is given --------------------------------------------------------------------------- */

static kiln_status check_rule(const ruled *r, kiln_error *err)
{
    if ((r->rule.less == NULL) == (r->rule.key == NULL))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "sort: a rule has either `less` or `key`");
    if (r->count == 0 || r->count > ARRAYS_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "sort: %zu arrays; 1 to %d can be sorted",
                          r->count, ARRAYS_MAX);
    for (size_t k = 0; k < r->count; k++) {
        KILN_CHECK(kiln__array_check(r->arrays[k], k > 0 ? r->ctx : NULL, "sort: an array", err));
        const kiln_array *x = r->arrays[k], *y = r->arrays[0];
        if (x->rank != y->rank ||
            memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "sort: arrays have one shape; that of array %zu is another", k + 1);
    }
    return KILN_OK;
}

/* Read the names, and check that the arrays have the dtypes that stand there. */
static kiln_status read_names(ruled *r, kiln_error *err)
{
    const kiln__definition_request request = {.name = "kiln_sort_by",
                                              .in = r->in,
                                              .out = "bool kiln_result",
                                              .snippet = {[KILN__SNIPPET_OP] = "kiln_result = 1"}};

    KILN_CHECK(kiln__kernel_new(r->ctx, true, &kiln__loop_calls, &request, &r->names, err));
    const kiln__param *params = r->names->def->params;
    if (r->names->def->input_count != r->count)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "sort: %zu arrays for \"%.200s\"", r->count,
                          r->in);
    for (size_t k = 0; k < r->count; k++) {
        kiln_dtype wanted = params[k].dtype;
        for (size_t p = 0; p < k && wanted == KILN_DTYPE_NONE; p++)
            if (params[p].placeholder == params[k].placeholder)
                wanted = r->arrays[p]->dtype;
        if (params[k].raw || params[k].writable)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "sort: `%s` is a plain parameter",
                              params[k].name);
        if (wanted != KILN_DTYPE_NONE && wanted != r->arrays[k]->dtype)
            return kiln__fail(err, KILN_ERR_DTYPE, "sort: `%s` is %s, and the array is %s",
                              params[k].name, kiln_dtype_name(wanted),
                              kiln_dtype_name(r->arrays[k]->dtype));
    }
    return KILN_OK;
}

/* ---- by a key -------------------------------------------------------------------------------- */

static kiln_status run(const ruled *r, const char *in, const char *out, const kiln__buf *op,
                       const char *preamble, const kiln_arg *args, size_t arg_count, int64_t size,
                       kiln_error *err)
{
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_elementwise *kernel = NULL;

    if (op->failed)
        return kiln__fail_memory(err, op->capacity);
    opts.name = "kiln_sort_by";
    opts.preamble = preamble;
    call.stream = r->o.stream;
    call.has_size = size >= 0;
    call.size = size;
    KILN_CHECK(kiln_elementwise_create(r->ctx, in, out, op->text, &opts, &kernel, err));
    const kiln_status status = kiln_elementwise_run(kernel, args, arg_count, &call, err);
    kiln_elementwise_destroy(kernel);
    return status;
}

/* The elements of each row in the order that is told for it. */
static const kiln__kept_texts along_texts = {
    .calls = &kiln__loop_calls,
    .request = {.name = "kiln_take_rows",
                .in = "raw T x, int64 length, int64 order",
                .out = "T z",
                .snippet = {[KILN__SNIPPET_OP] = "z = x[i / length * length + order]"}},
};

static kiln_status take_rows(const ruled *r, const kiln_array *x, const kiln_array *order,
                             kiln_array **out, kiln_error *err)
{
    const kiln_arg args[] = {kiln_arg_array((kiln_array *)x), kiln_arg_int(r->length),
                             kiln_arg_array((kiln_array *)order), kiln_arg_out(out)};

    return kiln__kept_run(r->ctx, &along_texts, args, KILN_COUNT_OF(args), r->o.stream, err);
}

/* A text of the user's within op, and a bracket that closes. It is on a line of its own, which
 * compilers' messages are about; `line` is the number of the next line of op. */
static void put_text(kiln__snippet_kind kind, const char *text, int line, kiln__buf *out)
{
    kiln__buf_printf(out, "\n#line 1 \"%s\"\n%s)\n#line %d \"%s\"\n", kiln__snippet_name(kind),
                     text, line, kiln__snippet_name(KILN__SNIPPET_OP));
}

static kiln_status sort_by_key(const ruled *r, kiln_array **sorted, kiln_array **order_out,
                               kiln_error *err)
{
    const kiln_dtype dtype = r->rule.key_dtype != 0 ? r->rule.key_dtype : KILN_FLOAT64;
    const kiln_axes last = {1, {-1}};
    kiln_sort_options along = r->o;
    kiln_array *keys = NULL, *order = NULL;
    kiln_arg args[ARRAYS_MAX + 1];
    kiln__buf op = KILN__BUF_INIT;
    kiln_status status = KILN_OK;
    char out[64];

    snprintf(out, sizeof out, "%s kiln_key", kiln_dtype_name(dtype));
    kiln__buf_printf(&op, "kiln_key = (%s)(", kiln_dtype_ctype(dtype));
    put_text(KILN__SNIPPET_KEY, r->rule.key, 2, &op);
    along.axes = &last;
    KILN_TRY(kiln__array_new(r->ctx, dtype, 2, (int64_t[]){r->row_count, r->length}, NULL,
                             r->o.stream, &keys, err));
    for (size_t k = 0; k < r->count; k++)
        args[k] = kiln_arg_array(r->arrays[k]);
    args[r->count] = kiln_arg_array(keys);
    KILN_TRY(run(r, r->in, out, &op, r->rule.preamble, args, r->count + 1, -1, err));
    KILN_TRY(kiln_array_argsort(keys, &along, &order, err));
    for (size_t k = 0; sorted != NULL && k < r->count; k++)
        KILN_TRY(take_rows(r, r->arrays[k], order, &sorted[k], err));
    if (order_out != NULL) {
        *order_out = order;
        order = NULL;
    }

done:
    kiln__buf_clear(&op);
    kiln_array_release(keys);
    kiln_array_release(order);
    return status;
}

/* ---- by what stands before what -------------------------------------------------------------- */

/* The texts of one kernel; `merges` or sorts tiles. */
typedef struct texts {
    kiln__buf in, out, op, preamble;
} texts;

static void texts_clear(texts *t)
{
    kiln__buf_clear(&t->in);
    kiln__buf_clear(&t->out);
    kiln__buf_clear(&t->op);
    kiln__buf_clear(&t->preamble);
}

/* An element of all arrays as a struct, under the names of the signature. */
static void put_preamble(const ruled *r, kiln__buf *b)
{
    const kiln__param *params = r->names->def->params;

    for (size_t k = 0; k < r->count; k++) {
        bool first = params[k].placeholder != 0;
        for (size_t p = 0; p < k; p++)
            first = first && params[p].placeholder != params[k].placeholder;
        if (first)
            kiln__buf_printf(b, "typedef %s %c;\n", kiln_dtype_ctype(r->arrays[k]->dtype),
                             params[k].placeholder);
    }
    if (r->rule.preamble != NULL)
        kiln__buf_printf(b, "%s\n", r->rule.preamble);
    kiln__buf_puts(b, "struct kiln_item {\n");
    for (size_t k = 0; k < r->count; k++)
        kiln__buf_printf(b, "    %s %s;\n", kiln_dtype_ctype(r->arrays[k]->dtype), params[k].name);
    kiln__buf_puts(b, "};\n");
}

/* The rule, and how an element is read and written. */
static void put_functions(const ruled *r, bool merges, kiln__buf *b)
{
    const kiln__param *params = r->names->def->params;
    const char *const first = r->of_elements ? "kiln_a" : "a",
                      *second = r->of_elements ? "kiln_b" : "b";

    kiln__buf_printf(b, "auto before = [%s](const kiln_item &%s, const kiln_item &%s) -> bool {\n",
                     r->rows != NULL ? "&" : "", r->o.descending ? second : first,
                     r->o.descending ? first : second);
    if (r->of_elements)
        kiln__buf_puts(b, "    T a = kiln_a.x, b = kiln_b.x;\n");
    kiln__buf_puts(b, "    return (");
    put_text(KILN__SNIPPET_LESS, r->rule.less, 5, b);
    kiln__buf_puts(b, ";\n};\n");
    kiln__buf_puts(b, "auto load = [&](long long k) -> kiln_item {\n    kiln_item item;\n");
    for (size_t k = 0; k < r->count; k++)
        kiln__buf_printf(b, "    item.%s = from%zu[k];\n", params[k].name, k);
    kiln__buf_puts(b, "    return item;\n};\n"
                      "auto store = [&](long long k, const kiln_item &item, long long at) {\n");
    for (size_t k = 0; k < r->count; k++)
        kiln__buf_printf(b, "    to%zu[k] = item.%s;\n", k, params[k].name);
    kiln__buf_printf(b, "    order_out[k] = %s;\n};\n", merges ? "order[at]" : "at");
}

/* TILE neighbours in registers, by exchanges of neighbours: odd and even ones in turn. */
static const char tile_text[] =
    "const long long tiles = (count + TILE - 1) / TILE, start = i / tiles * count,\n"
    "                begin = start + i % tiles * TILE, left = start + count - begin;\n"
    "kiln_item items[TILE];\n"
    "int at[TILE];\n"
    "KILN_UNROLL for (int k = 0; k < TILE; k++) {\n"
    "    at[k] = k;\n"
    "    items[k] = load(k < left ? begin + k : begin);\n"
    "}\n"
    "KILN_UNROLL for (int round = 0; round < TILE; round++)\n"
    "    KILN_UNROLL for (int k = round & 1; k + 1 < TILE; k += 2)\n"
    "        if (k + 1 < left && before(items[k + 1], items[k])) {\n"
    "            const kiln_item item = items[k];\n"
    "            const int was = at[k];\n"
    "            items[k] = items[k + 1], at[k] = at[k + 1];\n"
    "            items[k + 1] = item, at[k + 1] = was;\n"
    "        }\n"
    "KILN_UNROLL for (int k = 0; k < TILE; k++)\n"
    "    if (k < left)\n"
    "        store(begin + k, items[k], begin - start + at[k])";

/* CHUNK elements of the run that two runs of `width` elements become. */
static const char merge_text[] =
    "const long long chunks = (count + CHUNK - 1) / CHUNK, start = i / chunks * count,\n"
    "                stop = start + count, from = i % chunks * CHUNK, begin = start + from,\n"
    "                base = start + from / (2 * width) * (2 * width),\n"
    "                middle = base + width < stop ? base + width : stop,\n"
    "                last = middle + width < stop ? middle + width : stop,\n"
    "                end = begin + CHUNK < last ? begin + CHUNK : last, first = begin - base;\n"
    "long long low = first > last - middle ? first - (last - middle) : 0,\n"
    "          high = first < middle - base ? first : middle - base;\n"
    "while (low < high) {\n"
    "    const long long half = (low + high) / 2;\n"
    "    if (before(load(middle + first - 1 - half), load(base + half)))\n"
    "        high = half;\n"
    "    else\n"
    "        low = half + 1;\n"
    "}\n"
    "long long a = base + low, b = middle + first - low;\n"
    "kiln_item left = load(a < middle ? a : base), right = load(b < last ? b : base);\n"
    "for (long long k = begin; k < end; k++) {\n"
    "    const bool takes = a >= middle || (b < last && before(right, left));\n"
    "    store(k, takes ? right : left, takes ? b : a);\n"
    "    if (takes && ++b < last)\n"
    "        right = load(b);\n"
    "    else if (!takes && ++a < middle)\n"
    "        left = load(a);\n"
    "}";

static kiln_status make_texts(const ruled *r, bool merges, texts *t, kiln_error *err)
{
    *t = (texts){KILN__BUF_INIT, KILN__BUF_INIT, KILN__BUF_INIT, KILN__BUF_INIT};
    for (size_t k = 0; k < r->count; k++) {
        const char *dtype = kiln_dtype_name(r->arrays[k]->dtype);
        kiln__buf_printf(&t->in, "raw %s from%zu, ", dtype, k);
        kiln__buf_printf(&t->out, "raw %s to%zu, ", dtype, k);
    }
    if (r->rows != NULL)
        kiln__buf_printf(&t->in, "raw %s kiln_rows, int64 kiln_width, ",
                         kiln_dtype_name(r->rows->dtype));
    kiln__buf_puts(&t->in, merges ? "raw int64 order, int64 count, int64 width" : "int64 count");
    kiln__buf_puts(&t->out, "raw int64 order_out");
    put_preamble(r, &t->preamble);
    kiln__buf_printf(&t->op, "constexpr int %s = %d;\n", merges ? "CHUNK" : "TILE",
                     merges ? CHUNK : TILE);
    put_functions(r, merges, &t->op);
    kiln__buf_puts(&t->op, merges ? merge_text : tile_text);
    return t->in.failed || t->out.failed || t->preamble.failed
               ? kiln__fail_memory(err, t->op.capacity)
               : KILN_OK;
}

/* New arrays of all members, and behind them one of positions in their rows. */
static kiln_status make_buffers(const ruled *r, kiln_array **buffers, kiln_error *err)
{
    for (size_t k = 0; k <= r->count; k++)
        KILN_CHECK(kiln__array_new(r->ctx, k < r->count ? r->arrays[k]->dtype : KILN_INT64, 2,
                                   (int64_t[]){r->row_count, r->length}, NULL, r->o.stream,
                                   &buffers[k], err));
    return KILN_OK;
}

static void drop_buffers(const ruled *r, kiln_array **buffers)
{
    for (size_t k = 0; k <= r->count; k++)
        kiln_array_release(buffers[k]);
}

/* One pass; `width` 0: the first one, of tiles. */
static kiln_status pass(const ruled *r, const texts *t, kiln_array *const *from, int64_t width,
                        kiln_array *const *to, kiln_error *err)
{
    kiln_arg args[2 * ARRAYS_MAX + 6];
    size_t used = 0;

    for (size_t k = 0; k < r->count; k++)
        args[used++] = kiln_arg_array(width == 0 ? r->arrays[k] : from[k]);
    if (r->rows != NULL) {
        args[used++] = kiln_arg_array((kiln_array *)r->rows);
        args[used++] = kiln_arg_int(r->rows->shape[1]);
    }
    if (width > 0)
        args[used++] = kiln_arg_array(from[r->count]);
    args[used++] = kiln_arg_int(r->length);
    if (width > 0)
        args[used++] = kiln_arg_int(width);
    for (size_t k = 0; k <= r->count; k++)
        args[used++] = kiln_arg_array(to[k]);
    return run(r, t->in.text, t->out.text, &t->op, t->preamble.text, args, used,
               r->row_count * kiln__blocks(r->length, width == 0 ? TILE : CHUNK), err);
}

static kiln_status sort_by_less(const ruled *r, kiln_array **sorted, kiln_array **order,
                                kiln_error *err)
{
    kiln_array *buffers[2][ARRAYS_MAX + 1] = {{NULL}};
    texts tiles, merges;
    int at = 0;
    kiln_status status = make_texts(r, false, &tiles, err);

    if (make_texts(r, true, &merges, err) != KILN_OK)
        status = KILN_ERR_NO_MEMORY;
    if (status != KILN_OK)
        goto done;
    for (int k = 0; k < 2; k++)
        if (k == 0 || r->length > TILE)
            KILN_TRY(make_buffers(r, buffers[k], err));
    if (r->length > 0 && r->row_count > 0)
        KILN_TRY(pass(r, &tiles, NULL, 0, buffers[0], err));
    for (int64_t width = TILE; r->row_count > 0 && width < r->length; width *= 2, at = !at)
        KILN_TRY(pass(r, &merges, buffers[at], width, buffers[!at], err));
    for (size_t k = 0; sorted != NULL && k < r->count; k++)
        sorted[k] = kiln_array_retain(buffers[at][k]);
    if (order != NULL)
        *order = kiln_array_retain(buffers[at][r->count]);

done:
    drop_buffers(r, buffers[0]);
    drop_buffers(r, buffers[1]);
    texts_clear(&tiles);
    texts_clear(&merges);
    return status;
}

/* ---- rows of a matrix ------------------------------------------------------------------------ */

/* first(p, q), whether element p stands before q by the order of the dtype: NaN behind numbers. Complex
 * numbers go by their parts, behind them those whose imaginary part is NaN, then the real part, then both. */
static void put_before(kiln_dtype dtype, kiln__buf *b)
{
    const char kind = kiln_dtype_kind(dtype);
    const char *type = kiln_dtype_ctype(dtype);

    if (kind == 'c')
        kiln__buf_printf(
            b,
            "auto nans = [](%s p) { return 2 * (p.real() != p.real()) + (p.imag() != p.imag()); };\n"
            "auto first = [&](%s p, %s q) -> bool {\n"
            "    if (nans(p) != nans(q))\n"
            "        return nans(p) < nans(q);\n"
            "    return p.real() < q.real() || (!(q.real() < p.real()) && p.imag() < q.imag());\n};\n",
            type, type, type);
    else
        kiln__buf_printf(b, "auto first = [](%s p, %s q) -> bool { return p < q%s; };\n", type,
                         type, kind == 'f' ? " || (q != q && p == p)" : "");
}

kiln_status kiln__sort_matrix(const kiln_array *rows, kiln_stream *stream, kiln_array **order,
                              kiln_error *err)
{
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *positions = NULL, *flat = NULL;
    kiln__buf less = KILN__BUF_INIT;
    kiln_status status = KILN_OK;
    ruled r = {.ctx = rows->ctx,
               .in = "int64 row",
               .count = 1,
               .length = rows->shape[0],
               .row_count = 1,
               .rows = rows,
               .rule = KILN_SORT_RULE_INIT};

    *order = NULL;
    o.stream = stream;
    KILN_TRY(kiln__sort_options_read(&r.o, &o, err));
    if (r.o.stream == NULL)
        r.o.stream = kiln__device_stream(kiln__context_device(r.ctx));
    kiln__buf_puts(&less, "[&]() -> bool {\n");
    put_before(rows->dtype, &less);
    kiln__buf_puts(&less, "for (long long k = 0; k < kiln_width; k++) {\n"
                          "    const auto p = kiln_rows[a.row * kiln_width + k], "
                          "q = kiln_rows[b.row * kiln_width + k];\n"
                          "    if (first(p, q))\n        return true;\n"
                          "    if (first(q, p))\n        return false;\n}\nreturn false;\n}()");
    if (less.failed) {
        status = kiln__fail_memory(err, less.capacity);
        goto done;
    }
    r.rule.less = less.text;
    KILN_TRY(kiln_array_arange(r.ctx, KILN_INT64, 0, (double)r.length, 1, &positions, err));
    r.arrays = (const kiln_array *const *)&positions;
    KILN_TRY(read_names(&r, err));
    KILN_TRY(sort_by_less(&r, NULL, &flat, err));
    KILN_TRY(kiln_array_reshape(flat, 1, &r.length, order, err));

done:
    kiln__buf_clear(&less);
    kiln_array_release(positions);
    kiln_array_release(flat);
    kiln__kernel_destroy(r.names);
    return status;
}

/* ---- arrays as rows -------------------------------------------------------------------------- */

/* A call's arrays with their rows along the last axis, and as matrices. */
typedef struct laid {
    kiln__rows rows[ARRAYS_MAX];
    kiln_array *matrix[ARRAYS_MAX];
} laid;

static kiln_status lay_out(ruled *r, const kiln_axes *axes, laid *l, kiln_error *err)
{
    for (size_t k = 0; k < r->count; k++) {
        KILN_CHECK(kiln__rows_begin(&l->rows[k], "sort", r->arrays[k], axes, r->o.stream, err));
        const int64_t shape[] = {l->rows[k].rows, l->rows[k].length};
        KILN_CHECK(kiln_array_reshape(l->rows[k].x, 2, shape, &l->matrix[k], err));
    }
    r->row_count = l->rows[0].rows;
    r->length = l->rows[0].length;
    r->arrays = (const kiln_array *const *)l->matrix;
    return KILN_OK;
}

static void drop_layout(laid *l)
{
    for (size_t k = 0; k < ARRAYS_MAX; k++) {
        kiln__rows_end(&l->rows[k]);
        kiln_array_release(l->matrix[k]);
    }
}

/* A matrix of sorted rows back along the axis; `*made` is released. */
static kiln_status deliver(const kiln__rows *rows, kiln_array **made, kiln_array **out,
                           kiln_error *err)
{
    kiln_array *shaped = NULL;
    kiln_status status = kiln_array_reshape(*made, rows->rank, rows->shape, &shaped, err);

    if (status == KILN_OK)
        status = kiln__rows_deliver(rows, &shaped, out, err);
    kiln_array_release(shaped);
    kiln_array_release(*made);
    *made = NULL;
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

kiln_status kiln_array_sort_by(const char *in, const kiln_array *const *arrays, size_t count,
                               const kiln_sort_rule *rule, const kiln_sort_options *opts,
                               kiln_array **sorted_out, kiln_array **order_out, kiln_error *err)
{
    return kiln__sort_by(in, false, arrays, count, rule, opts, sorted_out, order_out, err);
}

kiln_status kiln__sort_by(const char *in, bool of_elements, const kiln_array *const *arrays,
                          size_t count, const kiln_sort_rule *rule, const kiln_sort_options *opts,
                          kiln_array **sorted_out, kiln_array **order_out, kiln_error *err)
{
    ruled r = {.in = in,
               .of_elements = of_elements,
               .arrays = arrays,
               .count = count,
               .rule = KILN_SORT_RULE_INIT};
    kiln_array *made[ARRAYS_MAX] = {NULL}, *order = NULL;
    laid l = {0};
    kiln_status status = KILN_OK;

    for (size_t k = 0; sorted_out != NULL && k < count; k++)
        sorted_out[k] = NULL;
    if (order_out != NULL)
        *order_out = NULL;
    KILN_CHECK_NULL(in, err);
    KILN_CHECK_NULL(arrays, err);
    KILN_CHECK_NULL(rule, err);
    KILN_CHECK(KILN_READ_OPTIONS(kiln_sort_rule, &r.rule, rule, err));
    KILN_CHECK(kiln__sort_options_read(&r.o, opts, err));
    KILN_CHECK(kiln__array_check(count > 0 ? arrays[0] : NULL, NULL, "sort: an array", err));
    r.ctx = arrays[0]->ctx;
    KILN_CHECK(kiln__device_check(kiln__context_device(r.ctx), err));
    if (r.o.stream == NULL)
        r.o.stream = kiln__device_stream(kiln__context_device(r.ctx));
    KILN_TRY(check_rule(&r, err));
    KILN_TRY(read_names(&r, err));
    KILN_TRY(lay_out(&r, r.o.axes, &l, err));
    KILN_TRY((r.rule.less != NULL ? sort_by_less : sort_by_key)(
        &r, sorted_out != NULL ? made : NULL, order_out != NULL ? &order : NULL, err));
    for (size_t k = 0; sorted_out != NULL && k < count; k++)
        KILN_TRY(deliver(&l.rows[k], &made[k], &sorted_out[k], err));
    if (order_out != NULL)
        KILN_TRY(deliver(&l.rows[0], &order, order_out, err));

done:
    for (size_t k = 0; k < ARRAYS_MAX; k++)
        kiln_array_release(made[k]);
    kiln_array_release(order);
    drop_layout(&l);
    if (status != KILN_OK && order_out != NULL) {
        kiln_array_release(*order_out);
        *order_out = NULL;
    }
    for (size_t k = 0; status != KILN_OK && sorted_out != NULL && k < count; k++) {
        kiln_array_release(sorted_out[k]);
        sorted_out[k] = NULL;
    }
    kiln__kernel_destroy(r.names);
    return status;
}
