/*
 * quick.c - sorts of integers and of double by the processor's vectors: quick.h for 32 and 64 bits,
 * with AVX-512 and with AVX2.
 *
 *     numbers of sort_numbers.c, nth_cpu.c, partition_cpu.c > [quick] > sorted or parted numbers
 *
 * Functions here are compiled for processors that this machine may not be: kiln__quick_of() tells,
 * by the target, which ones may be called. Other processors sort by digits (sort_cpu.c).
 *
 * Tests: test_quick, test_sort.
 */
#include "sorting/sorting.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <pthread.h>

#ifndef QUICK_FEW
#define QUICK_FEW 512 /* part_many() holds 384 aside */
#endif

/* ---- orders of lanes ------------------------------------------------------------------------- */

/* For each mask the numbers of 8 lanes: first those whose bit is 0, then the others. A lane of 64
 * bits is two of them, of which both have the bit, where vectors have 256 bits. */
static uint64_t lane_orders[256], lane_pair_orders[16];

static uint64_t lane_order(unsigned mask)
{
    uint64_t order = 0;
    int used = 0;

    for (unsigned wanted = 0; wanted < 2; wanted++)
        for (unsigned lane = 0; lane < 8; lane++)
            if ((mask >> lane & 1) == wanted)
                order |= (uint64_t)lane << 8 * used++;
    return order;
}

static void fill_orders(void)
{
    for (unsigned mask = 0; mask < 256; mask++)
        lane_orders[mask] = lane_order(mask);
    for (unsigned mask = 0; mask < 16; mask++)
        lane_pair_orders[mask] =
            lane_order((mask & 1) * 3 | (mask & 2) * 6 | (mask & 4) * 12 | (mask & 8) * 24);
}

/* ---- AVX-512 --------------------------------------------------------------------------------- */

#define TARGET_512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")))
#define INLINE_512 TARGET_512 static inline __attribute__((always_inline, unused))

/* The vectors of one width, of which the intrinsics' names end in `epi`. Lanes whose number has
 * `bit` are a mask: of 16 lanes, of which 64-bit vectors use 8. */
