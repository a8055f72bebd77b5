//% section memory_streamed
// memory_streamed (CUDA): runs of memory that a kernel reads and writes once leave the caches before the elements that
// indices name, which it may read or change again.
#ifndef KILN_LD
#define KILN_LD(p) __ldcs(p)
#define KILN_ST(p, v) __stcs(p, v)
#endif

//% section memory
// memory (CUDA): N neighbours of type T in one access of N * sizeof(T) = 1, 2, 4, 8 or 16 bytes;
// wider runs are split into accesses of 16. Addresses are multiples of the access.
// KILN_LD and KILN_ST are the accesses themselves, to be tuned (-DKILN_LD=__ldcs).
#ifndef KILN_LD
#define KILN_LD(p) (*(p))
#endif
#ifndef KILN_ST
#define KILN_ST(p, v) (*(p) = (v))
#endif
template <int bytes> struct kiln__word { typedef uint4 type; };
template <> struct kiln__word<1> { typedef unsigned char type; };
template <> struct kiln__word<2> { typedef unsigned short type; };
template <> struct kiln__word<4> { typedef unsigned int type; };
template <> struct kiln__word<8> { typedef uint2 type; };
template <class T, int N> KILN_FN void kiln__load(T (&dst)[N], const void *src)
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    static_assert(sizeof dst % sizeof(word) == 0, "an access has 1, 2, 4, 8 or 16 bytes");
    word w[sizeof dst / sizeof(word)];
    KILN_UNROLL
    for (int k = 0; k < (int)(sizeof dst / sizeof(word)); k++)
        w[k] = KILN_LD((const word *)src + k);
    memcpy(dst, w, sizeof dst);
}
template <class T, int N> KILN_FN void kiln__store(void *dst, const T (&src)[N])
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    static_assert(sizeof src % sizeof(word) == 0, "an access has 1, 2, 4, 8 or 16 bytes");
    word w[sizeof src / sizeof(word)];
    memcpy(w, src, sizeof src);
    KILN_UNROLL
    for (int k = 0; k < (int)(sizeof src / sizeof(word)); k++)
        KILN_ST((word *)dst + k, w[k]);
}

//% section memory_once
// memory_once (CUDA): kiln__load of 16 bytes that the kernel reads once: the caches drop them first.
template <class T, int N> KILN_FN void kiln__load_once(T (&dst)[N], const void *src)
{
    static_assert(sizeof dst == 16, "an access that is marked has 16 bytes");
    const uint4 w = __ldcs((const uint4 *)src);
    memcpy(dst, &w, sizeof dst);
}

//% section shifted needs memory
// shifted (CUDA): N neighbours of type T that begin anywhere, in an array that the kernel does not write:
// the aligned words that hold them, each of which holds one of them at least, are moved into place. They
// begin `past` bytes behind the beginning of such a word.
template <int bytes> struct kiln__shifted {
    static constexpr int word = bytes % 4 != 0 ? 1 : bytes < 8 ? 4 : 8;
};
template <int bytes> KILN_FN int kiln__past(const void *src)
{
    return (int)((size_t)src % kiln__shifted<bytes>::word);
}
template <class T, int N>
KILN_FN void kiln__load_shifted(T (&dst)[N], const void *src, const int past)
{
    constexpr int W = kiln__shifted<sizeof dst>::word, A = sizeof dst / W, L = sizeof dst / 4;
    typedef typename kiln__word<W>::type word;
    if constexpr (W == 1 || sizeof(T) >= 8) {
        KILN_UNROLL
        for (int k = 0; k < N; k++)
            dst[k] = ((const T *)src)[k];
    } else {
        const word *const from = (const word *)((const char *)src - past);
        word w[A + 1];
        unsigned int r[L + W / 4];
        KILN_UNROLL
        for (int k = 0; k < A; k++)
            w[k] = __ldg(from + k);
        w[A] = __ldg(from + (past != 0 ? A : A - 1));
        memcpy(r, w, sizeof r);
        if constexpr (W == 8) {
            KILN_UNROLL
            for (int k = 0; k <= L; k++)
                r[k] = past >= 4 ? r[k + 1] : r[k];
        }
        if constexpr (sizeof(T) < 4) {
            KILN_UNROLL
            for (int k = 0; k < L; k++)
                r[k] = __funnelshift_r(r[k], r[k + 1], 8 * past);
        }
        memcpy(dst, r, sizeof dst);
    }
}

