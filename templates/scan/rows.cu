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
//% own G U V W a args base based begin bytes carries carry fetch find mine number of_thread part
//% own r reduce rows start sum take tile_sum warps
//% insert scan/shuffle.cu
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${group}, U = ${unroll}, V = ${vec};
    constexpr int W = G < 32 ? G : 32;
//% insert scan/environment.cpp
//% insert scan/locate.cu
//% insert scan/rows_place.cu
//% insert scan/rows_load.cu
    // Surplus groups repeat the last sequence and store nothing.
    const ${index} number = (${index})blockIdx.x * (${block} / G) + (${index})threadIdx.x / G;
    const bool mine = number < (${index})a.outputs;
    const rows r = find(mine ? number : (${index})a.outputs - 1);
    part carry; // of everything before the tile
    bool carries = false;
//% if whole_block
    __shared__ alignas(16) unsigned char bytes[(${block} / 32) * sizeof(part)];
    part *const warps = (part *)bytes;
//% end

    for (${index} begin = 0; begin < (${index})a.length; begin += G * U) {
        const ${index} start = of_thread(begin);
        fetch(r, begin);
//% insert scan/rows_sums.cu
//% if whole_block
//% insert scan/rows_block.cu
//% else
        part base;
        bool based = false;
        const part tile_sum = sum;
//% end
        if (carries) {
            base = based ? reduce(carry, base) : carry;
            based = true;
        }
        take(carries, carry, tile_sum);
//% insert scan/rows_write.cu
//% if whole_block
        __syncthreads(); // before the next tile's sums take the place of these
//% end
    }
}
