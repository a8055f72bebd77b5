//# rows.cu - neighbouring threads take neighbours along a reduced axis.
//#
//# group:  `group` threads (a power of two up to a warp, or the whole block) share an output; a
//#         group works on `segments` outputs side by side, so that short rows have loads in flight
//# grid:   outputs / (segments * block / group) blocks; when split, `splits` blocks an output, of
//#         which the last to arrive combines the parts in their fixed order
//# shared: one part a warp when a group is the whole block
//% insert reduce/shuffle.cu
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${group}, kiln__S = ${segments}, kiln__U = ${unroll}, kiln__L = ${lanes};
//% insert reduce/environment.cpp
    const int kiln__lane = threadIdx.x % kiln__G;
//% if split
    const ${index} kiln__output = kiln__a.by_splits.quotient((${index})blockIdx.x);
    const ${index} kiln__split = (${index})blockIdx.x - kiln__output * (${index})kiln__a.splits;
    const ${index} kiln__begin = kiln__split * (${index})kiln__a.chunk;
    const ${index} kiln__stop = kiln__begin + (${index})kiln__a.chunk;
    const ${index} kiln__end = kiln__stop < (${index})kiln__a.length ? kiln__stop : (${index})kiln__a.length;
//% else
    const ${index} kiln__output = (${index})blockIdx.x * (kiln__S * (${block} / kiln__G)) + (${index})threadIdx.x / kiln__G;
    const ${index} kiln__begin = 0, kiln__end = (${index})kiln__a.length;
//% end
    // Where each of the group's segments begins; surplus ones repeat the last.
//% for p in inputs
    const char *kiln__row_${p.name}[kiln__S];
//% end
//% for x in numbers
    long long kiln__base_${x.name}[kiln__S];
//% end
    kiln__part kiln__acc[kiln__S][kiln__L];
    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
        ${index} kiln__rest = kiln__output + kiln__s * (${block} / kiln__G);
        if (kiln__rest >= (${index})kiln__a.outputs)
            kiln__rest = (${index})kiln__a.outputs - 1;
//% for a in keep_divided
        const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
        const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
        kiln__rest = kiln__quot_${a.n};
//% end
        const ${index} kiln__at_0 = kiln__rest;
//% for p in inputs
        kiln__row_${p.name}[kiln__s] = (const char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for x in numbers
        kiln__base_${x.name}[kiln__s] = 0
//% for a in keep_axes
            + (long long)kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
            ;
//% end
        #pragma unroll
        for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
            kiln__acc[kiln__s][kiln__l] = kiln__empty();
    }

    ${index} kiln__at = kiln__begin + kiln__lane;
    for (; kiln__at + (kiln__U - 1) * kiln__G < kiln__end; kiln__at += kiln__U * kiln__G) {
        constexpr int kiln__N = kiln__U;
//% insert reduce/rows_burst.cu
    }
    #pragma unroll 1
    for (; kiln__at < kiln__end; kiln__at += kiln__G) {
        constexpr int kiln__N = 1;
//% insert reduce/rows_burst.cu
    }

    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
        kiln__part kiln__p = kiln__acc[kiln__s][0];
        #pragma unroll
        for (int kiln__l = 1; kiln__l < kiln__L; kiln__l++)
            kiln__p = kiln__merge(kiln__p, kiln__acc[kiln__s][kiln__l]);
        #pragma unroll
        for (int kiln__d = (kiln__G < 32 ? kiln__G : 32) / 2; kiln__d > 0; kiln__d /= 2)
            kiln__p = kiln__merge(kiln__p, kiln__exchange(kiln__p, kiln__d));
        kiln__acc[kiln__s][0] = kiln__p;
    }
//% if whole_block
    // One warp's parts each; the first thread ends up with the block's.
    __shared__ alignas(16) unsigned char kiln__bytes[(${block} / 32) * sizeof(kiln__part)];
    kiln__part *kiln__warps = (kiln__part *)kiln__bytes;
    auto kiln__across = [&](kiln__part kiln__p) -> kiln__part {
        if (threadIdx.x % 32 == 0)
            kiln__warps[threadIdx.x / 32] = kiln__p;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int kiln__w = 1; kiln__w < ${block} / 32; kiln__w++)
                kiln__p = kiln__merge(kiln__p, kiln__warps[kiln__w]);
        __syncthreads();
        return kiln__p;
    };
    kiln__part kiln__whole = kiln__across(kiln__acc[0][0]);
//% if split
    __shared__ bool kiln__last;
    if (threadIdx.x == 0) {
        kiln__a.parts[kiln__output * (${index})kiln__a.splits + kiln__split] = kiln__whole;
        __threadfence();
        kiln__last = atomicAdd(&kiln__a.tickets[kiln__output], 1) == (int)kiln__a.splits - 1;
    }
    __syncthreads();
    if (!kiln__last)
        return;
    __threadfence();
    kiln__whole = kiln__empty();
    #pragma unroll 4
    for (${index} kiln__k = threadIdx.x; kiln__k < (${index})kiln__a.splits; kiln__k += ${block})
        kiln__whole = kiln__merge(kiln__whole, kiln__a.parts[kiln__output * (${index})kiln__a.splits + kiln__k]);
    #pragma unroll
    for (int kiln__d = 16; kiln__d > 0; kiln__d /= 2)
        kiln__whole = kiln__merge(kiln__whole, kiln__exchange(kiln__whole, kiln__d));
    kiln__whole = kiln__across(kiln__whole);
    if (threadIdx.x == 0)
        kiln__a.tickets[kiln__output] = 0;
//% end
    if (threadIdx.x == 0)
        kiln__finish(kiln__output, kiln__whole);
//% else
    // Every lane has every result: the group's lanes share the work of finishing them.
    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s += kiln__G) {
        kiln__part kiln__mine = kiln__acc[kiln__s][0];
        #pragma unroll
        for (int kiln__t = 1; kiln__t < kiln__G && kiln__s + kiln__t < kiln__S; kiln__t++)
            if (kiln__lane == kiln__t)
                kiln__mine = kiln__acc[kiln__s + kiln__t][0];
        const ${index} kiln__k = kiln__output + (kiln__s + kiln__lane) * (${block} / kiln__G);
        if (kiln__s + kiln__lane < kiln__S && kiln__k < (${index})kiln__a.outputs)
            kiln__finish(kiln__k, kiln__mine);
    }
//% end
}
