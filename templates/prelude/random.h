//% section philox_multiply on cuda
// philox_multiply (CUDA): both halves of a product of 32-bit numbers by one instruction. Of two products, or
// of one whose halves are taken by shifts, NVRTC makes several, and products that asm makes are computed anew
// for each element where elements branch.
KILN_FN unsigned int kiln__philox_multiply(unsigned int a, unsigned int b, unsigned int &high)
{
    const double halves = __longlong_as_double((long long)((unsigned long long)a * b));
    high = (unsigned int)__double2hiint(halves);
    return (unsigned int)__double2loint(halves);
}

//% section philox_multiply on cpu
// philox_multiply (CPU): both halves of a product of 32-bit numbers.
KILN_FN unsigned int kiln__philox_multiply(unsigned int a, unsigned int b, unsigned int &high)
{
    const unsigned long long product = (unsigned long long)a * b;
    high = (unsigned int)(product >> 32);
    return (unsigned int)product;
}

//% section philox needs philox_multiply when kiln_philox
// philox: Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Four
// random words are a function of a key of 64 bits and a counter of 128, `low` and `high`.
struct kiln_philox_words {
    unsigned int x, y, z, w;
};
template <int Rounds>
KILN_FN void kiln__philox_rounds(kiln_philox_words &c, unsigned int k0, unsigned int k1)
{
    if constexpr (Rounds > 0) {
        unsigned int high_x, high_z;
        const unsigned int low_x = kiln__philox_multiply(0xD2511F53u, c.x, high_x);
        const unsigned int low_z = kiln__philox_multiply(0xCD9E8D57u, c.z, high_z);
        c.x = high_z ^ c.y ^ k0;
        c.y = low_z;
        c.z = high_x ^ c.w ^ k1;
        c.w = low_x;
        kiln__philox_rounds<Rounds - 1>(c, k0 + 0x9E3779B9u, k1 + 0xBB67AE85u);
    }
}
KILN_FN kiln_philox_words kiln_philox(unsigned long long key, unsigned long long low,
                                      unsigned long long high)
{
    kiln_philox_words c = {(unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high,
                           (unsigned int)(high >> 32)};
    kiln__philox_rounds<10>(c, (unsigned int)key, (unsigned int)(key >> 32));
    return c;
}

//% section random_words needs philox when kiln_random_word kiln_random_word64
// random_words: the random word of element i in draw `draw` of a key. Four elements share a call of
// Philox, two where words have 64 bits. Kernels whose threads take neighbours write their indices as
// `first | k`, of which compilers see that the blocks are equal, so that they compute each once; of
// `first + k` NVRTC does not see it.
template <int Lanes> KILN_FN unsigned long long kiln__random_block(unsigned long long n)
{
    return n / Lanes;
}
KILN_FN unsigned int kiln_random_word(unsigned long long key, unsigned long long draw, long long i)
{
    const unsigned long long n = (unsigned long long)i;
    const kiln_philox_words c = kiln_philox(key, kiln__random_block<4>(n), draw);
    const unsigned int even = n & 2 ? c.z : c.x, odd = n & 2 ? c.w : c.y;
    return n & 1 ? odd : even;
}
KILN_FN unsigned long long kiln_random_word64(unsigned long long key, unsigned long long draw,
                                              long long i)
{
    const unsigned long long n = (unsigned long long)i;
    const kiln_philox_words c = kiln_philox(key, kiln__random_block<2>(n), draw);
    const unsigned int low = n & 1 ? c.z : c.x, high = n & 1 ? c.w : c.y;
    return (unsigned long long)high << 32 | low;
}
// 53 bits of two words as a number in [0, 1). The halves have signs, for vector units convert such.
KILN_FN double kiln__random_unit(unsigned int low, unsigned int high)
{
    return ((double)(int)(high >> 5) * 67108864.0 + (double)(int)(low >> 6)) *
           1.1102230246251565e-16;
}

//% section random_bits needs random_words when kiln_random_bits
// random_bits: all bits of an integer, each 0 or 1 with equal probability.
template <class T> KILN_FN T kiln_random_bits(unsigned long long key, unsigned long long draw,
                                              long long i)
{
    if constexpr (sizeof(T) == 8)
        return T(kiln_random_word64(key, draw, i));
    else
        return T(kiln_random_word(key, draw, i) >> (32 - 8 * sizeof(T)));
}

//% section random_uniform needs random_words when kiln_random_uniform
// random_uniform: multiples of 2^-Bits in [0, 1), where Bits is the width of T's significand.
template <class T, int Bits>
KILN_FN T kiln_random_uniform(unsigned long long key, unsigned long long draw, long long i)
{
    if constexpr (Bits > 32) {
        const unsigned long long n = (unsigned long long)i;
        const kiln_philox_words c = kiln_philox(key, kiln__random_block<2>(n), draw);
        return T(kiln__random_unit(n & 1 ? c.z : c.x, n & 1 ? c.w : c.y));
    } else {
        const int bits = (int)(kiln_random_word(key, draw, i) >> (32 - Bits));
        return T((float)bits * (1.0f / (float)(1 << Bits)));
    }
}

//% section random_normal_parts on cuda
// random_normal_parts (CUDA): Box's and Muller's transformation by the units for special functions,
// which are within 2^-21 of the exact values.
KILN_FN float kiln__random_normal(unsigned int u, unsigned int v, bool odd)
{
    const float s = fmaf((float)u, 2.3283064365386963e-10f, 1.1641532182693481e-10f); // in (0, 1]
    const float angle = (float)(int)v * 1.4629180792671596e-9f;                       // 2^-31 pi
    float log2s, radius, part;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2s) : "f"(s));
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(radius) : "f"(fabsf(log2s * 1.3862943611198906f)));
    if (odd)
        asm("sin.approx.ftz.f32 %0, %1;" : "=f"(part) : "f"(angle));
    else
        asm("cos.approx.ftz.f32 %0, %1;" : "=f"(part) : "f"(angle));
    return radius * part;
}
KILN_FN double kiln__random_normal(double u, double v, bool odd)
{
    return sqrt(-2.0 * log(1.0 - u)) * (odd ? sinpi(2.0 * v - 1.0) : cospi(2.0 * v - 1.0));
}

