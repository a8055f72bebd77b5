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
