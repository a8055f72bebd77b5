//# Phase 2 where the tile is put aside: kiln__sum of the warp's part, in its last lane.
        kiln__part kiln__sum;
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
//% for p in inputs
            const ${p.type} (&kiln__in_${p.name})[${p.lanes}] = kiln__reg_${p.name}[kiln__u];
//% end
//% insert scan/rows_run.cu
            kiln__sum = kiln__u > 0 ? kiln__reduce(kiln__sum, kiln__run) : kiln__run;
        }
