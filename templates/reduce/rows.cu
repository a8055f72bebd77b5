//# rows.cu - neighbouring threads take neighbours along a reduced axis.
//#
//# group:  `group` threads (a power of two up to a warp, or the whole block) share an output; a
//#         group works on `segments` outputs side by side, so that short rows have loads in flight
//# grid:   outputs / (segments * block / group) blocks; when split, `splits` blocks an output, of
//#         which the last to arrive combines the parts in their fixed order
//# shared: one part a warp when a group is the whole block
//% insert reduce/shuffle.cu
//% if split
//% insert reduce/ticket.cu
//% end
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${group}, kiln__S = ${segments}, kiln__U = ${unroll}, kiln__L = ${lanes};
//% if !batched
//% insert reduce/long.cu
//% end
//% insert reduce/environment.cpp
    const int kiln__lane = threadIdx.x % kiln__G;
//% if split
    const ${index} kiln__output = kiln__a.by_splits.quotient((${index})blockIdx.x);
    const ${index} kiln__split = (${index})blockIdx.x - kiln__output * (${index})kiln__a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} kiln__turn = (${index})kiln__a.splits * (kiln__U * kiln__G);
    ${index} kiln__at = kiln__split * (kiln__U * kiln__G) + kiln__lane;
//% else
    constexpr ${index} kiln__turn = kiln__U * kiln__G;
    ${index} kiln__at = kiln__lane;
    const ${index} kiln__output = (${index})blockIdx.x * (kiln__S * (${block} / kiln__G)) + (${index})threadIdx.x / kiln__G;
//% end
    const ${index} kiln__end = (${index})kiln__a.length;
//% insert reduce/rows_begin.cu

    for (; kiln__at + (kiln__U - 1) * kiln__G < kiln__end; kiln__at += kiln__turn) {
        constexpr int kiln__N = kiln__U;
//% insert reduce/rows_burst.cu
    }
    if constexpr (kiln__U > 1) {
        #pragma unroll 1
        for (; kiln__at < kiln__end; kiln__at += kiln__G) {
            constexpr int kiln__N = 1;
//% insert reduce/rows_burst.cu
        }
    }

//% if whole_block
//% insert reduce/rows_block.cu
//% else
//% insert reduce/rows_group.cu
//% end
}
