//# Any value from another lane, word by word: from the lane whose number differs in the bits `l`, or, when
//# not flipped, from lane number `l`.
//% own P exchange flip k l p q w words
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
