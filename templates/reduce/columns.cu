//# columns.cu - neighbouring threads take neighbours along a kept axis, and walk down the rows.
//#
//# block:  `group` threads along the kept axis, each with `vec` columns, by block / group rows
//# grid:   column tiles x outer kept indices; when split, `splits` blocks share a tile's rows, and
//#         the last to arrive combines the parts in their fixed order
//# shared: a part for each thread's column, for as many of its columns at a time as 16 KiB have room for
KILN_FN constexpr int kiln__together(int columns, int bytes) { return columns * bytes <= 64 || columns == 1 ? columns : kiln__together(columns / 2, bytes); }
//% if split
//% insert reduce/ticket.cu
//% end
//% if batched
extern "C" __global__ void __launch_bounds__(${block}, 4) // no more are launched a multiprocessor
//% else
extern "C" __global__ void __launch_bounds__(${block})
//% end
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__X = ${group}, kiln__R = ${block} / kiln__X, kiln__U = ${unroll}, kiln__V = ${vec};
//% if !batched
//% insert reduce/long.cu
//% end
//% insert reduce/environment.cpp
    const int kiln__tx = threadIdx.x % kiln__X, kiln__ty = threadIdx.x / kiln__X;
//% if split
    const ${index} kiln__tile = kiln__a.by_splits.quotient((${index})blockIdx.x);
    const ${index} kiln__split = (${index})blockIdx.x - kiln__tile * (${index})kiln__a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} kiln__turn = (${index})kiln__a.splits * (kiln__U * kiln__R);
    ${index} kiln__at = kiln__split * (kiln__U * kiln__R) + kiln__ty;
//% else
    const ${index} kiln__tile = (${index})blockIdx.x;
    constexpr ${index} kiln__turn = kiln__U * kiln__R;
    ${index} kiln__at = kiln__ty;
//% end
    const ${index} kiln__end = (${index})kiln__a.length;
//% insert reduce/columns_begin.cu

    if (kiln__inside) {
        for (; kiln__at + (kiln__U - 1) * kiln__R < kiln__end; kiln__at += kiln__turn) {
            constexpr int kiln__N = kiln__U;
//% insert reduce/columns_burst.cu
        }
        if constexpr (kiln__U > 1) {
            #pragma unroll 1
            for (; kiln__at < kiln__end; kiln__at += kiln__R) {
                constexpr int kiln__N = 1;
//% insert reduce/columns_burst.cu
            }
        }
    }

//% insert reduce/columns_block.cu
}
