//# What stands above the step, for every column of the tile at once: a step tells the sums of all down
//# to its own end, when it has heard those of the one before. So nobody waits any more for what stood
//# in the place of the one before that, and two places in turn are enough. Marks are numbers of steps.
//% own V X a all await carries carry has lines of part part_words parts publish s step sum take
//% own tile tx ty v words
        const long long lines = a.splits * (X * V);
        // Words of this thread's first column.
        unsigned long long *const words = (unsigned long long *)(a.tickets + 4)
            + ((long long)tile * X + tx) * V * part_words;
        auto of = [&](const ${index} s) -> unsigned long long * {
            return words + s % 2 * lines * part_words;
        };
        carries = step > 0;
        if (ty == 0) {
            #pragma unroll
            for (int v = 0; v < V; v++) {
                part all;
                bool has = carries;
                if (has)
                    all = parts[0][tx][v] = await(of(step) + v * part_words, step);
                take(has, all, sum[v]);
                publish(of(step + 1) + v * part_words, all, step + 1);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int v = 0; v < V; v++)
            if (carries)
                carry[v] = parts[0][tx][v];
