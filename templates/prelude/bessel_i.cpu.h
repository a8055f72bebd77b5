// bessel_i (CPU): the modified Bessel functions I0 and I1, by their series (all terms have one
// sign, so nothing cancels) up to 30 and by their asymptotic expansion beyond.
KILN_FN double kiln__bessel_i(int order, double x)
{
    double a = __builtin_fabs(x), sum = 1.0, term = 1.0;
    if (!(a - a == 0.0))
        return order == 1 ? x : a;
    if (a <= 30.0) {
        for (int k = 1; k < 100 && term > 1e-17 * sum; k++)
            sum += term *= 0.25 * a * a / ((double)k * (k + order));
        return order == 1 ? 0.5 * x * sum : sum;
    }
    for (int k = 1; k < 30; k++) {
        double next = term * ((2.0 * k - 1.0) * (2.0 * k - 1.0) - 4.0 * order) / (8.0 * a * k);
        if (__builtin_fabs(next) >= __builtin_fabs(term))
            break;
        sum += term = next;
    }
    double half = exp(0.5 * a), value = half / (2.50662827463100050242 * __builtin_sqrt(a)) * sum;
    return order == 1 ? __builtin_copysign(value * half, x) : value * half;
}
KILN_FN double cyl_bessel_i0(double x) { return kiln__bessel_i(0, x); }
KILN_FN double cyl_bessel_i1(double x) { return kiln__bessel_i(1, x); }
KILN_FN float cyl_bessel_i0(float x) { return (float)kiln__bessel_i(0, x); }
KILN_FN float cyl_bessel_i1(float x) { return (float)kiln__bessel_i(1, x); }
KILN_FN float cyl_bessel_i0f(float x) { return (float)kiln__bessel_i(0, x); }
KILN_FN float cyl_bessel_i1f(float x) { return (float)kiln__bessel_i(1, x); }
