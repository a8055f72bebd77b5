//# What the kernels of row programs are made of: a thread's accesses to its row, and what it does
//# with them.
//% plain __uint_as_float kiln_half_lower kiln_half_upper
//% own F M S U V a all acc_ along_ at_ at_0 b begin behind beside cluster_begin cluster_rank each edge edge_ empty_ first
//% own fold_ from head j k l lane part_of late_ length live load m map_ merge_ number number_of only_ op out_ outside pad_ part_
//% own best_ divide load_shifted past past_ quot_ quotients rank reg_ rest rest_j row_ size_ slot slots step store tail tile_ told type_ u v val_ value_

//% part place
//# The row that this thread works on, where the row begins in every operand, and which accesses are
//# the thread's own: first, first + step, ... below the row's length. Surplus threads repeat the
//# last row and store nothing.
    [[maybe_unused]] constexpr int U = ${unroll}, V = ${vec}, S = ${side_by_side};
    // Accesses that every thread has.
    [[maybe_unused]] constexpr int F = ${full_accesses};
//% if turned
    [[maybe_unused]] const int beside = threadIdx.x % S, lane = threadIdx.x / S;
//% else
    [[maybe_unused]] const int beside = threadIdx.x / ${group}, lane = threadIdx.x % ${group};
//% end
//% if clustered
    const int rank = cluster_rank();
    __shared__ unsigned long long told[2];
    cluster_begin(told);
//% else
    constexpr int rank = 0;
//% end
    constexpr ${index} step = ${group} * ${cluster};
    const ${index} first = rank * ${group} + lane;
//% if !peel
    [[maybe_unused]] const ${index} length = (${index})a.length;
//% end
//% if stage
//% if one_thread
    ${index} rest = number;
    constexpr bool live = true;
//% else
    const bool live = number < behind;
    ${index} rest = live ? number : behind - 1;
//% end
//% else
    ${index} rest = (${index})(blockIdx.x / ${cluster}) * S + beside;
//% if one_row
    constexpr bool live = true;
//% else
    const bool live = rest < (${index})a.rows;
    if (!live)
        rest = (${index})a.rows - 1;
//% end
//% end
//% for a in keep_divided
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    [[maybe_unused]] const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    [[maybe_unused]] const ${index} at_0 = rest;
//% for p in walking
//% if p.tile
    ${p.byte} *const row_${p.name} = (${p.byte} *)tile_${p.name} + (int)(number - begin) * (size_${p.name} + pad_${p.name});
//% else
    ${p.byte} *const row_${p.name} = (${p.byte} *)a.ptr_${p.name}
//% if p.offset
//% for a in keep_axes
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
//% end
        ;
//% end
//% end
//% for p in row_splat
    const ${p.type} ${p.name} = *(const ${p.type} *)row_${p.name};
//% end
//% if peel
    // So many elements lie before the first aligned access of the row, and behind the last one; threads
    // for which `outside` holds have one of them each, number `edge` of the row.
    ${index} head = 0;
//% for p in row_holds
    head = (${index})((V - (size_t)row_${p.name} / sizeof(${p.type}) % V) % V);
//% end
    const ${index} length = ((${index})a.count - head) / V, tail = (${index})a.count - head - length * V;
    const bool outside = first < head + tail;
    const ${index} edge = !outside ? 0 : first < head ? first : head + length * V + (first - head);
//% end
//% if position
    // The place in the row of element v of access j.
    [[maybe_unused]] auto number_of = [&](const ${index} j, const int v) -> ptrdiff_t {
//% if peel
        return (ptrdiff_t)j * V + v + head;
//% else
        return (ptrdiff_t)j * V + v;
//% end
    };
//% end
//% if !in_warp
//% if !one_thread
    __shared__ slot slots[${slot_count}];
//% end
//% end

//% part locate
//# The coordinates at_* of the access number j of the row.
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            [[maybe_unused]] const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            [[maybe_unused]] const ${index} at_${reduce_first} = rest_j;

