//# Compute and store the outputs of the accesses from + u * step, u < U.
//% own F U V along_ b from j length load op out_ row_ step store u v
    #pragma unroll
    for (int b = 0; b < U; b += ${late_batch}) {
//% insert row/late.cu
        #pragma unroll
        for (int u = b; u < b + ${late_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
//% insert row/locate.cu
//% for p in row_stores
//% insert row/along.cu
                ${p.type} out_${p.name}[V];
//% end
//% for p in row_loads_first
                load(out_${p.name}, row_${p.name} + along_${p.name});
//% end
                #pragma unroll
                for (int v = 0; v < V; v++)
                    op(0
//% insert row/element.cu
//% for p in row_stores
                        , out_${p.name}[v]
//% end
                    );
//% for p in row_stores
                store(row_${p.name} + along_${p.name}, out_${p.name});
//% end
            }
        }
    }
