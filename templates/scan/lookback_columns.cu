//# As lookback_rows.cu, for every column of the tile at once: sums of steps, of ${fan} steps, and of
//# all steps before some step. Each row of threads reads the sums of one step.
//#
//# With a fan of 1 only the last are told, a chain from step to step, and two places in turn are
//# enough: a step tells its sum after it has heard the one before, so that nobody waits any more for
//# what stood in its place. There marks are numbers of steps.
        constexpr int kiln__F = ${fan};
        const long long kiln__lines = kiln__a.splits * (kiln__X * kiln__V);
        const long long kiln__steps = (kiln__a.length + kiln__Y * kiln__U - 1) / (kiln__Y * kiln__U);
        const long long kiln__groups = kiln__F == 1 ? 0 : (kiln__steps + kiln__F - 1) / kiln__F;
        // Words of step (or group, or all) number kiln__s, of this thread's first column.
        unsigned long long *const kiln__words = (unsigned long long *)(kiln__a.tickets + 4)
            + ((long long)kiln__tile * kiln__X + kiln__tx) * kiln__V * kiln__part_words;
        auto kiln__of = [&](const long long kiln__s) -> unsigned long long * {
            return kiln__words + kiln__s * kiln__lines * kiln__part_words;
        };
        auto kiln__tell = [&](const long long kiln__s, const kiln__part (&kiln__p)[kiln__V], const unsigned int kiln__mark) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__publish(kiln__of(kiln__s) + kiln__v * kiln__part_words, kiln__p[kiln__v], kiln__mark);
        };
        auto kiln__hear = [&](const long long kiln__s, kiln__part (&kiln__p)[kiln__V], const unsigned int kiln__mark) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__p[kiln__v] = kiln__await(kiln__of(kiln__s) + kiln__v * kiln__part_words, kiln__mark);
        };
//% if chain
        constexpr int kiln__t = kiln__F - 1, kiln__g = kiln__F - 1;
        const ${index} kiln__super = kiln__step;
        const long long kiln__heard_at = kiln__step % 2, kiln__told_at = 1 - kiln__heard_at;
        const unsigned int kiln__heard_mark = kiln__step, kiln__told_mark = kiln__step + 1;
//% else
        const ${index} kiln__group = kiln__step / kiln__F, kiln__super = kiln__group / kiln__F;
        const int kiln__t = kiln__step % kiln__F, kiln__g = kiln__group % kiln__F;
        const long long kiln__heard_at = kiln__steps + kiln__groups + kiln__super, kiln__told_at = kiln__heard_at + 1;
        constexpr unsigned int kiln__heard_mark = 1, kiln__told_mark = 1;
        // The sums of kiln__many neighbours from number kiln__from on: each by a row of threads.
        auto kiln__gather = [&](const long long kiln__from, const int kiln__many, kiln__part (&kiln__p)[kiln__V]) {
            if (kiln__ty < kiln__many)
                kiln__hear(kiln__from + kiln__ty, kiln__parts[kiln__ty][kiln__tx], 1);
            __syncthreads();
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                kiln__p[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
                for (int kiln__k = 1; kiln__k < kiln__many; kiln__k++)
                    kiln__p[kiln__v] = kiln__reduce(kiln__p[kiln__v], kiln__parts[kiln__k][kiln__tx][kiln__v]);
            }
            __syncthreads();
        };
        kiln__part kiln__steps_above[kiln__V], kiln__groups_above[kiln__V];
        if (kiln__t < kiln__F - 1 && kiln__ty == 0)
            kiln__tell(kiln__step, kiln__sum, 1);
        if (kiln__t > 0)
            kiln__gather(kiln__step - kiln__t, kiln__t, kiln__steps_above);
        if (kiln__t == kiln__F - 1 && kiln__g < kiln__F - 1 && kiln__ty == 0) {
            kiln__part kiln__group_sum[kiln__V];
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__group_sum[kiln__v] = kiln__reduce(kiln__steps_above[kiln__v], kiln__sum[kiln__v]);
            kiln__tell(kiln__steps + kiln__group, kiln__group_sum, 1);
        }
        if (kiln__g > 0)
            kiln__gather(kiln__steps + kiln__group - kiln__g, kiln__g, kiln__groups_above);
//% end
        if (kiln__super > 0 && kiln__ty == 0)
            kiln__hear(kiln__heard_at, kiln__parts[0][kiln__tx], kiln__heard_mark);
        if (kiln__t == kiln__F - 1 && kiln__g == kiln__F - 1 && kiln__ty == 0) {
            kiln__part kiln__all[kiln__V];
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                bool kiln__has = kiln__super > 0;
                if (kiln__has)
                    kiln__all[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
//% if chain
                kiln__take(kiln__has, kiln__all[kiln__v], kiln__sum[kiln__v]);
//% else
                kiln__take(kiln__has, kiln__all[kiln__v], kiln__reduce(kiln__groups_above[kiln__v],
                                                                       kiln__reduce(kiln__steps_above[kiln__v], kiln__sum[kiln__v])));
//% end
            }
            kiln__tell(kiln__told_at, kiln__all, kiln__told_mark);
        }
        __syncthreads();
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            kiln__carries = kiln__super > 0;
            if (kiln__carries)
                kiln__carry[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
//% if !chain
            if (kiln__g > 0)
                kiln__take(kiln__carries, kiln__carry[kiln__v], kiln__groups_above[kiln__v]);
            if (kiln__t > 0)
                kiln__take(kiln__carries, kiln__carry[kiln__v], kiln__steps_above[kiln__v]);
//% end
        }
