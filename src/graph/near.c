/*
 * near.c - the known word that a misspelt word probably means: conactenate, sqr, smu.
 *
 * calls.c asks for it when an expression names an unknown function. The answer is the first known
 * word that differs by one slip: a letter missing, added, changed, or swapped with its neighbour.
 *
 * Test: test_expression.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* What may have happened to a word; what happens most stands first. */
typedef enum slip_kind { SWAPPED, MISSING, WRONG, ADDED, SLIPS } slip_kind;

/* The word without the slip at place `at`, where `letter` should stand; how many bytes it has, 0 for none. */
static size_t respell(const char *word, size_t bytes, slip_kind slip, size_t at, char letter,
                      char *out)
{
    const bool inside = at < bytes, first = letter == 'a'; /* slips without a letter count once */

    memcpy(out, word, bytes);
    if (slip == MISSING) {
        memcpy(out + at + 1, word + at, bytes - at);
        out[at] = letter;
        return bytes + 1;
    }
    if (slip == WRONG && inside) {
        out[at] = letter;
        return bytes;
    }
    if (slip == ADDED && inside && first) {
        memcpy(out + at, word + at + 1, bytes - at - 1);
        return bytes - 1;
    }
    if (slip != SWAPPED || at + 1 >= bytes || !first)
        return 0;
    out[at] = word[at + 1];
    out[at + 1] = word[at];
    return bytes;
}

size_t kiln__find_near(const char *word, size_t bytes,
                       bool (*is_known)(void *user, const char *word, size_t bytes), void *user,
                       char out[KILN__NEAR_MAX])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t letter_count = sizeof letters - 1;

    if (bytes < 3 || bytes + 1 >= KILN__NEAR_MAX) /* shorter ones are near too many */
        return 0;
    for (int slip = SWAPPED; slip < SLIPS; slip++) {
        for (size_t k = 0; k < (bytes + 1) * letter_count; k++) {
            const size_t made = respell(word, bytes, (slip_kind)slip, k / letter_count,
                                        letters[k % letter_count], out);
            if (made > 0 && is_known(user, out, made))
                return made;
        }
    }
    return 0;
}
