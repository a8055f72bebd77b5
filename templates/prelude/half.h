//% section half_common needs traits
// half: what float16 and bfloat16 have in common. They are formats of memory: arithmetic, comparisons
// and functions take them as the float that they stand for and give a float, which is rounded when
// it is assigned. So x * y + z is rounded once, as in CuPy.
#define KILN__HALF(H)                                                                              \
    template <> struct kiln__math<H> { typedef float wide, result, other, half; };                 \
    template <> struct kiln__order<H> { typedef float wide; };                                     \
    template <> struct kiln__either<H, H> { typedef H type; };
#define KILN__HALF_MEMBERS(H, from, from_int, to)                                                  \
    H() = default;                                                                                 \
    KILN_METHOD H(float v) : kiln__bits(from(v)) {}                                                \
    KILN_METHOD H(double v) : kiln__bits(from(v)) {}                                               \
    KILN_METHOD H(int v) : kiln__bits(from_int(v)) {}                                              \
    KILN_METHOD H(unsigned int v) : kiln__bits(from_int(v)) {}                                     \
    KILN_METHOD H(long v) : kiln__bits(from_int(v)) {}                                             \
    KILN_METHOD H(unsigned long v) : kiln__bits(from_int(v)) {}                                    \
    KILN_METHOD H(long long v) : kiln__bits(from_int(v)) {}                                        \
    KILN_METHOD H(unsigned long long v) : kiln__bits(from_int(v)) {}                               \
    KILN_METHOD operator float() const { return to(kiln__bits); }                                  \
    template <class U> KILN_METHOD H &operator=(U v) { return *this = H(v); }                      \
    template <class U> KILN_METHOD H &operator+=(U v) { return *this = H(*this + v); }             \
    template <class U> KILN_METHOD H &operator-=(U v) { return *this = H(*this - v); }             \
    template <class U> KILN_METHOD H &operator*=(U v) { return *this = H(*this * v); }             \
    template <class U> KILN_METHOD H &operator/=(U v) { return *this = H(*this / v); }             \
    KILN_METHOD H &operator++() { return *this += 1; }                                             \
    KILN_METHOD H &operator--() { return *this -= 1; }                                             \
    KILN_METHOD H operator++(int) { H old = *this; *this += 1; return old; }                       \
    KILN_METHOD H operator--(int) { H old = *this; *this -= 1; return old; }

//% section float16_bits on cuda
// float16_bits (CUDA): IEEE binary16 to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__f16_from(float v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
KILN_FN unsigned short kiln__f16_from(double v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(v));
    return bits;
}
KILN_FN float kiln__f16_to(unsigned short bits)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

//% section float16_bits on cpu needs bits
// float16_bits (CPU): IEEE binary16 to and from wider floats, rounded once, to nearest even.
#if defined(__clang__) && defined(__F16C__)
KILN_FN float kiln__f16_to(unsigned short bits)
{
    __fp16 v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return (float)v;
}
KILN_FN unsigned short kiln__f16_from(float v)
{
    __fp16 narrow = (__fp16)v;
    unsigned short bits;
    __builtin_memcpy(&bits, &narrow, sizeof bits);
    return bits;
}
#else
// Integer code: gcc turns it into vector code, which it does not do for its own 16-bit type.
KILN_FN float kiln__f16_to(unsigned short bits)
{
    // Sign and digits in place, the exponent 112 too small; the product is exact.
    int narrow = (int)((unsigned int)bits << 16) >> 3 & (int)0x8fffe000;
    float v = kiln__bit_cast<float>(narrow) * 0x1p112f;
    int infinite = kiln__bit_cast<int>(v) | 0x7f800000;
    return __builtin_fabsf(v) >= 65536.0f ? kiln__bit_cast<float>(infinite) : v;
}
KILN_FN unsigned short kiln__f16_from(float v)
{
    // Adding 2^13 times the leading power of two lets the float unit round to 11 digits; below
    // 2^-14 that power stays, which rounds to a subnormal number.
    int sign = (int)(kiln__bit_cast<unsigned int>(v) >> 16 & 0x8000);
    int u = kiln__bit_cast<int>(v) & 0x7fffffff;
    int clamped = u < 0x47800000 ? u : 0x47800000;
    int power = clamped & 0x7f800000;
    power = power > 0x38800000 ? power : 0x38800000;
    float sum = kiln__bit_cast<float>(clamped) + kiln__bit_cast<float>(power + (13 << 23));
    int bits = ((power - 0x38800000) >> 13) + (kiln__bit_cast<int>(sum) & 0xfff);
    return (unsigned short)((u > 0x7f800000 ? 0x7e00 : bits) | sign);
}
#endif
KILN_FN unsigned short kiln__f16_from(double v) { return kiln__f16_from(kiln__round_to_odd(v)); }

