//# transpose.cpp - operands are contiguous along different axes: tiles of ${tile} x ${tile}
//# elements.
//#
//# unit: one tile of axes A = rank - 1 and B = rank - 2 at one index of the outer axes
//#
//# Operands that are contiguous along B pass through a buffer of the size of the tile, in which A is
//# the contiguous axis: memory is read and written along B, in whole lines, and the loop over A finds
//# neighbouring elements in every operand. (If memory were read across its rows, all rows of an array
//# whose extent is a large power of two would fall into one cache set.)
//% own K N U V a args at_ b base_ begin count_ end fetch k lanes lanes_make lanes_of lanes_to
//% own left_ op out_ reg_ rest row_ step_ stream streams tile_ tile_i turn turn_block turn_edges
//% own unit word
//% plain kiln__in
//% insert :turn

//% if streams
//% insert cpu/row.cpp:stream

//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long begin, long long end)
{
    const args a = *kiln__in;
//% insert kernel.cpp:environment
//% for p in tiles
    alignas(32) ${p.stored} tile_${p.name}[${tile}][${tile}];
//% end
    for (long long unit = begin; unit < end; unit++) {
//% insert :locate
//% for p in tiled_loads
        turn<sizeof(${p.type})>((char *)tile_${p.name}, sizeof tile_${p.name}[0], base_${p.name},
            a.stride_${p.name}_${tile_a}, count_${tile_a}, count_${tile_b});
//% end
        for (int b = 0; b < count_${tile_b}; b++) {
//% for p in plain
            ${p.const}char *const row_${p.name} = base_${p.name} + b * a.stride_${p.name}_${tile_b};
//% end
            // The next tile's lines, row by row with this one's, for no prefetcher can guess them.
//% for p in tiled_loads
            fetch<sizeof tile_${p.name}[0]>(base_${p.name} + (${tile} + b) * a.stride_${p.name}_${tile_a});
//% end
//% for p in plain_loads
            fetch<sizeof(${p.type}) * ${tile}>(row_${p.name} + ${tile} * step_${p.name});
//% end
//% if streams
//% for p in plain_stores
            alignas(32) ${p.type} out_${p.name}[${tile}];
//% end
//% end
//% if independent
            KILN_INDEPENDENT
//% end
//% insert :across
//% if streams
//% for p in plain_stores
            if (streams && KILN__STREAM_HEAD(row_${p.name}, sizeof(${p.type})) == 0)
                stream((${p.type} *)row_${p.name}, out_${p.name});
            else
                __builtin_memcpy(row_${p.name}, out_${p.name}, count_${tile_a} * sizeof(${p.type}));
//% end
//% end
        }
//% for p in tiled_stores
        turn<sizeof(${p.type})>(base_${p.name}, a.stride_${p.name}_${tile_a}, (const char *)tile_${p.name},
            sizeof tile_${p.name}[0], count_${tile_b}, count_${tile_a});
//% end
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}

//% part locate
//# The tile of a unit: its first index along each axis, how many elements it has along the axes of the
//# tile, and each operand's address there.
        long long rest = unit;
//% for a in axes_inward
        long long at_${a.n} = rest % a.walk_${a.n};
        rest /= a.walk_${a.n};
//% end
//% for a in tile_axes
        at_${a.n} *= ${tile};
        const long long left_${a.n} = a.extent_${a.n} - at_${a.n};
        const int count_${a.n} = left_${a.n} < ${tile} ? (int)left_${a.n} : ${tile};
//% end
//% for p in walking
        ${p.const}char *const base_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in plain
//% insert cpu/row.cpp:step
//% end
//% if streams
        const bool streams = a.size >= ${stream_size} && count_${tile_a} == ${tile};
//% end
//% if index_strides
        const long long tile_i = 0
//% for a in axes
            + at_${a.n} * a.stride_i_${a.n}
//% end
            ;
//% end

//% part across
//# The loop over axis A of one row of the tile.
            for (int k = 0; k < count_${tile_a}; k++) {
//% for p in registers
                ${p.type} reg_${p.name};
//% end
//% for p in tiled_loads
                reg_${p.name} = tile_${p.name}[b][k];
//% end
//% for p in plain_loads
                reg_${p.name} = *(${p.const}${p.stored} *)(row_${p.name} + k * step_${p.name});
//% end
                op(
//% if index_strides
                    tile_i + b * a.stride_i_${tile_b} + k * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name})
//% else
                    , reg_${p.name}
//% end
//% end
                );
