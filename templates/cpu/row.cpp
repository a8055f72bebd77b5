//# The elements [0, count) of one row: operand p is at row_p + k * step_p.
//#
//# Where outputs may be stored past the caches, a row consists of single elements up to an aligned
//# address, of bursts of ${burst} elements that are computed into registers and stored at once, and
//# of single elements again. The loop over single elements occurs here once, because every instance
//# of the snippet costs compile time. An input that is the same for the whole row is read once, so that a
//# compiler sees what follows from it once as well: which row an index names, and whether there is one.
//#
//# Elements of a linear kernel that share calls of Philox, four each, are computed four at a time: of
//# `first | j` compilers see that the four are of one block, and the loop over blocks becomes vectors. A row
//# begins with a multiple of four.
//#
//# Elements that may be in doubt (KILN_ATTEMPT) are attempted by blocks, whose results wait
//# aside, four at a time or, where their functions are long and share nothing, one by one. Those that remain in doubt, and those that are not part of a four, are listed and attempted side by
//# side, and what is left then one by one. Where one call alone has doubts, what it knows of an element is kept, and
//# elements are attempted side by side until none is left. Nothing is stored before, so that inputs can be read again.
//% own N T a any at attempt count doubt doubts four four_i head here j k late line n once_ op places out_ reg_ row_ row_i step_ still stop stream together
//% plain GCC
//% for p in loaded
//% if p.splat
        const ${p.type} once_${p.name} = *(const ${p.type} *)row_${p.name};
//% end
//% end
//% if streams
        long long head = -1, at = 0;
//% for p in stored
        if (head < 0)
            head = KILN__STREAM_HEAD(row_${p.name}, sizeof(${p.type}));
//% end
        if (a.size < ${stream_size} || head + ${burst} > count
//% for p in stored
            || KILN__STREAM_HEAD(row_${p.name} + head * sizeof(${p.type}), sizeof(${p.type})) != 0
//% end
        )
            head = count;
        for (long long stop = head;; stop = count) {
//% if independent
            KILN_INDEPENDENT
//% end
            for (long long k = at; k < stop; k++) {
//% insert :element
//% for p in stored
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
            }
            if (stop == count)
                break;
            for (at = stop; at + ${burst} <= count; at += ${burst}) {
//% for p in stored
                alignas(32) ${p.type} out_${p.name}[${burst}];
//% end
                KILN_INDEPENDENT
                for (int j = 0; j < ${burst}; j++) {
                    const long long k = at + j;
//% insert :element
//% for p in stored
                    out_${p.name}[j] = reg_${p.name};
//% end
                }
//% for p in stored
                stream((${p.type} *)row_${p.name} + at, out_${p.name});
//% end
            }
        }
//% else
//% if attempts
//% if keeps_doubts
        constexpr int together = 1024; // results and doubts stay in the L1 cache
//% else
        constexpr int together = 256; // results and doubts stay in the L1 cache
//% end
        for (long long at = 0; at < count; at += together) {
            const long long here = count - at < together ? count - at : together;
            decltype(doubt) doubts[together], any = 0;
            int places[together], late = 0;
//% for p in stored
            ${p.type} out_${p.name}[together];
//% end
            attempt = 0;
//% if by_fours
            KILN_INDEPENDENT
            for (long long four = 0; four < here / 4; four++) {
//% if index_natural
                const long long four_i = ((row_i + at) / 4 + four) * 4;
//% end
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++) {
                    const long long k = at + 4 * four + j;
                    doubt = 0;
//% insert :element
//% for p in stored
                    out_${p.name}[4 * four + j] = reg_${p.name};
//% end
                    doubts[4 * four + j] = doubt;
                }
            }
            for (long long n = here / 4 * 4; n < here; n++)
                doubts[n] = (decltype(doubt))-1; // of those nothing is known
//% else
            KILN_INDEPENDENT
            for (long long n = 0; n < here; n++) {
                const long long k = at + n;
                doubt = 0;
//% insert :element
//% for p in stored
                out_${p.name}[n] = reg_${p.name};
//% end
                doubts[n] = doubt;
            }
//% end
            for (long long n = 0; n < here; n++)
                any |= doubts[n];
            for (int n = 0; n < (int)here && any != 0; n++) {
                places[late] = n;
                late += doubts[n] != 0;
            }
