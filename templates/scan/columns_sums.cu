//# Phase 2: kiln__base, what stands above the thread's rows in the step (if kiln__based), and
//# kiln__sum, of the whole step. A block with one row of threads needs no telling.
        // The rows of this thread; those of the threads above; those of the block.
        kiln__part kiln__sum[kiln__V], kiln__base[kiln__V];
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            kiln__sum[kiln__v] = kiln__mapped(0, kiln__v);
            #pragma unroll
            for (int kiln__u = 1; kiln__u < kiln__U; kiln__u++)
                kiln__sum[kiln__v] = kiln__reduce(kiln__sum[kiln__v], kiln__mapped(kiln__u, kiln__v));
        }
        bool kiln__based = kiln__ty > 0;
        if (kiln__Y > 1) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__parts[kiln__ty][kiln__tx][kiln__v] = kiln__sum[kiln__v];
            __syncthreads();
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                kiln__sum[kiln__v] = kiln__base[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
                #pragma unroll
                for (int kiln__k = 1; kiln__k < kiln__Y; kiln__k++) {
                    if (kiln__k == kiln__ty)
                        kiln__base[kiln__v] = kiln__sum[kiln__v];
                    kiln__sum[kiln__v] = kiln__reduce(kiln__sum[kiln__v], kiln__parts[kiln__k][kiln__tx][kiln__v]);
                }
            }
            __syncthreads();
        }
