//# rows.cu - neighbouring threads take neighbours along a reduced axis.
//#
//# group:  `group` threads (a power of two up to a warp, or the whole block) share an output; a
//#         group works on `segments` outputs side by side, so that short rows have loads in flight
//# grid:   outputs / (segments * block / group) blocks; when split, `splits` blocks an output, of
//#         which the last to arrive combines the parts in their fixed order
//# shared: one part a warp when a group is the whole block
//% own G L N S U a args at end lane output split turn
//% insert reduce/shuffle.cu
//% if split
//% insert reduce/ticket.cu
//% end
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${group}, S = ${segments}, U = ${unroll}, L = ${lanes};
//% if !batched
//% insert reduce/long.cu
//% end
//% insert reduce/environment.cpp
    const int lane = threadIdx.x % G;
//% if split
    const ${index} output = a.by_splits.quotient((${index})blockIdx.x);
    const ${index} split = (${index})blockIdx.x - output * (${index})a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} turn = (${index})a.splits * (U * G);
    ${index} at = split * (U * G) + lane;
//% else
    constexpr ${index} turn = U * G;
    ${index} at = lane;
    const ${index} output = (${index})blockIdx.x * (S * (${block} / G)) + (${index})threadIdx.x / G;
//% end
    const ${index} end = (${index})a.length;
//% insert reduce/rows_begin.cu

    for (; at + (U - 1) * G < end; at += turn) {
        constexpr int N = U;
//% insert reduce/rows_burst.cu
    }
    if constexpr (U > 1) {
        #pragma unroll 1
        for (; at < end; at += G) {
            constexpr int N = 1;
//% insert reduce/rows_burst.cu
        }
    }

//% if whole_block
//% insert reduce/rows_block.cu
//% else
//% insert reduce/rows_group.cu
//% end
}