//% section float16 needs half_common float16_bits when float16
// float16: IEEE binary16, two bytes in memory. An integer that float would round is far beyond the
// largest float16, so the way through float rounds once.
template <class I> KILN_FN unsigned short kiln__f16_from_int(I v)
{
    return kiln__f16_from((float)v);
}
struct alignas(2) float16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(float16, kiln__f16_from, kiln__f16_from_int, kiln__f16_to)
};
KILN__HALF(float16)

//% section bfloat16_bits on cuda
// bfloat16_bits (CUDA): to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__bf16_from(float v)
{
#if __CUDA_ARCH__ >= 800
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
#else
    unsigned int u = __float_as_uint(v);
    return v != v ? 0x7fff : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
#endif
}
// Through a float rounded to odd, which keeps the later rounding exact.
KILN_FN unsigned short kiln__bf16_from(double v)
{
    float f = __double2float_rz(v);
    return kiln__bf16_from(__uint_as_float(__float_as_uint(f) | (double(f) != v)));
}
// One instruction for either half of a word, where a shift needs two for the upper one.
KILN_FN float kiln__bf16_to(unsigned short bits)
{
    float v;
    asm("mov.b32 %0, {%1, %2};" : "=f"(v) : "h"((unsigned short)0), "h"(bits));
    return v;
}

//% section bfloat16_bits on cpu needs bits
// bfloat16_bits (CPU): to and from wider floats, rounded once, to nearest even.
KILN_FN unsigned short kiln__bf16_from(float v)
{
    unsigned int u = kiln__bit_cast<unsigned int>(v);
    unsigned int rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (unsigned short)(v != v ? 0x7fff : rounded);
}
KILN_FN unsigned short kiln__bf16_from(double v) { return kiln__bf16_from(kiln__round_to_odd(v)); }
KILN_FN float kiln__bf16_to(unsigned short bits)
{
    return kiln__bit_cast<float>((unsigned int)bits << 16);
}

//% section bfloat16 needs half_common bfloat16_bits when bfloat16
// bfloat16: the upper half of a float, two bytes in memory. Of an integer that double would round
// the last digits become one that is set if any of them was, so that the result is rounded once.
template <class I> KILN_FN unsigned short kiln__bf16_from_int(I v)
{
    if constexpr (sizeof(I) == 8) {
        const I limit = (I)1 << 53;
        bool big = v >= limit || ((I)-1 < (I)0 && v <= -limit);
        v = big ? (v & ~(I)0xfff) | (I)((v & 0xfff) != 0 ? 0x800 : 0) : v;
    }
    return kiln__bf16_from((double)v);
}
struct alignas(2) bfloat16 {
    unsigned short kiln__bits;
    KILN__HALF_MEMBERS(bfloat16, kiln__bf16_from, kiln__bf16_from_int, kiln__bf16_to)
};
KILN__HALF(bfloat16)

//% section float8_words on cuda
// float8_words (CUDA): the bits of a float.
KILN_FN int kiln__f8_word(float v) { return __float_as_int(v); }
KILN_FN float kiln__f8_float(int bits) { return __int_as_float(bits); }
// A double as a float rounded to odd, which keeps the later rounding exact.
KILN_FN float kiln__f8_odd(double v)
{
    float f = __double2float_rz(v);
    return __uint_as_float(__float_as_uint(f) | (double(f) != v));
}

//% section float8_words on cpu needs bits
// float8_words (CPU): the bits of a float.
KILN_FN int kiln__f8_word(float v) { return kiln__bit_cast<int>(v); }
KILN_FN float kiln__f8_float(int bits) { return kiln__bit_cast<float>(bits); }
KILN_FN float kiln__f8_odd(double v) { return kiln__round_to_odd(v); }

//% section float8_from on cuda needs float8_words float16_bits
//% section float8_from on cpu needs float8_words float16_bits
// float8_from: a float rounded to `digits` bits of fraction, to nearest even. Adding a power of two
// that is 2^(23 - digits) times the leading one lets the float unit round; below the least normal
// number, 2 to the power `least`, that power stays, which rounds to a subnormal one. `most` is the
// first number, as a word, whose code is no number's; `over` is that of NaN. Codes are in order.
template <int digits, int least, int most, int over> KILN_FN unsigned char kiln__f8_from(float v)
{
    constexpr int shift = 23 - digits, first = (127 + least) << 23;
    int word = kiln__f8_word(v), u = word & 0x7fffffff;
    int clamped = u < most ? u : most;
    int power = clamped & 0x7f800000;
    power = power > first ? power : first;
    float sum = kiln__f8_float(clamped) + kiln__f8_float(power + (shift << 23));
    int bits = ((power - first) >> shift) + (kiln__f8_word(sum) & ((4 << digits) - 1));
    return (unsigned char)((u > 0x7f800000 ? over : bits) | (word >> 24 & 0x80));
}
// e4m3 as a float16 with an exponent that is 8 too small; the product is exact.
KILN_FN float kiln__e4m3_by_f16(unsigned char bits)
{
    int half = (bits & 0x80) << 8 | (bits & 0x7f) << 7;
    float v = kiln__f16_to((unsigned short)half) * 256.0f;
    return (bits & 0x7f) == 0x7f ? kiln__f8_float(0x7fc00000 | half << 16) : v;
}

