//# columns.cpp - the inner loop runs along a kept axis, over accumulators that stay in cache.
//#
//# unit: a tile of ${group} columns at one index of the other kept axes; when split, one of `splits`
//#       chunks of its rows, of which the last to be done combines all parts in their fixed order
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
    constexpr int kiln__X = ${group};
//% insert reduce/environment.cpp
    const long long kiln__tiles = (kiln__a.shape_${keep_last} + kiln__X - 1) / kiln__X;
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
//% if split
        const long long kiln__tile = kiln__unit / kiln__a.splits, kiln__split = kiln__unit % kiln__a.splits;
        const long long kiln__begin = kiln__split * kiln__a.chunk;
        const long long kiln__end = kiln__begin + kiln__a.chunk < kiln__a.length ? kiln__begin + kiln__a.chunk : kiln__a.length;
//% else
        const long long kiln__tile = kiln__unit, kiln__begin = 0, kiln__end = kiln__a.length;
//% end
        const long long kiln__column = kiln__tile % kiln__tiles * kiln__X, kiln__outer = kiln__tile / kiln__tiles;
        const long long kiln__left = kiln__a.shape_${keep_last} - kiln__column;
        const int kiln__count = (int)(kiln__left < kiln__X ? kiln__left : kiln__X);
        long long kiln__rest = kiln__outer;
//% for a in keep_outer_inward
        const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
//% for x in numbers
        const long long kiln__base_${x.name} = kiln__column * kiln__a.step_${x.name}_${keep_last}
//% for a in keep_outer
            + kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
            ;
//% end
        kiln__part kiln__acc[kiln__X];
        for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
            kiln__acc[kiln__k] = kiln__empty();
//% if !batched
        constexpr int kiln_batch_rows = 4;
//% end
        for (long long kiln__j = kiln__begin; kiln__j < kiln__end;) {
            // Where the next few rows begin.
            const int kiln__rows = (int)(kiln__end - kiln__j < kiln_batch_rows ? kiln__end - kiln__j : kiln_batch_rows);
//% for p in inputs
            const char *kiln__rows_${p.name}[kiln_batch_rows];
//% insert cpu/step.cpp
//% end
//% for x in numbers
            long long kiln__rows_${x.name}[kiln_batch_rows];
//% end
            for (int kiln__r = 0; kiln__r < kiln__rows; kiln__r++, kiln__j++) {
//% insert reduce/locate.cpp
//% for p in inputs
                kiln__rows_${p.name}[kiln__r] = (const char *)kiln__a.ptr_${p.name} + kiln__along_${p.name}
                    + kiln__column * kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
                    + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                    ;
//% end
//% for x in numbers
                kiln__rows_${x.name}[kiln__r] = kiln__base_${x.name} + kiln__past_${x.name};
//% end
            }
//% if batched
            auto kiln__of = [&](int kiln__r, int kiln__k) {
                return kiln__item(kiln__r
//% for p in inputs
                    , *(const ${p.type} *)(kiln__rows_${p.name}[kiln__r] + kiln__k * kiln__step_${p.name})
//% end
                );
            };
//% if batch_kept
            // Computed once, however often they are looked at.
            ${batch_type} kiln__values[kiln_batch_rows][kiln__X];
            for (int kiln__r = 0; kiln__r < kiln__rows; kiln__r++) {
                KILN_INDEPENDENT
                for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                    kiln__values[kiln__r][kiln__k] = kiln__of(kiln__r, kiln__k);
            }
//% end
            ${batch}_columns<kiln__X>(
                kiln__acc, kiln__count, kiln__rows,
//% if batch_kept
                [&](int kiln__r, int kiln__k) { return kiln__values[kiln__r][kiln__k]; },
//% else
                kiln__of,
//% end
                [&](int kiln__r, int) -> long long {
//% if position
                    return kiln__rows_J[kiln__r];
//% else
                    return kiln__r;
//% end
                });
//% else
            // Several rows at once: an accumulator is fetched and put back once for all of them.
            auto kiln__one = [&](kiln__part &kiln__to, const int kiln__r, const int kiln__k) {
                kiln__take(kiln__to
//% for x in numbers
                    , kiln__rows_${x.name}[kiln__r] + kiln__k * kiln__a.step_${x.name}_${keep_last}
//% end
//% for p in inputs
                    , *(${p.const}${p.type} *)(kiln__rows_${p.name}[kiln__r] + kiln__k * kiln__step_${p.name})
//% end
                );
            };
            if (kiln__rows == kiln_batch_rows) {
//% if independent
                KILN_INDEPENDENT
//% end
                for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++) {
                    kiln__part kiln__to = kiln__acc[kiln__k];
                    kiln__one(kiln__to, 0, kiln__k);
                    kiln__one(kiln__to, 1, kiln__k);
                    kiln__one(kiln__to, 2, kiln__k);
                    kiln__one(kiln__to, 3, kiln__k);
                    kiln__acc[kiln__k] = kiln__to;
                }
            } else {
                for (int kiln__r = 0; kiln__r < kiln__rows; kiln__r++) {
//% if independent
                    KILN_INDEPENDENT
//% end
                    for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                        kiln__one(kiln__acc[kiln__k], kiln__r, kiln__k);
                }
            }
//% end
        }
        const long long kiln__first = kiln__outer * kiln__a.shape_${keep_last} + kiln__column;
//% if split
        for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
            kiln__a.parts[kiln__split * kiln__a.outputs + kiln__first + kiln__k] = kiln__acc[kiln__k];
        if (__atomic_add_fetch(&kiln__a.tickets[kiln__tile], 1, __ATOMIC_ACQ_REL) != (int)kiln__a.splits)
            continue;
        kiln__a.tickets[kiln__tile] = 0;
        for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++) {
            kiln__acc[kiln__k] = kiln__a.parts[kiln__first + kiln__k];
            for (long long kiln__s = 1; kiln__s < kiln__a.splits; kiln__s++)
                kiln__acc[kiln__k] = kiln__merge(kiln__acc[kiln__k], kiln__a.parts[kiln__s * kiln__a.outputs + kiln__first + kiln__k]);
        }
//% end
        for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
            kiln__finish(kiln__first + kiln__k, kiln__acc[kiln__k]);
    }
}
