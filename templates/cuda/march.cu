//# march.cu - layout "window" of views on several planes: a block marches from plane to plane. It copies
//# the planes of each window into shared memory, some planes ahead. A thread reads its own rows and those
//# around them there, and keeps words that later planes need again in registers.
//#
//# grid:   one block for each tile, each run of `chunk` planes, and each index of the outer axes. A tile is
//#         `across` warps side by side and the others below
//# words:  a thread has one word of ${vec} neighbours in each of its `tile` rows. A view that begins further
//#         to the right takes parts of two words
//# ring:   ${ring} planes of each window in shared memory: the one in use, and those that are being copied.
//#         Rows are copied in pieces of 16 bytes. If not all rows begin alike modulo 16 (`slant`), the first
//#         piece of a row is the one that holds its beginning, at the same offset as in memory
//# held:   the words of `turns` planes of each window, in registers. In turn i the newest plane is stored
//#         in place i % turns, so that no register is moved
//# edges:  tiles copy whole rows, also beyond the array's edges, and store only what lies inside. Where a
//#         tile could read outside of the memory of its views, the addresses of pieces are clamped to it
//% own B F I IN_PLACE P R T W a across ahead_ args at at_ at_0 behind bits column columns
//% own copies_end copies_wait copy_ahead copy_piece copy_plane corner_i count d deal down end exchange f find_pieces first
//% own for_each from from_ held_ here_ high_ inside into k lane last left lines low low_ n op out out_ outer own own_column
//% own own_row p part past pick pieces place plane planes q quot_ r reg_ rest ring ring_ row row_of row_bytes rows share slant_
//% own slot step steps store_turned store_word threads to to_ turn turns w warp whole within word words i
//% plain __CUDA_ARCH__ __funnelshift_l __funnelshift_r kiln__word kiln__store type
//% if splits_words
//% insert reduce/common.cu:shuffle
//% end
//% insert :copies
//% insert :words
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert kernel.cpp:environment
//% insert :locate
//% insert :march
//% if after_loop
${after_loop}
//% end
}

//% part copies
#define IN_PLACE __attribute__((always_inline))
//# Copy 16 bytes to shared memory, asynchronously from sm_80 on; only the first `share` bytes if it is less.
KILN_FN void copy_piece(unsigned char *to, const char *from, int share)
{
#if __CUDA_ARCH__ >= 800
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (share == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(share) : "memory");
#else
    if (share == 16)
        *(kiln__word<16>::type *)to = *(const kiln__word<16>::type *)from;
    for (int k = 0; share < 16 && k < share; k++)
        to[k] = (unsigned char)from[k];
#endif
}
//# copies_end() ends the copies of one plane. copies_wait() waits for all planes but the last n.
KILN_FN void copies_end()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int n> KILN_FN void copies_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory");
#endif
}
//# How the pieces of a plane are dealt to threads, and which ones a thread has: their offsets from the plane's
//# first row (`from`), and in the ring (`to`; -1: no piece). Eight threads take a line of memory. So some threads
//# are idle where a row ends within a line; rows are dealt without that padding if it would take one more turn.
template <int row_bytes, int rows> struct deal {
    static constexpr int pieces = row_bytes / 16, lines = (pieces + 7) / 8 * 8, threads = ${block};
    static constexpr int across = (rows * lines - 1) / threads == (rows * pieces - 1) / threads ? lines : pieces;
    static constexpr int turns = (rows * across - 1) / threads + 1;
};
template <int row_bytes, int rows, int n, class I> KILN_FN void find_pieces(I (&from)[n], int (&to)[n], I down)
{
    constexpr int across = deal<row_bytes, rows>::across;
    #pragma unroll
    for (int k = 0; k < n; k++) {
        const int q = k * ${block} + (int)threadIdx.x, row = q / across, column = q % across * 16;
        from[k] = row * down + (${slant} ? 0 : column);
        to[k] = row < rows && column < row_bytes ? row * row_bytes + column : -1;
    }
}
//# `within`: all of the plane lies in memory. Else the address of a piece is clamped to `low` and to the last
//# piece before `end`; nothing uses what such a piece holds.
template <int row_bytes, int n, class I>
KILN_FN void copy_plane(bool within, unsigned char *ring, const char *plane, const I (&from)[n], const int (&to)[n], const char *low, const char *end)
{
    auto place = [&](const int k) IN_PLACE {
        const char *const p = plane + from[k];
        return ${slant} ? p + (to[k] % row_bytes - (int)((size_t)p % 16)) : p;
    };
    if (within) {
        #pragma unroll
        for (int k = 0; k < n; k++)
            if (to[k] >= 0)
                copy_piece(ring + to[k], place(k), 16);
    } else {
        const char *const last = end - 1 - (size_t)(end - 1) % 16;
        #pragma unroll
        for (int k = 0; k < n; k++) {
            const char *p = place(k);
            p = p < low ? low : p > last ? last : p;
            if (to[k] >= 0)
                copy_piece(ring + to[k], p, end - p >= 16 ? 16 : (int)(end - p));
        }
    }
}
//# Call f with each number from i to n - 1. The calls are inlined, so that the numbers are constants in them.
template <int i, int n, class T> KILN_FN void for_each(T &f)
{
    f(i);
    if constexpr (i + 1 < n)
        for_each<i + 1, n>(f);
}

