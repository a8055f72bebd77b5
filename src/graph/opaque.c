/*
 * opaque.c - nodes that one C function computes as a whole step: matrix products, factorisations,
 * scans, sorts, filters.
 *
 *     kiln_node_matmul, `a @ b`, `solve(a, b)` > a node of the table `operations`
 *     planning (src/fusion) > [infer: dtypes and shapes of the results]
 *     a call (call.c)       > [run: views of its values > the function]
 *
 * To add an operation, add a row to `operations`: a function that infers the results, and one that
 * computes them. The rows of linear algebra come from a list in src/linalg.
 *
 * Tests: test_graph_linalg, test_graph_matmul, test_rearrange.
 */
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "indexing/indexing.h"
#include "linalg/linalg.h"
#include "sorting/sorting.h"

typedef struct operation {
    kiln__opaque plan; /* first: a node has the address of it */
    kiln_status (*infer)(const struct operation *op, const kiln_array *const *operands,
                         size_t count, const int64_t *data, kiln__linalg_value *results,
                         kiln_error *err);
    kiln_status (*run)(const struct operation *op, const kiln_array *const *operands, size_t count,
                       const int64_t *data, kiln_stream *stream, kiln_array **outs,
                       kiln_error *err);
    /* The kernel of a step as kiln__opaque_kernel() gives it, of operands of these dtypes; NULL: a run chooses. */
    kiln_status (*define)(const struct operation *op, const int64_t *data, kiln__step *call,
                          kiln__definition **out, kiln_error *err);
    int function; /* kiln__linalg_function, kiln__tensor_function, kiln__chooser, kiln__sorting_function, kiln_scan_op */
} operation;

static void give_like(const kiln_array *x, kiln__linalg_value *result)
{
    result->dtype = x->dtype;
    result->rank = x->rank;
    memcpy(result->shape, x->shape, (size_t)x->rank * sizeof *result->shape);
}

/* ---- matrix products --------------------------------------------------------------------------- */

static kiln_status infer_matmul(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln__linalg_value *results,
                                kiln_error *err)
{
    (void)op, (void)count, (void)data;
    return kiln__matmul_infer(operands[0], operands[1], &results->dtype, &results->rank,
                              results->shape, err);
}

static kiln_status run_matmul(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    const kiln__finish *f = &op->plan.finish;
    kiln_matmul_options o = KILN_MATMUL_OPTIONS_INIT;

    (void)count, (void)data;
    o.stream = stream;
    o.alpha = f->scale;
    o.epilogue = f->epilogue;
    o.dtype = f->dtype;
    o.c = f->residual ? operands[2] : NULL;
    o.bias = f->bias ? operands[2 + f->residual] : NULL;
    return kiln_matmul(operands[0], operands[1], &o, outs, err);
}

static kiln_status infer_tensor(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln__linalg_value *results,
                                kiln_error *err)
{
    return kiln__tensor_infer((kiln__tensor_function)op->function, operands, count, data, results,
                              err);
}

static kiln_status run_tensor(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    return kiln__tensor_run((kiln__tensor_function)op->function, operands, count, data, stream,
                            outs, err);
}

/* ---- factorisations ----------------------------------------------------------------------------- */

static kiln_status infer_linalg(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln__linalg_value *results,
                                kiln_error *err)
{
    (void)count, (void)data;
    return kiln__linalg_infer((kiln__linalg_function)op->function, operands, results, err);
}

static kiln_status run_linalg(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    (void)count, (void)data;
    return kiln__linalg_run((kiln__linalg_function)op->function, operands, stream, outs, err);
}

/* ---- norms --------------------------------------------------------------------------------------- */

static kiln_status infer_norm(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    (void)count;
    return kiln__norm_infer(op->function != 0, operands[0], data, results, err);
}

static kiln_status run_norm(const operation *op, const kiln_array *const *operands, size_t count,
                            const int64_t *data, kiln_stream *stream, kiln_array **outs,
                            kiln_error *err)
{
    (void)count;
    return kiln__norm_run(op->function != 0, operands[0], data, stream, outs, err);
}

/* ---- elements that masks choose -------------------------------------------------------------------- */

