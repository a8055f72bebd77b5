//# rows.cu - one pass over the inputs, with decoupled look-back.
//#
//# block: one tile of block * unroll accesses after the other, laid out as in scan/rows.cu: the part
//#        of a warp is contiguous, and a thread has `vec` neighbours of each 32 * vec
//# grid:  as many blocks as are resident at once; tiles are handed out in the order in which blocks
//#        ask
//#
//# A block counts what it keeps of a tile and publishes the number. It holds the tile's results in
//# one of two buffers of shared memory (they are "aside" below) and begins to load the next tile.
//# Only then does it look back for where the results of the tile before belong, which are in the
//# other buffer, and writes these: by then nearly all earlier tiles have published their numbers,
//# and loads are in flight meanwhile.
//#
//#     tile n - 1:   count, publish | aside |                look back, write |
//#     tile n:                               load ................ | count, publish | aside | ...
//#
//# Inputs that only results are computed from (`p.kept_only`; a mask beside them decides what is
//# kept) are loaded near kept elements alone, as soon as these are known. The mask of the next tile
//# is loaded behind them, and the tile before is written while both are in flight:
//#
//#     tile n:   mask ... | load | count, publish |                      | aside |
//#                               | mask of tile n + 1 ................................
//#     tile n - 1:                                | look back, write |
//#
//# Results that depend on an element's number alone (`by_place`) are computed when they are
//# written; aside are their positions in the tile, of two bytes each. The next tile is loaded as
//# soon as it is known which elements of this one are kept.
//#
//# If shared memory has room for one buffer only, the tile before is written before the results of
//# this one are put aside. If a tile keeps more than a buffer holds, all but the last of its
//# results are written at once, in rounds.
//#
//# If elements that are not kept have results too (`otherwise`), the results of the whole tile are
//# aside: first those of kept elements, `sum` of them, then all others. So many others come before
//# the tile: the number of its first element less the number kept before it. One look-back
//# therefore places both.
//#
//# Look-back is over groups of 32 tiles. The word of a tile is 0 at first, then the number kept of
//# it and 1 more. The word of a group counts the tiles that have published, up to 32, in bits 0 to
//# 5; it has the number kept of them from bit 8 on; and bit 7 is set when the block of the group's
//# first tile has added the number kept before the group. So a warp reads the words of its own
//# group's tiles and those of some groups. If all blocks that run at once read the words of the
//# same tiles, these would come from the same part of the L2 cache. A block waits for tiles with
//# smaller numbers only; running blocks have taken those, and publish before they wait, so the
//# smallest missing number always comes. Compare D. Merrill, M. Garland, "Single-pass Parallel
//# Prefix Scan with Decoupled Look-back", NVIDIA NVR-2016-002. Sums of whole numbers do not depend
//# on the order, so no result does.
//#
//# src/codegen/filter_plan.c chooses block, unroll and buffers. Tests: test_filter,
//# test_partition_copy; difftest --kind select draws calls.
//% own a after all along_ args aside ask at at_ B base base_ before bytes_ coming count d e F fetch find
//% own first fits from G group held held_ held_from held_places held_sum held_turn in_ j k keep
//% own kept known lane left load look look_back M many mine more needed next number of_thread
//% own out_ P places put q r reg_ rounds rows settle size_of skew SPAN stage start sum tell tickets tile tiles
//% own told total turn U u V v value_ W w waits warp warps WHOLE whole word words write_held
//% plain __popc bits
//% insert scan/common.cu:tickets
constexpr int SPAN = 33;                     // words of a group: its tiles', then its own (codegen/filter_plan.c)
constexpr unsigned long long WHOLE = 128 + 32; // all tiles of a group have come, and what is before it
KILN_FN void tell(unsigned long long *told, const long long tile, const int sum)
{
    unsigned long long *const words = told + tile / 32 * SPAN;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + tile % 32), "l"((unsigned long long)sum + 1) : "memory");
    atomicAdd(words + 32, (unsigned long long)sum << 8 | 1);
}
KILN_FN unsigned long long look(const unsigned long long *from)
{
    unsigned long long w;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(w) : "l"(from) : "memory");
    return w;
}
// The number kept of all tiles before kiln__tile: those of its group, and groups, 32 at once, the nearest first.
KILN_FN long long look_back(const unsigned long long *told, const long long tile, const int lane)
{
    const long long group = tile / 32;
    const unsigned long long *const mine = told + group * SPAN + lane;
    const unsigned long long *word = told + (group - 1 - lane) * SPAN + 32;
    unsigned long long number = lane < (int)(tile % 32) ? look(mine) : 1;
    unsigned long long w = group - 1 - lane < 0 ? WHOLE : look(word); // nothing is before the first
    // This number is used at once, so that compilers do not let it wait for loads of the next tile as well.
    while (number == 0)
        number = look(mine);
    long long before = (long long)number - 1;
    for (long long at = group - 1 - lane;;) {
        unsigned int whole, needed; // lanes whose groups have all before them; those up to the first of them
        for (;;) {
            whole = __ballot_sync(0xffffffffu, (w & 255) == WHOLE);
            needed = whole != 0 ? (whole & (0u - whole)) * 2u - 1u : 0xffffffffu;
            const bool waits = (w & 63) != 32;
            if ((__ballot_sync(0xffffffffu, waits) & needed) == 0)
                break;
            if (waits)
                w = look(word);
        }
        before += (needed >> lane & 1) != 0 ? (long long)(w >> 8) : 0;
        if (whole != 0)
            break;
        at -= 32;
        word -= 32 * SPAN;
        w = at < 0 ? WHOLE : look(word);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2)
        before += __shfl_xor_sync(0xffffffffu, before, d);
    return before;
}
extern "C" __global__ void __launch_bounds__(${block}, ${block} == 128 ? 5 : 3)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, U = ${unroll}, V = ${vec}, W = 32, M = ${buffer};
    // Numbers of a lane's access are added up over a warp several to a word: none exceeds 32 * V.
    constexpr int P = V <= 4 ? 4 : 2, F = 32 / P, words = (U + P - 1) / P;
    static_assert(V <= 16, "an access is one of 16 elements at most");
    // Buffers: two where blocks of 128 threads have them (codegen/filter_plan.c).
    constexpr int B = G == 128 ? 2 : 1;
    constexpr bool rounds = M < G * U * V; // a tile may keep more than there is room for
