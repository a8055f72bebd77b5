// float16_bits (CUDA): IEEE binary16 to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__f16_from(float v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
KILN_FN unsigned short kiln__f16_from(double v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(v));
    return bits;
}
KILN_FN float kiln__f16_to(unsigned short bits)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}
