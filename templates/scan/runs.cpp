//# A sequence on one axis: ${lanes} runs of ${unroll} elements are worked on side by side, so that the
//# processor need not wait for one sum before it begins another. The last run of a chunk may be short.
        constexpr int kiln__L = ${lanes}, kiln__S = ${unroll};
//% insert scan/value.cpp
        kiln__part kiln__runs[${scan_chunk} / kiln__S];
        // Sums of the runs, and of all when kiln__needed.
        auto kiln__total = [&](const long long kiln__begin, const int kiln__count, const bool kiln__needed, kiln__part &kiln__sum) {
            int kiln__r = 0;
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
        auto kiln__write = [&](const long long kiln__begin, const int kiln__count, bool kiln__has, kiln__part kiln__carry) {
            int kiln__r = 0;
            for (; (kiln__r + kiln__L) * kiln__S <= kiln__count; kiln__r += kiln__L) {
                const long long kiln__e = kiln__begin + kiln__r * kiln__S;
                kiln__part kiln__acc[kiln__L];
                for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++) {
                    kiln__acc[kiln__l] = kiln__carry;
                    kiln__start(kiln__e + kiln__l * kiln__S, kiln__has, kiln__acc[kiln__l]);
                    kiln__take(kiln__has, kiln__carry, kiln__runs[kiln__r + kiln__l]);
                }
                for (int kiln__k = 1; kiln__k < kiln__S; kiln__k++)
                    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                        kiln__step(kiln__e + kiln__l * kiln__S + kiln__k, kiln__acc[kiln__l]);
            }
            long long kiln__e = kiln__begin + kiln__r * kiln__S;
            if (kiln__e == kiln__begin + kiln__count)
                return;
            kiln__start(kiln__e, kiln__has, kiln__carry);
            for (kiln__e++; kiln__e < kiln__begin + kiln__count; kiln__e++)
                kiln__step(kiln__e, kiln__carry);
        };
