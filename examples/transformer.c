/* transformer.c - one block of a transformer, written as NumPy writes it: attention of four heads and two layers. */
#include <kiln/kiln.h>
#include <math.h>

enum { TOKENS = 8, WIDTH = 32, HIDDEN = 64, WEIGHTS = 9 };

/* In this order they are the inputs of the expression. */
static const struct {
    const char *name;
    int64_t rows, columns; /* 0 rows: a vector */
    double scale;
} weights[WEIGHTS] = {
    {"x", TOKENS, WIDTH, 1},   {"wq", WIDTH, WIDTH, 0.2},  {"wk", WIDTH, WIDTH, 0.2},
    {"wv", WIDTH, WIDTH, 0.2}, {"wo", WIDTH, WIDTH, 0.2},  {"w1", WIDTH, HIDDEN, 0.2},
    {"b1", 0, HIDDEN, 0.1},    {"w2", HIDDEN, WIDTH, 0.2}, {"b2", 0, WIDTH, 0.1},
};

static const char block[] =
    "d = x - mean(x, axis=-1, keepdims=True);"
    "n = d / sqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5);"
    "q = transpose(reshape(n @ wq, (8, 4, 8)), (1, 0, 2));"
    "k = transpose(reshape(n @ wk, (8, 4, 8)), (1, 2, 0));"
    "v = transpose(reshape(n @ wv, (8, 4, 8)), (1, 0, 2));"
    "s = q @ k / sqrt(8);"
    "s = where(iota(s, -1) <= iota(s, -2), s, -inf);" /* no token sees a later one */
    "e = exp(s - max(s, axis=-1, keepdims=True));"
    "a = (e / sum(e, axis=-1, keepdims=True)) @ v;"
    "h = x + reshape(transpose(a, (1, 0, 2)), (8, 32)) @ wo;"
    "d2 = h - mean(h, axis=-1, keepdims=True);"
    "m = d2 / sqrt(mean(d2 * d2, axis=-1, keepdims=True) + 1e-5);"
    "z = m @ w1 + b1;"
    "g = 0.5 * z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z**3)));"
    "h + g @ w2 + b2";

/* The end of the last row: layer_norm(), scaled_dot_product_attention() and gelu(approximate="tanh") of PyTorch
 * give it with the same weights. */
static const float expected[] = {0.482480f, 0.492167f, -0.609306f, -0.335155f,
                                 0.695671f, 0.155889f, -0.735842f, 0.033730f};
enum { SHOWN = sizeof expected / sizeof expected[0] };

static kiln_status make_weight(kiln_context *ctx, int nth, kiln_array **out, kiln_error *err)
{
    const int64_t rows = weights[nth].rows, columns = weights[nth].columns;
    const int64_t shape[] = {rows, columns};
    float numbers[HIDDEN * WIDTH];

    for (int64_t k = 0; k < (rows > 0 ? rows : 1) * columns; k++)
        numbers[k] = (float)(sin(1.7 * (double)k + 0.9 * nth) * weights[nth].scale);
    return kiln_array_from_host(ctx, KILN_FLOAT32, rows > 0 ? 2 : 1, rows > 0 ? shape : shape + 1,
                                numbers, NULL, out, err);
}

static double furthest(const float *got)
{
    double worst = 0;

    for (int k = 0; k < SHOWN; k++) {
        const double far = fabs((double)got[TOKENS * WIDTH - SHOWN + k] - (double)expected[k]);
        printf(" %9.6f", (double)got[TOKENS * WIDTH - SHOWN + k]);
        worst = far > worst || isnan(far) ? far : worst;
    }
    printf("\nfurthest from PyTorch: %.1e\n", worst);
    return worst;
}

int main(void)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_graph *graph = NULL;
    kiln_array *arrays[WEIGHTS + 1] = {NULL};
    const char *names[WEIGHTS];
    kiln_arg args[WEIGHTS + 1];
    float got[TOKENS * WIDTH];

    bool ok = kiln_context_create(NULL, &ctx, &err) == KILN_OK;
    for (int k = 0; k < WEIGHTS && ok; k++) {
        ok = make_weight(ctx, k, &arrays[k], &err) == KILN_OK;
        names[k] = weights[k].name;
        args[k] = kiln_arg_array(arrays[k]);
    }
    args[WEIGHTS] = kiln_arg_out(&arrays[WEIGHTS]);
    ok = ok && kiln_graph_parse(ctx, block, names, WEIGHTS, NULL, &graph, NULL, &err) == KILN_OK &&
         kiln_graph_run(graph, args, WEIGHTS + 1, NULL, &err) == KILN_OK &&
         kiln_array_to_host(arrays[WEIGHTS], got, sizeof got, NULL, &err) == KILN_OK &&
         furthest(got) < 1e-5;
    kiln_error_print(&err, stderr);
    for (int k = 0; k <= WEIGHTS; k++)
        kiln_array_release(arrays[k]);
    kiln_graph_destroy(graph);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
