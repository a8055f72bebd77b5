//# held.cu - the elements of a row stay in registers: they are read once, however many stages use
//# them.
//#
//# group:   `group` threads of a block share a row (times the blocks of a cluster); thread t owns
//#          the accesses t, t + step, ...: all are issued before the first is used
//# grid:    rows / (rows of a block), times the blocks of a cluster
//# columns: inputs that are the same for every row are loaded where they are used
//% own F U V a acc_ along_ args edge edge_ first fold_ from j length live load map_ only_ op out_ outside
//% own reg_ renew row_ step u val_ words
//% if chain
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
//% insert row/elements.cu:place
    const ${index} from = first;
//% for p in row_holds
    ${p.type} reg_${p.name}[U][V];
//% end
//% for v in values
    ${v.type} val_${v.name}[U][V];
//% end
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
    if (outside)
        fold_${s.n}(acc_${s.n}[0], map_${s.n}(0
//% insert row/elements.cu:outside
            ));
//% end
//% insert row/elements.cu:result
//% if chain
    #pragma unroll
    for (int u = 0; u < U; u++) {
//% for p in row_holds
        renew(reg_${p.name}[u]);
//% end
    }
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
}

//% part edge
//# The elements before and behind the accesses, of which a thread has one at most.
        if (outside) {
//% for p in row_stores
            ${p.type} out_${p.name};
//% end
//% for p in row_loads_first
            out_${p.name} = ((const ${p.type} *)row_${p.name})[edge];
//% end
            op(0
//% insert row/elements.cu:outside
//% for p in row_stores
                , out_${p.name}
//% end
            );
//% for p in row_stores
            ((${p.type} *)row_${p.name})[edge] = out_${p.name};
//% end
        }
