//# Transposing a tile in registers, 16 bytes at a time. Interleaving rows k and k + N/2 of a block
//# of N x N elements, log2(N) times over, leaves it transposed, whatever N is.
//% own K N U V fetch lanes lanes_make lanes_of lanes_to turn turn_block turn_edges word
//% plain a at b bytes c cold column columns done from from_step k list next r row rows size to
//% plain to_step type
template <int... K> struct lanes {};
#if defined(__clang__)
template <class, int... K> using lanes_of = lanes<K...>;
template <int N> using lanes_to = __make_integer_seq<lanes_of, int, N>;
#define KILN__INTERLEAVE(a, b, from) __builtin_shufflevector(a, b, ((from) + K / 2 + K % 2 * N)...)
#else
template <int N> struct lanes_make { typedef lanes<__integer_pack(N)...> list; };
template <int N> using lanes_to = typename lanes_make<N>::list;
#define KILN__INTERLEAVE(a, b, from) __builtin_shuffle(a, b, V{U((from) + K / 2 + K % 2 * N)...})
#endif
template <int bytes> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<8> { typedef unsigned long long type; };
// One block: rows at from, from + from_step, ... become columns at to, to + to_step, ... (bytes).
template <class U, int... K>
KILN_FN void turn_block(char *to, long long to_step, const char *from, long long from_step,
                              lanes<K...>)
{
    constexpr int N = sizeof...(K);
    typedef U V __attribute__((vector_size(16)));
    V row[N], next[N];
    for (int k = 0; k < N; k++)
        __builtin_memcpy(&row[k], from + k * from_step, 16);
    for (int done = 1; done < N; done *= 2) {
        for (int k = 0; k < N / 2; k++) {
            next[2 * k] = KILN__INTERLEAVE(row[k], row[k + N / 2], 0);
            next[2 * k + 1] = KILN__INTERLEAVE(row[k], row[k + N / 2], N / 2);
        }
        for (int k = 0; k < N; k++)
            row[k] = next[k];
    }
    for (int k = 0; k < N; k++)
        __builtin_memcpy(to + k * to_step, &row[k], 16);
}
// What no block covers: columns from `column` on in the first `row` rows, all columns below.
template <int size>
__attribute__((noinline, cold)) void turn_edges(char *to, long long to_step, const char *from,
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
KILN_FN void turn(char *to, long long to_step, const char *from, long long from_step,
                        int rows, int columns)
{
    if constexpr (size < 16) {
        constexpr int N = 16 / size;
        const int row = rows / N * N, column = columns / N * N;
        for (int r = 0; r < row; r += N)
            for (int c = 0; c < column; c += N)
                turn_block<typename word<size>::type>(
                    to + c * to_step + r * size, to_step, from + r * from_step + c * size,
                    from_step, lanes_to<N>());
        if (row < rows || column < columns)
            turn_edges<size>(to, to_step, from, from_step, rows, columns, row, column);
    } else {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                __builtin_memcpy(to + c * to_step + r * size, from + r * from_step + c * size, size);
    }
}
template <int bytes> KILN_FN void fetch(const char *at)
{
    for (int k = 0; k < bytes; k += 64)
        __builtin_prefetch(at + k);
}

