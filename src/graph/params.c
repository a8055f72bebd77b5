/*
 * params.c - parameter lists in the tables of functions, such as "x, n=1, axis=-1".
 *
 * kiln__next_param() reads one parameter: its name, and its default or the only value that it may
 * have. arranging.c and written.c call it.
 *
 * Tests: test_written, test_rearrange.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/parse.h"

bool kiln__next_param(const char **list, kiln__call_param *out)
{
    const char *s = *list;

    memset(out, 0, sizeof *out);
    while (*s == ',' || *s == ' ')
        s++;
    if (*s == '\0')
        return false;
    out->name = s;
    out->bytes = strcspn(s, ",=:");
    s += out->bytes;
    if (*s == '=' || *s == ':') {
        out->mark = *s++;
        out->text = s;
        out->text_bytes = strcspn(s, ",");
        s += out->text_bytes;
    }
    *list = s;
    return true;
}

bool kiln__is_param(const kiln__call_param *q, const char *name)
{
    return kiln__same_word(q->name, q->bytes, name);
}

kiln__parsed kiln__param_default(const kiln__call_param *q)
{
    kiln__parsed v = {.kind = KILN__PARSED_NODE, .width = 1};

    if (q->mark == 0 || kiln__same_word(q->text, q->text_bytes, "None"))
        v.kind = KILN__PARSED_NONE;
    else if (kiln__same_word(q->text, q->text_bytes, "True") ||
             kiln__same_word(q->text, q->text_bytes, "False"))
        v.node = kiln_node_of_bool(q->text[0] == 'T');
    else if (memchr(q->text, 'e', q->text_bytes) != NULL) /* 1e-5: no point, for locales have others */
        v.node = kiln_node_of_float(strtod(q->text, NULL));
    else
        v.node = kiln_node_of_int(strtoll(q->text, NULL, 10));
    return v;
}
