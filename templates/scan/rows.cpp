//# rows.cpp - the inner loop runs along the sequence.
//#
//# unit:  one sequence; when split, one chunk of ${scan_chunk} elements of one, in the order of asking
//# order: runs of ${unroll} elements; chunks. The same with and without a split, on any number of threads
//# A chunk is summed first, which brings it into a cache, and then written from its carry. Between
//# the two a split one waits for the carry of the chunk before; that one is worked on already.
//% own a any args at_ at_0 base_ begin carries carry chunk chunk_first chunk_last count
//% own first_unit has last_unit left more next part rest row_ sequence sum take taken told total
//% own unit wait write
//% plain kiln__in
//% if split
//% insert scan/wait.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
//% insert scan/environment.cpp
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
//% insert cpu/step.cpp
//% end
//% if one_axis
//% insert scan/runs.cpp
//% else
//% insert scan/stretches.cpp
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