//% section random_normal_parts on cpu needs log sqrt cos
// random_normal_parts (CPU): Box's and Muller's transformation by functions that have vector variants.
KILN_FN float kiln__random_normal(unsigned int u, unsigned int v, bool odd)
{
    const float s = (float)u * 2.3283064365386963e-10f + 1.1641532182693481e-10f; // in (0, 1]
    const float angle = (float)(int)v * 1.4629180792671596e-9f;                   // 2^-31 pi
    return sqrtf(-2.0f * logf(s)) * cosf(angle - (odd ? 1.5707963267948966f : 0.0f));
}
KILN_FN double kiln__random_normal(double u, double v, bool odd)
{
    const double angle = 3.141592653589793 * (2.0 * v - 1.0);
    return sqrt(-2.0 * log(1.0 - u)) * cos(angle - (odd ? 1.5707963267948966 : 0.0));
}

//% section random_normal needs random_words random_normal_parts when kiln_random_normal
// random_normal: the standard normal distribution. Two neighbours share a pair of words.
template <class T> KILN_FN T kiln_random_normal(unsigned long long key, unsigned long long draw,
                                                long long i)
{
    const unsigned long long n = (unsigned long long)i;
    if constexpr (sizeof(T) > 4) {
        const kiln_philox_words c = kiln_philox(key, kiln__random_block<2>(n), draw);
        return T(kiln__random_normal(kiln__random_unit(c.x, c.y), kiln__random_unit(c.z, c.w),
                                     (n & 1) != 0));
    } else {
        const kiln_philox_words c = kiln_philox(key, kiln__random_block<4>(n), draw);
        return T(kiln__random_normal(n & 2 ? c.z : c.x, n & 2 ? c.w : c.y, (n & 1) != 0));
    }
}

