//# Any accumulator from another lane of `width`, word by word: from `d` lanes to the left, or from
//# lane number `d`.
//% own b bits_of d from_lane from_left k p part part_bits part_of part_words
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