//% for p in tiled_stores
                tile_${p.name}[b][k] = reg_${p.name};
//% end
//% for p in plain_stores
//% if streams
                out_${p.name}[k] = reg_${p.name};
//% else
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
//% end
            }

//% part turn
//# Transposing a tile in registers, 16 bytes at a time. A block of N x N elements, N a power of
//# two, is transposed by interleaving its rows k and k + N/2, log2(N) times.
//% plain a at b bytes c cold column columns done from from_step k list next r row rows size to
//% plain to_step type
template <int... K> struct lanes {};
#if defined(__clang__)
template <class, int... K> using lanes_of = lanes<K...>;
template <int N> using lanes_to = __make_integer_seq<lanes_of, int, N>;
#define KILN__INTERLEAVE(a, b, from) __builtin_shufflevector(a, b, ((from) + K / 2 + K % 2 * N)...)
#else
template <int N> struct lanes_make { typedef lanes<__integer_pack(N)...> list; };
template <int N> using lanes_to = typename lanes_make<N>::list;
#define KILN__INTERLEAVE(a, b, from) __builtin_shuffle(a, b, V{U((from) + K / 2 + K % 2 * N)...})
#endif
template <int bytes> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef unsigned long long type; };
// One block: rows at from, from + from_step, ... become columns at to, to + to_step, ... (bytes).
template <class U, int... K>
KILN_FN void turn_block(char *to, long long to_step, const char *from, long long from_step,
                              lanes<K...>)
{
    constexpr int N = sizeof...(K);
    typedef U V __attribute__((vector_size(16)));
    V row[N], next[N];
    for (int k = 0; k < N; k++)
        __builtin_memcpy(&row[k], from + k * from_step, 16);
    for (int done = 1; done < N; done *= 2) {
        for (int k = 0; k < N / 2; k++) {
            next[2 * k] = KILN__INTERLEAVE(row[k], row[k + N / 2], 0);
            next[2 * k + 1] = KILN__INTERLEAVE(row[k], row[k + N / 2], N / 2);
        }
        for (int k = 0; k < N; k++)
            row[k] = next[k];
    }
    for (int k = 0; k < N; k++)
        __builtin_memcpy(to + k * to_step, &row[k], 16);
}
// What no block covers: columns from `column` on in the first `row` rows, all columns below.
template <int size>
__attribute__((noinline, cold)) void turn_edges(char *to, long long to_step, const char *from,
                                                      long long from_step, int rows, int columns,
                                                      int row, int column)
{
    for (int r = 0; r < rows; r++)
        for (int c = r < row ? column : 0; c < columns; c++)
            __builtin_memcpy(to + c * to_step + r * size, from + r * from_step + c * size, size);
}
// A tile: element (r, c) of `rows` x `columns` at from + r * from_step + c * size goes to
// to + c * to_step + r * size.
template <int size>
KILN_FN void turn(char *to, long long to_step, const char *from, long long from_step,
                        int rows, int columns)
{
    if constexpr (size < 16) {
        constexpr int N = 16 / size;
        const int row = rows / N * N, column = columns / N * N;
        for (int r = 0; r < row; r += N)
            for (int c = 0; c < column; c += N)
                turn_block<typename word<size>::type>(
                    to + c * to_step + r * size, to_step, from + r * from_step + c * size,
                    from_step, lanes_to<N>());
        if (row < rows || column < columns)
            turn_edges<size>(to, to_step, from, from_step, rows, columns, row, column);
    } else {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                __builtin_memcpy(to + c * to_step + r * size, from + r * from_step + c * size, size);
    }
}
template <int bytes> KILN_FN void fetch(const char *at)
{
    for (int k = 0; k < bytes; k += 64)
        __builtin_prefetch(at + k);
}
