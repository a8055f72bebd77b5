//# A tile at an edge: every view for itself, a row at a time.
//% own a column columns corner_ corner_i deep lane op r reg_ row rows u
//% plain min
        const int deep = (int)min(rows - row, (${index})${tile});
        #pragma unroll 1
        for (int r = 0; r < deep; r++) {
//% for p in registers
            ${p.type} reg_${p.name}[${unroll}];
//% end
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
                if (column + lane + 32 * u >= columns)
                    continue;
//% for p in loaded
//% if p.windowed
                reg_${p.name}[u] = ((const ${p.type} *)(corner_${p.window} + (r + ${p.down}) * a.stride_${p.window}_${tile_b}))[u * 32 + ${p.along}];
//% else
                reg_${p.name}[u] = *(const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
//% end
//% end
            }
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
                if (column + lane + 32 * u >= columns)
                    continue;
                op(
//% if index_strides
                    corner_i + r * a.stride_i_${tile_b} + u * 32 * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
                    , reg_${p.name}[u]
//% end
                );
//% for p in stored
                ((${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b}))[u * 32] = reg_${p.name}[u];
//% end
            }
        }
