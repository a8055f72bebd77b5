/*
 * bench.h - what the benchmark programs share: time, medians, and result files.
 *
 * A result file is one JSON object: what the machine is, then `rows`, one a line, each a case:
 *
 *     {"case": "linear_float32", "unit": "GB/s", "kiln": 4300.1, "limit": 4352.0, ...}
 *
 * bench/peers.py adds fields to rows of the same `case`; bench/report.py makes tables of them.
 */
#ifndef KILN_BENCH_H
#define KILN_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kiln/kiln.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* How a row is judged against the other side's figure. */
typedef enum bench_rule {
    BENCH_AT_LEAST, /* kiln / limit >= target: rates */
    BENCH_AT_MOST,  /* kiln <= target: absolute times */
    BENCH_OVER_BY,  /* kiln - limit <= target: times beyond the limit */
    BENCH_TELLS     /* no target */
} bench_rule;

typedef struct bench_row {
    const char *name;  /* stable identifier */
    const char *label; /* for people */
    const char *unit;
    double kiln;
    double limit; /* 0: there is none */
    bench_rule rule;
    double target;
    const char *note; /* what the limit was; may be NULL */
} bench_row;

typedef struct bench_file {
    FILE *out;
    size_t rows, missed;
    char path[512];
} bench_file;

/* Microseconds since some moment, monotonic. */
double bench_now_us(void);

/* Middle value; sorts `values`. */
double bench_median(double *values, size_t count);
double bench_least(const double *values, size_t count);

/* Say what failed, with the error's texts, and end the program. */
void bench_require(kiln_status status, const kiln_error *err, const char *what);
#define REQUIRE(call) bench_require((call), &bench_err, #call)
extern kiln_error bench_err;

/* Begin DIR/NAME.json (DIR NULL: no file). `commit` NULL asks git. */
void bench_open(bench_file *file, const char *dir, const char *name, const char *commit,
                const kiln_device_info *device);
/* One more line of facts about the machine, before the first row. */
void bench_fact(bench_file *file, const char *key, const char *value);
/* Print a row and write it. */
void bench_add(bench_file *file, const bench_row *row);
/* Returns how many rows missed their target. */
size_t bench_close(bench_file *file);

/* The value after `--name`, or NULL. */
const char *bench_option(int argc, char **argv, const char *name);

#endif
