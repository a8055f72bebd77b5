//# Any accumulator from another lane of `width`, word by word: from `d` lanes to the left, or from
//# lane number `d`.
static constexpr int kiln__part_words = (sizeof(kiln__part) + 3) / 4;
struct kiln__part_bits {
    unsigned int word[kiln__part_words];
};
KILN_FN kiln__part_bits kiln__bits_of(const kiln__part &kiln__p)
{
    kiln__part_bits kiln__b;
    kiln__b.word[kiln__part_words - 1] = 0;
    memcpy(&kiln__b, &kiln__p, sizeof(kiln__part));
    return kiln__b;
}
KILN_FN kiln__part kiln__part_of(const kiln__part_bits &kiln__b)
{
    kiln__part kiln__p;
    memcpy(&kiln__p, &kiln__b, sizeof(kiln__part));
    return kiln__p;
}
template <int width> KILN_FN kiln__part kiln__from_left(const kiln__part &kiln__p, int kiln__d)
{
    kiln__part_bits kiln__b = kiln__bits_of(kiln__p);
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__part_words; kiln__k++)
        kiln__b.word[kiln__k] = __shfl_up_sync(0xffffffffu, kiln__b.word[kiln__k], kiln__d, width);
    return kiln__part_of(kiln__b);
}
template <int width> KILN_FN kiln__part kiln__from_lane(const kiln__part &kiln__p, int kiln__d)
{
    kiln__part_bits kiln__b = kiln__bits_of(kiln__p);
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__part_words; kiln__k++)
        kiln__b.word[kiln__k] = __shfl_sync(0xffffffffu, kiln__b.word[kiln__k], kiln__d, width);
    return kiln__part_of(kiln__b);
}
