//# window.cu - layout "window": several inputs are views of one array, shifted by planes, rows and
//# elements, as in a stencil. A warp loads every element that some view needs for its tile once,
//# into registers.
//#
//# grid:   one block per tile of `across` warps side by side and the others below, and per index of the
//#         outer axes; no shared memory
//# block:  warps, each with `planes` planes (1 where windows lie on two axes) of `tile` rows of `unroll`
//#         strips of 32 words
//# words:  a word is an element, or, where all elements have 1 or 2 bytes, ${vec} neighbours in 4 bytes
//# owner:  lane t owns word t of each strip, in every row of the tile
//# window: the planes, rows and columns of one array that its views need for the tile. All of them are
//#         loaded before the first is used: waiting once costs less than waiting for every row
//# shift:  a view's word is that of the window which the lane `along` elements further has; lanes exchange
//#         words by shuffles. A shifted row is exchanged when the first view needs it
//# edges:  tiles load whole rows, beyond the array's edges too, and store what lies inside. Where a tile
//#         may reach beyond the memory of its views, loads are moved to that memory's first or last word
//% own P T W a across args at at_ at_0 before behind beyond beyond_ column columns corner_ all corner_i d deep_
//% own down exchange first from give have_ here high high_ k lane left load_row low low_ most moved n op out_ outer
//% own p plane planes q quot_ r reg_ rest row rows shift shifted_ splat_ store_row there to turns
//% own u warp whole window_ within word words z
//% plain __funnelshift_r
//% insert reduce/common.cu:shuffle
//% insert :words
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert kernel.cpp:environment
//% insert :locate
    if (row < rows && column < columns) {
//% insert :load
//% if !apart
        constexpr bool whole = false;
//% insert :tile
//% else
        // Of tiles inside of the array no store looks whether it is.
        if (row + ${tile} <= rows && column + ${strips} <= columns) {
            constexpr bool whole = true;
//% insert :tile
        } else {
            constexpr bool whole = false;
//% insert :tile
        }
//% end
    }
//% if after_loop
${after_loop}
//% end
}

//% part words
//# The words of a window's row, and in the first lanes those that follow the last strip. `within`: all
//# of them are in memory; else those that are not are read at `low` or `high`, and nothing needs them.
template <bool within, int most, int n, class W>
KILN_FN void load_row(W (&to)[n], W &beyond, const char *from, int lane, const char *low = 0, const char *high = 0)
{
    auto at = [&](const char *p) -> const W & {
        if (!within)
            p = p < low ? low : p > high ? high : p;
        return *(const W *)p;
    };
    #pragma unroll
    for (int u = 0; u < n; u++)
        to[u] = at(from + u * 32 * (int)sizeof(W));
    if (lane < most)
        beyond = at(from + n * 32 * (int)sizeof(W));
}
//# One row of a window as it is seen by a view that begins d columns further, of words that have P each.
//# `beyond` holds, in the first lanes, the words that follow the last strip.
template <int d, int P, int n, class W> KILN_FN void shift(W (&to)[n], const W (&row)[n], const W &beyond, int lane)
{
    auto moved = [&](int u, int q) -> W {
        W give = row[u];
        if (lane < q)
            give = u + 1 < n ? row[(u + 1) % n] : beyond;
        return q == 0 ? give : exchange<false>(give, (lane + q) % 32);
    };
    #pragma unroll
    for (int u = 0; u < n; u++) {
        to[u] = moved(u, d / P);
        if constexpr (d % P != 0)
            to[u] = __funnelshift_r(to[u], moved(u, d / P + 1), d % P * (32 / P));
    }
}

//# The words of a row's strips, from `to` on: all of them where they are `whole`, else `left` elements at
//# most. Stores that begin within a line of memory cost the L2 cache several times what others do. So lanes
//# that hold packed words exchange them such that all stores but the last begin at lines; the last one has
//# what lies before the first line, too. Single elements cost more to exchange than that saves.
template <bool whole, int P, int n, class T> KILN_FN void store_row(char *to, const T (&words)[n][P], int lane, int left)
{
    constexpr bool turns = P > 1 && n > 1;
    const int before = turns ? (int)(0 - (size_t)to / 4) & 31 : 0;
    #pragma unroll
    for (int u = 0; u < n; u++) {
        T word[P];
        int at = u * 32 + lane;
        memcpy(word, words[u], sizeof word);
        if constexpr (turns) {
            unsigned int here, there;
            memcpy(&here, words[u], sizeof here);
            memcpy(&there, words[(u + 1) % n], sizeof there);
            here = __shfl_sync(0xffffffffu, lane < before ? there : here, (lane + before) % 32);
            memcpy(word, &here, sizeof here);
            at += before;
            if (u == n - 1 && at >= n * 32)
                at -= n * 32;
        }
        T *const first = (T *)(to + at * (int)sizeof word);
        if constexpr (P == 1) {
            if (whole || at < left)
                *first = word[0];
        } else if (whole || left >= n * 32 * P) {
            unsigned int all;
            memcpy(&all, word, sizeof all);
            *(unsigned int *)first = all;
        } else {
            #pragma unroll
            for (int k = 0; k < P; k++)
                if (at * P + k < left)
                    first[k] = word[k];
        }
    }
}

