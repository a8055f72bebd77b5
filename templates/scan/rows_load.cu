//# Phase 1 of a tile of rows: kiln__fetch(r, begin) loads what the thread has of the tile that begins
//# at access number `begin`. Every load is issued before the first is used.
//% for p in inputs
    ${p.type} kiln__reg_${p.name}[kiln__U][${p.lanes}];
//% end
    auto kiln__fetch = [&](const kiln__rows &kiln__r, const ${index} kiln__begin) {
        const ${index} kiln__start = kiln__of_thread(kiln__begin);
        if (kiln__all_fits(kiln__begin)) {
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
//% for p in inputs
                kiln__load(kiln__reg_${p.name}[kiln__u], kiln__r.row_${p.name} + kiln__along_${p.name}(kiln__start + kiln__u * kiln__W));
//% end
            }
            return;
        }
        // Behind the end the last element is repeated; nothing after it is stored.
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            const ${index} kiln__j = kiln__start + kiln__u * kiln__W;
            if (kiln__fits(kiln__j)) {
//% for p in inputs
                kiln__load(kiln__reg_${p.name}[kiln__u], kiln__r.row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
            } else {
//% for p in inputs
                #pragma unroll
                for (int kiln__v = 0; kiln__v < ${p.lanes}; kiln__v++) {
                    const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                    kiln__reg_${p.name}[kiln__u][kiln__v] = *kiln__at_${p.name}(kiln__r, kiln__e < kiln__count ? kiln__e : kiln__count - 1);
                }
//% end
            }
        }
    };
