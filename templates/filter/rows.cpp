//# rows.cpp - one pass over the inputs, chunk by chunk.
//#
//# unit: one chunk of ${buffer} elements, handed out in order to the threads that ask
//#
//# A thread computes the results of its chunk into a buffer, waits for the number of elements kept of all
//# chunks before, passes the next number on, and copies the results to their place. Elements are looked
//# at 64 at a time: `keep` runs in a loop that compilers vectorise, and its answers become the bits
//# of a word. What is kept is found by its bits, so that its pattern costs no branches. Of words that keep half
//# or more, `op` computes all elements where nothing but results comes of it, each over the last one not kept.
//% own C a args base_ before begin bits chunk count each first_unit flags held_ j k keep last_unit
//% own left many numbers op pass row_ step_ to_ told total unit wait word
//% plain kiln__in __builtin_popcountll
//% insert scan/rows.cpp:wait
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    constexpr int C = ${buffer};
    const args a = *kiln__in;
//% insert filter/kernel.cpp:environment
    long long *const numbers = (long long *)a.parts; // kept before each chunk
    int *const told = a.tickets + 1;
//% for p in outputs
    alignas(64) ${p.type} held_${p.name}[C];
//% end
//% for p in walking
    ${p.const}char *const row_${p.name} = base_${p.name};
//% insert cpu/row.cpp:step
//% end
    for (long long unit = first_unit; unit < last_unit; unit++) {
        const long long chunk = __atomic_fetch_add(&a.tickets[0], 1, __ATOMIC_RELAXED);
        const long long begin = chunk * C, left = a.count - begin;
        const int count = (int)(left < C ? left : C);
        int total = 0;
//% insert :pass
//% if one_axis
        pass(begin, begin + count
//% for p in walking
            , row_${p.name}
//% end
        );
//% else
//% insert scan/rows.cpp:each
        each(begin, count, pass);
//% end
        long long before = 0;
        if (chunk > 0) {
            wait(&told[chunk]);
            before = numbers[chunk];
        }
        if (chunk + 1 < a.splits) {
            numbers[chunk + 1] = before + total;
            __atomic_store_n(&told[chunk + 1], 1, __ATOMIC_RELEASE);
        }
//% for p in counts
        if (chunk + 1 == a.splits)
            *a.ptr_${p.name} = before + total;
//% end
//% for p in outputs
        char *const to_${p.name} = row_${p.name} + before * step_${p.name};
        for (int k = 0; k < total; k++)
            *(${p.type} *)(to_${p.name} + k * step_${p.name}) = held_${p.name}[k];
//% end
    }
}

//% part pass
//# Elements number `from` to `to` of the sequence.
//% own e from to
        auto pass = [&](const long long from, const long long to
//% for p in walking
            , [[maybe_unused]] ${p.const}char *const row_${p.name}
//% end
        ) {
            for (long long begin = from; begin < to; begin += 64) {
                const int many = (int)(to - begin < 64 ? to - begin : 64);
                unsigned char flags[64] = {0};
                for (int k = 0; k < many; k++) {
                    const long long e = begin + k;
                    flags[k] = keep(e
//% for p in inputs
                        , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
                    );
                }
                unsigned long long bits = 0;
                for (int j = 0; j < 8; j++) {
                    unsigned long long word;
                    __builtin_memcpy(&word, flags + 8 * j, 8);
                    bits |= (word * 0x0102040810204080ull >> 56) << 8 * j;
                }
//% if independent
                if (__builtin_popcountll(bits) >= 32) {
                    for (int k = 0; k < many; k++) {
                        const long long e = begin + k;
                        op(e
//% for p in inputs
                            , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
//% for p in outputs
                            , held_${p.name}[total]
//% end
                        );
                        total += flags[k];
                    }
                    continue;
                }
//% end
                for (; bits != 0; bits &= bits - 1) {
                    const long long e = begin + __builtin_ctzll(bits);
                    op(e
//% for p in inputs
                        , *(const ${p.type} *)(row_${p.name} + e * step_${p.name})
//% end
//% for p in outputs
                        , held_${p.name}[total]
//% end
                    );
                    total++;
                }
            }
        };
