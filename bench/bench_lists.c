/*
 * bench_lists.c - one step of Adam over many arrays of different sizes, as calls with lists make it.
 *
 *     bench_lists [--arrays N] [--log2 N] [--runs N]
 *
 * The arrays' sizes grow by a constant factor from 10 elements to some million, 2^27 elements in all by
 * default. Times are of the device, between two events; the median is printed, with the bytes that a step must
 * read and write in that time, beside the driver's own copy of as many bytes in the same run.
 * bench/peers_lists.py measures the same step by PyTorch's optimizers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kiln/kiln.h"

enum { LISTS = 4, ARRAYS_MAX = 4096, RUNS_MAX = 1000 };

typedef struct step {
    kiln_context *ctx;
    kiln_elementwise *adam;
    kiln_launch *launch;
    kiln_program *program;
    kiln_array *lists[LISTS][ARRAYS_MAX]; /* parameters, gradients, means, squares */
    kiln_array *from, *to;
    size_t count;
    int64_t elements;
} step;

static void do_call(step *s)
{
    REQUIRE(kiln_call(s->adam, &bench_err, kiln_arg_list(s->lists[1], s->count), 1e-3, 0.9, 0.999,
                      1e-8, 0.1, 0.001, kiln_arg_list(s->lists[0], s->count),
                      kiln_arg_list(s->lists[2], s->count), kiln_arg_list(s->lists[3], s->count)));
}

static void do_each(step *s)
{
    for (size_t k = 0; k < s->count; k++)
        REQUIRE(kiln_call(s->adam, &bench_err, s->lists[1][k], 1e-3, 0.9, 0.999, 1e-8, 0.1, 0.001,
                          s->lists[0][k], s->lists[2][k], s->lists[3][k]));
}

static void do_prepared(step *s)
{
    REQUIRE(kiln_launch_run(s->launch, NULL, &bench_err));
}

static void do_program(step *s)
{
    REQUIRE(kiln_program_run(s->program, NULL, &bench_err));
}

static void do_copy(step *s)
{
    REQUIRE(kiln_array_assign(s->to, s->from, &bench_err));
}

/* Sizes from 10 on by a constant factor, so that they come to `elements`. */
static void make_arrays(step *s)
{
    double low = 1, high = 2;

    for (int k = 0; k < 100; k++) {
        const double factor = (low + high) / 2;
        double sum = 0;
        for (size_t c = 0; c < s->count; c++)
            sum += 10 * pow(factor, (double)c);
        *(sum > (double)s->elements ? &high : &low) = factor;
    }
    s->elements = 0;
    for (size_t c = 0; c < s->count; c++) {
        const int64_t size = (int64_t)(10 * pow(low, (double)c));
        for (int which = 0; which < LISTS; which++)
            REQUIRE(kiln_array_zeros(s->ctx, KILN_FLOAT32, 1, &size, &s->lists[which][c], &bench_err));
        s->elements += size;
        if (c == 0 || c + 1 == s->count)
            printf("%s array: %lld elements\n", c == 0 ? "smallest" : "largest", (long long)size);
    }
}

static double median_ms(step *s, void (*work)(step *s), int runs, double *host_us)
{
    static double ms[RUNS_MAX], us[RUNS_MAX];
    kiln_event *begin = NULL, *end = NULL;

    REQUIRE(kiln_event_create(s->ctx, NULL, &begin, &bench_err));
    REQUIRE(kiln_event_create(s->ctx, NULL, &end, &bench_err));
    for (int k = -3; k < runs; k++) {
        double took = 0;
        REQUIRE(kiln_event_record(begin, NULL, &bench_err));
        const double start = bench_now_us();
        work(s);
        const double host = bench_now_us() - start;
        REQUIRE(kiln_event_record(end, NULL, &bench_err));
        REQUIRE(kiln_event_elapsed_ms(begin, end, &took, &bench_err));
        if (k >= 0) {
            ms[k] = took;
            us[k] = host;
        }
    }
    kiln_event_destroy(begin);
    kiln_event_destroy(end);
    *host_us = bench_median(us, (size_t)runs);
    return bench_median(ms, (size_t)runs);
}

