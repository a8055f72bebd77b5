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

struct kiln__args {
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
