/*
 * bench_select.c - how close filters come to reading their inputs and writing what they keep.
 *
 *     bench_select [--out DIR] [--commit ID] [--device cuda:N] [--only PREFIX] [--scale N]
 *
 * 2^28 elements (divided by --scale), of which 1, 50 or 99 percent are kept, at random; in the last cases all
 * others are written as well. The limit is
 * the best hand-written kernel that reads the same streams and writes one that is as much narrower
 * (limits.h); it and kiln run alternately, and the medians of the times between events are compared.
 * Bytes are those of the inputs and of what is kept. The number kept is compared with the mask's.
 * Without a usable GPU the program says so and ends with status 77.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpu.h"
#include "limits.h"
#include "machine.h"

#define M(n) (INT64_C(1) << (n))

typedef enum work { WORK_COMPRESS, WORK_NONZERO, WORK_FILTER, WORK_BOTH } work;

typedef struct bench_case {
    const char *name, *label;
    work work;
    int percent;            /* kept */
    uint8_t read[2], write; /* bytes of a limit kernel's accesses; 0: none */
    double target;
} bench_case;

static const bench_case cases[] = {
    {"compress_1", "x[mask], 1 % kept", WORK_COMPRESS, 1, {16, 4}, 1, 0.85},
    {"compress_50", "x[mask], 50 % kept", WORK_COMPRESS, 50, {16, 4}, 8, 0.85},
    {"compress_99", "x[mask], 99 % kept", WORK_COMPRESS, 99, {16, 4}, 16, 0.85},
    {"nonzero_1", "flatnonzero(x), 1 % kept", WORK_NONZERO, 1, {16, 0}, 1, 0.85},
    {"nonzero_50", "flatnonzero(x), 50 % kept", WORK_NONZERO, 50, {16, 0}, 16, 0.85},
    {"nonzero_99", "flatnonzero(x), 99 % kept", WORK_NONZERO, 99, {8, 0}, 16, 0.85},
    {"filter_1", "x > t, 1 % kept", WORK_FILTER, 1, {16, 0}, 1, 0},
    {"filter_50", "x > t, 50 % kept", WORK_FILTER, 50, {16, 0}, 8, 0},
    {"filter_99", "x > t, 99 % kept", WORK_FILTER, 99, {16, 0}, 16, 0},
    {"both_1", "x > t and the others, 1 % kept", WORK_BOTH, 1, {16, 0}, 16, 0},
    {"both_50", "x > t and the others, 50 % kept", WORK_BOTH, 50, {16, 0}, 16, 0},
    {"both_99", "x > t and the others, 99 % kept", WORK_BOTH, 99, {16, 0}, 16, 0},
};

/* Arrays of one case. */
typedef struct bound {
    const bench_case *c;
    kiln_array *x, *mask, *y, *count, *rest, *others;
    kiln_filter *filter;
    double threshold;
    int64_t size, kept;
} bound;

static void call_once(bound *b)
{
    if (b->c->work == WORK_FILTER) {
        REQUIRE(kiln_call(b->filter, &bench_err, b->x, b->threshold, &b->y, &b->count));
        return;
    }
    if (b->c->work == WORK_BOTH) {
        REQUIRE(kiln_call(b->filter, &bench_err, b->x, b->threshold, &b->y, &b->rest, &b->count,
                          &b->others));
        return;
    }
    kiln_array_release(b->y);
    kiln_array_release(b->count);
    b->y = b->count = NULL;
    if (b->c->work == WORK_COMPRESS)
        REQUIRE(kiln_array_compress(b->x, b->mask, &b->y, &b->count, &bench_err));
    else
        REQUIRE(kiln_array_flatnonzero(b->x, &b->y, &b->count, &bench_err));
}

static int64_t number_of(const kiln_array *count)
{
    int64_t number = 0;

    REQUIRE(kiln_array_to_host(count, &number, sizeof number, NULL, &bench_err));
    return number;
}

