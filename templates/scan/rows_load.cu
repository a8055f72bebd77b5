//# Phase 1 of a tile of rows: fetch(r, begin) loads what the thread has of the tile that begins
//# at access number `begin`. Every load is issued before the first is used.
//% own U V W all_fits along_ at_ begin count e fetch fits j load of_thread r reg_ rows start u v
//% for p in inputs
    ${p.type} reg_${p.name}[U][${p.lanes}];
//% end
    auto fetch = [&](const rows &r, const ${index} begin) {
        const ${index} start = of_thread(begin);
        if (all_fits(begin)) {
            #pragma unroll
            for (int u = 0; u < U; u++) {
//% for p in inputs
                load(reg_${p.name}[u], r.row_${p.name} + along_${p.name}(start + u * W));
//% end
            }
            return;
        }
        // Behind the end the last element is repeated; nothing after it is stored.
        #pragma unroll
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u * W;
            if (fits(j)) {
//% for p in inputs
                load(reg_${p.name}[u], r.row_${p.name} + along_${p.name}(j));
//% end
            } else {
//% for p in inputs
                #pragma unroll
                for (int v = 0; v < ${p.lanes}; v++) {
                    const ${index} e = j * V + v;
                    reg_${p.name}[u][v] = *at_${p.name}(r, e < count ? e : count - 1);
                }
//% end
            }
        }
    };
