#line 1 "preamble"
typedef decltype(T() + 0.0f) A;
struct pieces { A xx, yy, xy; };
struct spread { A mean, m2, count; };
__device__ inline spread joined(const spread &a, const spread &b)
{
    const A count = a.count + b.count, delta = b.mean - a.mean, part = b.count /kiln__by/ count;
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
    long long rows, length, count, chunk, splits;
    char *parts;
    int *tickets;
    long long shape_0;
    long long shape_1;
    long long stride_x_0;
    long long stride_x_1;
    long long stride_y_0;
    long long stride_y_1;
};

template <class P, int L, long long block> struct kiln__pairwise {
    union lanes {
        P part[L];
        lanes() {} // most levels are never used
    };
    long long room = block, blocks = 0;
    lanes level[56];
    // `count` more elements are in `acc`, at most as many as there was room for.
    template <class M, class E>
    __attribute__((always_inline)) void took(long long count, P (&acc)[L], const M &merge, const E &empty)
    {
        room -= count;
        if (room != 0)
            return;
        lanes *to = level;
        for (long long b = blocks++; b % 2 != 0; b /= 2, to++)
            for (int l = 0; l < L; l++)
                acc[l] = merge(to->part[l], acc[l]);
        for (int l = 0; l < L; l++) {
            to->part[l] = acc[l];
            acc[l] = empty();
        }
        room = block;
    }
    // Everything to acc[0].
    template <class M> __attribute__((always_inline)) void whole(P (&acc)[L], const M &merge)
    {
        for (int k = 0; blocks >> k != 0; k++)
            if ((blocks >> k) % 2 != 0)
                for (int l = 0; l < L; l++)
                    acc[l] = merge(level[k].part[l], acc[l]);
        for (int h = L / 2; h > 0; h /= 2)
            for (int l = 0; l < h; l++)
                acc[l] = merge(acc[l], acc[l + h]);
    }
};
template <class P, int L> struct kiln__pairwise<P, L, 0> {
    static constexpr long long room = 0x7fffffffffffffff;
    template <class M, class E> void took(long long, P (&)[L], const M &, const E &) {}
    template <class M> void whole(P (&)[L], const M &) {}
};
extern "C" __attribute__((visibility("default"))) void softmax__held(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
    [[maybe_unused]] constexpr int kiln__T = 64;
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
    (void)n;
    alignas(64) A kiln__val_e[65536 / (4)];
    constexpr long long kiln__R = 64;
    const long long kiln__n = kiln__a.length, kiln__columns = kiln__a.shape_0;
    const long long kiln__tiles = (kiln__columns + kiln__R - 1) / kiln__R;
    long long kiln__slot = 0;
    while (__atomic_exchange_n(&kiln__a.tickets[kiln__slot], 1, __ATOMIC_ACQUIRE) != 0)
        kiln__slot = (kiln__slot + 1) % kiln__a.splits;
    char *kiln__next = kiln__a.parts + kiln__slot * kiln__a.chunk;
    T *const kiln__buf_x = (T *)kiln__next;
    kiln__next += (kiln__R * kiln__n * sizeof(T) + 63) / 64 * 64;
    T *const kiln__buf_y = (T *)kiln__next;
    kiln__next += (kiln__R * kiln__n * sizeof(T) + 63) / 64 * 64;
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
        const long long kiln__left = kiln__unit % kiln__tiles * kiln__R;
        const long long kiln__rows = kiln__columns - kiln__left < kiln__R ? kiln__columns - kiln__left : kiln__R;
        [[maybe_unused]] long long kiln__rest = kiln__unit / kiln__tiles;
        const char *const kiln__tile_x = (const char *)kiln__a.ptr_x + kiln__left * kiln__a.stride_x_0
            ;
        char *const kiln__tile_y = (char *)kiln__a.ptr_y + kiln__left * kiln__a.stride_y_0
            ;
        for (long long kiln__b = 0; kiln__b < kiln__n; kiln__b += 16) {
            const long long kiln__e = kiln__b + 16 < kiln__n ? kiln__b + 16 : kiln__n;
            for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++)
                for (long long kiln__j = kiln__b; kiln__j < kiln__e; kiln__j++)
                    kiln__buf_x[kiln__r * kiln__n + kiln__j] = *(const T *)(kiln__tile_x + kiln__r * kiln__a.stride_x_0 + kiln__j * kiln__a.stride_x_1);
        }
        for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++) {
            [[maybe_unused]] const long long kiln__at_0 = kiln__left + kiln__r;
            const char *const kiln__base_x = (const char *)(kiln__buf_x + kiln__r * kiln__n);
            char *const kiln__base_y = (char *)(kiln__buf_y + kiln__r * kiln__n);
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
        kiln__part_0 kiln__acc_0[16];
        for (int kiln__l = 0; kiln__l < 16; kiln__l++)
            kiln__acc_0[kiln__l] = kiln__empty_0();
        kiln__pairwise<kiln__part_0, 16, (16 > 1 ? 16 * 16 : 0)> kiln__blocks_0;
        for (long long kiln__j = 0; kiln__j < kiln__a.length;) {
            long long kiln__rest_j = kiln__j;
            [[maybe_unused]] const long long kiln__at_1 = kiln__rest_j;
            const long long kiln__run = kiln__a.shape_1 - kiln__at_1;
            const char *const kiln__row_x = kiln__base_x
                + kiln__at_1 * (long long)sizeof(T)
                ;
        [[maybe_unused]] constexpr long long kiln__step_x = sizeof(T);
            long long kiln__k = 0;
            do {
                const long long kiln__from = kiln__k;
                const long long kiln__stop = kiln__run - kiln__k < kiln__blocks_0.room ? kiln__run : kiln__k + kiln__blocks_0.room;
                for (; kiln__k + 16 <= kiln__stop; kiln__k += 16) {
                    KILN_INDEPENDENT
                    for (int kiln__l = 0; kiln__l < 16; kiln__l++)
                        kiln__fold_0(kiln__acc_0[kiln__l], kiln__map_0(0
                            , *(const T *)(kiln__row_x + (kiln__k + kiln__l) * kiln__step_x)
                            , kiln__val_e[kiln__j + kiln__k + kiln__l]
                        ));
                }
                for (; kiln__k < kiln__stop; kiln__k++)
                    kiln__fold_0(kiln__acc_0[0], kiln__map_0(0
                        , *(const T *)(kiln__row_x + kiln__k * kiln__step_x)
                        , kiln__val_e[kiln__j + kiln__k]
                    ));
                kiln__blocks_0.took(kiln__k - kiln__from, kiln__acc_0, kiln__merge_0, kiln__empty_0);
            } while (kiln__k < kiln__run);
            kiln__j += kiln__run;
        }
        kiln__blocks_0.whole(kiln__acc_0, kiln__merge_0);
        const kiln__type_0 m = kiln__value_0(kiln__acc_0[0]);

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
        kiln__part_1 kiln__acc_1[16];
        for (int kiln__l = 0; kiln__l < 16; kiln__l++)
            kiln__acc_1[kiln__l] = kiln__empty_1();
        kiln__pairwise<kiln__part_1, 16, (16 > 1 ? 16 * 16 : 0)> kiln__blocks_1;
        for (long long kiln__j = 0; kiln__j < kiln__a.length;) {
            long long kiln__rest_j = kiln__j;
            [[maybe_unused]] const long long kiln__at_1 = kiln__rest_j;
            const long long kiln__run = kiln__a.shape_1 - kiln__at_1;
            const char *const kiln__row_x = kiln__base_x
                + kiln__at_1 * (long long)sizeof(T)
                ;
        [[maybe_unused]] constexpr long long kiln__step_x = sizeof(T);
            long long kiln__k = 0;
            do {
                const long long kiln__from = kiln__k;
                // Computed apart, so that the compiler calls the C library for a vector at a time.
                const long long kiln__most = kiln__blocks_1.room < kiln__T ? kiln__blocks_1.room : kiln__T;
                const int kiln__count = kiln__run - kiln__k < kiln__most ? (int)(kiln__run - kiln__k) : (int)kiln__most;
                kiln__type_1 kiln__tile[kiln__T];
                KILN_INDEPENDENT
                for (int kiln__l = 0; kiln__l < kiln__count; kiln__l++)
                    kiln__tile[kiln__l] = kiln__map_1(0
                        , *(const T *)(kiln__row_x + (kiln__k + kiln__l) * kiln__step_x)
                        , kiln__val_e[kiln__j + kiln__k + kiln__l]
                    );
                int kiln__m = 0;
                for (; kiln__m + 16 <= kiln__count; kiln__m += 16)
                    for (int kiln__l = 0; kiln__l < 16; kiln__l++)
                        kiln__fold_1(kiln__acc_1[kiln__l], kiln__tile[kiln__m + kiln__l]);
                for (; kiln__m < kiln__count; kiln__m++)
                    kiln__fold_1(kiln__acc_1[0], kiln__tile[kiln__m]);
                kiln__k += kiln__count;
                kiln__blocks_1.took(kiln__k - kiln__from, kiln__acc_1, kiln__merge_1, kiln__empty_1);
            } while (kiln__k < kiln__run);
            kiln__j += kiln__run;
        }
        kiln__blocks_1.whole(kiln__acc_1, kiln__merge_1);
        const kiln__type_1 s = kiln__value_1(kiln__acc_1[0]);
#line 1 "stage2.post"
const A scale = 1 /kiln__by/ s;
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
        for (long long kiln__j = 0; kiln__j < kiln__a.length;) {
            long long kiln__rest_j = kiln__j;
            [[maybe_unused]] const long long kiln__at_1 = kiln__rest_j;
            const long long kiln__run = kiln__a.shape_1 - kiln__at_1;
            char *const kiln__row_y = kiln__base_y
                + kiln__at_1 * (long long)sizeof(T)
                ;
        [[maybe_unused]] constexpr long long kiln__step_y = sizeof(T);
            KILN_INDEPENDENT
            for (long long kiln__k = 0; kiln__k < kiln__run; kiln__k++) {
                T kiln__out_y;
                kiln__op(0
                    , kiln__val_e[kiln__j + kiln__k]
                    , kiln__out_y
                );
                *(T *)(kiln__row_y + kiln__k * kiln__step_y) = kiln__out_y;
            }
            kiln__j += kiln__run;
        }
        }
        for (long long kiln__b = 0; kiln__b < kiln__n; kiln__b += 16) {
            const long long kiln__e = kiln__b + 16 < kiln__n ? kiln__b + 16 : kiln__n;
            for (long long kiln__j = kiln__b; kiln__j < kiln__e; kiln__j++)
                for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++)
                    *(T *)(kiln__tile_y + kiln__r * kiln__a.stride_y_0 + kiln__j * kiln__a.stride_y_1) = kiln__buf_y[kiln__r * kiln__n + kiln__j];
        }
    }
    __atomic_store_n(&kiln__a.tickets[kiln__slot], 0, __ATOMIC_RELEASE);
}
