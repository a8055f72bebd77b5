//# Compute and store the outputs of the accesses kiln__from + u * kiln__step, u < kiln__U.
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += ${late_batch}) {
//% insert row/late.cu
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + ${late_batch}; kiln__u++) {
            const ${index} kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
//% insert row/locate.cu
//% for p in row_stores
//% insert row/along.cu
                ${p.type} kiln__out_${p.name}[kiln__V];
//% end
//% for p in row_loads_first
                kiln__load(kiln__out_${p.name}, kiln__row_${p.name} + kiln__along_${p.name});
//% end
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__op(0
//% insert row/element.cu
//% for p in row_stores
                        , kiln__out_${p.name}[kiln__v]
//% end
                    );
//% for p in row_stores
                kiln__store(kiln__row_${p.name} + kiln__along_${p.name}, kiln__out_${p.name});
//% end
            }
        }
    }
