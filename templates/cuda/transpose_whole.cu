//# A whole tile: all loads in flight, tiled ones by way of shared memory, then the snippet and the
//# stores.
//% own at_ r reg_ row tile_ tx ty
//% for p in registers
        ${p.type} reg_${p.name}[${tile_loads}];
//% end
        #pragma unroll
        for (int r = 0; r < ${tile_loads}; r++) {
            const int row = ty + r * ${tile_rows};
//% for p in tiled_loads
            reg_${p.name}[r] = at_${p.name}(row, tx);
//% end
//% for p in plain_loads
            reg_${p.name}[r] = at_${p.name}(tx, row);
//% end
        }
//% if tiled_loads
        #pragma unroll
        for (int r = 0; r < ${tile_loads}; r++) {
            const int row = ty + r * ${tile_rows};
//% for p in tiled_loads
            tile_${p.name}[row][tx] = reg_${p.name}[r];
//% end
        }
        __syncthreads();
//% end
        #pragma unroll
        for (int r = 0; r < ${tile_loads}; r++) {
            const int row = ty + r * ${tile_rows};
//% for p in tiled_loads
            reg_${p.name}[r] = tile_${p.name}[tx][row];
//% end
//% insert cuda/transpose_op.cu
//% for p in plain_stores
            at_${p.name}(tx, row) = reg_${p.name}[r];
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < ${tile_loads}; r++) {
            const int row = ty + r * ${tile_rows};
//% for p in tiled_stores
            tile_${p.name}[tx][row] = reg_${p.name}[r];
//% end
        }
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < ${tile_loads}; r++) {
            const int row = ty + r * ${tile_rows};
//% for p in tiled_stores
            at_${p.name}(row, tx) = tile_${p.name}[row][tx];
//% end
        }
//% end
