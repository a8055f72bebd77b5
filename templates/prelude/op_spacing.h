// op_spacing: the distance to the next value away from 0.
template <class T> KILN_FN T kiln_spacing(T x)
{
    return nextafter(x, x < T(0) ? T(-INFINITY) : T(INFINITY)) - x;
}
