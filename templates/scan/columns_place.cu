//# Where a thread's columns are: row_p is row 0 of them. A column behind the last one is read as
//# the first and never stored.
//% own V X Y a at_ at_0 base_ bytes column inside length part parts quot_ rest row_ tile tx ty
    const int tx = threadIdx.x % X, ty = threadIdx.x / X;
    __shared__ alignas(16) unsigned char bytes[Y * X * V * sizeof(part)];
    part (*parts)[X][V] = (part(*)[X][V])bytes;
    // The tile's place among the kept axes; its last coordinate counts tiles.
    ${index} rest = tile;
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} column = at_${keep_last} * X + tx;
    const bool inside = column < (${index})a.shape_${keep_last} / V;
//% for p in walking
    ${p.const}char *const row_${p.name} = base_${p.name}
        + (inside ? column : 0) * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
    const ${index} length = (${index})a.length;
