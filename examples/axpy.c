/* axpy.c - the README's example: a kernel from strings, called in one line. */
#include <kiln/kiln.h>

int main(void)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL; /* the best device: a CUDA GPU that works, else the cpu */
    kiln_elementwise *axpy = NULL;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    char *text = NULL;

    bool ok = kiln_context_create(NULL, &ctx, &err) == KILN_OK &&
              kiln_array_arange(ctx, KILN_FLOAT32, 0, 5, 1, &x, &err) == KILN_OK &&
              kiln_array_ones(ctx, KILN_FLOAT32, 1, (int64_t[]){5}, &y, &err) == KILN_OK &&
              kiln_elementwise_create(ctx, "T x, T y, float32 a", "T z", "z = a * x + y", NULL,
                                      &axpy, &err) == KILN_OK &&
              kiln_call(axpy, &err, x, y, 2.5, &z) == KILN_OK &&
              kiln_array_to_string(z, &text, &err) == KILN_OK;
    if (ok)
        puts(text); /* [ 1.   3.5  6.   8.5 11. ] */
    kiln_error_print(&err, stderr);
    kiln_free(text);
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(z);
    kiln_elementwise_destroy(axpy);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
