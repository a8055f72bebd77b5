//# rows.cpp - one pass over the inputs, chunk by chunk.
//#
//# unit: one chunk of ${buffer} elements, handed out in order to the threads that ask
//#
//# A thread first computes for all elements of its chunk whether they are kept, in a loop that
//# compilers vectorise. It waits for the number of elements kept in all chunks before, passes the
//# next number on, and only then computes the results, where they belong.
//#
//# Kept elements are found by the bits of a word for 64 elements, so that the pattern of what is
//# kept costs no branches. If a word keeps half or more, and `op` may run for any element
//# (`independent`), it computes all 64 results, and those that are kept are packed together. What
//# is stored behind them is overwritten by later results, of which there must be enough in the
//# chunk.
//#
//# If elements that are not kept have results too (`otherwise`), the numbers of both kinds are
//# known together, and so is where both belong.
//#
//# Tests: test_filter, test_partition_copy; difftest --kind select draws calls.
//% own C a args base_ before begin bits chunk count each emit end first_unit flags j k keep last_unit
//% own left look many numbers other_end other_put put row_ step_ to_ told total unit wait word
//% plain kiln__in __builtin_popcountll
//% insert scan/rows.cpp:wait
//% if independent
//% insert :pack
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    constexpr int C = ${buffer};
    const args a = *kiln__in;
//% insert filter/kernel.cpp:environment
    long long *const numbers = (long long *)a.parts; // kept before each chunk
    int *const told = a.tickets + 1;
    alignas(64) unsigned char flags[C + 64] = {0};
//% for p in walking
    ${p.const}char *const row_${p.name} = base_${p.name};
//% insert cpu/row.cpp:step
//% end
    for (long long unit = first_unit; unit < last_unit; unit++) {
        const long long chunk = __atomic_fetch_add(&a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long begin = chunk * C, left = a.count - begin;
        const int count = (int)(left < C ? left : C);
        int total = 0;
//% insert :look
//% if one_axis
        look(begin, begin + count
//% for p in walking
            , row_${p.name}
//% end
        );
//% else
//% insert scan/rows.cpp:each
        each(begin, count, look);
//% end
        for (int k = 0; k < count; k++)
            total += flags[k];
        long long before = 0;
        if (chunk > 0) {
            wait(&told[chunk]);
            before = numbers[chunk];
        }
        if (chunk + 1 < a.splits) {
            numbers[chunk + 1] = before + total;
            __atomic_store_n(&told[chunk + 1], 1, __ATOMIC_RELEASE);
        }
//% for s in sides
//% for p in counts
        if (chunk + 1 == a.splits)
//% if s.rest
            *a.ptr_${p.name} = a.count - (before + total);
//% else
            *a.ptr_${p.name} = before + total;
//% end
//% end
//% for p in outputs
        char *const to_${p.name} = row_${p.name};
//% end
//% end
        const long long end = before + total;
        long long put = before;
//% if otherwise
        const long long other_end = begin + count - end;
        long long other_put = begin - before;
//% end
//% insert :emit
//% if one_axis
        emit(begin, begin + count
//% for p in walking
            , row_${p.name}
//% end
        );
//% else
        each(begin, count, emit);
//% end
    }
}

//% part look
//# Which of the elements number `from` to `to` of the sequence are kept.
//% own e from to
        auto look = [&](const long long from, const long long to
//% for p in walking
            , [[maybe_unused]] ${p.const}char *const row_${p.name}
//% end
        ) {
            for (long long e = from; e < to; e++)
                flags[e - begin] = keep(e
//% for p in inputs
                    , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
                );
        };

//% part emit
//# The results of the elements number `from` to `to` of the sequence.
//% own at from others to
        auto emit = [&](const long long from, const long long to
//% for p in walking
            , [[maybe_unused]] ${p.const}char *const row_${p.name}
//% end
        ) {
            for (long long at = from; at < to; at += 64) {
                unsigned long long bits = 0;
                for (int j = 0; j < 8; j++) {
                    unsigned long long word;
                    __builtin_memcpy(&word, flags + (at - begin) + 8 * j, 8);
                    bits |= (word * 0x0102040810204080ull >> 56) << 8 * j;
                }
                if (to - at < 64)
                    bits &= (1ull << (to - at)) - 1;
//% if otherwise
                const unsigned long long others = to - at < 64 ? ~bits & ((1ull << (to - at)) - 1) : ~bits;
//% for s in sides
                do {
//% if s.rest
                    unsigned long long bits = others;
                    long long &put = other_put;
                    const long long end = other_end;
//% end
//% insert :store
                } while (0);
//% end
//% else
//% insert :store
//% end
            }
        };

