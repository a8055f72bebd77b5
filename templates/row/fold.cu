//# Stage s over the accesses from + u * step, u < U.
//% own F L U V acc_ b fold_ from j length map_ step u v
    #pragma unroll
    for (int b = 0; b < U; b += ${late_batch}) {
//% insert row/late.cu
        #pragma unroll
        for (int u = b; u < b + ${late_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
                #pragma unroll
                for (int v = 0; v < V; v++)
                    fold_${s.n}(acc_${s.n}[(u * V + v) % L], map_${s.n}(0
//% insert row/element.cu
                    ));
            }
        }
    }
