//# reread.cu - rows that no block can hold: every stage goes over the row in memory once more.
//#
//# group: a block a row; turned, ${group} threads a row and 32 rows a block
//# owner: thread t takes `unroll` accesses at a time, t + u * step; the last ones are looked at singly
extern "C" __global__ void __launch_bounds__(${block}, ${resident})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% insert row/environment.cpp
//% insert row/place.cu
//% for s in stages
//% insert row/stage.cpp
    kiln__part_${s.n} kiln__acc_${s.n}[kiln__L];
    #pragma unroll
    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
        kiln__acc_${s.n}[kiln__l] = kiln__empty_${s.n}();
    #pragma unroll kiln__U
    for (${index} kiln__j = kiln__first; kiln__j < kiln__length; kiln__j += kiln__step) {
//% insert row/late.cu
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
            kiln__fold_${s.n}(kiln__acc_${s.n}[kiln__v % kiln__L], kiln__map_${s.n}(0
//% insert row/element.cu
            ));
    }
//% insert row/result.cu

//% end
//% insert row/op.cpp
//% if row_elements
    #pragma unroll kiln__U
    for (${index} kiln__j = kiln__first; kiln__j < kiln__length; kiln__j += kiln__step) {
//% insert row/late.cu
//% insert row/store.cu
    }
//% end
//% if row_outputs
    if (kiln__live && kiln__first == 0) {
//% insert row/results.cpp
    }
//% end
}
