/*
 * name.c - whether two C++ names are the same.
 */
#include "module/module.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Blanks count only between two words: "unsigned int" is not "unsignedint". */
static const char *next_part(const char *at, char before)
{
    const char *to = at;

    while (is_blank(*to))
        to++;
    return to != at && is_word(before) && is_word(*to) ? to - 1 : to;
}

bool kiln__same_name(const char *a, const char *b)
{
    char before = '\0';

    for (;;) {
        a = next_part(a, before);
        b = next_part(b, before);
        if (is_blank(*a) && is_blank(*b)) {
            before = ' ';
            a += strspn(a, " \t\n");
            b += strspn(b, " \t\n");
        }
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
        before = *a;
        a++;
        b++;
    }
}
