// ${title}
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end

//# What differs from call to call. Every member begins at a multiple of 8 bytes (16 for 16-byte
//# scalars); the launcher fills the block by the slots that emit_axes.c lists in this same order.
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
//% if indexer
    kiln__indexer<${indexer_rank}> indexer;
//% end
//% for a in extent_axes
    long long extent_${a.n};
//% end
//% for a in divided_axes
    kiln__divisor${index_bits} walk_${a.n};
//% end
//% for a in counted_axes
    long long walk_${a.n};
//% end
//% if walks
//% for p in walking
//% for a in axes
    long long stride_${p.name}_${a.n};
//% end
//% end
//% end
//% if index_strides
//% for a in axes
    long long stride_i_${a.n};
//% end
//% end
};

//% if cuda
//% insert cuda/${layout}.cu
//% else
//% insert cpu/${layout}.cpp
//% end
