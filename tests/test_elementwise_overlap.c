/*
 * test_elementwise_overlap.c - outputs that share memory with inputs.
 *
 * The promise: the result is what it would be if every input were copied before the run, and an
 * output that overlaps itself or another output is refused. The oracle copies inputs first.
 */
#include <string.h>

#include "oracle/host.h"

static void muladd(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re * in[1].re + 1);
}

static void add_one(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re + 1);
}

static void accumulate(const host_value *in, host_value *out)
{
    out[0].re += in[0].re;
}

/* ---- x and z are views of one storage ---- */

typedef struct overlap_case {
    const char *name;
    int rank;
    int64_t shape[3];
    int64_t x_stride[3], z_stride[3]; /* elements */
    int64_t x_start, z_start;         /* elements */
} overlap_case;

/* All views lie in 8192 elements. */
static const overlap_case overlap_cases[] = {
    {"z is x", 1, {5000}, {1}, {1}, 0, 0},
    {"x[1:] into x[:-1]", 1, {5000}, {1}, {1}, 1, 0},
    {"x[:-1] into x[1:]", 1, {5000}, {1}, {1}, 0, 1},
    {"x[100:] into x[:-100]", 1, {5000}, {1}, {1}, 100, 0},
    {"x[:-4096] into x[4096:]", 1, {4096}, {1}, {1}, 0, 4096},
    {"x[::-1] into x", 1, {5000}, {-1}, {1}, 4999, 0},
    {"x into x[::-1]", 1, {5000}, {1}, {-1}, 0, 4999},
    {"both reversed", 1, {5000}, {-1}, {-1}, 4999, 4999},
    {"x[::2] into x[:n/2]", 1, {2500}, {2}, {1}, 0, 0},
    {"x[:n/2] into x[::2]", 1, {2500}, {1}, {2}, 0, 0},
    {"x[::2] into x[1::2]", 1, {2500}, {2}, {2}, 0, 1},
    {"x[::3] into x[::2]", 1, {2000}, {3}, {2}, 0, 0},
    {"x.T into x", 2, {70, 70}, {1, 70}, {70, 1}, 0, 0},
    {"x into x.T", 2, {70, 70}, {70, 1}, {1, 70}, 0, 0},
    {"x.T into x.T", 2, {70, 70}, {1, 70}, {1, 70}, 0, 0},
    {"rows down", 2, {60, 64}, {64, 1}, {64, 1}, 0, 64},
    {"rows up", 2, {60, 64}, {64, 1}, {64, 1}, 64, 0},
    {"columns right", 2, {60, 50}, {64, 1}, {64, 1}, 0, 1},
    {"columns apart", 2, {60, 32}, {64, 1}, {64, 1}, 0, 32},
    {"rows reversed", 2, {60, 64}, {-64, 1}, {64, 1}, 59 * 64, 0},
    {"first row over all", 2, {60, 64}, {0, 1}, {64, 1}, 0, 0},
    {"last element over all", 1, {5000}, {0}, {1}, 4999, 0},
    {"first column over all", 2, {60, 64}, {64, 0}, {64, 1}, 0, 0},
    {"(2, 1, 0) of itself", 3, {16, 17, 16}, {1, 16, 272}, {272, 16, 1}, 0, 0},
};

/* x and z over one storage, with a y beside them. */
static void check_overlap(test_env *t, const char *in, const char *snippet, host_function want,
                          const overlap_case *c)
{
    static const int64_t length[] = {8192};
    host_array base, x, y, z, *arrays[3] = {&x, &z, NULL};
    kiln_elementwise *op = NULL;
    int64_t xs[3], zs[3];
    bool two = strchr(in, 'y') != NULL;
    char what[96];

    snprintf(what, sizeof what, "%s: %s", snippet, c->name);
    for (int axis = 0; axis < 3; axis++) {
        xs[axis] = c->x_stride[axis] * 4;
        zs[axis] = c->z_stride[axis] * 4;
    }
    host_make(t, &base, KILN_FLOAT32, 1, length, NULL);
    host_make(t, &y, KILN_FLOAT32, c->rank, c->shape, NULL);
    host_view(t, &x, &base, c->rank, c->shape, xs, base.start + c->x_start * 4);
    host_view(t, &z, &base, c->rank, c->shape, zs, base.start + c->z_start * 4);
    OK(t, kiln_elementwise_create(t->ctx, in, "T z", snippet, NULL, &op, &t->err));
    if (two) {
        arrays[1] = &y;
        arrays[2] = &z;
        OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    } else {
        OK(t, kiln_call(op, &t->err, x.array, z.array));
    }
    host_apply(arrays, two ? 2 : 1, 1, c->rank, c->shape, want);
    host_compare(t, &base, 0, what);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
    host_free(&y);
    host_free(&base);
}

