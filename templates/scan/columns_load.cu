//# Phase 1 of a step down the columns: load the thread's rows, which begin with row kiln__start.
//% for p in inputs
        ${p.type} kiln__reg_${p.name}[kiln__U][${p.lanes}];
//% end
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            // Below the end the last row is repeated; nothing after it is stored.
            const ${index} kiln__j = kiln__start + kiln__u < kiln__length ? kiln__start + kiln__u : kiln__length - 1;
//% for p in inputs
            kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
        }
        auto kiln__mapped = [&](const int kiln__u, const int kiln__v) -> kiln__part {
            return kiln__map(
//% if position
                kiln__place(kiln__start + kiln__u)
//% else
                0
//% end
//% for p in inputs
                , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
            );
        };
