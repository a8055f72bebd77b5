/*
 * test_row_norms.c - the functions that row programs are for, over rows of every length class.
 *
 * Expected values are float64 loops over the same inputs (oracle/rows.c).
 */
#include "oracle/rows.h"

#include <stdio.h>
#include <string.h>

/* Rows of `length` elements, C-order; weights per column where the definition has them. */
static void check_rows(test_env *t, kiln_row *op, row_kind kind, kiln_dtype dtype, int64_t rows,
                       int64_t length)
{
    const row_definition *d = &row_definitions[kind];
    const int64_t shape[2] = {rows, length};
    const double tolerance = row_tolerance(dtype);
    host_array in[3], out, *inputs[3];
    kiln_arg args[4];
    char what[120];

    for (size_t p = 0; p < d->input_count; p++) {
        const bool column = p > 0 && kind != ROW_COSINE;
        host_make(t, &in[p], dtype, column ? 1 : 2, column ? &shape[1] : shape, NULL);
        host_fill_random(t, &in[p]);
        host_send(t, &in[p]);
        inputs[p] = &in[p];
        args[p] = kiln_arg_array(in[p].array);
    }
    host_make(t, &out, d->row_out != NULL ? KILN_FLOAT64 : dtype, d->row_out != NULL ? 1 : 2, shape,
              NULL);
    args[d->input_count] = kiln_arg_array(out.array);
    snprintf(what, sizeof what, "%s of %s, %lld x %lld", d->name, kiln_dtype_name(dtype),
             (long long)rows, (long long)length);
    OK(t, row_run(op, 2u, false, args, d->input_count + 1, &t->err));
    host_rows(kind, inputs, d->row_out != NULL ? NULL : &out, d->row_out != NULL ? &out : NULL, 2,
              shape, 2u);
    host_close(t, &out, d->row_out != NULL ? 1e-5 : tolerance, tolerance, what);
    for (size_t p = 0; p < d->input_count; p++)
        host_free(&in[p]);
    host_free(&out);
}

static void test_row_norms__softmax_of_every_short_length(void **state)
{
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    for (int64_t length = 1; length <= 70; length++)
        check_rows(t, op, ROW_SOFTMAX, KILN_FLOAT32, 3 + length % 5, length);
    kiln_row_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_row_norms__softmax_of_every_short_length),
    };
    return test_env_main(argc, argv, "test_row_norms", tests, COUNT(tests));
}
