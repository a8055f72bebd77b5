/*
 * test_copies.c - kernels whose outputs are inputs: rows that begin anywhere in memory, of all sizes of elements, several
 * outputs, also in the memory of the inputs, beside memory that must not change.
 *
 * A plain loop says what is right, and the whole storage is compared, with what lies between the rows.
 */
#define _GNU_SOURCE /* setenv */
#include <stdlib.h>
#include <string.h>

#include "oracle/host.h"

enum { OUTPUTS_MAX = 8, INPUTS_MAX = 2, CASES = 150 };

static int source_of[OUTPUTS_MAX], output_count;

static void copy_all(const host_value *in, host_value *out)
{
    for (int k = 0; k < output_count; k++)
        out[k] = in[source_of[k]];
}

/* Rows of a matrix or of a stack of matrices that begin anywhere, and some of whose axes are turned. */
typedef struct geometry {
    int rank;
    int64_t shape[3], stride[3], start;
    size_t bytes;
} geometry;

static void draw_geometry(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape, geometry *g)
{
    const int64_t item = (int64_t)kiln_dtype_size(dtype);
    const bool whole = test_random_below(t, 4) == 0; /* rows follow each other */
    int64_t step = item;

    *g = (geometry){.rank = rank, .start = item * (int64_t)test_random_below(t, 40)};
    g->bytes = (size_t)(g->start + item * (int64_t)test_random_below(t, 20));
    for (int a = rank; a-- > 0;) {
        g->shape[a] = shape[a];
        g->stride[a] = step;
        step = step * shape[a] + (whole ? 0 : item * (int64_t)test_random_below(t, 9));
        if (test_random_below(t, a == rank - 1 ? 12 : 5) == 0) {
            g->start += (shape[a] - 1) * g->stride[a];
            g->stride[a] = -g->stride[a];
        }
    }
    g->bytes += (size_t)step;
}

static void make(test_env *t, host_array *a, kiln_dtype dtype, const geometry *g)
{
    host_make_strided(t, a, dtype, g->rank, g->shape, g->stride, g->start, g->bytes);
    host_fill_random(t, a);
    host_send(t, a);
}

/* The texts of a kernel of `inputs` inputs. */
static void write_texts(int inputs, char *in, char *out, char *op, size_t room)
{
    size_t i = 0, o = 0, s = 0;

    for (int k = 0; k < inputs; k++)
        i += (size_t)snprintf(in + i, room - i, "%sT x%d", k > 0 ? ", " : "", k);
    for (int k = 0; k < output_count; k++) {
        o += (size_t)snprintf(out + o, room - o, "%sT y%d", k > 0 ? ", " : "", k);
        s += (size_t)snprintf(op + s, room - s, k % 2 == 0 ? "y%d = x%d;\n" : "y%d = T(x%d); ", k, source_of[k]);
    }
}

