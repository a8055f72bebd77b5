//# Which tile a block has: its origin, how much of the arrays is left from there, and each operand's
//# element at a place of the tile.
//% own a at_ at_0 base_ base_i i j left_ quot_ rest tx ty
    const int tx = threadIdx.x % ${tile}, ty = threadIdx.x / ${tile};
    ${index} rest = (${index})blockIdx.x;
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
