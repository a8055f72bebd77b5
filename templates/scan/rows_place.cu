//# Where sequences and their elements are, and where a thread stands in a tile.
    const int kiln__lane = threadIdx.x % kiln__W, kiln__warp = threadIdx.x % kiln__G / kiln__W;
    struct kiln__rows {
//% for p in walking
        ${p.const}char *row_${p.name};
//% end
    };
    // Sequence number kiln__n.
    auto kiln__find = [&](const ${index} kiln__n) -> kiln__rows {
        ${index} kiln__rest = kiln__n;
//% for a in keep_divided
        const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
        const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
        kiln__rest = kiln__quot_${a.n};
//% end
        const ${index} kiln__at_0 = kiln__rest;
        kiln__rows kiln__r;
//% for p in walking
        kiln__r.row_${p.name} = kiln__base_${p.name}
//% for a in keep_axes
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        return kiln__r;
    };
    // Its element number kiln__e.
//% for p in walking
    auto kiln__at_${p.name} = [&](const kiln__rows &kiln__r, const ${index} kiln__e) -> ${p.const}${p.type} * {
        return (${p.const}${p.type} *)(kiln__r.row_${p.name} + kiln__along_${p.name}(kiln__e / kiln__V))
//% if p.vector
            + kiln__e % kiln__V
//% end
            ;
    };
//% end
    const ${index} kiln__count = (${index})kiln__a.count;
    // Whether access number kiln__j lies in the sequence, and the tile that begins with it.
    auto kiln__fits = [&](const ${index} kiln__j) -> bool { return (kiln__j + 1) * kiln__V <= kiln__count; };
    auto kiln__all_fits = [&](const ${index} kiln__j) -> bool { return kiln__j + kiln__G * kiln__U <= kiln__count / kiln__V; };
    // The thread's first access in that tile; the others follow kiln__W apart.
    auto kiln__of_thread = [&](const ${index} kiln__j) -> ${index} { return kiln__j + kiln__warp * (kiln__W * kiln__U) + kiln__lane; };