#define VECTORS_512(set, number, GREATEST, set1, epi, mask, all, lane_numbers)                     \
    INLINE_512 mask set##_first(int64_t count)                                                     \
    {                                                                                              \
        return (mask)_bzhi_u32(all, count < 0 ? 0 : count > 16 ? 16 : (unsigned)count);            \
    }                                                                                              \
    INLINE_512 __m512i set##_load(const number *at)                                                \
    {                                                                                              \
        return _mm512_loadu_si512(at);                                                             \
    }                                                                                              \
    INLINE_512 void set##_store(number *at, __m512i v)                                             \
    {                                                                                              \
        _mm512_storeu_si512(at, v);                                                                \
    }                                                                                              \
    INLINE_512 __m512i set##_same(number v)                                                        \
    {                                                                                              \
        return set1(v);                                                                            \
    }                                                                                              \
    INLINE_512 __m512i set##_load_some(const number *at, int64_t count)                            \
    {                                                                                              \
        return _mm512_mask_loadu_##epi(set##_same(GREATEST), set##_first(count), at);              \
    }                                                                                              \
    INLINE_512 void set##_store_some(number *at, __m512i v, int64_t count)                         \
    {                                                                                              \
        _mm512_mask_storeu_##epi(at, set##_first(count), v);                                       \
    }                                                                                              \
    INLINE_512 __m512i set##_swap(__m512i v, const int x)                                          \
    {                                                                                              \
        return _mm512_permutexvar_##epi(_mm512_xor_si512(lane_numbers, _mm512_set1_##epi(x)), v);  \
    }                                                                                              \
    INLINE_512 void set##_deal(__m512i v, unsigned over, number *left, number *high)               \
    {                                                                                              \
        _mm512_storeu_si512(left, _mm512_maskz_compress_##epi((mask)~over, v));                    \
        _mm512_storeu_si512(high, _mm512_maskz_compress_##epi((mask)over, v));                     \
    }                                                                                              \
    INLINE_512 void set##_keep(__m512i v, unsigned wanted, number *to)                             \
    {                                                                                              \
        _mm512_storeu_si512(to, _mm512_maskz_compress_##epi((mask)wanted, v));                     \
    }                                                                                              \
    INLINE_512 void set##_spread_some(__m512i v, unsigned over, int here, number *left,            \
                                      number *right)                                               \
    {                                                                                              \
        const int many = __builtin_popcount(over);                                                 \
        const mask under = (mask)_bzhi_u32(~over, (unsigned)here);                                 \
        _mm512_mask_storeu_##epi(left, set##_first(here - many),                                   \
                                 _mm512_maskz_compress_##epi(under, v));                           \
        _mm512_mask_storeu_##epi(right - many, (mask)_bzhi_u32(all, (unsigned)many),               \
                                 _mm512_maskz_compress_##epi((mask)over, v));                      \
    }
#define REALS_512(v) _mm512_castpd_si512(_mm512_set1_pd(v))
VECTORS_512(avx512_32, int32_t, INT32_MAX, _mm512_set1_epi32, epi32, __mmask16, 0xffff,
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
VECTORS_512(avx512_64, int64_t, INT64_MAX, _mm512_set1_epi64, epi64, __mmask8, 0xff,
            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))
VECTORS_512(avx512_f64, double, (double)INFINITY, REALS_512, epi64, __mmask8, 0xff,
            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))

INLINE_512 void avx512_32_spread(__m512i v, unsigned over, int32_t *left, int32_t *right)
{
    const int many = __builtin_popcount(over);
    _mm512_storeu_si512(left, _mm512_maskz_compress_epi32((__mmask16)~over, v));
    _mm512_mask_storeu_epi32(right - many, (__mmask16)_bzhi_u32(0xffff, (unsigned)many),
                             _mm512_maskz_compress_epi32((__mmask16)over, v));
}

/* Lanes of 64 bits by a table of orders: one instruction for both sides. */
INLINE_512 __m512i avx512_order(__m512i v, unsigned over)
{
    return _mm512_permutexvar_epi64(
        _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((int64_t)lane_orders[over])), v);
}

INLINE_512 void avx512_64_spread(__m512i v, unsigned over, int64_t *left, int64_t *right)
{
    const __m512i dealt = avx512_order(v, over);
    _mm512_storeu_si512(left, dealt);
    _mm512_storeu_si512(right - 8, dealt);
}

INLINE_512 void avx512_f64_spread(__m512i v, unsigned over, double *left, double *right)
{
    const __m512i dealt = avx512_order(v, over);
    _mm512_storeu_si512(left, dealt);
    _mm512_storeu_si512(right - 8, dealt);
}

INLINE_512 unsigned avx512_32_above(__m512i v, __m512i border)
{
    return _mm512_cmpgt_epi32_mask(v, border);
}

INLINE_512 unsigned avx512_64_above(__m512i v, __m512i border)
{
    return _mm512_cmpgt_epi64_mask(v, border);
}

INLINE_512 unsigned avx512_f64_above(__m512i v, __m512i border)
{
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(v), _mm512_castsi512_pd(border), _CMP_GT_OQ);
}

INLINE_512 void avx512_32_order(__m512i *a, __m512i *b)
{
    const __m512i low = _mm512_min_epi32(*a, *b);
    *b = _mm512_max_epi32(*a, *b);
    *a = low;
}

INLINE_512 __m512i avx512_32_choose(__m512i a, __m512i b, const int bit)
{
    const unsigned lanes = bit == 1 ? 0xaaaa : bit == 2 ? 0xcccc : bit == 4 ? 0xf0f0 : 0xff00;
    return _mm512_mask_max_epi32(_mm512_min_epi32(a, b), (__mmask16)lanes, a, b);
}

/* Minima and maxima of 64 bits are two instructions each. Two numbers and the lesser one have the
 * bits of the greater one an odd number of times (0x96). */
