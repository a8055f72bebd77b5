//# One row's parts, brought together in a fixed order: every thread of the row gets the same bits.
//#
//# shared: two halves that stages take in turn, so that one barrier a stage is enough: who writes a
//#         half again has passed the barrier behind which the other half was read
union alignas(16) kiln__slot {
//% for s in stages
    unsigned char part_${s.n}[sizeof(kiln__part_${s.n})];
//% end
};
//% if in_warp
//% insert reduce/shuffle.cu
// Among neighbouring lanes; the first one's order of operands counts for all.
template <int kiln__G, class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_warp(kiln__P p, const kiln__M &merge)
{
    #pragma unroll
    for (int d = kiln__G / 2; d > 0; d /= 2)
        p = merge(p, kiln__exchange(p, d));
    return kiln__G > 1 ? kiln__exchange<false>(p, (int)(threadIdx.x % 32) & ~(kiln__G - 1)) : p;
}
#define KILN__COMBINE(nth, p, merge) kiln__in_warp<${group}>(p, merge)
//% else
//% if turned
// Threads of a row are ${side_by_side} apart.
template <class kiln__P, class kiln__M> KILN_FN kiln__P kiln__across(kiln__P p, const kiln__M &merge, kiln__slot *slots)
{
    constexpr int kiln__R = ${side_by_side}, kiln__G = ${group};
    const int row = threadIdx.x % kiln__R;
    memcpy(slots + threadIdx.x, &p, sizeof(kiln__P));
    __syncthreads();
    memcpy(&p, slots + row, sizeof(kiln__P));
    #pragma unroll 4
    for (int g = 1; g < kiln__G; g++) {
        kiln__P q;
        memcpy(&q, slots + g * kiln__R + row, sizeof(kiln__P));
        p = merge(p, q);
    }
    return p;
}
//% if lone
#define KILN__COMBINE(nth, p, merge) (p)
//% else
#define KILN__COMBINE(nth, p, merge) kiln__across(p, merge, kiln__slots + nth % 2 * ${block})
//% end
//% else
//% insert reduce/shuffle.cu
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
    for (int k = 1; k < ${block} / 32; k++) {
        kiln__P q;
        memcpy(&q, slots + k, sizeof(kiln__P));
        p = merge(p, q);
    }
    return p;
}
//% if clustered
// The blocks of a cluster write their parts into each other's shared memory. A block may be written to
// once it runs, which the first pair of arrive and wait makes sure of.
KILN_FN int kiln__cluster_rank()
{
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
KILN_FN void kiln__cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
KILN_FN void kiln__cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
template <class kiln__P, class kiln__M> KILN_FN kiln__P kiln__in_cluster(kiln__P p, const kiln__M &merge, kiln__slot *slots, bool first)
{
    constexpr int kiln__C = ${cluster}, words = (sizeof(kiln__P) + 3) / 4;
    if (first)
        kiln__cluster_wait();
    if (threadIdx.x < kiln__C) {
        unsigned int w[words], near = (unsigned int)__cvta_generic_to_shared(slots + kiln__cluster_rank()), far;
        w[words - 1] = 0;
        memcpy(w, &p, sizeof(kiln__P));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(near), "r"(threadIdx.x));
        #pragma unroll
        for (int k = 0; k < words; k++)
            asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(far + 4 * k), "r"(w[k]) : "memory");
    }
    kiln__cluster_arrive();
    kiln__cluster_wait();
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
    kiln__in_cluster(kiln__in_block(p, merge, kiln__slots + nth % 2 * (${block} / 32)), merge,      \
                     kiln__slots + 2 * (${block} / 32) + nth % 2 * ${cluster}, nth == 0)
//% else
#define KILN__COMBINE(nth, p, merge) kiln__in_block(p, merge, kiln__slots + nth % 2 * (${block} / 32))
//% end
//% end
//% end
