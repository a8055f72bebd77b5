#line 1 "preamble"
typedef decltype(T() + 0.0f) A;
struct pieces { A xx, yy, xy; };
struct spread { A mean, m2, count; };
__device__ inline spread joined(const spread &a, const spread &b)
{
    const A count = a.count + b.count, delta = b.mean - a.mean, part = b.count / count;
    const A m2 = a.m2 + b.m2 + delta * delta * a.count * part;
    return spread{a.mean + delta * part, m2, count};
}

#line * "kiln.generated"

typedef
#line 1 "stage1.type"
A
#line * "kiln.generated"

kiln__type_0;
typedef kiln__type_0 kiln__part_0;
static_assert(sizeof(kiln__part_0) <= 104, "an accumulator may have 104 bytes");
typedef
#line 1 "stage2.type"
A
#line * "kiln.generated"

kiln__type_1;
typedef kiln__type_1 kiln__part_1;
static_assert(sizeof(kiln__part_1) <= 104, "an accumulator may have 104 bytes");

struct kiln__args {
    long long size;
    const T *ptr_x;
    T *ptr_y;
    long long rows, length, count, chunk;
    long long shape_0;
    long long shape_1;
    kiln__divisor32 walk_1;
    kiln__divisor32 walk_0;
    long long stride_x_0;
    long long stride_x_1;
    long long stride_y_0;
    long long stride_y_1;
};

