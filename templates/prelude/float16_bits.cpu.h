// float16_bits (CPU): IEEE binary16 to and from wider floats, rounded once, to nearest even.
#if defined(__clang__) && defined(__F16C__)
KILN_FN float kiln__f16_to(unsigned short bits)
{
    __fp16 v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return (float)v;
}
KILN_FN unsigned short kiln__f16_from(float v)
{
    __fp16 narrow = (__fp16)v;
    unsigned short bits;
    __builtin_memcpy(&bits, &narrow, sizeof bits);
    return bits;
}
#else
// Integer code: gcc turns it into vector code, which it does not do for its own 16-bit type.
KILN_FN float kiln__f16_to(unsigned short bits)
{
    // Sign and digits in place, the exponent 112 too small; the product is exact.
    int narrow = (int)((unsigned int)bits << 16) >> 3 & (int)0x8fffe000;
    float v = kiln__bit_cast<float>(narrow) * 0x1p112f;
    int infinite = kiln__bit_cast<int>(v) | 0x7f800000;
    return __builtin_fabsf(v) >= 65536.0f ? kiln__bit_cast<float>(infinite) : v;
}
KILN_FN unsigned short kiln__f16_from(float v)
{
    // Adding 2^13 times the leading power of two lets the float unit round to 11 digits; below
    // 2^-14 that power stays, which rounds to a subnormal number.
    int sign = (int)(kiln__bit_cast<unsigned int>(v) >> 16 & 0x8000);
    int u = kiln__bit_cast<int>(v) & 0x7fffffff;
    int clamped = u < 0x47800000 ? u : 0x47800000;
    int power = clamped & 0x7f800000;
    power = power > 0x38800000 ? power : 0x38800000;
    float sum = kiln__bit_cast<float>(clamped) + kiln__bit_cast<float>(power + (13 << 23));
    int bits = ((power - 0x38800000) >> 13) + (kiln__bit_cast<int>(sum) & 0xfff);
    return (unsigned short)((u > 0x7f800000 ? 0x7e00 : bits) | sign);
}
#endif
KILN_FN unsigned short kiln__f16_from(double v) { return kiln__f16_from(kiln__round_to_odd(v)); }
