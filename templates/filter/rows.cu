//# rows.cu - one pass over the inputs, with decoupled look-back.
//#
//# block: one tile of block * unroll accesses after the other, laid out as in scan/rows.cu: a warp's
//#        part of a tile is contiguous, and a thread has `vec` neighbours of each 32 * vec
//# grid:  as many blocks as are resident at once; tiles are handed out in the order in which blocks
//#        ask
//#
//# A block counts what it keeps of a tile and publishes the number. It puts the results aside, into one of two
//# rooms of shared memory, begins to load the next tile, and only then looks back for where the results of
//# the tile before belong, which are in the other room, and writes them: nearly all tiles before have told
//# their numbers by then, and loads are on their way meanwhile.
//#
//#     tile n - 1:   count, publish | aside |                look back, write |
//#     tile n:                               load ................ | count, publish | aside | ...
//#
//# Where there is shared memory for one room only, the tile before is written before the results of this one are
//# put aside. Where a tile keeps more than there is room for, all but the last of its results are written at
//# once, in rounds.
//#
//# A tile's word is 0 at first, then the number kept of the tile (mark 1), then the number kept of it and
//# all tiles before (mark 2). A block waits for tiles with smaller numbers only; blocks that are running
//# have taken those and publish before they wait, so that the smallest missing number is always on
//# its way. See D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
//# NVIDIA NVR-2016-002. Sums of whole numbers do not depend on the order, so nothing else here does.
//% own a after all args ask at B base base_ before bytes_ coming count d e F fetch find first
//% own first_that from G held held_ held_from held_sum held_turn in_ k keep kept known lane left
//% own look look_back M many mark mine missing more n needed next number of_thread op out_ P put
//% own q r reg_ rows settle skew stage start sum tell tickets tile tiles to told total turn U u V
//% own v W w warp warps whole words write_held
//% plain __popc
//% insert scan/common.cu:tickets
KILN_FN void tell(unsigned long long *to, const long long number, const unsigned int mark)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"((unsigned long long)number << 2 | mark) : "memory");
}
KILN_FN unsigned long long look(const unsigned long long *from)
{
    unsigned long long w;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(w) : "l"(from) : "memory");
    return w;
}
// The number kept of all tiles before kiln__tile: a warp looks at 32 * 4 tiles at once, the nearest first.
KILN_FN long long look_back(const unsigned long long *told, const long long tile, const int lane)
{
    long long before = 0;
    for (long long at = tile - 1;; at -= 32 * 4) {
        unsigned long long w[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const long long n = at - 32 * k - lane;
            w[k] = n < 0 ? 2 : look(told + n); // nothing is before the first
        }
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const long long n = at - 32 * k - lane;
            unsigned int whole, needed; // lanes with mark 2; those up to the first of them
            for (;;) {
                whole = __ballot_sync(0xffffffffu, (w[k] & 3) == 2);
                needed = whole != 0 ? (whole & (0u - whole)) * 2u - 1u : 0xffffffffu;
                const unsigned int missing = __ballot_sync(0xffffffffu, (w[k] & 3) == 0);
                if ((missing & needed) == 0)
                    break;
                if ((w[k] & 3) == 0)
                    w[k] = look(told + n);
            }
            int sum = (needed >> lane & 1) != 0 && (w[k] & 3) == 1 ? (int)(w[k] >> 2) : 0;
            #pragma unroll
            for (int d = 16; d > 0; d /= 2)
                sum += __shfl_xor_sync(0xffffffffu, sum, d);
            before += sum;
            if (whole != 0)
                return before + (long long)(__shfl_sync(0xffffffffu, w[k], __ffs(whole) - 1) >> 2);
        }
    }
}
extern "C" __global__ void __launch_bounds__(${block}, ${block} == 128 ? 5 : 3)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, U = ${unroll}, V = ${vec}, W = 32, M = ${room};
    // Numbers of a lane's access are added up over a warp several to a word: none exceeds 32 * V.
    constexpr int P = V <= 4 ? 4 : 2, F = 32 / P, words = (U + P - 1) / P;
    static_assert(V <= 16, "an access is one of 16 elements at most");
    // Rooms: two where blocks of 128 threads have them (codegen/filter_plan.c).
    constexpr int B = G == 128 ? 2 : 1;
//% insert filter/kernel.cpp:environment
//% insert scan/common.cu:locate
//% insert scan/rows.cu:place
//% insert scan/rows.cu:load
    // Two turns of each: the next one begins while slow warps still read those of the last.
    __shared__ int tickets[2];
    __shared__ int warps[2][G / 32];
    __shared__ long long base; // kept before the tile that is written
//% for p in outputs
    __shared__ alignas(16) unsigned char bytes_${p.name}[B * M * sizeof(${p.type})];
//% end
    const ${index} tiles = (${index})a.splits;
    unsigned long long *const told = (unsigned long long *)(a.tickets + 4);
    const rows r = find(0);
    // What is aside: results number `held_from` and following of tile `held`, `held_sum` of which were kept, in the
    // room of `held_turn`. Where others of the tile have been written before, `base` is that of the tile already.
    ${index} held = -1;
    int held_sum = 0, held_from = 0, held_turn = 0;
