//# columns.cu - neighbouring threads take neighbouring sequences and walk down the rows.
//#
//# block: `group` threads across, each with `vec` columns, by block / group rows of threads, each
//#        with `unroll` neighbouring rows of memory
//# grid:  tiles of columns; when split, times steps of rows, taken in order, step by step
//# order: the rows of a thread; threads of a column; steps
//# As in rows.cu elements are mapped twice.
//% if split
//% insert scan/shuffle.cu
//% insert scan/publish.cu
//% end
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__X = ${group}, kiln__Y = ${block} / kiln__X, kiln__U = ${unroll}, kiln__V = ${vec};
//% insert scan/environment.cpp
//% insert scan/locate.cu
    __shared__ alignas(16) unsigned char kiln__bytes[kiln__Y * kiln__X * kiln__V * sizeof(kiln__part)];
    kiln__part (*kiln__parts)[kiln__X][kiln__V] = (kiln__part(*)[kiln__X][kiln__V])kiln__bytes;
    const int kiln__tx = threadIdx.x % kiln__X, kiln__ty = threadIdx.x / kiln__X;
//% if split
    // Tiles go to blocks in the order of asking: who waits, waits for one that runs already.
    __shared__ int kiln__ticket;
    if (threadIdx.x == 0)
        kiln__ticket = atomicAdd(kiln__a.tickets, 1);
    __syncthreads();
    const ${index} kiln__taken = kiln__ticket;
    const ${index} kiln__step = kiln__a.by_splits.quotient(kiln__taken);
    const ${index} kiln__tile = kiln__taken - kiln__step * (${index})kiln__a.splits;
    const ${index} kiln__first = kiln__step * (kiln__Y * kiln__U), kiln__stop = kiln__first + 1;
//% else
    const ${index} kiln__tile = (${index})blockIdx.x;
    const ${index} kiln__first = 0, kiln__stop = (${index})kiln__a.length;
//% end
    // The tile's place among the kept axes; its last coordinate counts tiles.
    ${index} kiln__rest = kiln__tile;
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    const ${index} kiln__at_0 = kiln__rest;
    const ${index} kiln__column = kiln__at_${keep_last} * kiln__X + kiln__tx;
    const bool kiln__inside = kiln__column < (${index})kiln__a.shape_${keep_last} / kiln__V;
//% for p in walking
    ${p.const}char *const kiln__row_${p.name} = kiln__base_${p.name}
        + (kiln__inside ? kiln__column : 0) * (${index})kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
    const ${index} kiln__length = (${index})kiln__a.length;
    kiln__part kiln__carry[kiln__V]; // of everything above the step
    bool kiln__carries = false;

    for (${index} kiln__begin = kiln__first; kiln__begin < kiln__stop; kiln__begin += kiln__Y * kiln__U) {
        const ${index} kiln__start = kiln__begin + kiln__ty * kiln__U;
//% for p in inputs
        ${p.type} kiln__reg_${p.name}[kiln__U][${p.lanes}];
//% end
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            // Below the end the last row is repeated; nothing after it is stored.
            const ${index} kiln__j = kiln__start + kiln__u < kiln__length ? kiln__start + kiln__u : kiln__length - 1;
//% for p in inputs
            kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
        }
        auto kiln__mapped = [&](const int kiln__u, const int kiln__v) -> kiln__part {
            return kiln__map(
//% if position
                kiln__place(kiln__start + kiln__u)
//% else
                0
//% end
//% for p in inputs
                , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
            );
        };
        // The rows of this thread; those of the threads above; those of the block.
        kiln__part kiln__sum[kiln__V], kiln__base[kiln__V];
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            kiln__sum[kiln__v] = kiln__mapped(0, kiln__v);
            #pragma unroll
            for (int kiln__u = 1; kiln__u < kiln__U; kiln__u++)
                kiln__sum[kiln__v] = kiln__reduce(kiln__sum[kiln__v], kiln__mapped(kiln__u, kiln__v));
        }
        bool kiln__based = kiln__ty > 0;
        if (kiln__Y > 1) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__parts[kiln__ty][kiln__tx][kiln__v] = kiln__sum[kiln__v];
            __syncthreads();
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                kiln__sum[kiln__v] = kiln__base[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
                #pragma unroll
                for (int kiln__k = 1; kiln__k < kiln__Y; kiln__k++) {
                    if (kiln__k == kiln__ty)
                        kiln__base[kiln__v] = kiln__sum[kiln__v];
                    kiln__sum[kiln__v] = kiln__reduce(kiln__sum[kiln__v], kiln__parts[kiln__k][kiln__tx][kiln__v]);
                }
            }
            __syncthreads();
        }
//% if split
//% insert scan/lookback_columns.cu
//% end
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            if (kiln__carries) {
                kiln__base[kiln__v] = kiln__based ? kiln__reduce(kiln__carry[kiln__v], kiln__base[kiln__v]) : kiln__carry[kiln__v];
                kiln__carry[kiln__v] = kiln__reduce(kiln__carry[kiln__v], kiln__sum[kiln__v]);
            } else {
                kiln__carry[kiln__v] = kiln__sum[kiln__v];
            }
        }
        kiln__based = kiln__based || kiln__carries;
        kiln__carries = true;
        // Over the thread's rows again, from what stands above them.
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            const ${index} kiln__j = kiln__start + kiln__u;
            const bool kiln__mine = kiln__inside && kiln__j < kiln__length;
//% for p in outputs
            ${p.type} kiln__out_${p.name}[kiln__V];
//% if p.read_first
            if (kiln__mine)
                kiln__load(kiln__out_${p.name}, kiln__row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
//% end
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                bool kiln__has = kiln__based || kiln__u > 0;
//% if exclusive
                const kiln__part kiln__told = kiln__has ? kiln__base[kiln__v] : kiln__identity();
                kiln__take(kiln__has, kiln__base[kiln__v], kiln__mapped(kiln__u, kiln__v));
//% else
                kiln__take(kiln__has, kiln__base[kiln__v], kiln__mapped(kiln__u, kiln__v));
                const kiln__part &kiln__told = kiln__base[kiln__v];
//% end
                kiln__post(kiln__place(kiln__j), kiln__told
//% for p in outputs
                    , kiln__out_${p.name}[kiln__v]
//% end
                );
            }
            if (kiln__mine) {
//% for p in outputs
                kiln__store(kiln__row_${p.name} + kiln__along_${p.name}(kiln__j), kiln__out_${p.name});
//% end
            }
        }
    }
}