//% section float8_bits on cuda needs float8_from float16_bits
// float8_bits (CUDA): the instructions take two numbers, of which the first becomes the upper byte, and
// give the largest number for those that are too large. Bits of e5m2 are the upper ones of a float16.
#if __CUDA_ARCH__ >= 900 ||                                                                        \
    (__CUDA_ARCH__ == 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ > 1200)
KILN_FN unsigned char kiln__e4m3_from(float v)
{
    unsigned short bits;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(v));
    return (unsigned char)(fabsf(v) <= 464.0f ? bits : bits | 0x7f);
}
KILN_FN unsigned char kiln__e5m2_from(float v)
{
    unsigned short bits;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(v));
    return (unsigned char)(fabsf(v) >= 61440.0f ? (bits & 0x80) | 0x7c : bits);
}
KILN_FN float kiln__e4m3_to(unsigned char bits)
{
    unsigned int halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)bits));
    return kiln__f16_to((unsigned short)halves);
}
#else
KILN_FN unsigned char kiln__e4m3_from(float v) { return kiln__f8_from<3, -6, 0x43f00000, 0x7f>(v); }
KILN_FN unsigned char kiln__e5m2_from(float v) { return kiln__f8_from<2, -14, 0x47800000, 0x7e>(v); }
KILN_FN float kiln__e4m3_to(unsigned char bits) { return kiln__e4m3_by_f16(bits); }
#endif
KILN_FN float kiln__e5m2_to(unsigned char bits) { return kiln__f16_to((unsigned short)(bits << 8)); }

//% section float8_bits on cpu needs float8_from float16_bits
// float8_bits (CPU): to and from float.
KILN_FN unsigned char kiln__e4m3_from(float v) { return kiln__f8_from<3, -6, 0x43f00000, 0x7f>(v); }
KILN_FN unsigned char kiln__e5m2_from(float v) { return kiln__f8_from<2, -14, 0x47800000, 0x7e>(v); }
KILN_FN float kiln__e4m3_to(unsigned char bits) { return kiln__e4m3_by_f16(bits); }
KILN_FN float kiln__e5m2_to(unsigned char bits) { return kiln__f16_to((unsigned short)(bits << 8)); }

//# An integer that float would round is far beyond the largest number of either.
//% for x | bits | what
//% | float8_e4m3fn | e4m3 | 4 bits of exponent and 3 of fraction, no infinities, one NaN: what is too large
//% | float8_e5m2 | e5m2 | the upper half of a float16; what is too large is infinite
//% section ${x} needs half_common float8_bits when ${x}
// ${x}: ${what}.
KILN_FN unsigned char kiln__${bits}_from(double v) { return kiln__${bits}_from(kiln__f8_odd(v)); }
template <class I> KILN_FN unsigned char kiln__${bits}_from_int(I v)
{
    return kiln__${bits}_from((float)v);
}
struct ${x} {
    unsigned char kiln__bits;
    KILN__HALF_MEMBERS(${x}, kiln__${bits}_from, kiln__${bits}_from_int, kiln__${bits}_to)
};
KILN__HALF(${x})
//% end

//% section half needs float16 when half !cuda_fp16.h
typedef float16 half;

//% section __half needs float16 when __half !cuda_fp16.h
typedef float16 __half;

//% section nv_bfloat16 needs bfloat16 when nv_bfloat16 !cuda_bf16.h
typedef bfloat16 nv_bfloat16;

//% section __nv_bfloat16 needs bfloat16 when __nv_bfloat16 !cuda_bf16.h
typedef bfloat16 __nv_bfloat16;

//% section __nv_fp8_e4m3 needs float8_e4m3fn when __nv_fp8_e4m3 !cuda_fp8.h
typedef float8_e4m3fn __nv_fp8_e4m3;

//% section __nv_fp8_e5m2 needs float8_e5m2 when __nv_fp8_e5m2 !cuda_fp8.h
typedef float8_e5m2 __nv_fp8_e5m2;

//% section half_casts needs float16
//% when __float2half __float2half_rn __double2half __half2float !cuda_fp16.h
// half_casts: conversions by CUDA's names.
KILN_FN float16 __float2half(float v) { return v; }
KILN_FN float16 __float2half_rn(float v) { return v; }
KILN_FN float16 __double2half(double v) { return v; }
KILN_FN float __half2float(float16 v) { return v; }

//% section bfloat16_casts needs bfloat16
//% when __float2bfloat16 __float2bfloat16_rn __double2bfloat16 __bfloat162float !cuda_bf16.h
// bfloat16_casts: conversions by CUDA's names.
KILN_FN bfloat16 __float2bfloat16(float v) { return v; }
KILN_FN bfloat16 __float2bfloat16_rn(float v) { return v; }
KILN_FN bfloat16 __double2bfloat16(double v) { return v; }
KILN_FN float __bfloat162float(bfloat16 v) { return v; }
