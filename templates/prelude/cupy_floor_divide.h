// cupy_floor_divide: CuPy's _floor_divide(): rounded down; an integer by 0 is 0.
template <class A, class B> KILN_FN decltype(A() + B()) _floor_divide(A a, B b)
{
    typedef decltype(A() + B()) R;
    R x = R(a), y = R(b);
    if constexpr ((R)0.5 != (R)0) {
        return floor(x / y);
    } else {
        if (y == R(0))
            return R(0);
        if ((R)-1 < (R)0 && y == (R)-1) // the least integer has no opposite
            return R(0ull - (unsigned long long)x);
        R q = x / y;
        return q - R(q * y != x && (x < R(0)) != (y < R(0)));
    }
}