//% part locate
//# The tile of this warp, and the first words of its lanes: in each window at the window's corner, and
//# in the operands that have no window.
    constexpr int P = ${vec};
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    ${index} rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
    const int columns = (int)a.extent_${tile_a};
    const int column = ((int)at_${tile_a} * ${warps_across} + warp % ${warps_across}) * ${strips};
    const ${index} rows = (${index})a.extent_${tile_b};
    const ${index} row = (at_${tile_b} * ${warps_down} + warp / ${warps_across}) * ${tile};
    at_${tile_a} = column + lane * P;
    at_${tile_b} = row;
//% if planes
    const ${index} planes = (${index})a.extent_${tile_c}, plane = at_${tile_c} * ${planes};
    at_${tile_c} = plane;
//% else
    constexpr ${index} planes = 1, plane = 0;
//% end
//% for p in cornered
    ${p.const}char *const corner_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
//% if p.windowed
        - ${p.down} * a.stride_${p.name}_${tile_b} - ${p.along} * ${p.bytes}
//% if planes
        - ${p.behind} * a.stride_${p.name}_${tile_c}
//% end
//% end
        ;
//% end
//% if index_strides
    const long long corner_i = 0
//% for a in axes
        + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
        ;
//% end
    // Bytes from plane to plane of each operand.
//% for p in cornered
//% if planes
    const long long deep_${p.name} = a.stride_${p.name}_${tile_c};
//% else
    constexpr long long deep_${p.name} = 0;
//% end
//% end

//% part load
//# All rows of all windows, and the elements that are the same for a whole row. Most tiles lie between other
//# rows, whose memory follows that of their own rows. Of a window of one view rows may be nearer to each other
//# than a tile is wide, as those of a vector that is broadcast: it is read within its columns only.
//% for p in windows
        ${p.word} window_${p.name}[${p.window_planes}][${p.window_rows}][${unroll}], beyond_${p.name}[${p.window_planes}][${p.window_rows}] = {};
//% end
        if (row > ${window_down} && row + ${tile} + ${window_down} < rows && plane + ${depth} <= planes
//% for p in windows
//% if p.alone
            && (column + ${strips} + ${p.window_along} * P <= columns || a.stride_${p.name}_${tile_b} >= (${strips} + ${p.window_along} * P) * ${p.bytes})
//% end
//% end
        ) {
//% for p in windows
            #pragma unroll
            for (int z = 0; z < ${p.window_planes}; z++)
                #pragma unroll
                for (int r = 0; r < ${p.window_rows}; r++)
                    load_row<true, ${p.window_along}>(window_${p.name}[z][r], beyond_${p.name}[z][r], corner_${p.name} + z * deep_${p.name} + r * a.stride_${p.name}_${tile_b}, lane);
//% end
        } else {
//% insert :limits
//% for p in windows
            #pragma unroll
            for (int z = 0; z < ${p.window_planes}; z++)
                #pragma unroll
                for (int r = 0; r < ${p.window_rows}; r++)
                    load_row<false, ${p.window_along}>(window_${p.name}[z][r], beyond_${p.name}[z][r], corner_${p.name} + z * deep_${p.name} + r * a.stride_${p.name}_${tile_b}, lane, low_${p.name}, high_${p.name});
//% end
        }
//% for p in splats
        ${p.type} splat_${p.name}[${depth}][${tile}];
        #pragma unroll
        for (int z = 0; z < ${depth}; z++)
            #pragma unroll
            for (int r = 0; r < ${tile}; r++)
                splat_${p.name}[z][r] = *(const ${p.type} *)(corner_${p.name} + (plane + z < planes ? z : 0) * deep_${p.name} + (row + r < rows ? r : 0) * a.stride_${p.name}_${tile_b});
