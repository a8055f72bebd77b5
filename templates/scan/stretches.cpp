//# A sequence over several axes that do not merge: stretches of the last one, element by element.
//% own a acc at_ begin begin_step carry count e each end from has j left needed part rest_j row_
//% own step_ sum take to total value write
//% plain kiln__do
        // Go over kiln__count elements from number kiln__begin on, a stretch at a time: operands are
        // at kiln__row_p + kiln__k * kiln__step_p.
        auto each = [&](const long long begin, const int count, auto kiln__do) {
            for (long long j = begin; j < begin + count;) {
                long long rest_j = j;
//% for a in reduce_inward
                const long long at_${a.n} = rest_j % a.shape_${a.n};
                rest_j /= a.shape_${a.n};
//% end
                const long long at_${reduce_first} = rest_j;
                const long long left = a.shape_${last} - at_${last};
                const long long end = j + left < begin + count ? j + left : begin + count;
                kiln__do(j, end
//% for p in walking
                    , row_${p.name}
//% for a in reduce_axes
                        + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                        - j * step_${p.name}
//% end
                );
                j = end;
            }
        };
        auto total = [&](const long long begin, const int count, const bool needed, part &sum) {
            bool has = false;
            if (!needed)
                return;
            each(begin, count, [&](const long long from, const long long to
//% for p in walking
                , ${p.const}char *const row_${p.name}
//% end
            ) {
//% insert scan/value.cpp
                for (long long e = from; e < to; e++)
                    take(has, sum, value(e));
            });
        };
        auto write = [&](const long long begin, const int count, const bool has, const part &carry) {
            part acc;
            each(begin, count, [&](const long long from, const long long to
//% for p in walking
                , ${p.const}char *const row_${p.name}
//% end
            ) {
//% insert scan/value.cpp
                for (long long e = from; e < to; e++)
                    begin_step(e, has, carry, e > begin, acc);
            });
        };