//% if keeps_doubts
            for (int n = 0; n < late; n++)
                doubts[n] = doubts[places[n]];
            for (attempt = 1; late > 0 && attempt < 1 << 20; attempt++) {
                KILN_INDEPENDENT
//% if by_fours
#pragma GCC unroll 4
//% end
                for (int n = 0; n < late; n++) {
                    const long long k = at + places[n];
//% if numbers_fours
                    const long long four_i = row_i + k;
                    constexpr int j = 0;
//% end
                    doubt = doubts[n];
//% insert :element
//% for p in stored
                    out_${p.name}[places[n]] = reg_${p.name};
//% end
                    doubts[n] = doubt;
                }
                int still = 0;
                for (int n = 0; n < late; n++) {
                    places[still] = places[n];
                    doubts[still] = doubts[n];
                    still += doubts[n] != 0;
                }
                late = still;
            }
//% else
            attempt = 1;
            KILN_INDEPENDENT
            for (int n = 0; n < late; n++) {
                const long long k = at + places[n];
//% if numbers_fours
                const long long four_i = row_i + k;
                constexpr int j = 0;
//% end
                doubt = 0;
//% insert :element
//% for p in stored
                out_${p.name}[places[n]] = reg_${p.name};
//% end
                doubts[n] = doubt;
            }
            attempt = 2;
            for (int n = 0; n < late; n++) {
                if (doubts[n] == 0)
                    continue;
                const long long k = at + places[n];
//% if numbers_fours
                const long long four_i = row_i + k;
                constexpr int j = 0;
//% end
//% insert :element
//% for p in stored
                out_${p.name}[places[n]] = reg_${p.name};
//% end
            }
//% end
//% for p in stored
            for (long long n = 0; n < here; n++)
                *(${p.type} *)(row_${p.name} + (at + n) * step_${p.name}) = out_${p.name}[n];
//% end
        }
//% else
//% if by_fours
//% if independent
        KILN_INDEPENDENT
//% end
        for (long long four = 0; four < count / 4; four++) {
//% if index_natural
            const long long four_i = (row_i / 4 + four) * 4;
//% end
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                const long long k = 4 * four + j;
//% insert :element
//% for p in stored
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
            }
        }
        for (long long k = count / 4 * 4; k < count; k++) {
//% if index_natural
            const long long four_i = row_i + k;
            constexpr int j = 0;
//% end
//% else
//% if independent
        KILN_INDEPENDENT
//% end
        for (long long k = 0; k < count; k++) {
//% end
//% insert :element
//% for p in stored
            *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
        }
//% end
//% end

//% part element
//# One element of a row: load it into local variables and call the snippet. The template that
//# inserts this part stores the results. bool is read as unsigned char (p.stored), for g++ makes no
//# vectors of loads of bool.
//% for p in registers
            ${p.type} reg_${p.name};
//% end
//% for p in loaded
//% if p.splat
            reg_${p.name} = once_${p.name};
//% else
            reg_${p.name} = *(${p.const}${p.stored} *)(row_${p.name} + k * step_${p.name});
//% end
//% end
            op(
//% if index_strides
                row_i + k * a.stride_i_${last}
//% else
//% if index_natural
//% if by_fours
                four_i | j
//% else
                row_i + k
//% end
//% else
                0
//% end
//% end
//% for p in walking
//% if p.direct
                , *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name})
//% else
                , reg_${p.name}
//% end
//% end
            );

//% part step
//# Bytes from one element of a row to the next; a constant where the layout fixes it, so that the
//# loop can be vectorised.
//% if p.vector
        [[maybe_unused]] constexpr long long step_${p.name} = sizeof(${p.type});
//% else
//% if p.splat
        [[maybe_unused]] constexpr long long step_${p.name} = 0;
//% else
        [[maybe_unused]] const long long step_${p.name} = a.stride_${p.name}_${inner};
//% end
//% end

//% part stream
//# Stores past the caches, for outputs that are much larger than the caches: a line that is
//# overwritten as a whole is not read first, which saves a quarter to a third of the memory
//# traffic.
//% plain from k p size to
#if defined(__AVX__)
typedef float line __attribute__((vector_size(32), may_alias));
template <class T, int N> KILN_FN void stream(T *to, const T (&from)[N])
{
    for (int k = 0; k < (int)(N * sizeof(T) / 32); k++)
#if defined(__clang__)
        __builtin_nontemporal_store(((const line *)from)[k], (line *)to + k);
#else
        __builtin_ia32_movntps256((float *)((line *)to + k), ((const line *)from)[k]);
#endif
}
// Elements from an address to the next line of the cache; 64 when none begins there. A line that is
// streamed to in part, or stored to as well, is slower than either.
#define KILN__STREAM_HEAD(p, size) \
    ((size_t)(p) % (size) == 0 ? (long long)((-(size_t)(p) & 63) / (size)) : 64)
#define KILN__STREAMED() __builtin_ia32_sfence()
#else
#define KILN__STREAM_HEAD(p, size) 64
#define KILN__STREAMED() ((void)0)
template <class T, int N> KILN_FN void stream(T *, const T (&)[N]) {}
#endif
