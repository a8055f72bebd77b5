//# tile.cu - each element of an input is used for many results: a block computes a tile of results
//# along two kept axes, and brings the elements that it needs into shared memory once.
//#
//# block:  `group` threads across by block / group down; a thread has `segments` rows by `lanes`
//#         columns of results, in runs of at most four neighbours
//# grid:   tiles across x tiles down x the other kept indices; when split, `splits` blocks share a
//#         tile's reduced elements, and the last to arrive combines the parts in their order
//# shared: two panels of each staged input, `unroll` steps along the reduced axes long: while one is
//#         worked on, the next is loaded into registers and then stored in the other
//% own F G H K M N S T W X Y a acc along_side args arrive at at_ at_0 base_ begin buffer burst
//% own bytes column column_of count each empty end extent fetch flush from g h has id j k l lane
//% own last left limit line_ load merge n origin_ p panel panel_ part parts past_ pick pitch place
//% own quot_ reg reg_ rest row row_of run side some_ split staged_ started step steps store sums take
//% own threads tile to to_ top turn tx ty v values w which whole width

//% insert :panel
//% if split
//% insert reduce/common.cu:ticket
//% end
extern "C" __global__ void __launch_bounds__(${block}, sizeof(part) * ${segments} * ${lanes} <= 256 ? 2 : 1)
${entry}(const __grid_constant__ args a)
{
    constexpr int H = ${segments}, W = ${lanes}, K = ${unroll}, X = ${group}, Y = ${block} / X;
    constexpr int F = H < 4 ? H : 4, G = W < 4 ? W : 4; // neighbours along and across
    constexpr int M = Y * H, N = X * W; // the tile's extents
//% insert reduce/kernel.cpp:environment
//% if split
    const ${index} tile = a.by_splits.quotient((${index})blockIdx.x);
    const ${index} split = (${index})blockIdx.x - tile * (${index})a.splits;
    const ${index} begin = split * (${index})a.chunk;
    const ${index} end = begin + (${index})a.chunk < (${index})a.length ? begin + (${index})a.chunk : (${index})a.length;
//% else
    const ${index} tile = (${index})blockIdx.x, begin = 0, end = (${index})a.length;
//% end
//% insert :begin

    // The result's place that a thread's row h and column w are.
    auto row_of = [&](int h) -> ${index} { return top + h / F * (Y * F) + ty * F + h % F; };
    auto column_of = [&](int w) -> ${index} { return left + w / G * (X * G) + tx * G + w % G; };
    auto fetch = [&](const ${index} from) {
//% insert :fetch
    };
    auto place = [&](const int buffer) {
//% for p in inputs
        panel_${p.name}::place(staged_${p.name} + buffer * panel_${p.name}::bytes, reg_${p.name});
//% end
    };
//% insert :flush

    constexpr int limit = 1024;
    int buffer = 0, turn = 0;
    fetch(begin);
    place(0);
    __syncthreads();
    #pragma unroll 1
    for (${index} from = begin; from < end; from += K) {
        if (from + K < end)
            fetch(from + K);
        const int count = end - from < K ? (int)(end - from) : K;
//% insert :work
        turn += K;
        if (turn == limit || from + K >= end) {
            turn = 0;
            flush();
        }
        buffer ^= 1;
        if (from + K < end)
            place(buffer);
        __syncthreads();
    }

//% insert :end
}

//% part flush
//# Partial results of at most `limit` elements each are combined, so that long sums lose few digits.
    // Partial results of at most `limit` elements each are combined, so that long sums lose few digits.
    part sums[2][H * W];
    bool started = false, whole = false;
    auto flush = [&]() {
        #pragma unroll
        for (int k = 0; k < H * W; k++) {
//% if !identity
            acc[k / W][k % W].set = true;
//% end
            sums[whole][k] = acc[k / W][k % W];
            acc[k / W][k % W] = empty();
        }
        #pragma unroll 1
        for (int k = 0; whole && k < H * W; k++)
            sums[0][k] = merge(sums[0][k], sums[1][k]);
        started = false;
        whole = true;
    };

