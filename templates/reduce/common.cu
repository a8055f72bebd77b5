//# What reductions along rows and down columns share on CUDA; other kernels use the shuffle.
//% own P a along_ arrive at_ exchange flip j k l n p past_ q quot_ rest_j tickets w words

//% part locate
//# Take the number j of an access along the reduced axes apart; gives along_*, the offsets
//# that it adds for each input, and past_*, what it adds to each number.
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            const ${index} at_${reduce_first} = rest_j;
//% for p in inputs
            [[maybe_unused]] const ${index} along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for x in numbers
            [[maybe_unused]] const long long past_${x.name} = 0
//% for a in reduce_axes
                + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
                ;
//% end

//% part long
//# Snippets that are not to be repeated for every access in flight: compiling them would take longer than they run.
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

//% part shuffle
//# Any value from another lane, word by word: from the lane whose number differs in the bits `l`, or, when
//# not flipped, from lane number `l`.
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
//# How the blocks that share a result find out which of them is the last: each leaves its part, passes a
//# barrier, and one of its threads counts it. What was written before the count is seen behind the last one.
KILN_FN int arrive(int *tickets)
{
    int n;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(n) : "l"(tickets) : "memory");
    return n;
}
