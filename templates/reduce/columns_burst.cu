//# kiln__N rows from number kiln__at on, all loaded before the first is used.
//% for p in inputs
            ${p.type} kiln__reg_${p.name}[kiln__N][${p.lanes}];
//% end
            long long kiln__J[kiln__N];
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
            const ${index} kiln__j = kiln__at + kiln__u * kiln__R;
//% insert reduce/locate.cu
//% if position
                kiln__J[kiln__u] = kiln__along_J;
//% else
                kiln__J[kiln__u] = 0;
//% end
//% for p in inputs
                kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name});
//% end
            }
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__fold(kiln__acc[kiln__v], kiln__map(kiln__J[kiln__u]
//% for p in inputs
                        , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
                    ));
            }
