//# Phase 3, where a block has the sequence: kiln__base, the sum of the warps before the thread's own
//# (if kiln__based), and kiln__tile_sum.
        if (kiln__lane == 0)
            kiln__warps[kiln__warp] = kiln__sum;
        __syncthreads();
        kiln__part kiln__tile_sum = kiln__warps[0], kiln__base = kiln__tile_sum;
        bool kiln__based = kiln__warp > 0;
        #pragma unroll
        for (int kiln__k = 1; kiln__k < ${block} / 32; kiln__k++) {
            if (kiln__k == kiln__warp)
                kiln__base = kiln__tile_sum;
            kiln__tile_sum = kiln__reduce(kiln__tile_sum, kiln__warps[kiln__k]);
        }
