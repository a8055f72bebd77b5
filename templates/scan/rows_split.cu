//# rows_split.cu - sequences are so long and few that many blocks share one, each taking tiles.
//#
//# block: one tile of block * unroll accesses after the other, each laid out as in rows.cu
//# grid:  as many blocks as there is room for, and one more. The one that comes first is the carrier
//#        (rows_carrier.cu); tiles go to the others in the order of asking
//# order: a run of `vec`; runs of a warp by shuffles; warps of a block; tiles as rows_carrier.cu says
//#
//# One pass over memory, as in D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with
//# Decoupled Look-back", NVIDIA NVR-2016-002, but nobody looks back: a sum goes to the carrier, and
//# what stands before the tile comes back from it, in two trips through the L2 that take as long as
//# loading a tile does. So a block tells a tile's sum one tile before it needs the answer:
//#
//#     tile n - 1:   sum, told | aside |     wait, write |
//#     tile n:                   load .... | sum, told ... | aside | ..... wait, write |
//#     tile n + 1:                                         | load ..... sum, told |
//#
//# A tile that was put aside has its inputs in shared memory, where every thread reads only what it
//# wrote, and its warps' sums. It is scanned anew when it is written: registers are the next one's.
//#
//# Who waits, waits for sums of tiles with smaller numbers. Blocks that run have asked for them, and
//# told them before they waited for anything behind those tiles; so the smallest sum that is missing
//# is always on its way, whatever blocks are running.
//#
//# Every word is zero again when the kernel ends: its reader clears it. The last ticket clears their
//# number.
//% insert scan/shuffle.cu
//% insert scan/publish.cu
//# Only here does the compiler know how large a user's type is: small ones leave room for others.
static constexpr int kiln__blocks = ${segments} > 1 ? ${segments} : sizeof(kiln__part) <= 8 ? 3 : 1;
extern "C" __global__ void __launch_bounds__(${block}, kiln__blocks)
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${block}, kiln__U = ${unroll}, kiln__V = ${vec}, kiln__W = 32;
    constexpr bool kiln__mine = true;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/rows_place.cu
//% insert scan/rows_load.cu
    // Three turns of each: the one at hand, the one put aside, and one that slow warps still read.
    __shared__ int kiln__tickets[3];
    __shared__ alignas(16) unsigned char kiln__bytes[3][(kiln__G / 32) * sizeof(kiln__part)];
//% for p in inputs
    __shared__ alignas(16) unsigned char kiln__aside_${p.name}[kiln__U][kiln__G][sizeof kiln__reg_${p.name}[0]];
//% end
    const ${index} kiln__tiles = (${index})kiln__a.splits, kiln__total = kiln__tiles * (${index})kiln__a.outputs;
    // What tiles tell, and what they are told, by ticket.
    unsigned long long *const kiln__sums = (unsigned long long *)(kiln__a.tickets + 4);
    unsigned long long *const kiln__carries = kiln__sums + kiln__total * kiln__part_words;
    auto kiln__keep_ticket = [&](const int kiln__slot, const int kiln__n) {
        kiln__tickets[kiln__slot] = kiln__n - 1;
        if (kiln__n == kiln__total + (int)gridDim.x - 1)
            *kiln__a.tickets = 0;
    };
    if (threadIdx.x == 0) {
        kiln__tickets[0] = kiln__tickets[1] = -1;
        kiln__keep_ticket(2, kiln__ask(kiln__a.tickets));
    }
    __syncthreads();
    ${index} kiln__taken = kiln__tickets[2], kiln__held = -1;
    if (kiln__taken < 0) {
//% insert scan/rows_carrier.cu
        return;
    }
    if (kiln__taken >= kiln__total)
        return;

    int kiln__slot = 0, kiln__slot_before = 2;
    for (;;) {
        const bool kiln__more = kiln__taken < kiln__total;
        if (kiln__more) {
            const ${index} kiln__sequence = kiln__a.by_splits.quotient(kiln__taken);
            const ${index} kiln__begin = (kiln__taken - kiln__sequence * kiln__tiles) * (kiln__G * kiln__U);
            const ${index} kiln__start = kiln__of_thread(kiln__begin);
            kiln__fetch(kiln__find(kiln__sequence), kiln__begin);
//% insert scan/rows_tell.cu
        }
        if (kiln__held >= 0) {
            const ${index} kiln__sequence = kiln__a.by_splits.quotient(kiln__held);
            const ${index} kiln__tile = kiln__held - kiln__sequence * kiln__tiles;
            const ${index} kiln__begin = kiln__tile * (kiln__G * kiln__U), kiln__start = kiln__of_thread(kiln__begin);
            const kiln__rows kiln__r = kiln__find(kiln__sequence);
//% insert scan/rows_hear.cu
//% insert scan/rows_write.cu
        }
        if (!kiln__more)
            break;
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
//% for p in inputs
            kiln__store(kiln__aside_${p.name}[kiln__u][threadIdx.x], kiln__reg_${p.name}[kiln__u]);
//% end
        }
        kiln__held = kiln__taken;
        kiln__taken = kiln__tickets[kiln__slot];
        kiln__slot_before = kiln__slot;
        kiln__slot = kiln__slot == 2 ? 0 : kiln__slot + 1;
    }
    // Answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x == 0) {
        kiln__clear(kiln__carries + kiln__held * kiln__part_words);
        if (kiln__tickets[kiln__slot] >= 0)
            kiln__clear(kiln__carries + kiln__tickets[kiln__slot] * kiln__part_words);
    }
}