/* Values with room for all elements, and how many of them count. */
static kiln_status infer_chosen(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln__linalg_value *results,
                                kiln_error *err)
{
    (void)count, (void)data;
    results[1].dtype = KILN_INT64;
    results[1].rank = 0;
    const kiln_status status =
        kiln__choose_infer((kiln__chooser)op->function, operands, &results->dtype, &results->rank,
                           results->shape, err);
    memcpy(&results[2], &results[0], 2 * sizeof results[0]); /* the same of all other elements */
    return status;
}

static kiln_status run_chosen(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    (void)count, (void)data;
    return kiln__choose_into((kiln__chooser)op->function, operands, stream, outs, err);
}

/* ---- scatters -------------------------------------------------------------------------------------- */

static kiln_status infer_scatter(const operation *op, const kiln_array *const *operands,
                                 size_t count, const int64_t *data, kiln__linalg_value *results,
                                 kiln_error *err)
{
    (void)op;
    return kiln__scatter_infer(operands, count, data, &results->dtype, &results->rank,
                               results->shape, err);
}

static kiln_status run_scatter(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln_stream *stream, kiln_array **outs,
                               kiln_error *err)
{
    (void)op, (void)count;
    return kiln__scatter_into(operands, data, stream, *outs, err);
}

/* ---- histograms ------------------------------------------------------------------------------------ */

static kiln_status infer_histogram(const operation *op, const kiln_array *const *operands,
                                   size_t count, const int64_t *data, kiln__linalg_value *results,
                                   kiln_error *err)
{
    (void)op, (void)data;
    results->dtype = KILN_INT64;
    results->rank = (int)count / 2;
    return kiln__histogramdd_infer(operands, count / 2, results->shape, err);
}

static kiln_status run_histogram(const operation *op, const kiln_array *const *operands,
                                 size_t count, const int64_t *data, kiln_stream *stream,
                                 kiln_array **outs, kiln_error *err)
{
    (void)op, (void)data;
    return kiln__histogramdd_run(operands, count / 2, stream, outs, err);
}

/* ---- sliding sums ---------------------------------------------------------------------------------- */

static kiln_status infer_slide(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    (void)count;
    results->rank = 1;
    return kiln__slide_infer(op->function != 0, operands[0], operands[1], data[0], &results->dtype,
                             results->shape, err);
}

static kiln_status run_slide(const operation *op, const kiln_array *const *operands, size_t count,
                             const int64_t *data, kiln_stream *stream, kiln_array **outs,
                             kiln_error *err)
{
    (void)count;
    return kiln__slide_into(op->function != 0, operands[0], operands[1], data[0], stream, outs[0],
                            err);
}

/* ---- what values must be ----------------------------------------------------------------------------- */

static kiln_status infer_need(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    const kiln_array *x = operands[1];

    (void)op, (void)count, (void)data;
    give_like(x, results);
    return kiln__need_infer(operands, err);
}

static kiln_status run_need(const operation *op, const kiln_array *const *operands, size_t count,
                            const int64_t *data, kiln_stream *stream, kiln_array **outs,
                            kiln_error *err)
{
    (void)op, (void)count, (void)data;
    return kiln__need_run(operands, stream, outs[0], err);
}

/* ---- padding by what an array holds ---------------------------------------------------------------- */

static kiln_status infer_pad(const operation *op, const kiln_array *const *operands, size_t count,
                             const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    (void)op, (void)count;
    results->dtype = operands[0]->dtype;
    results->rank = operands[0]->rank;
    return kiln__pad_infer(operands[0], operands[1], data, results->shape, err);
}

static kiln_status run_pad(const operation *op, const kiln_array *const *operands, size_t count,
                           const int64_t *data, kiln_stream *stream, kiln_array **outs,
                           kiln_error *err)
{
    (void)op, (void)count;
    return kiln__pad_run(operands[0], operands[1], data, stream, outs[0], err);
}

/* ---- random order ---------------------------------------------------------------------------------- */

static kiln_status infer_shuffle(const operation *op, const kiln_array *const *operands,
                                 size_t count, const int64_t *data, kiln__linalg_value *results,
                                 kiln_error *err)
{
    const kiln_array *x = operands[1];

    (void)op, (void)count, (void)data;
    give_like(x, results);
    return kiln__shuffle_infer(operands[0], x, err);
}

