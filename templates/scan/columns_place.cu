//# Where a thread's columns are: kiln__row_p is row 0 of them. A column behind the last one is read as
//# the first and never stored.
    const int kiln__tx = threadIdx.x % kiln__X, kiln__ty = threadIdx.x / kiln__X;
    __shared__ alignas(16) unsigned char kiln__bytes[kiln__Y * kiln__X * kiln__V * sizeof(kiln__part)];
    kiln__part (*kiln__parts)[kiln__X][kiln__V] = (kiln__part(*)[kiln__X][kiln__V])kiln__bytes;
    // The tile's place among the kept axes; its last coordinate counts tiles.
    ${index} kiln__rest = kiln__tile;
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    const ${index} kiln__at_0 = kiln__rest;
    const ${index} kiln__column = kiln__at_${keep_last} * kiln__X + kiln__tx;
    const bool kiln__inside = kiln__column < (${index})kiln__a.shape_${keep_last} / kiln__V;
//% for p in walking
    ${p.const}char *const kiln__row_${p.name} = kiln__base_${p.name}
        + (kiln__inside ? kiln__column : 0) * (${index})kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
    const ${index} kiln__length = (${index})kiln__a.length;
