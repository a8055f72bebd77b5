//# Phase 4: over the thread's runs, from what stands before each, and store. A tile that was put
//# aside comes back from there and is summed on the way.
        const bool kiln__whole = kiln__all_fits(kiln__begin);
//% if split
        #pragma unroll 2
//% else
        #pragma unroll
//% end
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            const ${index} kiln__j = kiln__start + kiln__u * kiln__W;
//% for p in inputs
//% if split
            ${p.type} kiln__in_${p.name}[${p.lanes}];
            kiln__load(kiln__in_${p.name}, kiln__aside_${p.name}[kiln__u][threadIdx.x]);
//% else
            const ${p.type} (&kiln__in_${p.name})[${p.lanes}] = kiln__reg_${p.name}[kiln__u];
//% end
//% end
//% if split
//% insert scan/rows_run.cu
//% insert scan/rows_before.cu
//% else
//% insert scan/rows_value.cu
            const kiln__part &kiln__before_run = kiln__before[kiln__u];
//% end
            kiln__part kiln__acc = kiln__base;
            bool kiln__has = kiln__based;
            if (kiln__u > 0 || kiln__lane > 0)
                kiln__take(kiln__has, kiln__acc, kiln__before_run);
//% for p in outputs
            ${p.type} kiln__out_${p.name}[kiln__V];
//% if p.read_first
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                kiln__out_${p.name}[kiln__v] = *kiln__at_${p.name}(kiln__r, kiln__e < kiln__count ? kiln__e : kiln__count - 1);
            }
//% end
//% end
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
//% if exclusive
                const kiln__part kiln__told = kiln__has ? kiln__acc : kiln__identity();
                kiln__take(kiln__has, kiln__acc, kiln__value(kiln__v));
//% else
                kiln__take(kiln__has, kiln__acc, kiln__value(kiln__v));
                const kiln__part &kiln__told = kiln__acc;
//% end
                kiln__post(kiln__place(kiln__j * kiln__V + kiln__v), kiln__told
//% for p in outputs
                    , kiln__out_${p.name}[kiln__v]
//% end
                );
            }
            if (kiln__mine && (kiln__whole || kiln__fits(kiln__j))) {
//% for p in outputs
                kiln__store(kiln__r.row_${p.name} + kiln__along_${p.name}(kiln__j), kiln__out_${p.name});
//% end
            } else if (kiln__mine) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                    const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                    if (kiln__e >= kiln__count)
                        break;
//% for p in outputs
                    *kiln__at_${p.name}(kiln__r, kiln__e) = kiln__out_${p.name}[kiln__v];
//% end
                }
            }
        }
