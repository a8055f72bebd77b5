/*
 * run.c - one case on one device: buffers there, the call, and every byte back.
 *
 *     upload > call > fetch > [elements of given outputs] > [all other bytes] > allocated outputs
 *
 * A repeated case is run again on another stream: the same call gives the same bits on one device.
 *
 * Rule: every byte of every buffer is compared. Elements that an output owns must be right answers;
 * everything else, guard words and inputs included, must be as it was.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "difftest.h"

static void say(dt_report *report, dt_verdict verdict, const char *format, ...)
{
    va_list list;

    if (report->verdict != DT_RIGHT)
        return; /* the first complaint stays */
    report->verdict = verdict;
    va_start(list, format);
    vsnprintf(report->text, sizeof report->text, format, list);
    va_end(list);
}

static void say_error(dt_report *report, const char *call, kiln_error *err)
{
    say(report, DT_REFUSED, "%s: %s: %s%s%s%s%.300s", call, kiln_status_name(err->status),
        err->message, err->detail != NULL ? "\n" : "", err->detail != NULL ? err->detail : "",
        err->log != NULL ? "\n" : "", err->log != NULL ? err->log : "");
    report->status = err->status;
    kiln_error_clear(err);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static kiln_status wrap(dt_device *device, const dt_arrays *a, const dt_case *c, const dt_view *v,
                        bool input, kiln_array **out, kiln_error *err)
{
    unsigned char *base = kiln_array_data(a->storage[v->buffer]);
    DLManagedTensorVersioned *tensor = NULL;
    kiln_array *own = NULL;

    if (!c->imported || !input)
        return kiln_array_wrap(device->ctx, v->dtype, v->rank, v->shape, v->stride, base + v->start,
                               base, (size_t)c->buffer_bytes[v->buffer], NULL, NULL, out, err);
    /* Exported, let go of, and imported again: the same memory, and no copy. */
    kiln_status status =
        kiln_array_wrap(device->ctx, v->dtype, v->rank, v->shape, v->stride, base + v->start, base,
                        (size_t)c->buffer_bytes[v->buffer], NULL, NULL, &own, err);
    if (status == KILN_OK)
        status = kiln_array_to_dlpack(own, NULL, &tensor, err);
    kiln_array_release(own);
    if (status == KILN_OK)
        status = kiln_array_from_dlpack(device->ctx, tensor, NULL, out, err);
    return status;
}

/* A buffer on the device: made of the host's bytes, or uploaded into an array of noise. */
static kiln_status send(dt_device *device, const dt_case *c, const dt_expected *e, int k,
                        kiln_array **out, kiln_error *err)
{
    kiln_status status;

    if (!c->imported)
        return kiln_array_from_host(device->ctx, KILN_UINT8, 1, &c->buffer_bytes[k], e->buffer[k],
                                    NULL, out, err);
    status = kiln_array_empty(device->ctx, KILN_UINT8, 1, &c->buffer_bytes[k], out, err);
    if (status == KILN_OK)
        status = kiln_array_upload(*out, e->buffer[k], NULL, NULL, err);
    return status;
}

static kiln_arg number_arg(const dt_operand *o)
{
    if (dt_is_integer(o->view.dtype))
        return kiln_arg_int((int64_t)o->number);
    return kiln_arg_float(o->number);
}

static kiln_status upload(dt_device *device, const dt_case *c, const dt_expected *e, dt_arrays *a,
                          kiln_error *err)
{
    kiln_status status = KILN_OK;

    for (int k = 0; k < c->buffer_count && status == KILN_OK; k++)
        status = send(device, c, e, k, &a->storage[k], err);
    for (int k = 0; k < c->operand_count && status == KILN_OK; k++) {
        const dt_operand *o = &c->operand[k];
        if (!o->is_number)
            status = wrap(device, a, c, &o->view, true, &a->operand[k], err);
        if (k == c->where)
            continue;
        a->args[a->arg_count++] = o->is_number ? number_arg(o) : kiln_arg_array(a->operand[k]);
    }
    for (int k = 0; k < c->output_count && status == KILN_OK; k++) {
        if (c->output[k].given)
            status = wrap(device, a, c, &c->output[k].view, false, &a->output[k], err);
        a->args[a->arg_count++] = kiln_arg_out(&a->output[k]);
    }
    return status;
}

static void release(dt_arrays *a)
{
    for (int k = 0; k < DT_OUTPUTS; k++)
        kiln_array_release(a->output[k]);
    for (int k = 0; k < DT_OPERANDS; k++)
        kiln_array_release(a->operand[k]);
    for (int k = 0; k < DT_BUFFERS; k++)
        kiln_array_release(a->storage[k]);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void say_element(dt_report *report, int output, const dt_array *want, int64_t at,
                        const unsigned char *got)
{
    char wanted[80], found[80], place[96];
    size_t used = 0;
    int64_t index[DT_RANK];

    dt_unravel(at, want->rank, want->shape, index);
    place[0] = '\0';
    for (int axis = 0; axis < want->rank; axis++)
        used += (size_t)snprintf(place + used, sizeof place - used, "%s%lld", axis > 0 ? "," : "",
                                 (long long)index[axis]);
    dt_value_text(want->dtype, want->at[at], wanted, sizeof wanted);
    dt_value_text(want->dtype, dt_load(want->dtype, got), found, sizeof found);
    say(report, DT_WRONG, "output %d at (%s): %s, expected %s within %.3g", output, place, found,
        wanted, want->at[at].alone);
}

/* Compare the elements that an output owns, and put back what was there. */
static void check_given(const dt_case *c, int k, const dt_expected *e, unsigned char *got,
                        dt_report *report)
{
    const dt_view *v = &c->output[k].view;
    const dt_array *want = &e->output[k];
    const size_t size = kiln_dtype_size(v->dtype);

    for (int64_t at = 0; at < want->size; at++) {
        int64_t index[DT_RANK], place = v->start;

        dt_unravel(at, v->rank, v->shape, index);
        for (int axis = 0; axis < v->rank; axis++)
            place += index[axis] * v->stride[axis];
        if (report->verdict == DT_RIGHT && !dt_array_agrees(want, at, got + place))
            say_element(report, k, want, at, got + place);
        memcpy(got + place, e->buffer[v->buffer] + place, size);
    }
}

void dt_check_bytes(const dt_case *c, const dt_expected *e, int buffer, unsigned char *got,
                    dt_report *report)
{
    const size_t bytes = (size_t)c->buffer_bytes[buffer];
    size_t at = 0;

    for (int k = 0; k < c->output_count; k++)
        if (c->output[k].given && c->output[k].view.buffer == buffer)
            check_given(c, k, e, got, report);
    if (memcmp(got, e->buffer[buffer], bytes) == 0)
        return;
    while (got[at] == e->buffer[buffer][at])
        at++;
    say(report, DT_WRONG, "byte %zu of buffer %d, which no output owns, was changed", at, buffer);
}

void dt_add_bytes(uint64_t *hash, const unsigned char *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        *hash = dt_mix(*hash, bytes[k]);
}

static void check_buffers(const dt_case *c, const dt_expected *e, const dt_arrays *a,
                          uint64_t *hash, dt_report *report)
{
    kiln_error err = KILN_ERROR_INIT;

    for (int k = 0; k < c->buffer_count; k++) {
        const size_t bytes = (size_t)c->buffer_bytes[k];
        unsigned char *got = malloc(bytes + 1);

        if (got == NULL || kiln_array_to_host(a->storage[k], got, bytes, NULL, &err) != KILN_OK)
            say_error(report, "fetching a buffer", &err);
        if (report->verdict == DT_RIGHT) {
            dt_add_bytes(hash, got, bytes);
            dt_check_bytes(c, e, k, got, report);
        }
        free(got);
    }
}

static void check_allocated(int k, const dt_expected *e, const kiln_array *got, uint64_t *hash,
                            dt_report *report)
{
    const dt_array *want = &e->output[k];
    const size_t size = kiln_dtype_size(want->dtype), bytes = (size_t)want->size * size;
    kiln_error err = KILN_ERROR_INIT;
    unsigned char *elements;

    if (kiln_array_dtype(got) != want->dtype || kiln_array_rank(got) != want->rank ||
        memcmp(kiln_array_shape(got), want->shape, (size_t)want->rank * sizeof *want->shape) != 0) {
        say(report, DT_WRONG,
            "output %d is %s of rank %d, expected %s of rank %d (or another shape)", k,
            kiln_dtype_name(kiln_array_dtype(got)), kiln_array_rank(got),
            kiln_dtype_name(want->dtype), want->rank);
        return;
    }
    elements = malloc(bytes + 1);
    if (elements == NULL || kiln_array_to_host(got, elements, bytes, NULL, &err) != KILN_OK) {
        say_error(report, "fetching an output", &err);
        free(elements);
        return;
    }
    dt_add_bytes(hash, elements, bytes);
    for (int64_t at = 0; at < want->size; at++)
        if (!dt_array_agrees(want, at, elements + (size_t)at * size)) {
            say_element(report, k, want, at, elements + (size_t)at * size);
            break;
        }
    free(elements);
}

kiln_status dt_launch_twice(kiln_status prepared, kiln_launch *launch, kiln_stream *stream,
                            kiln_error *err)
{
    kiln_status status = prepared;

    for (int k = 0; k < 2 && status == KILN_OK; k++)
        status = kiln_launch_run(launch, stream, err);
    kiln_launch_destroy(launch);
    return status;
}

/* ---- one case -------------------------------------------------------------------------------- */

static kiln_status call(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    switch (c->kind) {
    case DT_KIND_ELEMENTWISE:
        return dt_call_elementwise(device, c, a, err);
    case DT_KIND_REDUCTION:
        return dt_call_reduction(device, c, a, err);
    case DT_KIND_ROW:
        return dt_call_row(device, c, a, err);
    case DT_KIND_SCANNED:
        return dt_call_scan(device, c, a, err);
    case DT_KIND_GRAPH:
        return dt_call_graph(device, c, a, err);
    case DT_KIND_REDUCE:
    case DT_KIND_SCAN:
    case DT_KIND_EAGER:
        return dt_call_eager(device, c, a, err);
    default:
        return dt_call_family(device, c, a, err);
    }
}

/* The call on `stream`, behind the uploads and before whatever reads its results. */
static kiln_status call_on(dt_device *device, const dt_case *c, dt_arrays *a, kiln_stream *stream,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;

    a->stream = stream;
    if (stream != NULL)
        status = kiln_stream_wait(device->ctx, stream, NULL, err);
    if (status == KILN_OK)
        status = call(device, c, a, err);
    if (status == KILN_OK && stream != NULL)
        status = kiln_stream_wait(device->ctx, NULL, stream, err);
    return status;
}

/* Run and check once; returns a hash of all bytes that came back. */
static uint64_t run_once(dt_device *device, const dt_case *c, const dt_expected *e,
                         kiln_stream *stream, dt_report *report)
{
    uint64_t hash = 0;
    dt_arrays a;
    kiln_error err = KILN_ERROR_INIT;

    memset(&a, 0, sizeof a);
    if (upload(device, c, e, &a, &err) != KILN_OK)
        say_error(report, "making arrays", &err);
    else if (call_on(device, c, &a, stream, &err) != KILN_OK)
        say_error(report, "the call", &err);
    else if (kiln_context_synchronize(device->ctx, &err) != KILN_OK)
        say_error(report, "the kernel", &err);
    if (report->verdict == DT_RIGHT)
        check_buffers(c, e, &a, &hash, report);
    for (int k = 0; k < c->output_count && report->verdict == DT_RIGHT; k++)
        if (!c->output[k].given)
            check_allocated(k, e, a.output[k], &hash, report);
    release(&a);
    return hash;
}

void dt_check_repeated(uint64_t first, uint64_t second, dt_report *report)
{
    if (first != second)
        say(report, DT_WRONG, "the same call gave other bits on another stream");
}

/* What an integer is by zero may change from run to run in a CUDA snippet, as in CUDA C++. */
static bool divides_by_zero(const dt_case *c, const dt_expected *e)
{
    if (!dt_in_snippet(c) || (!dt_uses(c, DT_QUOTIENT) && !dt_uses(c, DT_MODULO)))
        return false;
    for (int k = 0; k < c->output_count; k++)
        for (int64_t at = 0; at < e->output[k].size; at++)
            if (dt_is_unknown(e->output[k].at[at]))
                return true;
    return false;
}

dt_verdict dt_run(dt_device *device, const dt_case *c, const dt_expected *e, dt_report *report)
{
    report->verdict = DT_RIGHT;
    report->status = KILN_OK;
    report->text[0] = '\0';
    const uint64_t hash = run_once(device, c, e, NULL, report);
    if (report->verdict != DT_RIGHT || !c->repeated)
        return report->verdict;
    const uint64_t again = run_once(device, c, e, device->stream, report);
    if (!divides_by_zero(c, e))
        dt_check_repeated(hash, again, report);
    return report->verdict;
}
