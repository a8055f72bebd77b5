//# A tile that an edge cuts: element by element, each with its bounds.
//% own at_ left_ r reg_ row tile_ tx ty
//% if tiled_loads
        #pragma unroll 2
        for (int row = ty; row < ${tile}; row += ${tile_rows}) {
            if (tx < left_${tile_b} && row < left_${tile_a}) {
//% for p in tiled_loads
                tile_${p.name}[row][tx] = at_${p.name}(row, tx);
//% end
            }
        }
        __syncthreads();
//% end
        #pragma unroll 1
        for (int row = ty; row < ${tile}; row += ${tile_rows}) {
            if (tx >= left_${tile_a} || row >= left_${tile_b})
                break;
            constexpr int r = 0;
//% for p in registers
            ${p.type} reg_${p.name}[1];
//% end
//% for p in plain_loads
            reg_${p.name}[0] = at_${p.name}(tx, row);
//% end
//% for p in tiled_loads
            reg_${p.name}[0] = tile_${p.name}[tx][row];
//% end
//% insert cuda/transpose_op.cu
//% for p in plain_stores
            at_${p.name}(tx, row) = reg_${p.name}[0];
//% end
//% for p in tiled_stores
            tile_${p.name}[tx][row] = reg_${p.name}[0];
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll 2
        for (int row = ty; row < ${tile}; row += ${tile_rows}) {
            if (tx < left_${tile_b} && row < left_${tile_a}) {
//% for p in tiled_stores
                at_${p.name}(row, tx) = tile_${p.name}[row][tx];
//% end
            }
        }
//% end
