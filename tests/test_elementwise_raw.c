/*
 * test_elementwise_raw.c - raw arrays, `_ind` and `size`: snippets that choose their own elements.
 *
 * A raw array takes no part in broadcasting; the snippet indexes it, by a linear index in C-order
 * or by a tuple of indices, whatever its strides are.
 */
#include <math.h>
#include <string.h>

#include "oracle/host.h"

/* ---- linear index ---- */

static const host_layout c_order = {.offset = 0};

static const struct {
    const char *name;
    int rank;
    int64_t shape[3];
    host_layout layout;
} raw_layouts[] = {
    {"contiguous", 1, {64}, {.offset = 0}},
    {"misaligned", 1, {64}, {.offset = 3}},
    {"every second", 1, {64}, {.step = {2}}},
    {"reversed", 1, {64}, {.step = {-1}}},
    {"2-D", 2, {8, 8}, {.offset = 0}},
    {"2-D F-order", 2, {8, 8}, {.order = {2, 1}}},
    {"2-D with gaps", 2, {4, 16}, {.step = {2, 3}}},
    {"3-D permuted", 3, {4, 2, 8}, {.order = {3, 1, 2}}},
    {"3-D reversed", 3, {4, 2, 8}, {.order = {2, 3, 1}, .step = {-1, 1, -2}}},
};

