//# columns_carrier.cu - the carriers: blocks that came first have no tiles; they tell every tile what
//# stands above it. Each has the tiles of a.chunk columns tiles, a chain for each: 8, 4, 2 or all
//# warps take the groups of a chain in turn. The order of combination hangs on steps' numbers alone:
//#
//#     above = (all steps of the ${fan} groups times n before . groups above) . lanes above . steps above
//#
//# A group is as many steps as a warp's lanes look at together: a lane has a column and some
//# neighbouring steps, of which it adds up what has come without a gap; lanes of a column are added up
//# by shuffles. As in rows_carrier.cu, what stands above the group comes as a message from the warp
//# that has the group above, and a warp sends it on before it tells the steps.
//% own F K N Q R a above above_mask all all_of answer before bits c carriers carries carry clear
//% own d done first from_left g groups groups_of has has_all joined known lane lead left look
//% own many message n next next_all over p part part_bits part_of part_words publish q r reduce
//% own rest run sent shared steps stride sums super take taken there tile tiles to total_run turn
//% own turns warp whole word
        constexpr int F = ${fan}, Q = part_words < 8 ? 8 / part_words : 1;
        part *const all_of = (part *)shared, *const groups_of = all_of + N * K;
        __shared__ volatile int message[N]; // the group a message is for, from 1 on; 0: none
        if (threadIdx.x < N)
            message[threadIdx.x] = 0;
        __syncthreads();
        const int turns = N / (int)a.chunk, turn = warp % turns;
        const int to = warp - turn + (turn + 1) % turns;
        const ${index} tile = (taken + carriers) * (${index})a.chunk + warp / turns;
        const ${index} groups = tile < tiles ? (steps + R * Q - 1) / (R * Q) : 0;
        // Words of a column: from step to step, and of lanes above this one in a group.
        const ${index} stride = tiles * (K * part_words);
        const unsigned int above_mask = r == 0 ? 0u : (1u << r * K % 32) - 1u;
        for (${index} n = turn; n < groups; n += turns) {
            const ${index} first = (n * R + r) * Q, rest = steps - first;
            const int many = rest <= 0 ? 0 : rest < Q ? (int)rest : Q, g = (int)(n % F);
            const ${index} word = first * stride + (tile * K + c) * part_words;
            const bool super = n >= F;
            part run[Q], above, all, before;
            // Of the lane's steps: how many have come without a gap, and how many have been told.
            int lead = 0, done = 0;
            bool known = n == 0, sent = n + 1 == groups;
            unsigned int joined = 0; // lanes whose steps had all come when lanes were added up
            do {
                part_bits bits[Q];
                bool there[Q];
                // All looks are on their way together: none hangs on a condition. One at a step behind
                // the last is at the last.
                if (lead < many) {
                    #pragma unroll
                    for (int q = 0; q < Q; q++)
                        there[q] = look(sums + word + (q < many ? q : many - 1) * stride, bits[q], 1);
                }
                #pragma unroll
                for (int q = 0; q < Q; q++) {
                    if (q == lead && q < many && there[q]) {
                        const part p = part_of(bits[q]);
                        run[q] = q > 0 ? reduce(run[q > 0 ? q - 1 : 0], p) : p;
                        clear(sums + word + q * stride);
                        lead++;
                    }
                }
                const unsigned int whole = __ballot_sync(0xffffffffu, lead == many);
                const bool over = (~whole & above_mask) == 0; // all above this lane's
                if (R > 1 && whole != joined) {
                    part total_run = run[Q - 1];
                    #pragma unroll
                    for (int d = 1; d < R; d *= 2) {
                        const part left = from_left<32>(total_run, d * K);
                        if (r >= d && over && lead == Q)
                            total_run = reduce(left, total_run);
                    }
                    above = from_left<32>(total_run, K % 32);
                    joined = whole;
                }
                if (!known && __shfl_sync(0xffffffffu, message[warp], 0) == n + 1) {
                    __threadfence_block();
                    all = all_of[warp * K + c];
                    before = groups_of[warp * K + c];
                    known = true;
                    __syncwarp();
                    if (lane == 0)
                        message[warp] = 0;
                    __syncwarp();
                }
                if (known && !sent && whole == 0xffffffffu) {
                    part next = before, next_all = all;
                    bool has = g > 0, has_all = super;
                    take(has, next, r > 0 ? reduce(above, run[Q - 1]) : run[Q - 1]);
                    if (g == F - 1)
                        take(has_all, next_all, next);
                    while (__shfl_sync(0xffffffffu, message[to], 0) != 0) {
                    }
                    if (r == R - 1) {
                        all_of[to * K + c] = next_all;
                        groups_of[to * K + c] = next;
                    }
                    __threadfence_block();
                    __syncwarp();
                    if (lane == 0)
                        message[to] = (int)n + 2;
                    sent = true;
                }
                if (known && over && done < lead) {
                    part carry = all;
                    bool has = super;
                    if (g > 0)
                        take(has, carry, before);
                    if (r > 0)
                        take(has, carry, above);
                    #pragma unroll
                    for (int q = 0; q < Q; q++) {
                        if (q < done || q >= lead || (q == 0 && !has))
                            continue;
                        unsigned long long *const answer = carries + word + q * stride;
                        if (q == 0)
                            publish(answer, carry, 1);
                        else
                            publish(answer, has ? reduce(carry, run[q > 0 ? q - 1 : 0]) : run[q > 0 ? q - 1 : 0], 1);
                    }
                    done = lead;
                }
            } while (!__all_sync(0xffffffffu, done == many));
        }
