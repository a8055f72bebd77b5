//# rows.cu - neighbouring threads take neighbours along a reduced axis.
//#
//# group:  `group` threads (a power of two up to a warp, or the whole block) share an output; a
//#         group works on `segments` outputs at a time, so that enough loads are in flight for
//#         short rows
//# grid:   outputs / (segments * block / group) blocks; when split, `splits` blocks an output, of
//#         which the last to arrive combines the parts in a fixed order
//# shared: one part for each warp, where a group is the whole block
//# hold:   a group loads all of its row before it uses the first element. What it has is one batch: moments
//#         are those of two passes over registers, without a division an element, and a position is looked
//#         for when the row's best value is known. A group of several warps is the whole block
//# stage:  of rows that lie one behind the other a block copies `chunk` into shared memory, in accesses
//#         of `stage` bytes whatever their length is, and a thread then takes whole rows from there
//% own a acc all all_ along_ args arrive at at_ at_0 b base_ base_J behind bytes copy_rows d empty end
//% own edge_ exchange F finish first from G has index item j k L l lane last M mem_ merge mine moves N n of
//% own none op output pad_ part past_ past_J place quot_ reg_ rest room round row_ S s size_ some split take
//% own T there tile_ together turn U u v value values w warps whole
//% insert reduce/common.cu:shuffle
//% if stage
//% insert reduce/common.cu:copy_rows
//% end
//% if split
//% insert reduce/common.cu:ticket
//% end
//% if batch_collective
//% insert :together
//% end
//% if stage
// So many blocks keep memory busy.
extern "C" __global__ void __launch_bounds__(${block}, ${unroll} * ${vec} > 16 ? 4 : 5)
//% else
extern "C" __global__ void __launch_bounds__(${block})
//% end
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${group}, S = ${segments}, U = ${unroll}, L = ${lanes};
//% if !batched
//% if !hold
//% insert reduce/common.cu:long
//% end
//% end
//% insert reduce/kernel.cpp:environment
//% if batch_collective
//% if whole_block
    __shared__ alignas(16) unsigned char bytes[G / 2];
//% else
    unsigned char *const bytes = 0;
//% end
    const together<G> all = {bytes};
//% end
//% if stage
//% insert :stage
    #pragma unroll 1
    for (${index} output = first + threadIdx.x; output < behind; output += ${block}) {
//% end
//% insert :output
//% if peel
//% insert :begin
//% insert :peel
//% else
    const ${index} end = (${index})a.length;
//% insert :begin
//% end

//% if hold
//% insert :held_rows
//% else
//% if batch_whole
//% insert :whole_rows
//% else
//% insert :bursts
//% end
//% end

//% if peel
//% if !batch_collective
//% insert :edge
//% end
//% end
//% if batch_collective
//% insert :spread
//% else
//% if whole_block
//% insert :block
//% else
//% insert :group
//% end
//% end
//% if stage
    }
//% end
}

//% part output
//# The output of a thread's group, and its first element of it.
    const int lane = threadIdx.x % G;
//% if split
    const ${index} output = a.by_splits.quotient((${index})blockIdx.x);
    const ${index} split = (${index})blockIdx.x - output * (${index})a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} turn = (${index})a.splits * (U * G);
    ${index} at = split * (U * G) + lane;
//% else
    constexpr ${index} turn = U * G;
    ${index} at = lane;
//% if !stage
    const ${index} output = (${index})blockIdx.x * (S * (${block} / G)) + (${index})threadIdx.x / G;
//% end
//% end

//% part together
//# What the threads of a group make of a value of each: lanes first, then warps in order.
template <int G> struct together {
    unsigned char *bytes;
    template <class T, class F> KILN_METHOD T operator()(T value, const F op) const
    {
        #pragma unroll
        for (int d = (G < 32 ? G : 32) / 2; d > 0; d /= 2)
            value = op(value, exchange(value, d));
        if constexpr (G > 32) {
            T *const warps = (T *)bytes;
            __syncthreads(); // all have read what was there
            if (threadIdx.x % 32 == 0)
                warps[threadIdx.x / 32] = value;
            __syncthreads();
            value = warps[0];
            #pragma unroll
            for (int w = 1; w < G / 32; w++)
                value = op(value, warps[w]);
        }
        return value;
    }
};

