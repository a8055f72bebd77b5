// moments_share (CUDA): which share of a set one part of it is. Of floats an approximate reciprocal and
// one step of Newton's, which leaves the last bit in doubt: a third of a division's instructions.
#define KILN_MOMENTS_PAD(T, n)
KILN_FN double kiln_moments_share(double part, double whole) { return part / whole; }
KILN_FN float kiln_moments_share(float part, float whole)
{
    const float inverse = __fdividef(1.0f, whole), share = part * inverse;
    return share + (part - share * whole) * inverse;
}
