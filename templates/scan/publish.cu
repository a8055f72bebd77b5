//# How blocks tell each other sums: every 4 bytes of a sum travel with a mark in one 8-byte word,
//# which is written and read whole. So a word that bears the mark is the value, and no fence is
//# needed. Words are zero when a kernel begins; a mark is not 0.
//% own ask at await b bits_of clear from k look mark n p part part_bits part_of part_words
//% own publish there tickets to w
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
// The next ticket. The number is waited for where it is used: compilers gather additions of 1 over a
// warp, and then wait at once, but not this one, whose bound is never met.
KILN_FN int ask(int *tickets)
{
    int n;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff;" : "=r"(n) : "l"(tickets) : "memory");
    return n;
}
