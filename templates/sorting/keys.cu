//% plain BELOW DOWN FLIP KILN__DOWN KILN__INFINITY KILN__KIND KILN__PART KILN__SORT_FN KILN__UNROLL ENCODED TOP ZERO
//% plain digit_of_encoded encode decode monotone
//% plain KILN__WORD KIND KIND_COMPLEX KIND_FLOATING KIND_SIGNED KIND_TRUTH KIND_UNSIGNED NOWHERE
//% plain SIGN W _Pragma __device__ __forceinline__ a b bits digit digit_of first high imaginary low
//% plain p piece radix_key_of radix_keys_of real second size two_radix_keys two_words w word
// Keys of sorts: the elements as they are, and the digits of their radix keys.
//
// What the compiler's options define: KILN__WORD, an unsigned integer as large as an element (of complex128 two of
// them), KILN__PART, the same of a real part, KILN__KIND, KILN__INFINITY, the bits of the largest number of a
// floating-point dtype, and KILN__DOWN: descending. A radix key is an unsigned integer: the order of radix keys is the
// one that is wanted of elements. Elements are moved unchanged; -0 and +0 have one radix key, and all NaN have the
// last one, whatever the direction.
//# Radix keys are computed again wherever they are asked for, because an element's bits cannot be had back from its
//# radix key.
struct alignas(16) two_words {
    unsigned long long low, high;
};
typedef KILN__WORD word;
typedef KILN__PART piece;
enum { KIND_TRUTH, KIND_UNSIGNED, KIND_SIGNED, KIND_FLOATING, KIND_COMPLEX };
constexpr int KIND = KILN__KIND;
constexpr bool DOWN = KILN__DOWN;
constexpr piece NOWHERE = piece(~piece(0)), FLIP = DOWN ? NOWHERE : piece(0);
constexpr piece SIGN = piece(piece(1) << (8 * sizeof(piece) - 1));
#define KILN__SORT_FN static __device__ __forceinline__
#define KILN__UNROLL _Pragma("unroll")

KILN__SORT_FN piece radix_key_of(piece bits)
{
    if constexpr (KIND == KIND_TRUTH) {
        return piece((bits != 0) ^ (DOWN ? 1 : 0));
    } else if constexpr (KIND == KIND_UNSIGNED) {
        return piece(bits ^ FLIP);
    } else if constexpr (KIND == KIND_SIGNED) {
        return piece(bits ^ SIGN ^ FLIP);
    } else {
        const piece size = piece(bits & piece(~SIGN));
        if (size > piece(KILN__INFINITY))
            return NOWHERE;
        return piece((bits != size && size != 0 ? piece(~bits) : piece(bits | SIGN)) ^ FLIP);
    }
}

// Complex numbers: by the real part, then by the imaginary one; those with a NaN behind all others, first those
// that have it in the imaginary part alone, then in the real part alone, each by the part that is a number.
struct two_radix_keys {
    piece first, second;
};
template <class W> KILN__SORT_FN two_radix_keys radix_keys_of(const W &w)
{
    piece real, imaginary;
    if constexpr (sizeof(W) == sizeof(two_words)) {
        real = piece(w.low), imaginary = piece(w.high);
    } else {
        real = piece(w), imaginary = piece(w >> (4 * sizeof(W)));
    }
    const piece a = radix_key_of(real), b = radix_key_of(imaginary);
    if (a != NOWHERE && b != NOWHERE)
        return {a, b};
    if (a != NOWHERE)
        return {piece(NOWHERE - 2), a};
    return {b != NOWHERE ? piece(NOWHERE - 1) : NOWHERE, b != NOWHERE ? b : piece(0)};
}

// The 8 bits of number `digit` of a radix key, of which 0 counts least.
template <class W> KILN__SORT_FN unsigned digit_of(const W &w, int digit)
{
    if constexpr (KIND == KIND_COMPLEX) {
        const two_radix_keys p = radix_keys_of(w);
        return digit < (int)sizeof(piece)
                   ? unsigned(p.second >> (8 * digit)) & 255u
                   : unsigned(p.first >> (8 * (digit - (int)sizeof(piece)))) & 255u;
    } else {
        return unsigned(radix_key_of(piece(w)) >> (8 * digit)) & 255u;
    }
}

// Elements of float32 are moved encoded, so that a pass finds a digit in fewer instructions: as unsigned integers in
// the order of radix keys, from which the elements can be had back. Every NaN is above TOP, the code of the largest
// number, and -0 is beside +0; digit_of_encoded() is of the radix key, which is the same for all of either kind.
constexpr bool ENCODED = KIND == KIND_FLOATING && sizeof(piece) == 4;
constexpr piece BELOW = piece(piece(~SIGN) - piece(KILN__INFINITY)); // so many NaN have a sign
constexpr piece TOP = piece(piece(piece(KILN__INFINITY) | SIGN) - BELOW);
constexpr piece ZERO = DOWN ? piece(TOP - piece(SIGN - BELOW)) : piece(SIGN - 1 - BELOW); // the lower one of both zeroes
template <class W> KILN__SORT_FN W encode(const W &w)
{
    if constexpr (ENCODED) {
        const piece monotone = piece(((w & SIGN) != 0 ? piece(~w) : piece(w | SIGN)) - BELOW);
        return W(DOWN && monotone <= TOP ? piece(TOP - monotone) : monotone);
    } else {
        return w;
    }
}
template <class W> KILN__SORT_FN W decode(const W &w)
{
    if constexpr (ENCODED) {
        const piece monotone = piece((DOWN && w <= TOP ? piece(TOP - w) : piece(w)) + BELOW);
        return W((monotone & SIGN) != 0 ? piece(monotone ^ SIGN) : piece(~monotone));
    } else {
        return w;
    }
}
template <class W> KILN__SORT_FN unsigned digit_of_encoded(const W &w, int digit)
{
    if constexpr (ENCODED) {
        const piece p = w > TOP ? piece(TOP + 1) : piece(w + (w == ZERO ? 1 : 0));
        return unsigned(p >> (8 * digit)) & 255u;
    } else {
        return digit_of(w, digit);
    }
}