/* One case: drawn arrays, of which outputs may be inputs. */
static void check_case(test_env *t, int nth)
{
    static const kiln_dtype dtypes[] = {KILN_UINT8, KILN_INT8, KILN_FLOAT16, KILN_INT16, KILN_FLOAT32,
                                        KILN_INT32, KILN_COMPLEX64, KILN_FLOAT64, KILN_COMPLEX128};
    const kiln_dtype dtype = dtypes[test_random_below(t, COUNT(dtypes))];
    const int rank = 1 + (int)test_random_below(t, 3), inputs = 1 + (int)test_random_below(t, INPUTS_MAX);
    const int64_t most[] = {4, 6, 1 + (int64_t)test_random_below(t, 700)};
    int64_t shape[3];
    host_array array[INPUTS_MAX + OUTPUTS_MAX], *all[INPUTS_MAX + OUTPUTS_MAX];
    kiln_arg args[INPUTS_MAX + OUTPUTS_MAX];
    kiln_elementwise *kernel = NULL;
    char in[256], out[256], op[256], what[96];
    geometry g;

    for (int a = 0; a < rank; a++)
        shape[a] = a == rank - 1 ? most[2] : 1 + (int64_t)test_random_below(t, (uint64_t)most[a]);
    output_count = 1 + (int)test_random_below(t, 1 + test_random_below(t, OUTPUTS_MAX));
    for (int k = 0; k < output_count; k++)
        source_of[k] = (int)test_random_below(t, (uint64_t)inputs);
    for (int k = 0; k < inputs + output_count; k++) {
        const int like = k - inputs; /* an output in the place of an input */
        all[k] = &array[k];
        draw_geometry(t, dtype, rank, shape, &g);
        if (k >= inputs && like < inputs && test_random_below(t, 5) == 0)
            host_view(t, all[k], all[like], rank, shape, all[like]->stride, all[like]->start);
        else
            make(t, all[k], dtype, &g);
        args[k] = kiln_arg_array(all[k]->array);
    }
    write_texts(inputs, in, out, op, sizeof in);
    snprintf(what, sizeof what, "case %d: %s, rank %d, %d inputs, %d outputs", nth, kiln_dtype_name(dtype), rank,
             inputs, output_count);
    OK(t, kiln_elementwise_create(t->ctx, in, out, op, NULL, &kernel, &t->err));
    OK(t, kiln_elementwise_run(kernel, args, (size_t)(inputs + output_count), NULL, &t->err));
    host_apply(all, (size_t)inputs, (size_t)output_count, rank, shape, copy_all);
    for (int k = 0; k < inputs + output_count; k++)
        host_compare(t, all[k], 0, what);
    kiln_elementwise_destroy(kernel);
    for (int k = inputs + output_count; k-- > 0;)
        host_free(all[k]);
}

static void test_copies__are_the_inputs_wherever_rows_begin(void **state)
{
    const int cases = test_rounds(*state, CASES); /* each is a kernel */

    for (int k = 0; k < cases; k++)
        check_case(*state, k);
}

/* Two rows change places, through one kernel. */
static void test_copies__arrays_change_places(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3, 333};
    static const host_layout layout[] = {{.offset = 1}, {.offset = 2}};
    host_array x[2], *all[4];
    kiln_elementwise *kernel = NULL;

    output_count = 2;
    source_of[0] = 1, source_of[1] = 0;
    for (int k = 0; k < 4; k++) {
        if (k < 2)
            host_make(t, &x[k], KILN_INT16, 2, shape, &layout[k]);
        all[k] = &x[k % 2];
    }
    OK(t, kiln_elementwise_create(t->ctx, "T x0, T x1", "T y0, T y1", "y0 = x1; y1 = x0", NULL, &kernel, &t->err));
    OK(t, kiln_call(kernel, &t->err, x[0].array, x[1].array, x[0].array, x[1].array));
    host_apply(all, 2, 2, 2, shape, copy_all);
    host_compare(t, &x[0], 0, "the first");
    host_compare(t, &x[1], 0, "the second");
    kiln_elementwise_destroy(kernel);
    host_free(&x[0]);
    host_free(&x[1]);
}

/* A contiguous assignment to a place that no access of 16 bytes reaches. */
static void test_copies__of_long_arrays_to_odd_places(void **state)
{
    test_env *t = *state;
    static const int64_t shape[] = {5 << 20};
    static const host_layout odd = {.offset = 3};
    host_array x, y, *all[] = {&x, &y};

    host_make(t, &x, KILN_UINT8, 1, shape, NULL);
    host_make(t, &y, KILN_UINT8, 1, shape, &odd);
    host_fill_random(t, &x);
    host_send(t, &x);
    output_count = 1, source_of[0] = 0;
    OK(t, kiln_array_assign(y.array, x.array, &t->err));
    host_apply(all, 1, 1, 1, shape, copy_all);
    host_compare(t, &y, 0, "assigned");
    host_free(&x);
    host_free(&y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_copies__are_the_inputs_wherever_rows_begin),
        TEST(test_copies__arrays_change_places),
        TEST(test_copies__of_long_arrays_to_odd_places),
    };

    setenv("KILN_TUNE_WORDS", "1", 1); /* rows that are copied by words have hundreds of bytes */
    return test_env_main(argc, argv, "test_copies", tests, COUNT(tests));
}
