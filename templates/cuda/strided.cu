//# strided.cu - the walk over several axes: layouts "inner" (vectors on the last axis) and
//# "general" (vec is 1).
//#
//# grid:  ceil(accesses / (block * unroll)) blocks of `block` threads; no shared memory
//# owner: thread t of block b owns accesses b * block * unroll + u * block + t, u < unroll. An
//#        access is `vec` neighbours on the last axis; its coordinates are computed from its number
//#        by magic-number division, once per access, never per element and operand
//# lines: rows of the first result begin within lines of memory. A row has as many accesses as fill whole warps
//#        wherever in a line it begins, and lane 0 has the beginning of a line; what lies before the row or behind
//#        it is left out
//# tail:  threads whose accesses would pass the end make them one by one; there is none where a thread
//#        has one access
//% own within N a args at_ at_0 begin count first load off_ off_i op quot_ reg_ rest store u v
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert kernel.cpp:environment
//% if lines
    const ${index} count = (${index})a.count;
//% else
    const ${index} count = (${index})(a.size / ${vec});
//% end
    const ${index} begin = (${index})blockIdx.x * ${accesses_per_block} + (${index})threadIdx.x;
    if (begin + ${accesses_last} < count) {
        constexpr int N = ${unroll};
        const ${index} first = begin;
//% insert :burst
//% if bursts
    } else {
        #pragma unroll 1
        for (${index} first = begin; first < count; first += ${block}) {
            constexpr int N = 1;
//% insert :burst
        }
//% end
    }
//% if after_loop
${after_loop}
//% end
}

//% part burst
//# N accesses, of which the first has the number `first`: all are located, then all are loaded, and
//# only then is the first of them used.
//% for p in walking
            ${index} off_${p.name}[N];
//% end
//% if index_strides
            long long off_i[N];
//% end
//% if lines
            bool within[N];
//% end
//% for p in registers
            ${p.type} reg_${p.name}[N][${p.lanes}];
//% end
            #pragma unroll
            for (int u = 0; u < N; u++) {
                ${index} rest = first + u * ${block};
//% for a in divided_axes
                const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
//% if lines
                ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
//% else
                const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
//% end
                rest = quot_${a.n};
//% end
                const ${index} at_0 = rest;
//% if lines
//% for p in lined
                at_${last} -= (${index})(((size_t)a.ptr_${p.name}
//% for a in axes_outer
                    + (size_t)at_${a.n} * (size_t)a.stride_${p.name}_${a.n}
//% end
                    ) % ${p.span} / ${p.bytes} / ${vec});
//% end
                within[u] = at_${last} >= 0 && at_${last} < (${index})(a.extent_${last} / ${vec});
//% end
//% for p in walking
                off_${p.name}[u] = 0
//% for a in axes
                    + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                    ;
//% end
//% if index_strides
                off_i[u] = 0
//% for a in axes
                    + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
                    ;
//% end
            }
            #pragma unroll
            for (int u = 0; u < N; u++) {
//% if lines
                if (!within[u])
                    continue;
//% end
//% for p in loaded
                load(reg_${p.name}[u], (const char *)a.ptr_${p.name} + off_${p.name}[u]);
//% end
            }
            #pragma unroll
            for (int u = 0; u < N; u++) {
//% if lines
                if (!within[u])
                    continue;
//% end
                #pragma unroll
                for (int v = 0; v < ${vec}; v++)
                    op(
//% if index_strides
                        off_i[u] + v * (a.stride_i_${last} / ${vec})
//% else
                        ((long long)first + u * ${block}) * ${vec} + v
//% end
//% for p in walking
//% if p.direct
                        , ((${p.const}${p.type} *)((${p.const}char *)a.ptr_${p.name} + off_${p.name}[u]))[${p.lane}]
//% else
                        , reg_${p.name}[u][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int u = 0; u < N; u++) {
//% if lines
                if (!within[u])
                    continue;
//% end
//% for p in stored
                store((char *)a.ptr_${p.name} + off_${p.name}[u], reg_${p.name}[u]);
//% end
            }
