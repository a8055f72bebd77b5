/*
 * cpu.c - how fast the cpu device is, beside plain loops, NumPy and numexpr in the same run.
 *
 *     kiln_bench_cpu [--threads N] [--elements N] [--rounds N] [--save FILE] [--commit TEXT]
 *
 * Figures count each byte of an array touched once: a kernel with inputs x, y and output z moves
 * 3 * 4 bytes an element. Measurements go round: kiln, plain loops, peers, and again, so that a
 * noisy minute hits all of them; the median over all rounds is reported. Python with numpy and
 * numexpr is looked for ($KILN_BENCH_PYTHON, else python3); what is missing is said and left out.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kiln/kiln.h"
#include "plain.h"

enum { SAMPLES_MAX = 1024, REPEATS = 7, PEER_REPEATS = 5, PLAIN_THREADS_MAX = 256 };

#define CHAIN "z = sqrt(x*x + y*y) * exp(-x) + tanh(y) / (1 + x*x)"

typedef struct samples {
    double us[SAMPLES_MAX];
    int count;
} samples;

typedef struct setup {
    int threads, rounds;
    int64_t elements;
    const char *save, *commit;
    kiln_context *ctx;
    kiln_array *x, *y, *z;
} setup;

/* One line of the report. `bytes` an element; 0 where bandwidth means nothing. */
typedef struct result {
    const char *name;
    double bytes;
    samples s;
} result;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void add_sample(samples *s, double us)
{
    if (s->count < SAMPLES_MAX)
        s->us[s->count++] = us;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(samples *s)
{
    qsort(s->us, (size_t)s->count, sizeof s->us[0], by_value);
    return s->count > 0 ? s->us[s->count / 2] : 0.0;
}

static void check(kiln_status status, kiln_error *err)
{
    if (status == KILN_OK)
        return;
    kiln_error_print(err, stderr);
    exit(1);
}

/* ---- plain loops ---- */

typedef struct share {
    plain_loop loop;
    const setup *s;
    int64_t begin, end;
} share;

static void *run_share(void *given)
{
    const share *p = given;
    p->loop(kiln_array_data(p->s->x), kiln_array_data(p->s->y), kiln_array_data(p->s->z), p->begin,
            p->end);
    return NULL;
}

/* The loop over all elements, an equal share a thread; a start costs far less than a share. */
static void run_plain(const setup *s, plain_loop loop)
{
    pthread_t threads[PLAIN_THREADS_MAX];
    share shares[PLAIN_THREADS_MAX];
    const int count = s->threads < PLAIN_THREADS_MAX ? s->threads : PLAIN_THREADS_MAX;

    for (int k = 0; k < count; k++) {
        shares[k] = (share){loop, s, s->elements * k / count, s->elements * (k + 1) / count};
        if (k > 0 && pthread_create(&threads[k], NULL, run_share, &shares[k]) != 0)
            exit(1);
    }
    run_share(&shares[0]);
    for (int k = 1; k < count; k++)
        pthread_join(threads[k], NULL);
}

static void measure_plain(const setup *s, plain_loop loop, samples *out)
{
    run_plain(s, loop);
    for (int k = 0; k < REPEATS; k++) {
        const double start = now_us();
        run_plain(s, loop);
        add_sample(out, now_us() - start);
    }
}

/* ---- kiln ---- */

/* Median time of a prepared launch is what a loop over calls pays; the first run is dropped. */
static void measure_kiln(const setup *s, const char *op, kiln_array *x, kiln_array *y,
                         kiln_array *z, samples *out)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_elementwise *kernel = NULL;
    kiln_launch *launch = NULL;
    const kiln_arg args[] = {KILN_ARG(x), KILN_ARG(y), KILN_ARG(z)};

    check(kiln_elementwise_create(s->ctx, "T x, T y", "T z", op, NULL, &kernel, &err), &err);
    check(kiln_elementwise_prepare(kernel, args, 3, NULL, &launch, &err), &err);
    check(kiln_launch_run(launch, NULL, &err), &err);
    for (int k = 0; k < REPEATS; k++) {
        const double start = now_us();
        check(kiln_launch_run(launch, NULL, &err), &err);
        add_sample(out, now_us() - start);
    }
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(kernel);
}

