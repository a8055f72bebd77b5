//# kiln__N accesses of one row, the first at number kiln__first: load them all, then work.
//% for p in walking
            ${p.const}char *const kiln__at_${p.name} = kiln__row_${p.name} + kiln__first * ${p.access_bytes};
//% end
//% for p in registers
            ${p.type} kiln__reg_${p.name}[kiln__N][${p.lanes}];
//% end
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
//% for p in loaded
                kiln__load(kiln__reg_${p.name}[kiln__u], kiln__at_${p.name} + kiln__u * (${group} * ${p.access_bytes}));
//% end
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < ${vec}; kiln__v++)
                    kiln__op(
//% if index_strides
                        kiln__base_i + kiln__row * kiln__a.stride_i_${tile_b} + (kiln__first + kiln__u * ${group}) * kiln__a.stride_i_${last} + kiln__v * (kiln__a.stride_i_${last} / ${vec})
//% else
                        0
//% end
//% for p in walking
//% if p.direct
                        , ((${p.const}${p.type} *)(kiln__at_${p.name} + kiln__u * (${group} * ${p.access_bytes})))[kiln__v]
//% else
                        , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
//% for p in stored
                kiln__store(kiln__at_${p.name} + kiln__u * (${group} * ${p.access_bytes}), kiln__reg_${p.name}[kiln__u]);
//% end
            }
