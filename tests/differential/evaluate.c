/*
 * evaluate.c - a program in plain loops, node after node, over arrays of values.
 *
 * Buffers begin with noise, so that what a kernel writes beside its elements shows; then operands
 * write their elements, and are read back: views that overlap see each other's.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family_index.h"

/* ---- arrays of values ------------------------------------------------------------------------ */

bool dt_array_make(dt_array *a, kiln_dtype dtype, int rank, const int64_t *shape)
{
    a->dtype = dtype;
    a->rank = rank;
    a->size = dt_size(rank, shape);
    for (int axis = 0; axis < rank; axis++)
        a->shape[axis] = shape[axis];
    a->at = calloc((size_t)a->size + 1, sizeof *a->at);
    a->others = NULL;
    a->other_count = 0;
    return a->at != NULL;
}

bool dt_array_agrees(const dt_array *a, int64_t at, const void *element)
{
    bool right = dt_agrees(a->dtype, element, a->at[at]);

    for (int k = a->at[at].also; k > 0 && !right; k = a->others[k - 1].also)
        right = dt_agrees(a->dtype, element, a->others[k - 1]);
    return right;
}

bool dt_array_assign(dt_array *a, int64_t at, dt_value v, bool in_any_order)
{
    v.also = in_any_order ? -1 : 0;
    if (in_any_order && a->at[at].also != 0) {
        dt_value *grown = realloc(a->others, (size_t)(a->other_count + 1) * sizeof *grown);
        if (grown == NULL)
            return false;
        a->others = grown;
        a->others[a->other_count++] = a->at[at];
        v.also = a->other_count;
    }
    a->at[at] = v;
    return true;
}

void dt_unravel(int64_t at, int rank, const int64_t *shape, int64_t *index)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        index[axis] = at % shape[axis];
        at /= shape[axis];
    }
}

int64_t dt_broadcast_at(const dt_array *a, int rank, const int64_t *index)
{
    int64_t at = 0;

    for (int axis = 0; axis < a->rank; axis++)
        at = at * a->shape[axis] + (a->shape[axis] == 1 ? 0 : index[rank - a->rank + axis]);
    return at;
}

static bool same_shape(const dt_array *a, int rank, const int64_t *shape)
{
    return a->rank == rank && memcmp(a->shape, shape, (size_t)rank * sizeof *shape) == 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

static double special_real(uint64_t draw, kiln_dtype part)
{
    const double tiny = ldexp(1, dt_format_of(part).emin);

    switch (draw % 16) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -INFINITY;
    case 3:
        return -0.0;
    case 4:
        return 0;
    case 5:
        return dt_largest(part);
    case 6:
        return -dt_largest(part) / 2;
    case 7:
        return tiny;
    case 8:
        return -tiny / 2;
    case 9:
        return 1 + dt_ulp(part, 1);
    default:
        return dt_round(part, ldexp((double)(int64_t)(draw >> 8 & 0xffff) - 32768, -12));
    }
}

static double random_real(dt_fill fill, uint64_t draw, kiln_dtype part)
{
    if (fill == DT_FILL_SMALL)
        return (double)(draw % 17) - 8;
    if (fill == DT_FILL_UNIFORM)
        return dt_round(part, ldexp((double)(int64_t)(draw >> 11) - 0x1p52, -50));
    return special_real(draw, part);
}

/* Whole numbers of a range, which a float or an integer holds. */
static dt_value ranged_value(const dt_operand *o, uint64_t draw, int64_t at)
{
    const int64_t size = dt_size(o->view.rank, o->view.shape), reach = o->high - o->low;
    const int64_t v = o->fill == DT_FILL_RISING ? o->low + (size > 1 ? at * reach / (size - 1) : 0)
                                                : o->low + (int64_t)(draw % (uint64_t)(reach + 1));

    return dt_is_integer(o->view.dtype) ? dt_of_integer(o->view.dtype, v)
                                        : dt_of_real(dt_part_of(o->view.dtype), (double)v);
}

