/*
 * family_random.c - random numbers at once and as sources of graphs, against Philox in plain C.
 *
 * Only what is the same bits on all devices: random bits, uniform numbers, and what is made of them.
 */
#include <math.h>

#include "family.h"

/* Numbers: the generator's seed, its draw, the probability in 1000, the shape and the dtype asked for. */
enum { SEED, DRAW, CHANCE, RANK, SHAPE, DTYPE = SHAPE + DT_RANK };

/* Philox 4x32-10 of Salmon et al. (2011). */
static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t *c)
{
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};

    c[0] = (uint32_t)low;
    c[1] = (uint32_t)(low >> 32);
    c[2] = (uint32_t)high;
    c[3] = (uint32_t)(high >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = UINT64_C(0xD2511F53) * c[0], q = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)q;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)p;
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

/* docs/random.md, "Words and counters". */
static uint64_t word_of(const dt_case *c, int64_t i, int bits)
{
    const uint64_t seed = (uint64_t)c->number[SEED], draw = (uint64_t)c->number[DRAW];
    uint32_t words[4];

    philox(seed, (uint64_t)i / (bits > 32 ? 2 : 4), draw, words);
    return bits > 32 ? (uint64_t)words[2 * (i % 2) + 1] << 32 | words[2 * (i % 2)] : words[i % 4];
}

/* A multiple of 2^-digits in [0, 1). */
static double uniform_of(const dt_case *c, kiln_dtype dtype, int64_t i)
{
    const int digits = dt_format_of(dtype).digits;

    if (digits > 32) { /* 27 bits of the second word, then 26 of the first */
        const uint64_t w = word_of(c, i, 64);
        return ldexp((double)(w >> 37), -27) + ldexp((double)((w & 0xffffffffu) >> 6), -53);
    }
    return ldexp((double)(word_of(c, i, 32) >> (32 - digits)), -digits);
}

static bool is_named(const dt_case *c, const char *name)
{
    return dt_function_named(name) == c->function;
}

static bool draw(dt_random *d, dt_random *r, dt_case *c)
{
    const int rank = dt_below(d, 4);
    int64_t shape[DT_RANK] = {0};
    kiln_dtype dtype;

    do
        dtype = dt_draw_dtype(d);
    while (dtype == KILN_BOOL || (is_named(c, "random_bits") && !dt_is_integer(dtype)) ||
           (is_named(c, "random") && (!dt_is_float(dtype) || dt_is_float8(dtype))));
    dt_draw_small_shape(r, rank, shape);
    c->number[SEED] = dt_once_in(r, 3) ? dt_below(r, 5) : (int64_t)(dt_next(r) >> 2);
    c->number[DRAW] = c->way == DT_AS_TEXT ? 0 : dt_below(r, 4);
    c->number[CHANCE] = dt_below(r, 1001);
    c->number[RANK] = rank;
    c->number[DTYPE] = dtype;
    for (int k = 0; k < rank; k++)
        c->number[SHAPE + k] = shape[k];
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    return true;
}

static bool evaluate(const dt_case *c, const dt_array *in, dt_array *out)
{
    const kiln_dtype dtype = (kiln_dtype)c->number[DTYPE];

    if (c->operand_count != 1 || in[0].dtype != dtype ||
        (is_named(c, "random") && dt_is_float8(dtype)) || !dt_make_like(out, dtype, &in[0]))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        if (is_named(c, "random_bits")) {
            const int bits = 8 * (int)kiln_dtype_size(dtype);
            out->at[at].i = dt_wrap(dtype, word_of(c, at, bits) >> (bits < 32 ? 32 - bits : 0));
        } else if (is_named(c, "random")) {
            out->at[at].re = uniform_of(c, dtype, at);
        } else if ((float)uniform_of(c, KILN_FLOAT32, at) * 1000.0f < (float)c->number[CHANCE]) {
            out->at[at] = in[0].at[at];
        }
    }
    return true;
}

static kiln_status call(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_draw what = is_named(c, "random") ? KILN_DRAW_RANDOM : KILN_DRAW_BITS;
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_random rng;

    kiln_random_init(&rng, (uint64_t)c->number[SEED], 0);
    kiln_random_jump(&rng, (uint64_t)c->number[DRAW]);
    o.stream = a->stream;
    if (a->output[0] != NULL)
        return kiln_random_fill(&rng, what, NULL, 0, &o, a->output[0], err);
    return kiln_random_array(&rng, device->ctx, what, NULL, 0, (kiln_dtype)c->number[DTYPE],
                             (int)c->number[RANK], &c->number[SHAPE], &a->output[0], err);
}

static kiln_node record(const dt_case *c, const kiln_node *in, size_t result)
{
    const bool masks = is_named(c, "dropout");
    const kiln_dtype dtype = masks ? KILN_FLOAT32 : (kiln_dtype)c->number[DTYPE];
    const kiln_node key = kiln_node_of_int(c->number[SEED]),
                    drawn = kiln_node_of_int(c->number[DRAW]);

    (void)result;
    const kiln_node z = kiln_random_node(
        in[0].graph, is_named(c, "random_bits") ? KILN_DRAW_BITS : KILN_DRAW_RANDOM, key, drawn,
        NULL, 0, dtype, &in[0], 0, NULL, KILN_HERE);
    return masks ? kiln_where(kiln_less(kiln_multiply(z, 1000.0), (double)c->number[CHANCE]), in[0],
                              0)
                 : z;
}

static void text_of(const dt_case *c, const char *first, char *text, size_t bytes)
{
    const char *type = kiln_dtype_name((kiln_dtype)c->number[DTYPE]);

    if (is_named(c, "dropout"))
        snprintf(text, bytes, "where(uniform(%lld, x0.shape, float32) * 1000 < %lld, %s, 0)",
                 (long long)c->number[SEED], (long long)c->number[CHANCE], first);
    else
        snprintf(text, bytes, "%s(%lld, x0.shape, %s)", dt_function_name(c->function),
                 (long long)c->number[SEED], type);
}

#define ROW(name, call)                                                                            \
    {                                                                                              \
        name, DT_KIND_RANDOM, DT_MAY_BE_GIVEN | DT_MAY_RECORD | DT_MAY_PARSE, 1, draw, evaluate,   \
            call, record, text_of                                                                  \
    }
const dt_function dt_random_functions[] = {ROW("random", call), ROW("random_bits", call),
                                           ROW("dropout", NULL)};
const int dt_random_function_count = (int)DT_COUNT(dt_random_functions);
