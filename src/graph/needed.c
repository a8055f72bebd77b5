/*
 * needed.c - requirements of functions on values that only the device knows, as that bins rise.
 *
 *     _need(ok, x, value, what) > a kernel that copies x, and reports where `ok` is false
 *                               > src/device/report.c
 *
 * Texts of written_rows.c call _need(), which opaque.c runs as a step. All operands broadcast to x's
 * shape. `what` numbers a message below, in which "%g" is the value. Nobody waits: like an index
 * out of range, the report reaches whoever waits for the device next.
 *
 * Tests: test_written, test_graph_run.
 */
#include "graph/graph.h"
#include "indexing/indexing.h"

/* The messages stand in the kernel, 79 bytes of each at most; the function's name is before them. */
static const kiln__kept_texts texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_need",
            .in = "bool ok, T x, float64 value, int64 what, int64 column, raw int64 report",
            .out = "T z",
            .snippet = {[KILN__SNIPPET_OP] =
                            "static const char *const said[][2] = {\n"
                            "    {\"choice\", \"the probabilities in p must not be negative and must "
                            "sum to 1; these sum to %g\"},\n"
                            "    {\"histogram\", \"elements must be finite where no edges are "
                            "given; one is %g\"},\n"
                            "    {\"histogram\", \"too many bins for the range of the data: cannot "
                            "create %g "
                            "finite-sized bins\"},\n"
                            "    {\"histogram\", \"edges of bins must increase: edge %g is larger "
                            "than the "
                            "next one\"},\n"
                            "    {\"digitize\", \"edges must only increase or only decrease; edge %g "
                            "and the next one do not\"},\n"
                            "    {\"bincount\", \"elements must not be negative; one is %g\"},\n"
                            "    {\"max\", \"no element is chosen\"},\n"
                            "    {\"min\", \"no element is chosen\"},\n"
                            "    {\"topk\", \"more elements are wanted than there are, which are "
                            "%g\"},\n"
                            "    {\"index\", \"%g is out of range for the elements that there are\"},\n"
                            "    {\"index\", \"masks choose different numbers of elements, one of "
                            "them %g\"},\n"
                            "    {\"quantile\", \"%g is not between 0 and 1\"},\n"
                            "    {\"histogram\", \"the end of the range, %g, is below its begin\"}};\n"
                            "z = x;\n"
                            "if (!ok)\n"
                            "    kiln_at_check(__builtin_bit_cast(long long, value), 0ll, 0ll, "
                            "report.kiln__data, -2, column,\n"
                            "                  said[what][0], said[what][1]);"},
        },
};

kiln_status kiln__need_run(const kiln_array *const *operands, kiln_stream *stream, kiln_array *out,
                           kiln_error *err)
{
    kiln_array *report = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__report_array(out->ctx, &report, err));
    const kiln_arg args[] = {kiln_arg_array(operands[0]),
                             kiln_arg_array(operands[1]),
                             kiln_arg_array(operands[2]),
                             kiln_arg_array(operands[3]),
                             kiln_arg_int(kiln__report_column(-1)),
                             kiln_arg_array(report),
                             kiln_arg_array(out)};
    KILN_TRY(kiln__kept_run(out->ctx, &texts, args, KILN_COUNT_OF(args), stream, err));

done:
    kiln_array_release(report);
    return status;
}

kiln_status kiln__need_infer(const kiln_array *const *operands, kiln_error *err)
{
    static const kiln_dtype wanted[] = {KILN_BOOL, KILN_DTYPE_NONE, KILN_FLOAT64, KILN_INT64};

    for (size_t k = 0; k < KILN_COUNT_OF(wanted); k++)
        if (wanted[k] != KILN_DTYPE_NONE && operands[k]->dtype != wanted[k])
            return kiln__fail(err, KILN_ERR_INTERNAL, "operand %zu of a need is %s", k + 1,
                              kiln_dtype_name(operands[k]->dtype));
    return KILN_OK;
}
