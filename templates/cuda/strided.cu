//# strided.cu - the walk over several axes: layouts "inner" (vectors on the last axis) and
//# "general" (vec is 1).
//#
//# grid:  ceil(accesses / (block * unroll)) blocks of `block` threads; no shared memory
//# owner: thread t of block b owns accesses b * block * unroll + u * block + t, u < unroll. An
//#        access is `vec` neighbours on the last axis; its number is taken apart by magic-number
//#        division, once per access, never per element and operand
//# tail:  threads whose accesses would pass the end make them one by one
//% own N a args begin count first
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert environment.cpp
    const ${index} count = (${index})(a.size / ${vec});
    const ${index} begin = (${index})blockIdx.x * ${accesses_per_block} + (${index})threadIdx.x;
    if (begin + ${accesses_last} < count) {
        constexpr int N = ${unroll};
        const ${index} first = begin;
//% insert cuda/strided_burst.cu
    } else {
        #pragma unroll 1
        for (${index} first = begin; first < count; first += ${block}) {
            constexpr int N = 1;
//% insert cuda/strided_burst.cu
        }
    }
//% if after_loop
${after_loop}
//% end
}