INLINE_512 void avx512_64_order(__m512i *a, __m512i *b)
{
    const __m512i low = _mm512_min_epi64(*a, *b);
    *b = _mm512_ternarylogic_epi64(*a, *b, low, 0x96);
    *a = low;
}

INLINE_512 __m512i avx512_64_choose(__m512i a, __m512i b, const int bit)
{
    const unsigned lanes = bit == 1 ? 0xaa : bit == 2 ? 0xcc : 0xf0;
    return _mm512_mask_ternarylogic_epi64(_mm512_min_epi64(a, b), (__mmask8)lanes, a, b, 0x96);
}

INLINE_512 void avx512_f64_order(__m512i *a, __m512i *b)
{
    const __m512d x = _mm512_castsi512_pd(*a), y = _mm512_castsi512_pd(*b);
    *a = _mm512_castpd_si512(_mm512_min_pd(x, y));
    *b = _mm512_castpd_si512(_mm512_max_pd(x, y));
}

INLINE_512 __m512i avx512_f64_choose(__m512i a, __m512i b, const int bit)
{
    const unsigned lanes = bit == 1 ? 0xaa : bit == 2 ? 0xcc : 0xf0;
    const __m512d x = _mm512_castsi512_pd(a), y = _mm512_castsi512_pd(b);
    return _mm512_castpd_si512(_mm512_mask_max_pd(_mm512_min_pd(x, y), (__mmask8)lanes, x, y));
}

/* One level of the tree: of lanes that stand at borders `at`, each goes to one of the two
 * beneath. */
#define LEVEL_512(epi, borders)                                                                    \
    at = _mm512_mask_add_##epi(_mm512_add_##epi(at, at), _mm512_cmpgt_##epi##_mask(v, borders),    \
                               _mm512_add_##epi(at, at), one)

/* A border is chosen by the low bits of its number, of as many as the vectors hold. */
INLINE_512 void avx512_32_walk(const int32_t *a, const int32_t *borders, uint8_t *parts)
{
    const __m512i v = avx512_32_load(a), one = avx512_32_same(1);
    const __m512i top = avx512_32_load(borders), next = avx512_32_load(borders + 16);
    __m512i at = one;

    LEVEL_512(epi32, _mm512_permutexvar_epi32(at, top));
    LEVEL_512(epi32, _mm512_permutexvar_epi32(at, top));
    LEVEL_512(epi32, _mm512_permutexvar_epi32(at, top));
    LEVEL_512(epi32, _mm512_permutexvar_epi32(at, top));
    LEVEL_512(epi32, _mm512_permutexvar_epi32(at, next));
    LEVEL_512(epi32, _mm512_permutex2var_epi32(avx512_32_load(borders + 32), at,
                                               avx512_32_load(borders + 48)));
    at = _mm512_and_si512(at, avx512_32_same(KILN__QUICK_PARTS - 1));
    _mm_storeu_si128((__m128i *)(void *)parts, _mm512_cvtepi32_epi8(at));
}

INLINE_512 void avx512_64_walk(const int64_t *a, const int64_t *borders, uint8_t *parts)
{
    const __m512i v = avx512_64_load(a), one = avx512_64_same(1);
    const __m512i top = avx512_64_load(borders), next = avx512_64_load(borders + 8);
    __m512i at = one;

    LEVEL_512(epi64, _mm512_permutexvar_epi64(at, top));
    LEVEL_512(epi64, _mm512_permutexvar_epi64(at, top));
    LEVEL_512(epi64, _mm512_permutexvar_epi64(at, top));
    LEVEL_512(epi64, _mm512_permutexvar_epi64(at, next));
    LEVEL_512(epi64, _mm512_permutex2var_epi64(avx512_64_load(borders + 16), at,
                                               avx512_64_load(borders + 24)));
    const __m512i low =
        _mm512_permutex2var_epi64(avx512_64_load(borders + 32), at, avx512_64_load(borders + 40));
    const __m512i high =
        _mm512_permutex2var_epi64(avx512_64_load(borders + 48), at, avx512_64_load(borders + 56));
    LEVEL_512(epi64,
              _mm512_mask_mov_epi64(low, _mm512_test_epi64_mask(at, avx512_64_same(16)), high));
    at = _mm512_and_si512(at, avx512_64_same(KILN__QUICK_PARTS - 1));
    _mm_storel_epi64((__m128i *)(void *)parts, _mm512_cvtepi64_epi8(at));
}

