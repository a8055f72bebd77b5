//# combine.cu - the parts of one row are combined in a fixed order, so every thread of the row gets
//# the same bits.
//#
//# shared: two halves, which the stages use in turn, so that one barrier a stage is enough: a
//#         thread that writes a half again has passed the barrier of the stage that used the other
//#         half, and all threads have read the first half before that barrier
//% own C G M P R T W across cluster_arrive cluster_begin cluster_rank cluster_told cluster_wait exchange in_block in_cluster
//% own best head in_warp lane of_lanes other slot taken
//% plain d done far index kiln__index kiln__top_before kiln__top_none kiln_top m value g here k kiln__part_ kiln__slots kiln__told merge near nth p parity part_ q rank row slots there told w words
union alignas(16) slot {
//% for s in stages
    unsigned char part_${s.n}[sizeof(kiln__part_${s.n})];
//% end
};
//% if in_warp
//% insert reduce/common.cu:shuffle
//% if stage
//% insert reduce/common.cu:copy_rows
//% end
// Among neighbouring lanes; the first one's order of operands counts for all.
template <int G, class P, class M> KILN_FN P in_warp(P p, const M &merge)
{
    #pragma unroll
    for (int d = G / 2; d > 0; d /= 2)
        p = merge(p, exchange(p, d));
    return G > 1 ? exchange<false>(p, (int)(threadIdx.x % 32) & ~(G - 1)) : p;
}
//% if tops
//% insert :of_lanes
// Where lanes keep their first elements in order, a round for each that is wanted.
template <int G, class T, int W, class M> KILN_FN kiln_top<T, W> in_warp(kiln_top<T, W> p, const M &)
{
    return of_lanes<G>(p);
}
//% end
#define KILN__COMBINE(nth, p, merge) in_warp<${group}>(p, merge)
//% else
//% if turned
// Threads of a row are ${side_by_side} apart.
template <class P, class M> KILN_FN P across(P p, const M &merge, slot *slots)
{
    constexpr int R = ${side_by_side}, G = ${group};
    const int row = threadIdx.x % R;
    memcpy(slots + threadIdx.x, &p, sizeof(P));
    __syncthreads();
    memcpy(&p, slots + row, sizeof(P));
    #pragma unroll 4
    for (int g = 1; g < G; g++) {
        P q;
        memcpy(&q, slots + g * R + row, sizeof(P));
        p = merge(p, q);
    }
    return p;
}
//% if one_thread
#define KILN__COMBINE(nth, p, merge) (p)
//% else
#define KILN__COMBINE(nth, p, merge) across(p, merge, kiln__slots + nth % 2 * ${block})
//% end
//% else
//% insert reduce/common.cu:shuffle
// Lanes, then warps, in order.
template <class P, class M> KILN_FN P in_block(P p, const M &merge, slot *slots)
{
    #pragma unroll
    for (int d = 16; d > 0; d /= 2)
        p = merge(p, exchange(p, d));
    if (threadIdx.x % 32 == 0)
        memcpy(slots + threadIdx.x / 32, &p, sizeof(P));
    __syncthreads();
    memcpy(&p, slots, sizeof(P));
    #pragma unroll
    for (int k = 1; k < ${block} / 32; k++) {
        P q;
        memcpy(&q, slots + k, sizeof(P));
        p = merge(p, q);
    }
    return p;
}
//% if tops
//% insert :of_lanes
// Where threads keep their first elements in order: those of each warp, then those of these.
template <class T, int W, class M> KILN_FN kiln_top<T, W> in_block(kiln_top<T, W> p, const M &, slot *slots)
{
    constexpr int C = ${block} / 32, G = C <= 2 ? 2 : C <= 4 ? 4 : C <= 8 ? 8 : C <= 16 ? 16 : 32;
    p = of_lanes<32>(p);
    if (threadIdx.x % 32 == 0)
        memcpy(slots + threadIdx.x / 32, &p, sizeof p);
    __syncthreads();
    const int lane = threadIdx.x % G;
    memcpy(&p, slots + (lane < C ? lane : 0), sizeof p);
    #pragma unroll
    for (int k = 0; k < W; k++)
        p.index[k] = lane < C ? p.index[k] : kiln__top_none;
    return of_lanes<G>(p);
}
//% end
//% if clustered
// The blocks of a cluster write their parts into each other's shared memory, and a barrier in that memory
// counts the bytes that have come: no thread has to wait for what others have written elsewhere. A block
// may be written to once it runs, which the first pair of arrive and wait makes sure of.
KILN_FN int cluster_rank()
{
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
KILN_FN void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
KILN_FN void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// Two barriers, one for each half.
KILN_FN void cluster_begin(unsigned long long *told)
{
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int k = 0; k < 2; k++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"((unsigned int)__cvta_generic_to_shared(told + k)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    cluster_arrive();
}
// Wait for all parts. An acquire of the cluster's scope would wait for every load of the multiprocessor that is on its
// way, and empty its first cache; what has come lies in shared memory, to which the fence is restricted.
KILN_FN void cluster_told(unsigned int here, unsigned int parity)
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
template <class P, class M> KILN_FN P in_cluster(P p, const M &merge, slot *slots, unsigned long long *told, int nth)
{
    constexpr int C = ${cluster}, words = (sizeof(P) + 3) / 4;
    const unsigned int here = (unsigned int)__cvta_generic_to_shared(told);
    if (nth == 0)
        cluster_wait();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(here), "r"(C * words * 4) : "memory");
    if (threadIdx.x < C) {
        unsigned int w[words], near = (unsigned int)__cvta_generic_to_shared(slots + cluster_rank()), far, there;
        w[words - 1] = 0;
        memcpy(w, &p, sizeof(P));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(near), "r"(threadIdx.x));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(threadIdx.x));
        #pragma unroll
        for (int k = 0; k < words; k++)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(far + 4 * k), "r"(w[k]), "r"(there) : "memory");
    }
    cluster_told(here, (unsigned int)(nth / 2 % 2));
    memcpy(&p, slots, sizeof(P));
    #pragma unroll
    for (int k = 1; k < C; k++) {
        P q;
        memcpy(&q, slots + k, sizeof(P));
        p = merge(p, q);
    }
    return p;
}
#define KILN__COMBINE(nth, p, merge)                                                               \
    in_cluster(in_block(p, merge, kiln__slots + nth % 2 * (${block} / 32)), merge,      \
                     kiln__slots + 2 * (${block} / 32) + nth % 2 * ${cluster}, kiln__told + nth % 2, nth)
