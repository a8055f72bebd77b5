// bits (CPU): a value's bytes as another type; and a double as a float rounded to odd (toward
// zero, then the last bit set if anything was lost), so that a further rounding is exact.
template <class To, class From> KILN_FN To kiln__bit_cast(From v)
{
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To r;
    __builtin_memcpy(&r, &v, sizeof r);
    return r;
}
KILN_FN float kiln__round_to_odd(double v)
{
    float f = (float)v;
    unsigned int u = kiln__bit_cast<unsigned int>(f);
    u -= __builtin_fabs((double)f) > __builtin_fabs(v);
    u |= (double)kiln__bit_cast<float>(u) != v;
    return kiln__bit_cast<float>(u);
}
