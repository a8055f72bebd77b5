//# A sequence over several axes that do not merge: stretches of the last one, element by element.
        // Go over kiln__count elements from number kiln__begin on, a stretch at a time: operands are
        // at kiln__row_p + kiln__k * kiln__step_p.
        auto kiln__each = [&](const long long kiln__begin, const int kiln__count, auto kiln__do) {
            for (long long kiln__j = kiln__begin; kiln__j < kiln__begin + kiln__count;) {
                long long kiln__rest_j = kiln__j;
//% for a in reduce_inward
                const long long kiln__at_${a.n} = kiln__rest_j % kiln__a.shape_${a.n};
                kiln__rest_j /= kiln__a.shape_${a.n};
//% end
                const long long kiln__at_${reduce_first} = kiln__rest_j;
                const long long kiln__left = kiln__a.shape_${last} - kiln__at_${last};
                const long long kiln__end = kiln__j + kiln__left < kiln__begin + kiln__count ? kiln__j + kiln__left : kiln__begin + kiln__count;
                kiln__do(kiln__j, kiln__end
//% for p in walking
                    , kiln__row_${p.name}
//% for a in reduce_axes
                        + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                        - kiln__j * kiln__step_${p.name}
//% end
                );
                kiln__j = kiln__end;
            }
        };
        auto kiln__total = [&](const long long kiln__begin, const int kiln__count, const bool kiln__needed, kiln__part &kiln__sum) {
            bool kiln__has = false;
            if (!kiln__needed)
                return;
            kiln__each(kiln__begin, kiln__count, [&](const long long kiln__from, const long long kiln__to
//% for p in walking
                , ${p.const}char *const kiln__row_${p.name}
//% end
            ) {
//% insert scan/value.cpp
                for (long long kiln__e = kiln__from; kiln__e < kiln__to; kiln__e++)
                    kiln__take(kiln__has, kiln__sum, kiln__value(kiln__e));
            });
        };
        auto kiln__write = [&](const long long kiln__begin, const int kiln__count, const bool kiln__has, const kiln__part &kiln__carry) {
            kiln__part kiln__acc;
            kiln__each(kiln__begin, kiln__count, [&](const long long kiln__from, const long long kiln__to
//% for p in walking
                , ${p.const}char *const kiln__row_${p.name}
//% end
            ) {
//% insert scan/value.cpp
                for (long long kiln__e = kiln__from; kiln__e < kiln__to; kiln__e++)
                    kiln__begin_step(kiln__e, kiln__has, kiln__carry, kiln__e > kiln__begin, kiln__acc);
            });
        };
