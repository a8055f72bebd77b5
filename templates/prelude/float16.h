// float16: IEEE binary16, two bytes in memory. An integer that float would round is far beyond the
// largest float16, so the way through float rounds once.
template <class I> KILN_FN unsigned short kiln__f16_from_int(I v)
{
    return kiln__f16_from((float)v);
}
struct alignas(2) float16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(float16, kiln__f16_from, kiln__f16_from_int, kiln__f16_to)
};
KILN__HALF(float16)
