/**
 * @file kiln/expression.h
 * @brief Graphs from text: the expressions that NumPy users write.
 *
 *     const char *text = "sum(sqrt(x*x + y*y) * exp(-x), axis=1)";
 *     const char *const names[] = {"x", "y"};
 *     kiln_graph *g = NULL;
 *     kiln_array *z = NULL;
 *     kiln_graph_parse(ctx, text, names, 2, NULL, &g, NULL, &err);
 *     kiln_call(g, &err, x, y, &z);
 *     kiln_array_release(z);
 *     kiln_graph_destroy(g);
 *
 * docs/expressions.md has the language. A graph made of text is a graph as any other: see
 * kiln/graph.h for calling, explaining and destroying it.
 */
#ifndef KILN_EXPRESSION_H
#define KILN_EXPRESSION_H

#include "kiln/graph.h"

KILN_EXTERN_C_BEGIN

/**
 * Parse `text` into a new, compiled graph.
 *
 * @param names       What the expression may use, and the graph's inputs in this order; one that it
 *                    does not use must still be given when the graph is called. "bool m" says that
 *                    m is an array of bool, so that x[m] chooses elements. Copied.
 * @param name_count  May be 0.
 * @param opts        May be NULL.
 * @param out         The graph; NULL after any failure.
 * @param results_out May be NULL; else receives the number of results, the graph's outputs. A
 *                    result whose length only the device knows counts as two; see
 *                    kiln_graph_result_is_counted().
 * @return ERR_SYNTAX, ERR_NAME (a name that is unknown, or no identifier), ERR_ARGUMENT (what
 *         parses but cannot be, such as a constant result), ERR_NULL, ERR_NO_MEMORY, and those of
 *         kiln_graph_compile(). The error's detail shows the expression with a caret. Failures of
 *         later calls name places as "expression, column 12": the 12th byte.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_parse(kiln_context *ctx, const char *text,
                                                     const char *const *names, size_t name_count,
                                                     const kiln_graph_options *opts,
                                                     kiln_graph **out, size_t *results_out,
                                                     kiln_error *err);

/**
 * Whether output number `result` of such a graph is an array with room for all elements, of which
 * only the first ones are the result, and the next output is their number: x[x > 0],
 * flatnonzero(x). kiln_array_first() takes both. False for NULL and for all other outputs.
 */
KILN_API bool kiln_graph_result_is_counted(const kiln_graph *graph, size_t result);

/** The axis along which only the first elements of such an output are the result, as the text has
 *  it: 0, or that of unique(x, axis=-1). 0 for all other outputs. */
KILN_API int kiln_graph_result_axis(const kiln_graph *graph, size_t result);

KILN_EXTERN_C_END

#endif
