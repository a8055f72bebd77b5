//# One row of a window as a view sees it that begins kiln__d columns further. `beyond` holds, in the
//# first lanes, what follows the last strip.
template <int kiln__d, int kiln__n, class kiln__T> KILN_FN void kiln__shift(kiln__T (&kiln__to)[kiln__n], const kiln__T (&kiln__row)[kiln__n], const kiln__T &kiln__beyond, int kiln__lane)
{
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__n; kiln__u++) {
        kiln__T kiln__give = kiln__row[kiln__u];
        if (kiln__lane < kiln__d)
            kiln__give = kiln__u + 1 < kiln__n ? kiln__row[(kiln__u + 1) % kiln__n] : kiln__beyond;
        kiln__to[kiln__u] = kiln__exchange<false>(kiln__give, (kiln__lane + kiln__d) % 32);
    }
}
