//% section divide32 when kiln__divisor32
// divide32: n / divisor for 0 <= n < 2^31 by a product and a shift. The host makes the magic
// number: ceil(2^(31 + shift) / divisor), where 2^shift is the least power not below divisor.
struct kiln__divisor32 {
    unsigned int magic, shift, divisor, pad;
    KILN_METHOD int quotient(int n) const
    {
        unsigned long long product = (unsigned long long)magic * (2 * (unsigned int)n);
        return (int)((unsigned int)(product >> 32) >> shift);
    }
    KILN_METHOD int divmod(int n, int *rest) const
    {
        int q = quotient(n);
        *rest = n - q * (int)divisor;
        return q;
    }
};

//% section high64 on cuda
// divide64 (CUDA): the high half of a 128-bit product.
KILN_FN unsigned long long kiln__high64(unsigned long long a, unsigned long long b)
{
    return __umul64hi(a, b);
}

//% section high64 on cpu
// divide64 (CPU): the high half of a 128-bit product.
KILN_FN unsigned long long kiln__high64(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(__extension__ (unsigned __int128)a * b >> 64);
}

//% section divide64 needs high64 when kiln__divisor64
// divide64: n / divisor for 0 <= n < 2^63 by a product and a shift. The host makes the magic
// number: ceil(2^(63 + shift) / divisor), where 2^shift is the least power not below divisor.
struct kiln__divisor64 {
    unsigned long long magic, shift, divisor, pad;
    KILN_METHOD long long quotient(long long n) const
    {
        return (long long)(kiln__high64(magic, 2 * (unsigned long long)n) >> (unsigned int)shift);
    }
    KILN_METHOD long long divmod(long long n, long long *rest) const
    {
        long long q = quotient(n);
        *rest = n - q * (long long)divisor;
        return q;
    }
};