//% insert filter/kernel.cpp:environment
//% insert scan/common.cu:locate
//% insert scan/rows.cu:place
//% insert :shared
    const ${index} tiles = (${index})a.splits;
    unsigned long long *const told = (unsigned long long *)(a.tickets + 4);
    const rows r = find(0);
    // What is aside: results number `held_from` and following of tile `held`, `held_sum` of which were kept, in the
    // buffer of `held_turn`. Where others of the tile have been written before, `base` is that of the tile already.
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
//% insert :take
//% if by_place
        if (next < tiles)
            fetch(r, next * (G * U));
//% end
//% if kept_loads
        if (next < tiles)
            fetch(r, next * (G * U));
        if (held >= 0) {
            write_held();
            // Its buffer, or its base, is needed by this tile at once.
            if (B == 1 || (rounds && ${aside} > M))
                __syncthreads();
        }
//% else
        // The tile before is written first where this one needs its buffer, or more rounds than one.
        if (held >= 0 && (B == 1 || (rounds && ${aside} > M) || !more)) {
            write_held();
            __syncthreads();
            held = -1;
        }
//% end
        if (!more)
            break;
//% insert :stage
//% insert :put_aside
//% if !kept_loads
//% if !by_place
        if (next < tiles)
            fetch(r, next * (G * U));
//% end
        if (held >= 0)
            write_held();
//% end
        held = tile;
        held_sum = sum;
        held_from = from;
        held_turn = turn;
        tile = next;
    }
}

//% part shared
//# Shared memory: tickets and the warps' numbers, both for two tiles in turn, and buffers for
//# results.
//% insert scan/rows.cu:load
    // Two turns of each: the next one begins while slow warps still read those of the last.
    __shared__ int tickets[2];
    __shared__ int warps[2][G / 32];
    __shared__ long long base; // kept before the tile that is written
//% if by_place
    __shared__ unsigned short places[B * M];
//% else
//% if otherwise
    __shared__ alignas(16) unsigned char aside[B * M * ${room}];
//% else
//% for p in outputs
    __shared__ alignas(16) unsigned char bytes_${p.name}[B * M * sizeof(${p.type})];
//% end
//% end
//% end

//% part take
//# The next ticket, and how many elements of this tile are kept.
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
            tell(told, tile, sum);
        const ${index} next = more ? tickets[turn] : tiles;

//% part put_aside
//# All results of the tile but the last ones, which stay in their buffer.
        int from = 0;
        for (;; from += M) {
            stage(from);
            if (!rounds || ${aside} - from <= M)
                break;
            settle(tile, sum, from > 0);
//% if otherwise
            put(tile, turn, from, M, sum);
//% else
            put(tile, turn, from, M);
//% end
            __syncthreads();
        }

