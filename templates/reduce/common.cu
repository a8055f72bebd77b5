//# What reductions along rows and down columns share on CUDA; other kernels use the shuffle.
//% own N P T W a along_ apart arrive at_ b bytes chunk copy_rows exchange flip from from_pad j k l n p pad
//% own past_ q quot_ rest_j size threads tickets to to_pad w whole words
//% plain kiln__word type

//% part coordinates
//# at_*: where element, or access, number j lies along the reduced axes.
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            [[maybe_unused]] const ${index} at_${reduce_first} = rest_j;

//% part locate
//# From the number j of an access along the reduced axes: along_*, the offset in each input, and
//# past_*, what is added to each of the numbers.
//% insert :coordinates
//% for p in inputs
//% if p.contiguous
            [[maybe_unused]] const ${index} along_${p.name} = j * (${index})(${vec} * sizeof(${p.type}));
//% else
            [[maybe_unused]] const ${index} along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% end
//% for x in numbers
            [[maybe_unused]] const long long past_${x.name} = 0
//% for a in reduce_axes
                + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
                ;
//% end

//% part long
//# Whether the snippets are too long to be instantiated for every access in flight: that would take
//# longer to compile than the kernel runs.
//% plain kiln__long
    constexpr bool kiln__long = false
//% if in_index
        || true
//% end
//% if out_index
        || true
//% end
//% if in_number
        || true
//% end
//% if !identity
        || true
//% end
//% for p in inputs
//% if p.direct
        || true
//% end
//% end
        ;

//% part copy_rows
//# A block copies `bytes` of rows of `size` bytes that lie one behind the other to or from shared memory,
//# where they may lie `pad` bytes further apart: by accesses of W bytes, and by elements at the end.
template <class T, int W, int threads>
KILN_FN void copy_rows(unsigned char *to, const int to_pad, const unsigned char *from, const int from_pad, const int size, const int bytes)
{
    typedef typename kiln__word<W>::type chunk;
    constexpr int N = threads > 128 ? 4 : 8; // as many as keep memory busy between all blocks
    const int whole = bytes / W * W;
    auto apart = [&](const int b, const int pad) { return b + (pad > 0 ? b / size * pad : 0); };
    int b = threadIdx.x * W;
    // Rows that are no further apart are one piece of memory: all accesses of a step but the last lie within.
    #pragma unroll 1
    for (; to_pad + from_pad == 0 && b + (N - 1) * threads * W < whole; b += N * threads * W) {
        chunk words[N];
        #pragma unroll
        for (int n = 0; n < N; n++)
            words[n] = *(const chunk *)(from + b + n * threads * W);
        #pragma unroll
        for (int n = 0; n < N; n++)
            *(chunk *)(to + b + n * threads * W) = words[n];
    }
    #pragma unroll 1
    for (; b < whole; b += N * threads * W) {
        chunk words[N];
        #pragma unroll
        for (int n = 0; n < N; n++)
            if (b + n * threads * W < whole)
                words[n] = *(const chunk *)(from + apart(b + n * threads * W, from_pad));
        #pragma unroll
        for (int n = 0; n < N; n++)
            if (b + n * threads * W < whole)
                *(chunk *)(to + apart(b + n * threads * W, to_pad)) = words[n];
    }
    for (b = whole + threadIdx.x * (int)sizeof(T); b < bytes; b += threads * (int)sizeof(T))
        *(T *)(to + apart(b, to_pad)) = *(const T *)(from + apart(b, from_pad));
}

//% part shuffle
//# A value of any type from another lane, word by word: from the lane whose number differs in the
//# bits `l`, or, if not `flip`, from lane number `l`.
template <bool flip = true, class P> KILN_FN P exchange(const P &p, int l)
{
    constexpr int words = (sizeof(P) + 3) / 4;
    unsigned int w[words];
    P q;
    w[words - 1] = 0;
    memcpy(w, &p, sizeof(P));
    #pragma unroll
    for (int k = 0; k < words; k++)
        w[k] = flip ? __shfl_xor_sync(0xffffffffu, w[k], l) : __shfl_sync(0xffffffffu, w[k], l);
    memcpy(&q, w, sizeof(P));
    return q;
}

//% part ticket
//# How the blocks that share a result find out which of them arrives last: each block writes its
//# part and passes a barrier, then one of its threads counts the block. The last block sees
//# everything that was written before each of the counts.
KILN_FN int arrive(int *tickets)
{
    int n;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(n) : "l"(tickets) : "memory");
    return n;
}
