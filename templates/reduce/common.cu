//# What reductions along rows and down columns share on CUDA; other kernels use the shuffle.
//% own P a along_ arrive at_ exchange flip j k l n p past_ q quot_ rest_j tickets w words

//% part coordinates
//# at_*: where element, or access, number j lies along the reduced axes.
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            const ${index} at_${reduce_first} = rest_j;

//% part locate
//# From the number j of an access along the reduced axes: along_*, the offset in each input, and
//# past_*, what is added to each of the numbers.
//% insert :coordinates
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
