//# kiln__N accesses of every segment from number kiln__at on, all loaded before the first is used.
//% for p in inputs
        ${p.type} kiln__reg_${p.name}[kiln__S][kiln__N][${p.lanes}];
//% end
        long long kiln__J[kiln__N];
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
            const ${index} kiln__j = kiln__at + kiln__u * kiln__G;
//% insert reduce/locate.cu
//% if position
            kiln__J[kiln__u] = kiln__along_J;
//% else
            kiln__J[kiln__u] = 0;
//% end
            #pragma unroll
            for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
//% for p in inputs
                kiln__load(kiln__reg_${p.name}[kiln__s][kiln__u], kiln__row_${p.name}[kiln__s] + kiln__along_${p.name});
//% end
            }
        }
        #pragma unroll
        for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < ${vec}; kiln__v++)
                    kiln__fold(kiln__acc[kiln__s][kiln__v % kiln__L], kiln__map(
//% if position
                        kiln__J[kiln__u] + kiln__v * (kiln__a.stride_J_${last} / ${vec})
//% else
                        0
//% end
//% for p in inputs
                        , kiln__reg_${p.name}[kiln__s][kiln__u][${p.lane}]
//% end
                    ));
            }
        }