/* The chain's values against libm's double precision; a wrong kernel has no speed. */
static void verify_chain(const setup *s)
{
    const float *x = kiln_array_data(s->x), *y = kiln_array_data(s->y), *z = kiln_array_data(s->z);

    for (int64_t k = 0; k < s->elements; k += 997) {
        const double u = x[k], v = y[k];
        const double expected = sqrt(u * u + v * v) * exp(-u) + tanh(v) / (1.0 + u * u);
        if (!(fabs(z[k] - expected) <= 2e-6 * fabs(expected) + 1e-6)) {
            fprintf(stderr, "chain: element %lld is %.9g, not %.9g\n", (long long)k, z[k],
                    expected);
            exit(1);
        }
    }
}

/* A first call with nothing cached: compile, load, run; and a call of a few elements. */
static void measure_small(const setup *s, samples *compile, samples *call)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_elementwise *kernel = NULL;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    const int64_t shape[] = {1000};
    char op[96];
    static int number = 1000;

    check(kiln_array_ones(s->ctx, KILN_FLOAT32, 1, shape, &x, &err), &err);
    check(kiln_array_ones(s->ctx, KILN_FLOAT32, 1, shape, &y, &err), &err);
    check(kiln_array_empty(s->ctx, KILN_FLOAT32, 1, shape, &z, &err), &err);
    /* A source never seen before. */
    snprintf(op, sizeof op, "z = x * y + T(%d)", ++number);
    check(kiln_elementwise_create(s->ctx, "T x, T y", "T z", op, NULL, &kernel, &err), &err);
    double start = now_us();
    check(kiln_call(kernel, &err, x, y, z), &err);
    add_sample(compile, now_us() - start);
    for (int k = 0; k < 100; k++) {
        start = now_us();
        check(kiln_call(kernel, &err, x, y, z), &err);
        add_sample(call, now_us() - start);
    }
    kiln_elementwise_destroy(kernel);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
}

/* ---- peers ---- */

typedef struct peer {
    char name[24], version[32], what[16];
    samples s;
    bool missing;
} peer;

enum { PEERS_MAX = 8 };

static void note_peer(peer *peers, int *count, const char *line)
{
    char name[24], version[32], what[16], number[32];
    int k = 0;

    if (sscanf(line, "%23s %31s %15s %31s", name, version, what, number) != 4)
        return;
    while (k < *count && (strcmp(peers[k].name, name) != 0 || strcmp(peers[k].what, what) != 0))
        k++;
    if (k == PEERS_MAX)
        return;
    if (k == *count) {
        snprintf(peers[k].name, sizeof peers[k].name, "%s", name);
        snprintf(peers[k].version, sizeof peers[k].version, "%s", version);
        snprintf(peers[k].what, sizeof peers[k].what, "%s", what);
        peers[k].missing = strcmp(number, "-") == 0;
        (*count)++;
    }
    if (!peers[k].missing)
        add_sample(&peers[k].s, atof(number) * 1e3);
}

