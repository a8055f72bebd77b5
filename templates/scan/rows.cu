//# rows.cu - neighbouring threads take neighbours along the sequence.
//#
//# group: `group` threads (a power of two up to a warp, or the whole block) share a sequence and walk
//#        it in tiles of group * unroll accesses. A warp's part of a tile is contiguous; a thread has
//#        `vec` neighbours of each 32 * vec.
//# grid:  outputs / (block / group) blocks; when split, a block for every tile, taken in order
//# order: a run of `vec`; runs of a warp by shuffles; warps of a block; tiles
//# The elements are mapped twice: once for their sums, once more to be written. What is held between
//# is the inputs, which take fewer registers than accumulators do.
//% insert scan/shuffle.cu
//% if split
//% insert scan/publish.cu
//% end
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__G = ${group}, kiln__U = ${unroll}, kiln__V = ${vec};
    constexpr int kiln__W = kiln__G < 32 ? kiln__G : 32;
//% insert scan/environment.cpp
//% insert scan/locate.cu
    const int kiln__lane = threadIdx.x % kiln__W, kiln__warp = threadIdx.x % kiln__G / kiln__W;
//% if split
    // Tiles go to blocks in the order of asking: who waits, waits for one that runs already.
    __shared__ int kiln__ticket;
    if (threadIdx.x == 0)
        kiln__ticket = atomicAdd(kiln__a.tickets, 1);
    __syncthreads();
    const ${index} kiln__taken = kiln__ticket;
    const ${index} kiln__sequence = kiln__a.by_splits.quotient(kiln__taken);
    const ${index} kiln__tile = kiln__taken - kiln__sequence * (${index})kiln__a.splits;
    const ${index} kiln__first = kiln__tile * (kiln__G * kiln__U), kiln__stop = kiln__first + 1;
    constexpr bool kiln__mine = true;
//% else
    // Surplus groups repeat the last sequence and store nothing.
    const ${index} kiln__number = (${index})blockIdx.x * (${block} / kiln__G) + (${index})threadIdx.x / kiln__G;
    const bool kiln__mine = kiln__number < (${index})kiln__a.outputs;
    const ${index} kiln__sequence = kiln__mine ? kiln__number : (${index})kiln__a.outputs - 1;
    const ${index} kiln__first = 0, kiln__stop = (${index})kiln__a.length;
//% end
    ${index} kiln__rest = kiln__sequence;
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    const ${index} kiln__at_0 = kiln__rest;
//% for p in walking
    ${p.const}char *const kiln__row_${p.name} = kiln__base_${p.name}
//% for a in keep_axes
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
    // Element number kiln__e.
    auto kiln__at_${p.name} = [&](const ${index} kiln__e) -> ${p.const}${p.type} * {
        return (${p.const}${p.type} *)(kiln__row_${p.name} + kiln__along_${p.name}(kiln__e / kiln__V))
//% if p.vector
            + kiln__e % kiln__V
//% end
            ;
    };
//% end
    const ${index} kiln__count = (${index})kiln__a.count;
    // Whether the whole access lies in the sequence.
    auto kiln__fits = [&](const ${index} kiln__j) -> bool { return (kiln__j + 1) * kiln__V <= kiln__count; };
    kiln__part kiln__carry; // of everything before the tile
    bool kiln__carries = false;
//% if whole_block
    __shared__ alignas(16) unsigned char kiln__bytes[(${block} / 32 + 1) * sizeof(kiln__part)];
    kiln__part *kiln__warps = (kiln__part *)kiln__bytes;
//% end

    for (${index} kiln__begin = kiln__first; kiln__begin < kiln__stop; kiln__begin += kiln__G * kiln__U) {
        const ${index} kiln__start = kiln__begin + kiln__warp * (kiln__W * kiln__U) + kiln__lane;
        const bool kiln__whole = kiln__begin + kiln__G * kiln__U <= kiln__count / kiln__V;
//% for p in inputs
        ${p.type} kiln__reg_${p.name}[kiln__U][${p.lanes}];
//% end
        if (kiln__whole) {
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
//% for p in inputs
                kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name}(kiln__start + kiln__u * kiln__W));
