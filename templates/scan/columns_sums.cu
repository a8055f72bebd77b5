//# Phase 2: base, what stands above the thread's rows in the step (if based), and
//# sum, of the whole step. A block with one row of threads needs no telling.
//% own U V Y base based k mapped part parts reduce sum tx ty u v
        // The rows of this thread; those of the threads above; those of the block.
        part sum[V], base[V];
        #pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] = mapped(0, v);
            #pragma unroll
            for (int u = 1; u < U; u++)
                sum[v] = reduce(sum[v], mapped(u, v));
        }
        bool based = ty > 0;
        if (Y > 1) {
            #pragma unroll
            for (int v = 0; v < V; v++)
                parts[ty][tx][v] = sum[v];
            __syncthreads();
            #pragma unroll
            for (int v = 0; v < V; v++) {
                sum[v] = base[v] = parts[0][tx][v];
                #pragma unroll
                for (int k = 1; k < Y; k++) {
                    if (k == ty)
                        base[v] = sum[v];
                    sum[v] = reduce(sum[v], parts[k][tx][v]);
                }
            }
            __syncthreads();
        }
