//% own args
// ${title}
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end

//# What differs from call to call: ${members} comes from the slots that the launcher fills.
struct args {
${members}
};

//% if cuda
//% insert cuda/${layout}.cu
//% else
//% insert cpu/${layout}.cpp
//% end