static void test_elementwise__overlapping_inputs_act_as_if_copied(void **state)
{
    for (size_t c = 0; c < COUNT(overlap_cases); c++)
        check_overlap(*state, "T x", "z = x + T(1)", add_one, &overlap_cases[c]);
}

static void test_elementwise__overlap_beside_another_input(void **state)
{
    for (size_t c = 0; c < COUNT(overlap_cases); c++)
        check_overlap(*state, "T x, T y", "z = x * y + T(1)", muladd, &overlap_cases[c]);
}

static void test_elementwise__overlap_of_an_output_that_is_read(void **state)
{
    for (size_t c = 0; c < COUNT(overlap_cases); c++)
        check_overlap(*state, "T x", "z += x", accumulate, &overlap_cases[c]);
}

/* Overlap through kiln's own views, whose storages are known to be one. */
static void test_elementwise__overlap_of_slices(void **state)
{
    static const int64_t shape[] = {1000};
    test_env *t = *state;
    host_array x;
    kiln_elementwise *op = NULL;
    kiln_array *head = NULL, *tail = NULL;

    host_make(t, &x, KILN_INT32, 1, shape, NULL);
    OK(t, kiln_array_slice(x.array, 0, 0, -1, 1, &head, &t->err));
    OK(t, kiln_array_slice(x.array, 0, 1, KILN_SLICE_OPEN, 1, &tail, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x * 3", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, head, tail));
    for (int64_t k = shape[0] - 1; k > 0; k--) {
        int32_t v;

        memcpy(&v, host_at(&x, k - 1), sizeof v);
        v *= 3;
        memcpy(host_at(&x, k), &v, sizeof v);
    }
    host_compare(t, &x, 0, "slices");
    kiln_array_release(head);
    kiln_array_release(tail);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

/* An input seen as wider elements than the output's: the bytes overlap at other indices. */
static void test_elementwise__overlap_of_different_dtypes(void **state)
{
    static const int64_t bytes[] = {16384}, shape[] = {2000};
    static const int64_t wide_stride[] = {8}, narrow_stride[] = {4};
    test_env *t = *state;
    host_array base, x, z, *arrays[] = {&x, &z};
    kiln_elementwise *op = NULL;

    host_make(t, &base, KILN_INT64, 1, (const int64_t[]){bytes[0] / 8}, NULL);
    base.dtype = KILN_INT32;
    host_view(t, &z, &base, 1, shape, narrow_stride, base.start);
    base.dtype = KILN_INT64;
    host_view(t, &x, &base, 1, shape, wide_stride, base.start);
    OK(t,
       kiln_elementwise_create(t->ctx, "int64 x", "int32 z", "z = (int)x + 1", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, z.array));
    host_apply(arrays, 1, 1, 1, shape, add_one);
    host_compare(t, &base, 0, "int64 into int32");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
    host_free(&base);
}

/* ---- what cannot be right is refused ---- */

static void test_elementwise__two_outputs_in_one_memory_are_refused(void **state)
{
    static const int64_t shape[] = {100}, part[] = {90}, stride[] = {4};
    test_env *t = *state;
    host_array x, base, a, b;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, part, NULL);
    host_make(t, &base, KILN_FLOAT32, 1, shape, NULL);
    host_view(t, &a, &base, 1, part, stride, base.start);
    host_view(t, &b, &base, 1, part, stride, base.start + 40);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T first, T second", "first = x; second = x", NULL,
                                  &op, &t->err));
    FAILS(t, KILN_ERR_OVERLAP, kiln_call(op, &t->err, x.array, a.array, b.array), "first",
          "second");
    FAILS(t, KILN_ERR_OVERLAP, kiln_call(op, &t->err, x.array, a.array, a.array), "first",
          "second");
    host_compare(t, &base, 0, "nothing was written");
    kiln_elementwise_destroy(op);
    host_free(&a);
    host_free(&b);
    host_free(&base);
    host_free(&x);
}