//% section words needs memory when kiln__copied
// words (CUDA): 16 bytes that begin `past` bytes behind the beginning of two words.
KILN_FN uint4 kiln__word_within(const uint4 &low, const uint4 &high, int past)
{
    const unsigned int w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    unsigned int r[7];
    KILN_UNROLL
    for (int k = 0; k < 7; k++)
        r[k] = past & 4 ? w[k + 1] : w[k];
    KILN_UNROLL
    for (int k = 0; k < 5; k++)
        r[k] = past & 8 ? r[k + 2] : r[k];
    return make_uint4(__funnelshift_r(r[0], r[1], 8 * past), __funnelshift_r(r[1], r[2], 8 * past),
                      __funnelshift_r(r[2], r[3], 8 * past), __funnelshift_r(r[3], r[4], 8 * past));
}
// An aligned word of 16 bytes of a row that is a copy of another one, whose memory it shares nowhere. Rows have
// `bytes` bytes and begin anywhere, and the word may lie before the row, behind it, or across an end. Words that are
// loaded lie within the row; the elements near its ends are copied one by one, as numbers of their size.
template <class Bits, class Index> struct kiln__copied {
    char *to;
    const char *from;
    Index at, bytes;
    uint4 low, high;
    int past;
    bool whole;
    KILN_METHOD kiln__copied(char *row_to, const char *row_from, Index first, Index row_bytes)
        : to(row_to), from(row_from), at(first - (Index)((size_t)row_to % 128)), bytes(row_bytes)
    {
        past = (int)((size_t)(from + at) % 16);
        whole = at >= past && at - past + (past != 0 ? 32 : 16) <= bytes;
        if (whole) {
            const uint4 *const words = (const uint4 *)(from + (at - past));
            low = KILN_LD(words);
            high = KILN_LD(words + (past != 0));
        }
    }
    KILN_METHOD void store() const
    {
        if (whole)
            KILN_ST((uint4 *)(to + at), kiln__word_within(low, high, past));
        else if (at > -16 && at < bytes)
            store_elements();
    }
    KILN_METHOD void store_elements() const
    {
        constexpr int S = (int)sizeof(Bits), N = S < 4 ? 4 : 16 / S;
        _Pragma("unroll 1")
        for (Index first = at; first < at + 16; first += N * S) {
            Bits v[N];
            KILN_UNROLL
            for (int k = 0; k < N; k++)
                if (first + k * S >= 0 && first + k * S < bytes)
                    v[k] = *(const Bits *)(from + (first + k * S));
            KILN_UNROLL
            for (int k = 0; k < N; k++)
                if (first + k * S >= 0 && first + k * S < bytes)
                    *(Bits *)(to + (first + k * S)) = v[k];
        }
    }
};

