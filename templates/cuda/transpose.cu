//# transpose.cu - operands are contiguous along different axes. Those that are contiguous along
//# axis B = rank - 2 pass through tiles in shared memory, the others are accessed directly along
//# axis A = rank - 1, so that the accesses of both kinds coalesce.
//#
//# words:  a thread moves words: an element, or where all elements have 1 or 2 bytes, ${vec} neighbours
//#         in 4 bytes. In shared memory a word has neighbours along A: it is a part of a row of the tile
//# grid:   one block per tile of tile_side x tile elements (A, B) and per index of the outer axes
//# shared: for each tiled operand a row for each element of B. The pitch is an odd number of words, and
//#         elements of B that a thread moves together lie far apart: both directions are free of bank
//#         conflicts
//# owner:  of tiled operands thread (lane, line) moves ${vec} words along B, of the elements of A from
//#         ${vec} * line on; of the others, and of the results, unroll words along A
//# shift:  an access of a warp that begins inside of a sector of 32 bytes shares it with another
//#         block. So each row of a tile begins up to `skew` elements before the tile does, where the
//#         first output that is stored along A has a sector's first element. Blocks load as many
//#         elements more along A, and the tile behind the last one holds what is left of the rows
//# even:   where all rows begin at sectors anyway, square tiles do (transpose_even.cu), but for elements of 1
//#         byte, whose words are aligned then
//# edges:  of whole tiles all loads are issued before the first is used; a tile that an edge of the
//#         array cuts is processed element by element, with a check of bounds for each, and 8
//#         loads at a time. That takes longer, so the last tiles of the array, which are cut, go first
//% own E LA LB G N P Q R S V W a a0 args at_ at_0 back base_ base_i bytes_ down even fetch give i j k inside lane left_
//% own line load_ n n0 op px px0 r reg_ quot_ rest row row0 run shift shift_of slot slot_of take tile_ turn within word_
//% if narrow
//% insert cuda/transpose_narrow.cu
//% end
//% if square_tiles
//% insert cuda/transpose_even.cu
//% end
//% if gathers
//% insert cuda/transpose_gather.cu
//% end
//% if shifted_tiles
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
    constexpr int P = ${vec}, R = ${unroll}, N = ${tile_groups}, S = ${skew}, G = ${tile_side} / P + S / P;
    constexpr int LA = ${tile_across}, W = ${tile_side} / P / LA;
    constexpr int LB = ${tile_lanes}, V = ${tile} / P / LB, Q = ${block} / LB;
//% for p in tiles
    __shared__ alignas(16) unsigned char bytes_${p.name}[${tile} * ${tile_pitch} * sizeof(${p.word})];
    auto tile_${p.name} = (${p.word}(*)[${tile_pitch}])bytes_${p.name};
//% end
    // The row of element j of B in shared memory.
    auto slot_of = [](unsigned int j) { return (int)(j % P * (V * LB) + j / P); };
//% insert kernel.cpp:environment
//% insert :locate
//% insert :shift
    if (left_${tile_a} >= ${tile_side} && left_${tile_b} >= ${tile} && (S == 0 || even || at_${tile_a} != 0)) {
//% insert :whole
    } else {
//% insert :edge
    }
//% if after_loop
${after_loop}
//% end
}
//% end

//% part locate
//# The tile of this block: its origin, how many elements of each axis follow it, and functions that
//# give each operand's element at a place of the tile.
    ${index} rest = (${index})(gridDim.x - 1 - blockIdx.x);
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
    at_${tile_a} *= ${tile_side};
    at_${tile_b} *= ${tile};
//% for a in tile_axes
    rest = (${index})a.extent_${a.n} - at_${a.n};
    const int left_${a.n} = rest < 4096 ? (int)rest : 4096;
//% end
//% for p in walking
    ${p.const}char *const base_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
    // The element of ${p.name} at (A, B) = (kiln__i, kiln__j) of this tile.
    auto at_${p.name} = [&](int i, int j) -> ${p.const}${p.type} & {
        return *(${p.const}${p.type} *)(base_${p.name}
//% if p.vector
            + i * ${p.bytes} + j * (${index})a.stride_${p.name}_${tile_b}
//% end
//% if p.tile
            + i * (${index})a.stride_${p.name}_${tile_a} + j * ${p.bytes}
//% end
//% if !p.vector
//% if !p.tile
            + i * (${index})a.stride_${p.name}_${tile_a} + j * (${index})a.stride_${p.name}_${tile_b}
//% end
//% end
            );
    };