//% end
            }
        } else {
            // Behind the end the last element is repeated; nothing after it is stored.
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
                const ${index} kiln__j = kiln__start + kiln__u * kiln__W;
                if (kiln__fits(kiln__j)) {
//% for p in inputs
                    kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name}(kiln__j));
//% end
                } else {
//% for p in inputs
                    #pragma unroll
                    for (int kiln__v = 0; kiln__v < ${p.lanes}; kiln__v++) {
                        const ${index} kiln__e = kiln__j * kiln__V + kiln__v;
                        kiln__reg_${p.name}[kiln__u][kiln__v] = *kiln__at_${p.name}(kiln__e < kiln__count ? kiln__e : kiln__count - 1);
                    }
//% end
                }
            }
        }
        auto kiln__mapped = [&](const int kiln__u, const int kiln__v) -> kiln__part {
            return kiln__map(
//% if position
                kiln__place((kiln__start + kiln__u * kiln__W) * kiln__V + kiln__v)
//% else
                0
//% end
//% for p in inputs
                , kiln__reg_${p.name}[kiln__u][${p.lane}]
//% end
            );
        };

        // What stands before each of the thread's runs in its warp's part of the tile, and the sum
        // of that part. Lane 0 has nothing before its first run.
        kiln__part kiln__before[kiln__U], kiln__sum;
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
            kiln__part kiln__run = kiln__mapped(kiln__u, 0);
            #pragma unroll
            for (int kiln__v = 1; kiln__v < kiln__V; kiln__v++)
                kiln__run = kiln__reduce(kiln__run, kiln__mapped(kiln__u, kiln__v));
            #pragma unroll
            for (int kiln__d = 1; kiln__d < kiln__W; kiln__d *= 2) {
                const kiln__part kiln__left = kiln__from_left<kiln__W>(kiln__run, kiln__d);
                if (kiln__lane >= kiln__d)
                    kiln__run = kiln__reduce(kiln__left, kiln__run);
            }
            kiln__before[kiln__u] = kiln__from_left<kiln__W>(kiln__run, 1);
            const kiln__part kiln__all = kiln__from_lane<kiln__W>(kiln__run, kiln__W - 1);
            if (kiln__u > 0)
                kiln__before[kiln__u] = kiln__lane > 0 ? kiln__reduce(kiln__sum, kiln__before[kiln__u]) : kiln__sum;
            kiln__sum = kiln__u > 0 ? kiln__reduce(kiln__sum, kiln__all) : kiln__all;
        }
//% if whole_block
        if (kiln__lane == 0)
            kiln__warps[kiln__warp] = kiln__sum;
        __syncthreads();
        // The warps before this one, and the tile.
        kiln__part kiln__tile_sum = kiln__warps[0], kiln__base = kiln__tile_sum;
        bool kiln__based = kiln__warp > 0;
        #pragma unroll
        for (int kiln__k = 1; kiln__k < ${block} / 32; kiln__k++) {
            if (kiln__k == kiln__warp)
                kiln__base = kiln__tile_sum;
            kiln__tile_sum = kiln__reduce(kiln__tile_sum, kiln__warps[kiln__k]);
        }
//% if split
//% insert scan/lookback_rows.cu
//% end
//% else
        kiln__part kiln__base;
        bool kiln__based = false;
        const kiln__part kiln__tile_sum = kiln__sum;
//% end
        if (kiln__carries) {
            kiln__base = kiln__based ? kiln__reduce(kiln__carry, kiln__base) : kiln__carry;
            kiln__based = true;
        }
        kiln__take(kiln__carries, kiln__carry, kiln__tile_sum);
//% insert scan/rows_write.cu
//% if whole_block
        __syncthreads(); // before the next tile's sums take the place of these
//% end
    }
}
