// normcdf (CPU): erfc(-x / sqrt(2)) / 2. Far out the rounding of the argument would cost digits,
// so the part that was lost is added by the derivative of erfc.
KILN_FN double normcdf(double x)
{
    const double high = 0.70710678118654757274, low = -4.8336466567264567e-17; // sqrt(1/2)
    if (x < -39.0)
        return x - x == 0.0 || x == x ? 0.0 : x;
    double t = -x * high, lost = __builtin_fma(-x, high, -t) - x * low;
    double tail = erfc(t);
    if (t > 0.5)
        tail -= 1.12837916709551257390 * exp(-t * t) * lost;
    return 0.5 * tail;
}
KILN_FN float normcdf(float x) { return (float)(0.5 * erfc(-0.70710678118654752440 * x)); }
KILN_FN float normcdff(float x) { return normcdf(x); }
