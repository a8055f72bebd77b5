//% section position
//% when kiln_position kiln_position_of kiln_position_least kiln_position_greatest
// position: a value and where it stands, what argmin and argmax accumulate. The first of equal
// values wins; a NaN wins over every number, and the first NaN over later ones. Both functions
// are associative and commutative, so elements may be combined in any order.
template <class T> struct kiln_position {
    T value;
    kiln__index index;
};
// Behind every position: what a value without one has.
constexpr kiln__index kiln_position_none =
    (kiln__index)(sizeof(kiln__index) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
template <class T> KILN_FN kiln_position<T> kiln_position_of(T value, kiln__index index)
{
    kiln_position<T> p;
    p.value = value;
    p.index = index;
    return p;
}
// What is not NaN; a NaN is `last` without a place, which loses to everything.
template <class T>
KILN_FN kiln_position<T> kiln_position_of_number(T value, kiln__index index, T last)
{
    return value == value ? kiln_position_of<T>(value, index)
                          : kiln_position_of<T>(last, kiln_position_none);
}
template <class T> KILN_FN long long kiln_position_index(kiln_position<T> p)
{
    return p.index == kiln_position_none ? -1 : (long long)p.index;
}
template <class T>
KILN_FN kiln_position<T> kiln_position_pick(kiln_position<T> a, kiln_position<T> b, bool before,
                                            bool equal)
{
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    before = before || (b_nan && !a_nan);
    equal = equal || (a_nan && b_nan);
    bool take_b = before || (equal && b.index < a.index);
    a.value = take_b ? b.value : a.value;
    a.index = take_b ? b.index : a.index;
    return a;
}
template <class T>
KILN_FN kiln_position<T> kiln_position_least(kiln_position<T> a, kiln_position<T> b)
{
    if (b.value > a.value)
        return a; // nearly always, once some elements have been seen
    return kiln_position_pick(a, b, b.value < a.value, b.value == a.value);
}
template <class T>
KILN_FN kiln_position<T> kiln_position_greatest(kiln_position<T> a, kiln_position<T> b)
{
    if (b.value < a.value)
        return a;
    return kiln_position_pick(a, b, b.value > a.value, b.value == a.value);
}
