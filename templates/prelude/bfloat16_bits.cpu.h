// bfloat16_bits (CPU): to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__bf16_from(float v)
{
    unsigned int u = kiln__bit_cast<unsigned int>(v);
    unsigned int rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (unsigned short)(v != v ? 0x7fff : rounded);
}
KILN_FN unsigned short kiln__bf16_from(double v) { return kiln__bf16_from(kiln__round_to_odd(v)); }
KILN_FN float kiln__bf16_to(unsigned short bits)
{
    return kiln__bit_cast<float>((unsigned int)bits << 16);
}
