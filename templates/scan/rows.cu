//# rows.cu - neighbouring threads take neighbours along the sequence.
//#
//# group: `group` threads (a power of two up to a warp, or the whole block) share a sequence and
//#        walk it in tiles of group * unroll accesses. A warp's part of a tile is contiguous; a
//#        thread has `vec` neighbours of each 32 * vec.
//# grid:  outputs / (block / group) blocks
//# order: a run of `vec`; runs of a warp by shuffles; warps of a block; tiles
//#
//# The elements are mapped twice: once for their sums, and again when results are written. In
//# between the inputs are held, which take fewer registers than accumulators do. Where sequences
//# are long and few, rows_split.cu is used instead.
//% own G U V W a acc all_fits all_runs along_ args aside_ at_ at_0 base base_ based before
//% own before_run begin bytes carries carry count d e fetch find fits from_lane from_left has
//% own identity in_ j k lane left load map mine n number of_thread out_ part place post quot_ r
//% own reduce reg_ rest rows run start store sum take tile_sum told u v value warp warps whole
//% insert scan/common.cu:shuffle
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${group}, U = ${unroll}, V = ${vec};
    constexpr int W = G < 32 ? G : 32;
//% insert scan/kernel.cpp:environment
//% insert scan/common.cu:locate
//% insert :place
//% insert :load
    // Surplus groups repeat the last sequence and store nothing.
    const ${index} number = (${index})blockIdx.x * (${block} / G) + (${index})threadIdx.x / G;
    const bool mine = number < (${index})a.outputs;
    const rows r = find(mine ? number : (${index})a.outputs - 1);
    part carry; // of everything before the tile
    bool carries = false;
//% if whole_block
    __shared__ alignas(16) unsigned char bytes[(${block} / 32) * sizeof(part)];
    part *const warps = (part *)bytes;
//% end

    for (${index} begin = 0; begin < (${index})a.length; begin += G * U) {
        const ${index} start = of_thread(begin);
        fetch(r, begin);
//% insert :sums
//% if whole_block
//% insert :block
//% else
        part base;
        bool based = false;
        const part tile_sum = sum;
//% end
        if (carries) {
            base = based ? reduce(carry, base) : carry;
            based = true;
        }
        take(carries, carry, tile_sum);
//% insert :write
//% if whole_block
        __syncthreads(); // before the next tile's sums take the place of these
//% end
    }
}

//% part place
//# Where sequences and their elements are, and which elements of a tile belong to a thread.
//% plain row_
    const int lane = threadIdx.x % W, warp = threadIdx.x % G / W;
    struct rows {
//% for p in walking
        ${p.const}char *row_${p.name};
//% end
    };
    // Sequence number kiln__n.
    auto find = [&](const ${index} n) -> rows {
        ${index} rest = n;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        const ${index} at_0 = rest;
        rows r;
//% for p in walking
        r.row_${p.name} = base_${p.name}
//% for a in keep_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
//% if p.back
            - (V - 1) * (int)sizeof(${p.type}) // where an access begins in memory
//% end
            ;
//% end
        return r;
    };
    // Its element number kiln__e.
//% for p in walking
    auto at_${p.name} = [&](const rows &r, const ${index} e) -> ${p.const}${p.type} * {
        return (${p.const}${p.type} *)(r.row_${p.name} + along_${p.name}(e / V))
//% if p.vector
            + e % V
//% end
//% if p.back
            + (V - 1 - e % V)
//% end
            ;
    };
//% end
    const ${index} count = (${index})a.count;
    // Whether access number kiln__j lies in the sequence, and the tile that begins with it.
    auto fits = [&](const ${index} j) -> bool { return (j + 1) * V <= count; };
    auto all_fits = [&](const ${index} j) -> bool { return j + G * U <= count / V; };
    // The thread's first access in that tile; the others follow kiln__W apart.
    auto of_thread = [&](const ${index} j) -> ${index} { return j + warp * (W * U) + lane; };

//% part load
//# Phase 1 of a tile of rows: fetch(r, begin) loads the thread's elements of the tile that begins
//# with access number `begin`. All loads are issued before the first is used. Filters load some inputs later.
//% for p in inputs
    ${p.type} reg_${p.name}[U][${p.lanes}];
