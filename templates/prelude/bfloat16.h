// bfloat16: the upper half of a float, two bytes in memory. Of an integer that double would round
// the last digits become one that is set if any of them was, so that the result is rounded once.
template <class I> KILN_FN unsigned short kiln__bf16_from_int(I v)
{
    if constexpr (sizeof(I) == 8) {
        const I limit = (I)1 << 53;
        bool big = v >= limit || ((I)-1 < (I)0 && v <= -limit);
        v = big ? (v & ~(I)0xfff) | (I)((v & 0xfff) != 0 ? 0x800 : 0) : v;
    }
    return kiln__bf16_from((double)v);
}
struct alignas(2) bfloat16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(bfloat16, kiln__bf16_from, kiln__bf16_from_int, kiln__bf16_to)
};
KILN__HALF(bfloat16)
