/*
 * call_graph.c - cases as recorded graphs.
 */
#include "difftest.h"

static kiln_node constant(const dt_node *n)
{
    if (n->dtype == KILN_BOOL)
        return kiln_node_of_bool(n->number != 0);
    if (dt_is_integer(n->dtype))
        return kiln_node_of_int((int64_t)n->number);
    return kiln_node_of_float(n->number);
}

static kiln_node record(const dt_node *n, const kiln_node *nodes)
{
    const kiln_node x = nodes[n->in[0]];
    kiln_axes axes = {.count = n->axis_count};

    for (int k = 0; k < n->axis_count; k++)
        axes.axis[k] = n->axis[k];
    switch (n->op) {
    case DT_CAST:
        return kiln_cast(x, n->dtype);
    case DT_REDUCE:
        return kiln_node_reduce(n->reduction, x, n->all_axes ? NULL : &axes, n->keepdims,
                                KILN_DTYPE_NONE, KILN_HERE);
    case DT_SCAN:
        return kiln_node_scan(n->scan, x, n->all_axes ? NULL : &axes, KILN_HERE);
    case DT_TRANSPOSE:
        return kiln_transpose(x, &axes);
    case DT_NEWAXIS:
        return kiln_newaxis(x, n->axis[0]);
    case DT_FLIP:
        return kiln_flip(x, n->axis[0]);
    case DT_SLICE:
        return kiln_slice(x, n->axis[0], n->start, n->stop, n->step);
    case DT_TAKE:
        return kiln_select(x, n->axis[0], n->start);
    case DT_BROADCAST:
        return kiln_broadcast_to(x, n->rank, n->shape);
    case DT_RESHAPE:
        return kiln_reshape(x, n->rank, n->shape);
    case DT_INDEX:
        return kiln_iota(x, n->axis[0]);
    default:
        if (dt_ops[n->op].operands == 1)
            return kiln_node_op1(dt_ops[n->op].number, x, KILN_HERE);
        if (dt_ops[n->op].operands == 2)
            return kiln_node_op2(dt_ops[n->op].number, x, nodes[n->in[1]], KILN_HERE);
        return kiln_node_op3(dt_ops[n->op].number, x, nodes[n->in[1]], nodes[n->in[2]], KILN_HERE);
    }
}

static kiln_graph_options options_of(const dt_case *c)
{
    kiln_graph_options options = KILN_GRAPH_OPTIONS_INIT;

    options.wide = c->wide;
    return options;
}

static kiln_status record_graph(dt_device *device, const dt_case *c, kiln_graph **out,
                                kiln_error *err)
{
    kiln_node nodes[DT_NODES], inputs[DT_OPERANDS];
    char name[16];
    const kiln_graph_options options = options_of(c);
    const kiln_status status = kiln_graph_create(device->ctx, &options, out, err);

    if (status != KILN_OK)
        return status;
    for (int k = 0; k < c->operand_count; k++) {
        snprintf(name, sizeof name, "x%d", k);
        inputs[k] = kiln_graph_input(*out, name);
    }
    for (int k = 0; k < c->node_count; k++) {
        const dt_node *n = &c->node[k];
        nodes[k] = n->op == DT_INPUT      ? inputs[n->operand]
                   : n->op == DT_CONSTANT ? constant(n)
                                          : record(n, nodes);
    }
    for (int k = 0; k < c->output_count; k++) {
        snprintf(name, sizeof name, "z%d", k);
        kiln_graph_output(*out, name, nodes[c->output[k].node]);
    }
    return KILN_OK;
}

static kiln_status parse_graph(dt_device *device, const dt_case *c, kiln_graph **out,
                               kiln_error *err)
{
    static const char *const names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
    const kiln_graph_options options = options_of(c);
    char text[8192];

    dt_expression(c, text, sizeof text);
    return kiln_graph_parse(device->ctx, text, names, (size_t)c->operand_count, &options, out, NULL,
                            err);
}

kiln_status dt_call_graph(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_graph *graph = NULL;
    kiln_graph_call_options call = KILN_GRAPH_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL;
    kiln_status status =
        c->as_text ? parse_graph(device, c, &graph, err) : record_graph(device, c, &graph, err);

    call.stream = a->stream;
    if (status == KILN_OK && !c->prepared) {
        status = kiln_graph_run(graph, a->args, a->arg_count, &call, err);
    } else if (status == KILN_OK) {
        status = kiln_graph_prepare(graph, a->args, a->arg_count, &call, &launch, err);
        status = dt_launch_twice(status, launch, a->stream, err);
    }
    kiln_graph_destroy(graph);
    return status;
}
