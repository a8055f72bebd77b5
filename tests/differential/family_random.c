/*
 * family_random.c - random numbers at once and as sources of graphs, against Philox in plain C.
 *
 * What is the same bits on all devices: random bits, uniform numbers, integers, bools, permutations, and what is made
 * of them. Of normal and exponential numbers what float64 makes of the same words.
 */
#include <math.h>
#include <string.h>

#include "../philox.h"
#include "family.h"

/* Numbers: the generator's seed, its draw, the probability in 1000, the shape and the dtype asked for, and the bounds
 * of integers. */
enum { SEED, DRAW, CHANCE, RANK, SHAPE, DTYPE = SHAPE + DT_RANK, LOW, HIGH };

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
    return strcmp(dt_function_name(c->function), name) == 0;
}

/* ---- integers, bools, permutations ------------------------------------------------------------------ */

/* Further words of an element, for those that refuse some: docs/random.md. */
static uint64_t further_word(const dt_case *c, int64_t i, unsigned attempt, int bits)
{
    uint32_t words[4];

    philox((uint64_t)c->number[SEED], (uint64_t)i + ((uint64_t)(attempt + 2) << 48),
           (uint64_t)c->number[DRAW], words);
    return bits > 32 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

__extension__ typedef unsigned __int128 dt_wide;

/* Lemire's integers (2019), of words that have no more bits than the range needs. */
static uint64_t integer_of(const dt_case *c, int64_t i)
{
    const uint64_t range = (uint64_t)c->number[HIGH] - (uint64_t)c->number[LOW];
    const int bits = range <= UINT64_C(1) << 32 ? 32 : 64;
    const dt_wide all = (dt_wide)1 << bits;
    dt_wide product = (dt_wide)word_of(c, i, bits) * range;

    for (unsigned t = 0; product % all < all % range; t++)
        product = (dt_wide)further_word(c, i, t, bits) * range;
    return (uint64_t)c->number[LOW] + (uint64_t)(product >> bits);
}

/* What a round adds to the other part. */
static uint32_t mixed(uint32_t part, uint32_t key)
{
    uint32_t f = (part ^ key) * 0x9E3779B1u;

    f = (f ^ f >> 15) * 0x85EBCA77u + key;
    f = (f ^ f >> 13) * 0xC2B2AE3Du;
    return f ^ f >> 16;
}

/* Where i goes: a Feistel network of 12 rounds over the numbers of two parts, walked until it is below n. */
static int64_t permuted(const dt_case *c, int64_t i, int64_t n)
{
    uint32_t keys[12];
    uint64_t part[2];
    int bits = 10;

    while ((UINT64_C(1) << bits) < (uint64_t)n)
        bits++;
    for (unsigned k = 0; k < 3; k++)
        philox((uint64_t)c->number[SEED], k, (uint64_t)c->number[DRAW], keys + 4 * k);
    const int width[2] = {bits - bits / 2, bits / 2}; /* of the low and of the high bits */
    do {
        part[0] = (uint64_t)i % (UINT64_C(1) << width[0]);
        part[1] = (uint64_t)i >> width[0];
        for (int round = 0; round < 12; round++) { /* the high part first */
            const int to = 1 - round % 2;
            part[to] ^= mixed((uint32_t)part[1 - to], keys[round]) % (UINT64_C(1) << width[to]);
        }
        i = (int64_t)(part[1] << width[0] | part[0]);
    } while (i >= n);
    return i;
}

/* Two neighbours share what Box and Muller make of two uniform numbers. */
static double normal_of(const dt_case *c, int64_t i)
{
    const double u = uniform_of(c, KILN_FLOAT64, i - i % 2),
                 v = uniform_of(c, KILN_FLOAT64, i - i % 2 + 1);
    const double angle = 3.14159265358979323846 * (2 * v - 1);

    return sqrt(-2 * log1p(-u)) * (i % 2 ? sin(angle) : cos(angle));
}

static dt_value further_value(const dt_case *c, int64_t at)
{
    const kiln_dtype dtype = (kiln_dtype)c->number[DTYPE];
    dt_value v = {0};

    if (is_named(c, "integers")) {
        v.i = dt_wrap(dtype, integer_of(c, at));
    } else if (is_named(c, "permutation")) {
        v.i = permuted(c, at, c->number[HIGH]);
    } else if (is_named(c, "bernoulli")) {
        v.i = word_of(c, at, 32) <
              (uint64_t)((double)c->number[CHANCE] / 1000 * (double)(UINT64_C(1) << 32));
    } else {
        v.re = is_named(c, "standard_normal") ? normal_of(c, at)
                                              : -log1p(-uniform_of(c, KILN_FLOAT64, at));
        v.error = v.alone = 1e-14 * (1 + fabs(v.re));
    }
    return v;
}

static bool draw_further(dt_random *d, dt_random *r, dt_case *c)
{
    const int rank = is_named(c, "permutation") ? 1 : dt_below(d, 4);
    int64_t shape[DT_RANK] = {0};
    kiln_dtype dtype = is_named(c, "bernoulli") ? KILN_BOOL : KILN_FLOAT64;

    if (is_named(c, "permutation"))
        dtype = KILN_INT64;
    while (is_named(c, "integers") && (!dt_is_integer(dtype) || dtype == KILN_BOOL))
        dtype = dt_draw_dtype(d);
    dt_draw_small_shape(r, rank, shape);
    c->number[SEED] = dt_once_in(r, 3) ? dt_below(r, 5) : (int64_t)(dt_next(r) >> 2);
    c->number[DRAW] = c->way == DT_AS_TEXT ? 0 : dt_below(r, 4);
    c->number[CHANCE] = dt_below(d, 1001);
    c->number[RANK] = rank;
    c->number[DTYPE] = dtype;
    for (int k = 0; k < rank; k++)
        c->number[SHAPE + k] = shape[k];
    if (is_named(c, "permutation")) {
        c->number[HIGH] = shape[0];
    } else if (is_named(c, "integers")) {
        const int bits = 8 * (int)kiln_dtype_size(dtype) - (dt_is_signed(dtype) ? 1 : 0);
        const int64_t most = bits >= 62 ? INT64_MAX / 4 : (INT64_C(1) << bits) - 1;
        const int64_t reach = dt_once_in(d, 2) && most > 9 ? 9 : most;
        c->number[LOW] = (int64_t)(dt_next(d) % (uint64_t)reach);
        c->number[LOW] -= dt_is_signed(dtype) ? reach : 0;
        c->number[HIGH] = c->number[LOW] + 1 + (int64_t)(dt_next(d) % (uint64_t)reach);
        if (c->number[HIGH] > most)
            c->number[HIGH] = most;
    }
    dt_draw_operand(r, c, dtype, DT_FILL_SMALL, rank, shape);
    return true;
}

static bool evaluate_further(const dt_case *c, const dt_array *in, dt_array *out)
{
    const kiln_dtype dtype = (kiln_dtype)c->number[DTYPE];

    if (c->operand_count != 1 || in[0].dtype != dtype || !dt_make_like(out, dtype, &in[0]) ||
        (is_named(c, "permutation") && (in[0].rank != 1 || in[0].size != c->number[HIGH])) ||
        (is_named(c, "integers") && c->number[LOW] >= c->number[HIGH]))
        return false;
    for (int64_t at = 0; at < out->size; at++)
        out->at[at] = further_value(c, at);
    return true;
}

/* What is drawn, and its parameters. */
static kiln_draw further_draw(const dt_case *c, double *chance, kiln_arg *params, size_t *count)
{
    *count = 0;
    if (is_named(c, "standard_normal"))
        return KILN_DRAW_STANDARD_NORMAL;
    if (is_named(c, "standard_exponential"))
        return KILN_DRAW_STANDARD_EXPONENTIAL;
    *count = is_named(c, "integers") ? 2 : 1;
    if (is_named(c, "bernoulli")) {
        *chance = (double)c->number[CHANCE] / 1000;
        params[0] = kiln_arg_float(*chance);
        return KILN_DRAW_BERNOULLI;
    }
    params[0] = kiln_arg_int(c->number[is_named(c, "integers") ? LOW : HIGH]);
    params[1] = kiln_arg_int(c->number[HIGH]);
    return is_named(c, "integers") ? KILN_DRAW_INTEGERS : KILN_DRAW_PERMUTATION;
}

static kiln_status call_further(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_arg params[2];
    kiln_random rng;
    double chance;
    size_t count;
    const kiln_draw what = further_draw(c, &chance, params, &count);

    kiln_random_init(&rng, (uint64_t)c->number[SEED], 0);
    kiln_random_jump(&rng, (uint64_t)c->number[DRAW]);
    o.stream = a->stream;
    if (a->output[0] != NULL)
        return kiln_random_fill(&rng, what, params, count, &o, a->output[0], err);
    return kiln_random_array(&rng, device->ctx, what, params, count, (kiln_dtype)c->number[DTYPE],
                             (int)c->number[RANK], &c->number[SHAPE], &a->output[0], err);
}

static kiln_node record_further(const dt_case *c, const kiln_node *in, size_t result)
{
    kiln_arg params[2];
    kiln_node nodes[2];
    double chance = 0;
    size_t count;
    const kiln_draw what = further_draw(c, &chance, params, &count);

    (void)result;
    nodes[0] = what == KILN_DRAW_BERNOULLI  ? kiln_node_of_float(chance)
               : what == KILN_DRAW_INTEGERS ? kiln_node_of_int(c->number[LOW])
                                            : kiln_node_of_int(c->number[HIGH]);
    nodes[1] = kiln_node_of_int(c->number[HIGH]);
    return kiln_random_node(in[0].graph, what, kiln_node_of_int(c->number[SEED]),
                            kiln_node_of_int(c->number[DRAW]), nodes, count,
                            (kiln_dtype)c->number[DTYPE], &in[0], 0, NULL, KILN_HERE);
}

static void text_further(const dt_case *c, const char *first, char *text, size_t bytes)
{
    const long long seed = c->number[SEED], low = c->number[LOW], high = c->number[HIGH];

    (void)first;
    if (is_named(c, "integers"))
        snprintf(text, bytes, "integers(%lld, x0.shape, %lld, %lld, %s)", seed, low, high,
                 kiln_dtype_name((kiln_dtype)c->number[DTYPE]));
    else if (is_named(c, "bernoulli"))
        snprintf(text, bytes, "bernoulli(%lld, x0.shape, %.17g)", seed,
                 (double)c->number[CHANCE] / 1000);
    else if (is_named(c, "permutation"))
        snprintf(text, bytes, "permutation(%lld, %lld)", seed, high);
    else
        snprintf(text, bytes, "%s(%lld, x0.shape)", dt_function_name(c->function), seed);
}

/* ---- bits and uniform numbers ------------------------------------------------------------------------ */

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
#define FURTHER(name)                                                                              \
    {                                                                                              \
        name, DT_KIND_RANDOM, DT_MAY_BE_GIVEN | DT_MAY_RECORD | DT_MAY_PARSE, 1, draw_further,     \
            evaluate_further, call_further, record_further, text_further                           \
    }
const dt_function dt_random_functions[] = {
    ROW("random", call),    ROW("random_bits", call),   ROW("dropout", NULL),
    FURTHER("integers"),    FURTHER("integers"),        FURTHER("bernoulli"),
    FURTHER("permutation"), FURTHER("standard_normal"), FURTHER("standard_exponential")};
const int dt_random_function_count = (int)DT_COUNT(dt_random_functions);
