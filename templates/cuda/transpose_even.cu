//# transpose_even.cu - a transpose whose operands' rows all begin at multiples of a sector: square tiles,
//# no row of which begins earlier than the tile does. Roles of the operands: transpose.cu.
//#
//# grid:   one block per tile of tile x tile elements and per index of the outer axes
//# block:  `block` threads as (tile, tile_rows)
//# shared: tile * (tile + 1) elements for each tiled operand; the odd pitch keeps both directions
//#         free of bank conflicts
//# owner:  thread (tx, ty) owns the elements A = tx, B = ty + r * tile_rows; tiled operands are
//#         moved with the roles of A and B exchanged
//# packed: where all elements have 1 or 2 bytes a thread moves words of ${vec} neighbours, of whole tiles
//#         and of those at edges alike
//# edges:  of whole tiles all loads are issued before the first is used; a tile that an edge of the
//#         array cuts is processed element by element, with a check of bounds for each
//% own a args at_ at_0 base_ base_i bytes_ i j left_ op quot_ r reg_ rest row tile_ tx ty
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% for p in tiles
    __shared__ alignas(16) unsigned char bytes_${p.name}[${tile} * (${tile} + ${tile_pad}) * ${p.bytes}];
    auto tile_${p.name} = (${p.type}(*)[${tile} + ${tile_pad}])bytes_${p.name};
//% end
//% insert kernel.cpp:environment
//% insert :locate

//% if packed
//% insert :packed
//% else
    if (left_${tile_a} >= ${tile} && left_${tile_b} >= ${tile}) {
//% insert :whole
    } else {
//% insert :edge
    }
//% end
//% if after_loop
${after_loop}
//% end
}

//% part locate
//# The tile of this block: its origin, how many elements of each axis follow it, and functions that
//# give each operand's element at a place of the tile.
//% if !packed
    const int tx = threadIdx.x % ${tile}, ty = threadIdx.x / ${tile};
//% end
    // The last tiles, which the array's edges cut and which therefore take longer, go first.
    ${index} rest = (${index})(gridDim.x - 1 - blockIdx.x);
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
//% for a in tile_axes
    at_${a.n} *= ${tile};
    const ${index} left_${a.n} = (${index})a.extent_${a.n} - at_${a.n};
//% end
//% for p in walking
    ${p.const}char *const base_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
    // The element of ${p.name} at (A, B) = (kiln__i, kiln__j) of this tile.
    auto at_${p.name} = [&](int i, int j) -> ${p.const}${p.type} & {
        return *(${p.const}${p.type} *)(base_${p.name} + i * (${index})a.stride_${p.name}_${tile_a} + j * (${index})a.stride_${p.name}_${tile_b});
    };
//% end
//% if index_strides
    const long long base_i = 0
//% for a in axes
        + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
        ;
//% end

//% part whole
//# A whole tile: all loads are issued first (those of tiled operands pass through shared memory),
//# then the snippet runs, then the results are stored.
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
//% insert :op
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

//% part edge
//# A tile that an edge of the array cuts: element by element, with a check of bounds for each.
//% if tiled_loads
        #pragma unroll 8
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
//% insert :op
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

//% part op
//# The snippet, called for element (A, B) = (tx, row) with the registers of index r.
            op(
//% if index_strides
                base_i + row * a.stride_i_${tile_b} + tx * a.stride_i_${tile_a}
//% else
                0
//% end
//% for p in walking
//% if p.direct
                , at_${p.name}(tx, row)
//% else
                , reg_${p.name}[r]
//% end
//% end
            );

//% part packed
//# A tile of words: the words of tiled operands lie along B in memory and along A in registers. They are
//# taken apart on their way into shared memory, or put together on their way out of it.
//% own P R Q px py row r k word_ reg_ tile_ left_ at_ op base_i load_packed store_packed scatter gather
    constexpr int P = ${vec}, R = ${tile_words}, Q = ${word_rows};
    const int px = P * (threadIdx.x % 32), py = threadIdx.x / 32;
//% for p in registers
    unsigned int word_${p.name}[R];
//% end
//% for p in tiled_loads
    load_packed<Q, P>(word_${p.name}, &at_${p.name}(py, px), Q * a.stride_${p.name}_${tile_a}, left_${tile_a} - py, left_${tile_b} - px);
//% end
//% for p in plain_loads
    load_packed<Q, ${p.lanes}>(word_${p.name}, &at_${p.name}(px, py), Q * a.stride_${p.name}_${tile_b}, left_${tile_b} - py, left_${tile_a} - px);
//% end
//% if tiled_loads
    #pragma unroll
    for (int r = 0; r < R; r++) {
//% for p in tiled_loads
        scatter(tile_${p.name}, px, py + r * Q, word_${p.name}[r]);
//% end
    }
    __syncthreads();
//% end
    #pragma unroll
    for (int r = 0; r < R; r++) {
        const int row = py + r * Q;
//% for p in tiled_loads
        word_${p.name}[r] = *(const unsigned int *)&tile_${p.name}[row][px];
//% end
//% for p in registers
        ${p.type} reg_${p.name}[P];
        memcpy(reg_${p.name}, &word_${p.name}[r], 4);
//% end
        #pragma unroll
        for (int k = 0; k < P; k++)
            if (row < left_${tile_b} && px + k < left_${tile_a})
                op(
//% if index_strides
                    base_i + row * a.stride_i_${tile_b} + (px + k) * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , at_${p.name}(px + k, row)
//% else
                    , reg_${p.name}[k]
//% end
//% end
                );
//% for p in registers
        memcpy(&word_${p.name}[r], reg_${p.name}, 4);
//% end
    }
//% for p in plain_stores
    store_packed<Q>(&at_${p.name}(px, py), Q * a.stride_${p.name}_${tile_b}, left_${tile_b} - py, left_${tile_a} - px, word_${p.name});
//% end
//% if tiled_stores
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < R; r++) {
//% for p in tiled_stores
        *(unsigned int *)&tile_${p.name}[py + r * Q][px] = word_${p.name}[r];
//% end
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < R; r++) {
//% for p in tiled_stores
        word_${p.name}[r] = gather(tile_${p.name}, px, py + r * Q);
//% end
    }
//% for p in tiled_stores
    store_packed<Q>(&at_${p.name}(py, px), Q * a.stride_${p.name}_${tile_a}, left_${tile_a} - py, left_${tile_b} - px, word_${p.name});
//% end
//% end
