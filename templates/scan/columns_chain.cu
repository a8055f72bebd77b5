//# columns_chain.cu - sequences are so few that their rows are work for many blocks as well, but too
//# many, or too wide, for carriers (columns_split.cu).
//#
//# block: as in columns.cu
//# grid:  tiles of columns times steps of rows, taken in order, step by step
//# order: the rows of a thread; threads of a column; steps, one by one
//#
//# A look takes longer than a step, but is hidden behind enough other tiles.
//% insert scan/shuffle.cu
//% insert scan/publish.cu
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__X = ${group}, kiln__Y = ${block} / kiln__X, kiln__U = ${unroll}, kiln__V = ${vec};
//% insert scan/environment.cpp
//% insert scan/locate.cu
    // Steps go to blocks in the order of asking: who waits, waits for one that runs already.
    __shared__ int kiln__ticket;
    if (threadIdx.x == 0)
        kiln__ticket = atomicAdd(kiln__a.tickets, 1);
    __syncthreads();
    const ${index} kiln__taken = kiln__ticket;
    const ${index} kiln__step = kiln__a.by_splits.quotient(kiln__taken);
    const ${index} kiln__tile = kiln__taken - kiln__step * (${index})kiln__a.splits;
//% insert scan/columns_place.cu
    kiln__part kiln__carry[kiln__V]; // of everything above the step
    bool kiln__carries = false;
    {
        const ${index} kiln__start = kiln__step * (kiln__Y * kiln__U) + kiln__ty * kiln__U;
//% insert scan/columns_load.cu
//% insert scan/columns_sums.cu
//% insert scan/columns_look.cu
//% insert scan/columns_carry.cu
//% insert scan/columns_write.cu
    }
}
