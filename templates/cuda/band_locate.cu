//# Which band and tile a block has, and where its threads' first rows begin for each operand.
    const int kiln__tx = threadIdx.x % ${group}, kiln__ty = threadIdx.x / ${group};
    ${index} kiln__rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    ${index} kiln__at_0 = kiln__rest;
    const int kiln__count = (int)(kiln__a.extent_${tile_a} / ${vec});
    const int kiln__column = (int)kiln__at_${tile_a} * ${band_columns} + kiln__tx;
    kiln__at_${tile_a} = 0;
    kiln__at_${tile_b} = kiln__at_${tile_b} * ${tile} + kiln__ty;
    ${index} kiln__row = kiln__at_${tile_b};
    const ${index} kiln__end = min(kiln__row - kiln__ty + ${tile}, (${index})kiln__a.extent_${tile_b});
//% for p in walking
    ${p.const}char *kiln__row_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% for a in axes
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% if index_strides
    const long long kiln__base_i = 0
//% for a in axes_outer
        + (long long)(kiln__at_${a.n}) * kiln__a.stride_i_${a.n}
//% end
        - kiln__row * kiln__a.stride_i_${tile_b};
//% end
