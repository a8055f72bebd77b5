// divide64 (CUDA): the high half of a 128-bit product.
KILN_FN unsigned long long kiln__high64(unsigned long long a, unsigned long long b)
{
    return __umul64hi(a, b);
}
