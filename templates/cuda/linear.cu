//# linear.cu - every operand is contiguous, or has a single element that serves all.
//#
//# grid:  ceil(size / (block * unroll * vec)) blocks of `block` threads; no shared memory
//# owner: thread t of block b owns the accesses b * block * unroll + u * block + t, u < unroll,
//#        of `vec` neighbours each: a warp's access is one run of memory, and a thread's loads are
//#        all issued before the first is used
//# tail:  threads whose accesses would pass the end process their elements one by one; there is none
//#        where a thread has one element
//% own a args begin k load op reg_ store u v
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert kernel.cpp:environment
    const long long begin = ((long long)blockIdx.x * ${accesses_per_block} + threadIdx.x) * ${vec};
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
                op(begin + u * ${access_step} + v
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
//% end
    }
//% if after_loop
${after_loop}
//% end
}
