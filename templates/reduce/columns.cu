//# columns.cu - neighbouring threads take neighbours along a kept axis, and walk down the rows.
//#
//# block:  `group` threads along the kept axis, each with `vec` columns, by block / group rows
//# grid:   column tiles x outer kept indices; when split, `splits` blocks share a tile's rows, and
//#         the last to arrive combines the parts in a fixed order
//# shared: a part for each of a thread's columns, of as many columns at a time as fit into 16 KiB
//% own F K N R U V W X a acc all_ along_ args arrive at at_ at_0 base_ base_J c column corner
//% own empty end finish first from h index inside item j k last mem_ merge mine moves n of out
//% own outer part parts past_ past_J quot_ reg_ rest row row_ some split splits step take teams
//% own ticket tile to together turn tx ty u v values whole
//% plain bytes columns
KILN_FN constexpr int together(int columns, int bytes) { return columns * bytes <= 64 || columns == 1 ? columns : together(columns / 2, bytes); }
//% if split
//% insert reduce/common.cu:ticket
//% end
//% if batched
extern "C" __global__ void __launch_bounds__(${block}, 4) // no more are launched a multiprocessor
//% else
extern "C" __global__ void __launch_bounds__(${block})
//% end
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, R = ${block} / X, U = ${unroll}, V = ${vec};
//% if !batched
//% insert reduce/common.cu:long
//% end
//% insert reduce/kernel.cpp:environment
    const int tx = threadIdx.x % X, ty = threadIdx.x / X;
//% if split
    const ${index} tile = a.by_splits.quotient((${index})blockIdx.x);
    const ${index} split = (${index})blockIdx.x - tile * (${index})a.splits;
    // Blocks take bursts in turn, so that the device reads memory front to back.
    const ${index} turn = (${index})a.splits * (U * R);
    ${index} at = split * (U * R) + ty;
//% else
    const ${index} tile = (${index})blockIdx.x;
    constexpr ${index} turn = U * R;
    ${index} at = ty;
//% end
    const ${index} end = (${index})a.length;
//% insert :begin

    if (inside) {
        for (; at + (U - 1) * R < end; at += turn) {
            constexpr int N = U;
//% insert :burst
        }
        if constexpr (U > 1) {
            #pragma unroll 1
            for (; at < end; at += R) {
                constexpr int N = 1;
//% insert :burst
            }
        }
    }

//% insert :block
}

//% part begin
//# The tile's place among the kept axes (its last coordinate counts tiles), the addresses and
//# numbers with which the thread's columns begin (row_* and base_*), and the thread's empty
//# accumulators.
//% own columns
    ${index} rest = tile;
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} columns = (${index})a.shape_${keep_last} / V;
    const ${index} corner = at_${keep_last} * X, column = corner + tx;
    const bool inside = column < columns;
    ${index} outer = 0;
//% for a in keep_outer
    outer = outer * (${index})a.shape_${a.n} + at_${a.n};
//% end
//% for p in inputs
    const char *const row_${p.name} = (const char *)a.ptr_${p.name}
        + (inside ? column : 0) * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for x in numbers
    const long long base_${x.name} = (long long)column * V * a.step_${x.name}_${keep_last}
//% for a in keep_outer
        + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
        ;
//% end
    part acc[V];
    #pragma unroll
    for (int v = 0; v < V; v++)
        acc[v] = empty();

//% part burst
//# N rows from row number `at` on, all loaded before the first is used. A long snippet is
//# instantiated for one row only: the loaded values are moved to the registers of that row.
//% plain kiln__long
//% for p in inputs
//% if p.direct
            ${p.const}char *mem_${p.name}[N];
//% else
            ${p.type} reg_${p.name}[N][${p.lanes}];
//% end
//% end
//% for x in numbers
            [[maybe_unused]] long long all_${x.name}[N];
//% end
            #pragma unroll
            for (int u = 0; u < N; u++) {
            const ${index} j = at + u * R;
//% insert reduce/common.cu:locate
//% for x in numbers
                all_${x.name}[u] = base_${x.name} + past_${x.name};
//% end
//% for p in inputs
//% if p.direct
                mem_${p.name}[u] = (${p.const}char *)row_${p.name} + along_${p.name};
//% else
                ${p.load}(reg_${p.name}[u], row_${p.name} + along_${p.name});
//% end
//% end
            }
