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
