/*
 * depend.c - which files a C++ compiler has read: what -MD makes it write, as a list.
 *
 *     "k: a.h b\ c.h \"  >  [unquote]  >  a.h, b c.h, one a line
 *
 * The form is that of a makefile's rule: blanks, '#' and '$' are quoted, a backslash at a line's end
 * goes on to the next line.
 */
#include "device/cpu/cpu.h"

#define RULE_BYTES_MAX ((size_t)4 << 20)

/* Append the name at `p` as a line; returns the end of the name. */
static const char *take_name(const char *p, kiln__buf *names)
{
    while (*p != '\0' && !kiln__is_blank(*p)) {
        if (*p == '\\' && (p[1] == ' ' || p[1] == '#'))
            p++;
        else if (*p == '\\' && p[1] == '\n')
            break;
        else if (*p == '$' && p[1] == '$')
            p++;
        kiln__buf_putc(names, *p++);
    }
    kiln__buf_putc(names, '\n');
    return p;
}

char *kiln__cxx_inputs(const char *rule)
{
    kiln__buf names = KILN__BUF_INIT;
    const char *p = strchr(rule, ':');

    for (p = p != NULL ? p + 1 : ""; *p != '\0';) {
        if (kiln__is_blank(*p))
            p++;
        else if (*p == '\\' && (p[1] == '\n' || p[1] == '\r'))
            p += 2;
        else
            p = take_name(p, &names);
    }
    if (!names.failed)
        return kiln__buf_take(&names);
    kiln__buf_clear(&names);
    return NULL;
}

char *kiln__cxx_read_inputs(const char *path)
{
    char *rule = NULL, *names = NULL;
    size_t bytes = 0;

    if (kiln__read_file(path, RULE_BYTES_MAX, &rule, &bytes) == 0 && strlen(rule) == bytes)
        names = kiln__cxx_inputs(rule);
    kiln__free(rule);
    /* A list that cannot be read gets a name that is in no key, so that the result is not cached.
     * */
    return names != NULL ? names : kiln__strdup("?\n");
}