//% if batched
            #pragma unroll
            for (int v = 0; v < V; v++) {
                auto of = [&](int k) {
                    return item(k
//% for p in inputs
                        , reg_${p.name}[k][${p.lane}]
//% end
                    );
                };
//% if batch_kept
                ${batch_type} values[N];
                #pragma unroll
                for (int k = 0; k < N; k++)
                    values[k] = of(k);
//% end
                ${batch}<N>(
                    acc[v],
//% if batch_kept
                    [&](int k) { return values[k]; },
//% else
                    of,
//% end
                    [&](int k) -> index {
//% if position
                        const ${index} j = at + k * R;
//% insert reduce/common.cu:locate
                        return (index)(base_J + past_J);
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
                for (int v = 0; v < V; v++)
                    take(acc[v]
//% for x in numbers
                        , all_${x.name}[n] + v * a.step_${x.name}_${keep_last}
//% end
//% for p in inputs
//% if p.direct
                        , ((${p.const}${p.type} *)mem_${p.name}[n])[${p.lane}]
//% else
                        , reg_${p.name}[n][${p.lane}]
//% end
//% end
                    );
                #pragma unroll
                for (int k = 1; moves && k < N; k++) {
//% for x in numbers
                    all_${x.name}[k - 1] = all_${x.name}[k];
//% end
//% for p in inputs
//% if p.direct
                    mem_${p.name}[k - 1] = mem_${p.name}[k];
//% else
                    #pragma unroll
                    for (int v = 0; v < ${p.lanes}; v++)
                        reg_${p.name}[k - 1][v] = reg_${p.name}[k][v];
//% end
//% end
                }
            }
//% end

//% part block
//# Combine the rows of threads of a tile by halving; the order depends on the block's shape only.
//# When split, the result is the block's part of its tile. Many blocks are combined in two steps:
//# the last of `together` neighbouring blocks combines their parts, and the last of those that have
//# done so combines the results. Each step is an iteration of the same loop, so that `reduce` is
//# instantiated few times, which keeps compiling fast.
//% own bytes columns
    constexpr int K = together(V, sizeof(part)), W = X * K;
    __shared__ alignas(16) unsigned char bytes[R * W * sizeof(part)];
    part *const parts = (part *)bytes;
    const ${index} first = (outer * columns + corner) * V;
//% if split
    constexpr int F = 32;
    __shared__ bool last;
    const ${index} splits = (${index})a.splits;
    const ${index} teams = splits > 4 * R ? (splits + F - 1) / F : 0;
    // The parts to combine next: rows kiln__from to kiln__to by kiln__step, counted by kiln__ticket.
    ${index} mine = split, step = 1, from = 0, to = splits;
    int *ticket = a.tickets + tile * (1 + teams);
    if (teams > 0) {
        from = split / F * F;
        to = from + F < splits ? from + F : splits;
        ticket += 1 + split / F;
    }
    bool whole = false;
    #pragma unroll 1
    for (;;) {
//% end
//% if split
//% insert :halve
        if (whole)
            break;
        if (threadIdx.x == 0)
            last = arrive(ticket) == (int)((to - from + step - 1) / step) - 1;
        __syncthreads();
        if (!last)
            return;
        if (threadIdx.x == 0)
            *ticket = 0;
//% insert :collect
        whole = teams == 0 || step > 1;
        mine = from;
        from = 0;
        to = splits;
        step = F;
        ticket = a.tickets + tile * (1 + teams);
    }
//% else
    // A thread that has whole columns has nothing to combine.
    if constexpr (R == 1) {
        #pragma unroll
        for (int v = 0; v < V; v++)
            if (inside)
                finish(first + tx * V + v, acc[v]);
    } else {
//% insert :halve
    }
//% end

//% part halve
//# The rows of threads are combined by halving, some of a thread's columns at a time; the result is the
//# block's part or, when nothing else is to be combined, a result of the reduction.
//% own columns
        #pragma unroll 1
        for (int c = 0; c < V; c += K) {
            #pragma unroll
            for (int v = 0; v < V; v++)
                if (v / K * K == c)
                    parts[(ty * X + tx) * K + v % K] = acc[v];
            __syncthreads();
            #pragma unroll 1
            for (int h = R / 2; h > 0; h /= 2) {
                #pragma unroll 1
                for (int k = threadIdx.x; k < h * W; k += ${block})
                    parts[k] = merge(parts[k], parts[k + h * W]);
                __syncthreads();
            }
            #pragma unroll 1
            for (int k = threadIdx.x; k < W; k += ${block}) {
                const ${index} out = first + k / K * V + c + k % K;
                if (corner + k / K >= columns)
                    break;
//% if split
                if (!whole)
                    a.parts[mine * (${index})a.outputs + out] = parts[k];
                else
//% end
                finish(out, parts[k]);
            }
            __syncthreads();
        }

//% part collect
//# The last block to arrive takes the parts of its team.
        constexpr int N = V * sizeof(part) <= 16 ? 4 : 1;
        #pragma unroll
        for (int v = 0; v < V; v++)
            acc[v] = empty();
        #pragma unroll 1
        for (${index} k = from + ty * step; inside && k < to; k += N * R * step) {
            part some[N][V];
            #pragma unroll
            for (int n = 0; n < N; n++) {
                const ${index} row = k + n * R * step;
                #pragma unroll
                for (int v = 0; v < V; v++)
                    some[n][v] = row < to ? a.parts[row * (${index})a.outputs + first + tx * V + v] : empty();
            }
            #pragma unroll
            for (int n = 0; n < N; n++) {
                #pragma unroll
                for (int v = 0; v < V; v++)
                    acc[v] = merge(acc[v], some[n][v]);
            }
        }
