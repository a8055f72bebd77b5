//# Stage s over the accesses kiln__from + u * kiln__step, u < kiln__U.
    #pragma unroll
    for (int kiln__b = 0; kiln__b < kiln__U; kiln__b += ${late_batch}) {
//% insert row/late.cu
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + ${late_batch}; kiln__u++) {
            const ${index} kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__fold_${s.n}(kiln__acc_${s.n}[(kiln__u * kiln__V + kiln__v) % kiln__L], kiln__map_${s.n}(0
//% insert row/element.cu
                    ));
            }
        }
    }