//% section random_exponential needs random_words log when kiln_random_exponential
// random_exponential: the exponential distribution of mean 1, by inversion.
template <class T> KILN_FN T kiln_random_exponential(unsigned long long key,
                                                     unsigned long long draw, long long i)
{
    if constexpr (sizeof(T) > 4) {
        const unsigned long long word = kiln_random_word64(key, draw, i);
        return T(-log(1.0 - kiln__random_unit((unsigned int)word, (unsigned int)(word >> 32))));
    } else {
        const float u = (float)kiln_random_word(key, draw, i);
        return T(-logf(u * 2.3283064365386963e-10f + 1.1641532182693481e-10f));
    }
}

//% section random_more needs philox
// random_more: further words of element i. Attempt t has two blocks of four words, 2 t and 2 t + 1;
// attempts from 1 on have counters that no element below 2^48 has as its first.
KILN_FN kiln_philox_words kiln__random_more(unsigned long long key, unsigned long long draw,
                                            long long i, unsigned int block)
{
    return kiln_philox(key, (unsigned long long)i | (unsigned long long)(block + 2) << 48, draw);
}

//% section random_integer needs random_words random_more high64 when kiln_random_integer
// random_integer: low <= r < high, all with equal probability (Lemire 2019). A word is refused where
// its product with the number of values falls into the part of 2^32 (or 2^64) that would make some
// values likelier. Ranges of at most 2^32 values take words of 32 bits, whatever T is. No value is
// in an empty range: the result is `low`.
template <class T>
KILN_FN T kiln_random_integer(unsigned long long key, unsigned long long draw, long long i, T low,
                              T high)
{
    const unsigned long long range = (unsigned long long)high - (unsigned long long)low;
    unsigned long long found = 0;
    if (low >= high)
        return low;
    if (range <= 0x100000000ull) {
        unsigned long long product = kiln_random_word(key, draw, i) * range;
        if ((unsigned int)product < range) {
            const unsigned int least = (unsigned int)((0x100000000ull - range) % range);
            for (unsigned int t = 0; (unsigned int)product < least; t++)
                product = kiln__random_more(key, draw, i, t).x * range;
        }
        found = product >> 32;
    } else {
        unsigned long long word = kiln_random_word64(key, draw, i);
        if (word * range < range) {
            const unsigned long long least = (0ull - range) % range;
            for (unsigned int t = 0; word * range < least; t++) {
                const kiln_philox_words c = kiln__random_more(key, draw, i, t);
                word = (unsigned long long)c.y << 32 | c.x;
            }
        }
        found = kiln__high64(word, range);
    }
    return T((unsigned long long)low + found);
}

//% section random_attempt when KILN_ATTEMPT
// random_attempt: the first arguments of the functions below. There are none, but in kernels that attempt
// a block of elements at once, and then those that were left in doubt (cpu/row.cpp): the number of the
// attempt, and what is set where there is a doubt. That has 32 bits where several calls share it, and the third attempt
// leaves none. Else it has 64, which the next attempt finds again.
#define KILN_ATTEMPT

//% section drawn_integer needs random_integer when kiln_drawn_integer
// drawn_integer: the same.
template <class T>
KILN_FN T kiln_drawn_integer(unsigned long long key, unsigned long long draw, long long i, T low,
                             T high)
{
    return kiln_random_integer<T>(key, draw, i, low, high);
}

//% section drawn_integer on cpu needs random_integer when kiln_drawn_integer
// drawn_integer (CPU): the first word alone, without a loop, so that compilers make vectors. It may be
// refused only where the product with the number of values is small: how small, is told where compilers know it.
template <class T, class Doubt>
KILN_FN T kiln_drawn_integer(int attempt, Doubt &doubt, unsigned long long key,
                             unsigned long long draw, long long i, T low, T high)
{
    const unsigned long long range = (unsigned long long)high - (unsigned long long)low;
    unsigned long long found = 0;
    if (attempt > 0) {
        doubt = 0;
        return kiln_random_integer<T>(key, draw, i, low, high);
    }
    if (range <= 0x100000000ull) {
        const unsigned long long product = kiln_random_word(key, draw, i) * range;
        const unsigned long long most =
            __builtin_constant_p(range) && range > 0 ? (0x100000000ull - range) % range : range;
        doubt |= (unsigned int)product < most;
        found = product >> 32;
    } else {
        const unsigned long long word = kiln_random_word64(key, draw, i), half = 0xffffffffull;
        const unsigned long long a = (word & half) * (range & half), b = (word >> 32) * (range & half);
        const unsigned long long c = (word & half) * (range >> 32), d = (word >> 32) * (range >> 32);
        const unsigned long long middle = (a >> 32) + (b & half) + (c & half);
        doubt |= (middle << 32 | (a & half)) < range;
        found = d + (b >> 32) + (c >> 32) + (middle >> 32);
    }
    return low >= high ? low : T((unsigned long long)low + found);
}

