//# Where tiles of columns and their elements are, and where a thread stands in one.
//% own K N U a along_ at_ at_0 base_ begin c col columns end_ find first found from height here j
//% own lane map message_bytes part pitch place quot_ r rest row shared stage_bytes tile ty u
//% own value_of warp
//% plain kiln__width row_ width
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int c = threadIdx.x % K, r = lane / K, ty = threadIdx.x / K;
    // Bytes of every input's part of a tile: it begins at kiln__at_p. All of them: kiln__stage_bytes.
    enum : int {
//% for p in inputs
//% if p.vector
        at_${p.name}, end_${p.name} = at_${p.name} + height * K * (int)sizeof(${p.type}) - 1,
//% end
//% end
        stage_bytes
    };
    // Two tiles; a carrier has messages there.
    constexpr int message_bytes = 2 * N * K * (int)sizeof(part);
    __shared__ alignas(16) unsigned char shared[2 * stage_bytes > message_bytes ? 2 * stage_bytes : message_bytes];
    struct columns {
        int width; // columns that the tile has
//% for p in walking
        ${p.const}char *row_${p.name}; // row 0 of the first of them
//% end
    };
    // Columns tile number kiln__tile; its last coordinate counts tiles. A lane behind the last column
    // does as the last one does, and stores nothing.
    auto find = [&](const ${index} tile) -> columns {
        ${index} rest = tile;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        const ${index} at_0 = rest;
        const ${index} first = at_${keep_last} * K;
        const ${index} kiln__width = (${index})a.shape_${keep_last} - first;
        columns found;
        found.width = kiln__width < K ? (int)kiln__width : K;
//% for p in walking
        found.row_${p.name} = base_${p.name} + first * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        return found;
    };
//% if flat
    const int pitch = (int)a.shape_${keep_last}; // elements from row to row in shared memory
//% else
    constexpr int pitch = K;
//% end
    // Of the thread's rows of a tile that begins with row kiln__begin, the mapped element of row
    // kiln__u. Below the end the last row is repeated.
    auto value_of = [&](const columns &here, const unsigned char *const from, const ${index} begin, const int u) -> part {
        const int row = ty * U + u, col = c < here.width ? c : here.width - 1;
        const ${index} j = begin + row < (${index})a.length ? begin + row : (${index})a.length - 1;
        (void)j;
        return map(
//% if position
            place(begin + row)
//% else
            0
//% end
//% for p in inputs
//% if p.vector
            , *(const ${p.type} *)(from + at_${p.name} + (row * pitch + col) * (int)sizeof(${p.type}))
//% else
            , *(const ${p.type} *)(here.row_${p.name} + col * (${index})a.stride_${p.name}_${keep_last} + along_${p.name}(j))
//% end
//% end
        );
    };
