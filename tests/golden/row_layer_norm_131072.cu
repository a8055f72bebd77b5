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
    const T *ptr_w;
    const T *ptr_b_;
    T *ptr_y;
    long long rows, length, count;
    long long shape_0;
    long long shape_1;
    kiln__divisor32 walk_1;
    kiln__divisor32 walk_0;
    long long stride_x_0;
    long long stride_x_1;
    long long stride_w_0;
    long long stride_w_1;
    long long stride_b__0;
    long long stride_b__1;
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
// Lanes, then warps, in order.
template <class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_block(kiln__P p, const kiln__M &merge, kiln__slot *slots)
{
    #pragma unroll
    for (int d = 16; d > 0; d /= 2)
        p = merge(p, kiln__exchange(p, d));
    if (threadIdx.x % 32 == 0)
        memcpy(slots + threadIdx.x / 32, &p, sizeof(kiln__P));
    __syncthreads();
    memcpy(&p, slots, sizeof(kiln__P));
    #pragma unroll
    for (int k = 1; k < 512 / 32; k++) {
        kiln__P q;
        memcpy(&q, slots + k, sizeof(kiln__P));
        p = merge(p, q);
    }
    return p;
}
// The blocks of a cluster write their parts into each other's shared memory, and a barrier in that memory
// counts the bytes that have come: no thread has to wait for what others have written elsewhere. A block
// may be written to once it runs, which the first pair of arrive and wait makes sure of.
KILN_FN int kiln__cluster_rank()
{
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
KILN_FN void kiln__cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
KILN_FN void kiln__cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// Two barriers, one for each half.
KILN_FN void kiln__cluster_begin(unsigned long long *told)
{
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int k = 0; k < 2; k++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"((unsigned int)__cvta_generic_to_shared(told + k)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    kiln__cluster_arrive();
}
// Wait for all parts. An acquire of the cluster's scope would wait for every load of the multiprocessor that is on its
// way, and empty its first cache; what has come lies in shared memory, to which the fence is restricted.
KILN_FN void kiln__cluster_told(unsigned int here, unsigned int parity)
{
    unsigned int done;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(here), "r"(parity) : "memory");
    while (done == 0);
    asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
#else
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(here), "r"(parity) : "memory");
    while (done == 0);
#endif
}
// Stage number nth uses the barrier `told` for the (nth / 2)th time.
template <class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_cluster(kiln__P p, const kiln__M &merge, kiln__slot *slots, unsigned long long *told, int nth)
{
    constexpr int kiln__C = 8, words = (sizeof(kiln__P) + 3) / 4;
    const unsigned int here = (unsigned int)__cvta_generic_to_shared(told);
    if (nth == 0)
        kiln__cluster_wait();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(here), "r"(kiln__C * words * 4) : "memory");
    if (threadIdx.x < kiln__C) {
        unsigned int w[words], near = (unsigned int)__cvta_generic_to_shared(slots + kiln__cluster_rank()), far, there;
        w[words - 1] = 0;
        memcpy(w, &p, sizeof(kiln__P));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(near), "r"(threadIdx.x));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(threadIdx.x));
        #pragma unroll
        for (int k = 0; k < words; k++)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(far + 4 * k), "r"(w[k]), "r"(there) : "memory");
    }
    kiln__cluster_told(here, (unsigned int)(nth / 2 % 2));
    memcpy(&p, slots, sizeof(kiln__P));
    #pragma unroll
    for (int k = 1; k < kiln__C; k++) {
        kiln__P q;
        memcpy(&q, slots + k, sizeof(kiln__P));
        p = merge(p, q);
    }
    return p;
}
#define KILN__COMBINE(nth, p, merge)                                                               \
    kiln__in_cluster(kiln__in_block(p, merge, kiln__slots + nth % 2 * (512 / 32)), merge,      \
                     kiln__slots + 2 * (512 / 32) + nth % 2 * 8, kiln__told + nth % 2, nth)
