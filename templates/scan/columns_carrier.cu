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
        constexpr int kiln__F = ${fan}, kiln__Q = kiln__part_words < 8 ? 8 / kiln__part_words : 1;
        kiln__part *const kiln__all_of = (kiln__part *)kiln__shared, *const kiln__groups_of = kiln__all_of + kiln__N * kiln__K;
        __shared__ volatile int kiln__message[kiln__N]; // the group a message is for, from 1 on; 0: none
        if (threadIdx.x < kiln__N)
            kiln__message[threadIdx.x] = 0;
        __syncthreads();
        const int kiln__turns = kiln__N / (int)kiln__a.chunk, kiln__turn = kiln__warp % kiln__turns;
        const int kiln__to = kiln__warp - kiln__turn + (kiln__turn + 1) % kiln__turns;
        const ${index} kiln__tile = (kiln__taken + kiln__carriers) * (${index})kiln__a.chunk + kiln__warp / kiln__turns;
        const ${index} kiln__groups = kiln__tile < kiln__tiles ? (kiln__steps + kiln__R * kiln__Q - 1) / (kiln__R * kiln__Q) : 0;
        // Words of a column: from step to step, and of lanes above this one in a group.
        const ${index} kiln__stride = kiln__tiles * (kiln__K * kiln__part_words);
        const unsigned int kiln__above_mask = kiln__r == 0 ? 0u : (1u << kiln__r * kiln__K % 32) - 1u;
        for (${index} kiln__n = kiln__turn; kiln__n < kiln__groups; kiln__n += kiln__turns) {
            const ${index} kiln__first = (kiln__n * kiln__R + kiln__r) * kiln__Q, kiln__rest = kiln__steps - kiln__first;
            const int kiln__many = kiln__rest <= 0 ? 0 : kiln__rest < kiln__Q ? (int)kiln__rest : kiln__Q, kiln__g = (int)(kiln__n % kiln__F);
            const ${index} kiln__word = kiln__first * kiln__stride + (kiln__tile * kiln__K + kiln__c) * kiln__part_words;
            const bool kiln__super = kiln__n >= kiln__F;
            kiln__part kiln__run[kiln__Q], kiln__above, kiln__all, kiln__before;
            // Of the lane's steps: how many have come without a gap, and how many have been told.
            int kiln__lead = 0, kiln__done = 0;
            bool kiln__known = kiln__n == 0, kiln__sent = kiln__n + 1 == kiln__groups;
            unsigned int kiln__joined = 0; // lanes whose steps had all come when lanes were added up
            do {
                kiln__part_bits kiln__bits[kiln__Q];
                bool kiln__there[kiln__Q];
                // All looks are on their way together: none hangs on a condition. One at a step behind
                // the last is at the last.
                if (kiln__lead < kiln__many) {
                    #pragma unroll
                    for (int kiln__q = 0; kiln__q < kiln__Q; kiln__q++)
                        kiln__there[kiln__q] = kiln__look(kiln__sums + kiln__word + (kiln__q < kiln__many ? kiln__q : kiln__many - 1) * kiln__stride, kiln__bits[kiln__q], 1);
                }
                #pragma unroll
                for (int kiln__q = 0; kiln__q < kiln__Q; kiln__q++) {
                    if (kiln__q == kiln__lead && kiln__q < kiln__many && kiln__there[kiln__q]) {
                        const kiln__part kiln__p = kiln__part_of(kiln__bits[kiln__q]);
                        kiln__run[kiln__q] = kiln__q > 0 ? kiln__reduce(kiln__run[kiln__q > 0 ? kiln__q - 1 : 0], kiln__p) : kiln__p;
                        kiln__clear(kiln__sums + kiln__word + kiln__q * kiln__stride);
                        kiln__lead++;
                    }
                }
                const unsigned int kiln__whole = __ballot_sync(0xffffffffu, kiln__lead == kiln__many);
                const bool kiln__over = (~kiln__whole & kiln__above_mask) == 0; // all above this lane's
                if (kiln__R > 1 && kiln__whole != kiln__joined) {
                    kiln__part kiln__total_run = kiln__run[kiln__Q - 1];
                    #pragma unroll
                    for (int kiln__d = 1; kiln__d < kiln__R; kiln__d *= 2) {
                        const kiln__part kiln__left = kiln__from_left<32>(kiln__total_run, kiln__d * kiln__K);
                        if (kiln__r >= kiln__d && kiln__over && kiln__lead == kiln__Q)
                            kiln__total_run = kiln__reduce(kiln__left, kiln__total_run);
                    }
                    kiln__above = kiln__from_left<32>(kiln__total_run, kiln__K % 32);
                    kiln__joined = kiln__whole;
                }
                if (!kiln__known && __shfl_sync(0xffffffffu, kiln__message[kiln__warp], 0) == kiln__n + 1) {
                    __threadfence_block();
                    kiln__all = kiln__all_of[kiln__warp * kiln__K + kiln__c];
                    kiln__before = kiln__groups_of[kiln__warp * kiln__K + kiln__c];
                    kiln__known = true;
                    __syncwarp();
                    if (kiln__lane == 0)
                        kiln__message[kiln__warp] = 0;
                    __syncwarp();
                }
                if (kiln__known && !kiln__sent && kiln__whole == 0xffffffffu) {
                    kiln__part kiln__next = kiln__before, kiln__next_all = kiln__all;
                    bool kiln__has = kiln__g > 0, kiln__has_all = kiln__super;
                    kiln__take(kiln__has, kiln__next, kiln__r > 0 ? kiln__reduce(kiln__above, kiln__run[kiln__Q - 1]) : kiln__run[kiln__Q - 1]);
                    if (kiln__g == kiln__F - 1)
                        kiln__take(kiln__has_all, kiln__next_all, kiln__next);
                    while (__shfl_sync(0xffffffffu, kiln__message[kiln__to], 0) != 0) {
                    }
                    if (kiln__r == kiln__R - 1) {
                        kiln__all_of[kiln__to * kiln__K + kiln__c] = kiln__next_all;
                        kiln__groups_of[kiln__to * kiln__K + kiln__c] = kiln__next;
                    }
                    __threadfence_block();
                    __syncwarp();
                    if (kiln__lane == 0)
                        kiln__message[kiln__to] = (int)kiln__n + 2;
                    kiln__sent = true;
                }
                if (kiln__known && kiln__over && kiln__done < kiln__lead) {
                    kiln__part kiln__carry = kiln__all;
                    bool kiln__has = kiln__super;
                    if (kiln__g > 0)
                        kiln__take(kiln__has, kiln__carry, kiln__before);
                    if (kiln__r > 0)
                        kiln__take(kiln__has, kiln__carry, kiln__above);
                    #pragma unroll
                    for (int kiln__q = 0; kiln__q < kiln__Q; kiln__q++) {
                        if (kiln__q < kiln__done || kiln__q >= kiln__lead || (kiln__q == 0 && !kiln__has))
                            continue;
                        unsigned long long *const kiln__answer = kiln__carries + kiln__word + kiln__q * kiln__stride;
                        if (kiln__q == 0)
                            kiln__publish(kiln__answer, kiln__carry, 1);
                        else
                            kiln__publish(kiln__answer, kiln__has ? kiln__reduce(kiln__carry, kiln__run[kiln__q > 0 ? kiln__q - 1 : 0]) : kiln__run[kiln__q > 0 ? kiln__q - 1 : 0], 1);
                    }
                    kiln__done = kiln__lead;
                }
            } while (!__all_sync(0xffffffffu, kiln__done == kiln__many));
        }
