//% own args part
//% insert reduce/preface.cpp
typedef _type_reduce part;
static_assert(sizeof(part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

struct args {
${members}
};

//% if cuda
//% if chain
//% insert scan/columns_chain.cu
//% else
//% if split
//% insert scan/${layout}_split.cu
//% else
//% insert scan/${layout}.cu
//% end
//% end
//% else
//% insert scan/${layout}.cpp
//% end