static kiln_status run_shuffle(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln_stream *stream, kiln_array **outs,
                               kiln_error *err)
{
    (void)op, (void)count, (void)data;
    return kiln__shuffle_into(operands[0], operands[1], stream, outs[0], err);
}

/* ---- values where a mask is true ------------------------------------------------------------------- */

static kiln_status infer_place(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    const kiln_array *x = operands[0];

    (void)op, (void)count, (void)data;
    give_like(x, results);
    return kiln__place_infer(operands, err);
}

static kiln_status run_place(const operation *op, const kiln_array *const *operands, size_t count,
                             const int64_t *data, kiln_stream *stream, kiln_array **outs,
                             kiln_error *err)
{
    (void)op, (void)count, (void)data;
    return kiln__place_into(operands, stream, outs[0], err);
}

/* ---- distinct elements, and parts along an axis ---------------------------------------------------- */

static kiln_status infer_unique(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln__linalg_value *results,
                                kiln_error *err)
{
    const kiln_array *x = operands[0];
    int64_t n = 0;
    int axis = -1;

    (void)op, (void)count;
    KILN_CHECK(kiln__unique_infer(x, data, &axis, &n, err));
    for (int k = 0; k < KILN__OPAQUE_RESULTS; k++) {
        const bool wanted = k == KILN__UNIQUE_INVERSE  ? (data[1] & KILN__UNIQUE_WANTS_INVERSE) != 0
                            : k == KILN__UNIQUE_COUNTS ? (data[1] & KILN__UNIQUE_WANTS_COUNTS) != 0
                                                       : true;
        results[k].dtype = KILN_INT64;
        results[k].rank = k > KILN__UNIQUE_COUNT;
        results[k].shape[0] = wanted ? n : 0;
    }
    if (axis >= 0 || (data[1] & KILN__UNIQUE_WANTS_INVERSE) == 0)
        return KILN_OK;
    results[KILN__UNIQUE_INVERSE].rank = x->rank;
    memcpy(results[KILN__UNIQUE_INVERSE].shape, x->shape, (size_t)x->rank * sizeof *x->shape);
    return KILN_OK;
}

static kiln_status run_unique(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    (void)op, (void)count;
    return kiln__unique_into(operands[0], data, stream, outs, err);
}

/* ---- diagonals ------------------------------------------------------------------------------------- */

static kiln_status infer_diagonal(const operation *op, const kiln_array *const *operands,
                                  size_t count, const int64_t *data, kiln__linalg_value *results,
                                  kiln_error *err)
{
    (void)op, (void)count;
    results->dtype = operands[0]->dtype;
    return kiln__diagonal_infer(operands[0], data[0], &results->rank, results->shape, err);
}

static kiln_status run_diagonal(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln_stream *stream,
                                kiln_array **outs, kiln_error *err)
{
    (void)op, (void)count;
    return kiln__diagonal_run(operands[0], data[0], stream, outs[0], err);
}

/* ---- long lists of numbers ------------------------------------------------------------------------- */

static kiln_status infer_values(const operation *op, const kiln_array *const *operands, size_t count,
                                const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    (void)op, (void)operands, (void)count, (void)err;
    results->dtype = (kiln_dtype)data[KILN__VALUES_DTYPE];
    results->rank = 1;
    results->shape[0] = data[KILN__VALUES_COUNT];
    return KILN_OK;
}

static kiln_status run_values(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    (void)op, (void)operands, (void)count;
    return kiln__values_run(data, stream, outs[0], err);
}

/* ---- orders by several keys ------------------------------------------------------------------------ */

static kiln_status infer_lexsort(const operation *op, const kiln_array *const *operands,
                                 size_t count, const int64_t *data, kiln__linalg_value *results,
                                 kiln_error *err)
{
    const kiln__lexsort_data how = {data[0], data[1]};

    (void)op;
    results->dtype = KILN_INT64;
    return kiln__lexsort_infer(operands, count, &how, &results->rank, results->shape, err);
}

static kiln_status run_lexsort(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln_stream *stream, kiln_array **outs,
                               kiln_error *err)
{
    const kiln__lexsort_data how = {data[0], data[1]};

    (void)op;
    return kiln__lexsort_into(operands, count, &how, stream, outs[0], err);
}

