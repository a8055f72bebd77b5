//# columns.cu - neighbouring threads take neighbouring sequences and walk down the rows.
//#
//# block: `group` threads across, each with `vec` columns, by block / group rows of threads, each
//#        with `unroll` neighbouring rows of memory
//# grid:  tiles of columns
//# order: the rows of a thread; threads of a column; steps
//# As in rows.cu elements are mapped twice. Where columns are few, columns_split.cu takes their place.
//% own U V X Y a args begin carries carry length part start tile ty
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, Y = ${block} / X, U = ${unroll}, V = ${vec};
//% insert scan/environment.cpp
//% insert scan/locate.cu
    const ${index} tile = (${index})blockIdx.x;
//% insert scan/columns_place.cu
    part carry[V]; // of everything above the step
    bool carries = false;
    for (${index} begin = 0; begin < length; begin += Y * U) {
        const ${index} start = begin + ty * U;
//% insert scan/columns_load.cu
//% insert scan/columns_sums.cu
//% insert scan/columns_carry.cu
//% insert scan/columns_write.cu
    }
}
