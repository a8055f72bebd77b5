/*
 * call_snippet.c - cases as definitions of elementwise kernels, reductions and scans.
 *
 * A definition is kept until another text comes: the cases of one definition follow each other, and
 * its kernels are found in its own table as they would be in a program.
 */
#include <string.h>

#include "difftest.h"

enum { TEXT_BYTES = 8192 };

typedef struct texts {
    dt_kind kind;
    kiln_context *ctx;
    char in[512], out[256], map[TEXT_BYTES], reduce[64], post[TEXT_BYTES], identity[64], type[64];
    char preamble[512], loop_prep[1024];
} texts;

/* The definition last made, for each device in turn. */
static struct {
    texts of;
    kiln_elementwise *elementwise;
    kiln_reduction *reduction;
    kiln_scan *scan;
} kept[2];

void dt_forget(void)
{
    for (size_t k = 0; k < DT_COUNT(kept); k++) {
        kiln_elementwise_destroy(kept[k].elementwise);
        kiln_reduction_destroy(kept[k].reduction);
        kiln_scan_destroy(kept[k].scan);
        memset(&kept[k], 0, sizeof kept[k]);
    }
}

/* The same with a struct for an accumulator, whose second member counts the elements. */
static void make_structured(const dt_case *c, texts *t)
{
    const bool counts = c->kind == DT_KIND_REDUCTION && c->where < 0;
    static char text[TEXT_BYTES];

    snprintf(t->preamble, sizeof t->preamble,
             "struct kept { %s v; unsigned int n; };\n"
             "__device__ inline %s joined(const %s a, const %s b) { return %s; }\n",
             t->type, t->type, t->type, t->type, t->reduce);
    snprintf(t->reduce, sizeof t->reduce, "kept{joined(a.v, b.v), a.n + b.n}");
    snprintf(text, sizeof text, "kept{(%s)(%.7000s), 1u}", t->type, t->map);
    snprintf(t->map, sizeof t->map, "%s", text);
    snprintf(text, sizeof text, "const kept whole = a; { const %s a = %swhole.v; %.7000s; }",
             t->type, counts ? "whole.n != (unsigned int)n ? whole.v + whole.v + 99 : " : "",
             t->post);
    snprintf(t->post, sizeof t->post, "%s", text);
    if (t->identity[0] != '\0') {
        snprintf(text, 64, "kept{%.40s, 0u}", t->identity);
        snprintf(t->identity, sizeof t->identity, "%.63s", text);
    }
    snprintf(t->type, sizeof t->type, "kept");
}

static void pivot_texts(const dt_case *c, texts *t)
{
    const dt_node *n = &c->node[c->pivot];
    const char *reduce, *identity;

    dt_mapped(c, c->pivot, t->map, sizeof t->map);
    dt_combined(c, n, &reduce, &identity);
    snprintf(t->reduce, sizeof t->reduce, "%s", reduce);
    snprintf(t->identity, sizeof t->identity, "%s", identity);
    snprintf(t->type, sizeof t->type, "%s", kiln_dtype_ctype(n->dtype));
    if (c->structured)
        make_structured(c, t);
}

/* The kept definition of `c`, if it is the same; else that place, emptied, with the new texts. */
static size_t find(dt_device *device, const dt_case *c, bool *is_new)
{
    texts t;
    const size_t place = device->cuda ? 1 : 0;

    memset(&t, 0, sizeof t);
    t.kind = c->kind;
    t.ctx = device->ctx;
    dt_signature(c, false, t.in, sizeof t.in);
    dt_signature(c, true, t.out, sizeof t.out);
    dt_statements(c, t.post, sizeof t.post);
    dt_loop_prep(c, t.loop_prep, sizeof t.loop_prep);
    if (c->pivot >= 0)
        pivot_texts(c, &t);
    *is_new = memcmp(&t, &kept[place].of, sizeof t) != 0;
    if (*is_new) {
        kiln_elementwise_destroy(kept[place].elementwise);
        kiln_reduction_destroy(kept[place].reduction);
        kiln_scan_destroy(kept[place].scan);
        memset(&kept[place], 0, sizeof kept[place]);
    }
    if (*is_new)
        kept[place].of = t;
    return place;
}

static void axes_of(const dt_node *n, kiln_axes *axes)
{
    axes->count = n->axis_count;
    for (int k = 0; k < n->axis_count; k++)
        axes->axis[k] = n->axis[k];
}

/* after_loop adds up what the threads counted; `counter` becomes the number of elements. */
static kiln_status check_count(dt_device *device, const dt_case *c, kiln_array *counter,
                               kiln_stream *stream, kiln_status status, kiln_error *err)
{
    uint32_t count = 0;
    int rank;
    int64_t shape[DT_RANK];

    if (status != KILN_OK || !dt_loop_shape(c, &rank, shape))
        return status;
    if (stream != NULL)
        status = kiln_stream_wait(device->ctx, NULL, stream, err);
    if (status == KILN_OK)
        status = kiln_array_to_host(counter, &count, sizeof count, NULL, err);
    const int64_t want = dt_size(rank, shape) * (c->prepared ? 2 : 1);
    if (status == KILN_OK && count != want) {
        status = KILN_ERR_INTERNAL;
        snprintf(err->message, sizeof err->message, "after_loop saw %u of %lld elements",
                 (unsigned)count, (long long)want);
        err->status = status;
    }
    return status;
}