/* ---- AVX2 ------------------------------------------------------------------------------------ */

#define TARGET_256 __attribute__((target("avx2,bmi2,popcnt")))
#define INLINE_256 TARGET_256 static inline __attribute__((always_inline, unused))

INLINE_256 __m256i avx2_order(__m256i v, uint64_t order)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)order)));
}

INLINE_256 __m256i avx2_32_first(int64_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE_256 __m256i avx2_64_first(int64_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

INLINE_256 unsigned avx2_32_above(__m256i v, __m256i border)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(v, border)));
}

INLINE_256 unsigned avx2_64_above(__m256i v, __m256i border)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(v, border)));
}

INLINE_256 __m256i avx2_32_swap(__m256i v, const int x)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return x == 1   ? _mm256_shuffle_epi32(v, 0xb1)
           : x == 2 ? _mm256_shuffle_epi32(v, 0x4e)
           : x == 3 ? _mm256_shuffle_epi32(v, 0x1b)
                    : _mm256_permutevar8x32_epi32(v, _mm256_xor_si256(lanes, _mm256_set1_epi32(x)));
}

INLINE_256 __m256i avx2_64_swap(__m256i v, const int x)
{
    return x == 1   ? _mm256_shuffle_epi32(v, 0x4e)
           : x == 2 ? _mm256_permute4x64_epi64(v, 0x4e)
                    : _mm256_permute4x64_epi64(v, 0x1b);
}

INLINE_256 void avx2_32_order(__m256i *a, __m256i *b)
{
    const __m256i low = _mm256_min_epi32(*a, *b);
    *b = _mm256_max_epi32(*a, *b);
    *a = low;
}

/* The greater number as for AVX-512, for a blend is two instructions as well, which wait for the
 * comparison. */
INLINE_256 void avx2_64_order(__m256i *a, __m256i *b)
{
    const __m256i over = _mm256_cmpgt_epi64(*a, *b), low = _mm256_blendv_epi8(*a, *b, over);
    *b = _mm256_xor_si256(_mm256_xor_si256(*a, *b), low);
    *a = low;
}

INLINE_256 __m256i avx2_32_choose(__m256i a, __m256i b, const int bit)
{
    const __m256i low = _mm256_min_epi32(a, b), high = _mm256_max_epi32(a, b);
    return bit == 1   ? _mm256_blend_epi32(low, high, 0xaa)
           : bit == 2 ? _mm256_blend_epi32(low, high, 0xcc)
                      : _mm256_blend_epi32(low, high, 0xf0);
}

INLINE_256 __m256i avx2_64_choose(__m256i a, __m256i b, const int bit)
{
    const __m256i lanes =
        bit == 1 ? _mm256_setr_epi64x(0, -1, 0, -1) : _mm256_setr_epi64x(0, 0, -1, -1);
    return _mm256_blendv_epi8(a, b, _mm256_xor_si256(_mm256_cmpgt_epi64(a, b), lanes));
}

INLINE_256 __m256i avx2_f64_first(int64_t count)
{
    return avx2_64_first(count);
}

INLINE_256 unsigned avx2_f64_above(__m256i v, __m256i border)
{
    return (unsigned)_mm256_movemask_pd(
        _mm256_cmp_pd(_mm256_castsi256_pd(v), _mm256_castsi256_pd(border), _CMP_GT_OQ));
}

INLINE_256 __m256i avx2_f64_swap(__m256i v, const int x)
{
    return avx2_64_swap(v, x);
}