static void measure_peers(const setup *s, peer *peers, int *count)
{
    const char *python = getenv("KILN_BENCH_PYTHON"), *folder = getenv("KILN_BENCH_DIR");
    char script[1024], elements[32], threads[16], repeats[16], line[256];
    int ends[2];

    python = python != NULL ? python : "python3";
    snprintf(script, sizeof script, "%s/cpu/peers.py", folder != NULL ? folder : KILN_BENCH_DIR);
    snprintf(elements, sizeof elements, "%lld", (long long)s->elements);
    snprintf(threads, sizeof threads, "%d", s->threads);
    snprintf(repeats, sizeof repeats, "%d", PEER_REPEATS);
    if (pipe(ends) != 0)
        exit(1);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        /* The name it was found by tells Python which environment it belongs to. */
        execlp(python, python, script, elements, threads, repeats, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        note_peer(peers, count, line);
    if (in != NULL)
        fclose(in);
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* ---- report ---- */

enum { COPY, PLAIN_AXPY, AXPY, ROW, COLUMN, TRANSPOSED, CHAIN_CASE, RESULTS };

static void report_to(FILE *out, const setup *s, result *r, peer *peers, int peer_count,
                      samples *compile, samples *call)
{
    const kiln_device_info *device = kiln_context_device(s->ctx);
    const double copy = r[COPY].bytes * (double)s->elements / median(&r[COPY].s);
    const double chain = median(&r[CHAIN_CASE].s);
    char date[32];
    time_t now = time(NULL);

    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "# kiln on the cpu\n\n%s, commit %s, kiln %s\n%s, target %s, %d threads, %s\n",
            date, s->commit, kiln_version(), device->name, device->target, s->threads,
            device->compiler);
    fprintf(out, "%lld float32 elements an array, medians of %d rounds\n\n", (long long)s->elements,
            s->rounds);
    fprintf(out, "| case | ms | GB/s | of the plain copy loop |\n|---|---|---|---|\n");
    for (int k = 0; k < RESULTS; k++) {
        const double us = median(&r[k].s), rate = r[k].bytes * (double)s->elements / us * 1e-3;
        fprintf(out, "| %s | %.2f | %.1f | %.2f |\n", r[k].name, us * 1e-3, rate,
                rate * 1e3 / copy);
    }
    fprintf(out, "\n| peer | case | ms | kiln is faster by |\n|---|---|---|---|\n");
    for (int k = 0; k < peer_count; k++) {
        const double us = median(&peers[k].s);
        const double own = strcmp(peers[k].what, "axpy") == 0 ? median(&r[AXPY].s) : chain;
        if (peers[k].missing)
            fprintf(out, "| %s | | not installed | |\n", peers[k].name);
        else
            fprintf(out, "| %s %s | %s | %.2f | %.2f |\n", peers[k].name, peers[k].version,
                    peers[k].what, us * 1e-3, us / own);
    }
    if (peer_count == 0)
        fprintf(out, "| no Python was found | | | |\n");
    fprintf(out, "\nfirst call, nothing cached: %.1f ms; a call over 1000 elements: %.2f us\n",
            median(compile) * 1e-3, median(call));
}

/* ---- the whole ---- */

static kiln_array *pattern(const setup *s, int period)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *array = NULL;

    check(kiln_array_empty(s->ctx, KILN_FLOAT32, 1, &s->elements, &array, &err), &err);
    float *data = kiln_array_data(array);
    for (int64_t k = 0; k < s->elements; k++)
        data[k] = (float)(k % period) / 256.0f;
    return array;
}

/* One round of everything. The 2-D cases see the same memory as rows of 4096. */
static void measure_round(const setup *s, result *r)
{
    kiln_error err = KILN_ERROR_INIT;
    const int64_t shape[] = {s->elements / 4096, 4096}, turned_shape[] = {4096, s->elements / 4096};
    kiln_array *x = NULL, *y = NULL, *z = NULL, *row = NULL, *column = NULL, *turned = NULL,
               *flat = NULL;

    check(kiln_array_reshape(s->x, 2, shape, &x, &err), &err);
    check(kiln_array_reshape(s->z, 2, shape, &z, &err), &err);
    check(kiln_array_reshape(s->y, 2, shape, &y, &err), &err);
    check(kiln_array_slice(y, 0, 0, 1, 1, &row, &err), &err);
    check(kiln_array_slice(y, 1, 0, 1, 1, &column, &err), &err);
    check(kiln_array_reshape(s->y, 2, turned_shape, &flat, &err), &err);
    check(kiln_array_transpose(flat, NULL, &turned, &err), &err);

    measure_plain(s, plain_copy, &r[COPY].s);
    measure_kiln(s, "z = x * y + T(1)", s->x, s->y, s->z, &r[AXPY].s);
    measure_plain(s, plain_axpy, &r[PLAIN_AXPY].s);
    measure_kiln(s, "z = x * y + T(1)", x, row, z, &r[ROW].s);
    measure_kiln(s, "z = x * y + T(1)", x, column, z, &r[COLUMN].s);
    measure_kiln(s, "z = x * y + T(1)", x, turned, z, &r[TRANSPOSED].s);
    measure_kiln(s, CHAIN, s->x, s->y, s->z, &r[CHAIN_CASE].s);
    verify_chain(s);

    kiln_array *const used[] = {x, y, z, row, column, turned, flat};
    for (size_t k = 0; k < sizeof used / sizeof used[0]; k++)
        kiln_array_release(used[k]);
}