static kiln_status run_elementwise(kiln_elementwise *op, const dt_case *c, dt_arrays *a,
                                   kiln_error *err)
{
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL;

    call.stream = a->stream;
    if (!c->prepared)
        return kiln_elementwise_run(op, a->args, a->arg_count, &call, err);
    const kiln_status prepared =
        kiln_elementwise_prepare(op, a->args, a->arg_count, &call, &launch, err);
    return dt_launch_twice(prepared, launch, a->stream, err);
}

kiln_status dt_call_elementwise(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_array *counter = NULL;
    bool is_new;
    const size_t place = find(device, c, &is_new);
    const texts *t = &kept[place].of;

    options.keep_axes = dt_uses(c, DT_INDEX);
    options.loop_prep = t->loop_prep;
    options.after_loop = c->looped ? "if (seen > 0) atomicAdd(&counter[0], seen);" : NULL;
    if (is_new) {
        const kiln_status status = kiln_elementwise_create(device->ctx, t->in, t->out, t->post,
                                                           &options, &kept[place].elementwise, err);
        if (status != KILN_OK) {
            dt_forget();
            return status;
        }
    }
    if (!c->looped)
        return run_elementwise(kept[place].elementwise, c, a, err);
    /* One more output: the counter stands behind the case's own. */
    kiln_status status =
        kiln_array_zeros(device->ctx, KILN_UINT32, 1, (const int64_t[]){1}, &counter, err);
    if (status == KILN_OK && a->stream != NULL)
        status = kiln_stream_wait(device->ctx, a->stream, NULL, err);
    a->args[a->arg_count++] = kiln_arg_array(counter);
    if (status == KILN_OK)
        status = run_elementwise(kept[place].elementwise, c, a, err);
    status = check_count(device, c, counter, a->stream, status, err);
    kiln_array_release(counter);
    return status;
}

kiln_status dt_call_reduction(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const dt_node *n = &c->node[c->pivot];
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction_call_options call = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL;
    /* It is converted to the first output's dtype, which must hold it. */
    const kiln_dtype first = c->node[c->output[0].node].dtype;
    const kiln_arg initial =
        dt_is_integer(first) ? kiln_arg_int((int64_t)c->initial) : kiln_arg_float(c->initial);
    kiln_axes axes = {0};
    bool is_new;
    const size_t place = find(device, c, &is_new);
    const texts *t = &kept[place].of;

    options.reduce_type = t->type;
    options.preamble = t->preamble;
    if (is_new) {
        const kiln_status status =
            kiln_reduction_create(device->ctx, t->in, t->out, t->map, t->reduce, t->post,
                                  t->identity, &options, &kept[place].reduction, err);
        if (status != KILN_OK) {
            dt_forget();
            return status;
        }
    }
    axes_of(n, &axes);
    call.stream = a->stream;
    call.axes = n->all_axes ? NULL : &axes;
    call.keepdims = n->keepdims;
    call.where = c->where >= 0 ? a->operand[c->where] : NULL;
    call.initial = c->has_initial ? &initial : NULL;
    if (!c->prepared)
        return kiln_reduction_run(kept[place].reduction, a->args, a->arg_count, &call, err);
    const kiln_status prepared =
        kiln_reduction_prepare(kept[place].reduction, a->args, a->arg_count, &call, &launch, err);
    return dt_launch_twice(prepared, launch, a->stream, err);
}

kiln_status dt_call_scan(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const dt_node *n = &c->node[c->pivot];
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan_call_options call = KILN_SCAN_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL;
    kiln_axes axes = {0};
    bool is_new;
    const size_t place = find(device, c, &is_new);
    const texts *t = &kept[place].of;

    options.reduce_type = t->type;
    options.preamble = t->preamble;
    if (is_new) {
        const kiln_status status =
            kiln_scan_create(device->ctx, t->in, t->out, t->map, t->reduce, t->post, t->identity,
                             &options, &kept[place].scan, err);
        if (status != KILN_OK) {
            dt_forget();
            return status;
        }
    }
    axes_of(n, &axes);
    call.stream = a->stream;
    call.axes = n->all_axes ? NULL : &axes;
    call.flags = n->flags;
    if (!c->prepared)
        return kiln_scan_run(kept[place].scan, a->args, a->arg_count, &call, err);
    const kiln_status prepared =
        kiln_scan_prepare(kept[place].scan, a->args, a->arg_count, &call, &launch, err);
    return dt_launch_twice(prepared, launch, a->stream, err);
}
