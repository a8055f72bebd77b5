//# Phase 3, where a block has the sequence: base, the sum of the warps before the thread's own
//# (if based), and tile_sum.
//% own base based k lane part reduce sum tile_sum warp warps
        if (lane == 0)
            warps[warp] = sum;
        __syncthreads();
        part tile_sum = warps[0], base = tile_sum;
        bool based = warp > 0;
        #pragma unroll
        for (int k = 1; k < ${block} / 32; k++) {
            if (k == warp)
                base = tile_sum;
            tile_sum = reduce(tile_sum, warps[k]);
        }