//% part stage
//# Rows kiln__first to kiln__behind of every staged input, one behind the other as in memory: read by
//# accesses of `stage` bytes, and by elements where the array ends within one. Rows of whole accesses of
//# 16 bytes lie 16 bytes more apart, so that threads read from different banks.
//% own tile
    const ${index} first = (${index})blockIdx.x * (${index})a.chunk;
    ${index} behind = first + (${index})a.chunk;
    if (behind > (${index})a.outputs)
        behind = (${index})a.outputs;
    __shared__ alignas(16) unsigned char tile[${stage_bytes}];
    int room = 0;
//% for p in inputs
//% if p.tile
    const int size_${p.name} = (int)a.count * (int)sizeof(${p.type});
    const int pad_${p.name} = size_${p.name} % 16 == 0 ? 16 : 0;
    unsigned char *const tile_${p.name} = tile + room;
    room += (int)a.chunk * (size_${p.name} + pad_${p.name});
    copy_rows<${p.type}, ${stage}, ${block}>(tile_${p.name}, pad_${p.name},
        (const unsigned char *)a.ptr_${p.name} + (long long)first * size_${p.name}, 0, size_${p.name}, (int)(behind - first) * size_${p.name});
//% end
//% end
    __syncthreads();

//% part whole_rows
//# All elements of a row at once, which shared memory holds however often they are looked at.
    (void)at, (void)end, (void)turn, (void)U;
    ${batch_of_row}<0>(acc[0][0], [&](const int k) {
        return item(k
//% for p in inputs
//% if p.tile
            , ((const ${p.type} *)row_${p.name}[0])[k]
//% else
            , *(const ${p.type} *)(row_${p.name}[0] + k * ((${index})a.stride_${p.name}_${last} / ${vec}))
//% end
//% end
        );
    }, [](const int k) { return k; }, (int)a.count);

//% part bursts
//# Whole bursts of U accesses, then the accesses that are left.
    for (; at + (U - 1) * G < end; at += turn) {
        constexpr int N = U;
//% insert :burst
    }
    if constexpr (U > 1) {
        #pragma unroll 1
        for (; at < end; at += G) {
            constexpr int N = 1;
//% insert :burst
        }
    }

//% part held_rows
//# All accesses of every segment, loaded before the first is used. The first F are those that every lane
//# has, and `has` tells of the others.
//% own E e edge outside
    (void)turn;
    constexpr int F = ${hold} == 2 ? U : U > 8 ? U - 4 : U - 1;
    auto has = [&](const int u) { return u < F || at + u * G < end; };
//% for p in inputs
    ${p.type} reg_${p.name}[S][U][${p.lanes}];
//% end
    #pragma unroll
    for (int u = 0; u < U; u++) {
        const ${index} j = at + u * G;
//% insert reduce/common.cu:locate
        if (has(u)) {
            #pragma unroll
            for (int s = 0; s < S; s++) {
//% for p in inputs
                ${p.load}(reg_${p.name}[s][u], row_${p.name}[s] + along_${p.name});
//% end
            }
        }
    }
//% if peel
//% for p in inputs
    ${p.type} edge_${p.name}[E];
    #pragma unroll
    for (int e = 0; e < E; e++)
        if (outside[e])
//% if p.along
            edge_${p.name}[e] = ((const ${p.type} *)row_${p.name}[0])[edge[e]];
//% else
            edge_${p.name}[e] = *(const ${p.type} *)row_${p.name}[0];
//% end
//% end
//% end
    #pragma unroll
    for (int s = 0; s < S; s++) {
//% if batched
        auto of = [&](const int k) {
            [[maybe_unused]] const int v = k % ${vec};
            return item(k
//% for p in inputs
                , reg_${p.name}[s][k / ${vec}][${p.lane}]
//% end
            );
        };
        [[maybe_unused]] auto place = [&](const int k) -> index {
//% if position
//% if peel
            if (k >= U * ${vec})
                return (index)(base_J[0] + edge[k - U * ${vec}] * (a.step_J_${last} / ${vec}));
//% end
            const ${index} j = at + (k / ${vec}) * G;
//% insert reduce/common.cu:locate
            return (index)(base_J[s] + past_J) + k % ${vec} * (index)(a.step_J_${last} / ${vec});
//% else
            return (index)k;
//% end
        };
//% if batch_collective
//% insert :held_batch
//% else
        if constexpr (F > 0)
            ${batch}<F * ${vec}>(acc[s][0], of, place);
        #pragma unroll
        for (int u = F; u < U; u++)
            if (has(u))
                ${batch}<${vec}>(acc[s][0], [&](const int k) { return of(u * ${vec} + k); },
                                 [&](const int k) { return place(u * ${vec} + k); });
//% end
//% else
        #pragma unroll
        for (int u = 0; u < U; u++) {
            #pragma unroll
            for (int v = 0; v < ${vec}; v++)
                if (has(u))
                    take(acc[s][(u * ${vec} + v) % L]
//% for p in inputs
                        , reg_${p.name}[s][u][${p.lane}]
//% end
                    );
        }
//% end
    }

