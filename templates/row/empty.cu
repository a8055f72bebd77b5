//# A thread's accumulators of stage s.
//% own L acc_ empty_ l part_
    part_${s.n} acc_${s.n}[L];
    #pragma unroll
    for (int l = 0; l < L; l++)
        acc_${s.n}[l] = empty_${s.n}();
