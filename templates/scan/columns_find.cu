//# Where tiles of columns and their elements are, and where a thread stands in one.
    const int kiln__lane = threadIdx.x % 32, kiln__warp = threadIdx.x / 32;
    const int kiln__c = threadIdx.x % kiln__K, kiln__r = kiln__lane / kiln__K, kiln__ty = threadIdx.x / kiln__K;
    // Bytes of every input's part of a tile: it begins at kiln__at_p. All of them: kiln__stage_bytes.
    enum : int {
//% for p in inputs
//% if p.vector
        kiln__at_${p.name}, kiln__end_${p.name} = kiln__at_${p.name} + kiln__height * kiln__K * (int)sizeof(${p.type}) - 1,
//% end
//% end
        kiln__stage_bytes
    };
    // Two tiles; a carrier has messages there.
    constexpr int kiln__message_bytes = 2 * kiln__N * kiln__K * (int)sizeof(kiln__part);
    __shared__ alignas(16) unsigned char kiln__shared[2 * kiln__stage_bytes > kiln__message_bytes ? 2 * kiln__stage_bytes : kiln__message_bytes];
    struct kiln__columns {
        int width; // columns that the tile has
//% for p in walking
        ${p.const}char *row_${p.name}; // row 0 of the first of them
//% end
    };
    // Columns tile number kiln__tile; its last coordinate counts tiles. A lane behind the last column
    // does as the last one does, and stores nothing.
    auto kiln__find = [&](const ${index} kiln__tile) -> kiln__columns {
        ${index} kiln__rest = kiln__tile;
//% for a in keep_divided
        const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
        const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
        kiln__rest = kiln__quot_${a.n};
//% end
        const ${index} kiln__at_0 = kiln__rest;
        const ${index} kiln__first = kiln__at_${keep_last} * kiln__K;
        const ${index} kiln__width = (${index})kiln__a.shape_${keep_last} - kiln__first;
        kiln__columns kiln__found;
        kiln__found.width = kiln__width < kiln__K ? (int)kiln__width : kiln__K;
//% for p in walking
        kiln__found.row_${p.name} = kiln__base_${p.name} + kiln__first * (${index})kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        return kiln__found;
    };
//% if flat
    const int kiln__pitch = (int)kiln__a.shape_${keep_last}; // elements from row to row in shared memory
//% else
    constexpr int kiln__pitch = kiln__K;
//% end
    // Of the thread's rows of a tile that begins with row kiln__begin, the mapped element of row
    // kiln__u. Below the end the last row is repeated.
    auto kiln__value_of = [&](const kiln__columns &kiln__here, const unsigned char *const kiln__from, const ${index} kiln__begin, const int kiln__u) -> kiln__part {
        const int kiln__row = kiln__ty * kiln__U + kiln__u, kiln__col = kiln__c < kiln__here.width ? kiln__c : kiln__here.width - 1;
        const ${index} kiln__j = kiln__begin + kiln__row < (${index})kiln__a.length ? kiln__begin + kiln__row : (${index})kiln__a.length - 1;
        (void)kiln__j;
        return kiln__map(
//% if position
            kiln__place(kiln__begin + kiln__row)
//% else
            0
//% end
//% for p in inputs
//% if p.vector
            , *(const ${p.type} *)(kiln__from + kiln__at_${p.name} + (kiln__row * kiln__pitch + kiln__col) * (int)sizeof(${p.type}))
//% else
            , *(const ${p.type} *)(kiln__here.row_${p.name} + kiln__col * (${index})kiln__a.stride_${p.name}_${keep_last} + kiln__along_${p.name}(kiln__j))
//% end
//% end
        );
    };
