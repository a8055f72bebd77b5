//# The parameter block of reductions, and of scans, which have neither numbers nor index tuples. As in
//# templates/kernel.cpp: 8-byte members in the order of emit_axes.c's slots.
struct kiln__args {
    long long size;
//% for p in scalars
    alignas(${p.align}) ${p.type} val_${p.name};
//% end
//% for p in pointers
    ${p.const}${p.type} *ptr_${p.name};
//% end
//% for p in raws
    kiln__raw<${p.const}${p.type}, ${p.raw_rank}, ${p.raw_contiguous}> raw_${p.name};
//% end
//% if in_indexer
    kiln__indexer<${indexer_rank}> in_indexer;
//% end
//% if out_indexer
    kiln__indexer<${out_indexer_rank}> out_indexer;
//% end
    long long outputs, length, chunk, splits, count;
    kiln__part *parts;
    int *tickets;
//% for a in axes
    long long shape_${a.n};
//% end
//% if cuda
    kiln__divisor${index_bits} by_splits;
//% for a in divided_axes
    kiln__divisor${index_bits} walk_${a.n};
//% end
//% end
//% for p in walking
//% for a in axes
    long long stride_${p.name}_${a.n};
//% end
//% if reverse
    long long begin_${p.name};
//% end
//% end
//% for x in numbers
//% for a in axes
    long long step_${x.name}_${a.n};
//% end
//% end
};
