/*
 * test_module_cuda.c - modules and what only a GPU has: shared memory, grids that meet, clusters.
 */
#include <stdlib.h>
#include <string.h>

#include "module_env.h"

static const char device_source[] = LINES(
    extern "C" __global__ void reverse(const int *x, int *y) {
        extern __shared__ int part[];
        part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
        __syncthreads();
        y[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
    }
    extern "C" __global__ void meet(int *arrived, int *seen) {
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < gridDim.x) {}
            seen[blockIdx.x] = atomicAdd(arrived, 0);
        }
    });
static const char cluster_source[] = LINES(
    extern "C" __global__ void rank(unsigned *out) {
        unsigned r;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
        out[blockIdx.x] = r;
    });

static void test_module_cuda__shared_memory_beyond_48_kib(void **state)
{
    enum { BLOCKS = 4, THREADS = 256, ALL = BLOCKS * THREADS };
    test_env *t = *state;
    kiln_module *m = NULL;
    int x[ALL], y[ALL];

    OK(t, kiln_module_create(t->ctx, device_source, NULL, &m, &t->err));
    kiln_raw *k = kernel(t, m, "reverse", "raw const int32 x, raw int32 y");
    for (int i = 0; i < ALL; i++)
        x[i] = i * 7;
    kiln_array *ax = upload(t, KILN_INT32, ALL, x), *ay = upload(t, KILN_INT32, ALL, x);
    const int64_t sizes[] = {THREADS * 4, 48 << 10, 64 << 10};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        kiln_raw_call_options o = threads(BLOCKS, THREADS);
        o.shared_bytes = sizes[s];
        OK(t, kiln_raw_run(k, KILN_ARGS(ax, ay), &o, &t->err));
        download(t, ay, y, sizeof y);
        for (int i = 0; i < ALL; i++)
            assert_int_equal(y[i], x[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
    }
    kiln_array_release(ax);
    kiln_array_release(ay);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

static void test_module_cuda__a_cooperative_grid_meets(void **state)
{
    test_env *t = *state;
    kiln_module *m = NULL;
    kiln_array *arrived = NULL, *seen = NULL;
    int64_t blocks = 0;
    kiln_raw_call_options o = threads(1, 128);

    OK(t, kiln_module_create(t->ctx, device_source, NULL, &m, &t->err));
    kiln_raw *k = kernel(t, m, "meet", NULL);
    o.cooperative = true;
    OK(t, kiln_raw_occupancy(k, &o, &blocks, &t->err));
    assert_true(blocks >= kiln_context_device(t->ctx)->unit_count);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, (int64_t[]){1}, &arrived, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, &blocks, &seen, &t->err));
    o.fill = true;
    OK(t, kiln_raw_run(k, KILN_ARGS(arrived, seen), &o, &t->err));
    int *got = calloc((size_t)blocks, sizeof *got);
    download(t, seen, got, (size_t)blocks * sizeof *got);
    for (int64_t b = 0; b < blocks; b++)
        assert_int_equal(got[b], blocks);
    free(got);
    o.fill = false;
    o.grid[0] = blocks + 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, KILN_ARGS(arrived, seen), &o, &t->err), "at a time");
    kiln_array_release(arrived);
    kiln_array_release(seen);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

