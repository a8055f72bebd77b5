//# reread.cu - rows that no block can hold: every stage reads the row from memory again.
//#
//# group: a block works on one row; in the turned form `group` threads work on a row, and a block
//#        on 32 neighbouring rows
//# owner: thread t takes `unroll` accesses at a time and loads all of them before it uses the first
//% own U a args first from length live step
extern "C" __global__ void __launch_bounds__(${block}, ${resident})
${entry}(const __grid_constant__ args a)
{
//% insert row/kernel.cpp:environment
//% insert row/elements.cu:place
//% for s in stages
//% insert row/kernel.cpp:stage
//% insert row/elements.cu:empty
    #pragma unroll 1
    for (${index} from = first; from < length; from += U * step) {
//% insert row/elements.cu:fold
    }
//% insert row/elements.cu:result

//% end
//% insert row/kernel.cpp:op
//% if row_elements
    #pragma unroll 1
    for (${index} from = first; from < length && live; from += U * step) {
//% insert row/elements.cu:store
    }
//% end
//% if row_outputs
    if (live && first == 0) {
//% insert row/kernel.cpp:results
    }
//% end
}
