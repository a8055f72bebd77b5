//# Go over the thread's runs again, from what stands before each, and store.
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            const ${index} kiln__j = kiln__start + kiln__u * kiln__W;
            kiln__part kiln__acc = kiln__base;
            bool kiln__has = kiln__based;
            if (kiln__u > 0 || kiln__lane > 0)
                kiln__take(kiln__has, kiln__acc, kiln__before[kiln__u]);
//% for p in outputs
            ${p.type} kiln__out_${p.name}[kiln__V];
//% if p.read_first
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                kiln__out_${p.name}[kiln__v] = *kiln__at_${p.name}(kiln__e < kiln__count ? kiln__e : kiln__count - 1);
            }
//% end
//% end
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
//% if exclusive
                const kiln__part kiln__told = kiln__has ? kiln__acc : kiln__identity();
                kiln__take(kiln__has, kiln__acc, kiln__mapped(kiln__u, kiln__v));
//% else
                kiln__take(kiln__has, kiln__acc, kiln__mapped(kiln__u, kiln__v));
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
                kiln__store(kiln__row_${p.name} + kiln__along_${p.name}(kiln__j), kiln__out_${p.name});
//% end
            } else if (kiln__mine) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                    const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                    if (kiln__e >= kiln__count)
                        break;
//% for p in outputs
                    *kiln__at_${p.name}(kiln__e) = kiln__out_${p.name}[kiln__v];
//% end
                }
            }
        }
