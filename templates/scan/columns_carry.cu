//# Phase 3: what stands above the step comes before what stands above the thread's rows in it, and
//# takes in the step.
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            if (kiln__carries) {
                kiln__base[kiln__v] = kiln__based ? kiln__reduce(kiln__carry[kiln__v], kiln__base[kiln__v]) : kiln__carry[kiln__v];
                kiln__carry[kiln__v] = kiln__reduce(kiln__carry[kiln__v], kiln__sum[kiln__v]);
            } else {
                kiln__carry[kiln__v] = kiln__sum[kiln__v];
            }
        }
        kiln__based = kiln__based || kiln__carries;
        kiln__carries = true;