//% section packed needs memory
// packed (CUDA): words of 4 bytes that hold neighbouring elements of 1 or 2 bytes. Word r begins r * pitch
// bytes behind p, a multiple of 4, and belongs to row r * apart; `rows` rows and `count` elements of
// each word lie in memory. Loads are of the one or two aligned words that hold a word's elements, and
// L is 1 where one element stands for all of them.
template <int apart, int L, int R, class T>
KILN_FN void kiln__load_packed(unsigned int (&word)[R], const T *p, long long pitch, int rows, int count)
{
    typedef typename kiln__word<sizeof(T)>::type bits;
    const int past = (int)((size_t)p & 3);
    const char *const at = (const char *)p - past;
    unsigned int next[R];
    KILN_UNROLL
    for (int r = 0; r < R; r++) {
        const bool there = r * apart < rows && count > 0;
        if (L == 1) {
            word[r] = there ? KILN_LD((const bits *)((const char *)p + r * pitch)) : 0u;
            continue;
        }
        word[r] = there ? KILN_LD((const unsigned int *)(at + r * pitch)) : 0u;
        next[r] = there && past != 0 && 4 - past < count * (int)sizeof(T)
                      ? KILN_LD((const unsigned int *)(at + r * pitch + 4))
                      : 0u;
    }
    KILN_UNROLL
    for (int r = 0; r < R; r++)
        word[r] = L == 1 ? word[r] * (sizeof(T) == 1 ? 0x01010101u : 0x00010001u)
                         : (unsigned int)(((unsigned long long)next[r] << 32 | word[r]) >> 8 * past);
}
// Stores are of words where these are whole and aligned.
template <int apart, int R, class T>
KILN_FN void kiln__store_packed(T *p, long long pitch, int rows, int count, const unsigned int (&word)[R])
{
    typedef typename kiln__word<sizeof(T)>::type bits;
    constexpr int P = 4 / sizeof(T);
    char *const at = (char *)p;
    if ((size_t)p % 4 == 0 && (R - 1) * apart < rows && count >= P) {
        KILN_UNROLL
        for (int r = 0; r < R; r++)
            KILN_ST((unsigned int *)(at + r * pitch), word[r]);
        return;
    }
    KILN_UNROLL
    for (int r = 0; r < R; r++) {
        KILN_UNROLL
        for (int k = 0; k < P; k++)
            if (r * apart < rows && k < count)
                KILN_ST((bits *)(at + r * pitch) + k, (bits)(word[r] >> 8 * sizeof(T) * k));
    }
}
// To and from a column of a tile, rows x and below. The lanes of a warp begin with different rows, so
// that they meet different banks: an odd number of words is between two rows.
template <class T, int N>
KILN_FN void kiln__scatter(T (*tile)[N], int x, int column, unsigned int word)
{
    typedef typename kiln__word<sizeof(T)>::type bits;
    constexpr int P = 4 / sizeof(T);
    KILN_UNROLL
    for (int i = 0; i < P; i++) {
        const int k = (i + x / 32) % P;
        *(bits *)&tile[x + k][column] = (bits)(word >> 8 * sizeof(T) * k);
    }
}
template <class T, int N>
KILN_FN unsigned int kiln__gather(const T (*tile)[N], int x, int column)
{
    typedef typename kiln__word<sizeof(T)>::type bits;
    constexpr int P = 4 / sizeof(T);
    unsigned int word = 0;
    KILN_UNROLL
    for (int i = 0; i < P; i++) {
        const int k = (i + x / 32) % P;
        word |= (unsigned int)*(const bits *)&tile[x + k][column] << 8 * sizeof(T) * k;
    }
    return word;
}
//% section tiles needs memory
// tiles (CUDA): words of tiles. A word is one element, or P neighbours of 1 or 2 bytes in 4 bytes, which
// are loaded by the one or two aligned words that hold them. L is 1 where one element stands for all.
template <int P, int L, class W, class T> KILN_FN W kiln__take(const T *p)
{
    if constexpr (P == 1) {
        return *p;
    } else if constexpr (L == 1) {
        const W word = KILN_LD((const typename kiln__word<sizeof(T)>::type *)p);
        return word * (sizeof(T) == 1 ? 0x01010101u : 0x00010001u);
    } else {
        const int past = (int)((size_t)p & 3);
        const unsigned int *const at = (const unsigned int *)((const char *)p - past);
        const W word = KILN_LD(at), next = past != 0 ? KILN_LD(at + 1) : 0u;
        return __funnelshift_r(word, next, 8 * past);
    }
}
// Words of lines `line`, line + Q .. of G: number k % P of a line's P words, in column k / P of V. The
// first line's is at p, and the next `step` bytes behind, a multiple of 4. Of lines that make room for
// shifted rows, F, none is loaded where rows are even.
template <int Q, int G, int F, int V, bool aligned, class W, int N, int P, class T>
KILN_FN void kiln__take(W (&word)[N][P], const T *p, long long step, int line, bool even, int k)
{
    const int past = P == 1 || aligned ? 0 : (int)((size_t)p & 3);
    const char *const at = (const char *)p - past;
    W next[N / V];
    KILN_UNROLL
    for (int r = 0; r < N / V; r++) {
        W &to = word[r * V + k / P][k % P];
        const bool there = ((r + 1) * Q <= G || line + r * Q < G) && (r * Q >= F || !even || line + r * Q >= F);
        to = W();
        if (there)
            to = KILN_LD((const W *)(at + r * step));
        if constexpr (P > 1)
            next[r] = there && past != 0 ? KILN_LD((const W *)(at + r * step) + 1) : 0u;
    }
    if constexpr (P > 1) {
        KILN_UNROLL
        for (int r = 0; r < N / V; r++) {
            W &to = word[r * V + k / P][k % P];
            to = __funnelshift_r(to, next[r], 8 * past);
        }
    }
}
// Stores are of words where these are aligned.
template <int P, bool aligned, class W, class T> KILN_FN void kiln__give(T *p, const W &word)
{
    if constexpr (P == 1) {
        *p = word;
    } else if constexpr (aligned) {
        KILN_ST((unsigned int *)p, word);
    } else {
        typedef typename kiln__word<sizeof(T)>::type bits;
        if ((size_t)p % 4 == 0) {
            KILN_ST((unsigned int *)p, word);
            return;
        }
        KILN_UNROLL
        for (int k = 0; k < P; k++)
            KILN_ST((bits *)p + k, (bits)(word >> 8 * sizeof(T) * k));
    }
}
// The word of a row of words that begins with element `at`. Shifts count modulo 32.
template <int P, class T, class W> KILN_FN W kiln__fetch(const W *row, int at)
{
    if constexpr (P == 1) {
        return row[at];
    } else {
        const int bytes = at * (int)sizeof(T);
        const W word = row[bytes >> 2], next = (bytes & 3) != 0 ? row[(bytes >> 2) + 1] : 0u;
        return __funnelshift_r(word, next, 8 * bytes);
    }
}
// P words of P elements, of which element k of word n becomes element n of word k.
template <class W> KILN_FN void kiln__turn(W (&)[1]) {}
KILN_FN void kiln__turn(unsigned int (&w)[2])
{
    const unsigned int a = w[0], b = w[1];
    w[0] = __byte_perm(a, b, 0x5410);
    w[1] = __byte_perm(a, b, 0x7632);
}
KILN_FN void kiln__turn(unsigned int (&w)[4])
{
    unsigned int a[2] = {__byte_perm(w[0], w[1], 0x5140), __byte_perm(w[2], w[3], 0x5140)};
    unsigned int b[2] = {__byte_perm(w[0], w[1], 0x7362), __byte_perm(w[2], w[3], 0x7362)};
    kiln__turn(a);
    kiln__turn(b);
    w[0] = a[0], w[1] = a[1], w[2] = b[0], w[3] = b[1];
}
