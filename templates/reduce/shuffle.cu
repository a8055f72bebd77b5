//# Any accumulator from the lane whose number differs in bit `d`, word by word.
static __device__ __forceinline__ kiln__part kiln__exchange(const kiln__part &kiln__p, int kiln__d)
{
    constexpr int kiln__words = (sizeof(kiln__part) + 3) / 4;
    unsigned int kiln__w[kiln__words];
    kiln__part kiln__q;
    kiln__w[kiln__words - 1] = 0;
    memcpy(kiln__w, &kiln__p, sizeof(kiln__part));
    #pragma unroll
    for (int kiln__k = 0; kiln__k < kiln__words; kiln__k++)
        kiln__w[kiln__k] = __shfl_xor_sync(0xffffffffu, kiln__w[kiln__k], kiln__d);
    memcpy(&kiln__q, kiln__w, sizeof(kiln__part));
    return kiln__q;
}
