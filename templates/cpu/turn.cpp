//# Transposing a tile in registers, 16 bytes at a time. Interleaving rows k and k + N/2 of a block
//# of N x N elements, log2(N) times over, leaves it transposed, whatever N is.
template <int... kiln__K> struct kiln__lanes {};
#if defined(__clang__)
template <class, int... kiln__K> using kiln__lanes_of = kiln__lanes<kiln__K...>;
template <int kiln__N> using kiln__lanes_to = __make_integer_seq<kiln__lanes_of, int, kiln__N>;
#define KILN__INTERLEAVE(a, b, from) __builtin_shufflevector(a, b, ((from) + kiln__K / 2 + kiln__K % 2 * kiln__N)...)
#else
template <int kiln__N> struct kiln__lanes_make { typedef kiln__lanes<__integer_pack(kiln__N)...> list; };
template <int kiln__N> using kiln__lanes_to = typename kiln__lanes_make<kiln__N>::list;
#define KILN__INTERLEAVE(a, b, from) __builtin_shuffle(a, b, kiln__V{kiln__U((from) + kiln__K / 2 + kiln__K % 2 * kiln__N)...})
#endif
template <int bytes> struct kiln__word;
template <> struct kiln__word<1> { typedef unsigned char type; };
template <> struct kiln__word<2> { typedef unsigned short type; };
template <> struct kiln__word<4> { typedef unsigned int type; };
template <> struct kiln__word<8> { typedef unsigned long long type; };
// One block: rows at from, from + from_step, ... become columns at to, to + to_step, ... (bytes).
template <class kiln__U, int... kiln__K>
KILN_FN void kiln__turn_block(char *to, long long to_step, const char *from, long long from_step,
                              kiln__lanes<kiln__K...>)
{
    constexpr int kiln__N = sizeof...(kiln__K);
    typedef kiln__U kiln__V __attribute__((vector_size(16)));
    kiln__V row[kiln__N], next[kiln__N];
    for (int k = 0; k < kiln__N; k++)
        __builtin_memcpy(&row[k], from + k * from_step, 16);
    for (int done = 1; done < kiln__N; done *= 2) {
        for (int k = 0; k < kiln__N / 2; k++) {
            next[2 * k] = KILN__INTERLEAVE(row[k], row[k + kiln__N / 2], 0);
            next[2 * k + 1] = KILN__INTERLEAVE(row[k], row[k + kiln__N / 2], kiln__N / 2);
        }
        for (int k = 0; k < kiln__N; k++)
            row[k] = next[k];
    }
    for (int k = 0; k < kiln__N; k++)
        __builtin_memcpy(to + k * to_step, &row[k], 16);
}
// What no block covers: columns from `column` on in the first `row` rows, all columns below.
template <int size>
__attribute__((noinline, cold)) void kiln__turn_edges(char *to, long long to_step, const char *from,
                                                      long long from_step, int rows, int columns,
                                                      int row, int column)
{
    for (int r = 0; r < rows; r++)
        for (int c = r < row ? column : 0; c < columns; c++)
            __builtin_memcpy(to + c * to_step + r * size, from + r * from_step + c * size, size);
}
// A tile: element (r, c) of `rows` x `columns` at from + r * from_step + c * size goes to
// to + c * to_step + r * size.
template <int size>
KILN_FN void kiln__turn(char *to, long long to_step, const char *from, long long from_step,
                        int rows, int columns)
{
    if constexpr (size < 16) {
        constexpr int kiln__N = 16 / size;
        const int row = rows / kiln__N * kiln__N, column = columns / kiln__N * kiln__N;
        for (int r = 0; r < row; r += kiln__N)
            for (int c = 0; c < column; c += kiln__N)
                kiln__turn_block<typename kiln__word<size>::type>(
                    to + c * to_step + r * size, to_step, from + r * from_step + c * size,
                    from_step, kiln__lanes_to<kiln__N>());
        if (row < rows || column < columns)
            kiln__turn_edges<size>(to, to_step, from, from_step, rows, columns, row, column);
    } else {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                __builtin_memcpy(to + c * to_step + r * size, from + r * from_step + c * size, size);
    }
}
template <int bytes> KILN_FN void kiln__fetch(const char *at)
{
    for (int k = 0; k < bytes; k += 64)
        __builtin_prefetch(at + k);
}

