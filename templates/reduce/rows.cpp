//# rows.cpp - the inner loop runs along a reduced axis.
//#
//# unit: one output. When split, one of `splits` chunks of an output's elements; the thread that
//#       finishes the last chunk combines all parts in a fixed order
//# The inner loop keeps `lanes` accumulators side by side, a form that compilers vectorise although
//# they may not reorder sums.
//% own L a acc along_ args at_ at_0 base_ begin blocks count empty end finish first_unit h i item
//% own j k l last_unit left merge of output pairwise part parts past_ past_J rest row_ run span
//% own split step_ stop take unit values
//% plain kiln__in
//% if !batched
//% insert reduce/common.cpp:pairwise
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
    constexpr int L = ${lanes};
//% insert reduce/kernel.cpp:environment
    // Elements [kiln__begin, kiln__end) of output kiln__output.
    auto span = [&](const long long output, const long long begin, const long long end) -> part {
//% insert :locate
        part acc[L];
        for (int l = 0; l < L; l++)
            acc[l] = empty();
//% if !batched
        pairwise<part, L, (L > 1 ? 16 * L : __is_class(part) ? 32 : 0)> blocks;
//% end
        for (long long j = begin; j < end;) {
//% insert reduce/common.cpp:locate
            const long long left = a.shape_${last} - at_${last};
            long long run = left < end - j ? left : end - j;
//% if !batched
            if (run > blocks.room)
                run = blocks.room;
//% end
//% for p in inputs
            const char *const row_${p.name} = (const char *)a.ptr_${p.name} + along_${p.name}
//% for a in keep_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/row.cpp:step
//% end
//% if batched
//% insert :batch
//% else
//% insert :each
//% end
            j += run;
        }
//% if !batched
        blocks.whole(acc, merge);
//% end
        return acc[0];
    };
    for (long long unit = first_unit; unit < last_unit; unit++) {
//% if split
//% insert :combine
//% else
        finish(unit, span(unit, 0, a.length));
//% end
    }
}

//% part locate
//# Where the elements of an output are, and where they are numbered from.
        long long rest = output;
//% for a in keep_inward
        const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
        const long long at_0 = rest;
        (void)at_0;
//% for x in numbers
        const long long base_${x.name} = 0
//% for a in keep_axes
            + at_${a.n} * a.step_${x.name}_${a.n}
//% end
            ;
//% end

//% part batch
//# A run's elements go to the accumulator in batches.
            for (long long k = 0; k < run; k += kiln_batch_row) {
                const int count = (int)(run - k < kiln_batch_row ? run - k : kiln_batch_row);
                auto of = [&](int i) {
                    return item(i
//% for p in inputs
                        , *(const ${p.type} *)(row_${p.name} + (k + i) * step_${p.name})
//% end
                    );
                };
//% if batch_kept
                // Computed once, however often they are looked at.
                ${batch_type} values[kiln_batch_row];
                KILN_INDEPENDENT
                for (int i = 0; i < count; i++)
                    values[i] = of(i);
//% end
                ${batch}(
                    acc[0], count,
//% if batch_kept
                    [&](int i) { return values[i]; },
//% else
                    of,
//% end
                    [&](int i) -> long long {
//% if position
                        return past_J + (k + i) * a.step_J_${last};
//% else
                        return i;
//% end
                    });
            }

//% part each
//# A run's elements are added one by one to `lanes` accumulators.
            long long k = 0;
            for (; k + L <= run; k += L) {
//% if independent
                KILN_INDEPENDENT
//% end
                for (int l = 0; l < L; l++)
                    take(acc[l]
//% for x in numbers
                        , base_${x.name} + past_${x.name} + (k + l) * a.step_${x.name}_${last}
//% end
//% for p in inputs
                        , *(${p.const}${p.type} *)(row_${p.name} + (k + l) * step_${p.name})
//% end
                    );
            }
            for (int l = 0; k < run; k++, l++)
                take(acc[l % L]
//% for x in numbers
                    , base_${x.name} + past_${x.name} + k * a.step_${x.name}_${last}
//% end
//% for p in inputs
                    , *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name})
//% end
                );
            blocks.took(run, acc, merge, empty);

//% part combine
//# One chunk of an output. The thread that finishes the last one combines the parts of all chunks.
        const long long output = unit / a.splits, split = unit % a.splits;
        const long long stop = (split + 1) * a.chunk;
        a.parts[unit] = span(output, split * a.chunk, stop < a.length ? stop : a.length);
        if (__atomic_add_fetch(&a.tickets[output], 1, __ATOMIC_ACQ_REL) != (int)a.splits)
            continue;
        a.tickets[output] = 0;
        part *const parts = a.parts + output * a.splits;
        for (long long h = 1; h < a.splits; h *= 2)
            for (long long k = 0; k + h < a.splits; k += 2 * h)
                parts[k] = merge(parts[k], parts[k + h]);
        finish(output, parts[0]);
