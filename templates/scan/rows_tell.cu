//# Phase 3a: tell the sum of the tile at hand, and ask for the next ticket.
//% own G a ask bytes carries clear coming k keep_ticket lane part part_words publish reduce slot
//% own sum sums taken tickets tile_sum warp warps written
            part *const warps = (part *)bytes[slot];
            int coming;
            if (threadIdx.x == 0)
                coming = ask(a.tickets);
//% insert scan/rows_total.cu
            if (lane == 31)
                warps[warp] = sum;
            int written; // the tile of two turns ago, which the turn before has written
            if (threadIdx.x == 0) {
                written = tickets[slot];
                keep_ticket(slot, coming);
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                part tile_sum = warps[0];
                #pragma unroll
                for (int k = 1; k < G / 32; k++)
                    tile_sum = reduce(tile_sum, warps[k]);
                publish(sums + taken * part_words, tile_sum, 1);
                if (written >= 0)
                    clear(carries + written * part_words);
            }
