// op_clip: integers between two bounds; the upper one wins when they cross.
template <class T> KILN_FN T kiln_int_clip(T x, T low, T high)
{
    T up = x > low ? x : low;
    return up < high ? up : high;
}
