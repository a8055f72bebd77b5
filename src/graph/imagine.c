/*
 * imagine.c - graphs of text and the kernels of their calls, where there is no device and no array.
 *
 *     text > [graph without a context] > program > [step > definition, arguments without memory]
 *
 * For tools that compile ahead. The parser, the scheduler and the planners are those of real calls;
 * what is imagined is only the memory: every value begins at an aligned address, as what the pool
 * gives and what is read from files does.
 */
#include "graph/graph.h"

bool kiln__graph_uses(const kiln_graph *graph, size_t input)
{
    const kiln__ir *ir = &graph->ir;
    const uint32_t node = ir->inputs[input].node;

    for (uint32_t k = 0; k < ir->edge_count; k++)
        if (ir->edges[k] == node)
            return true;
    for (uint32_t k = 0; k < ir->output_count; k++)
        if (ir->outputs[k].node == node)
            return true;
    return false;
}

kiln_status kiln__step_imagine(const kiln__step *step, kiln__definition *def,
                               const kiln__imagined_device *device, kiln__planned *out,
                               kiln_error *err)
{
    kiln__imagined args[KILN_PARAM_MAX];
    kiln_dtype dtypes[KILN_PARAM_MAX];
    const kiln__imagined_call call = {.args = args,
                                      .dtypes = dtypes,
                                      .axes = step->kind != KILN__STEP_LOOP ? &step->axes : NULL,
                                      .keepdims = step->keepdims};

    memset(args, 0, step->param_count * sizeof *args);
    for (size_t p = 0; p < step->param_count; p++) {
        const kiln__step_param *param = &step->params[p];
        dtypes[p] = def->params[p].dtype;
        args[p].scalar = param->kind == KILN__VALUE_SCALAR || param->kind == KILN__VALUE_NUMBER;
        if (args[p].scalar)
            continue;
        args[p].rank = param->rank;
        memcpy(args[p].shape, param->shape, (size_t)param->rank * sizeof args[p].shape[0]);
        args[p].strides = param->strides;
        args[p].address = (uintptr_t)param->offset;
    }
    return kiln__imagine_variant(def, device, &call, out, err);
}
