//# kiln__N accesses, the first at number kiln__first: locate them all, load them all, then work.
//% for p in walking
            ${index} kiln__off_${p.name}[kiln__N];
//% end
//% if index_strides
            long long kiln__off_i[kiln__N];
//% end
//% for p in registers
            ${p.type} kiln__reg_${p.name}[kiln__N][${p.lanes}];
//% end
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
                ${index} kiln__rest = kiln__first + kiln__u * ${block};
//% for a in divided_axes
                const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
                const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
                kiln__rest = kiln__quot_${a.n};
//% end
                const ${index} kiln__at_0 = kiln__rest;
//% for p in walking
                kiln__off_${p.name}[kiln__u] = 0
//% for a in axes
                    + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
                    ;
//% end
//% if index_strides
                kiln__off_i[kiln__u] = 0
//% for a in axes
                    + (long long)kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
                    ;
//% end
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
//% for p in loaded
                kiln__load(kiln__reg_${p.name}[kiln__u], (const char *)kiln__a.ptr_${p.name} + kiln__off_${p.name}[kiln__u]);
//% end
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < ${vec}; kiln__v++)
                    kiln__op(
//% if index_strides
                        kiln__off_i[kiln__u] + kiln__v * (kiln__a.stride_i_${last} / ${vec})
//% else
                        ((long long)kiln__first + kiln__u * ${block}) * ${vec} + kiln__v
//% end
//% for p in walking
//% if p.direct
                        , ((${p.const}${p.type} *)((${p.const}char *)kiln__a.ptr_${p.name} + kiln__off_${p.name}[kiln__u]))[kiln__v]
//% else
                        , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
//% for p in stored
                kiln__store((char *)kiln__a.ptr_${p.name} + kiln__off_${p.name}[kiln__u], kiln__reg_${p.name}[kiln__u]);
//% end
            }