//% section random_bernoulli needs random_words when kiln_random_bernoulli
// random_bernoulli: true with probability p, rounded down to a multiple of 2^-32.
KILN_FN bool kiln_random_bernoulli(unsigned long long key, unsigned long long draw, long long i,
                                   double p)
{
    const unsigned long long limit =
        p > 0.0 ? p < 1.0 ? (unsigned long long)(p * 4294967296.0) : 0x100000000ull : 0;
    return kiln_random_word(key, draw, i) < limit;
}

//% section random_gamma needs random_more random_words log sqrt cos pow when kiln_random_gamma
// random_gamma: the gamma distribution of shape k and scale 1 (Marsaglia and Tsang 2000).
KILN_FN double kiln_random_gamma(unsigned long long key, unsigned long long draw, long long i,
                                 double k)
{
    const double d = (k < 1.0 ? k + 1.0 : k) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    double v = 0.0, first = 1.0;
    if (!(k > 0.0))
        return k == 0.0 ? 0.0 : sqrt(-1.0);
    for (unsigned int t = 0; t < 1000; t++) {
        const kiln_philox_words a = kiln__random_more(key, draw, i, 2 * t);
        const kiln_philox_words b = kiln__random_more(key, draw, i, 2 * t + 1);
        const double x = sqrt(-2.0 * log(1.0 - kiln__random_unit(a.x, a.y))) *
                         cos(6.283185307179586 * kiln__random_unit(a.z, a.w));
        const double u = 1.0 - kiln__random_unit(b.x, b.y);
        first = 1.0 - kiln__random_unit(b.z, b.w);
        v = 1.0 + c * x;
        v = v * v * v;
        if (v > 0.0 && log(u) < 0.5 * x * x + d * (1.0 - v + log(v)))
            break;
    }
    return k < 1.0 ? d * v * pow(first, 1.0 / k) : d * v;
}

//% section drawn_gamma needs random_gamma when kiln_drawn_gamma
// drawn_gamma: the same.
KILN_FN double kiln_drawn_gamma(unsigned long long key, unsigned long long draw, long long i,
                                double k)
{
    return kiln_random_gamma(key, draw, i, k);
}

//% section drawn_gamma on cpu needs random_gamma when kiln_drawn_gamma
// drawn_gamma (CPU): one candidate alone, without a loop, so that compilers make vectors. Where a kernel keeps a
// word for each element, that is the number of the next candidate.
template <class Doubt>
KILN_FN double kiln_drawn_gamma(int attempt, Doubt &doubt, unsigned long long key,
                                unsigned long long draw, long long i, double k)
{
    constexpr bool keeps = sizeof(Doubt) == 8;
    if (!keeps && attempt > 1)
        return kiln_random_gamma(key, draw, i, k);
    const double shape = k > 0.0 ? k : 1.0;
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    const unsigned int t = keeps && attempt > 0 && doubt != (Doubt)-1 ? (unsigned int)doubt : 0;
    const kiln_philox_words a = kiln__random_more(key, draw, i, 2 * t);
    const kiln_philox_words b = kiln__random_more(key, draw, i, 2 * t + 1);
    const double x = sqrt(-2.0 * log(1.0 - kiln__random_unit(a.x, a.y))) *
                     cos(6.283185307179586 * kiln__random_unit(a.z, a.w));
    const double u = 1.0 - kiln__random_unit(b.x, b.y), first = 1.0 - kiln__random_unit(b.z, b.w);
    const double root = 1.0 + c * x, v = root * root * root;
    const bool taken =
        (v > 0.0) & (log(u) < 0.5 * x * x + d * (1.0 - v + log(v > 0.0 ? v : 1.0)));
    const Doubt next = k > 0.0 && !taken && t < 999 ? (Doubt)(t + 1) : (Doubt)0;
    if constexpr (keeps)
        doubt = next;
    else
        doubt |= next;
    const double found = k < 1.0 ? d * v * pow(first, 1.0 / shape) : d * v;
    return k > 0.0 ? found : k == 0.0 ? 0.0 : sqrt(-1.0);
}