//% end
    auto fetch = [&](const rows &r, const ${index} begin) {
        const ${index} start = of_thread(begin);
        if (all_fits(begin)) {
            #pragma unroll
            for (int u = 0; u < U; u++) {
//% for p in inputs
//% if !p.kept_only
                load(reg_${p.name}[u], r.row_${p.name} + along_${p.name}(start + u * W));
//% end
//% end
            }
            return;
        }
        // Behind the end the last element is repeated; nothing after it is stored.
        #pragma unroll
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u * W;
            if (fits(j)) {
//% for p in inputs
//% if !p.kept_only
                load(reg_${p.name}[u], r.row_${p.name} + along_${p.name}(j));
//% end
//% end
            } else {
//% for p in inputs
//% if !p.kept_only
                #pragma unroll
                for (int v = 0; v < ${p.lanes}; v++) {
                    const ${index} e = j * V + v;
                    reg_${p.name}[u][${p.lane}] = *at_${p.name}(r, e < count ? e : count - 1);
                }
//% end
//% end
            }
        }
    };

//% part value
//# value(v): the mapped element v of access u, whose inputs are in_p.
            auto value = [&](const int v) -> part {
                return map(
//% if position
                    place((start + u * W) * V + v)
//% else
                    0
//% end
//% for p in inputs
                    , in_${p.name}[${p.lane}]
//% end
                );
            };

//% part run
//# Access u of the lanes of a warp: `run` is the running value at the end of the lane's access.
//% insert :value
            part run = value(0);
            #pragma unroll
            for (int v = 1; v < V; v++)
                run = reduce(run, value(v));
            #pragma unroll
            for (int d = 1; d < W; d *= 2) {
                const part left = from_left<W>(run, d);
                if (lane >= d)
                    run = reduce(left, run);
            }

//% part before
//# `before_run` is the sum of the elements before the lane's run in its warp's part of the tile
//# (before the first run of lane 0 there are none); `sum` is that of the warp's part so far.
            part before_run = from_left<W>(run, 1);
            const part all_runs = from_lane<W>(run, W - 1);
            if (u > 0)
                before_run = lane > 0 ? reduce(sum, before_run) : sum;
            sum = u > 0 ? reduce(sum, all_runs) : all_runs;

//% part sums
//# Phase 2 where the tile stays in registers: `before` of every run, and `sum`.
        part before[U], sum;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% insert :run
//% insert :before
            before[u] = before_run;
        }

//% part block
//# Phase 3, where a block works on the sequence: `base`, the sum of the warps before the thread's
//# own (if `based`), and `tile_sum`.
        if (lane == 0)
            warps[warp] = sum;
        __syncthreads();
        part tile_sum = warps[0], base = tile_sum;
        bool based = warp > 0;
        #pragma unroll
        for (int k = 1; k < ${block} / 32; k++) {
            if (k == warp)
                base = tile_sum;
            tile_sum = reduce(tile_sum, warps[k]);
        }

//% part write
//# Phase 4: sum the thread's runs again, beginning with the sum of everything before each, and
//# store. A tile that was put aside is read back from shared memory and summed on the way.
        const bool whole = all_fits(begin);
//% if split
        #pragma unroll 2
//% else
        #pragma unroll
//% end
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u * W;
//% for p in inputs
//% if split
            ${p.type} in_${p.name}[${p.lanes}];
            load(in_${p.name}, aside_${p.name}[u][threadIdx.x]);
//% else
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% end
//% if split
//% insert :run
//% insert :before
//% else
//% insert :value
            const part &before_run = before[u];
//% end
            part acc = base;
            bool has = based;
            if (u > 0 || lane > 0)
                take(has, acc, before_run);
//% for p in outputs
            ${p.type} out_${p.name}[V];
//% if p.read_first
            #pragma unroll
            for (int v = 0; v < V; v++) {
                const ${index} e = j * V + v;
                out_${p.name}[${p.lane}] = *at_${p.name}(r, e < count ? e : count - 1);
            }
//% end
//% end
            #pragma unroll
            for (int v = 0; v < V; v++) {
//% if exclusive
                const part told = has ? acc : identity();
                take(has, acc, value(v));
//% else
                take(has, acc, value(v));
                const part &told = acc;
//% end
                post(place(j * V + v), told
//% for p in outputs
                    , out_${p.name}[${p.lane}]
//% end
                );
            }
            if (mine && (whole || fits(j))) {
//% for p in outputs
                store(r.row_${p.name} + along_${p.name}(j), out_${p.name});
//% end
            } else if (mine) {
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    const ${index} e = j * V + v;
                    if (e >= count)
                        break;
//% for p in outputs
                    *at_${p.name}(r, e) = out_${p.name}[${p.lane}];
//% end
                }
            }
        }