//% part store
//# The results of those of the 64 elements from number `at` on whose bits are set.
//% own at e least pack QUICK some_ to
//% if independent
                const int many = __builtin_popcountll(bits);
//% if otherwise
                constexpr int least =
//% for p in outputs
                    sizeof(${p.type}) != 4 && sizeof(${p.type}) != 8 ? 32 :
//% end
                    QUICK;
                if (many >= least && to - at >= 64 && put + 128 <= end) {
//% else
                if (many >= 32 && to - at >= 64 && put + 128 <= end) {
//% end
//% for p in outputs
                    alignas(64) ${p.type} some_${p.name}[128];
//% end
                    KILN_INDEPENDENT
                    for (int k = 0; k < 64; k++) {
                        const long long e = at + k;
                        ${s.op}(e
//% for p in inputs
                            , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
//% for p in outputs
                            , some_${p.name}[k]
//% end
                        );
                    }
//% for p in outputs
                    pack(to_${p.name} + put * step_${p.name}, step_${p.name}, some_${p.name}, bits);
//% end
                    put += many;
                    continue;
                }
//% end
                for (; bits != 0; bits &= bits - 1) {
                    const long long e = at + __builtin_ctzll(bits);
                    ${s.op}(e
//% for p in inputs
                        , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
//% for p in outputs
                        , *(${p.type} *)(to_${p.name} + put * step_${p.name})
//% end
                    );
                    put++;
                }

//% part pack
//# Those of 64 values whose bits are set, one after the other, `step` bytes apart. There is room
//# for 128 of them, and as many may be read: where few are left out, each run between these is 64
//# values, of which the next run overwrites the rest.
//% own bits from gaps k lanes4 lanes8 next pack QUICK step to
//% plain T __AVX512F__ aligned __builtin_ia32_compressdi512_mask __builtin_ia32_compresssi512_mask __builtin_popcount
//% if otherwise
// So many of 64 results, or more, are packed where all have 4 or 8 bytes. An instruction for that pays sooner than a loop.
#if defined(__AVX512F__)
constexpr int QUICK = 12;
#else
constexpr int QUICK = 32;
#endif
//% end
typedef long long lanes8 __attribute__((vector_size(64), may_alias, aligned(8)));
typedef int lanes4 __attribute__((vector_size(64), may_alias, aligned(4)));
template <class T> KILN_FN void pack(char *to, const long long step, const T (&from)[128], unsigned long long bits)
{
#if defined(__AVX512F__)
    if (sizeof(T) == 8 && step == 8) {
        for (int k = 0; k < 64; k += 8, bits >>= 8) {
            *(lanes8 *)to = __builtin_ia32_compressdi512_mask(*(const lanes8 *)(from + k), lanes8{}, (unsigned char)bits);
            to += 8 * __builtin_popcount((unsigned)bits & 255u);
        }
        return;
    }
    if (sizeof(T) == 4 && step == 4) {
        for (int k = 0; k < 64; k += 16, bits >>= 16) {
            *(lanes4 *)to = __builtin_ia32_compresssi512_mask(*(const lanes4 *)(from + k), lanes4{}, (unsigned short)bits);
            to += 4 * __builtin_popcount((unsigned)bits & 65535u);
        }
        return;
    }
#endif
    if (step == sizeof(T) && __builtin_popcountll(bits) >= 48) {
        const T *next = from;
        for (unsigned long long gaps = ~bits;; gaps &= gaps - 1) {
            __builtin_memcpy(to, next, 64 * sizeof(T));
            if (gaps == 0)
                return;
            const int k = __builtin_ctzll(gaps);
            to += (from + k - next) * (long long)sizeof(T);
            next = from + k + 1;
        }
    }
    for (int k = 0; k < 64; k++, bits >>= 1) {
        *(T *)to = from[k];
        to += (long long)(bits & 1) * step;
    }
}