//% section random_poisson needs random_more random_words log exp sqrt floor fabs lgamma when kiln_random_poisson
// random_poisson: the Poisson distribution of mean `mean`: by inversion below 10, else by Hormann's
// transformed rejection (PTRS, 1993). -1 where there is no such distribution.
KILN_FN long long kiln_random_poisson(unsigned long long key, unsigned long long draw, long long i,
                                      double mean)
{
    if (!(mean >= 0.0) || mean > 9.2e18)
        return -1;
    if (mean < 10.0) {
        const kiln_philox_words c = kiln__random_more(key, draw, i, 0);
        double p = exp(-mean), u = kiln__random_unit(c.x, c.y);
        long long k = 0;
        for (; u >= p && k < 1000; k++) {
            u -= p;
            p *= mean / (double)(k + 1);
        }
        return k;
    }
    const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    const double inverse = 1.1239 + 1.1328 / (b - 3.4), bound = 0.9277 - 3.6224 / (b - 2.0);
    double k = 0.0;
    for (unsigned int t = 0; t < 1000; t++) {
        const kiln_philox_words c = kiln__random_more(key, draw, i, t);
        const double u = kiln__random_unit(c.x, c.y) - 0.5, v = 1.0 - kiln__random_unit(c.z, c.w);
        const double s = 0.5 - fabs(u);
        k = floor((2.0 * a / s + b) * u + mean + 0.43);
        if (s >= 0.07 && v <= bound)
            break;
        if (k >= 0.0 && !(s < 0.013 && v > s) &&
            log(v) + log(inverse) - log(a / (s * s) + b) <=
                k * log(mean) - mean - lgamma(k + 1.0))
            break;
    }
    return (long long)k;
}

//% section drawn_poisson needs random_poisson when kiln_drawn_poisson
// drawn_poisson: the same.
KILN_FN long long kiln_drawn_poisson(unsigned long long key, unsigned long long draw, long long i,
                                     double mean)
{
    return kiln_random_poisson(key, draw, i, mean);
}

//% section drawn_poisson on cpu needs random_poisson when kiln_drawn_poisson
// drawn_poisson (CPU): the first numbers of the inversion, and the first candidate where it is taken at sight, without
// loops, so that compilers make vectors. All else is in doubt, and found by the function itself.
template <int Least, int Most>
KILN_FN void kiln__poisson_steps(double &u, double &p, long long &k, double mean)
{
    if constexpr (Least < Most) {
        const bool more = u >= p;
        u = more ? u - p : u;
        p = more ? p * (mean / (double)(Least + 1)) : p;
        k = more ? Least + 1 : k;
        kiln__poisson_steps<Least + 1, Most>(u, p, k, mean);
    }
}
template <class Doubt>
KILN_FN long long kiln_drawn_poisson(int attempt, Doubt &doubt, unsigned long long key,
                                     unsigned long long draw, long long i, double mean)
{
    if (attempt > 0) {
        if (sizeof(Doubt) == 8)
            doubt = 0;
        return kiln_random_poisson(key, draw, i, mean);
    }
    const bool valid = mean >= 0.0 && mean <= 9.2e18;
    const kiln_philox_words c = kiln__random_more(key, draw, i, 0);
    double u = kiln__random_unit(c.x, c.y);
    long long found = 0;
    if (mean < 10.0) {
        double p = exp(-mean);
        kiln__poisson_steps<0, 12>(u, p, found, mean);
        doubt = valid & (u >= p) ? 1 : doubt;
    } else {
        const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
        const double bound = 0.9277 - 3.6224 / (b - 2.0), v = 1.0 - kiln__random_unit(c.z, c.w);
        const double s = 0.5 - fabs(u - 0.5);
        const double at = (2.0 * a / s + b) * (u - 0.5) + mean + 0.43;
        found = (long long)at;
        doubt = valid & !((s >= 0.07) & (v <= bound) & (at >= 0.0)) ? 1 : doubt;
    }
    return valid ? found : -1;
}

