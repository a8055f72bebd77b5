//# A tile at an edge: every view for itself, a row at a time.
        const int kiln__deep = (int)min(kiln__rows - kiln__row, (${index})${tile});
        #pragma unroll 1
        for (int kiln__r = 0; kiln__r < kiln__deep; kiln__r++) {
//% for p in registers
            ${p.type} kiln__reg_${p.name}[${unroll}];
//% end
            #pragma unroll
            for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
                if (kiln__column + kiln__lane + 32 * kiln__u >= kiln__columns)
                    continue;
//% for p in loaded
//% if p.windowed
                kiln__reg_${p.name}[kiln__u] = ((const ${p.type} *)(kiln__corner_${p.window} + (kiln__r + ${p.down}) * kiln__a.stride_${p.window}_${tile_b}))[kiln__u * 32 + ${p.along}];
//% else
                kiln__reg_${p.name}[kiln__u] = *(const ${p.type} *)(kiln__corner_${p.name} + kiln__r * kiln__a.stride_${p.name}_${tile_b});
//% end
//% end
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
                if (kiln__column + kiln__lane + 32 * kiln__u >= kiln__columns)
                    continue;
                kiln__op(
//% if index_strides
                    kiln__corner_i + kiln__r * kiln__a.stride_i_${tile_b} + kiln__u * 32 * kiln__a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
                    , kiln__reg_${p.name}[kiln__u]
//% end
                );
//% for p in stored
                ((${p.type} *)(kiln__corner_${p.name} + kiln__r * kiln__a.stride_${p.name}_${tile_b}))[kiln__u * 32] = kiln__reg_${p.name}[kiln__u];
//% end
            }
        }
