//# What stands before a reduction's or a scan's own text: the prelude, the placeholders, the accumulator's type.
//% own index
// ${title}
typedef ${index} index; // wide enough for every count and offset of this kernel
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