//% part held_batch
//# What a group holds of a row is one batch: every thread has the result of all. A value that is not there
//# is that of no element.
//% own E e outside
        constexpr int N = U * ${vec}
//% if peel
            + E
//% end
            ;
        auto there = [&](const int k) {
//% if peel
            if (k >= U * ${vec})
                return outside[k - U * ${vec}];
//% end
            return has(k / ${vec});
        };
//% if position
        const ${batch_type} none = empty()${batch_member};
//% else
        const ${batch_type} none = ${batch_type}();
//% end
        ${batch_type} values[N];
        #pragma unroll
        for (int k = 0; k < U * ${vec}; k++)
            values[k] = there(k) ? of(k) : none;
//% if peel
        #pragma unroll
        for (int e = 0; e < E; e++)
            values[U * ${vec} + e] = !outside[e] ? none : item(0
//% for p in inputs
                , edge_${p.name}[e]
//% end
            );
//% end
        ${batch_held}_row<N, U * ${vec}>(acc[s][0], [&](const int k) { return values[k]; }, there, place, (int)a.count, all);

//% part spread
//# Every lane has the results of all segments: lane k finishes the k-th, where there are so many.
    #pragma unroll
    for (int s = 0; s < S; s += G) {
        part mine = acc[s][0];
        #pragma unroll
        for (int l = 1; l < (S < G ? S : G); l++)
            if (lane == l)
                mine = acc[s + l][0];
        const ${index} k = output + (s + lane) * (${block} / G);
//% if stage
        if (lane < S)
//% else
        if (lane < S && k < (${index})a.outputs)
//% end
            finish(k, mine);
    }

//% part peel
//# Rows that begin anywhere: every row is read from its first aligned access on, kiln__end of them. Of the
//# elements before and behind a thread has E at most: those for which `outside` holds, number `edge` from there.
//% own E e edge head outside tail
    constexpr int E = (2 * (${vec} - 1) + G - 1) / G;
    ${index} head = 0;
//% for p in inputs
//% if p.along
    head = (${index})((${vec} - (size_t)row_${p.name}[0] / sizeof(${p.type}) % ${vec}) % ${vec});
//% end
//% end
//% for p in inputs
//% if p.along
    row_${p.name}[0] += head * (int)sizeof(${p.type});
//% end
//% end
//% for x in numbers
    base_${x.name}[0] += head * (a.step_${x.name}_${last} / ${vec});
//% end
    const ${index} end = ((${index})a.count - head) / ${vec}, tail = (${index})a.count - head - end * ${vec};
    bool outside[E];
    ${index} edge[E];
    #pragma unroll
    for (int e = 0; e < E; e++) {
        const ${index} k = lane + e * G;
        outside[e] = k < head + tail
//% if split
            && split == 0
//% end
            ;
        edge[e] = k < head ? k - head : end * ${vec} + (k - head);
    }

//% part edge
//# Behind all accesses, and combined like parts of other threads, whatever the places are.
//% own E e edge only outside
    #pragma unroll
    for (int e = 0; e < E; e++) {
        if (!outside[e])
            continue;
//% if batched
        part only = empty();
        ${batch}<1>(only, [&](int) {
            return item(0
//% for p in inputs
//% if hold
                , edge_${p.name}[e]
//% else
//% if p.along
                , ((const ${p.type} *)row_${p.name}[0])[edge[e]]
//% else
                , *(const ${p.type} *)row_${p.name}[0]
//% end
//% end
//% end
            );
        }, [&](int) -> index {
//% if position
            return (index)(base_J[0] + edge[e] * (a.step_J_${last} / ${vec}));
//% else
            return 0;
//% end
        });
        acc[0][0] = merge(acc[0][0], only);
//% else
        take(acc[0][0]
//% for x in numbers
            , base_${x.name}[0] + edge[e] * (a.step_${x.name}_${last} / ${vec})
//% end
//% for p in inputs
//% if hold
            , edge_${p.name}[e]
//% else
//% if p.along
            , ((${p.const}${p.type} *)row_${p.name}[0])[edge[e]]
//% else
            , *(${p.const}${p.type} *)row_${p.name}[0]
//% end
//% end
//% end
        );
//% end
    }

