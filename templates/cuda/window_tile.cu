//# A tile inside: all windows, then row by row. A shifted row is made when its first view comes to it.
//% own a beyond_ corner_ corner_i from lane op out_ q r shift shifted_ splat_ u window_
//% for p in windows
        ${p.type} window_${p.name}[${p.window_rows}][${unroll}], beyond_${p.name}[${p.window_rows}] = {};
        #pragma unroll
        for (int r = 0; r < ${p.window_rows}; r++) {
            const ${p.type} *const from = (const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++)
                window_${p.name}[r][u] = from[u * 32];
            if (lane < ${p.window_along})
                beyond_${p.name}[r] = from[${strips}];
        }
//% end
//% for p in splats
        ${p.type} splat_${p.name}[${tile}];
        #pragma unroll
        for (int r = 0; r < ${tile}; r++)
            splat_${p.name}[r] = *(const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
//% end
//% for p in shifts
        ${p.type} shifted_${p.name}[${p.shift_rows}][${unroll}];
//% end
        #pragma unroll
        for (int r = 0; r < ${tile}; r++) {
//% for p in shifts
            #pragma unroll
            for (int q = r; q <= r + ${p.shift_span}; q++)
                if (r == 0 || q == r + ${p.shift_span})
                    shift<${p.along}>(shifted_${p.name}[q], window_${p.window}[q + ${p.shift_least}], beyond_${p.window}[q + ${p.shift_least}], lane);
//% end
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
//% for p in stored
                ${p.type} out_${p.name};
//% end
                op(
//% if index_strides
                    corner_i + r * a.stride_i_${tile_b} + u * 32 * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.shifted
                    , shifted_${p.shift}[r + ${p.shift_down}][u]
//% end
//% if p.straight
                    , window_${p.window}[r + ${p.down}][u]
//% end
//% if p.splat
                    , splat_${p.name}[r]
//% end
//% if p.stored
                    , out_${p.name}
//% end
//% end
                );
//% for p in stored
                ((${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b}))[u * 32] = out_${p.name};
//% end
            }
        }
