/*
 * utf8.c - whether bytes are UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Error messages, .npz names, manifests and timelines are tested with it.
 */
#include "core/core.h"

size_t kiln__utf8_sequence(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t n = s[0] < 0x80   ? 1
                     : s[0] < 0xC2 ? 0
                     : s[0] < 0xE0 ? 2
                     : s[0] < 0xF0 ? 3
                     : s[0] < 0xF5 ? 4
                                   : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t k = 1; k < n; k++)
        if (!kiln__utf8_continues(text[k]))
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90))
        return 0;
    return n;
}

bool kiln__utf8_check(const char *text, size_t bytes)
{
    size_t n = 1;

    for (; bytes > 0 && n != 0; text += n, bytes -= n)
        n = kiln__utf8_sequence(text, bytes);
    return n != 0;
}