/* ---- orders by a rule of the program's own --------------------------------------------------------- */

/* The axis of a rule's text, below; KILN__ORDER_ALL: all elements. */
static int axis_of_rule(const int64_t *data)
{
    const char digits[4] = {((const char *)data)[4], ((const char *)data)[5],
                            ((const char *)data)[6]};

    return (int)strtol(digits, NULL, 10);
}

static kiln_status infer_order_by(const operation *op, const kiln_array *const *operands,
                                  size_t count, const int64_t *data, kiln__linalg_value *results,
                                  kiln_error *err)
{
    const kiln_array *x = operands[0];
    const int axis = axis_of_rule(data);

    (void)op;
    results->dtype = KILN_INT64;
    results->rank = axis == KILN__ORDER_ALL ? 1 : x->rank;
    memcpy(results->shape, x->shape, (size_t)x->rank * sizeof *x->shape);
    if (axis == KILN__ORDER_ALL)
        results->shape[0] = x->size;
    else if (axis < -x->rank || axis >= x->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "sort: axis %d is out of range for rank %d", axis,
                          x->rank);
    for (size_t k = 1; k < count; k++)
        if (operands[k]->rank != x->rank ||
            memcmp(operands[k]->shape, x->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "sort: arrays have one shape; that of array %zu is another", k + 1);
    return KILN_OK;
}

/* The text: "l" or "k", for less and key, or "e" for less of elements of one array; "d" for a descending order; two digits, the dtype of keys; the axis with its sign, in
 * three; the arrays' names; a line feed; the rule. */
static kiln_status run_order_by(const operation *op, const kiln_array *const *operands,
                                size_t count, const int64_t *data, kiln_stream *stream,
                                kiln_array **outs, kiln_error *err)
{
    char text[KILN__OPAQUE_DATA_MAX * sizeof *data];
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;
    kiln_array *order = NULL;
    kiln_status status = KILN_OK;

    (void)op;
    snprintf(text, sizeof text, "%s", (const char *)data);
    char *said = strchr(text, '\n');
    *said++ = '\0';
    o.stream = stream;
    o.descending = text[1] == 'd';
    rule.key_dtype = (kiln_dtype)((text[2] - '0') * 10 + (text[3] - '0'));
    *(text[0] == 'k' ? &rule.key : &rule.less) = said;
    const kiln_axes axes = {1, {axis_of_rule(data)}};
    o.axes = axes.axis[0] == KILN__ORDER_ALL ? NULL : &axes;
    KILN_TRY(kiln__sort_by(text + 7, text[0] == 'e', operands, count, &rule, &o, NULL, &order, err));
    KILN_TRY(kiln__array_assign_on(outs[0], order, stream, err));

done:
    kiln_array_release(order);
    return status;
}

/* ---- running values -------------------------------------------------------------------------------- */

static kiln_status infer_scan(const operation *op, const kiln_array *const *operands, size_t count,
                              const int64_t *data, kiln__linalg_value *results, kiln_error *err)
{
    (void)count;
    return kiln__scan_infer((kiln_scan_op)op->function, operands[0], data[0], &results->dtype,
                            &results->rank, results->shape, err);
}

static kiln_status run_scan(const operation *op, const kiln_array *const *operands, size_t count,
                            const int64_t *data, kiln_stream *stream, kiln_array **outs,
                            kiln_error *err)
{
    (void)count;
    return kiln__scan_into((kiln_scan_op)op->function, operands[0], data[0], stream, outs, err);
}

static kiln_status define_scan(const operation *op, const int64_t *data, kiln__step *call,
                               kiln__definition **out, kiln_error *err)
{
    const bool all = data[0] == KILN__SCAN_ALL;

    call->kind = all ? KILN__STEP_CUSTOM : KILN__STEP_CUSTOM_REDUCE;
    call->axes = (kiln_axes){.count = 1, .axis = {all ? 0 : (int)data[0]}};
    return kiln__named_scan((kiln_scan_op)op->function, call->params[0].dtype, out, err);
}

/* ---- sorting --------------------------------------------------------------------------------------- */

static kiln_status infer_sorting(const operation *op, const kiln_array *const *operands,
                                 size_t count, const int64_t *data, kiln__linalg_value *results,
                                 kiln_error *err)
{
    kiln__sorting_value values[2];

    (void)count;
    KILN_CHECK(
        kiln__sorting_infer((kiln__sorting_function)op->function, operands, data, values, err));
    for (int k = 0; k < op->plan.result_count; k++) {
        results[k].dtype = values[k].dtype;
        results[k].rank = values[k].rank;
        memcpy(results[k].shape, values[k].shape, sizeof values[k].shape);
    }
    return KILN_OK;
}

static kiln_status run_sorting(const operation *op, const kiln_array *const *operands, size_t count,
                               const int64_t *data, kiln_stream *stream, kiln_array **outs,
                               kiln_error *err)
{
    (void)count;
    return kiln__sorting_run((kiln__sorting_function)op->function, operands, data, stream, outs,
                             err);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static kiln_status infer(const kiln__opaque *o, const kiln__opaque_value *values, size_t count,
                         const int64_t *data, kiln__opaque_value *results, kiln_error *err);

#define TENSOR(function, arity, given)                                                             \
    {{.name = #function,                                                                           \
      .operand_count = arity,                                                                      \
      .result_count = 1,                                                                           \
      .data = KILN__OPAQUE_##given,                                                                \
      .why = "made of matrix products and kernels",                                                \
      .infer = infer},                                                                             \
     infer_tensor,                                                                                 \
     run_tensor,                                                                                   \
     NULL,                                                                                         \
     KILN__TENSOR_##function},
#define LINALG(function, arity, made)                                                              \
    {{.name = #function,                                                                           \
      .operand_count = arity,                                                                      \
      .result_count = made,                                                                        \
      .why = "a factorisation, by a library or by kernels of kiln's own",                          \
      .infer = infer},                                                                             \
     infer_linalg,                                                                                 \
     run_linalg,                                                                                   \
     NULL,                                                                                         \
     KILN__LINALG_##function},
#define CHOOSE(function, arity, what)                                                              \
    {{.name = function,                                                                            \
      .operand_count = arity,                                                                      \
      .result_count = 2,                                                                           \
      .why = "elements put next to each other, in one pass",                                       \
      .infer = infer},                                                                             \
     infer_chosen,                                                                                 \
     run_chosen,                                                                                   \
     NULL,                                                                                         \
     KILN__CHOOSE_##what},
#define SORTING(function, arity, made, given, first)                                               \
    {{.name = #function,                                                                           \
      .operand_count = arity,                                                                      \
      .result_count = made,                                                                        \
      .data = KILN__OPAQUE_NUMBERS,                                                                \
      .why = "rows in order, by kernels of kiln's own",                                            \
      .infer = infer,                                                                              \
      .topk = KILN__SORTING_##function == KILN__SORTING_topk,                                      \
      .takes_axis = (arity) == 1,                                                                  \
      .axis = first,                                                                               \
      .numbers = given},                                                                           \
     infer_sorting,                                                                                \
     run_sorting,                                                                                  \
     NULL,                                                                                         \
     KILN__SORTING_##function},
#define SCAN(NAME, value, text, doc)                                                               \
    {{.name = text,                                                                                \
      .operand_count = 1,                                                                          \
      .result_count = 1,                                                                           \
      .data = KILN__OPAQUE_NUMBERS,                                                                \
      .why = "running values, by a kernel that reads and writes once",                             \
      .infer = infer,                                                                              \
      .takes_axis = true,                                                                          \
      .axis = KILN__SCAN_ALL,                                                                      \
      .numbers = ""},                                                                              \
     infer_scan,                                                                                   \
     run_scan,                                                                                     \
     define_scan,                                                                                  \
     value},
#define SCATTER(function)                                                                          \
    {{.name = function,                                                                            \
      .result_count = 1,                                                                           \
      .data = KILN__OPAQUE_SUBSCRIPTS,                                                             \
      .why = "a copy whose elements at indices are changed",                                       \
      .infer = infer},                                                                             \
     infer_scatter,                                                                                \
     run_scatter,                                                                                  \
     NULL,                                                                                         \
     0},
#define PLAIN(function, arity, given, what, reason)                                                \
    SEVERAL(function, arity, 1, given, what, 0, reason)
#define SEVERAL(function, arity, made, given, what, number, reason)                                \
    {{.name = function,                                                                            \
      .operand_count = arity,                                                                      \
      .result_count = made,                                                                        \
      .data = KILN__OPAQUE_##given,                                                                \
      .why = reason,                                                                               \
      .infer = infer},                                                                             \
     infer_##what,                                                                                 \
     run_##what,                                                                                   \
     NULL,                                                                                         \
     number},
#define NORM(function, conditions)                                                                 \
    SEVERAL(function, 1, 1, NONE, norm, conditions, "a norm, of reductions and singular values")
#define SLIDE(function, correlates)                                                                \
    SEVERAL(function, 2, 1, NUMBER, slide, correlates,                                             \
            "sums over a window, by a kernel of kiln's own")
static const operation operations[] = {
    PLAIN("shuffle", 2, NONE, shuffle, "elements in random order, by a kernel of kiln's own")
    PLAIN("_place", 3, NONE, place, "a copy with values where a mask is true")
    PLAIN("_need", 4, NONE, need, "values that the function does not take are reported")
    PLAIN("_pad", 2, SUBSCRIPTS, pad, "padding by what the array holds, along all its axes")
    PLAIN("_values", 0, SUBSCRIPTS, values, "numbers of the text, which its kernel takes as arguments")
    PLAIN("_diag", 1, NUMBER, diagonal, "a diagonal, or a matrix of one, copied")
    PLAIN("lexsort", 0, SUBSCRIPTS, lexsort, "an order by several keys, by kernels of kiln's own")
    PLAIN("_order_by", 0, TEXT, order_by,
          "an order by a rule of the program's own, by kernels of kiln's own")
    PLAIN("_histogram", 0, LIST, histogram, "elements counted by bins, by kernels of kiln's own")
    SEVERAL("_unique", 1, KILN__OPAQUE_RESULTS, SUBSCRIPTS, unique, 0,
            "elements or parts in order, and where each stands first, by kernels of kiln's own")
    SEVERAL("_partition_copy", 2, 4, NONE, chosen, KILN__CHOOSE_BOTH,
            "the elements that a mask chooses and all others, by one kernel")
    NORM("_norm", 0)
                        NORM("_cond", 1) KILN_SCAN_MAP(SCAN) SLIDE("_convolve", 0) SLIDE(
                            "_correlate", 1) SCATTER("scatter") KILN__SORTING_FUNCTIONS(SORTING)
                            CHOOSE("compress", 2, MASKED) CHOOSE("flatnonzero", 1, FLAT)
                                CHOOSE("nonzero", 1, ONE_AXIS) CHOOSE("argwhere", 1, ROWS){
                                    {.name = "matmul",
                                     .operand_count = 2,
                                     .result_count = 1,
                                     .why = "a matrix product, by a library where there is one",
                                     .infer = infer,
                                     .copy_bytes = sizeof(operation)},
                                    infer_matmul,
                                    run_matmul,
                                    NULL,
                                    0},
    KILN__TENSOR_FUNCTIONS(TENSOR) KILN__LINALG_FUNCTIONS(LINALG)};

const kiln__opaque *kiln__opaque_named(const char *name, size_t bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(operations); k++)
        if (kiln__same_word(name, bytes, operations[k].plan.name))
            return &operations[k].plan;
    return NULL;
}

/* Bytes of the header of an array that was never made, of any rank. */
enum { HEADER_BYTES = sizeof(kiln_array) + 2 * KILN_RANK_MAX * sizeof(int64_t) };

static kiln_status infer(const kiln__opaque *o, const kiln__opaque_value *values, size_t count,
                         const int64_t *data, kiln__opaque_value *results, kiln_error *err)
{
    const operation *op = (const operation *)(const void *)o;
    _Alignas(16) unsigned char headers[KILN__OPAQUE_OPERANDS][(HEADER_BYTES + 15) / 16 * 16];
    const kiln_array *operands[KILN__OPAQUE_OPERANDS];
    kiln__linalg_value made[KILN__OPAQUE_RESULTS];
    int64_t strides[KILN_RANK_MAX];

    memset(headers, 0, sizeof headers);
    memset(made, 0, sizeof made);
    memset(results, 0, KILN__OPAQUE_RESULTS * sizeof *results);
    for (size_t k = 0; k < count; k++) {
        const kiln__opaque_value *v = &values[k];
        kiln__strides_ordered(v->rank, v->shape, NULL, kiln_dtype_size(v->dtype), strides);
        kiln_array *header = (kiln_array *)(void *)headers[k];
        kiln__array_header(header, NULL, v->dtype, v->rank, v->shape, strides);
        operands[k] = header;
    }
    KILN_CHECK(op->infer(op, operands, count, data, made, err));
    for (int k = 0; k < o->result_count; k++) {
        results[k].dtype = made[k].dtype;
        results[k].rank = made[k].rank;
        memcpy(results[k].shape, made[k].shape, sizeof results[k].shape);
    }
    return KILN_OK;
}

/* ---- ahead of a run ------------------------------------------------------------------------------ */

kiln_status kiln__opaque_kernel(const kiln__step *step, kiln__step *call, kiln__definition **out,
                                kiln_error *err)
{
    const operation *op = step->kernel;

    *out = NULL;
    *call = *step;
    return op->define != NULL ? op->define(op, step->data, call, out, err) : KILN_OK;
}

/* ---- a step -------------------------------------------------------------------------------------- */

enum { VALUES = KILN__OPAQUE_OPERANDS + KILN__OPAQUE_RESULTS };

static void release(kiln_array **views)
{
    for (size_t p = 0; p < VALUES; p++)
        kiln_array_release(views[p]);
}

/* Views of a step's values, all NULL before; the caller releases them, after a failure too. */
static kiln_status make_views(const kiln__step *step, kiln_array *const *values, kiln_array **views,
                              kiln_error *err)
{
    for (size_t p = 0; p < step->param_count; p++) {
        const kiln__step_param *param = &step->params[p];
        KILN_CHECK(kiln__array_view(values[p], param->rank, param->shape, param->strides,
                                    (char *)values[p]->data + param->offset, &views[p], err));
    }
    return KILN_OK;
}

kiln_status kiln__opaque_run(const kiln__step *step, kiln_array *const *values, kiln_stream *stream,
                             kiln_error *err)
{
    const operation *op = step->kernel;
    const int before = kiln__report_column(step->column);
    kiln_array *views[VALUES] = {NULL};
    kiln_status status = make_views(step, values, views, err);

    if (status == KILN_OK)
        status = op->run(op, (const kiln_array *const *)views, step->input_count, step->data,
                         stream, views + step->input_count, err);
    (void)kiln__report_column(before);
    release(views);
    return status;
}

/* ---- a prepared step ------------------------------------------------------------------------------ */

/* Everything that a call needs, kept for as long as the launch. */
typedef struct prepared {
    operation op; /* a copy: the plan may be gone before the launch is */
    size_t input_count;
    int column;
    kiln_array *views[VALUES];
    int64_t data[];
} prepared;

static kiln_status run_prepared(void *state, kiln_stream *stream, kiln_error *err)
{
    prepared *p = state;
    const int before = kiln__report_column(p->column);
    const kiln_status status =
        p->op.run(&p->op, (const kiln_array *const *)p->views, p->input_count, p->data, stream,
                  p->views + p->input_count, err);

    (void)kiln__report_column(before);
    return kiln__fail_in_column(err, status, p->column);
}

static void destroy_prepared(void *state)
{
    release(((prepared *)state)->views);
    kiln__free(state);
}

kiln_status kiln__opaque_prepare(kiln_context *ctx, const kiln__step *step,
                                 kiln_array *const *values, kiln_stream *stream, kiln_launch **out,
                                 kiln_error *err)
{
    const size_t data_bytes = step->data_count * sizeof *step->data;
    kiln__launch_task task = {.run = run_prepared, .destroy = destroy_prepared};
    prepared *state = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__make_zeroed(&state, 1, sizeof *state + data_bytes, err));
    state->op = *(const operation *)step->kernel;
    state->input_count = step->input_count;
    state->column = step->column;
    if (data_bytes > 0)
        memcpy(state->data, step->data, data_bytes);
    KILN_TRY(make_views(step, values, state->views, err));
    task.state = state;
    task.arrays = state->views;
    task.array_count = step->param_count;
    KILN_TRY(kiln__launch_custom(ctx, stream, &task, out, err));
    state = NULL;

done:
    if (state != NULL)
        destroy_prepared(state);
    return status;
}
