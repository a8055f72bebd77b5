/* bootstrap.c - how far a mean may be off: means of 20000 samples drawn anew from a sample, and their quantiles. */
#include <kiln/kiln.h>

int main(void)
{
    static const double waited[] = {0.4, 1.9, 0.3, 7.2, 1.1, 0.8, 3.4, 0.2, 2.6, 1.5,
                                    0.9, 5.1, 0.6, 1.3, 2.2, 0.7, 4.0, 1.0, 0.5, 3.1};
    static const char *const names[] = {"x", "key"};
    /* Indices are drawn, elements taken and means made by one kernel, which stores the means alone. */
    static const char *const text = "m = mean(x[integers(key, (20000, 20), 0, 20)], axis=1);"
                                    "mean(x), quantile(m, 0.025), quantile(m, 0.975)";
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_graph *graph = NULL;
    kiln_array *x = NULL, *made[3] = {NULL};
    double value[3];

    bool ok = kiln_context_create(NULL, &ctx, &err) == KILN_OK &&
              kiln_array_from_host(ctx, KILN_FLOAT64, 1, (int64_t[]){20}, waited, NULL, &x, &err) ==
                  KILN_OK &&
              kiln_graph_parse(ctx, text, names, 2, NULL, &graph, NULL, &err) == KILN_OK &&
              kiln_call(graph, &err, x, 2026, &made[0], &made[1], &made[2]) == KILN_OK;
    for (int k = 0; ok && k < 3; k++)
        ok = kiln_array_to_host(made[k], &value[k], sizeof value[k], NULL, &err) == KILN_OK;
    if (ok) /* waited 1.94 minutes; of 100 such samples 95 say between 1.22 and 2.78 */
        printf("waited %.2f minutes; of 100 such samples 95 say between %.2f and %.2f\n", value[0],
               value[1], value[2]);
    kiln_error_print(&err, stderr);
    for (int k = 0; k < 3; k++)
        kiln_array_release(made[k]);
    kiln_array_release(x);
    kiln_graph_destroy(graph);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
