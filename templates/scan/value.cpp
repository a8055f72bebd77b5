//# The mapped element number e of the sequence, and storing what is made of a running value.
//% own acc base based begin_step e has identity map out_ p part place post put reduce row_ step
//% own step_ take to_ v value
        auto value = [&](const long long e) -> part {
            return map(
//% if position
                place(e)
//% else
                0
//% end
//% for p in inputs
                , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
            );
        };
        auto put = [&](const long long e, const part &p) {
//% for p in outputs
            ${p.type} *const to_${p.name} = (${p.type} *)(row_${p.name} + e * step_${p.name});
            ${p.type} out_${p.name};
//% if p.read_first
            out_${p.name} = *to_${p.name};
//% end
//% end
            post(place(e), p
//% for p in outputs
                , out_${p.name}
//% end
            );
//% for p in outputs
            *to_${p.name} = out_${p.name};
//% end
        };
        // Store element number kiln__e: kiln__acc is of its run so far, kiln__base of what stands
        // before the run. Their sum rounds once, however long the run is.
        auto step = [&](const long long e, const part &base, part &acc) {
            const part v = value(e);
//% if exclusive
            put(e, reduce(base, acc));
            acc = reduce(acc, v);
//% else
            acc = reduce(acc, v);
            put(e, reduce(base, acc));
//% end
        };
        // The same where there may be no base, or nothing of the run yet.
        auto begin_step = [&](const long long e, const bool based, const part &base, bool has, part &acc) {
            const part v = value(e);
//% if exclusive
            put(e, based ? has ? reduce(base, acc) : base
                               : has ? acc : identity());
            take(has, acc, v);
//% else
            take(has, acc, v);
            put(e, based ? reduce(base, acc) : acc);
//% end
        };
