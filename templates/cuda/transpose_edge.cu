//# A tile that an edge cuts: element by element, each with its bounds.
//% if tiled_loads
        #pragma unroll 2
        for (int kiln__row = kiln__ty; kiln__row < ${tile}; kiln__row += ${tile_rows}) {
            if (kiln__tx < kiln__left_${tile_b} && kiln__row < kiln__left_${tile_a}) {
//% for p in tiled_loads
                kiln__tile_${p.name}[kiln__row][kiln__tx] = kiln__at_${p.name}(kiln__row, kiln__tx);
//% end
            }
        }
        __syncthreads();
//% end
        #pragma unroll 1
        for (int kiln__row = kiln__ty; kiln__row < ${tile}; kiln__row += ${tile_rows}) {
            if (kiln__tx >= kiln__left_${tile_a} || kiln__row >= kiln__left_${tile_b})
                break;
            constexpr int kiln__r = 0;
//% for p in registers
            ${p.type} kiln__reg_${p.name}[1];
//% end
//% for p in plain_loads
            kiln__reg_${p.name}[0] = kiln__at_${p.name}(kiln__tx, kiln__row);
//% end
//% for p in tiled_loads
            kiln__reg_${p.name}[0] = kiln__tile_${p.name}[kiln__tx][kiln__row];
//% end
//% insert cuda/transpose_op.cu
//% for p in plain_stores
            kiln__at_${p.name}(kiln__tx, kiln__row) = kiln__reg_${p.name}[0];
//% end
//% for p in tiled_stores
            kiln__tile_${p.name}[kiln__tx][kiln__row] = kiln__reg_${p.name}[0];
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll 2
        for (int kiln__row = kiln__ty; kiln__row < ${tile}; kiln__row += ${tile_rows}) {
            if (kiln__tx < kiln__left_${tile_b} && kiln__row < kiln__left_${tile_a}) {
//% for p in tiled_stores
                kiln__at_${p.name}(kiln__row, kiln__tx) = kiln__tile_${p.name}[kiln__row][kiln__tx];
//% end
            }
        }
//% end