union alignas(16) kiln__slot {
    unsigned char part_0[sizeof(kiln__part_0)];
    unsigned char part_1[sizeof(kiln__part_1)];
};
template <bool kiln__flip = true, class kiln__P> KILN_FN kiln__P kiln__exchange(const kiln__P &kiln__p, int kiln__l)
{
    constexpr int kiln__words = (sizeof(kiln__P) + 3) / 4;
    unsigned int kiln__w[kiln__words];
    kiln__P kiln__q;
    kiln__w[kiln__words - 1] = 0;
    memcpy(kiln__w, &kiln__p, sizeof(kiln__P));
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__words; kiln__k++)
        kiln__w[kiln__k] = kiln__flip ? __shfl_xor_sync(0xffffffffu, kiln__w[kiln__k], kiln__l) : __shfl_sync(0xffffffffu, kiln__w[kiln__k], kiln__l);
    memcpy(&kiln__q, kiln__w, sizeof(kiln__P));
    return kiln__q;
}
template <class kiln__T, int kiln__W, int kiln__threads>
KILN_FN void kiln__copy_rows(unsigned char *kiln__to, const int kiln__to_pad, const unsigned char *kiln__from, const int kiln__from_pad, const int kiln__size, const int kiln__bytes)
{
    typedef typename kiln__word<kiln__W>::type kiln__chunk;
    constexpr int kiln__N = kiln__threads > 128 ? 4 : 8; // as many as keep memory busy between all blocks
    const int kiln__whole = kiln__bytes / kiln__W * kiln__W;
    auto kiln__apart = [&](const int kiln__b, const int kiln__pad) { return kiln__b + (kiln__pad > 0 ? kiln__b / kiln__size * kiln__pad : 0); };
    int kiln__b = threadIdx.x * kiln__W;
    // Rows that are no further apart are one piece of memory: all accesses of a step but the last lie within.
    #pragma unroll 1
    for (; kiln__to_pad + kiln__from_pad == 0 && kiln__b + (kiln__N - 1) * kiln__threads * kiln__W < kiln__whole; kiln__b += kiln__N * kiln__threads * kiln__W) {
        kiln__chunk kiln__words[kiln__N];
        #pragma unroll
        for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
            kiln__words[kiln__n] = *(const kiln__chunk *)(kiln__from + kiln__b + kiln__n * kiln__threads * kiln__W);
        #pragma unroll
        for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
            *(kiln__chunk *)(kiln__to + kiln__b + kiln__n * kiln__threads * kiln__W) = kiln__words[kiln__n];
    }
    #pragma unroll 1
    for (; kiln__b < kiln__whole; kiln__b += kiln__N * kiln__threads * kiln__W) {
        kiln__chunk kiln__words[kiln__N];
        #pragma unroll
        for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
            if (kiln__b + kiln__n * kiln__threads * kiln__W < kiln__whole)
                kiln__words[kiln__n] = *(const kiln__chunk *)(kiln__from + kiln__apart(kiln__b + kiln__n * kiln__threads * kiln__W, kiln__from_pad));
        #pragma unroll
        for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
            if (kiln__b + kiln__n * kiln__threads * kiln__W < kiln__whole)
                *(kiln__chunk *)(kiln__to + kiln__apart(kiln__b + kiln__n * kiln__threads * kiln__W, kiln__to_pad)) = kiln__words[kiln__n];
    }
    for (kiln__b = kiln__whole + threadIdx.x * (int)sizeof(kiln__T); kiln__b < kiln__bytes; kiln__b += kiln__threads * (int)sizeof(kiln__T))
        *(kiln__T *)(kiln__to + kiln__apart(kiln__b, kiln__to_pad)) = *(const kiln__T *)(kiln__from + kiln__apart(kiln__b, kiln__from_pad));
}
// Among neighbouring lanes; the first one's order of operands counts for all.
template <int kiln__G, class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_warp(kiln__P p, const kiln__M &merge)
{
    #pragma unroll
    for (int d = kiln__G / 2; d > 0; d /= 2)
        p = merge(p, kiln__exchange(p, d));
    return kiln__G > 1 ? kiln__exchange<false>(p, (int)(threadIdx.x % 32) & ~(kiln__G - 1)) : p;
}
#define KILN__COMBINE(nth, p, merge) kiln__in_warp<1>(p, merge)
extern "C" __global__ void
__launch_bounds__(128, 5)
softmax__held(const __grid_constant__ kiln__args kiln__a)
{
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
    (void)n;
    const int kiln__begin = (int)blockIdx.x * (int)kiln__a.chunk;
    const int kiln__behind = kiln__begin + (int)kiln__a.chunk < (int)kiln__a.rows ? kiln__begin + (int)kiln__a.chunk : (int)kiln__a.rows;
    __shared__ alignas(16) unsigned char kiln__tile[36864];
    constexpr int kiln__held = 0
        + 256 + (int)sizeof(T)
        , kiln__stored = 0
        + 256 + (int)sizeof(T)
        ;
    [[maybe_unused]] constexpr bool kiln__in_place = kiln__held == kiln__stored && kiln__held < 512;
    int kiln__room = 0;
    const int kiln__size_x = (int)kiln__a.count * (int)sizeof(T);
    const int kiln__pad_x = kiln__size_x % 16 == 0 ? 16 : 0;
    unsigned char *const kiln__tile_x = kiln__tile + kiln__room;
    kiln__room += (int)kiln__a.chunk * (kiln__size_x + kiln__pad_x);
    kiln__room = kiln__in_place ? 0 : kiln__room;
    const int kiln__size_y = (int)kiln__a.count * (int)sizeof(T);
    const int kiln__pad_y = kiln__size_y % 16 == 0 ? 16 : 0;
    unsigned char *const kiln__tile_y = kiln__tile + kiln__room;
    kiln__room += (int)kiln__a.chunk * (kiln__size_y + kiln__pad_y);
    kiln__copy_rows<T, 16, 128>(kiln__tile_x, kiln__pad_x,
        (const unsigned char *)kiln__a.ptr_x + (long long)kiln__begin * kiln__size_x, 0, kiln__size_x, (int)(kiln__behind - kiln__begin) * kiln__size_x);
    __syncthreads();
    #pragma unroll 1
    for (int kiln__number = kiln__begin + threadIdx.x; kiln__number < kiln__behind; kiln__number += 128) {
    [[maybe_unused]] constexpr int kiln__U = 36, kiln__V = 1, kiln__S = 128;
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int kiln__F = 32;
    [[maybe_unused]] const int kiln__beside = threadIdx.x / 1, kiln__lane = threadIdx.x % 1;
    constexpr int kiln__rank = 0;
    constexpr int kiln__step = 1 * 1;
    const int kiln__first = kiln__rank * 1 + kiln__lane;
    [[maybe_unused]] const int kiln__length = (int)kiln__a.length;
    int kiln__rest = kiln__number;
    constexpr bool kiln__live = true;
    [[maybe_unused]] const int kiln__at_0 = kiln__rest;
    const char *const kiln__row_x = (const char *)kiln__tile_x + (int)(kiln__number - kiln__begin) * (kiln__size_x + kiln__pad_x);
    char *const kiln__row_y = (char *)kiln__tile_y + (int)(kiln__number - kiln__begin) * (kiln__size_y + kiln__pad_y);
    const int kiln__from = kiln__first;
    T kiln__reg_x[kiln__U][kiln__V];
    A kiln__val_e[kiln__U][kiln__V];
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
        const int kiln__j = kiln__from + kiln__u * kiln__step;
        if (kiln__u < kiln__F || kiln__j < kiln__length) {
            int kiln__rest_j = kiln__j;
            [[maybe_unused]] const int kiln__at_1 = kiln__rest_j;
            const int kiln__along_x = kiln__j * (int)sizeof(T);
            kiln__load(kiln__reg_x[kiln__u], kiln__row_x + kiln__along_x);
        }
    }

    auto kiln__map_0 = [&](
    const int
        , const T &x
        , A &e
    ) -> kiln__type_0 {
        return (kiln__type_0)(
#line 1 "stage1.map"
A(x)
#line * "kiln.generated"

        );
    };
    auto kiln__reduce_0 = [&](const kiln__type_0 &a, const kiln__type_0 &b) -> kiln__type_0 {
        return (kiln__type_0)(
#line 1 "stage1.reduce"
fmax(a, b)
#line * "kiln.generated"

        );
    };
    auto kiln__empty_0 = [&]() -> kiln__part_0 {
        return (kiln__type_0)(
#line 1 "stage1.identity"
-INFINITY
#line * "kiln.generated"

        );
    };
    auto &kiln__merge_0 = kiln__reduce_0;
    auto kiln__fold_0 = [&](kiln__part_0 &kiln__acc, const kiln__type_0 &kiln__v) {
        kiln__acc = kiln__reduce_0(kiln__acc, kiln__v);
    };
    auto kiln__value_0 = [&](const kiln__part_0 &kiln__p) -> kiln__type_0 { return kiln__p; };
    kiln__part_0 kiln__acc_0[4];
    #pragma unroll
    for (int kiln__l = 0; kiln__l < (int)(sizeof kiln__acc_0 / sizeof *kiln__acc_0); kiln__l++)
        kiln__acc_0[kiln__l] = kiln__empty_0();
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 36) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 36; kiln__u++) {
            const int kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__fold_0(kiln__acc_0[(kiln__u * kiln__V + kiln__v) % 4], kiln__map_0(
                        0
                        , kiln__reg_x[kiln__u][kiln__v]
                        , kiln__val_e[kiln__u][kiln__v]
                    ));
            }
        }
    }
    #pragma unroll
    for (int kiln__l = 1; kiln__l < (int)(sizeof kiln__acc_0 / sizeof *kiln__acc_0); kiln__l++)
        kiln__acc_0[0] = kiln__merge_0(kiln__acc_0[0], kiln__acc_0[kiln__l]);
    const kiln__type_0 m = kiln__value_0(KILN__COMBINE(0, kiln__acc_0[0], kiln__merge_0));

    auto kiln__map_1 = [&](
    const int
        , const T &x
        , A &e
    ) -> kiln__type_1 {
#line 1 "stage2.prep"
e = exp(A(x) - m)
#line * "kiln.generated"
;
        return (kiln__type_1)(
#line 1 "stage2.map"
e
#line * "kiln.generated"

        );
    };
    auto kiln__reduce_1 = [&](const kiln__type_1 &a, const kiln__type_1 &b) -> kiln__type_1 {
        return (kiln__type_1)(
#line 1 "stage2.reduce"
a + b
#line * "kiln.generated"

        );
    };
    auto kiln__empty_1 = [&]() -> kiln__part_1 {
        return (kiln__type_1)(
#line 1 "stage2.identity"
0
#line * "kiln.generated"

        );
    };
    auto &kiln__merge_1 = kiln__reduce_1;
    auto kiln__fold_1 = [&](kiln__part_1 &kiln__acc, const kiln__type_1 &kiln__v) {
        kiln__acc = kiln__reduce_1(kiln__acc, kiln__v);
    };
    auto kiln__value_1 = [&](const kiln__part_1 &kiln__p) -> kiln__type_1 { return kiln__p; };
    kiln__part_1 kiln__acc_1[4];
    #pragma unroll
    for (int kiln__l = 0; kiln__l < (int)(sizeof kiln__acc_1 / sizeof *kiln__acc_1); kiln__l++)
        kiln__acc_1[kiln__l] = kiln__empty_1();
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 36) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 36; kiln__u++) {
            const int kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__fold_1(kiln__acc_1[(kiln__u * kiln__V + kiln__v) % 4], kiln__map_1(
                        0
                        , kiln__reg_x[kiln__u][kiln__v]
                        , kiln__val_e[kiln__u][kiln__v]
                    ));
            }
        }
    }
    #pragma unroll
    for (int kiln__l = 1; kiln__l < (int)(sizeof kiln__acc_1 / sizeof *kiln__acc_1); kiln__l++)
        kiln__acc_1[0] = kiln__merge_1(kiln__acc_1[0], kiln__acc_1[kiln__l]);
    const kiln__type_1 s = kiln__value_1(KILN__COMBINE(1, kiln__acc_1[0], kiln__merge_1));
#line 1 "stage2.post"
const A scale = 1 / s;
#line * "kiln.generated"
;

    auto kiln__op = [&](
    const int
        , A &e
        , T &y
    ) {
        do {
#line 1 "op"
y = e * scale
#line * "kiln.generated"
;
        } while (0);
    };
    if (kiln__live) {
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 36) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 36; kiln__u++) {
            const int kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
            int kiln__rest_j = kiln__j;
            [[maybe_unused]] const int kiln__at_1 = kiln__rest_j;
            const int kiln__along_y = kiln__j * (int)sizeof(T);
                T kiln__out_y[kiln__V];
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__op(
                        0
                        , kiln__val_e[kiln__u][kiln__v]
                        , kiln__out_y[kiln__v]
                    );
                kiln__store(kiln__row_y + kiln__along_y, kiln__out_y);
            }
        }
    }
    }
    }
    __syncthreads();
    kiln__copy_rows<T, 16, 128>((unsigned char *)kiln__a.ptr_y + (long long)kiln__begin * kiln__size_y, 0,
        kiln__tile_y, kiln__pad_y, kiln__size_y, (int)(kiln__behind - kiln__begin) * kiln__size_y);
}
