//# rows.cpp - the inner loop runs along a reduced axis.
//#
//# unit: one output; when split, one of `splits` chunks of an output's elements, of which the last
//#       to be done combines all parts in their fixed order
//# The inner loop keeps `lanes` accumulators side by side, which is the form that compilers turn
//# into vectors without being allowed to reorder sums.
//% if !batched
//% insert reduce/pairwise.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
    constexpr int kiln__L = ${lanes};
//% insert reduce/environment.cpp
    // Elements [kiln__begin, kiln__end) of output kiln__output.
    auto kiln__span = [&](const long long kiln__output, const long long kiln__begin, const long long kiln__end) -> kiln__part {
        long long kiln__rest = kiln__output;
//% for a in keep_inward
        const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
        const long long kiln__at_0 = kiln__rest;
        (void)kiln__at_0;
//% for x in numbers
        const long long kiln__base_${x.name} = 0
//% for a in keep_axes
            + kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
            ;
//% end
        kiln__part kiln__acc[kiln__L];
        for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
            kiln__acc[kiln__l] = kiln__empty();
//% if !batched
        kiln__pairwise<kiln__part, kiln__L, (kiln__L > 1 ? 16 * kiln__L : __is_class(kiln__part) ? 32 : 0)> kiln__blocks;
//% end
        for (long long kiln__j = kiln__begin; kiln__j < kiln__end;) {
//% insert reduce/locate.cpp
            const long long kiln__left = kiln__a.shape_${last} - kiln__at_${last};
            long long kiln__run = kiln__left < kiln__end - kiln__j ? kiln__left : kiln__end - kiln__j;
//% if !batched
            if (kiln__run > kiln__blocks.room)
                kiln__run = kiln__blocks.room;
//% end
//% for p in inputs
            const char *const kiln__row_${p.name} = (const char *)kiln__a.ptr_${p.name} + kiln__along_${p.name}
//% for a in keep_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/step.cpp
//% end
//% if batched
            for (long long kiln__k = 0; kiln__k < kiln__run; kiln__k += kiln_batch_row) {
                const int kiln__count = (int)(kiln__run - kiln__k < kiln_batch_row ? kiln__run - kiln__k : kiln_batch_row);
                auto kiln__of = [&](int kiln__i) {
                    return kiln__item(kiln__i
//% for p in inputs
                        , *(const ${p.type} *)(kiln__row_${p.name} + (kiln__k + kiln__i) * kiln__step_${p.name})
//% end
                    );
                };
//% if batch_kept
                // Computed once, however often they are looked at.
                ${batch_type} kiln__values[kiln_batch_row];
                KILN_INDEPENDENT
                for (int kiln__i = 0; kiln__i < kiln__count; kiln__i++)
                    kiln__values[kiln__i] = kiln__of(kiln__i);
//% end
                ${batch}(
                    kiln__acc[0], kiln__count,
//% if batch_kept
                    [&](int kiln__i) { return kiln__values[kiln__i]; },
//% else
                    kiln__of,
//% end
                    [&](int kiln__i) -> long long {
//% if position
                        return kiln__past_J + (kiln__k + kiln__i) * kiln__a.step_J_${last};
//% else
                        return kiln__i;
//% end
                    });
            }
//% else
            long long kiln__k = 0;
            for (; kiln__k + kiln__L <= kiln__run; kiln__k += kiln__L) {
//% if independent
                KILN_INDEPENDENT
//% end
                for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                    kiln__take(kiln__acc[kiln__l]
//% for x in numbers
                        , kiln__base_${x.name} + kiln__past_${x.name} + (kiln__k + kiln__l) * kiln__a.step_${x.name}_${last}
//% end
//% for p in inputs
                        , *(${p.const}${p.type} *)(kiln__row_${p.name} + (kiln__k + kiln__l) * kiln__step_${p.name})
//% end
                    );
            }
            for (int kiln__l = 0; kiln__k < kiln__run; kiln__k++, kiln__l++)
                kiln__take(kiln__acc[kiln__l % kiln__L]
//% for x in numbers
                    , kiln__base_${x.name} + kiln__past_${x.name} + kiln__k * kiln__a.step_${x.name}_${last}
//% end
//% for p in inputs
                    , *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% end
                );
            kiln__blocks.took(kiln__run, kiln__acc, kiln__merge, kiln__empty);
//% end
            kiln__j += kiln__run;
        }
//% if !batched
        kiln__blocks.whole(kiln__acc, kiln__merge);
//% end
        return kiln__acc[0];
    };
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
//% if split
        const long long kiln__output = kiln__unit / kiln__a.splits, kiln__split = kiln__unit % kiln__a.splits;
        const long long kiln__stop = (kiln__split + 1) * kiln__a.chunk;
        kiln__a.parts[kiln__unit] = kiln__span(kiln__output, kiln__split * kiln__a.chunk, kiln__stop < kiln__a.length ? kiln__stop : kiln__a.length);
        if (__atomic_add_fetch(&kiln__a.tickets[kiln__output], 1, __ATOMIC_ACQ_REL) != (int)kiln__a.splits)
            continue;
        kiln__a.tickets[kiln__output] = 0;
        kiln__part *const kiln__parts = kiln__a.parts + kiln__output * kiln__a.splits;
        for (long long kiln__h = 1; kiln__h < kiln__a.splits; kiln__h *= 2)
            for (long long kiln__k = 0; kiln__k + kiln__h < kiln__a.splits; kiln__k += 2 * kiln__h)
                kiln__parts[kiln__k] = kiln__merge(kiln__parts[kiln__k], kiln__parts[kiln__k + kiln__h]);
        kiln__finish(kiln__output, kiln__parts[0]);
//% else
        kiln__finish(kiln__unit, kiln__span(kiln__unit, 0, kiln__a.length));
//% end
    }
}
