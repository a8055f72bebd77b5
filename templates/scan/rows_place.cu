//# Where sequences and their elements are, and where a thread stands in a tile.
//% own G U V W a all_fits along_ at_ at_0 base_ count e find fits j lane n of_thread quot_ r rest
//% own rows warp
//% plain row_
    const int lane = threadIdx.x % W, warp = threadIdx.x % G / W;
    struct rows {
//% for p in walking
        ${p.const}char *row_${p.name};
//% end
    };
    // Sequence number kiln__n.
    auto find = [&](const ${index} n) -> rows {
        ${index} rest = n;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        const ${index} at_0 = rest;
        rows r;
//% for p in walking
        r.row_${p.name} = base_${p.name}
//% for a in keep_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        return r;
    };
    // Its element number kiln__e.
//% for p in walking
    auto at_${p.name} = [&](const rows &r, const ${index} e) -> ${p.const}${p.type} * {
        return (${p.const}${p.type} *)(r.row_${p.name} + along_${p.name}(e / V))
//% if p.vector
            + e % V
//% end
            ;
    };
//% end
    const ${index} count = (${index})a.count;
    // Whether access number kiln__j lies in the sequence, and the tile that begins with it.
    auto fits = [&](const ${index} j) -> bool { return (j + 1) * V <= count; };
    auto all_fits = [&](const ${index} j) -> bool { return j + G * U <= count / V; };
    // The thread's first access in that tile; the others follow kiln__W apart.
    auto of_thread = [&](const ${index} j) -> ${index} { return j + warp * (W * U) + lane; };