/* One of evenly spaced numbers, computed as float64 and rounded; or one beside it. */
static dt_value even_value(const dt_operand *o, uint64_t draw, int64_t at)
{
    const kiln_dtype dtype = o->view.dtype, part = dt_part_of(dtype);
    const int64_t k = o->near ? (int64_t)(draw % (uint64_t)(o->parts + 1)) : at;
    const double v = (double)o->low + (double)k * ((double)(o->high - o->low) / (double)o->parts);

    if (dt_is_integer(dtype))
        return dt_of_integer(dtype, (int64_t)v);
    const double rounded = dt_round(part, v), step = (double)(int64_t)(draw >> 60) - 8;
    return dt_of_real(part,
                      o->near && step > 2 ? rounded + (step - 5) * dt_ulp(part, rounded) : rounded);
}

static dt_value random_value(dt_fill fill, uint64_t draw, kiln_dtype dtype)
{
    const kiln_dtype part = dt_part_of(dtype);
    const dt_value limits[2] = {dt_limit(dtype, false), dt_limit(dtype, true)};

    if (dtype == KILN_BOOL)
        return dt_of_integer(dtype, (int64_t)(draw >> 20 & 1));
    if (dt_is_integer(dtype)) {
        if (fill == DT_FILL_SPECIAL && draw % 4 == 0)
            return limits[draw >> 8 & 1];
        if (fill != DT_FILL_SMALL)
            return dt_of_integer(dtype, (int64_t)dt_mix(draw, 1));
        return dt_of_integer(dtype, (int64_t)(draw % 17) - (dt_is_signed(dtype) ? 8 : 0));
    }
    dt_value v = {.re = random_real(fill, draw, part)};
    if (dt_is_complex(dtype))
        v.im = random_real(fill, dt_mix(draw, 2), part);
    return v;
}

static unsigned char *element(unsigned char *buffer, const dt_view *v, int64_t at)
{
    int64_t place = v->start;

    for (int axis = v->rank - 1; axis >= 0; axis--) {
        place += at % v->shape[axis] * v->stride[axis];
        at /= v->shape[axis];
    }
    return buffer + place;
}

static void fill_noise(unsigned char *buffer, int64_t bytes, int number)
{
    for (int64_t at = 0; at < bytes; at += 8) {
        const uint64_t noise = dt_mix((uint64_t)at, (uint64_t)number);
        memcpy(buffer + at, &noise, (size_t)(bytes - at < 8 ? bytes - at : 8));
    }
}

static bool make_buffers(const dt_case *c, dt_expected *e)
{
    for (int k = 0; k < c->buffer_count; k++) {
        e->buffer[k] = malloc((size_t)c->buffer_bytes[k] + 1);
        if (e->buffer[k] == NULL)
            return false;
        fill_noise(e->buffer[k], c->buffer_bytes[k], k);
    }
    for (int k = 0; k < c->operand_count; k++) {
        const dt_operand *o = &c->operand[k];
        if (o->is_number)
            continue;
        for (int64_t at = 0; at < dt_size(o->view.rank, o->view.shape); at++) {
            const uint64_t draw = dt_mix(o->salt, (uint64_t)at);
            dt_store(o->view.dtype, element(e->buffer[o->view.buffer], &o->view, at),
                     o->fill == DT_FILL_EVEN    ? even_value(o, draw, at)
                     : o->fill >= DT_FILL_RANGE ? ranged_value(o, draw, at)
                                                : random_value(o->fill, draw, o->view.dtype));
        }
    }
    return true;
}

static dt_value number_value(kiln_dtype dtype, double number)
{
    if (dt_is_integer(dtype))
        return dt_of_integer(dtype, (int64_t)number);
    return dt_of_real(dt_part_of(dtype), number);
}

static bool load_operand(const dt_case *c, int operand, const dt_expected *e, dt_array *out)
{
    const dt_operand *o = &c->operand[operand];

    if (!dt_array_make(out, o->view.dtype, o->view.rank, o->view.shape))
        return false;
    if (o->is_number)
        out->at[0] = number_value(o->view.dtype, o->number);
    else
        for (int64_t at = 0; at < out->size; at++)
            out->at[at] = dt_load(o->view.dtype, element(e->buffer[o->view.buffer], &o->view, at));
    return true;
}

/* The dtype of a node's values: in wide graphs floats of 16 bits are float32, but for those that
 * scans give. */
