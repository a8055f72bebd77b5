// ${title}
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end
//# What stage s reduces to, and what travels between threads: without an identity, whether there is
//# anything yet as well.
//% for s in stages
typedef
${s.type}
kiln__type_${s.n};
//% if s.identity
typedef kiln__type_${s.n} kiln__part_${s.n};
//% else
struct kiln__part_${s.n} {
    kiln__type_${s.n} value;
    bool set;
};
//% end
static_assert(sizeof(kiln__part_${s.n}) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");
//% end

//# As in templates/kernel.cpp: 8-byte members in the order of emit_axes.c's slots.
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
    long long rows, length, count;
//% if !cuda
//% if turned
    long long chunk, splits;
    char *parts;
    int *tickets;
//% end
//% end
//% for a in axes
    long long shape_${a.n};
//% end
//% for a in divided_axes
    kiln__divisor${index_bits} walk_${a.n};
//% end
//% for p in walking
//% for a in axes
    long long stride_${p.name}_${a.n};
//% end
//% end
};

//% if cuda
//% insert row/combine.cu
//% if held
//% insert row/held.cu
//% else
//% insert row/reread.cu
//% end
//% else
//% insert row/rows.cpp
//% end
