/*
 * step.c - one step of a program without a device and without arrays.
 *
 *     text > graph without a context > program > [step] > definition, arguments without memory
 *
 * `kiln warm` (src/warm) compiles kernels ahead with it. The parser, the passes and the planners
 * are those of a real call; only memory is missing, and each value is assumed to begin at an
 * aligned address. call.c, entry.c and prepare.c use the same functions for real calls.
 *
 * Tests: test_cli_warm, test_warm_runs.
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

kiln_arg kiln__number_arg(const kiln__number *n)
{
    kiln_arg arg = {.kind = KILN_ARG_BOOL + (kiln_arg_kind)kiln__number_index(n)};

    memcpy(&arg.value, &n->value, sizeof n->value);
    return arg;
}

/* Where the memory of a parameter's value begins. */
static uintptr_t base_of(const kiln__step_param *param, const kiln_arg *args)
{
    const kiln_array *a = args != NULL && param->kind == KILN__VALUE_ARG
                              ? kiln__graph_array(&args[param->index])
                              : NULL;
    const size_t temporary = param->kind == KILN__VALUE_TEMP;
    return a != NULL ? (uintptr_t)a->data
                     : kiln__abstract_base(2 * (size_t)param->index + temporary);
}

/* Describe a parameter to kiln__bind_types(), because kernels of users have placeholders. */
static void describe(const kiln__step_param *param, const kiln_arg *args, kiln__given *given)
{
    const kiln_arg number = param->kind == KILN__VALUE_NUMBER ? kiln__number_arg(&param->number)
                            : param->kind == KILN__VALUE_SCALAR && args != NULL
                                ? args[param->index]
                                : kiln_arg_bool(false); /* a value that every dtype can hold */

    memset(given, 0, sizeof *given);
    if (param->kind != KILN__VALUE_NUMBER && param->kind != KILN__VALUE_SCALAR)
        *given = (kiln__given){.kind = KILN__GIVEN_ARRAY, .dtype = param->dtype};
    else
        (void)kiln__given_scalar(&number, given);
}

kiln_status kiln__step_plan(const kiln__step *step, kiln__definition *def,
                            const kiln__plan_device *device, const kiln_arg *args,
                            kiln__planned *out, kiln_error *err)
{
    const bool loops = step->kind == KILN__STEP_LOOP || step->kind == KILN__STEP_CUSTOM;
    kiln__abstract abstract[KILN_PARAM_MAX];
    kiln__given given[KILN_PARAM_MAX];
    kiln_dtype dtypes[KILN_PARAM_MAX];
    const kiln__abstract_call call = {.args = abstract,
                                      .dtypes = dtypes,
                                      .axes = loops ? NULL : &step->axes,
                                      .keepdims = step->keepdims};

    memset(abstract, 0, step->param_count * sizeof *abstract);
    for (size_t p = 0; p < step->param_count; p++) {
        const kiln__step_param *param = &step->params[p];
        describe(param, args, &given[p]);
        abstract[p].scalar = given[p].kind != KILN__GIVEN_ARRAY;
        if (abstract[p].scalar)
            continue;
        abstract[p].rank = param->rank;
        memcpy(abstract[p].shape, param->shape, (size_t)param->rank * sizeof abstract[p].shape[0]);
        abstract[p].strides = param->strides;
        abstract[p].address = base_of(param, args) + (uintptr_t)param->offset;
    }
    KILN_CHECK(kiln__bind_types(def, given, dtypes, err));
    return kiln__abstract_variant(def, device, &call, out, err);
}
