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
//% insert reduce/environment.cpp
    const int kiln__lane = threadIdx.x % kiln__G;
//% if split
    const ${index} kiln__output = kiln__a.by_splits.quotient((${index})blockIdx.x);
    const ${index} kiln__split = (${index})blockIdx.x - kiln__output * (${index})kiln__a.splits;
    const ${index} kiln__begin = kiln__split * (${index})kiln__a.chunk;
    const ${index} kiln__stop = kiln__begin + (${index})kiln__a.chunk;
    const ${index} kiln__end = kiln__stop < (${index})kiln__a.length ? kiln__stop : (${index})kiln__a.length;
//% else
    const ${index} kiln__output = (${index})blockIdx.x * (kiln__S * (${block} / kiln__G)) + (${index})threadIdx.x / kiln__G;
    const ${index} kiln__begin = 0, kiln__end = (${index})kiln__a.length;
//% end
//% insert reduce/rows_begin.cu

    ${index} kiln__at = kiln__begin + kiln__lane;
    for (; kiln__at + (kiln__U - 1) * kiln__G < kiln__end; kiln__at += kiln__U * kiln__G) {
        constexpr int kiln__N = kiln__U;
//% insert reduce/rows_burst.cu
    }
    #pragma unroll 1
    for (; kiln__at < kiln__end; kiln__at += kiln__G) {
        constexpr int kiln__N = 1;
//% insert reduce/rows_burst.cu
    }

//% if whole_block
//% insert reduce/rows_block.cu
//% else
//% insert reduce/rows_group.cu
//% end
}
