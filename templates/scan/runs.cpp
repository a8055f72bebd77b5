//# A sequence on one axis: ${lanes} runs of ${unroll} elements are worked on side by side, so that the
//# processor need not wait for one sum before it begins another. The last run of a chunk may be short.
//% own L S acc any base based before begin begin_step carry count e has k l left n needed one
//% own part r reduce runs step sum take total value what_is_before write
//% plain kiln__short
        constexpr int L = ${lanes}, S = ${unroll};
//% insert scan/value.cpp
        part runs[${scan_chunk} / S];
        // Sums of the runs, and of all when kiln__needed. A short chunk that nothing comes after or
        // stands before is written run by run, and need not be summed.
        constexpr int kiln__short = 2 * L * S;
        auto total = [&](const long long begin, const int count, const bool needed, part &sum) {
            int r = 0;
            if (!needed && begin == 0 && count < kiln__short)
                return;
            for (; (r + L) * S <= count; r += L) {
                const long long e = begin + r * S;
                part acc[L];
                for (int l = 0; l < L; l++)
                    acc[l] = value(e + l * S);
                for (int k = 1; k < S; k++)
                    for (int l = 0; l < L; l++)
                        acc[l] = reduce(acc[l], value(e + l * S + k));
                for (int l = 0; l < L; l++)
                    runs[r + l] = acc[l];
            }
            for (; needed && r * S < count; r++) {
                const int left = count - r * S;
                const long long e = begin + r * S;
                runs[r] = value(e);
                for (int k = 1; k < (left < S ? left : S); k++)
                    runs[r] = reduce(runs[r], value(e + k));
            }
            if (!needed)
                return;
            sum = runs[0];
            for (int k = 1; k < r; k++)
                sum = reduce(sum, runs[k]);
        };
        auto write = [&](const long long begin, const int count, const bool has, const part &carry) {
            part before; // the runs of the chunk before this one
            bool any = false;
            int r = 0;
            auto what_is_before = [&]() -> part {
                if (!has)
                    return before;
                return any ? reduce(carry, before) : carry;
            };
            // One run; what begins a sequence has nothing before it.
            auto one = [&](const bool based) {
                const long long e = begin + r * S;
                const int left = count - r * S, n = left < S ? left : S;
                part base, acc;
                if (based)
                    base = what_is_before();
                begin_step(e, based, base, false, acc);
                for (int k = 1; k < n; k++)
                    begin_step(e + k, based, base, true, acc);
                take(any, before, acc);
                r++;
            };
            if (!has)
                one(false);
            while (r * S < count && (count < kiln__short || r % L != 0))
                one(true);
            for (; (r + L) * S <= count; r += L) {
                const long long e = begin + r * S;
                part base[L], acc[L];
                for (int l = 0; l < L; l++) {
                    base[l] = what_is_before();
                    take(any, before, runs[r + l]);
                    begin_step(e + l * S, true, base[l], false, acc[l]);
                }
                for (int k = 1; k < S; k++)
                    for (int l = 0; l < L; l++)
                        step(e + l * S + k, base[l], acc[l]);
            }
            while (r * S < count)
                one(true);
        };
