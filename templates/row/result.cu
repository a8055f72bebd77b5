//# From a thread's accumulators to the row's value, by its name.
//% own L acc_ l merge_ type_ value_
    #pragma unroll
    for (int l = 1; l < L; l++)
        acc_${s.n}[0] = merge_${s.n}(acc_${s.n}[0], acc_${s.n}[l]);
    const type_${s.n} ${s.result} = value_${s.n}(KILN__COMBINE(${s.n}, acc_${s.n}[0], merge_${s.n}));
//% if s.post
${s.post}
//% end
