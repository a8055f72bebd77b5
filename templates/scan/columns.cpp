//# columns.cpp - the inner loop runs across sequences, over running values that stay in a cache.
//#
//# unit:  a tile of ${group} columns at one index of the other kept axes; when split, one of its chunks
//#        of rows, in the order of asking. Such a chunk is summed first and written from its carry,
//#        as in rows.cpp
//% if split
//% insert scan/wait.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
    constexpr int kiln__X = ${group};
//% insert scan/environment.cpp
    const long long kiln__across = (kiln__a.shape_${keep_last} + kiln__X - 1) / kiln__X;
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
//% if split
        const long long kiln__tiles = kiln__across * (kiln__a.outputs / kiln__a.shape_${keep_last});
        const long long kiln__taken = __atomic_fetch_add(&kiln__a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long kiln__tile = kiln__taken % kiln__tiles, kiln__chunk = kiln__taken / kiln__tiles;
        const long long kiln__begin = kiln__chunk * kiln__a.chunk;
        const long long kiln__end = kiln__begin + kiln__a.chunk < kiln__a.length ? kiln__begin + kiln__a.chunk : kiln__a.length;
//% else
        const long long kiln__tile = kiln__unit, kiln__begin = 0, kiln__end = kiln__a.length;
//% end
        const long long kiln__column = kiln__tile % kiln__across * kiln__X;
        const long long kiln__left = kiln__a.shape_${keep_last} - kiln__column;
        const int kiln__count = (int)(kiln__left < kiln__X ? kiln__left : kiln__X);
        long long kiln__rest = kiln__tile / kiln__across;
//% for a in keep_outer_inward
        const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
//% for p in walking
        ${p.const}char *const kiln__tile_${p.name} = kiln__base_${p.name}
            + kiln__column * kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        kiln__part kiln__acc[kiln__X], kiln__base[kiln__X];
//% if split
        if (kiln__chunk + 1 < kiln__a.splits) {
            for (long long kiln__j = kiln__begin; kiln__j < kiln__end; kiln__j++) {
//% insert scan/column_row.cpp
                if (kiln__j == kiln__begin) {
                    for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                        kiln__acc[kiln__k] = kiln__value(kiln__k);
                } else {
//% if independent
                    KILN_INDEPENDENT
//% end
                    for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                        kiln__acc[kiln__k] = kiln__reduce(kiln__acc[kiln__k], kiln__value(kiln__k));
                }
            }
        }
        int *const kiln__told = kiln__a.tickets + 1 + kiln__tile * kiln__a.splits;
        kiln__part *const kiln__carries = kiln__a.parts + (kiln__tile * kiln__a.splits + kiln__chunk) * kiln__X;
        if (kiln__chunk > 0)
            kiln__wait(&kiln__told[kiln__chunk]);
        if (kiln__chunk + 1 < kiln__a.splits) {
            for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                kiln__carries[kiln__X + kiln__k] = kiln__chunk > 0 ? kiln__reduce(kiln__carries[kiln__k], kiln__acc[kiln__k]) : kiln__acc[kiln__k];
            __atomic_store_n(&kiln__told[kiln__chunk + 1], 1, __ATOMIC_RELEASE);
        }
        if (kiln__chunk > 0)
            for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                kiln__base[kiln__k] = kiln__carries[kiln__k];
        bool kiln__based = kiln__chunk > 0;
//% else
        bool kiln__based = false;
//% end
        // Runs of ${unroll} rows: kiln__acc is of the run so far, kiln__base of what stands above it.
        for (long long kiln__j = kiln__begin; kiln__j < kiln__end; kiln__j++) {
//% insert scan/column_row.cpp
            const bool kiln__has = (kiln__j - kiln__begin) % ${unroll} != 0;
            if (!kiln__has && kiln__j > kiln__begin) {
                for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++)
                    kiln__base[kiln__k] = kiln__based ? kiln__reduce(kiln__base[kiln__k], kiln__acc[kiln__k]) : kiln__acc[kiln__k];
                kiln__based = true;
            }
            if (!kiln__based || !kiln__has) {
                for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++) {
                    bool kiln__any = kiln__has;
                    const kiln__part kiln__v = kiln__value(kiln__k);
//% if exclusive
                    kiln__put(kiln__k, kiln__based ? kiln__base[kiln__k] : kiln__has ? kiln__acc[kiln__k] : kiln__identity());
                    kiln__take(kiln__any, kiln__acc[kiln__k], kiln__v);
//% else
                    kiln__take(kiln__any, kiln__acc[kiln__k], kiln__v);
                    kiln__put(kiln__k, kiln__based ? kiln__reduce(kiln__base[kiln__k], kiln__acc[kiln__k]) : kiln__acc[kiln__k]);
//% end
                }
                continue;
            }
//% if independent
            KILN_INDEPENDENT
//% end
            for (int kiln__k = 0; kiln__k < kiln__count; kiln__k++) {
                const kiln__part kiln__v = kiln__value(kiln__k);
//% if exclusive
                kiln__put(kiln__k, kiln__reduce(kiln__base[kiln__k], kiln__acc[kiln__k]));
                kiln__acc[kiln__k] = kiln__reduce(kiln__acc[kiln__k], kiln__v);
//% else
                kiln__acc[kiln__k] = kiln__reduce(kiln__acc[kiln__k], kiln__v);
                kiln__put(kiln__k, kiln__reduce(kiln__base[kiln__k], kiln__acc[kiln__k]));
//% end
            }
        }
    }
}
