//# Which tile a block has: its origin, how much of the arrays is left from there, and each operand's
//# element at a place of the tile.
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