static void test_elementwise__raw_arrays_take_a_linear_index(void **state)
{
    static const int64_t shape[] = {1000};
    test_env *t = *state;
    host_array table, x, z;
    kiln_elementwise *op = NULL;

    OK(t,
       kiln_elementwise_create(t->ctx, "int32 x, raw T table", "T z",
                               "z = table[x] + table[(x + i) % table.size()]", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(raw_layouts); c++) {
        host_make(t, &table, KILN_FLOAT32, raw_layouts[c].rank, raw_layouts[c].shape,
                  &raw_layouts[c].layout);
        host_make(t, &x, KILN_INT32, 1, shape, NULL);
        host_make(t, &z, KILN_FLOAT32, 1, shape, NULL);
        for (int64_t k = 0; k < shape[0]; k++) {
            int32_t at = (int32_t)(k * 37 % 64);
            host_value a = host_load(KILN_FLOAT32, host_at(&table, at));
            host_value b = host_load(KILN_FLOAT32, host_at(&table, (at + k) % 64));

            memcpy(host_at(&x, k), &at, sizeof at);
            host_store(KILN_FLOAT32, host_at(&z, k), host_real(a.re + b.re));
        }
        host_send(t, &x);
        OK(t, kiln_call(op, &t->err, x.array, table.array, z.array));
        host_compare(t, &z, 0, raw_layouts[c].name);
        host_free(&table);
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

/* ---- facts ---- */

static void test_elementwise__raw_arrays_tell_size_shape_strides_and_ndim(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "raw T x", "raw int64 out",
                                  "if (i == 0) { out[0] = x.size(); out[1] = x.ndim; "
                                  "for (int k = 0; k < x.ndim; ++k) { out[2 + k] = x.shape()[k]; "
                                  "out[5 + k] = x.strides()[k]; } }",
                                  NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(raw_layouts); c++) {
        host_array x;
        kiln_array *out = NULL;
        int64_t got[8];
        int rank = raw_layouts[c].rank;
        kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

        host_make(t, &x, KILN_FLOAT64, rank, raw_layouts[c].shape, &raw_layouts[c].layout);
        OK(t, kiln_array_zeros(t->ctx, KILN_INT64, 1, (const int64_t[]){8}, &out, &t->err));
        options.has_size = true;
        options.size = 3;
        OK(t, kiln_elementwise_run(op, KILN_ARGS(x.array, out), &options, &t->err));
        OK(t, kiln_array_to_host(out, got, sizeof got, NULL, &t->err));
        CHECK(got[0] == host_size(&x) && got[1] == rank, "%s: size %lld, ndim %lld",
              raw_layouts[c].name, (long long)got[0], (long long)got[1]);
        for (int k = 0; k < rank; k++)
            CHECK(got[2 + k] == x.shape[k] && got[5 + k] == x.stride[k],
                  "%s: axis %d: extent %lld, stride %lld", raw_layouts[c].name, k,
                  (long long)got[2 + k], (long long)got[5 + k]);
        kiln_array_release(out);
        host_free(&x);
    }
    kiln_elementwise_destroy(op);
}

/* ---- tuple index ---- */

/* z[r, c] = x[r, c] + x[r - 1, c] with an edge, by the index of each element. */
static void test_elementwise__raw_arrays_take_an_index_tuple(void **state)
{
    static const int64_t shape[] = {13, 21};
    static const host_layout layouts[] = {
        {.offset = 0}, {.order = {2, 1}}, {.step = {2, 1}, .offset = 1}, {.step = {-1, 2}}};
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.keep_axes = true;
    OK(t, kiln_elementwise_create(t->ctx, "raw T x", "T z",
                                  "ptrdiff_t at[] = {_ind.get()[0], _ind.get()[1]}; z = x[at]; "
                                  "if (at[0] > 0) { at[0] -= 1; z += x[at]; }",
                                  &options, &op, &t->err));
    for (size_t c = 0; c < COUNT(layouts); c++) {
        host_array x, z;

        host_make(t, &x, KILN_FLOAT32, 2, shape, &layouts[c]);
        host_make(t, &z, KILN_FLOAT32, 2, shape, &layouts[(c + 1) % COUNT(layouts)]);
        for (int64_t k = 0; k < shape[0] * shape[1]; k++) {
            host_value v = host_load(KILN_FLOAT32, host_at(&x, k));

            if (k >= shape[1])
                v.re += host_load(KILN_FLOAT32, host_at(&x, k - shape[1])).re;
            host_store(KILN_FLOAT32, host_at(&z, k), v);
        }
        OK(t, kiln_call(op, &t->err, x.array, z.array));
        host_compare(t, &z, 0, "index tuple");
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

static void test_elementwise__raw_outputs_can_be_scattered_into(void **state)
{
    static const int64_t shape[] = {2000};
    test_env *t = *state;
    host_array x, z;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_INT32, 1, shape, NULL);
    host_make(t, &z, KILN_INT32, 1, shape, &(host_layout){.step = {-2}});
    for (int64_t k = 0; k < shape[0]; k++)
        memcpy(host_at(&z, (k * 7 + 3) % shape[0]), host_at(&x, k), 4);
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "raw int32 z", "z[(i * 7 + 3) % n] = x", NULL,
                                  &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, z.array));
    host_compare(t, &z, 0, "scatter");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
}

static void test_elementwise__a_raw_array_may_be_stencilled_beside_its_own_elements(void **state)
{
    static const int64_t shape[] = {1777};
    test_env *t = *state;
    host_array x, z;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    host_make(t, &z, KILN_FLOAT32, 1, shape, NULL);
    for (int64_t k = 0; k < shape[0]; k++) {
        int64_t left = k > 0 ? k - 1 : 0, right = k + 1 < shape[0] ? k + 1 : k;
        long double v = host_load(KILN_FLOAT32, host_at(&x, left)).re -
                        2 * host_load(KILN_FLOAT32, host_at(&x, k)).re +
                        host_load(KILN_FLOAT32, host_at(&x, right)).re;

        host_store(KILN_FLOAT32, host_at(&z, k), host_real(v));
    }
    OK(t, kiln_elementwise_create(t->ctx, "T x, raw T all", "T z",
                                  "z = all[i > 0 ? i - 1 : 0] - 2 * x + all[i + 1 < n ? i + 1 : i]",
                                  NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, x.array, z.array));
    host_compare(t, &z, 0, "stencil");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
}

/* ---- _ind ---- */

/* Without keep_axes axes may be collapsed: only the linear index and the size are promised. */
static void test_elementwise__ind_gives_size_and_indices(void **state)
{
    static const int64_t shape[] = {4, 5, 6};
    static const host_layout layouts[] = {{.offset = 0}, {.order = {3, 2, 1}}, {.step = {2, 1, 1}}};
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *kept = NULL, *reduced = NULL;

    options.keep_axes = true;
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "int32 z",
                                  "const ptrdiff_t *at = _ind.get(); z = (int)(_ind.size() * 1000 "
                                  "+ at[0] * 100 + at[1] * 10 + at[2] + 100000 * _ind.ndim)",
                                  &options, &kept, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "int32 z",
                                  "z = (int)(_ind.size() * 1000 + i + (_ind.ndim > 3))", NULL,
                                  &reduced, &t->err));
    for (size_t c = 0; c < COUNT(layouts); c++) {
        host_array x, z;

        host_make(t, &x, KILN_INT32, 3, shape, &layouts[c]);
        host_make(t, &z, KILN_INT32, 3, shape, NULL);
        for (int32_t k = 0; k < 120; k++) {
            int32_t v = 120 * 1000 + k / 30 * 100 + k / 6 % 5 * 10 + k % 6 + 300000;

            memcpy(host_at(&z, k), &v, sizeof v);
        }
        OK(t, kiln_call(kept, &t->err, x.array, z.array));
        host_compare(t, &z, 0, "kept dimensions");
        for (int32_t k = 0; k < 120; k++) {
            int32_t v = 120 * 1000 + k;

            memcpy(host_at(&z, k), &v, sizeof v);
        }
        OK(t, kiln_call(reduced, &t->err, x.array, z.array));
        host_compare(t, &z, 0, "reduced dimensions");
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(kept);
    kiln_elementwise_destroy(reduced);
}

