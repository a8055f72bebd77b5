//# N accesses, the first at number first: locate them all, load them all, then work.
//% own N a at_ at_0 first load off_ off_i op quot_ reg_ rest store u v
//% for p in walking
            ${index} off_${p.name}[N];
//% end
//% if index_strides
            long long off_i[N];
//% end
//% for p in registers
            ${p.type} reg_${p.name}[N][${p.lanes}];
//% end
            #pragma unroll
            for (int u = 0; u < N; u++) {
                ${index} rest = first + u * ${block};
//% for a in divided_axes
                const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
                const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
                rest = quot_${a.n};
//% end
                const ${index} at_0 = rest;
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
//% for p in loaded
                load(reg_${p.name}[u], (const char *)a.ptr_${p.name} + off_${p.name}[u]);
//% end
            }
            #pragma unroll
            for (int u = 0; u < N; u++) {
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
                        , ((${p.const}${p.type} *)((${p.const}char *)a.ptr_${p.name} + off_${p.name}[u]))[v]
//% else
                        , reg_${p.name}[u][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int u = 0; u < N; u++) {
//% for p in stored
                store((char *)a.ptr_${p.name} + off_${p.name}[u], reg_${p.name}[u]);
//% end
            }
