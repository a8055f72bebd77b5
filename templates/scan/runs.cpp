//# A sequence on one axis: ${lanes} runs of ${unroll} elements are worked on side by side, so that the
//# processor need not wait for one sum before it begins another. The last run of a chunk may be short.
        constexpr int kiln__L = ${lanes}, kiln__S = ${unroll};
//% insert scan/value.cpp
        kiln__part kiln__runs[${scan_chunk} / kiln__S];
        // Sums of the runs, and of all when kiln__needed. A short chunk that nothing comes after or
        // stands before is written run by run, and need not be summed.
        constexpr int kiln__short = 2 * kiln__L * kiln__S;
        auto kiln__total = [&](const long long kiln__begin, const int kiln__count, const bool kiln__needed, kiln__part &kiln__sum) {
            int kiln__r = 0;
            if (!kiln__needed && kiln__begin == 0 && kiln__count < kiln__short)
                return;
            for (; (kiln__r + kiln__L) * kiln__S <= kiln__count; kiln__r += kiln__L) {
                const long long kiln__e = kiln__begin + kiln__r * kiln__S;
                kiln__part kiln__acc[kiln__L];
                for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                    kiln__acc[kiln__l] = kiln__value(kiln__e + kiln__l * kiln__S);
                for (int kiln__k = 1; kiln__k < kiln__S; kiln__k++)
                    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                        kiln__acc[kiln__l] = kiln__reduce(kiln__acc[kiln__l], kiln__value(kiln__e + kiln__l * kiln__S + kiln__k));
                for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                    kiln__runs[kiln__r + kiln__l] = kiln__acc[kiln__l];
            }
            for (; kiln__needed && kiln__r * kiln__S < kiln__count; kiln__r++) {
                const int kiln__left = kiln__count - kiln__r * kiln__S;
                const long long kiln__e = kiln__begin + kiln__r * kiln__S;
                kiln__runs[kiln__r] = kiln__value(kiln__e);
                for (int kiln__k = 1; kiln__k < (kiln__left < kiln__S ? kiln__left : kiln__S); kiln__k++)
                    kiln__runs[kiln__r] = kiln__reduce(kiln__runs[kiln__r], kiln__value(kiln__e + kiln__k));
            }
            if (!kiln__needed)
                return;
            kiln__sum = kiln__runs[0];
            for (int kiln__k = 1; kiln__k < kiln__r; kiln__k++)
                kiln__sum = kiln__reduce(kiln__sum, kiln__runs[kiln__k]);
        };
        auto kiln__write = [&](const long long kiln__begin, const int kiln__count, const bool kiln__has, const kiln__part &kiln__carry) {
            kiln__part kiln__before; // the runs of the chunk before this one
            bool kiln__any = false;
            int kiln__r = 0;
            auto kiln__what_is_before = [&]() -> kiln__part {
                if (!kiln__has)
                    return kiln__before;
                return kiln__any ? kiln__reduce(kiln__carry, kiln__before) : kiln__carry;
            };
            // One run; what begins a sequence has nothing before it.
            auto kiln__one = [&](const bool kiln__based) {
                const long long kiln__e = kiln__begin + kiln__r * kiln__S;
                const int kiln__left = kiln__count - kiln__r * kiln__S, kiln__n = kiln__left < kiln__S ? kiln__left : kiln__S;
                kiln__part kiln__base, kiln__acc;
                if (kiln__based)
                    kiln__base = kiln__what_is_before();
                kiln__begin_step(kiln__e, kiln__based, kiln__base, false, kiln__acc);
                for (int kiln__k = 1; kiln__k < kiln__n; kiln__k++)
                    kiln__begin_step(kiln__e + kiln__k, kiln__based, kiln__base, true, kiln__acc);
                kiln__take(kiln__any, kiln__before, kiln__acc);
                kiln__r++;
            };
            if (!kiln__has)
                kiln__one(false);
            while (kiln__r * kiln__S < kiln__count && (kiln__count < kiln__short || kiln__r % kiln__L != 0))
                kiln__one(true);
            for (; (kiln__r + kiln__L) * kiln__S <= kiln__count; kiln__r += kiln__L) {
                const long long kiln__e = kiln__begin + kiln__r * kiln__S;
                kiln__part kiln__base[kiln__L], kiln__acc[kiln__L];
                for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++) {
                    kiln__base[kiln__l] = kiln__what_is_before();
                    kiln__take(kiln__any, kiln__before, kiln__runs[kiln__r + kiln__l]);
                    kiln__begin_step(kiln__e + kiln__l * kiln__S, true, kiln__base[kiln__l], false, kiln__acc[kiln__l]);
                }
                for (int kiln__k = 1; kiln__k < kiln__S; kiln__k++)
                    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                        kiln__step(kiln__e + kiln__l * kiln__S + kiln__k, kiln__base[kiln__l], kiln__acc[kiln__l]);
            }
            while (kiln__r * kiln__S < kiln__count)
                kiln__one(true);
        };
