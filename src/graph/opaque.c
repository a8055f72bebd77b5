/*
 * opaque.c - operations of graphs that a function does as a whole: matrix products, by a library.
 *
 *     kiln_node_matmul, `a @ b` > a node of the table below
 *     planning > [infer: the function's own rules, of arrays without memory]
 *     a call > [step: views of its values > the function]
 *
 * Adding one: a row of `operations`, with what infers its results and what runs it.
 */
#include "graph/graph.h"
#include "linalg/linalg.h"

typedef struct operation {
    kiln__opaque plan; /* first: a node has the address of it */
    kiln_status (*infer)(const kiln_array *const *operands, const int64_t *data,
                         kiln__opaque_value *results, kiln_error *err);
    kiln_status (*run)(const kiln_array *const *operands, const int64_t *data, kiln_stream *stream,
                       kiln_array **outs, kiln_error *err);
} operation;

/* ---- matrix products --------------------------------------------------------------------------- */

static kiln_status infer_matmul(const kiln_array *const *operands, const int64_t *data,
                                kiln__opaque_value *results, kiln_error *err)
{
    (void)data;
    return kiln__matmul_infer(operands[0], operands[1], &results->dtype, &results->rank,
                              results->shape, err);
}

static kiln_status run_matmul(const kiln_array *const *operands, const int64_t *data,
                              kiln_stream *stream, kiln_array **outs, kiln_error *err)
{
    kiln_matmul_options o = KILN_MATMUL_OPTIONS_INIT;

    (void)data;
    o.stream = stream;
    return kiln_matmul(operands[0], operands[1], &o, outs, err);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static kiln_status infer(const kiln__opaque *o, const kiln__opaque_value *values,
                         const int64_t *data, kiln__opaque_value *results, kiln_error *err);

static const operation operations[KILN__OPAQUES] = {
    [KILN__OPAQUE_MATMUL] = {{"matmul", 2, 1, "a matrix product, by a library where there is one",
                              infer},
                             infer_matmul,
                             run_matmul},
};

const kiln__opaque *kiln__opaque_of(kiln__opaque_op op)
{
    return &operations[op].plan;
}

/* Bytes of the header of an array that was never made, of any rank. */
enum { HEADER_BYTES = sizeof(kiln_array) + 2 * KILN_RANK_MAX * sizeof(int64_t) };

static kiln_status infer(const kiln__opaque *o, const kiln__opaque_value *values,
                         const int64_t *data, kiln__opaque_value *results, kiln_error *err)
{
    const operation *op = (const operation *)(const void *)o;
    _Alignas(16) unsigned char headers[KILN__OPAQUE_OPERANDS][(HEADER_BYTES + 15) / 16 * 16];
    const kiln_array *operands[KILN__OPAQUE_OPERANDS];
    int64_t strides[KILN_RANK_MAX];

    memset(headers, 0, sizeof headers);
    memset(results, 0, KILN__OPAQUE_RESULTS * sizeof *results);
    for (int k = 0; k < o->operand_count; k++) {
        const kiln__opaque_value *v = &values[k];
        kiln__strides_ordered(v->rank, v->shape, NULL, kiln_dtype_size(v->dtype), strides);
        kiln_array *header = (kiln_array *)(void *)headers[k];
        kiln__array_header(header, NULL, v->dtype, v->rank, v->shape, strides);
        operands[k] = header;
    }
    return op->infer(operands, data, results, err);
}

/* ---- a step -------------------------------------------------------------------------------------- */

kiln_status kiln__opaque_run(const kiln__step *step, kiln_array *const *values, kiln_stream *stream,
                             kiln_error *err)
{
    const operation *op = step->kernel;
    kiln_array *views[KILN__OPAQUE_OPERANDS + KILN__OPAQUE_RESULTS] = {NULL};
    const kiln_array *operands[KILN__OPAQUE_OPERANDS] = {NULL};
    kiln_status status = KILN_OK;

    for (size_t p = 0; p < step->param_count; p++) {
        const kiln__step_param *param = &step->params[p];
        KILN_TRY(kiln__array_view(values[p], param->rank, param->shape, param->strides,
                                  (char *)values[p]->data + param->offset, &views[p], err));
        if (p < step->input_count)
            operands[p] = views[p];
    }
    KILN_TRY(op->run(operands, step->data, stream, views + step->input_count, err));

done:
    for (size_t p = 0; p < step->param_count; p++)
        kiln_array_release(views[p]);
    return status;
}