//% end
//% if index_strides
    const long long base_i = 0
//% for a in axes
        + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
        ;
//% end

//% part shift
//# How many bytes earlier rows of the tile begin than the tile does.
    // How many bytes earlier row j begins.
//% if skew
//% insert :back
//% for p in skewed
    auto shift_of = [&](int j) { return (int)((unsigned int)(size_t)&at_${p.name}(0, j) & within); };
//% end
//% else
    constexpr bool even = true;
    auto shift_of = [](int) { return 0; };
    constexpr int back = 0;
//% end

//% part back
//# Whether rows of the output begin at sectors anyway, and how many elements earlier other rows begin at most.
//% for p in skewed
    const bool even = ((size_t)a.ptr_${p.name}
//% for a in axes_outer
        | (size_t)a.stride_${p.name}_${a.n}
//% end
        ) % 16 == 0;
    const unsigned int within = even ? 0 : 31;
    const int back = even || at_${tile_a} == 0 ? 0 : S;
//% end

//% part whole
//# A whole tile: all loads are issued, those of tiled operands pass through shared memory, then the
//# snippet runs and the results are stored.
        const int lane = (int)(threadIdx.x % LB), line = (int)(threadIdx.x / LB), row0 = (int)(threadIdx.x / LA), px0 = P * (int)(threadIdx.x % LA);
//% if skew
//% for p in skewed
        // This thread's first word as if no row began earlier, and bytes to its next row.
        char *const run = (char *)&at_${p.name}(px0, row0);
        const long long down = (long long)(${block} / LA) * a.stride_${p.name}_${tile_b};
//% end
//% end
//% for p in tiled_loads
        ${p.word} load_${p.name}[N][P];
        #pragma unroll
        for (int k = 0; k < P * V; k++)
            take<Q, G, S / P, V, ${aligned} != 0>(load_${p.name}, &at_${p.name}(P * line + k % P - S, P * (lane + k / P * LB)), P * Q * a.stride_${p.name}_${tile_a}, line, even, k);
//% end
//% for p in registers
        ${p.word} word_${p.name}[R];
//% end
//% if plain_loads
        #pragma unroll
        for (int r = 0; r < R; r++) {
//% insert :place
//% for p in plain_loads
            word_${p.name}[r] = take<P, ${p.lanes}, ${p.word}>(&at_${p.name}(a0, row));
//% end
        }
//% end
//% if tiled_loads
        #pragma unroll
        for (int r = 0; r < N; r++) {
//% for p in tiled_loads
            turn(load_${p.name}[r]);
            #pragma unroll
            for (int k = 0; k < P; k++)
                if ((r / V + 1) * Q <= G || line + r / V * Q < G)
                    tile_${p.name}[(k * V + r % V) * LB + lane][line + r / V * Q] = load_${p.name}[r][k];
//% end
        }
        __syncthreads();
//% end
        #pragma unroll
        for (int r = 0; r < R; r++) {
//% insert :place
//% for p in tiled_loads
            word_${p.name}[r] = fetch<P, ${p.type}>(tile_${p.name}[slot] + px / P, S - shift / ${skew_bytes});
//% end
//% for p in registers
            ${p.type} reg_${p.name}[P];
            memcpy(reg_${p.name}, &word_${p.name}[r], sizeof reg_${p.name});
//% end
            #pragma unroll
            for (int k = 0; k < P; k++)
                op(
//% if index_strides
                    base_i + row * a.stride_i_${tile_b} + (a0 + k) * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , at_${p.name}(a0 + k, row)
//% else
                    , reg_${p.name}[k]
//% end
//% end
                );
//% for p in registers
            memcpy(&word_${p.name}[r], reg_${p.name}, sizeof reg_${p.name});
//% end
//% for p in plain_stores
//% if skew
            give<P, ${p.skewed}>(${p.skewed} ? (${p.type} *)(run + r / W * down + r % W * (P * LA * ${p.bytes}) - (unsigned int)shift) : &at_${p.name}(a0, row), word_${p.name}[r]);
//% else
            give<P, ${aligned} != 0>(&at_${p.name}(a0, row), word_${p.name}[r]);
//% end
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < R; r++) {
//% insert :place
//% for p in tiled_stores
            tile_${p.name}[slot][px / P] = word_${p.name}[r];
//% end
        }
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < N; r++) {
//% for p in tiled_stores
            ${p.word} load_${p.name}[P];
            #pragma unroll
            for (int k = 0; k < P; k++)
                load_${p.name}[k] = tile_${p.name}[(k * V + r % V) * LB + lane][line + r / V * Q];
            turn(load_${p.name});
            #pragma unroll
            for (int k = 0; k < P; k++)
                if ((r / V + 1) * Q <= G || line + r / V * Q < G)
                    give<P, ${aligned} != 0>(&at_${p.name}(P * (line + r / V * Q) + k, P * (lane + r % V * LB)), load_${p.name}[k]);
//% end
        }
