//# columns.cu - neighbouring threads take neighbours along a kept axis, and walk down the rows.
//#
//# block:  `group` threads along the kept axis, each with `vec` columns, by block / group rows
//# grid:   column tiles x outer kept indices; when split, `splits` blocks share a tile's rows, and
//#         the last to arrive combines the parts in their fixed order
//# shared: a part for each thread's column, for as many of its columns at a time as 16 KiB have room for
//% own N R U V X a args at end inside split tile together turn tx ty
//% plain bytes columns
KILN_FN constexpr int together(int columns, int bytes) { return columns * bytes <= 64 || columns == 1 ? columns : together(columns / 2, bytes); }
//% if split
//% insert reduce/ticket.cu
//% end
//% if batched
extern "C" __global__ void __launch_bounds__(${block}, 4) // no more are launched a multiprocessor
//% else
extern "C" __global__ void __launch_bounds__(${block})
//% end
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, R = ${block} / X, U = ${unroll}, V = ${vec};
//% if !batched
//% insert reduce/long.cu
//% end
//% insert reduce/environment.cpp
    const int tx = threadIdx.x % X, ty = threadIdx.x / X;
//% if split
    const ${index} tile = a.by_splits.quotient((${index})blockIdx.x);
    const ${index} split = (${index})blockIdx.x - tile * (${index})a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} turn = (${index})a.splits * (U * R);
    ${index} at = split * (U * R) + ty;
//% else
    const ${index} tile = (${index})blockIdx.x;
    constexpr ${index} turn = U * R;
    ${index} at = ty;
//% end
    const ${index} end = (${index})a.length;
//% insert reduce/columns_begin.cu

    if (inside) {
        for (; at + (U - 1) * R < end; at += turn) {
            constexpr int N = U;
//% insert reduce/columns_burst.cu
        }
        if constexpr (U > 1) {
            #pragma unroll 1
            for (; at < end; at += R) {
                constexpr int N = 1;
//% insert reduce/columns_burst.cu
            }
        }
    }

//% insert reduce/columns_block.cu
}