//% part sums
//# What the warps have kept of the tile: those before this one, and all of them.
        int before = 0, sum = 0; // kept of the warps before, and of all
        #pragma unroll
        for (int k = 0; k < G / 32; k++) {
            before = k == warp ? sum : before;
            sum += warps[turn][k];
        }
//% if otherwise
        const int all = more ? size_of(tile) : 0;
//% end

//% part write
//# settle(tile, sum, known) finds out where the results of a tile belong: `base`, for all threads.
    auto settle = [&](const ${index} tile, const int sum, const bool known) {
        if (warp == 0 && !known) {
            const long long number = look_back(told, tile, lane);
            if (lane == 0) {
                base = number;
                if (tile % 32 == 0)
                    atomicAdd(told + tile / 32 * SPAN + 32, (unsigned long long)number << 8 | 128);
//% for s in sides
//% for p in counts
                if (tile == tiles - 1)
//% if s.rest
                    *a.ptr_${p.name} = (long long)count - (number + sum);
//% else
                    *a.ptr_${p.name} = number + sum;
//% end
//% end
//% end
            }
        }
        __syncthreads();
    };
//# put(tile, turn, from, many) writes `many` results of a buffer, the first of which is number
//# `from` of its tile. Each warp begins at a line of 128 bytes, so that no line is written by two
//# warps.
//% if otherwise
//% insert :put_both
//% else
    auto put = [&]([[maybe_unused]] const ${index} tile, const int turn, const int from, const int many) {
//% if by_place
        const unsigned short *const held_places = places + (B == 2 ? turn * M : 0);
//% end
//% for p in outputs
        ${p.type} *const out_${p.name} = (${p.type} *)(base_${p.name} + (base + from) * (a.stride_${p.name}_${last} / V));
//% if !by_place
        const ${p.type} *const held_${p.name} = (const ${p.type} *)bytes_${p.name} + (B == 2 ? turn * M : 0);
//% end
//% end
//% insert :store
    };
//% end
    auto write_held = [&]() {
        settle(held, held_sum, held_from > 0);
//% if otherwise
        put(held, held_turn, held_from, size_of(held) - held_from, held_sum);
//% else
        put(held, held_turn, held_from, held_sum - held_from);
//% end
    };

//% part put_both
//# The same with `otherwise`: a buffer holds the results of the `sum` kept elements, then those of
//# all others.
//% own middle
    auto size_of = [&](const ${index} tile) -> int {
        const ${index} left = count - tile * (G * U * V);
        return (int)(left < G * U * V ? left : G * U * V);
    };
    auto put = [&](const ${index} tile, const int turn, const int from, const int all, const int sum) {
        const int middle = sum < from ? 0 : sum - from < all ? sum - from : all; // so many are of elements kept
//% for s in sides
        {
//% if s.rest
            const int at = middle, many = all - middle;
            const long long number = (long long)tile * (G * U * V) - base + (from + middle - sum);
//% else
            const int at = 0, many = middle;
            const long long number = base + from;
//% end
//% if by_place
            const unsigned short *const held_places = places + (B == 2 ? turn * M : 0) + at;
//% else
//% insert :held
//% end
//% for p in outputs
            ${p.type} *const out_${p.name} = (${p.type} *)(base_${p.name} + number * (a.stride_${p.name}_${last} / V));
//% end
//% insert :store
        }
//% end
    };

//% part held
//# The buffer of each output. The k-th outputs of both kinds share it: results of kept elements are
//# stored from its beginning on, others up to its end, so that both fit, though their elements may
//# have different sizes.
//% for p in outputs
//% if s.rest
            ${p.type} *const held_${p.name} = (${p.type} *)(aside + ((B == 2 ? turn * ${room} : 0) + ${p.room_end}) * M) - M + at;
//% else
            ${p.type} *const held_${p.name} = (${p.type} *)(aside + ((B == 2 ? turn * ${room} : 0) + ${p.room_at}) * M) + at;
//% end
//% end

//% part store
//# Write results 0 to `many` - 1 of a buffer to where they belong.
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
//% if by_place
//% for p in outputs
            ${p.type} value_${p.name};
//% end
            ${s.op}((ptrdiff_t)tile * (G * U * V) + held_places[k]
//% for p in inputs
                , reg_${p.name}[0][0] // which it does not read
//% end
//% for p in outputs
                , value_${p.name}
//% end
            );