//% section random_binomial needs random_more random_words log exp log1p sqrt floor fabs lgamma when kiln_random_binomial
// random_binomial: how many of n trials of probability p succeed: by inversion where fewer than 10 are
// expected, else by Hormann's transformed rejection (BTRS, 1993). -1 where there is no such
// distribution.
KILN_FN long long kiln_random_binomial(unsigned long long key, unsigned long long draw, long long i,
                                       long long n, double p)
{
    const bool flip = p > 0.5;
    const double q = flip ? 1.0 - p : p, count = (double)n;
    double k = 0.0;
    if (n < 0 || !(p >= 0.0 && p <= 1.0))
        return -1;
    if (count * q < 10.0) {
        const kiln_philox_words c = kiln__random_more(key, draw, i, 0);
        double mass = exp(count * log1p(-q)), u = kiln__random_unit(c.x, c.y);
        for (; u >= mass && k < count && k < 1000.0; k += 1.0) {
            u -= mass;
            mass *= (count - k) * q / ((k + 1.0) * (1.0 - q));
        }
    } else {
        const double root = sqrt(count * q * (1.0 - q)), b = 1.15 + 2.53 * root;
        const double a = -0.0873 + 0.0248 * b + 0.01 * q, middle = count * q + 0.5;
        const double bound = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * root;
        const double odds = log(q / (1.0 - q)), mode = floor((count + 1.0) * q);
        const double top = lgamma(mode + 1.0) + lgamma(count - mode + 1.0);
        for (unsigned int t = 0; t < 1000; t++) {
            const kiln_philox_words c = kiln__random_more(key, draw, i, t);
            const double u = kiln__random_unit(c.x, c.y) - 0.5;
            const double v = 1.0 - kiln__random_unit(c.z, c.w), s = 0.5 - fabs(u);
            k = floor((2.0 * a / s + b) * u + middle);
            if (s >= 0.07 && v <= bound)
                break;
            if (k >= 0.0 && k <= count &&
                log(v * alpha / (a / (s * s) + b)) <=
                    top - lgamma(k + 1.0) - lgamma(count - k + 1.0) + (k - mode) * odds)
                break;
        }
    }
    return flip ? n - (long long)k : (long long)k;
}

//% section random_permuted needs philox when kiln_random_permuted
// random_permuted: where i goes in a random permutation of 0 .. n - 1. A Feistel network permutes
// the numbers of as many bits as n - 1 has, 10 at least, in two parts; who lands outside goes on from
// there, so that nothing is stored and nothing sorted.
KILN_FN unsigned int kiln__permuted_mix(unsigned int part, unsigned int key)
{
    unsigned int f = (part ^ key) * 0x9E3779B1u;
    f = (f ^ f >> 15) * 0x85EBCA77u + key;
    f = (f ^ f >> 13) * 0xC2B2AE3Du;
    return f ^ f >> 16;
}
KILN_FN long long kiln_random_permuted(unsigned long long key, unsigned long long draw, long long i,
                                       long long n)
{
    const unsigned int attempts = 1u << 20;
    unsigned int bits = 10;
    while (bits < 63 && (1ull << bits) < (unsigned long long)n)
        bits++;
    const unsigned int low = (bits + 1) / 2;
    const unsigned int left_mask = (unsigned int)((1ull << bits / 2) - 1);
    const unsigned int right_mask = (unsigned int)((1ull << low) - 1);
    const kiln_philox_words k[3] = {kiln_philox(key, 0, draw), kiln_philox(key, 1, draw),
                                    kiln_philox(key, 2, draw)};
    const unsigned int keys[12] = {k[0].x, k[0].y, k[0].z, k[0].w, k[1].x, k[1].y,
                                   k[1].z, k[1].w, k[2].x, k[2].y, k[2].z, k[2].w};
    unsigned long long at = (unsigned long long)i;
    for (unsigned int t = 0; t < attempts; t++) {
        unsigned int left = (unsigned int)(at >> low), right = (unsigned int)at & right_mask;
        for (int r = 0; r < 12; r += 2) {
            left ^= kiln__permuted_mix(right, keys[r]) & left_mask;
            right ^= kiln__permuted_mix(left, keys[r + 1]) & right_mask;
        }
        at = (unsigned long long)left << low | right;
        if (at < (unsigned long long)n)
            break;
    }
    return (long long)at;
}

