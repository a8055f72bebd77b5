//# The mapped element number kiln__e of the sequence, and storing what is made of a running value.
        auto kiln__value = [&](const long long kiln__e) -> kiln__part {
            return kiln__map(
//% if position
                kiln__place(kiln__e)
//% else
                0
//% end
//% for p in inputs
                , *(const ${p.type} *)(kiln__row_${p.name} + kiln__e * kiln__step_${p.name})
//% end
            );
        };
        auto kiln__put = [&](const long long kiln__e, const kiln__part &kiln__p) {
//% for p in outputs
            ${p.type} *const kiln__to_${p.name} = (${p.type} *)(kiln__row_${p.name} + kiln__e * kiln__step_${p.name});
            ${p.type} kiln__out_${p.name};
//% if p.read_first
            kiln__out_${p.name} = *kiln__to_${p.name};
//% end
//% end
            kiln__post(kiln__place(kiln__e), kiln__p
//% for p in outputs
                , kiln__out_${p.name}
//% end
            );
//% for p in outputs
            *kiln__to_${p.name} = kiln__out_${p.name};
//% end
        };
        // Store element number kiln__e: kiln__acc is of its run so far, kiln__base of what stands
        // before the run. Their sum rounds once, however long the run is.
        auto kiln__step = [&](const long long kiln__e, const kiln__part &kiln__base, kiln__part &kiln__acc) {
            const kiln__part kiln__v = kiln__value(kiln__e);
//% if exclusive
            kiln__put(kiln__e, kiln__reduce(kiln__base, kiln__acc));
            kiln__acc = kiln__reduce(kiln__acc, kiln__v);
//% else
            kiln__acc = kiln__reduce(kiln__acc, kiln__v);
            kiln__put(kiln__e, kiln__reduce(kiln__base, kiln__acc));
//% end
        };
        // The same where there may be no base, or nothing of the run yet.
        auto kiln__begin_step = [&](const long long kiln__e, const bool kiln__based, const kiln__part &kiln__base, bool kiln__has, kiln__part &kiln__acc) {
            const kiln__part kiln__v = kiln__value(kiln__e);
//% if exclusive
            kiln__put(kiln__e, kiln__based ? kiln__has ? kiln__reduce(kiln__base, kiln__acc) : kiln__base
                               : kiln__has ? kiln__acc : kiln__identity());
            kiln__take(kiln__has, kiln__acc, kiln__v);
//% else
            kiln__take(kiln__has, kiln__acc, kiln__v);
            kiln__put(kiln__e, kiln__based ? kiln__reduce(kiln__base, kiln__acc) : kiln__acc);
//% end
        };
