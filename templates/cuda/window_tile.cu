//# A tile inside: all windows, then row by row. A shifted row is made when its first view comes to it.
//% for p in windows
        ${p.type} kiln__window_${p.name}[${p.window_rows}][${unroll}], kiln__beyond_${p.name}[${p.window_rows}] = {};
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${p.window_rows}; kiln__r++) {
            const ${p.type} *const kiln__from = (const ${p.type} *)(kiln__corner_${p.name} + kiln__r * kiln__a.stride_${p.name}_${tile_b});
            #pragma unroll
            for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++)
                kiln__window_${p.name}[kiln__r][kiln__u] = kiln__from[kiln__u * 32];
            if (kiln__lane < ${p.window_along})
                kiln__beyond_${p.name}[kiln__r] = kiln__from[${strips}];
        }
//% end
//% for p in splats
        ${p.type} kiln__splat_${p.name}[${tile}];
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile}; kiln__r++)
            kiln__splat_${p.name}[kiln__r] = *(const ${p.type} *)(kiln__corner_${p.name} + kiln__r * kiln__a.stride_${p.name}_${tile_b});
//% end
//% for p in shifts
        ${p.type} kiln__shifted_${p.name}[${p.shift_rows}][${unroll}];
//% end
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile}; kiln__r++) {
//% for p in shifts
            #pragma unroll
            for (int kiln__q = kiln__r; kiln__q <= kiln__r + ${p.shift_span}; kiln__q++)
                if (kiln__r == 0 || kiln__q == kiln__r + ${p.shift_span})
                    kiln__shift<${p.along}>(kiln__shifted_${p.name}[kiln__q], kiln__window_${p.window}[kiln__q + ${p.shift_least}], kiln__beyond_${p.window}[kiln__q + ${p.shift_least}], kiln__lane);
//% end
            #pragma unroll
            for (int kiln__u = 0; kiln__u < ${unroll}; kiln__u++) {
//% for p in stored
                ${p.type} kiln__out_${p.name};
//% end
                kiln__op(
//% if index_strides
                    kiln__corner_i + kiln__r * kiln__a.stride_i_${tile_b} + kiln__u * 32 * kiln__a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.shifted
                    , kiln__shifted_${p.shift}[kiln__r + ${p.shift_down}][kiln__u]
//% end
//% if p.straight
                    , kiln__window_${p.window}[kiln__r + ${p.down}][kiln__u]
//% end
//% if p.splat
                    , kiln__splat_${p.name}[kiln__r]
//% end
//% if p.stored
                    , kiln__out_${p.name}
//% end
//% end
                );
//% for p in stored
                ((${p.type} *)(kiln__corner_${p.name} + kiln__r * kiln__a.stride_${p.name}_${tile_b}))[kiln__u * 32] = kiln__out_${p.name};
//% end
            }
        }
