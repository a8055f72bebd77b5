// ${title}
typedef ${index} kiln__index; // wide enough for every count and offset of this kernel
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end
typedef
${reduce_type}
_type_reduce;
typedef _type_reduce kiln__part;
static_assert(sizeof(kiln__part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

//# As in templates/kernel.cpp: 8-byte members in the order of emit.c's slots.
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
//% end
};

//% if cuda
//% if split
//% insert scan/${layout}_split.cu
//% else
//% insert scan/${layout}.cu
//% end
//% else
//% insert scan/${layout}.cpp
//% end
