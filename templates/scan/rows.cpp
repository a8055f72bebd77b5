//# rows.cpp - the inner loop runs along the sequence.
//#
//# unit:  one sequence. When split, one chunk of ${scan_chunk} elements, handed out in order to the
//#        threads that ask
//# order: runs of ${unroll} elements; chunks. It is the same with and without a split, and on any
//#        number of threads
//# A chunk is summed first, which brings it into a cache, and is then written, beginning with its
//# carry. Between the two a split scan waits for the carry of the chunk before, on which a thread
//# is working already.
//% own L S a acc any args at_ at_0 base base_ based before begin begin_step carries carry chunk
//% own chunk_first chunk_last count e each end first_unit from give_way has identity j k l
//% own last_unit left map mark more n needed next one out_ p part place post put r reduce rest
//% own rest_j row_ runs sequence step step_ sum take taken to to_ told total unit v value wait
//% own what_is_before write
//% plain kiln__in
//% if split
//% insert :wait
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
//% insert scan/kernel.cpp:environment
    for (long long unit = first_unit; unit < last_unit; unit++) {
//% if split
        const long long taken = __atomic_fetch_add(&a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long sequence = taken % a.outputs, chunk_first = taken / a.outputs;
        const long long chunk_last = chunk_first + 1;
        part *const carries = a.parts + sequence * a.splits;
        int *const told = a.tickets + 1 + sequence * a.splits;
//% else
        const long long sequence = unit, chunk_first = 0, chunk_last = a.splits;
//% end
        long long rest = sequence;
//% for a in keep_inward
        const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
        const long long at_0 = rest;
//% for p in walking
        ${p.const}char *const row_${p.name} = base_${p.name}
//% for a in keep_axes
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% insert cpu/row.cpp:step
//% end
//% if one_axis
//% insert :runs
//% else
//% insert :stretches
//% end
        part carry;
        bool has = false;
        for (long long chunk = chunk_first; chunk < chunk_last; chunk++) {
            const long long begin = chunk * ${scan_chunk};
            const long long left = a.length - begin;
            const int count = (int)(left < ${scan_chunk} ? left : ${scan_chunk});
            const bool more = chunk + 1 < a.splits;
            part sum;
            total(begin, count, more, sum);
//% if split
            if (chunk > 0) {
                wait(&told[chunk]);
                carry = carries[chunk];
                has = true;
            }
            part next = carry;
            bool any = has;
            if (more) {
                take(any, next, sum);
                carries[chunk + 1] = next;
                __atomic_store_n(&told[chunk + 1], 1, __ATOMIC_RELEASE);
            }
            write(begin, count, has, carry);
//% else
            write(begin, count, has, carry);
            if (more)
                take(has, carry, sum);
//% end
        }
    }
}

//% part runs
//# A sequence along one axis: ${lanes} runs of ${unroll} elements are processed side by side, so
//# that the processor need not finish one sum before it begins another. The last run of a chunk may
//# be short.
//% plain kiln__short
        constexpr int L = ${lanes}, S = ${unroll};
//% insert :value
        part runs[${scan_chunk} / S];
        // Sums of the runs, and of all when kiln__needed. A short chunk that nothing comes after or
        // stands before is written run by run, and need not be summed.
        constexpr int kiln__short = 2 * L * S;
//% insert :sum_runs
//% insert :write_runs

//% part sum_runs
//# total(): sums of runs, `lanes` of them side by side.
//% plain kiln__short
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

//% part write_runs
//# write(): the results of runs, `lanes` of them side by side.
//% plain kiln__short
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

//% part stretches
//# A sequence over several axes that cannot be merged: the elements of the last axis one by one,
//# then the next stretch of it.
//% insert :each
        auto total = [&](const long long begin, const int count, const bool needed, part &sum) {
            bool has = false;
            if (!needed)
                return;
            each(begin, count, [&](const long long from, const long long to
//% for p in walking
                , ${p.const}char *const row_${p.name}
//% end
            ) {
//% insert :value
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
//% insert :value
                for (long long e = from; e < to; e++)
                    begin_step(e, has, carry, e > begin, acc);
            });
        };

//% part each
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

//% part value
//# `value` maps element number e of the sequence, `put` stores the result of a running value.
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

//% part wait
//# Wait until another thread has set a mark. After a while the waiting thread yields its core,
//# because the other one may have lost its own.
extern "C" int give_way(void) __asm__("sched_yield");
static inline void wait(const int *mark)
{
    for (int k = 0; __atomic_load_n(mark, __ATOMIC_ACQUIRE) == 0; k++) {
        if (k > 1000)
            give_way();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}