//% insert :write
    if (threadIdx.x == 0)
        tickets[1] = ask(a.tickets);
    __syncthreads();
    ${index} tile = tickets[1];
    if (tile < tiles && count > 0)
        fetch(r, tile * (G * U));
    for (int turn = 0;; turn ^= 1) {
        const bool more = tile < tiles;
        const ${index} start = of_thread(tile * (G * U));
        int coming;
        if (more && threadIdx.x == 0)
            coming = ask(a.tickets);
//% insert :count
        if (more && threadIdx.x == 0)
            tickets[turn] = coming;
        __syncthreads();
//% insert :sums
        if (more && threadIdx.x == 0)
            tell(told + tile, sum, tile == 0 ? 2 : 1);
        // The tile before is written first where this one needs its room, or more rounds than one.
        const bool first_that = B == 1 || sum > M || !more;
        if (held >= 0 && first_that) {
            write_held();
            __syncthreads();
            held = -1;
        }
        if (!more)
            break;
//% insert :stage
        int from = 0;
        for (;; from += M) {
            stage(from);
            if (sum - from <= M)
                break;
            settle(tile, sum, from > 0);
            put(turn, from, M);
            __syncthreads();
        }
        const ${index} next = tickets[turn];
        if (next < tiles)
            fetch(r, next * (G * U));
        if (held >= 0)
            write_held();
        held = tile;
        held_sum = sum;
        held_from = from;
        held_turn = turn;
        tile = next;
    }
}

//% part sums
//# What the warps have kept of the tile: those before this one, and all of them.
        int before = 0, sum = 0; // kept of the warps before, and of all
        #pragma unroll
        for (int k = 0; k < G / 32; k++) {
            before = k == warp ? sum : before;
            sum += warps[turn][k];
        }

//% part write
//# settle(tile, sum, known) finds out where the results of a tile belong: `base`, for all threads.
    auto settle = [&](const ${index} tile, const int sum, const bool known) {
        if (warp == 0 && !known) {
            const long long number = look_back(told, tile, lane);
            if (lane == 0) {
                base = number;
                if (tile > 0)
                    tell(told + tile, number + sum, 2);
//% for p in counts
                if (tile == tiles - 1)
                    *a.ptr_${p.name} = number + sum;
//% end
            }
        }
        __syncthreads();
    };
//# put(turn, from, many) writes results that are aside, of which the first is number `from` of its tile. Warps begin
//# where lines of 128 bytes do, so that none is written by two of them.
    auto put = [&](const int turn, const int from, const int many) {
//% for p in outputs
        ${p.type} *const out_${p.name} = (${p.type} *)(base_${p.name} + (base + from) * (a.stride_${p.name}_${last} / V));
        const ${p.type} *const held_${p.name} = (const ${p.type} *)bytes_${p.name} + (B == 2 ? turn * M : 0);
//% end
        const int skew =
//% for p in outputs
//% if p.vector
            128 % sizeof(${p.type}) == 0 ? (int)((size_t)out_${p.name} / sizeof(${p.type}) % (128 / sizeof(${p.type}))) :
//% end
//% end
            0;
        for (int k = (int)threadIdx.x - skew; k < many; k += G) {
            if (k < 0)
                continue;
//% for p in outputs
//% if p.vector
            out_${p.name}[k] = held_${p.name}[k];
//% else
            *(${p.type} *)((char *)out_${p.name} + k * (a.stride_${p.name}_${last} / V)) = held_${p.name}[k];
//% end
//% end
        }
    };
    auto write_held = [&]() {
        settle(held, held_sum, held_from > 0);
        put(held_turn, held_from, held_sum - held_from);
    };

//% part count
//# Which elements the thread keeps: bit v of kept[u]. first[u] is how many its warp keeps before those of
//# access u, and warps[] how many of the tile each warp keeps.
        const bool whole = (tile + 1) * (${index})(G * U * V) <= count; // no element is behind the end
        unsigned int kept[U], after[words];
        #pragma unroll
        for (int w = 0; w < words; w++)
            after[w] = 0;
        #pragma unroll
        for (int u = 0; u < U; u++) {
            kept[u] = 0;
//% for p in inputs
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
            #pragma unroll
            for (int v = 0; v < V; v++) {
                const ${index} e = (start + u * W) * V + v;
                if (more && (whole || e < count) && keep((ptrdiff_t)e
//% for p in inputs
                    , in_${p.name}[${p.lane}]
//% end
                ))
                    kept[u] |= 1u << v;
            }
            after[u / P] += (unsigned int)__popc(kept[u]) << u % P * F;
        }
        int first[U], total = 0;
        #pragma unroll
        for (int w = 0; w < words; w++) {
            const unsigned int mine = after[w];
            #pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                const unsigned int left = __shfl_up_sync(0xffffffffu, after[w], d);
                if (lane >= d)
                    after[w] += left;
            }
            const unsigned int all = __shfl_sync(0xffffffffu, after[w], 31), before = after[w] - mine;
            #pragma unroll
            for (int q = 0; q < P && w * P + q < U; q++) {
                first[w * P + q] = total + (int)(before >> q * F & ((1u << F) - 1u));
                total += (int)(all >> q * F & ((1u << F) - 1u));
            }
        }
        if (lane == 0)
            warps[turn][warp] = total;

//% part stage
//# The results of elements from number `from` kept of the tile on, as many as there is room for.
        auto stage = [&](const int from) {
//% for p in outputs
            ${p.type} *const held_${p.name} = (${p.type} *)bytes_${p.name} + (B == 2 ? turn * M : 0);
//% end
            #pragma unroll
            for (int u = 0; u < U; u++) {
//% for p in inputs
                const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
                int at = before + first[u] - from;
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    if ((kept[u] >> v & 1) == 0)
                        continue;
                    if (M == G * U * V || (at >= 0 && at < M)) { // all of a tile, or this round
//% for p in outputs
                        ${p.type} out_${p.name};
//% end
                        op((ptrdiff_t)((start + u * W) * V + v)
//% for p in inputs
                            , in_${p.name}[${p.lane}]
//% end
//% for p in outputs
                            , out_${p.name}
//% end
                        );
//% for p in outputs
                        held_${p.name}[at] = out_${p.name};
//% end
                    }
                    at++;
                }
            }
        };