/* ---- size ---- */

static void test_elementwise__size_rules_where_only_raw_arrays_and_scalars_are_given(void **state)
{
    static const int64_t sizes[] = {0, 1, 33, 5000};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "raw int32 x, int32 a", "raw int32 z",
                                  "z[i] = x[i] * a + (int)n", NULL, &op, &t->err));
    for (size_t s = 0; s < COUNT(sizes); s++) {
        static const int64_t shape[] = {5000};
        kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
        host_array x, z;

        host_make(t, &x, KILN_INT32, 1, shape, NULL);
        host_make(t, &z, KILN_INT32, 1, shape, NULL);
        for (int64_t k = 0; k < sizes[s]; k++) {
            int32_t v;

            memcpy(&v, host_at(&x, k), sizeof v);
            v = v * 3 + (int32_t)sizes[s];
            memcpy(host_at(&z, k), &v, sizeof v);
        }
        options.has_size = true;
        options.size = sizes[s];
        OK(t, kiln_elementwise_run(op, KILN_ARGS(x.array, 3, z.array), &options, &t->err));
        host_compare(t, &z, 0, "size");
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

/* With a size, a new non-raw output has that many elements. */
static void test_elementwise__size_decides_new_outputs(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *z = NULL;
    int64_t got[77];

    options.has_size = true;
    options.size = 77;
    OK(t, kiln_elementwise_create(t->ctx, "int64 a", "int64 z", "z = a * i", NULL, &op, &t->err));
    OK(t, kiln_elementwise_run(op, KILN_ARGS(3, &z), &options, &t->err));
    CHECK(kiln_array_rank(z) == 1 && kiln_array_shape(z)[0] == 77, "rank %d", kiln_array_rank(z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int64_t k = 0; k < 77; k++)
        CHECK(got[k] == 3 * k, "%lld", (long long)got[k]);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
}

/* So has a new raw one, into which the kernel writes where it likes. */
static void test_elementwise__size_decides_new_raw_outputs(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *z = NULL;
    int64_t got[70];

    OK(t, kiln_elementwise_create(t->ctx, "int64 a", "raw int64 z",
                                  "z[z.size() - 1 - i] = a * i + z.shape()[0]", NULL, &op,
                                  &t->err));
    FAILS(t, kiln_elementwise_run(op, KILN_ARGS(3, &z), NULL, &t->err), KILN_ERR_UNDECIDED_SIZE,
          "");
    options.has_size = true;
    for (int64_t size = 70; size > 60; size -= 7) {
        options.size = size;
        OK(t, kiln_elementwise_run(op, KILN_ARGS(3, &z), &options, &t->err));
        CHECK(kiln_array_rank(z) == 1 && kiln_array_shape(z)[0] == size, "%d axes",
              kiln_array_rank(z));
        OK(t, kiln_array_to_host(z, got, (size_t)size * sizeof got[0], NULL, &t->err));
        for (int64_t k = 0; k < size; k++)
            CHECK(got[size - 1 - k] == 3 * k + size, "%lld", (long long)got[k]);
        kiln_array_release(z);
        z = NULL;
    }
    kiln_elementwise_destroy(op);
}

/* ---- atomics ---- */

#define ATOMIC_BINS 8

static void test_elementwise__atomics_meet_in_one_place(void **state)
{
    static const struct {
        const char *what, *snippet;
        kiln_dtype dtype;
        int64_t start, want; /* of every bin, over x = 0..7999 */
    } cases[] = {
        {"int32 add", "atomicAdd(&bins[x % 8], 1)", KILN_INT32, 0, 1000},
        {"uint32 add", "atomicAdd(&bins[x % 8], 1u)", KILN_UINT32, 5, 1005},
        {"uint64 add", "atomicAdd(&bins[x % 8], 1ull)", KILN_UINT64, 0, 1000},
        {"float32 add", "atomicAdd(&bins[x % 8], 1.0f)", KILN_FLOAT32, 0, 1000},
        {"float64 add", "atomicAdd(&bins[x % 8], 1.0)", KILN_FLOAT64, 0, 1000},
        {"int32 max", "atomicMax(&bins[x % 8], x / 8)", KILN_INT32, -3, 999},
        {"int32 min", "atomicMin(&bins[x % 8], x / 8 - 7)", KILN_INT32, 50, -7},
        {"uint32 or", "atomicOr(&bins[x % 8], 1u << (x / 8 % 10))", KILN_UINT32, 0, 1023},
        {"int32 and", "atomicAnd(&bins[x % 8], ~(1 << (x / 8 % 4)))", KILN_INT32, 255, 240},
        {"int32 xor", "atomicXor(&bins[x % 8], 5)", KILN_INT32, 9, 9},
        {"int32 sub", "atomicSub(&bins[x % 8], 2)", KILN_INT32, 2000, 0},
        {"int32 exchange", "atomicExch(&bins[x % 8], 4)", KILN_INT32, 1, 4},
        {"int32 compare and swap", "atomicCAS(&bins[x % 8], 1, 6)", KILN_INT32, 1, 6},
    };
    static const int64_t shape[] = {8000}, bin_shape[] = {ATOMIC_BINS};
    test_env *t = *state;
    kiln_array *x = NULL;

    OK(t, kiln_array_arange(t->ctx, KILN_INT32, 0, (double)shape[0], 1, &x, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++) {
        host_array bins;
        kiln_elementwise *op = NULL;
        char out[32];

        snprintf(out, sizeof out, "raw %s bins", kiln_dtype_name(cases[c].dtype));
        host_make(t, &bins, cases[c].dtype, 1, bin_shape, &c_order);
        for (int64_t k = 0; k < ATOMIC_BINS; k++)
            host_store(cases[c].dtype, host_at(&bins, k), host_real(cases[c].start));
        host_send(t, &bins);
        OK(t,
           kiln_elementwise_create(t->ctx, "int32 x", out, cases[c].snippet, NULL, &op, &t->err));
        OK(t, kiln_call(op, &t->err, x, bins.array));
        for (int64_t k = 0; k < ATOMIC_BINS; k++)
            host_store(cases[c].dtype, host_at(&bins, k), host_real(cases[c].want));
        host_compare(t, &bins, 0, cases[c].what);
        kiln_elementwise_destroy(op);
        host_free(&bins);
    }
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__raw_arrays_take_a_linear_index),
        TEST(test_elementwise__raw_arrays_tell_size_shape_strides_and_ndim),
        TEST(test_elementwise__raw_arrays_take_an_index_tuple),
        TEST(test_elementwise__raw_outputs_can_be_scattered_into),
        TEST(test_elementwise__a_raw_array_may_be_stencilled_beside_its_own_elements),
        TEST(test_elementwise__ind_gives_size_and_indices),
        TEST(test_elementwise__size_rules_where_only_raw_arrays_and_scalars_are_given),
        TEST(test_elementwise__size_decides_new_outputs),
        TEST(test_elementwise__size_decides_new_raw_outputs),
        TEST(test_elementwise__atomics_meet_in_one_place),
    };

    return test_env_main(argc, argv, "test_elementwise_raw", tests, COUNT(tests));
}
