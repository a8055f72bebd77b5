/*
 * warm_report.c - what `kiln warm` says: progress, failures, a table, JSON.
 *
 * Progress and failures go to stderr, the summary to stdout. On a terminal progress is one line
 * that is drawn over; elsewhere a line every few seconds, for logs.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "warm.h"

enum { BAR_WIDTH = 24, BAR_WIDTH_LEAST = 8, BAR_EVERY_US = 100000, LINE_EVERY_US = 5000000 };

static const char *const end_names[WARM_END_COUNT] = {"compiled", "cached", "failed", "skipped"};

/* ---- progress ---------------------------------------------------------------------------------- */

static void format_time(double s, char *text, size_t bytes)
{
    if (s >= 3600)
        snprintf(text, bytes, "%d:%02d:%02d", (int)s / 3600, (int)s / 60 % 60, (int)s % 60);
    else
        snprintf(text, bytes, "%d:%02d", (int)s / 60, (int)s % 60);
}

/* Columns of the terminal that stderr is; 80 where it does not tell. */
static size_t terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* One line of at most the terminal's width: a longer one could not be drawn over. The bar gives way
 * to the figures, and these are cut at last. */
static void draw_bar(const struct warm *w, const char *figures)
{
    const size_t columns = terminal_columns() - 1, needed = strlen(figures) + sizeof "[] " - 1;
    const size_t left = columns > needed ? columns - needed : 0;
    const size_t width = left < BAR_WIDTH ? left : BAR_WIDTH;
    const size_t done = w->item_count > 0 ? w->done_count * width / w->item_count : width;
    char bar[BAR_WIDTH + 1];

    memset(bar, ' ', sizeof bar);
    memset(bar, '#', done < width ? done : width);
    if (width >= BAR_WIDTH_LEAST)
        fprintf(stderr, "\r\033[K[%.*s] %s", (int)width, bar, figures);
    else
        fprintf(stderr, "\r\033[K%.*s", (int)columns, figures);
    fflush(stderr);
}

void warm_progress(struct warm *w, bool last)
{
    const double now = kiln__now_us(), elapsed = (now - w->start_us) / 1e6;
    const double rate = elapsed > 0 ? (double)w->done_count / elapsed : 0;
    const double left = rate > 0 ? (double)(w->item_count - w->done_count) / rate : 0;
    char figures[160], time[32];

    if (last && w->bar)
        fputs("\r\033[K", stderr);
    if (last || now - w->shown_us < (w->bar ? BAR_EVERY_US : LINE_EVERY_US))
        return;
    w->shown_us = now;
    format_time(left, time, sizeof time);
    snprintf(figures, sizeof figures, "%zu of %zu kernels, %.1f/s, %s left%s", w->done_count,
             w->item_count, rate, rate > 0 ? time : "?", w->failed_count > 0 ? ", some failed" : "");
    if (w->bar)
        draw_bar(w, figures);
    else
        fprintf(stderr, "kiln: %s\n", figures);
}

/* ---- failures ---------------------------------------------------------------------------------- */

/* What compilers say may hold any bytes, or end within a character: those are shown as '?'. */
static void put_json(kiln__buf *out, const char *name, const char *text)
{
    const bool utf8 = kiln__utf8_check(text, strlen(text));

    kiln__buf_printf(out, "\"%s\": \"", name);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            kiln__buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            kiln__buf_printf(out, "\\u%04x", c);
        else
            kiln__buf_putc(out, utf8 || c < 0x80 ? (char)c : '?');
    }
    kiln__buf_putc(out, '"');
}

/* Whether this message was not said before: a snippet that is wrong is wrong for every target. */
static bool is_news(struct warm *w, const kiln_error *err)
{
    bool is_new = true;

    (void)kiln__map_enter(&w->said, err->message, strlen(err->message), &is_new);
    return is_new;
}

/* An object that tells which line came to what end on which target. */
static void put_end(kiln__buf *out, const struct warm *w, const kiln__manifest_entry *entry,
                    size_t target, const kiln_error *placed)
{
    kiln__buf_puts(out, out->length > 0 ? ",\n    {" : "\n    {");
    put_json(out, "file", entry != NULL ? entry->file : "");
    kiln__buf_printf(out, ", \"line\": %zu, ", entry != NULL ? entry->line : 0);
    put_json(out, "target", w->targets[target].name);
    kiln__buf_puts(out, ", ");
    put_json(out, "status", kiln_status_name(placed->status));
    kiln__buf_puts(out, ",\n     ");
    put_json(out, "message", placed->message);
    kiln__buf_puts(out, ",\n     ");
    put_json(out, "detail", placed->detail != NULL ? placed->detail : "");
    kiln__buf_putc(out, '}');
}

