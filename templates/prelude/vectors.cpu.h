//% section vectors
// vectors (CPU): CUDA's short vectors, aligned as CUDA aligns them.
#define KILN__VECTOR(name, T, bytes2, bytes4)                                                      \
    struct name##1 { T x; };                                                                       \
    struct alignas(bytes2) name##2 { T x, y; };                                                    \
    struct name##3 { T x, y, z; };                                                                 \
    struct alignas(bytes4) name##4 { T x, y, z, w; };                                              \
    KILN_FN name##1 make_##name##1(T x) { return {x}; }                                            \
    KILN_FN name##2 make_##name##2(T x, T y) { return {x, y}; }                                    \
    KILN_FN name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                            \
    KILN_FN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

//% for x | T | two | four
//% | char | signed char | 2 | 4
//% | uchar | unsigned char | 2 | 4
//% | short | short | 4 | 8
//% | ushort | unsigned short | 4 | 8
//% | int | int | 8 | 16
//% | uint | unsigned int | 8 | 16
//% | long | long | 16 | 16
//% | ulong | unsigned long | 16 | 16
//% | longlong | long long | 16 | 16
//% | ulonglong | unsigned long long | 16 | 16
//% | float | float | 8 | 16
//% | double | double | 16 | 16
//% section ${x}1 needs vectors
//% when ${x}1 ${x}2 ${x}3 ${x}4 make_${x}1 make_${x}2 make_${x}3 make_${x}4
KILN__VECTOR(${x}, ${T}, ${two}, ${four})
//% end
