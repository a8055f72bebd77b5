// op_erf (CUDA): the error function. CUDA's own chooses each coefficient by the size of x, and a
// choice costs two instructions beside the one that uses it; two polynomials with coefficients in
// the instructions and one choice at the end are a third fewer. Both are minimax, of our making.
//     |x| < 1.1:   x + x P(x^2), within 2^-27
//     |x| >= 1.1:  1 - 2^Q(|x|), within 2^-26; Q falls without bound, so that far out 1 is left
KILN_FN float kiln_erf(float x)
{
    const float a = fabsf(x), s = x * x;
    float p = 7.236068631755188e-5f, q = -0.0015275598270818591f, power;
    p = fmaf(p, s, -0.00078247394412755966f);
    p = fmaf(p, s, 0.005167731083929539f);
    p = fmaf(p, s, -0.026843518018722534f);
    p = fmaf(p, s, 0.11283364146947861f);
    p = fmaf(p, s, -0.37612611055374146f);
    p = fmaf(p, s, 0.12837916612625122f);
    p = fmaf(p, x, x);
    q = fmaf(q, a, 0.02022024802863598f);
    q = fmaf(q, a, -0.12428586930036545f);
    q = fmaf(q, a, -0.94995540380477905f);
    q = fmaf(q, a, -1.6076377630233765f);
    q = fmaf(q, a, -0.005233582574874163f);
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(q));
    return a >= 1.1f ? copysignf(1.0f - power, x) : p;
}
KILN_FN double kiln_erf(double x) { return erf(x); }
