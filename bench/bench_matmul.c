/*
 * bench_matmul.c - products of matrices on a GPU, beside cuBLASLt called directly with the algorithm that its
 * heuristic takes, in turns and on the same stream; on the cpu device kiln alone.
 *
 *     bench_matmul [cpu] [name ...]
 *
 * `name`: only the lines of that dtype or of that many rows. A line holds the median time of a product by each and how many
 * times as fast kiln is. On a GPU it also holds the least time of the host for a call of each, of a few calls that begin with
 * an empty queue, and the time of the first call of that shape of each: descriptors, the heuristic and a call. The library
 * goes first, twice, so that neither first time holds the loading of its kernels; the third time is that of its very first
 * call, which loads them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "linalg/gpu_library.h"
#include "linalg/linalg.h"

#include "kiln/kiln.h"

enum { ROUNDS = 9, WARM = 3, HOST_ROUNDS = 400, HOST_CALLS = 8, WORKSPACE = 32 << 20 };

typedef struct shape {
    const char *name;
    kiln_dtype dtype;
    kiln_compute compute;
    int lt_compute, lt_type, lt_scale; /* as gpu_library.h has them */
    int64_t m, k, n;
    bool
        turned; /* b is the transpose of what lies in memory: what the library wants of int8 and float8 */
    kiln_dtype out; /* NONE: kiln's choice */
} shape;

static const shape gpu_shapes[] = {
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 4096, 4096, 4096, false, 0},
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 8192, 8192, 8192, false, 0},
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 16384, 16384, 16384, false, 0},
    {"bfloat16", KILN_BFLOAT16, 0, 68, 14, 0, 4096, 4096, 4096, false, 0},
    {"bfloat16", KILN_BFLOAT16, 0, 68, 14, 0, 8192, 8192, 8192, false, 0},
    {"bfloat16", KILN_BFLOAT16, 0, 68, 14, 0, 16384, 16384, 16384, false, 0},
    {"tf32", KILN_FLOAT32, KILN_COMPUTE_TF32, 77, 0, 0, 4096, 4096, 4096, false, 0},
    {"tf32", KILN_FLOAT32, KILN_COMPUTE_TF32, 77, 0, 0, 8192, 8192, 8192, false, 0},
    {"tf32", KILN_FLOAT32, KILN_COMPUTE_TF32, 77, 0, 0, 16384, 16384, 16384, false, 0},
    {"float32", KILN_FLOAT32, 0, 68, 0, 0, 4096, 4096, 4096, false, 0},
    {"float32", KILN_FLOAT32, 0, 68, 0, 0, 8192, 8192, 8192, false, 0},
    {"float32", KILN_FLOAT32, 0, 68, 0, 0, 16384, 16384, 16384, false, 0},
    {"float64", KILN_FLOAT64, 0, 70, 1, 1, 4096, 4096, 4096, false, 0},
    {"float64", KILN_FLOAT64, 0, 70, 1, 1, 8192, 8192, 8192, false, 0},
    {"float64", KILN_FLOAT64, 0, 70, 1, 1, 16384, 16384, 16384, false, 0},
    {"int8", KILN_INT8, 0, 72, 3, 10, 4096, 4096, 4096, true, 0},
    {"int8", KILN_INT8, 0, 72, 3, 10, 8192, 8192, 8192, true, 0},
    {"int8", KILN_INT8, 0, 72, 3, 10, 16384, 16384, 16384, true, 0},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 4096, 4096, 4096, true, KILN_BFLOAT16},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 8192, 8192, 8192, true, KILN_BFLOAT16},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 16384, 16384, 16384, true, KILN_BFLOAT16},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 8192, 8192, 8192, true, KILN_FLOAT32},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 16, 8192, 8192, true, KILN_BFLOAT16},
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 16, 8192, 8192, false, 0},
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 1, 8192, 8192, false, 0},
    {"bfloat16", KILN_BFLOAT16, 0, 68, 14, 0, 1, 8192, 8192, false, 0},
    {"float32", KILN_FLOAT32, 0, 68, 0, 0, 64, 64, 64, false, 0},
    {"float16", KILN_FLOAT16, 0, 68, 2, 0, 64, 64, 64, false, 0},
    {"float64", KILN_FLOAT64, 0, 70, 1, 1, 64, 64, 64, false, 0},
    {"int8", KILN_INT8, 0, 72, 3, 10, 64, 64, 64, true, 0},
    {"float8", KILN_FLOAT8_E4M3FN, 0, 68, 28, 0, 64, 64, 64, true, KILN_BFLOAT16},
};

