//# Phase 3a: tell the sum of the tile at hand, and ask for the next ticket.
            kiln__part *const kiln__warps = (kiln__part *)kiln__bytes[kiln__slot];
            int kiln__coming;
            if (threadIdx.x == 0)
                kiln__coming = kiln__ask(kiln__a.tickets);
//% insert scan/rows_total.cu
            if (kiln__lane == 31)
                kiln__warps[kiln__warp] = kiln__sum;
            int kiln__written; // the tile of two turns ago, which the turn before has written
            if (threadIdx.x == 0) {
                kiln__written = kiln__tickets[kiln__slot];
                kiln__keep_ticket(kiln__slot, kiln__coming);
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                kiln__part kiln__tile_sum = kiln__warps[0];
                #pragma unroll
                for (int kiln__k = 1; kiln__k < kiln__G / 32; kiln__k++)
                    kiln__tile_sum = kiln__reduce(kiln__tile_sum, kiln__warps[kiln__k]);
                kiln__publish(kiln__sums + kiln__taken * kiln__part_words, kiln__tile_sum, 1);
                if (kiln__written >= 0)
                    kiln__clear(kiln__carries + kiln__written * kiln__part_words);
            }