//% part words
//# P neighbours of a row, from element d of the thread's n words on.
template <int d, int P, int n, class T, class W> KILN_FN void pick(T (&to)[P], const W (&row)[n])
{
    constexpr int words = n * (int)sizeof(W) / 4;
    unsigned int bits[words], out[sizeof to / 4];
    memcpy(bits, row, sizeof bits);
    #pragma unroll
    for (int k = 0; k < (int)sizeof to / 4; k++) {
        const int at = d * (int)sizeof(T) + 4 * k, first = at / 4;
        out[k] = at % 4 == 0 ? bits[first] : __funnelshift_r(bits[first], bits[(first + 1) % words], at % 4 * 8);
    }
    memcpy(to, out, sizeof to);
}
//# Store a word; unless `whole`, only its first `left` elements.
template <int P, class T> KILN_FN void store_word(bool whole, char *to, const T (&word)[P], int left)
{
    if (whole || left >= P) {
        kiln__store(to, word);
    } else {
        #pragma unroll
        for (int k = 0; k < P; k++)
            if (k < left)
                ((T *)to)[k] = word[k];
    }
}

//% if splits_words
//# Store a word of 4 bytes in a row that does not begin at a word. Each lane passes a part of its word to the next
//# lane, so that all lanes but the first and the last of a warp store whole words.
template <int P, class T> KILN_FN void store_turned(char *to, const T (&word)[P], int lane, int left)
{
    const int count = left < 0 ? 0 : left < P ? left : P;
    if constexpr (sizeof word == 4) {
        const int past = (int)((size_t)to % 4) / (int)sizeof(T);
        T part[P];
        unsigned int own;
        memcpy(&own, word, 4);
        own = __funnelshift_l(exchange<false>(own, (lane + 31) % 32), own, past * (int)sizeof(T) * 8);
        memcpy(part, &own, 4);
        T *const at = (T *)to - past;
        if (past == 0 || lane > 0 ? count >= P - past : false) {
            *(unsigned int *)at = own;
        } else {
            #pragma unroll
            for (int k = 0; k < P; k++)
                if (count > 0 && k < past + count && (lane > 0 || k >= past))
                    at[k] = part[k];
        }
        #pragma unroll
        for (int k = 1; k < P; k++)
            if ((lane == 31 || left <= P) && k >= P - past && k < count)
                ((T *)to)[k] = word[k];
    } else {
        #pragma unroll
        for (int k = 0; k < P; k++)
            if (k < count)
                ((T *)to)[k] = word[k];
    }
}
//% end

//% part locate
//# Find the block's tile and planes, the corners of its windows, and the thread's first word of other operands.
    constexpr int P = ${vec}, R = ${tile}, B = ${window_behind}, F = ${ring} - 1, turns = B + 1;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    ${index} rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
    const int columns = (int)a.extent_${tile_a}, column = (int)at_${tile_a} * (${warps_across} * ${strips});
    const ${index} rows = (${index})a.extent_${tile_b}, row = at_${tile_b} * (${warps_down} * ${tile});
    const ${index} planes = (${index})a.extent_${tile_c}, plane = at_${tile_c} * (${index})a.chunk;
    const ${index} steps = planes - plane < (${index})a.chunk ? planes - plane : (${index})a.chunk;
    at_${tile_a} = column;
    at_${tile_b} = row;
    at_${tile_c} = plane;