static kiln_dtype held_in(const dt_case *c, const dt_node *n)
{
    const bool wide =
        c->wide && !dt_is_float8(n->dtype) && n->op != DT_INPUT && n->op != DT_SCAN;

    return dt_is_narrow(n->dtype) && wide ? KILN_FLOAT32 : n->dtype;
}

/* What quotients and two functions may be off in wide graphs. */
static dt_value computed_wide(dt_op op, dt_value v)
{
    const bool loose = op == DT_DIVIDE || op == DT_RECIPROCAL || op == DT_EXP || op == DT_TANH;

    if (!loose || v.re == 0 || !isfinite(v.re))
        return v;
    v.error += fabs(v.re) * 0x1p-17;
    v.alone = v.error;
    return v;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void evaluate_elementwise(const dt_case *c, const dt_node *n, const dt_array *values,
                                 dt_array *out)
{
    const int count = dt_ops[n->op].operands;
    kiln_dtype dtypes[3], loop = KILN_DTYPE_NONE, result;
    bool weak[3], direct[3];

    for (int k = 0; k < count; k++) {
        const dt_node *o = &c->node[n->in[k]];
        dtypes[k] = o->dtype;
        weak[k] = dt_is_weak(c, o);
        direct[k] = same_shape(&values[n->in[k]], out->rank, out->shape);
    }
    if (n->op != DT_CAST)
        dt_loop_of(n->op, dtypes, weak, count, dt_in_snippet(c), &loop, &result);
    const bool widened = out->dtype != n->dtype;
    if (c->wide && dt_is_narrow(loop) && !dt_is_float8(loop))
        loop = KILN_FLOAT32; /* comparisons too */
    if (dt_is_summed_product(c, n) && dt_is_narrow(loop))
        loop = KILN_FLOAT32;
    for (int64_t at = 0; at < out->size; at++) {
        int64_t index[DT_RANK];
        dt_value in[3] = {{0}};

        dt_unravel(at, out->rank, out->shape, index);
        for (int k = 0; k < count; k++) {
            const dt_array *a = &values[n->in[k]];
            const bool condition = n->op == DT_WHERE && k == 0;
            in[k] = a->at[direct[k] ? at : dt_broadcast_at(a, out->rank, index)];
            in[k] = dt_cast(a->dtype,
                            n->op == DT_CAST ? n->dtype
                            : condition      ? KILN_BOOL
                                             : loop,
                            in[k]);
        }
        out->at[at] = n->op == DT_CAST ? in[0] : dt_apply(n->op, loop, in, dt_in_snippet(c));
        if (widened && c->wide)
            out->at[at] = computed_wide(n->op, out->at[at]);
    }
}

/* Where an element of a view is in its operand. */
static int64_t viewed(const dt_node *n, const dt_array *in, const int64_t *index)
{
    int64_t at[DT_RANK] = {0};

    for (int axis = 0, from = 0; axis < in->rank; axis++) {
        switch (n->op) {
        case DT_TRANSPOSE:
            at[n->axis[axis]] = index[axis];
            break;
        case DT_NEWAXIS:
            at[axis] = index[axis < n->axis[0] ? axis : axis + 1];
            break;
        case DT_TAKE:
            if (axis == n->axis[0])
                at[axis] = n->start < 0 ? n->start + in->shape[axis] : n->start;
            else
                at[axis] = index[from++];
            break;
        default:
            at[axis] = index[axis];
            if (n->op == DT_FLIP && axis == n->axis[0])
                at[axis] = in->shape[axis] - 1 - index[axis];
            if (n->op == DT_SLICE && axis == n->axis[0])
                at[axis] = dt_slice_first(n, in->shape[axis]) + index[axis] * n->step;
        }
    }
    return dt_broadcast_at(in, in->rank, at);
}

static void evaluate_view(const dt_node *n, const dt_array *in, dt_array *out)
{
    for (int64_t at = 0; at < out->size; at++) {
        int64_t index[DT_RANK];

        dt_unravel(at, out->rank, out->shape, index);
        if (n->op == DT_INDEX)
            out->at[at].i = index[n->axis[0]];
        else if (n->op == DT_RESHAPE)
            out->at[at] = in->at[at];
        else if (n->op == DT_BROADCAST)
            out->at[at] = in->at[dt_broadcast_at(in, out->rank, index)];
        else
            out->at[at] = in->at[viewed(n, in, index)];
    }
}

/* What a snippet knows of the element it is run for. */
static void evaluate_place(const dt_case *c, const dt_node *n, const dt_expected *e, dt_array *out)
{
    const dt_node *pivot = c->pivot >= 0 ? &c->node[c->pivot] : NULL;
    const dt_view *v = &c->output[0].view;

    for (int64_t at = 0; at < out->size; at++) {
        int64_t index[DT_RANK];

        dt_unravel(at, out->rank, out->shape, index);
        if (n->op == DT_OLD)
            out->at[at] = dt_load(v->dtype, element(e->buffer[v->buffer], v, at));
        else if (n->op == DT_INDEX)
            out->at[at].i = index[n->axis[0]];
        else
            out->at[at].i = pivot == NULL ? at : dt_reduced_position(pivot, out, index);
    }
}

/* Elements of an operand that is taken by one input along all its axes. */
static bool evaluate_taken(const dt_case *c, const dt_node *n, const dt_expected *e,
                           const dt_array *index, dt_array *out)
{
    dt_array table = {0};

    if (!load_operand(c, n->operand, e, &table))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        int64_t place[DT_RANK];
        for (int axis = 0; axis < table.rank; axis++)
            place[axis] = dt_place_of(index->dtype, index->at[at], table.shape[axis], n->flags);
        out->at[at] = table.at[dt_broadcast_at(&table, table.rank, place)];
    }
    free(table.at);
    return true;
}