static void note_failure(struct warm *w, const kiln__manifest_entry *entry, size_t target,
                         enum warm_end end, const kiln_error *err)
{
    kiln_error placed = KILN_ERROR_INIT;

    kiln__error_copy(&placed, err);
    if (entry != NULL)
        kiln__warm_place(entry, &placed);
    if (w->json)
        put_end(end == WARM_SKIPPED ? &w->skipped : &w->failures, w, entry, target, &placed);
    if ((end == WARM_FAILED || w->listing) && is_news(w, &placed)) {
        if (w->bar)
            fputs("\r\033[K", stderr);
        tool_error(&placed);
    }
    kiln_error_clear(&placed);
}

void warm_note(struct warm *w, const kiln__manifest_entry *entry, size_t target, enum warm_end end,
               uint64_t bytes, double compile_us, const kiln_error *err)
{
    struct warm_tally *t = &w->tally[target];

    t->ends[end]++;
    t->bytes += bytes;
    t->compile_us += compile_us;
    w->done_count++;
    w->failed_count += end == WARM_FAILED;
    if ((end == WARM_FAILED || end == WARM_SKIPPED) && err != NULL)
        note_failure(w, entry, target, end, err);
}

/* ---- the summary ------------------------------------------------------------------------------- */

static void add_tally(struct warm_tally *sum, const struct warm_tally *t)
{
    for (int e = 0; e < WARM_END_COUNT; e++)
        sum->ends[e] += t->ends[e];
    sum->bytes += t->bytes;
    sum->compile_us += t->compile_us;
}

static void print_row(const char *name, const struct warm_tally *t)
{
    printf("%-12s", name);
    for (int e = 0; e < WARM_END_COUNT; e++)
        printf(" %8" PRIu64, t->ends[e]);
    printf(" %8.2f MB %9.1f s\n", (double)t->bytes / 1e6, t->compile_us / 1e6);
}

static void print_table(const struct warm *w, const char *bundle)
{
    struct warm_tally sum = {{0}, 0, 0};

    printf("%-12s %8s %8s %8s %8s %11s %11s\n", "target", end_names[0], end_names[1], end_names[2],
           end_names[3], "size", "compiling");
    for (size_t t = 0; t < w->target_count; t++) {
        print_row(w->targets[t].name, &w->tally[t]);
        add_tally(&sum, &w->tally[t]);
    }
    if (w->target_count > 1)
        print_row("all", &sum);
    printf("%.1f s, %d worker%s of at most %" PRIu64 " MB\n", w->wall_s, w->workers,
           w->workers == 1 ? "" : "s", w->worker_peak_bytes / 1000000);
    if (bundle != NULL)
        printf("bundle %s\n", bundle);
}

static void print_json(const struct warm *w, const char *bundle)
{
    kiln__buf b = KILN__BUF_INIT;

    kiln__buf_puts(&b, "{\n  \"targets\": [");
    for (size_t t = 0; t < w->target_count; t++) {
        kiln__buf_puts(&b, t > 0 ? ",\n    {" : "\n    {");
        put_json(&b, "target", w->targets[t].name);
        for (int e = 0; e < WARM_END_COUNT; e++)
            kiln__buf_printf(&b, ", \"%s\": %" PRIu64, end_names[e], w->tally[t].ends[e]);
        kiln__buf_printf(&b, ", \"bytes\": %" PRIu64 ", \"compile_s\": %.3f}", w->tally[t].bytes,
                         w->tally[t].compile_us / 1e6);
    }
    kiln__buf_printf(&b, "\n  ],\n  \"failures\": [%s%s],\n",
                     w->failures.length > 0 ? w->failures.text : "",
                     w->failures.length > 0 ? "\n  " : "");
    kiln__buf_printf(&b, "  \"skipped\": [%s%s],\n", w->skipped.length > 0 ? w->skipped.text : "",
                     w->skipped.length > 0 ? "\n  " : "");
    kiln__buf_printf(&b, "  \"wall_s\": %.3f, \"cpu_s\": %.3f, \"workers\": %d, \"retries\": %zu,\n"
                     "  \"worker_peak_bytes\": %" PRIu64 ",\n  ",
                     w->wall_s, w->cpu_s, w->workers, w->retry_count, w->worker_peak_bytes);
    put_json(&b, "bundle", bundle != NULL ? bundle : "");
    kiln__buf_puts(&b, "\n}\n");
    fputs(b.failed ? "{}\n" : b.text, stdout);
    kiln__buf_clear(&b);
}

void warm_print_summary(const struct warm *w, const char *bundle)
{
    if (w->json)
        print_json(w, bundle);
    else
        print_table(w, bundle);
}
