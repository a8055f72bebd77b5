/*
 * pipeline.c - a recorded graph: scores are scaled, turned into probabilities row by row, and judged
 * by their entropy. Recorded once, run as one kernel; prints what becomes of it.
 */
#include <kiln/kiln.h>

/* probabilities = softmax(scores / temperature); entropy = -sum(p * log(p)) of each row. */
static void record(kiln_graph *g)
{
    kiln_node scores = kiln_graph_input(g, "scores");
    kiln_node temperature = kiln_graph_input(g, "temperature");
    kiln_node scaled = kiln_divide(scores, temperature);
    kiln_node e = kiln_exp(kiln_subtract(scaled, kiln_max_keep(scaled, KILN_AXES(-1))));
    kiln_node p = kiln_divide(e, kiln_sum_keep(e, KILN_AXES(-1)));
    kiln_node surprise = kiln_multiply(p, kiln_log(kiln_maximum(p, 1e-30)));
    kiln_graph_output(g, "p", p);
    kiln_graph_output(g, "entropy", kiln_negative(kiln_sum(surprise, KILN_AXES(-1))));
}

int main(void)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_graph *g = NULL;
    kiln_array *ramp = NULL, *scores = NULL, *p = NULL, *entropy = NULL;
    char *plan = NULL, *text = NULL;
    const int64_t shape[] = {4, 6};

    bool ok = kiln_context_create(NULL, &ctx, &err) == KILN_OK &&
              kiln_array_linspace(ctx, KILN_FLOAT32, -3, 3, 24, &ramp, &err) == KILN_OK &&
              kiln_array_reshape(ramp, 2, shape, &scores, &err) == KILN_OK &&
              kiln_graph_create(ctx, NULL, &g, &err) == KILN_OK;
    if (ok)
        record(g);
    ok = ok && kiln_graph_compile(g, &err) == KILN_OK &&
         kiln_call(g, &err, scores, 0.5, &p, &entropy) == KILN_OK &&
         kiln_graph_explain(g, KILN_ARGS(scores, 0.5, p, entropy), &plan, &err) == KILN_OK &&
         kiln_array_to_string(entropy, &text, &err) == KILN_OK;
    if (ok)
        printf("%sentropy: %s\n", plan, text);
    kiln_error_print(&err, stderr);
    kiln_free(plan), kiln_free(text);
    kiln_array_release(ramp), kiln_array_release(scores);
    kiln_array_release(p), kiln_array_release(entropy);
    kiln_graph_destroy(g);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
