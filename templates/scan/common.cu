//# What scans along rows and down columns share on CUDA.
//% own a along_ ask at at_ await b bits_of clear d from from_lane from_left j k look mark n p
//% own part part_bits part_of part_words publish quot_ rest_j there tickets to w

//% part locate
//# along_p(j): bytes from the beginning of a sequence to its access (along rows) or its row (down
//# columns) of number j.
//% for p in walking
    auto along_${p.name} = [&](const ${index} j) -> ${index} {
//% if one_axis
//% if p.vector
        return j * (${index})(${vec} * sizeof(${p.type})); // known to the compiler: offsets fold
//% else
//% if p.back
        return j * -(${index})(${vec} * sizeof(${p.type}));
//% else
        return j * (${index})a.stride_${p.name}_${last};
//% end
//% end
//% else
        ${index} rest_j = j;
//% for a in reduce_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
        const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest_j = quot_${a.n};
//% end
        const ${index} at_${reduce_first} = rest_j;
        return 0
//% for a in reduce_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
    };
//% end

//% part shuffle
//# An accumulator of any type from another lane among `width`, word by word: from `d` lanes to the
//# left, or from lane number `d`.
//% plain width word
static constexpr int part_words = (sizeof(part) + 3) / 4;
struct part_bits {
    unsigned int word[part_words];
};
KILN_FN part_bits bits_of(const part &p)
{
    part_bits b;
    b.word[part_words - 1] = 0;
    memcpy(&b, &p, sizeof(part));
    return b;
}
KILN_FN part part_of(const part_bits &b)
{
    part p;
    memcpy(&p, &b, sizeof(part));
    return p;
}
template <int width> KILN_FN part from_left(const part &p, int d)
{
    part_bits b = bits_of(p);
    #pragma unroll
    for (int k = 0; k < part_words; k++)
        b.word[k] = __shfl_up_sync(0xffffffffu, b.word[k], d, width);
    return part_of(b);
}
template <int width> KILN_FN part from_lane(const part &p, int d)
{
    part_bits b = bits_of(p);
    #pragma unroll
    for (int k = 0; k < part_words; k++)
        b.word[k] = __shfl_sync(0xffffffffu, b.word[k], d, width);
    return part_of(b);
}

//% part publish
//# How blocks exchange sums: every 4 bytes of a sum are stored together with a mark in one word of
//# 8 bytes, which is written and read as a whole. A word that bears the mark therefore holds the
//# value, and no fence is needed. All words are zero when a kernel begins, and no mark is 0.
KILN_FN void publish(unsigned long long *to, const part &p, const unsigned int mark)
{
    const part_bits b = bits_of(p);
    #pragma unroll
    for (int k = 0; k < part_words; k++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to + k), "l"((unsigned long long)mark << 32 | b.word[k]) : "memory");
}
// What is told at kiln__from, if it has been told yet.
KILN_FN bool look(const unsigned long long *from, part_bits &b, const unsigned int mark)
{
    bool there = true;
    #pragma unroll
    for (int k = 0; k < part_words; k++) {
        unsigned long long w;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(w) : "l"(from + k) : "memory");
        there = there && (unsigned int)(w >> 32) == mark;
        b.word[k] = (unsigned int)w;
    }
    return there;
}
KILN_FN part await(const unsigned long long *from, const unsigned int mark)
{
    part_bits b;
    while (!look(from, b, mark)) {
    }
    return part_of(b);
}
// Zeroes, where all who had to look have looked.
KILN_FN void clear(unsigned long long *at)
{
    #pragma unroll
    for (int k = 0; k < part_words; k++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at + k), "l"(0ull) : "memory");
}
//% insert :tickets

//% part tickets
// The next ticket. The number is waited for where it is used: compilers gather additions of 1 over a
// warp, and then wait at once, but not this one, whose bound is never met.
KILN_FN int ask(int *tickets)
{
    int n;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff;" : "=r"(n) : "l"(tickets) : "memory");
    return n;
}
