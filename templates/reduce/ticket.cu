//# How the blocks that share a result find out which of them is the last: each leaves its part, passes a
//# barrier, and one of its threads counts it. What was written before the count is seen behind the last one.
//% own arrive n tickets
KILN_FN int arrive(int *tickets)
{
    int n;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(n) : "l"(tickets) : "memory");
    return n;
}