/* Elements of a raw operand, at indices of any size. */
static bool evaluate_raw(const dt_case *c, const dt_node *n, const dt_expected *e,
                         const dt_array *index, dt_array *out)
{
    dt_array raw = {0};

    if (!load_operand(c, n->operand, e, &raw))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        const int64_t i = index->at[at].i % raw.size;
        out->at[at] =
            dt_is_unknown(index->at[at]) ? dt_unknown() : raw.at[i < 0 ? i + raw.size : i];
    }
    free(raw.at);
    return true;
}

static void cast_array(const dt_array *from, dt_array *to)
{
    for (int64_t at = 0; at < from->size; at++)
        to->at[at] = dt_cast(from->dtype, to->dtype, from->at[at]);
}

/* A reduction or a scan into an output of another dtype, or a sum of products of narrow floats:
 * floats are accumulated in the wider dtype, and rounded once. A scan takes values rounded to its
 * operand's dtype, in wide graphs too. */
static bool evaluate_into(const dt_case *c, const dt_node *n, const dt_array *in,
                          const dt_array *mask, dt_array *out)
{
    const kiln_dtype from = n->op == DT_SCAN ? c->node[n->in[0]].dtype : in->dtype;
    const bool widen = !dt_is_integer(from) && !dt_is_integer(out->dtype);
    const kiln_dtype work = widen ? dt_promote(from, out->dtype) : from;
    const kiln_dtype result =
        n->op == DT_REDUCE ? dt_reduced_dtype(n->reduction, work) : dt_scanned_dtype(n->scan, work);
    dt_array wide = {0}, own = {0};

    const bool summed = dt_is_summed_product(c, &c->node[n->in[0]]) && dt_is_narrow(out->dtype);

    if (n->into == KILN_DTYPE_NONE && !summed && from == in->dtype)
        return n->op == DT_REDUCE ? dt_reduce_array(c, n, in, mask, out)
                                  : dt_scan_array(c, n, in, out);
    bool ok = dt_array_make(&wide, work, in->rank, in->shape) &&
              dt_array_make(&own, result, out->rank, out->shape);
    if (ok) {
        cast_array(in, &wide);
        ok = n->op == DT_REDUCE ? dt_reduce_array(c, n, &wide, mask, &own)
                                : dt_scan_array(c, n, &wide, &own);
        cast_array(&own, out);
    }
    free(wide.at);
    free(own.at);
    return ok;
}