//% part along
//# Bytes from the beginning of operand p's row to the access whose coordinates are at_*.
//% if p.tile
            const ${index} along_${p.name} = j * (int)sizeof(${p.type});
//% else
//% if p.dense
            const ${index} along_${p.name} = j * (${index})(V * sizeof(${p.type}))
//% else
            const ${index} along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
//% end
//% if peel
                + head * (${index})sizeof(${p.type})
//% end
                ;
//% end

//% part outside
//# The arguments that a stage's function gets for the element `edge`.
//% for p in row_sees
//% if p.held
            , edge_${p.name}
//% else
            , ((const ${p.type} *)row_${p.name})[edge]
//% end
//% end
//% for v in values
            , only_${v.name}
//% end

//% part empty
//# The accumulators of a thread for stage s.
//% if s.batched
    part_${s.n} acc_${s.n}[1];
//% else
    part_${s.n} acc_${s.n}[${s.lanes}];
//% end
    #pragma unroll
    for (int l = 0; l < (int)(sizeof acc_${s.n} / sizeof *acc_${s.n}); l++)
        acc_${s.n}[l] = empty_${s.n}();

//% part late
//# The inputs that are not held in registers, of the accesses b, b + 1, ... of a batch: all are
//# loaded before the first is used.
//% if unheld
//% for p in row_unheld
        ${p.type} late_${p.name}[${unheld_batch}][V];
//% if peel
        // Inputs that all rows share have another alignment than the row, the same in all accesses.
        const int past_${p.name} = past<V * sizeof(${p.type})>(row_${p.name} + head * (${index})sizeof(${p.type}));
//% end
//% end
        #pragma unroll
        for (int u = b; u < b + ${unheld_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
//% insert :locate
//% for p in row_unheld
//% insert :along
//% if peel
                load_shifted(late_${p.name}[u - b], row_${p.name} + along_${p.name}, past_${p.name});
//% else
                load(late_${p.name}[u - b], row_${p.name} + along_${p.name});
//% end
//% end
            }
        }
//% end

//% part element
//# The arguments that a stage's function gets for element v of access u.
//% for p in row_sees
//% if p.held
                        , reg_${p.name}[u][v]
//% else
                        , late_${p.name}[u - b][v]
//% end
//% end
//% if held
//% for v in values
                        , val_${v.name}[u][v]
//% end
//% end

//% part fold_packed
//# Stage s, the least or the greatest of 16-bit floats, which are compared as they are, two at a time.
    ${s.element_type} best_${s.n}[4];
    #pragma unroll
    for (int l = 0; l < 4; l++)
//% if s.least
        best_${s.n}[l] = ${s.element_type}(__uint_as_float(0x7f800000u));
//% else
        best_${s.n}[l] = ${s.element_type}(__uint_as_float(0xff800000u));
//% end
    #pragma unroll
    for (int u = 0; u < U; u++) {
        if (u < F || from + u * step < length) {
            #pragma unroll
            for (int v = 0; v < V; v++)
//% if s.least
                best_${s.n}[(u * V + v) % 4] = kiln_half_lower(best_${s.n}[(u * V + v) % 4], reg_${s.element}[u][v]);
//% else
                best_${s.n}[(u * V + v) % 4] = kiln_half_upper(best_${s.n}[(u * V + v) % 4], reg_${s.element}[u][v]);
//% end
        }
    }
    #pragma unroll
    for (int l = 0; l < 4; l++)
        fold_${s.n}(acc_${s.n}[0], float(best_${s.n}[l]));

