//# held.cu - the elements of a row stay in registers: they are read once, however many stages use
//# them.
//#
//# group:   `group` threads of a block share a row (times the blocks of a cluster); thread t owns
//#          the accesses t, t + step, ...: all are issued before the first is used
//# grid:    rows / (rows of a block), times the blocks of a cluster
//# columns: inputs that are the same for every row are loaded where they are used
//# stage:   of short rows that lie one behind the other a block copies `chunk` into shared memory, in
//#          accesses of `stage` bytes whatever their length is; a thread, or a few, then take whole rows
//#          from there, and the results go back in the same way
//# room:    where a thread's registers did not suffice (src/jit/room.c), each stage begins with nothing but the
//#          elements and values that it uses
//% own F U V a acc_ along_ args begin behind copy_rows divide edge edge_ first fold_ from held in_place j length live load map_
//% own number only_ op out_ outside pad_ pass place quotients reg_ renew room row_ size_ step stored tile tile_ u val_ word words
//% if renews
//% insert :renew
//% end
extern "C" __global__ void
//% if clustered
__cluster_dims__(${cluster}, 1, 1)
//% end
__launch_bounds__(${block}, ${resident})
${entry}(const __grid_constant__ args a)
{
//% insert row/kernel.cpp:environment
//% if stage
//% insert :copy_in
    #pragma unroll 1
//% if one_thread
    for (${index} number = begin + threadIdx.x; number < behind; number += ${block}) {
//% else
    for (${index} pass = begin; pass < behind; pass += ${side_by_side}) {
        // The rows of a warp lie `group` apart: of rows of an odd length its lanes read different banks.
        const ${index} number = pass + threadIdx.x / (32 * ${group}) * 32 + threadIdx.x / 32 % ${group} + threadIdx.x % 32 / ${group} * ${group};
//% end
//% end
//% insert row/elements.cu:place
//% if roomier
    ${index} from = first;
//% else
    const ${index} from = first;
//% end
//% for p in row_holds
    ${p.type} reg_${p.name}[U][V];
//% end
//% for v in values
    ${v.type} val_${v.name}[U][V];
//% end
//% insert :elements

//% if peel
//% for p in row_holds
    ${p.type} edge_${p.name} = ((const ${p.type} *)row_${p.name})[edge];
//% end
//% for v in values
    ${v.type} only_${v.name};
//% end
//% end
//% for s in stages
//% insert row/kernel.cpp:stage
//% insert row/elements.cu:empty
//% insert row/elements.cu:fold
//% if peel
//% insert :fold_edge
//% end
//% insert row/elements.cu:result
//% if renews
//% insert :renewed
//% end

//% end
//% insert row/kernel.cpp:op
//% if row_elements
    if (live) {
//% insert row/elements.cu:store
//% if peel
//% insert :edge
//% end
    }
//% end
//% if row_outputs
    if (live && first == 0) {
//% insert row/kernel.cpp:results
    }
//% end
//% if stage
    }
//% insert :copy_out
//% end
}

//% part fold_edge
//# The element before or behind the accesses is added.
    if (outside) {
//% if s.quotients
        quotients divide;
        divide.exact = true;
//% end
        fold_${s.n}(acc_${s.n}[0], map_${s.n}(
//% if s.quotients
            divide,
//% end
//% if position
            edge
//% else
            0
//% end
//% insert row/elements.cu:outside
            ));
    }

//% part elements
//# A thread loads its elements of the row.
    #pragma unroll
    for (int u = 0; u < U; u++) {
        const ${index} j = from + u * step;
        if (u < F || j < length) {
//% insert row/elements.cu:locate
//% for p in row_holds
//% insert row/elements.cu:along
            load(reg_${p.name}[u], row_${p.name} + along_${p.name});
//% end
        }
    }

//% part renewed
    #pragma unroll
    for (int u = 0; u < U; u++) {
//% for p in row_holds
        renew(reg_${p.name}[u]);
//% end
//% if roomier
//% for v in values
//% if v.known
        renew(val_${v.name}[u]);
//% end
//% end
//% end
    }
//% if roomier
//% insert :renewed_place
//% end

//% part renewed_place
//# A compiler does not see that the accesses are those of the stage before: so it keeps neither what that has
//# loaded, nor the addresses of all accesses, for the next stage or for the next rows.
//% plain k
    {
        unsigned place[sizeof from / 4];
        memcpy(place, &from, sizeof from);
        #pragma unroll
        for (int k = 0; k < (int)(sizeof from / 4); k++)
            asm volatile("" : "+r"(place[k]));
        memcpy(&from, place, sizeof from);
    }

//% part renew
//# Each stage computes anew what earlier stages have computed from the elements, for registers hold the
//# elements and little more. A compiler would keep those values instead, and spill them to local memory.
//# So the elements pass through assembler code that is empty, but might change them.
//% plain N T at k
template <class T, int N> KILN_FN void renew(T (&at)[N])
{
    if constexpr (N * sizeof(T) % 4 == 0) {
        unsigned words[N * sizeof(T) / 4];
        memcpy(words, at, sizeof words);
        #pragma unroll
        for (int k = 0; k < (int)(N * sizeof(T) / 4); k++)
            asm("" : "+r"(words[k]));
        memcpy(at, words, sizeof words);
    }
//% if roomier
    else if constexpr (sizeof(T) < 4) {
        #pragma unroll
        for (int k = 0; k < N; k++) {
            unsigned word = 0;
            memcpy(&word, &at[k], sizeof at[k]);
            asm("" : "+r"(word));
            memcpy(&at[k], &word, sizeof at[k]);
        }
    }
//% end
}

//% part copy_in
//# Rows kiln__begin to kiln__behind of every staged input. Rows of whole accesses of 16 bytes lie 16 bytes
//# more apart, so that threads read from different banks. The results of one output lie in the place of
//# an input of as many bytes: a thread has read a row before it writes there.
    const ${index} begin = (${index})blockIdx.x * (${index})a.chunk;
    const ${index} behind = begin + (${index})a.chunk < (${index})a.rows ? begin + (${index})a.chunk : (${index})a.rows;
    __shared__ alignas(16) unsigned char tile[${stage_bytes}];
    constexpr int held = 0
//% for p in row_holds
        + 256 + (int)sizeof(${p.type})
//% end
        , stored = 0
//% for p in row_stores
        + 256 + (int)sizeof(${p.type})
//% end
        ;
    [[maybe_unused]] constexpr bool in_place = held == stored && held < 512;
    int room = 0;
//% for p in row_holds
//% insert :span
//% end
//% for p in row_stores
    room = in_place ? 0 : room;
//% insert :span
//% end
//% for p in row_holds
    copy_rows<${p.type}, ${stage}, ${block}>(tile_${p.name}, pad_${p.name},
        (const unsigned char *)a.ptr_${p.name} + (long long)begin * size_${p.name}, 0, size_${p.name}, (int)(behind - begin) * size_${p.name});
//% end
    __syncthreads();

//% part span
    const int size_${p.name} = (int)a.count * (int)sizeof(${p.type});
    const int pad_${p.name} = size_${p.name} % 16 == 0 ? 16 : 0;
    unsigned char *const tile_${p.name} = tile + room;
    room += (int)a.chunk * (size_${p.name} + pad_${p.name});

//% part copy_out
    __syncthreads();
//% for p in row_stores
    copy_rows<${p.type}, ${stage}, ${block}>((unsigned char *)a.ptr_${p.name} + (long long)begin * size_${p.name}, 0,
        tile_${p.name}, pad_${p.name}, size_${p.name}, (int)(behind - begin) * size_${p.name});
//% end

//% part edge
//# The elements before and behind the accesses, of which a thread has one at most.
        if (outside) {
//% for p in row_stores
            ${p.type} out_${p.name};
//% end
//% for p in row_loads_first
            out_${p.name} = ((const ${p.type} *)row_${p.name})[edge];
//% end
//% if quotients
            quotients divide;
            divide.exact = true;
            op(divide,
//% else
            op(
//% end
//% if position
            edge
//% else
            0
//% end
//% insert row/elements.cu:outside
//% for p in row_stores
                , out_${p.name}
//% end
            );
//% for p in row_stores
            ((${p.type} *)row_${p.name})[edge] = out_${p.name};
//% end
        }
