//# rows_carrier.cu - the carrier: the block that came first has no tiles; it tells every tile what
//# stands before it. The order of combination hangs on tiles' numbers alone, whoever comes first:
//#
//#     before = (all tiles of the ${fan} * ${fan} blocks before . groups before) . tiles before
//#
//# where ${fan} tiles are a group. Warps take groups in turn. A lane has the sum of a tile; running sums
//# of the tiles before go through shuffles, as many as are there without a gap. What stands before the
//# group comes as a message from the warp that has the group before, and a warp sends it on before it
//# tells the tiles: that chain alone limits how many tiles a second there can be.
        constexpr int kiln__F = ${fan}, kiln__N = kiln__G / 32;
        __shared__ alignas(16) unsigned char kiln__all_bytes[kiln__N * sizeof(kiln__part)], kiln__groups_bytes[kiln__N * sizeof(kiln__part)];
        __shared__ volatile int kiln__message[kiln__N]; // the group a message is for, from 1 on; 0: none
        kiln__part *const kiln__all_of = (kiln__part *)kiln__all_bytes, *const kiln__groups_of = (kiln__part *)kiln__groups_bytes;
        if (threadIdx.x < kiln__N)
            kiln__message[threadIdx.x] = 0;
        __syncthreads();
        const ${index} kiln__groups = (kiln__tiles + kiln__F - 1) / kiln__F, kiln__group_count = kiln__groups * (${index})kiln__a.outputs;
        for (${index} kiln__n = kiln__warp; kiln__n < kiln__group_count; kiln__n += kiln__N) {
            const ${index} kiln__sequence = kiln__n / kiln__groups, kiln__group = kiln__n - kiln__sequence * kiln__groups;
            const ${index} kiln__first = kiln__group * kiln__F, kiln__rest = kiln__tiles - kiln__first;
            const int kiln__many = kiln__rest < kiln__F ? (int)kiln__rest : kiln__F, kiln__g = kiln__group % kiln__F;
            const bool kiln__inside = kiln__lane < kiln__many, kiln__super = kiln__group >= kiln__F;
            const ${index} kiln__ticket = kiln__sequence * kiln__tiles + kiln__first + kiln__lane;
            kiln__part kiln__all, kiln__before, kiln__run;
            kiln__part_bits kiln__bits;
            bool kiln__there = !kiln__inside, kiln__known = kiln__group == 0;
            // Running sums of the tiles of which all before are there: kiln__lead of the group.
            int kiln__lead = 0, kiln__done = 0;
            do {
                if (!kiln__there) {
                    kiln__there = kiln__look(kiln__sums + kiln__ticket * kiln__part_words, kiln__bits, 1);
                    if (kiln__there)
                        kiln__clear(kiln__sums + kiln__ticket * kiln__part_words);
                }
                __syncwarp();
                const unsigned int kiln__missing = ~__ballot_sync(0xffffffffu, kiln__there);
                const int kiln__now = kiln__missing == 0 ? kiln__many : __ffs(kiln__missing) - 1;
                if (kiln__now > kiln__lead && (kiln__known || kiln__now == kiln__many)) {
                    kiln__lead = kiln__now;
                    if (kiln__lane < kiln__lead)
                        kiln__run = kiln__part_of(kiln__bits);
                    #pragma unroll
                    for (int kiln__d = 1; kiln__d < 32; kiln__d *= 2) {
                        const kiln__part kiln__left = kiln__from_left<32>(kiln__run, kiln__d);
                        if (kiln__lane >= kiln__d && kiln__lane < kiln__lead)
                            kiln__run = kiln__reduce(kiln__left, kiln__run);
                    }
                }
                if (!kiln__known && __shfl_sync(0xffffffffu, kiln__message[kiln__warp], 0) == kiln__n + 1) {
                    __threadfence_block();
                    kiln__all = kiln__all_of[kiln__warp];
                    kiln__before = kiln__groups_of[kiln__warp];
                    kiln__known = true;
                    __syncwarp();
                    if (kiln__lane == 0)
                        kiln__message[kiln__warp] = 0;
                }
                if (!kiln__known || kiln__lead == kiln__done)
                    continue;
                if (kiln__lead == kiln__many && kiln__group + 1 < kiln__groups) {
                    const kiln__part kiln__sum = kiln__from_lane<32>(kiln__run, 31);
                    const int kiln__to = (kiln__warp + 1) % kiln__N;
                    if (kiln__lane == 0) {
                        kiln__part kiln__next = kiln__before, kiln__next_all = kiln__all;
                        bool kiln__has = kiln__g > 0, kiln__has_all = kiln__super;
                        kiln__take(kiln__has, kiln__next, kiln__sum);
                        if (kiln__g == kiln__F - 1)
                            kiln__take(kiln__has_all, kiln__next_all, kiln__next);
                        while (kiln__message[kiln__to] != 0) {
                        }
                        kiln__all_of[kiln__to] = kiln__next_all;
                        kiln__groups_of[kiln__to] = kiln__next;
                        __threadfence_block();
                        kiln__message[kiln__to] = kiln__n + 1 + 1;
                    }
                    __syncwarp();
                }
                const kiln__part kiln__left = kiln__from_left<32>(kiln__run, 1);
                if (kiln__lane >= kiln__done && kiln__lane < kiln__lead) {
                    kiln__part kiln__carry = kiln__all;
                    bool kiln__has = kiln__super;
                    if (kiln__g > 0)
                        kiln__take(kiln__has, kiln__carry, kiln__before);
                    if (kiln__lane > 0)
                        kiln__take(kiln__has, kiln__carry, kiln__left);
                    if (kiln__has)
                        kiln__publish(kiln__carries + kiln__ticket * kiln__part_words, kiln__carry, 1);
                }
                kiln__done = kiln__lead;
            } while (kiln__done < kiln__many);
        }
