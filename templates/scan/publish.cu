//# How blocks tell each other sums: every 4 bytes of a sum travel with a mark in one 8-byte word,
//# which is written and read whole. So a word that bears the mark is the value, and no fence is
//# needed. Words are zero when a kernel begins; a mark is not 0.
KILN_FN void kiln__publish(unsigned long long *kiln__to, const kiln__part &kiln__p, const unsigned int kiln__mark)
{
    const kiln__part_bits kiln__b = kiln__bits_of(kiln__p);
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__part_words; kiln__k++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(kiln__to + kiln__k), "l"((unsigned long long)kiln__mark << 32 | kiln__b.word[kiln__k]) : "memory");
}
// What is told at kiln__from, if it has been told yet.
KILN_FN bool kiln__look(const unsigned long long *kiln__from, kiln__part_bits &kiln__b, const unsigned int kiln__mark)
{
    bool kiln__there = true;
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__part_words; kiln__k++) {
        unsigned long long kiln__w;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(kiln__w) : "l"(kiln__from + kiln__k) : "memory");
        kiln__there = kiln__there && (unsigned int)(kiln__w >> 32) == kiln__mark;
        kiln__b.word[kiln__k] = (unsigned int)kiln__w;
    }
    return kiln__there;
}
KILN_FN kiln__part kiln__await(const unsigned long long *kiln__from, const unsigned int kiln__mark)
{
    kiln__part_bits kiln__b;
    while (!kiln__look(kiln__from, kiln__b, kiln__mark)) {
    }
    return kiln__part_of(kiln__b);
}
// Zeroes, where all who had to look have looked.
KILN_FN void kiln__clear(unsigned long long *kiln__at)
{
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__part_words; kiln__k++)
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(kiln__at + kiln__k), "l"(0ull) : "memory");
}
// The next ticket. The number is waited for where it is used: compilers gather additions of 1 over a
// warp, and then wait at once, but not this one, whose bound is never met.
KILN_FN int kiln__ask(int *kiln__tickets)
{
    int kiln__n;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff;" : "=r"(kiln__n) : "l"(kiln__tickets) : "memory");
    return kiln__n;
}
