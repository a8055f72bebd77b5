//# Phases 2 and 3a: sum and tell the tile at hand, and ask for the next ticket. kiln__base: what
//# stands above the thread's rows in the tile, unless they are the first.
            int kiln__coming;
            if (threadIdx.x == 0)
                kiln__coming = kiln__ask(kiln__a.tickets);
            __syncthreads();
            kiln__part kiln__sum = kiln__value_of(kiln__here, kiln__place_of, kiln__begin, 0);
            #pragma unroll
            for (int kiln__u = 1; kiln__u < kiln__U; kiln__u++)
                kiln__sum = kiln__reduce(kiln__sum, kiln__value_of(kiln__here, kiln__place_of, kiln__begin, kiln__u));
            kiln__part kiln__run = kiln__sum;
            #pragma unroll
            for (int kiln__d = 1; kiln__d < kiln__R; kiln__d *= 2) {
                const kiln__part kiln__above = kiln__from_left<32>(kiln__run, kiln__d * kiln__K);
                if (kiln__r >= kiln__d)
                    kiln__run = kiln__reduce(kiln__above, kiln__run);
            }
            if (kiln__r == kiln__R - 1)
                kiln__warps[kiln__warp * kiln__K + kiln__c] = kiln__run;
            if (threadIdx.x == 0)
                kiln__keep_ticket(kiln__coming);
            __syncthreads();
            kiln__next = kiln__ticket;
            bool kiln__based = false;
            #pragma unroll
            for (int kiln__k = 0; kiln__k < kiln__N - 1; kiln__k++)
                if (kiln__k < kiln__warp)
                    kiln__take(kiln__based, kiln__base, kiln__warps[kiln__k * kiln__K + kiln__c]);
            if (kiln__R > 1) {
                const kiln__part kiln__above = kiln__from_left<32>(kiln__run, kiln__K % 32);
                if (kiln__r > 0)
                    kiln__take(kiln__based, kiln__base, kiln__above);
            }
            if (threadIdx.x >= kiln__G - kiln__K)
                kiln__publish(kiln__sums + (kiln__taken * kiln__K + kiln__c) * kiln__part_words, kiln__reduce(kiln__base, kiln__sum), 1);