/* What was allocated before the refusal is given back, and its pointer stays NULL. */
static void test_elementwise__a_refusal_gives_new_outputs_back(void **state)
{
    static const int64_t shape[] = {100};
    test_env *t = *state;
    host_array x, a;
    kiln_elementwise *op = NULL;
    kiln_array *fresh = NULL;
    kiln_pool_stats before, after;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    host_make(t, &a, KILN_FLOAT32, 1, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T zero, T first, T second",
                                  "zero = x; first = x; second = x", NULL, &op, &t->err));
    for (int again = 0; again < 2; again++) {
        kiln_context_pool_stats(t->ctx, &before);
        FAILS(t, KILN_ERR_OVERLAP, kiln_call(op, &t->err, x.array, &fresh, a.array, a.array),
              "first", "second");
        kiln_context_pool_stats(t->ctx, &after);
        assert_null(fresh);
        CHECK(after.used_bytes == before.used_bytes, "%zu then %zu bytes", before.used_bytes,
              after.used_bytes);
    }
    host_compare(t, &a, 0, "nothing was written");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&a);
}

static void test_elementwise__an_output_that_overlaps_itself_is_refused(void **state)
{
    static const struct {
        const char *name;
        int64_t shape[2], stride[2]; /* elements */
    } cases[] = {
        {"stride 0", {4, 100}, {0, 1}},
        {"rows that share columns", {4, 100}, {99, 1}},
        {"a sliding window", {10, 10}, {1, 1}},
    };
    static const int64_t length[] = {1000};
    test_env *t = *state;
    host_array x, base, z;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++) {
        int64_t stride[] = {cases[c].stride[0] * 4, cases[c].stride[1] * 4};

        host_make(t, &x, KILN_FLOAT32, 2, cases[c].shape, NULL);
        host_make(t, &base, KILN_FLOAT32, 1, length, NULL);
        host_view(t, &z, &base, 2, cases[c].shape, stride, base.start);
        CHECK(kiln_call(op, &t->err, x.array, z.array) != KILN_OK, "%s was accepted",
              cases[c].name);
        CHECK(t->err.status == KILN_ERR_OVERLAP || t->err.status == KILN_ERR_OUTPUT, "%s: %s",
              cases[c].name, kiln_status_name(t->err.status));
        CHECK(strstr(t->err.message, "z") != NULL, "%s", t->err.message);
        kiln_error_clear(&t->err);
        host_compare(t, &base, 0, cases[c].name);
        host_free(&z);
        host_free(&base);
        host_free(&x);
    }
    kiln_elementwise_destroy(op);
}

/* Columns interleaved in one storage share bounds but no byte: not an overlap. */
static void test_elementwise__interleaved_outputs_are_no_overlap(void **state)
{
    static const int64_t length[] = {2000}, part[] = {1000}, stride[] = {8};
    test_env *t = *state;
    host_array x, base, a, b, *arrays[] = {&x, &a, &b};
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, part, NULL);
    host_make(t, &base, KILN_FLOAT32, 1, length, NULL);
    host_view(t, &a, &base, 1, part, stride, base.start);
    host_view(t, &b, &base, 1, part, stride, base.start + 4);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T first, T second",
                                  "first = x + 1; second = x + 1", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, a.array, b.array));
    arrays[2] = &b;
    host_apply(arrays, 1, 1, 1, part, add_one);
    arrays[1] = &b;
    host_apply(arrays, 1, 1, 1, part, add_one);
    host_compare(t, &base, 0, "interleaved");
    kiln_elementwise_destroy(op);
    host_free(&a);
    host_free(&b);
    host_free(&base);
    host_free(&x);
}

