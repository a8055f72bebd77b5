/*
 * consumer.c - the least a user of kiln writes; test_install.cmake builds it outside of our tree
 * and runs it on the cpu device.
 */
#include <kiln/kiln.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    const float values[4] = {1, 2, 3, 4};
    const int64_t shape[1] = {4};
    float doubled[4] = {0};
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;

    opts.device = "cpu";
    bool ok =
        strcmp(kiln_version(), KILN_VERSION_STRING) == 0 &&
        kiln_context_create(&opts, &ctx, &err) == KILN_OK &&
        kiln_array_from_host(ctx, KILN_FLOAT32, 1, shape, values, NULL, &x, &err) == KILN_OK &&
        kiln_elementwise_create(ctx, "T x", "T z", "z = x + x", NULL, &op, &err) == KILN_OK &&
        kiln_call(op, &err, x, &z) == KILN_OK &&
        kiln_array_to_host(z, doubled, sizeof doubled, NULL, &err) == KILN_OK;
    for (int k = 0; k < 4; k++)
        ok = ok && doubled[k] == 2.0f * values[k];
    kiln_error_print(&err, stderr);
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    puts(ok ? "consumer: ok" : "consumer: failed");
    return ok ? 0 : 1;
}
