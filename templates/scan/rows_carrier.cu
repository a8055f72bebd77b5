//# rows_carrier.cu - the carrier: the block that came first has no tiles; it tells every tile what
//# stands before it. The order of combination hangs on tiles' numbers alone, whoever comes first:
//#
//#     before = (all tiles of the ${fan} * ${fan} blocks before . groups before) . tiles before
//#
//# where ${fan} tiles are a group. Warps take groups in turn. A lane has the sum of a tile; running sums
//# of the tiles before go through shuffles, as many as are there without a gap. What stands before the
//# group comes as a message from the warp that has the group before, and a warp sends it on before it
//# tells the tiles: that chain alone limits how many tiles a second there can be.
//% own F G N a all all_bytes all_of before bits carries carry clear d done first from_lane
//% own from_left g group group_count groups groups_bytes groups_of has has_all inside known lane
//% own lead left look many message missing n next next_all now part part_bits part_of part_words
//% own publish reduce rest run sequence sum sums super take there ticket tiles to warp
        constexpr int F = ${fan}, N = G / 32;
        __shared__ alignas(16) unsigned char all_bytes[N * sizeof(part)], groups_bytes[N * sizeof(part)];
        __shared__ volatile int message[N]; // the group a message is for, from 1 on; 0: none
        part *const all_of = (part *)all_bytes, *const groups_of = (part *)groups_bytes;
        if (threadIdx.x < N)
            message[threadIdx.x] = 0;
        __syncthreads();
        const ${index} groups = (tiles + F - 1) / F, group_count = groups * (${index})a.outputs;
        for (${index} n = warp; n < group_count; n += N) {
            const ${index} sequence = n / groups, group = n - sequence * groups;
            const ${index} first = group * F, rest = tiles - first;
            const int many = rest < F ? (int)rest : F, g = group % F;
            const bool inside = lane < many, super = group >= F;
            const ${index} ticket = sequence * tiles + first + lane;
            part all, before, run;
            part_bits bits;
            bool there = !inside, known = group == 0;
            // Running sums of the tiles of which all before are there: kiln__lead of the group.
            int lead = 0, done = 0;
            do {
                if (!there) {
                    there = look(sums + ticket * part_words, bits, 1);
                    if (there)
                        clear(sums + ticket * part_words);
                }
                __syncwarp();
                const unsigned int missing = ~__ballot_sync(0xffffffffu, there);
                const int now = missing == 0 ? many : __ffs(missing) - 1;
                if (now > lead && (known || now == many)) {
                    lead = now;
                    if (lane < lead)
                        run = part_of(bits);
                    #pragma unroll
                    for (int d = 1; d < 32; d *= 2) {
                        const part left = from_left<32>(run, d);
                        if (lane >= d && lane < lead)
                            run = reduce(left, run);
                    }
                }
                if (!known && __shfl_sync(0xffffffffu, message[warp], 0) == n + 1) {
                    __threadfence_block();
                    all = all_of[warp];
                    before = groups_of[warp];
                    known = true;
                    __syncwarp();
                    if (lane == 0)
                        message[warp] = 0;
                }
                if (!known || lead == done)
                    continue;
                if (lead == many && group + 1 < groups) {
                    const part sum = from_lane<32>(run, 31);
                    const int to = (warp + 1) % N;
                    if (lane == 0) {
                        part next = before, next_all = all;
                        bool has = g > 0, has_all = super;
                        take(has, next, sum);
                        if (g == F - 1)
                            take(has_all, next_all, next);
                        while (message[to] != 0) {
                        }
                        all_of[to] = next_all;
                        groups_of[to] = next;
                        __threadfence_block();
                        message[to] = n + 1 + 1;
                    }
                    __syncwarp();
                }
                const part left = from_left<32>(run, 1);
                if (lane >= done && lane < lead) {
                    part carry = all;
                    bool has = super;
                    if (g > 0)
                        take(has, carry, before);
                    if (lane > 0)
                        take(has, carry, left);
                    if (has)
                        publish(carries + ticket * part_words, carry, 1);
                }
                done = lead;
            } while (done < many);
        }
