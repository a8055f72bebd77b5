//# transpose.cu - operands disagree on the fastest axis: those that run along axis B = rank - 2 go
//# through tiles in shared memory, the others run along axis A = rank - 1; both sides coalesce.
//#
//# grid:   one block per tile of tile x tile elements and per index of the outer axes
//# block:  `block` threads as (tile, tile_rows)
//# shared: tile * (tile + 1) elements for each tiled operand; the odd pitch keeps both directions
//#         free of bank conflicts
//# owner:  thread (tx, ty) owns the elements A = tx, B = ty + r * tile_rows; tiled operands are
//#         moved with the roles of A and B exchanged
//# edges:  whole tiles have all loads in flight before the first use; tiles cut by an edge go
//#         element by element with bounds
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% for p in tiles
    __shared__ alignas(16) unsigned char kiln__bytes_${p.name}[${tile} * (${tile} + 1) * ${p.bytes}];
    auto kiln__tile_${p.name} = (${p.type}(*)[${tile} + 1])kiln__bytes_${p.name};
//% end
//% insert environment.cpp
    const int kiln__tx = threadIdx.x % ${tile}, kiln__ty = threadIdx.x / ${tile};
    ${index} kiln__rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    ${index} kiln__at_0 = kiln__rest;
//% for a in tile_axes
    kiln__at_${a.n} *= ${tile};
    const ${index} kiln__left_${a.n} = (${index})kiln__a.extent_${a.n} - kiln__at_${a.n};
//% end
//% for p in walking
    ${p.const}char *const kiln__base_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% for a in axes
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
    // The element of ${p.name} at (A, B) = (kiln__i, kiln__j) of this tile.
    auto kiln__at_${p.name} = [&](int kiln__i, int kiln__j) -> ${p.const}${p.type} & {
        return *(${p.const}${p.type} *)(kiln__base_${p.name} + kiln__i * (${index})kiln__a.stride_${p.name}_${tile_a} + kiln__j * (${index})kiln__a.stride_${p.name}_${tile_b});
    };
//% end
//% if index_strides
    const long long kiln__base_i = 0
//% for a in axes
        + (long long)kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
        ;
//% end

    if (kiln__left_${tile_a} >= ${tile} && kiln__left_${tile_b} >= ${tile}) {
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
    } else {
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
    }
//% if after_loop
${after_loop}
//% end
}
