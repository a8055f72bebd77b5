//# columns_chain.cu - sequences are so few that their rows have to be divided among blocks as well,
//# but there are too many of them, or their elements are too wide, for carriers (columns_split.cu).
//#
//# block: as in columns.cu
//# grid:  tiles of columns times steps of rows, taken in order, step by step
//# order: the rows of a thread; threads of a column; steps, one by one
//#
//# Waiting for the step above takes longer than a step does, but is hidden by the work on other
//# tiles.
//% own U V X Y a all args await carries carry has lines of part part_words parts publish s start
//% own step sum take taken ticket tile tx ty v words
//% insert scan/common.cu:shuffle
//% insert scan/common.cu:publish
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, Y = ${block} / X, U = ${unroll}, V = ${vec};
//% insert scan/kernel.cpp:environment
//% insert scan/common.cu:locate
    // Steps go to blocks in the order of asking: who waits, waits for one that runs already.
    __shared__ int ticket;
    if (threadIdx.x == 0)
        ticket = atomicAdd(a.tickets, 1);
    __syncthreads();
    const ${index} taken = ticket;
    const ${index} step = a.by_splits.quotient(taken);
    const ${index} tile = taken - step * (${index})a.splits;
//% insert scan/columns.cu:place
    part carry[V]; // of everything above the step
    bool carries = false;
    {
        const ${index} start = step * (Y * U) + ty * U;
//% insert scan/columns.cu:load
//% insert scan/columns.cu:sums
//% insert :look
//% insert scan/columns.cu:carry
//% insert scan/columns.cu:write
    }
}

//% part look
//# The sums of everything above the step, for every column of the tile at once. A step publishes
//# the sums of all rows down to its own end after it has received those of the step before. By then
//# no block waits any more for the sums of the step before that one, so two places, used in turn,
//# are enough. The marks are the numbers of the steps.
        const long long lines = a.splits * (X * V);
        // Words of this thread's first column.
        unsigned long long *const words = (unsigned long long *)(a.tickets + 4)
            + ((long long)tile * X + tx) * V * part_words;
        auto of = [&](const ${index} s) -> unsigned long long * {
            return words + s % 2 * lines * part_words;
        };
        carries = step > 0;
        if (ty == 0) {
            #pragma unroll
            for (int v = 0; v < V; v++) {
                part all;
                bool has = carries;
                if (has)
                    all = parts[0][tx][v] = await(of(step) + v * part_words, step);
                take(has, all, sum[v]);
                publish(of(step + 1) + v * part_words, all, step + 1);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int v = 0; v < V; v++)
            if (carries)
                carry[v] = parts[0][tx][v];
