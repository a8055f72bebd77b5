//# How blocks tell each other sums: every 4 bytes of a sum travel with a mark in one 8-byte word,
//# which is written and read whole. So a word that bears the mark is the value, and no fence is
//# needed. The launcher zeroes the words; a mark is not 0.
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
