//# window.cu - layout "window": several inputs are views of one array, shifted by rows and
//# elements, as in a stencil. A warp loads every element that some view needs for its tile once,
//# into registers.
//#
//# grid:   one block per tile of `tile` rows and block * unroll columns, and per index of the outer
//#         axes; no shared memory
//# block:  warps side by side, each with `tile` rows and `unroll` strips of 32 columns
//# owner:  lane t owns column t of each strip, in every row of the tile
//# window: the rows and columns of one array that its views need for the tile. All of them are
//#         loaded before the first is used: waiting once costs less than waiting for every row
//# shift:  a view's element is the element of the window that the lane `along` lanes further has;
//#         lanes exchange them by shuffles
//# edges:  where an element of a window may belong to no view, every view is loaded separately
//% own T a args at_ at_0 beyond beyond_ column columns columns_deep columns_whole corner_
//% own corner_i d deep exchange from give lane n op out_ q quot_ r reg_ rest row rows rows_deep
//% own rows_whole shift shifted_ splat_ to u window_
//% insert reduce/common.cu:shuffle
//% insert :shift
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert kernel.cpp:environment
//% insert :locate
    if ((rows_deep && columns_whole) || (rows_whole && columns_deep)) {
//% insert :tile
    } else if (column < columns) {
//% insert :edge
    }
//% if after_loop
${after_loop}
//% end
}

//% part locate
//# The tile of this warp, where it lies relative to the edges, and the first elements of its lanes:
//# in each window at the window's corner, and in the operands that have no window. `whole`: the
//# tile lies inside of the arrays. `deep`: the windows around it do so as well, seen from each of
//# the views.
    const int lane = (int)threadIdx.x % 32;
    ${index} rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
    const int columns = (int)a.extent_${tile_a};
    const int column = (int)at_${tile_a} * ${accesses_per_block} + (int)threadIdx.x / 32 * ${strips};
    const ${index} rows = (${index})a.extent_${tile_b};
    const ${index} row = at_${tile_b} * ${tile};
    const bool rows_whole = row + ${tile} <= rows;
    const bool rows_deep = row >= ${window_down} && row + ${tile} + ${window_down} <= rows;
    const bool columns_whole = column + ${strips} <= columns;
    const bool columns_deep = column >= ${window_along} && column + ${strips} + ${window_along} <= columns;
    at_${tile_a} = column + lane;
    at_${tile_b} = row;
//% for p in cornered
    ${p.const}char *const corner_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
//% if p.windowed
        - ${p.down} * a.stride_${p.name}_${tile_b} - ${p.along} * ${p.bytes}
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

//% part shift
//# One row of a window as it is seen by a view that begins d columns further. `beyond` holds, in
//# the first lanes, the elements that follow the last strip.
template <int d, int n, class T> KILN_FN void shift(T (&to)[n], const T (&row)[n], const T &beyond, int lane)
{
    #pragma unroll
    for (int u = 0; u < n; u++) {
        T give = row[u];
        if (lane < d)
            give = u + 1 < n ? row[(u + 1) % n] : beyond;
        to[u] = exchange<false>(give, (lane + d) % 32);
    }
}

//% part tile
//# A tile inside of the arrays: all windows are loaded, then the rows are processed one by one. A
//# shifted row is exchanged when the first view that needs it reaches it.
//% for p in windows
        ${p.type} window_${p.name}[${p.window_rows}][${unroll}], beyond_${p.name}[${p.window_rows}] = {};
        #pragma unroll
        for (int r = 0; r < ${p.window_rows}; r++) {
            const ${p.type} *const from = (const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++)
                window_${p.name}[r][u] = from[u * 32];
            if (lane < ${p.window_along})
                beyond_${p.name}[r] = from[${strips}];
        }
//% end
//% for p in splats
        ${p.type} splat_${p.name}[${tile}];
        #pragma unroll
        for (int r = 0; r < ${tile}; r++)
            splat_${p.name}[r] = *(const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
//% end
//% for p in shifts
        ${p.type} shifted_${p.name}[${p.shift_rows}][${unroll}];
//% end
        #pragma unroll
        for (int r = 0; r < ${tile}; r++) {
//% for p in shifts
            #pragma unroll
            for (int q = r; q <= r + ${p.shift_span}; q++)
                if (r == 0 || q == r + ${p.shift_span})
                    shift<${p.along}>(shifted_${p.name}[q], window_${p.window}[q + ${p.shift_least}], beyond_${p.window}[q + ${p.shift_least}], lane);
//% end
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
//% for p in stored
                ${p.type} out_${p.name};
//% end
                op(
//% if index_strides
                    corner_i + r * a.stride_i_${tile_b} + u * 32 * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.shifted
                    , shifted_${p.shift}[r + ${p.shift_down}][u]
//% end
//% if p.straight
                    , window_${p.window}[r + ${p.down}][u]
//% end
//% if p.splat
                    , splat_${p.name}[r]
//% end
//% if p.stored
                    , out_${p.name}
//% end
//% end
                );
//% for p in stored
                ((${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b}))[u * 32] = out_${p.name};
//% end
            }
        }

//% part edge
//# A tile at an edge: every view is loaded separately, a row at a time.
//% plain min
        const int deep = (int)min(rows - row, (${index})${tile});
        #pragma unroll 1
        for (int r = 0; r < deep; r++) {
//% for p in registers
            ${p.type} reg_${p.name}[${unroll}];
//% end
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
                if (column + lane + 32 * u >= columns)
                    continue;
//% for p in loaded
//% if p.windowed
                reg_${p.name}[u] = ((const ${p.type} *)(corner_${p.window} + (r + ${p.down}) * a.stride_${p.window}_${tile_b}))[u * 32 + ${p.along}];
//% else
                reg_${p.name}[u] = *(const ${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b});
//% end
//% end
            }
            #pragma unroll
            for (int u = 0; u < ${unroll}; u++) {
                if (column + lane + 32 * u >= columns)
                    continue;
                op(
//% if index_strides
                    corner_i + r * a.stride_i_${tile_b} + u * 32 * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
                    , reg_${p.name}[u]
//% end
                );
//% for p in stored
                ((${p.type} *)(corner_${p.name} + r * a.stride_${p.name}_${tile_b}))[u * 32] = reg_${p.name}[u];
//% end
            }
        }
