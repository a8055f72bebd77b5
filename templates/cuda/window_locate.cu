//# Which tile a warp has, how it lies to the edges, and where its lanes' first elements are in each window
//# (at its corner) and in what has none. Whole: the tile is inside. Deep: so are the windows of its
//# views, whichever of them one looks from.
    const int kiln__lane = (int)threadIdx.x % 32;
    ${index} kiln__rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    ${index} kiln__at_0 = kiln__rest;
    const int kiln__columns = (int)kiln__a.extent_${tile_a};
    const int kiln__column = (int)kiln__at_${tile_a} * ${accesses_per_block} + (int)threadIdx.x / 32 * ${strips};
    const ${index} kiln__rows = (${index})kiln__a.extent_${tile_b};
    const ${index} kiln__row = kiln__at_${tile_b} * ${tile};
    const bool kiln__rows_whole = kiln__row + ${tile} <= kiln__rows;
    const bool kiln__rows_deep = kiln__row >= ${window_down} && kiln__row + ${tile} + ${window_down} <= kiln__rows;
    const bool kiln__columns_whole = kiln__column + ${strips} <= kiln__columns;
    const bool kiln__columns_deep = kiln__column >= ${window_along} && kiln__column + ${strips} + ${window_along} <= kiln__columns;
    kiln__at_${tile_a} = kiln__column + kiln__lane;
    kiln__at_${tile_b} = kiln__row;
//% for p in cornered
    ${p.const}char *const kiln__corner_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% for a in axes
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
//% if p.windowed
        - ${p.down} * kiln__a.stride_${p.name}_${tile_b} - ${p.along} * ${p.bytes}
//% end
        ;
//% end
//% if index_strides
    const long long kiln__corner_i = 0
//% for a in axes
        + (long long)kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
        ;
//% end
