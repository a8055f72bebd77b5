//# Which tile a warp has, how it lies to the edges, and where its lanes' first elements are in each window
//# (at its corner) and in what has none. Whole: the tile is inside. Deep: so are the windows of its
//# views, whichever of them one looks from.
//% own a at_ at_0 column columns columns_deep columns_whole corner_ corner_i lane quot_ rest row
//% own rows rows_deep rows_whole
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