INLINE_256 void avx2_f64_order(__m256i *a, __m256i *b)
{
    const __m256d x = _mm256_castsi256_pd(*a), y = _mm256_castsi256_pd(*b);
    *a = _mm256_castpd_si256(_mm256_min_pd(x, y));
    *b = _mm256_castpd_si256(_mm256_max_pd(x, y));
}

INLINE_256 __m256i avx2_f64_choose(__m256i a, __m256i b, const int bit)
{
    const __m256d x = _mm256_castsi256_pd(a), y = _mm256_castsi256_pd(b);
    const __m256d low = _mm256_min_pd(x, y), high = _mm256_max_pd(x, y);
    return _mm256_castpd_si256(bit == 1 ? _mm256_blend_pd(low, high, 0xa)
                                        : _mm256_blend_pd(low, high, 0xc));
}

/* What all vectors of 256 bits have in common. */
#define VECTORS_256(set, number, GREATEST, LANES, set1, epi, word, orders)                         \
    INLINE_256 __m256i set##_load(const number *at)                                                \
    {                                                                                              \
        return _mm256_loadu_si256((const __m256i *)(const void *)at);                              \
    }                                                                                              \
    INLINE_256 void set##_store(number *at, __m256i v)                                             \
    {                                                                                              \
        _mm256_storeu_si256((__m256i *)(void *)at, v);                                             \
    }                                                                                              \
    INLINE_256 __m256i set##_same(number v)                                                        \
    {                                                                                              \
        return set1(v);                                                                            \
    }                                                                                              \
    INLINE_256 __m256i set##_load_some(const number *at, int64_t count)                            \
    {                                                                                              \
        const __m256i first = set##_first(count);                                                  \
        return _mm256_blendv_epi8(set##_same(GREATEST),                                            \
                                  _mm256_maskload_##epi((const word *)at, first), first);          \
    }                                                                                              \
    INLINE_256 void set##_store_some(number *at, __m256i v, int64_t count)                         \
    {                                                                                              \
        _mm256_maskstore_##epi((word *)at, set##_first(count), v);                                 \
    }                                                                                              \
    INLINE_256 void set##_spread(__m256i v, unsigned over, number *left, number *right)            \
    {                                                                                              \
        const __m256i dealt = avx2_order(v, orders[over]);                                         \
        set##_store(left, dealt);                                                                  \
        set##_store(right - LANES, dealt);                                                         \
    }                                                                                              \
    INLINE_256 void set##_deal(__m256i v, unsigned over, number *left, number *high)               \
    {                                                                                              \
        set##_store(left, avx2_order(v, orders[over]));                                            \
        set##_store(high, avx2_order(v, orders[~over & ((1u << LANES) - 1u)]));                    \
    }                                                                                              \
    INLINE_256 void set##_keep(__m256i v, unsigned wanted, number *to)                             \
    {                                                                                              \
        set##_store(to, avx2_order(v, orders[~wanted & ((1u << LANES) - 1u)]));                    \
    }                                                                                              \
    INLINE_256 void set##_spread_some(__m256i v, unsigned over, int here, number *left,            \
                                      number *right)                                               \
    {                                                                                              \
        const int many = __builtin_popcount(over);                                                 \
        const __m256i dealt = avx2_order(v, orders[over]), none = _mm256_set1_epi8(-1);            \
        /* Lanes that are not there have no bit: they stand between the two. */                    \
        _mm256_maskstore_##epi((word *)left, set##_first(here - many), dealt);                     \
        _mm256_maskstore_##epi((word *)right - LANES,                                              \
                               _mm256_xor_si256(set##_first(LANES - many), none), dealt);          \
    }
/* Several walks side by side: each level of one waits for the level before. */
#define WALK_256(set, BITS, LANES)                                                                 \
    INLINE_256 void set##_walk(const int##BITS##_t *a, const int##BITS##_t *borders,               \
                               uint8_t *parts)                                                     \
    {                                                                                              \
        unsigned at[LANES];                                                                        \
        for (int k = 0; k < LANES; k++)                                                            \
            at[k] = 2 + (a[k] > borders[1]);                                                       \
        for (int level = 2; level < KILN__QUICK_PARTS; level *= 2)                                 \
            for (int k = 0; k < LANES; k++)                                                        \
                at[k] = 2 * at[k] + (a[k] > borders[at[k]]);                                       \
        for (int k = 0; k < LANES; k++)                                                            \
            parts[k] = (uint8_t)(at[k] - KILN__QUICK_PARTS);                                       \
    }
