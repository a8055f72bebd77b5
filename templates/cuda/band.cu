//# band.cu - layout "inner" by bands of rows, where alignment forbids wide accesses: what several rows
//# read alike, as views shifted by a row do, comes from the L1 cache after its first use, and a row's
//# address is found once, not once an access.
//#
//# grid:  one block per tile of `tile` rows and band_columns accesses of a row, and per index of the
//#        axes further out; no shared memory
//# block: `block` threads as (group, band_step): `group` neighbouring accesses of band_step rows
//# owner: thread (tx, ty) owns the accesses u * group + tx, u < unroll, of every band_step-th row
//# shift: a tile's accesses begin so far to the left that the first output's lie on whole 128-byte
//#        lines: sectors written in part cost the L2 cache twice
//# edges: accesses of a tile that an end of the row cuts are made one by one
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% insert environment.cpp
//% insert cuda/band_locate.cu
    #pragma unroll 1
    for (; kiln__row < kiln__end; kiln__row += ${band_step}) {
        int kiln__shift = 0;
//% for p in lead
        kiln__shift = (int)((size_t)kiln__row_${p.name} % 128) / (${vec} * ${p.bytes});
//% end
        const int kiln__begin = kiln__column - kiln__shift;
        if (kiln__begin >= 0 && kiln__begin + ${band_last} < kiln__count) {
            constexpr int kiln__N = ${unroll};
            const int kiln__first = kiln__begin;
//% insert cuda/band_burst.cu
        } else {
            #pragma unroll 1
            for (int kiln__k = 0; kiln__k < ${unroll}; kiln__k++) {
                constexpr int kiln__N = 1;
                const int kiln__first = kiln__begin + kiln__k * ${group};
                if (kiln__first < 0 || kiln__first >= kiln__count)
                    continue;
//% insert cuda/band_burst.cu
            }
        }
//% for p in walking
        kiln__row_${p.name} += ${band_step} * kiln__a.stride_${p.name}_${tile_b};
//% end
    }
//% if after_loop
${after_loop}
//% end
}
