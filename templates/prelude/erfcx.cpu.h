// erfcx (CPU): e^(x^2) erfc(x). The rounding error of x^2 is made up for; beyond 6 the continued
// fraction of Laplace converges in a few steps.
KILN_FN double erfcx(double x)
{
    if (x < 6.0) {
        double square = x * x, lost = __builtin_fma(x, x, -square), e = exp(square);
        return e - e != 0.0 ? e : (e + e * lost) * erfc(x);
    }
    double f = x;
    for (int k = 40; k > 0; k--)
        f = x + 0.5 * k / f;
    return 0.56418958354775628695 / f;
}
KILN_FN float erfcx(float x) { return (float)erfcx((double)x); }
KILN_FN float erfcxf(float x) { return erfcx(x); }
