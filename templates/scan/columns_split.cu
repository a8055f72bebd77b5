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
//% own G K N R U V a args ask base begin blocks bytes c carriers carries clear columns find
//% own height held held_base here keep_ticket length more n next part part_words place_of shared
//% own slot stage_bytes step steps sums taken ticket tiles total warps written
//% insert scan/shuffle.cu
//% insert scan/publish.cu
//# Only here does the compiler know how large a user's type is: small ones leave room for others.
static constexpr int blocks = ${segments} > 1 ? ${segments} : sizeof(part) <= 8 ? 3 : 1;
extern "C" __global__ void __launch_bounds__(${block}, blocks)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, K = ${group}, U = ${unroll}, V = ${lanes};
    constexpr int R = 32 / K, N = G / 32, height = G / K * U;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/columns_find.cu
    __shared__ int ticket;
    __shared__ alignas(16) unsigned char bytes[N * K * sizeof(part)];
    part *const warps = (part *)bytes;
    const ${index} tiles = (${index})a.splits, length = (${index})a.length;
    const ${index} steps = (length + height - 1) / height, total = steps * tiles;
    const ${index} carriers = (tiles + (${index})a.chunk - 1) / (${index})a.chunk;
    // What tiles tell, and what they are told, by ticket and column.
    unsigned long long *const sums = (unsigned long long *)(a.tickets + 4);
    unsigned long long *const carries = sums + total * (K * part_words);
    auto keep_ticket = [&](const int n) {
        ticket = n - carriers;
        if (n == total + (int)gridDim.x - 1)
            *a.tickets = 0; // nobody asks any more
    };
    if (threadIdx.x == 0)
        keep_ticket(ask(a.tickets));
    __syncthreads();
    ${index} taken = ticket, held = -1, written = -1;
    if (taken < 0) {
//% insert scan/columns_carrier.cu
        return;
    }
    if (taken >= total)
        return;

    // Of the tile that is held: what stands above the thread's rows in it, below its first rows.
    part held_base;
    int slot = 0;
    for (;;) {
        const bool more = taken < total;
        ${index} next = total;
        part base;
        if (more) {
            const ${index} step = a.by_splits.quotient(taken), begin = step * height;
            const columns here = find(taken - step * tiles);
            unsigned char *const place_of = shared + slot * stage_bytes;
//% insert scan/columns_stage.cu
//% insert scan/columns_tell.cu
        } else {
            __syncthreads();
        }
        if (written >= 0 && threadIdx.x < K)
            clear(carries + (written * K + c) * part_words);
        if (held >= 0) {
            const ${index} step = a.by_splits.quotient(held), begin = step * height;
            const columns here = find(held - step * tiles);
            const unsigned char *const place_of = shared + (1 - slot) * stage_bytes;
//% insert scan/columns_hear.cu
        }
        written = held;
        if (!more)
            break;
        held = taken;
        held_base = base;
        taken = next;
        slot = 1 - slot;
    }
    // The answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x < K)
        clear(carries + (written * K + c) * part_words);
}
