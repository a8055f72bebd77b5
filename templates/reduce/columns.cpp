//# columns.cpp - the inner loop runs along a kept axis, over accumulators that stay in cache.
//#
//# unit: a tile of ${group} columns at one index of the other kept axes. When split, one of
//#       `splits` chunks of its rows; the thread that finishes the last chunk combines all parts in
//#       a fixed order
//% own X a acc along_ args at_ base_ begin column count empty end finish first first_unit item j
//% own k last_unit left merge of one outer part past_ r rest rows rows_ rows_J s split step_ take
//% own tile tiles to unit values
//% plain kiln__in
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
    constexpr int X = ${group};
//% insert reduce/kernel.cpp:environment
    const long long tiles = (a.shape_${keep_last} + X - 1) / X;
    for (long long unit = first_unit; unit < last_unit; unit++) {
//% insert :locate
        part acc[X];
        for (int k = 0; k < count; k++)
            acc[k] = empty();
//% if !batched
        constexpr int kiln_batch_rows = 4;
//% end
        for (long long j = begin; j < end;) {
//% insert :rows
//% if batched
//% insert :batch
//% else
//% insert :each
//% end
        }
        const long long first = outer * a.shape_${keep_last} + column;
//% if split
//% insert :combine
//% end
        for (int k = 0; k < count; k++)
            finish(first + k, acc[k]);
    }
}

//% part locate
//# The columns of a unit, its chunk of their rows, and where its elements are numbered from.
//% if split
        const long long tile = unit / a.splits, split = unit % a.splits;
        const long long begin = split * a.chunk;
        const long long end = begin + a.chunk < a.length ? begin + a.chunk : a.length;
//% else
        const long long tile = unit, begin = 0, end = a.length;
//% end
        const long long column = tile % tiles * X, outer = tile / tiles;
        const long long left = a.shape_${keep_last} - column;
        const int count = (int)(left < X ? left : X);
        long long rest = outer;
//% for a in keep_outer_inward
        const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
//% for x in numbers
        const long long base_${x.name} = column * a.step_${x.name}_${keep_last}
//% for a in keep_outer
            + at_${a.n} * a.step_${x.name}_${a.n}
//% end
            ;
//% end

//% part rows
//# Where the next few rows begin.
            // Where the next few rows begin.
            const int rows = (int)(end - j < kiln_batch_rows ? end - j : kiln_batch_rows);
//% for p in inputs
            const char *rows_${p.name}[kiln_batch_rows];
//% insert cpu/row.cpp:step
//% end
//% for x in numbers
            long long rows_${x.name}[kiln_batch_rows];
//% end
            for (int r = 0; r < rows; r++, j++) {
//% insert reduce/common.cpp:locate
//% for p in inputs
                rows_${p.name}[r] = (const char *)a.ptr_${p.name} + along_${p.name}
                    + column * a.stride_${p.name}_${keep_last}
//% for a in keep_outer
                    + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                    ;
//% end
//% for x in numbers
                rows_${x.name}[r] = base_${x.name} + past_${x.name};
//% end
            }

//% part batch
//# The elements of several rows go to the accumulators of their columns in one operation.
            auto of = [&](int r, int k) {
                return item(r
//% for p in inputs
                    , *(const ${p.type} *)(rows_${p.name}[r] + k * step_${p.name})
//% end
                );
            };
//% if batch_kept
            // Computed once, however often they are looked at.
            ${batch_type} values[kiln_batch_rows][X];
            for (int r = 0; r < rows; r++) {
                KILN_INDEPENDENT
                for (int k = 0; k < count; k++)
                    values[r][k] = of(r, k);
            }
//% end
            ${batch}_columns<X>(
                acc, count, rows,
//% if batch_kept
                [&](int r, int k) { return values[r][k]; },
//% else
                of,
//% end
                [&](int r, int) -> long long {
//% if position
                    return rows_J[r];
//% else
                    return r;
//% end
                });

//% part each
//# The elements of several rows are added one by one: an accumulator is fetched and put back once for all
//# of them.
            // Several rows at once: an accumulator is fetched and put back once for all of them.
            auto one = [&](part &to, const int r, const int k) {
                take(to
//% for x in numbers
                    , rows_${x.name}[r] + k * a.step_${x.name}_${keep_last}
//% end
//% for p in inputs
                    , *(${p.const}${p.type} *)(rows_${p.name}[r] + k * step_${p.name})
//% end
                );
            };
            if (rows == kiln_batch_rows) {
//% if independent
                KILN_INDEPENDENT
//% end
                for (int k = 0; k < count; k++) {
                    part to = acc[k];
                    one(to, 0, k);
                    one(to, 1, k);
                    one(to, 2, k);
                    one(to, 3, k);
                    acc[k] = to;
                }
            } else {
                for (int r = 0; r < rows; r++) {
//% if independent
                    KILN_INDEPENDENT
//% end
                    for (int k = 0; k < count; k++)
                        one(acc[k], r, k);
                }
            }

//% part combine
//# The thread that finishes the last chunk of a tile combines the parts of all chunks in their order.
        for (int k = 0; k < count; k++)
            a.parts[split * a.outputs + first + k] = acc[k];
        if (__atomic_add_fetch(&a.tickets[tile], 1, __ATOMIC_ACQ_REL) != (int)a.splits)
            continue;
        a.tickets[tile] = 0;
        for (int k = 0; k < count; k++) {
            acc[k] = a.parts[first + k];
            for (long long s = 1; s < a.splits; s++)
                acc[k] = merge(acc[k], a.parts[s * a.outputs + first + k]);
        }
