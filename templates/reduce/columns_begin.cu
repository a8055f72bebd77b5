//# The tile's place among the kept axes (its last coordinate counts tiles), where its thread's columns begin,
//# kiln__row_* and kiln__base_*, and its empty accumulators.
    ${index} kiln__rest = kiln__tile;
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    const ${index} kiln__at_0 = kiln__rest;
    const ${index} kiln__columns = (${index})kiln__a.shape_${keep_last} / kiln__V;
    const ${index} kiln__corner = kiln__at_${keep_last} * kiln__X, kiln__column = kiln__corner + kiln__tx;
    const bool kiln__inside = kiln__column < kiln__columns;
    ${index} kiln__outer = 0;
//% for a in keep_outer
    kiln__outer = kiln__outer * (${index})kiln__a.shape_${a.n} + kiln__at_${a.n};
//% end
//% for p in inputs
    const char *const kiln__row_${p.name} = (const char *)kiln__a.ptr_${p.name}
        + (kiln__inside ? kiln__column : 0) * (${index})kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for x in numbers
    const long long kiln__base_${x.name} = (long long)kiln__column * kiln__V * kiln__a.step_${x.name}_${keep_last}
//% for a in keep_outer
        + (long long)kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
        ;
//% end
    kiln__part kiln__acc[kiln__V];
    #pragma unroll
    for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
        kiln__acc[kiln__v] = kiln__empty();
