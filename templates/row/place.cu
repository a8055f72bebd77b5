//# Which row this thread works on, where it begins in every operand, and which accesses are its own:
//# first, first + step, ... below the row's length. Surplus threads repeat the last
//# row and store nothing.
//% own F L S U V a at_ at_0 beside cluster_arrive cluster_rank first lane length live quot_ rank
//% own rest row_ slot slots step
    constexpr int U = ${unroll}, V = ${vec}, L = ${lanes}, S = ${side_by_side};
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int F = ${sure};
//% if turned
    const int beside = threadIdx.x % S, lane = threadIdx.x / S;
//% else
    const int beside = threadIdx.x / ${group}, lane = threadIdx.x % ${group};
//% end
//% if clustered
    const int rank = cluster_rank();
    cluster_arrive();
//% else
    constexpr int rank = 0;
//% end
    constexpr ${index} step = ${group} * ${cluster};
    const ${index} first = rank * ${group} + lane;
    [[maybe_unused]] const ${index} length = (${index})a.length;
    ${index} rest = (${index})(blockIdx.x / ${cluster}) * S + beside;
//% if one_row
    constexpr bool live = true;
//% else
    const bool live = rest < (${index})a.rows;
    if (!live)
        rest = (${index})a.rows - 1;
//% end
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    [[maybe_unused]] const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    [[maybe_unused]] const ${index} at_0 = rest;
//% for p in walking
    ${p.byte} *const row_${p.name} = (${p.byte} *)a.ptr_${p.name}
//% for a in keep_axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for p in row_splat
    const ${p.type} ${p.name} = *(const ${p.type} *)row_${p.name};
//% end
//% if !in_warp
//% if !lone
    __shared__ slot slots[${slot_count}];
//% end
//% end