//% end

//% part place
//# Word number r of this thread: its row there and in shared memory, its place in the row, and the place
//# of its first element in the tile.
            const int row = row0 + r / W * (${block} / LA), slot = slot_of(row0) + r / W * (${block} / LA / P);
//% if skew
            const int shift = (int)(((unsigned int)(size_t)(run + r / W * down) - (unsigned int)(px0 * ${skew_bytes})) & within);
//% else
            constexpr int shift = 0;
//% end
            const int px = px0 + r % W * (P * LA), a0 = px - shift / ${skew_bytes};

//% part edge
//# A tile that an edge of the array cuts: element by element, with a check of bounds for each.
//% if tiled_loads
        constexpr int E = 8;
        #pragma unroll 1
        for (int n0 = (int)threadIdx.x; n0 < ${tile} * (${tile_side} + S); n0 += E * ${block}) {
//% for p in tiled_loads
            ${p.type} load_${p.name}[E];
//% end
            auto inside = [&](const int i, const int j) { return i >= -back && i < left_${tile_a} && j < left_${tile_b} && i < ${tile_side}; };
            #pragma unroll
            for (int k = 0; k < E; k++) {
                const int n = n0 + k * ${block}, i = n / ${tile} - S, j = n % ${tile};
                if (inside(i, j)) {
//% for p in tiled_loads
                    load_${p.name}[k] = at_${p.name}(i, j);
//% end
                }
            }
            #pragma unroll
            for (int k = 0; k < E; k++) {
                const int n = n0 + k * ${block}, i = n / ${tile} - S, j = n % ${tile};
                if (inside(i, j)) {
//% for p in tiled_loads
                    ((${p.type} *)tile_${p.name}[slot_of(j)])[S + i] = load_${p.name}[k];
//% end
                }
            }
        }
        __syncthreads();
//% end
        #pragma unroll 1
        for (int n = (int)threadIdx.x; n < ${tile} * ${tile_side}; n += ${block}) {
            const int j = n / ${tile_side}, i = n % ${tile_side} - shift_of(j) / ${skew_bytes};
            if (j >= left_${tile_b} || i < -back || i >= left_${tile_a})
                continue;
//% for p in registers
            ${p.type} reg_${p.name};
//% end
//% for p in plain_loads
            reg_${p.name} = at_${p.name}(i, j);
//% end
//% for p in tiled_loads
            reg_${p.name} = ((${p.type} *)tile_${p.name}[slot_of(j)])[S + i];
//% end
            op(
//% if index_strides
                base_i + j * a.stride_i_${tile_b} + i * a.stride_i_${tile_a}
//% else
                0
//% end
//% for p in walking
//% if p.direct
                , at_${p.name}(i, j)
//% else
                , reg_${p.name}
//% end
//% end
            );
//% for p in plain_stores
            at_${p.name}(i, j) = reg_${p.name};
//% end
//% for p in tiled_stores
            ((${p.type} *)tile_${p.name}[slot_of(j)])[i] = reg_${p.name};
//% end
        }
//% if tiled_stores
        __syncthreads();
        #pragma unroll 1
        for (int n = (int)threadIdx.x; n < ${tile} * ${tile_side}; n += ${block}) {
            const int i = n / ${tile}, j = n % ${tile};
            if (i < left_${tile_a} && j < left_${tile_b}) {
//% for p in tiled_stores
                at_${p.name}(i, j) = ((${p.type} *)tile_${p.name}[slot_of(j)])[i];
//% end
            }
        }
//% end
