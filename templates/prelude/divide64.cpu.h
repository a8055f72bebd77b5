// divide64 (CPU): the high half of a 128-bit product.
KILN_FN unsigned long long kiln__high64(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