static const shape cpu_shapes[] = {
    {"float32", KILN_FLOAT32, 0, 0, 0, 0, 1024, 1024, 1024, false, 0},
    {"float32", KILN_FLOAT32, 0, 0, 0, 0, 2048, 2048, 2048, false, 0},
    {"float64", KILN_FLOAT64, 0, 0, 0, 0, 1024, 1024, 1024, false, 0},
    {"complex64", KILN_COMPLEX64, 0, 0, 0, 0, 768, 768, 768, false, 0},
    {"int32", KILN_INT32, 0, 0, 0, 0, 1024, 1024, 1024, false, 0},
    {"float32", KILN_FLOAT32, 0, 0, 0, 0, 64, 64, 64, false, 0},
};

/* What one line needs. */
typedef struct bench {
    kiln_context *ctx;
    kiln_stream *stream;
    const shape *s;
    kiln_array *a, *b, *y, *direct, *workspace;
    const kiln__lt *lt; /* NULL: kiln alone */
    kiln__lt_handle handle;
    kiln__lt_desc desc;
    kiln__lt_layout layout[3];
    kiln__lt_heuristic choice;
} bench;

static kiln_error err = KILN_ERROR_INIT;

static void must(kiln_status status)
{
    if (status == KILN_OK)
        return;
    kiln_error_print(&err, stderr);
    exit(1);
}

static void must_lt(int status, const char *what)
{
    if (status == KILN__LT_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, status);
    exit(1);
}

/* Random numbers between -1 and 1, or integers. */
static kiln_array *random_matrix(const bench *b, int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    const size_t count = (size_t)(rows * columns);
    float *numbers = malloc(count * sizeof *numbers);
    kiln_array *plain = NULL, *x = NULL;
    unsigned state = 12345;

    if (numbers == NULL)
        exit(1);
    for (size_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;
        numbers[k] = (float)(state >> 8) / 8388608.0f - 1;
        if (kiln_dtype_kind(b->s->dtype) == 'i')
            numbers[k] *= 100;
    }
    must(kiln_array_from_host(b->ctx, KILN_FLOAT32, 2, dims, numbers, NULL, &plain, &err));
    must(kiln_array_cast(plain, b->s->dtype, &x, &err));
    kiln_array_release(plain);
    free(numbers);
    return x;
}

static kiln_array *transposed(kiln_array *x)
{
    kiln_array *view = NULL;

    must(kiln_array_transpose(x, NULL, &view, &err));
    kiln_array_release(x);
    return view;
}

static void run_kiln(bench *b)
{
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    options.stream = b->stream;
    options.compute = b->s->compute;
    options.dtype = b->s->out;
    must(kiln_matmul(b->a, b->b, &options, &b->y, &err));
}

static void run_direct(bench *b)
{
    double one[2], zero[2];
    const kiln_dtype dtype = b->s->dtype;
    void *y = kiln_array_data(b->direct);

    kiln__put_number(dtype == KILN_FLOAT64 ? KILN_FLOAT64
                     : dtype == KILN_INT8  ? KILN_INT32
                                           : KILN_FLOAT32,
                     1, one);
    memset(zero, 0, sizeof zero);
    must_lt(b->lt->matmul(b->handle, b->desc, one, kiln_array_data(b->b), b->layout[0],
                          kiln_array_data(b->a), b->layout[1], zero, y, b->layout[2], y,
                          b->layout[2], &b->choice.algo, kiln_array_data(b->workspace), WORKSPACE,
                          kiln_stream_native(b->ctx, b->stream)),
            "cublasLtMatmul");
}

/* The library's type of y, as library_types.h has it. */
static int lt_out(const shape *s)
{
    switch (s->out) {
    case KILN_BFLOAT16:
        return KILN__LT_R_16BF;
    case KILN_FLOAT32:
        return KILN__LT_R_32F;
    default:
        return s->dtype == KILN_INT8 ? KILN__LT_R_32I : s->lt_type;
    }
}

