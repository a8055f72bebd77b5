/*
 * bench.c - time, medians and result files; see bench.h.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

kiln_error bench_err = KILN_ERROR_INIT;

double bench_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_least(const double *values, size_t count)
{
    double least = values[0];

    for (size_t k = 1; k < count; k++)
        least = values[k] < least ? values[k] : least;
    return least;
}

void bench_require(kiln_status status, const kiln_error *err, const char *what)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, kiln_status_name(status));
    kiln_error_print(err, stderr);
    if (err->log != NULL)
        fprintf(stderr, "%s\n", err->log);
    exit(1);
}

/* ---- result files ---- */

static void put_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        if ((unsigned char)*text >= ' ')
            putc(*text, out);
    }
    putc('"', out);
}

void bench_fact(bench_file *file, const char *key, const char *value)
{
    if (file->out == NULL)
        return;
    fprintf(file->out, "  \"%s\": ", key);
    put_text(file->out, value);
    fprintf(file->out, ",\n");
}

/* The commit the sources are at, as git tells it; "" when it does not. */
static void ask_commit(char *text, size_t bytes)
{
    FILE *git = popen("git rev-parse --short=12 HEAD 2>/dev/null", "r");

    text[0] = '\0';
    if (git == NULL)
        return;
    if (fgets(text, (int)bytes, git) == NULL)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    pclose(git);
}

void bench_open(bench_file *file, const char *dir, const char *name, const char *commit,
                const kiln_device_info *device)
{
    char text[128], found[64];
    time_t now = time(NULL);
    struct tm utc;

    memset(file, 0, sizeof *file);
    if (commit == NULL) {
        ask_commit(found, sizeof found);
        commit = found;
    }
    printf("kiln %s on %s (%s, %s), %s\n\n", kiln_version(), device->name, device->id,
           device->target, device->compiler);
    if (dir == NULL)
        return;
    snprintf(file->path, sizeof file->path, "%s/%s.json", dir, name);
    file->out = fopen(file->path, "w");
    if (file->out == NULL) {
        perror(file->path);
        exit(1);
    }
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(file->out, "{\n");
    bench_fact(file, "date", text);
    bench_fact(file, "kiln", kiln_version());
    bench_fact(file, "commit", commit);
    bench_fact(file, "device", device->name);
    bench_fact(file, "target", device->target);
    bench_fact(file, "compiler", device->compiler);
    bench_fact(file, "driver", device->driver);
}

static bool meets(const bench_row *row)
{
    switch (row->rule) {
    case BENCH_AT_LEAST:
        return row->kiln >= row->target * row->limit;
    case BENCH_AT_MOST:
        return row->kiln <= row->target;
    case BENCH_OVER_BY:
        return row->kiln - row->limit <= row->target;
    case BENCH_TELLS:
        break;
    }
    return true;
}

static void print_row(const bench_row *row)
{
    printf("%-44s %10.3f %-5s", row->label, row->kiln, row->unit);
    if (row->limit > 0)
        printf(" limit %10.3f", row->limit);
    if (row->rule == BENCH_AT_LEAST)
        printf("  %.3f of it, wanted %.2f", row->kiln / row->limit, row->target);
    else if (row->rule == BENCH_OVER_BY)
        printf("  %+.3f, wanted %+.2f", row->kiln - row->limit, row->target);
    else if (row->rule == BENCH_AT_MOST)
        printf("  wanted at most %.3f", row->target);
    else if (row->limit > 0)
        printf("  %.3f of it", row->kiln / row->limit);
    printf("%s\n", meets(row) ? "" : "  MISSED");
    fflush(stdout);
}

void bench_add(bench_file *file, const bench_row *row)
{
    static const char *const rules[] = {"at least", "at most", "over by", "tells"};

    print_row(row);
    file->missed += !meets(row);
    if (file->out == NULL)
        return;
    fprintf(file->out, file->rows == 0 ? "  \"rows\": [\n    " : ",\n    ");
    file->rows++;
    fprintf(file->out, "{\"case\": \"%s\", \"label\": ", row->name);
    put_text(file->out, row->label);
    fprintf(file->out, ", \"unit\": \"%s\", \"kiln\": %.4f", row->unit, row->kiln);
    if (row->limit > 0)
        fprintf(file->out, ", \"limit\": %.4f", row->limit);
    if (row->rule != BENCH_TELLS)
        fprintf(file->out, ", \"rule\": \"%s\", \"target\": %g, \"met\": %s", rules[row->rule],
                row->target, meets(row) ? "true" : "false");
    if (row->note != NULL) {
        fprintf(file->out, ", \"note\": ");
        put_text(file->out, row->note);
    }
    fprintf(file->out, "}");
    fflush(file->out);
}

size_t bench_close(bench_file *file)
{
    printf("\n%zu rows missed their target\n", file->missed);
    if (file->out != NULL) {
        fprintf(file->out, "%s\n  ]\n}\n", file->rows == 0 ? "  \"rows\": [" : "");
        fclose(file->out);
        printf("written to %s\n", file->path);
    }
    return file->missed;
}

const char *bench_option(int argc, char **argv, const char *name)
{
    for (int k = 1; k + 1 < argc; k++)
        if (strncmp(argv[k], "--", 2) == 0 && strcmp(argv[k] + 2, name) == 0)
            return argv[k + 1];
    return NULL;
}
