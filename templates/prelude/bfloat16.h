// bfloat16: the upper half of a float, two bytes in memory.
struct alignas(2) bfloat16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(bfloat16, kiln__bf16_from, kiln__bf16_to)
};
KILN__HALF(bfloat16)
