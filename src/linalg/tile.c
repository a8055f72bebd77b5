/*
 * tile.c - the inner loop of kiln's own matrix product: one small tile of sums, held in registers.
 *
 *     product_own.c packs > [tile] > product_own.c stores
 *
 *     for each k:    a: | rows |     b: | columns |     sum += a (as a column) * b (as a row)
 *
 * A tile's height and width are those that fill the registers of an instruction set: its sums, one row
 * of b and one element of a. The loops have constant bounds, so that compilers unroll them whole.
 *
 * Rule: this file is compiled with contraction of products and sums (CMakeLists.txt), which C allows and
 *       GCC leaves out by default; nothing else belongs into it.
 */
#include "linalg/linalg.h"

/* One function: `lanes` elements are a vector of the instruction set that `target` names. */
#define KILN_TILE(name, type, lanes, row_count, column_count, target)                              \
    typedef type name##_vector                                                                     \
        __attribute__((vector_size((lanes) * sizeof(type)), aligned(sizeof(type)), may_alias));    \
    target static void name(int64_t k, const void *packed_a, const void *packed_b, void *sums,     \
                            int64_t step)                                                          \
    {                                                                                              \
        enum { VECTORS = (column_count) / (lanes) };                                               \
        const type *a = packed_a, *b = packed_b;                                                   \
        type *at = sums;                                                                           \
        name##_vector sum[row_count][VECTORS];                                                     \
        for (int i = 0; i < (row_count); i++)                                                      \
            for (int j = 0; j < VECTORS; j++)                                                      \
                sum[i][j] = *(const name##_vector *)(at + i * step + j * (lanes));                 \
        for (int64_t p = 0; p < k; p++, a += (row_count), b += (column_count))                     \
            for (int i = 0; i < (row_count); i++)                                                  \
                for (int j = 0; j < VECTORS; j++)                                                  \
                    sum[i][j] += a[i] * *(const name##_vector *)(b + j * (lanes));                 \
        for (int i = 0; i < (row_count); i++)                                                      \
            for (int j = 0; j < VECTORS; j++)                                                      \
                *(name##_vector *)(at + i * step + j * (lanes)) = sum[i][j];                       \
    }

/* The same for the four kinds of elements, with vectors of `bytes`. */
#define KILN_TILES(set, bytes, row_count, vectors, target)                                         \
    KILN_TILE(set##_float, float, (bytes) / 4, row_count, (bytes) / 4 * (vectors), target)         \
    KILN_TILE(set##_double, double, (bytes) / 8, row_count, (bytes) / 8 * (vectors), target)       \
    KILN_TILE(set##_uint32, uint32_t, (bytes) / 4, row_count, (bytes) / 4 * (vectors), target)     \
    KILN_TILE(set##_uint64, uint64_t, (bytes) / 8, row_count, (bytes) / 8 * (vectors), target)     \
    static const kiln__tile set[KILN__TILE_KINDS] = {                                              \
        [KILN__TILE_FLOAT] = {row_count, (bytes) / 4 * (vectors), 4, set##_float},                 \
        [KILN__TILE_DOUBLE] = {row_count, (bytes) / 8 * (vectors), 8, set##_double},               \
        [KILN__TILE_UINT32] = {row_count, (bytes) / 4 * (vectors), 4, set##_uint32},               \
        [KILN__TILE_UINT64] = {row_count, (bytes) / 8 * (vectors), 8, set##_uint64},               \
    };

#if defined(__x86_64__)
KILN_TILES(sse2, 16, 4, 2, )
KILN_TILES(avx2, 32, 6, 2, __attribute__((target("avx2,fma"))))
KILN_TILES(avx512, 64, 12, 2, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))))

const kiln__tile *kiln__tile_of(kiln__tile_kind kind)
{
    const char *target = kiln__cpu_target();

    if (strcmp(target, "x86-64-v4") == 0)
        return &avx512[kind];
    return strcmp(target, "x86-64-v3") == 0 ? &avx2[kind] : &sse2[kind];
}
#else
KILN_TILES(plain, 16, 6, 4, )

const kiln__tile *kiln__tile_of(kiln__tile_kind kind)
{
    return &plain[kind];
}
#endif
