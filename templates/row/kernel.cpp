//% own args part_ type_
//% plain set value
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
type_${s.n};
//% if s.identity
typedef type_${s.n} part_${s.n};
//% else
struct part_${s.n} {
    type_${s.n} value;
    bool set;
};
//% end
static_assert(sizeof(part_${s.n}) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");
//% end

struct args {
${members}
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
