//# linear.cu - every operand is contiguous, or has a single element that serves all.
//#
//# grid:  ceil(size / (block * unroll * vec)) blocks of `block` threads; no shared memory
//# owner: thread t of block b owns the accesses b * block * unroll + u * block + t, u < unroll,
//#        of `vec` neighbours each: a warp's access is one run of memory, and a thread's loads are
//#        all issued before the first is used. `vec` is a power of two, and the index of a neighbour is
//#        `| v`, so that the compiler sees what neighbours have in common (prelude/random.h)
//# tail:  threads whose accesses would pass the end process their elements one by one; there is none
//#        where a thread has one element
//# lists: several calls share the grid; a block finds its call by the first blocks of all. The arguments
//#        are laid out by kiln__lists_bytes() (codegen.h)
//% own a args begin k load op reg_ store u v lists_item lists call half in
//% plain size ptr_ common calls firsts
//% if lists
struct lists_item {
    long long size;
//% for p in pointers
    ${p.const}${p.type} *ptr_${p.name};
//% end
};

struct lists {
    args common;
    lists_item calls[${lists}];
    unsigned firsts[${lists}];
};

//% end
extern "C" __global__ void __launch_bounds__(${block})
//% if lists
${entry}(const __grid_constant__ lists in)
{
    int call = 0;
    #pragma unroll
    for (int half = ${lists_half}; half > 0; half /= 2)
        if (call + half < ${lists} && in.firsts[call + half] <= blockIdx.x)
            call += half;
    args a = in.common;
    a.size = in.calls[call].size;
//% for p in pointers
    a.ptr_${p.name} = in.calls[call].ptr_${p.name};
//% end
//% else
${entry}(const __grid_constant__ args a)
{
//% end
//% insert kernel.cpp:environment
//% if lists
    const long long begin = ((long long)(blockIdx.x - in.firsts[call]) * ${accesses_per_block} + threadIdx.x) * ${vec};
//% else
    const long long begin = ((long long)blockIdx.x * ${accesses_per_block} + threadIdx.x) * ${vec};
//% end
    if (begin + ${burst_span} <= a.size) {
//% for p in registers
        ${p.type} reg_${p.name}[${unroll}][${vec}];
//% end
        #pragma unroll
        for (int u = 0; u < ${unroll}; u++) {
//% for p in loaded
            load(reg_${p.name}[u], a.ptr_${p.name} + begin + u * ${access_step});
//% end
        }
        #pragma unroll
        for (int u = 0; u < ${unroll}; u++) {
            #pragma unroll
            for (int v = 0; v < ${vec}; v++)
                op((begin + u * ${access_step}) | v
//% for p in walking
//% if p.direct
                    , a.ptr_${p.name}[begin + u * ${access_step} + v]
//% else
                    , reg_${p.name}[u][v]
//% end
//% end
                );
        }
        #pragma unroll
        for (int u = 0; u < ${unroll}; u++) {
//% for p in stored
            store(a.ptr_${p.name} + begin + u * ${access_step}, reg_${p.name}[u]);
//% end
        }
//% if several
    } else {
//% insert :tail
//% end
    }
//% if after_loop
${after_loop}
//% end
}

//% part tail
//# The elements of a thread whose accesses would pass the end, one by one.
        #pragma unroll 1
        for (int u = 0; u < ${burst_elements}; u++) {
            const long long k = begin + (u / ${vec}) * ${access_step} + u % ${vec};
            if (k >= a.size)
                break;
//% for p in registers
            ${p.type} reg_${p.name};
//% end
//% for p in loaded
            reg_${p.name} = a.ptr_${p.name}[k];
//% end
            op(k
//% for p in walking
//% if p.direct
                , a.ptr_${p.name}[k]
//% else
                , reg_${p.name}
//% end
//% end
            );
//% for p in stored
            a.ptr_${p.name}[k] = reg_${p.name};
//% end
        }
