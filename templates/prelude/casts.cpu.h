// casts (CPU): the bits of a floating-point number as an integer, and back.
KILN_FN int __float_as_int(float x) { return kiln__bit_cast<int>(x); }
KILN_FN unsigned int __float_as_uint(float x) { return kiln__bit_cast<unsigned int>(x); }
KILN_FN float __int_as_float(int x) { return kiln__bit_cast<float>(x); }
KILN_FN float __uint_as_float(unsigned int x) { return kiln__bit_cast<float>(x); }
KILN_FN long long __double_as_longlong(double x) { return kiln__bit_cast<long long>(x); }
KILN_FN double __longlong_as_double(long long x) { return kiln__bit_cast<double>(x); }
KILN_FN int __double2hiint(double x) { return (int)(kiln__bit_cast<long long>(x) >> 32); }
KILN_FN int __double2loint(double x) { return (int)kiln__bit_cast<long long>(x); }
KILN_FN double __hiloint2double(int hi, int lo)
{
    return kiln__bit_cast<double>((long long)((unsigned long long)(unsigned int)hi << 32 |
                                              (unsigned int)lo));
}
