//% own args part
//% plain set value
//% insert reduce/preface.cpp
//% if identity
typedef _type_reduce part;
//% else
struct part {
    _type_reduce value;
    bool set;
};
//% end
static_assert(sizeof(part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

struct args {
${members}
};

//% if cuda
//% insert reduce/${layout}.cu
//% else
//% insert reduce/${layout}.cpp
//% end
