// erfinv (CPU): inverses of erf, erfc and the normal distribution. A start good to three digits
// or more (a series in the middle, Abramowitz and Stegun 26.2.23 in the tails) is made exact by
// two steps of Halley's method, each of which triples the digits.
KILN_FN double kiln__halley(double z, double error)
{
    // error / (2 e^(-z^2) / sqrt(pi)), in two halves: far out e^(z^2) alone would overflow.
    double half = exp(0.5 * z * z), step = error * 0.88622692545275801365 * half * half;
    return z - step / (1.0 + z * step);
}
// erfc(z) = y for 0 < y <= 0.5.
KILN_FN double kiln__erfc_tail(double y)
{
    double t = sqrt(-2.0 * log(0.5 * y));
    double z = 0.70710678118654752440 *
               (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                        (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int k = 0; k < 3; k++)
        z = kiln__halley(z, y - erfc(z));
    return z;
}
// erf(z) = x for |x| <= 0.5.
KILN_FN double kiln__erf_middle(double x)
{
    double q = x * x * 0.78539816339744830962; // pi / 4 x^2
    double z = x * 0.88622692545275801365 *
               (1.0 + q * (1.0 / 3.0 + q * (7.0 / 30.0 + q * (127.0 / 630.0))));
    for (int k = 0; k < 2; k++)
        z = kiln__halley(z, erf(z) - x);
    return z;
}
KILN_FN double erfinv(double x)
{
    double a = __builtin_fabs(x);
    if (!(a > 0.5))
        return kiln__erf_middle(x);
    if (a >= 1.0)
        return a > 1.0 ? __builtin_nan("") : __builtin_copysign(__builtin_inf(), x);
    return __builtin_copysign(kiln__erfc_tail(1.0 - a), x);
}
KILN_FN double erfcinv(double y)
{
    if (!(y > 0.0) || y >= 2.0)
        return y == 0.0   ? __builtin_inf()
               : y == 2.0 ? -__builtin_inf()
                          : __builtin_nan("");
    if (y <= 0.5)
        return kiln__erfc_tail(y);
    return y < 1.5 ? kiln__erf_middle(1.0 - y) : -kiln__erfc_tail(2.0 - y);
}
KILN_FN double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2.0 * p); }
KILN_FN float erfinv(float x) { return (float)erfinv((double)x); }
KILN_FN float erfcinv(float y) { return (float)erfcinv((double)y); }
KILN_FN float normcdfinv(float p) { return (float)normcdfinv((double)p); }
KILN_FN float erfinvf(float x) { return erfinv(x); }
KILN_FN float erfcinvf(float y) { return erfcinv(y); }
KILN_FN float normcdfinvf(float p) { return normcdfinv(p); }
