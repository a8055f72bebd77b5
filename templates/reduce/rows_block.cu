//# A block's parts into one: lanes, then warps. When split, that is the block's part of an output, and in the
//# last block to arrive a second round makes one of all blocks' parts, in their fixed order. The loops are
//# not unrolled: each takes a few steps at a block's end, and copies of `reduce` are what compiling takes.
//% own L N a acc arrive bytes d empty exchange finish from k l last merge n output part round
//% own some split warps whole
    part whole = acc[0][0];
    #pragma unroll
    for (int l = 1; l < L; l++)
        whole = merge(whole, acc[0][l]);
    __shared__ alignas(16) unsigned char bytes[(${block} / 32) * sizeof(part)];
    part *const warps = (part *)bytes;
//% if split
    __shared__ bool last;
    #pragma unroll 1
    for (int round = 0;; round++) {
//% end
        #pragma unroll 1
        for (int d = 1; d < ${block}; d *= 2) {
            if (d == 32) {
                if (threadIdx.x % 32 == 0)
                    warps[threadIdx.x / 32] = whole;
                __syncthreads();
                whole = warps[threadIdx.x % (${block} / 32)];
            }
            whole = merge(whole, exchange(whole, d < 32 ? d : d / 32));
        }
//% if split
        if (round > 0)
            break;
        const part *const from = a.parts + output * (${index})a.splits;
        if (threadIdx.x == 0) {
            a.parts[output * (${index})a.splits + split] = whole;
            last = arrive(a.tickets + output) == (int)a.splits - 1;
        }
        __syncthreads();
        if (!last)
            return;
        // As many as a thread has room for are on their way at once: the device waits for this block.
        constexpr int N = __is_class(part) ? 4 : 64 / sizeof(part) < 16 ? 64 / sizeof(part) : 16;
        whole = empty();
        #pragma unroll 1
        for (${index} k = threadIdx.x; k < (${index})a.splits; k += N * ${block}) {
            part some[N];
            #pragma unroll
            for (int n = 0; n < N; n++)
                some[n] = k + n * ${block} < (${index})a.splits ? from[k + n * ${block}] : empty();
            #pragma unroll
            for (int n = 0; n < N; n++)
                whole = merge(whole, some[n]);
        }
        if (threadIdx.x == 0)
            a.tickets[output] = 0;
    }
//% end
    if (threadIdx.x == 0)
        finish(output, whole);