//% part panel
//# What a tile needs of one input: `extent` elements for each of K steps along the reduced axes. Its
//# elements differ from row to row (side 0), from column to column (side 1), or only along the reduced
//# axes (side 2). `width` neighbours are loaded at once: along the tile's side, or along the last
//# reduced axis. Rows of the panel are padded, so that neighbouring steps lie in different banks.
template <class T, int side, int width, bool along_side> struct panel {
    static constexpr int X = ${group}, Y = ${block} / X, K = ${unroll};
    static constexpr int values = side == 0 ? ${segments} : side == 1 ? ${lanes} : 1, run = values < 4 ? values : 4;
    static constexpr int threads = side == 0 ? Y : side == 1 ? X : 1, extent = threads * values;
    static constexpr int pitch = extent == 1 ? 1 : extent + (sizeof(T) < 16 ? 16 / (int)sizeof(T) : 1);
    static constexpr int bytes = (K * pitch * (int)sizeof(T) + 15) / 16 * 16;
    static constexpr int count = extent * K / width, each = (count + ${block} - 1) / ${block};
    static constexpr int burst = 32 / (width * (int)sizeof(T)) < 1 ? 1 : 32 / (width * (int)sizeof(T));
    static constexpr int steps = burst < K / width ? burst : K / width;

    // Whether this thread has an access `l`; its first element's place along the side, and its step.
    KILN_FN static bool has(int l) { return count % ${block} == 0 || l * ${block} + (int)threadIdx.x < count; }
    KILN_FN static int row(int l)
    {
        const int id = l * ${block} + threadIdx.x;
        return along_side ? id % (extent / width) * width : id / steps % extent;
    }
    KILN_FN static int step(int l)
    {
        const int id = l * ${block} + threadIdx.x;
        return along_side ? id / (extent / width) : (id / (steps * extent) * steps + id % steps) * width;
    }
    KILN_FN static void place(unsigned char *to, const T (&reg)[each][width])
    {
        #pragma unroll
        for (int l = 0; l < each; l++) {
            if (!has(l))
                continue;
            T *const at = (T *)to + step(l) * pitch + row(l);
            if (along_side) {
                store(at, reg[l]);
            } else {
                #pragma unroll
                for (int v = 0; v < width; v++)
                    at[v * pitch] = reg[l][v];
            }
        }
    }
    // The values of step `k` that thread number `lane` of the side takes.
    KILN_FN static void pick(T (&to)[values / run][run], const unsigned char *from, int k, int lane)
    {
        #pragma unroll
        for (int g = 0; g < values / run; g++)
            load(to[g], (const T *)from + k * pitch + (g * threads + lane) * run);
    }
    KILN_FN static int lane(int tx, int ty) { return side == 0 ? ty : side == 1 ? tx : 0; }
    // Which of them the result in row h and column w needs.
    KILN_FN static constexpr int which(int h, int w) { return side == 0 ? h : side == 1 ? w : 0; }
};

//% part begin
//# The tile's corner among the kept axes, the addresses with which its other kept indices begin, and
//# what the threads hold: empty accumulators, and the accesses of a panel.
    const int tx = threadIdx.x % X, ty = threadIdx.x / X;
    ${index} rest = tile;
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} top = at_${keep_down} * M, left = at_${keep_last} * N;
//% for p in inputs
    typedef panel<${p.type}, ${p.side}, ${p.width}, ${p.along_side}> panel_${p.name};
    const char *const origin_${p.name} = (const char *)a.ptr_${p.name}
//% for a in keep_batch
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
    __shared__ alignas(16) unsigned char staged_${p.name}[2 * panel_${p.name}::bytes];
    ${p.type} reg_${p.name}[panel_${p.name}::each][${p.width}];
//% end
//% for x in numbers
    const long long base_${x.name} = 0
//% for a in keep_batch
        + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
        ;
//% end
    part acc[H][W];
    #pragma unroll
    for (int h = 0; h < H; h++) {
        #pragma unroll
        for (int w = 0; w < W; w++)
            acc[h][w] = empty();
    }

