//# How the blocks that share a result find out which of them is the last: each leaves its part, passes a
//# barrier, and one of its threads counts it. What was written before the count is seen behind the last one.
KILN_FN int kiln__arrive(int *kiln__tickets)
{
    int kiln__n;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(kiln__n) : "l"(kiln__tickets) : "memory");
    return kiln__n;
}
