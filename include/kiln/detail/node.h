/**
 * @file kiln/detail/node.h
 * @brief What KILN_NODE(), kiln_divmod() and its like expand to. Nothing here is part of the API.
 */
#ifndef KILN_DETAIL_NODE_H
#define KILN_DETAIL_NODE_H

static inline kiln_node kiln_node_of_node(kiln_node v) { return v; }

/* Operations with two results; kiln/ops.h has the macros. */
static inline void kiln_node_pair1(int first, int second, kiln_node a, kiln_node *first_out,
                                   kiln_node *second_out, const char *file, int line)
{
    *first_out = kiln_node_op1(first, a, file, line);
    *second_out = kiln_node_op1(second, a, file, line);
}
static inline void kiln_node_pair2(int first, int second, kiln_node a, kiln_node b,
                                   kiln_node *first_out, kiln_node *second_out, const char *file,
                                   int line)
{
    *first_out = kiln_node_op2(first, a, b, file, line);
    *second_out = kiln_node_op2(second, a, b, file, line);
}

#ifdef __cplusplus
#define KILN__NODE_OVERLOAD(type, function, parameter)                                             \
    static inline kiln_node kiln_node_of(type v) { return function((parameter)v); }
static inline kiln_node kiln_node_of(kiln_node v) { return v; }
KILN__NUMBER_TYPES(KILN__NODE_OVERLOAD, kiln_node_of_)
template <class T> kiln_node kiln_node_of(T) = delete;
#undef KILN__NODE_OVERLOAD
#define KILN__NODE(v) kiln_node_of(v)
#else
static inline kiln_node kiln__node_c128(double _Complex v)
{
    const kiln__complex z = {v};
    return kiln_node_of_complex(z.part[0], z.part[1]);
}
static inline kiln_node kiln__node_c64(float _Complex v)
{
    return kiln__node_c128((double _Complex)v);
}
#define KILN__NODE(v)                                                                              \
    _Generic((v),                                                                                  \
        KILN__NUMBER_TYPES(KILN__GENERIC_CASE, kiln_node_of_)                                      \
        float _Complex: kiln__node_c64,                                                            \
        double _Complex: kiln__node_c128,                                                          \
        kiln_node: kiln_node_of_node)(v)
#endif

#endif