//% part fetch
//# The panels that begin with reduced element `from`, into registers. What lies outside of the tile's
//# array, or of the reduced elements, is replaced by the first element, and never used.
//% for p in inputs
        #pragma unroll
        for (int l = 0; l < panel_${p.name}::each; l++) {
            ${index} j = from + panel_${p.name}::step(l);
            if (j >= end)
                j = begin;
//% insert reduce/common.cu:coordinates
//% if p.down
            ${index} row = top + panel_${p.name}::row(l);
            if (row >= (${index})a.shape_${keep_down})
                row = 0;
//% end
//% if p.across
            ${index} row = left + panel_${p.name}::row(l);
            if (row >= (${index})a.shape_${keep_last})
                row = 0;
//% end
            if (panel_${p.name}::has(l))
                load(reg_${p.name}[l], origin_${p.name}
//% if p.down
                    + row * (${index})a.stride_${p.name}_${keep_down}
//% end
//% if p.across
                    + row * (${index})a.stride_${p.name}_${keep_last}
//% end
//% for a in reduce_axes
                    + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                    );
        }
//% end

//% part work
//# One panel's elements into the accumulators.
        #pragma unroll 2
        for (int k = 0; k < count; k++) {
//% for p in inputs
            ${p.type} some_${p.name}[panel_${p.name}::values / panel_${p.name}::run][panel_${p.name}::run];
            panel_${p.name}::pick(some_${p.name}, staged_${p.name} + buffer * panel_${p.name}::bytes, k, panel_${p.name}::lane(tx, ty));
//% end
//% if numbers
            const ${index} j = from + k;
//% insert reduce/common.cu:locate
//% end
            #pragma unroll
            for (int h = 0; h < H; h++) {
                #pragma unroll
                for (int w = 0; w < W; w++) {
//% if !identity
                    acc[h][w].set = started;
//% end
                    take(acc[h][w]
//% for x in numbers
                        , past_${x.name} + base_${x.name} + row_of(h) * a.step_${x.name}_${keep_down} + column_of(w) * a.step_${x.name}_${keep_last}
//% end
//% for p in inputs
                        , some_${p.name}[panel_${p.name}::which(h, w) / panel_${p.name}::run][panel_${p.name}::which(h, w) % panel_${p.name}::run]
//% end
                    );
                }
            }
            started = true;
        }

//% part end
//# The thread's results. When split, they are first the block's parts, in the order of threads; the
//# block that arrives last combines those of all blocks in the blocks' order.
//% if split
    constexpr int S = H * W * ${block}; // of a block
    part *const parts = a.parts + tile * (${index})a.splits * S + threadIdx.x;
    #pragma unroll 1
    for (int k = 0; k < H * W; k++)
        parts[split * S + k * ${block}] = sums[0][k];
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0)
        last = arrive(a.tickets + tile) == (int)a.splits - 1;
    __syncthreads();
    if (!last)
        return;
    if (threadIdx.x == 0)
        a.tickets[tile] = 0;
    #pragma unroll 1
    for (int k = 0; k < H * W; k++) {
        part p = parts[k * ${block}];
        #pragma unroll 1
        for (${index} n = 1; n < (${index})a.splits; n++)
            p = merge(p, parts[n * S + k * ${block}]);
        sums[0][k] = p;
    }
//% end
    #pragma unroll 1
    for (int k = 0; k < H * W; k += G) {
        const ${index} row = row_of(k / W), column = column_of(k % W);
        if (row >= (${index})a.shape_${keep_down} || column >= (${index})a.shape_${keep_last})
            continue;
//% for p in outputs
//% if !p.direct
        ${p.type} line_${p.name}[G];
        char *const to_${p.name} = (char *)a.ptr_${p.name} + row * (${index})a.stride_${p.name}_${keep_down} + column * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_batch
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% end
        #pragma unroll
        for (int g = 0; g < G; g++) {
            const part p = sums[0][k + g];
            const ${index} at_${keep_down} = row, at_${keep_last} = column + g;
            if (at_${keep_last} >= (${index})a.shape_${keep_last})
                break;
//% insert reduce/kernel.cpp:result
//% for p in outputs
//% if !p.direct
            line_${p.name}[g] = reg_${p.name};
//% end
//% end
        }
//% for p in outputs
//% if !p.direct
//% if p.vector
        if (column + G <= (${index})a.shape_${keep_last}) {
            store(to_${p.name}, line_${p.name});
        } else {
//% else
        {
//% end
            #pragma unroll
            for (int g = 0; g < G; g++)
                if (column + g < (${index})a.shape_${keep_last})
                    *(${p.type} *)(to_${p.name} + g * (${index})a.stride_${p.name}_${keep_last}) = line_${p.name}[g];
        }
//% end
//% end
    }
