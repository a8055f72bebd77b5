//# One row of a window as a view sees it that begins d columns further. `beyond` holds, in the
//# first lanes, what follows the last strip.
//% own T beyond d exchange give lane n row shift to u
template <int d, int n, class T> KILN_FN void shift(T (&to)[n], const T (&row)[n], const T &beyond, int lane)
{
    #pragma unroll
    for (int u = 0; u < n; u++) {
        T give = row[u];
        if (lane < d)
            give = u + 1 < n ? row[(u + 1) % n] : beyond;
        to[u] = exchange<false>(give, (lane + d) % 32);
    }
}
