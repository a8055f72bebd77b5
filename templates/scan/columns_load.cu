//# Phase 1 of a step down the columns: load the thread's rows, which begin with row start.
//% own U along_ j length load map mapped part place reg_ row_ start u v
//% for p in inputs
        ${p.type} reg_${p.name}[U][${p.lanes}];
//% end
        #pragma unroll
        for (int u = 0; u < U; u++) {
            // Below the end the last row is repeated; nothing after it is stored.
            const ${index} j = start + u < length ? start + u : length - 1;
//% for p in inputs
            load(reg_${p.name}[u], row_${p.name} + along_${p.name}(j));
//% end
        }
        auto mapped = [&](const int u, const int v) -> part {
            return map(
//% if position
                place(start + u)
//% else
                0
//% end
//% for p in inputs
                , reg_${p.name}[u][${p.lane}]
//% end
            );
        };