/* The library's own descriptors, for y' = b' a'. */
static void prepare_direct(bench *b)
{
    const shape *s = b->s;
    const size_t room = WORKSPACE;
    kiln__lt_preference preference = NULL;
    const int transpose = KILN__LT_OP_T;
    const int64_t high = s->turned ? s->k : s->n, wide = s->turned ? s->n : s->k;
    int count = 0;

    must_lt(b->lt->desc_create(&b->desc, s->lt_compute, s->lt_scale), "descriptor");
    must_lt(b->lt->layout_create(&b->layout[0], s->lt_type, (uint64_t)high, (uint64_t)wide, high),
            "layout");
    if (s->turned)
        must_lt(b->lt->desc_set(b->desc, KILN__LT_DESC_TRANSA, &transpose, sizeof transpose),
                "transpose");
    must_lt(b->lt->layout_create(&b->layout[1], s->lt_type, (uint64_t)s->k, (uint64_t)s->m, s->k),
            "layout");
    must_lt(b->lt->layout_create(&b->layout[2], lt_out(s), (uint64_t)s->n, (uint64_t)s->m, s->n),
            "layout");
    must_lt(b->lt->preference_create(&preference), "preference");
    must_lt(b->lt->preference_set(preference, KILN__LT_PREFERENCE_WORKSPACE, &room, sizeof room),
            "workspace");
    must_lt(b->lt->heuristic(b->handle, b->desc, b->layout[0], b->layout[1], b->layout[2],
                             b->layout[2], preference, 1, &b->choice, &count),
            "heuristic");
    b->lt->preference_destroy(preference);
}

static void drop_direct(bench *b)
{
    for (int side = 0; side < 3; side++)
        b->lt->layout_destroy(b->layout[side]);
    b->lt->desc_destroy(b->desc);
}

static void prepare_and_run_direct(bench *b)
{
    prepare_direct(b);
    run_direct(b);
}