static void read_arguments(int argc, char **argv, setup *s)
{
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : NULL;
        if (value != NULL && strcmp(argv[k], "--threads") == 0)
            s->threads = atoi(value);
        else if (value != NULL && strcmp(argv[k], "--elements") == 0)
            s->elements = atoll(value) / 4096 * 4096;
        else if (value != NULL && strcmp(argv[k], "--rounds") == 0)
            s->rounds = atoi(value);
        else if (value != NULL && strcmp(argv[k], "--save") == 0)
            s->save = value;
        else if (value != NULL && strcmp(argv[k], "--commit") == 0)
            s->commit = value;
        else
            break;
        if (++k == argc - 1 && s->threads >= 0 && s->elements > 0 && s->rounds > 0)
            return;
    }
    if (argc > 1) {
        fprintf(stderr, "usage: %s [--threads N] [--elements N] [--rounds N] [--save FILE] "
                        "[--commit TEXT]\n", argv[0]);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static result results[RESULTS] = {
        [COPY] = {"plain copy loop", 8, {{0}, 0}},
        [PLAIN_AXPY] = {"plain x*y+1 loop", 12, {{0}, 0}},
        [AXPY] = {"kiln x*y+1", 12, {{0}, 0}},
        [ROW] = {"kiln x*row+1", 8, {{0}, 0}},
        [COLUMN] = {"kiln x*column+1", 8, {{0}, 0}},
        [TRANSPOSED] = {"kiln x*y.T+1", 12, {{0}, 0}},
        [CHAIN_CASE] = {"kiln sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x)", 12, {{0}, 0}},
    };
    static peer peers[PEERS_MAX];
    static samples compile, call;
    setup s = {.rounds = 3, .elements = (int64_t)1 << 25, .commit = "unknown"};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    int peer_count = 0;

    read_arguments(argc, argv, &s);
    options.device = "cpu";
    options.cache_dir = "";
    options.cpu_threads = s.threads;
    check(kiln_context_create(&options, &s.ctx, &err), &err);
    s.threads = kiln_context_device(s.ctx)->unit_count;
    s.x = pattern(&s, 1009);
    s.y = pattern(&s, 811);
    s.z = pattern(&s, 1);
    for (int round = 0; round < s.rounds; round++) {
        fprintf(stderr, "round %d of %d\n", round + 1, s.rounds);
        measure_round(&s, results);
        measure_small(&s, &compile, &call);
        measure_peers(&s, peers, &peer_count);
    }
    report_to(stdout, &s, results, peers, peer_count, &compile, &call);
    FILE *file = s.save != NULL ? fopen(s.save, "w") : NULL;
    if (file != NULL)
        report_to(file, &s, results, peers, peer_count, &compile, &call);
    if (s.save != NULL && (file == NULL || fclose(file) != 0)) {
        fprintf(stderr, "%s cannot be written\n", s.save);
        return 1;
    }
    kiln_array_release(s.x);
    kiln_array_release(s.y);
    kiln_array_release(s.z);
    kiln_context_release(s.ctx);
    return 0;
}
