// op_order: the greater or lesser of two; a NaN wins in maximum and minimum, and loses in fmax and
// fmin. The conditions are joined by | so that vector code needs no branches.
#define KILN__PICK(f, keep)                                                                        \
    template <class T> KILN_FN T f(T a, T b)                                                       \
    {                                                                                              \
        typename kiln__order<T>::wide x = a, y = b;                                                \
        return (keep) ? a : b;                                                                     \
    }
KILN__PICK(kiln_maximum, (x >= y) | (x != x))
KILN__PICK(kiln_minimum, (x <= y) | (x != x))
KILN__PICK(kiln_fmax, (x >= y) | (y != y))
KILN__PICK(kiln_fmin, (x <= y) | (y != y))
