/*
 * limit.c - sizes as people write them: "200M", "1.5GiB", "none".
 *
 * store.c calls this file for KILN_CACHE_LIMIT. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "cache/parts.h"

/* The factor of a unit, 0 for no unit: K, M, G, T and KiB... by 1024, KB... by 1000. */
static double factor_of(const char *unit)
{
    static const char letters[] = "KMGT";
    double base = 1024, factor = 1;

    if (unit[0] == '\0' || strcasecmp(unit, "B") == 0)
        return 1;
    const char *at = strchr(letters, toupper((unsigned char)unit[0]));
    if (at == NULL)
        return 0;
    if (strcasecmp(unit + 1, "B") == 0)
        base = 1000;
    else if (unit[1] != '\0' && strcasecmp(unit + 1, "iB") != 0)
        return 0;
    for (const char *l = letters; l <= at; l++)
        factor *= base;
    return factor;
}

bool kiln__bytes_parse(const char *text, uint64_t *bytes_out)
{
    char *end = NULL;

    if (strcasecmp(text, "none") == 0) {
        *bytes_out = UINT64_MAX;
        return true;
    }
    /* strtod would take "inf", "nan", signs, blanks and hexadecimal. */
    if (!isdigit((unsigned char)text[0]) || strpbrk(text, "xXpP") != NULL)
        return false;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    double factor = factor_of(end);
    value *= factor;
    if (factor == 0 || !(value < 9e18))
        return false;
    *bytes_out = (uint64_t)value;
    return true;
}
