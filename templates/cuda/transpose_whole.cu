//# A whole tile: all loads in flight, tiled ones by way of shared memory, then the snippet and the
//# stores.
//% for p in registers
        ${p.type} kiln__reg_${p.name}[${tile_loads}];
//% end
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile_loads}; kiln__r++) {
            const int kiln__row = kiln__ty + kiln__r * ${tile_rows};
//% for p in tiled_loads
            kiln__reg_${p.name}[kiln__r] = kiln__at_${p.name}(kiln__row, kiln__tx);
//% end
//% for p in plain_loads
            kiln__reg_${p.name}[kiln__r] = kiln__at_${p.name}(kiln__tx, kiln__row);
//% end
        }
//% if tiled_loads
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile_loads}; kiln__r++) {
            const int kiln__row = kiln__ty + kiln__r * ${tile_rows};
//% for p in tiled_loads
            kiln__tile_${p.name}[kiln__row][kiln__tx] = kiln__reg_${p.name}[kiln__r];
//% end
        }
        __syncthreads();
//% end
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile_loads}; kiln__r++) {
            const int kiln__row = kiln__ty + kiln__r * ${tile_rows};
//% for p in tiled_loads
            kiln__reg_${p.name}[kiln__r] = kiln__tile_${p.name}[kiln__tx][kiln__row];
//% end
//% insert cuda/transpose_op.cu
//% for p in plain_stores
            kiln__at_${p.name}(kiln__tx, kiln__row) = kiln__reg_${p.name}[kiln__r];
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile_loads}; kiln__r++) {
            const int kiln__row = kiln__ty + kiln__r * ${tile_rows};
//% for p in tiled_stores
            kiln__tile_${p.name}[kiln__tx][kiln__row] = kiln__reg_${p.name}[kiln__r];
//% end
        }
        __syncthreads();
        #pragma unroll
        for (int kiln__r = 0; kiln__r < ${tile_loads}; kiln__r++) {
            const int kiln__row = kiln__ty + kiln__r * ${tile_rows};
//% for p in tiled_stores
            kiln__at_${p.name}(kiln__row, kiln__tx) = kiln__tile_${p.name}[kiln__row][kiln__tx];
//% end
        }
//% end
