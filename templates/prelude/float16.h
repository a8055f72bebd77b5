// float16: IEEE binary16, two bytes in memory.
struct alignas(2) float16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(float16, kiln__f16_from, kiln__f16_to)
};
KILN__HALF(float16)