//% section drawn_permuted needs random_permuted when kiln_drawn_permuted
// drawn_permuted: the same.
KILN_FN long long kiln_drawn_permuted(unsigned long long key, unsigned long long draw, long long i,
                                      long long n)
{
    return kiln_random_permuted(key, draw, i, n);
}

//% section drawn_permuted on cpu needs random_permuted when kiln_drawn_permuted
// drawn_permuted (CPU): once through the network, without loops, so that compilers make vectors. Half of the
// numbers land outside at most. Where a kernel keeps a word of 64 bits for each element, that holds where
// it landed, and the next attempt goes on from there; else five more follow from the beginning.
struct kiln__permuted_parts {
    unsigned int low, left_mask, right_mask, keys[12];
};
template <int Rounds>
KILN_FN void kiln__permuted_rounds(unsigned int &left, unsigned int &right,
                                   const kiln__permuted_parts &p)
{
    if constexpr (Rounds > 0) {
        kiln__permuted_rounds<Rounds - 2>(left, right, p);
        left ^= kiln__permuted_mix(right, p.keys[Rounds - 2]) & p.left_mask;
        right ^= kiln__permuted_mix(left, p.keys[Rounds - 1]) & p.right_mask;
    }
}
template <int Attempts>
KILN_FN unsigned long long kiln__permuted_attempts(unsigned long long at, unsigned long long n,
                                                   const kiln__permuted_parts &p)
{
    if constexpr (Attempts > 0) {
        unsigned int left = (unsigned int)(at >> p.low), right = (unsigned int)at & p.right_mask;
        kiln__permuted_rounds<12>(left, right, p);
        const unsigned long long next = (unsigned long long)left << p.low | right;
        const unsigned long long last = kiln__permuted_attempts<Attempts - 1>(next, n, p);
        return next < n ? next : last;
    } else {
        return at;
    }
}
template <class Doubt>
KILN_FN long long kiln_drawn_permuted(int attempt, Doubt &doubt, unsigned long long key,
                                      unsigned long long draw, long long i, long long n)
{
    constexpr bool keeps = sizeof(Doubt) == 8;
    if (!keeps && attempt > 1)
        return kiln_random_permuted(key, draw, i, n);
    const unsigned int bits = n > 1024 ? 64 - __builtin_clzll((unsigned long long)n - 1) : 10;
    const kiln_philox_words k[3] = {kiln_philox(key, 0, draw), kiln_philox(key, 1, draw),
                                    kiln_philox(key, 2, draw)};
    const kiln__permuted_parts p = {(bits + 1) / 2,
                                    (unsigned int)((1ull << bits / 2) - 1),
                                    (unsigned int)((1ull << (bits + 1) / 2) - 1),
                                    {k[0].x, k[0].y, k[0].z, k[0].w, k[1].x, k[1].y,
                                     k[1].z, k[1].w, k[2].x, k[2].y, k[2].z, k[2].w}};
    const unsigned long long first = (unsigned long long)i, most = (unsigned long long)n;
    if constexpr (keeps) {
        const unsigned long long from = attempt == 0 || doubt == ~0ull ? first : doubt - 1;
        const unsigned long long at = kiln__permuted_attempts<1>(from, most, p);
        doubt = at >= most ? at + 1 : 0;
        return (long long)at;
    } else {
        const unsigned long long at = attempt == 0 ? kiln__permuted_attempts<1>(first, most, p)
                                                   : kiln__permuted_attempts<5>(first, most, p);
        doubt |= at >= most;
        return (long long)at;
    }
}