static void make_launches(step *s)
{
    const kiln_arg args[] = {kiln_arg_list(s->lists[1], s->count), kiln_arg_float(1e-3),
                             kiln_arg_float(0.9), kiln_arg_float(0.999), kiln_arg_float(1e-8),
                             kiln_arg_float(0.1), kiln_arg_float(0.001),
                             kiln_arg_list(s->lists[0], s->count),
                             kiln_arg_list(s->lists[2], s->count),
                             kiln_arg_list(s->lists[3], s->count)};

    REQUIRE(kiln_elementwise_create(
        s->ctx,
        "T g, float32 rate, float32 b1, float32 b2, float32 small, float32 c1, float32 c2",
        "T p, T m, T v",
        "m = b1 * m + (1 - b1) * g; v = b2 * v + (1 - b2) * g * g;"
        "p -= rate / c1 * m / (sqrt(v / c2) + small)",
        NULL, &s->adam, &bench_err));
    REQUIRE(kiln_elementwise_prepare(s->adam, args, COUNT(args), NULL, &s->launch, &bench_err));
    REQUIRE(kiln_capture_begin(s->ctx, NULL, &bench_err));
    do_call(s);
    REQUIRE(kiln_capture_end(s->ctx, NULL, &s->program, &bench_err));
    printf("launches of a step: %zu\n", kiln_program_step_count(s->program));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(step *s);
    } ways[] = {{"driver's copy of as many bytes", do_copy},
                {"a call with lists", do_call},
                {"a prepared call with lists", do_prepared},
                {"a captured call with lists", do_program},
                {"a call for each array", do_each}};
    static step s = {.count = 300, .elements = (int64_t)1 << 27};
    int runs = 30;
    double copy = 0;

    for (int k = 1; k + 1 < argc; k += 2) {
        const long value = atol(argv[k + 1]);
        if (strcmp(argv[k], "--arrays") == 0)
            s.count = (size_t)value;
        else if (strcmp(argv[k], "--log2") == 0)
            s.elements = (int64_t)1 << value;
        else if (strcmp(argv[k], "--runs") == 0)
            runs = (int)value;
    }
    if (s.count < 2 || s.count > ARRAYS_MAX || runs < 1 || runs > RUNS_MAX)
        return 2;
    if (kiln_context_create(NULL, &s.ctx, &bench_err) != KILN_OK) {
        kiln_error_print(&bench_err, stderr);
        return 1;
    }
    printf("Adam over %zu arrays of float32, on %s\n", s.count, kiln_context_device(s.ctx)->name);
    make_arrays(&s);
    const int64_t half = s.elements * 7 / 2; /* of the bytes: a copy reads and writes */
    REQUIRE(kiln_array_zeros(s.ctx, KILN_FLOAT32, 1, &half, &s.from, &bench_err));
    REQUIRE(kiln_array_zeros(s.ctx, KILN_FLOAT32, 1, &half, &s.to, &bench_err));
    make_launches(&s);
    for (int turn = 0; turn < 2; turn++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            double host = 0;
            const double ms = median_ms(&s, ways[w].work, runs, &host);
            copy = w == 0 ? ms : copy;
            printf("%-32s %8.3f ms  %6.0f GB/s  %5.3f of the copy  host %8.1f us\n", ways[w].name, ms,
                   (double)s.elements * 28 / ms * 1e-6, copy / ms, host);
        }
    kiln_program_destroy(s.program);
    kiln_launch_destroy(s.launch);
    kiln_elementwise_destroy(s.adam);
    for (int which = 0; which < LISTS; which++)
        for (size_t c = 0; c < s.count; c++)
            kiln_array_release(s.lists[which][c]);
    kiln_array_release(s.from);
    kiln_array_release(s.to);
    kiln_context_release(s.ctx);
    return 0;
}
