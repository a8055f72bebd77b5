//# linear.cu - every operand lies contiguous, or one element of it serves all.
//#
//# grid:  ceil(size / (block * unroll * vec)) blocks of `block` threads; no shared memory
//# owner: thread t of block b owns the accesses b * block * unroll + u * block + t, u < unroll,
//#        of `vec` neighbours each: a warp's access is one run of memory, and a thread's loads are
//#        all issued before the first is used
//# tail:  threads whose accesses would pass the end take their elements one by one
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% insert environment.cpp
    const long long kiln__begin = ((long long)blockIdx.x * ${accesses_per_block} + threadIdx.x) * ${vec};
    if (kiln__begin + ${burst_span} <= kiln__a.size) {
//% for p in registers
        ${p.type} kiln__reg_${p.name}[${unroll}][${vec}];
//% end
        #pragma unroll
        for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
//% for p in loaded
            kiln__load(kiln__reg_${p.name}[kiln__u], kiln__a.ptr_${p.name} + kiln__begin + kiln__u * ${access_step});
//% end
        }
        #pragma unroll
        for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < ${vec}; kiln__v++)
                kiln__op(kiln__begin + kiln__u * ${access_step} + kiln__v
//% for p in walking
//% if p.direct
                    , kiln__a.ptr_${p.name}[kiln__begin + kiln__u * ${access_step} + kiln__v]
//% else
                    , kiln__reg_${p.name}[kiln__u][kiln__v]
//% end
//% end
                );
        }
        #pragma unroll
        for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
//% for p in stored
            kiln__store(kiln__a.ptr_${p.name} + kiln__begin + kiln__u * ${access_step}, kiln__reg_${p.name}[kiln__u]);
//% end
        }
    } else {
        #pragma unroll 1
        for (int kiln__u = 0; kiln__u < ${burst_elements}; kiln__u++) {
            const long long kiln__k = kiln__begin + (kiln__u / ${vec}) * ${access_step} + kiln__u % ${vec};
            if (kiln__k >= kiln__a.size)
                break;
//% for p in registers
            ${p.type} kiln__reg_${p.name};
//% end
//% for p in loaded
            kiln__reg_${p.name} = kiln__a.ptr_${p.name}[kiln__k];
//% end
            kiln__op(kiln__k
//% for p in walking
//% if p.direct
                , kiln__a.ptr_${p.name}[kiln__k]
//% else
                , kiln__reg_${p.name}
//% end
//% end
            );
//% for p in stored
            kiln__a.ptr_${p.name}[kiln__k] = kiln__reg_${p.name};
//% end
        }
    }
//% if after_loop
${after_loop}
//% end
}
