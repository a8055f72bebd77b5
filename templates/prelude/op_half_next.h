// op_half_next: neighbours of 16-bit floats, found by counting their bits.
template <class H> KILN_FN H kiln__half_step(H x, bool up)
{
    H r = x;
    if ((x.kiln__bits & 0x7fff) == 0)
        r.kiln__bits = (unsigned short)(up ? 1 : 0x8001);
    else
        r.kiln__bits = (unsigned short)(x.kiln__bits + (((x.kiln__bits & 0x8000) == 0) == up ? 1 : -1));
    return r;
}
template <class H> KILN_FN H kiln_half_nextafter(H x, H y)
{
    float a = x, b = y;
    if (a != a || b != b)
        return H(a + b);
    return a == b ? x : kiln__half_step(x, b > a);
}
template <class H> KILN_FN H kiln_half_spacing(H x)
{
    float a = x;
    if (a - a != 0.0f)
        return H(a - a);
    return H(float(kiln__half_step(x, true)) - a);
}