//% part fold
//# Stage s, applied to the accesses from + u * step, u < U.
//% if s.packed
//% insert :fold_packed
//% else
    #pragma unroll
    for (int b = 0; b < U; b += ${unheld_batch}) {
//% insert :late
//% if s.batched
        // The values of M accesses at a time where a thread has them all, else those of one access.
        constexpr int M = V < 16 && U >= 16 / V ? 16 / V : 1;
        #pragma unroll
        for (int m = b; m < b + ${unheld_batch} && m < U; m += M) {
            auto part_of = [&](const int u, const int v) -> part_${s.n} {
//% if s.quotients
                quotients divide;
                divide.exact = true;
                return map_${s.n}(divide,
//% else
                return map_${s.n}(
//% end
//% insert :arguments
                );
            };
            const bool all = m + M <= b + ${unheld_batch} &&
//% if held
                m + M <= F;
//% else
                m + M <= U && from + (m + M - 1) * step < length;
//% end
            if (all) {
                ${s.batch}<M * V>(acc_${s.n}[0], [&](const int k) { return part_of(m + k / V, k % V); }, 0);
            } else {
                #pragma unroll
                for (int u = m; u < m + M; u++)
                    if (u < b + ${unheld_batch} && (u < F || (u < U && from + u * step < length)))
                        ${s.batch}<V>(acc_${s.n}[0], [&](const int k) { return part_of(u, k); }, 0);
            }
        }
//% else
        #pragma unroll
        for (int u = b; u < b + ${unheld_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
//% if s.quotients
//% insert :fold_quotients
//% else
                #pragma unroll
                for (int v = 0; v < V; v++)
                    fold_${s.n}(acc_${s.n}[(u * V + v) % ${s.lanes}], map_${s.n}(
//% insert :arguments
                    ));
//% end
            }
        }
//% end
    }
//% end

//% part fold_quotients
//# Stage s, applied to access u, whose elements are divided by what is one for the row.
                type_${s.n} each[V];
                quotients divide;
//% if !quick
                divide.exact = true;
//% end
                #pragma unroll
                for (int v = 0; v < V; v++)
                    each[v] = map_${s.n}(divide,
//% insert :arguments
                    );
                if (!divide.sure) {
//% if chained
                    divide.anew = true;
//% else
                    divide.exact = true;
//% end
                    #pragma unroll
                    for (int v = 0; v < V; v++)
                        each[v] = map_${s.n}(divide,
//% insert :arguments
                    );
                }
                #pragma unroll
                for (int v = 0; v < V; v++)
                    fold_${s.n}(acc_${s.n}[(u * V + v) % ${s.lanes}], each[v]);

//% part result
//# From a thread's accumulators to the value of the row, under the name that the program gives it.
    #pragma unroll
    for (int l = 1; l < (int)(sizeof acc_${s.n} / sizeof *acc_${s.n}); l++)
        acc_${s.n}[0] = merge_${s.n}(acc_${s.n}[0], acc_${s.n}[l]);
    const type_${s.n} ${s.result} = value_${s.n}(KILN__COMBINE(${s.n}, acc_${s.n}[0], merge_${s.n}));
//% if s.post
${s.post}
//% end

//% part store
//# Compute and store the outputs of the accesses from + u * step, u < U.
    #pragma unroll
    for (int b = 0; b < U; b += ${unheld_batch}) {
//% insert :late
        #pragma unroll
        for (int u = b; u < b + ${unheld_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
//% insert :locate
//% for p in row_stores
//% insert :along
                ${p.type} out_${p.name}[V];
//% end
//% for p in row_loads_first
                load(out_${p.name}, row_${p.name} + along_${p.name});
//% end
//% if quotients
                quotients divide;
//% if !quick
                divide.exact = true;
//% end
                #pragma unroll
                for (int v = 0; v < V; v++)
                    op(divide,
//% insert :outputs
                if (!divide.sure) {
//% if chained
                    divide.anew = true;
//% else
                    divide.exact = true;
//% end
                    #pragma unroll
                    for (int v = 0; v < V; v++)
                        op(divide,
//% insert :outputs
                }
//% else
                #pragma unroll
                for (int v = 0; v < V; v++)
                    op(
//% insert :outputs
//% end
//% for p in row_stores
                store(row_${p.name} + along_${p.name}, out_${p.name});
//% end
            }
        }
    }

//% part arguments
//# The arguments of a function of element v of access u.
//% if position
                        number_of(from + u * step, v)
//% else
                        0
//% end
//% insert :element

//% part outputs
//# The other arguments of `op` for element v of access u.
//% insert :arguments
//% for p in row_stores
                        , out_${p.name}[v]
//% end
                    );
