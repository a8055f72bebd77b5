//# A tile's rows of threads into one, by halving; the order depends on nothing but the block's shape. When
//# split, that is the block's part of its tile. Blocks combine in two steps where they are many: the last of
//# `together` neighbours makes one of theirs, and the last to do so one of those. Each step is a turn of the same
//# loop; few copies of `reduce` make it quick to compile.
    constexpr int kiln__K = kiln__together(kiln__V, sizeof(kiln__part)), kiln__W = kiln__X * kiln__K;
    __shared__ alignas(16) unsigned char kiln__bytes[kiln__R * kiln__W * sizeof(kiln__part)];
    kiln__part *const kiln__parts = (kiln__part *)kiln__bytes;
    const ${index} kiln__first = (kiln__outer * kiln__columns + kiln__corner) * kiln__V;
//% if split
    constexpr int kiln__F = 32;
    __shared__ bool kiln__last;
    const ${index} kiln__splits = (${index})kiln__a.splits;
    const ${index} kiln__teams = kiln__splits > 4 * kiln__R ? (kiln__splits + kiln__F - 1) / kiln__F : 0;
    // The parts to combine next: rows kiln__from to kiln__to by kiln__step, counted by kiln__ticket.
    ${index} kiln__mine = kiln__split, kiln__step = 1, kiln__from = 0, kiln__to = kiln__splits;
    int *kiln__ticket = kiln__a.tickets + kiln__tile * (1 + kiln__teams);
    if (kiln__teams > 0) {
        kiln__from = kiln__split / kiln__F * kiln__F;
        kiln__to = kiln__from + kiln__F < kiln__splits ? kiln__from + kiln__F : kiln__splits;
        kiln__ticket += 1 + kiln__split / kiln__F;
    }
    bool kiln__whole = false;
    #pragma unroll 1
    for (;;) {
//% end
        #pragma unroll 1
        for (int kiln__c = 0; kiln__c < kiln__V; kiln__c += kiln__K) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                if (kiln__v / kiln__K * kiln__K == kiln__c)
                    kiln__parts[(kiln__ty * kiln__X + kiln__tx) * kiln__K + kiln__v % kiln__K] = kiln__acc[kiln__v];
            __syncthreads();
            #pragma unroll 1
            for (int kiln__h = kiln__R / 2; kiln__h > 0; kiln__h /= 2) {
                #pragma unroll 1
                for (int kiln__k = threadIdx.x; kiln__k < kiln__h * kiln__W; kiln__k += ${block})
                    kiln__parts[kiln__k] = kiln__merge(kiln__parts[kiln__k], kiln__parts[kiln__k + kiln__h * kiln__W]);
                __syncthreads();
            }
            #pragma unroll 1
            for (int kiln__k = threadIdx.x; kiln__k < kiln__W; kiln__k += ${block}) {
                const ${index} kiln__out = kiln__first + kiln__k / kiln__K * kiln__V + kiln__c + kiln__k % kiln__K;
                if (kiln__corner + kiln__k / kiln__K >= kiln__columns)
                    break;
//% if split
                if (!kiln__whole)
                    kiln__a.parts[kiln__mine * (${index})kiln__a.outputs + kiln__out] = kiln__parts[kiln__k];
                else
//% end
                kiln__finish(kiln__out, kiln__parts[kiln__k]);
            }
            __syncthreads();
        }
//% if split
        if (kiln__whole)
            break;
        if (threadIdx.x == 0)
            kiln__last = kiln__arrive(kiln__ticket) == (int)((kiln__to - kiln__from + kiln__step - 1) / kiln__step) - 1;
        __syncthreads();
        if (!kiln__last)
            return;
        if (threadIdx.x == 0)
            *kiln__ticket = 0;
        constexpr int kiln__N = kiln__V * sizeof(kiln__part) <= 16 ? 4 : 1;
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
            kiln__acc[kiln__v] = kiln__empty();
        #pragma unroll 1
        for (${index} kiln__k = kiln__from + kiln__ty * kiln__step; kiln__inside && kiln__k < kiln__to; kiln__k += kiln__N * kiln__R * kiln__step) {
            kiln__part kiln__some[kiln__N][kiln__V];
            #pragma unroll
            for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++) {
                const ${index} kiln__row = kiln__k + kiln__n * kiln__R * kiln__step;
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__some[kiln__n][kiln__v] = kiln__row < kiln__to ? kiln__a.parts[kiln__row * (${index})kiln__a.outputs + kiln__first + kiln__tx * kiln__V + kiln__v] : kiln__empty();
            }
            #pragma unroll
            for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                    kiln__acc[kiln__v] = kiln__merge(kiln__acc[kiln__v], kiln__some[kiln__n][kiln__v]);
            }
        }
        kiln__whole = kiln__teams == 0 || kiln__step > 1;
        kiln__mine = kiln__from;
        kiln__from = 0;
        kiln__to = kiln__splits;
        kiln__step = kiln__F;
        kiln__ticket = kiln__a.tickets + kiln__tile * (1 + kiln__teams);
    }
//% end
