//# Access u of the lanes of a warp: run, the running value at the end of the lane's.
//% own V W d from_left lane left part reduce run v value
//% insert scan/rows_value.cu
            part run = value(0);
            #pragma unroll
            for (int v = 1; v < V; v++)
                run = reduce(run, value(v));
            #pragma unroll
            for (int d = 1; d < W; d *= 2) {
                const part left = from_left<W>(run, d);
                if (lane >= d)
                    run = reduce(left, run);
            }
