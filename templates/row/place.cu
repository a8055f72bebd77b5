//# Which row this thread works on, where it begins in every operand, and which accesses are its own:
//# kiln__first, kiln__first + kiln__step, ... below the row's length. Surplus threads repeat the last
//# row and store nothing.
    constexpr int kiln__U = ${unroll}, kiln__V = ${vec}, kiln__L = ${lanes}, kiln__S = ${side_by_side};
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int kiln__F = ${sure};
//% if turned
    const int kiln__beside = threadIdx.x % kiln__S, kiln__lane = threadIdx.x / kiln__S;
//% else
    const int kiln__beside = threadIdx.x / ${group}, kiln__lane = threadIdx.x % ${group};
//% end
//% if clustered
    const int kiln__rank = kiln__cluster_rank();
    kiln__cluster_arrive();
//% else
    constexpr int kiln__rank = 0;
//% end
    constexpr ${index} kiln__step = ${group} * ${cluster};
    const ${index} kiln__first = kiln__rank * ${group} + kiln__lane;
    [[maybe_unused]] const ${index} kiln__length = (${index})kiln__a.length;
    ${index} kiln__rest = (${index})(blockIdx.x / ${cluster}) * kiln__S + kiln__beside;
//% if one_row
    constexpr bool kiln__live = true;
//% else
    const bool kiln__live = kiln__rest < (${index})kiln__a.rows;
    if (!kiln__live)
        kiln__rest = (${index})kiln__a.rows - 1;
//% end
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    [[maybe_unused]] const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    [[maybe_unused]] const ${index} kiln__at_0 = kiln__rest;
//% for p in walking
    ${p.byte} *const kiln__row_${p.name} = (${p.byte} *)kiln__a.ptr_${p.name}
//% for a in keep_axes
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for p in row_splat
    const ${p.type} ${p.name} = *(const ${p.type} *)kiln__row_${p.name};
//% end
//% if !in_warp
//% if !lone
    __shared__ kiln__slot kiln__slots[${slot_count}];
//% end
//% end