//% else
#define KILN__COMBINE(nth, p, merge) in_block(p, merge, kiln__slots + nth % 2 * (${block} / 32))
//% end
//% end
//% end

//% part of_lanes
//# The first W among what G neighbouring lanes keep in order, for all of them. A lane offers its first element until it
//# is taken; at most W are, so that what moves up behind them is never offered.
template <class T> struct head {
    T value;
    kiln__index index;
};
template <int G, class T, int W> KILN_FN kiln_top<T, W> of_lanes(kiln_top<T, W> p)
{
    kiln_top<T, W> q;
    #pragma unroll
    for (int k = 0; k < W; k++) {
        head<T> best;
        best.value = p.value[0];
        best.index = p.index[0];
        #pragma unroll
        for (int d = G / 2; d > 0; d /= 2) {
            const head<T> other = exchange(best, d);
            if (other.index != kiln__top_none &&
                (best.index == kiln__top_none || kiln__top_before(other.value, other.index, best.value, best.index)))
                best = other;
        }
        q.value[k] = best.value;
        q.index[k] = best.index;
        const bool taken = best.index == p.index[0];
        #pragma unroll
        for (int m = 0; m + 1 < W; m++) {
            p.value[m] = taken ? p.value[m + 1] : p.value[m];
            p.index[m] = taken ? p.index[m + 1] : p.index[m];
        }
    }
    return q;
}