//% else
//% for p in outputs
            const ${p.type} value_${p.name} = held_${p.name}[k];
//% end
//% end
//% for p in outputs
//% if p.vector
            out_${p.name}[k] = value_${p.name};
//% else
            *(${p.type} *)((char *)out_${p.name} + k * (a.stride_${p.name}_${last} / V)) = value_${p.name};
//% end
//% end
        }

//% part count
//# Which elements the thread keeps: bit v of kept[u]. first[u] is how many its warp keeps before
//# those of access u, and warps[] how many of the tile each warp keeps.
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
            if (whole) {
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    const ${index} e = (start + u * W) * V + v;
                    if (keep((ptrdiff_t)e
//% for p in inputs
                        , in_${p.name}[${p.lane}]
//% end
                    ))
                        kept[u] |= 1u << v;
                }
            } else {
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    const ${index} e = (start + u * W) * V + v;
                    if (more && e < count && keep((ptrdiff_t)e
//% for p in inputs
                        , in_${p.name}[${p.lane}]
//% end
                    ))
                        kept[u] |= 1u << v;
                }
            }
//% insert :late
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

//% part late
//# Load inputs that only results are computed from, where the thread keeps an element of the
//# access.
//% if kept_loads
            if (kept[u] != 0) {
                const ${index} j = start + u * W;
                if (whole || fits(j)) {
//% for p in inputs
//% if p.kept_only
                    load(reg_${p.name}[u], r.row_${p.name} + along_${p.name}(j));
//% end
//% end
                } else {
                    #pragma unroll
                    for (int v = 0; v < V; v++) {
                        if ((kept[u] >> v & 1) == 0)
                            continue;
//% for p in inputs
//% if p.kept_only
                        reg_${p.name}[u][${p.lane}] = *at_${p.name}(r, j * V + v);
//% end
//% end
                    }
                }
            }
//% end

//% part stage
//# Results of the tile's kept elements, from the one numbered `from` on, as many as a buffer holds.
//% if otherwise
//% insert :stage_both
//% else
        auto stage = [&](const int from) {
//% if by_place
            unsigned short *const held_places = places + (B == 2 ? turn * M : 0);
//% else
//% for p in outputs
            ${p.type} *const held_${p.name} = (${p.type} *)bytes_${p.name} + (B == 2 ? turn * M : 0);
//% end
//% end
            #pragma unroll
            for (int u = 0; u < U; u++) {
//% for p in inputs
                const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
                int at = before + first[u] - from;
//% if by_place
                for (unsigned int bits = kept[u]; bits != 0; bits &= bits - 1, at++)
                    if (!rounds || (at >= 0 && at < M)) // all of a tile, or this round
                        held_places[at] = (unsigned short)((of_thread(0) + u * W) * V + __ffs((int)bits) - 1);
//% else
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    if ((kept[u] >> v & 1) == 0)
                        continue;
                    if (!rounds || (at >= 0 && at < M)) { // all of a tile, or this round
//% insert :compute
                    }
                    at++;
                }
//% end
            }
        };
//% end

//% part stage_both
//# The same with `otherwise`: of all elements of the tile, those that are not kept behind the
//# others.
//% own keeps kept_at other_at place
        auto stage = [&](const int from) {
//% if by_place
            unsigned short *const held_places = places + (B == 2 ? turn * M : 0);
//% else
            constexpr int at = 0;
//% for s in sides
//% insert :held
//% end
//% end
            #pragma unroll
            for (int u = 0; u < U; u++) {
//% for p in inputs
                const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
                const int place = (int)(of_thread(0) + u * W) * V;
                int kept_at = before + first[u] - from, other_at = sum + place - (before + first[u]) - from;
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    const bool keeps = (kept[u] >> v & 1) != 0;
                    if (!keeps && !whole && (start + u * W) * V + v >= count)
                        continue; // behind the end
                    const int at = keeps ? kept_at++ : other_at++;
                    if (rounds && (at < 0 || at >= M))
                        continue; // of another round
//% if by_place
                    held_places[at] = (unsigned short)(place + v);
//% else
//% for s in sides
//% if s.rest
                    if (!keeps) {
//% else
                    if (keeps) {
//% end
//% insert :compute
                    }
//% end
//% end
                }
            }
        };

//% part compute
//# Store the results of element v of access u in the buffer, as number `at`.
//% for p in outputs
                        ${p.type} out_${p.name};
//% end
                        ${s.op}((ptrdiff_t)((start + u * W) * V + v)
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
