/*
 * random_words.c - random words without end, for the programs that test generators: dieharder, PractRand, TestU01.
 *
 *     random_words [STREAMS] | dieharder -g 200 -a
 *
 * Bytes on the standard output, of one generator draw after draw, or of so many streams of one seed in turns: word k is
 * of stream k % STREAMS. Ends when nobody reads any more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { WORDS = 1 << 20, STREAMS_MAX = 1024 };

static uint32_t words[WORDS], mixed[WORDS];

int main(int argc, char **argv)
{
    const int streams = argc > 1 ? atoi(argv[1]) : 1;
    static kiln_random generator[STREAMS_MAX];
    kiln_context *ctx = NULL;

    if (streams < 1 || streams > STREAMS_MAX || WORDS % streams != 0) {
        fprintf(stderr, "usage: random_words [STREAMS], a power of two up to %d\n", STREAMS_MAX);
        return 2;
    }
    REQUIRE(kiln_context_create(NULL, &ctx, &bench_err));
    for (int s = 0; s < streams; s++)
        kiln_random_init(&generator[s], 20261123, (uint64_t)s);
    do {
        const int64_t each = WORDS / streams;
        for (int s = 0; s < streams; s++) {
            kiln_array *a = NULL;
            REQUIRE(kiln_random_array(&generator[s], ctx, KILN_DRAW_BITS, NULL, 0, KILN_UINT32, 1,
                                      &each, &a, &bench_err));
            REQUIRE(kiln_array_to_host(a, words, (size_t)each * sizeof words[0], NULL, &bench_err));
            kiln_array_release(a);
            for (int64_t k = 0; k < each; k++)
                mixed[k * streams + s] = words[k];
        }
    } while (fwrite(mixed, sizeof mixed[0], WORDS, stdout) == WORDS);
    kiln_context_release(ctx);
    return 0;
}