//% for p in windows
    const char *ahead_${p.name} = (const char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        - ${p.down} * a.stride_${p.name}_${tile_b} - ${p.along} * ${p.bytes} - ${p.behind} * a.stride_${p.name}_${tile_c};
//% end
    const int own_column = column + (warp % ${warps_across} * 32 + lane) * P;
    const ${index} own_row = row + warp / ${warps_across} * R;
    at_${tile_a} = own_column;
    at_${tile_b} = own_row;
//% for p in cornered
//% if !p.windowed
    ${p.const}char *here_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% end
//% if index_strides
    long long corner_i = 0
//% for a in axes
        + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
        ;
//% end

//% part limits
//# The addresses of the first element of each window's views at this block's outer index (rounded down to a
//# piece), and behind the last.
//% insert cuda/window.cu:first_and_last
//% for p in windows
        {
            // From the first index of the tiled axes to the last, and to this block's of the others.
            const long long down = (rows - 1) * a.stride_${p.name}_${tile_b}, behind = (planes - 1) * a.stride_${p.name}_${tile_c};
            const long long outer = ahead_${p.name} - (const char *)a.ptr_${p.name} - (long long)(column - ${p.along}) * ${p.bytes}
                - (row - ${p.down}) * a.stride_${p.name}_${tile_b} - (plane - ${p.behind}) * a.stride_${p.name}_${tile_c};
            low_${p.name} += outer + (down < 0 ? down : 0) + (behind < 0 ? behind : 0);
            high_${p.name} += outer + (down > 0 ? down : 0) + (behind > 0 ? behind : 0) + (long long)columns * ${p.bytes};
            low_${p.name} -= (size_t)low_${p.name} % 16;
        }
//% end

//% part march
//# The loop over planes. Each plane is copied F steps before it is used.
//% for p in windows
    __shared__ alignas(16) unsigned char ring_${p.name}[${ring}][${p.ring_rows} * ${p.ring_row}];
    typename kiln__word<P * ${p.bytes}>::type held_${p.name}[turns][R + ${p.window_down}][${p.window_words}] = {};
//% end
//% for p in windows
    ${index} from_${p.name}[deal<${p.ring_row}, ${p.ring_rows}>::turns];
    int to_${p.name}[deal<${p.ring_row}, ${p.ring_rows}>::turns];
    find_pieces<${p.ring_row}, ${p.ring_rows}>(from_${p.name}, to_${p.name}, (${index})a.stride_${p.name}_${tile_b});
//% if slant
    int slant_${p.name} = (int)(size_t)ahead_${p.name} + warp / ${warps_across} * R * (int)a.stride_${p.name}_${tile_b};
//% end
//% end
    // Most tiles are inside of the array, and so is the memory around them that they read.
    const bool inside = row > ${window_down} && row + ${warps_down} * ${tile} + ${window_down} < rows && column + ${warps_across} * ${strips} <= columns;
//% for p in windows
    const char *low_${p.name} = (const char *)a.ptr_${p.name}, *high_${p.name} = low_${p.name};
//% end
    if (!inside) {
//% insert :limits
    }
    int into = 0, slot = 0;
    auto copy_ahead = [&](const ${index} step) IN_PLACE {
//% for p in windows
        if (step < steps + ${p.window_behind}) {
            copy_plane<${p.ring_row}>(inside, ring_${p.name}[into], ahead_${p.name}, from_${p.name}, to_${p.name}, low_${p.name}, high_${p.name});
            ahead_${p.name} += a.stride_${p.name}_${tile_c};
        }
//% end
        copies_end();
        into = into + 1 < ${ring} ? into + 1 : 0;
    };
    ${index} step = 0;
    #pragma unroll
    for (int k = 0; k < F; k++)
        copy_ahead(k);
    auto turn = [&](const int i) IN_PLACE {
        if (step < steps + B) { // as it is for all threads
//% insert :step
        }
        step++;
    };
    while (step < steps + B)
        for_each<0, turns>(turn);

//% part step
//# One step: wait for a plane, and begin to copy the plane F steps ahead into the slot of the previous plane, which
//# all threads have read. Then read the thread's words of the new plane.
                copies_wait<F - 1>();
                __syncthreads();
                copy_ahead(step + F);
//% for p in windows
                #pragma unroll
                for (int r = 0; r < R + ${p.window_down}; r++) {
//% if slant
                    const int past = slant_${p.name} + r * (int)a.stride_${p.name}_${tile_b} & 15;
//% else
                    constexpr int past = 0;
//% end
                    const unsigned char *const words = ring_${p.name}[slot] + (warp / ${warps_across} * R + r) * ${p.ring_row} + (warp % ${warps_across} * 32 + lane) * (P * ${p.bytes})
                        + (${slant} == 2 ? past / 4 * 4 : past);
//% if begins_anywhere
                    // Words that begin at none of memory, of two that do.
                    unsigned int part[${p.window_words} + 1];
                    #pragma unroll
                    for (int w = 0; w <= ${p.window_words}; w++)
                        part[w] = ((const unsigned int *)words)[w];
                    #pragma unroll
                    for (int w = 0; w < ${p.window_words}; w++)
                        held_${p.name}[i][r][w] = __funnelshift_r(part[w], part[w + 1], past % 4 * 8);
//% else
                    #pragma unroll
                    for (int w = 0; w < ${p.window_words}; w++)
                        held_${p.name}[i][r][w] = ((const typename kiln__word<P * ${p.bytes}>::type *)words)[w];
//% end
                }
//% if slant
                slant_${p.name} += (int)a.stride_${p.name}_${tile_c};
//% end
//% end
                slot = slot + 1 < ${ring} ? slot + 1 : 0;
                if (step >= B) {
//% insert :plane
                }

//% part plane
//# Compute the thread's elements of a plane. All rows are computed before the first is stored, so that no branch
//# lies between them.
//% for p in stored
                    ${p.type} out_${p.name}[R][P];
//% end
                    auto row_of = [&](const int r) IN_PLACE {
                        [[maybe_unused]] const int left = own_row + r < rows ? columns - own_column : 0;
//% for p in loaded
                        ${p.type} reg_${p.name}[${p.lanes}] = {};
//% if p.windowed
                        pick<${p.along}>(reg_${p.name}, held_${p.window}[(i + 1 + ${p.behind}) % turns][r + ${p.down}]);
//% else
                        #pragma unroll
                        for (int k = 0; k < ${p.lanes}; k++)
                            if (inside || k < left)
                                reg_${p.name}[k] = ((const ${p.type} *)(here_${p.name} + r * a.stride_${p.name}_${tile_b}))[k];
//% end
//% end
                        #pragma unroll
                        for (int k = 0; k < P; k++)
//% if has_raws
                            if (inside || k < left)
//% end
                            op(
//% if index_strides
                                corner_i + r * a.stride_i_${tile_b} + k * a.stride_i_${tile_a}
//% else
                                0
//% end
//% for p in walking
//% if p.splat
                                , reg_${p.name}[0]
//% else
//% if p.stored
                                , out_${p.name}[r][k]
//% else
                                , reg_${p.name}[k]
//% end
//% end
//% end
                            );
                    };
                    for_each<0, R>(row_of);
                    #pragma unroll
                    for (int r = 0; r < R; r++) {
                        const int left = own_row + r < rows ? columns - own_column : 0;
//% for p in stored
//% if splits_words
                        store_turned(here_${p.name} + r * a.stride_${p.name}_${tile_b}, out_${p.name}[r], lane, left);
//% else
                        store_word(inside, here_${p.name} + r * a.stride_${p.name}_${tile_b}, out_${p.name}[r], left);
//% end
//% end
                    }
//% for p in cornered
//% if !p.windowed
                    here_${p.name} += a.stride_${p.name}_${tile_c};
//% end
//% end
//% if index_strides
                    corner_i += a.stride_i_${tile_c};
//% end
