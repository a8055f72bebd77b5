//# Phase 2 where the tile stays in registers: before of every run, and sum.
//% own U before before_run in_ part reg_ sum u
        part before[U], sum;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% insert scan/rows_run.cu
//% insert scan/rows_before.cu
            before[u] = before_run;
        }
