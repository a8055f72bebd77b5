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
