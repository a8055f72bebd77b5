/*
 * name.c - whether two C++ names are the same but for blanks, as "f<int, 2>" and "f<int,2>".
 * module.c and raw.c compare names that users give with those of compilers.
 */
#include "module/module.h"

/* Blanks count only between two words: "unsigned int" is not "unsignedint". */
static const char *next_part(const char *at, char before)
{
    const char *to = at;

    while (kiln__is_blank(*to))
        to++;
    return to != at && kiln__is_word_byte(before) && kiln__is_word_byte(*to) ? to - 1 : to;
}

bool kiln__same_name(const char *a, const char *b)
{
    char before = '\0';

    for (;;) {
        a = next_part(a, before);
        b = next_part(b, before);
        if (kiln__is_blank(*a) && kiln__is_blank(*b)) {
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