WALK_256(avx2_32, 32, 8)
WALK_256(avx2_64, 64, 4)
#define REALS_256(v) _mm256_castpd_si256(_mm256_set1_pd(v))
VECTORS_256(avx2_32, int32_t, INT32_MAX, 8, _mm256_set1_epi32, epi32, int, lane_orders)
VECTORS_256(avx2_64, int64_t, INT64_MAX, 4, _mm256_set1_epi64x, epi64, long long, lane_pair_orders)
VECTORS_256(avx2_f64, double, (double)INFINITY, 4, REALS_256, epi64, long long, lane_pair_orders)

/* ---- the sorts ------------------------------------------------------------------------------- */

/* The middle between two numbers, and the number before one. */
static inline int64_t middle_of(int64_t low, int64_t high)
{
    return (low & high) + ((low ^ high) >> 1);
}

static inline int64_t number_before(int64_t n)
{
    return n - 1;
}

/* Of real numbers, which are no NaN, by integers in the same order: so that each cut leaves half of
 * the values. */
static inline int64_t ordered_of_real(double v)
{
    int64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static inline double real_of_ordered(int64_t ordered)
{
    const int64_t bits = ordered < 0 ? INT64_MIN - ordered : ordered;
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline double middle_of_reals(double low, double high)
{
    return real_of_ordered(middle_of(ordered_of_real(low), ordered_of_real(high)));
}

static inline double real_before(double v)
{
    return real_of_ordered(ordered_of_real(v) - 1);
}

#define QUICK_FN INLINE_512
#define QUICK_OUT TARGET_512 __attribute__((noinline)) static
#define QUICK_MIDDLE middle_of
#define QUICK_BEFORE number_before
#define QUICK_BURST 8
#define NETWORK_ROWS 16
#define vec __m512i

#define QUICK_ONE_NETWORK false
#define QUICK_ASIDE_FALLS false
#define QUICK(name) avx512_32_##name
#define QUICK_LOWEST INT32_MIN
#define LANES 16
#define number int32_t
#include "sorting/quick.h"

#undef QUICK
#undef QUICK_ONE_NETWORK
#undef QUICK_ASIDE_FALLS
#undef QUICK_LOWEST
#undef LANES
#undef number
#define QUICK_ONE_NETWORK false
#define QUICK_ASIDE_FALLS true
#define QUICK(name) avx512_64_##name
#define QUICK_LOWEST INT64_MIN
#define LANES 8
#define number int64_t
#include "sorting/quick.h"

#undef QUICK
#undef QUICK_ONE_NETWORK
#undef QUICK_ASIDE_FALLS
#undef QUICK_LOWEST
#undef QUICK_MIDDLE
#undef QUICK_BEFORE
#undef number
#define QUICK_ONE_NETWORK true
#define QUICK_ASIDE_FALLS true
#define QUICK(name) avx512_f64_##name
#define QUICK_LOWEST -INFINITY
#define QUICK_MIDDLE middle_of_reals
#define QUICK_BEFORE real_before
#define QUICK_SORTS_ONLY
#define number double
#include "sorting/quick.h"

#undef QUICK_FN
#undef QUICK_OUT
#undef QUICK_BURST
#undef NETWORK_ROWS
#undef vec
#define QUICK_FN INLINE_256
#define QUICK_OUT TARGET_256 __attribute__((noinline)) static
#define QUICK_BURST 4
#define NETWORK_ROWS 8
#define vec __m256i

#undef QUICK
#undef QUICK_ONE_NETWORK
#undef QUICK_ASIDE_FALLS
#undef QUICK_LOWEST
#undef QUICK_MIDDLE
#undef QUICK_BEFORE
#undef QUICK_SORTS_ONLY
#undef LANES
#undef number
#define QUICK_MIDDLE middle_of
#define QUICK_BEFORE number_before
#define QUICK_ONE_NETWORK false
#define QUICK_ASIDE_FALLS true
#define QUICK(name) avx2_32_##name
#define QUICK_LOWEST INT32_MIN
#define LANES 8
#define number int32_t
#include "sorting/quick.h"

#undef QUICK
#undef QUICK_ONE_NETWORK
#undef QUICK_ASIDE_FALLS
#undef QUICK_LOWEST
#undef LANES
#undef number
#define QUICK_ONE_NETWORK false
#define QUICK_ASIDE_FALLS true
#define QUICK(name) avx2_64_##name
#define QUICK_LOWEST INT64_MIN
#define LANES 4
#define number int64_t
#include "sorting/quick.h"

#undef QUICK
#undef QUICK_ONE_NETWORK
#undef QUICK_ASIDE_FALLS
#undef QUICK_LOWEST
#undef QUICK_MIDDLE
#undef QUICK_BEFORE
#undef number
#define QUICK_ONE_NETWORK false
#define QUICK_ASIDE_FALLS true
#define QUICK(name) avx2_f64_##name
#define QUICK_LOWEST -INFINITY
#define QUICK_MIDDLE middle_of_reals
#define QUICK_BEFORE real_before
#define QUICK_SORTS_ONLY
#define number double
#include "sorting/quick.h"

#define FUNCTIONS(set)                                                                             \
    {                                                                                              \
        set##_sort, set##_settle, set##_cut, set##_classify, set##_between, set##_part             \
    }

static pthread_once_t once = PTHREAD_ONCE_INIT;

bool kiln__quick_of(const char *target, int bits, kiln__quick *out)
{
    static const kiln__quick wide[] = {FUNCTIONS(avx512_32), FUNCTIONS(avx512_64)};
    static const kiln__quick narrow[] = {FUNCTIONS(avx2_32), FUNCTIONS(avx2_64)};

    const bool is_wide = strcmp(target, "x86-64-v4") == 0;

    if (!is_wide && strcmp(target, "x86-64-v3") != 0)
        return false;
    pthread_once(&once, fill_orders);
    *out = is_wide ? wide[bits == 64] : narrow[bits == 64];
    return true;
}
/* Subnormal numbers are no zeros while numbers are sorted, and nothing is trapped, whatever the
 * program has set. */
enum { PLAIN_MODE = 0x1f80, MODE_BITS = 0xffc0 };

#define SORT_REALS(set)                                                                            \
    static void set##_sort_reals(void *numbers, int64_t count)                                     \
    {                                                                                              \
        const unsigned mode = _mm_getcsr();                                                        \
        if ((mode & MODE_BITS) != PLAIN_MODE)                                                      \
            _mm_setcsr(PLAIN_MODE);                                                                \
        set##_sort(numbers, count);                                                                \
        if ((mode & MODE_BITS) != PLAIN_MODE)                                                      \
            _mm_setcsr(mode);                                                                      \
    }
SORT_REALS(avx512_f64)
SORT_REALS(avx2_f64)

kiln__quick_sort kiln__quick_reals_of(const char *target)
{
    const bool is_wide = strcmp(target, "x86-64-v4") == 0;

    if (!is_wide && strcmp(target, "x86-64-v3") != 0)
        return NULL;
    pthread_once(&once, fill_orders);
    return is_wide ? avx512_f64_sort_reals : avx2_f64_sort_reals;
}
#else
bool kiln__quick_of(const char *target, int bits, kiln__quick *out)
{
    (void)target;
    (void)bits;
    (void)out;
    return false;
}

kiln__quick_sort kiln__quick_reals_of(const char *target)
{
    (void)target;
    return NULL;
}
#endif
