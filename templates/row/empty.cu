//# A thread's accumulators of stage s.
    kiln__part_${s.n} kiln__acc_${s.n}[kiln__L];
    #pragma unroll
    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
        kiln__acc_${s.n}[kiln__l] = kiln__empty_${s.n}();
