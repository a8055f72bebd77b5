//# Graphs, eager operations and expressions round every operation, and call these functions for it.
//# In users' snippets the operators of half.h serve: they give a float, which is rounded when it is
//# assigned. The instructions are for single values: ptxas joins two of them where elements lie
//# side by side (docs/design.md). Bfloat16 has only fma from sm_80 to sm_90: the last column is the
//# one that gives the same value, and the same sign of zero.
//% for x | sign | f16 | bf16 | fused
//% | add | + | "add.rn.f16 %0, %1, %2;" | "add.rn.bf16 %0, %1, %2;" | "h"(a.kiln__bits), "h"((unsigned short)0x3f80), "h"(b.kiln__bits)
//% | subtract | - | "sub.rn.f16 %0, %1, %2;" | "sub.rn.bf16 %0, %1, %2;" | "h"(b.kiln__bits), "h"((unsigned short)0xbf80), "h"(a.kiln__bits)
//% | multiply | * | "mul.rn.f16 %0, %1, %2;" | "mul.rn.bf16 %0, %1, %2;" | "h"(a.kiln__bits), "h"(b.kiln__bits), "h"((unsigned short)0x8000)
//% section half_${x}_f16 on cuda needs float16 when @float16&kiln_half_${x}
KILN_FN float16 kiln_half_${x}(float16 a, float16 b)
{
    float16 r;
    asm(${f16} : "=h"(r.kiln__bits) : "h"(a.kiln__bits), "h"(b.kiln__bits));
    return r;
}
//% section half_${x}_bf16 on cuda needs bfloat16 when @bfloat16&kiln_half_${x}
KILN_FN bfloat16 kiln_half_${x}(bfloat16 a, bfloat16 b)
{
    bfloat16 r;
#if __CUDA_ARCH__ >= 900
    asm(${bf16} : "=h"(r.kiln__bits) : "h"(a.kiln__bits), "h"(b.kiln__bits));
#elif __CUDA_ARCH__ >= 800
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r.kiln__bits) : ${fused});
#else
    r = float(a) ${sign} float(b);
#endif
    return r;
}
//% section half_${x} on cpu when kiln_half_${x}
template <class H> KILN_FN H kiln_half_${x}(H a, H b) { return float(a) ${sign} float(b); }
//% end

//% section half_divide on cpu when kiln_half_divide
template <class H> KILN_FN H kiln_half_divide(H a, H b) { return float(a) / float(b); }

//% section half_rcp on cuda when kiln_half_divide kiln_wide_divide kiln_half_tanh
// half_rcp (CUDA): about 1 / v, one unit off at most; a subnormal number counts as 0.
KILN_FN float kiln__half_rcp(float v)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

//% section wide_divide on cuda needs half_rcp when kiln_wide_divide
// wide_divide (CUDA): a quotient within 2^-22 of itself, for results that are rounded to 16 bits.
KILN_FN float kiln_wide_divide(float a, float b)
{
    const float size = fabsf(b), scale = size > 0x1p100f ? 0x1p-64f : size < 0x1p-100f ? 0x1p64f : 1.0f;
    return a * kiln__half_rcp(b * scale) * scale;
}

//% section wide_divide on cpu when kiln_wide_divide
KILN_FN float kiln_wide_divide(float a, float b) { return a / b; }

//% section half_ex2 on cuda when kiln_wide_exp kiln_half_exp
// half_ex2 (CUDA): 2 to the power v, two units off at most; a subnormal result is 0.
KILN_FN float kiln__half_ex2(float v)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
}

//% section wide_exp on cuda needs half_ex2 when kiln_wide_exp
// wide_exp (CUDA): exp within 2^-17 of itself, for results that are rounded to 16 bits.
KILN_FN float kiln_wide_exp(float v) { return kiln__half_ex2(v * 1.4426950408889634f); }

//% section wide_exp on cpu needs exp when kiln_wide_exp
KILN_FN float kiln_wide_exp(float v) { return exp(v); }

//% section half_exp on cuda needs half_ex2 when kiln_half_exp
// half_exp (CUDA): exp of a 16-bit float, before it is rounded: the same bits then as from expf() for all
// of them, on an H200. It is the square of a power, which may be subnormal; constants were searched for.
KILN_FN float kiln_half_exp(float v)
{
    const float root = kiln__half_ex2(fmaf(v, 0.72134752044448170367f, -0x1.4p-22f));
    return root * (root * 0x1.000008p+0f);
}

//% section half_exp on cpu needs exp when kiln_half_exp
KILN_FN float kiln_half_exp(float v) { return exp(v); }

//% section half_divide_f16 on cuda needs float16 half_rcp when @float16&kiln_half_divide
// half_divide_f16 (CUDA): a quotient of two float16 is exactly halfway between two others or at
// least 2^-23 of itself away, so a quotient of floats that is 2^-24 of itself off is rounded to the
// right one. What is left of a quotient that is exact, infinite or 0 is 0 or NaN.
KILN_FN float16 kiln_half_divide(float16 x, float16 y)
{
    const float a = x, b = y, r = kiln__half_rcp(b), q = a * r, rest = fmaf(-q, b, a);
    return rest < 0.0f || rest > 0.0f ? fmaf(rest, r, q) : q;
}

