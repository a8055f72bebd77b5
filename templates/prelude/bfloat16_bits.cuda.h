// bfloat16_bits (CUDA): to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__bf16_from(float v)
{
#if __CUDA_ARCH__ >= 800
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
#else
    unsigned int u = __float_as_uint(v);
    return v != v ? 0x7fff : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
#endif
}
// Through a float rounded to odd, which keeps the later rounding exact.
KILN_FN unsigned short kiln__bf16_from(double v)
{
    float f = __double2float_rz(v);
    return kiln__bf16_from(__uint_as_float(__float_as_uint(f) | (double(f) != v)));
}
KILN_FN float kiln__bf16_to(unsigned short bits)
{
    return __uint_as_float((unsigned int)bits << 16);
}