//% part begin
//# The addresses and numbers with which each of the group's segments begins (row_* and base_*), and
//# its empty accumulators. Surplus segments repeat the last one.
//% for p in inputs
    const char *row_${p.name}[S];
//% end
//% for x in numbers
    long long base_${x.name}[S];
//% end
    part acc[S][L];
    #pragma unroll
    for (int s = 0; s < S; s++) {
        ${index} rest = output + s * (${block} / G);
        if (rest >= (${index})a.outputs)
            rest = (${index})a.outputs - 1;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        [[maybe_unused]] const ${index} at_0 = rest;
//% for p in inputs
//% if p.tile
        row_${p.name}[s] = (const char *)tile_${p.name} + (int)(output - first) * (size_${p.name} + pad_${p.name});
//% else
        row_${p.name}[s] = (const char *)a.ptr_${p.name}
//% for a in keep_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% end
//% for x in numbers
        base_${x.name}[s] = 0
//% for a in keep_axes
            + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
            ;
//% end
        #pragma unroll
        for (int l = 0; l < L; l++)
            acc[s][l] = empty();
    }

//% part burst
//# N accesses of every segment from number `at` on, all loaded before the first is used. A long
//# snippet is instantiated for one access only: the loaded values are moved to the registers of
//# that access.
//% plain kiln__long
//% for p in inputs
//% if p.direct
        ${p.const}char *mem_${p.name}[S][N];
//% else
        ${p.type} reg_${p.name}[S][N][${p.lanes}];
//% end
//% end
//% for x in numbers
        [[maybe_unused]] long long all_${x.name}[N];
//% end
        #pragma unroll
        for (int u = 0; u < N; u++) {
            const ${index} j = at + u * G;
//% insert reduce/common.cu:locate
//% for x in numbers
            all_${x.name}[u] = past_${x.name};
//% end
            #pragma unroll
            for (int s = 0; s < S; s++) {
//% for p in inputs
//% if p.direct
                mem_${p.name}[s][u] = (${p.const}char *)row_${p.name}[s] + along_${p.name};
//% else
                ${p.load}(reg_${p.name}[s][u], row_${p.name}[s] + along_${p.name});
//% end
//% end
            }
        }
//% if batch_bytes
        #pragma unroll
        for (int s = 0; s < S; s++)
//% for p in inputs
            kiln_batch_sum_bytes(acc[s][0], reg_${p.name}[s]);
//% end
//% else
//% if batched
        // So many accesses that a batch's values have room in registers.
        constexpr int M = N * ${vec} <= ${batch_most} ? N : ${vec} < ${batch_most} ? ${batch_most} / ${vec} : 1;
        #pragma unroll
        for (int s = 0; s < S; s++)
        #pragma unroll
        for (int b = 0; b < N; b += M) {
            auto of = [&](int k) {
                [[maybe_unused]] const int v = k % ${vec};
                return item(k
//% for p in inputs
                    , reg_${p.name}[s][b + k / ${vec}][${p.lane}]
//% end
                );
            };
//% if batch_kept
            ${batch_type} values[M * ${vec}];
            #pragma unroll
            for (int k = 0; k < M * ${vec}; k++)
                values[k] = of(k);
//% end
            ${batch}<M * ${vec}>(
                acc[s][0],
//% if batch_kept
                [&](int k) { return values[k]; },
//% else
                of,
//% end
                [&](int k) -> index {
//% if position
                    const ${index} j = at + (b + k / ${vec}) * G;
//% insert reduce/common.cu:locate
                    return (index)(base_J[s] + past_J) + k % ${vec} * (index)(a.step_J_${last} / ${vec});
//% else
                    return (index)k;
//% end
                });
        }
