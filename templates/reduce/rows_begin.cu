//# Where each of the group's segments begins, row_* and base_*, and its empty accumulators; surplus
//# segments repeat the last.
//% own G L S a acc at_ at_0 base_ empty l output part quot_ rest row_ s
//% for p in inputs
    const char *row_${p.name}[S];
//% end
//% for x in numbers
    long long base_${x.name}[S];
//% end
    part acc[S][L];
    #pragma unroll
    for (int s = 0; s < S; s++) {
        ${index} rest = output + s * (${block} / G);
        if (rest >= (${index})a.outputs)
            rest = (${index})a.outputs - 1;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        const ${index} at_0 = rest;
//% for p in inputs
        row_${p.name}[s] = (const char *)a.ptr_${p.name}
//% for a in keep_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for x in numbers
        base_${x.name}[s] = 0
//% for a in keep_axes
            + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
            ;
//% end
        #pragma unroll
        for (int l = 0; l < L; l++)
            acc[s][l] = empty();
    }
