//# columns_chain.cu - sequences are so few that their rows are work for many blocks as well, but too
//# many, or too wide, for carriers (columns_split.cu).
//#
//# block: as in columns.cu
//# grid:  tiles of columns times steps of rows, taken in order, step by step
//# order: the rows of a thread; threads of a column; steps, one by one
//#
//# A look takes longer than a step, but is hidden behind enough other tiles.
//% own U V X Y a args carries carry part start step taken ticket tile ty
//% insert scan/shuffle.cu
//% insert scan/publish.cu
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, Y = ${block} / X, U = ${unroll}, V = ${vec};
//% insert scan/environment.cpp
//% insert scan/locate.cu
    // Steps go to blocks in the order of asking: who waits, waits for one that runs already.
    __shared__ int ticket;
    if (threadIdx.x == 0)
        ticket = atomicAdd(a.tickets, 1);
    __syncthreads();
    const ${index} taken = ticket;
    const ${index} step = a.by_splits.quotient(taken);
    const ${index} tile = taken - step * (${index})a.splits;
//% insert scan/columns_place.cu
    part carry[V]; // of everything above the step
    bool carries = false;
    {
        const ${index} start = step * (Y * U) + ty * U;
//% insert scan/columns_load.cu
//% insert scan/columns_sums.cu
//% insert scan/columns_look.cu
//% insert scan/columns_carry.cu
//% insert scan/columns_write.cu
    }
}