static bool evaluate_node(const dt_case *c, int k, const dt_expected *e, dt_array *values)
{
    const dt_node *n = &c->node[k];
    const dt_array *in = &values[n->in[0]];
    dt_array *out = &values[k], mask = {0};
    bool ok = true;

    if (n->op == DT_INPUT)
        return load_operand(c, n->operand, e, out);
    if (!dt_array_make(out, held_in(c, n), n->rank, n->shape))
        return false;
    if (n->op < DT_ELEMENTWISE_COUNT) {
        evaluate_elementwise(c, n, values, out);
    } else if (n->op == DT_OLD || n->op == DT_POSITION || (n->op == DT_INDEX && dt_in_snippet(c))) {
        evaluate_place(c, n, e, out);
    } else if (n->op == DT_RAW) {
        ok = evaluate_raw(c, n, e, in, out);
    } else if (n->op == DT_TAKEN) {
        ok = evaluate_taken(c, n, e, in, out);
    } else if (n->op == DT_CONSTANT) {
        out->at[0] = number_value(n->dtype, n->number);
    } else if (n->op == DT_REDUCE) {
        if (c->where >= 0)
            ok = load_operand(c, c->where, e, &mask);
        ok = ok && evaluate_into(c, n, in, c->where >= 0 ? &mask : NULL, out);
        free(mask.at);
    } else if (n->op == DT_SCAN) {
        ok = evaluate_into(c, n, in, NULL, out);
    } else {
        evaluate_view(n, in, out);
    }
    return ok;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool finish_output(const dt_case *c, int k, const dt_array *values, dt_array *out)
{
    const dt_array *v = &values[c->output[k].node];
    int rank = v->rank;
    int64_t shape[DT_RANK] = {0};

    memcpy(shape, v->shape, sizeof shape);
    if (dt_fills_loop(c, k))
        dt_loop_shape(c, &rank, shape);
    if (!dt_array_make(out, c->node[c->output[k].node].dtype, rank, shape))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        int64_t index[DT_RANK];
        dt_unravel(at, rank, shape, index);
        out->at[at] = dt_cast(v->dtype, out->dtype, v->at[dt_broadcast_at(v, rank, index)]);
    }
    return true;
}

static bool evaluate_function(const dt_case *c, dt_expected *e)
{
    dt_array in[DT_OPERANDS] = {{0}};
    bool ok = true;

    for (int k = 0; k < c->operand_count && ok; k++)
        ok = load_operand(c, k, e, &in[k]);
    ok = ok && dt_evaluate_family(c, in, e->output);
    for (int k = 0; k < c->operand_count; k++)
        free(in[k].at);
    return ok;
}

bool dt_evaluate(const dt_case *c, dt_expected *e)
{
    dt_array values[DT_NODES] = {{0}};
    int last_use[DT_NODES] = {0};
    bool ok;

    memset(e, 0, sizeof *e);
    for (int k = 0; k < c->node_count; k++)
        if (c->node[k].op != DT_INPUT && c->node[k].op != DT_CONSTANT)
            for (int j = 0; j < 3; j++)
                last_use[c->node[k].in[j]] = k;
    for (int k = 0; k < c->output_count && !dt_in_family(c); k++)
        last_use[c->output[k].node] = DT_NODES;
    ok = make_buffers(c, e);
    if (dt_in_family(c))
        ok = ok && evaluate_function(c, e);
    for (int k = 0; k < c->node_count && ok; k++) {
        ok = evaluate_node(c, k, e, values);
        for (int j = 0; j < k; j++)
            if (last_use[j] <= k) {
                free(values[j].at);
                values[j].at = NULL;
            }
    }
    for (int k = 0; k < c->output_count && ok && !dt_in_family(c); k++)
        ok = finish_output(c, k, values, &e->output[k]);
    for (int k = 0; k < c->node_count; k++)
        free(values[k].at);
    if (!ok)
        dt_expected_clear(e);
    return ok;
}

void dt_expected_clear(dt_expected *e)
{
    for (int k = 0; k < DT_BUFFERS; k++)
        free(e->buffer[k]);
    for (int k = 0; k < DT_OUTPUTS; k++) {
        free(e->output[k].at);
        free(e->output[k].others);
    }
    memset(e, 0, sizeof *e);
}
