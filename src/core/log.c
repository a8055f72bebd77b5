/*
 * log.c - hand a one-line warning to whoever asked for warnings.
 *
 * The library never prints. What it survives (an unusable cache folder, say) it tells the
 * callback of kiln_context_options, or nobody.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/core.h"

#define LOG_LINE_BYTES 1024

void kiln__log_line(const kiln__log *log, const char *fmt, ...)
{
    char line[LOG_LINE_BYTES];
    va_list ap;
    int length = 0;

    if (log == NULL || log->fn == NULL)
        return;
    va_start(ap, fmt);
    length = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (length < 0)
        return;
    /* Paths may hold line breaks; a log's reader counts lines. */
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20)
            *c = ' ';
    }
    log->fn(log->user, line);
}
