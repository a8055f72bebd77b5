//# What stands above the step, for every column of the tile at once: a step tells the sums of all down
//# to its own end, when it has heard those of the one before. So nobody waits any more for what stood
//# in the place of the one before that, and two places in turn are enough. Marks are numbers of steps.
        const long long kiln__lines = kiln__a.splits * (kiln__X * kiln__V);
        // Words of this thread's first column.
        unsigned long long *const kiln__words = (unsigned long long *)(kiln__a.tickets + 4)
            + ((long long)kiln__tile * kiln__X + kiln__tx) * kiln__V * kiln__part_words;
        auto kiln__of = [&](const ${index} kiln__s) -> unsigned long long * {
            return kiln__words + kiln__s % 2 * kiln__lines * kiln__part_words;
        };
        kiln__carries = kiln__step > 0;
        if (kiln__ty == 0) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                kiln__part kiln__all;
                bool kiln__has = kiln__carries;
                if (kiln__has)
                    kiln__all = kiln__parts[0][kiln__tx][kiln__v] = kiln__await(kiln__of(kiln__step) + kiln__v * kiln__part_words, kiln__step);
                kiln__take(kiln__has, kiln__all, kiln__sum[kiln__v]);
                kiln__publish(kiln__of(kiln__step + 1) + kiln__v * kiln__part_words, kiln__all, kiln__step + 1);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
            if (kiln__carries)
                kiln__carry[kiln__v] = kiln__parts[0][kiln__tx][kiln__v];