template <class T, int N> KILN_FN void kiln__renew(T (&at)[N])
{
    if constexpr (N * sizeof(T) % 4 == 0) {
        unsigned kiln__words[N * sizeof(T) / 4];
        memcpy(kiln__words, at, sizeof kiln__words);
        #pragma unroll
        for (int k = 0; k < (int)(N * sizeof(T) / 4); k++)
            asm("" : "+r"(kiln__words[k]));
        memcpy(at, kiln__words, sizeof kiln__words);
    }
}
extern "C" __global__ void
__cluster_dims__(8, 1, 1)
__launch_bounds__(512, 2)
layer_norm__held(const __grid_constant__ kiln__args kiln__a)
{
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
    (void)n;
    [[maybe_unused]] constexpr int kiln__U = 8, kiln__V = 4, kiln__S = 1;
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int kiln__F = 8;
    [[maybe_unused]] const int kiln__beside = threadIdx.x / 512, kiln__lane = threadIdx.x % 512;
    const int kiln__rank = kiln__cluster_rank();
    __shared__ unsigned long long kiln__told[2];
    kiln__cluster_begin(kiln__told);
    constexpr int kiln__step = 512 * 8;
    const int kiln__first = kiln__rank * 512 + kiln__lane;
    [[maybe_unused]] const int kiln__length = (int)kiln__a.length;
    int kiln__rest = (int)(blockIdx.x / 8) * kiln__S + kiln__beside;
    constexpr bool kiln__live = true;
    [[maybe_unused]] const int kiln__at_0 = kiln__rest;
    const char *const kiln__row_x = (const char *)kiln__a.ptr_x
        + kiln__at_0 * (int)kiln__a.stride_x_0
        ;
    const char *const kiln__row_w = (const char *)kiln__a.ptr_w
        ;
    const char *const kiln__row_b_ = (const char *)kiln__a.ptr_b_
        ;
    char *const kiln__row_y = (char *)kiln__a.ptr_y
        + kiln__at_0 * (int)kiln__a.stride_y_0
        ;
    __shared__ kiln__slot kiln__slots[48];
    const int kiln__from = kiln__first;
    T kiln__reg_x[kiln__U][kiln__V];
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
a + b
#line * "kiln.generated"

        );
    };
    auto kiln__empty_0 = [&]() -> kiln__part_0 {
        return (kiln__type_0)(
#line 1 "stage1.identity"
0
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
                    ));
            }
        }
    }
    #pragma unroll
    for (int kiln__l = 1; kiln__l < (int)(sizeof kiln__acc_0 / sizeof *kiln__acc_0); kiln__l++)
        kiln__acc_0[0] = kiln__merge_0(kiln__acc_0[0], kiln__acc_0[kiln__l]);
    const kiln__type_0 total = kiln__value_0(KILN__COMBINE(0, kiln__acc_0[0], kiln__merge_0));
#line 1 "stage1.post"
const A mean = total / n;
#line * "kiln.generated"
;
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
        kiln__renew(kiln__reg_x[kiln__u]);
    }

    auto kiln__map_1 = [&](
    const int
        , const T &x
    ) -> kiln__type_1 {
#line 1 "stage2.prep"
const A d = A(x) - mean;
#line * "kiln.generated"
;
        return (kiln__type_1)(
#line 1 "stage2.map"
d * d
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
                    ));
            }
        }
    }
    #pragma unroll
    for (int kiln__l = 1; kiln__l < (int)(sizeof kiln__acc_1 / sizeof *kiln__acc_1); kiln__l++)
        kiln__acc_1[0] = kiln__merge_1(kiln__acc_1[0], kiln__acc_1[kiln__l]);
    const kiln__type_1 squares = kiln__value_1(KILN__COMBINE(1, kiln__acc_1[0], kiln__merge_1));
#line 1 "stage2.post"
const A scale = rsqrt(squares / n + A(1e-5));
#line * "kiln.generated"
;
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
        kiln__renew(kiln__reg_x[kiln__u]);
    }

    auto kiln__op = [&](
    const int
        , const T &x
        , const T &w
        , const T &b_
        , T &y
    ) {
        do {
#line 1 "op"
y = (A(x) - mean) * scale * A(w) + A(b_)
#line * "kiln.generated"
;
        } while (0);
    };
    if (kiln__live) {
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += 2) {
        T kiln__late_w[2][kiln__V];
        T kiln__late_b_[2][kiln__V];
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 2; kiln__u++) {
            const int kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
            int kiln__rest_j = kiln__j;
            [[maybe_unused]] const int kiln__at_1 = kiln__rest_j;
            const int kiln__along_w = kiln__j * (int)(kiln__V * sizeof(T))
                ;
                kiln__load(kiln__late_w[kiln__u - kiln__b], kiln__row_w + kiln__along_w);
            const int kiln__along_b_ = kiln__j * (int)(kiln__V * sizeof(T))
                ;
                kiln__load(kiln__late_b_[kiln__u - kiln__b], kiln__row_b_ + kiln__along_b_);
            }
        }
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + 2; kiln__u++) {
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
                        , kiln__reg_x[kiln__u][kiln__v]
                        , kiln__late_w[kiln__u - kiln__b][kiln__v]
                        , kiln__late_b_[kiln__u - kiln__b][kiln__v]
                        , kiln__out_y[kiln__v]
                    );
                kiln__store(kiln__row_y + kiln__along_y, kiln__out_y);
            }
        }
    }
    }
}
