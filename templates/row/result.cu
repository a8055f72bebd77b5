//# From a thread's accumulators to the row's value, by its name.
    #pragma unroll
    for (int kiln__l = 1; kiln__l < kiln__L; kiln__l++)
        kiln__acc_${s.n}[0] = kiln__merge_${s.n}(kiln__acc_${s.n}[0], kiln__acc_${s.n}[kiln__l]);
    const kiln__type_${s.n} ${s.result} = kiln__value_${s.n}(KILN__COMBINE(${s.n}, kiln__acc_${s.n}[0], kiln__merge_${s.n}));
//% if s.post
${s.post}
//% end