//% else
        #pragma unroll kiln__long ? 1 : N
        for (int u = 0; u < N; u++) {
            constexpr bool moves = kiln__long && N > 1;
            const int n = moves ? 0 : u;
            #pragma unroll
            for (int s = 0; s < S; s++) {
                #pragma unroll
                for (int v = 0; v < ${vec}; v++)
                    take(acc[s][(n * ${vec} + v) % L]
//% for x in numbers
                        , base_${x.name}[s] + all_${x.name}[n] + v * (a.step_${x.name}_${last} / ${vec})
//% end
//% for p in inputs
//% if p.direct
                        , ((${p.const}${p.type} *)mem_${p.name}[s][n])[${p.lane}]
//% else
                        , reg_${p.name}[s][n][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int k = 1; moves && k < N; k++) {
//% for x in numbers
                all_${x.name}[k - 1] = all_${x.name}[k];
//% end
                #pragma unroll
                for (int s = 0; s < S; s++) {
//% for p in inputs
//% if p.direct
                    mem_${p.name}[s][k - 1] = mem_${p.name}[s][k];
//% else
                    #pragma unroll
                    for (int v = 0; v < ${p.lanes}; v++)
                        reg_${p.name}[s][k - 1][v] = reg_${p.name}[s][k][v];
//% end
//% end
                }
            }
        }
//% end
//% end

//% part group
//# Combine the parts of each segment among the lanes of a group. While there are several segments, a
//# lane gives away one half of them and keeps the other: whose bit `d` is set, the upper half. In the
//# end each lane has the results of its own segments, or lanes that differ in the last bits have one.
//% own give h keep upper
    #pragma unroll
    for (int s = 0; s < S; s++) {
        #pragma unroll
        for (int l = 1; l < L; l++)
            acc[s][0] = merge(acc[s][0], acc[s][l]);
    }
    int mine = 0;
    #pragma unroll
    for (int d = G / 2; d > 0; d /= 2) {
        const int h = S * d / G;
        const bool upper = h > 0 && (lane & d) != 0;
        #pragma unroll
        for (int s = 0; s < (h > 0 ? h : 1); s++) {
            part keep = acc[s][0], give = acc[s + h][0];
            if (upper) {
                keep = acc[s + h][0];
                give = acc[s][0];
            }
            acc[s][0] = merge(keep, exchange(give, d));
        }
        mine += upper ? h : 0;
    }
    #pragma unroll
    for (int s = 0; s < (S < G ? 1 : S / G); s++) {
        const ${index} k = output + (mine + s) * (${block} / G);
        if ((S >= G || lane % (G / S) == 0) && k < (${index})a.outputs)
            finish(k, acc[s][0]);
    }

//% part block
//# Combine the parts of a block: those of the lanes, then those of the warps. When split, the
//# result is the block's part of an output, and the last block to arrive combines the parts of all
//# blocks in a second round, in a fixed order. The loops are not unrolled: each has a few
//# iterations at the end of a block, and most of the time to compile is spent on instances of
//# `reduce`.
    part whole = acc[0][0];
    #pragma unroll
    for (int l = 1; l < L; l++)
        whole = merge(whole, acc[0][l]);
    __shared__ alignas(16) unsigned char bytes[(${block} / 32) * sizeof(part)];
    part *const warps = (part *)bytes;
//% if split
    __shared__ bool last;
    #pragma unroll 1
    for (int round = 0;; round++) {
//% end
        #pragma unroll 1
        for (int d = 1; d < ${block}; d *= 2) {
            if (d == 32) {
                if (threadIdx.x % 32 == 0)
                    warps[threadIdx.x / 32] = whole;
                __syncthreads();
                whole = warps[threadIdx.x % (${block} / 32)];
            }
            whole = merge(whole, exchange(whole, d < 32 ? d : d / 32));
        }
//% if split
        if (round > 0)
            break;
        const part *const from = a.parts + output * (${index})a.splits;
        if (threadIdx.x == 0) {
            a.parts[output * (${index})a.splits + split] = whole;
            last = arrive(a.tickets + output) == (int)a.splits - 1;
        }
        __syncthreads();
        if (!last)
            return;
        // As many as a thread has room for are on their way at once: the device waits for this block.
        constexpr int N = __is_class(part) ? 4 : 64 / sizeof(part) < 16 ? 64 / sizeof(part) : 16;
        whole = empty();
        #pragma unroll 1
        for (${index} k = threadIdx.x; k < (${index})a.splits; k += N * ${block}) {
            part some[N];
            #pragma unroll
            for (int n = 0; n < N; n++)
                some[n] = k + n * ${block} < (${index})a.splits ? from[k + n * ${block}] : empty();
            #pragma unroll
            for (int n = 0; n < N; n++)
                whole = merge(whole, some[n]);
        }
        if (threadIdx.x == 0)
            a.tickets[output] = 0;
    }
//% end
    if (threadIdx.x == 0)
        finish(output, whole);
