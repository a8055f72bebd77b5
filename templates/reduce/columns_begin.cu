//# The tile's place among the kept axes (its last coordinate counts tiles), where its thread's columns begin,
//# row_* and base_*, and its empty accumulators.
//% own V X a acc at_ at_0 base_ column columns corner empty inside outer part quot_ rest row_
//% own tile tx v
    ${index} rest = tile;
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} columns = (${index})a.shape_${keep_last} / V;
    const ${index} corner = at_${keep_last} * X, column = corner + tx;
    const bool inside = column < columns;
    ${index} outer = 0;
//% for a in keep_outer
    outer = outer * (${index})a.shape_${a.n} + at_${a.n};
//% end
//% for p in inputs
    const char *const row_${p.name} = (const char *)a.ptr_${p.name}
        + (inside ? column : 0) * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for x in numbers
    const long long base_${x.name} = (long long)column * V * a.step_${x.name}_${keep_last}
//% for a in keep_outer
        + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
        ;
//% end
    part acc[V];
    #pragma unroll
    for (int v = 0; v < V; v++)
        acc[v] = empty();
