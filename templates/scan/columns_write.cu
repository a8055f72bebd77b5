//# Phase 4: over the thread's rows again, from what stands above them, and store.
//% own U V along_ base based has identity inside j length load mapped mine out_ part place post
//% own row_ start store take told u v
        #pragma unroll
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u;
            const bool mine = inside && j < length;
//% for p in outputs
            ${p.type} out_${p.name}[V];
//% if p.read_first
            if (mine)
                load(out_${p.name}, row_${p.name} + along_${p.name}(j));
//% end
//% end
            #pragma unroll
            for (int v = 0; v < V; v++) {
                bool has = based || u > 0;
//% if exclusive
                const part told = has ? base[v] : identity();
                take(has, base[v], mapped(u, v));
//% else
                take(has, base[v], mapped(u, v));
                const part &told = base[v];
//% end
                post(place(j), told
//% for p in outputs
                    , out_${p.name}[v]
//% end
                );
            }
            if (mine) {
//% for p in outputs
                store(row_${p.name} + along_${p.name}(j), out_${p.name});
//% end
            }
        }
