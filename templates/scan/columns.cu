//# columns.cu - neighbouring threads take neighbouring sequences and walk down the rows.
//#
//# block: `group` threads across, each with `vec` columns, by block / group rows of threads, each
//#        with `unroll` neighbouring rows of memory
//# grid:  tiles of columns
//# order: the rows of a thread; threads of a column; steps
//#
//# As in rows.cu elements are mapped twice. Where columns are few, columns_split.cu is used instead.
//% own U V X Y a along_ args at_ at_0 base base_ based begin bytes carries carry column has
//% own identity inside j k length load map mapped mine out_ part parts place post quot_ reduce
//% own reg_ rest row_ start store sum take tile told tx ty u v
extern "C" __global__ void __launch_bounds__(${block}, ${segments})
${entry}(const __grid_constant__ args a)
{
    constexpr int X = ${group}, Y = ${block} / X, U = ${unroll}, V = ${vec};
//% insert scan/kernel.cpp:environment
//% insert scan/common.cu:locate
    const ${index} tile = (${index})blockIdx.x;
//% insert :place
    part carry[V]; // of everything above the step
    bool carries = false;
    for (${index} begin = 0; begin < length; begin += Y * U) {
        const ${index} start = begin + ty * U;
//% insert :load
//% insert :sums
//% insert :carry
//% insert :write
    }
}

//% part place
//# Where a thread's columns are: row_p is the address of their row 0. In place of a column behind
//# the last one the first is read, and nothing is stored.
    const int tx = threadIdx.x % X, ty = threadIdx.x / X;
    __shared__ alignas(16) unsigned char bytes[Y * X * V * sizeof(part)];
    part (*parts)[X][V] = (part(*)[X][V])bytes;
    // The tile's place among the kept axes; its last coordinate counts tiles.
    ${index} rest = tile;
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} column = at_${keep_last} * X + tx;
    const bool inside = column < (${index})a.shape_${keep_last} / V;
//% for p in walking
    ${p.const}char *const row_${p.name} = base_${p.name}
        + (inside ? column : 0) * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
    const ${index} length = (${index})a.length;

//% part load
//# Phase 1 of a step down the columns: load the thread's rows, which begin with row start.
//% for p in inputs
        ${p.type} reg_${p.name}[U][${p.lanes}];
//% end
        #pragma unroll
        for (int u = 0; u < U; u++) {
            // Below the end the last row is repeated; nothing after it is stored.
            const ${index} j = start + u < length ? start + u : length - 1;
//% for p in inputs
            load(reg_${p.name}[u], row_${p.name} + along_${p.name}(j));
//% end
        }
        auto mapped = [&](const int u, const int v) -> part {
            return map(
//% if position
                place(start + u)
//% else
                0
//% end
//% for p in inputs
                , reg_${p.name}[u][${p.lane}]
//% end
            );
        };

//% part sums
//# Phase 2: `base`, the sum of the step's rows above the thread's own (if `based`), and `sum`, that
//# of the whole step. A block with one row of threads need not exchange anything.
        // The rows of this thread; those of the threads above; those of the block.
        part sum[V], base[V];
        #pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] = mapped(0, v);
            #pragma unroll
            for (int u = 1; u < U; u++)
                sum[v] = reduce(sum[v], mapped(u, v));
        }
        bool based = ty > 0;
        if (Y > 1) {
            #pragma unroll
            for (int v = 0; v < V; v++)
                parts[ty][tx][v] = sum[v];
            __syncthreads();
            #pragma unroll
            for (int v = 0; v < V; v++) {
                sum[v] = base[v] = parts[0][tx][v];
                #pragma unroll
                for (int k = 1; k < Y; k++) {
                    if (k == ty)
                        base[v] = sum[v];
                    sum[v] = reduce(sum[v], parts[k][tx][v]);
                }
            }
            __syncthreads();
        }

//% part carry
//# Phase 3: `base` becomes the sum of everything above the thread's rows, those above the step
//# included, and `carry` takes in the step.
        #pragma unroll
        for (int v = 0; v < V; v++) {
            if (carries) {
                base[v] = based ? reduce(carry[v], base[v]) : carry[v];
                carry[v] = reduce(carry[v], sum[v]);
            } else {
                carry[v] = sum[v];
            }
        }
        based = based || carries;
        carries = true;

//% part write
//# Phase 4: sum the thread's rows again, beginning with the sum of everything above them, and
//# store.
        #pragma unroll
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u;
            const bool mine = inside && j < length;
//% for p in outputs
            ${p.type} out_${p.name}[V];
//% if p.read_first
            if (mine)
                load(out_${p.name}, row_${p.name} + along_${p.name}(j));
//% end
//% end
            #pragma unroll
            for (int v = 0; v < V; v++) {
                bool has = based || u > 0;
//% if exclusive
                const part told = has ? base[v] : identity();
                take(has, base[v], mapped(u, v));
//% else
                take(has, base[v], mapped(u, v));
                const part &told = base[v];
//% end
                post(place(j), told
//% for p in outputs
                    , out_${p.name}[v]
//% end
                );
            }
            if (mine) {
//% for p in outputs
                store(row_${p.name} + along_${p.name}(j), out_${p.name});
//% end
            }
        }
