//# Phase 2 where the tile stays in registers: kiln__before of every run, and kiln__sum.
        kiln__part kiln__before[kiln__U], kiln__sum;
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
//% for p in inputs
            const ${p.type} (&kiln__in_${p.name})[${p.lanes}] = kiln__reg_${p.name}[kiln__u];
//% end
//% insert scan/rows_run.cu
//% insert scan/rows_before.cu
            kiln__before[kiln__u] = kiln__before_run;
        }
