//# Access kiln__u of the lanes of a warp: kiln__run, the running value at the end of the lane's.
//% insert scan/rows_value.cu
            kiln__part kiln__run = kiln__value(0);
            #pragma unroll
            for (int kiln__v = 1; kiln__v < kiln__V; kiln__v++)
                kiln__run = kiln__reduce(kiln__run, kiln__value(kiln__v));
            #pragma unroll
            for (int kiln__d = 1; kiln__d < kiln__W; kiln__d *= 2) {
                const kiln__part kiln__left = kiln__from_left<kiln__W>(kiln__run, kiln__d);
                if (kiln__lane >= kiln__d)
                    kiln__run = kiln__reduce(kiln__left, kiln__run);
            }
