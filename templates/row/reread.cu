//# reread.cu - rows that no block can hold: every stage goes over the row in memory once more.
//#
//# group: a block a row; turned, `group` threads a row and 32 rows a block
//# owner: thread t takes `unroll` accesses at a time, loads them all and then looks at them
extern "C" __global__ void __launch_bounds__(${block}, ${resident})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% insert row/environment.cpp
//% insert row/place.cu
//% for s in stages
//% insert row/stage.cpp
//% insert row/empty.cu
    #pragma unroll 1
    for (${index} kiln__from = kiln__first; kiln__from < kiln__length; kiln__from += kiln__U * kiln__step) {
//% insert row/fold.cu
    }
//% insert row/result.cu

//% end
//% insert row/op.cpp
//% if row_elements
    #pragma unroll 1
    for (${index} kiln__from = kiln__first; kiln__from < kiln__length && kiln__live; kiln__from += kiln__U * kiln__step) {
//% insert row/store.cu
    }
//% end
//% if row_outputs
    if (kiln__live && kiln__first == 0) {
//% insert row/results.cpp
    }
//% end
}
