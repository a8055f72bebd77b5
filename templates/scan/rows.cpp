//# rows.cpp - the inner loop runs along the sequence.
//#
//# unit:  one sequence; when split, one chunk of ${scan_chunk} elements of one, in the order of asking
//# order: runs of ${unroll} elements; chunks. The same with and without a split, on any number of threads
//# A chunk is summed first, which brings it into a cache, and then written from its carry. Between
//# the two a split one waits for the carry of the chunk before; that one is worked on already.
//% if split
//% insert scan/wait.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
//% insert scan/environment.cpp
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
//% if split
        const long long kiln__taken = __atomic_fetch_add(&kiln__a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long kiln__sequence = kiln__taken % kiln__a.outputs, kiln__chunk_first = kiln__taken / kiln__a.outputs;
        const long long kiln__chunk_last = kiln__chunk_first + 1;
        kiln__part *const kiln__carries = kiln__a.parts + kiln__sequence * kiln__a.splits;
        int *const kiln__told = kiln__a.tickets + 1 + kiln__sequence * kiln__a.splits;
//% else
        const long long kiln__sequence = kiln__unit, kiln__chunk_first = 0, kiln__chunk_last = kiln__a.splits;
//% end
        long long kiln__rest = kiln__sequence;
//% for a in keep_inward
        const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
        const long long kiln__at_0 = kiln__rest;
//% for p in walking
        ${p.const}char *const kiln__row_${p.name} = kiln__base_${p.name}
//% for a in keep_axes
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% insert cpu/step.cpp
//% end
//% if one_axis
//% insert scan/runs.cpp
//% else
//% insert scan/stretches.cpp
//% end
        kiln__part kiln__carry;
        bool kiln__has = false;
        for (long long kiln__chunk = kiln__chunk_first; kiln__chunk < kiln__chunk_last; kiln__chunk++) {
            const long long kiln__begin = kiln__chunk * ${scan_chunk};
            const long long kiln__left = kiln__a.length - kiln__begin;
            const int kiln__count = (int)(kiln__left < ${scan_chunk} ? kiln__left : ${scan_chunk});
            const bool kiln__more = kiln__chunk + 1 < kiln__a.splits;
            kiln__part kiln__sum;
            kiln__total(kiln__begin, kiln__count, kiln__more, kiln__sum);
//% if split
            if (kiln__chunk > 0) {
                kiln__wait(&kiln__told[kiln__chunk]);
                kiln__carry = kiln__carries[kiln__chunk];
                kiln__has = true;
            }
            kiln__part kiln__next = kiln__carry;
            bool kiln__any = kiln__has;
            if (kiln__more) {
                kiln__take(kiln__any, kiln__next, kiln__sum);
                kiln__carries[kiln__chunk + 1] = kiln__next;
                __atomic_store_n(&kiln__told[kiln__chunk + 1], 1, __ATOMIC_RELEASE);
            }
            kiln__write(kiln__begin, kiln__count, kiln__has, kiln__carry);
//% else
            kiln__write(kiln__begin, kiln__count, kiln__has, kiln__carry);
            if (kiln__more)
                kiln__take(kiln__has, kiln__carry, kiln__sum);
//% end
        }
    }
}
