/*
 * log.c - what kiln has to say besides statuses: to a callback, or to stderr when there is none.
 *
 *     kiln__log_line > a callback given? > yes: the callback
 *                                        > no:  stderr, as far as $KILN_LOG lets it
 *
 * This file is the one exception to "the library never prints" (docs/design.md). A status tells
 * what a call could not do. What kiln works around (an unusable cache folder, no GPU) has no
 * status, and a user who is not told looks for the cause of slow starts in vain.
 *
 * Rule 1: errors and warnings reach stderr once per process and text, however many contexts meet
 *         them. Information is written each time, and only when $KILN_LOG asks for it.
 * Rule 2: a callback receives errors and warnings whatever $KILN_LOG says, and information when it
 *         asks for it. A program that gives a callback has nothing printed for it.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/core.h"

#define LOG_LINE_BYTES 1024

/* Texts on stderr that are told apart. A process that meets more has been warned enough. */
#define SAID_MAX 64

static const char *const level_names[] = {"off", "error", "warn", "info"};

static _Atomic uint64_t said[SAID_MAX]; /* hashes of what was printed; 0 is free */
static atomic_int threshold;            /* 1 + the level; 0: $KILN_LOG was not read yet */

/* True for the first of equal lines. */
static bool is_news(const char *line)
{
    const uint64_t hash = kiln__hash_64(line, strlen(line)) | 1;

    for (size_t k = 0; k < SAID_MAX; k++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&said[k], &there, hash))
            return true;
        if (there == hash)
            return false;
    }
    return false;
}

static void print(kiln__log_level level, const char *line)
{
    if (level == KILN__LOG_INFO || is_news(line))
        fprintf(stderr, "kiln: %s\n", line);
}

/* $KILN_LOG, read once: changing the environment while threads run is not safe in C. */
static kiln__log_level read_threshold(void)
{
    const char *text = kiln__env("KILN_LOG");
    kiln__log_level level = KILN__LOG_WARN;
    bool known = text == NULL;

    for (int k = 0; k < (int)KILN_COUNT_OF(level_names) && !known; k++) {
        known = strcmp(text, level_names[k]) == 0;
        if (known)
            level = (kiln__log_level)k;
    }
    if (atomic_exchange(&threshold, 1 + (int)level) == 0 && !known) {
        char line[128];
        snprintf(line, sizeof line,
                 "KILN_LOG=%.40s is not one of off, error, warn and info; warn is used", text);
        print(KILN__LOG_WARN, line);
    }
    return level;
}

static bool is_wanted(const kiln__log *log, kiln__log_level level)
{
    const int known = atomic_load(&threshold);
    const kiln__log_level limit = known != 0 ? (kiln__log_level)(known - 1) : read_threshold();

    return level <= limit || (log != NULL && log->fn != NULL && level <= KILN__LOG_WARN);
}

void kiln__log_line(const kiln__log *log, kiln__log_level level, const char *fmt, ...)
{
    char line[LOG_LINE_BYTES];
    va_list ap;

    if (!is_wanted(log, level))
        return;
    va_start(ap, fmt);
    int length = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (length < 0)
        return;
    /* Paths may hold line breaks; a log's reader counts lines. */
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20)
            *c = ' ';
    }
    if (log != NULL && log->fn != NULL)
        log->fn(log->user, line);
    else
        print(level, line);
}

void kiln__log_ignore(void *user, const char *line)
{
    (void)user;
    (void)line;
}
