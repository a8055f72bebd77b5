//# A block's parts into one: lanes, then warps. When split, that is the block's part of an output, and in the
//# last block to arrive a second round makes one of all blocks' parts, in their fixed order. The loops are
//# not unrolled: each takes a few steps at a block's end, and copies of `reduce` are what compiling takes.
    kiln__part kiln__whole = kiln__acc[0][0];
    #pragma unroll
    for (int kiln__l = 1; kiln__l < kiln__L; kiln__l++)
        kiln__whole = kiln__merge(kiln__whole, kiln__acc[0][kiln__l]);
    __shared__ alignas(16) unsigned char kiln__bytes[(${block} / 32) * sizeof(kiln__part)];
    kiln__part *const kiln__warps = (kiln__part *)kiln__bytes;
//% if split
    __shared__ bool kiln__last;
    #pragma unroll 1
    for (int kiln__round = 0;; kiln__round++) {
//% end
        #pragma unroll 1
        for (int kiln__d = 1; kiln__d < ${block}; kiln__d *= 2) {
            if (kiln__d == 32) {
                if (threadIdx.x % 32 == 0)
                    kiln__warps[threadIdx.x / 32] = kiln__whole;
                __syncthreads();
                kiln__whole = kiln__warps[threadIdx.x % (${block} / 32)];
            }
            kiln__whole = kiln__merge(kiln__whole, kiln__exchange(kiln__whole, kiln__d < 32 ? kiln__d : kiln__d / 32));
        }
//% if split
        if (kiln__round > 0)
            break;
        const kiln__part *const kiln__from = kiln__a.parts + kiln__output * (${index})kiln__a.splits;
        if (threadIdx.x == 0) {
            kiln__a.parts[kiln__output * (${index})kiln__a.splits + kiln__split] = kiln__whole;
            kiln__last = kiln__arrive(kiln__a.tickets + kiln__output) == (int)kiln__a.splits - 1;
        }
        __syncthreads();
        if (!kiln__last)
            return;
        // As many as a thread has room for are on their way at once: the device waits for this block.
        constexpr int kiln__N = __is_class(kiln__part) ? 4 : 64 / sizeof(kiln__part) < 16 ? 64 / sizeof(kiln__part) : 16;
        kiln__whole = kiln__empty();
        #pragma unroll 1
        for (${index} kiln__k = threadIdx.x; kiln__k < (${index})kiln__a.splits; kiln__k += kiln__N * ${block}) {
            kiln__part kiln__some[kiln__N];
            #pragma unroll
            for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
                kiln__some[kiln__n] = kiln__k + kiln__n * ${block} < (${index})kiln__a.splits ? kiln__from[kiln__k + kiln__n * ${block}] : kiln__empty();
            #pragma unroll
            for (int kiln__n = 0; kiln__n < kiln__N; kiln__n++)
                kiln__whole = kiln__merge(kiln__whole, kiln__some[kiln__n]);
        }
        if (threadIdx.x == 0)
            kiln__a.tickets[kiln__output] = 0;
    }
//% end
    if (threadIdx.x == 0)
        kiln__finish(kiln__output, kiln__whole);