//% section half_divide_bf16 on cuda needs bfloat16 half_rcp when @bfloat16&kiln_half_divide
// half_divide_bf16 (CUDA): a quotient of two bfloat16 is exactly halfway between two others, which
// only subnormal ones are, or 2^-17 of itself and 2^-142 away. It is computed to 2^-22; adding and
// subtracting `snap` leaves multiples of 2^-146 of it, so that what is exactly halfway becomes so,
// but loses the sign of 0. Very large and very small divisors are scaled by a power of two.
KILN_FN bfloat16 kiln_half_divide(bfloat16 x, bfloat16 y)
{
    const float a = x, b = y, size = fabsf(b), snap = 0x1p-122f;
    const float scale = size > 0x1p100f ? 0x1p-64f : size < 0x1p-100f ? 0x1p64f : 1.0f;
    const float q = a * kiln__half_rcp(b * scale);
    return copysignf(__fadd_rn(fmaf(q, scale, snap), -snap), q);
}

//% section half_negative when kiln_half_negative
template <class H> KILN_FN H kiln_half_negative(H v)
{
    v.kiln__bits ^= 0x8000;
    return v;
}

//% section half_absolute on cuda when kiln_half_absolute
// half_absolute (CUDA): the sign is cleared in two copies of the bits. From `bits & 0x7fff` of a number
// that was just converted, ptxas of CUDA 12.8 to 13.0 loses the mask (docs/codegen.md).
template <class H> KILN_FN H kiln_half_absolute(H v)
{
    asm("{ .reg .b32 t; .reg .b16 h; mov.b32 t, {%1, %1}; and.b32 t, t, 0x7fff7fff; mov.b32 {%0, h}, t; }"
        : "=h"(v.kiln__bits)
        : "h"(v.kiln__bits));
    return v;
}

//% section half_absolute on cpu when kiln_half_absolute
template <class H> KILN_FN H kiln_half_absolute(H v)
{
    v.kiln__bits &= 0x7fff;
    return v;
}

//% for x | f16 | bf16
//% | maximum | "max.NaN.f16 %0, %1, %2;" | "max.NaN.bf16 %0, %1, %2;"
//% | minimum | "min.NaN.f16 %0, %1, %2;" | "min.NaN.bf16 %0, %1, %2;"
//% | fmax | "max.f16 %0, %1, %2;" | "max.bf16 %0, %1, %2;"
//% | fmin | "min.f16 %0, %1, %2;" | "min.bf16 %0, %1, %2;"
//% section half_${x}_f16 on cuda needs float16 op_order when @float16&kiln_${x}
KILN_FN float16 kiln_${x}(float16 a, float16 b)
{
#if __CUDA_ARCH__ >= 800
    float16 r;
    asm(${f16} : "=h"(r.kiln__bits) : "h"(a.kiln__bits), "h"(b.kiln__bits));
    return r;
#else
    return kiln_${x}<float16>(a, b);
#endif
}
//% section half_${x}_bf16 on cuda needs bfloat16 op_order when @bfloat16&kiln_${x}
KILN_FN bfloat16 kiln_${x}(bfloat16 a, bfloat16 b)
{
#if __CUDA_ARCH__ >= 800
    bfloat16 r;
    asm(${bf16} : "=h"(r.kiln__bits) : "h"(a.kiln__bits), "h"(b.kiln__bits));
    return r;
#else
    return kiln_${x}<bfloat16>(a, b);
#endif
}
//% end

//# Minima and maxima of 16-bit floats are reduced as floats, which need no rounding.
//% for x | ptx | kept
//% | least | "min.NaN.f32 %0, %1, %2;" | >=
//% | greatest | "max.NaN.f32 %0, %1, %2;" | <=
//% section half_${x} when kiln_half_${x}
KILN_FN float kiln_half_${x}(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    float r;
    asm(${ptx} : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return !(b ${kept} a) & (a == a) ? b : a;
#endif
}
//% end

//# Of values that are 16-bit floats: two of them, side by side in a register, are compared by one instruction.
//% for x | name | kept | t | type | op
//% | lower | least | >= | f16 | float16 | "min.NaN.f16 %0, %1, %2;"
//% | lower | least | >= | bf16 | bfloat16 | "min.NaN.bf16 %0, %1, %2;"
//% | upper | greatest | <= | f16 | float16 | "max.NaN.f16 %0, %1, %2;"
//% | upper | greatest | <= | bf16 | bfloat16 | "max.NaN.bf16 %0, %1, %2;"
//% section half_${x}_${t} on cuda needs ${type} when @${type}&kiln_half_${name}
KILN_FN ${type} kiln_half_${x}(${type} a, ${type} b)
{
#if __CUDA_ARCH__ >= 800
    ${type} r;
    asm(${op} : "=h"(r.kiln__bits) : "h"(a.kiln__bits), "h"(b.kiln__bits));
    return r;
#else
    const float x = a, y = b;
    return !(y ${kept} x) & (x == x) ? b : a;
#endif
}
//% end

//% section half_tanh on cuda needs half_rcp half_least when kiln_half_tanh
// half_tanh (CUDA): tanh for results that are rounded to 16 bits: x - x^3 P(x^2) / Q(x^2). All 16-bit
// floats give the bits that tanhf() gives, also where the reciprocal is a unit off, because the
// coefficients are a point of the polyhedron of those that do. Of other values it is within 2^-16 of
// itself; behind 6.5 it is a constant that is rounded to 1.
KILN_FN float kiln_half_tanh(float x)
{
    const float size = kiln_half_least(6.5f, fabsf(x)), s = size * size;
    const float p = fmaf(s, s + 0x1.f6f668p+6f, 0x1.0f864ap+11f);
    float q = fmaf(s, 0x1.07cp+0f, 0x1.1afc6ap+7f);
    q = fmaf(s, fmaf(s, q, 0x1.74f9eep+11f), 0x1.974a2ap+12f);
    return copysignf(fmaf(-(size * s), p * kiln__half_rcp(q), size), x);
}

//% section half_tanh on cpu needs tanh when kiln_half_tanh
KILN_FN float kiln_half_tanh(float x) { return tanh(x); }
