//# Phase 2 where the tile is put aside: sum of the warp's part, in its last lane.
//% own U in_ part reduce reg_ run sum u
        part sum;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% insert scan/rows_run.cu
            sum = u > 0 ? reduce(sum, run) : run;
        }
