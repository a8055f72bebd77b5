//# Phase 4: over the thread's rows again, from what stands above them, and store.
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            const ${index} kiln__j = kiln__start + kiln__u;
            const bool kiln__mine = kiln__inside && kiln__j < kiln__length;
//% for p in outputs
            ${p.type} kiln__out_${p.name}[kiln__V];
//% if p.read_first
            if (kiln__mine)
                kiln__load(kiln__out_${p.name}, kiln__row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
//% end
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                bool kiln__has = kiln__based || kiln__u > 0;
//% if exclusive
                const kiln__part kiln__told = kiln__has ? kiln__base[kiln__v] : kiln__identity();
                kiln__take(kiln__has, kiln__base[kiln__v], kiln__mapped(kiln__u, kiln__v));
//% else
                kiln__take(kiln__has, kiln__base[kiln__v], kiln__mapped(kiln__u, kiln__v));
                const kiln__part &kiln__told = kiln__base[kiln__v];
//% end
                kiln__post(kiln__place(kiln__j), kiln__told
//% for p in outputs
                    , kiln__out_${p.name}[kiln__v]
//% end
                );
            }
            if (kiln__mine) {
//% for p in outputs
                kiln__store(kiln__row_${p.name} + kiln__along_${p.name}(kiln__j), kiln__out_${p.name});
//% end
            }
        }