/* The arrays that the library computes into. */
static void make_direct_arrays(bench *b)
{
    const int64_t dims[] = {b->s->m, b->s->n}, bytes = WORKSPACE;
    const kiln_dtype dtype = b->s->out != KILN_DTYPE_NONE ? b->s->out
                             : b->s->dtype == KILN_INT8   ? KILN_INT32
                                                          : b->s->dtype;

    must(kiln_array_empty(b->ctx, dtype, 2, dims, &b->direct, &err));
    must(kiln_array_empty(b->ctx, KILN_INT8, 1, &bytes, &b->workspace, &err));
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Microseconds of one of `count` products, and in `*host_out` those of its call. */
static double measure(bench *b, void (*run)(bench *), int count, double *host_out)
{
    const double begin = kiln__now_us();

    for (int k = 0; k < count; k++)
        run(b);
    *host_out = (kiln__now_us() - begin) / count;
    must(kiln_stream_synchronize(b->stream, &err));
    return (kiln__now_us() - begin) / count;
}

/* The least microseconds of the host for a call, of each in turns. */
static void measure_hosts(bench *b, double hosts[2])
{
    void (*const runs[])(bench *) = {run_kiln, run_direct};
    double took;

    hosts[0] = hosts[1] = 1e9;
    for (int round = 0; round < 2 * HOST_ROUNDS; round++) {
        const double begin = kiln__now_us();
        for (int k = 0; k < HOST_CALLS; k++)
            runs[round % 2](b);
        took = (kiln__now_us() - begin) / HOST_CALLS;
        must(kiln_stream_synchronize(b->stream, &err));
        hosts[round % 2] = took < hosts[round % 2] ? took : hosts[round % 2];
    }
}

/* Whether a line was asked for, by its dtype or by its rows. */
static bool asked(const shape *s, char **names, int count)
{
    char rows[24];

    snprintf(rows, sizeof rows, "%lld", (long long)s->m);
    for (int k = 0; k < count; k++)
        if (strcmp(names[k], s->name) == 0 || strcmp(names[k], rows) == 0)
            return true;
    return count == 0;
}

/* Times of the host for first calls of a shape: kiln's, the second one of the library, and the library's first. */
static void measure_first(bench *b, double first[3])
{
    first[1] = first[2] = 0;
    if (b->lt != NULL) {
        make_direct_arrays(b);
        measure(b, prepare_and_run_direct, 1, &first[2]);
        drop_direct(b);
        measure(b, prepare_and_run_direct, 1, &first[1]);
    }
    measure(b, run_kiln, 1, &first[0]);
}

static void print_line(const bench *b, double times[2][ROUNDS], const double hosts[2],
                       const double first[3])
{
    const shape *s = b->s;
    const double work = 2.0 * (double)s->m * (double)s->k * (double)s->n;

    printf("%-10s %5lld x %5lld x %5lld  kiln %9.1f us, %8.1f GFLOP/s", s->name, (long long)s->m,
           (long long)s->k, (long long)s->n, times[0][ROUNDS / 2],
           work / times[0][ROUNDS / 2] / 1e3);
    if (b->lt != NULL)
        printf("  cuBLASLt %9.1f us  x %.3f  host %.2f and %.2f us  first %.0f, %.0f and %.0f us",
               times[1][ROUNDS / 2], times[1][ROUNDS / 2] / times[0][ROUNDS / 2], hosts[0],
               hosts[1], first[0], first[1], first[2]);
    putchar('\n');
    fflush(stdout);
}

static void show(bench *b)
{
    const shape *s = b->s;
    const double work = 2.0 * (double)s->m * (double)s->k * (double)s->n;
    const int count = work > 4e12 ? 1 : work > 1e12 ? 4 : work > 1e9 ? 12 : 60;
    double times[2][ROUNDS], hosts[2] = {0, 0}, first[3], host;

    b->a = random_matrix(b, s->m, s->k);
    b->b = s->turned ? transposed(random_matrix(b, s->n, s->k)) : random_matrix(b, s->k, s->n);
    must(kiln_context_synchronize(b->ctx, &err));
    measure_first(b, first);
    for (int k = 0; k < WARM; k++)
        run_kiln(b);
    for (int round = 0; round < ROUNDS; round++) {
        times[0][round] = measure(b, run_kiln, count, &host);
        if (b->lt != NULL)
            times[1][round] = measure(b, run_direct, count, &host);
    }
    for (int which = 0; which < (b->lt != NULL ? 2 : 1); which++)
        qsort(times[which], ROUNDS, sizeof(double), by_size);
    if (b->lt != NULL && work < 1e9)
        measure_hosts(b, hosts);
    print_line(b, times, hosts, first);
    if (b->lt != NULL)
        drop_direct(b);
    kiln_array *const all[] = {b->a, b->b, b->y, b->direct, b->workspace};
    for (size_t k = 0; k < KILN_COUNT_OF(all); k++)
        kiln_array_release(all[k]);
    b->a = b->b = b->y = b->direct = b->workspace = NULL;
}

int main(int argc, char **argv)
{
    const bool cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    const shape *shapes = cpu ? cpu_shapes : gpu_shapes;
    const size_t count = cpu ? KILN_COUNT_OF(cpu_shapes) : KILN_COUNT_OF(gpu_shapes);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    bench b = {.lt = NULL};
    bool pushed = false;

    options.device = cpu ? "cpu" : "cuda";
    must(kiln_context_create(&options, &b.ctx, &err));
    must(kiln_stream_create(b.ctx, NULL, &b.stream, &err));
    printf("%s\n", kiln_context_device(b.ctx)->name);
    if (!cpu) {
        must(kiln__device_enter(kiln__context_device(b.ctx), &pushed, &err));
        must(kiln__lt_get(kiln__context_device(b.ctx), &b.lt, &err));
        must_lt(b.lt->create(&b.handle), "cublasLtCreate");
    }
    for (size_t k = 0; k < count; k++) {
        b.s = &shapes[k];
        if (asked(b.s, argv + 1 + cpu, argc - 1 - cpu))
            show(&b);
    }
    if (!cpu) {
        b.lt->destroy(b.handle);
        kiln__device_leave(kiln__context_device(b.ctx), pushed);
    }
    kiln_stream_destroy(b.stream);
    kiln_context_release(b.ctx);
    return 0;
}
