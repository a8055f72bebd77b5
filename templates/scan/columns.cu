//# columns.cu - neighbouring threads take neighbouring sequences and walk down the rows.
//#
//# block: `group` threads across, each with `vec` columns, by block / group rows of threads, each
//#        with `unroll` neighbouring rows of memory
//# grid:  tiles of columns
//# order: the rows of a thread; threads of a column; steps
//# As in rows.cu elements are mapped twice. Where columns are few, columns_split.cu takes their place.
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__X = ${group}, kiln__Y = ${block} / kiln__X, kiln__U = ${unroll}, kiln__V = ${vec};
//% insert scan/environment.cpp
//% insert scan/locate.cu
    const ${index} kiln__tile = (${index})blockIdx.x;
//% insert scan/columns_place.cu
    kiln__part kiln__carry[kiln__V]; // of everything above the step
    bool kiln__carries = false;
    for (${index} kiln__begin = 0; kiln__begin < kiln__length; kiln__begin += kiln__Y * kiln__U) {
        const ${index} kiln__start = kiln__begin + kiln__ty * kiln__U;
//% insert scan/columns_load.cu
//% insert scan/columns_sums.cu
//% insert scan/columns_carry.cu
//% insert scan/columns_write.cu
    }
}
