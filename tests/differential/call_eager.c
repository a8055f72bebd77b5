/*
 * call_eager.c - cases of one call: named reductions, sums of products, named scans, one or two
 * elementwise operations.
 */
#include "difftest.h"

static kiln_arg constant_arg(const dt_node *n)
{
    if (n->dtype == KILN_BOOL)
        return kiln_arg_bool(n->number != 0);
    if (dt_is_integer(n->dtype))
        return kiln_arg_int((int64_t)n->number);
    return kiln_arg_float(n->number);
}

static void axes_of(const dt_node *n, kiln_axes *axes)
{
    axes->count = n->axis_count;
    for (int k = 0; k < n->axis_count; k++)
        axes->axis[k] = n->axis[k];
}

static kiln_status call_reduce(const dt_case *c, const dt_node *n, dt_arrays *a, kiln_error *err)
{
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    const kiln_arg initial =
        dt_is_integer(n->dtype) ? kiln_arg_int((int64_t)c->initial) : kiln_arg_float(c->initial);
    kiln_axes axes = {0};

    axes_of(n, &axes);
    options.axes = n->all_axes ? NULL : &axes;
    options.keepdims = n->keepdims;
    options.where = c->where >= 0 ? a->operand[c->where] : NULL;
    options.initial = c->has_initial ? &initial : NULL;
    options.ddof = c->ddof;
    options.stream = a->stream;
    const dt_node *mapped = &c->node[n->in[0]];
    if (mapped->op != DT_MULTIPLY)
        return kiln_array_reduce_with(n->reduction, a->operand[mapped->operand], &options,
                                      &a->output[0], err);
    const dt_node *x = &c->node[mapped->in[0]], *y = &c->node[mapped->in[1]];
    if (x->op == DT_CONJUGATE)
        return kiln_array_vecdot(a->operand[c->node[x->in[0]].operand], a->operand[y->operand],
                                 &options, &a->output[0], err);
    return kiln_array_sum_product(a->operand[x->operand], a->operand[y->operand], &options,
                                  &a->output[0], err);
}

kiln_status dt_call_eager(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const dt_node *n = &c->node[c->output[0].node];
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_arg args[3];
    kiln_axes axes = {0};

    (void)device;
    if (n->op == DT_REDUCE)
        return call_reduce(c, n, a, err);
    if (n->op == DT_SCAN) {
        axes_of(n, &axes);
        return kiln_array_scan(n->scan, a->operand[c->node[n->in[0]].operand],
                               n->all_axes ? NULL : &axes, n->flags, &a->output[0], err);
    }
    if (n->op == DT_CAST)
        return kiln_array_cast(a->operand[c->node[n->in[0]].operand], n->dtype, &a->output[0], err);
    call.stream = a->stream;
    for (int k = 0; k < dt_ops[n->op].operands; k++) {
        const dt_node *o = &c->node[n->in[k]];
        args[k] = o->op == DT_CONSTANT ? constant_arg(o) : kiln_arg_array(a->operand[o->operand]);
    }
    const kiln_op op = (kiln_op)dt_ops[n->op].number;
    const size_t count = (size_t)dt_ops[n->op].operands;
    if (c->output_count == 1)
        return kiln_array_op(op, args, count, &call, &a->output[0], err);
    const kiln_op second = (kiln_op)dt_ops[c->node[c->output[1].node].op].number;
    return kiln_array_op_pair(op, second, args, count, &call, &a->output[0], &a->output[1], err);
}