/* Prepared launches bind arrays once: each run must copy an overlapping input anew. */
static void test_elementwise__a_prepared_launch_with_overlap_reads_the_current_input(void **state)
{
    static const int64_t length[] = {5001}, part[] = {5000}, stride[] = {4};
    test_env *t = *state;
    host_array base, x, z, *arrays[] = {&x, &z};
    kiln_elementwise *op = NULL;
    kiln_launch *launch = NULL;
    kiln_status status;

    host_make(t, &base, KILN_FLOAT32, 1, length, NULL);
    host_view(t, &x, &base, 1, part, stride, base.start);
    host_view(t, &z, &base, 1, part, stride, base.start + 4);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
    status = kiln_elementwise_prepare(op, KILN_ARGS(x.array, z.array), NULL, &launch, &t->err);
    if (status == KILN_OK) {
        for (int run = 0; run < 3; run++) {
            OK(t, kiln_launch_run(launch, NULL, &t->err));
            host_apply(arrays, 1, 1, 1, part, add_one);
        }
        host_compare(t, &base, 0, "three prepared runs");
    } else {
        /* Refusing is as good as copying, if it says so. */
        CHECK(status == KILN_ERR_OVERLAP, "%s: %s", kiln_status_name(status), t->err.message);
        kiln_error_clear(&t->err);
    }
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
    host_free(&base);
}

/* A raw input is read anywhere, so being the output itself does not make it safe. */
static void test_elementwise__a_raw_input_that_is_the_output_is_read_as_it_was(void **state)
{
    enum { N = 5000 };
    test_env *t = *state;
    const int64_t shape[] = {N};
    kiln_array *x = NULL, *low = NULL, *high = NULL, *source = NULL, *target = NULL;
    kiln_elementwise *op = NULL;
    int32_t host[N];

    OK(t, kiln_elementwise_create(t->ctx, "raw T x", "T z", "z = x[n - 1 - i]", NULL, &op, &t->err));
    for (int64_t start = 0; start <= 40; start += 20) { /* z is x, and x[start:] of x[:-start] */
        const int64_t count = N - start;
        OK(t, kiln_array_arange(t->ctx, KILN_INT32, 0, N, 1, &x, &t->err));
        OK(t, kiln_array_slice(x, 0, 0, count, 1, &low, &t->err));
        OK(t, kiln_array_slice(x, 0, start, N, 1, &high, &t->err));
        source = start == 20 ? high : low, target = start == 20 ? low : high;
        OK(t, kiln_call(op, &t->err, source, target));
        OK(t, kiln_array_to_host(target, host, sizeof host, NULL, &t->err));
        for (int64_t k = 0; k < count; k++)
            CHECK(host[k] == (start == 20 ? start : 0) + count - 1 - k, "start %d, element %d: %d",
                  (int)start, (int)k, (int)host[k]);
        kiln_array_release(x), kiln_array_release(low), kiln_array_release(high);
        x = low = high = NULL;
    }
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, shape, &x, &t->err));
    kiln_launch *launch = NULL;
    FAILS(t, KILN_ERR_OVERLAP, kiln_elementwise_prepare(op, KILN_ARGS(x, x), NULL, &launch, &t->err),
          "prepared");
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__overlapping_inputs_act_as_if_copied),
        TEST(test_elementwise__overlap_beside_another_input),
        TEST(test_elementwise__overlap_of_an_output_that_is_read),
        TEST(test_elementwise__overlap_of_slices),
        TEST(test_elementwise__overlap_of_different_dtypes),
        TEST(test_elementwise__two_outputs_in_one_memory_are_refused),
        TEST(test_elementwise__a_refusal_gives_new_outputs_back),
        TEST(test_elementwise__an_output_that_overlaps_itself_is_refused),
        TEST(test_elementwise__interleaved_outputs_are_no_overlap),
        TEST(test_elementwise__a_prepared_launch_with_overlap_reads_the_current_input),
        TEST(test_elementwise__a_raw_input_that_is_the_output_is_read_as_it_was),
    };

    return test_env_main(argc, argv, "test_elementwise_overlap", tests, COUNT(tests));
}