//% end

//% part limits
//# The first and the last word that the views of each window have.
//% for p in windows
            const char *low_${p.name} = (const char *)a.ptr_${p.name}, *high_${p.name} = low_${p.name};
//% end
//% insert :first_and_last
//% for p in windows
            {
                // From the first index of the tiled axes to the last, and to this tile's of the others.
                const long long across = (columns - 1) * (long long)${p.bytes}, down = (rows - 1) * a.stride_${p.name}_${tile_b}, behind = (planes - 1) * deep_${p.name};
                const long long outer = corner_${p.name} - (const char *)a.ptr_${p.name}
                    - (long long)(column + lane * P - ${p.along}) * ${p.bytes} - (long long)(row - ${p.down}) * a.stride_${p.name}_${tile_b} - (long long)(plane - ${p.behind}) * deep_${p.name};
                low_${p.name} += outer + (down < 0 ? down : 0) + (behind < 0 ? behind : 0);
                high_${p.name} += outer + across + (down > 0 ? down : 0) + (behind > 0 ? behind : 0);
                low_${p.name} -= (size_t)low_${p.name} % sizeof(${p.word});
                high_${p.name} -= (size_t)high_${p.name} % sizeof(${p.word});
            }
//% end

//% part first_and_last
//# Where the first and the last view of each window begin. Those that lie between two others are neither.
//% for p in extremes
            if ((const char *)a.ptr_${p.name} < low_${p.window})
                low_${p.window} = (const char *)a.ptr_${p.name};
            if ((const char *)a.ptr_${p.name} > high_${p.window})
                high_${p.window} = (const char *)a.ptr_${p.name};
//% end

//% part tile
//# The rows one by one.
//% for p in shifts
        ${p.word} shifted_${p.name}[${p.window_planes}][${p.window_rows}][${unroll}];
        bool have_${p.name}[${p.window_planes}][${p.window_rows}] = {};
//% end
        #pragma unroll
        for (int z = 0; z < ${depth}; z++) {
            #pragma unroll
            for (int r = 0; r < ${tile}; r++) {
//% for p in loaded
//% if p.shifted
                if (!have_${p.shift}[z + ${p.behind}][r + ${p.down}]) {
                    have_${p.shift}[z + ${p.behind}][r + ${p.down}] = true;
                    shift<${p.along}, P>(shifted_${p.shift}[z + ${p.behind}][r + ${p.down}], window_${p.window}[z + ${p.behind}][r + ${p.down}], beyond_${p.window}[z + ${p.behind}][r + ${p.down}], lane);
                }
//% end
//% end
                const int left = plane + z < planes && row + r < rows ? columns - column : 0;
//% for p in stored
                ${p.type} out_${p.name}[${unroll}][P];
//% end
                #pragma unroll
                for (int u = 0; u < ${unroll}; u++) {
//% insert :word
                }
//% for p in stored
                store_row<whole>(corner_${p.name} - lane * (int)sizeof out_${p.name}[0] + z * deep_${p.name} + r * a.stride_${p.name}_${tile_b}, out_${p.name}, lane, left);
//% end
            }
        }

//% part word
//# The snippet for the elements of a word.
//% for p in loaded
//% if !p.splat
                    ${p.type} reg_${p.name}[P];
//% end
//% if p.shifted
                    memcpy(reg_${p.name}, &shifted_${p.shift}[z + ${p.behind}][r + ${p.down}][u], sizeof reg_${p.name});
//% end
//% if p.straight
                    memcpy(reg_${p.name}, &window_${p.window}[z + ${p.behind}][r + ${p.down}][u], sizeof reg_${p.name});
//% end
//% end
                    #pragma unroll
                    for (int k = 0; k < P; k++)
//% if has_raws
                        if ((lane + u * 32) * P + k < left)
//% end
                        op(
//% if index_strides
                            corner_i + r * a.stride_i_${tile_b} + (u * 32 * P + k) * a.stride_i_${tile_a}
//% if planes
                            + z * a.stride_i_${tile_c}
//% end
//% else
                            0
//% end
//% for p in walking
//% if p.splat
                            , splat_${p.name}[z][r]
//% end
//% if p.windowed
                            , reg_${p.name}[k]
//% end
//% if p.stored
                            , out_${p.name}[u][k]
//% end
//% end
                        );
