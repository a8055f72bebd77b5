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
    long long rows, length, count;
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
// Among neighbouring lanes; the first one's order of operands counts for all.
template <int kiln__G, class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_warp(kiln__P p, const kiln__M &merge)
{
    #pragma unroll
    for (int d = kiln__G / 2; d > 0; d /= 2)
        p = merge(p, kiln__exchange(p, d));
    return kiln__G > 1 ? kiln__exchange<false>(p, (int)(threadIdx.x % 32) & ~(kiln__G - 1)) : p;
}
#define KILN__COMBINE(nth, p, merge) kiln__in_warp<32>(p, merge)
extern "C" __global__ void
__launch_bounds__(256, 4)
softmax__held(const __grid_constant__ kiln__args kiln__a)
{
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
    (void)n;
    [[maybe_unused]] constexpr int kiln__U = 8, kiln__V = 4, kiln__S = 8;
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int kiln__F = 7;
    [[maybe_unused]] const int kiln__beside = threadIdx.x / 32, kiln__lane = threadIdx.x % 32;
    constexpr int kiln__rank = 0;
    constexpr int kiln__step = 32 * 1;
    const int kiln__first = kiln__rank * 32 + kiln__lane;
    [[maybe_unused]] const int kiln__length = (int)kiln__a.length;
    int kiln__rest = (int)(blockIdx.x / 1) * kiln__S + kiln__beside;
    const bool kiln__live = kiln__rest < (int)kiln__a.rows;
    if (!kiln__live)
        kiln__rest = (int)kiln__a.rows - 1;
    [[maybe_unused]] const int kiln__at_0 = kiln__rest;
    const char *const kiln__row_x = (const char *)kiln__a.ptr_x
        + kiln__at_0 * (int)kiln__a.stride_x_0
        ;
    char *const kiln__row_y = (char *)kiln__a.ptr_y
        + kiln__at_0 * (int)kiln__a.stride_y_0
        ;
    const int kiln__from = kiln__first;
    T kiln__reg_x[kiln__U][kiln__V];
    A kiln__val_e[kiln__U][kiln__V];
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
        const int kiln__j = kiln__from + kiln__u * kiln__step;
        if (kiln__u < kiln__F || kiln__j < kiln__length) {
            int kiln__rest_j = kiln__j;
            [[maybe_unused]] const int kiln__at_1 = kiln__rest_j;
            const int kiln__along_x = kiln__j * (int)(kiln__V * sizeof(T))
                ;
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
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 8) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 8; kiln__u++) {
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
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 8) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 8; kiln__u++) {
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
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 8) {
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 8; kiln__u++) {
            const int kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
            int kiln__rest_j = kiln__j;
            [[maybe_unused]] const int kiln__at_1 = kiln__rest_j;
            const int kiln__along_y = kiln__j * (int)(kiln__V * sizeof(T))
                ;
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
