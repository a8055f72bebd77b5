//# Phases 2 and 3a: sum and tell the tile at hand, and ask for the next ticket. base: what
//# stands above the thread's rows in the tile, unless they are the first.
//% own G K N R U a above ask base based begin c coming d from_left here k keep_ticket next part
//% own part_words place_of publish r reduce run sum sums take taken ticket u value_of warp warps
            int coming;
            if (threadIdx.x == 0)
                coming = ask(a.tickets);
            __syncthreads();
            part sum = value_of(here, place_of, begin, 0);
            #pragma unroll
            for (int u = 1; u < U; u++)
                sum = reduce(sum, value_of(here, place_of, begin, u));
            part run = sum;
            #pragma unroll
            for (int d = 1; d < R; d *= 2) {
                const part above = from_left<32>(run, d * K);
                if (r >= d)
                    run = reduce(above, run);
            }
            if (r == R - 1)
                warps[warp * K + c] = run;
            if (threadIdx.x == 0)
                keep_ticket(coming);
            __syncthreads();
            next = ticket;
            bool based = false;
            #pragma unroll
            for (int k = 0; k < N - 1; k++)
                if (k < warp)
                    take(based, base, warps[k * K + c]);
            if (R > 1) {
                const part above = from_left<32>(run, K % 32);
                if (r > 0)
                    take(based, base, above);
            }
            if (threadIdx.x >= G - K)
                publish(sums + (taken * K + c) * part_words, reduce(base, sum), 1);
