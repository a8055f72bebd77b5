//# rows.cu - neighbouring threads take neighbours along the sequence.
//#
//# group: `group` threads (a power of two up to a warp, or the whole block) share a sequence and walk
//#        it in tiles of group * unroll accesses. A warp's part of a tile is contiguous; a thread has
//#        `vec` neighbours of each 32 * vec.
//# grid:  outputs / (block / group) blocks
//# order: a run of `vec`; runs of a warp by shuffles; warps of a block; tiles
//# The elements are mapped twice: once for their sums, once more to be written. What is held between
//# is the inputs, which take fewer registers than accumulators do.
//# Where sequences are long and few, rows_split.cu stands in for this file.
//% insert scan/shuffle.cu
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${group}, kiln__U = ${unroll}, kiln__V = ${vec};
    constexpr int kiln__W = kiln__G < 32 ? kiln__G : 32;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/rows_place.cu
//% insert scan/rows_load.cu
    // Surplus groups repeat the last sequence and store nothing.
    const ${index} kiln__number = (${index})blockIdx.x * (${block} / kiln__G) + (${index})threadIdx.x / kiln__G;
    const bool kiln__mine = kiln__number < (${index})kiln__a.outputs;
    const kiln__rows kiln__r = kiln__find(kiln__mine ? kiln__number : (${index})kiln__a.outputs - 1);
    kiln__part kiln__carry; // of everything before the tile
    bool kiln__carries = false;
//% if whole_block
    __shared__ alignas(16) unsigned char kiln__bytes[(${block} / 32) * sizeof(kiln__part)];
    kiln__part *const kiln__warps = (kiln__part *)kiln__bytes;
//% end

    for (${index} kiln__begin = 0; kiln__begin < (${index})kiln__a.length; kiln__begin += kiln__G * kiln__U) {
        const ${index} kiln__start = kiln__of_thread(kiln__begin);
        kiln__fetch(kiln__r, kiln__begin);
//% insert scan/rows_sums.cu
//% if whole_block
//% insert scan/rows_block.cu
//% else
        kiln__part kiln__base;
        bool kiln__based = false;
        const kiln__part kiln__tile_sum = kiln__sum;
//% end
        if (kiln__carries) {
            kiln__base = kiln__based ? kiln__reduce(kiln__carry, kiln__base) : kiln__carry;
            kiln__based = true;
        }
        kiln__take(kiln__carries, kiln__carry, kiln__tile_sum);
//% insert scan/rows_write.cu
//% if whole_block
        __syncthreads(); // before the next tile's sums take the place of these
//% end
    }
}
