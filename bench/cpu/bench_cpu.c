/*
 * bench_cpu.c - elementwise kernels on the cpu device against plain C loops on the same cores.
 *
 *     bench_cpu [--out DIR] [--commit ID] [--scale N] [--threads N]
 *
 * The loops are what a C programmer writes: one thread a core, each over its own part, compiled
 * with -O3 for the machine at hand. Rates count bytes read and written once. kiln and the loops
 * run alternately; medians are compared. bench/cpu/cpu_peers.py adds NumPy and numexpr.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 15, THREADS_MAX = 256 };

/* ---- plain loops ---- */

typedef struct part {
    const float *x, *y;
    float *z;
    size_t count;
} part;

typedef void (*loop)(const part *p);

static void copy_loop(const part *p)
{
    const float *restrict x = p->x;
    float *restrict z = p->z;

    for (size_t k = 0; k < p->count; k++)
        z[k] = x[k];
}

static void muladd_loop(const part *p)
{
    const float *restrict x = p->x, *restrict y = p->y;
    float *restrict z = p->z;

    for (size_t k = 0; k < p->count; k++)
        z[k] = x[k] * y[k] + 1.0f;
}

static void chain_loop(const part *p)
{
    const float *restrict x = p->x, *restrict y = p->y;
    float *restrict z = p->z;

    for (size_t k = 0; k < p->count; k++)
        z[k] = sqrtf(x[k] * x[k] + y[k] * y[k]) * expf(-x[k]) + tanhf(y[k]) / (1.0f + x[k] * x[k]);
}

/* A crew of threads that run one loop over their parts whenever they are told to. */
typedef struct crew {
    int count;
    part parts[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start, end;
    loop work; /* NULL: go home */
    int next;
} crew;

static crew team;
static pthread_mutex_t team_lock = PTHREAD_MUTEX_INITIALIZER;

static void *member(void *unused)
{
    int me;

    (void)unused;
    pthread_mutex_lock(&team_lock);
    me = team.next++;
    pthread_mutex_unlock(&team_lock);
    for (;;) {
        pthread_barrier_wait(&team.start);
        if (team.work == NULL)
            return NULL;
        team.work(&team.parts[me]);
        pthread_barrier_wait(&team.end);
    }
}

static void crew_start(int count, const float *x, const float *y, float *z, size_t size)
{
    size_t done = 0;

    team.count = count;
    pthread_barrier_init(&team.start, NULL, (unsigned)count + 1);
    pthread_barrier_init(&team.end, NULL, (unsigned)count + 1);
    for (int k = 0; k < count; k++) {
        size_t upto = size * (size_t)(k + 1) / (size_t)count;

        team.parts[k] = (part){x + done, y + done, z + done, upto - done};
        done = upto;
        if (pthread_create(&team.threads[k], NULL, member, NULL) != 0) {
            fprintf(stderr, "no thread\n");
            exit(1);
        }
    }
}

static double crew_run(loop work)
{
    double start = bench_now_us();

    team.work = work;
    pthread_barrier_wait(&team.start);
    if (work != NULL)
        pthread_barrier_wait(&team.end);
    return bench_now_us() - start;
}

static void crew_end(void)
{
    crew_run(NULL);
    for (int k = 0; k < team.count; k++)
        pthread_join(team.threads[k], NULL);
}

/* ---- kiln ---- */

typedef struct cpu_case {
    const char *name, *label, *snippet;
    loop beside;                   /* the plain loop it is compared with */
    int operands, beside_operands; /* touched: for the rates */
    double target;
} cpu_case;

static const cpu_case cases[] = {
    {"cpu_muladd", "x*y+1 float32, against a copy loop", "z = x * y + T(1)", copy_loop, 3, 2, 0.9},
    {"cpu_muladd_loop", "x*y+1 float32, against the same loop", "z = x * y + T(1)", muladd_loop, 3,
     3, 0.9},
    {"cpu_chain", "sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x), against the same loop",
     "z = sqrt(x * x + y * y) * exp(-x) + tanh(y) / (1 + x * x)", chain_loop, 3, 3, 1.0},
};

static void run_case(kiln_context *ctx, bench_file *file, const cpu_case *c, kiln_array *x,
                     kiln_array *y, kiln_array *z)
{
    kiln_elementwise *op = NULL;
    double kiln_us[ROUNDS], loop_us[ROUNDS], bytes = 4.0 * (double)kiln_array_size(x);
    bench_row row = {.name = c->name,
                     .label = c->label,
                     .unit = "GB/s",
                     .rule = BENCH_AT_LEAST,
                     .target = c->target,
                     .note = "a plain C loop"};

    REQUIRE(kiln_elementwise_create(ctx, "T x, T y", "T z", c->snippet, NULL, &op, &bench_err));
    REQUIRE(kiln_call(op, &bench_err, x, y, z));
    crew_run(c->beside);
    for (int k = 0; k < ROUNDS; k++) {
        double start = bench_now_us();

        REQUIRE(kiln_call(op, &bench_err, x, y, z));
        REQUIRE(kiln_context_synchronize(ctx, &bench_err));
        kiln_us[k] = bench_now_us() - start;
        loop_us[k] = crew_run(c->beside);
    }
    row.kiln = c->operands * bytes / bench_median(kiln_us, ROUNDS) / 1e3;
    row.limit = c->beside_operands * bytes / bench_median(loop_us, ROUNDS) / 1e3;
    bench_add(file, &row);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    const char *scale = bench_option(argc, argv, "scale");
    const char *threads = bench_option(argc, argv, "threads");
    int64_t shape[] = {(INT64_C(1) << 26) / (scale != NULL ? atoi(scale) : 1)};
    int count = threads != NULL ? atoi(threads) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    kiln_context *ctx = NULL;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    bench_file file;
    char text[64];

    count = count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
    options.device = "cpu";
    options.cpu_threads = count;
    REQUIRE(kiln_context_create(&options, &ctx, &bench_err));
    REQUIRE(kiln_array_linspace(ctx, KILN_FLOAT32, 0.1, 3, shape[0], &x, &bench_err));
    REQUIRE(kiln_array_linspace(ctx, KILN_FLOAT32, -2, 2, shape[0], &y, &bench_err));
    REQUIRE(kiln_array_zeros(ctx, KILN_FLOAT32, 1, shape, &z, &bench_err));
    bench_open(&file, bench_option(argc, argv, "out"), "cpu", bench_option(argc, argv, "commit"),
               kiln_context_device(ctx));
    snprintf(text, sizeof text, "%d", count);
    bench_fact(&file, "threads", text);
    snprintf(text, sizeof text, "%lld", (long long)shape[0]);
    bench_fact(&file, "elements", text);
    crew_start(count, kiln_array_data(x), kiln_array_data(y), kiln_array_data(z), (size_t)shape[0]);
    for (size_t k = 0; k < COUNT(cases); k++)
        run_case(ctx, &file, &cases[k], x, y, z);
    crew_end();
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_context_release(ctx);
    (void)bench_close(&file);
    return 0;
}
