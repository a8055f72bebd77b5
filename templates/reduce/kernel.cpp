//% insert reduce/preface.cpp
//% if identity
typedef _type_reduce kiln__part;
//% else
struct kiln__part {
    _type_reduce value;
    bool set;
};
//% end
static_assert(sizeof(kiln__part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

struct kiln__args {
${members}
};

//% if cuda
//% insert reduce/${layout}.cu
//% else
//% insert reduce/${layout}.cpp
//% end