static void test_module_cuda__clusters_have_ranks(void **state)
{
    enum { BLOCKS = 8 };
    test_env *t = *state;
    kiln_module *m = NULL;
    kiln_raw_call_options o = threads(BLOCKS, 32);
    uint32_t got[BLOCKS];

    if (strcmp(kiln_context_device(t->ctx)->target, "sm_90") < 0 ||
        strlen(kiln_context_device(t->ctx)->target) < 5)
        skip();
    OK(t, kiln_module_create(t->ctx, cluster_source, NULL, &m, &t->err));
    kiln_raw *k = kernel(t, m, "rank", "raw uint32 out");
    kiln_array *out = upload(t, KILN_UINT32, BLOCKS, (uint32_t[BLOCKS]){0});
    o.cluster[0] = 4;
    o.programmatic = true;
    OK(t, kiln_raw_run(k, KILN_ARGS(out), &o, &t->err));
    download(t, out, got, sizeof got);
    for (uint32_t b = 0; b < BLOCKS; b++)
        assert_int_equal(got[b], b % 4);
    kiln_array_release(out);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

/* A grid that meets, behind a launch with clusters and with more shared memory than a kernel has by itself. */
static void test_module_cuda__programs_keep_clusters_and_cooperation(void **state)
{
    enum { BLOCKS = 8, RUNS = 3 };
    test_env *t = *state;
    kiln_module *m = NULL, *clustered = NULL;
    kiln_program *program = NULL;
    uint32_t ranks[BLOCKS], seen[BLOCKS];

    if (strcmp(kiln_context_device(t->ctx)->target, "sm_90") < 0 ||
        strlen(kiln_context_device(t->ctx)->target) < 5)
        skip();
    OK(t, kiln_module_create(t->ctx, device_source, NULL, &m, &t->err));
    OK(t, kiln_module_create(t->ctx, cluster_source, NULL, &clustered, &t->err));
    kiln_raw *meet = kernel(t, m, "meet", NULL), *rank = kernel(t, clustered, "rank", NULL);
    kiln_array *out = upload(t, KILN_UINT32, BLOCKS, (uint32_t[BLOCKS]){0});
    kiln_array *arrived = upload(t, KILN_UINT32, 1, (uint32_t[]){0});
    kiln_array *all = upload(t, KILN_UINT32, BLOCKS, (uint32_t[BLOCKS]){0});
    kiln_raw_call_options c = threads(BLOCKS, 32), g = threads(BLOCKS, 64);
    c.cluster[0] = 4;
    c.shared_bytes = 100 << 10;
    g.cooperative = true;
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_array_fill(arrived, 0, &t->err));
    OK(t, kiln_raw_run(rank, KILN_ARGS(out), &c, &t->err));
    OK(t, kiln_raw_run(meet, KILN_ARGS(arrived, all), &g, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    for (int run = 0; run < RUNS; run++) {
        OK(t, kiln_array_fill(out, 77, &t->err));
        OK(t, kiln_array_fill(all, 77, &t->err));
        OK(t, kiln_program_run(program, NULL, &t->err));
        download(t, out, ranks, sizeof ranks);
        download(t, all, seen, sizeof seen);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            assert_int_equal(ranks[b], b % 4);
            assert_int_equal(seen[b], BLOCKS);
        }
    }
    kiln_program_destroy(program);
    kiln_array_release(out);
    kiln_array_release(arrived);
    kiln_array_release(all);
    kiln_raw_destroy(meet);
    kiln_raw_destroy(rank);
    kiln_module_destroy(m);
    kiln_module_destroy(clustered);
}

/* A function and its caller in two texts of PTX, as two compilations would give them. */
static void test_module_cuda__linked_images_call_each_other(void **state)
{
    static const char twice[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .func (.param .b32 out) twice(.param .b32 in)\n{\n.reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [in];\nadd.s32 %r2, %r1, %r1;\nst.param.b32 [out], %r2;\nret;\n}\n";
    static const char caller[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 out) twice(.param .b32 in);\n"
        ".visible .entry use_twice(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n"
        "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nld.global.u32 %r1, [%rd2];\n"
        "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall (b), twice, (a);\n"
        "ld.param.b32 %r2, [b];\n}\nst.global.u32 [%rd2], %r2;\nret;\n}\n";
    test_env *t = *state;
    const kiln_module_input both[] = {{twice, sizeof twice - 1, "twice"}, {caller, sizeof caller - 1, "caller"}};
    const kiln_raw_call_options o = threads(1, 1);
    kiln_module *m = NULL;
    int got = 21;

    if (kiln_module_create_linked(t->ctx, both, 2, NULL, &m, &t->err) == KILN_ERR_UNSUPPORTED) {
        kiln_error_clear(&t->err);
        skip(); /* nvJitLink is not here */
    }
    OK(t, t->err.status);
    kiln_raw *const k = kernel(t, m, "use_twice", "raw int32 p");
    kiln_array *const x = upload(t, KILN_INT32, 1, &got);
    OK(t, kiln_raw_run(k, KILN_ARGS(x), &o, &t->err));
    download(t, x, &got, sizeof got);
    assert_int_equal(got, 42);
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

/* A kernel whose first thread launches another for each block of 13 elements. */
static void test_module_cuda__kernels_launch_kernels(void **state)
{
    static const char nested[] =
        "__global__ void inner(int *p, int first) { p[threadIdx.x] = first + threadIdx.x; }\n"
        "__global__ void outer(int *p, int n) {\n"
        "    if (threadIdx.x < n) inner<<<1, 13>>>(p + 13 * threadIdx.x, 13 * threadIdx.x);\n"
        "}\n";
    const char *const option = "-dc";
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, 32);
    kiln_module_options mo = KILN_MODULE_OPTIONS_INIT;
    kiln_module *m = NULL;
    int got[52] = {0};

    mo.compiler_options = &option;
    mo.compiler_option_count = 1;
    if (kiln_module_create(t->ctx, nested, &mo, &m, &t->err) == KILN_ERR_UNSUPPORTED) {
        kiln_error_clear(&t->err);
        skip(); /* nvJitLink is not here */
    }
    OK(t, t->err.status);
    kiln_raw *const k = kernel(t, m, "outer", "raw int32 p, int32 n");
    kiln_array *const x = upload(t, KILN_INT32, 52, got);
    OK(t, kiln_raw_run(k, KILN_ARGS(x, 4), &o, &t->err));
    download(t, x, got, sizeof got);
    for (int i = 0; i < 52; i++)
        assert_int_equal(got[i], i);
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_module_cuda__shared_memory_beyond_48_kib),
        TEST(test_module_cuda__a_cooperative_grid_meets),
        TEST(test_module_cuda__clusters_have_ranks),
        TEST(test_module_cuda__programs_keep_clusters_and_cooperation),
        TEST(test_module_cuda__linked_images_call_each_other),
        TEST(test_module_cuda__kernels_launch_kernels),
    };
    char cuda[] = "cuda";
    char *own[] = {argv[0], argc > 1 && argv[1][0] != '\0' ? argv[1] : cuda, NULL};

    return test_env_main(2, own, "test_module_cuda", tests, COUNT(tests));
}
