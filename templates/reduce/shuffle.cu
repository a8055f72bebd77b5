//# Any value from another lane, word by word: from the lane whose number differs in the bits `kiln__l`, or, when
//# not flipped, from lane number `kiln__l`.
template <bool kiln__flip = true, class kiln__P> KILN_FN kiln__P kiln__exchange(const kiln__P &kiln__p, int kiln__l)
{
    constexpr int kiln__words = (sizeof(kiln__P) + 3) / 4;
    unsigned int kiln__w[kiln__words];
    kiln__P kiln__q;
    kiln__w[kiln__words - 1] = 0;
    memcpy(kiln__w, &kiln__p, sizeof(kiln__P));
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__words; kiln__k++)
        kiln__w[kiln__k] = kiln__flip ? __shfl_xor_sync(0xffffffffu, kiln__w[kiln__k], kiln__l) : __shfl_sync(0xffffffffu, kiln__w[kiln__k], kiln__l);
    memcpy(&kiln__q, kiln__w, sizeof(kiln__P));
    return kiln__q;
}
