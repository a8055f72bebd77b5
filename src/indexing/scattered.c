/*
 * scattered.c - scatters as opaque operations of graphs (src/graph/opaque.c).
 *
 *     x, values, index arrays; numbers > [infer] > dtype and shape of x
 *                                      > [run: copy x to the result] > kiln__scatter_do (scatter.c)
 *
 * Test: test_scatter.
 */
#include "indexing/scatter.h"

/* Numbers of such an operation. Behind them stand four of each subscript, its kind, start, stop and
 * step, and then the text of a reduction with its end. */
enum { FORM, WHAT, MODE, FAST, AXIS, COUNT, ITEMS };

size_t kiln__scatter_numbers(const kiln__scatter_request *r, const kiln_scatter_options *opts,
                             int64_t *data)
{
    const char *reduce = opts->reduce != NULL ? opts->reduce : "";
    const size_t words = strlen(reduce) / sizeof *data + 1;
    size_t used = ITEMS;

    if (words > KILN__SCATTER_TEXT_WORDS || r->count > KILN__SCATTER_SUBSCRIPTS)
        return 0;
    data[FORM] = r->form;
    data[WHAT] = r->what;
    data[MODE] = opts->mode;
    data[FAST] = opts->fast;
    data[AXIS] = r->axis;
    data[COUNT] = (int64_t)r->count;
    for (size_t k = 0; k < r->count; k++) {
        const kiln_subscript *s = &r->subscripts[k];
        const bool slice = s->kind == KILN_SUBSCRIPT_SLICE;
        /* Numbers that the kind does not have are not looked at: equal scatters are one node. */
        const int64_t numbers[] = {s->kind, slice || s->kind == KILN_SUBSCRIPT_INDEX ? s->start : 0,
                                   slice ? s->stop : 0, slice ? s->step : 0};
        memcpy(data + used, numbers, sizeof numbers);
        used += KILN_COUNT_OF(numbers);
    }
    memset(data + used, 0, words * sizeof *data);
    memcpy(data + used, reduce, strlen(reduce));
    return used + words;
}

/* Whether the array has the axes that subscripts, or the indices of put_along_axis(), are of. */
static kiln_status check_axes(const kiln_array *x, const kiln_array *indices, const int64_t *data,
                              kiln_error *err)
{
    int64_t used = 0;

    if (data[FORM] == KILN__SCATTER_ALONG)
        return kiln__scatter_check_along(x->rank, indices->rank, data[AXIS], err);
    for (int64_t k = 0; k < data[COUNT] && data[FORM] == KILN__SCATTER_AT; k++) {
        const int64_t kind = data[ITEMS + 4 * k];
        used += kind == KILN_SUBSCRIPT_INDEX || kind == KILN_SUBSCRIPT_SLICE ||
                kind == KILN_SUBSCRIPT_ARRAY;
    }
    if (used <= x->rank)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_AXIS, "%lld subscript%s of an array with %d ax%s",
                      (long long)used, used == 1 ? "" : "s", x->rank, x->rank == 1 ? "is" : "es");
}

kiln_status kiln__scatter_infer(const kiln_array *const *operands, size_t count,
                                const int64_t *data, kiln_dtype *dtype, int *rank, int64_t *shape,
                                kiln_error *err)
{
    const kiln_array *x = operands[0];

    KILN_CHECK(check_axes(x, operands[count - 1], data, err));

    for (size_t k = 2; k < count; k++)
        if (strchr("iu", kiln_dtype_kind(operands[k]->dtype)) == NULL)
            return kiln__fail(err, KILN_ERR_DTYPE,
                              "index array %zu is %s; indices must be integers", k - 1,
                              kiln_dtype_name(operands[k]->dtype));
    *dtype = x->dtype;
    *rank = x->rank;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    return KILN_OK;
}

kiln_status kiln__scatter_into(const kiln_array *const *operands, const int64_t *data,
                               kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    kiln_subscript list[KILN__SCATTER_SUBSCRIPTS];
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;
    kiln__scatter_request r = {.form = (kiln__scatter_form)data[FORM],
                               .array = out,
                               .from = operands[0],
                               .values = kiln_arg_array((kiln_array *)operands[1]),
                               .what = (kiln_scatter)data[WHAT],
                               .subscripts = list,
                               .count = (size_t)data[COUNT],
                               .axis = (int)data[AXIS]};
    const kiln_array *const *index = operands + 2;

    for (size_t k = 0; k < r.count; k++) {
        const int64_t *numbers = data + ITEMS + 4 * k;
        list[k] = (kiln_subscript){.kind = (kiln_subscript_kind)numbers[0],
                                   .start = numbers[1],
                                   .stop = numbers[2],
                                   .step = numbers[3]};
        if (list[k].kind == KILN_SUBSCRIPT_ARRAY)
            list[k].array = *index++;
    }
    r.indices = r.form != KILN__SCATTER_AT ? *index : NULL;
    o.mode = (kiln_index_mode)data[MODE];
    o.fast = data[FAST] != 0;
    o.reduce = (const char *)(data + ITEMS + 4 * r.count);
    o.stream = stream;
    return kiln__scatter_do(&r, &o, err);
}
