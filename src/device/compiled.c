/*
 * compiled.c - the result of a compilation: freed, and its log read for whose fault an error is
 * (the user's text, or the machine). cxx.c, nvrtc.c and src/jit call it.
 */
#include <ctype.h>

#include "device/device.h"

void kiln__compile_result_clear(kiln__compile_result *result)
{
    if (result == NULL)
        return;
    kiln__free(result->binary);
    kiln__free(result->log);
    kiln__free(result->inputs);
    *result = (kiln__compile_result)KILN__COMPILE_RESULT_INIT;
}

/* Whether the line has one of these texts. */
static bool has_any(const char *line, const char *const *texts, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strstr(line, texts[k]) != NULL)
            return true;
    return false;
}

/* Whether the text before `end` is that of a place: "x.cpp:12", "x.cpp(12)",
 * "<command-line>", "At end of source". */
static bool is_place(const char *line, const char *end)
{
    static const char last[] = "At end of source";
    const char *at = end;

    if (at > line && at[-1] == '>')
        return true;
    if (end == line + (sizeof last - 1) && kiln__starts_with(line, last))
        return true;
    if (at > line && at[-1] == ')')
        at--;
    const char *digits = at;
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    return at < digits && at > line && (at[-1] == ':' || at[-1] == '(');
}

/* "x.cpp:12:3: error: ...", "op(12): error: ...": a place in a text, and what is wrong there. */
static bool names_place(const char *line)
{
    static const char *const errors[] = {": error", ": fatal error", ": catastrophic error"};

    for (size_t k = 0; k < KILN_COUNT_OF(errors); k++) {
        const char *at = strstr(line, errors[k]);
        if (at != NULL && is_place(line, at))
            return true;
    }
    return false;
}

static bool line_blames_source(const char *line)
{
    /* What happens to a compiler while it reads a text is told with a place in it as well. */
    static const char *const passing[] = {
        "internal compiler error", "internal error",         "out of memory",
        "memory exhausted",        "Cannot allocate memory", "terminated program",
        "Too many open files",     "Input/output error",     "No space left",
        "Disk quota exceeded",     "Stale file handle",      "Resource temporarily unavailable",
        "Interrupted system call", "Permission denied"};
    static const char *const lasting[] = {"undefined reference to",
                                          "undefined symbol",
                                          "multiple definition of",
                                          "cannot find -l",
                                          "unable to find library",
                                          "ptxas error",
                                          "unrecognized",
                                          "unknown argument",
                                          "unknown option",
                                          "unsupported option",
                                          "unsupported argument",
                                          "unknown value",
                                          "unknown target",
                                          "invalid value",
                                          "invalid argument",
                                          "invalid option",
                                          "bad value",
                                          "missing argument",
                                          "No such file or directory"};

    if (has_any(line, passing, KILN_COUNT_OF(passing)))
        return false;
    return names_place(line) ||
           (strstr(line, "error") != NULL && has_any(line, lasting, KILN_COUNT_OF(lasting))) ||
           has_any(line, lasting, 4);
}

bool kiln__log_blames_source(const char *log)
{
    while (log != NULL && *log != '\0') {
        const size_t length = strcspn(log, "\n");
        char *line = kiln__strndup(log, length);
        const bool found = line != NULL && line_blames_source(line);
        kiln__free(line);
        if (found)
            return true;
        log += length + (log[length] == '\n');
    }
    return false;
}
