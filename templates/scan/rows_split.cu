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
//% own G U V W a args aside_ ask begin blocks bytes carries clear fetch find held keep_ticket
//% own mine more n of_thread part part_words r reg_ rows sequence slot slot_before start store
//% own sums taken tickets tile tiles total u
//% insert scan/shuffle.cu
//% insert scan/publish.cu
//# Only here does the compiler know how large a user's type is: small ones leave room for others.
static constexpr int blocks = ${segments} > 1 ? ${segments} : sizeof(part) <= 8 ? 3 : 1;
extern "C" __global__ void __launch_bounds__(${block}, blocks)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, U = ${unroll}, V = ${vec}, W = 32;
    constexpr bool mine = true;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/rows_place.cu
//% insert scan/rows_load.cu
    // Three turns of each: the one at hand, the one put aside, and one that slow warps still read.
    __shared__ int tickets[3];
    __shared__ alignas(16) unsigned char bytes[3][(G / 32) * sizeof(part)];
//% for p in inputs
    __shared__ alignas(16) unsigned char aside_${p.name}[U][G][sizeof reg_${p.name}[0]];
//% end
    const ${index} tiles = (${index})a.splits, total = tiles * (${index})a.outputs;
    // What tiles tell, and what they are told, by ticket.
    unsigned long long *const sums = (unsigned long long *)(a.tickets + 4);
    unsigned long long *const carries = sums + total * part_words;
    auto keep_ticket = [&](const int slot, const int n) {
        tickets[slot] = n - 1;
        if (n == total + (int)gridDim.x - 1)
            *a.tickets = 0;
    };
    if (threadIdx.x == 0) {
        tickets[0] = tickets[1] = -1;
        keep_ticket(2, ask(a.tickets));
    }
    __syncthreads();
    ${index} taken = tickets[2], held = -1;
    if (taken < 0) {
//% insert scan/rows_carrier.cu
        return;
    }
    if (taken >= total)
        return;

    int slot = 0, slot_before = 2;
    for (;;) {
        const bool more = taken < total;
        if (more) {
            const ${index} sequence = a.by_splits.quotient(taken);
            const ${index} begin = (taken - sequence * tiles) * (G * U);
            const ${index} start = of_thread(begin);
            fetch(find(sequence), begin);
//% insert scan/rows_tell.cu
        }
        if (held >= 0) {
            const ${index} sequence = a.by_splits.quotient(held);
            const ${index} tile = held - sequence * tiles;
            const ${index} begin = tile * (G * U), start = of_thread(begin);
            const rows r = find(sequence);
//% insert scan/rows_hear.cu
//% insert scan/rows_write.cu
        }
        if (!more)
            break;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            store(aside_${p.name}[u][threadIdx.x], reg_${p.name}[u]);
//% end
        }
        held = taken;
        taken = tickets[slot];
        slot_before = slot;
        slot = slot == 2 ? 0 : slot + 1;
    }
    // Answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x == 0) {
        clear(carries + held * part_words);
        if (tickets[slot] >= 0)
            clear(carries + tickets[slot] * part_words);
    }
}