static void bind(const machine *m, const bench_case *c, bound *b)
{
    const int64_t shape[] = {M(28) / m->scale};
    const double share = c->percent / 100.0;
    const kiln_arg kept[] = {kiln_arg_float(share)};
    const bool both = c->work == WORK_BOTH;
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_array *number = NULL;
    kiln_random rng;

    *b = (bound){.c = c, .size = shape[0], .threshold = 1 - share};
    kiln_random_init(&rng, 42, 0);
    REQUIRE(kiln_random_array(&rng, m->ctx, KILN_DRAW_BERNOULLI, kept, 1, KILN_BOOL, 1, shape,
                              &b->mask, &bench_err));
    if (c->work == WORK_NONZERO)
        REQUIRE(kiln_array_cast(b->mask, KILN_FLOAT32, &b->x, &bench_err));
    else
        REQUIRE(kiln_random_array(&rng, m->ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, 1, shape,
                                  &b->x, &bench_err));
    options.otherwise = both ? "z = x" : NULL;
    REQUIRE(kiln_filter_create(m->ctx, "T x, T t",
                               both ? "T y, T z, int64 count, int64 others" : "T y, int64 count",
                               "x > t", "y = x", &options, &b->filter, &bench_err));
    call_once(b); /* compiles, and allocates the outputs */
    b->kept = number_of(b->count);
    if (both && b->kept + number_of(b->others) != b->size) {
        fprintf(stderr, "%s: %lld kept\n", c->name, (long long)b->kept);
        exit(1);
    }
    if (c->work == WORK_COMPRESS || c->work == WORK_NONZERO) {
        REQUIRE(kiln_array_reduce(KILN_REDUCE_COUNT_NONZERO, b->mask, NULL, false, &number,
                                  &bench_err));
        if (number_of(number) != b->kept) {
            fprintf(stderr, "%s: %lld kept, not %lld\n", c->name, (long long)b->kept,
                    (long long)number_of(number));
            exit(1);
        }
        kiln_array_release(number);
    }
}

static void unbind(const machine *m, bound *b)
{
    kiln_array_release(b->x);
    kiln_array_release(b->mask);
    kiln_array_release(b->y);
    kiln_array_release(b->count);
    kiln_array_release(b->rest);
    kiln_array_release(b->others);
    kiln_filter_destroy(b->filter);
    (void)kiln_context_pool_trim(m->ctx);
}

static void call_again(void *argument)
{
    call_once(argument);
}

static void run_case(const machine *m, const bench_case *c)
{
    bound b;
    limit_kernel kernel;
    double limit_ms, kiln_ms;

    bind(m, c, &b);
    limit_case l = {.read_count = 1 + (c->read[1] != 0),
                    .write_count = 1,
                    .width = {c->read[0]},
                    .address = {kiln_array_data(b.x)},
                    .accesses = b.size / (c->read[0] / 4) / 4096 * 4096};
    if (c->read[1] != 0) {
        l.width[1] = c->read[1];
        l.address[1] = kiln_array_data(b.mask);
    }
    l.width[l.read_count] = c->write;
    l.address[l.read_count] = kiln_array_data(b.y);
    limit_find(&l, m->device->target, m->stream, &kernel);
    machine_against_limit(m, &l, &kernel, call_again, &b, &limit_ms, &kiln_ms);
    const double in = c->work == WORK_COMPRESS ? 5 : 4, out = c->work == WORK_NONZERO ? 8 : 4;
    const int64_t written = c->work == WORK_BOTH ? b.size : b.kept;
    const double bytes = in * (double)b.size + out * (double)written;
    bench_row row = {.name = c->name,
                     .label = c->label,
                     .unit = "GB/s",
                     .kiln = bytes / kiln_ms / 1e6,
                     .limit = (double)(l.accesses * (c->read[0] + c->read[1] + c->write)) /
                              limit_ms / 1e6,
                     .rule = c->target > 0 ? BENCH_AT_LEAST : BENCH_TELLS,
                     .target = c->target,
                     .note = kernel.note};
    bench_add(m->file, &row);
    limit_end(&kernel);
    unbind(m, &b);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    bench_file file;
    machine m;
    const int status = machine_open(&m, MACHINE_GPU, "select", argc, argv, &file);

    if (status != 0)
        return status;
    machine_tell_elements(&m);
    for (size_t k = 0; k < COUNT(cases); k++)
        if (machine_wants(&m, cases[k].name))
            run_case(&m, &cases[k]);
    (void)machine_close(&m);
    return 0;
}
