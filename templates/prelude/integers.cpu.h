//% section integers
//% when __popc __popcll __clz __clzll __ffs __ffsll __brev __brevll __mulhi __umulhi __mul64hi
//% when __umul64hi __mul24 __umul24 __sad __usad __hadd __rhadd __uhadd __urhadd __funnelshift_l
//% when __funnelshift_r __byte_perm
// integers (CPU): counting and moving bits, high halves of products, averages without overflow.
KILN_FN int __popc(unsigned int x) { return __builtin_popcount(x); }
KILN_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KILN_FN int __clz(int x) { return x != 0 ? __builtin_clz((unsigned int)x) : 32; }
KILN_FN int __clzll(long long x) { return x != 0 ? __builtin_clzll((unsigned long long)x) : 64; }
KILN_FN int __ffs(int x) { return __builtin_ffs(x); }
KILN_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
KILN_FN unsigned int __brev(unsigned int x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
KILN_FN unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
KILN_FN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
KILN_FN unsigned int __umulhi(unsigned int a, unsigned int b)
{
    return (unsigned int)((unsigned long long)a * b >> 32);
}
KILN_FN long long __mul64hi(long long a, long long b) { return (long long)(__extension__ (__int128)a * b >> 64); }
KILN_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(__extension__ (unsigned __int128)a * b >> 64);
}
KILN_FN int __mul24(int a, int b)
{
    a = (int)((unsigned int)a << 8) >> 8;
    b = (int)((unsigned int)b << 8) >> 8;
    return (int)((unsigned int)a * (unsigned int)b);
}
KILN_FN unsigned int __umul24(unsigned int a, unsigned int b)
{
    return (a & 0xffffff) * (b & 0xffffff);
}
KILN_FN unsigned int __sad(int a, int b, unsigned int c)
{
    return c + (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a);
}
KILN_FN unsigned int __usad(unsigned int a, unsigned int b, unsigned int c)
{
    return c + (a > b ? a - b : b - a);
}
KILN_FN int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
KILN_FN int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
KILN_FN unsigned int __uhadd(unsigned int a, unsigned int b)
{
    return (unsigned int)(((unsigned long long)a + b) >> 1);
}
KILN_FN unsigned int __urhadd(unsigned int a, unsigned int b)
{
    return (unsigned int)(((unsigned long long)a + b + 1) >> 1);
}
KILN_FN unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift)
{
    return (unsigned int)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
KILN_FN unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift)
{
    return (unsigned int)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
// Four bytes chosen from eight, one by each nibble of the selector, whose high bits do not count.
KILN_FN unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned int r = 0;
    for (int k = 0; k < 4; k++)
        r |= (unsigned int)(both >> (8 * (selector >> (4 * k) & 7)) & 0xff) << (8 * k);
    return r;
}
