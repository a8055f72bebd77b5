//# columns_split.cu - sequences are so few that many blocks share one, each taking tiles.
//#
//# tile:  up to `group` columns, a power of two of at most 32, by block / group rows of threads with
//#        `unroll` neighbouring rows of memory each
//# block: one tile after the other; a lane has a column, whatever accesses the tile was loaded by
//# grid:  as many blocks as there is room for, and the carriers, who come first
//#        (columns_carrier.cu). Tiles go to the others in the order of asking, step by step down the
//#        rows, and from column to column within a step
//# order: the rows of a thread; threads of a warp by shuffles; warps; steps as columns_carrier.cu says
//#
//# As in rows_split.cu a block tells the sums of a tile one tile before it needs to know what stands
//# above it:
//#
//#     tile n - 1:   loaded, sums told |     wait, write |
//#     tile n:                 load .. | sums told       |     wait, write |
//#     tile n + 1:                                 load .. | sums told
//#
//# Inputs lie in one of two places in shared memory, since threads load other elements than they sum:
//# neighbours in memory are a lane's wherever there are 16 bytes of them, be it in one row of many
//# columns or in several rows of few. Inputs that do not run along the columns are read where they are.
//#
//# Who waits, waits for sums above it, which have smaller tickets. Every word is zero again when the
//# kernel ends, as in rows_split.cu.
//% insert scan/shuffle.cu
//% insert scan/publish.cu
//# Only here does the compiler know how large a user's type is: small ones leave room for others.
static constexpr int kiln__blocks = ${segments} > 1 ? ${segments} : sizeof(kiln__part) <= 8 ? 3 : 1;
extern "C" __global__ void __launch_bounds__(${block}, kiln__blocks)
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${block}, kiln__K = ${group}, kiln__U = ${unroll}, kiln__V = ${lanes};
    constexpr int kiln__R = 32 / kiln__K, kiln__N = kiln__G / 32, kiln__height = kiln__G / kiln__K * kiln__U;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/columns_find.cu
    __shared__ int kiln__ticket;
    __shared__ alignas(16) unsigned char kiln__bytes[kiln__N * kiln__K * sizeof(kiln__part)];
    kiln__part *const kiln__warps = (kiln__part *)kiln__bytes;
    const ${index} kiln__tiles = (${index})kiln__a.splits, kiln__length = (${index})kiln__a.length;
    const ${index} kiln__steps = (kiln__length + kiln__height - 1) / kiln__height, kiln__total = kiln__steps * kiln__tiles;
    const ${index} kiln__carriers = (kiln__tiles + (${index})kiln__a.chunk - 1) / (${index})kiln__a.chunk;
    // What tiles tell, and what they are told, by ticket and column.
    unsigned long long *const kiln__sums = (unsigned long long *)(kiln__a.tickets + 4);
    unsigned long long *const kiln__carries = kiln__sums + kiln__total * (kiln__K * kiln__part_words);
    auto kiln__keep_ticket = [&](const int kiln__n) {
        kiln__ticket = kiln__n - kiln__carriers;
        if (kiln__n == kiln__total + (int)gridDim.x - 1)
            *kiln__a.tickets = 0; // nobody asks any more
    };
    if (threadIdx.x == 0)
        kiln__keep_ticket(kiln__ask(kiln__a.tickets));
    __syncthreads();
    ${index} kiln__taken = kiln__ticket, kiln__held = -1, kiln__written = -1;
    if (kiln__taken < 0) {
//% insert scan/columns_carrier.cu
        return;
    }
    if (kiln__taken >= kiln__total)
        return;

    // Of the tile that is held: what stands above the thread's rows in it, below its first rows.
    kiln__part kiln__held_base;
    int kiln__slot = 0;
    for (;;) {
        const bool kiln__more = kiln__taken < kiln__total;
        ${index} kiln__next = kiln__total;
        kiln__part kiln__base;
        if (kiln__more) {
            const ${index} kiln__step = kiln__a.by_splits.quotient(kiln__taken), kiln__begin = kiln__step * kiln__height;
            const kiln__columns kiln__here = kiln__find(kiln__taken - kiln__step * kiln__tiles);
            unsigned char *const kiln__place_of = kiln__shared + kiln__slot * kiln__stage_bytes;
//% insert scan/columns_stage.cu
//% insert scan/columns_tell.cu
        } else {
            __syncthreads();
        }
        if (kiln__written >= 0 && threadIdx.x < kiln__K)
            kiln__clear(kiln__carries + (kiln__written * kiln__K + kiln__c) * kiln__part_words);
        if (kiln__held >= 0) {
            const ${index} kiln__step = kiln__a.by_splits.quotient(kiln__held), kiln__begin = kiln__step * kiln__height;
            const kiln__columns kiln__here = kiln__find(kiln__held - kiln__step * kiln__tiles);
            const unsigned char *const kiln__place_of = kiln__shared + (1 - kiln__slot) * kiln__stage_bytes;
//% insert scan/columns_hear.cu
        }
        kiln__written = kiln__held;
        if (!kiln__more)
            break;
        kiln__held = kiln__taken;
        kiln__held_base = kiln__base;
        kiln__taken = kiln__next;
        kiln__slot = 1 - kiln__slot;
    }
    // The answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x < kiln__K)
        kiln__clear(kiln__carries + (kiln__written * kiln__K + kiln__c) * kiln__part_words);
}
