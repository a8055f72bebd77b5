//# Where each of the group's segments begins, kiln__row_* and kiln__base_*, and its empty accumulators; surplus
//# segments repeat the last.
//% for p in inputs
    const char *kiln__row_${p.name}[kiln__S];
//% end
//% for x in numbers
    long long kiln__base_${x.name}[kiln__S];
//% end
    kiln__part kiln__acc[kiln__S][kiln__L];
    #pragma unroll
    for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
        ${index} kiln__rest = kiln__output + kiln__s * (${block} / kiln__G);
        if (kiln__rest >= (${index})kiln__a.outputs)
            kiln__rest = (${index})kiln__a.outputs - 1;
//% for a in keep_divided
        const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
        const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
        kiln__rest = kiln__quot_${a.n};
//% end
        const ${index} kiln__at_0 = kiln__rest;
//% for p in inputs
        kiln__row_${p.name}[kiln__s] = (const char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for x in numbers
        kiln__base_${x.name}[kiln__s] = 0
//% for a in keep_axes
            + (long long)kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
            ;
//% end
        #pragma unroll
        for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
            kiln__acc[kiln__s][kiln__l] = kiln__empty();
    }
