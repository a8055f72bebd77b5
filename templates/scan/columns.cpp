//# columns.cpp - the inner loop runs across sequences, over running values that stay in a cache.
//#
//# unit:  a tile of ${group} columns at one index of the other kept axes. When split, one of the
//#        tile's chunks of rows, handed out in order to the threads that ask. Such a chunk is
//#        summed first, and written once its carry is known, as in rows.cpp
//% own X a acc across any args at_ base base_ based begin carries chunk column count end
//% own first_unit has identity j k last_unit left map out_ p part place post put reduce rest
//% own rest_j row_ step_ take taken tile tile_ tiles to_ told unit v value wait
//% plain kiln__in
//% if split
//% insert scan/rows.cpp:wait
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
    constexpr int X = ${group};
//% insert scan/kernel.cpp:environment
    const long long across = (a.shape_${keep_last} + X - 1) / X;
    for (long long unit = first_unit; unit < last_unit; unit++) {
//% insert :locate
        part acc[X], base[X];
//% if split
//% insert :carry
//% else
        bool based = false;
//% end
        // Runs of ${unroll} rows: kiln__acc is of the run so far, kiln__base of what stands above it.
        for (long long j = begin; j < end; j++) {
//% insert :row
            const bool has = (j - begin) % ${unroll} != 0;
            if (!has && j > begin) {
                for (int k = 0; k < count; k++)
                    base[k] = based ? reduce(base[k], acc[k]) : acc[k];
                based = true;
            }
            if (!based || !has) {
                for (int k = 0; k < count; k++) {
                    bool any = has;
                    const part v = value(k);
//% if exclusive
                    put(k, based ? base[k] : has ? acc[k] : identity());
                    take(any, acc[k], v);
//% else
                    take(any, acc[k], v);
                    put(k, based ? reduce(base[k], acc[k]) : acc[k]);
//% end
                }
                continue;
            }
//% if independent
            KILN_INDEPENDENT
//% end
            for (int k = 0; k < count; k++) {
                const part v = value(k);
//% if exclusive
                put(k, reduce(base[k], acc[k]));
                acc[k] = reduce(acc[k], v);
//% else
                acc[k] = reduce(acc[k], v);
                put(k, reduce(base[k], acc[k]));
//% end
            }
        }
    }
}

//% part locate
//# The columns of a unit, its chunk of their rows, and each operand's address there.
//% if split
        const long long tiles = across * (a.outputs / a.shape_${keep_last});
        const long long taken = __atomic_fetch_add(&a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long tile = taken % tiles, chunk = taken / tiles;
        const long long begin = chunk * a.chunk;
        const long long end = begin + a.chunk < a.length ? begin + a.chunk : a.length;
//% else
        const long long tile = unit, begin = 0, end = a.length;
//% end
        const long long column = tile % across * X;
        const long long left = a.shape_${keep_last} - column;
        const int count = (int)(left < X ? left : X);
        long long rest = tile / across;
//% for a in keep_outer_inward
        const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
//% for p in walking
        ${p.const}char *const tile_${p.name} = base_${p.name}
            + column * a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% end

//% part carry
//# The chunk is summed, unless it is the last one; `base` becomes the sum of all chunks before it, and the
//# next chunk is told the sum of both.
        if (chunk + 1 < a.splits) {
            for (long long j = begin; j < end; j++) {
//% insert :row
                if (j == begin) {
                    for (int k = 0; k < count; k++)
                        acc[k] = value(k);
                } else {
//% if independent
                    KILN_INDEPENDENT
//% end
                    for (int k = 0; k < count; k++)
                        acc[k] = reduce(acc[k], value(k));
                }
            }
        }
        int *const told = a.tickets + 1 + tile * a.splits;
        part *const carries = a.parts + (tile * a.splits + chunk) * X;
        if (chunk > 0)
            wait(&told[chunk]);
        if (chunk + 1 < a.splits) {
            for (int k = 0; k < count; k++)
                carries[X + k] = chunk > 0 ? reduce(carries[k], acc[k]) : acc[k];
            __atomic_store_n(&told[chunk + 1], 1, __ATOMIC_RELEASE);
        }
        if (chunk > 0)
            for (int k = 0; k < count; k++)
                base[k] = carries[k];
        bool based = chunk > 0;

//% part row
//# Row number j of a tile: `value` maps the element of column k, `put` stores a result there.
            long long rest_j = j;
//% for a in reduce_inward
            const long long at_${a.n} = rest_j % a.shape_${a.n};
            rest_j /= a.shape_${a.n};
//% end
            const long long at_${reduce_first} = rest_j;
//% for p in walking
            ${p.const}char *const row_${p.name} = tile_${p.name}
//% for a in reduce_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/row.cpp:step
//% end
            auto value = [&](const int k) -> part {
                return map(
//% if position
                    place(j)
//% else
                    0
//% end
//% for p in inputs
                    , *(const ${p.type} *)(row_${p.name} + k * step_${p.name})
//% end
                );
            };
            [[maybe_unused]] auto put = [&](const int k, const part &p) {
//% for p in outputs
                ${p.type} *const to_${p.name} = (${p.type} *)(row_${p.name} + k * step_${p.name});
                ${p.type} out_${p.name};
//% if p.read_first
                out_${p.name} = *to_${p.name};
//% end
//% end
                post(place(j), p
//% for p in outputs
                    , out_${p.name}
//% end
                );
//% for p in outputs
                *to_${p.name} = out_${p.name};
//% end
            };
